//! Conformance checks of a program that speaks the exec protocol.

use std::time::Duration;

use super::{
    super::DeviceName,
    not_started,
    process::Process,
    session::{Failure, Refusal, Session},
    words,
};
use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    base::interrupt,
    inputs::{Sequence, record_batch},
    isa::{self, Codes, Instruction, Tiles},
};

crate::rows! {
    /// One check of a program that speaks the exec protocol.
    pub struct ExecCheckRow in "exec_checks" {
        /// Offered instruction.
        instruction: String => shown("instruction").essential(),
        /// Name of the check.
        check: &'static str => shown("check").essential(),
        /// True if the program passed.
        passed: bool => shown("passed").essential(),
        /// Behaviour of the program.
        found: String => shown("found").essential(),
    }
}

/// The instructions that are offered by default: one for each form of operands.
const OFFERED: [&str; 10] = [
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k16.f16.f16.f16.f16",
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "mma.m8n8k4.f64.f64.f64.f64",
    "mma.m16n8k32.f32.e4m3.e5m2.f32",
    "mma.m16n8k32.s32.s8.u8.s32.satfinite",
    "mma.sp.m16n8k32.s32.s8.u8.s32.ordered",
    "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16",
    "mfma.32x32x8.f32.f16.f16.f32",
];
/// Tiles in each batch of the checks, in order.
const BATCHES: [usize; 5] = [1, 3, 2, 17, 1];
/// Inexact elements of D wanted in all tiles together, to notice a program that rounds at random.
const INEXACT: usize = 256;
/// Tiles drawn to reach [`INEXACT`], at most.
const MOST_DRAWN: u64 = 16;
/// The check of the first line.
const GREETING: &str = "greeting";
/// The name of an instruction that no program has.
const UNKNOWN: &str = "tcnum.unknown.m3n5k2";

/// Instructions and matrix products to check, by name.
///
/// Without names, one for each form of operands whose tiles can be drawn.
///
/// # Errors
/// An unknown name; a product whose tiles cannot be drawn.
pub fn offered(names: &[String]) -> Result<Vec<Instruction>> {
    let offer = |name: &str| {
        let offered = isa::gemm(name).unwrap_or_else(|| isa::resolve(name))?;
        match isa::can_be_drawn(&offered) {
            true => Ok(offered),
            false => Err(Error::request(format!(
                "{offered}: tiles are drawn for k of 1, 2, 4 and so on up to 128; choose k so"
            ))),
        }
    };
    match names {
        [] => OFFERED.iter().map(|name| offer(name)).collect(),
        names => names.iter().map(|name| offer(name)).collect(),
    }
}

/// Checks the program in `command` on each of `instructions`, and adds a row per check to `rows`.
/// Tiles are drawn from `seed`. The checks cover the greeting, batches of several sizes, zeros, repeatability in
/// another order, batch and session, both ways to end, and an unknown instruction. The program may decline instructions
/// unless `all` is set. Instructions that draw random bits, by the model that the program names, are returned with it:
/// their outputs have to be neighbours of the model's sum, and the frequencies are for the caller to test.
///
/// # Errors
/// A request error: no program, or one that cannot be started; [`Error::Interrupted`].
pub fn check(
    command: &[String],
    timeout: Duration,
    instructions: &[Instruction],
    all: bool,
    seed: u64,
    rows: &mut Vec<ExecCheckRow>,
) -> Result<Vec<(Instruction, Model)>> {
    let words = program_words(command)?;
    let mut check = ProgramCheck { words: &words, timeout, seed, protocol: None, rows, drawing: Vec::new() };
    let mut accepted = None;
    for instruction in instructions {
        interrupt::check()?;
        if check.instruction(instruction, all)? {
            accepted = accepted.or(Some(instruction));
        }
    }
    accepted.map_or(Ok(()), |instruction| check.unknown(instruction))?;
    Ok(check.drawing)
}

/// The words of a program and its arguments, given as words or as one line, with or without `exec:`.
pub(super) fn program_words(command: &[String]) -> Result<Vec<String>> {
    let words = match command {
        [line] => words::split(match &DeviceName::from(line.as_str()) {
            DeviceName::Exec(command) => command,
            _ => line,
        })
        .map_err(Error::request)?,
        words => words.to_vec(),
    };
    match words.first().is_none_or(String::is_empty) {
        true => Err(Error::request("no program is named; write tcnum exec-check PROGRAM ARGS")),
        false => Ok(words),
    }
}

/// True if the program properly declined every instruction, so that no tile was executed.
pub fn declined_all(rows: &[ExecCheckRow]) -> bool {
    !rows.is_empty() && rows.iter().all(|row| row.passed && row.check == GREETING)
}

