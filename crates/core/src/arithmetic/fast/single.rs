//! Fused multiply-adds and additions in binary32, to nearest.
//!
//! The host's binary32 operations are used if it has fused multiply-adds and flushing depends on rounded values only.
//! Otherwise its binary64 computes the same: products of operands are exact there. The error of a sum is known exactly
//! (Knuth's two-sum) and makes its last bit odd, so that the conversion to binary32 rounds the exact sum once.

use super::{elements::resize, word::array};
use crate::{
    arithmetic::{Destination, ElementaryOperation, NanOperand, Program, ResultTininess, Source, Subnormals, Unpack},
    base::vectors::{Vectors, vectorised},
    format::{self, Format, Overflow, Rounding},
    isa::{Codes, Tiles},
};

/// Columns of D that are computed together: one vector register.
const LANES: usize = 8;

type SingleLane<T> = [T; LANES];

/// Pieces of rows of D that are computed side by side, to hide the latency of sums.
const SIDE: usize = 8;

/// Sign of a code of binary32; below it, the bit that makes a NaN quiet.
const SIGN: u32 = 1 << 31;
const QUIET: u32 = 1 << 22;
const INFINITY: u32 = 0x7f80_0000;

/// Program of fused multiply-adds and additions.
#[derive(Debug, Clone)]
pub(super) struct Single {
    m: usize,
    n: usize,
    k: usize,
    operands: [SingleOperand; 3],
    links: Vec<Link>,
    /// True if flushing depends on the rounded value of every operation only.
    by_rounded: bool,
    /// Slot of the value of D, and the number of slots.
    last: usize,
    slots: usize,
    /// True if a NaN keeps its payload in D; else the code of every NaN.
    passes_nan: bool,
    nan: u32,
}

/// Conversion of an operand's codes to binary32.
#[derive(Debug, Clone, Copy)]
struct SingleOperand {
    width: usize,
    half: bool,
    flush: bool,
}

#[derive(Debug, Clone)]
struct Link {
    terms: Terms,
    to: usize,
    flush: Flush,
    /// Order in which NaN operands become the result.
    nans: Vec<NanOperand>,
    /// NaN of an invalid operation.
    nan: u32,
}

#[derive(Debug, Clone, Copy)]
enum Terms {
    /// Product of the elements at a k, plus an addend.
    Product(usize, LinkTerm),
    /// Sum of two values.
    Sum(LinkTerm, LinkTerm),
}

#[derive(Debug, Clone, Copy)]
enum LinkTerm {
    C,
    Zero,
    Slot(usize),
}

/// Results that become zeros of their sign.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Flush {
    /// Sums below this magnitude.
    Below(f64),
    /// Results that are subnormal after rounding.
    Rounded,
}

/// Numbers of binary32 in the host's computation.
trait HostNumber: Copy + Default {
    /// Number with a code.
    fn of(code: u32) -> Self;
    /// Code of the number.
    fn code(self) -> u32;
    fn is_nan(self) -> bool;
    /// `a * b + c`, rounded and flushed.
    fn fma(a: Self, b: &SingleLane<Self>, c: &SingleLane<Self>, flush: Flush) -> SingleLane<Self>;
    /// `x + y`, rounded and flushed.
    fn sum(x: &SingleLane<Self>, y: &SingleLane<Self>, flush: Flush) -> SingleLane<Self>;
}

/// Values of some pieces: numbers, and for each NaN its code.
#[derive(Debug, Clone, Copy, Default)]
struct SingleValue<N> {
    number: [SingleLane<N>; SIDE],
    nan: [SingleLane<u32>; SIDE],
}

/// Operands of a tile as numbers and as codes of NaNs, and values of operations.
#[derive(Debug, Default)]
struct HostTile<N> {
    numbers: [Vec<N>; 3],
    nans: [Vec<u32>; 3],
    values: Vec<SingleValue<N>>,
}

