//! Chapter of the arithmetic of each instruction: features in words, in a table and with inputs.

use std::collections::BTreeSet;

use super::{
    Block, Chapter, Sheet, compose, generations,
    proof::{self, Ran},
    results::{CHIP, Results, chip_of},
    rows::{Line, Rows, together},
    words::{FeatureFound, sentence},
};
use crate::{
    arithmetic::EvidenceKind,
    base::distinct::distinct,
    features::{self, FEATURES},
    isa,
    report::{
        Table, grouped,
        marks::{Marks, captioned},
    },
};

/// The tables of this chapter.
pub(super) const TABLES: &[&str] = &["identified", "lines", "trees", "contradictions", "program", "rules", "evidence"];

/// Instructions with the same features on the same chip.
pub(super) struct Arithmetic {
    pub(super) chip: String,
    pub(super) instructions: Vec<String>,
    /// The finding for each of [`FEATURES`], with its evidence; empty where it was not asked.
    pub(super) findings: Vec<FeatureFound>,
}

impl Arithmetic {
    /// The classes of the instructions, each once.
    pub(super) fn classes(&self) -> Vec<String> {
        distinct(self.instructions.iter().map(|name| class_of(name)))
    }
}

/// The class of an instruction, else its name.
pub(super) fn class_of(name: &str) -> String {
    isa::known(name).map_or_else(|| name.to_string(), |i| features::class(&i))
}

/// Groups up to which the table of features has a column for each group.
const BESIDE: usize = 8;

/// Makes the chapter.
pub(super) fn part(results: &Results) -> Chapter {
    let mut blocks = Vec::new();
    if let Some(mut features) = results.table("features") {
        blocks.extend(generations::blocks(&features));
        generations::present(&mut features);
        let mut all = arithmetics(&features);
        let ran = proof::ran(results);
        // Native instructions come first.
        all.sort_by_cached_key(|arithmetic| !arithmetic.instructions.iter().any(|name| proof::native(&ran, name)));
        let marks = Marks::of(
            all.iter().flat_map(|arithmetic| arithmetic.findings.iter().filter_map(|finding| finding.evidence)),
        );
        let simulated: Vec<String> = results.simulated().into_iter().map(|(chip, _)| chip).collect();
        blocks.extend(sources(results, &all, &simulated));
        let from = match all.iter().filter(|arithmetic| simulated.contains(&arithmetic.chip)).count() {
            0 => "measured on",
            count if count == all.len() => "according to",
            _ => "on",
        };
        let in_words = in_words(&all, &ran, results.table("costs").as_ref(), marks.as_ref(), from);
        let by_feature = Block::Table(by_feature(&all, marks.as_ref(), from));
        blocks.push(Block::Table(in_words));
        blocks.push(match all.len() <= BESIDE {
            true => by_feature,
            false => Block::Folded("Features".into(), vec![by_feature]),
        });
        let witnesses = witnesses(&features, from);
        let count = witnesses.shown.rows.len();
        blocks.push(Block::Folded(
            format!("Inputs that show each finding ({count} rows)"),
            vec![Block::Table(witnesses)],
        ));
        blocks.push(Block::Folded("Questions of the features".into(), vec![Block::Table(questions())]));
    }
    for key in TABLES.iter().filter(|key| **key != "lines") {
        blocks.extend(results.table(key).and_then(|table| compose::sheet(&table).block()));
    }
    if let Some(lines) = results.table("lines") {
        let sheet = compose::sheet(&lines);
        let summary = format!("Decisions for each identified line ({} rows)", sheet.shown.rows.len());
        blocks.push(Block::Folded(summary, vec![Block::Table(sheet)]));
    }
    Chapter { id: "arithmetic", heading: "Arithmetic of each instruction", blocks }
}

