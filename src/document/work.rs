//! Presets: the commands for a document of devices.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Deserialize;

use crate::{
    device::{DeviceName, Identity},
    report::{Kept, Verdict},
};

/// The presets, as a TOML table.
const PRESETS: &str = include_str!("presets.toml");
/// The preset of an appendix.
const PAPER: &str = "paper";

/// The commands for a document of devices.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preset {
    /// Commands for each device, without their device and output.
    #[serde(default)]
    commands: Vec<String>,
    /// Commands for devices with a clock: GPUs and this processor.
    #[serde(default)]
    timed: Vec<String>,
    /// Commands that get all devices at once.
    #[serde(default)]
    together: Vec<String>,
}

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
    /// The command of a preset.
    fn of(command: &str, devices: Vec<String>) -> Work {
        Work { words: command.split(' ').map(String::from).collect(), devices, place: None }
    }

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

impl Preset {
    /// Finds a preset by name; the error lists the names.
    pub(crate) fn parse(name: &str) -> std::result::Result<Preset, String> {
        let mut all = presets();
        all.remove(PAPER);
        all.remove(name).ok_or_else(|| format!("the presets are {}", all.into_keys().collect::<Vec<_>>().join(" and ")))
    }

    /// The preset of an appendix.
    pub(crate) fn paper() -> Preset {
        presets().remove(PAPER).expect("the table has it")
    }

    /// The names of the experiments that devices run together, in their order.
    pub(crate) fn experiments(&self) -> impl Iterator<Item = &str> {
        self.together.iter().filter_map(|line| line.strip_prefix("experiment ")?.split(' ').next())
    }

    /// The commands for `devices`, each device once, in their order.
    pub(crate) fn of(&self, devices: &[DeviceName]) -> Vec<Work> {
        let mut devices: Vec<&DeviceName> = devices.iter().collect();
        let mut seen = std::collections::HashSet::new();
        devices.retain(|device| seen.insert(*device));
        let single = devices.iter().flat_map(|device| {
            let timed = matches!(device, DeviceName::Cpu | DeviceName::Cuda(_));
            let commands = self.commands.iter().chain(self.timed.iter().filter(move |_| timed));
            commands.map(|command| Work::of(command, vec![device.to_string()]))
        });
        let all: Vec<String> = devices.iter().map(ToString::to_string).collect();
        let together = self.together.iter().filter(|_| !all.is_empty());
        single.chain(together.map(|command| Work::of(command, all.clone()))).collect()
    }
}

fn presets() -> BTreeMap<String, Preset> {
    toml::from_str(PRESETS).expect("the table is TOML")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_gets_the_commands_of_devices_and_all_get_the_others_once() {
        let devices = ["model:hopper", "cpu", "model:hopper"].map(DeviceName::from);
        let preset: Preset = toml::from_str("commands = ['a']\ntimed = ['b']\ntogether = ['c', 'd']").unwrap();
        let line = |work: &Work| format!("{} {}", work.words.join(" "), work.devices.join(" "));
        let lines: Vec<String> = preset.of(&devices).iter().map(line).collect();
        assert_eq!(lines, ["a model:hopper", "a cpu", "b cpu", "c model:hopper cpu", "d model:hopper cpu"]);
        assert_eq!(preset.of(&[]), []);
    }

    #[test]
    fn the_experiments_of_an_appendix_are_shipped() {
        let preset = Preset::paper();
        let named: Vec<&str> = preset.experiments().collect();
        assert!(
            named.len() > 10 && named.iter().all(|name| crate::experiment::shipped().any(|shipped| shipped == *name))
        );
        // It is asked for by its own option.
        assert!(Preset::parse("paper").is_err_and(|error| error.contains("full and quick")));
    }
}
