//! Special values: infinities, NaN, signs of zeros.

use super::{Finding, Measurement, UNSUITED, shows, unknown};
use crate::{
    Result,
    bench::{Exponents, TermAnswer, TermBench, code},
    format::{Format, Real},
    isa::Case,
};

/// The case with these factors of the first product and this c; all others are zero.
fn first(bench: &TermBench, a: Option<u64>, b: Option<u64>, c: Option<u64>) -> Option<Case> {
    let mut case = bench.case(&[])?;
    let logical = case.logical(bench.i, 0);
    (case.a[0], case.b[logical], case.c) = (a?, b?, c?);
    Some(case)
}

fn one(format: &Format, negative: bool) -> Option<u64> {
    code(format, negative, 1, 0)
}

/// The answers to those named cases that are `Some`.
fn named<T>(bench: &mut TermBench, cases: Vec<(T, Option<Case>)>) -> Result<Vec<(T, TermAnswer)>> {
    let (names, cases): (Vec<T>, Vec<Option<Case>>) = cases.into_iter().unzip();
    let answers = bench.cases(cases)?;
    Ok(names.into_iter().zip(answers).filter_map(|(name, answer)| Some((name, answer?))).collect())
}

/// Measures what infinity alone, infinity times zero, and infinity minus infinity give.
pub(super) fn infinities(Measurement { bench, .. }: &mut Measurement) -> Result<Finding> {
    let i = bench.i;
    let zero = |format: &Format| format.zero(false);
    let (a, b, c) = (i.a.infinity(false), i.b.infinity(false), i.c.infinity(false));
    let minus = i.c.infinity(true);
    // The result of IEEE 754: an infinity of this sign, or NaN.
    let (plus, less, nan) = (Some(false), Some(true), None);
    let cases = vec![
        (("c = infinity", plus), first(bench, zero(i.a), zero(i.b), c)),
        (("c = -infinity", less), first(bench, zero(i.a), zero(i.b), minus)),
        (("infinity * 1", plus), first(bench, a, one(i.b, false), zero(i.c))),
        (("1 * infinity", plus), first(bench, one(i.a, false), b, zero(i.c))),
        (("infinity * -1", less), first(bench, a, one(i.b, true), zero(i.c))),
        (("infinity * 0", nan), first(bench, a, zero(i.b), zero(i.c))),
        (("0 * infinity", nan), first(bench, zero(i.a), b, zero(i.c))),
        (("infinity - infinity", nan), first(bench, a, one(i.b, false), minus)),
    ];
    let answers = named(bench, cases)?;
    let right = |((_, ieee), answer): &&((&str, Option<bool>), TermAnswer)| match (ieee, answer.value) {
        (Some(negative), Real::Infinity { negative: answered }) => *negative == answered,
        (None, Real::Nan) => true,
        _ => false,
    };
    let wrong: Vec<&((&str, Option<bool>), TermAnswer)> = answers.iter().filter(|answer| !right(answer)).collect();
    let word = |answer: &TermAnswer| match answer.value {
        Real::Nan => "NaN".to_string(),
        Real::Infinity { negative } => format!("{}infinity", if negative { "-" } else { "" }),
        Real::Finite(_) => i.d.decode(answer.code).decimal(),
    };
    match (wrong.first(), answers.last()) {
        (Some((_, answer)), _) => {
            let all: Vec<String> =
                wrong.iter().map(|((what, _), answer)| format!("{what}: {}", word(answer))).collect();
            shows(all.join("; "), answer)
        }
        (None, Some((_, answer))) => shows("IEEE", answer),
        (None, None) => unknown("no operand has infinities"),
    }
}

/// A NaN with this short payload, quiet or signalling; the format's canonical NaN if there is no room.
fn nan(format: &Format, payload: u64, quiet: bool, negative: bool) -> Option<u64> {
    let canonical = format.nan()?;
    let (Some(float), Some(infinity)) = (format.float(), format.infinity(negative)) else { return Some(canonical) };
    let Some(leading) = float.trailing_bits.checked_sub(1) else { return Some(canonical) };
    // Conversions keep the leading bits.
    let field = payload << leading.saturating_sub(2) | u64::from(quiet) << leading;
    let code = infinity | (field & ((1 << float.trailing_bits) - 1)) << float.padding_bits;
    Some(if format.value(code) == Real::Nan { code } else { canonical })
}

