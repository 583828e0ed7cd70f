//! The ends of the range: subnormal numbers, overflow, and products beyond the largest number.

use super::{Finding, Measurement, UNSUITED, shows, unknown};
use crate::{
    Result,
    bench::{Exponents, Subnormal, TermAnswer, TermBench, code, power},
    format::{Finite, Format, Real},
    isa::Case,
    order::Leaf,
};

/// The product that is asked where any product serves.
const FIRST: Leaf = Leaf::Product(0);

/// Measures subnormal operands in A and B.
pub(super) fn factors(Measurement { bench, .. }: &mut Measurement) -> Result<Finding> {
    let factors = [factor(bench, true)?, factor(bench, false)?];
    let finding = match &factors {
        [Ok((x, shown)), Ok((y, _))] if x == y => Ok((x.clone(), shown.clone())),
        [Ok((x, shown)), Ok((y, _))] => Ok((format!("A {x}, B {y}"), shown.clone())),
        [Ok((x, shown)), Err(_)] => Ok((format!("A {x}"), shown.clone())),
        [Err(_), Ok((y, shown))] => Ok((format!("B {y}"), shown.clone())),
        [Err(why), Err(_)] => Err(why.clone()),
    };
    if finding.as_ref().is_ok_and(|(word, _)| word == "kept") {
        bench.subnormal = Subnormal::Factors;
    }
    Ok(finding)
}

/// The word for the answer to a term of this value.
fn became(answer: Option<TermAnswer>, value: Finite, zero: Finite) -> Result<Finding> {
    let Some(answer) = answer else { return unknown(UNSUITED) };
    let word = match () {
        () if answer.is(value) => "kept",
        () if answer.is(zero) || (zero.is_zero() && answer.is_zero()) => "flushed",
        () => "changed",
    };
    shows(word, &answer)
}

/// Measures a subnormal factor times a power of two, with a product that is normal in D.
fn factor(bench: &mut TermBench, of_a: bool) -> Result<Finding> {
    let i = bench.i;
    let (format, other): (&Format, &Format) = if of_a { (i.a, i.b) } else { (i.b, i.a) };
    let (range, others, d) = (Exponents::of(format), Exponents::of(other), Exponents::of(i.d));
    if range.low == range.normal {
        return unknown(format!("{format} has no subnormal numbers"));
    }
    let small = range.normal - 1;
    let large = (-small).clamp(others.normal, others.high);
    let exponent = small + large;
    if exponent < d.normal {
        return unknown(format!("no product with a subnormal factor is normal in {}", i.d));
    }
    let place = |case: Case| {
        let logical = case.logical(i, 0);
        let mut case = case;
        let (for_a, for_b) = if of_a { (small, large) } else { (large, small) };
        case.a[0] = code(i.a, false, 1, for_a)?;
        case.b[logical] = code(i.b, false, 1, for_b)?;
        Some(case)
    };
    let case = bench.case(&[]).and_then(place);
    let answer = bench.cases(vec![case])?.pop().flatten();
    became(answer, Finite::exact(false, 1, exponent), Finite::zero(false))
}

/// Measures a subnormal c, with a product that makes the sum normal in D if there is one.
pub(super) fn addend(Measurement { bench, .. }: &mut Measurement) -> Result<Finding> {
    let i = bench.i;
    let (c, d) = (Exponents::of(i.c), Exponents::of(i.d));
    let small = c.normal - 1;
    if c.low == c.normal {
        return unknown(format!("{} has no subnormal numbers", i.c));
    }
    if small < d.low {
        return unknown(format!("{} has no numbers this small", i.d));
    }
    let term = power(Leaf::C, false, small);
    let beside = if small < d.normal { bench.sum(vec![term, power(FIRST, false, d.normal)])? } else { None };
    if beside.is_some() {
        let sum = Finite::exact(false, 1 + (1 << (d.normal - small)), small);
        return became(beside, sum, Finite::exact(false, 1, d.normal));
    }
    let alone = bench.sum(vec![term])?;
    became(alone, term.value(), Finite::zero(false))
}

