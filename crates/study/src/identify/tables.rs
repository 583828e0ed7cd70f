//! Tables of identified arithmetics.

use super::{Finding, Identification, Refuting, Study, shortfall::Shortfall, words};
use crate::{
    Error, Result,
    base::work::UNASKED,
    campaign::{Part, regimes},
    comparison::{Difference, Kinds, Listing, MismatchOrigin, Subject, operands},
    distinction::DifferenceKind,
    report::{Report, Table, Verdict, grouped},
    rule::{self, Decision, RefutingData, Tested, summaries},
};

crate::rows! {
    /// The arithmetic of an instruction.
    pub struct IdentifiedRow in "identified" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// `identified`: the rule gives every output; `approximated`: not every output;
        /// `unfinished`: the search was ended early.
        outcome: &'static str => shown("outcome").essential(),
        /// The nearest shipped arithmetic, and the differences from it.
        like: Option<String> => shown("arithmetic").essential(),
        /// The one value that the device gave for all inputs.
        gives: Option<String> => shown("gives").if_filled(),
        /// Tiles that the device executed before the held-out run.
        executions: u64 => shown("executions"),
        /// Outputs that were asked or recorded.
        asked: u64 => shown("asked"),
        /// Asked outputs that the rule does not give.
        misses: u64 => shown("missed").essential(),
        /// Missed outputs that are finite and not zero.
        finite_misses: u64 => hidden(),
        /// Missed outputs that are zero on one side, or zeros of different signs.
        zero_misses: u64 => hidden(),
        /// Missed outputs that are infinite or NaN on one side, or infinities of different signs.
        infinity_misses: u64 => hidden(),
        /// Missed outputs that are NaNs of different codes.
        nan_misses: u64 => hidden(),
        /// Missed outputs by kind of difference.
        missed_kinds: Option<String> => shown("missed by kind").if_filled(),
        /// Held-out cases that were compared.
        compared: Option<u64> => shown("held out").essential(),
        /// Held-out cases that differ.
        differing: Option<u64> => shown("differ").essential(),
        /// Held-out cases that differ, by kind of difference.
        differing_kinds: Option<String> => shown("differ by kind").if_filled(),
        /// Properties that the missed outputs have in common.
        common: Option<String> => hidden(),
        /// Seconds that the search took.
        seconds: f64 => shown("time").unit("s"),
    }

    /// The known arithmetic of an instruction, by its test kit.
    pub struct FingerprintRow in "fingerprints" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The shipped models with the arithmetic that gives every answer; empty if none does.
        arithmetic: Option<String> => shown("arithmetic").essential(),
        /// Known arithmetics that the test kit separates.
        known: usize => shown("known"),
        /// Inputs of the test kit.
        inputs: usize => shown("inputs"),
        /// Further outputs compared with the arithmetic that gives the kit's answers.
        others: usize => shown("others"),
        /// Tiles that the device executed.
        executions: usize => shown("executions"),
        /// The first input and answer that refute the last known arithmetic.
        refuted: Option<String> => shown("not known").if_filled(),
    }

    /// A line of a rule, and the evidence that decided it.
    pub struct LineEvidenceRow in "lines" {
        /// The instruction.
        instruction: String => shown("instruction"),
        /// The key.
        key: String => shown("key").essential(),
        /// Its value.
        value: String => shown("value").essential(),
        /// Values that agree with all answers.
        agreeing: String => shown("agreeing values").essential(),
        /// How far the answers decide the key.
        decision: &'static str => shown("decision").essential(),
        /// Values that agree with all answers together with another value of another key.
        pairs: Vec<String> => shown("agree in a pair").essential().if_filled(),
        /// The value that was refuted last.
        refuted: Option<String> => shown("refuted last"),
        /// The operands that refuted it.
        operands: Option<String> => shown("by"),
        /// The answer of the device.
        answer: Option<String> => shown("answer"),
    }
}

/// The name of the regime of outputs that the search asked for.
const ASKED: &str = "asked";

