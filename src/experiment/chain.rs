//! Running the chains of an experiment, and checking its findings.

use super::{ChainFigure, Experiment, Options, table};
use crate::{
    Error, Result, Stage,
    chain::{self, ChainRequest, Curve},
    device::Device,
    inputs::Init,
    isa::Instruction,
    report::Report,
};

/// Computes the curves on every device, and adds their tables and those of the findings.
pub(super) fn run(
    experiment: &Experiment,
    declared: &ChainFigure,
    devices: &mut [Box<dyn Device>],
    options: Options,
    report: &mut Report,
    progress: &mut dyn FnMut(Stage),
) -> Result<()> {
    let curves = declared.instructions.iter().flat_map(|i| [Init::Low, Init::Fp32].map(|init| (i.clone(), init)));
    let plan = ChainRequest {
        curves: curves.collect(),
        length: declared.length,
        chains: options.samples.unwrap_or(declared.chains),
        seed: options.seed,
        scaling: declared.scaling,
    };
    report.notes.extend(chain::table::notes(&plan));
    let several = devices.len() > 1;
    let (mut findings, mut untestable, mut ends, mut points) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut all: Vec<(String, Vec<Curve>)> = Vec::new();
    for device in devices.iter_mut() {
        let (name, counts) = (device.identity().name.clone(), experiment.counts(device.as_ref()));
        // What the device executes for each curve that it can: the declared instruction, or what stands for it.
        let mut declared = Vec::new();
        let mut own = ChainRequest { curves: Vec::new(), ..plan.clone() };
        for (instruction, init) in &plan.curves {
            if let Some(executed) = experiment.on(device.as_mut(), instruction)? {
                declared.push(instruction.clone());
                own.curves.push((executed, *init));
            }
        }
        let executions = own.curves.iter().map(|(i, _)| device.prepare(i)).collect::<Result<Vec<_>>>()?;
        let (curves, interrupted) = chain::run(device.as_mut(), &own, progress)?;
        if let Some(by) = interrupted {
            return Err(Error::Interrupted { by });
        }
        let as_declared =
            |(curve, instruction): (&Curve, &Instruction)| Curve { instruction: instruction.clone(), ..curve.clone() };
        let renamed: Vec<Curve> = curves.iter().zip(&declared).map(as_declared).collect();
        for finding in &experiment.findings {
            let lacking =
                finding.check.instructions().into_iter().find(|name| !declared.iter().any(|i| i.name == **name));
            if let Some(lacking) = lacking {
                untestable.push(table::untestable_finding(&name, finding, lacking));
            } else if let Some(found) = finding.check.of_curves(&renamed) {
                report.holds &= found.holds || !counts || finding.accepted.is_some();
                findings.push(table::finding((&name, counts), finding, &found));
            }
        }
        ends.extend(chain::table::curves(Some(&name), &curves, &executions));
        points.extend(chain::table::points(Some(&name), &curves));
        all.push((name, curves));
    }
    report.tables.push(table::findings(findings));
    report.tables.extend(table::untestable(untestable));
    report.tables.extend([chain::table::curve_table(ends), chain::table::point_table(points)]);
    if let [(first, ours), others @ ..] = &all[..]
        && several
    {
        let rows = others.iter().flat_map(|(other, theirs)| {
            let same = |x: &Curve| theirs.iter().find(|y| (&x.instruction, x.init) == (&y.instruction, y.init));
            ours.iter().filter_map(move |x| Some(table::curve_pair(first, other, x, same(x)?)))
        });
        report.tables.extend(table::curve_pairs(rows.collect()).filled());
    }
    Ok(())
}