/// Measures a subnormal product of normal operands; without one, the result for a subnormal c counts.
pub(super) fn result(all: &mut Measurement) -> Result<Finding> {
    let i = all.bench.i;
    let d = Exponents::of(i.d);
    if d.low == d.normal {
        return unknown(format!("{} has no subnormal numbers", i.d));
    }
    let subnormal = std::mem::replace(&mut all.bench.subnormal, Subnormal::Nowhere);
    let term = power(FIRST, false, d.normal - 1);
    let answer = all.bench.sum(vec![term])?;
    all.bench.subnormal = subnormal;
    // A subnormal c that comes out unchanged was also a subnormal D.
    let same = Exponents::of(i.c).normal == d.normal;
    let finding = match (answer, all.finding("subnormal C")) {
        (Some(answer), _) => became(Some(answer), term.value(), Finite::zero(false))?,
        (None, Some(Ok((word, shown)))) if same && word == "kept" => Ok((word.clone(), shown.clone())),
        _ => Err(format!("no product of normal operands is subnormal in {}", i.d)),
    };
    if finding.as_ref().is_ok_and(|(word, _)| word != "kept") {
        all.bench.visible = d.normal;
    }
    Ok(finding)
}

/// Measures a sum beyond the largest number of D.
pub(super) fn overflow(Measurement { bench, .. }: &mut Measurement) -> Result<Finding> {
    let i = bench.i;
    let (c, d, products) = (Exponents::of(i.c), Exponents::of(i.d), bench.products());
    let precision = i.d.fraction_bits() as i32 + 1;
    let mut sums = Vec::new();
    if c.high == d.high {
        let largest = bench.case(&[power(FIRST, false, products.high.min(d.high))]);
        let enough = products.high.min(d.high) > d.high - precision;
        sums.push(largest.filter(|_| enough).map(|case| Case { c: i.c.largest(false), ..case }));
    }
    if c.high > d.high {
        sums.push(bench.case(&[power(Leaf::C, false, d.high + 1)]));
    }
    if products.high >= d.high {
        sums.push(bench.case(&[power(FIRST, false, d.high), power(Leaf::C, false, d.high)]));
        sums.push(bench.case(
            &[power(FIRST, false, d.high), power(Leaf::Product(1), false, d.high)].as_slice()[..i.stored_k().min(2)],
        ));
    }
    match bench.cases(sums)?.into_iter().flatten().next() {
        Some(answer) => {
            let word = match answer.value {
                Real::Infinity { .. } => "infinity",
                Real::Nan => "NaN",
                Real::Finite(_) if answer.code == i.d.largest(false) => "largest",
                Real::Finite(_) => "irregular",
            };
            shows(word, &answer)
        }
        None => unknown(format!("no sum of these operands is beyond the range of {}", i.d)),
    }
}

/// Measures a product beyond the largest number of D, plus a term that cancels half of it.
pub(super) fn products(Measurement { bench, steps, .. }: &mut Measurement) -> Result<Finding> {
    let d = Exponents::of(bench.i.d);
    let [large, half] = [d.high + 1, d.high];
    let mut sums = vec![vec![power(steps.beside_c(), false, large), power(Leaf::C, true, half)]];
    for step in &steps.all {
        if let [x, y, ..] = step.products()[..] {
            sums.push(vec![power(x, false, large), power(y, true, half)]);
        }
    }
    let answers: Vec<TermAnswer> = bench.sums(&sums)?.into_iter().flatten().collect();
    let value = Finite::exact(false, 1, half);
    let kept = answers.iter().find(|answer| answer.is(value));
    match (kept, answers.first()) {
        (Some(answer), _) => shows("kept", answer),
        (None, Some(answer)) => {
            let word = match answer.value {
                Real::Infinity { .. } => "infinite",
                Real::Nan => "NaN",
                Real::Finite(_) => "changed",
            };
            shows(word, answer)
        }
        (None, None) => unknown(format!("no product is beyond the range of {}", bench.i.d)),
    }
}
