//! The cheapest scheme that meets an accuracy on given operands.

use super::{DoubleErrors, EmulateRequest};
use crate::{
    Error, Result,
    base::{available::if_available, interrupt},
    device::Device,
    product::{NumberMatrix, ProductOperands, reference::DoubleReferences},
    report::{Report, Table, Verdict, three_digits},
    scheme::{Emulated, OperandSplit, Scheme, SchemeUnit, SliceLine, error_bound, exponents, product},
};

/// The most slices or moduli that are tried.
const MOST: usize = 20;

crate::rows! {
    /// A scheme with the fewest slices or moduli that meet an accuracy.
    pub struct SchemeChoiceRow in "emulation_choices" {
        /// The scheme, with its number of slices or moduli.
        scheme: String => shown("scheme").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// True for the cheapest scheme that meets the accuracy.
        chosen: bool => shown("chosen").essential(),
        /// True if the scheme meets the accuracy on these operands.
        meets: bool => shown("meets").essential(),
        /// Slices or moduli.
        count: usize => shown("count").essential(),
        /// Number of products of parts.
        products: usize => shown("products").essential(),
        /// The wanted accuracy: the largest |V - S| / sum |ab|.
        accuracy: f64 => shown("wanted"),
        /// The largest |V - S| / sum |ab|, with the exact S.
        observed: f64 => shown("observed").essential(),
        /// The bound of that error, from the operands alone.
        bound: Option<f64> => shown("bound").if_filled().essential(),
        /// The slices or moduli that the bound needs to meet the accuracy.
        bound_count: Option<usize> => shown("count by bound").if_filled().essential(),
        /// Bits below the largest elements of a row and a column that the accuracy needs.
        range_bits: f64 => shown("bits needed").essential(),
    }
}

/// Finds the cheapest scheme that meets an accuracy, on each device, and reports.
///
/// # Errors
/// A request error: more than one shape, or an accuracy or schemes for which there is no choice; the errors of the devices.
pub fn choose(
    devices: &mut [Box<dyn Device>],
    request: &EmulateRequest,
    accuracy: f64,
    progress: &mut dyn FnMut(&str),
    report: &mut Report,
) -> Result<()> {
    let mut rows = Vec::new();
    let [shape] = request.shapes[..] else {
        return Err(Error::request("a scheme is chosen for one product; give one size or shape"));
    };
    for device in devices.iter_mut() {
        rows.extend(cheapest(device.as_mut(), request, accuracy, progress)?);
    }
    if rows.is_empty() {
        return Err(Error::unavailable(
            "no device has the instructions of a scheme; schemes of f64 take products of s8 or e4m3",
        ));
    }
    report.device = devices.first().filter(|_| devices.len() == 1).map(|device| device.identity().clone());
    report.answer = Some(match rows.iter().find(|row| row.chosen) {
        Some(row) => format!(
            "On {} {} is the cheapest scheme with errors up to {}: {} products, an observed error of {}.",
            row.device,
            row.scheme,
            three_digits(accuracy),
            row.products,
            three_digits(row.observed)
        ),
        None => format!("No scheme has errors up to {} on these operands.", three_digits(accuracy)),
    });
    report.holds = rows.iter().any(|row| row.chosen);
    report.verdict = Verdict::Inexact;
    report.notes.push(format!(
        "Errors are the largest |V - S| / sum |ab| of {} x {} x {}. Bits needed: below the largest elements of a row and a column, \
         log2(k max|a| max|b| / sum |ab|) - log2(accuracy) for the element that needs most.",
        shape.m, shape.n, shape.k
    ));
    report.tables.extend(Table::of("Fewest slices or moduli that meet the accuracy", rows).filled());
    Ok(())
}

