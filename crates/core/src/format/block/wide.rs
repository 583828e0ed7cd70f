//! Codes of scales of more than 8 bits, by arithmetic in f64.

use crate::{format::Format, number::Rounding};

/// Fraction bits of f64.
const FRACTION: u32 = 52;
const BIAS: i32 = 1023;
/// Adding and subtracting `2^52` rounds a smaller number to an integer, ties to even.
const INTEGERS: f64 = (1u64 << FRACTION) as f64;

/// Rounding of numbers of f64 to the codes of a scale format.
#[derive(Debug, Clone, Copy)]
pub(super) struct WideScale {
    /// Exponent of the smallest normal number.
    emin: i32,
    trailing_bits: u32,
    largest: u32,
}

impl WideScale {
    /// Rounding to a format whose codes ascend through the subnormals, as in IEEE 754; else `None`.
    pub(super) fn new(format: &'static Format) -> Option<WideScale> {
        let float = format.float()?;
        let (emin, trailing_bits) = (float.emin(), float.trailing_bits);
        let power = |exponent: i32| f64::from(exponent).exp2();
        let largest = u32::try_from(format.largest(false)).ok()?;
        let in_range = emin > -900 && format.to_f64(largest.into()) < power(900) && trailing_bits < 32;
        let ascends = format.to_f64(0) == 0.0
            && format.to_f64(1) == power(emin - trailing_bits as i32)
            && format.to_f64(1 << trailing_bits) == power(emin);
        // Without trailing bits, the exponent decides ties.
        (in_range && ascends && trailing_bits > 0).then_some(WideScale { emin, trailing_bits, largest })
    }

    /// Code of a number from zero to `2^900`, which saturates; `None` for a rounding that is not done here.
    #[inline]
    pub(super) fn code(&self, number: f64, rounding: Rounding) -> Option<u32> {
        let exponent = ((number.to_bits() >> FRACTION) as i32 - BIAS).max(self.emin);
        // The number in units of its binade's last place: below 2^33, and exact.
        let unit = f64::from_bits(((BIAS + self.trailing_bits as i32 - exponent) as u64) << FRACTION);
        let units = match rounding {
            Rounding::Rne => (number * unit + INTEGERS) - INTEGERS,
            Rounding::Ru => (number * unit).ceil(),
            Rounding::Rz | Rounding::Rd => (number * unit).floor(),
            _ => return None,
        };
        // A normal number's leading bit counts as one exponent.
        let code = (u64::from((exponent - self.emin) as u32) << self.trailing_bits) + units as u64;
        Some(code.min(self.largest.into()) as u32)
    }
}

/// Positive number rounded to `precision` significant bits, ties away from zero.
#[inline]
pub(super) fn rounded_to_precision(number: f64, precision: u32) -> f64 {
    if precision > FRACTION {
        return number;
    }
    let dropped = FRACTION + 1 - precision;
    let bits = number.to_bits() + (1 << (dropped - 1));
    f64::from_bits(bits >> dropped << dropped)
}

/// Smallest power of two that is no smaller than a normal number; zero for zero.
#[inline]
pub(super) fn power_above(number: f64) -> f64 {
    let trailing = (1 << FRACTION) - 1;
    f64::from_bits((number.to_bits() + trailing) & !trailing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Overflow, Real, find};

    /// Numbers on both sides of boundaries, in all binades that scales reach, and beyond.
    fn numbers() -> impl Iterator<Item = f64> {
        let significands = (0..64u64).flat_map(|n| {
            let bits = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
            [bits, bits >> 23 << 23, bits >> 41 << 41, bits >> 42 << 42, (bits >> 42 << 42) ^ 1]
        });
        let significands: Vec<u64> = significands.collect();
        let binades = (-180..140i32).map(|exponent| ((exponent + BIAS) as u64) << FRACTION);
        binades.flat_map(move |binade| {
            significands.clone().into_iter().map(move |significand| f64::from_bits(binade | significand))
        })
    }

    #[test]
    fn codes_are_those_of_the_exact_rounding() {
        for name in ["f16", "bf16", "f32", "e8m10", "e6m12"] {
            let format = find(name).unwrap();
            let wide = WideScale::new(format).expect(name);
            for rounding in [Rounding::Rne, Rounding::Ru, Rounding::Rz, Rounding::Rd] {
                for number in numbers().chain([0.0]) {
                    let exact = format.encode(&Real::from(number), rounding, Overflow::Saturate).unwrap();
                    let code = wide.code(number, rounding).expect("this rounding");
                    assert_eq!(u64::from(code), exact, "{name} {rounding:?} {number:e}");
                }
            }
            assert_eq!(wide.code(1.0, Rounding::Rna), None);
        }
        assert!(WideScale::new(find("e8m0").unwrap()).is_none());
    }

    #[test]
    fn precision_is_rounded_as_by_the_exact_number() {
        for number in numbers() {
            let Real::Finite(exact) = Real::from(number) else { panic!("{number} is finite") };
            for precision in [1, 3, 4, 7, 8, 24, 53] {
                let expected = exact.rounded_to_precision(precision, Rounding::Rna).to_f64();
                assert_eq!(rounded_to_precision(number, precision), expected, "{number:e} {precision}");
            }
        }
    }
}
