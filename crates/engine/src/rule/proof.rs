//! Proofs that no operands can show a change.

use super::{
    Change,
    changed::RulePair,
    normal::{normal, quantum},
};
use crate::{
    arithmetic::{Evaluator, Model, Program, Rounded, Rule, SpecialOperands, Step, Unpack, Wrap, ZeroTerms},
    format::{Encoding, Format, Overflow, Rounding},
    isa::Instruction,
};

/// The reason why no operands distinguish `model` from `changed`, its model with `change`.
/// `None` if none is known, or a model does not cover the instruction.
pub fn unobservable(model: &Model, changed: &Model, instruction: &Instruction, change: &Change) -> Option<String> {
    let (one, other) = (model.evaluator(instruction).ok()?, changed.evaluator(instruction).ok()?);
    let rules = [model.rule(instruction)?, changed.rule(instruction)?];
    proof(&RulePair { instruction, rules, evaluators: [&one, &other] }, &change.key)
}

/// True if two arithmetics are one program, or differ only for operands that the formats lack.
/// Other pairs may give the same results, too.
pub fn equivalent(one: &Evaluator, other: &Evaluator) -> bool {
    equal([one.program(), other.program()]).is_some()
}

/// The reason why two rules that differ in `key` give the same results, if one is known.
pub fn proof(pair: &RulePair, key: &str) -> Option<String> {
    let is_number = |unpack: &Unpack| unpack.specials == SpecialOperands::Finite;
    let numbers = pair.evaluators.iter().any(|evaluator| evaluator.program().unpack.iter().any(is_number));
    equal(pair.evaluators.map(Evaluator::program)).or_else(|| match key {
        // Codes of infinities as numbers lie beyond the bounds.
        _ if numbers => None,
        "alignment.floor" => floor(pair),
        "result.overflow" => overflow(pair, |rule| rule.result),
        "addition.overflow" => overflow(pair, |rule| rule.addition),
        "specials" => specials(pair),
        "group" => rising(pair),
        "group-bits" => held(pair),
        _ => None,
    })
}

/// The reason why two programs of one instruction give the same results, if one is known.
pub fn equal(programs: [&Program; 2]) -> Option<String> {
    if programs[0].instruction == programs[1].instruction && programs[0].to_string() == programs[1].to_string() {
        return Some("it is the same program".into());
    }
    let [Some(one), Some(other)] = programs.map(normal) else { return None };
    (one == other).then(|| "the programs differ only for operands that these formats lack".into())
}

/// The number of saturations of an integer sum has no effect if the sum only rises.
fn rising(pair: &RulePair) -> Option<String> {
    let i = pair.instruction;
    let saturates = |rule: &Rule| {
        let has_width_of_d = rule.accumulator.is_none() && rule.group_bits.is_none();
        rule.step == Step::Integer && rule.wrap == Some(Wrap::Saturate) && has_width_of_d
    };
    let unsigned = [i.a, i.b].iter().all(|format| format.encoding == Encoding::Integer { signed: false });
    (unsigned && pair.rules.iter().all(|rule| saturates(rule)))
        .then(|| "no product is negative, so a saturated sum stays saturated".into())
}

/// The bits of sums of groups of integer products have no effect if these hold every such sum.
fn held(pair: &RulePair) -> Option<String> {
    let i = pair.instruction;
    let largest = |format: &'static Format| match format.encoding {
        Encoding::Integer { signed } => Some(1i128 << (format.bits - u32::from(signed))),
        _ => None,
    };
    let product = largest(i.a)? * largest(i.b)?;
    let holds = |rule: &Rule| {
        let most = product * rule.group.unwrap_or(i.stored_k()) as i128;
        rule.group_bits.is_none_or(|bits| most < 1i128 << (bits - 1))
    };
    let both = pair.rules.iter().all(|rule| holds(rule));
    both.then(|| format!("products are at most {product}, too small for a sum of a group to saturate"))
}

/// Bounds of the terms of a fused step: smallest exponent in the alignment, and common quantum.
struct TermRange {
    smallest: i32,
    quantum: i32,
}

/// Bounds of the products of an instruction, and of c with the results that replace it.
fn terms(rule: &Rule, i: &Instruction) -> Option<[TermRange; 2]> {
    let plain = i.scale.is_none()
        && rule.split.is_none()
        && rule.scale_sums.is_none()
        && rule.lanes.is_none()
        && rule.late.is_none()
        && rule.zero_terms == ZeroTerms::Ignored
        && rule.product.is_none()
        && rule.product_bits.is_none();
    if !plain || rule.step != Step::Fused {
        return None;
    }
    let (a, b) = (quantum(i.a)?, quantum(i.b)?);
    // Unpacked into a wider format, a subnormal number has the exponent of its leading bit.
    let exponent = |format: &'static Format, quantum: i32| match (rule.unpack, rule.normalised) {
        (None, None | Some(false)) => format.float().map(|float| float.emin()),
        _ => Some(quantum),
    };
    let products = TermRange { smallest: exponent(i.a, a)? + exponent(i.b, b)?, quantum: a + b };
    let results = [rule.result.map(|to| to.format), rule.between.map(|to| to.format), Some(i.c)];
    let c = results.into_iter().flatten().map(|format| {
        let quantum = quantum(format)?;
        let smallest = if rule.unpack_c.is_some() { quantum } else { format.float()?.emin() };
        Some(TermRange { smallest, quantum })
    });
    let c = c.collect::<Option<Vec<TermRange>>>()?;
    let c = TermRange {
        smallest: c.iter().map(|terms| terms.smallest).min()?,
        quantum: c.iter().map(|terms| terms.quantum).min()?,
    };
    Some([products, c])
}

