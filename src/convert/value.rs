//! Conversion of single values: what a format makes of each, and how far off it is.

use std::cmp::Ordering;

use crate::{
    Error, Result,
    base::visible::shortened,
    exact::ulp_exponent,
    format::{Format, Overflow, Real, Rounding},
    report::{Table, counted, grouped, three_digits},
};

crate::rows! {
    /// Conversion of a value.
    pub struct ConversionRow in "conversions" {
        /// The value as it was given.
        input: String => shown("input").essential(),
        /// Its code, where it is of a format.
        from_code: Option<String> => shown("its code").beside().if_filled(),
        /// Its value in decimal.
        from_decimal: Option<String> => shown("its value").beside().if_filled(),
        /// Its value.
        from_value: Option<f64> => hidden(),
        /// The code that it becomes; none of NaN in a format without.
        code: Option<String> => shown("code").essential(),
        /// The value of that code in decimal.
        decimal: Option<String> => shown("value").essential(),
        /// The value as an integer times a power of two.
        scaled: Option<String> => shown("exactly"),
        /// The value.
        value: Option<f64> => hidden(),
        /// True if the result equals the value.
        exact: Option<bool> => shown("exact").essential(),
        /// Where rounding went: down, none or up.
        direction: Option<&'static str> => shown("rounded"),
        /// The signed error, in units in the last place of the given value.
        error_ulps: Option<f64> => shown("error").unit("ulp").essential(),
    }
}

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

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Exact,
    /// NaN in a format without.
    WithoutCode,
    /// The value is negative, and the format has no negative numbers.
    Negative,
    /// The value is too large, and became NaN.
    Nan,
    /// The value is too large, and became infinite.
    Infinity,
    /// The value is too large, and became the largest number of its sign.
    Largest,
    /// Anything else, with its error in ulp.
    Rounded(f64),
    /// Anything else in a format by table, which has no ulp.
    ToNumber,
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
                "'{text}' is a code of an unknown format; give --from, or write a hexadecimal number \
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

    pub(crate) fn table(&self, rows: Vec<ConversionRow>) -> Table {
        Table::of(format!("To {}, {}, overflow: {}", self.to, self.rounding.name(), self.overflow.name()), rows)
    }

    /// The result in a sentence; `None` without values.
    pub(crate) fn answer(&self, rows: &[ConversionRow]) -> Option<String> {
        match rows {
            [] => None,
            [row] => Some(self.answer_of_one(row)),
            rows => Some(self.answer_of_several(rows)),
        }
    }

    fn answer_of_one(&self, row: &ConversionRow) -> String {
        let (to, input) = (self.to, shortened(&row.input));
        let (code, decimal) = (row.code.as_deref().unwrap_or("-"), row.decimal.as_deref().unwrap_or("-"));
        match self.fate(row) {
            Fate::Exact => format!("{input} is exactly {code} in {to}."),
            Fate::WithoutCode => format!("{input} has no code in {to}: it becomes NaN, which {to} lacks."),
            Fate::Negative => {
                format!("{input} is negative, and {to} has no negative numbers: it becomes {code}, {decimal}.")
            }
            Fate::Nan | Fate::Infinity | Fate::Largest => {
                format!("{input} is too large for {to}: it becomes {code}, {decimal}.")
            }
            Fate::Rounded(error) => {
                let (way, error) = (row.direction.unwrap_or("-"), three_digits(error));
                format!("{input} is rounded {way} to {code} in {to}, {decimal}: by {error} ulp.")
            }
            Fate::ToNumber => {
                format!("{input} is rounded {} to {code} in {to}, {decimal}.", row.direction.unwrap_or("-"))
            }
        }
    }

    fn answer_of_several(&self, rows: &[ConversionRow]) -> String {
        let fates: Vec<Fate> = rows.iter().map(|row| self.fate(row)).collect();
        let count = |of: fn(&Fate) -> bool| fates.iter().filter(|fate| of(fate)).count() as i64;
        let negative = format!("negative, and {} has no negative numbers", self.to);
        let lacks = format!("no code: NaN, which {} lacks", self.to);
        let largest = fates.iter().filter_map(|fate| if let Fate::Rounded(error) = fate { Some(*error) } else { None });
        let rounded = format!("rounded, by up to {} ulp", three_digits(largest.fold(0.0, f64::max)));
        let exact = grouped(count(|fate| *fate == Fate::Exact));
        let mut parts = vec![format!("{exact} of {} are exact in {}", counted(rows.len() as u64, "value"), self.to)];
        for (count, one, several, what) in [
            (count(|fate| *fate == Fate::Negative), "is", "are", negative.as_str()),
            (count(|fate| *fate == Fate::Nan), "overflows", "overflow", "to NaN"),
            (count(|fate| *fate == Fate::Infinity), "overflows", "overflow", "to infinity"),
            (
                count(|fate| *fate == Fate::Largest),
                "is too large and becomes",
                "are too large and become",
                "the largest number",
            ),
            (count(|fate| *fate == Fate::WithoutCode), "has", "have", &lacks),
            (count(|fate| matches!(fate, Fate::Rounded(_))), "is", "are", &rounded),
            (count(|fate| *fate == Fate::ToNumber), "is", "are", "rounded"),
        ] {
            if count > 0 {
                parts.push(format!("{} {} {what}", grouped(count), if count == 1 { one } else { several }));
            }
        }
        parts.join("; ") + "."
    }

    fn fate(&self, row: &ConversionRow) -> Fate {
        let (Some(value), Some(exact)) = (row.value, row.exact) else { return Fate::WithoutCode };
        let code = self.to.largest(value.is_sign_negative());
        let largest = self.to.to_f64(code);
        let is_odd = code >> self.to.float().map_or(0, |float| float.padding_bits) & 1 == 1;
        let inwards = if value < 0.0 { "up" } else { "down" };
        // An error that rounding alone does not make.
        let beyond = |error: f64| match self.rounding {
            Rounding::Rne if !is_odd => error.abs() > 0.5,
            Rounding::Rne | Rounding::Rna => error.abs() >= 0.5,
            _ => error.abs() >= 1.0,
        };
        let negative = row.from_value.map_or_else(|| row.input.starts_with('-'), |from| from < 0.0);
        match row.error_ulps {
            _ if exact => Fate::Exact,
            error if negative && !self.to.is_signed() && error.is_none_or(|error| error.abs() >= 1.0) => Fate::Negative,
            None if value.is_nan() => Fate::Nan,
            None if value.is_infinite() => Fate::Infinity,
            None if value == largest && row.direction == Some(inwards) => Fate::Largest,
            None => Fate::ToNumber,
            Some(_) if value.is_infinite() => Fate::Infinity,
            Some(error) if value == largest && row.direction == Some(inwards) && beyond(error) => Fate::Largest,
            Some(error) => Fate::Rounded(error.abs()),
        }
    }

    pub(crate) fn row(&self, source: &ValueRead) -> ConversionRow {
        let converted = self.convert(&source.value);
        let given = self.from.zip(source.code);
        let result = converted.code.map(|code| self.to.decode(code));
        let unchanged = converted.direction == Some(Ordering::Equal) || source.value == Real::Nan;
        let direction = converted.direction.map(|direction| match direction {
            Ordering::Less => "down",
            Ordering::Equal => "none",
            Ordering::Greater => "up",
        });
        ConversionRow {
            input: source.text.clone(),
            from_code: given.map(|(from, code)| from.hex(code)),
            from_decimal: given.map(|(from, code)| from.decode(code).decimal()),
            from_value: given.map(|(from, code)| from.to_f64(code)),
            code: converted.code.map(|code| self.to.hex(code)),
            decimal: result.map(|datum| datum.decimal()),
            scaled: result.map(|datum| datum.scaled()),
            value: result.map(|datum| datum.to_f64()),
            exact: converted.code.map(|_| unchanged),
            direction,
            error_ulps: converted.error_ulps,
        }
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
            let units = |exponent: i32| difference.scaled(-exponent).to_f64();
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
    fn the_answer_counts_what_became_of_the_values() {
        for (to, overflow, texts, answer) in [
            ("e4m3", Overflow::Standard, "1", "1 is exactly 0x38 in e4m3."),
            ("e4m3", Overflow::Standard, "0.1", "0.1 is rounded up to 0x1d in e4m3, 0.1015625: by 0.200 ulp."),
            ("e4m3", Overflow::Standard, "1e9", "1e9 is too large for e4m3: it becomes 0x7f, NaN."),
            ("e4m3", Overflow::Saturate, "-1e9", "-1e9 is too large for e4m3: it becomes 0xfe, -448."),
            ("e2m1", Overflow::Standard, "nan", "nan has no code in e2m1: it becomes NaN, which e2m1 lacks."),
            (
                "e4m3",
                Overflow::Standard,
                "1 0.1 -448 1e9 nan",
                "3 of 5 values are exact in e4m3; 1 overflows to NaN; 1 is rounded, by up to 0.200 ulp.",
            ),
            ("e4m3", Overflow::Standard, "464", "464 is rounded down to 0x7e in e4m3, 448: by 0.500 ulp."),
            (
                "e8m0",
                Overflow::Standard,
                "-1",
                "-1 is negative, and e8m0 has no negative numbers: it becomes 0xff, NaN.",
            ),
            ("u8", Overflow::Standard, "-5", "-5 is negative, and u8 has no negative numbers: it becomes 0x00, 0."),
            (
                "e8m0",
                Overflow::Standard,
                "1 -2 -inf 1e300",
                "1 of 4 values are exact in e8m0; 2 are negative, and e8m0 has no negative numbers; 1 overflows to NaN.",
            ),
            ("e5m2", Overflow::Standard, "1e9 -1e9", "0 of 2 values are exact in e5m2; 2 overflow to infinity."),
            (
                "e2m1",
                Overflow::Standard,
                "6 -9 7 inf nan",
                "1 of 5 values are exact in e2m1; 3 are too large and become the largest number; 1 has no code: NaN, which e2m1 lacks.",
            ),
        ] {
            let conversion = ValueConversion { overflow, ..conversion(None, to, Rounding::Rne) };
            let row = |text| conversion.row(&conversion.source(text).unwrap());
            let rows: Vec<ConversionRow> = texts.split(' ').map(row).collect();
            assert_eq!(conversion.answer(&rows).unwrap(), answer);
            assert!(conversion.answer(&rows[..rows.len() - 1]).is_none_or(|answer| !answer.is_empty()));
        }
        assert_eq!(conversion(None, "e4m3", Rounding::Rne).answer(&[]), None);
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
