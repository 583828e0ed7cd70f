//! Tables and notes of chains.

use std::fmt::Display;

use super::{ChainCurve, ChainPoint, ChainRequest, inits_coincide};
use crate::{
    base::sentence::{self, span},
    device::Execution,
    report::{Table, three_digits},
};

crate::rows! {
    /// A curve: execution, overflow, error at both ends.
    pub struct CurveRow in "curves" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The device that ran it.
        device: Option<String> => shown("device").if_varied().essential(),
        /// The vendor's spelling.
        ptx: String => hidden(),
        /// Start of the references: rounded operands (low) or not (fp32).
        init: &'static str => shown("init").essential(),
        /// The arithmetic of the plain reference.
        reference: &'static str => shown("reference"),
        /// The scales of the operands: a block format, or the rule for one scale per matrix.
        scales: Option<String> => shown("scales").if_filled().essential(),
        /// The kind of execution.
        execution: &'static str => shown("ran"),
        /// The machine instructions that ran.
        opcodes: Vec<String> => hidden(),
        /// The first length at which a chain has overflowed.
        first_overflow: Option<usize> => shown("overflow from N").essential(),
        /// The mean relative error after one link.
        first_error: Option<f64> => shown("error, N = 1").essential(),
        /// The last length before any overflow.
        last_length: Option<usize> => shown("last N"),
        /// The mean relative error at that length.
        last_error: Option<f64> => shown("error, last N").essential(),
    }

    /// A curve at one length.
    pub struct PointRow in "chain" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The device that ran it.
        device: Option<String> => shown("device").if_varied().essential(),
        /// Start of the references: rounded operands (low) or not (fp32).
        init: &'static str => shown("init").essential(),
        /// The length, in links.
        length: usize => shown("N").essential(),
        /// The arithmetic of the plain reference.
        reference: &'static str => hidden(),
        /// Chains that are still finite.
        finite: u64 => shown("finite"),
        /// Chains that have overflowed.
        overflowed: u64 => shown("overflowed").essential(),
        /// Chains that are finite in the reference too; the error is a mean over them.
        reference_count: u64 => shown("compared"),
        /// The mean relative error against the plain reference.
        reference_error: Option<f64> => shown("error to reference").essential(),
        /// Its standard error.
        reference_standard_error: Option<f64> => shown("standard error").error_of("reference_error"),
        /// The largest relative error against the plain reference.
        reference_largest_error: Option<f64> => hidden(),
        /// The mean relative error against the exact product.
        exact_error: Option<f64> => shown("error to exact").essential(),
        /// Its standard error.
        exact_standard_error: Option<f64> => shown("standard error").error_of("exact_error"),
        /// The largest relative error against the exact product.
        exact_largest_error: Option<f64> => hidden(),
    }
}

/// Notes for the reader.
pub fn notes(plan: &ChainRequest) -> Vec<String> {
    let mut notes = vec![
        format!(
            "{} chains; a mean is over the chains that are still finite. A chain has overflowed at N when an infinity or NaN \
             is in its result, or a saturated entry went into it, after N links or fewer. In the plot a line ends before \
             the first N at which any chain overflowed.",
            plan.chains
        ),
        "Random numbers are Normal(0, 1), drawn in binary64 and rounded to binary32. The reference is the same chain in \
         plain f32 (f64, i64 for f64, integer instructions): ascending k, each product and each sum rounded. The exact \
         product is computed without any rounding. With init low both start from the operands rounded to their formats, \
         with fp32 from the numbers in binary32."
            .to_string(),
    ];
    if plan.curves.iter().any(|(instruction, _)| inits_coincide(instruction)) {
        notes.push("Init low and fp32 coincide for f64 and integer operands, which hold the random numbers.".into());
    }
    if plan.curves.iter().any(|(instruction, _)| instruction.a.is_integer()) {
        notes.push(
            "Integer entries are uniform in -1..=1, unsigned ones in 0..=1; a result saturates on its entry into the next link."
                .into(),
        );
    }
    notes
}

