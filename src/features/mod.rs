//! The features of a matrix instruction that the literature lists, each measured: a few directed inputs are asked of a device, and
//! what they say is put in a word or two, with the input that says it.
//!
//! Nothing is assumed of the device but that it answers. The order of the sum comes first ([`crate::tree`]), because it says which
//! terms meet in one step; every other input is made for that order. What the formats of an instruction hold no operands for is
//! not guessed: its cell is `-`, with the reason.

mod alignment;
mod asking;
mod bench;
mod direction;
mod integers;
mod list;
mod monotonicity;
mod order;
mod range;
mod results;
mod specials;
mod steps;
pub mod tables;

pub use asking::{measure, measure_all};
pub use list::{FEATURES, Feature};
pub use order::{entry_of_c, words as order_words};

use crate::{
    Error, Result,
    arithmetic::{EvidenceKind, Rule},
    device::Device,
    identify::Uniform,
    isa::{Case, Instruction},
    tree,
};
use bench::{Answer, Ask, Bench};
use steps::Steps;

/// A feature that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The feature.
    pub feature: &'static Feature,
    /// What was found, in a word or two; `None` where it cannot be asked.
    pub found: Option<String>,
    /// Why it cannot be asked, or what else is to be known.
    pub remark: Option<String>,
    /// An input that shows it.
    pub witness: Option<Shown>,
    /// What it rests on: the device that was asked, or what the keys of its model do. `None` where a model cannot be asked.
    pub rests_on: Option<(EvidenceKind, String)>,
}

/// An input, and what the device answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
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
    /// The cells, in the order of [`FEATURES`]; of integers those that they have.
    pub cells: Vec<Cell>,
    /// How many inputs were asked, those that found the order included.
    pub asked: usize,
    /// What the device gave for all of them, if it gave one thing: it has no arithmetic then.
    pub uniform: Option<Uniform>,
}

impl Features {
    /// What was found of the feature with this name; `None` where it cannot be asked.
    pub fn found(&self, name: &str) -> Option<&str> {
        self.cell(name)?.found.as_deref()
    }

    /// What that rests on; `None` where it cannot be asked.
    pub fn evidence(&self, name: &str) -> Option<EvidenceKind> {
        self.cell(name)?.rests_on.as_ref().map(|(kind, _)| *kind)
    }

    fn cell(&self, name: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.feature.name == name)
    }

    /// The same with what each cell rests on: for a simulated device what the keys of its rule do, else the measurement.
    fn resting_on(mut self, device: &dyn Device) -> Features {
        let rule = device.model().and_then(|model| model.rule(&self.instruction));
        for cell in &mut self.cells {
            let of_keys = |rule: &Rule| {
                let grounds = rule.grounds(Some(&self.instruction.name), cell.feature.keys);
                (grounds.kind, grounds.to_string())
            };
            cell.rests_on = match rule {
                Some(rule) => cell.found.is_some().then(|| of_keys(rule)),
                None => Some((EvidenceKind::Measured, format!("measured: {}", device.identity().description))),
            };
        }
        self
    }
}

impl From<&Answer> for Shown {
    fn from(answer: &Answer) -> Shown {
        Shown { case: answer.case.clone(), d: answer.code }
    }
}

/// What a measurement says: the words, and the answer that shows them; or why there is nothing to ask.
type Finding = std::result::Result<(String, Option<Shown>), String>;

/// A finding that an answer shows.
fn shows(words: impl Into<String>, answer: &Answer) -> Finding {
    Ok((words.into(), Some(answer.into())))
}

/// The features of an instruction whose cases `ask` answers, with what is found of positions: those until what ended it early.
fn measured<'a>(i: &'a Instruction, position: Finding, ask: &'a mut Ask<'a>) -> (Features, Result<()>) {
    let mut bench = Bench::new(i, ask);
    let mut table = Table::default();
    let outcome = match i.d.is_integer() {
        true => integers::measure(&mut bench, &mut table),
        false => floating(&mut bench, &mut table),
    };
    table.put("position", position);
    let of = |feature: &'static Feature| table.cells.iter().find(|cell| cell.feature == feature).cloned();
    let cells = FEATURES.iter().filter_map(of).collect();
    (Features { instruction: i.clone(), cells, asked: bench.asked, uniform: None }, outcome)
}

/// The features of sums of floating-point numbers.
fn floating(bench: &mut Bench, table: &mut Table) -> Result<()> {
    range::subnormals(bench, table)?;
    specials::measure(bench, table)?;
    range::overflow(bench, table)?;
    let found = tree::find(bench.i, &mut |cases| bench.codes(cases));
    let order = match found {
        Ok(found) => found.order,
        // The formats hold no terms whose order could be seen.
        Err(error) if matches!(error, Error::Request { .. }) => {
            table.rest(&error.to_string());
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    order::measure(&order, table);
    let steps = Steps::of(&order);
    results::products(bench, &steps, table)?;
    range::products(bench, &steps, table)?;
    let cut = alignment::measure(bench, &steps, table)?;
    results::measure(bench, &steps, &cut, table)?;
    alignment::floor(bench, &steps, &cut, table)?;
    steps::measure(bench, &steps, &cut, table)?;
    monotonicity::measure(bench, &steps, &cut, table)
}

/// The cells under way.
#[derive(Default)]
struct Table {
    cells: Vec<Cell>,
}

impl Table {
    /// What was found of the feature with this name.
    fn put(&mut self, name: &'static str, finding: Finding) {
        let feature = list::named(name);
        let (found, remark, witness) = match finding {
            Ok((found, witness)) => (Some(found), None, witness),
            Err(why) => (None, Some(why), None),
        };
        self.cells.push(Cell { feature, found, remark, witness, rests_on: None });
    }

    /// What was found of the feature with this name.
    fn found(&self, name: &str) -> Option<&str> {
        self.cells.iter().find(|cell| cell.feature.name == name)?.found.as_deref()
    }

    /// All features that have no cell yet cannot be asked.
    fn rest(&mut self, why: &str) {
        for feature in FEATURES.iter().filter(|feature| feature.name != "position") {
            if !self.cells.iter().any(|cell| cell.feature == feature) {
                self.put(feature.name, Err(why.into()));
            }
        }
    }
}
