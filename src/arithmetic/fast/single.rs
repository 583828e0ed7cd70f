//! Fused multiply-adds and additions in binary32, to nearest.
//!
//! The host's binary64 computes them: products of operands are exact there; the error of a sum is known exactly (Knuth's two-sum),
//! and makes its last bit odd, so that the conversion to binary32 rounds the exact sum once. The host's binary32 takes no part.

use super::{elements::resize, word::array};
use crate::{
    arithmetic::{Destination, ElementaryOperation, NanOperand, Program, ResultTininess, Source, Subnormals, Unpack},
    base::vectors::vectorised,
    format::{self, Format, Overflow, Rounding},
    isa::{Codes, Tiles},
};

/// Columns of D that are computed together: one vector register.
const LANES: usize = 8;

type Lane<T> = [T; LANES];

/// Pieces of rows of D that are computed side by side: one waits for the sums of the others.
const SIDE: usize = 8;

/// The sign of a code of binary32, and what makes a NaN quiet.
const SIGN: u32 = 1 << 31;
const QUIET: u32 = 1 << 22;
const INFINITY: u32 = 0x7f80_0000;

/// A program of fused multiply-adds and additions.
#[derive(Debug, Clone)]
pub(super) struct Single {
    m: usize,
    n: usize,
    k: usize,
    operands: [SingleOperand; 3],
    links: Vec<Link>,
    /// Where the value of D is held, and how many values are at the same time.
    last: usize,
    slots: usize,
    /// Whether a NaN keeps its payload in D; else the code of every one.
    passes_nan: bool,
    nan: u32,
}

/// How the codes of an operand become binary32.
#[derive(Debug, Clone, Copy)]
struct SingleOperand {
    width: usize,
    half: bool,
    flush: bool,
}

/// An operation.
#[derive(Debug, Clone)]
struct Link {
    terms: Terms,
    to: usize,
    flush: Flush,
    /// The order in which operands that are NaN become the result.
    nans: Vec<NanOperand>,
    /// The NaN of an invalid operation.
    nan: u32,
}

#[derive(Debug, Clone, Copy)]
enum Terms {
    /// The product of the elements at a k, and an addend.
    Product(usize, Term),
    /// Two values.
    Sum(Term, Term),
}

#[derive(Debug, Clone, Copy)]
enum Term {
    C,
    Zero,
    Slot(usize),
}

/// Which results become zeros of their sign.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Flush {
    /// Sums below this magnitude.
    Below(f64),
    /// Results that are subnormal once they are rounded.
    Rounded,
}

/// The values of some pieces: numbers, and for each NaN its code.
#[derive(Debug, Clone, Copy)]
struct SingleValue {
    number: [Lane<f64>; SIDE],
    nan: [Lane<u32>; SIDE],
}

const ZERO: SingleValue = SingleValue { number: [[0.0; LANES]; SIDE], nan: [[0; LANES]; SIDE] };

/// Storage for a tile: its operands as numbers and as codes of NaNs, and the values of operations.
#[derive(Debug, Default)]
pub(super) struct SingleTile {
    numbers: [Vec<f64>; 3],
    nans: [Vec<u32>; 3],
    values: Vec<SingleValue>,
}

