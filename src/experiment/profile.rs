//! Published mean errors of single operations.

use serde::Deserialize;

use super::{
    ErrorColumn, ExperimentRun, PublishedNumber, SampleSize,
    answers::{self, DeviceAnswers, Question, QuestionKind, Subject},
    finding::MeasuredNumber,
    keys, lacks, power,
    published::{self, standard_error},
    table::{self, ProbePairRow},
    verdict::MeanError,
};
use crate::{
    Result,
    inputs::{Init, Op},
    isa::Instruction,
    probe::{self, table::ProfileRow},
    report::{Declaration, RowView, Table},
};

/// Probes of single operations on Normal(0, 1) operands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeQuestion {
    /// The instructions.
    #[serde(deserialize_with = "keys::instructions")]
    pub instructions: Vec<Instruction>,
    /// The operations.
    #[serde(deserialize_with = "keys::ops")]
    pub ops: Vec<Op>,
    /// Operands of the references: rounded or not.
    #[serde(deserialize_with = "keys::inits")]
    pub inits: Vec<Init>,
    /// Samples of each probe.
    pub samples: u64,
    /// Assumed samples of the published means, which set their sampling error.
    pub published_samples: u64,
}

impl ProbeQuestion {
    /// The tables of the answers.
    pub(super) fn tables() -> Vec<Declaration> {
        vec![Declaration::of::<ProfileRow>()]
    }

    pub(super) fn defect(&self, numbers: &[PublishedNumber]) -> Option<String> {
        let most = probe::MAX_SAMPLES;
        let empty = [self.instructions.is_empty(), self.ops.is_empty(), self.inits.is_empty(), numbers.is_empty()];
        if !(2..=most).contains(&self.samples) || self.published_samples == 0 || empty.contains(&true) {
            return Some(format!(
                "[probe] needs an instruction, an op, an init, 2 to {most} samples, one published sample and one [[published]] number at least"
            ));
        }
        let unnamed = |number: &PublishedNumber| {
            number.key("op").is_empty() || number.key("init").is_empty() || ErrorColumn::of(&number.column).is_none()
        };
        let columns = ErrorColumn::ALL.map(ErrorColumn::column).join(" and ");
        numbers.iter().any(unnamed).then(|| {
            format!("[[published]]: a number of a probe needs the keys op and init; its column is one of {columns}")
        })
    }

    fn questions(&self, samples: u64) -> Vec<Question> {
        let of = |instruction: &Instruction, op: Op| Question {
            subject: Subject::Instruction(instruction.clone()),
            kind: QuestionKind::Probe { op, inits: self.inits.clone(), samples },
        };
        self.instructions.iter().flat_map(|instruction| self.ops.iter().map(move |op| of(instruction, *op))).collect()
    }
}

