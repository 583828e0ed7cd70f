//! The decoded elements of an operand, and how they are decoded.

use std::hint::black_box;

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
    /// See [`DecodedRow::values`].
    pub(super) values: Vec<f32>,
    pub(super) negative: Vec<u32>,
    pub(super) special: Vec<u32>,
    /// Whether one of them is infinite or NaN.
    pub(super) any_special: bool,
    /// The exponents of those that are not zero.
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

    /// Makes room for so many values and exponents, and for nothing else.
    pub(super) fn keep_values(&mut self, count: usize) {
        self.significands.clear();
        resize(&mut self.exponents, count);
        resize(&mut self.values, count);
        self.negative.clear();
        self.special.clear();
    }

    pub(super) fn clear(&mut self) {
        self.resize(0);
        self.any_special = false;
    }

    /// Keeps the masked bits of the significands; each mask serves so many elements.
    pub(super) fn take_pieces(&mut self, masks: impl Iterator<Item = (u32, usize)>) {
        let masks = masks.flat_map(|(mask, times)| std::iter::repeat_n(mask, times));
        for ((significand, exponent), mask) in self.significands.iter_mut().zip(&mut self.exponents).zip(masks) {
            *significand = significand.signum() * (significand.unsigned_abs() & mask) as i32;
            *exponent = if *significand == 0 { ZERO } else { *exponent };
        }
    }

    /// Multiplies by the scale of each element.
    pub(super) fn scale(&mut self, scales: &Elements) {
        for at in 0..scales.significands.len() {
            self.significands[at] *= scales.significands[at];
            let zero = self.significands[at] == 0;
            self.exponents[at] = if zero { ZERO } else { self.exponents[at] + scales.exponents[at] };
            // A scale of zero makes an infinity NaN.
            let nan = (self.special[at] != 0) & (scales.significands[at] == 0) | (scales.special[at] != 0);
            self.special[at] = if nan { NAN } else { self.special[at] };
        }
        self.any_special |= scales.any_special;
    }

    /// Appends an element of `other` for each lane, as far as it has them: of those for [`LANES`] lanes that begin at each turn's
    /// place.
    pub(super) fn push_lanes(&mut self, other: &Elements, places: [usize; TURNS]) {
        let at = places.map(|place| place * LANES);
        take(&mut self.significands, &other.significands, at);
        take(&mut self.exponents, &other.exponents, at);
        take(&mut self.values, &other.values, at);
        take(&mut self.negative, &other.negative, at);
        take(&mut self.special, &other.special, at);
    }

    pub(super) fn push(&mut self, element: &DecodedCode) {
        self.significands.push(element.significand as i32);
        self.exponents.push(element.exponent);
        self.values.push(0.0);
        self.negative.push(element.negative);
        self.special.push(element.special);
        self.any_special |= element.special != 0;
    }

    pub(super) fn rows<const N: usize>(&self) -> DecodedRow<'_, N> {
        DecodedRow {
            significands: self.significands.as_chunks().0,
            exponents: self.exponents.as_chunks().0,
            values: self.values.as_chunks().0,
            negative: self.negative.as_chunks().0,
            special: self.special.as_chunks().0,
        }
    }
}

vectorised! {
    /// The data of codes, whole [`LANES`] of them, that `decoder` decodes; each [`TURNS`] times if it is for `turns`.
    pub(super) fn decode(elements: &mut Elements, decoder: &NumberDecoder, codes: &[u32], turns: bool) {
        elements.resize(if turns { codes.len() * TURNS } else { codes.len() });
        let Elements { significands, exponents, negative, special, .. } = elements;
        let codes = codes.as_chunks().0;
        let decoder = *decoder;
        let mut any = [0; LANES];
        let (next, mut at) = (black_box(1), 0);
        while at < codes.len() {
            let own = decoder.lanes(&codes[at]);
            let flip = over(&own.negative, |negative| negative as i32);
            let signed = each(|l| (own.significand[l] as i32 ^ flip[l]).wrapping_sub(flip[l]));
            put(significands, at, &signed, turns);
            put(exponents, at, &own.exponent, turns);
            put(negative, at, &own.negative, turns);
            put(special, at, &own.special, turns);
            any = each(|l| any[l] | own.special[l]);
            at += next;
        }
        elements.any_special = any != [0; LANES];
    }
}

/// Appends those of the elements `other` that begin at each turn's place, if there are any.
#[inline(always)]
fn take<T: Copy + Default>(own: &mut Vec<T>, other: &[T], at: [usize; TURNS]) {
    if !other.is_empty() {
        own.extend_from_slice(&each(|l| other[at[l % TURNS] + l]));
    }
}

/// Sets the elements of one place; each [`TURNS`] times if it is for `turns`.
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

/// Makes a vector as long as `count`, which it mostly is.
#[inline(always)]
pub(super) fn resize<T: Copy + Default>(vector: &mut Vec<T>, count: usize) {
    if vector.len() != count {
        vector.resize(count, T::default());
    }
}
