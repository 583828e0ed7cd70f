//! One rule of a model file: how the instructions that it covers compute a dot-product-add.

use serde::{Deserialize, Deserializer, de::Error as _};

use crate::format::{self, Format, Overflow, Rounding};

/// How a set of instructions computes `d = c + sum over k of a*b`.
///
/// The k indices are split into `parts` (by default one, all of them, ascending) and each part into groups of
/// `group` consecutive indices. Each group is summed in one `step`. By default the result of one group is the
/// c of the next; `start`, `join` and `c` say where it is not. The last value is rounded to the format of D.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    /// Patterns of instruction names (see the model files).
    pub instructions: Vec<String>,
    /// Where the rule comes from: measured (which report), recorded vectors (which), literature (which).
    pub evidence: String,
    /// How one group is summed.
    pub step: Step,
    /// The format that A and B are first converted to (exactly); absent: none. It matters where a subnormal
    /// operand becomes a normal one, whose term has a smaller exponent.
    #[serde(default, deserialize_with = "optional_format")]
    pub unpack: Option<&'static Format>,
    /// Indices in a group; absent: all of a part.
    pub group: Option<usize>,
    /// How k is split before it is grouped.
    pub parts: Option<Parts>,
    /// What the first group of each chain starts from.
    #[serde(default)]
    pub start: Start,
    /// How the results of the groups come together.
    #[serde(default)]
    pub join: Join,
    /// When c enters.
    #[serde(default)]
    pub c: CPosition,
    /// Alignment of the terms of a fused step.
    pub alignment: Option<Alignment>,
    /// Format and rounding of the result of a step, and of the ordinary additions of `join` and `c`.
    pub result: Option<Rounded>,
    /// Rounding of ordinary additions where it differs from the result's.
    pub addition: Option<Rounded>,
    /// What an integer sum beyond the range of D becomes.
    pub wrap: Option<Wrap>,
    /// The operands of a fused multiply-add in the order in which a NaN among them becomes the result, made quiet;
    /// absent: every NaN result is the same. (Only where operands and results have one format.)
    pub nan_operands: Option<Vec<Operand>>,
    /// The code of D for every NaN, or with `nan-operands` for those of invalid operations.
    #[serde(default, deserialize_with = "code")]
    pub nan: Option<u64>,
}

/// An operand of a fused multiply-add a*b + c.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operand {
    /// The first factor.
    A,
    /// The second factor.
    B,
    /// The addend.
    C,
}

/// How one group is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// All terms are aligned to the largest exponent, cut, added exactly, and the sum is rounded once. Zero
    /// results are +0.
    Fused,
    /// A chain of IEEE 754 fused multiply-adds over ascending indices.
    Fma,
    /// Exact integers.
    Integer,
}

impl Step {
    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Step::Fused => "fused",
            Step::Fma => "fma",
            Step::Integer => "integer",
        }
    }
}

/// k split by residue: part i takes, in ascending order, the indices whose remainder modulo `period` is in `residues[i]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// The modulus.
    pub period: usize,
    /// The remainders of each part.
    pub residues: Vec<Vec<usize>>,
}

/// What a chain of groups starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// c, or +0 where c enters last.
    #[default]
    C,
    /// The first product itself, rounded to the result's format (no addition).
    Product,
}

/// How the results of groups come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// The result of one group is the c of the next.
    #[default]
    Chain,
    /// Each group is summed apart, and the results are added in order by ordinary additions, to c where that
    /// enters first.
    Add,
}

/// When c enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CPosition {
    /// Before everything else: as a term of the first group, or as the first term of the additions of `join`.
    #[default]
    First,
    /// After everything else, by an ordinary addition.
    Last,
}

/// The alignment of a fused step's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alignment {
    /// Bits kept after the binary point of a significand whose units digit weighs 2^e_max (F).
    pub bits: i32,
    /// How the bits beyond are cut off.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// The smallest e_max: the largest term exponent counts as at least this.
    pub floor: i32,
}

/// A format to round to, and how.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounded {
    /// The format.
    #[serde(deserialize_with = "format_name")]
    pub format: &'static Format,
    /// The rounding direction.
    #[serde(deserialize_with = "rounding")]
    pub rounding: Rounding,
    /// What happens beyond the largest finite number.
    #[serde(default = "standard", deserialize_with = "overflow")]
    pub overflow: Overflow,
}

/// What an integer sum beyond the range of D becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wrap {
    /// Reduced modulo 2^32.
    Wrap,
    /// The nearest end of the range.
    Saturate,
}

fn standard() -> Overflow {
    Overflow::Standard
}

fn format_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Format, D::Error> {
    format::find(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn optional_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'static Format>, D::Error> {
    format_name(deserializer).map(Some)
}

fn rounding<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rounding, D::Error> {
    let name = String::deserialize(deserializer)?;
    Rounding::parse(&name)
        .ok_or_else(|| D::Error::custom(format!("unknown rounding '{name}'; expected RNE, RNA, RZ, RU, RD or RO")))
}

fn overflow<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Overflow, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "standard" => Ok(Overflow::Standard),
        "infinity" => Ok(Overflow::Infinity),
        "nan" => Ok(Overflow::Nan),
        "saturate" => Ok(Overflow::Saturate),
        other => {
            Err(D::Error::custom(format!("unknown overflow '{other}'; expected standard, infinity, nan or saturate")))
        }
    }
}

fn code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()).map(Some).ok_or_else(|| {
        D::Error::custom(format!("'{text}' is not a code; write it in hexadecimal, like \"0x7fffffff\""))
    })
}
