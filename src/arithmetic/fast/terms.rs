//! The terms of a group: products formed where they are needed, or stored because they were changed on the way.

use super::word::{LANES, Lane, Word, each, over};

/// The factors of the products of one group, in order: for each one value of A, and one of B for each lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factors<'a> {
    pub(super) a: Row<'a, i32, u32>,
    pub(super) b: Row<'a, Lane<i32>, Lane<u32>>,
}

/// Decoded elements, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a, T, M> {
    /// With their signs.
    pub(super) significands: &'a [T],
    pub(super) exponents: &'a [T],
    /// Masks.
    pub(super) negative: &'a [M],
}

impl<'a, T, M> Row<'a, T, M> {
    /// The elements `from..to`.
    #[inline(always)]
    pub(super) fn part(&self, from: usize, to: usize) -> Row<'a, T, M> {
        Row {
            significands: &self.significands[from..to],
            exponents: &self.exponents[from..to],
            negative: &self.negative[from..to],
        }
    }
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
        self.a.significands.len()
    }

    #[inline(always)]
    fn exponent(&self, term: usize) -> Lane<i32> {
        let (x, y) = (self.a.exponents[term], &self.b.exponents[term]);
        each(|l| x.wrapping_add(y[l]))
    }

    #[inline(always)]
    fn value(&self, term: usize) -> Lane<P> {
        let (x, y) = (self.a.significands[term], &self.b.significands[term]);
        each(|l| P::product(x, y[l]))
    }
}

impl<'a> Factors<'a> {
    /// The products `from..to`.
    #[inline(always)]
    pub(super) fn part(&self, from: usize, to: usize) -> Factors<'a> {
        Factors { a: self.a.part(from, to), b: self.b.part(from, to) }
    }

    /// The signs of a product, as masks.
    #[inline(always)]
    pub(super) fn negative(&self, term: usize) -> Lane<u32> {
        let (x, y) = (self.a.negative[term], &self.b.negative[term]);
        over(y, |y| x ^ y)
    }

    /// The largest exponent of a product.
    #[inline(always)]
    pub(super) fn largest(&self) -> Lane<i32> {
        let mut largest = [i32::MIN; LANES];
        for term in 0..self.a.significands.len() {
            let exponent = Terms::<i32>::exponent(self, term);
            largest = each(|l| largest[l].max(exponent[l]));
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
        over(&self.values[term], P::of)
    }
}
