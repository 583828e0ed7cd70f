//! `tcnum record`.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use clap::Args;

use super::{
    Common, Progress, invocation,
    options::integer,
    select::{self, Selection},
};
use crate::{
    Error, Result,
    device::{self, Device},
    inputs::{self, Distribution, Init, Op, RandomStream},
    isa::{Instruction, Tiles},
    report::{Cell, Column, Report, Table},
    trace::{OPCODES, Trace},
};

/// The most bytes of tiles in one recording: they are held in memory, some of them several times.
const MOST_BYTES: usize = 2 << 30;

/// Records what a device answers, as a trace: a safetensors file that replays as trace:FILE.
///
/// Example: tcnum record --instr mma.m16n8k16.f32.bf16.bf16.f32 --out bf16.safetensors
///
/// Without --op the tiles are the named corners of the instruction (directed cases, the same for every seed), then a
/// mixture of random, special and directed operands that fills all k products and c. With --op they are the very
/// tiles of `tcnum probe` with the same options, so that the probe
/// can be repeated on the trace.
///
/// --out names the file; the report of what was recorded goes to standard output.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// Write one file for each instruction to this folder, NAME.safetensors, instead of the one of --out.
    #[arg(long, value_name = "FOLDER", conflicts_with = "out")]
    folder: Option<PathBuf>,
    /// Tiles, corners first; without it all corners and about 32 KiB of random tiles.
    #[arg(long, value_name = "N", value_parser = integer(1..=1u32 << 20), conflicts_with = "op")]
    tiles: Option<u32>,
    /// Record the tiles of a probe of this operation instead.
    #[arg(long, value_enum)]
    op: Option<Op>,
    /// How the probe's operands are drawn.
    #[arg(long = "dist", value_enum, default_value = "normal", requires = "op")]
    distribution: Distribution,
    /// Samples of the probe.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = integer(1..=1u32 << 14), requires = "op")]
    samples: u32,
    /// Leave out the instructions that the device does not have, instead of refusing (with --all).
    #[arg(long, requires = "all")]
    available: bool,
    /// Common flags.
    #[command(flatten)]
    pub common: Common,
}

/// Records.
///
/// # Errors
/// Unknown names, a device that cannot be opened or fails, a file that cannot be written.
pub fn run(arguments: &Arguments) -> Result<Report> {
    let mut instructions = arguments.selection.instructions(&[], arguments.common.device.as_deref())?;
    let file = arguments.common.destination.out.as_deref();
    match (instructions.len(), file, &arguments.folder) {
        (0, ..) => return Err(Error::request("no instruction is chosen; give --instr, --fmt or --all")),
        (1, ..) | (_, None, Some(_)) => {}
        (n, ..) => {
            return Err(Error::request(format!("--out takes one instruction and {n} are chosen; use --folder FOLDER")));
        }
    }
    if file.is_none() && arguments.folder.is_none() {
        return Err(Error::request("nowhere to record to; give --out FILE.safetensors or --folder FOLDER"));
    }
    if let Some(folder) = &arguments.folder {
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::request(format!("the folder {} cannot be made: {e}", folder.display())))?;
    }
    let mut device = device::open(arguments.common.device.as_deref(), Duration::from_secs(arguments.common.timeout))?;
    let mut report = Report::new("record", invocation());
    report.seed = Some(arguments.common.seed);
    if arguments.available {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    let columns = [
        ("instruction", "instruction"),
        ("execution", "ran"),
        ("tiles", "tiles"),
        ("outputs", "outputs"),
        ("file", "file"),
    ];
    let columns = columns.map(|(key, label)| Column::new(key, label)).to_vec();
    let mut table = Table::new("recordings", "Recordings", columns);
    let progress = Progress::new(&arguments.common.destination);
    for instruction in &instructions {
        progress.step(&format!("recording {instruction} on {}", device.identity().name));
        match record(device.as_mut(), instruction, arguments) {
            Ok(row) => table.rows.push(row),
            Err(error) if arguments.available && error.exit_status() == 2 => report.notes.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    report.device = Some(device.identity().clone());
    report.tables.push(table);
    Ok(report)
}

fn record(device: &mut dyn Device, instruction: &Instruction, arguments: &Arguments) -> Result<Vec<Cell>> {
    let execution = device.prepare(instruction)?;
    let tiles = tiles(instruction, arguments)?;
    let identity = device.identity();
    let mut metadata: BTreeMap<String, String> = BTreeMap::from([
        ("device".into(), identity.name.clone()),
        ("source".into(), invocation()),
        ("description".into(), identity.description.clone()),
        ("execution".into(), execution.kind.name().into()),
        ("seed".into(), arguments.common.seed.to_string()),
        ("tcnum".into(), env!("CARGO_PKG_VERSION").into()),
    ]);
    if !execution.opcodes.is_empty() {
        metadata.insert(OPCODES.into(), execution.opcodes.join("; "));
    }
    metadata.extend(identity.details.iter().cloned());
    let notes = &arguments.common.destination.annotations;
    if let Some((key, _)) = notes.iter().find(|(key, _)| metadata.contains_key(key) || key == OPCODES) {
        return Err(Error::request(format!(
            "--note {key}=...: a recording says itself what its {key} is; choose another key"
        )));
    }
    metadata.extend(notes.iter().cloned());
    let d = device.execute(instruction, &tiles)?;
    let file = match (&arguments.common.destination.out, &arguments.folder) {
        (Some(file), _) => file.clone(),
        (None, folder) => folder.clone().unwrap_or_default().join(format!("{instruction}.safetensors")),
    };
    let (count, outputs) = (tiles.count, d.len());
    Trace::from_run(instruction, &tiles, d, metadata)?.write(&file)?;
    Ok(vec![
        instruction.name.as_str().into(),
        execution.kind.name().into(),
        count.into(),
        outputs.into(),
        file.to_string_lossy().into_owned().into(),
    ])
}

fn tiles(instruction: &Instruction, arguments: &Arguments) -> Result<Tiles> {
    let seed = arguments.common.seed;
    if let Some(op) = arguments.op {
        let source = RandomStream { seed, stream: 0 };
        let samples = arguments.samples as usize;
        return Ok(inputs::draw(instruction, op, arguments.distribution, Init::Low, source, samples).tiles);
    }
    let count = arguments.tiles.map_or_else(|| inputs::record_tiles(instruction), |count| count as usize);
    let most = MOST_BYTES / instruction.tile_bytes();
    if count > most {
        return Err(Error::request(format!(
            "{count} tiles of {instruction} are more than the {most} that fit into a recording of 2 GiB; record \
             several files, each with a --seed of its own"
        )));
    }
    Ok(inputs::record_batch(instruction, seed, count))
}
