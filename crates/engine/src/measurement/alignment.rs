//! Alignment of terms: the bits kept, the rounding of the rest, and the smallest exponent.

use super::{
    Finding, Leading, Measurement, UNKNOWN_WIDTH, UNSUITED,
    rounding::{RoundedQuarters, questions, roundings, words},
    says, shows,
    steps::{OrderStep, OrderSteps},
    unknown,
};
use crate::{
    Result,
    bench::{Term, TermAnswer, TermBench, power, term},
    format::{Finite, Rounding},
    order::Leaf,
};

/// Largest number of bits looked for.
const MOST: i32 = 64;
/// Largest distance of two exponents at which a floor is looked for.
const FARTHEST: i32 = 100;
/// Smallest number of products with which lanes of two are looked for.
const LANES: usize = 5;

/// The alignment of a small term with two large terms that cancel.
#[derive(Debug, Clone)]
pub(super) struct AlignmentCut {
    /// Fraction bits kept, relative to the largest exponent.
    pub bits: i32,
    /// True if the formats hold no smaller term, so that there may be more bits.
    pub limited: bool,
    /// The roundings that the rest may have; empty where none gives the results, or no output shows it.
    pub roundings: Vec<Rounding>,
    /// Distance below the largest exponent beyond which a term does not even affect the rounding.
    drop: Option<i32>,
    /// The smallest term that was kept whole.
    shown: TermAnswer,
}

impl AlignmentCut {
    fn words(&self) -> String {
        match (self.limited, self.drop) {
            (true, _) => format!("{} bits or more", self.bits),
            (false, None) => format!("{} bits, {}", self.bits, words(&self.roundings)),
            (false, Some(drop)) => {
                format!("{} bits, {}, left out beyond {drop}", self.bits, words(&self.roundings))
            }
        }
    }
}

/// The alignment of products and of c.
#[derive(Default)]
pub(super) struct AlignmentCuts {
    pub products: Option<AlignmentCut>,
    pub c: Option<AlignmentCut>,
    /// True if neighbouring products are aligned differently from every second product.
    pub lanes: bool,
}

impl AlignmentCuts {
    /// The alignment of products, if its width is known.
    pub(super) fn of_products(&self) -> Option<&AlignmentCut> {
        self.products.as_ref().filter(|cut| !cut.limited)
    }

    /// True if c is aligned like products.
    pub(super) fn alike(&self) -> bool {
        matches!((&self.products, &self.c), (Some(x), Some(y)) if x.words() == y.words()) && !self.lanes
    }

    /// The products of a step that are aligned with each other.
    pub(super) fn leaves(&self, step: &OrderStep) -> Vec<Leaf> {
        step.products().into_iter().step_by(if self.lanes { 2 } else { 1 }).collect()
    }

    /// Exponent of the last bit kept of `leaf`, next to a term with exponent `beside`.
    pub(super) fn last(&self, leaf: Leaf, beside: i32) -> Option<i32> {
        let cut = if leaf == Leaf::C { &self.c } else { &self.products };
        cut.as_ref().filter(|cut| !cut.limited).map(|cut| beside - cut.bits)
    }
}

/// The finding for a step that does not align, by the others.
/// It is a word where no step may lose small terms.
fn without(steps: &OrderSteps, why: &str) -> Result<Finding> {
    match (steps.aligned(), steps.is_exact()) {
        (Some(_), _) => unknown(why),
        (None, true) => says("exact"),
        (None, false) => says("none"),
    }
}

