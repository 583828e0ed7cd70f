//! Programs with fast steps: sums that fit into 64 bits, and chains of f32 or f64 operations.
//! Values are codes.

use std::fmt::Write;

use super::{Destinations, OPERANDS, direction, lookup, subnormals, variable};
use crate::{
    arithmetic::{
        Alignment, Destination, ElementaryOperation, Factors, Multiply, NanOperand, Program, ResultTininess, Scaling,
        Source, Subnormals, Sum, ZeroSign,
    },
    format::{self, Format, Overflow, Rounding},
};

const FUSED: &str = crate::kernels::source("model_fused.cuh");
const CHAIN: &str = crate::kernels::source("model_chain.cuh");

/// The form of operands before the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandForm {
    /// Integers with exponents, for sums.
    Term,
    /// Numbers of f32.
    F32,
    /// Numbers of f64.
    F64,
    /// Integers.
    Integer,
    /// Codes, for general steps.
    None,
}

impl OperandForm {
    pub(super) const ALL: &'static [OperandForm] =
        &[OperandForm::Term, OperandForm::F32, OperandForm::F64, OperandForm::Integer, OperandForm::None];

    pub(super) fn name(self) -> &'static str {
        match self {
            OperandForm::Term => "TERM",
            OperandForm::F32 => "F32",
            OperandForm::F64 => "F64",
            OperandForm::Integer => "INTEGER",
            OperandForm::None => "NONE",
        }
    }
}

/// Chooses the form of a program's factors.
pub(super) fn factor(program: &Program) -> OperandForm {
    if let Some(ElementaryOperation::Integer(_)) = program.operations().next() {
        return OperandForm::Integer;
    }
    let general =
        program.specials.is_some() || !program.has_usual_specials() || program.unpack.iter().any(|unpack| unpack.zeros);
    if general || program.instruction.scale.is_some() || !program.operations().all(has_fast_destination) {
        return OperandForm::None;
    }
    // The fast steps treat subnormals of A, B and C alike.
    let alike = program.unpack.iter().all(|unpack| unpack.subnormals == program.unpack[0].subnormals);
    if alike && narrow_sums(program) {
        return OperandForm::Term;
    }
    ["f64", "f32"].into_iter().find(|name| is_chain(program, name)).map_or(OperandForm::None, |name| match name {
        "f64" => OperandForm::F64,
        _ => OperandForm::F32,
    })
}

/// Returns true if subnormal results are kept, or are detected after rounding.
fn has_fast_destination(operation: &ElementaryOperation) -> bool {
    operation.destination().is_none_or(|to| to.subnormals == Subnormals::Keep || to.tininess == ResultTininess::After)
}

fn is_whole(factors: &Factors) -> bool {
    factors.a == u64::MAX && factors.b == u64::MAX
}

fn is_plain(multiply: &Multiply) -> bool {
    let Multiply { factors, scaling, limit, bits, rounded, normalised: _, nans } = multiply;
    let exact = limit.is_none() && bits.is_none() && rounded.is_none();
    factors.iter().all(is_whole) && *scaling == Scaling::None && exact && nans.is_empty()
}

/// Returns true if a program has only f32 or only f64 operations.
/// These are fused multiply-adds, and conversions and additions around them.
fn is_chain(program: &Program, name: &str) -> bool {
    let format = format::find(name).expect("the format table has f32 and f64");
    let binary = |rounding| matches!(rounding, Rounding::Rne | Rounding::Rz | Rounding::Ru | Rounding::Rd);
    let is_standard = |to: &Destination| {
        to.target.format == format
            && binary(to.target.rounding)
            && to.target.overflow == Overflow::Standard
            && to.subnormals == Subnormals::Keep
            && to.zero == ZeroSign::Ieee
    };
    let keeps = program.unpack.iter().all(|unpack| unpack.subnormals == Subnormals::Keep);
    // NaNs that keep their payload are not converted, so nothing else may be.
    let payloads = program.output.passes_nan
        && (program.output.target.overflow != Overflow::Standard || program.output.target.format != format);
    let same_nans = |nans: &[NanOperand]| {
        let usual = program.factor_nan.is_none() && !nans.contains(&NanOperand::Invalid);
        nans.is_empty()
            || usual && [program.instruction.a, program.instruction.b, program.addend()].iter().all(|f| *f == format)
    };
    let [a, b] = program.factors();
    let fits = keeps && !payloads && [a, b, program.addend()].iter().all(|operand| format.holds(operand));
    let wide = name == "f64";
    let small = wide || is_small(program.output.target.format);
    let operations = program.operations().all(|operation| match operation {
        ElementaryOperation::Fma { factors, to, nans, .. } => is_whole(factors) && is_standard(to) && same_nans(nans),
        // A product at the start of a chain.
        ElementaryOperation::Multiply(multiply) => is_plain(multiply) && multiply.len() == 1,
        ElementaryOperation::Round { value, to, passes_nan } => {
            matches!(value, Source::Product(..)) && is_standard(to) && !passes_nan
        }
        ElementaryOperation::Add { terms, to, nans } => {
            let held = terms.iter().all(|term| !matches!(term, Source::Product(..)));
            held && !wide && nans.is_empty() && is_small(to.target.format) && to.zero == ZeroSign::Ieee
        }
        ElementaryOperation::Sum(_) | ElementaryOperation::Integer(_) => false,
    });
    let i = &program.instruction;
    let exact = !wide || [i.a, i.b, i.c, i.d].iter().all(|format| format.name == "f64");
    fits && small
        && operations
        && exact
        && program.steps.iter().any(|step| matches!(step.operation, ElementaryOperation::Fma { .. }))
}

