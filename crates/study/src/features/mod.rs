//! Features of matrix instructions that the literature lists, measured by a few directed inputs.
//!
//! No model of the device is assumed. The order of the sum ([`crate::tree`]) shows which terms meet in one step; inputs for products,
//! alignment and results are made for that order. A feature that the formats cannot show is not guessed: its cell is `-`, with the
//! reason.

mod alignment;
pub mod answers;
mod asking;
mod classes;
mod direction;
mod generations;
mod integers;
mod known;
mod list;
mod monotonicity;
mod order;
mod published;
mod range;
mod results;
mod specials;
mod steps;
pub mod tables;

pub use asking::{measure, measure_all};
pub use classes::{ClassChoice, class};
pub use generations::{ClassEntry, DeviceFeatures, Generations, measure_generations};
pub use list::{FEATURES, Feature};
pub use order::{entry_of_c, words as order_words};
pub use published::{Agreement, PublishedComparison, compared};

use crate::{
    Error, Result,
    arithmetic::{EvidenceKind, Model, Rule},
    bench::{Ask, TermAnswer, TermBench, Uniform},
    device::Device,
    isa::{Case, Instruction},
};
use steps::FeatureSteps;

/// Why a feature has no result: the formats lack the operands that would show it.
const UNSUITED: &str = "the formats hold no such operands";
/// Why a feature has no result: it needs the bits that alignment keeps.
const UNKNOWN_WIDTH: &str = "the width of the alignment is unknown";

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

impl From<&TermAnswer> for FeatureWitness {
    fn from(answer: &TermAnswer) -> FeatureWitness {
        FeatureWitness { case: answer.case.clone(), d: answer.code }
    }
}

/// The result of a measurement in words, with its witness; or the reason why there is none.
type FeatureFinding = std::result::Result<(String, Option<FeatureWitness>), String>;

/// A result with its witness.
fn shows(words: impl Into<String>, answer: &TermAnswer) -> FeatureFinding {
    Ok((words.into(), Some(answer.into())))
}

/// Measures the features of an instruction; with an error, returns the features until then.
fn measured<'a>(i: &'a Instruction, position: FeatureFinding, ask: &'a mut Ask<'a>) -> (Features, Result<()>) {
    let mut bench = TermBench::new(i, ask);
    let mut table = FeatureCells::default();
    let outcome = match i.d.is_integer() {
        true => integers::measure(&mut bench, &mut table),
        false => floating(&mut bench, &mut table),
    };
    table.put("position", position);
    let of = |feature: &'static Feature| table.cells.iter().find(|cell| cell.feature == feature).cloned();
    let cells = FEATURES.iter().filter_map(of).collect();
    (Features { instruction: i.clone(), cells, asked: bench.asked, uniform: None }, outcome)
}

/// Measures the features of floating-point instructions.
fn floating(bench: &mut TermBench, table: &mut FeatureCells) -> Result<()> {
    range::subnormals(bench, table)?;
    specials::measure(bench, table)?;
    range::overflow(bench, table)?;
    let outcome = crate::order::find(bench.i, &mut |cases| bench.codes(cases));
    let order = match outcome {
        Ok(tree) => tree.order,
        // The formats hold no terms that show an order.
        Err(error) if matches!(error, Error::Request { .. }) => {
            table.rest(&error.to_string());
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    order::measure(&order, table);
    let steps = FeatureSteps::of(&order);
    results::products(bench, &steps, table)?;
    range::products(bench, &steps, table)?;
    let cut = alignment::measure(bench, &steps, table)?;
    results::measure(bench, &steps, &cut, table)?;
    alignment::floor(bench, &steps, &cut, table)?;
    steps::measure(bench, &steps, &cut, table)?;
    monotonicity::measure(bench, &steps, &cut, table)
}

/// Measurements so far.
#[derive(Default)]
struct FeatureCells {
    cells: Vec<FeatureCell>,
}

impl FeatureCells {
    /// Adds the result of the feature `name`.
    fn put(&mut self, name: &'static str, finding: FeatureFinding) {
        let feature = list::named(name);
        let (finding, remark, witness) = match finding {
            Ok((words, witness)) => (Some(words), None, witness),
            Err(why) => (None, Some(why), None),
        };
        self.cells.push(FeatureCell { feature, finding, remark, witness, rests_on: None });
    }

    /// The result of the feature `name`, if there is one.
    fn finding(&self, name: &str) -> Option<&str> {
        self.cells.iter().find(|cell| cell.feature.name == name)?.finding.as_deref()
    }

    /// Marks all features without a result as not testable, for the reason `why`.
    fn rest(&mut self, why: &str) {
        for feature in FEATURES.iter().filter(|feature| feature.name != "position") {
            if !self.cells.iter().any(|cell| cell.feature == feature) {
                self.put(feature.name, Err(why.into()));
            }
        }
    }
}
