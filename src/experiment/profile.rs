//! Probes of an experiment, and the verdicts on its cells.

use super::{
    CellVerdict, ErrorColumn, Experiment, ExperimentRun, ProfileCell, ProfileTable, SampleSize,
    known::{KnownResults, arithmetic},
    lacks, power,
    score::FigureOutcome,
    table::{self, ProbePairRow},
    verdict::{CellMean, why},
};
use crate::{
    Result,
    arithmetic::Program,
    device::Device,
    inputs::{Distribution, Init, Op},
    isa::Instruction,
    probe::{self, ProbeRequest, ProbeResult},
    report::Table,
};

/// Probes every cell's operation on every device, and adds the tables of the measured cells.
pub(super) fn run(plan: &ProfileTable, run: &mut ExperimentRun) -> Result<()> {
    let ExperimentRun { experiment, devices, options, report, score, known, .. } = run;
    let published_samples = options.published_samples.unwrap_or(plan.published_samples);
    let probes = distinct(&plan.cells);
    let samples = options.samples.unwrap_or(plan.samples);
    let mut outcomes: Vec<Vec<Option<ProbedCell>>> = Vec::new();
    let measured_all = devices.iter_mut().try_for_each(|device| {
        let mut own = Vec::new();
        let outcome = probed(experiment, &probes, device.as_mut(), (options.seed, samples), known, &mut own);
        outcomes.push(own);
        outcome
    });
    let own: Vec<String> = devices.iter().map(|device| device.identity().name.to_string()).collect();
    let names: Vec<&str> = own.iter().map(String::as_str).collect();
    let counts: Vec<bool> = devices.iter().map(|device| experiment.counts(device.as_ref())).collect();
    // Outer `None`: the cell was not reached. Inner: the device lacks the instruction.
    let outcome = |device: usize, cell: &ProfileCell| {
        let at = probes.iter().position(|probe| same_probe(probe, cell)).expect("every cell has a probe");
        outcomes.get(device)?.get(at).map(Option::as_ref)
    };
    let outcome_of_all = measured_all
        .and_then(|()| power::of_cells(experiment, plan, &probes, (options.seed, samples), published_samples, known));
    let powers = outcome_of_all.as_deref().unwrap_or_default();

    let one = plan.cells.iter().all(|cell| cell.instruction == plan.cells[0].instruction);
    let (mut cells, mut untestable) = (Vec::new(), Vec::new());
    for (at, cell) in plan.cells.iter().enumerate() {
        for (device, name) in names.iter().enumerate() {
            let Some(outcome) = outcome(device, cell) else { continue };
            let decides = counts[device] && cell.accepted.is_none();
            let own = FigureOutcome {
                figure: if one {
                    table::cell_name(cell)
                } else {
                    format!("{}: {}", cell.instruction, table::cell_name(cell))
                },
                device: (*name).into(),
                published: cell.published.text.clone(),
                verdict: CellVerdict::words(None, counts[device], false, false),
                decides,
                ..FigureOutcome::default()
            };
            let Some(outcome) = outcome else {
                score.figures.push(FigureOutcome { why: Some(lacks(&cell.instruction)), ..own });
                untestable.push(table::untestable_cell(name, cell));
                continue;
            };
            let power = powers.get(at).cloned().unwrap_or_default();
            let (judgement, row) = table::cell_row((name, counts[device]), cell, outcome, &power, published_samples);
            score.figures.push(FigureOutcome {
                measured: row.measured,
                standard_error: row.standard_error,
                samples: Some(row.samples),
                judgement: Some(judgement),
                verdict: row.verdict.clone(),
                why: why(Some(judgement.verdict), &cell.accepted, &cell.explanation),
                ..own
            });
            cells.push(row);
        }
    }
    // A device that lacks every instruction has no findings.
    for (device, name) in names.iter().enumerate() {
        if plan.cells.iter().all(|cell| matches!(outcome(device, cell), Some(None))) {
            let first = &plan.cells[0].instruction.name;
            untestable.extend(experiment.findings.iter().map(|own| table::untestable_finding(name, own, first)));
        }
    }
    report.notes.extend(power::note(powers, samples));
    report.tables.push(table::cells(cells, published_samples));
    report.tables.extend(table::untestable(untestable));
    outcome_of_all?;
    report.tables.extend(table::explanations(&plan.cells));

    let measured_on = |device: usize| -> Vec<(&ProfileCell, CellMean)> {
        let one = |cell| Some((cell, measured(cell, &outcome(device, cell)??.result)));
        plan.cells.iter().filter_map(one).collect()
    };
    let (mut findings, mut sizes) = (Vec::new(), Vec::new());
    for (device, name) in names.iter().enumerate() {
        let measured = measured_on(device);
        for finding in experiment.findings.iter().filter(|_| !measured.is_empty()) {
            findings.extend(score.finding((name, counts[device]), finding, finding.check.of_cells(&measured)));
        }
        sizes.extend(sample_size(&measured).map(|size| table::sample_size(name, &size, published_samples)));
    }
    report.tables.extend(table::findings(findings));
    let title = "Samples of the published means, from their distance to ours (init fp32 against f32; approximate 95 % interval)";
    report.tables.extend(Table::of(title, sizes).filled());
    if names.len() > 1 {
        let title = "Devices compared: the bits of all inputs and of all outputs, and the mean error to f32";
        report.tables.extend(Table::of(title, compared(&names, &probes, &outcomes)).filled());
    }
    Ok(())
}

