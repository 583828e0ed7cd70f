//! What the arithmetic of each instruction is: its features, in words and as a table, and what shows each.

use super::{
    Block, Part, Sheet, compose,
    proof::{self, Ran},
    results::{CHIP, Results},
    rows::{Line, Rows},
};
use crate::{
    base::sorting,
    features::FEATURES,
    isa,
    report::{Shown, Table, grouped},
};

/// The tables of this part.
pub(super) const TABLES: &[&str] = &["identified", "lines", "trees", "contradictions", "program", "rules", "evidence"];

/// Instructions with the same features on the same chip.
struct Arithmetic {
    chip: String,
    instructions: Vec<String>,
    /// What was found of each of [`FEATURES`]; empty where it was not asked.
    found: Vec<String>,
}

/// The part.
pub(super) fn part(results: &Results) -> Part {
    let mut blocks = Vec::new();
    if let Some(features) = results.table("features") {
        let mut all = arithmetics(&features);
        let ran = proof::ran(results);
        // What the chip itself has comes first.
        sorting::by_key(&mut all, |own| !own.instructions.iter().any(|name| proof::native(&ran, name)));
        blocks.extend(measured_on(results, &all));
        blocks.push(Block::Table(in_words(&all, &ran, results.table("costs").as_ref())));
        blocks.push(Block::Folded("The same by feature".into(), vec![Block::Table(by_feature(&all))]));
        let witnesses = witnesses(&features);
        let count = witnesses.shown.rows.len();
        blocks.push(Block::Folded(
            format!("The input that shows each feature ({count} rows)"),
            vec![Block::Table(witnesses)],
        ));
        blocks.push(Block::Folded("What each feature asks".into(), vec![Block::Table(questions())]));
    }
    for key in TABLES.iter().filter(|key| **key != "lines") {
        blocks.extend(results.table(key).and_then(|table| compose::sheet(&table).block()));
    }
    if let Some(lines) = results.table("lines") {
        let sheet = compose::sheet(&lines);
        let summary = format!("What decides each line of what was identified ({} rows)", sheet.shown.rows.len());
        blocks.push(Block::Folded(summary, vec![Block::Table(sheet)]));
    }
    Part { id: "arithmetic", heading: "The arithmetic of each instruction", blocks }
}

/// The instructions of a table of features, those with the same ones together.
fn arithmetics(features: &Table) -> Vec<Arithmetic> {
    let mut of: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for line in Rows(features).iter() {
        let (chip, name) = (line.text(CHIP).to_string(), line.text("instruction").to_string());
        let at = *places.entry((chip.clone(), name.clone())).or_insert_with(|| {
            of.push((chip, name, vec![String::new(); FEATURES.len()]));
            of.len() - 1
        });
        if let Some(feature) = FEATURES.iter().position(|feature| feature.name == line.text("feature")) {
            of[at].2[feature] = line.text("found").to_string();
        }
    }
    let mut all: Vec<Arithmetic> = Vec::new();
    for (chip, name, found) in of {
        match all.iter_mut().find(|own| own.chip == chip && own.found == found) {
            Some(own) => own.instructions.push(name),
            None => all.push(Arithmetic { chip, instructions: vec![name], found }),
        }
    }
    all
}

/// On what the features were measured, and why they hold for the chip.
fn measured_on(results: &Results, all: &[Arithmetic]) -> Vec<Block> {
    let chips = sorting::set(all.iter().map(|own| own.chip.as_str()));
    let mut blocks = Vec::new();
    for chip in chips.into_iter().filter(|chip| !chip.is_empty()) {
        let models = results.chips.iter().zip(&results.kept).filter(|(own, _)| *own == chip);
        let names: Vec<&str> =
            models.filter_map(|(_, kept)| kept.report.device.as_ref()?.name.strip_prefix("model:")).collect();
        let agreement = proof::totals(results).into_iter().filter(|own| {
            names.contains(&own.model.as_str()) && own.chip != chip && own.differing == 0 && own.compared > 0
        });
        let said = agreement.map(|own| {
            format!(
                "{} agrees with it in every bit of {} results of {} instructions (see the proof).",
                own.chip,
                grouped(own.compared),
                own.instructions.len()
            )
        });
        let said: Vec<String> = said.collect();
        blocks.push(Block::Text(format!("Features measured on {chip}. {}", said.join(" ")).trim_end().to_string()));
    }
    blocks
}

