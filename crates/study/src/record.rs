//! Recordings: a device's answers as a trace.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    Error, Result, Stage,
    base::{
        interrupt,
        work::{self, Pace, UNASKED},
    },
    device::{Batches, Device, Execution, ExecutionKind},
    inputs::{self, Distribution, Drawing, Init, Mixture, Op, RandomStream},
    isa::{Codes, Instruction, MatrixShape, Tiles},
    report::{Table, grouped},
    trace::{CONTENTS, INCOMPLETE, OPCODES, Trace, TraceKind},
};

/// Most bytes of tiles in one recording, which memory holds several times.
const MOST_BYTES: usize = 2 << 30;

crate::rows! {
    /// A recording that was written.
    pub struct RecordingRow in "recordings" {
        /// Instruction.
        instruction: String => shown("instruction").essential(),
        /// Kind of execution.
        execution: &'static str => shown("ran").essential(),
        /// Recorded tiles.
        tiles: usize => shown("tiles").essential(),
        /// Requested tiles.
        tiles_asked: usize => shown("tiles asked"),
        /// Recorded outputs.
        outputs: usize => shown("outputs").essential(),
        /// File.
        file: String => shown("file").essential(),
    }
}

/// A recording to be made.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Tiles.
    pub tiles: RecordedTiles,
    /// Seed of the operands.
    pub seed: u64,
    /// File.
    pub file: PathBuf,
    /// True if the user named the file; any other file replaces only a recording.
    pub named: bool,
    /// Command line, kept with the recording.
    pub source: String,
    /// Keys and values to keep with it.
    pub annotations: Vec<(String, String)>,
}

/// Choice of the tiles of a recording.
#[derive(Debug, Clone)]
pub enum RecordedTiles {
    /// Named corners of the instruction, then mixed operands; by default about 32 KiB of random tiles.
    Mixture {
        /// How many tiles.
        count: Option<usize>,
    },
    /// The tiles of a probe.
    Probe {
        /// The operation.
        op: Op,
        /// How operands are drawn.
        distribution: Distribution,
        /// How many samples.
        samples: usize,
    },
    /// The operands of a trace.
    Given(Arc<Trace>),
}

/// Records each instruction.
/// If `available` is set, instructions that the device lacks become notes. `said` gets rows and notes of what was recorded,
/// whatever ends the work.
///
/// # Errors
/// As [`record`].
pub fn record_all(
    device: &mut dyn Device,
    recordings: &[(&Instruction, Recording)],
    available: bool,
    said: (&mut Vec<RecordingRow>, &mut Vec<String>),
    watch: &mut dyn FnMut(Stage),
) -> Result<()> {
    let (rows, notes) = said;
    let start = Instant::now();
    for (number, (instruction, recording)) in recordings.iter().enumerate() {
        interrupt::check()?;
        let what = format!("recording {instruction} on {}", device.identity().name);
        watch(Stage { what: &what, done: number as u64, total: recordings.len() as u64 });
        let unasked = UNASKED.saturating_sub(start.elapsed()) / (recordings.len() - number) as u32;
        let before = rows.len();
        match record(device, instruction, recording, unasked, rows) {
            Err(error) if available && error.is_unavailable() => notes.push(error.to_string()),
            outcome => outcome?,
        }
        notes.extend(rows[before..].iter().filter(|row| row.tiles < row.tiles_asked).map(|row| {
            format!(
                "{instruction}: {} of the {} default tiles fit into a minute; ‹tiles=N› records N.",
                row.tiles, row.tiles_asked
            )
        }));
    }
    Ok(())
}

/// Executes the tiles of a recording, writes them with the answers, and adds a row to `rows`.
/// If the work ends early, the tiles until then are written, and the file says so. A default number of tiles ends after the time
/// `unasked`.
///
/// # Errors
/// The device lacks the instruction, or fails; an interruption; too many tiles; an annotation with a key of the recording itself; a
/// file that cannot be written.
pub fn record(
    device: &mut dyn Device,
    instruction: &Instruction,
    recording: &Recording,
    unasked: Duration,
    rows: &mut Vec<RecordingRow>,
) -> Result<()> {
    let execution = device.prepare(instruction)?;
    let (asked, mut drawing) = drawing(instruction, recording)?;
    let mut metadata = metadata(device, &execution, recording)?;
    let is_unasked = matches!(recording.tiles, RecordedTiles::Mixture { count: None });
    let until = (is_unasked && execution.kind == ExecutionKind::External).then(|| Instant::now() + unasked);
    let (mut tiles, mut d) = (Tiles::zeros(instruction, 0), Codes::zeros(instruction.d, 0));
    let shape = MatrixShape { rows: instruction.m, columns: instruction.n };
    let mut batches = Batches::default();
    let outcome = work::ranges(asked as u64, Pace::new(1, u64::MAX), |range| {
        let end = range.end as usize;
        while tiles.count < end && !until.is_some_and(|until| tiles.count > 0 && Instant::now() >= until) {
            let some = drawing.next(end - tiles.count);
            tiles.extend(&some);
            batches.extend(device, instruction, shape, &some, until, &mut d)?;
        }
        Ok(())
    });
    let outputs = d.len();
    let count = outputs / (instruction.m * instruction.n);
    if count == 0 {
        return outcome;
    }
    if count < asked {
        let why = outcome.as_ref().err().map_or("the tiles that fit into a minute".into(), Error::to_string);
        metadata.insert(INCOMPLETE.into(), format!("{count} of {asked} tiles: {why}"));
    }
    let trace = Trace::from_run(instruction, &tiles.slice(0, count), d, metadata)?;
    let written = match recording.named {
        true => trace.write(&recording.file),
        false => trace.write_derived(&recording.file, TraceKind::Recording),
    };
    if written.is_ok() {
        rows.push(RecordingRow {
            instruction: instruction.name.clone(),
            execution: execution.kind.name(),
            tiles: count,
            tiles_asked: asked,
            outputs,
            file: recording.file.to_string_lossy().into_owned(),
        });
    }
    outcome.and(written)
}

