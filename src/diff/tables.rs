//! Tables of changes.

use super::{compare::Changes, features::FeaturePair};
use crate::{
    arithmetic::EvidenceKind,
    report::{Cell, Table},
};

crate::rows! {
    /// A table of two results, compared.
    pub struct ComparedTableRow in "compared_tables" {
        /// Table; `result` for the result as a whole.
        table: String => shown("table").essential(),
        /// Rows of the first.
        first_rows: usize => shown("rows, first"),
        /// Rows of the second.
        second_rows: usize => shown("rows, second"),
        /// Equal rows.
        same: usize => shown("same").essential(),
        /// Rows with a changed value.
        changed: usize => shown("changed").essential(),
        /// Rows that only the first has.
        only_first: usize => shown("only in the first").essential(),
        /// Rows that only the second has.
        only_second: usize => shown("only in the second").essential(),
    }

    /// A value that differs between two results.
    pub struct ChangedCellRow in "changed_cells" {
        /// The table.
        table: String => shown("table").essential(),
        /// Name of the row.
        row: String => shown("row").essential(),
        /// The column.
        column: String => shown("column").essential(),
        /// The first's value.
        first: String => shown("first").essential(),
        /// The second's value.
        second: String => shown("second").essential(),
        /// Second number minus the first, over the magnitude of the first.
        relative: Option<f64> => shown("relative change").if_filled(),
    }

    /// A row that only one of two results has.
    pub struct UnmatchedRow in "unmatched_rows" {
        /// The table.
        table: String => shown("table").essential(),
        /// Name of the row.
        row: String => shown("row").essential(),
        /// Result that has it: `first` or `second`.
        only_in: &'static str => shown("only in").essential(),
    }

    /// A difference in provenance, which is no change of a result.
    pub struct OriginRow in "origins" {
        /// Member of the result, or column of a table.
        what: String => shown("item").essential(),
        /// Value in the first.
        first: Option<String> => shown("first").essential(),
        /// Value in the second.
        second: Option<String> => shown("second").essential(),
    }

    /// A feature of an instruction on two devices.
    pub struct FeaturePairRow in "compared_features" {
        /// The instruction of the first.
        instruction: String => shown("instruction").if_varied().essential(),
        /// The instruction of the second.
        other_instruction: String => hidden(),
        /// The feature.
        feature: &'static str => shown("feature").essential(),
        /// Finding on the first; absent where it cannot be asked.
        first: Option<String> => shown("first").essential(),
        /// Kind of evidence.
        first_evidence: Option<EvidenceKind> => hidden().marks("first"),
        /// Finding on the second.
        second: Option<String> => shown("second").essential(),
        /// Kind of evidence.
        second_evidence: Option<EvidenceKind> => hidden().marks("second"),
        /// True if the findings are the same.
        same: bool => shown("same").essential(),
    }
}

/// The answer in one sentence.
pub fn answer(changes: &Changes, [first, second]: [&str; 2]) -> String {
    if changes.is_none() {
        return format!("{first} and {second} are the same.");
    }
    let cells: usize = changes.tables.iter().map(|table| table.cells.len()).sum();
    let only: usize = changes.tables.iter().flat_map(|table| &table.only).map(Vec::len).sum();
    format!("{cells} values changed between {first} and {second}, and {only} rows are in one result only.")
}

/// Makes the tables of changes between two results that have rows.
pub fn changes(changes: &Changes) -> Vec<Table> {
    let name = |table: &str| if table.is_empty() { "result".to_string() } else { table.to_string() };
    let compared = changes.tables.iter().map(|table| ComparedTableRow {
        table: name(&table.table),
        first_rows: table.rows[0],
        second_rows: table.rows[1],
        same: table.same,
        changed: table.changed,
        only_first: table.only[0].len(),
        only_second: table.only[1].len(),
    });
    let cells = changes.tables.iter().flat_map(|table| {
        table.cells.iter().map(|change| {
            let [first, second] = change.values.each_ref().map(Cell::text);
            ChangedCellRow {
                table: name(&table.table),
                row: change.row.clone(),
                column: change.column.clone(),
                first,
                second,
                relative: change.relative(),
            }
        })
    });
    let unmatched = changes.tables.iter().flat_map(|table| {
        let of = |only_in: &'static str, rows: &[String]| {
            let row = |row: &String| UnmatchedRow { table: name(&table.table), row: row.clone(), only_in };
            rows.iter().map(row).collect::<Vec<_>>()
        };
        [of("first", &table.only[0]), of("second", &table.only[1])].concat()
    });
    let origins = changes.provenance.iter().map(|change| {
        let [first, second] = change.values.each_ref().map(|cell| (!cell.is_empty()).then(|| cell.text()));
        OriginRow { what: change.column.clone(), first, second }
    });
    let all = [
        Table::of("Compared tables", compared),
        Table::of("Changed values", cells),
        Table::of("Rows in one result only", unmatched),
        Table::of("Provenance", origins),
    ];
    all.into_iter().filter_map(Table::filled).collect()
}

/// Makes the table of features on two devices.
pub fn features(pairs: &[FeaturePair]) -> Table {
    let row = |pair: &FeaturePair| FeaturePairRow {
        instruction: pair.instructions[0].clone(),
        other_instruction: pair.instructions[1].clone(),
        feature: pair.feature,
        first: pair.findings[0].clone(),
        first_evidence: pair.evidence[0],
        second: pair.findings[1].clone(),
        second_evidence: pair.evidence[1],
        same: pair.is_same(),
    };
    Table::of("Features of both", pairs.iter().map(row))
}
