//! Slices of `f32` rounded to slices of codes.

use std::marker::PhantomData;

use super::{
    Code, SliceElement,
    blocks::{BlockedSlice, PerBlock},
    constants::{FloatConstants, INFINITY, Overlap},
    fits,
    integer::{self, IntegerConstants},
    parallel,
    placement::{Aligned, Narrower, Other, Placement, Unrounded},
    tabled::TableConstants,
};
use crate::{
    Error, Result,
    base::vectors::vectorised,
    format::{Encoding, Format, Overflow, Rounding},
};

/// Conversion of `f32` slices to codes of one format, under one rounding.
///
/// The codes are those of [`Format::encode`], for every input and every rounding. A value without a code (NaN in a
/// format without NaN, a negative number in an unsigned one without NaN and zero) is counted. It becomes the largest
/// positive number, as in NVIDIA's saturating conversions; in an integer format zero.
#[derive(Debug, Clone)]
pub struct Encoder<E> {
    rounding: Rounding,
    kind: Constants,
    elements: PhantomData<E>,
}

#[derive(Debug, Clone)]
enum Constants {
    Float(FloatConstants, Overlap),
    Integer(IntegerConstants),
    Table(TableConstants),
}

impl<E: SliceElement> Encoder<E> {
    /// Encoder to codes of `format`.
    /// A stochastic rounding uses the same random bits for every element; for different ones, see
    /// [`Encoder::encode_randomly`].
    ///
    /// # Errors
    /// The format's codes are wider than an element, or of another format than the element's.
    pub fn new(format: &Format, rounding: Rounding, overflow: Overflow) -> Result<Encoder<E>> {
        fits::<E>(format)?;
        let kind = match &format.encoding {
            Encoding::Float(float) => {
                let plan = FloatConstants::new(format, float, rounding, overflow);
                Constants::Float(plan, plan.layout())
            }
            Encoding::Integer { signed } => Constants::Integer(IntegerConstants::new(format, *signed)),
            Encoding::Table(table) => Constants::Table(TableConstants::new(format, table, rounding, overflow)),
        };
        Ok(Encoder { rounding, kind, elements: PhantomData })
    }

    /// Writes the code of every value to its place in `codes`; returns the number of values without one.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn encode(&self, values: &[f32], codes: &mut [E]) -> usize {
        assert_eq!(values.len(), codes.len(), "as many codes as values");
        run(&self.kind, self.rounding, values, None, E::codes_mut(codes));
        self.missing(values)
    }

    /// The same encoder without the most negative number, for a two's complement format.
    pub fn symmetric(mut self) -> Encoder<E> {
        if let Constants::Integer(plan) = &mut self.kind {
            plan.make_symmetric();
        }
        self
    }

    /// Smallest exponent for [`Encoder::encode_blocks`]; `None` if it cannot do this conversion.
    pub(crate) fn smallest_exponent(&self) -> Option<i32> {
        match &self.kind {
            _ if matches!(self.rounding, Rounding::Sr { .. }) => None,
            Constants::Float(plan, Overlap::Narrower) => Some(2 - plan.lowest),
            Constants::Float(..) | Constants::Table(_) => None,
            Constants::Integer(_) => Some(integer::SMALLEST_EXPONENT),
        }
    }

    /// Writes the codes of values divided by `2^exponent` of their block, with exact quotients.
    /// Codes of blocks with an exponent below [`Encoder::smallest_exponent`] are invalid. Values without a code are not
    /// counted.
    pub(crate) fn encode_blocks(&self, values: &[f32], exponents: BlockedSlice<i32>, codes: &mut [E]) {
        assert!(self.smallest_exponent().is_some(), "a conversion that scales");
        run(&self.kind, self.rounding, values, Some(exponents), E::codes_mut(codes));
    }

    /// [`Encoder::encode`] by the threads of rayon's pool.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn encode_parallel(&self, values: &[f32], codes: &mut [E]) -> usize {
        assert_eq!(values.len(), codes.len(), "as many codes as values");
        parallel::chunks(values, codes, |values, codes| self.encode(values, codes))
    }

    /// [`Encoder::encode`] with separate random bits for each value; the rounding says how many count.
    ///
    /// # Errors
    /// The rounding is not stochastic.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn encode_randomly(&self, values: &[f32], random: &[u64], codes: &mut [E]) -> Result<usize> {
        let Rounding::Sr { bits, .. } = self.rounding else {
            let name = self.rounding.name();
            return Err(Error::request(format!("random bits are for stochastic rounding, not for {name}")));
        };
        assert_eq!(values.len(), codes.len(), "as many codes as values");
        assert_eq!(values.len(), random.len(), "as many random numbers as values");
        stochastic(&self.kind, values, Random::Each(random), bits, E::codes_mut(codes));
        Ok(self.missing(values))
    }

    /// Number of values without a code.
    fn missing(&self, values: &[f32]) -> usize {
        let [nan, negative] = match &self.kind {
            Constants::Float(plan, _) => plan.lacks,
            Constants::Integer(_) => [true, false],
            Constants::Table(table) => [table.lacks_nan, false],
        };
        let nans = if nan { count(values, INFINITY + 1, u32::MAX >> 1) } else { 0 };
        // Magnitudes above the sign: from the smallest negative number to minus infinity.
        let negatives = if negative { count(values, 0x8000_0001, 0x8000_0000 | INFINITY) } else { 0 };
        nans + negatives
    }
}

