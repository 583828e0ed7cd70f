//! Numbers between two operations, and the codes that hold them: decoding, addition, rounding, many at a time.

use super::word::{Batch, LANES, PIECES};
use crate::{
    arithmetic::{Subnormals, ZeroSign},
    format::{Encoding, Finite, Float, Format, Real, Rounding, Specials, Zeros},
    softfloat::Target,
};

/// The exponent of zeros: below every other, and two of them may be added.
pub(super) const ZERO: i32 = -(1 << 20);

/// What is below every sum of exponents of non-zero factors, and above every one with a zero.
pub(super) const NONE: i32 = ZERO / 2;

/// Of a mask, that something holds.
pub(super) const TRUE: u32 = u32::MAX;

/// Of what is not finite: plus infinity.
pub(super) const INFINITY: u32 = 1;
/// Minus infinity; with plus infinity NaN.
pub(super) const MINUS_INFINITY: u32 = 2;
/// NaN.
pub(super) const NAN: u32 = 4;
/// Left to the reference evaluator.
pub(super) const UNKNOWN: u32 = 8;

/// Elements of a batch.
pub(super) const COUNT: usize = PIECES * LANES;

/// `(-1)^negative * magnitude * 2^exponent`, where a last bit of 1 may stand for a fraction. Magnitudes have at most 62 bits.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) magnitude: Batch<u64>,
    /// Masks: [`TRUE`] or 0.
    pub(super) negative: Batch<u32>,
    pub(super) exponent: Batch<i32>,
    /// What it is in truth if it is not finite: bits, of which a sum has those of its terms.
    pub(super) special: Batch<u32>,
}

impl Number {
    /// Exact zeros.
    pub(super) const ZERO: Number =
        Number { magnitude: [0; COUNT], negative: [0; COUNT], exponent: [ZERO; COUNT], special: [0; COUNT] };

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
            sum.special[l] = self.special[l] | other.special[l];
        }
        sum
    }

    /// Adds what is not finite.
    #[inline(always)]
    pub(super) fn add_special(&mut self, special: &Batch<u32>) {
        for (own, special) in self.special.iter_mut().zip(special) {
            *own |= special;
        }
    }

    /// Adds what is unknown in another number.
    #[inline(always)]
    pub(super) fn add_unknown(&mut self, other: &Number) {
        for (own, special) in self.special.iter_mut().zip(&other.special) {
            *own |= special & UNKNOWN;
        }
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
    /// [`INFINITY`] (of either sign), [`NAN`] or 0.
    pub(super) special: u32,
}

