//! The fast evaluator: a plan compiled into integer operations on many elements of D at a time.
//!
//! It agrees with the reference evaluator in every bit. What it does not compute is left to that: every element
//! with an infinity or a NaN among its operands or intermediate results, and plans with formats of more than 32 bits or
//! sums of more than 128.

mod chain;
mod fused;
mod kernel;
mod number;
mod pieces;
mod scale;
mod stage;
mod step;
mod terms;
mod tile;
mod word;

use kernel::Kernel;
use tile::{Shape, Tile};

use super::Plan;
use crate::isa::Tiles;

/// The arithmetic of one instruction, compiled.
#[derive(Debug, Clone)]
pub(super) struct Fast {
    kernel: Kernel,
    shape: Shape,
}

/// Storage that one thread needs for its tiles.
#[derive(Debug, Default)]
pub(super) struct Scratch(Tile);

impl Fast {
    /// `None` if the plan needs what the fast evaluator does not have.
    pub(super) fn new(plan: &Plan) -> Option<Fast> {
        Some(Fast { kernel: Kernel::new(plan)?, shape: Shape::new(&plan.instruction) })
    }

    /// The bytes of the D codes `[m][n]` of a tile; `reference` gives the code of an element that is left to it.
    pub(super) fn tile(
        &self,
        tiles: &Tiles,
        tile: usize,
        scratch: &mut Scratch,
        d: &mut [u8],
        reference: impl Fn(usize) -> u64,
    ) {
        let i = &self.shape;
        let width = i.width;
        run(&mut scratch.0, &self.kernel, i, tiles, tile, d);
        for &at in &scratch.0.void {
            d[at * width..][..width].copy_from_slice(&reference(at).to_le_bytes()[..width]);
        }
    }
}

/// Runs a tile with the vector instructions of this machine.
#[allow(unsafe_code)]
fn run(scratch: &mut Tile, kernel: &Kernel, i: &Shape, tiles: &Tiles, tile: usize, d: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,bmi1,bmi2,lzcnt")]
        fn avx512(scratch: &mut Tile, kernel: &Kernel, i: &Shape, tiles: &Tiles, tile: usize, d: &mut [u8]) {
            scratch.run(kernel, i, tiles, tile, d);
        }
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
        fn avx2(scratch: &mut Tile, kernel: &Kernel, i: &Shape, tiles: &Tiles, tile: usize, d: &mut [u8]) {
            scratch.run(kernel, i, tiles, tile, d);
        }
        let scalars =
            is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("lzcnt");
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512cd");
        if wide && scalars {
            // SAFETY: this machine has every instruction set that the function is compiled for.
            return unsafe { avx512(scratch, kernel, i, tiles, tile, d) };
        }
        if is_x86_feature_detected!("avx2") && scalars {
            // SAFETY: as above.
            return unsafe { avx2(scratch, kernel, i, tiles, tile, d) };
        }
    }
    scratch.run(kernel, i, tiles, tile, d);
}
