//! Published errors of products by splitting schemes, compared with measured ones.

use serde::{Deserialize, Deserializer};

use super::{
    EmulateQuestion, ExperimentRun, FigureRow, NOT_TESTABLE, Options, Printed, STANDARD_ERRORS,
    emulated::{Products, SchemeResults},
    file::is_of,
    finding::{Condition, FindingResult},
    keys,
    score::FigureOutcome,
    table,
    verdict::{Judgement, why},
};
use crate::{
    Result,
    base::{named::named, sentence::span},
    device::Device,
    emulate::ProductErrors,
    report::{Table, three_digits},
    scheme::SchemeUnit,
    summary::Summary,
};

named! {
    /// An error of a product, against plain f32.
    pub enum ErrorMetric {
        MaxAbsolute = "max |V-V_f32|": "The largest |V - V_f32|";
        MaxError = "Max_error": "The largest |V - V_f32| / (|V| + |V_f32|)";
        Mred = "MRED": "The mean |V_f32 - V| / |V_f32|";
        Rms = "rms": "The root of the mean (V - V_f32)^2";
    }
}

named! {
    /// The quantity that is averaged over sizes.
    pub enum Averaged {
        Errors = "errors": "The errors of each scheme; a ratio is the ratio of the means";
        Ratios = "ratios": "The ratios at each size";
    }
}

impl<'de> Deserialize<'de> for ErrorMetric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        keys::named(deserializer)
    }
}

/// One published cell.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplittingCell {
    /// The generation of the published figure, by its model.
    pub generation: String,
    /// The scheme.
    pub of: String,
    /// The scheme of the denominator, if the figure is a ratio.
    pub over: Option<String>,
    /// The kind of error.
    pub metric: ErrorMetric,
    /// The k; without one, the mean over all.
    pub k: Option<usize>,
    /// The averaged quantity.
    #[serde(default = "errors", deserialize_with = "keys::named")]
    pub averaged: Averaged,
    /// The figure as printed.
    pub published: Printed,
    /// Explanation of a difference.
    pub explanation: Option<String>,
    /// Reason for accepting a difference.
    pub accepted: Option<String>,
}

fn errors() -> Averaged {
    Averaged::Errors
}

crate::rows! {
    /// A published error of a splitting scheme, measured on a device.
    pub struct SplittingCellRow in "splitting_cells" {
        /// The scheme.
        of: String => shown("error of").essential(),
        /// The scheme of the denominator.
        over: Option<String> => shown("over error of").essential(),
        /// The kind of error.
        metric: &'static str => shown("error").essential(),
        /// The k; none: the mean over all.
        k: Option<usize> => shown("k").if_filled().essential(),
        /// The quantity averaged over k.
        averaged: Option<&'static str> => hidden(),
        /// The generation that the published figure was measured on.
        generation: String => shown("published on").if_varied().essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The figure as printed.
        published: String => shown("published").essential(),
        /// The measured figure: the mean over all draws.
        measured: Option<f64> => shown("here").essential(),
        /// Its standard error, from the draws.
        standard_error: Option<f64> => shown("standard error").error_of("measured"),
        /// The standard deviation from draw to draw, which one published draw has too.
        deviation: Option<f64> => shown("from draw to draw"),
        /// The difference beyond the printed digits, in standard errors of both figures together.
        distance: Option<f64> => shown("standard errors apart"),
        /// Draws.
        draws: u64 => shown("draws"),
        /// Verdict on the published figure.
        verdict: String => shown("verdict").essential(),
        /// Explanation of a difference.
        why: Option<String> => shown("why").if_filled(),
        /// The verdict decides the exit status: the device has the published arithmetic, or an unknown one.
        counts: bool => hidden(),
    }

    /// The errors of a scheme on a device, by k: the means over all draws.
    pub struct SplittingErrorRow in "splitting_errors" {
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// Number of products of parts.
        products: usize => shown("products").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// The instructions.
        instructions: Vec<String> => shown("instruction"),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// Elements, in all draws.
        elements: usize => shown("elements"),
        /// Draws.
        draws: usize => shown("draws"),
        /// The largest |V - V_f32|.
        max_absolute: f64 => shown("max |V-V_f32|").essential(),
        /// Its standard error, from the draws.
        max_absolute_standard_error: Option<f64> => shown("standard error").error_of("max_absolute"),
        /// The largest |V - V_f32| / (|V| + |V_f32|).
        max_error: f64 => shown("Max_error").essential(),
        /// Its standard error, from the draws.
        max_error_standard_error: Option<f64> => shown("standard error").error_of("max_error"),
        /// The mean |V_f32 - V| / |V_f32|.
        mred: f64 => shown("MRED").essential(),
        /// Its standard error, from the draws.
        mred_standard_error: Option<f64> => shown("standard error").error_of("mred"),
        /// The root of the mean (V - V_f32)^2.
        rms: f64 => shown("rms").essential(),
        /// Its standard error, from the draws.
        rms_standard_error: Option<f64> => shown("standard error").error_of("rms"),
        /// The mean |S - V| / |S|, with the exact S.
        exact_mred: f64 => shown("MRED to exact"),
        /// Its standard error, from the draws.
        exact_mred_standard_error: Option<f64> => shown("standard error").error_of("exact_mred"),
        /// Binades that hold a |V - V_f32|, by exponents of two, ascending; the lowest, -48, also holds zero.
        error_exponents: Vec<i64> => hidden(),
        /// Number of |V - V_f32| in each of these binades.
        error_counts: Vec<u64> => hidden(),
    }
}

