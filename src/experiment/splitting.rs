//! Published errors of products by splitting schemes, compared with measured ones.

use serde::{Deserialize, Deserializer};

use super::{
    CellVerdict, ExperimentRun, ExperimentScore, Printed, file::is_of, finding::Condition, finding::FindingResult,
    keys, table, verdict::why,
};
use crate::{
    Result, Stage,
    base::{named::named, sentence::span},
    device::Device,
    emulate::{self, EmulateRequest, Emulation, EmulationResult, ProductErrors, ProductShape, Scheme, SchemeUnit},
    inputs::Draw,
    report::{Table, three_digits},
};

/// Largest number of rows and columns of a product.
const MOST: usize = 1 << 14;
/// Sampling error, as a share of the published figure, beyond which nearly any arithmetic would pass.
const WIDE: f64 = 0.5;
/// Standard deviations of the mean over draws that still count as sampling error.
const DEVIATIONS: f64 = 2.0;

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
        /// Its standard deviation from draw to draw.
        deviation: Option<f64> => shown("+-").beside(),
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
        /// The largest |V - V_f32|.
        max_absolute: f64 => shown("max |V-V_f32|").essential(),
        /// The largest |V - V_f32| / (|V| + |V_f32|).
        max_error: f64 => shown("Max_error").essential(),
        /// The mean |V_f32 - V| / |V_f32|.
        mred: f64 => shown("MRED").essential(),
        /// The root of the mean (V - V_f32)^2.
        rms: f64 => shown("rms").essential(),
        /// The mean |S - V| / |S|, with the exact S.
        exact_mred: f64 => shown("MRED to exact"),
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

/// Computes the products by every scheme on every device, and adds the tables.
pub(super) fn run(plan: &SplittingFigure, run: &mut ExperimentRun) -> Result<()> {
    let ExperimentRun { experiment, devices, options, report, score, progress } = run;
    let draws = options.samples.unwrap_or(plan.draws);
    let [rows, columns] = plan.elements;
    let units = SchemeUnit::of_each(&plan.schemes, devices, None, false)?;
    let mut measured: Vec<SchemeErrors> = Vec::new();
    let outcome = (0..draws).try_for_each(|draw| {
        let request = EmulateRequest {
            schemes: plan.schemes.clone(),
            units: units.clone(),
            shapes: plan.k.iter().map(|k| ProductShape { m: rows, n: columns, k: *k }).collect(),
            draw: Some(plan.values),
            seed: options.seed.wrapping_add(draw),
            within: None,
            rows: Some(rows),
        };
        let mut done = Vec::new();
        let outcome = emulate::run(devices, &request, &mut done, &mut |Stage { what, done, total }| {
            progress(Stage { what: &format!("draw {draw}: {what}"), done: draw * total + done, total: draws * total });
        });
        done.into_iter().for_each(|own| take(&mut measured, own));
        outcome.map(drop)
    });
    report.notes.push(format!(
        "Products have {rows} x {columns} elements; the published products are square. A and B are {}, drawn {draws} times. V_f32 is the \
         plain sum in f32, ascending k. A cell is reproduced if the published figure is within rounding, or within {DEVIATIONS} standard \
         deviations from draw to draw (with the error of our mean), of the measured one. On a device of another generation a cell is not \
         testable.",
        plan.values
    ));
    let mut cells = Vec::new();
    for cell in &plan.cells {
        for (at, device) in devices.iter().enumerate() {
            let figures = cell.figures(plan, at, &measured, draws);
            // Not reached, where the work was ended.
            if outcome.is_ok() || !figures.is_empty() {
                cells.push(judged(cell, device.as_ref(), &figures, score));
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
        SplittingErrorRow {
            scheme: scheme.name.clone(),
            products: scheme.products(),
            device: devices[own.device].identity().name.to_string(),
            instructions: units[own.scheme][own.device].as_ref().map_or(Vec::new(), SchemeUnit::names),
            k: own.k,
            elements: rows * columns * own.draws.len(),
            max_absolute: own.mean(ErrorMetric::MaxAbsolute),
            max_error: own.mean(ErrorMetric::MaxError),
            mred: own.mean(ErrorMetric::Mred),
            rms: own.mean(ErrorMetric::Rms),
            exact_mred: own.draws.iter().map(|[_, exact]| exact.mred).sum::<f64>() / own.draws.len() as f64,
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

fn take(measured: &mut Vec<SchemeErrors>, own: Emulation) {
    let EmulationResult::Numbers { errors, .. } = own.outcome else { return };
    let [single, _, exact] = errors[..] else { return };
    let at = (own.scheme, own.device, own.shape.k);
    match measured.iter_mut().find(|known| (known.scheme, known.device, known.k) == at) {
        Some(known) => known.draws.push([single, exact]),
        None => measured.push(SchemeErrors { scheme: at.0, device: at.1, k: at.2, draws: vec![[single, exact]] }),
    }
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

    fn mean(&self, metric: ErrorMetric) -> f64 {
        (0..self.draws.len()).filter_map(|draw| self.error(draw, metric)).sum::<f64>() / self.draws.len() as f64
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

/// The verdict on a published cell, from the figures of all draws on a device.
fn judged(cell: &SplittingCell, device: &dyn Device, figures: &[f64], score: &mut ExperimentScore) -> SplittingCellRow {
    let draws = figures.len();
    let counts = is_of(device, &cell.generation);
    let mean = (draws > 0).then(|| figures.iter().sum::<f64>() / draws as f64);
    let deviation = mean
        .filter(|_| draws > 1)
        .map(|mean| (figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (draws - 1) as f64).sqrt());
    let verdict = mean.filter(|_| counts).map(|mean| {
        let difference = (mean - cell.published.value).abs();
        let sampling = DEVIATIONS * deviation.unwrap_or(0.0) * (1.0 + 1.0 / draws as f64).sqrt();
        match difference {
            own if own <= cell.published.half_unit => CellVerdict::Printed,
            own if own <= cell.published.half_unit + sampling => CellVerdict::Sampling,
            _ => CellVerdict::Differs,
        }
    });
    score.cell(verdict, cell.accepted.is_none());
    SplittingCellRow {
        of: cell.of.clone(),
        over: cell.over.clone(),
        metric: cell.metric.name(),
        k: cell.k,
        averaged: cell.k.is_none().then(|| cell.averaged.name()),
        generation: cell.generation.clone(),
        device: device.identity().name.to_string(),
        published: cell.published.text.clone(),
        measured: mean,
        deviation,
        draws: draws as u64,
        verdict: match verdict {
            Some(CellVerdict::Sampling)
                if deviation.is_some_and(|own| DEVIATIONS * own > WIDE * cell.published.value) =>
            {
                "reproduced, with little power: it varies that much from draw to draw".into()
            }
            verdict => CellVerdict::words(verdict, true, cell.explanation.is_some(), cell.accepted.is_some()),
        },
        why: why(verdict, &cell.accepted, &cell.explanation),
        counts,
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