/// How the codes of a format of at most 32 bits decode.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decoder {
    /// Of an integer format, the unused bits of 32, and whether codes have a sign.
    integer: Option<(u32, bool)>,
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
    /// And infinite if it is this.
    infinity: u32,
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
    /// `None` for formats that the kernel does not have: those of more than 32 bits, those without subnormal numbers.
    pub(super) fn new(format: &Format, subnormals: Subnormals, unpack: Option<&'static Format>) -> Option<Decoder> {
        if let Encoding::Integer { signed } = format.encoding {
            return (format.bits <= 32)
                .then(|| Decoder { integer: Some((32 - format.bits, signed)), ..Decoder::default() });
        }
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
        let kept = magnitude_mask & !((1 << f.padding_bits) - 1);
        let top = exponent_mask << (f.trailing_bits + f.padding_bits);
        let (special_mask, special_offset, special_low, infinity) = match f.specials {
            Specials::Ieee => (kept, 0, top, top),
            Specials::AllOnesNan => (kept, 0, all_ones, u32::MAX),
            // Of 8 bits: 2^30 is out of reach.
            Specials::NegativeZeroNan => (magnitude_mask | sign_mask, sign_mask + 1, u32::MAX, 1 << 30),
            Specials::None => (0, 0, 1, u32::MAX),
        };
        let wide = unpacked.unwrap_or(f);
        Some(Decoder {
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
        let key = (code & self.special_mask).wrapping_sub(self.special_offset);
        let special = if key >= self.special_low { NAN } else { 0 };
        let special = if key == self.infinity { INFINITY } else { special };
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

    /// Calls `each` with the place and the datum of every code: one plain loop for every kind of format.
    #[inline(always)]
    pub(super) fn operands(&self, codes: &[u32], mut each: impl FnMut(usize, Element)) {
        // A copy: what a loop reads of it stays in registers.
        let own = *self;
        // Loops and not calls of for_each: those would not be compiled for the instruction set of the caller.
        match (self.integer, self.unpacked_emin) {
            (Some((unused, true)), _) => {
                for (at, code) in codes.iter().enumerate() {
                    each(at, integer(*code, unused, true));
                }
            }
            (Some((unused, false)), _) => {
                for (at, code) in codes.iter().enumerate() {
                    each(at, integer(*code, unused, false));
                }
            }
            (None, Some(emin)) => {
                for (at, code) in codes.iter().enumerate() {
                    each(at, own.unpacked(*code, emin));
                }
            }
            (None, None) => {
                for (at, code) in codes.iter().enumerate() {
                    each(at, own.decode(*code));
                }
            }
        }
    }

    /// The datum as a format with this smallest exponent has it.
    #[inline(always)]
    fn unpacked(&self, code: u32, emin: i32) -> Element {
        let element = self.decode(code);
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
        self.operands(codes, |at, element| {
            number.magnitude[at] = element.significand.into();
            number.negative[at] = element.negative;
            number.exponent[at] = element.exponent - self.fraction_bits as i32;
            let infinite = element.special == INFINITY;
            number.special[at] = element.special + u32::from(infinite & (element.negative != 0));
        });
        number
    }
}

/// An integer of which some upper bits of 32 are unused.
#[inline(always)]
fn integer(code: u32, unused: u32, signed: bool) -> Element {
    let aligned = code << unused;
    let negative = if signed { (aligned as i32 >> 31) as u32 } else { 0 };
    let value = if signed { (aligned as i32 >> unused) as u32 } else { aligned >> unused };
    Element { significand: (value ^ negative).wrapping_sub(negative), negative, exponent: 0, special: 0 }
}

/// The record of a format that the kernel has.
fn supported(format: &Format) -> Option<&Float> {
    format.float().filter(|f| format.bits <= 32 && f.subnormals && f.zeros != Zeros::None)
}

/// How numbers are rounded to a target.
#[derive(Debug, Clone, Copy)]
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
    /// The codes of plus and minus infinity and NaN.
    specials: [u32; 3],
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
            specials: [Real::Infinity { negative: false }, Real::Infinity { negative: true }, Real::Nan]
                .map(|special| target.round(&special) as u32),
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
        same.then(|| Encoder {
            overflowed: self.overflowed.map(convert),
            specials: self.specials.map(convert),
            ..*self
        })
    }

    /// The codes of numbers; those of unknown ones are void.
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
        let mut special = 0;
        for own in &number.special {
            special |= own;
        }
        if special != 0 {
            self.set_specials(&number.special, &mut codes);
        }
        if let Some(flushed) = self.flushed {
            let own = *self;
            for code in &mut codes {
                let fields = (*code & !own.sign_bit) >> own.padding_bits;
                let subnormal = fields != 0 && fields >> own.trailing_bits == 0;
                let zero = if *code & own.sign_bit != 0 { flushed[1] } else { flushed[0] };
                *code = if subnormal { zero } else { *code };
            }
        }
        codes
    }

    /// Sets the codes of what is not finite.
    #[inline(always)]
    fn set_specials(&self, specials: &Batch<u32>, codes: &mut Batch<u32>) {
        let [infinity, minus_infinity, nan] = self.specials;
        for (code, special) in codes.iter_mut().zip(specials) {
            let sign = special & (INFINITY | MINUS_INFINITY);
            let infinite = if sign == INFINITY { infinity } else { minus_infinity };
            let is_nan = (special & NAN != 0) | (sign == INFINITY | MINUS_INFINITY);
            let own = if is_nan { nan } else { infinite };
            *code = if *special == 0 { *code } else { own };
        }
    }

    #[inline(always)]
    fn round(&self, number: &Number, rounds_up: impl Fn(u32, bool, u64, u64) -> bool) -> Batch<u32> {
        let mut codes = [0; COUNT];
        // A copy: what the loop reads of it stays in registers.
        let own = *self;
        let trailing_bits = own.trailing_bits as i32;
        let smallest = own.emin - trailing_bits;
        let signs = own.zeros[0] ^ own.zeros[1];
        let beyond = own.overflowed[0] ^ own.overflowed[1];
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
            let code = (fields as u32) << own.padding_bits | negative & own.sign_bit;
            let code = if fields == 0 { own.zeros[0] ^ negative & signs } else { code };
            let overflowed = own.overflowed[0] ^ negative & beyond;
            codes[l] = if fields > own.largest { overflowed } else { code };
        }
        codes
    }
}
