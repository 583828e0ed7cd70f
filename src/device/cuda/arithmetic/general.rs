//! Plans that the fast steps do not cover: their definitions and the function `model` over the general steps, which hold
//! values of 128 bits.

use std::fmt::Write;

use super::{OPERANDS, addend, direction, record};
use crate::{
    arithmetic::{CPosition, Fused, Join, Plan, PlanStep, ZeroSign},
    format::Format,
    softfloat::Target,
};

const WIDE: &str = include_str!("../../../../kernels/model_wide.cuh");
const TERMS: &str = include_str!("../../../../kernels/model_terms.cuh");
const ACCUMULATOR: &str = include_str!("../../../../kernels/model_accumulator.cuh");
const SUM: &str = include_str!("../../../../kernels/model_sum.cuh");
const SCALAR: &str = include_str!("../../../../kernels/model_scalar.cuh");

/// More than any exponent of a term.
const FAR: i32 = 1 << 20;

/// What comes behind the records, the common definitions and `model_value.cuh`.
pub(super) fn steps(plan: &Plan) -> String {
    let mut text = String::new();
    let product = match &plan.step {
        PlanStep::Fused(fused) => &fused.product,
        PlanStep::Sequential { product } | PlanStep::Pairwise { product } => product,
        _ => &None,
    };
    if let Some(product) = product {
        text += &record("Product", product);
    }
    let mut define = |name: &str, value: i32| {
        let _ = writeln!(text, "#define {name} ({value})");
    };
    define("PRODUCT_ROUNDED", product.is_some().into());
    define("HAS_PRODUCT_LIMIT", plan.product_limit.is_some().into());
    define("PRODUCT_LIMIT", plan.product_limit.unwrap_or(FAR));
    define("C_UNPACKED", plan.unpack_c.is_some().into());
    let parts = match &plan.step {
        PlanStep::Fused(fused) => {
            sum_definitions(plan, fused, &mut define);
            [OPERANDS, WIDE, TERMS, ACCUMULATOR, SUM]
        }
        _ => [OPERANDS, WIDE, TERMS, SCALAR, ""],
    };
    parts.iter().for_each(|part| text += part);
    text + &driver(plan)
}

/// The constants of `model_sum.cuh`.
fn sum_definitions(plan: &Plan, fused: &Fused, define: &mut impl FnMut(&str, i32)) {
    let [a, b] = plan.factors();
    let lanes = fused.lanes.as_ref();
    let late = fused.late.as_ref();
    define("EXACT", fused.alignment.is_none().into());
    if fused.alignment.is_none() {
        // Those of a fused step are with the common definitions.
        define("NORMALISED", fused.normalised.into());
        define("ALIGNMENT_BITS", 0);
        define("ALIGNMENT_ROUNDING", 0);
        define("FLOOR", -FAR);
    }
    define("HAS_LANES", lanes.is_some().into());
    define("LANES", lanes.map_or(1, |lanes| lanes.period as i32));
    define("LANE_BITS", lanes.map_or(0, |lanes| lanes.bits));
    define("LANE_ROUNDING", lanes.map_or(0, |lanes| direction(lanes.rounding) as i32));
    define("HAS_LATE", late.is_some().into());
    define("LATE_SUM_BITS", late.map_or(0, |late| late.sum_bits));
    define("LATE_C_BITS", late.map_or(0, |late| late.c_bits));
    define("LATE_ROUNDING", late.map_or(0, |late| direction(late.rounding) as i32));
    define("LATE_DROP", late.and_then(|late| late.drop).unwrap_or(FAR));
    define("LATE_FLOOR", late.and_then(|late| late.floor).unwrap_or(-FAR));
    define("SCALE_SUMS", fused.scale_sums.map_or(0, |sums| sums as i32));
    define("PRODUCT_QUANTUM", quantum(a) + quantum(b));
    define("ZERO_NEGATIVE", 1);
    define("ZERO_IEEE", 2);
    let zero = match fused.zero {
        ZeroSign::Positive => 0,
        ZeroSign::Negative => 1,
        ZeroSign::Ieee => 2,
    };
    define("ZERO_SIGN", zero);
    let (low, limbs) = accumulator(plan, fused);
    define("ACCUMULATOR_LOW", low);
    define("ACCUMULATOR_LIMBS", limbs);
}

