//! Asking devices for the features of instructions, in few executions.
//!
//! Most questions depend on the answers before them. What they will be is found out by measuring the model of the device's generation:
//! all of its questions are put to the device at once. Where the device answers as the model does, nothing else is left to ask.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use super::{Features, Finding, measured, order};
use crate::{
    Error, Result,
    arithmetic::Model,
    base::{interrupt, pace::Pace, parallel},
    comparison::{Subject, operands},
    device::{Batches, Device, ModelDevice},
    identify::Uniform,
    isa::{Case, Instruction},
    tree,
};

/// The most instructions that are measured side by side.
const TOGETHER: u64 = 256;
/// Cases that are asked a second time in the end.
const REPEATED: usize = 256;

/// Measures the features of `instruction` on `device`.
///
/// # Errors
/// The device lacks the instruction, fails, or is not a function of its operands; a signal.
pub fn measure(device: &mut dyn Device, instruction: &Instruction) -> Result<Features> {
    let mut features = Err(Error::device("nothing was measured"));
    measure_all(device, std::slice::from_ref(instruction), &mut |_, found| {
        features = found;
        Ok(())
    })?;
    features
}

/// Measures the features of instructions on `device`, and hands `found` each outcome as soon as it is known, in their order. Of an
/// instruction in whose middle the device fails, or that is interrupted there, it gets the features until then.
///
/// # Errors
/// The first error that `found` returns; a device that fails in the middle of an instruction; a signal.
pub fn measure_all(
    device: &mut dyn Device,
    instructions: &[Instruction],
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
            Some(model) => {
                let alone = |i| simply(&mut ModelDevice::of(model.clone()), i);
                for (i, outcome) in some.iter().zip(parallel::map(some, alone)) {
                    deliver(i, outcome, found)?;
                }
            }
            None => together(device, &mut batches, some, found)?,
        }
        pace.took(some.len() as u64, start.elapsed());
        rest = after;
    }
    Ok(())
}

/// What came of measuring an instruction: the features, and what ended it early.
type MeasuredFeatures = Result<(Features, Result<()>)>;

/// Hands on what came of an instruction.
///
/// # Errors
/// What ended it early; what `found` returns.
fn deliver(
    i: &Instruction,
    outcome: MeasuredFeatures,
    found: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    match outcome {
        Err(error @ Error::Interrupted { .. }) => Err(error),
        Err(error) => found(i, Err(error)),
        // What was said of positions alone is no result.
        Ok((features, Err(error))) if features.cells.len() < 2 => match error {
            Error::Interrupted { .. } => Err(error),
            error => found(i, Err(error)),
        },
        Ok((features, ended)) => found(i, Ok(features)).and(ended),
    }
}

/// What a device was asked about an instruction ahead, and how elements are asked for more.
struct Asked<'a> {
    instruction: &'a Instruction,
    element: Option<(usize, usize)>,
    position: Finding,
    known: HashMap<Case, u64>,
}

/// Measures some instructions: their questions are worked out and their answers looked through side by side.
fn together(
    device: &mut dyn Device,
    batches: &mut Batches,
    some: &[Instruction],
    found: &mut dyn FnMut(&Instruction, Result<Features>) -> Result<()>,
) -> Result<()> {
    // A program says of which generation it is when it is first asked for an instruction that it has.
    let _ = some.first().map(|i| device.has(i));
    let model = device.identity().generation.shipped_model().and_then(|name| Model::load(name).ok());
    let questions = parallel::map(some, |i| model.as_ref().map_or_else(Vec::new, |model| expected(model, i)));
    let both = some.iter().zip(questions);
    let asked: Vec<Result<Asked>> = both.map(|(i, cases)| Asked::ahead(device, batches, i, cases)).collect();
    let ready = parallel::map(&asked, |asked| asked.as_ref().ok().and_then(Asked::features));
    for ((i, asked), ready) in some.iter().zip(asked).zip(ready) {
        let outcome = asked.and_then(|asked| asked.rest(device, batches, ready));
        deliver(i, outcome.map(|(found, ended)| (found.resting_on(device), ended)), found)?;
    }
    Ok(())
}

/// Measures an instruction of a model, question by question.
fn simply(device: &mut dyn Device, i: &Instruction) -> MeasuredFeatures {
    let mut batches = Batches::default();
    let Asked { element, position, .. } = Asked::ahead(device, &mut batches, i, Vec::new())?;
    let (found, ended) = measured(i, position, &mut |cases| tree::ask(device, &mut batches, i, element, cases));
    Ok((found.resting_on(device), ended))
}

/// What a model is asked when the features of an instruction are measured on it; nothing where it lacks the instruction.
fn expected(model: &Model, i: &Instruction) -> Vec<Case> {
    let one = Instruction { m: 1, n: 1, ..i.clone() };
    let Ok(evaluator) = model.evaluator(&one) else { return Vec::new() };
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    // What was asked before an interruption may be asked all the same.
    let _ = measured(i, Err(String::new()), &mut |cases| {
        all.extend(cases.iter().filter(|case| seen.insert((*case).clone())).cloned());
        Ok(cases.iter().map(|case| evaluator.dot(case)).collect())
    });
    all
}

impl<'a> Asked<'a> {
    /// Asks whether elements are alike, and these cases.
    fn ahead(
        device: &mut dyn Device,
        batches: &mut Batches,
        instruction: &'a Instruction,
        cases: Vec<Case>,
    ) -> Result<Asked<'a>> {
        interrupt::check()?;
        device.prepare(instruction)?;
        let (element, position) = order::position(device, batches, instruction)?;
        let codes = tree::ask(device, batches, instruction, element, &cases)?;
        Ok(Asked { instruction, element, position, known: cases.into_iter().zip(codes).collect() })
    }

    /// The features, if what is known answers everything.
    fn features(&self) -> Option<Features> {
        let unknown = || Error::device("this was not asked ahead");
        let answer = |case: &Case| self.known.get(case).copied().ok_or_else(unknown);
        let (features, outcome) =
            measured(self.instruction, self.position.clone(), &mut |cases| cases.iter().map(answer).collect());
        outcome.is_ok().then_some(features)
    }

    /// The features, for which the device is asked what is not known; then it is asked some cases again.
    ///
    /// # Errors
    /// The device is not a function of its operands: what was measured then says nothing.
    fn rest(self, device: &mut dyn Device, batches: &mut Batches, ready: Option<Features>) -> MeasuredFeatures {
        let Asked { instruction: i, element, position, mut known } = self;
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

/// Makes sure that a device gives the answers again that it gave.
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
    // The same ones every time.
    cases.sort_unstable_by(|x, y| {
        (&x.a, &x.b, x.c, &x.scale_a, &x.scale_b).cmp(&(&y.a, &y.b, y.c, &y.scale_a, &y.scale_b))
    });
    let step = cases.len().div_ceil(REPEATED).max(1);
    let cases: Vec<Case> = cases.into_iter().step_by(step).collect();
    let codes = tree::ask(device, batches, i, element, &cases)?;
    match cases.iter().zip(codes).find(|(case, code)| known[*case] != *code) {
        Some((case, code)) => Err(Error::device(format!(
            "{} is not a function of its operands: {} gave {}, and when it was asked again {}",
            device.identity().name,
            operands(&Subject::Matrix(i), case),
            i.d.hex(known[case]),
            i.d.hex(code),
        ))),
        None => Ok(()),
    }
}
