//! Recorded outputs against a model.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::{
    super::{Progress, options::recording_file},
    Arguments,
};
use crate::{
    Error, Result, Stage,
    base::interrupt,
    comparison::{Listing, MismatchOrigin, Nans, Subject, VerificationRow},
    device::{self, Device, DeviceName, Generation},
    report::{Report, Table},
    trace::Trace,
    verify::trace::{answer, reduce, row, verify},
};

/// Compares.
///
/// # Errors
/// No recording, or a file that is not one; a model that is unknown or lacks an instruction; a device that fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let files = recordings(arguments)?;
    let mut comparison = Comparison::default();
    // One judge for each generation that recorded.
    let timeout = Duration::from_secs(arguments.timeout);
    if let Some(named) = &arguments.model {
        comparison.judges.push(judge(DeviceName::asked(named), timeout)?);
    }
    let outcome = comparison.compare(arguments, &files, timeout);
    let Comparison { judges, rows, listing, stand_ins, notes } = comparison;
    report.answer = answer(&rows);
    report.notes.extend(notes);
    report.notes.extend(Nans::from(arguments.any_nan).note());
    report.notes.extend(listing.notes());
    if !listing.is_empty() {
        report.notes.push(limits(&stand_ins));
    }
    report.device = judges.first().filter(|_| judges.len() == 1).map(|(_, judge)| judge.identity().clone());
    report.holds = rows.iter().all(|row| row.differing == 0);
    report.tables = vec![Table::of("Recorded outputs compared in every bit", rows)];
    report.tables.extend(listing.table());
    outcome
}

/// What was compared, whatever ended it.
#[derive(Default)]
struct Comparison {
    judges: Vec<(DeviceName, Box<dyn Device>)>,
    rows: Vec<VerificationRow>,
    listing: Listing,
    stand_ins: BTreeSet<String>,
    notes: Vec<String>,
}

impl Comparison {
    fn compare(&mut self, arguments: &Arguments, files: &[String], timeout: Duration) -> Result<()> {
        let progress = Progress::new(&arguments.destination);
        let nans = Nans::from(arguments.any_nan);
        for (number, file) in files.iter().enumerate() {
            interrupt::check()?;
            let trace = &Trace::read(Path::new(file))?;
            let at = match &arguments.model {
                Some(_) => 0,
                None => {
                    let (model, undecided) = Generation::of_recording(&trace.metadata).model(file)?;
                    self.notes.extend(undecided);
                    let name = DeviceName::Model(model);
                    match self.judges.iter().position(|(other, _)| *other == name) {
                        Some(at) => at,
                        None => {
                            self.judges.push(judge(name, timeout)?);
                            self.judges.len() - 1
                        }
                    }
                }
            };
            let (model, judge) = &mut self.judges[at];
            let what = format!("verifying {file} against {model}");
            progress.at(Stage { what: &what, done: number as u64, total: files.len() as u64 });
            let mut result = verify(trace, judge.as_mut(), arguments.max_mismatches as usize, nans)?;
            if !result.differences.is_empty() {
                progress.step(&format!("reducing what differs in {file}"));
            }
            // What was compared is known, whatever becomes of reducing what differs.
            let reduced = match result.stopped.clone() {
                None => reduce(trace, judge.as_mut(), &mut result, nans),
                Some(error) => Err(error),
            };
            let origin = MismatchOrigin { file: Some(file), ..MismatchOrigin::default() };
            for difference in &result.differences {
                self.listing.add(&Subject::Matrix(&trace.instruction), &origin, difference);
            }
            self.rows.push(row(file, trace, &model.short(), &result, nans));
            self.stand_ins.extend(reduced?);
        }
        Ok(())
    }
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
pub(super) fn judge(name: DeviceName, timeout: Duration) -> Result<(DeviceName, Box<dyn Device>)> {
    let name = if name.is_of_device() { name } else { DeviceName::Model(name.to_string()) };
    let device = device::open(Some(&name), timeout)?;
    Ok((name, device))
}

/// The files of the recordings that the arguments name, in their order, devices first; of a folder those in it, by their names.
///
/// # Errors
/// None is named; a folder that has none.
pub(super) fn recordings(arguments: &Arguments) -> Result<Vec<String>> {
    let named = arguments.devices.iter().filter_map(|device| device.trace().map(String::from));
    let mut files = Vec::new();
    for file in named.chain(arguments.files.iter().map(|file| recording_file(file))) {
        match Path::new(&file).is_dir() {
            true => files.extend(in_folder(&file)?),
            false => files.push(file),
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
    files.sort();
    match files.is_empty() {
        true => Err(Error::request(format!("the folder {folder} has no recording: no file NAME.safetensors"))),
        false => Ok(files),
    }
}
