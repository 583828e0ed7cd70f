//! What the views for people share: how a value reads, which columns show, and the lines above the tables.

use super::{Cell, Report, Table};
use crate::{COMMIT, VERSION};

/// A table as people see it: the shown columns, every cell as text.
pub(super) struct Shown {
    /// The headings.
    pub labels: Vec<&'static str>,
    /// Whether the column holds numbers only, and is therefore aligned to the right.
    pub numeric: Vec<bool>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

impl Shown {
    /// The columns of `table` that have a label, with `print` turning a cell into text.
    pub fn new(table: &Table, print: impl Fn(&Cell) -> String) -> Self {
        let shown: Vec<usize> = (0..table.columns.len()).filter(|&i| table.columns[i].label.is_some()).collect();
        Shown {
            labels: shown.iter().filter_map(|&i| table.columns[i].label).collect(),
            numeric: shown.iter().map(|&i| is_numeric(table, i)).collect(),
            rows: table.rows.iter().map(|row| shown.iter().map(|&i| print(&row[i])).collect()).collect(),
        }
    }
}

fn is_numeric(table: &Table, column: usize) -> bool {
    let mut filled = table.rows.iter().map(|row| &row[column]).filter(|cell| **cell != Cell::Empty).peekable();
    filled.peek().is_some() && filled.all(|cell| matches!(cell, Cell::Integer(_) | Cell::Real(_)))
}

/// A cell as plain text: `-` for an empty one and an empty list, the members of a list separated by spaces.
pub(super) fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Empty => "-".to_string(),
        Cell::List(cells) if cells.is_empty() => "-".to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Integer(value) => grouped(*value),
        Cell::Real(value) => three_digits(*value),
        Cell::Flag(value) => if *value { "yes" } else { "no" }.to_string(),
        Cell::List(cells) => cells.iter().map(plain).collect::<Vec<_>>().join(" "),
    }
}

/// An integer with a comma after every third digit: `1,048,576`.
pub(super) fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::from(if value < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits: `0.500` and `12.3` for magnitudes in [0.1, 1000), else `1.29e-03`; `0` for zero.
pub(super) fn three_digits(value: f64) -> String {
    match scientific(value) {
        None => special(value).to_string(),
        Some((digits, exponent @ -1..=2)) => {
            // The digits are rounded already: reading them back and printing fewer decimals rounds nothing.
            let rounded: f64 = format!("{digits}e{exponent}").parse().unwrap_or(value);
            format!("{rounded:.*}", (2 - exponent) as usize)
        }
        Some((digits, exponent)) => {
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
        }
    }
}

/// Three significant digits and the power of ten that multiplies them; `None` for zero, infinities and NaN.
pub(super) fn scientific(value: f64) -> Option<(String, i32)> {
    if value == 0.0 || !value.is_finite() {
        return None;
    }
    let text = format!("{value:.2e}");
    let (digits, exponent) = text.split_once('e')?;
    Some((digits.to_string(), exponent.parse().ok()?))
}

/// The word for a value that [`scientific`] has no digits for.
pub(super) fn special(value: f64) -> &'static str {
    match value {
        v if v.is_nan() => "NaN",
        v if v == f64::INFINITY => "inf",
        v if v == f64::NEG_INFINITY => "-inf",
        _ => "0",
    }
}

/// What the numbers below were measured on, with what seed and annotations: key and value, in this order.
pub(super) fn provenance(report: &Report) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    if let Some(device) = &report.device {
        let details: Vec<String> = device.details.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        lines.push(("device".to_string(), format!("{}, {}{details}", device.name, device.description)));
    }
    lines.extend(report.seed.map(|seed| ("seed".to_string(), seed.to_string())));
    lines.extend(report.annotations.iter().cloned());
    lines
}

/// The program that gives the report.
pub(super) fn program() -> String {
    format!("{VERSION}, commit {COMMIT}")
}

/// The sentence below the tables of a report whose claim does not hold.
pub(super) const MISMATCH: &str = "What the command claims does not hold (exit status 1).";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals_have_three_significant_digits() {
        let cases: [(f64, &str); 15] = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1.00"),
            (-0.5, "-0.500"),
            (0.1, "0.100"),
            (0.0999, "9.99e-02"),
            (0.099951, "0.100"),
            (0.001288, "1.29e-03"),
            (12.345, "12.3"),
            (999.4, "999"),
            (999.6, "1.00e+03"),
            (3.4e38, "3.40e+38"),
            (5e-324, "4.94e-324"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(three_digits(value), text);
        }
    }

    #[test]
    fn counts_have_thousands_separators() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567"), (10_000, "10,000")];
        for (value, text) in cases {
            assert_eq!(grouped(value), text);
        }
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn a_column_is_numeric_when_every_filled_cell_is_a_number() {
        let columns = vec![super::super::Column::new("a", "a")];
        let of = |cells: Vec<Cell>| {
            let mut table = Table::new("t", "t", columns.clone());
            table.rows = cells.into_iter().map(|cell| vec![cell]).collect();
            is_numeric(&table, 0)
        };
        assert!(of(vec![Cell::Integer(1), Cell::Empty, Cell::Real(0.5)]));
        assert!(!of(vec![Cell::Integer(1), Cell::text("x")]));
        assert!(!of(vec![Cell::Empty]));
        assert!(!of(vec![]));
    }
}
