//! A plan as CUDA C++: the definitions that specialise `kernels/model_*.cuh`, and the function `model`.
//!
//! Most plans of hardware have steps whose sums fit into 64 bits, or chains in f32 and f64: those are fast. The others have
//! the general steps (see `general`), which compute whatever a model file can say.

mod general;

use std::fmt::Write;

use super::constants::constants;
use crate::{
    arithmetic::{CPosition, Fused, Join, Operand, Plan, PlanStep, Start, Subnormals, Wrap, ZeroSign},
    format::{self, Finite, Format, Overflow, Real, Rounding},
    softfloat::Target,
};

const VALUE: &str = include_str!("../../../../kernels/model_value.cuh");
const OPERANDS: &str = include_str!("../../../../kernels/model_operands.cuh");
const FUSED: &str = include_str!("../../../../kernels/model_fused.cuh");
const CHAIN: &str = include_str!("../../../../kernels/model_chain.cuh");
const INTEGER: &str = include_str!("../../../../kernels/model_integer.cuh");

/// The device function `Word model(const Operands&, Word c)` of a plan, with all it needs.
///
/// It goes behind the prelude of the instruction, whose macros and records it uses. Of every plan it is what the
/// evaluator computes, bit for bit.
pub fn arithmetic(plan: &Plan) -> String {
    let factor = factor(plan);
    let kinds = [Factor::Term, Factor::F32, Factor::F64, Factor::Integer, Factor::None];
    let mut text: String =
        kinds.iter().map(|kind| format!("#define FACTOR_{} {}\n", kind.name(), *kind as u8)).collect();
    let _ = writeln!(text, "#define FACTOR {}", factor as u8);
    let [a, b] = plan.factors();
    let f32 = format::find("f32").expect("f32 is in the format table");
    let to_f32 = Target { format: f32, rounding: Rounding::Rne, overflow: Overflow::Standard, nan: 0x7fff_ffff };
    for (name, format) in [("FactorA", a), ("FactorB", b)] {
        text += &constants(name, format);
    }
    let to_addend = Target { format: addend(plan), ..to_f32 };
    let targets = [
        ("Addend", &to_addend),
        ("Result", &plan.result),
        ("Between", &plan.between),
        ("Addition", &plan.addition),
        ("Output", &plan.output),
        ("F32", &to_f32),
    ];
    if factor != Factor::Integer {
        targets.iter().for_each(|(name, target)| text += &record(name, target));
    }
    text += &definitions(plan);
    text += VALUE;
    match factor {
        Factor::Term => text + OPERANDS + FUSED + &driver(plan),
        Factor::F32 | Factor::F64 => text + OPERANDS + CHAIN + &driver(plan),
        Factor::Integer => {
            text + OPERANDS + INTEGER + "\nMODEL Word model(const Operands& x, Word c) { return integer(x, c); }\n"
        }
        Factor::None => text + &general::steps(plan),
    }
}

/// Whether `arithmetic` of a plan has the fast steps.
pub fn is_fast(plan: &Plan) -> bool {
    factor(plan) != Factor::None
}

/// What operands become before the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Factor {
    Term,
    F32,
    F64,
    Integer,
    /// They stay codes: the steps are general.
    None,
}

impl Factor {
    fn name(self) -> &'static str {
        match self {
            Factor::Term => "TERM",
            Factor::F32 => "F32",
            Factor::F64 => "F64",
            Factor::Integer => "INTEGER",
            Factor::None => "NONE",
        }
    }
}

/// The kind of factors of a plan.
fn factor(plan: &Plan) -> Factor {
    let special = plan.instruction.scale.is_some() || plan.product_limit.is_some();
    match &plan.step {
        PlanStep::Integer(_) => Factor::Integer,
        PlanStep::Fma { nan_operands } => chain(plan, nan_operands),
        PlanStep::Fused(fused) if !special && is_narrow(plan, fused) => Factor::Term,
        _ => Factor::None,
    }
}

