//! Figures of the growth of errors along chains of products.

use super::{Figure, LINES, Seen, on, slug, titled, together};
use crate::{
    document::rows::{Line as Row, Rows},
    isa,
    report::{
        Table,
        figure::{Axis, Band, Chart, ChartLine, Point, Scale},
        three_digits,
    },
};

/// Most lines with bands.
const BANDS: usize = 6;

/// The curves of one instruction on one chip.
struct Curve<'a> {
    chip: &'a str,
    names: Vec<&'a str>,
    init: &'a str,
    scales: &'a str,
    points: Vec<Row<'a>>,
    overflows: bool,
}

/// The error against the length: a figure for each format of operands.
pub(super) fn drift(table: &Table) -> Vec<Figure> {
    let formats = |curve: &Curve| {
        isa::known(curve.names[0]).map_or_else(
            || curve.names[0].to_string(),
            |i| if i.a.name == i.b.name { i.a.name.to_string() } else { format!("{} * {}", i.a.name, i.b.name) },
        )
    };
    let groups = together(curves(table).into_iter().map(|curve| (formats(&curve), curve)));
    let count: usize = groups.iter().map(|(_, curves)| curves.len()).sum();
    // Few curves are compared in one figure.
    let figures: Vec<(String, Vec<Curve>)> = match count <= LINES {
        true => vec![(String::new(), groups.into_iter().flat_map(|(_, curves)| curves).collect())],
        false => groups,
    };
    let drawn = figures.into_iter().filter(|(_, curves)| !curves.is_empty());
    drawn.flat_map(|(formats, curves)| parts(&formats, curves)).collect()
}

/// The curves of a table; curves of equal numbers become one with several names.
fn curves(table: &Table) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve> = Vec::new();
    let mut last = 0.0;
    for row in Rows(table).iter() {
        let (chip, name, init, scales) = (on(&row), row.text("instruction"), row.text("init"), row.text("scales"));
        let length = row.number("length").unwrap_or(0.0);
        let own =
            |curve: &&mut Curve| (curve.chip, curve.names[0], curve.init, curve.scales) == (chip, name, init, scales);
        // Lengths of a curve ascend, so a shorter one begins the curve of another run.
        let goes_on = curves.last_mut().filter(own).is_some() && length > last;
        if !goes_on {
            curves.push(Curve { chip, names: vec![name], init, scales, points: Vec::new(), overflows: false });
        }
        last = length;
        // A line ends before the first length at which any chain overflowed.
        let curve = curves.last_mut().expect("one was just there, or added");
        curve.overflows |= row.count("overflowed") > 0;
        if !curve.overflows {
            curve.points.push(row);
        }
    }
    // The longest of several runs of a curve is drawn.
    curves.sort_by_key(|curve| std::cmp::Reverse(curve.points.len()));
    let mut seen = std::collections::HashSet::new();
    curves.retain(|own| seen.insert((own.chip, own.names[0], own.init, own.scales)));
    let mut first = Seen::new();
    for row in Rows(table).iter() {
        first.number((on(&row), row.text("instruction")));
    }
    curves.sort_by_key(|own| first.number((own.chip, own.names[0])).0);
    let keyed = curves.into_iter().enumerate().map(|(at, curve)| {
        let of = curve.points.iter().map(|row| row.number("reference_error").map(f64::to_bits));
        let numbers: Vec<Option<u64>> = of.collect();
        // A curve without points equals no other.
        let alone = numbers.is_empty().then_some(at);
        ((curve.chip, curve.init, curve.scales, curve.overflows, numbers, alone), curve)
    });
    let mut distinct = Vec::new();
    for (_, mut alike) in together(keyed) {
        let names = alike.iter().flat_map(|curve| curve.names.clone()).collect();
        distinct.push(Curve { names, ..alike.swap_remove(0) });
    }
    distinct
}

/// Makes the figures of curves, as many as their lines need.
fn parts(formats: &str, curves: Vec<Curve>) -> Vec<Figure> {
    let several = curves.iter().any(|curve| curve.chip != curves[0].chip);
    let pieces: Vec<&[Curve]> = curves.chunks(LINES).collect();
    let figure = |(number, curves): (usize, &&[Curve])| {
        let chips: Vec<&str> = curves.iter().map(|curve| curve.chip).collect();
        let what =
            if formats.is_empty() { "Chains of products".into() } else { format!("Chains of products of {formats}") };
        // One colour for an instruction on a chip, whatever its references start from.
        let mut styles: Vec<(&str, &str, &str)> = Vec::new();
        let mut lines = Vec::new();
        for curve in curves.iter() {
            let key = (curve.chip, curve.names[0], curve.scales);
            let style = styles.iter().position(|own| *own == key).unwrap_or_else(|| {
                styles.push(key);
                styles.len() - 1
            });
            lines.push(line(curve, style, several));
        }
        // Many bands hide one another.
        if lines.len() > BANDS {
            lines.iter_mut().for_each(|line| line.band.clear());
        }
        let bands = if lines.len() > BANDS { "" } else { " band: to the largest;" };
        let chart = Chart {
            title: titled(&what, &chips),
            x: Axis::new("chain length N (links)", Scale::Linear),
            y: Axis::new("relative error", Scale::Decades),
            lines,
            legend: "instruction, initialisation".into(),
            remark: format!("Line: mean over the chains;{bands} cross: at the next length a chain overflows."),
        };
        let part = if pieces.len() > 1 { format!("-{}", number + 1) } else { String::new() };
        let dash = if formats.is_empty() { "" } else { "-" };
        Figure {
            name: format!("chain{dash}{}{part}", slug(formats)),
            caption: format!(
                "{}: relative error ||D - D_ref|| / ||D|| (Frobenius) after N links, against the same chain in plain arithmetic.",
                titled(&what, &chips)
            ),
            scene: chart.scene(),
        }
    };
    pieces.iter().enumerate().map(figure).collect()
}

fn line(curve: &Curve, style: usize, several: bool) -> ChartLine {
    let chip = if several { format!("{}, ", curve.chip) } else { String::new() };
    let others = match curve.names.len() {
        1 => String::new(),
        count => format!(" and {} alike", count - 1),
    };
    let length = |row: &Row| row.number("length").unwrap_or(0.0);
    let points = curve.points.iter().filter_map(|row| {
        let error = row.number("reference_error")?;
        let hover = format!("N = {}, mean error {}\n{}", length(row), three_digits(error), curve.names.join("\n"));
        Some(Point { x: length(row), y: error, hover })
    });
    let scales = if curve.scales.is_empty() { String::new() } else { format!(", {}", curve.scales) };
    let name = format!("{chip}{}{others}, {}{scales}", curve.names[0], curve.init);
    let mut line = ChartLine::new(name, style, points.collect());
    line.dashed = curve.init == "fp32";
    line.crossed = curve.overflows;
    let band = curve.points.iter().filter_map(|row| {
        let (mean, most) = (row.number("reference_error")?, row.number("reference_largest_error")?);
        (mean > 0.0 && most >= mean).then_some(Band { x: length(row), least: mean, most })
    });
    line.band = band.collect();
    line
}
