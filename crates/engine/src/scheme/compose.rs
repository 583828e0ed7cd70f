//! A product, made of products of parts.

use std::ops::Range;

use super::{
    Emulated, Fallback, OperandSplit, PartSum, ProductTurn, Promote, Scheme, SchemeUnit, Slices, SumRegister, fallback,
    integer_product,
    moduli::Reconstruction,
    split::{SplitMatrix, taken_apart},
};
use crate::{
    Error, Result,
    base::parallel,
    device::Device,
    format::{self, Finite, Format, Overflow, Real, Rounding},
    isa::{Codes, Instruction},
    product::{self, Executor, Factors, Matrix, NumberMatrix, ProductOperands, ProductShape, Schedule},
};

/// The product of A and B by a scheme on a device, in the format that it emulates (of integers: s32).
///
/// # Errors
/// The errors of the device.
pub fn product(
    scheme: &Scheme,
    unit: &SchemeUnit,
    device: &mut dyn Device,
    a: &NumberMatrix,
    b: &NumberMatrix,
) -> Result<Matrix> {
    products(scheme, unit, device, &ProductOperands::new(a.clone(), b.clone()))
}

/// D = alpha A B + beta C by a scheme on a device; the products of a batch are stacked as A is.
///
/// # Errors
/// A request error: matrices that do not fit, or operands that the scheme does not take; the errors of the device.
pub fn products(
    scheme: &Scheme,
    unit: &SchemeUnit,
    device: &mut dyn Device,
    operands: &ProductOperands,
) -> Result<Matrix> {
    composed_products(scheme, &unit.instructions, device, operands, operands.shape().m).map(|(product, ..)| product)
}

/// Refuses terms that a sum of integers in the unit may not hold.
///
/// # Errors
/// A request error: how many terms there are, and how many there may be.
pub fn check_terms(scheme: &Scheme, k: usize) -> Result<()> {
    match scheme.most_terms().filter(|most| k as u64 > *most) {
        Some(most) => Err(Error::request(format!(
            "k = {k}: the sums of {} in {} are exact up to k = {most}; cut k into products of that many terms",
            scheme.name, scheme.accumulator
        ))),
        None => Ok(()),
    }
}

/// The products by a scheme, their seconds, and the number of products of parts.
///
/// `m` is the number of rows of each whole product, of which the operands may have some.
pub fn composed_products(
    scheme: &Scheme,
    instructions: &[Instruction],
    device: &mut dyn Device,
    operands: &ProductOperands,
    m: usize,
) -> Result<(Matrix, Option<f64>, usize)> {
    operands.fit()?;
    scheme.fit_operands(operands)?;
    let ProductOperands { a, b, alpha, batch, .. } = operands;
    let ProductShape { m: rows, n, .. } = operands.shape();
    let result = |values: &[f64]| of_doubles(rows * batch, n, values);
    if *alpha == 0.0 && scheme.takes_addend() {
        let values: Vec<f64> = operands.addend().into_iter().map(|addend| alpha.mul_add(0.0, addend)).collect();
        return Ok((result(&values), None, 0));
    }
    let finite = || [a, b].iter().all(|matrix| matrix.values.iter().all(|x| x.is_finite()));
    if scheme.fallback != Fallback::Nan && !finite() {
        return Ok((result(&fallback::products(scheme.fallback, operands, m)?), None, 0));
    }
    if let OperandSplit::Slices(Slices { bits, dynamic: Some(dynamic), .. }) = &scheme.a {
        // One count for all products of a batch.
        let of_product = |at: usize| {
            let (a, b) = operands.product(at);
            needed_bits(&a, &b, dynamic.block)
        };
        let needed = (0..*batch).map(of_product).max().expect("a batch has products");
        if needed > i64::from(dynamic.most) {
            return Ok((result(&fallback::products(scheme.fallback, operands, m)?), None, 0));
        }
        let count = ((needed + 1).max(1) as usize).div_ceil(*bits as usize);
        let scheme = scheme.with_count(count)?;
        let instructions = vec![instructions[0].clone(); scheme.sums.len()];
        return composed_products(&scheme, &instructions, device, operands, m);
    }
    if scheme.parts.is_none() && !scheme.takes_addend() {
        let (x, y) = scheme.split(a, b)?;
        let (d, seconds) = composed(scheme, instructions, device, &x, &y, a.columns)?;
        return Ok((d, seconds, scheme.products()));
    }
    let mut totals = operands.addend();
    let (mut seconds, mut products) = (Some(0.0), 0);
    for (at, totals) in totals.chunks_mut(rows * n).enumerate() {
        let (a, b) = operands.product(at);
        let whole_k = || std::iter::once(0..a.columns).collect::<Vec<Range<usize>>>();
        let ranges =
            scheme.parts.map_or_else(whole_k, |parts| parts.ranges(ProductShape { m, n, k: a.columns }, *batch));
        let terms = scheme.parts.map_or(a.columns, |parts| parts.terms(ranges.len(), a.columns));
        for range in ranges {
            products += scheme.products();
            let (x, y) = scheme.split(&a.of_columns(&range), &b.of_rows(&range))?;
            let (d, part_seconds) = composed(scheme, instructions, device, &x, &y, terms)?;
            seconds = seconds.zip(part_seconds).map(|(seconds, part_seconds)| seconds + part_seconds);
            // The first part is added to beta C, or to zero, which has no sign.
            let values = d.codes.iter().map(f64::from_bits);
            totals.iter_mut().zip(values).for_each(|(total, value)| *total = alpha.mul_add(value, *total));
        }
    }
    Ok((result(&totals), seconds, products))
}

