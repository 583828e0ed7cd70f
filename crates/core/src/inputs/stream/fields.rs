//! Properties of formats and instructions that the stream uses.

use crate::{
    format::{Format, Specials, Zeros},
    isa::{Chunk, Instruction},
};

/// Fields of a format; magnitudes are codes without sign and padding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) bits: u32,
    /// True for integers, and where codes are drawn as if they were.
    pub(super) integer: bool,
    pub(super) signed: bool,
    /// Number of trailing significand bits.
    pub(super) trailing: i32,
    pub(super) padding: u32,
    pub(super) bias: i32,
    pub(super) specials: Option<Specials>,
    /// Exponents of the smallest normal number, of the smallest and of the largest number.
    pub(super) emin: i32,
    pub(super) low: i32,
    pub(super) high: i32,
    /// Mask of all trailing significand bits.
    pub(super) full: u64,
    /// Number of bits of a magnitude.
    pub(super) magnitude: u32,
    pub(super) largest: u64,
    pub(super) infinity: u64,
    pub(super) nan: u64,
    pub(super) sign: u64,
}

impl Fields {
    pub(super) fn of(format: &Format) -> Fields {
        let float = format.float();
        let padding = float.map_or(0, |f| f.padding_bits);
        let trailing = float.map_or(0, |f| f.trailing_bits as i32);
        let bias = float.map_or(0, |f| f.bias);
        let emin = float.map_or(1, |f| if f.subnormals || f.zeros != Zeros::None { 1 - bias } else { -bias });
        let largest = format.largest(false) >> padding;
        Fields {
            bits: format.bits,
            integer: format.is_integer(),
            signed: float.map_or(format.is_signed(), |f| f.signed),
            trailing,
            padding,
            bias,
            specials: float.map(|f| f.specials),
            emin,
            low: emin - if float.is_some_and(|f| f.subnormals) { trailing } else { 0 },
            high: (largest >> trailing) as i32 - bias,
            full: (1 << trailing) - 1,
            magnitude: float.map_or(format.bits - 1, |f| f.exponent_bits + f.trailing_bits),
            largest,
            infinity: format.infinity(false).unwrap_or(0) >> padding,
            nan: format.nan().unwrap_or(0) >> padding,
            sign: 1 << (format.bits - 1),
        }
    }
}

/// Ranges of an instruction: fields of its operands, its shape along k, exponents of its products.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    /// Elements of a row of A, a power of two; the number of slots.
    pub(super) stored: u32,
    pub(super) chunk: Option<Chunk>,
    pub(super) a: Fields,
    pub(super) b: Fields,
    pub(super) c: Fields,
    pub(super) d: Fields,
    pub(super) scale: Option<(Fields, usize)>,
    /// Exponents of the smallest and the largest product.
    pub(super) low: i32,
    pub(super) high: i32,
    /// Exponents common to products and results.
    pub(super) bottom: i32,
    pub(super) top: i32,
    /// Significand bits of D.
    pub(super) precision: i32,
    /// True if products are as small as the smallest results.
    pub(super) reaches: bool,
    /// True if only scales, of exponents alone, take products to both ends of the results' range.
    pub(super) scalable: bool,
    /// True if the range of products is narrow compared with the width of an alignment.
    pub(super) narrow: bool,
}

impl Ranges {
    pub(super) fn of(i: &Instruction) -> Ranges {
        let [mut a, mut b, c, d] = [i.a, i.b, i.c, i.d].map(Fields::of);
        if [i.a, i.b].iter().any(|format| format.table().is_some()) {
            // A table has no fields to choose: any code of A and B.
            [&mut a, &mut b].into_iter().for_each(|fields| fields.integer |= fields.bits <= 32);
        }
        let stored = i.stored_k();
        assert!((1..=256).contains(&stored) && stored.is_power_of_two(), "{i}: rows of A are 1 to 256 long");
        let (low, high) = (a.low + b.low, a.high + b.high);
        Ranges {
            m: i.m,
            n: i.n,
            k: i.k,
            stored: stored as u32,
            chunk: i.chunk(),
            a,
            b,
            c,
            d,
            scale: i.scale.map(|scale| (Fields::of(scale.format), scale.block)),
            low,
            high,
            bottom: low.max(d.low),
            top: high.min(d.high),
            precision: d.trailing + 1,
            reaches: low <= d.low.saturating_add(6),
            scalable: i.scale.is_some_and(|scale| Fields::of(scale.format).trailing == 0)
                && low > d.low.saturating_add(6),
            narrow: high - low < 60,
        }
    }

    /// Number of bits of a slot's number.
    pub(super) fn slot_bits(&self) -> u32 {
        self.stored.ilog2()
    }
}
