//! Tables of products of libraries.

use super::{
    BatchRow,
    batches::batch_answer,
    campaign::{ExplainedProduct, MOST_FAILURES},
};
use crate::{
    device::Attributes,
    product::{LibrarySchedules, Schedule, Values},
    report::{Report, Table, Verdict},
};

crate::rows! {
    /// A product of a library, compared with the schedule that its algorithm's attributes predict.
    pub struct LibraryProductRow in "library_products" {
        /// Number of the product.
        number: usize => shown("#").essential(),
        /// Rows of A and D.
        m: usize => shown("m").essential(),
        /// Columns of B and D.
        n: usize => shown("n").essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The format of D.
        d: &'static str => shown("D").essential(),
        /// The format of A.
        a: &'static str => shown("A").essential(),
        /// The format of B.
        b: &'static str => shown("B"),
        /// Compute type.
        compute: &'static str => shown("compute"),
        /// True if sums of FP8 stay in the matrix unit.
        fast_accumulation: bool => shown("fast").if_varied(),
        /// Layout of A and B in memory.
        layout: &'static str => shown("layout"),
        /// Distribution of drawn operands.
        values: Option<&'static str> => shown("values").if_filled(),
        /// The algorithm's attributes in words.
        algorithm: String => shown("algorithm").essential(),
        /// The algorithm's number.
        algorithm_id: Option<u32> => hidden(),
        /// The number of the tile's shape.
        tile: Option<u32> => hidden(),
        /// The number of the stages.
        stages: Option<u32> => hidden(),
        /// Parts of k.
        split_k: Option<u32> => hidden(),
        /// The number of the reduction scheme.
        reduction: Option<u32> => hidden(),
        /// The order of the tiles.
        swizzle: Option<u32> => hidden(),
        /// An option of the algorithm's own.
        custom: Option<u32> => hidden(),
        /// The number of the shape within a tile.
        inner: Option<u32> => hidden(),
        /// The number of the shape of the clusters.
        cluster: Option<u32> => hidden(),
        /// The bytes of scratch memory that the algorithm takes.
        workspace: Option<usize> => hidden(),
        /// The predicted schedule in a sentence.
        schedule: Option<String> => shown("predicted schedule").if_filled(),
        /// The predicted schedule as a file.
        schedule_file: Option<String> => hidden(),
        /// Evidence of the prediction.
        evidence: Option<String> => hidden(),
        /// Outcome: predicted, found, unexplained, refused or failed.
        outcome: &'static str => shown("outcome").essential(),
        /// Elements that were compared with the prediction.
        elements: usize => shown("elements"),
        /// Elements that are equal in every bit.
        equal: usize => shown("equal"),
        /// Elements that the processor replayed.
        checked: usize => hidden(),
        /// Elements that are equal in every bit.
        checked_equal: usize => hidden(),
        /// Replayed elements that the opposite order of k does not give.
        told_apart: usize => hidden(),
        /// Row of the first element that differs.
        row: Option<usize> => shown("first: row").if_filled(),
        /// Its column.
        column: Option<usize> => shown("column").if_filled().beside(),
        /// Its code by the prediction.
        predicted: Option<String> => shown("predicted").if_filled().beside(),
        /// Its code in D.
        computed: Option<String> => shown("computed").if_filled().beside(),
        /// Another schedule that gives D, in a sentence.
        found: Option<String> => shown("found").if_filled(),
        /// That schedule as a file.
        found_file: Option<String> => hidden(),
        /// Remarks.
        remark: Option<String> => shown("remark").if_filled(),
    }

    /// Outcomes of the products of a library by formats and compute type.
    pub struct LibrarySummaryRow in "library_summary" {
        /// Formats and compute type: D.A.B.COMPUTE.
        product: String => shown("D.A.B.compute").essential(),
        /// Products.
        products: usize => shown("products").essential(),
        /// Products that the predicted schedule gives in every bit.
        predicted: usize => shown("predicted").essential(),
        /// Products that another schedule gives.
        found: usize => shown("found").essential(),
        /// Products that no tried schedule gives.
        unexplained: usize => shown("unexplained").essential(),
        /// Products for which the library has no algorithm.
        refused: usize => shown("refused").essential(),
        /// Products for which the device failed.
        failed: usize => shown("failed").if_filled(),
        /// Products that are split along k.
        split: usize => shown("split-k"),
        /// Elements that were compared with predictions.
        elements: usize => shown("elements"),
        /// Elements that are equal in every bit.
        equal: usize => shown("equal"),
    }
}

