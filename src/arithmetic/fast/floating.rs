//! Floating-point arithmetic compiled for many elements of D at a time: groups, and how their results come together.

use super::{
    chain::{Chain, Order, tree},
    decoder::{Decoder, numbers},
    encoder::{Encoder, encode},
    fused::Sum,
    number::{COUNT, INFINITY, MINUS_INFINITY, NAN, Number, UNKNOWN},
    pieces::Pieces,
    scale::Scales,
    stage::{Last, Stage},
    step::{FusedStep, sums},
    terms::Stored,
    word::{Batch, over, set_piece},
};
use crate::{
    arithmetic::{CPosition, Fused, Join, Plan, PlanStep, Subnormals, ZeroSign},
    softfloat::Target,
};

/// The floating-point arithmetic of one instruction.
#[derive(Debug, Clone)]
pub(super) struct Floating {
    c: Decoder,
    /// The ends of the groups in the order of the factors.
    ends: Vec<usize>,
    step: Step,
    /// Products of magnitude 2^this or more are infinite.
    limit: Option<i32>,
    join: Join,
    c_position: CPosition,
    result: Stage,
    between: Stage,
    addition: Stage,
    output: Encoder,
    /// Whether a NaN operand becomes the result.
    hands_nan_on: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Fused(FusedStep),
    Chain(Chain),
}

/// Codes of D, and which of them are unknown.
pub(super) struct Outcome {
    pub(super) codes: Batch<u32>,
    /// Bits, among them [`UNKNOWN`].
    pub(super) special: Batch<u32>,
}

/// Storage for the terms of a group.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    stored: Stored,
    stack: Vec<Number>,
}

impl Floating {
    /// `None` if the plan needs what the fast evaluator does not have.
    pub(super) fn new(plan: &Plan, factors: [&Decoder; 2], scales: Option<&Scales>) -> Option<Floating> {
        let c = Decoder::new(plan.instruction.c, plan.operand_subnormals, plan.unpack_c)?;
        let stage = |target: &Target| Stage::new(target, plan.result_subnormals, &plan.output);
        let (mut result, mut between) = (stage(&plan.result)?, stage(&plan.between)?);
        let end = |end: &mut usize, group: &Vec<usize>| {
            *end += group.len();
            Some(*end)
        };
        let step = match &plan.step {
            PlanStep::Fused(fused) => {
                result = result.signing_zeros(fused.zero);
                between = between.signing_zeros(fused.zero);
                Step::Fused(fused_step(fused, plan, factors, [&c, &between.decoder], scales)?)
            }
            _ => Step::Chain(chain(plan, factors.iter().map(|factor| factor.fraction_bits as i32).sum())?),
        };
        Some(Floating {
            ends: plan.groups.iter().scan(0, end).collect(),
            step,
            limit: plan.product_limit,
            join: plan.join,
            c_position: plan.c,
            result,
            between,
            addition: stage(&plan.addition)?,
            output: Encoder::new(&plan.output, Subnormals::Keep)?,
            hands_nan_on: matches!(&plan.step, PlanStep::Fma { nan_operands } if !nan_operands.is_empty()),
            c,
        })
    }

    /// Bits by which the significands of A are to be shifted left.
    pub(super) fn lifted(&self) -> u32 {
        match &self.step {
            Step::Fused(step) => step.sum.lifted as u32,
            Step::Chain(_) => 0,
        }
    }

    /// D for some pieces, with the elements of C.
    pub(super) fn run(&self, pieces: &Pieces, c: &Batch<u32>, workspace: &mut Workspace) -> Outcome {
        let c = numbers(&self.c, c);
        let chained = self.join == Join::Chain;
        let c_first = self.c_position == CPosition::First;
        let mut total = if c_first { c.clone() } else { Number::ZERO };
        let mut last = Last::Held;
        let mut begin = 0;
        for (number, &end) in self.ends.iter().enumerate() {
            if number > 0 {
                total = last.hold(&total);
            }
            let from = if chained { &total } else { &Number::ZERO };
            let pieces = Pieces { group: (begin, end), ..*pieces };
            let (mut sum, mut next) = self.group(number, &pieces, from, workspace);
            if let Some(limit) = self.limit {
                // Products are below 2^(e + 2).
                let beyond = |e| if e >= limit.saturating_sub(2) { UNKNOWN } else { 0 };
                let mut special = [0; COUNT];
                for at in 0..pieces.count {
                    set_piece(&mut special, at, &over(&pieces.factors(at).largest(), beyond));
                }
                sum.add_special(&special);
            }
            if !chained && (number > 0 || c_first) {
                sum = self.addition.sum(&total, &next.hold(&sum));
                next = Last::Unrounded(&self.addition);
            }
            (total, last, begin) = (sum, next, end);
        }
        if !c_first {
            total = self.addition.sum(&last.hold(&total), &c);
            last = Last::Unrounded(&self.addition);
        }
        self.finish(&total, last)
    }

