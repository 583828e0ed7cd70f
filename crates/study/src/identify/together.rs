//! Changes of several keys that mean something only together.

use super::{
    fit::{BITS, PLACES, ROUNDINGS},
    moves::{Move, alike, change},
};
use crate::{
    arithmetic::{
        Alignment, CPosition, Join, KeyTable, KeyValue, Late, NodeKind, Place, Rounded, Rule, Start, Step, setting,
    },
    format::{Format, Rounding},
    isa::Instruction,
    rule::Change,
};

/// Keys whose values are a format and a rounding.
const TARGETS: [&str; 4] = ["result", "product", "between", "addition"];

/// Every change of several keys, except [`aligned_and_rounded`].
/// `reach` is the largest change of a number of bits.
pub(super) fn all(rule: &Rule, instruction: &Instruction, reach: i32) -> Vec<Move> {
    let place = Place::of(instruction);
    [of_one_thing(rule, &place, reach), late(rule), aligned(rule, &place), flushed()].concat()
}

/// The formats that the table of keys lists for a target of any rule.
fn formats(target: &str, place: &Place) -> Vec<&'static Format> {
    let near = setting(&format!("{target}.format"))
        .map_or_else(Vec::new, |setting| setting.near_values(KeyTable::Rule(&Rule::default()), place, None));
    let format = |(to, _)| match to {
        Some(KeyValue::Format(format)) => Some(format),
        _ => None,
    };
    near.into_iter().filter_map(format).collect()
}

/// The prefixes of the keys of alike nodes, and of single nodes where these are wanted.
/// For a rule without nodes they are one empty prefix.
fn groups(rule: &Rule, with_single_nodes: bool) -> Vec<Vec<String>> {
    let place = |name: &str| format!("node.{name}.");
    let mut groups: Vec<Vec<String>> =
        alike(rule).iter().map(|names| names.iter().map(|name| place(name)).collect()).collect();
    if with_single_nodes {
        groups.extend(rule.nodes.keys().map(|name| vec![place(name)]));
    }
    if rule.nodes.is_empty() {
        groups.push(vec![String::new()]);
    }
    groups
}

/// The move that gives these keys the same values in all places.
fn in_all(places: &[String], keys: &[(&str, KeyValue)]) -> Move {
    let of =
        |place: &String| keys.iter().map(|(key, to)| change(format!("{place}{key}"), to.clone())).collect::<Vec<_>>();
    Move(places.iter().flat_map(of).collect())
}

fn bits(bits: i32) -> KeyValue {
    KeyValue::Number(bits.into())
}

fn rounding(rounding: Rounding) -> KeyValue {
    KeyValue::Word(rounding.name())
}

/// The alignment at a place of a rule.
fn alignment(rule: &Rule, place: &str) -> Option<Alignment> {
    match rule.value(&format!("{place}alignment")) {
        Some(KeyValue::Alignment(alignment)) => Some(alignment),
        _ => None,
    }
}

/// True if a place of a rule has a target.
fn has_target(rule: &Rule, place: &str, target: &str) -> bool {
    matches!(rule.value(&format!("{place}{target}")), Some(KeyValue::Rounded(_)))
}

/// Moves of several keys that say one thing together.
///
/// They change the format and the rounding of a target, or the bits and the rounding of an alignment. Alike nodes change together, and each
/// node alone. Bits change by at most `reach`.
fn of_one_thing(rule: &Rule, place: &Place, reach: i32) -> Vec<Move> {
    let mut all = Vec::new();
    for group in groups(rule, true) {
        let first = match rule.value(group[0].trim_end_matches('.')) {
            Some(KeyValue::Node(node)) => Some(node),
            _ => None,
        };
        let (rounds_products, has_products) = match &first {
            Some(node) => (node.kind != NodeKind::Fma, node.products.is_some()),
            None => (!matches!(rule.step, Step::Fma | Step::Integer | Step::Tree), true),
        };
        let mut product = Vec::new();
        for target in TARGETS {
            for format in formats(target, place) {
                for to in ROUNDINGS {
                    if has_target(rule, &group[0], target) {
                        let [format_key, rounding_key] = ["format", "rounding"].map(|key| format!("{target}.{key}"));
                        let keys = [(&format_key[..], KeyValue::Format(format)), (&rounding_key[..], rounding(to))];
                        all.push(in_all(&group, &keys));
                    } else if target == "product" && rounds_products && has_products {
                        product.push(in_all(&group, &[("product", KeyValue::Rounded(Rounded::new(format, to)))]));
                    }
                }
            }
        }
        let Some(Alignment { bits: now, floor, .. }) = alignment(rule, &group[0]) else {
            all.append(&mut product);
            continue;
        };
        // The last bit at the floor stays the same if the width and the floor change together.
        if let Some(floor) = floor {
            let moved = |to| [("alignment.bits", bits(to)), ("alignment.floor", bits(floor + to - now))];
            all.extend(BITS.filter(|to| *to != now).map(|to| in_all(&group, &moved(to))));
        }
        for to in (now - reach).max(0)..=now + reach {
            let cut = |cut| [("alignment.bits", bits(to)), ("alignment.rounding", rounding(cut))];
            all.extend(ROUNDINGS.map(|way| in_all(&group, &cut(way))));
            // A sticky bit with a place is part of the sum, so that the width and the place belong together.
            all.extend(PLACES.map(|at| {
                let sticky = [("alignment.sticky", KeyValue::Flag(true)), ("alignment.sticky-place", bits(at))];
                in_all(&group, &[&cut(Rounding::Rz)[..], &sticky].concat())
            }));
        }
        all.append(&mut product);
    }
    all
}

