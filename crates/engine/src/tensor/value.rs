//! Single values: from texts or codes, and converted to a format.

use std::cmp::Ordering;

use crate::{
    Error, Result,
    base::visible::shortened,
    exact::ulp_exponent,
    format::{Format, Overflow, Real, Rounding},
};

/// How to convert.
#[derive(Debug, Clone, Copy)]
pub struct ValueConversion {
    /// Format of the given codes, to which values are first rounded (RNE); `None`: values are exact.
    pub from: Option<&'static Format>,
    /// The format of the result.
    pub to: &'static Format,
    /// The rounding direction.
    pub rounding: Rounding,
    /// Rule for values that are too large.
    pub overflow: Overflow,
}

/// One value to convert.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueRead {
    /// As it was given.
    pub text: String,
    /// Its code, where it has a format.
    pub code: Option<u64>,
    /// Its value.
    pub value: Real,
}

/// One converted value.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// The code; `None` where the format has none (NaN in a format without NaN).
    pub code: Option<u64>,
    /// Comparison of the result with the source; `None` without a code and with NaN.
    pub direction: Option<Ordering>,
    /// `(result - source) / ulp(source)`: infinite if one of both is.
    /// `None` without a code, with NaN, and for inexact results in a format by table, which has no ulp.
    pub error_ulps: Option<f64>,
}

/// Reads a number (see [`Real::from_str`](std::str::FromStr)), or a hexadecimal code of `format`.
///
/// A number is rounded to the format (RNE), if there is one.
///
/// # Errors
/// A code without a format or wider than it; text that is neither; a value that the format has no code for.
pub fn read(format: Option<&Format>, text: &str) -> Result<ValueRead> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.strip_prefix("0x").filter(|digits| !digits.contains('p'));
    let (code, value) = match (digits, format) {
        (None, None) => (None, text.parse()?),
        (Some(_), None) => {
            return Err(Error::request(format!(
                "'{text}' is a code of an unknown format; give ‹from›, or write a hexadecimal number \
                 with its exponent ({text}p0)"
            )));
        }
        (Some(digits), Some(format)) => {
            let code = code(format, text, digits)?;
            (Some(code), format.value(code))
        }
        (None, Some(format)) => {
            let value: Real = text.parse()?;
            let rounded = format.encode(&value, Rounding::Rne, Overflow::Standard);
            let code = rounded.ok_or_else(|| Error::request(format!("'{text}' has no code in {format}")))?;
            (Some(code), format.value(code))
        }
    };
    Ok(ValueRead { text: text.to_string(), code, value })
}

impl ValueConversion {
    /// Reads a value: see [`read`].
    ///
    /// # Errors
    /// As [`read`].
    pub fn source(&self, text: &str) -> Result<ValueRead> {
        read(self.from, text)
    }

    /// Converts `value`.
    pub fn convert(&self, value: &Real) -> Converted {
        let code = self.to.encode(value, self.rounding, self.overflow);
        let (direction, error_ulps) = match code {
            Some(code) => compare(self.to, code, value).unzip(),
            None => (None, None),
        };
        Converted { code, direction, error_ulps: error_ulps.flatten() }
    }
}

fn code(format: &Format, text: &str, digits: &str) -> Result<u64> {
    let text = shortened(text);
    let hexadecimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !hexadecimal {
        return Err(Error::request(format!("'{text}' is not a hexadecimal code")));
    }
    let significant = digits.trim_start_matches('0');
    let code = if significant.is_empty() { Some(0) } else { u64::from_str_radix(significant, 16).ok() };
    code.filter(|code| *code <= format.code_mask()).ok_or_else(|| {
        Error::request(format!("the code '{text}' is wider than {format}, whose codes have {} bits", format.bits))
    })
}

/// The comparison of `code` with `value`, and their difference in ulp if the format has one.
/// `None` for a NaN on either side.
fn compare(format: &Format, code: u64, value: &Real) -> Option<(Ordering, Option<f64>)> {
    let in_ulps = |error: f64| format.table().is_none().then_some(error);
    let sign = |negative: bool| if negative { Ordering::Less } else { Ordering::Greater };
    match (format.value(code), value) {
        (Real::Nan, _) | (_, Real::Nan) => None,
        (result, value) if result == *value => Some((Ordering::Equal, Some(0.0))),
        (Real::Infinity { negative }, _) => Some((sign(negative), in_ulps(infinite(negative)))),
        (_, Real::Infinity { negative }) => Some((sign(!negative), in_ulps(infinite(!negative)))),
        (Real::Finite(result), Real::Finite(value)) => {
            let difference = result.minus(value);
            let direction = if difference.is_zero() { Ordering::Equal } else { sign(difference.negative) };
            let units = |exponent: i32| difference.times_power_of_two(-exponent).to_f64();
            let error = if difference.is_zero() { Some(0.0) } else { ulp_exponent(format, value).map(units) };
            Some((direction, error))
        }
    }
}

