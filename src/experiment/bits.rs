//! Agreement bit by bit, as an experiment.

use serde::Deserialize;

use super::{
    ExperimentRun,
    answers::{self, DeviceAnswers, Question, QuestionKind},
    finding::{Condition, FindingResult},
    table,
};
use crate::{
    Result,
    inputs::{Draw, Op},
    isa::Instruction,
    probe::{
        bit_table,
        bits::{self, FRACTION},
    },
    report::grouped,
};

/// Sums of products, compared bit by bit with other computations.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BitQuestion {
    /// The instruction.
    #[serde(deserialize_with = "super::keys::instruction")]
    pub instruction: Instruction,
    /// The operation, which sets the number of products.
    #[serde(deserialize_with = "super::keys::named")]
    pub op: Op,
    /// The distribution of the operands.
    #[serde(deserialize_with = "super::keys::draw")]
    pub values: Draw,
    /// Number of samples, from 1 to 2^32.
    pub samples: u64,
}

impl BitQuestion {
    pub(super) fn defect(&self) -> Option<String> {
        match bits::check(&self.instruction) {
            Err(error) => Some(format!("[bits]: {error}")),
            Ok(()) => (!(1..=1 << 32).contains(&self.samples)).then(|| "[bits]: samples is from 1 to 2^32".into()),
        }
    }
}

/// Compares sums on every device with the other computations, and checks the findings about them.
pub(super) fn run(plan: &BitQuestion, run: &mut ExperimentRun) -> Result<()> {
    let samples = run.options.samples.unwrap_or(plan.samples);
    let question = Question {
        instruction: Some(plan.instruction.clone()),
        seed: run.options.seed,
        kind: QuestionKind::Bits { op: plan.op, values: plan.values, samples },
    };
    let (devices, outcome) = answers::of_devices(run, &[question]);
    let ExperimentRun { experiment, report, score, .. } = run;
    let (mut findings, mut untestable, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    for device in devices {
        for finding in &experiment.findings {
            if device.lacks(&plan.instruction.name) {
                untestable.push(table::untestable_row(&device.name, &finding.claim, None, &plan.instruction.name));
            } else if device.complete {
                let result = finding.check.of_bits(&device);
                findings.extend(score.finding(&device.name, device.counts, finding, result));
            }
        }
        device.tables.into_iter().for_each(|table| answers::append(&mut tables, table));
    }
    report.notes.push(bit_table::note());
    report.tables.extend(table::findings(findings));
    report.tables.extend(table::untestable(untestable));
    report.tables.extend(tables);
    outcome
}

impl Condition {
    /// Result of the condition for bits; `None` if it is about something else.
    fn of_bits(&self, device: &DeviceAnswers) -> Option<FindingResult> {
        let Condition::BitsAgree { reference, bits, at_least, at_most, near } = self else { return None };
        let row = device.rows("bit_references").find(|row| row.text("reference") == reference.name())?;
        let samples = row.count("samples");
        let agreeing = row.numbers(if *near { "near" } else { "leading" })[(*bits).min(FRACTION)];
        Some(FindingResult {
            holds: (at_least * samples as f64..=at_most * samples as f64).contains(&agreeing),
            measured: share(agreeing as i64, samples),
        })
    }
}

/// A share of samples with its standard error: `97.7 ± 0.2 % (9,766 of 10,000)`.
fn share(agreeing: i64, samples: i64) -> String {
    let share = agreeing as f64 / samples as f64;
    let error = (share * (1.0 - share) / (samples as f64 - 1.0)).sqrt();
    let [agreeing, samples] = [agreeing, samples].map(grouped);
    match error.is_finite() {
        true => format!("{:.2} ± {:.2} % ({agreeing} of {samples} samples)", 100.0 * share, 100.0 * error),
        false => format!("{agreeing} of {samples} samples"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_standard_error_of_its_zeros_and_ones() {
        let mut zeros_and_ones = crate::summary::Summary::default();
        (0..500).for_each(|at| zeros_and_ones.add(Some(f64::from(u8::from(at < 430)))));
        let [mean, error] =
            [zeros_and_ones.mean(), zeros_and_ones.standard_error()].map(|value| 100.0 * value.unwrap());
        assert_eq!(share(430, 500), format!("{mean:.2} ± {error:.2} % (430 of 500 samples)"));
        assert_eq!(share(1, 1), "1 of 1 samples");
    }
}
