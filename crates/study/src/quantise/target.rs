//! Targets of quantisation: a format, the rule for its scales, and the values that share a scale.

use std::fmt;

use crate::{
    Error, Result,
    format::{
        Format,
        block::{BlockFormat, SCALE_RULES, ScaleRule, find_rule},
    },
    tensor::{FileContent, Sharing},
};

/// Bits of the widest plain format that values are quantised to.
const WIDEST: u32 = 16;
/// Bits of the widest plain format with scales.
const WIDEST_SCALED: u32 = 8;
/// Rule of scales whose name is [`ABSMAX`] in reports on plain formats.
const NEAREST: &str = "nearest";
const ABSMAX: &str = "absmax";
/// Values of a run by which losses are compared, where more share a scale.
pub(super) const RUN: usize = 128;

/// Values of a tensor that take a scale together; rows lie along the axis of quantisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleScope {
    /// None: the format's own numbers are used.
    Unscaled,
    /// Values with the same first index.
    Channel,
    /// Values of a tensor, a row or a block.
    Shared(Sharing),
}

/// Target of quantisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QuantisationTarget {
    /// A plain format of at most 16 bits, as it is.
    Plain(&'static Format),
    /// A plain format of at most 8 bits with scales of f32.
    Scaled {
        /// The format with its blocks; where a tensor or a channel shares a scale, in runs of a row.
        format: &'static BlockFormat,
        /// The rule for scales.
        rule: &'static ScaleRule,
        /// Values that share a scale.
        sharing: ScaleScope,
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
    /// A plain format; scales of its values by a rule, but for [`ScaleScope::Unscaled`].
    ///
    /// # Errors
    /// Scales for a format of more than 8 bits; a rule that does not fit.
    fn plain(format: &'static Format, rule: &'static ScaleRule, sharing: ScaleScope) -> Result<QuantisationTarget> {
        let (rows, columns) = match sharing {
            ScaleScope::Unscaled => return Ok(QuantisationTarget::Plain(format)),
            ScaleScope::Channel | ScaleScope::Shared(Sharing::Tensor) => (1, RUN),
            ScaleScope::Shared(sharing) => sharing.blocks(),
        };
        let format = BlockFormat::with_f32_scales(format, rows, columns)?;
        if let Some(why) = rule.refusal(format) {
            return Err(Error::request(format!("‹scale_rule› {why}")));
        }
        match sharing {
            ScaleScope::Channel | ScaleScope::Shared(Sharing::Tensor) if rule.needs_all_values() => {
                Err(Error::request(format!(
                    "‹scale_rule={rule}›: it needs all values that share a scale at once; for ‹per={sharing}› choose another rule"
                )))
            }
            _ => Ok(QuantisationTarget::Scaled { format, rule, sharing }),
        }
    }

    /// The name of the format.
    pub fn format_name(&self) -> &'static str {
        match self {
            QuantisationTarget::Plain(format) => format.name,
            QuantisationTarget::Scaled { format, .. } | QuantisationTarget::Blocks { format, .. } => format.name,
        }
    }

    /// The name of the rule for scales, where there are scales.
    pub fn rule_name(&self) -> Option<&'static str> {
        match self {
            QuantisationTarget::Plain(_) => None,
            QuantisationTarget::Scaled { rule, .. } if rule.name == NEAREST => Some(ABSMAX),
            QuantisationTarget::Scaled { rule, .. } | QuantisationTarget::Blocks { rule, .. } => Some(rule.name),
        }
    }

    /// Name of the sharing of scales.
    pub fn sharing_name(&self) -> String {
        match self {
            QuantisationTarget::Plain(_) => ScaleScope::Unscaled.to_string(),
            QuantisationTarget::Scaled { sharing, .. } => sharing.to_string(),
            QuantisationTarget::Blocks { format, .. } => format.extents(),
        }
    }

    /// The format with scales and their rule, if there are scales.
    pub(super) fn scales(&self) -> Option<(&'static BlockFormat, &'static ScaleRule)> {
        match self {
            QuantisationTarget::Plain(_) => None,
            QuantisationTarget::Scaled { format, rule, .. } | QuantisationTarget::Blocks { format, rule } => {
                Some((format, rule))
            }
        }
    }

    /// Bits that a value takes, its share of the scales included, of which each takes whole bytes.
    pub(super) fn bits_a_value(&self, values: u64, scales: u64, tensors: u64) -> f64 {
        let QuantisationTarget::Plain(format) = self else {
            let (format, _) = self.scales().expect("a format with scales");
            let bits = |format: &Format| 8.0 * format.bytes() as f64;
            let all = f64::from(format.bits_of_scales()) * scales as f64
                + format.tensor_scale.map_or(0.0, bits) * tensors as f64;
            return f64::from(format.element.format.bits) + all / values.max(1) as f64;
        };
        f64::from(format.bits)
    }

    /// Rows and columns that a panel has a multiple of, for rows of this many columns.
    pub(super) fn block(&self, columns: usize) -> Option<(usize, usize)> {
        self.scales().map(|(format, _)| (format.rows, format.length.min(columns.max(1))))
    }
}

