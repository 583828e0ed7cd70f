//! One session with a program: the protocol for one instruction.

use std::{
    fmt, io,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::json;

use super::process::{Arrival, Process};
use crate::{
    base::{error::Interruption, interrupt},
    isa::{Codes, Instruction, Tiles},
};

/// Protocol without saturation, exclusive ors and orders of sparse positions.
const FIRST: u32 = 1;
/// Protocol that says everything that decides results.
const SECOND: u32 = 2;
/// Longest first line that is read, in bytes.
const LONGEST_GREETING: usize = 1 << 16;
/// Longest wait for an answer after an interruption was handled.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(1);
/// Time to wait for bytes after a complete answer.
const SURPLUS: Duration = Duration::from_millis(1);

/// A program that has agreed to execute one instruction.
pub(super) struct Session {
    process: Process,
    instruction: Instruction,
    timeout: Duration,
    /// Name that the program gives itself.
    pub name: Option<String>,
    /// Model that the program names for comparison.
    pub model: Option<String>,
    /// Protocol version of its answer.
    pub protocol: u32,
}

/// The reason that a session could not start.
pub(super) enum Refusal {
    /// The program declined the instruction, in these words.
    Declined(String),
    /// The program broke the protocol or did not answer.
    Failed(String),
    /// The program could not be started.
    NotStarted(io::Error),
    /// A signal arrived first.
    Interrupted(Interruption),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Declined(why) => write!(f, "declines: {why}"),
            Refusal::Failed(what) => f.write_str(what),
            Refusal::NotStarted(error) => write!(f, "cannot be started: {error}"),
            Refusal::Interrupted(by) => write!(f, "interrupted by {}", by.name()),
        }
    }
}

/// The reason that a batch was not answered.
pub(super) enum Failure {
    /// The program broke the protocol.
    Program {
        /// Tiles of the batch that were answered.
        answered: usize,
        /// End of the sentence "answered 3 of 10 tiles, then ...".
        what: String,
    },
    /// A signal arrived first.
    Interrupted(Interruption),
}

#[derive(Deserialize)]
struct Greeting {
    ok: bool,
    name: Option<String>,
    error: Option<String>,
    model: Option<String>,
    protocol: Option<u32>,
}

impl Session {
    /// Offers `instruction` to a program started by `start`, by protocol 2.
    /// A program that does not know protocol 2 gets a second offer by protocol 1, if that covers the instruction.
    /// `known` is the version of its earlier answers.
    pub(super) fn open(
        start: &dyn Fn() -> io::Result<Process>,
        instruction: &Instruction,
        timeout: Duration,
        known: Option<u32>,
    ) -> Result<Session, Refusal> {
        let begin = || {
            let process = start().map_err(Refusal::NotStarted)?;
            let instruction = instruction.clone();
            Ok(Session { process, instruction, timeout, name: None, model: None, protocol: FIRST })
        };
        let mut session: Session = begin()?;
        let first = if unsaid(instruction).is_some() { SECOND } else { known.unwrap_or(SECOND) };
        let mut outcome = session.greet(first)?;
        let knows_none = outcome.as_ref().map_or(true, |greeting| !greeting.ok && greeting.protocol.is_none());
        if known.is_none() && knows_none && unsaid(instruction).is_none() {
            session = begin()?;
            outcome = session.greet(FIRST)?;
        }
        let greeting = outcome.map_err(|what| Refusal::Failed(format!("before its first line it {what}")))?;
        if !greeting.ok {
            return Err(Refusal::Declined(greeting.error.unwrap_or_else(|| "it gives no reason".into())));
        }
        session.protocol = match greeting.protocol {
            None => FIRST,
            Some(spoken @ (FIRST | SECOND)) => spoken,
            Some(other) => {
                return Err(Refusal::Failed(format!(
                    "it answers with protocol {other}; tcnum speaks protocols {FIRST} and {SECOND}"
                )));
            }
        };
        if let (FIRST, Some(unsaid)) = (session.protocol, unsaid(instruction)) {
            return Err(Refusal::Declined(format!(
                "it does not name protocol {SECOND} in its answer, and protocol {FIRST} does not say {unsaid}"
            )));
        }
        (session.name, session.model) = (greeting.name, greeting.model);
        Ok(session)
    }

    /// The instruction of the session.
    pub(super) fn instruction(&self) -> &Instruction {
        &self.instruction
    }

