//! What instructions cost, by how much of them is under way.

use super::{Figure, on, slug, titled};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, Line, Point, Scale},
        three_digits,
    },
};

/// The rate of each instruction against warps: a line for each number of independent runs.
pub(super) fn rates(table: &Table) -> Vec<Figure> {
    let mut groups: Vec<((&str, &str), Vec<Row>)> = Vec::new();
    for row in Rows(table).iter() {
        let key = (on(&row), row.text("instruction"));
        match groups.iter_mut().find(|(own, _)| *own == key) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups.iter().map(|((chip, instruction), rows)| figure(chip, instruction, rows)).collect()
}

fn figure(chip: &str, instruction: &str, rows: &[Row]) -> Figure {
    let mut lines: Vec<(f64, Line)> = Vec::new();
    for row in rows {
        let (Some(warps), Some(runs), Some(rate)) =
            (row.number("warps"), row.number("independent"), row.number("rate"))
        else {
            continue;
        };
        let at = lines.iter().position(|(own, _)| *own == runs).unwrap_or_else(|| {
            lines.push((runs, Line::new(runs.to_string(), lines.len(), Vec::new())));
            lines.len() - 1
        });
        let hover = format!("{warps} warps, {runs} independent runs: {} FMA/clk/SM", three_digits(rate));
        lines[at].1.points.push(Point { x: warps, y: rate, hover });
    }
    let chart = Chart {
        title: titled(instruction, &[chip]),
        x: Axis::new("warps of a multiprocessor", Scale::Octaves),
        y: Axis::new("FMA/clk/SM", Scale::Linear),
        lines: lines.into_iter().map(|(_, line)| line).collect(),
        legend: "independent runs".into(),
        remark: String::new(),
    };
    Figure {
        name: format!("cost-{}", slug(instruction)),
        caption: format!("{instruction} on {chip}: fused multiply-adds a clock by warps and independent runs."),
        scene: chart.scene(),
    }
}
