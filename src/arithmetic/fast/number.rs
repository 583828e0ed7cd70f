//! Numbers between two operations, and the codes that hold them: decoding, addition, rounding, many at a time.

use super::word::{Batch, LANES, PIECES};
use crate::{
    arithmetic::{Subnormals, ZeroSign},
    format::{Finite, Float, Format, Real, Rounding, Specials, Zeros},
    softfloat::Target,
};

/// The exponent of zeros: below every other, and two of them may be added.
pub(super) const ZERO: i32 = -(1 << 20);

/// What is below every sum of exponents of non-zero factors, and above every one with a zero.
pub(super) const NONE: i32 = ZERO / 2;

/// Of a mask, that something holds.
pub(super) const TRUE: u32 = u32::MAX;

/// Elements of a batch.
pub(super) const COUNT: usize = PIECES * LANES;

/// `(-1)^negative * magnitude * 2^exponent`, where a last bit of 1 may stand for a fraction. Magnitudes have at most 62 bits.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) magnitude: Batch<u64>,
    /// Masks: [`TRUE`] or 0.
    pub(super) negative: Batch<u32>,
    pub(super) exponent: Batch<i32>,
    /// Whether it is in truth infinite or NaN, or not known: all further results are void.
    pub(super) void: Batch<u32>,
}

impl Number {
    /// Exact zeros.
    pub(super) const ZERO: Number =
        Number { magnitude: [0; COUNT], negative: [0; COUNT], exponent: [ZERO; COUNT], void: [0; COUNT] };

    /// The sum; a last bit of 1 may stand for a fraction. Both are exact, of at most 56 bits; `negative_zero`: whether
    /// numbers that cancel give -0.
    #[inline(always)]
    pub(super) fn plus(&self, other: &Number, negative_zero: bool) -> Number {
        let mut sum = Number::ZERO;
        let cancelled = if negative_zero { TRUE } else { 0 };
        for l in 0..COUNT {
            let (x, x_exponent) = leading_at_60(self.magnitude[l], self.exponent[l]);
            let (y, y_exponent) = leading_at_60(other.magnitude[l], other.exponent[l]);
            let swap = y_exponent > x_exponent;
            let (large, small) = if swap { (y, x) } else { (x, y) };
            let large_negative = if swap { other.negative[l] } else { self.negative[l] };
            let distance = (x_exponent - y_exponent).abs().min(63) as u32;
            let lost = small & ((1 << distance) - 1) != 0;
            let small = (small >> distance | u64::from(lost)) as i64;
            let differ = self.negative[l] ^ other.negative[l];
            let flip = differ as i32 as i64;
            let units = large as i64 + ((small ^ flip) - flip);
            let negative = large_negative ^ (units >> 63) as u32;
            sum.magnitude[l] = units.unsigned_abs();
            sum.exponent[l] = x_exponent.max(y_exponent);
            let zero_sign = if differ == 0 { large_negative } else { cancelled };
            sum.negative[l] = if units == 0 { zero_sign } else { negative };
            sum.void[l] = self.void[l] | other.void[l];
        }
        sum
    }

    /// Makes elements void.
    #[inline(always)]
    pub(super) fn spoil(&mut self, void: &Batch<u32>) {
        self.void.iter_mut().zip(void).for_each(|(own, void)| *own |= void);
    }
}

/// The magnitude with its leading bit at bit 60, and the exponent that goes with it; a zero's exponent is [`ZERO`].
#[inline(always)]
fn leading_at_60(magnitude: u64, exponent: i32) -> (u64, i32) {
    let left = (magnitude | 1).leading_zeros() as i32 - 3;
    (magnitude << (left & 63), if magnitude == 0 { ZERO } else { exponent - left })
}

/// A decoded code: `(-1)^negative * significand * 2^(exponent - fraction bits)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    pub(super) significand: u32,
    /// A mask.
    pub(super) negative: u32,
    /// Exponent of the significand's units digit; [`ZERO`] of a zero.
    pub(super) exponent: i32,
    /// Infinite or NaN.
    pub(super) special: bool,
}

/// How the codes of a format of at most 32 bits decode.
#[derive(Debug, Clone)]
pub(super) struct Decoder {
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
    /// The trailing bits that subnormal numbers keep.
    subnormal_mask: u32,
    /// Whether subnormal numbers lose their sign.
    unsigned_subnormals: bool,
    /// Bits after the binary point of significands.
    pub(super) fraction_bits: u32,
    /// Of significands.
    pub(super) precision: u32,
    /// The smallest exponent of the format that numbers are converted to.
    unpacked_emin: Option<i32>,
    emax: i32,
}

