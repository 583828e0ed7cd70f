//! Figures of errors: in ulps, by binade, and bit by bit.

use super::{Binades, Curve, Figure, charts, instructions, names::short, on, together};
use crate::{
    base::distinct::distinct,
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, ChartLine, Point, Scale},
        grouped, three_digits,
    },
};

/// Most layers of a figure.
const LAYERS: usize = 40;

/// Distances of results from the exact ones in ulps, by operation and kind of instruction.
pub(super) fn histograms(table: &Table) -> Vec<Figure> {
    let filled = Rows(table).iter().filter(|row| !row.numbers("ulp_histogram").is_empty());
    let rows: Vec<Row> = filled.filter(|row| row.text("init") != "fp32").collect();
    let has_normal = rows.iter().any(|row| row.text("distribution") == "normal");
    let rows = rows.into_iter().filter(|row| !has_normal || row.text("distribution") == "normal");
    let mut operations = together(rows.map(|row| (row.text("op"), row)));
    // Whole dot products come first.
    operations.sort_by_key(|(op, _)| *op != "dot");
    let Some(edges) = operations.first().map(|(_, rows)| rows[0].numbers("ulp_histogram_edges")) else {
        return Vec::new();
    };
    let names: Vec<String> = edges.iter().enumerate().map(|(at, edge)| bin(at, *edge, &edges)).collect();
    let same = operations.iter().flat_map(|(_, rows)| rows).filter(|row| row.numbers("ulp_histogram_edges") == edges);
    let kinds = together(same.map(|row| {
        // Shapes of one kind are counted together.
        let [operands, unit] = short(row.text("instruction"));
        (vec![row.text("op").to_string(), operands, unit, on(row)], row.numbers("ulp_histogram"))
    }));
    let curve = |(keys, all): (Vec<String>, Vec<Vec<f64>>)| {
        let counts: Vec<f64> = (0..edges.len()).map(|at| all.iter().map(|histogram| histogram[at]).sum()).collect();
        let samples: f64 = counts.iter().sum();
        let point = |(at, count): (usize, &f64)| {
            let hover = format!("{} ulp: {} of {}", names[at], grouped(*count as i64), grouped(samples as i64));
            Point::new(at as f64, count / samples, hover)
        };
        let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0.0);
        Curve { keys, line: ChartLine { gap: 1.0, ..ChartLine::new("", filled.map(point).collect()) } }
    };
    let chart = Chart {
        notes: vec!["Bins without a sample have no point.".into()],
        ..Chart::new(
            "Distance from the exact result",
            Axis::of_names("distance from the exact result (ulp of D)", names.clone()),
            Axis::new("share of samples", Scale::Decades),
            "operands, instruction, chip",
        )
    };
    let caption = "shares of samples by their distance from the exact result in units in the last place of D";
    charts("ulps", caption, chart, kinds.into_iter().map(curve).collect())
}

/// The name of a bin, whose edge is its upper end.
fn bin(at: usize, edge: f64, edges: &[f64]) -> String {
    match edge {
        0.0 => "0".into(),
        edge if edge.is_finite() => format!("<= {edge}"),
        _ => format!("> {}", edges[at.saturating_sub(1)]),
    }
}

/// The distances of a product's elements from plain and exact sums.
pub(super) fn ulps(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let names: Vec<String> = rows.iter().map(|row| row.text("ulps").to_string()).collect();
    // One product has one list of distances.
    if names.iter().collect::<std::collections::HashSet<_>>().len() < names.len() {
        return Vec::new();
    }
    let curve = |(key, name): (&str, &str)| {
        let points = rows.iter().enumerate().filter_map(|(at, row)| {
            let count = row.number(key).filter(|count| *count > 0.0)?;
            Some(Point::new(at as f64, count, format!("{} ulp: {} elements", names[at], grouped(count as i64))))
        });
        let line = ChartLine { gap: 1.0, ..ChartLine::new("", points.collect()) };
        Curve { keys: vec![name.into()], line }
    };
    let of = [("single", "plain sum in f32"), ("double", "plain sum in f64"), ("exact", "exact sum")];
    let chips = distinct(rows.iter().map(on).filter(|chip| !chip.is_empty()));
    let chart = Chart {
        notes: vec!["Distances without an element have no point.".into()],
        ..Chart::new(
            super::titled("Elements of a product by their distance", &chips),
            Axis::of_names("distance (ulp)", names.clone()),
            Axis::new("elements", Scale::Decades),
            "distance from",
        )
    };
    let curves = of.into_iter().map(curve).filter(|curve| !curve.line.points.is_empty()).collect();
    charts("product-ulps", "elements by their distance in ulps from plain and exact sums", chart, curves)
}

