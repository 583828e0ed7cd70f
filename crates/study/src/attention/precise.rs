//! The reference in f64 against MPFR: is its error what it claims to be?

use rug::{Assign, Float};

use super::{
    AttentionClaim, Operands, RowPlace, ScoreExtents,
    claim::Constants,
    row::{RowState, Scores, Weights},
};
use crate::{Result, base::work};

/// Bits of the numbers of MPFR.
const BITS: u32 = 200;
/// Columns of a row that are computed.
const COLUMNS: usize = 8;

/// Elements of the reference that MPFR computed too.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReferenceCheck {
    /// Elements.
    pub elements: usize,
    /// Largest difference over the error that the reference claims.
    pub largest: f64,
}

/// Compares some elements of these rows.
///
/// # Errors
/// An interruption.
pub(super) fn compare(
    operands: &Operands,
    claim: &AttentionClaim,
    constants: &Constants,
    places: &[RowPlace],
) -> Result<ReferenceCheck> {
    let rows = work::map(places, |place| Ok(compare_row(operands, claim, constants, *place)))?;
    let all = rows.into_iter().fold(ReferenceCheck::default(), |all, row| ReferenceCheck {
        elements: all.elements + row.elements,
        largest: all.largest.max(row.largest),
    });
    Ok(all)
}

fn compare_row(operands: &Operands, claim: &AttentionClaim, constants: &Constants, place: RowPlace) -> ReferenceCheck {
    let Operands { q, k, v, .. } = operands;
    let (query, key_head) = (q.row(place.head, place.row), operands.key_head(place.head));
    let mut added = vec![0.0; k.rows];
    claim.mask.fill(place.head, place.row, ScoreExtents { queries: q.rows, keys: k.rows }, &mut added);
    let pairs = |key: usize| query.iter().zip(k.row(key_head, key));
    let products: Vec<f64> = (0..k.rows).map(|key| pairs(key).map(|(x, y)| x * y).sum()).collect();
    let magnitudes: Vec<f64> = (0..k.rows).map(|key| pairs(key).map(|(x, y)| (x * y).abs()).sum()).collect();
    let scores = Scores { products: &products, magnitudes: &magnitudes, added: &added, scale: claim.scale };
    let mut weights = Weights::default();
    let RowState::Known(sums) = weights.fill(constants, &scores) else { return ReferenceCheck::default() };
    let exact_scores: Vec<Option<Float>> = (0..k.rows)
        .map(|key| {
            let mut sum = Float::new(BITS);
            pairs(key).for_each(|(x, y)| sum += Float::with_val(BITS, *x) * *y);
            (added[key] > f64::NEG_INFINITY).then(|| sum * claim.scale + added[key])
        })
        .collect();
    let largest = exact_scores.iter().flatten().fold(None, |most: Option<Float>, score| match most {
        Some(most) if most >= *score => Some(most),
        _ => Some(score.clone()),
    });
    let Some(largest) = largest else { return ReferenceCheck::default() };
    let exact_weights: Vec<Float> = exact_scores
        .into_iter()
        .map(|score| score.map_or_else(|| Float::new(BITS), |score| (score - &largest).exp()))
        .collect();
    let total = Float::with_val(BITS, Float::sum(exact_weights.iter()));
    let mut check = ReferenceCheck::default();
    let mut exact = Float::new(BITS);
    for column in (0..v.columns).step_by(v.columns.div_ceil(COLUMNS)) {
        let value = |key: usize| v.row(key_head, key)[column];
        exact.assign(0);
        exact_weights.iter().enumerate().for_each(|(key, weight)| exact += Float::with_val(BITS, weight * value(key)));
        exact /= &total;
        let all = |of: &dyn Fn(f64) -> f64| -> f64 {
            weights.weights.iter().enumerate().map(|(key, weight)| weight * of(value(key))).sum()
        };
        let (weighted, magnitude) = (all(&|value| value), all(&f64::abs));
        let error = Float::with_val(BITS, weighted / sums.weights - &exact).abs().to_f64();
        let claimed = (2.0 * weights.reference + 4.0 * (k.rows + 1) as f64 * f64::EPSILON) * magnitude / sums.weights;
        check.elements += 1;
        check.largest = check.largest.max(if error == 0.0 { 0.0 } else { error / (claimed + f64::MIN_POSITIVE) });
    }
    check
}
