//! Recording what a device answers, as a trace.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{
    Error, Result, Stage,
    base::{interrupt, pace::UNASKED},
    device::{Batches, Device, Execution, ExecutionKind},
    inputs::{self, Distribution, Init, Op, RandomStream},
    isa::{Codes, Instruction, Tiles},
    report::{Table, grouped},
    trace::{CONTENTS, INCOMPLETE, OPCODES, Trace, TraceKind},
};

/// The most bytes of tiles in one recording: they are held in memory, some of them several times.
const MOST_BYTES: usize = 2 << 30;

crate::rows! {
    /// A recording that was written.
    pub struct RecordingRow in "recordings" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// How the device executed it.
        execution: &'static str => shown("ran").essential(),
        /// How many tiles were recorded.
        tiles: usize => shown("tiles").essential(),
        /// How many tiles were to be recorded.
        tiles_asked: usize => shown("tiles asked"),
        /// How many outputs.
        outputs: usize => shown("outputs").essential(),
        /// The file.
        file: String => shown("file").essential(),
    }
}

/// What to record, and where.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Which tiles.
    pub tiles: RecordedTiles,
    /// Seed of the operands.
    pub seed: u64,
    /// The file.
    pub file: PathBuf,
    /// Whether the user named the file, which is then replaced; else it takes the place of nothing but a recording.
    pub named: bool,
    /// The command line, kept with the recording.
    pub source: String,
    /// Key and value pairs to keep with it.
    pub annotations: Vec<(String, String)>,
}

/// Which tiles a recording has.
#[derive(Debug, Clone, Copy)]
pub enum RecordedTiles {
    /// The named corners of the instruction, then a mixture of operands: as many tiles, or by default about 32 KiB of random ones.
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
}

/// Records each instruction; those that the device lacks become notes where `available` is set. `said`: rows and notes of what was
/// recorded, whatever ends the work.
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
    let begun = Instant::now();
    for (number, (instruction, recording)) in recordings.iter().enumerate() {
        interrupt::check()?;
        let what = format!("recording {instruction} on {}", device.identity().name);
        watch(Stage { what: &what, done: number as u64, total: recordings.len() as u64 });
        let unasked = UNASKED.saturating_sub(begun.elapsed()) / (recordings.len() - number) as u32;
        let before = rows.len();
        match record(device, instruction, recording, unasked, rows) {
            Err(error) if available && error.is_unavailable() => notes.push(error.to_string()),
            outcome => outcome?,
        }
        notes.extend(rows[before..].iter().filter(|row| row.tiles < row.tiles_asked).map(|row| {
            format!(
                "{instruction}: {} of the {} default tiles fit into a minute; --tiles N records N.",
                row.tiles, row.tiles_asked
            )
        }));
    }
    Ok(())
}

/// Executes the tiles of a recording, writes them with what the device answers, and adds a row to `rows`. Whatever ends the work
/// early, the tiles until then are written, if there is one, and the file says so. Tiles that nobody asked for end so after the time
/// `unasked`.
///
/// # Errors
/// The device lacks the instruction, or fails; an interruption; tiles that are too many; an annotation whose key a recording has
/// itself; a file that cannot be written.
pub fn record(
    device: &mut dyn Device,
    instruction: &Instruction,
    recording: &Recording,
    unasked: Duration,
    rows: &mut Vec<RecordingRow>,
) -> Result<()> {
    let execution = device.prepare(instruction)?;
    let tiles = tiles(instruction, recording)?;
    let mut metadata = metadata(device, &execution, recording)?;
    let is_unasked = matches!(recording.tiles, RecordedTiles::Mixture { count: None });
    let until = (is_unasked && execution.kind == ExecutionKind::External).then(|| Instant::now() + unasked);
    let mut d = Codes::zeros(instruction.d, 0);
    let shape = (instruction.m, instruction.n);
    let outcome = Batches::default().extend(device, instruction, shape, &tiles, until, &mut d);
    let (outputs, asked) = (d.len(), tiles.count);
    let count = outputs / (instruction.m * instruction.n);
    if count == 0 {
        return outcome;
    }
    if count < asked {
        let why = outcome.as_ref().err().map_or("so many fit into a minute".into(), Error::to_string);
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

/// What a recording says of itself.
///
/// # Errors
/// An annotation whose key it has itself.
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
    let own = |key: &String| metadata.contains_key(key) || [OPCODES, CONTENTS, INCOMPLETE].contains(&key.as_str());
    if let Some((key, _)) = notes.iter().find(|(key, _)| own(key)) {
        return Err(Error::request(format!(
            "--note {key}=...: a recording says itself what its {key} is; choose another key"
        )));
    }
    metadata.extend(notes.iter().cloned());
    Ok(metadata)
}

/// What was recorded, in one sentence; `None` where nothing was.
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

/// The table of recordings.
pub fn table(rows: Vec<RecordingRow>) -> Table {
    Table::of("Recordings", rows)
}

fn tiles(instruction: &Instruction, recording: &Recording) -> Result<Tiles> {
    let seed = recording.seed;
    let count = match recording.tiles {
        RecordedTiles::Probe { op, distribution, samples } => {
            let source = RandomStream { seed, stream: 0 };
            return Ok(inputs::draw(instruction, op, distribution, Init::Low, source, samples).tiles);
        }
        RecordedTiles::Mixture { count } => count.unwrap_or_else(|| inputs::record_tiles(instruction)),
    };
    let most = MOST_BYTES / instruction.tile_bytes();
    if count > most {
        return Err(Error::request(format!(
            "{count} tiles of {instruction} are more than the {most} that fit into a recording of 2 GiB; record \
             several files, each with a --seed of its own"
        )));
    }
    Ok(inputs::record_batch(instruction, seed, count))
}
