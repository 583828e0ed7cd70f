//! The known arithmetics that an instruction may have: all that shipped models have for its operands.

use std::sync::OnceLock;

use toml::{Table, Value};

use super::{SHAPE, answers::Arithmetic, shared::shared};
use crate::{
    arithmetic::{Evaluator, Model, shipped},
    isa::{self, Instruction},
    power::equal,
};

/// Where a known arithmetic comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The shipped model.
    pub model: &'static str,
    /// An instruction with the same operands (k may be another) that has it there.
    pub instruction: String,
}

/// An arithmetic that is known of some instruction with the same operands, here of this one.
pub struct Candidate {
    /// Where it is known from: of each model the instruction itself, if it has it, else the first that has.
    pub origins: Vec<Origin>,
    /// The rule, as the first model writes it.
    pub(super) table: Table,
    pub(super) arithmetic: Arithmetic,
}

impl Candidate {
    /// What computes single outputs of it.
    pub fn evaluator(&self) -> &Evaluator {
        self.arithmetic.evaluator()
    }
}

/// A shipped model, and its rules as it writes them.
pub(super) struct Shipped {
    pub(super) name: &'static str,
    pub(super) model: Model,
    pub(super) tables: Vec<Table>,
}

/// Every shipped model.
pub(super) fn models() -> &'static [Shipped] {
    static MODELS: OnceLock<Vec<Shipped>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let read = |name| {
            let model = Model::load(name).expect("a shipped model is one");
            let file: Table = toml::from_str(model.text()).expect("a model file is TOML");
            let rules = file.get("rule").and_then(Value::as_array).expect("a model has rules");
            let tables = rules.iter().filter_map(Value::as_table).cloned().collect();
            Shipped { name, model, tables }
        };
        shipped().map(read).collect()
    })
}

impl Shipped {
    /// The number of the rule that covers an instruction.
    pub(super) fn rule(&self, i: &Instruction) -> Option<usize> {
        let rule = self.model.rule(i)?;
        self.model.rules.iter().position(|other| std::ptr::eq(other, rule))
    }
}

/// The distinct known arithmetics of the operands of an instruction: of it, and of every instruction with the same formats, as they are
/// for its k. Those that are proved to be the same are one.
pub fn candidates(i: &Instruction) -> Vec<Candidate> {
    let mut found: Vec<(Candidate, String)> = Vec::new();
    let own = Instruction { m: 1, n: 1, ..i.clone() };
    let alike: Vec<&Instruction> = isa::all().iter().filter(|other| shared(i, other).is_ok()).collect();
    for shipped in models() {
        let mut seen = Vec::new();
        // The instruction itself names its arithmetic before others do.
        let first = alike.iter().copied().filter(|other| other.name == i.name);
        for other in first.chain(alike.iter().copied().filter(|other| other.name != i.name)) {
            let Some(index) = shipped.rule(other).filter(|index| !seen.contains(index)) else { continue };
            seen.push(index);
            let Ok(arithmetic) = Arithmetic::of(&shipped.model.rules[index], &own, i.m.min(SHAPE), i.n.min(SHAPE))
            else {
                continue;
            };
            let origin = Origin { model: shipped.name, instruction: other.name.clone() };
            let text = arithmetic.evaluator().program().to_string();
            let same = |(known, other): &&mut (Candidate, String)| {
                text == *other || equal([known.evaluator().program(), arithmetic.evaluator().program()]).is_some()
            };
            match found.iter_mut().find(same) {
                Some((known, _)) if known.origins.iter().any(|known| known.model == origin.model) => {}
                Some((known, _)) => known.origins.push(origin),
                None => {
                    let table = shipped.tables[index].clone();
                    found.push((Candidate { origins: vec![origin], table, arithmetic }, text));
                }
            }
        }
    }
    found.into_iter().map(|(candidate, _)| candidate).collect()
}
