//! Which of the shipped models compute an instruction alike.

use super::{
    SHAPE, Search, Verdict,
    candidates::{Shipped, models},
    rules::Rules,
    whether,
};
use crate::{Result, isa::Instruction};

/// Cases of the stream on which two arithmetics are compared, beside the corners.
const SEARCHED: u64 = 1 << 14;

/// The shipped models that cover an instruction, by what they compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// The instruction.
    pub instruction: Instruction,
    /// Names of models that compute it alike, in the order of the models.
    pub alike: Vec<Vec<&'static str>>,
    /// Whether each two that stand together are proved to be the same.
    pub proved: bool,
}

/// Which of the shipped models compute an instruction alike.
///
/// # Errors
/// A signal.
pub fn generations(i: &Instruction) -> Result<Agreement> {
    let i = Instruction { m: i.m.min(SHAPE), n: i.n.min(SHAPE), ..i.clone() };
    let search = Search { cases: SEARCHED, seed: 0, time: None };
    let mut alike: Vec<Vec<(&Shipped, usize)>> = Vec::new();
    let mut proved = true;
    'models: for shipped in models() {
        let Some(rule) = shipped.rule(&i) else { continue };
        for known in &mut alike {
            let (other, index) = known[0];
            let tables = [other.tables[index].clone(), shipped.tables[rule].clone()];
            let mut rules = Rules { tables, instructions: [i.clone(), i.clone()], shape: (i.m, i.n) };
            let verdict = whether(&mut rules, &i, &search)?;
            if verdict != Verdict::Differ {
                proved &= verdict != Verdict::NotFound;
                known.push((shipped, rule));
                continue 'models;
            }
        }
        alike.push(vec![(shipped, rule)]);
    }
    let names = |known: Vec<(&Shipped, usize)>| known.into_iter().map(|(shipped, _)| shipped.name).collect();
    Ok(Agreement { instruction: i, alike: alike.into_iter().map(names).collect(), proved })
}
