//! What was compared with what, how often, what came of it, and what that leaves open.

use std::collections::BTreeSet;

use super::{
    Block, Chapter, Sheet, compose, figures,
    results::{Results, chip_of},
    rows::{Line, Rows, together},
};
use crate::{
    isa,
    report::{grouped, three_digits},
};

/// The tables of the proof.
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
/// The tables that say how instructions ran.
const RUNS: [&str; 3] = ["verification", "profile", "curves"];

/// How an instruction ran on a chip.
pub(super) struct Ran {
    chip: String,
    instruction: String,
    /// `native`, `emulated` and so on.
    execution: String,
    opcodes: String,
    compared: i64,
    differing: i64,
}

/// What a chip was compared with.
pub(super) struct Total {
    pub(super) chip: String,
    pub(super) model: String,
    pub(super) instructions: BTreeSet<String>,
    pub(super) compared: i64,
    pub(super) differing: i64,
    runs: usize,
}

/// How each instruction ran, with what was compared.
pub(super) fn ran(results: &Results) -> Vec<Ran> {
    let subjects = results.subjects();
    let mut all: Vec<Ran> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for key in RUNS {
        let Some(table) = results.table(key) else { continue };
        for line in Rows(&table).iter() {
            let chip = chip_of(&line);
            let execution = line.text("execution");
            if !subjects.contains(&chip) || execution.is_empty() {
                continue;
            }
            let name = line.text("instruction").to_string();
            let at = *places.entry((chip.clone(), name.clone(), execution.to_string())).or_insert_with(|| {
                all.push(Ran {
                    chip,
                    instruction: name,
                    execution: execution.into(),
                    opcodes: String::new(),
                    compared: 0,
                    differing: 0,
                });
                all.len() - 1
            });
            let own = &mut all[at];
            if own.opcodes.is_empty() {
                own.opcodes = line.list("opcodes").join(", ");
            }
            if key == "verification" {
                own.compared += line.count("compared");
                own.differing += line.count("differing");
            }
        }
    }
    all
}

/// Whether an instruction ran as one of the chip's own.
pub(super) fn native(ran: &[Ran], name: &str) -> bool {
    ran.iter().any(|own| own.instruction == name && own.execution == "native")
}

/// How an instruction ran.
pub(super) fn runs<'a>(ran: &'a [Ran], name: &'a str) -> impl Iterator<Item = &'a str> {
    ran.iter().filter(move |own| own.instruction == name).map(|own| own.execution.as_str())
}

/// What each chip was compared with, altogether.
pub(super) fn totals(results: &Results) -> Vec<Total> {
    let mut all: Vec<Total> = Vec::new();
    let Some(table) = results.table("verification") else { return all };
    for line in Rows(&table).iter() {
        let (chip, model) = (chip_of(&line), line.text("model"));
        let at = all.iter().position(|own| own.chip == chip && own.model == model).unwrap_or_else(|| {
            let (instructions, model) = (BTreeSet::new(), model.to_string());
            all.push(Total { chip, model, instructions, compared: 0, differing: 0, runs: 0 });
            all.len() - 1
        });
        let own = &mut all[at];
        own.compared += line.count("compared");
        own.differing += line.count("differing");
        own.runs += 1;
        own.instructions.insert(line.text("instruction").into());
    }
    all
}

/// The first part: what this is about, in numbers.
pub(super) fn summary(results: &Results) -> Chapter {
    let ran = ran(results);
    let subjects = results.subjects();
    let simulated = results.simulated();
    let mut totals = totals(results);
    totals.retain(|own| subjects.contains(&own.chip) && !simulated.iter().any(|(chip, _)| *chip == own.chip));
    let names = |execution: Option<&str>| {
        let own = ran.iter().filter(|own| execution.is_none_or(|kind| own.execution == kind));
        own.map(|own| own.instruction.as_str()).collect::<BTreeSet<_>>().len()
    };
    let sum = |of: fn(&Total) -> i64| totals.iter().map(of).sum::<i64>();
    let (compared, differing) = (sum(|own| own.compared), sum(|own| own.differing));
    let mut numbers = Vec::new();
    let mut number = |count: String, what: &str| numbers.push((count, what.to_string()));
    if names(None) > 0 {
        number(names(None).to_string(), "instructions ran");
        for kind in ["native", "emulated"] {
            match names(Some(kind)) {
                0 => (),
                count => number(count.to_string(), kind),
            }
        }
    }
    if compared > 0 {
        number(grouped(compared), "results compared in every bit");
        number(grouped(differing), "differ from the model");
    }
    if results.kept.len() > 1 {
        number(results.kept.len().to_string(), "results in this document");
    }
    let mut blocks = vec![Block::Numbers(numbers)];
    blocks.extend(sentences(results, &totals).into_iter().map(Block::Text));
    blocks.extend(chips(results).block());
    blocks.retain(|block| !matches!(block, Block::Numbers(numbers) if numbers.is_empty()));
    Chapter { id: "summary", heading: "Summary", blocks }
}

