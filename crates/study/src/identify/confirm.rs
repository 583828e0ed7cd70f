//! The held-out run: a found rule against the device, on cases that took no part in finding the rule.

use std::time::{Duration, Instant};

use super::Identification;
use crate::{
    Error, Result,
    arithmetic::Model,
    bench::{Bench, Conflict, Element},
    campaign::{
        Part, Run, State, counterexamples, drive, engine,
        shrink::{Compared, shrink},
    },
    comparison::{Answer, Difference, Kinds, Nans, ResultPlace, Subject, operands, shrink as reduction},
    device::{Batches, CampaignWork, Device, Spot},
    inputs::{Position, Sequence},
};

/// Number of differing outputs from which on a run is not extended.
const ENOUGH: u64 = 10;
/// Dot-product-adds of a run before it is first extended.
const FIRST: u64 = 1 << 16;
/// Largest number of missed outputs of the search that are asked again.
const ASKED_AGAIN: usize = 64;
/// Largest number of causes of misses that are shown.
const SHOWN: usize = 3;
/// Tiles that are asked again if something differs.
const REPEATED: usize = 16;
/// One tile in this many of a bounded run is kept for explaining differences.
pub(super) const KEPT: u64 = 4;

/// The operands and the limits of a held-out run.
#[derive(Debug, Clone, Copy)]
pub struct HeldOut {
    /// The seed of the operands.
    pub seed: u64,
    /// Number of dot-product-adds.
    pub cases: u64,
    /// Tiles that the device may execute; `None`: no limit.
    pub budget: Option<u64>,
    /// Longest time of the run; `None`: no limit.
    pub time: Option<Duration>,
}

/// The outcome of a held-out run.
#[derive(Debug, Clone)]
pub struct Confirmation {
    /// The run, with the outputs that differ.
    pub part: Part,
    /// The causes for which the rule misses asked outputs.
    pub missed: Vec<Difference>,
    /// The reason for an early end: a signal, a failed device, or one that is no function of its operands.
    pub stopped: Option<Error>,
}

/// Compares dot-product-adds of the device with the rule that was found, and reduces the differences.
///
/// The run is doubled until enough outputs differ or all cases are compared. Asked outputs that the rule missed are reduced too.
///
/// # Errors
/// The device fails, or is not a function of its operands, before the run; nothing was found, or no tile may be executed.
pub fn confirm(
    device: &mut dyn Device,
    identification: &Identification,
    held_out: HeldOut,
    watch: &mut dyn FnMut(&State) -> Result<()>,
) -> Result<Confirmation> {
    let HeldOut { seed, cases, budget, time } = held_out;
    let model = identification
        .model()
        .ok_or_else(|| Error::request(format!("no rule was found for {}", identification.instruction)))?;
    let instruction = &identification.instruction;
    let mut purse = Purse(budget);
    let all_missed = all_missed(identification, &model)?;
    if !all_missed.is_empty() {
        let step = all_missed.len().div_ceil(ASKED_AGAIN);
        let again: Vec<Position> = all_missed.iter().step_by(step).copied().collect();
        let mut batches = Batches::default();
        let mut bench = Bench::of(device, &mut batches, instruction).within(purse.rest() / KEPT, Duration::MAX);
        let outcome =
            bench.recall(&identification.asked.inputs, &identification.asked.d).and_then(|()| bench.alone(&again));
        purse.pay(bench.executions());
        outcome?;
    }
    let execution = device.prepare(instruction)?;
    let sequence = Sequence::Random { seed };
    let most = purse.rest() - purse.rest() / KEPT;
    let cases = cases.min(most.saturating_mul((instruction.m * instruction.n) as u64));
    if purse.rest() < 2 {
        return Err(Error::request(format!("{instruction}: the budget has no tiles for a held-out run")));
    }
    let run = Run::new(instruction, device, &model, sequence, Some(cases.min(FIRST)), ENOUGH)?;
    let mut part = Part::new(run, device.identity(), "identified")?;
    part.begin(&execution);
    let Part { mut run, mut state, .. } = part.clone();
    let work = CampaignWork { instruction, sequence, model: &model };
    let (start, mut is_over) = (Instant::now(), false);
    let mut watch = |state: &State| {
        watch(state)?;
        is_over = time.is_some_and(|time| start.elapsed() >= time);
        if is_over { Err(Error::device("the time of the held-out run is over")) } else { Ok(()) }
    };
    let outcome = engine(device, &work, run.nans()).and_then(|mut engine| {
        loop {
            drive(&run, &mut state, engine.as_mut(), &mut watch)?;
            if run.cases >= cases || state.differing() >= ENOUGH {
                return Ok(());
            }
            (run.cases, state.finished) = (cases.min(2 * run.cases), false);
        }
    });
    purse.pay(state.next);
    if outcome.is_err() {
        run.cases = cases;
        state.finished = state.next >= run.tiles(instruction);
    }
    let outcome = if is_over { Ok(()) } else { outcome };
    (part.run, part.state) = (run, state);
    let mut confirmation =
        Confirmation { part, missed: causes(identification, &model, &all_missed)?, stopped: outcome.err() };
    confirmation.stopped = match confirmation.stopped.take() {
        None => explain(device, identification, &model, &mut confirmation, purse).err(),
        Some(Error::Device { message }) => {
            Some(unrepeated(device, &confirmation.part, purse, Error::Device { message }))
        }
        stopped => stopped,
    };
    Ok(confirmation)
}

