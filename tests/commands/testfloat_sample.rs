//! The sample of Berkeley TestFloat's output in `tests/fixtures/testfloat`: every line, and lines that were made wrong.

use std::{fs, path::Path};

use rayon::prelude::*;
use tcnum::{
    format::{self, Class, Format, Rounding},
    softfloat::{Environment, NanRule, Tininess},
};
use tcnum_study::calc::{CalcRequest, CodeMeaning, LineCheck, Operator, check};

/// The lines that the generator printed for a function under some options.
struct Section {
    function: String,
    options: String,
    lines: String,
}

fn sections() -> Vec<Section> {
    let folder = Path::new("tests/fixtures/testfloat");
    let mut sections = Vec::new();
    for entry in fs::read_dir(folder).expect("the fixtures") {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let function = path.file_stem().unwrap().to_str().unwrap().to_string();
        for line in fs::read_to_string(&path).unwrap().lines() {
            if line.starts_with('-') {
                let (function, options) = (function.clone(), line.to_string());
                sections.push(Section { function, options, lines: String::new() });
            } else {
                sections.last_mut().expect("options come first").lines += &format!("{line}\n");
            }
        }
    }
    sections
}

fn named(name: &str) -> Option<&'static Format> {
    format::find(name).ok()
}

impl Section {
    /// The operator of the function, and whether NaNs have to be the same. The generator's are those of x86, with two exceptions: it
    /// flags zero times infinity plus NaN, as that rule does not, and shifts the payloads of bfloat16 by a bit too few.
    fn operator(&self) -> (Operator, bool) {
        let mut environment = Environment { nan: NanRule::X86, ..Environment::default() };
        let mut exact = false;
        for option in self.options.split_whitespace() {
            match option {
                "-rnear_even" => environment.rounding = Rounding::Rne,
                "-rnear_maxMag" => environment.rounding = Rounding::Rna,
                "-rminMag" => environment.rounding = Rounding::Rz,
                "-rmax" => environment.rounding = Rounding::Ru,
                "-rmin" => environment.rounding = Rounding::Rd,
                "-rodd" => environment.rounding = Rounding::Ro,
                "-tininessbefore" => environment.tininess = Tininess::Before,
                "-tininessafter" => environment.tininess = Tininess::After,
                "-exact" => exact = true,
                "-notexact" => {}
                other => panic!("option {other} of {}", self.function),
            }
        }
        let (format, operation) = self.function.split_once('_').expect("a format and an operation");
        let (operation, to) = match operation.strip_prefix("to_") {
            Some(to) => ("convert", Some(named(to).expect("a format"))),
            None => (operation, None),
        };
        let strict = operation != "mulAdd" && !self.function.contains("bf16");
        if operation == "mulAdd" {
            environment.nan = NanRule::Canonical;
        }
        let format = named(format).expect("a format");
        let operator = Operator::new(&CalcRequest { operation, format, to, exact, environment }).unwrap();
        (operator, strict)
    }
}

#[test]
fn not_one_line_differs() {
    let sections = sections();
    assert!(sections.len() > 400, "{} sections", sections.len());
    let lines: u64 = sections
        .par_iter()
        .map(|section| {
            let (operator, strict) = section.operator();
            let (tally, status) = check(&operator, LineCheck { strict, limit: 3 }, section.lines.as_bytes());
            assert_eq!(status, Ok(()), "{} {}", section.function, section.options);
            assert_eq!(tally.differing, 0, "{} {}: {:x?}", section.function, section.options, tally.differences);
            assert_eq!(tally.lines, section.lines.lines().count() as u64, "{}", section.function);
            tally.lines
        })
        .sum();
    assert!(lines > 130_000, "{lines} lines");
}

/// `line` with the last digit of its field `field` (from the end) changed in its lowest bit.
fn altered(line: &str, field: usize) -> String {
    let mut fields: Vec<String> = line.split(' ').map(str::to_string).collect();
    let at = fields.len() - field;
    let last = fields[at].pop().unwrap().to_digit(16).unwrap();
    fields[at].push(char::from_digit(last ^ 1, 16).unwrap());
    fields.join(" ")
}

/// Every seventh line gets another result, every seventh another flag: those are reported, by number, and no others.
#[test]
fn wrong_results_and_wrong_flags_are_reported() {
    sections().par_iter().for_each(|section| {
        let (operator, strict) = section.operator();
        let nan = |code: &str| match operator.answer() {
            CodeMeaning::Code(format) => format.decode(u64::from_str_radix(code, 16).unwrap()).class == Class::Nan,
            CodeMeaning::Truth | CodeMeaning::Class => false,
        };
        let (mut text, mut wrong) = (String::new(), Vec::new());
        for (i, line) in section.lines.lines().enumerate() {
            let field = match i % 7 {
                // Where any NaN stands for a NaN, another one is not wrong.
                3 if strict || !nan(line.rsplit(' ').nth(1).expect("a result")) => Some(2),
                5 => Some(1),
                _ => None,
            };
            text += &field.map_or_else(|| line.to_string(), |field| altered(line, field));
            text.push('\n');
            wrong.extend(field.map(|_| i as u64 + 1));
        }
        let (tally, status) = check(&operator, LineCheck { strict, limit: wrong.len() }, text.as_bytes());
        assert_eq!(status, Ok(()));
        let lines: Vec<u64> = tally.differences.iter().map(|difference| difference.line).collect();
        assert_eq!(lines, wrong, "{} {}", section.function, section.options);
        assert_eq!(tally.differing, wrong.len() as u64);
    });
}
