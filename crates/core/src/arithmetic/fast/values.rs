//! Elements in binary32: their values, and the exponents that align sums of their products.

use std::hint::black_box;

use super::{
    across::FactorWords,
    codes::HALF,
    decoder::{emin_as, supported},
    elements::{Elements, put, resize},
    narrow::FactorRange,
    number::ZERO,
    word::{LANES, Lane, TURNS, each, over},
};
use crate::{
    arithmetic::{Subnormals, Unpack},
    base::vectors::vectorised,
    format::{Format, Specials},
};

/// Conversion of codes to binary32, for a format that it holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueDecoder {
    /// Bits of a word above a code.
    unused: u32,
    /// Shift, mask and exponent increment from the fields of a left-aligned code to binary32 fields.
    right: u32,
    fields: u32,
    bias: u32,
    /// True if subnormals become zeros.
    flushes: bool,
    /// Smallest and largest exponent, of the format that numbers are converted to.
    exponents: (i32, i32),
    /// Least fields of a non-finite code.
    special: u32,
}

/// Trailing bits of binary32, its sign, and its bias.
const TRAILING: u32 = f32::MANTISSA_DIGITS - 1;
const SIGN: u32 = 1 << 31;
const BIAS: i32 = f32::MAX_EXP - 1;

impl ValueDecoder {
    /// `None` unless the format's normals are normal in binary32, and its zeros and subnormals signed.
    pub(super) fn new(format: &Format, unpack: &Unpack) -> Option<ValueDecoder> {
        let f = supported(format).filter(|f| f.signed && f.trailing_bits <= TRAILING)?;
        let emin = unpack.wider.and_then(Format::float).map_or(f.emin(), |wider| emin_as(f, wider));
        let exponents = emin.min(f.emin()) >= f32::MIN_EXP - 1 && f.emax() < f32::MAX_EXP;
        if !exponents || unpack.subnormals == Subnormals::PositiveZero {
            return None;
        }
        let exponent = ((1 << f.exponent_bits) - 1) << TRAILING;
        let fields = exponent | ((1 << f.trailing_bits) - 1) << (TRAILING - f.trailing_bits);
        Some(ValueDecoder {
            unused: u32::BITS - format.bits,
            right: (u32::BITS - 1 - TRAILING).checked_sub(f.exponent_bits)?,
            fields,
            bias: ((BIAS - 1 + f.emin()) as u32) << TRAILING,
            flushes: unpack.subnormals != Subnormals::Keep,
            exponents: (emin, f.emax()),
            special: match f.specials {
                Specials::Ieee => exponent,
                Specials::AllOnesNan => fields,
                Specials::None => u32::MAX,
                Specials::NegativeZeroNan | Specials::AllOnesNanInfinity | Specials::NegativeZeroNanInfinity => {
                    return None;
                }
            },
        })
    }

    /// Exponents of non-zero numbers, of factors that `decoders` decode.
    pub(super) fn range(decoders: &[ValueDecoder; 2]) -> FactorRange {
        let [a, b] = decoders.map(|decoder| decoder.exponents);
        FactorRange { low: [a.0, b.0], high: [a.1, b.1] }
    }

    /// MagnitudeWord in binary32 of a number with these fields.
    #[inline(always)]
    fn magnitude(&self, fields: u32) -> u32 {
        let normal = f32::from_bits(fields.wrapping_add(self.bias));
        // A subnormal has the smallest exponent and no leading bit, so it becomes smaller; other numbers do not.
        let leading = f32::from_bits(self.bias.wrapping_add(1 << TRAILING));
        let subnormal = f32::from_bits(fields.wrapping_add(self.bias).wrapping_add(1 << TRAILING)) - leading;
        let least = if subnormal < normal { subnormal } else { normal };
        least.to_bits()
    }

    /// Biased exponent of a magnitude that is not zero.
    #[inline(always)]
    fn biased_exponent(&self, magnitude: u32) -> u32 {
        magnitude.max(((self.exponents.0 + BIAS) as u32) << TRAILING) >> TRAILING
    }
}

/// Fields seen so far, lane by lane: the largest, and the least that are not zero, minus one.
struct SeenFields {
    largest: Lane<u32>,
    least: Lane<u32>,
}

impl SeenFields {
    #[inline(always)]
    fn nothing() -> SeenFields {
        SeenFields { largest: [0; LANES], least: [u32::MAX; LANES] }
    }

    /// Range of the exponents, and true if an element is infinite or NaN.
    #[inline(always)]
    fn all(&self, decoder: &ValueDecoder) -> ((i32, i32), bool) {
        let (least, largest) = limits(self);
        let exponent = |fields: u32| decoder.biased_exponent(decoder.magnitude(fields)) as i32 - BIAS;
        let range = if largest == 0 { (0, 0) } else { (exponent(least.wrapping_add(1)), exponent(largest)) };
        (range, largest >= decoder.special)
    }
}

vectorised! {
    /// Over all lanes, the least minus one, and the largest.
    /// (Not inlined into the loops before it, whose lanes it would split.)
    #[inline(never)]
    fn limits(seen: &SeenFields) -> (u32, u32) {
        // Half of the lanes at a time, as loops may have written them: loads of the same size do not stall.
        let (mut least, mut largest) = (u32::MAX, 0);
        for l in 0..HALF {
            least = least.min(seen.least[l].min(seen.least[HALF + l]));
            largest = largest.max(seen.largest[l].max(seen.largest[HALF + l]));
        }
        (least, largest)
    }
}

