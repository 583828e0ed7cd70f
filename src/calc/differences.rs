//! What a check found, as tables.

use super::{Answer, Operator, Tally};
use crate::{
    report::{Cell, Column, Table},
    softfloat::Flags,
};

/// How many lines agree and differ.
pub fn counts(operator: &Operator, tally: &Tally) -> Table {
    let columns = vec![
        Column::new("operation", "operation"),
        Column::new("format", "format"),
        Column::new("result_format", "result"),
        Column::new("rounding", "rounding"),
        Column::new("tininess", "tininess"),
        Column::new("nan", "NaN"),
        Column::new("lines", "lines"),
        Column::new("agreeing", "agreeing"),
        Column::new("differing", "differing"),
    ];
    let mut table = Table::new("check", operator.describe(), columns);
    let environment = operator.environment();
    let result = match operator.answer() {
        Answer::Code(format) => format.name,
        Answer::Truth => "truth value",
        Answer::Class => "class",
    };
    table.rows.push(vec![
        operator.name().into(),
        operator.format().name.into(),
        result.into(),
        environment.rounding.name().into(),
        environment.tininess.name().into(),
        environment.nan.name().into(),
        tally.lines.into(),
        (tally.lines - tally.differing).into(),
        tally.differing.into(),
    ]);
    table
}

/// The lines that differ, as far as they were kept; `None` where there are none.
pub fn differences(operator: &Operator, tally: &Tally) -> Option<Table> {
    let columns = vec![
        Column::new("line", "line"),
        Column::new("operands", "operands"),
        Column::new("expected", "expected"),
        Column::new("expected_flags", "flags"),
        Column::new("computed", "computed"),
        Column::new("computed_flags", "flags"),
    ];
    let title = match tally.differing - tally.differences.len() as u64 {
        0 => "Lines that differ".to_string(),
        more => format!("The first lines that differ ({more} more do)"),
    };
    let mut table = Table::new("differences", title, columns);
    let result = |code: u64| match operator.answer() {
        Answer::Code(format) => format.hex(code),
        Answer::Truth | Answer::Class => format!("{code:x}"),
    };
    let flags = |flags: Flags| Cell::from(flags.names().collect::<Vec<_>>());
    for difference in &tally.differences {
        let operands = &difference.operands[..operator.operands()];
        table.rows.push(vec![
            difference.line.into(),
            operands.iter().map(|&code| operator.format().hex(code)).collect::<Vec<_>>().into(),
            result(difference.expected).into(),
            flags(difference.expected_flags),
            difference.computed.code.map(result).into(),
            flags(difference.computed.flags),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}
