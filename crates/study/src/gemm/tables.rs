//! Tables of matrix products.

use super::between::{Between, KnownSchedule, ProductSide};
use crate::{
    arithmetic::Model,
    device::DeviceName,
    distinction::tables as told,
    format::Format,
    product::{Differences, ElementPlace, Factors, Product, Schedule},
    report::{Report, Table, Verdict, grouped},
};

crate::rows! {
    /// A matrix product that was computed.
    pub struct ProductRow in "products" {
        /// Rows of A and D.
        m: usize => shown("m").essential(),
        /// Columns of B and D.
        n: usize => shown("n").essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The instruction.
        instruction: String => hidden(),
        /// The format of A.
        a: String => shown("A"),
        /// The format of B.
        b: String => shown("B"),
        /// The format of C, where there is one.
        c: Option<String> => shown("C").if_filled(),
        /// The format of D.
        d: String => shown("D"),
        /// How the instruction was executed.
        execution: &'static str => shown("ran"),
        /// The schedule in a sentence.
        schedule: String => shown("schedule").essential(),
        /// The schedule as a file.
        schedule_file: String => hidden(),
        /// Dot-product-adds of the instruction.
        dot_product_adds: u64 => shown("dot-product-adds"),
        /// Duration of the computation.
        seconds: f64 => shown("time").unit("s"),
        /// Dot-product-adds per second.
        rate: f64 => shown("per second"),
        /// Duration of the sums alone, where a GPU summed all elements at once.
        sum_seconds: Option<f64> => shown("sums").unit("s").if_filled(),
        /// Floating-point operations of the sums per second, 2*m*n*k in all.
        sum_rate: Option<f64> => shown("FLOP/s").if_filled(),
    }

}

crate::rows! {
    /// Two sides that made the same product.
    pub struct BetweenRow in "between" {
        /// The first.
        x: String => shown("first").essential(),
        /// The second.
        y: String => shown("second").essential(),
        /// Verdict: agree or differ.
        verdict: &'static str => shown("verdict").essential(),
        /// Rows of the product that both make.
        rows: usize => hidden(),
        /// The schedule of the first, in a sentence.
        x_schedule: Option<String> => shown("first's schedule").if_filled().essential(),
        /// Source of the schedule: given, predicted by an algorithm's attributes, or found by a search.
        x_known: Option<&'static str> => shown("known").if_filled().beside(),
        /// The model of its arithmetic.
        x_model: Option<String> => hidden(),
        /// The schedule as a file.
        x_schedule_file: Option<String> => hidden(),
        /// The schedule of the second, in a sentence.
        y_schedule: Option<String> => shown("second's schedule").if_filled().essential(),
        /// Source of the schedule.
        y_known: Option<&'static str> => shown("known").if_filled().beside(),
        /// The model of its arithmetic.
        y_model: Option<String> => hidden(),
        /// The schedule as a file.
        y_schedule_file: Option<String> => hidden(),
        /// The keys in which the schedules differ.
        keys: Vec<String> => hidden(),
        /// Reason of the difference.
        why: Option<String> => shown("why").if_filled().essential(),
        /// The first step of the smallest product after which the sums differ, with its k.
        first_step: Option<String> => shown("first step that differs").if_filled(),
    }

    /// The smallest product that shows the difference.
    pub struct SmallestProductRow in "smallest_product" {
        /// Rows of A and D.
        m: usize => shown("m").essential(),
        /// Columns of B and D.
        n: usize => shown("n").essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The row of the element that differs.
        row: usize => shown("row").if_varied(),
        /// Its column.
        column: usize => shown("column").if_varied(),
        /// Its nonzero operands.
        operands: String => shown("operands").essential(),
        /// Its code by the first side.
        x_d: String => shown("first's D").essential(),
        /// Its value.
        x_value: String => shown("its value").beside(),
        /// Its code by the second side.
        y_d: String => shown("second's D").essential(),
        /// Its value.
        y_value: String => shown("its value").beside(),
        /// The codes of the row of A.
        a: Vec<String> => hidden(),
        /// The codes of the column of B.
        b: Vec<String> => hidden(),
        /// The code of C, if there is one.
        c: Option<String> => hidden(),
    }

    /// A step of the smallest product, with the running sum of each side.
    pub struct ProductStepRow in "product_steps" {
        /// Its number.
        number: usize => shown("#").essential(),
        /// True if both sums are equal, over the same k.
        same: bool => shown("same").essential(),
        /// The k of the first side.
        x_k: Option<String> => shown("first: k").if_filled().essential(),
        /// The code of its sum.
        x_sum: Option<String> => shown("sum").if_filled().beside(),
        /// The value.
        x_value: Option<String> => shown("value").if_filled().beside().essential(),
        /// The k of the second side.
        y_k: Option<String> => shown("second: k").if_filled().essential(),
        /// The code of its sum.
        y_sum: Option<String> => shown("sum").if_filled().beside(),
        /// The value.
        y_value: Option<String> => shown("value").if_filled().beside().essential(),
    }
}

