//! Published mean errors of single operations.

use serde::Deserialize;

use super::{
    ExperimentRun, PublishedNumber, SampleSize,
    answers::{self, DeviceAnswers, Question, QuestionKind},
    finding::MeasuredNumber,
    keys, power,
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

/// A reference of a probe's errors.
struct ErrorReference {
    name: &'static str,
    /// Column with the mean error.
    mean: &'static str,
    /// Column with the samples equal to the reference.
    agreeing: &'static str,
}

/// The same expression in f32 on the CPU, and that rounded to the format of D.
const REFERENCES: [ErrorReference; 2] = [
    ErrorReference { name: "f32", mean: "mean_abs_error_f32", agreeing: "f32_agree" },
    ErrorReference { name: "f32 to D", mean: "mean_abs_error_f32_rounded", agreeing: "f32_rounded_agree" },
];

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
            number.key("op").is_empty() || number.key("init").is_empty() || reference(number).is_empty()
        };
        let columns = REFERENCES.map(|reference| reference.mean).join(" and ");
        numbers.iter().any(unnamed).then(|| {
            format!("[[published]]: a number of a probe needs the keys op and init; its column is one of {columns}")
        })
    }

    fn questions(&self, seed: u64, samples: u64) -> Vec<Question> {
        let pairs = self.instructions.iter().flat_map(|instruction| self.ops.iter().map(move |op| (instruction, op)));
        let of = |(instruction, op): (&Instruction, &Op)| Question {
            instruction: Some(instruction.clone()),
            seed,
            kind: QuestionKind::Probe { op: *op, inits: self.inits.clone(), samples },
        };
        pairs.map(of).collect()
    }
}

/// Probes every operation on every device, and adds the tables of the measured cells.
pub(super) fn run(plan: &ProbeQuestion, run: &mut ExperimentRun) -> Result<()> {
    let published_samples = run.options.published_samples.unwrap_or(plan.published_samples);
    let samples = run.options.samples.unwrap_or(plan.samples);
    let (devices, outcome) = answers::of_devices(run, &plan.questions(run.options.seed, samples));
    let ExperimentRun { experiment, options, report, score, known, progress, .. } = run;
    let numbers = &experiment.published;
    let judge = |number: &PublishedNumber, row: &RowView| {
        Some(mean_error(number, row).judge(&number.printed, published_samples))
    };
    let outcome = outcome.and_then(|()| {
        power::of_numbers(
            experiment,
            &plan.questions(options.seed, samples.min(power::SAMPLES)),
            &judge,
            known,
            progress,
        )
    });
    let powers = outcome.as_deref().unwrap_or_default();
    let one = numbers.iter().all(|number| number.key("instruction") == numbers[0].key("instruction"));
    let (mut cells, mut untestable) = (Vec::new(), Vec::new());
    for compared in published::compare(numbers, &devices, &judge) {
        let (words, instruction) = (words(compared.number), compared.number.key("instruction"));
        let figure = if one { words.clone() } else { format!("{instruction}: {words}") };
        let outcome = compared.outcome(figure, || format!("lacks {instruction}"));
        match (compared.row, compared.judgement) {
            (Some(row), Some(_)) => {
                let power = powers.get(compared.place).cloned().unwrap_or_default();
                let mean = mean_error(compared.number, &row);
                cells.push(table::cell_row(compared.number, &row, &outcome.row, mean, power, published_samples));
            }
            _ => untestable.push(table::untestable_row(
                &compared.device.name,
                &words,
                Some(&compared.number.printed.text),
                instruction,
            )),
        }
        score.figures.push(outcome);
    }
    let lacking = |device: &DeviceAnswers| plan.instructions.iter().all(|i| device.lacks(&i.name));
    for device in devices.iter().filter(|device| lacking(device)) {
        let first = &plan.instructions[0].name;
        untestable.extend(
            experiment.findings.iter().map(|finding| table::untestable_row(&device.name, &finding.claim, None, first)),
        );
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
            let result = finding.check.of_cells(&measured);
            findings.extend(score.finding(&device.name, device.counts, finding, result));
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

fn reference_of(number: &PublishedNumber) -> Option<&'static ErrorReference> {
    REFERENCES.iter().find(|reference| reference.mean == number.column)
}

/// The name of the reference of an error; empty if the number is none.
pub(super) fn reference(number: &PublishedNumber) -> &'static str {
    reference_of(number).map_or("", |reference| reference.name)
}

/// The measured mean of a published one.
fn mean_error(number: &PublishedNumber, row: &RowView) -> MeanError {
    let agreeing = reference_of(number).map_or("", |reference| reference.agreeing);
    MeanError {
        mean: row.number(&number.column),
        standard_error: row.number(&standard_error(&number.column)).unwrap_or(0.0),
        equal: row.count(agreeing) as u64,
        samples: row.count("samples") as u64,
    }
}

/// Comparisons of each probe on the first device with other devices that executed its instruction.
///
/// Tiles of another shape hold the same values in other places.
fn compared(first: &DeviceAnswers, others: &[DeviceAnswers]) -> Vec<ProbePairRow> {
    let keys = ["instruction", "op", "init"];
    let mut rows = Vec::new();
    for ours in first.rows("profile") {
        for other in others {
            let theirs = other.rows("profile").find(|row| keys.iter().all(|key| row.text(key) == ours.text(key)));
            rows.extend(theirs.map(|theirs| table::probe_pair(&first.name, &other.name, ours, theirs)));
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
