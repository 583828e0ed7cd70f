//! Text for a terminal, at most [`WIDTH`] columns wide where words allow it: what the result was measured on, notes,
//! then each table under its title.
//!
//! Of a table that is too wide the columns that say the same in every row move into a line above it; then headings get
//! several lines; if that is not enough, long text is wrapped,
//! and at last the table is cut into parts that repeat the columns that name a row. A single row that is too wide is printed as
//! a list, heading by heading. Nothing is left out.

use std::collections::BTreeSet;

use tabled::{
    builder::Builder,
    settings::{
        Alignment, Padding, Style,
        formatting::AlignmentStrategy,
        object::{Columns, Rows},
        style::HorizontalLine,
    },
};

use super::{
    Cell, Report, Table,
    human::{self, MISMATCH, Shown},
};
use crate::base::visible::visible;

/// Columns of a terminal that the text keeps to.
const WIDTH: usize = 120;
/// Spaces between two columns of a table.
const GAP: usize = 2;
/// Text cells longer than this are wrapped.
const LONGEST_CELL: usize = 72;

pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    for (key, value) in human::provenance(report) {
        text += &paragraph(&format!("{key}: "), &value);
    }
    if report.device.is_some() {
        text += &paragraph("tcnum: ", &human::program());
    }
    for note in &report.notes {
        text += &paragraph("note: ", note);
    }
    for table in &report.tables {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &section(table);
    }
    if !report.holds {
        text += &format!("\n{MISMATCH}\n");
    }
    // Names come from files and from other programs: nothing of theirs is to steer the terminal.
    visible(&text).into_owned()
}

/// `text` after `lead`, wrapped, with the further lines indented as far as the first.
fn paragraph(lead: &str, text: &str) -> String {
    let indent = lead.chars().count().min(WIDTH / 4);
    let lines = wrapped(text, WIDTH - indent).join(&format!("\n{}", " ".repeat(indent)));
    format!("{lead}{lines}\n")
}

/// A cell as text on one line.
fn cell(cell: &Cell) -> String {
    visible(&human::plain(cell)).replace('\n', "\\n")
}

fn section(table: &Table) -> String {
    let shown = Shown::new(table, cell);
    let mut text = paragraph("", &table.title);
    if let [row] = &shown.rows[..]
        && total(shown.labels.iter().zip(row).map(|(label, cell)| cell_width(label).max(cell_width(cell)))) > WIDTH
    {
        return text + &list(&shown.labels, row);
    }
    let (common, shown) = hoisted(shown);
    if !common.is_empty() {
        text += &paragraph("", &common.join("; "));
    }
    let shown = fitted(shown);
    for (i, part) in parts(&shown).into_iter().enumerate() {
        if i > 0 {
            text += "\n";
        }
        text += &grid(&shown, &part);
    }
    text
}

/// The columns of a too wide table that say the same in every row, as `heading: cell`, and the table without them.
/// Numbers stay, for they are the result, as do long texts, and at least one column that differs.
fn hoisted(mut shown: Shown) -> (Vec<String>, Shown) {
    let columns = shown.labels.len();
    let width = |i: usize| shown.rows.iter().map(|row| cell_width(&row[i])).max().unwrap_or(0);
    let wide = total((0..columns).map(|i| width(i).max(cell_width(shown.labels[i])))) > WIDTH;
    let same = |i: usize| shown.rows.windows(2).all(|pair| pair[0][i] == pair[1][i]);
    let moves = |i: usize| !shown.numeric[i] && width(i) <= LONGEST_CELL && same(i);
    let kept: Vec<usize> = (0..columns).filter(|&i| !moves(i)).collect();
    if !wide || shown.rows.len() < 2 || kept.is_empty() || kept.len() == columns {
        return (Vec::new(), shown);
    }
    let gone = (0..columns).filter(|i| !kept.contains(i));
    let common = gone.map(|i| format!("{}: {}", shown.labels[i], shown.rows[0][i])).collect();
    shown.labels = kept.iter().map(|&i| shown.labels[i]).collect();
    shown.numeric = kept.iter().map(|&i| shown.numeric[i]).collect();
    shown.rows = shown.rows.iter().map(|row| kept.iter().map(|&i| row[i].clone()).collect()).collect();
    (common, shown)
}

/// The cells of one row under one another, each after its heading.
fn list(labels: &[&str], row: &[String]) -> String {
    let width = labels.iter().map(|label| cell_width(label)).max().unwrap_or(0) + GAP;
    labels.iter().zip(row).map(|(label, cell)| paragraph(&format!("{label:<width$}"), cell)).collect()
}

/// A table whose headings and cells may have several lines.
struct Fitted {
    /// The headings, then the rows.
    lines: Vec<Vec<String>>,
    numeric: Vec<bool>,
    widths: Vec<usize>,
}

