//! Figures of published numbers beside those that were measured here.

use super::{Curve, Figure, charts, kind, on, together};
use crate::{
    base::distinct::distinct,
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, ChartLine, Point, Scale},
        three_digits,
    },
};

/// The name of published numbers in legends.
const PUBLISHED: &str = "published";
/// Ratio of a measured to a published cost from which the axis is logarithmic.
const FAR: f64 = 3.0;

/// A published and a measured number.
struct Pair {
    /// The words of its panel.
    panel: Vec<String>,
    /// The name of its row.
    name: String,
    chip: String,
    published: Option<f64>,
    /// The sampling error of the published number.
    uncertain: Option<f64>,
    measured: Option<f64>,
    /// The standard error or the deviation of the measured one.
    deviation: Option<f64>,
}

/// Mean absolute errors of single operations.
pub(super) fn profile(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let several = rows.iter().any(|row| row.text("reference") != rows[0].text("reference"));
    let pairs = rows.iter().map(|row| Pair {
        panel: vec![kind(row.text("instruction"))],
        name: match several {
            true => format!("{}, {}, to {}", row.text("op"), row.text("init"), row.text("reference")),
            false => format!("{}, {}", row.text("op"), row.text("init")),
        },
        chip: on(row),
        published: printed(row),
        uncertain: row.number("published_sampling_error"),
        measured: row.number("measured"),
        deviation: row.number("standard_error"),
    });
    let notes = ["Bars: sampling error of the published means, standard error of those measured here.".into()];
    let title = "Mean absolute errors of single operations";
    dots("cells", title, "mean absolute error", pairs.collect(), notes.to_vec())
}

/// Errors of splitting schemes, and their ratios.
pub(super) fn splitting(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let several = rows.iter().any(|row| row.text("generation") != rows[0].text("generation"));
    let pairs = rows.iter().map(|row| {
        let over = row.text("over");
        let of = if over.is_empty() { row.text("of").to_string() } else { format!("{} / {over}", row.text("of")) };
        let k = row.number("k").map_or(String::new(), |k| format!("k = {k}"));
        let generation = if several { format!("on {}", row.text("generation")) } else { String::new() };
        let words = [of, k, generation].into_iter().filter(|word| !word.is_empty());
        Pair {
            panel: vec![row.text("metric").to_string()],
            name: words.collect::<Vec<_>>().join(", "),
            chip: on(row),
            published: printed(row),
            uncertain: None,
            measured: row.number("measured"),
            deviation: row.number("deviation"),
        }
    });
    let notes = ["Bars: the standard deviation from draw to draw.".into()];
    dots(
        "splitting-published",
        "Errors of splitting schemes",
        "error, or ratio of errors",
        pairs.collect(),
        notes.to_vec(),
    )
}

/// The published number of a row.
fn printed(row: &Row) -> Option<f64> {
    row.text("published").parse().ok()
}

/// A number of a pair, with its error.
type Number<'a> = (&'a Pair, Option<f64>, Option<f64>);

/// A row for each published number, with a marker for it and one for each chip.
fn dots(name: &str, title: &str, axis: &str, pairs: Vec<Pair>, notes: Vec<String>) -> Vec<Figure> {
    let mut names = distinct(pairs.iter().map(|pair| pair.name.clone()));
    names.reverse();
    let place = |name: &str| names.iter().position(|other| other == name).unwrap_or(0) as f64;
    let mut points = Vec::new();
    for pair in &pairs {
        let keys = |who: &str| pair.panel.iter().cloned().chain([who.to_string()]).collect::<Vec<_>>();
        points.push((keys(PUBLISHED), pair, pair.published, pair.uncertain));
    }
    for pair in &pairs {
        let keys = pair.panel.iter().cloned().chain([pair.chip.clone()]).collect();
        points.push((keys, pair, pair.measured, pair.deviation));
    }
    let curves = together(points.into_iter().map(|(keys, pair, value, error)| (keys, (pair, value, error))));
    let curve = |(keys, points): (Vec<String>, Vec<Number>)| {
        let mut line = ChartLine { joined: false, ..ChartLine::new("", Vec::new()) };
        for (pair, value, error) in points {
            let Some(value) = value else { continue };
            let reach = error.filter(|error| *error > 0.0).map(|error| [value - error, value + error]);
            let hover = format!("{}: {}", pair.name, three_digits(value));
            let point = Point { reach, ..Point::new(value, place(&pair.name), hover) };
            // Each device has the published number in its own row.
            if !line.points.contains(&point) {
                line.points.push(point);
            }
        }
        Curve { keys, line }
    };
    let mut notes = notes;
    match pairs.iter().filter(|pair| pair.measured.is_none()).count() {
        0 => {}
        count => notes.push(format!("{count} of {} numbers were not measured here.", pairs.len())),
    }
    let chart = Chart {
        notes,
        ..Chart::new(
            format!("{title}, published and here"),
            Axis::new(axis, Scale::Decades),
            Axis::of_names("", names.clone()),
            "",
        )
    };
    charts(name, "published numbers, and those measured here", chart, curves.into_iter().map(curve).collect())
}

/// Latencies and rates over the published ones.
pub(super) fn costs(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let key = |row: &Row| {
        let figure = row.text("figure");
        let quantity = figure.split_once(',').map_or(figure, |(quantity, _)| quantity);
        vec![format!("{quantity} ({})", row.text("unit")), on(row)]
    };
    let curve = |(keys, rows): (Vec<String>, Vec<&Row>)| {
        let points = rows.iter().filter_map(|row| {
            let (published, ratio) = (printed(row)?, row.number("ratio")?);
            let words = [row.text("subject"), row.text("figure")].join(", ");
            let hover =
                format!("{words}: {} published, {} times that here", row.text("published"), three_digits(ratio));
            Some(Point::new(published, ratio, hover))
        });
        let line = ChartLine { joined: false, ..ChartLine::new("", points.collect()) };
        Curve { keys, line }
    };
    let missing = rows.iter().filter(|row| row.number("ratio").is_none()).count();
    // Small differences are visible only on an even axis, and some devices are far from the published one.
    let far = rows.iter().filter_map(|row| row.number("ratio")).any(|ratio| ratio > FAR);
    let even = Axis::new("here / published", Scale::Linear).with_zero();
    let chart = Chart {
        level: Some(1.0),
        notes: match missing {
            0 => vec!["Line: equal.".into()],
            count => {
                vec!["Line: equal.".into(), format!("{count} of {} numbers were not measured here.", rows.len())]
            }
        },
        ..Chart::new(
            "Costs, here over published",
            Axis::new("published number", Scale::Decades),
            if far { Axis::new("here / published", Scale::Decades) } else { even },
            "quantity, chip",
        )
    };
    let curves = together(rows.iter().map(|row| (key(row), row))).into_iter().map(curve).collect();
    charts("cost-published", "each measured cost over the published one", chart, curves)
}
