//! Records of formats by table.

use serde::Deserialize;
use toml::Spanned;

use super::{RecordDefect, checked_name, defect, leaked_source, standard_overflow};
use crate::{
    format::{Encoding, Format, MOST_CODES, Nearest, Overflow, Real, Rounding, Ties, ValueTable, find},
    number::Finite,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    name: Spanned<String>,
    values: Spanned<Vec<Number>>,
    #[serde(default = "empty")]
    thresholds: Spanned<Vec<Number>>,
    ties: Option<Ties>,
    limit: Option<Spanned<Number>>,
    overflow: Option<Spanned<Overflow>>,
    source: Option<String>,
}

fn empty() -> Spanned<Vec<Number>> {
    Spanned::new(0..0, Vec::new())
}

/// Number of a record: TOML's own, or one in quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Number {
    /// Number of binary64, NaN or an infinity.
    /// A decimal is rounded to nearest. A hexadecimal number or a multiple of a power of two has to fit.
    fn value(&self) -> Result<f64, String> {
        let text = match self {
            Number::Float(value) => return Ok(*value),
            Number::Integer(value) => value.to_string(),
            Number::Text(text) => text.clone(),
        };
        let real: Real = text.parse().map_err(|error: crate::Error| error.to_string())?;
        let binary64 = find("f64").map_err(|error| error.to_string())?;
        let code = binary64.encode(&real, Rounding::Rne, Overflow::Standard).ok_or("has no code in binary64")?;
        let value = f64::from_bits(code);
        let decimal = !text.to_ascii_lowercase().contains("0x") && !text.contains('^');
        let exact = match (real, Real::from(value)) {
            (Real::Finite(given), Real::Finite(kept)) => decimal || same(&given, &kept),
            (Real::Finite(_), _) => false,
            _ => true,
        };
        if exact { Ok(value) } else { Err(format!("'{text}' is not a number of binary64")) }
    }
}

fn same(x: &Finite, y: &Finite) -> bool {
    !x.sticky && x.minus(y).is_zero()
}

/// Values of an array; the message counts from 1.
fn numbers(key: &'static str, array: &Spanned<Vec<Number>>) -> Result<Vec<f64>, RecordDefect> {
    let numbered = array.get_ref().iter().enumerate();
    numbered
        .map(|(at, number)| number.value().map_err(|what| defect(key, array, format!("number {}: {what}", at + 1))))
        .collect()
}

impl Record {
    pub(super) fn format(&self) -> Result<Format, RecordDefect> {
        let name = checked_name(&self.name)?;
        let values = numbers("values", &self.values)?;
        let count = values.len();
        if !(2..=MOST_CODES).contains(&count) || !count.is_power_of_two() {
            let what = format!(
                "has {count} values; it needs a power of two from 2 to {MOST_CODES}, one for each code (repeat a value \
                 for codes that are not used: encoding gives the lowest)"
            );
            return Err(defect("values", &self.values, what));
        }
        if !values.iter().any(|value| value.is_finite()) {
            return Err(defect("values", &self.values, "has no finite number"));
        }
        let values: &'static [f64] = Vec::leak(values);
        let overflow = match &self.overflow {
            Some(given) => standard_overflow(given)?,
            None if values.iter().any(|value| value.is_infinite()) => Overflow::Infinity,
            None if values.iter().any(|value| value.is_nan()) => Overflow::Nan,
            None => Overflow::Saturate,
        };
        let lacks = match overflow {
            Overflow::Infinity if !values.iter().any(|value| value.is_infinite()) => "infinity",
            Overflow::Nan if !values.iter().any(|value| value.is_nan()) => "NaN",
            _ => "",
        };
        if let Some(given) = self.overflow.as_ref().filter(|_| !lacks.is_empty()) {
            return Err(defect("overflow", given, format!("asks for {lacks}, which the format lacks")));
        }
        // Leaked like the format itself: see `resolve`.
        let table = ValueTable::new(values, Nearest { overflow, ..Nearest::EVEN });
        let nearest = Nearest {
            thresholds: Vec::leak(self.checked_thresholds(&table)?),
            ties: self.ties.unwrap_or(Ties::Even),
            limit: self.checked_limit(&table)?,
            overflow,
        };
        Ok(Format {
            name: Box::leak(name.into_boxed_str()),
            aliases: &[],
            bits: count.ilog2(),
            encoding: Encoding::Table(Box::leak(Box::new(ValueTable::new(values, nearest)))),
            source: leaked_source(self.source.as_deref()),
        })
    }

    /// Boundaries in ascending order, each between two neighbours.
    fn checked_thresholds(&self, table: &ValueTable) -> Result<Vec<f64>, RecordDefect> {
        let thresholds = numbers("thresholds", &self.thresholds)?;
        let ascending: Vec<f64> = table.ascending().iter().map(|&code| table.values()[usize::from(code)]).collect();
        if thresholds.is_empty() {
            return Ok(thresholds);
        }
        let wrong = |what: String| Err(defect("thresholds", &self.thresholds, what));
        if thresholds.len() != ascending.len() - 1 {
            let (needed, numbers) = (ascending.len() - 1, ascending.len());
            return wrong(format!(
                "has {} numbers; it needs {needed}, one between each of the {numbers} different numbers and the next",
                thresholds.len()
            ));
        }
        for (at, (threshold, pair)) in thresholds.iter().zip(ascending.windows(2)).enumerate() {
            if !(pair[0]..=pair[1]).contains(threshold) {
                return wrong(format!("number {}: {threshold} must lie from {} to {}", at + 1, pair[0], pair[1]));
            }
        }
        Ok(thresholds)
    }

