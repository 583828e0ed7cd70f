//! Fused sums: terms aligned, truncated and added in integers.

use std::hint::black_box;

use super::{
    number::{NONE, Number, UNKNOWN, ZERO},
    terms::{FusedTerms, GroupFactors, Stored},
    word::{LANES, Lane, SignedWord, each, over, piece},
};
use crate::{arithmetic::Alignment, format::Rounding};

/// Alignment of a sum, and the widths of its integers.
#[derive(Debug, Clone)]
pub(super) struct FusedSum {
    pub(super) alignment: Option<Alignment>,
    /// Addends besides the products.
    pub(super) addends: Vec<FusedAddend>,
    /// Fraction bits of the products.
    pub(super) fraction_bits: i32,
    /// Bits of the largest product.
    pub(super) term_bits: u32,
    /// The number of products.
    pub(super) terms: usize,
}

/// Properties of an addend that do not depend on its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct FusedAddend {
    /// Fraction bits of its significand.
    pub(super) fraction_bits: i32,
    /// Bits of its significand.
    pub(super) precision: u32,
    /// True if it is an unrounded sum.
    pub(super) is_sum: bool,
    /// True if the exponent belongs to the leading bit.
    pub(super) normalises: bool,
    /// Fraction bits of the term; `None` uses the bits of the alignment.
    pub(super) bits: Option<i32>,
    /// Largest distance of its exponent below the largest one; beyond, it is ignored.
    pub(super) drop: Option<i32>,
}

impl FusedAddend {
    /// Value of the addend in a piece.
    #[inline(always)]
    pub(super) fn value(&self, number: &Number, at: usize) -> AddendValue {
        let value = AddendValue::new(number, at, if self.normalises { 0 } else { self.fraction_bits });
        if self.normalises { value.normalised() } else { value }
    }

    /// True if an addend with this exponent is ignored; a zero without exponent never is.
    #[inline(always)]
    fn drops(&self, exponent: i32, largest: i32) -> bool {
        exponent > NONE && self.drop.is_some_and(|drop| exponent < largest.saturating_sub(drop))
    }
}

/// Finite part of a sum in units of `2^(exponent - bits)`; its exponent is below [`NONE`] for zero.
#[derive(Clone, Copy)]
struct FinitePart<S> {
    units: Lane<S>,
    exponent: Lane<i32>,
    bits: i32,
}

impl<S: SignedWord> FinitePart<S> {
    /// The same sum in the register of the alignment.
    #[inline(always)]
    fn in_register(self, alignment: &Alignment) -> Self {
        let Some(carry) = alignment.carry else { return self };
        let width = (self.bits + carry + 2) as u32;
        FinitePart { units: over(&self.units, |sum| sum.in_register(width, alignment.saturates)), ..self }
    }
}

/// Value of an addend, in units of `2^(exponent - fraction bits)`.
#[derive(Clone, Copy)]
pub(super) struct AddendValue {
    pub(super) units: Lane<i64>,
    pub(super) exponent: Lane<i32>,
    pub(super) fraction_bits: i32,
    /// Signs, also of zeros, as masks.
    pub(super) negative: Lane<u32>,
}

impl AddendValue {
    /// Elements of a piece of numbers with these fraction bits.
    #[inline(always)]
    pub(super) fn new(number: &Number, at: usize, fraction_bits: i32) -> AddendValue {
        let magnitude = piece(&number.magnitude, at);
        let (negative, exponent) = (piece(&number.negative, at), piece(&number.exponent, at));
        AddendValue {
            units: each(|l| {
                let flip = negative[l] as i32 as i64;
                (magnitude[l] as i64 ^ flip) - flip
            }),
            // A zero's exponent is below every other one with these bits as well as without.
            exponent: over(&exponent, |e| e + fraction_bits),
            fraction_bits,
            negative,
        }
    }

    /// The same value with the exponents of the leading bits, followed by 60 fraction bits.
    #[inline(always)]
    fn normalised(self) -> AddendValue {
        let left = over(&self.units, |units| (units.unsigned_abs() | 1).leading_zeros() as i32 - 3);
        let exponent =
            each(|l| if self.units[l] == 0 { ZERO } else { self.exponent[l] - self.fraction_bits + 60 - left[l] });
        AddendValue { units: each(|l| self.units[l] << left[l].clamp(0, 63)), exponent, fraction_bits: 60, ..self }
    }

    #[inline(always)]
    fn part<S: SignedWord>(&self) -> FinitePart<S> {
        FinitePart { units: over(&self.units, S::of), exponent: self.exponent, bits: self.fraction_bits }
    }
}