/// Returns true if every operation is a sum within 64 bits, its rounding, or an addition of codes.
fn narrow_sums(program: &Program) -> bool {
    let [a, b] = program.factors();
    let formats = [a, b, program.instruction.c, program.addend(), program.output.target.format];
    let destinations = program.operations().filter_map(ElementaryOperation::destination).map(|to| to.target.format);
    let mut kinds = Vec::new();
    let operations = program.steps.iter().enumerate().all(|(at, step)| match &step.operation {
        ElementaryOperation::Multiply(multiply) => {
            let next = program.steps.get(at + 1).map(|step| &step.operation);
            is_plain(multiply) && matches!(next, Some(ElementaryOperation::Sum(sum)) if sum.products == [at])
        }
        ElementaryOperation::Sum(sum) => {
            let rounding = program.steps.get(at + 1).map(|step| &step.operation);
            let (Some(products), Some(ElementaryOperation::Round { value, to, passes_nan })) =
                (sum.products.first(), rounding)
            else {
                return false;
            };
            let Some(multiply) = program.products(*products) else { return false };
            kinds.push((sum.alignment, multiply.normalised));
            let addend = sum.addends.as_slice();
            let one =
                matches!(addend, [only] if only.bits.is_none() && only.drop.is_none() && !is_open(program, only.source));
            let signed = !matches!(to.zero, ZeroSign::Positive | ZeroSign::Negative) || *passes_nan;
            *value == Source::Value(at)
                && !signed
                && one
                && !sum.normalised
                && sum.nans.is_empty()
                && fits(program, sum, multiply)
        }
        ElementaryOperation::Round { value, .. } => is_open(program, *value),
        ElementaryOperation::Add { terms, nans, to } => {
            terms.iter().all(|term| !is_open(program, *term)) && nans.is_empty() && to.zero == ZeroSign::Ieee
        }
        ElementaryOperation::Fma { .. } | ElementaryOperation::Integer(_) => false,
    });
    // Operands are prepared for one alignment.
    let alike = kinds.windows(2).all(|pair| pair[0] == pair[1]) && !kinds.is_empty();
    operations && alike && formats.into_iter().chain(destinations).all(is_small) && !program.output.passes_nan
}

/// Returns true if a value is an unrounded sum or a product.
fn is_open(program: &Program, source: Source) -> bool {
    match source {
        Source::Value(step) => matches!(program.steps[step].operation, ElementaryOperation::Sum(_)),
        Source::Product(..) => true,
        Source::C | Source::Zero => false,
    }
}

/// Returns true if the terms and the sum fit into 64 bits.
fn fits(program: &Program, sum: &Sum, multiply: &Multiply) -> bool {
    let Some(alignment) = sum.alignment else { return false };
    let bits = term_bits(program, alignment.bits) + (multiply.len() + 1).next_power_of_two().trailing_zeros() as i32;
    matches!(alignment.bits, 0..=50)
        && !alignment.sticky
        && alignment.carry.is_none()
        && !alignment.complement
        && alignment.c_bits.is_none()
        // The kernel marks special exponents beyond these.
        && alignment.floor.is_none_or(|floor| floor.abs() < 4000)
        && bits < 62
}

/// Returns true if the kernel's fast steps accept the format.
fn is_small(format: &Format) -> bool {
    format.fraction_bits() < 24
}

/// Bits of an aligned product.
fn term_bits(program: &Program, alignment: i32) -> i32 {
    let fraction = fraction(program);
    fraction + 2 + (alignment - fraction).max(0)
}

/// Fraction bits of an exact product.
fn fraction(program: &Program) -> i32 {
    let [a, b] = program.factors();
    (a.fraction_bits() + b.fraction_bits()) as i32
}

/// The common alignment of the sums, and true if products are normalised.
fn alignment(program: &Program) -> Option<(Alignment, bool)> {
    program.operations().find_map(|operation| match operation {
        ElementaryOperation::Sum(sum) => Some((sum.alignment?, program.products(*sum.products.first()?)?.normalised)),
        _ => None,
    })
}

/// Left shift of A's significands before multiplication, in bits.
pub(super) fn factor_lift(program: &Program) -> i32 {
    match alignment(program).filter(|_| factor(program) == OperandForm::Term) {
        None => 0,
        Some((alignment, _)) => {
            let lift = (alignment.bits - fraction(program)).max(0);
            lift.min(30 - program.factors()[0].fraction_bits() as i32 - 1)
        }
    }
}

