//! Agreement bit by bit, as an experiment.

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{Experiment, Options, Score, finding::Condition, finding::FindingResult, table};
use crate::{
    Result,
    device::Device,
    inputs::{Draw, Op},
    isa::Instruction,
    probe::{
        bit_table::{self, Compared},
        bits::{self, BitRequest, BitResult, FRACTION, OperandValues},
    },
    report::Report,
};

/// Sums of products, bit by bit beside other computations of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BitTable {
    /// The instruction.
    #[serde(deserialize_with = "super::file::instruction")]
    pub instruction: Instruction,
    /// How many products are summed: those of the operation.
    #[serde(deserialize_with = "super::file::named")]
    pub op: Op,
    /// What operands are drawn from.
    #[serde(deserialize_with = "draw")]
    pub values: Draw,
    /// Samples.
    pub samples: u64,
}

/// A distribution by its text.
pub(super) fn draw<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Draw, D::Error> {
    Draw::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

impl BitTable {
    /// What is wrong that the types cannot say.
    pub(super) fn defect(&self) -> Option<String> {
        match bits::check(&self.instruction) {
            Err(error) => Some(format!("[bits]: {error}")),
            Ok(()) => (!(1..=1 << 32).contains(&self.samples)).then(|| "[bits]: samples is from 1 to 2^32".into()),
        }
    }
}

/// Compares sums on every device with the other computations, and checks the findings about them.
pub(super) fn run(
    experiment: &Experiment,
    plan: &BitTable,
    devices: &mut [Box<dyn Device>],
    options: Options,
    report: &mut Report,
    score: &mut Score,
) -> Result<()> {
    let values = OperandValues::Drawn(plan.values);
    let (mut compared, mut findings, mut untestable) = (Vec::new(), Vec::new(), Vec::new());
    let outcome = devices.iter_mut().try_for_each(|device| {
        let (name, counts) = (device.identity().name.to_string(), experiment.counts(device.as_ref()));
        let Some(instruction) = experiment.on(device.as_mut(), &plan.instruction)? else {
            let missing =
                experiment.findings.iter().map(|own| table::untestable_finding(&name, own, &plan.instruction.name));
            untestable.extend(missing);
            return Ok(());
        };
        let samples = options.samples.unwrap_or(plan.samples);
        let request =
            BitRequest { instruction: &instruction, op: plan.op, values: &values, seed: options.seed, samples };
        let model = device.model().cloned();
        let evaluator = model.map(|model| model.evaluator(&instruction)).transpose()?;
        let mut results = Vec::new();
        let outcome = bits::run_until(device.as_mut(), evaluator.as_ref(), &request, None, &mut results);
        for result in results {
            for finding in experiment.findings.iter().filter(|_| outcome.is_ok()) {
                if let Some(found) = finding.check.of_bits(&result) {
                    score.finding(found.holds, counts && finding.accepted.is_none());
                    findings.push(table::finding((&name, counts), finding, &found));
                }
            }
            compared.push(Compared {
                instruction: instruction.name.clone(),
                device: name.clone(),
                values: plan.values.to_string(),
                result,
            });
        }
        outcome
    });
    report.notes.push(bit_table::note());
    report.tables.extend(table::findings(findings).filled());
    report.tables.extend(table::untestable(untestable));
    report.tables.extend(bit_table::tables(&compared));
    outcome
}

impl Condition {
    /// Whether the condition holds of bits; `None` if it is about something else.
    fn of_bits(&self, result: &BitResult) -> Option<FindingResult> {
        let Condition::BitsAgree { reference, bits, at_least, at_most, near } = self else { return None };
        let own = result.agreements.iter().find(|own| own.reference == *reference)?;
        let bits = (*bits).min(FRACTION);
        let agreeing = if *near { own.near[bits] } else { own.leading[bits] };
        Some(FindingResult {
            holds: (at_least * own.samples as f64..=at_most * own.samples as f64).contains(&(agreeing as f64)),
            measured: format!("{agreeing} of {} samples", own.samples),
        })
    }
}
