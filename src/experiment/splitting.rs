//! Published errors of products by splitting schemes, compared with measured ones.

use serde::{Deserialize, Deserializer};

use super::{
    CellVerdict, ExperimentRun, Options, Printed, STANDARD_ERRORS,
    file::is_of,
    finding::{Condition, FindingResult},
    keys,
    known::arithmetic_of_element,
    score::FigureOutcome,
    table,
    verdict::{Judgement, why},
};
use crate::{
    Result, Stage,
    arithmetic::Program,
    base::{named::named, sentence::span},
    device::Device,
    emulate::{self, EmulateRequest, EmulationResult, ProductErrors},
    inputs::Draw,
    product::ProductShape,
    report::{Table, three_digits},
    scheme::{Emulated, Scheme, SchemeUnit},
    summary::Summary,
};

/// Largest number of rows and columns of a product.
const MOST: usize = 1 << 14;
/// Sampling error, as a share of the published figure, beyond which nearly any arithmetic would pass.
const WIDE: f64 = 0.5;

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

/// Products of drawn matrices of f32 by schemes, and published errors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplittingFigure {
    /// The schemes.
    #[serde(deserialize_with = "keys::schemes")]
    pub schemes: Vec<Scheme>,
    /// The terms of each sum.
    pub k: Vec<usize>,
    /// Rows and columns of the products; the published products are square.
    pub elements: [usize; 2],
    /// Distribution of the elements of both operands.
    #[serde(deserialize_with = "keys::draw")]
    pub values: Draw,
    /// Number of draws of the operands.
    pub draws: u64,
    /// The published cells.
    #[serde(default, rename = "cell")]
    pub cells: Vec<SplittingCell>,
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

impl SplittingFigure {
    pub(super) fn defect(&self) -> Option<String> {
        let [rows, columns] = self.elements;
        let wrong = |what: String| Some(format!("[splitting]: {what}"));
        if let Some(scheme) = self.schemes.iter().find(|scheme| scheme.emulates == Emulated::Double) {
            return wrong(format!("{} emulates f64; those are [doubles]", scheme.name));
        }
        if let Some(scheme) = self.schemes.iter().find(|scheme| scheme.is_integer()) {
            return wrong(format!("{} multiplies integers; those are [integers]", scheme.name));
        }
        if self.schemes.is_empty() || self.k.is_empty() || !(1..=1000).contains(&self.draws) {
            return wrong("it needs a scheme, a k, and 1 to 1000 draws".into());
        }
        if [rows, columns].iter().chain(&self.k).any(|own| !(1..=MOST).contains(own)) {
            return wrong(format!("elements and k are from 1 to {MOST}"));
        }
        let known = |name: &String| self.schemes.iter().any(|scheme| scheme.name == *name);
        for cell in &self.cells {
            if let Some(name) = cell.over.iter().chain([&cell.of]).find(|name| !known(name)) {
                return wrong(format!("a cell names the scheme {name}, which is not among its schemes"));
            }
            if let Some(k) = cell.k.filter(|k| !self.k.contains(k)) {
                return wrong(format!("a cell is of k = {k}, which is not among its k"));
            }
        }
        None
    }

    /// The errors of the scheme of this name on a device at one k.
    fn of<'m>(&self, name: &str, device: usize, k: usize, all: &'m [SchemeErrors]) -> Option<&'m SchemeErrors> {
        all.iter().find(|own| (own.device, own.k) == (device, k) && self.schemes[own.scheme].name == name)
    }
}

/// The errors of one scheme on one device at one k, draw by draw.
struct SchemeErrors {
    scheme: usize,
    device: usize,
    k: usize,
    draws: Vec<[ProductErrors; 2]>,
}

/// Everything that decides the errors of a product by a scheme.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SchemeKey {
    scheme: Scheme,
    /// The arithmetic of each sum.
    programs: Vec<Program>,
    shape: ProductShape,
    rows: usize,
    draw: Option<Draw>,
    seed: u64,
}

impl SplittingFigure {
    /// The computed rows and columns of a product with k terms.
    fn elements(&self, k: usize, options: Options) -> [usize; 2] {
        if options.whole { [k, k] } else { self.elements }
    }

