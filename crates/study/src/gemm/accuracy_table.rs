//! Tables of the accuracy of a product.

use super::{
    accuracy::{Accuracy, bin_name},
    tables::ProductRow,
};
use crate::{
    product::reference::Yardstick,
    report::{Report, Table, grouped, three_digits},
};

crate::rows! {
    /// Accuracy of D against a yardstick, on all elements or a sample spread over D.
    pub struct AccuracyRow in "accuracy" {
        /// The yardstick: plain sums in f32 or f64 (ascending k, every step rounded), or the exact sum.
        yardstick: &'static str => shown("against").essential(),
        /// Elements that were measured.
        elements: usize => shown("elements"),
        /// Elements equal to the yardstick, rounded as D is.
        equal: usize => shown("equal").essential(),
        /// Largest distance, in numbers of D's format.
        ulps: u64 => shown("max ulps").essential(),
        /// The largest difference.
        max_error: Option<f64> => shown("max error").essential(),
        /// The mean difference.
        mean_error: Option<f64> => shown("mean error"),
        /// The largest difference over the yardstick's value.
        max_relative: Option<f64> => shown("max relative").essential(),
        /// The mean of these relative differences.
        mean_relative: Option<f64> => shown("mean relative").essential(),
    }

    /// Elements of D by their distance from each yardstick, in numbers of D's format.
    pub struct UlpRow in "ulps" {
        /// The distance.
        ulps: String => shown("ulps").essential(),
        /// Elements, against plain f32.
        single: Option<usize> => shown("f32").if_filled(),
        /// Elements, against plain f64.
        double: Option<usize> => shown("f64").if_filled(),
        /// Elements, against the exact sum.
        exact: usize => shown("exact").essential(),
    }
}

/// Puts the accuracy of a D of `elements` elements into a report.
pub fn report(measured: &[Accuracy], elements: usize, report: &mut Report) {
    report.tables.extend(Table::of("Accuracy", accuracies(measured)).filled());
    report.tables.extend(Table::of("Elements by their distance, in numbers of D's format", ulps(measured)).filled());
    if let Some(first) = measured.first().filter(|first| first.elements < elements) {
        report
            .notes
            .push(format!("The accuracy is measured on {} of {elements} elements, spread over D.", first.elements));
    }
}

/// A row for each yardstick.
pub fn accuracies(all: &[Accuracy]) -> impl Iterator<Item = AccuracyRow> + '_ {
    all.iter().map(|accuracy| AccuracyRow {
        yardstick: accuracy.yardstick.name(),
        elements: accuracy.elements,
        equal: accuracy.equal,
        ulps: accuracy.ulps,
        max_error: accuracy.absolute.maximum(),
        mean_error: accuracy.absolute.mean(),
        max_relative: accuracy.relative.maximum(),
        mean_relative: accuracy.relative.mean(),
    })
}

/// A row for each distance that an element has.
fn ulps(all: &[Accuracy]) -> Vec<UlpRow> {
    let of = |name: &str| all.iter().find(|accuracy| accuracy.yardstick.name() == name);
    let bins = all.first().map_or(0, |accuracy| accuracy.histogram.len());
    let filled = (0..bins).filter(|bin| all.iter().any(|accuracy| accuracy.histogram[*bin] > 0));
    let count = |name: &str, bin: usize| of(name).map(|accuracy| accuracy.histogram[bin]);
    let row = |bin: usize| UlpRow {
        ulps: bin_name(bin),
        single: count("f32", bin),
        double: count("f64", bin),
        exact: count("exact", bin).unwrap_or_default(),
    };
    filled.map(row).collect()
}

/// The accuracy of D in a sentence.
pub fn answer(product: &ProductRow, device: &str, accuracy: &[Accuracy]) -> String {
    let ProductRow { m, n, k, .. } = product;
    let exact = accuracy.iter().find(|accuracy| accuracy.yardstick == Yardstick::Exact);
    let error = exact.map_or(String::new(), |exact| {
        let equal = format!(
            "{} of {} elements are the exact sum, rounded",
            grouped(exact.equal as i64),
            grouped(exact.elements as i64)
        );
        let mean = exact.relative.mean().map(|mean| format!("the mean relative error is {}", three_digits(mean)));
        format!(": {}", [Some(equal), mean].into_iter().flatten().collect::<Vec<_>>().join("; "))
    });
    format!("{device} computed the product of {m} x {n} elements with k = {k}{error}.")
}