/// What the comparisons came to.
fn sentences(results: &Results, totals: &[Total]) -> Vec<String> {
    let mut all: Vec<String> = totals
        .iter()
        .filter(|own| own.compared > 0)
        .map(|own| {
            let of = format!(
                "{}: {} results of {} instructions were compared with the arithmetic model {}",
                own.chip,
                grouped(own.compared),
                own.instructions.len(),
                own.model
            );
            match own.differing {
                0 => format!("{of}, and all are equal in every bit."),
                count => format!("{of}; {} differ.", grouped(count)),
            }
        })
        .collect();
    match &results.failed()[..] {
        [] => (),
        failed => all.push(format!("These results report a mismatch or were interrupted: {}.", failed.join(", "))),
    }
    all
}

/// What is known of each device.
fn chips(results: &Results) -> Sheet {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (chip, kept) in results.chips.iter().zip(&results.kept) {
        let Some(device) = &kept.report.device else { continue };
        let details: Vec<String> = device.details.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let row = vec![chip.clone(), device.name.to_string(), details.join(", ")];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows.sort();
    Sheet::new("The devices of the results", &["chip", "asked for as", "with"], &[], rows)
}

/// Which instructions the chip has itself.
pub(super) fn instructions(results: &Results) -> Chapter {
    let ran = ran(results);
    let forms = forms(&ran);
    let rows = ran.iter().map(|own| {
        vec![
            own.instruction.clone(),
            own.execution.clone(),
            own.opcodes.clone(),
            if own.compared > 0 { grouped(own.compared) } else { "-".into() },
            if own.compared > 0 { grouped(own.differing) } else { "-".into() },
            own.chip.clone(),
        ]
    });
    let labels = ["instruction", "ran", "machine code", "compared", "differ", "on"];
    let all = Sheet::new("Every instruction, and the machine code that ran", &labels, &[3, 4], rows.collect());
    let mut blocks: Vec<Block> = Vec::new();
    if !ran.is_empty() {
        blocks.extend((forms.shown.rows.len() > 1).then_some(Block::Table(forms)));
        blocks.extend(all.block());
    }
    Chapter { id: "instructions", heading: "Which instructions are native", blocks }
}

/// How many instructions of each family and operands are native: a row for the operands, a column for the family.
fn forms(ran: &[Ran]) -> Sheet {
    let mut families: Vec<String> = Vec::new();
    let mut rows: Vec<(String, Vec<(usize, usize)>)> = Vec::new();
    for own in ran {
        let (family, formats) = match isa::known(&own.instruction) {
            Some(i) => (i.family().to_string(), format!("{} * {} -> {}", i.a.name, i.b.name, i.d.name)),
            None => ("others".to_string(), own.instruction.clone()),
        };
        let column = families.iter().position(|known| *known == family).unwrap_or_else(|| {
            families.push(family);
            families.len() - 1
        });
        let row = rows.iter().position(|(known, _)| *known == formats).unwrap_or_else(|| {
            rows.push((formats, Vec::new()));
            rows.len() - 1
        });
        let counts = &mut rows[row].1;
        counts.resize(counts.len().max(column + 1), (0, 0));
        match own.execution.as_str() {
            "emulated" => counts[column].1 += 1,
            _ => counts[column].0 += 1,
        }
    }
    rows.sort();
    let words = |counts: Option<&(usize, usize)>| match counts {
        None | Some((0, 0)) => String::new(),
        Some((own, 0)) => own.to_string(),
        Some((0, emulated)) => format!("({emulated})"),
        Some((own, emulated)) => format!("{own} ({emulated})"),
    };
    let row = |(formats, counts): (String, Vec<(usize, usize)>)| {
        std::iter::once(formats).chain((0..families.len()).map(|at| words(counts.get(at)))).collect()
    };
    let rows = rows.into_iter().map(row).collect();
    let labels: Vec<&str> = std::iter::once("operands").chain(families.iter().map(String::as_str)).collect();
    let caption = "Instructions that run as they are, and in brackets those that the compiler replaces by others";
    Sheet::new(caption, &labels, &(1..labels.len()).collect::<Vec<_>>(), rows)
}

/// How the arithmetic was proven.
pub(super) fn part(results: &Results) -> Chapter {
    let mut blocks = Vec::new();
    let totals = totals(results);
    if !totals.is_empty() {
        let rows = totals.iter().map(|own| {
            vec![
                own.chip.clone(),
                own.model.clone(),
                own.instructions.len().to_string(),
                grouped(own.runs as i64),
                grouped(own.compared),
                grouped(own.differing),
            ]
        });
        let labels = ["on", "model", "instructions", "runs", "compared", "differ"];
        blocks.push(Block::Table(Sheet::new("What was compared in every bit", &labels, &[2, 3, 4, 5], rows.collect())));
        let simulated = results.simulated();
        let models = totals.iter().map(|own| &own.chip).filter(|chip| simulated.iter().any(|(own, _)| own == *chip));
        let models: Vec<&str> = models.map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
        if !models.is_empty() {
            let names = models.join(", ");
            blocks.push(Block::Text(format!("A comparison of a model with a model says nothing of a chip: {names}.")));
        }
    }
    blocks.extend(regimes(results));
    for key in TABLES {
        let Some(table) = results.table(key) else { continue };
        let (shown, folded) = figures::of_table(results, &table);
        blocks.extend(shown.into_iter().chain(folded).map(Block::Figure));
        blocks.extend(compose::sheet(&table).block());
    }
    Chapter { id: "proof", heading: "How it was proven", blocks }
}

/// What was compared of each regime of operands.
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
        "Compared by regime of operands",
        &["regime", "compared", "differ"],
        &[1, 2],
        all.into_iter().map(row).collect(),
    );
    let mut blocks: Vec<Block> = sheet.block().into_iter().collect();
    // The rule of three: (1 - p)^n = 0.05 for p = 3/n.
    blocks.extend(least.map(|least| {
        Block::Text(format!(
            "Power of a sample: where none of n independent cases differs, fewer than 3/n of such cases do, with 95 % confidence. \
             The regime with the fewest cases has n = {} over all instructions: {}.",
            grouped(least),
            three_digits(3.0 / least as f64)
        ))
    }));
    blocks
}

