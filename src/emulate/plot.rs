//! The plot: error against size, as SVG.

use super::{EmulateRequest, Emulation, Outcome};
use crate::{
    device::Device,
    report::plot::{Legend, PlottedLine, svg as drawn},
};

/// The largest |V - V_f32| on a logarithmic scale, by k (on a logarithmic scale, too): a line for each scheme, one colour each, and device.
///
/// An error of zero has no place on the scale and is left out. The same products give the same bytes; no font is read.
pub fn svg(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> String {
    let mut ks: Vec<usize> = request.shapes.iter().map(|shape| shape.k).collect();
    ks.sort_unstable();
    let place = |k: usize| (f64::from(PLACES) * (k as f64).log2()).round() as i32;
    let range = (place(ks.first().copied().unwrap_or(1)), place(ks.last().copied().unwrap_or(1)));
    let names: Vec<&str> = devices.iter().map(|device| device.identity().name.as_str()).collect();
    let mut lines = Vec::new();
    let numbers = request.schemes.iter().enumerate().filter(|(_, own)| !own.is_integer());
    for (color, (scheme, own)) in numbers.enumerate() {
        for (device, name) in names.iter().enumerate() {
            let error = |emulation: &Emulation| match &emulation.outcome {
                Outcome::Numbers { errors, .. } if (emulation.scheme, emulation.device) == (scheme, device) => {
                    Some((place(emulation.shape.k), errors[0].absolute))
                }
                _ => None,
            };
            let points = done.iter().filter_map(error).filter(|(_, error)| *error > 0.0 && error.is_finite());
            lines.push(PlottedLine {
                name: if names.len() > 1 { format!("{}, {name}", own.name) } else { own.name.clone() },
                color,
                dashed: (device + color / COLORS) % 2 == 1,
                crossed: false,
                points: points.map(|(k, error)| (k, error.log10())).collect(),
            });
        }
    }
    let on = if let [name] = names[..] { name } else { "several devices" };
    let title = format!("Products of f32 by schemes, on {on}");
    let legend = Legend {
        title: &title,
        x: "k",
        range: (range.0, range.1.max(range.0 + 1)),
        number: |place| if place % PLACES == 0 { (1u64 << (place / PLACES)).to_string() } else { String::new() },
        y: "largest |V - V_f32|",
        lines: "scheme",
        width: 320,
        cross: "",
    };
    drawn(&lines, &legend)
}

/// How many colours a plot has.
const COLORS: usize = 7;
/// Places of the axis from one power of two to the next.
const PLACES: i32 = 100;
