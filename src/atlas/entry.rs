//! Entries: the instructions of the atlas, each with its arithmetics and their differences.

use std::sync::Arc;

use super::{generation::Generation, measure::Measurements};
use crate::{
    arithmetic::{EvidenceKind, Model, Program, Rule},
    catalogue,
    distinction::{Distinction, DistinctionVerdict},
    features::Features,
    isa::Instruction,
    rule::equal,
};

/// An instruction of the atlas.
pub(super) struct Entry {
    /// The instruction.
    pub(super) instruction: Instruction,
    /// The name that commands take: its own, or the path of a file.
    pub(super) asked: String,
    /// Name of its page, without folder and ending.
    pub(super) file: String,
    /// The distinct arithmetics, in the order of their first generations.
    pub(super) arithmetics: Vec<Arithmetic>,
    /// Differences between two arithmetics.
    pub(super) differences: Vec<Difference>,
}

/// An arithmetic of an instruction, and the generations that have it.
pub(super) struct Arithmetic {
    /// Numbers of the generations, ascending.
    pub(super) generations: Vec<usize>,
    /// The program, by the first generation.
    pub(super) program: Program,
    /// The measured features; the reason why there are none.
    pub(super) features: std::result::Result<Arc<Features>, String>,
}

/// The difference of two arithmetics.
pub(super) struct Difference {
    /// Indices of the arithmetics.
    pub(super) between: [usize; 2],
    /// The comparison; the reason why there is none.
    pub(super) comparison: std::result::Result<Arc<Distinction>, String>,
}

impl Arithmetic {
    /// The result of a feature.
    pub(super) fn finding(&self, name: &str) -> Option<&str> {
        self.features.as_ref().ok()?.finding(name)
    }

    /// The arithmetic in two sentences.
    pub(super) fn sentences(&self) -> String {
        catalogue::arithmetic::sentences(&self.program)
    }
}

impl Entry {
    /// Makes the entry of a measured instruction.
    pub(super) fn new(
        instruction: &Instruction,
        asked: &str,
        file: &str,
        generations: &[Generation],
        measured: &Measurements,
    ) -> Entry {
        let mut entry = Entry {
            instruction: instruction.clone(),
            asked: asked.into(),
            file: file.into(),
            arithmetics: Vec::new(),
            differences: Vec::new(),
        };
        for (number, generation) in generations.iter().enumerate() {
            let Ok(program) = generation.model.program(instruction) else { continue };
            let at = entry.arithmetics.iter().position(|known| {
                equal([&known.program, &program]).is_some()
                    || measured
                        .difference([&generations[known.generations[0]].model, &generation.model], instruction)
                        .is_some_and(|comparison| matches!(comparison, Ok(distinction) if is_proved(&distinction)))
            });
            match at {
                Some(at) => entry.arithmetics[at].generations.push(number),
                None => {
                    let features = measured.features(&program);
                    entry.arithmetics.push(Arithmetic { generations: vec![number], program, features });
                }
            }
        }
        for second in 1..entry.arithmetics.len() {
            for first in 0..second {
                let model = |at: usize| &generations[entry.arithmetics[at].generations[0]].model;
                let comparison = measured.difference([model(first), model(second)], instruction);
                let comparison = comparison.unwrap_or_else(|| Err("The comparison is missing.".into()));
                entry.differences.push(Difference { between: [first, second], comparison });
            }
        }
        entry
    }

    /// The arithmetic of a generation, if it has the instruction.
    pub(super) fn of(&self, generation: usize) -> Option<&Arithmetic> {
        self.arithmetics.iter().find(|arithmetic| arithmetic.generations.contains(&generation))
    }

    /// All generations that have the instruction, ascending.
    pub(super) fn generations(&self) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.arithmetics.iter().flat_map(|arithmetic| arithmetic.generations.iter().copied()).collect();
        all.sort_unstable();
        all
    }

    /// The weakest evidence of a generation's rule for a feature.
    pub(super) fn evidence(&self, model: &Model, keys: &[String]) -> Option<(EvidenceKind, String)> {
        let grounds = model.rule(&self.instruction)?.grounds(Some(&self.instruction.name), keys);
        Some((grounds.kind, grounds.to_string()))
    }

    /// The weakest evidence of the features of a generation that were found and that `asked` names.
    pub(super) fn weakest(
        &self,
        model: &Model,
        arithmetic: &Arithmetic,
        asked: impl Fn(&str) -> bool,
    ) -> Option<EvidenceKind> {
        let features = arithmetic.features.as_ref().ok()?;
        let cells = features.cells.iter().filter(|cell| cell.finding.is_some() && asked(cell.feature.name));
        cells.filter_map(|cell| Some(self.evidence(model, &cell.feature.keys())?.0)).max()
    }
}

/// True if the comparison proves that both are equal.
fn is_proved(distinction: &Distinction) -> bool {
    matches!(distinction.verdict, DistinctionVerdict::Same(_))
}

/// Number of a rule in its model, from 1, with the rule.
pub(super) fn numbered<'a>(model: &'a Model, i: &Instruction) -> Option<(usize, &'a Rule)> {
    let rule = model.rule(i)?;
    let at = model.rules.iter().position(|other| std::ptr::eq(other, rule))?;
    Some((at + 1, rule))
}
