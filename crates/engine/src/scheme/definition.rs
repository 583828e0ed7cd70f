//! Schemes: how a matrix product is made of products of parts.

use crate::{
    base::named::named,
    format::{self, Format, Rounding},
    product::ProductShape,
};

/// A scheme: a product of high precision, made of products that a unit computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme {
    /// The name of its file, with a count if one was asked for.
    pub name: String,
    /// The name of a shipped scheme, or the path of the file.
    pub(super) file: String,
    /// The scheme in a line.
    pub title: String,
    /// Where it comes from, if the file says.
    pub source: Option<String>,
    /// The format that it emulates: of the operands and of the product.
    pub emulates: Emulated,
    /// The split of elements of A.
    pub a: OperandSplit,
    /// The split of elements of B.
    pub b: OperandSplit,
    /// The sums, in the order in which they are combined: each is multiplied by its power of two and added.
    pub sums: Vec<PartSum>,
    /// The register that combines the sums.
    pub register: SumRegister,
    /// The format of the unit's accumulators.
    pub accumulator: &'static Format,
    /// Parts of k that are whole products.
    pub parts: Option<WholeParts>,
    /// The product of operands that hold infinities or NaN, or need too many slices.
    pub fallback: Fallback,
    /// The addition of beta C to a product.
    pub epilogue: Epilogue,
}

/// The split of an element.
#[derive(Debug, Clone, PartialEq)]
pub enum OperandSplit {
    /// Each part is the rounded remainder of a number after the parts before.
    Parts(Vec<SplitPart>),
    /// Integers that count units of the row of A (column of B), which its largest element decides.
    Slices(Slices),
    /// Digits of an integer, the lowest first.
    Digits(Digits),
    /// Remainders of an integer by moduli without a common divisor.
    Moduli(Moduli),
}

/// A part: the remainder after the parts before, times a power of two, rounded to a format.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitPart {
    /// The name.
    pub name: String,
    /// The format.
    pub format: &'static Format,
    /// The rounding.
    pub rounding: Rounding,
    /// The exponent of the power of two.
    pub shift: i32,
}

/// Slices `1`, `2`, ... without error.
///
/// A row whose elements are below 2^e has units of 2^e over powers of two. A slice is the remainder after the slices before,
/// rounded to a multiple of its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slices {
    /// Number of slices.
    pub count: usize,
    /// The exponent of the ratio of two units.
    pub bits: u32,
    /// RZ (integers below 2^bits) or RNE (integers up to half of that).
    ///
    /// Integers in two's complement are rounded by RZ or RD.
    pub rounding: Rounding,
    /// The format of the integers.
    pub format: &'static Format,
    /// The format of all slices but the first, if these are unsigned digits.
    ///
    /// The slices are then digits of an integer in two's complement.
    pub rest: Option<&'static Format>,
    /// True for digits of a truncated integer around zero, which carry upwards.
    ///
    /// The first slice keeps what is left.
    pub balanced: bool,
    /// Fraction bits of a line's largest element that, if all are ones, raise the line's exponent by one.
    ///
    /// The exponent is then read from the exponent field, which subnormal numbers share with the smallest normal ones.
    pub headroom: Option<u32>,
    /// How operands decide the number of slices, if they do.
    pub dynamic: Option<DynamicSlices>,
}

/// The number of slices by the operands, as cuBLAS does it.
///
/// With the binary exponents of elements, the bits are 54 more than the largest e(A row) + e(B column) - e(blocks): the largest
/// exponents of the row and the column, less the largest over blocks of k of max(largest of A + smallest of B, smallest of A + largest
/// of B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DynamicSlices {
    /// The k of a block.
    pub block: usize,
    /// The most bits; operands that need more are multiplied by the fallback.
    pub most: u32,
}

/// Parts of k that are whole products with units of their own, added in order in the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeParts {
    /// k of a tile, and rows and columns of a tile of D; a part has whole tiles of k.
    pub tile: usize,
    /// The k from which there are parts so that tiles of D times parts are `outputs`.
    pub from: usize,
    /// See `from`.
    pub outputs: usize,
    /// The most tiles of k of a part, rounded up by less than one part.
    pub most: usize,
    /// The k from which products of a batch have parts as single products do; below, they have one part.
    ///
    /// Without it, the scheme has no rule for batches.
    pub batches_from: Option<usize>,
}

