//! Chains of an experiment, and the findings about them.

use super::{
    ChainFigure, Experiment, ExperimentRun,
    known::{ChainKey, arithmetic},
    table,
};
use crate::{
    Result,
    chain::{self, ChainCurve, ChainRequest},
    device::{Device, Execution},
    inputs::Init,
    isa::Instruction,
    report::Table,
};

/// Computes the curves on every device; adds their tables and the tables of the findings.
pub(super) fn run(declared: &ChainFigure, run: &mut ExperimentRun) -> Result<()> {
    let curves = declared.instructions.iter().flat_map(|i| [Init::Low, Init::Fp32].map(|init| (i.clone(), init)));
    let plan = ChainRequest {
        curves: curves.collect(),
        length: declared.length,
        chains: run.options.samples.unwrap_or(declared.chains),
        within: None,
        seed: run.options.seed,
        scaling: declared.scaling,
    };
    let mut computed = Vec::new();
    for device in run.devices.iter_mut() {
        computed.push(OnDevice::of(run.experiment, &plan, device.as_mut())?);
    }
    run.report.notes.extend(chain::table::notes(&plan));
    let outcome = compute(&plan, &mut computed, run);
    let ExperimentRun { experiment, report, score, .. } = run;
    let (mut findings, mut untestable) = (Vec::new(), Vec::new());
    for OnDevice { name, counts, declared, curves, .. } in &computed {
        let as_declared = |(curve, instruction): (&ChainCurve, &Instruction)| ChainCurve {
            instruction: instruction.clone(),
            ..curve.clone()
        };
        let renamed: Vec<ChainCurve> = curves.iter().zip(declared).map(as_declared).collect();
        let complete = curves.len() == declared.len() && curves.iter().all(|curve| curve.points.len() == plan.length);
        for finding in experiment.findings.iter().filter(|_| complete) {
            let lacking =
                finding.check.instructions().into_iter().find(|name| !declared.iter().any(|i| i.name == **name));
            if declared.is_empty() {
                let first = &plan.curves[0].0.name;
                untestable.push(table::untestable_finding(name, finding, lacking.unwrap_or(first)));
            } else if let Some(lacking) = lacking {
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
    /// The instruction of each curve in the file.
    declared: Vec<Instruction>,
    /// The instruction that the device executes for it, perhaps a substitute, and the initialisation.
    executed: Vec<(Instruction, Init)>,
    executions: Vec<Execution>,
    /// The arithmetic of each curve; `None` on hardware.
    keys: Vec<Option<ChainKey>>,
    /// The curves as far as they were computed.
    curves: Vec<ChainCurve>,
}

impl OnDevice {
    /// The curves of the instructions that a device has, or has a substitute for, before they are computed.
    fn of(experiment: &Experiment, plan: &ChainRequest, device: &mut dyn Device) -> Result<OnDevice> {
        let mut own = OnDevice {
            name: device.identity().name.to_string(),
            counts: experiment.counts(device),
            declared: Vec::new(),
            executed: Vec::new(),
            executions: Vec::new(),
            keys: Vec::new(),
            curves: Vec::new(),
        };
        for (instruction, init) in &plan.curves {
            let Some(executed) = experiment.on(device, instruction)? else { continue };
            own.executions.push(device.prepare(&executed)?);
            own.declared.push(instruction.clone());
            own.keys.push(arithmetic(device, &executed).map(|program| ChainKey {
                program,
                init: *init,
                length: plan.length,
                chains: plan.chains,
                seed: plan.seed,
                scaling: plan.scaling,
            }));
            own.executed.push((executed, *init));
        }
        Ok(own)
    }
}

/// Computes the curves of all devices together; equal arithmetics are computed once.
fn compute(plan: &ChainRequest, computed: &mut [OnDevice], run: &mut ExperimentRun) -> Result<()> {
    let ExperimentRun { devices, progress, known, .. } = run;
    let (mut together, mut on, mut keys) =
        (ChainRequest { curves: Vec::new(), ..plan.clone() }, Vec::new(), Vec::new());
    for (device, own) in computed.iter().enumerate() {
        for (curve, key) in own.executed.iter().zip(&own.keys) {
            let is_known = key.as_ref().is_some_and(|key| known.curves.get(key).is_some());
            if !is_known && (key.is_none() || !keys.contains(key)) {
                together.curves.push(curve.clone());
                on.push(device);
                keys.push(key.clone());
            }
        }
    }
    let mut curves = Vec::new();
    let mut all: Vec<&mut dyn Device> = devices.iter_mut().map(|device| device.as_mut() as &mut dyn Device).collect();
    let outcome = chain::run_on(&mut all, &on, &together, &mut curves, progress);
    for (device, own) in computed.iter_mut().enumerate() {
        for (at, (curve, key)) in own.executed.iter().zip(&own.keys).enumerate() {
            let place = match key {
                Some(_) => keys.iter().position(|other| other == key),
                None => (0..on.len()).find(|place| on[*place] == device && together.curves[*place] == *curve),
            };
            let found =
                place.and_then(|place| curves.get(place)).or(key.as_ref().and_then(|key| known.curves.get(key)));
            let Some(found) = found else { break };
            debug_assert_eq!(own.curves.len(), at);
            own.curves.push(ChainCurve { instruction: curve.0.clone(), ..found.clone() });
        }
    }
    if outcome.is_ok() {
        for (key, curve) in keys.into_iter().zip(curves) {
            if let Some(key) = key {
                known.curves.add(key, curve);
            }
        }
    }
    outcome
}
