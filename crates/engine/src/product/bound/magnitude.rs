//! Bounds that hold for every order of a sum, from magnitudes alone.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    element::checked,
    enclosed::{Enclosed, ErrorBound, ErrorSource, NO_QUANTUM, exponent, power},
    operand::UnknownProducts,
    step::{CountedErrors, is_contracting, step},
    walk::{ChainStart, ElementSums, output, sum},
};
use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    product::{BiasEntry, CEntry, Run, Schedule, Walk, epilogue::ElementAddends},
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
        Magnitudes { sum, exponent: None, quantum: NO_QUANTUM, flushed: 0.0 }
    }

    fn products(&self, program: &Program, sum: f64) -> UnknownProducts {
        let of_sum = exponent(sum);
        UnknownProducts::of(program, sum, self.exponent.map_or(of_sum, |most| most.max(of_sum)), self.quantum)
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
    /// True if no operation of the unit makes magnitudes larger.
    is_contracting: bool,
    /// True if the program has sums whose magnitudes add up, so that the bound of one path is smaller.
    has_branches: bool,
    /// The rates of errors along paths so far.
    rates: Arc<PathRates>,
    /// The errors of shares so far, by the exponents of the mean share and of the largest product.
    shares: Known<(i32, Option<i32>), [Share; TRIED_SHARES.len()]>,
}

/// Places in a binade at which the error of a chain is looked at.
const PLACES: usize = 16;
/// Binades below the mean magnitude of a chain from which shares of the error are tried.
const TRIED_SHARES: [i32; 3] = [0, 4, 8];
/// Exponent of the least of these.
const LEAST_SHARE: i32 = -1000;
/// Binades below a sum from which on errors along a path count as relative, at least.
const PATH_BINADES: i32 = 40;
/// Step of these binades, a power of two.
const PATH_STEP: i32 = 8;
/// Places in a binade, in 64ths, between which the error along a path is looked at.
///
/// Most errors are the same in all of the binade: they are the largest part of its least sums.
const PATH_EDGES: [u8; 19] = [0, 1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64];

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
        let is_contracting = is_contracting(&program);
        let has_branches = has_branches(&program);
        let (chains, rates, shares) = (lengths.len(), Arc::default(), Known::default());
        Ok(OrderFreeBounds { chains, longest, schedule, program, walk, is_contracting, has_branches, rates, shares })
    }

    /// Schedules of one instruction share what is known of its steps.
    pub(super) fn share(all: &mut [OrderFreeBounds]) {
        for at in 1..all.len() {
            let (before, [this, ..]) = all.split_at_mut(at) else { return };
            let same = before.iter().find(|other| other.schedule.instruction == this.schedule.instruction);
            if let Some(same) = same {
                this.rates = Arc::clone(&same.rates);
            }
        }
    }

    /// The bound of a sum.
    pub fn of(&self, magnitudes: &Magnitudes) -> ErrorBound {
        match self.sum(magnitudes) {
            (sum, true) => self.rounded(sum, magnitudes.sum),
            (sum, false) => sum.error,
        }
    }

    /// The sum before it is rounded to D's format, and true if that follows.
    pub(super) fn sum(&self, magnitudes: &Magnitudes) -> (Enclosed, bool) {
        if magnitudes.sum == 0.0 {
            return (Enclosed::ZERO, true);
        }
        if !magnitudes.sum.is_finite() {
            let mut unbounded = Enclosed::up_to(f64::INFINITY, 0, magnitudes.quantum);
            unbounded.error.raise(ErrorSource::Step, f64::INFINITY);
            return (unbounded, true);
        }
        let single_chain = self.chain(magnitudes, magnitudes.sum);
        let (mut each, shared) = self.shares(magnitudes, &single_chain);
        if single_chain.error.may_overflow() {
            each.overflow();
        }
        let cap = (magnitudes.sum + shared.finite()) * super::enclosed::SLACK;
        let each = Enclosed { low: -cap, high: cap, error: each, ..single_chain };
        let element = UnknownElement { each, shared, cap };
        let (mut sum, rounds) = sum(&self.schedule, &self.walk, &element);
        sum.error.raise(ErrorSource::Flush, magnitudes.flushed);
        (sum, rounds)
    }

    /// The bound of a sum that is rounded to D's format, whose exact value has at most this magnitude.
    pub(super) fn rounded(&self, sum: Enclosed, exact: f64) -> ErrorBound {
        output(&self.schedule, &sum.capped(exact)).error
    }

    /// The error of each chain, and the error that all of them share.
    ///
    /// The magnitudes of all chains add up to those of all terms. Let f(s) bound the error of a chain of magnitude s, in terms whose bits may
    /// lie anywhere. f grows with s. f(s) / s shrinks where s doubles: the parts of f that are relative to s stay, and those that subnormal
    /// numbers, floors and subnormal operands make do not grow. So f is at most f(t) below t, and at most s times the largest f(s) / s of
    /// t..2t above. Some t are tried.
    fn shares(&self, magnitudes: &Magnitudes, single_chain: &Enclosed) -> (ErrorBound, ErrorBound) {
        let alone = (single_chain.error, ErrorBound::default());
        // A sum that saturates has an error that no share of it has.
        if self.chains < 2 || !single_chain.error.finite().is_finite() {
            return alone;
        }
        let share = exponent(magnitudes.sum / self.chains as f64);
        let of_share = self.shares.get((share, magnitudes.exponent), || {
            let anywhere = Magnitudes { exponent: magnitudes.exponent, ..Magnitudes::of_sum(magnitudes.sum) };
            let f = |sum: f64| self.chain(&anywhere, sum).error;
            TRIED_SHARES.map(|below| {
                let least = power((share - below).max(LEAST_SHARE));
                let edge = |at: usize| least * (1.0 + at as f64 / PLACES as f64);
                let rates = (0..PLACES).map(|at| f(edge(at + 1).next_down()).times(1.0 / edge(at)));
                let rate = rates.max_by(|x, y| x.finite().total_cmp(&y.finite())).unwrap_or_default();
                Share { below: f(least), rate }
            })
        });
        let tried = of_share.map(|share| (share.below, share.rate.times(magnitudes.sum)));
        let all = |(each, shared): &(ErrorBound, ErrorBound)| each.repeated(self.chains).plus(shared).finite();
        [alone].into_iter().chain(tried).min_by(|x, y| all(x).total_cmp(&all(y))).unwrap_or(alone)
    }

    /// The longest chain of the unit, of terms whose magnitudes have this sum.
    fn chain(&self, magnitudes: &Magnitudes, sum: f64) -> Enclosed {
        let first = one_step(&self.program, self.has_branches, magnitudes, sum, &self.rates);
        if self.longest < 2 {
            return first;
        }
        let products = magnitudes.products(&self.program, sum);
        let later = self.longest - 1;
        let paths = self
            .has_branches
            .then(|| self.rates.paths(&self.program, magnitudes, sum, Some((&first, later))))
            .flatten();
        let least_of = |error: ErrorBound| paths.map_or(error, |paths| smaller(error, paths));
        if self.is_contracting {
            // Neither the sum nor the exact value leaves the sum of all magnitudes.
            let c = Enclosed { low: -sum, high: sum, error: ErrorBound::default(), ..first };
            let c = Enclosed { exponent: first.exponent.max(Some(exponent(sum))), ..c };
            let settled = step(&self.program, &products, c).quantum;
            let next = step(&self.program, &products, Enclosed { quantum: c.quantum.min(settled), ..c });
            let error = least_of(first.error.plus(&next.error.repeated(later))).at_most(2.0 * sum);
            return Enclosed { low: -sum, high: sum, error, ..next };
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
            let each = next.error.without(ErrorSource::Output);
            let made = first.error.plus(&each.repeated(later));
            next.error = least_of(made);
            if next.error != made || made.finite() <= assumed || !made.finite().is_finite() {
                return Enclosed { low: -sum, high: sum, ..next };
            }
            assumed = made.finite() * 1.01;
        }
    }
}

