//! How far a run has come.

use serde::{Deserialize, Serialize};

use super::{Run, cut::Cut};
use crate::{
    Result,
    device::{Count, Spot, Verified},
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
    /// For each unit that holds one of `spots`, once it is whole, the counts up to its end: where the run would have stopped.
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
    /// The counts, and in order the first outputs that differ, if some of its are to be listed.
    pub(super) found: Verified,
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

    /// Whether the run ends with the unit before its last tile, because enough outputs differ.
    pub fn stopped(&self, run: &Run) -> bool {
        run.max_mismatches > 0 && self.wanted(run) == 0
    }

    /// Adds the pieces that begin where this state ends, until the run is finished. A piece with listed outputs lies in one unit.
    pub(super) fn commit(&mut self, run: &Run, pieces: &[Piece], cut: &Cut) {
        for piece in pieces {
            if self.finished {
                return;
            }
            self.next = piece.end;
            for (own, other) in self.regimes.iter_mut().zip(&piece.found.regimes) {
                own.add(*other);
            }
            let wanted = self.wanted(run);
            self.spots.extend(piece.found.spots.iter().take(wanted));
            if cut.is_unit_end(self.next) {
                self.mark(cut);
                self.finished = self.next >= cut.end || self.stopped(run);
            }
        }
    }

    /// Ends the run, whose last tile is the last one compared.
    pub(super) fn end(&mut self, cut: &Cut) {
        self.mark(cut);
        self.finished = true;
    }

    /// Keeps the counts at the end of a unit, if one of its places is listed.
    fn mark(&mut self, cut: &Cut) {
        let known = self.marks.last().is_some_and(|mark| mark.tile == self.next);
        if !known && self.spots.last().is_some_and(|spot| cut.unit_end(spot.tile) == self.next) {
            self.marks.push(Mark { tile: self.next, regimes: self.regimes.clone() });
        }
    }
}
