//! Units written from what is publicly known of open hardware, in integers of their own: not in the words of the model language.

use std::time::Duration;

use tcnum::{
    Result,
    inputs::Sequence,
    isa::{Case, Codes, Instruction, Tiles},
};
use tcnum_engine::device::{Device, Execution, ExecutionKind, Identity};
use tcnum_study::identify::{Identification, Plan, WORK, identify};

use crate::{kinds::described, machine::thorough};

/// A number that is not special: `(-1)^negative * significand * 2^exponent`; `units` is the exponent of the significand's units digit.
#[derive(Clone, Copy)]
pub(crate) struct Number {
    pub(crate) negative: bool,
    pub(crate) significand: u128,
    pub(crate) exponent: i32,
    pub(crate) units: i32,
}

/// What a code stands for.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Nan,
    Infinity(bool),
    Finite(Number),
}

/// Reads a code with so many exponent and trailing bits; subnormal numbers are zeros where the unit flushes them.
pub(crate) fn read(code: u64, exponent_bits: u32, trailing_bits: u32, flushes: bool) -> Value {
    let negative = code >> (exponent_bits + trailing_bits) & 1 == 1;
    let (biased, trailing) = (code >> trailing_bits & ((1 << exponent_bits) - 1), code & ((1 << trailing_bits) - 1));
    if biased == (1 << exponent_bits) - 1 {
        return if trailing == 0 { Value::Infinity(negative) } else { Value::Nan };
    }
    let units = biased.max(1) as i32 - ((1 << (exponent_bits - 1)) - 1);
    let significand = match biased {
        0 if flushes => 0,
        0 => trailing.into(),
        _ => (trailing | 1 << trailing_bits).into(),
    };
    Value::Finite(Number { negative, significand, exponent: units - trailing_bits as i32, units })
}

pub(crate) const NAN: u64 = 0x7fc0_0000;

pub(crate) fn infinity(negative: bool) -> u64 {
    0x7f80_0000 | u64::from(negative) << 31
}

pub(crate) fn product(x: Value, y: Value) -> Value {
    match (x, y) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Infinity(negative), Value::Finite(y)) | (Value::Finite(y), Value::Infinity(negative)) => {
            if y.significand == 0 { Value::Nan } else { Value::Infinity(negative != y.negative) }
        }
        (Value::Infinity(x), Value::Infinity(y)) => Value::Infinity(x != y),
        (Value::Finite(x), Value::Finite(y)) => Value::Finite(Number {
            negative: x.negative != y.negative,
            significand: x.significand * y.significand,
            exponent: x.exponent + y.exponent,
            units: x.units + y.units,
        }),
    }
}

/// The finite terms, or the code of the sum of those that are not.
pub(crate) fn finite(terms: &[Value]) -> std::result::Result<Vec<Number>, u64> {
    let has = |wanted: bool| terms.iter().any(|term| matches!(term, Value::Infinity(sign) if *sign == wanted));
    match (terms.iter().any(|term| matches!(term, Value::Nan)), has(false), has(true)) {
        (true, _, _) | (_, true, true) => Err(NAN),
        (_, true, _) => Err(infinity(false)),
        (_, _, true) => Err(infinity(true)),
        _ => Ok(terms
            .iter()
            .filter_map(|term| if let Value::Finite(number) = term { Some(*number) } else { None })
            .collect()),
    }
}

/// The sum of aligned terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AlignedSum {
    pub(crate) sum: i128,
    /// The exponent of its last bit.
    pub(crate) last: i32,
    /// True if there is a little more behind the last bit.
    pub(crate) lost: bool,
}

/// Terms aligned to the largest exponent, magnitudes cut off behind so many bits, added in two's complement.
pub(crate) fn aligned(terms: &[Number], bits: i32) -> AlignedSum {
    let there = || terms.iter().filter(|term| term.significand != 0);
    let last = there().map(|term| term.units).max().unwrap_or(0) - bits;
    let (mut sum, mut lost) = (0, false);
    for term in there() {
        let right = last - term.exponent;
        let kept = match right {
            ..=0 => term.significand << -right,
            1..128 => term.significand >> right,
            _ => 0,
        };
        lost |= right > 0 && (right > 127 || kept << right != term.significand);
        sum += if term.negative { -(kept as i128) } else { kept as i128 };
    }
    AlignedSum { sum, last, lost }
}