vectorised! {
    /// Number of values whose bits lie from `low` to `high`, without the sign if the limits have none.
    fn count(values: &[f32], low: u32, high: u32) -> usize {
        let mask = high >> 31 << 31 | u32::MAX >> 1;
        let mut all = 0;
        for values in values.chunks(1 << 20) {
            let mut some = 0u32;
            for value in values {
                some += u32::from((value.to_bits() & mask).wrapping_sub(low) <= high - low);
            }
            all += some as usize;
        }
        all
    }
}

vectorised! {
    fn run<C: Code>(
        kind: &Constants, rounding: Rounding, values: &[f32], exponents: Option<BlockedSlice<i32>>, codes: &mut [C],
    ) {
        let job = EncodeJob { kind, values, exponents };
        match rounding {
            Rounding::Rne => job.run(codes, increment::rne),
            Rounding::Rna => job.run(codes, increment::rna),
            Rounding::Rz => job.run(codes, increment::rz),
            Rounding::Ru => job.run(codes, increment::ru),
            Rounding::Rd => job.run(codes, increment::rd),
            Rounding::Ro => job.run(codes, increment::ro),
            Rounding::Sr { random, bits } => stochastic(kind, values, Random::Same(random), bits, codes),
        }
    } or on any other x86-64 {
        // One loop for all roundings.
        let increment: fn(u32, u32, u32) -> u32 = match rounding {
            Rounding::Rne => increment::rne,
            Rounding::Rna => increment::rna,
            Rounding::Rz => increment::rz,
            Rounding::Ru => increment::ru,
            Rounding::Rd => increment::rd,
            Rounding::Ro => increment::ro,
            Rounding::Sr { random, bits } => return stochastic(kind, values, Random::Same(random), bits, codes),
        };
        EncodeJob { kind, values, exponents }.run(codes, increment);
    }
}

/// Increment of a significand before its low bits are dropped, by rounding.
/// Arguments: the last bit that stays, the weight of the first that goes, and the sign as a mask.
#[rustfmt::skip]
mod increment {
    #[inline(always)] pub(super) fn rne(odd: u32, half: u32, _: u32) -> u32 { half - 1 + odd }
    #[inline(always)] pub(super) fn rna(_: u32, half: u32, _: u32) -> u32 { half }
    #[inline(always)] pub(super) fn rz(_: u32, _: u32, _: u32) -> u32 { 0 }
    #[inline(always)] pub(super) fn ru(_: u32, half: u32, negative: u32) -> u32 { (2 * half - 1) & !negative }
    #[inline(always)] pub(super) fn rd(_: u32, half: u32, negative: u32) -> u32 { (2 * half - 1) & negative }
    #[inline(always)] pub(super) fn ro(odd: u32, half: u32, _: u32) -> u32 { if odd == 0 { 2 * half - 1 } else { 0 } }
}

/// Values to be converted.
struct EncodeJob<'a> {
    kind: &'a Constants,
    values: &'a [f32],
    exponents: Option<BlockedSlice<'a, i32>>,
}

impl EncodeJob<'_> {
    /// Converts every value by the rounding with this [`increment`].
    #[inline(always)]
    fn run<C: Code>(&self, codes: &mut [C], increment: impl Fn(u32, u32, u32) -> u32) {
        let values = self.values;
        match (self.kind, &self.exponents) {
            (Constants::Float(plan, Overlap::Narrower), Some(exponents)) => {
                exponents.run(values, codes, &Shaped::<_, Narrower>(*plan, increment, PhantomData));
            }
            (Constants::Float(plan, Overlap::Narrower), None) => {
                Shaped::<_, Narrower>(*plan, increment, PhantomData).block(0, values, codes);
            }
            (Constants::Float(plan, Overlap::Aligned), _) => {
                Shaped::<_, Aligned>(*plan, increment, PhantomData).block(0, values, codes);
            }
            (Constants::Float(plan, Overlap::Other), _) => {
                Shaped::<_, Other>(*plan, increment, PhantomData).block(0, values, codes);
            }
            (Constants::Integer(plan), Some(exponents)) => exponents.run(values, codes, &Whole(*plan, increment)),
            (Constants::Integer(plan), None) => Whole(*plan, increment).block(0, values, codes),
            (Constants::Table(table), _) => {
                for (value, code) in values.iter().zip(codes.iter_mut()) {
                    *code = C::cut(table.code(value.to_bits()));
                }
            }
        }
    }
}

