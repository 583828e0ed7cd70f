//! What was found, held against the device on cases that took no part in finding it.

use std::time::{Duration, Instant};

use super::Identification;
use crate::{
    Error, Result,
    arithmetic::Model,
    bench::{Bench, Conflict, Element, Place},
    campaign::{
        Part, Run, State, counterexamples, drive, engine,
        shrink::{Compared, shrink},
    },
    comparison::{Answer, Difference, Kinds, Nans, ResultPlace, Subject, operands, shrink as reduction},
    device::{Batches, CampaignWork, Device, Spot},
    inputs::Sequence,
};

/// Differing outputs with which a run is not made longer.
const ENOUGH: u64 = 10;
/// Dot-product-adds of a run at first.
const FIRST: u64 = 1 << 16;
/// Outputs that the rule misses which are asked again.
const ASKED_AGAIN: usize = 64;
/// Causes of misses that are shown.
const SHOWN: usize = 3;
/// Tiles that are asked again where something differs.
const REPEATED: usize = 16;
/// The part of the tiles of a bounded run that is kept for finding out what differs.
pub(super) const KEPT: u64 = 4;

/// What is compared with what was found.
#[derive(Debug, Clone, Copy)]
pub struct HeldOut {
    /// The seed of the operands.
    pub seed: u64,
    /// Dot-product-adds.
    pub cases: u64,
    /// Tiles that the device may execute; `None`: as many as it takes.
    pub budget: Option<u64>,
    /// How long the run may take; `None`: as long as it takes.
    pub time: Option<Duration>,
}

/// What came of the held-out run.
#[derive(Debug, Clone)]
pub struct Confirmation {
    /// The run, with what differs.
    pub part: Part,
    /// The causes for which the rule misses asked outputs.
    pub missed: Vec<Difference>,
    /// What ended it before its end: a signal; the device failed, or is not a function of its operands.
    pub stopped: Option<Error>,
}

