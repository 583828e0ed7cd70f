//! Claims: the arithmetic that attention is said to have, and the constants of its bound.

use super::{Mask, Operands, operands::Rounding};
use crate::{
    Error, Result,
    arithmetic::Model,
    format::{self, Format},
    product::bound,
};

/// Unit roundoff of f32.
pub(super) const U: f64 = f64::from_bits((1023 - 24) << 52);
/// Relative error of exp in f32 by default: two units in the last place.
///
/// The PTX ISA promises it for ex2.approx.
pub const EXP_ERROR: f64 = f64::from_bits((1023 - 22) << 52);
/// Smallest number of keys of a tile by default.
pub const TILE: usize = 16;
/// Roundings in f32 of the logarithms by which parts are joined.
const JOIN_ROUNDINGS: f64 = 16.0;
/// Magnitude from which sums are taken to overflow f32, with room for all errors.
const OVERFLOW: f64 = f64::from_bits((1023 + 120) << 52);
/// Error of all underflows of a sum, relative to the largest value and the number of terms.
const TINY: f64 = f64::from_bits((1023 - 120) << 52);

/// The arithmetic that attention is said to have.
#[derive(Debug, Clone)]
pub struct AttentionClaim {
    /// Model of the unit that multiplies.
    pub model: Model,
    /// Factor of the products of queries and keys.
    pub scale: f64,
    /// The mask.
    pub mask: Mask,
    /// Format of P, the weights that multiply V.
    pub p_format: &'static Format,
    /// Format that scores are stored in by a kernel of several steps; `None` for f32.
    pub s_format: Option<&'static Format>,
    /// Relative error of exp.
    pub exp_error: f64,
    /// Smallest number of keys of a tile.
    pub tile: usize,
}

impl AttentionClaim {
    /// The claim in words, after "the bound of".
    pub fn words(&self, operands: &Operands) -> String {
        let scores = self.s_format.map_or(String::new(), |format| format!(", S in {format}"));
        format!(
            "attention with sums in f32 on {} or by FMA, P in {}{scores}, O in {}{}",
            self.model.name,
            self.p_format,
            operands.o.format,
            self.mask.words()
        )
    }
}

/// Constants of the bound of all rows.
#[derive(Debug, Clone)]
pub(super) struct Constants {
    /// Keys.
    pub(super) keys: usize,
    /// Largest error of a product of a query and a key over the sum of |q k|.
    pub(super) score_rate: f64,
    /// Least sum of |q k| that this rate is taken of.
    pub(super) score_least: f64,
    /// Error of a product of a query and a key by flushed operands.
    pub(super) score_flush: f64,
    /// Relative error of each of the roundings of stored scores, and the errors of subnormal ones.
    pub(super) stored_unit: f64,
    pub(super) stored_floor: f64,
    /// Largest score that can be stored.
    pub(super) largest_score: f64,
    /// Largest error of a sum of p v over the sum of |p v|, and of a sum of p.
    pub(super) sum_rate: f64,
    /// Error of a sum of p v, whatever its terms, for weights relative to the largest.
    pub(super) sum_floor: f64,
    /// The same, over the sum of weights.
    pub(super) flush_rate: f64,
    /// Error of weights that do not depend on the key: of exp, once, and of each tile.
    pub(super) exp_error: f64,
    /// Tiles, at most.
    pub(super) tiles: f64,
    /// Rounding of P.
    pub(super) p: Rounding,
    /// True if P is divided by its sum before it is rounded.
    pub(super) is_normalised: bool,
    /// Rounding of O.
    pub(super) o: Rounding,
    /// Columns of Q and K.
    pub(super) columns: usize,
}

