//! Chapters of the instructions and the verification, its numbers, and what it leaves open.

use std::collections::BTreeSet;

use super::{
    Block, Chapter,
    arithmetic::formats_of,
    compose::LEADING,
    results::{Results, chip_of},
    rows::{Line, Rows, together},
    sheets::{self, DEVICE, Sheet, short},
};
use crate::{
    base::distinct::distinct,
    isa,
    report::{grouped, three_digits},
};

/// The tables of the verification.
pub(super) const TABLES: &[&str] = &[
    "mismatches",
    "verification",
    "tested",
    "decisions",
    "changes",
    "recordings",
    "exec_checks",
    "instructions",
    "gpus",
];
/// The tables with the execution of instructions.
pub(super) const RUNS: [&str; 3] = ["verification", "profile", "curves"];

/// The execution of an instruction on a chip.
pub(super) struct Ran {
    chip: String,
    instruction: String,
    /// `native`, `emulated` and so on.
    execution: String,
    opcodes: String,
    compared: i64,
    differing: i64,
}

/// The comparisons of a chip with a model.
pub(super) struct Total {
    pub(super) chip: String,
    pub(super) model: String,
    pub(super) instructions: BTreeSet<String>,
    pub(super) compared: i64,
    pub(super) differing: i64,
    runs: usize,
}

/// The execution of each instruction, with its comparisons.
pub(super) fn ran(results: &Results) -> Vec<Ran> {
    let subjects = results.subjects();
    let tables = RUNS.map(|key| (key == "verification", results.table(key)));
    let lines = tables
        .iter()
        .flat_map(|(counts, table)| table.iter().flat_map(|table| Rows(table).iter()).map(move |line| (*counts, line)));
    let named = lines.filter_map(|(counts, line)| {
        let [name, execution] = ["instruction", "execution"].map(|key| line.text(key).to_string());
        let chip = chip_of(&line);
        (subjects.contains(&chip) && !execution.is_empty()).then_some(((chip, name, execution), (counts, line)))
    });
    let run = |((chip, instruction, execution), lines): ((String, String, String), Vec<(bool, Line)>)| {
        let opcodes = lines.iter().map(|(_, line)| line.list("opcodes").join(", ")).find(|names| !names.is_empty());
        let sum = |key: &str| lines.iter().filter(|(counts, _)| *counts).map(|(_, line)| line.count(key)).sum();
        let (compared, differing) = (sum("compared"), sum("differing"));
        Ran { chip, instruction, execution, opcodes: opcodes.unwrap_or_default(), compared, differing }
    };
    together(named).into_iter().map(run).collect()
}

/// True if an instruction ran natively.
pub(super) fn native(ran: &[Ran], name: &str) -> bool {
    ran.iter().any(|run| run.instruction == name && run.execution == "native")
}

/// The kinds of execution of an instruction.
pub(super) fn runs<'a>(ran: &'a [Ran], name: &'a str) -> impl Iterator<Item = &'a str> {
    ran.iter().filter(move |run| run.instruction == name).map(|run| run.execution.as_str())
}

/// The comparisons of each chip with each model.
pub(super) fn totals(results: &Results) -> Vec<Total> {
    let table = results.table("verification");
    let lines = table.iter().flat_map(|table| Rows(table).iter());
    let total = |((chip, model), lines): ((String, &str), Vec<Line>)| {
        let sum = |key: &str| lines.iter().map(|line| line.count(key)).sum();
        let instructions = lines.iter().map(|line| line.text("instruction").into()).collect();
        let (compared, differing, runs) = (sum("compared"), sum("differing"), lines.len());
        Total { chip, model: model.into(), instructions, compared, differing, runs }
    };
    together(lines.map(|line| ((chip_of(&line), line.text("model")), line))).into_iter().map(total).collect()
}

