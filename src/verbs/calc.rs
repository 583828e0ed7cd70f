//! `tcnum calc`: single operations, and lines of expected results against them.

use std::io::BufReader;

use clap::{Args, ValueEnum};

use super::{OutputDestination, Verb, options::integer, rounding::RoundingFlags};
use crate::{
    Error, Result,
    base::{
        input::{StandardInput, each_line, room_for_a_row},
        interrupt,
    },
    calc::{self, CalcRequest, Check, Operator, Sheet},
    format::{self, Format, block},
    report::{Report, Verdict},
    softfloat::{Environment, NanRule, Tininess},
};

/// Computes single operations in a format, with their exception flags.
///
/// Example: tcnum calc --fmt f16 --op add --round RZ 0x3c00 0.1
///
/// Operations: add, sub, mul, div, sqrt, fma, rem, rint, rint-exact, next-up, next-down, minimum, maximum, minimum-number,
/// maximum-number, min-num, max-num, eq, eq-signaling, lt, lt-quiet, le, le-quiet, unordered, total-order, classify, and
/// convert (with --to); also TestFloat's mulAdd and roundToInt. An operand is a hexadecimal code (0x3c00), or a number as
/// `tcnum convert` reads it, rounded to the format (to nearest, ties to even). Operands on the command line are those of one
/// operation, or of one after another; else standard input has one operation on each line. `--` goes before an operand like
/// -inf or -0x1p3.
///
/// With --check, each line of standard input has operands, expected result and expected flags in bare hexadecimal, as
/// Berkeley TestFloat's testfloat_gen prints them (3C00 3C00 4000 00). The flags are inexact 1, underflow 2, overflow 4, divide by
/// zero 8 and invalid 10. Lines that differ are reported (exit status 1). A line that cannot be read ends the work (exit
/// status 2); the lines before it are still reported.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The format of the operands: a name of `tcnum formats`, or a TOML file that describes one.
    #[arg(long, value_name = "FORMAT")]
    pub fmt: String,
    /// The operation.
    #[arg(long, value_name = "OPERATION")]
    pub op: String,
    /// The format that convert converts to.
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<String>,
    /// Rounding and overflow.
    #[command(flatten)]
    pub rounding: RoundingFlags,
    /// When a result counts as tiny: before or after rounding.
    #[arg(long, value_enum, default_value = "after")]
    pub tininess: TininessName,
    /// Which NaN a result is (on overflow always the canonical one), and which integer an invalid conversion gives.
    #[arg(long, value_enum, default_value = "canonical")]
    pub nan: NanName,
    /// Tiny results become zeros.
    #[arg(long)]
    pub ftz: bool,
    /// Subnormal operands count as zeros.
    #[arg(long)]
    pub daz: bool,
    /// Rounding to an integral value, and conversion to integers, raise inexact.
    #[arg(long)]
    pub exact: bool,
    /// Compare lines of standard input with what is computed.
    #[arg(long, conflicts_with = "operands")]
    pub check: bool,
    /// With --check: compare NaNs bit for bit, and the integers of invalid conversions too.
    #[arg(long)]
    pub check_nan: bool,
    /// With --check: how many of the lines that differ are printed.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = integer(0..=1_000_000usize))]
    pub limit: usize,
    /// The operands; none: they are read from standard input.
    #[arg(value_name = "OPERANDS")]
    pub operands: Vec<String>,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

/// The name of a moment at which tininess is detected.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum TininessName {
    /// The exact result is below the smallest normal number.
    Before,
    /// The result rounded with unbounded exponent is.
    After,
}

/// The name of a rule for NaNs.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum NanName {
    /// Always the format's canonical NaN (RISC-V).
    Canonical,
    /// The first NaN operand, made quiet; else the negative canonical NaN (SSE).
    X86,
    /// The first signalling, then the first quiet NaN operand; else the canonical NaN.
    Arm,
    /// The positive NaN with every significand bit set (NVIDIA GPUs).
    Nvidia,
}

impl From<TininessName> for Tininess {
    fn from(name: TininessName) -> Tininess {
        match name {
            TininessName::Before => Tininess::Before,
            TininessName::After => Tininess::After,
        }
    }
}

impl From<NanName> for NanRule {
    fn from(name: NanName) -> NanRule {
        match name {
            NanName::Canonical => NanRule::Canonical,
            NanName::X86 => NanRule::X86,
            NanName::Arm => NanRule::Arm,
            NanName::Nvidia => NanRule::Nvidia,
        }
    }
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }
}

/// The report of `tcnum calc`, and the error that stopped it, if one did after part of the work.
///
/// # Errors
/// An unknown format, operation or rounding; one that the format does not support; no input, or a first line that cannot be read.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let environment = Environment {
        rounding: arguments.rounding.rounding()?,
        overflow: arguments.rounding.overflow.into(),
        tininess: arguments.tininess.into(),
        flush_inputs: arguments.daz,
        flush_results: arguments.ftz,
        nan: arguments.nan.into(),
    };
    let operator = Operator::new(&CalcRequest {
        operation: &arguments.op,
        format: format_of_codes(&arguments.fmt)?,
        to: arguments.to.as_deref().map(format_of_codes).transpose()?,
        exact: arguments.exact,
        environment,
    })?;
    if arguments.check_nan && !arguments.check {
        // Not by clap, which waives what is required where it would conflict with something given.
        return Err(Error::request("--check-nan is for --check"));
    }
    if arguments.check { check(&operator, arguments, report) } else { compute(&operator, arguments, report) }
}

/// The format of this name, which may not be a block format.
fn format_of_codes(name: &str) -> Result<&'static Format> {
    match block::find(name) {
        Some(blocks) => Err(Error::request(format!(
            "{blocks} is a block format, whose elements share a scale; `tcnum convert --to {blocks}` quantises, and calc works on \
             the codes of {}, its elements",
            blocks.element.format
        ))),
        None => format::resolve(name),
    }
}

fn check(operator: &Operator, arguments: &Arguments, report: &mut Report) -> Result<()> {
    let how = Check { strict: arguments.check_nan, limit: arguments.limit };
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
    let mut sheet = Sheet::new(operator);
    let status = if arguments.operands.is_empty() {
        from_lines(&mut sheet)
    } else {
        from_words(&mut sheet, &arguments.operands, operator.operands())
    };
    if sheet.rows() == 0 {
        status?;
        return Err(Error::request("there is no operand: give some on the command line or on standard input"));
    }
    report.answer = sheet.answer();
    report.holds = sheet.without_code() == 0;
    report.verdict = Verdict::WithoutCode;
    report.tables.push(sheet.into_table());
    status
}

fn from_words(sheet: &mut Sheet<'_>, words: &[String], count: usize) -> Result<()> {
    for (i, operands) in words.chunks(count).enumerate() {
        interrupt::check()?;
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        sheet.compute(&operands).map_err(|error| error.within(format!("operation {}", i + 1)))?;
    }
    Ok(())
}

fn from_lines(sheet: &mut Sheet<'_>) -> Result<()> {
    each_line(BufReader::new(StandardInput), |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            return Ok(());
        }
        room_for_a_row(sheet.rows(), "--check compares lines without limit")?;
        sheet.compute(&words)
    })
}
