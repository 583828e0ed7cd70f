//! Alignment of terms: the bits kept, the rounding of the rest, and the smallest exponent.

use super::{
    FeatureCells, FeatureFinding, FeatureWitness, UNKNOWN_WIDTH, UNSUITED,
    direction::{self, RoundedQuarters},
    steps::{FeatureStep, FeatureSteps},
};
use crate::{
    Result,
    bench::{Term, TermAnswer, TermBench, power, term},
    format::Finite,
    order::{Leaf, Manner},
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
    /// The rounding of the rest; empty where no output shows it.
    pub rounding: String,
    /// Distance below the largest exponent beyond which a term does not even affect the rounding.
    drop: Option<i32>,
    /// The smallest term that was kept whole.
    shown: Option<FeatureWitness>,
}

impl AlignmentCut {
    fn words(&self) -> String {
        match (self.limited, self.drop) {
            (true, _) => format!("{} bits or more", self.bits),
            (false, None) => format!("{} bits, {}", self.bits, self.rounding),
            (false, Some(drop)) => format!("{} bits, {}, left out beyond {drop}", self.bits, self.rounding),
        }
    }
}

/// The alignment of products and of c.
pub(super) struct AlignmentCuts {
    pub products: Option<AlignmentCut>,
    pub c: Option<AlignmentCut>,
    /// True if neighbouring products are aligned differently from every second product.
    pub lanes: bool,
}

impl AlignmentCuts {
    /// True if c is aligned like products.
    pub(super) fn alike(&self) -> bool {
        matches!((&self.products, &self.c), (Some(x), Some(y)) if x.words() == y.words()) && !self.lanes
    }

    /// The products of a step that are aligned with each other.
    pub(super) fn leaves(&self, step: &FeatureStep) -> Vec<Leaf> {
        let products = step.products();
        match self.lanes {
            true => products.iter().step_by(2).copied().collect(),
            false => products,
        }
    }

    /// Exponent of the last bit kept of `leaf`, next to a term with exponent `beside`.
    pub(super) fn last(&self, leaf: Leaf, beside: i32) -> Option<i32> {
        let cut = if leaf == Leaf::C { &self.c } else { &self.products };
        cut.as_ref().filter(|cut| !cut.limited).map(|cut| beside - cut.bits)
    }
}

/// Measures the alignment of products and of c.
pub(super) fn measure(bench: &mut TermBench, steps: &FeatureSteps, table: &mut FeatureCells) -> Result<AlignmentCuts> {
    let mut cuts = AlignmentCuts { products: None, c: None, lanes: false };
    let aligned = steps.aligned().filter(|step| step.products().len() > 2);
    let without = without(steps);
    let mut finding: FeatureFinding = match without {
        "" if aligned.is_none() => Err("no step has three products".into()),
        "" => Err(UNSUITED.into()),
        word => Ok((word.into(), None)),
    };
    if let Some(products) = aligned.map(FeatureStep::products) {
        let far = products.len() >= LANES && bench.i.scale.is_none();
        let (last, middle) = (products.len() - 1, products.len() / 2);
        let triple = match (bench.i.scale, far) {
            // Neighbours may share a scale, or be added exactly before scaling.
            (Some(_), _) => [0, last, middle],
            (None, true) => [0, 2, 4],
            (None, false) => [0, 1, 2],
        };
        let triple = triple.map(|at| products[at]);
        cuts.products = cut(bench, triple)?;
        if let Some(alignment) = &cuts.products {
            finding = Ok((alignment.words(), alignment.shown.clone()));
        }
        if let (true, Some(alignment)) = (far, &cuts.products)
            && let Some(beside) = cut(bench, [products[0], products[2], products[1]])?
            && beside.words() != alignment.words()
            && !(beside.limited || alignment.limited)
        {
            cuts.lanes = true;
            finding =
                Ok((format!("{}; between neighbours {}", alignment.words(), beside.words()), alignment.shown.clone()));
        }
    }
    table.put("alignment", finding);
    cuts.c = of_c(bench, steps, &cuts, without, table)?;
    Ok(cuts)
}

