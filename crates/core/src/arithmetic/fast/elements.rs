//! Decoded elements of an operand.

use std::{hint::black_box, ops::Range};

use super::{
    decoder::{DecodedCode, NumberDecoder},
    number::{NAN, ZERO},
    terms::DecodedRow,
    word::{LANES, Lane, TURNS, each, over},
};
use crate::base::vectors::vectorised;

/// Decoded elements.
#[derive(Debug, Default)]
pub(super) struct Elements {
    pub(super) significands: Vec<i32>,
    pub(super) exponents: Vec<i32>,
    /// Numbers in binary32, if it holds them and all their products; else with exponents taken as 0.
    pub(super) values: Vec<f32>,
    pub(super) negative: Vec<u32>,
    pub(super) special: Vec<u32>,
    /// True if an element is infinite or NaN.
    pub(super) any_special: bool,
    /// Exponents of the elements that are not zero.
    pub(super) range: (i32, i32),
}

impl Elements {
    fn resize(&mut self, count: usize) {
        resize(&mut self.significands, count);
        resize(&mut self.exponents, count);
        resize(&mut self.values, count);
        resize(&mut self.negative, count);
        resize(&mut self.special, count);
    }

    /// Makes room for `count` values and exponents only.
    pub(super) fn keep_values(&mut self, count: usize) {
        self.significands.clear();
        resize(&mut self.exponents, count);
        resize(&mut self.values, count);
        self.negative.clear();
        self.special.clear();
    }

    /// Makes room for `count` integers only.
    fn keep_integers(&mut self, count: usize) {
        resize(&mut self.significands, count);
        self.exponents.clear();
        self.values.clear();
        self.negative.clear();
        self.special.clear();
        self.any_special = false;
    }

    /// Makes room for `count` scales, set by [`Elements::fill`], without signs and binary32 values.
    pub(super) fn begin_scales(&mut self, count: usize) {
        self.resize(count);
        self.any_special = false;
    }

    /// Sets rows of `N` scales; places are counted from the row `first` on.
    pub(super) fn fill<const N: usize>(&mut self, first: usize, places: Range<usize>, scales: &[DecodedCode; N]) {
        let rows = first + places.start..first + places.end;
        self.significands.as_chunks_mut().0[rows.clone()].fill(scales.map(|scale| scale.significand as i32));
        self.exponents.as_chunks_mut().0[rows.clone()].fill(scales.map(|scale| scale.exponent));
        self.special.as_chunks_mut().0[rows].fill(scales.map(|scale| scale.special));
        self.any_special |= scales.iter().any(|scale| scale.special != 0);
    }

    /// Keeps the masked bits of the significands; each mask serves equally many elements.
    pub(super) fn take_pieces(&mut self, masks: impl Iterator<Item = (u32, usize)>) {
        let masks = masks.flat_map(|(mask, times)| std::iter::repeat_n(mask, times));
        for ((significand, exponent), mask) in self.significands.iter_mut().zip(&mut self.exponents).zip(masks) {
            *significand = significand.signum() * (significand.unsigned_abs() & mask) as i32;
            *exponent = if *significand == 0 { ZERO } else { *exponent };
        }
    }

    pub(super) fn rows<const N: usize>(&self) -> DecodedRow<'_, N> {
        DecodedRow {
            significands: self.significands.as_chunks().0,
            exponents: self.exponents.as_chunks().0,
            negative: self.negative.as_chunks().0,
            special: self.special.as_chunks().0,
        }
    }
}

vectorised! {
    /// Multiplies each element by its scale.
    pub(super) fn scale(elements: &mut Elements, scales: &Elements) {
        let count = scales.significands.len();
        let (factors, shifts, marks) = (&scales.significands[..count], &scales.exponents[..count], &scales.special[..count]);
        let (significands, exponents) = (&mut elements.significands[..count], &mut elements.exponents[..count]);
        let special = &mut elements.special[..count];
        for at in 0..count {
            significands[at] *= factors[at];
            exponents[at] = if significands[at] == 0 { ZERO } else { exponents[at] + shifts[at] };
            // A zero scale makes an infinity NaN.
            let nan = (special[at] != 0) & (factors[at] == 0) | (marks[at] != 0);
            special[at] = if nan { NAN } else { special[at] };
        }
        elements.any_special |= scales.any_special;
    }
}

