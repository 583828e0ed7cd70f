//! One-step changes of a rule: for each key of the model language the values that are near to the one it has.

use toml::{Table, Value};

use super::values::{get, has_place, set, shown};
use crate::{
    format::{Class, Format},
    isa::Instruction,
};

/// A rule with another value of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The key, with the tables that it lies in: `alignment.bits`, `node.even.alignment.bits`.
    pub key: String,
    /// The value that the rule has, also where it is the one that is meant without the key; `None`: there is none.
    pub from: Option<Value>,
    /// The other value.
    pub to: Option<Value>,
    /// Whether it is one of a range of numbers that is looked through, rather than a neighbour.
    pub ranged: bool,
}

impl Change {
    /// The other value, as a reader sees it.
    pub fn to(&self) -> String {
        shown(self.to.as_ref())
    }

    /// Changes a rule.
    pub fn apply(&self, rule: &mut Table) {
        set(rule, &self.key.split('.').collect::<Vec<_>>(), self.to.clone());
    }

    /// The value that the rule has, as a reader sees it.
    pub fn from(&self) -> String {
        shown(self.from.as_ref())
    }
}

/// What a key is changed for.
struct Site<'a> {
    rule: &'a Table,
    instruction: &'a Instruction,
    value: Option<&'a Value>,
}

type KeyValues = Vec<Option<Value>>;

/// A key of a rule, and what it is changed to.
pub struct ChangedKey {
    /// The key, with the table that it lies in.
    pub name: &'static str,
    values: fn(&Site) -> KeyValues,
    /// The word that is meant where the key is absent.
    default: Option<&'static str>,
    /// The numbers that are looked through beside the neighbours.
    range: Option<fn(i64) -> std::ops::RangeInclusive<i64>>,
}

/// Widths that the language has.
const WIDTHS: fn(i64) -> std::ops::RangeInclusive<i64> = |_| 0..=60;
/// Exponents around the one at hand.
const EXPONENTS: fn(i64) -> std::ops::RangeInclusive<i64> = |now| now - 24..=now + 24;

const fn key(name: &'static str, values: fn(&Site) -> KeyValues) -> ChangedKey {
    ChangedKey { name, values, default: None, range: None }
}

const fn ranged(
    name: &'static str,
    range: fn(i64) -> std::ops::RangeInclusive<i64>,
    values: fn(&Site) -> KeyValues,
) -> ChangedKey {
    ChangedKey { name, values, default: None, range: Some(range) }
}

/// A key that means `default` where a rule omits it.
const fn usual(name: &'static str, default: &'static str, values: fn(&Site) -> KeyValues) -> ChangedKey {
    ChangedKey { name, values, default: Some(default), range: None }
}

/// Every key that a change can have, in the order of the computation. `instructions` and `evidence` say nothing of an
/// arithmetic; with another `step` a rule has other keys; the keys of a node are among those of a rule.
#[rustfmt::skip]
pub const KEYS: &[ChangedKey] = &[
    key("unpack", |s| or_none(s, formats(s, &["f16", "bf16", "f32", "f64"]))),
    key("unpack-c", |s| or_none(s, formats(s, &["f32", "f64"]))),
    usual("operand-subnormals", "keep", |s| words(s, &["keep", "signed-zero", "positive-zero"])),
    usual("result-subnormals", "keep", |s| words(s, &["keep", "signed-zero", "positive-zero"])),
    usual("result-tininess", "after", tininess),
    key("split", |s| or_none(s, Vec::new())),
    key("parts", parts),
    key("group", groups),
    key("product", |s| targets(s, &["f16", "bf16", "f32"])),
    key("product.format", |s| formats(s, RESULTS)),
    key("product.rounding", |s| words(s, ROUNDINGS)),
    usual("product.overflow", "standard", |s| words(s, OVERFLOWS)),
    ranged("product-limit", EXPONENTS, exponents),
    key("normalised", flag),
    ranged("alignment.bits", WIDTHS, widths),
    key("alignment.rounding", |s| words(s, ROUNDINGS)),
    ranged("alignment.floor", EXPONENTS, exponents),
    key("alignment.sticky", sticky),
    key("lanes", lanes),
    key("lanes.period", counts),
    ranged("lanes.bits", WIDTHS, widths),
    key("lanes.rounding", |s| words(s, ROUNDINGS)),
    key("late", late),
    ranged("late.sum-bits", WIDTHS, widths),
    ranged("late.c-bits", WIDTHS, widths),
    key("late.rounding", |s| words(s, ROUNDINGS)),
    ranged("late.drop", EXPONENTS, exponents),
    ranged("late.floor", EXPONENTS, exponents),
    key("scale-sums", counts),
    usual("zero", "positive", |s| words(s, &["positive", "negative", "ieee", "exact-positive"])),
    usual("start", "c", |s| words(s, &["c", "product"])),
    usual("join", "chain", |s| words(s, &["chain", "add"])),
    usual("c", "first", |s| words(s, &["first", "last"])),
    key("result.format", |s| formats(s, RESULTS)),
    key("result.rounding", |s| words(s, ROUNDINGS)),
    usual("result.overflow", "standard", |s| words(s, OVERFLOWS)),
    key("between", |s| targets(s, &["f16", "f32", "e8m13"])),
    key("between.format", |s| formats(s, RESULTS)),
    key("between.rounding", |s| words(s, ROUNDINGS)),
    usual("between.overflow", "standard", |s| words(s, OVERFLOWS)),
    key("addition", |s| targets(s, &[])),
    key("addition.format", |s| formats(s, RESULTS)),
    key("addition.rounding", |s| words(s, ROUNDINGS)),
    usual("addition.overflow", "standard", |s| words(s, OVERFLOWS)),
    key("output", |_| Vec::new()),
    key("output.rounding", |s| words(s, ROUNDINGS)),
    usual("output.overflow", "standard", |s| words(s, OVERFLOWS)),
    key("wrap", |s| words(s, &["wrap", "saturate"])),
    key("accumulator", |s| or_none(s, accumulators(s))),
    key("nan-operands", nan_operands),
    key("nan", nan),
];