impl Single {
    /// `None` for a program that has anything else.
    pub(super) fn new(program: &Program) -> Option<Single> {
        let i = &program.instruction;
        let single = format::find("f32").ok()?;
        let [a, b, c] = &program.unpack;
        let operands = [operand(i.a, a)?, operand(i.b, b)?, operand(i.c, c)?];
        let output = &program.output;
        let plain = i.c == single && i.d == single && i.chunk().is_none() && i.scale.is_none();
        if !plain || output.target.format != single || output.target.overflow != Overflow::Standard {
            return None;
        }
        let count = program.steps.len();
        let mut last_uses = vec![count; count];
        for (at, operation) in program.operations().enumerate() {
            for source in operation.sources() {
                if let Source::Value(value) = source {
                    last_uses[value] = at;
                }
            }
        }
        let (mut held, mut free, mut slots) = (vec![0; count], Vec::new(), 0);
        let mut links = Vec::new();
        for (at, operation) in program.operations().enumerate() {
            let term = |source: Source| match source {
                Source::C => Some(Term::C),
                Source::Zero => Some(Term::Zero),
                Source::Value(value) => Some(Term::Slot(held[value])),
                Source::Product(..) => None,
            };
            let (terms, to, nans) = match operation {
                ElementaryOperation::Fma { factors, addend, to, nans } => {
                    let whole = factors.a == u64::MAX && factors.b == u64::MAX;
                    (whole.then_some(Terms::Product(factors.k, term(*addend)?))?, to, nans)
                }
                ElementaryOperation::Add { terms: [x, y], to, nans } => (Terms::Sum(term(*x)?, term(*y)?), to, nans),
                _ => return None,
            };
            let flush = flush(to)?;
            let nan = to.target.nan as u32;
            free.extend((0..at).filter(|value| last_uses[*value] == at).map(|value| held[value]));
            held[at] = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            links.push(Link { terms, to: held[at], flush, nans: nans.clone(), nan });
        }
        let Source::Value(value) = output.value else { return None };
        // A value that is not used after D's would be in its place.
        if value + 1 != count {
            return None;
        }
        let (last, passes_nan) = (held[value], output.passes_nan);
        let nan = output.target.nan as u32;
        Some(Single { m: i.m, n: i.n, k: i.k, operands, links, last, slots, passes_nan, nan })
    }
}

/// How an operand is read; `None` if it is not of a format that binary32 holds by a shift or a product.
fn operand(format: &Format, unpack: &Unpack) -> Option<SingleOperand> {
    let flush = match unpack.subnormals {
        Subnormals::Keep => false,
        Subnormals::SignedZero => true,
        Subnormals::PositiveZero => return None,
    };
    match format.name {
        "f32" => Some(SingleOperand { width: 4, half: false, flush }),
        "bf16" => Some(SingleOperand { width: 2, half: false, flush }),
        "f16" => Some(SingleOperand { width: 2, half: true, flush }),
        _ => None,
    }
}

/// Which results are flushed; `None` if the destination is not binary32 to nearest.
fn flush(to: &Destination) -> Option<Flush> {
    let target = &to.target;
    if target.format.name != "f32" || target.rounding != Rounding::Rne || target.overflow != Overflow::Standard {
        return None;
    }
    let smallest = f64::from(f32::MIN_POSITIVE);
    match (to.subnormals, to.tininess) {
        (Subnormals::Keep, _) => Some(Flush::Below(0.0)),
        (Subnormals::SignedZero, ResultTininess::Before) => Some(Flush::Below(smallest)),
        // A sum half a unit of 24 bits below the smallest normal number is rounded to it, as the even one of two.
        (Subnormals::SignedZero, ResultTininess::AfterUnbounded) => {
            Some(Flush::Below(smallest - smallest * f64::from(f32::EPSILON) / 4.0))
        }
        (Subnormals::SignedZero, ResultTininess::After) => Some(Flush::Rounded),
        (Subnormals::PositiveZero, _) => None,
    }
}

/// The value of each lane.
#[inline(always)]
fn each<T: Copy + Default>(value: impl FnMut(usize) -> T) -> Lane<T> {
    array(value)
}

/// The sums of numbers of at most 49 bits, with the last bit odd where a sum is not exact.
#[inline(always)]
fn odd_sums(x: &Lane<f64>, y: &Lane<f64>) -> Lane<f64> {
    // One operation at a time on all lanes is what compilers turn into vector instructions.
    let sum = each(|l| x[l] + y[l]);
    let part = each(|l| sum[l] - x[l]);
    let error = each(|l| (x[l] - (sum[l] - part[l])) + (y[l] - part[l]));
    let bits = each(|l| sum[l].to_bits());
    // All ones where the exact sum is nearer to zero.
    let inward = each(|l| ((error[l].to_bits() ^ bits[l]) as i64 >> 63) as u64);
    // Of an infinity the error is NaN, and nothing is changed.
    let even = each(|l| u64::from(error[l].abs() > 0.0) & !bits[l]);
    each(|l| f64::from_bits(bits[l].wrapping_add((inward[l] | 1) & (even[l] & 1).wrapping_neg())))
}