    /// Magnitude of overflow, which lies beyond every number.
    fn checked_limit(&self, table: &ValueTable) -> Result<Option<f64>, RecordDefect> {
        let Some(given) = &self.limit else { return Ok(None) };
        let limit = given.get_ref().value().map_err(|what| defect("limit", given, what))?;
        let finite = table.values().iter().filter(|value| value.is_finite());
        let largest = finite.fold(0f64, |largest, value| largest.max(value.abs()));
        if limit > largest {
            return Ok(Some(limit));
        }
        Err(defect(
            "limit",
            given,
            format!("is {limit}; it must be greater than the largest number, {largest}, or inf"),
        ))
    }
}

/// Record of a format by table, as [`Record`] reads it.
pub(super) fn written(format: &Format, values: &ValueTable) -> toml::Table {
    let list = |numbers: &[f64]| toml::Value::Array(numbers.iter().map(|number| toml::Value::Float(*number)).collect());
    let nearest = values.nearest();
    let mut table = toml::Table::new();
    table.insert("name".into(), format.name.into());
    table.insert("values".into(), list(values.values()));
    if !nearest.thresholds.is_empty() {
        table.insert("thresholds".into(), list(nearest.thresholds));
    }
    table.insert("ties".into(), nearest.ties.name().into());
    if let Some(limit) = nearest.limit {
        table.insert("limit".into(), limit.into());
    }
    table.insert("overflow".into(), nearest.overflow.name().into());
    table.insert("source".into(), format.source.into());
    table
}

#[cfg(test)]
mod tests {
    use crate::format::{FORMATS, Format, Overflow, Rounding};

    #[test]
    fn every_format_by_table_can_be_described() {
        for format in FORMATS.iter().filter(|format| format.table().is_some()) {
            let text = format.to_toml().unwrap().replace(&format!("name = \"{format}\""), "name = \"my-format\"");
            let described = Format::from_toml(&text, "f.toml").unwrap();
            assert_eq!((described.bits, described.encoding), (format.bits, format.encoding), "{format}");
        }
    }

    #[test]
    fn numbers_are_read_in_every_notation() {
        let text = "name = 'mine'\nvalues = [1, -0.5, '0x1.8p-3', '3*2^-5', 'nan', inf, '-inf', '-0']\n";
        let format = Format::from_toml(text, "f.toml").unwrap();
        let values = format.table().unwrap().values();
        assert_eq!(values[..4], [1.0, -0.5, 0.1875, 0.09375]);
        assert!(values[4].is_nan() && values[5] == f64::INFINITY && values[6] == f64::NEG_INFINITY);
        assert!(values[7] == 0.0 && values[7].is_sign_negative());
        assert_eq!((format.bits, format.nan(), format.zero(true)), (3, Some(4), Some(7)));
        assert_eq!(format.encode_f64(1e9, Rounding::Rne, Overflow::Standard), Some(5));
    }

    #[test]
    fn impossible_tables_are_refused_with_line_and_key() {
        for (lines, parts) in [
            ("values = [1, 2, 3]", &["line 2", "'values' has 3 values", "a power of two from 2 to 256"][..]),
            ("values = [1]", &["line 2", "'values' has 1 values"]),
            ("values = ['nan', 'inf']", &["line 2", "no finite number"]),
            ("values = ['one', 2]", &["line 2", "'values' number 1: 'one' is not a number"]),
            ("values = ['0x1.00000000000008p0', 2]", &["number 1", "not a number of binary64"]),
            ("values = ['1*2^2000', 2]", &["number 1", "not a number of binary64"]),
            ("values = [1, 2]\nthresholds = [1.5, 1.6]", &["line 3", "'thresholds' has 2 numbers; it needs 1"]),
            ("values = [1, 2]\nthresholds = [2.5]", &["line 3", "number 1: 2.5 must lie from 1 to 2"]),
            ("values = [1, 2]\nthresholds = [nan]", &["line 3", "number 1: NaN must lie from 1 to 2"]),
            ("values = [1, 2]\nlimit = 1.5", &["line 3", "'limit' is 1.5", "greater than the largest number, 2"]),
            ("values = [1, 2]\noverflow = 'nan'", &["line 3", "'overflow' asks for NaN"]),
            ("values = [1, 2]\noverflow = 'standard'", &["line 3", "'overflow' must be"]),
            ("values = [1, 2]\nties = 'odd'", &["ties", "`even`"]),
            ("values = [1, 2]\nbias = 3", &["bias", "unknown field"]),
        ] {
            let error = Format::from_toml(&format!("name = 'x'\n{lines}\n"), "f.toml").unwrap_err();
            assert_eq!(error.exit_status(), 2);
            let message = error.to_string();
            assert!(message.starts_with("f.toml"), "{lines}: {message}");
            assert!(parts.iter().all(|part| message.contains(part)), "{lines}: {message}");
        }
    }
}
