//! Distance of a matrix product from plain sums in f32 and f64, and from the exact sum.

use rug::Float;

use super::{Factors, Matrix, Schedule, Yardstick, schedule::CEntry};
use crate::{
    Result,
    base::work,
    exact,
    format::{Finite, Format, Real},
    inputs,
    summary::Summary,
};

/// Products that are summed exactly, about.
const MOST_TERMS: usize = 1 << 23;
/// Fewest and most elements that are measured.
const ELEMENTS: (usize, usize) = (64, 1 << 16);

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

/// An element by one yardstick: its value, and its code in the output's format.
struct ElementError {
    value: f64,
    /// D minus the value.
    error: f64,
    code: Option<u64>,
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
    let count = (MOST_TERMS / factors.k()).clamp(ELEMENTS.0, ELEMENTS.1).min(total);
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
        let own = d.value(row, column);
        Ok(yardsticks.iter().map(|yardstick| sums.measure(*yardstick, row, column, own, d.format)).collect())
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
    for (own, ElementError { value, error, code }) in rows {
        accuracy.elements += 1;
        // Any NaN is as accurate as any other.
        let nan = |code: u64| format.value(code) == Real::Nan;
        let equal = code.is_some_and(|code| code == own || nan(code) && nan(own));
        accuracy.equal += usize::from(equal);
        match code.and_then(|code| exact::distance(format, own, code)) {
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

/// Bits that hold every sum of products exactly.
fn precision(schedule: &Schedule, factors: &Factors) -> u32 {
    let span = |format: &Format| match format.float() {
        Some(float) => (1 << float.exponent_bits) + 2 * float.trailing_bits + 2,
        None => format.bits + 1,
    };
    let of = |matrix: &Option<Matrix>| matrix.as_ref().map_or(0, |matrix| span(matrix.format));
    let scaled = if schedule.alpha == 1.0 && schedule.beta.abs() <= 1.0 { 64 } else { 2300 };
    let Factors { a, b, c, bias, scale_a, scale_b } = factors;
    span(a.format) + span(b.format) + of(c) + of(bias) + of(scale_a) + of(scale_b) + scaled + 64
}

/// The yardsticks of elements of D.
pub(crate) struct Yardsticks<'a> {
    schedule: &'a Schedule,
    factors: &'a Factors,
    precision: u32,
}

impl<'a> Yardsticks<'a> {
    /// The yardsticks of products of these operands.
    pub(crate) fn new(schedule: &'a Schedule, factors: &'a Factors) -> Yardsticks<'a> {
        Yardsticks { schedule, factors, precision: precision(schedule, factors) }
    }

    fn measure(&self, yardstick: Yardstick, row: usize, column: usize, own: f64, format: &Format) -> ElementError {
        match yardstick {
            Yardstick::Single => self.rounded(self.plain(row, column, |x| f64::from(x as f32)), own, format),
            Yardstick::Double => self.rounded(self.plain(row, column, |x| x), own, format),
            Yardstick::Exact => {
                let sum = self.exact(row, column);
                let code = self.code(format, &real(&sum));
                ElementError {
                    value: sum.to_f64(),
                    error: (Float::with_val(self.precision, own) - &sum).to_f64(),
                    code,
                }
            }
        }
    }

    fn rounded(&self, value: f64, own: f64, format: &Format) -> ElementError {
        let code = match value.is_nan() {
            true => self.code(format, &Real::Nan),
            false => format.encode_f64(value, self.schedule.output.rounding, self.schedule.output.overflow),
        };
        ElementError { value, error: own - value, code }
    }

    fn code(&self, format: &Format, value: &Real) -> Option<u64> {
        let output = &self.schedule.output;
        match value {
            Real::Nan => output.nan.or(format.nan()),
            value => format.encode(value, output.rounding, output.overflow),
        }
    }

    /// Factors of the term at a k: elements of A and B, and the product of their scales (24 bits).
    fn term(&self, row: usize, column: usize, k: usize) -> (f64, f64, [f64; 2]) {
        let Factors { a, b, scale_a, scale_b, .. } = self.factors;
        let (ks, shape) = match (&self.schedule.scales, self.schedule.instruction.scale) {
            (Some(blocks), _) => ([k / blocks.a[1], k / blocks.b[0]], [row / blocks.a[0], column / blocks.b[1]]),
            (None, Some(scale)) => ([k / scale.block; 2], [row, column]),
            (None, None) => ([0; 2], [0; 2]),
        };
        let one = |matrix: &Option<Matrix>, row, column| matrix.as_ref().map_or(1.0, |own| own.value(row, column));
        (a.value(row, k), b.value(k, column), [one(scale_a, shape[0], ks[0]), one(scale_b, ks[1], shape[1])])
    }

    fn c(&self, row: usize, column: usize) -> Option<f64> {
        let used = self.schedule.c == CEntry::Start || self.schedule.beta != 0.0;
        self.factors.c.as_ref().filter(|_| used).map(|c| c.value(row, column))
    }

    fn bias(&self, column: usize) -> Option<f64> {
        self.factors.bias.as_ref().map(|bias| bias.value(0, column))
    }

    /// The sum with every operation rounded.
    fn plain(&self, row: usize, column: usize, round: impl Fn(f64) -> f64) -> f64 {
        let scaled = self.factors.scale_a.is_some();
        let mut sum = 0.0;
        for k in 0..self.factors.k() {
            let (a, b, [x, y]) = self.term(row, column, k);
            let product = round(a * b);
            sum = round(sum + if scaled { round(product * round(x * y)) } else { product });
        }
        let (alpha, beta) = (round(self.schedule.alpha), round(self.schedule.beta));
        let sum = round(alpha * sum);
        let sum = self.c(row, column).map_or(sum, |c| round(sum + round(beta * c)));
        self.bias(column).map_or(sum, |bias| round(sum + bias))
    }

    /// The exact sum, rounded to a code of D's format.
    pub(crate) fn rounded_exact(&self, row: usize, column: usize) -> Option<u64> {
        self.code(self.schedule.output.format, &real(&self.exact(row, column)))
    }

    /// The exact sum.
    pub(crate) fn exact(&self, row: usize, column: usize) -> Float {
        let bits = self.precision;
        let formats = [self.factors.a.format, self.factors.b.format];
        // Products of significands of up to 26 bits, of numbers of up to 2^128, are doubles.
        let narrow = formats
            .iter()
            .all(|format| format.bits <= 32 && format.float().is_none_or(|float| float.precision() <= 26));
        let scaled = self.factors.scale_a.is_some();
        let mut sum = Float::new(bits);
        for k in 0..self.factors.k() {
            let (a, b, [x, y]) = self.term(row, column, k);
            match (narrow, scaled) {
                (true, false) => sum += a * b,
                _ => sum += Float::with_val(bits, a) * b * x * y,
            }
        }
        sum *= self.schedule.alpha;
        if let Some(c) = self.c(row, column) {
            sum += Float::with_val(bits, self.schedule.beta) * c;
        }
        if let Some(bias) = self.bias(column) {
            sum += bias;
        }
        sum
    }
}

/// A number as encoding takes it: exact up to 127 bits, sticky below.
fn real(x: &Float) -> Real {
    let negative = x.is_sign_negative();
    if x.is_nan() {
        return Real::Nan;
    }
    let Some((integer, exponent)) = x.to_integer_exp() else { return Real::Infinity { negative } };
    let magnitude = integer.abs();
    let cut = magnitude.significant_bits().saturating_sub(127);
    let kept = rug::Integer::from(&magnitude >> cut);
    let sticky = rug::Integer::from(&kept << cut) != magnitude;
    let significand = kept.to_u128().expect("127 bits");
    Real::Finite(Finite { negative, significand, exponent: exponent + cut as i32, sticky })
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

    #[test]
    fn exact_numbers_are_cut_with_a_sticky_bit() {
        let x = Float::with_val(2000, Float::i_exp(1, 600)) + Float::with_val(2000, Float::i_exp(1, -600));
        let Real::Finite(finite) = real(&x) else { panic!("{x}") };
        assert!(finite.sticky && finite.leading_exponent() == Some(600));
        let three = Float::with_val(100, -3.0);
        assert_eq!(real(&three).to_f64(), -3.0);
    }
}
