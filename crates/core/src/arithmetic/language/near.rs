//! Near values of keys, and further values that a search tries.

use toml::{Table, Value};

use super::{
    limits::holds_sums,
    setting::{Site, Values, WIDTHS},
};
use crate::format::{self, FORMATS, Format};

/// Usual formats of sums.
const FORMATS_OF_SUMS: [&str; 6] = ["f16", "bf16", "tf32", "e8m13", "f32", "f64"];
/// Definitions of tininess.
const TININESS: [&str; 3] = ["before", "after", "after, unbounded exponent"];
/// Orders of NaN operands.
const NAN_ORDERS: [&str; 15] =
    ["abc", "acb", "bac", "bca", "cab", "cba", "ab", "ac", "ba", "bc", "ca", "cb", "a", "b", "c"];

fn text(word: &str) -> Option<Value> {
    Some(word.into())
}

pub(super) fn numbers(numbers: impl IntoIterator<Item = i64>) -> Values {
    numbers.into_iter().map(|number| Some(Value::Integer(number))).collect()
}

fn parsed(text: &str) -> Option<Value> {
    format!("value = {text}").parse::<Table>().ok()?.remove("value")
}

fn order(letters: &str) -> Option<Value> {
    Some(Value::Array(letters.chars().map(|letter| Value::String(letter.into())).collect()))
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
    let mut names = FORMATS_OF_SUMS.to_vec();
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
        Some(_) => words(site, &TININESS),
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
    let orders = NAN_ORDERS.into_iter().filter(|order| order.len() == 3).map(order);
    orders.filter(|order| order.as_ref() != Some(now)).chain([None]).collect()
}

/// Other NaNs of D.
pub(super) fn nan(site: &Site) -> Values {
    let Some(now) = site.word() else { return Vec::new() };
    site.place.nans.iter().filter(|code| !code.eq_ignore_ascii_case(now)).map(|code| text(code)).collect()
}

// Values that only a search tries: near values follow from a rule's own value, these also from its absence.

/// All formats that sums can be rounded to, and registers with the exponent of f32.
/// The site's own is among them: a search gives it to other nodes, too.
pub(super) fn all_results(_: &Site) -> Values {
    let registers = (8..=40).filter_map(|bits| format::find(&format!("e8m{bits}")).ok());
    let formats: Vec<&Format> = FORMATS.iter().filter(|format| holds_sums(format)).collect();
    let registers = registers.filter(|register| !formats.contains(register));
    formats.iter().copied().chain(registers).map(|format| text(format.name)).collect()
}

/// Treatments of subnormal results, for a target without one.
pub(super) fn flushes(site: &Site) -> Values {
    if site.value.is_some() { Vec::new() } else { ["signed-zero", "positive-zero"].map(text).into() }
}

/// Definitions of tininess, for a target that says what becomes of subnormal results.
pub(super) fn target_tininess(site: &Site, target: &str) -> Values {
    match site.beside(target, "subnormals") {
        Some(_) => TININESS.map(text).into(),
        None => Vec::new(),
    }
}

/// Exponents for an absent floor.
/// All near the smallest normal numbers of f32 and f16, and some of the others.
pub(super) fn floors(site: &Site) -> Values {
    let is_usual = |floor: &i64| floor % 8 == 0 || (-156..=-110).contains(floor) || (-36..=0).contains(floor);
    numbers((-320..=160).filter(|floor| site.value.is_none() && is_usual(floor)))
}

/// Distances for a c that is always added.
pub(super) fn drops(site: &Site) -> Values {
    numbers((0..=60).step_by(4).filter(|_| site.value.is_none()))
}

/// Exponents for products without a limit.
pub(super) fn limits(site: &Site) -> Values {
    let is_usual = |limit: &i64| limit % 16 == 0 || [15, 127, 129].contains(limit);
    numbers((-40..=140).filter(|limit| site.value.is_none() && is_usual(limit)))
}