/// Storage for a tile, in binary32 or in binary64.
#[derive(Debug, Default)]
pub(super) struct SingleTile {
    single: HostTile<f32>,
    wider: HostTile<f64>,
}

impl Single {
    /// `None` for any other program.
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
                Source::C => Some(LinkTerm::C),
                Source::Zero => Some(LinkTerm::Zero),
                Source::Value(value) => Some(LinkTerm::Slot(held[value])),
                Source::Product(..) => None,
            };
            let (terms, to, nans) = match operation {
                ElementaryOperation::Fma { factors, addend, to, nans } => {
                    let unmasked = factors.a == u64::MAX && factors.b == u64::MAX;
                    (unmasked.then_some(Terms::Product(factors.k, term(*addend)?))?, to, nans)
                }
                ElementaryOperation::Add { terms: [x, y], to, nans } => (Terms::Sum(term(*x)?, term(*y)?), to, nans),
                _ => return None,
            };
            let flush = flush(to)?;
            if nans.contains(&NanOperand::Invalid) || program.factor_nan.is_some() {
                return None;
            }
            let nan = to.target.nan as u32;
            free.extend((0..at).filter(|value| last_uses[*value] == at).map(|value| held[value]));
            held[at] = free.pop().unwrap_or_else(|| {
                slots += 1;
                slots - 1
            });
            links.push(Link { terms, to: held[at], flush, nans: nans.clone(), nan });
        }
        let Source::Value(value) = output.value else { return None };
        // An unused value after D's would take its place.
        if value + 1 != count {
            return None;
        }
        let (last, passes_nan) = (held[value], output.passes_nan);
        let nan = output.target.nan as u32;
        let by_rounded = links.iter().all(|link| matches!(link.flush, Flush::Below(0.0) | Flush::Rounded));
        Some(Single { m: i.m, n: i.n, k: i.k, operands, links, by_rounded, last, slots, passes_nan, nan })
    }
}

/// Reading of an operand; `None` unless binary32 holds its format by a shift or a product.
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

/// Flushed results; `None` if the destination is not binary32 to nearest.
fn flush(to: &Destination) -> Option<Flush> {
    let target = &to.target;
    if target.format.name != "f32" || target.rounding != Rounding::Rne || target.overflow != Overflow::Standard {
        return None;
    }
    let smallest = f64::from(f32::MIN_POSITIVE);
    match (to.subnormals, to.tininess) {
        (Subnormals::Keep, _) => Some(Flush::Below(0.0)),
        (Subnormals::SignedZero, ResultTininess::Before) => Some(Flush::Below(smallest)),
        // A sum half a unit of 24 bits below the smallest normal number is rounded to it, the even one of two.
        (Subnormals::SignedZero, ResultTininess::AfterUnbounded) => {
            Some(Flush::Below(smallest - smallest * f64::from(f32::EPSILON) / 4.0))
        }
        (Subnormals::SignedZero, ResultTininess::After) => Some(Flush::Rounded),
        (Subnormals::PositiveZero, _) => None,
    }
}

/// Value of each lane.
#[inline(always)]
fn each<T: Copy + Default>(value: impl FnMut(usize) -> T) -> SingleLane<T> {
    array(value)
}

/// Sums of numbers of at most 49 bits, with the last bit odd where a sum is inexact.
#[inline(always)]
fn odd_sums(x: &SingleLane<f64>, y: &SingleLane<f64>) -> SingleLane<f64> {
    // One operation at a time on all lanes, so that the compiler vectorises.
    let sum = each(|l| x[l] + y[l]);
    let part = each(|l| sum[l] - x[l]);
    let error = each(|l| (x[l] - (sum[l] - part[l])) + (y[l] - part[l]));
    let bits = each(|l| sum[l].to_bits());
    // All ones where the exact sum is nearer to zero.
    let inward = each(|l| ((error[l].to_bits() ^ bits[l]) as i64 >> 63) as u64);
    // The error of an infinity is NaN, which changes nothing.
    let even = each(|l| u64::from(error[l].abs() > 0.0) & !bits[l]);
    each(|l| f64::from_bits(bits[l].wrapping_add((inward[l] | 1) & (even[l] & 1).wrapping_neg())))
}