/// An operand that may be NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpecialOperand {
    A,
    B,
    C,
}

/// An operand and its name.
type NamedOperand = (SpecialOperand, &'static str);
/// Two operands that are both NaN, with their codes.
type Rivals = (NamedOperand, NamedOperand, [(SpecialOperand, Option<u64>); 2]);

const OPERANDS: [NamedOperand; 3] = [(SpecialOperand::A, "a"), (SpecialOperand::B, "b"), (SpecialOperand::C, "c")];

/// Measures which codes stand for NaN.
pub(super) fn nans(Measurement { bench, .. }: &mut Measurement) -> Result<Finding> {
    let i = bench.i;
    let zero = |format: &Format| format.zero(false);
    let of = |operand: SpecialOperand| -> &'static Format {
        match operand {
            SpecialOperand::A => i.a,
            SpecialOperand::B => i.b,
            SpecialOperand::C => i.c,
        }
    };
    // Each operand is 1 or a NaN.
    let with = |bench: &TermBench, which: &[(SpecialOperand, Option<u64>)]| {
        let value = |operand: SpecialOperand| match which.iter().find(|(given, _)| *given == operand) {
            Some((_, nan)) => *nan,
            None => one(of(operand), false),
        };
        first(bench, value(SpecialOperand::A), value(SpecialOperand::B), value(SpecialOperand::C))
    };
    // NaN made by invalid operations.
    let made = vec![
        ("", first(bench, i.a.infinity(false), zero(i.b), zero(i.c))),
        ("", first(bench, zero(i.a), i.b.infinity(false), zero(i.c))),
        ("", first(bench, i.a.infinity(false), one(i.b, false), i.c.infinity(true))),
    ];
    let made = named(bench, made)?;
    let mut single = Vec::new();
    for (operand, name) in OPERANDS {
        for (payload, quiet, negative) in [(1, true, false), (1, false, true), (2, true, true)] {
            let code = nan(of(operand), payload, quiet, negative);
            single.push(((operand, name, code), with(bench, &[(operand, code)])));
        }
    }
    let single = named(bench, single)?;
    let mut codes: Vec<u64> = made.iter().map(|(_, answer)| answer.code).collect();
    codes.extend(single.iter().map(|(_, answer)| answer.code));
    codes.sort_unstable();
    codes.dedup();
    let shown = single.first().map(|(_, answer)| answer).or(made.first().map(|(_, answer)| answer));
    let Some(shown) = shown else { return unknown("no operand has NaN or infinities") };
    if let Some(answer) = single.iter().map(|(_, answer)| answer).find(|answer| answer.value != Real::Nan) {
        return shows("lost", answer);
    }
    if let [code] = codes[..] {
        return shows(format!("one: {}", i.d.hex(code)), shown);
    }
    // Operands whose NaN is passed on, made quiet.
    let passed = |format: &Format, code: u64| {
        let (decoded, d) = (format.decode(code), i.d.float()?);
        let up = i64::from(d.trailing_bits) - i64::from(format.fraction_bits());
        let trailing = if up >= 0 { decoded.significand << up } else { decoded.significand >> -up };
        i.d.quiet_nan(decoded.negative, trailing)
    };
    let passes: Vec<NamedOperand> = OPERANDS
        .into_iter()
        .filter(|(operand, _)| {
            let mut of_operand = single.iter().filter(|((of, ..), _)| of == operand).peekable();
            of_operand.peek().is_some()
                && of_operand.all(|((operand, _, code), answer)| {
                    code.and_then(|code| passed(of(*operand), code)) == Some(answer.code)
                })
        })
        .collect();
    if passes.is_empty() {
        let all: Vec<String> = codes.iter().map(|code| i.d.hex(*code)).collect();
        return shows(all.join(", "), shown);
    }
    // The operand that wins if two are NaN.
    let mut before = Vec::new();
    for (at, x) in passes.iter().enumerate() {
        for y in &passes[at + 1..] {
            let nans = [(x.0, nan(of(x.0), 1, true, false)), (y.0, nan(of(y.0), 2, true, true))];
            before.push(((*x, *y, nans), with(bench, &nans)));
        }
    }
    let answers = named(bench, before)?;
    let wins = |operand: &NamedOperand| {
        let won = |((x, y, nans), answer): &&(Rivals, TermAnswer)| {
            let side = if operand == x { 0 } else { 1 };
            (operand == x || operand == y)
                && nans[side].1.and_then(|code| passed(of(operand.0), code)) == Some(answer.code)
        };
        answers.iter().filter(won).count()
    };
    let mut order = passes.clone();
    order.sort_by_cached_key(|operand| std::cmp::Reverse(wins(operand)));
    let order: Vec<&str> = order.iter().map(|(_, name)| *name).collect();
    let mut made_codes: Vec<String> = made.iter().map(|(_, answer)| i.d.hex(answer.code)).collect();
    made_codes.sort();
    made_codes.dedup();
    let made = if made_codes.is_empty() { String::new() } else { format!("; made {}", made_codes.join(", ")) };
    shows(format!("passed on, {}{made}", order.join(" before ")), shown)
}

