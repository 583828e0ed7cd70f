//! Errors of products in f64 by schemes, for operands of several spreads, beside published ones.

use super::{
    EmulateQuestion, ExperimentRun, PublishedNumber,
    emulated::{Products, SchemeResults},
    finding::{Condition, FindingResult},
    table,
};
use crate::{
    Result,
    base::sentence::span,
    report::{Cell, Table, three_digits},
};

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

/// Adds the table of errors, and the findings about them.
pub(super) fn report(plan: &EmulateQuestion, run: &mut ExperimentRun, done: &Products, outcome: &Result<()>) {
    let ExperimentRun { experiment, devices, report, score, .. } = run;
    let (mut findings, mut untestable) = (Vec::new(), Vec::new());
    for finding in experiment.findings.iter().filter(|_| outcome.is_ok()) {
        for (at, device) in devices.iter().enumerate() {
            let (name, counts) = (&device.identity().name.to_string(), experiment.counts(device.as_ref()));
            let scheme = finding.check.scheme().and_then(|name| plan.scheme(name));
            match scheme.filter(|scheme| done.units[*scheme][at].is_none()) {
                Some(lacking) => {
                    let products = format!("products of {}", plan.schemes[lacking].a.format(0));
                    untestable.push(table::untestable_row(name, &finding.claim, None, &products));
                }
                None => {
                    let result = scheme.and_then(|scheme| finding.check.of_doubles(plan, scheme, at, &done.results));
                    findings.extend(score.finding(name, counts, finding, result));
                }
            }
        }
    }
    let [rows, columns] = plan.elements;
    report.notes.push(format!(
        "Products of {rows} x {columns} elements, drawn {} times; S is the exact sum. The element nearest to zero has the largest \
         relative error, which varies widely from draw to draw and grows with the number of elements. Published figures in the table \
         are shown and not judged.",
        done.draws
    ));
    let row = |results: &SchemeResults| {
        let (scheme, values) = (&plan.schemes[results.scheme], plan.values[results.values].to_string());
        let middle = |all: &[f64]| all[all.len() / 2];
        let relative = results.sorted(|outcome| outcome.scheme.relative);
        DoubleErrorRow {
            scheme: scheme.name.clone(),
            products: scheme.products(),
            device: devices[results.device].identity().name.to_string(),
            k: results.k,
            elements: rows * columns,
            draws: results.draws.len(),
            max_relative: middle(&relative),
            max_relative_least: relative[0],
            max_relative_most: relative[relative.len() - 1],
            published_max_relative: published(&experiment.published, &scheme.name, results.k, &values),
            magnitude_error: middle(&results.sorted(|outcome| outcome.scheme.of_magnitude)),
            norm_error: middle(&results.sorted(|outcome| outcome.scheme.norm)),
            f64_max_relative: middle(&results.sorted(|outcome| outcome.fused.relative)),
            equal: results.sorted(|outcome| outcome.scheme.equal as f64).iter().sum::<f64>() as usize,
            values,
        }
    };
    let all: Vec<DoubleErrorRow> = done.results.iter().map(row).collect();
    let named = |row: &DoubleErrorRow, error: f64| format!("{} ({}, {})", three_digits(error), row.scheme, row.values);
    let errors = span(&all, |row| Some(row.magnitude_error), named);
    report.answer = errors.map(|errors| format!("The largest error over sum |ab| is {errors}."));
    report.tables.extend(Table::of("Errors of schemes in f64", all).filled());
    report.tables.extend(table::findings(findings));
    report.tables.extend(table::untestable(untestable));
}

/// The published largest relative error of a scheme.
fn published(numbers: &[PublishedNumber], scheme: &str, k: usize, values: &str) -> Option<f64> {
    let is = |key: &str, cell: &Cell| match (key, cell) {
        ("scheme", Cell::Text(name)) => name == scheme,
        ("k", Cell::Integer(terms)) => usize::try_from(*terms) == Ok(k),
        ("values", Cell::Text(name)) => name == values,
        _ => false,
    };
    numbers.iter().find(|number| number.row.iter().all(|(key, cell)| is(key, cell))).map(|number| number.printed.value)
}

impl Condition {
    /// The scheme in f64 that the condition is about.
    pub(super) fn scheme(&self) -> Option<&str> {
        match self {
            Condition::Near { scheme, .. } | Condition::Graded { scheme, .. } => Some(scheme),
            _ => None,
        }
    }

    /// The result of the condition about a scheme on a device; `None` if it is about something else.
    fn of_doubles(
        &self,
        plan: &EmulateQuestion,
        scheme: usize,
        device: usize,
        results: &[SchemeResults],
    ) -> Option<FindingResult> {
        let mut of_scheme = results.iter().filter(|results| (results.scheme, results.device) == (scheme, device));
        let name = |results: &SchemeResults| plan.values[results.values].to_string();
        match self {
            Condition::Near { values, k, published, within, .. } => {
                let results = of_scheme.find(|results| results.k == *k && name(results) == *values);
                let norms = results.map_or(Vec::new(), |results| results.sorted(|outcome| outcome.scheme.norm));
                Some(FindingResult::bound("norm of V-S over norm of S", norms.get(norms.len() / 2).copied(), |error| {
                    (error / published - 1.0).abs() <= *within
                }))
            }
            Condition::Graded { values, terms, beyond, .. } => {
                let of_bound = |results: &SchemeResults| {
                    let bound = (terms * results.k as f64 + 1.0) * f64::EPSILON / 2.0;
                    results.sorted(|outcome| outcome.scheme.of_magnitude / bound).into_iter().fold(0.0, f64::max)
                };
                let ratios =
                    of_scheme.filter(|results| values.is_empty() || values.contains(&name(results))).map(of_bound);
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
