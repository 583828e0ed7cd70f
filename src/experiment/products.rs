//! Errors of matrix products against k, with and without promotion.

use super::{
    AccumulatorChoice, ExperimentRun, ProductFigure, ProductLine,
    operands::{self, ComputedProduct},
};
use crate::{
    Error, Result, Stage,
    arithmetic::Rule,
    base::{available::if_available, sentence::span},
    device::Device,
    gemm::{Yardstick, accuracy},
    isa,
    report::{Table, three_digits},
};

crate::rows! {
    /// Errors of products against the exact sums.
    pub struct ProductErrorRow in "product_errors" {
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Number of k after which sums are promoted to a register of f32; none: never.
        promote: Option<usize> => shown("promoted every").if_filled().essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// Elements.
        elements: usize => shown("elements"),
        /// The mean difference over the mean magnitude of the elements.
        error: Option<f64> => shown("mean error / mean magnitude").essential(),
        /// The mean of the relative differences.
        mean_relative: Option<f64> => shown("mean relative"),
        /// The largest difference.
        max_error: Option<f64> => shown("max error"),
        /// The mean magnitude of the elements.
        magnitude: f64 => shown("mean magnitude"),
    }
}

/// Adds the errors of each line on each device that has its instruction, for the same operands.
pub(super) fn run(figure: &ProductFigure, run: &mut ExperimentRun) -> Result<()> {
    let lines = run.devices.iter_mut().map(|device| lines(figure, device.as_mut())).collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    let outcome = measure(figure, lines, run, &mut rows);
    run.report.answer = run.report.answer.take().or_else(|| answer(&rows));
    run.report.tables.push(Table::of("Errors of matrix products", rows));
    outcome
}

fn lines(figure: &ProductFigure, device: &mut dyn Device) -> Result<Vec<ProductLine>> {
    let mut lines = Vec::new();
    for line in &figure.lines {
        lines.extend(if_available(device.has(&line.instruction))?.map(|()| line.clone()));
    }
    if let Some(AccumulatorChoice::EveryRule) = figure.accumulators {
        lines.extend(every_rule(device));
    }
    match lines.is_empty() {
        false => Ok(lines),
        true => {
            let name = &device.identity().name;
            Err(Error::unavailable(format!("{name} has none of the instructions of the experiment's products")))
        }
    }
}

fn measure(
    figure: &ProductFigure,
    own: Vec<Vec<ProductLine>>,
    run: &mut ExperimentRun,
    rows: &mut Vec<ProductErrorRow>,
) -> Result<()> {
    let ExperimentRun { devices, options, progress, .. } = run;
    let lines: usize = own.iter().map(Vec::len).sum();
    let (mut done, total) = (0, (lines * figure.k.iter().sum::<usize>()) as u64);
    for (device, lines) in devices.iter_mut().zip(own) {
        let name = device.identity().name.to_string();
        for line in lines {
            let i = &line.instruction;
            for &k in &figure.k {
                progress(Stage { what: &format!("products by {i} on {name}, k = {k}"), done, total });
                let ComputedProduct { factors, schedule, d } =
                    operands::product(device.as_mut(), i, line.promote, figure, k, options.seed)?;
                done += k as u64;
                let magnitude = (0..d.codes.len()).map(|at| d.value(at / d.columns, at % d.columns).abs()).sum::<f64>()
                    / d.codes.len() as f64;
                let accuracy = accuracy(&schedule, &factors, &d)?;
                let exact = accuracy.iter().find(|own| own.yardstick == Yardstick::Exact);
                rows.push(ProductErrorRow {
                    device: name.clone(),
                    instruction: i.name.clone(),
                    promote: line.promote,
                    k,
                    elements: exact.map_or(0, |own| own.elements),
                    error: exact.and_then(|own| own.absolute.mean()).map(|error| error / magnitude),
                    mean_relative: exact.and_then(|own| own.relative.mean()),
                    max_error: exact.and_then(|own| own.absolute.maximum()),
                    magnitude,
                });
            }
        }
    }
    Ok(())
}

/// The largest and the smallest error, in a sentence; `None` without an error.
fn answer(rows: &[ProductErrorRow]) -> Option<String> {
    let named = |row: &ProductErrorRow, error: f64| {
        let promoted = row.promote.map_or(String::new(), |every| format!(", promoted every {every}"));
        format!("{} ({} on {}, k = {}{promoted})", three_digits(error), row.instruction, row.device, row.k)
    };
    Some(format!("The mean error over the mean magnitude is {}.", span(rows, |row| row.error, named)?))
}

/// For each floating-point rule of a model: its first instruction, and the first with a sparse A.
fn every_rule(device: &dyn Device) -> Vec<ProductLine> {
    let Some(model) = device.model() else { return Vec::new() };
    let mut known: Vec<(*const Rule, bool)> = Vec::new();
    let mut lines = Vec::new();
    for instruction in isa::all().iter().filter(|i| !i.d.is_integer() && model.has(i.support)) {
        let Some(rule) = model.rule(instruction) else { continue };
        let key = (std::ptr::from_ref(rule), instruction.is_sparse());
        if !known.contains(&key) && operands::makes_products(instruction) {
            known.push(key);
            lines.push(ProductLine { instruction: instruction.clone(), promote: None });
        }
    }
    lines
}