/// Sums as binary32, or zeros of their sign below a magnitude.
#[inline(always)]
fn above(sum: &SingleLane<f64>, least: f64) -> SingleLane<f64> {
    let kept = each(|l| if sum[l].abs() < least { 1 << 63 } else { u64::MAX });
    let rounded = each(|l| f64::from_bits(sum[l].to_bits() & kept[l]) as f32);
    each(|l| f64::from(rounded[l]))
}

/// Numbers, or zeros of their sign for subnormals.
#[inline(always)]
fn normal(rounded: &SingleLane<f32>) -> SingleLane<f32> {
    let kept = each(|l| if rounded[l].abs() < f32::MIN_POSITIVE { SIGN } else { u32::MAX });
    each(|l| f32::from_bits(rounded[l].to_bits() & kept[l]))
}

impl HostNumber for f64 {
    #[inline(always)]
    fn of(code: u32) -> f64 {
        f64::from(f32::from_bits(code))
    }

    #[inline(always)]
    fn code(self) -> u32 {
        (self as f32).to_bits()
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    #[inline(always)]
    fn fma(a: f64, b: &SingleLane<f64>, c: &SingleLane<f64>, flush: Flush) -> SingleLane<f64> {
        Self::sum(&each(|l| a * b[l]), c, flush)
    }

    #[inline(always)]
    fn sum(x: &SingleLane<f64>, y: &SingleLane<f64>, flush: Flush) -> SingleLane<f64> {
        let sum = odd_sums(x, y);
        match flush {
            Flush::Below(least) => above(&sum, least),
            Flush::Rounded => {
                let rounded = normal(&each(|l| sum[l] as f32));
                each(|l| rounded[l].into())
            }
        }
    }
}

impl HostNumber for f32 {
    #[inline(always)]
    fn of(code: u32) -> f32 {
        f32::from_bits(code)
    }