impl WholeParts {
    /// The terms of a part's products, by which sums are grouped: whole tiles, those of the shortest part.
    pub(super) fn terms(&self, parts: usize, k: usize) -> usize {
        k.div_ceil(self.tile) / parts * self.tile
    }

    /// The parts of k of a product of a batch of so many, shorter parts first.
    pub fn ranges(&self, ProductShape { m, n, k }: ProductShape, batch: usize) -> Vec<std::ops::Range<usize>> {
        let tiles = k.div_ceil(self.tile);
        let of_d = m.div_ceil(self.tile) * n.div_ceil(self.tile);
        let few = if k >= self.from { self.outputs.div_ceil(of_d.max(1)).min(tiles) } else { 1 };
        let undivided = batch > 1 && self.batches_from.is_some_and(|from| k < from);
        let count = if undivided { 1 } else { few.max(tiles / self.most).max(1) };
        let (each, longer) = (tiles / count, tiles % count);
        let mut from = 0;
        let part = |at: usize| {
            let range = from..k.min(from + self.tile * (each + usize::from(at >= count - longer)));
            from = range.end;
            range
        };
        (0..count).map(part).collect()
    }
}

/// Remainders of integers by moduli, and how a row of A (column of B) is scaled to integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Moduli {
    /// The moduli, of which no two have a common divisor.
    pub moduli: Vec<u32>,
    /// The format of the remainders, which are around zero.
    pub format: &'static Format,
    /// The scaling.
    pub scaling: Scaling,
}

/// Digits `0`, `1`, ... of integers in two's complement; a sign has only the highest, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    /// Bits of the integers.
    pub bits: u32,
    /// Bits of a digit.
    pub digit: u32,
    /// True for signed integers.
    pub signed: bool,
}

/// Products that are added in one accumulator.
#[derive(Debug, Clone, PartialEq)]
pub struct PartSum {
    /// Products as pairs of a part of A and a part of B, in their order.
    pub products: Vec<(usize, usize)>,
    /// Number of k that each product takes in turn.
    pub block: ProductTurn,
    /// When the unit's sum is added to a register outside of it, to nearest.
    pub promote: Promote,
    /// The exponent of the unit of the sum.
    pub scale: i32,
    /// The most terms of an accumulator.
    ///
    /// An accumulator takes whole products; the next one begins where they would have more.
    pub group: Option<usize>,
}

impl PartSum {
    /// The sums of an accumulator each, of products of so many terms.
    pub(super) fn groups(&self, terms: usize) -> Vec<PartSum> {
        let Some(group) = self.group else { return vec![self.clone()] };
        let count = (group / terms.max(1)).max(1);
        self.products.chunks(count).map(|products| PartSum { products: products.to_vec(), ..self.clone() }).collect()
    }
}

/// Number of k of a product before the next product's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProductTurn {
    /// A step of the instruction.
    Step,
    /// So many, rounded up to whole steps.
    Terms(usize),
    /// All.
    All,
}

named! {
    /// The format that a scheme emulates.
    pub enum Emulated {
        Single = "f32": "Operands and product are f32";
        Double = "f64": "Operands and product are f64";
    }
}

named! {
    /// The product of operands with infinities or NaN, for which a scheme has no parts.
    pub enum Fallback {
        Nan = "nan": "NaN in their row or column of D";
        Fused = "fma": "The whole product is a chain of fused multiply-adds, ascending k, from zero";
        StreamK = "fma-stream-k": "The same in parts of k, which are added in order, as stream-K of CUTLASS cuts k on 132 multiprocessors";
    }
}

named! {
    /// The operations that make D = alpha A B + beta C of sums.
    ///
    /// beta C is rounded first; where beta is zero, it is +0.
    pub enum Epilogue {
        None = "none": "There is no alpha, beta and C";
        Fused = "fma": "fma(alpha, sum, beta C), part by part of k; of the fallback fma(beta, C, alpha sum)";
    }
}

