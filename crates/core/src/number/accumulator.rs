//! Fixed-point accumulator wide enough to add every term exactly (Kulisch).

use super::Finite;

const LIMB: usize = u64::BITS as usize;

/// Limbs that one addition writes before carries: a 128-bit significand shifted by up to 63 bits.
const SPAN: usize = 3;

/// Bits kept above the largest term where the number of terms is unknown.
const CARRY_BITS: i32 = 64;

/// Exact sum of terms `(-1)^negative * significand * 2^exponent`; it never rounds.
///
/// It is a two's complement integer of fixed width in units of `2^lowest`. Nothing is allocated after construction;
/// [`clear`](Accumulator::clear) makes it zero again. Source: Kulisch, *Computer Arithmetic and Validity* (2008),
/// chapter 8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accumulator {
    /// The integer, least significant limb first.
    limbs: Vec<u64>,
    /// Weight of the integer's last bit, as a power of two.
    lowest: i32,
}

impl Accumulator {
    /// Accumulator of zero for fewer than `2^63` terms.
    /// Terms are multiples of `2^lowest_exponent` and smaller in magnitude than `2^highest_exponent`.
    ///
    /// # Panics
    /// If `lowest_exponent > highest_exponent`.
    pub(crate) fn new(lowest_exponent: i32, highest_exponent: i32) -> Self {
        Self::with_carry_bits(lowest_exponent, highest_exponent, CARRY_BITS)
    }

    /// Accumulator with `carry` bits above `2^highest`, for the number of terms and the sign.
    pub(crate) fn with_carry_bits(lowest: i32, highest: i32, carry: i32) -> Self {
        assert!(lowest <= highest, "the exponents {lowest}..{highest} of an accumulator are in descending order");
        let limbs = (highest - lowest + carry) as usize / LIMB + 1;
        Accumulator { limbs: vec![0; limbs + SPAN - 1], lowest }
    }

    /// Width of the integer in bits.
    #[cfg(test)]
    pub(crate) fn width(&self) -> usize {
        (self.limbs.len() + 1 - SPAN) * LIMB
    }

