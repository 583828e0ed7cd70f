//! Settings of keys: their words for readers, and near values.

use std::ops::RangeInclusive;

use toml::{Table, Value};

use super::limits::holds_sums;
use crate::format::{self, Format};

/// Setting of a key of a rule, or of a key within its table.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    words: &'static str,
    absent: Option<&'static str>,
    /// True if the words for its absence are the value meant then.
    usual: bool,
    rare: bool,
    near: Option<fn(&Site) -> Values>,
    range: Option<fn(i64) -> RangeInclusive<i64>>,
}

/// Setting with the name `words`, without near values.
pub(super) const fn says(words: &'static str) -> Setting {
    Setting { words, absent: None, usual: false, rare: false, near: None, range: None }
}

impl Setting {
    /// Sets the words for its absence.
    pub(super) const fn or(self, absent: &'static str) -> Setting {
        Setting { absent: Some(absent), ..self }
    }

    /// Sets the word meant by its absence.
    pub(super) const fn usual(self, word: &'static str) -> Setting {
        Setting { absent: Some(word), usual: true, ..self }
    }

    /// Sets its near values.
    pub(super) const fn near(self, near: fn(&Site) -> Values) -> Setting {
        Setting { near: Some(near), ..self }
    }

    /// Sets the range of numbers to search, and the near ones.
    pub(super) const fn ranged(self, range: fn(i64) -> RangeInclusive<i64>, near: fn(&Site) -> Values) -> Setting {
        Setting { range: Some(range), near: Some(near), ..self }
    }

    /// Marks a setting that decides special operands, or few others.
    pub(super) const fn rare(self) -> Setting {
        Setting { rare: true, ..self }
    }

    /// Name in a few words.
    pub fn words(&self) -> &'static str {
        self.words
    }

    /// Meaning of its absence, if that is not "none".
    pub fn absent(&self) -> Option<&'static str> {
        self.absent
    }

    /// Value meant by its absence.
    pub fn usual_value(&self) -> Option<Value> {
        self.absent.filter(|_| self.usual).map(Value::from)
    }

    /// True if it decides results of special operands, or few other results.
    pub fn is_rare(&self) -> bool {
        self.rare
    }

    /// True if its values have near ones.
    pub fn has_near_values(&self) -> bool {
        self.near.is_some()
    }

    /// Values near to `value` of a rule or a node at `place`; `None` among them is the absence of the key.
    /// They are its neighbours, and numbers of a range to search (`true`).
    pub fn near_values(&self, table: &Table, place: &Place, value: Option<&Value>) -> Vec<(Option<Value>, bool)> {
        let near = self.near.map_or_else(Vec::new, |near| near(&Site { table, place, value }));
        let range = self.range.zip(value.and_then(Value::as_integer)).map(|(range, now)| range(now));
        let mut far = numbers(range.into_iter().flatten());
        far.retain(|to| to.as_ref() != value && !near.contains(to));
        near.into_iter().map(|to| (to, false)).chain(far.into_iter().map(|to| (to, true))).collect()
    }
}

/// Properties of a rule's instruction on which near values depend.
#[derive(Debug, Clone)]
pub struct Place {
    /// Format of D.
    pub(in super::super) d: &'static Format,
    /// Number of stored k.
    pub(in super::super) stored_k: usize,
    /// Some NaN codes of D.
    pub(in super::super) nans: Vec<String>,
}

/// Place of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'a> {
    /// The rule, or the node.
    table: &'a Table,
    /// The instruction.
    place: &'a Place,
    /// The value, also if it is the one meant by the key's absence; `None` without one.
    value: Option<&'a Value>,
}

/// Other values; `None` is the absence of the key.
pub(super) type Values = Vec<Option<Value>>;

/// Widths of the language.
pub(super) const WIDTHS: fn(i64) -> RangeInclusive<i64> = |_| 0..=60;
/// Exponents around the current one.
pub(super) const EXPONENTS: fn(i64) -> RangeInclusive<i64> = |now| now - 24..=now + 24;

