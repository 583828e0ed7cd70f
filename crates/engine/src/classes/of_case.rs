//! Classes of one dot-product-add, read from its explanation.

use super::{
    kind::{Capped, ClassKind, DroppedPart, Side, TermKind},
    list::{ClassStep, last_addend_shift, last_cancellation, last_distance, last_shift},
};
use crate::{
    arithmetic::{ElementaryOperation, Explanation, ExplanationLine, Multiply, Program, Sum, Unrounded},
    format::{Class, Decoded, Finite, Format, Real, Rounding},
    isa::Case,
};

/// Calls `add` with every class of a case that `explanation` explains; some come more than once.
pub(super) fn classify(
    program: &Program,
    case: &Case,
    explanation: &Explanation,
    add: &mut dyn FnMut(ClassStep, ClassKind),
) {
    operands(program, case, &mut |kind| add(ClassStep::Operands, kind));
    let lines = |step: Option<usize>| explanation.lines.iter().filter(move |line| line.step == step);
    // Infinities and NaNs of all products and c may come before all steps.
    let is_decided = program.specials.is_some() && lines(None).count() > 1;
    for (number, operation) in program.operations().enumerate() {
        let mut add = |kind| add(ClassStep::Number(number), kind);
        match operation {
            ElementaryOperation::Multiply(multiply) => products(program, multiply, case, &mut add),
            _ if is_decided => {}
            ElementaryOperation::Sum(sum) => {
                let lines: Vec<&ExplanationLine> = lines(Some(number)).collect();
                sums(program, sum, &lines, &mut add);
            }
            ElementaryOperation::Integer(integer) => {
                let range = match program.instruction.d.largest(true) != 0 {
                    true => -(1i128 << (integer.bits - 1))..1 << (integer.bits - 1),
                    false => 0..1 << integer.bits,
                };
                for line in lines(None).filter(|line| line.what == "sum") {
                    let Real::Finite(value) = line.value else { continue };
                    let sum = value.significand as i128 * if value.negative { -1 } else { 1 };
                    if !range.contains(&sum) {
                        add(ClassKind::IntegerOverflow { negative: value.negative });
                    }
                }
            }
            ElementaryOperation::Round { .. } | ElementaryOperation::Add { .. } | ElementaryOperation::Fma { .. } => {
                lines(Some(number)).for_each(|line| result(line, &mut add));
            }
        }
    }
    if let Some(line) = explanation.lines.last() {
        result(line, &mut |kind| add(ClassStep::Output, kind));
    }
}

fn operands(program: &Program, case: &Case, add: &mut dyn FnMut(ClassKind)) {
    let i = &program.instruction;
    let scale = i.scale.map_or(i.a, |scale| scale.format);
    let c = [case.c];
    let sides: [(Side, &Format, &[u64]); 5] = [
        (Side::A, i.a, &case.a),
        (Side::B, i.b, &case.b),
        (Side::C, i.c, &c),
        (Side::ScaleA, scale, &case.scale_a),
        (Side::ScaleB, scale, &case.scale_b),
    ];
    for (side, format, codes) in sides {
        for (at, code) in codes.iter().enumerate() {
            let datum = format.decode(*code);
            match datum.class {
                Class::Zero => add(ClassKind::OperandZero { side, negative: datum.negative }),
                Class::Subnormal => add(ClassKind::OperandSubnormal(side)),
                Class::Infinite => add(ClassKind::OperandInfinity { side, at }),
                Class::Nan => add(ClassKind::OperandNan { side, at }),
                Class::Normal => {}
            }
        }
    }
    if program.specials.is_some() {
        let mut signs = [false; 2];
        for (a, b) in (0..case.a.len()).map(|at| factors(program, case, at)) {
            let infinite = a.class == Class::Infinite || b.class == Class::Infinite;
            if infinite && ![a, b].iter().any(|factor| matches!(factor.class, Class::Zero | Class::Nan)) {
                signs[usize::from(a.negative != b.negative)] = true;
            }
        }
        let c = i.c.decode(case.c);
        if c.class == Class::Infinite {
            signs[usize::from(c.negative)] = true;
        }
        (signs == [true; 2]).then(|| add(ClassKind::OppositeInfinities));
    }
}

