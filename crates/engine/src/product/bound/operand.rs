//! Operands as the analysis takes them: values, exponents that count in alignments, quanta.

use super::{
    enclosed::{Enclosed, ErrorSource, NO_QUANTUM, Significand, ZERO_QUANTUM, exponent, is_exact_product, power},
    step::{CountedErrors, StepProducts},
    walk::quantum,
};
use crate::{
    arithmetic::{Factors, Program, Subnormals, Unpack},
    format::{Class, Format},
};

/// A decoded element of A or B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operand {
    /// The value.
    pub(super) value: f64,
    /// The value that the unit multiplies: zero where it flushes the value.
    used: f64,
    /// The exponent that counts in an alignment; `None` if it does not count.
    pub(super) exponent: Option<i32>,
    /// The value is a multiple of two to this power.
    pub(super) quantum: i32,
    /// The significand as an integer, for pieces of it, and the exponent of its last bit.
    significand: u64,
    last: i32,
    /// Bits of a significand of the format below its units digit.
    fraction_bits: i32,
}

impl Operand {
    /// The operand of a code; `None` if it is infinite or NaN.
    pub(super) fn of(format: &'static Format, code: u64, unpack: &Unpack) -> Option<Operand> {
        let datum = format.decode(code);
        if !datum.is_finite() {
            return None;
        }
        let value = datum.to_f64();
        let flushed = datum.class == Class::Subnormal && unpack.subnormals != Subnormals::Keep;
        let used = if flushed { 0.0 } else { value };
        let wider = unpack.wider.and_then(Format::float);
        let least = wider.or(format.float()).map(|float| float.emin());
        let exponent = match (used == 0.0, wider) {
            (true, _) => {
                if unpack.zeros {
                    least
                } else {
                    None
                }
            }
            (false, Some(wider)) => Some(exponent(value).max(wider.emin())),
            (false, None) => Some(datum.exponent + format.fraction_bits() as i32),
        };
        let (significand, last) = match (unpack.wider, format.float()) {
            // The significand of the wider format has its leading bit at the top.
            (Some(wide), _) if used != 0.0 => {
                let last = exponent.unwrap_or_default() - wide.fraction_bits() as i32;
                let shift = datum.exponent - last;
                let shifted = match shift {
                    0.. => datum.significand << shift,
                    _ => datum.significand.checked_shr(shift.unsigned_abs()).unwrap_or(0),
                };
                (shifted, last)
            }
            _ => (datum.significand, datum.exponent),
        };
        let quantum = match value == 0.0 {
            true => ZERO_QUANTUM,
            false => datum.exponent + datum.significand.trailing_zeros() as i32,
        };
        Some(Operand {
            value,
            used,
            exponent,
            quantum,
            significand: if flushed { 0 } else { significand },
            last,
            fraction_bits: format.fraction_bits() as i32,
        })
    }

    /// True if the unit takes the value for zero.
    pub(super) fn is_flushed(&self) -> bool {
        self.used != self.value
    }

    /// The part of the value that a mask of its significand keeps.
    fn piece(&self, mask: u64) -> f64 {
        if mask == u64::MAX {
            return self.used;
        }
        let magnitude = (self.significand & mask) as f64 * power(self.last);
        if self.used < 0.0 { -magnitude } else { magnitude }
    }

    /// The quantum of a piece.
    fn piece_quantum(&self, mask: u64) -> i32 {
        match mask {
            u64::MAX => self.quantum,
            _ => match self.significand & mask {
                0 => ZERO_QUANTUM,
                bits => self.last + bits.trailing_zeros() as i32,
            },
        }
    }
}

/// The scale of an element: the product of the scales of A and B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ElementScale {
    pub(super) value: f64,
    /// The exponent of the units digits of both.
    pub(super) exponent: i32,
    pub(super) quantum: i32,
}

impl ElementScale {
    /// The product of two codes; `None` if one is NaN.
    pub(super) fn of(format: &'static Format, a: u64, b: u64) -> Option<ElementScale> {
        let [x, y] = [a, b].map(|code| format.decode(code));
        let value = x.to_f64() * y.to_f64();
        (x.is_finite() && y.is_finite()).then_some(ElementScale {
            value,
            exponent: x.exponent + y.exponent + 2 * format.fraction_bits() as i32,
            quantum: quantum(value),
        })
    }
}

/// The products of known operands; stored k counts from the step's first.
pub(super) struct KnownProducts<'a> {
    /// The elements of A and B; fewer than the instruction's where zeros follow.
    pub(super) a: &'a [Operand],
    pub(super) b: &'a [Operand],
    /// The scales by element; none without scales.
    pub(super) scales: &'a [ElementScale],
}

