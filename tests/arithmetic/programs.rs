//! The programs of the shipped models, each once: generations have many in common.

use std::{collections::BTreeMap, sync::Arc};

use tcnum::{
    arithmetic::{Evaluator, Model, shipped},
    isa::{self, Instruction},
};

/// A program of a shipped model.
pub(crate) struct ShippedProgram {
    /// The model, one of those that have the program.
    pub model: Arc<Model>,
    pub instruction: &'static Instruction,
    pub evaluator: Evaluator,
}

impl ShippedProgram {
    /// Model and instruction, for messages.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.model.name, self.instruction)
    }

    /// Everything of the program, and its instruction.
    pub(crate) fn described(&self) -> String {
        format!("{:?}", self.evaluator.program())
    }
}

/// One program for each key.
pub(crate) fn distinct(key: impl Fn(&ShippedProgram) -> String) -> Vec<ShippedProgram> {
    let mut all = BTreeMap::new();
    for name in shipped() {
        let model = Arc::new(Model::load(name).unwrap());
        for instruction in isa::all() {
            let Ok(evaluator) = model.evaluator(instruction) else { continue };
            let program = ShippedProgram { model: model.clone(), instruction, evaluator };
            all.entry(key(&program)).or_insert(program);
        }
    }
    all.into_values().collect()
}
