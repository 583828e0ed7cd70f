//! Elements of a block: codes of a format, and the power of two that multiplies them.

use crate::format::{Encoding, Finite, Format, Overflow, Real, Rounding};

/// Element of a block format: its value is the code's value in `format`, times `2^exponent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Format of the codes, of at most 8 bits.
    pub format: &'static Format,
    /// Implied scale, as a power of two (MXINT8: -6; 0 elsewhere).
    pub exponent: i32,
    /// True if rounding avoids a most negative code without a positive counterpart (two's complement).
    pub symmetric: bool,
}

impl Element {
    /// Exact value of a code.
    pub fn value(&self, code: u64) -> Real {
        match self.format.value(code) {
            Real::Finite(finite) => Real::Finite(finite.times_power_of_two(self.exponent)),
            special => special,
        }
    }

    /// Code of `value`, rounded once; too large a magnitude becomes the largest one (MX 1.0, 6.3).
    pub fn encode(&self, value: &Finite, rounding: Rounding) -> u64 {
        let value = Real::Finite(value.times_power_of_two(-self.exponent));
        let code = self.format.encode(&value, rounding, Overflow::Saturate).expect("every format has codes of numbers");
        if self.symmetric && self.format.is_integer() && code == self.format.largest(true) {
            return code + 1;
        }
        code
    }

    /// Largest number; its magnitude is the largest one but for integers of two's complement.
    pub fn largest(&self) -> Finite {
        match self.value(self.format.largest(false)) {
            Real::Finite(finite) => finite,
            _ => unreachable!("the largest number is one"),
        }
    }

    /// Most negative number; its magnitude may be larger than [`Element::largest`].
    pub(super) fn most_negative(&self) -> Finite {
        match self.value(self.format.largest(true)) {
            Real::Finite(finite) if !self.symmetric => finite,
            _ => Finite { negative: true, ..self.largest() },
        }
    }

    /// Largest magnitudes of positive and of negative numbers.
    pub fn largest_magnitudes(&self) -> [f64; 2] {
        [self.largest(), self.most_negative()].map(|value| value.to_f64().abs())
    }

    /// True if the most negative number has the largest magnitude, and no positive number has.
    pub(super) fn is_lopsided(&self) -> bool {
        let most = self.most_negative();
        most.negative && self.largest().compare_magnitudes(&most).is_lt()
    }

    /// True if the numbers that are written have the same magnitudes on both sides of zero.
    pub(super) fn is_symmetric(&self) -> bool {
        let format = self.format;
        match format.encoding {
            Encoding::Float(float) => float.signed,
            Encoding::Integer { signed } => signed && self.symmetric,
            Encoding::Table(_) => {
                let numbers: Vec<f64> = (0..=format.code_mask())
                    .map(|code| format.to_f64(code))
                    .filter(|number| number.is_finite())
                    .collect();
                numbers.iter().all(|number| numbers.contains(&-number))
            }
        }
    }

    /// Largest magnitude but one.
    pub(super) fn second_largest(&self) -> Finite {
        let largest = self.largest();
        let values = (0..=self.format.code_mask()).filter_map(|code| match self.value(code) {
            Real::Finite(value) if value.compare_magnitudes(&largest).is_lt() => Some(value.magnitude()),
            _ => None,
        });
        values.reduce(|x, y| if x.compare_magnitudes(&y).is_lt() { y } else { x }).expect("a format has two magnitudes")
    }

    /// Smallest magnitude other than zero.
    pub(super) fn smallest(&self) -> Finite {
        let values = (0..=self.format.code_mask()).filter_map(|code| match self.value(code) {
            Real::Finite(value) if !value.is_zero() => Some(value.magnitude()),
            _ => None,
        });
        values.reduce(|x, y| if y.compare_magnitudes(&x).is_lt() { y } else { x }).expect("a format has numbers")
    }

    /// Exponent of the largest power of two among the values (MX 1.0: emax).
    pub fn emax(&self) -> i32 {
        self.largest().leading_exponent().expect("the largest number is not zero")
    }

    /// Significand bits of the largest numbers, the leading bit included.
    pub(super) fn precision(&self) -> u32 {
        match self.format.encoding {
            Encoding::Float(float) => float.precision(),
            Encoding::Integer { signed } => self.format.bits - u32::from(signed),
            Encoding::Table(table) => table.fraction_bits() + 1,
        }
    }
}