/// Sum before rounding: `units * 2^exponent`.
#[derive(Clone, Copy)]
pub(super) struct UnroundedSum {
    pub(super) units: Lane<i64>,
    pub(super) exponent: Lane<i32>,
    /// Mark of an element left to the reference evaluator: [`UNKNOWN`] or 0.
    pub(super) unknown: Lane<u32>,
}

/// Widths of terms and of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Width {
    /// 32 bits, products in binary32.
    Narrow,
    /// 64 bits.
    Middle,
    /// 128 bits.
    Wide,
}

/// Length of a sum with a sticky bit, in bits.
const STICKY_BITS: i32 = 110;

impl FusedSum {
    /// Fraction bits of the sum.
    fn bits(&self, alignment: &Alignment) -> i32 {
        self.addends.iter().filter_map(|addend| addend.bits).fold(alignment.bits, i32::max)
    }

    /// Narrowest width that holds all operands; `None` if none does.
    pub(super) fn width(&self) -> Option<Width> {
        let count = |terms: usize| usize::BITS - terms.leading_zeros();
        let Some(alignment) = &self.alignment else { return Some(Width::Wide) };
        let lift = |to: i32, from: i32| (to - from).max(0) as u32;
        let common = self.bits(alignment);
        let term = self.term_bits + lift(alignment.bits, self.fraction_bits);
        let mut sum = term + count(self.terms) + lift(common, alignment.bits);
        let last = self.addends.len().saturating_sub(1);
        for (at, addend) in self.addends.iter().enumerate() {
            let bits = addend.bits.unwrap_or(alignment.bits);
            // An addend may be larger than the terms that it is aligned to.
            let above = if at == last { alignment.c_offset().max(0) as u32 } else { 0 };
            sum = sum.max(addend.precision + 1 + lift(bits, addend.fraction_bits) + lift(common, bits) + above);
        }
        // Flipped bits add a unit for each term; a sticky bit with a place needs that many bits more.
        sum += count(self.addends.len()) + u32::from(alignment.complement);
        sum += alignment.sticky_place.map_or(0, |place| place as u32 + 1);
        match sum {
            sum if sum <= i64::CAPACITY => Some(Width::Middle),
            sum if sum <= i128::CAPACITY => Some(Width::Wide),
            _ => None,
        }
    }

    /// Unrounded sum of products and addends.
    #[inline(always)]
    pub(super) fn of_factors(&self, width: Width, terms: &GroupFactors, addends: &[AddendValue]) -> UnroundedSum {
        self.of_terms(width, terms, addends)
    }

    /// Unrounded sum of stored terms and addends.
    #[inline(always)]
    pub(super) fn of_stored(&self, width: Width, terms: &Stored, addends: &[AddendValue]) -> UnroundedSum {
        self.of_terms(width, &terms, addends)
    }

    #[inline(always)]
    fn of_terms<T: FusedTerms<i64> + FusedTerms<i128>>(
        &self,
        width: Width,
        terms: &T,
        addends: &[AddendValue],
    ) -> UnroundedSum {
        match (width, &self.alignment) {
            (_, None) => {
                let (lowest, highest) = self.span(terms, addends);
                match self.unfit::<i64>(&lowest, &highest).contains(&UNKNOWN) {
                    false => self.exact::<i64, T>(terms, addends, &lowest),
                    true => exact(self, terms, addends),
                }
            }
            (_, Some(alignment)) if alignment.sticky => unusual(self, terms, addends, alignment),
            (Width::Wide, Some(alignment)) if alignment.complement => unusual(self, terms, addends, alignment),
            (_, Some(alignment)) if alignment.complement => {
                narrowed(&self.flipped::<i64, T>(terms, addends, alignment).in_register(alignment))
            }
            (Width::Wide, Some(alignment)) => wide(self, terms, addends, alignment),
            (_, Some(alignment)) => self.run::<i64, _>(terms, addends, alignment),
        }
    }

    #[inline(always)]
    fn run<S: SignedWord, T: FusedTerms<S>>(
        &self,
        terms: &T,
        addends: &[AddendValue],
        alignment: &Alignment,
    ) -> UnroundedSum {
        narrowed(&match alignment.rounding {
            Rounding::Rz => self.aligned::<S, T>(terms, addends, alignment, Rounding::Rz),
            Rounding::Rd => self.aligned::<S, T>(terms, addends, alignment, Rounding::Rd),
            rounding => self.aligned::<S, T>(terms, addends, alignment, rounding),
        })
    }

