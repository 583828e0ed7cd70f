//! Distribution of a run to engines, and the sum of their results in order.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Mutex, mpsc},
    thread::Builder,
    time::Instant,
};

use super::{Run, State, cut::Cut, engine, identify, state::Piece};
use crate::{
    Error, Result,
    arithmetic::Model,
    base::{interrupt, work::Pace},
    device::{CampaignWork, Device, DeviceName, Engine, Spot, Verified},
};

/// Tiles of the first and of the largest range for an engine, which is sized by time.
const PACE: (u64, u64) = (1, 1 << 48);

/// Runs the rest of a run on one engine, and calls `watch` after each step.
///
/// # Errors
/// The engine or `watch` fails; a signal arrives ([`Error::Interrupted`]). The state is that of the last step.
pub fn drive(
    run: &Run,
    state: &mut State,
    engine: &mut dyn Engine,
    watch: &mut dyn FnMut(&State) -> Result<()>,
) -> Result<()> {
    let cut = Cut::new(run)?;
    let mut pace = Pace::new(PACE.0, PACE.1);
    let (before, start) = (state.seconds, Instant::now());
    while !state.finished {
        let range = cut.range(state.next, pace.size());
        let wanted = state.wanted(run);
        let pieces = pace.measure(range.end - range.start, || pieces(&cut, engine, range, wanted))?;
        state.commit(run, &pieces, &cut);
        state.seconds = before + start.elapsed().as_secs_f64();
        watch(state)?;
        if !state.finished {
            interrupt::check()?;
        }
    }
    Ok(())
}

/// Runs the rest of a run on several devices at once, each opened by `open` in its own thread.
/// Each device takes the next units when it is done; the states are those of one engine.
///
/// # Errors
/// As [`drive`]; a device of another kind than that of the run.
pub fn drive_all<'a>(
    run: &Run,
    model: &Model,
    state: &mut State,
    devices: &'a [DeviceName],
    open: &(dyn Fn(&'a DeviceName) -> Result<Box<dyn Device>> + Sync),
    watch: &mut dyn FnMut(&State) -> Result<()>,
) -> Result<()> {
    let cut = Cut::new(run)?;
    let queue = Mutex::new(state.next);
    let wanted = state.wanted(run);
    let (before, start) = (state.seconds, Instant::now());
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for name in devices {
            let (sender, queue, cut) = (sender.clone(), &queue, &cut);
            let failures = sender.clone();
            let work = move || {
                let outcome = work(run, model, cut, queue, wanted, || open(name), &sender);
                // The receiver is gone once another device has failed.
                let _ = outcome.map_err(|error| sender.send(Err(error)));
            };
            if let Err(error) = Builder::new().spawn_scoped(scope, work) {
                let _ = failures.send(Err(Error::device(format!("no thread can be started for {name}: {error}"))));
                break;
            }
        }
        drop(sender);
        let outcome = collect(run, state, &cut, &receiver, &mut |state| {
            state.seconds = before + start.elapsed().as_secs_f64();
            watch(state)
        });
        // Whatever the outcome, no further range is distributed.
        *queue.lock().expect("no thread panics with the queue") = cut.end;
        outcome
    })
}

/// The start of a range, and its pieces.
type ChunkPieces = Result<(u64, Vec<Piece>)>;

/// The work of one thread of [`drive_all`]: units from the queue until it is empty.
fn work(
    run: &Run,
    model: &Model,
    cut: &Cut,
    queue: &Mutex<u64>,
    wanted: usize,
    open: impl FnOnce() -> Result<Box<dyn Device>>,
    sender: &mpsc::Sender<ChunkPieces>,
) -> Result<()> {
    let mut device = open()?;
    let instruction = run.instruction()?;
    // A program names its device in its greeting.
    device.has(&instruction)?;
    let name = device.identity().name.to_string();
    let found = identify(device.as_ref(), &instruction);
    if found != run.device {
        return Err(Error::request(format!(
            "{name} is {found}, but the run is on {}; name devices of one kind",
            run.device
        )));
    }
    let work = CampaignWork { instruction: &instruction, sequence: run.sequence(), model };
    let mut engine = engine(device.as_mut(), &work, run.nans())?;
    let mut pace = Pace::new(PACE.0, PACE.1);
    loop {
        let range = {
            let mut next = queue.lock().expect("no thread panics with the queue");
            let range = cut.range(*next, pace.size());
            *next = range.end;
            range
        };
        if range.is_empty() {
            return Ok(());
        }
        let start = range.start;
        let tiles = range.end - range.start;
        let found = pace.measure(tiles, || pieces(cut, engine.as_mut(), range, wanted)).map_err(|e| e.within(&name))?;
        if sender.send(Ok((start, found))).is_err() {
            return Ok(());
        }
    }
}