/// One step from zero, of terms whose magnitudes have this sum.
pub(super) fn one_step(
    program: &Program,
    has_branches: bool,
    magnitudes: &Magnitudes,
    sum: f64,
    rates: &PathRates,
) -> Enclosed {
    let made = step(program, &magnitudes.products(program, sum), Enclosed::ZERO);
    match has_branches.then(|| rates.paths(program, magnitudes, sum, None)).flatten() {
        Some(paths) => Enclosed { error: smaller(made.error, paths), ..made },
        None => made,
    }
}

/// The smaller of the error and the error along paths, unless sums may saturate.
fn smaller(error: ErrorBound, mut paths: ErrorBound) -> ErrorBound {
    paths.overflows_as(&error);
    if error.finite().is_finite() && paths.finite() < error.finite() { paths } else { error }
}

/// True if the errors along a path of a step are fewer than all.
pub(super) fn has_branches(program: &Program) -> bool {
    let products = Magnitudes::of_sum(1.0).products(program, 1.0);
    let from =
        |c: Enclosed, counted_errors| step(program, &UnknownProducts { counted_errors, ..products }, c).error.finite();
    let d = step(program, &products, Enclosed::ZERO);
    let c = Enclosed { low: -1.0, high: 1.0, error: ErrorBound::default(), ..d };
    from(Enclosed::ZERO, CountedErrors::LongestPath) < from(Enclosed::ZERO, CountedErrors::All) * 0.99
        || from(c, CountedErrors::PathOfC) < from(c, CountedErrors::All) * 0.99
}

/// Errors of a chain by the magnitude of its terms.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// The error below the magnitude that is tried.
    below: ErrorBound,
    /// Largest quotient of error and magnitude from there on.
    rate: ErrorBound,
}

/// Values that were computed, of keys that are few.
#[derive(Debug)]
struct Known<K, V>(Mutex<Vec<(K, V)>>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Known<K, V> {
        Known(Mutex::default())
    }
}

