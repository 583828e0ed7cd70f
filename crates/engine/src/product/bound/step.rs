//! Error analysis of a program: each elementary operation on enclosures in place of values.

use super::enclosed::{Enclosed, ErrorSource, NO_QUANTUM, exponent, half, overflow_shows, overflows, power};
use crate::{
    arithmetic::{
        Addend, Alignment, Destination, ElementaryOperation, Factors, IntegerSum, Multiply, Program, Scaling, Source,
        Subnormals, Sum,
    },
    format::{Format, Rounding},
    softfloat::ResultTarget,
};

/// The products of a step.
pub(super) trait StepProducts {
    /// A product of two factors, or of pieces of them, with its scales.
    fn product(&self, factors: &Factors) -> Enclosed;

    /// The exact sum of the products of some factors that share a scale, times the scale.
    fn scaled_sum(&self, factors: &[Factors]) -> Enclosed;

    /// The largest magnitude of a sum of any of the exact products and the exact C.
    fn cap(&self) -> f64;
}

/// The result of one execution of a program's arithmetic on an element.
pub(super) fn step(program: &Program, products: &dyn StepProducts, c: Enclosed) -> Enclosed {
    let mut values: Vec<Vec<Enclosed>> = Vec::with_capacity(program.steps.len());
    let cap = products.cap();
    // Where zeros count in an alignment, they have the exponent of the smallest normal number.
    let counted = |value: Enclosed, format: &Format| match (program.unpack[2].zeros, format.float()) {
        (true, Some(float)) => Enclosed { exponent: value.exponent.max(Some(float.emin())), ..value },
        _ => value,
    };
    let c = counted(flushed(c, program.unpack[2].subnormals, program.addend()), program.addend());
    let delivered = |value: Enclosed, to: &Destination| counted(delivered(value, to), to.target.format);
    for step in &program.steps {
        let value = |source: &Source| match source {
            Source::C => c,
            Source::Zero => Enclosed::ZERO,
            Source::Value(step) => values[*step][0],
            Source::Product(step, at) => values[*step][*at],
        };
        let made = match &step.operation {
            ElementaryOperation::Multiply(multiply) => multiplied(multiply, products),
            ElementaryOperation::Sum(sum) => vec![summed(sum, &values, &value).capped(cap)],
            ElementaryOperation::Round { value: source, to, .. } => vec![delivered(value(source), to)],
            ElementaryOperation::Add { terms: [x, y], to, .. } => {
                vec![delivered(value(x).plus(&value(y)).capped(cap), to)]
            }
            ElementaryOperation::Fma { factors, addend, to, .. } => {
                vec![delivered(products.product(factors).plus(&value(addend)).capped(cap), to)]
            }
            ElementaryOperation::Integer(sum) => return integer(program, sum, products, c),
        };
        values.push(made);
    }
    let last = match &program.output.value {
        Source::C => c,
        Source::Zero => Enclosed::ZERO,
        Source::Value(step) => values[*step][0],
        Source::Product(step, at) => values[*step][*at],
    };
    rounded(&last, &program.output.target)
}

fn multiplied(multiply: &Multiply, products: &dyn StepProducts) -> Vec<Enclosed> {
    let limited = |mut product: Enclosed| {
        if multiply.limit.is_some_and(|limit| product.most() >= power(limit)) {
            product.error.overflow();
        }
        product
    };
    if let Scaling::Sums(run) = multiply.scaling {
        let lost = |mut sum: Enclosed| {
            // Each product of the run may lose a unit of the largest one, times the scales.
            if multiply.bits.is_some() {
                sum.error.overflow();
            }
            sum
        };
        return multiply.factors.chunks(run).map(|run| lost(limited(products.scaled_sum(run)))).collect();
    }
    let one = |factors: &Factors| {
        let mut product = limited(products.product(factors));
        if let (Some(bits), Some(exponent)) = (multiply.bits, product.exponent) {
            cut(&mut product, exponent - bits, Rounding::Rz);
        }
        if let Some(to) = &multiply.rounded {
            product = delivered(product, to);
        }
        if multiply.normalised && product.exponent.is_some() {
            product.exponent = Some(exponent(product.most()));
        }
        product
    };
    multiply.factors.iter().map(one).collect()
}