/// Targets of a rule without one: some formats, truncated and to nearest.
pub(super) fn new_targets(site: &Site, formats: &[&str]) -> Values {
    let roundings = |format| ["RZ", "RNE"].map(|rounding| (format, rounding));
    let target = |(format, rounding)| parsed(&format!("{{ format = '{format}', rounding = '{rounding}' }}"));
    formats.iter().filter(|_| site.is_absent_in_groups()).flat_map(roundings).map(target).collect()
}

pub(super) fn between(site: &Site) -> Values {
    new_targets(site, &FORMATS_OF_SUMS)
}

/// Conversions to D that are not to nearest, or do not overflow in the standard way.
pub(super) fn conversions(site: &Site) -> Values {
    let roundings = ["RZ", "RU", "RD", "RNA", "RO"].map(|rounding| format!("{{ rounding = '{rounding}' }}"));
    let overflows = ["infinity", "saturate", "nan"].map(|word| format!("{{ rounding = 'RNE', overflow = '{word}' }}"));
    let all = roundings.iter().chain(&overflows).filter(|_| site.is_absent_in_groups());
    all.map(|conversion| parsed(conversion)).collect()
}

/// Late c of usual widths.
pub(super) fn usual_late(site: &Site) -> Values {
    let has_alignment = site.table.contains_key("alignment");
    let widths = [(31, 24), (24, 24), (30, 25)].into_iter().filter(|_| has_alignment && site.is_absent_in_groups());
    let late = |(sum, c), rounding| parsed(&format!("{{ sum-bits = {sum}, c-bits = {c}, rounding = '{rounding}' }}"));
    widths.flat_map(|widths| ["RD", "RZ"].map(|rounding| late(widths, rounding))).collect()
}

/// Usual numbers of products in a block.
pub(super) fn sums_of_blocks(site: &Site) -> Values {
    let has_scales = site.place.has_scales;
    numbers([4, 8, 16, 32].into_iter().filter(|_| has_scales && site.is_absent_in_groups()))
}

/// Orders of NaN operands; an addition of two values has no third operand.
pub(super) fn nan_orders(site: &Site) -> Values {
    let has_two = site.is_node_of("add") && !site.table.contains_key("products");
    let is_absent = site.value.is_none() && !site.table.contains_key("node");
    NAN_ORDERS.into_iter().filter(|letters| is_absent && !(has_two && letters.contains('c'))).map(order).collect()
}

/// Alignments of a sum of a tree that is exact.
pub(super) fn alignments(site: &Site) -> Values {
    let is_exact = site.is_node_of("sum") && site.value.is_none();
    let aligned = |bits, rounding| parsed(&format!("{{ bits = {bits}, rounding = '{rounding}' }}"));
    (12..=60).filter(|_| is_exact).flat_map(|bits| ["RNE", "RZ"].map(|rounding| aligned(bits, rounding))).collect()
}

/// Results of a sum of a tree that are not rounded.
pub(super) fn unrounded(site: &Site) -> Values {
    let is_rounded = site.is_node_of("sum") && site.value.is_some_and(Value::is_table);
    ["aligned", "normalised"].into_iter().filter(|_| is_rounded).map(text).collect()
}

/// Widths of the single terms of an aligned sum, and distances below which they are ignored.
pub(super) fn widths_of_terms(site: &Site) -> Values {
    let terms = site.value.and_then(Value::as_array).filter(|_| site.table.contains_key("alignment"));
    let mut all = Vec::new();
    for (at, term) in terms.into_iter().flatten().enumerate() {
        let mut with = |keys: &[(&str, i64)]| {
            let mut other = Table::from_iter([("term".to_string(), term.get("term").unwrap_or(term).clone())]);
            other.extend(keys.iter().map(|(key, number)| ((*key).to_string(), Value::Integer(*number))));
            let mut terms = terms.cloned().unwrap_or_default();
            terms[at] = Value::Table(other);
            all.push(Some(Value::Array(terms)));
        };
        WIDTHS(0).for_each(|bits| with(&[("bits", bits)]));
        if let Some(bits) = term.get("bits").and_then(Value::as_integer) {
            WIDTHS(0).for_each(|drop| with(&[("bits", bits), ("drop", drop)]));
        }
    }
    all
}
