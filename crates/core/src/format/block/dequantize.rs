//! Dequantisation to `f32`, vectorised: element times block scale times tensor scale.

use super::{BlockFormat, Blocks, Element};
use crate::{
    base::parallel,
    format::slices::{self, Decoder},
    format::{Float, Format, Overflow, Real, Rounding, find},
};

/// Dequantisation of the blocks of one tensor.
#[derive(Debug)]
pub struct Dequantizer {
    elements: Decoder<u8>,
    factors: BlockFactors,
    /// Factor of all elements afterwards; only this product may round.
    common: f32,
}

/// Exact factors of the elements of blocks.
#[derive(Debug)]
enum BlockFactors {
    /// By scale code.
    Listed(Vec<f32>),
    /// The value of the scale.
    Read(&'static Format),
}

impl BlockFactors {
    #[inline]
    fn of(&self, code: u32) -> f32 {
        match self {
            // The table's length is a power of two: masking stays inside.
            BlockFactors::Listed(all) => all[code as usize & (all.len() - 1)],
            BlockFactors::Read(format) if format.bits == 32 => f32::from_bits(code),
            BlockFactors::Read(format) => format.to_f64(code.into()) as f32,
        }
    }
}

impl Dequantizer {
    /// Dequantizer for a code of the tensor's scale; `None` where more than the last product may round.
    pub fn new(format: &BlockFormat, tensor_scale: Option<u64>) -> Option<Dequantizer> {
        let (scale, element) = (format.scale, &format.element);
        let tensor_scale = tensor_scale.zip(format.tensor_scale);
        let wide = scale.bits > 8;
        if format.offset.is_some()
            || wide && (element.exponent != 0 || tensor_scale.is_some() || scale.float()?.padding_bits > 0)
            || tensor_scale.is_some() && !products_are_exact(element, scale)
        {
            return None;
        }
        let f32 = find("f32").ok()?;
        let factor = |code| match scale.value(code) {
            Real::Finite(finite) => exact(f32, &Real::Finite(finite.times_power_of_two(element.exponent))),
            special => exact(f32, &special),
        };
        let factors = match wide {
            // Bits of f32, or numbers of 16 bits and fewer, which f32 holds.
            true if scale.name == "f32" || scale.bits <= 16 && f32.holds(scale) => BlockFactors::Read(scale),
            true => return None,
            false => BlockFactors::Listed((0..=scale.code_mask()).map(factor).collect::<Option<_>>()?),
        };
        Some(Dequantizer {
            elements: Decoder::new(element.format).ok()?,
            factors,
            common: match tensor_scale {
                Some((code, format)) => exact(f32, &format.value(code))?,
                None => 1.0,
            },
        })
    }

    /// Factor of the elements of a block with this scale code, all scales included.
    pub fn scale(&self, code: u32) -> f32 {
        self.factors.of(code) * self.common
    }

    /// Values of the elements, rounded to f32.
    pub fn values(&self, blocks: &Blocks) -> Vec<f32> {
        let BlockFormat { rows, length, .. } = *blocks.format;
        let row = blocks.row;
        let mut values = vec![0.0; blocks.len()];
        if rows > 1 {
            let band = rows.saturating_mul(row).max(1);
            let bands = values.chunks_mut(band).zip(blocks.elements.chunks(band));
            parallel::each(
                bands.zip(blocks.scales.chunks(row.div_ceil(length).max(1))),
                |((values, elements), scales)| {
                    for (values, elements) in values.chunks_mut(row).zip(elements.chunks(row)) {
                        self.stretch(elements, length, scales, values);
                    }
                },
            );
            return values;
        }
        let (stretch, per_stretch) = slices::stretch(length, row);
        let count = slices::stretches(stretch);
        let pieces = values.chunks_mut(count * stretch).zip(blocks.elements.chunks(count * stretch));
        parallel::each(pieces.zip(blocks.scales.chunks(count * per_stretch)), |((values, elements), scales)| {
            let stretches = values.chunks_mut(stretch).zip(elements.chunks(stretch));
            for ((values, elements), scales) in stretches.zip(scales.chunks(per_stretch)) {
                self.stretch(elements, length, scales, values);
            }
        });
        values
    }

    /// Values of consecutive parts of a row.
    fn stretch(&self, elements: &[u8], length: usize, scales: &[u32], values: &mut [f32]) {
        let mut decoded = vec![0.0; values.len()];
        self.elements.decode(elements, &mut decoded);
        let factors: Vec<f32> = scales.iter().map(|code| self.factors.of(*code)).collect();
        slices::scale(&decoded, slices::BlockedSlice { length, each: &factors }, self.common, values);
    }
}

/// `value` as an `f32`, if it is one.
fn exact(f32: &Format, value: &Real) -> Option<f32> {
    let [down, up] = [Rounding::Rd, Rounding::Ru].map(|mode| f32.encode(value, mode, Overflow::Standard));
    down.filter(|_| down == up).map(|bits| f32::from_bits(bits as u32))
}

/// True if every product of an element and a scale is an `f32`.
fn products_are_exact(element: &Element, scale: &Format) -> bool {
    let (Some(x), Some(y)) = (element.format.float(), scale.float()) else { return false };
    let quantum = |float: &Float| float.emin() - float.trailing_bits as i32;
    x.precision() + y.precision() <= 24
        && quantum(x) + quantum(y) + element.exponent >= -149
        && x.emax() + y.emax() + element.exponent < 127
}
