//! Encoding: numbers rounded to codes.

use std::ops::RangeInclusive;

use super::{
    decoder::supported,
    number::{INFINITY, MINUS_INFINITY, NAN, Number, leading_bit},
    word::PieceLanes,
};
use crate::{
    arithmetic::{Destination, OverflowTest, ResultTininess, Subnormals, ZeroSign},
    base::vectors::vectorised,
    format::{Finite, Float, Real, Rounding, Zeros},
    softfloat::ResultTarget,
};

/// A rounding, as masks of the increment of the dropped bits, so that a carry rounds up.
#[derive(Debug, Clone, Copy)]
struct Carries {
    /// Mask of all ones but the first.
    half: u32,
    /// Mask of the last kept bit, added with `one`.
    odd: u32,
    /// Mask of a constant one.
    one: u32,
    /// Mask of all ones, by sign.
    any: [u32; 2],
    /// Mask of the last kept bit, set without a carry.
    sticky: u32,
}

impl Carries {
    fn new(rounding: Rounding) -> Carries {
        let none = Carries { half: 0, odd: 0, one: 0, any: [0, 0], sticky: 0 };
        match rounding {
            Rounding::Rz | Rounding::Sr { .. } => none,
            Rounding::Rne => Carries { half: u32::MAX, odd: 1, ..none },
            Rounding::Rna => Carries { half: u32::MAX, one: 1, ..none },
            Rounding::Ru => Carries { any: [u32::MAX, 0], ..none },
            Rounding::Rd => Carries { any: [0, u32::MAX], ..none },
            Rounding::Ro => Carries { any: [u32::MAX; 2], sticky: 1, ..none },
        }
    }
}

/// Word of a magnitude.
pub(super) trait MagnitudeWord: Copy + Into<u64> {
    /// Codes of numbers, except infinities and NaN; `CUT` for a rounding that adds nothing.
    fn round<const CUT: bool>(encoder: &NumberEncoder, number: &Number<Self>, codes: &mut PieceLanes<u32>);
}

macro_rules! magnitude {
    ($word:ty, $signed:ty, $leading:expr) => {
        impl MagnitudeWord for $word {
            #[inline(always)]
            fn round<const CUT: bool>(encoder: &NumberEncoder, number: &Number<$word>, codes: &mut PieceLanes<u32>) {
                const LAST: i32 = <$word>::BITS as i32 - 1;
                // A copy, so that the loop keeps its fields in registers.
                let encoder = *encoder;
                let trailing_bits = encoder.trailing_bits as i32;
                let smallest = encoder.emin - trailing_bits;
                let signs = encoder.zeros[0] ^ encoder.zeros[1];
                let beyond = encoder.overflowed[0] ^ encoder.overflowed[1];
                let mask = |mask: u32| mask as i32 as $signed as $word;
                let Carries { half, odd, one, any: [any, minus], sticky } = encoder.carries;
                let (half, odd, one, sticky) = (mask(half), odd as $word, one as $word, sticky as $word);
                let largest = encoder.largest as $word;
                for (l, out) in codes.iter_mut().enumerate() {
                    let (magnitude, negative, exponent) = (number.magnitude[l], number.negative[l], number.exponent[l]);
                    let leading = exponent + $leading(magnitude);
                    let quantum = (leading - trailing_bits).max(smallest);
                    let distance = quantum - exponent;
                    let (right, left) = (distance.clamp(0, LAST) as u32, (-distance).clamp(0, LAST) as u32);
                    let kept = magnitude >> right;
                    let below: $word = (1 << right) - 1;
                    let carry: $word =
                        (below >> 1 & half) + (kept & odd | one) + (below & mask(any ^ negative & (any ^ minus)));
                    let carried = (magnitude & below).wrapping_add(carry) >> right & !(kept & sticky);
                    let significand = (kept + if !CUT && distance > 0 { carried } else { 0 }) << left;
                    // The leading bit of a normal significand adds one to the biased exponent.
                    let fields =
                        (((quantum - smallest) as $signed as $word) << trailing_bits).wrapping_add(significand);
                    let fields = if magnitude == 0 { 0 } else { fields };
                    let code = (fields as u32) << encoder.padding_bits | negative & encoder.sign_bit;
                    let code = if fields == 0 { encoder.zeros[0] ^ negative & signs } else { code };
                    let overflowed = encoder.overflowed[0] ^ negative & beyond;
                    *out = if fields > largest { overflowed } else { code };
                }
            }
        }
    };
}

