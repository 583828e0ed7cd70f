//! Bounds of alpha A B + beta C + bias by a family, from the bounds of A B.

use super::{
    Claim, ElementReference,
    enclosed::{SLACK, power},
    product::is_bare,
};
use crate::{
    Error, Result,
    format::{Format, Rounding},
    product::{Factors, PartJoin, Schedule},
};

/// Most roundings in the register: of alpha, beta, C, the bias, their products and two sums.
const ROUNDINGS: f64 = 10.0;

/// Factors and addends of a product, which enter in the register after the sum; D is rounded once.
pub(super) struct Addends {
    alpha: f64,
    /// beta C, row by row.
    c: Option<Vec<f64>>,
    bias: Option<Vec<f64>>,
    columns: usize,
    /// The formats of the register and of D.
    register: &'static Format,
    d: &'static Format,
    rounding: Rounding,
}

impl Addends {
    /// The factors and addends of a product by a family; `None` for A times B alone.
    ///
    /// # Errors
    /// A request error for what has running bounds alone: one schedule with additions, scales of a schedule, integers, parts that are added
    /// to D one after the other.
    pub(super) fn of(claim: &Claim, factors: &Factors) -> Result<Option<Addends>> {
        let schedule = &claim.schedules[0];
        if is_bare(schedule, factors) {
            return Ok(None);
        }
        if claim.is_exact {
            return Err(Error::request("bounds of every order are for A times B alone"));
        }
        let refused = |what: &str| {
            Err(Error::request(format!(
                "{}: {what} no bound of every order with C, a bias or alpha; give ‹instr› or ‹schedule›",
                claim.words
            )))
        };
        if schedule.scales.is_some() {
            return refused("scales of a schedule have");
        }
        if schedule.output.format.is_integer() {
            return refused("sums of integers have");
        }
        if claim.schedules.iter().any(|schedule| schedule.split.join == PartJoin::Serial && schedule.split.count > 1) {
            return refused("parts that are added to D one after the other have");
        }
        let numbers = |factor: f64, values: Vec<f64>| values.into_iter().map(|value| factor * value).collect();
        let Schedule { alpha, beta, .. } = *schedule;
        Ok(Some(Addends {
            alpha,
            c: factors.c.as_ref().filter(|_| beta != 0.0).map(|c| numbers(beta, c.values())),
            bias: factors.bias.as_ref().map(|bias| bias.values()),
            columns: factors.b.columns,
            register: schedule.register(),
            d: schedule.output.format,
            rounding: schedule.output.rounding,
        }))
    }

    /// An element with its factors and addends, from the element of A times B.
    pub(super) fn added(&self, row: usize, column: usize, sum: ElementReference) -> ElementReference {
        let c = self.c.as_ref().map_or(0.0, |c| c[row * self.columns + column]);
        let bias = self.bias.as_ref().map_or(0.0, |bias| bias[column]);
        let alpha = self.alpha.abs();
        let value = self.alpha * sum.value + c + bias;
        // Magnitudes of the terms, then of the register.
        let magnitudes = alpha * sum.magnitudes + c.abs() + bias.abs();
        let most = alpha * (sum.value.abs() + sum.off + sum.bound) + c.abs() + bias.abs();
        let off = alpha * sum.off + 4.0 * f64::EPSILON * most;
        let [register, d] = [self.register, self.d].map(|format| {
            let (precision, emin) =
                format.float().map_or((53, -1022), |float| (float.precision() as i32, float.emin()));
            (power(-precision), power(emin - precision))
        });
        let before = alpha * sum.bound + ROUNDINGS * (register.0 * most + register.1);
        let nearest = if matches!(self.rounding, Rounding::Rne | Rounding::Rna) { 1.0 } else { 2.0 };
        let output = if self.d == self.register { 0.0 } else { nearest * (d.0 * (value.abs() + off + before) + d.1) };
        let bound = (before + output) * SLACK;
        let end = self.d.to_f64(self.d.largest(false)).min(self.register.to_f64(self.register.largest(false)));
        match value.is_finite() && bound.is_finite() {
            true => ElementReference {
                value,
                off,
                bound,
                may_overflow: sum.may_overflow || most + before >= end,
                magnitudes,
                ..sum
            },
            false => ElementReference {
                value: f64::NAN,
                off: f64::INFINITY,
                bound: f64::INFINITY,
                may_overflow: true,
                may_saturate: true,
                magnitudes,
            },
        }
    }
}
