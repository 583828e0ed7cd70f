//! Commands of this program whose results a document or a survey is made of.

use std::path::PathBuf;

use crate::{
    device::Identity,
    report::{Kept, Verdict},
};

/// A command and its devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Work {
    /// The words of the command, without its devices and output.
    pub(crate) words: Vec<String>,
    /// The devices.
    pub(crate) devices: Vec<String>,
    /// The place of the result, which stays; `None`: it is only read.
    pub(crate) place: Option<Place>,
}

/// The file of a result that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file.
    pub(crate) file: PathBuf,
    /// True for a command that makes other files, whose result is one more.
    pub(crate) also: bool,
    /// The description of the device that a result there has to be of.
    pub(crate) description: String,
}

impl Work {
    /// The command line, without output.
    pub(crate) fn line(&self) -> String {
        let devices = self.devices.iter().flat_map(|device| ["--device", device]);
        let words = ["tcnum"].into_iter().chain(self.words.iter().map(String::as_str)).chain(devices);
        words.map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// True if a result is a complete one of this command, by this program and of the same device.
    pub(crate) fn is_done_by(&self, result: &Kept) -> bool {
        let report = &result.report;
        let is_same = |place: &Place| {
            let same_device = |device: &Identity| device.description == place.description;
            report.device.as_ref().is_none_or(same_device)
        };
        report.interrupted.is_none()
            && report.verdict != Verdict::Unfinished
            && result.version == crate::VERSION
            && report.invocation.strip_prefix(&self.line()).is_some_and(|rest| rest.starts_with(' '))
            && self.place.as_ref().is_some_and(is_same)
    }
}

/// A word of a command line, quoted for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
