//! Numbers between two operations, many at a time.

use super::word::{LANES, PIECES, PieceLanes};
use crate::base::vectors::vectorised;

/// Exponent of zeros: below every other one, even after the addition of two.
pub(super) const ZERO: i32 = -(1 << 20);

/// Bound between sums of exponents of non-zero factors (above) and those with a zero (below).
pub(super) const NONE: i32 = ZERO / 2;

/// Mask for true.
pub(super) const TRUE: u32 = u32::MAX;

/// Mark of plus infinity.
pub(super) const INFINITY: u32 = 1;
/// Mark of minus infinity; together with plus infinity, NaN.
pub(super) const MINUS_INFINITY: u32 = 2;
/// Mark of NaN.
pub(super) const NAN: u32 = 4;
/// Mark of an element left to the reference evaluator.
pub(super) const UNKNOWN: u32 = 8;

/// Elements of a batch.
pub(super) const COUNT: usize = PIECES * LANES;

/// Numbers `(-1)^negative * magnitude * 2^exponent`; a last bit of 1 may stand for a fraction.
/// Magnitudes of 64 bits are below 2^62.
#[derive(Debug, Clone)]
pub(super) struct Number<M = u64> {
    pub(super) magnitude: PieceLanes<M>,
    /// Masks: [`TRUE`] or 0.
    pub(super) negative: PieceLanes<u32>,
    pub(super) exponent: PieceLanes<i32>,
    /// Marks of infinities and NaN; a sum has the marks of all its terms.
    pub(super) special: PieceLanes<u32>,
}

/// Number with magnitudes of 32 bits.
pub(super) type ShortNumber = Number<u32>;

impl<M> Number<M> {
    pub(super) fn add_special(&mut self, special: &PieceLanes<u32>) {
        for (at, mark) in self.special.iter_mut().enumerate() {
            *mark |= special[at];
        }
    }

    /// Adds the unknown marks of another number.
    pub(super) fn add_unknown<N>(&mut self, other: &Number<N>) {
        for (at, mark) in self.special.iter_mut().enumerate() {
            *mark |= other.special[at] & UNKNOWN;
        }
    }
}

impl Number {
    pub(super) const ZERO: Number =
        Number { magnitude: [0; COUNT], negative: [0; COUNT], exponent: [ZERO; COUNT], special: [0; COUNT] };

    /// Widens the magnitudes to 64 bits.
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

/// A term of a sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SumTerm {
    pub(super) magnitude: u64,
    /// Mask of the sign.
    pub(super) negative: u32,
    pub(super) exponent: i32,
}

/// Word of magnitudes, in which numbers are added.
pub(super) trait SumWord: Copy {
    /// Most bits of the numbers.
    const PRECISION: u32;
    /// Most bits of their sum.
    const BITS: u32;

    /// Sum of two numbers, as its magnitude, the mask of its sign and its exponent.
    /// `cancelled` is the sign of zeros whose terms differ in theirs. A last bit of 1 may stand for a fraction.
    fn sum(x: SumTerm, y: SumTerm, cancelled: u32) -> (Self, u32, i32);
}

macro_rules! sum_word {
    ($word:ty, $signed:ty, $spare:expr, $leading:expr) => {
        impl SumWord for $word {
            const PRECISION: u32 = <Self as SumWord>::BITS - $spare;
            const BITS: u32 = <$word>::BITS - 2;

            #[inline(always)]
            fn sum(x: SumTerm, y: SumTerm, cancelled: u32) -> ($word, u32, i32) {
                // Aligns leading bits; a zero's exponent is `ZERO`.
                let led = |SumTerm { magnitude, exponent, .. }: SumTerm| {
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
                let large_negative = if swap { y.negative } else { x.negative };
                let distance = (p_exponent - q_exponent).abs().min(<$word>::BITS as i32 - 1) as u32;
                let lost = small & ((1 << distance) - 1) != 0;
                let small = (small >> distance | <$word>::from(lost)) as $signed;
                let differ = x.negative ^ y.negative;
                let flip = differ as i32 as $signed;
                let units = large as $signed + ((small ^ flip) - flip);
                let negative = large_negative ^ (units >> (<$word>::BITS - 1)) as u32;
                let zero_sign = if differ == 0 { large_negative } else { cancelled };
                (units.unsigned_abs(), if units == 0 { zero_sign } else { negative }, p_exponent.max(q_exponent))
            }
        }
    };
}

// A sum has one bit above those of its terms. Spare bits below them hold the jammed rest of the smaller term, which
// must stay below the bits that a rounding uses, also after a subtraction.
sum_word!(u32, i32, 5, leading_bit);
sum_word!(u64, i64, 6, |magnitude: u64| 63 - (magnitude | 1).leading_zeros() as i32);

/// Leading bit of a number; 0 for zero. Conversion to binary32 has vector instructions everywhere.
#[inline(always)]
pub(super) fn leading_bit(magnitude: u32) -> i32 {
    let half = magnitude >> 1;
    // Clears the bits that the conversion might round up.
    let field = ((half & !(half >> 1)) as i32 as f32).to_bits() >> 23;
    (field as i32 - 126).max(0)
}

vectorised! {
    /// Sum of two exact numbers of at most [`SumWord::PRECISION`] bits.
    /// Cancelling numbers give -0 if `negative_zero`. A last bit of 1 may stand for a fraction.
    pub(super) fn add<M: SumWord>(x: &Number, y: &Number, negative_zero: bool, sum: &mut Number<M>) {
        let cancelled = if negative_zero { TRUE } else { 0 };
        for l in 0..COUNT {
            let term = |of: &Number| SumTerm {
                magnitude: of.magnitude[l],
                negative: of.negative[l],
                exponent: of.exponent[l],
            };
            (sum.magnitude[l], sum.negative[l], sum.exponent[l]) = M::sum(term(x), term(y), cancelled);
            sum.special[l] = x.special[l] | y.special[l];
        }
    }
}
