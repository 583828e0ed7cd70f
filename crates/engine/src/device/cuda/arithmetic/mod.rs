//! A program as CUDA C++: definitions that specialise `kernels/model_*.cuh`, and the function `model`.
//!
//! Programs of hardware mostly have sums that fit into 64 bits, or chains in f32 and f64; these are fast. Other
//! programs use the general steps (see `general`), which compute every rule of a model file.

mod fast;
mod general;

use std::fmt::Write;

use super::constants::constants;
use crate::{
    arithmetic::{
        Destination, ElementaryOperation, OverflowTest, Program, ResultTininess, Source, SpecialOperands, Subnormals,
        Wrap, ZeroSign,
    },
    format::{self, Finite, Overflow, Real, Rounding},
    softfloat::ResultTarget,
};
use fast::OperandForm;

const VALUE: &str = crate::kernels::source("model_value.cuh");
const OPERANDS: &str = crate::kernels::source("model_operands.cuh");
const INTEGER: &str = crate::kernels::source("model_integer.cuh");

/// Generates the device function `Word model(const Operands&, Word c)` of a program.
///
/// The text follows the instruction's prelude, whose macros and records it uses. It computes what the evaluator
/// computes, bit for bit.
pub fn arithmetic(program: &Program) -> String {
    let factor = fast::factor(program);
    let mut text: String =
        OperandForm::ALL.iter().map(|kind| format!("#define FACTOR_{} {}\n", kind.name(), *kind as u8)).collect();
    let _ = writeln!(text, "#define FACTOR {}", factor as u8);
    let [a, b] = program.factors();
    let f32 = format::find("f32").expect("f32 is in the format table");
    let to_f32 = ResultTarget { format: f32, rounding: Rounding::Rne, overflow: Overflow::Standard, nan: 0x7fff_ffff };
    for (name, format) in [("FactorA", a), ("FactorB", b)] {
        text += &constants(name, format);
    }
    if factor != OperandForm::Integer {
        let to_addend = ResultTarget { format: program.addend(), ..to_f32 };
        let targets = [("Addend", &to_addend), ("Output", &program.output.target), ("F32", &to_f32)];
        targets.iter().for_each(|(name, target)| text += &record(name, target));
    }
    text += &definitions(program);
    text += VALUE;
    if factor == OperandForm::Integer {
        return text + OPERANDS + INTEGER + "\nMODEL Word model(const Operands& x, Word c) { return integer(x, c); }\n";
    }
    let destinations = Destinations::new(program);
    text += &destinations.text();
    match factor {
        OperandForm::None => text + &general::steps(program, &destinations),
        _ => text + &fast::steps(program, factor, &destinations),
    }
}

/// Returns true if [`arithmetic()`] generates fast steps for the program.
pub fn is_fast(program: &Program) -> bool {
    fast::factor(program) != OperandForm::None
}

/// The distinct destinations of a program, numbered.
struct Destinations(Vec<Destination>);

impl Destinations {
    fn new(program: &Program) -> Destinations {
        let mut all: Vec<Destination> = Vec::new();
        for to in program.operations().filter_map(ElementaryOperation::destination) {
            if !all.contains(to) {
                all.push(*to);
            }
        }
        Destinations(all)
    }

    /// The name of a destination's record.
    fn name(&self, to: &Destination) -> String {
        let number = self.0.iter().position(|other| other == to).expect("a destination of the program");
        format!("To{number}")
    }

    /// The records: targets with the treatment of subnormals and zeros.
    fn text(&self) -> String {
        let one = |(number, to): (usize, &Destination)| {
            let zero = match to.zero {
                ZeroSign::Positive => "ZERO_POSITIVE",
                ZeroSign::Negative => "ZERO_NEGATIVE",
                ZeroSign::Ieee => "ZERO_IEEE",
                ZeroSign::ExactPositive => "ZERO_EXACT_POSITIVE",
                ZeroSign::Common => "ZERO_COMMON",
            };
            let tininess = match to.tininess {
                ResultTininess::Before => "TINY_BEFORE",
                ResultTininess::After => "TINY_AFTER",
                ResultTininess::AfterUnbounded => "TINY_AFTER_UNBOUNDED",
            };
            format!(
                "{}struct To{number} : TargetOf{number} {{\n    static constexpr int SUBNORMALS = {}, TININESS = {tininess}, \
                 ZERO = {zero};\n    static constexpr bool EXACT_OVERFLOW = {};\n}};\n",
                record(&format!("Of{number}"), &to.target),
                subnormals(to.subnormals),
                to.overflow_test == OverflowTest::Exact,
            )
        };
        self.0.iter().enumerate().map(one).collect()
    }
}

