//! Verification: every recorded output of a trace against another device, in every bit.

use crate::{
    Error, Result,
    device::{Device, Execution},
    exact,
    format::Format,
    isa::Case,
    report::{Cell, Column, Table},
    trace::Trace,
};

/// Tiles that are computed at a time.
const BATCH: usize = 4096;

/// What comparing one trace with a device found.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// Outputs that were compared: all that were recorded.
    pub compared: u64,
    /// Outputs whose codes differ.
    pub differing: u64,
    /// The first of them, in order of tile, row and column.
    pub mismatches: Vec<Mismatch>,
    /// How the device executed the instruction.
    pub execution: Execution,
}

/// One output that differs, with all that went into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The tile, counted from 0.
    pub tile: usize,
    /// The row of A, C and D.
    pub row: usize,
    /// The column of B, C and D.
    pub column: usize,
    /// The recorded operands.
    pub case: Case,
    /// The recorded code of D.
    pub recorded: u64,
    /// The device's code of D.
    pub computed: u64,
}

/// Compares every recorded output of `trace` with what `device` computes from the recorded inputs, and keeps
/// the first `keep` that differ. Codes are compared, not values: the signs of zeros and NaN codes count.
///
/// # Errors
/// The device does not execute the instruction, fails, or answers short.
pub fn verify(trace: &Trace, device: &mut dyn Device, keep: usize) -> Result<Verification> {
    let execution = device.prepare(&trace.instruction)?;
    let each = trace.m * trace.n;
    let mut result =
        Verification { compared: (trace.count() * each) as u64, differing: 0, mismatches: Vec::new(), execution };
    for from in (0..trace.count()).step_by(BATCH) {
        let to = trace.count().min(from + BATCH);
        let computed = device.execute_part(&trace.instruction, trace.m, trace.n, &trace.tiles(from, to))?;
        if computed.len() != (to - from) * each {
            let name = &device.identity().name;
            return Err(Error::device(format!("{name} answered {} outputs of {}", computed.len(), (to - from) * each)));
        }
        let recorded = trace.d.slice(from * each, to * each);
        if recorded == computed {
            continue;
        }
        for (at, code) in computed.iter().enumerate().filter(|(at, code)| recorded.get(*at) != *code) {
            result.differing += 1;
            if result.mismatches.len() < keep {
                result.mismatches.push(mismatch(trace, from * each + at, code));
            }
        }
    }
    Ok(result)
}

/// The output numbered `at` of a trace, for which a device computed another code.
fn mismatch(trace: &Trace, at: usize, computed: u64) -> Mismatch {
    let part = trace.part();
    let (tile, row, column) = (at / (part.m * part.n), at / part.n % part.m, at % part.n);
    Mismatch {
        tile,
        row,
        column,
        case: trace.inputs.case(&part, tile, row, column),
        recorded: trace.d.get(at),
        computed,
    }
}

/// The table `verification`, without rows: one for each trace.
pub fn summary_table() -> Table {
    let columns = vec![
        Column::new("file", "trace"),
        Column::new("instruction", "instruction"),
        Column::new("recorded_on", "recorded on"),
        Column::hidden("model"),
        Column::hidden("execution"),
        Column::new("tiles", "tiles"),
        Column::new("compared", "outputs"),
        Column::new("agreeing", "agree"),
        Column::new("differing", "differ"),
    ];
    Table::new("verification", "Recorded outputs compared in every bit", columns)
}

/// The row of [`summary_table`] for the trace in `file` and a device called `model`.
pub fn summary_row(file: &str, trace: &Trace, model: &str, result: &Verification) -> Vec<Cell> {
    vec![
        Cell::text(file),
        Cell::text(&trace.instruction.name),
        trace.metadata.get("device").map_or(Cell::Empty, Cell::text),
        Cell::text(model),
        Cell::text(result.execution.kind.name()),
        Cell::integer(trace.count()),
        Cell::integer(result.compared),
        Cell::integer(result.compared - result.differing),
        Cell::integer(result.differing),
    ]
}

/// The table `mismatches`, without rows: one for each of the first outputs that differ. Codes are hexadecimal;
/// `ulps` is the number of steps from one representable number to the next between the two, empty where one is infinite or NaN.
pub fn mismatch_table() -> Table {
    let columns = vec![
        Column::new("file", "trace"),
        Column::new("tile", "tile"),
        Column::new("row", "row"),
        Column::new("column", "column"),
        Column::new("a", "A row"),
        Column::hidden("a_values"),
        Column::new("b", "B column"),
        Column::hidden("b_values"),
        Column::hidden("positions"),
        Column::hidden("scale_a"),
        Column::hidden("scale_b"),
        Column::new("c", "C"),
        Column::new("c_value", "value of C"),
        Column::new("recorded", "recorded D"),
        Column::new("recorded_value", "value recorded"),
        Column::new("computed", "computed D"),
        Column::new("computed_value", "value computed"),
        Column::new("ulps", "ulps apart"),
    ];
    Table::new("mismatches", "The first outputs that differ", columns)
}

/// The rows of [`mismatch_table`] for the trace in `file`.
pub fn mismatch_rows<'a>(
    file: &'a str,
    trace: &'a Trace,
    result: &'a Verification,
) -> impl Iterator<Item = Vec<Cell>> + 'a {
    let i = &trace.instruction;
    result.mismatches.iter().map(move |m| {
        let case = &m.case;
        let scale = |code: u64| i.scale.map_or(Cell::Empty, |scale| scale.format.hex(code).into());
        let list = |codes: &[u64], cell: &dyn Fn(u64) -> Cell| Cell::List(codes.iter().map(|c| cell(*c)).collect());
        vec![
            Cell::text(file),
            Cell::integer(m.tile),
            Cell::integer(m.row),
            Cell::integer(m.column),
            list(&case.a, &|code| i.a.hex(code).into()),
            list(&case.a, &|code| value(i.a, code)),
            list(&case.b, &|code| i.b.hex(code).into()),
            list(&case.b, &|code| value(i.b, code)),
            list(&case.positions, &|position| Cell::integer(position)),
            list(&case.scale_a, &scale),
            list(&case.scale_b, &scale),
            i.c.hex(case.c).into(),
            value(i.c, case.c),
            i.d.hex(m.recorded).into(),
            value(i.d, m.recorded),
            i.d.hex(m.computed).into(),
            value(i.d, m.computed),
            exact::distance(i.d, m.recorded, m.computed).map_or(Cell::Empty, count),
        ]
    })
}

/// A count that may exceed 63 bits (between f64 numbers of opposite signs), then in double precision.
pub(super) fn count(count: u64) -> Cell {
    i64::try_from(count).map_or(Cell::Real(count as f64), Cell::Integer)
}

fn value(format: &Format, code: u64) -> Cell {
    let value = format.to_f64(code);
    if format.is_integer() { Cell::Integer(value as i64) } else { Cell::Real(value) }
}
