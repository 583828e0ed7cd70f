//! All classes of a program, step by step.

use super::kind::{Capped, ClassKind, DroppedPart, Side, TermKind};
use crate::{
    arithmetic::{Destination, ElementaryOperation, Program, Source, Sum},
    format::{Class, Format},
    isa::Instruction,
};

/// Longest distance of exponents and deepest cancellation of a sum that drops nothing.
const EXACT_BITS: i32 = 32;

/// Step of a program, for classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassStep {
    /// Operands.
    Operands,
    /// Step with this number.
    Number(usize),
    /// Conversion to D.
    Output,
}

/// The classes of every step of `program`, in order.
pub(super) fn all(program: &Program) -> Vec<(ClassStep, ClassKind)> {
    let mut classes: Vec<(ClassStep, ClassKind)> = Vec::new();
    let opposite = program.specials.as_ref().map(|_| ClassKind::OppositeInfinities);
    let operands = operands(&program.instruction).into_iter().chain(opposite);
    classes.extend(operands.map(|kind| (ClassStep::Operands, kind)));
    for (number, operation) in program.operations().enumerate() {
        let kinds = match operation {
            ElementaryOperation::Multiply(_) => products(&program.instruction),
            ElementaryOperation::Sum(sum) => sums(program, sum),
            ElementaryOperation::Round { to, .. } => results(to.target.format, true),
            ElementaryOperation::Add { to, .. } | ElementaryOperation::Fma { to, .. } => {
                [additions(to), results(to.target.format, true)].concat()
            }
            ElementaryOperation::Integer(_) => {
                [false, true].map(|negative| ClassKind::IntegerOverflow { negative }).to_vec()
            }
        };
        classes.extend(kinds.into_iter().map(|kind| (ClassStep::Number(number), kind)));
    }
    let format = program.output.target.format;
    let kinds = match format.is_integer() {
        true => vec![ClassKind::ResultZero { negative: false }],
        false => results(format, !is_converted(program)),
    };
    classes.extend(kinds.into_iter().map(|kind| (ClassStep::Output, kind)));
    classes
}

/// True if the last value is a number of D's format, so that the conversion to D rounds nothing.
fn is_converted(program: &Program) -> bool {
    let format = |destination: &Destination| destination.target.format == program.output.target.format;
    match program.output.value {
        Source::Value(step) => program.steps[step].operation.destination().is_some_and(format),
        Source::C => program.addend() == program.output.target.format,
        Source::Zero | Source::Product(..) => false,
    }
}

/// Positions of an operand.
fn positions(i: &Instruction, side: Side) -> usize {
    let blocks = i.scale.map_or(0, |scale| i.k / scale.block);
    match side {
        Side::A => i.stored_k(),
        Side::B => i.k,
        Side::C => 1,
        Side::ScaleA | Side::ScaleB => blocks,
    }
}

/// Format of an operand; `None` if the instruction does not have it.
fn format(i: &Instruction, side: Side) -> Option<&'static Format> {
    match side {
        Side::A => Some(i.a),
        Side::B => Some(i.b),
        Side::C => Some(i.c),
        Side::ScaleA | Side::ScaleB => i.scale.map(|scale| scale.format),
    }
}

fn operands(i: &Instruction) -> Vec<ClassKind> {
    let mut kinds = Vec::new();
    for side in [Side::A, Side::B, Side::C, Side::ScaleA, Side::ScaleB] {
        let Some(format) = format(i, side) else { continue };
        let zeros = [false, true].into_iter().filter(|negative| has_zero(format, *negative));
        kinds.extend(zeros.map(|negative| ClassKind::OperandZero { side, negative }));
        kinds.extend(format.subnormals().map(|_| ClassKind::OperandSubnormal(side)));
        let infinities = if format.has_infinity() { positions(i, side) } else { 0 };
        kinds.extend((0..infinities).map(|at| ClassKind::OperandInfinity { side, at }));
        let nans = if format.has_nan() { positions(i, side) } else { 0 };
        kinds.extend((0..nans).map(|at| ClassKind::OperandNan { side, at }));
    }
    kinds
}

fn has_zero(format: &Format, negative: bool) -> bool {
    format.zero(negative).is_some_and(|code| format.decode(code).negative == negative)
}

/// Pairs of classes of factors, and signs of zero products.
fn products(i: &Instruction) -> Vec<ClassKind> {
    let has = |format: &Format, class: Class| match class {
        Class::Nan => format.has_nan(),
        Class::Infinite => format.has_infinity(),
        Class::Zero => format.zero(false).is_some(),
        Class::Subnormal => format.subnormals().is_some(),
        Class::Normal => true,
    };
    let all = [Class::Zero, Class::Subnormal, Class::Normal, Class::Infinite, Class::Nan];
    let pairs = all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b)));
    let pairs = pairs.filter(|(a, b)| has(i.a, *a) && has(i.b, *b) && (*a, *b) != (Class::Normal, Class::Normal));
    let signed = i.a.is_signed() && i.b.is_signed() && !i.a.is_integer();
    let zeros = [false, true].into_iter().filter(|negative| signed || !negative);
    pairs
        .map(|(a, b)| ClassKind::Factors(a, b))
        .chain(zeros.map(|negative| ClassKind::ProductZero { negative }))
        .collect()
}

