//! Slices cut into blocks, each of which has a scale of its own.

use super::{Code, parallel::PIECE, plan::INFINITY};
use crate::vectors::vectorised;

/// Values in blocks of `length`, the last of them possibly short, and what each block's conversion depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks<'a, T> {
    pub(crate) length: usize,
    pub(crate) each: &'a [T],
}

impl<'a, T: Copy> Blocks<'a, T> {
    /// Calls `convert` for each block. The common lengths are constants, for the sake of what the compiler makes of it.
    #[inline(always)]
    pub(super) fn convert<A, B>(&self, values: &[A], codes: &mut [B], mut convert: impl FnMut(T, &[A], &mut [B])) {
        match self.length {
            16 => self.convert_fixed::<16, A, B>(values, codes, &mut convert),
            32 => self.convert_fixed::<32, A, B>(values, codes, &mut convert),
            length => {
                for ((own, values), codes) in self.each.iter().zip(values.chunks(length)).zip(codes.chunks_mut(length)) {
                    convert(*own, values, codes);
                }
            }
        }
    }

    #[inline(always)]
    fn convert_fixed<const LENGTH: usize, A, B>(
        &self,
        values: &[A],
        codes: &mut [B],
        convert: &mut impl FnMut(T, &[A], &mut [B]),
    ) {
        let (values, short) = values.as_chunks::<LENGTH>();
        let (codes, short_codes) = codes.as_chunks_mut::<LENGTH>();
        for ((own, values), codes) in self.each.iter().zip(values).zip(codes) {
            convert(*own, values, codes);
        }
        if let (Some(own), false) = (self.each.get(values.len()), short.is_empty()) {
            convert(*own, short, short_codes);
        }
    }
}

vectorised! {
    /// The largest magnitude of each block of `length` values, as the bits of an `f32`: above those of infinity if there
    /// is a NaN.
    pub(crate) fn largest_magnitudes(values: &[f32], length: usize, largest: &mut [u32]) {
        let magnitude = |value: &f32| value.to_bits() & u32::MAX >> 1;
        let most = |values: &[f32]| {
            let mut most = 0;
            for value in values {
                most = magnitude(value).max(most);
            }
            most
        };
        match length {
            16 => {
                let (blocks, short) = values.as_chunks::<16>();
                for (largest, block) in largest.iter_mut().zip(blocks) {
                    *largest = most(block);
                }
                if !short.is_empty() {
                    largest[blocks.len()] = most(short);
                }
            }
            32 => {
                let (blocks, short) = values.as_chunks::<32>();
                for (largest, block) in largest.iter_mut().zip(blocks) {
                    *largest = most(block);
                }
                if !short.is_empty() {
                    largest[blocks.len()] = most(short);
                }
            }
            _ => {
                for (largest, block) in largest.iter_mut().zip(values.chunks(length)) {
                    *largest = most(block);
                }
            }
        }
    }
}

vectorised! {
    /// The largest finite magnitude, as the bits of an `f32`.
    pub(crate) fn largest_finite(values: &[f32]) -> u32 {
        let mut most = 0;
        for value in values {
            let magnitude = value.to_bits() & u32::MAX >> 1;
            most = if magnitude < INFINITY { magnitude.max(most) } else { most };
        }
        most
    }
}

/// Most codes other than zero that [`Steps`] has room for.
pub(crate) const STEPS: usize = 7;

/// Codes as a step function of the magnitude: the bits of the smallest magnitudes whose code is at least 1, 2, ..., by sign;
/// `NEVER` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Steps(pub(crate) [[i32; STEPS]; 2]);

/// Beyond the bits of every magnitude.
pub(crate) const NEVER: i32 = i32::MAX;

vectorised! {
    /// The code of each value: how many steps of its block and sign its magnitude reaches, and `sign_bit` if it is negative.
    pub(crate) fn encode_steps<C: Code>(values: &[f32], blocks: Blocks<&Steps>, sign_bit: u32, codes: &mut [C]) {
        blocks.convert(values, codes, |Steps([positive, negative]), values, codes| {
            let same = positive == negative;
            for (code, value) in codes.iter_mut().zip(values) {
                let bits = value.to_bits();
                let magnitude = (bits & u32::MAX >> 1) as i32;
                let minus = bits as i32 >> 31;
                let mut reached = 0;
                for (above, below) in positive.iter().zip(negative) {
                    let step = if same { *above } else { *above ^ minus & (*above ^ *below) };
                    reached += u32::from(magnitude >= step);
                }
                *code = C::cut(reached | minus as u32 & sign_bit);
            }
        });
    }
}

vectorised! {
    /// Multiplies each value by its block's factor, and then by `common`; NaNs become the canonical one.
    pub(crate) fn scale(values: &mut [f32], length: usize, factors: &[f32], common: f32) {
        let multiply = |values: &mut [f32], factor: f32| {
            for value in values {
                let product = *value * factor * common;
                *value = if product.is_nan() { f32::from_bits(0x7fc0_0000) } else { product };
            }
        };
        for (values, factor) in values.chunks_mut(length).zip(factors) {
            multiply(values, *factor);
        }
    }
}

/// How many values to convert at a time, in whole blocks: what one step leaves for the next stays in the nearest cache.
pub(crate) fn piece(length: usize) -> usize {
    (PIECE / 8 / length).max(1) * length
}
