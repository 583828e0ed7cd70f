//! Sums in 32 bits: exact products in binary32, truncated to integers.

use std::hint::black_box;

use super::{
    elements::Elements,
    fused::FusedSum,
    number::{COUNT, NONE, Number, ShortNumber, ZERO},
    pieces::Pieces,
    step::{SumStep, ZeroRule, ZeroSigns, add_specials},
    word::{LANES, Lane, TURNS, array, each, over, piece, set_piece},
};
use crate::{base::vectors::vectorised, format::Rounding};

/// Exponents of the non-zero factors, of A and of B.
#[derive(Debug, Clone, Copy)]
pub(super) struct FactorRange {
    pub(super) low: [i32; 2],
    pub(super) high: [i32; 2],
}

/// Scale from products in binary32 to the units of a sum.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitScale {
    /// Exponent field of the scale plus the largest exponent of a term.
    unit: i32,
    /// Least field: it truncates every product to zero.
    least: i32,
    /// True if values are the factors, so that one scale serves a sum; else their exponents are taken as 0.
    common: bool,
}

/// Exponents of the normal numbers of binary32, and its bias.
const NORMAL: (i32, i32) = (-126, 127);

impl FactorRange {
    pub(super) fn new(a: &Elements, b: &Elements) -> FactorRange {
        FactorRange { low: [a.range.0, b.range.0], high: [a.range.1, b.range.1] }
    }
}

impl FusedSum {
    /// Bits of the sum, if it fits 32 bits, and its products and its addend 31.
    pub(super) fn short_bits(&self) -> Option<u32> {
        let alignment = self.alignment.filter(|alignment| {
            alignment.rounding == Rounding::Rz
                && !alignment.sticky
                && !alignment.complement
                && alignment.c_bits.is_none()
                && alignment.carry.is_none()
        })?;
        let term = (self.term_bits as i32 + alignment.bits - self.fraction_bits).max(0) as u32;
        let products = term + usize::BITS - self.terms.saturating_sub(1).leading_zeros();
        let addend = match self.addends[..] {
            [] => 0,
            [addend] if addend.bits.is_none() && addend.drop.is_none() && !addend.is_sum => {
                addend.precision + (alignment.bits - addend.fraction_bits).max(0) as u32
            }
            _ => return None,
        };
        let bits = products.max(addend);
        (self.term_bits <= f32::MANTISSA_DIGITS && bits < i32::BITS).then_some(bits + 1)
    }

    /// Common scale of all products of these factors.
    /// `None` where a factor, a product, scaled or not, or a scale might not be a normal number of binary32.
    pub(super) fn unit_scale(&self, range: &FactorRange) -> Option<UnitScale> {
        let bits = self.alignment?.bits;
        let (smallest, bias) = NORMAL;
        let FactorRange { low, high } = range;
        // Magnitudes of products are below 2^(e + headroom), and so are those of factors.
        let headroom = self.headroom();
        let (lowest, highest) = (low[0] + low[1], high[0] + high[1] + headroom);
        let least = -1 - highest;
        let normal = |low: i32, high: i32| low - self.fraction_bits >= smallest && high < bias;
        let factors = (0..2).all(|of| normal(low[of], high[of] + headroom));
        let fits = factors && normal(lowest, highest) && normal(lowest + least.min(0), highest);
        let scales = least > smallest && bits - lowest <= bias;
        (fits && scales).then_some(UnitScale { unit: bias + bits, least: bias + least, common: true })
    }

    /// Separate scales for products of any factors.
    pub(super) fn separate_scale(&self) -> Option<UnitScale> {
        let (_, bias) = NORMAL;
        Some(UnitScale { unit: bias + self.alignment?.bits, least: bias - 1 - self.headroom(), common: false })
    }

    /// Integer bits of products with exponents taken as 0.
    fn headroom(&self) -> i32 {
        self.term_bits as i32 - self.fraction_bits
    }
}

/// Pieces computed side by side, to hide the latency of sums.
const SIDE: usize = 4;

