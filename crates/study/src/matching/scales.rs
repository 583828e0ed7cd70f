//! Scales of A and B as files have them: of one matrix alone, turned, or in another format than f32.

use std::borrow::Cow;

use crate::{
    Error, Result,
    format::{self, Format, Overflow, Rounding},
    product::{Factors, Matrix, search::is_block_count},
};

/// The operands with scales of both matrices, each in the shape of the blocks of its matrix.
///
/// A matrix without scales gets one of 1. Scales of the rows of A may lie in a row, and scales of B may be those of its transpose.
///
/// # Errors
/// A format of scales without 1.
pub(super) fn fitted(factors: &Factors) -> Result<Cow<'_, Factors>> {
    let (m, n, k) = (factors.a.rows, factors.b.columns, factors.k());
    let (scale_a, scale_b) = match (&factors.scale_a, &factors.scale_b) {
        (None, None) => return Ok(Cow::Borrowed(factors)),
        (Some(a), Some(b)) => (a.clone(), b.clone()),
        (Some(a), None) => (a.clone(), one(a.format)?),
        (None, Some(b)) => (one(b.format)?, b.clone()),
    };
    let (scale_a, scale_b) = (Some(turned(scale_a, m, k)), Some(turned(scale_b, k, n)));
    Ok(Cow::Owned(Factors { scale_a, scale_b, ..factors.clone() }))
}

/// The operands with scales in f32, outside the instruction; `None` if that changes nothing.
pub(super) fn singles(factors: &Factors) -> Result<Option<Factors>> {
    let single = format::find("f32")?;
    let widened = |scales: &Matrix| {
        let codes: Vec<u64> = scales.values().iter().map(|value| u64::from((*value as f32).to_bits())).collect();
        let exact = scales.values().iter().all(|value| f64::from(*value as f32) == *value);
        exact.then(|| Matrix::of_values(scales.rows, scales.columns, single, &codes))
    };
    let (Some(a), Some(b)) = (&factors.scale_a, &factors.scale_b) else { return Ok(None) };
    if a.format == single && b.format == single {
        return Ok(None);
    }
    let (Some(a), Some(b)) = (widened(a), widened(b)) else { return Ok(None) };
    Ok(Some(Factors { scale_a: Some(a), scale_b: Some(b), ..factors.clone() }))
}

/// One scale of 1.
fn one(format: &'static Format) -> Result<Matrix> {
    let code = format.encode_f64(1.0, Rounding::Rne, Overflow::Standard);
    let code = code.filter(|code| format.to_f64(*code) == 1.0);
    let missing = || Error::request(format!("{format} has no 1; give both ‹scale_a› and ‹scale_b›"));
    Ok(Matrix::of_values(1, 1, format, &[code.ok_or_else(missing)?]))
}

/// Scales of a matrix of `rows` and `columns`, transposed if only so they are as many as its blocks.
fn turned(scales: Matrix, rows: usize, columns: usize) -> Matrix {
    let fits = |scales: &Matrix| is_block_count(rows, scales.rows) && is_block_count(columns, scales.columns);
    let transposed = scales.transposed();
    if !fits(&scales) && fits(&transposed) { transposed } else { scales }
}
