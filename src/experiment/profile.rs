//! Running the probes of an experiment, and judging its cells.

use super::{
    ErrorColumn, Experiment, Options, ProfileCell, ProfileTable, SampleSize, Verdict,
    table::{self, MeasuredCell, ProbePairRow},
    verdict::Measured,
};
use crate::{
    Result,
    base::interrupt,
    device::Device,
    inputs::{Distribution, Init},
    probe::{self, ProbeRequest, ProbeResult},
    report::Report,
};

/// Probes every cell's operation on every device, and adds the tables of the cells.
pub(super) fn run(
    experiment: &Experiment,
    plan: &ProfileTable,
    devices: &mut [Box<dyn Device>],
    options: Options,
    report: &mut Report,
) -> Result<()> {
    let published_samples = options.published_samples.unwrap_or(plan.published_samples);
    let probes = distinct(&plan.cells);
    let mut outcomes: Vec<Vec<ProbeResult>> = Vec::new();
    for device in devices.iter_mut() {
        let mut found: Vec<ProbeResult> = Vec::new();
        // The tiles of all initialisations are the same: they are executed once.
        for alike in probes.chunk_by(|x, y| same_tiles(x, y)) {
            let inits: Vec<Init> = alike.iter().map(|cell| cell.init).collect();
            found.extend(probe::run_each(device.as_mut(), None, &request(alike[0], plan, options), &inits)?);
            // A part of the samples is not the experiment.
            interrupt::check()?;
        }
        outcomes.push(found);
    }
    let names: Vec<&str> = devices.iter().map(|device| device.identity().name.as_str()).collect();
    let outcome = |device: usize, cell: &ProfileCell| {
        let at = probes.iter().position(|probe| same_probe(probe, cell)).expect("every cell has a probe");
        &outcomes[device][at]
    };

    let mut cells = Vec::new();
    for cell in &plan.cells {
        for (device, name) in names.iter().enumerate() {
            let outcome = outcome(device, cell);
            let measured = measured(cell, outcome);
            let verdict = measured.judge(&cell.published, published_samples);
            report.holds &= verdict != Verdict::Differs || cell.explanation.is_some();
            let row = MeasuredCell { device: name, cell, outcome, measured: &measured, verdict };
            cells.push(row.row(published_samples));
        }
    }
    report.tables.push(table::cells(cells, published_samples));
    report.tables.extend(table::explanations(&plan.cells));

    let measured_on = |device: usize| -> Vec<(&ProfileCell, Measured)> {
        plan.cells.iter().map(|cell| (cell, measured(cell, outcome(device, cell)))).collect()
    };
    let by_device: Vec<_> = names.iter().enumerate().map(|(device, name)| (*name, measured_on(device))).collect();
    conclude(experiment, &by_device, published_samples, report);
    if names.len() > 1 {
        report.tables.push(table::probe_pairs(compared(&names, &probes, &outcomes)));
    }
    Ok(())
}

/// Adds the tables of the findings and of the estimated published number of samples, for each device.
fn conclude(
    experiment: &Experiment,
    by_device: &[(&str, Vec<(&ProfileCell, Measured)>)],
    published_samples: u64,
    report: &mut Report,
) {
    let (mut findings, mut sizes) = (Vec::new(), Vec::new());
    for (name, measured) in by_device {
        for finding in &experiment.findings {
            if let Some(found) = finding.check.of_cells(measured) {
                report.holds &= found.holds;
                findings.push(table::finding(name, &finding.claim, &found));
            }
        }
        if let Some(size) = sample_size(measured) {
            sizes.push(table::sample_size(name, &size, published_samples));
        }
    }
    report.tables.extend(table::findings(findings).filled());
    report.tables.extend(table::sample_sizes(sizes).filled());
}

/// The rows that set each probe on the first device beside the same on every other one.
fn compared(names: &[&str], probes: &[&ProfileCell], outcomes: &[Vec<ProbeResult>]) -> Vec<ProbePairRow> {
    let mut rows = Vec::new();
    for (at, cell) in probes.iter().enumerate() {
        for other in 1..names.len() {
            rows.push(table::probe_pair(cell, (names[0], &outcomes[0][at]), (names[other], &outcomes[other][at])));
        }
    }
    rows
}

/// The first cell of each different probe, those with the same tiles one after the other.
fn distinct(cells: &[ProfileCell]) -> Vec<&ProfileCell> {
    let mut probes: Vec<&ProfileCell> = Vec::new();
    for cell in cells {
        if !probes.iter().any(|probe| same_probe(probe, cell)) {
            let behind = probes.iter().rposition(|probe| same_tiles(probe, cell)).map_or(probes.len(), |at| at + 1);
            probes.insert(behind, cell);
        }
    }
    probes
}

fn same_tiles(x: &ProfileCell, y: &ProfileCell) -> bool {
    (&x.instruction, x.op) == (&y.instruction, y.op)
}

fn same_probe(x: &ProfileCell, y: &ProfileCell) -> bool {
    (&x.instruction, x.op, x.init) == (&y.instruction, y.op, y.init)
}

fn request<'a>(cell: &'a ProfileCell, plan: &ProfileTable, options: Options) -> ProbeRequest<'a> {
    ProbeRequest {
        instruction: &cell.instruction,
        op: cell.op,
        distribution: Distribution::Normal,
        init: cell.init,
        seed: options.seed,
        samples: options.samples.unwrap_or(plan.samples),
        max_mismatches: 0,
    }
}

fn measured(cell: &ProfileCell, outcome: &ProbeResult) -> Measured {
    let p = &outcome.profile;
    let (errors, equal) = match cell.reference {
        ErrorColumn::F32 => (p.f32_error, p.f32),
        ErrorColumn::F32Rounded => (p.f32_rounded_error, p.f32_rounded),
    };
    Measured { errors, equal, samples: p.samples }
}

/// The published number of samples, from the cells with init fp32 against f32: one for each operation, whose random
/// numbers are taken to be independent.
fn sample_size(cells: &[(&ProfileCell, Measured)]) -> Option<SampleSize> {
    let used = cells.iter().filter(|(cell, _)| cell.init == Init::Fp32 && cell.reference == ErrorColumn::F32);
    let implied: Vec<f64> = used.filter_map(|(cell, measured)| measured.implied_samples(&cell.published)).collect();
    SampleSize::estimate(&implied)
}
