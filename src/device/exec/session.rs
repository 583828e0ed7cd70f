//! One session with a program: the protocol, for one instruction.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::process::{Arrival, Process};
use crate::isa::{Codes, Instruction, Tiles};

/// The longest first line that is read from a program.
const LONGEST_GREETING: usize = 1 << 16;
/// The longest that a program may take to end when its session does.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long bytes after a complete answer are listened for.
const SURPLUS: Duration = Duration::from_millis(1);

/// A program that has agreed to execute one instruction.
pub(super) struct Session {
    process: Process,
    instruction: Instruction,
    timeout: Duration,
    /// What the program calls itself.
    pub name: Option<String>,
}

/// Why a session could not start.
pub(super) enum Refusal {
    /// The program says that it cannot do the instruction, in these words.
    Declined(String),
    /// The program did not keep to the protocol, did not answer or did not start.
    Failed(String),
}

/// A batch that was not answered as the protocol has it.
pub(super) struct Failure {
    /// Tiles of the batch that were answered.
    pub answered: usize,
    /// What happened, to stand after "answered 3 of 10 tiles, then".
    pub what: String,
}

#[derive(Deserialize)]
struct Greeting {
    ok: bool,
    name: Option<String>,
    error: Option<String>,
}

impl Session {
    /// Offers `instruction` to a program that has just started.
    pub(super) fn open(process: Process, instruction: &Instruction, timeout: Duration) -> Result<Session, Refusal> {
        let mut session = Session { process, instruction: instruction.clone(), timeout, name: None };
        session.process.send(offer(instruction));
        let line = session.greeting().map_err(Refusal::Failed)?;
        let greeting: Greeting = serde_json::from_slice(&line).map_err(|error| {
            let start: String = String::from_utf8_lossy(&line).chars().take(80).collect();
            Refusal::Failed(format!(
                "its first line is not {{\"ok\":true,\"name\":\"...\"}} or {{\"ok\":false,\"error\":\"...\"}} \
                 ({error}): {start:?}"
            ))
        })?;
        if !greeting.ok {
            return Err(Refusal::Declined(greeting.error.unwrap_or_else(|| "it gives no reason".into())));
        }
        session.name = greeting.name;
        Ok(session)
    }

    /// The instruction of the session.
    pub(super) fn instruction(&self) -> &Instruction {
        &self.instruction
    }

    /// The program's D codes `[count][m][n]` for one batch.
    pub(super) fn answer(&mut self, batch: &Tiles) -> Result<Codes, Failure> {
        let i = &self.instruction;
        let tile_bytes = i.m * i.n * i.d.bytes();
        let expected = batch.count * tile_bytes;
        let mut answer = Vec::with_capacity(expected);
        let fail = |answered: &[u8], what| Failure { answered: (answered.len() / tile_bytes).min(batch.count), what };
        if let Arrival::Bytes(_) = self.process.receive(Duration::ZERO) {
            return Err(fail(&[], self.too_much()));
        }
        let count = u32::try_from(batch.count).expect("batches are small");
        let mut message = count.to_le_bytes().to_vec();
        batch.arrays().for_each(|(_, codes)| message.extend_from_slice(codes.as_bytes()));
        self.process.send(message);
        while answer.len() < expected {
            match self.process.receive(self.timeout) {
                Arrival::Bytes(bytes) => answer.extend_from_slice(&bytes),
                Arrival::End => return Err(fail(&answer, format!("ended ({})", self.process.ending()))),
                Arrival::Nothing => return Err(fail(&answer, self.silent())),
            }
        }
        if answer.len() > expected || matches!(self.process.receive(SURPLUS), Arrival::Bytes(_)) {
            return Err(fail(&answer, self.too_much()));
        }
        Ok(Codes::from_bytes(self.instruction.d, answer).expect("a whole number of codes"))
    }

    /// Tells the program that the session is over and waits for its end: what it did wrong meanwhile, if it did.
    pub(super) fn close(&mut self) -> Result<(), String> {
        self.process.send(0u32.to_le_bytes().to_vec());
        match self.process.finish(self.timeout.min(FAREWELL)) {
            true => Err(self.too_much()),
            false => Ok(()),
        }
    }

    /// The program's first line, without its end.
    fn greeting(&mut self) -> Result<Vec<u8>, String> {
        let mut line = Vec::new();
        loop {
            match self.process.receive(self.timeout) {
                Arrival::Bytes(bytes) => line.extend_from_slice(&bytes),
                Arrival::End => return Err(format!("it ended before its first line ({})", self.process.ending())),
                Arrival::Nothing => return Err(format!("before its first line it {}", self.silent())),
            }
            match line.iter().position(|byte| *byte == b'\n') {
                Some(end) if end + 1 < line.len() => {
                    return Err(format!("after its first line it {}", self.too_much()));
                }
                Some(end) => {
                    line.truncate(end);
                    return Ok(line);
                }
                None if line.len() > LONGEST_GREETING => {
                    return Err(format!("its first line does not end within {LONGEST_GREETING} bytes"));
                }
                None => {}
            }
        }
    }

    fn silent(&mut self) -> String {
        self.process.stop();
        format!(
            "gave no answer for {} s (--timeout) and was stopped{}",
            self.timeout.as_secs_f64(),
            self.process.complaint()
        )
    }

    fn too_much(&mut self) -> String {
        self.process.stop();
        format!("wrote bytes that the protocol does not have there and was stopped{}", self.process.complaint())
    }
}

/// The line that offers an instruction.
fn offer(i: &Instruction) -> Vec<u8> {
    let scale = i.scale.map(|scale| json!({"format": scale.format.name, "block": scale.block}));
    let sparse = i.chunk().map(|chunk| json!({"length": chunk.length, "kept": chunk.kept}));
    let offer = json!({
        "protocol": 1, "instruction": i.ptx, "m": i.m, "n": i.n, "k": i.k,
        "a": i.a.name, "b": i.b.name, "c": i.c.name, "d": i.d.name, "scale": scale, "sparse": sparse,
    });
    format!("{offer}\n").into_bytes()
}
