//! Scales: what the matrices of a link are divided by on their entry into a narrow format.

use crate::{
    base::named::named,
    format::{
        Format, Overflow, Real, Rounding,
        block::{BlockFormat, Quantizer, formats},
    },
    isa::Instruction,
};

named! {
    /// Divisor of a matrix, in f32, before it is rounded to a plain operand format of 16 bits at most.
    ///
    /// The product is multiplied by the scales of both matrices. Operands of block-scaled instructions have the scales of their
    /// blocks.
    pub enum MatrixScaling {
        None = "none": "No scale";
        Absmax = "absmax": "The largest magnitude over the largest number of the format";
        PowerOfTwo = "pow2": "The smallest power of two under which nothing saturates";
    }
}

impl MatrixScaling {
    /// The scale of values up to `amax` in a format up to `largest`; 1 for zeros alone.
    fn scale(self, amax: f64, largest: f64) -> f32 {
        let ratio = amax / largest;
        if ratio == 0.0 {
            return 1.0;
        }
        let scale = match self {
            MatrixScaling::None => 1.0,
            MatrixScaling::Absmax => ratio,
            MatrixScaling::PowerOfTwo => {
                // The exponent, without a logarithm, which machines may round in their own ways.
                let floor = (ratio.to_bits() >> 52) as i32 - 1023;
                let exponent = floor + i32::from(ratio > 2f64.powi(floor));
                2f64.powi(exponent.min(f32::MAX_EXP - 1))
            }
        };
        (scale as f32).max(f32::MIN_POSITIVE)
    }
}

/// Entry of a matrix into an operand format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OperandEntry {
    pub(super) format: &'static Format,
    scales: EntryScales,
    /// True for B, where k runs down the matrix.
    down: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum EntryScales {
    None,
    Matrix(MatrixScaling),
    Blocks(&'static BlockFormat),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Entered {
    pub(super) codes: Vec<u64>,
    /// The codes of the scales of its blocks, as an instruction takes them.
    pub(super) scales: Vec<u64>,
    /// Factor of the results.
    pub(super) factor: f64,
    pub(super) values: Vec<f64>,
}

/// The block format of an operand that has scales; `None` where the program has none like it.
pub fn block_format(instruction: &Instruction, format: &Format) -> Option<&'static BlockFormat> {
    let scale = instruction.scale?;
    let same = |candidate: &&BlockFormat| {
        candidate.element.format == format
            && candidate.scale == scale.format
            && candidate.length == scale.block
            && candidate.element.exponent == 0
    };
    formats().iter().find(same)
}

/// True if an instruction has no block scales, or scales of a known format.
pub fn has_known_scales(i: &Instruction) -> bool {
    i.scale.is_none() || [i.a, i.b].iter().all(|format| block_format(i, format).is_some())
}

/// The name of the scales of an instruction's operands in reports; `None` without scales.
pub(super) fn words(instruction: &Instruction, scaling: MatrixScaling) -> Option<String> {
    match OperandEntry::new(instruction, false, scaling).scales {
        EntryScales::None => None,
        EntryScales::Matrix(_) => Some(scaling.name().into()),
        EntryScales::Blocks(format) => Some(format.name.into()),
    }
}

impl OperandEntry {
    /// The entry of A, or of B where `down`.
    pub(super) fn new(instruction: &Instruction, down: bool, scaling: MatrixScaling) -> OperandEntry {
        let format = if down { instruction.b } else { instruction.a };
        let scales = match (block_format(instruction, format), scaling) {
            (Some(blocks), _) => EntryScales::Blocks(blocks),
            (None, MatrixScaling::None) => EntryScales::None,
            (None, _) if format.is_integer() || format.bits > 16 => EntryScales::None,
            (None, scaling) => EntryScales::Matrix(scaling),
        };
        OperandEntry { format, scales, down: down && scales != EntryScales::None }
    }

    /// True if a matrix has scales, so that its elements are not entered one by one.
    pub(super) fn is_scaled(&self) -> bool {
        self.scales != EntryScales::None
    }

    /// A matrix with `columns` columns, entered as a whole.
    pub(super) fn enter(&self, matrix: &[f64], columns: usize) -> Entered {
        match self.scales {
            EntryScales::None => unreachable!("a matrix without scales is entered element by element"),
            EntryScales::Matrix(rule) => {
                let scale = scale(matrix, self.format, rule);
                let divided = |value: &f64| f64::from(*value as f32 / scale);
                let code = |value: &f64| {
                    let rounded = self.format.encode(&Real::from(divided(value)), Rounding::Rne, Overflow::Saturate);
                    rounded.unwrap_or(0)
                };
                let codes: Vec<u64> = matrix.iter().map(code).collect();
                let factor = f64::from(scale);
                let values = codes.iter().map(|code| self.format.to_f64(*code) * factor).collect();
                Entered { codes, scales: Vec::new(), factor, values }
            }
            EntryScales::Blocks(format) => match self.down {
                false => blocks(format, matrix, columns),
                true => {
                    let rows = matrix.len() / columns;
                    let entered = blocks(format, &transposed(matrix, columns), rows);
                    Entered {
                        codes: transposed(&entered.codes, rows),
                        scales: transposed(&entered.scales, rows.div_ceil(format.length)),
                        values: transposed(&entered.values, rows),
                        ..entered
                    }
                }
            },
        }
    }
}

