//! How terms are aligned: the bits that are kept, what becomes of the rest, and the smallest exponent.

use super::{
    Finding, Shown, Table,
    bench::{Answer, Bench, Term, power, term},
    direction::{self, Rounded},
    steps::{Step, Steps},
};
use crate::{
    Result,
    format::Finite,
    tree::{Leaf, Manner},
};

/// The most bits that are looked for.
const MOST: i32 = 64;
/// How far below a term another one is looked for that the floor may cut off.
const FARTHEST: i32 = 100;
/// Products from which lanes of two are looked for.
const LANES: usize = 5;

/// What is kept of a small term beside two large ones that cancel.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    /// Bits after the binary point.
    pub bits: i32,
    /// Whether the formats hold no smaller term: there may be more bits.
    pub limited: bool,
    /// How the rest is cut off; empty where that is not seen.
    pub rounding: String,
    /// How far below the largest exponent a term is left out that would count for the rounding.
    drop: Option<i32>,
    /// The last term that was kept whole.
    shown: Option<Shown>,
}

impl Cut {
    fn words(&self) -> String {
        match (self.limited, self.drop) {
            (true, _) => format!("{} bits or more", self.bits),
            (false, None) => format!("{} bits, {}", self.bits, self.rounding),
            (false, Some(drop)) => format!("{} bits, {}, left out beyond {drop}", self.bits, self.rounding),
        }
    }
}

/// What is kept of products and of c.
pub(super) struct Cuts {
    pub products: Option<Cut>,
    pub c: Option<Cut>,
    /// Whether neighbouring products are not summed as every other one is.
    pub lanes: bool,
}

impl Cuts {
    /// Whether c is aligned as products are.
    pub(super) fn alike(&self) -> bool {
        matches!((&self.products, &self.c), (Some(x), Some(y)) if x.words() == y.words()) && !self.lanes
    }

    /// The products of a step, those first that are summed alike.
    pub(super) fn leaves(&self, step: &Step) -> Vec<Leaf> {
        let products = step.products();
        match self.lanes {
            true => products.iter().step_by(2).copied().collect(),
            false => products,
        }
    }

    /// The exponent of the last bit that is kept of a term beside one with this exponent.
    pub(super) fn last(&self, leaf: Leaf, beside: i32) -> Option<i32> {
        let cut = if leaf == Leaf::C { &self.c } else { &self.products };
        cut.as_ref().filter(|cut| !cut.limited).map(|cut| beside - cut.bits)
    }
}

/// Measures alignment.
pub(super) fn measure(bench: &mut Bench, steps: &Steps, table: &mut Table) -> Result<Cuts> {
    let mut cuts = Cuts { products: None, c: None, lanes: false };
    let aligned = steps.aligned().filter(|step| step.products().len() > 2);
    let without = without(steps);
    let mut finding: Finding = match without {
        "" if aligned.is_none() => Err("no step has three products".into()),
        "" => Err("the formats hold no such operands".into()),
        word => Ok((word.into(), None)),
    };
    if let Some(products) = aligned.map(Step::products) {
        let far = products.len() >= LANES && bench.i.scale.is_none();
        let (last, middle) = (products.len() - 1, products.len() / 2);
        let triple = match (bench.i.scale, far) {
            // Neighbours may be added exactly before they are scaled, or share a scale.
            (Some(_), _) => [0, last, middle],
            (None, true) => [0, 2, 4],
            (None, false) => [0, 1, 2],
        };
        let triple = triple.map(|at| products[at]);
        cuts.products = cut(bench, triple)?;
        if let Some(own) = &cuts.products {
            finding = Ok((own.words(), own.shown.clone()));
        }
        if let (true, Some(own)) = (far, &cuts.products)
            && let Some(beside) = cut(bench, [products[0], products[2], products[1]])?
            && beside.words() != own.words()
            && !(beside.limited || own.limited)
        {
            cuts.lanes = true;
            finding = Ok((format!("{}; between neighbours {}", own.words(), beside.words()), own.shown.clone()));
        }
    }
    table.put("alignment", finding);
    cuts.c = of_c(bench, steps, &cuts, without, table)?;
    Ok(cuts)
}