    /// Sends one batch and returns its D codes `[count][m][n]`, which must arrive before the timeout.
    pub(super) fn answer(&mut self, batch: &Tiles) -> Result<Codes, Failure> {
        let i = &self.instruction;
        let tile_bytes = i.m * i.n * i.d.bytes();
        let expected = batch.count * tile_bytes;
        let fail =
            |answered: &[u8], what| Failure::Program { answered: (answered.len() / tile_bytes).min(batch.count), what };
        if let Arrival::Bytes(_) = self.process.receive(Instant::now()) {
            return Err(fail(&[], self.too_much()));
        }
        let count = u32::try_from(batch.count).expect("batches are small");
        let mut message = count.to_le_bytes().to_vec();
        batch.arrays().for_each(|(_, codes)| message.extend_from_slice(codes.as_bytes()));
        self.process.send(message);
        let deadline = Instant::now() + self.patience();
        let enough = |answer: &[u8]| answer.len() >= expected;
        let (answer, end) = gathered(deadline, |deadline| self.process.receive(deadline), enough);
        match end {
            None => {}
            Some(Silence::End) => return Err(fail(&answer, self.process.ending())),
            Some(Silence::Late) => return Err(fail(&answer, self.silent(!answer.is_empty()))),
            Some(Silence::Signal(signal)) => return Err(Failure::Interrupted(signal)),
        }
        let surplus = || self.process.receive(Instant::now() + SURPLUS);
        if answer.len() > expected || matches!(surplus(), Arrival::Bytes(_)) {
            return Err(fail(&answer, self.too_much()));
        }
        Ok(Codes::from_bytes(self.instruction.d, answer).expect("a whole number of codes"))
    }

    /// Ends the session and waits for the program to end.
    /// A `farewell` is a tile count of 0; without it, only the input is closed. Returns true if the program ended by
    /// itself within `patience`.
    pub(super) fn close(&mut self, farewell: bool, patience: Duration) -> Result<bool, String> {
        if farewell {
            self.process.send(0u32.to_le_bytes().to_vec());
        }
        let ended = self.process.finish(patience.min(self.timeout));
        ended.ok_or_else(|| self.too_much())
    }

    /// Offers the instruction and reads the first line: the answer, or what the program did instead.
    fn greet(&mut self, protocol: u32) -> Result<Result<Greeting, String>, Refusal> {
        self.process.send(offer(&self.instruction, protocol));
        let Some(line) = self.line()? else { return Ok(Err(self.process.ending())) };
        let greeting = serde_json::from_slice(&line).map_err(|error| {
            let start: String = String::from_utf8_lossy(&line).chars().take(80).collect();
            Refusal::Failed(format!(
                "its first line is not {{\"ok\":true,\"name\":\"...\"}} or {{\"ok\":false,\"error\":\"...\"}} \
                 ({error}): {start:?}"
            ))
        })?;
        Ok(Ok(greeting))
    }

    /// Reads the program's first line, without its line feed; `None` if the program ended first.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        let deadline = Instant::now() + self.patience();
        let enough = |line: &[u8]| line.contains(&b'\n') || line.len() > LONGEST_GREETING;
        let (mut line, end) = gathered(deadline, |deadline| self.process.receive(deadline), enough);
        match end {
            None => {}
            Some(Silence::End) => return Ok(None),
            Some(Silence::Late) => {
                let what = self.silent(!line.is_empty());
                return Err(Refusal::Failed(format!("before its first line it {what}")));
            }
            Some(Silence::Signal(signal)) => return Err(Refusal::Interrupted(signal)),
        }
        match line.iter().position(|byte| *byte == b'\n') {
            Some(end) if end + 1 < line.len() => {
                Err(Refusal::Failed(format!("after its first line it {}", self.too_much())))
            }
            Some(end) => {
                line.truncate(end);
                Ok(Some(line))
            }
            None => Err(Refusal::Failed(format!("its first line does not end within {LONGEST_GREETING} bytes"))),
        }
    }

    /// Longest wait for an answer.
    fn patience(&self) -> Duration {
        if interrupt::is_over() { self.timeout.min(AFTER_INTERRUPTION) } else { self.timeout }
    }

    fn silent(&mut self, has_partial_answer: bool) -> String {
        self.process.stop();
        format!(
            "gave no {}answer for {} s (‹timeout›) and was stopped{}",
            if has_partial_answer { "whole " } else { "" },
            self.patience().as_secs_f64(),
            self.process.complaint()
        )
    }

    fn too_much(&mut self) -> String {
        self.process.stop();
        format!("wrote more bytes than the protocol allows and was stopped{}", self.process.complaint())
    }
}

/// The reason that no more bytes come.
enum Silence {
    /// The program closed its output.
    End,
    /// The deadline passed.
    Late,
    /// A signal arrived first.
    Signal(Interruption),
}

/// Gathers bytes until there are `enough` or a deadline passes, and says why there are not enough.
fn gathered(
    deadline: Instant,
    mut receive: impl FnMut(Instant) -> Arrival,
    enough: impl Fn(&[u8]) -> bool,
) -> (Vec<u8>, Option<Silence>) {
    let mut all = Vec::new();
    while !enough(&all) {
        let silence = match receive(deadline) {
            Arrival::Bytes(bytes) => {
                all.extend_from_slice(&bytes);
                continue;
            }
            Arrival::End => Silence::End,
            Arrival::Nothing => Silence::Late,
            Arrival::Signal(signal) => Silence::Signal(signal),
        };
        return (all, Some(silence));
    }
    (all, None)
}