/// A probe, and the instruction that a device executed for it.
pub(super) struct ProbedCell {
    pub instruction: Instruction,
    pub result: ProbeResult,
}

/// Everything that decides the results of probes that differ in their initialisation alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProbeKey {
    program: Program,
    op: Op,
    inits: Vec<Init>,
    seed: u64,
    samples: u64,
}

/// Adds the probes on a device, also if it is interrupted; `None` where it lacks the instruction.
pub(super) fn probed(
    experiment: &Experiment,
    probes: &[&ProfileCell],
    device: &mut dyn Device,
    (seed, samples): (u64, u64),
    known: &mut KnownResults,
    found: &mut Vec<Option<ProbedCell>>,
) -> Result<()> {
    // The tiles of all initialisations are the same: they are executed once.
    for alike in probes.chunk_by(|x, y| same_tiles(x, y)) {
        let inits: Vec<Init> = alike.iter().map(|cell| cell.init).collect();
        let Some(instruction) = experiment.on(device, &alike[0].instruction)? else {
            found.extend(alike.iter().map(|_| None));
            continue;
        };
        let key = arithmetic(device, &instruction).map(|program| ProbeKey {
            program,
            op: alike[0].op,
            inits: inits.clone(),
            seed,
            samples,
        });
        let mut add = |results: Vec<ProbeResult>| {
            let cell = |result| Some(ProbedCell { instruction: instruction.clone(), result });
            found.extend(results.into_iter().map(cell));
        };
        if let Some(results) = key.as_ref().and_then(|key| known.probes.get(key)) {
            add(results.clone());
            continue;
        }
        let (request, mut results) = (request(&instruction, alike[0], samples, seed), Vec::new());
        let outcome = probe::run_until(device, None, &request, &inits, None, &mut results);
        if let (Ok(()), Some(key)) = (&outcome, key) {
            known.probes.add(key, results.clone());
        }
        // An interrupted probe has fewer samples.
        add(results);
        outcome?;
    }
    Ok(())
}

/// Comparisons of each probe on the first device with every other device that has its instruction.
fn compared(names: &[&str], probes: &[&ProfileCell], outcomes: &[Vec<Option<ProbedCell>>]) -> Vec<ProbePairRow> {
    let mut rows = Vec::new();
    for (at, cell) in probes.iter().enumerate() {
        for other in 1..names.len() {
            let (Some(ours), Some(theirs)) = (&outcomes[0][at], &outcomes[other][at]) else { continue };
            // Tiles of another shape hold the same values in other places.
            if ours.instruction == theirs.instruction {
                rows.push(table::probe_pair(cell, (names[0], &ours.result), (names[other], &theirs.result)));
            }
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

pub(super) fn same_probe(x: &ProfileCell, y: &ProfileCell) -> bool {
    (&x.instruction, x.op, x.init) == (&y.instruction, y.op, y.init)
}

fn request<'a>(instruction: &'a Instruction, cell: &ProfileCell, samples: u64, seed: u64) -> ProbeRequest<'a> {
    ProbeRequest {
        instruction,
        op: cell.op,
        distribution: Distribution::Normal,
        init: cell.init,
        seed,
        samples,
        max_mismatches: 0,
    }
}

pub(super) fn measured(cell: &ProfileCell, outcome: &ProbeResult) -> CellMean {
    let p = &outcome.profile;
    let (errors, equal) = match cell.reference {
        ErrorColumn::F32 => (p.f32_error, p.f32),
        ErrorColumn::F32Rounded => (p.f32_rounded_error, p.f32_rounded),
    };
    CellMean { errors, equal, samples: p.samples }
}

/// The published number of samples, from the cells with init fp32 against f32.
///
/// There is one for each operation, and their random numbers count as independent.
fn sample_size(cells: &[(&ProfileCell, CellMean)]) -> Option<SampleSize> {
    let used = cells.iter().filter(|(cell, _)| cell.init == Init::Fp32 && cell.reference == ErrorColumn::F32);
    let implied: Vec<f64> = used.filter_map(|(cell, measured)| measured.implied_samples(&cell.published)).collect();
    SampleSize::estimate(&implied)
}
