//! Experiment files: reading and checking them.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{BitTable, CostTable, IntegerTable, Printed, SplittingFigure, finding::Condition};
use crate::{
    Error, Result,
    arithmetic::shipped,
    base::{named::Named, nearest::nearest, text},
    chain::{self, Scaling},
    device::{Device, Generation},
    gemm::{
        Schedule,
        library::{Values, checked_shape},
    },
    inputs::{Init, Op},
    isa::{self, Instruction},
    probe,
};

/// A table or figure of the literature, as its file declares it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Authors, title, and which table or figure.
    pub source: String,
    /// What it shows.
    pub title: String,
    /// The device that the published figures were measured on.
    pub published_on: String,
    /// Sentences that the reader must know: what the source leaves open, and what was assumed.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// The devices that run it where none are named: the generations that it is about.
    #[serde(default)]
    pub devices: Vec<String>,
    /// The generations (models) whose devices decide the exit status; others are there to be compared. Empty: all do.
    #[serde(default)]
    pub generations: Vec<String>,
    /// What a device executes instead of an instruction that it lacks: the first of these that it has.
    #[serde(default, deserialize_with = "alternatives")]
    pub instead: BTreeMap<String, Vec<Instruction>>,
    /// Probes of single operations.
    pub profile: Option<ProfileTable>,
    /// Chain matrix multiplication.
    pub chain: Option<ChainFigure>,
    /// Errors of matrix products.
    pub products: Option<ProductFigure>,
    /// Products of more precision than their operands, by schemes of splitting.
    pub splitting: Option<SplittingFigure>,
    /// Products of integers by their digits.
    pub integers: Option<IntegerTable>,
    /// Agreement bit by bit with sums in half and in single precision.
    pub bits: Option<BitTable>,
    /// Latencies and rates.
    pub cost: Option<CostTable>,
    /// The published table of formats, of which there is one.
    pub formats: Option<FormatTable>,
    /// What has to hold.
    #[serde(default, rename = "finding")]
    pub findings: Vec<Finding>,
}

/// Probes of single operations on Normal(0, 1) operands, and the published mean absolute errors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileTable {
    /// Samples of each probe.
    pub samples: u64,
    /// How many samples the published means are taken to have: it sets their sampling error.
    pub published_samples: u64,
    /// The published cells.
    #[serde(rename = "cell")]
    pub cells: Vec<ProfileCell>,
}

/// One published cell, and where its value is found here.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileCell {
    /// The instruction.
    #[serde(deserialize_with = "instruction")]
    pub instruction: Instruction,
    /// The operation that is isolated.
    #[serde(deserialize_with = "named")]
    pub op: Op,
    /// Whether the reference sees rounded operands.
    #[serde(deserialize_with = "named")]
    pub init: Init,
    /// What the error is taken against.
    pub reference: ErrorColumn,
    /// The value as printed.
    pub published: Printed,
    /// Why the value here is expected to differ, or what else is to be said about it.
    pub explanation: Option<String>,
    /// Why it is accepted that the cell is not reproduced.
    pub accepted: Option<String>,
}

/// A published table of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum FormatTable {
    /// That of "Matrix Core Programming on AMD GPUs", whose cells are `experiments/table-formats.csv`.
    #[serde(rename = "table-formats.csv")]
    MatrixCores,
}

/// What an error is taken against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ErrorColumn {
    /// The same expression in f32 on the CPU.
    #[serde(rename = "f32")]
    F32,
    /// That, rounded to the format of D.
    #[serde(rename = "f32 to D")]
    F32Rounded,
}

/// Chain matrix multiplication: both initialisations of each instruction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainFigure {
    /// The instructions.
    #[serde(deserialize_with = "instructions")]
    pub instructions: Vec<Instruction>,
    /// The longest chain, in links.
    pub length: usize,
    /// How many chains.
    pub chains: u64,
    /// The scales of matrices in plain formats.
    #[serde(default = "unscaled", deserialize_with = "named")]
    pub scaling: Scaling,
}

fn unscaled() -> Scaling {
    Scaling::None
}

