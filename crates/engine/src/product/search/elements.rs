//! Elements of D on which schedules are judged, the most decisive first.

use super::Suspects;
use crate::{
    Result,
    base::work,
    format::{Format, Overflow, Rounding},
    inputs::random,
    isa::{Codes, MatrixShape},
    product::{
        Factors, Matrix,
        compute::InitialSum,
        sample::{Sample, drawn},
        schedule::ScaleBlocks,
    },
};

/// Rows and columns of D whose elements are ranked.
const RANKED: usize = 64;
/// Bits of an f32 significand: sums of a unit are rounded to about as many.
const PRECISION: u32 = 24;
/// Rows and columns of the elements that stand for all.
const FEW: MatrixShape = MatrixShape { rows: 8, columns: 8 };
/// Terms that a step sums, about.
const STEP: f64 = 16.0;

/// Elements of a product, each with a row of A and a column of B of its own.
pub(super) struct Elements {
    /// A row of A, C, scales for each element; B and the bias have a column for each.
    pub(super) factors: Factors,
    /// B, a row for each element.
    pub(super) columns: Matrix,
    /// The scales of B, a row for each element.
    pub(super) scale_columns: Option<Matrix>,
}

impl Elements {
    pub(super) fn new(factors: Factors) -> Elements {
        let columns = factors.b.transposed();
        let scale_columns = factors.scale_b.as_ref().map(Matrix::transposed);
        Elements { factors, columns, scale_columns }
    }

    pub(super) fn count(&self) -> usize {
        self.columns.rows
    }

    /// The codes before the first step, if the product has them.
    pub(super) fn initial(&self, sum: InitialSum) -> Option<Codes> {
        let of = |matrix: &Matrix, code: &dyn Fn(usize) -> u64| {
            Codes::from_values(matrix.format, &(0..self.count()).map(code).collect::<Vec<_>>())
        };
        match sum {
            InitialSum::Zero => None,
            InitialSum::C => self.factors.c.as_ref().map(|c| of(c, &|at| c.get(at, at))),
            InitialSum::Bias => self.factors.bias.as_ref().map(|bias| of(bias, &|at| bias.get(0, at))),
        }
    }
}

/// Elements of D in the order in which schedules are judged on them.
#[derive(Debug, Clone)]
pub(super) struct Ranking {
    /// Row and column of each.
    pub(super) places: Vec<(usize, usize)>,
    /// Number of elements in which the order of a sum can show, about.
    ///
    /// Their sums lie within the rounding errors of f32 sums of a boundary between two numbers of D's format.
    pub(super) sensitive: usize,
}

/// Ranks elements of D: all of a small one, else those of some rows and columns.
///
/// # Errors
/// [`Interrupted`](crate::Error::Interrupted).
pub(super) fn rank(
    suspects: &Suspects,
    factors: &Factors,
    d: &Matrix,
    blocks: Option<&ScaleBlocks>,
) -> Result<Ranking> {
    let (rows, columns) = (drawn(RANKED, d.rows, 0), drawn(RANKED, d.columns, 1));
    let mut places = scattered(rows.len(), columns.len());
    let mut sensitive = places.len();
    if !d.format.is_integer() && d.format.float().is_some_and(|float| float.precision() < PRECISION) {
        let chosen = factors.chosen(&rows, &columns, blocks);
        let margins = margins(suspects, &chosen, d.format)?;
        let margin = |(row, column): &(usize, usize)| margins[row * columns.len() + column];
        places.sort_by(|x, y| margin(x).total_cmp(&margin(y)));
        sensitive = places.iter().filter(|place| margin(place) < 1.0).count();
    }
    let places = places.into_iter().map(|(row, column)| (rows[row], columns[column])).collect();
    Ok(Ranking { places, sensitive })
}

/// Why D can decide nothing of its schedule, if so: it has one value, or only NaN.
pub fn decides_nothing(d: &Matrix) -> Option<String> {
    let first = d.get(0, 0);
    let (count, format) = (d.codes.len(), d.format);
    if d.codes.iter().all(|code| format.to_f64(code).is_nan()) {
        return Some(format!("all its {count} elements are NaN"));
    }
    (count > 1 && d.codes.iter().all(|code| code == first))
        .then(|| format!("all its {count} elements are {}", format.to_f64(first)))
}

