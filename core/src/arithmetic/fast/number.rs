//! Numbers between two operations, many at a time.

use super::word::{LANES, PIECES, PieceLanes};
use crate::base::vectors::vectorised;

/// The exponent of zeros: below every other, and two of them may be added.
pub(super) const ZERO: i32 = -(1 << 20);

/// What is below every sum of exponents of non-zero factors, and above every one with a zero.
pub(super) const NONE: i32 = ZERO / 2;

/// Of a mask, that something holds.
pub(super) const TRUE: u32 = u32::MAX;

/// The mark of plus infinity.
pub(super) const INFINITY: u32 = 1;
/// Minus infinity; with plus infinity NaN.
pub(super) const MINUS_INFINITY: u32 = 2;
/// NaN.
pub(super) const NAN: u32 = 4;
/// Left to the reference evaluator.
pub(super) const UNKNOWN: u32 = 8;

/// Elements of a batch.
pub(super) const COUNT: usize = PIECES * LANES;

/// `(-1)^negative * magnitude * 2^exponent`, where a last bit of 1 may stand for a fraction. Magnitudes of 64 bits are below 2^62.
#[derive(Debug, Clone)]
pub(super) struct Number<M = u64> {
    pub(super) magnitude: PieceLanes<M>,
    /// Masks: [`TRUE`] or 0.
    pub(super) negative: PieceLanes<u32>,
    pub(super) exponent: PieceLanes<i32>,
    /// The marks of infinities and NaN; a sum has those of all of its terms.
    pub(super) special: PieceLanes<u32>,
}

/// A number whose magnitudes have 32 bits.
pub(super) type ShortNumber = Number<u32>;

impl<M> Number<M> {
    /// Adds the marks of infinities and NaN.
    pub(super) fn add_special(&mut self, special: &PieceLanes<u32>) {
        for (at, own) in self.special.iter_mut().enumerate() {
            *own |= special[at];
        }
    }

    /// Adds what is unknown in another number.
    pub(super) fn add_unknown<N>(&mut self, other: &Number<N>) {
        for (at, own) in self.special.iter_mut().enumerate() {
            *own |= other.special[at] & UNKNOWN;
        }
    }
}

impl Number {
    /// Exact zeros.
    pub(super) const ZERO: Number =
        Number { magnitude: [0; COUNT], negative: [0; COUNT], exponent: [ZERO; COUNT], special: [0; COUNT] };

    /// The same number.
    pub(super) fn widen(&mut self, short: &ShortNumber) {
        self.magnitude = short.magnitude.map(u64::from);
        (self.negative, self.exponent, self.special) = (short.negative, short.exponent, short.special);
    }
}

impl<M: Copy + Default> Default for Number<M> {
    fn default() -> Number<M> {
        Number { magnitude: [M::default(); COUNT], negative: [0; COUNT], exponent: [ZERO; COUNT], special: [0; COUNT] }
    }
}

/// A magnitude's word, in which numbers are added.
pub(super) trait SumWord: Copy {
    /// Bits that the numbers may have.
    const PRECISION: u32;
    /// Bits that their sum may have.
    const BITS: u32;

    /// The sum of two numbers, each a magnitude, the mask of its sign and its exponent; `cancelled` is the sign of zeros whose terms
    /// differ in theirs. A last bit of 1 may stand for a fraction.
    fn sum(x: (u64, u32, i32), y: (u64, u32, i32), cancelled: u32) -> (Self, u32, i32);
}

macro_rules! sum_word {
    ($word:ty, $signed:ty, $spare:expr, $leading:expr) => {
        impl SumWord for $word {
            const PRECISION: u32 = <Self as SumWord>::BITS - $spare;
            const BITS: u32 = <$word>::BITS - 2;

            #[inline(always)]
            fn sum(x: (u64, u32, i32), y: (u64, u32, i32), cancelled: u32) -> ($word, u32, i32) {
                // Leading bits are brought to one place; a zero's exponent is `ZERO`.
                let led = |(magnitude, _, exponent): (u64, u32, i32)| {
                    let magnitude = magnitude as $word;
                    let left = (<Self as SumWord>::BITS as i32 - 2) - $leading(magnitude);
                    (
                        magnitude << (left as u32 & (<$word>::BITS - 1)),
                        if magnitude == 0 { ZERO } else { exponent - left },
                    )
                };
                let ((p, p_exponent), (q, q_exponent)) = (led(x), led(y));
                let swap = q_exponent > p_exponent;
                let (large, small) = if swap { (q, p) } else { (p, q) };
                let large_negative = if swap { y.1 } else { x.1 };
                let distance = (p_exponent - q_exponent).abs().min(<$word>::BITS as i32 - 1) as u32;
                let lost = small & ((1 << distance) - 1) != 0;
                let small = (small >> distance | <$word>::from(lost)) as $signed;
                let differ = x.1 ^ y.1;
                let flip = differ as i32 as $signed;
                let units = large as $signed + ((small ^ flip) - flip);
                let negative = large_negative ^ (units >> (<$word>::BITS - 1)) as u32;
                let zero_sign = if differ == 0 { large_negative } else { cancelled };
                (units.unsigned_abs(), if units == 0 { zero_sign } else { negative }, p_exponent.max(q_exponent))
            }
        }
    };
}

// A sum has a bit before those of its terms. Below them some are spare: what the smaller term loses sets the last, which must
// stay below the bits that a rounding looks at, also after a subtraction.
sum_word!(u32, i32, 5, leading_bit);
sum_word!(u64, i64, 6, |magnitude: u64| 63 - (magnitude | 1).leading_zeros() as i32);

/// The leading bit of a number, of zero the last: by a conversion to binary32, for which there are vector instructions everywhere.
#[inline(always)]
pub(super) fn leading_bit(magnitude: u32) -> i32 {
    let half = magnitude >> 1;
    // Without the bits that the conversion might round up.
    let field = ((half & !(half >> 1)) as i32 as f32).to_bits() >> 23;
    (field as i32 - 126).max(0)
}

vectorised! {
    /// The sum of two numbers; a last bit of 1 may stand for a fraction. Both are exact, of at most [`SumWord::PRECISION`] bits;
    /// `negative_zero`: whether numbers that cancel give -0.
    pub(super) fn add<M: SumWord>(x: &Number, y: &Number, negative_zero: bool, sum: &mut Number<M>) {
        let cancelled = if negative_zero { TRUE } else { 0 };
        for l in 0..COUNT {
            let term = |of: &Number| (of.magnitude[l], of.negative[l], of.exponent[l]);
            (sum.magnitude[l], sum.negative[l], sum.exponent[l]) = M::sum(term(x), term(y), cancelled);
            sum.special[l] = x.special[l] | y.special[l];
        }
    }
}