/// The tiles that may still be executed; `None`: any number.
#[derive(Debug, Clone, Copy)]
struct Purse(Option<u64>);

impl Purse {
    fn pay(&mut self, tiles: u64) {
        self.0 = self.0.map(|left| left.saturating_sub(tiles));
    }

    fn rest(self) -> u64 {
        self.0.unwrap_or(u64::MAX)
    }
}

/// Reduces the cases that differ, and checks that the device gives their answers again.
///
/// # Errors
/// The device fails, or is not a function of its operands.
fn explain(
    device: &mut dyn Device,
    identification: &Identification,
    model: &Model,
    confirmation: &mut Confirmation,
    mut purse: Purse,
) -> Result<()> {
    let i = &identification.instruction;
    let Confirmation { part, missed, .. } = confirmation;
    let wanted = part.state.kinds.len().min(2 * ENOUGH as usize) as u64 + missed.len() as u64;
    if wanted == 0 {
        return Ok(());
    }
    // A reduction executes the tile as found, each case at most twice, and two tiles at the end. Half of the remaining tiles is kept.
    let share = purse.rest() / 2 / wanted;
    let cases = (share.saturating_sub(3) / 2).min(reduction::BUDGET as u64) as usize;
    if cases > 0 {
        purse.pay(share * wanted);
        let mut listed = Vec::new();
        counterexamples(part, device, model, cases, &mut listed)?;
        for counterexample in &listed {
            constant(device, identification, part, counterexample, purse)?;
        }
        part.counterexamples = Some(listed);
        let evaluator = &model.evaluator(i)?;
        for difference in missed {
            if let Some(spot) = difference.place.spot() {
                let mut pair = Compared { device: &mut *device, model: evaluator, instruction: i, nans: Nans::ByCode };
                difference.reduced = shrink(&mut pair, &spot, &difference.original, cases)?;
            }
        }
    }
    // The device may answer differently by now, so tiles of the search are asked again.
    let mut batches = Batches::default();
    let mut bench = Bench::of(device, &mut batches, i).within(purse.rest(), Duration::MAX);
    bench.recall(&identification.asked.inputs, &identification.asked.d)?;
    bench.repeat(REPEATED)?;
    bench.failure().cloned().map_or(Ok(()), Err)
}

