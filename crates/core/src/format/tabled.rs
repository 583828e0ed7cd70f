//! Codes of formats by table: decoding, special codes, and rounding of exact numbers.

use std::cmp::Ordering;

use super::{Class, Decoded, Overflow, Rounding, Ties, ValueTable};
use crate::number::{Finite, Real, exact_sum};

/// Number, perhaps irrational, that can be compared with points of the real line.
pub(crate) trait Exact {
    /// Order of the number and a point.
    fn compare(&self, point: &Point) -> Ordering;
}

/// Point `from + (to - from) * weight / 2^bits`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) from: Finite,
    pub(crate) to: Finite,
    pub(crate) weight: u128,
    /// At most 64.
    pub(crate) bits: u32,
}

impl Point {
    pub(crate) fn at(number: Finite) -> Point {
        Point { from: number, to: number, weight: 0, bits: 0 }
    }

    /// Terms whose sum is `2^bits` times the point.
    pub(crate) fn terms(&self) -> [Finite; 2] {
        let times = |number: &Finite, factor: u128| Finite { significand: number.significand * factor, ..*number };
        [times(&self.from, (1 << self.bits) - self.weight), times(&self.to, self.weight)]
    }
}

impl Exact for Finite {
    fn compare(&self, point: &Point) -> Ordering {
        if point.bits == 0 {
            return compare(self, &point.from);
        }
        let [from, to] = point.terms();
        order(&exact_sum([self.times_power_of_two(point.bits as i32), from.negated(), to.negated()]))
    }
}

