//! One lane of the conversion to a floating-point format, for each layout.

use super::constants::{FloatConstants, INFINITY, TRAILING_BITS};

const HIDDEN: u32 = 1 << TRAILING_BITS;

/// Magnitude to be rounded: `significand / 2^shift`, placed above `base`.
#[derive(Clone, Copy)]
pub(super) struct Unrounded {
    pub(super) significand: u32,
    /// Shift from 1 to 31; 31 stands for all greater ones.
    pub(super) shift: u32,
    /// Shift without the limit of 31.
    pub(super) full_shift: u32,
    /// Biased exponent of a normal number less one, in its place.
    pub(super) base: u32,
    /// Bits of `base` that decide ties, with the last bit of the significand.
    pub(super) parity: u32,
}

/// Layout as code: places `f32` magnitudes in lanes, and rounded ones in codes.
pub(super) trait Placement {
    fn lane(plan: &FloatConstants, magnitude: u32) -> Unrounded;

    /// Code of exponent and trailing significand `fields`; `negative` is a mask.
    fn code(plan: &FloatConstants, fields: u32, magnitude: u32, negative: u32) -> u32;
}

/// Formats with the smallest normal number of `f32`.
pub(super) struct Aligned;
/// Formats with a greater smallest normal number, a sign and a zero.
pub(super) struct Narrower;
/// All formats.
pub(super) struct Other;

impl Placement for Aligned {
    #[inline(always)]
    fn lane(plan: &FloatConstants, magnitude: u32) -> Unrounded {
        Unrounded { significand: magnitude, shift: plan.dropped, full_shift: plan.dropped, base: 0, parity: 0 }
    }

    #[inline(always)]
    fn code(plan: &FloatConstants, fields: u32, magnitude: u32, negative: u32) -> u32 {
        signed(plan, fields, magnitude, negative)
    }
}

impl Placement for Narrower {
    #[inline(always)]
    fn lane(plan: &FloatConstants, magnitude: u32) -> Unrounded {
        let biased = (magnitude >> TRAILING_BITS) as i32;
        // A subnormal number has no hidden bit, and the exponent of the smallest normal one.
        let hidden = if biased == 0 { 0 } else { HIDDEN };
        let above = biased.max(1) - plan.lowest;
        let full_shift = plan.dropped + (-above).max(0) as u32;
        Unrounded {
            significand: magnitude & (HIDDEN - 1) | hidden,
            shift: full_shift.min(31),
            full_shift,
            base: (above.max(0) as u32) << plan.trailing_bits,
            parity: 0,
        }
    }

    #[inline(always)]
    fn code(plan: &FloatConstants, fields: u32, magnitude: u32, negative: u32) -> u32 {
        signed(plan, fields, magnitude, negative)
    }
}

impl Placement for Other {
    #[inline(always)]
    fn lane(plan: &FloatConstants, magnitude: u32) -> Unrounded {
        // Every significand but zero's has its leading bit in the place of the hidden one.
        let biased = (magnitude >> TRAILING_BITS) as i32;
        let trailing = magnitude & (HIDDEN - 1);
        let left = (trailing | 1).leading_zeros() - (31 - TRAILING_BITS);
        let (significand, exponent) =
            if biased == 0 { (trailing << left, 1 - left as i32) } else { (trailing | HIDDEN, biased) };
        let exponent = if magnitude == 0 { i32::MIN / 2 } else { exponent };
        let above = exponent - plan.lowest;
        let full_shift = plan.dropped + (-above).max(0) as u32;
        let base = (above.max(0) as u32).min(plan.highest) << plan.trailing_bits;
        Unrounded { significand, shift: full_shift.min(31), full_shift, base, parity: base & plan.parity }
    }

    #[inline(always)]
    fn code(plan: &FloatConstants, fields: u32, magnitude: u32, negative: u32) -> u32 {
        let fields = fields.max(plan.floor) - plan.floor;
        let code = signed(plan, fields, magnitude, negative);
        match plan.negative {
            Some(negative_code) if negative != 0 && magnitude != 0 && magnitude <= INFINITY => negative_code,
            _ => code,
        }
    }
}

/// One of two codes, by sign.
#[inline(always)]
fn either(codes: [u32; 2], negative: u32) -> u32 {
    codes[0] ^ negative & (codes[0] ^ codes[1])
}

#[inline(always)]
fn signed(plan: &FloatConstants, fields: u32, magnitude: u32, negative: u32) -> u32 {
    let code = fields << plan.padding_bits | negative & plan.sign_bit;
    let code = if fields == 0 { either(plan.zeros, negative) } else { code };
    let code = if fields > plan.largest { either(plan.overflowed, negative) } else { code };
    let code = if magnitude == INFINITY { either(plan.infinities, negative) } else { code };
    if magnitude > INFINITY { plan.nan } else { code }
}
