//! Error analysis of a schedule outside the instruction: enclosures of what the register holds.

use super::enclosed::{Enclosed, ErrorSource, ZERO_QUANTUM, overflow_shows, overflows, power, product_up};
use crate::{
    format::{self, Format, Rounding},
    product::{
        BiasEntry, CEntry, Run, Schedule, Walk,
        epilogue::{self, ElementAddends, RegisterArithmetic},
    },
};

/// The initial value of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChainStart {
    Zero,
    C,
    Bias,
}

/// Operands of an element, as a schedule asks for them.
pub(super) trait ElementSums {
    /// The unit's sum of a run of steps in one accumulator.
    fn chain(&self, run: &Run, start: ChainStart) -> Enclosed;

    /// The largest magnitude of an exact sum of any products of the element.
    fn cap(&self) -> f64;

    /// The scales of A and B outside the unit, of a run.
    fn scales(&self, run: &Run) -> Option<[f64; 2]>;

    /// The addends and scales outside the unit.
    fn addends(&self) -> ElementAddends;

    /// True if the magnitudes of all parts of k together, not of each, reach the cap.
    fn shares_cap(&self) -> bool {
        false
    }

    /// Adds what the sums of chains leave out of their errors, once all are joined.
    fn joined(&self, sum: Enclosed) -> Enclosed {
        sum
    }
}

/// An element of D.
pub(super) fn element(schedule: &Schedule, walk: &Walk, sums: &dyn ElementSums) -> Enclosed {
    match sum(schedule, walk, sums) {
        (sum, true) => output(schedule, &sum),
        (sum, false) => sum,
    }
}

/// The sum before it is rounded to D's format, and true if that follows.
pub(super) fn sum(schedule: &Schedule, walk: &Walk, sums: &dyn ElementSums) -> (Enclosed, bool) {
    let register = Enclosures { schedule, format: schedule.register(), sums };
    let addends = sums.addends();
    let bare = schedule.is_bare(walk.parts.len(), addends.c.is_some(), addends.bias.is_some());
    let mut parts = Vec::with_capacity(walk.parts.len());
    for (at, part) in walk.parts.iter().enumerate() {
        let start = match at {
            0 if schedule.c == CEntry::Start => ChainStart::C,
            0 if schedule.bias == BiasEntry::Start => ChainStart::Bias,
            _ => ChainStart::Zero,
        };
        let mut total: Option<Enclosed> = None;
        for run in part {
            let accumulated = register.accumulated(run, start);
            if bare {
                return (sums.joined(accumulated), false);
            }
            total = Some(epilogue::promoted(&register, schedule, total.as_ref(), &accumulated, sums.scales(run)));
        }
        parts.push(total.unwrap_or(Enclosed::ZERO));
    }
    (epilogue::finished(&register, schedule, parts, &addends), true)
}

/// The value rounded to D's format.
pub(super) fn output(schedule: &Schedule, value: &Enclosed) -> Enclosed {
    value.rounded(schedule.output.format, schedule.output.rounding, ErrorSource::Output)
}

/// The exponent of the last bit of a number.
pub(super) fn quantum(value: f64) -> i32 {
    let format = format::find("f64").expect("a format of the table");
    let datum = format.decode(value.to_bits());
    match datum.significand {
        0 => ZERO_QUANTUM,
        bits => datum.exponent + bits.trailing_zeros() as i32,
    }
}

/// The register's arithmetic (f32 or f64 to nearest, or s32) on enclosures.
struct Enclosures<'a> {
    schedule: &'a Schedule,
    format: &'static Format,
    sums: &'a dyn ElementSums,
}