/// A sum as a code of f32, to nearest, ties to even; what is below the smallest normal number is a zero with its sign.
pub(crate) fn rounded(AlignedSum { sum, last, lost }: AlignedSum) -> u64 {
    if sum == 0 {
        return 0;
    }
    let magnitude = sum.unsigned_abs();
    let leading = 127 - magnitude.leading_zeros() as i32;
    let sign = u64::from(sum < 0) << 31;
    let right = leading - 23;
    let mut kept = if right > 0 { magnitude >> right } else { magnitude << -right };
    if right > 0 {
        let (rest, half) = (magnitude & ((1 << right) - 1), 1 << (right - 1));
        kept += u128::from(rest > half || rest == half && (lost || kept & 1 == 1));
    }
    let carried = i32::from(kept >> 24 != 0);
    let biased = leading + last + 127 + carried;
    match biased {
        ..=0 => sign,
        255.. => infinity(sum < 0),
        _ => sign | (biased as u64) << 23 | (kept >> carried) as u64 & 0x7f_ffff,
    }
}

/// Vortex's dot product in its own datapath: all products and c aligned at 25 bits, one sticky bit for all that is shifted out, to
/// nearest; subnormal numbers are zeros.
fn vortex(case: &Case) -> u64 {
    let factor = |code: &u64| read(*code, 8, 7, true);
    let mut terms: Vec<Value> = case.a.iter().zip(&case.b).map(|(a, b)| product(factor(a), factor(b))).collect();
    terms.push(read(case.c, 8, 23, true));
    finite(&terms).map_or_else(|special| special, |terms| rounded(aligned(&terms, 25)))
}

/// A matrix unit as Tenstorrent's: it multiplies five leading bits of A and seven of B, then the rest, in phases that add to D.
fn phases(case: &Case, phases: &[(bool, bool)]) -> u64 {
    let piece = |code: &u64, leading: u32, rest: bool| match read(*code, 8, 7, true) {
        Value::Finite(number) => {
            let mask = (1 << (8 - leading)) - 1;
            let significand = if rest { number.significand & mask } else { number.significand & !mask };
            Value::Finite(Number { significand, ..number })
        }
        special => special,
    };
    phases.iter().fold(case.c, |c, &(of_a, of_b)| {
        let pairs = case.a.iter().zip(&case.b);
        // What is not finite is seen before the multiplier.
        let term = |(a, b): (&u64, &u64)| match product(read(*a, 8, 7, true), read(*b, 8, 7, true)) {
            Value::Finite(_) => product(piece(a, 5, of_a), piece(b, 7, of_b)),
            special => special,
        };
        let mut terms: Vec<Value> = pairs.map(term).collect();
        terms.push(read(c, 8, 23, true));
        let special = |special| special;
        finite(&terms).map_or_else(special, |terms| rounded(AlignedSum { lost: false, ..aligned(&terms, 24) }))
    })
}

/// Integers that saturate after every pair of products.
fn pairs(case: &Case) -> u64 {
    let term = |(a, b): (&u64, &u64)| i64::from(*a as i16) * i64::from(*b as i16);
    let products: Vec<i64> = case.a.iter().zip(&case.b).map(term).collect();
    let sum = products.chunks(2).fold(i64::from(case.c as i32), |sum, pair| {
        (sum + pair.iter().sum::<i64>()).clamp(i32::MIN.into(), i32::MAX.into())
    });
    sum as u32 as u64
}

/// Pairs of products that saturate at 16 bits before they are added, as VPMADDUBSW and an addition do.
fn narrow_pairs(case: &Case) -> u64 {
    let term = |(a, b): (&u64, &u64)| i64::from(*a as u8) * i64::from(*b as i8);
    let products: Vec<i64> = case.a.iter().zip(&case.b).map(term).collect();
    let pairs = products.chunks(2).map(|pair| pair.iter().sum::<i64>().clamp(i16::MIN.into(), i16::MAX.into()));
    (i64::from(case.c as i32) + pairs.sum::<i64>()) as u32 as u64
}

/// Integers in an accumulator of 24 bits, which wraps around.
fn narrow(case: &Case) -> u64 {
    let products = case.a.iter().zip(&case.b).map(|(a, b)| i64::from(*a as i8) * i64::from(*b as i8));
    let sum = products.sum::<i64>() + i64::from(case.c as i32);
    (sum << 40 >> 40) as u32 as u64
}

