//! Integers by their remainders: scaling, remainders, and the integer from them.
//!
//! The scheme is Ozaki scheme II (Ozaki, Uchino and Imamura, arXiv:2504.08009). Rows of A and columns of B are multiplied by powers of
//! two and truncated to integers, such that twice the sum of all products' magnitudes is below the product P of the moduli.

use super::{
    Moduli, Scaling,
    integer_product::bytes_product,
    split::{SliceLine, exponents, taken_apart},
};
use crate::format::{Finite, Real};
use crate::product::{NumberMatrix, ProductShape, reference::times_power};

/// Limbs of 64 bits of a [`Wide`].
const LIMBS: usize = 4;
/// Largest exponent of two by which a significand is scaled up: below the square root of the largest P.
const LARGEST_UP: usize = 128;
/// Bits of the integers that the accurate scaling multiplies: up to 2^6.
const ESTIMATE_BITS: i32 = 6;

/// An unsigned integer of 256 bits, the lowest limb first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wide([u64; LIMBS]);

impl Wide {
    const ONE: Wide = Wide([1, 0, 0, 0]);
    const ZERO: Wide = Wide([0; LIMBS]);

    /// The sum with `other` times a small integer; bits beyond 256 are lost.
    fn plus_times(self, other: &Wide, factor: u64) -> Wide {
        let (mut sum, mut carry) = (self, 0u128);
        for (limb, other) in sum.0.iter_mut().zip(other.0) {
            let total = u128::from(*limb) + u128::from(other) * u128::from(factor) + carry;
            (*limb, carry) = (total as u64, total >> 64);
        }
        sum
    }

    /// The difference; `other` is at most this one.
    fn minus(self, other: &Wide) -> Wide {
        let (mut difference, mut borrow) = (self, false);
        for (limb, other) in difference.0.iter_mut().zip(other.0) {
            let (first, under) = limb.overflowing_sub(other);
            let (second, again) = first.overflowing_sub(borrow.into());
            (*limb, borrow) = (second, under | again);
        }
        difference
    }

    fn is_at_least(&self, other: &Wide) -> bool {
        self.0.iter().rev().ge(other.0.iter().rev())
    }

    /// The quotient by a small integer, without the remainder.
    fn over(self, divisor: u64) -> Wide {
        let (mut quotient, mut rest) = (self, 0u128);
        for limb in quotient.0.iter_mut().rev() {
            let dividend = rest << 64 | u128::from(*limb);
            (*limb, rest) = ((dividend / u128::from(divisor)) as u64, dividend % u128::from(divisor));
        }
        quotient
    }

    fn modulo(&self, divisor: u64) -> u64 {
        self.0.iter().rev().fold(0u128, |rest, limb| (rest << 64 | u128::from(*limb)) % u128::from(divisor)) as u64
    }

    /// Number of bits.
    fn bits(&self) -> u32 {
        let top = self.0.iter().rposition(|limb| *limb != 0);
        top.map_or(0, |top| 64 * (top as u32 + 1) - self.0[top].leading_zeros())
    }

    /// The leading 128 bits, the exponent of the last of them, and true if anything else follows.
    fn leading(&self) -> (u128, i32, bool) {
        let down = self.bits().saturating_sub(128);
        let (limb, bit) = ((down / 64) as usize, down % 64);
        let at = |index: usize| u128::from(self.0.get(index).copied().unwrap_or(0));
        let low = at(limb) | at(limb + 1) << 64;
        let leading = if bit == 0 { low } else { low >> bit | at(limb + 2) << (128 - bit) };
        let below = self.0[..limb].iter().any(|limb| *limb != 0) || bit > 0 && self.0[limb] << (64 - bit) != 0;
        (leading, down as i32, below)
    }
}

/// The product of moduli.
fn product(moduli: &[u32]) -> Wide {
    moduli.iter().fold(Wide::ONE, |product, modulus| Wide::ZERO.plus_times(&product, u64::from(*modulus)))
}

/// Remainders of numbers, by moduli.
pub(super) struct Residues {
    moduli: Vec<u32>,
    /// For each modulus, the remainders of powers of two.
    powers: Vec<[u16; LARGEST_UP + 1]>,
}

impl Residues {
    pub(super) fn new(moduli: &Moduli) -> Residues {
        let powers = |modulus: &u32| {
            let mut power = 1 % modulus;
            std::array::from_fn(|_| {
                let current = power as u16;
                power = power * 2 % modulus;
                current
            })
        };
        Residues { moduli: moduli.moduli.clone(), powers: moduli.moduli.iter().map(powers).collect() }
    }

