//! The device `model:NAME`: a simulated arithmetic model.

use std::collections::HashMap;

use super::{Device, DeviceName, Execution, ExecutionKind, Generation, Identity, LocalExecution, LocalThreads};
use crate::{
    Result,
    arithmetic::{Evaluator, EvidenceKind, Model, Program, named},
    base::parallel,
    inputs::random,
    isa::{Codes, Instruction, Tiles},
};

/// An arithmetic model that executes instructions on the CPU.
pub struct ModelDevice {
    identity: Identity,
    model: Model,
    evaluators: HashMap<String, Evaluator>,
    /// Seed of the random bits, and roundings so far, of units that draw them.
    seed: u64,
    drawn: u64,
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
        ModelDevice { identity, model, evaluators: HashMap::new(), seed: 0, drawn: 0 }
    }

    /// The program of an instruction whose last rounding draws random bits.
    fn drawing(&self, instruction: &Instruction) -> Result<Option<Program>> {
        match self.model.rule(instruction).and_then(|rule| rule.output?.random_bits) {
            Some(_) => self.model.program(instruction).map(Some),
            None => Ok(None),
        }
    }

    /// True if an instruction of the model draws random bits, so that no two devices are equal.
    fn draws(&self) -> bool {
        self.model.rules.iter().any(|rule| rule.output.is_some_and(|output| output.random_bits.is_some()))
    }

    /// Codes of D; each rounding takes the next word of the seed.
    fn drawn(&mut self, program: &Program, tiles: &Tiles) -> Codes {
        let i = &program.instruction;
        let (seed, first, each) = (self.seed, self.drawn, i.m * i.n);
        let of_tile = |tile: usize| {
            let code = |at: usize| {
                let neighbours = program.neighbours(&tiles.case(i, tile, at / i.n, at % i.n));
                let word = random(seed, first + (tile * each + at) as u64);
                neighbours.map_or(0, |neighbours| neighbours.code(word >> 32))
            };
            (0..each).map(code).collect::<Vec<u64>>()
        };
        self.drawn += (tiles.count * each) as u64;
        Codes::from_values(i.d, &parallel::map(0..tiles.count, of_tile).concat())
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
        let device = ModelDevice { identity, model, evaluators: HashMap::new(), seed: self.seed, drawn: 0 };
        (!self.draws()).then(|| Box::new(device) as Box<dyn Device + Send>)
    }

    fn draw_by(&mut self, seed: u64) {
        (self.seed, self.drawn) = (seed, 0);
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        if self.drawing(instruction)?.is_none() {
            self.evaluator(instruction)?;
        }
        Ok(Execution { kind: ExecutionKind::Simulated, opcodes: Vec::new() })
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        match self.drawing(instruction)? {
            Some(program) => Ok(self.drawn(&program, tiles)),
            None => Ok(self.evaluator(instruction)?.execute(tiles)),
        }
    }

    /// A model computes each output separately, so only those asked for.
    fn execute_part(&mut self, instruction: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        let part = Instruction { m, n, ..instruction.clone() };
        match self.drawing(&part)? {
            Some(program) => Ok(self.drawn(&program, tiles)),
            None => Ok(self.model.evaluator(&part)?.execute(tiles)),
        }
    }

    fn model(&self) -> Option<&Model> {
        Some(&self.model)
    }

    fn local(&mut self) -> Option<&mut dyn LocalThreads> {
        if self.draws() { None } else { Some(self) }
    }
}

impl LocalThreads for ModelDevice {
    fn execution(&mut self, instruction: &Instruction) -> Result<LocalExecution> {
        let evaluator = self.evaluator(instruction)?.clone();
        Ok(Box::new(move |tiles| evaluator.execute_here(tiles)))
    }
}
