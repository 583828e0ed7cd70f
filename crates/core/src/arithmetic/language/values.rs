//! Values of keys in model files: names of formats, roundings and rules, and codes.

use serde::{Deserialize, Deserializer, de::Error as _};

use super::rule::Rounded;
use crate::format::{self, Format, Overflow, Rounding};

pub(super) fn standard() -> Overflow {
    Overflow::Standard
}

pub(super) fn format_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Format, D::Error> {
    format::find(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

pub(super) fn optional_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'static Format>, D::Error> {
    format_name(deserializer).map(Some)
}

pub(super) fn rounding<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rounding, D::Error> {
    let name = String::deserialize(deserializer)?;
    Rounding::parse(&name)
        .ok_or_else(|| D::Error::custom(format!("unknown rounding '{name}'; expected RNE, RNA, RZ, RU, RD or RO")))
}

/// Rounding of the last value, which can be stochastic.
/// The number of its random bits is a key of its own.
pub(super) fn output_rounding<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rounding, D::Error> {
    let name = String::deserialize(deserializer)?;
    let stochastic = Rounding::Sr { random: 0, bits: 1 };
    let is_stochastic = name.eq_ignore_ascii_case(stochastic.name());
    Rounding::parse(&name)
        .or(is_stochastic.then_some(stochastic))
        .ok_or_else(|| D::Error::custom(format!("unknown rounding '{name}'; expected RNE, RNA, RZ, RU, RD, RO or SR")))
}

pub(super) fn code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()).map(Some).ok_or_else(|| {
        D::Error::custom(format!("'{text}' is not a code; write it in hexadecimal, like \"0x7fffffff\""))
    })
}

/// Format and rounding from a table that could have been something else.
pub(super) fn format_and_rounding(table: toml::Table) -> Result<Rounded, String> {
    Rounded::deserialize(table).map_err(|error| error.message().to_string())
}
