//! The progress of a run.

use serde::{Deserialize, Serialize};

use super::{Run, cut::Cut};
use crate::{
    Result,
    device::{Count, Spot, Verified},
};

/// The progress of a run: every tile before `next` is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// First tile not yet compared.
    pub next: u64,
    /// Counts for each regime.
    pub regimes: Vec<Count>,
    /// First outputs that differ, in order, `max_mismatches` at most.
    pub spots: Vec<Spot>,
    /// Counts at the end of each whole unit with one of `spots`.
    pub marks: Vec<Mark>,
    /// Seconds of work, before and after resumptions.
    pub seconds: f64,
    /// True if the run has ended.
    pub finished: bool,
}

/// Counts up to a tile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// First tile not counted.
    pub tile: u64,
    /// Counts for each regime.
    pub regimes: Vec<Count>,
}

/// A piece of a run, from the end of the piece before.
#[derive(Debug)]
pub(super) struct Piece {
    /// First tile after it.
    pub(super) end: u64,
    /// Counts, and the wanted differing outputs in order.
    pub(super) found: Verified,
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
            spots: Vec::new(),
            marks: Vec::new(),
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

    /// Places still to be listed.
    pub(super) fn wanted(&self, run: &Run) -> usize {
        run.max_mismatches as usize - self.spots.len()
    }

    /// True if enough outputs differ to end the run.
    pub fn stopped(&self, run: &Run) -> bool {
        run.max_mismatches > 0 && self.wanted(run) == 0
    }

    /// Adds pieces that follow this state, until the run is finished.
    /// A piece with listed outputs lies in one unit.
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

    /// Ends the run after the last compared tile.
    pub(super) fn end(&mut self, cut: &Cut) {
        self.mark(cut);
        self.finished = true;
    }

    /// Keeps the counts at the end of a unit with a listed place.
    fn mark(&mut self, cut: &Cut) {
        let known = self.marks.last().is_some_and(|mark| mark.tile == self.next);
        if !known && self.spots.last().is_some_and(|spot| cut.unit_end(spot.tile) == self.next) {
            self.marks.push(Mark { tile: self.next, regimes: self.regimes.clone() });
        }
    }
}
