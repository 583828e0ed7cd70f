//! The device `exec:PROGRAM ARGS`: any program that computes tiles, over its standard input and output.
//!
//! The program gets one line of JSON that offers an instruction and answers one line. Then come batches: a
//! little-endian u32 tile count T (0 ends the session), then A codes `[T][m][k]`, B codes `[T][k][n]` and C codes
//! `[T][m][n]`; it answers D codes `[T][m][n]`. Where the offer has `"sparse":{"length":4,"kept":2}` A has only the
//! stored elements, kept / length of k in a row, and after C comes a byte for each, its position in its chunk of `length`.
//! Where it has `"scale":{"format":"e8m0","block":32}` the scale codes of A `[T][m][k/block]` and of B `[T][k/block][n]` come last.
//! Both are null in other forms. Whatever the program
//! does (ends, hangs, never reads, writes too much), it is stopped and reaped, and the error says how far it got.

mod process;
mod session;
mod words;

use std::{io, time::Duration};

use super::{Device, Execution, ExecutionKind, Identity};
use crate::{
    Error, Result,
    isa::{Codes, Instruction, Tiles},
};
use process::Process;
use session::{Refusal, Session};

/// The most tiles, and about the most bytes of input, in one batch.
const BATCH_TILES: usize = 4096;
const BATCH_BYTES: usize = 8 << 20;

/// A program that computes tiles. It runs from the first instruction on, and anew for each further one.
pub struct ExecDevice {
    identity: Identity,
    words: Vec<String>,
    timeout: Duration,
    session: Option<Session>,
}

impl ExecDevice {
    /// The program and arguments in `command`, split into words as a shell does but run without one; `timeout`
    /// is how long it may go without an answer. It starts when it is first asked for something.
    ///
    /// # Errors
    /// A request error for an empty command or a quote that is not closed.
    pub fn new(command: &str, timeout: Duration) -> Result<ExecDevice> {
        let wrong = |what: &str| Error::request(format!("exec:{command}: {what}; write exec:'PROGRAM ARGS'"));
        let words = words::split(command).map_err(|what| wrong(&what))?;
        if words.first().is_none_or(String::is_empty) {
            return Err(wrong("no program is named"));
        }
        let identity = Identity {
            name: format!("exec:{command}"),
            description: "an external program".into(),
            details: Vec::new(),
        };
        Ok(ExecDevice { identity, words, timeout, session: None })
    }

    /// The session for `instruction`: the running one, or a new one in place of one for another instruction.
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
        let process = Process::start(&self.words).map_err(|error| {
            let message = format!("{device}: '{}' cannot be started: {error}", self.words[0]);
            match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Error::request(message),
                _ => Error::device(message),
            }
        })?;
        let session = Session::open(process, instruction, self.timeout).map_err(|refusal| match refusal {
            // The program works and says no: as with any device that lacks an instruction, the request is wrong.
            Refusal::Declined(why) => Error::unavailable(format!("{device} does not execute {instruction}: {why}")),
            Refusal::Failed(what) => Error::device(format!("{device} answered no tile: {what}")),
        })?;
        if let Some(name) = &session.name {
            self.identity.description.clone_from(name);
        }
        Ok(session)
    }

    fn close(&mut self) -> Result<()> {
        match self.session.take().map(|mut session| session.close()) {
            Some(Err(what)) => {
                Err(Error::device(format!("{}: after its last answer the program {what}", self.identity.name)))
            }
            _ => Ok(()),
        }
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

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        let i = instruction;
        let batch = (BATCH_BYTES / i.tile_bytes()).clamp(1, BATCH_TILES);
        let mut d = Codes::zeros(i.d, 0);
        for from in (0..tiles.count).step_by(batch) {
            let session = self.session(instruction)?;
            let outcome = session.answer(&tiles.slice(from, tiles.count.min(from + batch)));
            d.extend(&outcome.map_err(|failure| {
                self.session = None;
                Error::device(format!(
                    "{} answered {} of {} tiles of {instruction}, then {}",
                    self.identity.name,
                    from + failure.answered,
                    tiles.count,
                    failure.what
                ))
            })?);
        }
        Ok(d)
    }
}

impl Drop for ExecDevice {
    fn drop(&mut self) {
        // Nobody is left to hear of a program that ends badly after all its answers.
        let _ = self.close();
    }
}
