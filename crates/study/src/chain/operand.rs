//! Rounding to an operand format, for random entries and for the results of a link.

use super::{
    draw::EntryDraw,
    scaling::{Entered, OperandEntry, encode},
};
use crate::{
    base::parallel,
    format::{Format, Real},
};

/// Entries that are rounded at a time.
const PIECE: usize = 1 << 12;

/// Entries rounded (RNE) to a format, matrix by matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChainOperand {
    /// Their codes.
    pub codes: Vec<u64>,
    /// The values of the codes, scales and all.
    pub values: Vec<f64>,
    /// The codes of the scales of blocks, if there are any.
    pub scales: Vec<u64>,
    /// Factors of the results, one for each matrix; empty without scales.
    pub factors: Vec<f64>,
}

impl ChainOperand {
    /// Random matrices of `each` entries and `columns` columns, entered.
    pub(super) fn new(drawn: &[f64], draw: EntryDraw, entry: &OperandEntry, each: usize, columns: usize) -> Self {
        if !entry.is_scaled() {
            return ChainOperand::rounded(drawn, draw, entry.format);
        }
        let entered: Vec<Entered> = parallel::map(drawn.chunks(each), |matrix| entry.enter(matrix, columns));
        let mut all = ChainOperand { codes: Vec::new(), values: Vec::new(), scales: Vec::new(), factors: Vec::new() };
        for matrix in entered {
            all.codes.extend(matrix.codes);
            all.values.extend(matrix.values);
            all.scales.extend(matrix.scales);
            all.factors.push(matrix.factor);
        }
        all
    }

    /// Random entries rounded to `format` one by one.
    fn rounded(drawn: &[f64], draw: EntryDraw, format: &Format) -> Self {
        let (mut codes, mut values) = (vec![0; drawn.len()], vec![0.0; drawn.len()]);
        let pieces = drawn.chunks(PIECE).zip(codes.chunks_mut(PIECE).zip(values.chunks_mut(PIECE)));
        parallel::each(pieces, |(drawn, (codes, values))| {
            for (drawn, (code, value)) in drawn.iter().zip(codes.iter_mut().zip(values)) {
                *code = encode(format, &Real::from(draw.operand(*drawn, format)));
                *value = format.to_f64(*code);
            }
        });
        ChainOperand { codes, values, scales: Vec::new(), factors: Vec::new() }
    }
}

/// The operand format that a chain's results are rounded to, and where it ends.
pub(super) struct EntryFormat {
    format: &'static Format,
    /// Smallest magnitudes, below and above zero, that saturate; for formats with neither infinity nor NaN.
    limits: Option<(f64, f64)>,
}

impl EntryFormat {
    pub(super) fn new(format: &'static Format) -> Self {
        let limit = |negative| {
            let largest = format.largest(negative);
            if format.table().is_some() {
                let largest = format.to_f64(largest);
                return if negative { largest.next_down() } else { largest.next_up() };
            }
            // One unit in the last place inwards: towards zero, but for negative integers.
            let inner = if format.is_integer() && negative { largest.wrapping_add(1) } else { largest.wrapping_sub(1) };
            let (largest, inner) = (format.to_f64(largest), format.to_f64(inner));
            largest + (largest - inner) / 2.0
        };
        let bounded = !format.has_nan() && !format.has_infinity();
        EntryFormat { format, limits: bounded.then(|| (limit(true), limit(false))) }
    }

    /// The code of a result, rounded by RNE with the format's own overflow, and whether it was saturated.
    ///
    /// An infinity or NaN is not saturated: it shows in the next result.
    pub(super) fn code(&self, result: &Format, code: u64) -> (u64, bool) {
        let value = result.value(code);
        let saturated = self.limits.is_some_and(|(lowest, highest)| {
            let value = result.to_f64(code);
            value <= lowest || value >= highest
        });
        (encode(self.format, &value), saturated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    fn entering(operand: &str, value: f64) -> (f64, bool) {
        let (operand, result) = (format::find(operand).unwrap(), format::find("f64").unwrap());
        let (code, saturated) = EntryFormat::new(operand).code(result, value.to_bits());
        (operand.to_f64(code), saturated)
    }

    #[test]
    fn results_beyond_an_integer_format_saturate_and_are_marked() {
        assert_eq!(entering("s8", 127.0), (127.0, false));
        assert_eq!(entering("s8", 128.0), (127.0, true));
        assert_eq!(entering("s8", -128.0), (-128.0, false));
        assert_eq!(entering("s8", -129.0), (-128.0, true));
        assert_eq!(entering("u8", 255.0), (255.0, false));
        assert_eq!(entering("u8", 256.0), (255.0, true));
        assert_eq!(entering("u8", 0.0), (0.0, false));
        assert_eq!(entering("u8", -1.0), (0.0, true));
    }

    #[test]
    fn results_beyond_a_finite_float_format_saturate_and_are_marked() {
        assert_eq!(entering("e2m1", 6.9), (6.0, false));
        assert_eq!(entering("e2m1", 7.0), (6.0, true));
        assert_eq!(entering("e2m1", -7.0), (-6.0, true));
        assert_eq!(entering("e2m3", 7.74), (7.5, false));
        assert_eq!(entering("e2m3", 7.75), (7.5, true));
    }

    #[test]
    fn results_beyond_other_formats_overflow_as_their_standards_say() {
        assert_eq!(entering("f16", 65519.0), (65504.0, false));
        assert_eq!(entering("f16", 65520.0), (f64::INFINITY, false));
        assert_eq!(entering("e5m2", -1e6), (f64::NEG_INFINITY, false));
        assert!(entering("e4m3", 480.0).0.is_nan());
        assert_eq!(entering("e4m3", 464.0), (448.0, false));
    }

    #[test]
    fn random_bits_become_every_small_integer_equally_often() {
        for (name, allowed) in [("s8", &[-1.0, 0.0, 1.0][..]), ("u8", &[0.0, 1.0])] {
            let drawn: Vec<f64> = (0..3u64 << 10).map(|i| ((i << 32) / (3 << 10)) as f64).collect();
            let operand = ChainOperand::rounded(&drawn, EntryDraw::Bits, format::find(name).unwrap());
            assert!(operand.values.iter().all(|value| allowed.contains(value)), "{name}");
            for value in allowed {
                let count = operand.values.iter().filter(|v| *v == value).count();
                assert!(count.abs_diff(drawn.len() / allowed.len()) <= 1, "{name} {value} {count}");
            }
        }
    }
}