/// True if no cell is of a device's generation, so that none can be judged.
pub(super) fn is_for_others(plan: &EmulateQuestion, device: &dyn Device) -> bool {
    !plan.cells.is_empty() && !plan.cells.iter().any(|cell| is_of(device, &cell.generation))
}

/// Adds the tables of published and of all errors, and the findings about them.
pub(super) fn report(plan: &EmulateQuestion, run: &mut ExperimentRun, done: &Products, outcome: &Result<()>) {
    let ExperimentRun { experiment, devices, options, report, score, .. } = run;
    let sampled = |k: usize| plan.elements(k, *options).iter().product::<usize>();
    report.notes.push(note(plan, *options, done.draws));
    let mut cells = Vec::new();
    for cell in &plan.cells {
        for (at, device) in devices.iter().enumerate() {
            let figures = cell.figures(plan, at, done);
            // Not reached, where the work was ended.
            if outcome.is_ok() || !figures.is_empty() {
                let elements = cell.k.or(plan.k.iter().copied().max()).map(sampled);
                let (outcome, row) = judged(cell, device.as_ref(), &figures, elements);
                score.figures.push(outcome);
                cells.push(row);
            }
        }
    }
    report.tables.extend(Table::of("Published and measured errors of schemes", cells).filled());
    let mut findings = Vec::new();
    for finding in experiment.findings.iter().filter(|_| outcome.is_ok()) {
        for (at, device) in devices.iter().enumerate() {
            let (name, counts) = (&device.identity().name.to_string(), experiment.counts(device.as_ref()));
            findings.extend(score.finding(name, counts, finding, finding.check.of_schemes(plan, at, done)));
        }
    }
    report.tables.extend(table::findings(findings));
    let row = |results: &SchemeResults| {
        let (scheme, draws) = (&plan.schemes[results.scheme], results.numbers().count());
        let mut binades = std::collections::BTreeMap::<i32, u64>::new();
        for (exponent, count) in results.numbers().flat_map(|[single, _]| single.binades()) {
            *binades.entry(exponent).or_default() += count;
        }
        let [max_absolute, max_error, mred, rms] = ErrorMetric::ALL.map(|metric| errors_of(results, metric));
        let exact = summary(results.numbers().map(|[_, exact]| exact.mred));
        let mean = |all: Summary| all.mean().unwrap_or(f64::NAN);
        SplittingErrorRow {
            scheme: scheme.name.clone(),
            products: scheme.products(),
            device: devices[results.device].identity().name.to_string(),
            instructions: done.units[results.scheme][results.device].as_ref().map_or(Vec::new(), SchemeUnit::names),
            k: results.k,
            elements: sampled(results.k) * draws,
            draws,
            max_absolute: mean(max_absolute),
            max_absolute_standard_error: max_absolute.standard_error(),
            max_error: mean(max_error),
            max_error_standard_error: max_error.standard_error(),
            mred: mean(mred),
            mred_standard_error: mred.standard_error(),
            rms: mean(rms),
            rms_standard_error: rms.standard_error(),
            exact_mred: mean(exact),
            exact_mred_standard_error: exact.standard_error(),
            error_exponents: binades.keys().map(|exponent| (*exponent).into()).collect(),
            error_counts: binades.values().copied().collect(),
        }
    };
    let rows: Vec<SplittingErrorRow> = done.results.iter().map(row).collect();
    report.answer = answer(&rows);
    report.tables.extend(Table::of("Errors of schemes, means over all draws", rows).filled());
}

