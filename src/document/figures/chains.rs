//! Figures of the growth of errors along chains of products.

use super::{Curve, Figure, charts, instructions, on, together};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Band, Chart, ChartLine, Point, Scale},
        three_digits,
    },
};

/// The error against the length.
pub(super) fn drift(table: &Table) -> Vec<Figure> {
    let curves = curves(table);
    let banded = curves.iter().any(|curve| !curve.line.band.is_empty());
    let crossed = curves.iter().any(|curve| curve.line.crossed);
    let chart = Chart {
        notes: vec![
            format!("Line: mean over the chains.{}", if banded { " Band: standard error of the mean." } else { "" }),
            if crossed { "Cross: at the next length a chain overflows.".into() } else { String::new() },
        ],
        ..Chart::new(
            "Chains of products",
            Axis::new("chain length N (links)", Scale::Whole),
            Axis::new("relative error", Scale::Decades),
            "instruction, chip, initialisation",
        )
    };
    let caption =
        "relative error ||D - D_ref|| / ||D|| (Frobenius) after N links, against the same chain in plain arithmetic";
    charts("chain", caption, chart, curves)
}

/// The curves of a table, the longest of several runs of each.
fn curves(table: &Table) -> Vec<Curve> {
    let short = instructions(table);
    let key = |row: &Row| {
        let [operands, unit] = short.words(row.text("instruction"));
        vec![operands, unit, on(row), row.text("init").to_string(), row.text("scales").to_string()]
    };
    let rows = together(Rows(table).iter().map(|row| (key(&row), row)));
    let curve = |(keys, rows): (Vec<String>, Vec<Row>)| {
        let length = |row: &Row| row.number("length").unwrap_or(0.0);
        // Lengths of a run ascend, so a shorter one begins another run.
        let runs = rows.chunk_by(|before, after| length(after) > length(before));
        let run = runs.max_by_key(|run| run.len()).unwrap_or_default();
        // A line ends before the first length at which any chain overflowed.
        let end = run.iter().position(|row| row.count("overflowed") > 0);
        let kept = &run[..end.unwrap_or(run.len())];
        let mut line = ChartLine::new("", Vec::new());
        line.crossed = end.is_some();
        for row in kept {
            let Some(mean) = row.number("reference_error") else { continue };
            let x = length(row);
            line.points.push(Point::new(x, mean, format!("N = {x}, mean error {}", three_digits(mean))));
            line.band.extend(Band::of_error(x, mean, row.number("reference_standard_error")));
        }
        Curve { keys, line }
    };
    rows.into_iter().map(curve).collect()
}
