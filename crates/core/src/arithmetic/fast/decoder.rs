//! Decoding: elements and numbers from codes.

use std::hint::black_box;

use super::{
    number::{INFINITY, NAN, Number, TRUE, ZERO},
    word::{LANES, Lane, PIECES, PieceLanes, each, over, piece, set_piece},
};
use crate::{
    arithmetic::Subnormals,
    base::vectors::vectorised,
    format::{Encoding, Float, Format, Specials, Zeros},
};

/// Decoded code: `(-1)^negative * significand * 2^(exponent - fraction bits)`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DecodedCode {
    pub(super) significand: u32,
    /// Sign, as a mask.
    pub(super) negative: u32,
    /// Exponent of the significand's units digit; [`ZERO`] for a zero.
    pub(super) exponent: i32,
    /// [`INFINITY`] (of either sign), [`NAN`] or 0.
    pub(super) special: u32,
}

/// Decoded codes of the lanes.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecodedLanes {
    pub(super) significand: Lane<u32>,
    pub(super) negative: Lane<u32>,
    pub(super) exponent: Lane<i32>,
    pub(super) special: Lane<u32>,
}

impl DecodedLanes {
    #[inline(always)]
    fn new(datum: impl Fn(usize) -> DecodedCode) -> DecodedLanes {
        let mut lanes =
            DecodedLanes { significand: [0; LANES], negative: [0; LANES], exponent: [0; LANES], special: [0; LANES] };
        for l in 0..LANES {
            let decoded = datum(l);
            lanes.significand[l] = decoded.significand;
            lanes.negative[l] = decoded.negative;
            lanes.exponent[l] = decoded.exponent;
            lanes.special[l] = decoded.special;
        }
        lanes
    }
}

/// Constants that decode codes of a format of at most 32 bits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NumberDecoder {
    /// Unused bits of 32, and true if codes are signed, for an integer format.
    pub(super) integer: Option<(u32, bool)>,
    padding_bits: u32,
    trailing_bits: u32,
    trailing_mask: u32,
    exponent_mask: u32,
    sign_mask: u32,
    emin: i32,
    /// A code is special if `(code & mask) - offset` is at least `low`.
    special_mask: u32,
    special_offset: u32,
    special_low: u32,
    /// Value of that difference for infinity.
    infinity: u32,
    /// Mask of the trailing bits that subnormals keep.
    subnormal_mask: u32,
    /// Mask that is set if subnormals lose their sign.
    unsigned_subnormals: u32,
    /// Fraction bits of significands.
    pub(super) fraction_bits: u32,
    /// Precision of significands.
    pub(super) precision: u32,
    /// Low bits that are never set in the format that numbers are converted to, and that significands lack.
    pub(super) clear_bits: u32,
    /// Smallest exponent of the format that numbers are converted to.
    unpacked_emin: Option<i32>,
    emax: i32,
}

impl NumberDecoder {
    /// `None` for formats of more than 32 bits and for those without subnormals.
    pub(super) fn new(
        format: &Format,
        subnormals: Subnormals,
        unpack: Option<&'static Format>,
    ) -> Option<NumberDecoder> {
        if let Encoding::Integer { signed } = format.encoding {
            return (format.bits <= 32)
                .then(|| NumberDecoder { integer: Some((32 - format.bits, signed)), ..NumberDecoder::default() });
        }
        let f = supported(format)?;
        let wider = match unpack {
            Some(wider) => Some(wider.float().filter(|f| has_small_numbers(f))?),
            None => None,
        };
        // The wider format has every number of the narrower one: of its bits, only some are ever set.
        let unpacked_emin = wider.map(|wider| emin_as(f, wider));
        let fraction_bits = unpacked_emin.map_or(0, |emin| (emin - quantum(f)) as u32).max(f.trailing_bits);
        let sign_mask = if f.signed { 1 << (format.bits - 1) } else { 0 };
        let magnitude_mask = (1u64 << (format.bits - u32::from(f.signed))) as u32;
        let magnitude_mask = magnitude_mask.wrapping_sub(1);
        let trailing_mask = (1 << f.trailing_bits) - 1;
        let exponent_mask = (1 << f.exponent_bits) - 1;
        let all_ones = (exponent_mask << f.trailing_bits | trailing_mask) << f.padding_bits;
        let kept = magnitude_mask & !((1 << f.padding_bits) - 1);
        let top = exponent_mask << (f.trailing_bits + f.padding_bits);
        let (special_mask, special_offset, special_low, infinity) = match f.specials {
            Specials::Ieee => (kept, 0, top, top),
            Specials::AllOnesNan => (kept, 0, all_ones, u32::MAX),
            // 8-bit codes: 2^30 is out of reach.
            Specials::NegativeZeroNan => (magnitude_mask | sign_mask, sign_mask + 1, u32::MAX, 1 << 30),
            Specials::None => (0, 0, 1, u32::MAX),
            Specials::AllOnesNanInfinity | Specials::NegativeZeroNanInfinity => return None,
        };
        Some(NumberDecoder {
            integer: None,
            padding_bits: f.padding_bits,
            trailing_bits: f.trailing_bits,
            trailing_mask,
            exponent_mask,
            sign_mask,
            emin: f.emin(),
            special_mask,
            special_offset,
            special_low,
            infinity,
            subnormal_mask: if subnormals == Subnormals::Keep { u32::MAX } else { 0 },
            unsigned_subnormals: if subnormals == Subnormals::PositiveZero { TRUE } else { 0 },
            fraction_bits,
            precision: fraction_bits + 1,
            clear_bits: wider.map_or(0, |wider| wider.trailing_bits - fraction_bits),
            unpacked_emin,
            emax: f.emax(),
        })
    }

