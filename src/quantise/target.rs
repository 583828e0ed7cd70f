//! Targets of quantisation: a format, the rule for its scales, and the values that share a scale.

use std::fmt;

use super::PlainRule;
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
        rule: &'static ScaleRule,
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
            QuantisationTarget::Blocks { rule, .. } => Some(rule.name),
        }
    }

    /// Name of the sharing of scales.
    pub fn sharing_name(&self) -> String {
        match self {
            QuantisationTarget::Plain { sharing, .. } => sharing.to_string(),
            QuantisationTarget::Blocks { format, .. } => format.extents(),
        }
    }

    /// Bits that a value takes, its share of the scales included, of which each takes whole bytes.
    pub(super) fn bits_a_value(&self, values: u64, scales: u64) -> f64 {
        let (bits, scale) = match self {
            QuantisationTarget::Plain { format, .. } => (format.bits, SCALE_BITS),
            QuantisationTarget::Blocks { format, .. } => (format.element.format.bits, 8 * format.scale.bytes() as u32),
        };
        let scales = if self.rule_name().is_some() { scales } else { 0 };
        f64::from(bits) + f64::from(scale) * scales as f64 / values.max(1) as f64
    }

    /// Rows and columns of the blocks that share a scale, if there are such.
    pub(super) fn block(&self) -> Option<(usize, usize)> {
        match self {
            QuantisationTarget::Plain { sharing: Sharing::Blocks { rows, columns }, .. } => Some((*rows, *columns)),
            QuantisationTarget::Plain { .. } => None,
            QuantisationTarget::Blocks { format, .. } => Some((format.rows, format.length)),
        }
    }
}

