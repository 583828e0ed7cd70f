//! Execution of a compiled kernel over tiles.

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtrMut, DriverError, LaunchConfig, PushKernelArg, result,
};

use super::specialise::Specialised;
use crate::{
    Error, Result,
    format::Format,
    isa::{Codes, Instruction, Tiles, operands},
};

/// GPU memory of one launch's tiles, at most, in bytes.
const CHUNK_BYTES: usize = 256 << 20;

/// Bytes of the output before a launch, so that an unwritten element does not pass for a result.
const POISON: u8 = 0xa5;

/// A null pointer, as a kernel's argument.
const NULL: u64 = 0;

/// A loaded kernel and its launch parameters.
pub(super) struct Launcher {
    /// Stream of all work.
    pub stream: Arc<CudaStream>,
    /// Entry of the kernel.
    pub function: CudaFunction,
    /// Block of the kernel.
    pub kernel: Specialised,
    /// Blocks of a launch, at most.
    pub blocks: u32,
}

impl Launcher {
    /// Executes `instruction` once per tile, in chunks of bounded memory.
    ///
    /// # Errors
    /// A request error if the tiles are another instruction's; a device error says how many tiles were answered before
    /// the GPU failed.
    pub(super) fn run(&self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        check(instruction, tiles)?;
        let arrays = [Some(&tiles.a), Some(&tiles.b), Some(&tiles.c), tiles.positions.as_ref()];
        let bytes = arrays.map(|codes| codes.map_or(&[][..], Codes::as_bytes));
        let per_tile = bytes.map(|bytes| bytes.len() / tiles.count.max(1));
        let d_bytes = instruction.m * instruction.n * instruction.d.bytes();
        let chunk = (CHUNK_BYTES / (per_tile.iter().sum::<usize>() + d_bytes)).clamp(1, tiles.count.max(1));
        let mut answered = Vec::with_capacity(tiles.count * d_bytes);
        for first in (0..tiles.count).step_by(chunk) {
            let count = chunk.min(tiles.count - first);
            let inputs = std::array::from_fn(|at| &bytes[at][first * per_tile[at]..][..count * per_tile[at]]);
            let d = self.launch(inputs, count, count * d_bytes).map_err(|error| {
                Error::device(format!("{instruction} failed after {first} of {} tiles: {error}", tiles.count))
            })?;
            answered.extend_from_slice(&d);
        }
        codes(instruction.d, answered)
    }

    /// Launches the kernel on the bytes of A, B, C and positions (none for dense forms); returns D's.
    #[allow(unsafe_code)]
    fn launch(&self, inputs: [&[u8]; 4], count: usize, d_bytes: usize) -> std::result::Result<Vec<u8>, DriverError> {
        let [a, b, c] = [inputs[0], inputs[1], inputs[2]].map(|bytes| self.stream.clone_htod(bytes));
        let (a, b, c) = (a?, b?, c?);
        let positions = (!inputs[3].is_empty()).then(|| self.stream.clone_htod(inputs[3])).transpose()?;
        let mut d = self.poisoned(d_bytes)?;
        let tiles = count as u64;
        let blocks = tiles.div_ceil(self.kernel.tiles_per_block.into()).clamp(1, self.blocks.into()) as u32;
        let mut launch = self.stream.launch_builder(&self.function);
        launch.arg(&a).arg(&b).arg(&c);
        match &positions {
            Some(positions) => launch.arg(positions),
            None => launch.arg(&NULL),
        };
        launch.arg(&mut d).arg(&tiles);
        // SAFETY: the kernel takes five pointers and a count. It accesses `tiles` whole tiles of each operand
        // (positions in sparse forms only); `check` ensures that the operands hold as many, and D has that length.
        unsafe { launch.launch(grid(blocks, self.kernel.threads))? };
        let bytes = self.stream.clone_dtoh(&d)?;
        self.stream.synchronize()?;
        Ok(bytes)
    }

    /// Allocates `bytes` of GPU memory, filled with poison.
    #[allow(unsafe_code)]
    fn poisoned(&self, bytes: usize) -> std::result::Result<CudaSlice<u8>, DriverError> {
        // SAFETY: the memory is written in full before anything reads it.
        let mut memory = unsafe { self.stream.alloc::<u8>(bytes)? };
        {
            let (pointer, _guard) = memory.device_ptr_mut(&self.stream);
            // SAFETY: the pointer and the length come from the allocation above, on the same stream.
            unsafe { result::memset_d8_async(pointer, POISON, bytes, self.stream.cu_stream())? };
        }
        Ok(memory)
    }
}

/// The shape of a launch in one dimension.
pub(super) fn grid(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}

/// Makes D from the bytes that the GPU returned.
///
/// # Errors
/// A device error if the last code is incomplete.
pub(super) fn codes(format: &'static Format, bytes: Vec<u8>) -> Result<Codes> {
    Codes::from_bytes(format, bytes).ok_or_else(|| Error::device("the GPU answered a part of a code"))
}

/// Checks that the operands have the lengths and code sizes that the kernel reads.
fn check(i: &Instruction, tiles: &Tiles) -> Result<()> {
    for operand in operands(i) {
        let (each, width) = (operand.len(), operand.format.bytes());
        let codes = tiles.arrays().find(|(name, _)| *name == operand.name).map(|(_, codes)| codes);
        let (len, found_width) = codes.map_or((0, width), |codes| (codes.len(), codes.width()));
        if found_width != width || Some(len) != tiles.count.checked_mul(each) {
            return Err(Error::request(format!(
                "{} has {len} codes of {found_width} bytes, but {} tiles of {i} take {each} codes of {width} bytes each",
                operand.name.to_ascii_uppercase(),
                tiles.count,
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn tiles_of_another_instruction_are_refused() {
        let k8 = isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap();
        let k16 = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
        let tf32 = isa::find("mma.m16n8k8.f32.tf32.tf32.f32").unwrap();
        let tiles = Tiles::zeros(&k8, 3);
        assert_eq!(check(&k8, &tiles), Ok(()));
        for other in [k16, tf32] {
            assert_eq!(check(&other, &tiles).unwrap_err().exit_status(), 2);
        }
        let short = Tiles { count: 4, ..tiles };
        assert!(check(&k8, &short).unwrap_err().to_string().contains("A has 384 codes"));
    }
}
