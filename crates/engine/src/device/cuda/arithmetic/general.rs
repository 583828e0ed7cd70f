//! Programs without fast steps: the function `model` over general steps with 128-bit values.

use std::fmt::Write;

use super::{Destinations, OPERANDS, direction, fast::nan_order, lookup, variable};
use crate::{
    arithmetic::{
        Addend, Destination, ElementaryOperation, Factors, Multiply, NanOperand, Program, Scaling, Source,
        SpecialOperands, Sum,
    },
    format::Format,
};

const WIDE: &str = crate::kernels::source("model_wide.cuh");
const TERMS: &str = crate::kernels::source("model_terms.cuh");
const ACCUMULATOR: &str = crate::kernels::source("model_accumulator.cuh");
const SUM: &str = crate::kernels::source("model_sum.cuh");
const SCALAR: &str = crate::kernels::source("model_scalar.cuh");

/// An exponent beyond any term's.
const FAR: i32 = 1 << 20;

/// The text after the records, the common definitions and `model_value.cuh`.
pub(super) fn steps(program: &Program, destinations: &Destinations) -> String {
    let mut text = String::new();
    let [a, b] = program.factors();
    let (low, limbs) = accumulator(program);
    for (name, value) in
        [("PRODUCT_QUANTUM", quantum(a) + quantum(b)), ("ACCUMULATOR_LOW", low), ("ACCUMULATOR_LIMBS", limbs)]
    {
        let _ = writeln!(text, "#define {name} ({value})");
    }
    // Formats of the codes of operands: without infinities and NaNs, if those are read as numbers.
    for (name, unpack) in ["A", "B", "C"].iter().zip(&program.unpack) {
        let specials = match unpack.specials {
            SpecialOperands::Finite => " static constexpr int SPECIALS = 0; ",
            SpecialOperands::Keep | SpecialOperands::Nan => "",
        };
        let _ = writeln!(text, "struct Codes{name} : Format{name} {{{specials}}};");
    }
    for (step, operation) in program.operations().enumerate() {
        text += &record(step, operation, destinations);
    }
    if let Some(order) = &program.specials {
        text += &operand_specials(program, order, destinations);
    }
    text += OPERANDS;
    [WIDE, TERMS, ACCUMULATOR, SUM, SCALAR].iter().for_each(|part| text += part);
    text + &model(program, destinations)
}

/// The record of an operation: its constants and lists.
fn record(step: usize, operation: &ElementaryOperation, destinations: &Destinations) -> String {
    match operation {
        ElementaryOperation::Multiply(multiply) => products(&format!("Products{step}"), multiply, destinations),
        ElementaryOperation::Sum(sum) => sums(&format!("Sum{step}"), sum, false),
        ElementaryOperation::Fma { factors, nans, .. } => {
            let one = Multiply {
                factors: vec![*factors],
                scaling: Scaling::None,
                limit: None,
                bits: None,
                rounded: None,
                normalised: false,
                nans: Vec::new(),
            };
            products(&format!("Products{step}"), &one, destinations) + &order(&format!("Nans{step}"), nans)
        }
        ElementaryOperation::Add { nans, .. } => order(&format!("Nans{step}"), nans),
        ElementaryOperation::Round { .. } | ElementaryOperation::Integer(_) => String::new(),
    }
}

/// The records of the sum of all products and c, for its infinities and NaNs alone.
fn operand_specials(program: &Program, order: &[NanOperand], destinations: &Destinations) -> String {
    let i = &program.instruction;
    let multiply = Multiply {
        factors: (0..i.stored_k()).map(|k| Factors { k, a: u64::MAX, b: u64::MAX }).collect(),
        scaling: if i.scale.is_some() { Scaling::Each } else { Scaling::None },
        limit: None,
        bits: None,
        rounded: None,
        normalised: false,
        nans: Vec::new(),
    };
    let sum = Sum {
        products: vec![0],
        addends: vec![Source::C.into()],
        alignment: None,
        normalised: false,
        nans: order.to_vec(),
    };
    products("AllProducts", &multiply, destinations) + &sums("OperandSpecials", &sum, true)
}

fn order(name: &str, nans: &[NanOperand]) -> String {
    format!("struct {name} {{\n{}}};\n", nan_order(nans))
}