/// Factors at a stored position.
fn factors(program: &Program, case: &Case, at: usize) -> (Decoded, Decoded) {
    let i = &program.instruction;
    (i.a.decode(case.a[at]), i.b.decode(case.b[case.logical(i, at)]))
}

fn products(program: &Program, multiply: &Multiply, case: &Case, add: &mut dyn FnMut(ClassKind)) {
    for factor in &multiply.factors {
        let (a, b) = factors(program, case, factor.k);
        add(ClassKind::Factors(a.class, b.class));
        let is_zero = [a, b].iter().any(|factor| factor.class == Class::Zero);
        if is_zero && a.is_finite() && b.is_finite() {
            add(ClassKind::ProductZero { negative: a.negative != b.negative });
        }
    }
}

fn sums(program: &Program, sum: &Sum, lines: &[&ExplanationLine], add: &mut dyn FnMut(ClassKind)) {
    let counted = |step: &usize| program.products(*step).map_or(0, Multiply::len);
    let products: usize = sum.products.iter().map(counted).sum();
    let count = products + sum.addends.len();
    let (terms, after) = lines.split_at(count.min(lines.len()));
    let Some(total) = after.last() else { return special(terms, add) };
    // The sum before the register, if the register changes it.
    let total = if after.len() > 1 { after[0] } else { total };
    let exponents = terms.iter().filter_map(|line| line.exponent);
    let Some(largest) = exponents.max() else { return };
    let floor = sum.alignment.and_then(|alignment| alignment.floor).filter(|floor| *floor > largest);
    floor.iter().for_each(|_| add(ClassKind::AtFloor));
    let largest = floor.unwrap_or(largest);
    let last = last_shift(sum.alignment.map(|alignment| alignment.bits));
    let (mut leading, mut signs) = (None, [false; 2]);
    for (at, line) in terms.iter().enumerate() {
        let Some(value) = finite(&line.value).filter(|value| !value.is_zero()) else { continue };
        let (term, last) =
            if at < products { (TermKind::Product, last) } else { (TermKind::Addend, last_addend_shift(sum)) };
        line.exponent.iter().for_each(|exponent| add(ClassKind::Shift(term, Capped::of(largest - exponent, last))));
        let kept = line.kept.unwrap_or(value);
        if !value.minus(&kept).is_zero() {
            add(ClassKind::Cut { term, negative: value.negative });
        }
        match kept.is_zero() {
            true => add(ClassKind::CutWhole(term)),
            false => signs[usize::from(kept.negative)] = true,
        }
        leading = leading.max(kept.leading_exponent());
    }
    let (Some(leading), Some(value)) = (leading, finite(&total.value)) else { return };
    let Some(sum_leading) = value.leading_exponent() else { return add(ClassKind::CancelsToZero) };
    if sum_leading > leading {
        add(ClassKind::SumCarry(sum_leading - leading));
    }
    if sum_leading < leading && signs == [true; 2] {
        add(ClassKind::Cancellation(Capped::of(leading - sum_leading, last_cancellation(sum))));
    }
    if after.len() > 1 {
        add(ClassKind::BeyondRegister { negative: value.negative });
    }
}

/// Infinities and NaNs of a sum.
fn special(terms: &[&ExplanationLine], add: &mut dyn FnMut(ClassKind)) {
    let mut signs = [false; 2];
    for term in terms {
        match term.value {
            Real::Nan => return add(ClassKind::SumNan),
            Real::Infinity { negative } => signs[usize::from(negative)] = true,
            Real::Finite(_) => {}
        }
    }
    match signs {
        [true, true] => add(ClassKind::OppositeInfinities),
        [false, false] => {}
        [_, negative] => add(ClassKind::SumInfinity { negative }),
    }
}

