//! Results of steps: their width and rounding.

use super::{
    Finding, Leading, Measurement, UNKNOWN_WIDTH, UNSUITED,
    alignment::AlignmentCuts,
    rounding::{RoundedQuarters, questions, roundings, words},
    says, shows,
    steps::OrderStep,
    unknown,
};
use crate::{
    Result,
    bench::{Term, TermAnswer, TermBench, power, term},
    format::{Finite, Rounding},
    order::Leaf,
};

/// Largest number of bits looked for where D is no bound.
const MOST: i32 = 60;

/// Terms that show the result of a step: a base, 2^e or 2^(e + 1) from two terms, and a small term.
#[derive(Debug, Clone, Copy)]
struct StepPlace {
    base: [Option<Leaf>; 2],
    /// A term that is added to the base exactly.
    odd: Option<Leaf>,
    /// The small term.
    small: Leaf,
    /// The later term that cancels the base.
    outer: Option<Leaf>,
    /// True if the small term is aligned to the base.
    aligned: bool,
}

impl StepPlace {
    /// The choices of terms that a step offers.
    fn of(step: &OrderStep, outer: Option<Leaf>) -> Vec<StepPlace> {
        let aligned = step.aligns() && step.parts.len() > 2;
        let mut places = Vec::new();
        if let [x, z, ..] = &step.parts[..] {
            places.push(StepPlace { base: [Some(x.first), None], odd: x.second, small: z.first, outer, aligned });
        }
        if let ([x, y, z, rest @ ..], true) = (&step.parts[..], aligned) {
            let odd = rest.first().map(|part| part.first).or(x.second);
            places.push(StepPlace { base: [Some(x.first), Some(y.first)], odd, small: z.first, outer, aligned });
        }
        places
    }

    /// Exponent of the base, whose terms have the exponent `e`.
    fn exponent(&self, e: i32) -> i32 {
        e + i32::from(self.base[1].is_some())
    }

    /// The terms of the base, plus 2^unit for an odd base; empty where no format holds them.
    fn base(&self, bench: &TermBench, e: i32, negative: bool, odd: Option<i32>) -> Option<Vec<Term>> {
        let mut plain: Vec<Term> = self.base.iter().flatten().map(|leaf| power(*leaf, negative, e)).collect();
        plain.extend(self.outer.map(|leaf| power(leaf, !negative, self.exponent(e))));
        let Some(unit) = odd else { return Some(plain) };
        let significand = (1u128 << (e - unit)) + 1;
        let leaf = self.base[0].unwrap_or(Leaf::C);
        let odd_terms = [(significand, 1), (1, significand)].map(|(x, y)| term(leaf, negative, x, y, unit));
        let mut ways: Vec<Vec<Term>> = odd_terms.map(|odd_term| [&[odd_term], &plain[1..]].concat()).into();
        ways.extend(self.odd.map(|leaf| [&plain[..], &[power(leaf, negative, unit)]].concat()));
        ways.into_iter().find(|terms| bench.case(terms).is_some())
    }
}

/// A measured width.
pub(super) struct SumWidth {
    pub bits: i32,
    /// True if the formats or the alignment hold no smaller term.
    pub limited: bool,
    answer: TermAnswer,
}

/// Measures the significant bits that pass from step to step, or leave a single step.
pub(super) fn accumulator(all: &mut Measurement) -> Result<Finding> {
    let most = all.bench.i.d.fraction_bits() as i32 + 1;
    all.last = widest(&mut all.bench, &StepPlace::of(&all.steps.all[0], None), most)?;
    if let Some(step) = all.steps.inner() {
        all.inner = widest(&mut all.bench, &StepPlace::of(step, step.outer), MOST)?;
    }
    match all.passed_on() {
        Some(width) => {
            shows(format!("{} bits{}", width.bits, if width.limited { " or more" } else { "" }), &width.answer)
        }
        None => unknown(UNSUITED),
    }
}

/// Measures the rounding of inner sums.
pub(super) fn sums(all: &mut Measurement) -> Result<Finding> {
    let Some(step) = all.steps.inner() else { return says("once") };
    let Some(width) = all.inner.as_ref() else { return unknown(UNSUITED) };
    let (roundings, shown) = rounding(&mut all.bench, &StepPlace::of(step, step.outer), width.bits, &all.cuts)?;
    all.sums = roundings;
    rounded(&all.sums, shown)
}

/// Measures the rounding of the last sum.
pub(super) fn result(all: &mut Measurement) -> Result<Finding> {
    let Some(width) = all.last.as_ref() else { return unknown(UNSUITED) };
    let places = StepPlace::of(&all.steps.all[0], None);
    let (roundings, shown) = rounding(&mut all.bench, &places, width.bits, &all.cuts)?;
    all.result = roundings;
    rounded(&all.result, shown)
}

/// Roundings in words; without a witness nothing was rounded.
fn rounded(roundings: &[Rounding], shown: Option<TermAnswer>) -> Result<Finding> {
    match shown {
        Some(answer) => shows(words(roundings), &answer),
        None => unknown("alignment removes the bits that would be rounded"),
    }
}

