//! The steps of a schedule for a number of terms, in order.

use std::ops::Range;

use super::{
    Factors,
    schedule::{Accumulators, KOrder, PartTerms, Residue, Schedule, SplitK},
};
use crate::{Error, Result};

/// All steps of an element of D: parts, each of runs, each of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// The parts of k, in the order in which they are joined.
    pub parts: Vec<Vec<Run>>,
}

/// Steps that the unit sums without a break, from zero or C, before promotion or the part's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The k of each step: as many as the instruction's, or fewer, followed by zeros.
    pub steps: Vec<Range<usize>>,
}

impl Schedule {
    /// The pieces of each part of `k` terms; the last ones may be shorter.
    pub fn parts(&self, k: usize) -> Vec<Vec<Range<usize>>> {
        let SplitK { count, granule, terms, .. } = self.split;
        let pieces = |length: usize| (0..k).step_by(length).map(move |from| from..k.min(from + length));
        match terms {
            PartTerms::Contiguous => {
                let length = k.div_ceil(granule).div_ceil(count).max(1) * granule;
                pieces(length).map(|part| vec![part]).collect()
            }
            PartTerms::Interleaved => (0..count.min(k.div_ceil(granule)))
                .map(|part| pieces(granule).skip(part).step_by(count).collect())
                .collect(),
        }
    }

    /// The steps of a sum of `k` terms.
    pub fn walk(&self, k: usize) -> Walk {
        let part = |part: Vec<Range<usize>>| {
            let slabs = part.into_iter().flat_map(|piece| self.slabs(piece));
            let mut steps: Vec<Range<usize>> = match self.slab == self.instruction.k {
                true => slabs.collect(),
                false => slabs.flat_map(|slab| self.steps(slab)).collect(),
            };
            if self.order == KOrder::Descending {
                steps.reverse();
            }
            self.runs(steps)
        };
        Walk { parts: self.parts(k).into_iter().map(part).collect() }
    }

    /// The steps of a part in runs.
    fn runs(&self, steps: Vec<Range<usize>>) -> Vec<Run> {
        let count = |k: usize| k / self.instruction.k;
        let most = self.promote.map_or(usize::MAX, count);
        if (1..=most).contains(&steps.len()) {
            return vec![Run { steps }];
        }
        let mut steps = steps.into_iter();
        let mut runs = Vec::new();
        while steps.len() > 0 {
            let length = match self.promote_halves.map(count) {
                Some(halves) if steps.len() > most && steps.len() < 2 * most => {
                    (steps.len() / 2).next_multiple_of(halves)
                }
                _ => most,
            };
            runs.push(Run { steps: steps.by_ref().take(length).collect() });
        }
        runs
    }

    /// The slabs of a piece of a part.
    fn slabs(&self, piece: Range<usize>) -> Vec<Range<usize>> {
        let short = piece.len() % self.slab;
        let first = if self.residue == Residue::First && short > 0 { short } else { self.slab };
        let mut slabs = Vec::new();
        let mut from = piece.start;
        while from < piece.end {
            let length = if slabs.is_empty() { first } else { self.slab };
            slabs.push(from..piece.end.min(from + length));
            from += length;
        }
        slabs
    }

    /// The steps of a slab; a short one ends with steps on zeros.
    fn steps(&self, slab: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let width = self.instruction.k;
        (0..self.slab / width).map(move |step| {
            let from = slab.end.min(slab.start + step * width);
            from..slab.end.min(from + width)
        })
    }
}

impl Walk {
    /// Refuses a walk in which a step or a promoted run crosses blocks of scales.
    ///
    /// # Errors
    /// A request error that names the key to change.
    pub(super) fn check(&self, schedule: &Schedule, factors: &Factors) -> Result<()> {
        let runs = || self.parts.iter().flatten();
        if let Some(scale) = schedule.instruction.scale {
            let starts = runs().flat_map(|run| run.steps.iter()).filter(|step| !step.is_empty()).map(|step| step.start);
            if let Some(from) = starts.into_iter().find(|from| !from.is_multiple_of(scale.block)) {
                return Err(Error::request(format!(
                    "a step begins at k = {from}, within a block of {} that shares a scale; choose slabs and parts of whole blocks, \
                     and the short slab last",
                    scale.block
                )));
            }
        }
        let Some(scales) = &schedule.scales else { return Ok(()) };
        if scales.multiply.is_at_end() {
            let (k, blocks) = (factors.k(), [scales.a[1], scales.b[0]]);
            return match blocks.into_iter().find(|block| *block < k) {
                Some(block) => Err(Error::request(format!(
                    "scales at the end multiply the whole sum of k = {k}, and a block has a k of {block}; choose scales that all k \
                     share, or multiply = \"fused\" or \"rounded\""
                ))),
                None => factors.has_scales(),
            };
        }
        for run in runs() {
            let steps = || run.steps.iter().filter(|step| !step.is_empty());
            let (Some(from), Some(to)) = (steps().map(|s| s.start).min(), steps().map(|s| s.end - 1).max()) else {
                continue;
            };
            if let Some(block) = [scales.a[1], scales.b[0]].into_iter().find(|block| from / block != to / block) {
                return Err(Error::request(format!(
                    "k = {from} to {to} is promoted at once, and has more than one scale in blocks of {block}; choose promote so \
                     that it divides the blocks, and parts of whole blocks"
                )));
            }
        }
        factors.has_scales()
    }
}

impl Run {
    /// The runs of a schedule's accumulators, to which pieces of k go round-robin; none without a step.
    pub fn dealt(&self, schedule: &Schedule) -> Vec<Run> {
        let Accumulators { count, granule, .. } = schedule.accumulators;
        let pieces: Vec<&[Range<usize>]> = self.steps.chunks(granule / schedule.instruction.k).collect();
        let count = count.min(pieces.len()).max(1);
        let chain = |first: usize| Run {
            steps: pieces.iter().skip(first).step_by(count).copied().flatten().cloned().collect(),
        };
        (0..count).map(chain).collect()
    }

    /// A k of the run, if it has one; all of them share a scale.
    pub(super) fn k(&self) -> Option<usize> {
        self.steps.iter().find(|step| !step.is_empty()).map(|step| step.start)
    }
}
