//! Where a scheme fails: for each kind of operand the smallest one, and what comes out.

use super::EmulateRequest;
use crate::{
    Error, Result,
    device::Device,
    product::{NumberMatrix, reference::DoubleReferences},
    report::{Report, Table},
    scheme::{Emulated, Scheme, SchemeUnit, product, taken_apart},
};

crate::rows! {
    /// The smallest operands of a kind for which a scheme does not give the exact sum, rounded.
    pub struct EmulationLimitRow in "emulation_limits" {
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The kind of operands.
        kind: &'static str => shown("operands").essential(),
        /// True if no operands of the kind fail.
        holds: bool => shown("passes").essential(),
        /// The row of A.
        a: String => shown("A").essential(),
        /// The column of B.
        b: String => shown("B").essential(),
        /// The element of D.
        d: String => shown("D").essential(),
        /// The exact sum, rounded to the emulated format.
        right: String => shown("right").essential(),
    }
}

/// Rows of A, one after another from the smallest, for one column of B.
struct Kind {
    name: &'static str,
    a: Vec<Vec<f64>>,
    b: Vec<f64>,
}

/// Finds the smallest operands for which each scheme of a request fails, and reports.
///
/// # Errors
/// A request error: a scheme of integers, which has no limits of this kind; the errors of the devices.
pub fn limits(
    devices: &mut [Box<dyn Device>],
    request: &EmulateRequest,
    progress: &mut dyn FnMut(&str),
    report: &mut Report,
) -> Result<()> {
    let mut rows = Vec::new();
    for (scheme, units) in request.schemes.iter().zip(&request.units) {
        for (device, unit) in devices.iter_mut().zip(units) {
            let Some(unit) = unit else { continue };
            progress(&scheme.name);
            rows.extend(limits_of(scheme, unit, device.as_mut())?);
        }
    }
    report.device = devices.first().filter(|_| devices.len() == 1).map(|device| device.identity().clone());
    let fail = rows.iter().filter(|row| !row.holds).count();
    report.answer = Some(format!("{fail} of {} kinds of operands fail.", rows.len()));
    report.notes.push(
        "Each line shows the smallest operands of its kind for which D is not the exact sum, rounded. If a scheme passes, the line \
         shows the last operands that were tried. A is a row and B a column; one product computes all rows of a kind."
            .into(),
    );
    report.tables.extend(Table::of("Where schemes fail", rows).filled());
    Ok(())
}

/// The failures of a scheme on a device, a row for each kind of operands.
///
/// A row that holds shows the last operands that were tried.
fn limits_of(scheme: &Scheme, unit: &SchemeUnit, device: &mut dyn Device) -> Result<Vec<EmulationLimitRow>> {
    let mut rows = Vec::new();
    if scheme.is_integer() {
        return Err(Error::request(format!(
            "{} multiplies integers, which have no limits of this kind; name schemes of f32 or f64",
            scheme.name
        )));
    }
    for Kind { name, a, b } in kinds(scheme.emulates) {
        let matrix = |rows: usize, columns: usize, values: Vec<f64>| NumberMatrix { rows, columns, values };
        let (x, y) = (matrix(a.len(), b.len(), a.concat()), matrix(b.len(), 1, b.clone()));
        let d = product(scheme, unit, device, &x, &y)?;
        let exact = DoubleReferences::of(&x, &y)?.rounded;
        let right = |at: usize| match scheme.emulates {
            // All kinds have exact sums that f64 has, so that they are rounded once.
            Emulated::Single => f64::from(exact[at] as f32),
            Emulated::Double => exact[at],
        };
        let same = |at: &usize| {
            let (d, right) = (d.value(*at, 0), right(*at));
            d == right || d.is_nan() && right.is_nan()
        };
        let failure = (0..a.len()).find(|at| !same(at));
        let at = failure.unwrap_or(a.len() - 1);
        rows.push(EmulationLimitRow {
            scheme: scheme.name.clone(),
            device: device.identity().name.to_string(),
            kind: name,
            holds: failure.is_none(),
            a: line(&a[at]),
            b: line(&b),
            d: number(d.value(at, 0)),
            right: number(right(at)),
        });
    }
    Ok(rows)
}

/// The kinds of operands in a format.
fn kinds(emulates: Emulated) -> Vec<Kind> {
    let (largest, smallest, most, epsilon) = match emulates {
        Emulated::Single => (127, -149, f64::from(f32::MAX), f64::from(f32::EPSILON)),
        Emulated::Double => (1023, -1074, f64::MAX, f64::EPSILON),
    };
    // In two steps, since 2^-1074 has no reciprocal.
    let power = |exponent: i32| 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
    let small: Vec<i32> = (1..=-smallest).collect();
    let kind = |name, a, b: &[f64]| Kind { name, a, b: b.to_vec() };
    let normal = small.iter().filter(|s| -**s >= smallest + epsilon.log2().abs() as i32);
    vec![
        kind("large number", (0..=largest).map(|e| vec![power(e)]).chain([vec![most]]).collect(), &[1.0]),
        kind("small number", small.iter().map(|s| vec![power(-s)]).collect(), &[1.0]),
        kind("small number in a row with 1", small.iter().map(|s| vec![1.0, power(-s)]).collect(), &[0.0, 1.0]),
        kind(
            "last bit of a number in a row with 1",
            normal.map(|s| vec![1.0, (1.0 + epsilon) * power(-s)]).collect(),
            &[0.0, 1.0],
        ),
        kind("cancellation", small.iter().map(|s| vec![1.0, power(-s), -1.0]).collect(), &[1.0, 1.0, 1.0]),
        kind("product beyond the largest number", vec![vec![most]], &[2.0]),
        kind("large products that cancel", vec![vec![most, -most, 1.0]], &[2.0, 2.0, 1.0]),
        kind("subnormal product", vec![vec![3.0 * power(smallest)]], &[0.5]),
        kind("infinity", vec![vec![f64::INFINITY], vec![f64::NEG_INFINITY]], &[1.0]),
        kind("NaN", vec![vec![f64::NAN]], &[1.0]),
        kind("negative zero", vec![vec![-0.0]], &[1.0]),
    ]
}

fn line(values: &[f64]) -> String {
    values.iter().map(|x| number(*x)).collect::<Vec<_>>().join(", ")
}

/// A number; powers of two as such.
fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || x.abs() == 1.0 {
        return if x == 0.0 && x.is_sign_negative() { "-0".into() } else { format!("{x}") };
    }
    let (negative, significand, exponent) = taken_apart(x);
    let sign = if negative { "-" } else { "" };
    let zeros = significand.trailing_zeros();
    match significand >> zeros {
        1 => format!("{sign}2^{}", exponent + zeros as i32),
        _ => format!("{x:e}"),
    }
}