magnitude!(u32, i32, leading_bit);
magnitude!(u64, i64, |magnitude: u64| 63 - (magnitude | 1).leading_zeros() as i32);

/// Constants that round numbers to a target.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberEncoder {
    rounding: Rounding,
    carries: Carries,
    trailing_bits: u32,
    padding_bits: u32,
    emin: i32,
    /// Exponent and trailing significand of the largest finite number.
    largest: u64,
    /// Codes of overflows, by sign.
    overflowed: [u32; 2],
    sign_bit: u32,
    /// Codes of plus and minus infinity and NaN.
    specials: [u32; 3],
    /// Codes of zero results, by sign.
    zeros: [u32; 2],
    /// Codes of flushed subnormal results, by sign.
    flushed: Option<[u32; 2]>,
    /// Definition of the subnormal results.
    tininess: ResultTininess,
}

impl NumberEncoder {
    /// `None` for formats that the kernel does not support.
    pub(super) fn new(to: &Destination) -> Option<NumberEncoder> {
        let Destination { target, subnormals, tininess, zero, .. } = to;
        let subnormals = *subnormals;
        // Without trailing bits, the exponent decides ties.
        let f = supported(target.format).filter(|f| f.signed && f.trailing_bits > 0)?;
        if subnormals == Subnormals::SignedZero && f.zeros != Zeros::Both {
            return None;
        }
        let negative_zero = target.format.zero(true)? as u32;
        let beyond = |negative| target.round(&Real::Finite(Finite::exact(negative, 1, 1 << 20))) as u32;
        Some(NumberEncoder {
            rounding: target.rounding,
            carries: Carries::new(target.rounding),
            trailing_bits: f.trailing_bits,
            padding_bits: f.padding_bits,
            emin: f.emin(),
            largest: f.largest_magnitude(),
            overflowed: [beyond(false), beyond(true)],
            specials: [Real::Infinity { negative: false }, Real::Infinity { negative: true }, Real::Nan]
                .map(|special| target.round(&special) as u32),
            sign_bit: 1 << (target.format.bits - 1),
            zeros: match zero {
                ZeroSign::Positive => [0, 0],
                ZeroSign::Negative => [negative_zero; 2],
                ZeroSign::Ieee | ZeroSign::ExactPositive | ZeroSign::Common => [0, negative_zero],
            },
            tininess: *tininess,
            flushed: match subnormals {
                Subnormals::Keep => None,
                Subnormals::SignedZero => Some([0, negative_zero]),
                Subnormals::PositiveZero => Some([0, 0]),
            },
        })
    }

    /// True if bits below the last one are dropped.
    fn cuts(&self) -> bool {
        matches!(self.rounding, Rounding::Rz | Rounding::Sr { .. })
    }

    /// Encoder of the last value to D, without flushing.
    pub(super) fn to_output(target: &ResultTarget) -> Option<NumberEncoder> {
        let (subnormals, tininess, zero) = (Subnormals::Keep, ResultTininess::After, ZeroSign::Ieee);
        let overflow_test = OverflowTest::Rounded;
        NumberEncoder::new(&Destination { target: *target, subnormals, tininess, overflow_test, zero })
    }

    /// True if it rounds, in 32 bits, sums of `bits` bits whose leading bit has an exponent in this range.
    pub(super) fn rounds_short(&self, bits: u32, exponents: RangeInclusive<i32>) -> bool {
        let (low, high) = exponents.into_inner();
        let smallest = self.emin - self.trailing_bits as i32;
        // The last bit of a sum may be dropped within the reach of a shift; further, half a unit exceeds the sum.
        let cut = bits <= u32::BITS - 2 || smallest - (low - bits as i32) < u32::BITS as i32;
        // Exponent and significand have to fit.
        let exponents = i64::from(high) - i64::from(self.emin) + 2;
        cut && exponents < 1 << (u32::BITS - self.trailing_bits)
    }

