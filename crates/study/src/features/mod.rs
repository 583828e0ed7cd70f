//! Features of matrix instructions that the literature lists, measured by a few directed inputs.
//!
//! The measurement is that of [`crate::measurement`]. A feature that the formats cannot show is not guessed: its cell is `-`, with the
//! reason.

pub mod answers;
mod asking;
mod classes;
mod generations;
mod list;
mod position;
mod published;
pub mod tables;

pub use crate::order::{entry_of_c, notation as order_words};
pub use asking::{measure, measure_all};
pub use classes::{ClassChoice, class};
pub use generations::{ClassEntry, DeviceFeatures, Generations, measure_generations};
pub use list::{FEATURES, Feature};
pub use published::{Agreement, PublishedComparison, compared};

use crate::{
    Result,
    arithmetic::{EvidenceKind, Model, Rule},
    bench::{Ask, Uniform},
    device::Device,
    isa::{Case, Instruction},
    measurement::{Finding, Measurement},
};

/// The cell of a device that has no instruction of a class.
pub const ABSENT: &str = "absent";

/// The measurement of a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureCell {
    /// The feature.
    pub feature: &'static Feature,
    /// The result in a word or two; `None` where the formats cannot show the feature.
    pub finding: Option<String>,
    /// Why the formats cannot show the feature.
    pub remark: Option<String>,
    /// An input that shows the result.
    pub witness: Option<FeatureWitness>,
    /// The evidence: the measurement or, on a model, the evidence for its keys, if there is a result.
    pub rests_on: Option<(EvidenceKind, String)>,
}

/// An input and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureWitness {
    /// The operands.
    pub case: Case,
    /// The code of D.
    pub d: u64,
}

/// The features of an instruction on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// The instruction.
    pub instruction: Instruction,
    /// The measured features, in the order of [`FEATURES`]; integers have fewer.
    pub cells: Vec<FeatureCell>,
    /// Number of inputs asked, including those for the order.
    pub asked: usize,
    /// The one value that the device gave for all inputs, if it did: it then has no arithmetic.
    pub uniform: Option<Uniform>,
}

impl Features {
    /// The result of the feature `name`, if there is one.
    pub fn finding(&self, name: &str) -> Option<&str> {
        self.cell(name)?.finding.as_deref()
    }

    /// The evidence for the feature `name`, if there is a result.
    pub fn evidence(&self, name: &str) -> Option<EvidenceKind> {
        self.cell(name)?.rests_on.as_ref().map(|(kind, _)| *kind)
    }

    fn cell(&self, name: &str) -> Option<&FeatureCell> {
        self.cells.iter().find(|cell| cell.feature.name == name)
    }

    /// Adds the evidence of each result: for a model the evidence of its keys, else the measurement.
    fn resting_on(mut self, device: &dyn Device) -> Features {
        // A device that hides its model, because NaN codes are alike, still is a model.
        let hidden = match (device.model(), device.identity().name.model()) {
            (None, Some(name)) => Model::load(name).ok(),
            _ => None,
        };
        let rule = device.model().or(hidden.as_ref()).and_then(|model| model.rule(&self.instruction));
        for cell in &mut self.cells {
            let of_keys = |rule: &Rule| {
                let grounds = rule.grounds(Some(&self.instruction.name), &cell.feature.keys());
                (grounds.kind, grounds.to_string())
            };
            cell.rests_on = match rule {
                Some(rule) => cell.finding.is_some().then(|| of_keys(rule)),
                None => Some((EvidenceKind::Measured, format!("measured: {}", device.identity().description))),
            };
        }
        self
    }
}

/// The cell of a feature with this finding.
fn cell(feature: &'static Feature, finding: Finding) -> FeatureCell {
    let (finding, remark, shown) = match finding {
        Ok((words, shown)) => (Some(words), None, shown),
        Err(why) => (None, Some(why), None),
    };
    let witness = shown.map(|answer| FeatureWitness { case: answer.case, d: answer.code });
    FeatureCell { feature, finding, remark, witness, rests_on: None }
}

/// Measures the features of an instruction; with an error, returns the features until then.
fn measured<'a>(i: &'a Instruction, position: Finding, ask: &'a mut Ask<'a>) -> (Features, Result<()>) {
    let mut measurement = Measurement::new(i, ask);
    let outcome = measurement.measure();
    measurement.findings.push(("position", position));
    let of = |feature: &'static Feature| {
        let finding = measurement.findings.iter().find(|(name, _)| *name == feature.name);
        let finding = finding.map(|(_, finding)| finding.clone());
        Some(cell(feature, finding.or_else(|| measurement.unordered.clone().map(Err))?))
    };
    let cells = FEATURES.iter().filter_map(of).collect();
    (Features { instruction: i.clone(), cells, asked: measurement.asked(), uniform: None }, outcome)
}
