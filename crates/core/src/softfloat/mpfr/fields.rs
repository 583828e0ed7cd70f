//! Fields of codes without padding: signs, NaNs, and rules for NaN results.

use crate::{
    format::{Float, Specials, Zeros},
    softfloat::{Flags, NanRule, Outcome},
};

/// Operand's code without padding and higher bits; `flushes` turns subnormals into signed zeros.
pub(super) fn operand(record: &Float, flushes: bool, code: u64) -> u64 {
    let width = 1 + record.exponent_bits + record.trailing_bits - u32::from(!record.signed);
    let code = u128::from(code >> record.padding_bits) % (1 << width);
    let code = code as u64;
    let subnormal = record.zeros != Zeros::None && exponent(record, code) == 0 && trailing(record, code) != 0;
    if flushes && subnormal { zero(record, negative(record, code)) } else { code }
}

pub(super) fn trailing(record: &Float, code: u64) -> u64 {
    code % (1 << record.trailing_bits)
}

fn exponent(record: &Float, code: u64) -> u64 {
    code >> record.trailing_bits & ((1 << record.exponent_bits) - 1)
}

/// Sign bit; false in unsigned formats.
pub(super) fn negative(record: &Float, code: u64) -> bool {
    code & sign(record, true) != 0
}

/// Sign bit of a negative number; 0 in unsigned formats.
pub(super) fn sign(record: &Float, negative: bool) -> u64 {
    u64::from(negative && record.signed) << (record.exponent_bits + record.trailing_bits)
}

/// Zero of a sign; +0 where there is no -0.
pub(super) fn zero(record: &Float, negative: bool) -> u64 {
    sign(record, negative && record.zeros == Zeros::Both)
}

/// Exponent of the smallest normal number: biased exponents of normals begin at 1 where 0 is zero's.
pub(super) fn smallest_normal(record: &Float) -> i32 {
    i32::from(record.zeros != Zeros::None) - record.bias
}

/// Leading bit of the trailing significand, set in quiet NaNs; 0 unless there are NaNs of both kinds.
fn quiet_bit(record: &Float) -> u64 {
    if record.specials == Specials::Ieee { 1 << record.trailing_bits >> 1 } else { 0 }
}

pub(super) fn is_signaling(record: &Float, nan: u64) -> bool {
    record.specials == Specials::Ieee && nan & quiet_bit(record) == 0
}

fn is_nan(record: &Float, code: u64) -> bool {
    let last = exponent(record, code) + 1 == 1 << record.exponent_bits;
    match record.specials {
        Specials::Ieee => last && trailing(record, code) != 0,
        Specials::AllOnesNan | Specials::AllOnesNanInfinity => {
            last && trailing(record, code) + 1 == 1 << record.trailing_bits
        }
        Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity => code == sign(record, true),
        Specials::None => false,
    }
}

pub(super) fn any_signaling(record: &Float, codes: &[u64]) -> bool {
    codes.iter().any(|&code| is_nan(record, code) && is_signaling(record, code))
}

/// NaN of an invalid operation on numbers; `None` in a format without NaN.
pub(super) fn default_nan(record: &Float, rule: NanRule) -> Option<u64> {
    let ones = (1 << (record.exponent_bits + record.trailing_bits)) - 1;
    let positive = match record.specials {
        Specials::None => return None,
        Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity => return Some(sign(record, true)),
        Specials::AllOnesNan | Specials::AllOnesNanInfinity => ones,
        Specials::Ieee if rule == NanRule::Nvidia => ones,
        // All ones in the exponent, and the quiet bit.
        Specials::Ieee => ones - (quiet_bit(record) - 1),
    };
    Some(positive | sign(record, rule == NanRule::X86))
}

/// NaN result for operands with a NaN, in the order of the rule; invalid if one is signalling.
pub(super) fn nan_of(record: &Float, rule: NanRule, codes: &[u64]) -> Outcome {
    let flags = Flags::INVALID.when(any_signaling(record, codes));
    let mut nans = codes.iter().copied().filter(|&code| is_nan(record, code));
    let first = nans.clone().next();
    let passed = match rule {
        NanRule::Canonical | NanRule::Nvidia => None,
        NanRule::X86 => first,
        NanRule::Arm => nans.find(|&nan| is_signaling(record, nan)).or(first),
    };
    let code = passed.map(|nan| nan | quiet_bit(record)).or_else(|| default_nan(record, rule));
    Outcome { code, flags }
}

/// NaN result of converting a NaN to another format, without padding; `None` in a format without NaN.
pub(super) fn converted_nan(from: &Float, to: &Float, rule: NanRule, nan: u64) -> Option<u64> {
    let default = default_nan(to, rule)?;
    let negative = negative(from, nan);
    match (rule, to.specials) {
        (NanRule::Canonical | NanRule::Nvidia, _)
        | (_, Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity) => Some(default),
        (_, Specials::Ieee) => {
            // Aligned at the top: cut at the bottom, or filled with zeros.
            let payload = u128::from(trailing(from, nan)) << to.trailing_bits >> from.trailing_bits;
            let infinity = ((1 << to.exponent_bits) - 1) << to.trailing_bits;
            Some(sign(to, negative) | infinity | payload as u64 | quiet_bit(to))
        }
        _ => Some(sign(to, negative) | default & (sign(to, true).wrapping_sub(1))),
    }
}