/// The smallest and the largest error, in a sentence; `None` without an error.
fn answer(rows: &[SplittingErrorRow]) -> Option<String> {
    let named = |row: &SplittingErrorRow, error: f64| {
        format!("{} ({} on {}, k = {})", three_digits(error), row.scheme, row.device, row.k)
    };
    Some(format!("The mean relative error to plain f32 is {}.", span(rows, |row| Some(row.mred), named)?))
}

/// The summary of one number for each draw.
fn summary(draws: impl Iterator<Item = f64>) -> Summary {
    let mut summary = Summary::default();
    draws.for_each(|number| summary.add(Some(number)));
    summary
}

/// The summary of an error of all draws.
fn errors_of(results: &SchemeResults, metric: ErrorMetric) -> Summary {
    summary(results.numbers().map(|[single, _]| metric.of(single)))
}

/// The results of the scheme of this name on a device at one k.
fn results<'p>(
    plan: &EmulateQuestion,
    name: &str,
    device: usize,
    k: usize,
    done: &'p Products,
) -> Option<&'p SchemeResults> {
    let scheme = plan.scheme(name)?;
    done.results.iter().find(|results| results.is_of(scheme, device, k, 0))
}

impl ErrorMetric {
    fn of(self, errors: &ProductErrors) -> f64 {
        match self {
            ErrorMetric::MaxAbsolute => errors.absolute,
            ErrorMetric::MaxError => errors.max_error,
            ErrorMetric::Mred => errors.mred,
            ErrorMetric::Rms => errors.rms,
        }
    }
}

impl SplittingCell {
    /// The figures of the draws on a device; empty where a scheme was not computed, or one is not finite.
    fn figures(&self, plan: &EmulateQuestion, device: usize, done: &Products) -> Vec<f64> {
        let all = (0..done.draws as usize).map_while(|draw| self.of_draw(plan, device, done, draw));
        let all: Vec<f64> = all.collect();
        if all.iter().all(|figure| figure.is_finite()) { all } else { Vec::new() }
    }

    /// The figure of one draw on a device; `None` where a scheme was not computed.
    fn of_draw(&self, plan: &EmulateQuestion, device: usize, done: &Products, draw: usize) -> Option<f64> {
        let ks = || plan.k.iter().copied().filter(|k| self.k.is_none_or(|terms| terms == *k));
        let error = |name: &String, k: usize| {
            let [single, _] = results(plan, name, device, k, done)?.numbers().nth(draw)?;
            Some(self.metric.of(single))
        };
        let errors = |name: &String| ks().map(|k| error(name, k)).collect::<Option<Vec<f64>>>();
        let of = errors(&self.of)?;
        let Some(over) = &self.over else { return Some(of.iter().sum::<f64>() / of.len() as f64) };
        let over = errors(over)?;
        Some(match self.averaged {
            Averaged::Errors => of.iter().sum::<f64>() / over.iter().sum::<f64>(),
            Averaged::Ratios => of.iter().zip(&over).map(|(x, y)| x / y).sum::<f64>() / of.len() as f64,
        })
    }
}

impl SplittingCell {
    /// The name of the figure in its experiment.
    fn name(&self) -> String {
        let over = self.over.as_ref().map_or(String::new(), |over| format!(" over {over}"));
        let k = self.k.map_or("mean over k".into(), |k| format!("k = {k}"));
        format!("{} of {}{over}, {k}, {}", self.metric.name(), self.of, self.generation)
    }
}

