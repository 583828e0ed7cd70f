//! Values between two operations: exact, with properties for alignments and NaNs.

use super::super::{
    Destination, InvalidOperations, NanOperand, OverflowTest, ResultTininess, SpecialOperands, Subnormals, Unpack,
    ZeroSign,
};
use crate::format::{Class, Decoded, Finite, Format, Overflow, Real, Rounding};

#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    /// The value; a zero sum has the sign of its terms if they agree, else plus.
    pub(super) value: Real,
    /// Exponent that counts in an alignment; `None` if the value does not count there.
    pub(super) exponent: Option<i32>,
    /// True if a zero has the sign of all its terms.
    pub(super) signed_zero: bool,
    /// Sign and payload of a NaN that may be propagated.
    payload: Option<Payload>,
    /// Origin of a NaN within an unrounded sum.
    pub(super) origin: NanOrigin,
}

/// Origin of the NaN of an unrounded sum, which is a part of the sum that it is a term of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NanOrigin {
    /// A NaN of A or B.
    Factor,
    /// An invalid operation.
    Invalid,
    /// c, or a rounded value.
    Addend,
}

/// Sign of a NaN, and its trailing significand with its width.
#[derive(Debug, Clone, Copy)]
struct Payload {
    negative: bool,
    trailing: u64,
    bits: u32,
}

impl Held {
    pub(super) const ZERO: Held = Held {
        value: Real::Finite(Finite { negative: false, significand: 0, exponent: 0, sticky: false }),
        exponent: None,
        signed_zero: true,
        payload: None,
        origin: NanOrigin::Addend,
    };

    /// Exact value whose units digit has this exponent.
    pub(super) fn exact(value: Real, exponent: i32) -> Held {
        let counts = matches!(value, Real::Finite(finite) if !finite.is_zero());
        Held { value, exponent: counts.then_some(exponent), ..Held::ZERO }
    }

    /// Term with this exponent, which a zero keeps only if `zeros` count.
    pub(super) fn term(value: Real, exponent: Option<i32>, zeros: bool) -> Held {
        let held = Held::exact(value, exponent.unwrap_or(0));
        if zeros && held.is_zero() { held.with_exponent(exponent) } else { held }
    }

    /// The same value; a zero of `format` counts, with the exponent of the smallest normal number.
    pub(super) fn counted(self, format: &Format) -> Held {
        match format.float() {
            Some(float) if self.is_zero() => self.with_exponent(Some(float.emin())),
            _ => self,
        }
    }

    fn is_zero(&self) -> bool {
        matches!(self.value, Real::Finite(value) if value.is_zero())
    }

    /// Sum with the exponent that counts.
    /// `signed_zero` if a zero has the sign of all its terms, which are zeros.
    pub(super) fn sum(value: Finite, exponent: Option<i32>, signed_zero: bool) -> Held {
        Held { exponent, signed_zero, ..Held::exact(Real::Finite(value), 0) }
    }

    /// The same value with another exponent.
    pub(super) fn with_exponent(self, exponent: Option<i32>) -> Held {
        Held { exponent, ..self }
    }

    /// Datum of a format.
    pub(super) fn datum(datum: Decoded, format: &Format) -> Held {
        let held = Held::exact(datum.real(), datum.exponent + format.fraction_bits() as i32);
        let payload = Payload { negative: datum.negative, trailing: datum.significand, bits: format.fraction_bits() };
        Held { payload: (datum.class == Class::Nan).then_some(payload), ..held }
    }

    /// NaN of an invalid operation, without a payload.
    pub(super) fn nan() -> Held {
        Held { value: Real::Nan, origin: NanOrigin::Invalid, ..Held::ZERO }
    }

    /// The value of a factor; a NaN has the sign and payload of the NaN with this code.
    pub(super) fn factor(self, nan: Option<u64>, format: &Format) -> Held {
        match nan.filter(|_| self.is_nan()) {
            Some(code) => Held { payload: Held::datum(format.decode(code), format).payload, ..self },
            None => self,
        }
    }

    /// The same NaN, marked as a factor of a sum.
    pub(super) fn of_factor(self) -> Held {
        Held { origin: NanOrigin::Factor, ..self }
    }

    pub(super) fn is_nan(&self) -> bool {
        self.value == Real::Nan
    }

    /// The value after an operation whose NaNs are all the same.
    pub(super) fn without_payload(self) -> Held {
        Held { payload: None, ..self }
    }

    /// Code of the value at its destination.
    pub(super) fn code(&self, to: &Destination) -> u64 {
        if let (Real::Nan, Some(payload)) = (&self.value, self.payload) {
            return payload.quiet(to.target.format).unwrap_or(to.target.nan);
        }
        let Real::Finite(value) = &self.value else { return to.target.round(&self.value) };
        if to.overflow_test == OverflowTest::Exact && is_beyond(value, to.target.format) {
            return to.target.round(&Real::Finite(Finite::exact(value.negative, 1, BEYOND)));
        }
        let code = to.target.round(&self.value);
        let zero = |negative| to.target.format.zero(negative).or(to.target.format.zero(false)).unwrap_or(code);
        if is_flushed(value, code, to) {
            return zero(value.negative && to.subnormals == Subnormals::SignedZero);
        }
        if to.target.format.decode(code).class != Class::Zero {
            return code;
        }
        zero(match to.zero {
            ZeroSign::Positive => false,
            ZeroSign::Negative => true,
            ZeroSign::Ieee if !value.is_zero() || self.signed_zero => value.negative,
            ZeroSign::Ieee => to.target.rounding == Rounding::Rd,
            ZeroSign::ExactPositive => !value.is_zero() && value.negative,
            ZeroSign::Common => value.negative,
        })
    }

