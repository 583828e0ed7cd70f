//! Distribution of a run to engines, and the sum of their results in order.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::Builder,
    time::Instant,
};

use super::{Run, State, engine, identify};
use crate::{
    Error, Result,
    arithmetic::Model,
    base::{interrupt, work::Pace},
    device::{CampaignWork, Device, DeviceName, Engine, Mismatch, Verified},
    isa::Instruction,
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
    let instruction = run.instruction()?;
    let last = run.range(&instruction).end;
    let mut pace = Pace::new(PACE.0, PACE.1);
    let (before, start) = (state.seconds, Instant::now());
    while !state.finished {
        let range = state.next..last.min(state.next.saturating_add(pace.size()));
        let (end, wanted) = (range.end, state.wanted(run));
        pace.measure(range.end - range.start, || {
            compare(engine, range, wanted).map(|verified| state.add(run, &instruction, end, &verified))
        })?;
        state.seconds = before + start.elapsed().as_secs_f64();
        watch(state)?;
        if !state.finished {
            interrupt::check()?;
        }
    }
    Ok(())
}

/// Runs the rest of a run on several devices at once, each opened by `open` in its own thread.
/// Each device takes the next tiles when it is done; the states are those of one engine.
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
    let instruction = run.instruction()?;
    let queue = TileQueue { next: Mutex::new(state.next), end: run.range(&instruction).end };
    let wanted = AtomicUsize::new(state.wanted(run));
    let (before, start) = (state.seconds, Instant::now());
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for name in devices {
            let (sender, instruction, queue, wanted) = (sender.clone(), &instruction, &queue, &wanted);
            let failures = sender.clone();
            let work = move || {
                let outcome = work(run, model, instruction, queue, wanted, || open(name), &sender);
                // The receiver is gone once another device has failed.
                let _ = outcome.map_err(|error| sender.send(Err(error)));
            };
            if let Err(error) = Builder::new().spawn_scoped(scope, work) {
                let _ = failures.send(Err(Error::device(format!("no thread can be started for {name}: {error}"))));
                break;
            }
        }
        drop(sender);
        let outcome = collect(run, &instruction, state, &receiver, &mut |state| {
            wanted.store(state.wanted(run), Ordering::Relaxed);
            state.seconds = before + start.elapsed().as_secs_f64();
            watch(state)
        });
        // Whatever the outcome, no further range is distributed.
        *queue.next.lock().expect("no thread panics with the queue") = queue.end;
        outcome
    })
}

/// A range and its result.
type Compared = Result<(Range<u64>, Verified)>;

/// The tiles that no thread has taken.
struct TileQueue {
    /// Number of the first one.
    next: Mutex<u64>,
    /// Number after the last one.
    end: u64,
}

/// The work of one thread of [`drive_all`]: tiles from the queue, until it is empty.
fn work(
    run: &Run,
    model: &Model,
    instruction: &Instruction,
    queue: &TileQueue,
    wanted: &AtomicUsize,
    open: impl FnOnce() -> Result<Box<dyn Device>>,
    sender: &mpsc::Sender<Compared>,
) -> Result<()> {
    let mut device = open()?;
    // A program names its device in its greeting.
    device.has(instruction)?;
    let name = device.identity().name.to_string();
    let identity = identify(device.as_ref(), instruction);
    if identity != run.device {
        return Err(Error::request(format!(
            "{name} is {identity}, but the run is on {}; name devices of one kind",
            run.device
        )));
    }
    let work = CampaignWork { instruction, sequence: run.sequence(), model };
    let mut engine = engine(device.as_mut(), &work, run.nans())?;
    let mut pace = Pace::new(PACE.0, PACE.1);
    loop {
        let range = {
            let mut next = queue.next.lock().expect("no thread panics with the queue");
            let start = *next;
            *next = queue.end.min(start.saturating_add(pace.size()));
            start..*next
        };
        if range.is_empty() {
            return Ok(());
        }
        let tiles = range.end - range.start;
        let wanted = wanted.load(Ordering::Relaxed);
        let verified = pace.measure(tiles, || compare(engine.as_mut(), range.clone(), wanted));
        if sender.send(Ok((range, verified.map_err(|error| error.within(&name))?))).is_err() {
            return Ok(());
        }
    }
}

/// Adds the results of several engines in order, until the run is finished.
fn collect(
    run: &Run,
    instruction: &Instruction,
    state: &mut State,
    receiver: &mpsc::Receiver<Compared>,
    watch: &mut dyn FnMut(&mut State) -> Result<()>,
) -> Result<()> {
    let mut early: BTreeMap<u64, (u64, Verified)> = BTreeMap::new();
    while !state.finished {
        let (range, verified) = receiver.recv().expect("every range is answered or fails")?;
        early.insert(range.start, (range.end, verified));
        while let Some((end, verified)) = early.remove(&state.next) {
            state.add(run, instruction, end, &verified);
        }
        watch(state)?;
        if !state.finished {
            interrupt::check()?;
        }
    }
    Ok(())
}

/// Compares a range; the result has the first `wanted` mismatches, in order.
///
/// # Errors
/// The engine fails, or finds something else in the same tiles.
fn compare(engine: &mut dyn Engine, range: Range<u64>, wanted: usize) -> Result<Verified> {
    let verified = engine.run(range.clone())?;
    let (differing, regimes) = (verified.differing(), verified.regimes.clone());
    let mismatches = if wanted > 0 { first(engine, range.clone(), verified, wanted)? } else { Vec::new() };
    match (mismatches.len() as u64) < differing.min(wanted as u64) {
        true => Err(unrepeated(&range, differing, mismatches.len() as u64)),
        false => Ok(Verified { regimes, mismatches }),
    }
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

/// The first `wanted` mismatches of a range whose result is `verified`.
fn first(engine: &mut dyn Engine, range: Range<u64>, mut verified: Verified, wanted: usize) -> Result<Vec<Mismatch>> {
    if !verified.is_whole() && range.end - range.start > 1 {
        let middle = range.start + (range.end - range.start) / 2;
        let left = engine.run(range.start..middle)?;
        let mut mismatches = first(engine, range.start..middle, left, wanted)?;
        if mismatches.len() < wanted {
            let right = engine.run(middle..range.end)?;
            let missing = wanted - mismatches.len();
            mismatches.extend(first(engine, middle..range.end, right, missing)?);
        }
        return Ok(mismatches);
    }
    verified.mismatches.sort_unstable();
    verified.mismatches.truncate(wanted);
    Ok(verified.mismatches)
}
