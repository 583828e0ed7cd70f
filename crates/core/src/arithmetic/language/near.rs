//! Near values of keys, and further values that a search tries.

use super::{
    limits::holds_sums,
    node::{NodeKind, NodeResult},
    rule::{Alignment, Conversion, Lanes, Late, NanOperand, Parts, Rounded, Subnormals},
    setting::{Site, Values, WIDTHS},
    value::KeyValue,
};
use crate::format::{self, FORMATS, Format, Overflow, Rounding};

/// Usual formats of sums.
const FORMATS_OF_SUMS: [&str; 6] = ["f16", "bf16", "tf32", "e8m13", "f32", "f64"];
/// Definitions of tininess.
const TININESS: [&str; 3] = ["before", "after", "after, unbounded exponent"];
/// Orders of NaN operands.
const NAN_ORDERS: [&str; 18] =
    ["abc", "acb", "bac", "bca", "cab", "cba", "abic", "baic", "ab", "ac", "ba", "bc", "ca", "cb", "ic", "a", "b", "c"];

pub(super) fn numbers(numbers: impl IntoIterator<Item = i64>) -> Values {
    numbers.into_iter().map(|number| Some(KeyValue::Number(number))).collect()
}

fn all_words(words: &[&'static str]) -> Values {
    words.iter().map(|word| Some(KeyValue::Word(word))).collect()
}

fn named(names: &[&str]) -> impl Iterator<Item = &'static Format> {
    names.iter().filter_map(|name| format::find(name).ok())
}

fn order(letters: &str) -> Option<KeyValue> {
    let operand = |letter| match letter {
        'a' => NanOperand::A,
        'b' => NanOperand::B,
        'c' => NanOperand::C,
        _ => NanOperand::Invalid,
    };
    Some(KeyValue::NanOperands(letters.chars().map(operand).collect()))
}