/// A floor acts only, in a register without an end, if the exponent of every term is below it.
/// It has no effect if such terms are multiples of the last kept bit.
fn floor(pair: &RulePair) -> Option<String> {
    let [products, c] = terms(pair.rules[0], pair.instruction)?;
    let harmless = |rule: &Rule| {
        let alignment = rule
            .alignment
            .filter(|alignment| alignment.carry.is_none() && !alignment.complement && alignment.c_bits.is_none())?;
        let Some(floor) = alignment.floor else { return Some(true) };
        let kept = |terms: &TermRange| terms.smallest >= floor || terms.quantum >= floor - alignment.bits;
        Some(kept(&products) && kept(&c))
    };
    let both = harmless(pair.rules[0])? && harmless(pair.rules[1])?;
    both.then(|| {
        format!(
            "products are multiples of 2^{} and c of 2^{}, so floors this low lose no bits",
            products.quantum, c.quantum
        )
    })
}

/// `infinity`, `standard` and `saturate-finite` differ only for finite sums that overflow.
/// Finite sums overflow only if the products reach half the last place of the largest c. (`nan` and `saturate` concern infinite
/// operands too.)
fn overflow(pair: &RulePair, target: fn(&Rule) -> Option<Rounded>) -> Option<String> {
    let keeps_infinities = |rule: &&Rule| {
        target(rule).is_some_and(|to| {
            matches!(to.overflow, Overflow::Standard | Overflow::Infinity | Overflow::SaturateFinite)
                && to.format.has_infinity()
                && matches!(to.rounding, Rounding::Rz | Rounding::Rne | Rounding::Rna)
        })
    };
    if !pair.rules.iter().all(keeps_infinities) {
        return None;
    }
    let bound = never_overflows(pair.rules[0], pair.instruction)?;
    Some(format!("all products together are below 2^{bound}, too small for a sum with a finite c to overflow"))
}

/// Operands and steps make the same infinities and NaNs if no step makes an infinity of finite terms.
fn specials(pair: &RulePair) -> Option<String> {
    let rule = pair.rules[0];
    let keeps = |to: &Rounded| {
        matches!(to.rounding, Rounding::Rz | Rounding::Rne | Rounding::Rna)
            && matches!(to.overflow, Overflow::Standard | Overflow::Infinity)
    };
    if ![rule.result, rule.between].iter().flatten().all(keeps) || rule.output.is_some() || rule.nan_operands.is_some()
    {
        return None;
    }
    let bound = never_overflows(rule, pair.instruction)?;
    Some(format!("all products together are below 2^{bound}, so no step makes an infinity of finite terms"))
}

/// Binary logarithm of a bound of all products, if no sum with a finite c can overflow.
/// Callers allow truncation and rounding to nearest alone.
fn never_overflows(rule: &Rule, i: &Instruction) -> Option<i32> {
    let plain = matches!(rule.step, Step::Fused | Step::Exact | Step::Fma)
        && i.scale.is_none()
        && rule.split.is_none()
        && rule.product.is_none()
        && rule.lanes.is_none()
        && rule.late.is_none()
        && rule.alignment.is_none_or(|alignment| {
            alignment.rounding == Rounding::Rz
                && !alignment.sticky
                && !alignment.complement
                && alignment.c_bits.is_none()
        });
    if !plain {
        return None;
    }
    let (a, b, c) = (i.a.float()?, i.b.float()?, i.c.float()?);
    // |a| < 2^(emax + 1), so all products together are below 2^bound.
    let count = (usize::BITS - i.stored_k().leading_zeros()) as i32;
    let bound = a.emax() + 1 + b.emax() + 1 + count;
    let small = |Rounded { format, rounding, .. }: Rounded| {
        let to = format.float()?;
        // To nearest, a wider c can round up to more than the largest number.
        let holds_c = rounding == Rounding::Rz || to.precision() >= c.precision();
        // Half the last place of the largest results, which c does not exceed.
        let last = to.emax() - (to.precision().max(c.precision()) as i32 - 1) - 1;
        Some(c.emax() <= to.emax() && bound <= last && holds_c)
    };
    [rule.result, rule.between, rule.addition].into_iter().flatten().all(|to| small(to) == Some(true)).then_some(bound)
}
