//! The device `model:NAME`: a simulated arithmetic model.

use std::collections::HashMap;

use super::{Device, DeviceName, Execution, ExecutionKind, Generation, Identity, LocalExecution, LocalThreads};
use crate::{
    Result,
    arithmetic::{Evaluator, EvidenceKind, Model, named},
    isa::{Codes, Instruction, Tiles},
};

/// An arithmetic model that executes instructions on the CPU.
pub struct ModelDevice {
    identity: Identity,
    model: Model,
    evaluators: HashMap<String, Evaluator>,
}

impl ModelDevice {
    /// Opens `model:NAME`, where NAME is a shipped model, an alias of one, or a model file.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn open(name: &str) -> Result<ModelDevice> {
        Ok(ModelDevice::called(named(name).unwrap_or(name), Model::load(name)?))
    }

    /// Makes the device that simulates a model.
    pub fn of(model: Model) -> ModelDevice {
        ModelDevice::called(&model.name.clone(), model)
    }

    fn called(name: &str, model: Model) -> ModelDevice {
        let rests = |kind: &EvidenceKind| {
            model.rules.iter().flat_map(|rule| &rule.evidence).any(|evidence| evidence.source.kind() == *kind)
        };
        let kinds: Vec<&str> = EvidenceKind::ALL.iter().filter(|kind| rests(kind)).map(|kind| kind.name()).collect();
        let identity = Identity {
            name: DeviceName::Model(name.into()),
            description: format!("arithmetic model of {}, simulated", model.title),
            details: vec![
                ("model_version".into(), model.version.to_string()),
                ("model_evidence".into(), kinds.join(", ")),
            ],
            generation: Generation::Model(name.into()),
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

    fn for_thread(&self) -> Option<Box<dyn Device + Send>> {
        let (identity, model) = (self.identity.clone(), self.model.clone());
        Some(Box::new(ModelDevice { identity, model, evaluators: HashMap::new() }))
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        self.evaluator(instruction)?;
        Ok(Execution { kind: ExecutionKind::Simulated, opcodes: Vec::new() })
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        Ok(self.evaluator(instruction)?.execute(tiles))
    }

    /// A model computes each output separately, so only those asked for.
    fn execute_part(&mut self, instruction: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        let part = Instruction { m, n, ..instruction.clone() };
        Ok(self.model.evaluator(&part)?.execute(tiles))
    }

    fn model(&self) -> Option<&Model> {
        Some(&self.model)
    }

    fn local(&mut self) -> Option<&mut dyn LocalThreads> {
        Some(self)
    }
}

impl LocalThreads for ModelDevice {
    fn execution(&mut self, instruction: &Instruction) -> Result<LocalExecution> {
        let evaluator = self.evaluator(instruction)?.clone();
        Ok(Box::new(move |tiles| evaluator.execute_here(tiles)))
    }
}
