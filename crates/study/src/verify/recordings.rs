//! Recordings by name: their outputs compared with models, or their operands executed again.

use std::{collections::BTreeSet, path::Path, time::Duration};

use super::{
    replay::{self, Replay, ReplayRequest},
    trace::{self, causes, verify},
};

use crate::{
    Error, Result, Stage,
    base::interrupt,
    comparison::{Difference, Listing, MismatchOrigin, Nans, Subject, VerificationRow, counts_note},
    device::{self, Device, DeviceName, Generation, selection},
    report::{Report, Table},
    trace::Trace,
};

/// How recordings are compared.
#[derive(Debug, Clone)]
pub struct RecordingsRequest {
    /// The files, in order.
    pub files: Vec<String>,
    /// A model, or any device that computes; `None`: the model of the generation that recorded or executes.
    pub model: Option<String>,
    /// Causes of differences that are listed for each file.
    pub keep: usize,
    /// Equality of NaN codes.
    pub nans: Nans,
    /// How long an external program may take for one answer.
    pub timeout: Duration,
}

impl RecordingsRequest {
    /// The device that judges, by the name of a device or of a model, and its name.
    fn judge(&self, named: &str) -> Result<(DeviceName, Box<dyn Device>)> {
        let name = DeviceName::asked(named);
        let name = if name.is_of_device() { name } else { DeviceName::Model(name.to_string()) };
        let device = device::open(Some(&name), self.timeout)?;
        Ok((name, device))
    }

    fn at<'a>(&self, number: usize, what: &'a str) -> Stage<'a> {
        Stage { what, done: number as u64, total: self.files.len() as u64 }
    }
}

/// The named recordings, with the `.safetensors` files of each folder in alphabetical order.
///
/// # Errors
/// No name; a folder without a recording.
pub fn files(named: impl IntoIterator<Item = String>) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for file in named {
        match Path::new(&file).is_dir() {
            true => files.extend(in_folder(&file)?),
            false => files.push(file),
        }
    }
    match files.is_empty() {
        true => Err(Error::request("no recording is named; give ‹device=trace:FILE›, or files")),
        false => Ok(files),
    }
}

fn in_folder(folder: &str) -> Result<Vec<String>> {
    let unread = |error: std::io::Error| Error::request(format!("{folder}: the folder cannot be read: {error}"));
    let mut files = Vec::new();
    for entry in Path::new(folder).read_dir().map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.extension().is_some_and(|ending| ending == "safetensors") {
            files.push(path.to_string_lossy().into_owned());
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Error::request(format!("{folder}: the folder has no recording (NAME.safetensors)"))),
        false => Ok(files),
    }
}

/// Recordings compared with models, or executed again by a device, until the work ended.
#[derive(Default)]
pub struct VerifiedRecordings {
    /// One judge, or one for each generation that recorded.
    judges: Vec<(DeviceName, Box<dyn Device>)>,
    rows: Vec<VerificationRow>,
    listing: Listing,
    notes: Vec<String>,
    /// Models that stand in for recordings when causes are reduced.
    stand_ins: BTreeSet<String>,
    replays: Vec<Replay>,
}

impl VerifiedRecordings {
    /// Comparisons, one row for each file.
    pub fn rows(&self) -> &[VerificationRow] {
        &self.rows
    }

    /// Replays, one for each file that was executed again.
    pub fn replays(&self) -> &[Replay] {
        &self.replays
    }

    fn list(&mut self, file: &str, trace: &Trace, differing: u64, causes: &[Difference], request: &RecordingsRequest) {
        self.notes.extend(counts_note(file, differing, causes, request.keep as u64));
        let origin = MismatchOrigin { file: Some(file), ..MismatchOrigin::default() };
        for cause in causes {
            self.listing.add(&Subject::Matrix(&trace.instruction), &origin, cause);
        }
    }

    /// Compares every recorded output in every bit.
    ///
    /// # Errors
    /// A file that is no recording; a model that is unknown or lacks an instruction; a device that fails; an interruption.
    pub fn compare(&mut self, request: &RecordingsRequest, watch: &mut dyn FnMut(Stage)) -> Result<()> {
        if let Some(named) = &request.model {
            self.judges.push(request.judge(named)?);
        }
        for (number, file) in request.files.iter().enumerate() {
            interrupt::check()?;
            let trace = &Trace::read(Path::new(file))?;
            let at = self.judge_of(trace, file, request)?;
            let (model, judge) = &mut self.judges[at];
            watch(request.at(number, &format!("verifying {file} against {model}")));
            let result = verify(trace, judge.as_mut(), request.nans)?;
            if result.differing > 0 && request.keep > 0 {
                watch(Stage::of(&format!("reducing what differs in {file}")));
            }
            self.rows.push(trace::row(file, trace, &model.short(), &result, request.nans));
            // The comparison is reported even if the reduction fails.
            let (differing, mut listed) = (result.differing, Vec::new());
            let reduced = causes(trace, judge.as_mut(), result, request.keep, request.nans, &mut listed);
            self.list(file, trace, differing, &listed, request);
            self.stand_ins.extend(reduced?);
        }
        Ok(())
    }

