//! Limits of the values of keys beyond their types: ranges, formats, and keys that exclude each other.

use super::{
    keys::Rule,
    pattern,
    rule::{Alignment, NanOperand, Parts, Rounded, Split, Start, Step, Wrap},
};
use crate::format::{Format, Rounding, Zeros};

/// Range of `alignment.bits` and the other widths: the exact sum of a group fits into 128 bits.
pub(super) const WIDTH: [i32; 2] = [0, 60];
/// Range of the dropped bits that can set a sticky bit.
pub(super) const REACH: [i32; 2] = [1, 60];
/// Range of the places of a sticky bit below the last kept bit.
pub(super) const PLACE: [i32; 2] = [1, 32];
/// Range of the random bits of a rounding.
pub(super) const RANDOM_BITS: [i32; 2] = [1, 32];
/// Bits of the range of a group of integer products.
pub(super) const GROUP_BITS: [i32; 2] = [2, 64];
/// Range of the number of lanes, at most the products of a group.
pub(super) const LANES: [i32; 2] = [1, 1024];
/// Range of exponents. The terms of this crate's formats have exponents above -3000.
pub(super) const EXPONENT: [i32; 2] = [-100_000, 100_000];

/// Defect of a number outside its limits.
pub(super) fn outside(key: &str, number: i64, [low, high]: [i32; 2]) -> Option<String> {
    let is_inside = (i64::from(low)..=i64::from(high)).contains(&number);
    (!is_inside).then(|| format!("'{key}' is {number}; allowed are {low} to {high}"))
}

/// Checks a count.
pub(super) fn at_least_one(key: &str, value: Option<usize>) -> Option<String> {
    (value == Some(0)).then(|| format!("'{key}' must be at least 1"))
}

/// Checks the number of products in a group.
pub(super) fn group(rule: &Rule) -> Option<String> {
    let no_effect = || {
        let exact = rule.wrap == Some(Wrap::Wrap) && rule.group_bits.is_none();
        (rule.group.is_some() && exact)
            .then(|| "'group' has no effect with wrap 'wrap' and without 'group-bits'".into())
    };
    at_least_one("group", rule.group).or_else(no_effect)
}

/// Checks an alignment.
pub(super) fn alignment(alignment: Option<Alignment>) -> Option<String> {
    let Alignment { sticky, reach, sticky_place, carry, saturates, complement, complement_zeros, .. } = alignment?;
    let without = |key, other| Some(format!("'alignment.{key}' has no effect without 'alignment.{other}'"));
    match () {
        () if reach.is_some() && !sticky => without("reach", "sticky"),
        () if sticky_place.is_some() && !sticky => without("sticky-place", "sticky"),
        () if saturates && carry.is_none() => without("saturates", "carry"),
        () if complement_zeros && !complement => without("complement-zeros", "complement"),
        () => None,
    }
}

/// True if sums can be rounded to the format: it has both signs, zero and NaN.
pub fn holds_sums(format: &Format) -> bool {
    format.has_nan() && format.float().is_some_and(|float| float.signed && float.zeros != Zeros::None)
}

/// Checks the target of a rounding.
pub(super) fn sum_format(key: &str, to: Option<Rounded>) -> Option<String> {
    let format = to?.format;
    (!holds_sums(format)).then(|| format!("'{key}.format' is {format}; sums need a signed format with zero and NaN"))
}

/// Checks `normalised` together with `scale-sums`.
pub(super) fn normalised(normalised: Option<bool>, scale_sums: Option<usize>) -> Option<String> {
    (normalised == Some(true) && scale_sums.is_some())
        .then(|| "'normalised' has no effect with 'scale-sums', whose terms have the exponents of the scales".into())
}

/// Checks the patterns of instructions.
pub(super) fn patterns(rule: &Rule) -> Option<String> {
    if rule.instructions.is_empty() {
        return Some("'instructions' names no pattern".into());
    }
    let (pattern, defect) = rule.instructions.iter().find_map(|p| pattern::defect(p).map(|d| (p, d)))?;
    Some(format!("pattern '{pattern}': {defect}"))
}

/// Checks the pieces that significands are cut into.
pub(super) fn split(rule: &Rule) -> Option<String> {
    let Split { a, b } = rule.split.as_ref()?;
    if rule.step == Step::Fma {
        return Some("'split' has no effect with step 'fma', whose products are not cut into pieces".into());
    }
    a.iter().chain(b).any(|width| *width == 0).then(|| "'split' has a piece of 0 bits".into())
}

/// Checks the conversion to D: random bits belong to stochastic rounding.
pub(super) fn output(rule: &Rule) -> Option<String> {
    let output = rule.output?;
    let stochastic = matches!(output.rounding, Rounding::Sr { .. });
    match (stochastic, output.random_bits) {
        (true, None) => Some("'output.rounding' is SR, which needs 'output.random-bits'".into()),
        (false, Some(_)) => Some("'output.random-bits' has no effect unless 'output.rounding' is SR".into()),
        _ => None,
    }
}