    #[inline(always)]
    fn code(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    #[inline(always)]
    fn fma(a: f32, b: &SingleLane<f32>, c: &SingleLane<f32>, flush: Flush) -> SingleLane<f32> {
        settled(each(|l| a.mul_add(b[l], c[l])), flush)
    }

    #[inline(always)]
    fn sum(x: &SingleLane<f32>, y: &SingleLane<f32>, flush: Flush) -> SingleLane<f32> {
        settled(each(|l| x[l] + y[l]), flush)
    }
}

/// Rounded values; subnormals become zeros if they are flushed.
#[inline(always)]
fn settled(rounded: SingleLane<f32>, flush: Flush) -> SingleLane<f32> {
    if flush == Flush::Rounded { normal(&rounded) } else { rounded }
}

impl SingleOperand {
    /// Reads codes: their numbers, and for each NaN its quiet code in binary32. True if there is a NaN.
    #[inline(always)]
    fn read<N: HostNumber>(
        &self,
        codes: &Codes,
        first: usize,
        count: usize,
        numbers: &mut Vec<N>,
        nans: &mut Vec<u32>,
    ) -> bool {
        let bytes = &codes.as_bytes()[first * self.width..][..count * self.width];
        // A piece may have more lanes than there are columns.
        resize(numbers, count + LANES);
        resize(nans, count + LANES);
        let (shorts, words) = (bytes.as_chunks().0, bytes.as_chunks().0);
        let mut any = [0; LANES];
        for at in (0..count).step_by(LANES) {
            let singles = match (self.width, self.half) {
                (4, _) => codes_of(words, at, u32::from_le_bytes),
                (_, false) => codes_of(shorts, at, |bytes| u32::from(u16::from_le_bytes(bytes)) << 16),
                (_, true) => {
                    let codes = codes_of(shorts, at, |bytes| u16::from_le_bytes(bytes).into());
                    each(|l| half(codes[l], self.flush))
                }
            };
            let kept = if self.flush { SIGN } else { u32::MAX };
            let singles = each(|l| if singles[l] & INFINITY == 0 { singles[l] & kept } else { singles[l] });
            let nan = each(|l| if singles[l] & !SIGN > INFINITY { singles[l] | QUIET } else { 0 });
            any = each(|l| any[l] | nan[l]);
            *lanes_mut(numbers, at) = each(|l| N::of(singles[l]));
            *lanes_mut(nans, at) = nan;
        }
        any != [0; LANES]
    }
}

/// Codes of [`LANES`] elements from a place on; zero after the last.
#[inline(always)]
fn codes_of<const BYTES: usize>(all: &[[u8; BYTES]], at: usize, code: impl Fn([u8; BYTES]) -> u32) -> SingleLane<u32> {
    match all[at..].first_chunk::<LANES>() {
        Some(bytes) => each(|l| code(bytes[l])),
        None => each(|l| all.get(at + l).map_or(0, |bytes| code(*bytes))),
    }
}

/// Code in binary32 of a code of binary16; subnormals become zeros with `flush`.
#[inline(always)]
fn half(code: u32, flush: bool) -> u32 {
    /// 2^-24, the unit of binary16 subnormals.
    const UNIT: f32 = 1.0 / (1 << 24) as f32;
    let (sign, magnitude) = ((code >> 15) << 31, code & 0x7fff);
    let subnormal = if flush { 0 } else { (magnitude as i32 as f32 * UNIT).to_bits() };
    let normal = (magnitude << 13) + (112 << 23);
    let special = INFINITY | (magnitude & 0x3ff) << 13;
    let finite = if magnitude < 0x400 { subnormal } else { normal };
    sign | if magnitude >= 0x7c00 { special } else { finite }
}

/// Lanes of an array from a place on.
#[inline(always)]
fn lanes<T: Copy>(values: &[T], at: usize) -> &SingleLane<T> {
    values[at..].first_chunk().expect("arrays have lanes to spare")
}

/// Mutable lanes of an array from a place on.
#[inline(always)]
fn lanes_mut<T>(values: &mut [T], at: usize) -> &mut SingleLane<T> {
    values[at..].first_chunk_mut().expect("arrays have lanes to spare")
}

/// First element of a piece.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct PieceStart {
    row: usize,
    column: usize,
}

impl<N: HostNumber> HostTile<N> {
    /// Term in the piece `at`, from a row and a column on: its numbers, and the codes of NaNs.
    #[inline(always)]
    fn term(
        &self,
        single: &Single,
        term: LinkTerm,
        at: usize,
        PieceStart { row, column }: PieceStart,
    ) -> (SingleLane<N>, SingleLane<u32>) {
        match term {
            LinkTerm::C => {
                (*lanes(&self.numbers[2], row * single.n + column), *lanes(&self.nans[2], row * single.n + column))
            }
            LinkTerm::Zero => ([N::default(); LANES], [0; LANES]),
            LinkTerm::Slot(slot) => (self.values[slot].number[at], self.values[slot].nan[at]),
        }
    }

    /// Operation in one piece, and, with `NANS`, the codes of NaN operands in the order of [`NanOperand`].
    #[inline(always)]
    fn link<const NANS: bool>(
        &self,
        single: &Single,
        link: &Link,
        at: usize,
        place: PieceStart,
    ) -> (SingleLane<N>, [SingleLane<u32>; 3]) {
        match link.terms {
            Terms::Product(k, addend) => {
                let (left, below) = (place.row * single.k + k, k * single.n + place.column);
                let (c, nan) = self.term(single, addend, at, place);
                let nans = if NANS {
                    [[self.nans[0][left]; LANES], *lanes(&self.nans[1], below), nan]
                } else {
                    [[0; LANES]; 3]
                };
                (N::fma(self.numbers[0][left], lanes(&self.numbers[1], below), &c, link.flush), nans)
            }
            Terms::Sum(x, y) => {
                let ((x, x_nan), (y, y_nan)) = (self.term(single, x, at, place), self.term(single, y, at, place));
                (N::sum(&x, &y, link.flush), [x_nan, y_nan, [0; LANES]])
            }
        }
    }

