//! Likeness of two tensors whose values differ: the same weights, one factor, the same codes.

use super::compare::{ROUNDING, Side};
use crate::{
    Result,
    base::work,
    checkpoint::{GlobalScale, Quantised, TensorContent, TensorReader},
    report::{counted, three_digits},
    tensor::TensorPiece,
};

/// Pieces that are worked on before their results are taken: memory is bounded by it.
const TOGETHER: usize = 64;
/// Share of values within a step that those of the same weights have at least.
const NEARLY_ALL: f64 = 0.99;
/// Part of a step by which rounded scales move the largest values.
const SCALE_ROUNDING: f64 = 1.0 / 64.0;
/// Finding on tensors of the same weights in other formats.
pub(super) const WITHIN_A_STEP: &str = "the same weights: each value is within one step of the coarser grid";
/// Values and scales below which nothing is said.
const FEWEST: usize = 16;

/// Numbers of pairs of values, and of those that are like one another.
#[derive(Debug, Clone, Copy, Default)]
struct Likeness {
    pairs: u64,
    /// Within one step of the coarser grid.
    near: u64,
    /// The second is the first times the factor.
    by_factor: u64,
}

/// The factor between the values of largest magnitude of a piece.
fn factor(first: &[f64], second: &[f64]) -> Option<f64> {
    let pairs = first.iter().zip(second).filter(|(x, y)| x.is_finite() && y.is_finite());
    let (x, y) = pairs.max_by(|x, y| x.0.abs().total_cmp(&y.0.abs()))?;
    let factor = y / x;
    (factor.is_finite() && factor != 0.0 && (factor - 1.0).abs() > ROUNDING).then_some(factor)
}

fn factor_words(factor: f64) -> String {
    let power = factor.abs().log2();
    let power = if power.fract() == 0.0 { format!(" (2^{power})") } else { String::new() };
    format!("{}{power}", three_digits(factor))
}

/// The likeness of two tensors of the same shape in words; `None` if they are not alike.
///
/// # Errors
/// As [`TensorReader::values`]; a signal.
pub(super) fn words(sides: (Side, Side), readers: &(TensorReader, TensorReader)) -> Result<Option<String>> {
    let is_integer = |(checkpoint, tensor): Side| match tensor.content {
        TensorContent::Plain(array) => !checkpoint.file.arrays[array].kind.is_floating(),
        _ => false,
    };
    let Some(piece) = sides.0.1.pieces().next().filter(|_| !(is_integer(sides.0) || is_integer(sides.1))) else {
        return Ok(None);
    };
    let factor = factor(&readers.0.values(&piece, None)?, &readers.1.values(&piece, None)?);
    let one = |piece: TensorPiece, (): &mut ()| {
        let values = (readers.0.values(&piece, None)?, readers.1.values(&piece, None)?);
        let halves = (readers.0.half_steps(&piece)?, readers.1.half_steps(&piece)?);
        let mut likeness = Likeness { pairs: values.0.len() as u64, ..Likeness::default() };
        for ((x, y), (half, other)) in values.0.iter().zip(&values.1).zip(halves.0.iter().zip(&halves.1)) {
            // Values beyond the largest are cut off by up to a step, and scales are rounded after it is chosen.
            let near = (x - y).abs() <= 2.0 * half.max(*other) * (1.0 + SCALE_ROUNDING);
            likeness.near += u64::from(near || x == y || x.is_nan() && y.is_nan());
            let by_factor = factor.is_some_and(|factor| (y - factor * x).abs() <= ROUNDING * y.abs());
            likeness.by_factor += u64::from(by_factor || x.is_nan() && y.is_nan());
        }
        Ok(likeness)
    };
    let mut all = Likeness::default();
    work::each(sides.0.1.pieces(), TOGETHER, one, |likeness: Likeness| {
        all.pairs += likeness.pairs;
        all.near += likeness.near;
        all.by_factor += likeness.by_factor;
    })?;
    if let Some(factor) = factor.filter(|_| all.pairs >= FEWEST as u64 && all.by_factor == all.pairs) {
        let factor = factor_words(factor);
        return Ok(Some(format!("one factor: the second file's values are {factor} times the first's")));
    }
    Ok(match all.pairs - all.near {
        0 => Some(WITHIN_A_STEP.into()),
        apart if all.near as f64 >= NEARLY_ALL * all.pairs as f64 => Some(format!(
            "the same weights but for {}: the others are within one step of the coarser grid",
            counted(apart, "value")
        )),
        _ => None,
    })
}

/// The difference of the scales of the same codes in words.
///
/// # Errors
/// As [`TensorReader::scales`].
pub(super) fn of_scales(sides: (Side, Side), readers: &(TensorReader, TensorReader)) -> Result<Option<String>> {
    let Some(piece) = sides.0.1.pieces().next() else { return Ok(None) };
    let (first, second) = (readers.0.scales(&piece, false)?.values, readers.1.scales(&piece, false)?.values);
    if first.len() != second.len() || first.len() < FEWEST {
        return Ok(None);
    }
    if let Some(factor) = factor(&first, &second)
        && first.iter().zip(&second).all(|(x, y)| (y - factor * x).abs() <= ROUNDING * y.abs())
    {
        return Ok(Some(format!("the second file's are {} times the first's", factor_words(factor))));
    }
    let is_shifted = |early: &[f64], late: &[f64]| early[..early.len() - 1] == late[1..];
    let distinct = first.windows(2).any(|pair| pair[0] != pair[1]);
    if distinct && is_shifted(&first, &second) {
        return Ok(Some("the second file's scales lie one block later".into()));
    }
    if distinct && is_shifted(&second, &first) {
        return Ok(Some("the second file's scales lie one block earlier".into()));
    }
    let powers = |scales: &[f64]| scales.iter().all(|scale| scale.to_bits() << 12 == 0 && *scale > 0.0);
    let ratios = || first.iter().zip(&second).map(|(x, y)| y / x);
    let which = match (powers(&first), powers(&second)) {
        (false, true) => "second",
        (true, false) => "first",
        _ => return Ok(None),
    };
    let (least, most) =
        ratios().fold((f64::INFINITY, 0.0f64), |(least, most), ratio| (least.min(ratio), most.max(ratio)));
    Ok((least >= 0.5 && most <= 2.0).then(|| {
        let (least, most) = (three_digits(least), three_digits(most));
        format!("the {which} file's are powers of two: one factor in each block, from {least} to {most}")
    }))
}

/// The difference of the global scales in words; `None` if there is none.
pub(super) fn of_globals(x: &Quantised, y: &Quantised) -> Option<String> {
    let factor = |quantised: &Quantised, at: usize| {
        let value = quantised.global.get(at).or(quantised.global.first()).copied().unwrap_or(1.0);
        match quantised.reading.global {
            Some(GlobalScale::Divides) => 1.0 / value,
            _ => value,
        }
    };
    let count = x.global.len().max(y.global.len()).max(1);
    let all = |holds: &dyn Fn(f64, f64) -> bool| (0..count).all(|at| holds(factor(x, at), factor(y, at)));
    let close = |x: f64, y: f64| (x - y).abs() <= ROUNDING * x.abs();
    if all(&|x, y| x == y) {
        None
    } else if all(&close) {
        Some("the global scales differ by rounding".into())
    } else if all(&|x, y| close(x, 1.0 / y)) {
        Some("the global scale of one file is the reciprocal of the other's".into())
    } else {
        let (x, y) = (factor(x, 0), factor(y, 0));
        Some(format!(
            "the global scales differ: values are multiplied by {} and by {}",
            three_digits(x),
            three_digits(y)
        ))
    }
}
