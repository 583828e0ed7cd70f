//! Normal form of programs: two programs with one normal form give the same results for all operands.
//!
//! The formats of the operands bound the numbers that reach an operation ([`Numbers`]). The normal form drops what an operation
//! specifies for other numbers.

use crate::{
    arithmetic::{
        Alignment, Destination, ElementaryOperation, Factors, Multiply, OperationStep, OppositeInfinities,
        OverflowTest, Program, ResultTininess, Scaling, Source, SpecialOperands, Subnormals, Sum, ZeroSign,
        ZeroTimesInfinity,
    },
    format::{Format, Overflow, Rounding},
    softfloat::ResultTarget,
};

/// Exponent of the smallest subnormal number of a format.
pub(super) fn quantum(format: &Format) -> Option<i32> {
    format.float().map(|float| float.emin() - (float.precision() as i32 - 1))
}

/// Bits below the last bit of its terms that a sum with a sticky bit may have.
const BEHIND: i32 = 128;

/// Bounds of a value over all operands; it may always be NaN.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    /// Finite ones are multiples of 2^this.
    quantum: i32,
    /// The magnitudes of finite ones are below 2^this.
    bound: i32,
    /// Bits of the significand of a finite one.
    bits: i32,
    /// True if it can be infinite.
    infinite: bool,
    /// True if it can be -0.
    negative_zero: bool,
    /// True if it is a sum that was not rounded.
    sum: bool,
}

const ZERO: Numbers =
    Numbers { quantum: i32::MAX, bound: i32::MIN, bits: 0, infinite: false, negative_zero: false, sum: false };

/// True if it rounds to nearest, which has one way to overflow.
fn is_nearest(target: &ResultTarget) -> bool {
    matches!(target.rounding, Rounding::Rne | Rounding::Rna)
}

fn log2(count: usize) -> i32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()) as i32
}

impl Numbers {
    fn of(format: &Format) -> Option<Numbers> {
        let float = format.float()?;
        Some(Numbers {
            quantum: quantum(format)?,
            bound: float.emax() + 1,
            bits: float.precision() as i32,
            infinite: format.has_infinity(),
            negative_zero: true,
            sum: false,
        })
    }

    fn product(a: Numbers, b: Numbers) -> Numbers {
        Numbers { quantum: a.quantum + b.quantum, bound: a.bound + b.bound, bits: a.bits + b.bits, ..a }
            .or_infinite(b.infinite)
    }

    fn or_infinite(self, infinite: bool) -> Numbers {
        Numbers { infinite: self.infinite || infinite, ..self }
    }

    /// The exact sum of values.
    fn sum(terms: &[Numbers]) -> Numbers {
        let all = || terms.iter();
        let quantum = all().map(|term| term.quantum).min().unwrap_or(i32::MAX);
        let bound = all().map(|term| term.bound).max().unwrap_or(i32::MIN).saturating_add(log2(terms.len()));
        Numbers {
            quantum,
            bound,
            bits: bound.saturating_sub(quantum),
            infinite: all().any(|term| term.infinite),
            // Zeros of other signs, and numbers that cancel, make +0 or the zero of the rounding.
            negative_zero: all().all(|term| term.negative_zero),
            sum: true,
        }
    }

    /// The bounds after alignment, with significands of terms below 4 in units of the largest exponent.
    fn aligned(self, sum: &Sum, terms: &[Numbers]) -> Numbers {
        let Some(alignment) = sum.alignment else { return self };
        let plain = terms.iter().all(|term| !term.sum) && sum.addends.iter().all(|addend| addend.bits.is_none());
        if alignment.sticky {
            // The sticky bit may lie far below the last bit.
            let bound = self.bound.max(alignment.floor.unwrap_or(i32::MIN)).saturating_add(1 + log2(terms.len()));
            return Numbers {
                quantum: self.quantum.saturating_sub(BEHIND),
                bits: self.bits.saturating_add(BEHIND),
                bound,
                ..self
            };
        }
        if alignment.complement || alignment.c_bits.is_some() || alignment.carry.is_some() && alignment.saturates {
            // The largest number of the register is odd in units of the last kept bit, and a flipped term can be.
            let below = sum.addends.iter().filter_map(|addend| addend.bits).fold(alignment.bits, i32::max);
            let below = below + alignment.c_offset().abs();
            return Numbers {
                quantum: self.quantum.saturating_sub(below),
                bits: self.bits.saturating_add(below),
                bound: self.bound.max(alignment.floor.unwrap_or(i32::MIN)).saturating_add(1 + log2(terms.len())),
                ..self
            };
        }
        let bits = alignment.bits + 3 + log2(terms.len());
        // Rounded up, a small term can become a unit of the last kept bit.
        let largest =
            terms.iter().map(|term| term.bound).max().unwrap_or(i32::MIN).max(alignment.floor.unwrap_or(i32::MIN));
        let bound = match alignment.rounding {
            Rounding::Rz => self.bound,
            _ => largest.saturating_add(1 + log2(terms.len())),
        };
        Numbers { bits: if plain { bits.min(self.bits) } else { self.bits }, bound, ..self }
    }

