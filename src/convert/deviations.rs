//! What a conversion did to the values of a tensor, as counts and errors.

use super::{Tensor, tensor::PART, values::TensorValues};
use crate::{base::parallel, format::Format, number::Real};

/// How the values of a tensor and those of its conversion differ.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Deviations {
    /// Values.
    pub values: u64,
    /// Values that did not change.
    pub exact: u64,
    /// Finite values, and infinities, beyond the largest number of their sign in the result's format (in a block: times its scale).
    pub too_large: u64,
    /// Values other than zero that became zero.
    pub to_zero: u64,
    /// Results that are NaN.
    pub nan: u64,
    /// Results that are finite, whose errors follow.
    pub finite: u64,
    /// The largest absolute error.
    pub max_error: f64,
    /// The sum of the absolute errors.
    pub sum_error: f64,
    /// The sum of the squares of the errors.
    pub squared_error: f64,
    /// The sum of the squares of the values.
    pub squared_value: f64,
}

impl Deviations {
    /// Compares two tensors of as many elements. Sums are made in the order of the parts, so that they do not depend on the
    /// number of threads.
    pub(super) fn between(source: &Tensor, result: &Tensor) -> Deviations {
        let (x, y) = (TensorValues::of(source), TensorValues::of(result));
        let doubles = x.are_exact() && y.are_exact();
        let largest = largest(result);
        let part = |part: usize| {
            let range = part * PART..((part + 1) * PART).min(source.len());
            let (mut deviations, mut xs, mut ys) = (Deviations::default(), Vec::new(), Vec::new());
            x.read(range.clone(), &mut xs);
            y.read(range.clone(), &mut ys);
            for (index, (a, b)) in range.zip(xs.into_iter().zip(ys)) {
                let mut exact = a == b || a.is_nan() && b.is_nan();
                let mut too_large = a.abs() > largest[usize::from(a < 0.0)] * y.scale(index);
                if !doubles {
                    let value = source.value(index);
                    exact = is_same(&value, &result.value(index));
                    if let Tensor::Scalar(format, _) = result {
                        too_large = is_beyond(&value, format);
                    }
                }
                deviations.add(a, b, exact, too_large);
            }
            deviations
        };
        let parts = parallel::map(0..source.len().div_ceil(PART), part);
        parts.iter().fold(Deviations::default(), |sum, part| sum.plus(part))
    }

    fn add(&mut self, x: f64, y: f64, exact: bool, too_large: bool) {
        self.values += 1;
        self.nan += u64::from(y.is_nan());
        self.exact += u64::from(exact);
        self.too_large += u64::from(too_large);
        self.to_zero += u64::from(y == 0.0 && x != 0.0);
        if x.is_finite() && y.is_finite() {
            let error = (y - x).abs();
            self.finite += 1;
            self.max_error = self.max_error.max(error);
            self.sum_error += error;
            self.squared_error += error * error;
            self.squared_value += x * x;
        }
    }

    fn plus(&self, other: &Deviations) -> Deviations {
        Deviations {
            values: self.values + other.values,
            exact: self.exact + other.exact,
            too_large: self.too_large + other.too_large,
            to_zero: self.to_zero + other.to_zero,
            nan: self.nan + other.nan,
            finite: self.finite + other.finite,
            max_error: self.max_error.max(other.max_error),
            sum_error: self.sum_error + other.sum_error,
            squared_error: self.squared_error + other.squared_error,
            squared_value: self.squared_value + other.squared_value,
        }
    }

    /// The mean absolute error; `None` without finite results.
    pub fn mean_error(&self) -> Option<f64> {
        (self.finite > 0).then(|| self.sum_error / self.finite as f64)
    }

    /// The root of the mean square of the errors over that of the values; `None` where the values are zeros.
    pub fn relative_rms(&self) -> Option<f64> {
        (self.squared_value > 0.0).then(|| (self.squared_error / self.squared_value).sqrt())
    }
}

/// The largest magnitudes of positive and of negative numbers in a tensor's format; in a block, times its scale.
fn largest(tensor: &Tensor) -> [f64; 2] {
    match tensor {
        Tensor::Scalar(format, _) => [false, true].map(|negative| {
            let value = format.to_f64(format.largest(negative));
            // Formats without negative numbers have zero at most, or nothing.
            if (value < 0.0) == negative { value.abs() } else { 0.0 }
        }),
        Tensor::Blocks(blocks) => [blocks.format.element.largest().to_f64(); 2],
    }
}

/// Whether two values are equal, NaN to NaN and zeros of either sign too.
fn is_same(x: &Real, y: &Real) -> bool {
    match (x, y) {
        (Real::Finite(x), Real::Finite(y)) => {
            (x.negative == y.negative || x.is_zero() && y.is_zero()) && x.compare_magnitudes(y).is_eq()
        }
        _ => x == y,
    }
}

/// Whether a value is beyond the largest number of its sign in a format.
fn is_beyond(x: &Real, format: &Format) -> bool {
    match x {
        Real::Nan => false,
        Real::Infinity { .. } => true,
        Real::Finite(x) => match format.value(format.largest(x.negative)) {
            Real::Finite(largest) if largest.negative == x.negative => x.compare_magnitudes(&largest).is_gt(),
            _ => !x.is_zero(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        convert::{ConversionTarget, convert},
        format::{Overflow, Rounding, find},
        isa::Codes,
    };

    /// What becomes of the codes of one format in another.
    fn deviations(from: &str, codes: &[u64], to: &str) -> Deviations {
        let from = find(from).unwrap();
        let target = ConversionTarget::Scalar {
            format: find(to).unwrap(),
            rounding: Rounding::Rne,
            overflow: Overflow::Saturate,
        };
        let source = Tensor::Scalar(from, Codes::from_values(from, codes));
        convert(&source, codes.len(), &target).unwrap().1
    }

    fn floats(values: &[f32]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits().into()).collect()
    }

    #[test]
    fn a_value_is_too_large_beyond_the_largest_number_of_its_own_sign() {
        let d = deviations("f32", &floats(&[-128.0, -129.0, 127.0, 128.0, 5.0]), "s8");
        assert_eq!((d.exact, d.too_large), (3, 2));
        let d = deviations("f32", &floats(&[-5.0, 0.0, -0.0, 255.0, 256.0]), "u8");
        assert_eq!((d.exact, d.too_large, d.to_zero), (3, 2, 1));
        let d = deviations("f32", &floats(&[448.0, -448.0, 449.0, f32::NEG_INFINITY]), "e4m3");
        assert_eq!((d.exact, d.too_large), (2, 2));
    }

    #[test]
    fn integers_that_are_no_doubles_are_compared_exactly() {
        let wide = 1 << 53;
        let d = deviations("u64", &[wide, wide + 1, u64::MAX, 0], "f64");
        assert_eq!((d.values, d.exact, d.too_large), (4, 2, 0));
        let d = deviations("u64", &[i64::MAX as u64, 1 << 63, u64::MAX, wide + 1], "s64");
        assert_eq!((d.exact, d.too_large), (2, 2));
        let minus = |value: i64| value as u64;
        let d = deviations("s64", &[minus(-1), minus(i64::MIN), minus(-(1 << 53) - 1)], "f64");
        assert_eq!((d.exact, d.too_large), (2, 0));
        let d = deviations("s64", &[minus(-1), 3, minus(i64::MIN)], "u64");
        assert_eq!((d.exact, d.too_large, d.to_zero), (1, 2, 2));
    }
}
