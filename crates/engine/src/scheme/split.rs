//! Splitting operands.

use super::{
    Digits, OperandSplit, Scheme, Slices, SplitPart,
    lines::LineSplitter,
    moduli::{self, Residues},
};
use crate::{
    Result,
    base::work,
    format::{Format, Overflow, Rounding},
    isa::Codes,
    product::{Matrix, NumberMatrix},
};

/// Bits below the last slice that decide ties: one of weight, and one that is sticky.
const TIE_BITS: u32 = 2;

#[derive(Debug, Clone, PartialEq)]
pub struct SplitMatrix {
    pub(super) matrices: Vec<Matrix>,
    /// The exponents of the units of each row of A (column of B).
    ///
    /// Zeros, unless the parts are slices or remainders.
    pub(super) exponents: Vec<i32>,
    /// True for each row of A (column of B) that holds an infinity or NaN.
    ///
    /// Slices and remainders cannot hold these.
    pub(super) lost: Vec<bool>,
}

/// Lines that share a unit of slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceLine {
    /// A row.
    Row,
    /// A column.
    Column,
}

impl Scheme {
    /// The parts of both operands.
    ///
    /// # Errors
    /// An interruption.
    pub(super) fn split(&self, a: &NumberMatrix, b: &NumberMatrix) -> Result<(SplitMatrix, SplitMatrix)> {
        match (&self.a, &self.b) {
            (OperandSplit::Moduli(moduli), OperandSplit::Moduli(_)) => {
                let (rows, columns) = moduli::unit_exponents(moduli, a, b);
                let x = self.a.with_exponents(a, SliceLine::Row, rows)?;
                Ok((x, self.a.with_exponents(b, SliceLine::Column, columns)?))
            }
            _ => Ok((self.a.split(a, SliceLine::Row)?, self.b.split(b, SliceLine::Column)?)),
        }
    }
}

impl OperandSplit {
    /// The parts of a matrix, whose lines share units. (Remainders depend on both operands.)
    ///
    /// # Errors
    /// An interruption.
    pub fn split(&self, numbers: &NumberMatrix, line: SliceLine) -> Result<SplitMatrix> {
        let exponents = match (self, line) {
            (OperandSplit::Slices(Slices { headroom: Some(bits), .. }), line) => fields(numbers, line, *bits),
            (OperandSplit::Slices(_), line) => exponents(numbers, line),
            (_, SliceLine::Row) => vec![0; numbers.rows],
            (_, SliceLine::Column) => vec![0; numbers.columns],
        };
        self.with_exponents(numbers, line, exponents)
    }

    fn with_exponents(&self, numbers: &NumberMatrix, line: SliceLine, exponents: Vec<i32>) -> Result<SplitMatrix> {
        let NumberMatrix { rows, columns, values } = numbers;
        let lost = match self {
            OperandSplit::Slices(_) | OperandSplit::Moduli(_) => lost(numbers, line),
            OperandSplit::Parts(_) | OperandSplit::Digits(_) => vec![false; exponents.len()],
        };
        let formats: Vec<&'static Format> = (0..self.count()).map(|part| self.format(part)).collect();
        let splitter = LineSplitter::new(self);
        let coder = ElementSplitter::new(self);
        let mut bytes: Vec<Vec<u8>> = formats.iter().map(|format| vec![0; rows * columns * format.bytes()]).collect();
        let mut lines: Vec<Vec<&mut [u8]>> = (0..*rows).map(|_| Vec::with_capacity(formats.len())).collect();
        for (bytes, format) in bytes.iter_mut().zip(&formats) {
            let chunks = bytes.chunks_mut((columns * format.bytes()).max(1));
            lines.iter_mut().zip(chunks).for_each(|(line, chunk)| line.push(chunk));
        }
        work::map(values.chunks((*columns).max(1)).zip(lines).enumerate(), |(at, (values, mut parts))| {
            let exponents = if line == SliceLine::Row { &exponents[at..=at] } else { &exponents };
            if !splitter.as_ref().is_some_and(|splitter| splitter.split(values, &mut parts)) {
                coder.each(values, exponents, &formats, &mut parts);
            }
            Ok(())
        })?;
        let matrix = |(format, bytes): (&&'static Format, Vec<u8>)| {
            Matrix::new(*rows, *columns, format, Codes::from_bytes(format, bytes).expect("whole codes"))
        };
        Ok(SplitMatrix { matrices: formats.iter().zip(bytes).map(matrix).collect(), exponents, lost })
    }
}

