//! Conversion between formats, integer formats included.

use super::{
    Environment, Flags, NanRule, Outcome, Unit,
    datapath::Datapath,
    integral::units,
    nan::is_signalling,
    tabled::TableUnit,
    unit::Engine,
    unpacked::{OperandClass, Unpacked},
};
use crate::{
    format::{Class, Format, Layout},
    number::{Finite, Real, Rounding, Word},
};

/// Conversion from any format to any other, integer formats included, in one environment.
///
/// - To a floating-point format: rounded once. A signalling NaN is invalid; so is every NaN where the target has none.
///   An infinity that the target lacks, or that the environment replaces, overflows.
/// - To an integer format: rounded to an integral value in the environment's direction, and inexact if that changed it.
///   A value then out of range, an infinity or a NaN is invalid and raises no other flag; it gives the integer of the
///   rule for NaNs.
#[derive(Debug, Clone, Copy)]
pub struct Converter<'a> {
    from: Endpoint<'a>,
    to: Endpoint<'a>,
    environment: Environment,
}

#[derive(Debug, Clone, Copy)]
enum Endpoint<'a> {
    Float(Datapath<'a, Layout>),
    Integer { format: &'a Format, signed: bool },
    Table(TableUnit<'a>),
}

impl<'a> Endpoint<'a> {
    fn new(format: &'a Format, environment: Environment) -> Endpoint<'a> {
        match Unit::new(format, environment) {
            Ok(Unit(Engine::Fields(unit))) => Endpoint::Float(unit),
            Ok(Unit(Engine::Table(unit))) => Endpoint::Table(unit),
            Err(_) => Endpoint::Integer { format, signed: format.decode(format.code_mask()).negative },
        }
    }
}

impl<'a> Converter<'a> {
    /// Converter from codes of `from` to codes of `to`.
    pub fn new(from: &'a Format, to: &'a Format, environment: Environment) -> Converter<'a> {
        Converter { from: Endpoint::new(from, environment), to: Endpoint::new(to, environment), environment }
    }

    /// Converts one code.
    #[inline]
    pub fn convert(&self, code: u64) -> Outcome {
        // 64 bits hold every significand; random bits need more below it.
        match self.environment.rounding {
            Rounding::Sr { .. } => self.convert_in::<u128>(code),
            _ => self.convert_in::<u64>(code),
        }
    }

    #[inline(always)]
    fn convert_in<W: Word>(&self, code: u64) -> Outcome {
        let operand = match &self.from {
            Endpoint::Float(unit) => unit.operand::<W>(code),
            Endpoint::Integer { format, .. } | Endpoint::Table(TableUnit { format, .. }) => {
                decoded_operand(format, code)
            }
        };
        match &self.to {
            Endpoint::Table(unit) => self.tabled(&operand, code, unit),
            Endpoint::Float(unit) if operand.kind == OperandClass::Finite => {
                unit.round(operand.negative, operand.leading, operand.significand)
            }
            Endpoint::Float(unit) => self.special(&operand, code, unit),
            Endpoint::Integer { format, signed } => self.integer(&operand, format, *signed),
        }
    }

    /// Result in a format by table.
    #[cold]
    fn tabled<W: Word>(&self, operand: &Unpacked<W>, code: u64, to: &TableUnit<'_>) -> Outcome {
        let value = match (&self.from, operand.kind) {
            // A subnormal operand may be flushed.
            (Endpoint::Float(_), OperandClass::Zero) => Real::Finite(Finite::zero(operand.negative)),
            (Endpoint::Float(from), _) => from.format.value(code),
            (Endpoint::Integer { format, .. } | Endpoint::Table(TableUnit { format, .. }), _) => format.value(code),
        };
        let signals = matches!(&self.from, Endpoint::Float(from) if from.signals(code));
        let outcome = to.value(&value);
        Outcome { flags: outcome.flags | Flags::INVALID.when(signals), ..outcome }
    }

    #[cold]
    fn special<W: Word>(&self, operand: &Unpacked<W>, code: u64, to: &Datapath<Layout>) -> Outcome {
        match (operand.kind, &self.from) {
            (OperandClass::Zero, _) => to.zero(operand.negative),
            (OperandClass::Nan, Endpoint::Float(from)) => {
                let nan = from.format.decode(code);
                let code = self.environment.nan.passed_on(&nan, from.float.trailing_bits, to.format);
                Outcome { code, flags: Flags::INVALID.when(code.is_none() || is_signalling(&nan, &from.float)) }
            }
            (OperandClass::Nan, Endpoint::Table(from)) => {
                let nan = from.format.decode(code);
                let code = self.environment.nan.passed_on(&nan, 0, to.format);
                Outcome { code, flags: Flags::INVALID.when(code.is_none()) }
            }
            _ => to.infinity(operand.negative),
        }
    }

    #[inline(always)]
    fn integer<W: Word>(&self, operand: &Unpacked<W>, to: &Format, signed: bool) -> Outcome {
        let negative = operand.negative;
        let limit = match (signed, negative) {
            (true, _) => (1 << (to.bits - 1)) - u64::from(!negative),
            (false, true) => 0,
            (false, false) => to.code_mask(),
        };
        let (units, inexact) = match operand.kind {
            OperandClass::Zero => (0, false),
            OperandClass::Finite if operand.leading < 64 => units(operand, self.environment.rounding),
            _ => return self.invalid_integer(operand.kind == OperandClass::Nan, negative, to, signed),
        };
        if units > limit {
            return self.invalid_integer(false, negative, to, signed);
        }
        let code = if negative { units.wrapping_neg() } else { units } & to.code_mask();
        Outcome { code: Some(code), flags: Flags::INEXACT.when(inexact) }
    }

    #[cold]
    fn invalid_integer(&self, nan: bool, negative: bool, to: &Format, signed: bool) -> Outcome {
        let code = match (self.environment.nan, nan) {
            (NanRule::X86, _) => {
                if signed {
                    to.largest(true)
                } else {
                    to.largest(false)
                }
            }
            (NanRule::Canonical, true) => to.largest(false),
            (NanRule::Nvidia, true) if self.is_wide(to) => 1 << (to.bits - 1),
            (NanRule::Arm | NanRule::Nvidia, true) => 0,
            (_, false) => to.largest(negative),
        };
        Outcome { code: Some(code), flags: Flags::INVALID }
    }

    /// True if the operand or the result has 64 bits.
    fn is_wide(&self, to: &Format) -> bool {
        to.bits == 64 || matches!(&self.from, Endpoint::Float(unit) if unit.format.bits == 64)
    }
}

/// Operand of the code of an integer, or of a table.
#[inline(always)]
fn decoded_operand<W: Word>(format: &Format, code: u64) -> Unpacked<W> {
    let datum = format.decode(code);
    let zeros = datum.significand.leading_zeros();
    if datum.significand == 0 {
        let kind = match datum.class {
            Class::Nan => OperandClass::Nan,
            Class::Infinite => OperandClass::Infinite,
            _ => OperandClass::Zero,
        };
        return Unpacked { kind, negative: datum.negative, significand: W::ZERO, leading: 0 };
    }
    let significand = W::from(datum.significand << zeros) << (W::BITS - 64);
    let leading = datum.exponent + 63 - zeros as i32;
    Unpacked { kind: OperandClass::Finite, negative: datum.negative, significand, leading }
}
