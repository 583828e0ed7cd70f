//! Tables and sentences of checks of attention.

use std::collections::BTreeSet;

use super::{AttentionCause, AttentionCheck, AttentionClaim, AttentionPower, FaultPower, Operands, OutsideElement};
use crate::{
    base::{named::Named, sentence::listed},
    product::places,
    report::{Report, Table, Verdict, counted, grouped},
};

crate::rows! {
    /// Outputs of attention against their bounds.
    pub struct AttentionRow in "attention" {
        /// Heads of Q, over the batch.
        heads: usize => shown("heads").essential(),
        /// Heads of K and V, over the batch.
        key_heads: usize => shown("heads of K"),
        /// Queries of a head.
        queries: usize => shown("queries").essential(),
        /// Keys of a head.
        keys: usize => shown("keys").essential(),
        /// Columns of Q and K.
        columns: usize => shown("d").essential(),
        /// The claim.
        claim: String => shown("claim"),
        /// Factor of the products of queries and keys.
        scale: f64 => hidden(),
        /// Elements of O that were judged.
        elements: usize => shown("elements").essential(),
        /// Elements within their bounds.
        within: usize => shown("within").essential(),
        /// Elements outside.
        outside: usize => shown("outside").essential(),
        /// Elements of rows without a bound.
        undecided: usize => shown("undecided"),
        /// Elements of queries to which the mask leaves no key: right if 0 or NaN.
        without_key: usize => shown("without key"),
        /// Elements within that overflowed as they may.
        overflowed: usize => shown("overflowed"),
        /// Largest |O - exact|, within or outside.
        largest_error: f64 => shown("max error").essential(),
        /// Largest bound.
        largest_bound: f64 => shown("max bound").essential(),
        /// Largest |O - exact| over the element's bound.
        tightest: f64 => shown("max error / bound").essential(),
        /// Elements whose exact value MPFR computed too.
        verified: usize => shown("by MPFR"),
        /// Largest difference of the reference from MPFR, over the error that the reference claims.
        reference_error: f64 => hidden(),
    }

    /// An element of O outside its bound.
    pub struct AttentionOutsideRow in "attention_outside" {
        /// Head of Q, counted over the batch.
        head: usize => shown("head").essential(),
        /// Query.
        row: usize => shown("row").essential(),
        /// Column of O.
        column: usize => shown("column").essential(),
        /// The element.
        o: f64 => shown("O").essential(),
        /// The exact value; NaN where the mask leaves no key.
        exact: f64 => shown("exact").essential(),
        /// |O - exact|.
        error: f64 => shown("error").essential(),
        /// The bound.
        bound: f64 => shown("bound").essential(),
    }

    /// A fault of a kernel that the bound finds or misses.
    pub struct AttentionFaultRow in "attention_faults" {
        /// The fault.
        fault: &'static str => shown("fault").essential(),
        /// Places at which it was tried: tiles of keys; 1 for other faults.
        places: usize => shown("places").essential(),
        /// Places at which an element of the sample would be outside.
        detected: usize => shown("found").essential(),
        /// Rows of the sample.
        rows: usize => hidden(),
    }
}

/// Fills the report of a check: answer, verdict, tables.
pub fn report(operands: &Operands, claim: &AttentionClaim, check: &AttentionCheck, report: &mut Report) {
    let judged = &check.judged;
    report.holds = check.holds();
    report.verdict = if judged.outside > 0 { Verdict::OutsideBound } else { Verdict::Undecided };
    report.answer = Some(answer(operands, claim, check));
    report.notes.extend(check.notes.iter().cloned());
    report.notes.push(format!(
        "Errors are measured to the exact softmax(s Q K^T) V of the given numbers, with s = {:?}. The bound holds for any order of tiles \
         of at least {} keys, and for an exp with a relative error of at most {:.1e}.",
        claim.scale, claim.tile, claim.exp_error
    ));
    report.notes.extend(check.power.as_ref().map(power_sentence));
    let (verified, reference_error) = verified(check);
    if reference_error > 1.0 {
        report.holds = false;
        report.verdict = Verdict::Failed;
        report
            .notes
            .push("The reference is farther from MPFR than its error: a fault of tcnum, please report it.".into());
    }
    report.tables.push(Table::of(
        "Attention against its bounds",
        [AttentionRow {
            heads: operands.q.count(),
            key_heads: operands.k.count(),
            queries: operands.q.rows,
            keys: operands.k.rows,
            columns: operands.q.columns,
            claim: claim.words(operands),
            scale: claim.scale,
            elements: judged.elements,
            within: judged.within,
            outside: judged.outside,
            undecided: judged.undecided,
            without_key: judged.without_key,
            overflowed: judged.overflowed,
            largest_error: judged.largest_error,
            largest_bound: judged.largest_bound,
            tightest: judged.tightest,
            verified,
            reference_error,
        }],
    ));
    let outside = |element: &OutsideElement| AttentionOutsideRow {
        head: element.place.head,
        row: element.place.row,
        column: element.column,
        o: element.o,
        exact: element.exact,
        error: element.error,
        bound: element.bound,
    };
    report.tables.extend(Table::of("Elements outside their bounds", judged.listed.iter().map(outside)).filled());
    if let Some(power) = &check.power {
        let row = |fault: &FaultPower| AttentionFaultRow {
            fault: fault.name,
            places: fault.places,
            detected: fault.detected,
            rows: power.rows,
        };
        report.tables.push(Table::of("Faults that the bound finds", power.faults.iter().map(row)));
    }
}

