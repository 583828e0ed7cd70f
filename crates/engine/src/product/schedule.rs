//! Schedules: how a matrix product is made of instructions.

use super::{Factors, register::Register};
use crate::{
    Error, Result,
    base::named::named,
    format::{Format, Overflow, Rounding},
    isa::Instruction,
};

/// Bits of a row in a default granule: 64 elements of 16 bits, 128 of 8.
const GRANULE_BITS: usize = 1024;
/// Most parts of a sum.
const MOST_PARTS: usize = 1 << 16;
/// Most accumulators.
const MOST_ACCUMULATORS: usize = 1 << 10;
/// Largest slab, since a short one is filled up.
const LARGEST_SLAB: usize = 1 << 16;

/// A schedule: how D = alpha*A*B + beta*C + bias is made of instructions.
///
/// k is cut into parts ([`SplitK`]), each part into slabs, each slab into steps of the instruction's k. A short slab is filled with
/// zeros. The D of a step is the C of the next one. Where sums are promoted, the unit restarts from zero after every `promote` k, and
/// its sum is added to a register. The parts are joined, then scaled, and rounded to the output.
///
/// Registers are f32; f64 where the instruction's D is, and s32 where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The instruction.
    pub instruction: Instruction,
    /// Rounding of elements of A and B in another format; `None`: only the instruction's formats are taken.
    pub operands: Option<OperandRounding>,
    /// The order of the steps of a part.
    pub order: KOrder,
    /// k of a slab, a multiple of the instruction's.
    pub slab: usize,
    /// The short slab of a part.
    pub residue: Residue,
    /// The parts of k.
    pub split: SplitK,
    /// Number of k after which the unit's sum goes to a register; a multiple of the instruction's k.
    pub promote: Option<usize>,
    /// Divisor of the first half of a rest between `promote` and twice that, as in OpenBLAS.
    pub promote_halves: Option<usize>,
    /// Accumulators that the consecutive steps go to, round-robin.
    pub accumulators: Accumulators,
    /// Scales of blocks of A and B, which multiply promoted sums (for instructions without block scales).
    pub scales: Option<ScaleBlocks>,
    /// Entry of C.
    pub c: CEntry,
    /// Factor of the product, rounded to the register's format.
    pub alpha: f64,
    /// The factor of C.
    pub beta: f64,
    /// Entry of the bias.
    pub bias: BiasEntry,
    /// Format and rounding of D.
    pub output: OutputRounding,
}

named! {
    /// The order of the steps of a part.
    pub enum KOrder {
        Ascending = "ascending": "from the smallest k on";
        Descending = "descending": "from the largest k on";
    }
}

named! {
    /// The short slab of a part whose k is no multiple of the slab's.
    pub enum Residue {
        First = "first": "the one with the smallest k, as in kernels of CUTLASS";
        Last = "last": "the one with the largest k";
    }
}

named! {
    /// Joining of the parts of a sum.
    pub enum PartJoin {
        Register = "register": "added in order, unrounded, in the register's format";
        Pairs = "pairs": "each added to its neighbour, unrounded, and these sums likewise";
        Halves = "halves": "the first half added to the second, unrounded, and these sums likewise";
        Output = "output": "each rounded to the output's format, then added in order in the register's";
        Serial = "serial": "each added to D, which is rounded to the output's format after every part";
    }
}

named! {
    /// The k of the parts of a sum.
    pub enum PartTerms {
        Contiguous = "contiguous": "each part has its k in one piece";
        Interleaved = "interleaved": "pieces of one granule go to the parts in turn, as in kernels of cuBLAS (xmma)";
    }
}

named! {
    /// Where C enters.
    pub enum CEntry {
        Start = "start": "the first step adds to it";
        End = "end": "beta*C is added to the joined sum";
        Rounded = "rounded": "the scaled sum is rounded to the output's format, and rounded again after beta*C is added";
    }
}

named! {
    /// Where the bias enters.
    pub enum BiasEntry {
        End = "end": "it is added to the scaled sum, before that is rounded";
        Rounded = "rounded": "the scaled sum is rounded to the output's format, and rounded again after the bias is added";
        First = "first": "it is added to the first part, before that is rounded; of parts that are added to D";
        Start = "start": "the first step adds to it";
    }
}

named! {
    /// Joining of accumulators.
    pub enum AccumulatorJoin {
        Order = "order": "added in order";
        Pairs = "pairs": "each with its neighbour, and these sums likewise";
        Halves = "halves": "the first half with the second, element by element, and these sums likewise";
        Lanes = "lanes": "by halves down to four, and those in pairs, as processors add the lanes of a register";
    }
}

named! {
    /// Use of the scales of a promoted sum, or of the whole one.
    pub enum ScaleUse {
        Fused = "fused": "the product of the scales, rounded, is a factor of a fused multiply-add to the register";
        Rounded = "rounded": "the sum times that product is rounded before it is added";
        End = "end": "the joined sum is multiplied by the product of the scales";
        Each = "end-each": "the joined sum is multiplied by the scale of A, then by the scale of B";
    }
}

