//! Questions about instructions, put to devices; equal arithmetic is asked once.

use super::{
    Experiment, ExperimentRun,
    known::{KnownResults, arithmetic},
    published::PublishedNumber,
};
use crate::{
    Result, Stage,
    base::available::if_available,
    cost::{self, CostRequest, Costs},
    device::{Device, SharedLoad, TimedOperands},
    inputs::{Distribution, Draw, Init, Op},
    isa::Instruction,
    probe::{
        self, ProbeRequest,
        bit_table::{self, Compared},
        bits::{self, BitRequest},
    },
    report::{Cell, RowView, Rows, Table},
};

/// A question about an instruction; of costs, about loads too.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    pub instruction: Option<Instruction>,
    pub seed: u64,
    pub kind: QuestionKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum QuestionKind {
    /// The errors of an operation on Normal(0, 1) operands.
    Probe { op: Op, inits: Vec<Init>, samples: u64 },
    /// Agreement bit by bit with other computations.
    Bits { op: Op, values: Draw, samples: u64 },
    /// Latency and throughput, of these loads too.
    Cost(Vec<SharedLoad>),
}

/// The report of a device: its answers to the questions of an experiment.
pub(super) struct DeviceAnswers {
    pub name: String,
    /// The device decides the exit status.
    pub counts: bool,
    /// The tables, each kind once.
    pub tables: Vec<Table>,
    /// For each instruction that was asked about the one that the device executed, if it has one.
    executed: Vec<(String, Option<String>)>,
    /// True if all questions were asked.
    pub complete: bool,
}

/// Puts questions to all devices of a run; an interrupted run has the answers so far.
pub(super) fn of_devices(run: &mut ExperimentRun, questions: &[Question]) -> (Vec<DeviceAnswers>, Result<()>) {
    let ExperimentRun { experiment, devices, known, progress, .. } = run;
    let mut all = Vec::new();
    let outcome = devices.iter_mut().try_for_each(|device| {
        let mut answers = DeviceAnswers::none(device.as_ref(), experiment.counts(device.as_ref()));
        let outcome = answers.ask(experiment, questions, device.as_mut(), known, progress);
        all.push(answers);
        outcome
    });
    (all, outcome)
}

impl DeviceAnswers {
    pub(super) fn none(device: &dyn Device, counts: bool) -> DeviceAnswers {
        let name = device.identity().name.to_string();
        DeviceAnswers { name, counts, tables: Vec::new(), executed: Vec::new(), complete: false }
    }

    pub(super) fn ask(
        &mut self,
        experiment: &Experiment,
        questions: &[Question],
        device: &mut dyn Device,
        known: &mut KnownResults,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<()> {
        for (number, question) in questions.iter().enumerate() {
            let asked = question.instruction.as_ref();
            let what = asked.map_or("loads", |i| &i.name);
            progress(Stage { what, done: number as u64, total: questions.len() as u64 });
            let executed = asked.map(|i| experiment.on(device, i)).transpose()?.flatten();
            if let Some(i) = asked {
                self.executed.push((i.name.clone(), executed.as_ref().map(|i| i.name.clone())));
            }
            if asked.is_some() && executed.is_none() {
                continue;
            }
            let question = Question { instruction: executed, ..question.clone() };
            let program = question.instruction.as_ref().and_then(|i| arithmetic(device, i));
            // An interrupted question has fewer samples.
            let (tables, outcome) = known
                .answers
                .once(program.map(|program| (program, question.clone())), |tables| question.ask(device, tables));
            tables.into_iter().for_each(|table| append(&mut self.tables, on_device(table, &self.name)));
            outcome?;
        }
        self.complete = true;
        Ok(())
    }

    /// The row of a published number.
    pub(super) fn row(&self, number: &PublishedNumber) -> Option<RowView<'_>> {
        let is = |row: &RowView, key: &str, name: &Cell| match (key, name) {
            ("instruction", Cell::Text(asked)) => self.executed(asked) == Some(row.text(key)),
            _ => row.cell(key) == name,
        };
        self.rows(&number.table).find(|row| number.row.iter().all(|(key, name)| is(row, key, name)))
    }

    /// The rows of a table; none without it.
    pub(super) fn rows(&self, table: &str) -> impl Iterator<Item = RowView<'_>> {
        self.tables.iter().filter(move |one| one.key == table).flat_map(|one| Rows(one).iter())
    }

    /// The instruction that the device executed where another was asked about.
    pub(super) fn executed(&self, asked: &str) -> Option<&str> {
        self.executed.iter().find(|(name, _)| name == asked)?.1.as_deref()
    }

    /// True if the device has neither an instruction nor a substitute.
    pub(super) fn lacks(&self, asked: &str) -> bool {
        self.executed.iter().any(|(name, executed)| name == asked && executed.is_none())
    }
}

/// A table with the name of a device in its rows: the answer may be another device's.
fn on_device(mut table: Table, name: &str) -> Table {
    if let Some(at) = table.columns.iter().position(|column| column.key == "device") {
        table.rows.iter_mut().for_each(|row| row[at] = Cell::Text(name.into()));
    }
    table
}

/// Adds the rows of a table to the rows of the same kind.
pub(super) fn append(all: &mut Vec<Table>, table: Table) {
    match all.iter_mut().find(|known| known.key == table.key) {
        Some(known) => known.rows.extend(table.rows),
        None => all.push(table),
    }
}

impl Question {
    /// Adds the tables of the answer, also if it is interrupted.
    ///
    /// A device without a clock gives none of a cost.
    fn ask(&self, device: &mut dyn Device, tables: &mut Vec<Table>) -> Result<()> {
        let seed = self.seed;
        match (&self.kind, &self.instruction) {
            (QuestionKind::Cost(loads), instruction) => {
                let request = CostRequest {
                    instructions: instruction.iter().cloned().collect(),
                    conversions: Vec::new(),
                    loads: loads.clone(),
                    values: TimedOperands::Random,
                    sustained: None,
                };
                let mut costs = Costs::default();
                let outcome = if_available(cost::run(device, &request, &mut costs, &mut |_| ()));
                tables.extend(cost::table::tables(&costs, &device.identity().generation, true));
                outcome.map(drop)
            }
            (QuestionKind::Probe { op, inits, samples }, Some(instruction)) => {
                let request = |init| ProbeRequest {
                    instruction,
                    op: *op,
                    distribution: Distribution::Normal,
                    init,
                    seed,
                    samples: *samples,
                    max_mismatches: 0,
                };
                let mut results = Vec::new();
                let outcome = probe::run_until(device, None, &request(inits[0]), inits, None, &mut results);
                let probes: Vec<probe::table::Probe> = inits.iter().map(|init| request(*init)).zip(results).collect();
                tables.push(probe::table::profile(&probes, ""));
                outcome
            }
            (QuestionKind::Bits { op, values, samples }, Some(instruction)) => {
                let request = BitRequest { instruction, op: *op, values: *values, seed, samples: *samples };
                let evaluator = device.model().map(|model| model.evaluator(instruction)).transpose()?;
                let mut results = Vec::new();
                let outcome = bits::run_until(device, evaluator.as_ref(), &request, None, &mut results);
                let compared = |result| Compared {
                    instruction: instruction.name.clone(),
                    device: String::new(),
                    values: values.to_string(),
                    result,
                };
                tables.extend(bit_table::tables(&results.into_iter().map(compared).collect::<Vec<_>>()));
                outcome
            }
            (_, None) => Ok(()),
        }
    }
}
