//! Elements in binary32: their values, and the exponents by which sums of their products are aligned.

use std::hint::black_box;

use super::{
    decoder::supported,
    elements::{Elements, put, resize},
    number::ZERO,
    word::{LANES, Lane, TURNS, each, over},
};
use crate::{
    arithmetic::{Subnormals, Unpack},
    base::vectors::vectorised,
    format::{Float, Format, Specials},
};

/// How the codes of a format that binary32 holds become values of binary32.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueDecoder {
    /// Exponent and trailing significand, how far they are from their place in binary32, and what is added to the exponent there.
    fields: u32,
    left: u32,
    bias: u32,
    /// The sign, and how far it is from its place.
    sign: u32,
    sign_left: u32,
    /// What subnormal numbers keep of their value.
    subnormal: u32,
    /// The smallest exponent, of the format that numbers are converted to.
    emin: i32,
    /// A code that is not finite gives at least `special` under this mask.
    special_mask: u32,
    special: u32,
}

/// The trailing bits of binary32, its sign, and its bias.
const TRAILING: u32 = f32::MANTISSA_DIGITS - 1;
const SIGN: u32 = 1 << 31;
const BIAS: i32 = f32::MAX_EXP - 1;

impl ValueDecoder {
    /// `None` for formats whose normal numbers are not all normal in binary32, whose NaN is the negative zero, or whose subnormal
    /// numbers lose their sign.
    pub(super) fn new(format: &Format, unpack: &Unpack) -> Option<ValueDecoder> {
        let f = supported(format)?;
        let low = f.trailing_bits + f.padding_bits;
        let emin = unpack.wider.and_then(Format::float).map_or(f.emin(), Float::emin);
        let exponents = emin.min(f.emin()) >= f32::MIN_EXP - 1 && f.emax() < f32::MAX_EXP;
        if !exponents || low > TRAILING || unpack.subnormals == Subnormals::PositiveZero {
            return None;
        }
        let magnitude = (1u64 << (format.bits - u32::from(f.signed))) as u32;
        let fields = magnitude.wrapping_sub(1) >> f.padding_bits << f.padding_bits;
        let (special_mask, special) = match f.specials {
            Specials::Ieee => (fields, ((1 << f.exponent_bits) - 1) << low),
            Specials::AllOnesNan => (fields, fields),
            Specials::None => (0, 1),
            Specials::NegativeZeroNan => return None,
        };
        Some(ValueDecoder {
            fields,
            left: TRAILING - low,
            bias: ((BIAS - 1 + f.emin()) as u32) << TRAILING,
            sign: if f.signed { 1 << (format.bits - 1) } else { 0 },
            sign_left: u32::BITS - format.bits,
            subnormal: if unpack.subnormals == Subnormals::Keep { u32::MAX } else { 0 },
            emin,
            special_mask,
            special,
        })
    }
}

/// What the codes of elements have shown so far, lane by lane: the exponents of those that are not zero, and the largest masked code.
struct Seen {
    low: Lane<i32>,
    high: Lane<i32>,
    special: Lane<u32>,
}

impl Seen {
    #[inline(always)]
    fn nothing() -> Seen {
        Seen { low: [i32::MAX; LANES], high: [ZERO; LANES], special: [0; LANES] }
    }

    /// The range of the exponents, and whether an element is infinite or NaN.
    #[inline(always)]
    fn all(&self, decoder: &ValueDecoder) -> ((i32, i32), bool) {
        let (mut lowest, mut highest, mut largest) = (i32::MAX, ZERO, 0);
        for l in 0..LANES {
            lowest = lowest.min(self.low[l]);
            highest = highest.max(self.high[l]);
            largest = largest.max(self.special[l]);
        }
        (if highest == ZERO { (0, 0) } else { (lowest, highest) }, largest >= decoder.special)
    }
}

