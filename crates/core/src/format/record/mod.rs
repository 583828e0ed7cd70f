//! Formats that users describe: a record in a TOML file.

mod table;

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::{Encoding, FORMATS, Float, Format, Overflow, Specials, Zeros, by_rule, find};
use crate::{Error, Result, base::text};

/// Format of a command line: a name that [`find`] knows, or a file that ends in `.toml`.
///
/// The file is a record (see [`Format::from_toml`]). Names inside foreign files (recordings, models) go to [`find`], so
/// that they open no file.
///
/// # Errors
/// Like [`find`]; a file that cannot be read or is not a record of a format, with file, line, key and allowed values.
pub fn resolve(name: &str) -> Result<&'static Format> {
    if !name.to_ascii_lowercase().ends_with(".toml") {
        return find(name);
    }
    let text = text::read(Path::new(name), "the format file")?;
    // Leaked: a command names few formats and uses them to its end, like those of the table.
    Ok(Box::leak(Box::new(Format::from_toml(&text, name)?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: Spanned<String>,
    #[serde(default = "yes")]
    signed: Spanned<bool>,
    exponent_bits: Spanned<i64>,
    trailing_bits: Spanned<i64>,
    #[serde(default = "none")]
    padding_bits: Spanned<i64>,
    bias: Spanned<i64>,
    zeros: Spanned<Zeros>,
    subnormals: Option<Spanned<bool>>,
    specials: Spanned<Specials>,
    overflow: Option<Spanned<Overflow>>,
    source: Option<String>,
}

/// Results of overflow that a format's own standard can have.
const STANDARDS: [Overflow; 3] = [Overflow::Infinity, Overflow::Nan, Overflow::Saturate];

fn yes() -> Spanned<bool> {
    Spanned::new(0..0, true)
}

fn none() -> Spanned<i64> {
    Spanned::new(0..0, 0)
}

/// Impossible value: the key, its place, the problem and the allowed values.
struct RecordDefect {
    key: &'static str,
    at: usize,
    what: String,
}

fn defect<T>(key: &'static str, value: &Spanned<T>, what: impl Into<String>) -> RecordDefect {
    RecordDefect { key, at: value.span().start, what: what.into() }
}

impl Format {
    /// Format that `text` describes, a TOML document; `origin` names it in messages.
    ///
    /// A format by table has the keys `name` and `values`: an array of the value of each code, 2 to 256, a power of two
    /// of them. Each is a number of TOML, or text as [`Real`](super::Real) reads it (`"0x1.8p-3"`, `"nan"`). Equal values
    /// may have several codes: encoding gives the lowest. Optional keys:
    ///
    /// - `thresholds`: boundaries of rounding to the nearest, in ascending order between the numbers (half-way);
    /// - `ties`: the number on a boundary, `"even"` code, `"away"` from zero, `"down"` or `"up"`, as [`Ties`](super::Ties)
    ///   describes them;
    /// - `overflow` as below, and `limit`: the magnitude from which on a value overflows (every value beyond the numbers).
    ///
    /// A floating-point format is described by its fields. Every number of the format must be one of binary64, and a code has at most 64 bits. Keys:
    ///
    /// - `name`;
    /// - `exponent_bits` (1 to 11), `trailing_bits` (0 to 52), `bias`;
    /// - `zeros`: `"both"` in a signed format (`"positive"` where the code of -0 is the NaN), `"positive"` or `"none"`
    ///   in an unsigned one;
    /// - `specials`: `"ieee"`, `"all-ones-nan"`, `"all-ones-nan-infinity"`, `"negative-zero-nan"`,
    ///   `"negative-zero-nan-infinity"` or `"none"`, as [`Specials`] describes them;
    /// - optionally `signed` (true), `padding_bits` (0), `overflow` (`"infinity"`, `"nan"` or `"saturate"`: the first
    ///   that the format has), `source` (a document), and `subnormals`, which can only say whether there is a zero.
    ///
    /// # Errors
    /// Unknown or missing keys, impossible values and combinations: with line, key and allowed values.
    pub fn from_toml(text: &str, origin: &str) -> Result<Format> {
        let unreadable = |error: toml::de::Error| Error::request(format!("{origin}: {}", error.to_string().trim_end()));
        let by_table = toml::from_str::<toml::Table>(text).map_err(unreadable)?.contains_key("values");
        let format = match by_table {
            true => toml::from_str::<table::Record>(text).map_err(unreadable)?.format(),
            false => toml::from_str::<Record>(text).map_err(unreadable)?.format(),
        };
        format.map_err(|RecordDefect { key, at, what }| {
            let line = text[..at.min(text.len())].matches('\n').count() + 1;
            Error::request(format!("{origin}, line {line}: '{key}' {what}"))
        })
    }
}

impl Format {
    /// Record of a format, as read by [`Format::from_toml`]; `None` for integers.
    pub(crate) fn to_toml(&self) -> Option<String> {
        let float = match &self.encoding {
            Encoding::Float(float) => float,
            Encoding::Table(values) => return Some(table::written(self, values).to_string()),
            Encoding::Integer { .. } => return None,
        };
        let numbers = [
            ("exponent_bits", i64::from(float.exponent_bits)),
            ("trailing_bits", i64::from(float.trailing_bits)),
            ("padding_bits", i64::from(float.padding_bits)),
            ("bias", i64::from(float.bias)),
        ];
        let mut table = toml::Table::new();
        table.extend(numbers.map(|(key, value)| (key.to_string(), value.into())));
        table.insert("signed".into(), float.signed.into());
        for (key, value) in [
            ("name", self.name),
            ("zeros", float.zeros.name()),
            ("specials", float.specials.name()),
            ("overflow", float.overflow.name()),
            ("source", self.source),
        ] {
            table.insert(key.into(), value.into());
        }
        Some(table.to_string())
    }
}

impl Record {
    fn format(&self) -> std::result::Result<Format, RecordDefect> {
        let name = checked_name(&self.name)?;
        let float = self.fields()?;
        self.specials_fit(&float)?;
        self.range_fits(&float)?;
        let bits = u32::from(float.signed) + float.exponent_bits + float.trailing_bits + float.padding_bits;
        Ok(Format {
            // Leaked like the format itself: see `resolve`.
            name: Box::leak(name.into_boxed_str()),
            aliases: &[],
            bits,
            encoding: Encoding::Float(float),
            source: leaked_source(self.source.as_deref()),
        })
    }

    fn fields(&self) -> std::result::Result<Float, RecordDefect> {
        let within = |key, value: &Spanned<i64>, least: i64, most: i64| {
            let number = *value.get_ref();
            let fits = (least..=most).contains(&number);
            if fits {
                Ok(number)
            } else {
                Err(defect(key, value, format!("is {number}; it must be {least} to {most}")))
            }
        };
        let exponent_bits = within("exponent_bits", &self.exponent_bits, 1, 11)? as u32;
        let trailing_bits = within("trailing_bits", &self.trailing_bits, 0, 52)? as u32;
        let signed = *self.signed.get_ref();
        let left = 64 - u32::from(signed) - exponent_bits - trailing_bits;
        let padding_bits = within("padding_bits", &self.padding_bits, 0, left.into())? as u32;
        let (zeros, specials) = (*self.zeros.get_ref(), *self.specials.get_ref());
        let overflow = match (&self.overflow, specials) {
            (Some(given), _) => standard_overflow(given)?,
            (None, specials) if specials.has_infinity() => Overflow::Infinity,
            (None, Specials::None) => Overflow::Saturate,
            (None, _) => Overflow::Nan,
        };
        Ok(Float {
            signed,
            exponent_bits,
            trailing_bits,
            padding_bits,
            bias: within("bias", &self.bias, -2200, 2200)? as i32,
            zeros,
            subnormals: zeros != Zeros::None,
            specials,
            overflow,
        })
    }

    /// Checks that zeros, subnormals, infinities and NaNs leave room for one another.
    fn specials_fit(&self, float: &Float) -> std::result::Result<(), RecordDefect> {
        if let Some(subnormals) = self.subnormals.as_ref().filter(|given| *given.get_ref() != float.subnormals) {
            let only = "must be true in a format with a zero, and false in one without";
            return Err(defect("subnormals", subnormals, only));
        }
        let fnuz = float.specials.takes_negative_zero();
        let zeros = match (float.signed, float.zeros) {
            (true, Zeros::Positive) if fnuz => None,
            (true, _) if fnuz => Some("must be \"positive\" where the code of -0 is the NaN"),
            (true, Zeros::Both) | (false, Zeros::None | Zeros::Positive) => None,
            (true, _) => Some("must be \"both\" in a signed format, unless the code of -0 is the NaN"),
            (false, Zeros::Both) => Some("must be \"positive\" or \"none\" in an unsigned format"),
        };
        if let Some(what) = zeros {
            return Err(defect("zeros", &self.zeros, what));
        }
        let (exponent_bits, trailing_bits) = (float.exponent_bits, float.trailing_bits);
        let specials = match float.specials {
            _ if fnuz && !float.signed => Some("with the NaN in the place of -0 needs a signed format"),
            Specials::Ieee if trailing_bits == 0 => Some("\"ieee\" needs trailing_bits of 1 or more, for a NaN"),
            Specials::Ieee if exponent_bits == 1 => {
                Some("\"ieee\" needs exponent_bits of 2 or more, for a normal number")
            }
            Specials::AllOnesNan | Specials::AllOnesNanInfinity | Specials::NegativeZeroNanInfinity
                if !has_normal(float) =>
            {
                Some("leaves no normal number; exponent_bits or trailing_bits must be larger")
            }
            _ => None,
        };
        if let Some(what) = specials {
            return Err(defect("specials", &self.specials, what));
        }
        let missing = match float.overflow {
            Overflow::Infinity if !float.specials.has_infinity() => "infinity",
            Overflow::Nan if float.specials == Specials::None => "NaN",
            _ => return Ok(()),
        };
        match &self.overflow {
            Some(overflow) => Err(defect("overflow", overflow, format!("asks for {missing}, which the format lacks"))),
            None => Ok(()),
        }
    }

    /// Checks that every number is one of binary64.
    fn range_fits(&self, float: &Float) -> std::result::Result<(), RecordDefect> {
        let (lowest, highest) = (float.emin() - float.trailing_bits as i32, float.emax());
        if lowest >= -1074 && highest <= 1023 {
            return Ok(());
        }
        let bias = float.bias;
        let (least, most) = (bias + highest - 1023, bias + lowest + 1074);
        let remedy = match least <= most {
            true => format!("with these fields it must be {least} to {most}"),
            false => "no bias is allowed with these fields; take a bit from exponent_bits or trailing_bits".into(),
        };
        Err(defect(
            "bias",
            &self.bias,
            format!(
                "is {bias}: weights would range from 2^{lowest} to 2^{highest}, but binary64 has only 2^-1074 to 2^1023; \
                 {remedy}"
            ),
        ))
    }
}

/// Document of a format, leaked like the format itself: see [`resolve`].
fn leaked_source(source: Option<&str>) -> &'static str {
    Box::leak(source.unwrap_or("a description by the user").to_string().into_boxed_str())
}

/// Result of overflow that a format's own standard can have.
fn standard_overflow(given: &Spanned<Overflow>) -> std::result::Result<Overflow, RecordDefect> {
    match STANDARDS.contains(given.get_ref()) {
        true => Ok(*given.get_ref()),
        false => Err(defect("overflow", given, "must be \"infinity\", \"nan\" or \"saturate\"")),
    }
}

/// The name, if it is well-formed and free.
fn checked_name(given: &Spanned<String>) -> std::result::Result<String, RecordDefect> {
    let name = given.get_ref();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
        return Err(defect("name", given, "needs 1 to 40 small letters, digits, '-' and '_'"));
    }
    match (find(name), by_rule::named(&name.replace(['-', '_'], ""))) {
        (Ok(known), Some((family, _))) if !FORMATS.contains(known) => Err(defect(
            "name",
            given,
            format!(
                "is taken: '{known}' is the format of {} bits by {}; use another, such as 'my-{known}'",
                known.bits, family.rule
            ),
        )),
        (Ok(known), _) => Err(defect("name", given, format!("is taken: '{name}' names the format {known}"))),
        (Err(_), _) => Ok(name.clone()),
    }
}

