//! LaTeX: ruled tables (booktabs); long tables break over pages, wide tables are split.

use super::{
    Cell, Report, ViewLayout,
    cell::listed,
    human::{self, ShownTable},
    parts::Room,
};
use crate::base::visible::is_hidden;

/// Largest number of rows of a table on one page.
const LONG: usize = 40;
/// Longest word, in characters, that is never broken.
const LONGEST_WORD: usize = 18;
/// Room of a line of the class `article` in `\footnotesize`, in digits.
const ROOM: Room = Room { width: 74, gap: 2, longest: 36, measure: printed_width };

pub(super) fn render(report: &Report, layout: &ViewLayout) -> String {
    let mut text = comment(&format!("tcnum {}: {}", human::program(), report.invocation));
    if let Some(answer) = human::answer(report) {
        text += &comment(&answer);
    }
    for (key, value) in human::provenance(report) {
        text += &comment(&format!("{key}: {value}"));
    }
    for note in human::notes(report) {
        text += &comment(&format!("note: {note}"));
    }
    if let Some(verdict) = human::verdict(report) {
        text += &comment(&verdict);
    }
    text += "% Needs \\usepackage{array,booktabs,longtable} in the preamble.\n";
    for (title, shown) in human::tables(report, layout, cell) {
        text += &section(&title, shown);
    }
    text
}

/// A table under its title; cells are already LaTeX.
pub(crate) fn section(title: &str, mut shown: ShownTable) -> String {
    shown.labels = shown.labels.iter().map(|label| escaped(label)).collect();
    let (common, shown) = ROOM.hoisted(shown);
    let common: String = common.iter().map(|same| format!("; {same}")).collect();
    let caption = format!("{}{}", escaped(title), common);
    let width = |i: usize| {
        let cells = shown.rows.iter().map(|row| printed_width(&row[i]));
        cells.chain([longest_word(&shown.labels[i])]).max().unwrap_or(0).min(ROOM.longest)
    };
    let widths: Vec<usize> = (0..shown.labels.len()).map(width).collect();
    let parts = ROOM.parts(&widths, &shown.numeric, &shown.beside, &shown.rows);
    let grids: Vec<Grid> = parts.iter().map(|part| Grid::new(&shown, &widths, part)).collect();
    match shown.rows.len() > LONG {
        true => grids.iter().enumerate().map(|(at, grid)| grid.long(&caption, at > 0)).collect(),
        false => {
            let grids: Vec<String> = grids.iter().map(Grid::short).collect();
            format!(
                "\n\\begin{{table}}\n  \\centering\\footnotesize\n  \\caption{{{caption}}}\n{}\\end{{table}}\n",
                grids.join("  \\par\\medskip\n")
            )
        }
    }
}

/// A part of a table: column specification, headings and rows.
struct Grid {
    columns: String,
    head: String,
    rows: String,
}

impl Grid {
    fn new(shown: &ShownTable, widths: &[usize], part: &[usize]) -> Grid {
        let set = |&i: &usize| match widths[i] >= ROOM.longest {
            // A paragraph column of the same width, whose lines break at spaces.
            true => format!(">{{\\raggedright\\arraybackslash}}p{{{:.2}\\linewidth}}", share(widths[i])),
            false => if shown.numeric[i] { "r" } else { "l" }.to_string(),
        };
        let line = |cells: Vec<String>| format!("    {} \\\\\n", cells.join(" & "));
        Grid {
            columns: part.iter().map(set).collect(),
            head: line(part.iter().map(|&i| heading(&shown.labels[i], widths[i], shown.numeric[i])).collect()),
            rows: shown.rows.iter().map(|row| line(part.iter().map(|&i| row[i].clone()).collect())).collect(),
        }
    }

    fn short(&self) -> String {
        let Grid { columns, head, rows } = self;
        format!(
            "  \\begin{{tabular}}{{{columns}}}\n    \\toprule\n{head}    \\midrule\n{rows}    \\bottomrule\n  \\end{{tabular}}\n"
        )
    }

