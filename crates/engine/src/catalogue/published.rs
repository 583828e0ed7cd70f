//! A published table of formats, compared cell by cell with the records.

use std::collections::BTreeSet;

use crate::{
    format::{Class, Format, find},
    report::{Report, Table},
};

crate::rows! {
    /// A published cell and ours.
    pub struct PublishedCell in "published" {
        /// Format.
        format: &'static str => shown("format").essential(),
        /// Column of the cell.
        cell: String => shown("cell").essential(),
        /// Printed text.
        printed: String => shown("printed").essential(),
        /// Text that follows from the record.
        ours: String => shown("ours").essential(),
        /// True if both mean the same.
        agree: bool => shown("agree").essential(),
        /// Verdict on the printed cell.
        verdict: &'static str => shown("verdict"),
        /// Explanation of a misprint.
        misprint: Option<String> => hidden(),
    }
}

/// The published cells, with the known misprints.
const CELLS: &str = include!(concat!(env!("OUT_DIR"), "/table-formats.rs"));

/// A printed cell.
struct PrintedCell {
    format: &'static Format,
    cell: String,
    text: String,
    /// Explanation of a misprint; empty for a sound cell.
    misprint: String,
}

/// Adds the comparison to `report`, with a note on every misprint.
/// Returns the number of cells that agree, are misprinted and differ.
/// The report's claim holds if every other cell agrees.
///
/// Bits are compared as sets of codes: expanded patterns against decoded codes. The codes that a row prints as infinity
/// do not count as its NaN.
pub fn published(report: &mut Report) -> [usize; 3] {
    let cells = read();
    let mut rows = Vec::new();
    let (mut agreeing, mut differing) = (0, 0);
    for printed in &cells {
        let (ours, agree) = compare(&cells, printed);
        agreeing += usize::from(agree);
        let name = format!("{} {}", printed.format, printed.cell);
        match (agree, printed.misprint.is_empty()) {
            (false, true) => differing += 1,
            (false, false) => {
                report.notes.push(format!("{name}: misprinted as '{}': {}.", printed.text, printed.misprint));
            }
            (true, _) => {}
        }
        rows.push(PublishedCell {
            format: printed.format.name,
            cell: printed.cell.clone(),
            printed: printed.text.clone(),
            ours,
            agree,
            verdict: match (agree, printed.misprint.is_empty()) {
                (true, _) => "reproduced",
                (false, false) => "not reproduced: misprinted",
                (false, true) => "not reproduced: unexplained",
            },
            misprint: Some(printed.misprint.clone()).filter(|reason| !reason.is_empty()),
        });
    }
    report.answer = Some(format!(
        "{agreeing} of {} published cells agree with the records; misprints: {}; unexplained differences: {differing}.",
        cells.len(),
        report.notes.len()
    ));
    let title =
        "Matrix Core Programming on AMD GPUs (AMD ROCm Blogs), table of low-precision types: printed cells and ours";
    report.tables.push(Table::of(title, rows));
    report.holds &= differing == 0;
    [agreeing, cells.len() - agreeing - differing, differing]
}

fn read() -> Vec<PrintedCell> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(CELLS.as_bytes());
    let printed = |record: csv::StringRecord| PrintedCell {
        format: find(&record[0]).expect("the cells name formats"),
        cell: record[1].to_string(),
        text: record[2].to_string(),
        misprint: record[3].to_string(),
    };
    reader.records().map(|record| printed(record.expect("the cells are well-formed CSV"))).collect()
}

/// Our text for the cell, and true if it means the same as the printed one.
fn compare(cells: &[PrintedCell], printed: &PrintedCell) -> (String, bool) {
    let format = printed.format;
    let pattern = |pattern: Option<_>| pattern.map_or("n/a".to_string(), |pattern| format.split_pattern(&pattern));
    let (text, float) = (printed.text.as_str(), format.float().expect("the article's formats are floating-point"));
    let same = |ours: String, text: &str| (ours.clone(), ours == text);
    match printed.cell.as_str() {
        "width" => same(format!("{}-Bit", format.bits), text),
        "bias" => same(float.bias.to_string(), text),
        "range" => range(format, text),
        "shorthand" => {
            let trailing = if float.trailing_bits > 0 { format!("M{}", float.trailing_bits) } else { String::new() };
            // The name after it (FN, FNUZ, an alias) is not a property of the bits.
            let ours = format!("E{}{trailing}", float.exponent_bits);
            let tail = text.strip_prefix(ours.as_str());
            (ours, tail.is_some_and(|tail| !tail.starts_with(|c: char| c.is_ascii_digit())))
        }
        "zero" => (pattern(format.zero_pattern()), members(text) == of_class(format, Class::Zero)),
        "infinity" => (pattern(format.infinity_pattern()), members(text) == of_class(format, Class::Infinite)),
        "nan" => {
            let row = cells.iter().find(|other| other.format == format && other.cell == "infinity");
            let infinities = row.map_or_else(BTreeSet::new, |row| members(&row.text));
            let codes: BTreeSet<u64> = members(text).difference(&infinities).copied().collect();
            (pattern(format.nan_pattern()), codes == of_class(format, Class::Nan))
        }
        other => unreachable!("the cells of the article have no '{other}'"),
    }
}

