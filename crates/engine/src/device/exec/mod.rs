//! The device `exec:PROGRAM ARGS`: any program that computes tiles over standard input and output.
//!
//! `docs/exec.md` describes the protocol. A program that ends, hangs, never reads or writes too much is stopped with
//! its children, and the error says how many tiles it answered.

mod check;
mod process;
mod session;
mod words;

use std::{
    fmt::Display,
    io, thread,
    time::{Duration, Instant},
};

use super::{Device, DeviceName, Execution, ExecutionKind, Generation, Identity};
use crate::{
    Error, Result,
    base::work::Pace,
    isa::{Codes, Instruction, Tiles},
};
pub use check::{ExecCheckRow, answer as check_answer, check, declined_all, offered};
use process::Process;
use session::{Failure, Refusal, Session};
pub use words::split;

/// Tiles of a batch, at most.
const BATCH_TILES: usize = 4096;
/// Bytes of a batch's input, at most (about).
const BATCH_BYTES: usize = 8 << 20;
/// Tiles of the first batch.
/// Later batches are sized by time, so that a slow program stays within its timeout.
const FIRST_TILES: usize = 16;

/// Longest time that a program may take to end after its session.
const FAREWELL: Duration = Duration::from_secs(1);

/// A program that computes tiles. It is started once for each instruction.
pub struct ExecDevice {
    identity: Identity,
    words: Vec<String>,
    timeout: Duration,
    session: Option<Session>,
    /// Size of the next batch.
    pace: Pace,
    /// Tiles answered in this session, before the current request.
    answered: usize,
    /// Protocol version of the program's answers.
    protocol: Option<u32>,
    /// Further sessions, which share the tiles.
    others: Vec<ExecDevice>,
}

impl ExecDevice {
    /// Makes the device from a command line, split into words as by a shell.
    /// The program starts at the first request.
    /// `timeout` limits one answer, from the first byte of the request to the last byte of the answer.
    ///
    /// # Errors
    /// A request error: an empty command, or an open quote.
    pub fn new(command: &str, timeout: Duration) -> Result<ExecDevice> {
        let wrong = |what: &str| Error::request(format!("exec:{command}: {what}; write exec:'PROGRAM ARGS'"));
        let words = words::split(command).map_err(|what| wrong(&what))?;
        if words.first().is_none_or(String::is_empty) {
            return Err(wrong("no program is named"));
        }
        Ok(ExecDevice::started_by(command, words, timeout))
    }

    /// Makes the device of [`check`]'s program.
    ///
    /// # Errors
    /// As [`check`], before the program starts.
    pub fn of_words(command: &[String], timeout: Duration) -> Result<ExecDevice> {
        Ok(ExecDevice::started_by(&command.join(" "), check::program_words(command)?, timeout))
    }

    fn started_by(command: &str, words: Vec<String>, timeout: Duration) -> ExecDevice {
        let identity = Identity::new(DeviceName::Exec(command.into()), "an external program");
        let (pace, others) = (first_pace(), Vec::new());
        ExecDevice { identity, words, timeout, session: None, pace, answered: 0, protocol: None, others }
    }

    /// Returns the session for `instruction`, and starts it if another or none is running.
    fn session(&mut self, instruction: &Instruction) -> Result<&mut Session> {
        if self.session.as_ref().is_some_and(|s| s.instruction() != instruction) {
            self.close()?;
        }
        if self.session.is_none() {
            self.session = Some(self.start(instruction)?);
        }
        Ok(self.session.as_mut().expect("it was just started"))
    }

