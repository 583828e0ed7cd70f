//! Figures of the cost of instructions, by warps and independent runs.

use super::{Figure, Seen, on, slug, titled, together};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, ChartLine, Point, Scale},
        three_digits,
    },
};

/// The rate of each instruction against warps, a line for each number of independent runs.
pub(super) fn rates(table: &Table) -> Vec<Figure> {
    let groups = together(Rows(table).iter().map(|row| ((on(&row), row.text("instruction")), row)));
    groups.iter().map(|((chip, instruction), rows)| figure(chip, instruction, rows)).collect()
}

fn figure(chip: &str, instruction: &str, rows: &[Row]) -> Figure {
    let (mut ways, mut lines) = (Seen::new(), Vec::<ChartLine>::new());
    for row in rows {
        let (Some(warps), Some(runs), Some(rate)) =
            (row.number("warps"), row.number("independent"), row.number("rate"))
        else {
            continue;
        };
        let (at, new) = ways.number(runs.to_bits());
        if new {
            lines.push(ChartLine::new(runs.to_string(), at, Vec::new()));
        }
        let hover = format!("{warps} warps, {runs} independent runs: {} FMA/clk/SM", three_digits(rate));
        lines[at].points.push(Point { x: warps, y: rate, hover });
    }
    let chart = Chart {
        title: titled(instruction, &[chip]),
        x: Axis::new("warps of a multiprocessor", Scale::Octaves),
        y: Axis::new("FMA/clk/SM", Scale::Linear),
        lines,
        legend: "independent runs".into(),
        remark: String::new(),
    };
    Figure {
        name: format!("cost-{}", slug(instruction)),
        caption: format!("{instruction} on {chip}: fused multiply-adds a clock by warps and independent runs."),
        scene: chart.scene(),
    }
}
