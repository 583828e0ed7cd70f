//! Block formats from TOML: the files of `blocks/`, and files of users.

use std::{ops::Range, sync::LazyLock};

use serde::Deserialize;
use toml::Spanned;

use super::{BlockFormat, BlockOffset, Element, find_rule};
use crate::{
    Error, Result,
    format::{Encoding, Format, Real, resolve},
};

/// Path and text of each file of `blocks/`.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/blocks.rs"));
/// Most elements of a block.
const MOST: usize = 1 << 20;

static FORMATS: LazyLock<Vec<BlockFormat>> = LazyLock::new(|| {
    let read = |(path, text): &(&str, &str)| BlockFormat::from_toml(text, path).expect("a test reads every file");
    SHIPPED.iter().map(read).collect()
});

/// The shipped block formats, by name.
pub fn formats() -> &'static [BlockFormat] {
    &FORMATS
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: Spanned<String>,
    #[serde(default)]
    aliases: Vec<String>,
    element: Spanned<String>,
    #[serde(default)]
    exponent: i32,
    #[serde(default)]
    symmetric: bool,
    block: Spanned<toml::Value>,
    scale: Spanned<String>,
    tensor_scale: Option<Spanned<String>>,
    zero: Option<Spanned<String>>,
    minimum: Option<Spanned<String>>,
    rule: Spanned<String>,
    source: Option<String>,
}

/// Impossible value: the key, its place, and the problem.
struct RecordDefect(&'static str, Range<usize>, String);

impl BlockFormat {
    /// Block format that `text` describes, a TOML document; `origin` names it in messages. Keys:
    ///
    /// - `name`: small letters, digits and `-`;
    /// - `element`: a format of at most 8 bits, by name or file;
    /// - `block`: the number of elements along a row, or `[rows, columns]`;
    /// - `scale`: a floating-point format with a NaN, of at most 32 bits;
    /// - `rule`: the scale rule without another choice;
    /// - optionally `tensor_scale` (`"f32"`), `zero` (zero points) or `minimum`, `exponent` (elements are multiplied by `2^exponent`), `symmetric` (the most
    ///   negative integer is not written), `aliases`, `source`.
    ///
    /// # Errors
    /// Unknown or missing keys and impossible values: with line, key and allowed values.
    pub fn from_toml(text: &str, origin: &str) -> Result<BlockFormat> {
        let record: Record = toml::from_str(text)
            .map_err(|error| Error::request(format!("{origin}: {}", error.to_string().trim_end())))?;
        record.format().map_err(|RecordDefect(key, place, what)| {
            let line = text[..place.start.min(text.len())].matches('\n').count() + 1;
            Error::request(format!("{origin}, line {line}: '{key}' {what}"))
        })
    }
}

impl Record {
    fn format(self) -> std::result::Result<BlockFormat, RecordDefect> {
        let named = |key: &'static str,
                     value: &Spanned<String>|
         -> std::result::Result<&'static Format, RecordDefect> {
            resolve(value.get_ref()).map_err(|error| RecordDefect(key, value.span(), format!("is no format: {error}")))
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let name = self.name.get_ref();
        if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
            let what = "needs 1 to 40 small letters, digits and '-'".to_string();
            return Err(RecordDefect("name", self.name.span(), what));
        }
        let element = named("element", &self.element)?;
        if element.bits > 8 {
            let what = format!("is {element}, of {} bits; elements have at most 8", element.bits);
            return Err(RecordDefect("element", self.element.span(), what));
        }
        if !(-64..=64).contains(&self.exponent) {
            let what = format!("is {}; it must be -64 to 64", self.exponent);
            return Err(RecordDefect("exponent", 0..0, what));
        }
        let (rows, length) = extents(self.block.get_ref()).ok_or_else(|| {
            let what =
                format!("is {}; it must be a number of elements of a row, or [rows, columns]", self.block.get_ref());
            RecordDefect("block", self.block.span(), what)
        })?;
        if rows == 0 || length == 0 || rows.saturating_mul(length) > MOST {
            let what = format!("has {rows} x {length} elements; it must have 1 to {MOST}");
            return Err(RecordDefect("block", self.block.span(), what));
        }
        let scale = named("scale", &self.scale)?;
        if !is_scale(scale) {
            let what = format!(
                "is {scale}; scales are floating-point numbers of at most 32 bits with a NaN, which marks blocks that hold one"
            );
            return Err(RecordDefect("scale", self.scale.span(), what));
        }
        let tensor_scale = match &self.tensor_scale {
            Some(given) if given.get_ref() != "f32" => {
                return Err(RecordDefect("tensor_scale", given.span(), "must be \"f32\"".into()));
            }
            given => given.as_ref().map(|given| named("tensor_scale", given)).transpose()?,
        };
        let offset = match (&self.zero, &self.minimum) {
            (None, None) => None,
            (Some(zero), None) => Some(("zero", zero, BlockOffset::ZeroPoint(named("zero", zero)?))),
            (None, Some(minimum)) => Some(("minimum", minimum, BlockOffset::Minimum(named("minimum", minimum)?))),
            (Some(zero), Some(_)) => {
                return Err(RecordDefect("zero", zero.span(), "and 'minimum' exclude each other".into()));
            }
        };
        if let Some((key, given, offset)) = offset {
            let fits = match offset {
                BlockOffset::ZeroPoint(zero) => zero == element,
                BlockOffset::Minimum(minimum) => is_scale(minimum),
            };
            if !fits || !element.is_integer() || self.exponent != 0 || self.symmetric || tensor_scale.is_some() {
                let what = "needs elements of integers, without exponent, symmetric and tensor_scale; a zero point has their \
                            format, a minimum one of scales";
                return Err(RecordDefect(key, given.span(), what.into()));
            }
        }
        let offset = offset.map(|(_, _, offset)| offset);
        let rule = find_rule(self.rule.get_ref())
            .map_err(|error| RecordDefect("rule", self.rule.span(), format!("is no scale rule: {error}")))?;
        let rule_place = self.rule.span();
        // Leaked: a program uses its few formats to its end.
        let leaked = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let format = BlockFormat {
            name: leaked(name.clone()),
            aliases: self.aliases.into_iter().map(leaked).collect::<Vec<&str>>().leak(),
            element: Element { format: element, exponent: self.exponent, symmetric: self.symmetric },
            rows,
            length,
            scale,
            tensor_scale,
            offset,
            default_rule: rule.name,
            source: leaked(self.source.unwrap_or_else(|| "a description by the user".to_string())),
        };
        match rule.refusal(&format) {
            Some(why) => Err(RecordDefect("rule", rule_place, why)),
            None => Ok(format),
        }
    }
}

