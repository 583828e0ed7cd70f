//! Operations on codes of formats by table: exact numbers, rounded once to the table's.
//!
//! A table has no normal and subnormal numbers, so that nothing is flushed and no result underflows; its NaNs are quiet.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::{Environment, Flags, Operation, Outcome};
use crate::{
    Error, Result,
    format::{Exact, Format, Point, ValueTable, order},
    number::{Finite, Real, Rounding, exact_sum, product, special_sum},
};

/// Arithmetic of one format by table in one environment.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableUnit<'a> {
    pub format: &'a Format,
    pub table: &'static ValueTable,
    pub environment: Environment,
}

impl TableUnit<'_> {
    pub(super) fn carries(&self, operation: Operation) -> Result<()> {
        let lacking = if operation == Operation::Classify {
            "has no normal and subnormal numbers"
        } else if operation.needs_zero() && self.table.zero(false).is_none() {
            "has no zero"
        } else if operation.needs_sign() && !self.format.is_signed() {
            "has no negative numbers"
        } else {
            return Ok(());
        };
        let (format, name) = (self.format, operation.name());
        Err(Error::request(format!("{format} cannot carry {name}: it is a format by table and {lacking}")))
    }

    pub(super) fn apply(&self, operation: Operation, codes: [u64; 3]) -> Outcome {
        use Operation::*;
        let codes = codes.map(|code| code & self.format.code_mask());
        let codes = &codes[..operation.operands()];
        let values: Vec<Real> = codes.iter().map(|code| self.format.value(*code)).collect();
        match operation {
            Equal | EqualSignaling | Less | LessQuiet | LessEqual | LessEqualQuiet | Unordered => {
                self.predicate(operation, &values)
            }
            TotalOrder => truth(self.place(codes[0]) <= self.place(codes[1]), Flags::NONE),
            Classify => Outcome { code: None, flags: Flags::INVALID },
            Minimum | Maximum | MinimumNumber | MaximumNumber | MinNum | MaxNum => self.select(operation, codes),
            _ if values.contains(&Real::Nan) => self.nan_of(operation, &values),
            NextUp => self.neighbour(codes[0], true),
            NextDown => self.neighbour(codes[0], false),
            Add => self.sum([values[0], values[1]]),
            Sub => self.sum([values[0], opposite(&values[1])]),
            Fma => match product(&values[0], &values[1]) {
                Real::Nan => self.invalid(),
                product => self.sum([product, values[2]]),
            },
            Mul => match product(&values[0], &values[1]) {
                Real::Nan => self.invalid(),
                product => self.value(&product),
            },
            Div => self.quotient(&values[0], &values[1]),
            Sqrt => self.root(&values[0]),
            Rem => self.remainder(&values[0], &values[1]),
            Rint | RintExact => self.integral(&values[0], operation == RintExact),
        }
    }

    /// Outcome of a value of another format: converted once.
    pub(super) fn value(&self, value: &Real) -> Outcome {
        match value {
            Real::Nan => {
                let code = self.table.nan();
                Outcome { code, flags: Flags::INVALID.when(code.is_none()) }
            }
            Real::Infinity { negative } => self.infinity(*negative),
            Real::Finite(finite) if finite.is_zero() => self.zero(finite.negative),
            Real::Finite(finite) => self.rounded(finite),
        }
    }

    fn rounded(&self, x: &impl Exact) -> Outcome {
        let rounded = self.table.round(x, self.environment.rounding, self.environment.overflow);
        let flags = Flags::INEXACT.when(rounded.inexact) | Flags::OVERFLOW.when(rounded.overflows);
        Outcome { code: Some(rounded.code), flags }
    }

    fn zero(&self, negative: bool) -> Outcome {
        match self.table.zero(negative) {
            Some(zero) => Outcome { code: Some(zero), flags: Flags::NONE },
            None => self.rounded(&Finite::zero(negative)),
        }
    }

    fn infinity(&self, negative: bool) -> Outcome {
        let code = Some(self.table.overflowed(negative, true, self.environment.overflow));
        let replaced = code != self.table.infinity(negative);
        Outcome { code, flags: (Flags::OVERFLOW | Flags::INEXACT).when(replaced) }
    }

    fn invalid(&self) -> Outcome {
        Outcome { code: self.table.nan(), flags: Flags::INVALID }
    }

    /// Result of an operation with a NaN operand.
    fn nan_of(&self, operation: Operation, values: &[Real]) -> Outcome {
        // Zero times infinity is invalid even if the addend is NaN, except by the rule of x86.
        let no_product = operation == Operation::Fma
            && !values[..2].contains(&Real::Nan)
            && product(&values[0], &values[1]) == Real::Nan
            && self.environment.nan != super::NanRule::X86;
        Outcome { code: self.table.nan(), flags: Flags::INVALID.when(no_product) }
    }

    fn sum(&self, terms: [Real; 2]) -> Outcome {
        match special_sum(&terms) {
            Some(Real::Infinity { negative }) => return self.infinity(negative),
            Some(_) => return self.invalid(),
            None => {}
        }
        let [Real::Finite(x), Real::Finite(y)] = terms else { unreachable!("no special terms") };
        let quick = x.plus(&y);
        if !quick.sticky && !quick.is_zero() {
            return self.rounded(&quick);
        }
        let sum = Sum([x, y]);
        if sum.compare(&Point::at(Finite::zero(false))) != Ordering::Equal {
            return self.rounded(&sum);
        }
        let common = if x.negative == y.negative { x.negative } else { self.environment.rounding == Rounding::Rd };
        self.zero(common)
    }

    fn quotient(&self, x: &Real, y: &Real) -> Outcome {
        let negative = is_negative(x) != is_negative(y);
        match (x, y) {
            (Real::Finite(x), Real::Finite(y)) => match (x.is_zero(), y.is_zero()) {
                (true, true) => self.invalid(),
                (true, false) => self.zero(negative),
                (false, true) => {
                    let infinity = self.infinity(negative);
                    Outcome { flags: Flags::DIVIDE_BY_ZERO | infinity.flags, ..infinity }
                }
                _ => self.rounded(&Quotient { dividend: *x, divisor: *y }),
            },
            (Real::Finite(_), _) => self.zero(negative),
            (_, Real::Finite(_)) => self.infinity(negative),
            _ => self.invalid(),
        }
    }

    fn root(&self, x: &Real) -> Outcome {
        match x {
            Real::Finite(x) if x.is_zero() => self.zero(x.negative),
            Real::Finite(x) if !x.negative => self.rounded(&Root(*x)),
            Real::Infinity { negative: false } => self.infinity(false),
            _ => self.invalid(),
        }
    }

    fn remainder(&self, x: &Real, y: &Real) -> Outcome {
        let (Real::Finite(x), false) = (x, matches!(y, Real::Finite(y) if y.is_zero())) else { return self.invalid() };
        let Real::Finite(y) = y else { return self.value(&Real::Finite(*x)) };
        if x.is_zero() {
            return self.zero(x.negative);
        }
        let quantum = x.exponent.min(y.exponent);
        let [units, modulus] = [x, y].map(|number| integer(&number.magnitude(), quantum));
        let (quotient, rest) = (&units / &modulus, &units % &modulus);
        let odd = &quotient % 2 == BigInt::from(1);
        let twice: BigInt = &rest * 2;
        let up = twice > modulus || twice == modulus && odd;
        let rest = if up { rest - modulus } else { rest };
        let negative = x.negative != (rest < BigInt::ZERO);
        // Below half of the divisor, and a multiple of a last bit that is not far below: 128 bits hold it.
        let magnitude = u128::try_from(rest.magnitude()).unwrap_or(0);
        match magnitude {
            0 if rest == BigInt::ZERO => self.zero(x.negative),
            0 => self.value(&Real::Finite(*x)),
            _ => self.value(&Real::Finite(Finite::exact(negative, magnitude, quantum))),
        }
    }

    fn integral(&self, x: &Real, exact: bool) -> Outcome {
        let Real::Finite(x) = x else { return self.infinity(is_negative(x)) };
        let (units, same) = if x.exponent >= 0 { (0, true) } else { x.round_to_quantum(0, self.environment.rounding) };
        let outcome = match (x.exponent >= 0 || x.is_zero(), units) {
            (true, _) => self.value(&Real::Finite(*x)),
            (_, 0) => self.zero(x.negative),
            _ => self.rounded(&Finite::exact(x.negative, units, 0)),
        };
        let flags =
            if exact { outcome.flags | Flags::INEXACT.when(!same) } else { outcome.flags.without(Flags::INEXACT) };
        Outcome { flags, ..outcome }
    }

    fn neighbour(&self, code: u64, up: bool) -> Outcome {
        let ascending = self.table.ascending();
        let exact = |code: u64| Outcome { code: Some(code), flags: Flags::NONE };
        let last = ascending.len() - 1;
        let infinity = |negative: bool| self.table.infinity(negative);
        let place = match self.format.value(code) {
            Real::Infinity { negative } if negative != up => return exact(code),
            Real::Infinity { .. } => return exact(self.table.largest(up)),
            _ => self.rank(code),
        };
        match (place, up) {
            (place, true) if place == last => exact(infinity(false).unwrap_or(ascending[last].into())),
            (0, false) => exact(infinity(true).unwrap_or(ascending[0].into())),
            (place, true) => exact(self.signed_zero(ascending[place + 1].into(), true)),
            (place, false) => exact(self.signed_zero(ascending[place - 1].into(), false)),
        }
    }

    /// Zero seen from a smaller number (`from_below`) is -0 where there is one; another number is itself.
    fn signed_zero(&self, code: u64, from_below: bool) -> u64 {
        match self.format.value(code) {
            Real::Finite(number) if number.is_zero() => self.table.zero(from_below).unwrap_or(code),
            _ => code,
        }
    }

    /// Place of a finite number among all.
    fn rank(&self, code: u64) -> usize {
        let value = self.format.to_f64(code);
        let ascending = self.table.ascending();
        ascending.partition_point(|&listed| self.format.to_f64(listed.into()) < value)
    }

    fn select(&self, operation: Operation, codes: &[u64]) -> Outcome {
        use Operation::*;
        let [x, y] = [codes[0], codes[1]];
        let exact = |code: u64| Outcome { code: Some(self.lowest(code)), flags: Flags::NONE };
        match [x, y].map(|code| self.format.value(code) == Real::Nan) {
            [false, false] => {}
            [true, true] => return exact(x),
            _ if matches!(operation, Minimum | Maximum) => {
                return Outcome { code: self.table.nan(), flags: Flags::NONE };
            }
            [x_nan, _] => return exact(if x_nan { y } else { x }),
        }
        let largest = matches!(operation, Maximum | MaximumNumber | MaxNum);
        exact(if (self.place(x) <= self.place(y)) != largest { x } else { y })
    }

    /// Lowest code of the same datum.
    fn lowest(&self, code: u64) -> u64 {
        let value = self.format.value(code);
        (0..code).find(|other| self.format.value(*other) == value).unwrap_or(code)
    }

    /// Sort key of the total order: -0 below +0, NaN above everything.
    fn place(&self, code: u64) -> i64 {
        let value = self.format.to_f64(code);
        let bits = value.to_bits() as i64;
        match value.is_nan() {
            true => i64::MAX,
            false if bits < 0 => !(bits & i64::MAX),
            false => bits,
        }
    }

    fn predicate(&self, operation: Operation, values: &[Real]) -> Outcome {
        use Operation::*;
        let order = values[0].to_f64().partial_cmp(&values[1].to_f64());
        let signalling = matches!(operation, EqualSignaling | Less | LessEqual);
        truth(operation.holds(order), Flags::INVALID.when(order.is_none() && signalling))
    }
}

