//! The changes that a search tries: the one-step changes of a rule, and those that begin a key that the rule does not have.

use toml::{Table, Value};

use super::fit::{holds_sums, registers};
use crate::{
    format::FORMATS,
    isa::Instruction,
    power::{self, Change},
};

/// Exponents at which a floor is looked for before its neighbours are: all near the smallest normal numbers of f32 and f16, and some
/// of the others.
pub(super) fn floors() -> impl Iterator<Item = i64> {
    (-320..=160).filter(|floor| floor % 8 == 0 || (-156..=-110).contains(floor) || (-36..=0).contains(floor))
}

/// The orders in which NaNs of operands may go through a step.
const NAN_ORDERS: [&str; 15] =
    ["abc", "acb", "bac", "bca", "cab", "cba", "ab", "ac", "ba", "bc", "ca", "cb", "a", "b", "c"];

/// Bits with which an alignment begins.
const ALIGNED: std::ops::RangeInclusive<i64> = 12..=60;

/// Changes that are made together: of one key, or of the same key of several nodes.
#[derive(Debug, Clone)]
pub(super) struct Move(pub Vec<Change>);

impl Move {
    /// A rule with the changes.
    pub(super) fn applied(&self, rule: &Table) -> Table {
        let mut rule = rule.clone();
        self.0.iter().for_each(|change| change.apply(&mut rule));
        rule
    }

    /// The key, that of the first of several nodes.
    pub(super) fn key(&self) -> &str {
        &self.0[0].key
    }

    /// Whether it is one of a range of numbers that is looked through.
    pub(super) fn is_ranged(&self) -> bool {
        self.0[0].ranged
    }
}

/// Keys whose changes may show only together with another change.
const STRUCTURAL: [&str; 14] = [
    "join",
    "c",
    "start",
    "step",
    "zero",
    "zero-terms",
    "specials",
    "c-subnormals",
    "operand-subnormals",
    "result-subnormals",
    "normalised",
    "between",
    "addition",
    "output",
];

impl Move {
    /// True if it changes how the sum is organised, or what counts in it.
    pub(super) fn is_structural(&self) -> bool {
        let Change { key, to, .. } = &self.0[0];
        let rounding = || to.as_ref()?.get("rounding")?.as_str();
        let last = key.rsplit('.').next().unwrap_or_default();
        STRUCTURAL.contains(&last) || key == "alignment" && ["RZ", "RNE"].map(Some).contains(&rounding())
    }
}

/// The moves of `rule`, those of one key together; first those of nodes that are alike.
pub(super) fn by_key(rule: &Table, instruction: &Instruction) -> Vec<Vec<Move>> {
    let mut all: Vec<Vec<Change>> = Vec::new();
    for change in power::changes(rule, instruction).into_iter().chain(begun(rule, instruction)) {
        match all.iter_mut().find(|changes| changes[0].key == change.key) {
            Some(changes) => changes.push(change),
            None => all.push(vec![change]),
        }
    }
    let together = alike(rule).into_iter().flat_map(|nodes| of_all(&all, &nodes));
    let apart = all.iter().map(|changes| changes.iter().map(|change| Move(vec![change.clone()])).collect());
    together.chain(apart).chain([nans(rule)]).filter(|moves: &Vec<Move>| !moves.is_empty()).collect()
}

/// Formats that sums are rounded to.
pub(super) const TARGETS: &[&str] = &["f16", "bf16", "tf32", "e8m13", "f32", "f64"];
pub(super) const ROUNDINGS: &[&str] = &["RNE", "RZ", "RNA", "RU", "RD", "RO"];

/// Moves that let the NaNs of operands go through all nodes, in one order or another.
fn nans(rule: &Table) -> Vec<Move> {
    let nodes = rule.get("node").and_then(Value::as_table);
    let nodes: Vec<(&String, bool)> = nodes
        .into_iter()
        .flatten()
        .map(|(name, node)| (name, node.get("kind").and_then(Value::as_str) == Some("add")))
        .collect();
    let list = |letters: &str| Value::Array(letters.chars().map(|letter| letter.to_string().into()).collect());
    let orders =
        ["abc", "acb", "bac", "bca", "cab", "cba"].into_iter().flat_map(|all| ["ab", "ba"].map(|two| (all, two)));
    let all = |(all, two): (&str, &str)| {
        let own = |(name, add): &(&String, bool)| {
            change(format!("node.{name}.nan-operands"), list(if *add { two } else { all }))
        };
        Move(nodes.iter().map(own).collect())
    };
    if nodes.is_empty() { Vec::new() } else { orders.map(all).collect() }
}

