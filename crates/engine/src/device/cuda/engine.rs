//! Verification on the GPU: operands, instruction, model and comparison in one kernel.

use std::{fmt::Write, ops::Range, sync::Arc};

use cudarc::driver::{CudaFunction, CudaStream, DriverError, PushKernelArg};

use super::{
    arithmetic::arithmetic,
    launch::grid,
    specialise::{Specialised, with_entry},
};
use crate::{
    Error, Result,
    arithmetic::Program,
    device::{Count, Engine, Mismatch, Spot, Verified},
    format::{Format, Overflow, Rounding},
    inputs::Sequence,
    isa::{Instruction, Kernel},
    kernels::source,
};

/// [`inputs::stream`](crate::inputs::stream) in CUDA C++.
/// It follows the definitions that specialise a kernel: M, N, K, STORED_K and the format records FormatA, FormatB,
/// FormatC and FormatD; for block-scaled forms also FormatScale and SCALE_BLOCK.
pub const STREAM: &[&str] = &[source("stream_tile.cuh"), source("stream_regimes.cuh"), source("stream.cuh")];

/// Regimes that the kernel counts separately.
const REGIMES: usize = 16;

/// Differing outputs that a launch lists, at most; a tile has at most as many (m64n256 has 16384).
const PLACES: usize = 1 << 14;

/// Words before the list.
const COUNTS: usize = 2 * REGIMES + 1;
/// Words of the result.
const WORDS: usize = COUNTS + 3 * PLACES;

/// Shared memory of a kernel by default, less room for counts and alignment.
const SHARED_BYTES: usize = (48 << 10) - (2 << 10);

/// Generates the kernel that verifies `program` on the operands of `sequence`.
/// `None` if no kernel executes the instruction, or if its tiles exceed shared memory.
pub fn verifier(program: &Program, sequence: Sequence) -> Option<Specialised> {
    let i = &program.instruction;
    let arithmetic = arithmetic(program);
    let operands = match sequence {
        Sequence::Random { .. } => [STREAM, &[source("random.cuh")]].concat().join("\n"),
        Sequence::Multiply { position } => exhaustive(i, position),
    };
    let entry = source("verify.cu");
    with_entry(i, "verify", &format!("#define PLACES {PLACES}\n{arithmetic}\n{operands}\n{entry}"))
        .filter(|kernel| kernel.tiles_per_block as usize * workspace_bytes(i) <= SHARED_BYTES)
}

/// Shared memory for one tile: codes, factors, and the scratch memory of some families.
fn workspace_bytes(i: &Instruction) -> usize {
    let scratch = match i.kernel {
        Some(Kernel::Wgmma) => (i.m * i.stored_k() * packed(i.a) + i.k * i.n * packed(i.b)) / 8,
        Some(Kernel::Wmma) => i.tile_bytes(),
        _ => 0,
    };
    // As in `kernels/model_operands.cuh`: single bits need no factors.
    let factor = match (i.a.bits, i.b.bits) {
        (1, 1) => 0,
        _ if i.d.is_integer() => 2,
        _ => 8,
    };
    i.tile_bytes() + scratch + factor * (i.m * i.stored_k() + i.k * i.n)
}

/// Bits of a code in the shared memory of `wgmma`.
fn packed(format: &Format) -> usize {
    if format.bits == 1 { 1 } else { 8 * format.bytes() }
}

fn exhaustive(i: &Instruction, position: usize) -> String {
    let mut text = format!("#define POSITION {position}\n");
    for (name, format) in [("A", i.a), ("B", i.b)] {
        let padding = padding(format);
        let _ = write!(text, "#define {name}_CODES {}\n#define {name}_PADDING {padding}\n", format.bits - padding);
    }
    if let Some(scale) = i.scale {
        let one = scale.format.encode_f64(1.0, Rounding::Rne, Overflow::Standard).expect("scales can be 1");
        let _ = writeln!(text, "#define SCALE_ONE {one:#x}");
    }
    text + source("exhaustive.cuh")
}

fn padding(format: &Format) -> u32 {
    format.float().map_or(0, |float| float.padding_bits)
}

/// A loaded verifier.
pub(super) struct CudaEngine {
    /// Stream of all work.
    pub stream: Arc<CudaStream>,
    /// Entry of the kernel.
    pub function: CudaFunction,
    /// Block of the kernel.
    pub kernel: Specialised,
    /// Blocks of a launch, at most.
    pub blocks: u32,
    /// The instruction.
    pub instruction: Instruction,
    /// The operands.
    pub sequence: Sequence,
}

impl Engine for CudaEngine {
    fn run(&mut self, tiles: Range<u64>) -> Result<Verified> {
        let count = tiles.end.saturating_sub(tiles.start);
        let words = self.launch(tiles.start, count).map_err(|error| {
            Error::device(format!("{}: verifying tiles {tiles:?} failed: {error}", self.instruction))
        })?;
        let verified = self.verified(&words);
        let asked = count * (self.instruction.m * self.instruction.n) as u64;
        match verified.compared() == asked {
            true => Ok(verified),
            false => Err(Error::device(format!(
                "{}: the GPU compared {} outputs of {asked}",
                self.instruction,
                verified.compared()
            ))),
        }
    }
}

impl CudaEngine {
    /// Launches the kernel, and returns the words of its result.
    #[allow(unsafe_code)]
    fn launch(&self, first: u64, tiles: u64) -> std::result::Result<Vec<u64>, DriverError> {
        let seed = match self.sequence {
            Sequence::Random { seed } => seed,
            Sequence::Multiply { .. } => 0,
        };
        let mut result = self.stream.alloc_zeros::<u64>(WORDS)?;
        let blocks = tiles.div_ceil(self.kernel.tiles_per_block.into()).clamp(1, self.blocks.into()) as u32;
        // SAFETY: the kernel takes three words and a pointer to WORDS words, the length of `result`.
        unsafe {
            self.stream
                .launch_builder(&self.function)
                .arg(&seed)
                .arg(&first)
                .arg(&tiles)
                .arg(&mut result)
                .launch(grid(blocks, self.kernel.threads))?;
        }
        let words = self.stream.clone_dtoh(&result)?;
        self.stream.synchronize()?;
        Ok(words)
    }

    fn verified(&self, words: &[u64]) -> Verified {
        let (m, n) = (self.instruction.m as u64, self.instruction.n as u64);
        let count = |regime: usize| Count { compared: words[regime], differing: words[REGIMES + regime] };
        let listed = (words[COUNTS - 1] as usize).min(PLACES);
        let mismatch = |&[place, device, model]: &[u64; 3]| {
            let element = place % (m * n);
            let spot = Spot { tile: place / (m * n), row: (element / n) as u32, column: (element % n) as u32 };
            Mismatch { spot, device, model }
        };
        Verified {
            regimes: (0..self.sequence.regimes().len()).map(count).collect(),
            mismatches: words[COUNTS..].as_chunks().0[..listed].iter().map(mismatch).collect(),
        }
    }
}