/// Sums as binary32; zeros of their sign, if they are below a magnitude.
#[inline(always)]
fn above(sum: &Lane<f64>, least: f64) -> Lane<f64> {
    let kept = each(|l| if sum[l].abs() < least { 1 << 63 } else { u64::MAX });
    let rounded = each(|l| f64::from_bits(sum[l].to_bits() & kept[l]) as f32);
    each(|l| f64::from(rounded[l]))
}

/// Sums as binary32; zeros of their sign, if those are subnormal.
#[inline(always)]
fn normal(sum: &Lane<f64>) -> Lane<f64> {
    let rounded = each(|l| sum[l] as f32);
    let kept = each(|l| if rounded[l].abs() < f32::MIN_POSITIVE { SIGN } else { u32::MAX });
    each(|l| f64::from(f32::from_bits(rounded[l].to_bits() & kept[l])))
}

impl SingleOperand {
    /// Reads codes: their numbers, and for each NaN its quiet code in binary32. Whether there is one.
    #[inline(always)]
    fn read(&self, codes: &Codes, first: usize, count: usize, numbers: &mut Vec<f64>, nans: &mut Vec<u32>) -> bool {
        let bytes = &codes.as_bytes()[first * self.width..][..count * self.width];
        // A piece may have more lanes than there are columns.
        resize(numbers, count + LANES);
        resize(nans, count + LANES);
        let mut any = 0;
        let (numbers, nans) = (&mut numbers[..count], &mut nans[..count]);
        let mut put = |at: usize, code: u32| {
            numbers[at] = f64::from(f32::from_bits(code));
            nans[at] = if code & !SIGN > INFINITY { code | QUIET } else { 0 };
            any |= nans[at];
        };
        let settled = |code: u32| if self.flush && code & INFINITY == 0 { code & SIGN } else { code };
        match (self.width, self.half) {
            (4, _) => {
                for (at, code) in bytes.as_chunks().0[..count].iter().enumerate() {
                    put(at, settled(u32::from_le_bytes(*code)));
                }
            }
            (_, false) => {
                for (at, code) in bytes.as_chunks().0[..count].iter().enumerate() {
                    put(at, settled(u32::from(u16::from_le_bytes(*code)) << 16));
                }
            }
            (_, true) => {
                for (at, code) in bytes.as_chunks().0[..count].iter().enumerate() {
                    put(at, half(u16::from_le_bytes(*code), self.flush));
                }
            }
        }
        any != 0
    }
}

/// The code in binary32 of a code of binary16.
#[inline(always)]
fn half(code: u16, flush: bool) -> u32 {
    /// 2^-24, a unit of subnormal numbers.
    const UNIT: f32 = 1.0 / (1 << 24) as f32;
    let (sign, magnitude) = (u32::from(code >> 15) << 31, u32::from(code & 0x7fff));
    let subnormal = if flush { 0 } else { (magnitude as f32 * UNIT).to_bits() };
    let normal = (magnitude << 13) + (112 << 23);
    let special = INFINITY | (magnitude & 0x3ff) << 13;
    sign | if magnitude >= 0x7c00 {
        special
    } else if magnitude < 0x400 {
        subnormal
    } else {
        normal
    }
}

/// The lanes of an array that begin at a place.
#[inline(always)]
fn lanes<T: Copy>(values: &[T], at: usize) -> &Lane<T> {
    values[at..].first_chunk().expect("arrays have lanes to spare")
}

/// The operands of an operation in one piece.
struct Operands {
    /// What the product or first term, and the second term, are.
    terms: [Lane<f64>; 2],
    /// The codes of those operands that are NaN, in the order of [`NanOperand`].
    nans: [Lane<u32>; 3],
}

