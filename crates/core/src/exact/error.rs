//! Errors of results against the exact sum.

use super::ExactSum;
use crate::{
    format::{Encoding, Format},
    number::{Finite, ldexp},
};

/// Distance of a result `d` from the exact value `x`, each number within a few ulp (of a host double).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Deviation {
    /// `|d - x|`; infinity above the range of a host double.
    pub absolute: f64,
    /// `|d - x| / |x|`: 0 if `d = x`, `None` if only `x` is zero.
    pub relative: Option<f64>,
    /// `|d - x| / ulp(x)`; 1 is the spacing of the output format at the exact value.
    /// For `2^e <= |x| < 2^(e+1)`, `ulp(x) = 2^(max(e, emin) - p + 1)`, also beyond the largest number; `ulp(x) = 1`
    /// for integer formats. `None` for formats by table, which have no such spacing.
    /// Source: Muller et al., *Handbook of Floating-Point Arithmetic* (2018), definition 2.6 (Goldberg's ulp).
    pub ulps: Option<f64>,
}

impl ExactSum<'_> {
    /// Error of `code`, in format `d`, against this sum; `None` if either is infinite or NaN.
    ///
    /// # Panics
    /// May panic for another `d` than the one that the buffer was made for.
    pub fn deviation(&mut self, d: &Format, code: u64) -> Option<Deviation> {
        let result = d.decode(code);
        if self.special.is_some() || !result.is_finite() {
            return None;
        }
        let accumulator = &mut *self.accumulator;
        let exact = accumulator.to_finite();
        accumulator.subtract_decoded(&result);
        let difference = accumulator.to_finite().magnitude();
        accumulator.add_decoded(&result);
        let relative = match (difference.is_zero(), exact.is_zero()) {
            (true, _) => Some(0.0),
            (_, true) => None,
            _ => {
                let quotient = difference.significand as f64 / exact.significand as f64;
                Some(ldexp(quotient, difference.exponent - exact.exponent))
            }
        };
        let ulps = ulp_exponent(d, &exact).map(|exponent| difference.times_power_of_two(-exponent).to_f64());
        Some(Deviation { absolute: difference.to_f64(), relative, ulps })
    }
}

/// `log2 ulp(x)`, for the `ulp(x)` of [`Deviation::ulps`]; `None` for formats by table.
pub fn ulp_exponent(format: &Format, x: &Finite) -> Option<i32> {
    match &format.encoding {
        Encoding::Float(float) => {
            let leading = x.leading_exponent().map_or(float.emin(), |e| e.max(float.emin()));
            Some(leading - float.trailing_bits as i32)
        }
        Encoding::Integer { .. } => Some(0),
        Encoding::Table(_) => None,
    }
}

/// Steps between neighbouring numbers that lead from code `x` to code `y`; `None` for infinity or NaN.
/// The two zeros are one number.
pub fn distance(format: &Format, x: u64, y: u64) -> Option<u64> {
    Some(rank(format, x)?.abs_diff(rank(format, y)?))
}

