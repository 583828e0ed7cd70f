//! Judge of decoding and encoding, by MPFR (crate `rug`).
//!
//! This module shares no computation with the rest of the crate: it reads the fields of a format's record, builds the
//! numbers itself, and rounds by comparing scaled integers. (MPFR's own rounding to a precision would round subnormal
//! numbers twice.)

use std::cmp::Ordering;

use rug::{
    Assign, Float, Integer, Rational,
    float::{Round, Special},
    ops::AssignRound,
};

use super::{Encoding, Format, Overflow, Rounding, Specials, Ties, ValueTable, Zeros};

/// Bits of an operand: any code's significand.
pub(crate) const OPERAND_BITS: u32 = 64;

/// Bits that rounding needs in addition to the significand: 64 random bits and a carry.
const SPARE_BITS: u32 = 66;

/// Exact value of a code at 64 bits of precision; the sign of a zero is kept.
pub fn decode(format: &Format, code: u64) -> Float {
    let mut value = Float::new(OPERAND_BITS);
    decode_into(&mut value, format, code);
    value
}

pub(crate) fn decode_into(value: &mut Float, format: &Format, code: u64) {
    let float = match format.encoding {
        Encoding::Integer { signed } => {
            let (modulus, code) = (1i128 << format.bits, i128::from(code) % (1 << format.bits));
            value.assign(if signed && 2 * code >= modulus { code - modulus } else { code });
            return;
        }
        Encoding::Float(float) => float,
        Encoding::Table(table) => {
            value.assign(table.values()[code as usize % table.values().len()]);
            return;
        }
    };
    let fields = code >> float.padding_bits;
    let (binades, steps) = (1 << float.exponent_bits, 1 << float.trailing_bits);
    let (trailing, biased) = (fields % steps, fields / steps % binades);
    let negative = float.signed && fields / steps / binades % 2 == 1;
    let (first, last) = (biased == 0, biased == binades - 1);
    let special = match float.specials {
        Specials::Ieee if last && trailing == 0 => Some(Special::Infinity),
        Specials::Ieee if last => Some(Special::Nan),
        Specials::AllOnesNan if last && trailing + 1 == steps => Some(Special::Nan),
        Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity if first && trailing == 0 && negative => {
            Some(Special::Nan)
        }
        Specials::NegativeZeroNanInfinity if fields % (binades * steps) + 1 == binades * steps => {
            Some(Special::Infinity)
        }
        Specials::AllOnesNanInfinity if fields % (binades * steps) + 1 == binades * steps => Some(Special::Nan),
        Specials::AllOnesNanInfinity if fields % (binades * steps) + 2 == binades * steps => Some(Special::Infinity),
        _ => None,
    };
    match special {
        Some(special) => value.assign(special),
        // trailing * 2^(1 - bias - width), without the hidden bit.
        None if first && float.zeros != Zeros::None => {
            value.assign(trailing);
            *value <<= 1 - float.bias - float.trailing_bits as i32;
        }
        None => {
            value.assign(steps + trailing);
            *value <<= biased as i32 - float.bias - float.trailing_bits as i32;
        }
    }
    if negative {
        *value *= -1;
    }
}

/// Rounds MPFR numbers to codes.
#[derive(Debug, Clone)]
pub struct Rounder {
    units: Float,
    fraction: Float,
    integer_part: Integer,
}

impl Rounder {
    /// Buffers for numbers of up to `precision` bits.
    pub fn new(precision: u32) -> Self {
        let precision = precision.max(OPERAND_BITS) + SPARE_BITS;
        Rounder { units: Float::new(precision), fraction: Float::new(precision), integer_part: Integer::new() }
    }

    /// Code of `value`, by the rules of [`Format::encode`].
    ///
    /// # Panics
    /// If `value` has more bits than the buffers were made for.
    pub fn round(&mut self, value: &Float, format: &Format, rounding: Rounding, overflow: Overflow) -> Option<u64> {
        match format.encoding {
            Encoding::Float(float) => self.round_to_float(value, &float, rounding, overflow),
            Encoding::Integer { signed } => self.round_to_integer(value, format.bits, signed, rounding),
            Encoding::Table(table) => round_to_table(value, table, rounding, overflow),
        }
    }

