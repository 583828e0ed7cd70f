//! Errors of products in f64 by schemes, for operands of several spreads, beside published ones.

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{ExperimentRun, splitting::products};
use crate::{
    Result,
    base::sentence::span,
    emulate::{DoubleOutcome, Emulated, EmulationResult, ProductShape, Scheme, SchemeUnit},
    inputs::Draw,
    report::{Table, three_digits},
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
    /// Rows and columns of the products.
    pub elements: [usize; 2],
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
        if self.elements.iter().chain(&self.k).any(|own| !(1..=MOST).contains(own)) {
            return wrong(format!("elements and k are from 1 to {MOST}"));
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
        plan.k.iter().map(|k| (ProductShape { m: rows, n: columns, k: *k }, rows)).collect();
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
    let ExperimentRun { devices, report, .. } = run;
    report.notes.push(format!(
        "Products of {rows} x {columns} elements, drawn {draws} times; S is the exact sum. The element nearest to zero has the largest \
         relative error, which varies widely from draw to draw and grows with the number of elements. Published figures are shown and \
         not judged."
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
            f64_max_relative: middle(&sorted(&|own| own.fused.relative)),
            equal: own.draws.iter().map(|own| own.scheme.equal).sum(),
        }
    };
    let all: Vec<DoubleErrorRow> = measured.iter().map(row).collect();
    let named = |row: &DoubleErrorRow, error: f64| format!("{} ({}, {})", three_digits(error), row.scheme, row.values);
    let errors = span(&all, |row| Some(row.magnitude_error), named);
    report.answer = errors.map(|errors| format!("The largest error over sum |ab| is {errors}."));
    report.tables.extend(Table::of("Errors of schemes in f64", all).filled());
    outcome
}
