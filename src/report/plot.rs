//! Plots of errors on a logarithmic scale, as SVG.

use std::ops::{Range, RangeInclusive};

use plotters::{
    coord::{
        Shift,
        ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter},
        types::{RangedCoordf64, RangedCoordi32},
    },
    element::DashedPathElement,
    prelude::*,
};

use crate::base::sorting;

const CHART_WIDTH: u32 = 680;
const LEGEND_LINE: u32 = 22;
/// Room for the title and the axis titles above and below the legend's lines.
const FRAME: u32 = 150;
const CHART_HEIGHT: u32 = 560;
/// Half the width of the mark of an overflow.
const CROSS: i32 = 6;
const FONT: &str = "sans-serif";

/// Colours that people with any colour vision tell apart (Okabe and Ito, Color Universal Design, 2008).
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordi32, Decades>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// What a plot says beside its lines.
pub(crate) struct Legend<'a> {
    /// What stands above.
    pub(crate) title: &'a str,
    /// What the horizontal axis shows: the numbers from the first to the last.
    pub(crate) x: &'a str,
    /// The first and the last number of that axis.
    pub(crate) range: (i32, i32),
    /// What a number of that axis is called.
    pub(crate) number: fn(i32) -> String,
    /// What the vertical axis shows.
    pub(crate) y: &'a str,
    /// What the names of lines consist of.
    pub(crate) lines: &'a str,
    /// The width of the legend.
    pub(crate) width: u32,
    /// What a cross at the end of a line means.
    pub(crate) cross: &'a str,
}

/// A line.
pub(crate) struct PlottedLine {
    /// Its name.
    pub(crate) name: String,
    /// The number of its colour.
    pub(crate) color: usize,
    /// Dashed and hollow, not solid and filled.
    pub(crate) dashed: bool,
    /// Whether a cross stands at its end.
    pub(crate) crossed: bool,
    /// A number of the horizontal axis, and the common logarithm of the error.
    pub(crate) points: Vec<(i32, f64)>,
}

/// The lines on a logarithmic scale. The same lines give the same bytes; no font is read.
pub(crate) fn svg(lines: &[PlottedLine], legend: &Legend) -> String {
    let height = (FRAME + LEGEND_LINE * lines.len() as u32).max(CHART_HEIGHT);
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (CHART_WIDTH + legend.width, height)).into_drawing_area();
    draw(&root, lines, legend).expect("a string can always be written to");
    drop(root);
    text
}

fn draw(root: &Area, lines: &[PlottedLine], legend: &Legend) -> Drawn {
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(CHART_WIDTH);
    let (left, _) = left.split_vertically(CHART_HEIGHT);
    let mut chart = ChartBuilder::on(&left)
        .caption(legend.title, (FONT, 17))
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(legend.range.0..legend.range.1, Decades::of(lines))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(21)
        .x_label_formatter(&|x| (legend.number)(*x))
        .x_desc(legend.x)
        .y_desc(legend.y)
        .axis_desc_style((FONT, 16))
        .label_style((FONT, 14))
        .draw()?;
    // The longer ones first, so that where lines coincide one sees where the shorter one ends.
    let mut order: Vec<&PlottedLine> = lines.iter().collect();
    sorting::by_key(&mut order, |line| std::cmp::Reverse(line.points.len()));
    for line in order {
        line.draw(&mut chart)?;
    }
    explain(&right, lines, legend)?;
    root.present()
}

/// The legend.
fn explain(area: &Area, lines: &[PlottedLine], legend: &Legend) -> Drawn {
    let row = |index: usize| 76 + LEGEND_LINE as i32 * index as i32;
    area.draw(&Text::new(legend.lines.to_string(), (8, row(0) - 28), (FONT, 14)))?;
    for (index, line) in lines.iter().enumerate() {
        line.explain(area, row(index))?;
    }
    if lines.iter().any(|line| line.crossed) {
        let y = row(lines.len()) + 6;
        area.draw(&Cross::new((26, y), CROSS, BLACK.stroke_width(2)))?;
        area.draw(&Text::new(legend.cross.to_string(), (52, y - 7), (FONT, 14)))?;
    }
    Ok(())
}

/// The axis of common logarithms, labelled with the powers of ten.
struct Decades {
    exponents: RangeInclusive<i32>,
    scale: RangedCoordf64,
}

impl Decades {
    /// The decades that enclose every error.
    fn of(lines: &[PlottedLine]) -> Self {
        let all = || lines.iter().flat_map(|line| line.points.iter().map(|&(_, error)| error));
        let least = all().fold(f64::INFINITY, f64::min).floor() as i32;
        let most = all().fold(f64::NEG_INFINITY, f64::max).ceil() as i32;
        // Without any error to show, an empty scale.
        let exponents = if least > most { -8..=0 } else { least..=most.max(least + 1) };
        let scale = (f64::from(*exponents.start())..f64::from(*exponents.end())).into();
        Decades { exponents, scale }
    }
}

impl Ranged for Decades {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, exponent: &f64, limit: (i32, i32)) -> i32 {
        self.scale.map(exponent, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let step = self.exponents.clone().count().div_ceil(hint.max_num_points().max(1));
        self.exponents.clone().step_by(step).map(f64::from).collect()
    }

    fn range(&self) -> Range<f64> {
        self.scale.range()
    }
}

impl ValueFormatter<f64> for Decades {
    fn format(exponent: &f64) -> String {
        format!("1e{exponent}")
    }
}

impl PlottedLine {
    fn draw(&self, chart: &mut Chart) -> Drawn {
        if self.dashed {
            chart.draw_series(DashedLineSeries::new(
                self.points.iter().copied(),
                6,
                4,
                self.color().stroke_width(2),
            ))?;
        } else {
            chart.draw_series(LineSeries::new(self.points.iter().copied(), self.color().stroke_width(2)))?;
        }
        chart.draw_series(self.points.iter().map(|&point| Circle::new(point, 3, self.inside())))?;
        chart.draw_series(self.points.iter().map(|&point| Circle::new(point, 3, self.color().stroke_width(1))))?;
        let last = self.points.last().filter(|_| self.crossed);
        chart.draw_series(last.map(|&point| Cross::new(point, CROSS, self.color().stroke_width(2))))?;
        Ok(())
    }

    /// The line's entry in the legend.
    fn explain(&self, area: &Area, y: i32) -> Drawn {
        let (from, to) = ((8, y), (44, y));
        if self.dashed {
            area.draw(&DashedPathElement::new([from, to], 6, 4, self.color().stroke_width(2)))?;
        } else {
            area.draw(&PathElement::new([from, to], self.color().stroke_width(2)))?;
        }
        area.draw(&Circle::new((26, y), 3, self.inside()))?;
        area.draw(&Circle::new((26, y), 3, self.color().stroke_width(1)))?;
        let remark = if self.points.is_empty() { " (no error)" } else { "" };
        area.draw(&Text::new(format!("{}{remark}", self.name), (52, y - 7), (FONT, 14)))
    }

    fn color(&self) -> RGBColor {
        COLORS[self.color % COLORS.len()]
    }

    fn inside(&self) -> ShapeStyle {
        if self.dashed { WHITE.filled() } else { self.color().filled() }
    }
}