fn finite(value: &Real) -> Option<Finite> {
    match value {
        Real::Finite(value) => Some(*value),
        _ => None,
    }
}

/// Classes of a rounded number.
fn result(line: &ExplanationLine, add: &mut dyn FnMut(ClassKind)) {
    let (Some((format, code)), Some(unrounded)) = (line.code, &line.unrounded) else { return };
    addition(unrounded, format, add);
    let result = format.decode(code);
    let value = match unrounded.value {
        Real::Nan => return add(ClassKind::ResultNan),
        Real::Infinity { negative } => return add(ClassKind::ResultInfinity { negative }),
        Real::Finite(value) => value,
    };
    if value.is_zero() {
        return add(ClassKind::ResultZero { negative: result.negative });
    }
    let Some(float) = format.float() else { return };
    let negative = value.negative;
    let magnitude = Finite { negative: false, ..value };
    let largest = format.decode(format.largest(false));
    let Real::Finite(most) = format.value(format.largest(false)) else { return };
    if magnitude.compare_magnitudes(&most).is_gt() {
        let part = dropped(&magnitude.minus(&most), largest.exponent);
        let part = if part.0 > 0 { DroppedPart::AboveHalf } else { part.1 };
        let part = if matches!(part, DroppedPart::Half { .. }) { DroppedPart::Half { odd: true } } else { part };
        return add(ClassKind::Overflow { negative, part });
    }
    let quantum = value.leading_exponent().map_or(float.emin(), |leading| leading.max(float.emin()));
    let (_, part) = dropped(&magnitude, quantum - float.trailing_bits as i32);
    add(ClassKind::Rounded { negative, part });
    if value.leading_exponent().is_none_or(|leading| leading < float.emin()) {
        match result.class {
            Class::Zero => add(ClassKind::Underflow { negative }),
            Class::Subnormal => add(ClassKind::Tiny { exact: part == DroppedPart::Nothing }),
            _ => add(ClassKind::RoundsToNormal),
        }
    }
    if let Real::Finite(rounded) = format.value(code)
        && rounded.leading_exponent() > value.leading_exponent()
    {
        add(ClassKind::RoundingCarry);
    }
}

/// Classes of the addition before a rounding to `format`.
fn addition(unrounded: &Unrounded, format: &Format, add: &mut dyn FnMut(ClassKind)) {
    let (Some([x, y]), last) = (&unrounded.terms, last_distance(format)) else { return };
    match (x, y) {
        (Real::Infinity { negative: x }, Real::Infinity { negative: y }) if x != y => {
            add(ClassKind::OppositeInfinities);
        }
        (Real::Finite(x), Real::Finite(y)) => {
            let (Some(first), Some(second)) = (x.leading_exponent(), y.leading_exponent()) else { return };
            add(match first >= second {
                true => ClassKind::FirstLarger(Capped::of(first - second, last)),
                false => ClassKind::SecondLarger(Capped::of(second - first, last)),
            });
            let Some(sum) = finite(&unrounded.value) else { return };
            let leading = first.max(second);
            match sum.leading_exponent() {
                None => add(ClassKind::CancelsToZero),
                Some(sum) if sum > leading => add(ClassKind::SumCarry(sum - leading)),
                Some(sum) if sum < leading => add(ClassKind::Cancellation(Capped::of(leading - sum, last))),
                Some(_) => {}
            }
        }
        _ => {}
    }
}

/// The integer part of a magnitude in units of `2^quantum`, and the part behind it.
fn dropped(magnitude: &Finite, quantum: i32) -> (u128, DroppedPart) {
    let (halves, exact) = magnitude.round_to_quantum(quantum - 1, Rounding::Rz);
    let units = halves >> 1;
    let part = match (halves & 1 == 1, exact) {
        (false, true) => DroppedPart::Nothing,
        (false, false) => DroppedPart::BelowHalf,
        (true, true) => DroppedPart::Half { odd: units & 1 == 1 },
        (true, false) => DroppedPart::AboveHalf,
    };
    (units, part)
}