/// A matrix of numbers of f64.
pub(super) fn of_doubles(rows: usize, columns: usize, values: &[f64]) -> Matrix {
    let double = format::find("f64").expect("a format of the table");
    let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    Matrix::new(rows, columns, double, Codes::from_bytes(double, bytes).expect("whole codes"))
}

/// The bits that operands need: see [`DynamicSlices`](super::DynamicSlices).
fn needed_bits(a: &NumberMatrix, b: &NumberMatrix, block: usize) -> i64 {
    // Below all exponents: a zero among numbers, and a block of zeros.
    const ZERO: i64 = -4195;
    const ZEROS: i64 = -8191;
    let exponent = |x: f64| match taken_apart(x) {
        (_, 0, _) => ZERO,
        (_, significand, exponent) => i64::from(exponent) + 63 - i64::from(significand.leading_zeros()),
    };
    /// The largest and the smallest exponent of some elements.
    type Ends = (i64, i64);
    let ends = |values: &mut dyn Iterator<Item = f64>| -> Ends {
        let (most, least) = values
            .map(exponent)
            .fold((i64::MIN, i64::MAX), |(most, least), exponent| (most.max(exponent), least.min(exponent)));
        if most == ZERO { (ZEROS, ZEROS) } else { (most, least) }
    };
    let blocks: Vec<usize> = (0..a.columns).step_by(block).collect();
    let to = |from: usize| a.columns.min(from + block);
    let of_row = |row: usize| -> Vec<Ends> {
        let of_block = |from: &usize| ends(&mut a.values[row * a.columns..][*from..to(*from)].iter().copied());
        blocks.iter().map(of_block).collect()
    };
    let of_column = |column: usize| -> Vec<Ends> {
        let of_block = |from: &usize| ends(&mut (*from..to(*from)).map(|k| b.values[k * b.columns + column]));
        blocks.iter().map(of_block).collect()
    };
    let (rows, columns): (Vec<_>, Vec<_>) =
        ((0..a.rows).map(of_row).collect(), (0..b.columns).map(of_column).collect());
    let largest = |all: &[Ends]| all.iter().map(|ends| ends.0).max().unwrap_or(ZEROS);
    let pair = |row: &Vec<Ends>, column: &Vec<Ends>| {
        let of_blocks = |((a, least_a), (b, least_b)): (&Ends, &Ends)| (a + least_b).max(least_a + b);
        let best = row.iter().zip(column).map(of_blocks).max().unwrap_or(2 * ZEROS);
        largest(row) + largest(column) - best
    };
    rows.iter().flat_map(|row| columns.iter().map(|column| pair(row, column))).max().unwrap_or(0) + 54
}