impl fmt::Display for ScaleScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScaleScope::Unscaled => f.pad("none"),
            ScaleScope::Channel => f.pad("channel"),
            ScaleScope::Shared(sharing) => fmt::Display::fmt(sharing, f),
        }
    }
}

impl ScaleScope {
    /// Parses the name of a scope.
    ///
    /// # Errors
    /// An unknown name.
    fn named(name: &str) -> Result<ScaleScope> {
        match name {
            "none" => Ok(ScaleScope::Unscaled),
            "channel" => Ok(ScaleScope::Channel),
            other => Sharing::parse(other).map(ScaleScope::Shared).ok_or_else(|| {
                Error::request(format!(
                    "‹per={other}›: scales are for a tensor, channel, row, blocks of ROWSxCOLUMNS (1x128, 128x128), or none"
                ))
            }),
        }
    }
}

/// A format with scales for the values that `per` names, as files and arrays have them.
///
/// # Errors
/// An unknown name; a channel; a row or a tensor for a block format; a format of more than 8 bits.
pub fn shared(to: FileContent, per: &str) -> Result<FileContent> {
    let (rows, length) = match ScaleScope::named(per)? {
        ScaleScope::Shared(sharing) => sharing.blocks(),
        other => {
            return Err(Error::request(format!(
                "‹per={other}›: scales are for blocks of ROWSxCOLUMNS, a row (of a weight: a channel) or a tensor"
            )));
        }
    };
    let format = match to {
        FileContent::Blocks(format) if length < BlockFormat::WHOLE => format.with_blocks(rows, length),
        FileContent::Blocks(format) => {
            return Err(Error::request(format!("‹per={per}›: {format} has blocks; choose ROWSxCOLUMNS")));
        }
        FileContent::Scalar(Some(format)) => BlockFormat::with_f32_scales(format, rows, length)?,
        FileContent::Scalar(None) => return Ok(to),
    };
    Ok(FileContent::Blocks(format))
}

/// Every rule that a format has.
const ALL: &str = "all";

