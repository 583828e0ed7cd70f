//! Searches of several instructions side by side, which ask one device.
//!
//! Each search has a thread. A device that has an equal for another thread is asked there; any other one is asked by this thread, one
//! question after the other. The outcome of a search does not depend on the others.

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, Builder},
    time::{Duration, Instant},
};

use super::{Identification, Plan, identify};
use crate::{
    Error, Result,
    base::{error::Interruption, interrupt, threads},
    device::{Device, Execution, Identity},
    isa::{Codes, Instruction, Tiles},
};

/// How often this thread looks for an interruption while no search asks.
const LOOK: Duration = Duration::from_millis(50);

/// A question of a search to the device of the other thread.
enum Question {
    Prepare(Instruction, Sender<Result<Execution>>),
    Execute { instruction: Instruction, rows: usize, columns: usize, tiles: Box<Tiles>, answer: Sender<Result<Codes>> },
}

/// The device as a search sees it.
struct SharedDevice<'a> {
    identity: Identity,
    /// Its equal for the thread of the search, if it has one.
    equal: Option<Box<dyn Device + Send>>,
    questions: Sender<Question>,
    /// The interruption that the other thread has seen.
    interrupted: &'a Mutex<Option<Interruption>>,
}

impl SharedDevice<'_> {
    fn ask<T>(&self, question: impl FnOnce(Sender<Result<T>>) -> Question) -> Result<T> {
        let (sender, answer) = channel();
        let gone = |_| Error::device(format!("{} does not answer any more", self.identity.name));
        self.questions.send(question(sender)).map_err(|_| gone(()))?;
        answer.recv().map_err(|_| gone(()))?
    }

    /// Fails once the other thread has seen an interruption.
    fn check(&self) -> Result<()> {
        match *self.interrupted.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(by) => Err(Error::Interrupted { by }),
            None => Ok(()),
        }
    }
}

impl Device for SharedDevice<'_> {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        self.check()?;
        match &mut self.equal {
            Some(device) => device.prepare(instruction),
            None => self.ask(|answer| Question::Prepare(instruction.clone(), answer)),
        }
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.execute_part(instruction, instruction.m, instruction.n, tiles)
    }

    fn execute_part(&mut self, instruction: &Instruction, rows: usize, columns: usize, tiles: &Tiles) -> Result<Codes> {
        self.check()?;
        match &mut self.equal {
            Some(device) => device.execute_part(instruction, rows, columns, tiles),
            None => {
                let (instruction, tiles) = (instruction.clone(), Box::new(tiles.clone()));
                self.ask(|answer| Question::Execute { instruction, rows, columns, tiles, answer })
            }
        }
    }
}

/// The outcome of a search, and its seconds.
type TimedOutcome = (Result<Identification>, f64);

fn timed(device: &mut dyn Device, instruction: &Instruction, plan: &Plan) -> TimedOutcome {
    let start = Instant::now();
    (identify(device, instruction, plan.clone()), start.elapsed().as_secs_f64())
}

/// Works out how the device computes each instruction, by its plan.
/// The outcomes are in the order of the searches.
pub(super) fn searched(device: &mut dyn Device, searches: &[(&Instruction, Plan)]) -> Vec<TimedOutcome> {
    if let [(instruction, plan)] = searches {
        return vec![timed(device, instruction, plan)];
    }
    let (questions, asked) = channel();
    let interrupted = Mutex::new(None);
    let identity = device.identity().clone();
    let next = Mutex::new(0..searches.len());
    let outcomes: Vec<Mutex<Option<TimedOutcome>>> = searches.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..threads::count().min(searches.len()) {
            let equal = device.for_thread();
            let (identity, questions) = (identity.clone(), questions.clone());
            let mut shared = SharedDevice { identity, equal, questions, interrupted: &interrupted };
            let (next, outcomes) = (&next, &outcomes);
            let search = move || {
                loop {
                    let Some(at) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
                    let (instruction, plan) = &searches[at];
                    let outcome = timed(&mut shared, instruction, plan);
                    *outcomes[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
                }
            };
            // Where the number of threads is limited, those that start do all the work.
            started += usize::from(Builder::new().spawn_scoped(scope, search).is_ok());
        }
        drop(questions);
        match started {
            0 => searches.iter().zip(&outcomes).for_each(|((instruction, plan), outcome)| {
                let searched = timed(device, instruction, plan);
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(searched);
            }),
            _ => answer(device, &asked, &interrupted),
        }
    });
    let gone = || (Err(Error::device(format!("{}: a search ended without a result", identity.name))), 0.0);
    let outcome = |slot: Mutex<Option<TimedOutcome>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.into_iter().map(|slot| outcome(slot).unwrap_or_else(gone)).collect()
}

/// Answers the questions of searches until the last one ends.
fn answer(device: &mut dyn Device, asked: &Receiver<Question>, interrupted: &Mutex<Option<Interruption>>) {
    loop {
        if let Some(by) = interrupt::pending() {
            interrupted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(by);
        }
        // A search that has ended wants no answer.
        match asked.recv_timeout(LOOK) {
            Ok(Question::Prepare(instruction, answer)) => drop(answer.send(device.prepare(&instruction))),
            Ok(Question::Execute { instruction, rows, columns, tiles, answer }) => {
                drop(answer.send(device.execute_part(&instruction, rows, columns, &tiles)));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