impl KnownProducts<'_> {
    /// The product of pieces, without scales; `None` beyond the operands.
    fn bare(&self, factors: &Factors) -> Option<Enclosed> {
        let (a, b) = (self.a.get(factors.k)?, self.b.get(factors.k)?);
        let (x, y) = (a.piece(factors.a), b.piece(factors.b));
        let quantum =
            a.piece_quantum(factors.a).saturating_add(b.piece_quantum(factors.b)).clamp(NO_QUANTUM, ZERO_QUANTUM);
        let exponent = a.exponent.zip(b.exponent).map(|(a, b)| a + b);
        let product = x * y;
        let fraction_bits = a.fraction_bits + b.fraction_bits;
        let mut enclosed = Enclosed {
            span: Some(fraction_bits),
            significand: Some(Significand { bits: fraction_bits + 2, smallest: quantum }),
            ..Enclosed::number(product, exponent, quantum)
        };
        // A product beyond the range of f64's normal numbers is enclosed.
        if !is_exact_product(x, y, product) {
            (enclosed.low, enclosed.high) = (product.next_down(), product.next_up());
        }
        // The unit flushes a factor: the product is lost, and with it each of its pieces.
        if a.is_flushed() || b.is_flushed() {
            let lost = a.value * b.value;
            let is_whole = factors.a == u64::MAX && factors.b == u64::MAX;
            let (low, high) = if is_whole { (lost, lost) } else { (lost.min(0.0), lost.max(0.0)) };
            (enclosed.low, enclosed.high) = (low.next_down(), high.next_up());
            enclosed.error.add(ErrorSource::Flush, lost.abs().next_up());
        }
        Some(enclosed)
    }
}

impl StepProducts for KnownProducts<'_> {
    fn product(&self, factors: &Factors) -> Enclosed {
        let Some(bare) = self.bare(factors) else { return Enclosed::ZERO };
        match self.scales.get(factors.k) {
            None => bare,
            Some(scale) => Enclosed {
                exponent: bare.exponent.map(|exponent| exponent + scale.exponent),
                ..bare.times(scale.value, scale.quantum)
            },
        }
    }

    fn scaled_sum(&self, factors: &[Factors]) -> Enclosed {
        let sum = factors
            .iter()
            .filter_map(|factors| self.bare(factors))
            .fold(Enclosed::ZERO, |sum, product| sum.plus(&product));
        match factors.first().and_then(|first| self.scales.get(first.k)) {
            Some(scale) if sum.most() > 0.0 => {
                Enclosed { exponent: Some(scale.exponent), ..sum.times(scale.value, scale.quantum) }
            }
            _ => Enclosed::ZERO,
        }
    }

    fn cap(&self) -> f64 {
        f64::INFINITY
    }

    fn counted_errors(&self) -> CountedErrors {
        CountedErrors::All
    }
}

/// Products of which only magnitudes are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnknownProducts {
    /// The largest magnitude of any sum of products and C.
    pub(super) sum: f64,
    /// The largest exponent of a product that counts in an alignment.
    pub(super) exponent: i32,
    /// Every product is a multiple of two to this power.
    pub(super) quantum: i32,
    /// Bits from the exponent to the last bit: of a product, and of an exact sum that is scaled.
    pub(super) spans: [Option<i32>; 2],
    /// Bits of the significand of a product.
    pub(super) bits: i32,
    /// The errors that the error of a value has.
    pub(super) counted_errors: CountedErrors,
}

impl UnknownProducts {
    /// Products of a program with this sum of magnitudes.
    pub(super) fn of(program: &Program, sum: f64, exponent: i32, quantum: i32) -> UnknownProducts {
        let i = &program.instruction;
        let fraction = |format: &Format| format.fraction_bits() as i32;
        let of_scales = i.scale.map_or(0, |scale| 2 * fraction(scale.format));
        let product = fraction(i.a) + fraction(i.b);
        let smallest = |format: &Format| fraction(format) - format.float().map_or(0, |float| float.emin());
        // A zero that counts may have the largest exponent.
        let zeros = program.unpack.iter().any(|unpack| unpack.zeros);
        let spans = [product + of_scales, smallest(i.a) + smallest(i.b) + of_scales];
        UnknownProducts {
            sum,
            exponent,
            quantum,
            spans: spans.map(|span| (!zeros).then_some(span)),
            bits: product + of_scales + 2 * (1 + i32::from(i.scale.is_some())),
            counted_errors: CountedErrors::All,
        }
    }
}

impl StepProducts for UnknownProducts {
    fn product(&self, _: &Factors) -> Enclosed {
        let significand = Some(Significand { bits: self.bits, smallest: self.quantum });
        Enclosed { span: self.spans[0], significand, ..Enclosed::up_to(self.sum, self.exponent, self.quantum) }
    }

    fn scaled_sum(&self, _: &[Factors]) -> Enclosed {
        Enclosed { span: self.spans[1], ..Enclosed::up_to(self.sum, self.exponent, self.quantum) }
    }

    fn cap(&self) -> f64 {
        self.sum
    }

    fn counted_errors(&self) -> CountedErrors {
        self.counted_errors
    }
}