    fn round_to_float(
        &mut self,
        value: &Float,
        format: &super::Float,
        rounding: Rounding,
        overflow: Overflow,
    ) -> Option<u64> {
        let negative = value.is_sign_negative();
        let sign = u64::from(negative && format.signed) << (format.exponent_bits + format.trailing_bits);
        let finish = |code: u64| Some(code << format.padding_bits);
        if value.is_nan() || negative && !format.signed && !value.is_zero() {
            return nan(format).and_then(finish).or(if value.is_nan() { None } else { Some(0) });
        }
        if value.is_infinite() {
            return finish(overflowed(format, sign, negative, None, overflow));
        }
        let (magnitude, _) = self.magnitude(value, format, rounding);
        if magnitude > u128::from(largest(format)) {
            return finish(overflowed(format, sign, negative, Some(rounding), overflow));
        }
        match (magnitude, format.zeros) {
            (0, Zeros::Positive) => Some(0),
            _ => finish(sign | magnitude as u64),
        }
    }

    /// Code of `|value|` rounded with an unbounded exponent, and true if it differs from `|value|`.
    ///
    /// Codes of positive numbers ascend by one from each number to the next: the code is the quantum's rank times the
    /// numbers in a binade, plus units of the quantum.
    pub(crate) fn magnitude(&mut self, value: &Float, format: &super::Float, rounding: Rounding) -> (u128, bool) {
        let width = format.trailing_bits as i32;
        let hidden_at_zero = format.zeros == Zeros::None;
        let smallest = i32::from(!hidden_at_zero) - format.bias - width;
        // MPFR's exponents belong to significands in [1/2, 1).
        let quantum = value.get_exp().map_or(smallest, |exponent| (exponent - 1 - width).max(smallest));
        let rank = (quantum - smallest) as u128;
        // The code's last bit decides ties, which is the significand's but for formats without trailing bits.
        let odd_below = !hidden_at_zero && width == 0 && !rank.is_multiple_of(2);
        let (units, inexact) = self.units_above(value, quantum, rounding, odd_below);
        let code = (rank << width) + units;
        if !hidden_at_zero {
            return (code, inexact);
        }
        // Without a zero, everything below the smallest number rounds to it.
        code.checked_sub(1 << width).map_or((0, true), |code| (code, inexact))
    }

    fn round_to_integer(&mut self, value: &Float, bits: u32, signed: bool, rounding: Rounding) -> Option<u64> {
        if value.is_nan() {
            return None;
        }
        let (modulus, negative) = (1u128 << bits, value.is_sign_negative());
        let (above, below) = if signed { (modulus / 2 - 1, modulus / 2) } else { (modulus - 1, 0) };
        let limit = if negative { below } else { above };
        // Numbers far beyond every limit are not counted.
        let huge = value.is_infinite() || value.get_exp().is_some_and(|exponent| exponent > bits as i32 + 1);
        let units = if huge { limit } else { self.units_of(value, 0, rounding).0.min(limit) };
        Some(if negative { (modulus - units) % modulus } else { units } as u64)
    }

    /// `|value| / 2^quantum` rounded to an integer (far below 2^128), and true if that is inexact.
    pub(crate) fn units_of(&mut self, value: &Float, quantum: i32, rounding: Rounding) -> (u128, bool) {
        self.units_above(value, quantum, rounding, false)
    }