/// A chain of fused multiply-adds that f32 or f64 has instructions for.
fn chain(plan: &Plan, nan_operands: &[Operand]) -> Factor {
    let keeps = plan.operand_subnormals == Subnormals::Keep && plan.result_subnormals == Subnormals::Keep;
    // NaNs that are handed on are not converted, so nothing else may be.
    let converts = nan_operands.is_empty() || plan.output.overflow == Overflow::Standard;
    let binary = |rounding| matches!(rounding, Rounding::Rne | Rounding::Rz | Rounding::Ru | Rounding::Rd);
    let results = [&plan.result, &plan.between];
    let [a, b] = plan.factors();
    let fits = |name: &str| {
        let format = format::find(name).expect("the format table has f32 and f64");
        keeps
            && converts
            && results.iter().all(|t| t.format == format && binary(t.rounding) && t.overflow == Overflow::Standard)
            && [a, b, addend(plan)].iter().all(|operand| format.holds(operand))
    };
    let i = &plan.instruction;
    let wide = [i.a, i.b, i.c, i.d, plan.addition.format].iter().all(|format| format.name == "f64");
    let single = plan.join == Join::Chain && plan.c == CPosition::First;
    if wide && single && fits("f64") {
        return Factor::F64;
    }
    if fits("f32") && [plan.addition.format, plan.output.format].into_iter().all(is_small) {
        return Factor::F32;
    }
    Factor::None
}

/// Whether the terms and sums of a fused step fit into 64 bits, and nothing but c and the products is in it.
fn is_narrow(plan: &Plan, fused: &Fused) -> bool {
    let Fused { alignment: Some(alignment), product: None, lanes: None, late: None, scale_sums: None, zero, .. } =
        fused
    else {
        return false;
    };
    let [a, b] = plan.factors();
    let results = [plan.result.format, plan.between.format, plan.addition.format, plan.output.format];
    *zero != ZeroSign::Ieee
        && matches!(alignment.bits, 0..=50)
        // The kernel's own marks are beyond.
        && alignment.floor.is_none_or(|floor| floor.abs() < 4000)
        && [a, b, plan.instruction.c, addend(plan)].into_iter().chain(results).all(is_small)
        && plan.groups.iter().all(|group| term_bits(plan, alignment.bits) + ceil_log2(group.len() + 1) < 62)
}

/// Whether the kernel's fast steps take numbers of the format.
fn is_small(format: &Format) -> bool {
    format.fraction_bits() < 24
}

/// The format of C after unpacking.
fn addend(plan: &Plan) -> &'static Format {
    plan.unpack_c.unwrap_or(plan.instruction.c)
}

/// Bits of an aligned product.
fn term_bits(plan: &Plan, alignment: i32) -> i32 {
    let [a, b] = plan.factors();
    let fraction = (a.fraction_bits() + b.fraction_bits()) as i32;
    fraction + 2 + (alignment - fraction).max(0)
}

fn ceil_log2(count: usize) -> i32 {
    count.next_power_of_two().trailing_zeros() as i32
}

