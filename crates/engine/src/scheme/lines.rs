//! Splitting whole lines of numbers of f32, vectorised: the same codes as element by element.

use super::{OperandSplit, SplitPart};
use crate::{
    base::vectors::vectorised,
    format::{Format, Overflow, Rounding},
    tensor::{FormatDecoder, FormatEncoder},
};

/// The exponent of the smallest number of f32 other than zero.
const SMALLEST: i32 = -149;
/// Largest shift that, but at the ends of the range, keeps numbers of f32 numbers of f32.
const LARGEST_SHIFT: i32 = 100;

/// Each part of what those before leave, in f32, with its power of two.
pub(super) struct LineSplitter(Vec<(Coder, f32)>);

/// Codes of a format of up to 16 bits, and back.
pub(super) struct Coder {
    encoder: FormatEncoder,
    decoder: FormatDecoder,
}

impl LineSplitter {
    /// The splitter of a split; `None` for wide formats, shifts beyond f32, and splits other than parts.
    pub(super) fn new(split: &OperandSplit) -> Option<LineSplitter> {
        let OperandSplit::Parts(parts) = split else { return None };
        let coder = |part: &SplitPart| Coder::of_part(part).map(|coder| (coder, 2f32.powi(part.shift)));
        parts.iter().map(coder).collect::<Option<_>>().map(LineSplitter)
    }

    /// Writes the codes of each part of `values`.
    ///
    /// Returns false for numbers that f32 does not have, infinities and NaN, which it cannot split.
    pub(super) fn split(&self, values: &[f64], parts: &mut [&mut [u8]]) -> bool {
        let mut rest: Vec<f32> = values.iter().map(|value| *value as f32).collect();
        if rest.iter().zip(values).any(|(single, value)| f64::from(*single) != *value) {
            return false;
        }
        let (mut numbers, mut products) = (vec![0.0; values.len()], vec![0.0; values.len()]);
        for ((coder, scale), bytes) in self.0.iter().zip(parts) {
            multiply(&rest, *scale, &mut products);
            if !coder.encode(&products, bytes, &mut numbers) {
                return false;
            }
            subtract(&mut rest, &numbers, *scale);
        }
        true
    }
}

impl Coder {
    fn new(format: &Format, rounding: Rounding, overflow: Overflow) -> Option<Coder> {
        let encoder = FormatEncoder::new(format, rounding, overflow).ok()?;
        Some(Coder { encoder, decoder: FormatDecoder::new(format).ok()? })
    }

    /// The coder of a part, if the part and the remainder of a number of f32 are numbers of f32.
    fn of_part(part: &SplitPart) -> Option<Coder> {
        let float = part.format.float()?;
        let quantum = float.emin() - float.trailing_bits as i32 - part.shift;
        let fits = (0..=LARGEST_SHIFT).contains(&part.shift) && quantum >= SMALLEST && float.emax() < 128;
        Coder::new(part.format, part.rounding, Overflow::Standard).filter(|_| fits && float.signed)
    }

    /// Writes the codes of values and their numbers; returns false if one is no finite number.
    fn encode(&self, values: &[f32], bytes: &mut [u8], numbers: &mut [f32]) -> bool {
        let missing = self.encoder.encode(values, None, bytes);
        self.decoder.decode(bytes, numbers);
        missing.is_ok_and(|count| count == 0) && numbers.iter().all(|number| number.is_finite())
    }
}

vectorised! {
    fn multiply(values: &[f32], scale: f32, products: &mut [f32]) {
        for (product, value) in products.iter_mut().zip(values) {
            *product = value * scale;
        }
    }
}

vectorised! {
    /// Subtracts the numbers over `scale`, a power of two, from the remainder.
    fn subtract(rest: &mut [f32], numbers: &[f32], scale: f32) {
        let inverse = 1.0 / scale;
        for (rest, number) in rest.iter_mut().zip(numbers) {
            *rest -= number * inverse;
        }
    }
}