impl Decoder {
    /// `None` for formats that the kernel does not have: integers, those of more than 32 bits, those without subnormal
    /// numbers.
    pub(super) fn new(format: &Format, subnormals: Subnormals, unpack: Option<&'static Format>) -> Option<Decoder> {
        let f = supported(format)?;
        let unpacked = unpack.map(supported);
        let unpacked = match unpacked {
            Some(wider) => Some(wider?),
            None => None,
        };
        let sign_mask = if f.signed { 1 << (format.bits - 1) } else { 0 };
        let magnitude_mask = (1u64 << (format.bits - u32::from(f.signed))) as u32;
        let magnitude_mask = magnitude_mask.wrapping_sub(1);
        let trailing_mask = (1 << f.trailing_bits) - 1;
        let exponent_mask = (1 << f.exponent_bits) - 1;
        let all_ones = (exponent_mask << f.trailing_bits | trailing_mask) << f.padding_bits;
        let (special_mask, special_offset, special_low) = match f.specials {
            Specials::Ieee => (magnitude_mask, 0, exponent_mask << (f.trailing_bits + f.padding_bits)),
            Specials::AllOnesNan => (magnitude_mask, 0, all_ones),
            Specials::NegativeZeroNan => (magnitude_mask | sign_mask, sign_mask + 1, u32::MAX),
            Specials::None => (0, 0, 1),
        };
        let wide = unpacked.unwrap_or(f);
        Some(Decoder {
            padding_bits: f.padding_bits,
            trailing_bits: f.trailing_bits,
            trailing_mask,
            exponent_mask,
            sign_mask,
            emin: f.emin(),
            special_mask,
            special_offset,
            special_low,
            subnormal_mask: if subnormals == Subnormals::Keep { u32::MAX } else { 0 },
            unsigned_subnormals: subnormals == Subnormals::PositiveZero,
            fraction_bits: wide.trailing_bits,
            precision: wide.precision(),
            unpacked_emin: unpacked.map(Float::emin),
            emax: f.emax(),
        })
    }

    /// The smallest exponent.
    pub(super) fn lowest(&self) -> i32 {
        self.emin
    }

    /// Bits between the last bit of the smallest and the first of the largest number.
    pub(super) fn span(&self) -> u32 {
        (self.emax - self.emin) as u32 + self.precision
    }

    /// The datum of a code.
    #[inline(always)]
    pub(super) fn decode(&self, code: u32) -> Element {
        let special = (code & self.special_mask).wrapping_sub(self.special_offset) >= self.special_low;
        let fields = code >> self.padding_bits;
        let biased = fields >> self.trailing_bits & self.exponent_mask;
        let trailing = fields & self.trailing_mask;
        let subnormal = biased == 0;
        let significand = if subnormal { trailing & self.subnormal_mask } else { trailing | 1 << self.trailing_bits };
        let signed = !(subnormal && self.unsigned_subnormals && trailing != 0);
        let exponent = biased.max(1) as i32 - 1 + self.emin;
        Element {
            significand,
            negative: if code & self.sign_mask != 0 && signed { TRUE } else { 0 },
            exponent: if significand == 0 { ZERO } else { exponent },
            special,
        }
    }

    /// The datum as the format to unpack to has it, where there is one.
    #[inline(always)]
    pub(super) fn operand(&self, code: u32) -> Element {
        let element = self.decode(code);
        let Some(emin) = self.unpacked_emin else { return element };
        let Element { significand, exponent, .. } = element;
        let length = 32 - (significand | 1).leading_zeros() as i32;
        let quantum = exponent - self.trailing_bits as i32;
        let unpacked = (quantum + length - 1).max(emin);
        let left = (quantum - (unpacked - self.fraction_bits as i32)).clamp(0, 31);
        Element {
            significand: significand << left,
            exponent: if significand == 0 { ZERO } else { unpacked },
            ..element
        }
    }

    /// The numbers of codes.
    #[inline(always)]
    pub(super) fn numbers(&self, codes: &Batch<u32>) -> Number {
        let mut number = Number::ZERO;
        for l in 0..COUNT {
            let element = self.operand(codes[l]);
            number.magnitude[l] = element.significand.into();
            number.negative[l] = element.negative;
            number.exponent[l] = element.exponent - self.fraction_bits as i32;
            number.void[l] = if element.special { TRUE } else { 0 };
        }
        number
    }
}

/// The record of a format that the kernel has.
fn supported(format: &Format) -> Option<&Float> {
    format.float().filter(|f| format.bits <= 32 && f.subnormals && f.zeros != Zeros::None)
}

/// How numbers are rounded to a target.
#[derive(Debug, Clone)]
pub(super) struct Encoder {
    rounding: Rounding,
    trailing_bits: u32,
    padding_bits: u32,
    emin: i32,
    /// Exponent and trailing significand of the largest finite number.
    largest: u64,
    /// What becomes of numbers beyond, by sign.
    overflowed: [u32; 2],
    sign_bit: u32,
    /// The codes of zero results, by sign.
    zeros: [u32; 2],
    /// The codes that subnormal results become, by sign.
    flushed: Option<[u32; 2]>,
}

