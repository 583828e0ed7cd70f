//! Codes from random bits.

use super::{
    fields::Fields,
    line::mask,
    parameters::{Parameters, kind},
    word::CodeWord,
};
use crate::format::Specials;

/// Trailing significands of one kind: random in `random`, few bits in `few`, and the bits of `set`.
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
            kind::HALF => (0, 0, (full / 2 + 1) & full),
            _ => (0, 0, 0),
        };
        Fraction { random, few, set }
    }

    #[inline(always)]
    pub(super) fn draw<W: CodeWord>(&self, fields: &Fields, hash: u32) -> W {
        let all = W::random(hash, fields.bits);
        let thin = W::random(hash.rotate_left(9) & hash.rotate_left(18), fields.bits);
        all & (W::of(self.random) | thin & W::of(self.few)) | W::of(self.set)
    }
}

/// Magnitude of `1.fraction * 2^exponent`, clamped to the range.
#[inline(always)]
pub(super) fn number<W: CodeWord>(fields: &Fields, exponent: i32, fraction: W) -> W {
    let e = exponent.max(fields.low).min(fields.high);
    let normal = e.max(fields.emin);
    let field = W::from((normal + fields.bias - 1) as u32).left(fields.trailing as u32);
    let significand = W::of(fields.full + 1) | fraction;
    (field + significand.right((normal - e) as u32)).min(W::of(fields.largest))
}

/// Any finite magnitude.
#[inline(always)]
pub(super) fn any<W: CodeWord>(fields: &Fields, hash: u32) -> W {
    let magnitude = W::random(hash, fields.bits) & W::of((1 << fields.magnitude) - 1);
    let lower = magnitude ^ W::of(1 << (fields.magnitude - 1));
    if magnitude <= W::of(fields.largest) { magnitude } else { lower }
}

/// Magnitude at a special place of the format.
pub(super) fn special(fields: &Fields, hash: u32) -> u64 {
    let ieee = fields.specials == Some(Specials::Ieee);
    match hash >> 29 {
        0 | 1 if ieee => fields.infinity | u64::random(hash.rotate_left(3), fields.bits) & fields.full,
        0..=2 => fields.nan,
        3 | 4 if fields.infinity != 0 => fields.infinity,
        3..=5 => fields.largest,
        6 => u64::from(hash >> 28 & 1),
        _ => any(fields, hash),
    }
}

/// Code of a magnitude and a sign, with or without random padding.
/// Masks, not conditions: all elements of a line have the same format, and are made without branches.
#[inline(always)]
pub(super) fn code<W: CodeWord>(plan: &Parameters, fields: &Fields, magnitude: W, negative: u32, hash: u32) -> W {
    // Where zero has no sign, the code of -0 is NaN, of either sign.
    let bare = fields.specials.is_some_and(Specials::takes_negative_zero);
    let (signed, bare) =
        (W::of(mask(fields.signed)), if magnitude == W::from(0) { W::of(mask(bare)) } else { W::from(0) });
    let padding = mask(plan.padding) as u32 & ((1 << fields.padding) - 1);
    magnitude.left(fields.padding)
        | W::from(negative & 1).left(fields.bits - 1) & signed & !bare
        | W::from(hash.rotate_left(16) & padding)
}

/// Integer: the ends of the range, small numbers, or any; with `minus` its negative if there is one.
#[inline(always)]
pub(super) fn integer(plan: &Parameters, fields: &Fields, hash: u32, minus: bool) -> u64 {
    let all = u32::MAX >> (32 - fields.bits);
    let most = if fields.signed { all >> 1 } else { all };
    let (picked, none) = match plan.integers {
        0..=3 => (29, 0),
        4 | 5 => (31, 0),
        _ => (31, 7),
    };
    let pick = hash >> picked | none;
    let mut code = hash & all;
    for (place, special) in [most, all ^ most, all, 0, 1].into_iter().enumerate() {
        code = if pick == place as u32 { special } else { code };
    }
    u64::from(if minus && fields.signed { code.wrapping_neg() & all } else { code })
}

/// Integer significand of a code and the weight of its last bit.
pub(super) fn significand(fields: &Fields, code: u64) -> (u64, i32) {
    let magnitude = code >> fields.padding & ((1 << fields.magnitude) - 1);
    let field = (magnitude >> fields.trailing) as i32;
    let exponent = field.max(1) - fields.bias - fields.trailing;
    (if field != 0 { magnitude & fields.full | (fields.full + 1) } else { magnitude }, exponent)
}