fn truth(holds: bool, flags: Flags) -> Outcome {
    Outcome { code: Some(holds.into()), flags }
}

fn is_negative(value: &Real) -> bool {
    match value {
        Real::Nan => false,
        Real::Infinity { negative } => *negative,
        Real::Finite(finite) => finite.negative,
    }
}

fn opposite(value: &Real) -> Real {
    match value {
        Real::Nan => Real::Nan,
        Real::Infinity { negative } => Real::Infinity { negative: !negative },
        Real::Finite(finite) => Real::Finite(Finite { negative: !finite.negative, ..*finite }),
    }
}

/// Exact sum of two numbers.
struct Sum([Finite; 2]);

impl Exact for Sum {
    fn compare(&self, point: &Point) -> Ordering {
        let terms = self.0.map(|term| term.times_power_of_two(point.bits as i32));
        let point = point.terms().map(|term| Finite { negative: !term.negative, ..term });
        order(&exact_sum(terms.into_iter().chain(point)))
    }
}

/// Quotient of two numbers that are not zero.
struct Quotient {
    dividend: Finite,
    divisor: Finite,
}

impl Exact for Quotient {
    fn compare(&self, point: &Point) -> Ordering {
        let ScaledInteger { integer, exponent } = ScaledInteger::of_point(point);
        let divisor = ScaledInteger::of(&self.divisor);
        let product = ScaledInteger { integer: integer * divisor.integer, exponent: exponent + divisor.exponent };
        let order = ScaledInteger::of(&self.dividend).compare(product);
        if self.divisor.negative { order.reverse() } else { order }
    }
}

