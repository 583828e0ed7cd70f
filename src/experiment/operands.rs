//! Operands and products for every kind of instruction: dense, with block scales, with a sparse A.

use super::ProductFigure;
use crate::{
    Result,
    base::{interrupt, parallel, work},
    chain::{block_format, has_known_scales},
    device::Device,
    format::{Format, block::Quantizer, find},
    inputs::random,
    isa::{Chunk, Codes, Instruction, Scale, Tiles},
    product::{Executor, Factors, Matrix, ProductShape, Schedule, Values, compute, draw},
};

/// Everything that decides the operands of a product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OperandKey {
    formats: [&'static Format; 3],
    scale: Option<Scale>,
    sparse: Option<Chunk>,
    shape: ProductShape,
    values: Values,
    seed: u64,
}

impl OperandKey {
    /// The operands of an instruction with k terms.
    pub(super) fn new(i: &Instruction, figure: &ProductFigure, k: usize, seed: u64) -> OperandKey {
        OperandKey {
            formats: [i.a, i.b, i.d],
            scale: i.scale,
            sparse: i.chunk(),
            shape: ProductShape { m: figure.rows, n: figure.columns, k },
            values: figure.values,
            seed,
        }
    }
}

/// True if an instruction makes products: its D fits C, and its scales belong to a block format.
pub(super) fn makes_products(i: &Instruction) -> bool {
    has_known_scales(i) && !(i.is_sparse() && i.scale.is_some()) && Schedule::new(dense(i)).is_ok()
}

fn dense(i: &Instruction) -> Instruction {
    Instruction { sparse: None, ..i.clone() }
}

/// Drawn operands with k terms: A, B and their scales; a sparse A with its zeros.
pub(super) fn drawn(i: &Instruction, figure: &ProductFigure, k: usize, seed: u64) -> Result<Factors> {
    let seeds = [0, 1].map(|which| random(seed, (k as u64) << 1 | which));
    let mut factors = match i.scale {
        Some(_) => block_factors(i, figure, k, seeds)?,
        None => Factors::new(
            draw(figure.rows, k, i.a, i.d, figure.values, seeds[0]),
            draw(k, figure.columns, i.b, i.d, figure.values, seeds[1]),
        ),
    };
    if i.is_sparse() {
        leave_out(i, &mut factors.a);
    }
    Ok(factors)
}

/// The product of drawn operands on a device.
pub(super) fn product(
    device: &mut dyn Device,
    i: &Instruction,
    promote: Option<usize>,
    factors: &Factors,
) -> Result<Matrix> {
    if i.is_sparse() {
        return sparse(device, i, factors);
    }
    let schedule = Schedule { promote, ..Schedule::new(i.clone())? };
    let mut executor = Executor::of(device, &schedule, factors.a.rows, factors.b.columns)?;
    compute(&schedule, &mut executor, factors, &|_| ())
}

/// The exact product, element by element: to about 100 bits as the sum of two numbers of f64.
pub(super) fn exact(i: &Instruction, factors: &Factors) -> Result<Vec<[f64; 2]>> {
    let (rows, columns, k) = (factors.a.rows, factors.b.columns, factors.k());
    let block = i.scale.map_or(1, |scale| scale.block);
    // Significands of elements and scales are short enough for exact products of both.
    let one = |scales: &Option<Matrix>, row: usize, column: usize| {
        scales.as_ref().map_or(1.0, |matrix| matrix.value(row, column))
    };
    let of_row = |row: usize| -> Vec<f64> {
        (0..k).map(|at| factors.a.value(row, at) * one(&factors.scale_a, row, at / block)).collect()
    };
    let of_column = |column: usize| -> Vec<f64> {
        (0..k).map(|at| factors.b.value(at, column) * one(&factors.scale_b, at / block, column)).collect()
    };
    let (left, right) = (parallel::map(0..rows, of_row), parallel::map(0..columns, of_column));
    let wide = [i.a, i.b].iter().any(|format| format.fraction_bits() > 25);
    work::map(0..rows * columns, |at| {
        let (mut high, mut low) = (0.0, 0.0);
        for (x, y) in left[at / columns].iter().zip(&right[at % columns]) {
            let product = x * y;
            // The sum and its rounding error (Knuth).
            let sum: f64 = high + product;
            let other = sum - high;
            low += (high - (sum - other)) + (product - other);
            if wide {
                low += x.mul_add(*y, -product);
            }
            high = sum;
        }
        let total = high + low;
        Ok([total, low - (total - high)])
    })
}

/// Numbers of f32 in the blocks of the instruction's formats, along k.
fn block_factors(i: &Instruction, figure: &ProductFigure, k: usize, seeds: [u64; 2]) -> Result<Factors> {
    let single = find("f32")?;
    let blocks = |lines: usize, format, seed: u64| {
        let drawn = draw(lines, k, single, i.d, figure.values, seed);
        let values: Vec<f32> = drawn.codes.iter().map(|code| f32::from_bits(code as u32)).collect();
        let block = block_format(i, format).expect("makes products");
        // The instruction knows no scale of the tensor.
        let tensor_scale = block.tensor_scale.map(|_| 1.0);
        let blocks = Quantizer { tensor_scale, ..Quantizer::new(block) }.quantize(&values, k);
        let matrix = |columns: usize, format, codes: Vec<u8>| {
            Matrix::new(lines, columns, format, Codes::from_bytes(format, codes).expect("a code is a byte"))
        };
        // Scales of instructions have at most 8 bits.
        let codes = blocks.scales.iter().map(|code| *code as u8).collect();
        let scales = matrix(k.div_ceil(block.length), block.scale, codes);
        (matrix(k, block.element.format, blocks.elements), scales)
    };
    let ((a, scale_a), (b, scale_b)) = (blocks(figure.rows, i.a, seeds[0]), blocks(figure.columns, i.b, seeds[1]));
    Ok(Factors { scale_a: Some(scale_a), scale_b: Some(scale_b.transposed()), ..Factors::new(a, b.transposed()) })
}