/// Exponent of the last bit of the smallest number.
fn quantum(format: &Format) -> i32 {
    format.float().map_or(0, |float| float.emin() - float.trailing_bits as i32)
}

/// The weight of the last bit of an exact sum, and its words of 64 bits.
fn accumulator(plan: &Plan, fused: &Fused) -> (i32, i32) {
    let top = |format: &Format| format.float().map_or(0, |float| float.emax() + 1);
    let [a, b] = plan.factors();
    let scale = plan.instruction.scale.map_or((0, 0), |scale| (2 * quantum(scale.format), 2 * top(scale.format)));
    let exact = (quantum(a) + quantum(b) + scale.0, top(a) + top(b) + scale.1);
    let rounded = |to: &Target| (quantum(to.format) + scale.0, top(to.format) + scale.1);
    let product = fused.product.as_ref().filter(|_| fused.scale_sums.is_none()).map_or(exact, rounded);
    let held = [plan.instruction.c, addend(plan), plan.result.format, plan.between.format];
    let low = held.iter().map(|format| quantum(format)).fold(product.0, i32::min);
    let high = held.iter().map(|format| top(format)).fold(product.1, i32::max);
    // 16 bits for the sign and for carries: there are fewer than 2^15 terms.
    (low, (high + 16 - low) / 64 + 1)
}

/// The function `model`: the groups in order, the additions between them, and the conversion to D.
fn driver(plan: &Plan) -> String {
    let step = match plan.step {
        PlanStep::Fused(_) => "sum_step",
        PlanStep::Fma { .. } => "fma_chain",
        PlanStep::Sequential { .. } => "sequential",
        PlanStep::Pairwise { .. } => "pairwise",
        PlanStep::Integer(_) => unreachable!("integers have their own steps"),
    };
    let mut text = String::from(
        "\n// The code of D.\nMODEL Word model(const Operands& x, Word code) {\n    const Held c = c_held(code), zero = \
         finite(0, 0);\n",
    );
    let first = if plan.c == CPosition::First { "c" } else { "zero" };
    let mut total = (plan.join == Join::Add && plan.c == CPosition::First).then(|| "c".to_string());
    for number in 0..plan.groups.len() {
        let last = number + 1 == plan.groups.len() || plan.join == Join::Add;
        let target = if last { "TargetResult" } else { "TargetBetween" };
        let from = match plan.join {
            Join::Chain => total.as_deref().unwrap_or(first),
            Join::Add => "zero",
        };
        let _ = writeln!(text, "    const Held sum{number} = {step}<{number}, {target}>(x, {from});");
        total = Some(match total {
            Some(previous) if plan.join == Join::Add => {
                let _ =
                    writeln!(text, "    const Held total{number} = add_held<TargetAddition>({previous}, sum{number});");
                format!("total{number}")
            }
            _ => format!("sum{number}"),
        });
    }
    let mut total = total.unwrap_or_else(|| first.to_string());
    if plan.c == CPosition::Last {
        let _ = writeln!(text, "    const Held with_c = add_held<TargetAddition>({total}, c);");
        total = "with_c".into();
    }
    if matches!(&plan.step, PlanStep::Fma { nan_operands } if !nan_operands.is_empty()) {
        let _ = writeln!(text, "    if ({total}.kind == NOT_A_NUMBER) return quiet_nan<FormatResult>({total});");
    }
    text + &format!("    return round_held<TargetOutput>({total});\n}}\n")
}
