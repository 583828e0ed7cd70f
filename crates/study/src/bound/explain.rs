//! Explanation of a bound: the formula of each operation, and the bound beside those of the literature.

use super::tables::relative;
use crate::{
    Result,
    arithmetic::{ElementaryOperation, Program, Sum},
    format::{Format, Rounding},
    product::bound::{Claim, OrderFreeBounds, RISK, power},
    report::{Report, Table},
};

crate::rows! {
    /// An operation of a dot-product-add, and the error that it can make.
    pub struct BoundOperationRow in "bound_operations" {
        /// The name of its value.
        value: String => shown("value").essential(),
        /// The operation.
        operation: String => shown("operation").essential(),
        /// The formula of its largest error.
        formula: String => shown("error, at most").essential(),
        /// That error, where the largest term is 1.
        error: f64 => shown("at 1").essential(),
    }

    /// A bound of a product, of this package or of the literature.
    pub struct BoundFormRow in "bound_forms" {
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The bound.
        bound: String => shown("bound").essential(),
        /// Its formula, to first order.
        formula: String => shown("formula").essential(),
        /// Its value, relative to the sum of |a b|.
        value: f64 => shown("value").essential(),
    }
}

/// Adds a claim's operations to a report, and its bounds beside those of the literature.
///
/// # Errors
/// A schedule that has no bound from magnitudes.
pub fn explain(claim: &Claim, ks: &[usize], report: &mut Report) -> Result<()> {
    let schedule = &claim.schedules[0];
    let program = claim.model.program(&schedule.instruction)?;
    let lines = program.lines();
    let operations = program.operations().enumerate().map(|(at, operation)| {
        let value = format!("%{at}");
        let words = lines.iter().find(|(name, _)| *name == value).map_or(String::new(), |(_, words)| words.clone());
        let (formula, error) = largest_error(&program, operation);
        BoundOperationRow { value, operation: words, formula, error }
    });
    let (formula, error) = rounding_error(program.output.target.format, program.output.target.rounding);
    let output = BoundOperationRow {
        value: "d".into(),
        operation: lines.last().map_or(String::new(), |(_, words)| words.clone()),
        formula: format!("{formula}; 0 if the value has its format"),
        error,
    };
    report.tables.push(Table::of("Largest error of each operation", operations.chain([output])));
    let mut forms = Vec::new();
    for k in ks {
        forms.extend(of_literature(claim, &program, *k)?);
    }
    report.tables.push(Table::of("Bounds of this model and of the literature, relative to the sum of |a b|", forms));
    report.notes.push(
        "u: unit of an alignment, 2^-F of the largest term's power of two. w: unit of a rounded result. Proofs: docs/bounds.md.".into(),
    );
    Ok(())
}

/// The formula of an operation's largest error, and its value where the largest term is 1.
fn largest_error(program: &Program, operation: &ElementaryOperation) -> (String, f64) {
    match operation {
        ElementaryOperation::Multiply(multiply) => match (multiply.bits, &multiply.rounded) {
            (Some(bits), _) => (format!("u each, u = 2^-{bits}"), power(-bits)),
            (None, Some(to)) => rounding_error(to.target.format, to.target.rounding),
            (None, None) => ("0 (exact)".into(), 0.0),
        },
        ElementaryOperation::Sum(sum) => alignment_error(program, sum),
        ElementaryOperation::Integer(_) => ("0 (exact, within its range)".into(), 0.0),
        _ => {
            operation.destination().map_or(("0".into(), 0.0), |to| rounding_error(to.target.format, to.target.rounding))
        }
    }
}

fn alignment_error(program: &Program, sum: &Sum) -> (String, f64) {
    let Some(alignment) = &sum.alignment else { return ("0 (exact)".into(), 0.0) };
    let products: usize = sum.products.iter().filter_map(|step| program.products(*step)).map(|list| list.len()).sum();
    let terms = products + sum.addends.len();
    // A term that keeps fewer bits than the others has the largest unit.
    let bits = sum.addends.iter().filter_map(|addend| addend.bits).chain([alignment.bits]).min().unwrap_or(0);
    let (factor, words) = match alignment.rounding {
        Rounding::Rne | Rounding::Rna => (0.5, "u / 2"),
        _ => (1.0, "u"),
    };
    // The largest term loses nothing, unless its bits are flipped.
    let losing = if alignment.complement { terms } else { terms.saturating_sub(1) };
    (format!("{losing} {words}, u = 2^-{bits}"), losing as f64 * factor * power(-bits))
}

fn rounding_error(format: &Format, rounding: Rounding) -> (String, f64) {
    let Some(float) = format.float() else { return ("0 (exact)".into(), 0.0) };
    let last = 1 - float.precision() as i32;
    match rounding {
        Rounding::Rne | Rounding::Rna => (format!("w / 2, w = 2^{last}"), power(last - 1)),
        _ => (format!("w, or w - u after an alignment, w = 2^{last}"), power(last)),
    }
}

/// The bound for k terms, and those of the literature.
fn of_literature(claim: &Claim, program: &Program, k: usize) -> Result<Vec<BoundFormRow>> {
    let schedule = &claim.schedules[0];
    let bound = relative(&OrderFreeBounds::new(&claim.model, schedule, k)?);
    let mut rows = vec![
        BoundFormRow { k, bound: "this arithmetic".into(), formula: "docs/bounds.md".into(), value: bound.finite() },
        BoundFormRow {
            k,
            bound: "this arithmetic, probable".into(),
            formula: "mean + deviation".into(),
            value: bound.probable(RISK),
        },
    ];
    let last = program.operations().filter_map(ElementaryOperation::destination).next_back().map(|to| &to.target);
    let target = last.unwrap_or(&program.output.target);
    let Some(float) = target.format.float() else { return Ok(rows) };
    let is_nearest = matches!(target.rounding, Rounding::Rne | Rounding::Rna);
    let unit = power(i32::from(!is_nearest) - float.precision() as i32);
    let block = schedule.instruction.k;
    let steps = k.div_ceil(block);
    let all = k as f64 * unit;
    let mut add = |bound: &str, formula: &str, value: f64| {
        rows.push(BoundFormRow { k, bound: bound.into(), formula: formula.into(), value });
    };
    add("gamma_k (Higham 2002)", "k v / (1 - k v)", if all < 1.0 { all / (1.0 - all) } else { f64::INFINITY });
    add("block FMA, exact inside (Blanchard et al. 2020)", "ceil(k / b) v", steps as f64 * unit);
    add(
        "probabilistic, mean 0 (Higham and Mary 2019)",
        "sqrt(2 k ln(2 / risk)) v",
        (2.0 * (2.0 / RISK).ln() * k as f64).sqrt() * unit,
    );
    Ok(rows)
}
