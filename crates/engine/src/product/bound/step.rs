//! Error analysis of a program: each elementary operation on enclosures in place of values.

use super::enclosed::{
    Enclosed, ErrorBound, ErrorSource, NO_QUANTUM, exponent, half, overflow_shows, overflows, power,
};
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

    /// The errors that the error of a value has.
    fn counted_errors(&self) -> CountedErrors;
}

/// Errors that the error of a value has.
///
/// The magnitudes of all products and C add up to the cap. Errors relative to a value's magnitude are then largest where one term has all of
/// it, so that the errors along one path from a term to the result bound them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountedErrors {
    /// Errors of all operations before it.
    All,
    /// Errors along the path with the largest.
    LongestPath,
    /// Errors along the path from C.
    PathOfC,
}

impl CountedErrors {
    /// The error of a value that two others are part of.
    fn joined(self, x: &Enclosed, y: &Enclosed) -> ErrorBound {
        match self {
            CountedErrors::All => x.error.plus(&y.error),
            CountedErrors::PathOfC if x.has_c != y.has_c => {
                if x.has_c {
                    x.error
                } else {
                    y.error
                }
            }
            _ => x.error.larger(&y.error),
        }
    }
}

/// The sum of two values.
fn added(products: &dyn StepProducts, x: &Enclosed, y: &Enclosed) -> Enclosed {
    let sum = x.plus(y).capped(products.cap());
    Enclosed { error: products.counted_errors().joined(x, y), ..sum }
}

/// The result of one execution of a program's arithmetic on an element.
pub(super) fn step(program: &Program, products: &dyn StepProducts, c: Enclosed) -> Enclosed {
    let mut values: Vec<Vec<Enclosed>> = Vec::with_capacity(program.steps.len());
    let cap = products.cap();
    // Where zeros count in an alignment, they have the exponent of the smallest normal number.
    let counted = |value: Enclosed, format: &Format| match (program.unpack[2].zeros, format.float()) {
        (true, Some(float)) => Enclosed { exponent: value.exponent.max(Some(float.emin())), span: None, ..value },
        _ => value,
    };
    let c = counted(flushed(c, program.unpack[2].subnormals, program.addend()), program.addend());
    let c = Enclosed { has_c: c.most() > 0.0, ..c };
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
            ElementaryOperation::Sum(sum) => vec![summed(sum, &values, &value, products).capped(cap)],
            ElementaryOperation::Round { value: source, to, .. } => vec![delivered(value(source), to)],
            ElementaryOperation::Add { terms: [x, y], to, .. } => {
                vec![delivered(added(products, &value(x), &value(y)), to)]
            }
            ElementaryOperation::Fma { factors, addend, to, .. } => {
                vec![delivered(added(products, &products.product(factors), &value(addend)), to)]
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
            let lost = cut(&product, exponent - bits, Rounding::Rz);
            product.error = product.error.plus(&lost);
            product.span = product.span.map(|span| span.min(bits));
        }
        if let Some(to) = &multiply.rounded {
            product = delivered(product, to);
        }
        if multiply.normalised && product.exponent.is_some() {
            product.exponent = Some(exponent(product.most()));
            // The significand of a product is below 4.
            product.span = product.span.map(|span| span + 1);
        }
        product
    };
    multiply.factors.iter().map(one).collect()
}

/// A term of an aligned sum: the enclosure, and bits and drop of its own.
type Term = (Enclosed, Option<i32>, Option<i32>);