/// The word for alignment where no step may lose small terms; empty where one may.
fn without(steps: &FeatureSteps) -> &'static str {
    match steps.all.iter().any(|step| step.manner == Manner::Exact) {
        _ if steps.aligned().is_some() => "",
        true => "exact",
        false => "none",
    }
}

/// Measures the alignment of c with products.
fn of_c(
    bench: &mut TermBench,
    steps: &FeatureSteps,
    cuts: &AlignmentCuts,
    without: &str,
    table: &mut FeatureCells,
) -> Result<Option<AlignmentCut>> {
    let step = steps.with_c().filter(|step| step.aligns() && step.products().len() > 1);
    let Some(step) = step else {
        let finding = match without {
            "" => Err("no step aligns c with products".into()),
            word => Ok((word.into(), None)),
        };
        table.put("alignment of c", finding);
        return Ok(None);
    };
    let products = cuts.leaves(step);
    let pair = match products[..] {
        [x, .., y] if bench.i.scale.is_some() => [x, y],
        [x, y, ..] => [x, y],
        _ => [step.products()[0], step.products()[1]],
    };
    let alignment = cut(bench, [pair[0], pair[1], Leaf::C])?;
    let finding = alignment.as_ref().map(|alignment| (alignment.words(), alignment.shown.clone()));
    table.put("alignment of c", finding.ok_or(UNSUITED.into()));
    Ok(alignment)
}

/// Measures how much of z survives when x and y cancel.
fn cut(bench: &mut TermBench, [x, y, z]: [Leaf; 3]) -> Result<Option<AlignmentCut>> {
    let e = bench.top();
    let pair = [power(x, false, e), power(y, true, e)];
    let with = |small: Term| vec![pair[0], pair[1], small];
    let sums: Vec<Vec<Term>> = (1..=MOST.min(e - bench.visible)).map(|bit| with(power(z, false, e - bit))).collect();
    let answers: Vec<TermAnswer> = bench.sums(&sums)?.into_iter().map_while(|answer| answer).collect();
    if answers.is_empty() {
        return Ok(None);
    }
    let kept = answers.iter().zip(1..).take_while(|(answer, bit)| answer.is(Finite::exact(false, 1, e - bit)));
    let bits = kept.count() as i32;
    let limited = bits as usize == answers.len();
    let shown = answers.get((bits - 1).max(0) as usize).map(FeatureWitness::from);
    let (mut rounding, mut drop) = (String::new(), None);
    if !limited {
        let unit = e - bits;
        let questions: Vec<(bool, u128)> = direction::questions().collect();
        let sums: Vec<Vec<Term>> =
            questions.iter().map(|(negative, quarters)| with(term(z, *negative, *quarters, 1, unit - 2))).collect();
        let answers = bench.sums(&sums)?;
        let seen: Vec<RoundedQuarters> = questions
            .into_iter()
            .zip(answers)
            .filter_map(|((negative, quarters), answer)| rounded(&answer?.finite()?, negative, quarters, unit))
            .collect();
        rounding = direction::name(&seen);
        // A single quarter may lie below the bits that count.
        if rounding == direction::IRREGULAR {
            let counted =
                seen.iter().filter(|result| result.quarters != 1 || result.units != 0).copied().collect::<Vec<_>>();
            rounding = direction::name(&counted);
        }
        let away = match &rounding[..] {
            "RD" => Some(true),
            "RU" | "RO" => Some(false),
            _ => None,
        };
        if let Some(negative) = away {
            let below: Vec<i32> = (bits + 1..=MOST).collect();
            let sums: Vec<Vec<Term>> = below.iter().map(|bit| with(power(z, negative, e - bit))).collect();
            let answers = bench.sums(&sums)?;
            let lost = below.iter().zip(&answers).find(|(_, answer)| answer.as_ref().is_some_and(TermAnswer::is_zero));
            drop = lost.map(|(bit, _)| bit - 1);
        }
    }
    Ok(Some(AlignmentCut { bits, limited, rounding, drop, shown }))
}

