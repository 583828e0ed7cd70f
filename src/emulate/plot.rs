//! The plot: error against size, or against cost, as SVG.

use std::collections::BTreeMap;

use super::{EmulateRequest, Emulation, Outcome, Shape};
use crate::{
    device::Device,
    gemm::Yardstick,
    report::plot::{Legend, PlottedLine, svg as drawn},
};

/// The largest |V - V_f32| on a logarithmic scale, by k (on a logarithmic scale, too): a line for each scheme, one colour each, and device.
/// Of products of one shape by cost: a line for each device, of the best scheme of so many products.
///
/// An error of zero has no place on the scale and is left out. The same products give the same bytes; no font is read.
pub fn svg(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation]) -> String {
    if let [shape] = request.shapes[..] {
        return by_cost(request, devices, done, shape);
    }
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

/// The mean relative error to the exact product by the number of products: a line for each device, through the best scheme of each number.
fn by_cost(request: &EmulateRequest, devices: &[Box<dyn Device>], done: &[Emulation], shape: Shape) -> String {
    let mut lines = Vec::new();
    for (color, device) in devices.iter().enumerate() {
        let mut best = BTreeMap::<usize, f64>::new();
        for own in done.iter().filter(|own| own.device == color) {
            let Outcome::Numbers { errors, .. } = &own.outcome else { continue };
            let Some(exact) = errors.iter().find(|own| own.yardstick == Yardstick::Exact) else { continue };
            let least = best.entry(request.schemes[own.scheme].products()).or_insert(f64::INFINITY);
            *least = least.min(exact.mred);
        }
        lines.push(PlottedLine {
            name: device.identity().name.clone(),
            color,
            dashed: color / COLORS % 2 == 1,
            crossed: false,
            points: best
                .into_iter()
                .filter(|(_, error)| *error > 0.0)
                .map(|(x, error)| (x as i32, error.log10()))
                .collect(),
        });
    }
    let most = lines.iter().flat_map(|line| line.points.iter().map(|(x, _)| *x)).max().unwrap_or(2);
    let Shape { m, n, k } = shape;
    let title = format!("{m} x {n} x {k}: the best scheme of so many products");
    let legend = Legend {
        title: &title,
        x: "products of low precision",
        range: (0, most.max(2)),
        number: |x| x.to_string(),
        y: "MRED to the exact product",
        lines: "device",
        width: 240,
        cross: "",
    };
    drawn(&lines, &legend)
}

/// How many colours a plot has.
const COLORS: usize = 7;
/// Places of the axis from one power of two to the next.
const PLACES: i32 = 100;
