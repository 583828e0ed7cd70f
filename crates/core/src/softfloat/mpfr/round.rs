//! Rounding of an exact result to a code, and its exceptions: overflow, underflow, inexact.

use rug::Float;

use super::{Reference, fields};
use crate::{
    format::mpfr::{self, Rounder},
    format::{self, Rounding, Zeros},
    softfloat::{Environment, Flags, Outcome, Tininess},
};

impl Reference {
    /// Code, without padding, of the number or infinity in `exact`.
    pub(super) fn finish(&mut self, record: &format::Float, environment: &Environment) -> Outcome {
        let value = &self.exact;
        let negative = value.is_sign_negative();
        if negative && !record.signed && !value.is_zero() {
            let zero = (record.zeros != Zeros::None).then_some(0);
            return Outcome { code: fields::default_nan(record, environment.nan).or(zero), flags: Flags::INVALID };
        }
        let sign = fields::sign(record, negative);
        if value.is_infinite() {
            let code = mpfr::overflowed(record, sign, negative, None, environment.overflow);
            // An infinity that the format or the environment replaces overflows, as a number beyond the largest does.
            let kept = record.specials.has_infinity() && code == sign | (mpfr::largest(record) + 1);
            return Outcome { code: Some(code), flags: (Flags::OVERFLOW | Flags::INEXACT).when(!kept) };
        }
        let (magnitude, inexact) = self.rounder.magnitude(value, record, environment.rounding);
        if magnitude > u128::from(mpfr::largest(record)) {
            let rounded = Some(environment.rounding);
            let code = mpfr::overflowed(record, sign, negative, rounded, environment.overflow);
            return Outcome { code: Some(code), flags: Flags::OVERFLOW | Flags::INEXACT };
        }
        let tiny = is_tiny(&mut self.rounder, value, record, environment);
        if tiny && environment.flush_results && record.zeros != Zeros::None {
            let code = fields::zero(record, negative);
            return Outcome { code: Some(code), flags: Flags::UNDERFLOW | Flags::INEXACT };
        }
        let code = match magnitude {
            0 if record.zeros != Zeros::None => fields::zero(record, negative),
            _ => sign | magnitude as u64,
        };
        let flags = Flags::INEXACT.when(inexact) | Flags::UNDERFLOW.when(inexact && tiny);
        Outcome { code: Some(code), flags }
    }
}

/// True if a non-zero result is tiny (clause 7.5); zero is tiny where the format has none.
fn is_tiny(rounder: &mut Rounder, value: &Float, record: &format::Float, environment: &Environment) -> bool {
    // MPFR's exponents belong to significands in [1/2, 1).
    let Some(exponent) = value.get_exp().map(|exponent| exponent - 1) else { return record.zeros == Zeros::None };
    let smallest = fields::smallest_normal(record);
    match environment.tininess {
        _ if exponent >= smallest => false,
        Tininess::Before => true,
        // Only from the next lower binade can rounding reach the smallest normal number.
        Tininess::After => exponent + 1 < smallest || !carries_over(rounder, value, record, environment.rounding),
    }
}

/// True if a number rounded to the precision with unbounded exponent reaches the next power of two.
fn carries_over(rounder: &mut Rounder, value: &Float, record: &format::Float, rounding: Rounding) -> bool {
    let width = record.trailing_bits as i32;
    let quantum = value.get_exp().map_or(0, |exponent| exponent - 1 - width);
    rounder.units_of(value, quantum, rounding).0 == 1 << (width + 1)
}