/// A matrix in blocks along its rows.
fn blocks(format: &'static BlockFormat, matrix: &[f64], columns: usize) -> Entered {
    let quantised = Quantizer::new(format).quantize_with(matrix.len(), columns, |at| Real::from(matrix[at]));
    let factor = format.tensor_scale.zip(quantised.tensor_scale).map_or(1.0, |(scale, code)| scale.to_f64(code));
    let of_row = columns.div_ceil(format.length);
    let value = |(at, element): (usize, &u8)| {
        let (row, column) = (at / columns, at % columns);
        let scale = format.scale.to_f64(quantised.scales[row * of_row + column / format.length].into());
        format.element.format.to_f64((*element).into()) * scale * factor
    };
    Entered {
        values: quantised.elements.iter().enumerate().map(value).collect(),
        codes: quantised.elements.iter().map(|code| (*code).into()).collect(),
        scales: quantised.scales.iter().map(|code| (*code).into()).collect(),
        factor,
    }
}

/// The scale of a matrix; 1 where everything is zero.
fn scale(matrix: &[f64], format: &Format, rule: MatrixScaling) -> f32 {
    let largest = matrix.iter().map(|value| value.abs()).filter(|value| value.is_finite()).fold(0.0, f64::max);
    rule.scale(largest, format.to_f64(format.largest(false)))
}

fn transposed<T: Copy>(matrix: &[T], columns: usize) -> Vec<T> {
    let rows = matrix.len() / columns.max(1);
    (0..matrix.len()).map(|at| matrix[at % rows * columns + at / rows]).collect()
}

/// The code of `value`; a NaN in a format without one (whose chain has overflowed already) is code 0.
pub(super) fn encode(format: &Format, value: &Real) -> u64 {
    format.encode(value, Rounding::Rne, Overflow::Standard).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    fn entry(instruction: &str, down: bool, scaling: MatrixScaling) -> OperandEntry {
        OperandEntry::new(&isa::find(instruction).unwrap(), down, scaling)
    }

    #[test]
    fn a_power_of_two_is_the_smallest_under_which_nothing_saturates() {
        for largest in [6.0, 57344.0, 448.0, 127.0] {
            for amax in [1e-3f32, 1.0, 447.9, 448.0, 448.1, 3e38, f32::MIN_POSITIVE].map(f64::from) {
                let scale = f64::from(MatrixScaling::PowerOfTwo.scale(amax, largest));
                let least = scale == f64::from(f32::MIN_POSITIVE) || largest * scale / 2.0 < amax;
                assert!(largest * scale >= amax && least, "{amax} {largest}");
                assert_eq!(scale.log2().fract(), 0.0);
            }
        }
        assert_eq!(MatrixScaling::PowerOfTwo.scale(0.0, 6.0), 1.0);
    }

    #[test]
    fn a_scaled_matrix_uses_the_whole_format_and_keeps_its_values() {
        for rule in [MatrixScaling::Absmax, MatrixScaling::PowerOfTwo] {
            let entry = entry("mma.m16n8k32.f32.e4m3.e4m3.f32", false, rule);
            let entered = entry.enter(&[1e6, -250.0, 0.0, 3e5], 4);
            assert!(entered.codes[0] >= 0x70 && entered.values[0] / 1e6 > 0.9, "{entered:?}");
            assert!(
                entered
                    .values
                    .iter()
                    .zip([1e6, -250.0, 0.0, 3e5])
                    .all(|(x, y)| (x - y).abs() <= 0.07 * y.abs() + 300.0)
            );
            assert_eq!(rule == MatrixScaling::PowerOfTwo, entered.factor.log2().fract() == 0.0);
        }
        // Without scales the same overflows.
        let e4m3 = entry("mma.m16n8k32.f32.e4m3.e4m3.f32", false, MatrixScaling::None).format;
        assert!(e4m3.to_f64(encode(e4m3, &Real::from(1e6))).is_nan());
    }

    #[test]
    fn blocks_of_b_run_down_its_columns() {
        let entry = entry("mma.m16n8k32.f32.e4m3.e4m3.f32.ue8m0.block32", true, MatrixScaling::None);
        // 32 x 2: the second column is 2^20 times as large.
        let matrix: Vec<f64> = (0..64).map(|at| if at % 2 == 0 { 1.5 } else { 1.5 * 1048576.0 }).collect();
        let entered = entry.enter(&matrix, 2);
        assert_eq!(entered.values, matrix);
        assert_eq!(entered.scales.len(), 2);
        assert_eq!(entered.scales[1] - entered.scales[0], 20);
    }

    #[test]
    fn nvfp4_has_a_scale_for_the_matrix_too() {
        let instruction =
            isa::all().iter().find(|i| block_format(i, i.a).is_some_and(|format| format.name == "nvfp4")).unwrap();
        let matrix: Vec<f64> = (0..instruction.k * 2).map(|at| 1e5 * (at as f64 - 7.0)).collect();
        let entered = OperandEntry::new(instruction, false, MatrixScaling::None).enter(&matrix, instruction.k);
        assert!(
            entered.factor != 1.0
                && entered.values.iter().zip(&matrix).all(|(x, y)| (x - y).abs() <= 0.2 * y.abs() + 2e6)
        );
    }
}