/// Probes every operation on every device, and adds the tables of the measured cells.
pub(super) fn run(plan: &ProbeQuestion, run: &mut ExperimentRun) -> Result<()> {
    let published_samples = run.options.published_samples.unwrap_or(plan.published_samples);
    let samples = run.options.samples.unwrap_or(plan.samples);
    let (devices, outcome) = answers::of_devices(run, &plan.questions(samples));
    let ExperimentRun { experiment, options, report, score, known, progress, .. } = run;
    let numbers = &experiment.published;
    let judge = |number: &PublishedNumber, row: &RowView| Some(mean_error(number, row).judge(&number.printed, published_samples));
    let outcome = outcome.and_then(|()| {
        power::of_numbers(experiment, &plan.questions(samples.min(power::SAMPLES)), &judge, options.seed, known, progress)
    });
    let powers = outcome.as_deref().unwrap_or_default();
    let one = numbers.iter().all(|number| number.key("instruction") == numbers[0].key("instruction"));
    let (mut cells, mut untestable) = (Vec::new(), Vec::new());
    for own in published::compare(numbers, &devices, &judge) {
        let (words, instruction) = (words(own.number), own.number.key("instruction"));
        let figure = if one { words.clone() } else { format!("{instruction}: {words}") };
        let outcome = own.outcome(figure, || lacks(instruction));
        match (own.row, own.judgement) {
            (Some(row), Some(judgement)) => {
                let at = numbers.iter().position(|number| std::ptr::eq(number, own.number));
                let power = at.and_then(|at| powers.get(at)).cloned().unwrap_or_default();
                let mean = mean_error(own.number, &row);
                cells.push(table::cell_row(own.number, &row, &outcome, (mean, judgement), power, published_samples));
            }
            _ => untestable.push(table::untestable_cell(&outcome, words, instruction)),
        }
        score.figures.push(outcome);
    }
    let lacking = |device: &DeviceAnswers| plan.instructions.iter().all(|i| device.lacks(&i.name));
    for device in devices.iter().filter(|device| lacking(device)) {
        let first = &plan.instructions[0].name;
        untestable.extend(experiment.findings.iter().map(|own| table::untestable_finding(&device.name, own, first)));
    }
    report.notes.extend(power::note(powers, samples));
    report.tables.push(table::cells(cells, published_samples));
    report.tables.extend(table::untestable(untestable));
    outcome?;
    report.tables.extend(table::explanations(numbers));

    let (mut findings, mut sizes) = (Vec::new(), Vec::new());
    for device in &devices {
        let measured: Vec<MeasuredNumber> =
            numbers.iter().filter_map(|number| Some((number, mean_error(number, &device.row(number)?)))).collect();
        for finding in experiment.findings.iter().filter(|_| !measured.is_empty()) {
            let found = finding.check.of_cells(&measured);
            findings.extend(score.finding((&device.name, device.counts), finding, found));
        }
        sizes.extend(sample_size(&measured).map(|size| table::sample_size(&device.name, &size, published_samples)));
    }
    report.tables.extend(table::findings(findings));
    let title = "Samples of the published means, from their distance to ours (init fp32 against f32; approximate 95 % interval)";
    report.tables.extend(Table::of(title, sizes).filled());
    if let [first, others @ ..] = &devices[..] {
        let title = "Devices compared: the bits of all inputs and of all outputs, and the mean error to f32";
        report.tables.extend(Table::of(title, compared(first, others)).filled());
    }
    Ok(())
}

/// The figure in words, without its instruction.
pub(super) fn words(number: &PublishedNumber) -> String {
    format!("{}, init {}, against {}", number.key("op"), number.key("init"), reference(number))
}

/// The name of the reference of an error.
pub(super) fn reference(number: &PublishedNumber) -> &'static str {
    ErrorColumn::of(&number.column).map_or("", ErrorColumn::name)
}

/// The measured mean of a published one.
fn mean_error(number: &PublishedNumber, row: &RowView) -> MeanError {
    let agreeing = ErrorColumn::of(&number.column).map_or("", ErrorColumn::agreeing);
    MeanError {
        mean: row.number(&number.column),
        standard_error: row.number(&standard_error(&number.column)).unwrap_or(0.0),
        equal: row.count(agreeing) as u64,
        samples: row.count("samples") as u64,
    }
}

/// Comparisons of each probe on the first device with every other device that executed the same instruction.
///
/// Tiles of another shape hold the same values in other places.
fn compared(first: &DeviceAnswers, others: &[DeviceAnswers]) -> Vec<ProbePairRow> {
    let keys = ["instruction", "op", "init"];
    let mut rows = Vec::new();
    for ours in first.rows("profile") {
        for other in others {
            let theirs = other.rows("profile").find(|row| keys.iter().all(|key| row.text(key) == ours.text(key)));
            rows.extend(theirs.map(|theirs| table::probe_pair((&first.name, ours), (&other.name, theirs))));
        }
    }
    rows
}

/// The published number of samples, from the cells with init fp32 against f32.
///
/// There is one for each operation, and their random numbers count as independent.
fn sample_size(cells: &[MeasuredNumber]) -> Option<SampleSize> {
    let used = cells.iter().filter(|(number, _)| number.key("init") == "fp32" && reference(number) == "f32");
    let implied: Vec<f64> = used.filter_map(|(number, measured)| measured.implied_samples(&number.printed)).collect();
    SampleSize::estimate(&implied)
}
