//! Experiment files: reading and checking them.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;

use super::{
    BitTable, CostQuestion, DoubleFigure, IntegerTable, ProbeQuestion, PublishedNumber, SplittingFigure,
    finding::Condition, keys, published,
};
use crate::{
    Error, Result,
    arithmetic::shipped,
    base::{available::if_available, nearest::nearest, text},
    chain::{self, MatrixScaling},
    device::{Device, Generation},
    gemm::{
        Schedule,
        library::{Values, checked_shape},
    },
    isa::Instruction,
};

/// A table or figure of the literature, as its file declares it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Name of the file, without its ending.
    #[serde(skip)]
    pub name: String,
    /// Authors, title, and which table or figure.
    pub source: String,
    /// Short name: authors, and which table or figure.
    pub label: Option<String>,
    /// Key of the source in the bibliography of papers.
    pub cite: Option<String>,
    /// Title: the quantity that it shows.
    pub title: String,
    /// The device that the published figures were measured on.
    pub published_on: String,
    /// Notes for the reader: open points of the source, and assumptions.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Devices of a run without `--device`: the generations of the source.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Generations (models) whose devices decide the exit status; empty: all devices.
    #[serde(default)]
    pub generations: Vec<String>,
    /// Substitutes for an instruction that a device lacks: the first that it has.
    #[serde(default, deserialize_with = "keys::alternatives")]
    pub instead: BTreeMap<String, Vec<Instruction>>,
    /// Probes of single operations.
    pub probe: Option<ProbeQuestion>,
    /// Chain matrix multiplication.
    pub chain: Option<ChainFigure>,
    /// Errors of matrix products.
    pub products: Option<ProductFigure>,
    /// Products of more precision than their operands, by schemes of splitting.
    pub splitting: Option<SplittingFigure>,
    /// Products in f64 by schemes.
    pub doubles: Option<DoubleFigure>,
    /// Products of integers by their digits.
    pub integers: Option<IntegerTable>,
    /// Agreement bit by bit with sums in half and in single precision.
    pub bits: Option<BitTable>,
    /// Latencies and rates.
    pub cost: Option<CostQuestion>,
    /// The published numbers, by their places in the tables of probes and costs.
    #[serde(default, deserialize_with = "published::numbers")]
    pub published: Vec<PublishedNumber>,
    /// The published table of formats.
    pub formats: Option<FormatTable>,
    /// Claims that have to hold.
    #[serde(default, rename = "finding")]
    pub findings: Vec<ExperimentFinding>,
}

/// A published table of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum FormatTable {
    /// Table of "Matrix Core Programming on AMD GPUs", with its cells in `experiments/table-formats.csv`.
    #[serde(rename = "table-formats.csv")]
    MatrixCores,
}

/// Reference of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ErrorColumn {
    /// The same expression in f32 on the CPU.
    #[serde(rename = "f32")]
    F32,
    /// The same, rounded to the format of D.
    #[serde(rename = "f32 to D")]
    F32Rounded,
}

/// Chain matrix multiplication: both initialisations of each instruction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainFigure {
    /// The instructions.
    #[serde(deserialize_with = "keys::instructions")]
    pub instructions: Vec<Instruction>,
    /// The longest chain, in links.
    pub length: usize,
    /// Number of chains.
    pub chains: u64,
    /// The scales of matrices in plain formats.
    #[serde(default = "unscaled", deserialize_with = "keys::named")]
    pub scaling: MatrixScaling,
}

fn unscaled() -> MatrixScaling {
    MatrixScaling::None
}

/// Errors of matrix products of drawn operands against k.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductFigure {
    /// Rows of A.
    pub rows: usize,
    /// Columns of B.
    pub columns: usize,
    /// Distribution of the operands.
    #[serde(deserialize_with = "keys::named")]
    pub values: Values,
    /// The terms of each sum.
    pub k: Vec<usize>,
    /// The lines.
    #[serde(default, rename = "line")]
    pub lines: Vec<ProductLine>,
    /// Lines that follow from the devices.
    pub accumulators: Option<AccumulatorChoice>,
}

/// Accumulators with separate lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccumulatorChoice {
    /// For each floating-point rule of a model: its first instruction, and the first with a sparse A.
    EveryRule,
}

/// The products of one instruction, on the devices that have it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProductLine {
    /// The instruction.
    #[serde(deserialize_with = "keys::described")]
    pub instruction: Instruction,
    /// Number of k after which sums are promoted to a register.
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
pub struct ExperimentFinding {
    /// The claim, in a sentence.
    pub claim: String,
    /// The condition under which it holds.
    pub check: Condition,
    /// Reason for accepting that the claim does not hold.
    pub accepted: Option<String>,
}

impl ChainFigure {
    fn defect(&self) -> Option<String> {
        let (chains, length) = (chain::MAX_CHAINS, chain::MAX_LENGTH);
        let fits = (1..=chains).contains(&self.chains) && (1..=length).contains(&self.length);
        (!fits || self.instructions.is_empty())
            .then(|| format!("[chain] needs one instruction, 1 to {chains} chains and a length of 1 to {length}"))
    }
}

impl ProductFigure {
    fn defect(&self) -> Option<String> {
        let empty = self.k.is_empty() || self.lines.is_empty() && self.accumulators.is_none();
        let wrong = self.k.iter().find_map(|k| checked_shape((self.rows, self.columns, *k)).err());
        let wrong = wrong.or_else(|| self.lines.iter().find_map(|line| line.schedule().err().map(|e| e.to_string())));
        let wrong = wrong.or_else(|| empty.then(|| "it needs a k and a line".into()));
        wrong.map(|wrong| format!("[products]: {wrong}"))
    }
}