/// Square root of a positive number.
struct Root(Finite);

impl Exact for Root {
    fn compare(&self, point: &Point) -> Ordering {
        let ScaledInteger { integer, exponent } = ScaledInteger::of_point(point);
        if integer < BigInt::ZERO {
            return Ordering::Greater;
        }
        let square = ScaledInteger { integer: &integer * &integer, exponent: 2 * exponent };
        ScaledInteger::of(&self.0).compare(square)
    }
}

/// An integer times a power of two.
#[derive(Debug, Clone, PartialEq)]
struct ScaledInteger {
    integer: BigInt,
    exponent: i32,
}

impl ScaledInteger {
    fn of(number: &Finite) -> ScaledInteger {
        ScaledInteger { integer: integer(number, number.exponent), exponent: number.exponent }
    }

    fn of_point(point: &Point) -> ScaledInteger {
        let terms = point.terms();
        let quantum = terms[0].exponent.min(terms[1].exponent);
        let sum: BigInt = terms.iter().map(|term| integer(term, quantum)).sum();
        ScaledInteger { integer: sum, exponent: quantum - point.bits as i32 }
    }

    fn compare(self, other: ScaledInteger) -> Ordering {
        let quantum = self.exponent.min(other.exponent);
        let [x, y] = [self, other].map(|number| number.integer << (number.exponent - quantum) as u32);
        x.cmp(&y)
    }
}

/// Exact number as an integer, in units of `2^quantum`, which its last bit is not below.
fn integer(number: &Finite, quantum: i32) -> BigInt {
    let magnitude = BigInt::from(number.significand) << (number.exponent - quantum) as u32;
    if number.negative { -magnitude } else { magnitude }
}