impl Sharing {
    /// Rows and columns of blocks.
    fn extents(&self) -> Option<(usize, usize)> {
        match self {
            Sharing::Blocks { rows, columns } => Some((*rows, *columns)),
            _ => None,
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

/// A format with scales for the values that `per` names, as files and arrays have them.
///
/// # Errors
/// An unknown name; a channel; a row or a tensor for a block format; a format of more than 8 bits.
pub fn shared(to: FileContent, per: &str) -> Result<FileContent> {
    let whole = BlockFormat::WHOLE;
    let (rows, length) = match sharing(per)? {
        Sharing::Blocks { rows, columns } => (rows, columns),
        Sharing::Row => (1, whole),
        Sharing::Tensor => (whole, whole),
        other => {
            return Err(Error::request(format!(
                "--per {other}: scales are for blocks of ROWSxCOLUMNS, a row (of a weight: a channel) or a tensor"
            )));
        }
    };
    let format = match to {
        FileContent::Blocks(format) if length < whole => format.with_blocks(rows, length),
        FileContent::Blocks(format) => {
            return Err(Error::request(format!("--per {per}: {format} has blocks; choose ROWSxCOLUMNS")));
        }
        FileContent::Scalar(Some(format)) => BlockFormat::scaled(format, rows, length)?,
        FileContent::Scalar(None) => return Ok(to),
    };
    Ok(FileContent::Blocks(format))
}

/// Every rule that a format has.
const ALL: &str = "all";

/// A rule that was asked for.
#[derive(Clone, Copy, PartialEq)]
struct Asked {
    name: &'static str,
    plain: Option<PlainRule>,
    blocks: Option<&'static ScaleRule>,
}

/// The rule of this name: of plain formats, of block formats, or of both; `None` for [`ALL`].
fn rule_named(name: &str) -> Result<Option<Asked>> {
    if name == ALL {
        return Ok(None);
    }
    let plain = PlainRule::ALL.into_iter().find(|own| own.name() == name);
    let blocks = find_rule(name);
    match (plain, blocks) {
        (None, Err(error)) if SCALE_RULES.iter().any(|rule| name.starts_with(rule.name)) => {
            Err(error.within("--scale-rule"))
        }
        (None, Err(_)) => {
            let known = SCALE_RULES.iter().map(|rule| rule.name).chain(PlainRule::ALL.map(PlainRule::name));
            let near = nearest(name, known, 3).join(", ");
            Err(Error::request(format!("--scale-rule {name}: there is no such rule; the nearest: {near}; or {ALL}")))
        }
        (plain, blocks) => {
            // `absmax` is a rule of plain formats, and an alias of a rule of blocks only where plain formats have no such rule.
            let blocks = blocks.ok().filter(|rule| plain.is_none() || rule.name == name);
            let name = blocks.map_or_else(|| plain.map_or("", PlainRule::name), |rule| rule.name);
            Ok(Some(Asked { name, plain, blocks }))
        }
    }
}

/// All combinations of formats, rules for scales and sharing, each where the format has it.
///
/// Without rules or sharing: the format's own rule and blocks; for plain formats `absmax` and one scale for each tensor, and none for
/// formats of 16 bits.
///
/// # Errors
/// Unknown names; a rule or a sharing that no format takes.
pub fn targets(names: &[String], rules: &[String], per: &[String]) -> Result<Vec<QuantisationTarget>> {
    let per = per.iter().map(|name| sharing(name)).collect::<Result<Vec<_>>>()?;
    let given = rules.iter().map(|name| rule_named(name)).collect::<Result<Vec<Option<Asked>>>>()?;
    let all = given.contains(&None);
    let asked: Vec<Asked> = given.into_iter().flatten().collect();
    let plain_rules: Vec<PlainRule> =
        PlainRule::ALL.into_iter().filter(|rule| all || asked.iter().any(|own| own.plain == Some(*rule))).collect();
    let mut block_rules: Vec<&'static ScaleRule> = if all { SCALE_RULES.iter().collect() } else { Vec::new() };
    for rule in asked.iter().filter_map(|own| own.blocks) {
        // Two names can be one rule.
        if !block_rules.contains(&rule) {
            block_rules.push(rule);
        }
    }
    let blocks: Vec<(usize, usize)> = per.iter().filter_map(Sharing::extents).collect();
    let mut targets: Vec<QuantisationTarget> = Vec::new();
    let mut refused = None;
    for name in names {
        match layout(name)? {
            FileContent::Blocks(format) => {
                let formats: Vec<&'static BlockFormat> = match blocks.is_empty() {
                    true => vec![format],
                    false => blocks.iter().map(|(rows, columns)| format.with_blocks(*rows, *columns)).collect(),
                };
                let fits = |rule: &&'static ScaleRule| rule.refusal(format).is_none();
                let mut rules: Vec<&'static ScaleRule> = block_rules.iter().copied().filter(fits).collect();
                if rules.is_empty() {
                    refused = refused.or(block_rules.iter().find_map(|rule| rule.refusal(format)));
                    rules.push(find_rule(format.default_rule)?);
                }
                let rules = &rules;
                let each = |format| rules.iter().map(move |rule| QuantisationTarget::Blocks { format, rule });
                targets.extend(formats.into_iter().flat_map(each));
            }
            FileContent::Scalar(Some(format)) => targets.extend(plain(format, &plain_rules, &per)?),
            FileContent::Scalar(None) => unreachable!("a name names a format"),
        }
    }
    let unused = |rule: &&Asked| targets.iter().all(|target| target.rule_name() != Some(rule.name));
    if let Some(rule) = asked.iter().find(unused) {
        if let Some(why) = refused {
            return Err(Error::request(format!("--scale-rule {why}")));
        }
        return Err(Error::request(format!(
            "--scale-rule {}: no scale of {} follows it; block formats have {}, plain ones {}",
            rule.name,
            names.join(", "),
            SCALE_RULES.iter().map(|rule| rule.name).collect::<Vec<_>>().join(", "),
            PlainRule::ALL.map(PlainRule::name).join(", ")
        )));
    }
    let none_shares = |own: &&Sharing| targets.iter().all(|target| target.sharing_name() != own.to_string());
    if let Some(sharing) = per.iter().find(none_shares) {
        return Err(Error::request(format!(
            "--per {sharing}: {} has blocks; choose ROWSxCOLUMNS, or omit --per for the format's own",
            names.join(", ")
        )));
    }
    let twice = targets.iter().enumerate().find(|(at, target)| targets[..*at].contains(target));
    match twice {
        Some((_, target)) => Err(Error::request(format!("--to: {} is given twice", target.format_name()))),
        None => Ok(targets),
    }
}

fn plain(format: &'static Format, rules: &[PlainRule], per: &[Sharing]) -> Result<Vec<QuantisationTarget>> {
    if format.bits > WIDEST {
        return Err(Error::request(format!(
            "--to {format}: it has {} bits; choose a format of at most {WIDEST}",
            format.bits
        )));
    }
    let own = if format.bits == WIDEST { Sharing::Unscaled } else { Sharing::Tensor };
    let per = if per.is_empty() { vec![own] } else { per.to_vec() };
    let given = if rules.is_empty() { vec![PlainRule::Absmax] } else { rules.to_vec() };
    let of_sharing = |sharing: &Sharing| {
        let rules = if *sharing == Sharing::Unscaled { vec![PlainRule::Absmax] } else { given.clone() };
        let sharing = *sharing;
        rules.into_iter().map(move |rule| QuantisationTarget::Plain { format, rule, sharing })
    };
    Ok(per.iter().flat_map(of_sharing).collect())
}
