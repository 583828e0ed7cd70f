//! Fast evaluator: a program compiled into integer operations on many elements of D at a time.
//!
//! A tile's operands are decoded once. Pieces of D (eight columns of two rows, or sixteen of one) are summed with one
//! vector lane for each element. Eight pieces are then rounded, and decoded for the next step, together. Sums take the
//! narrowest of 32, 64 and 128 bits that holds them; 32-bit sums use products in binary32, which holds them exactly.
//!
//! It agrees with the reference evaluator in every bit. The reference computes single elements with a product near the
//! limit beyond which it is infinite, exact sums over more than 120 bits, NaNs that keep their payload, and infinities
//! and NaNs that the operands decide, or that do not follow IEEE 754. It also runs programs with operands or D in binary64 other than chains of fused
//! multiply-adds, sums of more than 128 bits, and alignments in which zeros count or are flipped. Registers of more than 32 bits are
//! rounded to one element at a time. Programs of fused multiply-adds and additions in
//! binary32 alone are computed in the host's binary64.

mod across;
mod cases;
mod codes;
mod compile;
mod decoder;
mod double;
mod elements;
mod encoder;
mod floating;
mod fused;
mod integer;
mod kernel;
mod narrow;
mod number;
mod pieces;
mod product;
mod register;
mod scale;
mod single;
mod specials;
mod stage;
mod step;
mod terms;
mod tile;
mod values;
mod word;

use double::{Double, chains};
use kernel::FastKernel;
use single::{Single, SingleTile, singles};
use specials::OperandSpecials;
use tile::{DecodedTile, Shape};

use super::Program;
use crate::isa::{CodesView, Tiles};

/// Compiled arithmetic of one instruction.
#[derive(Debug, Clone)]
pub(super) struct FastArithmetic {
    shape: Shape,
    compiled: Lowered,
    /// Operands that decide infinities and NaNs before the first operation.
    specials: Option<OperandSpecials>,
}

#[derive(Debug, Clone)]
enum Lowered {
    Kernel(Box<FastKernel>),
    Double(Double),
    Single(Single),
}

/// Storage of one thread for its tiles.
#[derive(Debug, Default)]
pub(super) struct Scratch(DecodedTile, SingleTile);

impl FastArithmetic {
    /// `None` if the fast evaluator does not support the program.
    pub(super) fn new(program: &Program) -> Option<FastArithmetic> {
        if program.unpack.iter().any(|unpack| unpack.zeros) {
            return None;
        }
        let usual = program.has_usual_specials();
        let specials = match (&program.specials, usual) {
            (None, true) => None,
            _ => Some(OperandSpecials::new(&program.instruction)?),
        };
        let hosts = (Double::new(program).filter(|_| usual), Single::new(program).filter(|_| usual));
        let compiled = match hosts {
            (Some(double), _) => Lowered::Double(double),
            (None, Some(single)) => Lowered::Single(single),
            (None, None) => Lowered::Kernel(Box::new(FastKernel::new(program)?)),
        };
        Some(FastArithmetic { shape: Shape::new(&program.instruction), compiled, specials })
    }

    /// Number of tiles that are computed together.
    pub(super) fn together(&self) -> usize {
        match &self.compiled {
            Lowered::Kernel(kernel) if self.specials.is_none() && kernel.takes_cases(&self.shape) => cases::TOGETHER,
            _ => 1,
        }
    }

    /// Computes the D bytes of up to [`FastArithmetic::together`] tiles of one element, from `first` on.
    /// Operands are the codes of A, B and C of all tiles. `reference` gives the code of a tile that this evaluator does
    /// not compute.
    pub(super) fn cases(
        &self,
        operands: [CodesView; 3],
        first: usize,
        scratch: &mut Scratch,
        d: &mut [u8],
        reference: impl Fn(usize) -> u64,
    ) {
        let Lowered::Kernel(kernel) = &self.compiled else { unreachable!("tiles that are computed together") };
        scratch.0.run_cases(kernel, &self.shape, operands, first, d);
        let width = self.shape.width;
        for &at in &scratch.0.unknown {
            d[at * width..][..width].copy_from_slice(&reference(first + at).to_le_bytes()[..width]);
        }
    }

