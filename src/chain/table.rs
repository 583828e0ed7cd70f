//! The tables of a chain report.

use super::{Curve, Plan, Point, inits_coincide};
use crate::{
    device::Execution,
    report::{Cell, Column, Table},
    summary::Summary,
};

const fn shown(key: &'static str, label: &'static str) -> Column {
    Column { key, label: Some(label) }
}

const fn hidden(key: &'static str) -> Column {
    Column { key, label: None }
}

/// What the reader of the numbers must know.
pub fn notes(plan: &Plan) -> Vec<String> {
    let mut notes = vec![
        format!(
            "{} chains; a mean is over those that are still finite. A chain has overflowed at N when an infinity or NaN \
             is in its result, or a saturated entry went into it, after N links or fewer. In the plot a line ends before \
             the first N at which any chain overflowed.",
            plan.chains
        ),
        "The reference is the same chain in plain f32 (f64, i64 for f64, integer instructions): ascending k, each \
         product and each sum rounded. The exact product is computed without any rounding. With init low both start \
         from the operands rounded to their formats, with fp32 from the numbers in binary32."
            .to_string(),
    ];
    if plan.curves.iter().any(|(instruction, _)| inits_coincide(instruction)) {
        notes.push("f64 and integer operands hold the random numbers: init low and fp32 are the same there.".into());
    }
    if plan.curves.iter().any(|(instruction, _)| instruction.a.is_integer()) {
        notes.push(
            "Integer entries are uniform in -1..=1, unsigned ones in 0..=1; a result saturates on its entry into the next link."
                .into(),
        );
    }
    notes
}

/// A row for each curve: what ran, where it overflows, its error at both ends. `executions` says how each was executed.
pub fn curves(curves: &[Curve], executions: &[Execution]) -> Table {
    let columns = vec![
        shown("instruction", "instruction"),
        hidden("ptx"),
        shown("init", "init"),
        shown("reference", "reference"),
        shown("execution", "execution"),
        shown("opcodes", "machine instructions"),
        shown("first_overflow", "overflow from N"),
        shown("first_error", "error, N = 1"),
        shown("last_length", "last N"),
        shown("last_error", "error, last N"),
    ];
    let row = |(curve, execution): (&Curve, &Execution)| {
        let drawn = curve.without_overflow();
        let error = |point: Option<&Point>| real(point.and_then(|p| p.against_plain.mean()));
        vec![
            text(&curve.instruction.name),
            text(&curve.instruction.ptx),
            text(curve.init.name()),
            text(curve.plain.name()),
            text(execution.kind.name()),
            match execution.opcodes.join(" ") {
                opcodes if opcodes.is_empty() => Cell::Empty,
                opcodes => text(&opcodes),
            },
            curve.points.get(drawn.len()).map_or(Cell::Empty, |p| Cell::Integer(p.length as i64)),
            error(drawn.first()),
            drawn.last().map_or(Cell::Empty, |p| Cell::Integer(p.length as i64)),
            error(drawn.last()),
        ]
    };
    Table {
        key: "curves",
        title: "Relative error of chains by instruction, up to the last length without overflow".into(),
        columns,
        rows: curves.iter().zip(executions).map(row).collect(),
    }
}

/// A row for each curve and length.
pub fn points(curves: &[Curve]) -> Table {
    let columns = vec![
        shown("instruction", "instruction"),
        shown("init", "init"),
        shown("length", "N"),
        hidden("reference"),
        shown("finite", "finite"),
        shown("overflowed", "overflowed"),
        shown("reference_count", "compared"),
        shown("reference_error", "error to reference"),
        shown("reference_standard_error", "+-"),
        hidden("reference_largest_error"),
        shown("exact_error", "error to exact"),
        shown("exact_standard_error", "+-"),
        hidden("exact_largest_error"),
    ];
    let row = |curve: &Curve, point: &Point| {
        let summary = |s: &Summary| [real(s.mean()), real(s.standard_error()), real(s.maximum())];
        let head = [
            text(&curve.instruction.name),
            text(curve.init.name()),
            Cell::Integer(point.length as i64),
            text(curve.plain.name()),
            Cell::Integer(point.finite as i64),
            Cell::Integer(point.overflowed as i64),
            Cell::Integer(point.against_plain.count() as i64),
        ];
        head.into_iter().chain(summary(&point.against_plain)).chain(summary(&point.against_exact)).collect()
    };
    Table {
        key: "chain",
        title: "Relative error ||D_low - D_ref|| / ||D_low|| after N links, mean over the finite chains".into(),
        columns,
        rows: curves.iter().flat_map(|curve| curve.points.iter().map(move |point| row(curve, point))).collect(),
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.into())
}

fn real(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Real)
}