/// The line that offers an instruction to the program.
fn offer(i: &Instruction, protocol: u32) -> Vec<u8> {
    let scale = i.scale.map(|scale| json!({"format": scale.format.name, "block": scale.block}));
    let mut sparse = i.chunk().map(|chunk| json!({"length": chunk.length, "kept": chunk.kept}));
    let mut offer = json!({
        "protocol": protocol, "instruction": i.ptx, "m": i.m, "n": i.n, "k": i.k,
        "a": i.a.name, "b": i.b.name, "c": i.c.name, "d": i.d.name, "scale": scale,
    });
    if protocol >= SECOND {
        offer["name"] = json!(i.name);
        offer["saturate"] = json!(i.saturate);
        if i.xor {
            offer["xor"] = json!(true);
        }
        if let (Some(sparse), Some(chunk)) = (&mut sparse, i.chunk()) {
            sparse["together"] = json!(chunk.together);
            sparse["order"] = json!(if chunk.any_order { "any" } else { "ascending" });
        }
    }
    offer["sparse"] = json!(sparse);
    format!("{offer}\n").into_bytes()
}

/// The property of an instruction that decides results and that protocol 1 cannot say.
fn unsaid(i: &Instruction) -> Option<&'static str> {
    let unsaid = [
        (i.saturate && !i.ptx.contains("satfinite"), "that the instruction saturates"),
        (i.xor && !i.ptx.contains("xor"), "that its terms are exclusive ors"),
    ];
    unsaid.into_iter().find_map(|(holds, what)| holds.then_some(what))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::isa;

    #[test]
    fn a_deadline_is_for_the_whole_of_what_is_awaited_however_often_something_comes() {
        let begin = Instant::now();
        let mut clock = begin;
        let every_second = |deadline| {
            clock += Duration::from_secs(1);
            if clock > deadline { Arrival::Nothing } else { Arrival::Bytes(vec![7]) }
        };
        let (bytes, silence) = gathered(begin + Duration::from_secs(60), every_second, |_| false);
        assert_eq!(bytes, [7; 60]);
        assert!(matches!(silence, Some(Silence::Late)));
    }

    /// A program that accepts an instruction and does nothing more.
    #[cfg(unix)]
    fn idle(instruction: &Instruction) -> Session {
        let script = "read offer; echo '{\"ok\": true}'; exec sleep 1000";
        let words = ["sh", "-c", script].map(String::from);
        let open = Session::open(&|| Process::start(&words), instruction, Duration::from_secs(300), None);
        open.unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_does_not_answer_or_never_reads_is_stopped_after_the_timeout() {
        // The second has more input than a pipe holds.
        for (name, count) in [("mma.m8n8k16.s32.s8.s8.s32", 10), ("wgmma.m64n256k16.f32.f16.f16", 40)] {
            let instruction = isa::find(name).unwrap();
            let mut session = idle(&instruction);
            session.timeout = Duration::from_millis(100);
            let Err(Failure::Program { answered, what }) = session.answer(&Tiles::zeros(&instruction, count)) else {
                panic!("{name} is answered");
            };
            assert_eq!((answered, what.as_str()), (0, "gave no answer for 0.1 s (‹timeout›) and was stopped"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_goes_on_after_its_session_has_not_ended_by_itself() {
        for farewell in [true, false] {
            let mut session = idle(&isa::find("mma.m8n8k4.f64.f64.f64.f64").unwrap());
            assert_eq!(session.close(farewell, Duration::from_millis(100)), Ok(false));
        }
    }

    /// Instructions that differ in the place of A (`.rs`) or in the lanes of a wave (`.w64`).
    /// They differ in `name` alone.
    #[test]
    fn what_decides_results_is_in_the_greeting() {
        let mut seen: HashMap<Vec<u8>, &Instruction> = HashMap::new();
        for i in isa::all() {
            let mut offer: serde_json::Value = serde_json::from_slice(&super::offer(i, SECOND)).unwrap();
            assert_eq!(offer["name"], json!(i.name));
            let other = i.name.strip_suffix(".rs").or(i.name.strip_suffix(".w64")).map(str::to_string);
            offer.as_object_mut().unwrap().remove("name");
            if let Some(same) = seen.insert(serde_json::to_vec(&offer).unwrap(), i) {
                assert_eq!(Some(&same.name), other.as_ref(), "{i}");
            }
            let first: serde_json::Value = serde_json::from_slice(&super::offer(i, FIRST)).unwrap();
            assert!(first.get("saturate").is_none() && first["protocol"] == 1);
        }
        let saturating = isa::find("tcgen05.m128n16k32.s32.s8.s8.s32.satfinite").unwrap();
        assert!(unsaid(&saturating).is_some());
        assert!(unsaid(&isa::find("mma.m16n8k16.s32.s8.s8.s32.satfinite").unwrap()).is_none());
    }
}
