//! Tables of checks.

use super::{
    CheckRequest, Outside, ProductCheck, Tolerance, diagnosis,
    power::{Fault, FaultFound},
};
use crate::{
    product::{ProductShape, bound::Claim, places},
    report::{Report, Table, Verdict, grouped},
};

crate::rows! {
    /// A product against the bounds of what it claims to be.
    pub struct CheckRow in "product_check" {
        /// Rows of A and D.
        m: usize => shown("m").essential(),
        /// Columns of B and D.
        n: usize => shown("n").essential(),
        /// Terms of each sum.
        k: usize => shown("k").essential(),
        /// The claim.
        claim: String => shown("claim"),
        /// Elements.
        elements: usize => shown("elements").essential(),
        /// Elements within their bounds.
        within: usize => shown("within").essential(),
        /// Elements outside.
        outside: usize => shown("outside").essential(),
        /// Elements within that overflowed as they may.
        overflowed: usize => shown("overflowed").if_varied(),
        /// Elements without a bound: a part of the sum may overflow or saturate.
        undecided: usize => shown("undecided").if_varied().essential(),
        /// Largest |D - exact| of all elements with a verdict, outside or within.
        largest_error: f64 => shown("max error").essential(),
        /// Largest bound.
        largest_bound: f64 => shown("max bound").essential(),
        /// Largest |D - exact| over the element's bound; infinite where a bound is 0 and the error is not.
        tightest: f64 => shown("max error / bound").essential(),
        /// Elements that only an exact sum could decide.
        decided_exactly: usize => hidden(),
        /// Elements that were computed in full.
        sample: usize => shown("sample"),
        /// Elements of these outside the running bound of the schedule, which is tighter.
        running_outside: Option<usize> => shown("outside the running bound").if_filled(),
        /// Largest |D - exact| over the running bound.
        running_tightest: Option<f64> => shown("max error / running bound").if_filled(),
        /// Elements of these with the bits of the claimed arithmetic.
        equal_bits: Option<usize> => shown("equal bits").if_filled().essential(),
        /// Elements of these that are correctly rounded.
        correctly_rounded: usize => shown("correctly rounded"),
    }

    /// An element outside its bound.
    pub struct OutsideRow in "outside" {
        /// Row of D.
        row: usize => shown("row").essential(),
        /// Column of D.
        column: usize => shown("column").essential(),
        /// The element of D.
        d: f64 => shown("D").essential(),
        /// The exact value.
        exact: f64 => shown("exact").essential(),
        /// |D - exact|.
        error: f64 => shown("error").essential(),
        /// The bound.
        bound: f64 => shown("bound").essential(),
        /// The bound that it is outside of: of every order, or of the schedule's own order.
        of: &'static str => shown("bound of"),
    }

    /// A tolerance for a test.
    pub struct ToleranceRow in "tolerances" {
        /// Where it comes from.
        tolerance: String => shown("tolerance").essential(),
        /// Absolute tolerance.
        atol: f64 => shown("atol").essential(),
        /// Relative tolerance.
        rtol: f64 => shown("rtol").essential(),
        /// The call of PyTorch.
        torch: String => shown("PyTorch").essential(),
        /// The call of NumPy.
        numpy: String => hidden(),
    }

    /// A faulty kernel against a test.
    pub struct FaultRow in "faults" {
        /// The fault.
        fault: &'static str => shown("fault").essential(),
        /// Behaviour of the faulty kernel.
        meaning: &'static str => shown("meaning"),
        /// The test: the bound, or a tolerance.
        test: String => shown("test").essential(),
        /// Elements that were tried.
        elements: usize => shown("elements").essential(),
        /// Elements that the test refuses.
        refused: usize => shown("refused").essential(),
        /// True if the test finds the fault.
        found: bool => shown("found").essential(),
    }
}

/// Fills the report of a check: answer, verdict, tables.
pub fn report(request: &CheckRequest, product_check: &ProductCheck, tolerances: &[Tolerance], report: &mut Report) {
    let CheckRequest { claim, factors, d, .. } = request;
    report.holds = product_check.holds();
    let any_outside = product_check.outside_count() > 0 || product_check.sample.running_outside.unwrap_or(0) > 0;
    report.verdict = if any_outside { Verdict::OutsideBound } else { Verdict::Undecided };
    let cause = product_check.diagnosis.as_ref().map(|diagnosis| format!(" {}", diagnosis.sentences()));
    report.answer = Some(answer(claim, product_check) + &cause.unwrap_or_default());
    if !report.holds {
        report.notes.extend(claim.left_out());
    }
    report.notes.push(format!(
        "Errors are measured to the exact product of the given A and B. The bounds rest on the model {}.",
        claim.model.name
    ));
    report.tables.push(check(claim, ProductShape { m: d.rows, n: d.columns, k: factors.k() }, product_check));
    report.tables.extend(outside(product_check));
    report.tables.extend(product_check.diagnosis.as_ref().map(diagnosis::table));
    if !tolerances.is_empty() {
        report.tables.push(self::tolerances(tolerances));
    }
}

