//! Figures of errors of sums against k, the gap and range of exponents, and cancellation.

use super::{Curve, Figure, charts, instructions, on, slug, together};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, ChartLine, Point, Scale},
        grouped, three_digits,
    },
};

/// Properties in the order of interest, each with the title of its axis.
const FACTORS: [(&str, &str); 4] = [
    ("exponent gap", "largest minus smallest exponent of the products"),
    ("dynamic range", "largest minus smallest exponent of the operands"),
    ("k", "k (terms of a sum)"),
    ("cancelled bits", "exponent of the largest product minus exponent of the sum"),
];

/// Bits that agree with the exact sum: a figure for each property.
pub(super) fn precision(table: &Table) -> Vec<Figure> {
    let rows = Rows(table).iter().filter(|row| row.number("samples").is_some_and(|all| all > 0.0));
    let mut factors = together(rows.map(|row| (row.text("factor"), row)));
    factors.sort_by_key(|(factor, _)| FACTORS.iter().position(|(name, _)| name == factor).unwrap_or(FACTORS.len()));
    factors.iter().flat_map(|(factor, rows)| of_factor(table, factor, rows)).collect()
}

fn of_factor(table: &Table, factor: &str, rows: &[Row]) -> Vec<Figure> {
    let range = |row: &Row| [row.number("from").unwrap_or(0.0) as i64, row.number("to").unwrap_or(0.0) as i64];
    let mut ranges: Vec<[i64; 2]> = rows.iter().map(range).collect();
    ranges.sort_unstable();
    ranges.dedup();
    // A property with one value has no figure.
    if ranges.len() < 2 {
        return Vec::new();
    }
    let short = instructions(table);
    let groups = together(rows.iter().map(|row| {
        let [operands, unit] = short.words(row.text("instruction"));
        (vec![operands, unit, on(row), row.text("values").to_string()], row)
    }));
    let curve = |(keys, rows): (Vec<String>, Vec<&Row>)| {
        let points = rows.iter().filter_map(|row| {
            let (bits, samples, equal) = (row.number("bits")?, row.count("samples"), row.count("exact"));
            let place = ranges.binary_search(&range(row)).ok()?;
            let hover = format!(
                "{factor} {}: {} bits, {} of {} equal",
                words_of(ranges[place]),
                three_digits(bits),
                grouped(equal),
                grouped(samples)
            );
            Some(Point::new(place as f64, bits, hover))
        });
        Curve { keys, line: ChartLine::new("", points.collect()) }
    };
    let axis = FACTORS.iter().find(|(name, _)| *name == factor).map_or(factor, |(_, axis)| axis);
    let article = if matches!(factor, "k" | "cancelled bits") { "" } else { "the " };
    let chart = Chart::new(
        format!("Precision of sums against {article}{factor}"),
        Axis::of_names(axis, ranges.iter().map(|range| words_of(*range)).collect()),
        Axis::new("exact fraction bits (mean)", Scale::Linear),
        "instruction, chip, values",
    );
    let curves = groups.into_iter().map(curve).collect();
    let caption = "mean number of fraction bits that agree with the exact sum";
    charts(&format!("precision-{}", slug(factor)), caption, chart, curves)
}

fn words_of([from, to]: [i64; 2]) -> String {
    match to {
        to if to == from => from.to_string(),
        to if to > 1000 => format!("{from} and more"),
        to => format!("{from}-{to}"),
    }
}
