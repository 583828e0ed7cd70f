//! Commands of an appendix.

use serde::Deserialize;

use super::{Subject, Work};
use crate::{base::distinct::distinct, device::DeviceName};

/// The commands, as a TOML table.
const COMMANDS: &str = include_str!("commands.toml");

/// Commands without devices and output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Commands {
    /// Commands for each device.
    each: Vec<String>,
    /// Commands that get all devices at once.
    together: Vec<String>,
}

impl Commands {
    pub(super) fn shipped() -> Commands {
        toml::from_str(COMMANDS).expect("the table is TOML")
    }

    /// The commands of an appendix on a subject.
    ///
    /// `beside`: one command compares the features of all devices with each other and with published ones.
    fn on(subject: &Subject, beside: bool) -> Commands {
        let mut commands = Commands::shipped();
        if !subject.experiments.is_empty() {
            commands.together = subject.experiments.iter().map(|name| format!("experiment {name}")).collect();
        }
        let formats: String = subject.formats.iter().map(|format| format!(" --fmt {format}")).collect();
        if beside || !formats.is_empty() {
            let features = format!("features{formats}");
            commands.each.clear();
            if beside { commands.together.insert(0, features) } else { commands.each.push(features) }
        }
        commands
    }

    /// The names of the experiments, in their order.
    pub(super) fn experiments(&self) -> impl Iterator<Item = &str> {
        self.together.iter().filter_map(|line| line.strip_prefix("experiment ")?.split(' ').next())
    }

    /// The commands for `devices`, each device once, in their order.
    fn of(&self, devices: &[DeviceName]) -> Vec<Work> {
        let all = distinct(devices.iter().map(ToString::to_string));
        let work = |command: &String, devices: Vec<String>| Work {
            words: command.split(' ').map(String::from).collect(),
            devices,
            place: None,
        };
        let single = all.iter().flat_map(|device| self.each.iter().map(|command| work(command, vec![device.clone()])));
        let together = self.together.iter().filter(|_| !all.is_empty());
        single.chain(together.map(|command| work(command, all.clone()))).collect()
    }
}

/// The commands that give an appendix of devices on a subject its results.
pub(crate) fn appendix_work(devices: &[DeviceName], subject: &Subject, beside: bool) -> Vec<Work> {
    Commands::on(subject, beside).of(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_gets_the_commands_of_devices_and_all_get_the_others_once() {
        let devices = ["model:hopper", "cpu", "model:hopper"].map(DeviceName::from);
        let commands: Commands = toml::from_str("each = ['a']\ntogether = ['c', 'd']").unwrap();
        let line = |work: &Work| format!("{} {}", work.words.join(" "), work.devices.join(" "));
        let lines: Vec<String> = commands.of(&devices).iter().map(line).collect();
        assert_eq!(lines, ["a model:hopper", "a cpu", "c model:hopper cpu", "d model:hopper cpu"]);
        assert_eq!(commands.of(&[]), []);
    }

    #[test]
    fn the_experiments_of_an_appendix_are_shipped() {
        let commands = Commands::shipped();
        let named: Vec<&str> = commands.experiments().collect();
        assert!(
            named.len() > 10 && named.iter().all(|name| crate::experiment::shipped().any(|shipped| shipped == *name))
        );
    }
}
