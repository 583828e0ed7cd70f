//! Running the chains of an experiment, and checking its findings.

use super::{ChainFigure, Experiment, Options, table};
use crate::{
    Error, Result,
    chain::{self, ChainRequest, Curve},
    device::Device,
    inputs::Init,
    report::Report,
};

/// Computes the curves on every device, and adds their tables and those of the findings.
pub(super) fn run(
    experiment: &Experiment,
    declared: &ChainFigure,
    devices: &mut [Box<dyn Device>],
    options: Options,
    report: &mut Report,
) -> Result<()> {
    let curves = declared.instructions.iter().flat_map(|i| [Init::Low, Init::Fp32].map(|init| (i.clone(), init)));
    let plan = ChainRequest {
        curves: curves.collect(),
        length: declared.length,
        chains: options.samples.unwrap_or(declared.chains),
        seed: options.seed,
    };
    report.notes.extend(chain::table::notes(&plan));
    let several = devices.len() > 1;
    let (mut findings, mut ends, mut points) = (Vec::new(), Vec::new(), Vec::new());
    let mut all: Vec<(String, Vec<Curve>)> = Vec::new();
    for device in devices.iter_mut() {
        let name = device.identity().name.clone();
        let executions = plan.curves.iter().map(|(i, _)| device.prepare(i)).collect::<Result<Vec<_>>>()?;
        let (curves, interrupted) = chain::run(device.as_mut(), &plan, &mut |_| {})?;
        if let Some(by) = interrupted {
            return Err(Error::Interrupted { by });
        }
        for finding in &experiment.findings {
            if let Some(found) = finding.check.of_curves(&curves) {
                report.holds &= found.holds;
                findings.push(table::finding(&name, &finding.claim, &found));
            }
        }
        ends.extend(chain::table::curves(Some(&name), &curves, &executions));
        points.extend(chain::table::points(Some(&name), &curves));
        all.push((name, curves));
    }
    report.tables.extend([
        table::findings(findings),
        chain::table::curve_table(ends),
        chain::table::point_table(points),
    ]);
    if let [(first, ours), others @ ..] = &all[..]
        && several
    {
        let rows = others.iter().flat_map(|(other, theirs)| {
            ours.iter().zip(theirs).map(move |(x, y)| table::curve_pair(first, other, x, y))
        });
        report.tables.push(table::curve_pairs(rows.collect()));
    }
    Ok(())
}
