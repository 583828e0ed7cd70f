//! Text for a terminal: the answer, the device, notes, then each table under its title.
//!
//! A table that is too wide changes in steps: columns with equal cells move into a line above it, headings are wrapped, long text is
//! wrapped, and the table is split into parts that repeat the naming columns. A single row becomes a list. Nothing is left out except the
//! middle of texts of more than 2000 characters.

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
    Cell, Report, ViewLayout,
    human::{self, ShownTable},
    parts::{Room, cell_width},
};
use crate::base::visible::visible;

/// Spaces between two columns.
const GAP: usize = 2;
/// Longest text cell that is not wrapped.
const LONGEST_CELL: usize = 72;
/// Lines that are laid out at a time.
const LAID_OUT: usize = 512;

pub(super) fn render(report: &Report, layout: &ViewLayout) -> String {
    let room = Room { width: layout.width, gap: GAP, longest: LONGEST_CELL.min(layout.width), measure: cell_width };
    let mut text = String::new();
    if let Some(answer) = human::answer(report) {
        text += &paragraph(room, "", &answer);
    }
    for (key, value) in human::provenance(report) {
        text += &paragraph(room, &format!("{key}: "), &value);
    }
    if report.device.is_some() {
        text += &paragraph(room, "tcnum: ", &human::program());
    }
    for note in human::notes(report) {
        text += &paragraph(room, "note: ", &note);
    }
    for (title, shown) in human::tables(report, layout, cell) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &section(room, &title, shown);
    }
    if let Some(verdict) = human::verdict(report) {
        text += &format!("\n{verdict}\n");
    }
    // Names from files and other programs must not steer the terminal.
    visible(&text).into_owned()
}

/// `text` after `lead`, wrapped, with further lines indented.
fn paragraph(room: Room, lead: &str, text: &str) -> String {
    let indent = lead.chars().count().min(room.width / 4);
    let lines = wrapped(text, room.width - indent).join(&format!("\n{}", " ".repeat(indent)));
    format!("{lead}{lines}\n")
}

/// A cell as text on one line.
fn cell(cell: &Cell) -> String {
    visible(&human::plain(cell)).replace('\n', "\\n")
}

fn section(room: Room, title: &str, shown: ShownTable) -> String {
    let mut text = paragraph(room, "", title);
    if let [row] = &shown.rows[..]
        && !room.fits(shown.labels.iter().zip(row).map(|(label, cell)| cell_width(label).max(cell_width(cell))))
    {
        return text + &list(room, &shown.labels, row);
    }
    let (common, shown) = room.hoisted(shown);
    if !common.is_empty() {
        text += &paragraph(room, "", &common.join("; "));
    }
    let fitted = fitted(room, shown);
    let parts = room.parts(&fitted.widths, &fitted.numeric, &fitted.beside, &fitted.lines[1..]);
    for (i, part) in parts.into_iter().enumerate() {
        if i > 0 {
            text += "\n";
        }
        text += &grid(&fitted, &part);
    }
    text
}

/// One row as a list of headings and cells.
fn list(room: Room, labels: &[String], row: &[String]) -> String {
    let width = labels.iter().map(|label| cell_width(label)).max().unwrap_or(0) + GAP;
    labels.iter().zip(row).map(|(label, cell)| paragraph(room, &format!("{label:<width$}"), cell)).collect()
}

/// A table whose headings and cells may be wrapped.
struct FittedTable {
    /// The headings, then the rows.
    lines: Vec<Vec<String>>,
    numeric: Vec<bool>,
    beside: Vec<bool>,
    widths: Vec<usize>,
}

/// Wraps headings, then text, as far as the width requires.
fn fitted(room: Room, shown: ShownTable) -> FittedTable {
    let longest = shown.longest.map_or(room.longest, |longest| longest.min(room.longest));
    let mut lines = vec![shown.labels];
    lines.extend(shown.rows);
    let mut fitted =
        FittedTable { widths: vec![0; shown.numeric.len()], numeric: shown.numeric, beside: shown.beside, lines };
    fitted.measure();
    if !room.fits(fitted.widths.iter().copied()) {
        fitted.wrap_headings();
    }
    if !room.fits(fitted.widths.iter().copied()) {
        fitted.wrap_cells(longest);
    }
    fitted
}

impl FittedTable {
    fn measure(&mut self) {
        for (i, width) in self.widths.iter_mut().enumerate() {
            *width = self.lines.iter().map(|cells| cell_width(&cells[i])).max().unwrap_or(0);
        }
    }

    /// Wraps each heading to the width of its column's cells.
    fn wrap_headings(&mut self) {
        let (headings, rows) = self.lines.split_at_mut(1);
        for (i, heading) in headings[0].iter_mut().enumerate() {
            let body = rows.iter().map(|cells| cell_width(&cells[i])).max().unwrap_or(0);
            *heading = wrapped(heading, body).join("\n");
        }
        self.measure();
    }

    fn wrap_cells(&mut self, longest: usize) {
        for cell in self.lines.iter_mut().flatten() {
            if cell_width(cell) > longest {
                *cell = wrapped(cell, longest).join("\n");
            }
        }
        self.measure();
    }
}

/// The columns of `part`, with a rule below the headings.
fn grid(fitted: &FittedTable, part: &[usize]) -> String {
    let mut text = String::new();
    for (number, lines) in fitted.lines.chunks(LAID_OUT).enumerate() {
        let mut builder = Builder::default();
        for cells in lines {
            builder.push_record(part.iter().map(|&i| cells[i].as_str()));
        }
        // A last line, which is not printed, gives every block the same widths.
        builder.push_record(part.iter().map(|&i| "-".repeat(fitted.widths[i])));
        let mut table = builder.build();
        table.with(Style::empty()).with(Padding::new(0, GAP, 0, 0)).with(AlignmentStrategy::PerLine);
        if number == 0 {
            table.with(Style::empty().horizontals([(1, HorizontalLine::new('-'))]));
            table.modify(Rows::first(), Alignment::bottom());
        }
        table.modify(Columns::last(), Padding::zero());
        for (column, &i) in part.iter().enumerate() {
            if fitted.numeric[i] {
                table.modify(Columns::one(column), Alignment::right());
            }
        }
        let block = table.to_string();
        let (shown, _) = block.rsplit_once('\n').unwrap_or_default();
        text.extend(shown.lines().map(|line| format!("{}\n", line.trim_end())));
    }
    text
}

/// The lines of `text`, wrapped to `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    text.lines().flat_map(|line| human::wrapped(line, |line| line.chars().count() <= width)).collect()
}
