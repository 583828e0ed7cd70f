//! The tables and notes of a report on an experiment.

use super::{
    Cell as Published, Experiment, Options, SampleSize, Verdict, ZERO_PROBABILITY, finding::Found, verdict::Measured,
};
use crate::{
    chain::Curve,
    device::Identity,
    probe::Outcome,
    report::{Cell, Column, Table},
};

/// One published cell, measured on one device.
pub(super) struct CellRow<'a> {
    pub device: &'a str,
    pub cell: &'a Published,
    pub outcome: &'a Outcome,
    pub measured: &'a Measured,
    pub verdict: Verdict,
}

/// One probe on two devices.
pub(super) struct ProbeRow<'a> {
    pub first: &'a str,
    pub other: &'a str,
    pub cell: &'a Published,
    pub ours: &'a Outcome,
    pub theirs: &'a Outcome,
}

/// What the reader of the numbers must know.
pub(super) fn notes(experiment: &Experiment, options: Options) -> Vec<String> {
    let mut notes = vec![format!(
        "{} Source: {} Published figures were measured on {}.",
        experiment.title, experiment.source, experiment.published_on
    )];
    notes.extend(experiment.remarks.iter().cloned());
    if let Some(profile) = &experiment.profile {
        notes.push(format!(
            "Verdicts: same digits: the measured mean rounds to the published one (for a published zero: every sample is \
             equal to its reference). Within sampling error: it is within half a unit of the last digit and two standard \
             deviations of a mean of {} samples (for a published zero: as many samples would all have been equal with a \
             probability of at least {ZERO_PROBABILITY}). Differs: neither; then an explanation follows, or the claim fails.",
            options.published_samples.unwrap_or(profile.published_samples)
        ));
    }
    notes
}

/// A column that shows where there are several devices.
fn device_column(several: bool) -> Column {
    Column { key: "device", label: several.then_some("device") }
}

/// What the devices are.
pub(super) fn devices<'a>(identities: impl Iterator<Item = &'a Identity>) -> Table {
    let columns = vec![
        Column::new("device", "device"),
        Column::new("description", "what it is"),
        Column::new("details", "details"),
    ];
    let row = |identity: &Identity| {
        let details = identity.details.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>();
        vec![
            Cell::text(&identity.name),
            Cell::text(&identity.description),
            if details.is_empty() { Cell::Empty } else { Cell::text(details.join(", ")) },
        ]
    };
    Table { rows: identities.map(row).collect(), ..Table::new("devices", "Devices, on the same inputs", columns) }
}

/// The table `cells`, without rows.
pub(super) fn cells(several: bool, published_samples: u64) -> Table {
    let columns = vec![
        Column::new("instruction", "instruction"),
        Column::new("op", "op"),
        Column::new("init", "init"),
        Column::new("reference", "reference"),
        device_column(several),
        Column::new("published", "published"),
        Column::new("measured", "measured"),
        Column::new("standard_error", "+-"),
        Column::new("published_sampling_error", "+- published"),
        Column::new("ratio", "ratio"),
        Column::new("equal", "equal"),
        Column::new("samples", "samples"),
        Column::new("published_samples_implied", "N implied"),
        Column::new("verdict", "verdict"),
        Column::hidden("explained"),
        Column::hidden("all_equal_probability"),
        Column::hidden("published_samples"),
        Column::hidden("execution"),
        Column::hidden("opcodes"),
        Column::hidden("inputs_digest"),
        Column::hidden("outputs_digest"),
    ];
    let title = format!(
        "Mean absolute errors, published and measured (+-: standard error of our mean; +- published: sampling error of a mean \
         of {published_samples}; equal: samples equal to the reference; N implied: the published sample with which the difference would be one sampling error)"
    );
    Table::new("cells", title, columns)
}

impl CellRow<'_> {
    /// The row of [`cells`].
    pub(super) fn cells(&self, published_samples: u64) -> Vec<Cell> {
        let (cell, m) = (self.cell, self.measured);
        let ratio = m.errors.mean().filter(|_| cell.published.value > 0.0).map(|mean| mean / cell.published.value);
        let explained = self.verdict == Verdict::Differs && cell.explanation.is_some();
        let verdict =
            if explained { format!("{}, explained", self.verdict.name()) } else { self.verdict.name().into() };
        vec![
            Cell::text(&cell.instruction.name),
            cell.op.name().into(),
            cell.init.name().into(),
            cell.reference.name().into(),
            self.device.into(),
            Cell::text(&cell.published.text),
            m.errors.mean().into(),
            m.errors.standard_error().into(),
            m.sampling_error(published_samples).into(),
            ratio.into(),
            m.equal.into(),
            m.samples.into(),
            m.implied_samples(&cell.published)
                .map(|n| Cell::integer(n.round().min(1e15) as i64))
                .unwrap_or(Cell::Empty),
            verdict.into(),
            cell.explanation.is_some().into(),
            m.all_equal(published_samples).into(),
            published_samples.into(),
            self.outcome.execution.kind.name().into(),
            Cell::List(self.outcome.execution.opcodes.iter().map(|o| o.as_str().into()).collect()),
            hex(self.outcome.digest),
            hex(self.outcome.outputs_digest),
        ]
    }
}