impl Enclosures<'_> {
    fn accumulated(&self, run: &Run, start: ChainStart) -> Enclosed {
        let accumulators = self.schedule.accumulators;
        if accumulators.count == 1 {
            return self.sums.chain(run, start);
        }
        let chains = run.dealt(self.schedule);
        let sums = chains.iter().enumerate().map(|(at, chain)| {
            let start = if at == 0 { start } else { ChainStart::Zero };
            self.sums.chain(chain, start)
        });
        epilogue::joined(self, sums.collect(), accumulators.join)
    }

    fn rounded(&self, value: Enclosed, source: ErrorSource) -> Enclosed {
        value.rounded(self.format, Rounding::Rne, source)
    }

    /// The exact product with a number of f64 that the register rounds first.
    fn product(&self, x: &Enclosed, factor: f64) -> Enclosed {
        let factor_error = self.number(factor).error;
        let mut product = x.times(factor, quantum(factor));
        let error = product_up(factor_error.finite(), x.most());
        if error > 0.0 {
            product.error.add(ErrorSource::Scale, error);
        }
        if factor_error.may_overflow() {
            product.error.overflow();
        }
        product
    }
}

impl RegisterArithmetic for Enclosures<'_> {
    type Value = Enclosed;

    fn zero(&self) -> Enclosed {
        Enclosed::ZERO
    }

    /// A number of f64 in the register's format, with the error of its rounding.
    fn number(&self, x: f64) -> Enclosed {
        self.rounded(Enclosed::number(x, None, quantum(x)), ErrorSource::Scale)
    }

    fn add(&self, x: &Enclosed, y: &Enclosed, source: ErrorSource) -> Enclosed {
        let sum = x.plus(y);
        // Sums of products alone have the bound of all products.
        let of_products = matches!(source, ErrorSource::Promotion | ErrorSource::Join);
        self.rounded(if of_products { sum.capped(self.sums.cap()) } else { sum }, source)
    }

    fn multiply(&self, x: &Enclosed, factor: f64) -> Enclosed {
        match factor {
            1.0 => *x,
            factor => self.rounded(self.product(x, factor), ErrorSource::Scale),
        }
    }

    fn multiply_add(&self, x: &Enclosed, factor: f64, y: &Enclosed, source: ErrorSource) -> Enclosed {
        self.add(&self.product(x, factor), y, source)
    }

    /// A part that saturates has any error.
    fn output(&self, x: &Enclosed) -> Enclosed {
        let output = &self.schedule.output;
        let mut rounded = self::output(self.schedule, x);
        if overflows(x.most(), output.format) && !overflow_shows(output.format, output.rounding, output.overflow) {
            rounded.error.add(ErrorSource::Output, f64::INFINITY);
        }
        rounded
    }

    /// Where parts share the cap, without the error of the rounding, which is added for all parts together.
    fn output_of_part(&self, part: &Enclosed) -> Enclosed {
        let rounded = self.output(part);
        if !self.sums.shares_cap() || !rounded.error.finite().is_finite() {
            return rounded;
        }
        let mut error = part.error;
        if rounded.error.may_overflow() {
            error.overflow();
        }
        Enclosed { error, ..rounded }
    }

    fn joined_outputs(&self, mut sum: Enclosed, parts: &[Enclosed]) -> Enclosed {
        let is_rounded = || parts.iter().any(|part| output(self.schedule, part).error != part.error);
        if let (true, Some(float)) = (self.sums.shares_cap() && is_rounded(), self.schedule.output.format.float()) {
            // Each part is rounded by at most a unit roundoff of its own magnitude, or of the smallest normal number.
            let nearest = matches!(self.schedule.output.rounding, Rounding::Rne | Rounding::Rna);
            let roundoff = power(i32::from(!nearest) - float.precision() as i32);
            sum.error.raise(ErrorSource::Output, roundoff * (sum.most() + parts.len() as f64 * power(float.emin())));
        }
        sum
    }

    fn partial(&self, sum: Enclosed) -> Enclosed {
        sum.capped(self.sums.cap())
    }

    fn complete(&self, sum: Enclosed) -> Enclosed {
        self.sums.joined(sum)
    }
}
