//! References of single elements of a product, with scales, C and the bias.

use rug::Float;

use super::{
    super::{Factors, Matrix, Schedule, schedule::CEntry},
    Yardstick,
};
use crate::format::{Finite, Format, Real};

/// An element by one yardstick: its value, and its code in the output's format.
pub struct ElementError {
    /// The value, rounded to f64.
    pub value: f64,
    /// D minus the value.
    pub error: f64,
    /// Its code in the output's format.
    pub code: Option<u64>,
}

/// Bits that hold every sum of products exactly.
fn precision(schedule: &Schedule, factors: &Factors) -> u32 {
    let span = |format: &Format| match format.float() {
        Some(float) => (1 << float.exponent_bits) + 2 * float.trailing_bits + 2,
        None => format.bits + 1,
    };
    let of = |matrix: &Option<Matrix>| matrix.as_ref().map_or(0, |matrix| span(matrix.format));
    let factor_bits = if schedule.alpha == 1.0 && schedule.beta.abs() <= 1.0 { 64 } else { 2300 };
    let Factors { a, b, c, bias, scale_a, scale_b } = factors;
    span(a.format) + span(b.format) + of(c) + of(bias) + of(scale_a) + of(scale_b) + factor_bits + 64
}

/// The yardsticks of elements of D.
pub struct Yardsticks<'a> {
    schedule: &'a Schedule,
    factors: &'a Factors,
    precision: u32,
}

impl<'a> Yardsticks<'a> {
    /// The yardsticks of products of these operands.
    pub fn new(schedule: &'a Schedule, factors: &'a Factors) -> Yardsticks<'a> {
        Yardsticks { schedule, factors, precision: precision(schedule, factors) }
    }

    /// An element of D, whose value is `computed`, by a yardstick.
    pub fn measure(
        &self,
        yardstick: Yardstick,
        row: usize,
        column: usize,
        computed: f64,
        format: &Format,
    ) -> ElementError {
        match yardstick {
            Yardstick::Single => self.rounded(self.plain(row, column, |x| f64::from(x as f32)), computed, format),
            Yardstick::Double => self.rounded(self.plain(row, column, |x| x), computed, format),
            Yardstick::Exact => {
                let sum = self.exact(row, column);
                let code = self.code(format, &real(&sum));
                ElementError {
                    value: sum.to_f64(),
                    error: (Float::with_val(self.precision, computed) - &sum).to_f64(),
                    code,
                }
            }
        }
    }

    fn rounded(&self, value: f64, computed: f64, format: &Format) -> ElementError {
        let code = match value.is_nan() {
            true => self.code(format, &Real::Nan),
            false => format.encode_f64(value, self.schedule.output.rounding, self.schedule.output.overflow),
        };
        ElementError { value, error: computed - value, code }
    }

    fn code(&self, format: &Format, value: &Real) -> Option<u64> {
        let output = &self.schedule.output;
        match value {
            Real::Nan => output.nan.or(format.nan()),
            value => format.encode(value, output.rounding, output.overflow),
        }
    }

    /// Factors of the term at a k: elements of A and B, and the product of their scales (24 bits).
    fn term(&self, row: usize, column: usize, k: usize) -> (f64, f64, [f64; 2]) {
        let Factors { a, b, scale_a, scale_b, .. } = self.factors;
        let (ks, shape) = match (&self.schedule.scales, self.schedule.instruction.scale) {
            (Some(blocks), _) => ([k / blocks.a[1], k / blocks.b[0]], [row / blocks.a[0], column / blocks.b[1]]),
            (None, Some(scale)) => ([k / scale.block; 2], [row, column]),
            (None, None) => ([0; 2], [0; 2]),
        };
        let one =
            |matrix: &Option<Matrix>, row, column| matrix.as_ref().map_or(1.0, |matrix| matrix.value(row, column));
        (a.value(row, k), b.value(k, column), [one(scale_a, shape[0], ks[0]), one(scale_b, ks[1], shape[1])])
    }

    fn c(&self, row: usize, column: usize) -> Option<f64> {
        let used = self.schedule.c == CEntry::Start || self.schedule.beta != 0.0;
        self.factors.c.as_ref().filter(|_| used).map(|c| c.value(row, column))
    }

    fn bias(&self, column: usize) -> Option<f64> {
        self.factors.bias.as_ref().map(|bias| bias.value(0, column))
    }

    /// The sum with every operation rounded.
    fn plain(&self, row: usize, column: usize, round: impl Fn(f64) -> f64) -> f64 {
        let has_scales = self.factors.scale_a.is_some();
        let mut sum = 0.0;
        for k in 0..self.factors.k() {
            let (a, b, [x, y]) = self.term(row, column, k);
            let product = round(a * b);
            sum = round(sum + if has_scales { round(product * round(x * y)) } else { product });
        }
        let (alpha, beta) = (round(self.schedule.alpha), round(self.schedule.beta));
        let sum = round(alpha * sum);
        let sum = self.c(row, column).map_or(sum, |c| round(sum + round(beta * c)));
        self.bias(column).map_or(sum, |bias| round(sum + bias))
    }

    /// The exact sum, rounded to a code of D's format.
    pub fn rounded_exact(&self, row: usize, column: usize) -> Option<u64> {
        self.code(self.schedule.output.format, &real(&self.exact(row, column)))
    }

    /// The exact sum.
    pub fn exact(&self, row: usize, column: usize) -> Float {
        let bits = self.precision;
        let formats = [self.factors.a.format, self.factors.b.format];
        // Products of significands of up to 26 bits, of numbers of up to 2^128, are doubles.
        let narrow = formats
            .iter()
            .all(|format| format.bits <= 32 && format.float().is_none_or(|float| float.precision() <= 26));
        let has_scales = self.factors.scale_a.is_some();
        let mut sum = Float::new(bits);
        for k in 0..self.factors.k() {
            let (a, b, [x, y]) = self.term(row, column, k);
            match (narrow, has_scales) {
                (true, false) => sum += a * b,
                _ => sum += Float::with_val(bits, a) * b * x * y,
            }
        }
        sum *= self.schedule.alpha;
        if let Some(c) = self.c(row, column) {
            sum += Float::with_val(bits, self.schedule.beta) * c;
        }
        if let Some(bias) = self.bias(column) {
            sum += bias;
        }
        sum
    }
}

/// A number as encoding takes it: exact up to 127 bits, sticky below.
fn real(x: &Float) -> Real {
    let negative = x.is_sign_negative();
    if x.is_nan() {
        return Real::Nan;
    }
    let Some((integer, exponent)) = x.to_integer_exp() else { return Real::Infinity { negative } };
    let magnitude = integer.abs();
    let cut = magnitude.significant_bits().saturating_sub(127);
    let kept = rug::Integer::from(&magnitude >> cut);
    let sticky = rug::Integer::from(&kept << cut) != magnitude;
    let significand = kept.to_u128().expect("127 bits");
    Real::Finite(Finite { negative, significand, exponent: exponent + cut as i32, sticky })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_are_cut_with_a_sticky_bit() {
        let x = Float::with_val(2000, Float::i_exp(1, 600)) + Float::with_val(2000, Float::i_exp(1, -600));
        let Real::Finite(finite) = real(&x) else { panic!("{x}") };
        assert!(finite.sticky && finite.leading_exponent() == Some(600));
        let three = Float::with_val(100, -3.0);
        assert_eq!(real(&three).to_f64(), -3.0);
    }
}
