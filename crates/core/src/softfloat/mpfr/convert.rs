//! Conversions between formats, floating-point and integer.

use rug::Assign;

use super::{CUT_BITS, OPERAND_BITS, Reference, fields};
use crate::{
    format::mpfr,
    format::{Encoding, Float, Format, Overflow, Specials, Zeros},
    softfloat::{Environment, Flags, NanRule, Outcome},
};

/// Record in which code 0 is positive and has no payload.
const QUIET: Float = Float {
    signed: false,
    exponent_bits: 1,
    trailing_bits: 0,
    padding_bits: 0,
    bias: 0,
    zeros: Zeros::Positive,
    subnormals: true,
    specials: Specials::None,
    overflow: Overflow::Saturate,
};

impl Reference {
    /// Converts one code of `from` to `to`, by the contract of [`Converter`](crate::softfloat::Converter).
    ///
    /// # Panics
    /// If `to` has more than 62 bits of precision.
    pub fn convert(&mut self, from: &Format, to: &Format, environment: &Environment, code: u64) -> Outcome {
        let code = match from.float() {
            Some(record) => fields::operand(record, environment.flush_inputs, code),
            None => code,
        };
        let padding = from.float().map_or(0, |record| record.padding_bits);
        mpfr::decode_into(&mut self.operands[0], from, code << padding);
        self.exact.assign(&self.operands[0]);
        let record = match to.encoding {
            Encoding::Integer { signed } => return self.finish_integer(from.bits, to.bits, signed, environment),
            Encoding::Float(record) => record,
            Encoding::Table(table) if self.exact.is_nan() => {
                let nan = table.values().iter().position(|value| value.is_nan()).map(|code| code as u64);
                let signals = from.float().is_some_and(|from| fields::is_signaling(from, code));
                return Outcome { code: nan, flags: Flags::INVALID.when(nan.is_none() || signals) };
            }
            Encoding::Table(table) => return self.finish_in_table(to, table, environment),
        };
        assert!(record.precision() < CUT_BITS - OPERAND_BITS, "{to}: too precise for this reference");
        let outcome = if self.exact.is_nan() {
            let (converted, signaling) = match from.float() {
                Some(from) => {
                    let converted = fields::converted_nan(from, &record, environment.nan, code);
                    (converted, fields::is_signaling(from, code))
                }
                // The NaN of a table is quiet, positive and without a payload.
                None => (fields::converted_nan(&QUIET, &record, environment.nan, 0), false),
            };
            let invalid = signaling || converted.is_none();
            Outcome { code: converted, flags: Flags::INVALID.when(invalid) }
        } else {
            self.finish(&record, environment)
        };
        Outcome { code: outcome.code.map(|code| code << record.padding_bits), ..outcome }
    }

    /// Result of convertToInteger of the number in `exact` (clause 5.8), with the flag for inexact.
    fn finish_integer(&mut self, from_bits: u32, bits: u32, signed: bool, environment: &Environment) -> Outcome {
        let value = &self.exact;
        let modulus = 1i128 << bits;
        let (lowest, highest) = if signed { (-modulus / 2, modulus / 2 - 1) } else { (0, modulus - 1) };
        let code = |integer: i128| Some(integer.rem_euclid(modulus) as u64);
        // A number two bits wider than the format is out of range in any direction.
        let countable = value.is_finite() && value.get_exp().is_none_or(|exponent| exponent <= bits as i32 + 1);
        if countable {
            let (units, inexact) = self.rounder.units_of(value, 0, environment.rounding);
            let integer = if value.is_sign_negative() { -(units as i128) } else { units as i128 };
            if (lowest..=highest).contains(&integer) {
                return Outcome { code: code(integer), flags: Flags::INEXACT.when(inexact) };
            }
        }
        let integer = match environment.nan {
            NanRule::X86 => {
                if signed {
                    lowest
                } else {
                    highest
                }
            }
            NanRule::Canonical if value.is_nan() => highest,
            // The PTX manual, at cvt, for .f64, .s64 and .u64.
            NanRule::Nvidia if value.is_nan() && from_bits.max(bits) == 64 => modulus / 2,
            NanRule::Arm | NanRule::Nvidia if value.is_nan() => 0,
            _ if value.is_sign_negative() => lowest,
            _ => highest,
        };
        Outcome { code: code(integer), flags: Flags::INVALID }
    }
}