impl Finding {
    fn word(&self) -> &'static str {
        match (
            self.agrees(),
            self.stopped.is_some() || self.identification.spent || self.identification.failure.is_some(),
        ) {
            (_, true) => "unfinished",
            (true, false) => "identified",
            (false, false) => "approximated",
        }
    }
}

/// Puts the findings of a study into a report: tables, answer, verdict and notes.
/// `device` names the device, or the recording.
///
/// # Errors
/// No instruction has the name of a held-out run.
pub fn report(study: &Study, device: &str, report: &mut Report) -> Result<()> {
    let all = &study.findings;
    let shortfalls: Vec<Shortfall> = all.iter().map(Shortfall::of).collect();
    let rows: Vec<IdentifiedRow> =
        all.iter().zip(&shortfalls).map(|(finding, shortfall)| row(finding, shortfall)).collect();
    report.answer = words::answer(all, &shortfalls, &rows, device);
    report.tables = vec![Table::of("Identified arithmetics", rows)];
    report.tables.extend(lines(all).filled());
    let parts: Vec<Part> = all.iter().filter_map(|finding| finding.held_out.clone()).collect();
    if !parts.is_empty() {
        report.tables.push(regimes(&parts));
    }
    report.holds = !all.is_empty() && all.iter().all(Finding::agrees);
    report.verdict = Verdict::Unidentified;
    report.model = study.model_file();
    report.tables.extend(differences(all)?);
    report.notes.extend(all.iter().flat_map(remarks));
    Ok(())
}

/// The note on instructions that the device lacks; `None` if it lacks none.
pub fn left_out(lacking: &[Error]) -> Option<String> {
    match lacking {
        [] => None,
        [one] => Some(one.to_string()),
        [first, ..] => {
            Some(format!("Left out: {} instructions that the device lacks. The first: {first}", lacking.len()))
        }
    }
}

/// The row of a finding.
fn row(finding: &Finding, shortfall: &Shortfall) -> IdentifiedRow {
    let identification = &finding.identification;
    IdentifiedRow {
        instruction: identification.instruction.name.clone(),
        outcome: finding.word(),
        like: finding.like.as_ref().map(|like| like.words.clone()),
        gives: identification.uniform.map(|uniform| uniform.to_string()),
        executions: identification.executions,
        asked: identification.asked.d.len() as u64,
        misses: identification.misses.min(identification.asked.d.len()) as u64,
        finite_misses: shortfall.missed(&[DifferenceKind::Finite]),
        zero_misses: shortfall.missed(&[DifferenceKind::Zero, DifferenceKind::SignOfZero]),
        infinity_misses: shortfall.missed(&[DifferenceKind::NonFinite]),
        nan_misses: shortfall.missed(&[DifferenceKind::NanCode]),
        missed_kinds: shortfall.asked_words(),
        compared: finding.held_out.as_ref().map(|part| part.state.compared()),
        differing: finding.held_out.as_ref().map(|part| part.state.differing()),
        differing_kinds: shortfall.held_out_words(),
        common: Some(shortfall.common.join(" ")).filter(|common| !common.is_empty()),
        seconds: finding.seconds,
    }
}

/// The notes that a reader of the tables needs on an instruction.
fn remarks(finding: &Finding) -> Vec<String> {
    let Finding { identification, tested, held_out, stopped, .. } = finding;
    let name = &identification.instruction;
    let mut notes = Vec::new();
    if identification.spent {
        notes.push(format!(
            "{name}: the search ended early, after {} tiles; ‹budget=N› allows N tiles.",
            grouped(identification.executions as i64)
        ));
    }
    match stopped {
        Some(Error::Interrupted { .. }) | None => {}
        Some(error) => notes.push(format!("{name}: the result covers the answers before the device failed: {error}")),
    }
    if let (0, Some(tested)) = (identification.executions, tested) {
        let known = identification.agreeing();
        let also = match known.len() {
            0 | 1 => String::new(),
            count => format!(" {count} known arithmetics give all its outputs: {}.", known.join(", ")),
        };
        notes.push(format!("{name}: the recorded outputs show: {}.{also}", decisions(identification, tested)));
    }
    let survivors = tested.iter().flat_map(|tested| tested.survivors(&identification.asked.part()));
    if let (1.., Some(others)) = (identification.executions, rule::others(&survivors.collect::<Vec<_>>())) {
        notes.push(format!("{name}: {others}"));
    }
    if let Some(part) = held_out.as_ref().filter(|part| stopped.is_none() && !part.state.finished) {
        notes.push(format!(
            "{name}: the held-out run ended after {} seconds with {} cases; ‹cases=N› asks for N cases.",
            UNASKED.as_secs(),
            grouped(part.state.compared() as i64)
        ));
    }
    notes
}

