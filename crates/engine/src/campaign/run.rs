//! Runs: their request and their parts.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    base::digest,
    comparison::Nans,
    device::{Device, DeviceName, Identity},
    inputs::{Sequence, exhaustive},
    isa::{self, Instruction},
};

/// Dot-product-adds of a unit, about: parts of a run are whole units.
const UNIT: u64 = 1 << 16;
/// Most dot-product-adds of a run: their counts fit 63 bits.
pub const MOST_CASES: u64 = 1 << 60;
/// Most parts of a run.
pub const MOST_SHARDS: u64 = 1_000_000;
/// Most causes that a run lists.
pub const MOST_MISMATCHES: u64 = 1000;
/// Most counterexamples of all runs of a command, so that its report and checkpoint can be read again.
pub const MOST_LISTED: u64 = 10_000;

/// One run: everything that its totals depend on. Parts of one run differ in `shard` alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name of the instruction.
    pub instruction: String,
    /// Identity of the device (see [`identify`]).
    pub device: String,
    /// Name of the model.
    pub model: String,
    /// Digest of the model's rule for the instruction.
    pub model_digest: String,
    /// Seed of random operands; absent for exhaustive ones.
    pub seed: Option<u64>,
    /// Position of exhaustive multiplications; absent for random operands.
    pub position: Option<usize>,
    /// Requested dot-product-adds.
    pub cases: u64,
    /// Regimes, in order.
    pub regimes: Vec<String>,
    /// Causes of mismatches that are listed, at most.
    pub max_mismatches: u64,
    /// Number of the part, from 1.
    pub shard: u64,
    /// Number of parts.
    pub shards: u64,
    /// Version of the program.
    pub tcnum: String,
    /// True if any NaN code counts as equal to any other.
    #[serde(default)]
    pub any_nan: bool,
}

impl Run {
    /// Makes the whole run of `cases` random cases, or of all pairs of an exhaustive sequence.
    ///
    /// # Errors
    /// The model does not cover the instruction; codes too many to be paired; no number of cases.
    pub fn new(
        instruction: &Instruction,
        device: &dyn Device,
        model: &Model,
        sequence: Sequence,
        cases: Option<u64>,
        max_mismatches: u64,
    ) -> Result<Run> {
        // The error lists what the model covers.
        let program = model.program(instruction)?;
        let (seed, position, cases) = match (sequence, cases) {
            (Sequence::Random { seed }, Some(cases)) => (Some(seed), None, cases),
            (Sequence::Random { .. }, None) => {
                return Err(Error::request("random operands have no end; give their number with ‹cases=N›"));
            }
            (Sequence::Multiply { position }, _) => (None, Some(position), exhaustive::pairs(instruction, position)?),
        };
        Ok(Run {
            instruction: instruction.name.clone(),
            device: identify(device, instruction),
            model: model.name.clone(),
            model_digest: program_digest(&program),
            seed,
            position,
            cases,
            regimes: sequence.regimes().into_iter().map(str::to_string).collect(),
            max_mismatches,
            shard: 1,
            shards: 1,
            tcnum: env!("CARGO_PKG_VERSION").into(),
            any_nan: false,
        })
    }

    /// The instruction.
    ///
    /// # Errors
    /// No instruction has the name.
    pub fn instruction(&self) -> Result<Instruction> {
        isa::find(&self.instruction).map_err(|error| {
            Error::request(format!("{error}; name the file of your own instruction with ‹instr=FILE.toml›"))
        })
    }

    /// Equality of NaN codes.
    pub fn nans(&self) -> Nans {
        self.any_nan.into()
    }

    /// The operands.
    pub fn sequence(&self) -> Sequence {
        match self.position {
            Some(position) => Sequence::Multiply { position },
            None => Sequence::Random { seed: self.seed.unwrap_or(0) },
        }
    }

    /// Tiles of the whole run: the cases, rounded up to whole tiles.
    pub fn tiles(&self, i: &Instruction) -> u64 {
        match self.sequence() {
            Sequence::Random { .. } => self.cases.div_ceil((i.m * i.n) as u64),
            Sequence::Multiply { .. } => exhaustive::tile_count(i),
        }
    }

    /// The tiles of this part: whole units, except at the end of the run. Parts differ by a unit at most.
    pub fn range(&self, i: &Instruction) -> Range<u64> {
        let (tiles, unit) = (self.tiles(i), (UNIT / (i.m * i.n) as u64).max(1));
        let units = tiles.div_ceil(unit);
        let cut = |part: u64| {
            let unit_number = (u128::from(units) * u128::from(part) / u128::from(self.shards)) as u64;
            tiles.min(unit_number * unit)
        };
        cut(self.shard - 1)..cut(self.shard)
    }

    /// The first field in which two runs differ, with both values, for messages.
    pub fn difference(&self, other: &Run) -> Option<(String, String, String)> {
        let fields = |run: &Run| match serde_json::to_value(run) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => unreachable!("a run is an object"),
        };
        let others = fields(other);
        fields(self)
            .into_iter()
            .find(|(key, value)| others.get(key) != Some(value))
            .map(|(key, value)| (key.clone(), value.to_string(), others[&key].to_string()))
    }

    /// Checks a run that was read from a file.
    ///
    /// # Errors
    /// A request error that says what.
    pub fn check(&self) -> Result<()> {
        let i = self.instruction()?;
        let regimes = self.sequence().regimes();
        let wrong = |what: String| Err(Error::request(what));
        if self.seed.is_some() == self.position.is_some() {
            return wrong("a run has either a seed or a position".into());
        }
        if let Some(position) = self.position
            && exhaustive::pairs(&i, position)? != self.cases
        {
            return wrong(format!("{i} does not have {} pairs of codes", self.cases));
        }
        if self.cases == 0
            || self.cases > MOST_CASES
            || self.shard == 0
            || self.shard > self.shards
            || self.shards > MOST_SHARDS
        {
            return wrong(format!("part {} of {} of {} cases", self.shard, self.shards, self.cases));
        }
        if self.max_mismatches > MOST_MISMATCHES {
            return wrong(format!(
                "{} counterexamples, where a run lists up to {MOST_MISMATCHES}",
                self.max_mismatches
            ));
        }
        if self.regimes != regimes {
            return wrong(format!("its regimes are not {}", regimes.join(", ")));
        }
        Ok(())
    }

    /// The whole run.
    pub fn unsharded(&self) -> Run {
        Run { shard: 1, shards: 1, ..self.clone() }
    }
}

/// The identity of a device, however it is named.
/// GPUs of one kind are the same; models with other rules are not.
pub fn identify(device: &dyn Device, i: &Instruction) -> String {
    let Identity { name, description, .. } = device.identity();
    match device.model() {
        Some(model) => format!("{description} (rule {})", rule_digest(model, i)),
        // Programs need not describe themselves.
        None if matches!(name, DeviceName::Exec(_)) => format!("{description} ({name})"),
        None => description.clone(),
    }
}

/// Digest of the program of an instruction in a model; of an empty text if the model does not cover it.
pub fn rule_digest(model: &Model, i: &Instruction) -> String {
    model.program(i).map_or_else(|_| digest::of_text(""), |program| program_digest(&program))
}

fn program_digest(program: &Program) -> String {
    digest::of_text(&program.to_string())
}
