//! Tables of checks.

use super::{
    Basis, CheckRequest, CheckedProduct, Criterion, Outside, ProductCheck, Tolerance,
    by_element::first_special,
    diagnosis,
    power::{Fault, FaultFound, Missed, Power, Test, power},
    tally::LISTED,
    tolerance::common,
};
use crate::{
    Result,
    base::named::Named,
    product::{
        ProductShape,
        bound::{Claim, RISK},
        places,
    },
    report::{Report, Table, Verdict, grouped},
};

crate::rows! {
    /// A product against the bounds of what it claims to be.
    pub struct CheckRow in "product_check" {
        /// The product of a batch.
        product: Option<usize> => shown("product").if_filled().essential(),
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
        /// The product of a batch.
        product: Option<usize> => shown("product").if_filled().essential(),
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
        /// Its basis: magnitudes, running or expected.
        tolerance: String => shown("tolerance").essential(),
        /// The claim that it is proven for, or its assumption.
        holds: String => hidden(),
        /// Probability that an element of a right product exceeds it, at most; none where it is proven.
        risk: Option<f64> => shown("risk").if_filled(),
        /// Elements whose bounds it covers.
        elements: Option<usize> => shown("elements").if_filled(),
        /// Absolute tolerance.
        atol: f64 => shown("atol").essential(),
        /// Relative tolerance.
        rtol: f64 => shown("rtol").essential(),
        /// The call of PyTorch.
        torch: String => shown("PyTorch").essential(),
        /// The call of NumPy.
        numpy: String => hidden(),
    }

    /// A test, its verdict about D, and the faults that it misses.
    pub struct TestRow in "tests" {
        /// The test: the bound, a tolerance, or a test as it is written.
        test: String => shown("test").essential(),
        /// True if D passes; none for a tolerance that follows from the bounds.
        passes: Option<bool> => shown("D passes").if_filled().essential(),
        /// Name of the figure that the test compares with its limit.
        figure: Option<&'static str> => hidden(),
        /// The figure of D: a cosine, a norm, a share, codes, or the largest error over the tolerance.
        measured: Option<f64> => shown("figure").if_filled().essential(),
        /// The limit of the figure.
        limit: Option<f64> => shown("limit").if_filled().essential(),
        /// The worst figure of any D within its bounds.
        proven: Option<f64> => shown("proven").if_filled().essential(),
        /// Faults of a kernel that the test misses.
        misses: Vec<&'static str> => shown("misses").essential(),
        /// Terms at the end of k whose loss it misses.
        last_k: Option<usize> => shown("last k").if_filled().essential(),
        /// Relative error of all elements that it misses.
        factor: Option<f64> => shown("relative error").if_filled().essential(),
        /// Largest error of an element that it misses.
        error: Option<f64> => shown("error").if_filled(),
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

/// Fills the report of a check, of one product or of a batch: answer, verdict, tables.
///
/// # Errors
/// An interruption while faults are tried.
pub fn report(products: &[CheckedProduct], report: &mut Report) -> Result<Power> {
    let CheckRequest { claim, factors, d, criteria, .. } = products[0].request;
    let all = ProductCheck::joined(products);
    report.holds = all.holds();
    let any_outside = all.outside_count() > 0 || all.sample.running_outside.unwrap_or(0) > 0;
    report.verdict = if any_outside { Verdict::OutsideBound } else { Verdict::Undecided };
    report.answer = Some(batch_answer(products, &all));
    if !report.holds {
        report.notes.extend(claim.left_out());
    }
    report.notes.push(format!(
        "Errors are measured to the exact product of the given A and B. The bounds rest on the model {}.",
        claim.model.name
    ));
    if !criteria.is_empty() && all.not_compared > 0 {
        let first = products.iter().find_map(|product| first_special(product.request.factors));
        report.notes.push(not_compared(first, all.not_compared));
    }
    let shape = ProductShape { m: d.rows, n: d.columns, k: factors.k() };
    let number = |at: usize| (products.len() > 1).then_some(at);
    let rows = products.iter().enumerate().map(|(at, product)| check_row(claim, shape, number(at), &product.check));
    report.tables.push(Table::of("Product against its bounds", rows));
    let rows: Vec<OutsideRow> = (products.iter().enumerate())
        .flat_map(|(at, product)| outside(number(at), &product.check))
        .take(LISTED + 1)
        .collect();
    report.tables.extend((!rows.is_empty()).then(|| Table::of("Elements outside their bounds", rows)));
    report.tables.extend(all.diagnosis.as_ref().map(diagnosis::table));
    let tolerances = common(products.iter().map(|product| product.check.tolerances(d.format)));
    if !tolerances.is_empty() {
        report.tables.push(self::tolerances(&tolerances));
    }
    let power = tested(products, &tolerances)?;
    report.tables.push(tests(criteria, &all, &power));
    if all.finished {
        let sentences = power_sentences(&products[0].request, &all, &power);
        report.answer = Some(report.answer.take().into_iter().chain(sentences).collect::<Vec<_>>().join(" "));
    }
    Ok(power)
}

/// The answer about a product; about a batch, that of all, or of the first product that is wrong.
fn batch_answer(products: &[CheckedProduct], all: &ProductCheck) -> String {
    let full = |product: &CheckedProduct| {
        let cause = product.check.diagnosis.as_ref().map(|diagnosis| format!(" {}", diagnosis.sentences()));
        answer(product.request.claim, &product.check) + &cause.unwrap_or_default()
    };
    let [first, _, ..] = products else { return full(&products[0]) };
    let wrong = products.iter().filter(|product| !product.check.holds());
    match products.iter().position(|product| !product.check.holds()) {
        None => format!("{} products: {}", products.len(), answer(first.request.claim, all)),
        Some(at) => format!(
            "{} of {} products do not hold. Product {at}: {}",
            wrong.count(),
            products.len(),
            full(&products[at])
        ),
    }
}

/// Power of bounds, tolerances and the tests of a request, on all products of a batch.
///
/// # Errors
/// An interruption.
pub fn tested(products: &[CheckedProduct], tolerances: &[Tolerance]) -> Result<Power> {
    let first = &products[0];
    let mut tests = Test::of_bounds(&first.check.sample);
    tests.extend(tolerances.iter().map(|tolerance| Test::written(&tolerance.criterion())));
    tests.extend(first.request.criteria.iter().map(Test::written));
    power(products, &tests)
}

/// A note on elements that no test compares, with the first operand that is infinite or NaN.
fn not_compared(first: Option<String>, count: usize) -> String {
    let first = first.map(|words| format!(" {words}.")).unwrap_or_default();
    format!("Tests leave out {} elements whose exact values are infinities or NaNs.{first}", grouped(count as i64))
}

/// Sentences on the faults that the bounds miss, and on the tests of the request.
fn power_sentences(request: &CheckRequest, product_check: &ProductCheck, power: &Power) -> Vec<String> {
    let k = request.factors.k();
    let bounds: Vec<String> = Test::of_bounds(&product_check.sample).into_iter().map(|test| test.name).collect();
    let names: Vec<&str> = bounds.iter().map(String::as_str).collect();
    let by_bounds = Missed::by_all(&power.missed, &names).filter(|_| product_check.holds());
    let of_bounds = by_bounds.map(|missed| missed_sentence("The check", &missed, k));
    let results = request.criteria.iter().zip(&product_check.criteria).map(|(criterion, tally)| {
        let passes = criterion.passes(criterion.figure(&tally.d));
        let missed = power.missed.iter().find(|missed| missed.test == criterion.text);
        let verdict = format!("D {} {}.", if passes { "passes" } else { "fails" }, criterion.text);
        let misses = missed.map(|missed| missed_sentence(&criterion.text, missed, k));
        format!("{verdict}{}", misses.map_or(String::new(), |misses| format!(" {misses}")))
    });
    of_bounds.into_iter().chain(results).collect()
}

/// The faults that a test misses, in one sentence.
pub fn missed_sentence(test: &str, missed: &Missed, k: usize) -> String {
    let words = missed.words(k);
    match &words[..] {
        [] => format!("{test} would see each fault that was tried."),
        words => format!("{test} would not see: {}.", words.join("; ")),
    }
}

/// Each test with its verdict about D, and the faults that it misses.
pub fn tests(criteria: &[Criterion], product_check: &ProductCheck, power: &Power) -> Table {
    let row = |missed: &Missed| {
        let mut row = TestRow {
            test: missed.test.clone(),
            passes: None,
            figure: None,
            measured: None,
            limit: None,
            proven: None,
            misses: missed.faults.iter().map(|fault| fault.name()).collect(),
            last_k: missed.last_k,
            factor: missed.factor,
            error: missed.error,
        };
        let mut written = criteria.iter().zip(&product_check.criteria);
        if let Some((criterion, tally)) = written.find(|(criterion, _)| criterion.text == missed.test) {
            let measured = criterion.figure(&tally.d);
            row.passes = Some(criterion.passes(measured));
            row.figure = Some(criterion.figure_name());
            (row.measured, row.limit, row.proven) =
                (Some(measured), Some(criterion.limit()), criterion.proven(&tally.bounds));
        }
        row
    };
    Table::of("Tests, and the faults that they miss", power.missed.iter().map(row))
}

/// The check in a table.
pub fn check(claim: &Claim, shape: ProductShape, product_check: &ProductCheck) -> Table {
    Table::of("Product against its bounds", [check_row(claim, shape, None, product_check)])
}

fn check_row(
    claim: &Claim,
    ProductShape { m, n, k }: ProductShape,
    product: Option<usize>,
    product_check: &ProductCheck,
) -> CheckRow {
    let sample = &product_check.sample;
    CheckRow {
        product,
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
        sample: sample.elements,
        running_outside: sample.running_outside,
        running_tightest: sample.running_tightest,
        equal_bits: sample.equal_bits,
        correctly_rounded: sample.correctly_rounded,
    }
}

/// The elements outside, the worst first.
fn outside(product: Option<usize>, product_check: &ProductCheck) -> Vec<OutsideRow> {
    let row = |element: &Outside, of: &'static str| OutsideRow {
        product,
        row: element.row,
        column: element.column,
        d: element.d,
        exact: element.exact,
        error: element.error,
        bound: element.bound,
        of,
    };
    let every_order = product_check.outside.iter().map(|element| row(element, "every order"));
    let running = product_check.sample.outside.iter().take(1).map(|element| row(element, "this order"));
    every_order.chain(running).collect()
}

/// Tolerances to paste into tests.
pub fn tolerances<'a>(all: impl IntoIterator<Item = &'a Tolerance>) -> Table {
    let row = |tolerance: &Tolerance| {
        let numbers = format!("rtol={:e}, atol={:e}", tolerance.rtol, tolerance.atol);
        ToleranceRow {
            tolerance: tolerance.basis.name().into(),
            holds: tolerance.basis.meaning().into(),
            risk: (tolerance.basis == Basis::Expected).then_some(RISK),
            elements: Some(tolerance.elements),
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
        meaning: result.fault.meaning(),
        test: result.test.clone(),
        elements: result.elements,
        refused: result.refused,
        found: result.is_found(),
    };
    Table::of("Faulty kernels against the tests", results.iter().map(row))
}

/// The answer about bounds of a product that the model computed, with the tolerances that follow.
pub fn bound_answer(claim: &Claim, check: &ProductCheck, tolerances: &[Tolerance], power: &Power) -> String {
    let zeros = |tolerance: &Tolerance| {
        let missed = power.missed.iter().find(|missed| missed.test == tolerance.basis.name());
        match missed.is_some_and(|missed| missed.faults.contains(&Fault::Zeros)) {
            true => ", which passes a product of zeros",
            false => "",
        }
    };
    let numbers = |tolerance: &Tolerance| format!("atol={:e}, rtol={:e}", tolerance.atol, tolerance.rtol);
    let every = match &check.tolerance {
        Some(tolerance) => format!(" A test passes every such product with {}.", numbers(tolerance)),
        None => " Some sums overflow, or parts of them may: no tolerance covers them.".into(),
    };
    let in_sample =
        |tolerance: &&Tolerance| check.tolerance.as_ref() != Some(*tolerance) && tolerance.basis == Basis::Running;
    let running = tolerances.iter().find(in_sample).map(|tolerance| {
        format!(
            " For these operands and this order, by a sample of {} elements, it passes them with {}{}.",
            grouped(tolerance.elements as i64),
            numbers(tolerance),
            zeros(tolerance)
        )
    });
    format!(
        "|D - exact| is at most {:.1e} by {}{}; the largest of {} errors is {:.1e}.{every}{}",
        check.largest_bound,
        claim.words,
        check.tolerance.as_ref().map_or("", zeros),
        grouped(check.elements as i64),
        check.largest_error,
        running.unwrap_or_default()
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
            grouped(product_check.sample.elements as i64)
        ),
        _ => String::new(),
    };
    let bits = match product_check.sample.equal_bits {
        Some(equal) if equal == product_check.sample.elements => {
            format!(" All {} elements of the sample have its bits.", grouped(equal as i64))
        }
        Some(equal) => format!(
            " {} of {} elements of the sample have its bits.",
            grouped(equal as i64),
            grouped(product_check.sample.elements as i64)
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