/// The text after the records, the common definitions and `model_value.cuh`.
pub(super) fn steps(program: &Program, factor: OperandForm, destinations: &Destinations) -> String {
    let mut text = String::new();
    if let Some((alignment, normalised)) = alignment(program).filter(|_| factor == OperandForm::Term) {
        let fraction = fraction(program);
        let lift = (alignment.bits - fraction).max(0);
        let definitions = [
            ("ALIGNMENT_BITS", alignment.bits),
            ("ALIGNMENT_ROUNDING", direction(alignment.rounding) as i32),
            ("FLOOR", alignment.floor.unwrap_or(-20_000)),
            ("PRODUCT_LIFT", lift - factor_lift(program)),
            ("TERM_DROP", (fraction - alignment.bits).max(0)),
            ("TERM_BITS", term_bits(program, alignment.bits)),
            ("NORMALISED", normalised.into()),
        ];
        for (name, value) in definitions {
            let _ = writeln!(text, "#define {name} ({value})");
        }
    }
    for (step, operation) in program.operations().enumerate() {
        text += &match operation {
            ElementaryOperation::Multiply(multiply) => {
                let indices: Vec<String> = multiply.factors.iter().map(|factors| factors.k.to_string()).collect();
                format!(
                    "struct Group{step} {{\n    static constexpr int COUNT = {};\n{}}};\n",
                    indices.len(),
                    lookup("int", "k", &indices)
                )
            }
            ElementaryOperation::Fma { nans, .. } => format!("struct Nans{step} {{\n{}}};\n", nan_order(nans)),
            _ => continue,
        };
    }
    text += OPERANDS;
    text += if factor == OperandForm::Term { FUSED } else { CHAIN };
    text + &model(program, destinations)
}

/// The operands, in the order in which a NaN among them becomes the result.
pub(super) fn nan_order(nans: &[NanOperand]) -> String {
    let order: Vec<String> = nans
        .iter()
        .map(|operand| match operand {
            NanOperand::A => "0".into(),
            NanOperand::B => "1".into(),
            NanOperand::C => "2".into(),
            NanOperand::Invalid => "3".into(),
        })
        .collect();
    format!("    static constexpr int COUNT = {};\n{}", order.len(), lookup("int", "operand", &order))
}

/// A code: its variable, its format, and the treatment of its subnormals.
struct HeldCode(String, String, &'static str);

/// The function `model`: the operations in order, and the conversion to D.
fn model(program: &Program, destinations: &Destinations) -> String {
    let mut text = String::from("\n// The code of D.\nMODEL Word model(const Operands& x, Word c) {\n");
    if program.unpack[2].wider.is_some() {
        text += "    const Word addend = convert<FormatC, C_SUBNORMALS, TargetAddend>(c);\n";
    }
    let held = |source: &Source| match source {
        Source::C if program.unpack[2].wider.is_some() => HeldCode("addend".into(), "FormatAddend".into(), "KEEP"),
        Source::C => HeldCode("c".into(), "FormatC".into(), subnormals(program.unpack[2].subnormals)),
        Source::Zero => {
            HeldCode(format!("{:#x}", program.addend().zero(false).unwrap_or(0)), "FormatAddend".into(), "KEEP")
        }
        Source::Value(step) => {
            let to = program.steps[*step].operation.destination().expect("codes are rounded");
            HeldCode(variable(source), format!("{}::Format", destinations.name(to)), subnormals(to.subnormals))
        }
        Source::Product(..) => unreachable!("products have no codes"),
    };
    for (step, operation) in program.operations().enumerate() {
        let value = match operation {
            ElementaryOperation::Round { value: Source::Value(sum), to, .. } => {
                let ElementaryOperation::Sum(sum) = &program.steps[*sum].operation else {
                    unreachable!("a sum is rounded")
                };
                let HeldCode(from, format, treatment) = held(&sum.addends[0].source);
                let to = destinations.name(to);
                format!("fused<Group{}, {format}, {treatment}, {to}>(x, {from})", sum.products[0])
            }
            ElementaryOperation::Round { value: Source::Product(product, at), to, .. } => {
                format!("product_code<{}>(x, Group{product}::k({at}))", destinations.name(to))
            }
            ElementaryOperation::Add { terms: [x, y], to, .. } => {
                let (HeldCode(x, x_format, x_treatment), HeldCode(y, y_format, y_treatment)) = (held(x), held(y));
                let to = destinations.name(to);
                format!("add<{x_format}, {x_treatment}, {y_format}, {y_treatment}, {to}>({x}, {y})")
            }
            ElementaryOperation::Fma { factors, addend, to, .. } => {
                let HeldCode(from, format, _) = held(addend);
                format!("fma_code<Nans{step}, {format}, {}>(x, {}, {from})", destinations.name(to), factors.k)
            }
            _ => continue,
        };
        let _ = writeln!(text, "    const Word v{step} = {value};");
    }
    let HeldCode(code, format, treatment) = held(&program.output.value);
    let _ = match program.output.passes_nan {
        false => writeln!(text, "    return convert<{format}, {treatment}, TargetOutput>({code});\n}}"),
        true => writeln!(text, "    return quiet<{format}>({code});\n}}"),
    };
    text
}
