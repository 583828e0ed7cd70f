//! Measurement of features on devices, in few executions.
//!
//! Most questions depend on earlier answers. Measuring the model of the device's generation predicts the questions, and the device gets
//! all of them at once. If the device answers like the model, no further question is needed.

use std::collections::HashSet;

use super::{Features, measured, position};
use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    base::{
        interrupt, parallel,
        work::{self, Pace},
    },
    bench::{Bench, Uniform},
    device::{Batches, Device, ModelDevice},
    isa::{Case, Instruction},
};

/// The features of programs of models, each measured once: equal programs have equal features.
pub(super) type KnownFeatures = Vec<(Program, Features)>;

/// Largest number of instructions measured in parallel.
const TOGETHER: u64 = 256;

/// Measures the features of `instruction` on `device`.
///
/// # Errors
/// The device lacks the instruction, fails, or is not a function of its operands; an interruption.
pub fn measure(device: &mut dyn Device, instruction: &Instruction) -> Result<Features> {
    let mut features = Err(Error::device("nothing was measured"));
    measure_all(device, std::slice::from_ref(instruction), &mut |_, measured| {
        features = measured;
        Ok(())
    })?;
    features
}

/// Measures the features of each instruction; `receive` gets each outcome in order, when it is known.
///
/// If a failure or an interruption ends the measurement of an instruction, `receive` gets the features until then.
///
/// # Errors
/// The first error that `receive` returns; a device that fails during an instruction; an interruption.
pub fn measure_all(
    device: &mut dyn Device,
    instructions: &[Instruction],
    receive: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    measure_known(device, instructions, &mut KnownFeatures::default(), receive)
}

/// Measures like [`measure_all`]; programs that `known` has are not measured again.
pub(super) fn measure_known(
    device: &mut dyn Device,
    instructions: &[Instruction],
    known: &mut KnownFeatures,
    receive: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    if let Some(preparation) = device.preparation() {
        preparation.announce(instructions);
    }
    let simulated = device.model().cloned();
    let mut batches = Batches::default();
    work::ranges(instructions.len() as u64, Pace::new(1, TOGETHER), |range| {
        let some = &instructions[range.start as usize..range.end as usize];
        match &simulated {
            Some(model) => simulated_ones(model, some, known, receive),
            None => together(device, &mut batches, some, receive),
        }
    })
}

/// The features of an instruction, and the error that ended the measurement early.
type MeasuredFeatures = Result<(Features, Result<()>)>;

/// Delivers the outcome of an instruction.
///
/// # Errors
/// The error that ended the measurement early; the error of `receive`.
fn deliver(
    i: &Instruction,
    outcome: MeasuredFeatures,
    receive: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    match outcome {
        Err(error @ Error::Interrupted { .. }) => Err(error),
        Err(error) => receive(i, Err(error)),
        // The position alone is no result.
        Ok((features, Err(error))) if features.cells.len() < 2 => match error {
            Error::Interrupted { .. } => Err(error),
            error => receive(i, Err(error)),
        },
        Ok((features, ended)) => receive(i, Ok(features)).and(ended),
    }
}

/// Measures some instructions; questions are predicted, and answers evaluated, in parallel.
fn together(
    device: &mut dyn Device,
    batches: &mut Batches,
    some: &[Instruction],
    receive: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    // A program names its generation when it is first asked for one of its instructions.
    let _ = some.first().map(|i| device.has(i));
    let model = device.identity().generation.shipped_model().and_then(|name| Model::load(name).ok());
    let questions = parallel::map(some, |i| model.as_ref().map_or_else(Vec::new, |model| expected(model, i)));
    for (i, questions) in some.iter().zip(questions) {
        let outcome = asked(device, batches, i, &questions);
        deliver(i, outcome.map(|(features, ended)| (features.resting_on(device), ended)), receive)?;
    }
    Ok(())
}

/// Measures an instruction: these questions at once, then all others, then some cases again.
fn asked(device: &mut dyn Device, batches: &mut Batches, i: &Instruction, questions: &[Case]) -> MeasuredFeatures {
    interrupt::check()?;
    device.prepare(i)?;
    let (element, position) = position::position(device, batches, i)?;
    let mut bench = Bench::of(device, batches, i).at(element);
    bench.codes(questions)?;
    let (features, outcome) = measured(i, position, &mut |cases| bench.codes(cases));
    if outcome.is_ok() {
        bench.repeat_cases()?;
    }
    bench.refusal()?;
    Ok((Features { uniform: Uniform::of(i.d, bench.answers.given()), ..features }, outcome))
}

/// Measures some instructions of a model in parallel, each program once.
fn simulated_ones(
    model: &Model,
    some: &[Instruction],
    known: &mut KnownFeatures,
    receive: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    let programs = parallel::map(some, |i| model.program(i).map(nameless));
    let find = |known: &KnownFeatures, program: &Program, i: &Instruction| {
        let (_, features) = known.iter().find(|(other, _)| other == program)?;
        Some(Features { instruction: i.clone(), uniform: None, ..features.clone() })
    };
    let mut new: Vec<(&Instruction, &Program)> = Vec::new();
    for (i, program) in some.iter().zip(&programs) {
        if let Ok(program) = program
            && find(known, program, i).is_none()
            && !new.iter().any(|(_, other)| *other == program)
        {
            new.push((i, program));
        }
    }
    let outcomes = parallel::map(&new, |(i, _)| {
        let (mut device, mut batches) = (ModelDevice::of(model.clone()), Batches::default());
        asked(&mut device, &mut batches, i, &[])
    });
    let mut partial: Vec<(&Program, MeasuredFeatures)> = Vec::new();
    for ((_, program), outcome) in new.into_iter().zip(outcomes) {
        match outcome {
            Ok((features, Ok(()))) => known.push((program.clone(), features)),
            outcome => partial.push((program, outcome)),
        }
    }
    let device = ModelDevice::of(model.clone());
    for (i, program) in some.iter().zip(&programs) {
        let outcome = program.as_ref().map_err(Clone::clone).and_then(|program| match find(known, program, i) {
            Some(features) => Ok((features, Ok(()))),
            None => {
                let (_, outcome) = partial.iter().find(|(other, _)| *other == program).expect("it was measured");
                outcome.clone().map(|(features, ended)| (Features { instruction: i.clone(), ..features }, ended))
            }
        });
        deliver(i, outcome.map(|(features, ended)| (features.resting_on(&device), ended)), receive)?;
    }
    Ok(())
}

/// A program without the name of its instruction: equal ones compute the same.
fn nameless(program: Program) -> Program {
    let instruction = Instruction {
        name: String::new(),
        ptx: String::new(),
        support: &[],
        kernel: None,
        ..program.instruction.clone()
    };
    Program { instruction, ..program }
}

/// The questions that the measurement asks a model; none if the model lacks the instruction.
fn expected(model: &Model, i: &Instruction) -> Vec<Case> {
    let one = Instruction { m: 1, n: 1, ..i.clone() };
    let Ok(evaluator) = model.evaluator(&one) else { return Vec::new() };
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    // Questions until an interruption are valid questions.
    let _ = measured(i, Err(String::new()), &mut |cases| {
        all.extend(cases.iter().filter(|case| seen.insert((*case).clone())).cloned());
        Ok(cases.iter().map(|case| evaluator.dot(case)).collect())
    });
    all
}
