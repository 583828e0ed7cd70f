//! Tables of comparisons, of models that agree, and of test kits.

use super::{DifferenceReason, Distinction, DistinctionVerdict, Unobservable, Witness, words};
use crate::{
    arithmetic::{EvidenceKind, Rule},
    comparison::{Complexity, Subject, operands},
    device::{Device, DeviceName},
    exact,
    format::Format,
    isa::Instruction,
};

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

/// The names of both sides in sentences: the devices, or the instructions where the devices are one.
pub fn names([x, y]: [&NamedSide; 2]) -> [String; 2] {
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
pub fn key_row(
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

/// Codes in hexadecimal.
pub fn hex(format: &Format, codes: &[u64]) -> Vec<String> {
    codes.iter().map(|code| format.hex(*code)).collect()
}