/// A term of an aligned sum: the enclosure, and bits and drop of its own.
type Term = (Enclosed, Option<i32>, Option<i32>);

/// The sum after alignment.
fn summed(sum: &Sum, values: &[Vec<Enclosed>], value: &dyn Fn(&Source) -> Enclosed) -> Enclosed {
    let products = sum.products.iter().flat_map(|step| &values[*step]).map(|product| (*product, None, None));
    let addends = sum.addends.iter().map(|Addend { source, bits, drop }| (value(source), *bits, *drop));
    // The smallest magnitude of the largest term whose significand is below 4. (That of an unrounded sum may be larger.)
    let significands = products.clone().map(|(product, ..)| product);
    let significands = significands.chain(sum.addends.iter().map(|addend| match addend.source {
        Source::Value(_) => Enclosed::ZERO,
        source => value(&source),
    }));
    let least = significands.map(|term| term.least()).fold(0.0, f64::max);
    let terms: Vec<Term> = products.chain(addends).collect();
    let floor = sum.alignment.and_then(|alignment| alignment.floor);
    let offset = sum.alignment.map_or(0, |alignment| alignment.c_offset());
    let last = if sum.addends.is_empty() { terms.len() } else { terms.len() - 1 };
    let counted = |(at, (term, ..)): (usize, &Term)| Some(term.exponent? - if at == last { offset } else { 0 });
    let largest = terms.iter().enumerate().filter_map(counted).max().map(|e| e.max(floor.unwrap_or(e)));
    let mut total = Enclosed::ZERO;
    let mut cut_any = false;
    for (mut term, bits, drop) in terms {
        if let (Some(alignment), Some(largest), true) = (&sum.alignment, largest, term.most() > 0.0) {
            let unit = largest - bits.unwrap_or(alignment.bits);
            if term.quantum < unit {
                cut_any = true;
                cut(&mut term, unit, alignment.rounding);
                if let Some(floor) = floor {
                    term.quantum = term.quantum.max(floor - bits.unwrap_or(alignment.bits));
                }
            }
            if alignment.complement {
                term.error.add(ErrorSource::Alignment, power(unit));
                term.quantum = NO_QUANTUM;
            }
            // A term whose exponent lies below is less than four times two to that exponent.
            if let Some(drop) = drop
                && term.quantum < largest - drop + 2
            {
                let already = term.error.source(ErrorSource::Alignment);
                let most = term.most().min(power(largest - drop + 1));
                term.error.add(ErrorSource::Alignment, (most - already).max(0.0));
            }
        }
        total = total.plus(&term);
    }
    if let Some(carry) = sum.alignment.and_then(|alignment| alignment.carry) {
        // A term is below four times two to the exponent with which it counts.
        let counted = floor.max((least > 0.0).then(|| exponent(least) - 1));
        if counted.is_none_or(|counted| total.most() >= power(counted + 1 + carry)) {
            total.error.overflow();
        }
    }
    if cut_any && sum.alignment.is_some_and(|alignment| alignment.sticky) {
        let alignment = sum
            .alignment
            .zip(largest)
            .and_then(|(alignment, largest)| Some((alignment.sticky_place?, largest, alignment)));
        let most = match alignment {
            Some((place, largest, alignment)) => power(largest - alignment.bits - place),
            None => total.most() * power(-100),
        };
        total.error.add(ErrorSource::Alignment, most);
        total.quantum = NO_QUANTUM;
    }
    total.exponent = match (sum.normalised, total.most() > 0.0) {
        (true, true) => Some(exponent(total.most())),
        (true, false) => None,
        (false, _) => largest,
    };
    total
}