    /// Lanes that lose bits of a term or an addend in the alignment.
    fn lost<T: FusedTerms<i128>>(
        &self,
        terms: &T,
        addends: &[AddendValue],
        alignment: &Alignment,
        largest: &Lane<i32>,
    ) -> Lane<bool> {
        // A value with these fraction bits loses bits where it is shifted by more than its trailing zeros.
        let loses = |value: i128, exponent: i32, fraction_bits: i32, kept: i32, largest: i32| {
            let shift = largest.saturating_sub(exponent).saturating_add(fraction_bits - kept).max(0);
            match alignment.reach {
                None => value.loses(shift),
                Some(reach) => value.cut((shift.saturating_sub(reach)).max(0), Rounding::Rz).loses(shift.min(reach)),
            }
        };
        let mut lost = [false; LANES];
        for term in 0..terms.len() {
            let (exponent, value) = (terms.exponent(term), terms.value(term));
            for l in 0..LANES {
                lost[l] |= loses(value[l], exponent[l], self.fraction_bits, alignment.bits, largest[l]);
            }
        }
        for (fused, value) in self.addends.iter().zip(addends) {
            let (part, kept): (FinitePart<i128>, i32) = (value.part(), fused.bits.unwrap_or(alignment.bits));
            for l in 0..LANES {
                let dropped = fused.drops(part.exponent[l], largest[l]);
                lost[l] |= !dropped && loses(part.units[l], part.exponent[l], part.bits, kept, largest[l]);
            }
        }
        lost
    }

    /// Aligns terms and addends to the largest of their exponents, truncates and adds them.
    #[inline(always)]
    fn aligned<S: SignedWord, T: FusedTerms<S>>(
        &self,
        terms: &T,
        addends: &[AddendValue],
        alignment: &Alignment,
        rounding: Rounding,
    ) -> FinitePart<S> {
        let terms = &terms.trimmed();
        let count = terms.len();
        let step = black_box(1);
        let largest = largest(terms, addends, alignment);
        let excess = self.fraction_bits - alignment.bits;
        let (left, right) = ((-excess).max(0) as u32, excess.max(0));
        let mut products = [S::default(); LANES];
        let mut term = 0;
        while term < count {
            let (exponent, value) = (terms.exponent(term), terms.value(term));
            let units: Lane<S> = each(|l| {
                let shift = largest[l].wrapping_sub(exponent[l]).wrapping_add(right);
                value[l].lifted(left).cut(shift, rounding)
            });
            products = each(|l| products[l].plus(units[l]));
            term += step;
        }
        self.with_addends(&products, &largest, addends, alignment, rounding)
    }

    /// Sum before its register, with flipped bits of terms of another sign than the last addend.
    #[inline(always)]
    fn flipped<S: SignedWord, T: FusedTerms<S>>(
        &self,
        terms: &T,
        addends: &[AddendValue],
        alignment: &Alignment,
    ) -> FinitePart<S> {
        let endless = Alignment { carry: None, ..*alignment };
        let mut part = self.aligned::<S, T>(terms, addends, &endless, alignment.rounding);
        if alignment.complement {
            let flips = self.flips(terms, addends, alignment, &part.exponent);
            part.units = each(|l| part.units[l].plus(flips[l]));
        }
        part
    }

    /// Units that terms with flipped bits gain: those with another sign than the last addend.
    #[inline(always)]
    fn flips<S: SignedWord, T: FusedTerms<S>>(
        &self,
        terms: &T,
        addends: &[AddendValue],
        alignment: &Alignment,
        largest: &Lane<i32>,
    ) -> Lane<S> {
        let bits = self.bits(alignment);
        let frame = addends.last().map_or([0; LANES], |addend| addend.negative);
        let mut zeros = [false; LANES];
        if alignment.complement_zeros {
            for term in 0..terms.len() {
                let value = terms.value(term);
                zeros = each(|l| zeros[l] | !value[l].is_zero());
            }
            for addend in addends {
                zeros = each(|l| zeros[l] | (addend.units[l] != 0));
            }
        }
        // The units of a lane's term by its value and sign.
        let flipped = |l: usize, value: S, negative: u32, kept: i32| {
            let differs = (!value.is_zero() | zeros[l]) & ((negative != 0) != (frame[l] != 0));
            let sign = if frame[l] != 0 { S::of(1) } else { S::of(-1) };
            if differs { sign.lifted((bits - kept) as u32) } else { S::default() }
        };
        let mut units = [S::default(); LANES];
        for term in 0..terms.len() {
            let (value, negative) = (terms.value(term), terms.negative(term));
            units = each(|l| units[l].plus(flipped(l, value[l], negative[l], alignment.bits)));
        }
        for (addend, value) in self.addends.iter().zip(addends) {
            let (part, kept): (FinitePart<S>, i32) = (value.part(), addend.bits.unwrap_or(alignment.bits));
            units = each(|l| {
                let dropped = addend.drops(part.exponent[l], largest[l]);
                let gained = flipped(l, part.units[l], value.negative[l], kept);
                units[l].plus(if dropped { S::default() } else { gained })
            });
        }
        units
    }

