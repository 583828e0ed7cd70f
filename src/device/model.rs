//! The device `model:NAME`: an arithmetic model, simulated.

use std::collections::HashMap;

use super::{Device, Execution, ExecutionKind, Generation, Identity, LocalExecution, Sweeper};
use crate::{
    Result,
    arithmetic::{Evaluator, EvidenceKind, Model, named},
    isa::{Codes, Instruction, Tiles, scalar::Form},
};

/// An arithmetic model that executes instructions on the CPU.
pub struct ModelDevice {
    identity: Identity,
    model: Model,
    evaluators: HashMap<String, Evaluator>,
}

impl ModelDevice {
    /// The device `model:NAME` for a shipped model's name or alias, or a model file's path.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn open(name: &str) -> Result<ModelDevice> {
        let mut device = ModelDevice::of(Model::load(name)?);
        device.identity.name = format!("model:{}", named(name).unwrap_or(name));
        Ok(device)
    }

    /// The device that simulates a model.
    pub(crate) fn of(model: Model) -> ModelDevice {
        let rests = |kind: &EvidenceKind| {
            model.rules.iter().flat_map(|rule| &rule.evidence).any(|own| own.source.kind() == *kind)
        };
        let kinds: Vec<&str> = EvidenceKind::ALL.iter().filter(|kind| rests(kind)).map(|kind| kind.name()).collect();
        let identity = Identity {
            name: format!("model:{}", model.name),
            description: format!("arithmetic model of {}, simulated", model.title),
            details: vec![
                ("model_version".into(), model.version.to_string()),
                ("model_evidence".into(), kinds.join(", ")),
            ],
        };
        ModelDevice { identity, model, evaluators: HashMap::new() }
    }

    fn evaluator(&mut self, instruction: &Instruction) -> Result<&Evaluator> {
        if !self.evaluators.contains_key(&instruction.name) {
            self.evaluators.insert(instruction.name.clone(), self.model.evaluator(instruction)?);
        }
        Ok(&self.evaluators[&instruction.name])
    }
}

impl Device for ModelDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        self.evaluator(instruction)?;
        Ok(Execution { kind: ExecutionKind::Simulated, opcodes: Vec::new() })
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        Ok(self.evaluator(instruction)?.execute(tiles))
    }

    /// A model computes each output apart, so it need not compute those that nobody asked for.
    fn execute_part(&mut self, instruction: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        let part = Instruction { m, n, ..instruction.clone() };
        Ok(self.model.evaluator(&part)?.execute(tiles))
    }

    fn local(&mut self, instruction: &Instruction) -> Result<Option<LocalExecution>> {
        let evaluator = self.evaluator(instruction)?.clone();
        Ok(Some(Box::new(move |tiles| evaluator.execute_here(tiles))))
    }

    fn model(&self) -> Option<&Model> {
        Some(&self.model)
    }

    fn generation(&self) -> Generation {
        Generation::Model(self.identity.name.trim_start_matches("model:").into())
    }

    /// Scalar instructions are simulated by their own rules: those that the model's generation has.
    fn sweeper(&mut self, form: &'static Form, _seed: u64) -> Result<Option<Box<dyn Sweeper>>> {
        match self.model.has(form.support) {
            true => Ok(None),
            false => Err(self.model.lacks(&form.ptx, form.support)),
        }
    }
}
