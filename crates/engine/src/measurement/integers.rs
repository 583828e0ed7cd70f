//! Sums of integers.

use super::{Finding, Measurement, UNSUITED, shows, unknown};
use crate::{Result, bench::TermAnswer, format::Format, isa::Case};

/// Measures the properties that sums of integers have.
pub(super) fn measure(measurement: &mut Measurement) -> Result<()> {
    let i = measurement.bench.i;
    let k = i.stored_k();
    let (high, low) = (i.d.largest(false), i.d.largest(true));
    // The terms are 1, or -1 where the formats have it.
    let one = |format: &Format| if format.bits == 1 { u64::from(!i.xor) } else { 1 };
    let minus = |format: &Format| (format.largest(true) != 0 && format.bits > 1).then(|| format.code_mask());
    let terms = |negative: &[bool], c: u64| {
        let mut case = Case { c, ..Case::zeros(i) };
        for (at, negative) in negative.iter().enumerate() {
            let logical = case.logical(i, at);
            let of_b = match (negative, minus(i.b)) {
                (true, Some(code)) => code,
                _ => one(i.b),
            };
            let of_a = match (negative, minus(i.b), minus(i.a)) {
                (true, None, Some(code)) => code,
                (true, None, None) => return None,
                _ => 1,
            };
            (case.a[at], case.b[logical]) = (of_a, of_b);
        }
        Some(case)
    };
    let answers = measurement.bench.cases(vec![
        terms(&[false], high),
        terms(&[true], low),
        if k > 1 { terms(&[false, true], high) } else { None },
        terms(&vec![false; k], 0),
    ])?;
    let [above, below, back, all] = &answers[..] else { return Ok(()) };
    let of_all = |words: String| all.as_ref().map_or_else(|| unknown(UNSUITED), |answer| shows(words, answer));
    let is_exact = all.as_ref().is_some_and(|answer| answer.code == k as u64);
    let sums = of_all(if is_exact { "exact".into() } else { "irregular".into() })?;
    let accumulator = of_all(format!("{} bits", i.d.bits))?;
    let overflow = overflow(above, below, back, high, low)?;
    measurement.findings.extend([("overflow", overflow), ("sums", sums), ("accumulator", accumulator)]);
    Ok(())
}

/// Overflow: a sum above the largest number, below the smallest, and one that returns into range.
fn overflow(
    above: &Option<TermAnswer>,
    below: &Option<TermAnswer>,
    back: &Option<TermAnswer>,
    high: u64,
    low: u64,
) -> Result<Finding> {
    let Some(above) = above else { return unknown(UNSUITED) };
    let agrees = |answer: &Option<TermAnswer>, code: u64| answer.as_ref().is_none_or(|answer| answer.code == code);
    let word = match above.code {
        code if code == low && agrees(below, high) => "wraps",
        code if code == high && agrees(below, low) && agrees(back, high) => "saturates",
        code if code == high && agrees(below, low) => "saturates at every term",
        _ => "irregular",
    };
    shows(word, above)
}
