//! A product, made of products of parts.

use super::{Block, Promote, Register, Scheme, Sum, split::Parts};
use crate::{
    Result,
    base::parallel,
    device::Device,
    format,
    gemm::{self, Executor, Factors, Matrix, Schedule},
    isa::{Codes, Instruction},
};

/// The product that a scheme makes of A and B in parts, in f32 (of integers: s32), and the seconds that the device took for its sums, where it
/// sums all elements at once. `instructions`: one for each sum.
///
/// # Errors
/// Those of [`gemm::compute`].
pub(super) fn composed(
    scheme: &Scheme,
    instructions: &[Instruction],
    device: &mut dyn Device,
    a: &Parts,
    b: &Parts,
) -> Result<(Matrix, Option<f64>)> {
    let mut sums = Vec::with_capacity(scheme.sums.len());
    let mut seconds = Some(0.0);
    for (sum, instruction) in scheme.sums.iter().zip(instructions) {
        let (sum, own) = summed(sum, instruction, device, a, b)?;
        seconds = seconds.zip(own).map(|(seconds, own)| seconds + own);
        sums.push(sum);
    }
    Ok((combined(scheme, &sums, &a.exponents, &b.exponents), seconds))
}

/// One sum: the products of parts as one product along k, in which they take turns; and the seconds that it took.
fn summed(
    sum: &Sum,
    instruction: &Instruction,
    device: &mut dyn Device,
    a: &Parts,
    b: &Parts,
) -> Result<(Matrix, Option<f64>)> {
    let k = a.matrices[0].columns;
    let block = match sum.block {
        Block::Step => instruction.k,
        Block::Terms(terms) => terms.next_multiple_of(instruction.k),
        Block::All => k.next_multiple_of(instruction.k),
    };
    let mut schedule = Schedule::new(instruction.clone())?;
    schedule.promote = match sum.promote {
        Promote::Never => None,
        Promote::Step => Some(instruction.k),
        Promote::Block => Some(block * sum.products.len()),
    };
    let factors = match sum.products[..] {
        [(own, other)] => Factors::new(a.matrices[own].clone(), b.matrices[other].clone()),
        _ => {
            let turns = turns(k, block, instruction.k);
            let own = |which: &dyn Fn(&(usize, usize)) -> usize| sum.products.iter().map(which).collect::<Vec<_>>();
            let (rows, columns) = (own(&|product| product.0), own(&|product| product.1));
            Factors::new(beside(a, &rows, &turns), below(b, &columns, &turns))
        }
    };
    let mut executor = Executor::for_product(device, &schedule, &factors)?;
    let sum = gemm::compute(&schedule, &mut executor, &factors, &|_| ())?;
    Ok((sum, executor.seconds_of_sums()))
}

/// The blocks of k that products take in turn: where each begins, how many k it has, and how many zeros follow up to a whole step.
fn turns(k: usize, block: usize, step: usize) -> Vec<(usize, usize, usize)> {
    let turn = |from: usize| {
        let own = block.min(k - from);
        (from, own, own.next_multiple_of(step) - own)
    };
    (0..k).step_by(block).map(turn).collect()
}

/// Parts of A side by side: in every turn the columns of each.
fn beside(parts: &Parts, which: &[usize], turns: &[(usize, usize, usize)]) -> Matrix {
    let first = &parts.matrices[which[0]];
    let width = first.codes.width();
    let columns = which.len() * turns.iter().map(|(_, own, zeros)| own + zeros).sum::<usize>();
    let mut bytes = vec![0; first.rows * columns * width];
    parallel::each(bytes.chunks_mut(columns * width).enumerate(), |(row, line)| {
        let mut at = 0;
        for (from, own, zeros) in turns {
            for part in which {
                let matrix = &parts.matrices[*part];
                let given = &matrix.codes.as_bytes()[(row * matrix.columns + from) * width..][..own * width];
                line[at..at + given.len()].copy_from_slice(given);
                at += (own + zeros) * width;
            }
        }
    });
    Matrix::new(first.rows, columns, first.format, Codes::from_bytes(first.format, bytes).expect("whole codes"))
}

/// Parts of B one below the other: in every turn the rows of each.
fn below(parts: &Parts, which: &[usize], turns: &[(usize, usize, usize)]) -> Matrix {
    let first = &parts.matrices[which[0]];
    let line = first.codes.width() * first.columns;
    let rows = which.len() * turns.iter().map(|(_, own, zeros)| own + zeros).sum::<usize>();
    let mut bytes = Vec::with_capacity(rows * line);
    for (from, own, zeros) in turns {
        for part in which {
            bytes.extend_from_slice(&parts.matrices[*part].codes.as_bytes()[from * line..][..own * line]);
            bytes.resize(bytes.len() + zeros * line, 0);
        }
    }
    Matrix::new(rows, first.columns, first.format, Codes::from_bytes(first.format, bytes).expect("whole codes"))
}

/// The sums, each times its power of two, added in the register; then times that of the line of A and of the line of B.
fn combined(scheme: &Scheme, sums: &[Matrix], of_rows: &[i32], of_columns: &[i32]) -> Matrix {
    let (rows, columns) = (sums[0].rows, sums[0].columns);
    let scales: Vec<i32> = scheme.sums.iter().map(|sum| sum.scale).collect();
    let result = format::find(if scheme.is_integer() { "s32" } else { "f32" }).expect("a format of the table");
    let powers: Vec<f64> = scales.iter().map(|scale| 2f64.powi(*scale)).collect();
    let mut bytes = vec![0; rows * columns * 4];
    parallel::each(bytes.chunks_mut(columns * 4).enumerate(), |(row, line)| {
        for (column, code) in line.chunks_exact_mut(4).enumerate() {
            let at = row * columns + column;
            let own = match scheme.register {
                Register::Integer => {
                    let shifted = |(sum, scale): (&Matrix, &i32)| (sum.codes.get(at) as u32).checked_shl(*scale as u32);
                    sums.iter().zip(&scales).filter_map(shifted).fold(0, u32::wrapping_add)
                }
                register => {
                    let value = |(sum, power): (&Matrix, &f64)| {
                        let sum = sum.format.to_f64(sum.codes.get(at));
                        register.rounded(sum * power)
                    };
                    let values = sums.iter().zip(&powers).map(value);
                    let total = values.reduce(|total, own| register.rounded(total + own)).unwrap_or_default();
                    (total * 2f64.powi(of_rows[row] + of_columns[column])) as f32
                }
                .to_bits(),
            };
            code.copy_from_slice(&own.to_le_bytes());
        }
    });
    Matrix::new(rows, columns, result, Codes::from_bytes(result, bytes).expect("whole codes"))
}

impl Register {
    /// A number of f64 in the register. (The sum of two numbers of f32 that f64 has rounded rounds to the same f32.)
    fn rounded(self, x: f64) -> f64 {
        if self == Register::Single { f64::from(x as f32) } else { x }
    }
}