/// Sums up the checks in one sentence; `None` before the first check.
pub fn answer(rows: &[ExecCheckRow], complete: bool) -> Option<String> {
    let failed: Vec<&ExecCheckRow> = rows.iter().filter(|row| !row.passed).collect();
    let (count, so_far) = (rows.len(), if complete { "" } else { " so far" });
    Some(match &failed[..] {
        [] if rows.is_empty() => return None,
        [] if declined_all(rows) => format!(
            "The program declines properly each of the {count} instructions that were offered{so_far}, so no tile was executed. \
             Offer its instruction by name or file: ‹instr=NAME›, ‹instr=FILE.toml›."
        ),
        [] => format!("The program passes all {count} checks{so_far}."),
        [first, ..] => format!(
            "The program fails {} of {count} checks{so_far}, first '{}' with {}; docs/exec.md describes the protocol.",
            failed.len(),
            first.check,
            first.instruction
        ),
    })
}

/// A program under check.
struct ProgramCheck<'a> {
    words: &'a [String],
    timeout: Duration,
    seed: u64,
    /// Protocol version by which it accepted an instruction.
    protocol: Option<u32>,
    rows: &'a mut Vec<ExecCheckRow>,
    /// Instructions that draw random bits by the model that the program names.
    drawing: Vec<(Instruction, Model)>,
}

/// The program's conduct, right or wrong.
type Conduct = std::result::Result<String, String>;

impl ProgramCheck<'_> {
    fn row(&mut self, instruction: &str, check: &'static str, verdict: Conduct) {
        let passed = verdict.is_ok();
        let (Ok(conduct) | Err(conduct)) = verdict;
        self.rows.push(ExecCheckRow { instruction: instruction.into(), check, passed, found: conduct });
    }

    fn open(&self, instruction: &Instruction) -> Result<std::result::Result<Session, Refusal>> {
        interrupt::check()?;
        match Session::open(&|| Process::start(self.words), instruction, self.timeout, self.protocol) {
            Err(Refusal::Interrupted(by)) => Err(Error::Interrupted { by }),
            Err(Refusal::NotStarted(error)) => Err(not_started(&"exec-check", &self.words[0], &error)),
            outcome => Ok(outcome),
        }
    }

    /// Checks the program on one instruction; returns true if it accepts it.
    fn instruction(&mut self, i: &Instruction, must: bool) -> Result<bool> {
        let mut session = match self.open(i)? {
            Ok(session) => session,
            Err(Refusal::Declined(why)) => {
                let conduct = format!("declines: {why}");
                self.row(&i.name, GREETING, if must { Err(conduct) } else { Ok(conduct) });
                return Ok(false);
            }
            Err(refusal) => {
                self.row(&i.name, GREETING, Err(refusal.to_string()));
                return Ok(false);
            }
        };
        self.protocol = Some(session.protocol);
        let named = session.name.as_ref().map_or_else(|| "without a name".into(), |name| format!("as '{name}'"));
        let model = session.model.as_ref().map_or_else(String::new, |model| format!(", compared with '{model}'"));
        self.row(&i.name, GREETING, Ok(format!("accepts by protocol {}, {named}{model}", session.protocol)));
        let (tiles, inexact) = drawn(i, self.seed);
        let rest = tiles.count - BATCHES.iter().sum::<usize>();
        let batches: Vec<usize> = BATCHES.into_iter().chain((rest > 0).then_some(rest)).collect();
        let answers = in_batches(&mut session, &tiles, &batches)?;
        let sizes = batches.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        self.row(
            &i.name,
            "batches",
            answers.as_ref().map(|_| format!("answers batches of {sizes} tiles")).map_err(String::clone),
        );
        let Ok(once) = answers else { return Ok(true) };
        let zeros = in_batches(&mut session, &Tiles::zeros(i, 2), &[2])?;
        self.row(&i.name, "zeros", zeros.and_then(|d| zero(i, &d)));
        self.row(&i.name, "ends at a tile count of 0", ends(&mut session, true, self.timeout));

        let again = match self.open(i)? {
            Ok(mut session) => {
                let backward = (0..tiles.count).rev().map(|at| tiles.slice(at, at + 1));
                let codes = in_batches(&mut session, &joined(i, backward), &[tiles.count])?;
                self.row(&i.name, "ends at the end of its input", ends(&mut session, false, self.timeout));
                codes
            }
            Err(refusal) => Err(refusal.to_string()),
        };
        let stated = session.model.as_ref().and_then(|name| Model::load(name).ok());
        let program = stated.as_ref().and_then(|model| model.program(i).ok());
        match program.filter(|program| program.random_bits().is_some()) {
            Some(program) => {
                let verdict = again.and_then(|again| neighbours(&program, &tiles, &once, &again));
                self.row(&i.name, "rounds at random", verdict);
                self.drawing.extend(stated.map(|model| (i.clone(), model)));
            }
            None => self.row(&i.name, "repeats itself", again.and_then(|again| alike(i, &once, &again, inexact))),
        }
        Ok(true)
    }

    /// Offers an unknown instruction that differs from `i` in name and shape only.
    fn unknown(&mut self, i: &Instruction) -> Result<()> {
        let (name, ptx) = (UNKNOWN.to_string(), UNKNOWN.to_string());
        let (m, n, k) = (3, 5, 2);
        let other = Instruction { name, ptx, m, n, k, scale: None, sparse: None, kernel: None, ..i.clone() };
        let verdict = match self.open(&other)? {
            Ok(_) => Err("accepts an instruction that does not exist; answer {\"ok\":false,\"error\":\"...\"}".into()),
            Err(Refusal::Declined(why)) => Ok(format!("declines: {why}")),
            Err(refusal) => Err(refusal.to_string()),
        };
        self.row(UNKNOWN, "declines an unknown instruction", verdict);
        Ok(())
    }
}

