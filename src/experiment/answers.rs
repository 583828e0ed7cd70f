//! Questions about instructions, put to devices; equal arithmetic is asked once.

use super::{
    Experiment, ExperimentRun,
    known::{KnownResults, arithmetic},
    published::PublishedNumber,
};
use crate::{
    Result, Stage,
    arithmetic::Program,
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

/// A question about an instruction, or a load.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    pub subject: Subject,
    pub kind: QuestionKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Subject {
    Instruction(Instruction),
    Load(SharedLoad),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum QuestionKind {
    /// The errors of an operation on Normal(0, 1) operands.
    Probe { op: Op, inits: Vec<Init>, samples: u64 },
    /// Agreement bit by bit with other computations.
    Bits { op: Op, values: Draw, samples: u64 },
    /// Latency and throughput.
    Cost,
}

/// Everything that decides the answer of a simulated device.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnswerKey {
    program: Program,
    kind: QuestionKind,
    seed: u64,
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
    let ExperimentRun { experiment, devices, options, known, progress, .. } = run;
    let mut all = Vec::new();
    let outcome = devices.iter_mut().try_for_each(|device| {
        let mut own = DeviceAnswers::none(device.as_ref(), experiment.counts(device.as_ref()));
        let outcome = own.ask(experiment, questions, device.as_mut(), options.seed, known, progress);
        all.push(own);
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
        seed: u64,
        known: &mut KnownResults,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<()> {
        for (number, question) in questions.iter().enumerate() {
            progress(Stage { what: question.subject.name(), done: number as u64, total: questions.len() as u64 });
            let executed = match &question.subject {
                Subject::Load(_) => Some(question.subject.clone()),
                Subject::Instruction(i) => {
                    let executed = experiment.on(device, i)?;
                    self.executed.push((i.name.clone(), executed.as_ref().map(|i| i.name.clone())));
                    executed.map(Subject::Instruction)
                }
            };
            let Some(executed) = executed else { continue };
            let key = executed.instruction().and_then(|i| arithmetic(device, i)).map(|program| AnswerKey {
                program,
                kind: question.kind.clone(),
                seed,
            });
            // An interrupted question has fewer samples.
            let (tables, outcome) =
                known.answers.once(key, |tables| question.kind.ask(&executed, device, seed, tables));
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
        self.tables.iter().filter(move |own| own.key == table).flat_map(|own| Rows(own).iter())
    }

    /// The instruction that the device executed where another was asked about.
    pub(super) fn executed(&self, asked: &str) -> Option<&str> {
        self.executed.iter().find(|(own, _)| own == asked)?.1.as_deref()
    }

    /// True if the device has neither an instruction nor a substitute.
    pub(super) fn lacks(&self, asked: &str) -> bool {
        self.executed.iter().any(|(own, executed)| own == asked && executed.is_none())
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
    match all.iter_mut().find(|own| own.key == table.key) {
        Some(own) => own.rows.extend(table.rows),
        None => all.push(table),
    }
}

impl Subject {
    pub(super) fn name(&self) -> &str {
        match self {
            Subject::Instruction(i) => &i.name,
            Subject::Load(load) => load.name,
        }
    }

    fn instruction(&self) -> Option<&Instruction> {
        if let Subject::Instruction(i) = self { Some(i) } else { None }
    }
}

impl QuestionKind {
    /// Adds the tables of the answer, also if it is interrupted.
    fn ask(&self, subject: &Subject, device: &mut dyn Device, seed: u64, tables: &mut Vec<Table>) -> Result<()> {
        match (self, subject) {
            (QuestionKind::Cost, _) => cost(subject, device, tables),
            (QuestionKind::Probe { op, inits, samples }, Subject::Instruction(i)) => {
                let request = |init| ProbeRequest {
                    instruction: i,
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
            (QuestionKind::Bits { op, values, samples }, Subject::Instruction(i)) => {
                let request = BitRequest { instruction: i, op: *op, values: *values, seed, samples: *samples };
                let evaluator = device.model().map(|model| model.evaluator(i)).transpose()?;
                let mut results = Vec::new();
                let outcome = bits::run_until(device, evaluator.as_ref(), &request, None, &mut results);
                let compared = |result| Compared {
                    instruction: i.name.clone(),
                    device: String::new(),
                    values: values.to_string(),
                    result,
                };
                let all: Vec<Compared> = results.into_iter().map(compared).collect();
                tables.extend(bit_table::tables(&all));
                outcome
            }
            (_, Subject::Load(_)) => Ok(()),
        }
    }
}

/// Adds the tables of a cost; none where the device has no clock for it.
fn cost(subject: &Subject, device: &mut dyn Device, tables: &mut Vec<Table>) -> Result<()> {
    let mut request = CostRequest {
        instructions: Vec::new(),
        conversions: Vec::new(),
        loads: Vec::new(),
        values: TimedOperands::Random,
        sustained: None,
    };
    match subject {
        Subject::Instruction(i) => request.instructions.push(i.clone()),
        Subject::Load(load) => request.loads.push(*load),
    }
    let mut costs = Costs::default();
    let outcome = if_available(cost::run(device, &request, &mut costs, &mut |_| ()));
    tables.extend(cost::table::tables(&costs, &device.identity().generation, true));
    outcome.map(drop)
}
