//! Reference evaluator: runs a program one operation at a time in exact integers.

mod held;
mod observer;
mod sum;

use super::{
    Destination, ElementaryOperation, Factors, IntegerSum, Multiply, NanOperand, Neighbours, Program, Scaling, Source,
    Unpack,
};
use crate::{
    format::Format,
    isa::Case,
    number::{self, Finite, Real, Rounding, exact_sum},
    softfloat::ResultTarget,
};
use held::{Held, first_nan, unpacked};
pub use observer::{Explanation, ExplanationLine, Unrounded};
pub(super) use observer::{Observer, Recorder, Silent};
use sum::{Summand, special, sum};

/// Code of D.
///
/// # Panics
/// If the number of operands is not the instruction's.
pub(super) fn run<O: Observer>(program: &Program, case: &Case, observer: &mut O) -> u64 {
    let i = &program.instruction;
    assert!(case.a.len() == i.stored_k() && case.b.len() == i.k, "the operands of {i}");
    if let Some(ElementaryOperation::Integer(sum)) = program.operations().next() {
        return integer(program, sum, case, observer);
    }
    let mut machine = Machine { program, inputs: Inputs::new(program, case), values: Vec::new(), observer };
    let total = machine.total();
    machine.output(total)
}

/// The codes that the random bits of the last rounding choose between.
///
/// # Panics
/// Like [`run`].
pub(super) fn neighbours(program: &Program, bits: u32, case: &Case) -> Neighbours {
    let observer = &mut Silent;
    let mut machine = Machine { program, inputs: Inputs::new(program, case), values: Vec::new(), observer };
    let total = machine.total();
    let code = |random| {
        let rounding = Rounding::Sr { random, bits };
        machine.code(&total, &ResultTarget { rounding, ..program.output.target })
    };
    let words = 1u64 << bits;
    let codes = [code(0), code(words - 1)];
    // The larger the random bits, the larger the magnitude: the words that round up are the last ones.
    let (mut down, mut up) = (0, words - 1);
    while codes[0] != codes[1] && up - down > 1 {
        let middle = down + (up - down) / 2;
        if code(middle) == codes[0] { down = middle } else { up = middle }
    }
    Neighbours { codes, bits, outward: if codes[0] == codes[1] { 0 } else { words - up } }
}

/// Decoded operands of one dot-product-add, by stored k.
struct Inputs {
    a: Vec<Held>,
    b: Vec<Held>,
    /// Significands of A and B, for pieces of them.
    significands: [Vec<u64>; 2],
    /// Product of the scales of A and B, and its units digit's exponent, by stored k; empty without scales.
    scales: Vec<(Real, i32)>,
    c: Held,
}

impl Inputs {
    fn new(program: &Program, case: &Case) -> Inputs {
        let i = &program.instruction;
        let [a, b, c] = &program.unpack;
        let logical = |at: usize| case.logical(i, at);
        let scales = match i.scale {
            None => Vec::new(),
            Some(scale) => {
                let of = |at: usize| {
                    let block = logical(at) / scale.block;
                    let [a, b] = [case.scale_a[block], case.scale_b[block]].map(|code| scale.format.decode(code));
                    let exponent = a.exponent + b.exponent + 2 * scale.format.fraction_bits() as i32;
                    (number::product(&a.real(), &b.real()), exponent)
                };
                (0..case.a.len()).map(of).collect()
            }
        };
        let operand = |format: &'static Format, code: u64, unpack: &Unpack| unpacked(format, code, unpack);
        let factor = |format, code, unpack| operand(format, code, unpack).factor(program.factor_nan, i.d);
        let a: Vec<Held> = case.a.iter().map(|code| factor(i.a, *code, a)).collect();
        let b: Vec<Held> = (0..case.a.len()).map(|at| factor(i.b, case.b[logical(at)], b)).collect();
        let significands = [&a, &b].map(|side| side.iter().map(significand).collect());
        Inputs { a, b, significands, scales, c: operand(i.c, case.c, c) }
    }
}

fn significand(held: &Held) -> u64 {
    match held.value {
        Real::Finite(value) => value.significand as u64,
        _ => 0,
    }
}

struct Machine<'a, O> {
    program: &'a Program,
    inputs: Inputs,
    /// Values of every step so far: one, or one for each product.
    values: Vec<Vec<Held>>,
    observer: &'a mut O,
}