/// The table `mismatches`: the causes for which the rules miss asked outputs and held-out ones.
///
/// # Errors
/// None: nothing is reduced.
fn differences(findings: &[Finding]) -> Result<Option<Table>> {
    let mut listing = Listing::default();
    for Finding { identification, missed, held_out, .. } in findings {
        let subject = Subject::Matrix(&identification.instruction);
        let regimes = held_out.as_ref().map_or(&[][..], |part| &part.run.regimes);
        let asked = missed.iter().map(|cause| Difference { regime: regimes.len(), ..cause.clone() });
        let listed = held_out.iter().flat_map(|part| part.counterexamples.iter().flatten().cloned());
        let mut causes = Vec::new();
        Kinds::of(&subject, asked.chain(listed)).causes(&subject, usize::MAX, &mut |_| Ok(()), &mut causes)?;
        for cause in &causes {
            let regime = regimes.get(cause.regime).map_or(ASKED, |regime| regime);
            listing.add(&subject, &MismatchOrigin { regime: Some(regime), ..MismatchOrigin::default() }, cause);
        }
    }
    Ok(listing.table())
}

/// Tests the changes of the rule that was found against the answers; `None` without a rule.
///
/// # Errors
/// The rule does not hold for the instruction.
pub fn tested(identification: &Identification) -> Result<Option<Tested>> {
    let Some(model) = identification.model() else { return Ok(None) };
    let data = RefutingData::recorded("asked", identification.asked.clone()).trusting_proofs();
    let mut tested = Vec::new();
    rule::refute(&model, &[data], &mut tested, &mut |_| ())?;
    Ok(tested.pop())
}

/// Says in sentences how far the answers decide the keys of a rule; unmeasured keys are left out.
fn decisions(identification: &Identification, tested: &Tested) -> String {
    let mut summaries = summaries(tested);
    summaries.retain(|summary| identification.is_measured(&summary.key));
    rule::sentences(&summaries)
}

/// The table of the lines of rules, with the evidence that decided them.
fn lines(findings: &[Finding]) -> Table {
    let rows = findings
        .iter()
        .filter_map(|finding| Some(line_rows(&finding.identification, finding.tested.as_ref()?, &finding.evidence)));
    Table::of("Evidence for each line", rows.flatten())
}

fn line_rows(identification: &Identification, tested: &Tested, evidence: &[Refuting]) -> Vec<LineEvidenceRow> {
    let part = identification.asked.part();
    let row = |summary: rule::KeySummary| {
        let last = evidence.iter().find(|refuting| refuting.change.key == summary.key);
        LineEvidenceRow {
            instruction: identification.instruction.name.clone(),
            value: summary.value,
            agreeing: summary.agreeing.join(", "),
            decision: summary.decision.name(),
            pairs: summary.pairs.iter().map(ToString::to_string).collect(),
            refuted: last.map(|refuting| refuting.change.to()),
            operands: last.map(|refuting| operands(&Subject::Matrix(&part), &refuting.case)),
            answer: last.map(|refuting| part.d.hex(refuting.answer)),
            key: summary.key,
        }
    };
    // A key that the rule lacks is worth a line only if the answers leave it open.
    let said = |summary: &rule::KeySummary| {
        let open = [Decision::Undecided, Decision::Partly, Decision::OpenInPair].contains(&summary.decision);
        identification.is_measured(&summary.key) && (summary.value != "absent" || open)
    };
    summaries(tested).into_iter().filter(said).map(row).collect()
}