/// Rows and columns of a block: a number of elements of a row, or a list of both.
fn extents(value: &toml::Value) -> Option<(usize, usize)> {
    let extent = |value: &toml::Value| usize::try_from(value.as_integer()?).ok();
    match value {
        toml::Value::Array(extents) => match &extents[..] {
            [rows, columns] => Some((extent(rows)?, extent(columns)?)),
            _ => None,
        },
        length => Some((1, extent(length)?)),
    }
}

/// True for a floating-point format with a NaN whose positive numbers can be scales.
fn is_scale(format: &Format) -> bool {
    let positive = matches!(format.value(format.largest(false)), Real::Finite(largest) if !largest.is_zero());
    matches!(format.encoding, Encoding::Float(_)) && format.bits <= 32 && format.has_nan() && positive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_is_a_block_format_with_a_source() {
        for (path, text) in SHIPPED {
            let format = BlockFormat::from_toml(text, path).unwrap();
            assert!(text.contains("source"), "{path}");
            assert_eq!(super::super::find(format.name).map(|known| known.name), Some(format.name));
        }
    }

    #[test]
    fn a_value_that_is_impossible_is_refused_with_its_line() {
        let base = "name = \"mine\"\nelement = \"e2m1\"\nblock = 16\nscale = \"e8m0\"\nrule = \"floor\"\n";
        assert!(BlockFormat::from_toml(base, "x").is_ok());
        for (from, to, expected) in [
            ("\"e2m1\"", "\"f16\"", "x, line 2: 'element' is f16, of 16 bits; elements have at most 8"),
            ("\"e2m1\"", "\"e9\"", "x, line 2: 'element' is no format"),
            ("16", "0", "x, line 3: 'block' has 1 x 0 elements"),
            (
                "16",
                "[4, 4, 4]",
                "x, line 3: 'block' is [4, 4, 4]; it must be a number of elements of a row, or [rows, columns]",
            ),
            ("16", "-1", "x, line 3: 'block' is -1; it must be"),
            ("16", "\"row\"", "x, line 3: 'block' is \"row\"; it must be"),
            ("\"floor\"", "\"four-over-six:448\"", "x, line 5: 'rule' four-over-six:448 sets"),
            ("16", "[2048, 2048]", "x, line 3: 'block' has 2048 x 2048 elements"),
            ("\"e8m0\"", "\"e2m1\"", "x, line 4: 'scale' is e2m1; scales are"),
            ("\"e8m0\"", "\"s8\"", "x, line 4: 'scale' is s8; scales are"),
            ("\"floor\"", "\"flor\"", "x, line 5: 'rule' is no scale rule"),
            ("\"floor\"", "\"extreme\"", "x, line 5: 'rule' extreme needs"),
            ("mine", "Mine", "x, line 1: 'name' needs"),
            ("block", "blocks", "x: TOML parse error"),
        ] {
            let error = BlockFormat::from_toml(&base.replace(from, to), "x").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