/// The row of a product of a library; `place` is its number.
pub fn library_product(place: usize, product: &ExplainedProduct, schedules: &LibrarySchedules) -> LibraryProductRow {
    let ExplainedProduct {
        asked,
        outcome,
        attributes,
        prediction,
        agreement,
        first,
        checked,
        told_apart,
        alternative,
        remark,
    } = product;
    let p = &asked.problem;
    let of = |value: fn(&Attributes) -> u32| attributes.as_ref().map(|(attributes, _)| value(attributes));
    let code = |which: usize| first.map(|(_, _, codes)| p.d.hex(codes[which]));
    let predicted = prediction.as_ref().map(|prediction| &prediction.schedule);
    LibraryProductRow {
        number: place,
        m: p.m,
        n: p.n,
        k: p.k,
        d: p.d.name,
        a: p.a.name,
        b: p.b.name,
        compute: p.compute.name(),
        fast_accumulation: p.fast_accumulation,
        layout: p.layout.name(),
        values: asked.values.map(Values::name),
        algorithm: attributes.as_ref().map_or_else(String::new, |(attributes, _)| schedules.words(attributes)),
        algorithm_id: of(|attributes| attributes.id),
        tile: of(|attributes| attributes.tile),
        stages: of(|attributes| attributes.stages),
        split_k: of(|attributes| attributes.split_k),
        reduction: of(|attributes| attributes.reduction),
        swizzle: of(|attributes| attributes.swizzle),
        custom: of(|attributes| attributes.custom),
        inner: of(|attributes| attributes.inner),
        cluster: of(|attributes| attributes.cluster),
        workspace: attributes.as_ref().map(|(_, bytes)| *bytes),
        schedule: predicted.map(|schedule| schedule.sentence(p.k)),
        schedule_file: predicted.map(Schedule::to_toml),
        evidence: prediction.as_ref().map(|prediction| prediction.evidence.clone()),
        outcome: outcome.name(),
        elements: agreement.elements,
        equal: agreement.equal,
        checked: checked.elements,
        checked_equal: checked.equal,
        told_apart: *told_apart,
        row: first.map(|first| first.0),
        column: first.map(|first| first.1),
        predicted: code(0),
        computed: code(1),
        found: alternative.as_ref().map(|schedule| schedule.sentence(p.k)),
        found_file: alternative.as_ref().map(Schedule::to_toml),
        remark: Some(remark.clone()).filter(|remark| !remark.is_empty()),
    }
}

impl LibraryProductRow {
    /// True if the product is as predicted, or the library refused it.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, "predicted" | "refused")
    }
}

/// Puts a product of a library into a report.
pub fn report_product(row: LibraryProductRow, device: &str, report: &mut Report) {
    judge(std::slice::from_ref(&row), device, report);
    report.tables.push(Table::of("Product of the library", [row]));
}

/// Puts products of a library into a report; `complete`: all that were asked for.
pub fn report_products(rows: Vec<LibraryProductRow>, device: &str, complete: bool, report: &mut Report) {
    if !complete {
        report
            .notes
            .push(format!("The device failed {MOST_FAILURES} times in a row; the remaining products were not tried."));
    }
    judge(&rows, device, report);
    report.tables.push(Table::of("Products by format", library_summary(&rows)));
    report.tables.push(Table::of("Products of the library", rows));
}

fn judge(rows: &[LibraryProductRow], device: &str, report: &mut Report) {
    report.holds = rows.iter().all(LibraryProductRow::holds);
    report.verdict = Verdict::Unpredicted;
    report.answer = answer(rows, device);
}

/// Puts layers at several batch sizes into a report.
pub fn report_batches(rows: Vec<BatchRow>, report: &mut Report) {
    report.holds = rows.iter().all(BatchRow::holds);
    report.verdict = Verdict::BatchDependent;
    report.answer = batch_answer(&rows);
    report.tables.push(Table::of("The first row at each batch size", rows));
}

/// Outcomes of products in a sentence; `None` without one.
fn answer(rows: &[LibraryProductRow], device: &str) -> Option<String> {
    let of = |outcome: &str| rows.iter().filter(|row| row.outcome == outcome).count();
    let others = ["found", "unexplained", "refused", "failed"].map(|outcome| (of(outcome), outcome));
    let others = others.iter().filter(|(count, _)| *count > 0);
    let others: String = others.map(|(count, outcome)| format!("; {count} {outcome}")).collect();
    let predicted = of("predicted");
    match rows {
        [] => None,
        [one] => Some(match predicted {
            0 => format!("{device}: the algorithm's attributes do not predict the product ({}).", one.outcome),
            _ => format!("{device}: the algorithm's attributes predict every bit of the product."),
        }),
        _ => Some(format!(
            "{device}: the algorithms' attributes predict every bit of {predicted} of {} products{others}.",
            rows.len()
        )),
    }
}

/// A row for each kind of product, in order of appearance.
fn library_summary(rows: &[LibraryProductRow]) -> Vec<LibrarySummaryRow> {
    let mut summary: Vec<LibrarySummaryRow> = Vec::new();
    for row in rows {
        let fast = if row.fast_accumulation { ".fast" } else { "" };
        let product = format!("{}.{}.{}.{}{fast}", row.d, row.a, row.b, row.compute);
        let at = summary.iter().position(|entry| entry.product == product).unwrap_or_else(|| {
            summary.push(LibrarySummaryRow {
                product,
                products: 0,
                predicted: 0,
                found: 0,
                unexplained: 0,
                refused: 0,
                failed: 0,
                split: 0,
                elements: 0,
                equal: 0,
            });
            summary.len() - 1
        });
        let entry = &mut summary[at];
        let count = match row.outcome {
            "predicted" => &mut entry.predicted,
            "found" => &mut entry.found,
            "unexplained" => &mut entry.unexplained,
            "refused" => &mut entry.refused,
            _ => &mut entry.failed,
        };
        *count += 1;
        entry.products += 1;
        entry.split += usize::from(row.split_k.is_some_and(|parts| parts > 1 && parts != u32::MAX));
        entry.elements += row.elements;
        entry.equal += row.equal;
    }
    summary
}