    /// Sum of products, and of addends truncated in the alignment to the largest exponents.
    #[inline(always)]
    fn with_addends<S: SignedWord>(
        &self,
        products: &Lane<S>,
        largest: &Lane<i32>,
        addends: &[AddendValue],
        alignment: &Alignment,
        rounding: Rounding,
    ) -> FinitePart<S> {
        let bits = self.bits(alignment);
        let mut units: Lane<S> = over(products, |sum| sum.lifted((bits - alignment.bits) as u32));
        for (at, value) in addends.iter().enumerate() {
            let fused = &self.addends[at];
            let kept = fused.bits.unwrap_or(alignment.bits);
            let part: FinitePart<S> = value.part();
            let above = if at + 1 == addends.len() { alignment.c_offset().max(0) } else { 0 };
            let cut = cut(&part, largest, kept, above, rounding);
            units = each(|l| {
                let dropped = fused.drops(part.exponent[l], largest[l]);
                let addend = if dropped { S::default() } else { cut[l] };
                units[l].plus(addend.lifted((bits - kept) as u32))
            });
        }
        FinitePart { units, exponent: *largest, bits }.in_register(alignment)
    }

    /// The lowest exponent of a bit of each sum, and a bound of the highest.
    #[inline(always)]
    fn span<T: FusedTerms<i64>>(&self, terms: &T, addends: &[AddendValue]) -> (Lane<i32>, Lane<i32>) {
        let low = |exponent: i32, bits: i32| if exponent > NONE { exponent - bits } else { i32::MAX };
        let (mut lowest, mut highest) = ([i32::MAX; LANES], [ZERO; LANES]);
        for value in addends {
            let part: FinitePart<i64> = value.part();
            lowest = each(|l| lowest[l].min(low(part.exponent[l], part.bits)));
            highest = each(|l| highest[l].max(part.exponent[l].saturating_add(part.units[l].length() - part.bits)));
        }
        for term in 0..terms.len() {
            let exponent = terms.exponent(term);
            lowest = each(|l| lowest[l].min(low(exponent[l], self.fraction_bits)));
            highest = each(|l| highest[l].max(exponent[l] - self.fraction_bits + self.term_bits as i32));
        }
        (lowest, highest)
    }

    /// Marks of the sums whose span does not fit a word.
    #[inline(always)]
    fn unfit<S: SignedWord>(&self, lowest: &Lane<i32>, highest: &Lane<i32>) -> Lane<u32> {
        let count = (usize::BITS - (self.terms + self.addends.len()).leading_zeros()) as i32;
        let room = S::CAPACITY as i32 - count - 1;
        // A sum of zeros has a lowest exponent beyond every other.
        each(|l| if lowest[l] != i32::MAX && highest[l].saturating_sub(lowest[l]) > room { UNKNOWN } else { 0 })
    }

    /// Exact sum of terms that lie close enough together.
    #[inline(always)]
    fn exact<S: SignedWord, T: FusedTerms<S>>(
        &self,
        terms: &T,
        addends: &[AddendValue],
        lowest: &Lane<i32>,
    ) -> UnroundedSum {
        let most = S::CAPACITY as i32 + 2;
        let left =
            |exponent: i32, bits: i32, l: usize| (exponent - bits).saturating_sub(lowest[l]).clamp(0, most) as u32;
        let mut sum = [S::default(); LANES];
        for value in addends {
            let part: FinitePart<S> = value.part();
            sum = each(|l| sum[l].plus(part.units[l].lifted(left(part.exponent[l], part.bits, l))));
        }
        for term in 0..terms.len() {
            let (exponent, value) = (terms.exponent(term), terms.value(term));
            sum = each(|l| sum[l].plus(value[l].lifted(left(exponent[l], self.fraction_bits, l))));
        }
        let exponent = over(lowest, |e| if e == i32::MAX { ZERO } else { e });
        narrowed(&FinitePart { units: sum, exponent, bits: 0 })
    }
}

