//! Published figures and findings with their outcomes, and their counts.

use std::fmt::Display;

use super::{CellVerdict, ExperimentFinding, FigureRow, finding::FindingResult, table::FindingRow, verdict::Judgement};
use crate::base::sentence;

/// A published figure on a device.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct FigureOutcome {
    /// The row of the figure, with its one device.
    pub(super) row: FigureRow,
    /// The judgement; `None`: not measured.
    pub(super) judgement: Option<Judgement>,
    /// Why it was not measured.
    pub(super) missing: Option<String>,
}

/// Figures and findings with their outcomes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ExperimentScore {
    pub(super) figures: Vec<FigureOutcome>,
    /// The findings; true if one decides the exit status.
    pub(super) findings: Vec<(FindingRow, bool)>,
    /// Cells of a table that no device takes part in: reproduced, misprinted, differing.
    pub(super) on_paper: [usize; 3],
}

/// Number of figures and findings by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OutcomeCounts {
    pub(super) reproduced: usize,
    /// Figures that differ without deciding: accepted by the file, or on a device of another generation.
    pub(super) forgiven: usize,
    pub(super) differing: usize,
    pub(super) untestable: usize,
    pub(super) holding: usize,
    /// Findings that do not hold, without deciding.
    pub(super) excused: usize,
    pub(super) failing: usize,
}

impl ExperimentScore {
    /// Takes in the result of a finding on a device, if there is one, and returns its row.
    pub(super) fn finding(
        &mut self,
        device: &str,
        counts: bool,
        finding: &ExperimentFinding,
        result: Option<FindingResult>,
    ) -> Option<FindingRow> {
        let FindingResult { holds, measured } = result?;
        let (claim, device) = (finding.claim.clone(), device.into());
        let accepted = finding.accepted.clone().filter(|_| !holds);
        let row = FindingRow { claim, device, measured, holds, counts: Some(counts), accepted };
        self.findings.push((row.clone(), counts && finding.accepted.is_none()));
        Some(row)
    }

    /// The counts of figures and findings that devices decide.
    pub(super) fn counts(&self) -> OutcomeCounts {
        let mut counts = OutcomeCounts::default();
        for figure in &self.figures {
            *match (figure.judgement.map(|judgement| judgement.verdict), figure.row.decides) {
                (Some(CellVerdict::Printed | CellVerdict::Sampling), _) => &mut counts.reproduced,
                (Some(CellVerdict::Differs), true) => &mut counts.differing,
                (Some(CellVerdict::Differs), false) => &mut counts.forgiven,
                (None, _) => &mut counts.untestable,
            } += 1;
        }
        for (row, decides) in &self.findings {
            *match (row.holds, decides) {
                (true, _) => &mut counts.holding,
                (false, true) => &mut counts.failing,
                (false, false) => &mut counts.excused,
            } += 1;
        }
        counts
    }

    /// True if all figures and findings that decide are as published.
    pub(super) fn holds(&self) -> bool {
        let counts = self.counts();
        counts.differing == 0 && counts.failing == 0
    }

    /// The counts in sentences; `None` where nothing was judged.
    pub(super) fn answer(&self, devices: &[impl Display]) -> Option<String> {
        self.counts().sentences(&sentence::devices(devices))
    }
}

impl OutcomeCounts {
    /// The counts in sentences; `on` names the devices.
    pub(super) fn sentences(&self, on: &str) -> Option<String> {
        let others = |counts: [(usize, &str); 3]| {
            let some = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("; {count} {what}"));
            some.collect::<String>()
        };
        let cells = self.reproduced + self.forgiven + self.differing + self.untestable;
        let of_cells = (cells > 0).then(|| {
            let rest = others([
                (self.differing, "are not"),
                (self.forgiven, "are not, which is accepted or expected there"),
                (self.untestable, "could not be tested"),
            ]);
            format!("{} of {cells} published figures are reproduced on {on}{rest}.", self.reproduced)
        });
        let findings = self.holding + self.excused + self.failing;
        let of_findings = (findings > 0).then(|| {
            let rest = others([
                (self.failing, "do not"),
                (self.excused, "do not, which is accepted or expected there"),
                (0, ""),
            ]);
            let on = if cells > 0 { String::new() } else { format!(" on {on}") };
            format!("{} of {findings} findings hold{on}{rest}.", self.holding)
        });
        let sentences: Vec<String> = of_cells.into_iter().chain(of_findings).collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_what_decides_apart_from_what_does_not() {
        let mut score = ExperimentScore::default();
        assert_eq!((score.answer(&["model:hopper"]), score.holds()), (None, true));
        let mut cell = |verdict: Option<CellVerdict>, decides| {
            let judgement = verdict.map(|verdict| Judgement::of(verdict, ""));
            let row = FigureRow { decides, ..FigureRow::default() };
            score.figures.push(FigureOutcome { row, judgement, missing: None });
            score.holds()
        };
        assert!(cell(Some(CellVerdict::Printed), true));
        assert!(cell(Some(CellVerdict::Differs), false));
        assert!(cell(None, true));
        let finding = |accepted: Option<&str>| ExperimentFinding {
            claim: "a claim".into(),
            check: super::super::finding::Condition::Worse {},
            accepted: accepted.map(Into::into),
        };
        let result = |holds| Some(FindingResult { holds, measured: String::new() });
        score.finding("model:hopper", true, &finding(None), result(true));
        score.finding("model:hopper", true, &finding(Some("known")), result(false));
        assert!(score.holds());
        score.finding("model:hopper", true, &finding(None), result(false));
        assert!(!score.holds());
        let expected = "1 of 3 published figures are reproduced on model:hopper; 1 are not, which is accepted or expected there; 1 could \
                        not be tested. 1 of 3 findings hold; 1 do not; 1 do not, which is accepted or expected there.";
        assert_eq!(score.answer(&["model:hopper"]).as_deref(), Some(expected));
    }
}