/// The format of a target and its codes beyond the largest number.
pub(super) fn record(name: &str, target: &Target) -> String {
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

/// The number of a rounding direction in the kernels.
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

/// The constants of the steps.
fn definitions(plan: &Plan) -> String {
    let mut text = String::new();
    let mut define = |name: &str, value: i64| {
        let _ = writeln!(text, "#define {name} ({value})");
    };
    let [a, b] = plan.factors();
    let fraction = (a.fraction_bits() + b.fraction_bits()) as i32;
    define("PRODUCT_FRACTION", fraction.into());
    define("UNPACKED", plan.unpack.is_some().into());
    define("START_PRODUCT", (plan.start == Start::Product).into());
    if let PlanStep::Fused(fused) = &plan.step
        && let Some(alignment) = fused.alignment
    {
        let lift = (alignment.bits - fraction).max(0);
        let factor_lift = lift.min(30 - a.fraction_bits() as i32 - 1);
        define("ALIGNMENT_BITS", alignment.bits.into());
        define("ALIGNMENT_ROUNDING", direction(alignment.rounding) as i64);
        define("FLOOR", alignment.floor.unwrap_or(-20_000).into());
        define("FACTOR_LIFT", factor_lift.into());
        define("PRODUCT_LIFT", (lift - factor_lift).into());
        define("TERM_DROP", (fraction - alignment.bits).max(0).into());
        define("TERM_BITS", term_bits(plan, alignment.bits).into());
        define("NORMALISED", fused.normalised.into());
        define("NEGATIVE_ZERO_RESULT", (fused.zero == ZeroSign::Negative).into());
    }
    if let PlanStep::Integer(wrap) = plan.step {
        define("SATURATES", (wrap == Wrap::Saturate).into());
    }
    let order = match &plan.step {
        PlanStep::Fma { nan_operands } => nan_operands.as_slice(),
        _ => &[],
    };
    define("NAN_OPERANDS", order.len() as i64);
    let order = order.iter().map(|operand| match operand {
        Operand::A => "0",
        Operand::B => "1",
        Operand::C => "2",
    });
    let _ = writeln!(text, "#define OPERAND_SUBNORMALS {}", subnormals(plan.operand_subnormals));
    let _ = writeln!(text, "#define RESULT_SUBNORMALS {}", subnormals(plan.result_subnormals));
    text + &lookup("nan_operand", order.collect::<Vec<_>>().join(", ")) + &groups(plan)
}

/// `int name(int at)`: element `at` of a list.
fn lookup(name: &str, list: String) -> String {
    let list = if list.is_empty() { "0".to_string() } else { list };
    format!(
        "__device__ constexpr int {name}(int at) {{\n    constexpr int list[] = {{{list}}};\n    return list[at];\n}}\n"
    )
}

/// `group_length(group)` and `group_index(group, at)`.
fn groups(plan: &Plan) -> String {
    let list = |values: Vec<usize>| values.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let starts = plan.groups.iter().scan(0, |next, group| {
        *next += group.len();
        Some(*next - group.len())
    });
    lookup("group_length", list(plan.groups.iter().map(Vec::len).collect()))
        + &lookup("group_start", list(starts.collect()))
        + &lookup("all_groups", list(plan.groups.concat()))
        + "__device__ constexpr int group_index(int group, int at) { return all_groups(group_start(group) + at); }\n"
}

/// The function `model`: the groups in order, the additions between them, and the conversion to D.
fn driver(plan: &Plan) -> String {
    let mut text = String::from("\n// The code of D.\nMODEL Word model(const Operands& x, Word c) {\n");
    let zero = addend(plan).zero(false).unwrap_or(0);
    // The code that is held, and the format and treatment of subnormal numbers that it has.
    let c = match plan.unpack_c {
        None => ("c".to_string(), "FormatC", "OPERAND_SUBNORMALS"),
        Some(_) => {
            text += "    const Word addend = convert<FormatC, OPERAND_SUBNORMALS, TargetAddend>(c);\n";
            ("addend".to_string(), "FormatAddend", "KEEP")
        }
    };
    let nothing = (format!("{zero:#x}"), c.1, "KEEP");
    let result = |code: String, target: &'static str| (code, target, "RESULT_SUBNORMALS");
    let first = if plan.c == CPosition::First { c.clone() } else { nothing.clone() };
    let mut total = (plan.join == Join::Add && plan.c == CPosition::First).then(|| c.clone());
    for number in 0..plan.groups.len() {
        let last = number + 1 == plan.groups.len() || plan.join == Join::Add;
        let target = if last { "Result" } else { "Between" };
        let format = if last { "FormatResult" } else { "FormatBetween" };
        let (from, of, treatment) = match plan.join {
            Join::Chain => total.clone().unwrap_or_else(|| first.clone()),
            Join::Add => nothing.clone(),
        };
        let call = match plan.step {
            PlanStep::Fused(_) => format!("fused<{number}, {of}, {treatment}, Target{target}>(x, {from})"),
            _ => format!("chain<{number}, {of}, Target{target}>(x, {from})"),
        };
        let _ = writeln!(text, "    const Word sum{number} = {call};");
        let sum = result(format!("sum{number}"), format);
        total = Some(match (total, plan.join) {
            (Some(previous), Join::Add) => added(&mut text, &format!("total{number}"), &previous, &sum),
            _ => sum,
        });
    }
    let mut total = total.unwrap_or(first);
    if plan.c == CPosition::Last {
        total = added(&mut text, "with_c", &total, &c);
    }
    let (code, format, treatment) = total;
    let canonical = !matches!(&plan.step, PlanStep::Fma { nan_operands } if !nan_operands.is_empty());
    let _ = match canonical {
        true => writeln!(text, "    return convert<{format}, {treatment}, TargetOutput>({code});\n}}"),
        false => writeln!(text, "    return quiet<{format}>({code});\n}}"),
    };
    text
}

type Held = (String, &'static str, &'static str);

/// An ordinary addition, as a statement; what it holds.
fn added(text: &mut String, name: &str, x: &Held, y: &Held) -> Held {
    let (x_code, x_format, x_treatment) = x;
    let (y_code, y_format, y_treatment) = y;
    let _ = writeln!(
        text,
        "    const Word {name} = add<{x_format}, {x_treatment}, {y_format}, {y_treatment}, TargetAddition>({x_code}, {y_code});"
    );
    (name.to_string(), "FormatAddition", "RESULT_SUBNORMALS")
}
