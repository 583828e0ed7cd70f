//! Exact division, and the comparison of magnitudes.

use std::cmp::Ordering;

use crate::format::Finite;

/// `x / y`: exact, or sticky with at least 64 significant bits where `x` is exact or has 128 bits.
///
/// `y` is exact, not zero, and its significand has at most 64 bits.
pub(super) fn quotient(x: &Finite, y: &Finite) -> Finite {
    let shift = if x.sticky || x.significand == 0 { 0 } else { x.significand.leading_zeros() };
    let dividend = x.significand << shift;
    Finite {
        negative: x.negative != y.negative,
        significand: dividend / y.significand,
        exponent: x.exponent.saturating_sub(shift as i32).saturating_sub(y.exponent),
        sticky: x.sticky || !dividend.is_multiple_of(y.significand),
    }
}

/// Compares `|x|` with `|y|`.
pub(super) fn compare_magnitudes(x: &Finite, y: &Finite) -> Ordering {
    let key = |v: &Finite| {
        let leading = v.leading_exponent().unwrap_or(i32::MIN);
        (leading, v.significand.checked_shl(v.significand.leading_zeros()).unwrap_or(0), v.sticky)
    };
    key(x).cmp(&key(y))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rug::Rational;

    use super::*;

    fn rational(x: &Finite) -> Rational {
        let magnitude = Rational::from(x.significand);
        let scaled =
            if x.exponent < 0 { magnitude >> x.exponent.unsigned_abs() } else { magnitude << x.exponent as u32 };
        if x.negative { -scaled } else { scaled }
    }

    proptest! {
        #[test]
        fn quotients_are_the_rational_ones_cut(
            x in any::<u64>(), y in 1u64.., signs: [bool; 2], exponents in [-300i32..300, -300i32..300]
        ) {
            let x = Finite::exact(signs[0], x.into(), exponents[0]);
            let y = Finite::exact(signs[1], y.into(), exponents[1]);
            let exact = (rational(&x) / rational(&y)).abs();
            let ours = quotient(&x, &y);
            prop_assert_eq!(ours.negative, signs[0] != signs[1]);
            let low = rational(&Finite { negative: false, ..ours });
            let high = rational(&Finite { negative: false, significand: ours.significand + 1, ..ours });
            prop_assert_eq!(ours.sticky, low != exact);
            prop_assert!(low <= exact && exact < high);
            prop_assert!(!ours.sticky || ours.significand >> 63 != 0);
        }

        #[test]
        fn magnitudes_compare_as_rationals(x in any::<u32>(), y in any::<u32>(), exponents in [-8i32..8, -8i32..8]) {
            let x = Finite::exact(true, x.into(), exponents[0]);
            let y = Finite::exact(false, y.into(), exponents[1]);
            prop_assert_eq!(compare_magnitudes(&x, &y), rational(&x).abs().cmp(&rational(&y)));
        }
    }
}
