//! Blocks of bytes that have their scales inside (GGUF).
//!
//! Codes lie in one or two fields; scales and minima have one or two levels.

use super::packing::{Packing, mask};
use crate::{format::Format, tensor::ElementReader};

/// A block of bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockParts {
    pub(crate) stored: String,
    /// Codes and bytes of a block.
    pub(crate) length: usize,
    pub(crate) bytes: usize,
    /// Byte where the codes, or their low bits, begin.
    pub(crate) codes_at: usize,
    /// Field with the bits of the codes that lie above those.
    pub(crate) high: Option<HighBits>,
    pub(crate) scale: BlockNumber,
    pub(crate) minimum: Option<(BlockNumber, Minimum)>,
}

/// Effect of a minimum on values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Minimum {
    Adds,
    Subtracts,
}

/// Upper bits of codes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HighBits {
    pub(crate) at: usize,
    pub(crate) bits: usize,
    pub(crate) packing: Packing,
}

/// A number of a block, or the products of it and of one number for each part of the block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BlockNumber {
    pub(crate) at: Option<usize>,
    pub(crate) format: &'static Format,
    pub(crate) parts: Option<PartNumbers>,
}

/// Numbers of the parts of a block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PartNumbers {
    pub(crate) at: usize,
    /// Codes of a part.
    pub(crate) length: usize,
    pub(crate) format: &'static Format,
    pub(crate) offset: f64,
    /// Places of the lowest bit of each number, counted from `at`.
    pub(crate) low: Vec<usize>,
    /// Bits there.
    pub(crate) bits: usize,
    /// Places of the lowest of the bits above those.
    pub(crate) high: Vec<usize>,
}

/// Up to 8 bits at a place, by the number of the bit.
fn bits_at(bytes: &[u8], place: usize, bits: usize) -> u8 {
    let byte = |at: usize| bytes.get(at).map_or(0, |byte| u16::from(*byte));
    ((byte(place / 8 + 1) << 8 | byte(place / 8)) >> (place % 8)) as u8 & mask(bits)
}

impl PartNumbers {
    /// Bytes from `at` on that the numbers lie in.
    pub(crate) fn end(&self) -> usize {
        let above = (self.format.bits as usize).saturating_sub(self.bits);
        let low = self.low.iter().map(|place| place + self.bits);
        low.chain(self.high.iter().map(|place| place + above)).max().unwrap_or(0).div_ceil(8)
    }
}

impl BlockNumber {
    /// Appends the numbers of a block: one, or one for each part, rounded to `f32`.
    pub(crate) fn read(&self, block: &[u8], values: &mut Vec<f64>) -> Option<()> {
        let one = match self.at {
            None => 1.0,
            Some(at) => {
                let mut one = Vec::new();
                let elements = ElementReader::of_format(self.format).ok()?;
                elements.read(&block[at..][..elements.width()], &mut one).ok()?;
                one[0]
            }
        };
        let Some(parts) = &self.parts else {
            values.push(one);
            return Some(());
        };
        let bytes = &block[parts.at..];
        let above = (parts.format.bits as usize).saturating_sub(parts.bits);
        for (at, low) in parts.low.iter().enumerate() {
            let high = parts.high.get(at).map_or(0, |place| u64::from(bits_at(bytes, *place, above)) << parts.bits);
            let code = u64::from(bits_at(bytes, *low, parts.bits)) | high;
            let number = parts.format.to_f64((code <= parts.format.code_mask()).then_some(code)?);
            values.push(f64::from((one * (number + parts.offset)) as f32));
        }
        Some(())
    }
}

impl BlockParts {
    /// Codes that share a scale, and those that share a minimum.
    pub(crate) fn shared(&self, number: &BlockNumber) -> usize {
        number.parts.as_ref().map_or(self.length, |parts| parts.length)
    }

    /// Appends the codes of a block, whose low bits have this packing.
    pub(crate) fn codes(&self, block: &[u8], bits: usize, packing: Packing, codes: &mut Vec<u8>) {
        let start = codes.len();
        let above = self.high.as_ref().map_or(0, |high| high.bits);
        packing.unpack(&block[self.codes_at..], bits - above, 0..self.length, codes);
        if let Some(high) = &self.high {
            let mut upper = Vec::with_capacity(self.length);
            high.packing.unpack(&block[high.at..], high.bits, 0..self.length, &mut upper);
            codes[start..].iter_mut().zip(upper).for_each(|(code, upper)| *code |= upper << (bits - above));
        }
    }
}
