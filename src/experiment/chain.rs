//! Chains of an experiment, and the findings about them.

use super::{ChainFigure, Experiment, ExperimentRun, table};
use crate::{
    Result, Stage,
    chain::{self, ChainCurve, ChainRequest},
    device::{Device, Execution},
    inputs::Init,
    isa::Instruction,
    report::Table,
};

/// Computes the curves on every device; adds their tables and the tables of the findings.
pub(super) fn run(declared: &ChainFigure, run: &mut ExperimentRun) -> Result<()> {
    let ExperimentRun { experiment, devices, options, report, score, progress } = run;
    let curves = declared.instructions.iter().flat_map(|i| [Init::Low, Init::Fp32].map(|init| (i.clone(), init)));
    let plan = ChainRequest {
        curves: curves.collect(),
        length: declared.length,
        chains: options.samples.unwrap_or(declared.chains),
        within: None,
        seed: options.seed,
        scaling: declared.scaling,
    };
    report.notes.extend(chain::table::notes(&plan));
    let mut computed: Vec<OnDevice> = Vec::new();
    let outcome =
        devices.iter_mut().try_for_each(|device| compute(experiment, &plan, device.as_mut(), &mut computed, progress));
    let (mut findings, mut untestable) = (Vec::new(), Vec::new());
    for OnDevice { name, counts, declared, curves, complete, .. } in &computed {
        let as_declared = |(curve, instruction): (&ChainCurve, &Instruction)| ChainCurve {
            instruction: instruction.clone(),
            ..curve.clone()
        };
        let renamed: Vec<ChainCurve> = curves.iter().zip(declared).map(as_declared).collect();
        for finding in experiment.findings.iter().filter(|_| *complete) {
            let lacking =
                finding.check.instructions().into_iter().find(|name| !declared.iter().any(|i| i.name == **name));
            if let Some(lacking) = lacking {
                untestable.push(table::untestable_finding(name, finding, lacking));
            } else {
                findings.extend(score.finding((name, *counts), finding, finding.check.of_curves(&renamed)));
            }
        }
    }
    let names: Vec<&str> = computed.iter().map(|own| own.name.as_str()).collect();
    let of_each = computed.iter().map(|own| (Some(own.name.as_str()), &own.curves[..], &own.executions[..]));
    let (answer, tables) = chain::table::results(of_each, &names);
    report.answer = answer;
    report.tables.extend(table::findings(findings));
    report.tables.extend(table::untestable(untestable));
    report.tables.extend(tables);
    outcome?;
    if let [first, others @ ..] = &computed[..] {
        let rows = others.iter().flat_map(|other| {
            let same =
                |x: &ChainCurve| other.curves.iter().find(|y| (&x.instruction, x.init) == (&y.instruction, y.init));
            let pair = move |x: &ChainCurve| Some(table::curve_pair(&first.name, &other.name, x, same(x)?));
            first.curves.iter().filter_map(pair)
        });
        let title = "Devices compared: every number of a curve, and the largest relative difference of its mean errors";
        report.tables.extend(Table::of(title, rows).filled());
    }
    Ok(())
}

/// The curves on a device.
struct OnDevice {
    name: String,
    /// Their findings decide the exit status.
    counts: bool,
    /// The instruction of each curve in the file; the device may have executed a substitute.
    declared: Vec<Instruction>,
    executions: Vec<Execution>,
    curves: Vec<ChainCurve>,
    /// All curves have their full length.
    complete: bool,
}

/// Adds the curves of the instructions that a device has, or has a substitute for.
fn compute(
    experiment: &Experiment,
    plan: &ChainRequest,
    device: &mut dyn Device,
    computed: &mut Vec<OnDevice>,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let (name, counts) = (device.identity().name.to_string(), experiment.counts(device));
    let mut own = ChainRequest { curves: Vec::new(), ..plan.clone() };
    let (mut declared, mut executions, mut curves) = (Vec::new(), Vec::new(), Vec::new());
    for (instruction, init) in &plan.curves {
        if let Some(executed) = experiment.on(device, instruction)? {
            executions.push(device.prepare(&executed)?);
            declared.push(instruction.clone());
            own.curves.push((executed, *init));
        }
    }
    let outcome = chain::run(device, &own, &mut curves, progress);
    computed.push(OnDevice { name, counts, declared, executions, curves, complete: outcome.is_ok() });
    outcome
}
