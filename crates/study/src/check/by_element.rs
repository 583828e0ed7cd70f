//! The tolerance of each element of a product.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    Basis, Tolerance,
    judge::ExactElements,
    tolerance::{derived, relative},
};
use crate::{
    Error, Result,
    base::{interrupt, work},
    format,
    product::{
        ElementPlace, Factors, Matrix,
        bound::{Claim, ElementBounds, ProductBounds, RISK, has_order_free},
    },
};

/// The tolerances of all elements, and the one that covers them.
#[derive(Debug, Clone)]
pub struct ElementTolerances {
    /// m x n numbers of f64.
    pub matrix: Matrix,
    /// The absolute and the relative tolerance of all elements.
    pub tolerance: Tolerance,
}

/// The tolerances of all elements of a product by a claim.
///
/// They cover the errors of an exact product that a test computes in f64.
///
/// # Errors
/// Operands that are infinite or NaN; sums that may overflow; a basis that the claim or the operands do not have; an interruption.
pub fn element_tolerances(
    claim: &Claim,
    factors: &Factors,
    basis: Basis,
    done: &(dyn Fn(u64) + Sync),
) -> Result<ElementTolerances> {
    check_finite(factors)?;
    let schedule = &claim.schedules[0];
    let order_free = has_order_free(claim, factors);
    if basis == Basis::Running && !claim.is_exact {
        return Err(Error::request(
            "a running tolerance holds for one order: give ‹instr› or ‹schedule›, or ‹basis=magnitudes›",
        ));
    }
    if basis == Basis::Magnitudes && !order_free {
        return Err(Error::request(
            "one schedule with C, a bias, alpha or scales has running bounds alone: give ‹basis=running›",
        ));
    }
    let (rows, columns) = (factors.a.rows, factors.b.columns);
    let exact = ExactElements::new(claim, factors, &[]);
    let reference = |place: ElementPlace| exact.reference_error(place);
    // Each element: its exact value, and its tolerance.
    let elements: Vec<(f64, f64)> = if claim.is_exact && basis != Basis::Magnitudes {
        let bounds = ElementBounds::new(&claim.model, schedule, factors)?;
        let finished = AtomicU64::new(0);
        work::map(0..rows * columns, |at| {
            let place = ElementPlace { row: at / columns, column: at % columns };
            let bound = bounds.of(place.row, place.column).filter(|bound| !bound.may_overflow());
            let bound = bound.map_or(f64::INFINITY, |bound| match basis {
                Basis::Expected => bound.probable(RISK),
                _ => bound.finite(),
            });
            done(finished.fetch_add(1, Ordering::Relaxed) + 1);
            Ok::<_, Error>((exact.value(place), bound + reference(place)))
        })?
    } else {
        let bounds = ProductBounds::new(claim, factors)?.in_doubles();
        let start = Vec::new;
        let made = bounds.each(done, start, |all: &mut Vec<(usize, (f64, f64))>, row, column, element| {
            let bound = match basis {
                Basis::Expected => bounds.expected(element, RISK),
                _ => element.bound,
            };
            let bound = if element.is_open(claim) { f64::INFINITY } else { bound };
            all.push((row * columns + column, (element.value, bound + reference(ElementPlace { row, column }))));
        });
        interrupt::check()?;
        let mut all: Vec<(usize, (f64, f64))> = made.into_iter().flatten().collect();
        all.sort_unstable_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, element)| element).collect()
    };
    if let Some(at) = elements.iter().position(|(_, tolerance)| !tolerance.is_finite()) {
        let (row, column) = (at / columns, at % columns);
        return Err(Error::request(format!(
            "D[{row}, {column}] has no bound by {}: its sum, or a part of it, may overflow or saturate; give smaller operands",
            claim.words
        )));
    }
    let d = schedule.output.format;
    let rest = elements.iter().map(|(exact, tolerance)| tolerance - relative(d) * exact.abs()).fold(0.0, f64::max);
    let tolerance = derived(d, basis, rest, elements.len()).ok_or_else(|| Error::request("the bounds are infinite"))?;
    let codes: Vec<u64> = elements.iter().map(|(_, tolerance)| tolerance.to_bits()).collect();
    Ok(ElementTolerances { matrix: Matrix::of_values(rows, columns, format::find("f64")?, &codes), tolerance })
}

/// Refuses operands that are infinite or NaN.
fn check_finite(factors: &Factors) -> Result<()> {
    match first_special(factors) {
        None => Ok(()),
        Some(words) => Err(Error::request(format!("{words}: a tolerance needs finite operands"))),
    }
}

/// The first operand that is infinite or NaN, in words: "b[3, 7] is NaN".
pub(super) fn first_special(factors: &Factors) -> Option<String> {
    factors.named().into_iter().find_map(|(name, matrix)| {
        let at = matrix.values().iter().position(|value| !value.is_finite())?;
        let (row, column) = (at / matrix.columns, at % matrix.columns);
        Some(format!("{name}[{row}, {column}] is {}", matrix.value(row, column)))
    })
}