/// Checks the parts of k.
pub(super) fn parts(rule: &Rule) -> Option<String> {
    let Parts { period, residues } = rule.parts.as_ref()?;
    let mut seen: Vec<usize> = residues.concat();
    seen.sort_unstable();
    (*period == 0 || seen.len() != *period || !seen.into_iter().eq(0..*period))
        .then(|| "'parts.residues' must hold every remainder below 'period' (at least 1) exactly once".into())
}

/// Checks lanes.
pub(super) fn lanes(rule: &Rule) -> Option<String> {
    let has_lanes = rule.lanes.is_some();
    (has_lanes && rule.alignment.is_some_and(|alignment| alignment.sticky && alignment.sticky_place.is_none()))
        .then(|| "'alignment.sticky' has no effect with 'lanes', which are not rounded".into())
}

/// Checks a late c.
pub(super) fn late(rule: &Rule) -> Option<String> {
    (rule.late.is_some()
        && rule.alignment.is_some_and(|alignment| alignment.sticky && alignment.sticky_place.is_none()))
    .then(|| "'alignment.sticky' has no effect with 'late', which has its own alignment".into())
}

/// Checks the operands whose NaN is propagated.
pub(super) fn nan_operands(rule: &Rule) -> Option<String> {
    (rule.nan_operands.is_some() && rule.start == Start::Product)
        .then(|| "'nan-operands' has no effect with start 'product'".into())
}

/// Checks the code of a NaN of A or B.
pub(super) fn nan_factors(rule: &Rule) -> Option<String> {
    let passes = |nans: &[NanOperand]| nans.iter().any(|operand| matches!(operand, NanOperand::A | NanOperand::B));
    let has_order = rule.nan_operands.as_deref().is_some_and(passes);
    (rule.nan_factors.is_some() && !has_order && !rule.nodes.values().any(|node| passes(&node.nan_operands)))
        .then(|| "'nan-factors' has no effect unless 'nan-operands' names a or b".into())
}

/// Limits of the keys of nodes.
pub(super) mod nodes {
    use super::super::{
        keys::Node,
        node::{NodeKind, NodeResult},
    };

    /// Checks that a node sums something.
    pub(in super::super) fn kind(node: &Node) -> Option<String> {
        let nothing = match node.kind {
            NodeKind::Fma => node.products.is_none(),
            NodeKind::Sum | NodeKind::Add => node.products.is_none() && node.terms.is_empty(),
        };
        nothing.then(|| "it sums nothing; give it products (or, of other kinds than fma, terms)".into())
    }

    /// Checks terms with bits or a drop of their own.
    pub(in super::super) fn terms(node: &Node) -> Option<String> {
        node.terms.iter().find_map(|term| {
            let bits_or_drop = term.bits.is_some() || term.drop.is_some();
            if bits_or_drop && node.alignment.is_none() {
                return Some(format!("the bits and drop of term '{}' have no effect without 'alignment'", term.name));
            }
            let bits = || super::outside("bits", term.bits?.into(), super::WIDTH);
            bits().or_else(|| super::outside("drop", term.drop?.into(), super::EXPONENT))
        })
    }

    /// Checks the exponents of products.
    pub(in super::super) fn normalised(node: &Node) -> Option<String> {
        if node.normalised.is_some() && node.alignment.is_none() {
            return Some("'normalised' has no effect without 'alignment'".into());
        }
        super::normalised(node.normalised, node.scale_sums)
    }

    /// Checks the destination of a result.
    pub(in super::super) fn result(node: &Node) -> Option<String> {
        if node.alignment.is_some_and(|alignment| alignment.sticky && alignment.sticky_place.is_none())
            && matches!(node.result, Some(NodeResult::Aligned | NodeResult::Normalised))
        {
            return Some(
                "'alignment.sticky' without 'alignment.sticky-place' has no effect on a sum that is not rounded".into(),
            );
        }
        if let Some(NodeResult::Rounded(to)) = node.result {
            return super::sum_format("result", Some(to));
        }
        let kind = node.kind.name();
        match node.kind {
            NodeKind::Fma | NodeKind::Add => {
                Some(format!("'result' of a node of kind '{kind}' must be a format; only a sum can stay unrounded"))
            }
            NodeKind::Sum => {
                node.alignment.is_none().then(|| "'result' of a sum without 'alignment' must be a format".into())
            }
        }
    }

    /// Checks the sign of a zero.
    pub(in super::super) fn zero(node: &Node) -> Option<String> {
        let rounded = matches!(node.result, Some(NodeResult::Rounded(_)));
        (node.zero.is_some() && !rounded).then(|| "'zero' has no effect on a sum that is not rounded".into())
    }
}