/// All places of a matrix, neighbours in neither a row nor a column.
fn scattered(rows: usize, columns: usize) -> Vec<(usize, usize)> {
    let shuffled = |count: usize, seed: u64| {
        let mut all: Vec<usize> = (0..count).collect();
        all.sort_by_key(|at| random(seed, *at as u64));
        all
    };
    let (of_rows, of_columns) = (shuffled(rows, 0), shuffled(columns, 1));
    let place = |turn: usize, at: usize| (of_rows[at], of_columns[(at + turn) % columns]);
    (0..columns).flat_map(|turn| (0..rows).map(move |at| (turn, at))).map(|(turn, at)| place(turn, at)).collect()
}

/// Distance of each sum from a boundary of D's format, in rounding errors of f32 sums.
fn margins(suspects: &Suspects, factors: &Factors, d: &Format) -> Result<Vec<f64>> {
    let margin = |sum: &NearSum| {
        let near =
            |rounding| d.encode_f64(sum.value, rounding, Overflow::Standard).map_or(f64::NAN, |code| d.to_f64(code));
        let boundary = f64::midpoint(near(Rounding::Rd), near(Rounding::Ru));
        let margin = (sum.value - boundary).abs() / sum.error;
        if margin.is_nan() { f64::INFINITY } else { margin }
    };
    Ok(near_sums(suspects, factors)?.iter().map(margin).collect())
}

/// Some rows and columns of a product, and their elements; `blocks` are those of its scales.
pub fn few(factors: &Factors, d: &Matrix, blocks: Option<&ScaleBlocks>) -> (Factors, Matrix) {
    let Sample { factors, d, .. } = Sample::new(factors, d, FEW, 0, blocks);
    (factors, d)
}

/// The distance of the elements of D from their sums in f64, in all.
///
/// # Errors
/// A signal.
pub fn error(suspects: &Suspects, factors: &Factors, d: &Matrix) -> Result<f64> {
    let sums = near_sums(suspects, factors)?;
    // Elements that overflowed in D say nothing.
    let pairs = sums.iter().zip(d.codes.iter()).map(|(sum, code)| (sum.value, d.format.to_f64(code)));
    Ok(pairs.filter(|(_, d)| d.is_finite()).map(|(sum, d)| (sum - d).abs()).sum())
}

/// An element of a product, nearly: its value, and about the rounding error of an f32 sum.
pub(super) struct NearSum {
    pub(super) value: f64,
    error: f64,
}

/// The elements of a product, row by row, summed in f64.
pub(super) fn near_sums(suspects: &Suspects, factors: &Factors) -> Result<Vec<NearSum>> {
    let (alpha, beta) = suspects.factors;
    let Factors { a, b, c, bias, scale_a, scale_b } = factors;
    let k = factors.k();
    // Scales of blocks of k, as many as there are.
    let of_a =
        |row, at| scale_a.as_ref().map_or(1.0, |scales| scales.value(row, at * scales.columns / k)) * a.value(row, at);
    let of_b = |at, column| {
        scale_b.as_ref().map_or(1.0, |scales| scales.value(at * scales.rows / k, column)) * b.value(at, column)
    };
    let of_rows: Vec<Vec<f64>> = (0..a.rows).map(|row| (0..k).map(|at| of_a(row, at)).collect()).collect();
    let of_columns: Vec<Vec<f64>> = (0..b.columns).map(|column| (0..k).map(|at| of_b(at, column)).collect()).collect();
    let steps = (k as f64 / STEP).max(1.0).sqrt();
    let row = |(row, left): (usize, &Vec<f64>)| {
        let element = |(column, right): (usize, &Vec<f64>)| {
            let (mut sum, mut square) = (0.0, 0.0);
            for (x, y) in left.iter().zip(right) {
                let product = x * y;
                sum += product;
                square += product * product;
            }
            let added = c.as_ref().map_or(0.0, |c| beta * c.value(row, column));
            let value = alpha * sum + added + bias.as_ref().map_or(0.0, |bias| bias.value(0, column));
            NearSum { value, error: alpha.abs() * square.sqrt() * steps * 2f64.powi(-(PRECISION as i32)) }
        };
        Ok(of_columns.iter().enumerate().map(element).collect::<Vec<NearSum>>())
    };
    Ok(work::map(of_rows.iter().enumerate(), row)?.into_iter().flatten().collect())
}