/// A row for each curve with at least one link on `device`; `executions` has the execution of each.
fn curve_rows<'a>(
    device: Option<&'a str>,
    curves: &'a [ChainCurve],
    executions: &'a [Execution],
) -> impl Iterator<Item = CurveRow> + 'a {
    let row = move |(curve, execution): (&ChainCurve, &Execution)| {
        let drawn = curve.without_overflow();
        let error = |point: Option<&ChainPoint>| point.and_then(|p| p.against_plain.mean());
        CurveRow {
            instruction: curve.instruction.name.clone(),
            device: device.map(Into::into),
            ptx: curve.instruction.ptx.clone(),
            init: curve.init.name(),
            reference: curve.plain.name(),
            scales: curve.scales.clone(),
            execution: execution.kind.name(),
            opcodes: execution.opcodes.clone(),
            first_overflow: curve.points.get(drawn.len()).map(|p| p.length),
            first_error: error(drawn.first()),
            last_length: drawn.last().map(|p| p.length),
            last_error: error(drawn.last()),
        }
    };
    curves.iter().zip(executions).filter(|(curve, _)| !curve.points.is_empty()).map(row)
}

/// The errors of chains, in a sentence; `None` without a curve.
fn answer(rows: &[CurveRow], devices: &[impl Display]) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let device = sentence::devices(devices);
    let overflowed = rows.iter().filter(|row| row.first_overflow.is_some()).count();
    let overflow = match (rows.iter().filter_map(|row| row.first_overflow).min(), overflowed) {
        (None, _) => "no chain overflowed".to_string(),
        (Some(first), _) if rows.len() == 1 => format!("chains overflow from N = {first} on"),
        (Some(first), some) => format!("chains overflow in {some} of {} curves, from N = {first} on", rows.len()),
    };
    let named = |row: &CurveRow, error: f64| {
        let on = row.device.as_ref().map_or(String::new(), |device| format!(" on {device}"));
        let length = row.last_length.unwrap_or_default();
        format!("{} after {length} links ({}, init {}{on})", three_digits(error), row.instruction, row.init)
    };
    Some(match span(rows, |row| row.last_error, named) {
        None => format!("On {device} {overflow}: there is no mean error."),
        Some(errors) => format!("On {device} the mean relative error is {errors}; {overflow}."),
    })
}

fn points<'a>(device: Option<&'a str>, curves: &'a [ChainCurve]) -> impl Iterator<Item = PointRow> + 'a {
    let row = move |curve: &ChainCurve, point: &ChainPoint| PointRow {
        instruction: curve.instruction.name.clone(),
        device: device.map(Into::into),
        init: curve.init.name(),
        length: point.length,
        reference: curve.plain.name(),
        finite: point.finite,
        overflowed: point.overflowed,
        reference_count: point.against_plain.count(),
        reference_error: point.against_plain.mean(),
        reference_standard_error: point.against_plain.standard_error(),
        reference_largest_error: point.against_plain.maximum(),
        exact_error: point.against_exact.mean(),
        exact_standard_error: point.against_exact.standard_error(),
        exact_largest_error: point.against_exact.maximum(),
    };
    curves.iter().flat_map(move |curve| curve.points.iter().map(move |point| row(curve, point)))
}

/// Answer and tables, from the curves and executions of each device; unnamed devices are not shown.
pub fn results<'a>(
    curves: impl IntoIterator<Item = (Option<&'a str>, &'a [ChainCurve], &'a [Execution])>,
    devices: &[impl Display],
) -> (Option<String>, [Table; 2]) {
    let (mut ends, mut all) = (Vec::new(), Vec::new());
    for (device, device_curves, executions) in curves {
        ends.extend(curve_rows(device, device_curves, executions));
        all.extend(points(device, device_curves));
    }
    let answer = answer(&ends, devices);
    let ends = Table::of("Relative error of chains by instruction, up to the last length without overflow", ends);
    let title = "Relative error ||D_low - D_ref|| / ||D_low|| after N links, mean over the finite chains";
    (answer, [ends, Table::of(title, all)])
}
