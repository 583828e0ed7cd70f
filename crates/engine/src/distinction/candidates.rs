//! Known arithmetics of an instruction's operands: those that the shipped models have.

use std::sync::OnceLock;

use super::{SHAPE, answers::Evaluators, shared::shared};
use crate::{
    arithmetic::{Evaluator, Model, Rule, shipped},
    isa::{self, Instruction},
    rule::equal,
};

/// The model and instruction that a known arithmetic comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArithmeticOrigin {
    /// The shipped model.
    pub model: &'static str,
    /// An instruction with the same operands (k may differ) that has the arithmetic in this model.
    pub instruction: String,
}

/// An arithmetic of an instruction with the same operands, applied to the instruction asked for.
pub struct KnownArithmetic {
    /// Its origins, one for each model: the instruction itself, or the first with this arithmetic.
    pub origins: Vec<ArithmeticOrigin>,
    /// The first model's rule.
    pub(super) rule: Rule,
    pub(super) arithmetic: Evaluators,
}

impl KnownArithmetic {
    /// The rule, of the first of its models.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The evaluator for single outputs.
    pub fn evaluator(&self) -> &Evaluator {
        self.arithmetic.evaluator()
    }
}

/// A shipped model.
pub(super) struct Shipped {
    pub(super) name: &'static str,
    pub(super) model: Model,
}

/// Every shipped model.
pub(super) fn models() -> &'static [Shipped] {
    static MODELS: OnceLock<Vec<Shipped>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let read = |name| Shipped { name, model: Model::load(name).expect("a shipped model is one") };
        shipped().map(read).collect()
    })
}

impl Shipped {
    /// Index of the rule that covers an instruction.
    pub(super) fn rule(&self, i: &Instruction) -> Option<usize> {
        let rule = self.model.rule(i)?;
        self.model.rules.iter().position(|other| std::ptr::eq(other, rule))
    }
}

/// The distinct known arithmetics for the operands of an instruction.
///
/// The rules of every instruction with the same formats count, applied to this k. Arithmetics that are proved equal are listed once.
pub fn candidates(i: &Instruction) -> Vec<KnownArithmetic> {
    let mut candidates: Vec<(KnownArithmetic, String)> = Vec::new();
    let single = Instruction { m: 1, n: 1, ..i.clone() };
    let alike: Vec<&Instruction> = isa::all().iter().filter(|other| shared(i, other).is_ok()).collect();
    for shipped in models() {
        let mut seen = Vec::new();
        // The instruction comes first, so that origins name it where they can.
        let first = alike.iter().copied().filter(|other| other.name == i.name);
        for other in first.chain(alike.iter().copied().filter(|other| other.name != i.name)) {
            let Some(index) = shipped.rule(other).filter(|index| !seen.contains(index)) else { continue };
            seen.push(index);
            let Ok(arithmetic) = Evaluators::of(&shipped.model.rules[index], &single, i.m.min(SHAPE), i.n.min(SHAPE))
            else {
                continue;
            };
            let origin = ArithmeticOrigin { model: shipped.name, instruction: other.name.clone() };
            let text = arithmetic.evaluator().program().to_string();
            let same = |(known, other): &&mut (KnownArithmetic, String)| {
                text == *other || equal([known.evaluator().program(), arithmetic.evaluator().program()]).is_some()
            };
            match candidates.iter_mut().find(same) {
                Some((known, _)) if known.origins.iter().any(|known| known.model == origin.model) => {}
                Some((known, _)) => known.origins.push(origin),
                None => {
                    let rule = shipped.model.rules[index].clone();
                    candidates.push((KnownArithmetic { origins: vec![origin], rule, arithmetic }, text));
                }
            }
        }
    }
    candidates.into_iter().map(|(candidate, _)| candidate).collect()
}