    /// True if rounding to a format can meet more than its numbers.
    fn overflows(&self, format: &Format) -> bool {
        self.infinite || format.float().is_none_or(|float| self.bound > float.emax())
    }

    /// The bounds after rounding.
    fn rounded(self, to: &Destination) -> Option<Numbers> {
        let (format, target) = (to.target.format, Numbers::of(to.target.format)?);
        let ieee = self.negative_zero || self.quantum < target.quantum || to.target.rounding == Rounding::Rd;
        // The largest finite number, which an overflow or an infinity can become, may be no multiple of the values.
        let largest = if self.overflows(format) { target.bound - target.bits } else { i32::MAX };
        let saturates = to.target.overflow == Overflow::Saturate || !format.has_infinity();
        let bound = if self.infinite && saturates { i32::MAX } else { self.bound.saturating_add(1) };
        Some(Numbers {
            quantum: self.quantum.max(target.quantum).min(largest),
            bound: target.bound.min(bound),
            bits: target.bits,
            infinite: self.overflows(format),
            negative_zero: match to.zero {
                ZeroSign::Positive => false,
                ZeroSign::Negative => true,
                ZeroSign::Ieee => ieee,
                ZeroSign::ExactPositive => self.quantum < target.quantum,
                ZeroSign::Common => true,
            } || to.subnormals == Subnormals::SignedZero,
            sum: false,
        })
    }

    /// Drops settings of a destination without effect on these numbers.
    fn destination(&self, to: &mut Destination) -> Option<()> {
        let finite = Numbers { infinite: false, ..*self };
        if !finite.overflows(to.target.format) {
            to.overflow_test = OverflowTest::Rounded;
        }
        self.target(&mut to.target);
        if self.quantum >= to.target.format.float()?.emin() {
            to.subnormals = Subnormals::Keep;
        }
        if to.subnormals == Subnormals::Keep {
            to.tininess = ResultTininess::After;
        }
        if matches!(to.zero, ZeroSign::Ieee | ZeroSign::ExactPositive) && !self.rounded(to)?.negative_zero {
            to.zero = ZeroSign::Positive;
        }
        Some(())
    }

    fn target(&self, target: &mut ResultTarget) {
        let same = match target.overflow {
            Overflow::Infinity => is_nearest(target),
            Overflow::SaturateFinite => {
                let bounded = Numbers { infinite: false, ..*self };
                target.rounding == Rounding::Rz || !bounded.overflows(target.format)
            }
            _ => false,
        };
        if same && target.format.has_infinity() || !self.overflows(target.format) {
            target.overflow = Overflow::Standard;
        }
    }
}

/// The normal form of a program.
///
/// `None` for integers, block scales, and codes of infinities that are numbers.
pub(super) fn normal(program: &Program) -> Option<Program> {
    let mut program = program.clone();
    let i = program.instruction.clone();
    for (unpack, format) in program.unpack.iter_mut().zip([i.a, i.b, i.c]) {
        let all_numbers = !format.has_infinity() && !format.has_nan();
        if all_numbers || unpack.specials == SpecialOperands::Nan && !format.has_infinity() {
            unpack.specials = SpecialOperands::Keep;
        }
    }
    if i.scale.is_some() || program.unpack.iter().any(|unpack| unpack.specials == SpecialOperands::Finite) {
        return None;
    }
    for step in &mut program.steps {
        (step.group, step.name) = (None, String::new());
    }
    let mut values: Vec<Numbers> = Vec::new();
    for number in 0..program.steps.len() {
        let value = operation(&mut program, number, &values)?;
        values.push(value);
    }
    without_invalid(&mut program, &values)?;
    without_zeros(&mut program, &values);
    without_unpacking(&mut program, &values);
    if sums_everything_once(&program) {
        // The operands of that sum decide the same infinities and NaNs.
        program.specials = None;
    }
    numbers(&program, &values, program.output.value)?.target(&mut program.output.target);
    Some(program)
}

