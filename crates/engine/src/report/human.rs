//! Parts common to the views for people: values as text, shown columns, lines above and below tables.

use std::borrow::Cow;

use super::{
    Cell, Report, Table, Verdict, ViewLayout, Where,
    cell::listed,
    marks::{self, Marks, captioned},
    pivot,
};
use crate::{
    VERSION,
    base::{sentence::capitalised, visible::without_middle},
    commit,
};

/// A table for people: the shown columns, with cells as text.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownTable {
    /// The headings.
    pub labels: Vec<String>,
    /// True if each column holds numbers only and is aligned to the right.
    pub numeric: Vec<bool>,
    /// True if each column stays next to the one before it.
    pub beside: Vec<bool>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
    /// Explanation of the marks of cells, if there are any.
    pub legend: Option<String>,
    /// Longest cell, in characters, that a terminal does not wrap; `None` for the view's own limit.
    pub longest: Option<usize>,
}

impl ShownTable {
    /// The columns of `table` that `layout` shows; `print` turns a cell into text.
    pub fn new(table: &Table, layout: &ViewLayout, print: impl Fn(&Cell) -> String) -> Self {
        let shown = columns(table, layout);
        let evidence = CellEvidence::of(table, &shown);
        let errors: Vec<Option<usize>> = shown.iter().map(|&i| error_column(table, &shown, i)).collect();
        let text = |row: &[Cell], (&i, error): (&usize, &Option<usize>)| {
            let text = evidence.marked(row, i, &print);
            match error.and_then(|error| standard_error(&row[i], &row[error])) {
                Some(error) => format!("{text} {}", print(&Cell::Text(error))),
                None => text,
            }
        };
        ShownTable {
            labels: shown.iter().map(|&i| label(table, i)).collect(),
            numeric: shown.iter().map(|&i| is_numeric(table, i)).collect(),
            beside: shown.iter().map(|&i| table.columns[i].look.beside).collect(),
            rows: table
                .rows
                .iter()
                .map(|row| shown.iter().zip(&errors).map(|column| text(row, column)).collect())
                .collect(),
            legend: evidence.legend(),
            longest: table.longest,
        }
    }

    /// Keeps these columns only.
    pub fn only(self, kept: &[usize]) -> ShownTable {
        ShownTable {
            labels: kept.iter().map(|&i| self.labels[i].clone()).collect(),
            numeric: kept.iter().map(|&i| self.numeric[i]).collect(),
            beside: kept.iter().map(|&i| self.beside[i]).collect(),
            rows: self.rows.iter().map(|row| kept.iter().map(|&i| row[i].clone()).collect()).collect(),
            legend: self.legend,
            longest: self.longest,
        }
    }
}

/// The evidence of a table's cells.
pub(super) struct CellEvidence {
    /// For each column, the column that marks its cells.
    marking: Vec<Option<usize>>,
    marks: Option<Marks>,
}

impl CellEvidence {
    /// The evidence of the shown columns.
    pub(super) fn of(table: &Table, shown: &[usize]) -> CellEvidence {
        let marks = |key: &str| table.columns.iter().position(|column| column.look.marks == Some(key));
        let marking: Vec<Option<usize>> = table.columns.iter().map(|column| marks(&column.key)).collect();
        let by = |&i: &usize| Some((i, marking[i]?));
        let marked: Vec<(usize, usize)> = shown.iter().filter_map(by).collect();
        let kinds =
            table.rows.iter().flat_map(|row| marked.iter().filter_map(|(i, by)| marks::kind(&row[*i], &row[*by])));
        let marks = Marks::of(kinds.collect::<Vec<_>>());
        CellEvidence { marking, marks }
    }

    /// Explanation of the marks, if there are any.
    pub(super) fn legend(&self) -> Option<String> {
        self.marks.as_ref().map(|marks| marks.legend.clone())
    }

    /// A cell with its mark.
    pub(super) fn marked(&self, row: &[Cell], column: usize, print: impl Fn(&Cell) -> String) -> String {
        let text = print(&row[column]);
        let kind = self.marking[column].and_then(|by| marks::kind(&row[column], &row[by]));
        match self.marks.as_ref().zip(kind).and_then(|(marks, kind)| marks.mark(kind)) {
            Some(mark) => format!("{text} {}", print(&Cell::Text(mark.into()))),
            None => text,
        }
    }
}

