//! Cases with operands of their own, as tiles of one element have them: a lane for each case.
//!
//! Lanes share the elements of A that they are multiplied by. So the products of a case are formed before its sums: as elements of B,
//! multiplied by a row of ones.

use super::{
    codes::{PAIRED, widen, widen_pairs},
    elements::{Elements, decode, decode_integers, resize},
    kernel::FastKernel,
    narrow::FactorRange,
    number::{INFINITY, NAN},
    tile::{DecodedTile, Piece, Shape},
    values::{decode_products, find_range, values},
    word::{LANES, PIECES, TURNS},
};
use crate::{base::vectors::vectorised, isa::Tiles};

/// Cases that are computed together.
pub(super) const TOGETHER: usize = PIECES * LANES;

/// Bits that the product of two significands may have.
const MOST_BITS: u32 = 30;

impl FastKernel {
    /// Whether products are all that operands are needed for, so that they can be formed first.
    pub(super) fn takes_cases(&self, i: &Shape) -> bool {
        let narrow = self.a.integer.is_some() || self.a.precision + self.b.precision <= MOST_BITS;
        i.is_single() && i.chunk.is_none() && self.masks.is_none() && self.scales.is_none() && narrow && !self.is_xor()
    }
}

impl DecodedTile {
    /// Computes the bytes of the D codes of up to [`TOGETHER`] tiles of one element, and notes those that are unknown.
    pub(super) fn run_cases(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, first: usize, d: &mut [u8]) {
        let count = d.len() / i.width;
        self.unknown.clear();
        // Two codes in a word are brought across at once.
        let paired = kernel.direct.is_some() && tiles.a.width() == tiles.b.width() && tiles.a.width() <= 2;
        if paired {
            widen_pairs(&tiles.a, &tiles.b, first * i.k, count * i.k, &mut self.codes);
            across(&self.codes, i.k, &kernel.order, &mut self.a_codes);
        } else {
            widen(&tiles.a, first * i.k, count * i.k, &mut self.codes);
            across(&self.codes, i.k, &kernel.order, &mut self.a_codes);
            widen(&tiles.b, first * i.k, count * i.k, &mut self.codes);
            across(&self.codes, i.k, &kernel.order, &mut self.b_codes);
        }
        if !self.decode_values_of_cases(kernel, paired) {
            if paired {
                separate(&mut self.a_codes, &mut self.b_codes);
            }
            self.decode_cases(kernel);
        }
        ones(&mut self.a, kernel.order.len());
        let mut places = [Piece::default(); PIECES];
        for (block, place) in places.iter_mut().enumerate().take(count.div_ceil(LANES)) {
            let element = block * LANES;
            *place = Piece { row: 0, block, rows: 1, columns: LANES.min(count - element), element };
        }
        self.batch(kernel, i, tiles, first, &places[..count.div_ceil(LANES)], d);
    }

    /// Products of values in binary32, where those serve; of codes that are alone in their words, or paired.
    fn decode_values_of_cases(&mut self, kernel: &FastKernel, paired: bool) -> bool {
        let Some(decoders) = &kernel.direct else { return false };
        let (a, shift) = (&self.a_codes[..], if paired { PAIRED } else { 0 });
        let codes = [a, if paired { a } else { &self.b_codes }];
        let [a, b] = decode_products(&mut self.b, decoders, codes, shift);
        let range = FactorRange { low: [a.0, b.0], high: [a.1, b.1] };
        self.range = Some(range);
        !self.b.any_special && kernel.serves(&range)
    }

    /// Products.
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

/// Separates codes that are paired in words.
fn separate(pairs: &mut [u32], second: &mut Vec<u32>) {
    second.clear();
    second.extend(pairs.iter().map(|pair| pair >> PAIRED));
    pairs.iter_mut().for_each(|pair| *pair &= (1 << PAIRED) - 1);
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
    /// Rows of `length` codes, so many at a time side by side, in this order; rows that are not there are zeros.
    fn across(codes: &[u32], length: usize, order: &[usize], out: &mut Vec<u32>) {
        let rows = codes.len() / length;
        resize(out, rows.div_ceil(LANES) * order.len() * LANES);
        for (codes, out) in codes.chunks(LANES * length).zip(out.chunks_exact_mut(order.len() * LANES)) {
            let out = out.as_chunks_mut::<LANES>().0;
            // The common lengths are constants: what is known to be inside of its row is not checked.
            match length {
                8 => side_by_side::<8>(codes, order, out),
                16 => side_by_side::<16>(codes, order, out),
                32 => side_by_side::<32>(codes, order, out),
                _ => one_by_one(codes, length, order, out),
            }
        }
    }
}

/// Some rows side by side.
#[inline(always)]
fn side_by_side<const K: usize>(codes: &[u32], order: &[usize], out: &mut [[u32; LANES]]) {
    let Some(rows) = codes.as_chunks::<K>().0.first_chunk::<LANES>() else {
        return one_by_one(codes, K, order, out);
    };
    for (lanes, at) in out.iter_mut().zip(order) {
        let at = *at % K;
        for lane in 0..LANES {
            lanes[lane] = rows[lane][at];
        }
    }
}

/// The same of rows of any length, and of fewer than there are lanes.
#[inline(always)]
fn one_by_one(codes: &[u32], length: usize, order: &[usize], out: &mut [[u32; LANES]]) {
    for (lanes, at) in out.iter_mut().zip(order) {
        for (lane, code) in lanes.iter_mut().enumerate() {
            *code = codes.get(lane * length + at).copied().unwrap_or_default();
        }
    }
}

vectorised! {
    /// Values and exponents of products.
    fn multiply_values(own: &mut Elements, other: &Elements) {
        let count = own.exponents.len();
        let (values, exponents) = (&mut own.values[..count], &mut own.exponents[..count]);
        let (x, e) = (&other.values[..count], &other.exponents[..count]);
        for at in 0..count {
            values[at] *= x[at];
            exponents[at] += e[at];
        }
    }
}

vectorised! {
    /// Significands of products.
    fn multiply_integers(own: &mut Elements, other: &Elements) {
        for (own, other) in own.significands.iter_mut().zip(&other.significands) {
            *own = own.wrapping_mul(*other);
        }
    }
}

vectorised! {
    /// Signs of products.
    fn multiply_signs(own: &mut Elements, other: &Elements) {
        for (own, other) in own.negative.iter_mut().zip(&other.negative) {
            *own ^= *other;
        }
    }
}

/// What products are that are not finite, from the factors.
fn multiply_specials(own: &mut Elements, other: &Elements) {
    for (at, special) in own.special.iter_mut().enumerate() {
        let factors = [(*special, own.significands[at]), (other.special[at], other.significands[at])];
        let any = factors[0].0 | factors[1].0;
        let zero = factors.iter().any(|(special, significand)| *special == 0 && *significand == 0);
        *special = match any {
            0 => 0,
            _ if zero || any & NAN != 0 => NAN,
            _ => INFINITY,
        };
    }
    own.any_special = true;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_brought_side_by_side() {
        let codes: Vec<u32> = (0..40).collect();
        let mut out = Vec::new();
        across(&codes, 2, &[1, 0], &mut out);
        assert_eq!((out.len(), &out[..3], out[16], out[32], out[36]), (64, &[1, 3, 5][..], 0, 33, 0));
    }
}
