//! Whole matrix products by a GPU instruction: all elements at once, step by step along k.

use std::{ops::Range, time::Instant};

use cudarc::driver::{DriverError, PushKernelArg};

use super::{
    chains::{ProductOperands, StepList, packing},
    fragments::{Fragment, Fragments},
    launch::{codes, grid},
    specialise::with_entry,
};
use crate::{
    Result,
    device::{Chains, ProductShape},
    format,
    isa::{Codes, Instruction, Kernel},
    kernels::source,
};

/// Tiles of a warp, down and across.
const TILES: (usize, usize) = (4, 4);
/// Warps of a block, down and across.
const WARPS: (usize, usize) = (2, 4);
/// Threads of a warp.
const LANES: usize = 32;

/// Entry names of the kernel.
pub(super) const ENTRIES: [&str; 3] = ["pack_a", "pack_b", "products"];

/// Generates the kernel that sums the steps of `instruction`.
/// `None` unless it is a dense `mma.sync` whose C and D have one format; promotion also needs f32.
pub fn kernel(instruction: &Instruction, promoted: bool) -> Option<String> {
    let i = instruction;
    if i.kernel != Some(Kernel::Mma)
        || i.is_sparse()
        || i.scale.is_some()
        || i.c != i.d
        || promoted && i.d.name != "f32"
    {
        return None;
    }
    let sizes = [("DOWN", TILES.0), ("ACROSS", TILES.1), ("WARPS_DOWN", WARPS.0), ("WARPS_ACROSS", WARPS.1)];
    let sizes = sizes.into_iter().chain([("PROMOTED", promoted.into())]);
    let defined: String = sizes.map(|(name, value)| format!("#define {name} {value}\n")).collect();
    with_entry(i, "products", &(defined + source("products.cu"))).map(|kernel| kernel.source)
}

/// A product by an instruction.
pub(super) struct CudaProducts {
    /// The operands and the kernel.
    pub operands: ProductOperands,
    /// The instruction.
    pub instruction: Instruction,
    /// True if runs are promoted.
    pub promoted: bool,
    /// Seconds that the sums have taken.
    pub seconds: f64,
}

impl Chains for CudaProducts {
    fn sum(&mut self, runs: &[Vec<Range<usize>>], promoted: bool) -> Result<Codes> {
        assert!(promoted == self.promoted && (promoted || runs.len() == 1), "the kernel's way to promote");
        let bytes = self.launch(runs).map_err(|error| self.operands.failure(&self.instruction, &error))?;
        codes(if promoted { format::find("f32")? } else { self.instruction.d }, bytes)
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl CudaProducts {
    /// Launches the kernels and returns the bytes of the sums.
    #[allow(unsafe_code)]
    fn launch(&mut self, runs: &[Vec<Range<usize>>]) -> std::result::Result<Vec<u8>, DriverError> {
        let ProductOperands { stream, functions: [pack_a, pack_b, products], shape, a, b } = &self.operands;
        let (ProductShape { m, n, k }, i) = (*shape, &self.instruction);
        let StepList { spans, ends } = StepList::of(runs);
        let count = spans.len() as u64 / 2;
        // Tiles are padded to whole blocks.
        let (tiles_down, tiles_across) = (WARPS.0 * TILES.0, WARPS.1 * TILES.1);
        let (blocks_down, blocks_across) = (m.div_ceil(tiles_down * i.m), n.div_ceil(tiles_across * i.n));
        let fragments = Fragments::new(i, Kernel::Mma);
        let registers = |tiles: usize, of: &Fragment| (tiles * LANES * of.registers) as u64 * count;
        let registers_of_a = registers(blocks_down * tiles_down, &fragments.a);
        let registers_of_b = registers(blocks_across * tiles_across, &fragments.b);
        let bytes = |registers: u64, of: &Fragment| registers as usize * of.bits().max(32) / 8;
        let (spans, ends) = (stream.clone_htod(&spans)?, stream.clone_htod(&ends)?);
        // SAFETY: `pack_a` and `pack_b` write all that `products` reads.
        let memory = |bytes: usize| unsafe { stream.alloc::<u8>(bytes.max(1)) };
        let mut packed_a = memory(bytes(registers_of_a, &fragments.a))?;
        let mut packed_b = memory(bytes(registers_of_b, &fragments.b))?;
        let mut d = stream.alloc_zeros::<u8>(m * n * i.d.bytes())?;
        let (rows, columns, terms) = (m as u64, n as u64, k as u64);
        stream.synchronize()?;
        let started_at = Instant::now();
        let mut launch = stream.launch_builder(pack_a);
        launch.arg(a).arg(&spans).arg(&count).arg(&rows).arg(&terms).arg(&mut packed_a).arg(&registers_of_a);
        // SAFETY: the kernel reads m x k codes, within each step's range, and writes the registers of each lane, step
        // and tile of whole blocks; the memory has that size.
        unsafe { launch.launch(packing(registers_of_a as usize))? };
        let mut launch = stream.launch_builder(pack_b);
        launch.arg(b).arg(&spans).arg(&count).arg(&columns).arg(&mut packed_b).arg(&registers_of_b);
        // SAFETY: as above, with k x n codes and columns.
        unsafe { launch.launch(packing(registers_of_b as usize))? };
        let count_of_runs = runs.len() as u64;
        let shape = grid((blocks_down * blocks_across) as u32, (WARPS.0 * WARPS.1 * LANES) as u32);
        let mut launch = stream.launch_builder(products);
        launch.arg(&packed_a).arg(&packed_b).arg(&ends).arg(&count_of_runs).arg(&rows).arg(&columns).arg(&mut d);
        // SAFETY: the kernel reads the packed registers of whole blocks, and writes m x n codes of D; the memory has
        // that size.
        unsafe { launch.launch(shape)? };
        stream.synchronize()?;
        self.seconds += started_at.elapsed().as_secs_f64();
        stream.clone_dtoh(&d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn dense_forms_of_mma_sync_with_one_accumulator_have_a_kernel() {
        let has = |name: &str, promoted| kernel(&isa::find(name).unwrap(), promoted).is_some();
        assert!(has("mma.m16n8k16.f32.f16.f16.f32", false) && has("mma.m16n8k32.f32.e4m3.e4m3.f32", true));
        assert!(!has("mma.m16n8k16.f16.f16.f16.f16", true) && has("mma.m16n8k16.f16.f16.f16.f16", false));
        assert!(!has("wgmma.m64n8k16.f32.f16.f16", false) && !has("mma.sp.m16n8k16.f32.f16.f16.f32", false));
    }
}
