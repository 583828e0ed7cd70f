//! The signs of zeros.

use super::SUBNORMALS;
use crate::{
    arithmetic::{ResultTininess, Subnormals, ZeroSign},
    base::interrupt,
    format::{self, Real, Rounding},
    identify::{
        fit::Answered,
        steps::{Overall, Products, Step, SumSteps, Target},
    },
    isa::Instruction,
};

const ZEROS: [Option<ZeroSign>; 5] =
    [None, Some(ZeroSign::Positive), Some(ZeroSign::Ieee), Some(ZeroSign::ExactPositive), Some(ZeroSign::Negative)];

/// What may be otherwise.
#[derive(Debug, Clone, Copy)]
struct Sign {
    overall: Overall,
    zero: Option<ZeroSign>,
    /// Whether products are rounded by themselves before, which leaves no negative zeros of them, or none but those of tiny ones.
    before: Before,
}

/// What products go through before they are added.
#[derive(Debug, Clone, Copy)]
enum Before {
    Nothing,
    Sum,
    Addition,
}

const BEFORE: [Before; 3] = [Before::Nothing, Before::Addition, Before::Sum];

/// Gives the sums of steps the sign of zero that explains the most cases.
pub(in crate::identify) fn settle_zeros(steps: &mut SumSteps, i: &Instruction, cases: &[Answered]) -> u64 {
    let is_zero = |code: u64| matches!(i.d.value(code), Real::Finite(value) if value.is_zero());
    let zeros: Vec<&Answered> = cases.iter().filter(|(_, answer)| is_zero(*answer)).collect();
    let others: Vec<&Answered> = cases.iter().filter(|(_, answer)| !is_zero(*answer)).collect();
    let mut taken = 0;
    let mut missed = |steps: &SumSteps, cases: &[&Answered]| {
        let going_on = interrupt::pending().is_none();
        let Some(program) = steps.written(i).filter(|_| going_on) else { return usize::MAX };
        taken += cases.len() as u64;
        cases.iter().filter(|(case, answer)| program.dot(case) != *answer).count()
    };
    let mut least = missed(steps, &zeros);
    let all: Vec<usize> = (0..steps.steps.len()).collect();
    // What is flushed has a sign, too.
    let flushes = |now: Subnormals| if now == Subnormals::Keep { &SUBNORMALS[..1] } else { &SUBNORMALS[1..] };
    let now = steps.overall;
    let mut tried: Vec<(Sign, Vec<usize>)> = vec![];
    // Whether a result that rounds to zero is flushed shows in its sign alone.
    let another = |own: &ResultTininess| now.results != Subnormals::Keep && *own != now.tininess;
    for tininess in [now.tininess].into_iter().chain(ResultTininess::ALL.iter().copied().filter(another)) {
        for operands in flushes(now.operands) {
            for results in flushes(now.results) {
                let overall = Overall { operands: *operands, results: *results, tininess, ..now };
                for before in BEFORE {
                    tried.extend(ZEROS.map(|zero| (Sign { overall, zero, before }, all.clone())));
                }
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
            for before in BEFORE {
                let overall = steps.overall;
                tried.extend(ZEROS.map(|zero| (Sign { overall, zero, before }, vec![*number])));
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
            let count = missed(&other, &zeros);
            let same = other.overall.tininess == steps.overall.tininess;
            if count < least && (same || missed(&other, &others) <= missed(steps, &others)) {
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
fn apply(step: &mut Step, Sign { zero, before, .. }: Sign, i: &Instruction) {
    let has_products = step.parts.iter().any(|part| part.product().is_some());
    let own = &mut step.own;
    own.zero = zero;
    if own.cut.is_some() || own.late.is_some() || !has_products {
        return;
    }
    // Nothing is lost in a wider format, if there is one.
    let target = match (own.products, format::find("f64")) {
        (Products::Rounded(target) | Products::Added(target) | Products::Alone(None, Some(target)), _) => target,
        (Products::Exact, Ok(format)) if i.d != format => Target::new(format, Rounding::Rne),
        (Products::Exact, _) => own.target,
        _ => return,
    };
    own.products = match before {
        Before::Addition => Products::Added(target),
        Before::Sum => Products::Alone(None, Some(target)),
        Before::Nothing if own.products == Products::Exact => Products::Exact,
        Before::Nothing => Products::Rounded(target),
    };
}
