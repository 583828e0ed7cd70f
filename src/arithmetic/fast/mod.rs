//! The fast evaluator: a plan compiled into integer operations on many elements of D at a time.
//!
//! It agrees with the reference evaluator in every bit. What it does not compute is left to that: every element
//! with an infinity or a NaN among its operands or intermediate results, and plans with formats of more than 32 bits or
//! sums of more than 128.

mod chain;
mod double;
mod floating;
mod fused;
mod integer;
mod kernel;
mod number;
mod pieces;
mod scale;
mod stage;
mod step;
mod terms;
mod tile;
mod word;

use double::Double;
use kernel::Kernel;
use tile::{Shape, Tile};

use super::Plan;
use crate::isa::Tiles;

/// The arithmetic of one instruction, compiled.
#[derive(Debug, Clone)]
pub(super) struct Fast {
    shape: Shape,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Kernel(Box<Kernel>),
    Double(Double),
}

/// Storage that one thread needs for its tiles.
#[derive(Debug, Default)]
pub(super) struct Scratch(Tile);

impl Fast {
    /// `None` if the plan needs what the fast evaluator does not have.
    pub(super) fn new(plan: &Plan) -> Option<Fast> {
        let kind = match Double::new(plan) {
            Some(double) => Kind::Double(double),
            None => Kind::Kernel(Box::new(Kernel::new(plan)?)),
        };
        Some(Fast { shape: Shape::new(&plan.instruction), kind })
    }

    /// The bytes of the D codes `[m][n]` of a tile; `reference` gives the code of an element that is left to it.
    #[allow(unsafe_code)]
    pub(super) fn tile(
        &self,
        tiles: &Tiles,
        tile: usize,
        scratch: &mut Scratch,
        d: &mut [u8],
        reference: impl Fn(usize) -> u64,
    ) {
        match vectors() {
            // SAFETY: this machine has the instruction set.
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => unsafe { self.avx512(tiles, tile, &mut scratch.0, d) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => unsafe { self.avx2(tiles, tile, &mut scratch.0, d) },
            Vectors::Portable => self.portable(tiles, tile, &mut scratch.0, d),
        }
        let width = self.shape.width;
        for &at in &scratch.0.unknown {
            d[at * width..][..width].copy_from_slice(&reference(at).to_le_bytes()[..width]);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma,bmi1,bmi2,lzcnt")]
    fn avx512(&self, tiles: &Tiles, tile: usize, scratch: &mut Tile, d: &mut [u8]) {
        self.portable(tiles, tile, scratch, d);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt")]
    fn avx2(&self, tiles: &Tiles, tile: usize, scratch: &mut Tile, d: &mut [u8]) {
        self.portable(tiles, tile, scratch, d);
    }

    #[inline(always)]
    fn portable(&self, tiles: &Tiles, tile: usize, scratch: &mut Tile, d: &mut [u8]) {
        match &self.kind {
            Kind::Kernel(kernel) => scratch.run(kernel, &self.shape, tiles, tile, d),
            Kind::Double(double) => double.run(tiles, tile, d, &mut scratch.unknown),
        }
    }
}

/// Vector instructions that the evaluator is compiled for.
enum Vectors {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// The widest that this machine has.
fn vectors() -> Vectors {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512cd");
        match (avx2, avx512) {
            (true, true) => return Vectors::Avx512,
            (true, false) => return Vectors::Avx2,
            _ => {}
        }
    }
    Vectors::Portable
}
