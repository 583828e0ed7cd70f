//! Rows and answers on converted values.

use std::cmp::Ordering;

use crate::{
    base::visible::shortened,
    format::{Real, Rounding},
    report::{Table, counted, grouped, three_digits},
    tensor::{ValueConversion, ValueRead},
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

/// The table of converted values.
pub fn table(conversion: &ValueConversion, rows: Vec<ConversionRow>) -> Table {
    Table::of(
        format!("To {}, {}, overflow: {}", conversion.to, conversion.rounding.name(), conversion.overflow.name()),
        rows,
    )
}

/// The result in a sentence; `None` without values.
pub fn answer(conversion: &ValueConversion, rows: &[ConversionRow]) -> Option<String> {
    match rows {
        [] => None,
        [row] => Some(answer_of_one(conversion, row)),
        rows => Some(answer_of_several(conversion, rows)),
    }
}

fn answer_of_one(conversion: &ValueConversion, row: &ConversionRow) -> String {
    let (to, input) = (conversion.to, shortened(&row.input));
    let (code, decimal) = (row.code.as_deref().unwrap_or("-"), row.decimal.as_deref().unwrap_or("-"));
    match fate(conversion, row) {
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

fn answer_of_several(conversion: &ValueConversion, rows: &[ConversionRow]) -> String {
    let fates: Vec<Fate> = rows.iter().map(|row| fate(conversion, row)).collect();
    let count = |of: fn(&Fate) -> bool| fates.iter().filter(|fate| of(fate)).count() as i64;
    let negative = format!("negative, and {} has no negative numbers", conversion.to);
    let lacks = format!("no code: NaN, which {} lacks", conversion.to);
    let largest = fates.iter().filter_map(|fate| if let Fate::Rounded(error) = fate { Some(*error) } else { None });
    let rounded = format!("rounded, by up to {} ulp", three_digits(largest.fold(0.0, f64::max)));
    let exact = grouped(count(|fate| *fate == Fate::Exact));
    let mut parts = vec![format!("{exact} of {} are exact in {}", counted(rows.len() as u64, "value"), conversion.to)];
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

fn fate(conversion: &ValueConversion, row: &ConversionRow) -> Fate {
    let (Some(value), Some(exact)) = (row.value, row.exact) else { return Fate::WithoutCode };
    let code = conversion.to.largest(value.is_sign_negative());
    let largest = conversion.to.to_f64(code);
    let is_odd = code >> conversion.to.float().map_or(0, |float| float.padding_bits) & 1 == 1;
    let inwards = if value < 0.0 { "up" } else { "down" };
    // An error that rounding alone does not make.
    let beyond = |error: f64| match conversion.rounding {
        Rounding::Rne if !is_odd => error.abs() > 0.5,
        Rounding::Rne | Rounding::Rna => error.abs() >= 0.5,
        _ => error.abs() >= 1.0,
    };
    let negative = row.from_value.map_or_else(|| row.input.starts_with('-'), |from| from < 0.0);
    match row.error_ulps {
        _ if exact => Fate::Exact,
        error if negative && !conversion.to.is_signed() && error.is_none_or(|error| error.abs() >= 1.0) => {
            Fate::Negative
        }
        None if value.is_nan() => Fate::Nan,
        None if value.is_infinite() => Fate::Infinity,
        None if value == largest && row.direction == Some(inwards) => Fate::Largest,
        None => Fate::ToNumber,
        Some(_) if value.is_infinite() => Fate::Infinity,
        Some(error) if value == largest && row.direction == Some(inwards) && beyond(error) => Fate::Largest,
        Some(error) => Fate::Rounded(error.abs()),
    }
}

/// The row of one value.
pub fn row(conversion: &ValueConversion, source: &ValueRead) -> ConversionRow {
    let converted = conversion.convert(&source.value);
    let given = conversion.from.zip(source.code);
    let result = converted.code.map(|code| conversion.to.decode(code));
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
        code: converted.code.map(|code| conversion.to.hex(code)),
        decimal: result.map(|datum| datum.decimal()),
        scaled: result.map(|datum| datum.exact_text()),
        value: result.map(|datum| datum.to_f64()),
        exact: converted.code.map(|_| unchanged),
        direction,
        error_ulps: converted.error_ulps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Overflow, find};

    fn conversion(from: Option<&str>, to: &str, rounding: Rounding) -> ValueConversion {
        let from = from.map(|name| find(name).unwrap());
        ValueConversion { from, to: find(to).unwrap(), rounding, overflow: Overflow::Standard }
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
            let converted = |text| row(&conversion, &conversion.source(text).unwrap());
            let rows: Vec<ConversionRow> = texts.split(' ').map(converted).collect();
            assert_eq!(super::answer(&conversion, &rows).unwrap(), answer);
            assert!(super::answer(&conversion, &rows[..rows.len() - 1]).is_none_or(|answer| !answer.is_empty()));
        }
        assert_eq!(super::answer(&conversion(None, "e4m3", Rounding::Rne), &[]), None);
    }
}