/// The nodes of a rule that are alike: of one kind, with products or without, two or more of them; then all nodes.
pub(super) fn alike(rule: &Table) -> Vec<Vec<&str>> {
    let mut classes: Vec<(_, Vec<&str>)> = Vec::new();
    for (name, node) in rule.get("node").and_then(Value::as_table).into_iter().flatten() {
        let class = (node.get("kind"), node.get("products").is_some(), node.get("alignment").is_some());
        match classes.iter_mut().find(|(other, _)| *other == class) {
            Some((_, names)) => names.push(name),
            None => classes.push((class, vec![name])),
        }
    }
    let all: Vec<&str> = classes.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let several = classes.len() > 1;
    let classes = classes.into_iter().map(|(_, names)| names).filter(|names| names.len() > 1);
    classes.chain(several.then_some(all)).collect()
}

/// The moves that give a key the same value in all of these nodes: the values that it may have in the first.
fn of_all(all: &[Vec<Change>], nodes: &[&str]) -> Vec<Vec<Move>> {
    let first = format!("node.{}.", nodes[0]);
    let own = all.iter().filter(|changes| changes[0].key.starts_with(&first) && !changes[0].key.ends_with(".terms"));
    own.map(|changes| {
        let of = |change: &Change| {
            let place = |node: &&str| format!("node.{node}.{}", &change.key[first.len()..]);
            Move(nodes.iter().map(|node| Change { key: place(node), ..change.clone() }).collect())
        };
        changes.iter().map(of).collect()
    })
    .collect()
}

/// A change of one key.
pub(super) fn change(key: String, to: Value) -> Change {
    Change { key, from: None, to: Some(to), ranged: false }
}

pub(super) fn value(text: &str) -> Option<Value> {
    format!("value = {text}").parse::<Table>().ok()?.remove("value")
}

/// Other nodes with the same terms, and other widths of single terms.
fn node_changes(place: &str, node: &Table) -> Vec<Change> {
    let key = place.trim_end_matches('.').to_string();
    let mut all = Vec::new();
    let list = |name: &str| node.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (mut terms, products) = (list("terms"), list("products"));
    terms.extend(
        node.get("start").filter(|start| !["+0", "product"].contains(&start.as_str().unwrap_or("+0"))).cloned(),
    );
    let kind = node.get("kind").and_then(Value::as_str).unwrap_or_default();
    let mut other = |kind: &str, keys: &[(&str, Value)]| {
        let mut own = Table::new();
        own.insert("kind".into(), kind.into());
        own.extend(["products", "result"].iter().filter_map(|key| Some(((*key).to_string(), node.get(*key)?.clone()))));
        own.extend(keys.iter().map(|(key, value)| ((*key).to_string(), value.clone())));
        all.push(change(key.clone(), Value::Table(own)));
    };
    let alignment = value("{ bits = 24, rounding = \"RZ\" }").into_iter().map(|to| ("alignment", to));
    let with_terms = (!terms.is_empty()).then(|| ("terms", Value::Array(terms.clone())));
    if kind != "sum" {
        other("sum", &with_terms.iter().cloned().chain(alignment).collect::<Vec<_>>());
        other("sum", &with_terms.iter().cloned().collect::<Vec<_>>());
    } else if !node.contains_key("alignment") {
        other("sum", &with_terms.iter().cloned().chain(alignment).collect::<Vec<_>>());
    }
    if kind != "add" {
        other("add", &with_terms.iter().cloned().collect::<Vec<_>>());
    }
    let reversed = || {
        let mut first: Vec<Value> = products.clone();
        first.iter_mut().take(2).rev().zip(products.iter().take(2)).for_each(|(to, from)| *to = from.clone());
        ("products", Value::Array(first))
    };
    if products.len() > 1 && terms.is_empty() {
        other(kind, &[reversed()]);
    }
    if !products.is_empty() {
        match terms.as_slice() {
            [] => {
                for start in ["+0", "product"] {
                    other("fma", &[("start", start.into())]);
                    other("fma", &[("start", start.into()), reversed()]);
                }
            }
            [start] if start.is_str() => other("fma", &[("start", start.clone())]),
            _ => {}
        }
    }
    if kind == "sum" && node.get("result").is_some_and(Value::is_table) {
        for unrounded in ["aligned", "normalised"] {
            all.push(change(format!("{place}result"), unrounded.into()));
        }
    }
    if kind == "sum" && !node.contains_key("alignment") {
        let aligned = |bits: i64| ["RNE", "RZ"].map(|rounding| (bits, rounding));
        for (bits, rounding) in ALIGNED.flat_map(aligned) {
            let to = Table::from_iter([("bits".into(), Value::Integer(bits)), ("rounding".into(), rounding.into())]);
            all.push(change(format!("{place}alignment"), Value::Table(to)));
        }
    }
    // Single terms of an aligned sum.
    for (at, term) in terms.iter().enumerate().filter(|_| node.contains_key("alignment")) {
        let name = term.get("term").unwrap_or(term).clone();
        let mut with = |keys: Vec<(&str, i64)>| {
            let mut own = Table::from_iter([("term".to_string(), name.clone())]);
            own.extend(keys.into_iter().map(|(key, number)| (key.to_string(), Value::Integer(number))));
            let mut terms = terms.clone();
            terms[at] = Value::Table(own);
            all.push(change(format!("{place}terms"), Value::Array(terms)));
        };
        let now = term.get("bits").and_then(Value::as_integer);
        (0..=60).for_each(|bits| with(vec![("bits", bits)]));
        if let Some(bits) = now {
            (0..=60).for_each(|drop| with(vec![("bits", bits), ("drop", drop)]));
        }
    }
    all
}

