//! Products of integers, made of products of their digits.

use crate::{
    Result,
    base::work,
    product::{Matrix, NumberMatrix},
    scheme::{OperandSplit, Scheme},
};

/// Outcome of a product of integers in s32, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Integers {
    /// Elements whose exact sum s32 holds.
    pub held: usize,
    /// Elements among them that equal it.
    pub exact: usize,
    /// Elements whose exact sum s32 does not hold.
    pub beyond: usize,
    /// Elements among them that equal it modulo 2^32.
    pub wrapped: usize,
}

impl Integers {
    /// Every element is exact, or exact modulo 2^32 where s32 does not hold it.
    pub fn hold(&self) -> bool {
        self.exact == self.held && self.wrapped == self.beyond
    }

    /// The elements of both.
    pub fn with(self, other: Integers) -> Integers {
        Integers {
            held: self.held + other.held,
            exact: self.exact + other.exact,
            beyond: self.beyond + other.beyond,
            wrapped: self.wrapped + other.wrapped,
        }
    }
}

/// The exact products of two matrices of integers, row by row.
pub(super) fn products(a: &NumberMatrix, b: &NumberMatrix) -> Result<Vec<i64>> {
    let line = |row: &[f64]| {
        let mut sums = vec![0i64; b.columns];
        for (x, line) in row.iter().zip(b.values.chunks_exact(b.columns)) {
            let x = *x as i64;
            sums.iter_mut().zip(line).for_each(|(sum, y)| *sum += x * *y as i64);
        }
        Ok(sums)
    };
    Ok(work::map(a.values.chunks_exact(a.columns), line)?.concat())
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

/// The smallest number of terms at which s32 can wrap, and their extreme sum; `None` without integers.
pub fn first_wrap(scheme: &Scheme) -> Option<(u64, i64)> {
    let (OperandSplit::Digits(a), OperandSplit::Digits(b)) = (&scheme.a, &scheme.b) else { return None };
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
