//! Operations on finite numbers: exact, or exact up to a sticky bit far below any format's precision.

use std::cmp::Ordering;

use super::{Accumulator, Finite};

impl Finite {
    /// `self * other`, exactly.
    /// Both are exact, with at most 128 bits of significand in total (see [`Finite::odd`]).
    pub fn times(&self, other: &Finite) -> Finite {
        debug_assert!(!self.sticky && !other.sticky, "products of exact numbers");
        Finite::exact(
            self.negative != other.negative,
            self.significand * other.significand,
            self.exponent + other.exponent,
        )
    }

    /// `self + other`: exact, or sticky with at least 100 significant bits.
    /// Operands have at most 110 bits. A zero operand leaves the other one unchanged. Operands that cancel give +0; the
    /// caller applies the rule for signs of zero.
    pub fn plus(&self, other: &Finite) -> Finite {
        debug_assert!(!self.sticky && !other.sticky, "sums of exact numbers");
        let (Some(x_leading), Some(y_leading)) = (self.leading_exponent(), other.leading_exponent()) else {
            return if self.significand == 0 { *other } else { *self };
        };
        let (large, small) = if x_leading >= y_leading { (self, other) } else { (other, self) };
        // The larger operand's leading bit goes to bit 125, below a carry and a sign.
        let quantum = x_leading.max(y_leading) - 125;
        let large_units = (large.significand << (large.exponent - quantum)) as i128;
        let shift = small.exponent - quantum;
        let (small_units, lost) = if shift >= 0 {
            (small.significand << shift, false)
        } else if shift > -128 {
            (small.significand >> -shift, small.significand << (128 + shift) != 0)
        } else {
            (0, true)
        };
        let small_units = small_units as i128;
        let same_sign = large.negative == small.negative;
        // The dropped bits of the smaller operand add a fraction of a unit, or borrow one.
        let units = if same_sign { large_units + small_units } else { large_units - small_units - i128::from(lost) };
        let negative = if units < 0 { !large.negative } else { large.negative };
        Finite {
            negative: negative && (units != 0 || lost),
            significand: units.unsigned_abs(),
            exponent: quantum,
            sticky: lost,
        }
    }

    /// `self / divisor`: exact, or sticky with at least 64 significant bits.
    /// `self` is exact or has 128 bits. The divisor is exact, not zero, and has at most 64 bits.
    pub(crate) fn over(&self, divisor: &Finite) -> Finite {
        debug_assert!(!divisor.sticky, "division by an exact number");
        let shift = if self.sticky || self.significand == 0 { 0 } else { self.significand.leading_zeros() };
        let dividend = self.significand << shift;
        Finite {
            negative: self.negative != divisor.negative,
            significand: dividend / divisor.significand,
            exponent: self.exponent.saturating_sub(shift as i32).saturating_sub(divisor.exponent),
            sticky: self.sticky || !dividend.is_multiple_of(divisor.significand),
        }
    }

    /// `self - other`, by the rules of `exact_sum`.
    pub fn minus(&self, other: &Finite) -> Finite {
        exact_sum([*self, other.negated()])
    }

    /// Compares `|self|` with `|other|`.
    /// A sticky number is greater than the exact one with its significand.
    pub fn compare_magnitudes(&self, other: &Finite) -> Ordering {
        let key = |x: &Finite| {
            let leading = x.leading_exponent().unwrap_or(i32::MIN);
            (leading, x.significand.checked_shl(x.significand.leading_zeros()).unwrap_or(0), x.sticky)
        };
        key(self).cmp(&key(other))
    }
}

/// Sum of finite numbers of any size: exact if 128 bits hold it, else its leading 128 bits, sticky.
/// A zero sum is +0.
///
/// The unknown part of a sticky term counts as half of its last bit: that bit lies so far below every format's that
/// only the sign of a difference depends on it.
pub(crate) fn exact_sum(terms: impl IntoIterator<Item = Finite>) -> Finite {
    let terms: Vec<Finite> = terms.into_iter().filter(|term| !term.is_zero()).collect();
    let lowest = terms.iter().map(|term| term.exponent - i32::from(term.sticky)).min();
    let highest = terms.iter().map(|term| term.exponent + 128 - term.significand.leading_zeros() as i32).max();
    let (Some(lowest), Some(highest)) = (lowest, highest) else { return Finite::zero(false) };
    // Room for 2^63 terms.
    let mut sum = Accumulator::new(lowest, highest);
    for term in &terms {
        sum.add_finite(term);
        sum.add(term.negative, term.sticky.into(), term.exponent - 1);
    }
    sum.to_finite()
}

#[cfg(all(test, feature = "mpfr"))]
mod tests {
    use proptest::prelude::*;
    use rug::Rational;

