//! Tables of bounds.

use super::{Adversary, ModelBound, ObservedErrors};
use crate::{
    Result,
    base::interrupt,
    isa::{Case, Instruction},
    product::{
        Schedule,
        bound::{Claim, ErrorBound, ErrorSource, Magnitudes, OrderFreeBounds, RISK},
    },
    report::{Report, Table, Verdict, grouped},
};

/// Ratio of attained error and bound from which on a bound counts as attained.
const NEAR: f64 = 0.7;
/// Places in a binade at which a bound that follows the binades is looked at.
const PLACES: usize = 16;

crate::rows! {
    /// The bound of every order of a sum, relative to the sum of |a b|.
    pub struct BoundRow in "bounds" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The schedule in a sentence.
        schedule: String => hidden(),
        /// Parts that k is split into, at most.
        parts: usize => shown("parts").if_varied().essential(),
        /// Terms after which the sum goes to a second register.
        promote: Option<usize> => shown("promoted every").if_filled().essential(),
        /// The format of D.
        d: &'static str => shown("D").essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// |D - exact| over the sum of |a b|, at most.
        worst: f64 => shown("bound").essential(),
        /// The same with probability 1 - 10^-6, if rounding errors are independent.
        probable: f64 => shown("probable").essential(),
        /// Largest error over the sum of |a b| that constructed operands reach.
        found: Option<f64> => shown("found").if_filled().essential(),
        /// The bound over that error.
        tightness: Option<f64> => shown("bound / found").if_filled().essential(),
        /// Part of the bound: bits cut off in alignments.
        alignment: f64 => shown("alignment").beside(),
        /// Part of the bound: rounding of the instruction's sums.
        step: f64 => shown("step").beside(),
        /// Part of the bound: rounding in the second register.
        promotion: f64 => shown("promotion").if_varied(),
        /// Part of the bound: joining of parts and accumulators.
        join: f64 => shown("join").if_varied(),
        /// Part of the bound: rounding to D's format.
        output: f64 => shown("output").beside(),
    }

    /// One instruction of a shipped arithmetic: its bound, and the error that constructed operands reach.
    pub struct ModelBoundRow in "model_bounds" {
        /// The first model with this arithmetic.
        model: String => shown("model").essential(),
        /// The first of its instructions.
        instruction: String => shown("instruction").essential(),
        /// Rules of shipped models with the same arithmetic.
        rules: usize => shown("rules"),
        /// Products of one dot-product-add.
        k: usize => shown("k").essential(),
        /// |D - exact| over the sum of |a b|, at most, with C = 0.
        worst: f64 => shown("bound").essential(),
        /// The largest that constructed operands reach.
        attained: f64 => shown("attained").essential(),
        /// That error over the bound.
        ratio: f64 => shown("attained / bound").essential(),
        /// Codes of A of these operands; stored elements of sparse instructions.
        a: Vec<String> => hidden(),
        /// Codes of B.
        b: Vec<String> => hidden(),
        /// Codes of the scales of A.
        scale_a: Vec<String> => hidden(),
        /// Codes of the scales of B.
        scale_b: Vec<String> => hidden(),
    }

    /// Errors of an instruction on directed operands, beside their bounds.
    pub struct ObservedRow in "observed_errors" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The model of its arithmetic.
        model: String => shown("model").essential(),
        /// Dot-product-adds with a bound.
        cases: u64 => shown("cases").essential(),
        /// Dot-product-adds without one: infinite or NaN operands, sums that may overflow.
        unbounded: u64 => shown("no bound"),
        /// Dot-product-adds whose bound is zero.
        exact: u64 => shown("exact"),
        /// Errors above the bound.
        violations: u64 => shown("violations").essential(),
        /// Largest error over its bound.
        tightest: f64 => shown("max error / bound").essential(),
        /// Operands of that case: codes of A.
        a: Vec<String> => hidden(),
        /// Codes of B.
        b: Vec<String> => hidden(),
        /// Code of C.
        c: Option<String> => hidden(),
    }
}

/// The largest bound relative to the sum of |a b|, over a binade of sums.
pub fn relative(bounds: &OrderFreeBounds) -> ErrorBound {
    let of = |at: usize| {
        let sum = 1.0 + at as f64 / PLACES as f64;
        bounds.of(&Magnitudes::of_sum(sum)).divided(sum)
    };
    (0..PLACES).map(of).max_by(|x, y| x.finite().total_cmp(&y.finite())).unwrap_or_default()
}

/// The largest bound of a claim's schedules, relative to the sum of |a b|.
///
/// # Errors
/// A schedule that has no bound from magnitudes.
pub fn relative_of(claim: &Claim, k: usize) -> Result<f64> {
    let bound = |schedule: &Schedule| Ok(relative(&OrderFreeBounds::new(&claim.model, schedule, k)?).finite());
    claim.schedules.iter().try_fold(0.0, |most: f64, schedule| Ok(most.max(bound(schedule)?)))
}

/// Adds the bounds of a claim's schedules for each k to a report, and the answer if it has none yet.
///
/// # Errors
/// A schedule that has no bound from magnitudes; [`Error::Interrupted`](crate::Error::Interrupted), with the rows until then.
pub fn report(claim: &Claim, ks: &[usize], report: &mut Report) -> Result<()> {
    let mut rows = Vec::new();
    let outcome = bounds(claim, ks, &mut rows);
    if rows.is_empty() {
        return outcome;
    }
    if report.answer.is_none() {
        report.answer = answer(claim, &rows);
        report.notes.push(NOTE.into());
    }
    report.tables.push(table(rows));
    outcome
}

