//! Judge of [`softfloat`](crate::softfloat): scalar operations with flags, by MPFR (crate `rug`).
//!
//! This module shares no computation with the soft-float nor with the encoding of formats: it reads the fields of a
//! format's record, lets MPFR add, multiply, divide, extract roots and compare, and rounds the result by scaling it to
//! units of its last place. It follows the wording of IEEE 754-2019 and is not made for speed.

mod convert;
mod fields;
mod order;
mod round;
mod tabled;

use std::cmp::Ordering;

use rug::{
    Assign, Float,
    float::{Round, Special},
    ops::AssignRound,
};

use crate::{
    format::{
        self, Format, Overflow, Rounding, Zeros,
        mpfr::{self, OPERAND_BITS, Rounder},
    },
    softfloat::{Environment, Flags, NanRule, Operation, Outcome, ResultKind},
};

/// Bits to which MPFR truncates a result.
///
/// Let v be the magnitude of an exact result. MPFR truncates it to 127 significant bits and says if that was exact;
/// where it was not, half a unit of the last bit is appended as a 128th bit, which gives w. Let u be the unit of the
/// 127th bit: v and w coincide, or lie strictly between the same two neighbouring multiples of u, and so compare alike
/// with every multiple of u. Rounding compares v with nothing else: with multiples of the result's last place q, of q/2
/// (to nearest) and of q/2^64 (with 64 random bits); and q is at least 2^(127 - p) u for p bits of precision, more for
/// a subnormal result, so that q/2^64 is a multiple of u for all p up to 63.
const CUT_BITS: u32 = 127;

/// Computes operations on codes, repeatedly in the same buffers.
#[derive(Debug, Clone)]
pub struct Reference {
    operands: [Float; 3],
    cut: Float,
    exact: Float,
    rounder: Rounder,
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

impl Reference {
    /// Buffers for operations of every format of up to 64 bits.
    pub fn new() -> Self {
        Reference {
            operands: std::array::from_fn(|_| Float::new(OPERAND_BITS)),
            cut: Float::new(CUT_BITS),
            exact: Float::new(CUT_BITS + 1),
            rounder: Rounder::new(CUT_BITS + 1),
        }
    }

    /// Applies `operation` by the contract of [`Unit::apply`](crate::softfloat::Unit::apply).
    ///
    /// # Panics
    /// If `format` is an integer format or has more than 62 bits of precision.
    pub fn apply(
        &mut self,
        format: &Format,
        environment: &Environment,
        operation: Operation,
        operands: [u64; 3],
    ) -> Outcome {
        if format.table().is_some() {
            return self.apply_to_table(format, environment, operation, &operands[..operation.operands()]);
        }
        let record = format.float().expect("scalar operations need a floating-point format");
        assert!(record.precision() < CUT_BITS - OPERAND_BITS, "{format}: too precise for this reference");
        // The total order and classes concern codes as they are.
        let flushes = environment.flush_inputs && !matches!(operation, Operation::TotalOrder | Operation::Classify);
        let codes = operands.map(|code| fields::operand(record, flushes, code));
        let codes = &codes[..operation.operands()];
        for (value, code) in self.operands.iter_mut().zip(codes) {
            mpfr::decode_into(value, format, code << record.padding_bits);
        }
        let outcome = match operation {
            Operation::Add
            | Operation::Sub
            | Operation::Mul
            | Operation::Div
            | Operation::Sqrt
            | Operation::Fma
            | Operation::Rem => self.arithmetic(record, environment, operation, codes),
            Operation::Rint | Operation::RintExact => self.rint(record, environment, operation, codes),
            Operation::NextUp => self.next(record, environment, true, codes),
            Operation::NextDown => self.next(record, environment, false, codes),
            Operation::Minimum
            | Operation::Maximum
            | Operation::MinimumNumber
            | Operation::MaximumNumber
            | Operation::MinNum
            | Operation::MaxNum => self.extremum(record, environment, operation, codes),
            Operation::TotalOrder => truth(self.total_order(record, codes), Flags::NONE),
            Operation::Classify => self.classify(record, codes),
            _ => self.compare(record, operation, codes),
        };
        match operation.result() {
            ResultKind::Number => Outcome { code: outcome.code.map(|code| code << record.padding_bits), ..outcome },
            ResultKind::Truth | ResultKind::Class => outcome,
        }
    }