/// Groups the instructions of a table by their features.
pub(super) fn arithmetics(features: &Table) -> Vec<Arithmetic> {
    let mut of: Vec<(String, String, Vec<FeatureFound>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for line in Rows(features).iter() {
        for name in generations::instructions(&line) {
            let (chip, name) = (chip_of(&line), name.to_string());
            let at = *places.entry((chip.clone(), name.clone())).or_insert_with(|| {
                of.push((chip, name, vec![FeatureFound::default(); FEATURES.len()]));
                of.len() - 1
            });
            if let Some(feature) = FEATURES.iter().position(|feature| feature.name == line.text("feature")) {
                let evidence = EvidenceKind::named(line.text("evidence"));
                of[at].2[feature] = FeatureFound { words: line.text("found").to_string(), evidence };
            }
        }
    }
    let mut all: Vec<Arithmetic> = Vec::new();
    for (chip, name, findings) in of {
        match all.iter_mut().find(|arithmetic| arithmetic.chip == chip && arithmetic.findings == findings) {
            Some(arithmetic) => arithmetic.instructions.push(name),
            None => all.push(Arithmetic { chip, instructions: vec![name], findings }),
        }
    }
    all
}

/// The sources of the features, and their agreement with chips.
fn sources(results: &Results, all: &[Arithmetic], simulated: &[String]) -> Vec<Block> {
    let chips: BTreeSet<_> = all.iter().map(|arithmetic| arithmetic.chip.as_str()).collect();
    let (models, measured): (Vec<&str>, Vec<&str>) =
        chips.into_iter().filter(|chip| !chip.is_empty()).partition(|chip| simulated.iter().any(|name| name == chip));
    let mut blocks: Vec<Block> =
        measured.iter().map(|chip| Block::Text(format!("Features measured on {chip}."))).collect();
    if !models.is_empty() {
        let agreement = models.iter().flat_map(|chip| agreement(results, chip));
        let said = format!("Features of models, in place of chips: {}.", models.join(", "));
        blocks.push(Block::Text([said].into_iter().chain(agreement).collect::<Vec<_>>().join(" ")));
    }
    blocks
}

/// Chips that agree with the model of a chip.
fn agreement(results: &Results, chip: &str) -> Vec<String> {
    let models = results.chips.iter().zip(&results.kept).filter(|(name, _)| *name == chip);
    let names: Vec<&str> = models.filter_map(|(_, kept)| kept.report.device.as_ref()?.name.model()).collect();
    let agreement = proof::totals(results).into_iter().filter(|total| {
        names.contains(&total.model.as_str()) && total.chip != chip && total.differing == 0 && total.compared > 0
    });
    let said = agreement.map(|total| {
        format!(
            "{} agrees with {chip} in every bit of {} results of {} instructions (see Verification).",
            total.chip,
            grouped(total.compared),
            total.instructions.len()
        )
    });
    said.collect()
}

/// The arithmetic and the measured cost of each group.
fn in_words(all: &[Arithmetic], ran: &[Ran], costs: Option<&Table>, marks: Option<&Marks>, from: &str) -> Sheet {
    let rows = all.iter().enumerate().map(|(at, arithmetic)| {
        let runs: BTreeSet<_> = arithmetic.instructions.iter().flat_map(|name| proof::runs(ran, name)).collect();
        let mut row = vec![
            (at + 1).to_string(),
            arithmetic.instructions.join("\n"),
            operands(&arithmetic.instructions),
            runs.into_iter().collect::<Vec<_>>().join(", "),
            sentence(&arithmetic.findings, marks),
            arithmetic.chip.clone(),
        ];
        row.extend(costs.map(|costs| cost(costs, &arithmetic.instructions)));
        row
    });
    let (title, costly) = match costs {
        Some(_) => ("Arithmetic and cost, instructions with the same features together", Some("cost")),
        None => ("Arithmetic, instructions with the same features together", None),
    };
    let labels: Vec<&str> =
        ["group", "instructions", "operands", "runs", "arithmetic", from].into_iter().chain(costly).collect();
    Sheet::new(captioned(title, marks.map(|marks| &marks.legend[..])), &labels, &[0], rows.collect())
}

/// Ranges of latency and rate, by chip: `NVIDIA H200: 17.6 to 33.0 clk, 494 to 989 TFLOPS`.
fn cost(costs: &Table, names: &[String]) -> String {
    let lines: Vec<Line> =
        Rows(costs).iter().filter(|line| names.iter().any(|name| name == line.text("instruction"))).collect();
    let of = |chip: &str| {
        let range = |key: &str, digits: usize, unit: &str| {
            let values = lines.iter().filter(|line| line.text(CHIP) == chip).filter_map(|line| line.number(key));
            let texts = [values.clone().min_by(f64::total_cmp)?, values.max_by(f64::total_cmp)?];
            let [least, most] = texts.map(|value| format!("{value:.digits$}"));
            Some(if least == most { format!("{least} {unit}") } else { format!("{least} to {most} {unit}") })
        };
        let ranges: Vec<String> =
            [range("latency", 1, "clk"), range("tera", 1, "TFLOPS")].into_iter().flatten().collect();
        format!("{chip}: {}", ranges.join(", "))
    };
    let chips: BTreeSet<_> = lines.iter().map(|line| line.text(CHIP)).collect();
    chips.into_iter().map(of).collect::<Vec<_>>().join("\n")
}

/// The formats of instructions: `f16, bf16 -> f32`.
fn operands(names: &[String]) -> String {
    let mut all: Vec<String> = Vec::new();
    for i in names.iter().filter_map(|name| isa::known(name)) {
        let formats = match i.a.name == i.b.name {
            true => format!("{} -> {}", i.a.name, i.d.name),
            false => format!("{} * {} -> {}", i.a.name, i.b.name, i.d.name),
        };
        if !all.contains(&formats) {
            all.push(formats);
        }
    }
    match &all[..] {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        all => all.join(", "),
    }
}

/// Makes the table of features: a column for each of few groups, else a row.
fn by_feature(all: &[Arithmetic], marks: Option<&Marks>, from: &str) -> Sheet {
    let cells =
        |arithmetic: &Arithmetic| arithmetic.findings.iter().map(|finding| finding.marked(marks)).collect::<Vec<_>>();
    let names = |arithmetic: &Arithmetic| arithmetic.instructions.join("\n");
    let caption = captioned("Features of instructions (-: cannot be asked)", marks.map(|marks| &marks.legend[..]));
    let features = FEATURES.iter().map(|feature| feature.name);
    if all.len() > BESIDE {
        let caption = caption.replacen("of instructions", "by group of instructions", 1);
        let labels: Vec<&str> = [from, "group"].into_iter().chain(features).collect();
        let row = |(at, arithmetic): (usize, &Arithmetic)| {
            [arithmetic.chip.clone(), (at + 1).to_string()].into_iter().chain(cells(arithmetic)).collect()
        };
        return Sheet::new(caption, &labels, &[], all.iter().enumerate().map(row).collect());
    }
    let labels: Vec<&str> =
        std::iter::once("feature").chain(all.iter().map(|arithmetic| arithmetic.chip.as_str())).collect();
    let mut rows = vec![std::iter::once("instructions".to_string()).chain(all.iter().map(names)).collect::<Vec<_>>()];
    let columns: Vec<Vec<String>> = all.iter().map(cells).collect();
    rows.extend(features.enumerate().map(|(at, name)| {
        std::iter::once(name.to_string()).chain(columns.iter().map(|column| column[at].clone())).collect()
    }));
    Sheet::new(caption, &labels, &[], rows)
}

/// Makes the table of inputs: one for each finding, and how many instructions have the finding.
fn witnesses(features: &Table, from: &str) -> Sheet {
    let lines = Rows(features).iter().filter(|line| !line.text("operands").is_empty());
    let finding = |line: &Line| [chip_of(line), line.text("feature").to_string(), line.text("found").to_string()];
    let groups = together(lines.map(|line| (finding(&line), line)));
    let row = |([chip, feature, words], lines): ([String; 3], Vec<Line>)| {
        let names: BTreeSet<&str> = lines.iter().map(|line| line.text("instruction")).collect();
        let [first, input, d, value] =
            ["instruction", "operands", "d", "value"].map(|key| lines[0].text(key).to_string());
        vec![chip, feature, words, names.len().to_string(), first, input, d, value]
    };
    let labels = [from, "feature", "found", "instructions", "one of them", "its input", "D", "value"];
    Sheet::new("Inputs that show each finding", &labels, &[3], groups.into_iter().map(row).collect())
}

fn questions() -> Sheet {
    let rows = FEATURES.iter().map(|feature| vec![feature.name.to_string(), feature.asks.to_string()]).collect();
    Sheet::new("Questions of the features", &["feature", "question"], &[], rows)
}