/// Measures the signs of sums that are zero.
pub(super) fn zero(Measurement { bench, .. }: &mut Measurement) -> Result<Finding> {
    let i = bench.i;
    let (Some(minus_c), Some(plus_b)) = (i.c.zero(true), one(i.b, false)) else {
        return unknown(format!("{} has no -0", i.c));
    };
    // All terms are -0 if A has it; then one or two terms change.
    let all = bench.case(&[]).map(|mut case| {
        if let Some(minus) = i.a.zero(true).filter(|minus| Some(*minus) != i.a.zero(false)) {
            case.a.fill(minus);
            case.b.fill(plus_b);
        }
        Case { c: minus_c, ..case }
    });
    let with = |at: usize, a: Option<u64>, b: Option<u64>, case: Option<Case>| {
        let mut case = case?;
        let logical = case.logical(i, at);
        (case.a[at], case.b[logical]) = (a?, b?);
        Some(case)
    };
    let half = with(0, one(i.a, false), one(i.b, false), all.clone());
    let cancelled = match i.stored_k() {
        1 => half.and_then(|case| Some(Case { c: one(i.c, true)?, ..case })),
        _ => with(1, one(i.a, true), one(i.b, false), half),
    };
    let (products, d) = (bench.products(), Exponents::of(i.d));
    let least = (d.low - 3).max(products.normal);
    let tiny = (least < d.low - 1).then(|| {
        let first = least.div_euclid(2).clamp(Exponents::of(i.a).normal, Exponents::of(i.a).high);
        with(0, code(i.a, true, 1, first), code(i.b, false, 1, least - first), all.clone())
    });
    let cases = vec![("of -0", all.clone()), ("cancelled", cancelled), ("underflow", tiny.flatten())];
    let answers = named(bench, cases)?;
    let sign = |name: &str| {
        let answer = &answers.iter().find(|(case, _)| *case == name)?.1;
        answer.is_zero().then(|| i.d.decode(answer.code).negative)
    };
    let signs: Vec<(&str, bool)> = answers.iter().filter_map(|(name, _)| Some((*name, sign(name)?))).collect();
    let Some((_, answer)) = answers.first() else { return unknown(UNSUITED) };
    let written = |negative: &bool| if *negative { "-0" } else { "+0" };
    let word = match (sign("of -0"), sign("cancelled"), sign("underflow")) {
        _ if signs.iter().all(|(_, negative)| !negative) => "+0".into(),
        _ if i.d.zero(true).is_none() => "one zero".into(),
        (Some(true), Some(false), None | Some(true)) => "IEEE".into(),
        (Some(true), Some(true), None) => "IEEE, RD".into(),
        _ => {
            let all: Vec<String> =
                signs.iter().map(|(name, negative)| format!("{} {name}", written(negative))).collect();
            all.join(", ")
        }
    };
    shows(word, answer)
}
