//! The relative error of a chain.

use super::{exact::ScaledEntry, reference::ReferenceChain};

/// `||low - reference||_F / ||low||_F` against the plain chain; `None` if that is not finite.
pub(super) fn against_plain(low: &[f64], reference: &ReferenceChain) -> Option<f64> {
    let finite = (0..low.len()).all(|index| reference.plain(index).is_finite());
    finite.then(|| relative(low, |index| ScaledEntry { high: reference.plain(index), low: 0.0, exponent: 0 }))
}

/// `||low - reference||_F / ||low||_F` against the exact chain.
pub(super) fn against_exact(low: &[f64], reference: &ReferenceChain) -> f64 {
    relative(low, |index| reference.exact(index))
}

/// The relative error of the finite matrix `low`: 0 if both are equal, infinite if `low` alone is zero.
fn relative(low: &[f64], reference: impl Fn(usize) -> ScaledEntry) -> f64 {
    let largest = low.iter().fold(0f64, |largest, value| largest.max(value.abs()));
    // Scaled by a power of two, so that no square leaves the range of a double.
    let unit = if largest == 0.0 { 0 } else { exponent(largest) };
    let (mut differences, mut squares) = (0.0, 0.0);
    for (index, &value) in low.iter().enumerate() {
        let value = times_power(value, -unit);
        let ScaledEntry { high, low, exponent } = reference(index);
        // Near the reference the first difference is exact.
        let difference = value - times_power(high, exponent - unit) - times_power(low, exponent - unit);
        differences += difference * difference;
        squares += value * value;
    }
    if differences == 0.0 { 0.0 } else { differences.sqrt() / squares.sqrt() }
}

/// The exponent of the leading bit of a double; a subnormal counts as the smallest normal number.
fn exponent(value: f64) -> i64 {
    (value.to_bits() >> 52 & 0x7ff).max(1) as i64 - 1023
}

/// `value * 2^exponent`, exact unless the product leaves the range of normal doubles.
fn times_power(value: f64, exponent: i64) -> f64 {
    let power = |e: i64| f64::from_bits(((e + 1023) as u64) << 52);
    let exponent = exponent.clamp(-2044, 2044);
    let half = exponent / 2;
    value * power(half) * power(exponent - half)
}

#[cfg(test)]
mod tests {
    use super::{
        super::reference::{Plain, ReferenceChains},
        *,
    };

    #[test]
    fn scaling_by_a_power_of_two_is_exact() {
        assert_eq!(times_power(3.0, 10), 3072.0);
        assert_eq!(times_power(3.0, -1000), 3.0 * 2f64.powi(-1000));
        assert_eq!(times_power(2f64.powi(126), -1100), 2f64.powi(-974));
        assert_eq!(exponent(1.0), 0);
        assert_eq!(exponent(0.75), -1);
        assert_eq!(times_power(1.0, 5000), f64::INFINITY);
    }

    #[test]
    fn a_plain_chain_that_overflows_is_not_compared_with() {
        let mut references = ReferenceChains::new(Plain::F32, 1, 1, &[1e30f32.into()]);
        let low = [1e30f32.into()];
        assert_eq!(against_plain(&low, &references.chains()[0]), Some(0.0));
        references.advance(&[1e30f32.into()], |_| true);
        assert_eq!(against_plain(&low, &references.chains()[0]), None);
        assert!(against_exact(&low, &references.chains()[0]).is_finite());
    }

    #[test]
    fn the_relative_error_is_the_ratio_of_frobenius_norms() {
        let parts = |value: f64| ScaledEntry { high: value, low: 0.0, exponent: 0 };
        let reference = [3.0, 0.0, 0.0];
        assert_eq!(relative(&[3.0, 4.0, 0.0], |i| parts(reference[i])), 0.8);
        assert_eq!(relative(&reference, |i| parts(reference[i])), 0.0);
        assert_eq!(relative(&[0.0; 3], |i| parts(reference[i])), f64::INFINITY);
        assert_eq!(relative(&[0.0; 3], |_| parts(0.0)), 0.0);
        // Beyond the range of squared doubles.
        assert_eq!(relative(&[3e300, 4e300], |i| parts([3e300, 0.0][i])), 0.8);
        // A difference below the last bit of the reference's own double.
        let slightly_more = |_| ScaledEntry { high: 1.0, low: 2f64.powi(-60), exponent: 0 };
        assert_eq!(relative(&[1.0], slightly_more), 2f64.powi(-60));
    }
}
