//! Distance of a matrix product from plain sums in f32 and f64, and from the exact sum.

use crate::{
    Result,
    base::work,
    exact,
    format::{Format, Real},
    inputs,
    product::{
        Factors, Matrix, Schedule,
        reference::{ElementError, Yardstick, Yardsticks},
    },
    summary::Summary,
};

/// Products that are summed exactly, about.
const MOST_TERMS: usize = 1 << 23;
/// Fewest elements that are measured.
const LEAST_ELEMENTS: usize = 64;
/// Most elements that are measured.
const MOST_ELEMENTS: usize = 1 << 16;

/// Accuracy of the measured elements of D against one yardstick.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    /// The yardstick.
    pub yardstick: Yardstick,
    /// The elements.
    pub elements: usize,
    /// Elements equal to the yardstick's result, rounded as D is.
    pub equal: usize,
    /// Elements by distance in numbers of the output's format (0, 1, 2, 3..4, 5..8, ...), NaN last.
    pub histogram: Vec<usize>,
    /// Largest distance, in numbers of the output's format.
    pub ulps: u64,
    /// |D - yardstick|.
    pub absolute: Summary,
    /// |D - yardstick| / |yardstick|.
    pub relative: Summary,
}

/// Measures D against each yardstick, on all elements or a sample (nothing for exclusive ors).
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn accuracy(schedule: &Schedule, factors: &Factors, d: &Matrix) -> Result<Vec<Accuracy>> {
    if schedule.instruction.xor {
        return Ok(Vec::new());
    }
    let total = d.rows * d.columns;
    let count = (MOST_TERMS / factors.k()).clamp(LEAST_ELEMENTS, MOST_ELEMENTS).min(total);
    let mut elements: Vec<usize> = match count == total {
        true => (0..total).collect(),
        false => (0..count as u64).map(|at| (inputs::random(0, at) % total as u64) as usize).collect(),
    };
    elements.sort_unstable();
    elements.dedup();
    let yardsticks: &[Yardstick] = match d.format.is_integer() {
        true => &[Yardstick::Exact],
        false => &[Yardstick::Single, Yardstick::Double, Yardstick::Exact],
    };
    let sums = Yardsticks::new(schedule, factors);
    let measured: Vec<Vec<ElementError>> = work::map(&elements, |at| {
        let (row, column) = (at / d.columns, at % d.columns);
        let value = d.value(row, column);
        Ok(yardsticks.iter().map(|yardstick| sums.measure(*yardstick, row, column, value, d.format)).collect())
    })?;
    let summary = |(which, yardstick): (usize, &Yardstick)| {
        let rows = elements.iter().zip(&measured).map(|(at, measured)| (d.codes.get(*at), &measured[which]));
        summarised(*yardstick, d.format, rows)
    };
    Ok(yardsticks.iter().enumerate().map(summary).collect())
}

fn summarised<'a>(
    yardstick: Yardstick,
    format: &Format,
    rows: impl Iterator<Item = (u64, &'a ElementError)>,
) -> Accuracy {
    let mut accuracy = Accuracy {
        yardstick,
        elements: 0,
        equal: 0,
        histogram: vec![0; BINS + 1],
        ulps: 0,
        absolute: Summary::default(),
        relative: Summary::default(),
    };
    for (computed, ElementError { value, error, code }) in rows {
        accuracy.elements += 1;
        // Any NaN is as accurate as any other.
        let nan = |code: u64| format.value(code) == Real::Nan;
        let equal = code.is_some_and(|code| code == computed || nan(code) && nan(computed));
        accuracy.equal += usize::from(equal);
        match code.and_then(|code| exact::distance(format, computed, code)) {
            Some(distance) => {
                accuracy.ulps = accuracy.ulps.max(distance);
                accuracy.histogram[bin(distance)] += 1;
            }
            None if equal => accuracy.histogram[0] += 1,
            None => accuracy.histogram[BINS] += 1,
        }
        accuracy.absolute.add(error.is_finite().then_some(error.abs()));
        accuracy.relative.add((error.is_finite() && *value != 0.0).then_some((error / value).abs()));
    }
    accuracy
}

/// Bins of a histogram: 0, 1, 2, then twice as many each.
const BINS: usize = 66;

fn bin(distance: u64) -> usize {
    match distance {
        0 => 0,
        distance => 65 - (distance - 1).leading_zeros() as usize,
    }
}

/// A bin in words; the one after the last has no distance.
pub(super) fn bin_name(bin: usize) -> String {
    match bin {
        0..=2 => bin.to_string(),
        BINS => "infinite or NaN".into(),
        _ => format!("{}..{}", (1u64 << (bin - 2)) + 1, 1u128 << (bin - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_their_bins() {
        let names = [0, 1, 2, 3, 4, 5, 8, 9, 16, 17].map(|distance| bin_name(bin(distance)));
        assert_eq!(names, ["0", "1", "2", "3..4", "3..4", "5..8", "5..8", "9..16", "9..16", "17..32"]);
        assert_eq!(bin_name(bin(u64::MAX)), "9223372036854775809..18446744073709551616");
        assert_ne!(bin(u64::MAX), BINS);
    }
}