/// The tables of a report for people, without tables that have none of the requested columns.
pub(super) fn tables<'a>(
    report: &'a Report,
    layout: &'a ViewLayout,
    print: impl Fn(&Cell) -> String + 'a,
) -> impl Iterator<Item = (String, ShownTable)> {
    let shown = report.tables.iter().flat_map(move |table| {
        let shown = match table.pivot.filter(|_| layout.columns.is_empty()) {
            Some(pivot) => pivot::turned(table, pivot, &print),
            None => vec![(String::new(), ShownTable::new(table, layout, &print))],
        };
        shown.into_iter().map(|(section, shown)| {
            let title = if section.is_empty() { table.title.clone() } else { format!("{} of {section}", table.title) };
            (captioned(&title, shown.legend.as_deref()), shown)
        })
    });
    shown.filter(|(_, shown)| !shown.labels.is_empty())
}

/// The shown columns: the requested ones, else those that the declaration shows.
fn columns(table: &Table, layout: &ViewLayout) -> Vec<usize> {
    let all = 0..table.columns.len();
    if !layout.columns.is_empty() {
        let named = |key: &String| table.columns.iter().position(|column| column.key == *key);
        return layout.columns.iter().filter_map(named).collect();
    }
    let brief = (layout.brief || table.brief) && table.columns.iter().any(|column| column.look.essential);
    all.filter(|&i| {
        let look = table.columns[i].look;
        let cells = || table.rows.iter().map(|row| &row[i]);
        look.heading.is_some()
            && look.error_of.is_none()
            && (look.essential || !brief)
            && match look.shown {
                Where::Everywhere => true,
                Where::Filled => cells().any(|cell| !cell.is_empty()),
                Where::Varied => cells().zip(cells().skip(1)).any(|(x, y)| x != y),
            }
    })
    .collect()
}

/// The column with the standard errors of a column, unless it is shown itself.
fn error_column(table: &Table, shown: &[usize], column: usize) -> Option<usize> {
    let key = &*table.columns[column].key;
    let error = table.columns.iter().position(|other| other.look.error_of == Some(key))?;
    (!shown.contains(&error)).then_some(error)
}

/// A standard error behind its number: `± 2.1e-10`; as a decimal fraction if the number is one.
fn standard_error(value: &Cell, error: &Cell) -> Option<String> {
    let (Cell::Real(value), Cell::Real(error)) = (value, error) else { return None };
    let digits = format!("{error:.1e}");
    let (_, exponent) = digits.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let decimal = !three_digits(*value).contains('e') && (-4..=2).contains(&exponent);
    // The digits are already rounded, so printing fewer decimals does not round again.
    let rounded: f64 = digits.parse().ok()?;
    Some(match rounded {
        0.0 => "± 0".into(),
        _ if decimal => format!("± {rounded:.*}", usize::try_from(1 - exponent).unwrap_or(0)),
        _ => format!("± {}e{}{:02}", digits.split('e').next()?, if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    })
}

/// The heading of a column, with its unit.
fn label(table: &Table, column: usize) -> String {
    let column = &table.columns[column];
    let heading = column.look.heading.unwrap_or(&column.key);
    match column.look.unit {
        "" => heading.to_string(),
        unit => format!("{heading} ({unit})"),
    }
}

fn is_numeric(table: &Table, column: usize) -> bool {
    let mut filled = table.rows.iter().map(|row| &row[column]).filter(|cell| **cell != Cell::Empty).peekable();
    filled.peek().is_some() && filled.all(|cell| matches!(cell, Cell::Integer(_) | Cell::Real(_)))
}

/// A cell as plain text; `-` if it is empty.
pub fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => without_middle(text).into_owned(),
        Cell::Integer(value) => grouped(*value),
        Cell::Real(value) => three_digits(*value),
        Cell::Flag(value) => if *value { "yes" } else { "no" }.to_string(),
        Cell::List(cells) if !cells.is_empty() => listed(cells, plain),
        Cell::Empty | Cell::List(_) => "-".to_string(),
    }
}

