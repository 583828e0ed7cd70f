//! The plot: error against length, as SVG.

use super::Curve;
use crate::{
    inputs::Init,
    report::plot::{Legend, PlottedLine, svg as drawn},
};

/// The mean relative error against the plain reference, on a logarithmic scale, by length: a line for each curve,
/// one colour for each instruction and device, solid and filled for `low`, dashed and hollow for `fp32`. Each curve comes with the name of
/// its device, if there are several.
///
/// A line ends, with a cross, before the first length at which any chain overflowed. A mean of zero has no place on the scale and
/// is left out. `title` stands above. The same curves give the same bytes; no font is read.
pub fn svg(curves: &[(Option<&str>, &Curve)], title: &str) -> String {
    let longest = curves.iter().map(|(_, c)| c.points.len()).max().unwrap_or(1) as i32;
    let legend = Legend {
        title,
        x: "chain length N",
        range: (1, longest.max(2)),
        number: |length| length.to_string(),
        y: "relative error, mean over the chains",
        lines: "instruction, initialisation",
        width: 400,
        cross: "at the next length a chain overflows",
    };
    drawn(&lines(curves), &legend)
}

fn lines(curves: &[(Option<&str>, &Curve)]) -> Vec<PlottedLine> {
    let mut drawn: Vec<(Option<&str>, &str)> = Vec::new();
    let line = |device: Option<&str>, curve: &Curve, color: usize| PlottedLine {
        name: match device {
            Some(device) => format!("{device}, {}, {}", curve.instruction, curve.init.name()),
            None => format!("{}, {}", curve.instruction, curve.init.name()),
        },
        color,
        dashed: curve.init == Init::Fp32,
        crossed: curve.without_overflow().len() < curve.points.len(),
        points: curve
            .without_overflow()
            .iter()
            .filter_map(|point| Some((point.length as i32, point.against_plain.mean()?)))
            .filter(|(_, error)| *error > 0.0 && error.is_finite())
            .map(|(length, error)| (length, error.log10()))
            .collect(),
    };
    let mut lines = Vec::new();
    for (device, curve) in curves {
        let what = (*device, curve.instruction.name.as_str());
        let index = drawn.iter().position(|known| *known == what).unwrap_or_else(|| {
            drawn.push(what);
            drawn.len() - 1
        });
        lines.push(line(*device, curve, index));
    }
    lines
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
        let curves = [(None, &curves[0]), (None, &curves[1])];
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
        let lines = lines(&[(None, &curve(F16, Init::Low, &errors))]);
        assert!(lines[0].crossed);
        assert_eq!(lines[0].points.iter().map(|p| p.0).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn curves_with_nothing_to_draw_are_drawn() {
        for errors in [&[][..], &[(0.0, 0)], &[(1e-3, 9)], &[(1e-3, 0)], &[(1.0, 0), (1.0, 0)]] {
            assert!(svg(&[(None, &curve(F16, Init::Low, errors))], "").contains(F16));
        }
        assert!(svg(&[], "").contains("chain length N"));
    }
}