/// Cuts a term off below a unit.
fn cut(term: &mut Enclosed, unit: i32, rounding: Rounding) {
    let least = if term.quantum >= -1074 { power(term.quantum) } else { 0.0 };
    let (width, most) = (power(unit), term.most());
    let error = term.error.finite();
    let (low, high) = (term.low - error, term.high + error);
    let source = ErrorSource::Alignment;
    match rounding {
        Rounding::Rne | Rounding::Rna => term.error.add_range(source, half(width).min(most), half(width).min(most)),
        Rounding::Rz => term.error.add_toward_zero(source, (width - least).min(most), low, high),
        Rounding::Rd => {
            term.error.add_range(source, if low >= 0.0 { (width - least).min(most) } else { width - least }, 0.0)
        }
        Rounding::Ru => {
            term.error.add_range(source, 0.0, if high <= 0.0 { (width - least).min(most) } else { width - least })
        }
        _ => term.error.add_range(source, width - least, width - least),
    }
}

/// A value rounded for the next operation.
fn delivered(value: Enclosed, to: &Destination) -> Enclosed {
    flushed(rounded(&value, &to.target), to.subnormals, to.target.format)
}

/// A value rounded to a target of a program.
fn rounded(value: &Enclosed, target: &ResultTarget) -> Enclosed {
    let mut result = value.rounded(target.format, target.rounding, ErrorSource::Step);
    // A sum that saturates is finite, whatever its error.
    if overflows(value.most(), target.format) && !overflow_shows(target.format, target.rounding, target.overflow) {
        result.error.add(ErrorSource::Step, f64::INFINITY);
    }
    result
}

/// True if no operation makes a magnitude larger than the sum of those that it gets.
///
/// Every rounding is toward zero.
pub(super) fn is_contracting(program: &Program) -> bool {
    let toward_zero = |target: &ResultTarget| target.rounding == Rounding::Rz;
    let output = &program.output.target;
    let holds_last = match program.output.value {
        Source::Value(step) => {
            program.steps[step].operation.destination().is_some_and(|to| output.format.holds(to.target.format))
        }
        _ => false,
    };
    program.operations().all(|operation| match operation {
        ElementaryOperation::Multiply(multiply) => multiply.rounded.as_ref().is_none_or(|to| toward_zero(&to.target)),
        ElementaryOperation::Sum(sum) => {
            let contracts =
                |alignment: Alignment| alignment.rounding == Rounding::Rz && !alignment.sticky && !alignment.complement;
            sum.alignment.is_none_or(contracts)
        }
        ElementaryOperation::Round { to, .. }
        | ElementaryOperation::Add { to, .. }
        | ElementaryOperation::Fma { to, .. } => toward_zero(&to.target),
        ElementaryOperation::Integer(_) => false,
    }) && (toward_zero(output) || holds_last)
}

/// A value whose subnormal numbers may be replaced by zeros.
pub(super) fn flushed(mut value: Enclosed, subnormals: Subnormals, format: &Format) -> Enclosed {
    let Some(float) = format.float().filter(|_| subnormals != Subnormals::Keep) else { return value };
    if value.quantum < float.emin() && value.most() > 0.0 {
        let most = value.most().min(power(float.emin()));
        value.error.add(ErrorSource::Flush, most);
    }
    value
}

/// The sum of integers: exact, unless it leaves its range.
fn integer(program: &Program, integer_sum: &IntegerSum, products: &dyn StepProducts, c: Enclosed) -> Enclosed {
    let all = (0..program.instruction.stored_k()).map(|k| products.product(&Factors { k, a: u64::MAX, b: u64::MAX }));
    let all: Vec<Enclosed> = all.collect();
    let saturates = |group: &[Enclosed]| {
        let most: f64 = group.iter().map(Enclosed::most).sum();
        integer_sum.group_bits.is_some_and(|bits| most >= power(bits as i32 - 1))
    };
    let of_group = all.chunks(integer_sum.group).any(saturates);
    let mut sum = all.iter().fold(c, |sum, product| sum.plus(product)).capped(products.cap());
    let signed = program.instruction.d.largest(true) != 0;
    let bits = integer_sum.bits as i32 - i32::from(signed);
    if of_group || sum.most() >= power(bits) {
        sum.error.add(ErrorSource::Step, f64::INFINITY);
    }
    sum
}