/// Measures the alignment of products.
pub(super) fn products(Measurement { bench, steps, cuts, .. }: &mut Measurement) -> Result<Finding> {
    let aligned = steps.aligned().map(OrderStep::products).filter(|products| products.len() > 2);
    let Some(products) = aligned else {
        // The only aligned step may lack products.
        return without(steps, "no step has three products");
    };
    let far = products.len() >= LANES && bench.i.scale.is_none();
    let triple = match (bench.i.scale, far) {
        // Neighbours may share a scale, or be added exactly before scaling.
        (Some(_), _) => [0, products.len() - 1, products.len() / 2],
        (None, true) => [0, 2, 4],
        (None, false) => [0, 1, 2],
    };
    cuts.products = cut(bench, triple.map(|at| products[at]))?;
    let Some(alignment) = &cuts.products else { return unknown(UNSUITED) };
    if far
        && let Some(beside) = cut(bench, [products[0], products[2], products[1]])?
        && beside.words() != alignment.words()
        && !(beside.limited || alignment.limited)
    {
        cuts.lanes = true;
        return shows(format!("{}; between neighbours {}", alignment.words(), beside.words()), &alignment.shown);
    }
    shows(alignment.words(), &alignment.shown)
}

/// Measures the alignment of c with products.
pub(super) fn of_c(Measurement { bench, steps, cuts, .. }: &mut Measurement) -> Result<Finding> {
    let step = steps.with_c().filter(|step| step.aligns() && step.products().len() > 1);
    let Some(step) = step else { return without(steps, "no step aligns c with products") };
    let pair = match cuts.leaves(step)[..] {
        [x, .., y] if bench.i.scale.is_some() => [x, y],
        [x, y, ..] => [x, y],
        _ => [step.products()[0], step.products()[1]],
    };
    cuts.c = cut(bench, [pair[0], pair[1], Leaf::C])?;
    match &cuts.c {
        Some(alignment) => shows(alignment.words(), &alignment.shown),
        None => unknown(UNSUITED),
    }
}

/// Measures how much of z survives when x and y cancel.
fn cut(bench: &mut TermBench, [x, y, z]: [Leaf; 3]) -> Result<Option<AlignmentCut>> {
    let e = bench.top();
    let with = |small: Term| vec![power(x, false, e), power(y, true, e), small];
    let sums: Vec<Vec<Term>> = (1..=MOST.min(e - bench.visible)).map(|bit| with(power(z, false, e - bit))).collect();
    let kept = Leading::asked(bench, &sums, |answer, bit| answer.is(Finite::exact(false, 1, e - bit)))?;
    let Some(shown) = kept.shown().or(kept.answers.first().cloned()) else { return Ok(None) };
    let (bits, limited) = (kept.count as i32, kept.is_limited());
    let mut alignment = AlignmentCut { bits, limited, roundings: Vec::new(), drop: None, shown };
    if limited {
        return Ok(Some(alignment));
    }
    let unit = e - bits;
    let questions: Vec<(bool, u128)> = questions().collect();
    let sums: Vec<Vec<Term>> =
        questions.iter().map(|(negative, quarters)| with(term(z, *negative, *quarters, 1, unit - 2))).collect();
    let answers = bench.sums(&sums)?.into_iter().zip(questions);
    let seen: Vec<RoundedQuarters> = answers
        .filter_map(|(answer, (negative, quarters))| {
            Some(RoundedQuarters::of(&answer?.finite()?, negative, quarters, unit))
        })
        .collect();
    alignment.roundings = roundings(seen.iter());
    // A single quarter may lie below the bits that count.
    if alignment.roundings.is_empty() {
        alignment.roundings = roundings(seen.iter().filter(|result| result.quarters != 1 || result.units != 0));
    }
    let away = match alignment.roundings[..] {
        [Rounding::Rd] => true,
        [Rounding::Ru | Rounding::Ro] => false,
        _ => return Ok(Some(alignment)),
    };
    let sums: Vec<Vec<Term>> = (bits + 1..=MOST).map(|bit| with(power(z, away, e - bit))).collect();
    let lost = bench.sums(&sums)?.iter().position(|answer| answer.as_ref().is_some_and(TermAnswer::is_zero));
    alignment.drop = lost.map(|at| bits + at as i32);
    Ok(Some(alignment))
}

