//! Block scales.

use std::ops::Range;

use super::{
    decoder::{DecodedCode, NumberDecoder},
    number::{INFINITY, NAN, ZERO},
};
use crate::{format::Class, isa::Scale};

/// Decoding of the scale codes of an instruction.
#[derive(Debug, Clone)]
pub(super) struct Scales {
    /// Consecutive logical k with one scale.
    pub(super) block: usize,
    /// Products summed exactly before they are scaled; 0: the factors are scaled instead.
    pub(super) run: usize,
    /// Decoded scales, by code.
    table: Vec<DecodedCode>,
    precision: u32,
    fraction_bits: i32,
    /// Smallest exponents of A and B: units of the fixed-point factors of exact sums.
    pub(super) lowest: [i32; 2],
    /// Bits of those factors.
    widths: [u32; 2],
}

impl Scales {
    /// `None` for scales with a sign or of more than 8 bits.
    pub(super) fn new(scale: Scale, run: Option<usize>, factors: [&NumberDecoder; 2]) -> Option<Scales> {
        let float = scale.format.float().filter(|float| scale.format.bits <= 8 && !float.signed)?;
        let factor = |code| {
            let datum = scale.format.decode(code);
            DecodedCode {
                significand: datum.significand as u32,
                negative: 0,
                exponent: if datum.significand == 0 { ZERO } else { datum.exponent + float.trailing_bits as i32 },
                special: match datum.class {
                    Class::Nan => NAN,
                    Class::Infinite => INFINITY,
                    _ => 0,
                },
            }
        };
        Some(Scales {
            block: scale.block,
            run: run.unwrap_or(0),
            table: (0..=scale.format.code_mask()).map(factor).collect(),
            precision: float.precision(),
            fraction_bits: float.trailing_bits as i32,
            lowest: factors.map(NumberDecoder::lowest),
            widths: factors.map(NumberDecoder::span),
        })
    }

    /// Smallest and largest exponent of a scale that is not zero.
    pub(super) fn exponents(&self) -> (i32, i32) {
        let exponents = || self.table.iter().filter(|scale| scale.significand != 0).map(|scale| scale.exponent);
        (exponents().min().unwrap_or(0), exponents().max().unwrap_or(0))
    }

    #[inline(always)]
    pub(super) fn decode(&self, code: u32) -> DecodedCode {
        self.table[code as usize & (self.table.len() - 1)]
    }

    /// Logical k of these places, by runs with one scale: the block, and the places.
    pub(super) fn runs(&self, order: &[usize]) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut end = 0;
        order.chunk_by(|x, y| x / self.block == y / self.block).map(move |run| {
            let first = end;
            end += run.len();
            (run[0] / self.block, first..end)
        })
    }

    /// Fraction bits that scaling adds to a factor.
    pub(super) fn factor_fraction_bits(&self) -> i32 {
        if self.run == 0 { self.fraction_bits } else { 0 }
    }

    /// Fraction bits, and all bits, of terms whose unscaled products have `fraction_bits` and `bits`.
    /// `None` if they are too many.
    pub(super) fn terms(&self, fraction_bits: i32, bits: u32) -> Option<(i32, u32)> {
        let (fraction_bits, bits) = match self.run {
            0 => (fraction_bits, bits),
            run => (fraction_bits - self.lowest[0] - self.lowest[1], self.widths[0] + self.widths[1] + run.ilog2() + 1),
        };
        let bits = bits + 2 * self.precision;
        (bits <= 61).then_some((fraction_bits + 2 * self.fraction_bits, bits))
    }
}
