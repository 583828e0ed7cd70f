//! Products of small integers, exact modulo 2^32: what every order of wrapping additions gives.
//!
//! A model whose sums of integers wrap computes in Z / 2^32, where addition is associative. Sums are taken in f32 as long as they are
//! below 2^24, where f32 has all integers, and are then added as integers.

use crate::{
    arithmetic::{ElementaryOperation, Model, Wrap},
    base::{parallel, vectors::vectorised},
    isa::Instruction,
    product::{Matrix, ProductShape},
};

/// Columns of D that are summed side by side.
const LANES: usize = 16;
/// Rows of D that are summed side by side.
const ROWS: usize = 4;
/// f32 has all integers up to this one.
const LARGEST_SUM: usize = 1 << 24;

/// True if a model's sums of an instruction are exact modulo 2^32.
pub(super) fn wraps(model: &Model, i: &Instruction) -> bool {
    let plain = i.d.bits == 32 && i.d.is_integer() && i.c == i.d && !i.saturate && !i.xor && !i.is_sparse();
    plain
        && i.scale.is_none()
        && model.program(i).is_ok_and(|program| {
            program.factors() == [i.a, i.b]
                && program.addend() == i.c
                && program.operations().all(|operation| match operation {
                    ElementaryOperation::Integer(sum) => sum.wrap == Wrap::Wrap && sum.bits == 32,
                    _ => false,
                })
        })
}

/// The product of two matrices of integers of up to 8 bits, row by row, modulo 2^32.
pub(super) fn product(a: &Matrix, b: &Matrix) -> Vec<i32> {
    let numbers = |matrix: &Matrix| {
        let known: Vec<f32> = (0..=matrix.format.code_mask()).map(|code| matrix.format.to_f64(code) as f32).collect();
        matrix.codes.as_bytes().iter().map(|code| known[usize::from(*code)]).collect::<Vec<f32>>()
    };
    let largest = |matrix: &Matrix| {
        1usize << (matrix.format.bits - u32::from(matrix.format.to_f64(matrix.format.code_mask()) < 0.0))
    };
    let block = (LARGEST_SUM / (largest(a) * largest(b))).max(1);
    let shape = ProductShape { m: a.rows, n: b.columns, k: a.columns };
    summed(&numbers(a), &numbers(b), shape, block)
}

/// The product of two matrices of bytes, of this shape, modulo 2^32.
pub(super) fn bytes_product(a: &[i8], b: &[i8], shape: ProductShape) -> Vec<i32> {
    let numbers = |bytes: &[i8]| bytes.iter().map(|x| f32::from(*x)).collect::<Vec<f32>>();
    summed(&numbers(a), &numbers(b), shape, LARGEST_SUM / (128 * 128))
}

/// The product of integers, of which sums of `block` products are at most 2^24.
fn summed(a: &[f32], b: &[f32], shape: ProductShape, block: usize) -> Vec<i32> {
    let ProductShape { m: rows, n: columns, k } = shape;
    let panels: Vec<usize> = (0..columns).step_by(LANES).collect();
    let of_panel = |column: &usize| {
        let width = LANES.min(columns - column);
        let panel: Vec<[f32; LANES]> = (0..k)
            .map(|row| {
                let mut lanes = [0.0; LANES];
                lanes[..width].copy_from_slice(&b[row * columns + column..][..width]);
                lanes
            })
            .collect();
        let mut sums = vec![[0i32; LANES]; rows];
        for (at, sums) in sums.chunks_mut(ROWS).enumerate() {
            let line = |row: usize| &a[(at * ROWS + row.min(sums.len() - 1)) * k..][..k];
            let lines: [&[f32]; ROWS] = std::array::from_fn(line);
            for from in (0..k).step_by(block) {
                let to = k.min(from + block);
                let mut block_sums = [[0f32; LANES]; ROWS];
                add(&lines.map(|line| &line[from..to]), &panel[from..to], &mut block_sums);
                for (sums, block_sums) in sums.iter_mut().zip(&block_sums) {
                    // Integers up to 2^24 in magnitude.
                    sums.iter_mut().zip(block_sums).for_each(|(sum, addend)| *sum = sum.wrapping_add(*addend as i32));
                }
            }
        }
        sums
    };
    let summed = parallel::map(&panels, of_panel);
    let mut all = vec![0; rows * columns];
    for (column, sums) in panels.iter().zip(summed) {
        let width = LANES.min(columns - column);
        for (row, sums) in sums.iter().enumerate() {
            all[row * columns + column..][..width].copy_from_slice(&sums[..width]);
        }
    }
    all
}