/// The sum after alignment.
fn summed(
    sum: &Sum,
    values: &[Vec<Enclosed>],
    value: &dyn Fn(&Source) -> Enclosed,
    step_products: &dyn StepProducts,
) -> Enclosed {
    let products = sum.products.iter().flat_map(|step| &values[*step]).map(|product| (*product, None, None));
    let addends = sum.addends.iter().map(|Addend { source, bits, drop }| (value(source), *bits, *drop));
    // The smallest magnitude of the largest term whose significand is below 4.
    // (An unrounded sum may have a larger one.)
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
    let offset_of = |at: usize| if at == last { offset } else { 0 };
    let counted = |(at, (term, ..)): (usize, &Term)| Some(term.exponent? - offset_of(at));
    let unfloored = terms.iter().enumerate().filter_map(counted).max();
    let largest = unfloored.map(|e| e.max(floor.unwrap_or(e)));
    let mut total = Enclosed::ZERO;
    let mut losses = Losses::default();
    for (at, (mut term, bits, drop)) in terms.iter().copied().enumerate() {
        // A term that is always dropped counts in the alignment alone.
        let is_dropped = sum.alignment.is_some() && drop.is_some_and(|drop| drop < 0);
        if let (Some(alignment), Some(largest)) = (&sum.alignment, largest) {
            let place = SumPlace { is_last: !sum.addends.is_empty() && at == last, offset: offset_of(at) };
            let had = losses.all;
            losses.take(alignment, largest, &(term, bits, drop), place);
            let unit = largest - bits.unwrap_or(alignment.bits);
            if term.quantum < unit
                && let Some(floor) = floor
            {
                term.quantum = term.quantum.max(floor - bits.unwrap_or(alignment.bits));
            }
            if alignment.complement && losses.all != had {
                term.quantum = NO_QUANTUM;
                total.quantum = if term.most() == 0.0 { NO_QUANTUM } else { total.quantum };
            }
        }
        if !is_dropped {
            total = added(step_products, &total, &term);
        }
    }
    total.common = 0.0;
    if let (Some(alignment), Some(largest), Some(finest)) = (&sum.alignment, largest, losses.finest) {
        let is_below_floor = floor.is_some_and(|floor| unfloored.is_none_or(|unfloored| floor >= unfloored));
        let at_floor = floor.map_or(0.0, |floor| power(floor - finest));
        let spared = if is_below_floor { 0.0 } else { losses.spared(at_floor) };
        let all = losses.all.less(ErrorSource::Alignment, spared);
        total.error = total.error.plus(&all);
        total.common = losses.common(&all, power(largest - finest));
        let counted_errors = step_products.counted_errors();
        if counted_errors != CountedErrors::All {
            // The largest term decides the unit: its path has the errors of all.
            let of_c = counted_errors == CountedErrors::PathOfC && terms.iter().any(|(term, ..)| term.has_c);
            let mut path: Option<ErrorBound> = None;
            for (at, term) in terms.iter().enumerate().filter(|(_, (term, ..))| !of_c || term.has_c) {
                let Some(exponent) = counted((at, term)) else { continue };
                let deciding = exponent.max(floor.unwrap_or(exponent));
                let mut losses = Losses::default();
                for (other, values) in terms.iter().enumerate() {
                    let place =
                        SumPlace { is_last: !sum.addends.is_empty() && other == last, offset: offset_of(other) };
                    if other != at || !is_exempt(alignment, values, place) {
                        losses.take(alignment, deciding, values, place);
                    }
                }
                losses.units += 1;
                total.common = total.common.min(losses.common(&losses.all, power(deciding - finest)));
                let error = term.0.error.plus(&losses.all);
                path = Some(path.map_or(error, |path| path.larger(&error)));
            }
            if let Some(mut path) = path {
                path.overflows_as(&total.error);
                total.error = path;
            }
        }
    }
    if let Some(carry) = sum.alignment.and_then(|alignment| alignment.carry) {
        // A term is below four times two to the exponent with which it counts.
        let counted = floor.max((least > 0.0).then(|| exponent(least) - 1));
        if counted.is_none_or(|counted| total.most() >= power(counted + 1 + carry)) {
            total.error.overflow();
        }
    }
    let mut is_sticky = false;
    if losses.cut_any && sum.alignment.is_some_and(|alignment| alignment.sticky) {
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
        total.common = 0.0;
        is_sticky = true;
    }
    total.exponent = match (sum.normalised, total.most() > 0.0) {
        (true, true) => Some(exponent(total.most())),
        (true, false) => None,
        (false, _) => largest,
    };
    let is_aligned = sum.alignment.is_some_and(|alignment| alignment.carry.is_none()) && !is_sticky;
    // The leading bit of a sum of n terms below 4 is at most log2(n) + 2 above the aligned exponent.
    let above = if sum.normalised { terms.len().next_power_of_two().ilog2() as i32 + 2 } else { 0 };
    total.span = losses.finest.filter(|_| is_aligned).map(|bits| bits + above);
    let is_flipped = sum.alignment.is_some_and(|alignment| alignment.complement);
    // Terms whose exact sum is zero may leave another one after the alignment.
    let is_exact = losses.all.source(ErrorSource::Alignment) == 0.0;
    total.significand = total.significand.filter(|_| is_exact && !is_flipped && !is_sticky);
    total
}

/// Errors of the terms of a sum in its alignment.
#[derive(Debug, Default)]
struct Losses {
    /// The errors of all terms.
    all: ErrorBound,
    /// The smallest error that a term with the largest exponent is spared.
    smallest: Option<f64>,
    /// Terms that may lose all of a unit.
    units: usize,
    /// Terms that may lose anything.
    terms: usize,
    /// Most bits that a term keeps.
    finest: Option<i32>,
    /// True if a bit may be cut off.
    cut_any: bool,
}

/// Place of a term in a sum.
#[derive(Debug, Clone, Copy)]
struct SumPlace {
    /// True for the last addend, which decides what terms are flipped.
    is_last: bool,
    /// Distance by which its exponent counts as lower.
    offset: i32,
}

