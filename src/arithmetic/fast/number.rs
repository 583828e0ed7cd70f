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

/// The magnitude with its leading bit at bit 60, and the exponent that goes with it; a zero's exponent is [`ZERO`].
#[inline(always)]
fn leading_at_60(magnitude: u64, exponent: i32) -> (u64, i32) {
    let left = (magnitude | 1).leading_zeros() as i32 - 3;
    (magnitude << (left & 63), if magnitude == 0 { ZERO } else { exponent - left })
}

vectorised! {
    /// The sum of two numbers; a last bit of 1 may stand for a fraction. Both are exact, of at most 56 bits;
    /// `negative_zero`: whether numbers that cancel give -0.
    pub(super) fn add(x: &Number, y: &Number, negative_zero: bool, sum: &mut Number) {
        let cancelled = if negative_zero { TRUE } else { 0 };
        for l in 0..COUNT {
            let (p, p_exponent) = leading_at_60(x.magnitude[l], x.exponent[l]);
            let (q, q_exponent) = leading_at_60(y.magnitude[l], y.exponent[l]);
            let swap = q_exponent > p_exponent;
            let (large, small) = if swap { (q, p) } else { (p, q) };
            let large_negative = if swap { y.negative[l] } else { x.negative[l] };
            let distance = (p_exponent - q_exponent).abs().min(63) as u32;
            let lost = small & ((1 << distance) - 1) != 0;
            let small = (small >> distance | u64::from(lost)) as i64;
            let differ = x.negative[l] ^ y.negative[l];
            let flip = differ as i32 as i64;
            let units = large as i64 + ((small ^ flip) - flip);
            let negative = large_negative ^ (units >> 63) as u32;
            sum.magnitude[l] = units.unsigned_abs();
            sum.exponent[l] = p_exponent.max(q_exponent);
            let zero_sign = if differ == 0 { large_negative } else { cancelled };
            sum.negative[l] = if units == 0 { zero_sign } else { negative };
            sum.special[l] = x.special[l] | y.special[l];
        }
    }
}