/// The bits that alignment keeps below the last place of the result.
pub(super) fn extra(all: &mut Measurement) -> Result<Finding> {
    match (&all.cuts.products, all.passed_on()) {
        (Some(cut), Some(width)) if !cut.limited => shows((cut.bits - (width.bits - 1)).to_string(), &width.answer),
        (Some(_), _) => unknown(UNKNOWN_WIDTH),
        (None, _) => unknown("no step aligns three products"),
    }
}

impl Measurement<'_> {
    /// The width of inner sums, or of a single step.
    fn passed_on(&self) -> Option<&SumWidth> {
        if self.steps.inner().is_some() { self.inner.as_ref() } else { self.last.as_ref() }
    }
}

/// The largest width that any choice of terms shows.
fn widest(bench: &mut TermBench, places: &[StepPlace], most: i32) -> Result<Option<SumWidth>> {
    let mut best: Option<SumWidth> = None;
    let e = bench.top();
    for place in places {
        let top = place.exponent(e);
        let base = Finite::exact(false, 1, top);
        let with = |below: i32| {
            let mut terms = place.base(bench, e, false, None)?;
            terms.push(power(place.small, false, top - below));
            Some(terms)
        };
        let furthest = (most - 1).min(top - bench.visible);
        let sums: Vec<Vec<Term>> = (1..=furthest).map_while(with).collect();
        let exact = |answer: &TermAnswer, below: i32| {
            let small = Finite::exact(false, 1, top - below);
            answer.is(if place.outer.is_some() { small } else { base.plus(&small) })
        };
        let kept = Leading::asked(bench, &sums, exact)?;
        let bits = kept.count as i32 + 1;
        if let Some(answer) = kept.shown()
            && best.as_ref().is_none_or(|best| best.bits < bits)
        {
            best = Some(SumWidth { bits, limited: kept.is_limited() && bits < most, answer });
        }
    }
    Ok(best)
}

/// The roundings that sums of `width` bits may have, with an input that shows them.
fn rounding(
    bench: &mut TermBench,
    places: &[StepPlace],
    width: i32,
    cuts: &AlignmentCuts,
) -> Result<(Vec<Rounding>, Option<TermAnswer>)> {
    let e = bench.top();
    let mut seen: Vec<RoundedQuarters> = Vec::new();
    let mut shown = None;
    for place in places {
        let top = place.exponent(e);
        let unit = top - (width - 1);
        // Terms below the alignment's last bit show nothing about the rounding.
        let last = |leaf| cuts.last(leaf, e).filter(|_| place.aligned);
        let (mut asked, mut sums) = (Vec::new(), Vec::new());
        for (negative, quarters) in questions() {
            let (odd, rest) = (quarters / 4 == 1, quarters % 4);
            let below = if rest == 2 { unit - 1 } else { unit - 2 };
            let kept = last(place.small).is_none_or(|last| below >= last);
            let kept = kept && (!odd || place.base[0].and_then(last).is_none_or(|last| unit >= last));
            let base = place.base(bench, e, negative, odd.then_some(unit));
            let Some(mut terms) = base.filter(|_| kept) else { continue };
            terms.push(term(place.small, negative, rest, 1, unit - 2));
            asked.push((negative, quarters));
            sums.push(terms);
        }
        for ((negative, quarters), answer) in asked.into_iter().zip(bench.sums(&sums)?) {
            let Some(answer) = answer else { continue };
            let Some(value) = answer.finite() else { continue };
            let base = Finite::exact(negative, 1, top);
            let left = if place.outer.is_some() { value } else { value.minus(&base) };
            seen.push(RoundedQuarters::of(&left, negative, quarters, unit));
            if quarters == 2 || shown.is_none() {
                shown = Some(answer);
            }
        }
    }
    Ok((roundings(seen.iter()), shown))
}

/// Measures whether the last bit of the longest product counts, by cancelling all other bits.
pub(super) fn products(Measurement { bench, steps, .. }: &mut Measurement) -> Result<Finding> {
    let i = bench.i;
    let [x, y] = [i.a, i.b].map(|format| format.fraction_bits());
    let (ones, last) = ([(1u128 << x) + 1, (1u128 << y) + 1], -((x + y) as i32));
    let rest = ones[0] * ones[1] - 1;
    let longest = |leaf| term(leaf, false, ones[0], ones[1], last);
    let mut sums = vec![vec![longest(steps.beside_c()), term(Leaf::C, true, rest, 1, last)]];
    for step in &steps.all {
        if let [p, q, r, s, ..] = step.products()[..] {
            sums.push(vec![longest(p), power(q, true, 0), power(r, true, -(x as i32)), power(s, true, -(y as i32))]);
        }
    }
    let answers: Vec<TermAnswer> = bench.sums(&sums)?.into_iter().flatten().collect();
    let value = Finite::exact(false, 1, last);
    match (answers.iter().find(|answer| answer.is(value)), answers.first()) {
        (Some(answer), _) => shows("exact", answer),
        (None, Some(answer)) => shows("rounded", answer),
        (None, None) => unknown(UNSUITED),
    }
}