/// Errors of matrix products of drawn operands against k.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductFigure {
    /// Rows of A.
    pub rows: usize,
    /// Columns of B.
    pub columns: usize,
    /// What the operands are drawn from.
    #[serde(deserialize_with = "named")]
    pub values: Values,
    /// The terms of each sum.
    pub k: Vec<usize>,
    /// The lines.
    #[serde(default, rename = "line")]
    pub lines: Vec<ProductLine>,
    /// Lines that no one has to list.
    pub accumulators: Option<AccumulatorChoice>,
}

/// Which accumulators have a line of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccumulatorChoice {
    /// Of each simulated device every floating-point rule of its model, by the first instruction that makes matrix products by it, and by the
    /// first with a sparse A.
    EveryRule,
}

/// The products of one instruction, on the devices that have it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductLine {
    /// The instruction.
    #[serde(deserialize_with = "described")]
    pub instruction: Instruction,
    /// After how many k sums are promoted to a register.
    pub promote: Option<usize>,
}

impl ProductLine {
    /// The schedule of its products.
    ///
    /// # Errors
    /// The instruction makes no products, or `promote` does not fit it.
    pub fn schedule(&self) -> Result<Schedule> {
        let schedule = Schedule { promote: self.promote, ..Schedule::new(self.instruction.clone())? };
        schedule.check().map_err(Error::request)?;
        Ok(schedule)
    }
}

/// A claim of the source (or about it), and how it is checked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The claim, in a sentence.
    pub claim: String,
    /// The condition under which it holds.
    pub check: Condition,
    /// Why it is accepted that it does not hold.
    pub accepted: Option<String>,
}

impl ErrorColumn {
    /// The name, as in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            ErrorColumn::F32 => "f32",
            ErrorColumn::F32Rounded => "f32 to D",
        }
    }
}

impl Experiment {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// A request error for a file that cannot be read or is not an experiment: with line, key and what is allowed.
    pub fn read(path: &Path) -> Result<Experiment> {
        let text = text::read(path, "the experiment file")?;
        Experiment::parse(&text, &path.display().to_string())
    }

    /// The experiment that `text` declares; `origin` names it in messages.
    ///
    /// # Errors
    /// As [`Experiment::read`].
    pub fn parse(text: &str, origin: &str) -> Result<Experiment> {
        let experiment: Experiment = toml::from_str(text)
            .map_err(|error| Error::request(format!("{origin}: {}", error.to_string().trim_end())))?;
        match experiment.defect() {
            Some(defect) => Err(Error::request(format!("{origin}: {defect}"))),
            None => Ok(experiment),
        }
    }