/// Adds the results of several engines in order, until the run is finished.
fn collect(
    run: &Run,
    state: &mut State,
    cut: &Cut,
    receiver: &mpsc::Receiver<ChunkPieces>,
    watch: &mut dyn FnMut(&mut State) -> Result<()>,
) -> Result<()> {
    let mut early: BTreeMap<u64, Vec<Piece>> = BTreeMap::new();
    while !state.finished {
        let (start, pieces) = receiver.recv().expect("every chunk is answered or fails")?;
        early.insert(start, pieces);
        while let Some(pieces) = early.remove(&state.next) {
            state.commit(run, &pieces, cut);
        }
        watch(state)?;
        if !state.finished {
            interrupt::check()?;
        }
    }
    Ok(())
}

/// Runs a range, and cuts it after every unit with one of the first `wanted` differing outputs.
/// Units after the last wanted output are left out.
///
/// # Errors
/// The engine fails, or finds something else in the same tiles.
fn pieces(cut: &Cut, engine: &mut dyn Engine, range: Range<u64>, wanted: usize) -> Result<Vec<Piece>> {
    let found = engine.run(range.clone())?;
    if found.differing() == 0 || wanted == 0 {
        return Ok(vec![Piece { end: range.end, found }]);
    }
    let differing = found.differing();
    let again = |found: u64| Err(unrepeated(&range, differing, found));
    let regimes = found.regimes.clone();
    let spots = first(engine, range.clone(), found, wanted)?;
    if (spots.len() as u64) < differing.min(wanted as u64) {
        return again(spots.len() as u64);
    }
    if cut.is_within_unit(&range) {
        return Ok(vec![Piece { end: range.end, found: Verified { regimes, spots } }]);
    }
    let mut pieces = Vec::new();
    let (mut start, mut rest) = (range.start, &spots[..]);
    while let Some(spot) = rest.first() {
        let end = cut.unit_end(spot.tile);
        let (here, after) = rest.split_at(rest.partition_point(|spot| spot.tile < end));
        let found = Verified { spots: here.to_vec(), ..engine.run(start..end)? };
        if found.differing() < here.len() as u64 {
            return again(found.differing());
        }
        pieces.push(Piece { end, found });
        (start, rest) = (end, after);
    }
    if spots.len() < wanted && start < range.end {
        pieces.push(Piece { end: range.end, found: engine.run(start..range.end)? });
    }
    let repeated = pieces.iter().map(|piece| piece.found.differing()).sum();
    // Units after the last wanted output were not run again.
    let whole = pieces.last().is_some_and(|piece| piece.end == range.end);
    if whole && repeated != differing || repeated > differing {
        return again(repeated);
    }
    Ok(pieces)
}

/// The error of a device that gives other results for the same operands.
fn unrepeated(range: &Range<u64>, once: u64, then: u64) -> Error {
    Error::device(format!(
        "the device does not repeat its results: in tiles {} to {}, {once} outputs differed from the model, and {then} when the same tiles \
         ran again; the results depend on more than the operands",
        range.start,
        range.end - 1
    ))
}

/// The first `wanted` differing outputs of a range whose result is `found`.
fn first(engine: &mut dyn Engine, range: Range<u64>, mut found: Verified, wanted: usize) -> Result<Vec<Spot>> {
    if !found.is_whole() && range.end - range.start > 1 {
        let middle = range.start + (range.end - range.start) / 2;
        let left = engine.run(range.start..middle)?;
        let mut spots = first(engine, range.start..middle, left, wanted)?;
        if spots.len() < wanted {
            let right = engine.run(middle..range.end)?;
            let missing = wanted - spots.len();
            spots.extend(first(engine, middle..range.end, right, missing)?);
        }
        return Ok(spots);
    }
    found.spots.sort_unstable();
    found.spots.truncate(wanted);
    Ok(found.spots)
}
