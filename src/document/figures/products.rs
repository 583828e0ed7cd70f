//! Figures of errors of matrix products, against k and against cost.

use super::{Figure, LINES, Seen, on, titled, together};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, ChartLine, Point, Scale},
        three_digits,
    },
};

/// A point of an error, with its name.
fn point(x: f64, error: f64, what: &str) -> Point {
    Point { x, y: error, hover: format!("{what}, error {}", three_digits(error)) }
}

/// The error against k: a line for each chip, instruction and promotion.
pub(super) fn growth(table: &Table) -> Vec<Figure> {
    let (mut styles, mut names, mut lines) = (Seen::new(), Seen::new(), Vec::<ChartLine>::new());
    let rows = || Rows(table).iter();
    let chips: Vec<&str> = rows().map(|row| on(&row)).collect();
    for row in rows() {
        let promoted = row.number("promote");
        let (style, _) = styles.number((on(&row), row.text("instruction")));
        let every = promoted.map_or_else(String::new, |every| format!(", promoted every {every}"));
        let name = format!("{}: {}{every}", on(&row), row.text("instruction"));
        let (at, new) = names.number(name.clone());
        if new {
            lines.push(ChartLine { dashed: promoted.is_some(), ..ChartLine::new(name, style, Vec::new()) });
        }
        if let (Some(k), Some(error)) = (row.number("k"), row.number("error")) {
            lines[at].points.push(point(k, error, &format!("k = {k}")));
        }
    }
    let lines = shared(lines);
    let title = titled("Error of products against k", &chips);
    let chart = Chart {
        title: title.clone(),
        x: Axis::new("k (terms of a sum)", Scale::Octaves),
        y: Axis::new("mean error / mean magnitude", Scale::Decades),
        lines: Vec::new(),
        legend: "chip and instruction".into(),
        remark: "Dashed: partial sums are promoted to a second accumulator.".into(),
    };
    let caption = format!("{title}: the mean difference from the exact sum over the mean magnitude of the elements.");
    // As many figures as the lines need.
    let figure = |(at, lines): (usize, &[ChartLine])| {
        let name = if at == 0 { "error-against-k".into() } else { format!("error-against-k-{}", at + 1) };
        let scene = Chart { lines: lines.to_vec(), ..chart.clone() }.scene();
        Figure { name, caption: caption.clone(), scene }
    };
    lines.chunks(2 * LINES).enumerate().map(figure).collect()
}

/// Joins the lines of one instruction with equal numbers on several chips.
fn shared(lines: Vec<ChartLine>) -> Vec<ChartLine> {
    let keyed = lines.into_iter().map(|line| {
        let (chip, what) = line.name.split_once(": ").unwrap_or(("", &line.name));
        let points: Vec<[u64; 2]> = line.points.iter().map(|point| [point.x.to_bits(), point.y.to_bits()]).collect();
        ((what.to_string(), points), (chip.to_string(), line))
    });
    let named = |((what, _), mut alike): ((String, _), Vec<(String, ChartLine)>)| {
        let chips: Vec<&str> = alike.iter().map(|(chip, _)| chip.as_str()).collect();
        let name = format!("{}: {what}", chips.join(", "));
        ChartLine { name, ..alike.swap_remove(0).1 }
    };
    together(keyed).into_iter().map(named).collect()
}

/// A cost of splitting schemes.
struct Cost {
    /// Its column.
    key: &'static str,
    axis: &'static str,
    scale: Scale,
    unit: &'static str,
    /// The name of the figure.
    name: &'static str,
    words: &'static str,
}

/// Their costs.
const COSTS: [Cost; 2] = [
    Cost {
        key: "products",
        axis: "products of parts",
        scale: Scale::Linear,
        unit: "products",
        name: "splitting-cost",
        words: "how many products of parts they take",
    },
    Cost {
        key: "sum_seconds",
        axis: "seconds that the device takes for the sums",
        scale: Scale::Decades,
        unit: "s",
        name: "splitting-time",
        words: "the time that their sums take",
    },
];

/// Splitting schemes: the error against k, and at the largest k against the number of products.
pub(super) fn splitting(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let chips: Vec<&str> = rows.iter().map(on).collect();
    let several = chips.iter().any(|chip| chip != &chips[0]);
    let name = |row: &Row| match several {
        true => format!("{}, {}", row.text("scheme"), on(row)),
        false => row.text("scheme").to_string(),
    };
    let (mut styles, mut lines) = (Seen::new(), Vec::<ChartLine>::new());
    for row in &rows {
        let (style, new) = styles.number(name(row));
        if new {
            lines.push(ChartLine::new(name(row), style, Vec::new()));
        }
        if let (Some(k), Some(error)) = (row.number("k"), row.number("max_absolute")) {
            lines[style].points.push(point(k, error, &format!("k = {k}")));
        }
    }
    let caption = |what: &str| format!("{}.", titled(what, &chips));
    let sizes = {
        let mut sizes: Vec<f64> = rows.iter().filter_map(|row| row.number("k")).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        sizes
    };
    let mut figures = Vec::new();
    if sizes.len() > 1 {
        let what = caption("Products of f32 by splitting: the largest error against k");
        let title = titled("Products of f32 by splitting", &chips);
        for (at, lines) in lines.chunks(LINES).enumerate() {
            let chart = Chart {
                title: title.clone(),
                x: Axis::new("k (terms of a sum)", Scale::Octaves),
                y: Axis::new("largest |V - V_f32|", Scale::Decades),
                lines: lines.to_vec(),
                legend: "scheme".into(),
                remark: String::new(),
            };
            let name = if at == 0 { "splitting-size".into() } else { format!("splitting-size-{}", at + 1) };
            figures.push(Figure { name, caption: what.clone(), scene: chart.scene() });
        }
    }
    let Some(&largest) = sizes.last() else { return figures };
    for Cost { key, axis, scale, unit, name: file, words } in COSTS {
        let (mut styles, mut lines) = (Seen::new(), Vec::<ChartLine>::new());
        for row in rows.iter().filter(|row| row.number("k") == Some(largest)) {
            let (style, _) = styles.number(name(row));
            if let (Some(cost), Some(error)) = (row.number(key), row.number("mred")) {
                let own = point(cost, error, &format!("{} {unit}", three_digits(cost)));
                lines.push(ChartLine { joined: false, ..ChartLine::new(name(row), style, vec![own]) });
            }
        }
        let what = caption(&format!("Splitting schemes at k = {largest}: the mean relative error against {words}"));
        let title = titled(&format!("Splitting, k = {largest}: error against cost"), &chips);
        for (at, lines) in lines.chunks(2 * LINES).enumerate() {
            let chart = Chart {
                title: title.clone(),
                x: Axis::new(axis, scale),
                y: Axis::new("MRED (mean |V - V_f32| / |V_f32|)", Scale::Decades),
                lines: lines.to_vec(),
                legend: "scheme".into(),
                remark: String::new(),
            };
            let name = if at == 0 { file.into() } else { format!("{file}-{}", at + 1) };
            figures.push(Figure { name, caption: what.clone(), scene: chart.scene() });
        }
    }
    figures
}
