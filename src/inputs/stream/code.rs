//! Codes from random bits.

use super::{
    bits::GOLDEN,
    fields::Fields,
    plan::{Plan, kind},
};
use crate::format::Specials;

/// 32 random bits, or 64 for formats that need them.
#[inline]
fn bits(fields: &Fields, hash: u32) -> u64 {
    if fields.bits <= 32 {
        return hash.into();
    }
    u64::from(hash.rotate_left(16).wrapping_mul(GOLDEN)) << 32 | u64::from(hash)
}

/// The trailing significands of one kind: random where `random` has ones, few bits where `few` has them, and those of `set`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fraction {
    random: u64,
    few: u64,
    set: u64,
}

impl Fraction {
    pub(super) fn of(kind: u32, fields: &Fields) -> Fraction {
        let full = fields.full;
        let (random, few, set) = match kind {
            kind::RANDOM => (full, 0, 0),
            kind::FEW => (0, full, 0),
            kind::ONES => (0, 0, full),
            kind::LAST => (0, 0, full & 1),
            kind::HALF => (0, 0, full / 2 + 1 & full),
            _ => (0, 0, 0),
        };
        Fraction { random, few, set }
    }

    #[inline]
    pub(super) fn draw(&self, fields: &Fields, hash: u32) -> u64 {
        let all = bits(fields, hash);
        let thin = bits(fields, hash.rotate_left(9) & hash.rotate_left(18));
        all & (self.random | thin & self.few) | self.set
    }
}

/// The magnitude of `1.fraction * 2^exponent`, brought into the range.
#[inline]
pub(super) fn number(fields: &Fields, exponent: i32, fraction: u64) -> u64 {
    let e = exponent.clamp(fields.low, fields.high);
    let normal = e.max(fields.emin);
    let field = ((normal + fields.bias - 1) as u64) << fields.trailing;
    (field + ((fields.full + 1 | fraction) >> (normal - e))).min(fields.largest)
}

/// Any finite magnitude.
#[inline]
pub(super) fn any(fields: &Fields, hash: u32) -> u64 {
    let magnitude = bits(fields, hash) & ((1 << fields.magnitude) - 1);
    if magnitude <= fields.largest { magnitude } else { magnitude ^ 1 << (fields.magnitude - 1) }
}

/// A magnitude at a special place of the format.
pub(super) fn special(fields: &Fields, hash: u32) -> u64 {
    let ieee = fields.specials == Some(Specials::Ieee);
    match hash >> 29 {
        0 | 1 if ieee => fields.infinity | bits(fields, hash.rotate_left(3)) & fields.full,
        0..=2 => fields.nan,
        3 | 4 if ieee => fields.infinity,
        3..=5 => fields.largest,
        6 => u64::from(hash >> 28 & 1),
        _ => any(fields, hash),
    }
}

/// The code of a magnitude and a sign, with or without random padding.
#[inline]
pub(super) fn code(plan: &Plan, fields: &Fields, magnitude: u64, negative: u32, hash: u32) -> u64 {
    let has_sign = if fields.specials == Some(Specials::NegativeZeroNan) {
        magnitude != 0 && magnitude & fields.sign == 0
    } else {
        fields.signed
    };
    let sign = if has_sign && negative & 1 != 0 { fields.sign } else { 0 };
    let padding = if plan.padding { u64::from(hash.rotate_left(16)) & ((1 << fields.padding) - 1) } else { 0 };
    magnitude << fields.padding | sign | padding
}

/// An integer: the ends of the range, small numbers, or any; `minus` its negative where there is one.
pub(super) fn integer(plan: &Plan, fields: &Fields, hash: u32, minus: bool) -> u64 {
    let mask = u32::MAX >> (32 - fields.bits);
    let most = if fields.signed { mask >> 1 } else { mask };
    let pick = match plan.integers {
        0..=3 => hash >> 29,
        4 | 5 => hash >> 31,
        _ => 7,
    };
    let code = match pick {
        0 => most,
        1 => mask ^ most,
        2 => mask,
        3 => 0,
        4 => 1,
        _ => hash & mask,
    };
    u64::from(if minus && fields.signed { code.wrapping_neg() & mask } else { code })
}

/// The integer significand of a code and the weight of its last bit.
pub(super) fn significand(fields: &Fields, code: u64) -> (u64, i32) {
    let magnitude = code >> fields.padding & ((1 << fields.magnitude) - 1);
    let field = (magnitude >> fields.trailing) as i32;
    let exponent = field.max(1) - fields.bias - fields.trailing;
    (if field != 0 { magnitude & fields.full | fields.full + 1 } else { magnitude }, exponent)
}
