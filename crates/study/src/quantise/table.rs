//! Tables of quantisation.

use super::{
    losses::{BINADES, WorstRun},
    target::QuantisationTarget,
    tensor::TensorLosses,
};
use crate::{
    report::{counted, three_digits},
    tensor::decibels,
};

/// Number of the binade whose exponent is 0.
const BIAS: i64 = 127;

crate::rows! {
    /// Quantisation of all chosen values to one format by one rule.
    pub struct QuantisationRow in "quantisation" {
        /// The format.
        to: &'static str => shown("format").essential(),
        /// The rule for scales; none where there are none.
        rule: Option<&'static str> => shown("rule").beside().essential(),
        /// The values that share a scale: of a tensor, channel, row, or block of rows x columns; or none.
        per: String => shown("per").beside().essential(),
        /// Number of values.
        values: u64 => shown("values"),
        /// Bits that a value takes, its share of the scales included.
        bits: f64 => shown("bits").essential(),
        /// Energy of the values over energy of the errors.
        sqnr: Option<f64> => shown("SQNR").unit("dB").essential(),
        /// The root mean square of the errors.
        rms_error: Option<f64> => shown("rms error").essential(),
        /// The largest error.
        max_error: Option<f64> => shown("max error").essential(),
        /// The cosine of the angle between the values and what they became.
        cosine: Option<f64> => hidden(),
        /// The share of the values that are beyond the largest number times their scale.
        saturated: Option<f64> => shown("saturated").essential(),
        /// The share of the values that became a subnormal number times their scale, which has fewer bits.
        subnormal: Option<f64> => shown("subnormal"),
        /// The share of the values that became zero, and were not.
        to_zero: Option<f64> => shown("to zero").essential(),
        /// The share of the values that did not change.
        unchanged: Option<f64> => shown("unchanged"),
        /// Values that are NaN, if there are any; nothing else is about them.
        nan: Option<u64> => shown("NaN").if_filled(),
        /// Values that are infinite, if there are any; nothing else is about them.
        infinite: Option<u64> => shown("infinite").if_filled(),
        /// Finite values without a finite result: lost to a NaN or an infinity in their block, or beyond f32.
        void: Option<u64> => shown("void").if_filled(),
        /// The norm of what changed in the product with the activations over the norm of the product.
        product_error: Option<f64> => shown("product error").if_filled().essential(),
        /// The exponents of two of the binades that have errors, ascending; the lowest holds zero too.
        error_exponents: Vec<i64> => hidden(),
        /// Number of errors in each of these binades.
        errors: Vec<u64> => hidden(),
        /// The exponents of two of the binades that have scales, ascending.
        scale_exponents: Vec<i64> => hidden(),
        /// Number of scales in each of these binades.
        scales: Vec<u64> => hidden(),
    }

    /// Quantisation of one tensor.
    pub struct TensorQuantisationRow in "tensor_quantisation" {
        /// The tensor.
        tensor: String => shown("tensor").essential(),
        /// Its extents.
        shape: Vec<usize> => shown("shape"),
        /// The quantisation.
        quantisation: QuantisationRow => hidden(),
    }

    /// Values that lost most: a run of a row that shares a scale (up to 128 values where more share one).
    pub struct WorstRunRow in "worst_runs" {
        /// The format.
        to: &'static str => shown("format").essential(),
        /// The rule for scales.
        rule: Option<&'static str> => shown("rule").beside().essential(),
        /// Sharing of scales.
        per: String => shown("per").beside().essential(),
        /// The tensor.
        tensor: String => shown("tensor").essential(),
        /// The row of the run, over all indices but the axis.
        row: u64 => shown("row").essential(),
        /// The place of its first value along the axis.
        column: u64 => shown("column").essential(),
        /// Its largest magnitude.
        largest: f64 => shown("largest").essential(),
        /// Energy of its values over energy of their errors.
        sqnr: f64 => shown("SQNR").unit("dB").essential(),
    }
}

/// Layers that are named in the answer.
const NAMED: usize = 3;

