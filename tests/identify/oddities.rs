//! Units with one oddity each, as engineers build them, in integers of their own; and the same unit without it.

use std::time::Duration;

use tcnum::isa::Case;
use tcnum_study::identify::{Plan, WORK, identify};

use crate::{
    hardware::{AlignedSum, NAN, Number, Unit, Value, aligned, finite, infinity, product, read, rounded},
    kinds::described,
    machine::amount,
};

/// What a unit does differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oddity {
    /// A term whose sign is not that of c is negated by flipping its bits, as on AMD's RDNA 3.
    FlippedBits,
    /// The sum has 32 bits above its unit of the last place, and wraps around.
    Wraps,
    /// The sticky bit is the second bit below the kept ones, and is added.
    StickyBit,
    /// The multiplier keeps 9 bits behind the point.
    CutProducts,
    /// A factor of zero makes a product zero, whatever the other factor is.
    ZeroTimesInfinity,
    /// Infinities of both signs give plus infinity.
    OppositeInfinities,
    /// An infinite operand is NaN.
    InfinityIsNan,
    /// The largest exponent of A and B is an ordinary one.
    NoSpecials,
}

const ODDITIES: [(Oddity, &str); 8] = [
    (Oddity::FlippedBits, "complement = true"),
    (Oddity::Wraps, "carry = "),
    (Oddity::StickyBit, "sticky-place = 2"),
    (Oddity::ZeroTimesInfinity, "zero-times-infinity = \"zero\""),
    (Oddity::OppositeInfinities, "opposite-infinities = \"positive\""),
    (Oddity::InfinityIsNan, "special-operands = \"nan\""),
    (Oddity::NoSpecials, "special-operands = \"finite\""),
    (Oddity::CutProducts, ""),
];
/// How many of them are quick.
const QUICK: usize = 7;

/// Fraction bits of the alignment.
const BITS: i32 = 26;

/// A factor of A or B.
fn factor(code: u64, oddity: Option<Oddity>) -> Value {
    match (read(code, 8, 7, true), oddity) {
        (Value::Infinity(_), Some(Oddity::InfinityIsNan)) => Value::Nan,
        (Value::Infinity(_) | Value::Nan, Some(Oddity::NoSpecials)) => Value::Finite(Number {
            negative: code >> 15 & 1 == 1,
            significand: (code & 0x7f | 0x80).into(),
            exponent: 121,
            units: 128,
        }),
        (value, _) => value,
    }
}

/// A product of two factors.
fn term(a: u64, b: u64, oddity: Option<Oddity>) -> Value {
    let (x, y) = (factor(a, oddity), factor(b, oddity));
    let is_zero = |value: &Value| matches!(value, Value::Finite(number) if number.significand == 0);
    let is_infinite = |value: &Value| matches!(value, Value::Infinity(_));
    match (product(x, y), oddity) {
        (Value::Nan, Some(Oddity::ZeroTimesInfinity))
            if is_zero(&x) && is_infinite(&y) || is_infinite(&x) && is_zero(&y) =>
        {
            Value::Finite(Number { negative: false, significand: 0, exponent: 0, units: 0 })
        }
        // Products have 14 bits behind the point.
        (Value::Finite(number), Some(Oddity::CutProducts)) => {
            Value::Finite(Number { significand: number.significand >> 5 << 5, ..number })
        }
        (value, _) => value,
    }
}

/// D of all products and c in one sum, aligned and cut at [`BITS`] bits, rounded to f32.
fn dot(case: &Case, oddity: Option<Oddity>) -> u64 {
    let c = match (read(case.c, 8, 23, true), oddity) {
        (Value::Infinity(_), Some(Oddity::InfinityIsNan)) => Value::Nan,
        (value, _) => value,
    };
    let mut terms: Vec<Value> = case.a.iter().zip(&case.b).map(|(a, b)| term(*a, *b, oddity)).collect();
    terms.push(c);
    let terms = match finite(&terms) {
        Ok(terms) => terms,
        Err(code) => {
            let nan = terms.iter().any(|term| matches!(term, Value::Nan));
            return if !nan && code == NAN && oddity == Some(Oddity::OppositeInfinities) {
                infinity(false)
            } else {
                code
            };
        }
    };
    let AlignedSum { sum, last, lost } = aligned(&terms, BITS);
    let plain = AlignedSum { sum, last, lost: false };
    rounded(match oddity {
        Some(Oddity::FlippedBits) => {
            let frame = matches!(c, Value::Finite(number) if number.negative);
            let flipped = terms.iter().filter(|term| term.significand != 0 && term.negative != frame).count() as i128;
            AlignedSum { sum: if frame { sum + flipped } else { sum - flipped }, ..plain }
        }
        // A term is below 2^(BITS + 2).
        Some(Oddity::Wraps) => AlignedSum { sum: sum << (128 - BITS - 4) >> (128 - BITS - 4), ..plain },
        Some(Oddity::StickyBit) => {
            let bit = i128::from(lost) * if sum < 0 { -1 } else { 1 };
            AlignedSum { sum: (sum << 2) + bit, last: last - 2, lost: false }
        }
        _ => plain,
    })
}

/// The unit with an oddity, or without.
fn compute(oddity: Option<Oddity>) -> fn(&Case) -> u64 {
    match oddity {
        None => |case| dot(case, None),
        Some(Oddity::FlippedBits) => |case| dot(case, Some(Oddity::FlippedBits)),
        Some(Oddity::Wraps) => |case| dot(case, Some(Oddity::Wraps)),
        Some(Oddity::StickyBit) => |case| dot(case, Some(Oddity::StickyBit)),
        Some(Oddity::CutProducts) => |case| dot(case, Some(Oddity::CutProducts)),
        Some(Oddity::ZeroTimesInfinity) => |case| dot(case, Some(Oddity::ZeroTimesInfinity)),
        Some(Oddity::OppositeInfinities) => |case| dot(case, Some(Oddity::OppositeInfinities)),
        Some(Oddity::InfinityIsNan) => |case| dot(case, Some(Oddity::InfinityIsNan)),
        Some(Oddity::NoSpecials) => |case| dot(case, Some(Oddity::NoSpecials)),
    }
}

#[test]
fn an_oddity_of_a_unit_is_found_and_none_where_there_is_none() {
    let i = described(
        r#"{ name = "odd.m4n8k8.f32.bf16.bf16.f32", m = 4, n = 8, k = 8, a = "bf16", b = "bf16", c = "f32", d = "f32" }"#,
    );
    let identified = |oddity: Option<Oddity>| {
        let mut unit = Unit::new("a unit", compute(oddity));
        let plan = Plan {
            seed: 1,
            budget: 20_000,
            time: Duration::MAX,
            catalogue: false,
            found_rules: Vec::new(),
            withheld: Vec::new(),
            work: WORK,
        };
        let identification = identify(&mut unit, i, plan).unwrap();
        let text = identification.text();
        assert_eq!(identification.misses, 0, "{oddity:?}:\n{text}");
        assert_eq!(crate::hardware::held_out(&identification, &mut unit, i, 200), 0, "{oddity:?}:\n{text}");
        text
    };
    let plain = identified(None);
    for (oddity, key) in ODDITIES.into_iter().take(amount(QUICK, ODDITIES.len())) {
        assert!(identified(Some(oddity)).contains(key), "{oddity:?}");
        assert!(key.is_empty() || !plain.contains(key), "{plain}");
    }
}
