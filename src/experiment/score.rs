//! Counts of reproduced cells and of findings that hold.

use std::fmt::Display;

use super::{
    CellVerdict, ExperimentFinding,
    finding::FindingResult,
    table::{FindingRow, finding_row},
};
use crate::base::sentence;

/// Cells and findings by their outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ExperimentScore {
    reproduced: usize,
    /// Cells that differ without deciding: accepted by the file, or on a device of another generation.
    forgiven: usize,
    differing: usize,
    untestable: usize,
    holding: usize,
    /// Findings that do not hold, without deciding.
    excused: usize,
    failing: usize,
}

impl ExperimentScore {
    /// Takes in a cell (`None`: not measured); `decides`: a difference changes the exit status.
    pub(super) fn cell(&mut self, verdict: Option<CellVerdict>, decides: bool) {
        *match (verdict, decides) {
            (Some(CellVerdict::Printed | CellVerdict::Sampling), _) => &mut self.reproduced,
            (Some(CellVerdict::Differs), true) => &mut self.differing,
            (Some(CellVerdict::Differs), false) => &mut self.forgiven,
            (None, _) => &mut self.untestable,
        } += 1;
    }

    /// Takes in the result of a finding on a device, if there is one, and returns its row.
    pub(super) fn finding(
        &mut self,
        (device, counts): (&str, bool),
        finding: &ExperimentFinding,
        found: Option<FindingResult>,
    ) -> Option<FindingRow> {
        let found = found?;
        self.holding(found.holds, counts && finding.accepted.is_none());
        Some(finding_row((device, counts), finding, &found))
    }

    fn holding(&mut self, holds: bool, decides: bool) {
        *match (holds, decides) {
            (true, _) => &mut self.holding,
            (false, true) => &mut self.failing,
            (false, false) => &mut self.excused,
        } += 1;
    }

    /// True if all cells and findings that decide are as published.
    pub(super) fn holds(&self) -> bool {
        self.differing == 0 && self.failing == 0
    }

    /// The counts in sentences; `None` where nothing was judged.
    pub(super) fn answer(&self, devices: &[impl Display]) -> Option<String> {
        let on = sentence::devices(devices);
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
        score.cell(Some(CellVerdict::Printed), true);
        score.cell(Some(CellVerdict::Differs), false);
        assert!(score.holds());
        score.cell(None, true);
        score.holding(true, true);
        assert!(score.holds());
        score.holding(false, true);
        assert!(!score.holds());
        let expected = "1 of 3 published figures are reproduced on model:hopper; 1 are not, which is accepted or expected there; 1 could \
                        not be tested. 1 of 2 findings hold; 1 do not.";
        assert_eq!(score.answer(&["model:hopper"]).as_deref(), Some(expected));
    }
}