/// The metadata of a recording.
///
/// # Errors
/// An annotation with a key of the recording itself.
fn metadata(device: &dyn Device, execution: &Execution, recording: &Recording) -> Result<BTreeMap<String, String>> {
    let identity = device.identity();
    let mut metadata: BTreeMap<String, String> = BTreeMap::from([
        ("device".into(), identity.name.to_string()),
        ("source".into(), recording.source.clone()),
        ("description".into(), identity.description.clone()),
        ("execution".into(), execution.kind.name().into()),
        ("seed".into(), recording.seed.to_string()),
        ("tcnum".into(), env!("CARGO_PKG_VERSION").into()),
    ]);
    if !execution.opcodes.is_empty() {
        metadata.insert(OPCODES.into(), execution.opcodes.join("; "));
    }
    metadata.extend(identity.details.iter().cloned());
    let notes = &recording.annotations;
    let is_reserved =
        |key: &String| metadata.contains_key(key) || [OPCODES, CONTENTS, INCOMPLETE].contains(&key.as_str());
    if let Some((key, _)) = notes.iter().find(|(key, _)| is_reserved(key)) {
        return Err(Error::request(format!("‹note={key}=...›: every recording has its own {key}; choose another key")));
    }
    metadata.extend(notes.iter().cloned());
    Ok(metadata)
}

/// The answer in one sentence; `None` if nothing was recorded.
pub fn answer(device: &str, rows: &[RecordingRow]) -> Option<String> {
    let sum = |count: fn(&RecordingRow) -> usize| grouped(rows.iter().map(count).sum::<usize>() as i64);
    let (tiles, asked) = (sum(|row| row.tiles), sum(|row| row.tiles_asked));
    let share = if tiles == asked { format!("all {tiles} tiles") } else { format!("{tiles} of {asked} tiles") };
    Some(match rows {
        [] => return None,
        [row] => format!("Recorded {share} of {} on {device} in {}.", row.instruction, row.file),
        rows => format!("Recorded {share} of {} instructions on {device}, a file each.", rows.len()),
    })
}

/// Makes the table of recordings.
pub fn table(rows: Vec<RecordingRow>) -> Table {
    Table::of("Recordings", rows)
}

/// The tiles of a recording, drawn piece by piece.
enum RecordedDrawing<'i> {
    Mixture(Mixture<'i>),
    /// A drawing with a number of samples left.
    Probe(Drawing<'i>, usize),
    /// A trace, and the number of its tiles that were taken.
    Given(Arc<Trace>, usize),
}

impl RecordedDrawing<'_> {
    /// The next tiles, `most` at most.
    fn next(&mut self, most: usize) -> Tiles {
        match self {
            RecordedDrawing::Mixture(mixture) => mixture.next(most),
            RecordedDrawing::Probe(drawing, left) => {
                let samples = (*left).min(most * drawing.samples_per_tile());
                *left -= samples;
                drawing.next(samples).tiles
            }
            RecordedDrawing::Given(trace, next_tile) => {
                let from = *next_tile;
                *next_tile = trace.count().min(from + most);
                trace.padded(from, *next_tile)
            }
        }
    }
}

/// The number of tiles of a recording, and their drawing.
fn drawing<'i>(i: &'i Instruction, recording: &Recording) -> Result<(usize, RecordedDrawing<'i>)> {
    let seed = recording.seed;
    let count = match recording.tiles.clone() {
        RecordedTiles::Probe { op, distribution, samples } => {
            let drawing = Drawing::new(i, op, distribution, Init::Low, RandomStream { seed, stream: 0 });
            return Ok((samples.div_ceil(op.samples_per_tile(i)), RecordedDrawing::Probe(drawing, samples)));
        }
        RecordedTiles::Given(trace) => return Ok((trace.count(), RecordedDrawing::Given(trace, 0))),
        RecordedTiles::Mixture { count } => count.unwrap_or_else(|| inputs::record_tiles(i)),
    };
    let most = MOST_BYTES / i.tile_bytes();
    if count > most {
        return Err(Error::request(format!(
            "{count} tiles of {i} exceed the {most} that fit into a recording of 2 GiB; record several files, each with another ‹seed›"
        )));
    }
    Ok((count, RecordedDrawing::Mixture(Mixture::new(i, seed, count))))
}
