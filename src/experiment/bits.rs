//! Agreement bit by bit, as an experiment.

use serde::Deserialize;

use super::{
    ExperimentRun,
    finding::{Condition, FindingResult},
    known::{BitKey, arithmetic},
    table,
};
use crate::{
    Result,
    inputs::{Draw, Op},
    isa::Instruction,
    probe::{
        bit_table::{self, Compared},
        bits::{self, BitRequest, BitResult, FRACTION},
    },
    report::grouped,
};

/// Sums of products, compared bit by bit with other computations.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BitTable {
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

impl BitTable {
    pub(super) fn defect(&self) -> Option<String> {
        match bits::check(&self.instruction) {
            Err(error) => Some(format!("[bits]: {error}")),
            Ok(()) => (!(1..=1 << 32).contains(&self.samples)).then(|| "[bits]: samples is from 1 to 2^32".into()),
        }
    }
}

/// Compares sums on every device with the other computations, and checks the findings about them.
pub(super) fn run(plan: &BitTable, run: &mut ExperimentRun) -> Result<()> {
    let ExperimentRun { experiment, devices, options, report, score, known, .. } = run;
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
            BitRequest { instruction: &instruction, op: plan.op, values: plan.values, seed: options.seed, samples };
        let model = device.model().cloned();
        let evaluator = model.map(|model| model.evaluator(&instruction)).transpose()?;
        let key = arithmetic(device.as_ref(), &instruction).map(|program| BitKey {
            program,
            op: plan.op,
            values: plan.values,
            samples,
            seed: options.seed,
        });
        let found = key.as_ref().and_then(|key| known.bits.get(key)).cloned();
        let (mut results, mut outcome) = (Vec::from_iter(found), Ok(()));
        if results.is_empty() {
            outcome = bits::run_until(device.as_mut(), evaluator.as_ref(), &request, None, &mut results);
            if let (Ok(()), Some(key), [result]) = (&outcome, key, &results[..]) {
                known.bits.add(key, result.clone());
            }
        }
        for result in results {
            for finding in experiment.findings.iter().filter(|_| outcome.is_ok()) {
                findings.extend(score.finding((&name, counts), finding, finding.check.of_bits(&result)));
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
    report.tables.extend(table::findings(findings));
    report.tables.extend(table::untestable(untestable));
    report.tables.extend(bit_table::tables(&compared));
    outcome
}

impl Condition {
    /// Result of the condition for bits; `None` if it is about something else.
    fn of_bits(&self, result: &BitResult) -> Option<FindingResult> {
        let Condition::BitsAgree { reference, bits, at_least, at_most, near } = self else { return None };
        let own = result.agreements.iter().find(|own| own.reference == *reference)?;
        let bits = (*bits).min(FRACTION);
        let agreeing = if *near { own.near[bits] } else { own.leading[bits] };
        Some(FindingResult {
            holds: (at_least * own.samples as f64..=at_most * own.samples as f64).contains(&(agreeing as f64)),
            measured: share(agreeing, own.samples),
        })
    }
}

/// A share of samples with its standard error: `97.7 ± 0.2 % (9,766 of 10,000)`.
fn share(agreeing: u64, samples: u64) -> String {
    let share = agreeing as f64 / samples as f64;
    let error = (share * (1.0 - share) / (samples as f64 - 1.0)).sqrt();
    let [agreeing, samples] = [agreeing, samples].map(|count| grouped(i64::try_from(count).unwrap_or(i64::MAX)));
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
        let [mean, error] = [zeros_and_ones.mean(), zeros_and_ones.standard_error()].map(|own| 100.0 * own.unwrap());
        assert_eq!(share(430, 500), format!("{mean:.2} ± {error:.2} % (430 of 500 samples)"));
        assert_eq!(share(1, 1), "1 of 1 samples");
    }
}
