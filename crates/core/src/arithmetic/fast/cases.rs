//! Tiles of one element: each case has its own operands and its own lane.
//!
//! Lanes share the elements of A. So the products of a case are formed before its sums, as elements of B, and
//! multiplied by a row of ones.

use super::{
    across::{FactorWords, pairs, pairs_across, prefetch, words_across},
    codes::widen,
    elements::{Elements, decode, decode_integers, resize},
    kernel::FastKernel,
    narrow::FactorRange,
    number::{INFINITY, NAN},
    tile::{DecodedTile, Piece, Shape, reorder},
    values::{decode_products, find_range, values},
    word::{LANES, PIECES, TURNS},
};
use crate::{base::vectors::vectorised, isa::CodesView};

/// Number of cases that are computed together.
pub(super) const TOGETHER: usize = PIECES * LANES;

/// Most bits of the product of two significands.
const MOST_BITS: u32 = 30;

impl FastKernel {
    /// True if operands are needed for products only, so that products can be formed first.
    pub(super) fn takes_cases(&self, i: &Shape) -> bool {
        let narrow = self.a.integer.is_some() || self.a.precision + self.b.precision <= MOST_BITS;
        i.is_single() && i.chunk.is_none() && self.masks.is_none() && self.scales.is_none() && narrow && !self.is_xor()
    }
}

impl DecodedTile {
    /// Computes the bytes of the D codes of up to [`TOGETHER`] tiles of one element, from `first` on.
    /// Operands are the codes of A, B and C of all tiles. Unknown elements are noted.
    pub(super) fn run_cases(
        &mut self,
        kernel: &FastKernel,
        i: &Shape,
        [a, b, c]: [CodesView; 3],
        first: usize,
        d: &mut [u8],
    ) {
        let count = d.len() / i.width;
        self.unknown.clear();
        if !self.decode_values_of_cases(kernel, i, [a, b], first, count) {
            for (codes, out) in [(a, &mut self.a_codes), (b, &mut self.b_codes)] {
                widen(codes, first * i.k, count * i.k, &mut self.codes);
                words_across(&self.codes, i.k, &mut self.words);
                reorder_rows(&self.words, i.k, &kernel.order, out);
            }
            self.decode_cases(kernel);
        }
        ones(&mut self.a, kernel.order.len());
        let mut places = [Piece::default(); PIECES];
        for (block, place) in places.iter_mut().enumerate().take(count.div_ceil(LANES)) {
            let element = block * LANES;
            *place = Piece { row: 0, block, rows: 1, columns: LANES.min(count - element), element };
        }
        self.batch(kernel, i, c, first, &places[..count.div_ceil(LANES)], d);
    }

    /// Products of values in binary32, where those serve.
    fn decode_values_of_cases(
        &mut self,
        kernel: &FastKernel,
        i: &Shape,
        [a, b]: [CodesView; 2],
        first: usize,
        count: usize,
    ) -> bool {
        let Some(direct) = &kernel.direct else { return false };
        // Several codes in a word are transposed at once.
        let paired = pairs(a, b, i.k);
        if paired {
            pairs_across(a, b, first, count, i.k, &mut self.a_codes);
        } else {
            for (codes, out) in [(a, &mut self.a_codes), (b, &mut self.b_codes)] {
                prefetch(codes, first + count, count, i.k);
                widen(codes, first * i.k, count * i.k, &mut self.codes);
                words_across(&self.codes, i.k, out);
            }
        }
        let (words, second) = (self.a_codes.as_chunks().0, self.b_codes.as_chunks().0);
        let factors = if paired {
            FactorWords { a: words, b: words, words: i.k * a.width() / 2, bits: 8 * a.width() as u32 }
        } else {
            FactorWords { a: words, b: second, words: i.k, bits: 0 }
        };
        self.places.clear();
        self.places.extend(kernel.order.iter().map(|k| factors.places(*k)));
        let range = decode_products(&mut self.b, &direct.decoders, &factors, &self.places, direct.ranged);
        self.range = Some(range);
        !self.b.any_special && (!direct.ranged || kernel.serves(&range))
    }

