//! `tcnum record`.

use std::{
    ffi::OsStr,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;

use super::{
    Common, OutputDestination, Progress, Verb, files, invocation,
    named::named,
    options::integer,
    select::{self, Selection},
};
use crate::{
    Error, Result,
    base::{atomic, interrupt, pace::UNASKED},
    device::{self, Device, DeviceName},
    inputs::{Distribution, Op},
    isa::Instruction,
    record::{self, RecordedTiles, Recording, RecordingRow},
    report::Report,
    trace::TraceKind,
};

/// Records what a device answers, as a trace: a safetensors file that replays as trace:FILE.
///
/// Example: tcnum record --instr mma.m16n8k16.f32.bf16.bf16.f32 --out bf16.safetensors
///
/// Without --op the tiles are the named corners of the instruction (directed cases, the same for every seed), then a
/// mixture of random, special and directed operands that fills all k products and c. With --op they are
/// exactly the tiles of `tcnum probe` with the same options, so that the probe can be repeated on the
/// trace.
///
/// --out names the file; the report of what was recorded goes to standard output.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Write one file for each instruction to this folder, NAME.safetensors, instead of the one of --out.
    #[arg(long, value_name = "FOLDER", conflicts_with = "out")]
    folder: Option<PathBuf>,
    /// Tiles, corners first; without it all corners and about 32 KiB of random tiles, as many as an exec: device answers in a minute.
    #[arg(long, value_name = "N", value_parser = integer(1..=1u32 << 20), conflicts_with = "op")]
    tiles: Option<u32>,
    /// Record the tiles of a probe of this operation instead.
    #[arg(long, value_parser = named::<Op>())]
    op: Option<Op>,
    /// How the probe's operands are drawn.
    #[arg(long = "dist", value_parser = named::<Distribution>(), default_value = "normal", requires = "op")]
    distribution: Distribution,
    /// Samples of the probe.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = integer(1..=1u32 << 14), requires = "op")]
    samples: u32,
    /// Leave out the instructions that the device does not have, instead of refusing (with --all).
    #[arg(long, requires = "all")]
    available: bool,
    /// Common flags.
    #[command(flatten)]
    common: Common,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.common.destination)
    }

    fn makes_file(&self) -> bool {
        true
    }
}

/// Records.
///
/// # Errors
/// Unknown names, a device that cannot be opened or fails, a file that cannot be written.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let name = arguments.selection.device(&[], arguments.common.device.as_ref());
    let mut instructions = arguments.selection.instructions(&[], Some(&name))?;
    let file = arguments.common.destination.out.as_deref();
    match (instructions.len(), file, &arguments.folder) {
        (0, ..) => return Err(Error::request("no instruction is chosen; give --instr, --fmt or --all")),
        (1, ..) | (_, None, Some(_)) => {}
        (n, ..) => {
            return Err(Error::request(format!("--out takes one instruction and {n} are chosen; use --folder FOLDER")));
        }
    }
    arguments.common.destination.one_file()?;
    if file.is_none() && arguments.folder.is_none() {
        return Err(Error::request("nowhere to record to; give --out FILE.safetensors or --folder FOLDER"));
    }
    if let Some(folder) = &arguments.folder {
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::request(format!("the folder {} cannot be made: {e}", folder.display())))?;
    }
    let mut device = device::open(Some(&name), Duration::from_secs(arguments.common.timeout))?;
    report.seed = Some(arguments.common.seed);
    if arguments.available {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    check(arguments, &instructions, device.as_mut())?;
    let mut rows = Vec::new();
    let outcome = record_all(arguments, &instructions, device.as_mut(), &mut report.notes, &mut rows);
    report.device = Some(device.identity().clone());
    report.answer = record::answer(&device.identity().name.to_string(), &rows);
    if rows.is_empty() && outcome.is_ok() {
        select::nothing(report, device.as_ref());
    }
    report.tables.push(record::table(rows));
    outcome
}

/// Records each instruction; `rows` has those that were recorded, whatever ends the work.
fn record_all(
    arguments: &Arguments,
    instructions: &[Instruction],
    device: &mut dyn Device,
    notes: &mut Vec<String>,
    rows: &mut Vec<RecordingRow>,
) -> Result<()> {
    let progress = Progress::new(&arguments.common.destination);
    let begun = Instant::now();
    for (number, instruction) in instructions.iter().enumerate() {
        interrupt::check()?;
        progress.step(&format!("recording {instruction} on {}", device.identity().name));
        let unasked = UNASKED.saturating_sub(begun.elapsed()) / (instructions.len() - number) as u32;
        match record::record(device, instruction, &recording(arguments, instruction), unasked, rows) {
            Err(error) if arguments.available && error.is_unavailable() => notes.push(error.to_string()),
            outcome => outcome?,
        }
        notes.extend(rows.last().filter(|row| row.instruction == instruction.name && row.tiles < row.tiles_asked).map(|row| {
            format!(
                "{instruction}: {} of the {} tiles of a recording by default fit into a minute; --tiles N records N.",
                row.tiles, row.tiles_asked
            )
        }));
    }
    Ok(())
}

/// Refuses, before anything is recorded, files that would overwrite others, and instructions that the device does not have.
fn check(arguments: &Arguments, instructions: &[Instruction], device: &mut dyn Device) -> Result<()> {
    let name = arguments.common.device.as_ref().map(DeviceName::to_string);
    let used: Vec<&OsStr> = name.iter().map(OsStr::new).collect();
    for instruction in instructions {
        if !arguments.available {
            device.has(instruction)?;
        }
        if arguments.folder.is_some() {
            let file = recording(arguments, instruction).file;
            files::apart(&file, &used)?;
            atomic::derivable(&file, &TraceKind::Recording)?;
        }
    }
    Ok(())
}

/// What is to be recorded of an instruction, and where.
fn recording(arguments: &Arguments, instruction: &Instruction) -> Recording {
    let common = &arguments.common;
    let file = match (&common.destination.out, &arguments.folder) {
        (Some(file), _) => file.clone(),
        (None, folder) => folder.clone().unwrap_or_default().join(format!("{instruction}.safetensors")),
    };
    let tiles = match arguments.op {
        Some(op) => {
            RecordedTiles::Probe { op, distribution: arguments.distribution, samples: arguments.samples as usize }
        }
        None => RecordedTiles::Mixture { count: arguments.tiles.map(|count| count as usize) },
    };
    Recording {
        tiles,
        seed: common.seed,
        file,
        named: common.destination.out.is_some(),
        source: invocation(),
        annotations: common.destination.annotations.clone(),
    }
}
