//! Conversion instructions of all instruction sets in one table.
//!
//! A second one has the disagreements of public sources about them.
//!
//! A row states what its instruction does at the corners of its formats. A row with a rule is executed by the
//! soft-float, and a test compares every word with the execution: `words` finds the words, `rule` executes.

mod rule;
mod table;
mod words;

pub use rule::{ConversionRule, ConversionRun, lane_random};
pub use table::{Conversion, DISAGREEMENTS, Disagreement, conversions};
pub use words::{COLUMNS, words};

use crate::{
    Error, Result,
    base::nearest::nearest,
    isa::pattern,
    report::{Report, Table, counted},
};

crate::rows! {
    /// A conversion instruction, and what it does at the corners of its formats.
    pub struct ConversionInstructionRow in "conversion_instructions" {
        /// Instruction set: ptx, x86, amd, arm or risc-v.
        isa: String => shown("ISA").essential(),
        /// Spellings, with alternatives in braces, separated by semicolons.
        instruction: String => shown("instruction").essential(),
        /// Format of the operand.
        source: String => shown("from").essential(),
        /// Format of the result.
        destination: String => shown("to").essential(),
        /// Scale, and the value for which the row holds.
        scale: Option<String> => shown("scale").if_filled(),
        /// Result of NaN: a code; quiet or copy if the payload is kept.
        nan: String => shown("NaN").essential(),
        /// Result of an infinity; after the bar, of the negative one.
        infinity: String => shown("infinity").essential(),
        /// Result of a finite value beyond the range; after the bar, of a negative one.
        too_large: String => shown("too large").essential(),
        /// Neighbour that a value half-way between two numbers becomes.
        tie: String => shown("tie").essential(),
        /// Subnormal operands: kept, flushed, or too small to matter.
        subnormal_in: String => shown("subnormal in"),
        /// Subnormal results: kept or flushed.
        subnormal_out: String => shown("subnormal out"),
        /// Result of -0.
        minus_zero: String => shown("-0"),
        /// Result of -1 in a format without a sign.
        negative: String => shown("negative").if_varied(),
        /// Random bits below the last place, of an operand.
        random_bits: Option<u32> => shown("random bits").if_filled(),
        /// True if the soft-float executes it and gives these words.
        executed: bool => shown("executed"),
        /// Evidence: measurement, specification, literature or assumed.
        evidence: String => shown("evidence").essential(),
        /// Device or document of the evidence.
        reference: String => shown("reference"),
        /// Remark.
        note: Option<String> => hidden(),
    }

    /// A question on a conversion to which public sources give two answers.
    pub struct DisagreementRow in "conversion_disagreements" {
        /// Conversion in question.
        subject: String => shown("conversion").essential(),
        /// Format of the operand.
        source: String => shown("from"),
        /// Format of the result.
        destination: String => shown("to"),
        /// Code of an operand that shows it.
        operand: Option<String> => shown("operand").essential(),
        /// First answer, and who gives it.
        first: String => shown("one says").essential(),
        /// Its result.
        first_result: Option<String> => shown("result").essential(),
        /// Second answer, and who gives it.
        second: String => shown("another says").essential(),
        /// Its result.
        second_result: Option<String> => shown("result ").essential(),
        /// Decision, if there is one.
        standing: String => shown("standing").essential(),
        /// Thread or document.
        reference: String => shown("reference"),
    }
}

/// Adds to `report` the conversions of `isa` with `wanted` (lower case) in a spelling or a format.
///
/// # Errors
/// A request error: no conversion of the instruction set, or none at all, matches.
pub fn list(wanted: &str, isa: Option<&str>, report: &mut Report) -> Result<()> {
    let all = conversions();
    if let Some(isa) = isa.filter(|isa| !all.iter().any(|row| row.isa.eq_ignore_ascii_case(isa))) {
        let mut names: Vec<&str> = all.iter().map(|row| row.isa.as_str()).collect();
        names.dedup();
        return Err(Error::request(format!(
            "no instruction set is called '{}'; choose one of {}",
            crate::base::visible::shortened(isa),
            names.join(", ")
        )));
    }
    let of_isa = |row: &&Conversion| isa.is_none_or(|isa| row.isa.eq_ignore_ascii_case(isa));
    let rows: Vec<&Conversion> = all.iter().filter(of_isa).filter(|row| row.matches(wanted)).collect();
    let disagreements: Vec<&Disagreement> =
        DISAGREEMENTS.iter().filter(|row| isa.is_none() && row.matches(wanted)).collect();
    if rows.is_empty() && disagreements.is_empty() {
        let names = all.iter().flat_map(Conversion::spellings);
        let near = nearest(wanted, names, 3).join(", ");
        return Err(Error::request(format!(
            "no conversion instruction contains '{}'; the nearest are {near}",
            crate::base::visible::shortened(wanted)
        )));
    }
    let executed = rows.iter().filter(|row| row.rules().is_some()).count();
    report.answer = Some(format!(
        "{}, {executed} of them executed by the soft-float; {}.",
        counted(rows.len() as u64, "row"),
        counted(disagreements.len() as u64, "public disagreement")
    ));
    if !rows.is_empty() {
        report.tables.push(Table::of("Conversion instructions", rows.into_iter().map(row)));
    }
    if !disagreements.is_empty() {
        report.tables.push(Table::of("Public disagreements", disagreements.into_iter().map(disagreement)));
    }
    Ok(())
}

fn row(row: &Conversion) -> ConversionInstructionRow {
    let [nan, infinity, too_large, tie, subnormal_in, subnormal_out, minus_zero, negative] = row.stated();
    let rules = row.rules();
    ConversionInstructionRow {
        isa: row.isa.clone(),
        instruction: row.instruction.clone(),
        source: row.source.clone(),
        destination: row.destination.clone(),
        scale: filled(&row.scale),
        nan,
        infinity,
        too_large,
        tie,
        subnormal_in,
        subnormal_out,
        minus_zero,
        negative,
        random_bits: rules.as_ref().and_then(|rules| rules.first()?.random_bits),
        executed: rules.is_some(),
        evidence: row.evidence.clone(),
        reference: row.reference.clone(),
        note: filled(&row.note),
    }
}

fn disagreement(row: &Disagreement) -> DisagreementRow {
    DisagreementRow {
        subject: row.subject.clone(),
        source: row.source.clone(),
        destination: row.destination.clone(),
        operand: filled(&row.operand),
        first: row.first.clone(),
        first_result: filled(&row.first_result),
        second: row.second.clone(),
        second_result: filled(&row.second_result),
        standing: row.standing.clone(),
        reference: row.reference.clone(),
    }
}

fn filled(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

/// True if a spelling of the row contains `wanted`, or is a pattern of it.
fn spelled(spelling: &str, wanted: &str) -> bool {
    let spelling = spelling.to_lowercase();
    spelling.contains(wanted) || pattern::matches(&spelling, wanted)
}

#[cfg(test)]
mod tests;
