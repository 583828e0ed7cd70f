//! The tables of products of libraries.

use super::{super::Schedule, LibrarySchedules, Values, campaign::ExplainedProduct};
use crate::device::Attributes;

crate::rows! {
    /// A product of a library, and whether the schedule that its algorithm's attributes predict gives it in every bit.
    pub struct LibraryProductRow in "library_products" {
        /// Its place in the table of products.
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
        /// What the library was asked to compute in.
        compute: &'static str => shown("compute"),
        /// Whether sums of FP8 stay in the matrix unit.
        fast_accumulation: bool => shown("fast").if_varied(),
        /// How A and B lie in memory.
        layout: &'static str => shown("layout"),
        /// What operands are drawn from.
        values: Option<&'static str> => shown("values").if_filled(),
        /// The algorithm's attributes in words.
        algorithm: String => shown("algorithm").essential(),
        /// The algorithm's number.
        algorithm_id: Option<u32> => hidden(),
        /// The number of the tile's shape.
        tile: Option<u32> => hidden(),
        /// The number of the stages.
        stages: Option<u32> => hidden(),
        /// Into how many parts k is cut.
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
        /// What the prediction rests on.
        evidence: Option<String> => hidden(),
        /// What became of the product: predicted, found, unexplained, refused, failed.
        outcome: &'static str => shown("outcome").essential(),
        /// Elements that were compared with the prediction.
        elements: usize => shown("elements"),
        /// Those that are equal in every bit.
        equal: usize => shown("equal"),
        /// Elements that the processor computed, too.
        checked: usize => hidden(),
        /// Those that are equal in every bit.
        checked_equal: usize => hidden(),
        /// Of those, how many the prediction in the opposite order of k does not give.
        told_apart: usize => hidden(),
        /// The first element that differs: its row.
        row: Option<usize> => shown("first: row").if_filled(),
        /// Its column.
        column: Option<usize> => shown("column").if_filled().beside(),
        /// Its code by the prediction.
        predicted: Option<String> => shown("predicted").if_filled().beside(),
        /// Its code in D.
        computed: Option<String> => shown("computed").if_filled().beside(),
        /// The schedule that gives D where the predicted one does not, in a sentence.
        found: Option<String> => shown("found").if_filled(),
        /// The same as a file.
        found_file: Option<String> => hidden(),
        /// What else is known.
        remark: Option<String> => shown("remark").if_filled(),
    }

    /// What became of the products of a library, by what they compute.
    pub struct LibrarySummaryRow in "library_summary" {
        /// What they compute: the formats of D, A and B and what is computed in.
        product: String => shown("D.A.B.compute").essential(),
        /// Products.
        products: usize => shown("products").essential(),
        /// Those that the predicted schedule gives in every bit.
        predicted: usize => shown("predicted").essential(),
        /// Those that another schedule gives.
        found: usize => shown("found").essential(),
        /// Those that no schedule that was tried gives.
        unexplained: usize => shown("unexplained").essential(),
        /// Those for which the library has no algorithm.
        refused: usize => shown("refused").essential(),
        /// Those for which the device failed.
        failed: usize => shown("failed").if_filled(),
        /// Those that are cut along k.
        split: usize => shown("split-k"),
        /// Elements that were compared with predictions.
        elements: usize => shown("elements"),
        /// Those that are equal in every bit.
        equal: usize => shown("equal"),
    }
}

/// The row of a product of a library; `place` in a table of products.
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
        found,
        remark,
    } = product;
    let p = &asked.problem;
    let of = |value: fn(&Attributes) -> u32| attributes.as_ref().map(|(own, _)| value(own));
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
        algorithm: attributes.as_ref().map_or_else(String::new, |(own, _)| schedules.words(own)),
        algorithm_id: of(|own| own.id),
        tile: of(|own| own.tile),
        stages: of(|own| own.stages),
        split_k: of(|own| own.split_k),
        reduction: of(|own| own.reduction),
        swizzle: of(|own| own.swizzle),
        custom: of(|own| own.custom),
        inner: of(|own| own.inner),
        cluster: of(|own| own.cluster),
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
        found: found.as_ref().map(|schedule| schedule.sentence(p.k)),
        found_file: found.as_ref().map(Schedule::to_toml),
        remark: Some(remark.clone()).filter(|remark| !remark.is_empty()),
    }
}

impl LibraryProductRow {
    /// Whether the product is as predicted, or the library refused it.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, "predicted" | "refused")
    }
}

/// What became of products, in a sentence; `None` without one.
pub fn answer(rows: &[LibraryProductRow], device: &str) -> Option<String> {
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

/// A row for each kind of product, in the order of their first.
pub fn library_summary(rows: &[LibraryProductRow]) -> Vec<LibrarySummaryRow> {
    let mut summary: Vec<LibrarySummaryRow> = Vec::new();
    for row in rows {
        let fast = if row.fast_accumulation { ".fast" } else { "" };
        let product = format!("{}.{}.{}.{}{fast}", row.d, row.a, row.b, row.compute);
        let at = summary.iter().position(|own| own.product == product).unwrap_or_else(|| {
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
        let own = &mut summary[at];
        let count = match row.outcome {
            "predicted" => &mut own.predicted,
            "found" => &mut own.found,
            "unexplained" => &mut own.unexplained,
            "refused" => &mut own.refused,
            _ => &mut own.failed,
        };
        *count += 1;
        own.products += 1;
        own.split += usize::from(row.split_k.is_some_and(|parts| parts > 1 && parts != u32::MAX));
        own.elements += row.elements;
        own.equal += row.equal;
    }
    summary
}