impl<K: Copy + PartialEq, V: Copy> Known<K, V> {
    /// The value of a key, computed where it is missing.
    fn get(&self, key: K, value: impl FnOnce() -> V) -> V {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = known().iter().find(|(other, _)| *other == key).map(|(_, value)| *value);
        stored.unwrap_or_else(|| {
            let value = value();
            known().push((key, value));
            value
        })
    }
}

/// Rates of errors along the paths of a program, relative to sums from one binade on.
///
/// They are the same for all sums of a binade, so they are kept.
#[derive(Debug, Default)]
pub(super) struct PathRates(Known<RatesOf, Option<Rates>>);

/// The sums that have the same rates.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RatesOf {
    /// Exponent of the least sum whose errors count as relative.
    least: i32,
    /// Exponent of the magnitudes.
    exponent: Option<i32>,
    /// C of a later step but for its magnitude; `None` for a first step.
    c: Option<Enclosed>,
}

#[derive(Debug, Clone, Copy)]
struct Rates {
    /// All errors of a step.
    all: f64,
    /// Errors along the longest path from a product.
    longest: ErrorBound,
    /// Errors along the path of C.
    of_c: ErrorBound,
    /// The error of a step below the least sum.
    below: ErrorBound,
}

impl PathRates {
    /// Error of a chain of steps from the magnitudes that their sums share; `None` if it is no bound.
    ///
    /// `chain` has the result of the first step and the number of steps after it.
    ///
    /// The error of an operation is at most e(t) if the magnitude M of its value is below t, and else at most r M, with r the largest
    /// e(s) / s of t..2t (see [`OrderFreeBounds::shares`]). A product is part of the values on its path to the result. So the sum of all
    /// r M is at most the sum of magnitudes times the largest sum of r along a path: from a product through its step, then from C through
    /// each later one. M is the magnitude of a computed value: errors enlarge it, which the quotient covers.
    fn paths(
        &self,
        program: &Program,
        magnitudes: &Magnitudes,
        sum: f64,
        chain: Option<(&Enclosed, usize)>,
    ) -> Option<ErrorBound> {
        // The magnitude, the exponent and the quantum follow from each sum.
        let of_c = |like: &Enclosed| Enclosed {
            low: 0.0,
            high: 0.0,
            error: ErrorBound::default(),
            exponent: None,
            quantum: NO_QUANTUM,
            common: 0.0,
            ..*like
        };
        let of = RatesOf {
            least: ((exponent(sum) - PATH_BINADES) & -PATH_STEP).max(LEAST_SHARE),
            exponent: magnitudes.exponent,
            c: chain.map(|(like, _)| of_c(like)),
        };
        let rates = self.0.get(of, || of.rates(program))?;
        let later = chain.map_or(0, |(_, later)| later);
        let mut path = rates.longest;
        if later > 0 {
            path = path.plus(&rates.of_c.repeated(later));
        }
        let growth = rates.all + path.finite();
        let below = rates.below.repeated(later + 1);
        (growth < 0.5).then(|| below.plus(&path.times(sum)).times(1.0 / (1.0 - growth)))
    }
}

impl RatesOf {
    /// The rates; `None` if errors are no small part of sums.
    fn rates(&self, program: &Program) -> Option<Rates> {
        let least = power(self.least);
        let error = |sum: f64, counted_errors: CountedErrors| {
            let magnitudes = Magnitudes { exponent: self.exponent, ..Magnitudes::of_sum(sum) };
            let products = UnknownProducts { counted_errors, ..magnitudes.products(program, sum) };
            let c = self.c.map_or(Enclosed::ZERO, |like| Enclosed {
                low: -sum,
                high: sum,
                exponent: Some(exponent(sum).max(products.exponent)),
                ..like
            });
            step(program, &products, c).error
        };
        let edges = PATH_EDGES.map(|edge| least * (1.0 + f64::from(edge) / 64.0));
        let rate = |counted_errors: CountedErrors| {
            let rates = edges.windows(2).map(|edge| error(edge[1].next_down(), counted_errors).times(1.0 / edge[0]));
            rates.max_by(|x, y| x.finite().total_cmp(&y.finite())).unwrap_or_default()
        };
        if error(edges[1].next_down(), CountedErrors::All).finite() >= least {
            return None;
        }
        Some(Rates {
            all: rate(CountedErrors::All).finite(),
            longest: rate(CountedErrors::LongestPath),
            of_c: if self.c.is_some() { rate(CountedErrors::PathOfC) } else { ErrorBound::default() },
            below: error(2.0 * least, CountedErrors::All),
        })
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

    fn scales(&self, _: &Run) -> Option<[f64; 2]> {
        None
    }

    fn addends(&self) -> ElementAddends {
        ElementAddends::default()
    }

    fn shares_cap(&self) -> bool {
        true
    }

    fn joined(&self, sum: Enclosed) -> Enclosed {
        Enclosed { error: sum.error.plus(&self.shared), ..sum }
    }
}
