//! Jobs side by side, which ask one device.
//!
//! A device that has an equal for another thread is asked there; any other one is asked by this thread, one question after the other.
//! The outcome of a job does not depend on the others.

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, Builder},
    time::Duration,
};

use crate::{
    Error, Result,
    base::{error::Interruption, interrupt, threads},
    device::{Device, Execution, Identity},
    isa::{Codes, Instruction, Tiles},
};

/// How often this thread looks for an interruption while no job asks.
const LOOK: Duration = Duration::from_millis(50);

/// A question of a job to the device of the other thread.
enum Question {
    Prepare(Instruction, Sender<Result<Execution>>),
    Execute { instruction: Instruction, rows: usize, columns: usize, tiles: Box<Tiles>, answer: Sender<Result<Codes>> },
}

/// The device as a job sees it.
struct SharedDevice<'a> {
    identity: Identity,
    /// Its equal for the thread of the job, if it has one.
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

/// Does each job with a device: the one given, or as good as that one.
/// The outcomes are in the order of the jobs; one is missing if its thread has ended early.
pub(super) fn each<J: Send, R: Send>(
    device: &mut dyn Device,
    jobs: Vec<J>,
    work: impl Fn(&mut dyn Device, J) -> R + Sync,
) -> Vec<Option<R>> {
    if jobs.len() < 2 {
        return jobs.into_iter().map(|job| Some(work(device, job))).collect();
    }
    let (questions, asked) = channel();
    let interrupted = Mutex::new(None);
    let identity = device.identity().clone();
    let count = jobs.len();
    let outcomes: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = Mutex::new(jobs.into_iter().zip(&outcomes));
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let keep = |outcome: &Mutex<Option<R>>, done| {
        *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    };
    thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..threads::count().min(count) {
            let equal = device.for_thread();
            let (identity, questions) = (identity.clone(), questions.clone());
            let mut shared = SharedDevice { identity, equal, questions, interrupted: &interrupted };
            let (take, keep, work) = (&take, &keep, &work);
            let job = move || {
                while let Some((job, outcome)) = take() {
                    keep(outcome, work(&mut shared, job));
                }
            };
            // Where the number of threads is limited, those that start do all the work.
            started += usize::from(Builder::new().spawn_scoped(scope, job).is_ok());
        }
        drop(questions);
        if started > 0 {
            answer(device, &asked, &interrupted);
        }
        while let Some((job, outcome)) = take() {
            keep(outcome, work(device, job));
        }
    });
    drop(next);
    outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Answers the questions of jobs until the last one ends.
fn answer(device: &mut dyn Device, asked: &Receiver<Question>, interrupted: &Mutex<Option<Interruption>>) {
    loop {
        if let Some(by) = interrupt::pending() {
            interrupted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(by);
        }
        // A job that has ended wants no answer.
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