/// The numbers of A, B or C, by its place.
fn operand(program: &Program, place: usize) -> Option<Numbers> {
    let i = &program.instruction;
    let numbers = Numbers::of([i.a, i.b, i.c][place])?;
    Some(Numbers { infinite: numbers.infinite && program.unpack[place].specials == SpecialOperands::Keep, ..numbers })
}

/// The exact product of a factor of A and one of B.
fn product(program: &Program) -> Option<Numbers> {
    Some(Numbers::product(operand(program, 0)?, operand(program, 1)?))
}

fn numbers(program: &Program, values: &[Numbers], source: Source) -> Option<Numbers> {
    match source {
        Source::C => operand(program, 2),
        Source::Zero => Some(ZERO),
        Source::Value(step) | Source::Product(step, _) => values.get(step).copied(),
    }
}

/// Brings an operation to its normal form, and returns the bounds of its values.
fn operation(program: &mut Program, number: usize, values: &[Numbers]) -> Option<Numbers> {
    let product = product(program)?;
    let of = |source: Source| numbers(program, values, source);
    let mut operation = program.steps[number].operation.clone();
    let mut alignment = None;
    let exact = match &operation {
        ElementaryOperation::Multiply(multiply) => product.or_infinite(multiply.limit.is_some()),
        ElementaryOperation::Sum(sum) => {
            let lists =
                sum.products.iter().filter_map(|step| Some(vec![values[*step]; program.products(*step)?.len()]));
            let mut terms: Vec<Numbers> = lists.flatten().collect();
            terms.extend(sum.addends.iter().map(|addend| of(addend.source)).collect::<Option<Vec<_>>>()?);
            alignment = sum.alignment.map(|alignment| in_register(alignment, &terms));
            Numbers::sum(&terms).aligned(sum, &terms)
        }
        ElementaryOperation::Round { value, .. } => of(*value)?,
        ElementaryOperation::Add { terms: [x, y], .. } => Numbers::sum(&[of(*x)?, of(*y)?]),
        ElementaryOperation::Fma { addend, .. } => Numbers::sum(&[product, of(*addend)?]),
        ElementaryOperation::Integer(_) => return None,
    };
    let only_zeros =
        matches!(operation, ElementaryOperation::Round { value: Source::Value(at), .. } if adds_exactly(program, at));
    let once = match &operation {
        ElementaryOperation::Round { passes_nan: false, .. } => rounded_once(program, number, &exact, None),
        ElementaryOperation::Add { terms, nans, .. } if nans.is_empty() => {
            let widest = terms.iter().map(|term| Some(of(*term)?.bits)).collect::<Option<Vec<_>>>()?.into_iter().max();
            rounded_once(program, number, &exact, widest)
        }
        _ => None,
    };
    let to = match &mut operation {
        ElementaryOperation::Multiply(multiply) => multiply.rounded.as_mut(),
        ElementaryOperation::Round { to, .. }
        | ElementaryOperation::Add { to, .. }
        | ElementaryOperation::Fma { to, .. } => Some(to),
        ElementaryOperation::Sum(sum) => {
            sum.alignment = alignment;
            None
        }
        ElementaryOperation::Integer(_) => None,
    };
    let value = match to {
        Some(to) => {
            if to.zero == ZeroSign::Common && to.target.rounding != Rounding::Rd && only_zeros {
                to.zero = ZeroSign::Ieee;
            }
            exact.destination(to)?;
            if let Some(target) = once {
                to.target = target;
            }
            exact.rounded(to)?
        }
        None => exact,
    };
    program.steps[number].operation = operation;
    Some(value)
}

/// True if a step adds rounded values and products without cutting any.
/// Terms of one sign then make a zero only if all are zeros.
fn adds_exactly(program: &Program, at: usize) -> bool {
    let is_sum = |source| matches!(source, Source::Value(step) if matches!(program.steps[step].operation, ElementaryOperation::Sum(_)));
    match &program.steps[at].operation {
        ElementaryOperation::Sum(sum) => {
            sum.alignment.is_none() && !sum.addends.iter().any(|addend| is_sum(addend.source))
        }
        _ => false,
    }
}