/// Compares dot-product-adds of the device with the rule that was found, twice as many again and again until some differ, and reduces
/// what differs: what the rule missed of the asked outputs, too.
///
/// # Errors
/// The device fails, or is not a function of its operands, before the run; nothing was found, or no tile may be executed.
pub fn confirm(
    device: &mut dyn Device,
    found: &Identification,
    held_out: HeldOut,
    watch: &mut dyn FnMut(&State) -> Result<()>,
) -> Result<Confirmation> {
    let HeldOut { seed, cases, budget, time } = held_out;
    let model = found.model().ok_or_else(|| Error::request(format!("no rule was found for {}", found.instruction)))?;
    let instruction = &found.instruction;
    let mut purse = Purse(budget);
    let all_missed = all_missed(found, &model)?;
    if !all_missed.is_empty() {
        let step = all_missed.len().div_ceil(ASKED_AGAIN);
        let again: Vec<Place> = all_missed.iter().step_by(step).copied().collect();
        let mut batches = Batches::default();
        let mut bench = Bench::of(device, &mut batches, instruction).within(purse.rest() / KEPT, Duration::MAX);
        let outcome = bench.recall(&found.asked.inputs, &found.asked.d).and_then(|()| bench.alone(&again));
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
    let mut confirmation = Confirmation { part, missed: causes(found, &model, &all_missed)?, stopped: outcome.err() };
    confirmation.stopped = match confirmation.stopped.take() {
        None => explain(device, found, &model, &mut confirmation, purse).err(),
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

/// Reduces what differs, and makes sure that the device gives it again.
///
/// # Errors
/// The device fails, or is not a function of its operands.
fn explain(
    device: &mut dyn Device,
    found: &Identification,
    model: &Model,
    confirmation: &mut Confirmation,
    mut purse: Purse,
) -> Result<()> {
    let i = &found.instruction;
    let Confirmation { part, missed, .. } = confirmation;
    let wanted = part.state.kinds.len().min(2 * ENOUGH as usize) as u64 + missed.len() as u64;
    if wanted == 0 {
        return Ok(());
    }
    // A reduction takes the tile as it was found, two in the end, and in between each case twice at most. Half of what is left is kept.
    let share = purse.rest() / 2 / wanted;
    let cases = (share.saturating_sub(3) / 2).min(reduction::BUDGET as u64) as usize;
    if cases > 0 {
        purse.pay(share * wanted);
        let mut listed = Vec::new();
        counterexamples(part, device, model, cases, &mut listed)?;
        for counterexample in &listed {
            constant(device, found, part, counterexample, purse)?;
        }
        part.counterexamples = Some(listed);
        let evaluator = &model.evaluator(i)?;
        for difference in missed {
            if let Some(spot) = difference.place.spot() {
                let mut pair = Compared { device: &mut *device, model: evaluator, instruction: i, nans: Nans::ByCode };
                difference.reduced = shrink(&mut pair, &spot, &difference.found, cases)?;
            }
        }
    }
    // What was asked long ago, again.
    let mut batches = Batches::default();
    let mut bench = Bench::of(device, &mut batches, i).within(purse.rest(), Duration::MAX);
    bench.recall(&found.asked.inputs, &found.asked.d)?;
    bench.repeat(REPEATED)?;
    bench.failure().cloned().map_or(Ok(()), Err)
}

/// The error for a device that failed in the held-out run: where it was because tiles were not answered alike, with an element that
/// shows it, if one is found among the first.
fn unrepeated(device: &mut dyn Device, part: &Part, purse: Purse, error: Error) -> Error {
    let Ok(i) = part.run.instruction() else { return error };
    let tiles = part.run.sequence().tiles(&i, part.state.next, REPEATED * 4);
    let mut batches = Batches::default();
    let mut bench = Bench::of(device, &mut batches, &i).whole().within(purse.rest(), Duration::MAX);
    // A device that fails again has said why.
    let _ = bench.ask(&tiles).and_then(|_| bench.repeat(tiles.count));
    bench.refusal().err().unwrap_or(error)
}

/// Makes sure that an output that differs does so again, and does so without the rest of its tile.
///
/// # Errors
/// The device is not a function of its operands.
fn constant(
    device: &mut dyn Device,
    found: &Identification,
    part: &Part,
    Difference { place, found: answer, reduced, .. }: &Difference,
    purse: Purse,
) -> Result<()> {
    let (i, Some(spot)) = (&found.instruction, place.spot()) else { return Ok(()) };
    let (row, column) = (spot.row as usize, spot.column as usize);
    let element = Element::of(i, &part.run.sequence().tiles(i, spot.tile, 1), (0, row, column));
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
fn all_missed(found: &Identification, model: &Model) -> Result<Vec<Place>> {
    if found.misses == 0 {
        return Ok(Vec::new());
    }
    let part = found.asked.part();
    let given = model.evaluator(&part)?.execute(&found.asked.inputs);
    let missed = (0..found.asked.d.len()).filter(|at| given.get(*at) != found.asked.d.get(*at));
    Ok(missed.map(|at| (at / (part.m * part.n), at / part.n % part.m, at % part.n)).collect())
}

/// The causes for which the rule misses outputs, as they were asked.
fn causes(found: &Identification, model: &Model, missed: &[Place]) -> Result<Vec<Difference>> {
    let part = found.asked.part();
    let evaluator = model.evaluator(&part)?;
    let difference = |&(tile, row, column): &Place| {
        let case = found.asked.inputs.case(&part, tile, row, column);
        let device = found.asked.d.get((tile * part.m + row) * part.n + column);
        let answer = Answer { model: evaluator.dot(&case), device, case };
        let spot = Spot { tile: tile as u64, row: row as u32, column: column as u32 };
        Difference::found(ResultPlace::Output(spot), answer)
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

    /// The causes for which the rule misses asked outputs, as they were asked.
    ///
    /// # Errors
    /// The rule does not hold for the instruction.
    pub fn missed(&self) -> Result<Vec<Difference>> {
        let Some(model) = self.model() else { return Ok(Vec::new()) };
        causes(self, &model, &all_missed(self, &model)?)
    }
}
