//! Tables and notes of an experiment.

use super::{
    Experiment, FigureRow, NOT_TESTABLE, Options, PublishedNumber, STANDARD_ERRORS, SampleSize, ZERO_PROBABILITY,
    power::CellPower, profile::reference, verdict::MeanError,
};
use crate::{
    chain::ChainCurve,
    device::Identity,
    report::{self, RowView, Table},
};

crate::rows! {
    /// A published cell, measured on a device.
    pub struct CellRow in "cells" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The operation that was isolated.
        op: String => shown("op").essential(),
        /// Operands of the reference: rounded (low) or not (fp32).
        init: String => shown("init").essential(),
        /// Reference of the error.
        reference: &'static str => shown("reference").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The mean absolute error as printed.
        published: String => shown("published").essential(),
        /// The mean absolute error measured here.
        measured: Option<f64> => shown("here").essential(),
        /// Its standard error.
        standard_error: Option<f64> => shown("standard error").error_of("measured"),
        /// The sampling error that the published mean would have.
        published_sampling_error: f64 => shown("published ±"),
        /// The difference beyond the printed digits, in standard errors of both means together.
        distance: Option<f64> => shown("standard errors apart"),
        /// The measured mean over the published one.
        ratio: Option<f64> => shown("ratio"),
        /// Samples equal to the reference.
        equal: u64 => shown("equal"),
        /// Samples.
        samples: u64 => shown("samples"),
        /// The published number of samples whose sampling error is the difference.
        published_samples_implied: Option<i64> => shown("N implied"),
        /// Verdict on the published mean.
        verdict: String => shown("verdict").essential(),
        /// The substitute that the device executed, where it lacks the instruction.
        instead: Option<String> => shown("instead").if_filled(),
        /// Generations whose arithmetic would reproduce the cell.
        would_pass: Vec<String> => shown("would pass"),
        /// Generations whose arithmetic would not reproduce the cell.
        would_not: Vec<String> => shown("would not"),
        /// The file has an explanation.
        explained: bool => hidden(),
        /// The file accepts a difference.
        accepted: Option<bool> => hidden(),
        /// Probability that all published samples are equal to the reference.
        all_equal_probability: f64 => hidden(),
        /// Assumed samples of the published mean.
        published_samples: u64 => hidden(),
        /// The kind of execution.
        execution: String => hidden(),
        /// The machine instructions that ran.
        opcodes: Vec<String> => hidden(),
        /// Digest of every operand's bits.
        inputs_digest: String => hidden(),
        /// Digest of every output's code.
        outputs_digest: String => hidden(),
    }

    /// Why a cell may differ.
    pub struct ExplanationRow in "explanations" {
        /// The instruction of the cell.
        instruction: String => shown("instruction").essential(),
        /// Its operation.
        op: String => shown("op").essential(),
        /// Its initialisation.
        init: String => shown("init").essential(),
        /// Its reference.
        reference: &'static str => shown("reference").essential(),
        /// The explanation.
        explanation: String => shown("explanation").essential(),
        /// Reason for accepting a difference.
        accepted: Option<String> => shown("accepted").if_filled(),
    }

    /// A finding, on a device.
    pub struct FindingRow in "findings" {
        /// The claim.
        claim: String => shown("finding").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The figures that decide it.
        measured: String => shown("here").essential(),
        /// The claim holds.
        holds: bool => shown("holds").essential(),
        /// The finding decides the exit status: the device is of a generation of the experiment.
        counts: Option<bool> => hidden(),
        /// Reason for accepting that the claim does not hold.
        accepted: Option<String> => shown("accepted").if_filled(),
    }

    /// A cell or finding that a device cannot test.
    pub struct UntestableRow in "untestable" {
        /// The device.
        device: String => shown("device").essential(),
        /// The cell, or the claim.
        what: String => shown("cell or finding").essential(),
        /// The figure as printed, for a cell.
        published: Option<String> => shown("published").if_filled(),
        /// The instruction that the device lacks.
        instruction: String => shown("lacks").essential(),
        /// The verdict: not testable.
        verdict: &'static str => shown("verdict").essential(),
    }

    /// Number of published samples, as a device's measurements imply it.
    pub struct SampleSizeRow in "published_samples" {
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Cells of the estimate.
        cells: usize => shown("cells used"),
        /// The most likely number.
        likely: i64 => shown("most likely").essential(),
        /// The lower end of the approximate 95 % interval.
        lowest: i64 => shown("from").essential(),
        /// The upper end.
        highest: i64 => shown("to").essential(),
        /// The assumed number.
        assumed: u64 => shown("assumed here").essential(),
    }

    /// A probe on two devices.
    pub struct ProbePairRow in "device_pairs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The operation that was isolated.
        op: String => shown("op").essential(),
        /// Operands of the references: rounded (low) or not (fp32).
        init: String => shown("init").essential(),
        /// The first device.
        device: String => shown("device").essential(),
        /// The other device.
        other: String => shown("other").essential(),
        /// All operands were the same.
        same_inputs: bool => shown("same inputs").essential(),
        /// All outputs were the same.
        same_outputs: bool => shown("same outputs").essential(),
        /// The first device's mean error to f32.
        error: Option<f64> => shown("error"),
        /// The other device's mean error to f32.
        other_error: Option<f64> => shown("other's"),
        /// Digest of the first device's operands.
        inputs_digest: String => hidden(),
        /// Digest of the first device's outputs.
        outputs_digest: String => hidden(),
        /// Digest of the other device's outputs.
        other_outputs_digest: String => hidden(),
    }

    /// A curve on two devices.
    pub struct CurvePairRow in "curve_pairs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Start of the references: rounded operands (low) or not (fp32).
        init: &'static str => shown("init").essential(),
        /// The first device.
        device: String => shown("device").essential(),
        /// The other device.
        other: String => shown("other").essential(),
        /// Every number of the curve is the same.
        same: bool => shown("same numbers").essential(),
        /// The largest relative difference of mean errors.
        largest_difference: Option<f64> => shown("largest relative difference").essential(),
    }
}

