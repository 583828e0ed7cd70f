//! Running a compiled kernel over tiles.

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtrMut, DriverError, LaunchConfig, PushKernelArg, result,
};

use super::specialise::Specialised;
use crate::{
    Error, Result,
    isa::{Codes, Instruction, Tiles},
};

/// GPU memory that one launch may take for its tiles.
const CHUNK_BYTES: usize = 256 << 20;

/// What the output holds before a launch, so that an element that no thread wrote does not pass for a result.
const POISON: u8 = 0xa5;

/// A kernel, loaded, and how to launch it.
pub struct Launcher {
    /// The stream that everything runs on.
    pub stream: Arc<CudaStream>,
    /// The kernel's entry.
    pub function: CudaFunction,
    /// Its block.
    pub kernel: Specialised,
    /// The most blocks that a launch has.
    pub blocks: u32,
}

impl Launcher {
    /// Executes `instruction` once per tile, in chunks of bounded memory.
    ///
    /// # Errors
    /// A request error if the tiles are not this instruction's; a device error that says how many tiles were
    /// answered before the GPU failed.
    pub fn run(&self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        check(instruction, tiles)?;
        let per_tile = [&tiles.a, &tiles.b, &tiles.c].map(|codes| codes.as_bytes().len() / tiles.count.max(1));
        let d_bytes = instruction.m * instruction.n * instruction.d.bytes();
        let chunk = (CHUNK_BYTES / (per_tile.iter().sum::<usize>() + d_bytes)).clamp(1, tiles.count.max(1));
        let mut answered = Vec::with_capacity(tiles.count * d_bytes);
        for first in (0..tiles.count).step_by(chunk) {
            let count = chunk.min(tiles.count - first);
            let part = |codes: &Codes, each: usize| codes.as_bytes()[first * each..(first + count) * each].to_vec();
            let inputs = [part(&tiles.a, per_tile[0]), part(&tiles.b, per_tile[1]), part(&tiles.c, per_tile[2])];
            let d = self.launch(&inputs, count, count * d_bytes).map_err(|error| {
                Error::device(format!("{instruction} failed after {first} of {} tiles: {error}", tiles.count))
            })?;
            answered.extend_from_slice(&d);
        }
        Codes::from_bytes(instruction.d, answered)
            .ok_or_else(|| Error::device(format!("{instruction} answered a part of a code")))
    }

    /// One launch: the bytes of D for the bytes of A, B and C.
    #[allow(unsafe_code)]
    fn launch(&self, inputs: &[Vec<u8>; 3], count: usize, d_bytes: usize) -> std::result::Result<Vec<u8>, DriverError> {
        let [a, b, c] = [&inputs[0], &inputs[1], &inputs[2]].map(|bytes| self.stream.clone_htod(bytes));
        let (a, b, c) = (a?, b?, c?);
        let mut d = self.poisoned(d_bytes)?;
        let tiles = count as u64;
        let blocks = count.div_ceil(self.kernel.tiles_per_block as usize).min(self.blocks as usize).max(1) as u32;
        let shape =
            LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (self.kernel.threads, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernel takes four pointers and a count; it reads and writes `tiles` whole tiles of each, and
        // `check` has made sure that A, B and C hold as many, as D does by its length here.
        unsafe {
            self.stream.launch_builder(&self.function).arg(&a).arg(&b).arg(&c).arg(&mut d).arg(&tiles).launch(shape)?;
        }
        let bytes = self.stream.clone_dtoh(&d)?;
        self.stream.synchronize()?;
        Ok(bytes)
    }

    /// `bytes` of GPU memory, filled with poison.
    #[allow(unsafe_code)]
    fn poisoned(&self, bytes: usize) -> std::result::Result<CudaSlice<u8>, DriverError> {
        // SAFETY: the memory is written in full before anything reads it.
        let mut memory = unsafe { self.stream.alloc::<u8>(bytes)? };
        {
            let (pointer, _guard) = memory.device_ptr_mut(&self.stream);
            // SAFETY: the pointer and the length are those of the allocation above, on the same stream.
            unsafe { result::memset_d8_async(pointer, POISON, bytes, self.stream.cu_stream())? };
        }
        Ok(memory)
    }
}

/// Makes sure that the operands have the lengths and code sizes that the kernel will read.
fn check(i: &Instruction, tiles: &Tiles) -> Result<()> {
    let operands = [("A", &tiles.a, i.a, i.m * i.k), ("B", &tiles.b, i.b, i.k * i.n), ("C", &tiles.c, i.c, i.m * i.n)];
    for (operand, codes, format, each) in operands {
        let wanted = tiles.count.checked_mul(each);
        if codes.width() != format.bytes() || Some(codes.len()) != wanted {
            return Err(Error::request(format!(
                "{operand} has {} codes of {} bytes, but {} tiles of {i} take {each} codes of {} bytes each",
                codes.len(),
                codes.width(),
                tiles.count,
                format.bytes()
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