    /// Makes the sum zero.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.limbs.fill(0);
    }

    /// Adds the significand of a number; the sticky bit is ignored.
    ///
    /// # Panics
    /// Like [`Accumulator::add`].
    #[inline]
    pub(crate) fn add_finite(&mut self, number: &Finite) {
        self.add(number.negative, number.significand, number.exponent);
    }

    /// Adds `(-1)^negative * significand * 2^exponent`.
    ///
    /// # Panics
    /// If the term lies outside the range of the accumulator. (Zero bits of a significand may lie below the lowest
    /// exponent.)
    #[inline]
    pub(crate) fn add(&mut self, negative: bool, significand: u128, exponent: i32) {
        if significand == 0 {
            return;
        }
        let (significand, exponent) =
            if exponent < self.lowest { self.raise(significand, exponent) } else { (significand, exponent) };
        let offset = (exponent - self.lowest) as usize;
        let shift = offset % LIMB;
        let low = significand << shift;
        let words = [low as u64, (low >> LIMB) as u64, (significand >> 1 >> (127 - shift)) as u64];
        // Subtraction adds the complement and one: signs are random, so a branch would be mispredicted.
        let mask = if negative { u64::MAX } else { 0 };
        let mut carry = negative;
        let (limbs, above) = self.limbs[offset / LIMB..].split_at_mut(SPAN);
        for (limb, word) in limbs.iter_mut().zip(words) {
            let (sum, first) = limb.overflowing_add(word ^ mask);
            let (sum, second) = sum.overflowing_add(carry.into());
            (*limb, carry) = (sum, first | second);
        }
        // The complement is all ones above, which a carry leaves unchanged.
        let mut above = above.iter_mut();
        while let (true, Some(limb)) = (carry != negative, above.next()) {
            (*limb, carry) = limb.overflowing_add(mask | 1);
        }
    }

    /// The same term with the lowest exponent.
    #[cold]
    fn raise(&self, significand: u128, exponent: i32) -> (u128, i32) {
        let below = exponent.abs_diff(self.lowest);
        assert!(
            significand.trailing_zeros() >= below,
            "a term of quantum 2^{exponent} reaches below the last bit, 2^{}, of its accumulator",
            self.lowest
        );
        (significand >> below, self.lowest)
    }

    /// True if the sum is below zero.
    #[inline]
    pub(crate) fn is_negative(&self) -> bool {
        self.limbs.last().is_some_and(|limb| limb >> (LIMB - 1) == 1)
    }

    /// The sum as sign and leading 128 bits, sticky if anything non-zero follows; zero is +0.
    ///
    /// [`Format::encode`](crate::format::Format::encode) rounds it correctly to every format of this crate under every
    /// rounding, stochastic rounding with 64 bits included.
    pub(crate) fn to_finite(&self) -> Finite {
        let negative = self.is_negative();
        let Some(last) = self.limbs.iter().position(|limb| *limb != 0) else { return Finite::zero(false) };
        // Negation keeps the zeros below the last limb in use, negates that limb and flips all limbs above.
        let magnitude = |index: usize| match self.limbs[index] {
            limb if !negative || index < last => limb,
            limb if index == last => limb.wrapping_neg(),
            limb => !limb,
        };
        let top = (last..self.limbs.len()).rev().find(|index| magnitude(*index) != 0).unwrap_or(last);
        let down = |steps: usize| top.checked_sub(steps).map_or(0, magnitude);
        let (first, third) = (down(0), down(2));
        let zeros = first.leading_zeros();
        let leading = u128::from(first) << LIMB | u128::from(down(1));
        Finite {
            negative,
            significand: leading << zeros | u128::from(third) >> (LIMB as u32 - zeros),
            exponent: self.lowest + (top * LIMB) as i32 - LIMB as i32 - zeros as i32,
            sticky: third << zeros != 0 || last + 2 < top,
        }
    }

    /// Largest integer that does not exceed the sum, modulo `2^64`.
    pub(crate) fn floor_modulo(&self) -> u64 {
        let fill = if self.is_negative() { u64::MAX } else { 0 };
        let limb = |index: usize| u128::from(self.limbs.get(index).copied().unwrap_or(fill));
        if self.lowest > 0 {
            return self.limbs[0].checked_shl(self.lowest.unsigned_abs()).unwrap_or(0);
        }
        let offset = self.lowest.unsigned_abs() as usize;
        ((limb(offset / LIMB) | limb(offset / LIMB + 1) << LIMB) >> (offset % LIMB)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value of a narrow accumulator, by plain 128-bit arithmetic: all limbs above hold the sign.
    fn narrow(accumulator: &Accumulator) -> i128 {
        let [low, high, above @ ..] = accumulator.limbs.as_slice() else { panic!("two limbs at least") };
        assert!(above.iter().all(|limb| *limb == ((*high as i64) >> 63) as u64));
        i128::from(*high as i64) << 64 | i128::from(*low)
    }

    #[test]
    fn sums_agree_with_128_bit_integers() {
        let mut accumulator = Accumulator::new(-20, 40);
        let (mut expected, mut state) = (0i128, 1u64);
        for step in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (significand, shift) = (u128::from(state >> 40), (state % 37) as i32);
            let negative = if step % 1000 < 500 { state >> 39 & 1 == 1 } else { expected > 0 };
            accumulator.add(negative, significand, shift - 20);
            let term = (significand << shift) as i128;
            expected += if negative { -term } else { term };
            assert_eq!(narrow(&accumulator), expected);
            assert_eq!(accumulator.is_negative(), expected < 0);
            assert_eq!(accumulator.floor_modulo(), (expected >> 20) as u64);
            let finite = accumulator.to_finite();
            assert!(!finite.sticky);
            let zeros = expected.unsigned_abs().leading_zeros();
            if expected != 0 {
                assert_eq!(finite.significand, expected.unsigned_abs() << zeros);
                assert_eq!((finite.negative, finite.exponent), (expected < 0, -20 - zeros as i32));
            }
        }
    }

    #[test]
    fn terms_cancel_to_zero_in_any_order() {
        let mut accumulator = Accumulator::new(-2148, 2048);
        let terms: Vec<(u128, i32)> = (-2148i32..1920).map(|e| (u128::MAX / 3 + e.unsigned_abs() as u128, e)).collect();
        terms.iter().for_each(|(significand, exponent)| accumulator.add(true, *significand, *exponent));
        assert!(accumulator.is_negative() && !accumulator.to_finite().is_zero());
        terms.iter().rev().for_each(|(significand, exponent)| accumulator.add(false, *significand, *exponent));
        assert!(accumulator.to_finite().is_zero() && !accumulator.is_negative());
        assert_eq!(accumulator.to_finite(), Finite::zero(false));
    }

    #[test]
    fn what_lies_below_128_bits_is_sticky() {
        for gap in 0..400 {
            for negative in [false, true] {
                let mut accumulator = Accumulator::new(-300, 200);
                accumulator.add(negative, 1, 110);
                accumulator.add(negative, 1, 110 - gap);
                let finite = accumulator.to_finite();
                let (significand, exponent) = match gap {
                    0 => (1 << 127, -16),
                    1..=127 => (1 << 127 | 1 << (127 - gap), -17),
                    _ => (1 << 127, -17),
                };
                assert_eq!(finite, Finite { negative, significand, exponent, sticky: gap > 127 }, "gap {gap}");
                // The opposite sign: all ones from the leading bit down to the gap.
                accumulator.clear();
                accumulator.add(negative, 1, 110);
                accumulator.add(!negative, 1, 110 - gap);
                let finite = accumulator.to_finite();
                let ones = match gap {
                    0 => 0,
                    1..=128 => u128::MAX << (128 - gap),
                    _ => u128::MAX,
                };
                assert_eq!((finite.significand, finite.sticky), (ones, gap > 128), "gap {gap}");
                assert_eq!(finite.negative, negative && gap > 0);
            }
        }
    }

    #[test]
    fn significands_may_reach_below_with_zeros_only() {
        let mut accumulator = Accumulator::new(0, 32);
        accumulator.add(false, 40, -3);
        assert_eq!(accumulator.floor_modulo(), 5);
        let below = std::panic::catch_unwind(move || accumulator.add(false, 41, -3));
        assert!(below.is_err());
    }

    #[test]
    fn floors_are_found_on_either_side_of_the_lowest_exponent() {
        for (lowest, exponent, expected) in [(3, 4, 48), (70, 70, 0), (-64, -1, 1), (-200, -1, 1), (-200, 0, 3)] {
            let mut accumulator = Accumulator::new(lowest, 100);
            accumulator.add(false, 3, exponent);
            assert_eq!(accumulator.floor_modulo(), expected);
            accumulator.clear();
            accumulator.add(true, 3, exponent);
            let negated = if exponent == -1 { -2 } else { -(expected as i64) };
            assert_eq!(accumulator.floor_modulo(), negated as u64);
        }
    }
}