/// Clears the elements that a sparse A does not store: all but the first of each chunk.
fn leave_out(i: &Instruction, a: &mut Matrix) {
    let Some(chunk) = i.chunk() else { return };
    for at in (0..a.codes.len()).filter(|at| at % a.columns % chunk.length >= chunk.kept) {
        a.codes.set(at, 0);
    }
}

/// The product by a sparse instruction, ascending k; D is the C of the next step.
fn sparse(device: &mut dyn Device, i: &Instruction, factors: &Factors) -> Result<Matrix> {
    let (rows, columns, k) = (factors.a.rows, factors.b.columns, factors.k());
    let (high, wide) = (rows.div_ceil(i.m), columns.div_ceil(i.n));
    let chunk = i.chunk().expect("a sparse instruction");
    let stored = i.stored_k();
    device.prepare(i)?;
    let mut tiles = Tiles::zeros(i, high * wide);
    for first in (0..k).step_by(i.k) {
        interrupt::check()?;
        for tile in 0..high * wide {
            let (top, left) = (tile / wide * i.m, tile % wide * i.n);
            for row in 0..i.m {
                for at in 0..stored {
                    let index = first + at / chunk.kept * chunk.length + at % chunk.kept;
                    let code = if top + row < rows && index < k { factors.a.get(top + row, index) } else { 0 };
                    tiles.a.set((tile * i.m + row) * stored + at, code);
                }
            }
            for at in 0..i.k {
                for column in 0..i.n {
                    let inside = left + column < columns && first + at < k;
                    let code = if inside { factors.b.get(first + at, left + column) } else { 0 };
                    tiles.b.set((tile * i.k + at) * i.n + column, code);
                }
            }
        }
        tiles.c = device.execute(i, &tiles)?;
    }
    let place = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        ((row / i.m * wide + column / i.n) * i.m + row % i.m) * i.n + column % i.n
    };
    let codes: Vec<u64> = (0..rows * columns).map(|at| tiles.c.get(place(at))).collect();
    Ok(Matrix::of_values(rows, columns, i.d, &codes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::ModelDevice, gemm::accuracy, isa, product::Values, product::reference::Yardstick};

    /// Small sums are nearly exact with any instruction, if the operands are placed as they were drawn.
    #[test]
    fn products_by_dense_scaled_and_sparse_instructions_are_near_the_exact_ones() {
        let figure = ProductFigure {
            rows: 3,
            columns: 11,
            values: Values::Normal,
            k: vec![64],
            lines: Vec::new(),
            every_rule: false,
        };
        for (model, name) in [
            ("ampere", "mma.m16n8k16.f32.f16.f16.f32"),
            ("ampere", "mma.m8n8k4.f64.f64.f64.f64"),
            ("ampere", "mma.sp.m16n8k32.f32.f16.f16.f32"),
            ("ampere", "mma.sp.m16n8k16.f32.tf32.tf32.f32"),
            ("blackwell-rtx", "mma.m16n8k32.f32.e4m3.e5m2.f32.ue8m0.block32"),
            ("blackwell-rtx", "mma.m16n8k64.f32.e2m1.e2m1.f32.ue4m3.block16"),
        ] {
            let i = match isa::find(name) {
                Ok(i) => i,
                // Scales are spelled in several ways.
                Err(_) => isa::all().iter().find(|i| i.scale.is_some() && makes_products(i)).unwrap().clone(),
            };
            assert!(makes_products(&i), "{name}");
            let mut device = ModelDevice::open(model).unwrap();
            let factors = drawn(&i, &figure, 64, 5).unwrap();
            let d = product(&mut device, &i, None, &factors).unwrap();
            let zeros = (0..64).filter(|k| factors.a.value(0, *k) == 0.0).count();
            assert!(if i.is_sparse() { zeros >= 32 } else { zeros < 32 }, "{name}: {zeros}");
            let schedule = Schedule::new(dense(&i)).unwrap();
            let accuracies = accuracy(&schedule, &factors, &d).unwrap();
            let by_mpfr = accuracies.iter().find(|accuracy| accuracy.yardstick == Yardstick::Exact).unwrap();
            assert_eq!(by_mpfr.elements, 33, "{name}");
            assert!(by_mpfr.absolute.maximum().unwrap() < 1e-2, "{name}: {by_mpfr:?}");
            let errors = exact(&i, &factors).unwrap();
            let errors =
                errors.iter().enumerate().map(|(at, [high, low])| ((d.value(at / 11, at % 11) - high) - low).abs());
            let mean = errors.sum::<f64>() / 33.0;
            let expected = by_mpfr.absolute.mean().unwrap();
            assert!((mean - expected).abs() <= 1e-12 * expected, "{name}: {mean:e}, {expected:e}");
            assert!((0..33).any(|at| d.value(at / 11, at % 11).abs() > 1.0), "{name}");
        }
    }
}