fn infinite(negative: bool) -> f64 {
    if negative { f64::NEG_INFINITY } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::{FORMATS, find};

    fn conversion(from: Option<&str>, to: &str, rounding: Rounding) -> ValueConversion {
        let from = from.map(|name| find(name).unwrap());
        ValueConversion { from, to: find(to).unwrap(), rounding, overflow: Overflow::Standard }
    }

    #[test]
    fn errors_are_signed_and_in_ulp_of_the_source() {
        for (text, rounding, code, direction, error) in [
            ("1", Rounding::Rne, 0x38, Ordering::Equal, 0.0),
            ("0.1", Rounding::Rne, 0x1d, Ordering::Greater, 0.2),
            ("1.0625", Rounding::Rne, 0x38, Ordering::Less, -0.5),
            ("1.0625", Rounding::Ru, 0x39, Ordering::Greater, 0.5),
            ("-1.0625", Rounding::Ru, 0xb8, Ordering::Greater, 0.5),
            ("1e-9", Rounding::Rne, 0x00, Ordering::Less, -5.12e-7),
            ("1e-100000", Rounding::Ru, 0x01, Ordering::Greater, 1.0),
            ("1000", Rounding::Rz, 0x7e, Ordering::Less, -8.625),
        ] {
            let conversion = conversion(None, "e4m3", rounding);
            let converted = conversion.convert(&conversion.source(text).unwrap().value);
            assert_eq!(converted.code, Some(code), "{text}");
            assert_eq!(converted.direction, Some(direction), "{text}");
            let got = converted.error_ulps.unwrap();
            assert!((got - error).abs() <= 1e-15 * error.abs(), "{text}: {got}");
        }
    }

    #[test]
    fn infinities_and_nan_have_their_own_comparisons() {
        let to_e5m2 = conversion(None, "e5m2", Rounding::Rne);
        let of = |conversion: &ValueConversion, text: &str| conversion.convert(&conversion.source(text).unwrap().value);
        let overflowed = of(&to_e5m2, "-1e9");
        assert_eq!((overflowed.code, overflowed.direction), (Some(0xfc), Some(Ordering::Less)));
        assert_eq!(overflowed.error_ulps, Some(f64::NEG_INFINITY));
        assert_eq!(of(&to_e5m2, "inf").direction, Some(Ordering::Equal));
        assert_eq!(of(&to_e5m2, "nan").direction, None);
        let to_e2m1 = conversion(None, "e2m1", Rounding::Rne);
        assert_eq!(of(&to_e2m1, "nan").code, None);
        assert_eq!(of(&to_e2m1, "inf").direction, Some(Ordering::Less));
    }

    #[test]
    fn every_code_of_a_narrow_format_converts_to_itself() {
        for format in FORMATS.iter().filter(|format| format.bits <= 8) {
            let same = conversion(Some(format.name), format.name, Rounding::Rne);
            for code in 0..=format.code_mask() {
                let source = same.source(&format.hex(code)).unwrap();
                let converted = same.convert(&source.value);
                match source.value {
                    Real::Nan => assert_eq!(converted.code, format.nan()),
                    _ => assert_eq!((converted.code, converted.error_ulps), (Some(code), Some(0.0)), "{format}"),
                }
            }
        }
    }

    #[test]
    fn codes_need_a_format_that_holds_them() {
        let without = conversion(None, "e4m3", Rounding::Rne);
        let with = conversion(Some("e2m3"), "e4m3", Rounding::Rne);
        assert!(without.source("0x10").is_err());
        assert!(without.source("0x10p0").is_ok());
        for text in ["0x40", "0x10000000000000000", "0x", "0xzz", "-0x1", "nan"] {
            assert!(with.source(text).is_err(), "{text}");
        }
        assert_eq!(with.source("0x000000000000000000003F").unwrap().code, Some(0x3f));
    }

    proptest! {
        /// Against arithmetic on host doubles, which is exact here: both numbers have few bits.
        #[test]
        fn errors_agree_with_a_second_computation(bits in any::<u32>()) {
            let source = f32::from_bits(bits);
            prop_assume!(source.is_finite() && source.abs() > 1e-30 && source.abs() < 1e30);
            let conversion = conversion(Some("f32"), "bf16", Rounding::Rne);
            let converted = conversion.convert(&Real::from(f64::from(source)));
            let result = f64::from(half::bf16::from_f32(source));
            let ulp = 2f64.powi(source.abs().log2().floor() as i32 - 7);
            // log2 of a host may round up to the next integer just below a power of two.
            let exact_ulp = if f64::from(source.abs()) < ulp * 128.0 { ulp / 2.0 } else { ulp };
            prop_assert_eq!(converted.error_ulps, Some((result - f64::from(source)) / exact_ulp));
        }
    }
}