impl Constants {
    /// The constants of a claim about operands.
    ///
    /// A note tells where the model has no instruction, so that sums are by FMA alone.
    ///
    /// # Errors
    /// A claim that has no bound, with the reason.
    pub(super) fn new(claim: &AttentionClaim, operands: &Operands, notes: &mut Vec<String>) -> Result<Constants> {
        let Operands { q, k, v, o } = operands;
        for (what, format) in [("P", Some(claim.p_format)), ("S", claim.s_format)] {
            if let Some(format) = format.filter(|format| format.float().is_none() || format.bits > 32) {
                return Err(Error::request(format!(
                    "{what} in {format} has no bound; name a floating-point format of at most 32 bits, such as bf16"
                )));
            }
        }
        if !(claim.scale.is_finite() && claim.exp_error >= 0.0 && claim.exp_error < 0.01) {
            return Err(Error::request(format!(
                "a scale of {:e} and an error of exp of {:e} have no bound: the scale must be finite, the error below 0.01",
                claim.scale, claim.exp_error
            )));
        }
        let largest = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let [q_most, k_most, v_most] = [q, k, v].map(|heads| largest(&heads.values));
        let (columns, keys) = (q.columns, k.rows);
        if q_most * k_most * columns as f64 * claim.scale.abs().max(1.0) >= OVERFLOW || v_most * keys as f64 >= OVERFLOW
        {
            return Err(Error::request(format!(
                "sums of these operands may overflow f32 (largest |Q| {q_most:.1e}, |K| {k_most:.1e}, |V| {v_most:.1e}), so the claim has no bound"
            )));
        }
        let [q_rounding, k_rounding, v_rounding] = [q, k, v].map(|heads| Rounding::of(heads.format));
        let p = Rounding::of(claim.p_format);
        let scores = sums(claim, [q.format, k.format], columns, notes)?;
        let weighted = sums(claim, [claim.p_format, v.format], keys, notes)?;
        let flushed = |is_flushing: bool, error: f64| if is_flushing { error } else { 0.0 };
        let stored = claim.s_format.map(Rounding::of);
        let root = claim.scale.abs().sqrt();
        Ok(Constants {
            keys,
            columns,
            score_rate: scores.rate,
            score_least: 2.0 * (q_rounding.smallest * k_most).max(q_most * k_rounding.smallest),
            score_flush: flushed(
                scores.is_flushing,
                columns as f64 * (q_rounding.smallest * k_most + q_most * k_rounding.smallest),
            ) + columns as f64 * TINY,
            stored_unit: stored.map_or(0.0, |stored| stored.unit),
            stored_floor: stored.map_or(0.0, |stored| stored.floor * (3.0 + columns as f64 * root * (q_most + k_most))),
            largest_score: stored.map_or(OVERFLOW, |stored| stored.largest * (1.0 - 4.0 * stored.unit)),
            sum_rate: weighted.rate,
            sum_floor: weighted.rate * 2.0 * (p.smallest * v_most).max(v_rounding.smallest)
                + keys as f64 * TINY * v_most.max(1.0),
            flush_rate: flushed(weighted.is_flushing, v_rounding.smallest),
            exp_error: claim.exp_error,
            tiles: keys.div_ceil(claim.tile.max(1)) as f64,
            // Numbers below the smallest normal one of f32 may be flushed to zero.
            p: Rounding {
                floor: p.floor.max(flushed(weighted.is_flushing, p.smallest)).max(f64::from(f32::MIN_POSITIVE)),
                ..p
            },
            is_normalised: claim.s_format.is_some(),
            o: Rounding::of(o.format),
        })
    }

    /// Error of each weight that all keys of a row share, as a logarithm.
    ///
    /// `range` is the largest magnitude of a score.
    pub(super) fn shared(&self, range: f64) -> f64 {
        let each_tile = self.exp_error + 2.0 * U + U * range;
        let join = 2.0 * self.exp_error + JOIN_ROUNDINGS * U * (range + (self.keys as f64).ln() + 1.0);
        self.exp_error + self.tiles * each_tile + join
    }
}

/// Errors of sums of k products.
struct Sums {
    rate: f64,
    is_flushing: bool,
}

/// The larger of the errors of a model's instructions and of FMA in f32.
fn sums(claim: &AttentionClaim, [a, b]: [&'static Format; 2], k: usize, notes: &mut Vec<String>) -> Result<Sums> {
    let fma = (k + 1) as f64 * U;
    if fma >= 0.125 {
        return Err(Error::request(format!(
            "sums of {k} products in f32 have no useful bound; there are too many terms"
        )));
    }
    let fma = fma / (1.0 - fma);
    match bound::Claim::of_generation(claim.model.clone(), [a, b, format::find("f32")?], None) {
        Ok(unit) => {
            let unit = unit.relative(k)?;
            Ok(Sums { rate: unit.rate.max(fma), is_flushing: unit.is_flushing })
        }
        Err(_) => {
            let note = format!(
                "{} has no instruction that multiplies {a} by {b} and sums in f32: these sums are claimed to be by FMA in f32.",
                claim.model.name
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
            Ok(Sums { rate: fma, is_flushing: false })
        }
    }
}
