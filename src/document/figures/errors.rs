//! Figures of errors: in ulps, by binade, and bit by bit.

use super::{Figure, LINES, Seen, kind, on, slug, titled};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, ChartLine, Point, Scale},
        grouped,
    },
};

/// Counts of errors of one name.
struct Histogram {
    name: String,
    counts: Vec<f64>,
}

/// Distances from the exact result in ulps: a figure for each operation, a line for each kind.
pub(super) fn histograms(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().filter(|row| row.text("init") != "fp32").collect();
    let mut ops = super::together(rows.iter().map(|row| (row.text("op"), row)));
    // Whole dot products come first.
    ops.sort_by_key(|(op, _)| *op != "dot");
    ops.iter().flat_map(|(op, rows)| of_operation(op, rows)).collect()
}

fn of_operation(op: &str, rows: &[&Row]) -> Vec<Figure> {
    let has_normal = rows.iter().any(|row| row.text("distribution") == "normal");
    let own = rows.iter().filter(|row| !has_normal || row.text("distribution") == "normal");
    let own: Vec<&Row> = own.copied().filter(|row| !row.numbers("ulp_histogram").is_empty()).collect();
    let Some(first) = own.first() else { return Vec::new() };
    let edges = first.numbers("ulp_histogram_edges");
    let chips: Vec<&str> = own.iter().map(|row| on(row)).collect();
    let several = chips.iter().any(|chip| chip != &chips[0]);
    let (mut names, mut all) = (Seen::new(), Vec::<Histogram>::new());
    for row in own.iter().filter(|row| row.numbers("ulp_histogram_edges").len() == edges.len()) {
        let counts = row.numbers("ulp_histogram");
        let kind = kind(row.text("instruction"));
        let name = if several { format!("{}: {kind}", on(row)) } else { kind };
        match names.number(name.clone()) {
            (_, true) => all.push(Histogram { name, counts }),
            (at, false) => all[at].counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count),
        }
    }
    // Kinds that are always exact are only counted.
    let rounds = |own: &Histogram| own.counts.iter().skip(1).any(|count| *count > 0.0);
    let (drawn, exact): (Vec<Histogram>, Vec<Histogram>) = all.into_iter().partition(rounds);
    let names: Vec<String> = edges.iter().enumerate().map(|(at, edge)| bin(at, *edge, &edges)).collect();
    let title = titled(&format!("Distance from the exact result, {op}"), &chips);
    let figure = |(at, drawn): (usize, &[Histogram])| {
        let chart = Chart {
            title: title.clone(),
            x: Axis::of_names("distance from the exact result (ulp)", names.clone()),
            y: Axis::new("share of samples", Scale::Decades),
            lines: drawn.iter().enumerate().map(|(style, own)| own.line(style, &names)).collect(),
            legend: "instructions".into(),
            remark: match exact.len() {
                0 => String::new(),
                count => format!("{count} exact kinds are not drawn."),
            },
        };
        let part = if at == 0 { String::new() } else { format!("-{}", at + 1) };
        Figure {
            name: format!("ulps-{}{part}", slug(op)),
            caption: format!(
                "{title}: shares of samples by their distance from the exact result in units in the last place of D."
            ),
            scene: chart.scene(),
        }
    };
    drawn.chunks(LINES).enumerate().map(figure).collect()
}

/// The name of a bin, whose edge is its upper end.
fn bin(at: usize, edge: f64, edges: &[f64]) -> String {
    match edge {
        0.0 => "0".into(),
        edge if edge.is_finite() => format!("<= {edge}"),
        _ => format!("> {}", edges[at.saturating_sub(1)]),
    }
}

impl Histogram {
    fn line(&self, style: usize, names: &[String]) -> ChartLine {
        let all: f64 = self.counts.iter().sum();
        let point = |(at, count): (usize, &f64)| Point {
            x: at as f64,
            y: count / all,
            hover: format!("{} ulp: {} of {}", names[at], grouped(*count as i64), grouped(all as i64)),
        };
        let points = self.counts.iter().enumerate().filter(|(_, count)| **count > 0.0).map(point);
        ChartLine::new(self.name.clone(), style, points.collect())
    }
}