fn products(name: &str, multiply: &Multiply, destinations: &Destinations) -> String {
    let list = |value: fn(&Factors) -> String| multiply.factors.iter().map(value).collect::<Vec<_>>();
    let rounded = multiply.rounded.as_ref();
    // Unused where products are exact.
    let to = rounded.map_or("TargetOutput".to_string(), |to: &Destination| destinations.name(to));
    let scale_sums = match multiply.scaling {
        Scaling::Sums(run) => run,
        _ => 0,
    };
    format!(
        "struct {name} {{\n    typedef {to} To;\n    static constexpr int COUNT = {}, SCALE_SUMS = {scale_sums}, LIMIT = {}, KEPT_BITS = {};\n    \
         static constexpr bool SCALED = {}, ROUNDED = {}, NORMALISED = {};\n{}{}{}    struct Nans {{\n{}    }};\n}};\n",
        multiply.len(),
        multiply.limit.unwrap_or(FAR),
        multiply.bits.unwrap_or(FAR),
        multiply.scaling == Scaling::Each,
        rounded.is_some(),
        multiply.normalised,
        lookup("int", "k", &list(|factors| factors.k.to_string())),
        lookup("unsigned long long", "a_bits", &list(|factors| format!("{:#x}ull", factors.a))),
        lookup("unsigned long long", "b_bits", &list(|factors| format!("{:#x}ull", factors.b))),
        nan_order(&multiply.nans),
    )
}

fn sums(name: &str, sum: &Sum, specials_only: bool) -> String {
    let alignment = sum.alignment.as_ref();
    let bits = alignment.map_or(0, |alignment| alignment.bits);
    let bits_of = |addend: &Addend| addend.bits.unwrap_or(bits);
    let most = sum.addends.iter().map(bits_of).fold(bits, i32::max);
    let addends = |value: &dyn Fn(&Addend) -> i32| sum.addends.iter().map(|a| value(a).to_string()).collect::<Vec<_>>();
    format!(
        "struct {name} {{\n    static constexpr bool EXACT = {}, NORMALISED = {}, STICKY = {}, SATURATES = {}, COMPLEMENT = {}, COMPLEMENT_ZEROS = {}, SPECIALS_ONLY = {specials_only};\n    \
         static constexpr int BITS = {bits}, MOST_BITS = {most}, ROUNDING = {}, FLOOR = {}, REACH = {}, STICKY_PLACE = {}, REGISTER_BITS = {}, LAST_OFFSET = {}, ADDENDS = {};\n{}{}    struct Nans {{\n{}    }};\n}};\n",
        alignment.is_none(),
        sum.normalised,
        alignment.is_some_and(|alignment| alignment.sticky),
        alignment.is_some_and(|alignment| alignment.saturates),
        alignment.is_some_and(|alignment| alignment.complement),
        alignment.is_some_and(|alignment| alignment.complement_zeros),
        alignment.map_or(0, |alignment| direction(alignment.rounding)),
        alignment.and_then(|alignment| alignment.floor).unwrap_or(-FAR),
        alignment.and_then(|alignment| alignment.reach).unwrap_or(FAR),
        alignment.and_then(|alignment| alignment.sticky_place).unwrap_or(FAR),
        alignment.and_then(|alignment| Some(most + alignment.carry? + 2)).unwrap_or(FAR),
        alignment.map_or(0, |alignment| alignment.c_offset()),
        sum.addends.len(),
        lookup("int", "addend_bits", &addends(&bits_of)),
        lookup("int", "addend_drop", &addends(&|addend| addend.drop.unwrap_or(FAR))),
        nan_order(&sum.nans),
    )
}

/// Exponent of the last bit of the smallest number.
fn quantum(format: &Format) -> i32 {
    format.float().map_or(0, |float| float.emin() - float.trailing_bits as i32)
}

