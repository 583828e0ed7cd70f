//! The progress of a run.

use serde::{Deserialize, Serialize};

use super::Run;
use crate::{
    Result,
    base::parallel,
    comparison::{Answer, Difference, Kinds, MOST_GROUPED, ResultPlace, Subject},
    device::{Count, Mismatch, Verified},
    isa::Instruction,
};

/// The progress of a run: every tile before `next` is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// First tile not yet compared.
    pub next: u64,
    /// Counts for each regime.
    pub regimes: Vec<Count>,
    /// Kinds of the first [`MOST_GROUPED`] mismatches, each with its count and its simplest case, as found.
    pub kinds: Vec<Difference>,
    /// Seconds of work, before and after resumptions.
    pub seconds: f64,
    /// True if the run has ended.
    pub finished: bool,
}

impl State {
    /// Makes the state of a run that has not begun.
    ///
    /// # Errors
    /// No instruction has the run's name.
    pub fn new(run: &Run) -> Result<State> {
        let range = run.range(&run.instruction()?);
        Ok(State {
            next: range.start,
            regimes: vec![Count::default(); run.regimes.len()],
            kinds: Vec::new(),
            seconds: 0.0,
            finished: range.is_empty(),
        })
    }

    /// Outputs compared.
    pub fn compared(&self) -> u64 {
        self.regimes.iter().map(|count| count.compared).sum()
    }

    /// Outputs that differ.
    pub fn differing(&self) -> u64 {
        self.regimes.iter().map(|count| count.differing).sum()
    }

    /// Mismatches still to be grouped, at most; none where none is listed.
    pub(super) fn wanted(&self, run: &Run) -> usize {
        let grouped = self.kinds.iter().map(|kind| kind.count).sum();
        if run.max_mismatches > 0 { MOST_GROUPED.saturating_sub(grouped) as usize } else { 0 }
    }

    /// Adds the result of the tiles from the next one to `end`, with its wanted mismatches in order.
    pub(super) fn add(&mut self, run: &Run, i: &Instruction, end: u64, verified: &Verified) {
        self.next = end;
        for (count, other) in self.regimes.iter_mut().zip(&verified.regimes) {
            count.add(*other);
        }
        let mismatches = &verified.mismatches[..verified.mismatches.len().min(self.wanted(run))];
        if !mismatches.is_empty() {
            let mut kinds = Kinds::of(&Subject::Matrix(i), self.kinds.drain(..));
            group(run, i, mismatches).for_each(|later| kinds.unite(later));
            self.kinds = kinds.into_differences();
        }
        self.finished = self.next >= run.range(i).end;
    }
}

/// Groups mismatches on all threads, and gives the groups in order.
fn group(run: &Run, i: &Instruction, mismatches: &[Mismatch]) -> impl Iterator<Item = Kinds> {
    let sequence = run.sequence();
    let tiles: Vec<&[Mismatch]> = mismatches.chunk_by(|x, y| x.spot.tile == y.spot.tile).collect();
    parallel::fold(tiles.len(), Kinds::default, move |kinds, number| {
        let tile = tiles[number][0].spot.tile;
        let (operands, regime) = (sequence.tiles(i, tile, 1), sequence.regime(i, tile));
        for &Mismatch { spot, device, model } in tiles[number] {
            let case = operands.case(i, 0, spot.row as usize, spot.column as usize);
            let difference = Difference::of(ResultPlace::Output(spot), Answer { case, device, model });
            kinds.add(&Subject::Matrix(i), Difference { regime, ..difference });
        }
    })
}