/// Splits element by element.
pub(super) enum ElementSplitter<'s> {
    Parts(&'s [SplitPart]),
    /// Slices, and the codes of their integers from the smallest on.
    Slices(&'s Slices, Vec<(i64, Vec<u64>)>),
    Digits(&'s Digits),
    Residues(Residues),
}

impl ElementSplitter<'_> {
    pub(super) fn new(split: &OperandSplit) -> ElementSplitter<'_> {
        match split {
            OperandSplit::Parts(parts) => ElementSplitter::Parts(parts),
            OperandSplit::Slices(slices) => {
                let codes = |slice: usize| {
                    let ((least, most), format) = (slices.range(slice), split.format(slice));
                    let code = |x: i64| format.encode_f64(x as f64, Rounding::Rz, Overflow::Saturate);
                    (least, (least..=most).map(|x| code(x).expect("the format has these integers")).collect())
                };
                ElementSplitter::Slices(slices, (0..slices.count).map(codes).collect())
            }
            OperandSplit::Digits(digits) => ElementSplitter::Digits(digits),
            OperandSplit::Moduli(moduli) => ElementSplitter::Residues(Residues::new(moduli)),
        }
    }

    /// The codes of the parts of a line; units have one exponent, or each its own.
    fn each(&self, values: &[f64], exponents: &[i32], formats: &[&'static Format], parts: &mut [&mut [u8]]) {
        let mut codes = vec![0; formats.len()];
        for (column, value) in values.iter().enumerate() {
            let exponent = if exponents.len() == 1 { exponents[0] } else { exponents[column] };
            self.codes(*value, exponent, &mut codes);
            for ((bytes, format), code) in parts.iter_mut().zip(formats).zip(&codes) {
                let width = format.bytes();
                bytes[column * width..][..width].copy_from_slice(&code.to_le_bytes()[..width]);
            }
        }
    }

    /// The codes of the parts of a number, in a line with this exponent.
    ///
    /// Zeros for infinities and NaN, which slices and remainders cannot hold.
    pub(super) fn codes(&self, x: f64, exponent: i32, codes: &mut [u64]) {
        match self {
            ElementSplitter::Parts(parts) => parted(parts, x, codes),
            ElementSplitter::Digits(digits) => digits_of(digits, x as i64, codes),
            ElementSplitter::Slices(..) | ElementSplitter::Residues(_) if !x.is_finite() => codes.fill(0),
            ElementSplitter::Slices(slices, known) => {
                let put = |slice: usize, integer: i64| {
                    let (least, known) = &known[slice];
                    codes[slice] = known[(integer - least) as usize];
                };
                match slices.balanced {
                    true => balanced(slices, x, exponent, put),
                    false => sliced(slices, x, exponent, put),
                }
            }
            ElementSplitter::Residues(residues) => residues.codes(x, exponent, codes),
        }
    }
}

/// The parts, each of the remainder after the parts before.
fn parted(parts: &[SplitPart], x: f64, codes: &mut [u64]) {
    let mut rest = x;
    for (SplitPart { format, rounding, shift, .. }, code) in parts.iter().zip(codes) {
        let scale = 2f64.powi(*shift);
        let encoded = format.encode_f64(rest * scale, *rounding, Overflow::Standard);
        *code = encoded.unwrap_or_else(|| format.largest(rest < 0.0));
        rest -= format.to_f64(*code) / scale;
    }
}

/// Sign, significand and exponent of its last bit, of a finite number.
pub fn taken_apart(x: f64) -> (bool, u64, i32) {
    let bits = x.to_bits();
    let (biased, trailing) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (significand, exponent) = if biased == 0 { (trailing, -1074) } else { (trailing | 1 << 52, biased - 1075) };
    (bits >> 63 == 1, significand, exponent)
}

/// Puts the integers of the balanced slices of a number below 2^exponent, the last one first.
fn balanced(slices: &Slices, x: f64, exponent: i32, mut put: impl FnMut(usize, i64)) {
    let (negative, significand, x_exponent) = taken_apart(x);
    let (bits, base) = (slices.bits as i32, 1i128 << slices.bits);
    // The truncated number is `rest` times 2^bits to the power of `zeros`, in units of the last slice.
    let up = x_exponent - exponent + slices.kept_bits() as i32;
    let (magnitude, zeros) = match up {
        0.. => (i128::from(significand) << (up % bits), (up / bits) as usize),
        _ => (i128::from(significand.checked_shr(up.unsigned_abs()).unwrap_or(0)), 0),
    };
    let mut rest = if negative { -magnitude } else { magnitude };
    for slice in (0..slices.count).rev() {
        if slices.count - 1 - slice < zeros {
            put(slice, 0);
            continue;
        }
        let digit = (rest + base / 2).rem_euclid(base) - base / 2;
        put(slice, if slice == 0 { rest } else { digit } as i64);
        rest = (rest - digit) >> slices.bits;
    }
}

/// Puts the integers of the slices of a number below 2^exponent, from an integer of all their bits.
fn sliced(slices: &Slices, x: f64, exponent: i32, mut put: impl FnMut(usize, i64)) {
    let (negative, significand, x_exponent) = taken_apart(x);
    let last = exponent - slices.kept_bits() as i32 - TIE_BITS as i32;
    // The magnitude in units of the last tie bit; what lies below it makes that bit one.
    let up = x_exponent - last;
    let magnitude = match up {
        0.. => i128::from(significand) << up,
        _ if up > -64 => {
            let kept = significand >> -up;
            i128::from(kept | u64::from(kept << -up != significand))
        }
        _ => i128::from(significand != 0),
    };
    let bits = |slice: usize| slices.bits * (slices.count - 1 - slice) as u32;
    if slices.rest.is_some() {
        let signed = if negative { -magnitude } else { magnitude };
        let integer = if slices.rounding == Rounding::Rd { signed >> TIE_BITS } else { signed / (1 << TIE_BITS) };
        for slice in 0..slices.count {
            let shifted = integer >> bits(slice);
            put(slice, if slice == 0 { shifted } else { shifted & ((1 << slices.bits) - 1) } as i64);
        }
        return;
    }
    let mut rest = magnitude;
    for slice in 0..slices.count {
        let unit = bits(slice) + TIE_BITS;
        let floor = rest >> unit;
        let below = rest - (floor << unit);
        let half = 1i128 << (unit - 1);
        let up = slices.rounding == Rounding::Rne && (below > half || below == half && floor & 1 == 1);
        let counted = floor + i128::from(up);
        rest -= counted << unit;
        put(slice, if negative { -counted } else { counted } as i64);
    }
}

fn digits_of(digits: &Digits, x: i64, codes: &mut [u64]) {
    for (place, code) in codes.iter_mut().enumerate() {
        *code = (x >> (place as u32 * digits.digit)) as u64 & ((1 << digits.digit) - 1);
    }
}

/// For each line, what `add` makes of its elements, one after another.
pub(super) fn each_line<T: Clone>(
    numbers: &NumberMatrix,
    line: SliceLine,
    start: T,
    add: impl Fn(&mut T, f64),
) -> Vec<T> {
    let rows = numbers.values.chunks(numbers.columns.max(1));
    match line {
        SliceLine::Row => rows
            .map(|row| {
                let mut total = start.clone();
                row.iter().for_each(|value| add(&mut total, *value));
                total
            })
            .collect(),
        SliceLine::Column => rows.fold(vec![start; numbers.columns], |mut all, row| {
            all.iter_mut().zip(row).for_each(|(total, value)| add(total, *value));
            all
        }),
    }
}

/// For each line, true if it holds an infinity or NaN.
fn lost(numbers: &NumberMatrix, line: SliceLine) -> Vec<bool> {
    each_line(numbers, line, false, |lost, value| *lost |= !value.is_finite())
}

/// Exponents of lines by the exponent field of the largest finite element.
///
/// One more if so many leading fraction bits are all ones.
pub(super) fn fields(numbers: &NumberMatrix, line: SliceLine, bits: u32) -> Vec<i32> {
    let largest = each_line(numbers, line, 0f64, |most, value| {
        if value.is_finite() {
            *most = most.max(value.abs());
        }
    });
    let exponent = |largest: f64| {
        let (word, ones) = (largest.to_bits(), (1 << bits) - 1);
        (word >> 52) as i32 - 1022 + i32::from(word >> (52 - bits) & ones == ones)
    };
    largest.into_iter().map(exponent).collect()
}

/// The smallest exponents of powers of two that are larger than all finite elements of a line.
pub fn exponents(numbers: &NumberMatrix, line: SliceLine) -> Vec<i32> {
    let largest = each_line(numbers, line, 0f64, |most, value| {
        if value.is_finite() {
            *most = most.max(value.abs());
        }
    });
    let exponent = |largest: f64| {
        let (_, significand, exponent) = taken_apart(largest);
        if significand == 0 { 0 } else { exponent + 64 - significand.leading_zeros() as i32 }
    };
    largest.into_iter().map(exponent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;

    fn split(name: &str, x: f64, exponent: i32) -> Vec<f64> {
        parts(&Scheme::find(name).unwrap().a, x, exponent)
    }

    fn parts(split: &OperandSplit, x: f64, exponent: i32) -> Vec<f64> {
        let mut codes = vec![0; split.count()];
        ElementSplitter::new(split).codes(x, exponent, &mut codes);
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
                let values: Vec<f64> = values.iter().map(|value| f64::from(value * scale)).collect();
                let numbers = NumberMatrix { rows: count / columns, columns, values };
                if matches!(scheme.a, OperandSplit::Digits(_) | OperandSplit::Moduli(_)) {
                    continue;
                }
                for line in [SliceLine::Row, SliceLine::Column] {
                    let parts = scheme.a.split(&numbers, line).unwrap();
                    let (mut codes, splitter) = (vec![0; scheme.a.count()], ElementSplitter::new(&scheme.a));
                    for (at, value) in numbers.values.iter().enumerate() {
                        let place = if line == SliceLine::Row { at / columns } else { at % columns };
                        splitter.codes(*value, parts.exponents[place], &mut codes);
                        let in_matrices: Vec<u64> = parts.matrices.iter().map(|matrix| matrix.codes.get(at)).collect();
                        assert_eq!(in_matrices, codes, "{}: {value:e}", scheme.name);
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
        let numbers = NumberMatrix {
            rows: 2,
            columns: 3,
            values: vec![0.0, -4.0, 3.9, 0.0, 0.1, f64::from(f32::MIN_POSITIVE / 8.0)],
        };
        assert_eq!(exponents(&numbers, SliceLine::Row), [3, -3]);
        assert_eq!(exponents(&numbers, SliceLine::Column), [0, 3, 2]);
        assert_eq!(split("ozaki-int8", 3.9, 3).iter().sum::<f64>(), (3.9f64 * 2f64.powi(25)).trunc() / 2f64.powi(25));
    }
}