/// What each computes and, where that was measured, costs.
fn in_words(all: &[Arithmetic], ran: &[Ran], costs: Option<&Table>) -> Sheet {
    let rows = all.iter().map(|own| {
        let runs = sorting::set(own.instructions.iter().flat_map(|name| proof::runs(ran, name)));
        let mut row = vec![
            own.instructions.join("\n"),
            operands(&own.instructions),
            runs.into_iter().collect::<Vec<_>>().join(", "),
            words(&own.found),
            own.chip.clone(),
        ];
        row.extend(costs.map(|costs| cost(costs, &own.instructions)));
        row
    });
    let (title, costly) = match costs {
        Some(_) => {
            ("What each instruction computes, and what it costs: those with the same features together", Some("cost"))
        }
        None => ("What each instruction computes: those with the same features together", None),
    };
    let labels: Vec<&str> =
        ["instructions", "operands", "runs", "arithmetic", "measured on"].into_iter().chain(costly).collect();
    Sheet::new(title, &labels, &[], rows.collect())
}

/// The least and the greatest latency and rate of instructions, by chip: `NVIDIA H200: 17.6 to 33.0 clk, 494 to 989 TFLOPS`.
fn cost(costs: &Table, names: &[String]) -> String {
    let own: Vec<Line> =
        Rows(costs).iter().filter(|line| names.iter().any(|name| name == line.text("instruction"))).collect();
    let of = |chip: &str| {
        let range = |key: &str, digits: usize, unit: &str| {
            let values = own.iter().filter(|line| line.text(CHIP) == chip).filter_map(|line| line.number(key));
            let texts = [values.clone().min_by(f64::total_cmp)?, values.max_by(f64::total_cmp)?];
            let [least, most] = texts.map(|value| format!("{value:.digits$}"));
            Some(if least == most { format!("{least} {unit}") } else { format!("{least} to {most} {unit}") })
        };
        let ranges: Vec<String> =
            [range("latency", 1, "clk"), range("tera", 1, "TFLOPS")].into_iter().flatten().collect();
        format!("{chip}: {}", ranges.join(", "))
    };
    let chips = sorting::set(own.iter().map(|line| line.text(CHIP)));
    chips.into_iter().map(of).collect::<Vec<_>>().join("\n")
}

/// The formats of instructions: `f16, bf16 -> f32`.
fn operands(names: &[String]) -> String {
    let mut all: Vec<String> = Vec::new();
    for i in names.iter().filter_map(|name| isa::known(name)) {
        let own = match i.a.name == i.b.name {
            true => format!("{} -> {}", i.a.name, i.d.name),
            false => format!("{} * {} -> {}", i.a.name, i.b.name, i.d.name),
        };
        if !all.contains(&own) {
            all.push(own);
        }
    }
    match &all[..] {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        all => all.join(", "),
    }
}

/// What was found of a feature.
fn found<'a>(all: &'a [String], name: &str) -> Option<&'a str> {
    let at = FEATURES.iter().position(|feature| feature.name == name)?;
    Some(all[at].as_str()).filter(|found| !found.is_empty())
}