    /// The elements of all draws of a product.
    fn sampled(&self, k: usize, options: Options, draws: usize) -> usize {
        let [rows, columns] = self.elements(k, options);
        rows * columns * draws
    }

    /// True if no cell is of a device's generation, so that none can be judged.
    fn is_for_others(&self, device: &dyn Device) -> bool {
        !self.cells.is_empty() && !self.cells.iter().any(|cell| is_of(device, &cell.generation))
    }
}

/// The errors of the products of schemes and shapes, equal arithmetic on equal operands once.
///
/// `units` has the unit of each scheme on each device; `done` gets scheme, device, k and errors.
pub(super) fn products(
    schemes: &[Scheme],
    units: &[Vec<Option<SchemeUnit>>],
    shapes: &[(ProductShape, usize)],
    (draw, seed): (Option<Draw>, u64),
    run: (&mut ExperimentRun, &dyn Fn(u64, u64) -> (u64, u64)),
    done: &mut dyn FnMut(usize, usize, usize, &EmulationResult),
) -> Result<()> {
    let (ExperimentRun { devices, progress, known, .. }, share) = run;
    let (mut before, terms) = (0, shapes.iter().map(|(shape, _)| shape.k as u64).sum());
    for (shape, rows) in shapes {
        let key = |scheme: usize, device: usize| {
            let unit = units[scheme][device].as_ref()?;
            let programs = unit.instructions.iter().map(|i| arithmetic_of_element(devices[device].as_ref(), i));
            let (scheme, shape, rows) = (schemes[scheme].clone(), *shape, *rows);
            Some(SchemeKey { scheme, programs: programs.collect::<Option<_>>()?, shape, rows, draw, seed })
        };
        let keys: Vec<Vec<Option<SchemeKey>>> =
            (0..schemes.len()).map(|scheme| (0..devices.len()).map(|device| key(scheme, device)).collect()).collect();
        let first = |scheme: usize, device: usize| {
            let Some(own) = &keys[scheme][device] else { return true };
            known.schemes.get(own).is_none() && !keys[scheme][..device].iter().flatten().any(|other| other == own)
        };
        let of_scheme = |(scheme, units): (usize, &Vec<Option<SchemeUnit>>)| {
            let own = |(device, unit): (usize, &Option<SchemeUnit>)| unit.clone().filter(|_| first(scheme, device));
            units.iter().enumerate().map(own).collect()
        };
        let request = EmulateRequest {
            schemes: schemes.to_vec(),
            units: units.iter().enumerate().map(of_scheme).collect(),
            shapes: vec![*shape],
            draw,
            seed,
            within: None,
            rows: Some(*rows),
            operands: None,
            keep: false,
        };
        let mut computed = Vec::new();
        let outcome = emulate::run(devices, &request, &mut computed, &mut |stage| {
            let (done, total) = share(before + shape.k as u64 * stage.done / stage.total.max(1), terms);
            progress(Stage { done, total, ..stage });
        });
        before += shape.k as u64;
        for own in &computed {
            if let Some(key) = &keys[own.scheme][own.device] {
                known.schemes.add(key.clone(), own.outcome.clone());
            }
        }
        for (scheme, of_scheme) in keys.iter().enumerate() {
            for (device, key) in of_scheme.iter().enumerate() {
                let own = || computed.iter().find(|own| (own.scheme, own.device) == (scheme, device));
                let found = match key {
                    Some(key) => known.schemes.get(key),
                    None => own().map(|own| &own.outcome),
                };
                if let Some(found) = found {
                    done(scheme, device, shape.k, found);
                }
            }
        }
        outcome?;
    }
    Ok(())
}

