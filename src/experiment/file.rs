//! Experiment files: reading and checking them.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;

use super::{
    BitQuestion, CostQuestion, DoubleErrorRow, EmulateQuestion, ProbeQuestion, PublishedNumber, finding::Condition,
    keys, published,
};
use crate::{
    Error, Result,
    arithmetic::shipped,
    base::{available::if_available, nearest::nearest, text},
    chain::{self, MatrixScaling},
    device::{Device, Generation},
    gemm::library::checked_shape,
    isa::Instruction,
    product::{ProductShape, Schedule, Values},
    report::Declaration,
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
    /// Products by schemes.
    pub emulate: Option<EmulateQuestion>,
    /// Agreement bit by bit with sums in half and in single precision.
    pub bits: Option<BitQuestion>,
    /// Latencies and rates.
    pub cost: Option<CostQuestion>,
    /// The published numbers, by their places in the tables of probes, costs and products in f64.
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
    /// True if each floating-point rule of a device's model has lines too.
    ///
    /// These are its first instruction, and the first with a sparse A.
    #[serde(default)]
    pub every_rule: bool,
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
        let empty = self.k.is_empty() || self.lines.is_empty() && !self.every_rule;
        let wrong =
            self.k.iter().find_map(|k| checked_shape(ProductShape { m: self.rows, n: self.columns, k: *k }).err());
        let wrong = wrong.or_else(|| self.lines.iter().find_map(|line| line.schedule().err().map(|e| e.to_string())));
        let wrong = wrong.or_else(|| empty.then(|| "it needs a k and a line".into()));
        wrong.map(|wrong| format!("[products]: {wrong}"))
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
        experiment.emulate.iter_mut().for_each(EmulateQuestion::add_precisions);
        match experiment.defect() {
            Some(defect) => Err(Error::request(format!("{origin}: {defect}"))),
            None => Ok(experiment),
        }
    }

    /// The instruction that a device executes: this one, or its first substitute that the device has.
    ///
    /// # Errors
    /// The errors of the device.
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
        let parts = [self.probe.is_some(), self.chain.is_some(), self.products.is_some(), self.emulate.is_some()];
        let others = [self.bits.is_some(), self.cost.is_some(), self.formats.is_some()];
        if !parts.iter().chain(&others).any(|given| *given) {
            return Some(
                "nothing to run; give [probe], [chain], [products], [emulate], [bits], [cost] or formats".into(),
            );
        }
        let named = self.emulate.iter().flat_map(|emulate| emulate.cells.iter().map(|cell| &cell.generation));
        if let Some(name) =
            self.generations.iter().chain(named).find(|name| !shipped().any(|shipped| shipped == **name))
        {
            let near = nearest(name, shipped(), 3).join(", ");
            return Some(format!("there is no generation '{name}'; the nearest: {near}"));
        }
        if let Some(name) = self.instead.keys().find(|name| !self.instructions().any(|i| i.name == **name)) {
            return Some(format!("[instead]: the experiment does not run {name}"));
        }
        let wrong = self.emulate.as_ref().and_then(EmulateQuestion::defect);
        let wrong = wrong.or_else(|| self.published_defect());
        let wrong = wrong.or_else(|| self.bits.as_ref().and_then(BitQuestion::defect));
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
        let mut tables: Vec<Declaration> = self.probe.iter().flat_map(|_| ProbeQuestion::tables()).collect();
        tables.extend(self.cost.iter().flat_map(|_| CostQuestion::tables()));
        let doubles = self.emulate.iter().find(|emulate| emulate.is_of_doubles());
        tables.extend(doubles.map(|_| Declaration::of::<DoubleErrorRow>()));
        if self.probe.is_some() as usize + self.cost.is_some() as usize + doubles.is_some() as usize > 1 {
            return Some("give each of [probe], [cost] and [emulate] of f64 a file of its own".into());
        }
        self.published.iter().find_map(|number| {
            let missing = || match doubles {
                Some(emulate) => emulate.lacks(number),
                None => {
                    let subject = ["instruction", "load"].map(|key| number.key(key)).concat();
                    let mut loads = self.cost.iter().flat_map(|cost| &cost.loads);
                    let asked =
                        self.instructions().any(|i| i.name == subject) || loads.any(|load| load.name == subject);
                    (!asked).then(|| format!("'{subject}' is not among the instructions that are asked about"))
                }
            };
            number.defect(&tables).or_else(missing).map(|wrong| format!("[[published]]: {wrong}"))
        })
    }
}

/// True if a device has the arithmetic of a generation, or an unknown one.
pub(super) fn is_of(device: &dyn Device, generation: &str) -> bool {
    match &device.identity().generation {
        Generation::Unknown => true,
        reported => reported.model(&device.identity().name).is_ok_and(|(name, _)| name == generation),
    }
}