const ROUNDINGS: &[&str] = &["RNE", "RNA", "RZ", "RU", "RD", "RO"];
const OVERFLOWS: &[&str] = &["standard", "infinity", "nan", "saturate"];
/// Formats that sums are rounded to.
const RESULTS: &[&str] = &["f16", "bf16", "tf32", "e8m13", "f32", "f64"];

/// The one-step changes of the rule `rule` for an instruction, neighbours first for each key.
///
/// Not all of them are rules: whoever makes a model of them finds out.
pub fn changes(rule: &Table, instruction: &Instruction) -> Vec<Change> {
    let nodes = rule.get("node").and_then(Value::as_table);
    let nodes =
        nodes.into_iter().flatten().filter_map(|(name, node)| Some((format!("node.{name}."), node.as_table()?)));
    let places = std::iter::once((String::new(), rule)).chain(nodes);
    places.flat_map(|(place, table)| KEYS.iter().flat_map(move |key| key.changes(&place, table, instruction))).collect()
}

impl ChangedKey {
    /// The word that is meant where the key is absent, if one is.
    pub fn default(&self) -> Option<&'static str> {
        self.default
    }

    /// The changes of this key in the table at `place`, which is a rule or a node.
    fn changes(&self, place: &str, table: &Table, instruction: &Instruction) -> Vec<Change> {
        if !has_place(table, self.name) {
            return Vec::new();
        }
        let default = self.default.and_then(text);
        let value = get(table, self.name).or(default.as_ref());
        let near = (self.values)(&Site { rule: table, instruction, value });
        let range = self.range.zip(value.and_then(Value::as_integer));
        let far = range.into_iter().flat_map(|(range, now)| range(now)).map(|number| Some(Value::Integer(number)));
        let far: Vec<_> = far.filter(|to| to.as_ref() != value && !near.contains(to)).collect();
        let change = |(to, ranged)| Change { key: format!("{place}{}", self.name), from: value.cloned(), to, ranged };
        let near = near.into_iter().map(|to| (to, false));
        near.chain(far.into_iter().map(|to| (to, true))).map(change).collect()
    }
}

fn text(word: &str) -> Option<Value> {
    Some(Value::String(word.into()))
}

/// The other words of a list.
fn words(site: &Site, words: &[&str]) -> KeyValues {
    let now = site.value.and_then(Value::as_str);
    words.iter().filter(|word| Some(**word) != now).map(|word| text(word)).collect()
}

fn formats(site: &Site, names: &[&str]) -> KeyValues {
    let now = site.value.and_then(Value::as_str);
    names.iter().filter(|name| Some(**name) != now).map(|name| text(name)).collect()
}

/// Other values of a key that may be left out, and that it is.
fn or_none(site: &Site, others: KeyValues) -> KeyValues {
    others.into_iter().chain(site.value.map(|_| None)).collect()
}

fn flag(site: &Site) -> KeyValues {
    vec![Some(Value::Boolean(!site.value.and_then(Value::as_bool).unwrap_or(false)))]
}

/// The other way, where the sum is not rounded so that what stands for all that was cut off is cut off too.
fn sticky(site: &Site) -> KeyValues {
    let word = |key: &str| get(site.rule, key).and_then(Value::as_str);
    let directed = matches!(word("alignment.rounding"), Some("RD" | "RU"));
    if directed || word("result.rounding").is_some_and(|rounding| rounding != "RZ") { flag(site) } else { Vec::new() }
}

/// The other definitions of tininess, where anything is flushed.
fn tininess(site: &Site) -> KeyValues {
    match get(site.rule, "result-subnormals").and_then(Value::as_str) {
        None | Some("keep") => Vec::new(),
        Some(_) => words(site, &["before", "after", "after, unbounded exponent"]),
    }
}