    /// Operations that round an exact real result.
    fn arithmetic(
        &mut self,
        record: &format::Float,
        environment: &Environment,
        operation: Operation,
        codes: &[u64],
    ) -> Outcome {
        if self.operands[..codes.len()].iter().any(Float::is_nan) {
            return self.passed_nan(record, environment, operation, codes);
        }
        let [x, y, z] = &self.operands;
        let cut = &mut self.cut;
        let ternary = match operation {
            Operation::Add => cut.assign_round(x + y, Round::Zero),
            Operation::Sub => cut.assign_round(x - y, Round::Zero),
            Operation::Mul => cut.assign_round(x * y, Round::Zero),
            Operation::Div => cut.assign_round(x / y, Round::Zero),
            Operation::Sqrt => cut.assign_round(x.sqrt_ref(), Round::Zero),
            Operation::Fma => cut.assign_round(x.mul_add_ref(y, z), Round::Zero),
            _ => cut.assign_round(x.remainder_ref(y), Round::Zero),
        };
        if cut.is_nan() {
            return Outcome { code: fields::default_nan(record, environment.nan), flags: Flags::INVALID };
        }
        // Clause 6.3: an exact sum of zero from terms of opposite signs is -0 when rounding down.
        let [first, second] = match operation {
            Operation::Add => [x.is_sign_negative(), y.is_sign_negative()],
            Operation::Sub => [x.is_sign_negative(), !y.is_sign_negative()],
            Operation::Fma => [x.is_sign_negative() != y.is_sign_negative(), z.is_sign_negative()],
            _ => [false; 2],
        };
        if cut.is_zero() && first != second && environment.rounding == Rounding::Rd {
            cut.assign(Special::NegZero);
        }
        let pole = operation == Operation::Div && y.is_zero() && x.is_finite();
        self.exact.assign(&self.cut);
        if ternary != Ordering::Equal {
            away_from_zero(&mut self.exact);
        }
        let outcome = self.finish(record, environment);
        Outcome { flags: outcome.flags | Flags::DIVIDE_BY_ZERO.when(pole), ..outcome }
    }

    /// Result of an operation with a NaN operand.
    fn passed_nan(
        &self,
        record: &format::Float,
        environment: &Environment,
        operation: Operation,
        codes: &[u64],
    ) -> Outcome {
        let [x, y, _] = &self.operands;
        let no_product = x.is_zero() && y.is_infinite() || x.is_infinite() && y.is_zero();
        // Clause 7.2 c leaves open if 0 * inf + quiet NaN is invalid: for SSE it is not.
        let invalid = operation == Operation::Fma && no_product && environment.nan != NanRule::X86;
        if invalid && !fields::any_signaling(record, codes) {
            return Outcome { code: fields::default_nan(record, environment.nan), flags: Flags::INVALID };
        }
        match codes {
            // ARM examines the addend first.
            &[x, y, z] if environment.nan == NanRule::Arm => fields::nan_of(record, environment.nan, &[z, x, y]),
            _ => fields::nan_of(record, environment.nan, codes),
        }
    }

    /// roundToIntegral of the first operand.
    fn rint(
        &mut self,
        record: &format::Float,
        environment: &Environment,
        operation: Operation,
        codes: &[u64],
    ) -> Outcome {
        let x = &self.operands[0];
        if x.is_nan() {
            return fields::nan_of(record, environment.nan, codes);
        }
        let mut inexact = false;
        self.exact.assign(x);
        // At or above its precision every number is an integer.
        if x.is_finite() && !x.is_integer() {
            let units;
            (units, inexact) = self.rounder.units_of(x, 0, environment.rounding);
            self.exact.assign(units);
            if x.is_sign_negative() {
                self.exact *= -1;
            }
        }
        let outcome = self.finish(record, environment);
        let flags = match operation {
            Operation::RintExact => outcome.flags | Flags::INEXACT.when(inexact),
            _ => outcome.flags.without(Flags::INEXACT),
        };
        Outcome { flags, ..outcome }
    }

    /// nextUp or nextDown of the first operand.
    fn next(&mut self, record: &format::Float, environment: &Environment, up: bool, codes: &[u64]) -> Outcome {
        let x = &self.operands[0];
        let quiet = |code| Outcome { code: Some(code), flags: Flags::NONE };
        if x.is_nan() {
            return fields::nan_of(record, environment.nan, codes);
        }
        if record.zeros == Zeros::None && codes[0] == fields::sign(record, up) && record.signed {
            // Without a zero the smallest numbers of both signs are neighbours.
            return quiet(fields::sign(record, !up));
        }
        let (smallest, outward) = (!record.signed && codes[0] == 0, x.is_infinite() && x.is_sign_positive() == up);
        if outward || smallest && !up {
            return quiet(codes[0]);
        }
        if x.is_infinite() {
            return quiet(fields::sign(record, x.is_sign_negative()) | mpfr::largest(record));
        }
        // The neighbour is the rounded value, in that direction, of a number slightly beyond x. Next to zero, half of
        // the smallest number is slight enough.
        self.exact.assign(x);
        match (x.is_zero(), up) {
            (true, _) => {
                self.exact.assign(if up { 1 } else { -1 });
                self.exact <<= fields::smallest_normal(record) - record.trailing_bits as i32 - 1;
            }
            (false, true) => self.exact.next_up(),
            (false, false) => self.exact.next_down(),
        }
        let rounding = if up { Rounding::Ru } else { Rounding::Rd };
        let overflow = if record.specials.has_infinity() { Overflow::Infinity } else { Overflow::Saturate };
        let unflushed = Environment { rounding, overflow, flush_results: false, ..*environment };
        Outcome { flags: Flags::NONE, ..self.finish(record, &unflushed) }
    }
}

/// A number one unit in its last place larger in magnitude.
fn away_from_zero(number: &mut Float) {
    if number.is_sign_negative() { number.next_down() } else { number.next_up() }
}

/// Outcome of a predicate.
fn truth(holds: bool, flags: Flags) -> Outcome {
    Outcome { code: Some(holds.into()), flags }
}
