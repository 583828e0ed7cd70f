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
    /// Exact factor of a block's elements, by scale code.
    factors: Vec<f32>,
    /// Factor of all elements afterwards; only this product may round.
    common: f32,
}

impl Dequantizer {
    /// Dequantizer for a code of the tensor's scale; `None` where more than the last product may round.
    pub fn new(format: &BlockFormat, tensor_scale: Option<u64>) -> Option<Dequantizer> {
        let (scale, element) = (format.scale, &format.element);
        let tensor_scale = tensor_scale.zip(format.tensor_scale);
        if scale.bits > 8 || tensor_scale.is_some() && !products_are_exact(element, scale) {
            return None;
        }
        let f32 = find("f32").ok()?;
        let factor = |code| match scale.value(code) {
            Real::Finite(finite) => exact(f32, &Real::Finite(finite.scaled(element.exponent))),
            special => exact(f32, &special),
        };
        Some(Dequantizer {
            elements: Decoder::new(element.format).ok()?,
            factors: (0..=scale.code_mask()).map(factor).collect::<Option<_>>()?,
            common: match tensor_scale {
                Some((code, format)) => exact(f32, &format.value(code))?,
                None => 1.0,
            },
        })
    }

    /// Factor of the elements of a block with this scale code, all scales included.
    pub fn scale(&self, code: u8) -> f32 {
        self.factors[usize::from(code) & (self.factors.len() - 1)] * self.common
    }

    /// Values of the elements, rounded to f32.
    pub fn values(&self, blocks: &Blocks) -> Vec<f32> {
        let (length, row) = (blocks.format.length, blocks.row);
        let (stretch, per_stretch) = slices::stretch(length, row);
        let mut values = vec![0.0; blocks.len()];
        let count = slices::stretches(stretch);
        let pieces = values.chunks_mut(count * stretch).zip(blocks.elements.chunks(count * stretch));
        parallel::each(pieces.zip(blocks.scales.chunks(count * per_stretch)), |((values, elements), scales)| {
            let stretches = values.chunks_mut(stretch).zip(elements.chunks(stretch));
            for ((values, elements), scales) in stretches.zip(scales.chunks(per_stretch)) {
                let mut decoded = vec![0.0; values.len()];
                self.elements.decode(elements, &mut decoded);
                // The table's length is a power of two: masking stays inside.
                let mask = self.factors.len() - 1;
                let factors: Vec<f32> = scales.iter().map(|code| self.factors[usize::from(*code) & mask]).collect();
                slices::scale(&decoded, slices::BlockedSlice { length, each: &factors }, self.common, values);
            }
        });
        values
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
