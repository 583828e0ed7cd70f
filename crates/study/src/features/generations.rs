//! Features of several devices, in classes of instructions.
//!
//! The devices are in the order of their architectures.

use std::collections::BTreeSet;

use super::{
    FEATURES, Feature, Features,
    asking::{KnownFeatures, measure_known},
    classes::{ClassChoice, class},
};
use crate::{
    Error, Result, Stage,
    arithmetic::Model,
    device::{Device, DeviceName, Generation, Identity},
    isa::{Instruction, targets},
};

/// The features of several devices.
#[derive(Debug, Default)]
pub struct Generations {
    /// The classes that at least one device has, in the order of tables.
    pub classes: Vec<String>,
    /// The devices that were asked, the oldest architecture first.
    pub devices: Vec<DeviceFeatures>,
    /// Instructions that could not be measured, with the reason.
    pub left_out: Vec<String>,
    /// True if any NaN code counts as equal to any other.
    pub any_nan: bool,
}

/// The features of a device.
#[derive(Debug)]
pub struct DeviceFeatures {
    /// The device.
    pub identity: Identity,
    /// Year, or year and month, in which its architecture was announced.
    pub announced: Option<&'static str>,
    /// The instructions that it has among the chosen ones.
    pub chosen: Vec<Instruction>,
    /// The features of those that were measured.
    pub measured: Vec<Features>,
}

/// Instructions of a class whose features are the same.
pub struct ClassEntry<'a> {
    /// The features, with the instruction of each.
    pub all: Vec<&'a Features>,
}

impl DeviceFeatures {
    /// The name in tables: `hopper` for `model:hopper`.
    pub fn label(&self) -> String {
        self.identity.name.short()
    }

    /// True if the device has an instruction of the class.
    pub fn has(&self, name: &str) -> bool {
        self.chosen.iter().any(|i| class(i) == name)
    }

    /// The measured instructions of a class, those with the same findings together.
    pub fn entries(&self, name: &str) -> Vec<ClassEntry<'_>> {
        let findings = |features: &Features| features.cells.iter().map(|cell| cell.finding.clone()).collect::<Vec<_>>();
        let mut entries: Vec<ClassEntry> = Vec::new();
        for features in self.measured.iter().filter(|features| class(&features.instruction) == name) {
            match entries.iter_mut().find(|entry| findings(entry.all[0]) == findings(features)) {
                Some(entry) => entry.all.push(features),
                None => entries.push(ClassEntry { all: vec![features] }),
            }
        }
        entries
    }
}

impl Generations {
    /// The devices that were asked about a class, and the features whose findings differ between them.
    pub fn differing(&self, name: &str) -> (Vec<String>, Vec<&'static str>) {
        let asked: Vec<&DeviceFeatures> =
            self.devices.iter().filter(|device| !device.entries(name).is_empty()).collect();
        let having: Vec<_> = asked.iter().map(|device| device.entries(name)).collect();
        // A device whose formats cannot show a feature does not differ in it.
        let differs = |feature: &&Feature| {
            let findings = |entries: &Vec<ClassEntry>| -> BTreeSet<String> {
                entries.iter().filter_map(|entry| entry.all[0].finding(feature.name)).map(String::from).collect()
            };
            let shown: Vec<_> = having.iter().map(findings).filter(|of_device| !of_device.is_empty()).collect();
            shown.iter().any(|of_device| *of_device != shown[0])
        };
        let labels = asked.iter().map(|device| device.label()).collect();
        (labels, FEATURES.iter().filter(differs).map(|feature| feature.name).collect())
    }
}

/// Measures the features of several devices, one after the other.
///
/// `all` has them in the order of their architectures.
///
/// # Errors
/// A device named twice; no device with any of the chosen instructions; a device that fails; an interruption. The features until then are
/// in `all`.
pub fn measure_generations(
    devices: Vec<Box<dyn Device>>,
    choice: &ClassChoice,
    progress: &mut dyn FnMut(Stage),
    all: &mut Generations,
) -> Result<()> {
    distinct(devices.iter().map(|device| &device.identity().name))?;
    let names: Vec<String> = devices.iter().map(|device| device.identity().name.short()).collect();
    let outcome = measure_each(devices, choice, progress, all);
    // A stable sort: devices of one date, and those without one at the end, stay in the order of the request.
    all.devices.sort_by_key(|device| device.announced.map_or((1, ""), |announced| (0, announced)));
    all.classes = choice.names().into_iter().filter(|name| all.devices.iter().any(|device| device.has(name))).collect();
    outcome?;
    if all.classes.is_empty() {
        all.devices.clear();
        return Err(Error::unavailable(format!("none of the chosen instructions is on {}", names.join(" or "))));
    }
    Ok(())
}