/// The product of a scheme in the format that it emulates, with one instruction for each sum.
///
/// Accumulators are grouped as for products of so many `terms`. With the product the seconds of the sums, where the device computes all elements at once.
pub(super) fn composed(
    scheme: &Scheme,
    instructions: &[Instruction],
    device: &mut dyn Device,
    a: &SplitMatrix,
    b: &SplitMatrix,
    terms: usize,
) -> Result<(Matrix, Option<f64>)> {
    check_terms(scheme, a.matrices[0].columns)?;
    let mut sums = Vec::with_capacity(scheme.sums.len());
    let mut scales = Vec::with_capacity(scheme.sums.len());
    let mut seconds = Some(0.0);
    for (sum, instruction) in scheme.sums.iter().zip(instructions) {
        for group in sum.groups(terms) {
            let (sum, sum_seconds) = summed(&group, instruction, device, a, b)?;
            seconds = seconds.zip(sum_seconds).map(|(seconds, sum_seconds)| seconds + sum_seconds);
            sums.push(sum);
            scales.push(group.scale);
        }
    }
    Ok((combined(scheme, &sums, &scales, a, b), seconds))
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
    if sums_as_integers(std::slice::from_ref(sum), instruction, device) {
        return Ok((by_integers(sum, instruction, a, b), None));
    }
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
        [(left, right)] => Factors::new(a.matrices[left].clone(), b.matrices[right].clone()),
        _ => {
            let turns = turns(k, block, instruction.k);
            let parts_of =
                |which: &dyn Fn(&(usize, usize)) -> usize| sum.products.iter().map(which).collect::<Vec<_>>();
            let (rows, columns) = (parts_of(&|product| product.0), parts_of(&|product| product.1));
            Factors::new(beside(a, &rows, &turns), below(b, &columns, &turns))
        }
    };
    let mut executor = Executor::for_product(device, &schedule, &factors)?;
    let sum = product::compute(&schedule, &mut executor, &factors, &|_| ())?;
    Ok((sum, executor.seconds_of_sums()))
}

/// True if sums on a model wrap, so that no order of their products matters.
pub fn sums_as_integers(sums: &[PartSum], instruction: &Instruction, device: &dyn Device) -> bool {
    sums.iter().all(|sum| sum.promote == Promote::Never)
        && device.model().is_some_and(|model| integer_product::wraps(model, instruction))
}

/// A sum of products of integers, which wraps.
fn by_integers(sum: &PartSum, instruction: &Instruction, a: &SplitMatrix, b: &SplitMatrix) -> Matrix {
    let products =
        sum.products.iter().map(|(left, right)| integer_product::product(&a.matrices[*left], &b.matrices[*right]));
    let add = |mut all: Vec<i32>, product: Vec<i32>| {
        all.iter_mut().zip(product).for_each(|(all, element)| *all = all.wrapping_add(element));
        all
    };
    let sums = products.reduce(add).expect("a sum has products");
    let bytes = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let (rows, columns) = (a.matrices[0].rows, b.matrices[0].columns);
    Matrix::new(rows, columns, instruction.d, Codes::from_bytes(instruction.d, bytes).expect("whole codes"))
}

/// The blocks of k in turn: start, number of k, and number of zeros up to a whole step.
pub fn turns(k: usize, block: usize, step: usize) -> Vec<(usize, usize, usize)> {
    let turn = |from: usize| {
        let length = block.min(k - from);
        (from, length, length.next_multiple_of(step) - length)
    };
    (0..k).step_by(block).map(turn).collect()
}

/// Parts of A side by side: in every turn the columns of each.
pub fn beside(parts: &SplitMatrix, which: &[usize], turns: &[(usize, usize, usize)]) -> Matrix {
    let first = &parts.matrices[which[0]];
    let width = first.codes.width();
    let columns = which.len() * turns.iter().map(|(_, length, zeros)| length + zeros).sum::<usize>();
    let mut bytes = vec![0; first.rows * columns * width];
    parallel::each(bytes.chunks_mut(columns * width).enumerate(), |(row, line)| {
        let mut at = 0;
        for (from, length, zeros) in turns {
            for part in which {
                let matrix = &parts.matrices[*part];
                let given = &matrix.codes.as_bytes()[(row * matrix.columns + from) * width..][..length * width];
                line[at..at + given.len()].copy_from_slice(given);
                at += (length + zeros) * width;
            }
        }
    });
    Matrix::new(first.rows, columns, first.format, Codes::from_bytes(first.format, bytes).expect("whole codes"))
}