impl<O: Observer> Machine<'_, O> {
    /// The last value, before its conversion to D.
    fn total(&mut self) -> Held {
        let program = self.program;
        if let Some(special) = program.specials.as_ref().and_then(|order| self.special(order)) {
            self.observer.line(|| ExplanationLine::new(None, "products and c", special.value));
            return special;
        }
        for number in 0..program.steps.len() {
            self.observer.begin(Some(number));
            let values = self.step(number);
            self.values.push(values);
        }
        self.observer.begin(None);
        self.value(program.output.value)
    }

    fn value(&self, source: Source) -> Held {
        match source {
            Source::C => self.inputs.c,
            Source::Zero => Held::ZERO,
            Source::Value(step) => self.values[step][0],
            Source::Product(step, at) => self.values[step][at],
        }
    }

    fn step(&mut self, number: usize) -> Vec<Held> {
        let program = self.program;
        let step = &program.steps[number];
        match &step.operation {
            ElementaryOperation::Multiply(multiply) => self.multiply(number, multiply),
            ElementaryOperation::Sum(program_sum) => {
                let summand = |held, bits, drop, factors| Summand { held, bits, drop, factors };
                let mut names = Vec::new();
                let mut products = Vec::new();
                for &of in &program_sum.products {
                    let Some(multiply) = program.products(of) else { continue };
                    for (at, held) in self.values[of].iter().enumerate() {
                        let factors = match multiply.scaling {
                            Scaling::Sums(_) => None,
                            _ => Some([self.inputs.a[multiply.factors[at].k], self.inputs.b[multiply.factors[at].k]]),
                        };
                        products.push(summand(*held, None, None, factors));
                        names.push((of, at));
                    }
                }
                let addends: Vec<Summand> =
                    program_sum.addends.iter().map(|a| summand(self.value(a.source), a.bits, a.drop, None)).collect();
                let name = |at: usize| match names.get(at) {
                    Some((of, place)) => program.products(*of).map_or(String::new(), |m| product_name(m, *place)),
                    None => addend_name(program, program_sum.addends[at - names.len()].source),
                };
                vec![sum(program_sum, &products, &addends, &program.invalid, step.group, &name, self.observer)]
            }
            ElementaryOperation::Round { value, to, passes_nan } => {
                let held = self.value(*value);
                let held = if *passes_nan { held } else { held.without_payload() };
                vec![self.deliver(number, || step.name.clone(), held, None, to)]
            }
            ElementaryOperation::Add { terms, to, nans } => {
                let [x, y] = terms.map(|term| self.value(term));
                let sum = match first_nan(nans, [Some(&x), Some(&y), None], &self.program.invalid) {
                    Some(nan) => nan,
                    None => self.added(&x, &y, to),
                };
                vec![self.deliver(number, || step.name.clone(), sum, Some([x.value, y.value]), to)]
            }
            ElementaryOperation::Fma { factors, addend, to, nans } => {
                let addend = self.value(*addend);
                let (a, b) = (&self.inputs.a[factors.k], &self.inputs.b[factors.k]);
                let product = self.product(factors);
                let sum = match first_nan(nans, [Some(a), Some(b), Some(&addend)], &self.program.invalid) {
                    Some(nan) => nan,
                    None => self.added(&Held::exact(product, 0), &addend, to),
                };
                let terms = Some([product, addend.value]);
                let name = || format!("+ {}", factors_name(factors));
                vec![self.deliver(number, name, sum, terms, to)]
            }
            ElementaryOperation::Integer(_) => unreachable!("integers are summed at once"),
        }
    }

    /// Rounds a value, the sum of `terms` if there are any, for the next operation.
    fn deliver(
        &mut self,
        number: usize,
        name: impl FnOnce() -> String,
        value: Held,
        terms: Option<[Real; 2]>,
        to: &Destination,
    ) -> Held {
        let (held, code) = value.rounded(to);
        let held = if self.program.unpack[2].zeros { held.counted(to.target.format) } else { held };
        let group = self.program.steps[number].group;
        self.observer.line(|| rounding(group, &name(), Unrounded { value: value.value, terms }, &to.target, code));
        held
    }

    /// Exact product of two factors, or of pieces of them.
    fn product(&self, factors: &Factors) -> Real {
        let (a, b) = (&self.inputs.a[factors.k].value, &self.inputs.b[factors.k].value);
        match (a, b) {
            (Real::Finite(a), Real::Finite(b)) => {
                let [x, y] = &self.inputs.significands;
                let piece = |value: &Finite, significand: u64, mask: u64| {
                    Finite::exact(value.negative, (significand & mask).into(), value.exponent)
                };
                let (a, b) = (piece(a, x[factors.k], factors.a), piece(b, y[factors.k], factors.b));
                number::product(&Real::Finite(a), &Real::Finite(b))
            }
            // Every piece of a non-finite product is that product.
            _ => self.program.invalid.product(a, b),
        }
    }

    fn multiply(&mut self, number: usize, multiply: &Multiply) -> Vec<Held> {
        match multiply.scaling {
            Scaling::Sums(run) => multiply.factors.chunks(run).map(|run| self.scaled_sum(multiply, run)).collect(),
            _ => {
                let products: Vec<Held> = multiply.factors.iter().map(|factors| self.term(multiply, factors)).collect();
                let summed = |operation: &ElementaryOperation| matches!(operation, ElementaryOperation::Sum(sum) if sum.products.contains(&number));
                // The products of a sum are explained there, with their kept bits.
                if !self.program.operations().any(summed) {
                    let group = self.program.steps[number].group;
                    for (at, held) in products.iter().enumerate() {
                        self.observer.line(|| ExplanationLine::new(group, product_name(multiply, at), held.value));
                    }
                }
                products
            }
        }
    }

    /// Product of two factors, as the multiplier keeps it; infinite from the limit on.
    fn kept_product(&self, multiply: &Multiply, factors: &Factors) -> Real {
        let (product, [a, b]) = (self.product(factors), [&self.inputs.a[factors.k], &self.inputs.b[factors.k]]);
        let kept = match (product, multiply.bits.zip(a.exponent.zip(b.exponent))) {
            (Real::Finite(finite), Some((bits, (a, b)))) => Real::Finite(Finite {
                negative: finite.negative,
                ..finite.rounded_to_quantum(a + b - bits, Rounding::Rz)
            }),
            _ => product,
        };
        limited(kept, multiply.limit)
    }

    /// One product with its scales.
    fn term(&self, multiply: &Multiply, factors: &Factors) -> Held {
        let (a, b) = (&self.inputs.a[factors.k], &self.inputs.b[factors.k]);
        if let Some(nan) = first_nan(&multiply.nans, [Some(a), Some(b), None], &self.program.invalid) {
            return nan;
        }
        let zeros = self.program.unpack[0].zeros;
        let exponent = a.exponent.zip(b.exponent).map(|(a, b)| a + b);
        let mut held = Held::term(self.kept_product(multiply, factors), exponent, zeros);
        if let Some(to) = &multiply.rounded {
            held = held.rounded(to).0.without_payload();
        }
        if let (Scaling::Each, Some((scale, scale_exponent))) = (multiply.scaling, self.inputs.scales.get(factors.k)) {
            let exponent = held.exponent.map(|e| e + scale_exponent);
            held = Held::term(number::product(&held.value, scale), exponent, zeros);
        }
        match held.value {
            Real::Finite(finite) if multiply.normalised => held.with_exponent(finite.leading_exponent()),
            _ => held,
        }
    }

    /// Exact sum of a run of products, times their common scales.
    fn scaled_sum(&self, multiply: &Multiply, run: &[Factors]) -> Held {
        let products: Vec<Real> = run.iter().map(|factors| self.kept_product(multiply, factors)).collect();
        let sum = self.program.invalid.special_sum(products.iter()).unwrap_or_else(|| {
            let finite = products.iter().map(|p| match p {
                Real::Finite(finite) => *finite,
                _ => unreachable!("not special"),
            });
            Real::Finite(exact_sum(finite).odd())
        });
        let (scale, exponent) = self.inputs.scales[run[0].k];
        Held::exact(number::product(&sum, &scale), exponent)
    }

    /// Infinity or NaN that all products and c give; `None` if they are finite.
    fn special(&self, order: &[NanOperand]) -> Option<Held> {
        let product = |k: usize| {
            let factors = [self.inputs.a[k], self.inputs.b[k]];
            let unscaled = self.program.invalid.product(&factors[0].value, &factors[1].value);
            let scaled_product =
                self.inputs.scales.get(k).map_or(unscaled, |(scale, _)| number::product(&unscaled, scale));
            Summand { held: Held::exact(scaled_product, 0), bits: None, drop: None, factors: Some(factors) }
        };
        let products: Vec<Summand> = (0..self.inputs.a.len()).map(product).collect();
        let c = [Summand { held: self.inputs.c, bits: None, drop: None, factors: None }];
        special(&products, &c, order, &self.program.invalid)
    }

    /// Unrounded `x + y`.
    fn added(&self, x: &Held, y: &Held, to: &Destination) -> Held {
        Held::exact(self.program.invalid.sum(&x.value, &y.value, to.target.rounding == Rounding::Rd), 0)
    }

    /// Code of D of the last value.
    fn output(&mut self, total: Held) -> u64 {
        let target = &self.program.output.target;
        let code = self.code(&total, target);
        let unrounded = Unrounded { value: total.value, terms: None };
        self.observer.line(|| rounding(None, "D", unrounded, target, code));
        code
    }

    fn code(&self, total: &Held, target: &ResultTarget) -> u64 {
        match self.program.output.passes_nan && total.is_nan() {
            true => total.quiet_nan(target.format).unwrap_or(target.nan),
            false => target.round(&total.value),
        }
    }
}

