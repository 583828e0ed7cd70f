//! The terms of a group: products formed where they are needed, or stored because they were changed on the way.

use super::{
    number::Number,
    word::{LANES, Lane, Word},
};

/// Elements of the operand that gives each lane a value of its own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    pub(super) significand: Lane<i32>,
    pub(super) exponent: Lane<i32>,
}

/// The factors of the products of one group, in order: one value of A and a [`Row`] of B for each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors<'a> {
    pub(super) significands: &'a [i32],
    pub(super) exponents: &'a [i32],
    pub(super) negative: &'a [bool],
    pub(super) rows: &'a [Row],
    pub(super) rows_negative: &'a [Lane<bool>],
}

/// Terms of a sum: values in units of `2^(exponent - fraction bits)`.
pub(super) trait Terms<P: Word> {
    fn len(&self) -> usize;
    fn exponent(&self, term: usize) -> Lane<i32>;
    fn value(&self, term: usize) -> Lane<P>;
}

impl<P: Word> Terms<P> for Factors<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.rows.len().min(self.significands.len()).min(self.exponents.len())
    }

    #[inline(always)]
    fn exponent(&self, term: usize) -> Lane<i32> {
        let (x, y) = (self.exponents[term], &self.rows[term].exponent);
        std::array::from_fn(|l| x.wrapping_add(y[l]))
    }

    #[inline(always)]
    fn value(&self, term: usize) -> Lane<P> {
        let (x, y) = (self.significands[term], &self.rows[term].significand);
        std::array::from_fn(|l| P::product(x, y[l]))
    }
}

impl<'a> Factors<'a> {
    /// The products `from..to`.
    #[inline(always)]
    pub(super) fn part(&self, from: usize, to: usize) -> Factors<'a> {
        Factors {
            significands: &self.significands[from..to],
            exponents: &self.exponents[from..to],
            negative: &self.negative[from..to],
            rows: &self.rows[from..to],
            rows_negative: &self.rows_negative[from..to],
        }
    }

    /// A product as a number.
    #[inline(always)]
    pub(super) fn number(&self, term: usize, fraction_bits: i32) -> Number {
        let (x, row) = (self.significands[term], &self.rows[term]);
        let mut number = Number::ZERO;
        for l in 0..LANES {
            number.magnitude[l] = i64::product(x, row.significand[l]).unsigned_abs();
            number.negative[l] = self.negative[term] ^ self.rows_negative[term][l];
            number.exponent[l] = self.exponents[term] + row.exponent[l] - fraction_bits;
        }
        number
    }

    /// The largest exponent of a product.
    #[inline(always)]
    pub(super) fn largest(&self) -> Lane<i32> {
        let mut largest = [i32::MIN; LANES];
        for term in 0..self.rows.len() {
            let exponent = Terms::<i32>::exponent(self, term);
            largest = std::array::from_fn(|l| largest[l].max(exponent[l]));
        }
        largest
    }
}

/// Terms that were computed before.
#[derive(Debug, Clone, Default)]
pub(super) struct Stored {
    pub(super) values: Vec<Lane<i64>>,
    pub(super) exponents: Vec<Lane<i32>>,
}

impl<P: Word> Terms<P> for &Stored {
    #[inline(always)]
    fn len(&self) -> usize {
        self.values.len().min(self.exponents.len())
    }

    #[inline(always)]
    fn exponent(&self, term: usize) -> Lane<i32> {
        self.exponents[term]
    }

    #[inline(always)]
    fn value(&self, term: usize) -> Lane<P> {
        self.values[term].map(P::of)
    }
}