    /// The place of the judge of a recording: the named one, else the model of its generation.
    fn judge_of(&mut self, trace: &Trace, file: &str, request: &RecordingsRequest) -> Result<usize> {
        if request.model.is_some() {
            return Ok(0);
        }
        let (model, undecided) = Generation::of_recording(&trace.metadata).model(file)?;
        self.notes.extend(undecided);
        if let Some(at) = self.judges.iter().position(|(other, _)| other.model() == Some(&model)) {
            return Ok(at);
        }
        self.judges.push(request.judge(&model)?);
        Ok(self.judges.len() - 1)
    }

    /// Executes every recorded tile on `device`, and compares its outputs with a model.
    ///
    /// # Errors
    /// A file that is no recording; a device or a model that is unknown, lacks an instruction or fails; an interruption.
    pub fn execute(
        &mut self,
        request: &RecordingsRequest,
        device: &mut dyn Device,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<()> {
        for (number, file) in request.files.iter().enumerate() {
            // Inputs without outputs are executed, too.
            let trace = &Trace::read_inputs(Path::new(file)).and_then(|inputs| match inputs.has_outputs() {
                true => Trace::read(Path::new(file)),
                false => Ok(inputs),
            })?;
            let execution = device.prepare(&trace.instruction).map_err(|error| error.within(file))?;
            if self.judges.is_empty() {
                let (model, note) = match &request.model {
                    Some(named) => (named.clone(), None),
                    None => {
                        let (model, _, note) =
                            selection::model(None, device, std::slice::from_ref(&trace.instruction))?;
                        (model, note)
                    }
                };
                self.judges.push(request.judge(&model)?);
                self.notes.extend(note);
            }
            let (model, judge) = &mut self.judges[0];
            watch(request.at(number, &format!("executing {file} again, on {}", device.identity().name)));
            judge.prepare(&trace.instruction).map_err(|error| error.within(file))?;
            let one = ReplayRequest { file, keep: request.keep, nans: request.nans };
            let mut replay = Replay::default();
            let outcome = replay.run(trace, device, judge.as_mut(), &one);
            // Nothing more is asked of a device that has failed.
            let asked: Option<&mut dyn Device> = if outcome.is_ok() { Some(&mut *device) } else { None };
            let mut listed = Vec::new();
            let reduced = replay.causes(trace, asked, judge.as_ref(), &one, &mut listed);
            self.rows.push(replay.row(trace, (device.identity(), &execution), &model.short(), &one));
            self.list(file, trace, replay.differing, &listed, request);
            self.replays.push(replay);
            outcome.and(reduced)?;
        }
        Ok(())
    }

    /// Fills the report of a comparison, or of a regression suite on `device`.
    pub fn report(mut self, request: &RecordingsRequest, device: Option<&dyn Device>, report: &mut Report) {
        let judge = self.judges.first().filter(|_| self.judges.len() == 1);
        report.device = device.or(judge.map(|(_, judge)| judge.as_ref())).map(|device| device.identity().clone());
        if device.is_some() && self.replays.is_empty() {
            return;
        }
        report.answer = match (device, judge) {
            (Some(device), Some((judge, _))) => Some(replay::answer(&device.identity().name, judge, &self.replays)),
            _ => trace::answer(&self.rows),
        };
        report.notes.append(&mut self.notes);
        report.notes.extend(request.nans.note());
        report.notes.extend((device.is_none() && !self.listing.is_empty()).then(|| limits(&self.stand_ins)));
        report.holds = self.rows.iter().all(|row| row.differing == 0);
        if device.is_none() {
            report.tables.push(Table::of("Recorded outputs compared in every bit", self.rows));
        } else {
            let unlisted = self.replays.iter().map(|replay| replay.tiles - replay.cases.len()).sum::<usize>();
            let note = || format!("{unlisted} cases of long recordings agree and are not listed.");
            report.notes.extend((unlisted > 0).then(note));
            let cases = self.replays.into_iter().flat_map(|replay| replay.cases);
            report.tables.extend([Table::of("Recordings executed again", self.rows), Table::of("Cases", cases)]);
        }
        report.tables.extend(self.listing.table());
    }
}

/// A note on reduced cases of recordings for which these models stand in.
fn limits(stand_ins: &BTreeSet<String>) -> String {
    match stand_ins.is_empty() {
        true => "A recording cannot be asked new questions, so counterexamples are not reduced; the simplest recorded case of each \
                 signature is shown."
            .into(),
        false => {
            let names: Vec<&str> = stand_ins.iter().map(String::as_str).collect();
            format!(
                "The model {} gives every recorded output and stands in for the recording, which cannot be asked new questions: \
                 reduced cases are cases on which two models differ.",
                names.join(" or ")
            )
        }
    }
}