/// What is said of alignment where no step may lose what is small beside two other terms; nothing where one may.
fn without(steps: &Steps) -> &'static str {
    match steps.all.iter().any(|step| step.manner == Manner::Exact) {
        _ if steps.aligned().is_some() => "",
        true => "exact",
        false => "none",
    }
}

/// The alignment of c with products.
fn of_c(bench: &mut Bench, steps: &Steps, cuts: &Cuts, without: &str, table: &mut Table) -> Result<Option<Cut>> {
    let step = steps.with_c().filter(|step| step.aligns() && step.products().len() > 1);
    let Some(step) = step else {
        let finding = match without {
            "" => Err("c is no term of a step that aligns products".into()),
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
    let own = cut(bench, [pair[0], pair[1], Leaf::C])?;
    let finding = own.as_ref().map(|own| (own.words(), own.shown.clone()));
    table.put("alignment of c", finding.ok_or("the formats hold no such operands".into()));
    Ok(own)
}

/// What is left of z beside x and y, which cancel.
fn cut(bench: &mut Bench, [x, y, z]: [Leaf; 3]) -> Result<Option<Cut>> {
    let e = bench.top();
    let pair = [power(x, false, e), power(y, true, e)];
    let with = |small: Term| vec![pair[0], pair[1], small];
    let sums: Vec<Vec<Term>> = (1..=MOST.min(e - bench.visible)).map(|bit| with(power(z, false, e - bit))).collect();
    let answers: Vec<Answer> = bench.sums(&sums)?.into_iter().map_while(|answer| answer).collect();
    if answers.is_empty() {
        return Ok(None);
    }
    let whole = answers.iter().zip(1..).take_while(|(answer, bit)| answer.is(Finite::exact(false, 1, e - bit)));
    let bits = whole.count() as i32;
    let limited = bits as usize == answers.len();
    let shown = answers.get((bits - 1).max(0) as usize).map(Shown::from);
    let (mut rounding, mut drop) = (String::new(), None);
    if !limited {
        let unit = e - bits;
        let questions: Vec<(bool, u128)> = direction::questions().collect();
        let sums: Vec<Vec<Term>> =
            questions.iter().map(|(negative, quarters)| with(term(z, *negative, (*quarters, 1), unit - 2))).collect();
        let answers = bench.sums(&sums)?;
        let seen: Vec<Rounded> = questions
            .into_iter()
            .zip(answers)
            .filter_map(|((negative, quarters), answer)| rounded(&answer?.finite()?, negative, quarters, unit))
            .collect();
        rounding = direction::name(&seen);
        // Quarters may be too small to count.
        if rounding == direction::IRREGULAR {
            let counted = seen.iter().filter(|own| own.quarters != 1 || own.units != 0).copied().collect::<Vec<_>>();
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
            let lost = below.iter().zip(&answers).find(|(_, answer)| answer.as_ref().is_some_and(Answer::is_zero));
            drop = lost.map(|(bit, _)| bit - 1);
        }
    }
    Ok(Some(Cut { bits, limited, rounding, drop, shown }))
}

/// What became of so many quarters of 2^unit.
pub(super) fn rounded(found: &Finite, negative: bool, quarters: u128, unit: i32) -> Option<Rounded> {
    let (units, exact) = found.round_to_quantum(unit, crate::format::Rounding::Rz);
    // What is no multiple of the unit, or has the other sign, no rounding gives.
    let regular = exact && (units == 0 || found.negative == negative);
    Some(Rounded { negative, quarters, units: if regular { units } else { u128::MAX } })
}

/// The smallest exponent that terms are aligned to: beside a term with a smaller one, what is seen has the same last bit.
///
/// A number of D shows what is taken away if results are truncated; half of the smallest one, what is added or taken away if they go to
/// the nearest.
pub(super) fn floor(bench: &mut Bench, steps: &Steps, cuts: &Cuts, table: &mut Table) -> Result<()> {
    let finding = lowest(bench, steps, cuts, table)?;
    table.put("floor", finding);
    Ok(())
}

fn lowest(bench: &mut Bench, steps: &Steps, cuts: &Cuts, table: &Table) -> Result<Finding> {
    let Some((step, cut)) = steps.aligned().zip(cuts.products.as_ref().filter(|cut| !cut.limited)) else {
        let why = match without(steps) {
            "" => "it is not seen how much alignment keeps",
            "exact" => "nothing is cut off",
            _ => "no step has three terms",
        };
        return Ok(Err(why.into()));
    };
    let signs: &[bool] = match &cut.rounding[..] {
        "RZ" | "RNE" => &[false, true],
        "RD" => &[false],
        "RU" => &[true],
        _ => return Ok(Err("the smallest term is seen at any exponent".into())),
    };
    let nearest = |name: &str| table.found(name).map(|found| found.starts_with("RN"));
    let to_nearest = match (nearest("sums"), nearest("result"), table.found("sums")) {
        (_, Some(result), Some("once")) => result,
        (Some(sums), Some(result), _) if sums == result => result,
        _ => return Ok(Err("the rounding of sums hides it".into())),
    };
    let leaves = cuts.leaves(step);
    let [x, y, ..] = leaves[..] else { return Ok(Err("no step has two products that are summed alike".into())) };
    let mut smalls = vec![y];
    if step.has_c() && cuts.alike() {
        smalls.push(Leaf::C);
    }
    let normal = bench.products().normal;
    // The lowest base, and one a little above. (Both of nearest are half-way from an even number to the next one.)
    let (low, bases) = match to_nearest {
        true => (bench.visible - 1, [(1, bench.visible - 1), (5, bench.visible - 1)]),
        false => {
            let low = bench.visible.max(normal);
            (low, [(1, low), (1, low + 1)])
        }
    };
    if low < normal {
        return Ok(Err(format!("no product is half of the smallest number of {}", bench.i.d)));
    }
    let mut seen = Vec::new();
    for (factor, exponent) in bases {
        seen.push(smallest(bench, term(x, false, (factor, 1), exponent), &smalls, signs)?);
    }
    let [Some(first), second] = &seen[..] else {
        return Ok(Err(format!("no term is seen beside one that is tiny in {}", bench.i.d)));
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

/// The smallest term that is seen.
struct Smallest {
    last: i32,
    /// Whether the formats hold no smaller one.
    limited: bool,
    shown: Option<Shown>,
}

/// The smallest of these terms, of these signs, that changes the result beside a base.
fn smallest(bench: &mut Bench, base: Term, smalls: &[Leaf], signs: &[bool]) -> Result<Option<Smallest>> {
    let Some(alone) = bench.sum(vec![base])? else { return Ok(None) };
    let mut best: Option<Smallest> = None;
    let Some(exponent) = base.value().leading_exponent() else { return Ok(None) };
    for (small, negative) in smalls.iter().flat_map(|small| signs.iter().map(move |sign| (*small, *sign))) {
        // The term just below has the exponent of half of the base.
        let sums: Vec<Vec<Term>> =
            (2..=FARTHEST).map(|below| vec![base, power(small, negative, exponent - below)]).collect();
        let answers: Vec<Answer> = bench.sums(&sums)?.into_iter().map_while(|answer| answer).collect();
        let seen = answers.iter().take_while(|answer| answer.code != alone.code).count();
        let last = exponent - 1 - seen as i32;
        if seen > 0 && best.as_ref().is_none_or(|best| last < best.last) {
            let shown = answers.get(seen - 1).map(Shown::from);
            best = Some(Smallest { last, limited: seen == answers.len(), shown });
        }
    }
    Ok(best)
}
