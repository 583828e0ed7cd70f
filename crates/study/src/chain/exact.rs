//! Products of matrices without rounding, and their entries as pairs of doubles.

use rug::{Assign, Float, Integer, float::Round};

use crate::format::Real;

/// Leading bits of an entry that its pair of doubles is made from.
const KEPT: u32 = 126;

/// A matrix of dyadic numbers: entry `i` is `entries[i] * 2^exponent`.
#[derive(Debug, Clone)]
pub(super) struct ExactMatrix {
    entries: Vec<Integer>,
    exponent: i64,
}

/// An entry of an exact matrix: `(high + low) * 2^exponent`.
///
/// `high` is the number rounded to binary64, `low` the rest, to a relative error below `2^-104`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScaledEntry {
    pub high: f64,
    pub low: f64,
    pub exponent: i64,
}

impl ExactMatrix {
    /// The matrix with these finite values, exactly.
    pub(super) fn new(values: &[f64]) -> Self {
        let mut exact = ExactMatrix { entries: vec![Integer::new(); values.len()], exponent: 0 };
        exact.assign(values);
        exact
    }

    pub(super) fn assign(&mut self, values: &[f64]) {
        self.exponent = values.iter().filter_map(|&v| odd(v)).map(|(_, exponent)| exponent).min().unwrap_or(0);
        for (entry, &value) in self.entries.iter_mut().zip(values) {
            match odd(value) {
                Some((significand, exponent)) => {
                    entry.assign(significand);
                    *entry <<= (exponent - self.exponent) as u32;
                }
                None => entry.assign(0),
            }
        }
    }

    /// Replaces this m x k matrix by its product with the k x k matrix `b`. `row` is scratch of k integers.
    pub(super) fn multiply(&mut self, b: &ExactMatrix, row: &mut [Integer]) {
        let k = row.len();
        for entries in self.entries.chunks_exact_mut(k) {
            row.iter_mut().for_each(|sum| sum.assign(0));
            for (a, b) in entries.iter().zip(b.entries.chunks_exact(k)) {
                for (sum, b) in row.iter_mut().zip(b) {
                    *sum += a * b;
                }
            }
            entries.swap_with_slice(row);
        }
        self.exponent += b.exponent;
    }

    /// Entry `index` as a pair of doubles.
    pub(super) fn parts(&self, index: usize) -> ScaledEntry {
        let mut leading = Float::with_val_round(KEPT, &self.entries[index], Round::Zero).0;
        let exponent = leading.get_exp().unwrap_or(0);
        leading >>= exponent;
        let high = leading.to_f64();
        leading -= high;
        ScaledEntry { high, low: leading.to_f64(), exponent: self.exponent + i64::from(exponent) }
    }
}

/// A finite double as an odd integer times a power of two; `None` for zero.
fn odd(value: f64) -> Option<(i64, i64)> {
    let Real::Finite(finite) = Real::from(value) else { unreachable!("the entries of a chain's operands are finite") };
    if finite.significand == 0 {
        return None;
    }
    let zeros = finite.significand.trailing_zeros();
    let significand = (finite.significand >> zeros) as i64;
    Some((if finite.negative { -significand } else { significand }, i64::from(finite.exponent) + i64::from(zeros)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn integers(exact: &ExactMatrix) -> Vec<Integer> {
        exact.entries.iter().map(|entry| Integer::from(entry << exact.exponent as u32)).collect()
    }

    proptest! {
        #[test]
        fn a_product_of_integer_matrices_is_the_integer_product(
            a in prop::collection::vec(-1_000_000i64..1_000_000, 6),
            b in prop::collection::vec(-1_000_000i64..1_000_000, 9),
            c in prop::collection::vec(-1_000_000i64..1_000_000, 9),
        ) {
            let doubles = |v: &[i64]| v.iter().map(|&v| v as f64).collect::<Vec<_>>();
            let mut exact = ExactMatrix::new(&doubles(&a));
            let mut row = vec![Integer::new(); 3];
            exact.multiply(&ExactMatrix::new(&doubles(&b)), &mut row);
            exact.multiply(&ExactMatrix::new(&doubles(&c)), &mut row);
            let wide = |v: &[i64]| v.iter().map(|&v| i128::from(v)).collect::<Vec<_>>();
            let product = |a: &[i128], b: &[i128]| -> Vec<i128> {
                (0..6).map(|i| (0..3).map(|k| a[i / 3 * 3 + k] * b[k * 3 + i % 3]).sum()).collect()
            };
            let expected = product(&product(&wide(&a), &wide(&b)), &wide(&c));
            prop_assert_eq!(integers(&exact), expected.into_iter().map(Integer::from).collect::<Vec<_>>());
        }

        #[test]
        fn a_double_is_kept_exactly(value in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO) {
            let exact = ExactMatrix::new(&[value, 1.0]);
            let ScaledEntry { high, low, exponent } = exact.parts(0);
            let expected = rug::Float::with_val(53, high) << exponent as i32;
            prop_assert_eq!((expected.to_f64(), low), (value, 0.0));
        }

        #[test]
        fn the_parts_of_an_entry_are_its_nearest_double_and_the_rest(
            digits in prop::collection::vec(any::<u64>(), 1..8), negative in any::<bool>(), shift in 0u32..200,
        ) {
            let mut entry = Integer::from_digits(&digits, rug::integer::Order::Lsf) >> shift;
            if negative {
                entry = -entry;
            }
            let exact = ExactMatrix { entries: vec![entry.clone()], exponent: -300 };
            let ScaledEntry { high, low, exponent } = exact.parts(0);
            let all = rug::Float::with_val(600, &entry);
            let shifted = |value: f64| rug::Float::with_val(600, value) << (exponent + 300) as i32;
            prop_assert_eq!(rug::Float::with_val(53, &all), shifted(high));
            let rest = rug::Float::with_val(600, &all - shifted(high)) - shifted(low);
            prop_assert!(rest.abs() <= all.abs() >> 104i32);
        }
    }
}