/// The largest finite number as the article prints it: exact, or rounded with a power of ten.
/// A format of powers of two has the exponents of the smallest and the largest.
fn range(format: &Format, text: &str) -> (String, bool) {
    let largest = format.decode(format.largest(false));
    if let Some(exponent) = text.strip_prefix("2^(±").and_then(|rest| rest.strip_suffix(')')) {
        let smallest = format.decode(format.smallest_normal());
        let ours = format!("{} to {}", smallest.exact_text(), largest.exact_text());
        return (ours.clone(), ours == format!("1*2^-{exponent} to 1*2^{exponent}"));
    }
    let decimal = largest.decimal();
    let ours = match decimal.strip_prefix('~') {
        Some(rounded) => format!("~±{rounded}"),
        None => format!("±{decimal}"),
    };
    let symmetric = format.to_f64(format.largest(true)) == -largest.to_f64() && text.starts_with('±');
    let agree = match text.trim_start_matches('±').split_once(" * 10^") {
        Some((digits, exponent)) => {
            let decimals = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            format!("{:.decimals$e}", largest.to_f64()) == format!("{digits}e{exponent}")
        }
        None => ours == text,
    };
    (ours, agree && symmetric)
}

fn of_class(format: &Format, class: Class) -> BTreeSet<u64> {
    (0..=format.code_mask()).filter(|&code| format.decode(code).class == class).collect()
}

/// Expands a printed pattern into codes: `S` and `x` are either bit, `{01, 10 11}` are alternatives.
/// Spaces mean nothing; `n/a` is the empty set.
fn members(text: &str) -> BTreeSet<u64> {
    if text == "n/a" {
        return BTreeSet::new();
    }
    let mut codes = vec![0u64];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let alternatives: Vec<&str> = match c {
            ' ' => continue,
            '0' => vec!["0"],
            '1' => vec!["1"],
            'S' | 'x' => vec!["0", "1"],
            '{' => {
                let (inside, after) = rest.split_once('}').expect("a brace is closed");
                rest = after;
                inside.split([',', ' ']).filter(|bits| !bits.is_empty()).collect()
            }
            other => unreachable!("'{other}' in the pattern '{text}'"),
        };
        let append = |code: u64, bits: &&str| bits.bytes().fold(code, |code, bit| code << 1 | u64::from(bit == b'1'));
        codes = codes.iter().flat_map(|&code| alternatives.iter().map(move |bits| append(code, bits))).collect();
    }
    codes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_agrees_but_the_misprints() {
        let cells = read();
        assert_eq!(cells.len(), 70);
        for printed in &cells {
            let (ours, agree) = compare(&cells, printed);
            let expected = printed.misprint.is_empty();
            assert_eq!(agree, expected, "{} {}: '{}' and '{ours}'", printed.format, printed.cell, printed.text);
        }
    }

    #[test]
    fn a_wrong_cell_is_noticed() {
        let cells = read();
        for (format, cell, text) in [
            ("e4m3", "width", "6-Bit"),
            ("e4m3", "shorthand", "E4M2 (FP8)"),
            ("f16", "shorthand", "E5M100"),
            ("e4m3", "bias", "8"),
            ("e4m3", "range", "±480"),
            ("e4m3", "range", "448"),
            ("bf16", "range", "±3.3896 * 10^38"),
            ("bf16", "range", "±3.3895 * 10^37"),
            ("e8m0", "range", "2^(±126)"),
            ("e4m3", "zero", "0 0000 000"),
            ("e4m3", "zero", "n/a"),
            ("e4m3", "nan", "S 1111 11x"),
            ("e5m2", "nan", "S 11111 {01, 10}"),
            ("e5m2", "infinity", "n/a"),
            ("e4m3", "infinity", "S 1111 000"),
        ] {
            let format = find(format).unwrap();
            let wrong = PrintedCell { format, cell: cell.into(), text: text.into(), misprint: String::new() };
            let (ours, agree) = compare(&cells, &wrong);
            assert!(!agree, "{format} {cell}: '{text}' taken for '{ours}'");
        }
    }

    #[test]
    fn patterns_expand_to_their_codes() {
        assert_eq!(members("S 11111 {01, 10 11}"), BTreeSet::from([0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff]));
        assert_eq!(members("0 0 x"), BTreeSet::from([0, 1]));
        assert_eq!(members("n/a"), BTreeSet::new());
    }
}