/// Other words of a list.
pub(super) fn words(site: &Site, words: &[&'static str]) -> Values {
    let mut others = all_words(words);
    others.retain(|other| other.as_ref() != site.value);
    others
}

/// Other formats of a list.
pub(super) fn formats(site: &Site, names: &[&str]) -> Values {
    named(names).map(|format| Some(KeyValue::Format(format))).filter(|other| other.as_ref() != site.value).collect()
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
    let neighbours = match site.value {
        Some(KeyValue::Format(format)) => format::neighbours(format),
        _ => Vec::new(),
    };
    let mut all: Vec<&Format> = named(&FORMATS_OF_SUMS).collect();
    for neighbour in neighbours.into_iter().filter(|format| holds_sums(format)) {
        if !all.contains(&neighbour) {
            all.push(neighbour);
        }
    }
    all.into_iter().map(|format| Some(KeyValue::Format(format))).filter(|other| other.as_ref() != site.value).collect()
}

/// Other values of an optional key, and its absence.
pub(super) fn or_none(site: &Site, others: Values) -> Values {
    others.into_iter().chain(site.value.map(|_| None)).collect()
}

pub(super) fn flag(site: &Site) -> Values {
    vec![Some(KeyValue::Flag(site.value != Some(&KeyValue::Flag(true))))]
}

/// The opposite, unless the sum is not rounded: then the sticky bit is dropped.
pub(super) fn sticky(site: &Site) -> Values {
    let result = match (site.rule(), site.node().map(|node| node.result)) {
        (Some(rule), _) => rule.result,
        (_, Some(Some(NodeResult::Rounded(to)))) => Some(to),
        _ => None,
    };
    let directed = site.alignment().is_some_and(|alignment| matches!(alignment.rounding, Rounding::Rd | Rounding::Ru));
    if directed || result.is_some_and(|to| to.rounding != Rounding::Rz) { flag(site) } else { Vec::new() }
}

/// Nearby reaches of a sticky bit, and none; for a sticky bit without one, a reach of a few bits.
pub(super) fn reach(site: &Site) -> Values {
    let sticky = site.alignment().is_some_and(|alignment| alignment.sticky);
    match site.number() {
        Some(now) => or_none(site, numbers([now - 1, now + 1].into_iter().filter(|bits| (1..=60).contains(bits)))),
        None if sticky => numbers([1, 2, 8]),
        None => Vec::new(),
    }
}

/// Nearby places of a sticky bit, and none; for a sticky bit without one, the first place.
pub(super) fn sticky_place(site: &Site) -> Values {
    let sticky = site.alignment().is_some_and(|alignment| alignment.sticky);
    match site.number() {
        Some(now) => or_none(site, numbers([now - 1, now + 1].into_iter().filter(|place| (1..=32).contains(place)))),
        None if sticky => numbers([1, 2]),
        None => Vec::new(),
    }
}

/// Nearby numbers of bits, and enough of them.
pub(super) fn widths_or_all(site: &Site) -> Values {
    site.value.map_or_else(Vec::new, |_| or_none(site, widths(site)))
}

/// The other treatment of sums beyond a register that has an end.
pub(super) fn saturates(site: &Site) -> Values {
    if site.alignment().is_some_and(|alignment| alignment.carry.is_some()) { flag(site) } else { Vec::new() }
}

/// The other treatment of zero terms, where terms are negated by flipping bits.
pub(super) fn complement_zeros(site: &Site) -> Values {
    if site.alignment().is_some_and(|alignment| alignment.complement) { flag(site) } else { Vec::new() }
}

/// Nearby numbers of bits of c, and as many as the other terms have.
/// Without a number they are one to three more than the others have.
pub(super) fn bits_of_c(site: &Site) -> Values {
    match (site.value, site.alignment()) {
        (Some(_), _) => or_none(site, widths(site)),
        (None, Some(alignment)) => numbers((1..=3).map(|more| i64::from(alignment.bits + more))),
        (None, None) => Vec::new(),
    }
}

/// The treatments that operands do not have, and theirs.
pub(super) fn c_subnormals(site: &Site) -> Values {
    let of_operands = site.rule().map(|rule| rule.operand_subnormals).unwrap_or_default();
    let mut others = subnormals(site);
    others.retain(|other| *other != Some(KeyValue::Word(of_operands.name())));
    or_none(site, others)
}

/// The values of special codes that operands do not have, and theirs.
pub(super) fn special_c(site: &Site) -> Values {
    let of_operands = site.rule().map(|rule| rule.special_operands).unwrap_or_default();
    let mut others = words(site, &["keep", "nan", "finite"]);
    others.retain(|other| *other != Some(KeyValue::Word(of_operands.name())));
    or_none(site, others)
}

/// Other definitions of tininess, if anything is flushed.
pub(super) fn tininess(site: &Site) -> Values {
    match site.rule().map(|rule| rule.result_subnormals).unwrap_or_default() {
        Subnormals::Keep => Vec::new(),
        _ => words(site, &TININESS),
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

/// Other widths up to the bits of D, for a number of bits that a sum with another width hides.
pub(super) fn wrapped(site: &Site) -> Values {
    numbers((2..i64::from(site.place.d.bits)).filter(|bits| site.number() != Some(*bits)))
}

/// Usual widths of sums of groups, and none.
pub(super) fn group_bits(site: &Site) -> Values {
    or_none(site, numbers([16, 24].into_iter().filter(|bits| site.number() != Some(*bits))))
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
    named(formats).map(|format| Some(KeyValue::Rounded(Rounded::new(format, Rounding::Rne)))).collect()
}

/// Other splits of k: in the other order, none, by the last bit, and by the last bit but one.
pub(super) fn parts(site: &Site) -> Values {
    let split = |period, residues: &[&[usize]]| {
        Some(KeyValue::Parts(Parts { period, residues: residues.iter().map(|part| part.to_vec()).collect() }))
    };
    let mut others = vec![split(2, &[&[0], &[1]]), split(4, &[&[0, 1], &[2, 3]]), split(4, &[&[2, 3], &[0, 1]])];
    others.retain(|other| other.as_ref() != site.value);
    or_none(site, others)
}

/// None if there is a value; else `begin` of the bits of the alignment, if there is one.
fn as_aligned(site: &Site, begin: fn(i32) -> KeyValue) -> Values {
    match (site.value, site.alignment()) {
        (Some(_), _) => vec![None],
        (None, Some(alignment)) => vec![Some(begin(alignment.bits))],
        (None, None) => Vec::new(),
    }
}

/// Two lanes as wide as the alignment, or none.
pub(super) fn lanes(site: &Site) -> Values {
    as_aligned(site, |bits| KeyValue::Lanes(Lanes { period: 2, bits, rounding: Rounding::Rz }))
}

/// A late c as wide as the alignment, or none.
pub(super) fn late(site: &Site) -> Values {
    as_aligned(site, |bits| KeyValue::Late(Late::new([bits, bits], Rounding::Rz)))
}

/// Other orders of a, b and c, and none.
pub(super) fn nan_operands(site: &Site) -> Values {
    let Some(now) = site.value else { return Vec::new() };
    let all = |letters: &&str| ["a", "b", "c"].iter().all(|letter| letters.contains(letter));
    let orders = NAN_ORDERS.into_iter().filter(all).map(order);
    orders.filter(|order| order.as_ref() != Some(now)).chain([None]).collect()
}

/// Other NaNs of D.
pub(super) fn nan(site: &Site) -> Values {
    let Some(KeyValue::Code(now)) = site.value else { return Vec::new() };
    site.place.nans.iter().filter(|code| *code != now).map(|code| Some(KeyValue::Code(*code))).collect()
}

// Values that only a search tries: near values follow from a rule's own value, these also from its absence.

/// All formats that sums can be rounded to, and registers.
/// These have the exponent of f32, or the precision of the site's own format and a wider exponent. The site's own is among them: a search gives it to other nodes, too.
pub(super) fn all_results(site: &Site) -> Values {
    let trailing = match site.value {
        Some(KeyValue::Format(format)) => format.float().map(|float| float.trailing_bits),
        _ => None,
    };
    let wide = trailing.into_iter().flat_map(|bits| (9..=11).map(move |exponent| format!("e{exponent}m{bits}")));
    let names = (8..=40).map(|bits| format!("e8m{bits}")).chain(wide);
    let registers = names.filter_map(|name| format::find(&name).ok());
    let formats: Vec<&Format> = FORMATS.iter().filter(|format| holds_sums(format)).collect();
    let registers = registers.filter(|register| !formats.contains(register));
    formats.iter().copied().chain(registers).map(|format| Some(KeyValue::Format(format))).collect()
}

/// Treatments of subnormal results, for a target without one.
pub(super) fn flushes(site: &Site) -> Values {
    if site.value.is_some() { Vec::new() } else { all_words(&["signed-zero", "positive-zero"]) }
}

/// Definitions of tininess, for a target that says what becomes of subnormal results.
pub(super) fn target_tininess(site: &Site, target: &str) -> Values {
    match site.table.value(target).and_then(|to| to.part("subnormals")) {
        Some(_) => all_words(&TININESS),
        None => Vec::new(),
    }
}

/// Tests of overflow, for a target without one.
pub(super) fn overflow_tests(site: &Site) -> Values {
    if site.value.is_some() { Vec::new() } else { all_words(&["rounded", "exact"]) }
}

/// Exponents for an absent floor.
/// All near the smallest normal numbers of f32 and f16, and some of the others.
pub(super) fn floors(site: &Site) -> Values {
    let is_usual = |floor: &i64| floor % 8 == 0 || (-156..=-110).contains(floor) || (-36..=0).contains(floor);
    numbers((-320..=160).filter(|floor| site.value.is_none() && is_usual(floor)))
}

/// Numbers of bits that a multiplier may keep.
pub(super) fn product_widths(site: &Site) -> Values {
    numbers((0..=24).filter(|_| site.value.is_none()))
}

/// Numbers of carry bits that few terms exceed.
pub(super) fn carries(site: &Site) -> Values {
    let is_endless = site.value.is_none() && site.alignment().is_some();
    numbers((0..=6).filter(|_| is_endless))
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
    let roundings = |format| [Rounding::Rz, Rounding::Rne].map(|rounding| Rounded::new(format, rounding));
    let targets = named(formats).filter(|_| site.is_absent_in_groups()).flat_map(roundings);
    targets.map(|to| Some(KeyValue::Rounded(to))).collect()
}

pub(super) fn between(site: &Site) -> Values {
    new_targets(site, &FORMATS_OF_SUMS)
}

/// Conversions to D that are not to nearest, or do not overflow in the standard way.
pub(super) fn conversions(site: &Site) -> Values {
    let roundings = [Rounding::Rz, Rounding::Ru, Rounding::Rd, Rounding::Rna, Rounding::Ro];
    let roundings = roundings.map(|rounding| Conversion::new(rounding, Overflow::Standard));
    let overflows = [Overflow::Infinity, Overflow::Saturate, Overflow::Nan];
    let overflows = overflows.map(|overflow| Conversion::new(Rounding::Rne, overflow));
    let all = roundings.into_iter().chain(overflows).filter(|_| site.is_absent_in_groups());
    all.map(|conversion| Some(KeyValue::Conversion(conversion))).collect()
}

/// Late c of usual widths.
pub(super) fn usual_late(site: &Site) -> Values {
    let is_aligned = site.alignment().is_some() && site.is_absent_in_groups();
    let widths = [[31, 24], [24, 24], [30, 25]].into_iter().filter(|_| is_aligned);
    let roundings = |widths| [Rounding::Rd, Rounding::Rz].map(|rounding| Late::new(widths, rounding));
    widths.flat_map(roundings).map(|late| Some(KeyValue::Late(late))).collect()
}

/// Usual numbers of products in a block.
pub(super) fn sums_of_blocks(site: &Site) -> Values {
    let has_scales = site.place.has_scales;
    numbers([4, 8, 16, 32].into_iter().filter(|_| has_scales && site.is_absent_in_groups()))
}

/// Orders of NaN operands; an addition of two values has no third operand.
pub(super) fn nan_orders(site: &Site) -> Values {
    let has_two = site.node().is_some_and(|node| node.kind == NodeKind::Add && node.products.is_none());
    let is_absent = site.value.is_none() && site.rule().is_none_or(|rule| rule.nodes.is_empty());
    NAN_ORDERS.into_iter().filter(|letters| is_absent && !(has_two && letters.contains('c'))).map(order).collect()
}

/// Codes of the NaNs of A and B that a rule does not have, where they can be the result.
pub(super) fn nans_of_factors(site: &Site) -> Values {
    let codes = site.place.nans.iter().filter(|_| site.value.is_none());
    codes.map(|code| Some(KeyValue::Code(*code))).collect()
}

/// Alignments of a sum of a tree that is exact.
pub(super) fn alignments(site: &Site) -> Values {
    let is_exact = site.node().is_some_and(|node| node.kind == NodeKind::Sum && node.alignment.is_none());
    let aligned = |bits| [Rounding::Rne, Rounding::Rz].map(|rounding| Alignment::new(bits, rounding));
    let all = (12..=60).filter(|_| is_exact).flat_map(aligned);
    all.map(|alignment| Some(KeyValue::Alignment(alignment))).collect()
}

/// Results of a sum of a tree that are not rounded.
pub(super) fn unrounded(site: &Site) -> Values {
    let is_rounded =
        site.node().is_some_and(|node| node.kind == NodeKind::Sum) && matches!(site.value, Some(KeyValue::Rounded(_)));
    if is_rounded { all_words(&["aligned", "normalised"]) } else { Vec::new() }
}

/// Widths of the single terms of an aligned sum, and distances below which they are ignored.
pub(super) fn widths_of_terms(site: &Site) -> Values {
    let Some(node) = site.node().filter(|node| node.alignment.is_some()) else { return Vec::new() };
    let mut all = Vec::new();
    for (at, term) in node.terms.iter().enumerate() {
        let mut with = |bits: i64, drop: Option<i64>| {
            let mut terms = node.terms.clone();
            terms[at].bits = Some(bits as i32);
            terms[at].drop = drop.map(|drop| drop as i32);
            all.push(Some(KeyValue::Terms(terms)));
        };
        WIDTHS(0).for_each(|bits| with(bits, None));
        if let Some(bits) = term.bits {
            WIDTHS(0).for_each(|drop| with(bits.into(), Some(drop)));
        }
    }
    all
}
