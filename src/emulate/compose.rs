//! A product, made of products of parts.

use super::{PartSum, ProductTurn, Promote, Scheme, SumRegister, split::SplitMatrix};
use crate::{
    Result,
    base::parallel,
    device::Device,
    format,
    gemm::{self, Executor, Factors, Matrix, Schedule},
    isa::{Codes, Instruction},
};

/// The product of a scheme in f32 (integers: s32), with one instruction for each sum.
///
/// With it the seconds of the sums, where the device computes all elements at once.
pub(super) fn composed(
    scheme: &Scheme,
    instructions: &[Instruction],
    device: &mut dyn Device,
    a: &SplitMatrix,
    b: &SplitMatrix,
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

/// One sum, its products in turn along k as one product, and its seconds.
fn summed(
    sum: &PartSum,
    instruction: &Instruction,
    device: &mut dyn Device,
    a: &SplitMatrix,
    b: &SplitMatrix,
) -> Result<(Matrix, Option<f64>)> {
    let k = a.matrices[0].columns;
    let block = match sum.block {
        ProductTurn::Step => instruction.k,
        ProductTurn::Terms(terms) => terms.next_multiple_of(instruction.k),
        ProductTurn::All => k.next_multiple_of(instruction.k),
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

/// The blocks of k in turn: start, number of k, and number of zeros up to a whole step.
pub(crate) fn turns(k: usize, block: usize, step: usize) -> Vec<(usize, usize, usize)> {
    let turn = |from: usize| {
        let own = block.min(k - from);
        (from, own, own.next_multiple_of(step) - own)
    };
    (0..k).step_by(block).map(turn).collect()
}

/// Parts of A side by side: in every turn the columns of each.
pub(crate) fn beside(parts: &SplitMatrix, which: &[usize], turns: &[(usize, usize, usize)]) -> Matrix {
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
pub(crate) fn below(parts: &SplitMatrix, which: &[usize], turns: &[(usize, usize, usize)]) -> Matrix {
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

/// The sums, each times its power of two, added in the register, then scaled by lines of A and B.
fn combined(scheme: &Scheme, sums: &[Matrix], of_rows: &[i32], of_columns: &[i32]) -> Matrix {
    let (rows, columns) = (sums[0].rows, sums[0].columns);
    let scales: Vec<i32> = scheme.sums.iter().map(|sum| sum.scale).collect();
    let result = format::find(if scheme.is_integer() { "s32" } else { "f32" }).expect("a format of the table");
    let powers: Vec<f64> = scales.iter().map(|scale| 2f64.powi(*scale)).collect();
    let of_columns: Vec<f64> = of_columns.iter().map(|exponent| 2f64.powi(*exponent)).collect();
    let mut bytes = vec![0; rows * columns * 4];
    parallel::each(bytes.chunks_mut(columns * 4).enumerate(), |(row, line)| {
        if scheme.register == SumRegister::Integer {
            for (column, code) in line.as_chunks_mut().0.iter_mut().enumerate() {
                let at = row * columns + column;
                let shifted = |(sum, scale): (&Matrix, &i32)| (sum.codes.get(at) as u32).checked_shl(*scale as u32);
                *code = sums.iter().zip(&scales).filter_map(shifted).fold(0, u32::wrapping_add).to_le_bytes();
            }
            return;
        }
        let (mut totals, mut own) = (vec![0.0; columns], vec![0.0; columns]);
        for (number, (sum, power)) in sums.iter().zip(&powers).enumerate() {
            values(sum, row, &mut own);
            for (total, own) in totals.iter_mut().zip(&own) {
                let own = scheme.register.rounded(own * power);
                *total = if number == 0 { own } else { scheme.register.rounded(*total + own) };
            }
        }
        // Products of powers of two, and far from the ends of the range of f64.
        let of_row = 2f64.powi(of_rows[row]);
        for ((total, of_column), code) in totals.iter().zip(&of_columns).zip(line.as_chunks_mut().0) {
            *code = ((total * (of_row * of_column)) as f32).to_le_bytes();
        }
    });
    Matrix::new(rows, columns, result, Codes::from_bytes(result, bytes).expect("whole codes"))
}

/// The values of a row of a sum.
fn values(sum: &Matrix, row: usize, values: &mut [f64]) {
    let words = sum.codes.as_bytes()[row * sum.columns * sum.codes.width()..].as_chunks().0;
    match sum.format.name {
        "f32" => values.iter_mut().zip(words).for_each(|(value, word)| *value = f64::from(f32::from_le_bytes(*word))),
        "s32" => values.iter_mut().zip(words).for_each(|(value, word)| *value = f64::from(i32::from_le_bytes(*word))),
        _ => values.iter_mut().enumerate().for_each(|(column, value)| {
            *value = sum.format.to_f64(sum.codes.get(row * sum.columns + column));
        }),
    }
}

impl SumRegister {
    /// A number of f64 in the register. A sum of two f32 numbers, rounded to f64, rounds to the same f32.
    fn rounded(self, x: f64) -> f64 {
        if self == SumRegister::Single { f64::from(x as f32) } else { x }
    }
}