/// The error for a device that failed in the held-out run.
///
/// If the device gave two answers to equal operands, the error names an element that shows it, provided that one is found among the first
/// tiles that were not compared.
fn unrepeated(device: &mut dyn Device, part: &Part, purse: Purse, error: Error) -> Error {
    let Ok(i) = part.run.instruction() else { return error };
    let tiles = part.run.sequence().tiles(&i, part.state.next, REPEATED * 4);
    let mut batches = Batches::default();
    let mut bench = Bench::of(device, &mut batches, &i).asking_whole_tiles().within(purse.rest(), Duration::MAX);
    // A second failure says nothing new; only two answers to equal operands replace the error.
    let _ = bench.ask(&tiles).and_then(|_| bench.repeat(tiles.count));
    bench.refusal().err().unwrap_or(error)
}

/// Checks that an output that differs does so again, also without the rest of its tile.
///
/// # Errors
/// The device is not a function of its operands.
fn constant(
    device: &mut dyn Device,
    identification: &Identification,
    part: &Part,
    Difference { place, original: answer, reduced, .. }: &Difference,
    purse: Purse,
) -> Result<()> {
    let (i, Some(spot)) = (&identification.instruction, place.spot()) else { return Ok(()) };
    let (row, column) = (spot.row as usize, spot.column as usize);
    let place = Position { tile: 0, row, column };
    let element = Element::of(i, &part.run.sequence().tiles(i, spot.tile, 1), place);
    if answer.device == answer.model {
        let code = i.d.hex(answer.device);
        return Err(Error::device(format!(
            "{} is not a function of its operands: {} gave {code} in row {row}, column {column} of tile {} of the held-out run \
             when asked again, but not before: earlier tiles, time or chance decide",
            device.identity().name,
            operands(&Subject::Matrix(i), &answer.case),
            spot.tile,
        )));
    }
    if reduced.is_some() {
        return Ok(());
    }
    let elements = [element, Element::alone(i, &answer.case, row, column)];
    let codes = [answer.device, answer.model];
    let mut batches = Batches::default();
    let mut bench = Bench::of(device, &mut batches, i).within(purse.rest(), Duration::MAX);
    Err(bench.inconstant(Conflict { elements, codes, tiles: [None; 2] }))
}

/// The asked outputs that a rule misses.
fn all_missed(identification: &Identification, model: &Model) -> Result<Vec<Position>> {
    if identification.misses == 0 {
        return Ok(Vec::new());
    }
    let part = identification.asked.part();
    let given = model.evaluator(&part)?.execute(&identification.asked.inputs);
    let missed = (0..identification.asked.d.len()).filter(|at| given.get(*at) != identification.asked.d.get(*at));
    let place = |at: usize| Position { tile: at / (part.m * part.n), row: at / part.n % part.m, column: at % part.n };
    Ok(missed.map(place).collect())
}

/// The causes for which the rule misses outputs, with their cases as asked.
fn causes(identification: &Identification, model: &Model, missed: &[Position]) -> Result<Vec<Difference>> {
    let part = identification.asked.part();
    let evaluator = model.evaluator(&part)?;
    let difference = |&Position { tile, row, column }: &Position| {
        let case = identification.asked.inputs.case(&part, tile, row, column);
        let device = identification.asked.d.get((tile * part.m + row) * part.n + column);
        let answer = Answer { model: evaluator.dot(&case), device, case };
        let spot = Spot { tile: tile as u64, row: row as u32, column: column as u32 };
        Difference::of(ResultPlace::Output(spot), answer)
    };
    let (subject, mut causes) = (Subject::Matrix(&part), Vec::new());
    Kinds::of(&subject, missed.iter().map(difference)).causes(&subject, SHOWN, &mut |_| Ok(()), &mut causes)?;
    Ok(causes)
}

impl Identification {
    /// A model whose only rule is the one that was found; `None` if none was.
    pub fn model(&self) -> Option<Model> {
        Model::parse(&self.text(), "identified.toml").ok()
    }

    /// The causes for which the rule misses asked outputs, with their cases as asked.
    ///
    /// # Errors
    /// The rule does not hold for the instruction.
    pub fn missed(&self) -> Result<Vec<Difference>> {
        let Some(model) = self.model() else { return Ok(Vec::new()) };
        causes(self, &model, &all_missed(self, &model)?)
    }
}