named! {
    /// The powers of two that make integers of rows of A and columns of B, whose sums the moduli hold.
    pub enum Scaling {
        Fast = "fast": "From the norm of the row or column alone, by the inequality of Cauchy and Schwarz";
        Accurate = "accurate": "From a product of the magnitudes, rounded up to integers of 7 bits";
    }
}

named! {
    /// When the unit's sum is added to a register outside of it and begins from zero.
    pub enum Promote {
        Never = "never": "The sum stays in the unit";
        Step = "step": "After every step of the instruction";
        Block = "block": "After a block of all products";
    }
}

named! {
    /// The register that combines sums: to nearest, ties to even; integers modulo 2^32.
    pub enum SumRegister {
        Single = "f32": "f32";
        Double = "f64": "f64, and the result is rounded to what the scheme emulates";
        Integer = "s32": "s32, which wraps";
        Residues = "moduli": "An exact integer from its remainders, which is rounded once";
    }
}

impl OperandSplit {
    /// Number of parts.
    pub fn count(&self) -> usize {
        match self {
            OperandSplit::Parts(parts) => parts.len(),
            OperandSplit::Slices(slices) => slices.count,
            OperandSplit::Digits(digits) => digits.count(),
            OperandSplit::Moduli(moduli) => moduli.moduli.len(),
        }
    }

    /// The name of a part.
    pub fn name(&self, part: usize) -> String {
        match self {
            OperandSplit::Parts(parts) => parts[part].name.clone(),
            OperandSplit::Slices(_) => (part + 1).to_string(),
            OperandSplit::Digits(_) => part.to_string(),
            OperandSplit::Moduli(moduli) => moduli.moduli[part].to_string(),
        }
    }

    /// The format of a part.
    pub fn format(&self, part: usize) -> &'static Format {
        match self {
            OperandSplit::Parts(parts) => parts[part].format,
            OperandSplit::Slices(slices) => slices.rest.filter(|_| part > 0).unwrap_or(slices.format),
            OperandSplit::Digits(digits) => digits.format(part),
            OperandSplit::Moduli(moduli) => moduli.format,
        }
    }

    /// The exponent of the unit of a part; for slices, in a row whose elements are below 1.
    pub(super) fn scale(&self, part: usize) -> i32 {
        match self {
            OperandSplit::Parts(parts) => -parts[part].shift,
            OperandSplit::Slices(slices) => slices.scale(part),
            OperandSplit::Digits(digits) => (digits.digit as usize * part) as i32,
            OperandSplit::Moduli(_) => 0,
        }
    }
}

impl Slices {
    /// The exponent of the unit of a slice, of a row whose elements are below 1.
    pub(super) fn scale(&self, slice: usize) -> i32 {
        let first = if self.is_of_magnitudes() { self.bits } else { self.bits - 1 };
        -(first as i32 + self.bits as i32 * slice as i32)
    }

    /// True if every slice has the sign of the number.
    fn is_of_magnitudes(&self) -> bool {
        self.rounding == Rounding::Rz && self.rest.is_none() && !self.balanced
    }

    /// Bits of a number that the slices keep, below the power of two that bounds its line.
    pub fn kept_bits(&self) -> u32 {
        self.scale(self.count - 1).unsigned_abs()
    }

    /// The largest magnitude of a slice.
    pub(super) fn largest(&self) -> u64 {
        if self.is_of_magnitudes() || self.rest.is_some() { (1 << self.bits) - 1 } else { 1 << (self.bits - 1) }
    }

    /// The smallest and the largest integer of a slice.
    pub(super) fn range(&self, slice: usize) -> (i64, i64) {
        let largest = self.largest() as i64;
        match self.rest {
            Some(_) if slice > 0 => (0, largest),
            Some(_) => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            None if self.balanced => (-largest, largest - 1),
            None => (-largest, largest),
        }
    }
}

impl Digits {
    pub(super) fn count(&self) -> usize {
        (self.bits / self.digit) as usize
    }

    fn format(&self, digit: usize) -> &'static Format {
        let sign = if self.signed && digit + 1 == self.count() { 's' } else { 'u' };
        format::find(&format!("{sign}{}", self.digit)).expect("digits have 4 or 8 bits")
    }

    /// The smallest and the largest integer.
    pub fn range(&self) -> (i64, i64) {
        match self.signed {
            true => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => (0, (1 << self.bits) - 1),
        }
    }
}