/// Split-k: the parts of k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitK {
    /// Most parts.
    pub count: usize,
    /// Divisor of the k of every part but the last.
    ///
    /// A contiguous part has `ceil(ceil(k / granule) / count) * granule`.
    pub granule: usize,
    /// Place of the k of a part: in one piece or several.
    pub terms: PartTerms,
    /// How they are joined.
    pub join: PartJoin,
}

/// Rounding of elements of A and B to the instruction's formats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperandRounding {
    /// Their format (elements in the instruction's formats stay unchanged).
    pub format: &'static Format,
    /// How they are rounded.
    pub rounding: Rounding,
}

/// Accumulators side by side along k: of processors, or of warps that share the k of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Accumulators {
    /// Number of accumulators; pieces of k go to them round-robin.
    pub count: usize,
    /// The k of a piece, a multiple of the instruction's.
    pub granule: usize,
    /// How they are joined.
    pub join: AccumulatorJoin,
}

/// Blocks of elements that share a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaleBlocks {
    /// Rows and k of a block of A.
    pub a: [usize; 2],
    /// k and columns of a block of B.
    pub b: [usize; 2],
    /// How they multiply.
    pub multiply: ScaleUse,
}

/// Format and rounding of D.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutputRounding {
    /// The format.
    pub format: &'static Format,
    /// The rounding.
    pub rounding: Rounding,
    /// Treatment of results that are too large.
    pub overflow: Overflow,
    /// Code of NaN results; `None`: the format's. (Where nothing follows the last step, its codes stay.)
    pub nan: Option<u64>,
}

impl ScaleUse {
    /// True if the scales multiply the joined sum: all k share a scale.
    pub fn is_at_end(self) -> bool {
        matches!(self, ScaleUse::End | ScaleUse::Each)
    }
}

impl Schedule {
    /// The default schedule: steps in ascending k, C added at the end, D in the instruction's format.
    ///
    /// # Errors
    /// A request error: the instruction's D cannot be its next C, or A is sparse.
    pub fn new(instruction: Instruction) -> Result<Schedule> {
        let i = &instruction;
        let refused = |why: String| Err(Error::request(format!("{i} makes no matrix products: {why}")));
        if i.is_sparse() {
            return refused("A is sparse; a schedule takes dense matrices".into());
        }
        if i.c != i.d {
            return refused(format!("its D is {}, which cannot be the {} of the next step's C", i.d, i.c));
        }
        let schedule = Schedule {
            operands: None,
            order: KOrder::Ascending,
            slab: i.k,
            residue: Residue::Last,
            split: SplitK { count: 1, granule: granule(i), terms: PartTerms::Contiguous, join: PartJoin::Register },
            promote: None,
            promote_halves: None,
            accumulators: Accumulators { count: 1, granule: i.k, join: AccumulatorJoin::Order },
            scales: None,
            c: CEntry::End,
            alpha: 1.0,
            beta: 1.0,
            bias: BiasEntry::End,
            output: OutputRounding { format: i.d, rounding: Rounding::Rne, overflow: Overflow::Standard, nan: None },
            instruction,
        };
        schedule.check().map_err(Error::request)?;
        Ok(schedule)
    }

