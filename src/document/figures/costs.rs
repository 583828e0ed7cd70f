//! Figures of the cost of instructions.

use super::{Curve, Figure, charts, names::short, on, together};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, ChartLine, Point, Scale},
        three_digits,
    },
};

/// The rate of each instruction against warps, a line for each number of independent runs.
pub(super) fn points(table: &Table) -> Vec<Figure> {
    let key = |row: &Row| {
        let runs = row.number("independent").unwrap_or(0.0);
        vec![row.text("instruction").to_string(), on(row), runs.to_string()]
    };
    let curve = |(keys, rows): (Vec<String>, Vec<Row>)| {
        let points = rows.iter().filter_map(|row| {
            let (warps, rate) = (row.number("warps")?, row.number("rate")?);
            let hover = format!("{warps} warps, {} independent runs: {} FMA/clk/SM", keys[2], three_digits(rate));
            Some(Point::new(warps, rate, hover))
        });
        let line = ChartLine::new("", points.collect());
        Curve { keys, line }
    };
    let chart = Chart::new(
        "Cost of instructions",
        Axis::new("warps of a multiprocessor", Scale::Octaves),
        Axis::new("FMA/clk/SM", Scale::Linear).with_zero(),
        "independent runs",
    );
    let curves = together(Rows(table).iter().map(|row| (key(&row), row))).into_iter().map(curve).collect();
    charts("cost", "fused multiply-adds a clock by warps and independent runs", chart, curves)
}

/// The highest rates.
pub(super) fn highest(table: &Table) -> Vec<Figure> {
    let rated = Rows(table).iter().filter_map(|row| {
        let [operands, unit] = short(row.text("instruction"));
        let rate = row.number("best_rate")?;
        let hover = format!("{}: {} FMA/clk/SM", row.text("instruction"), three_digits(rate));
        Some(Rated { keys: vec![on(&row), unit], operands, rate, hover })
    });
    let axis = Axis::new("FMA/clk/SM", Scale::Octaves);
    let caption = "fused multiply-adds a clock of a multiprocessor, a marker for each shape";
    Rated::figures(rated.collect(), "cost-highest", "Highest rates of instructions", caption, axis)
}

/// A rate of instructions with the same operands.
pub(super) struct Rated {
    /// The chip and the unit.
    pub(super) keys: Vec<String>,
    pub(super) operands: String,
    pub(super) rate: f64,
    pub(super) hover: String,
}

impl Rated {
    /// A row for the operands, the fastest on top, and a marker for each rate.
    pub(super) fn figures(all: Vec<Rated>, name: &str, title: &str, caption: &str, axis: Axis) -> Vec<Figure> {
        if all.is_empty() {
            return Vec::new();
        }
        let fastest = |(operands, rates): (String, Vec<f64>)| (operands, rates.into_iter().fold(0.0, f64::max));
        let grouped = together(all.iter().map(|rate| (rate.operands.clone(), rate.rate)));
        let mut rows: Vec<(String, f64)> = grouped.into_iter().map(fastest).collect();
        rows.sort_by(|one, other| one.1.total_cmp(&other.1));
        let curves =
            together(all.into_iter().map(|rate| (rate.keys.clone(), rate))).into_iter().map(|(keys, rated)| {
                let points = rated.into_iter().map(|rate| {
                    let row = rows.iter().position(|(operands, _)| *operands == rate.operands).unwrap_or(0);
                    Point::new(rate.rate, row as f64, format!("{}\n{}", rate.operands, rate.hover))
                });
                let line = ChartLine { joined: false, ..ChartLine::new("", points.collect()) };
                Curve { keys, line }
            });
        let curves = curves.collect();
        let chart = Chart::new(
            title,
            axis,
            Axis::of_names("", rows.into_iter().map(|(operands, _)| operands).collect()),
            "chip, family",
        );
        charts(name, caption, chart, curves)
    }
}