/// What the results leave open.
pub(super) fn unknown(results: &Results) -> Chapter {
    let mut blocks = Vec::new();
    if let Some(table) = results.table("features") {
        let asked = Rows(&table).iter().filter(|line| !line.text("reason").is_empty());
        let reasons =
            together(asked.map(|line| ([line.text("feature"), line.text("reason")], line.text("instruction"))));
        let rows = reasons.into_iter().map(|([feature, reason], names)| {
            vec![feature.into(), reason.into(), names.len().to_string(), names.join("\n")]
        });
        let labels = ["feature", "why it cannot be asked", "of", "instructions"];
        blocks.extend(Sheet::new("Features that no operands can show", &labels, &[2], rows.collect()).block());
    }
    for (key, caption) in [
        ("lines", "Lines of identified arithmetics that no observation decides further"),
        ("decisions", "Keys of models that the data leave open"),
    ] {
        let Some(mut table) = results.table(key) else { continue };
        let Some(decision) = table.columns.iter().position(|column| column.key == "decision") else { continue };
        table.rows.retain(|row| row[decision] != crate::report::Cell::Text("decided".into()));
        let mut sheet = compose::sheet(&table);
        sheet.caption = caption.into();
        blocks.extend(sheet.block());
    }
    if !blocks.is_empty() || !totals(results).is_empty() {
        blocks.insert(0, Block::Text(
            "Results are compared on samples of operands unless a run is exhaustive: an arithmetic that differs only on inputs \
             that no regime draws would not be seen. Equal results do not say how a chip computes, only that it cannot be told apart from the model."
                .into(),
        ));
    }
    Chapter { id: "unknown", heading: "What cannot be known", blocks }
}
