//! Figures of errors of matrix products, against k and against cost.

use super::{Binades, Curve, Figure, charts, instructions, on, together};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Band, Chart, ChartLine, Point, Scale},
        three_digits,
    },
};

/// A point of a curve with its standard error; `None` where the number is missing.
type DrawnPoint = Option<(Point, Option<Band>)>;

/// A point of an error, with its name.
fn point(x: f64, error: f64, what: &str) -> Point {
    Point::new(x, error, format!("{what}, error {}", three_digits(error)))
}

/// The point of an error at one k, with its standard error.
fn at_k(row: &Row, error: &str, standard_error: &str) -> DrawnPoint {
    let (k, error) = (row.number("k")?, row.number(error)?);
    Some((point(k, error, &format!("k = {k}")), Band::of_error(k, error, row.number(standard_error))))
}

/// A curve for each distinct list of words, of the points of its rows and their standard errors.
fn curves(rows: impl Iterator<Item = (Vec<String>, DrawnPoint)>) -> Vec<Curve> {
    let curve = |(keys, drawn): (Vec<String>, Vec<DrawnPoint>)| {
        let (points, bands): (Vec<Point>, Vec<Option<Band>>) = drawn.into_iter().flatten().unzip();
        let band = bands.into_iter().flatten().collect();
        Curve { keys, line: ChartLine { band, ..ChartLine::new("", points) } }
    };
    together(rows).into_iter().map(curve).collect()
}

/// The note on the bands of curves, if there are any.
fn banded(curves: &[Curve]) -> String {
    let any = curves.iter().any(|curve| !curve.line.band.is_empty());
    if any { "Band: standard error of the mean.".into() } else { String::new() }
}

/// The error against k, with its standard error: a line for each chip, instruction and promotion.
pub(super) fn growth(table: &Table) -> Vec<Figure> {
    let short = instructions(table);
    let rows = Rows(table).iter().map(|row| {
        let [operands, unit] = short.words(row.text("instruction"));
        let promoted = row.number("promote").map_or(String::new(), |every| format!("promoted every {every}"));
        (vec![operands, on(&row), unit, promoted], at_k(&row, "error", "standard_error"))
    });
    let curves = curves(rows);
    let promoted = curves.iter().any(|curve| !curve.keys[3].is_empty());
    let chart = Chart {
        notes: vec![
            banded(&curves),
            match promoted {
                true => "Promoted every N: partial sums go to a second accumulator in f32 after each N of k.".into(),
                false => String::new(),
            },
        ],
        ..Chart::new(
            "Error of products against k",
            Axis::new("k (terms of a sum)", Scale::Octaves),
            Axis::new("mean error / mean magnitude", Scale::Decades),
            "chip, instruction",
        )
    };
    let caption = "the mean difference from the exact sum over the mean magnitude of the elements";
    charts("error-against-k", caption, chart, curves)
}

/// A number of splitting schemes at the largest k.
struct Quantity {
    /// Its column.
    key: &'static str,
    axis: &'static str,
    unit: &'static str,
    /// The name of the figure.
    name: &'static str,
}

/// The numbers that are drawn scheme by scheme.
const QUANTITIES: [Quantity; 2] = [
    Quantity { key: "mred", axis: "MRED (mean |V - V_f32| / |V_f32|)", unit: "", name: "splitting-cost" },
    Quantity { key: "sum_seconds", axis: "seconds for the sums", unit: " s", name: "splitting-time" },
];

/// Splitting schemes: their errors against k, and at the largest k beside their numbers of products.
pub(super) fn splitting(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let mut sizes: Vec<f64> = rows.iter().filter_map(|row| row.number("k")).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let mut figures = if sizes.len() > 1 { against_k(&rows) } else { distribution(&rows) };
    let Some(&largest) = sizes.last() else { return figures };
    let at: Vec<Row> = rows.into_iter().filter(|row| row.number("k") == Some(largest)).collect();
    figures.extend(QUANTITIES.iter().flat_map(|quantity| by_scheme(&at, largest, quantity)));
    figures
}