pub(super) fn notes(experiment: &Experiment, options: Options) -> Vec<String> {
    let mut notes = vec![format!(
        "{} Source: {} Published figures were measured on {}.",
        experiment.title, experiment.source, experiment.published_on
    )];
    notes.extend(experiment.remarks.iter().cloned());
    if let Some(probe) = &experiment.probe {
        let published = options.published_samples.unwrap_or(probe.published_samples);
        notes.push(format!(
            "Verdicts. A mean is reproduced if it rounds to the published digits, or if its difference beyond them is at most \
             {STANDARD_ERRORS} standard errors: of our mean and of a published mean of {published} samples, an assumption, together. \
             The claim fails at any other difference, unless the file accepts it."
        ));
        if experiment.published.iter().any(|number| number.printed.value == 0.0) {
            notes.push(format!(
                "The source prints zeros without a number of samples, so a published zero has no sampling error. It is \
                 reproduced if every sample here is exact, or if {published} samples are all exact with a probability of at \
                 least {ZERO_PROBABILITY}."
            ));
        }
    }
    notes
}

pub(crate) fn devices<'a>(identities: impl Iterator<Item = &'a Identity>) -> Table {
    report::devices("Devices, on the same inputs", identities)
}

pub(super) fn cells(rows: Vec<CellRow>, published_samples: u64) -> Table {
    let title = format!(
        "Mean absolute errors, published and here (±: standard error of our mean; published ±: sampling error of a mean \
         of {published_samples}; equal: samples equal to the reference; N implied: the published samples whose sampling error is the difference)"
    );
    Table::of(title, rows)
}

/// A cell on a device that has its instruction.
pub(super) fn cell_row(
    number: &PublishedNumber,
    row: &RowView,
    figure: &FigureRow,
    measured: MeanError,
    power: CellPower,
    published_samples: u64,
) -> CellRow {
    let (asked, executed) = (number.key("instruction"), row.text("instruction"));
    CellRow {
        instruction: asked.into(),
        op: row.text("op").into(),
        init: row.text("init").into(),
        reference: reference(number),
        device: figure.devices.concat(),
        published: figure.published.clone(),
        measured: figure.measured,
        standard_error: figure.standard_error,
        published_sampling_error: measured.sampling_error(published_samples),
        distance: figure.distance,
        ratio: figure.measured.filter(|_| number.printed.value > 0.0).map(|mean| mean / number.printed.value),
        equal: measured.equal,
        samples: measured.samples,
        published_samples_implied: measured.implied_samples(&number.printed).map(sample_count),
        verdict: figure.verdict.clone(),
        instead: Some(executed).filter(|name| *name != asked).map(Into::into),
        would_pass: power.pass,
        would_not: power.refuted,
        explained: number.explanation.is_some(),
        accepted: Some(number.accepted.is_some()),
        all_equal_probability: measured.all_equal(published_samples),
        published_samples,
        execution: row.text("execution").into(),
        opcodes: row.list("opcodes").into_iter().map(Into::into).collect(),
        inputs_digest: row.text("inputs_digest").into(),
        outputs_digest: row.text("outputs_digest").into(),
    }
}

