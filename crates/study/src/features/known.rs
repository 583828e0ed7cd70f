//! Features of arithmetics that were measured before: equal programs have equal features.

use super::{FeatureCell, Features};
use crate::{arithmetic::Program, isa::Instruction};

/// The features of the programs of models, each measured once.
///
/// Generations share most of their arithmetic, and so do the shapes of an instruction.
#[derive(Debug, Default)]
pub(super) struct KnownFeatures {
    all: Vec<(Program, MeasuredProgram)>,
}

/// The features of a program.
#[derive(Debug, Clone)]
struct MeasuredProgram {
    cells: Vec<FeatureCell>,
    asked: usize,
}

impl KnownFeatures {
    /// The features of an instruction whose program has no name; `None` if they were not measured.
    pub(super) fn of(&self, program: &Program, instruction: &Instruction) -> Option<Features> {
        let (_, known) = self.all.iter().find(|(stored, _)| stored == program)?;
        let MeasuredProgram { cells, asked } = known.clone();
        Some(Features { instruction: instruction.clone(), cells, asked, uniform: None })
    }

    /// Keeps the features of a program.
    pub(super) fn add(&mut self, program: Program, features: &Features) {
        self.all.push((program, MeasuredProgram { cells: features.cells.clone(), asked: features.asked }));
    }
}

/// A program without the name of its instruction: equal ones compute the same.
pub(super) fn nameless(program: Program) -> Program {
    let instruction = Instruction {
        name: String::new(),
        ptx: String::new(),
        support: &[],
        kernel: None,
        ..program.instruction.clone()
    };
    Program { instruction, ..program }
}