impl ErrorColumn {
    pub(super) const ALL: [ErrorColumn; 2] = [ErrorColumn::F32, ErrorColumn::F32Rounded];

    /// The name, as in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            ErrorColumn::F32 => "f32",
            ErrorColumn::F32Rounded => "f32 to D",
        }
    }

    /// The column of a probe with the mean error.
    pub(super) fn column(self) -> &'static str {
        match self {
            ErrorColumn::F32 => "mean_abs_error_f32",
            ErrorColumn::F32Rounded => "mean_abs_error_f32_rounded",
        }
    }

    /// The column of a probe with the samples equal to the reference.
    pub(super) fn agreeing(self) -> &'static str {
        match self {
            ErrorColumn::F32 => "f32_agree",
            ErrorColumn::F32Rounded => "f32_rounded_agree",
        }
    }

    pub(super) fn of(column: &str) -> Option<ErrorColumn> {
        ErrorColumn::ALL.into_iter().find(|own| own.column() == column)
    }
}

impl Experiment {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// A request error for a file that cannot be read or is no experiment, with line, key and expected values.
    pub fn read(path: &Path) -> Result<Experiment> {
        let text = text::read(path, "the experiment file")?;
        Experiment::parse(&text, &path.display().to_string())
    }

    /// The experiment that `text` declares; `origin` names it in messages.
    ///
    /// # Errors
    /// As [`Experiment::read`].
    pub fn parse(text: &str, origin: &str) -> Result<Experiment> {
        let mut experiment: Experiment = toml::from_str(text)
            .map_err(|error| Error::request(format!("{origin}: {}", error.to_string().trim_end())))?;
        experiment.name = Path::new(origin).file_stem().map_or(origin.into(), |stem| stem.to_string_lossy().into());
        match experiment.defect() {
            Some(defect) => Err(Error::request(format!("{origin}: {defect}"))),
            None => Ok(experiment),
        }
    }

    /// The instruction that a device executes: this one, or its first substitute that the device has.
    ///
    /// # Errors
    /// Those of the device.
    pub fn on(&self, device: &mut dyn Device, instruction: &Instruction) -> Result<Option<Instruction>> {
        let others = self.instead.get(&instruction.name).into_iter().flatten();
        for candidate in std::iter::once(instruction).chain(others) {
            if if_available(device.has(candidate))?.is_some() {
                return Ok(Some(candidate.clone()));
            }
        }
        Ok(None)
    }

    /// True if a device decides the exit status: its generation is one of the experiment's, or unknown.
    pub fn counts(&self, device: &dyn Device) -> bool {
        self.generations.is_empty() || self.generations.iter().any(|generation| is_of(device, generation))
    }

    /// The instructions that it runs, with repetitions.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        let probed = self.probe.iter().flat_map(|probe| &probe.instructions);
        let chained = self.chain.iter().flat_map(|chain| &chain.instructions);
        let timed = self.cost.iter().flat_map(|cost| &cost.instructions);
        probed.chain(chained).chain(self.bits.iter().map(|bits| &bits.instruction)).chain(timed)
    }

    fn defect(&self) -> Option<String> {
        let parts = [self.probe.is_some(), self.chain.is_some(), self.products.is_some(), self.splitting.is_some()];
        let others = [self.integers.is_some(), self.bits.is_some(), self.cost.is_some(), self.doubles.is_some()];
        let formats = [self.formats.is_some()];
        if !parts.iter().chain(&others).chain(&formats).any(|given| *given) {
            return Some(
                "nothing to run; give [probe], [chain], [products], [splitting], [doubles], [integers], [bits], [cost] or formats"
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
        let wrong = wrong.or_else(|| self.doubles.as_ref().and_then(DoubleFigure::defect));
        let wrong = wrong.or_else(|| self.integers.as_ref().and_then(IntegerTable::defect));
        let wrong = wrong.or_else(|| self.published_defect());
        let wrong = wrong.or_else(|| self.bits.as_ref().and_then(BitTable::defect));
        let wrong = wrong.or_else(|| self.products.as_ref().and_then(ProductFigure::defect));
        let wrong = wrong.or_else(|| self.probe.as_ref().and_then(|probe| probe.defect(&self.published)));
        if let Some(wrong) = wrong.or_else(|| self.chain.as_ref().and_then(ChainFigure::defect)) {
            return Some(wrong);
        }
        self.findings.iter().find_map(|f| f.check.defect(self).map(|d| format!("finding '{}': {d}", f.claim)))
    }
}

impl Experiment {
    /// A published number that no question of the experiment answers.
    fn published_defect(&self) -> Option<String> {
        let probed = self.probe.iter().flat_map(|_| ProbeQuestion::tables());
        let tables: Vec<_> = probed.chain(self.cost.iter().flat_map(|_| CostQuestion::tables())).collect();
        let loads = || self.cost.iter().flat_map(|cost| &cost.loads);
        self.published.iter().find_map(|number| {
            let asked = |name: &str| self.instructions().any(|i| i.name == name) || loads().any(|load| load.name == name);
            let subject = || ["instruction", "load"].map(|key| number.key(key)).concat();
            let missing = || (!asked(&subject())).then(|| format!("'{}' is not among the instructions that are asked about", subject()));
            number.defect(&tables).or_else(missing).map(|wrong| format!("[[published]]: {wrong}"))
        })
    }
}

/// True if a device has the arithmetic of a generation, or an unknown one.
pub(super) fn is_of(device: &dyn Device, generation: &str) -> bool {
    match &device.identity().generation {
        Generation::Unknown => true,
        own => own.model(&device.identity().name).is_ok_and(|(name, _)| name == generation),
    }
}