/// Parts of B one below the other: in every turn the rows of each.
pub fn below(parts: &SplitMatrix, which: &[usize], turns: &[(usize, usize, usize)]) -> Matrix {
    let first = &parts.matrices[which[0]];
    let line = first.codes.width() * first.columns;
    let rows = which.len() * turns.iter().map(|(_, length, zeros)| length + zeros).sum::<usize>();
    let mut bytes = Vec::with_capacity(rows * line);
    for (from, length, zeros) in turns {
        for part in which {
            bytes.extend_from_slice(&parts.matrices[*part].codes.as_bytes()[from * line..][..length * line]);
            bytes.resize(bytes.len() + zeros * line, 0);
        }
    }
    Matrix::new(rows, first.columns, first.format, Codes::from_bytes(first.format, bytes).expect("whole codes"))
}

/// The sums, each times its power of two, added in the register, then scaled by lines of A and B.
fn combined(scheme: &Scheme, sums: &[Matrix], scales: &[i32], a: &SplitMatrix, b: &SplitMatrix) -> Matrix {
    let (rows, columns) = (sums[0].rows, sums[0].columns);
    let powers: Vec<f64> = scales.iter().map(|scale| 2f64.powi(*scale)).collect();
    let reconstruction = match &scheme.a {
        OperandSplit::Moduli(moduli) => Some(Reconstruction::new(&moduli.moduli)),
        _ => None,
    };
    let result = scheme.result();
    let width = result.bytes();
    let mut bytes = vec![0; rows * columns * width];
    parallel::each(bytes.chunks_mut((columns * width).max(1)).enumerate(), |(row, line)| {
        let mut write = |column: usize, code: u64| {
            line[column * width..][..width].copy_from_slice(&code.to_le_bytes()[..width]);
        };
        let of_row = a.exponents[row];
        let nan = result.nan().unwrap_or(0);
        match scheme.register {
            SumRegister::Integer => {
                for column in 0..columns {
                    let at = row * columns + column;
                    let shifted = |(sum, scale): (&Matrix, &i32)| (sum.codes.get(at) as u32).checked_shl(*scale as u32);
                    let code = sums.iter().zip(scales).filter_map(shifted).fold(0, u32::wrapping_add);
                    write(column, code.into());
                }
            }
            SumRegister::Residues => {
                let reconstruction = reconstruction.as_ref().expect("moduli");
                for column in 0..columns {
                    let at = row * columns + column;
                    let sums = sums.iter().map(|sum| sum.codes.get(at) as i32);
                    let number = reconstruction.number(sums, of_row + b.exponents[column]);
                    let code = result.encode(&number, Rounding::Rne, Overflow::Standard);
                    write(column, if a.lost[row] || b.lost[column] { nan } else { code.unwrap_or(nan) });
                }
            }
            SumRegister::Single | SumRegister::Double => {
                let (mut totals, mut addends) = (vec![0.0; columns], vec![0.0; columns]);
                for (number, (sum, power)) in sums.iter().zip(&powers).enumerate() {
                    values(sum, row, &mut addends);
                    for (total, addend) in totals.iter_mut().zip(&addends) {
                        let addend = scheme.register.rounded(addend * power);
                        *total = if number == 0 { addend } else { scheme.register.rounded(*total + addend) };
                    }
                }
                for (column, total) in totals.into_iter().enumerate() {
                    let code = scaled_code(total, of_row + b.exponents[column], scheme.emulates, result);
                    write(column, if a.lost[row] || b.lost[column] { nan } else { code });
                }
            }
        }
    });
    Matrix::new(rows, columns, result, Codes::from_bytes(result, bytes).expect("whole codes"))
}

/// The code of a number times a power of two, rounded once.
fn scaled_code(x: f64, exponent: i32, emulates: Emulated, result: &Format) -> u64 {
    if exponent == 0 {
        return match emulates {
            Emulated::Single => u64::from((x as f32).to_bits()),
            Emulated::Double => x.to_bits(),
        };
    }
    let number = match Real::from(x) {
        Real::Finite(number) => Real::Finite(Finite { exponent: number.exponent + exponent, ..number }),
        other => other,
    };
    result.encode(&number, Rounding::Rne, Overflow::Standard).unwrap_or(0)
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
