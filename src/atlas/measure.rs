//! Measurements: features of each distinct program, differences of each distinct pair of rules.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::generation::Generation;
use crate::{
    Error, Result,
    arithmetic::{Model, Program, Rule},
    base::{interrupt, parallel},
    device::ModelDevice,
    distinction::{self, DeviceInstruction, Distinction, SearchLimits},
    features::{self, Features},
    isa::Instruction,
    rule::{Changed, equal},
};

/// Cases after the corners in a comparison of two generations.
pub(super) const CASES: u64 = 4096;
/// Rows and columns that decide the inputs of a comparison.
const SHAPE: usize = 8;

/// A measurement; or why there is none.
type Found<T> = std::result::Result<Arc<T>, String>;

/// Everything measured so far.
#[derive(Default)]
pub(super) struct Measurements {
    features: HashMap<String, Found<Features>>,
    differences: HashMap<String, Found<Distinction>>,
    /// The rule of a model for an instruction as text, by both names.
    rules: HashMap<(String, String), String>,
}

impl Measurements {
    /// Measures all that the entries of these instructions need, in parallel.
    ///
    /// # Errors
    /// An interruption.
    pub(super) fn measure(&mut self, instructions: &[&Instruction], generations: &[Generation]) -> Result<()> {
        let (mut programs, mut pairs) = (Vec::new(), Vec::new());
        let mut queued = HashSet::new();
        for instruction in instructions {
            // The first model of each program, in order.
            let mut distinct: Vec<(&Model, Program)> = Vec::new();
            for generation in generations {
                let model = &generation.model;
                let Ok(program) = model.program(instruction) else { continue };
                let rule = Changed::of(model, instruction).map(|rule| arithmetic_of(&rule.rule)).unwrap_or_default();
                self.rules.insert(names(model, instruction), rule);
                if distinct.iter().any(|(_, other)| equal([other, &program]).is_some()) {
                    continue;
                }
                let key = identity(&program);
                if !self.features.contains_key(&key) && queued.insert(key.clone()) {
                    programs.push((key, model, (*instruction).clone()));
                }
                distinct.push((model, program));
            }
            for (second, (y, _)) in distinct.iter().enumerate() {
                for (x, _) in &distinct[..second] {
                    let key = self.pair([x, y], instruction);
                    if !self.differences.contains_key(&key) && queued.insert(key.clone()) {
                        pairs.push((key, [*x, *y], (*instruction).clone()));
                    }
                }
            }
        }
        let outcomes = parallel::map(programs, |(key, model, i)| Ok((key, outcome(features_of(model, &i))?)));
        self.features.extend(outcomes.into_iter().collect::<Result<Vec<_>>>()?);
        let outcomes = parallel::map(pairs, |(key, models, i)| Ok((key, outcome(difference(models, &i))?)));
        self.differences.extend(outcomes.into_iter().collect::<Result<Vec<_>>>()?);
        Ok(())
    }

    /// The features of a program.
    pub(super) fn features(&self, program: &Program) -> Found<Features> {
        self.features.get(&identity(program)).cloned().unwrap_or_else(|| Err("They were not measured.".into()))
    }

    /// The difference of two models on an instruction, if it was measured.
    pub(super) fn difference(&self, models: [&Model; 2], i: &Instruction) -> Option<Found<Distinction>> {
        self.differences.get(&self.pair(models, i)).cloned()
    }

    /// The name of a pair of rules, for operands of one instruction.
    fn pair(&self, models: [&Model; 2], i: &Instruction) -> String {
        let rules = models.map(|model| self.rules.get(&names(model, i)).map_or("", String::as_str));
        format!("{}\n{}\n{}", operands(i), rules[0], rules[1])
    }
}

fn names(model: &Model, i: &Instruction) -> (String, String) {
    (model.name.clone(), i.name.clone())
}

/// A rule without its patterns and evidence, as text.
fn arithmetic_of(rule: &Rule) -> String {
    let entries = rule.entries().into_iter().filter(|(key, _)| !["instructions", "evidence"].contains(&&key[..]));
    entries.map(|(key, value)| format!("{key}={value}\n")).collect()
}

/// The operands of an instruction as text; equal ones have the same inputs.
fn operands(i: &Instruction) -> String {
    let formats = [i.a, i.b, i.c, i.d].map(|format| format.name);
    let shape = (i.m.min(SHAPE), i.n.min(SHAPE), i.k);
    format!("{formats:?} {shape:?} {:?} {:?} {} {}", i.sparse, i.scale, i.xor, i.saturate)
}

/// A program with the operands that it takes, as text.
fn identity(program: &Program) -> String {
    let i = Instruction { m: 1, n: 1, ..program.instruction.clone() };
    format!("{}\n{program}", operands(&i))
}

/// A result, or in words why there is none.
///
/// # Errors
/// An interruption.
fn outcome<T>(result: Result<T>) -> Result<Found<T>> {
    match result {
        Err(error @ Error::Interrupted { .. }) => Err(error),
        Err(error) => Ok(Err(error.to_string())),
        Ok(value) => Ok(Ok(Arc::new(value))),
    }
}

fn features_of(model: &Model, i: &Instruction) -> Result<Features> {
    interrupt::check()?;
    features::measure(&mut ModelDevice::of(model.clone()), i)
}

fn difference(models: [&Model; 2], i: &Instruction) -> Result<Distinction> {
    interrupt::check()?;
    let [mut x, mut y] = models.map(|model| ModelDevice::of(model.clone()));
    let sides = [&mut x, &mut y].map(|device| DeviceInstruction { device, instruction: i });
    let [x, y] = sides;
    let limits = SearchLimits { time: None, ..SearchLimits::new(Some(CASES), None) };
    let distinction = distinction::distinguish(x, y, &limits)?;
    match distinction.stopped {
        Some(error) => Err(error),
        None => Ok(distinction),
    }
}