    /// [`Rounder::units_of`]; of the units, the odd ones count as even if `odd_below`.
    fn units_above(&mut self, value: &Float, quantum: i32, rounding: Rounding, odd_below: bool) -> (u128, bool) {
        let (units, fraction) = (&mut self.units, &mut self.fraction);
        let ternary = units.assign_round(value, Round::Nearest);
        assert_eq!(ternary, Ordering::Equal, "a value has more than {} bits", units.prec());
        units.abs_mut();
        *units >>= quantum;
        fraction.assign(&*units);
        units.floor_mut();
        *fraction -= &*units;
        let finite = units.to_integer_in_place(&mut self.integer_part);
        let integer_part = self.integer_part.to_u128().filter(|_| finite);
        let integer_part = integer_part.expect("a magnitude below 2^128 units");
        let (inexact, negative) = (!fraction.is_zero(), value.is_sign_negative());
        let even = integer_part.is_multiple_of(2) != odd_below;
        let away = match rounding {
            Rounding::Rne => *fraction > 0.5 || *fraction == 0.5 && !even,
            Rounding::Rna => *fraction >= 0.5,
            Rounding::Rz => false,
            Rounding::Ru => inexact && !negative,
            Rounding::Rd => inexact && negative,
            Rounding::Ro => inexact && even,
            Rounding::Sr { random, bits } => {
                // floor(fraction * 2^bits) + random >= 2^bits, with random cut to its bits.
                *fraction <<= bits;
                fraction.floor_mut();
                *fraction += u128::from(random) % (1 << bits);
                fraction.get_exp().is_some_and(|exponent| exponent > bits as i32)
            }
        };
        (integer_part + u128::from(away), inexact)
    }
}

/// Magnitude code of the largest number: the one before the first infinity or NaN, else the last code.
pub(crate) fn largest(format: &super::Float) -> u64 {
    let codes = 1u64 << (format.exponent_bits + format.trailing_bits);
    match format.specials {
        Specials::Ieee => codes - (1 << format.trailing_bits) - 1,
        Specials::AllOnesNan | Specials::NegativeZeroNanInfinity => codes - 2,
        Specials::AllOnesNanInfinity => codes - 3,
        Specials::NegativeZeroNan | Specials::None => codes - 1,
    }
}

/// Canonical NaN without padding.
pub(crate) fn nan(format: &super::Float) -> Option<u64> {
    let codes = 1u64 << (format.exponent_bits + format.trailing_bits);
    match format.specials {
        Specials::Ieee => Some(codes - (1 << format.trailing_bits) / 2),
        Specials::AllOnesNan | Specials::AllOnesNanInfinity => Some(codes - 1),
        Specials::NegativeZeroNan | Specials::NegativeZeroNanInfinity => Some(codes),
        Specials::None => None,
    }
}

/// Result of an infinity, or of a finite number rounded beyond the largest one; without padding.
pub(crate) fn overflowed(
    format: &super::Float,
    sign: u64,
    negative: bool,
    rounded: Option<Rounding>,
    overflow: Overflow,
) -> u64 {
    let largest = sign | largest(format);
    let policy = match (overflow, rounded) {
        (Overflow::Standard, Some(Rounding::Rz | Rounding::Ro)) => Overflow::Saturate,
        (Overflow::Standard, Some(Rounding::Ru)) if negative => Overflow::Saturate,
        (Overflow::Standard, Some(Rounding::Rd)) if !negative => Overflow::Saturate,
        (Overflow::Standard, _) => format.overflow,
        (policy, _) => policy,
    };
    match (policy, format.specials) {
        (Overflow::Saturate, _) | (_, Specials::None) => largest,
        (Overflow::SaturateFinite, specials) if rounded.is_some() || !specials.has_infinity() => largest,
        (
            Overflow::Infinity | Overflow::Standard | Overflow::SaturateFinite,
            Specials::Ieee | Specials::AllOnesNanInfinity | Specials::NegativeZeroNanInfinity,
        ) => largest + 1,
        _ => nan(format).unwrap_or(largest),
    }
}

