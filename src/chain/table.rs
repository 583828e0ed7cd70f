//! The tables of a chain report.

use super::{ChainRequest, Curve, Point, inits_coincide};
use crate::{
    device::Execution,
    report::{Cell, Column, Table},
    summary::Summary,
};

/// What the reader of the numbers must know.
pub fn notes(plan: &ChainRequest) -> Vec<String> {
    let mut notes = vec![
        format!(
            "{} chains; a mean is over those that are still finite. A chain has overflowed at N when an infinity or NaN \
             is in its result, or a saturated entry went into it, after N links or fewer. In the plot a line ends before \
             the first N at which any chain overflowed.",
            plan.chains
        ),
        "Random numbers are Normal(0, 1), drawn in binary64 and rounded to binary32. The reference is the same chain in \
         plain f32 (f64, i64 for f64, integer instructions): ascending k, each product and each sum rounded. The exact \
         product is computed without any rounding. With init low both start from the operands rounded to their formats, \
         with fp32 from the numbers in binary32."
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
        Column::new("instruction", "instruction"),
        Column::hidden("ptx"),
        Column::new("init", "init"),
        Column::new("reference", "reference"),
        Column::new("execution", "ran"),
        Column::hidden("opcodes"),
        Column::new("first_overflow", "overflow from N"),
        Column::new("first_error", "error, N = 1"),
        Column::new("last_length", "last N"),
        Column::new("last_error", "error, last N"),
    ];
    let row = |(curve, execution): (&Curve, &Execution)| {
        let drawn = curve.without_overflow();
        let error = |point: Option<&Point>| Cell::from(point.and_then(|p| p.against_plain.mean()));
        vec![
            Cell::text(&curve.instruction.name),
            Cell::text(&curve.instruction.ptx),
            Cell::text(curve.init.name()),
            Cell::text(curve.plain.name()),
            Cell::text(execution.kind.name()),
            Cell::List(execution.opcodes.iter().map(Cell::text).collect()),
            curve.points.get(drawn.len()).map_or(Cell::Empty, |p| Cell::integer(p.length)),
            error(drawn.first()),
            drawn.last().map_or(Cell::Empty, |p| Cell::integer(p.length)),
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
        Column::new("instruction", "instruction"),
        Column::new("init", "init"),
        Column::new("length", "N"),
        Column::hidden("reference"),
        Column::new("finite", "finite"),
        Column::new("overflowed", "overflowed"),
        Column::new("reference_count", "compared"),
        Column::new("reference_error", "error to reference"),
        Column::new("reference_standard_error", "+-"),
        Column::hidden("reference_largest_error"),
        Column::new("exact_error", "error to exact"),
        Column::new("exact_standard_error", "+-"),
        Column::hidden("exact_largest_error"),
    ];
    let row = |curve: &Curve, point: &Point| {
        let summary = |s: &Summary| [Cell::from(s.mean()), Cell::from(s.standard_error()), Cell::from(s.maximum())];
        let head = [
            Cell::text(&curve.instruction.name),
            Cell::text(curve.init.name()),
            Cell::integer(point.length),
            Cell::text(curve.plain.name()),
            Cell::integer(point.finite),
            Cell::integer(point.overflowed),
            Cell::integer(point.against_plain.count()),
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