impl Site<'_> {
    fn word(&self) -> Option<&str> {
        self.value.and_then(Value::as_str)
    }

    fn number(&self) -> Option<i64> {
        self.value.and_then(Value::as_integer)
    }

    /// Value at a key of a table of the rule.
    fn beside(&self, table: &str, key: &str) -> Option<&Value> {
        self.table.get(table)?.get(key)
    }
}

fn text(word: &str) -> Option<Value> {
    Some(word.into())
}

fn numbers(numbers: impl IntoIterator<Item = i64>) -> Values {
    numbers.into_iter().map(|number| Some(Value::Integer(number))).collect()
}

fn parsed(text: &str) -> Option<Value> {
    format!("value = {text}").parse::<Table>().ok()?.remove("value")
}

/// Other words of a list.
pub(super) fn words(site: &Site, words: &[&str]) -> Values {
    words.iter().filter(|word| Some(**word) != site.word()).map(|word| text(word)).collect()
}

pub(super) fn subnormals(site: &Site) -> Values {
    words(site, &["keep", "signed-zero", "positive-zero"])
}

pub(super) fn roundings(site: &Site) -> Values {
    words(site, &["RNE", "RNA", "RZ", "RU", "RD", "RO"])
}

pub(super) fn overflows(site: &Site) -> Values {
    words(site, &["standard", "infinity", "nan", "saturate", "saturate-finite"])
}

