//! How far a run has come.

use serde::{Deserialize, Serialize};

use super::Run;
use crate::{
    Result,
    device::{Count, Found, Spot},
};

/// How far a run has come: everything up to `next` is counted, and nothing beyond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The first tile that is not yet compared.
    pub next: u64,
    /// Counts for each regime.
    pub regimes: Vec<Count>,
    /// The first outputs that differ, in order, `max_mismatches` at most.
    pub spots: Vec<Spot>,
    /// For each unit that holds one of `spots`, the counts up to its end: where the run would have stopped.
    pub marks: Vec<Mark>,
    /// Seconds of work, those before a resumption included.
    pub seconds: f64,
    /// Whether nothing is left to be done.
    pub finished: bool,
}

/// Counts up to a tile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// The first tile that is not counted.
    pub tile: u64,
    /// Counts for each regime.
    pub regimes: Vec<Count>,
}

/// A piece of a run: what was found up to a tile, from where the piece before ended.
#[derive(Debug)]
pub(super) struct Piece {
    /// The first tile beyond it.
    pub(super) end: u64,
    pub(super) found: Found,
    /// Whether it ends with a unit whose listed outputs differ, as they are in `found.spots`, in order.
    pub(super) marked: bool,
}

impl State {
    /// Nothing done yet.
    ///
    /// # Errors
    /// No instruction has the run's name.
    pub fn new(run: &Run) -> Result<State> {
        let range = run.range(&run.instruction()?);
        Ok(State {
            next: range.start,
            regimes: vec![Count::default(); run.regimes.len()],
            spots: Vec::new(),
            marks: Vec::new(),
            seconds: 0.0,
            finished: range.is_empty(),
        })
    }

    /// Outputs that were compared.
    pub fn compared(&self) -> u64 {
        self.regimes.iter().map(|count| count.compared).sum()
    }

    /// Outputs that differ.
    pub fn differing(&self) -> u64 {
        self.regimes.iter().map(|count| count.differing).sum()
    }

    /// How many places are still to be listed.
    pub(super) fn wanted(&self, run: &Run) -> usize {
        run.max_mismatches as usize - self.spots.len()
    }

    /// Whether the run ends before its last tile, because enough outputs differ.
    pub fn stopped(&self, run: &Run) -> bool {
        run.max_mismatches > 0 && self.wanted(run) == 0
    }

    /// Adds the pieces that begin where this state ends, until the run is finished; `end` is the end of its part.
    pub(super) fn commit(&mut self, run: &Run, pieces: &[Piece], end: u64) {
        for piece in pieces {
            if self.finished {
                return;
            }
            self.next = piece.end;
            for (own, other) in self.regimes.iter_mut().zip(&piece.found.regimes) {
                own.add(*other);
            }
            if piece.marked {
                let wanted = self.wanted(run);
                self.spots.extend(piece.found.spots.iter().take(wanted));
                self.marks.push(Mark { tile: self.next, regimes: self.regimes.clone() });
            }
            self.finished = self.next >= end || self.stopped(run);
        }
    }
}
