//! Block formats as data: elements of a narrow format with shared scales; exact quantisation.
//!
//! A tensor is cut along its last dimension into blocks of [`BlockFormat::length`] elements, of one row or of
//! [`BlockFormat::rows`] rows; the last blocks may be short. A block is a scale code and its element codes. An element's
//! value is `element * 2^exponent * scale`, times the tensor's scale if the format has one. Formats are data: the files
//! of `blocks/`, and files of users.
//!
//! Everything is computed on exact values, and each scale and each element is rounded once: `amax / largest` and `x /
//! scale` are exact quotients. (Implementations that divide in binary32 or multiply by a rounded reciprocal may pick a
//! neighbouring code where the rounded quotient falls on the other side of a tie or of a power of two.)
//!
//! The specifications leave some cases open. This crate decides them so:
//! - **NaN and infinities in a block** (MX 1.0 leaves their conversion to the implementation): the scale is NaN, so
//!   that every value of the block is NaN (MX 1.0, 5.1), and the element codes are zero. The OCP reference
//!   implementation (microxcaling) does the same, and so does torchao (0.18 for NaN alone). So it is for a block of
//!   NVFP4, whose tensor scale then comes from the finite values alone.
//! - **A block of zeros**: the smallest scale (e8m0 `0x00`, 2^-127; ue4m3 `0x00`, 0), as torchao, gfloat and cuBLAS
//!   have it for e8m0. The zeros keep their signs.
//! - **A scale outside the range of its format** becomes the nearest number inside: 2^-127 and 2^127; 0 and 448.
//! - **A zero scale** (NVFP4, where `amax` is below half of the smallest scale): the elements are zeros with the signs
//!   of the values.
//! - **Elements saturate** in every rounding direction (MX 1.0, 6.3).
//! - **MXINT8's code of -2** (`0x80`), which MX 1.0 allows to be left unused to keep the range symmetric, is read but
//!   never written, as in microxcaling: the largest magnitude is 1 + 63/64 on both sides.
//! - **The rule `extreme`** computes in f32 as ggml does, from the scale before its rounding. A block of zeros has a scale of
//!   -0. Elements are not zeros where the scale is rounded to zero. Roundings other than to nearest, ties to even, divide by
//!   the stored scale as other rules do.

mod changes;
mod choice;
mod dequantize;
mod element;
mod extreme;
mod fast;
mod losses;
mod name;
mod offset;
mod pack;
mod quantize;
mod record;
mod rule;
mod runs;
mod scales;
mod search;
mod steps;
mod wide;

pub use dequantize::Dequantizer;
pub use element::Element;
pub use fast::VectorQuantizer;
pub use name::{find, find_rule, resolve};
pub use offset::BlockOffset;
pub use pack::{pack_pairs, unpack_pairs};
pub use quantize::{Blocks, Quantizer};
pub use record::formats;
pub use rule::{SCALE_RULES, ScaleRule};

use std::sync::Mutex;

use crate::{
    Error, Result,
    format::{Float, Format, Zeros, find as find_format},
};

/// Block format: element format, block length and scales.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BlockFormat {
    /// Canonical name in reports.
    pub name: &'static str,
    /// Other accepted spellings, in lower case.
    pub aliases: &'static [&'static str],
    /// Meaning of the element codes.
    pub element: Element,
    /// Rows of a block, over all but the last dimension of a tensor.
    pub rows: usize,
    /// Number of elements of a row of a block.
    pub length: usize,
    /// Format of the scale of a block.
    pub scale: &'static Format,
    /// Format of the tensor's scale; `None` without one.
    pub tensor_scale: Option<&'static Format>,
    /// Second number of each block, which shifts its values; `None` without one.
    pub offset: Option<BlockOffset>,
    /// Name of the scale rule in the format's specification, or in its vendor's description.
    pub default_rule: &'static str,
    /// Document that defines the format.
    pub source: &'static str,
}

impl BlockFormat {
    /// Rows or elements of a row of a block that has all of them.
    pub const WHOLE: usize = 1 << 40;

    /// Elements of a format of at most 8 bits under scales of f32, in blocks of these rows and columns.
    ///
    /// The scale is `amax / largest`, to nearest.
    ///
    /// # Errors
    /// A format of more than 8 bits.
    pub fn with_f32_scales(element: &'static Format, rows: usize, length: usize) -> Result<&'static BlockFormat> {
        static SCALED: Mutex<Vec<&'static BlockFormat>> = Mutex::new(Vec::new());
        if element.bits > 8 {
            return Err(Error::request(format!(
                "{element} has {} bits; scales are for formats of at most 8",
                element.bits
            )));
        }
        let mut known = SCALED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(format) = known.iter().find(|format| format.element.format == element) {
            return Ok(format.with_blocks(rows, length));
        }
        // Leaked and kept, like the shipped formats.
        let format: &'static BlockFormat = Box::leak(Box::new(BlockFormat {
            name: element.name,
            aliases: &[],
            element: Element { format: element, exponent: 0, symmetric: false },
            rows,
            length,
            scale: find_format("f32")?,
            tensor_scale: None,
            offset: None,
            default_rule: "nearest",
            source: element.source,
        }));
        known.push(format);
        Ok(format)
    }

    /// Bits of the scale of a block, and of its offset.
    pub fn bits_of_scales(&self) -> u32 {
        8 * self.scale.bytes() as u32 + self.offset.map_or(0, |offset| offset.format().bits)
    }

    /// Bit of negative scales, where a block may need a scale of either sign.
    ///
    /// Negative and positive elements differ in magnitude. Scales of more than 16 bits are positive.
    pub(super) fn scale_sign(&self) -> Option<u32> {
        sign_bit(self.scale).filter(|_| self.scale.bits <= 16 && !self.element.is_symmetric())
    }

    /// Number of blocks in `count` elements in rows of `row`.
    pub fn blocks(&self, count: usize, row: usize) -> usize {
        (count / row.max(1)).div_ceil(self.rows) * row.div_ceil(self.length)
    }

    /// The format with blocks of these rows and columns.
    pub fn with_blocks(&'static self, rows: usize, length: usize) -> &'static BlockFormat {
        static OTHERS: Mutex<Vec<&'static BlockFormat>> = Mutex::new(Vec::new());
        if (self.rows, self.length) == (rows, length) {
            return self;
        }
        let wanted = BlockFormat { rows, length, ..self.clone() };
        let mut others = OTHERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = others.iter().find(|known| ***known == wanted) {
            return known;
        }
        // Leaked and kept, like the shipped formats.
        let format: &'static BlockFormat = Box::leak(Box::new(wanted));
        others.push(format);
        format
    }

    /// Extents of a block: `1x32`, `128x128`, `row`, `tensor`.
    pub fn extents(&self) -> String {
        match (self.rows, self.length) {
            (BlockFormat::WHOLE, BlockFormat::WHOLE) => "tensor".into(),
            (1, BlockFormat::WHOLE) => "row".into(),
            (rows, length) => format!("{rows}x{length}"),
        }
    }
}

/// Sign bit of a floating-point format whose numbers have both signs, zero too.
fn sign_bit(format: &Format) -> Option<u32> {
    let signed = |float: &Float| float.signed && float.zeros == Zeros::Both && float.padding_bits == 0;
    format.float().is_some_and(signed).then(|| 1 << (format.bits - 1))
}

impl std::fmt::Display for BlockFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}
