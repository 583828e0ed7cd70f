//! `tcnum calc`: single operations, and checks of lines of expected results.

use std::io::BufReader;

use clap::Args;

use super::{OutputDestination, Verb, named::one_of, options::integer, rounding::RoundingFlags};
use crate::{
    Error, Result,
    base::{
        input::{StandardInput, each_line, room_for_a_row},
        interrupt,
    },
    calc::{self, CalcRequest, LineCheck, OperationSheet, Operator},
    format::{self, Format, block},
    report::{Report, Verdict},
    softfloat::{Environment, NanRule, Tininess},
};

const HELP: &str = "Examples:
  tcnum calc --fmt f16 --op add --round RZ 0x3c00 0.1
  tcnum calc --fmt f32 --op convert --to e4m3 464 465
  tcnum calc --fmt bf16 --op fma --nan nvidia --ftz -- 0x3f80 -inf 0x0001
More: docs/numbers.md";

/// Computes single operations in a format, with their exception flags.
#[derive(Args, Debug)]
#[command(after_help = HELP, next_help_heading = "What")]
pub(super) struct Arguments {
    /// Format of the operands: a name of `tcnum formats`, or FILE.toml
    #[arg(long, value_name = "FORMAT")]
    fmt: String,
    /// Operation: add, sub, mul, div, sqrt, fma, rem, convert...
    #[arg(long, value_name = "OPERATION")]
    op: String,
    /// Format that convert converts to
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    #[command(flatten)]
    rounding: RoundingFlags,
    /// Detection of tiny results: before or after rounding
    #[arg(long, value_name = "WHEN", value_parser = one_of(&[Tininess::Before, Tininess::After], Tininess::name), default_value = "after", help_heading = "What")]
    tininess: Tininess,
    /// NaN of a result, and integer of an invalid conversion
    #[arg(long, value_name = "RULE", value_parser = one_of(&NanRule::ALL, NanRule::name), default_value = "canonical", help_heading = "What")]
    nan: NanRule,
    /// Flush tiny results to zero
    #[arg(long, help_heading = "What")]
    ftz: bool,
    /// Count subnormal operands as zeros
    #[arg(long, help_heading = "What")]
    daz: bool,
    /// Raise inexact when an operation rounds to an integer
    #[arg(long, help_heading = "What")]
    exact: bool,
    /// Operands, in turn for each operation [default: standard input]
    #[arg(value_name = "OPERANDS", help_heading = "Inputs")]
    operands: Vec<String>,
    /// Compare lines of Berkeley TestFloat on standard input
    #[arg(long, conflicts_with = "operands", help_heading = "Inputs")]
    check: bool,
    /// With --check: compare NaNs and integers of invalid conversions exactly
    #[arg(long, help_heading = "Inputs")]
    check_nan: bool,
    /// With --check: number of differing lines that are printed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = integer(0..=1_000_000usize), help_heading = "Output")]
    limit: usize,
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// The report of `tcnum calc`, and the error that stopped it, if one did after part of the work.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let environment = Environment {
        rounding: arguments.rounding.rounding()?,
        overflow: arguments.rounding.overflow,
        tininess: arguments.tininess,
        flush_inputs: arguments.daz,
        flush_results: arguments.ftz,
        nan: arguments.nan,
    };
    let operator = Operator::new(&CalcRequest {
        operation: &arguments.op,
        format: format_of_codes(&arguments.fmt)?,
        to: arguments.to.as_deref().map(format_of_codes).transpose()?,
        exact: arguments.exact,
        environment,
    })?;
    if arguments.check_nan && !arguments.check {
        // Clap's `requires` is waived beside a conflicting argument.
        return Err(Error::request("--check-nan is for --check"));
    }
    if arguments.check { check(&operator, arguments, report) } else { compute(&operator, arguments, report) }
}

/// The format of this name, which may not be a block format.
fn format_of_codes(name: &str) -> Result<&'static Format> {
    match block::find(name) {
        Some(blocks) => Err(Error::request(format!(
            "{blocks} is a block format, and calc computes on single codes; give its element format, {}, or quantise by \
             `tcnum convert --to {blocks}`",
            blocks.element.format
        ))),
        None => format::resolve(name),
    }
}

fn check(operator: &Operator, arguments: &Arguments, report: &mut Report) -> Result<()> {
    let how = LineCheck { strict: arguments.check_nan, limit: arguments.limit };
    let (tally, status) = calc::check(operator, how, StandardInput);
    if tally.lines == 0 {
        status?;
        return Err(Error::request("there is no line to check on standard input"));
    }
    report.answer = Some(calc::answer(operator, &tally));
    report.tables.push(calc::counts(operator, &tally));
    report.tables.extend(calc::differences(operator, &tally));
    report.holds = tally.differing == 0;
    status
}

fn compute(operator: &Operator, arguments: &Arguments, report: &mut Report) -> Result<()> {
    let mut sheet = OperationSheet::new(operator);
    let status = if arguments.operands.is_empty() {
        from_lines(&mut sheet)
    } else {
        from_words(&mut sheet, &arguments.operands, operator.operands())
    };
    if sheet.rows() == 0 {
        status?;
        return Err(Error::request("there is no operand; give some on the command line or on standard input"));
    }
    report.answer = sheet.answer();
    report.holds = sheet.without_code() == 0;
    report.verdict = Verdict::WithoutCode;
    report.tables.push(sheet.into_table());
    status
}

fn from_words(sheet: &mut OperationSheet<'_>, words: &[String], count: usize) -> Result<()> {
    for (i, operands) in words.chunks(count).enumerate() {
        interrupt::check()?;
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        sheet.compute(&operands).map_err(|error| error.within(format!("operation {}", i + 1)))?;
    }
    Ok(())
}

fn from_lines(sheet: &mut OperationSheet<'_>) -> Result<()> {
    each_line(BufReader::new(StandardInput), |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            return Ok(());
        }
        room_for_a_row(sheet.rows(), "--check compares lines without limit")?;
        sheet.compute(&words)
    })
}
