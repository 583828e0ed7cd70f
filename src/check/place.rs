//! Where along k a fault lies: the one cause that explains every error that is outside its bound.

use std::ops::Range;

use super::Outside;
use crate::{
    base::{interrupt, named::named, parallel},
    gemm::Factors,
    isa::Instruction,
};

/// Errors that a cause has to explain, at least: fewer are explained by many causes.
const LEAST_ERRORS: usize = 12;
/// Ends of ranges along k that are tried, at most; of a longer k they lie apart.
const MOST_ENDS: usize = 1 << 15;

named! {
    /// A cause of errors along k.
    pub enum FaultCause {
        LeftOut = "left-out": "the products of these k are missing";
        CountedTwice = "counted-twice": "the products of these k are there twice";
        ElementOfA = "element-of-a": "another number stands in A at this k of the row";
        ElementOfB = "element-of-b": "another number stands in B at this k of the column";
    }
}

/// The k at which a fault lies.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultPlace {
    /// The cause that explains the errors.
    pub cause: FaultCause,
    /// The k that are at fault.
    pub k: Range<usize>,
    /// Errors that were looked at, all of which it explains.
    pub errors: usize,
    /// Largest distance of D from what the cause gives, over the element's bound.
    pub rest: f64,
    /// Ranges that explain the errors too; all of them share some k.
    pub fitting: usize,
}

/// An error that is to be explained.
struct Unexplained {
    /// D - exact.
    error: f64,
    bound: f64,
    /// Sums of the products before each end.
    before: Vec<f64>,
}

/// Finds the k at which a fault lies: the cause that brings D within the bound of every listed element.
///
/// `None` without such a cause, with several that share no k, or with fewer than a dozen finite errors. Only for A times B alone.
pub(super) fn place(outside: &[Outside], factors: &Factors, instruction: &Instruction) -> Option<FaultPlace> {
    let finite: Vec<&Outside> = outside.iter().filter(|own| own.error.is_finite() && own.bound.is_finite()).collect();
    if finite.len() < LEAST_ERRORS || finite.len() < outside.len() {
        return None;
    }
    let place = range(&finite, factors, instruction).or_else(|| element(&finite, factors, instruction));
    // Causes that were not tried may explain the errors as well.
    place.filter(|_| interrupt::pending().is_none())
}

/// The product of one k, with the scales of its block.
fn product(factors: &Factors, i: &Instruction, row: usize, column: usize, k: usize) -> f64 {
    let scales = match (i.scale, &factors.scale_a, &factors.scale_b) {
        (Some(scale), Some(a), Some(b)) => a.value(row, k / scale.block) * b.value(k / scale.block, column),
        _ => 1.0,
    };
    factors.a.value(row, k) * factors.b.value(k, column) * scales
}

/// The range of k that is missing, or there twice.
fn range(outside: &[&Outside], factors: &Factors, i: &Instruction) -> Option<FaultPlace> {
    let k = factors.k();
    let step = k.div_ceil(MOST_ENDS).next_power_of_two();
    let mut ends: Vec<usize> = (0..k).step_by(step).collect();
    ends.push(k);
    let errors: Vec<Unexplained> = outside
        .iter()
        .map(|own| {
            let mut sum = 0.0;
            let mut before = vec![0.0];
            for pair in ends.windows(2) {
                sum += (pair[0]..pair[1]).map(|k| product(factors, i, own.row, own.column, k)).sum::<f64>();
                before.push(sum);
            }
            Unexplained { error: own.d - own.exact, bound: own.bound, before }
        })
        .collect();
    let tried = |from: usize| {
        let mut fits = Fits::default();
        if interrupt::pending().is_some() {
            return fits;
        }
        for (cause, sign) in [(FaultCause::LeftOut, 1.0), (FaultCause::CountedTwice, -1.0)] {
            for to in from + 1..ends.len() {
                let rests = errors.iter().map(|own| {
                    let explained = sign * (own.before[to] - own.before[from]);
                    (own.error + explained).abs() / own.bound
                });
                if let Some(rest) = within(rests) {
                    let k = ends[from]..ends[to];
                    fits.add(FaultPlace { cause, k, errors: errors.len(), rest, fitting: 1 });
                }
            }
        }
        fits
    };
    Fits::all(parallel::map(0..ends.len() - 1, tried)).best()
}

/// The element of A (of B) that is wrong, where all errors are in one row (one column).
fn element(outside: &[&Outside], factors: &Factors, i: &Instruction) -> Option<FaultPlace> {
    let first = outside[0];
    let cause = match () {
        () if outside.iter().all(|own| own.row == first.row) => FaultCause::ElementOfA,
        () if outside.iter().all(|own| own.column == first.column) => FaultCause::ElementOfB,
        () => return None,
    };
    let fit = |k: usize| {
        // Effects on D of a change of the element by one.
        let effects: Vec<f64> = outside
            .iter()
            .map(|own| {
                let given = match cause {
                    FaultCause::ElementOfA => factors.a.value(own.row, k),
                    _ => factors.b.value(k, own.column),
                };
                let other = match cause {
                    FaultCause::ElementOfA => factors.b.value(k, own.column),
                    _ => factors.a.value(own.row, k),
                };
                match given {
                    0.0 => other,
                    given => product(factors, i, own.row, own.column, k) / given,
                }
            })
            .collect();
        let squares: f64 = effects.iter().map(|x| x * x).sum();
        let change = outside.iter().zip(&effects).map(|(own, x)| (own.d - own.exact) * x).sum::<f64>() / squares;
        let rests = outside.iter().zip(&effects);
        let rest = within(rests.map(|(own, x)| (own.d - own.exact - change * x).abs() / own.bound))?;
        Some(FaultPlace { cause, k: k..k + 1, errors: outside.len(), rest, fitting: 1 })
    };
    let mut fits = Fits::default();
    (0..factors.k()).take_while(|_| interrupt::pending().is_none()).filter_map(fit).for_each(|place| fits.add(place));
    fits.best()
}

/// The largest of distances over their bounds, if all are within.
fn within(rests: impl Iterator<Item = f64>) -> Option<f64> {
    let mut largest = 0.0f64;
    for rest in rests {
        if rest > 1.0 || rest.is_nan() {
            return None;
        }
        largest = largest.max(rest);
    }
    Some(largest)
}

/// The places that explain all errors.
#[derive(Default)]
struct Fits {
    best: Option<FaultPlace>,
    count: usize,
    /// The k that all of them have.
    shared: Range<usize>,
}

impl Fits {
    fn add(&mut self, place: FaultPlace) {
        let own = Fits { count: place.fitting, shared: place.k.clone(), best: Some(place) };
        self.join(own);
    }

    fn join(&mut self, other: Fits) {
        let Some(theirs) = other.best else { return };
        self.shared = match self.count {
            0 => other.shared,
            _ => self.shared.start.max(other.shared.start)..self.shared.end.min(other.shared.end),
        };
        self.count += other.count;
        let order = |x: &FaultPlace, y: &FaultPlace| x.rest.total_cmp(&y.rest).then(x.k.len().cmp(&y.k.len()));
        self.best = self.best.take().into_iter().chain([theirs]).min_by(order);
    }

    fn all(parts: impl IntoIterator<Item = Fits>) -> Fits {
        parts.into_iter().fold(Fits::default(), |mut all, part| {
            all.join(part);
            all
        })
    }

    /// The place that leaves least, if all that fit share some k.
    fn best(self) -> Option<FaultPlace> {
        let fitting = self.count;
        self.best.filter(|_| !self.shared.is_empty()).map(|best| FaultPlace { fitting, ..best })
    }
}
