//! Verification: every recorded output of a trace against another device, in every bit.

use crate::{
    Error, Result,
    device::{Device, Execution},
    exact,
    format::Format,
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
    /// The recorded codes of the row of A.
    pub a: Vec<u64>,
    /// The recorded codes of the column of B.
    pub b: Vec<u64>,
    /// The code of C.
    pub c: u64,
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
        Verification { compared: (trace.count * each) as u64, differing: 0, mismatches: Vec::new(), execution };
    for from in (0..trace.count).step_by(BATCH) {
        let to = trace.count.min(from + BATCH);
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
    let Trace { m, n, k, .. } = *trace;
    let (tile, row, column) = (at / (m * n), at / n % m, at % n);
    Mismatch {
        tile,
        row,
        column,
        a: (0..k).map(|i| trace.a.get((tile * m + row) * k + i)).collect(),
        b: (0..k).map(|i| trace.b.get((tile * k + i) * n + column)).collect(),
        c: trace.c.get(at),
        recorded: trace.d.get(at),
        computed,
    }
}

/// The table `verification`, without rows: one for each trace.
pub fn summary_table() -> Table {
    let columns = vec![
        column("file", "trace"),
        column("instruction", "instruction"),
        column("recorded_on", "recorded on"),
        column("model", "compared with"),
        column("execution", "which is"),
        column("tiles", "tiles"),
        column("compared", "outputs"),
        column("agreeing", "agree"),
        column("differing", "differ"),
    ];
    Table { key: "verification", title: "Recorded outputs compared in every bit".into(), columns, rows: Vec::new() }
}

/// The row of [`summary_table`] for the trace in `file` and a device called `model`.
pub fn summary_row(file: &str, trace: &Trace, model: &str, result: &Verification) -> Vec<Cell> {
    vec![
        text(file),
        text(&trace.instruction.name),
        trace.metadata.get("device").map_or(Cell::Empty, |device| text(device)),
        text(model),
        text(result.execution.kind.name()),
        Cell::Integer(trace.count as i64),
        Cell::Integer(result.compared as i64),
        Cell::Integer((result.compared - result.differing) as i64),
        Cell::Integer(result.differing as i64),
    ]
}

/// The table `mismatches`, without rows: one for each of the first outputs that differ. Codes are hexadecimal;
/// `ulps` is the number of representable numbers between the two, empty where one is infinite or NaN.
pub fn mismatch_table() -> Table {
    let columns = vec![
        column("file", "trace"),
        column("tile", "tile"),
        column("row", "row"),
        column("column", "column"),
        column("a", "A row"),
        Column { key: "a_values", label: None },
        column("b", "B column"),
        Column { key: "b_values", label: None },
        column("c", "C"),
        column("c_value", "value of C"),
        column("recorded", "recorded D"),
        column("recorded_value", "value recorded"),
        column("computed", "computed D"),
        column("computed_value", "value computed"),
        column("ulps", "ulps apart"),
    ];
    Table { key: "mismatches", title: "The first outputs that differ".into(), columns, rows: Vec::new() }
}

/// The rows of [`mismatch_table`] for the trace in `file`.
pub fn mismatch_rows<'a>(
    file: &'a str,
    trace: &'a Trace,
    result: &'a Verification,
) -> impl Iterator<Item = Vec<Cell>> + 'a {
    let i = &trace.instruction;
    result.mismatches.iter().map(move |m| {
        let list = |codes: &[u64], cell: &dyn Fn(u64) -> Cell| Cell::List(codes.iter().map(|c| cell(*c)).collect());
        vec![
            text(file),
            Cell::Integer(m.tile as i64),
            Cell::Integer(m.row as i64),
            Cell::Integer(m.column as i64),
            list(&m.a, &|code| hex(i.a, code)),
            list(&m.a, &|code| value(i.a, code)),
            list(&m.b, &|code| hex(i.b, code)),
            list(&m.b, &|code| value(i.b, code)),
            hex(i.c, m.c),
            value(i.c, m.c),
            hex(i.d, m.recorded),
            value(i.d, m.recorded),
            hex(i.d, m.computed),
            value(i.d, m.computed),
            exact::distance(i.d, m.recorded, m.computed).map_or(Cell::Empty, |ulps| Cell::Integer(ulps as i64)),
        ]
    })
}

fn column(key: &'static str, label: &'static str) -> Column {
    Column { key, label: Some(label) }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.into())
}

/// A code in as many hexadecimal digits as its bytes have.
fn hex(format: &Format, code: u64) -> Cell {
    Cell::Text(format!("{code:#0width$x}", width = 2 + 2 * format.bytes()))
}

fn value(format: &Format, code: u64) -> Cell {
    let value = format.to_f64(code);
    if format.is_integer() { Cell::Integer(value as i64) } else { Cell::Real(value) }
}