impl ValueDecoder {
    /// The exponents and values of some codes, whose upper bits may be anything.
    #[inline(always)]
    fn lanes(&self, codes: &Lane<u32>, seen: &mut Seen) -> (Lane<i32>, Lane<f32>) {
        seen.special = each(|l| seen.special[l].max(codes[l] & self.special_mask));
        let fields = over(codes, |code| (code & self.fields) << self.left);
        let normal = over(&fields, |fields| fields.wrapping_add(self.bias));
        // A subnormal number has the smallest exponent, and no leading bit.
        let leading = f32::from_bits(self.bias.wrapping_add(1 << TRAILING));
        let lifted = over(&normal, |normal| f32::from_bits(normal.wrapping_add(1 << TRAILING)));
        let subnormal = over(&lifted, |lifted| (lifted - leading).to_bits() & self.subnormal);
        let bits = each(|l| if fields[l] >> TRAILING == 0 { subnormal[l] } else { normal[l] });
        let exponent = over(&bits, |bits| ((bits >> TRAILING) as i32 - BIAS).max(self.emin));
        let exponent = each(|l| if bits[l] == 0 { ZERO } else { exponent[l] });
        seen.low = each(|l| seen.low[l].min(if bits[l] == 0 { i32::MAX } else { exponent[l] }));
        seen.high = each(|l| seen.high[l].max(exponent[l]));
        let sign = over(codes, |code| (code & self.sign) << self.sign_left);
        (exponent, each(|l| f32::from_bits(bits[l] | sign[l])))
    }
}

vectorised! {
    /// The values, exponents and range of codes, whole [`LANES`] of them, and nothing else; each [`TURNS`]
    /// times if it is for `turns`.
    pub(super) fn decode_values(elements: &mut Elements, decoder: &ValueDecoder, codes: &[u32], turns: bool) {
        elements.keep_values(if turns { codes.len() * TURNS } else { codes.len() });
        let Elements { exponents, values, .. } = elements;
        let (codes, own) = (codes.as_chunks().0, *decoder);
        let mut seen = Seen::nothing();
        // A step that the compiler does not know: it is to make vectors of lanes, not of these.
        let (next, mut at) = (black_box(1), 0);
        while at < codes.len() {
            let (exponent, value) = own.lanes(&codes[at], &mut seen);
            put(exponents, at, &exponent, turns);
            put(values, at, &value, turns);
            at += next;
        }
        (elements.range, elements.any_special) = seen.all(decoder);
    }
}

vectorised! {
    /// The values and exponents of products, and nothing else, from the codes of two factors of each, whole [`LANES`] of them; those of
    /// the second ones begin at the bit `shift`. Gives the ranges of the factors.
    pub(super) fn decode_products(
        products: &mut Elements,
        decoders: &[ValueDecoder; 2],
        codes: [&[u32]; 2],
        shift: u32,
    ) -> [(i32, i32); 2] {
        products.keep_values(codes[0].len());
        let Elements { exponents, values, .. } = products;
        let ([x, y], [a, b]) = (codes.map(|codes| codes.as_chunks().0), *decoders);
        let mut seen = [Seen::nothing(), Seen::nothing()];
        let (next, mut at) = (black_box(1), 0);
        while at < x.len() {
            let x = a.lanes(&x[at], &mut seen[0]);
            let y = b.lanes(&over(&y[at], |code: u32| code >> shift), &mut seen[1]);
            put(exponents, at, &each(|l| x.0[l] + y.0[l]), false);
            put(values, at, &each(|l| x.1[l] * y.1[l]), false);
            at += next;
        }
        let [a, b] = [seen[0].all(&a), seen[1].all(&b)];
        products.any_special = a.1 | b.1;
        [a.0, b.0]
    }
}

vectorised! {
    /// Finds the range of decoded elements.
    pub(super) fn find_range(elements: &mut Elements) {
        let (mut low, mut high) = (i32::MAX, ZERO);
        for exponent in &elements.exponents {
            low = low.min(if *exponent == ZERO { i32::MAX } else { *exponent });
            high = high.max(*exponent);
        }
        elements.range = if high == ZERO { (0, 0) } else { (low, high) };
    }
}

vectorised! {
    /// Sets the values of decoded elements of which so many bits are behind the binary point; of `spread` ones, as if their exponents
    /// were 0.
    pub(super) fn values(elements: &mut Elements, fraction_bits: i32, spread: bool) {
        let count = elements.significands.len();
        resize(&mut elements.values, count);
        let (significands, exponents) = (&elements.significands[..count], &elements.exponents[..count]);
        let (negative, values) = (&elements.negative[..count], &mut elements.values[..count]);
        let kept = if spread { 0 } else { i32::MAX };
        for (at, value) in values.iter_mut().enumerate() {
            let field = (exponents[at].min(kept).max(-kept) - fraction_bits + BIAS).clamp(1, 254) as u32;
            let magnitude = significands[at] as f32 * f32::from_bits(field << TRAILING);
            *value = f32::from_bits(magnitude.to_bits() | negative[at] & SIGN);
        }
    }
}
