//! Results of steps: their width and rounding.

use super::{
    FeatureCells, FeatureFinding, FeatureWitness, UNKNOWN_WIDTH, UNSUITED,
    alignment::{AlignmentCuts, rounded},
    direction::{self, RoundedQuarters},
    shows,
    steps::{FeatureStep, FeatureSteps},
};
use crate::{
    Result,
    bench::{Term, TermAnswer, TermBench, power, term},
    format::{Finite, Real},
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
    fn of(step: &FeatureStep, outer: Option<Leaf>) -> Vec<StepPlace> {
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
    fn base(&self, bench: &TermBench, e: i32, negative: bool, odd: Option<i32>) -> Vec<Vec<Term>> {
        let mut plain: Vec<Term> = self.base.iter().flatten().map(|leaf| power(*leaf, negative, e)).collect();
        plain.extend(self.outer.map(|leaf| power(leaf, !negative, self.exponent(e))));
        let Some(unit) = odd else { return vec![plain] };
        let mut ways = Vec::new();
        if let Some(first) = plain.first().copied() {
            let significand = (1u128 << (e - unit)) + 1;
            let leaf = self.base[0].unwrap_or(Leaf::C);
            let odd_terms = [(significand, 1), (1, significand)].map(|(x, y)| term(leaf, negative, x, y, unit));
            ways.extend(odd_terms.into_iter().map(|odd_term| {
                let mut terms = plain.clone();
                terms[0] = odd_term;
                (terms, first)
            }));
        }
        let mut ways: Vec<Vec<Term>> = ways.into_iter().map(|(terms, _)| terms).collect();
        ways.extend(self.odd.map(|leaf| [&plain[..], &[power(leaf, negative, unit)]].concat()));
        ways.into_iter().find(|terms| bench.case(terms).is_some()).into_iter().collect()
    }
}

/// A measured width.
struct SumWidth {
    bits: i32,
    /// True if the formats or the alignment hold no smaller term.
    limited: bool,
    answer: TermAnswer,
}

impl SumWidth {
    fn words(&self) -> String {
        format!("{} bits{}", self.bits, if self.limited { " or more" } else { "" })
    }
}

/// Measures the width and rounding of inner sums and of the last sum.
pub(super) fn measure(
    bench: &mut TermBench,
    steps: &FeatureSteps,
    cuts: &AlignmentCuts,
    table: &mut FeatureCells,
) -> Result<()> {
    let last = StepPlace::of(&steps.all[0], None);
    let most = bench.i.d.fraction_bits() as i32 + 1;
    let width = widest(bench, &last, most)?;
    let inner = steps.all[1..].iter().rev().filter(|step| step.outer.is_some()).max_by_key(|step| step.parts.len());
    let places = inner.map(|step| StepPlace::of(step, step.outer));
    let carried = match &places {
        Some(places) => widest(bench, places, MOST)?,
        None => None,
    };
    let finding =
        |width: Option<&SumWidth>| width.map_or(Err(UNSUITED.into()), |width| shows(width.words(), &width.answer));
    table.put("accumulator", finding(if places.is_some() { carried.as_ref() } else { width.as_ref() }));
    let sums = match (&places, &carried) {
        (Some(places), Some(width)) => rounding(bench, places, width.bits, cuts)?,
        (Some(_), None) => Err(UNSUITED.into()),
        (None, _) => Ok(("once".into(), None)),
    };
    table.put("sums", sums);
    let result = match &width {
        Some(width) => rounding(bench, &last, width.bits, cuts)?,
        None => Err(UNSUITED.into()),
    };
    table.put("result", result);
    let width = if places.is_some() { carried } else { width };
    let extra = match (&cuts.products, width) {
        (Some(cut), Some(width)) if !cut.limited => {
            let extra = cut.bits - (width.bits - 1);
            shows(extra.to_string(), &width.answer)
        }
        (Some(_), _) => Err(UNKNOWN_WIDTH.into()),
        (None, _) => Err("no step aligns three products".into()),
    };
    table.put("extra bits", extra);
    Ok(())
}

/// The largest width that any choice of terms shows.
fn widest(bench: &mut TermBench, places: &[StepPlace], most: i32) -> Result<Option<SumWidth>> {
    let mut best: Option<SumWidth> = None;
    let e = bench.top();
    for place in places {
        let top = place.exponent(e);
        let base = Finite::exact(false, 1, top);
        let with = |below: i32| {
            let mut terms = place.base(bench, e, false, None).pop()?;
            terms.push(power(place.small, false, top - below));
            Some(terms)
        };
        let furthest = (most - 1).min(top - bench.visible);
        let sums: Vec<Vec<Term>> = (1..=furthest).map_while(with).collect();
        let answers: Vec<TermAnswer> = bench.sums(&sums)?.into_iter().map_while(|answer| answer).collect();
        let exact = |(answer, below): &(&TermAnswer, i32)| {
            let small = Finite::exact(false, 1, top - below);
            answer.is(if place.outer.is_some() { small } else { base.plus(&small) })
        };
        let count = answers.iter().zip(1..).take_while(exact).count();
        let limited = count == answers.len() && (count as i32) < most - 1;
        if let Some(answer) = count.checked_sub(1).and_then(|at| answers.get(at)).cloned()
            && best.as_ref().is_none_or(|best| best.bits <= count as i32)
        {
            best = Some(SumWidth { bits: count as i32 + 1, limited, answer });
        }
    }
    Ok(best)
}

/// Measures how sums of `width` bits are rounded.
fn rounding(bench: &mut TermBench, places: &[StepPlace], width: i32, cuts: &AlignmentCuts) -> Result<FeatureFinding> {
    let e = bench.top();
    let mut seen: Vec<RoundedQuarters> = Vec::new();
    let mut shown = None;
    for place in places {
        let top = place.exponent(e);
        let unit = top - (width - 1);
        // Terms below the alignment's last bit show nothing about the rounding.
        let last = |leaf| cuts.last(leaf, e).filter(|_| place.aligned);
        let mut questions = Vec::new();
        for (negative, quarters) in direction::questions() {
            let (odd, rest) = (quarters / 4 == 1, quarters % 4);
            let below = if rest == 2 { unit - 1 } else { unit - 2 };
            let kept = last(place.small).is_none_or(|last| below >= last);
            let kept = kept && (!odd || place.base[0].and_then(last).is_none_or(|last| unit >= last));
            let Some(mut terms) = place.base(bench, e, negative, odd.then_some(unit)).pop().filter(|_| kept) else {
                continue;
            };
            terms.push(term(place.small, negative, rest, 1, unit - 2));
            questions.push((negative, quarters, terms));
        }
        let sums: Vec<Vec<Term>> = questions.iter().map(|(.., terms)| terms.clone()).collect();
        for ((negative, quarters, _), answer) in questions.into_iter().zip(bench.sums(&sums)?) {
            let Some(answer) = answer else { continue };
            let Real::Finite(value) = answer.value else { continue };
            let base = Finite::exact(negative, 1, top);
            let left = if place.outer.is_some() { value } else { value.minus(&base) };
            seen.extend(rounded(&left, negative, quarters, unit));
            if quarters == 2 || shown.is_none() {
                shown = Some(FeatureWitness::from(&answer));
            }
        }
    }
    Ok(match seen.is_empty() {
        true => Err("alignment removes the bits that would be rounded".into()),
        false => Ok((direction::name(&seen), shown)),
    })
}

/// Measures whether the last bit of the longest product counts, by cancelling all other bits.
pub(super) fn products(bench: &mut TermBench, steps: &FeatureSteps, table: &mut FeatureCells) -> Result<()> {
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
    let finding = match (answers.iter().find(|answer| answer.is(value)), answers.first()) {
        (Some(answer), _) => shows("exact", answer),
        (None, Some(answer)) => shows("rounded", answer),
        (None, None) => Err(UNSUITED.into()),
    };
    table.put("products", finding);
    Ok(())
}