    /// The codes of the remainders around zero of a finite number times 2^-exponent, truncated.
    pub(super) fn codes(&self, x: f64, exponent: i32, codes: &mut [u64]) {
        let (negative, significand, x_exponent) = taken_apart(x);
        let up = x_exponent - exponent;
        let integer = if up >= 0 { significand } else { significand.checked_shr(up.unsigned_abs()).unwrap_or(0) };
        let up = if integer == 0 { 0 } else { up.max(0) as usize };
        for ((code, modulus), powers) in codes.iter_mut().zip(&self.moduli).zip(&self.powers) {
            let rest = (integer % u64::from(*modulus)) as u32 * u32::from(powers[up]) % modulus;
            let rest = if negative && rest > 0 { modulus - rest } else { rest } as i32;
            let around = if rest >= (*modulus as i32 + 1) / 2 { rest - *modulus as i32 } else { rest };
            *code = u64::from(around as u8);
        }
    }
}

/// The exponents of the units of rows of A and columns of B.
///
/// An element is truncated to a multiple of 2^exponent.
pub(super) fn unit_exponents(moduli: &Moduli, a: &NumberMatrix, b: &NumberMatrix) -> (Vec<i32>, Vec<i32>) {
    let half = half(&product(&moduli.moduli));
    match moduli.scaling {
        Scaling::Fast => {
            let [rows, columns] = [(a, SliceLine::Row), (b, SliceLine::Column)].map(|(numbers, line)| {
                let exponents = exponents(numbers, line);
                exponents
                    .iter()
                    .zip(norms(numbers, line, &exponents))
                    .map(|(exponent, norm)| exponent - spare(half, norm))
                    .collect()
            });
            (rows, columns)
        }
        Scaling::Accurate => {
            let (x, y) = (exponents(a, SliceLine::Row), exponents(b, SliceLine::Column));
            let (up, across) = (rounded_up(a, SliceLine::Row, &x), rounded_up(b, SliceLine::Column, &y));
            let sums = bytes_product(&up, &across, ProductShape { m: a.rows, n: b.columns, k: a.columns });
            let mut of_rows = vec![0i32; a.rows];
            let mut of_columns = vec![0i32; b.columns];
            for (row, line) in of_rows.iter_mut().zip(sums.chunks(b.columns.max(1))) {
                for (column, sum) in of_columns.iter_mut().zip(line) {
                    (*row, *column) = ((*row).max(*sum), (*column).max(*sum));
                }
            }
            let units = |exponents: &[i32], largest: &[i32]| {
                let unit = |(exponent, largest): (&i32, &i32)| {
                    exponent - ESTIMATE_BITS - spare(half, f64::from((*largest).max(1)))
                };
                exponents.iter().zip(largest).map(unit).collect()
            };
            (units(&x, &of_rows), units(&y, &of_columns))
        }
    }
}

/// A number at most (P - 1) / 2, in f64.
fn half(product: &Wide) -> f64 {
    let (leading, exponent, _) = product.minus(&Wide::ONE).over(2).leading();
    // The top 53 bits, so that the conversion is exact.
    let zeros = leading.leading_zeros();
    let (top, down) = (leading << zeros >> (128 - 53), 128 - 53 - zeros as i32);
    top as f64 * 2f64.powi(exponent + down)
}

/// The largest exponent `e` with `square * 4^e <= half`.
fn spare(half: f64, square: f64) -> i32 {
    // Rounded down: the quotient has an error of at most 2^-53.
    let quotient = half / square * (1.0 - f64::EPSILON);
    ((quotient.to_bits() >> 52) as i32 - 1023).div_euclid(2)
}

/// Upper bounds of the squares of norms of lines; one for lines of zeros.
///
/// Elements are divided by 2^exponent.
fn norms(numbers: &NumberMatrix, line: SliceLine, exponents: &[i32]) -> Vec<f64> {
    let add = |sum: &mut (usize, f64, i32), value: f64| {
        let ratio = times_power(value, -sum.2);
        sum.0 += 1;
        sum.1 += ratio * ratio;
    };
    let starts: Vec<(usize, f64, i32)> = exponents.iter().map(|exponent| (0, 0.0, *exponent)).collect();
    let bound = |(count, sum, _): (usize, f64, i32)| {
        if sum == 0.0 { 1.0 } else { sum * (1.0 + (count + 3) as f64 * f64::EPSILON) }
    };
    with_starts(numbers, line, starts, add).into_iter().map(bound).collect()
}

/// For each line, what `add` makes of its start and its finite elements.
pub(super) fn with_starts<T>(
    numbers: &NumberMatrix,
    line: SliceLine,
    starts: Vec<T>,
    add: impl Fn(&mut T, f64),
) -> Vec<T> {
    let mut all = starts;
    for (row, values) in numbers.values.chunks(numbers.columns.max(1)).enumerate() {
        for (column, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            add(&mut all[if line == SliceLine::Row { row } else { column }], *value);
        }
    }
    all
}

