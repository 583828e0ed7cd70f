//! Errors of products in f64 by schemes, for operands of several spreads, beside published ones.

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{
    ExperimentRun,
    finding::{Condition, FindingResult},
    splitting::products,
    table,
};
use crate::{
    Result,
    base::sentence::span,
    emulate::{DoubleOutcome, EmulationResult},
    inputs::Draw,
    product::ProductShape,
    report::{Table, three_digits},
    scheme::{Emulated, Scheme, SchemeUnit},
};

/// Largest number of rows, columns and terms.
const MOST: usize = 1 << 14;

/// Products in f64 of drawn matrices.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoubleFigure {
    /// The schemes; `NAME:7..9` is several.
    #[serde(deserialize_with = "schemes")]
    pub schemes: Vec<Scheme>,
    /// The terms of each sum.
    pub k: Vec<usize>,
    /// Computed rows and columns of the products.
    pub elements: [usize; 2],
    /// Rows of the products, of which some are computed; by default only these.
    pub rows: Option<usize>,
    /// Distributions of the elements of both operands.
    #[serde(deserialize_with = "draws")]
    pub values: Vec<Draw>,
    /// Number of draws of the operands.
    pub draws: u64,
    /// Published errors.
    #[serde(default, rename = "cell")]
    pub cells: Vec<DoubleCell>,
}

/// Published largest relative errors of a scheme with several counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoubleCell {
    /// The scheme without its count.
    pub of: String,
    /// The k.
    pub k: usize,
    /// The distribution.
    pub values: String,
    /// The counts.
    pub counts: Vec<usize>,
    /// The largest |V - S| / |S|, for each count.
    pub published: Vec<f64>,
}

fn schemes<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Scheme>, D::Error> {
    Scheme::chosen(&Vec::<String>::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn draws<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Draw>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| Draw::parse(name)).collect::<std::result::Result<_, _>>().map_err(D::Error::custom)
}

crate::rows! {
    /// Errors of a scheme in f64, for one k and distribution, over all draws.
    pub struct DoubleErrorRow in "double_errors" {
        /// The scheme.
        scheme: String => shown("scheme").essential(),
        /// Number of products of parts.
        products: usize => shown("products").essential(),
        /// The device.
        device: String => shown("device").if_varied().essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The distribution of the elements.
        values: String => shown("values").essential(),
        /// Elements of a draw.
        elements: usize => shown("elements"),
        /// Draws.
        draws: usize => shown("draws"),
        /// The largest |V - S| / |S| of a draw: the median.
        max_relative: f64 => shown("max |V-S|/|S|").essential(),
        /// The least of all draws.
        max_relative_least: f64 => shown("least"),
        /// The largest of all draws.
        max_relative_most: f64 => shown("most"),
        /// The published largest |V - S| / |S|.
        published_max_relative: Option<f64> => shown("published").if_filled().essential(),
        /// The largest |V - S| / sum |ab| of a draw: the median.
        magnitude_error: f64 => shown("max |V-S|/sum|ab|").essential(),
        /// The norm of V - S over the norm of S (Frobenius) of a draw: the median.
        norm_error: f64 => shown("norm error"),
        /// The largest |V_f64 - S| / |S| of a draw of plain f64: the median.
        f64_max_relative: f64 => shown("f64 max/|S|").essential(),
        /// Elements equal to the exact sum, rounded to f64, in all draws.
        equal: usize => shown("=exact").essential(),
    }
}