/// The result for `quarters` quarters of 2^unit.
pub(super) fn rounded(result: &Finite, negative: bool, quarters: u128, unit: i32) -> Option<RoundedQuarters> {
    let (units, exact) = result.round_to_quantum(unit, crate::format::Rounding::Rz);
    // No rounding gives another sign, or a value between multiples of the unit.
    let regular = exact && (units == 0 || result.negative == negative);
    Some(RoundedQuarters { negative, quarters, units: if regular { units } else { u128::MAX } })
}

/// Measures the floor: below this exponent, the last bit that counts no longer moves.
///
/// The base is a number of D if results are truncated, and half of the smallest number if they are rounded to nearest.
pub(super) fn floor(
    bench: &mut TermBench,
    steps: &FeatureSteps,
    cuts: &AlignmentCuts,
    table: &mut FeatureCells,
) -> Result<()> {
    let finding = lowest(bench, steps, cuts, table)?;
    table.put("floor", finding);
    Ok(())
}

fn lowest(
    bench: &mut TermBench,
    steps: &FeatureSteps,
    cuts: &AlignmentCuts,
    table: &FeatureCells,
) -> Result<FeatureFinding> {
    let Some((step, cut)) = steps.aligned().zip(cuts.products.as_ref().filter(|cut| !cut.limited)) else {
        let why = match without(steps) {
            "" => UNKNOWN_WIDTH,
            "exact" => "sums are exact",
            _ => "no step has three terms",
        };
        return Ok(Err(why.into()));
    };
    let signs: &[bool] = match &cut.rounding[..] {
        "RZ" | "RNE" => &[false, true],
        "RD" => &[false],
        "RU" => &[true],
        _ => return Ok(Err("with this rounding any term changes the result".into())),
    };
    let nearest = |name: &str| table.finding(name).map(|rounding| rounding.starts_with("RN"));
    let to_nearest = match (nearest("sums"), nearest("result"), table.finding("sums")) {
        (_, Some(result), Some("once")) => result,
        (Some(sums), Some(result), _) if sums == result => result,
        _ => return Ok(Err("the rounding of the sums hides it".into())),
    };
    let leaves = cuts.leaves(step);
    let [x, y, ..] = leaves[..] else { return Ok(Err("no step has two products with the same alignment".into())) };
    let mut smalls = vec![y];
    if step.has_c() && cuts.alike() {
        smalls.push(Leaf::C);
    }
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
        return Ok(Err(format!("no product is half the smallest number of {}", bench.i.d)));
    }
    let mut seen = Vec::new();
    for (factor, exponent) in bases {
        seen.push(smallest(bench, term(x, false, factor, 1, exponent), &smalls, signs)?);
    }
    let [Some(first), second] = &seen[..] else {
        return Ok(Err(format!("no term changes the smallest results in {}", bench.i.d)));
    };
    let floor = first.last + cut.bits;
    let same = second.as_ref().is_some_and(|second| second.last == first.last);
    let words = match (first.limited, floor > low, same) {
        (true, ..) => format!("{floor} or less"),
        (false, true, true) => floor.to_string(),
        (false, true, false) => format!("{} or less", low + if to_nearest { 2 } else { 1 }),
        (false, false, _) => format!("{low} or less"),
    };
    Ok(Ok((words, first.shown.clone())))
}

/// The smallest term that changes a result.
struct SmallestSeen {
    last: i32,
    /// True if the formats hold no smaller term.
    limited: bool,
    shown: Option<FeatureWitness>,
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
        let answers: Vec<TermAnswer> = bench.sums(&sums)?.into_iter().map_while(|answer| answer).collect();
        let seen = answers.iter().take_while(|answer| answer.code != alone.code).count();
        let last = exponent - 1 - seen as i32;
        if seen > 0 && best.as_ref().is_none_or(|best| last < best.last) {
            let shown = answers.get(seen - 1).map(FeatureWitness::from);
            best = Some(SmallestSeen { last, limited: seen == answers.len(), shown });
        }
    }
    Ok(best)
}