/// Makes a product at or above the limit infinite.
fn limited(product: Real, limit: Option<i32>) -> Real {
    match (product, limit) {
        (Real::Finite(finite), Some(limit)) if finite.leading_exponent().is_some_and(|e| e >= limit) => {
            Real::Infinity { negative: finite.negative }
        }
        _ => product,
    }
}

/// Exact integer sum, brought into its range.
fn integer<O: Observer>(program: &Program, integer_sum: &IntegerSum, case: &Case, observer: &mut O) -> u64 {
    let i = &program.instruction;
    let signed = |format: &Format, code: u64| {
        let datum = format.decode(code);
        if datum.negative { -(datum.significand as i128) } else { datum.significand as i128 }
    };
    let exact = |sum: i128| Real::Finite(Finite::exact(sum < 0, sum.unsigned_abs(), 0));
    let (mut sum, mut group) = (integer_sum.of_c(signed(i.c, case.c)), 0);
    observer.line(|| ExplanationLine::new(None, "c", exact(sum)));
    for (at, &a) in case.a.iter().enumerate() {
        let (x, y) = i.factors(a, case.b[case.logical(i, at)]);
        let term = signed(i.a, x) * signed(i.b, y);
        let operation = if i.xor { "^" } else { "*" };
        observer.line(|| ExplanationLine::new(None, format!("a[{at}]{operation}b[{at}]"), exact(term)));
        group += term;
        if (at + 1).is_multiple_of(integer_sum.group) || at + 1 == case.a.len() {
            sum += integer_sum.of_group(group);
            group = 0;
            observer.line(|| ExplanationLine::new(None, "sum", exact(sum)));
            sum = integer_sum.within(sum, i.d.largest(true) != 0);
        }
    }
    let code = sum as u64 & i.d.code_mask();
    let unrounded = Unrounded { value: exact(sum), terms: None };
    observer.line(|| rounding(None, "D", unrounded, &program.output.target, code));
    code
}