    /// Refuses a schedule that cannot be followed, whatever the matrices.
    ///
    /// # Errors
    /// The key, its value and what it may be.
    pub fn check(&self) -> std::result::Result<(), String> {
        let i = &self.instruction;
        let register = Register::of(i.d).ok_or_else(|| {
            format!(
                "{i} has D in {}: there are registers of f32 (for floating-point formats up to it), f64 and s32",
                i.d
            )
        })?;
        for (key, k) in [("slab", Some(self.slab)), ("promote", self.promote), ("promote-halves", self.promote_halves)]
        {
            if let Some(k) = k.filter(|k| *k == 0 || !k.is_multiple_of(i.k)) {
                return Err(format!("{key} = {k}: expected a multiple of {}, the k of {i}", i.k));
            }
        }
        if self.slab > LARGEST_SLAB.max(i.k) {
            return Err(format!("slab = {}: slabs have a k of up to {LARGEST_SLAB}", self.slab));
        }
        let SplitK { count, granule, terms, join } = self.split;
        if !(1..=MOST_PARTS).contains(&count) {
            return Err(format!("split.count = {count}: k is cut into 1 to {MOST_PARTS} parts"));
        }
        if granule == 0 {
            return Err("split.granule = 0: expected 1 or more".into());
        }
        if terms == PartTerms::Interleaved && !granule.is_multiple_of(i.k) {
            return Err(format!(
                "split.granule = {granule}: interleaved parts take a multiple of {}, the k of {i}",
                i.k
            ));
        }
        if self.promote_halves.is_some() && self.promote.is_none() {
            return Err("promote-halves needs promote".into());
        }
        if let Some(scales) = &self.scales {
            if self.promote.is_none() && !scales.multiply.is_at_end() {
                return Err("scales need promote, the k of a block: they multiply promoted sums".into());
            }
            if register == Register::Integer {
                return Err(format!("scales multiply in f32, and {i} sums integers"));
            }
            if [scales.a, scales.b].concat().contains(&0) {
                return Err("scales: a block has one row, column and k or more".into());
            }
        }
        for (key, factor) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !factor.is_finite() {
                return Err(format!("{key} = {factor}: expected a finite number"));
            }
        }
        let plain = self.alpha == 1.0 && (self.beta == 0.0 || self.beta == 1.0);
        if register == Register::Integer && !plain {
            return Err(format!("{i} sums integers: alpha is 1, and beta 0 or 1"));
        }
        if self.c == CEntry::Start && (!plain || self.promote.is_some()) {
            return Err("c = \"start\": alpha and beta are then 1, and nothing is promoted".into());
        }
        if self.bias == BiasEntry::Start && (self.alpha != 1.0 || self.promote.is_some() || self.c == CEntry::Start) {
            return Err("bias = \"start\": alpha is then 1, nothing is promoted, and C is added at the end".into());
        }
        if self.bias == BiasEntry::First && join != PartJoin::Serial {
            return Err(
                "bias = \"first\" needs split.join = \"serial\"; otherwise the parts are added before they are rounded"
                    .into(),
            );
        }
        let Accumulators { count: accumulators, granule, .. } = self.accumulators;
        if !(1..=MOST_ACCUMULATORS).contains(&accumulators) {
            return Err(format!("accumulators.count = {accumulators}: there are 1 to {MOST_ACCUMULATORS}"));
        }
        if granule == 0 || !granule.is_multiple_of(i.k) {
            return Err(format!("accumulators.granule = {granule}: expected a multiple of {}, the k of {i}", i.k));
        }
        if accumulators > 1 && i.d != register.format() {
            return Err(format!("accumulators are joined in {}, and {i} has D in {}", register.format(), i.d));
        }
        if let Some(OperandRounding { format, rounding }) = self.operands {
            if format.is_integer() || i.a.is_integer() || i.b.is_integer() {
                return Err(format!(
                    "operands.format = \"{format}\": {i} multiplies {} by {}, and only numbers with a \
                                    floating point are rounded to others",
                    i.a, i.b
                ));
            }
            if matches!(rounding, Rounding::Sr { .. }) {
                return Err(
                    "operands.rounding: stochastic rounding would round every element by the same random bits".into()
                );
            }
        }
        let output = &self.output;
        if (register == Register::Integer) != output.format.is_integer()
            || output.format.is_integer() && output.format != i.d
        {
            return Err(format!("output.format = \"{}\": the sums of {i} are {}", output.format, register.format()));
        }
        if matches!(output.rounding, Rounding::Sr { .. }) {
            return Err("output.rounding: stochastic rounding would round every element by the same random bits".into());
        }
        if let Some(nan) = output.nan.filter(|nan| *nan > output.format.code_mask()) {
            return Err(format!("output.nan = \"{nan:#x}\": {} has {} bits", output.format, output.format.bits));
        }
        if !matches!(join, PartJoin::Register | PartJoin::Pairs | PartJoin::Halves) && register == Register::Integer {
            return Err(format!("split.join = \"{}\": integers are added unrounded", join.name()));
        }
        Ok(())
    }

    /// The format of the register outside the unit: f32, f64 or s32.
    pub(crate) fn register(&self) -> &'static Format {
        Register::of(self.instruction.d).expect("the schedule is checked").format()
    }

    /// True if D is the codes of the last step.
    pub(crate) fn is_bare(&self, parts: usize, has_c: bool, has_bias: bool) -> bool {
        let added = has_bias && self.bias != BiasEntry::Start || has_c && self.c != CEntry::Start && self.beta != 0.0;
        parts == 1
            && self.promote.is_none()
            && !added
            && self.alpha == 1.0
            && self.scales.is_none()
            && self.output.format == self.instruction.d
    }

    /// Why the steps of all elements cannot be summed at once, if they cannot.
    pub fn not_at_once(&self, factors: &Factors) -> Option<&'static str> {
        let begins =
            factors.c.is_some() && self.c == CEntry::Start || factors.bias.is_some() && self.bias == BiasEntry::Start;
        let promotes = self.promote.is_some() && Register::of(self.instruction.d) != Some(Register::Single);
        (begins || promotes || self.scales.is_some() || self.accumulators.count > 1).then_some(
            "sums of all elements at once begin from zero, in one accumulator, without scales, and are promoted to f32 alone",
        )
    }

    /// The schedule of some rows and columns ([`super::Factors::chosen`]), each with its own scales.
    pub fn narrowed(&self) -> Schedule {
        let scales = self.scales.map(|scales| ScaleBlocks { a: [1, scales.a[1]], b: [scales.b[0], 1], ..scales });
        Schedule { scales, ..self.clone() }
    }
}

/// Default granule of an instruction.
fn granule(i: &Instruction) -> usize {
    (GRANULE_BITS / i.a.bits as usize).max(1)
}
