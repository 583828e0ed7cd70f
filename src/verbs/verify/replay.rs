//! The operands of recordings, executed again by a device and compared with a model: a regression suite.

use std::{path::Path, time::Duration};

use super::{
    super::{Progress, select},
    Arguments,
    recordings::{judge, recordings},
};
use crate::{
    Error, Result, Stage,
    comparison::{Listing, MismatchOrigin, Nans, Subject, VerificationRow},
    device::{self, Device, DeviceName},
    report::{Report, Table},
    trace::Trace,
    verify::replay::{Replay, ReplayRequest, answer},
};

/// Replays.
///
/// # Errors
/// No recording, or a file that is not one; several devices; a device or a model that is unknown, lacks an instruction or fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let mut devices = arguments.devices.iter().filter(|device| device.trace().is_none());
    let name = devices.next().expect("a device is named");
    if arguments.files.is_empty() && arguments.devices.len() == 1 {
        return Err(Error::request(format!(
            "'{name}' executes instructions, and none is named; give --instr INSTRUCTION --cases N, or the files of recordings that it \
             executes again"
        )));
    }
    if let Some(other) = devices.next() {
        return Err(Error::request(format!(
            "recordings are executed again by one device; {name} and {other} are named"
        )));
    }
    let files = recordings(arguments)?;
    let mut device = device::open(Some(name), Duration::from_secs(arguments.timeout))?;
    let mut found = Found::default();
    let outcome = found.all(arguments, &files, device.as_mut());
    found.report(arguments, device.as_ref(), report);
    outcome
}

/// What was found so far.
#[derive(Default)]
struct Found {
    judge: Option<(DeviceName, Box<dyn Device>)>,
    replays: Vec<Replay>,
    compared: Vec<VerificationRow>,
    listing: Listing,
    notes: Vec<String>,
}

impl Found {
    /// Replays the recordings, one after the other.
    fn all(&mut self, arguments: &Arguments, files: &[String], device: &mut dyn Device) -> Result<()> {
        let progress = Progress::new(&arguments.destination);
        let nans = Nans::from(arguments.any_nan);
        for (number, file) in files.iter().enumerate() {
            let trace = &Trace::read(Path::new(file))?;
            let execution = device.prepare(&trace.instruction).map_err(|error| error.within(file))?;
            if self.judge.is_none() {
                let timeout = Duration::from_secs(arguments.timeout);
                let instruction = std::slice::from_ref(&trace.instruction);
                let (model, note) = match &arguments.model {
                    Some(named) => (named.clone(), None),
                    None => {
                        let (model, _, note) = select::model(None, device, instruction)?;
                        (model, note)
                    }
                };
                self.judge = Some(judge(DeviceName::asked(&model), timeout)?);
                self.notes.extend(note);
            }
            let (model, judge) = self.judge.as_mut().expect("it was just opened");
            let what = format!("executing {file} again, on {}", device.identity().name);
            progress.at(Stage { what: &what, done: number as u64, total: files.len() as u64 });
            judge.prepare(&trace.instruction).map_err(|error| error.within(file))?;
            let request = ReplayRequest { file, keep: arguments.max_mismatches as usize, nans };
            let mut replay = Replay::default();
            let mut outcome = replay.run(trace, device, judge.as_mut(), &request);
            let (differences, reduced) = match &outcome {
                Ok(()) => replay.differences(trace, Some(device), judge.as_ref(), nans),
                Err(_) => replay.differences(trace, None, judge.as_ref(), nans),
            };
            outcome = outcome.and(reduced);
            let origin = MismatchOrigin { file: Some(file), ..MismatchOrigin::default() };
            for difference in &differences {
                self.listing.add(&Subject::Matrix(&trace.instruction), &origin, difference);
            }
            self.compared.push(replay.row(trace, (device.identity(), &execution), &model.short(), &request));
            self.replays.push(replay);
            outcome?;
        }
        Ok(())
    }

    fn report(mut self, arguments: &Arguments, device: &dyn Device, report: &mut Report) {
        report.device = Some(device.identity().clone());
        let Some((judge, _)) = self.judge.filter(|_| !self.replays.is_empty()) else { return };
        report.answer = Some(answer(&device.identity().name, &judge, &self.replays));
        report.notes.extend(self.notes);
        report.notes.extend(Nans::from(arguments.any_nan).note());
        report.notes.extend(self.listing.notes());
        report.holds = self.compared.iter().all(|row| row.differing == 0);
        let unlisted = self.replays.iter().map(|replay| replay.tiles - replay.cases.len()).sum::<usize>();
        if unlisted > 0 {
            report.notes.push(format!("{unlisted} cases of long recordings agree and are not listed."));
        }
        let cases: Vec<_> = self.replays.iter_mut().flat_map(|replay| std::mem::take(&mut replay.cases)).collect();
        report.tables = vec![Table::of("Recordings executed again", self.compared), Table::of("Cases", cases)];
        report.tables.extend(self.listing.table());
    }
}
