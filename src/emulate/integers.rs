//! Products of integers, made of products of their digits.

use super::{Numbers, Scheme, Split};
use crate::{
    Result,
    base::{interrupt, parallel},
    gemm::Matrix,
};

/// What the elements of a product of integers in s32 came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Integers {
    /// Elements of which s32 holds the exact sum.
    pub held: usize,
    /// Those of them that are the exact sum.
    pub exact: usize,
    /// Elements of which s32 does not hold the exact sum.
    pub beyond: usize,
    /// Those of them that are the exact sum modulo 2^32.
    pub wrapped: usize,
}

/// The exact products of two matrices of integers, row by row.
pub(super) fn products(a: &Numbers, b: &Numbers) -> Result<Vec<i64>> {
    let line = |row: &[f32]| {
        interrupt::check()?;
        let mut sums = vec![0i64; b.columns];
        for (x, line) in row.iter().zip(b.values.chunks_exact(b.columns)) {
            let x = *x as i64;
            sums.iter_mut().zip(line).for_each(|(sum, y)| *sum += x * *y as i64);
        }
        Ok(sums)
    };
    Ok(parallel::try_map(a.values.chunks_exact(a.columns), line)?.concat())
}

/// Compares a product in s32 with the exact one.
pub(super) fn compared(d: &Matrix, exact: &[i64]) -> Integers {
    let mut counts = Integers::default();
    for (code, exact) in d.codes.iter().zip(exact) {
        let same = code as u32 == *exact as u32;
        let (count, of) = match i32::try_from(*exact) {
            Ok(_) => (&mut counts.held, &mut counts.exact),
            Err(_) => (&mut counts.beyond, &mut counts.wrapped),
        };
        *count += 1;
        *of += usize::from(same);
    }
    counts
}

/// The smallest number of terms of which s32 does not hold every sum, and the sum of so many of the most extreme products; `None` of a
/// scheme that multiplies no integers.
pub fn first_wrap(scheme: &Scheme) -> Option<(u64, i64)> {
    let (Split::Digits(a), Split::Digits(b)) = (&scheme.a, &scheme.b) else { return None };
    let ((a, x), (b, y)) = (a.range(), b.range());
    let products = [a * b, a * y, x * b, x * y];
    let first = |product: i64| match product {
        0 => None,
        ..0 => Some((i64::from(i32::MIN) / product + 1, product)),
        _ => Some((i64::from(i32::MAX) / product + 1, product)),
    };
    let (terms, product) = products.into_iter().filter_map(first).min_by_key(|(terms, _)| *terms)?;
    Some((terms as u64, terms * product))
}