vectorised! {
    /// Adds the products of rows of A and a panel of B.
    fn add(lines: &[&[f32]; 4], panel: &[[f32; 16]], sums: &mut [[f32; 16]; 4]) {
        // Copies, each by its name: registers hold them.
        let [mut first, mut second, mut third, mut fourth] = *sums;
        let [a, b, c, d] = *lines;
        for ((((a, b), c), d), line) in a.iter().zip(b).zip(c).zip(d).zip(panel) {
            for (lane, y) in line.iter().enumerate() {
                first[lane] += a * y;
                second[lane] += b * y;
                third[lane] += c * y;
                fourth[lane] += d * y;
            }
        }
        *sums = [first, second, third, fourth];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::{Device, ModelDevice},
        format, isa,
        product::{self, Executor, Factors, Schedule},
    };

    /// A matrix of random codes, many of them extreme.
    fn codes(name: &str, rows: usize, columns: usize, seed: u64) -> Matrix {
        let format = format::find(name).unwrap();
        let code = |at: usize| {
            let x = (seed ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
            let extreme = [0x80, 0x7f, 0xff, 0][x as usize % 4];
            (if x & 64 == 0 { extreme } else { x >> 8 }) & format.code_mask()
        };
        Matrix::of_values(rows, columns, format, &(0..rows * columns).map(code).collect::<Vec<_>>())
    }

    #[test]
    fn the_plain_product_is_the_models_product_step_by_step() {
        for (model, instruction) in [
            ("ampere", "mma.m16n8k32.s32.s8.s8.s32"),
            ("hopper", "mma.m16n8k32.s32.s8.u8.s32"),
            ("turing", "mma.m8n8k16.s32.u8.u8.s32"),
            ("cdna3", "mfma.32x32x16.s32.s8.s8.s32"),
        ] {
            let instruction = isa::find(instruction).unwrap();
            let mut device = ModelDevice::open(model).unwrap();
            assert!(wraps(device.model().unwrap(), &instruction), "{model}");
            for (rows, k, columns) in [(1, 1, 1), (3, 40, 5), (17, 1500, 33), (6, 3000, 64)] {
                let a = codes(instruction.a.name, rows, k, 1 + k as u64);
                let b = codes(instruction.b.name, k, columns, 2 + k as u64);
                let schedule = Schedule::new(instruction.clone()).unwrap();
                let factors = Factors::new(a.clone(), b.clone());
                let mut executor = Executor::of(&mut device, &schedule, rows, columns).unwrap();
                let by_steps = product::compute(&schedule, &mut executor, &factors, &|_| ()).unwrap();
                let by_steps: Vec<i32> = by_steps.codes.iter().map(|code| code as i32).collect();
                assert_eq!(product(&a, &b), by_steps, "{model}: {rows} x {columns} x {k}");
            }
        }
    }

    #[test]
    fn sums_beyond_s32_wrap_as_the_units_do() {
        let k = 140_000;
        let [a, b] = [(1, k), (k, 1)]
            .map(|(rows, columns)| Matrix::of_values(rows, columns, format::find("s8").unwrap(), &vec![0x80; k]));
        let exact = 128i64 * 128 * k as i64;
        assert!(i32::try_from(exact).is_err());
        assert_eq!(product(&a, &b), [exact as i32]);
    }

    #[test]
    fn other_sums_are_not_taken_for_wrapping_ones() {
        let hopper = ModelDevice::open("hopper").unwrap();
        for name in ["mma.m16n8k16.f32.f16.f16.f32", "mma.m8n8k128.s32.b1.b1.s32"] {
            if let Ok(instruction) = isa::find(name) {
                assert!(!wraps(hopper.model().unwrap(), &instruction), "{name}");
            }
        }
    }
}