/// The target of D, if rounding this step once gives the result of rounding it twice.
/// `addends` is the precision of two added numbers.
///
/// Double rounding is innocuous in three cases: the sum is a number of the wider format; the wider format has the precision of D, and
/// the sum no bits below the smallest subnormal number of D; two numbers of precision p are added, and the wider format has at least
/// 2p + 1 (Figueroa, "When is double rounding innocuous?", 1995).
fn rounded_once(program: &Program, number: usize, exact: &Numbers, addends: Option<i32>) -> Option<ResultTarget> {
    let to = program.steps[number].operation.destination()?;
    let d = program.output.target;
    let is_last = program.output.value == Source::Value(number) && !program.output.passes_nan;
    let used = program.operations().any(|other| other.sources().contains(&Source::Value(number)));
    let nearest = to.target.rounding == Rounding::Rne && d.rounding == Rounding::Rne;
    let usual = to.overflow_test == OverflowTest::Rounded
        && [to.target, d].iter().all(|target| {
            matches!(target.overflow, Overflow::Standard | Overflow::Infinity) && target.format.has_infinity()
        });
    if !is_last || used || !nearest || !usual || to.subnormals != Subnormals::Keep || !to.target.format.holds(d.format)
    {
        return None;
    }
    let precision = |format: &Format| format.float().map(|float| float.precision() as i32);
    let (wide, narrow) = (precision(to.target.format)?, precision(d.format)?);
    let sum = addends.is_some_and(|bits| bits <= narrow) && wide > 2 * narrow;
    let innocuous = exact.bits <= wide || wide == narrow || sum;
    (innocuous && exact.quantum >= quantum(d.format)?).then_some(ResultTarget { overflow: Overflow::Standard, ..d })
}

/// The alignment of a sum, without the end of a register that holds every sum of these terms.
///
/// Significands of terms are below 4 in units of the largest exponent, and can be rounded to 4.
fn in_register(alignment: Alignment, terms: &[Numbers]) -> Alignment {
    let exponents = 2 + log2(terms.len()) + i32::from(alignment.rounding != Rounding::Rz);
    let plain = terms.iter().all(|term| !term.sum) && !alignment.complement && alignment.c_bits.is_none();
    match alignment.carry {
        Some(carry) if plain && carry + 1 >= exponents => Alignment { carry: None, saturates: false, ..alignment },
        _ => alignment,
    }
}

fn emin(format: &Format) -> Option<i32> {
    format.float().map(|float| float.emin())
}

/// Largest exponent of a product with a factor that is zero, subnormal or the smallest normal number.
fn largest_beside_smallest(program: &Program) -> Option<i32> {
    let i = &program.instruction;
    let emax = |format: &Format| format.float().map(|float| float.emax());
    Some((emin(i.a)? + emax(i.b)?).max(emax(i.a)? + emin(i.b)?))
}

/// Drops the results of invalid operations that no operands cause.
fn without_invalid(program: &mut Program, values: &[Numbers]) -> Option<()> {
    let product = product(program)?;
    if !product.infinite {
        program.invalid.zero_times_infinity = ZeroTimesInfinity::Nan;
    }
    let infinite = |source: &Source| numbers(program, values, *source).is_none_or(|number| number.infinite);
    let of_sources = |sources: &[Source]| sources.iter().filter(|source| infinite(source)).count();
    let terms = program.operations().map(|operation| {
        let products = match operation {
            ElementaryOperation::Sum(sum) => {
                let infinite = sum.products.iter().filter(|step| values[**step].infinite);
                infinite.filter_map(|step| program.products(*step)).map(Multiply::len).sum()
            }
            ElementaryOperation::Fma { .. } => usize::from(product.infinite),
            _ => 0,
        };
        products.saturating_add(of_sources(&operation.sources()))
    });
    let at_once = match program.specials {
        Some(_) if product.infinite => usize::MAX,
        _ => 0,
    };
    if terms.chain([at_once]).all(|infinite| infinite < 2) {
        program.invalid.opposite_infinities = OppositeInfinities::Nan;
    }
    Some(())
}