    /// Computes the bytes of the D codes `[m][n]` of a tile.
    /// `reference` gives the code of an element that this evaluator does not compute.
    pub(super) fn tile(
        &self,
        tiles: &Tiles,
        tile: usize,
        scratch: &mut Scratch,
        d: &mut [u8],
        reference: impl Fn(usize) -> u64,
    ) {
        match &self.compiled {
            Lowered::Kernel(kernel) => scratch.0.run(kernel, &self.shape, tiles, tile, d),
            Lowered::Double(double) => chains(double, tiles, tile, d, &mut scratch.0.unknown),
            // It computes every element.
            Lowered::Single(single) => {
                scratch.0.unknown.clear();
                singles(single, tiles, tile, &mut scratch.1, d);
            }
        }
        if let Some(specials) = &self.specials {
            specials.elements(tiles, tile, &mut scratch.0.unknown);
        }
        let width = self.shape.width;
        for &at in &scratch.0.unknown {
            d[at * width..][..width].copy_from_slice(&reference(at).to_le_bytes()[..width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{FastArithmetic, Scratch};
    use crate::{
        arithmetic::{ElementaryOperation, Model, Program},
        base::vectors::{FORCED, Vectors},
        format,
        inputs::stream,
        isa::{self, Instruction},
        machine::amount,
    };

    #[test]
    fn tiles_of_every_shape_give_the_results_of_the_reference() {
        for (model, name) in [
            ("hopper", "mma.m16n8k16.f32.f16.f16.f32"),
            ("hopper", "mma.sp.m16n8k16.f16.f16.f16.f16"),
            ("hopper", "mma.m16n8k16.s32.s8.u8.s32.satfinite"),
        ] {
            let instruction = isa::find(name).unwrap();
            let evaluator = Model::load(model).unwrap().evaluator(&instruction).unwrap();
            for (m, n) in [1, 2, 3, 5].into_iter().flat_map(|m| [1, 7, 8, 9, 16, 17, 24].map(|n| (m, n))) {
                let i = Instruction { m, n, ..instruction.clone() };
                let program = Program { instruction: i.clone(), ..evaluator.program().clone() };
                let fast = FastArithmetic::new(&program).expect("a program that the fast evaluator has");
                let tiles = stream::tiles(&i, 1, 0, 3);
                for tile in 0..tiles.count {
                    let dot = |at: usize| evaluator.dot(&tiles.case(&i, tile, at / n, at % n));
                    let expected: Vec<u8> =
                        (0..m * n).flat_map(|at| dot(at).to_le_bytes()[..i.d.bytes()].to_vec()).collect();
                    let mut d = vec![0; expected.len()];
                    fast.tile(&tiles, tile, &mut Scratch::default(), &mut d, dot);
                    assert!(d == expected, "{name} as {m} x {n}, tile {tile}");
                }
            }
        }
    }

    #[test]
    fn tiles_of_one_element_give_the_results_of_the_reference() {
        for (model, name) in [
            ("hopper", "mma.m16n8k16.f32.f16.f16.f32"),
            ("hopper", "mma.m16n8k8.f16.f16.f16.f16"),
            ("hopper", "mma.m16n8k8.f32.tf32.tf32.f32"),
            ("hopper", "mma.m16n8k16.f32.bf16.bf16.f32"),
            ("volta", "mma.m8n8k4.f32.f16.f16.f32"),
            ("hopper", "wgmma.m64n8k32.f32.e4m3.e5m2"),
            ("hopper", "mma.m16n8k32.f32.e4m3.e5m2.f32"),
            ("hopper", "mma.m16n8k16.s32.s8.u8.s32.satfinite"),
            ("hopper", "mma.m8n8k128.s32.b1.b1.s32.xor.popc"),
            ("hopper", "mma.sp.m16n8k16.f16.f16.f16.f16"),
            ("hopper", "mma.m8n8k4.f64.f64.f64.f64"),
            ("blackwell", "tcgen05.m128n16k32.f32.e4m3.e4m3.f32"),
            ("x86", "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"),
            ("cdna3", "mfma.16x16x32.f32.e4m3fnuz.e5m2fnuz.f32"),
        ] {
            let instruction = isa::find(name).unwrap();
            let i = Instruction { m: 1, n: 1, ..instruction.clone() };
            let evaluator = Model::load(model).unwrap().evaluator(&i).unwrap();
            for count in [1, 15, 16, 17, 128, 129, amount(400, 3000)] {
                let mut tiles = stream::tiles(&instruction, 1, 0, count).resized(&instruction, &i);
                tiles.count = count;
                let expected: Vec<u64> = (0..count).map(|tile| evaluator.dot(&tiles.case(&i, tile, 0, 0))).collect();
                for vectors in Vectors::all() {
                    FORCED.set(Some(vectors));
                    let d = evaluator.execute_here(&tiles);
                    FORCED.set(None);
                    let arrays: Vec<(&str, &[u8])> =
                        tiles.arrays().map(|(name, codes)| (name, codes.as_bytes())).collect();
                    let mut bytes = vec![0; d.as_bytes().len()];
                    evaluator.execute_into(&arrays, &mut bytes);
                    assert!(bytes == d.as_bytes(), "{name}, {count} tiles of arrays");
                    let codes: Vec<u64> = (0..count).map(|tile| d.get(tile)).collect();
                    assert_eq!(codes, expected, "{name}, {count} tiles");
                }
            }
        }
    }

    /// Operands and c as numbers of wider formats, also with factors that lack low bits.
    #[test]
    fn numbers_of_wider_formats_give_the_results_of_the_reference() {
        for (name, wider, wider_c) in [
            ("mma.m16n8k16.f32.f16.f16.f32", Some("f32"), Some("f64")),
            ("mma.m16n8k16.f32.f16.f16.f32", Some("f64"), None),
            ("mma.m16n8k16.f32.bf16.bf16.f32", Some("f64"), Some("f64")),
            ("mma.m16n8k8.f16.f16.f16.f16", Some("tf32"), Some("f32")),
            ("mma.m16n8k32.f32.e4m3.e5m2.f32", Some("bf16"), None),
            ("mma.m16n8k32.f32.e4m3.e5m2.f32", Some("f64"), Some("f64")),
            ("wgmma.m64n8k32.f32.e4m3.e4m3", None, Some("f64")),
            ("wgmma.m64n8k32.f16.e5m2.e5m2", Some("f64"), Some("f64")),
        ] {
            let i = Instruction { m: 2, n: 8, ..isa::find(name).unwrap() };
            let hopper = Model::load("hopper").unwrap();
            let mut program = hopper.evaluator(&i).unwrap().program().clone();
            let [wider, wider_c] = [wider, wider_c].map(|name| name.map(|name| format::find(name).unwrap()));
            program.unpack[0].wider = wider.or(program.unpack[0].wider);
            program.unpack[1].wider = program.unpack[0].wider;
            program.unpack[2].wider = wider_c;
            let precision = wider.and_then(|format| format.float()).map_or(0, |float| float.precision());
            for lacking in [0, precision.saturating_sub(2)] {
                for step in &mut program.steps {
                    if let ElementaryOperation::Multiply(multiply) = &mut step.operation {
                        multiply.factors.iter_mut().for_each(|factors| factors.a = u64::MAX << lacking);
                    }
                }
                let fast = FastArithmetic::new(&program).expect("a program that the fast evaluator has");
                let tiles = stream::tiles(&i, 1, 0, amount(60, 2000));
                let left = Cell::new(0);
                for tile in 0..tiles.count {
                    let dot = |at: usize| program.dot(&tiles.case(&i, tile, at / i.n, at % i.n));
                    let expected: Vec<u8> =
                        (0..i.m * i.n).flat_map(|at| dot(at).to_le_bytes()[..i.d.bytes()].to_vec()).collect();
                    let mut d = vec![0; expected.len()];
                    let reference = |at| {
                        left.set(left.get() + 1);
                        dot(at)
                    };
                    fast.tile(&tiles, tile, &mut Scratch::default(), &mut d, reference);
                    assert!(d == expected, "{name} with {wider:?} and {wider_c:?} without {lacking} bits, tile {tile}");
                }
                let all = tiles.count * i.m * i.n;
                assert!(left.get() * 8 < all, "{name}: {} of {all} elements without a result", left.get());
            }
        }
    }

    #[test]
    fn every_set_of_vector_instructions_gives_the_results_of_the_reference() {
        let sets = Vectors::all();
        for (model, name) in [
            ("hopper", "mma.m16n8k16.f32.f16.f16.f32"),
            ("hopper", "mma.m16n8k8.f16.f16.f16.f16"),
            ("hopper", "mma.m16n8k8.f32.tf32.tf32.f32"),
            ("hopper", "mma.m16n8k32.f32.e4m3.e5m2.f32"),
            ("hopper", "mma.m8n8k4.f32.f16.f16.f32"),
            ("hopper", "mma.m8n8k4.f64.f64.f64.f64"),
            ("hopper", "mma.m16n8k16.s32.s8.u8.s32.satfinite"),
            ("x86", "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32"),
            ("x86", "vdpbf16ps.m1n16k2.f32.bf16.bf16.f32"),
            ("x86", "vfmadd.m1n16k1.f32.f32.f32.f32"),
            ("x86", "vfmadd.m1n32k1.f16.f16.f16.f16"),
            ("x86", "vpdpwssds.m1n16k2.s32.s16.s16.s32"),
            ("cdna3", "mfma.32x32x2.f32.f32.f32.f32"),
        ] {
            let i = isa::find(name).unwrap();
            let evaluator = Model::load(model).unwrap().evaluator(&i).unwrap();
            let fast = FastArithmetic::new(evaluator.program()).expect("a program that the fast evaluator has");
            let tiles = stream::tiles(&i, 1, 0, 30);
            let each = i.m * i.n;
            for tile in 0..tiles.count {
                let dot = |at: usize| evaluator.dot(&tiles.case(&i, tile, at / i.n, at % i.n));
                let expected: Vec<u8> =
                    (0..each).flat_map(|at| dot(at).to_le_bytes()[..i.d.bytes()].to_vec()).collect();
                for &set in &sets {
                    FORCED.set(Some(set));
                    let mut d = vec![0; each * i.d.bytes()];
                    fast.tile(&tiles, tile, &mut Scratch::default(), &mut d, dot);
                    FORCED.set(None);
                    assert!(d == expected, "{name} tile {tile} {set:?}");
                }
            }
        }
    }
}
