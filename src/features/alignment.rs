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
    /// The last term that was kept whole.
    shown: Option<Shown>,
}

impl Cut {
    fn words(&self) -> String {
        match (self.limited, &self.rounding[..]) {
            (true, _) => format!("{} bits or more", self.bits),
            (false, rounding) => format!("{} bits, {rounding}", self.bits),
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

/// Measures alignment, and the floor.
pub(super) fn measure(bench: &mut Bench, steps: &Steps, table: &mut Table) -> Result<Cuts> {
    let mut cuts = Cuts { products: None, c: None, lanes: false };
    let aligned = steps.aligned().filter(|step| step.products().len() > 2);
    let without = match steps.all.iter().find(|step| step.manner == Manner::Exact) {
        _ if aligned.is_some() => "",
        Some(_) => "exact",
        None => "none",
    };
    let mut finding: Finding = match without {
        "" => Err("the formats hold no such operands".into()),
        word => Ok((word.into(), None)),
    };
    if let Some(products) = aligned.map(Step::products) {
        let far = products.len() >= LANES;
        let triple = if far { [products[0], products[2], products[4]] } else { [products[0], products[1], products[2]] };
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
    floor(bench, steps, &cuts, without, table)?;
    Ok(cuts)
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
    let sums: Vec<Vec<Term>> =
        (1..=MOST.min(e - bench.visible)).map(|bit| with(power(z, false, e - bit))).collect();
    let answers: Vec<Answer> = bench.sums(&sums)?.into_iter().map_while(|answer| answer).collect();
    if answers.is_empty() {
        return Ok(None);
    }
    let whole = answers.iter().zip(1..).take_while(|(answer, bit)| answer.is(Finite::exact(false, 1, e - bit)));
    let bits = whole.count() as i32;
    let limited = bits as usize == answers.len();
    let shown = answers.get((bits - 1).max(0) as usize).map(Shown::from);
    let mut rounding = String::new();
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
    }
    Ok(Some(Cut { bits, limited, rounding, shown }))
}

/// What became of so many quarters of 2^unit.
pub(super) fn rounded(found: &Finite, negative: bool, quarters: u128, unit: i32) -> Option<Rounded> {
    let (units, exact) = found.round_to_quantum(unit, crate::format::Rounding::Rz);
    // What is no multiple of the unit, or has the other sign, no rounding gives.
    let regular = exact && (units == 0 || found.negative == negative);
    Some(Rounded { negative, quarters, units: if regular { units } else { u128::MAX } })
}

/// The smallest exponent that terms are aligned to: the smallest term that is seen beside a tiny one.
fn floor(bench: &mut Bench, steps: &Steps, cuts: &Cuts, without: &str, table: &mut Table) -> Result<()> {
    let known = steps.aligned().zip(cuts.products.as_ref().filter(|cut| !cut.limited));
    let Some((step, cut)) = known else {
        let why = match without {
            "" => "it is not seen how much alignment keeps",
            "exact" => "nothing is cut off",
            _ => "no step has three terms",
        };
        table.put("floor", Err(why.into()));
        return Ok(());
    };
    let signs: &[bool] = match &cut.rounding[..] {
        "RZ" | "RNE" => &[false, true],
        "RD" => &[false],
        "RU" => &[true],
        _ => {
            table.put("floor", Err("the smallest term is seen at any exponent".into()));
            return Ok(());
        }
    };
    let leaves = cuts.leaves(step);
    let [x, y, ..] = leaves[..] else {
        table.put("floor", Err("no step has two products that are summed alike".into()));
        return Ok(());
    };
    let mut smalls = vec![y];
    if step.has_c() && cuts.alike() {
        smalls.push(Leaf::C);
    }
    let lowest = bench.products().normal;
    // A number of D, below which truncation shows what is taken away; and half of the smallest one, above which rounding to nearest
    // shows what is added.
    let bases = [bench.visible.max(lowest), bench.visible - 1];
    let mut best: Option<(i32, i32, bool, Option<Shown>)> = None;
    for base in bases.into_iter().filter(|base| *base >= lowest) {
        let Some(alone) = bench.sum(vec![power(x, false, base)])? else { continue };
        for (small, negative) in smalls.iter().flat_map(|small| signs.iter().map(move |sign| (*small, *sign))) {
            let sums: Vec<Vec<Term>> = (1..=FARTHEST)
                .map(|below| vec![power(x, false, base), power(small, negative, base - below)])
                .collect();
            let answers: Vec<Answer> = bench.sums(&sums)?.into_iter().map_while(|answer| answer).collect();
            let seen = answers.iter().take_while(|answer| answer.code != alone.code).count();
            let last = base - seen as i32;
            if seen > 0 && best.as_ref().is_none_or(|(known, ..)| last < *known) {
                best = Some((last, base, seen == answers.len(), answers.get(seen - 1).map(Shown::from)));
            }
        }
    }
    let finding = match best {
        None => Err(format!("no term is seen beside one that is tiny in {}", bench.i.d)),
        Some((last, base, limited, shown)) => {
            let floor = last + cut.bits;
            let bound = limited || floor <= base;
            Ok((format!("{}{}", floor.max(if limited { floor } else { base }), if bound { " or less" } else { "" }), shown))
        }
    };
    table.put("floor", finding);
    Ok(())
}

