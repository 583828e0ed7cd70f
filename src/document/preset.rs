//! Presets: the commands for a document of devices.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::device::DeviceName;

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
pub(crate) struct Work<'a> {
    /// The command, without its devices and output.
    pub(crate) command: &'a str,
    /// The devices.
    pub(crate) devices: Vec<String>,
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
    pub(crate) fn of(&self, devices: &[DeviceName]) -> Vec<Work<'_>> {
        let mut devices: Vec<&DeviceName> = devices.iter().collect();
        let mut seen = std::collections::HashSet::new();
        devices.retain(|device| seen.insert(*device));
        let single = devices.iter().flat_map(|device| {
            let timed = matches!(device, DeviceName::Cpu | DeviceName::Cuda(_));
            let commands = self.commands.iter().chain(self.timed.iter().filter(move |_| timed));
            commands.map(|command| Work { command, devices: vec![device.to_string()] })
        });
        let all: Vec<String> = devices.iter().map(ToString::to_string).collect();
        let together = self.together.iter().filter(|_| !all.is_empty());
        single.chain(together.map(|command| Work { command, devices: all.clone() })).collect()
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
        let line = |work: &Work| format!("{} {}", work.command, work.devices.join(" "));
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