    fn start(&mut self, instruction: &Instruction) -> Result<Session> {
        let device = &self.identity.name;
        let start = || Process::start(&self.words);
        let session =
            Session::open(&start, instruction, self.timeout, self.protocol).map_err(|refusal| match refusal {
                Refusal::NotStarted(error) => not_started(device, &self.words[0], &error),
                // The program works and declines: as with any device that lacks an instruction, the request is wrong.
                Refusal::Declined(why) => Error::unavailable(format!("{device} does not execute {instruction}: {why}")),
                Refusal::Failed(what) => Error::device(format!("{device} answered no tile: {what}")),
                Refusal::Interrupted(by) => Error::Interrupted { by },
            })?;
        if let Some(name) = &session.name {
            self.identity.description.clone_from(name);
        }
        // The program may name the model to compare it with.
        self.identity.generation = session.model.clone().map_or(Generation::Unknown, Generation::Named);
        self.protocol = Some(session.protocol);
        self.pace = first_pace();
        self.answered = 0;
        Ok(session)
    }

    fn close(&mut self) -> Result<()> {
        match self.session.take().map(|mut session| session.close(true, FAREWELL)) {
            Some(Err(what)) => {
                Err(Error::device(format!("{}: after its last answer the program {what}", self.identity.name)))
            }
            _ => Ok(()),
        }
    }
}

impl ExecDevice {
    /// Executes tiles in the session of this device alone.
    fn answer(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        let i = instruction;
        let most = (BATCH_BYTES / i.tile_bytes()).clamp(1, BATCH_TILES);
        let mut d = Codes::zeros(i.d, 0);
        let mut from = 0;
        while from < tiles.count {
            self.session(instruction)?;
            let to = tiles.count.min(from + most.min(self.pace.size() as usize));
            let begin = Instant::now();
            let outcome = self.session(instruction)?.answer(&tiles.slice(from, to));
            let took = begin.elapsed();
            d.extend(&outcome.map_err(|failure| {
                self.session = None;
                match failure {
                    Failure::Interrupted(by) => Error::Interrupted { by },
                    Failure::Program { answered, what } => Error::device(format!(
                        "{} answered {} of {} tiles of {instruction}, then {what}",
                        self.identity.name,
                        self.answered + from + answered,
                        self.answered + tiles.count,
                    )),
                }
            })?);
            self.pace.took((to - from) as u64, took);
            from = to;
        }
        self.answered += tiles.count;
        Ok(d)
    }
}

fn first_pace() -> Pace {
    Pace::new(FIRST_TILES as u64, BATCH_TILES as u64)
}

/// The error for a program that cannot be started.
fn not_started(device: &dyn Display, program: &str, error: &io::Error) -> Error {
    let message = format!("{device}: '{program}' cannot be started: {error}");
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Error::request(message),
        _ => Error::device(message),
    }
}

impl Device for ExecDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        self.session(instruction)?;
        Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
    }

    fn share(&mut self, sessions: usize) {
        let DeviceName::Exec(command) = &self.identity.name else { return };
        let other = |_| ExecDevice::started_by(command, self.words.clone(), self.timeout);
        self.others = (1..sessions).map(other).collect();
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        let each = tiles.count.div_ceil(1 + self.others.len()).max(1);
        if each >= tiles.count {
            return self.answer(instruction, tiles);
        }
        let mut others = std::mem::take(&mut self.others);
        let rest: Vec<Tiles> =
            (each..tiles.count).step_by(each).map(|from| tiles.slice(from, tiles.count.min(from + each))).collect();
        let answers = thread::scope(|scope| {
            let work = others.iter_mut().zip(&rest);
            let running: Vec<_> =
                work.map(|(other, part)| scope.spawn(move || other.answer(instruction, part))).collect();
            let first = self.answer(instruction, &tiles.slice(0, each));
            let gone = |_| Err(Error::device("a session of the program ended without a result"));
            let later = running.into_iter().map(|thread| thread.join().unwrap_or_else(gone));
            std::iter::once(first).chain(later).collect::<Vec<_>>()
        });
        self.others = others;
        let mut d = Codes::zeros(instruction.d, 0);
        for codes in answers {
            d.extend(&codes?);
        }
        Ok(d)
    }
}

impl Drop for ExecDevice {
    fn drop(&mut self) {
        // Nobody would read the error of a bad exit.
        let _ = self.close();
    }
}