impl ValueDecoder {
    /// Magnitudes of some left-aligned codes; bits below are ignored.
    /// Without `RANGE` the least fields seen are wrong. With `FLUSH` subnormals become zeros.
    #[inline(always)]
    fn magnitudes<const RANGE: bool, const FLUSH: bool>(&self, codes: &Lane<u32>, seen: &mut SeenFields) -> Lane<u32> {
        let mut fields = over(codes, |code| code >> self.right & self.fields);
        if FLUSH {
            fields = over(&fields, |fields| if self.flushes & (fields >> TRAILING == 0) { 0 } else { fields });
        }
        seen.largest = each(|l| seen.largest[l].max(fields[l]));
        if RANGE {
            seen.least = each(|l| seen.least[l].min(fields[l].wrapping_sub(1)));
        }
        over(&fields, |fields| self.magnitude(fields))
    }
}

vectorised! {
    /// Decodes values and exponents of whole [`LANES`] of codes; each one [`TURNS`] times with `turns`.
    /// With `ranged`, the range covers the codes; else it covers the format.
    pub(super) fn decode_values(elements: &mut Elements, decoder: &ValueDecoder, codes: &[u32], turns: bool, ranged: bool) {
        elements.keep_values(if turns { codes.len() * TURNS } else { codes.len() });
        match (ranged, decoder.flushes) {
            (false, false) => decode_all::<false, false>(elements, *decoder, codes.as_chunks().0, turns),
            (true, false) => decode_all::<true, false>(elements, *decoder, codes.as_chunks().0, turns),
            (_, true) => decode_all::<true, true>(elements, *decoder, codes.as_chunks().0, turns),
        }
        if !ranged {
            elements.range = decoder.exponents;
        }
    }
}

#[inline(always)]
fn decode_all<const RANGE: bool, const FLUSH: bool>(
    elements: &mut Elements,
    decoder: ValueDecoder,
    codes: &[Lane<u32>],
    turns: bool,
) {
    let Elements { exponents, values, .. } = elements;
    let mut seen = SeenFields::nothing();
    // A step opaque to the compiler, so that it vectorises over lanes, not over iterations.
    let (next, mut at) = (black_box(1), 0);
    while at < codes.len() {
        let aligned = over(&codes[at], |code| code << decoder.unused);
        let magnitude = decoder.magnitudes::<RANGE, FLUSH>(&aligned, &mut seen);
        let exponent = over(&magnitude, |magnitude| decoder.biased_exponent(magnitude) as i32 - BIAS);
        put(exponents, at, &each(|l| if magnitude[l] == 0 { ZERO } else { exponent[l] }), turns);
        put(values, at, &each(|l| f32::from_bits(magnitude[l] | aligned[l] & SIGN)), turns);
        at += next;
    }
    (elements.range, elements.any_special) = seen.all(&decoder);
}

vectorised! {
    /// Values and exponents of products, from rows of words with the codes of two factors.
    /// `order` has their places ([`FactorWords::places`]). Returns the ranges of the factors: those of the codes with
    /// `ranged`, else those of their formats.
    pub(super) fn decode_products(
        products: &mut Elements,
        decoders: &[ValueDecoder; 2],
        factors: &FactorWords<'_>,
        order: &[(usize, [u32; 2])],
        ranged: bool,
    ) -> FactorRange {
        products.keep_values(factors.a.len() / factors.words * order.len() * LANES);
        let range = match (ranged, decoders[0].flushes | decoders[1].flushes) {
            (false, false) => multiply_all::<false, false>(products, *decoders, factors, order),
            (true, false) => multiply_all::<true, false>(products, *decoders, factors, order),
            (_, true) => multiply_all::<true, true>(products, *decoders, factors, order),
        };
        if ranged { range } else { ValueDecoder::range(decoders) }
    }
}

#[inline(always)]
fn multiply_all<const RANGE: bool, const FLUSH: bool>(
    products: &mut Elements,
    [a, b]: [ValueDecoder; 2],
    factors: &FactorWords,
    order: &[(usize, [u32; 2])],
) -> FactorRange {
    let Elements { exponents, values, .. } = products;
    let (exponents, values) = (exponents.as_chunks_mut::<LANES>().0, values.as_chunks_mut::<LANES>().0);
    let mut seen = [SeenFields::nothing(), SeenFields::nothing()];
    let (next, mut first, mut begin) = (black_box(1), 0, 0);
    while first < factors.a.len() {
        let x_words = &factors.a[first..][..factors.words];
        let y_words = &factors.b[first..][..factors.words];
        let (exponents, values) = (&mut exponents[begin..][..order.len()], &mut values[begin..][..order.len()]);
        let mut at = 0;
        while at < order.len() {
            let (word, [x_place, y_place]) = order[at];
            let x = over(&x_words[word], |code: u32| code << (a.unused - x_place));
            let y = over(&y_words[word], |code: u32| code << (b.unused - y_place));
            let x_magnitude = a.magnitudes::<RANGE, FLUSH>(&x, &mut seen[0]);
            let y_magnitude = b.magnitudes::<RANGE, FLUSH>(&y, &mut seen[1]);
            let product = each(|l| f32::from_bits(x_magnitude[l]) * f32::from_bits(y_magnitude[l]));
            let exponent = each(|l| a.biased_exponent(x_magnitude[l]) + b.biased_exponent(y_magnitude[l]));
            exponents[at] = each(|l| if product[l] == 0.0 { ZERO } else { exponent[l] as i32 - 2 * BIAS });
            values[at] = each(|l| f32::from_bits(product[l].to_bits() | (x[l] ^ y[l]) & SIGN));
            at += next;
        }
        first += factors.words;
        begin += order.len();
    }
    let [a, b] = [seen[0].all(&a), seen[1].all(&b)];
    products.any_special = a.1 | b.1;
    FactorRange { low: [a.0.0, b.0.0], high: [a.0.1, b.0.1] }
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
    /// Sets the values of decoded elements with `fraction_bits`; exponents are taken as 0 with `spread`.
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
