//! Causes that are a change of something given: alpha, beta, scales, C, the bias.

use super::{Cause, Explanation, along_k, elements::Elements, first};
use crate::{
    Result,
    format::{Format, Overflow, Rounding},
    product::{Factors, Matrix, Schedule},
};

/// A change of the claimed product; false where there is nothing to change.
type Change = fn(&mut Schedule, &mut Factors) -> bool;

const FACTORS: &[(Cause, Change)] = &[
    (Cause::AlphaForgotten, |schedule, _| std::mem::replace(&mut schedule.alpha, 1.0) != 1.0),
    (Cause::AlphaTwice, |schedule, _| {
        let alpha = schedule.alpha;
        std::mem::replace(&mut schedule.alpha, alpha * alpha) != 1.0
    }),
    (Cause::ScalesForgotten, |_, factors| {
        let [a, b] = [&mut factors.scale_a, &mut factors.scale_b].map(|scales| each(scales.as_mut(), |_| Some(1.0)));
        a && b
    }),
    (Cause::ScaleOfAForgotten, |_, factors| each(factors.scale_a.as_mut(), |_| Some(1.0))),
    (Cause::ScaleOfBForgotten, |_, factors| each(factors.scale_b.as_mut(), |_| Some(1.0))),
    (Cause::ScalesTwice, |_, factors| {
        let [a, b] = [&mut factors.scale_a, &mut factors.scale_b].map(|scales| each(scales.as_mut(), |x| Some(x * x)));
        a && b
    }),
];

const PRODUCT: &[(Cause, Change)] = &[
    (Cause::ProductSign, |schedule, factors| multiplied(schedule, factors, -1.0)),
    (Cause::ProductDoubled, |schedule, factors| multiplied(schedule, factors, 2.0)),
    (Cause::ProductHalved, |schedule, factors| multiplied(schedule, factors, 0.5)),
];

fn multiplied(schedule: &mut Schedule, factors: &Factors, factor: f64) -> bool {
    schedule.alpha *= factor;
    factors.c.is_some() || factors.bias.is_some()
}

const ADDED: &[(Cause, Change)] = &[
    (Cause::CMissing, |_, factors| factors.c.take().is_some()),
    (Cause::CTwice, |schedule, factors| {
        schedule.beta *= 2.0;
        factors.c.is_some()
    }),
    (Cause::CNegated, |schedule, factors| {
        schedule.beta = -schedule.beta;
        factors.c.is_some()
    }),
    (Cause::BetaForgotten, |schedule, factors| {
        std::mem::replace(&mut schedule.beta, 1.0) != 1.0 && factors.c.is_some()
    }),
    (Cause::BiasMissing, |_, factors| factors.bias.take().is_some()),
    (Cause::BiasTwice, |_, factors| each(factors.bias.as_mut(), |x| Some(2.0 * x))),
];

/// Replaces the values of a matrix; false without a matrix, or where a value has no code.
pub(super) fn each(matrix: Option<&mut Matrix>, change: impl Fn(f64) -> Option<f64>) -> bool {
    let Some(matrix) = matrix else { return false };
    (0..matrix.codes.len()).all(|at| {
        let value = matrix.value(at / matrix.columns, at % matrix.columns);
        let code = change(value).and_then(|value| code(matrix.format, value));
        code.map(|code| matrix.codes.set(at, code)).is_some()
    })
}

/// The code of a value, rounded to nearest; `None` for finite values that leave the format.
pub(super) fn code(format: &Format, value: f64) -> Option<u64> {
    let code = format.encode_f64(value, Rounding::Rne, Overflow::Standard)?;
    (format.to_f64(code).is_finite() == value.is_finite()).then_some(code)
}

/// The first of some changes that explains every element.
fn first_change(elements: &Elements, changes: &[(Cause, Change)]) -> Result<Option<Explanation>> {
    first(changes, |(cause, change)| Ok(elements.named(*cause, 0.0, cause.words(), elements.changed(change)?)))
}

/// Factors that are given, and forgotten or used twice.
pub(super) fn factors(elements: &Elements) -> Result<Option<Explanation>> {
    first_change(elements, FACTORS)
}

/// A factor of the product alone, where something is added to it.
pub(super) fn product(elements: &Elements) -> Result<Option<Explanation>> {
    first_change(elements, PRODUCT)
}

/// C or a bias that is missing, or added in another way.
pub(super) fn added(elements: &Elements) -> Result<Option<Explanation>> {
    if let Some(explanation) = first_change(elements, ADDED)? {
        return Ok(Some(explanation));
    }
    let Some(bias) =
        elements.request.factors.bias.as_ref().filter(|_| elements.request.d.rows == elements.request.d.columns)
    else {
        return Ok(None);
    };
    let moved = |at: usize| {
        let [row, column] = elements.place(at);
        let change = bias.value(0, elements.rows[row]) - bias.value(0, elements.columns[column]);
        elements.claimed[at].plus(change, elements.d.format)
    };
    let cause = Cause::BiasAlongRows;
    Ok(elements.named(cause, 0.0, cause.words(), elements.fit(moved)?))
}

/// Scales that are rounded to powers of two.
pub(super) fn scales(elements: &Elements) -> Result<Option<Explanation>> {
    let roundings = [("down to", f64::floor as fn(f64) -> f64), ("up to", f64::ceil), ("to the nearest", f64::round)];
    let sides = [("A", [true, false]), ("B", [false, true]), ("A and B", [true, true])];
    let both = sides.iter().flat_map(|side| roundings.iter().map(move |rounding| (side, rounding)));
    first(both, |((sides, [of_a, of_b]), (direction, round))| {
        let power = |x: f64| Some(if x == 0.0 { x } else { 2f64.powf(round(x.abs().log2())).copysign(x) });
        let fit = elements.changed(|_, factors| {
            let sides = [(of_a, &mut factors.scale_a), (of_b, &mut factors.scale_b)];
            sides.into_iter().all(|(is_changed, scales)| !is_changed || each(scales.as_mut(), power))
        })?;
        let words = format!("the scales of {sides} are rounded {direction} powers of two");
        Ok(elements.named(Cause::ScalesOfPowers, 4.0, words, fit))
    })
}

/// One factor of the scale of each block.
pub(super) fn factors_of_blocks(elements: &Elements) -> Result<Option<Explanation>> {
    first([Cause::BlockFactorsOfA, Cause::BlockFactorsOfB], |cause| along_k::block_factors(elements, cause))
}