/// `shown` with headings, then text, wrapped as far as the width asks for it.
fn fitted(shown: Shown) -> Fitted {
    let mut lines = vec![shown.labels.iter().map(|label| label.to_string()).collect()];
    lines.extend(shown.rows);
    let mut fitted = Fitted { widths: vec![0; shown.numeric.len()], numeric: shown.numeric, lines };
    fitted.measure();
    if total(fitted.widths.iter().copied()) > WIDTH {
        fitted.wrap_headings();
    }
    if total(fitted.widths.iter().copied()) > WIDTH {
        fitted.wrap_cells();
    }
    fitted
}

impl Fitted {
    fn measure(&mut self) {
        for (i, width) in self.widths.iter_mut().enumerate() {
            *width = self.lines.iter().map(|cells| cell_width(&cells[i])).max().unwrap_or(0);
        }
    }

    /// Wraps each heading to the width of its column's cells, but no word of it.
    fn wrap_headings(&mut self) {
        let (headings, rows) = self.lines.split_at_mut(1);
        for (i, heading) in headings[0].iter_mut().enumerate() {
            let body = rows.iter().map(|cells| cell_width(&cells[i])).max().unwrap_or(0);
            *heading = wrapped(heading, body).join("\n");
        }
        self.measure();
    }

    fn wrap_cells(&mut self) {
        for cell in self.lines.iter_mut().flatten() {
            if cell_width(cell) > LONGEST_CELL {
                *cell = wrapped(cell, LONGEST_CELL).join("\n");
            }
        }
        self.measure();
    }
}

/// The columns of each part: as many as fit, after those that name the row.
fn parts(fitted: &Fitted) -> Vec<Vec<usize>> {
    let names = naming_columns(fitted);
    let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
    for i in 0..fitted.widths.len() {
        let first = parts.len() == 1;
        if !first && names.contains(&i) {
            continue;
        }
        let part = parts.last_mut().expect("one at least");
        let fits = total(part.iter().chain([&i]).map(|&j| fitted.widths[j])) <= WIDTH;
        // A part has at least one column of its own, however wide.
        if fits || part.len() == if first { 0 } else { names.len() } {
            part.push(i);
        } else {
            let unnamed = (!names.contains(&i)).then_some(i);
            parts.push(names.iter().copied().chain(unnamed).collect());
        }
    }
    parts
}

/// The first column, and as few other columns of text as tell the rows apart, within half of the width.
fn naming_columns(fitted: &Fitted) -> Vec<usize> {
    let rows = &fitted.lines[1..];
    let distinct = |names: &[usize]| {
        let named = rows.iter().map(|row| names.iter().map(|&i| row[i].as_str()).collect::<Vec<_>>());
        named.collect::<BTreeSet<_>>().len()
    };
    let mut names = vec![0];
    while distinct(&names) < rows.len() {
        let longer = |i: usize| names.iter().copied().chain([i]).collect::<Vec<_>>();
        let candidates = (1..fitted.widths.len()).filter(|&i| !fitted.numeric[i] && !names.contains(&i)).map(longer);
        let narrow = candidates.filter(|names| total(names.iter().map(|&i| fitted.widths[i])) <= WIDTH / 2);
        let best = narrow.rev().max_by_key(|names| distinct(names));
        match best {
            Some(best) if distinct(&best) > distinct(&names) => names = best,
            _ => break,
        }
    }
    names.sort_unstable();
    names
}

/// The columns of `part`, aligned, with a rule below the headings.
fn grid(fitted: &Fitted, part: &[usize]) -> String {
    let mut builder = Builder::default();
    for cells in &fitted.lines {
        builder.push_record(part.iter().map(|&i| cells[i].as_str()));
    }
    let mut table = builder.build();
    table.with(Style::empty().horizontals([(1, HorizontalLine::new('-'))]));
    table.with(Padding::new(0, GAP, 0, 0));
    table.with(AlignmentStrategy::PerLine);
    table.modify(Rows::first(), Alignment::bottom());
    table.modify(Columns::last(), Padding::zero());
    for (column, &i) in part.iter().enumerate() {
        if fitted.numeric[i] {
            table.modify(Columns::one(column), Alignment::right());
        }
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn total(widths: impl Iterator<Item = usize>) -> usize {
    let (count, sum) = widths.fold((0, 0), |(count, sum), width| (count + 1, sum + width));
    sum + GAP * usize::saturating_sub(count, 1)
}

/// The width of the widest line.
fn cell_width(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// `text` in lines of at most `width` characters, broken at spaces only: a longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for source in text.lines() {
        let mut line = String::new();
        for word in source.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}
