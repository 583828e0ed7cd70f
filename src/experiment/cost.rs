//! Published latencies and rates of instructions, compared with measured ones.

use serde::Deserialize;

use super::{
    CellVerdict, ExperimentRun, Printed, keys,
    score::FigureOutcome,
    verdict::{Judgement, why},
};
use crate::{
    Result, Stage,
    base::available::if_available,
    cost::{self, CostRequest, Costs, InstructionCost, LoadCost, RatePoint},
    device::{Device, SharedLoad, TimedOperands},
    isa::Instruction,
    report::Table,
};

/// Relative difference up to which a figure is reproduced.
const NEAR: f64 = 0.05;

/// Published costs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostTable {
    /// The published cells.
    #[serde(rename = "cell")]
    pub cells: Vec<CostCell>,
}

/// A row of a published table: an instruction, or a load from shared memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostCell {
    /// The instruction.
    #[serde(default, deserialize_with = "keys::some_instruction")]
    pub instruction: Option<Instruction>,
    /// The load.
    #[serde(default, deserialize_with = "keys::load")]
    pub load: Option<SharedLoad>,
    /// Clocks of one run, as printed.
    pub latency: Option<Printed>,
    /// Published points.
    #[serde(default)]
    pub points: Vec<PrintedPoint>,
    /// 10^12 operations a second of the whole device, as printed.
    pub tera: Option<Printed>,
    /// Why figures here are expected to differ.
    pub explanation: Option<String>,
    /// Why it is accepted that they are not reproduced.
    pub accepted: Option<String>,
}

/// A published measurement, by warps and independent runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedPoint {
    /// Warps.
    pub warps: u32,
    /// Independent runs of each.
    pub independent: u32,
    /// Clocks from one run to the next on the same sums, as printed.
    pub clocks: Printed,
    /// Fused multiply-adds, or bytes, a clock of a multiprocessor, as printed.
    pub rate: Printed,
}

crate::rows! {
    /// A published latency or rate, measured on a device.
    pub struct CostCellRow in "cost_cells" {
        /// The instruction, or the load.
        subject: String => shown("instruction").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The name of the figure.
        figure: String => shown("figure").essential(),
        /// The unit of both.
        unit: &'static str => shown("unit"),
        /// As printed.
        published: String => shown("published").essential(),
        /// As measured.
        measured: Option<f64> => shown("here").essential(),
        /// The measured one over the published one.
        ratio: Option<f64> => shown("ratio").essential(),
        /// The verdict.
        verdict: String => shown("verdict").essential(),
        /// Why not.
        why: Option<String> => shown("why").if_filled(),
    }
}

impl CostTable {
    /// A defect that the types admit.
    pub(super) fn defect(&self) -> Option<String> {
        let both = self.cells.iter().any(|cell| cell.instruction.is_some() == cell.load.is_some());
        both.then(|| "[cost]: a cell needs an instruction or a load, and not both".into())
    }

    pub(super) fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.cells.iter().filter_map(|cell| cell.instruction.as_ref())
    }
}

struct CellCost {
    points: Vec<RatePoint>,
    latency: Option<f64>,
    tera: Option<f64>,
}

impl CostCell {
    fn subject(&self) -> &str {
        let load = self.load.map_or("", |load| load.name);
        self.instruction.as_ref().map_or(load, |instruction| &instruction.name)
    }

    /// The measurements on a device; `None` where it has no cost, or lacks the instruction.
    fn measure(&self, device: &mut dyn Device) -> Result<Option<CellCost>> {
        let request = CostRequest {
            instructions: self.instruction.iter().cloned().collect(),
            conversions: Vec::new(),
            loads: self.load.into_iter().collect(),
            values: TimedOperands::Random,
            sustained: None,
        };
        let mut done = Costs::default();
        if_available(cost::run(device, &request, &mut done, &mut |_| ()))?;
        let of_load = |own: LoadCost| CellCost { points: own.points, latency: own.latency, tera: None };
        let of =
            |own: InstructionCost| CellCost { points: own.points, latency: own.latency, tera: Some(own.whole.tera) };
        Ok(done.instructions.pop().map(of).or(done.loads.pop().map(of_load)))
    }

    /// Each figure: name, unit, printed, measured.
    fn figures(&self, found: Option<&CellCost>) -> Vec<(String, &'static str, &Printed, Option<f64>)> {
        let mut figures = Vec::new();
        if let Some(latency) = &self.latency {
            figures.push(("latency".to_string(), "clk", latency, found.and_then(|found| found.latency)));
        }
        let unit = if self.load.is_some() { "bytes/clk/SM" } else { "FMA/clk/SM" };
        for PrintedPoint { warps, independent, clocks, rate } in &self.points {
            let same = |point: &&RatePoint| (point.warps, point.independent) == (*warps, *independent);
            let point = found.and_then(|found| found.points.iter().find(same));
            let of = |what: &str| format!("{what}, {warps} warps, {independent} independent");
            figures.push((of("clocks"), "clk", clocks, point.map(|point| point.clocks)));
            figures.push((of("rate"), unit, rate, point.map(|point| point.rate)));
        }
        if let Some(tera) = &self.tera {
            figures.push(("whole device".into(), "TFLOPS", tera, found.and_then(|found| found.tera)));
        }
        figures
    }
}

pub(super) fn run(plan: &CostTable, run: &mut ExperimentRun) -> Result<()> {
    let ExperimentRun { experiment, devices, report, score, progress, .. } = run;
    let mut rows = Vec::new();
    let outcome = devices.iter_mut().try_for_each(|device| {
        let counts = experiment.counts(device.as_ref());
        plan.cells.iter().try_for_each(|cell| {
            progress(Stage { what: cell.subject(), done: rows.len() as u64, total: 0 });
            let found = cell.measure(device.as_mut())?;
            for (figure, unit, published, measured) in cell.figures(found.as_ref()) {
                let near = |measured: f64| {
                    (measured - published.value).abs() <= published.half_unit.max(NEAR * published.value)
                };
                let verdict =
                    measured.map(|measured| if near(measured) { CellVerdict::Printed } else { CellVerdict::Differs });
                let accepted = cell.accepted.is_some();
                let words = match verdict {
                    Some(CellVerdict::Differs) | None => {
                        CellVerdict::words(verdict, counts, cell.explanation.is_some(), accepted)
                    }
                    Some(_) => format!("reproduced: within {} %", NEAR * 100.0),
                };
                score.figures.push(FigureOutcome {
                    figure: format!("{}: {figure} ({unit})", cell.subject()),
                    device: device.identity().name.to_string(),
                    published: published.text.clone(),
                    measured,
                    judgement: verdict.map(Judgement::of),
                    verdict: words.clone(),
                    why: why(verdict, &cell.accepted, &cell.explanation)
                        .or(found.is_none().then(|| "has no clock for it, or lacks the instruction".into())),
                    decides: counts && !accepted,
                    ..FigureOutcome::default()
                });
                rows.push(CostCellRow {
                    subject: cell.subject().into(),
                    device: device.identity().name.to_string(),
                    figure,
                    unit,
                    published: published.text.clone(),
                    measured,
                    ratio: measured.map(|measured| measured / published.value),
                    verdict: words,
                    why: why(verdict, &cell.accepted, &cell.explanation),
                });
            }
            Ok(())
        })
    });
    let note = "The sources join the warps after every round of independent runs. Here warps are not joined, so the unit alone is measured.";
    report.notes.push(note.into());
    report.tables.push(Table::of("Published costs", rows));
    outcome
}
