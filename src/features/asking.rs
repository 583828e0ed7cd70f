//! Measurement of features on devices, in few executions.
//!
//! Most questions depend on earlier answers. Measuring the model of the device's generation predicts the questions, and the device gets
//! all of them at once. If the device answers like the model, no further question is needed.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use super::{
    FeatureFinding, Features,
    known::{KnownFeatures, nameless},
    measured, order,
};
use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    base::{interrupt, pace::Pace, parallel},
    comparison::{Subject, operands},
    device::{Batches, Device, ModelDevice},
    identify::Uniform,
    isa::{Case, Instruction},
    tree,
};

/// Largest number of instructions measured in parallel.
const TOGETHER: u64 = 256;
/// Number of cases asked a second time at the end.
const REPEATED: usize = 256;

/// Measures the features of `instruction` on `device`.
///
/// # Errors
/// The device lacks the instruction, fails, or is not a function of its operands; an interruption.
pub fn measure(device: &mut dyn Device, instruction: &Instruction) -> Result<Features> {
    let mut features = Err(Error::device("nothing was measured"));
    measure_all(device, std::slice::from_ref(instruction), &mut |_, found| {
        features = found;
        Ok(())
    })?;
    features
}

/// Measures the features of each instruction; `found` gets each outcome in order, when it is known.
///
/// If a failure or an interruption ends the measurement of an instruction, `found` gets the features until then.
///
/// # Errors
/// The first error that `found` returns; a device that fails during an instruction; an interruption.
pub fn measure_all(
    device: &mut dyn Device,
    instructions: &[Instruction],
    found: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    measure_known(device, instructions, &mut KnownFeatures::default(), found)
}

/// Measures like [`measure_all`]; programs that `known` has are not measured again.
pub(super) fn measure_known(
    device: &mut dyn Device,
    instructions: &[Instruction],
    known: &mut KnownFeatures,
    found: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    if let Some(preparation) = device.preparation() {
        preparation.announce(instructions);
    }
    let simulated = device.model().cloned();
    let mut batches = Batches::default();
    let mut pace = Pace::new(1, TOGETHER);
    let mut rest = instructions;
    while !rest.is_empty() {
        interrupt::check()?;
        let start = Instant::now();
        let (some, after) = rest.split_at(rest.len().min(pace.size() as usize));
        match &simulated {
            Some(model) => simulated_ones(model, some, known, found)?,
            None => together(device, &mut batches, some, found)?,
        }
        pace.took(some.len() as u64, start.elapsed());
        rest = after;
    }
    Ok(())
}

/// The features of an instruction, and the error that ended the measurement early.
type MeasuredFeatures = Result<(Features, Result<()>)>;

/// Delivers the outcome of an instruction.
///
/// # Errors
/// The error that ended the measurement early; the error of `found`.
fn deliver(
    i: &Instruction,
    outcome: MeasuredFeatures,
    found: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    match outcome {
        Err(error @ Error::Interrupted { .. }) => Err(error),
        Err(error) => found(i, Err(error)),
        // The position alone is no result.
        Ok((features, Err(error))) if features.cells.len() < 2 => match error {
            Error::Interrupted { .. } => Err(error),
            error => found(i, Err(error)),
        },
        Ok((features, ended)) => found(i, Ok(features)).and(ended),
    }
}

/// The answers to the predicted questions on an instruction, and the element to ask further.
struct AskedAhead<'a> {
    instruction: &'a Instruction,
    element: Option<(usize, usize)>,
    position: FeatureFinding,
    known: HashMap<Case, u64>,
}

/// Measures some instructions; questions are predicted, and answers evaluated, in parallel.
fn together(
    device: &mut dyn Device,
    batches: &mut Batches,
    some: &[Instruction],
    found: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    // A program names its generation when it is first asked for one of its instructions.
    let _ = some.first().map(|i| device.has(i));
    let model = device.identity().generation.shipped_model().and_then(|name| Model::load(name).ok());
    let questions = parallel::map(some, |i| model.as_ref().map_or_else(Vec::new, |model| expected(model, i)));
    let both = some.iter().zip(questions);
    let asked: Vec<Result<AskedAhead>> = both.map(|(i, cases)| AskedAhead::ahead(device, batches, i, cases)).collect();
    let ready = parallel::map(&asked, |asked| asked.as_ref().ok().and_then(AskedAhead::features));
    for ((i, asked), ready) in some.iter().zip(asked).zip(ready) {
        let outcome = asked.and_then(|asked| asked.rest(device, batches, ready));
        deliver(i, outcome.map(|(found, ended)| (found.resting_on(device), ended)), found)?;
    }
    Ok(())
}