/// Steps from the number of code 0 to the number of `code`.
/// In a format by table they begin at the smallest number.
fn rank(format: &Format, code: u64) -> Option<i64> {
    let datum = format.decode(code);
    if let Encoding::Table(table) = &format.encoding {
        let value = format.to_f64(code);
        return table
            .ascending()
            .iter()
            .position(|listed| format.to_f64((*listed).into()) == value)
            .map(|place| place as i64);
    }
    let magnitude = match &format.encoding {
        Encoding::Float(float) => code >> float.padding_bits & ((1 << (float.exponent_bits + float.trailing_bits)) - 1),
        Encoding::Integer { .. } | Encoding::Table(_) => datum.significand,
    } as i64;
    datum.is_finite().then_some(if datum.negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        exact::Dot,
        format::{FORMATS, Overflow, Real, Rounding, find},
    };

    /// Error in `d` of the number `result` against `x + 2^-20 * y`, all f64.
    fn deviation(d: &str, result: f64, x: f64, y: f64) -> Option<Deviation> {
        let [f64, d] = ["f64", d].map(|name| find(name).unwrap());
        let code = d.encode_f64(result, Rounding::Rne, Overflow::Standard).unwrap();
        assert!(result.is_nan() || d.to_f64(code) == result, "{result} is a number of {d}");
        let mut dot = Dot::new(f64, f64, f64, d, 1);
        let mut sum = dot.sum([(y.to_bits(), 2f64.powi(-20).to_bits())], x.to_bits());
        let before = sum.real();
        let deviation = sum.deviation(d, code);
        assert_eq!(sum.real(), before, "measuring leaves the sum as it was");
        deviation
    }

    #[test]
    fn errors_have_their_textbook_values() {
        let exactly = |absolute, relative, ulps| Some(Deviation { absolute, relative, ulps: Some(ulps) });
        assert_eq!(deviation("f16", 1.0, 1.0, 0.0), exactly(0.0, Some(0.0), 0.0));
        // ulp(1 + 2^-20) = 2^-10; the next smaller number is measured with the same ulp.
        assert_eq!(deviation("f16", 1.0, 1.0, 1.0).unwrap().ulps, Some(2f64.powi(-10)));
        assert_eq!(
            deviation("f16", 1.0 - 2f64.powi(-11), 1.0, 0.0),
            exactly(2f64.powi(-11), Some(2f64.powi(-11)), 0.5)
        );
        assert_eq!(deviation("f16", -2.0, 2.0, 0.0), exactly(4.0, Some(2.0), 2048.0));
        // Below emin = -14 the ulp stays 2^-24, also at zero.
        assert_eq!(deviation("f16", 2f64.powi(-24), 0.0, 0.0), exactly(2f64.powi(-24), None, 1.0));
        assert_eq!(deviation("f16", 0.0, 2f64.powi(-26), 0.0), exactly(2f64.powi(-26), Some(1.0), 0.25));
        assert_eq!(deviation("f16", 0.0, -0.0, 0.0), exactly(0.0, Some(0.0), 0.0));
        // Beyond the largest number the exponent range continues.
        assert_eq!(deviation("e4m3", 448.0, 1024.0, 0.0), exactly(576.0, Some(0.5625), 4.5));
        assert_eq!(deviation("s8", 127.0, 1000.5, 0.0).unwrap().ulps, Some(873.5));
        assert_eq!(deviation("f64", 0.0, f64::MIN_POSITIVE, 0.0).unwrap().ulps, Some(2f64.powi(52)));
        assert_eq!(deviation("f64", 1.0, 1.0, 2f64.powi(-1000)).unwrap().absolute, 2f64.powi(-1020));
        assert_eq!(deviation("f64", 0.0, 0.0, ldexp(1.0, -1060)), exactly(0.0, Some(1.0), 2f64.powi(-6)));
    }

    #[test]
    fn there_is_no_error_without_two_numbers() {
        assert_eq!(deviation("f16", f64::INFINITY, 1e9, 0.0), None);
        assert_eq!(deviation("f16", f64::NAN, 1.0, 0.0), None);
        assert_eq!(deviation("f16", 1.0, f64::NAN, 0.0), None);
        assert_eq!(deviation("f16", 1.0, f64::INFINITY, 0.0), None);
    }

    #[test]
    fn distance_counts_the_numbers_between_codes() {
        for format in FORMATS.iter().filter(|f| f.bits <= 8) {
            let value = |code: u64| match format.value(code) {
                Real::Finite(_) => Some(format.to_f64(code)),
                _ => None,
            };
            let mut numbers: Vec<f64> = (0..=format.code_mask()).filter_map(value).collect();
            numbers.sort_by(f64::total_cmp);
            numbers.dedup();
            let position = |code| value(code).map(|x| numbers.iter().position(|y| *y == x).unwrap());
            for x in 0..=format.code_mask() {
                for y in (0..=format.code_mask()).step_by(3) {
                    let expected = position(x).zip(position(y)).map(|(i, j)| i.abs_diff(j) as u64);
                    assert_eq!(distance(format, x, y), expected, "{format} {x:#x} {y:#x}");
                }
            }
        }
        let [f64, tf32, s32] = ["f64", "tf32", "s32"].map(|name| find(name).unwrap());
        assert_eq!(distance(f64, f64.largest(true), f64.largest(false)), Some(2 * 0x7fef_ffff_ffff_ffff));
        assert_eq!(distance(tf32, 0x3f80_0000, 0x3f80_3fff), Some(1));
        assert_eq!(distance(s32, 0x8000_0000, 0x7fff_ffff), Some(0xffff_ffff));
    }
}