vectorised! {
    /// Unrounded sums of a group and its addend (zero without one). Missing pieces have arbitrary values.
    pub(super) fn narrow_sums(
        step: &SumStep,
        scale: &UnitScale,
        pieces: &Pieces<'_>,
        addend: &Number,
        sum: &mut ShortNumber,
    ) {
        let alignment = step.sum.alignment.expect("a narrow sum is aligned");
        let floor = alignment.floor.unwrap_or(NONE);
        let fraction_bits = step.sum.addends.first().map_or(alignment.bits, |first| first.fraction_bits);
        let excess = fraction_bits - alignment.bits;
        let (left, right) = ((-excess).max(0) as u32, excess.max(0));
        // Stage by stage on all pieces. A step opaque to the compiler, so that it vectorises over lanes, not over
        // terms.
        let (next, count) = (black_box(1), pieces.terms());
        let mut at = 0;
        while at < pieces.count {
            let factors: [_; SIDE] = array(|side| pieces.of_group(at + side, pieces.a.exponents, pieces.b.exponents));
            let mut largest = [[ZERO; LANES]; SIDE];
            let mut term = 0;
            if pieces.share_columns::<SIDE>(at) {
                while term < count {
                    let y = factors[0].1[term];
                    for side in 0..SIDE {
                        let x = &factors[side].0[term];
                        largest[side] = each(|l| largest[side][l].max(x[l % TURNS].wrapping_add(y[l])));
                    }
                    term += next;
                }
            }
            while term < count {
                for side in 0..SIDE {
                    let (x, y) = (&factors[side].0[term], &factors[side].1[term]);
                    largest[side] = each(|l| largest[side][l].max(x[l % TURNS].wrapping_add(y[l])));
                }
                term += next;
            }
            for (side, largest) in largest.iter().enumerate() {
                set_piece(&mut sum.exponent, at + side, largest);
            }
            at += SIDE;
        }
        for l in 0..COUNT {
            // A zero's exponent is below every other one with these bits as well as without.
            let largest = sum.exponent[l].max(addend.exponent[l] + fraction_bits);
            // Without any term there is nothing to align.
            sum.exponent[l] = if largest > NONE { largest.max(floor) } else { largest };
        }
        if scale.common {
            cut_products::<true>(scale, pieces, next, sum);
        } else {
            cut_products::<false>(scale, pieces, next, sum);
        }
        let mut zeros = 0;
        for l in 0..COUNT {
            let (products, largest) = (sum.magnitude[l] as i32, sum.exponent[l]);
            let shift = largest.wrapping_sub(addend.exponent[l] + fraction_bits).wrapping_add(right) as u32;
            let cut = ((addend.magnitude[l] as u32) << left).checked_shr(shift).unwrap_or(0);
            let signed = (cut ^ addend.negative[l]).wrapping_sub(addend.negative[l]) as i32;
            let total = products.wrapping_add(signed);
            // If both have one sign, it is the sum's, whose magnitude may need all 32 bits.
            let sign = products & signed | (products | signed) & total;
            let minus = (sign >> 31) as u32;
            let magnitude = (total as u32 ^ minus).wrapping_sub(minus);
            zeros |= u32::from(magnitude == 0);
            sum.magnitude[l] = magnitude;
            sum.negative[l] = minus;
            sum.exponent[l] = largest.wrapping_sub(alignment.bits);
        }
        if step.zero_rule != ZeroRule::Fixed && zeros != 0 {
            for at in 0..pieces.count {
                let signs = zero_signs(step, pieces, addend, at);
                let (magnitude, minus) = (piece(&sum.magnitude, at), piece(&sum.negative, at));
                let minus = each(|l| if magnitude[l] == 0 { signs[l] } else { minus[l] });
                set_piece(&mut sum.negative, at, &minus);
            }
        }
        sum.special = addend.special;
        if pieces.special {
            add_specials(pieces, &mut sum.special);
        }
    }
}

/// Truncates and adds the products in units of the sums' exponents, with `COMMON` scales or one each.
#[allow(unsafe_code)]
#[inline(always)]
fn cut_products<const COMMON: bool>(scale: &UnitScale, pieces: &Pieces, next: usize, sum: &mut ShortNumber) {
    let UnitScale { unit, least, .. } = *scale;
    // If every product is zero, every scale serves.
    let scale = |field: i32| f32::from_bits((field.max(least).min(254) as u32) << 23);
    let count = pieces.terms();
    let mut at = 0;
    while at < pieces.count {
        let values: [_; SIDE] = array(|side| pieces.of_group(at + side, pieces.a_values, pieces.b_values));
        let exponents: [_; SIDE] = array(|side| pieces.of_group(at + side, pieces.a.exponents, pieces.b.exponents));
        let scales: [Lane<f32>; SIDE] =
            array(|side| over(&piece(&sum.exponent, at + side), |largest| scale(unit.wrapping_sub(largest))));
        let mut products = [[0i32; LANES]; SIDE];
        let mut term = 0;
        if COMMON && pieces.share_columns::<SIDE>(at) {
            while term < count {
                let y = values[0].1[term];
                for side in 0..SIDE {
                    let x = &values[side].0[term];
                    let unrounded_units = each(|l| x[l % TURNS] * y[l] * scales[side][l]);
                    // SAFETY: as below.
                    let units: Lane<i32> = each(|l| unsafe { unrounded_units[l].to_int_unchecked() });
                    products[side] = each(|l| products[side][l].wrapping_add(units[l]));
                }
                term += next;
            }
        }
        while term < count {
            for side in 0..SIDE {
                let (x, y) = (&values[side].0[term], &values[side].1[term]);
                let value = each(|l| x[l % TURNS] * y[l]);
                let unrounded_units = if COMMON {
                    each(|l| value[l] * scales[side][l])
                } else {
                    let (x, y) = (&exponents[side].0[term], &exponents[side].1[term]);
                    let largest = piece(&sum.exponent, at + side);
                    let exponent = each(|l| x[l % TURNS].wrapping_add(y[l]));
                    each(|l| value[l] * scale(unit.wrapping_sub(largest[l]).wrapping_add(exponent[l])))
                };
                // SAFETY: finite, and of fewer than 32 bits by `short_bits`: no exponent of a product is above the
                // largest.
                let units: Lane<i32> = each(|l| unsafe { unrounded_units[l].to_int_unchecked() });
                products[side] = each(|l| products[side][l].wrapping_add(units[l]));
            }
            term += next;
        }
        for (side, products) in products.iter().enumerate() {
            set_piece(&mut sum.magnitude, at + side, &over(products, |units| units as u32));
        }
        at += SIDE;
    }
}

/// Signs of zero sums, as masks. Such sums are rare: compiled once.
#[inline(never)]
fn zero_signs(step: &SumStep, pieces: &Pieces, addend: &Number, at: usize) -> Lane<u32> {
    let mut zeros = ZeroSigns::new(step);
    if !step.sum.addends.is_empty() {
        zeros.add(&over(&piece(&addend.magnitude, at), |units| units == 0), &piece(&addend.negative, at));
    }
    let (a, b) = pieces.of_group(at, pieces.a_values, pieces.b_values);
    for (x, y) in a.iter().zip(b) {
        // A product of non-zero factors is a normal number, not zero.
        let product = each(|l| x[l % TURNS] * y[l]);
        zeros.add(&over(&product, |product| product == 0.0), &over(&product, |product| product.to_bits() >> 31));
    }
    zeros.signs()
}
