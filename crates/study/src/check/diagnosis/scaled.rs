//! Causes that change the elements of the claimed product one by one: factors, added numbers, limits.

use super::{
    Cause, Explanation,
    elements::{Elements, Expected, MOST_EVIDENCE, unit},
    first,
};
use crate::Result;

/// Largest factor between the ends of a range from which one number is named.
const WIDEST: f64 = 1.25;

/// D is zero.
pub(super) fn zero(elements: &Elements) -> Result<Option<Explanation>> {
    if elements.values.iter().any(|d| *d != 0.0) {
        return Ok(None);
    }
    let fit = elements.fit(|at| elements.claimed[at].times(0.0, elements.d.format))?;
    Ok(elements.named(Cause::Zero, 0.0, Cause::Zero.words(), fit))
}

/// One factor, the same for all elements.
pub(super) fn factor(elements: &Elements) -> Result<Option<Explanation>> {
    let format = elements.d.format;
    let all: Vec<usize> = (0..elements.values.len()).collect();
    let Some(factor) = factor_within(elements, &all, WIDEST) else { return Ok(None) };
    let fit = elements.fit(|at| elements.claimed[at].times(factor, format))?;
    let (cause, words) = match factor {
        -1.0 => (Cause::Sign, Cause::Sign.words()),
        _ => (Cause::Factor, format!("D is {} times the product", number(factor))),
    };
    // Powers of two near 1 are few.
    let is_simple = factor.abs().log2().fract() == 0.0;
    Ok(elements.named(cause, if is_simple { 8.0 } else { MOST_EVIDENCE }, words, fit))
}

/// Elements that are limited to a range, or lose their signs.
pub(super) fn limited(elements: &Elements) -> Result<Option<Explanation>> {
    let finite = || elements.values.iter().copied().filter(|d| !d.is_nan());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let endless = [f64::NEG_INFINITY, f64::INFINITY];
    let relu = [0.0, f64::INFINITY];
    let ranges = [relu, [low, endless[1]], [endless[0], high], [low, high]];
    let clamped = first(ranges, |[from, to]| {
        let fit = elements.fit(|at| elements.claimed[at].clamped([from, to]))?;
        let limits = [from, to].map(f64::is_finite);
        let (cause, words) = match limits {
            _ if [from, to] == relu => (Cause::Relu, Cause::Relu.words()),
            [true, false] => (Cause::Clamp, format!("elements below {} are replaced by it", number(from))),
            [false, _] => (Cause::Clamp, format!("elements above {} are replaced by it", number(to))),
            [true, true] => (Cause::Clamp, format!("elements are limited to {} to {}", number(from), number(to))),
        };
        let numbers = if cause == Cause::Relu { 0 } else { limits.iter().filter(|is_limit| **is_limit).count() };
        Ok(elements.named(cause, MOST_EVIDENCE * numbers as f64, words, fit))
    })?;
    if clamped.is_some() {
        return Ok(clamped);
    }
    let fit = elements.fit(|at| elements.claimed[at].absolute())?;
    Ok(elements.named(Cause::Magnitude, 0.0, Cause::Magnitude.words(), fit))
}

/// The places of all elements, of each column, or of each row.
fn groups(elements: &Elements, cause: Cause) -> Vec<Vec<usize>> {
    let (rows, columns) = (elements.rows.len(), elements.columns.len());
    match cause {
        Cause::NumberAdded => vec![(0..rows * columns).collect()],
        Cause::RowNumbers | Cause::RowFactors => {
            (0..rows).map(|row| (row * columns..(row + 1) * columns).collect()).collect()
        }
        _ => (0..columns).map(|column| (column..rows * columns).step_by(columns).collect()).collect(),
    }
}

/// The range of the numbers of lines, in words.
fn range(numbers: &[f64]) -> String {
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low == high { number(low) } else { format!("{} to {}", number(low), number(high)) }
}

/// Causes that give each group of elements a number of its own.
fn grouped(
    elements: &Elements,
    cause: Cause,
    number_of: impl Fn(&Elements, &[usize]) -> Option<f64>,
    expected: impl Fn(&Expected, f64) -> Expected + Sync,
    neutral: f64,
) -> Result<Option<Explanation>> {
    let groups = groups(elements, cause);
    let Some(numbers) = groups.iter().map(|group| number_of(elements, group)).collect::<Option<Vec<f64>>>() else {
        return Ok(None);
    };
    let mut of_place = vec![neutral; elements.values.len()];
    groups.iter().zip(&numbers).for_each(|(group, number)| group.iter().for_each(|at| of_place[*at] = *number));
    let fit = elements.fit(|at| expected(&elements.claimed[at], of_place[at]))?;
    let chosen = numbers.iter().filter(|number| **number != neutral).count() as f64 * MOST_EVIDENCE;
    Ok(elements.named(cause, chosen, format!("{} ({})", cause.words(), range(&numbers)), fit))
}