/// The magnitudes of elements over 2^(exponent - bits), rounded up to integers of 7 bits, row by row.
fn rounded_up(numbers: &NumberMatrix, line: SliceLine, exponents: &[i32]) -> Vec<i8> {
    let ceiling = |(at, value): (usize, &f64)| {
        let place = if line == SliceLine::Row { at / numbers.columns } else { at % numbers.columns };
        match value.is_finite() {
            true => times_power(value.abs(), ESTIMATE_BITS - exponents[place]).ceil() as i8,
            false => 0,
        }
    };
    let rounded = |(at, value): (usize, &f64)| {
        let up = ceiling((at, value));
        // A number that underflowed counts too.
        if up == 0 && *value != 0.0 { 1 } else { up }
    };
    numbers.values.iter().enumerate().map(rounded).collect()
}

/// The integer around zero from its remainders.
pub(super) struct Reconstruction {
    product: Wide,
    half: Wide,
    /// For each modulus: the modulus, its share P / modulus, and the inverse of the share.
    shares: Vec<(u32, Wide, u32)>,
}

impl Reconstruction {
    pub(super) fn new(moduli: &[u32]) -> Reconstruction {
        let product = product(moduli);
        let share = |modulus: &u32| {
            let share = product.over(u64::from(*modulus));
            let rest = share.modulo(u64::from(*modulus)) as u32;
            let inverse =
                (0..*modulus).find(|candidate| candidate * rest % modulus == 1 % modulus).expect("no common divisor");
            (*modulus, share, inverse)
        };
        Reconstruction { product, half: product.over(2), shares: moduli.iter().map(share).collect() }
    }

    /// The integer with these sums of products of remainders, times 2^exponent.
    pub(super) fn number(&self, sums: impl Iterator<Item = i32>, exponent: i32) -> Real {
        let mut total = Wide::ZERO;
        for (sum, (modulus, share, inverse)) in sums.zip(&self.shares) {
            let rest = sum.rem_euclid(*modulus as i32) as u32;
            total = total.plus_times(share, u64::from(rest * inverse % modulus));
        }
        while total.is_at_least(&self.product) {
            total = total.minus(&self.product);
        }
        let negative = total.is_at_least(&self.half) && total != self.half;
        let magnitude = if negative { self.product.minus(&total) } else { total };
        let (significand, up, sticky) = magnitude.leading();
        Real::Finite(Finite { negative, significand, exponent: exponent + up, sticky })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULI: [u32; 20] =
        [256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173];

    #[test]
    fn an_integer_returns_from_its_remainders() {
        for count in 1..=20 {
            let (moduli, mut word) = (&MODULI[..count], 1u64);
            let all = Reconstruction::new(moduli);
            for _ in 0..200 {
                word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(12345);
                // Up to 100 bits, and within the range of the moduli.
                let bits = (all.product.bits() - 2).min(100);
                let expected = (i128::from(word as i64) << 40 | i128::from(word >> 20)) >> (104 - bits.min(104));
                let rest = |modulus: &u32| (expected.rem_euclid(i128::from(*modulus)) as i32) - 512 * (word as i32 & 1);
                let sums = moduli.iter().map(|modulus| rest(modulus) + 512 * (word as i32 & 1));
                let Real::Finite(number) = all.number(sums, 0) else { panic!("finite") };
                assert!(!number.sticky);
                let value = (number.significand as i128) << number.exponent;
                assert_eq!(if number.negative { -value } else { value }, expected, "{count}: {expected}");
            }
        }
    }

    #[test]
    fn leading_bits_of_wide_integers_are_those_of_their_limbs() {
        let wide = Wide([1, 0, 0x8000_0000_0000_0001, 5]);
        let (leading, exponent, sticky) = wide.leading();
        assert_eq!((wide.bits(), exponent, sticky), (195, 67, true));
        assert_eq!(leading, 5u128 << 125 | 0x8000_0000_0000_0001u128 << 61);
        assert_eq!(Wide([7, 0, 0, 0]).leading(), (7, 0, false));
        assert_eq!(wide.minus(&wide), Wide::ZERO);
        assert_eq!(wide.over(3).modulo(1 << 20), Wide::ZERO.plus_times(&wide.over(3), 1).modulo(1 << 20));
    }

    #[test]
    fn spare_exponents_are_the_largest_that_fit() {
        for (half, square, expected) in
            [(16.0, 1.0, 1), (15.0, 1.0, 1), (17.0, 1.0, 2), (1.0, 16.5, -3), (1e40, 3.0, 65)]
        {
            let e = spare(half, square);
            assert_eq!(e, expected, "{half} {square}");
            assert!(square * 4f64.powi(e) <= half);
        }
    }
}
