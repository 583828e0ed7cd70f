//! Causes that are a change of something given: alpha, beta, scales, C, the bias.

use super::{Cause, Explanation, along_k, elements::Elements};
use crate::{
    Result,
    format::{Format, Overflow, Rounding},
    gemm::{Factors, Matrix, Schedule},
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

const PRODUCT: &[(Cause, f64)] =
    &[(Cause::ProductSign, -1.0), (Cause::ProductDoubled, 2.0), (Cause::ProductHalved, 0.5)];

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
fn first(elements: &Elements, changes: &[(Cause, Change)]) -> Result<Option<Explanation>> {
    for (cause, change) in changes {
        if let Some(explanation) = elements.named(*cause, 0.0, cause.words(), elements.changed(change)?) {
            return Ok(Some(explanation));
        }
    }
    Ok(None)
}

/// Factors that are given, and forgotten or used twice.
pub(super) fn factors(elements: &Elements) -> Result<Option<Explanation>> {
    first(elements, FACTORS)
}

/// A factor of the product alone, where something is added to it.
pub(super) fn product(elements: &Elements) -> Result<Option<Explanation>> {
    if elements.factors.c.is_none() && elements.factors.bias.is_none() {
        return Ok(None);
    }
    for (cause, factor) in PRODUCT {
        let fit = elements.changed(|schedule, _| {
            schedule.alpha *= factor;
            true
        })?;
        if let Some(explanation) = elements.named(*cause, 0.0, cause.words(), fit) {
            return Ok(Some(explanation));
        }
    }
    Ok(None)
}

/// C or a bias that is missing, or added in another way.
pub(super) fn added(elements: &Elements) -> Result<Option<Explanation>> {
    if let Some(explanation) = first(elements, ADDED)? {
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

/// Scales that are rounded to powers of two, or have other values in each block.
pub(super) fn scales(elements: &Elements) -> Result<Option<Explanation>> {
    let roundings = [("down", f64::floor as fn(f64) -> f64), ("up", f64::ceil), ("to the nearest", f64::round)];
    for (sides, [of_a, of_b]) in [("A", [true, false]), ("B", [false, true]), ("A and B", [true, true])] {
        for (direction, round) in roundings {
            let power = |x: f64| Some(if x == 0.0 { x } else { 2f64.powf(round(x.abs().log2())).copysign(x) });
            let fit = elements.changed(|_, factors| {
                let sides = [(of_a, &mut factors.scale_a), (of_b, &mut factors.scale_b)];
                sides.into_iter().all(|(is_changed, scales)| !is_changed || each(scales.as_mut(), power))
            })?;
            let words = match direction {
                "to the nearest" => format!("the scales of {sides} are rounded to the nearest powers of two"),
                _ => format!("the scales of {sides} are rounded {direction} to powers of two"),
            };
            if let Some(explanation) = elements.named(Cause::ScalesOfPowers, 4.0, words, fit) {
                return Ok(Some(explanation));
            }
        }
    }
    match along_k::block_factors(elements, Cause::BlockFactorsOfA)? {
        None => along_k::block_factors(elements, Cause::BlockFactorsOfB),
        explanation => Ok(explanation),
    }
}
