//! Figures of errors of sums against k, the gap and range of exponents, and cancellation.

use super::{Figure, LINES, Seen, on, slug, titled};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, ChartLine, Point, Scale},
        grouped, three_digits,
    },
};

/// Bits that agree with the exact sum: a figure for each property.
pub(super) fn precision(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().filter(|row| row.number("samples").is_some_and(|all| all > 0.0)).collect();
    let mut factors = super::together(rows.iter().map(|row| (row.text("factor"), row)));
    // The order of interest.
    factors.sort_by_key(|(factor, _)| {
        ["exponent gap", "dynamic range", "k"].iter().position(|own| own == factor).unwrap_or(9)
    });
    factors.iter().flat_map(|(factor, own)| of_factor(factor, own)).collect()
}

fn of_factor(factor: &str, own: &[&Row]) -> Vec<Figure> {
    let range = |row: &Row| [row.number("from").unwrap_or(0.0) as i64, row.number("to").unwrap_or(0.0) as i64];
    let mut ranges: Vec<[i64; 2]> = own.iter().map(|row| range(row)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    // A property with one value has no figure.
    if ranges.len() < 2 {
        return Vec::new();
    }
    let varies = |key: &str| own.iter().any(|row| row.text(key) != own[0].text(key));
    let parts = ["instruction", "values"].map(|key| (key, varies(key)));
    let several = own.iter().any(|row| on(row) != on(own[0]));
    let (mut names, mut lines) = (Seen::new(), Vec::<ChartLine>::new());
    for row in own {
        let chip = several.then(|| on(row));
        let words: Vec<&str> =
            chip.into_iter().chain(parts.iter().filter(|(_, own)| *own).map(|(key, _)| row.text(key))).collect();
        let name = if words.is_empty() { row.text("instruction").to_string() } else { words.join(", ") };
        let (at, new) = names.number(name.clone());
        if new {
            lines.push(ChartLine::new(name, at, Vec::new()));
        }
        let (Some(bits), Some(samples), Some(equal)) = (row.number("bits"), row.number("samples"), row.number("exact"))
        else {
            continue;
        };
        let place = ranges.binary_search(&range(row)).unwrap_or(0);
        let hover = format!(
            "{factor} {}: {} bits, {} of {} equal",
            words_of(ranges[place]),
            three_digits(bits),
            grouped(equal as i64),
            grouped(samples as i64)
        );
        lines[at].points.push(Point { x: place as f64, y: bits, hover });
    }
    let chips: Vec<&str> = own.iter().map(|row| on(row)).collect();
    let title = titled(&format!("Precision of sums against {}", article(factor)), &chips);
    let fixed = parts.iter().filter(|(_, varies)| !varies).map(|(key, _)| own[0].text(key));
    let chart = Chart {
        title: title.clone(),
        x: Axis::of_names(axis(factor), ranges.iter().map(|range| words_of(*range)).collect()),
        y: Axis::new("bits of the fraction that agree with the exact sum (mean)", Scale::Linear),
        lines: Vec::new(),
        legend: "sum".into(),
        remark: fixed.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", "),
    };
    let caption = format!("{title}: mean number of fraction bits that agree with the exact sum.");
    let figure = |(at, lines): (usize, &[ChartLine])| Figure {
        name: if at == 0 {
            format!("precision-{}", slug(factor))
        } else {
            format!("precision-{}-{}", slug(factor), at + 1)
        },
        caption: caption.clone(),
        scene: Chart { lines: lines.to_vec(), ..chart.clone() }.scene(),
    };
    lines.chunks(LINES).enumerate().map(figure).collect()
}

fn article(factor: &str) -> String {
    match factor {
        "k" => "k".into(),
        "cancelled bits" => factor.into(),
        _ => format!("the {factor}"),
    }
}

/// The title of the axis of a property.
fn axis(factor: &str) -> String {
    match factor {
        "k" => "k (terms of a sum)".into(),
        "exponent gap" => "largest minus smallest exponent of the products".into(),
        "dynamic range" => "largest minus smallest exponent of the operands".into(),
        "cancelled bits" => "exponent of the largest product minus exponent of the sum".into(),
        other => other.into(),
    }
}

fn words_of([from, to]: [i64; 2]) -> String {
    match to {
        to if to == from => from.to_string(),
        to if to > 1000 => format!("{from} and more"),
        to => format!("{from}-{to}"),
    }
}