/// Answers to the tiles, in batches of these sizes.
fn in_batches(session: &mut Session, tiles: &Tiles, sizes: &[usize]) -> Result<std::result::Result<Codes, String>> {
    let mut d: Option<Codes> = None;
    let mut from = 0;
    for size in sizes {
        match session.answer(&tiles.slice(from, from + size)) {
            Ok(codes) => match &mut d {
                Some(d) => d.extend(&codes),
                None => d = Some(codes),
            },
            Err(Failure::Interrupted(by)) => return Err(Error::Interrupted { by }),
            Err(Failure::Program { answered, what }) => {
                return Ok(Err(format!("answered {answered} tiles of a batch of {size}, then {what}")));
            }
        }
        from += size;
    }
    Ok(Ok(d.expect("there is a batch")))
}

fn zero(i: &Instruction, d: &Codes) -> Conduct {
    match d.iter().position(|code| i.d.to_f64(code) != 0.0) {
        None => Ok("zeros give zeros".into()),
        Some(at) => Err(format!("zeros give {} in element {at} of D", i.d.to_f64(d.get(at)))),
    }
}

/// Draws tiles for the batches, and counts their inexact elements.
fn drawn(i: &Instruction, seed: u64) -> (Tiles, usize) {
    let count = |tiles: &Tiles| {
        let places = (0..tiles.count * i.m * i.n).map(|at| (at / (i.m * i.n), at / i.n % i.m, at % i.n));
        places.filter(|(tile, row, column)| tiles.case(i, *tile, *row, *column).is_inexact(i)).count()
    };
    let mut tiles = record_batch(i, seed, BATCHES.iter().sum());
    let mut inexact = count(&tiles);
    for more in 0..if i.d.is_integer() { 0 } else { MOST_DRAWN } {
        if inexact >= INEXACT {
            break;
        }
        let tile = Sequence::Random { seed }.tiles(i, more, 1);
        inexact += count(&tile);
        tiles.extend(&tile);
    }
    (tiles, inexact)
}

fn joined(i: &Instruction, parts: impl Iterator<Item = Tiles>) -> Tiles {
    let mut all = Tiles::zeros(i, 0);
    parts.for_each(|part| all.extend(&part));
    all
}

/// Compares outputs with the results that random bits choose between.
/// `backward` are the outputs of the same tiles in reverse order.
fn neighbours(program: &Program, tiles: &Tiles, once: &Codes, backward: &Codes) -> Conduct {
    let Instruction { m, n, .. } = program.instruction;
    let (mut rounded, mut differing) = (0, 0);
    for at in 0..once.len() {
        let (tile, row, column) = (at / (m * n), at / n % m, at % n);
        let again = backward.get((tiles.count - 1 - tile) * m * n + at % (m * n));
        let neighbours = program.neighbours(&tiles.case(&program.instruction, tile, row, column));
        let codes = neighbours.map_or([0; 2], |neighbours| neighbours.codes);
        if let Some(code) = [once.get(at), again].iter().find(|code| !codes.contains(code)) {
            let [inner, outer] = codes;
            return Err(format!(
                "tile {tile}, row {row}, column {column}: {code:#x}, which is neither {inner:#x} nor {outer:#x}, the neighbours of the \
                 model's sum"
            ));
        }
        rounded += usize::from(codes[0] != codes[1]);
        differing += usize::from(once.get(at) != again);
    }
    Ok(format!(
        "every output is a neighbour of the model's sum; {differing} of {rounded} that are rounded differ in another session"
    ))
}

/// Compares outputs with the outputs of the same tiles in reverse order.
fn alike(i: &Instruction, once: &Codes, backward: &Codes, inexact: usize) -> Conduct {
    let each = i.m * i.n;
    let last = once.len() / each - 1;
    let again = |at: usize| backward.get((last - at / each) * each + at % each);
    match (0..once.len()).find(|at| once.get(*at) != again(*at)) {
        None if i.d.is_integer() => {
            Ok("the same tiles give the same outputs in another session and another order".into())
        }
        None => Ok(format!(
            "the same tiles give the same outputs in another session and another order; {inexact} of them rounded"
        )),
        Some(at) => {
            let (tile, row, column) = (at / each, at / i.n % i.m, at % i.n);
            Err(format!(
                "tile {tile}, row {row}, column {column}: {:#x}, but {:#x} in another session, after other tiles",
                once.get(at),
                again(at)
            ))
        }
    }
}

fn ends(session: &mut Session, farewell: bool, patience: Duration) -> Conduct {
    match session.close(farewell, patience) {
        Ok(true) => Ok("ends".into()),
        Ok(false) => Err("goes on running".into()),
        Err(what) => Err(what),
    }
}
