//! The plot: error against length, as SVG.

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

use super::Curve;
use crate::{base::sorting, inputs::Init};

const WIDTH: u32 = 1080;
const LEGEND_WIDTH: u32 = 400;
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

/// The mean relative error against the plain reference, on a logarithmic scale, by length: a line for each curve,
/// one colour for each instruction, solid and filled for `low`, dashed and hollow for `fp32`.
///
/// A line ends, with a cross, before the first length at which any chain overflowed. A mean of zero has no place on the scale and
/// is left out. `title` stands above. The same curves give the same bytes; no font is read.
pub fn svg(curves: &[Curve], title: &str) -> String {
    let height = (FRAME + LEGEND_LINE * curves.len() as u32).max(CHART_HEIGHT);
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
    draw(&root, curves, title).expect("a string can always be written to");
    drop(root);
    text
}

fn draw(root: &Area, curves: &[Curve], title: &str) -> Drawn {
    let lines: Vec<PlottedLine> = lines(curves);
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(WIDTH - LEGEND_WIDTH);
    let (left, _) = left.split_vertically(CHART_HEIGHT);
    let longest = curves.iter().map(|c| c.points.len()).max().unwrap_or(1) as i32;
    let mut chart = ChartBuilder::on(&left)
        .caption(title, (FONT, 17))
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(1..longest.max(2), Decades::of(&lines))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(21)
        .x_desc("chain length N")
        .y_desc("relative error, mean over the chains")
        .axis_desc_style((FONT, 16))
        .label_style((FONT, 14))
        .draw()?;
    // The longer ones first, so that where lines coincide one sees where the shorter one ends.
    let mut order: Vec<&PlottedLine> = lines.iter().collect();
    sorting::by_key(&mut order, |line| std::cmp::Reverse(line.points.len()));
    for line in order {
        line.draw(&mut chart)?;
    }
    explain(&right, &lines)?;
    root.present()
}

