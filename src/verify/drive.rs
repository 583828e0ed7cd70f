//! Handing out a run to engines, and adding up in order what they find.

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
    base::{interrupt, pace::Pace},
    device::{CampaignWork, Device, DeviceName, Engine, Spot, Verified},
};

/// The tiles that an engine gets at first, and at most: as many as it compares in about a second.
const PACE: (u64, u64) = (1, 1 << 48);

/// Runs what is left of a run on one engine, and tells `watch` after each step.
///
/// # Errors
/// The engine fails, or `watch` does; a signal arrives ([`Error::Interrupted`]), after which the state is that of the last step.
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

/// Runs what is left of a run on several devices at once, each opened by `open` in a thread of its own; every device
/// takes the next units when it is done with those it had. The state passes through as with one engine.
///
/// # Errors
/// As [`drive`]; a device is not what the run was begun on.
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
        // Whatever the outcome, nothing is handed out any more.
        *queue.lock().expect("no thread panics with the queue") = cut.end;
        outcome
    })
}

/// The pieces of a chunk, and where it starts.
type ChunkPieces = Result<(u64, Vec<Piece>)>;

/// What one thread of [`drive_all`] does: units from the queue until there are none.
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
    // What a program is, it says when it starts.
    device.has(&instruction)?;
    let name = device.identity().name.to_string();
    let found = identify(device.as_ref(), &instruction);
    if found != run.device {
        return Err(Error::request(format!(
            "{name} is {found}, but the run is on {}; devices that share a run are of one kind",
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

/// Adds up the answers of several engines in order, until the run is finished.
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

/// Runs a range, and cuts it after every unit in which one of the first `wanted` differing outputs lies; the units after
/// the last wanted one are left out.
///
/// # Errors
/// The engine fails, or does not find again what it has found: nothing of that may be lost.
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
    // Where enough were found, what comes after them was not run again.
    let whole = pieces.last().is_some_and(|piece| piece.end == range.end);
    if whole && repeated != differing || repeated > differing {
        return again(repeated);
    }
    Ok(pieces)
}

/// The failure of a device that gives other results for the same operands.
fn unrepeated(range: &Range<u64>, once: u64, then: u64) -> Error {
    Error::device(format!(
        "the device does not repeat itself: in the tiles {} to {} outputs that differed from the model: {once}, and when the same tiles \
         were run again: {then}; its results depend on more than the operands",
        range.start,
        range.end - 1
    ))
}

/// The first `wanted` differing outputs of a range in which `found` was found.
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