/// Elements that MPFR computed too, and the largest difference.
#[cfg(feature = "mpfr")]
fn verified(check: &AttentionCheck) -> (usize, f64) {
    (check.reference.elements, check.reference.largest)
}

/// No element is computed without MPFR.
#[cfg(not(feature = "mpfr"))]
fn verified(_: &AttentionCheck) -> (usize, f64) {
    (0, 0.0)
}

/// The answer: the verdict, the worst element and the cause.
pub fn answer(operands: &Operands, claim: &AttentionClaim, check: &AttentionCheck) -> String {
    let judged = &check.judged;
    let (count, words) = (grouped(judged.elements as i64), claim.words(operands));
    if judged.outside > 0 {
        let worst = &judged.listed[0];
        let of =
            |place: fn(&super::RowPlace) -> usize| places(&judged.rows.iter().map(place).collect::<BTreeSet<usize>>());
        let exact = match worst.exact.is_nan() {
            true => "and the mask leaves no key to the query".to_string(),
            false => format!("exact {:.6e}, bound {:.1e}", worst.exact, worst.bound),
        };
        return format!(
            "{} of {count} elements are outside the bound of {words}: heads {}, rows {}. The worst is O[{}, {}, {}] = {:.6e}, {exact}.{}",
            grouped(judged.outside as i64),
            of(|place| place.head),
            of(|place| place.row),
            worst.place.head,
            worst.place.row,
            worst.column,
            worst.o,
            check.cause.as_ref().map(cause_sentence).unwrap_or_default()
        );
    }
    if judged.undecided > 0 {
        let reason = judged.reason.map(Named::meaning).unwrap_or_default();
        return format!(
            "{} of {count} elements are not decided by the bound of {words}: of a row, {reason}. The other elements are within.",
            grouped(judged.undecided as i64)
        );
    }
    if !check.is_finished && judged.elements < operands.elements() {
        return format!("So far, {count} elements are within the bound of {words}.");
    }
    format!(
        "All {count} elements are within the bound of {words}; the largest error is {:.2} of its bound.",
        judged.tightest
    )
}

fn cause_sentence(cause: &AttentionCause) -> String {
    let rows = counted(cause.rows as u64, "row");
    match &cause.fault {
        Some(fault) => {
            let region = cause.region.as_ref().map_or_else(String::new, |region| format!(", {region}"));
            let right = match cause.right {
                0 => String::new(),
                right => format!(" with errors and of {} without", counted(right as u64, "row")),
            };
            format!(" {}{region}: this explains every element of {rows}{right} that were tried.", fault.words)
        }
        None => format!(" No fault that was tried explains them in {rows}."),
    }
}

/// Says what the bound would miss.
fn power_sentence(power: &AttentionPower) -> String {
    let rows = counted(power.rows as u64, "row");
    let missed: Vec<String> = power
        .faults
        .iter()
        .filter(|fault| fault.detected < fault.places)
        .map(|fault| match fault.places {
            1 => fault.name.to_string(),
            places => format!("{} at {} of {places} places", fault.name, places - fault.detected),
        })
        .collect();
    match &missed[..] {
        [] => format!(
            "In a sample of {rows}, the bound would find each of {}.",
            counted(power.faults.len() as u64, "fault")
        ),
        missed => format!(
            "In a sample of {rows}, the bound may miss {} of {}: {}.",
            missed.len(),
            counted(power.faults.len() as u64, "fault"),
            listed(missed)
        ),
    }
}
