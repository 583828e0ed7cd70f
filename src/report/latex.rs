//! LaTeX: one `table` environment per table, ruled by the package booktabs.

use super::{
    Cell, Report, Table,
    human::{self, MISMATCH, Shown},
};

pub(super) fn render(report: &Report) -> String {
    let mut text = comment(&format!("tcnum {}: {}", human::program(), report.invocation));
    for (key, value) in human::provenance(report) {
        text += &comment(&format!("{key}: {value}"));
    }
    for note in &report.notes {
        text += &comment(&format!("note: {note}"));
    }
    if !report.holds {
        text += &comment(MISMATCH);
    }
    text += "% Needs \\usepackage{booktabs} in the preamble.\n";
    for table in &report.tables {
        text += &environment(table);
    }
    text
}

fn environment(table: &Table) -> String {
    let shown = Shown::new(table, cell);
    let alignment: String = shown.numeric.iter().map(|numeric| if *numeric { 'r' } else { 'l' }).collect();
    let labels: Vec<String> = shown.labels.iter().map(|label| escaped(label)).collect();
    let line = |cells: &[String]| format!("    {} \\\\\n", cells.join(" & "));
    let rows: String = shown.rows.iter().map(|row| line(row)).collect();
    format!(
        "\n\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\begin{{tabular}}{{{alignment}}}\n    \\toprule\n{}    \\midrule\n{rows}    \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n",
        escaped(&table.title),
        line(&labels),
    )
}

/// Numbers in mathematics, so that the minus is a minus and the exponent a superscript; all else escaped text.
fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Empty => "--".to_string(),
        Cell::List(cells) if cells.is_empty() => "--".to_string(),
        Cell::Integer(value) if *value < 0 => format!("${}$", human::grouped(*value).replace(',', "{,}")),
        Cell::Real(value) if value.is_infinite() => if *value > 0.0 { "$\\infty$" } else { "$-\\infty$" }.to_string(),
        Cell::Real(value) => real(&human::three_digits(*value)),
        Cell::List(cells) => cells.iter().map(self::cell).collect::<Vec<_>>().join(" "),
        _ => escaped(&human::plain(cell)),
    }
}

fn real(text: &str) -> String {
    match text.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>())) {
        Some((digits, Ok(exponent))) => format!("${digits} \\times 10^{{{exponent}}}$"),
        _ if text.starts_with('-') => format!("${text}$"),
        _ => text.to_string(),
    }
}

/// Text in which every character stands for itself.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '`' => escaped.push_str("\\textasciigrave{}"),
            // Two hyphens would become a dash.
            '-' if escaped.ends_with('-') => escaped.push_str("{-}"),
            '|' => escaped.push_str("\\textbar{}"),
            '\u{b1}' => escaped.push_str("$\\pm$"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            // A row is one line, and an empty line would end the paragraph of a caption.
            '\n' | '\r' => escaped.push(' '),
            // `[` after `\\` would be read as the argument of the line break.
            '[' => escaped.push_str("{[}"),
            // From files and other programs: a terminal would obey it.
            _ if c.is_control() => escaped.push('?'),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Comment lines: one for each line of `text`.
fn comment(text: &str) -> String {
    text.split(['\n', '\r']).map(|line| format!("% {}\n", line.replace(char::is_control, "?"))).collect()
}