/// The check in a row.
pub fn check(claim: &Claim, ProductShape { m, n, k }: ProductShape, product_check: &ProductCheck) -> Table {
    let sample = &product_check.sample;
    Table::of(
        "Product against its bounds",
        [CheckRow {
            m,
            n,
            k,
            claim: claim.words.clone(),
            elements: product_check.elements,
            within: product_check.within,
            outside: product_check.outside_count(),
            overflowed: product_check.overflowed,
            undecided: product_check.undecided,
            largest_error: product_check.largest_error,
            largest_bound: product_check.largest_bound,
            tightest: product_check.tightest,
            decided_exactly: product_check.decided_exactly,
            sample: sample.elements(),
            running_outside: sample.running_outside,
            running_tightest: sample.running_tightest,
            equal_bits: sample.equal_bits,
            correctly_rounded: sample.correctly_rounded,
        }],
    )
}

/// The elements outside, the worst first; `None` without one.
pub fn outside(product_check: &ProductCheck) -> Option<Table> {
    let row = |element: &Outside, of: &'static str| OutsideRow {
        row: element.row,
        column: element.column,
        d: element.d,
        exact: element.exact,
        error: element.error,
        bound: element.bound,
        of,
    };
    let rows: Vec<OutsideRow> = product_check
        .outside
        .iter()
        .map(|element| row(element, "every order"))
        .chain(product_check.sample.outside.iter().take(1).map(|element| row(element, "this order")))
        .collect();
    (!rows.is_empty()).then(|| Table::of("Elements outside their bounds", rows))
}

/// Tolerances to paste into tests.
pub fn tolerances<'a>(all: impl IntoIterator<Item = &'a Tolerance>) -> Table {
    let row = |tolerance: &Tolerance| {
        let numbers = format!("rtol={:e}, atol={:e}", tolerance.rtol, tolerance.atol);
        ToleranceRow {
            tolerance: tolerance.name.clone(),
            atol: tolerance.atol,
            rtol: tolerance.rtol,
            torch: format!("torch.testing.assert_close(d.double(), exact, {numbers})"),
            numpy: format!("numpy.testing.assert_allclose(d, exact, {numbers})"),
        }
    };
    Table::of("Tolerances", all.into_iter().map(row))
}

/// Faults and the tests that find them.
pub fn faults(results: &[FaultFound]) -> Table {
    let row = |result: &FaultFound| FaultRow {
        fault: result.fault.name(),
        meaning: meaning(result.fault),
        test: result.test.clone(),
        elements: result.elements,
        refused: result.refused,
        found: result.is_found(),
    };
    Table::of("Faulty kernels against the tests", results.iter().map(row))
}

fn meaning(fault: Fault) -> &'static str {
    crate::base::named::Named::meaning(fault)
}

/// The answer about bounds of a product that the model computed.
pub fn bound_answer(claim: &Claim, product_check: &ProductCheck) -> String {
    let tolerance = match &product_check.tolerance {
        Some(tolerance) => {
            format!(" A test passes every such product with atol={:e}, rtol={:e}.", tolerance.atol, tolerance.rtol)
        }
        None => " Some sums overflow, or parts of them may: no tolerance covers them.".into(),
    };
    format!(
        "|D - exact| is at most {:.1e} by {}; the largest of {} errors is {:.1e}.{tolerance}",
        product_check.largest_bound,
        claim.words,
        grouped(product_check.elements as i64),
        product_check.largest_error
    )
}

/// The answer to a check.
pub fn answer(claim: &Claim, product_check: &ProductCheck) -> String {
    let count = grouped(product_check.elements as i64);
    let words = &claim.words;
    if product_check.outside_count() > 0 {
        let worst = &product_check.outside[0];
        return format!(
            "{} of {count} elements are outside the bound of {words}: rows {}, columns {}. The worst is D[{}, {}] = {:.6e}, exact {:.6e}, \
             bound {:.1e}.",
            grouped(product_check.outside_count() as i64),
            places(&product_check.rows),
            places(&product_check.columns),
            worst.row,
            worst.column,
            worst.d,
            worst.exact,
            worst.bound
        );
    }
    let running = match product_check.sample.running_outside {
        Some(outside @ 1..) => format!(
            ", but {} of {} elements of the sample are outside the running bound of this order",
            grouped(outside as i64),
            grouped(product_check.sample.elements() as i64)
        ),
        _ => String::new(),
    };
    let bits = match product_check.sample.equal_bits {
        Some(equal) if equal == product_check.sample.elements() => {
            format!(" All {} elements of the sample have its bits.", grouped(equal as i64))
        }
        Some(equal) => format!(
            " {} of {} elements of the sample have its bits.",
            grouped(equal as i64),
            grouped(product_check.sample.elements() as i64)
        ),
        None => String::new(),
    };
    if product_check.undecided > 0 {
        return format!(
            "{} of {count} elements are not decided by the bound of {words}: a part of the sum may overflow or saturate. The other elements \
             are within.",
            grouped(product_check.undecided as i64)
        );
    }
    let overflowed = match product_check.overflowed {
        0 => String::new(),
        count => format!(" {} overflowed, as they may.", grouped(count as i64)),
    };
    if !product_check.finished {
        return format!("So far, {count} elements are within the bound of {words}.");
    }
    format!(
        "All {count} elements are within the bound of {words}{running}; the largest error is {:.2} of its bound.{bits}{overflowed}",
        product_check.tightest
    )
}