/// The explanations of cells; `None` without any.
pub(super) fn explanations(numbers: &[PublishedNumber]) -> Option<Table> {
    let row = |number: &PublishedNumber| {
        Some(ExplanationRow {
            instruction: number.key("instruction").into(),
            op: number.key("op").into(),
            init: number.key("init").into(),
            reference: reference(number),
            explanation: number.explanation.clone().or_else(|| number.accepted.clone())?,
            accepted: number.accepted.clone(),
        })
    };
    Table::of("Explanations", numbers.iter().filter_map(row)).filled()
}

/// The table of findings; `None` without any.
pub(super) fn findings(rows: Vec<FindingRow>) -> Option<Table> {
    Table::of("Findings", rows).filled()
}

/// The table of cells and findings that a device cannot test; `None` without any.
pub(super) fn untestable(rows: Vec<UntestableRow>) -> Option<Table> {
    Table::of("Cells and findings that are not testable: the device lacks the instruction and its substitutes", rows)
        .filled()
}

/// A cell or claim about an instruction that the device lacks; a cell has its figure as printed.
pub(super) fn untestable_row(device: &str, what: &str, published: Option<&str>, instruction: &str) -> UntestableRow {
    UntestableRow {
        device: device.into(),
        what: what.into(),
        published: published.map(Into::into),
        instruction: instruction.into(),
        verdict: NOT_TESTABLE,
    }
}

/// An estimated number of published samples.
pub(super) fn sample_size(device: &str, size: &SampleSize, assumed: u64) -> SampleSizeRow {
    SampleSizeRow {
        device: device.into(),
        cells: size.cells,
        likely: sample_count(size.likely),
        lowest: sample_count(size.lowest),
        highest: sample_count(size.highest),
        assumed,
    }
}

/// One probe on two devices, each with its name.
pub(super) fn probe_pair(first: &str, other: &str, ours: RowView, theirs: RowView) -> ProbePairRow {
    let text = |row: RowView, key: &str| row.text(key).to_string();
    ProbePairRow {
        instruction: text(ours, "instruction"),
        op: text(ours, "op"),
        init: text(ours, "init"),
        device: first.into(),
        other: other.into(),
        same_inputs: ours.text("inputs_digest") == theirs.text("inputs_digest"),
        same_outputs: ours.text("outputs_digest") == theirs.text("outputs_digest"),
        error: ours.number("mean_abs_error_f32"),
        other_error: theirs.number("mean_abs_error_f32"),
        inputs_digest: text(ours, "inputs_digest"),
        outputs_digest: text(ours, "outputs_digest"),
        other_outputs_digest: text(theirs, "outputs_digest"),
    }
}

/// One curve on two devices, each with its name.
pub(super) fn curve_pair(first: &str, other: &str, x: &ChainCurve, y: &ChainCurve) -> CurvePairRow {
    let apart = x.points.iter().zip(&y.points).filter_map(|(x, y)| {
        let (x, y) = (x.against_plain.mean()?, y.against_plain.mean()?);
        (x.is_finite() && x > 0.0).then_some((y / x - 1.0).abs())
    });
    CurvePairRow {
        instruction: x.instruction.name.clone(),
        init: x.init.name(),
        device: first.into(),
        other: other.into(),
        same: x.points == y.points,
        largest_difference: apart.reduce(f64::max),
    }
}

/// A number of samples, rounded, at most 10^15.
fn sample_count(samples: f64) -> i64 {
    samples.round().min(1e15) as i64
}
