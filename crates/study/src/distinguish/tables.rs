//! Tables of compared devices, of models that agree, and of test kits.

use std::collections::BTreeMap;

use super::causes;
use crate::{
    comparison::{Complexity, Subject, operands},
    device::DeviceName,
    distinction::{
        DistinctionVerdict, InstructionDistinction, ModelAgreement, SharedKit, ShippedKnowledge,
        tables::{PairRow, hex, pair, reasons},
    },
    isa::Case,
    report::{Report, Table, Verdict, grouped},
};

/// Largest number of instructions that an answer names.
const NAMED: usize = 3;

crate::rows! {
    /// Two shipped models, and on how many instructions they agree.
    pub struct GenerationRow in "generations" {
        /// The first model.
        x: &'static str => shown("first").essential(),
        /// The second model.
        y: &'static str => shown("second").essential(),
        /// Instructions that both cover.
        instructions: usize => shown("instructions of both").essential(),
        /// Instructions on which both agree.
        same: usize => shown("the same").essential(),
        /// Instructions on which results differ.
        differ: usize => shown("differ").essential(),
        /// The instructions that differ.
        differing: Vec<String> => hidden(),
    }

    /// An instruction, and the shipped models that agree on it.
    pub struct KnownRow in "known_arithmetics" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Number of different arithmetics among the models.
        arithmetics: usize => shown("arithmetics").essential(),
        /// The models of each arithmetic.
        models: Vec<Vec<String>> => hidden(),
        /// The models in words.
        alike: String => shown("models (joined by = if they agree)").essential(),
        /// True if the agreement of all joined models is proved.
        proved: bool => shown("proved").if_varied(),
    }

    /// An input of a test kit; all inputs of a kit together separate the known arithmetics of its operands.
    pub struct KitRow in "kit" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Other instructions with the same operands and therefore the same kit.
        same_kit: Vec<String> => hidden(),
        /// The number of the input in the kit.
        number: usize => shown("#").essential(),
        /// Number of arithmetics that the kit separates.
        arithmetics: usize => shown("arithmetics"),
        /// Nonzero terms, c included.
        terms: usize => shown("terms"),
        /// The nonzero operands.
        operands: String => shown("input").essential(),
        /// The results, each with the models that give it: `0x3f800000: hopper, ada`.
        answers: Vec<String> => shown("D").essential(),
        /// The row of A.
        a: Vec<String> => hidden(),
        /// The column of B.
        b: Vec<String> => hidden(),
        /// The element of C.
        c: String => hidden(),
        /// Positions of the stored elements of A in their chunks; sparse instructions only.
        positions: Vec<u64> => hidden(),
        /// The scales of the row of A.
        scale_a: Vec<String> => hidden(),
        /// The scales of the column of B.
        scale_b: Vec<String> => hidden(),
    }
}

/// Fills `report` with the comparisons of two devices.
pub fn report(distinctions: &[InstructionDistinction], report: &mut Report) {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for InstructionDistinction { sides, distinction, cause } in distinctions {
        let sides = sides.each_ref();
        let mut row = pair(sides, distinction);
        all.extend(reasons(sides, distinction, all.len() + 1));
        if let Some(cause) = cause {
            row.why = causes::because(sides, cause).or(row.why);
            all.extend(causes::rows(sides, cause, all.len() + 1));
            report.notes.extend(causes::doubts(sides, cause));
        }
        rows.push(row);
    }
    report.holds = rows.iter().all(|row| row.verdict != DistinctionVerdict::Differ.name());
    report.verdict = Verdict::Differ;
    report.answer = answer(&rows);
    report.tables.push(Table::of("Comparison", rows));
    report.tables.extend(Table::of("Reasons", all).filled());
}

/// Fills `report` with what the shipped models say.
pub fn report_knowledge(ShippedKnowledge { agreements, kits }: &ShippedKnowledge, report: &mut Report) {
    let kits = Table::of("Test kits", kits.iter().flat_map(kit));
    report.answer = agreement(agreements);
    report.tables.extend([known(agreements), generations(agreements), kits].into_iter().filter_map(Table::filled));
}

/// The answer of a comparison; `None` where nothing was compared.
fn answer(rows: &[PairRow]) -> Option<String> {
    let first = rows.first()?;
    let [x, y] = [&first.x, &first.y].map(|name| short(name));
    let they = |verb: &str, row: &PairRow| match row.x_instruction == row.y_instruction {
        true => format!("{x} and {y} {verb} on {}", row.x_instruction),
        false => format!("{x}/{} and {y}/{} {verb}", row.x_instruction, row.y_instruction),
    };
    let inputs = grouped(rows.iter().map(|row| row.cases).sum::<u64>() as i64);
    let differing: Vec<&PairRow> = rows.iter().filter(|row| row.verdict == DistinctionVerdict::Differ.name()).collect();
    let unproved = rows.iter().filter(|row| row.verdict == DistinctionVerdict::NotFound.name()).count();
    Some(match (rows, &differing[..]) {
        ([row], [_]) => {
            let why = row.why.as_ref().map_or_else(|| ".".into(), |why| format!(": {why}"));
            format!("{}{why}", they("differ", row))
        }
        ([row], _) if unproved == 0 => {
            format!("{} for all operands: {}.", they("agree", row), row.why.as_deref().unwrap_or("proved"))
        }
        ([row], _) => format!("No difference found: {} for {inputs} inputs.", they("agree", row)),
        (rows, []) if unproved == 0 => {
            format!("{x} and {y} agree on {} instructions, for all operands.", rows.len())
        }
        (rows, []) => {
            format!("No difference found: {x} and {y} agree on {} instructions for {inputs} inputs.", rows.len())
        }
        (rows, differing) => {
            let names: Vec<&str> = differing.iter().take(NAMED).map(|row| &row.x_instruction[..]).collect();
            let more = if differing.len() > NAMED { ", ..." } else { "" };
            format!(
                "{x} and {y} differ on {} of {} instructions: {}{more}.",
                differing.len(),
                rows.len(),
                names.join(", ")
            )
        }
    })
}

