//! Errors of matrix products: against the number of their terms, and against what they cost.

use super::{Figure, LINES, on, titled};
use crate::{
    document::rows::{Line as Row, Rows},
    report::{
        Table,
        figure::{Axis, Chart, Line, Point, Scale},
        three_digits,
    },
};

/// A point of an error, with its name.
fn point(x: f64, error: f64, what: &str) -> Point {
    Point { x, y: error, hover: format!("{what}, error {}", three_digits(error)) }
}

/// The number of a key among those that were seen.
fn numbered<T: PartialEq>(seen: &mut Vec<T>, key: T) -> usize {
    seen.iter().position(|own| *own == key).unwrap_or_else(|| {
        seen.push(key);
        seen.len() - 1
    })
}

/// The error against k: a line for each chip, instruction and promotion.
pub(super) fn growth(table: &Table) -> Vec<Figure> {
    let (mut styles, mut lines) = (Vec::new(), Vec::<Line>::new());
    let rows = || Rows(table).iter();
    let chips: Vec<&str> = rows().map(|row| on(&row)).collect();
    for row in rows() {
        let promoted = row.number("promote");
        let style = numbered(&mut styles, (on(&row), row.text("instruction")));
        let every = promoted.map_or_else(String::new, |every| format!(", promoted every {every}"));
        let name = format!("{}: {}{every}", on(&row), row.text("instruction"));
        let at = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
            let dashed = promoted.is_some();
            lines.push(Line { dashed, ..Line::new(name, style, Vec::new()) });
            lines.len() - 1
        });
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
        lines,
        legend: "chip and instruction".into(),
        remark: "Dashed: partial sums are promoted to a second accumulator.".into(),
    };
    let caption = format!("{title}: the mean difference from the exact sum over the mean magnitude of the elements.");
    // More lines than a figure holds: one figure for each so many.
    let pieces: Vec<&[Line]> = chart.lines.chunks(2 * LINES).collect();
    let figure = |(at, lines): (usize, &&[Line])| {
        let name = if at == 0 { "error-against-k".into() } else { format!("error-against-k-{}", at + 1) };
        let scene = Chart { lines: lines.to_vec(), ..chart.clone() }.scene();
        Figure { name, caption: caption.clone(), scene }
    };
    pieces.iter().enumerate().map(figure).collect()
}

/// The lines, those of the same instruction and numbers on several chips as one.
fn shared(lines: Vec<Line>) -> Vec<Line> {
    let mut all: Vec<(Vec<String>, String, Line)> = Vec::new();
    for line in lines {
        let (chip, what) = line.name.split_once(": ").unwrap_or(("", &line.name));
        let (chip, what) = (chip.to_string(), what.to_string());
        match all.iter_mut().find(|(_, own, known)| *own == what && known.points == line.points) {
            Some((chips, ..)) => chips.push(chip),
            None => all.push((vec![chip], what, line)),
        }
    }
    let named =
        all.into_iter().map(|(chips, what, line)| Line { name: format!("{}: {what}", chips.join(", ")), ..line });
    named.collect()
}

/// Splitting schemes: the error against k, and at the largest k against the number of products.
pub(super) fn splitting(table: &Table) -> Vec<Figure> {
    let rows: Vec<Row> = Rows(table).iter().collect();
    let chips: Vec<&str> = rows.iter().map(on).collect();
    let several = chips.iter().any(|chip| chip != &chips[0]);
    let name = |row: &Row| match several {
        true => format!("{}, {}", row.text("scheme"), on(row)),
        false => row.text("scheme").to_string(),
    };
    let (mut styles, mut lines) = (Vec::new(), Vec::<Line>::new());
    for row in &rows {
        let style = numbered(&mut styles, name(row));
        if style == lines.len() {
            lines.push(Line::new(name(row), style, Vec::new()));
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
        for (at, lines) in lines.chunks(LINES).enumerate() {
            let what = "Products of f32 by splitting: the largest error against k";
            let chart = Chart {
                title: titled("Products of f32 by splitting", &chips),
                x: Axis::new("k (terms of a sum)", Scale::Octaves),
                y: Axis::new("largest |V - V_f32|", Scale::Decades),
                lines: lines.to_vec(),
                legend: "scheme".into(),
                remark: String::new(),
            };
            let name = if at == 0 { "splitting-size".into() } else { format!("splitting-size-{}", at + 1) };
            figures.push(Figure { name, caption: caption(what), scene: chart.scene() });
        }
    }
    if let Some(&largest) = sizes.last() {
        let (mut styles, mut lines) = (Vec::new(), Vec::<Line>::new());
        for row in rows.iter().filter(|row| row.number("k") == Some(largest)) {
            let style = numbered(&mut styles, name(row));
            if let (Some(cost), Some(error)) = (row.number("products"), row.number("mred")) {
                let own = point(cost, error, &format!("{cost} products"));
                lines.push(Line { joined: false, ..Line::new(name(row), style, vec![own]) });
            }
        }
        for (at, lines) in lines.chunks(2 * LINES).enumerate() {
            let chart = Chart {
                title: titled(&format!("Splitting, k = {largest}: error against cost"), &chips),
                x: Axis::new("products of parts", Scale::Linear),
                y: Axis::new("MRED (mean |V - V_f32| / |V_f32|)", Scale::Decades),
                lines: lines.to_vec(),
                legend: "scheme".into(),
                remark: String::new(),
            };
            let name = if at == 0 { "splitting-cost".into() } else { format!("splitting-cost-{}", at + 1) };
            let what = format!(
                "Splitting schemes at k = {largest}: the mean relative error against how many products of parts they take"
            );
            figures.push(Figure { name, caption: caption(&what), scene: chart.scene() });
        }
    }
    figures
}