    /// Runs the operations on some pieces.
    #[inline(always)]
    fn run<const NANS: bool>(&mut self, single: &Single, places: &[PieceStart]) {
        for link in &single.links {
            for (at, place) in places.iter().enumerate() {
                let (number, nans) = self.link::<NANS>(single, link, at, *place);
                let value = &mut self.values[link.to];
                value.number[at] = number;
                if NANS {
                    let mut code = [link.nan; LANES];
                    for operand in link.nans.iter().rev() {
                        let nan = &nans[*operand as usize];
                        code = each(|l| if nan[l] != 0 { nan[l] } else { code[l] });
                    }
                    value.nan[at] = each(|l| if number[l].is_nan() { code[l] } else { 0 });
                }
            }
        }
    }

    /// Writes the bytes of the D codes of some pieces.
    #[inline(always)]
    fn write<const NANS: bool>(&self, single: &Single, places: &[PieceStart], d: &mut [u8]) {
        let value = &self.values[single.last];
        let invalid = if single.passes_nan { single.nan | QUIET } else { single.nan };
        for (at, PieceStart { row, column }) in places.iter().enumerate() {
            let (number, nan) = (&value.number[at], &value.nan[at]);
            let codes = each(|l| {
                let nan_code = if NANS && single.passes_nan { nan[l] | QUIET } else { invalid };
                if number[l].is_nan() { nan_code } else { number[l].code() }
            });
            let columns = LANES.min(single.n - column);
            let out = &mut d.as_chunks_mut().0[row * single.n + column..][..columns];
            match out.first_chunk_mut::<LANES>() {
                Some(lanes) => (0..LANES).for_each(|l| lanes[l] = codes[l].to_le_bytes()),
                None => (0..columns).for_each(|l| out[l] = codes[l].to_le_bytes()),
            }
        }
    }
}

impl<N: HostNumber> HostTile<N> {
    /// Computes the bytes of the D codes of a tile.
    #[inline(always)]
    fn all(&mut self, single: &Single, tiles: &Tiles, tile: usize, d: &mut [u8]) {
        let Single { m, n, k, .. } = *single;
        let mut nans = false;
        let arrays = [(&tiles.a, m * k), (&tiles.b, k * n), (&tiles.c, m * n)];
        for (at, (codes, count)) in arrays.into_iter().enumerate() {
            nans |= single.operands[at].read(codes, tile * count, count, &mut self.numbers[at], &mut self.nans[at]);
        }
        resize(&mut self.values, single.slots);
        let across = n.div_ceil(LANES);
        let (mut places, pieces) = ([PieceStart::default(); SIDE], m * across);
        for first in (0..pieces).step_by(SIDE) {
            let count = SIDE.min(pieces - first);
            for (at, place) in places[..count].iter_mut().enumerate() {
                *place = PieceStart { row: (first + at) / across, column: (first + at) % across * LANES };
            }
            let places = &places[..count];
            if nans {
                self.run::<true>(single, places);
                self.write::<true>(single, places, d);
            } else {
                self.run::<false>(single, places);
                self.write::<false>(single, places, d);
            }
        }
    }
}

vectorised! {
    /// Computes the bytes of the D codes of a tile.
    pub(super) fn singles(single: &Single, tiles: &Tiles, tile: usize, scratch: &mut SingleTile, d: &mut [u8]) {
        if single.by_rounded && Vectors::here().have_fma() {
            scratch.single.all(single, tiles, tile, d);
        } else {
            scratch.wider.all(single, tiles, tile, d);
        }
    }
}
