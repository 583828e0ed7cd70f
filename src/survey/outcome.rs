//! The state of knowledge on each instruction: as the model, identified, or open.

use super::Survey;
use crate::{
    isa::Instruction,
    report::{Report, RowView, Rows},
};

/// The state of knowledge on the arithmetic of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutcomeKind {
    /// The model gives every output.
    Agrees,
    /// A rule that was identified gives every output.
    Identified,
    /// A rule that was identified gives nearly every output.
    Approximated,
    /// The model does not give every output, and nothing else is known.
    Differs,
    /// Nothing is known yet.
    Open,
}

impl OutcomeKind {
    /// The word in results.
    fn name(self) -> &'static str {
        match self {
            OutcomeKind::Agrees => "as the model",
            OutcomeKind::Identified => "identified",
            OutcomeKind::Approximated => "approximated",
            OutcomeKind::Differs => "differs",
            OutcomeKind::Open => "open",
        }
    }
}

crate::rows! {
    /// An instruction of a surveyed device.
    pub struct SurveyRow in "surveyed" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// How the device executes it.
        execution: Option<String> => shown("execution").if_filled(),
        /// Machine instructions that ran.
        opcodes: Vec<String> => shown("machine code").if_filled(),
        /// How far its arithmetic is known.
        outcome: &'static str => shown("arithmetic").essential(),
        /// The model that it is compared with; empty if the model does not cover it.
        model: Option<String> => shown("model").if_varied(),
        /// Outputs compared with the model.
        compared: Option<i64> => shown("compared").if_filled(),
        /// Outputs that differ from the model's.
        differing: Option<i64> => shown("differ").if_filled().essential(),
        /// The nearest shipped arithmetic of an identified one.
        like: Option<String> => shown("identified").if_filled().essential(),
        /// Held-out cases that the identified rule was compared with.
        held_out: Option<i64> => shown("held out").if_filled(),
        /// The model of the generation before.
        before: Option<String> => hidden(),
        /// The relation to the generation before: `new`, `changed` or `as before`; empty if not compared.
        news: Option<&'static str> => shown("against the generation before").if_filled().essential(),
        /// Reasons why it differs from the generation before.
        reasons: Vec<String> => shown("changes").if_filled(),
    }
}

/// The state of knowledge on an instruction.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) instruction: &'a Instruction,
    pub(super) kind: OutcomeKind,
    /// True if the model has a rule for it.
    is_covered: bool,
    pub(super) execution: Option<String>,
    opcodes: Vec<String>,
    pub(super) compared: Option<i64>,
    differing: Option<i64>,
    pub(super) like: Option<String>,
    held_out: Option<i64>,
}

/// The row of an instruction in the tables of a key.
fn row<'r>(results: &[&'r Report], key: &str, name: &str) -> Option<RowView<'r>> {
    let tables = results.iter().flat_map(|report| &report.tables).filter(|table| table.key == key);
    tables.flat_map(|table| Rows(table).iter()).find(|row| row.text("instruction") == name)
}

impl<'a> Outcome<'a> {
    /// The outcome for an instruction by the results so far.
    pub(super) fn of(instruction: &'a Instruction, is_covered: bool, results: &[&Report]) -> Outcome<'a> {
        let verified = row(results, "verification", &instruction.name);
        let identified = row(results, "identified", &instruction.name);
        let recorded = row(results, "recordings", &instruction.name);
        let [compared, differing] =
            ["compared", "differing"].map(|key| verified.and_then(|row| row.integer(key)).filter(|_| is_covered));
        let is_finished = verified.is_some_and(|row| row.flag("finished") == Some(true));
        let kind = match (identified.map(|row| row.text("outcome")), differing) {
            (Some("identified"), _) => OutcomeKind::Identified,
            (Some("approximated"), _) => OutcomeKind::Approximated,
            (_, Some(0)) if is_finished && compared > Some(0) => OutcomeKind::Agrees,
            (_, Some(differing)) if differing > 0 => OutcomeKind::Differs,
            _ => OutcomeKind::Open,
        };
        let opcodes = verified.map_or(Vec::new(), |row| row.list("opcodes"));
        Outcome {
            instruction,
            kind,
            is_covered,
            execution: verified.or(recorded).and_then(|row| row.shown("execution")),
            opcodes: opcodes.into_iter().map(String::from).collect(),
            compared,
            differing,
            like: identified.and_then(|row| row.shown("like")),
            held_out: identified.and_then(|row| row.integer("compared")),
        }
    }

    /// True if the model does not describe it, or gives other outputs.
    pub(super) fn is_unlike(&self) -> bool {
        !self.is_covered || self.differing.is_some_and(|differing| differing > 0)
    }

    /// True if a rule is known that gives every output.
    pub(super) fn is_described(&self) -> bool {
        matches!(self.kind, OutcomeKind::Agrees | OutcomeKind::Identified)
    }
}

/// The change of an instruction against the generation before; `None` if they were not compared.
pub(super) fn news(survey: &Survey, outcome: &Outcome) -> Option<&'static str> {
    let before = survey.comparison.before.as_ref()?;
    if before.model.rule(outcome.instruction).is_none() {
        return Some("new");
    }
    let rows = survey.kept.iter().flat_map(|kept| &kept.report.tables).filter(|table| table.key == "distinguished");
    let compared = rows.flat_map(|table| Rows(table).iter());
    let row = compared.into_iter().find(|row| row.text("x_instruction") == outcome.instruction.name)?;
    Some(if row.text("verdict") == "differ" { "changed" } else { "as before" })
}

/// The reasons why instructions differ from the generation before, each with its instruction.
pub(super) fn reasons(survey: &Survey) -> Vec<(&str, String)> {
    let tables = survey.kept.iter().flat_map(|kept| &kept.report.tables).filter(|table| table.key == "reasons");
    let draft = survey.folder.file(super::draft::FILE).display().to_string();
    let rows = tables.flat_map(|table| Rows(table).iter()).filter(|row| row.text("verdict") == "shown");
    let reason = |row: RowView| -> Option<(&str, String)> {
        let (_, instruction) = row.text("x").rsplit_once('/')?;
        let instruction = survey.instructions.iter().find(|known| known.name == instruction)?;
        let why = row.text("why").replace(&format!(" in {draft}"), " here");
        Some((instruction.name.as_str(), why.trim_end_matches('.').to_string()))
    };
    rows.filter_map(reason).collect()
}

/// The rows of all instructions.
pub(super) fn rows(survey: &Survey, outcomes: &[Outcome]) -> Vec<SurveyRow> {
    let reasons = reasons(survey);
    let row = |outcome: &Outcome| SurveyRow {
        instruction: outcome.instruction.name.clone(),
        execution: outcome.execution.clone(),
        opcodes: outcome.opcodes.clone(),
        outcome: outcome.kind.name(),
        model: survey.comparison.model_name().filter(|_| outcome.is_covered).map(String::from),
        compared: outcome.compared,
        differing: outcome.differing,
        like: outcome.like.clone(),
        held_out: outcome.held_out,
        before: survey.comparison.before.as_ref().map(|before| before.argument.clone()),
        news: news(survey, outcome),
        reasons: reasons
            .iter()
            .filter(|(name, _)| *name == outcome.instruction.name)
            .map(|(_, why)| why.clone())
            .collect(),
    };
    outcomes.iter().map(row).collect()
}
