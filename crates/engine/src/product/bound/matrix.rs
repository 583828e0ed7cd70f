//! The bounds of all elements of a product, as a matrix.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Claim, ElementBounds, ProductBounds, product::has_order_free};
use crate::{
    Result,
    base::{interrupt, work},
    format,
    product::{Factors, Matrix, Schedule},
};

/// The bound of each element by a claim: of every order for A times B alone, else the running bound.
///
/// Numbers of f64, which hold where D is finite; infinite where an operand is infinite or NaN, or nothing is known.
///
/// # Errors
/// As [`ProductBounds::new`] and [`ElementBounds::new`]; [`Error::Interrupted`](crate::Error::Interrupted).
pub fn bounds_matrix(claim: &Claim, factors: &Factors, done: &(dyn Fn(u64) + Sync)) -> Result<Matrix> {
    let schedule = &claim.schedules[0];
    if !has_order_free(claim, factors) {
        return running_matrix(claim, schedule, factors, done);
    }
    let (rows, columns) = (factors.a.rows, factors.b.columns);
    let bounds: Vec<AtomicU64> = (0..rows * columns).map(|_| AtomicU64::new(0)).collect();
    ProductBounds::new(claim, factors)?.each(
        done,
        || (),
        |(), row, column, element| {
            bounds[row * columns + column].store(element.bound.to_bits(), Ordering::Relaxed);
        },
    );
    interrupt::check()?;
    let codes: Vec<u64> = bounds.into_iter().map(AtomicU64::into_inner).collect();
    Ok(Matrix::of_values(rows, columns, format::find("f64")?, &codes))
}

/// The running bound of each element by one schedule of a claim; numbers as in [`bounds_matrix`].
///
/// # Errors
/// As [`ElementBounds::new`]; [`Error::Interrupted`](crate::Error::Interrupted).
pub fn running_matrix(
    claim: &Claim,
    schedule: &Schedule,
    factors: &Factors,
    done: &(dyn Fn(u64) + Sync),
) -> Result<Matrix> {
    let (rows, columns) = (factors.a.rows, factors.b.columns);
    let bounds = ElementBounds::new(&claim.model, schedule, factors)?;
    let finished = AtomicU64::new(0);
    let codes = work::map(0..rows * columns, |at| {
        let bound = bounds.of(at / columns, at % columns).map_or(f64::INFINITY, |bound| bound.finite());
        done(finished.fetch_add(1, Ordering::Relaxed) + 1);
        Ok::<u64, crate::Error>(bound.to_bits())
    })?;
    Ok(Matrix::of_values(rows, columns, format::find("f64")?, &codes))
}