/// Values for keys that the rule does not have, beside those of its one-step changes.
fn begun(rule: &Table, instruction: &Instruction) -> Vec<Change> {
    let nodes = rule.get("node").and_then(Value::as_table).into_iter().flatten();
    let nodes = nodes.filter_map(|(name, node)| Some((format!("node.{name}."), node.as_table()?)));
    let mut all = Vec::new();
    for (place, table) in std::iter::once((String::new(), rule)).chain(nodes) {
        let absent = |key: &str| !table.contains_key(key);
        if !place.is_empty() {
            all.extend(node_changes(&place, table));
        }
        let mut add = |key: &str, text: &str| all.extend(value(text).map(|to| change(format!("{place}{key}"), to)));
        for target in ["result", "product", "between", "addition"] {
            let Some(now) = table.get(target).and_then(Value::as_table) else { continue };
            for format in FORMATS.iter().filter(|format| holds_sums(format)).chain(registers()) {
                add(&format!("{target}.format"), &format!("\"{}\"", format.name));
            }
            if !now.contains_key("subnormals") {
                for flush in ["signed-zero", "positive-zero"] {
                    add(&format!("{target}.subnormals"), &format!("\"{flush}\""));
                }
            } else {
                for tininess in ["before", "after", "after, unbounded exponent"] {
                    add(&format!("{target}.tininess"), &format!("\"{tininess}\""));
                }
            }
        }
        let has_sum = table.contains_key("alignment") || !absent("nodes");
        let whole = place.is_empty() && absent("node");
        if let Some(alignment) = table.get("alignment").and_then(Value::as_table)
            && !alignment.contains_key("floor")
        {
            floors().for_each(|floor| add("alignment.floor", &floor.to_string()));
        }
        if absent("product-limit") {
            let limits = (-40..=140).filter(|limit| limit % 16 == 0 || [15, 127, 129].contains(limit));
            limits.for_each(|limit| add("product-limit", &limit.to_string()));
        }
        if whole && absent("output") {
            for rounding in ["RZ", "RU", "RD", "RNA", "RO"] {
                add("output", &format!("{{ rounding = \"{rounding}\" }}"));
            }
            for overflow in ["infinity", "saturate", "nan"] {
                add("output", &format!("{{ rounding = \"RNE\", overflow = \"{overflow}\" }}"));
            }
        }
        for (key, formats) in [("between", TARGETS), ("addition", &["f16", "f32", "f64"])] {
            let formats = formats.iter().filter(|_| whole && absent(key));
            for (format, rounding) in formats.flat_map(|format| ["RZ", "RNE"].map(|rounding| (format, rounding))) {
                add(key, &format!("{{ format = \"{format}\", rounding = \"{rounding}\" }}"));
            }
        }
        if absent("nan-operands") {
            // An addition of two values has no third operand.
            let add_only = table.get("kind").and_then(Value::as_str) == Some("add") && absent("products");
            let orders = NAN_ORDERS.iter().filter(|order| !add_only || !order.contains('c'));
            for order in orders.filter(|_| whole || !place.is_empty()) {
                let letters: Vec<String> = order.chars().map(|letter| format!("\"{letter}\"")).collect();
                add("nan-operands", &format!("[{}]", letters.join(", ")));
            }
        }
        if whole && has_sum && absent("late") {
            for (sum, c) in [(31, 24), (24, 24), (30, 25)] {
                for rounding in ["RD", "RZ"] {
                    add("late", &format!("{{ sum-bits = {sum}, c-bits = {c}, rounding = \"{rounding}\" }}"));
                }
            }
        }
        if whole && absent("scale-sums") && instruction.scale.is_some() {
            [4, 8, 16, 32].iter().for_each(|sums| add("scale-sums", &sums.to_string()));
        }
        if let Some(late) = table.get("late").and_then(Value::as_table) {
            if !late.contains_key("drop") {
                (0..=60).step_by(4).for_each(|drop| add("late.drop", &drop.to_string()));
            }
            if !late.contains_key("floor") {
                floors().for_each(|floor| add("late.floor", &floor.to_string()));
            }
        }
    }
    all
}
