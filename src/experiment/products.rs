//! Errors of matrix products against k, with and without promotion.

pub(super) use super::operands::OperandKey;
use super::{
    ExperimentRun, ProductFigure, ProductLine,
    known::{KnownResults, arithmetic_of_element},
    lacks_all, operands,
    table::{self, UntestableRow},
};
use crate::{
    Result, Stage,
    arithmetic::Rule,
    base::{available::if_available, sentence::span},
    device::Device,
    isa,
    product::Matrix,
    report::{Table, three_digits},
    summary::Summary,
};

crate::rows! {
    /// Errors of products against the exact sums.
    #[derive(Default)]
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
        /// Its standard error, from the columns: their elements are independent but for the rows of A.
        standard_error: Option<f64> => shown("standard error").error_of("error"),
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
    let lines_by_device =
        run.devices.iter_mut().map(|device| lines(figure, device.as_mut())).collect::<Result<Vec<_>>>()?;
    let lacking = run.devices.iter().zip(&lines_by_device).filter(|(_, lines)| lines.is_empty());
    let missing: Vec<UntestableRow> = lacking
        .map(|(device, _)| {
            let name = device.identity().name.to_string();
            table::untestable_row(&name, "errors of products", None, "all of their instructions")
        })
        .collect();
    if missing.len() == run.devices.len() {
        return Err(lacks_all(run.devices, "the instructions of the experiment's products"));
    }
    let mut rows = Vec::new();
    let outcome = measure(figure, lines_by_device, run, &mut rows);
    run.report.answer = run.report.answer.take().or_else(|| answer(&rows));
    run.report.notes.push(format!(
        "Sampled: products of {} x {} elements for each k, once drawn. The standard error comes from the {} columns.",
        figure.rows, figure.columns, figure.columns
    ));
    run.report.tables.push(Table::of("Errors of matrix products", rows));
    run.report.tables.extend(table::untestable(missing));
    outcome
}

/// The lines of a device; none if it lacks all instructions.
fn lines(figure: &ProductFigure, device: &mut dyn Device) -> Result<Vec<ProductLine>> {
    let mut lines = Vec::new();
    for line in &figure.lines {
        lines.extend(if_available(device.has(&line.instruction))?.map(|()| line.clone()));
    }
    if figure.every_rule {
        lines.extend(every_rule(device));
    }
    Ok(lines)
}

fn measure(
    figure: &ProductFigure,
    lines_by_device: Vec<Vec<ProductLine>>,
    run: &mut ExperimentRun,
    rows: &mut Vec<ProductErrorRow>,
) -> Result<()> {
    let ExperimentRun { devices, options, progress, known, .. } = run;
    let lines: usize = lines_by_device.iter().map(Vec::len).sum();
    let (mut done, total) = (0, (lines * figure.k.iter().sum::<usize>()) as u64);
    for (device, lines) in devices.iter_mut().zip(lines_by_device) {
        let name = device.identity().name.to_string();
        for line in lines {
            for &k in &figure.k {
                let what = format!("products by {} on {name}, k = {k}", line.instruction);
                progress(Stage { what: &what, done, total });
                done += k as u64;
                let row = errors(figure, &line, k, options.seed, device.as_mut(), known)?;
                rows.push(ProductErrorRow { device: name.clone(), instruction: line.instruction.name.clone(), ..row });
            }
        }
    }
    Ok(())
}

/// The errors of a line at one k.
fn errors(
    figure: &ProductFigure,
    line: &ProductLine,
    k: usize,
    seed: u64,
    device: &mut dyn Device,
    known: &mut KnownResults,
) -> Result<ProductErrorRow> {
    let i = &line.instruction;
    let drawn = OperandKey::new(i, figure, k, seed);
    let key = arithmetic_of_element(device, i).map(|program| (program, line.promote, drawn));
    let KnownResults { products, operands: known, .. } = known;
    let (result, outcome) = products.once(key, |result| {
        if known.get(&drawn).is_none() {
            let factors = operands::drawn(i, figure, k, seed)?;
            let exact = operands::exact(i, &factors)?;
            known.add(drawn, (factors, exact));
        }
        let (factors, exact) = known.get(&drawn).expect("just drawn");
        let d = operands::product(device, i, line.promote, factors)?;
        *result = row(line, k, &d, exact);
        Ok(())
    });
    outcome.map(|()| result)
}

/// The errors of a product against the exact one.
fn row(line: &ProductLine, k: usize, d: &Matrix, exact: &[[f64; 2]]) -> ProductErrorRow {
    let (mut absolute, mut relative) = (Summary::default(), Summary::default());
    let (mut magnitude, mut columns) = (0.0, vec![[0.0; 2]; d.columns]);
    for (at, [high, low]) in exact.iter().enumerate() {
        let value = d.value(at / d.columns, at % d.columns);
        let error = ((value - high) - low).abs();
        absolute.add(error.is_finite().then_some(error));
        relative.add((error.is_finite() && *high != 0.0).then_some((error / high).abs()));
        magnitude += value.abs() / exact.len() as f64;
        let [errors, magnitudes] = &mut columns[at % d.columns];
        *errors += error;
        *magnitudes += value.abs();
    }
    ProductErrorRow {
        device: String::new(),
        instruction: line.instruction.name.clone(),
        promote: line.promote,
        k,
        elements: exact.len(),
        error: absolute.mean().map(|error| error / magnitude),
        standard_error: ratio_error(&columns),
        mean_relative: relative.mean(),
        max_error: absolute.maximum(),
        magnitude,
    }
}

/// The standard error of the ratio of two sums, from independent shares of both.
///
/// `None`: there are fewer than two shares, or the error is not finite.
fn ratio_error(shares: &[[f64; 2]]) -> Option<f64> {
    let count = shares.len() as f64;
    let [of, over] = shares.iter().fold([0.0; 2], |[x, y], [of, over]| [x + of, y + over]);
    let squares: f64 = shares.iter().map(|[x, y]| (x - of / over * y).powi(2)).sum();
    let error = (squares * count / (count - 1.0)).sqrt() / over;
    error.is_finite().then_some(error)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::ModelDevice, product::Values};

    /// The spread of many draws is what one draw says of its own error.
    #[test]
    fn the_standard_error_of_a_product_is_the_spread_of_repeated_draws() {
        let figure = ProductFigure {
            rows: 4,
            columns: 32,
            values: Values::Normal,
            k: vec![64],
            lines: Vec::new(),
            every_rule: false,
        };
        let line = ProductLine { instruction: isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap(), promote: None };
        let mut device = ModelDevice::open("ampere").unwrap();
        let mut known = KnownResults::default();
        let draws: Vec<ProductErrorRow> =
            (0..200).map(|seed| errors(&figure, &line, 64, seed, &mut device, &mut known).unwrap()).collect();
        let mut means = Summary::default();
        draws.iter().for_each(|draw| means.add(draw.error));
        let spread = means.standard_error().unwrap() * 200f64.sqrt();
        let said = draws.iter().filter_map(|draw| draw.standard_error).sum::<f64>() / 200.0;
        assert!((said / spread - 1.0).abs() < 0.2, "{said:e}, {spread:e}");
        // By hand: ratio 3/4, residuals 1/4 and -1/4; the root of twice the sum of their squares is 1/2.
        assert_eq!(ratio_error(&[[1.0, 1.0], [2.0, 3.0]]), Some(0.125));
        assert_eq!(ratio_error(&[[1.0, 1.0]]), None);
    }
}
