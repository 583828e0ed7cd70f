//! Changes of several keys that only together mean something.

use toml::{Table, Value};

use super::moves::{Move, ROUNDINGS, TARGETS, alike, change, value};
use crate::{
    arithmetic::{Place, setting},
    isa::Instruction,
    rule::{Change, get},
};

/// Every change of several keys, except [`aligned_and_rounded`]; `reach` is the largest change of a number of bits.
pub(super) fn all(rule: &Table, instruction: &Instruction, reach: i64) -> Vec<Move> {
    [of_one_thing(rule, reach), late(rule), aligned(rule, instruction), flushed()].concat()
}

/// Moves of several keys that say one thing together: the format and the rounding of a target, the bits and the rounding of an alignment; of
/// nodes that are alike together, and one by one. Bits are changed by `reach` at most.
fn of_one_thing(rule: &Table, reach: i64) -> Vec<Move> {
    let nodes: Vec<&String> = rule.get("node").and_then(Value::as_table).into_iter().flat_map(Table::keys).collect();
    let mut groups: Vec<Vec<String>> =
        alike(rule).iter().map(|names| names.iter().map(|name| format!("node.{name}.")).collect()).collect();
    groups.extend(nodes.iter().map(|name| vec![format!("node.{name}.")]));
    if nodes.is_empty() {
        groups.push(vec![String::new()]);
    }
    let mut all = Vec::new();
    for group in &groups {
        let has = |key: &str| get(rule, &format!("{}{key}", group[0])).is_some_and(Value::is_table);
        let mut product = Vec::new();
        let mut begun = |(format, rounding): (&str, &str)| {
            let keys = [("format", format), ("rounding", rounding)].map(|(key, word)| (key.to_string(), word.into()));
            let to = Value::Table(Table::from_iter(keys));
            product.push(Move(group.iter().map(|place| change(format!("{place}product"), to.clone())).collect()));
        };
        let mut both = |one: (String, Value), other: (String, Value)| {
            let of = |place: &String| [&one, &other].map(|(key, to)| change(format!("{place}{key}"), to.clone()));
            all.push(Move(group.iter().flat_map(of).collect()));
        };
        let kind = get(rule, &format!("{}kind", group[0])).or(rule.get("step")).and_then(Value::as_str);
        let rounds_products =
            ["sequential", "pairwise", "fused", "exact", "sum", "add"].contains(&kind.unwrap_or_default());
        let has_products = nodes.is_empty() || get(rule, &format!("{}products", group[0])).is_some();
        for target in ["result", "product", "between", "addition"] {
            for format in TARGETS {
                for rounding in ROUNDINGS {
                    if has(target) {
                        both(
                            (format!("{target}.format"), (*format).into()),
                            (format!("{target}.rounding"), (*rounding).into()),
                        );
                    } else if target == "product" && rounds_products && has_products {
                        begun((*format, *rounding));
                    }
                }
            }
        }
        // Another width with the same last bit at the floor.
        let number = |key: &str| get(rule, &format!("{}alignment.{key}", group[0])).and_then(Value::as_integer);
        if let (Some(now), Some(floor)) = (number("bits"), number("floor")) {
            for bits in (0..=60).filter(|bits| *bits != now) {
                both(
                    ("alignment.bits".into(), Value::Integer(bits)),
                    ("alignment.floor".into(), Value::Integer(floor + bits - now)),
                );
            }
        }
        if let Some(now) = get(rule, &format!("{}alignment.bits", group[0])).and_then(Value::as_integer) {
            for bits in (now - reach).max(0)..=now + reach {
                for rounding in ROUNDINGS {
                    both(
                        ("alignment.bits".into(), Value::Integer(bits)),
                        ("alignment.rounding".into(), (*rounding).into()),
                    );
                }
            }
        }
        all.append(&mut product);
    }
    all
}

