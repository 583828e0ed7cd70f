//! References of products: plain sums in f32 and f64, and the exact sum.
//!
//! `Yardsticks` give single elements of any product by a schedule, [`ProductReferences`] and [`DoubleReferences`] all elements of
//! products of numbers of f32 and of f64.

mod doubles;
#[cfg(feature = "mpfr")]
mod elements;
mod power;
mod singles;
mod yardstick;

pub use doubles::DoubleReferences;
#[cfg(feature = "mpfr")]
pub use elements::{ElementError, Yardsticks};
pub use power::{Norm, times_power};
pub use singles::ProductReferences;
pub use singles::nearest;
pub use yardstick::Yardstick;

/// Columns of a matrix from `column` on, for the lanes of a register; zeros beyond the last.
fn panel<T: Copy + Default, const LANES: usize>(values: &[T], columns: usize, column: usize) -> Vec<[T; LANES]> {
    let width = LANES.min(columns - column);
    let line = |row: &[T]| {
        let mut lanes = [T::default(); LANES];
        lanes[..width].copy_from_slice(&row[column..column + width]);
        lanes
    };
    values.chunks(columns).map(line).collect()
}

/// The sum of two numbers and its rounding error (Knuth).
#[inline(always)]
fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let other = sum - x;
    (sum, (x - (sum - other)) + (y - other))
}
