//! Recorded outputs against a model.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::{
    super::{Progress, invocation},
    Arguments,
};
use crate::{
    Error, Result,
    comparison::{Listing, Origin, Subject},
    device,
    report::{Report, Table},
    trace::Trace,
    verify::trace::{reduce, row, verify},
};

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

    let (mut compared, mut listing, mut stand_ins) = (Vec::new(), Listing::default(), BTreeSet::new());
    let progress = Progress::new(&arguments.destination);
    for file in files {
        progress.step(&format!("verifying {file} against {model}"));
        let trace = &Trace::read(Path::new(file))?;
        let mut result = verify(trace, judge.as_mut(), arguments.max_mismatches as usize)?;
        if !result.differences.is_empty() {
            progress.step(&format!("reducing what differs in {file}"));
        }
        stand_ins.extend(reduce(trace, judge.as_mut(), &mut result)?);
        let origin = Origin { file: Some(file), ..Origin::default() };
        for difference in &result.differences {
            listing.add(&Subject::Matrix(&trace.instruction), &origin, difference);
        }
        compared.push(row(file, trace, &arguments.model, &result));
    }
    let identity = judge.identity().clone();
    let mut notes =
        vec![format!("Recorded outputs were compared with what {} makes of the recorded inputs.", identity.name)];
    notes.extend(listing.notes());
    if !listing.is_empty() {
        notes.push(limits(&stand_ins));
    }
    Ok(Report {
        notes,
        device: Some(identity),
        holds: compared.iter().all(|row| row.differing == 0),
        tables: [Some(Table::of("Recorded outputs compared in every bit", compared)), listing.table()]
            .into_iter()
            .flatten()
            .collect(),
        ..Report::new("verify", invocation())
    })
}

/// What is known of cases that differ in a recording, where these models stand in for one.
fn limits(stand_ins: &BTreeSet<String>) -> String {
    let shown = "A recording answers for its own operands only: of each signature the simplest recorded case is shown";
    match stand_ins.is_empty() {
        true => format!("{shown}, and no shipped model gives every recorded output, so that nothing was reduced."),
        false => {
            let names: Vec<&str> = stand_ins.iter().map(String::as_str).collect();
            format!(
                "{shown}. Reduced cases are between models: {} gives every output that was recorded, and stands in for the recording.",
                names.join(" or ")
            )
        }
    }
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