/// The record of a target: its format, and its codes beyond the largest number.
pub(super) fn record(name: &str, target: &ResultTarget) -> String {
    let pair = |value: &dyn Fn(bool) -> Real| [false, true].map(|negative| target.round(&value(negative)));
    let beyond = pair(&|negative| Real::Finite(Finite::exact(negative, 1, 50_000)));
    let infinite = pair(&|negative| Real::Infinity { negative });
    let choice = |what: &str, [positive, negative]: [u64; 2]| {
        format!(
            "    static __device__ __forceinline__ unsigned long long {what}(bool negative) {{ return negative ? \
             {negative:#x}ull : {positive:#x}ull; }}\n"
        )
    };
    format!(
        "{}struct Target{name} {{\n    typedef Format{name} Format;\n    static constexpr int ROUNDING = {};\n    \
         static constexpr unsigned long long NAN_CODE = {:#x}ull;\n{}{}}};\n",
        constants(&format!("Format{name}"), target.format),
        direction(target.rounding),
        target.nan,
        choice("beyond", beyond),
        choice("infinite", infinite),
    )
}

/// The kernels' number of a rounding direction.
fn direction(rounding: Rounding) -> usize {
    Rounding::DETERMINISTIC.iter().position(|other| *other == rounding).expect("models name deterministic directions")
}

fn subnormals(subnormals: Subnormals) -> &'static str {
    match subnormals {
        Subnormals::Keep => "KEEP",
        Subnormals::SignedZero => "SIGNED_ZERO",
        Subnormals::PositiveZero => "POSITIVE_ZERO",
    }
}

/// The constants of operands and integers.
fn definitions(program: &Program) -> String {
    let mut text = String::new();
    let mut define = |name: &str, value: i64| {
        let _ = writeln!(text, "#define {name} ({value})");
    };
    let [a, b] = program.factors();
    define("PRODUCT_FRACTION", (a.fraction_bits() + b.fraction_bits()).into());
    define("UNPACKED", program.unpack[0].wider.is_some().into());
    define("C_UNPACKED", program.unpack[2].wider.is_some().into());
    define("FACTOR_LIFT", fast::factor_lift(program).into());
    if let Some(ElementaryOperation::Integer(sum)) = program.operations().next() {
        define("SATURATES", (sum.wrap == Wrap::Saturate).into());
        define("SUM_GROUP", sum.group as i64);
        define("SUM_BITS", sum.bits.into());
        define("GROUP_BITS", sum.group_bits.unwrap_or(0).into());
        define("C_BITS", sum.c_bits.unwrap_or(64).into());
        define("XOR", program.instruction.xor.into());
    }
    let infinite_is_nan = |at: usize| i64::from(program.unpack[at].specials == SpecialOperands::Nan);
    define("INFINITE_OPERAND_IS_NAN", infinite_is_nan(0));
    define("INFINITE_C_IS_NAN", infinite_is_nan(2));
    define("ZERO_TIMES_INFINITY", program.invalid.zero_times_infinity as i64);
    define("OPPOSITE_INFINITIES", program.invalid.opposite_infinities as i64);
    define("ZERO_PRODUCTS_COUNT", program.unpack[0].zeros.into());
    define("ZEROS_COUNT", program.unpack[2].zeros.into());
    if let Some(code) = program.factor_nan {
        let _ = writeln!(text, "#define FACTOR_NAN {code:#x}ull");
    }
    for (name, at) in [("OPERAND_SUBNORMALS", 0), ("C_SUBNORMALS", 2)] {
        let _ = writeln!(text, "#define {name} {}", subnormals(program.unpack[at].subnormals));
    }
    text
}

/// `static int name(int at)`: element `at` of a list.
fn lookup(kind: &str, name: &str, list: &[String]) -> String {
    let list = if list.is_empty() { "0".to_string() } else { list.join(", ") };
    format!(
        "    static __device__ constexpr {kind} {name}(int at) {{\n        constexpr {kind} list[] = {{{list}}};\n        \
         return list[at];\n    }}\n"
    )
}

/// The variable that holds the value of a step.
fn variable(source: &Source) -> String {
    match source {
        Source::C => "c".into(),
        Source::Zero => "zero".into(),
        Source::Value(step) => format!("v{step}"),
        Source::Product(step, at) => format!("p{step}_{at}"),
    }
}
