//! The signs of zeros.

use super::SUBNORMALS;
use crate::{
    arithmetic::{Subnormals, ZeroSign},
    format::{self, Real, Rounding},
    identify::{
        fit::Answered,
        steps::{Overall, Part, Products, Step, SumSteps, Target},
    },
    isa::Instruction,
};

const ZEROS: [Option<ZeroSign>; 4] = [None, Some(ZeroSign::Positive), Some(ZeroSign::Ieee), Some(ZeroSign::Negative)];

/// What may be otherwise.
#[derive(Debug, Clone, Copy)]
struct Sign {
    overall: Overall,
    zero: Option<ZeroSign>,
    /// Whether products are added to +0 before, which leaves no negative zeros of them.
    alone: bool,
}

/// Gives the sums of steps the sign of zero that explains the most cases.
pub(in crate::identify) fn settle_zeros(steps: &mut SumSteps, i: &Instruction, cases: &[Answered]) -> u64 {
    let is_zero = |code: u64| matches!(i.d.value(code), Real::Finite(value) if value.is_zero());
    let zeros: Vec<&Answered> = cases.iter().filter(|(_, answer)| is_zero(*answer)).collect();
    let mut taken = 0;
    let mut missed = |steps: &SumSteps| {
        let Some(program) = steps.written(i) else { return usize::MAX };
        taken += zeros.len() as u64;
        zeros.iter().filter(|(case, answer)| program.dot(case) != *answer).count()
    };
    let mut least = missed(steps);
    let all: Vec<usize> = (0..steps.steps.len()).collect();
    // What is flushed has a sign, too.
    let flushes = |now: Subnormals| if now == Subnormals::Keep { &SUBNORMALS[..1] } else { &SUBNORMALS[1..] };
    let now = steps.overall;
    let mut tried: Vec<(Sign, Vec<usize>)> = vec![];
    for operands in flushes(now.operands) {
        for results in flushes(now.results) {
            let overall = Overall { operands: *operands, results: *results, ..now };
            for alone in [false, true] {
                tried.extend(ZEROS.map(|zero| (Sign { overall, zero, alone }, all.clone())));
            }
        }
    }
    let each = all.iter().filter(|_| all.len() > 1);
    let each: Vec<usize> = each.copied().collect();
    for round in 0..2 {
        if round > 0 {
            tried = Vec::new();
        }
        for number in &each {
            for alone in [false, true] {
                let overall = steps.overall;
                tried.extend(ZEROS.map(|zero| (Sign { overall, zero, alone }, vec![*number])));
            }
        }
        let before = least;
        for (sign, numbers) in &tried {
            if least == 0 {
                break;
            }
            let mut other = steps.clone();
            // What was found of the flushes of all holds for each.
            if numbers.len() == all.len() {
                other.overall = sign.overall;
            }
            numbers.iter().for_each(|number| apply(&mut other.steps[*number], *sign, i));
            if other == *steps {
                continue;
            }
            let count = missed(&other);
            if count < least {
                (least, *steps) = (count, other);
            }
        }
        if least == 0 || least == before {
            break;
        }
    }
    taken
}

/// Gives zeros of a step these signs.
fn apply(step: &mut Step, Sign { zero, alone, .. }: Sign, i: &Instruction) {
    let own = &mut step.own;
    own.zero = zero;
    let adds_product =
        own.cut.is_none() && own.late.is_none() && step.parts.iter().any(|part| Part::product(part).is_some());
    // Nothing is lost in a wider format, if there is one.
    let wide = || match format::find("f64") {
        Ok(format) if i.d != format => Target::new(format, Rounding::Rne),
        _ => own.target,
    };
    own.products = match (own.products, alone) {
        (Products::Exact, true) if adds_product => Products::Alone(None, Some(wide())),
        (Products::Rounded(target), true) if adds_product => Products::Alone(None, Some(target)),
        (Products::Alone(None, Some(target)), false) => Products::Rounded(target),
        (products, _) => products,
    };
}