impl Scheme {
    /// True if it multiplies integers.
    pub fn is_integer(&self) -> bool {
        self.register == SumRegister::Integer
    }

    /// True if D may be alpha A B + beta C.
    pub fn takes_addend(&self) -> bool {
        self.epilogue != Epilogue::None
    }

    /// True if the scheme has a rule for batches of products.
    pub fn takes_batches(&self) -> bool {
        self.parts.is_some_and(|parts| parts.batches_from.is_some())
    }

    /// The format of the product.
    pub fn result(&self) -> &'static Format {
        let name = if self.is_integer() { "s32" } else { self.emulates.name() };
        format::find(name).expect("a format of the table")
    }

    /// The k beyond which a sum of integers in the unit may not be exact; `None` without such sums.
    pub fn most_terms(&self) -> Option<u64> {
        let of_sum = |sum: &PartSum| {
            let product = |(a, b): &(usize, usize)| match (&self.a, &self.b) {
                (OperandSplit::Slices(x), OperandSplit::Slices(y)) => Some(x.largest() * y.largest()),
                (OperandSplit::Moduli(x), OperandSplit::Moduli(y)) => {
                    Some(u64::from(x.moduli[*a] / 2) * u64::from(y.moduli[*b] / 2))
                }
                _ => None,
            };
            let all = match sum.group {
                // A group of more than one product has at most so many terms.
                Some(_) => sum.products.iter().map(product).max()??,
                None => sum.products.iter().map(product).sum::<Option<u64>>()?,
            };
            // s32, or the integers of f32; those of f16 are out of the question.
            let most = if self.accumulator.is_integer() { (1 << 31) - 1 } else { 1 << 24 };
            Some(most / all.max(1))
        };
        self.sums.iter().filter_map(of_sum).min()
    }

    /// Number of products, with the one that the accurate scaling of remainders takes.
    pub fn products(&self) -> usize {
        let scaling = matches!(&self.a, OperandSplit::Moduli(moduli) if moduli.scaling == Scaling::Accurate);
        self.sums.iter().map(|sum| sum.products.len()).sum::<usize>() + usize::from(scaling)
    }

    /// The formats of A and B in the products of a sum.
    pub fn formats(&self, sum: &PartSum) -> [&'static Format; 2] {
        let (a, b) = sum.products[0];
        [self.a.format(a), self.b.format(b)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_k_and_groups_are_those_that_cublas_was_seen_to_take() {
        let scheme = Scheme::find("cublas-fp64:8").unwrap();
        let parts = scheme.parts.unwrap();
        let of_batch = |m, n, k, batch| {
            parts.ranges(ProductShape { m, n, k }, batch).iter().map(|part| part.len()).collect::<Vec<usize>>()
        };
        let lengths = |m, n, k| of_batch(m, n, k, 1);
        assert_eq!(lengths(24, 16, 1000), [1000]);
        assert_eq!(lengths(24, 16, 1024), [128; 8]);
        assert_eq!(lengths(128, 256, 1300), [&[128; 10][..], &[20]].concat());
        assert_eq!(lengths(24, 16, 5000), [&[128; 24][..], &[256; 7], &[136]].concat());
        assert_eq!(lengths(1024, 1024, 16384), [8192; 2]);
        // Products of a batch have one part while s32 holds sums of products of 255 * 255.
        assert_eq!(of_batch(1, 1, 33025, 2), [33025]);
        assert_eq!(of_batch(600, 600, 33026, 2).len(), 4);
        assert_eq!(of_batch(1, 1, 50000, 7), lengths(1, 1, 50000));
        // 40 tiles of k for each product: six of the eight products of the smallest power of two, then two.
        let terms = parts.terms(1, 5120);
        let groups: Vec<usize> = scheme.sums[7].groups(terms).iter().map(|group| group.products.len()).collect();
        assert_eq!(groups, [6, 2]);
        assert_eq!(scheme.sums[2].products, [(0, 2), (1, 1), (2, 0)]);
        assert_eq!(scheme.sums[1].products, [(1, 0), (0, 1)]);
    }
}
