//! GitHub Flavored Markdown, readable as text too.

use super::{
    Report, ViewLayout,
    human::{self, ShownTable},
};
use crate::base::visible::is_hidden;

pub(super) fn render(report: &Report, layout: &ViewLayout) -> String {
    let mut text = format!("# tcnum {}\n\n", escaped(&report.command));
    if let Some(answer) = human::answer(report) {
        text += &format!("**{}**\n\n", escaped(&answer));
    }
    text += &format!("- command: {}\n- tcnum: {}\n", code(&report.invocation), human::program());
    for (key, value) in human::provenance(report) {
        text += &format!("- {}: {}\n", escaped(&key), escaped(&value));
    }
    for note in human::notes(report) {
        text += &format!("\n{}\n", escaped(&note));
    }
    for (title, shown) in human::tables(report, layout, |cell| escaped(&human::plain(cell))) {
        text += &section(&title, &shown);
    }
    if let Some(verdict) = human::verdict(report) {
        text += &format!("\n**{verdict}**\n");
    }
    text
}

fn section(title: &str, shown: &ShownTable) -> String {
    format!("\n## {}\n{}", escaped(title), grid(shown))
}

/// A table under its caption; a list shows its first member and the count of the rest.
pub fn table(caption: &str, shown: &ShownTable) -> String {
    let cell = |cell: &String| match cell.split_once('\n') {
        Some((first, rest)) => escaped(&format!("{first} and {} more", rest.split('\n').count())),
        None => escaped(cell),
    };
    let rows = shown.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    format!("\n{}:\n{}", escaped(caption.trim_end_matches('.')), grid(&ShownTable { rows, ..shown.clone() }))
}

/// A table whose cells are already escaped.
fn grid(shown: &ShownTable) -> String {
    let labels: Vec<String> = shown.labels.iter().map(|label| escaped(label)).collect();
    let width = |i: usize| {
        let cells = shown.rows.iter().map(|row| row[i].chars().count());
        cells.chain([labels[i].chars().count(), 3]).max().unwrap_or(3)
    };
    let widths: Vec<usize> = (0..labels.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().enumerate().map(|(i, cell)| match shown.numeric[i] {
            true => format!(" {cell:>w$} |", w = widths[i]),
            false => format!(" {cell:<w$} |", w = widths[i]),
        });
        format!("|{}\n", padded.collect::<String>())
    };
    let rule = widths.iter().zip(&shown.numeric).map(|(width, numeric)| {
        let dashes = "-".repeat(width - 1);
        if *numeric { format!(" {dashes}: |") } else { format!(" {dashes}- |") }
    });
    let mut text = format!("\n{}|{}\n", line(&labels), rule.collect::<String>());
    text.extend(shown.rows.iter().map(|row| line(row)));
    text
}

/// Text without mark-up; line breaks become spaces, because rows and headings are one line.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '~' | '#' | '&' => escaped.extend(['\\', c]),
            // A terminal would obey characters from files and other programs.
            _ if is_hidden(c) => escaped.push('\u{fffd}'),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A code span, with more backticks than any run inside.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{}{space}{fence}", text.replace(is_hidden, " "))
}