/// Layers ranked by their loss, the largest at the top: a marker for each format and rule.
///
/// The loss is the product error where every row has one, else the SQNR. Layers are ranked by its mean in decibels.
pub(super) fn layers(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let by_product = rows.iter().all(|row| row.number("product_error").is_some_and(|error| error > 0.0));
    let key = if by_product { "product_error" } else { "sqnr" };
    let decibels = |row: &&Row| row.number(key).map(|loss| if by_product { -20.0 * loss.log10() } else { loss });
    let of_layers = together(rows.iter().map(|row| (row.text("tensor"), row)));
    let mut ranked: Vec<(f64, &str)> = of_layers
        .iter()
        .filter_map(|(name, rows)| {
            let all: Vec<f64> = rows.iter().filter_map(decibels).filter(|loss| loss.is_finite()).collect();
            (!all.is_empty()).then(|| (all.iter().sum::<f64>() / all.len() as f64, *name))
        })
        .collect();
    if ranked.len() < 2 {
        return Vec::new();
    }
    ranked.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(y.1)));
    let count = ranked.len();
    ranked.truncate(LAYERS);
    // The first name of a vertical axis is the lowest.
    ranked.reverse();
    let curve = |(keys, rows): (Vec<String>, Vec<&Row>)| {
        let points = rows.iter().filter_map(|row| {
            let place = ranked.iter().position(|(_, name)| *name == row.text("tensor"))?;
            let loss = row.number(key).filter(|loss| loss.is_finite())?;
            let words = if by_product { "product error " } else { "" };
            let unit = if by_product { "" } else { " dB" };
            let hover = format!("{}: {words}{}{unit}", row.text("tensor"), three_digits(loss));
            Some((place, Point::new(loss, place as f64, hover)))
        });
        let mut points: Vec<(usize, Point)> = points.collect();
        points.sort_by_key(|(place, _)| *place);
        let points = points.into_iter().map(|(_, point)| point).collect();
        Curve { keys, line: ChartLine { joined: false, ..ChartLine::new("", points) } }
    };
    let targets = together(rows.iter().map(|row| (["to", "rule", "per"].map(|key| row.text(key).to_string()), row)));
    let curves = targets.into_iter().map(|(keys, rows)| curve((keys.to_vec(), rows)));
    let x = match by_product {
        true => Axis::new("product error (larger is worse)", Scale::Decades),
        false => Axis::new("SQNR (dB, smaller is worse)", Scale::Linear),
    };
    let cut = if count > LAYERS { format!("The {LAYERS} of {count} layers that lose most.") } else { String::new() };
    let chart = Chart {
        notes: vec![cut],
        ..Chart::new(
            "Layers by their loss",
            x,
            Axis::of_names("", ranked.iter().map(|(_, name)| name.to_string()).collect()),
            "format, rule, scaled per",
        )
    };
    charts("quantisation-layers", "the layer that loses most stands at the top", chart, curves.collect())
}

/// The errors of quantisation by binade, by tensor and format.
pub(super) fn quantisation(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().filter(|row| !row.numbers("errors").is_empty()).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let binades = Binades::of(&rows.iter().map(|row| row.numbers("error_exponents")).collect::<Vec<_>>());
    let curve = |row: &Row| {
        let keys = ["tensor", "to", "rule", "per"].map(|key| row.text(key).to_string());
        let line = binades.line(&row.numbers("error_exponents"), &row.numbers("errors"), "values");
        Curve { keys: keys.to_vec(), line }
    };
    let curves = rows.iter().map(curve).collect();
    let chart = Chart {
        notes: vec!["The lowest binade holds values without an error, too.".into()],
        ..Chart::new(
            "Errors of quantisation",
            binades.axis("binade of the error (exponent of two)"),
            Axis::new("share of values", Scale::Decades),
            "format, rule, scaled per",
        )
    };
    let name = if table.key == "tensor_quantisation" { "quantisation-tensors" } else { "quantisation" };
    charts(name, "shares of values by the binade of their error", chart, curves)
}

/// Agreement per bit with half, single and exact sums, and the model.
pub(super) fn bits(table: &Table) -> Vec<Figure> {
    const WAYS: [(&str, &str); 4] =
        [("half", "half precision"), ("single", "single precision"), ("exact", "exact"), ("model", "model")];
    let short = instructions(table);
    let groups = together(Rows(table).iter().map(|row| {
        let [operands, unit] = short.words(row.text("instruction"));
        (vec![on(&row), operands, unit, row.text("values").to_string()], row)
    }));
    let curves = groups.iter().flat_map(|(keys, rows)| {
        WAYS.into_iter().filter_map(move |(key, way)| {
            let points = rows.iter().filter_map(|row| {
                let (bit, samples, equal) = (row.number("bit")?, row.number("samples")?, row.number(key)?);
                let hover = format!("bit {bit} ({}): {} of {}", row.text("place"), equal, samples);
                Some(Point::new(bit, equal / samples, hover))
            });
            let line = ChartLine::new("", points.collect());
            let keys = keys.iter().cloned().chain([way.to_string()]).collect();
            (!line.points.is_empty()).then_some(Curve { keys, line })
        })
    });
    let chart = Chart::new(
        "Agreement per bit",
        Axis::new("bit of f32 (31: sign)", Scale::Whole),
        Axis::new("share of samples with this bit", Scale::Linear).with_zero(),
        "computed in",
    );
    charts("bits", "how many samples have each bit of the same sum computed otherwise", chart, curves.collect())
}
