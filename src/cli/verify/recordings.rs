//! Recorded outputs against a model.

use std::{path::Path, time::Duration};

use super::{
    super::{Progress, invocation},
    Arguments,
};
use crate::{
    Error, Result,
    device::{self, Device, Generation},
    report::Report,
    trace::Trace,
    verify::trace as verify,
};

/// The kinds of device, as their names begin.
const KINDS: [&str; 4] = ["model:", "exec:", "trace:", "cuda:"];

/// Compares.
///
/// # Errors
/// No recording, or a file that is not one; a model that is unknown or lacks an instruction; a device that fails.
pub(super) fn run(arguments: &Arguments) -> Result<Report> {
    let files = recordings(arguments)?;
    let timeout = Duration::from_secs(arguments.timeout);
    // One judge for each generation that recorded.
    let mut judges: Vec<(String, Box<dyn Device>)> = Vec::new();
    if let Some(named) = &arguments.model {
        judges.push(judge(named, timeout)?);
    }
    let (mut summary, mut mismatches) = (verify::summary_table(), verify::mismatch_table());
    let (mut differing, mut notes) = (0, Vec::new());
    let progress = Progress::new(&arguments.destination);
    for file in files {
        let trace = &Trace::read(Path::new(file))?;
        let at = match &arguments.model {
            Some(_) => 0,
            None => {
                let (model, undecided) = Generation::of_recording(&trace.metadata).model(file)?;
                notes.extend(undecided);
                let name = format!("model:{model}");
                match judges.iter().position(|(other, _)| *other == name) {
                    Some(at) => at,
                    None => {
                        judges.push(judge(&name, timeout)?);
                        judges.len() - 1
                    }
                }
            }
        };
        let (model, judge) = &mut judges[at];
        progress.step(&format!("verifying {file} against {model}"));
        let result = verify::verify(trace, judge.as_mut(), arguments.max_mismatches as usize)?;
        differing += result.differing;
        summary.rows.push(verify::summary_row(file, trace, model, &result));
        mismatches.rows.extend(verify::mismatch_rows(file, trace, &result));
    }
    let names: Vec<&str> = judges.iter().map(|(_, judge)| judge.identity().name.as_str()).collect();
    notes.insert(
        0,
        format!("Recorded outputs were compared with what {} makes of the recorded inputs.", names.join(", or ")),
    );
    let mut tables = vec![summary];
    tables.extend((!mismatches.rows.is_empty()).then_some(mismatches));
    Ok(Report {
        notes,
        device: Some(judges[0].1.identity().clone()).filter(|_| judges.len() == 1),
        tables,
        holds: differing == 0,
        ..Report::new("verify", invocation())
    })
}

/// A device to compare with, and its name: any device, or a model without `model:`.
fn judge(name: &str, timeout: Duration) -> Result<(String, Box<dyn Device>)> {
    let name = match KINDS.iter().any(|kind| name.starts_with(kind)) {
        true => name.to_string(),
        false => format!("model:{name}"),
    };
    Ok((name.clone(), device::open(Some(&name), timeout)?))
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
