//! What one run compares, and how it is cut.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cut::unit_tiles;
use crate::{
    Error, Result,
    arithmetic::{Model, Program},
    base::digest,
    comparison::Nans,
    device::{Device, DeviceName, Identity},
    inputs::{Sequence, exhaustive},
    isa::{self, Instruction},
};

/// The most dot-product-adds of a run: their number and their bookkeeping fit 63 bits.
pub const MOST_CASES: u64 = 1 << 60;
/// The most parts that a run can be split into.
pub const MOST_SHARDS: u64 = 1_000_000;
/// The most counterexamples that a run lists.
pub const MOST_MISMATCHES: u64 = 1000;
/// The most counterexamples that the runs of one command list together: its report and its checkpoint can then be read again.
pub const MOST_LISTED: u64 = 10_000;

/// One run: everything that its totals depend on. Two parts of one run differ in `shard` alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The instruction's name.
    pub instruction: String,
    /// What stands behind the device (see [`identify`]).
    pub device: String,
    /// The model's own name.
    pub model: String,
    /// Digest of the model's rule for the instruction.
    pub model_digest: String,
    /// The seed of random operands; absent for exhaustive ones.
    pub seed: Option<u64>,
    /// The position of exhaustive multiplications; absent for random operands.
    pub position: Option<usize>,
    /// Dot-product-adds that were asked for.
    pub cases: u64,
    /// The regimes that are counted, in order.
    pub regimes: Vec<String>,
    /// The run stops after the unit in which the number of differing outputs reaches this; 0: never.
    pub max_mismatches: u64,
    /// Which part of the run, from 1.
    pub shard: u64,
    /// In how many parts it is split.
    pub shards: u64,
    /// The version of the program.
    pub tcnum: String,
    /// Whether any NaN code counts as equal to any other.
    #[serde(default)]
    pub any_nan: bool,
}

impl Run {
    /// The whole run of `cases` random cases; `None` stands for all pairs of codes of an exhaustive sequence.
    ///
    /// # Errors
    /// The model does not cover the instruction; codes that are too many to be paired; no number of cases.
    pub fn new(
        instruction: &Instruction,
        device: &dyn Device,
        model: &Model,
        sequence: Sequence,
        cases: Option<u64>,
        max_mismatches: u64,
    ) -> Result<Run> {
        // An error says what the model covers.
        let program = model.program(instruction)?;
        let (seed, position, cases) = match (sequence, cases) {
            (Sequence::Random { seed }, Some(cases)) => (Some(seed), None, cases),
            (Sequence::Random { .. }, None) => {
                return Err(Error::request("random operands have no end; say how many with --cases N"));
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
            Error::request(format!("{error}; one of your own is known by its file: --instr FILE.toml"))
        })
    }

    /// Which NaN codes are equal.
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

    /// The tiles of this part: whole units, but for the last of the run, in one piece. The parts differ by a unit at most.
    pub fn range(&self, i: &Instruction) -> Range<u64> {
        let (tiles, unit) = (self.tiles(i), unit_tiles(i));
        let units = tiles.div_ceil(unit);
        let cut = |part: u64| {
            let unit_number = (u128::from(units) * u128::from(part) / u128::from(self.shards)) as u64;
            tiles.min(unit_number * unit)
        };
        cut(self.shard - 1)..cut(self.shard)
    }

    /// The first field in which two runs differ: its name and the two values, for messages.
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

    /// What makes the run impossible, for one that was read from a file.
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

    /// The same run with other parts: what all parts have in common.
    pub fn whole(&self) -> Run {
        Run { shard: 1, shards: 1, ..self.clone() }
    }
}

/// What stands behind a device, however it is named: two GPUs of one kind are the same, two models are not.
pub fn identify(device: &dyn Device, i: &Instruction) -> String {
    let Identity { name, description, .. } = device.identity();
    match device.model() {
        Some(model) => format!("{description} (rule {})", rule_digest(model, i)),
        // Programs need not say what they are.
        None if matches!(name, DeviceName::Exec(_)) => format!("{description} ({name})"),
        None => description.clone(),
    }
}

/// A digest of how an instruction computes in a model: of the canonical text of its program, or of nothing if the model does not
/// cover it.
pub fn rule_digest(model: &Model, i: &Instruction) -> String {
    model.program(i).map_or_else(|_| digest::of_text(""), |program| program_digest(&program))
}

fn program_digest(program: &Program) -> String {
    digest::of_text(&program.to_string())
}