impl Encoder {
    /// `None` for formats that the kernel does not have; `subnormals`: what becomes of subnormal results.
    pub(super) fn new(target: &Target, subnormals: Subnormals) -> Option<Encoder> {
        let f = supported(target.format).filter(|f| f.signed)?;
        if subnormals == Subnormals::SignedZero && f.zeros != Zeros::Both {
            return None;
        }
        let negative_zero = target.format.zero(true)? as u32;
        let (biased, trailing) = f.largest_fields();
        let beyond = |negative| target.round(&Real::Finite(Finite::exact(negative, 1, 1 << 20))) as u32;
        Some(Encoder {
            rounding: target.rounding,
            trailing_bits: f.trailing_bits,
            padding_bits: f.padding_bits,
            emin: f.emin(),
            largest: biased << f.trailing_bits | trailing,
            overflowed: [beyond(false), beyond(true)],
            sign_bit: 1 << (target.format.bits - 1),
            zeros: [0, negative_zero],
            flushed: match subnormals {
                Subnormals::Keep => None,
                Subnormals::SignedZero => Some([0, negative_zero]),
                Subnormals::PositiveZero => Some([0, 0]),
            },
        })
    }

    /// This encoder with another rule for the sign of zero results: that of the number stays only where `zero` says so.
    pub(super) fn signing_zeros(mut self, zero: ZeroSign) -> Encoder {
        match zero {
            ZeroSign::Positive => self.zeros = [0, 0],
            ZeroSign::Negative => self.zeros = [self.zeros[1]; 2],
            ZeroSign::Ieee => {}
        }
        self
    }

    /// This encoder followed by the conversion of its codes from `from` to the format of `to`; `None` unless finite codes
    /// stay as they are.
    pub(super) fn then(&self, from: &Target, to: &Target) -> Option<Encoder> {
        let (f, t) = (from.format.float()?, to.format.float()?);
        let layout =
            |float: &Float| (float.exponent_bits, float.trailing_bits + float.padding_bits, float.bias, float.zeros);
        let same = from.format == to.format
            || layout(f) == layout(t) && t.specials == f.specials && t.trailing_bits >= f.trailing_bits;
        let convert = |code: u32| to.round(&from.format.value(code.into())) as u32;
        same.then(|| Encoder { overflowed: self.overflowed.map(convert), ..self.clone() })
    }

    /// The codes of numbers that are not void.
    #[inline(always)]
    pub(super) fn encode(&self, number: &Number) -> Batch<u32> {
        let mut codes = match self.rounding {
            Rounding::Rz | Rounding::Sr { .. } => self.round(number, |_, _, _, _| false),
            Rounding::Rne => {
                self.round(number, |_, odd, rest, half| (rest > half) | ((rest == half) & (half != 0) & odd))
            }
            Rounding::Rna => self.round(number, |_, _, rest, half| (rest >= half) & (half != 0)),
            Rounding::Ru => self.round(number, |negative, _, rest, _| (rest != 0) & (negative == 0)),
            Rounding::Rd => self.round(number, |negative, _, rest, _| (rest != 0) & (negative != 0)),
            Rounding::Ro => self.round(number, |_, odd, rest, _| (rest != 0) & !odd),
        };
        if let Some(flushed) = &self.flushed {
            for code in &mut codes {
                let fields = (*code & !self.sign_bit) >> self.padding_bits;
                let subnormal = fields != 0 && fields >> self.trailing_bits == 0;
                let zero = if *code & self.sign_bit != 0 { flushed[1] } else { flushed[0] };
                *code = if subnormal { zero } else { *code };
            }
        }
        codes
    }

    #[inline(always)]
    fn round(&self, number: &Number, rounds_up: impl Fn(u32, bool, u64, u64) -> bool) -> Batch<u32> {
        let mut codes = [0; COUNT];
        let trailing_bits = self.trailing_bits as i32;
        let smallest = self.emin - trailing_bits;
        let signs = self.zeros[0] ^ self.zeros[1];
        let beyond = self.overflowed[0] ^ self.overflowed[1];
        for l in 0..COUNT {
            let (magnitude, negative, exponent) = (number.magnitude[l], number.negative[l], number.exponent[l]);
            let leading = exponent + 63 - (magnitude | 1).leading_zeros() as i32;
            let quantum = (leading - trailing_bits).max(smallest);
            let right = (quantum - exponent).clamp(0, 63) as u32;
            let left = (exponent - quantum).clamp(0, 63) as u32;
            let kept = magnitude >> right;
            let rest = magnitude & ((1 << right) - 1);
            let up = rounds_up(negative, kept & 1 == 1, rest, (1 << right) >> 1);
            let significand = (kept + u64::from(up)) << left;
            // The leading bit of a normal significand adds one to the biased exponent.
            let fields = (((quantum - smallest) as i64 as u64) << trailing_bits).wrapping_add(significand);
            let fields = if magnitude == 0 { 0 } else { fields };
            let code = (fields as u32) << self.padding_bits | negative & self.sign_bit;
            let code = if fields == 0 { self.zeros[0] ^ negative & signs } else { code };
            let overflowed = self.overflowed[0] ^ negative & beyond;
            codes[l] = if fields > self.largest { overflowed } else { code };
        }
        codes
    }
}