/// The answer on the agreement of models; `None` where nothing was compared.
fn agreement(agreements: &[ModelAgreement]) -> Option<String> {
    let models = |agreement: &ModelAgreement| agreement.alike.iter().map(Vec::len).sum::<usize>();
    match agreements {
        [] => None,
        [one] => {
            let alike: Vec<String> = one.alike.iter().map(|names| names.join(" = ")).collect();
            let ways = if alike.len() == 1 { "one way".into() } else { format!("{} ways", alike.len()) };
            Some(format!("{} models compute {} in {ways}: {}.", models(one), one.instruction, alike.join("; ")))
        }
        all => {
            let one_way = all.iter().filter(|agreement| agreement.alike.len() == 1).count();
            Some(format!("The models agree on {one_way} of {} instructions.", all.len()))
        }
    }
}

/// The short name of a device.
fn short(name: &str) -> String {
    DeviceName::from(name).short()
}

/// The agreement of each two models that cover a common instruction.
fn generations(agreements: &[ModelAgreement]) -> Table {
    let mut rows: BTreeMap<(&str, &str), GenerationRow> = BTreeMap::new();
    for ModelAgreement { instruction, alike, .. } in agreements {
        let all: Vec<(usize, &'static str)> =
            alike.iter().enumerate().flat_map(|(at, names)| names.iter().map(move |name| (at, *name))).collect();
        for (at, (class, one)) in all.iter().enumerate() {
            for (other_class, other) in &all[at + 1..] {
                let (x, y) = (*one.min(other), *one.max(other));
                let new = GenerationRow { x, y, instructions: 0, same: 0, differ: 0, differing: Vec::new() };
                let row = rows.entry((x, y)).or_insert(new);
                row.instructions += 1;
                if class == other_class {
                    row.same += 1;
                } else {
                    row.differ += 1;
                    row.differing.push(instruction.name.clone());
                }
            }
        }
    }
    Table::of("Agreement of models", rows.into_values())
}

/// The models that agree on each instruction.
fn known(agreements: &[ModelAgreement]) -> Table {
    let row = |agreement: &ModelAgreement| KnownRow {
        instruction: agreement.instruction.name.clone(),
        arithmetics: agreement.alike.len(),
        models: agreement.alike.iter().map(|names| names.iter().map(|name| name.to_string()).collect()).collect(),
        alike: agreement.alike.iter().map(|names| names.join(" = ")).collect::<Vec<_>>().join("; "),
        proved: agreement.proved,
    };
    Table::of("Arithmetics of each instruction", agreements.iter().map(row))
}

/// The rows of a kit; `instructions` have the same operands.
fn kit(SharedKit { instructions, kit }: &SharedKit) -> Vec<KitRow> {
    let [i, others @ ..] = &instructions[..] else { return Vec::new() };
    let scale = i.scale.map_or(i.a, |scale| scale.format);
    let row = |(at, case): (usize, &Case)| {
        let mut answers: Vec<(u64, Vec<String>)> = Vec::new();
        for known in &kit.known {
            let names = known.candidates.iter().flat_map(|candidate| &candidate.origins).map(|origin| {
                match origin.instruction == i.name {
                    true => origin.model.to_string(),
                    false => format!("{}/{}", origin.model, origin.instruction),
                }
            });
            let code = known.answers[at];
            match answers.iter_mut().find(|(known, _)| *known == code) {
                Some((_, list)) => list.extend(names),
                None => answers.push((code, names.collect())),
            }
        }
        KitRow {
            instruction: i.name.clone(),
            same_kit: others.iter().map(|other| other.name.clone()).collect(),
            number: at + 1,
            arithmetics: kit.known.len(),
            terms: Complexity::of(i, case).terms,
            operands: operands(&Subject::Matrix(i), case),
            answers: answers
                .into_iter()
                .map(|(code, names)| format!("{}: {}", i.d.hex(code), names.join(", ")))
                .collect(),
            a: hex(i.a, &case.a),
            b: hex(i.b, &case.b),
            c: i.c.hex(case.c),
            positions: case.positions.clone(),
            scale_a: hex(scale, &case.scale_a),
            scale_b: hex(scale, &case.scale_b),
        }
    };
    kit.cases.iter().enumerate().map(row).collect()
}
