//! Published latencies and rates of instructions.

use serde::Deserialize;

use super::{
    ExperimentRun, PublishedNumber,
    answers::{self, Question, QuestionKind},
    keys, published,
    verdict::Judgement,
};
use crate::{
    Result,
    cost::table::{CostPointRow, CostRow, LoadCostRow, LoadPointRow},
    device::SharedLoad,
    isa::Instruction,
    report::{Cell, Declaration, RowView, Table},
};

/// The instructions and loads that are timed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostQuestion {
    /// The instructions.
    #[serde(default, deserialize_with = "keys::instructions")]
    pub instructions: Vec<Instruction>,
    /// The loads from shared memory.
    #[serde(default, deserialize_with = "keys::loads")]
    pub loads: Vec<SharedLoad>,
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

impl CostQuestion {
    /// The tables of the answers.
    pub(super) fn tables() -> Vec<Declaration> {
        vec![
            Declaration::of::<CostRow>(),
            Declaration::of::<CostPointRow>(),
            Declaration::of::<LoadCostRow>(),
            Declaration::of::<LoadPointRow>(),
        ]
    }

    fn questions(&self, seed: u64) -> Vec<Question> {
        let instructions = self.instructions.iter().cloned().map(Some);
        let loads = self.loads.chunks(self.loads.len().max(1));
        let of_instructions = instructions.map(|i| (i, Vec::new()));
        let all = of_instructions.chain(loads.map(|loads| (None, loads.to_vec())));
        all.map(|(instruction, loads)| Question { instruction, seed, kind: QuestionKind::Cost(loads) }).collect()
    }
}

fn judge(number: &PublishedNumber, row: &RowView) -> Option<Judgement> {
    Some(Judgement::of_share(row.number(&number.column)?, &number.printed))
}

pub(super) fn run(plan: &CostQuestion, run: &mut ExperimentRun) -> Result<()> {
    let (devices, outcome) = answers::of_devices(run, &plan.questions(run.options.seed));
    let (tables, mut rows) = (CostQuestion::tables(), Vec::new());
    for compared in published::compare(&run.experiment.published, &devices, &judge) {
        let look = compared.number.column(&tables).expect("checked with the file").look;
        let counts = compared.number.row.iter().filter_map(|(key, cell)| match cell {
            Cell::Integer(count) => Some(format!(", {count} {key}")),
            _ => None,
        });
        let figure = counts.fold(look.heading.unwrap_or_default().to_string(), |words, count| words + &count);
        let subject = format!("{}{}", compared.number.key("instruction"), compared.number.key("load"));
        let missing = || "has no clock for it, or lacks the instruction".into();
        let outcome = compared.outcome(format!("{subject}: {figure} ({})", look.unit), missing);
        let row = &outcome.row;
        rows.push(CostCellRow {
            subject,
            device: compared.device.name.clone(),
            figure,
            unit: look.unit,
            published: row.published.clone(),
            measured: row.measured,
            ratio: row.measured.map(|measured| measured / compared.number.printed.value),
            verdict: row.verdict.clone(),
            why: row.why.clone(),
        });
        run.score.figures.push(outcome);
    }
    let note = "The sources join the warps after every round of independent runs. Here warps are not joined, so the unit alone is measured.";
    run.report.notes.push(note.into());
    run.report.tables.push(Table::of("Published costs", rows));
    outcome
}

#[cfg(test)]
mod tests {
    use super::{
        super::{CellVerdict, Experiment, answers::DeviceAnswers},
        *,
    };
    use crate::{
        cost::{Costs, LoadCost, RatePoint, table},
        device::{Generation, ModelDevice},
    };

    const FILE: &str = r#"
source = ""
title = ""
published_on = ""
[cost]
loads = ["ldmatrix.x1"]
[[published]]
table = "load_points"
keys = ["load", "warps", "independent"]
columns = ["clocks", "rate"]
rows = [["ldmatrix.x1", 4, 5, "26.8", "95.4"], ["ldmatrix.x1", 8, 4, "32.1", "127.7"]]
"#;

    #[test]
    fn published_costs_are_compared_with_the_measurement_of_the_same_warps_and_runs() {
        let experiment = Experiment::parse(FILE, "one.toml").unwrap();
        let load = experiment.cost.as_ref().unwrap().loads[0];
        let point = |warps, independent, clocks, rate| RatePoint { warps, independent, clocks, rate };
        let points = vec![point(4, 4, 26.8, 95.4), point(4, 5, 27.0, 80.0)];
        let costs = Costs { loads: vec![LoadCost { load, latency: Some(23.0), points }], ..Costs::default() };
        let mut device = DeviceAnswers::none(&ModelDevice::open("hopper").unwrap(), true);
        (device.tables, device.complete) = (table::tables(&costs, &Generation::Unknown, true), true);
        let devices = [device];
        let compared = published::compare(&experiment.published, &devices, &judge);
        let verdicts: Vec<_> =
            compared.iter().map(|number| number.judgement.map(|judgement| judgement.verdict)).collect();
        assert_eq!(verdicts, [Some(CellVerdict::Printed), Some(CellVerdict::Differs), None, None]);
    }
}