    use super::*;

    fn rational(x: &Finite) -> Rational {
        let magnitude = Rational::from(x.significand);
        let absolute_value =
            if x.exponent < 0 { magnitude >> x.exponent.unsigned_abs() } else { magnitude << x.exponent as u32 };
        if x.negative { -absolute_value } else { absolute_value }
    }

    fn finite() -> impl Strategy<Value = Finite> {
        (any::<bool>(), any::<u128>(), 0u32..128, -300i32..300)
            .prop_map(|(negative, bits, shift, exponent)| Finite::exact(negative, bits >> shift, exponent))
    }

    proptest! {
        #[test]
        fn quotients_are_the_rational_ones_cut(
            x in any::<u64>(), y in 1u64.., signs: [bool; 2], exponents in [-300i32..300, -300i32..300]
        ) {
            let x = Finite::exact(signs[0], x.into(), exponents[0]);
            let y = Finite::exact(signs[1], y.into(), exponents[1]);
            let exact = (rational(&x) / rational(&y)).abs();
            let ours = x.over(&y);
            prop_assert_eq!(ours.negative, signs[0] != signs[1]);
            let low = rational(&Finite { negative: false, ..ours });
            let high = rational(&Finite { negative: false, significand: ours.significand + 1, ..ours });
            prop_assert_eq!(ours.sticky, low != exact);
            prop_assert!(low <= exact && exact < high);
            prop_assert!(!ours.sticky || ours.significand >> 63 != 0);
        }

        #[test]
        fn sums_are_the_rational_ones_cut(terms in prop::collection::vec(finite(), 0..8)) {
            let exact = terms.iter().map(rational).sum::<Rational>();
            let ours = exact_sum(terms);
            let low = rational(&Finite { negative: false, ..ours });
            let high = rational(&Finite { negative: false, significand: ours.significand.saturating_add(1), ..ours });
            prop_assert_eq!(ours.sticky, low != exact.clone().abs());
            prop_assert!(low <= exact.clone().abs());
            prop_assert!(!ours.sticky || ours.significand >> 127 != 0);
            prop_assert!(ours.significand == u128::MAX || exact.clone().abs() < high);
            prop_assert_eq!(ours.negative, exact < 0);
        }

        #[test]
        fn two_terms_have_the_same_sum_either_way(x in any::<u64>(), y in any::<u64>(), signs: [bool; 2], gap in -150i32..150) {
            let (x, y) = (Finite::exact(signs[0], x.into(), gap), Finite::exact(signs[1], y.into(), 0));
            let (quick, general) = (x.plus(&y), exact_sum([x, y]));
            prop_assert_eq!(quick.is_zero(), general.is_zero());
            prop_assert!(quick.sticky || quick.odd() == general.odd() || quick.is_zero());
            // A sticky sum has at least 100 bits, and those are the leading ones.
            let cut = quick.leading_exponent().unwrap_or(0) - 99;
            if !quick.is_zero() {
                let rounded = |sum: &Finite| sum.round_to_quantum(cut, crate::number::Rounding::Ro);
                prop_assert_eq!(rounded(&quick), rounded(&general));
            }
        }

        #[test]
        fn magnitudes_compare_as_rationals(x in any::<u32>(), y in any::<u32>(), exponents in [-8i32..8, -8i32..8]) {
            let x = Finite::exact(true, x.into(), exponents[0]);
            let y = Finite::exact(false, y.into(), exponents[1]);
            prop_assert_eq!(x.compare_magnitudes(&y), rational(&x).abs().cmp(&rational(&y)));
        }
    }

    #[test]
    fn magnitudes_compare_whatever_their_units() {
        let number = |significand, exponent| Finite::exact(false, significand, exponent);
        let ascending =
            [number(0, 7), number(1, -1074), number(3, 0), number(1 << 127, -125), number(9, -1), number(1, 900)];
        for (i, x) in ascending.iter().enumerate() {
            for (j, y) in ascending.iter().enumerate() {
                assert_eq!(x.compare_magnitudes(y), i.cmp(&j), "{x:?} {y:?}");
            }
        }
        assert_eq!(number(6, -1).compare_magnitudes(&number(3, 0)), Ordering::Equal);
    }

    #[test]
    fn the_sign_of_a_difference_depends_on_what_a_sticky_number_has_beyond_its_last_bit() {
        let one = Finite::exact(false, 1 << 127, -127);
        let more = Finite { sticky: true, ..one };
        assert!(!more.minus(&one).is_zero() && !more.minus(&one).negative);
        assert!(one.minus(&more).negative);
        assert!(one.minus(&one).is_zero());
    }
}