/// The layers that lose most under a target, in a sentence; `None` for one layer.
fn layers(best: &QuantisationRow, tensors: &[&TensorQuantisationRow]) -> Option<String> {
    let is_best = |row: &&&TensorQuantisationRow| {
        let quantisation = &row.quantisation;
        (quantisation.to, quantisation.rule, &quantisation.per) == (best.to, best.rule, &best.per)
    };
    let mut all: Vec<&TensorQuantisationRow> = tensors.iter().filter(is_best).copied().collect();
    if all.len() < 2 {
        return None;
    }
    // By the product with activations where there is one.
    let loss = |row: &TensorQuantisationRow| {
        let quantisation = &row.quantisation;
        quantisation.product_error.or(quantisation.sqnr.map(|sqnr| 10f64.powf(-sqnr / 20.0))).unwrap_or(0.0)
    };
    all.sort_by(|x, y| loss(y).total_cmp(&loss(x)));
    // Where nothing is lost, no layer loses most.
    if loss(all[0]) == 0.0 {
        return None;
    }
    let one = |row: &&TensorQuantisationRow| match (row.quantisation.product_error, row.quantisation.sqnr) {
        (Some(error), _) => format!("'{}' (product error {})", row.tensor, three_digits(error)),
        (None, Some(sqnr)) => format!("'{}' ({} dB)", row.tensor, three_digits(sqnr)),
        (None, None) => format!("'{}'", row.tensor),
    };
    let named: Vec<String> = all.iter().take(NAMED).map(one).collect();
    Some(format!(" Most is lost in {}.", named.join(", ")))
}

/// The target of least error, in a sentence; `None` if all values are zeros, or none is a number.
pub(super) fn answer(
    targets: &[QuantisationTarget],
    rows: &[QuantisationRow],
    tensors: &[&TensorQuantisationRow],
) -> Option<String> {
    let of = |(_, row): (&QuantisationTarget, &QuantisationRow)| Some((row.sqnr?, -row.bits));
    let choices = targets.iter().zip(rows).filter_map(|both| Some((of(both)?, both)));
    let ((sqnr, bits), (target, row)) = choices.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
    let rule = target.rule_name().map_or(String::new(), |rule| format!(" with rule {rule}"));
    let among = if targets.len() > 1 { format!(" of {} choices", targets.len()) } else { String::new() };
    let error = match sqnr {
        sqnr if sqnr == f64::INFINITY => "no error".to_string(),
        sqnr if targets.len() == 1 => format!("a signal-to-noise ratio (SQNR) of {} dB", three_digits(sqnr)),
        sqnr => format!("the least error{among}, {} dB of SQNR", three_digits(sqnr)),
    };
    let (name, values) = (target.format_name(), counted(row.values, "value"));
    let layers = layers(row, tensors).unwrap_or_default();
    Some(format!("{name}{rule} has {error}, at {} bits a value, over {values}.{layers}", three_digits(-bits)))
}

pub(super) fn row(target: &QuantisationTarget, result: &TensorLosses) -> QuantisationRow {
    let (all, losses) = (&result.losses, &result.losses.losses);
    let share = |count: u64| (losses.values > 0).then(|| count as f64 / losses.values as f64);
    let (error_exponents, errors) = filled(&all.errors.0);
    let (scale_exponents, scales) = filled(&all.scales.0);
    QuantisationRow {
        to: target.format_name(),
        rule: target.rule_name(),
        per: target.sharing_name(),
        values: losses.values,
        bits: target.bits_a_value(losses.values, scales.iter().sum(), all.tensor_scales),
        sqnr: losses.energies.sqnr(),
        rms_error: losses.rms_error(),
        max_error: losses.largest_error(),
        cosine: all.cosine(),
        saturated: share(losses.saturated),
        subnormal: share(all.subnormal),
        to_zero: share(losses.to_zero),
        unchanged: share(losses.exact),
        nan: Some(losses.nan).filter(|count| *count > 0),
        infinite: Some(losses.infinite).filter(|count| *count > 0),
        void: Some(losses.void).filter(|count| *count > 0),
        product_error: result.product.and_then(|product| product.relative_rms()),
        error_exponents,
        errors,
        scale_exponents,
        scales,
    }
}

/// A run of a tensor with rows of this many columns.
pub(super) fn worst(target: &QuantisationTarget, tensor: &str, columns: usize, run: &WorstRun) -> WorstRunRow {
    WorstRunRow {
        to: target.format_name(),
        rule: target.rule_name(),
        per: target.sharing_name(),
        tensor: tensor.to_string(),
        row: run.at / columns.max(1) as u64,
        column: run.at % columns.max(1) as u64,
        largest: f64::from(run.largest),
        sqnr: decibels(run.ratio),
    }
}

/// The binades that are not empty, by their exponents.
fn filled(bins: &[u64; BINADES]) -> (Vec<i64>, Vec<u64>) {
    (0..).zip(bins).filter(|(_, count)| **count > 0).map(|(number, count)| (number - BIAS, *count)).unzip()
}
