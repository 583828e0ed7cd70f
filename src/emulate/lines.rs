//! Splitting whole lines of numbers of f32, vectorised: the same codes as element by element.

use super::{OperandSplit, Slices, SplitPart};
use crate::{
    base::vectors::vectorised,
    convert::{FormatDecoder, FormatEncoder},
    format::{Format, Overflow, Rounding},
};

/// The exponent of the smallest number of f32 other than zero.
const SMALLEST: i32 = -149;
/// The most bits of integers that are counted here.
const COUNTED_BITS: u32 = 16;
/// Largest shift that, but at the ends of the range, keeps numbers of f32 numbers of f32.
const LARGEST_SHIFT: i32 = 100;

pub(super) enum LineSplitter {
    /// Each part of what those before leave, in f32.
    Parts(Vec<(Coder, f32)>),
    /// Each slice of what those before leave, in f64.
    Slices(Slices, Coder),
}

/// Codes of a format of up to 16 bits, and back.
pub(super) struct Coder {
    encoder: FormatEncoder,
    decoder: FormatDecoder,
}

impl LineSplitter {
    /// The splitter of a split; `None` for wide formats and for shifts beyond f32.
    pub(super) fn new(split: &OperandSplit) -> Option<LineSplitter> {
        match split {
            OperandSplit::Parts(parts) => {
                let coder = |part: &SplitPart| Coder::of_part(part).map(|coder| (coder, 2f32.powi(part.shift)));
                parts.iter().map(coder).collect::<Option<_>>().map(LineSplitter::Parts)
            }
            OperandSplit::Slices(slices) if slices.bits <= COUNTED_BITS => {
                Coder::new(slices.format, Rounding::Rz, Overflow::Saturate)
                    .map(|coder| LineSplitter::Slices(*slices, coder))
            }
            OperandSplit::Slices(_) | OperandSplit::Digits(_) => None,
        }
    }

    /// Writes the codes of each part of `values`; `exponents` of units are one for all, or one each.
    ///
    /// Returns false for infinities and NaN, which it cannot split.
    pub(super) fn split(&self, values: &[f32], exponents: &[i32], parts: &mut [&mut [u8]]) -> bool {
        match self {
            LineSplitter::Parts(coders) => {
                let (mut rest, mut own) = (values.to_vec(), vec![0.0; values.len()]);
                let mut scaled = vec![0.0; values.len()];
                for ((coder, scale), bytes) in coders.iter().zip(parts) {
                    multiply(&rest, *scale, &mut scaled);
                    if !coder.encode(&scaled, bytes, &mut own) {
                        return false;
                    }
                    subtract(&mut rest, &own, *scale);
                }
                true
            }
            LineSplitter::Slices(slices, coder) => {
                let mut rest: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
                let (mut counted, mut own) = (vec![0.0; values.len()], vec![0.0; values.len()]);
                for (slice, bytes) in parts.iter_mut().enumerate() {
                    let unit = |exponent: &i32| 2f64.powi(exponent + slices.scale(slice));
                    let units: Vec<f64> = match exponents {
                        [one] => vec![unit(one); values.len()],
                        each => each.iter().map(unit).collect(),
                    };
                    count(&mut rest, &units, slices.rounding != Rounding::Rz, &mut counted);
                    if !coder.encode(&counted, bytes, &mut own) {
                        return false;
                    }
                }
                true
            }
        }
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

vectorised! {
    /// Counts units, powers of two, to nearest or toward zero, and subtracts them from the remainder.
    fn count(rest: &mut [f64], units: &[f64], nearest: bool, counted: &mut [f32]) {
        for ((rest, unit), counted) in rest.iter_mut().zip(units).zip(counted) {
            let quotient = *rest / unit;
            let count = if nearest { quotient.round_ties_even() } else { quotient.trunc() };
            *counted = count as f32;
            *rest -= count * unit;
        }
    }
}