    /// Decoder of a format whose numbers are not converted.
    pub(super) fn plain(format: &Format) -> Option<NumberDecoder> {
        NumberDecoder::new(format, Subnormals::Keep, None)
    }

    /// Smallest exponent.
    pub(super) fn lowest(&self) -> i32 {
        self.emin
    }

    /// Bits between the last bit of the smallest and the first bit of the largest number.
    pub(super) fn span(&self) -> u32 {
        (self.emax - self.emin) as u32 + self.precision
    }

    #[inline(always)]
    pub(super) fn decode(&self, code: u32) -> DecodedCode {
        let key = (code & self.special_mask).wrapping_sub(self.special_offset);
        let special = if key >= self.special_low { NAN } else { 0 };
        let special = if key == self.infinity { INFINITY } else { special };
        let fields = code >> self.padding_bits;
        let biased = fields >> self.trailing_bits & self.exponent_mask;
        let trailing = fields & self.trailing_mask;
        let subnormal = biased == 0;
        let significand = if subnormal { trailing & self.subnormal_mask } else { trailing | 1 << self.trailing_bits };
        let unsigned = if subnormal { self.unsigned_subnormals } else { 0 };
        let unsigned = if trailing != 0 { unsigned } else { 0 };
        let negative = if code & self.sign_mask != 0 { TRUE } else { 0 };
        let exponent = biased.max(1) as i32 - 1 + self.emin;
        DecodedCode {
            significand,
            negative: negative & !unsigned,
            exponent: if significand == 0 { ZERO } else { exponent },
            special,
        }
    }

    #[inline(always)]
    pub(super) fn lanes(&self, codes: &Lane<u32>) -> DecodedLanes {
        match self.unpacked_emin {
            Some(emin) => DecodedLanes::new(|l| self.unpacked(codes[l], emin)),
            None => DecodedLanes::new(|l| self.decode(codes[l])),
        }
    }

    /// Smallest and largest exponent of unpacked numbers.
    pub(super) fn exponents(&self) -> (i32, i32) {
        (self.unpacked_emin.unwrap_or(self.emin), self.emax)
    }

    /// Datum in a format with this smallest exponent.
    #[inline(always)]
    fn unpacked(&self, code: u32, emin: i32) -> DecodedCode {
        let element = self.decode(code);
        let DecodedCode { significand, exponent, .. } = element;
        let length = 32 - (significand | 1).leading_zeros() as i32;
        let quantum = exponent - self.trailing_bits as i32;
        let unpacked = (quantum + length - 1).max(emin);
        let left = (quantum - (unpacked - self.fraction_bits as i32)).clamp(0, 31);
        DecodedCode {
            significand: significand << left,
            exponent: if significand == 0 { ZERO } else { unpacked },
            ..element
        }
    }
}

vectorised! {
    /// Numbers of codes.
    pub(super) fn numbers(decoder: &NumberDecoder, codes: &PieceLanes<u32>, number: &mut Number) {
        // A copy, so that the loop keeps its fields in registers.
        let decoder = *decoder;
        // A step opaque to the compiler, so that it vectorises over lanes, not over iterations.
        let (next, mut at) = (black_box(1), 0);
        while at < PIECES {
            let decoded = decoder.lanes(&piece(codes, at));
            set_piece(&mut number.magnitude, at, &over(&decoded.significand, u64::from));
            set_piece(&mut number.negative, at, &decoded.negative);
            set_piece(&mut number.exponent, at, &over(&decoded.exponent, |e| e - decoder.fraction_bits as i32));
            let minus = each(|l| u32::from((decoded.special[l] == INFINITY) & (decoded.negative[l] != 0)));
            set_piece(&mut number.special, at, &each(|l| decoded.special[l] + minus[l]));
            at += next;
        }
    }
}

/// Record of a format that the kernel supports.
pub(super) fn supported(format: &Format) -> Option<&Float> {
    format.float().filter(|f| format.bits <= 32 && has_small_numbers(f))
}

fn has_small_numbers(float: &Float) -> bool {
    float.subnormals && float.zeros != Zeros::None
}

/// Exponent of the smallest number.
fn quantum(float: &Float) -> i32 {
    float.emin() - float.trailing_bits as i32
}

/// Smallest exponent of numbers of a format as numbers of a wider one.
pub(super) fn emin_as(float: &Float, wider: &Float) -> i32 {
    wider.emin().max(quantum(float))
}