/// The legend.
fn explain(area: &Area, lines: &[PlottedLine]) -> Drawn {
    let row = |index: usize| 76 + LEGEND_LINE as i32 * index as i32;
    area.draw(&Text::new("instruction, initialisation", (8, row(0) - 28), (FONT, 14)))?;
    for (index, line) in lines.iter().enumerate() {
        line.explain(area, row(index))?;
    }
    if lines.iter().any(|line| line.overflows) {
        let y = row(lines.len()) + 6;
        area.draw(&Cross::new((26, y), CROSS, BLACK.stroke_width(2)))?;
        area.draw(&Text::new("at the next length a chain overflows", (52, y - 7), (FONT, 14)))?;
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

/// A curve as it is drawn.
struct PlottedLine {
    name: String,
    color: RGBColor,
    dashed: bool,
    /// Whether the line ends because a chain overflows at the next length.
    overflows: bool,
    /// Length, and common logarithm of the error.
    points: Vec<(i32, f64)>,
}

fn lines(curves: &[Curve]) -> Vec<PlottedLine> {
    let mut instructions: Vec<&str> = Vec::new();
    let line = |curve: &Curve, index: usize| PlottedLine {
        name: format!("{}, {}", curve.instruction, curve.init.name()),
        color: COLORS[index % COLORS.len()],
        dashed: curve.init == Init::Fp32,
        overflows: curve.without_overflow().len() < curve.points.len(),
        points: curve
            .without_overflow()
            .iter()
            .filter_map(|point| Some((point.length as i32, point.against_plain.mean()?)))
            .filter(|(_, error)| *error > 0.0 && error.is_finite())
            .map(|(length, error)| (length, error.log10()))
            .collect(),
    };
    let mut lines = Vec::new();
    for curve in curves {
        let name = curve.instruction.name.as_str();
        let index = instructions.iter().position(|known| *known == name).unwrap_or_else(|| {
            instructions.push(name);
            instructions.len() - 1
        });
        lines.push(line(curve, index));
    }
    lines
}

impl PlottedLine {
    fn draw(&self, chart: &mut Chart) -> Drawn {
        if self.dashed {
            chart.draw_series(DashedLineSeries::new(self.points.iter().copied(), 6, 4, self.color.stroke_width(2)))?;
        } else {
            chart.draw_series(LineSeries::new(self.points.iter().copied(), self.color.stroke_width(2)))?;
        }
        chart.draw_series(self.points.iter().map(|&point| Circle::new(point, 3, self.inside())))?;
        chart.draw_series(self.points.iter().map(|&point| Circle::new(point, 3, self.color.stroke_width(1))))?;
        let last = self.points.last().filter(|_| self.overflows);
        chart.draw_series(last.map(|&point| Cross::new(point, CROSS, self.color.stroke_width(2))))?;
        Ok(())
    }

    /// The line's entry in the legend.
    fn explain(&self, area: &Area, y: i32) -> Drawn {
        let (from, to) = ((8, y), (44, y));
        if self.dashed {
            area.draw(&DashedPathElement::new([from, to], 6, 4, self.color.stroke_width(2)))?;
        } else {
            area.draw(&PathElement::new([from, to], self.color.stroke_width(2)))?;
        }
        area.draw(&Circle::new((26, y), 3, self.inside()))?;
        area.draw(&Circle::new((26, y), 3, self.color.stroke_width(1)))?;
        let remark = if self.points.is_empty() { " (no error)" } else { "" };
        area.draw(&Text::new(format!("{}{remark}", self.name), (52, y - 7), (FONT, 14)))
    }

    fn inside(&self) -> ShapeStyle {
        if self.dashed { WHITE.filled() } else { self.color.filled() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chain::{Plain, Point},
        isa,
        summary::Summary,
    };

    fn curve(name: &str, init: Init, errors: &[(f64, u64)]) -> Curve {
        let point = |(index, &(mean, overflowed)): (usize, &(f64, u64))| {
            let mut against_plain = Summary::default();
            (overflowed..9).for_each(|_| against_plain.add(Some(mean)));
            Point { length: index + 1, finite: 9 - overflowed, overflowed, against_plain, ..Point::default() }
        };
        Curve {
            instruction: isa::find(name).unwrap(),
            init,
            plain: Plain::F32,
            points: errors.iter().enumerate().map(point).collect(),
        }
    }

    const BF16: &str = "mma.m16n8k8.f32.bf16.bf16.f32";
    const F16: &str = "mma.m16n8k8.f32.f16.f16.f32";

    #[test]
    fn the_plot_names_its_axes_and_lines_and_is_the_same_every_time() {
        let curves = [curve(BF16, Init::Low, &[(1e-7, 0), (2e-3, 0)]), curve(F16, Init::Fp32, &[(1e-4, 0), (3e-4, 0)])];
        let text = svg(&curves, "a <title>");
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for expected in ["chain length N", "relative error", BF16, F16, "low", "fp32", "1e-7", "a &lt;title&gt;"] {
            assert!(text.contains(expected), "{expected}");
        }
        assert_eq!(text, svg(&curves, "a <title>"));
    }

    #[test]
    fn a_line_ends_before_the_first_overflow_and_leaves_out_zeros() {
        let errors = [(0.0, 0), (1e-3, 0), (2e-3, 0), (f64::INFINITY, 1), (2e-3, 2)];
        let lines = lines(&[curve(F16, Init::Low, &errors)]);
        assert!(lines[0].overflows);
        assert_eq!(lines[0].points.iter().map(|p| p.0).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn curves_with_nothing_to_draw_are_drawn() {
        for errors in [&[][..], &[(0.0, 0)], &[(1e-3, 9)], &[(1e-3, 0)], &[(1.0, 0), (1.0, 0)]] {
            assert!(svg(&[curve(F16, Init::Low, errors)], "").contains(F16));
        }
        assert!(svg(&[], "").contains("chain length N"));
    }
}
