//! Slices of codes as slices of `f32`.

use super::{Code, SliceElement, constants::TRAILING_BITS, fits, parallel};
use crate::{
    Result,
    base::vectors::vectorised,
    format::{self, Encoding, Float, Format, Overflow, Rounding, Specials},
};

const HIDDEN: u32 = 1 << TRAILING_BITS;

/// Conversion of slices of codes of one format to `f32`.
///
/// The value is exact, or rounded to nearest, ties to even, in formats that reach beyond `f32`. NaNs become the
/// canonical `f32` NaN, 0x7fc00000. Bits above the format's width and padding are ignored.
#[derive(Debug, Clone)]
pub struct Decoder<E> {
    kind: Method,
    elements: std::marker::PhantomData<E>,
}

#[derive(Debug, Clone)]
enum Method {
    /// Every number is a normal `f32`, or both formats have the same smallest normal number.
    FieldMap(FieldMap),
    /// Value of every code.
    Table(Vec<f32>),
}

/// Map from the fields of a code to the fields of an `f32`.
#[derive(Debug, Clone, Copy)]
struct FieldMap {
    padding_bits: u32,
    /// Zero bits below the trailing significand in that of an `f32`.
    dropped: u32,
    /// Mask of exponent and trailing significand.
    magnitudes: u32,
    /// Largest magnitude of a subnormal number, or of zero.
    subnormals: u32,
    /// Smallest subnormal number; 0 if those are no special case.
    unit: f32,
    /// Increment of the bits of a normal number.
    rebias: u32,
    /// Shift from the place of the sign, if there is one, to that of `f32`.
    sign_bit: u32,
    sign_shift: u32,
    /// NaN codes: this mask leaves `nan`, or up to `more_nans` more.
    special: u32,
    nan: u32,
    more_nans: u32,
    infinity: u32,
}

impl<E: SliceElement> Decoder<E> {
    /// Decoder of codes of `format`.
    ///
    /// # Errors
    /// The format's codes are wider than an element, or of another format than the element's.
    pub fn new(format: &Format) -> Result<Decoder<E>> {
        fits::<E>(format)?;
        let fields = match &format.encoding {
            Encoding::Float(float) => FieldMap::new(format, float),
            Encoding::Integer { .. } | Encoding::Table(_) => None,
        };
        let kind = match fields {
            Some(fields) => Method::FieldMap(fields),
            None => Method::Table((0..=format.code_mask()).map(|code| nearest_f32(format, code)).collect()),
        };
        Ok(Decoder { kind, elements: std::marker::PhantomData })
    }

    /// Writes the value of every code to its place in `values`.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn decode(&self, codes: &[E], values: &mut [f32]) {
        assert_eq!(codes.len(), values.len(), "as many values as codes");
        let codes = E::codes(codes);
        match &self.kind {
            Method::FieldMap(fields) if fields.unit == 0.0 => aligned(fields, codes, values),
            Method::FieldMap(fields) => narrower(fields, codes, values),
            Method::Table(table) => looked_up(table, codes, values),
        }
    }

    /// [`Decoder::decode`] by the threads of rayon's pool.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn decode_parallel(&self, codes: &[E], values: &mut [f32]) {
        assert_eq!(codes.len(), values.len(), "as many values as codes");
        parallel::chunks(codes, values, |codes, values| {
            self.decode(codes, values);
            0
        });
    }
}

fn looked_up<C: Code>(table: &[f32], codes: &[C], values: &mut [f32]) {
    // The table's length is a power of two: masking stays inside.
    let mask = table.len() - 1;
    for (value, code) in values.iter_mut().zip(codes) {
        *value = table[code.widen() as usize & mask];
    }
}

/// `f32` nearest to the value of a code.
pub fn nearest_f32(format: &Format, code: u64) -> f32 {
    let f32_format = format::find("f32").expect("the table of formats has it");
    let bits = f32_format.encode(&format.value(code), Rounding::Rne, Overflow::Standard);
    f32::from_bits(bits.expect("f32 has a code for everything") as u32)
}

impl FieldMap {
    /// `None` if a number is not an `f32`, or the smallest ones need more than a shift.
    fn new(format: &Format, float: &Float) -> Option<FieldMap> {
        let emin = 1 - float.bias;
        let smallest = emin.checked_sub(float.trailing_bits as i32)?;
        let aligned = emin == -126;
        if !float.subnormals || !(aligned || smallest >= -126) || float.emax() > 127 || float.exponent_bits > 8 {
            return None;
        }
        let trailing = (1 << float.trailing_bits) - 1;
        let magnitudes = (1 << (float.exponent_bits + float.trailing_bits)) - 1;
        let width = format.bits - float.padding_bits;
        let sign_bit = if float.signed { 1 << (width - 1) } else { 0 };
        let infinity = magnitudes - trailing;
        let (special, nan, more_nans, infinity) = match float.specials {
            Specials::Ieee => (magnitudes, infinity + 1, trailing - 1, infinity),
            Specials::AllOnesNan => (magnitudes, magnitudes, 0, u32::MAX),
            Specials::AllOnesNanInfinity => (magnitudes, magnitudes, 0, magnitudes - 1),
            Specials::NegativeZeroNan => (magnitudes | sign_bit, sign_bit, 0, u32::MAX),
            // Its infinities are two keys, one for each sign, and `value` compares with one.
            Specials::NegativeZeroNanInfinity => return None,
            Specials::None => (0, 1, 0, u32::MAX),
        };
        Some(FieldMap {
            padding_bits: float.padding_bits,
            dropped: TRAILING_BITS - float.trailing_bits,
            magnitudes,
            subnormals: if aligned { 0 } else { trailing },
            unit: if aligned { 0.0 } else { f32::from_bits(((smallest + 127) as u32) << TRAILING_BITS) },
            rebias: ((127 - float.bias) as u32).wrapping_mul(HIDDEN),
            sign_bit,
            sign_shift: 32 - width,
            special,
            nan,
            more_nans,
            infinity,
        })
    }

    /// Value of a code, by a function from its magnitude to bits.
    #[inline(always)]
    fn value(&self, code: u32, bits: impl Fn(u32) -> u32) -> f32 {
        let fields = code >> self.padding_bits;
        let magnitude = bits(fields & self.magnitudes);
        let key = fields & self.special;
        let magnitude = if key == self.infinity { 0x7f80_0000 } else { magnitude };
        let value = magnitude | (fields & self.sign_bit) << self.sign_shift;
        f32::from_bits(if key.wrapping_sub(self.nan) <= self.more_nans { 0x7fc0_0000 } else { value })
    }
}

vectorised! {
    fn aligned<C: Code>(fields: &FieldMap, codes: &[C], values: &mut [f32]) {
        // A copy, so that the loop keeps its fields in registers.
        let fields = *fields;
        for (value, code) in values.iter_mut().zip(codes) {
            *value = fields.value(code.widen(), |magnitude| magnitude << fields.dropped);
        }
    }
}

vectorised! {
    fn narrower<C: Code>(fields: &FieldMap, codes: &[C], values: &mut [f32]) {
        let fields = *fields;
        for (value, code) in values.iter_mut().zip(codes) {
            *value = fields.value(code.widen(), |magnitude| {
                let normal = (magnitude << fields.dropped).wrapping_add(fields.rebias);
                // An integer of few bits times a power of two: exact.
                let subnormal = (magnitude as i32 as f32 * fields.unit).to_bits();
                if magnitude <= fields.subnormals { subnormal } else { normal }
            });
        }
    }
}