/// The outcome of a published cell and its row, from the figures of all draws on a device.
///
/// A draw has so many elements.
fn judged(
    cell: &SplittingCell,
    device: &dyn Device,
    figures: &[f64],
    elements: Option<usize>,
) -> (FigureOutcome, SplittingCellRow) {
    let counts = is_of(device, &cell.generation);
    let (draws, all) = (figures.len(), summary(figures.iter().copied()));
    let deviation = all.standard_error().map(|error| error * (draws as f64).sqrt());
    let of_draws = |mean| Judgement::of_draws(mean, deviation.unwrap_or(0.0), draws, &cell.published);
    let judgement = all.mean().filter(|_| counts).map(of_draws);
    let words = |judgement: Judgement| judgement.words(true, cell.explanation.is_some(), cell.accepted.is_some());
    let verdict = judgement.map_or(NOT_TESTABLE.into(), words);
    let differs = why(judgement, &cell.accepted, &cell.explanation);
    let device = device.identity().name.to_string();
    let figure = FigureRow {
        figure: cell.name(),
        published: cell.published.text.clone(),
        measured: all.mean(),
        standard_error: all.standard_error(),
        samples: elements.map(|elements| (elements * draws) as u64).filter(|samples| *samples > 0),
        distance: judgement.and_then(|judgement| judgement.distance),
        verdict: verdict.clone(),
        devices: vec![device.clone()],
        why: differs.clone(),
        decides: cell.accepted.is_none(),
        ..FigureRow::default()
    };
    let missing = (!counts).then(|| format!("published on {}", cell.generation));
    let outcome = FigureOutcome { row: figure, judgement, missing };
    let row = SplittingCellRow {
        of: cell.of.clone(),
        over: cell.over.clone(),
        metric: cell.metric.name(),
        k: cell.k,
        averaged: cell.k.is_none().then(|| cell.averaged.name()),
        generation: cell.generation.clone(),
        device,
        published: cell.published.text.clone(),
        measured: all.mean(),
        standard_error: all.standard_error(),
        deviation,
        distance: judgement.and_then(|judgement| judgement.distance),
        draws: draws as u64,
        verdict,
        why: differs,
        counts,
    };
    (outcome, row)
}

/// The note on what was sampled, and on verdicts.
fn note(plan: &EmulateQuestion, options: Options, draws: u64) -> String {
    let [rows, columns] = plan.elements;
    let largest = [ErrorMetric::MaxAbsolute, ErrorMetric::MaxError];
    let sampled = match options.whole_squares {
        true => "Products are whole squares, as published.".to_string(),
        false => format!(
            "Sampled: {rows} rows and {columns} columns of each product, all k terms of each element. The published products \
                 are whole squares; ‹whole› computes those.{}",
            if plan.cells.iter().any(|cell| largest.contains(&cell.metric)) {
                " A largest error grows with the number of elements, so the sample has a smaller one than the square."
            } else {
                ""
            }
        ),
    };
    format!(
        "{sampled} A and B are {}, drawn {draws} times; ± is the standard error of the mean over draws. V_f32 is the plain sum \
             in f32, ascending k. A figure is reproduced if it rounds to the published digits, or if its difference beyond them \
             is at most {STANDARD_ERRORS} standard errors: of our mean and of one published draw together. On a device of another \
             generation a figure is not testable.",
        plan.values[0]
    )
}

impl Condition {
    /// Result of the condition on a device; `None` if it is about something else, or a scheme is missing.
    fn of_schemes(&self, plan: &EmulateQuestion, device: usize, done: &Products) -> Option<FindingResult> {
        let Condition::Smaller { smaller, than, metric } = self else { return None };
        let error = |name: &String, k: usize| {
            Some(errors_of(results(plan, name, device, k, done)?, *metric).mean().unwrap_or(f64::NAN))
        };
        let mut least: Option<f64> = None;
        for k in &plan.k {
            let ours = error(smaller, *k)?;
            for other in than {
                let ratio = error(other, *k)? / ours;
                least = Some(least.map_or(ratio, |least| least.min(ratio)));
            }
        }
        Some(FindingResult::bound("smallest ratio of another's error to it", least, |least| least > 1.0))
    }
}
