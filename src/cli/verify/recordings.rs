//! Recorded outputs against a model.

use std::{path::Path, time::Duration};

use super::{
    super::{Progress, invocation},
    Arguments,
};
use crate::{Error, Result, device, report::Report, trace::Trace, verify::trace as verify};

/// The kinds of device, as their names begin.
const KINDS: [&str; 4] = ["model:", "exec:", "trace:", "cuda:"];

/// Compares.
///
/// # Errors
/// No recording, or a file that is not one; a model that is unknown or lacks an instruction; a device that fails.
pub(super) fn run(arguments: &Arguments) -> Result<Report> {
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
        let result = verify::verify(trace, judge.as_mut(), arguments.max_mismatches as usize)?;
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
                "without an instruction verify compares recordings, and '{device}' is not one; name one (--instr \
                 INSTRUCTION --cases N), or record it first (`tcnum record --instr INSTRUCTION --device {device} --out FILE`)"
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