/// The lowest bit of any exact sum of the program, as an exponent, and the sum's 64-bit words.
fn accumulator(program: &Program) -> (i32, i32) {
    // Codes read as numbers can have one exponent more.
    let numbers = program.unpack.iter().any(|unpack| unpack.specials == SpecialOperands::Finite);
    let top = |format: &Format| format.float().map_or(0, |float| float.emax() + 1 + i32::from(numbers));
    let [a, b] = program.factors();
    let scale = program.instruction.scale.map_or((0, 0), |scale| (2 * quantum(scale.format), 2 * top(scale.format)));
    let product = (quantum(a) + quantum(b) + scale.0, top(a) + top(b) + scale.1);
    let of = |format: &Format| (quantum(format) + scale.0, top(format) + scale.1);
    let held = [program.instruction.c, program.addend()].into_iter();
    let destinations = program.operations().filter_map(ElementaryOperation::destination).map(|to| to.target.format);
    let all = held.chain(destinations).map(of).chain([product]);
    let (low, high) = all.fold((i32::MAX, i32::MIN), |(low, high), (x, y)| (low.min(x), high.max(y)));
    // Unrounded sums have lower bits than their terms, and carries.
    let open = program.operations().any(|operation| match operation {
        ElementaryOperation::Sum(sum) => sum.addends.iter().any(|addend| matches!(addend.source, Source::Value(_))),
        _ => false,
    });
    let (low, high) = if open { (low - 64, high + 32) } else { (low, high) };
    // 16 bits for the sign and for carries: there are fewer than 2^15 terms.
    (low, (high + 16 - low) / 64 + 1)
}

/// The function `model`: the operations in order, and the conversion to D.
fn model(program: &Program, destinations: &Destinations) -> String {
    let mut text = String::from(
        "\n// The code of D.\nMODEL Word model(const Operands& x, Word code) {\n    const Held c = c_held(code), zero = \
         nothing(false);\n",
    );
    if program.specials.is_some() {
        text += "    const Held special = sum<AllProducts, OperandSpecials>(x, &c);\n";
        if program.output.passes_nan {
            text +=
                "    if (special.kind == NOT_A_NUMBER && special.payload) return quiet_nan<TargetOutput>(special);\n";
        }
        text += "    if (special.kind != FINITE) return round_held<TargetOutput>(special);\n";
    }
    for (step, operation) in program.operations().enumerate() {
        // Products that are terms of additions are separate values.
        let singles: Vec<(usize, usize)> = operation
            .sources()
            .into_iter()
            .filter_map(|source| match source {
                Source::Product(of, at) => Some((of, at)),
                _ => None,
            })
            .collect();
        for (of, at) in singles {
            let _ = writeln!(text, "    const Held p{of}_{at} = term<Products{of}>(x, {at});");
        }
        let value = match operation {
            ElementaryOperation::Multiply(_) | ElementaryOperation::Integer(_) => continue,
            ElementaryOperation::Sum(sum) => {
                let addends: Vec<String> = sum.addends.iter().map(|addend| variable(&addend.source)).collect();
                let addends = if addends.is_empty() { "zero".into() } else { addends.join(", ") };
                let _ = writeln!(text, "    const Held addends{step}[] = {{{addends}}};");
                let products = sum.products.first().map_or("NoProducts".into(), |of| format!("Products{of}"));
                format!("sum<{products}, Sum{step}>(x, addends{step})")
            }
            ElementaryOperation::Round { value, to, passes_nan } => {
                format!("deliver<{}, {passes_nan}>({})", destinations.name(to), variable(value))
            }
            ElementaryOperation::Add { terms: [x, y], to, .. } => {
                format!("add_held<Nans{step}, {}>({}, {})", destinations.name(to), variable(x), variable(y))
            }
            ElementaryOperation::Fma { addend, to, .. } => {
                format!("fma_held<Products{step}, Nans{step}, {}>(x, {})", destinations.name(to), variable(addend))
            }
        };
        let _ = writeln!(text, "    const Held v{step} = {value};");
    }
    if let Source::Product(of, at) = program.output.value {
        let _ = writeln!(text, "    const Held p{of}_{at} = term<Products{of}>(x, {at});");
    }
    let total = variable(&program.output.value);
    if program.output.passes_nan {
        let _ = writeln!(text, "    if ({total}.kind == NOT_A_NUMBER) return quiet_nan<TargetOutput>({total});");
    }
    text + &format!("    return round_held<TargetOutput>({total});\n}}\n")
}