/// True if a term loses nothing where its exponent is the largest.
fn is_exempt(alignment: &Alignment, (term, bits, _): &Term, place: SumPlace) -> bool {
    let flips = alignment.complement && !place.is_last;
    !flips && term.span.is_some_and(|span| span <= bits.unwrap_or(alignment.bits) + place.offset)
}

impl Losses {
    /// Takes the error of a term whose sum has this aligned exponent.
    fn take(&mut self, alignment: &Alignment, largest: i32, values: &Term, place: SumPlace) {
        let (term, bits, drop) = values;
        if drop.is_some_and(|drop| drop < 0) {
            self.smallest = Some(0.0);
            return;
        }
        let bits = bits.unwrap_or(alignment.bits);
        let unit = largest - bits;
        let mut lost = ErrorBound::default();
        let flips = alignment.complement && !place.is_last;
        if term.most() == 0.0 {
            if flips && alignment.complement_zeros {
                lost.add(ErrorSource::Alignment, power(unit));
                self.add(lost, false, true);
                self.finest = self.finest.max(Some(bits));
            } else if term.exponent.is_some() {
                self.smallest = Some(0.0);
            }
            return;
        }
        if term.quantum < unit {
            self.cut_any = true;
            lost = cut(term, unit, alignment.rounding);
        }
        if flips {
            // A flipped magnitude is cut toward zero and a unit larger: by no more than a unit off.
            let cut_off = if alignment.rounding == Rounding::Rz { ErrorBound::default() } else { lost };
            lost = cut_off;
            lost.add(ErrorSource::Alignment, power(unit));
        }
        // A term whose exponent lies below is less than four times two to that exponent.
        if let Some(drop) = drop
            && term.quantum < largest - drop + 2
        {
            let most = term.most().min(power(largest - drop + 1));
            lost.add(ErrorSource::Alignment, (most - lost.source(ErrorSource::Alignment)).max(0.0));
        }
        let is_unit = lost.source(ErrorSource::Alignment) >= power(unit);
        self.add(lost, is_exempt(alignment, values, place), is_unit);
        self.finest = self.finest.max(Some(bits));
    }

    /// Adds the error of a term, which is exempt if it has none where its exponent is the largest.
    fn add(&mut self, lost: ErrorBound, is_exempt: bool, is_unit: bool) {
        let error = if is_exempt { lost.source(ErrorSource::Alignment) } else { 0.0 };
        self.smallest = Some(self.smallest.map_or(error, |smallest| smallest.min(error)));
        self.terms += usize::from(lost.source(ErrorSource::Alignment) > 0.0);
        self.units += usize::from(is_unit);
        self.all = self.all.plus(&lost);
    }

    /// Error that the term with the largest exponent does not make.
    ///
    /// Where the floor is the largest exponent no term is spared, and each loses at most half as much as above it.
    fn spared(&self, at_floor: f64) -> f64 {
        let smallest = self.smallest.unwrap_or(0.0);
        if self.terms > 1 { smallest } else { (smallest - at_floor).max(0.0) }
    }

    /// Part of a unit that the terms and a directed rounding of their sum cannot both lose.
    ///
    /// Where the rounding loses bits, its unit is above the last bit of the sum. One term but the largest has to lose a unit.
    fn common(&self, lost: &ErrorBound, quantum: f64) -> f64 {
        if self.units >= 2 && lost.source(ErrorSource::Alignment) >= quantum { quantum } else { 0.0 }
    }
}

/// Error of a term that is cut off below a unit.
fn cut(term: &Enclosed, unit: i32, rounding: Rounding) -> ErrorBound {
    let least = if term.quantum >= -1074 { power(term.quantum) } else { 0.0 };
    let (width, most) = (power(unit), term.most());
    let error = term.error.finite();
    let (low, high) = (term.low - error, term.high + error);
    let source = ErrorSource::Alignment;
    let mut lost = ErrorBound::default();
    match rounding {
        Rounding::Rne | Rounding::Rna => lost.add_range(source, half(width).min(most), half(width).min(most)),
        Rounding::Rz => lost.add_toward_zero(source, (width - least).min(most), low, high),
        Rounding::Rd => lost.add_range(source, if low >= 0.0 { (width - least).min(most) } else { width - least }, 0.0),
        Rounding::Ru => {
            lost.add_range(source, 0.0, if high <= 0.0 { (width - least).min(most) } else { width - least })
        }
        _ => lost.add_range(source, width - least, width - least),
    }
    lost
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
    let of_c = integer_sum.c_bits.is_some_and(|bits| c.most() >= power(bits as i32 - 1));
    let mut sum = all.iter().fold(c, |sum, product| sum.plus(product)).capped(products.cap());
    let signed = program.instruction.d.largest(true) != 0;
    let bits = integer_sum.bits as i32 - i32::from(signed);
    if of_group || of_c || sum.most() >= power(bits) {
        sum.error.add(ErrorSource::Step, f64::INFINITY);
    }
    sum
}
