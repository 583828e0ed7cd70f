//! Terms of a group: products formed where they are needed, or stored after changes.

use super::{
    number::{INFINITY, MINUS_INFINITY, NAN},
    word::{LANES, Lane, SignedWord, TURNS, Turn, array, each, over},
};

/// Factors of the products of one group, in order: of A for each alternating row, of B for each lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupFactors<'a> {
    pub(super) a: DecodedRow<'a, TURNS>,
    pub(super) b: DecodedRow<'a, LANES>,
}

/// Decoded elements, `N` side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecodedRow<'a, const N: usize> {
    /// Significands with their signs.
    pub(super) significands: &'a [[i32; N]],
    pub(super) exponents: &'a [[i32; N]],
    /// Signs, as masks.
    pub(super) negative: &'a [[u32; N]],
    /// Marks of non-finite elements: [`INFINITY`] of either sign, or [`NAN`].
    pub(super) special: &'a [[u32; N]],
}

impl<'a, const N: usize> DecodedRow<'a, N> {
    /// Elements `from..to`.
    #[inline(always)]
    pub(super) fn part(&self, from: usize, to: usize) -> DecodedRow<'a, N> {
        DecodedRow {
            significands: &self.significands[from..to],
            exponents: &self.exponents[from..to],
            negative: &self.negative[from..to],
            special: &self.special[from..to],
        }
    }
}

/// Terms of a sum: values in units of `2^(exponent - fraction bits)`.
pub(super) trait FusedTerms<P: SignedWord>: Sized {
    /// The same terms, without elements that are no terms.
    fn trimmed(&self) -> Self;
    fn len(&self) -> usize;
    fn exponent(&self, term: usize) -> Lane<i32>;
    fn value(&self, term: usize) -> Lane<P>;
    /// Signs, also of zeros, as masks.
    fn negative(&self, term: usize) -> Lane<u32>;
}

impl<P: SignedWord> FusedTerms<P> for GroupFactors<'_> {
    #[inline(always)]
    fn trimmed(&self) -> Self {
        let count = self.a.significands.len();
        self.part(0, count)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.a.significands.len()
    }

    #[inline(always)]
    fn exponent(&self, term: usize) -> Lane<i32> {
        self.exponent_sum(term)
    }

    #[inline(always)]
    fn value(&self, term: usize) -> Lane<P> {
        let (x, y) = (&self.a.significands[term], &self.b.significands[term]);
        each(|l| P::product(x[l % TURNS], y[l]))
    }

    #[inline(always)]
    fn negative(&self, term: usize) -> Lane<u32> {
        self.sign(term)
    }
}

impl<'a> GroupFactors<'a> {
    /// Products `from..to`.
    #[inline(always)]
    pub(super) fn part(&self, from: usize, to: usize) -> GroupFactors<'a> {
        GroupFactors { a: self.a.part(from, to), b: self.b.part(from, to) }
    }

    /// Exponents of a product.
    #[inline(always)]
    pub(super) fn exponent_sum(&self, term: usize) -> Lane<i32> {
        let (x, y) = (&self.a.exponents[term], &self.b.exponents[term]);
        each(|l| x[l % TURNS].wrapping_add(y[l]))
    }

    /// Signs of a product, as masks.
    #[inline(always)]
    pub(super) fn sign(&self, term: usize) -> Lane<u32> {
        let (x, y) = (&self.a.negative[term], &self.b.negative[term]);
        each(|l| x[l % TURNS] ^ y[l])
    }

    /// Marks of a non-finite product.
    #[inline(always)]
    pub(super) fn special(&self, term: usize) -> Lane<u32> {
        let (x, x_significands) = (&self.a.special[term], &self.a.significands[term]);
        let (y, significands) = (&self.b.special[term], &self.b.significands[term]);
        // Masks, not conditions, so that the compiler vectorises.
        let mask = |on: bool| if on { u32::MAX } else { 0 };
        let zero = |significand: i32, special: u32| mask(significand as u32 | special == 0);
        let x_zero: Turn<u32> = array(|t| zero(x_significands[t], x[t]));
        let zero = each(|l| x_zero[l % TURNS] | zero(significands[l], y[l]));
        let any = each(|l| x[l % TURNS] | y[l]);
        let infinite = each(|l| mask(any[l] != 0));
        let invalid = each(|l| mask(any[l] & NAN != 0) | infinite[l] & zero[l]);
        let negative = self.sign(term);
        let infinity = each(|l| INFINITY & !negative[l] | MINUS_INFINITY & negative[l]);
        each(|l| NAN & invalid[l] | infinity[l] & infinite[l] & !invalid[l])
    }

    /// Marks of a non-finite sum of all products.
    #[inline(always)]
    pub(super) fn specials(&self) -> Lane<u32> {
        let mut all = [0; LANES];
        for (term, (x, y)) in self.a.special.iter().zip(self.b.special).enumerate() {
            // Few elements are infinite or NaN.
            if x.iter().chain(y).fold(0, |any, mark| any | mark) != 0 {
                let special = self.special(term);
                all = each(|l| all[l] | special[l]);
            }
        }
        all
    }

    /// Largest exponent of a product.
    #[inline(always)]
    pub(super) fn largest(&self) -> Lane<i32> {
        let mut largest = [i32::MIN; LANES];
        for term in 0..self.a.significands.len() {
            let exponent = self.exponent_sum(term);
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
    /// Signs, also of zeros, as masks.
    pub(super) negative: Vec<Lane<u32>>,
}

impl<P: SignedWord> FusedTerms<P> for &Stored {
    #[inline(always)]
    fn trimmed(&self) -> Self {
        self
    }

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

    #[inline(always)]
    fn negative(&self, term: usize) -> Lane<u32> {
        self.negative[term]
    }
}
