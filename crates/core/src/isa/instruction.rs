//! Matrix instructions.

use std::fmt;

use super::{Support, operands, targets};
use crate::format::Format;

/// Matrix instruction: `D[m,n] = A[m,k] * B[k,n] + C[m,n]` with the formats of its operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Canonical name, `FAMILY.SHAPE.D.A.B.C` and qualifiers: `mma.m16n8k16.f32.bf16.bf16.f32`.
    /// wgmma names omit C, whose format is D's; `.rs` marks the form with A in registers. Shapes of mfma are `32x32x8`.
    pub name: String,
    /// The vendor's full spelling.
    pub ptx: String,
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// Columns of A and rows of B (logical ones in sparse forms).
    pub k: usize,
    /// Format of A.
    pub a: &'static Format,
    /// Format of B.
    pub b: &'static Format,
    /// Format of C.
    pub c: &'static Format,
    /// Format of D.
    pub d: &'static Format,
    /// Block scale of A and B; `None` without one.
    pub scale: Option<Scale>,
    /// Structured sparsity of A; `None` if every element is stored.
    pub sparse: Option<Chunk>,
    /// True if integer overflow gives the largest number; else results wrap around.
    pub saturate: bool,
    /// True if the term of two bits is their exclusive or instead of their product.
    pub xor: bool,
    /// Kernel source that executes it on an NVIDIA GPU; `None` without one.
    pub kernel: Option<Kernel>,
    /// Targets that have it, in the order of [`targets::all`](super::targets::all).
    /// A user's instruction has none.
    pub support: &'static [Support],
}

/// Block scale: one code of `format` for `block` consecutive elements along k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Format of the scale codes.
    pub format: &'static Format,
    /// Elements along k that share a scale: logical ones in sparse forms, which store half as many of A.
    pub block: usize,
}

/// Structured sparsity of A: `kept` of `length` consecutive elements along k are stored.
///
/// They are stored in groups of `together` neighbours, in ascending order unless the instruction takes any. 16-bit and
/// 8-bit formats keep two of four, tf32 one of two, packed 4-bit formats two pairs of four pairs (PTX ISA, "Sparse
/// matrix storage").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Logical elements in a chunk.
    pub length: usize,
    /// Stored elements of a chunk.
    pub kept: usize,
    /// Neighbours that are kept or dropped together.
    pub together: usize,
    /// True if the groups of a chunk may be in any order: `mma.sp` without `::ordered_metadata`.
    pub any_order: bool,
}

impl Chunk {
    /// True if these are valid positions of the stored elements of whole chunks.
    /// In each chunk they are different and below its length, ascending unless any order is allowed, and consecutive
    /// for neighbours that are kept together.
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

    /// Rule of [`Chunk::allows`], in words.
    pub fn rule(&self) -> String {
        let order = if self.any_order { "different" } else { "ascending" };
        let pairs = if self.together > 1 { ", in neighbouring pairs" } else { "" };
        format!("{} {order} positions below {}{pairs}", self.kept, self.length)
    }
}

/// Instruction family with one kernel source (`kernels/*.cu`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// `mma.sync` and `mma.sp` with one fragment layout per operand: m16n8kK, m8n8kK.
    Mma,
    /// `mma.sync.m8n8k4` on f16: four independent tiles in a warp.
    Mma884,
    /// `wmma.mma`, with operands from shared memory.
    Wmma,
    /// `wgmma.mma_async`, dense and sparse.
    Wgmma,
}

impl Instruction {
    /// Family: the name up to the shape (`mma`, `mma.sp`, `wgmma`, `wmma`, `tcgen05`, `mfma`, ...).
    pub fn family(&self) -> &str {
        let is_shape = |part: &str| part.strip_prefix('m').unwrap_or(part).starts_with(|c: char| c.is_ascii_digit());
        let length = self.name.split('.').take_while(|part| !is_shape(part)).map(|part| part.len() + 1).sum::<usize>();
        &self.name[..length.saturating_sub(1)]
    }

    /// Size of the codes of one tile, A, B, C and D, in bytes.
    pub fn tile_bytes(&self) -> usize {
        operands(self).iter().map(|o| o.len() * o.format.bytes()).sum::<usize>() + self.m * self.n * self.d.bytes()
    }

    /// Two codes whose product is the term of `a` and `b`: themselves, or their exclusive or and 1.
    pub fn factors(&self, a: u64, b: u64) -> (u64, u64) {
        if self.xor { (a ^ b, 1) } else { (a, b) }
    }

    /// True if A is structured sparse.
    pub fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// Structured sparsity of A; `None` if every element is stored.
    pub fn chunk(&self) -> Option<Chunk> {
        self.sparse
    }

    /// Elements in a row of A: k, or the stored part in sparse forms.
    pub fn stored_k(&self) -> usize {
        self.chunk().map_or(self.k, |chunk| self.k / chunk.length * chunk.kept)
    }

    /// True if the name has this qualifier (`satfinite`, `rz`, `rs`, `col`, ...).
    pub fn has_qualifier(&self, qualifier: &str) -> bool {
        self.qualifiers().any(|q| q == qualifier)
    }

    /// Parts of the name after the operand formats.
    pub fn qualifiers(&self) -> impl Iterator<Item = &str> {
        let formats = if self.family().starts_with("wgmma") { 3 } else { 4 };
        self.name[self.family().len()..].trim_start_matches('.').split('.').skip(1 + formats)
    }

    /// Native or emulated support on an architecture (`sm_90a`, `gfx942`); `None` without any.
    pub fn support_on(&self, architecture: &str) -> Option<&'static Support> {
        self.support.iter().find(|s| s.architecture == architecture)
    }

    /// Architectures that have it, comma-separated.
    pub fn architectures(&self) -> String {
        self.support.iter().map(|s| s.architecture).collect::<Vec<_>>().join(", ")
    }

    /// True for an instruction of processors, which GPUs lack.
    pub fn is_of_processors(&self) -> bool {
        let of = |support: &Support| targets::find(support.architecture);
        self.support.iter().filter_map(of).any(|target| !target.processors.is_empty())
    }

    /// Reason why no GPU of this program executes the instruction; `None` if one that has it does.
    pub fn missing(&self) -> Option<&'static str> {
        match (self.kernel, self.scale) {
            (Some(_), _) => None,
            (None, None) if self.is_of_processors() => Some("it is an instruction of processors (device cpu)"),
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
    /// Name in the instruction table: the stem of the source file in `kernels/`.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Mma => "mma",
            Kernel::Mma884 => "mma884",
            Kernel::Wmma => "wmma",
            Kernel::Wgmma => "wgmma",
        }
    }

    /// Kernel with this name.
    pub(super) fn parse(name: &str) -> Option<Kernel> {
        [Kernel::Mma, Kernel::Mma884, Kernel::Wmma, Kernel::Wgmma].into_iter().find(|k| k.name() == name)
    }
}
