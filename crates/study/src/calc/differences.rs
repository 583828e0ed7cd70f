//! Tables of a check.

use super::{CodeMeaning, LineDifference, LineTally, Operator};
use crate::{
    report::{Table, counted, grouped},
    softfloat::Flags,
};

crate::rows! {
    /// Expected results, compared with an operation.
    pub struct CheckRow in "check" {
        /// The operation.
        operation: &'static str => shown("operation").essential(),
        /// The format of the operands.
        format: &'static str => shown("format").essential(),
        /// The format of the result, or what else it is.
        result_format: &'static str => shown("result"),
        /// The rounding direction.
        rounding: &'static str => shown("rounding").essential(),
        /// When a result counts as tiny.
        tininess: &'static str => shown("tininess"),
        /// The rule for NaNs.
        nan: &'static str => shown("NaN"),
        /// Compared lines.
        lines: u64 => shown("lines").essential(),
        /// Lines that agree.
        agreeing: u64 => shown("agreeing").essential(),
        /// Lines that differ.
        differing: u64 => shown("differing").essential(),
    }

    /// A line that differs from the computed result.
    pub struct LineRow in "differences" {
        /// The number of the line, from 1.
        line: u64 => shown("line").essential(),
        /// The codes of the operands.
        operands: Vec<String> => shown("operands").essential(),
        /// The expected result.
        expected: String => shown("expected").essential(),
        /// The expected exception flags.
        expected_flags: Vec<&'static str> => shown("flags"),
        /// The computed result, if there is a code for it.
        computed: Option<String> => shown("computed").essential(),
        /// The computed exception flags.
        computed_flags: Vec<&'static str> => shown("flags"),
    }
}

/// The table of counts.
pub fn counts(operator: &Operator, tally: &LineTally) -> Table {
    let environment = operator.environment();
    let result = match operator.answer() {
        CodeMeaning::Code(format) => format.name,
        CodeMeaning::Truth => "truth value",
        CodeMeaning::Class => "class",
    };
    let row = CheckRow {
        operation: operator.name(),
        format: operator.format().name,
        result_format: result,
        rounding: environment.rounding.name(),
        tininess: environment.tininess.name(),
        nan: environment.nan.name(),
        lines: tally.lines,
        agreeing: tally.lines - tally.differing,
        differing: tally.differing,
    };
    Table::of(operator.describe(), [row])
}

/// The result in a sentence.
pub fn answer(operator: &Operator, tally: &LineTally) -> String {
    let (operation, lines) = (operator.briefly(), counted(tally.lines, "line"));
    let first = tally.differences.first().map_or(String::new(), |first| format!("; the first is line {}", first.line));
    let differing = grouped(i64::try_from(tally.differing).unwrap_or(i64::MAX));
    format!("{differing} of {lines} differ from {operation}{first}.")
}

/// The lines that differ, as far as they were kept; `None` where there are none.
pub fn differences(operator: &Operator, tally: &LineTally) -> Option<Table> {
    let title = match tally.differing - tally.differences.len() as u64 {
        0 => "Differing lines".to_string(),
        more => format!("First differing lines ({more} more differ)"),
    };
    let result = |code: u64| match operator.answer() {
        CodeMeaning::Code(format) => format.hex(code),
        CodeMeaning::Truth | CodeMeaning::Class => format!("{code:x}"),
    };
    let flags = |flags: Flags| flags.names().collect::<Vec<_>>();
    let row = |difference: &LineDifference| LineRow {
        line: difference.line,
        operands: difference.operands[..operator.operands()].iter().map(|&code| operator.format().hex(code)).collect(),
        expected: result(difference.expected),
        expected_flags: flags(difference.expected_flags),
        computed: difference.computed.code.map(result),
        computed_flags: flags(difference.computed.flags),
    };
    Table::of(title, tally.differences.iter().map(row)).filled()
}
