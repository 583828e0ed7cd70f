//! Splitting operands.

use super::{Digits, NumberMatrix, OperandSplit, Slices, SplitPart, lines::LineSplitter};
use crate::{
    base::parallel,
    format::{Format, Overflow, Rounding},
    gemm::Matrix,
    isa::Codes,
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SplitMatrix {
    pub(super) matrices: Vec<Matrix>,
    /// For each row of A (column of B) the exponent of its units; zeros unless the parts are slices.
    pub(super) exponents: Vec<i32>,
}

/// Lines that share a unit of slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceLine {
    /// A row.
    Row,
    /// A column.
    Column,
}

impl OperandSplit {
    /// The parts of a matrix, whose lines share units.
    pub(crate) fn split(&self, numbers: &NumberMatrix, line: SliceLine) -> SplitMatrix {
        let NumberMatrix { rows, columns, values } = numbers;
        let exponents = match (self, line) {
            (OperandSplit::Slices(_), line) => exponents(numbers, line),
            (_, SliceLine::Row) => vec![0; *rows],
            (_, SliceLine::Column) => vec![0; *columns],
        };
        let formats: Vec<&'static Format> = (0..self.count()).map(|part| self.format(part)).collect();
        let splitter = LineSplitter::new(self);
        let mut bytes: Vec<Vec<u8>> = formats.iter().map(|format| vec![0; rows * columns * format.bytes()]).collect();
        let mut lines: Vec<Vec<&mut [u8]>> = (0..*rows).map(|_| Vec::with_capacity(formats.len())).collect();
        for (bytes, format) in bytes.iter_mut().zip(&formats) {
            let own = bytes.chunks_mut((columns * format.bytes()).max(1));
            lines.iter_mut().zip(own).for_each(|(line, own)| line.push(own));
        }
        parallel::each(values.chunks((*columns).max(1)).zip(lines).enumerate(), |(at, (values, mut parts))| {
            let exponents = if line == SliceLine::Row { &exponents[at..=at] } else { &exponents };
            if !splitter.as_ref().is_some_and(|splitter| splitter.split(values, exponents, &mut parts)) {
                self.each(values, exponents, &formats, &mut parts);
            }
        });
        let matrix = |(format, bytes): (&&'static Format, Vec<u8>)| {
            Matrix::new(*rows, *columns, format, Codes::from_bytes(format, bytes).expect("whole codes"))
        };
        SplitMatrix { matrices: formats.iter().zip(bytes).map(matrix).collect(), exponents }
    }

