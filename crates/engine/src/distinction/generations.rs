//! Shipped models that agree on an instruction.

use super::{
    DistinctionVerdict, Kit, SHAPE, SearchLimits,
    candidates::{Shipped, models},
    kit,
    rules::Rules,
    whether,
};
use crate::{Result, Stage, isa::Instruction};

/// Cases of the stream, after the corners, on which two models are compared.
const SEARCHED: u64 = 1 << 14;

/// The shipped models that cover an instruction, grouped by arithmetic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAgreement {
    /// The instruction.
    pub instruction: Instruction,
    /// The models of each group, in the order of the models.
    pub alike: Vec<Vec<&'static str>>,
    /// True if equality is proved within every group.
    pub proved: bool,
}

/// Groups the shipped models by their arithmetic of an instruction.
///
/// # Errors
/// An interruption.
pub fn generations(i: &Instruction) -> Result<ModelAgreement> {
    let i = Instruction { m: i.m.min(SHAPE), n: i.n.min(SHAPE), ..i.clone() };
    let search = SearchLimits { cases: SEARCHED, seed: 0, time: None };
    let mut alike: Vec<Vec<(&Shipped, usize)>> = Vec::new();
    let mut proved = true;
    'models: for shipped in models() {
        let Some(rule) = shipped.rule(&i) else { continue };
        for known in &mut alike {
            let (other, index) = known[0];
            let rules = [other.model.rules[index].clone(), shipped.model.rules[rule].clone()];
            let mut rules = Rules { rules, instructions: [i.clone(), i.clone()], shape: (i.m, i.n) };
            let verdict = whether(&mut rules, &i, &search)?;
            if verdict != DistinctionVerdict::Differ {
                proved &= verdict != DistinctionVerdict::NotFound;
                known.push((shipped, rule));
                continue 'models;
            }
        }
        alike.push(vec![(shipped, rule)]);
    }
    let names = |known: Vec<(&Shipped, usize)>| known.into_iter().map(|(shipped, _)| shipped.name).collect();
    Ok(ModelAgreement { instruction: i, alike: alike.into_iter().map(names).collect(), proved })
}

/// Arithmetics of all instructions by the shipped models.
#[derive(Default)]
pub struct ShippedKnowledge {
    /// The models that agree on each instruction.
    pub agreements: Vec<ModelAgreement>,
    /// The test kits.
    pub kits: Vec<SharedKit>,
}

/// A test kit, and the instructions whose operands it is for.
pub struct SharedKit {
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The kit.
    pub kit: Kit,
}

/// Compares the shipped models on each instruction, then makes the test kits.
///
/// # Errors
/// An interruption; the results until then are in `knowledge`.
pub fn shipped_knowledge(
    instructions: &[Instruction],
    progress: &mut dyn FnMut(Stage),
    knowledge: &mut ShippedKnowledge,
) -> Result<()> {
    let total = instructions.len() as u64;
    for (done, i) in (0..).zip(instructions) {
        progress(Stage { what: &format!("comparing the models of {i}"), done, total });
        knowledge.agreements.push(generations(i)?);
    }
    let alike = with_same_operands(instructions);
    let total = alike.len() as u64;
    for (done, instructions) in (0..).zip(alike) {
        progress(Stage { what: &format!("making the test kit of {}", instructions[0]), done, total });
        knowledge.kits.push(SharedKit { kit: kit(&instructions[0])?, instructions });
    }
    Ok(())
}

/// Groups instructions by their operands, in the order of their first instructions.
fn with_same_operands(instructions: &[Instruction]) -> Vec<Vec<Instruction>> {
    let operands = |i: &Instruction| ([i.a, i.b, i.c, i.d].map(|format| format.name), i.k, i.sparse, i.scale, i.xor);
    let mut groups: Vec<Vec<Instruction>> = Vec::new();
    for i in instructions {
        match groups.iter_mut().find(|group| operands(&group[0]) == operands(i)) {
            Some(group) => group.push(i.clone()),
            None => groups.push(vec![i.clone()]),
        }
    }
    groups
}
