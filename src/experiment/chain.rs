//! Chains of an experiment, and the findings about them.

use super::{ChainFigure, ExperimentRun, known::arithmetic, table};
use crate::{
    Result,
    arithmetic::Program,
    chain::{self, ChainCurve, ChainRequest},
    device::{Device, Execution},
    inputs::Init,
    isa::Instruction,
    report::Table,
};

/// Computes the curves on every device; adds their tables and the tables of the findings.
pub(super) fn run(figure: &ChainFigure, run: &mut ExperimentRun) -> Result<()> {
    let curves = figure.instructions.iter().flat_map(|i| [Init::Low, Init::Fp32].map(|init| (i.clone(), init)));
    let plan = ChainRequest {
        curves: curves.collect(),
        length: figure.length,
        chains: run.options.samples.unwrap_or(figure.chains),
        within: None,
        seed: run.options.seed,
        scaling: figure.scaling,
    };
    let mut curves = planned(&plan, run)?;
    run.report.notes.extend(chain::table::notes(&plan));
    let outcome = compute(&plan, &mut curves, run);
    let ExperimentRun { experiment, devices, report, score, .. } = run;
    let names: Vec<String> = devices.iter().map(|device| device.identity().name.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let on = |device: usize| curves.iter().filter(move |curve| curve.device == device);
    let (mut findings, mut untestable) = (Vec::new(), Vec::new());
    for (device, name) in names.iter().enumerate() {
        let has = |name: &str| on(device).any(|curve| curve.declared.name == name);
        let declared = |planned: &PlannedCurve| planned.curve.clone().map(|curve| planned.as_declared(curve));
        let computed: Vec<ChainCurve> = on(device).filter_map(declared).collect();
        let is_complete =
            computed.len() == on(device).count() && computed.iter().all(|curve| curve.points.len() == plan.length);
        for finding in experiment.findings.iter().filter(|_| is_complete) {
            let lacking = finding.check.instructions().into_iter().find(|name| !has(name));
            match lacking.or(computed.is_empty().then_some(&plan.curves[0].0.name)) {
                Some(lacking) => untestable.push(table::untestable_row(name, &finding.claim, None, lacking)),
                None => {
                    let counts = experiment.counts(devices[device].as_ref());
                    findings.extend(score.finding(name, counts, finding, finding.check.of_curves(&computed)));
                }
            }
        }
    }
    let computed = |device: usize| {
        on(device).filter_map(|planned| Some((planned.curve.clone()?, planned.execution.clone()))).unzip()
    };
    let of_each: Vec<(Vec<ChainCurve>, Vec<Execution>)> = (0..names.len()).map(computed).collect();
    let rows =
        names.iter().zip(&of_each).map(|(name, (curves, executions))| (Some(*name), &curves[..], &executions[..]));
    let (answer, tables) = chain::table::results(rows, &names);
    report.answer = answer;
    report.tables.extend(table::findings(findings));
    report.tables.extend(table::untestable(untestable));
    report.tables.extend(tables);
    outcome?;
    let mut pairs = Vec::new();
    for (device, name) in names.iter().enumerate().skip(1) {
        for x in &of_each[0].0 {
            let same = of_each[device].0.iter().find(|y| (&x.instruction, x.init) == (&y.instruction, y.init));
            pairs.extend(same.map(|y| table::curve_pair(names[0], name, x, y)));
        }
    }
    let title = "Devices compared: every number of a curve, and the largest relative difference of its mean errors";
    report.tables.extend(Table::of(title, pairs).filled());
    Ok(())
}

/// A curve on a device that has its instruction, or a substitute.
struct PlannedCurve {
    device: usize,
    /// The instruction in the file.
    declared: Instruction,
    /// The instruction that the device executes for it, and the initialisation.
    executed: (Instruction, Init),
    execution: Execution,
    /// Everything that decides the curve; `None` on hardware.
    key: Option<(Program, ChainRequest)>,
    /// The curve, as far as it was computed.
    curve: Option<ChainCurve>,
}

impl PlannedCurve {
    fn as_declared(&self, curve: ChainCurve) -> ChainCurve {
        ChainCurve { instruction: self.declared.clone(), ..curve }
    }
}

/// The curves of all devices, before they are computed.
fn planned(plan: &ChainRequest, run: &mut ExperimentRun) -> Result<Vec<PlannedCurve>> {
    let mut all = Vec::new();
    for (number, device) in run.devices.iter_mut().enumerate() {
        for (declared, init) in &plan.curves {
            let Some(instruction) = run.experiment.on(device.as_mut(), declared)? else { continue };
            let executed = (instruction, *init);
            let alone = ChainRequest { curves: vec![executed.clone()], ..plan.clone() };
            all.push(PlannedCurve {
                device: number,
                declared: declared.clone(),
                execution: device.prepare(&executed.0)?,
                key: arithmetic(device.as_ref(), &executed.0).map(|program| (program, alone)),
                executed,
                curve: None,
            });
        }
    }
    Ok(all)
}

/// Computes the curves of all devices together; equal arithmetics are computed once.
fn compute(plan: &ChainRequest, all: &mut [PlannedCurve], run: &mut ExperimentRun) -> Result<()> {
    let ExperimentRun { devices, progress, known, .. } = run;
    let is_new = |at: &usize| {
        let key = &all[*at].key;
        key.as_ref().is_none_or(|key| known.curves.get(key).is_none())
            && (key.is_none() || all[..*at].iter().all(|other| other.key != *key))
    };
    let fresh: Vec<usize> = (0..all.len()).filter(is_new).collect();
    let together = ChainRequest { curves: fresh.iter().map(|at| all[*at].executed.clone()).collect(), ..plan.clone() };
    let on: Vec<usize> = fresh.iter().map(|at| all[*at].device).collect();
    let mut curves = Vec::new();
    let mut devices: Vec<&mut dyn Device> =
        devices.iter_mut().map(|device| device.as_mut() as &mut dyn Device).collect();
    let outcome = chain::run_on(&mut devices, &on, &together, &mut curves, progress);
    for at in 0..all.len() {
        let source = fresh.iter().position(|new| *new == at || all[at].key.is_some() && all[*new].key == all[at].key);
        let curve = source.and_then(|source| curves.get(source));
        let curve = curve.or_else(|| all[at].key.as_ref().and_then(|key| known.curves.get(key)));
        all[at].curve = curve.map(|curve| ChainCurve { instruction: all[at].executed.0.clone(), ..curve.clone() });
    }
    if outcome.is_ok() {
        for (at, curve) in fresh.into_iter().zip(curves) {
            if let Some(key) = &all[at].key {
                known.curves.add(key.clone(), curve);
            }
        }
    }
    outcome
}
