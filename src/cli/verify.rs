//! `tcnum verify`: recorded outputs against a model.

use std::{path::Path, time::Duration};

use clap::Args;

use super::{
    Destination, Progress, invocation,
    options::{MAX_TIMEOUT, integer},
};
use crate::{Error, Result, device, report::Report, trace::Trace, verify};

/// The kinds of device, as their names begin.
const KINDS: [&str; 4] = ["model:", "exec:", "trace:", "cuda:"];

/// Compares every recorded output with a model, in every bit.
///
/// Example: tcnum verify --device trace:h100.safetensors --model hopper
///
/// Exit status 1 if some differ; the first of them are listed with their inputs.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A recording, trace:FILE; may be repeated.
    #[arg(long = "device", value_name = "trace:FILE")]
    pub devices: Vec<String>,
    /// Recordings by their file names: FILE means --device trace:FILE.
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// What to compare with: a model's name or file, or any device that computes (exec:'PROGRAM ARGS').
    #[arg(long, value_name = "MODEL", default_value = "hopper")]
    pub model: String,
    /// How many of the outputs that differ to list for each recording.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = integer(0..=usize::MAX))]
    pub max_mismatches: usize,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    pub timeout: u64,
    /// Output flags.
    #[command(flatten)]
    pub destination: Destination,
}

/// Runs the command.
///
/// # Errors
/// No recording, or a file that is not one; a model that is unknown or lacks an instruction; a device that fails.
pub fn run(arguments: &Arguments) -> Result<Report> {
    let files = recordings(arguments)?;
    let model = match KINDS.iter().any(|kind| arguments.model.starts_with(kind)) {
        true => arguments.model.clone(),
        false => format!("model:{}", arguments.model),
    };
    let mut judge = device::open(Some(&model), Duration::from_secs(arguments.timeout))?;

    let (mut summary, mut mismatches) = (verify::summary_table(), verify::mismatch_table());
    let mut differing = 0;
    let progress = Progress::new(&arguments.destination);
    for file in files {
        progress.step(&format!("verifying {file} against {model}"));
        let trace = &Trace::read(Path::new(file))?;
        let result = verify::verify(trace, judge.as_mut(), arguments.max_mismatches)?;
        differing += result.differing;
        summary.rows.push(verify::summary_row(file, trace, &model, &result));
        mismatches.rows.extend(verify::mismatch_rows(file, trace, &result));
    }
    let identity = judge.identity().clone();
    let mut tables = vec![summary];
    tables.extend((!mismatches.rows.is_empty()).then_some(mismatches));
    Ok(Report {
        notes: vec![format!(
            "Recorded outputs were compared with what {} makes of the recorded inputs.",
            identity.name
        )],
        device: Some(identity),
        tables,
        holds: differing == 0,
        ..Report::new("verify", invocation())
    })
}

/// The files of the recordings that the arguments name, in their order, devices first.
fn recordings(arguments: &Arguments) -> Result<Vec<&str>> {
    let named = arguments.devices.iter().map(|device| {
        device.strip_prefix("trace:").ok_or_else(|| {
            Error::request(format!(
                "verify compares recordings, and '{device}' is not one; record it first (`tcnum record --instr \
                 INSTRUCTION --device {device} --out FILE`), then `tcnum verify --device trace:FILE`"
            ))
        })
    });
    let files = arguments.files.iter().map(|file| Ok(file.strip_prefix("trace:").unwrap_or(file)));
    let files = named.chain(files).collect::<Result<Vec<_>>>()?;
    match files.is_empty() {
        true => Err(Error::request("no recording is named; give --device trace:FILE, or files")),
        false => Ok(files),
    }
}
