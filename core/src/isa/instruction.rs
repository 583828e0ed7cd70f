//! One matrix instruction.

use std::fmt;

use super::{Support, operands, targets};
use crate::format::Format;

/// One matrix instruction: `D[m,n] = A[m,k] * B[k,n] + C[m,n]` with the formats of its operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// The canonical name, `FAMILY.SHAPE.D.A.B.C` and qualifiers: `mma.m16n8k16.f32.bf16.bf16.f32`.
    /// wgmma names omit C, whose format is D's; `.rs` marks the form with A in registers. Shapes of mfma are `32x32x8`.
    pub name: String,
    /// The vendor's full spelling.
    pub ptx: String,
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// Columns of A and rows of B (logical ones, for sparse forms).
    pub k: usize,
    /// Format of A.
    pub a: &'static Format,
    /// Format of B.
    pub b: &'static Format,
    /// Format of C.
    pub c: &'static Format,
    /// Format of D.
    pub d: &'static Format,
    /// The block scale that A and B carry, if any.
    pub scale: Option<Scale>,
    /// How A is stored, if not every element is.
    pub sparse: Option<Chunk>,
    /// Whether integer results that are too large become the largest number, and not what is left of their low bits.
    pub saturate: bool,
    /// Whether the term of an element of A and one of B, each a bit, is their exclusive or, and not their product.
    pub xor: bool,
    /// The kernel source that executes it on an NVIDIA GPU; `None` if none does.
    pub kernel: Option<Kernel>,
    /// The targets that have it (none of an instruction that a user describes), in the order of [`targets::all`](super::targets::all).
    pub support: &'static [Support],
}

/// A block scale: one code of `format` for each `block` consecutive elements along k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Format of the scale codes.
    pub format: &'static Format,
    /// Elements along k that share a scale; of sparse forms, logical ones: half as many of A are stored.
    pub block: usize,
}

/// Structured sparsity of A: of every `length` consecutive elements along k, `kept` are stored, in groups of `together`
/// neighbours; in ascending order, unless the instruction takes any.
///
/// 16-bit and 8-bit formats keep two of four, tf32 one of two, packed 4-bit formats two pairs of four pairs (PTX ISA,
/// "Sparse matrix storage").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Logical elements in a chunk.
    pub length: usize,
    /// Stored elements of a chunk.
    pub kept: usize,
    /// Neighbours that are kept or dropped together.
    pub together: usize,
    /// Whether the groups of a chunk may be stored in any order: of `mma.sp` without `::ordered_metadata`.
    pub any_order: bool,
}

impl Chunk {
    /// Whether these are positions of the stored elements of whole chunks: in each chunk different and below its length,
    /// ascending unless any order is allowed, those of neighbours that are kept together consecutive.
    pub fn allows(&self, positions: impl IntoIterator<Item = u64>) -> bool {
        let (mut chunk, mut before): (Vec<u64>, Option<u64>) = (Vec::new(), None);
        positions.into_iter().enumerate().all(|(at, position)| {
            let within = at % self.kept;
            if within == 0 {
                (chunk, before) = (Vec::new(), None);
            }
            let follows = match before {
                None => true,
                Some(before) if !within.is_multiple_of(self.together) => position == before + 1,
                Some(before) => {
                    if self.any_order {
                        !chunk.contains(&position)
                    } else {
                        position > before
                    }
                }
            };
            chunk.push(position);
            before = Some(position);
            let aligned = !within.is_multiple_of(self.together) || position.is_multiple_of(self.together as u64);
            follows && aligned && position < self.length as u64
        })
    }

    /// What [`Chunk::allows`], in words.
    pub fn rule(&self) -> String {
        let order = if self.any_order { "different" } else { "ascending" };
        let pairs = if self.together > 1 { ", in neighbouring pairs" } else { "" };
        format!("{} {order} positions below {}{pairs}", self.kept, self.length)
    }
}