/// Moves of an alignment together with a target: all widths with another rounding of the target, near ones with another
/// target; of nodes that are alike together.
pub(super) fn aligned_and_rounded(rule: &Table) -> Vec<Move> {
    let mut groups: Vec<Vec<String>> =
        alike(rule).iter().map(|names| names.iter().map(|name| format!("node.{name}.")).collect()).collect();
    if !rule.contains_key("node") {
        groups.push(vec![String::new()]);
    }
    let mut all = Vec::new();
    for group in groups {
        let number = |key: &str| get(rule, &format!("{}{key}", group[0])).and_then(Value::as_integer);
        let Some(now) = number("alignment.bits") else { continue };
        let mut push = |own: &[(&str, Value)]| {
            let of = |place: &String| {
                let own = own.iter().map(move |(key, to)| change(format!("{place}{key}"), to.clone()));
                own.collect::<Vec<_>>()
            };
            all.push(Move(group.iter().flat_map(of).collect()));
        };
        for target in ["result", "between", "addition", "product"] {
            if !get(rule, &format!("{}{target}", group[0])).is_some_and(Value::is_table) {
                continue;
            }
            let [to_format, to_rounding] = ["format", "rounding"].map(|key| format!("{target}.{key}"));
            for (bits, cut, rounding) in (0..=60).flat_map(|bits| {
                ROUNDINGS.iter().flat_map(move |cut| ROUNDINGS.iter().map(move |to| (bits, *cut, *to)))
            }) {
                let bits_and_cut = [("alignment.bits", Value::Integer(bits)), ("alignment.rounding", Value::from(cut))];
                let rounded = [(&to_rounding[..], Value::from(rounding))];
                push(&[&bits_and_cut[..], &rounded].concat());
                if (now - 2..=now + 2).contains(&bits) {
                    for format in TARGETS {
                        let formed = [(&to_format[..], Value::from(*format))];
                        push(&[&bits_and_cut[..], &rounded, &formed].concat());
                    }
                }
            }
        }
    }
    all
}

/// Moves that align c with the sum of the products, where it is added to the rounded sum.
fn late(rule: &Table) -> Vec<Move> {
    let is = |key: &str, word: &str| rule.get(key).and_then(Value::as_str) == Some(word);
    if !is("step", "fused") || !is("c", "last") || is("join", "add") || rule.contains_key("late") {
        return Vec::new();
    }
    let result = rule.get("addition").or(rule.get("result")).cloned();
    let of = |(bits, rounding): (i64, &str)| {
        let late = format!("{{ sum-bits = {bits}, c-bits = {bits}, rounding = \"{rounding}\" }}");
        let without = |key: &str| Change { key: key.into(), from: None, to: None, ranged: false };
        let to = |key: &str, to: Value| change(key.into(), to);
        let changes = [to("late", value(&late)?), without("c"), without("addition"), to("result", result.clone()?)];
        Some(Move(changes.to_vec()))
    };
    (16..=60).flat_map(|bits| ROUNDINGS.iter().map(move |rounding| (bits, *rounding))).filter_map(of).collect()
}

/// Moves that flush subnormals of A and B, and keep those of C.
fn flushed() -> Vec<Move> {
    let of = |word: &str| {
        Move(vec![change("operand-subnormals".into(), word.into()), change("c-subnormals".into(), "keep".into())])
    };
    ["signed-zero", "positive-zero"].map(of).into()
}

/// Bits of an alignment that shows at its floor alone.
const UNSEEN: i64 = 40;

/// Moves that align an exact sum, or the additions of a chain; with a floor, or with few bits.
fn aligned(rule: &Table, instruction: &Instruction) -> Vec<Move> {
    let step = rule.get("step").and_then(Value::as_str).unwrap_or_default();
    let chained =
        ["fma", "sequential"].contains(&step) && !["start", "join", "c"].iter().any(|key| rule.contains_key(*key));
    if step != "exact" && !chained {
        return Vec::new();
    }
    let of = |(bits, floor, rounding): (i64, Option<i64>, &str)| {
        let floor = floor.map_or_else(String::new, |floor| format!(", floor = {floor}"));
        let to = value(&format!("{{ bits = {bits}, rounding = \"{rounding}\"{floor} }}"))?;
        let mut changes = vec![change("alignment".into(), to), change("step".into(), "fused".into())];
        changes.extend(chained.then(|| change("group".into(), Value::Integer(1))));
        Some(Move(changes))
    };
    let widths = (8..=60).map(|bits| (bits, None));
    let place = Place::of(instruction);
    let absent = setting("alignment.floor").map_or_else(Vec::new, |floor| {
        let near = floor.near_values(rule, &place, None).into_iter().map(|(to, _)| to);
        near.chain(floor.searched_values(rule, &place, None)).collect()
    });
    let floors = absent.iter().filter_map(|to| to.as_ref()?.as_integer());
    let all = widths.chain(floors.map(|floor| (UNSEEN, Some(floor))));
    all.flat_map(|(bits, floor)| ROUNDINGS.iter().map(move |rounding| (bits, floor, *rounding)))
        .filter_map(of)
        .collect()
}