/// The row of two sides.
fn between(names: [&str; 2], comparison: &Between, rows: usize, k: usize) -> BetweenRow {
    let [x, y] = comparison.known.each_ref().map(Option::as_ref);
    let sentence = |known: Option<&KnownSchedule>| known.map(|known| known.schedule.sentence(k));
    let differ = comparison.differences.differing > 0;
    BetweenRow {
        x: names[0].into(),
        y: names[1].into(),
        verdict: if differ { "differ" } else { "agree" },
        rows,
        x_schedule: sentence(x),
        x_known: x.map(|known| known.how),
        x_model: x.and_then(|known| known.model.clone()),
        x_schedule_file: x.map(|known| known.schedule.to_toml()),
        y_schedule: sentence(y),
        y_known: y.map(|known| known.how),
        y_model: y.and_then(|known| known.model.clone()),
        y_schedule_file: y.map(|known| known.schedule.to_toml()),
        keys: comparison.keys.iter().flatten().map(|(key, _)| key.clone()).collect(),
        why: differ.then(|| comparison.why()),
        first_step: comparison.first_step().map(|(number, k)| format!("{number}: k = {k}")),
    }
}

/// The comparison of two sides in a sentence.
fn between_answer([x, y]: [&str; 2], comparison: &Between) -> String {
    let Differences { elements, differing, .. } = comparison.differences;
    match differing {
        0 => format!("{x} and {y} agree in every bit of {} elements.", grouped(elements as i64)),
        _ => {
            let (differing, elements) = (grouped(differing as i64), grouped(elements as i64));
            format!("{x} and {y} differ in {differing} of {elements} elements. {}", comparison.why())
                .trim_end()
                .to_string()
        }
    }
}

/// The row of the smallest product, and the rows of its steps.
fn smallest(comparison: &Between, d: &Format) -> (Option<SmallestProductRow>, Vec<ProductStepRow>) {
    let Some(product) = &comparison.smallest else { return (None, Vec::new()) };
    let Factors { a, b, c, .. } = &product.factors;
    let ElementPlace { row, column } = product.place;
    let decimal = |code: u64| d.decode(code).decimal();
    let smallest = SmallestProductRow {
        m: a.rows,
        n: b.columns,
        k: a.columns,
        row,
        column,
        operands: product.operands.clone(),
        x_d: d.hex(product.d[0]),
        x_value: decimal(product.d[0]),
        y_d: d.hex(product.d[1]),
        y_value: decimal(product.d[1]),
        a: (0..a.columns).map(|k| a.format.hex(a.get(row, k))).collect(),
        b: (0..b.rows).map(|k| b.format.hex(b.get(k, column))).collect(),
        c: c.as_ref().map(|c| c.format.hex(c.get(row, column))),
    };
    let count = comparison.steps.iter().map(Vec::len).max().unwrap_or(0);
    let formats = comparison.known.each_ref().map(|known| known.as_ref().map(|known| known.schedule.instruction.d));
    let step = |at: usize| {
        let of = |side: usize| comparison.steps[side].get(at).zip(formats[side]);
        let k = |side: usize| of(side).map(|(step, _)| format!("{}..{}", step.k.start, step.k.end - 1));
        let sum = |side: usize| of(side).map(|(step, format)| format.hex(step.sum));
        let value = |side: usize| of(side).map(|(step, format)| format.decode(step.sum).decimal());
        ProductStepRow {
            number: at + 1,
            same: comparison.steps[0].get(at) == comparison.steps[1].get(at),
            x_k: k(0),
            x_sum: sum(0),
            x_value: value(0),
            y_k: k(1),
            y_sum: sum(1),
            y_value: value(1),
        }
    };
    (Some(smallest), (0..count).map(step).collect())
}