/// Drops the exponents of zeros without effect: where no sum aligned to them loses bits.
fn without_zeros(program: &mut Program, values: &[Numbers]) {
    let harmless = |largest: Option<i32>| {
        largest.is_some_and(|largest| program.operations().all(|o| keeps_all(program, values, o, largest)))
    };
    let results = program.operations().filter_map(ElementaryOperation::destination).map(|to| emin(to.target.format));
    let others = results.chain([emin(program.addend())]).collect::<Option<Vec<_>>>();
    let products = harmless(largest_beside_smallest(program));
    let others = harmless(others.and_then(|others| others.into_iter().max()));
    program.unpack[0].zeros &= !products;
    program.unpack[1].zeros &= !products;
    program.unpack[2].zeros &= !others;
}

/// True if one sum has all products and c, and what follows keeps its infinities.
fn sums_everything_once(program: &Program) -> bool {
    let infinite = |target: &ResultTarget| {
        matches!(target.overflow, Overflow::Standard | Overflow::Infinity) && target.format.has_infinity()
    };
    let [multiply, sum, rest @ ..] = &program.steps[..] else { return false };
    let all = match (&multiply.operation, &sum.operation) {
        (ElementaryOperation::Multiply(multiply), ElementaryOperation::Sum(sum)) => {
            let has_product = |k: usize| multiply.factors.contains(&Factors { k, a: u64::MAX, b: u64::MAX });
            multiply.rounded.is_none()
                && multiply.limit.is_none()
                && (0..program.instruction.stored_k()).all(has_product)
                && sum.products == [0]
                && sum.addends.iter().any(|addend| addend.source == Source::C)
                && program.specials.as_ref().is_none_or(|order| *order == sum.nans)
        }
        _ => false,
    };
    let rounds =
        |step: &OperationStep| matches!(&step.operation, ElementaryOperation::Round { to, .. } if infinite(&to.target));
    // A rounding gives a NaN the payload of its own format, which D then shows.
    let payloads = program.output.passes_nan && !rest.is_empty();
    all && !payloads && rest.iter().all(rounds) && infinite(&program.output.target)
}

/// Drops conversions to wider formats without effect.
/// They change only the exponents of subnormal numbers, which matter only if a sum aligned to them loses bits.
fn without_unpacking(program: &mut Program, values: &[Numbers]) {
    let i = &program.instruction;
    let ([a, b], c) = (program.factors(), program.addend());
    let whole_factors = program.operations().all(|operation| match operation {
        ElementaryOperation::Multiply(multiply) => {
            multiply.scaling == Scaling::None && multiply.factors.iter().all(|f| (f.a, f.b) == (u64::MAX, u64::MAX))
        }
        ElementaryOperation::Fma { factors, .. } => (factors.a, factors.b) == (u64::MAX, u64::MAX),
        _ => true,
    });
    let same = |format: &Format, wider: &Format| {
        format.float().zip(wider.float()).is_some_and(|(format, wider)| format.emin() == wider.emin())
    };
    let harmless = |limit: Option<i32>| {
        limit.is_some_and(|largest| program.operations().all(|o| keeps_all(program, values, o, largest)))
    };
    let factors = whole_factors && (same(i.a, a) && same(i.b, b) || harmless(largest_beside_smallest(program)));
    let addend = same(i.c, c) || harmless(emin(i.c));
    if factors {
        (program.unpack[0].wider, program.unpack[1].wider) = (None, None);
    }
    if addend {
        program.unpack[2].wider = None;
    }
}

/// True if an operation loses no bits when it aligns to an exponent up to `largest`.
fn keeps_all(program: &Program, values: &[Numbers], operation: &ElementaryOperation, largest: i32) -> bool {
    let ElementaryOperation::Sum(sum) = operation else {
        return !matches!(operation, ElementaryOperation::Multiply(multiply) if multiply.bits.is_some());
    };
    let Some(alignment) = sum.alignment else { return true };
    let lowest = largest.max(alignment.floor.unwrap_or(largest)) - alignment.bits;
    let plain = alignment.carry.is_none()
        && !alignment.complement
        && alignment.c_bits.is_none()
        && sum.addends.iter().all(|addend| addend.bits.is_none() && addend.drop.is_none());
    let products = sum.products.iter().map(|step| values.get(*step).copied());
    let addends = sum.addends.iter().map(|addend| numbers(program, values, addend.source));
    plain && products.chain(addends).all(|term| term.is_some_and(|term| term.quantum >= lowest))
}