/// All combinations of formats, rules for scales and sharing, each where the format has it.
///
/// Without rules or sharing: the format's own rule and blocks; for plain formats `absmax` and one scale for each tensor, and none for
/// formats of more than 8 bits.
///
/// # Errors
/// Unknown names; a rule or a sharing that no format takes.
pub fn targets(names: &[String], rules: &[String], per: &[String]) -> Result<Vec<QuantisationTarget>> {
    let per = per.iter().map(|name| ScaleScope::named(name)).collect::<Result<Vec<_>>>()?;
    let all = rules.iter().any(|name| name == ALL);
    let mut asked: Vec<&'static ScaleRule> = Vec::new();
    for name in rules.iter().filter(|name| *name != ALL) {
        let rule = find_rule(name).map_err(|error| error.within("‹scale_rule›"))?;
        // Two names can be one rule.
        if !asked.contains(&rule) {
            asked.push(rule);
        }
    }
    let mut targets: Vec<QuantisationTarget> = Vec::new();
    // Rules that do not fit a format, which another format may follow.
    let mut refused = Vec::new();
    for name in names {
        match FileContent::named(name)? {
            FileContent::Blocks(format) => {
                for format in with_blocks(format, &per) {
                    let target = |rule: &'static ScaleRule| match rule.refusal(format) {
                        Some(why) => Err(Error::request(format!("‹scale_rule› {why}"))),
                        None => Ok(QuantisationTarget::Blocks { format, rule }),
                    };
                    let default = find_rule(format.default_rule)?;
                    targets.extend(following(default, &asked, all, target, &mut refused)?);
                }
            }
            FileContent::Scalar(Some(format)) => targets.extend(plain(format, &asked, all, &per, &mut refused)?),
            FileContent::Scalar(None) => unreachable!("a name names a format"),
        }
    }
    let unused = |rule: &&'static ScaleRule| {
        let follows = |target: &QuantisationTarget| target.scales().is_some_and(|(_, used)| used == *rule);
        !targets.iter().any(follows)
    };
    if let Some(rule) = asked.iter().copied().find(unused) {
        if let Some(at) = refused.iter().position(|(other, _)| *other == rule) {
            return Err(refused.swap_remove(at).1);
        }
        return Err(Error::request(format!(
            "‹scale_rule={rule}›: {} has no scales; choose a format of at most {WIDEST_SCALED} bits, and no ‹per=none›",
            names.join(", ")
        )));
    }
    let none_shares = |sharing: &&ScaleScope| targets.iter().all(|target| target.sharing_name() != sharing.to_string());
    if let Some(sharing) = per.iter().find(none_shares) {
        return Err(Error::request(format!(
            "‹per={sharing}›: {} has no such scales; block formats take ROWSxCOLUMNS, plain formats of at most \
             {WIDEST_SCALED} bits all, and wider ones none",
            names.join(", ")
        )));
    }
    let twice = targets.iter().enumerate().find(|(at, target)| targets[..*at].contains(target));
    match twice {
        Some((_, target)) => Err(Error::request(format!("‹to›: {} is given twice", target.format_name()))),
        None => Ok(targets),
    }
}

/// A block format in each of the blocks that are asked for.
fn with_blocks(format: &'static BlockFormat, per: &[ScaleScope]) -> Vec<&'static BlockFormat> {
    let in_blocks = |scope: &ScaleScope| match scope {
        ScaleScope::Shared(Sharing::Block(rows, columns)) => Some((*rows, *columns)),
        _ => None,
    };
    let blocks: Vec<(usize, usize)> = per.iter().filter_map(in_blocks).collect();
    match blocks.is_empty() {
        true => vec![format],
        false => blocks.iter().map(|(rows, columns)| format.with_blocks(*rows, *columns)).collect(),
    }
}

/// Targets by the rules that are asked for and fit a format, else by its own.
///
/// `refused` gets the other rules, with the reasons.
fn following(
    default: &'static ScaleRule,
    asked: &[&'static ScaleRule],
    all: bool,
    target: impl Fn(&'static ScaleRule) -> Result<QuantisationTarget>,
    refused: &mut Vec<(&'static ScaleRule, Error)>,
) -> Result<Vec<QuantisationTarget>> {
    let rest = SCALE_RULES.iter().filter(|rule| all && !asked.contains(rule));
    let mut targets = Vec::new();
    for rule in asked.iter().copied().chain(rest) {
        match target(rule) {
            Ok(target) => targets.push(target),
            Err(why) => refused.push((rule, why)),
        }
    }
    if targets.is_empty() {
        targets.push(target(default)?);
    }
    Ok(targets)
}

fn plain(
    format: &'static Format,
    asked: &[&'static ScaleRule],
    all: bool,
    per: &[ScaleScope],
    refused: &mut Vec<(&'static ScaleRule, Error)>,
) -> Result<Vec<QuantisationTarget>> {
    if format.bits > WIDEST {
        return Err(Error::request(format!(
            "‹to={format}›: it has {} bits; choose a format of at most {WIDEST}",
            format.bits
        )));
    }
    if format.bits > WIDEST_SCALED {
        return Ok(vec![QuantisationTarget::Plain(format)]);
    }
    let per = if per.is_empty() { &[ScaleScope::Shared(Sharing::Tensor)][..] } else { per };
    let mut targets = Vec::new();
    for sharing in per.iter().copied() {
        if sharing == ScaleScope::Unscaled {
            targets.push(QuantisationTarget::Plain(format));
            continue;
        }
        let target = |rule| QuantisationTarget::plain(format, rule, sharing);
        targets.extend(following(find_rule(ABSMAX)?, asked, all, target, refused)?);
    }
    Ok(targets)
}