fn measure_each(
    devices: Vec<Box<dyn Device>>,
    choice: &ClassChoice,
    progress: &mut dyn FnMut(Stage),
    all: &mut Generations,
) -> Result<()> {
    let (mut known, total) = (KnownFeatures::default(), devices.len() as u64);
    for (done, mut device) in (0..).zip(devices) {
        progress(Stage { what: &format!("asking {}", device.identity().name), done, total });
        let chosen = choice.on(device.as_mut())?;
        let mut measured = Vec::new();
        let outcome = measure_known(device.as_mut(), &chosen, &mut known, &mut |_, features| {
            match features {
                Err(error) if error.exit_status() == 2 => all.left_out.push(error.to_string()),
                features => measured.push(features?),
            }
            Ok(())
        });
        // A device that an interruption left unasked has no column.
        if outcome.is_ok() || !measured.is_empty() {
            let announced = announced(device.as_ref(), &chosen);
            all.devices.push(DeviceFeatures { identity: device.identity().clone(), announced, chosen, measured });
        }
        outcome?;
    }
    Ok(())
}

/// Refuses a device that is named twice.
///
/// # Errors
/// A request error that names the device.
fn distinct<'a>(names: impl Iterator<Item = &'a DeviceName>) -> Result<()> {
    let mut seen: Vec<&DeviceName> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(Error::request(format!(
                "‹device={name}› is given twice; name each device once (GPUs of one generation are one model: H100 and H200 are hopper)"
            )));
        }
        seen.push(name);
    }
    Ok(())
}