/// Puts the comparison of two sides into a report: answer, verdict and tables.
pub fn report_between(comparison: &Between, factors: &Factors, sides: &[ProductSide; 2], report: &mut Report) {
    let names = sides.each_ref().map(|side| side.name.as_str());
    let rows = sides.iter().filter_map(|side| side.rows).fold(factors.a.rows, usize::min);
    let d = comparison.format;
    report.holds = comparison.differences.differing == 0;
    report.verdict = Verdict::Differ;
    report.answer = Some(between_answer(names, comparison));
    report.tables.push(Table::of("Two products", [between(names, comparison, rows, factors.k())]));
    let compared = comparison.differences.row(names[1].to_string(), d);
    report.tables.push(Table::of(format!("{} compared", names[0]), [compared]));
    let (smallest, steps) = smallest(comparison, d);
    report.tables.extend(Table::of("Smallest product that shows the difference", smallest).filled());
    report.tables.extend(Table::of("Running sum after each step", steps).filled());
    if let (Some(Ok(distinction)), [Some(x), Some(y)]) = (&comparison.arithmetics, &comparison.known) {
        let named = [(x, names[0]), (y, names[1])].map(|(known, name)| told::NamedSide {
            device: known.model.clone().map_or_else(|| DeviceName::from(name), DeviceName::Model),
            instruction: known.schedule.instruction.clone(),
            rule: known
                .model
                .as_ref()
                .and_then(|name| Model::load(name).ok()?.rule(&known.schedule.instruction).cloned()),
        });
        let pair = [&named[0], &named[1]];
        report.tables.push(Table::of("Instructions compared", [told::pair(pair, distinction)]));
        report.tables.extend(Table::of("Why the instructions differ", told::reasons(pair, distinction, 1)).filled());
    }
}

/// The row of a product.
pub fn product(schedule: &Schedule, factors: &Factors, made: &Product) -> ProductRow {
    let Product { execution, seconds, sum_seconds, .. } = *made;
    let (m, n, k) = (factors.a.rows, factors.b.columns, factors.k());
    let steps: usize = schedule.walk(k).parts.iter().flatten().map(|run| run.steps.len()).sum();
    let dot_product_adds = m as u64 * n as u64 * steps as u64;
    let name = |format: &Format| format.name.to_string();
    ProductRow {
        m,
        n,
        k,
        instruction: schedule.instruction.name.clone(),
        a: name(factors.a.format),
        b: name(factors.b.format),
        c: factors.c.as_ref().map(|c| name(c.format)),
        d: name(schedule.output.format),
        execution,
        schedule: schedule.sentence(k),
        schedule_file: schedule.to_toml(),
        dot_product_adds,
        seconds,
        rate: dot_product_adds as f64 / seconds,
        sum_seconds,
        sum_rate: sum_seconds.map(|seconds| 2.0 * m as f64 * n as f64 * k as f64 / seconds),
    }
}

/// The comparison with another matrix in a sentence.
pub fn comparison_answer(file: &str, differences: &Differences) -> String {
    let Differences { elements, differing, .. } = differences;
    match differing {
        0 => format!("D and {file} agree in every bit of {} elements.", grouped(*elements as i64)),
        _ => {
            format!("D and {file} differ in {} of {} elements.", grouped(*differing as i64), grouped(*elements as i64))
        }
    }
}