/// Order of two numbers with this difference.
pub(crate) fn order(difference: &Finite) -> Ordering {
    match difference {
        zero if zero.is_zero() => Ordering::Equal,
        Finite { negative: true, .. } => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// The number, or one with an exponent near binary64's.
/// It lies on the same side of every number, limit and boundary of a table.
fn within_reach(x: &Finite) -> Finite {
    let above = 127 - x.significand.leading_zeros().min(127) as i32;
    Finite { exponent: x.exponent.saturating_add(above).clamp(-3000, 1100) - above, ..*x }
}

/// Order of two numbers; a sticky one lies beyond its significand.
fn compare(x: &Finite, y: &Finite) -> Ordering {
    let sign = |x: &Finite| {
        if x.is_zero() {
            0
        } else if x.negative {
            -1
        } else {
            1
        }
    };
    let magnitudes = || match x.negative {
        true => y.compare_magnitudes(x),
        false => x.compare_magnitudes(y),
    };
    sign(x).cmp(&sign(y)).then_with(magnitudes)
}

/// Exact number rounded to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoundedValue {
    pub(crate) code: u64,
    pub(crate) inexact: bool,
    /// True if the number lies beyond the table's and its limit.
    pub(crate) overflows: bool,
}

impl ValueTable {
    pub(crate) fn decode(&self, code: u64) -> Decoded {
        let value = self.values()[code as usize & (self.values().len() - 1)];
        let negative = value.is_sign_negative() && !value.is_nan();
        let datum = |class, significand, exponent| Decoded { class, negative, significand, exponent };
        let Real::Finite(number) = Real::from(value) else {
            return datum(if value.is_nan() { Class::Nan } else { Class::Infinite }, 0, self.lowest_quantum());
        };
        let Some(leading) = number.leading_exponent() else { return datum(Class::Zero, 0, self.lowest_quantum()) };
        // The leading bit has the same place in every number.
        let exponent = leading - self.fraction_bits() as i32;
        let left = number.exponent - exponent;
        let significand = if left >= 0 { number.significand << left } else { number.significand >> -left };
        datum(Class::Normal, significand as u64, exponent)
    }

    /// Finite number of a code.
    fn number(&self, code: u8) -> Finite {
        match self.decode(code.into()).real() {
            Real::Finite(number) => number,
            _ => unreachable!("codes in ascending order are numbers"),
        }
    }

    /// Exponents of the least last bit and, exclusively, of the highest bit of all numbers.
    pub(crate) fn exponents(&self) -> (i32, i32) {
        let (low, high) = self.leading_exponents();
        (low - self.fraction_bits() as i32, high + 1)
    }

    fn lowest_quantum(&self) -> i32 {
        self.exponents().0
    }

    /// Lowest code whose value passes.
    fn first(&self, passes: impl Fn(f64) -> bool) -> Option<u64> {
        self.values().iter().position(|&value| passes(value)).map(|code| code as u64)
    }

    pub(crate) fn nan(&self) -> Option<u64> {
        self.first(f64::is_nan)
    }

    pub(crate) fn infinity(&self, negative: bool) -> Option<u64> {
        let infinity = if negative { f64::NEG_INFINITY } else { f64::INFINITY };
        self.first(|value| value == infinity)
    }

    /// Zero of this sign, else of the other one.
    pub(crate) fn zero(&self, negative: bool) -> Option<u64> {
        self.first(|value| value == 0.0 && value.is_sign_negative() == negative).or(self.first(|value| value == 0.0))
    }

    /// Largest number, or the smallest one.
    pub(crate) fn largest(&self, negative: bool) -> u64 {
        let ascending = self.ascending();
        if negative { ascending[0].into() } else { ascending[ascending.len() - 1].into() }
    }

    /// Smallest positive number.
    pub(crate) fn smallest_positive(&self) -> Option<u64> {
        self.ascending().iter().find(|&&code| self.values()[usize::from(code)] > 0.0).map(|&code| code.into())
    }

    /// Code of `value`, rounded once; `None` for NaN in a table without it.
    pub(crate) fn encode(&self, value: &Real, rounding: Rounding, overflow: Overflow) -> Option<u64> {
        match value {
            Real::Nan => self.nan(),
            Real::Infinity { negative } => Some(self.overflowed(*negative, true, overflow)),
            Real::Finite(finite) => {
                let finite = &within_reach(finite);
                let zero = finite.is_zero().then(|| self.zero(finite.negative)).flatten();
                Some(zero.unwrap_or_else(|| self.round(finite, rounding, overflow).code))
            }
        }
    }

    /// Rounds a number once. A zero gets a zero of any sign.
    pub(crate) fn round(&self, x: &impl Exact, rounding: Rounding, overflow: Overflow) -> RoundedValue {
        let ascending = self.ascending();
        let sign = x.compare(&Point::at(Finite::zero(false)));
        // Numbers below x.
        let below = ascending.partition_point(|&code| x.compare(&Point::at(self.number(code))) == Ordering::Greater);
        let inexact = |code: u8| RoundedValue { code: code.into(), inexact: true, overflows: false };
        if let Some(&code) = ascending.get(below)
            && x.compare(&Point::at(self.number(code))) == Ordering::Equal
        {
            return RoundedValue { inexact: false, ..inexact(code) };
        }
        match (below.checked_sub(1).map(|place| ascending[place]), ascending.get(below)) {
            (Some(low), Some(&high)) => {
                let up = self.goes_up(x, sign, below - 1, [low, high], rounding);
                inexact(if up { high } else { low })
            }
            // Between zero and the first number, in a table without zero.
            (None, Some(&high)) if sign != Ordering::Less => inexact(high),
            (Some(low), None) if sign != Ordering::Greater => inexact(low),
            (low, _) => self.beyond(x, low.is_none(), rounding, overflow),
        }
    }

    /// Rounds a number beyond the largest, or below the smallest number.
    fn beyond(&self, x: &impl Exact, negative: bool, rounding: Rounding, overflow: Overflow) -> RoundedValue {
        let code = self.largest(negative);
        let overflows = match self.nearest().limit {
            None => true,
            Some(f64::INFINITY) => false,
            Some(limit) => {
                let outward = matches!((rounding, negative), (Rounding::Ru, false) | (Rounding::Rd, true));
                let limit = if negative { -limit } else { limit };
                let Real::Finite(limit) = Real::from(limit) else { unreachable!("finite limits") };
                let past = if negative { Ordering::Less } else { Ordering::Greater };
                let order = x.compare(&Point::at(limit));
                outward || order == past || order == Ordering::Equal
            }
        };
        let inward = overflow == Overflow::Standard && rounding.points_inward(negative);
        let code = if overflows && !inward { self.overflowed(negative, false, overflow) } else { code };
        RoundedValue { code, inexact: true, overflows }
    }

    /// Code of an overflow, of an infinity or of a finite number.
    pub(crate) fn overflowed(&self, negative: bool, infinite: bool, overflow: Overflow) -> u64 {
        let largest = self.largest(negative);
        match overflow {
            Overflow::Standard => match self.nearest().overflow {
                Overflow::Standard => largest,
                of_table => self.overflowed(negative, infinite, of_table),
            },
            Overflow::Saturate => largest,
            Overflow::SaturateFinite if !infinite => largest,
            Overflow::SaturateFinite => self.infinity(negative).unwrap_or(largest),
            Overflow::Nan => self.nan().unwrap_or(largest),
            Overflow::Infinity => self.infinity(negative).or_else(|| self.nan()).unwrap_or(largest),
        }
    }

    /// True if x, between two neighbours, becomes the greater one. `sign` is its order with zero.
    fn goes_up(&self, x: &impl Exact, sign: Ordering, place: usize, codes: [u8; 2], rounding: Rounding) -> bool {
        let [low, high] = codes.map(|code| self.number(code));
        let nearest = |ties: Ties| match x.compare(&self.threshold(place, low, high)) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => match ties {
                Ties::Down => false,
                Ties::Up => true,
                Ties::Away => low.compare_magnitudes(&high) != Ordering::Greater,
                Ties::Even => self.even_is_high(codes),
            },
        };
        match rounding {
            Rounding::Rne => nearest(self.nearest().ties),
            Rounding::Rna => nearest(Ties::Away),
            Rounding::Ru => true,
            Rounding::Rd => false,
            Rounding::Ro => !self.even_is_high(codes),
            Rounding::Rz if low.is_zero() || !low.negative => false,
            Rounding::Rz if high.is_zero() || high.negative => true,
            // No number lies between zero and x.
            Rounding::Rz => nearest(self.nearest().ties),
            Rounding::Sr { random, bits } => {
                let one = 1u128 << bits;
                let weight = one - u128::from(random & u64::MAX >> (64 - bits));
                // Away from zero if the fraction of the way, cut to its bits, and the random bits reach one.
                if sign == Ordering::Less {
                    x.compare(&Point { from: high, to: low, weight, bits }) == Ordering::Greater
                } else {
                    x.compare(&Point { from: low, to: high, weight, bits }) != Ordering::Less
                }
            }
        }
    }

    /// Boundary between the numbers at a place and the next.
    fn threshold(&self, place: usize, low: Finite, high: Finite) -> Point {
        match self.nearest().thresholds.get(place).map(|&threshold| Real::from(threshold)) {
            Some(Real::Finite(threshold)) => Point::at(threshold),
            _ => Point { from: low, to: high, weight: 1, bits: 1 },
        }
    }

    /// True if the greater of two neighbours counts as the even one.
    fn even_is_high(&self, [low, high]: [u8; 2]) -> bool {
        match (low % 2, high % 2) {
            (1, 0) => true,
            (0, 1) => false,
            _ => self.number(low).compare_magnitudes(&self.number(high)) == Ordering::Greater,
        }
    }
}