    /// Products in integers.
    fn decode_cases(&mut self, kernel: &FastKernel) {
        if let (Some((a, a_signed)), Some((b, b_signed))) = (kernel.a.integer, kernel.b.integer) {
            decode_integers(&mut self.chosen, a, a_signed, &self.a_codes, false);
            decode_integers(&mut self.b, b, b_signed, &self.b_codes, false);
            return multiply_integers(&mut self.b, &self.chosen);
        }
        decode(&mut self.chosen, &kernel.a, &self.a_codes, false);
        decode(&mut self.b, &kernel.b, &self.b_codes, false);
        if let Some([a, b]) = kernel.values {
            find_range(&mut self.chosen);
            find_range(&mut self.b);
            self.range = Some(FactorRange::new(&self.chosen, &self.b)).filter(|range| kernel.serves(range));
            values(&mut self.chosen, a, self.range.is_none());
            values(&mut self.b, b, self.range.is_none());
        }
        if self.b.any_special || self.chosen.any_special {
            multiply_specials(&mut self.b, &self.chosen);
        }
        multiply_values(&mut self.b, &self.chosen);
        multiply_integers(&mut self.b, &self.chosen);
        multiply_signs(&mut self.b, &self.chosen);
    }
}

/// Reorders rows of `length` lanes each.
fn reorder_rows(lanes: &[u32], length: usize, order: &[usize], out: &mut Vec<u32>) {
    resize(out, lanes.len() / length * order.len());
    for (block, out) in lanes.chunks_exact(LANES * length).zip(out.chunks_exact_mut(LANES * order.len())) {
        reorder::<LANES>(block.as_chunks().0, order, out.as_chunks_mut().0);
    }
}

/// A row of ones.
fn ones(elements: &mut Elements, count: usize) {
    let Elements { significands, exponents, values, negative, special, any_special, .. } = elements;
    if significands.len() == count * TURNS && !*any_special && significands.first() == Some(&1) {
        return;
    }
    for (words, one) in [(significands, 1), (exponents, 0)] {
        words.clear();
        words.resize(count * TURNS, one);
    }
    values.clear();
    values.resize(count * TURNS, 1.0);
    for masks in [negative, special] {
        masks.clear();
        masks.resize(count * TURNS, 0);
    }
    *any_special = false;
}

vectorised! {
    /// Values and exponents of products.
    fn multiply_values(elements: &mut Elements, other: &Elements) {
        let count = elements.exponents.len();
        let (values, exponents) = (&mut elements.values[..count], &mut elements.exponents[..count]);
        let (x, e) = (&other.values[..count], &other.exponents[..count]);
        for at in 0..count {
            values[at] *= x[at];
            exponents[at] += e[at];
        }
    }
}

vectorised! {
    /// Significands of products.
    fn multiply_integers(elements: &mut Elements, other: &Elements) {
        for (significand, other) in elements.significands.iter_mut().zip(&other.significands) {
            *significand = significand.wrapping_mul(*other);
        }
    }
}

vectorised! {
    /// Signs of products.
    fn multiply_signs(elements: &mut Elements, other: &Elements) {
        for (negative, other) in elements.negative.iter_mut().zip(&other.negative) {
            *negative ^= *other;
        }
    }
}

/// Computes the special marks of products from the marks of the factors.
fn multiply_specials(elements: &mut Elements, other: &Elements) {
    for (at, special) in elements.special.iter_mut().enumerate() {
        let factors = [(*special, elements.significands[at]), (other.special[at], other.significands[at])];
        let any = factors[0].0 | factors[1].0;
        let zero = factors.iter().any(|(special, significand)| *special == 0 && *significand == 0);
        *special = match any {
            0 => 0,
            _ if zero || any & NAN != 0 => NAN,
            _ => INFINITY,
        };
    }
    elements.any_special = true;
}
