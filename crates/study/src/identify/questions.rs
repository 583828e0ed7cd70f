//! Inputs that would decide what the answers leave open, for a device that answers elsewhere.

use std::collections::BTreeMap;

use super::{Finding, evidence::LOOKED_THROUGH};
use crate::{
    arithmetic::Evaluator,
    base::interrupt,
    inputs::{Corners, Sequence},
    isa::{Codes, Tiles},
    rule::{Change, ChangeVerdict, equivalent},
    trace::{CONTENTS, QUESTIONS, Trace},
};

/// Inputs without answers, and the open changes of a rule that they decide.
#[derive(Debug, Clone)]
pub struct Questions {
    /// A trace without outputs; `None` if no input was found.
    pub trace: Option<Trace>,
    /// Open changes and pairs of changes that some input decides.
    pub decided: usize,
    /// All open changes and pairs of changes.
    pub open: usize,
}

impl Finding {
    /// Inputs that decide between the rule and its open changes, drawn with this seed.
    ///
    /// `None` if the rule misses an answer, or the work ended early.
    pub fn questions(&self, seed: u64) -> Option<Questions> {
        let (identification, tested) = (&self.identification, self.tested.as_ref()?);
        let part = identification.asked.part();
        let evaluator = identification.model()?.evaluator(&part).ok()?;
        let changed = |change: &Change| tested.rule.model(Some(change))?.evaluator(&part).ok();
        let open = tested.changes.iter().filter(|(_, verdict)| matches!(verdict, ChangeVerdict::Survives));
        let singles = open.filter_map(|(change, _)| changed(change));
        let pairs = tested.pairs.iter().filter_map(|pair| pair.evaluator(&tested.rule.rule, &part));
        let others: Vec<Evaluator> = singles.chain(pairs).filter(|other| !equivalent(&evaluator, other)).collect();
        let first = identification.asked.count() as u64;
        let mut candidates = Sequence::Random { seed }.tiles(&part, first, LOOKED_THROUGH);
        candidates.extend(&Corners::of(&part).tiles);
        let (tiles, decided) = deciding(&evaluator, &others, &candidates);
        let trace = (tiles.count > 0).then(|| Trace {
            instruction: identification.instruction.clone(),
            m: part.m,
            n: part.n,
            k: part.k,
            d: Codes::zeros(part.d, 0),
            inputs: tiles,
            metadata: BTreeMap::from([(CONTENTS.into(), QUESTIONS.into())]),
        });
        Some(Questions { trace, decided, open: others.len() })
    }
}

/// A few tiles on which an arithmetic differs from each of the others.
/// They are among the candidates. Returns the number of others that they decide, too.
pub(super) fn deciding<'a>(
    evaluator: &Evaluator,
    others: impl IntoIterator<Item = &'a Evaluator>,
    candidates: &Tiles,
) -> (Tiles, usize) {
    let mut tiles = candidates.slice(0, 0);
    let mut decided = 0;
    for other in others {
        let differs = |tiles: &Tiles| other.execute(tiles).as_bytes() != evaluator.execute(tiles).as_bytes();
        if differs(&tiles) {
            decided += 1;
            continue;
        }
        let all = (0..candidates.count).map(|at| candidates.slice(at, at + 1));
        if let Some(tile) = all.take_while(|_| interrupt::pending().is_none()).find(differs) {
            tiles.extend(&tile);
            decided += 1;
        }
    }
    (tiles, decided)
}
