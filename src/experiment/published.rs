//! Published numbers by their places in a report, and their comparison with the reports of devices.

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{
    FigureRow, NOT_TESTABLE, Printed,
    answers::DeviceAnswers,
    score::FigureOutcome,
    verdict::{Judgement, why},
};
use crate::report::{Cell, Column, Declaration, RowView};

/// A published number, and its place in a report.
#[derive(Debug, Clone)]
pub struct PublishedNumber {
    /// The table.
    pub table: String,
    /// The cells that name the row.
    pub row: Vec<(String, Cell)>,
    /// The column.
    pub column: String,
    /// The number as printed.
    pub printed: Printed,
    /// Reason for an expected difference, or another remark.
    pub explanation: Option<String>,
    /// Reason for accepting a difference.
    pub accepted: Option<String>,
}

/// Rows of a report's table, with printed numbers in some columns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedRows {
    table: String,
    /// The columns that name a row.
    keys: Vec<String>,
    /// The columns with printed numbers.
    columns: Vec<String>,
    /// For each row its names, then its numbers.
    rows: Vec<Vec<toml::Value>>,
    explanation: Option<String>,
    accepted: Option<String>,
}

/// The published numbers of a file, row by row.
pub(super) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PublishedNumber>, D::Error> {
    let mut numbers = Vec::new();
    for block in Vec::<PublishedRows>::deserialize(deserializer)? {
        for row in &block.rows {
            if row.len() != block.keys.len() + block.columns.len() {
                return Err(D::Error::custom(format!(
                    "a row of {} has another number of cells than columns",
                    block.table
                )));
            }
            let (names, printed) = row.split_at(block.keys.len());
            let names: Vec<Cell> = names.iter().map(named).collect::<Result<_, _>>().map_err(D::Error::custom)?;
            for (column, printed) in block.columns.iter().zip(printed) {
                numbers.push(PublishedNumber {
                    table: block.table.clone(),
                    row: block.keys.iter().cloned().zip(names.iter().cloned()).collect(),
                    column: column.clone(),
                    printed: Printed::deserialize(printed.clone()).map_err(D::Error::custom)?,
                    explanation: block.explanation.clone(),
                    accepted: block.accepted.clone(),
                });
            }
        }
    }
    Ok(numbers)
}

fn named(value: &toml::Value) -> Result<Cell, String> {
    match value {
        toml::Value::String(text) => Ok(Cell::Text(text.clone())),
        toml::Value::Integer(value) => Ok(Cell::Integer(*value)),
        other => Err(format!("{other} names no row; expected a text or a whole number")),
    }
}

impl PublishedNumber {
    /// The text of a cell that names the row; empty if there is none.
    pub(super) fn key(&self, column: &str) -> &str {
        match self.row.iter().find(|(key, _)| key == column) {
            Some((_, Cell::Text(text))) => text,
            _ => "",
        }
    }

    /// The column among tables; `None` if they lack it.
    pub(super) fn column<'t>(&self, tables: &'t [Declaration]) -> Option<&'t Column> {
        let table = tables.iter().find(|table| table.key == self.table)?;
        table.columns.iter().find(|column| column.key == self.column)
    }

    /// A missing table or column.
    pub(super) fn defect(&self, tables: &[Declaration]) -> Option<String> {
        let Some(table) = tables.iter().find(|table| table.key == self.table) else {
            let known: Vec<&str> = tables.iter().map(|table| table.key).collect();
            return Some(format!("no question gives a table '{}'; expected one of: {}", self.table, known.join(", ")));
        };
        let mut named = self.row.iter().map(|(key, _)| key).chain([&self.column]);
        let missing = named.find(|key| !table.columns.iter().any(|column| column.key == **key))?;
        Some(format!("the table {} has no column '{missing}'", self.table))
    }
}

/// A published number on a device.
pub(super) struct ComparedNumber<'a> {
    /// The place of the number among all of the file.
    pub place: usize,
    pub number: &'a PublishedNumber,
    pub device: &'a DeviceAnswers,
    /// The row in the device's report, where it has one.
    pub row: Option<RowView<'a>>,
    /// `None`: not measured.
    pub judgement: Option<Judgement>,
}

/// Compares each number on each device; numbers that an interrupted run did not reach are left out.
pub(super) fn compare<'a>(
    numbers: &'a [PublishedNumber],
    devices: &'a [DeviceAnswers],
    judge: &dyn Fn(&PublishedNumber, &RowView) -> Option<Judgement>,
) -> Vec<ComparedNumber<'a>> {
    let on_each = numbers.iter().enumerate().flat_map(|number| devices.iter().map(move |device| (number, device)));
    let compared = on_each.filter_map(|((place, number), device)| {
        let row = device.row(number);
        let reached = row.is_some() || device.complete || device.lacks(number.key("instruction"));
        let judgement = row.as_ref().and_then(|row| judge(number, row));
        reached.then_some(ComparedNumber { place, number, device, row, judgement })
    });
    compared.collect()
}

impl ComparedNumber<'_> {
    /// The measured number.
    pub(super) fn measured(&self) -> Option<f64> {
        self.row?.number(&self.number.column)
    }

    /// The outcome of the figure of this name; `missing` says why a device has no such row.
    pub(super) fn outcome(&self, figure: String, missing: impl FnOnce() -> String) -> FigureOutcome {
        let PublishedNumber { column, printed, explanation, accepted, .. } = self.number;
        let words =
            |judgement: Judgement| judgement.words(self.device.counts, explanation.is_some(), accepted.is_some());
        let row = FigureRow {
            figure,
            published: printed.text.clone(),
            measured: self.measured(),
            standard_error: self.row.and_then(|row| row.number(&standard_error(column))),
            samples: self.row.and_then(|row| row.integer("samples")).map(|samples| samples as u64),
            distance: self.judgement.and_then(|judgement| judgement.distance),
            verdict: self.judgement.map_or(NOT_TESTABLE.into(), words),
            devices: vec![self.device.name.clone()],
            why: why(self.judgement, accepted, explanation),
            decides: self.device.counts && accepted.is_none(),
            ..FigureRow::default()
        };
        FigureOutcome { row, judgement: self.judgement, missing: self.row.is_none().then(missing) }
    }
}

/// The column with the standard error of a column.
pub(super) fn standard_error(column: &str) -> String {
    format!("{column}_standard_error")
}
