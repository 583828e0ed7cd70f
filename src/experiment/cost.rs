//! Published latencies and rates of instructions.

use serde::Deserialize;

use super::{
    ExperimentRun,
    answers::{self, Question, QuestionKind, Subject},
    keys, published,
    verdict::Judgement,
};
use crate::{
    Result,
    cost::table::{CostPointRow, CostRow, LoadCostRow, LoadPointRow},
    device::SharedLoad,
    isa::Instruction,
    report::{Cell, Declaration, Table},
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

    fn questions(&self) -> Vec<Question> {
        let instructions = self.instructions.iter().cloned().map(Subject::Instruction);
        let subjects = instructions.chain(self.loads.iter().copied().map(Subject::Load));
        subjects.map(|subject| Question { subject, kind: QuestionKind::Cost }).collect()
    }
}

pub(super) fn run(plan: &CostQuestion, run: &mut ExperimentRun) -> Result<()> {
    let (devices, outcome) = answers::of_devices(run, &plan.questions());
    let (tables, mut rows) = (CostQuestion::tables(), Vec::new());
    let judge = |number: &published::PublishedNumber, row: &crate::report::RowView| {
        Some(Judgement::of_share(row.number(&number.column)?, &number.printed))
    };
    for own in published::compare(&run.experiment.published, &devices, &judge) {
        let look = own.number.column(&tables).expect("checked with the file").look;
        let counts = own.number.row.iter().filter_map(|(key, cell)| match cell {
            Cell::Integer(count) => Some(format!(", {count} {key}")),
            _ => None,
        });
        let figure = counts.fold(look.heading.unwrap_or_default().to_string(), |words, count| words + &count);
        let subject = format!("{}{}", own.number.key("instruction"), own.number.key("load"));
        let missing = || "has no clock for it, or lacks the instruction".into();
        let outcome = own.outcome(format!("{subject}: {figure} ({})", look.unit), missing);
        rows.push(CostCellRow {
            subject,
            device: outcome.device.clone(),
            figure,
            unit: look.unit,
            published: outcome.published.clone(),
            measured: outcome.measured,
            ratio: outcome.measured.map(|measured| measured / own.number.printed.value),
            verdict: outcome.verdict.clone(),
            why: outcome.why.clone().filter(|_| own.judgement.is_some()),
        });
        run.score.figures.push(outcome);
    }
    let note = "The sources join the warps after every round of independent runs. Here warps are not joined, so the unit alone is measured.";
    run.report.notes.push(note.into());
    run.report.tables.push(Table::of("Published costs", rows));
    outcome
}