    /// The instruction that a device executes: this one, or the first that stands for it where the device lacks it; `None` if it has none.
    ///
    /// # Errors
    /// Those of the device.
    pub fn on(&self, device: &mut dyn Device, instruction: &Instruction) -> Result<Option<Instruction>> {
        let others = self.instead.get(&instruction.name).into_iter().flatten();
        for candidate in std::iter::once(instruction).chain(others) {
            match device.has(candidate) {
                Ok(()) => return Ok(Some(candidate.clone())),
                Err(error) if error.is_unavailable() => (),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Whether what a device gives decides if the claims of the experiment hold: it is of one of its generations, or of an unknown one.
    pub fn counts(&self, device: &dyn Device) -> bool {
        self.generations.is_empty() || self.generations.iter().any(|generation| is_of(device, generation))
    }

    /// The instructions that it runs, some of them more than once.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        let probed = self.profile.iter().flat_map(|profile| profile.cells.iter().map(|cell| &cell.instruction));
        let chained = self.chain.iter().flat_map(|chain| &chain.instructions);
        let timed = self.cost.iter().flat_map(CostTable::instructions);
        probed.chain(chained).chain(self.bits.iter().map(|bits| &bits.instruction)).chain(timed)
    }

    /// What is wrong that the types cannot say.
    fn defect(&self) -> Option<String> {
        let parts = [self.profile.is_some(), self.chain.is_some(), self.products.is_some(), self.splitting.is_some()];
        let others = [self.integers.is_some(), self.bits.is_some(), self.cost.is_some(), self.formats.is_some()];
        if !parts.iter().chain(&others).any(|given| *given) {
            return Some(
                "nothing to run; give [profile], [chain], [products], [splitting], [integers], [bits], [cost] or formats"
                    .into(),
            );
        }
        let named = self.splitting.iter().flat_map(|splitting| splitting.cells.iter().map(|cell| &cell.generation));
        if let Some(name) = self.generations.iter().chain(named).find(|name| !shipped().any(|own| own == **name)) {
            let near = nearest(name, shipped(), 3).join(", ");
            return Some(format!("there is no generation '{name}'; the nearest: {near}"));
        }
        if let Some(name) = self.instead.keys().find(|name| !self.instructions().any(|i| i.name == **name)) {
            return Some(format!("[instead]: the experiment does not run {name}"));
        }
        let wrong = self.splitting.as_ref().and_then(SplittingFigure::defect);
        let wrong = wrong.or_else(|| self.integers.as_ref().and_then(IntegerTable::defect));
        let wrong = wrong.or_else(|| self.cost.as_ref().and_then(CostTable::defect));
        if let Some(wrong) = wrong.or_else(|| self.bits.as_ref().and_then(BitTable::defect)) {
            return Some(wrong);
        }
        if let Some(p) = &self.products {
            let wrong = p.k.iter().find_map(|k| checked_shape((p.rows, p.columns, *k)).err());
            let wrong = wrong.or_else(|| p.lines.iter().find_map(|line| line.schedule().err().map(|e| e.to_string())));
            let wrong = wrong.or_else(|| {
                (p.k.is_empty() || p.lines.is_empty() && p.accumulators.is_none())
                    .then(|| "it needs a k and a line".into())
            });
            if let Some(wrong) = wrong {
                return Some(format!("[products]: {wrong}"));
            }
        }
        if let Some(p) = &self.profile
            && (!(2..=probe::MAX_SAMPLES).contains(&p.samples) || p.published_samples == 0 || p.cells.is_empty())
        {
            let most = probe::MAX_SAMPLES;
            return Some(format!("[profile] needs 2 to {most} samples, one published sample and one cell at least"));
        }
        if let Some(c) = &self.chain
            && (!(1..=chain::MAX_CHAINS).contains(&c.chains)
                || !(1..=chain::MAX_LENGTH).contains(&c.length)
                || c.instructions.is_empty())
        {
            let (chains, length) = (chain::MAX_CHAINS, chain::MAX_LENGTH);
            return Some(format!("[chain] needs one instruction, 1 to {chains} chains and a length of 1 to {length}"));
        }
        self.findings.iter().find_map(|f| f.check.defect(self).map(|d| format!("finding '{}': {d}", f.claim)))
    }
}

pub(super) fn instruction<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Instruction, D::Error> {
    executed(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// An instruction that need not be executed by the program itself.
fn described<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Instruction, D::Error> {
    isa::find(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn instructions<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Instruction>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| executed(name)).collect::<Result<_>>().map_err(D::Error::custom)
}

/// Whether a device has the arithmetic of a generation, or one that is not known.
pub(super) fn is_of(device: &dyn Device, generation: &str) -> bool {
    match &device.identity().generation {
        Generation::Unknown => true,
        own => own.model(&device.identity().name).is_ok_and(|(name, _)| name == generation),
    }
}

fn alternatives<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<BTreeMap<String, Vec<Instruction>>, D::Error> {
    let named = BTreeMap::<String, Vec<String>>::deserialize(deserializer)?;
    let found = |(name, others): (String, Vec<String>)| {
        let others = others.iter().map(|other| isa::find(other)).collect::<Result<Vec<_>>>()?;
        Ok((isa::find(&name)?.name, others))
    };
    named.into_iter().map(found).collect::<Result<_>>().map_err(D::Error::custom)
}

fn executed(name: &str) -> Result<Instruction> {
    let instruction = isa::find(name)?;
    match instruction.missing() {
        Some(missing) => Err(Error::request(format!("{instruction} cannot be executed: {missing}"))),
        None => Ok(instruction),
    }
}

/// A value by the name that it has on the command line, too.
pub(super) fn named<'de, D: Deserializer<'de>, T: Named>(deserializer: D) -> std::result::Result<T, D::Error> {
    let name = String::deserialize(deserializer)?;
    T::all().iter().copied().find(|value| value.name() == name).ok_or_else(|| {
        let known: Vec<&str> = T::all().iter().map(|value| value.name()).collect();
        D::Error::custom(format!("unknown name '{name}'; expected {}", known.join(", ")))
    })
}