impl SingleTile {
    /// An operation's operands in the piece `at`, which begins at a row and a column; codes of NaNs only with `NANS`.
    #[inline(always)]
    fn operands<const NANS: bool>(
        &self,
        single: &Single,
        terms: Terms,
        at: usize,
        (row, column): (usize, usize),
    ) -> Operands {
        let term = |term: Term| match term {
            Term::C => {
                (*lanes(&self.numbers[2], row * single.n + column), *lanes(&self.nans[2], row * single.n + column))
            }
            Term::Zero => ([0.0; LANES], [0; LANES]),
            Term::Slot(slot) => (self.values[slot].number[at], self.values[slot].nan[at]),
        };
        match terms {
            Terms::Product(k, addend) => {
                let (left, below) = (row * single.k + k, k * single.n + column);
                let (a, b) = (self.numbers[0][left], lanes(&self.numbers[1], below));
                let (c, nan) = term(addend);
                let nans = if NANS {
                    [[self.nans[0][left]; LANES], *lanes(&self.nans[1], below), nan]
                } else {
                    [[0; LANES]; 3]
                };
                Operands { terms: [each(|l| a * b[l]), c], nans }
            }
            Terms::Sum(x, y) => {
                let ((x, x_nan), (y, y_nan)) = (term(x), term(y));
                Operands { terms: [x, y], nans: [x_nan, y_nan, [0; LANES]] }
            }
        }
    }

    /// The operations on some pieces.
    #[inline(always)]
    fn run<const NANS: bool>(&mut self, single: &Single, places: &[(usize, usize)]) {
        for link in &single.links {
            for (at, place) in places.iter().enumerate() {
                let Operands { terms: [x, y], nans } = self.operands::<NANS>(single, link.terms, at, *place);
                let sum = odd_sums(&x, &y);
                let number = match link.flush {
                    Flush::Below(least) => above(&sum, least),
                    Flush::Rounded => normal(&sum),
                };
                let value = &mut self.values[link.to];
                value.number[at] = number;
                if NANS {
                    let mut code = [link.nan; LANES];
                    for operand in link.nans.iter().rev() {
                        let own = &nans[*operand as usize];
                        code = each(|l| if own[l] != 0 { own[l] } else { code[l] });
                    }
                    value.nan[at] = each(|l| if number[l].is_nan() { code[l] } else { 0 });
                }
            }
        }
    }

    /// The bytes of the D codes of some pieces.
    #[inline(always)]
    fn write<const NANS: bool>(&self, single: &Single, places: &[(usize, usize)], d: &mut [u8]) {
        let value = &self.values[single.last];
        let invalid = if single.passes_nan { single.nan | QUIET } else { single.nan };
        for (at, (row, column)) in places.iter().enumerate() {
            let (number, nan) = (&value.number[at], &value.nan[at]);
            let codes = each(|l| {
                let own = if NANS && single.passes_nan { nan[l] | QUIET } else { invalid };
                if number[l].is_nan() { own } else { (number[l] as f32).to_bits() }
            });
            let bytes = &mut d[(row * single.n + column) * 4..];
            for (code, bytes) in codes.iter().zip(bytes.as_chunks_mut().0).take(single.n - column) {
                *bytes = code.to_le_bytes();
            }
        }
    }
}

vectorised! {
    /// The bytes of the D codes of a tile.
    pub(super) fn singles(single: &Single, tiles: &Tiles, tile: usize, scratch: &mut SingleTile, d: &mut [u8]) {
        let Single { m, n, k, .. } = *single;
        let mut nans = false;
        let arrays = [(&tiles.a, m * k), (&tiles.b, k * n), (&tiles.c, m * n)];
        for (at, (codes, count)) in arrays.into_iter().enumerate() {
            let (numbers, own) = (&mut scratch.numbers[at], &mut scratch.nans[at]);
            nans |= single.operands[at].read(codes, tile * count, count, numbers, own);
        }
        scratch.values.resize(single.slots, ZERO);
        let mut places = [(0, 0); SIDE];
        let mut pieces = (0..m).flat_map(|row| (0..n).step_by(LANES).map(move |column| (row, column)));
        loop {
            let mut count = 0;
            for (place, piece) in places.iter_mut().zip(&mut pieces) {
                *place = piece;
                count += 1;
            }
            let places = &places[..count];
            match (count, nans) {
                (0, _) => break,
                (_, false) => {
                    scratch.run::<false>(single, places);
                    scratch.write::<false>(single, places, d);
                }
                (_, true) => {
                    scratch.run::<true>(single, places);
                    scratch.write::<true>(single, places, d);
                }
            }
        }
    }
}