/// An integer with a comma after every third digit: `1,048,576`.
pub fn grouped(value: i64) -> String {
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

/// A count and its noun: `1 value`, `1,024 values`.
pub fn counted(count: u64, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// Three significant digits: `0`, `0.500` or `12.3` for magnitudes in [0.1, 1000), else `1.29e-03`.
pub fn three_digits(value: f64) -> String {
    match scientific(value) {
        None => special(value).to_string(),
        Some((digits, exponent @ -1..=2)) => {
            // The digits are already rounded, so printing fewer decimals does not round again.
            let rounded: f64 = format!("{digits}e{exponent}").parse().unwrap_or(value);
            format!("{rounded:.*}", (2 - exponent) as usize)
        }
        Some((digits, exponent)) => {
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
        }
    }
}

/// Three significant digits and their power of ten; `None` for zero, infinities and NaN.
fn scientific(value: f64) -> Option<(String, i32)> {
    if value == 0.0 || !value.is_finite() {
        return None;
    }
    let text = format!("{value:.2e}");
    let (digits, exponent) = text.split_once('e')?;
    Some((digits.to_string(), exponent.parse().ok()?))
}

/// The word for a zero, an infinity or NaN.
fn special(value: f64) -> &'static str {
    match value {
        v if v.is_nan() => "NaN",
        v if v == f64::INFINITY => "inf",
        v if v == f64::NEG_INFINITY => "-inf",
        _ => "0",
    }
}

/// Device, seed and annotations, as keys and values.
pub(super) fn provenance(report: &Report) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    if let Some(device) = &report.device {
        let details: Vec<String> = device.details.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        lines.push(("device".to_string(), format!("{}, {}{details}", device.name, device.description)));
    }
    lines.extend(report.seed.map(|seed| ("seed".to_string(), seed.to_string())));
    lines.extend(report.annotations.iter().cloned());
    lines.into_iter().map(|(key, value)| (without_middle(&key).into(), without_middle(&value).into())).collect()
}

/// The answer of a report.
pub(super) fn answer(report: &Report) -> Option<Cow<'_, str>> {
    report.answer.as_deref().map(without_middle)
}

/// The notes of a report.
pub(super) fn notes(report: &Report) -> impl Iterator<Item = Cow<'_, str>> {
    report.notes.iter().map(|note| without_middle(note))
}

/// Version and commit of the program.
pub(super) fn program() -> String {
    format!("{VERSION}, commit {}", commit())
}

/// The sentence below the tables, for exit status 1.
pub(super) fn verdict(report: &Report) -> Option<String> {
    let verdict = report.finding().filter(|verdict| *verdict != Verdict::Unfinished)?;
    Some(format!("{} (exit status 1).", capitalised(verdict.name())))
}

/// `text` in lines that `fits` accepts, broken at spaces only; a longer word has its own line.
pub(super) fn wrapped(text: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("never empty");
        let longer = format!("{line} {word}");
        match (line.is_empty(), fits(&longer)) {
            (true, _) => *line = word.into(),
            (false, true) => *line = longer,
            (false, false) => lines.push(word.into()),
        }
    }
    lines
}

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
    fn a_standard_error_has_two_digits_in_the_style_of_its_number() {
        let cases: [(f64, f64, &str); 8] = [
            (1.89e-8, 2.14e-10, "± 2.1e-10"),
            (1.2e-3, 6.56e-6, "± 6.6e-06"),
            (361.2, 15.83, "± 16"),
            (193.0, 130.2, "± 130"),
            (1.2, 0.0492, "± 0.049"),
            (12.0, 0.996, "± 1.0"),
            (0.0, 0.0, "± 0"),
            (1e5, 12.3, "± 1.2e+01"),
        ];
        for (value, error, text) in cases {
            assert_eq!(standard_error(&Cell::Real(value), &Cell::Real(error)).as_deref(), Some(text));
        }
        assert_eq!(standard_error(&Cell::Real(1.0), &Cell::Empty), None);
        crate::rows! {
            /// A mean.
            struct Mean in "t" {
                /// The mean.
                mean: f64 => shown("mean"),
                /// Its standard error.
                error: Option<f64> => shown("±").error_of("mean"),
            }
        }
        let table = Table::of("t", [Mean { mean: 2.0, error: Some(0.25) }, Mean { mean: 3.0, error: None }]);
        let rows = |columns: &[&str]| {
            let columns = columns.iter().map(ToString::to_string).collect();
            ShownTable::new(&table, &ViewLayout { columns, ..ViewLayout::default() }, plain).rows
        };
        assert_eq!(rows(&[]), [["2.00 ± 0.25"], ["3.00"]]);
        assert_eq!(rows(&["mean"]), [["2.00 ± 0.25"], ["3.00"]]);
        assert_eq!(rows(&["mean", "error"]), [["2.00", "0.250"], ["3.00", "-"]]);
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
        crate::rows! {
            /// A cell.
            struct Alone in "t" {
                /// Something.
                a: Option<u64> => shown("a"),
            }
        }
        let of = |cells: Vec<Cell>| {
            let mut table = Table::of::<Alone>("t", []);
            table.rows = cells.into_iter().map(|cell| vec![cell]).collect();
            is_numeric(&table, 0)
        };
        assert!(of(vec![Cell::Integer(1), Cell::Empty, Cell::Real(0.5)]));
        assert!(!of(vec![Cell::Integer(1), Cell::Text("x".into())]));
        assert!(!of(vec![Cell::Empty]));
        assert!(!of(vec![]));
    }
}