/// Formats that sums are rounded to.
/// A register of a width by name also has the next narrower and wider ones as neighbours.
pub(super) fn results(site: &Site) -> Values {
    let mut names = vec!["f16", "bf16", "tf32", "e8m13", "f32", "f64"];
    let own = site.word().and_then(|word| format::find(word).ok());
    let neighbours = own.map_or_else(Vec::new, format::neighbours).into_iter().filter(|format| holds_sums(format));
    for name in neighbours.map(|format| format.name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    words(site, &names)
}

/// Other values of an optional key, and its absence.
pub(super) fn or_none(site: &Site, others: Values) -> Values {
    others.into_iter().chain(site.value.map(|_| None)).collect()
}

pub(super) fn flag(site: &Site) -> Values {
    vec![Some(Value::Boolean(!site.value.and_then(Value::as_bool).unwrap_or(false)))]
}

/// The opposite, unless the sum is not rounded: then the sticky bit is dropped.
pub(super) fn sticky(site: &Site) -> Values {
    let rounding = |table: &str| site.beside(table, "rounding").and_then(Value::as_str);
    let directed = matches!(rounding("alignment"), Some("RD" | "RU"));
    if directed || rounding("result").is_some_and(|rounding| rounding != "RZ") { flag(site) } else { Vec::new() }
}

/// Nearby reaches of a sticky bit, and none; for a sticky bit without one, a reach of a few bits.
pub(super) fn reach(site: &Site) -> Values {
    let sticky = site.beside("alignment", "sticky").and_then(Value::as_bool).unwrap_or(false);
    match site.number() {
        Some(now) => or_none(site, numbers([now - 1, now + 1].into_iter().filter(|bits| (1..=60).contains(bits)))),
        None if sticky => numbers([1, 2, 8]),
        None => Vec::new(),
    }
}

/// The treatments that operands do not have, and theirs.
pub(super) fn c_subnormals(site: &Site) -> Values {
    let of_operands = site.table.get("operand-subnormals").and_then(Value::as_str).unwrap_or("keep");
    let mut others = subnormals(site);
    others.retain(|other| other.as_ref().and_then(Value::as_str) != Some(of_operands));
    or_none(site, others)
}

/// Other definitions of tininess, if anything is flushed.
pub(super) fn tininess(site: &Site) -> Values {
    match site.table.get("result-subnormals").and_then(Value::as_str) {
        None | Some("keep") => Vec::new(),
        Some(_) => words(site, &["before", "after", "after, unbounded exponent"]),
    }
}

/// Nearby widths.
pub(super) fn widths(site: &Site) -> Values {
    let Some(now) = site.number() else { return Vec::new() };
    numbers([now - 2, now - 1, now + 1, now + 2].into_iter().filter(|bits| WIDTHS(now).contains(bits)))
}

/// Nearby exponents and no exponent; for a key without one, the exponent of the smallest normal result.
pub(super) fn exponents(site: &Site) -> Values {
    match site.number() {
        Some(now) => or_none(site, numbers([now - 1, now + 1])),
        None => numbers(site.place.d.float().map(|d| d.emin().into())),
    }
}

/// Neighbours of a number of bits; without one, one bit less than D.
pub(super) fn accumulators(site: &Site) -> Values {
    let d = i64::from(site.place.d.bits);
    let near = site.number().map_or(vec![d - 1], |now| vec![now - 1, now + 1]);
    or_none(site, numbers(near.into_iter().filter(|bits| (1..=d).contains(bits))))
}

/// Half and twice the number.
pub(super) fn counts(site: &Site) -> Values {
    site.number().map_or_else(Vec::new, |now| numbers([now / 2, now * 2]))
}

/// Other divisors of k, and a step twice as long if k has it.
pub(super) fn groups(site: &Site) -> Values {
    let k = site.place.stored_k as i64;
    numbers((1..=k).filter(|size| k % size == 0 && Some(*size) != site.number()))
}

/// Rounding to nearest for a step without a target; none for a step with one.
pub(super) fn targets(site: &Site, formats: &[&str]) -> Values {
    if site.value.is_some() {
        return vec![None];
    }
    let target = |format: &&str| parsed(&format!("{{ format = '{format}', rounding = 'RNE' }}"));
    formats.iter().map(target).collect()
}

/// Other splits of k: in the other order, none, by the last bit, and by the last bit but one.
pub(super) fn parts(site: &Site) -> Values {
    let mut others = vec![
        parsed("{ period = 2, residues = [[0], [1]] }"),
        parsed("{ period = 4, residues = [[0, 1], [2, 3]] }"),
        parsed("{ period = 4, residues = [[2, 3], [0, 1]] }"),
    ];
    others.retain(|other| other.as_ref() != site.value);
    or_none(site, others)
}

/// None if there is a value; else `begin` of the bits of the alignment, if there is one.
fn as_aligned(site: &Site, begin: fn(&Value) -> String) -> Values {
    match (site.value, site.beside("alignment", "bits")) {
        (Some(_), _) => vec![None],
        (None, Some(bits)) => vec![parsed(&begin(bits))],
        (None, None) => Vec::new(),
    }
}

/// Two lanes as wide as the alignment, or none.
pub(super) fn lanes(site: &Site) -> Values {
    as_aligned(site, |bits| format!("{{ period = 2, bits = {bits}, rounding = 'RZ' }}"))
}

/// A late c as wide as the alignment, or none.
pub(super) fn late(site: &Site) -> Values {
    as_aligned(site, |bits| format!("{{ sum-bits = {bits}, c-bits = {bits}, rounding = 'RZ' }}"))
}

/// Other orders of a, b and c, and none.
pub(super) fn nan_operands(site: &Site) -> Values {
    let Some(now) = site.value else { return Vec::new() };
    let orders = ["abc", "acb", "bac", "bca", "cab", "cba"];
    let order = |letters: &str| Some(Value::Array(letters.chars().map(|c| Value::String(c.into())).collect()));
    orders.into_iter().map(order).filter(|order| order.as_ref() != Some(now)).chain([None]).collect()
}

/// Other NaNs of D.
pub(super) fn nan(site: &Site) -> Values {
    let Some(now) = site.word() else { return Vec::new() };
    site.place.nans.iter().filter(|code| !code.eq_ignore_ascii_case(now)).map(|code| text(code)).collect()
}