/// Measures the floor: below this exponent, the last bit that counts no longer moves.
///
/// The base is a number of D if results are truncated, and half of the smallest number if they are rounded to nearest.
pub(super) fn floor(all: &mut Measurement) -> Result<Finding> {
    let Some((step, cut)) = all.steps.aligned().zip(all.cuts.of_products()) else {
        return unknown(match (all.steps.aligned(), all.steps.is_exact()) {
            (Some(_), _) => UNKNOWN_WIDTH,
            (None, true) => "sums are exact",
            (None, false) => "no step has three terms",
        });
    };
    let signs: &[bool] = match cut.roundings[..] {
        [Rounding::Rz | Rounding::Rne] => &[false, true],
        [Rounding::Rd] => &[false],
        [Rounding::Ru] => &[true],
        _ => return unknown("with this rounding any term changes the result"),
    };
    let nearest = |name: &str| match all.finding(name) {
        Some(Ok((rounding, _))) => Some(rounding.starts_with("RN")),
        _ => None,
    };
    let to_nearest = match (nearest("sums"), nearest("result"), all.steps.inner()) {
        (_, Some(result), None) => result,
        (Some(sums), Some(result), _) if sums == result => result,
        _ => return unknown("the rounding of the sums hides it"),
    };
    let [x, y, ..] = all.cuts.leaves(step)[..] else {
        return unknown("no step has two products with the same alignment");
    };
    let mut smalls = vec![y];
    if step.has_c() && all.cuts.alike() {
        smalls.push(Leaf::C);
    }
    let bench = &mut all.bench;
    let normal = bench.products().normal;
    // The lowest base, and a base just above it. For rounding to nearest, both are ties above an even number.
    let (low, bases) = match to_nearest {
        true => (bench.visible - 1, [(1, bench.visible - 1), (5, bench.visible - 1)]),
        false => {
            let low = bench.visible.max(normal);
            (low, [(1, low), (1, low + 1)])
        }
    };
    if low < normal {
        return unknown(format!("no product is half the smallest number of {}", bench.i.d));
    }
    let mut seen = Vec::new();
    for (factor, exponent) in bases {
        seen.push(smallest(bench, term(x, false, factor, 1, exponent), &smalls, signs)?);
    }
    let [Some(first), second] = &seen[..] else {
        return unknown(format!("no term changes the smallest results in {}", bench.i.d));
    };
    let floor = first.last + cut.bits;
    let same = second.as_ref().is_some_and(|second| second.last == first.last);
    let words = match (first.limited, floor > low, same) {
        (true, ..) => format!("{floor} or less"),
        (false, true, true) => floor.to_string(),
        (false, true, false) => format!("{} or less", low + if to_nearest { 2 } else { 1 }),
        (false, false, _) => format!("{low} or less"),
    };
    shows(words, &first.shown)
}

/// The smallest term that changes a result.
struct SmallestSeen {
    last: i32,
    /// True if the formats hold no smaller term.
    limited: bool,
    shown: TermAnswer,
}

/// Finds the smallest term at `smalls`, with a sign of `signs`, that changes the result next to `base`.
fn smallest(bench: &mut TermBench, base: Term, smalls: &[Leaf], signs: &[bool]) -> Result<Option<SmallestSeen>> {
    let Some(alone) = bench.sum(vec![base])? else { return Ok(None) };
    let mut best: Option<SmallestSeen> = None;
    let Some(exponent) = base.value().leading_exponent() else { return Ok(None) };
    for (small, negative) in smalls.iter().flat_map(|small| signs.iter().map(move |sign| (*small, *sign))) {
        // The largest term tried is a quarter of the base.
        let sums: Vec<Vec<Term>> =
            (2..=FARTHEST).map(|below| vec![base, power(small, negative, exponent - below)]).collect();
        let changing = Leading::asked(bench, &sums, |answer, _| answer.code != alone.code)?;
        let last = exponent - 1 - changing.count as i32;
        if let Some(shown) = changing.shown()
            && best.as_ref().is_none_or(|best| last < best.last)
        {
            best = Some(SmallestSeen { last, limited: changing.is_limited(), shown });
        }
    }
    Ok(best)
}