/// The answers in numbers and in sentences: what ran, and its comparisons.
pub(super) fn numbers(results: &Results) -> Vec<Block> {
    let ran = ran(results);
    let totals = measured(results);
    let names = |execution: Option<&str>| {
        let runs = ran.iter().filter(|run| execution.is_none_or(|kind| run.execution == kind));
        runs.map(|run| run.instruction.as_str()).collect::<BTreeSet<_>>().len()
    };
    let sum = |of: fn(&Total) -> i64| totals.iter().map(of).sum::<i64>();
    let (compared, differing) = (sum(|total| total.compared), sum(|total| total.differing));
    let all = [
        (names(None) > 0, names(None).to_string(), "instructions ran"),
        (names(Some("native")) > 0, names(Some("native")).to_string(), "native"),
        (names(Some("emulated")) > 0, names(Some("emulated")).to_string(), "emulated"),
        (compared > 0, grouped(compared), "results compared in every bit"),
        (compared > 0, grouped(differing), "differ from the model"),
        (results.kept.len() > 1, results.kept.len().to_string(), "results in this document"),
    ];
    let shown = all.into_iter().filter(|(is_shown, ..)| *is_shown);
    let numbers: Vec<(String, String)> = shown.map(|(_, count, what)| (count, what.to_string())).collect();
    let mut blocks: Vec<Block> = (!numbers.is_empty()).then_some(Block::Numbers(numbers)).into_iter().collect();
    blocks.extend(comparisons(results).into_iter().skip(LEADING).map(Block::Text));
    blocks
}

/// The comparisons of the subjects, models aside, with models.
fn measured(results: &Results) -> Vec<Total> {
    let (subjects, simulated) = (results.subjects(), results.simulated());
    let mut totals = totals(results);
    totals.retain(|total| subjects.contains(&total.chip) && !simulated.iter().any(|(chip, _)| *chip == total.chip));
    totals
}

/// The outcome of each comparison with a model, in one sentence.
pub(super) fn comparisons(results: &Results) -> Vec<String> {
    let said = |total: Total| {
        let of = format!("results of {} instructions", total.instructions.len());
        match total.differing {
            0 => format!(
                "{}: all {} compared {of} agree with the model {} in every bit.",
                total.chip,
                grouped(total.compared),
                total.model
            ),
            count => format!(
                "{}: {} of {} compared {of} differ from the model {}.",
                total.chip,
                grouped(count),
                grouped(total.compared),
                total.model
            ),
        }
    };
    measured(results).into_iter().filter(|total| total.compared > 0).map(said).collect()
}

/// Makes the chapter of native and emulated instructions.
pub(super) fn instructions(results: &Results) -> Chapter {
    let ran = ran(results);
    let forms = forms(&ran);
    let rows = ran.iter().map(|run| {
        let count = |count: i64| if run.compared > 0 { grouped(count) } else { "-".into() };
        let (compared, differing) = (count(run.compared), count(run.differing));
        let [instruction, execution, opcodes] = [&run.instruction, &run.execution, &run.opcodes].map(String::clone);
        vec![short(&run.chip), instruction, execution, opcodes, compared, differing]
    });
    let labels = [DEVICE, "instruction", "ran", "machine code", "compared", "differ"];
    let all = Sheet::new("Instructions and the machine code that ran", &labels, &[4, 5], rows.collect());
    let mut blocks: Vec<Block> = Vec::new();
    if !ran.is_empty() {
        blocks.extend((forms.shown.rows.len() > 1).then_some(Block::Table(forms)));
        blocks.extend(all.block());
    }
    Chapter { id: "instructions", heading: "Native instructions", blocks }
}

/// Counts native and emulated instructions: a row for the operands, a column for the family.
fn forms(ran: &[Ran]) -> Sheet {
    let form = |run: &Ran| {
        let (family, formats) = match isa::known(&run.instruction) {
            Some(i) => (i.family().to_string(), formats_of(&i)),
            None => ("others".to_string(), run.instruction.clone()),
        };
        (formats, (family, run.execution == "emulated"))
    };
    let mut rows = together(ran.iter().map(form));
    rows.sort();
    let families = distinct(ran.iter().map(|run| form(run).1.0));
    let words = |all: &[(String, bool)], family: &String| {
        let count =
            |is_emulated| all.iter().filter(|(name, emulated)| (name, *emulated) == (family, is_emulated)).count();
        match (count(false), count(true)) {
            (0, 0) => String::new(),
            (native, 0) => native.to_string(),
            (0, emulated) => format!("({emulated})"),
            (native, emulated) => format!("{native} ({emulated})"),
        }
    };
    let row = |(formats, all): (String, Vec<(String, bool)>)| {
        std::iter::once(formats).chain(families.iter().map(|family| words(&all, family))).collect()
    };
    let rows = rows.into_iter().map(row).collect();
    let labels: Vec<&str> = std::iter::once("operands").chain(families.iter().map(String::as_str)).collect();
    let caption = "Native instructions by operands and family; in brackets, instructions that the compiler emulates";
    Sheet::new(caption, &labels, &(1..labels.len()).collect::<Vec<_>>(), rows)
}