/// The date of a device.
///
/// The earliest target that has one of these instructions gives the date, else the earliest target.
fn announced(device: &dyn Device, instructions: &[Instruction]) -> Option<&'static str> {
    let of_model = |name: &str| Model::load(name).map_or_else(|_| Vec::new(), |model| model.architectures);
    let names = match (&device.identity().generation, device.model()) {
        (_, Some(model)) => model.architectures.clone(),
        (Generation::Target(target), _) => vec![target.name.to_string()],
        (Generation::Model(name) | Generation::Named(name), _) => of_model(name),
        (Generation::Unknown, _) => Vec::new(),
    };
    let known: Vec<_> = names.iter().filter_map(|name| targets::find(name)).collect();
    let having = known.iter().filter(|target| instructions.iter().any(|i| i.support_on(target.name).is_some()));
    let earliest = having.map(|target| target.announced).min();
    earliest.or_else(|| known.iter().map(|target| target.announced).min())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arithmetic::shipped, device::ModelDevice};

    /// The devices of these models, and what was measured on them.
    fn measured(names: &[&str], choice: &ClassChoice) -> Result<Generations> {
        let open = |name: &&str| -> Result<Box<dyn Device>> { Ok(Box::new(ModelDevice::open(name)?)) };
        let mut all = Generations::default();
        measure_generations(names.iter().map(open).collect::<Result<_>>()?, choice, &mut |_| (), &mut all)?;
        Ok(all)
    }

    fn named(names: &[&str]) -> ClassChoice {
        let named = names.iter().map(|name| crate::isa::find(name).unwrap()).collect();
        ClassChoice { named, classes: Vec::new() }
    }

    #[test]
    fn devices_stand_in_the_order_of_their_architectures() {
        let all: Vec<&str> = shipped().collect();
        let reversed: Vec<&str> = all.iter().rev().copied().collect();
        let choice = named(&["mma.m16n8k16.f32.bf16.bf16.f32", "mfma.32x32x4.f32.bf16.bf16.f32"]);
        let generations = measured(&reversed, &choice).unwrap();
        let labels: Vec<String> = generations.devices.iter().map(DeviceFeatures::label).collect();
        let at = |name: &str| labels.iter().position(|label| label == name).unwrap();
        for pair in
            [["volta", "turing"], ["turing", "ampere"], ["ampere", "cdna1"], ["cdna1", "cdna2"], ["hopper", "ada"]]
        {
            assert!(at(pair[0]) < at(pair[1]), "{pair:?} in {labels:?}");
        }
        let dates: Vec<_> = generations.devices.iter().filter_map(|device| device.announced).collect();
        assert!(dates.len() == all.len() && dates.is_sorted(), "{dates:?}");
    }

    #[test]
    fn a_device_without_a_class_is_kept_and_has_no_entry() {
        let generations = measured(&["volta", "ampere"], &named(&["mma.m16n8k16.f32.bf16.bf16.f32"])).unwrap();
        let [volta, ampere] = &generations.devices[..] else { panic!("{generations:?}") };
        let [name] = &generations.classes[..] else { panic!("{generations:?}") };
        assert_eq!(name, "mma bf16 -> f32");
        assert!(!volta.has(name) && volta.entries(name).is_empty() && ampere.entries(name).len() == 1);
        assert_eq!(generations.differing(name), (vec!["ampere".to_string()], Vec::new()));
    }

    #[test]
    fn instructions_of_a_class_that_differ_are_entries_of_their_own() {
        let names = ["mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k8.f32.bf16.bf16.f32"];
        let generations = measured(&["ampere", "hopper"], &named(&names)).unwrap();
        let entries = generations.devices[0].entries("mma f16 -> f32");
        let of =
            |at: usize| entries[at].all.iter().map(|features| features.instruction.name.as_str()).collect::<Vec<_>>();
        assert_eq!((of(0), of(1)), (vec![names[0]], vec![names[1]]));
        let (devices, differ) = generations.differing("mma f16 -> f32");
        assert_eq!(devices, ["ampere", "hopper"]);
        assert!(
            differ.contains(&"alignment") && differ.contains(&"order") && !differ.contains(&"result"),
            "{differ:?}"
        );
    }

    /// A device that fails whenever it is asked.
    struct Failing(Identity);

    impl Device for Failing {
        fn identity(&self) -> &Identity {
            &self.0
        }

        fn prepare(&mut self, _: &Instruction) -> Result<crate::device::Execution> {
            Err(Error::device("it fails"))
        }

        fn execute(&mut self, _: &Instruction, _: &crate::isa::Tiles) -> Result<crate::isa::Codes> {
            Err(Error::device("it fails"))
        }
    }

    #[test]
    fn devices_before_one_that_fails_are_delivered() {
        let model = |name: &str| -> Box<dyn Device> { Box::new(ModelDevice::open(name).unwrap()) };
        let failing = Box::new(Failing(Identity::new("exec:failing", "a device")));
        let devices = vec![model("hopper"), model("ampere"), failing, model("ada")];
        let mut generations = Generations::default();
        let choice = named(&["mma.m16n8k16.f32.bf16.bf16.f32"]);
        let outcome = measure_generations(devices, &choice, &mut |_| (), &mut generations);
        assert_eq!(outcome.unwrap_err().to_string(), "it fails");
        let labels: Vec<String> = generations.devices.iter().map(DeviceFeatures::label).collect();
        assert_eq!((labels, generations.classes.len()), (vec!["ampere".into(), "hopper".into()], 1));
    }

    #[test]
    fn equal_programs_are_measured_once_and_have_the_features_of_each() {
        let names = ["mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k16.f32.f16.f16.f32"];
        let generations = measured(&["ampere", "ada", "hopper"], &named(&names)).unwrap();
        for of_device in &generations.devices {
            assert_eq!(of_device.measured.len(), names.len());
            for features in &of_device.measured {
                let mut device = ModelDevice::open(&of_device.label()).unwrap();
                let alone = super::super::measure(&mut device, &features.instruction).unwrap();
                assert_eq!(*features, alone, "{} on {}", features.instruction, of_device.label());
            }
        }
    }

    #[test]
    fn a_device_named_twice_and_devices_without_any_instruction_are_refused() {
        let choice = named(&["mma.m16n8k16.f32.bf16.bf16.f32"]);
        let twice = measured(&["hopper", "ampere", "H100"], &choice).unwrap_err();
        assert!(twice.exit_status() == 2 && twice.to_string().contains("model:hopper› is given twice"), "{twice}");
        let none = measured(&["volta", "turing"], &choice).unwrap_err();
        assert!(none.exit_status() == 2 && none.to_string().contains("volta or turing"), "{none}");
    }
}