/// Code of `value` in a table: rational arithmetic on all values, one by one.
fn round_to_table(value: &Float, table: &ValueTable, rounding: Rounding, overflow: Overflow) -> Option<u64> {
    let values = table.values();
    let first = |passes: &dyn Fn(f64) -> bool| values.iter().position(|&value| passes(value)).map(|code| code as u64);
    let number = |code: u64| Rational::from_f64(values[code as usize]).expect("a number");
    let nan = first(&f64::is_nan);
    if value.is_nan() {
        return nan;
    }
    let negative = value.is_sign_negative();
    let nearest = table.nearest();
    // Ascending numbers with their lowest codes; the zeros are one number.
    let mut numbers: Vec<u64> = (0..values.len() as u64).filter(|code| values[*code as usize].is_finite()).collect();
    numbers.sort_by(|x, y| values[*x as usize].partial_cmp(&values[*y as usize]).expect("numbers"));
    numbers.dedup_by(|x, y| values[*x as usize] == values[*y as usize]);
    let end = |below: bool| if below { numbers[0] } else { numbers[numbers.len() - 1] };
    let beyond = |below: bool, policy: Overflow| {
        let policy = if policy == Overflow::Standard { nearest.overflow } else { policy };
        let infinity = first(&|listed| listed.is_infinite() && listed.is_sign_negative() == below);
        match policy {
            Overflow::Infinity => infinity.or(nan).unwrap_or(end(below)),
            Overflow::Nan => nan.unwrap_or(end(below)),
            Overflow::SaturateFinite if value.is_infinite() => infinity.unwrap_or(end(below)),
            _ => end(below),
        }
    };
    if value.is_infinite() {
        return Some(beyond(negative, overflow));
    }
    if value.is_zero() {
        let zeros = |listed: f64| listed == 0.0 && listed.is_sign_negative() == negative;
        if let Some(zero) = first(&zeros).or(first(&|listed| listed == 0.0)) {
            return Some(zero);
        }
    }
    let x = value.to_rational().expect("a finite number");
    if let Some(exact) = numbers.iter().find(|code| *value == values[**code as usize]) {
        return Some(*exact);
    }
    let below = numbers.iter().rposition(|code| *value > values[*code as usize]);
    let (low, high) = match below {
        Some(place) if place + 1 < numbers.len() => (numbers[place], numbers[place + 1]),
        _ => {
            let under = below.is_none();
            // Numbers on the other side of zero leave a gap that is no overflow.
            let gap = if under { number(end(true)) > 0 && x >= 0 } else { number(end(false)) < 0 && x <= 0 };
            let outward = matches!((rounding, under), (Rounding::Ru, false) | (Rounding::Rd, true));
            let inward = matches!(
                (rounding, under),
                (Rounding::Rz | Rounding::Ro, _) | (Rounding::Ru, true) | (Rounding::Rd, false)
            );
            let past = match nearest.limit {
                None => true,
                Some(limit) => limit.is_finite() && (outward || x.clone().abs() >= limit),
            };
            return Some(match gap || !past || inward && overflow == Overflow::Standard {
                true => end(under),
                false => beyond(under, overflow),
            });
        }
    };
    let (l, h) = (number(low), number(high));
    let boundary = match below.and_then(|place| nearest.thresholds.get(place)) {
        Some(threshold) => Rational::from_f64(*threshold).expect("a number"),
        None => (l.clone() + &h) / 2,
    };
    let (farther, even) = (h.clone().abs() >= l.clone().abs(), (low % 2, high % 2));
    let high_is_even = even == (1, 0) || even.0 == even.1 && !farther;
    let to_nearest = |ties: Ties| match x.cmp(&boundary) {
        Ordering::Equal => match ties {
            Ties::Even => high_is_even,
            Ties::Away => farther,
            Ties::Down => false,
            Ties::Up => true,
        },
        order => order == Ordering::Greater,
    };
    let up = match rounding {
        Rounding::Rne => to_nearest(nearest.ties),
        Rounding::Rna => to_nearest(Ties::Away),
        Rounding::Ru => true,
        Rounding::Rd => false,
        Rounding::Ro => !high_is_even,
        Rounding::Rz if l >= 0 => false,
        Rounding::Rz if h <= 0 => true,
        Rounding::Rz => to_nearest(nearest.ties),
        Rounding::Sr { random, bits } => {
            let (from, to) = if x >= 0 { (&l, &h) } else { (&h, &l) };
            let fraction = ((x.clone() - from) / (to.clone() - from)) << bits;
            let away = fraction.floor() + u128::from(random) % (1 << bits) >= Rational::from(1) << bits;
            away == (x >= 0)
        }
    };
    Some(if up { high } else { low })
}