/// Nearby widths.
fn widths(site: &Site) -> KeyValues {
    site.value.and_then(Value::as_integer).map_or_else(Vec::new, |now| {
        [now - 2, now - 1, now + 1, now + 2]
            .into_iter()
            .filter(|bits| WIDTHS(now).contains(bits))
            .map(|bits| Some(Value::Integer(bits)))
            .collect()
    })
}

/// Nearby exponents, and none; where there is none, that of the smallest normal result.
fn exponents(site: &Site) -> KeyValues {
    match site.value.and_then(Value::as_integer) {
        Some(now) => vec![Some(Value::Integer(now - 1)), Some(Value::Integer(now + 1)), None],
        None => site.instruction.d.float().map(|d| Some(Value::Integer(d.emin().into()))).into_iter().collect(),
    }
}

/// Neighbours of a number of bits, and a bit less than D where there is none.
fn accumulators(site: &Site) -> KeyValues {
    let d = i64::from(site.instruction.d.bits);
    let near = site.value.and_then(Value::as_integer).map_or(vec![d - 1], |now| vec![now - 1, now + 1]);
    near.into_iter().filter(|bits| (1..=d).contains(bits)).map(|bits| Some(Value::Integer(bits))).collect()
}

/// Half of a number, and twice as much.
fn counts(site: &Site) -> KeyValues {
    let now = site.value.and_then(Value::as_integer);
    now.map_or_else(Vec::new, |now| [now / 2, now * 2].map(|count| Some(Value::Integer(count))).to_vec())
}

/// The other divisors of k, and a step twice as long where k has it.
fn groups(site: &Site) -> KeyValues {
    let k = site.instruction.stored_k() as i64;
    let now = site.value.and_then(Value::as_integer);
    let sizes = (1..=k).filter(|size| k % size == 0 && Some(*size) != now);
    sizes.map(|size| Some(Value::Integer(size))).collect()
}

/// A target of a step that has none: to nearest; and none where there is one.
fn targets(site: &Site, formats: &[&str]) -> KeyValues {
    if site.value.is_some() {
        return vec![None];
    }
    let target = |format: &&str| parsed(&format!("{{ format = '{format}', rounding = 'RNE' }}"));
    formats.iter().map(target).collect()
}

fn parsed(text: &str) -> Option<Value> {
    format!("value = {text}").parse::<Table>().ok()?.remove("value")
}

/// Other ways to split k: in the other order, in none, by the last bit, and by the last bit but one.
fn parts(site: &Site) -> KeyValues {
    let mut others = vec![
        parsed("{ period = 2, residues = [[0], [1]] }"),
        parsed("{ period = 4, residues = [[0, 1], [2, 3]] }"),
        parsed("{ period = 4, residues = [[2, 3], [0, 1]] }"),
    ];
    others.extend(site.value.map(|_| None));
    others.retain(|other| other.as_ref() != site.value);
    others
}

/// Two lanes as wide as the alignment, or none.
fn lanes(site: &Site) -> KeyValues {
    match (site.value, get(site.rule, "alignment.bits")) {
        (Some(_), _) => vec![None],
        (None, Some(bits)) => vec![parsed(&format!("{{ period = 2, bits = {bits}, rounding = 'RZ' }}"))],
        (None, None) => Vec::new(),
    }
}

/// A late c as wide as the alignment, or none.
fn late(site: &Site) -> KeyValues {
    match (site.value, get(site.rule, "alignment.bits")) {
        (Some(_), _) => vec![None],
        (None, Some(bits)) => vec![parsed(&format!("{{ sum-bits = {bits}, c-bits = {bits}, rounding = 'RZ' }}"))],
        (None, None) => Vec::new(),
    }
}

/// The other orders of a, b and c, and none.
fn nan_operands(site: &Site) -> KeyValues {
    let Some(now) = site.value else { return Vec::new() };
    let orders = ["abc", "acb", "bac", "bca", "cab", "cba"];
    let order = |letters: &str| Some(Value::Array(letters.chars().map(|c| Value::String(c.into())).collect()));
    orders.into_iter().map(order).filter(|order| order.as_ref() != Some(now)).chain([None]).collect()
}

/// Other NaNs of D: of either sign, with all bits set and with only the first.
fn nan(site: &Site) -> KeyValues {
    let d: &Format = site.instruction.d;
    let Some(now) = site.value.and_then(Value::as_str) else { return Vec::new() };
    let (all, sign) = (d.code_mask(), 1u64 << (d.bits - 1));
    let quiet = d.float().map_or(0, |_| infinity(d) | 1 << d.fraction_bits().saturating_sub(1));
    let codes = [quiet, quiet | sign, all & !sign, all];
    let mut named: Vec<String> = Vec::new();
    for code in codes.into_iter().filter(|code| d.decode(*code).class == Class::Nan) {
        let name = d.hex(code);
        if !name.eq_ignore_ascii_case(now) && !named.contains(&name) {
            named.push(name);
        }
    }
    named.iter().map(|name| text(name)).collect()
}

/// The code of exponent all ones and fraction zero.
fn infinity(d: &Format) -> u64 {
    (d.code_mask() >> 1) & !((1 << d.fraction_bits()) - 1)
}
