//! Chapter of the arithmetic of each instruction: features in words, in a table and with inputs.

use std::collections::BTreeSet;

use super::{
    Block, Chapter,
    article::Study,
    generations,
    proof::{self, Ran},
    results::{CHIP, Results, chip_of},
    rows::{Line, Rows, together},
    sheets::{DEVICE, Sheet, sheet, short},
    words::{FeatureFound, sentence},
};
use crate::{
    arithmetic::{EvidenceKind, Model},
    base::{distinct::distinct, sentence::listed},
    features::{self, FEATURES},
    isa::{self, Instruction},
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

/// The class of an instruction, else its name.
pub(super) fn class_of(name: &str) -> String {
    isa::known(name).map_or_else(|| name.to_string(), |i| features::class(&i))
}

/// Features that the table of a paper has as columns, where they differ.
const COLUMNS: [&str; 8] = ["order", "alignment", "floor", "carry bits", "accumulator", "sums", "result", "NaN"];
/// Longest order of a sum in that table, in characters.
const LONGEST: usize = 40;

/// How the words of features are read.
const READING: &str = "Braces hold the terms of one sum: {{c, 0..7}, 8..15} is the sum of c and products 0 to 7, to which a second sum adds \
                       products 8 to 15. A sum aligns its terms to the largest exponent among them, but never to one below the floor. The \
                       alignment keeps a number of fraction bits, and cuts off the others with the rounding in the cell (RZ: toward zero, RNE: to nearest, \
                       ties to even). Carry bits stand above the largest exponent. The column sums has the rounding between the sums of an \
                       instruction (once: there is one sum), accumulator the significant bits that pass from one sum to the next or leave the only \
                       one, and result the rounding to D. Where a cell ends in or more, or in or less, the formats show a bound alone.";

/// Makes the chapter.
pub(super) fn part(study: &Study) -> Chapter {
    let (results, all) = (&study.others, &study.all);
    let mut blocks = Vec::new();
    if let Some(mut features) = results.table("features") {
        blocks.extend(generations::blocks(&features));
        generations::present(&mut features);
        blocks.extend(sources(results, all));
        blocks.push(Block::Table(in_words(all, &proof::ran(results), results.table("costs").as_ref())));
        blocks.extend(compared(study, false));
        let witnesses = witnesses(&features);
        let count = witnesses.shown.rows.len();
        blocks.push(Block::Folded(
            format!("Inputs that show each finding ({count} rows)"),
            vec![Block::Table(witnesses)],
        ));
        blocks.push(Block::Folded("Questions of the features".into(), vec![Block::Table(questions())]));
    }
    for key in TABLES {
        let Some(sheet) = results.table(key).map(|table| sheet(&table)) else { continue };
        match *key {
            "lines" => {
                let summary = format!("Decisions for each identified line ({} rows)", sheet.shown.rows.len());
                blocks.push(Block::Folded(summary, vec![Block::Table(sheet)]));
            }
            _ => blocks.extend(sheet.block()),
        }
    }
    Chapter { id: "arithmetic", heading: "Arithmetic of each instruction", blocks }
}

fn marks(all: &[Arithmetic]) -> Option<Marks> {
    Marks::of(all.iter().flat_map(|one| one.findings.iter().filter_map(|finding| finding.evidence)))
}

/// The features, by number, that are not the same in all instructions that show them.
pub(super) fn varied(all: &[Arithmetic]) -> Vec<usize> {
    let words =
        |at: usize| distinct(all.iter().map(|one| &one.findings[at].words[..]).filter(|words| !words.is_empty()));
    (0..FEATURES.len()).filter(|at| words(*at).len() > 1).collect()
}

/// The features side by side: shared ones in a sentence, and a row for each arithmetic.
pub(super) fn compared(study: &Study, is_paper: bool) -> Vec<Block> {
    let (all, varied) = (&study.all, varied(&study.all));
    if all.is_empty() {
        return Vec::new();
    }
    let name = |at: &usize| FEATURES[*at].name;
    let (columns, more): (Vec<usize>, Vec<usize>) =
        varied.iter().partition(|at| !is_paper || COLUMNS.contains(&name(at)));
    let marks = marks(all);
    let cell = |one: &Arithmetic, at: &usize| {
        let mut finding = one.findings[*at].clone();
        if is_paper && name(at) == "order" && finding.words.chars().count() > LONGEST {
            finding.words = "in several steps".into();
        }
        finding.marked(marks.as_ref())
    };
    let row = |one: &Arithmetic| {
        let class = distinct(one.instructions.iter().map(|name| class_of(name))).join(", ");
        [short(&one.chip), class].into_iter().chain(columns.iter().map(|at| cell(one, at))).collect()
    };
    let shared = (0..FEATURES.len()).filter(|at| !varied.contains(at)).filter_map(|at| {
        let found = all.iter().map(|one| &one.findings[at]).filter(|finding| !finding.words.is_empty());
        let weakest = found.max_by_key(|finding| finding.evidence)?;
        Some(format!("{}: {}", name(&at), weakest.marked(marks.as_ref())))
    });
    let shared: Vec<String> = shared.collect();
    let more: Vec<String> = more.iter().map(|at| name(at).into()).collect();
    let said = [
        (!shared.is_empty()).then(|| format!("The same in all instructions that show it: {}.", shared.join("; "))),
        (!more.is_empty()).then(|| format!("The supplement also has the differences in {}.", listed(&more))),
        Some(READING.into()),
        emulated(study),
    ];
    let mut blocks: Vec<Block> = said.into_iter().flatten().map(Block::Text).collect();
    let caption =
        captioned("Features that differ (-: no operands show it)", marks.as_ref().map(|marks| &marks.legend[..]));
    let labels: Vec<&str> = std::iter::once("instructions").chain(columns.iter().map(name)).collect();
    let sheet = Sheet::by_device(caption, &labels, &[], all.iter().map(row));
    blocks.extend(if is_paper { sheet.full() } else { sheet.block() }.filter(|_| !columns.is_empty()));
    blocks
}

/// The classes that the assembler makes of other instructions, in a sentence.
fn emulated(study: &Study) -> Option<String> {
    let on = study.all.iter().filter_map(|one| {
        let model = Model::load(study.models.iter().find(|(chip, _)| *chip == one.chip)?.1.as_str()).ok()?;
        let name = one
            .instructions
            .iter()
            .find(|name| isa::known(name).is_some_and(|i| !generations::is_native(&model, &i)))?;
        Some((class_of(name), short(&one.chip)))
    });
    let all: Vec<String> =
        together(on).into_iter().map(|(class, on)| format!("{class} on {}", listed(&distinct(on)))).collect();
    (!all.is_empty()).then(|| {
        format!(
            "The assembler makes some instructions of others, so their rows show these: {}. The unit for their operands, if there is one, is in the \
             rows of other families.",
            all.join("; ")
        )
    })
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
fn sources(results: &Results, all: &[Arithmetic]) -> Vec<Block> {
    let simulated: Vec<String> = results.simulated().into_iter().map(|(chip, _)| chip).collect();
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
fn in_words(all: &[Arithmetic], ran: &[Ran], costs: Option<&Table>) -> Sheet {
    let marks = marks(all);
    let row = |one: &Arithmetic| {
        let runs: BTreeSet<_> = one.instructions.iter().flat_map(|name| proof::runs(ran, name)).collect();
        let (runs, words) = (runs.into_iter().collect::<Vec<_>>().join(", "), sentence(&one.findings, marks.as_ref()));
        let mut row = vec![short(&one.chip), one.instructions.join("\n"), operands(&one.instructions), runs, words];
        row.extend(costs.map(|costs| cost(costs, &one.instructions)));
        row
    };
    let (title, costly) = match costs {
        Some(_) => ("Arithmetic and cost, instructions with the same features together", Some("cost")),
        None => ("Arithmetic, instructions with the same features together", None),
    };
    let labels: Vec<&str> =
        [DEVICE, "instructions", "operands", "runs", "arithmetic"].into_iter().chain(costly).collect();
    Sheet::new(
        captioned(title, marks.as_ref().map(|marks| &marks.legend[..])),
        &labels,
        &[],
        all.iter().map(row).collect(),
    )
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

/// The operands and the result of an instruction: `e4m3 -> f32`.
pub(crate) fn formats_of(i: &Instruction) -> String {
    match i.a.name == i.b.name {
        true => format!("{} -> {}", i.a.name, i.d.name),
        false => format!("{} * {} -> {}", i.a.name, i.b.name, i.d.name),
    }
}

/// The formats of instructions: `f16 -> f32, bf16 -> f32`.
fn operands(names: &[String]) -> String {
    let all = distinct(names.iter().filter_map(|name| isa::known(name)).map(|i| formats_of(&i)));
    match &all[..] {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        all => all.join(", "),
    }
}

/// Makes the table of inputs: one for each finding, and how many instructions have the finding.
fn witnesses(features: &Table) -> Sheet {
    let lines = Rows(features).iter().filter(|line| !line.text("operands").is_empty());
    let finding =
        |line: &Line| [short(&chip_of(line)), line.text("feature").to_string(), line.text("found").to_string()];
    let groups = together(lines.map(|line| (finding(&line), line)));
    let row = |([chip, feature, words], lines): ([String; 3], Vec<Line>)| {
        let names: BTreeSet<&str> = lines.iter().map(|line| line.text("instruction")).collect();
        let [first, input, d, value] =
            ["instruction", "operands", "d", "value"].map(|key| lines[0].text(key).to_string());
        vec![chip, feature, words, names.len().to_string(), first, input, d, value]
    };
    let labels = [DEVICE, "feature", "found", "instructions", "one of them", "its input", "D", "value"];
    Sheet::new("Inputs that show each finding", &labels, &[3], groups.into_iter().map(row).collect())
}

fn questions() -> Sheet {
    let rows = FEATURES.iter().map(|feature| vec![feature.name.to_string(), feature.asks.to_string()]).collect();
    Sheet::new("Questions of the features", &["feature", "question"], &[], rows)
}
