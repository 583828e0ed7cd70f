//! Conversion of one tensor, and the count of what it did to the values.

use rayon::prelude::*;

use crate::{
    Error, Result,
    block::{BlockFormat, Blocks, Quantizer},
    format::{Format, Overflow, Real, Rounding},
    isa::Codes,
};

/// Elements that one task converts. The counts are added up in the order of the parts, so that the sums of the errors do not
/// depend on the number of threads.
const PART: usize = 1 << 14;

/// A tensor: codes of a scalar format, or blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Tensor {
    /// Codes of a format.
    Scalar(&'static Format, Codes),
    /// Blocks.
    Blocks(Blocks),
}

/// What a tensor is converted to.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A scalar format.
    Scalar {
        /// The format.
        format: &'static Format,
        /// The rounding direction.
        rounding: Rounding,
        /// What becomes of values that are too large.
        overflow: Overflow,
    },
    /// A block format.
    Blocks(Quantizer),
}

/// How the values of a tensor and those of its conversion differ.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Deviations {
    /// Values.
    pub values: u64,
    /// Values that did not change.
    pub exact: u64,
    /// Finite values, and infinities, beyond the largest number of the result's format (in a block: times its scale).
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

impl Tensor {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Tensor::Scalar(_, codes) => codes.len(),
            Tensor::Blocks(blocks) => blocks.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of its format.
    pub fn format_name(&self) -> &'static str {
        match self {
            Tensor::Scalar(format, _) => format.name,
            Tensor::Blocks(blocks) => blocks.format.name,
        }
    }

    /// The exact value of the element at `index`.
    pub fn value(&self, index: usize) -> Real {
        match self {
            Tensor::Scalar(format, codes) => format.value(codes.get(index)),
            Tensor::Blocks(blocks) => blocks.value(index),
        }
    }

    /// The largest magnitude that the element at `index` could have had.
    fn largest(&self, index: usize) -> Option<f64> {
        match self {
            Tensor::Scalar(format, _) => Some(format.to_f64(format.largest(false))),
            Tensor::Blocks(blocks) => match blocks.scale(blocks.block_of(index)) {
                Real::Finite(scale) => Some(scale.to_f64() * blocks.format.element.largest().to_f64()),
                _ => None,
            },
        }
    }
}

/// `source`, rows of `row` elements, converted to `target`, each element rounded once; and what changed.
///
/// # Errors
/// A value that the target has no code for (NaN in a format without NaN): how many there are, and where the first is.
pub fn convert(source: &Tensor, row: usize, target: &Target) -> Result<(Tensor, Deviations)> {
    let result = match target {
        Target::Scalar { format, rounding, overflow } => {
            Tensor::Scalar(format, encode(source, format, *rounding, *overflow)?)
        }
        Target::Blocks(quantizer) => {
            Tensor::Blocks(quantizer.quantize_with(source.len(), row, |index| source.value(index)))
        }
    };
    let deviations = Deviations::between(source, &result);
    Ok((result, deviations))
}

fn encode(source: &Tensor, format: &'static Format, rounding: Rounding, overflow: Overflow) -> Result<Codes> {
    let width = format.bytes();
    let mut bytes = vec![0; source.len() * width];
    let missing: Vec<usize> = bytes
        .par_chunks_mut(PART * width)
        .enumerate()
        .flat_map_iter(|(part, bytes)| {
            let places = (part * PART..).zip(bytes.chunks_mut(width));
            places.filter_map(|(index, place)| match format.encode(&source.value(index), rounding, overflow) {
                Some(code) => {
                    place.copy_from_slice(&code.to_le_bytes()[..width]);
                    None
                }
                None => Some(index),
            })
        })
        .collect();
    match missing.first() {
        Some(first) => Err(Error::request(format!(
            "{} of {} values have no code in {format} (NaN, which it lacks), the first at position {first}",
            missing.len(),
            source.len()
        ))),
        None => Ok(Codes::from_bytes(format, bytes).expect("whole codes")),
    }
}

impl Deviations {
    /// Compares two tensors of as many elements.
    fn between(source: &Tensor, result: &Tensor) -> Deviations {
        let part = |part: usize| {
            let mut deviations = Deviations::default();
            for index in part * PART..((part + 1) * PART).min(source.len()) {
                deviations.add(&source.value(index), &result.value(index), result.largest(index));
            }
            deviations
        };
        let parts: Vec<Deviations> = (0..source.len().div_ceil(PART)).into_par_iter().map(part).collect();
        parts.iter().fold(Deviations::default(), |sum, part| sum.plus(part))
    }

    fn add(&mut self, source: &Real, result: &Real, largest: Option<f64>) {
        self.values += 1;
        self.nan += u64::from(*result == Real::Nan);
        let (x, y) = (source.to_f64(), result.to_f64());
        self.exact += u64::from(x == y || x.is_nan() && y.is_nan());
        self.too_large += u64::from(largest.is_some_and(|largest| x.abs() > largest && !largest.is_nan()));
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

impl Target {
    /// The block format, if it is one.
    pub fn block(&self) -> Option<&'static BlockFormat> {
        match self {
            Target::Scalar { .. } => None,
            Target::Blocks(quantizer) => Some(quantizer.format),
        }
    }

    /// The name of the format.
    pub fn name(&self) -> &'static str {
        match self {
            Target::Scalar { format, .. } => format.name,
            Target::Blocks(quantizer) => quantizer.format.name,
        }
    }
}
