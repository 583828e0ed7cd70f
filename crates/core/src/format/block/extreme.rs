//! The rule `extreme`: the scale maps the value of largest magnitude to the most negative integer.
//!
//! ggml's own arithmetic, step by step in f32: `d = extreme / -8`, `id = 1 / d`, and the integer is `x * id + 8.5`,
//! truncated, less 8. The reciprocal belongs to `d` before its rounding to the format of the scale, so that the elements are
//! not the nearest ones under the stored scale. Each operation rounds once; a compiler that fuses the product and the sum
//! gets other integers at some ties.

use super::{BlockFormat, sign_bit, wide::WideScale};
use crate::{
    base::vectors::vectorised,
    format::{Encoding, Format, Overflow, Real, Rounding},
    number::Finite,
};

/// The rule for one block format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extreme {
    scale: &'static Format,
    /// Sign bit of scales.
    sign: u32,
    /// Rounding of scales without the exact computation.
    wide: Option<WideScale>,
    /// Magnitude of the most negative integer.
    most: f32,
}

impl Extreme {
    /// The rule for a format of integers of two's complement under signed scales; else `None`.
    pub(super) fn new(format: &BlockFormat) -> Option<Extreme> {
        let (scale, element) = (format.scale, &format.element);
        let integers = element.format.encoding == Encoding::Integer { signed: true };
        let plain = integers && !element.symmetric && element.exponent == 0 && format.tensor_scale.is_none();
        let sign = sign_bit(scale).filter(|_| plain)?;
        let most = (1u32 << (element.format.bits - 1)) as f32;
        Some(Extreme { scale, sign, wide: WideScale::new(scale), most })
    }

    /// Scale of a block before its rounding to the format of scales.
    ///
    /// `amax` is the largest magnitude of the block, as bits. Of several values with this magnitude the first decides.
    pub(super) fn unrounded(self, values: &[f32], amax: u32) -> f32 {
        // ggml starts from +0, which no zero replaces.
        let first = values.iter().find(|value| amax > 0 && value.abs().to_bits() == amax);
        first.copied().unwrap_or(0.0) / -self.most
    }

    /// Code of a scale that has not been rounded; it saturates.
    pub(super) fn code(self, unrounded: f32) -> u32 {
        let magnitude = self.wide.and_then(|wide| wide.code(f64::from(unrounded.abs()), Rounding::Rne));
        match magnitude {
            Some(code) if unrounded.is_sign_negative() => code | self.sign,
            Some(code) => code,
            None => {
                let number = Real::from(f64::from(unrounded));
                let code = self.scale.encode(&number, Rounding::Rne, Overflow::Saturate);
                code.expect("a number has a code") as u32
            }
        }
    }

    /// Number that multiplies the values of a block; zero where the reciprocal is none of f32.
    pub(super) fn reciprocal(unrounded: f32) -> f32 {
        let reciprocal = 1.0 / unrounded;
        if reciprocal.is_finite() { reciprocal } else { 0.0 }
    }

    /// Elements of consecutive blocks of one row, each with its reciprocal.
    pub(super) fn encode(self, values: &[f32], length: usize, reciprocals: &[f32], elements: &mut [u8]) {
        encode_by_reciprocals(values, length, reciprocals, self.most, elements);
    }

    /// Scale code and elements of a block of exact values, each rounded to f32 first.
    pub(super) fn block(self, values: &[Finite], elements: &mut [u8]) -> u32 {
        let values = numbers(values);
        let unrounded = self.unrounded(&values, largest(&values));
        self.encode(&values, values.len().max(1), &[Self::reciprocal(unrounded)], elements);
        self.code(unrounded)
    }

    /// Scale code of a block of exact values.
    pub(super) fn scale_code(self, values: &[Finite]) -> u32 {
        let values = numbers(values);
        self.code(self.unrounded(&values, largest(&values)))
    }
}

/// Values as f32, to nearest; too large ones saturate.
fn numbers(values: &[Finite]) -> Vec<f32> {
    values.iter().map(|value| (value.to_f64() as f32).clamp(f32::MIN, f32::MAX)).collect()
}

/// Bits of the largest magnitude.
fn largest(values: &[f32]) -> u32 {
    values.iter().map(|value| value.abs().to_bits()).max().unwrap_or(0)
}

vectorised! {
    /// Codes of `values * reciprocal + most + 0.5`, truncated, less `most`.
    fn encode_by_reciprocals(values: &[f32], length: usize, reciprocals: &[f32], most: f32, elements: &mut [u8]) {
        let (half_up, largest, sign) = (most + 0.5, 2.0 * most - 1.0, most as u8);
        for ((values, elements), reciprocal) in values.chunks(length).zip(elements.chunks_mut(length)).zip(reciprocals) {
            for (value, element) in values.iter().zip(elements) {
                let integer = (value * reciprocal + half_up).clamp(0.0, largest) as i32;
                // Two's complement: less `most` is the highest bit inverted.
                *element = integer as u8 ^ sign;
            }
        }
    }
}
