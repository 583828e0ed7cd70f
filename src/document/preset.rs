//! Presets: the commands for a document of a device.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::device::DeviceName;

/// The presets, as a TOML table.
const PRESETS: &str = include_str!("presets.toml");

/// The commands for a document of a device.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preset {
    /// Commands without their device and output.
    commands: Vec<String>,
    /// Commands for devices with a clock: GPUs and this processor.
    #[serde(default)]
    timed: Vec<String>,
}

impl Preset {
    /// Finds a preset by name; the error lists the names.
    pub(crate) fn parse(name: &str) -> std::result::Result<Preset, String> {
        let mut all: BTreeMap<String, Preset> = toml::from_str(PRESETS).expect("the table is TOML");
        all.remove(name).ok_or_else(|| format!("the presets are {}", all.into_keys().collect::<Vec<_>>().join(" and ")))
    }

    /// The commands for `device`.
    pub(crate) fn of(&self, device: &DeviceName) -> Vec<&str> {
        let timed = matches!(device, DeviceName::Cpu | DeviceName::Cuda(_));
        self.commands.iter().chain(self.timed.iter().filter(|_| timed)).map(String::as_str).collect()
    }
}