/// The fewest slices or moduli of each scheme that meet `accuracy` in f64, the cheapest scheme first.
///
/// # Errors
/// A request error: an accuracy or schemes for which there is no choice; the errors of the device.
fn cheapest(
    device: &mut dyn Device,
    request: &EmulateRequest,
    accuracy: f64,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<SchemeChoiceRow>> {
    let operands = request.operands_of(0, Emulated::Double)?;
    if operands.batch > 1 || operands.is_scaled() {
        return Err(Error::request("a scheme is chosen for one product A B; leave out alpha, beta, C and batches"));
    }
    let ProductOperands { a, b, .. } = operands;
    let references = DoubleReferences::of(&a, &b)?;
    if references.rounded.iter().all(|value| !value.is_finite()) {
        return Err(Error::request(
            "no element of A B is a finite number of f64, so there is no error to choose by; scale A or B, or remove infinities and NaN",
        ));
    }
    let range_bits = range_bits(&a, &b, &references) - accuracy.log2();
    let mut rows = Vec::new();
    for scheme in &request.schemes {
        if scheme.emulates != Emulated::Double {
            let does = match scheme.is_integer() {
                true => "multiplies integers".to_string(),
                false => format!("emulates {}", scheme.emulates.name()),
            };
            return Err(Error::request(format!("{} {does}; ‹choose› is among schemes of f64", scheme.name)));
        }
        let counts: Vec<Scheme> = match scheme.a {
            OperandSplit::Slices(_) | OperandSplit::Moduli(_) => {
                (1..=MOST).map_while(|count| scheme.with_count(count).ok()).collect()
            }
            _ => vec![scheme.clone()],
        };
        let counts = if counts.is_empty() { vec![scheme.clone()] } else { counts };
        let Some(unit) = if_available(SchemeUnit::of(&counts[counts.len() - 1], device, None))? else { continue };
        let bounds: Vec<Option<f64>> =
            counts.iter().map(|candidate| error_bound(candidate, &a, &b, &references)).collect();
        let by_bound = bounds.iter().position(|bound| bound.is_some_and(|bound| bound <= accuracy));
        let mut observed: Vec<Option<f64>> = vec![None; counts.len()];
        let mut error = |at: usize, device: &mut dyn Device| -> Result<f64> {
            if let Some(known) = observed[at] {
                return Ok(known);
            }
            interrupt::check()?;
            progress(&format!("{} on {}", counts[at].name, device.identity().name));
            let instructions = vec![unit.instructions[0].clone(); counts[at].sums.len()];
            let unit = match counts[at]
                .sums
                .iter()
                .all(|sum| counts[at].formats(sum) == counts[at].formats(&counts[at].sums[0]))
            {
                true => SchemeUnit { instructions, executions: unit.executions.clone() },
                false => SchemeUnit::of(&counts[at], device, None)?,
            };
            let d = product(&counts[at], &unit, device, &a, &b)?;
            let values: Vec<f64> = d.codes.iter().map(f64::from_bits).collect();
            let errors = DoubleErrors::of(&values, &references);
            let error = if errors.special > 0 { f64::INFINITY } else { errors.of_magnitude };
            observed[at] = Some(error);
            Ok(error)
        };
        // The bound is near: from it down while the accuracy is met, or up until it is.
        let mut at = by_bound.unwrap_or(counts.len() - 1);
        if error(at, device)? <= accuracy {
            while at > 0 && error(at - 1, device)? <= accuracy {
                at -= 1;
            }
        } else {
            while at + 1 < counts.len() && error(at, device)? > accuracy {
                at += 1;
            }
        }
        let error = error(at, device)?;
        rows.push(SchemeChoiceRow {
            scheme: counts[at].name.clone(),
            device: device.identity().name.to_string(),
            chosen: false,
            meets: error <= accuracy,
            count: counts[at].a.count(),
            products: counts[at].products(),
            accuracy,
            observed: error,
            bound: bounds[at],
            bound_count: by_bound.map(|at| counts[at].a.count()),
            range_bits,
        });
    }
    rows.sort_by_key(|row| (!row.meets, row.products));
    if let Some(first) = rows.first_mut() {
        first.chosen = first.meets;
    }
    Ok(rows)
}

/// The largest binary logarithm of k max|a| max|b| / sum |ab|, of rows, columns and their elements.
fn range_bits(a: &NumberMatrix, b: &NumberMatrix, references: &DoubleReferences) -> f64 {
    let (rows, columns) = (exponents(a, SliceLine::Row), exponents(b, SliceLine::Column));
    let mut most = 0f64;
    for (row, exponent) in rows.iter().enumerate() {
        for (column, other) in columns.iter().enumerate() {
            let at = row * b.columns + column;
            let magnitude = references.magnitude[at];
            if magnitude > 0.0 && magnitude.is_finite() {
                let exponent = f64::from(exponent + other + references.shift[at]);
                most = most.max(exponent + (a.columns as f64).log2() - magnitude.log2());
            }
        }
    }
    most
}