/// Last distance of a product with a class, in an alignment of `bits`.
/// A product below four units of its exponent keeps a bit there.
pub(super) fn last_shift(bits: Option<i32>) -> i32 {
    bits.map_or(EXACT_BITS, |bits| bits + 1).max(0)
}

/// Number of terms.
fn terms(program: &Program, sum: &Sum) -> usize {
    let products = sum.products.iter().filter_map(|step| program.products(*step)).map(|multiply| multiply.len());
    products.sum::<usize>() + sum.addends.len()
}

/// Largest carry of a sum of `terms` numbers.
pub(super) fn largest_carry(terms: usize) -> i32 {
    terms.next_power_of_two().trailing_zeros() as i32
}

fn sums(program: &Program, sum: &Sum) -> Vec<ClassKind> {
    let mut kinds = Vec::new();
    let bits = sum.alignment.map(|alignment| alignment.bits);
    let mut has = Vec::new();
    if !sum.products.is_empty() {
        has.push((TermKind::Product, last_shift(bits)));
    }
    if !sum.addends.is_empty() {
        has.push((TermKind::Addend, last_addend_shift(sum)));
    }
    for (term, last) in has {
        kinds.extend(Capped::all(0, last).map(|distance| ClassKind::Shift(term, distance)));
        if bits.is_some() {
            kinds.extend([false, true].map(|negative| ClassKind::Cut { term, negative }));
            kinds.push(ClassKind::CutWhole(term));
        }
    }
    if let Some(alignment) = &sum.alignment {
        kinds.extend(alignment.floor.map(|_| ClassKind::AtFloor));
        let registers = [false, true].map(|negative| ClassKind::BeyondRegister { negative });
        kinds.extend(alignment.carry.iter().flat_map(|_| registers));
    }
    kinds.extend((1..=largest_carry(terms(program, sum))).map(ClassKind::SumCarry));
    kinds.extend(Capped::all(1, last_cancellation(sum)).map(ClassKind::Cancellation));
    kinds.push(ClassKind::CancelsToZero);
    if program.specials.is_none() {
        kinds.extend([false, true].map(|negative| ClassKind::SumInfinity { negative }));
        kinds.extend([ClassKind::OppositeInfinities, ClassKind::SumNan]);
    }
    kinds
}

/// Last distance of an addend with a class.
pub(super) fn last_addend_shift(sum: &Sum) -> i32 {
    let of_addends = sum.addends.iter().filter_map(|addend| addend.bits).max();
    last_shift(of_addends.or(sum.alignment.map(|alignment| alignment.bits)))
}

/// Deepest cancellation with a class.
pub(super) fn last_cancellation(sum: &Sum) -> i32 {
    last_shift(sum.alignment.map(|alignment| alignment.bits)).max(last_addend_shift(sum)).max(1)
}

/// Last distance of exponents and deepest cancellation with a class, of an addition to this format.
pub(super) fn last_distance(format: &Format) -> i32 {
    format.float().map_or(EXACT_BITS, |float| float.precision() as i32 + 1)
}

fn additions(to: &Destination) -> Vec<ClassKind> {
    let last = last_distance(to.target.format);
    let mut kinds: Vec<ClassKind> = Capped::all(0, last).map(ClassKind::FirstLarger).collect();
    kinds.extend(Capped::all(1, last).map(ClassKind::SecondLarger));
    kinds.push(ClassKind::SumCarry(1));
    kinds.extend(Capped::all(1, last).map(ClassKind::Cancellation));
    kinds.extend([ClassKind::CancelsToZero, ClassKind::OppositeInfinities]);
    kinds
}

/// Classes of a result; those of roundings if it is rounded.
fn results(format: &Format, is_rounded: bool) -> Vec<ClassKind> {
    let signs = [false, true].into_iter().filter(|negative| format.is_signed() || !negative);
    let parts = [DroppedPart::BelowHalf, DroppedPart::Half { odd: false }, DroppedPart::Half { odd: true }];
    let parts = || [DroppedPart::Nothing].into_iter().chain(parts).chain([DroppedPart::AboveHalf]);
    let excess = [DroppedPart::BelowHalf, DroppedPart::Half { odd: true }, DroppedPart::AboveHalf];
    let mut kinds = Vec::new();
    for negative in signs {
        if is_rounded {
            kinds
                .extend(parts().filter(|_| format.float().is_some()).map(|part| ClassKind::Rounded { negative, part }));
            kinds.extend(excess.map(|part| ClassKind::Overflow { negative, part }));
            kinds.push(ClassKind::Underflow { negative });
        }
        kinds.extend(has_zero(format, negative).then_some(ClassKind::ResultZero { negative }));
        kinds.extend(format.has_infinity().then_some(ClassKind::ResultInfinity { negative }));
    }
    kinds.extend(is_rounded.then_some(ClassKind::RoundingCarry));
    if format.subnormals().is_some() {
        kinds.push(ClassKind::Tiny { exact: true });
        kinds.extend(
            is_rounded.then_some([ClassKind::Tiny { exact: false }, ClassKind::RoundsToNormal]).into_iter().flatten(),
        );
    }
    kinds.push(ClassKind::ResultNan);
    kinds
}