/// True if the codes of infinities and NaN leave a normal number.
fn has_normal(float: &Float) -> bool {
    let specials = 1 + u64::from(float.specials == Specials::AllOnesNanInfinity);
    let smallest = u64::from(float.zeros != Zeros::None) << float.trailing_bits;
    (1u64 << (float.exponent_bits + float.trailing_bits)) > specials + smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Class, FORMATS, Rounding};

    /// Record of a format of the table, as a document.
    fn document(format: &Format, float: &Float) -> String {
        format!(
            "name = 'my-{format}'\nsigned = {}\nexponent_bits = {}\ntrailing_bits = {}\npadding_bits = {}\nbias = {}\n\
             zeros = '{}'\nsubnormals = {}\nspecials = '{}'\noverflow = '{}'\n",
            float.signed,
            float.exponent_bits,
            float.trailing_bits,
            float.padding_bits,
            float.bias,
            float.zeros.name(),
            float.subnormals,
            float.specials.name(),
            float.overflow.name()
        )
    }

    #[test]
    fn every_format_of_the_table_can_be_described() {
        for format in FORMATS {
            let Some(float) = format.float() else { continue };
            let text = document(format, float);
            let described = Format::from_toml(&text, "f.toml").unwrap();
            assert_eq!((described.bits, described.encoding), (format.bits, format.encoding), "{format}");
            // Optional keys at their defaults change nothing.
            let optional = ["signed = true", "padding_bits = 0", "subnormals", "overflow"];
            let short: Vec<&str> = text.lines().filter(|line| !optional.iter().any(|o| line.starts_with(o))).collect();
            assert_eq!(Format::from_toml(&short.join("\n"), "f.toml").unwrap().encoding, format.encoding, "{format}");
        }
    }

    #[test]
    fn impossible_records_are_refused_with_line_and_key() {
        let f16 = find("f16").unwrap();
        let text = document(f16, f16.float().unwrap());
        for (line, other, parts) in [
            (1, "name = 'half'", &["'name'", "the format f16"][..]),
            (1, "name = 'e3m4'", &["'name' is taken", "8 bits by IEEE 754's rules", "'my-e3m4'"]),
            (1, "name = 'My format'", &["'name'", "small letters"]),
            (1, "nam = 'x'", &["nam", "unknown field"]),
            (2, "signed = 1", &["boolean"]),
            (3, "exponent_bits = 12", &["'exponent_bits' is 12", "1 to 11"]),
            (3, "exponent_bits = 0", &["'exponent_bits' is 0", "1 to 11"]),
            (3, "exponent_bits = 1", &["'specials'", "exponent_bits of 2"]),
            (4, "trailing_bits = 53", &["'trailing_bits' is 53", "0 to 52"]),
            (4, "trailing_bits = 0", &["'specials'", "trailing_bits of 1"]),
            (5, "padding_bits = 49", &["'padding_bits' is 49", "0 to 48"]),
            (6, "bias = 1100", &["'bias' is 1100", "must be -993 to 1065"]),
            (6, "bias = 99999999999", &["'bias'", "-2200 to 2200"]),
            (7, "zeros = 'positive'", &["'zeros'", "must be \"both\""]),
            (7, "zeros = 'some'", &["zeros", "`positive`"]),
            (8, "subnormals = false", &["'subnormals' must be true"]),
            (9, "specials = 'negative-zero-nan'", &["'zeros' must be \"positive\""]),
            (9, "specials = 'none'", &["'overflow' asks for infinity"]),
            (10, "overflow = 'standard'", &["'overflow' must be", "\"saturate\""]),
        ] {
            let mut lines: Vec<&str> = text.lines().collect();
            lines[line - 1] = other;
            let error = Format::from_toml(&lines.join("\n"), "f.toml").unwrap_err();
            assert_eq!(error.exit_status(), 2);
            let message = error.to_string();
            assert!(message.starts_with("f.toml"), "{other}: {message}");
            assert!(parts.iter().all(|part| message.contains(part)), "{other}: {message}");
            if !message.contains("'specials'") && !message.contains("'zeros' must") && !message.contains("asks for") {
                assert!(message.contains(&format!("line {line}")), "{other}: {message}");
            }
        }
    }

    /// Every record with small fields is either refused or a format whose codes keep their values.
    #[test]
    fn every_small_record_is_refused_or_consistent() {
        let (mut accepted, mut refused) = (0, 0);
        for bits in 0..2 * 3 * 4 * 3 * 4 {
            let (signed, bits) = (bits % 2 == 0, bits / 2);
            let (exponent_bits, bits) = (bits % 3 + 1, bits / 3);
            let (trailing_bits, bits) = (bits % 4, bits / 4);
            let (zeros, specials) = (["none", "positive", "both"][bits % 3], bits / 3);
            let specials = ["ieee", "all-ones-nan", "negative-zero-nan", "none"][specials];
            let text = format!(
                "name = 'x'\nsigned = {signed}\nexponent_bits = {exponent_bits}\ntrailing_bits = {trailing_bits}\n\
                 bias = 1\nzeros = '{zeros}'\nspecials = '{specials}'\npadding_bits = 1"
            );
            let Ok(format) = Format::from_toml(&text, "x") else {
                refused += 1;
                continue;
            };
            accepted += 1;
            let number = |code: u64| format.decode(code).is_finite().then(|| format.to_f64(code));
            assert!((0..=format.code_mask()).any(|code| number(code).is_some_and(|value| value != 0.0)), "{text}");
            for code in (0..=format.code_mask()).step_by(2) {
                let again = format.encode(&format.value(code), Rounding::Rne, Overflow::Standard);
                let nan = format.decode(code).class == Class::Nan;
                assert_eq!(again, if nan { format.nan() } else { Some(code) }, "{code:#x} of {text}");
            }
            let largest = format.to_f64(format.largest(false));
            let values = (0..=format.code_mask()).filter_map(number);
            assert_eq!(values.fold(f64::MIN, f64::max), largest, "{text}");
        }
        assert!(accepted > 30 && refused > 50, "{accepted} {refused}");
    }
}