/// The explanations of cells; `None` without any.
pub(super) fn explanations(cells: &[Published]) -> Option<Table> {
    let columns = vec![
        Column::new("instruction", "instruction"),
        Column::new("op", "op"),
        Column::new("init", "init"),
        Column::new("reference", "reference"),
        Column::new("explanation", "explanation"),
    ];
    let row = |cell: &Published| {
        let explanation = cell.explanation.as_ref()?;
        Some(vec![
            Cell::text(&cell.instruction.name),
            cell.op.name().into(),
            cell.init.name().into(),
            cell.reference.name().into(),
            Cell::text(explanation),
        ])
    };
    let rows: Vec<Vec<Cell>> = cells.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table { rows, ..Table::new("explanations", "Explanations", columns) })
}

/// The table `findings`, without rows.
pub(super) fn findings(several: bool) -> Table {
    let columns = vec![
        Column::new("claim", "finding"),
        device_column(several),
        Column::new("measured", "measured"),
        Column::new("holds", "holds"),
    ];
    Table::new("findings", "Findings", columns)
}

/// A row of [`findings`].
pub(super) fn finding(device: &str, claim: &str, found: &Found) -> Vec<Cell> {
    vec![claim.into(), device.into(), Cell::text(&found.measured), found.holds.into()]
}

/// The table `published_samples`, without rows.
pub(super) fn sample_sizes(several: bool) -> Table {
    let columns = vec![
        device_column(several),
        Column::new("cells", "cells used"),
        Column::new("likely", "most likely"),
        Column::new("lowest", "from"),
        Column::new("highest", "to"),
        Column::new("assumed", "assumed here"),
    ];
    let title = "Samples behind the published means, from their distance to ours (init fp32 against f32; approximate 95 % interval)";
    Table::new("published_samples", title, columns)
}

/// A row of [`sample_sizes`].
pub(super) fn sample_size(device: &str, size: &SampleSize, assumed: u64) -> Vec<Cell> {
    let whole = |n: f64| Cell::integer(n.round().min(1e15) as i64);
    vec![device.into(), size.cells.into(), whole(size.likely), whole(size.lowest), whole(size.highest), assumed.into()]
}

/// The table `device_pairs` of probes.
pub(super) fn probes(rows: Vec<Vec<Cell>>) -> Table {
    let columns = vec![
        Column::new("instruction", "instruction"),
        Column::new("op", "op"),
        Column::new("init", "init"),
        Column::new("device", "device"),
        Column::new("other", "other"),
        Column::new("same_inputs", "same inputs"),
        Column::new("same_outputs", "same outputs"),
        Column::new("error", "error"),
        Column::new("other_error", "other's"),
        Column::hidden("inputs_digest"),
        Column::hidden("outputs_digest"),
        Column::hidden("other_outputs_digest"),
    ];
    let title = "Devices compared: the bits of all inputs and of all outputs, and the mean error to f32";
    Table { rows, ..Table::new("device_pairs", title, columns) }
}

impl ProbeRow<'_> {
    /// The row of [`probes`].
    pub(super) fn cells(&self) -> Vec<Cell> {
        let (ours, theirs) = (self.ours, self.theirs);
        vec![
            Cell::text(&self.cell.instruction.name),
            self.cell.op.name().into(),
            self.cell.init.name().into(),
            self.first.into(),
            self.other.into(),
            (ours.digest == theirs.digest).into(),
            (ours.outputs_digest == theirs.outputs_digest).into(),
            ours.profile.f32_error.mean().into(),
            theirs.profile.f32_error.mean().into(),
            hex(ours.digest),
            hex(ours.outputs_digest),
            hex(theirs.outputs_digest),
        ]
    }
}

/// Adds tables of one device to those of the devices before it, with a column that names it.
pub(super) fn append(tables: &mut Vec<Table>, new: [Table; 2], device: &str, several: bool) {
    for mut table in new {
        table.columns.insert(1, device_column(several));
        table.rows.iter_mut().for_each(|row| row.insert(1, device.into()));
        match tables.iter_mut().find(|known| known.key == table.key) {
            Some(known) => known.rows.extend(table.rows),
            None => tables.push(table),
        }
    }
}

/// The table `device_pairs` of chains.
pub(super) fn curve_pairs(rows: Vec<Vec<Cell>>) -> Table {
    let columns = vec![
        Column::new("instruction", "instruction"),
        Column::new("init", "init"),
        Column::new("device", "device"),
        Column::new("other", "other"),
        Column::new("same", "same numbers"),
        Column::new("largest_difference", "largest relative difference"),
    ];
    let title = "Devices compared: every number of a curve, and the largest relative difference of its mean errors";
    Table { rows, ..Table::new("device_pairs", title, columns) }
}

/// A row of [`curve_pairs`].
pub(super) fn curve_pair(first: &str, other: &str, x: &Curve, y: &Curve) -> Vec<Cell> {
    let apart = x.points.iter().zip(&y.points).filter_map(|(x, y)| {
        let (x, y) = (x.against_plain.mean()?, y.against_plain.mean()?);
        (x.is_finite() && x > 0.0).then_some((y / x - 1.0).abs())
    });
    vec![
        Cell::text(&x.instruction.name),
        x.init.name().into(),
        first.into(),
        other.into(),
        (x.points == y.points).into(),
        apart.reduce(f64::max).into(),
    ]
}

fn hex(digest: u64) -> Cell {
    Cell::text(format!("{digest:016x}"))
}