/// An element of D of its operands.
pub(crate) type Compute = fn(&Case) -> u64;

/// A device that computes one element of D as a function says.
pub(crate) struct Unit {
    identity: Identity,
    compute: Compute,
}

impl Unit {
    pub(crate) fn new(name: &str, compute: Compute) -> Unit {
        Unit { identity: Identity::new(name, "a unit"), compute }
    }
}

impl Device for Unit {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, _: &Instruction) -> Result<Execution> {
        Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
    }

    fn execute(&mut self, i: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.execute_part(i, i.m, i.n, tiles)
    }

    fn execute_part(&mut self, i: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        let part = Instruction { m, n, ..i.clone() };
        let mut answers = Codes::zeros(i.d, tiles.count * m * n);
        for at in 0..answers.len() {
            let (tile, row, column) = (at / (m * n), at / n % m, at % n);
            answers.set(at, (self.compute)(&tiles.case(&part, tile, row, column)));
        }
        Ok(answers)
    }
}

/// How many of so many cases of the verification stream a rule answers otherwise than a unit.
pub(crate) fn held_out(identification: &Identification, unit: &mut Unit, i: &Instruction, tiles: usize) -> usize {
    let tiles = Sequence::Random { seed: 99 }.tiles(i, 0, tiles);
    let given = identification.model().unwrap().evaluator(i).unwrap().execute(&tiles);
    let answers = unit.execute(i, &tiles).unwrap();
    (0..answers.len()).filter(|at| answers.get(*at) != given.get(*at)).count()
}

/// Units, their instructions, and a part of the rule that is found. Those that take longer come last.
const UNITS: [(&str, Compute, &str, &str); 6] = [
    (
        "vortex",
        vortex,
        r#"{ name = "vortex.m4n8k8.f32.bf16.bf16.f32", m = 4, n = 8, k = 8, a = "bf16", b = "bf16", c = "f32", d = "f32" }"#,
        "sticky = true",
    ),
    (
        "saturating pairs",
        pairs,
        r#"{ name = "pairs.m4n4k8.s32.s16.s16.s32", m = 4, n = 4, k = 8, a = "s16", b = "s16", c = "s32", d = "s32" }"#,
        "group = 2",
    ),
    (
        "pairs at 16 bits",
        narrow_pairs,
        r#"{ name = "narrow-pairs.m4n4k8.s32.u8.s8.s32", m = 4, n = 4, k = 8, a = "u8", b = "s8", c = "s32", d = "s32" }"#,
        "group-bits = 16",
    ),
    (
        "24 bits",
        narrow,
        r#"{ name = "narrow.m4n4k8.s32.s8.s8.s32", m = 4, n = 4, k = 8, a = "s8", b = "s8", c = "s32", d = "s32" }"#,
        "accumulator = 24",
    ),
    (
        "low fidelity",
        |case| phases(case, &[(false, false)]),
        r#"{ name = "tensix.m4n8k8.f32.bf16.bf16.f32", m = 4, n = 8, k = 8, a = "bf16", b = "bf16", c = "f32", d = "f32" }"#,
        "split = { a = [5, 3], b = [7, 1] }",
    ),
    (
        "high fidelity",
        |case| phases(case, &[(false, false), (true, false), (false, true), (true, true)]),
        r#"{ name = "tensix.m4n8k16.f32.bf16.bf16.f32", m = 4, n = 8, k = 16, a = "bf16", b = "bf16", c = "f32", d = "f32" }"#,
        "split = { a = [5, 3], b = [7, 1] }",
    ),
];
/// How many of them are quick.
const QUICK: usize = 3;

#[test]
fn open_hardware_is_identified_from_nothing() {
    for (name, compute, instruction, part) in UNITS.into_iter().take(if thorough() { UNITS.len() } else { QUICK }) {
        let i = described(instruction);
        let mut unit = Unit::new(name, compute);
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
        let what = format!("{name}:\n{}", identification.text());
        assert_eq!((identification.misses, held_out(&identification, &mut unit, i, 200)), (0, 0), "{what}");
        assert!(identification.text().contains(part), "{what}");
    }
}