/// Name of a product in explanations.
fn factors_name(factors: &Factors) -> String {
    let bits = |mask: u64| if mask == u64::MAX { String::new() } else { format!("&{mask:#x}") };
    format!("a[{k}]{}*b[{k}]{}", bits(factors.a), bits(factors.b), k = factors.k)
}

/// Name of a sum's addend; the value that a chain of groups continues from is its c.
fn addend_name(program: &Program, source: Source) -> String {
    match source {
        Source::C => "c".into(),
        Source::Zero => "+0".into(),
        Source::Value(step) if program.steps[step].name == "sum" => "c".into(),
        Source::Value(step) | Source::Product(step, _) => program.steps[step].name.clone(),
    }
}

/// Name of a value of a list of products.
fn product_name(multiply: &Multiply, at: usize) -> String {
    match multiply.scaling {
        Scaling::Sums(run) => {
            let factors = &multiply.factors[at * run..(at + 1) * run];
            format!("products {} to {}", factors[0].k, factors[run - 1].k)
        }
        _ => factors_name(&multiply.factors[at]),
    }
}

/// Line of a rounding to `code`.
fn rounding(
    group: Option<usize>,
    what: &str,
    unrounded: Unrounded,
    target: &ResultTarget,
    code: u64,
) -> ExplanationLine {
    let what = match target.format.is_integer() {
        true => what.to_string(),
        false => format!("{what} to {} {}", target.format, target.rounding.name()),
    };
    ExplanationLine {
        code: Some((target.format, code)),
        unrounded: Some(unrounded),
        ..ExplanationLine::new(group, what, target.format.value(code))
    }
}