    /// Flushes tiny results, before rounding or after rounding with an unbounded exponent.
    #[cold]
    fn flush_tiny<M: MagnitudeWord>(&self, number: &Number<M>, flushed: [u32; 2], codes: &mut PieceLanes<u32>) {
        for (l, code) in codes.iter_mut().enumerate() {
            let (magnitude, exponent): (u64, i32) = (number.magnitude[l].into(), number.exponent[l]);
            if magnitude == 0 || number.special[l] != 0 {
                continue;
            }
            let leading = exponent + 63 - magnitude.leading_zeros() as i32;
            // A carry decides only the largest tiny numbers.
            let carries = leading == self.emin - 1 && self.tininess == ResultTininess::AfterUnbounded && {
                let units = Finite::exact(number.negative[l] != 0, magnitude.into(), exponent);
                let quantum = leading - self.trailing_bits as i32;
                units.round_to_quantum(quantum, self.rounding).0 >> (self.trailing_bits + 1) != 0
            };
            if leading + i32::from(carries) < self.emin {
                *code = flushed[usize::from(number.negative[l] != 0)];
            }
        }
    }

    /// This encoder followed by the conversion of its codes from `from` to the format of `to`.
    /// `None` unless finite codes stay the same.
    pub(super) fn then(&self, from: &ResultTarget, to: &ResultTarget) -> Option<NumberEncoder> {
        let (f, t) = (from.format.float()?, to.format.float()?);
        let layout =
            |float: &Float| (float.exponent_bits, float.trailing_bits + float.padding_bits, float.bias, float.zeros);
        let same = from.format == to.format
            || layout(f) == layout(t) && t.specials == f.specials && t.trailing_bits >= f.trailing_bits;
        let convert = |code: u32| to.round(&from.format.value(code.into())) as u32;
        same.then(|| NumberEncoder {
            overflowed: self.overflowed.map(convert),
            specials: self.specials.map(convert),
            ..*self
        })
    }

    /// Sets the codes of infinities and NaN.
    #[inline(always)]
    fn set_specials(&self, specials: &PieceLanes<u32>, codes: &mut PieceLanes<u32>) {
        let [infinity, minus_infinity, nan] = self.specials;
        for (code, special) in codes.iter_mut().zip(specials) {
            let sign = special & (INFINITY | MINUS_INFINITY);
            let infinite = if sign == INFINITY { infinity } else { minus_infinity };
            let is_nan = (special & NAN != 0) | (sign == INFINITY | MINUS_INFINITY);
            let special_code = if is_nan { nan } else { infinite };
            *code = if *special == 0 { *code } else { special_code };
        }
    }
}

vectorised! {
    /// Codes of numbers; invalid for unknown ones.
    pub(super) fn encode<M: MagnitudeWord>(encoder: &NumberEncoder, number: &Number<M>, codes: &mut PieceLanes<u32>) {
        if encoder.cuts() {
            M::round::<true>(encoder, number, codes);
        } else {
            M::round::<false>(encoder, number, codes);
        }
        let mut special = 0;
        for mark in &number.special {
            special |= mark;
        }
        if special != 0 {
            encoder.set_specials(&number.special, codes);
        }
        if let Some(flushed) = encoder.flushed.filter(|_| encoder.tininess != ResultTininess::After) {
            // A tiny number rounds to the smallest normal one at most.
            let mut tiny = false;
            for (code, magnitude) in codes.iter().zip(&number.magnitude) {
                let magnitude: u64 = (*magnitude).into();
                let fields = (code & !encoder.sign_bit) >> encoder.padding_bits;
                tiny |= (magnitude != 0) & (fields <= 1 << encoder.trailing_bits);
            }
            if tiny {
                encoder.flush_tiny(number, flushed, codes);
            }
        } else if let Some(flushed) = encoder.flushed {
            let encoder = *encoder;
            for code in codes.iter_mut() {
                let fields = (*code & !encoder.sign_bit) >> encoder.padding_bits;
                let subnormal = fields != 0 && fields >> encoder.trailing_bits == 0;
                let zero = if *code & encoder.sign_bit != 0 { flushed[1] } else { flushed[0] };
                *code = if subnormal { zero } else { *code };
            }
        }
    }
}