    /// The value for the next operation, and its code.
    pub(super) fn rounded(&self, to: &Destination) -> (Held, u64) {
        let code = self.code(to);
        (Held::datum(to.target.format.decode(code), to.target.format), code)
    }

    /// Quiet NaN with this payload in a format; `None` without a payload or without NaN.
    pub(super) fn quiet_nan(&self, format: &Format) -> Option<u64> {
        self.payload?.quiet(format)
    }
}

impl Payload {
    /// Formats of other widths keep the leading bits.
    fn quiet(&self, format: &Format) -> Option<u64> {
        let bits = format.fraction_bits();
        let trailing = match bits >= self.bits {
            true => self.trailing << (bits - self.bits),
            false => self.trailing >> (self.bits - bits),
        };
        format.quiet_nan(self.negative, trailing)
    }
}

/// Exponent of a number beyond every format.
const BEYOND: i32 = 1 << 20;

/// True if the magnitude of a value exceeds the largest number of a format.
fn is_beyond(value: &Finite, format: &Format) -> bool {
    let Real::Finite(largest) = format.decode(format.largest(false)).real() else { return false };
    let rest = Finite { negative: false, ..*value }.minus(&largest);
    if rest.is_zero() { value.sticky } else { !rest.negative }
}

/// True if a finite result with this code is subnormal and flushed.
fn is_flushed(value: &Finite, code: u64, to: &Destination) -> bool {
    let Some(float) = to.target.format.float().filter(|_| to.subnormals != Subnormals::Keep) else { return false };
    let tiny = || {
        value.leading_exponent().is_some_and(|leading| leading < float.emin()) || value.significand == 0 && value.sticky
    };
    match to.tininess {
        ResultTininess::Before => tiny(),
        ResultTininess::After => to.target.format.decode(code).class == Class::Subnormal,
        ResultTininess::AfterUnbounded => {
            // A number below the smallest normal one by less than half (or all) of a unit of the precision rounds up to
            // it.
            let quantum = value.leading_exponent().map(|leading| leading - float.trailing_bits as i32);
            let rounded = quantum.map(|quantum| value.round_to_quantum(quantum, to.target.rounding).0);
            let carries = rounded.is_some_and(|units| units >> (float.trailing_bits + 1) != 0);
            let leading = value.leading_exponent().map(|leading| leading + i32::from(carries));
            tiny() && leading.is_none_or(|leading| leading < float.emin())
        }
    }
}

/// Value of an operand's code.
pub(super) fn unpacked(format: &'static Format, code: u64, unpack: &Unpack) -> Held {
    let held = widened(format, code, unpack);
    if unpack.zeros { held.counted(unpack.wider.unwrap_or(format)) } else { held }
}

/// Value of an operand's code in the wider format.
fn widened(format: &'static Format, code: u64, unpack: &Unpack) -> Held {
    let datum = match unpack.specials {
        SpecialOperands::Keep => format.decode(code),
        SpecialOperands::Nan => infinity_as_nan(format.decode(code)),
        SpecialOperands::Finite => format.decode_as_number(code),
    };
    let datum = settled(datum, unpack.subnormals);
    let Some(wider) = unpack.wider else { return Held::datum(datum, format) };
    let payload = Held::datum(datum, format).payload;
    let held = match datum.is_finite() {
        true => {
            let code = wider.encode(&datum.real(), Rounding::Rne, Overflow::Standard);
            Held::datum(wider.decode(code.expect("finite values have codes")), wider)
        }
        false => Held::exact(datum.real(), 0),
    };
    Held { payload, ..held }
}

/// An infinity becomes the NaN with its sign and no further payload.
fn infinity_as_nan(datum: Decoded) -> Decoded {
    match datum.class {
        Class::Infinite => Decoded { class: Class::Nan, significand: 0, ..datum },
        _ => datum,
    }
}

/// Datum after the treatment of subnormals.
fn settled(value: Decoded, subnormals: Subnormals) -> Decoded {
    if value.class != Class::Subnormal || subnormals == Subnormals::Keep {
        return value;
    }
    let negative = value.negative && subnormals == Subnormals::SignedZero;
    Decoded { class: Class::Zero, negative, significand: 0, ..value }
}

/// First NaN among the operands `a`, `b` and `c` of an operation, in the given order.
/// An invalid product gives a NaN without payload.
pub(super) fn first_nan(
    order: &[NanOperand],
    [a, b, c]: [Option<&Held>; 3],
    invalid: &InvalidOperations,
) -> Option<Held> {
    let nan = |held: Option<&Held>| held.filter(|held| held.is_nan()).copied();
    order.iter().find_map(|which| match which {
        NanOperand::A => nan(a),
        NanOperand::B => nan(b),
        NanOperand::C => nan(c),
        NanOperand::Invalid => {
            let (a, b) = a.zip(b).filter(|(a, b)| !a.is_nan() && !b.is_nan())?;
            (invalid.product(&a.value, &b.value) == Real::Nan).then(Held::nan)
        }
    })
}
