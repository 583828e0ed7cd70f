//! `tcnum record`.

use std::{ffi::OsStr, path::PathBuf, sync::Arc};

use clap::Args;

use super::{
    Common, OutputDestination, Progress, Verb, files, invocation,
    named::named,
    options::integer,
    select::{self, Selection},
    shared::Available,
};
use crate::{
    Error, Result,
    base::atomic,
    device::{Device, DeviceName},
    inputs::{Distribution, Op},
    isa::Instruction,
    record::{self, RecordedTiles, Recording},
    report::Report,
    trace::{Trace, TraceKind},
};

const HELP: &str = "\
Examples:
  tcnum record --instr mma.m16n8k16.f32.bf16.bf16.f32 --device hopper --out bf16.safetensors
  tcnum record --all --available --device cuda:0 --folder h100
      one file for each instruction
  tcnum record --instr mma.m16n8k16.f32.f16.f16.f32 --op accumulate --out accumulate.safetensors
      the tiles of a probe, which replays on the recording
More: docs/recordings.md";

/// Records a device's answers as a trace, a safetensors file that replays as trace:FILE.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    available: Available,
    #[command(flatten)]
    common: Common,
    /// Tiles, corners first [default: all corners and about 32 KiB more]
    #[arg(long, value_name = "N", value_parser = integer(1..=1u32 << 20), conflicts_with = "op", help_heading = "Inputs")]
    tiles: Option<u32>,
    /// Answer the operands of this trace, such as one of `tcnum identify --ask`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tiles", "op", "folder"], help_heading = "Inputs")]
    inputs: Option<PathBuf>,
    /// Record the tiles of `tcnum probe` for this operation instead
    #[arg(long, value_parser = named::<Op>(), help_heading = "Inputs")]
    op: Option<Op>,
    /// Distribution of the probe's operands
    #[arg(long = "dist", value_parser = named::<Distribution>(), default_value = "normal", requires = "op", help_heading = "Inputs")]
    distribution: Distribution,
    /// Samples of the probe
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = integer(1..=1u32 << 14), requires = "op", help_heading = "Inputs")]
    samples: u32,
    /// Folder for one file of each instruction, in place of --out FILE
    #[arg(long, value_name = "FOLDER", conflicts_with = "out", help_heading = "Output")]
    folder: Option<PathBuf>,
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
    let inputs = arguments.inputs.as_deref().map(Trace::read_inputs).transpose()?.map(Arc::new);
    let mut instructions = match &inputs {
        Some(trace) if arguments.selection.is_empty() => vec![trace.instruction.clone()],
        Some(trace) => {
            let message = format!("--inputs: the file is of {}; leave out --instr, --fmt and --all", trace.instruction);
            return Err(Error::request(message));
        }
        None => arguments.selection.instructions(&[], Some(&name))?,
    };
    let file = arguments.common.destination.out.as_deref();
    match (instructions.len(), file, &arguments.folder) {
        (0, ..) => return Err(Error::request("no instruction is chosen; give --instr, --fmt or --all")),
        (1, ..) | (_, None, Some(_)) => {}
        (n, ..) => {
            return Err(Error::request(format!(
                "--out: {n} instructions are chosen, and a file holds one; use --folder FOLDER"
            )));
        }
    }
    arguments.common.destination.one_file()?;
    if file.is_none() && arguments.folder.is_none() {
        return Err(Error::request("no file is named; give --out FILE.safetensors or --folder FOLDER"));
    }
    if let Some(folder) = &arguments.folder {
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::request(format!("the folder {} cannot be made: {e}", folder.display())))?;
    }
    let mut device = arguments.common.open(&name)?;
    report.seed = Some(*arguments.common.seed);
    if *arguments.available {
        select::available(&mut instructions, device.as_ref(), None, &mut report.notes);
    }
    check(arguments, &instructions, device.as_mut())?;
    let with_tiles = |instruction| {
        let recording = recording(arguments, instruction);
        match &inputs {
            Some(trace) => Recording { tiles: RecordedTiles::Given(trace.clone()), ..recording },
            None => recording,
        }
    };
    let recordings = instructions.iter().map(|instruction| (instruction, with_tiles(instruction)));
    let recordings: Vec<_> = recordings.collect();
    let (progress, mut rows) = (Progress::new(&arguments.common.destination), Vec::new());
    let outcome = record::record_all(
        device.as_mut(),
        &recordings,
        *arguments.available,
        (&mut rows, &mut report.notes),
        &mut |stage| progress.at(stage),
    );
    report.device = Some(device.identity().clone());
    report.answer = record::answer(&device.identity().name.to_string(), &rows);
    if rows.is_empty() && outcome.is_ok() {
        select::nothing(report, device.as_ref());
    }
    report.tables.push(record::table(rows));
    outcome
}

/// Refuses files that would overwrite others, and instructions that the device lacks.
fn check(arguments: &Arguments, instructions: &[Instruction], device: &mut dyn Device) -> Result<()> {
    let name = arguments.common.device.as_ref().map(DeviceName::to_string);
    let used: Vec<&OsStr> = name.iter().map(OsStr::new).collect();
    for instruction in instructions {
        if !*arguments.available {
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

/// The recording of an instruction, with its file.
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
        seed: *common.seed,
        file,
        named: common.destination.out.is_some(),
        source: invocation(),
        annotations: common.destination.annotations.clone(),
    }
}