    /// A table over several pages; `continued`: under the number of the table before.
    fn long(&self, caption: &str, continued: bool) -> String {
        let Grid { columns, head, rows } = self;
        let caption = match continued {
            true => format!("\\caption[]{{{caption} (continued)}}"),
            false => format!("\\caption{{{caption}}}"),
        };
        let step = if continued { "\\addtocounter{table}{-1}" } else { "" };
        format!(
            "\n{{\\footnotesize{step}\n\\begin{{longtable}}{{{columns}}}\n    {caption} \\\\\n    \\toprule\n{head}    \\midrule\n    \\endfirsthead\n    \\toprule\n{head}    \\midrule\n    \\endhead\n    \\bottomrule\n    \\endlastfoot\n{rows}\\end{{longtable}}}}\n"
        )
    }
}

/// Share of the line that `width` characters take.
fn share(width: usize) -> f64 {
    width as f64 / (ROOM.width + 2 * ROOM.gap) as f64
}

/// A heading, in lines of about the width of its column.
fn heading(label: &str, width: usize, numeric: bool) -> String {
    let lines = human::wrapped(label, |line| printed_width(line) <= width);
    match &lines[..] {
        [one] => one.clone(),
        several => format!("\\shortstack[{}]{{{}}}", if numeric { 'r' } else { 'l' }, several.join("\\\\")),
    }
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(printed_width).max().unwrap_or(0)
}

/// Approximate printed width of a cell in characters, without commands and braces.
fn printed_width(cell: &str) -> usize {
    let (mut width, mut command) = (0, false);
    for c in cell.chars() {
        match c {
            '\\' => (width, command) = (width + 1, true),
            _ if command && c.is_ascii_alphabetic() => {}
            _ => {
                command = false;
                width += usize::from(!matches!(c, '{' | '}' | '$'));
            }
        }
    }
    width
}

/// A cell as LaTeX; negative and scientific numbers are set in mathematics.
fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Integer(value) if *value < 0 => format!("${}$", human::grouped(*value).replace(',', "{,}")),
        Cell::Real(value) if value.is_infinite() => if *value > 0.0 { "$\\infty$" } else { "$-\\infty$" }.to_string(),
        Cell::Real(value) => real(&human::three_digits(*value)),
        Cell::Text(text) if standard_error(text).is_some() => standard_error(text).unwrap_or_default(),
        Cell::List(cells) if !cells.is_empty() => listed(cells, self::cell),
        Cell::Empty | Cell::List(_) => "--".to_string(),
        _ => escaped(&human::plain(cell)),
    }
}

/// The standard error behind a number; `None` for other texts.
fn standard_error(text: &str) -> Option<String> {
    let error = text.strip_prefix("± ").filter(|error| error.parse::<f64>().is_ok())?;
    Some(format!("$\\pm$ {}", real(error)))
}

fn real(text: &str) -> String {
    match text.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>())) {
        Some((digits, Ok(exponent))) => format!("${digits} \\times 10^{{{exponent}}}$"),
        _ if text.starts_with('-') => format!("${text}$"),
        _ => text.to_string(),
    }
}

/// Text in which LaTeX prints every character.
pub(crate) fn escaped(text: &str) -> String {
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
            // A row is one line, and an empty line would end a caption.
            '\n' | '\r' => escaped.push(' '),
            // After `\\`, LaTeX would read `[` as an argument.
            '[' => escaped.push_str("{[}"),
            // A terminal would obey characters from files and other programs.
            _ if is_hidden(c) => escaped.push('?'),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Allows escaped text to break long words after a point, a slash or a comma.
pub(crate) fn broken(escaped: &str) -> String {
    let word = |word: &str| match word.len() > LONGEST_WORD {
        true => word.replace('.', ".\\allowbreak{}").replace('/', "/\\allowbreak{}").replace(',', ",\\allowbreak{}"),
        false => word.to_string(),
    };
    escaped.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// One comment line for each line of `text`.
fn comment(text: &str) -> String {
    text.split(['\n', '\r']).map(|line| format!("% {}\n", line.replace(is_hidden, "?"))).collect()
}
