//! The generation of a device, which decides the model that it is compared with.

use std::{collections::BTreeMap, fmt::Display};

use super::DeviceName;
use crate::{
    Error, Result,
    arithmetic::{named, of_target, shipped},
    isa::{Target, targets},
};

/// Model for devices of unknown generation.
pub const DEFAULT_MODEL: &str = "hopper";

/// The generation that a device reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generation {
    /// The device is this model: a shipped name or a file.
    Model(String),
    /// The device names this model for comparison: a shipped name or a file.
    Named(String),
    /// The device has the instructions of this target (`sm_90a`, `znver5`).
    Target(&'static Target),
    /// The device does not report one.
    Unknown,
}

impl Generation {
    /// Finds the generation of a recorded device by its model, its target, or its GPU's name.
    pub fn of_recording(metadata: &BTreeMap<String, String>) -> Generation {
        let said = |key: &str| metadata.get(key).map_or("", String::as_str);
        let device = DeviceName::from(said("device"));
        if let Some(name) = device.model().filter(|name| shipped().any(|other| other == *name)) {
            return Generation::Model(name.into());
        }
        if let Some(target) = targets::find(said("architecture")) {
            return Generation::Target(target);
        }
        // One model describes all processors.
        if device == DeviceName::Cpu {
            let processors = targets::all().iter().find(|target| !target.processors.is_empty());
            return processors.map_or(Generation::Unknown, Generation::Target);
        }
        let named = |target: &&Target| ["device", "description"].iter().any(|key| target.is_named_in(said(key)));
        let mut named = targets::all().iter().filter(named);
        match (named.next(), named.next()) {
            (Some(target), None) => Generation::Target(target),
            _ => Generation::Unknown,
        }
    }

    /// The shipped model of this generation.
    pub fn shipped_model(&self) -> Option<&str> {
        match self {
            Generation::Model(name) | Generation::Named(name) => named(name),
            Generation::Target(target) => of_target(target.name),
            Generation::Unknown => None,
        }
    }

    /// Chooses the model to compare `device` with, as `--model` takes it, and a note if it is a guess.
    ///
    /// # Errors
    /// A request error: no shipped model describes the target.
    pub fn model(&self, device: &(impl Display + ?Sized)) -> Result<(String, Option<String>)> {
        match self {
            Generation::Model(name) => Ok((name.clone(), None)),
            Generation::Named(name) => {
                Ok((name.clone(), Some(format!("{device} asks to be compared with the model '{name}'."))))
            }
            Generation::Target(target) => match of_target(target.name) {
                Some(name) => Ok((name.into(), None)),
                None => Err(Error::request(format!(
                    "no shipped model describes {device} ({}, {}); name one by ‹model=MODEL›",
                    target.title, target.name
                ))),
            },
            Generation::Unknown => {
                let note = format!(
                    "{device} reports no generation, so it is compared with the model '{DEFAULT_MODEL}'; use ‹model› to choose \
                     another."
                );
                Ok((DEFAULT_MODEL.into(), Some(note)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(entries: &[(&str, &str)]) -> Option<&'static str> {
        let metadata = entries.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        match Generation::of_recording(&metadata) {
            Generation::Target(target) => Some(target.name),
            Generation::Model(_) | Generation::Named(_) | Generation::Unknown => None,
        }
    }

    #[test]
    fn a_recording_is_of_the_generation_of_its_model_architecture_or_gpu() {
        let model = BTreeMap::from([("device".to_string(), "model:ampere".to_string())]);
        assert_eq!(Generation::of_recording(&model), Generation::Model("ampere".into()));
        assert_eq!(recorded(&[("device", "cuda:0"), ("architecture", "sm_87")]), Some("sm_86"));
        assert_eq!(recorded(&[("device", "NVIDIA A100-SXM4-80GB")]), Some("sm_80"));
        assert_eq!(recorded(&[("device", "cuda:0"), ("description", "NVIDIA L40S")]), Some("sm_89"));
        let processor = [("device", "cpu"), ("description", "AMD EPYC (AuthenticAMD 26.2.1)")];
        assert_eq!(recorded(&processor).and_then(of_target), Some("x86"));
        // Part of another name decides nothing, and neither do two generations.
        for undecided in ["my RTL of XA100", "H100 beside A100", "model:mine.toml", ""] {
            assert_eq!(recorded(&[("device", undecided)]), None, "{undecided}");
        }
    }

    #[test]
    fn a_generation_is_compared_with_its_own_model() {
        for target in targets::all() {
            let (name, note) = Generation::Target(target).model("cuda:0").unwrap();
            let model = crate::arithmetic::Model::load(&name).unwrap();
            assert!(
                note.is_none() && model.architectures.iter().any(|architecture| architecture == target.name),
                "{}",
                target.name
            );
        }
        let (name, note) = Generation::Unknown.model("exec:x").unwrap();
        assert!(name == DEFAULT_MODEL && note.unwrap().contains("exec:x"));
        let unknown: &Target = &Target {
            name: "sm_999a",
            title: "A later one",
            announced: "2099",
            gpus: &[],
            capabilities: &[],
            processors: &[],
        };
        let error = Generation::Target(Box::leak(Box::new(*unknown))).model("cuda:0").unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains("‹model=MODEL›"), "{error}");
    }
}
