//! LaTeX: ruled tables (booktabs) that fit their pages.

mod layout;
mod units;

use super::{Cell, Report, ViewLayout, cell::listed, human};
use crate::base::visible::is_hidden;
pub use layout::{Pages, Typeset, typeset};
pub use units::points;
use units::units;

/// Largest number of rows of a table on one page.
const LONG: usize = 40;
/// Longest word, in characters, that is never broken.
const LONGEST_WORD: usize = 18;
/// Longest run of letters and digits, in characters, of a word that can break.
const LONGEST_RUN: usize = 8;
/// Pages of the class `article`.
const ARTICLE: Pages = Pages { upright: 345, turned: 550 };
/// Characters of other alphabets, and their commands.
const SYMBOLS: [(char, &str); 20] = [
    ('\u{b1}', "$\\pm$"),
    ('\u{b2}', "$^{2}$"),
    ('\u{b3}', "$^{3}$"),
    ('\u{b5}', "$\\mu$"),
    ('\u{b7}', "$\\cdot$"),
    ('\u{d7}', "$\\times$"),
    ('\u{f7}', "$\\div$"),
    ('\u{2013}', "{-}{-}"),
    ('\u{2014}', "{-}{-}"),
    ('\u{2018}', "'"),
    ('\u{2019}', "'"),
    ('\u{201c}', "''"),
    ('\u{201d}', "''"),
    ('\u{2026}', "..."),
    ('\u{2192}', "$\\rightarrow$"),
    ('\u{2212}', "$-$"),
    ('\u{221e}', "$\\infty$"),
    ('\u{2248}', "$\\approx$"),
    ('\u{2264}', "$\\leq$"),
    ('\u{2265}', "$\\geq$"),
];

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
    text += "% Needs \\usepackage{array,booktabs,longtable,pdflscape} in the preamble.\n";
    for (title, shown) in human::tables(report, layout, cell) {
        text.extend(typeset(&title, shown, ARTICLE, Some(LONG)).into_iter().map(on_its_page));
    }
    text
}

/// A table, on a turned page of its own if it needs one.
fn on_its_page(table: Typeset) -> String {
    if table.turned { format!("\n\\begin{{landscape}}{}\\end{{landscape}}\n", table.text) } else { table.text }
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
/// A number to a whole power (`2^-24`) has a raised exponent.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut raised = 0;
    for (at, c) in text.char_indices() {
        if at < raised {
            continue;
        }
        if let Some(exponent) = exponent(text, at) {
            escaped += &format!("$^{{{}}}$", exponent.trim_matches(['(', ')']));
            raised = at + 1 + exponent.len();
            continue;
        }
        match c {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '`' => escaped.push_str("\\textasciigrave{}"),
            // Two of them would become one dash or one quotation mark.
            '-' | ',' | '\'' if escaped.ends_with(c) => escaped.extend(['{', c, '}']),
            '|' => escaped.push_str("\\textbar{}"),
            // A row that begins with a star would end the one before in another way.
            '*' => escaped.push_str("{*}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            // A row is one line, and an empty line would end a caption.
            '\n' | '\r' => escaped.push(' '),
            // After `\\`, LaTeX would read `[` as an argument.
            '[' => escaped.push_str("{[}"),
            // A terminal would obey characters from files and other programs.
            _ if is_hidden(c) => escaped.push('?'),
            ' '..='\u{ff}' => match symbol(c) {
                Some(command) => escaped.push_str(command),
                None => escaped.push(c),
            },
            _ => match symbol(c) {
                Some(command) => escaped.push_str(command),
                None => escaped += &format!("U+{:04X}", u32::from(c)),
            },
        }
    }
    escaped
}

/// The exponent behind the `^` at this place, if a number is raised there: `-23`, `-F`, `(1-p)`.
fn exponent(text: &str, at: usize) -> Option<&str> {
    // A reader copies a command as it stands.
    let is_power = !text.starts_with("tcnum ") && text[..at].ends_with(|c: char| c.is_ascii_digit());
    let behind = text[at..].strip_prefix('^').filter(|_| is_power)?;
    if let Some(end) = behind.starts_with('(').then(|| behind.find(')')).flatten() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " +-".contains(c);
        return behind[1..end].chars().all(is_plain).then(|| &behind[..=end]);
    }
    let sign = usize::from(behind.starts_with('-'));
    let is_number = behind[sign..].starts_with(|c: char| c.is_ascii_digit());
    let is_part = |c: char| if is_number { c.is_ascii_digit() } else { c.is_ascii_alphabetic() };
    let length = behind[sign..].find(|c: char| !is_part(c)).unwrap_or(behind.len() - sign);
    (length > 0).then(|| &behind[..sign + length])
}

/// The command of a character.
fn symbol(c: char) -> Option<&'static str> {
    SYMBOLS.iter().find(|(known, _)| *known == c).map(|(_, command)| *command)
}

/// Allows LaTeX text to break long words: after points, slashes and the like, and within hashes.
pub fn broken(text: &str) -> String {
    let word = |word: &str| if word.len() > LONGEST_WORD { breakable(word) } else { word.to_string() };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn breakable(word: &str) -> String {
    let long = word.contains(|c: char| c.is_ascii_digit());
    let (mut text, mut run) = (String::with_capacity(word.len() * 2), 0);
    for unit in units(word) {
        text.push_str(unit);
        run = if unit.chars().all(char::is_alphanumeric) { run + 1 } else { 0 };
        if [".", "/", ",", ":", ";", "=", "+", "\\_", "]", ")"].contains(&unit) || long && run == LONGEST_RUN {
            text.push_str("\\allowbreak{}");
            run = 0;
        }
    }
    text
}

/// One comment line for each line of `text`.
fn comment(text: &str) -> String {
    text.split(['\n', '\r']).map(|line| format!("% {}\n", line.replace(is_hidden, "?"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_to_a_whole_power_has_a_raised_exponent_and_other_carets_stay() {
        for (text, expected) in [
            ("2^-24", "2$^{-24}$"),
            ("2^(1-p), 2^-F", "2$^{1-p}$, 2$^{-F}$"),
            ("10^12 cases", "10$^{12}$ cases"),
            ("2^-24b", "2$^{-24}$b"),
            // No number, no exponent, or a command.
            ("x^2", "x\\textasciicircum{}2"),
            ("2^", "2\\textasciicircum{}"),
            ("2^-", "2\\textasciicircum{}-"),
            ("2^(a*b)", "2\\textasciicircum{}(a{*}b)"),
            ("tcnum calc 2^3", "tcnum calc 2\\textasciicircum{}3"),
        ] {
            assert_eq!(escaped(text), expected, "{text}");
        }
    }
}
