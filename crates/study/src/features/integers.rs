//! Features of integer instructions.

use super::{FeatureCells, FeatureFinding, UNSUITED, shows};
use crate::{
    Result,
    bench::{TermAnswer, TermBench},
    format::Format,
    isa::Case,
};

/// Measures the features that integers have.
pub(super) fn measure(bench: &mut TermBench, table: &mut FeatureCells) -> Result<()> {
    let i = bench.i;
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
    let answers = bench.cases(vec![
        terms(&[false], high),
        terms(&[true], low),
        if k > 1 { terms(&[false, true], high) } else { None },
        terms(&vec![false; k], 0),
    ])?;
    let [above, below, back, all] = &answers[..] else { return Ok(()) };
    table.put("overflow", overflow(above, below, back, high, low));
    let [sums, accumulator] = match all {
        Some(answer) => {
            let word = if answer.code == k as u64 { "exact" } else { "irregular" };
            [shows(word, answer), shows(format!("{} bits", i.d.bits), answer)]
        }
        None => [Err(UNSUITED.into()), Err(UNSUITED.into())],
    };
    table.put("sums", sums);
    table.put("accumulator", accumulator);
    Ok(())
}

/// Overflow: a sum above the largest number, below the smallest, and one that returns into range.
fn overflow(
    above: &Option<TermAnswer>,
    below: &Option<TermAnswer>,
    back: &Option<TermAnswer>,
    high: u64,
    low: u64,
) -> FeatureFinding {
    let Some(above) = above else { return Err(UNSUITED.into()) };
    let agrees = |answer: &Option<TermAnswer>, code: u64| answer.as_ref().is_none_or(|answer| answer.code == code);
    let word = match above.code {
        code if code == low && agrees(below, high) => "wraps",
        code if code == high && agrees(below, low) && agrees(back, high) => "saturates",
        code if code == high && agrees(below, low) => "saturates at every term",
        _ => "irregular",
    };
    shows(word, above)
}