    /// The codes of the parts of a line, element by element; units have one exponent, or each its own.
    fn each(&self, values: &[f32], exponents: &[i32], formats: &[&'static Format], parts: &mut [&mut [u8]]) {
        let mut codes = vec![0; formats.len()];
        for (column, value) in values.iter().enumerate() {
            let exponent = if exponents.len() == 1 { exponents[0] } else { exponents[column] };
            self.codes(f64::from(*value), exponent, &mut codes);
            for ((bytes, format), code) in parts.iter_mut().zip(formats).zip(&codes) {
                let width = format.bytes();
                bytes[column * width..][..width].copy_from_slice(&code.to_le_bytes()[..width]);
            }
        }
    }

    /// The codes of the parts of a number, in a line with this exponent.
    pub(super) fn codes(&self, x: f64, exponent: i32, codes: &mut [u64]) {
        match self {
            OperandSplit::Parts(parts) => parted(parts, x, codes),
            OperandSplit::Slices(slices) => sliced(slices, x, exponent, codes),
            OperandSplit::Digits(digits) => digits_of(digits, x as i64, codes),
        }
    }
}

/// The parts, each of the remainder after the parts before. The remainder of an f32 is an f64.
fn parted(parts: &[SplitPart], x: f64, codes: &mut [u64]) {
    let mut rest = x;
    for (SplitPart { format, rounding, shift, .. }, code) in parts.iter().zip(codes) {
        let scale = 2f64.powi(*shift);
        let own = format.encode_f64(rest * scale, *rounding, Overflow::Standard);
        *code = own.unwrap_or_else(|| format.largest(rest < 0.0));
        rest -= format.to_f64(*code) / scale;
    }
}

fn sliced(slices: &Slices, x: f64, exponent: i32, codes: &mut [u64]) {
    let mut rest = x;
    for (slice, code) in codes.iter_mut().enumerate() {
        let unit = 2f64.powi(exponent + slices.scale(slice));
        let counted = rest / unit;
        let counted = if slices.rounding == Rounding::Rz { counted.trunc() } else { counted.round_ties_even() };
        let own = slices.format.encode_f64(counted, Rounding::Rz, Overflow::Saturate);
        *code = own.expect("the format has these integers");
        rest -= counted * unit;
    }
}

fn digits_of(digits: &Digits, x: i64, codes: &mut [u64]) {
    for (place, code) in codes.iter_mut().enumerate() {
        *code = (x >> (place as u32 * digits.digit)) as u64 & ((1 << digits.digit) - 1);
    }
}

/// The smallest exponents of powers of two that are larger than all elements of a line.
fn exponents(numbers: &NumberMatrix, line: SliceLine) -> Vec<i32> {
    let rows = numbers.values.chunks(numbers.columns.max(1));
    let largest: Vec<f32> = match line {
        SliceLine::Row => rows.map(|row| row.iter().fold(0f32, |most, value| most.max(value.abs()))).collect(),
        SliceLine::Column => rows.fold(vec![0f32; numbers.columns], |mut most, row| {
            most.iter_mut().zip(row).for_each(|(most, value)| *most = most.max(value.abs()));
            most
        }),
    };
    let exponent = |largest: f32| {
        let bits = f64::from(largest).to_bits();
        if largest == 0.0 { 0 } else { (bits >> 52) as i32 - 1022 }
    };
    largest.into_iter().map(exponent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::Scheme;

    fn split(name: &str, x: f64, exponent: i32) -> Vec<f64> {
        parts(&Scheme::find(name).unwrap().a, x, exponent)
    }

    fn parts(split: &OperandSplit, x: f64, exponent: i32) -> Vec<f64> {
        let mut codes = vec![0; split.count()];
        split.codes(x, exponent, &mut codes);
        let value =
            |(part, code): (usize, u64)| split.format(part).to_f64(code) * 2f64.powi(split.scale(part) + exponent);
        codes.into_iter().enumerate().map(value).collect()
    }

    #[test]
    fn parts_keep_as_many_bits_as_the_papers_say() {
        for (name, bits) in
            [("half", 11), ("markidis", 21), ("egemm", 22), ("ootomo", 23), ("le-gemm", 21), ("bf16x9", 24)]
        {
            // Numbers in [1, 2), whose parts are no subnormal numbers of f16.
            let mut worst = 0f64;
            for step in 0..5000 {
                let x = f64::from(1.0 + (step * 1677) as f32 * f32::EPSILON);
                worst = worst.max((x - split(name, x, 0).iter().sum::<f64>()).abs());
            }
            let unit = 2f64.powi(-bits);
            assert!(worst <= unit && (worst > unit / 4.0 || bits == 24), "{name}: {worst:e}");
        }
    }

    /// Numbers of every size, both zeros and overflow of a part, against the split of each element.
    #[test]
    fn lines_are_split_as_their_elements_are() {
        let mut values: Vec<f32> =
            (0..20_000u32).map(|n| f32::from_bits(n.wrapping_mul(0x9e37_79b1) & 0xbfff_ffff)).collect();
        values.extend((0..20_000u32).map(|n| f32::from_bits(n.wrapping_mul(0x9e37_79b1) & 0x83ff_ffff | 0x3c00_0000)));
        values.retain(|value| value.is_finite());
        values.extend([0.0, -0.0, 1.0, -1.0, 65504.0, f32::MIN_POSITIVE, f32::from_bits(1)]);
        let count = values.len().div_ceil(100) * 100;
        values.resize(count, 0.25);
        for scheme in Scheme::shipped().map(|name| Scheme::find(name).unwrap()) {
            // Lines of moderate numbers, which are split at once, and lines in which something overflows, which are not.
            for (scale, columns) in [(1.0, 100), (2f32.powi(-20), 20), (2f32.powi(15), 50), (2f32.powi(-126), 100)] {
                let values: Vec<f32> = values.iter().map(|value| value * scale).collect();
                let numbers = NumberMatrix { rows: count / columns, columns, values };
                if matches!(scheme.a, OperandSplit::Digits(_)) {
                    continue;
                }
                for line in [SliceLine::Row, SliceLine::Column] {
                    let parts = scheme.a.split(&numbers, line);
                    let mut codes = vec![0; scheme.a.count()];
                    for (at, value) in numbers.values.iter().enumerate() {
                        let own = if line == SliceLine::Row { at / columns } else { at % columns };
                        scheme.a.codes(f64::from(*value), parts.exponents[own], &mut codes);
                        let found: Vec<u64> = parts.matrices.iter().map(|matrix| matrix.codes.get(at)).collect();
                        assert_eq!(found, codes, "{}: {value:e}", scheme.name);
                    }
                }
            }
        }
    }

    #[test]
    fn digits_add_up_to_every_integer() {
        for (name, least, most) in [("l16-r16", -32768, 32767), ("l16-r16-unsigned", 0, 65535), ("l12-r4", -2048, 2047)]
        {
            let split = Scheme::find(name).unwrap().a;
            for x in least..=most {
                assert_eq!(parts(&split, f64::from(x), 0).iter().sum::<f64>(), f64::from(x), "{name}");
            }
        }
    }

    #[test]
    fn units_of_slices_follow_the_largest_element_of_a_row_or_column() {
        let numbers =
            NumberMatrix { rows: 2, columns: 3, values: vec![0.0, -4.0, 3.9, 0.0, 0.1, f32::MIN_POSITIVE / 8.0] };
        assert_eq!(exponents(&numbers, SliceLine::Row), [3, -3]);
        assert_eq!(exponents(&numbers, SliceLine::Column), [0, 3, 2]);
        assert_eq!(split("ozaki-int8", 3.9, 3).iter().sum::<f64>(), (3.9f64 * 2f64.powi(25)).trunc() / 2f64.powi(25));
    }
}
