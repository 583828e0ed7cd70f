//! The checks of a report: rows that hold or fail.

use crate::{
    Error,
    report::{Report, RowView, Rows},
};

/// A claim of a report with its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Table of the row.
    pub group: String,
    /// Name: an instruction, a claim, a table.
    pub name: String,
    /// Outcome.
    pub outcome: CheckOutcome,
    /// Seconds of work, if known.
    pub seconds: Option<f64>,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// It holds.
    Held,
    /// It fails.
    Failed {
        /// Message in one sentence.
        message: String,
        /// All cells of the report on it, a line each.
        detail: String,
    },
    /// It was not done or not finished.
    Undone {
        /// Reason in one sentence.
        message: String,
        /// Work that was done, a line each.
        detail: String,
    },
}

/// A table with details of the rows of another.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DetailTable {
    table: &'static str,
    /// The column of both that links their rows.
    column: &'static str,
}

/// The rows of a table as checks.
struct CheckedTable {
    table: &'static str,
    /// Columns that name a row.
    name: &'static [&'static str],
    /// Message if the row fails.
    failure: fn(&RowView) -> Option<String>,
    /// Table with details.
    details: Option<DetailTable>,
    /// Table whose rows are cases of these rows, and are checked in their place.
    in_cases_of: Option<&'static str>,
}

/// Most quoted rows of details.
const MOST_DETAILS: usize = 20;

const KINDS: &[CheckedTable] = &[
    CheckedTable {
        table: "verification",
        name: &["instruction", "position", "device", "model"],
        failure: |row| match row.integer("differing") {
            Some(0) | None => None,
            Some(count) => {
                Some(format!("{count} of {} outputs differ from the model", row.integer("compared").unwrap_or(0)))
            }
        },
        details: Some(DetailTable { table: "mismatches", column: "instruction" }),
        in_cases_of: Some("replayed"),
    },
    CheckedTable {
        table: "replayed",
        name: &["file", "instruction", "tile"],
        failure: |row| match row.integer("differing") {
            Some(0) | None => None,
            Some(count) => {
                Some(format!("{count} of {} outputs differ from the model", row.integer("outputs").unwrap_or(0)))
            }
        },
        details: None,
        in_cases_of: None,
    },
    CheckedTable {
        table: "product_check",
        name: &["claim", "m", "n", "k"],
        failure: |row| match row.integer("outside").unwrap_or(0) + row.integer("running_outside").unwrap_or(0) {
            0 => None,
            count => {
                Some(format!("{count} of {} elements are outside the bound", row.integer("elements").unwrap_or(0)))
            }
        },
        details: None,
        in_cases_of: None,
    },
    CheckedTable {
        table: "cells",
        name: &["instruction", "op", "init", "reference", "device"],
        failure: unreproduced,
        details: None,
        in_cases_of: None,
    },
    CheckedTable {
        table: "figures",
        name: &["experiment", "figure", "devices"],
        failure: unreproduced,
        details: None,
        in_cases_of: None,
    },
    CheckedTable {
        table: "experiment_findings",
        name: &["experiment", "claim", "devices"],
        failure: |row| {
            let decides = row.flag("decides") == Some(true);
            (decides && row.flag("holds") == Some(false)).then(|| "the published finding does not hold".into())
        },
        details: None,
        in_cases_of: None,
    },
    CheckedTable {
        table: "findings",
        name: &["claim", "device"],
        failure: |row| (row.flag("holds") == Some(false)).then(|| "the published finding does not hold".into()),
        details: None,
        in_cases_of: None,
    },
    CheckedTable {
        table: "compared_tables",
        name: &["table"],
        failure: |row| {
            let count = |column: &str| row.integer(column).unwrap_or(0);
            let (changed, only) = (count("changed"), count("only_first") + count("only_second"));
            (changed + only > 0).then(|| format!("{changed} rows changed, {only} are in one result only"))
        },
        details: Some(DetailTable { table: "changed_cells", column: "table" }),
        in_cases_of: None,
    },
    CheckedTable {
        table: "distinguished",
        name: &["x", "x_instruction", "y", "y_instruction"],
        failure: |row| {
            let why = || row.shown("why").unwrap_or("the results differ".into());
            (row.text("verdict") == "differ").then(why)
        },
        details: None,
        in_cases_of: None,
    },
    CheckedTable {
        table: "compared_features",
        name: &["instruction", "feature"],
        failure: |row| {
            let shown = |column: &str| row.shown(column).unwrap_or("-".into());
            (row.flag("same") == Some(false)).then(|| format!("{} became {}", shown("first"), shown("second")))
        },
        details: None,
        in_cases_of: None,
    },
];

/// The failure of a published figure that is neither accepted nor expected to differ.
fn unreproduced(row: &RowView) -> Option<String> {
    let verdict = row.text("verdict");
    let expected = ["not reproduced: accepted", "not reproduced: another generation"];
    let differs = verdict.starts_with("not reproduced") && !expected.iter().any(|prefix| verdict.starts_with(prefix));
    differs.then(|| "the published figure is not reproduced".into())
}

