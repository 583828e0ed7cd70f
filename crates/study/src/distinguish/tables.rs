//! Tables of comparisons, of models that agree, and of test kits.

use std::collections::BTreeMap;

use super::{
    DifferenceReason, Distinction, DistinctionVerdict, InstructionDistinction, ModelAgreement, SharedKit,
    ShippedKnowledge, Unobservable, Witness, causes, words,
};
use crate::{
    arithmetic::{EvidenceKind, Rule},
    comparison::{Complexity, Subject, operands},
    device::{Device, DeviceName},
    exact,
    format::Format,
    isa::{Case, Instruction},
    report::{Report, Table, Verdict, grouped},
};

/// Largest number of instructions that an answer names.
const NAMED: usize = 3;

crate::rows! {
    /// A comparison of two instructions on devices.
    pub struct PairRow in "distinguished" {
        /// The first device.
        x: String => shown("first").essential(),
        /// Its instruction.
        x_instruction: String => shown("its instruction"),
        /// The second device.
        y: String => shown("second").essential(),
        /// Its instruction.
        y_instruction: String => shown("its instruction"),
        /// `differ`, `the same` (proved), or `no difference found`.
        verdict: &'static str => shown("verdict").essential(),
        /// Separate reasons that an input confirms.
        reasons: usize => shown("reasons").essential(),
        /// The first reason, or the proof of equality.
        why: Option<String> => shown("why").if_filled().essential(),
        /// Number of k used, where k differs; the rest of the longer one was zero.
        k: Option<usize> => shown("k used").if_filled(),
        /// Inputs that both sides answered.
        cases: u64 => shown("inputs tried"),
    }

    /// A reason why two sides differ, with its smallest input, or a key without such an input.
    #[derive(Default)]
    pub struct ReasonRow in "reasons" {
        /// Number of the reason in the report.
        number: usize => shown("#").essential(),
        /// The first device and its instruction.
        x: String => shown("first").if_varied(),
        /// The second device and its instruction.
        y: String => shown("second").if_varied(),
        /// The keys of the rules.
        key: Vec<String> => hidden(),
        /// The value in the first rule.
        x_value: Option<String> => hidden(),
        /// The value in the second rule.
        y_value: Option<String> => hidden(),
        /// Evidence for the value in the first rule.
        x_evidence: Option<EvidenceKind> => hidden(),
        /// Evidence for the value in the second rule.
        y_evidence: Option<EvidenceKind> => hidden(),
        /// Kind of the difference, where no key explains it.
        kind: Option<&'static str> => hidden(),
        /// The reason in a sentence.
        why: String => shown("why").essential(),
        /// Evidence for the values in both rules: `measured; literature`.
        rests_on: Option<String> => shown("rest on").if_filled().essential(),
        /// `shown`, `no input found`, `cannot be observed`; of devices `identified`, `nearest rules`.
        verdict: &'static str => shown("verdict").if_varied(),
        /// Proof that no input can show it.
        proof: Option<String> => shown("proof").if_filled(),
        /// True if this reason alone makes the difference on this input.
        alone: Option<bool> => shown("alone").if_varied(),
        /// Nonzero terms, c included.
        terms: Option<usize> => shown("terms"),
        /// The nonzero operands.
        operands: Option<String> => shown("smallest input").essential(),
        /// The first result.
        x_d: Option<String> => shown("first's D").essential(),
        /// Its value.
        x_result: Option<String> => shown("its value").beside(),
        /// The second result.
        y_d: Option<String> => shown("second's D").essential(),
        /// Its value.
        y_result: Option<String> => shown("its value").beside(),
        /// The exact result, rounded to nearest with ties to even.
        exact_d: Option<String> => shown("exact, rounded").if_filled(),
        /// Its value.
        exact_result: Option<String> => hidden(),
        /// Distance of the two results in representable numbers; empty for infinities and NaN.
        ulps: Option<u64> => shown("ulps apart").if_filled(),
        /// The first step that differs, with both values.
        step: Option<String> => shown("first step that differs").if_filled(),
        /// The row of A, from k = 0; for sparse instructions the stored elements.
        a: Vec<String> => hidden(),
        /// The column of B.
        b: Vec<String> => hidden(),
        /// The element of C.
        c: Option<String> => hidden(),
        /// Positions of the stored elements of A in their chunks; sparse instructions only.
        positions: Vec<u64> => hidden(),
        /// The scales of the row of A.
        scale_a: Vec<String> => hidden(),
        /// The scales of the column of B.
        scale_b: Vec<String> => hidden(),
    }

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

/// One side of a comparison, by its names.
#[derive(Debug, Clone)]
pub struct NamedSide {
    /// The device.
    pub device: DeviceName,
    /// The instruction.
    pub instruction: Instruction,
    /// The rule of the instruction, if the device is a model.
    pub rule: Option<Rule>,
}

impl NamedSide {
    /// The side of `device` under the name that it was asked for by.
    pub fn new(name: &DeviceName, device: &dyn Device, instruction: &Instruction) -> NamedSide {
        let rule = device.model().and_then(|model| model.rule(instruction)).cloned();
        NamedSide { device: name.clone(), instruction: instruction.clone(), rule }
    }

    /// The evidence for keys of the rule.
    fn evidence(&self, keys: &[String]) -> Option<EvidenceKind> {
        let rule = self.rule.as_ref().filter(|_| !keys.is_empty())?;
        keys.iter().map(|key| rule.grounds(Some(&self.instruction.name), &[key]).kind).max()
    }
}

/// Fills `report` with the comparisons of two devices.
pub fn report(found: &[InstructionDistinction], report: &mut Report) {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for InstructionDistinction { sides, distinction, cause } in found {
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

/// The row of a comparison.
pub fn pair([x, y]: [&NamedSide; 2], distinction: &Distinction) -> PairRow {
    let shown = distinction.reasons.iter().filter(|reason| reason.witness.is_some());
    let why = match &distinction.verdict {
        DistinctionVerdict::Differ => {
            shown.clone().next().map(|reason| reason.sentence(names([x, y]).each_ref().map(|n| &n[..])))
        }
        DistinctionVerdict::Same(proof) => Some(proof.clone()),
        DistinctionVerdict::NotFound => None,
    };
    PairRow {
        x: x.device.to_string(),
        x_instruction: x.instruction.name.clone(),
        y: y.device.to_string(),
        y_instruction: y.instruction.name.clone(),
        verdict: distinction.verdict.name(),
        reasons: shown.count(),
        why,
        k: (x.instruction.k != y.instruction.k).then_some(distinction.shared.k),
        cases: distinction.tried,
    }
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

/// The names of both sides in sentences: the devices, or the instructions where the devices are one.
pub(super) fn names([x, y]: [&NamedSide; 2]) -> [String; 2] {
    match x.device == y.device {
        true => [x, y].map(|side| side.instruction.name.clone()),
        false => [x, y].map(|side| side.device.short()),
    }
}

/// The rows of the reasons of a comparison, numbered from `from`.
pub fn reasons(sides: [&NamedSide; 2], distinction: &Distinction, from: usize) -> Vec<ReasonRow> {
    let names = names(sides);
    let names = [&names[0][..], &names[1][..]];
    let mut rows = Vec::new();
    for reason in &distinction.reasons {
        let verdict = if reason.witness.is_some() { "shown" } else { "no input found" };
        let mut row = key_row(sides, from + rows.len(), reason, names, verdict);
        row.kind = reason.kind.map(|kind| kind.name());
        if let Some(witness) = &reason.witness {
            show(&mut row, &distinction.shared, witness);
        }
        rows.push(row);
    }
    for Unobservable { key, values, reason: proof } in &distinction.unobservable {
        let reason = DifferenceReason { keys: vec![(key.clone(), values.clone())], kind: None, witness: None };
        let mut row = key_row(sides, from + rows.len(), &reason, names, "cannot be observed");
        row.proof = Some(proof.clone());
        rows.push(row);
    }
    rows
}

/// The row of a reason, without an input.
pub(super) fn key_row(
    sides: [&NamedSide; 2],
    number: usize,
    reason: &DifferenceReason,
    names: [&str; 2],
    verdict: &'static str,
) -> ReasonRow {
    let [x, y] = sides.map(|side| format!("{}/{}", side.device, side.instruction));
    let key = reason.keys.iter().map(|(key, _)| key.clone()).collect();
    let mut row = ReasonRow { number, x, y, key, why: reason.sentence(names), verdict, ..ReasonRow::default() };
    rest(&mut row, sides);
    if let [(key, values)] = &reason.keys[..] {
        [row.x_value, row.y_value] = words::values(key, values).map(Some);
    }
    row
}

/// Fills in the evidence for the keys.
fn rest(row: &mut ReasonRow, sides: [&NamedSide; 2]) {
    [row.x_evidence, row.y_evidence] = sides.map(|side| side.evidence(&row.key));
    let named = |kind: Option<EvidenceKind>| kind.map_or("-", EvidenceKind::name);
    let known = row.x_evidence.is_some() || row.y_evidence.is_some();
    row.rests_on = known.then(|| format!("{}; {}", named(row.x_evidence), named(row.y_evidence)));
}

/// Fills in the witness of a reason.
fn show(row: &mut ReasonRow, i: &Instruction, witness: &Witness) {
    let (subject, case) = (Subject::Matrix(i), &witness.case);
    let [x, y] = witness.d;
    let decimal = |code: u64| Some(i.d.decode(code).decimal());
    row.alone = Some(witness.alone);
    row.terms = Some(Complexity::of(i, case).terms);
    row.operands = Some(operands(&subject, case));
    (row.x_d, row.x_result) = (Some(i.d.hex(x)), decimal(x));
    (row.y_d, row.y_result) = (Some(i.d.hex(y)), decimal(y));
    row.exact_d = witness.exact.map(|code| i.d.hex(code));
    row.exact_result = witness.exact.and_then(decimal);
    row.ulps = exact::distance(i.d, x, y);
    row.step = witness.step.clone();
    (row.a, row.b, row.c) = (hex(i.a, &case.a), hex(i.b, &case.b), Some(i.c.hex(case.c)));
    row.positions = case.positions.clone();
    let scale = i.scale.map_or(i.a, |scale| scale.format);
    (row.scale_a, row.scale_b) = (hex(scale, &case.scale_a), hex(scale, &case.scale_b));
}

fn hex(format: &Format, codes: &[u64]) -> Vec<String> {
    codes.iter().map(|code| format.hex(*code)).collect()
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