/// Makes the chapter of the verification.
pub(super) fn part(results: &Results) -> Chapter {
    let mut blocks = Vec::new();
    let totals = totals(results);
    if !totals.is_empty() {
        let rows = totals.iter().map(|total| {
            vec![
                short(&total.chip),
                total.model.clone(),
                total.instructions.len().to_string(),
                grouped(total.runs as i64),
                grouped(total.compared),
                grouped(total.differing),
            ]
        });
        let labels = [DEVICE, "model", "instructions", "runs", "compared", "differ"];
        blocks.push(Block::Table(Sheet::new("Comparisons in every bit", &labels, &[2, 3, 4, 5], rows.collect())));
        let simulated = results.simulated();
        let models =
            totals.iter().map(|total| &total.chip).filter(|chip| simulated.iter().any(|(name, _)| name == *chip));
        let models: Vec<&str> = models.map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
        if !models.is_empty() {
            let names = models.join(", ");
            blocks
                .push(Block::Text(format!("A comparison of a model with a model says nothing about a chip: {names}.")));
        }
    }
    blocks.extend(regimes(results));
    for key in TABLES {
        let Some(table) = results.table(key) else { continue };
        blocks.extend(sheets::blocks(results, &table));
    }
    Chapter { id: "proof", heading: "Verification", blocks }
}

/// Comparisons by regime of operands, with the power of the smallest.
fn regimes(results: &Results) -> Vec<Block> {
    let Some(table) = results.table("regimes") else { return Vec::new() };
    let sum = |(name, lines): (&str, Vec<Line>)| {
        let of = |key: &str| lines.iter().map(|line| line.count(key)).sum::<i64>();
        (name.to_string(), of("compared"), of("differing"))
    };
    let all = together(Rows(&table).iter().map(|line| (line.text("regime"), line)));
    let mut all: Vec<(String, i64, i64)> = all.into_iter().map(sum).collect();
    all.retain(|(_, compared, _)| *compared > 0);
    let least = all.iter().filter(|(_, _, differing)| *differing == 0).map(|(_, compared, _)| *compared).min();
    let row = |(name, compared, differing): (String, i64, i64)| vec![name, grouped(compared), grouped(differing)];
    let sheet = Sheet::new(
        "Comparisons by regime of operands",
        &["regime", "compared", "differ"],
        &[1, 2],
        all.into_iter().map(row).collect(),
    );
    let mut blocks: Vec<Block> = sheet.block().into_iter().collect();
    // The rule of three: (1 - p)^n = 0.05 for p = 3/n.
    blocks.extend(least.map(|least| {
        Block::Text(format!(
            "Power of a sample: if none of n independent cases differs, fewer than 3/n of such cases differ, with 95 % confidence. \
             The regime with the fewest cases has n = {} over all instructions, so 3/n = {}.",
            grouped(least),
            three_digits(3.0 / least as f64)
        ))
    }));
    blocks
}

/// The tables of what the results leave open.
pub(super) fn open(results: &Results) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(table) = results.table("features") {
        let open = |line: &Line| !line.text("reason").is_empty() && line.text("found").is_empty();
        let asked = Rows(&table).iter().filter(open);
        let reasons =
            together(asked.map(|line| ([line.text("feature"), line.text("reason")], line.text("instruction"))));
        let rows = reasons.into_iter().map(|([feature, reason], names)| {
            vec![feature.into(), reason.into(), names.len().to_string(), names.join("\n")]
        });
        let labels = ["feature", "reason", "count", "instructions"];
        blocks.extend(Sheet::new("Features that no operands can show", &labels, &[2], rows.collect()).block());
    }
    for (key, caption) in [("lines", "Open lines of identified arithmetics"), ("decisions", "Open keys of models")] {
        let Some(mut table) = results.table(key) else { continue };
        let Some(decision) = table.columns.iter().position(|column| column.key == "decision") else { continue };
        table.rows.retain(|row| row[decision] != crate::report::Cell::Text("decided".into()));
        blocks.extend(Sheet { caption: caption.into(), ..sheets::sheet(&table) }.block());
    }
    blocks
}
