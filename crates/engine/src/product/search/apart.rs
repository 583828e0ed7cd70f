//! Products that separate schedules which gave the same D.

use super::{
    super::{Executor, Factors, Matrix, Sample, Values, compute, draw},
    MatchCandidate, in_formats,
};
use crate::{
    Result,
    base::interrupt,
    device::ModelDevice,
    format::{Format, Overflow, Rounding},
    inputs::random,
    isa::{Codes, MatrixShape},
};

/// Rows and columns on which products are judged.
const JUDGED: MatrixShape = MatrixShape { rows: 8, columns: 16 };
/// Products that are tried of each kind.
const SEEDS: u64 = 4;

/// A product on which schedules differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart {
    /// The operands: new A and B, the rest unchanged.
    pub factors: Factors,
    /// Group of each schedule, from 1: schedules of one group give the same D.
    pub groups: Vec<usize>,
}

impl Apart {
    /// Number of groups.
    pub fn count(&self) -> usize {
        self.groups.iter().copied().max().unwrap_or(0)
    }
}

/// The product, in the shape of `factors`, that separates the schedules best; `None` if none does.
///
/// # Errors
/// A model that fails, [`crate::Error::Interrupted`].
pub fn apart(candidates: &[MatchCandidate], factors: &Factors, d: &'static Format) -> Result<Option<Apart>> {
    let mut best: Option<Apart> = None;
    for (seed, cancelling) in (0..SEEDS).flat_map(|seed| [false, true].map(|cancelling| (seed, cancelling))) {
        let drawn = drawn(factors, d, cancelling, seed);
        let groups = groups(candidates, &drawn, d)?;
        let count = groups.iter().copied().max().unwrap_or(0);
        if count > best.as_ref().map_or(1, Apart::count) {
            best = Some(Apart { factors: drawn, groups });
        }
        if count == candidates.len() {
            break;
        }
    }
    Ok(best)
}

/// The group of each schedule.
fn groups(candidates: &[MatchCandidate], factors: &Factors, d: &'static Format) -> Result<Vec<usize>> {
    let (m, n) = (factors.a.rows, factors.b.columns);
    let nothing = Matrix::new(m, n, d, Codes::zeros(d, m * n));
    let mut known: Vec<Codes> = Vec::new();
    let mut groups = Vec::new();
    for MatchCandidate { arithmetic, schedule, .. } in candidates {
        interrupt::check()?;
        let sample = Sample::new(factors, &nothing, JUDGED, 0, schedule.scales.as_ref());
        let (schedule, operands) = (schedule.narrowed(), in_formats(&sample.factors, schedule)?);
        let mut device = ModelDevice::open(&arithmetic.model)?;
        let mut executor = Executor::of(&mut device, &schedule, sample.rows.len(), sample.columns.len())?;
        let codes = compute(&schedule, &mut executor, &operands, &|_| ())?.codes;
        let at = known.iter().position(|other| *other == codes).unwrap_or_else(|| {
            known.push(codes);
            known.len() - 1
        });
        groups.push(at + 1);
    }
    Ok(groups)
}

/// Operands in the shape and formats of `factors`, of all magnitudes.
///
/// `cancelling` pairs each term with its negative: the sum is what was lost on the way, which even a narrow D shows.
fn drawn(factors: &Factors, d: &Format, cancelling: bool, seed: u64) -> Factors {
    let Factors { a, b, .. } = factors;
    let draw = |matrix: &Matrix, which: u64| {
        draw(matrix.rows, matrix.columns, matrix.format, d, Values::Magnitudes, random(seed, which))
    };
    let mut drawn = Factors { a: draw(a, 0), b: draw(b, 1), ..factors.clone() };
    if cancelling {
        let k = factors.k();
        let mut order: Vec<usize> = (0..k).collect();
        for at in (1..k).rev() {
            order.swap(at, (random(seed ^ 0x5eed, at as u64) % (at as u64 + 1)) as usize);
        }
        for pair in order.chunks_exact(2) {
            let [one, other] = [pair[0], pair[1]];
            for row in 0..a.rows {
                drawn.a.codes.set(row * k + other, drawn.a.get(row, one));
            }
            for column in 0..b.columns {
                let negative = negated(b.format, drawn.b.get(one, column));
                drawn.b.codes.set(other * b.columns + column, negative);
            }
        }
    }
    drawn
}

/// The code of the negative of a number, where the format has it.
fn negated(format: &Format, code: u64) -> u64 {
    format.encode_f64(-format.to_f64(code), Rounding::Rne, Overflow::Saturate).unwrap_or(code)
}