impl DoubleFigure {
    pub(super) fn defect(&self) -> Option<String> {
        let wrong = |what: String| Some(format!("[doubles]: {what}"));
        if let Some(scheme) = self.schemes.iter().find(|scheme| scheme.emulates != Emulated::Double) {
            return wrong(format!("{} does not emulate f64", scheme.name));
        }
        if self.schemes.is_empty() || self.k.is_empty() || self.values.is_empty() || !(1..=1000).contains(&self.draws) {
            return wrong("it needs a scheme, a k, values, and 1 to 1000 draws".into());
        }
        let sizes = self.elements.iter().chain(&self.k).chain(&self.rows);
        if sizes.into_iter().any(|own| !(1..=MOST).contains(own)) {
            return wrong(format!("elements, rows and k are from 1 to {MOST}"));
        }
        if self.rows.is_some_and(|rows| rows < self.elements[0]) {
            return wrong("rows is at least the first number of elements".into());
        }
        for cell in &self.cells {
            if cell.counts.len() != cell.published.len() {
                return wrong(format!(
                    "a cell of {} has {} counts and {} figures",
                    cell.of,
                    cell.counts.len(),
                    cell.published.len()
                ));
            }
            let values = |own: &Draw| own.to_string() == cell.values;
            if !self.k.contains(&cell.k) || !self.values.iter().any(values) {
                return wrong(format!("a cell is of k = {} and {}, which are not among its own", cell.k, cell.values));
            }
        }
        None
    }

    fn published(&self, scheme: &Scheme, k: usize, values: &Draw) -> Option<f64> {
        let own = |cell: &DoubleCell| {
            let same = cell.k == k && cell.values == values.to_string();
            let at = cell.counts.iter().position(|count| scheme.name == format!("{}:{count}", cell.of));
            at.filter(|_| same).map(|at| cell.published[at])
        };
        self.cells.iter().find_map(own)
    }
}

/// The errors of one scheme on one device, for one k and distribution, draw by draw.
struct Drawn {
    scheme: usize,
    device: usize,
    k: usize,
    values: usize,
    draws: Vec<DoubleOutcome>,
}

