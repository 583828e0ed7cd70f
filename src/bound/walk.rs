//! Error analysis of a schedule outside the instruction: promotion, joining, scaling, output.

use super::enclosed::{Enclosed, ErrorSource, ZERO_QUANTUM, overflow_shows, overflows, power, product_up};
use crate::{
    format::{self, Format, Rounding},
    gemm::{AccumulatorJoin, BiasEntry, CEntry, PartJoin, Run, ScaleUse, Schedule, Walk},
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

    /// The scales of A and B of a run, or of the whole sum.
    fn scales(&self, run: Option<&Run>) -> Option<[f64; 2]>;

    /// C and the bias, where the schedule adds them outside the unit.
    fn c(&self) -> Option<f64>;
    fn bias(&self) -> Option<f64>;

    /// True if the magnitudes of all parts of k together, not of each, reach the cap.
    fn shares_cap(&self) -> bool {
        false
    }

    /// Adds what the sums of chains leave out of their errors, once all are joined.
    fn joined(&self, sum: Enclosed) -> Enclosed {
        sum
    }
}

/// Registers: f32 or f64 (to nearest), or s32.
pub(super) struct Registers<'a> {
    schedule: &'a Schedule,
    format: &'static Format,
}

impl<'a> Registers<'a> {
    pub(super) fn of(schedule: &'a Schedule) -> Registers<'a> {
        Registers { schedule, format: schedule.register() }
    }

    fn rounded(&self, value: Enclosed, source: ErrorSource) -> Enclosed {
        value.rounded(self.format, Rounding::Rne, source)
    }

    fn add(&self, x: &Enclosed, y: &Enclosed, cap: f64, source: ErrorSource) -> Enclosed {
        self.rounded(x.plus(y).capped(cap), source)
    }

    /// The product with a number of f64 that the register rounds first.
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

    /// The rounded product with such a number.
    fn multiply(&self, x: &Enclosed, factor: f64) -> Enclosed {
        match factor {
            1.0 => *x,
            factor => self.rounded(self.product(x, factor), ErrorSource::Scale),
        }
    }

    /// A number of f64 in the register's format, with the error of its rounding.
    fn number(&self, value: f64) -> Enclosed {
        let own = Enclosed::number(value, None, quantum(value));
        self.rounded(own, ErrorSource::Scale)
    }

    fn output(&self, value: Enclosed) -> Enclosed {
        output(self.schedule, &value)
    }

    /// A part of k, rounded to D's format. A part that saturates has any error.
    fn partial_output(&self, part: Enclosed) -> Enclosed {
        let output = &self.schedule.output;
        let mut own = self.output(part);
        if overflows(part.most(), output.format) && !overflow_shows(output.format, output.rounding, output.overflow) {
            own.error.add(ErrorSource::Output, f64::INFINITY);
        }
        own
    }

    /// A part in D's format, without the error of its rounding, which is added for all parts together.
    fn shared_output(&self, part: Enclosed) -> Enclosed {
        let rounded = self.partial_output(part);
        if !rounded.error.finite().is_finite() {
            return rounded;
        }
        let mut error = part.error;
        if rounded.error.may_overflow() {
            error.overflow();
        }
        Enclosed { error, ..rounded }
    }

    /// An element of D.
    pub(super) fn element(&self, walk: &Walk, sums: &dyn ElementSums) -> Enclosed {
        match self.sum(walk, sums) {
            (sum, true) => self.output(sum),
            (sum, false) => sum,
        }
    }

    /// The sum before it is rounded to D's format, and true if that follows.
    pub(super) fn sum(&self, walk: &Walk, sums: &dyn ElementSums) -> (Enclosed, bool) {
        let schedule = self.schedule;
        let bare = schedule.is_bare(walk.parts.len(), sums.c().is_some(), sums.bias().is_some());
        let cap = sums.cap();
        let mut parts = Vec::with_capacity(walk.parts.len());
        for (at, part) in walk.parts.iter().enumerate() {
            let start = match at {
                0 if schedule.c == CEntry::Start => ChainStart::C,
                0 if schedule.bias == BiasEntry::Start => ChainStart::Bias,
                _ => ChainStart::Zero,
            };
            let mut total: Option<Enclosed> = None;
            for run in part {
                let own = self.accumulated(run, start, sums);
                if bare {
                    return (sums.joined(own), false);
                }
                let between = schedule.scales.filter(|scales| !scales.multiply.is_at_end());
                let (own, scaled) = match (between, sums.scales(Some(run))) {
                    (Some(scales), Some([a, b])) => {
                        let own = self.product(&own, a * b);
                        match scales.multiply {
                            ScaleUse::Rounded => (self.rounded(own, ErrorSource::Scale), true),
                            _ => (own, true),
                        }
                    }
                    _ => (own, false),
                };
                total = Some(match total {
                    None if schedule.promote.is_none() && !scaled => own,
                    None => self.rounded(own, ErrorSource::Promotion),
                    Some(sum) => self.add(&sum, &own, cap, ErrorSource::Promotion),
                });
            }
            parts.push(total.unwrap_or(Enclosed::ZERO));
        }
        (self.finished(parts, sums), true)
    }

    fn accumulated(&self, run: &Run, start: ChainStart, sums: &dyn ElementSums) -> Enclosed {
        let accumulators = self.schedule.accumulators;
        if accumulators.count == 1 {
            return sums.chain(run, start);
        }
        let chains = run.dealt(self.schedule);
        let own = chains.iter().enumerate().map(|(at, chain)| {
            let start = if at == 0 { start } else { ChainStart::Zero };
            sums.chain(chain, start)
        });
        self.together(own.collect(), accumulators.join, sums.cap())
    }

    /// Joins numbers in this order, as [`crate::gemm`] does.
    fn together(&self, mut numbers: Vec<Enclosed>, join: AccumulatorJoin, cap: f64) -> Enclosed {
        let add = |x: &Enclosed, y: &Enclosed| self.add(x, y, cap, ErrorSource::Join);
        if join == AccumulatorJoin::Order {
            return numbers.into_iter().reduce(|sum, own| add(&sum, &own)).unwrap_or(Enclosed::ZERO);
        }
        while numbers.len() > 1 {
            let half = numbers.len().div_ceil(2);
            let neighbours = join == AccumulatorJoin::Pairs || join == AccumulatorJoin::Lanes && numbers.len() <= 4;
            let pair = |at: usize| if neighbours { (2 * at, 2 * at + 1) } else { (at, half + at) };
            let sum = |at: usize| {
                let (x, y) = pair(at);
                numbers.get(y).map_or(numbers[x], |y| add(&numbers[x], y))
            };
            numbers = (0..half).map(sum).collect();
        }
        numbers.pop().unwrap_or(Enclosed::ZERO)
    }

    /// Joins the parts and scales.
    fn finished(&self, parts: Vec<Enclosed>, sums: &dyn ElementSums) -> Enclosed {
        let schedule = self.schedule;
        let cap = sums.cap();
        let scaled = |sum: &Enclosed, addend: Option<&Enclosed>| match addend {
            Some(addend) => self.rounded(self.product(sum, schedule.alpha).plus(addend), ErrorSource::Scale),
            None => self.multiply(sum, schedule.alpha),
        };
        let at_end = |sum: Enclosed| match (schedule.scales, sums.scales(None)) {
            (Some(scales), Some([a, b])) if scales.multiply == ScaleUse::Each => {
                self.multiply(&self.multiply(&sum, a), b)
            }
            (Some(scales), Some([a, b])) if scales.multiply.is_at_end() => {
                self.rounded(self.product(&sum, a * b), ErrorSource::Scale)
            }
            _ => sum,
        };
        let bias = sums.bias().filter(|_| schedule.bias != BiasEntry::Start).map(|bias| self.number(bias));
        let c = sums
            .c()
            .filter(|_| schedule.c != CEntry::Start && schedule.beta != 0.0)
            .map(|c| self.rounded(self.product(&self.number(c), schedule.beta), ErrorSource::Scale));
        let (mut addend, late) = if schedule.c == CEntry::Rounded { (None, c) } else { (c, None) };
        let ended = |sum: Enclosed| {
            let sum = match &late {
                Some(c) => self.rounded(self.partial_output(sum).plus(c), ErrorSource::Scale),
                None => sum,
            };
            match (&bias, schedule.bias) {
                (None, _) | (_, BiasEntry::Start | BiasEntry::First) => sum,
                (Some(bias), BiasEntry::End) => self.rounded(sum.plus(bias), ErrorSource::Scale),
                (Some(bias), BiasEntry::Rounded) => {
                    self.rounded(self.partial_output(sum).plus(bias), ErrorSource::Scale)
                }
            }
        };
        if schedule.split.join == PartJoin::Serial {
            let last = parts.len() - 1;
            for (at, part) in parts.iter().copied().enumerate() {
                // Partial sums of A times B alone have the bound of the whole.
                let mut sum = scaled(&at_end(part), addend.as_ref()).capped(cap);
                if let (0, BiasEntry::First, Some(bias)) = (at, schedule.bias, &bias) {
                    sum = self.rounded(sum.plus(bias), ErrorSource::Scale);
                }
                if at == last {
                    return ended(sums.joined(sum));
                }
                addend = Some(self.partial_output(sum));
            }
        }
        let many = parts.len() > 1;
        let rounded = |sum: Enclosed| match schedule.split.join {
            PartJoin::Output if many && sums.shares_cap() => self.shared_output(sum),
            PartJoin::Output if many => self.partial_output(sum),
            _ => sum,
        };
        let order = match schedule.split.join {
            PartJoin::Pairs => AccumulatorJoin::Pairs,
            PartJoin::Halves => AccumulatorJoin::Halves,
            _ => AccumulatorJoin::Order,
        };
        let count = parts.len();
        let is_rounded = parts.iter().any(|part| self.output(*part).error != part.error);
        let mut sum = self.together(parts.into_iter().map(rounded).collect(), order, cap);
        if let (PartJoin::Output, true, true, Some(float)) =
            (schedule.split.join, many && is_rounded, sums.shares_cap(), schedule.output.format.float())
        {
            // Each part is rounded by at most a unit roundoff of its own magnitude, or of the smallest normal number.
            let nearest = matches!(schedule.output.rounding, Rounding::Rne | Rounding::Rna);
            let roundoff = power(i32::from(!nearest) - float.precision() as i32);
            sum.error.raise(ErrorSource::Output, roundoff * (sum.most() + count as f64 * power(float.emin())));
        }
        ended(scaled(&at_end(sums.joined(sum)), addend.as_ref()))
    }
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