/// Computes the products by every scheme on every device, and adds the tables.
pub(super) fn run(plan: &SplittingFigure, run: &mut ExperimentRun) -> Result<()> {
    let options = run.options;
    let draws = options.samples.unwrap_or(plan.draws);
    let mut units = SchemeUnit::of_each(&plan.schemes, run.devices, None, false)?;
    for (at, device) in run.devices.iter().enumerate() {
        if options.published_only && plan.is_for_others(device.as_ref()) {
            units.iter_mut().for_each(|units| units[at] = None);
        }
    }
    let shape = |k: &usize| {
        let [rows, columns] = plan.elements(*k, options);
        (ProductShape { m: rows, n: columns, k: *k }, rows)
    };
    let shapes: Vec<(ProductShape, usize)> = plan.k.iter().map(shape).collect();
    let mut measured: Vec<SchemeErrors> = Vec::new();
    let outcome = (0..draws).try_for_each(|draw| {
        // The steps of a product stand for a part of one draw.
        let share = |done: u64, total: u64| (draw * total + done, draws * total);
        let sizes = (Some(plan.values), options.seed.wrapping_add(draw));
        products(&plan.schemes, &units, &shapes, sizes, (&mut *run, &share), &mut |scheme, device, k, found| {
            take(&mut measured, (scheme, device, k), found);
        })
    });
    let ExperimentRun { experiment, devices, report, score, .. } = run;
    report.notes.push(plan.note(options, draws));
    let mut cells = Vec::new();
    for cell in &plan.cells {
        for (at, device) in devices.iter().enumerate() {
            let figures = cell.figures(plan, at, &measured, draws);
            // Not reached, where the work was ended.
            if outcome.is_ok() || !figures.is_empty() {
                let elements = cell.k.or(plan.k.iter().copied().max()).map(|k| plan.sampled(k, options, 1));
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
            findings.extend(score.finding((name, counts), finding, finding.check.of_schemes(plan, at, &measured)));
        }
    }
    report.tables.extend(table::findings(findings));
    let row = |own: &SchemeErrors| {
        let scheme = &plan.schemes[own.scheme];
        let mut binades = std::collections::BTreeMap::<i32, u64>::new();
        for (exponent, count) in own.draws.iter().flat_map(|[single, _]| single.binades()) {
            *binades.entry(exponent).or_default() += count;
        }
        let [max_absolute, max_error, mred, rms] =
            [ErrorMetric::MaxAbsolute, ErrorMetric::MaxError, ErrorMetric::Mred, ErrorMetric::Rms]
                .map(|metric| own.summary(metric));
        let exact = summary(own.draws.iter().map(|[_, exact]| exact.mred));
        let mean = |all: Summary| all.mean().unwrap_or(f64::NAN);
        SplittingErrorRow {
            scheme: scheme.name.clone(),
            products: scheme.products(),
            device: devices[own.device].identity().name.to_string(),
            instructions: units[own.scheme][own.device].as_ref().map_or(Vec::new(), SchemeUnit::names),
            k: own.k,
            elements: plan.sampled(own.k, options, own.draws.len()),
            draws: own.draws.len(),
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
    let rows: Vec<SplittingErrorRow> = measured.iter().map(row).collect();
    report.answer = answer(&rows);
    report.tables.extend(Table::of("Errors of schemes, means over all draws", rows).filled());
    outcome
}

/// The smallest and the largest error, in a sentence; `None` without an error.
fn answer(rows: &[SplittingErrorRow]) -> Option<String> {
    let named = |row: &SplittingErrorRow, error: f64| {
        format!("{} ({} on {}, k = {})", three_digits(error), row.scheme, row.device, row.k)
    };
    Some(format!("The mean relative error to plain f32 is {}.", span(rows, |row| Some(row.mred), named)?))
}

fn take(measured: &mut Vec<SchemeErrors>, at: (usize, usize, usize), found: &EmulationResult) {
    let EmulationResult::Numbers { errors, .. } = found else { return };
    let [single, _, exact] = errors[..] else { return };
    match measured.iter_mut().find(|known| (known.scheme, known.device, known.k) == at) {
        Some(known) => known.draws.push([single, exact]),
        None => measured.push(SchemeErrors { scheme: at.0, device: at.1, k: at.2, draws: vec![[single, exact]] }),
    }
}

/// The summary of one number for each draw.
fn summary(draws: impl Iterator<Item = f64>) -> Summary {
    let mut summary = Summary::default();
    draws.for_each(|own| summary.add(Some(own)));
    summary
}

impl SchemeErrors {
    /// The error of a draw, if it was computed.
    fn error(&self, draw: usize, metric: ErrorMetric) -> Option<f64> {
        let [single, _] = self.draws.get(draw)?;
        Some(match metric {
            ErrorMetric::MaxAbsolute => single.absolute,
            ErrorMetric::MaxError => single.max_error,
            ErrorMetric::Mred => single.mred,
            ErrorMetric::Rms => single.rms,
        })
    }

    fn summary(&self, metric: ErrorMetric) -> Summary {
        summary((0..self.draws.len()).filter_map(|draw| self.error(draw, metric)))
    }

    fn mean(&self, metric: ErrorMetric) -> f64 {
        self.summary(metric).mean().unwrap_or(f64::NAN)
    }
}

impl SplittingCell {
    /// The figures of the draws on a device; empty where a scheme was not computed, or one is not finite.
    fn figures(&self, plan: &SplittingFigure, device: usize, measured: &[SchemeErrors], draws: u64) -> Vec<f64> {
        let all = (0..draws as usize).map_while(|draw| self.of_draw(plan, device, measured, draw));
        let all: Vec<f64> = all.collect();
        if all.iter().all(|own| own.is_finite()) { all } else { Vec::new() }
    }

    /// The figure of one draw on a device; `None` where a scheme was not computed.
    fn of_draw(&self, plan: &SplittingFigure, device: usize, measured: &[SchemeErrors], draw: usize) -> Option<f64> {
        let ks = || plan.k.iter().copied().filter(|k| self.k.is_none_or(|own| own == *k));
        let error = |name: &String, k: usize| plan.of(name, device, k, measured)?.error(draw, self.metric);
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
    let judgement = all.mean().filter(|_| counts).map(|mean| {
        // The published figure is of one draw.
        let error = deviation.unwrap_or(0.0) * (1.0 + 1.0 / draws as f64).sqrt();
        Judgement::of_difference((mean - cell.published.value).abs(), &cell.published, error)
    });
    let verdict = judgement.map(|own| own.verdict);
    let varies = deviation.is_some_and(|own| STANDARD_ERRORS * own > WIDE * cell.published.value);
    let words = match verdict {
        Some(CellVerdict::Sampling) if varies => {
            "reproduced, with little power: it varies that much from draw to draw".into()
        }
        verdict => CellVerdict::words(verdict, true, cell.explanation.is_some(), cell.accepted.is_some()),
    };
    let device = device.identity().name.to_string();
    let elsewhere = (!counts).then(|| format!("published on {}", cell.generation));
    let outcome = FigureOutcome {
        figure: cell.name(),
        device: device.clone(),
        published: cell.published.text.clone(),
        measured: all.mean(),
        standard_error: all.standard_error(),
        samples: elements.map(|elements| (elements * draws) as u64).filter(|samples| *samples > 0),
        judgement,
        verdict: words.clone(),
        why: why(verdict, &cell.accepted, &cell.explanation).or(elsewhere),
        decides: cell.accepted.is_none(),
    };
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
        distance: judgement.and_then(|own| own.distance),
        draws: draws as u64,
        verdict: words,
        why: why(verdict, &cell.accepted, &cell.explanation),
        counts,
    };
    (outcome, row)
}

impl SplittingFigure {
    /// The note on what was sampled, and on verdicts.
    fn note(&self, options: Options, draws: u64) -> String {
        let [rows, columns] = self.elements;
        let largest = [ErrorMetric::MaxAbsolute, ErrorMetric::MaxError];
        let sampled = match options.whole {
            true => "Products are whole squares, as published.".to_string(),
            false => format!(
                "Sampled: {rows} rows and {columns} columns of each product, all k terms of each element. The published products \
                 are whole squares; --whole computes those.{}",
                if self.cells.iter().any(|cell| largest.contains(&cell.metric)) {
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
            self.values
        )
    }
}

impl Condition {
    /// Result of the condition on a device; `None` if it is about something else, or a scheme is missing.
    fn of_schemes(&self, plan: &SplittingFigure, device: usize, measured: &[SchemeErrors]) -> Option<FindingResult> {
        let Condition::Smaller { smaller, than, metric } = self else { return None };
        let error = |name: &String, k: usize| Some(plan.of(name, device, k, measured)?.mean(*metric));
        let mut least: Option<f64> = None;
        for k in &plan.k {
            let own = error(smaller, *k)?;
            for other in than {
                let ratio = error(other, *k)? / own;
                least = Some(least.map_or(ratio, |least| least.min(ratio)));
            }
        }
        Some(FindingResult::bound("smallest ratio of another's error to it", least, |least| least > 1.0))
    }
}