/// Computes the products by every scheme on every device, and adds the table.
pub(super) fn run(plan: &DoubleFigure, run: &mut ExperimentRun) -> Result<()> {
    let draws = run.options.samples.unwrap_or(plan.draws);
    let [rows, columns] = plan.elements;
    let units = SchemeUnit::of_each(&plan.schemes, run.devices, None, false)?;
    let shapes: Vec<(ProductShape, usize)> =
        plan.k.iter().map(|k| (ProductShape { m: plan.rows.unwrap_or(rows), n: columns, k: *k }, rows)).collect();
    let mut measured: Vec<Drawn> = Vec::new();
    let total = draws * plan.values.len() as u64;
    let outcome = (0..total).try_for_each(|at| {
        let (draw, values) = (at / plan.values.len() as u64, at as usize % plan.values.len());
        let share = |done: u64, own: u64| (at * own + done, total * own);
        let operands = (Some(plan.values[values]), run.options.seed.wrapping_add(draw));
        products(&plan.schemes, &units, &shapes, operands, (&mut *run, &share), &mut |scheme, device, k, found| {
            let EmulationResult::Doubles(found) = found else { return };
            let place = (scheme, device, k, values);
            match measured.iter_mut().find(|own| (own.scheme, own.device, own.k, own.values) == place) {
                Some(own) => own.draws.push((**found).clone()),
                None => measured.push(Drawn { scheme, device, k, values, draws: vec![(**found).clone()] }),
            }
        })
    });
    let ExperimentRun { experiment, devices, report, score, .. } = run;
    let (mut findings, mut untestable) = (Vec::new(), Vec::new());
    for finding in experiment.findings.iter().filter(|_| outcome.is_ok()) {
        for (at, device) in devices.iter().enumerate() {
            let (name, counts) = (&device.identity().name.to_string(), experiment.counts(device.as_ref()));
            let lacking = |scheme: &&Scheme| finding.check.is_of(scheme) && lacks(plan, &units, scheme, at);
            match plan.schemes.iter().find(lacking) {
                Some(scheme) => {
                    let products = format!("products of {}", scheme.a.format(0));
                    untestable.push(table::untestable_finding(name, finding, &products));
                }
                None => {
                    let found = finding.check.of_doubles(plan, at, &measured);
                    findings.extend(score.finding((name, counts), finding, found));
                }
            }
        }
    }
    report.notes.push(format!(
        "Products of {rows} x {columns} elements, drawn {draws} times; S is the exact sum. The element nearest to zero has the largest \
         relative error, which varies widely from draw to draw and grows with the number of elements. Published figures in the table \
         are shown and not judged."
    ));
    let row = |own: &Drawn| {
        let scheme = &plan.schemes[own.scheme];
        let sorted = |of: &dyn Fn(&DoubleOutcome) -> f64| {
            let mut all: Vec<f64> = own.draws.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let middle = |all: &[f64]| all[all.len() / 2];
        let relative = sorted(&|own| own.scheme.relative);
        DoubleErrorRow {
            scheme: scheme.name.clone(),
            products: scheme.products(),
            device: devices[own.device].identity().name.to_string(),
            k: own.k,
            values: plan.values[own.values].to_string(),
            elements: rows * columns,
            draws: own.draws.len(),
            max_relative: middle(&relative),
            max_relative_least: relative[0],
            max_relative_most: relative[relative.len() - 1],
            published_max_relative: plan.published(scheme, own.k, &plan.values[own.values]),
            magnitude_error: middle(&sorted(&|own| own.scheme.of_magnitude)),
            norm_error: middle(&sorted(&|own| own.scheme.norm)),
            f64_max_relative: middle(&sorted(&|own| own.fused.relative)),
            equal: own.draws.iter().map(|own| own.scheme.equal).sum(),
        }
    };
    let all: Vec<DoubleErrorRow> = measured.iter().map(row).collect();
    let named = |row: &DoubleErrorRow, error: f64| format!("{} ({}, {})", three_digits(error), row.scheme, row.values);
    let errors = span(&all, |row| Some(row.magnitude_error), named);
    report.answer = errors.map(|errors| format!("The largest error over sum |ab| is {errors}."));
    report.tables.extend(Table::of("Errors of schemes in f64", all).filled());
    report.tables.extend(table::findings(findings));
    report.tables.extend(table::untestable(untestable));
    outcome
}

/// True if a device lacks the instructions of a scheme.
fn lacks(plan: &DoubleFigure, units: &[Vec<Option<SchemeUnit>>], scheme: &Scheme, device: usize) -> bool {
    let at = plan.schemes.iter().position(|own| own == scheme);
    at.is_none_or(|at| units[at][device].is_none())
}

impl Condition {
    /// True if the condition is about this scheme.
    fn is_of(&self, own: &Scheme) -> bool {
        match self {
            Condition::Near { scheme, .. } | Condition::Graded { scheme, .. } => *scheme == own.name,
            _ => false,
        }
    }

    /// The result of the condition on a device; `None` if it is about something else.
    fn of_doubles(&self, plan: &DoubleFigure, device: usize, measured: &[Drawn]) -> Option<FindingResult> {
        let of_scheme = measured.iter().filter(|own| own.device == device && self.is_of(&plan.schemes[own.scheme]));
        let name = |own: &Drawn| plan.values[own.values].to_string();
        match self {
            Condition::Near { values, k, published, within, .. } => {
                let own = of_scheme.into_iter().find(|own| own.k == *k && name(own) == *values);
                let mut all: Vec<f64> = own.iter().flat_map(|own| &own.draws).map(|own| own.scheme.norm).collect();
                all.sort_by(f64::total_cmp);
                let middle = all.get(all.len() / 2).copied();
                Some(FindingResult::bound("norm of V-S over norm of S", middle, |own| {
                    (own / published - 1.0).abs() <= *within
                }))
            }
            Condition::Graded { values, terms, beyond, .. } => {
                let chosen = of_scheme.filter(|own| values.is_empty() || values.contains(&name(own)));
                let of_bound = |own: &Drawn| {
                    let bound = (terms * own.k as f64 + 1.0) * f64::EPSILON / 2.0;
                    own.draws.iter().map(|own| own.scheme.of_magnitude / bound).fold(0.0, f64::max)
                };
                let ratios = chosen.map(of_bound);
                Some(match beyond {
                    false => FindingResult::bound("largest error over the bound", ratios.reduce(f64::max), |most| {
                        most <= 1.0
                    }),
                    true => FindingResult::bound(
                        "largest error over the bound, of the distribution with the smallest",
                        ratios.reduce(f64::min),
                        |least| least > 1.0,
                    ),
                })
            }
            _ => None,
        }
    }
}
