//! Conversions of slices between `f32` and every format of 16 bits or fewer, vectorised.
//!
//! One implementation for all formats: what a conversion depends on is a handful of constants that are derived from the
//! format's record, by asking [`Format::encode`](crate::format::Format::encode) for the codes of what is not an ordinary number. On
//! every input it gives what [`Format::encode`](crate::format::Format::encode) and [`Format::decode`](crate::format::Format::decode)
//! give.

mod blocks;
mod decode;
mod encode;
mod integer;
mod layout;
mod parallel;
mod plan;

pub(crate) use blocks::{
    Blocks, NEVER, STEPS, Steps, encode_steps, largest_finite, largest_magnitudes, scale, stretch,
};
pub use decode::Decoder;
pub use encode::Encoder;

use crate::{Error, Result, format::Format};

/// The integers that hold codes: `u8` for formats of 8 bits or fewer, `u16` for those of 16 or fewer.
pub trait Code: sealed::Lane + Default + Into<u64> {}

impl Code for u8 {}
impl Code for u16 {}

mod sealed {
    /// Cutting and widening, for lanes of 32 bits.
    pub trait Lane: Copy + Default + Send + Sync + 'static {
        /// Width in bits.
        const BITS: u32;

        /// The low bits of `lane`.
        fn cut(lane: u32) -> Self;

        /// With zeros above.
        fn widen(self) -> u32;
    }

    impl Lane for u8 {
        const BITS: u32 = u8::BITS;

        #[inline(always)]
        fn cut(lane: u32) -> Self {
            lane as u8
        }

        #[inline(always)]
        fn widen(self) -> u32 {
            self.into()
        }
    }

    impl Lane for u16 {
        const BITS: u32 = u16::BITS;

        #[inline(always)]
        fn cut(lane: u32) -> Self {
            lane as u16
        }

        #[inline(always)]
        fn widen(self) -> u32 {
            self.into()
        }
    }
}

/// Refuses a format whose codes are wider than `C`.
fn fits<C: Code>(format: &Format) -> Result<()> {
    if format.bits <= C::BITS {
        return Ok(());
    }
    Err(Error::request(format!(
        "codes of {format} have {} bits: they do not fit the {} bits of a slice's elements",
        format.bits,
        C::BITS
    )))
}

#[cfg(test)]
mod tests;