fn bounds(claim: &Claim, ks: &[usize], rows: &mut Vec<BoundRow>) -> Result<()> {
    for schedule in &claim.schedules {
        let mut adversary = Adversary::new(claim, schedule);
        for k in ks {
            interrupt::check()?;
            let bound = relative(&OrderFreeBounds::new(&claim.model, schedule, *k)?);
            // A family has bounds alone: each search takes its time.
            let largest = if claim.is_exact { adversary.largest(*k)? } else { None };
            rows.push(row(schedule, *k, &bound, largest));
        }
    }
    Ok(())
}

fn row(schedule: &Schedule, k: usize, bound: &ErrorBound, largest: Option<f64>) -> BoundRow {
    let source = |source| bound.source(source);
    BoundRow {
        instruction: schedule.instruction.to_string(),
        schedule: schedule.sentence(k),
        parts: schedule.split.count,
        promote: schedule.promote,
        d: schedule.output.format.name,
        k,
        worst: bound.finite(),
        probable: bound.probable(RISK),
        found: largest,
        tightness: largest.map(|largest| bound.finite() / largest),
        alignment: source(ErrorSource::Alignment),
        step: source(ErrorSource::Step),
        promotion: source(ErrorSource::Promotion),
        join: source(ErrorSource::Join),
        output: source(ErrorSource::Output),
    }
}

/// Codes of a format in hexadecimal.
fn codes(format: &crate::format::Format, codes: &[u64]) -> Vec<String> {
    codes.iter().map(|code| format!("{code:#0width$x}", width = 2 + (format.bits as usize).div_ceil(4))).collect()
}

/// Adds the bounds of one instruction of every shipped arithmetic to a report.
pub fn report_models(bounds: &[ModelBound], report: &mut Report) {
    let row = |bound: &ModelBound| {
        let ModelBound { model, instruction: i, rules, bound: worst, attained, case } = bound;
        let scales = |codes_of: fn(&Case) -> &[u64]| match (case, i.scale) {
            (Some(case), Some(scale)) => codes(scale.format, codes_of(case)),
            _ => Vec::new(),
        };
        ModelBoundRow {
            model: model.clone(),
            instruction: i.to_string(),
            rules: *rules,
            k: i.stored_k(),
            worst: *worst,
            attained: *attained,
            ratio: attained / worst,
            a: case.as_ref().map_or(Vec::new(), |case| codes(i.a, &case.a)),
            b: case.as_ref().map_or(Vec::new(), |case| codes(i.b, &case.b)),
            scale_a: scales(|case| &case.scale_a),
            scale_b: scales(|case| &case.scale_b),
        }
    };
    let rows: Vec<ModelBoundRow> = bounds.iter().map(row).collect();
    let least = rows.iter().map(|row| row.ratio).fold(f64::INFINITY, f64::min);
    let near = rows.iter().filter(|row| row.ratio >= NEAR).count();
    report.answer = Some(format!(
        "Constructed operands reach at least {NEAR} of the bound in {near} of {} arithmetics; the least ratio is {least:.2}.",
        rows.len()
    ));
    report.holds = rows.iter().all(|row| row.ratio <= 1.0);
    report.verdict = Verdict::OutsideBound;
    report.tables.push(Table::of("Bounds of one instruction and the errors that operands reach", rows));
}

/// The observed errors of an instruction in a row.
pub fn observed(i: &Instruction, model: &str, errors: &ObservedErrors) -> ObservedRow {
    let case = errors.first.as_ref().or(errors.tightest_case.as_ref());
    ObservedRow {
        instruction: i.to_string(),
        model: model.into(),
        cases: errors.cases,
        unbounded: errors.unbounded,
        exact: errors.exact,
        violations: errors.violations,
        tightest: errors.tightest,
        a: case.map_or(Vec::new(), |case| codes(i.a, &case.a)),
        b: case.map_or(Vec::new(), |case| codes(i.b, &case.b)),
        c: case.and_then(|case| codes(i.c, &[case.c]).pop()),
    }
}

/// Note on the columns.
const NOTE: &str = "A bound holds for every order of k, for normal operands without overflow and underflow: |D - exact| <= bound * sum of |a b|. \
                        Probable bounds hold for an element with probability 1 - 10^-6 if rounding errors are independent.";

/// The answer about bounds of every order.
fn answer(claim: &Claim, rows: &[BoundRow]) -> Option<String> {
    let least = rows.iter().map(|row| row.k).min()?;
    let most = rows.iter().map(|row| row.k).max()?;
    let worst = |k: usize| rows.iter().filter(|row| row.k == k).map(|row| row.worst).fold(0.0, f64::max);
    let range = match least == most {
        true => format!("{:.1e} of the sum of |a b| for k = {least}", worst(least)),
        false => format!(
            "from {:.1e} of the sum of |a b| for k = {least} to {:.1e} for k = {most}",
            worst(least),
            worst(most)
        ),
    };
    Some(format!("By {}, |D - exact| is at most {range}.", claim.words))
}

/// The answer about observed errors.
pub fn observed_answer(i: &Instruction, errors: &ObservedErrors) -> String {
    let cases = grouped(errors.cases as i64);
    match errors.violations {
        0 => format!(
            "All {cases} dot-product-adds of {i} are within their bounds; the largest error is {:.3} of its bound.",
            errors.tightest
        ),
        count => format!("{} of {cases} dot-product-adds of {i} are outside their bounds.", grouped(count as i64)),
    }
}

/// The bounds in one table.
fn table(rows: Vec<BoundRow>) -> Table {
    Table::of("Bounds of |D - exact|, relative to the sum of |a b|", rows)
}