    /// The sum of a group, and what is still to be done to it.
    fn group(&self, number: usize, pieces: &Pieces, from: &Number, workspace: &mut Workspace) -> (Number, Last<'_>) {
        let chained = self.join == Join::Chain;
        let stage = if number + 1 == self.ends.len() || !chained { &self.result } else { &self.between };
        match &self.step {
            Step::Fused(step) => {
                let operand = if number == 0 || !chained { &self.c } else { &self.between.decoder };
                let sum = sums(step, pieces, from, operand.fraction_bits, stage.rounding, &mut workspace.stored);
                (sum, Last::Unrounded(stage))
            }
            Step::Chain(chain) => chain.run(number, pieces, from, stage, &mut workspace.stack),
        }
    }

    /// The conversion of the last value to D.
    fn finish(&self, total: &Number, last: Last) -> Outcome {
        if let Last::Unrounded(Stage { last: Some(encoder), .. }) = last {
            return Outcome { codes: encode(encoder, total), special: self.known(total) };
        }
        let held = last.hold(total);
        Outcome { codes: encode(&self.output, &held), special: self.known(&held) }
    }

    /// What is not finite of the last value; a NaN is unknown where it would be handed on.
    fn known(&self, total: &Number) -> Batch<u32> {
        let mut special = total.special;
        if self.hands_nan_on {
            for special in &mut special {
                let infinities = INFINITY | MINUS_INFINITY;
                let nan = (*special & NAN != 0) | (*special & infinities == infinities);
                *special |= if nan { UNKNOWN } else { 0 };
            }
        }
        special
    }
}

/// The fused step of a plan, for these factors and addends.
fn fused_step(
    fused: &Fused,
    plan: &Plan,
    factors: [&Decoder; 2],
    addends: [&Decoder; 2],
    scales: Option<&Scales>,
) -> Option<FusedStep> {
    let exact_bits = factors.iter().map(|factor| factor.fraction_bits as i32).sum();
    let (mut fraction_bits, mut term_bits) = (exact_bits, factors.iter().map(|factor| factor.precision).sum());
    let product = match &fused.product {
        Some(target) => Some(Stage::new(target, Subnormals::Keep, &plan.output)?),
        None => None,
    };
    // Rounding takes small products, and infinities that it saturates, to a limit that their factors do not tell.
    if product.is_some() && plan.product_limit.is_some() {
        return None;
    }
    if let Some(stage) = &product {
        (fraction_bits, term_bits) = (stage.decoder.fraction_bits as i32, stage.decoder.precision);
    }
    if let Some(scales) = scales {
        if product.is_some() || plan.product_limit.is_some() {
            return None;
        }
        (fraction_bits, term_bits) = scales.terms(fraction_bits, term_bits)?;
    }
    // The exponents of exact sums are those of their scales.
    let normalised = (fused.normalised && fused.scale_sums.is_none()).then_some(fraction_bits);
    if normalised.is_some() {
        fraction_bits = term_bits as i32 - 1;
    }
    let terms = plan.groups.iter().map(Vec::len).max().unwrap_or(0);
    let sum = Sum {
        alignment: fused.alignment,
        lanes: fused.lanes.clone(),
        late: fused.late,
        fraction_bits,
        lifted: 0,
        term_bits,
        terms,
    };
    let mut step = FusedStep {
        width: sum.width(addends)?,
        sum,
        fraction_bits: exact_bits,
        product,
        normalised,
        runs: scales.filter(|scales| scales.run > 0).cloned(),
        ieee: fused.zero == ZeroSign::Ieee,
    };
    if let Some(alignment) = fused.alignment.filter(|_| step.is_simple()) {
        let bits = factors[0].precision + scales.map_or(0, Scales::factor_bits);
        step.sum.lifted = (alignment.bits - fraction_bits).clamp(0, 31 - bits as i32);
        step.sum.term_bits += step.sum.lifted as u32;
    }
    Some(step)
}

/// The chain of roundings of a plan whose exact products have these bits after the binary point.
fn chain(plan: &Plan, fraction_bits: i32) -> Option<Chain> {
    let (order, product) = match &plan.step {
        PlanStep::Fma { nan_operands } => {
            // A NaN of an overflow has a code of its own.
            let targets = [&plan.result, &plan.between, &plan.addition];
            if !nan_operands.is_empty() && targets.iter().any(|target| Stage::makes_nan(target)) {
                return None;
            }
            (Order::Fma, &None)
        }
        PlanStep::Sequential { product } => (Order::Sequential, product),
        PlanStep::Pairwise { product } => {
            (Order::Pairwise(plan.groups.iter().map(|group| tree(group.len())).collect()), product)
        }
        PlanStep::Fused(_) | PlanStep::Integer(_) => return None,
    };
    let product = match product {
        Some(target) => Some(Stage::new(target, plan.result_subnormals, &plan.output)?),
        None => None,
    };
    Some(Chain { order, start: plan.start, fraction_bits, product })
}