vectorised! {
    /// Decodes codes, whole [`LANES`] of them; each one [`TURNS`] times with `turns`.
    pub(super) fn decode(elements: &mut Elements, decoder: &NumberDecoder, codes: &[u32], turns: bool) {
        elements.resize(if turns { codes.len() * TURNS } else { codes.len() });
        let Elements { significands, exponents, negative, special, .. } = elements;
        let codes = codes.as_chunks().0;
        let decoder = *decoder;
        let mut any = [0; LANES];
        let (next, mut at) = (black_box(1), 0);
        while at < codes.len() {
            let decoded = decoder.lanes(&codes[at]);
            let flip = over(&decoded.negative, |negative| negative as i32);
            let signed = each(|l| (decoded.significand[l] as i32 ^ flip[l]).wrapping_sub(flip[l]));
            put(significands, at, &signed, turns);
            put(exponents, at, &decoded.exponent, turns);
            put(negative, at, &decoded.negative, turns);
            put(special, at, &decoded.special, turns);
            any = each(|l| any[l] | decoded.special[l]);
            at += next;
        }
        elements.any_special = any != [0; LANES];
    }
}

vectorised! {
    /// Copies elements of `other` for [`LANES`] lanes from each place of the turns on.
    /// Only arrays that `other` has are copied, and values only if it has no significands.
    pub(super) fn choose(elements: &mut Elements, other: &Elements, places: &[[usize; TURNS]]) {
        take(&mut elements.significands, &other.significands, places);
        take(&mut elements.exponents, &other.exponents, places);
        if other.significands.is_empty() {
            take(&mut elements.values, &other.values, places);
        }
        take(&mut elements.negative, &other.negative, places);
        take(&mut elements.special, &other.special, places);
    }
}

/// Copies the elements at each place of the turns, if there are any.
#[inline(always)]
fn take<T: Copy + Default>(out: &mut Vec<T>, other: &[T], places: &[[usize; TURNS]]) {
    if other.is_empty() {
        return out.clear();
    }
    resize(out, places.len() * LANES);
    let (out, other) = (out.as_chunks_mut::<LANES>().0, other.as_chunks::<LANES>().0);
    // A step opaque to the compiler, so that it vectorises over lanes, not over iterations.
    let (next, mut at) = (black_box(1), 0);
    while at < places.len() {
        let [x, y] = places[at];
        let (x, y) = (other[x], other[y]);
        out[at] = each(|l| if l % TURNS == 0 { x[l] } else { y[l] });
        at += next;
    }
}

vectorised! {
    /// Decodes whole [`LANES`] of integers with `unused` upper bits; each one [`TURNS`] times with `turns`.
    pub(super) fn decode_integers(elements: &mut Elements, unused: u32, signed: bool, codes: &[u32], turns: bool) {
        elements.keep_integers(if turns { codes.len() * TURNS } else { codes.len() });
        let codes = codes.as_chunks().0;
        let (next, mut at) = (black_box(1), 0);
        while at < codes.len() {
            let aligned: Lane<u32> = over(&codes[at], |code: u32| code << unused);
            let integers = over(&aligned, |code| if signed { code as i32 >> unused } else { (code >> unused) as i32 });
            put(&mut elements.significands, at, &integers, turns);
            at += next;
        }
    }
}

/// Sets the elements of one place; each one [`TURNS`] times with `turns`.
#[inline(always)]
pub(super) fn put<T: Copy + Default>(out: &mut [T], at: usize, lanes: &Lane<T>, turns: bool) {
    if turns {
        let out = &mut out.as_chunks_mut::<TURNS>().0.as_chunks_mut::<LANES>().0[at];
        for l in 0..LANES {
            out[l] = [lanes[l]; TURNS];
        }
    } else {
        out.as_chunks_mut().0[at] = *lanes;
    }
}

/// Sets the length of a vector, which mostly has it already.
#[inline(always)]
pub(super) fn resize<T: Copy + Default>(vector: &mut Vec<T>, count: usize) {
    if vector.len() != count {
        vector.resize(count, T::default());
    }
}
