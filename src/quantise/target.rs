//! Targets of quantisation: a format, the rule for its scales, and the values that share a scale.

use std::fmt;

use super::{PlainRule, QuantisationRow};
use crate::{
    Error, Result,
    base::nearest::nearest,
    convert::{FileContent, layout},
    format::{
        Format,
        block::{BlockFormat, SCALE_RULES, ScaleRule, find_rule},
    },
};

/// Bits of the widest plain format that values are quantised to.
const WIDEST: u32 = 16;
/// Bits of a scale of plain formats, which is a number of f32.
const SCALE_BITS: u32 = 32;

/// Values of a tensor that share a scale; rows lie along the axis of quantisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// None: the format's own numbers are used.
    Unscaled,
    /// All.
    Tensor,
    /// Those with the same first index.
    Channel,
    /// Values of a row.
    Row,
    /// Values of blocks of rows and columns.
    Blocks {
        /// Rows of a block.
        rows: usize,
        /// Values of a row of it.
        columns: usize,
    },
}

/// Rule for the scale of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BlockScale {
    /// By a rule, from the largest magnitude.
    Rule(&'static ScaleRule),
    /// The scale of least square error, from the scale of `up` down to a quarter.
    LeastError,
}

/// Target of quantisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QuantisationTarget {
    /// A plain format.
    Plain {
        /// The format, of at most 16 bits.
        format: &'static Format,
        /// The rule for its scales.
        rule: PlainRule,
        /// Values that share a scale.
        sharing: Sharing,
    },
    /// A block format, in blocks along the rows.
    Blocks {
        /// The format.
        format: &'static BlockFormat,
        /// The rule for scales.
        scale: BlockScale,
    },
}

impl QuantisationTarget {
    /// The name of the format.
    pub fn format_name(&self) -> &'static str {
        match self {
            QuantisationTarget::Plain { format, .. } => format.name,
            QuantisationTarget::Blocks { format, .. } => format.name,
        }
    }

    /// The name of the rule for scales, where there are scales.
    pub fn rule_name(&self) -> Option<&'static str> {
        match self {
            QuantisationTarget::Plain { sharing: Sharing::Unscaled, .. } => None,
            QuantisationTarget::Plain { rule, .. } => Some(rule.name()),
            QuantisationTarget::Blocks { scale: BlockScale::Rule(rule), .. } => Some(rule.name),
            QuantisationTarget::Blocks { scale: BlockScale::LeastError, .. } => Some("mse"),
        }
    }

    /// Name of the sharing of scales.
    pub fn sharing_name(&self) -> String {
        match self {
            QuantisationTarget::Plain { sharing, .. } => sharing.to_string(),
            QuantisationTarget::Blocks { format, .. } => format!("1x{}", format.length),
        }
    }

    /// Bits that a value takes, its share of the scales included, in what this row tells of.
    pub(super) fn bits_a_value(&self, row: &QuantisationRow) -> f64 {
        let (bits, scale) = match self {
            QuantisationTarget::Plain { format, .. } => (format.bits, SCALE_BITS),
            QuantisationTarget::Blocks { format, .. } => (format.element.format.bits, format.scale.bits),
        };
        let scales = if self.rule_name().is_some() { row.scales.iter().sum::<u64>() } else { 0 };
        f64::from(bits) + (f64::from(scale) * scales as f64) / row.values.max(1) as f64
    }

    /// Rows and columns of the blocks that share a scale, if there are such.
    pub(super) fn block(&self) -> Option<(usize, usize)> {
        match self {
            QuantisationTarget::Plain { sharing: Sharing::Blocks { rows, columns }, .. } => Some((*rows, *columns)),
            QuantisationTarget::Plain { .. } => None,
            QuantisationTarget::Blocks { format, .. } => Some((1, format.length)),
        }
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sharing::Unscaled => f.pad("none"),
            Sharing::Tensor => f.pad("tensor"),
            Sharing::Channel => f.pad("channel"),
            Sharing::Row => f.pad("row"),
            Sharing::Blocks { rows, columns } => f.pad(&format!("{rows}x{columns}")),
        }
    }
}

