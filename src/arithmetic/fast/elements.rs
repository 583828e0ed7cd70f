//! The decoded elements of an operand, and how they are decoded.

use std::hint::black_box;

use super::{
    decoder::{DecodedCode, NumberDecoder},
    number::{NAN, ZERO},
    terms::DecodedRow,
    word::{LANES, Lane, TURNS, each, over},
};
use crate::{base::vectors::vectorised, isa::Codes};

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

    /// Appends an element of `other` for each lane: of those for [`LANES`] lanes that begin at each turn's place.
    #[inline]
    pub(super) fn push_lanes(&mut self, other: &Elements, places: [usize; TURNS]) {
        let at = places.map(|place| place * LANES);
        self.significands.extend_from_slice(&each(|l| other.significands[at[l % TURNS] + l]));
        self.exponents.extend_from_slice(&each(|l| other.exponents[at[l % TURNS] + l]));
        self.negative.extend_from_slice(&each(|l| other.negative[at[l % TURNS] + l]));
        self.special.extend_from_slice(&each(|l| other.special[at[l % TURNS] + l]));
        self.values.extend_from_slice(&[0.0; LANES]);
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

/// Sets the elements of one place; each [`TURNS`] times if it is for `turns`.
#[inline(always)]
fn put<T: Copy + Default>(out: &mut [T], at: usize, lanes: &Lane<T>, turns: bool) {
    let out = out.as_chunks_mut().0;
    if turns {
        out[at * TURNS] = each(|l| lanes[l / TURNS]);
        out[at * TURNS + 1] = each(|l| lanes[(LANES + l) / TURNS]);
    } else {
        out[at] = *lanes;
    }
}

vectorised! {
    /// The codes of so many rows at a time in turn, `length` codes each; a row without a second one counts twice.
    pub(super) fn in_turn(codes: &[u32], length: usize, rows: usize, out: &mut [[u32; TURNS]]) {
        const HALF: usize = LANES / TURNS;
        // A step that the compiler does not know: it is to make vectors of elements, not of these.
        let next = black_box(HALF);
        let last = codes.len() / length - 1;
        let mut first = 0;
        while first <= last {
            let (x, y) = (&codes[first * length..][..length], &codes[(first + rows - 1).min(last) * length..][..length]);
            let out = &mut out[first / rows * length..][..length];
            let mut at = 0;
            while at + HALF <= length {
                let (x, y, out) = (&x[at..][..HALF], &y[at..][..HALF], &mut out[at..][..HALF]);
                for (l, out) in out.iter_mut().enumerate() {
                    *out = [x[l], y[l]];
                }
                at += next;
            }
            while at < length {
                out[at] = [x[at], y[at]];
                at += 1;
            }
            first += rows;
        }
    }
}

vectorised! {
    /// Sets the values and the range of elements of which so many bits are behind the binary point.
    pub(super) fn values(elements: &mut Elements, fraction_bits: i32) {
        let count = elements.significands.len();
        let (significands, exponents) = (&elements.significands[..count], &elements.exponents[..count]);
        let values = &mut elements.values[..count];
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for (at, value) in values.iter_mut().enumerate() {
            let exponent = exponents[at];
            low = low.min(if exponent == ZERO { i32::MAX } else { exponent });
            high = high.max(exponent);
            let field = (exponent - fraction_bits + 127).clamp(1, 254) as u32;
            *value = significands[at] as f32 * f32::from_bits(field << 23);
        }
        elements.range = if high <= ZERO { (0, 0) } else { (low, high) };
    }
}

vectorised! {
    /// `count` codes from `first` on.
    pub(super) fn widen(codes: &Codes, first: usize, count: usize, out: &mut Vec<u32>) {
        let bytes = &codes.as_bytes()[first * codes.width()..][..count * codes.width()];
        resize(out, count);
        match codes.width() {
            1 => widen_all(bytes.as_chunks().0, out, |code: [u8; 1]| code[0].into()),
            2 => widen_all(bytes.as_chunks().0, out, |code| u16::from_le_bytes(code).into()),
            _ => widen_all(bytes.as_chunks().0, out, u32::from_le_bytes),
        }
    }
}

/// The codes of so many bytes each.
#[inline(always)]
fn widen_all<const N: usize>(codes: &[[u8; N]], out: &mut [u32], widen: impl Fn([u8; N]) -> u32) {
    let (lanes, wide) = (codes.as_chunks::<LANES>().0, out.as_chunks_mut::<LANES>().0);
    // A step that the compiler does not know: it is to make vectors of lanes, not of these.
    let (next, mut at) = (black_box(1), 0);
    while at < wide.len() {
        let codes = &lanes[at];
        wide[at] = each(|l| widen(codes[l]));
        at += next;
    }
    let rest = codes.len() / LANES * LANES;
    for (at, out) in out[rest..].iter_mut().enumerate() {
        *out = widen(codes[rest + at]);
    }
}

/// Makes a vector as long as `count`, which it mostly is.
#[inline]
pub(super) fn resize<T: Copy + Default>(vector: &mut Vec<T>, count: usize) {
    if vector.len() != count {
        vector.resize(count, T::default());
    }
}
