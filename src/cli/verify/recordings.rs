//! Recorded outputs against a model.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::{super::Progress, Arguments};
use crate::{
    Error, Result, Stage,
    base::{interrupt, sorting},
    comparison::{Listing, Nans, Origin, Subject},
    device::{self, Device, Generation, is_canonical},
    report::{Report, Table},
    trace::Trace,
    verify::trace::{reduce, row, verify},
};

/// Compares.
///
/// # Errors
/// No recording, or a file that is not one; a model that is unknown or lacks an instruction; a device that fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let files = recordings(arguments)?;
    let timeout = Duration::from_secs(arguments.timeout);
    // One judge for each generation that recorded.
    let mut judges: Vec<(String, Box<dyn Device>)> = Vec::new();
    if let Some(named) = &arguments.model {
        judges.push(judge(named, timeout)?);
    }
    let nans = Nans::from(arguments.any_nan);
    let (mut compared, mut listing, mut stand_ins) = (Vec::new(), Listing::default(), BTreeSet::new());
    let mut notes = Vec::new();
    let progress = Progress::new(&arguments.destination);
    for (number, file) in files.iter().enumerate() {
        if report.until_interrupted(interrupt::check())?.is_none() {
            break;
        }
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
        let what = format!("verifying {file} against {model}");
        progress.at(Stage { what: &what, done: number as u64, total: files.len() as u64 });
        let outcome = verify(trace, judge.as_mut(), arguments.max_mismatches as usize, nans);
        let Some(mut result) = report.until_interrupted(outcome)? else { break };
        if !result.differences.is_empty() {
            progress.step(&format!("reducing what differs in {file}"));
        }
        let reduced = reduce(trace, judge.as_mut(), &mut result, nans);
        stand_ins.extend(report.until_interrupted(reduced)?.flatten());
        let origin = Origin { file: Some(file), ..Origin::default() };
        for difference in &result.differences {
            listing.add(&Subject::Matrix(&trace.instruction), &origin, difference);
        }
        compared.push(row(file, trace, model.strip_prefix("model:").unwrap_or(model), &result, nans));
    }
    let names: Vec<&str> = judges.iter().map(|(_, judge)| judge.identity().name.as_str()).collect();
    notes.insert(
        0,
        format!("Recorded outputs were compared with what {} makes of the recorded inputs.", names.join(", or ")),
    );
    notes.extend(nans.note());
    notes.extend(listing.notes());
    if !listing.is_empty() {
        notes.push(limits(&stand_ins));
    }
    report.notes.extend(notes);
    report.device = Some(judges[0].1.identity().clone()).filter(|_| judges.len() == 1);
    report.holds = !compared.is_empty() && compared.iter().all(|row| row.differing == 0);
    let compared = Table::of("Recorded outputs compared in every bit", compared);
    report.tables = [Some(compared), listing.table()].into_iter().flatten().collect();
    Ok(())
}

/// What the notes say of cases that differ in a recording, where these models are used in its place.
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

/// A device to compare with, and its name: any device, or a model without `model:`.
pub(super) fn judge(name: &str, timeout: Duration) -> Result<(String, Box<dyn Device>)> {
    let name = if is_canonical(name) { name.to_string() } else { format!("model:{name}") };
    Ok((name.clone(), device::open(Some(&name), timeout)?))
}

/// The files of the recordings that the arguments name, in their order, devices first; of a folder those in it, by their names.
///
/// # Errors
/// None is named; a folder that has none.
pub(super) fn recordings(arguments: &Arguments) -> Result<Vec<String>> {
    let named = arguments.devices.iter().filter_map(|device| device.strip_prefix("trace:"));
    let named = named.chain(arguments.files.iter().map(|file| file.strip_prefix("trace:").unwrap_or(file)));
    let mut files = Vec::new();
    for file in named {
        match Path::new(file).is_dir() {
            true => files.extend(in_folder(file)?),
            false => files.push(file.to_string()),
        }
    }
    match files.is_empty() {
        true => Err(Error::request("no recording is named; give --device trace:FILE, or files")),
        false => Ok(files),
    }
}

/// The recordings in a folder, by their names.
fn in_folder(folder: &str) -> Result<Vec<String>> {
    let unread = |error: std::io::Error| Error::request(format!("the folder {folder} cannot be read: {error}"));
    let mut files = Vec::new();
    for entry in Path::new(folder).read_dir().map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.extension().is_some_and(|ending| ending == "safetensors") {
            files.push(path.to_string_lossy().into_owned());
        }
    }
    sorting::by(&mut files, Ord::cmp);
    match files.is_empty() {
        true => Err(Error::request(format!("the folder {folder} has no recording: no file NAME.safetensors"))),
        false => Ok(files),
    }
}