/// Parses the name of a sharing of scales.
///
/// # Errors
/// An unknown name.
pub fn sharing(name: &str) -> Result<Sharing> {
    let blocks = |name: &str| {
        let (rows, columns) = name.split_once('x')?;
        let extent = |text: &str| text.parse().ok().filter(|extent| (1..=1 << 20).contains(extent));
        Some(Sharing::Blocks { rows: extent(rows)?, columns: extent(columns)? })
    };
    match name {
        "none" => Ok(Sharing::Unscaled),
        "tensor" => Ok(Sharing::Tensor),
        "channel" => Ok(Sharing::Channel),
        "row" => Ok(Sharing::Row),
        other => blocks(other).ok_or_else(|| {
            Error::request(format!(
                "--per {other}: scales are for a tensor, channel, row, blocks of ROWSxCOLUMNS (1x128, 128x128), or none"
            ))
        }),
    }
}

/// Every rule that a format has.
const ALL: &str = "all";

/// The own name of a rule, or [`ALL`].
fn rule_named(name: &str) -> Result<&'static str> {
    let plain = PlainRule::ALL.map(PlainRule::name).into_iter().chain([ALL]).find(|known| *known == name);
    plain.or_else(|| find_rule(name).ok().map(|rule| rule.name)).ok_or_else(|| {
        let known = SCALE_RULES.iter().map(|rule| rule.name).chain(PlainRule::ALL.map(PlainRule::name));
        let near = nearest(name, known, 3).join(", ");
        Error::request(format!("--scale-rule {name}: there is no such rule; the nearest: {near}; or {ALL}"))
    })
}

/// All combinations of formats, rules for scales and sharing, each where the format has it.
///
/// Without rules or sharing: the format's own rule, `absmax`, one scale for each tensor; formats of 16 bits have no scale.
///
/// # Errors
/// Unknown names; a rule or a sharing that no format takes.
pub fn targets(names: &[String], rules: &[String], per: &[String]) -> Result<Vec<QuantisationTarget>> {
    let per = per.iter().map(|name| sharing(name)).collect::<Result<Vec<_>>>()?;
    let rules = rules.iter().map(|name| rule_named(name)).collect::<Result<Vec<&'static str>>>()?;
    let asked = |name: &str| rules.iter().any(|rule| [ALL, name].contains(rule));
    let mut targets: Vec<QuantisationTarget> = Vec::new();
    for name in names {
        match layout(name)? {
            FileContent::Blocks(format) => {
                let given = SCALE_RULES.iter().filter(|rule| asked(rule.name));
                let mut scales: Vec<BlockScale> = given.map(BlockScale::Rule).collect();
                if asked("mse") {
                    scales.push(BlockScale::LeastError);
                }
                if scales.is_empty() {
                    scales.push(BlockScale::Rule(find_rule(format.default_rule)?));
                }
                targets.extend(scales.into_iter().map(|scale| QuantisationTarget::Blocks { format, scale }));
            }
            FileContent::Scalar(Some(format)) => targets.extend(plain(format, asked, &per)?),
            FileContent::Scalar(None) => unreachable!("a name names a format"),
        }
    }
    let unused = |rule: &&&str| **rule != ALL && targets.iter().all(|target| target.rule_name() != Some(**rule));
    if let Some(rule) = rules.iter().find(unused) {
        return Err(Error::request(format!(
            "--scale-rule {rule}: no scale of {} follows it; block formats have floor, ceil, even, up, nearest and mse, plain ones \
             absmax, pow2 and mse",
            names.join(", ")
        )));
    }
    let twice = targets.iter().enumerate().find(|(at, target)| targets[..*at].contains(target));
    match twice {
        Some((_, target)) => Err(Error::request(format!("--to: {} is given twice", target.format_name()))),
        None => Ok(targets),
    }
}

fn plain(format: &'static Format, asked: impl Fn(&str) -> bool, per: &[Sharing]) -> Result<Vec<QuantisationTarget>> {
    if format.bits > WIDEST {
        return Err(Error::request(format!(
            "--to {format}: it has {} bits; choose a format of at most {WIDEST}",
            format.bits
        )));
    }
    let own = if format.bits == WIDEST { Sharing::Unscaled } else { Sharing::Tensor };
    let per = if per.is_empty() { vec![own] } else { per.to_vec() };
    let given: Vec<PlainRule> = PlainRule::ALL.into_iter().filter(|rule| asked(rule.name())).collect();
    let given = if given.is_empty() { vec![PlainRule::Absmax] } else { given };
    let of_sharing = |sharing: &Sharing| {
        let rules = if *sharing == Sharing::Unscaled { vec![PlainRule::Absmax] } else { given.clone() };
        let sharing = *sharing;
        rules.into_iter().map(move |rule| QuantisationTarget::Plain { format, rule, sharing })
    };
    Ok(per.iter().flat_map(of_sharing).collect())
}
