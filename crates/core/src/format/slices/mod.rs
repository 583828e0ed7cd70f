//! Vectorised conversions of slices between `f32` and every format of 16 bits or fewer.
//!
//! One implementation serves all formats. It depends on a handful of constants derived from the format's record, by
//! asking [`Format::encode`](crate::format::Format::encode) for the codes of zeros, infinities, NaN and overflows. On
//! every input it agrees with [`Format::encode`](crate::format::Format::encode) and
//! [`Format::decode`](crate::format::Format::decode).
//!
//! Elements are plain codes, or the types of the crate `half`, whose slices are written and read in place:
//!
//! ```
//! use half::{bf16, f16};
//! use tcnum_core::format::{self, Overflow, Rounding, slices::{Decoder, Encoder}};
//! # fn main() -> tcnum_core::Result<()> {
//! let [f16_format, bf16_format] = ["f16", "bf16"].map(|name| format::find(name).unwrap());
//! let mut rounded = [f16::ZERO; 3];
//! Encoder::new(f16_format, Rounding::Rz, Overflow::Saturate)?.encode(&[0.1, -1.5, 1e6], &mut rounded);
//! assert_eq!(rounded, [f16::from_bits(0x2e66), f16::from_f32(-1.5), f16::MAX]);
//!
//! let mut values = [0.0; 2];
//! Decoder::new(bf16_format)?.decode(&[bf16::ONE, bf16::MIN_POSITIVE], &mut values);
//! assert_eq!(values, [1.0, f32::MIN_POSITIVE]);
//! # Ok(())
//! # }
//! ```

mod blocks;
mod constants;
mod decode;
mod element;
mod encode;
mod integer;
mod parallel;
mod placement;
mod tabled;

pub use blocks::{BlockedSlice, largest_finite, largest_magnitudes, scale};
pub(crate) use blocks::{NEVER, STEPS, Steps, encode_steps, stretch, stretches};
pub use decode::{Decoder, nearest_f32};
pub use element::SliceElement;
pub use encode::Encoder;

use crate::{Error, Result, format::Format};

/// Integer that holds codes: `u8` for formats of 8 bits or fewer, `u16` for those of 16 or fewer.
pub trait Code: SliceElement<Code = Self> + sealed::Narrow + Into<u64> {}

impl Code for u8 {}
impl Code for u16 {}

mod sealed {
    /// Narrowing and widening of 32-bit lanes.
    pub trait Narrow: Copy + Default + Send + Sync + 'static {
        /// Width in bits.
        const BITS: u32;

        /// Low bits of `lane`.
        fn cut(lane: u32) -> Self;

        /// The value with zeros above.
        fn widen(self) -> u32;
    }

    impl Narrow for u8 {
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

    impl Narrow for u16 {
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

/// Refuses a format whose codes do not fit the elements `E`.
fn fits<E: SliceElement>(format: &Format) -> Result<()> {
    let bits = <E::Code as sealed::Narrow>::BITS;
    match E::FORMAT {
        Some(name) if name != format.name => {
            Err(Error::request(format!("elements of type half::{name} are codes of {name}, not of {format}")))
        }
        None if format.bits > bits => Err(Error::request(format!(
            "codes of {format} have {} bits: they do not fit the {bits} bits of a slice's elements",
            format.bits
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