/// Measures some instructions of a model in parallel, each program once.
fn simulated_ones(
    model: &Model,
    some: &[Instruction],
    known: &mut KnownFeatures,
    found: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    let programs = parallel::map(some, |i| model.program(i).map(nameless));
    let mut new: Vec<(&Instruction, &Program)> = Vec::new();
    for (i, program) in some.iter().zip(&programs) {
        if let Ok(program) = program
            && known.of(program, i).is_none()
            && !new.iter().any(|(_, other)| *other == program)
        {
            new.push((i, program));
        }
    }
    let outcomes = parallel::map(&new, |(i, _)| simply(&mut ModelDevice::of(model.clone()), i));
    let mut partial: Vec<(&Program, MeasuredFeatures)> = Vec::new();
    for ((_, program), outcome) in new.into_iter().zip(outcomes) {
        match outcome {
            Ok((features, Ok(()))) => known.add(program.clone(), &features),
            outcome => partial.push((program, outcome)),
        }
    }
    let device = ModelDevice::of(model.clone());
    for (i, program) in some.iter().zip(&programs) {
        let outcome = program.as_ref().map_err(Clone::clone).and_then(|program| match known.of(program, i) {
            Some(features) => Ok((features, Ok(()))),
            None => {
                let (_, outcome) = partial.iter().find(|(own, _)| *own == program).expect("it was measured");
                outcome.clone().map(|(features, ended)| (Features { instruction: i.clone(), ..features }, ended))
            }
        });
        deliver(i, outcome.map(|(features, ended)| (features.resting_on(&device), ended)), found)?;
    }
    Ok(())
}

/// Measures an instruction of a model, one question after the other.
fn simply(device: &mut dyn Device, i: &Instruction) -> MeasuredFeatures {
    let mut batches = Batches::default();
    let AskedAhead { element, position, .. } = AskedAhead::ahead(device, &mut batches, i, Vec::new())?;
    Ok(measured(i, position, &mut |cases| tree::ask(device, &mut batches, i, element, cases)))
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

impl<'a> AskedAhead<'a> {
    /// Measures the position, and asks these cases.
    fn ahead(
        device: &mut dyn Device,
        batches: &mut Batches,
        instruction: &'a Instruction,
        cases: Vec<Case>,
    ) -> Result<AskedAhead<'a>> {
        interrupt::check()?;
        device.prepare(instruction)?;
        let (element, position) = order::position(device, batches, instruction)?;
        let codes = tree::ask(device, batches, instruction, element, &cases)?;
        Ok(AskedAhead { instruction, element, position, known: cases.into_iter().zip(codes).collect() })
    }

    /// The features, if the known answers suffice.
    fn features(&self) -> Option<Features> {
        let unknown = || Error::device("this case was not asked ahead");
        let answer = |case: &Case| self.known.get(case).copied().ok_or_else(unknown);
        let (features, outcome) =
            measured(self.instruction, self.position.clone(), &mut |cases| cases.iter().map(answer).collect());
        outcome.is_ok().then_some(features)
    }

    /// The features; the device is asked all unknown cases, then some cases again.
    fn rest(self, device: &mut dyn Device, batches: &mut Batches, ready: Option<Features>) -> MeasuredFeatures {
        let AskedAhead { instruction: i, element, position, mut known } = self;
        let (features, outcome) = match ready {
            Some(features) => (features, Ok(())),
            None => measured(i, position, &mut |cases| {
                let open: Vec<Case> = cases.iter().filter(|case| !known.contains_key(*case)).cloned().collect();
                let codes = tree::ask(device, batches, i, element, &open)?;
                known.extend(open.into_iter().zip(codes));
                Ok(cases.iter().map(|case| known[case]).collect())
            }),
        };
        if outcome.is_ok() {
            repeat(device, batches, i, element, &known)?;
        }
        Ok((Features { uniform: Uniform::of(i.d, known.into_values()), ..features }, outcome))
    }
}

/// Checks that a device repeats its answers.
///
/// # Errors
/// The device fails, or is not a function of its operands.
fn repeat(
    device: &mut dyn Device,
    batches: &mut Batches,
    i: &Instruction,
    element: Option<(usize, usize)>,
    known: &HashMap<Case, u64>,
) -> Result<()> {
    let mut cases: Vec<Case> = known.keys().cloned().collect();
    // Sorted, so that every run repeats the same cases.
    cases.sort_unstable_by(|x, y| {
        (&x.a, &x.b, x.c, &x.scale_a, &x.scale_b).cmp(&(&y.a, &y.b, y.c, &y.scale_a, &y.scale_b))
    });
    let step = cases.len().div_ceil(REPEATED).max(1);
    let cases: Vec<Case> = cases.into_iter().step_by(step).collect();
    let codes = tree::ask(device, batches, i, element, &cases)?;
    match cases.iter().zip(codes).find(|(case, code)| known[*case] != *code) {
        Some((case, code)) => Err(Error::device(format!(
            "{} is not a function of its operands: {} gave {}, then {}",
            device.identity().name,
            operands(&Subject::Matrix(i), case),
            i.d.hex(known[case]),
            i.d.hex(code),
        ))),
        None => Ok(()),
    }
}