/// Rounds to a floating-point format with this increment.
struct Shaped<I, S>(FloatConstants, I, PhantomData<S>);

impl<C: Code, S: Placement, I: Fn(u32, u32, u32) -> u32> PerBlock<i32, f32, C> for Shaped<I, S> {
    #[inline(always)]
    fn block(&self, exponent: i32, values: &[f32], codes: &mut [C]) {
        // A copy, so that the loop keeps its fields in registers.
        let plan = self.0.divided(exponent);
        let values = &values[..codes.len()];
        for (at, code) in codes.iter_mut().enumerate() {
            let bits = values[at].to_bits();
            let magnitude = bits & u32::MAX >> 1;
            let lane = S::lane(&plan, magnitude);
            let fields = rounded(&lane, bits, &self.1) + lane.base;
            *code = C::cut(S::code(&plan, fields, magnitude, negative(bits)));
        }
    }
}

/// Rounds to an integer format with this increment.
struct Whole<I>(IntegerConstants, I);

impl<C: Code, I: Fn(u32, u32, u32) -> u32> PerBlock<i32, f32, C> for Whole<I> {
    #[inline(always)]
    fn block(&self, exponent: i32, values: &[f32], codes: &mut [C]) {
        let plan = self.0;
        let values = &values[..codes.len()];
        for (at, code) in codes.iter_mut().enumerate() {
            let bits = values[at].to_bits();
            *code = C::cut(plan.code(bits, rounded(&integer::lane(bits, exponent), bits, &self.1)));
        }
    }
}

/// The sign, as a mask.
#[inline(always)]
fn negative(bits: u32) -> u32 {
    (bits as i32 >> 31) as u32
}

#[inline(always)]
fn rounded(lane: &Unrounded, bits: u32, increment: &impl Fn(u32, u32, u32) -> u32) -> u32 {
    let odd = ((lane.significand >> lane.shift) + lane.parity) & 1;
    let half = 1 << (lane.shift - 1);
    // At most 2^24 - 1 and 2^31 - 1.
    (lane.significand + increment(odd, half, negative(bits))) >> lane.shift
}

/// Random bits of stochastic rounding.
#[derive(Clone, Copy)]
enum Random<'a> {
    Same(u64),
    Each(&'a [u64]),
}

/// Converts every value by stochastic rounding with `bits` random bits.
#[inline(always)]
fn stochastic<C: Code>(kind: &Constants, values: &[f32], random: Random, bits: u32, codes: &mut [C]) {
    let values = &values[..codes.len()];
    for (at, code) in codes.iter_mut().enumerate() {
        let random = match random {
            Random::Same(random) => random,
            Random::Each(random) => random[at],
        };
        let f32_bits = values[at].to_bits();
        let magnitude = f32_bits & u32::MAX >> 1;
        *code = C::cut(match kind {
            Constants::Float(plan, _) => {
                let lane = Other::lane(plan, magnitude);
                let fields = randomly(&lane, random, bits) + lane.base;
                Other::code(plan, fields, magnitude, negative(f32_bits))
            }
            Constants::Integer(plan) => plan.code(f32_bits, randomly(&integer::lane(f32_bits, 0), random, bits)),
            Constants::Table(table) => table.random_code(f32_bits, random, bits),
        });
    }
}

/// Rounds `lane`: the dropped fraction, cut to `bits` bits, and the random bits may carry.
#[inline(always)]
fn randomly(lane: &Unrounded, random: u64, bits: u32) -> u32 {
    let significand = u64::from(lane.significand);
    let shift = lane.full_shift.min(127);
    let (kept, rest) = match shift {
        0..64 => (significand >> shift, significand & ((1 << shift) - 1)),
        _ => (0, significand),
    };
    // The fraction in units of 2^-bits.
    let fraction = if bits >= shift { rest << (bits - shift) } else { rest.checked_shr(shift - bits).unwrap_or(0) };
    let random = random & u64::MAX >> (64 - bits);
    let up = (u128::from(fraction) + u128::from(random)) >> bits != 0;
    (kept + u64::from(up)) as u32
}