/// The distances of a product's elements from plain and exact sums.
pub(super) fn ulps(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let names: Vec<String> = rows.iter().map(|row| row.text("ulps").to_string()).collect();
    let chips: Vec<&str> = rows.iter().map(on).collect();
    // One product has one list of distances.
    if names.iter().collect::<std::collections::HashSet<_>>().len() < names.len() {
        return Vec::new();
    }
    let line = |(style, (key, name)): (usize, (&str, &str))| {
        let points = rows.iter().enumerate().filter_map(|(at, row)| {
            let count = row.number(key).filter(|count| *count > 0.0)?;
            Some(Point {
                x: at as f64,
                y: count,
                hover: format!("{} ulp: {} elements", names[at], grouped(count as i64)),
            })
        });
        ChartLine::new(name, style, points.collect())
    };
    let of = [("single", "plain sum in f32"), ("double", "plain sum in f64"), ("exact", "exact sum")];
    let title = titled("Elements of a product by their distance", &chips);
    let chart = Chart {
        title: title.clone(),
        x: Axis::of_names("distance (ulp)", names.clone()),
        y: Axis::new("elements", Scale::Decades),
        lines: of.into_iter().enumerate().map(line).collect(),
        legend: "from".into(),
        remark: String::new(),
    };
    let caption = format!("{title}: elements by their distance in ulps from plain and exact sums.");
    vec![Figure { name: "product-ulps".into(), caption, scene: chart.scene() }]
}

/// The errors of quantisation by binade: a figure for each tensor, a line for each format.
pub(super) fn quantisation(table: &Table) -> Vec<Figure> {
    let rows = Rows(table).iter().filter(|row| !row.numbers("errors").is_empty());
    let tensors = super::together(rows.map(|row| (row.text("tensor"), row)));
    let figure = |(tensor, rows): &(&str, Vec<Row>)| {
        let what = if tensor.is_empty() {
            "Errors of quantisation".into()
        } else {
            format!("Errors of quantisation of {tensor}")
        };
        let lines = rows.iter().take(LINES).enumerate().map(|(style, row)| {
            let counts = row.numbers("errors");
            let all: f64 = counts.iter().sum();
            let points = row.numbers("error_exponents").into_iter().zip(counts).filter(|(_, count)| *count > 0.0);
            let point = |(exponent, count): (f64, f64)| Point {
                x: exponent,
                y: count / all,
                hover: format!("2^{exponent}: {} of {} values", grouped(count as i64), grouped(all as i64)),
            };
            let name = [row.text("to"), row.text("rule"), row.text("per")].into_iter().filter(|word| !word.is_empty());
            ChartLine::new(name.collect::<Vec<_>>().join(", "), style, points.map(point).collect())
        });
        let chart = Chart {
            title: what.clone(),
            x: Axis::new("binade of the error (exponent of two)", Scale::Linear),
            y: Axis::new("share of values", Scale::Decades),
            lines: lines.collect(),
            legend: "format, rule, scaled per".into(),
            remark: "The lowest binade holds values without an error, too.".into(),
        };
        let dash = if tensor.is_empty() { "" } else { "-" };
        Figure {
            name: format!("quantisation{dash}{}", slug(tensor)),
            caption: format!("{what}, by binade."),
            scene: chart.scene(),
        }
    };
    tensors.iter().map(figure).collect()
}

/// Agreement per bit with half, single and exact sums, and the model: a figure for each instruction.
pub(super) fn bits(table: &Table) -> Vec<Figure> {
    let rows = Rows(table).iter();
    let groups = super::together(rows.map(|row| ([on(&row), row.text("instruction"), row.text("values")], row)));
    let figure = |([chip, instruction, values], rows): &([&str; 3], Vec<Row>)| {
        let line = |(style, (key, name)): (usize, (&str, &str))| {
            let points = rows.iter().filter_map(|row| {
                let (bit, samples, equal) = (row.number("bit")?, row.number("samples")?, row.number(key)?);
                let hover = format!("bit {bit} ({}): {} of {}", row.text("place"), equal, samples);
                Some(Point { x: bit, y: equal / samples, hover })
            });
            ChartLine::new(name, style, points.collect())
        };
        let of = [("half", "half precision"), ("single", "single precision"), ("exact", "exact"), ("model", "model")];
        let chart = Chart {
            title: titled(&format!("Agreement per bit, {instruction}"), &[chip]),
            x: Axis::new("bit of f32 (31: sign)", Scale::Linear),
            y: Axis::new("share of samples with this bit", Scale::Linear),
            lines: of.into_iter().enumerate().map(line).filter(|line| !line.points.is_empty()).collect(),
            legend: "computed in".into(),
            remark: values.to_string(),
        };
        Figure {
            name: format!("bits-{}", slug(instruction)),
            caption: format!(
                "{instruction} on {chip}: how many samples have each bit of the same sum computed otherwise."
            ),
            scene: chart.scene(),
        }
    };
    groups.iter().map(figure).collect()
}
