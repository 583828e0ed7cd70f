//! Bounds that hold for every order of a sum, from magnitudes alone.

use super::{
    element::checked,
    enclosed::{Enclosed, ErrorBound, ErrorSource, exponent, power},
    operand::UnknownProducts,
    step::step,
    walk::{ChainStart, ElementSums, Registers},
};
use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    gemm::{BiasEntry, CEntry, Run, Schedule, Walk},
};

/// Magnitudes of the terms of a sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Magnitudes {
    /// Sum of |a b| over all k, with the scales of blocks.
    pub sum: f64,
    /// Largest exponent of a product that counts in an alignment; `None` if at most that of `sum`.
    ///
    /// Operands that are subnormal, and products with the scales of blocks, count with exponents above their leading bits.
    pub exponent: Option<i32>,
    /// Every product is a multiple of two to this power.
    pub quantum: i32,
    /// Largest sum of the products that the unit takes for zero, where it flushes subnormal operands.
    pub flushed: f64,
}

impl Magnitudes {
    /// Products of normal numbers with this sum of magnitudes, whose bits may lie anywhere.
    pub fn of_sum(sum: f64) -> Magnitudes {
        Magnitudes { sum, exponent: None, quantum: super::enclosed::NO_QUANTUM, flushed: 0.0 }
    }

    fn products(&self, sum: f64) -> UnknownProducts {
        let own = exponent(sum);
        UnknownProducts { sum, exponent: self.exponent.map_or(own, |most| most.max(own)), quantum: self.quantum }
    }
}

/// The bound of a schedule whatever the order of its terms.
///
/// The magnitude of every partial sum is at most the sum of all magnitudes. From that each operation's largest error follows, for all orders
/// of k and all ways to cut k into as many parts, runs and steps as the schedule has.
pub struct OrderFreeBounds {
    schedule: Schedule,
    program: Program,
    walk: Walk,
    /// Number of chains of the unit, and the steps of the longest.
    chains: usize,
    longest: usize,
}

impl OrderFreeBounds {
    /// The bounds of sums of `k` terms by `schedule` in a model's arithmetic.
    ///
    /// # Errors
    /// A schedule that adds C or a bias, or multiplies by factors or scales of its own; a model without the instruction, an instruction of
    /// exclusive ors, or one whose products leave pieces of significands out.
    pub fn new(model: &Model, schedule: &Schedule, k: usize) -> Result<OrderFreeBounds> {
        if schedule.scales.is_some() || schedule.alpha != 1.0 {
            return Err(Error::request(
                "a bound from magnitudes holds for sums of products alone; for scales and alpha give A and B",
            ));
        }
        let program = checked(model, &schedule.instruction)?;
        let schedule = Schedule { c: CEntry::End, bias: BiasEntry::End, ..schedule.clone() };
        let walk = schedule.walk(k);
        let lengths: Vec<usize> = walk
            .parts
            .iter()
            .flatten()
            .flat_map(|run| run.dealt(&schedule))
            .map(|chain| chain.steps.iter().filter(|steps| !steps.is_empty()).count())
            .collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        Ok(OrderFreeBounds { chains: lengths.len(), longest, schedule, program, walk })
    }

    /// The bound of a sum.
    pub fn of(&self, magnitudes: &Magnitudes) -> ErrorBound {
        if magnitudes.sum == 0.0 {
            return ErrorBound::default();
        }
        if !magnitudes.sum.is_finite() {
            let mut error = ErrorBound::default();
            error.raise(ErrorSource::Step, f64::INFINITY);
            return error;
        }
        let whole = self.chain(magnitudes, magnitudes.sum);
        let (each, shared) = match self.chains {
            0 | 1 => (whole, ErrorBound::default()),
            chains => {
                let (least, rate) = self.rate(magnitudes);
                let shared = rate.times(magnitudes.sum);
                match least.error.repeated(chains).plus(&shared).worst() < whole.error.repeated(chains).worst() {
                    true => (least, shared),
                    false => (whole, ErrorBound::default()),
                }
            }
        };
        let cap = (magnitudes.sum + shared.worst()) * super::enclosed::SLACK;
        let each = Enclosed { low: -cap, high: cap, ..each };
        let mut error = Registers::of(&self.schedule).element(&self.walk, &UnknownElement { each, shared, cap }).error;
        error.raise(ErrorSource::Flush, magnitudes.flushed);
        error
    }

    /// The bound of the smallest sum, and the most that a chain's error grows per unit of its sum.
    ///
    /// The sums of all chains add up to the sum of all terms. An error is at most constant plus proportional to the chain's own sum.
    fn rate(&self, magnitudes: &Magnitudes) -> (Enclosed, ErrorBound) {
        let least = self.chain(magnitudes, power(magnitudes.quantum.max(-1000)).min(magnitudes.sum));
        let top = power(exponent(magnitudes.sum));
        let steps = 16;
        let edge = |at: usize| top * (1.0 + at as f64 / steps as f64);
        let rates = (0..steps).map(|at| self.chain(magnitudes, edge(at + 1).next_down()).error.times(1.0 / edge(at)));
        let most = rates.max_by(|x, y| x.worst().total_cmp(&y.worst())).unwrap_or_default();
        (least, most)
    }

    /// The longest chain of the unit, of terms whose magnitudes have this sum.
    fn chain(&self, magnitudes: &Magnitudes, sum: f64) -> Enclosed {
        let products = magnitudes.products(sum);
        let first = step(&self.program, &products, Enclosed::ZERO);
        if self.longest < 2 {
            return first;
        }
        // The errors so far enlarge the sum: the most that they can be is tried.
        let mut assumed = 0.0;
        loop {
            let mut c = Enclosed { low: -sum, high: sum, error: ErrorBound::default(), ..first };
            c.error.raise(ErrorSource::Output, assumed);
            c.exponent = first.exponent.max(Some(exponent(c.most())));
            let mut next = step(&self.program, &products, c);
            c.quantum = c.quantum.min(next.quantum);
            next = step(&self.program, &products, c);
            next.error = next.error.without(ErrorSource::Output).repeated(self.longest);
            let made = next.error.worst();
            if made <= assumed || !made.is_finite() {
                return Enclosed { low: -sum, high: sum, ..next };
            }
            assumed = made * 1.01;
        }
    }
}

/// An element of which magnitudes are known.
struct UnknownElement {
    each: Enclosed,
    shared: ErrorBound,
    cap: f64,
}

impl ElementSums for UnknownElement {
    fn chain(&self, run: &Run, _: ChainStart) -> Enclosed {
        match run.steps.iter().all(|steps| steps.is_empty()) {
            true => Enclosed::ZERO,
            false => self.each,
        }
    }

    fn cap(&self) -> f64 {
        self.cap
    }

    fn scales(&self, _: Option<&Run>) -> Option<[f64; 2]> {
        None
    }

    fn c(&self) -> Option<f64> {
        None
    }

    fn bias(&self) -> Option<f64> {
        None
    }

    fn shares_cap(&self) -> bool {
        true
    }

    fn joined(&self, sum: Enclosed) -> Enclosed {
        Enclosed { error: sum.error.plus(&self.shared), ..sum }
    }
}