/// Moves of an alignment together with a target; alike nodes change together.
///
/// Every width comes with every rounding of the target; widths near the present one also come with other formats of the target.
pub(super) fn aligned_and_rounded(rule: &Rule, instruction: &Instruction) -> Vec<Move> {
    let place = Place::of(instruction);
    let mut all = Vec::new();
    for group in groups(rule, false) {
        let Some(Alignment { bits: now, .. }) = alignment(rule, &group[0]) else { continue };
        for target in ["result", "between", "addition", "product"] {
            if !has_target(rule, &group[0], target) {
                continue;
            }
            let formats = formats(target, &place);
            let [to_format, to_rounding] = ["format", "rounding"].map(|key| format!("{target}.{key}"));
            for (width, cut, to) in
                BITS.flat_map(|width| ROUNDINGS.into_iter().flat_map(move |cut| ROUNDINGS.map(|to| (width, cut, to))))
            {
                let keys = [
                    ("alignment.bits", bits(width)),
                    ("alignment.rounding", rounding(cut)),
                    (&to_rounding[..], rounding(to)),
                ];
                all.push(in_all(&group, &keys));
                if (now - 2..=now + 2).contains(&width) {
                    for format in &formats {
                        let formed = [(&to_format[..], KeyValue::Format(format))];
                        all.push(in_all(&group, &[&keys[..], &formed].concat()));
                    }
                }
            }
        }
    }
    all
}

/// Fewest bits of a late c that is tried.
const LATE: i32 = 16;

/// Moves that align c with the sum of the products, for a rule that adds c to the rounded sum.
fn late(rule: &Rule) -> Vec<Move> {
    let is_added = (rule.step, rule.c, rule.join) == (Step::Fused, CPosition::Last, Join::Chain);
    let Some(result) = rule.addition.or(rule.result).filter(|_| is_added && rule.late.is_none()) else {
        return Vec::new();
    };
    let without = |key: &str| Change { key: key.into(), from: None, to: None, ranged: false };
    let of = |late| {
        let late = change("late".into(), KeyValue::Late(late));
        let result = change("result".into(), KeyValue::Rounded(result));
        Move(vec![late, without("c"), without("addition"), result])
    };
    let all = (LATE..=*BITS.end()).flat_map(|width| ROUNDINGS.map(|way| Late::new([width, width], way)));
    all.map(of).collect()
}

/// Moves that flush subnormal numbers of A and B, and keep subnormal numbers of C.
fn flushed() -> Vec<Move> {
    let of = |word| {
        let keep = change("c-subnormals".into(), KeyValue::Word("keep"));
        Move(vec![change("operand-subnormals".into(), KeyValue::Word(word)), keep])
    };
    ["signed-zero", "positive-zero"].map(of).into()
}

/// Bits of an alignment that has an effect only at its floor.
const UNSEEN: i32 = 40;
/// Fewest bits of an alignment without a floor that is tried.
const ALIGNED: i32 = 8;

/// The least exponents of an alignment that a search tries.
pub(super) fn floors(rule: &Rule, place: &Place) -> Vec<i32> {
    let table = KeyTable::Rule(rule);
    let values = setting("alignment.floor").map_or_else(Vec::new, |floor| {
        let near = floor.near_values(table, place, None).into_iter().map(|(to, _)| to);
        near.chain(floor.searched_values(table, place, None)).collect()
    });
    values.iter().filter_map(|to| to.as_ref()?.number()?.try_into().ok()).collect()
}

/// Moves that align an exact sum, or the additions of a chain, with a floor or with few bits.
fn aligned(rule: &Rule, place: &Place) -> Vec<Move> {
    let is_plain = (rule.start, rule.join, rule.c) == (Start::C, Join::Chain, CPosition::First);
    let chained = matches!(rule.step, Step::Fma | Step::Sequential) && is_plain;
    if rule.step != Step::Exact && !chained {
        return Vec::new();
    }
    let of = |alignment| {
        let alignment_change = change("alignment".into(), KeyValue::Alignment(alignment));
        let mut changes = vec![alignment_change, change("step".into(), KeyValue::Word("fused"))];
        changes.extend(chained.then(|| change("group".into(), KeyValue::Number(1))));
        Move(changes)
    };
    let floors = floors(rule, place);
    let widths = (ALIGNED..=*BITS.end()).map(|width| (width, None));
    let all = widths.chain(floors.into_iter().map(|floor| (UNSEEN, Some(floor))));
    all.flat_map(|(width, floor)| ROUNDINGS.map(|way| Alignment { floor, ..Alignment::new(width, way) }))
        .map(of)
        .collect()
}