fn against_k(rows: &[Row]) -> Vec<Figure> {
    let curves = curves(rows.iter().map(|row| (words(row), at_k(row, "max_absolute", "max_absolute_standard_error"))));
    let is_of_draws = rows.iter().any(|row| row.count("draws") > 1);
    let note = match banded(&curves) {
        none if none.is_empty() && is_of_draws => "These results have no standard errors.".into(),
        note => note,
    };
    let chart = Chart {
        notes: vec![note],
        ..Chart::new(
            "Products of f32 by splitting",
            Axis::new("k (terms of a sum)", Scale::Octaves),
            Axis::new("largest |V - V_f32|", Scale::Decades),
            "scheme, chip",
        )
    };
    charts("splitting-size", "the largest error against k", chart, curves)
}

fn words(row: &Row) -> Vec<String> {
    vec![on(row), row.text("scheme").to_string()]
}

/// The errors by binade.
fn distribution(rows: &[Row]) -> Vec<Figure> {
    let filled: Vec<&Row> = rows.iter().filter(|row| !row.numbers("error_counts").is_empty()).collect();
    if filled.is_empty() {
        return Vec::new();
    }
    let binades = Binades::of(&filled.iter().map(|row| row.numbers("error_exponents")).collect::<Vec<_>>());
    let curve = |row: &&Row| {
        let line = binades.line(&row.numbers("error_exponents"), &row.numbers("error_counts"), "elements");
        Curve { keys: words(row), line }
    };
    let chart = Chart {
        notes: vec!["The lowest binade also holds elements without an error.".into()],
        ..Chart::new(
            "Errors of products by splitting",
            binades.axis("binade of |V - V_f32| (exponent of two)"),
            Axis::new("share of elements", Scale::Decades),
            "scheme, chip",
        )
    };
    let curves = filled.iter().map(curve).collect();
    charts("splitting-errors", "the share of elements with an error in each binade", chart, curves)
}

/// A number at one k: a row for each scheme, in order of its products, and a marker for each chip.
fn by_scheme(rows: &[Row], k: f64, Quantity { key, axis, unit, name }: &Quantity) -> Vec<Figure> {
    let mut schemes: Vec<(i64, &str)> = together(
        rows.iter().filter(|row| row.number(key).is_some()).map(|row| (row.text("scheme"), row.count("products"))),
    )
    .into_iter()
    .map(|(scheme, products)| (products[0], scheme))
    .collect();
    schemes.sort_unstable_by(|one, other| other.cmp(one));
    if schemes.is_empty() {
        return Vec::new();
    }
    let points = rows.iter().map(|row| {
        let place = schemes.iter().position(|(_, scheme)| *scheme == row.text("scheme"));
        let hover = |value: f64| format!("{}: {}{unit}", row.text("scheme"), three_digits(value));
        let drawn = place.zip(row.number(key)).map(|(at, value)| {
            let error = row.number(&format!("{key}_standard_error")).filter(|error| *error > 0.0 && *error < value);
            let reach = error.map(|error| [value - error, value + error]);
            (Point { reach, ..Point::new(value, at as f64, hover(value)) }, None)
        });
        (vec![on(row)], drawn)
    });
    let labels = schemes.iter().map(|(products, scheme)| match products {
        1 => format!("{scheme}, 1 product"),
        many => format!("{scheme}, {many} products"),
    });
    let chart = Chart::new(
        format!("Splitting schemes, k = {k}"),
        Axis::new(*axis, Scale::Decades),
        Axis::of_names("", labels.collect()),
        "chip",
    );
    let mut curves = curves(points);
    curves.iter_mut().for_each(|curve| curve.line.joined = false);
    charts(name, &format!("{axis}, by schemes in order of their products of parts"), chart, curves)
}