/// Lists the checks of a report whose command ended early by `failure`, or did not.
/// The command itself is a check if no row is one, if its claim fails and no row shows it, or if it ended early.
pub fn checks(report: &Report, failure: Option<&Error>) -> Vec<Check> {
    let has = |key: &str| report.tables.iter().any(|table| table.key == key);
    let kinds = KINDS.iter().filter(|kind| !(kind.in_cases_of.is_some_and(has)));
    let mut checks: Vec<Check> = kinds.flat_map(|kind| of_kind(kind, report)).collect();
    let said = checks.iter().any(|check| check.outcome != CheckOutcome::Held);
    let end = failure.cloned().or(report.interrupted.map(|by| Error::Interrupted { by }));
    if checks.is_empty() || !report.holds && !said || end.is_some() {
        let detail = || report.answer.iter().chain(&report.notes).cloned().collect::<Vec<_>>().join("\n");
        let outcome = match end {
            Some(error) => CheckOutcome::Undone { message: error.to_string(), detail: detail() },
            None if report.holds => CheckOutcome::Held,
            None => CheckOutcome::Failed { message: report.verdict.name().into(), detail: detail() },
        };
        checks.push(Check {
            group: report.command.to_string(),
            name: report.invocation.clone(),
            outcome,
            seconds: None,
        });
    }
    checks
}

fn of_kind<'a>(kind: &'a CheckedTable, report: &'a Report) -> impl Iterator<Item = Check> + 'a {
    let table = report.tables.iter().filter(|table| table.key == kind.table);
    table.flat_map(|table| Rows(table).iter()).map(move |row| {
        // A number needs its column: `tile 3`.
        let part = |column: &&str| match row.integer(column) {
            Some(number) => Some(format!("{column} {number}")),
            None => row.shown(column),
        };
        let parts: Vec<String> = kind.name.iter().filter_map(part).collect();
        let outcome = match (kind.failure)(&row) {
            Some(message) => CheckOutcome::Failed { message, detail: detail(kind, &row, report) },
            None if row.flag("finished") == Some(false) => {
                CheckOutcome::Undone { message: "the run is not finished".into(), detail: detail(kind, &row, report) }
            }
            None => CheckOutcome::Held,
        };
        Check { group: kind.table.into(), name: parts.join(" "), outcome, seconds: row.number("seconds") }
    })
}

/// The cells of a row and of its details.
fn detail(kind: &CheckedTable, row: &RowView, report: &Report) -> String {
    let mut lines = row.lines();
    let more = kind.details.and_then(|DetailTable { table: key, column }| {
        Some((report.tables.iter().find(|table| table.key == key)?, column))
    });
    if let Some((table, by)) = more {
        let details: Vec<RowView> = Rows(table).iter().filter(|other| other.shown(by) == row.shown(by)).collect();
        for other in details.iter().take(MOST_DETAILS) {
            lines.push(String::new());
            lines.extend(other.lines());
        }
        if details.len() > MOST_DETAILS {
            lines.push(format!("\nand {} more", details.len() - MOST_DETAILS));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interruption, report::Verdict, tables};

    #[test]
    fn every_kind_of_check_is_a_table_with_its_columns() {
        let declared = tables::declared();
        for kind in KINDS {
            let has = |table: &str, column: &str| {
                let table =
                    declared.iter().find(|candidate| candidate.key == table).unwrap_or_else(|| panic!("{table}"));
                table.columns.iter().any(|candidate| candidate.key == column)
            };
            assert!(kind.name.iter().all(|column| has(kind.table, column)), "{}", kind.table);
            if let Some(DetailTable { table, column }) = kind.details {
                assert!(has(table, column) && has(kind.table, column), "{table}");
            }
            assert!(kind.in_cases_of.is_none_or(|table| KINDS.iter().any(|kind| kind.table == table)));
        }
    }

    #[test]
    fn a_claim_that_no_row_denies_and_an_early_end_are_checks() {
        let mut report = Report::new("verify", "tcnum verify");
        let outcome = |report: &Report, failure: Option<&Error>| checks(report, failure).remove(0).outcome;
        assert_eq!(outcome(&report, None), CheckOutcome::Held);
        let text = |message: &str, detail: &str| (message.to_string(), detail.to_string());
        let (message, detail) = text("the device is gone", "");
        assert_eq!(outcome(&report, Some(&Error::device(&message))), CheckOutcome::Undone { message, detail });
        report.holds = false;
        report.answer = Some("No output was compared.".into());
        report.notes = vec!["The part is empty.".into()];
        let (message, detail) = text(Verdict::Mismatch.name(), "No output was compared.\nThe part is empty.");
        assert_eq!(outcome(&report, None), CheckOutcome::Failed { message, detail: detail.clone() });
        report.interrupted = Some(Interruption::TimeLimit);
        let message = "interrupted by --time-limit".into();
        assert_eq!(outcome(&report, None), CheckOutcome::Undone { message, detail });
    }
}