/// One number that is added to every element.
pub(super) fn number_of_all(elements: &Elements) -> Result<Option<Explanation>> {
    numbers(elements, Cause::NumberAdded)
}

/// One number that is added to each column or row.
pub(super) fn numbers_of_lines(elements: &Elements) -> Result<Option<Explanation>> {
    first([Cause::BiasNotGiven, Cause::RowNumbers], |cause| numbers(elements, cause))
}

fn numbers(elements: &Elements, cause: Cause) -> Result<Option<Explanation>> {
    grouped(elements, cause, number_added, |claimed, number| claimed.plus(number, elements.d.format), 0.0)
}

/// One factor of each row or column.
pub(super) fn factors_of_lines(elements: &Elements) -> Result<Option<Explanation>> {
    first([Cause::RowFactors, Cause::ColumnFactors], |cause| {
        grouped(elements, cause, factor_of, |claimed, factor| claimed.times(factor, elements.d.format), 1.0)
    })
}

/// The factor of a line: 1 where 1 fits, else the simplest that the bounds allow.
fn factor_of(elements: &Elements, places: &[usize]) -> Option<f64> {
    factor_within(elements, places, f64::INFINITY)
}

/// The factor between some elements and D: 1 where 1 fits, else the simplest that the bounds allow.
///
/// `None` if no factor fits all elements, or if the largest that does is more than `widest` times the smallest.
fn factor_within(elements: &Elements, places: &[usize], widest: f64) -> Option<f64> {
    let (mut low, mut high, mut sign) = (0.0f64, f64::INFINITY, 0.0);
    let format = elements.d.format;
    let largest = format.to_f64(format.largest(false));
    for at in places {
        let Expected { value, bound } = &elements.claimed[*at];
        let (d, exact) = (elements.values[*at], value.to_f64());
        if d.is_nan() || !exact.is_finite() || !bound.is_finite() {
            continue;
        }
        let (magnitude, rounding) = (d.abs().min(largest), unit(format, d.abs().min(largest)));
        low = low.max((magnitude - rounding) / (exact.abs() + bound));
        if exact.abs() > *bound {
            // An overflow has no upper end.
            high = if magnitude < largest { high.min((magnitude + rounding) / (exact.abs() - bound)) } else { high };
            if magnitude > rounding {
                let direction = (d * exact).signum();
                if sign == -direction {
                    return None;
                }
                sign = direction;
            }
        }
    }
    match sign {
        _ if low <= 1.0 && high >= 1.0 && sign >= 0.0 => Some(1.0),
        0.0 => None,
        _ if low > high || low <= 0.0 || high > low * widest => None,
        _ => Some(sign * simplest(low, high)),
    }
}

/// The number between elements and D: 0 where 0 fits, else the middle of what bounds allow.
fn number_added(elements: &Elements, places: &[usize]) -> Option<f64> {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for at in places {
        let Expected { value, bound } = &elements.claimed[*at];
        let d = elements.values[*at];
        if d.is_finite() && value.is_finite() && bound.is_finite() {
            let number = (d - value.clone()).to_f64();
            let is_exact = elements.d.format.is_integer() && value.is_integer();
            let slack = bound + if is_exact { 0.0 } else { unit(elements.d.format, d.abs()) };
            (low, high) = (low.max(number - slack), high.min(number + slack));
        }
    }
    match () {
        () if low > high => None,
        () if low <= 0.0 && high >= 0.0 => Some(0.0),
        () if low > 0.0 => Some(simplest(low, high)),
        () => Some(-simplest(-high, -low)),
    }
}

/// The number of fewest digits between two above zero; a power of two comes first.
fn simplest(low: f64, high: f64) -> f64 {
    let power = 2f64.powf(low.log2().ceil());
    if power >= low && power <= high {
        return power;
    }
    let middle = low + (high - low) / 2.0;
    let digits = |digits: usize| format!("{middle:.digits$e}").parse::<f64>().ok();
    (0..16).filter_map(digits).find(|number| (low..=high).contains(number)).unwrap_or(middle)
}

/// A number in words.
pub(super) fn number(x: f64) -> String {
    match x.abs() {
        0.0 | 1e-4..1e7 => format!("{x}"),
        _ => format!("{x:e}"),
    }
}