/// The arithmetic in one sentence.
fn words(all: &[String]) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(found(all, "order").map(order));
    match (found(all, "alignment"), found(all, "alignment of c")) {
        (Some("none"), _) | (None, _) => (),
        (Some(own), Some(of_c)) if own != of_c && of_c != "none" => {
            parts.push(format!("terms aligned to the largest, products cut after {}, c after {}", cut(own), cut(of_c)));
        }
        (Some(own), _) => parts.push(format!("terms aligned to the largest and cut after {}", cut(own))),
    }
    match (found(all, "sums"), found(all, "accumulator")) {
        (Some("exact"), Some(width)) => parts.push(format!("exact sums in {width}")),
        (Some("once") | None, Some(width)) => parts.push(format!("{width} come out")),
        (Some(rounding), Some(width)) => parts.push(format!("sums carried on in {width}, {rounding}")),
        (_, None) => (),
    }
    parts.extend(found(all, "result").map(|rounding| format!("result {rounding}")));
    parts.extend(found(all, "overflow").map(|what| format!("overflow: {what}")));
    parts.extend(subnormals(all));
    let text = parts.join("; ");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect::<String>() + ".")
}

/// Bits that alignment keeps, with the rounding in brackets.
fn cut(found: &str) -> String {
    found.split_once(", ").map_or(found.to_string(), |(bits, rounding)| format!("{bits} ({rounding})"))
}

/// Which terms meet, from the notation of the order of a sum.
fn order(order: &str) -> String {
    let count = |last: &str| Some(last.parse::<usize>().ok()? + 1);
    let between = |start: &str, end: &str| count(order.strip_prefix(start)?.strip_suffix(end)?);
    if let Some(count) = between("{c, 0..", "}") {
        return format!("c and {count} products in one step");
    }
    if let Some(count) = between("{0..", "}") {
        return format!("{count} products in one step");
    }
    if let Some(count) = between("chain(c, 0..", ")") {
        return format!("{count} products added to c one after the other");
    }
    if let Some(count) = between("chain(0..", ", c)") {
        return format!("{count} products added one after the other, then c");
    }
    format!("in the order {order}")
}

fn subnormals(all: &[String]) -> Option<String> {
    let of = ["A, B", "C", "D"].map(|which| (which, found(all, &format!("subnormal {which}"))));
    let known: Vec<(&str, &str)> = of.into_iter().filter_map(|(which, found)| Some((which, found?))).collect();
    let (_, first) = known.first()?;
    Some(match known.iter().all(|(_, found)| found == first) {
        true => format!("subnormals {first}"),
        false => known.iter().map(|(which, found)| format!("subnormal {which} {found}")).collect::<Vec<_>>().join(", "),
    })
}

fn by_feature(all: &[Arithmetic]) -> Sheet {
    let labels: Vec<&str> = ["instructions"].into_iter().chain(FEATURES.iter().map(|feature| feature.name)).collect();
    let dash = |found: &String| if found.is_empty() { "-".to_string() } else { found.clone() };
    let row = |own: &Arithmetic| [own.instructions.join("\n")].into_iter().chain(own.found.iter().map(dash)).collect();
    Sheet::new("Features of instructions (-: cannot be asked)", &labels, &[], all.iter().map(row).collect())
}

/// The inputs that show features, those of the same input together.
fn witnesses(features: &Table) -> Sheet {
    let lines = Rows(features).iter().filter(|line| !line.text("operands").is_empty());
    let cells = ["feature", "found", "operands", "d", "value"];
    let row = |line: Line| {
        [line.text("instruction")].into_iter().chain(cells.map(|key| line.text(key))).map(str::to_string).collect()
    };
    let labels = ["instruction", "feature", "found", "input", "D", "its value"];
    let sheet = Sheet::new("The input that shows each feature", &labels, &[], lines.map(row).collect());
    let shown: Shown = compose::joined(sheet.shown, "instruction");
    Sheet { shown, ..sheet }
}

fn questions() -> Sheet {
    let rows = FEATURES.iter().map(|feature| vec![feature.name.to_string(), feature.asks.to_string()]).collect();
    Sheet::new("The features", &["feature", "asks"], &[], rows)
}