/// Sums of 128 bits, without vector instructions: compiled once.
#[inline(never)]
fn wide<T: FusedTerms<i128>>(
    sum: &FusedSum,
    terms: &T,
    addends: &[AddendValue],
    alignment: &Alignment,
) -> UnroundedSum {
    sum.run::<i128, _>(terms, addends, alignment)
}

/// Sums with a sticky bit, or with terms whose bits are flipped; compiled once.
#[inline(never)]
fn unusual<T: FusedTerms<i128>>(
    sum: &FusedSum,
    terms: &T,
    addends: &[AddendValue],
    alignment: &Alignment,
) -> UnroundedSum {
    let part = sum.flipped::<i128, T>(terms, addends, alignment).in_register(alignment);
    if !alignment.sticky {
        return narrowed(&part);
    }
    let FinitePart { units, exponent, bits } = part;
    let lost = sum.lost(terms, addends, alignment, &exponent);
    if let Some(place) = alignment.sticky_place {
        let stuck = each(|l| {
            let rest = if alignment.rest_is_negative(units[l] < 0) { -1 } else { 1 };
            units[l].lifted(place as u32) + if lost[l] { rest } else { 0 }
        });
        return narrowed(&FinitePart { units: stuck, exponent, bits: bits + place });
    }
    // The last bit of such a length is far below every rounding.
    let left: Lane<i32> = over(&units, |units| (STICKY_BITS - units.length()).max(0));
    let rest = |units: i128| if alignment.rest_is_negative(units < 0) { -1 } else { 1 };
    let stuck = each(|l| {
        let lifted = units[l].lifted(left[l] as u32);
        if lost[l] && units[l] != 0 { lifted + rest(units[l]) } else { lifted }
    });
    narrowed(&FinitePart { units: stuck, exponent: each(|l| exponent[l] - left[l]), bits })
}

/// Exact sums of 128 bits, unknown if their terms lie too far apart; compiled once.
#[inline(never)]
fn exact<T: FusedTerms<i64> + FusedTerms<i128>>(sum: &FusedSum, terms: &T, addends: &[AddendValue]) -> UnroundedSum {
    let (lowest, highest) = sum.span(terms, addends);
    let unknown = sum.unfit::<i128>(&lowest, &highest);
    UnroundedSum { unknown, ..sum.exact::<i128, T>(terms, addends, &lowest) }
}

/// Largest exponents of terms and addends, to which they are aligned.
#[inline(always)]
fn largest<S: SignedWord, T: FusedTerms<S>>(terms: &T, addends: &[AddendValue], alignment: &Alignment) -> Lane<i32> {
    let terms = &terms.trimmed();
    let count = terms.len();
    // A step opaque to the compiler, so that it vectorises over lanes, not over terms.
    let step = black_box(1);
    let mut largest = [ZERO; LANES];
    for (at, addend) in addends.iter().enumerate() {
        let offset = if at + 1 == addends.len() { alignment.c_offset() } else { 0 };
        largest = each(|l| largest[l].max(addend.exponent[l].saturating_sub(offset)));
    }
    let mut term = 0;
    while term < count {
        let exponent = terms.exponent(term);
        largest = each(|l| largest[l].max(exponent[l]));
        term += step;
    }
    match alignment.floor {
        // Without any term there is nothing to align.
        Some(floor) => over(&largest, |e| if e > NONE { e.max(floor) } else { e }),
        None => largest,
    }
}

/// A part in units of `2^(largest - bits)`, truncated.
/// Its exponent is at most `above` higher than the largest.
#[inline(always)]
fn cut<S: SignedWord>(part: &FinitePart<S>, largest: &Lane<i32>, bits: i32, above: i32, rounding: Rounding) -> Lane<S> {
    let excess = part.bits - bits;
    let (left, right) = (((-excess).max(0) + above) as u32, excess.max(0) + above);
    each(|l| {
        let shift = largest[l].wrapping_sub(part.exponent[l]).wrapping_add(right);
        part.units[l].lifted(left).cut(shift, rounding)
    })
}

#[inline(always)]
fn narrowed<S: SignedWord>(part: &FinitePart<S>) -> UnroundedSum {
    let units = over(&part.units, S::narrowed);
    UnroundedSum {
        units: over(&units, |(units, _)| units),
        exponent: each(|l| part.exponent[l] - part.bits + units[l].1),
        unknown: [0; LANES],
    }
}