/// An instruction family with one kernel source (`kernels/*.cu`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// `mma.sync` and `mma.sp` with one fragment layout per operand: m16n8kK, m8n8kK.
    Mma,
    /// `mma.sync.m8n8k4` on f16: four independent tiles in a warp.
    Mma884,
    /// `wmma.mma`, its operands through shared memory.
    Wmma,
    /// `wgmma.mma_async`, dense and sparse.
    Wgmma,
}

impl Instruction {
    /// The family: the name up to the shape (`mma`, `mma.sp`, `wgmma`, `wmma`, `tcgen05`, `mfma`, ...).
    pub fn family(&self) -> &str {
        let is_shape = |part: &str| part.strip_prefix('m').unwrap_or(part).starts_with(|c: char| c.is_ascii_digit());
        let length = self.name.split('.').take_while(|part| !is_shape(part)).map(|part| part.len() + 1).sum::<usize>();
        &self.name[..length.saturating_sub(1)]
    }

    /// Bytes of the codes of one tile: A, B, C and D.
    pub fn tile_bytes(&self) -> usize {
        operands(self).iter().map(|o| o.len() * o.format.bytes()).sum::<usize>() + self.m * self.n * self.d.bytes()
    }

    /// Two codes of A and B whose product is the term of these: themselves, or their exclusive or and 1.
    pub fn factors(&self, a: u64, b: u64) -> (u64, u64) {
        if self.xor { (a ^ b, 1) } else { (a, b) }
    }

    /// Whether A is structured sparse.
    pub fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// How A is stored in sparse forms; `None` if every element is.
    pub fn chunk(&self) -> Option<Chunk> {
        self.sparse
    }

    /// Elements in a row of A: k, of sparse forms the half of it that is stored.
    pub fn stored_k(&self) -> usize {
        self.chunk().map_or(self.k, |chunk| self.k / chunk.length * chunk.kept)
    }

    /// Whether the name carries this qualifier (`satfinite`, `rz`, `rs`, `col`, ...).
    pub fn has_qualifier(&self, qualifier: &str) -> bool {
        self.qualifiers().any(|q| q == qualifier)
    }

    /// What follows the operand formats in the name.
    pub fn qualifiers(&self) -> impl Iterator<Item = &str> {
        let formats = if self.family().starts_with("wgmma") { 3 } else { 4 };
        self.name[self.family().len()..].trim_start_matches('.').split('.').skip(1 + formats)
    }

    /// How an architecture (`sm_90a`, `gfx942`) has this instruction, or `None` if it does not.
    pub fn support_on(&self, architecture: &str) -> Option<&'static Support> {
        self.support.iter().find(|s| s.architecture == architecture)
    }

    /// The architectures that have it, comma-separated.
    pub fn architectures(&self) -> String {
        self.support.iter().map(|s| s.architecture).collect::<Vec<_>>().join(", ")
    }

    /// Whether it is an instruction of processors, which GPUs do not have.
    pub fn is_of_processors(&self) -> bool {
        let of = |support: &Support| targets::find(support.architecture);
        self.support.iter().filter_map(of).any(|target| !target.processors.is_empty())
    }

    /// Why no GPU of this program executes the instruction; `None` if one does that has it.
    pub fn missing(&self) -> Option<&'static str> {
        match (self.kernel, self.scale) {
            (Some(_), _) => None,
            (None, None) if self.is_of_processors() => Some("it is an instruction of processors (--device cpu)"),
            (None, Some(_)) => Some("there is no kernel with block scales; models and programs execute it"),
            (None, None) => Some("there is no kernel for it; models and programs execute it"),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

impl Kernel {
    /// The name in the instruction table, which is the stem of the source file in `kernels/`.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Mma => "mma",
            Kernel::Mma884 => "mma884",
            Kernel::Wmma => "wmma",
            Kernel::Wgmma => "wgmma",
        }
    }

    /// The kernel with this name.
    pub fn parse(name: &str) -> Option<Kernel> {
        [Kernel::Mma, Kernel::Mma884, Kernel::Wmma, Kernel::Wgmma].into_iter().find(|k| k.name() == name)
    }
}
