//! The steps of a dot-product-add as rows, in one arithmetic or in two side by side.

use crate::{
    arithmetic::{Explanation, ExplanationLine},
    format::{Class, Decoded, Finite, Real},
    report::Table,
};

crate::rows! {
    /// A step of a dot-product-add, in one arithmetic or in two side by side.
    /// Values are exact: `1.5 = 3*2^-1`, in decimal after a `~` where that has too many digits.
    pub struct StepRow in "steps" {
        /// Number of the case, among several.
        number: Option<usize> => shown("#").if_filled().essential(),
        /// Group of terms, from 1; absent outside of groups.
        group: Option<usize> => shown("group"),
        /// Step: a term, a sum or a rounding.
        step: String => shown("step").essential(),
        /// True if two arithmetics agree in the step.
        same: Option<bool> => shown("same").if_filled().essential(),
        /// Value.
        value: Option<String> => shown("value").essential(),
        /// Value in the second arithmetic.
        second_value: Option<String> => shown("2: value").beside().if_filled().essential(),
        /// Exponent in an alignment; the largest for a sum.
        exponent: Option<i32> => shown("exponent").if_filled(),
        /// Exponent in the second arithmetic.
        second_exponent: Option<i32> => shown("2: exponent").beside().if_filled(),
        /// Part of a term that alignment keeps.
        kept: Option<String> => shown("kept").if_filled(),
        /// Part that the second arithmetic keeps.
        second_kept: Option<String> => shown("2: kept").beside().if_filled(),
        /// Part that alignment drops.
        cut_off: Option<String> => shown("dropped").if_filled(),
        /// Part that the second arithmetic drops.
        second_cut_off: Option<String> => shown("2: dropped").beside().if_filled(),
        /// Result of a rounding, with its format.
        code: Option<String> => shown("code").if_filled(),
        /// Result of a rounding in the second arithmetic.
        second_code: Option<String> => shown("2: code").beside().if_filled(),
    }
}

impl StepRow {
    /// A step in which two arithmetics differ, in words: `sum: 0; 2^-24`.
    pub fn difference(&self) -> Option<String> {
        let of = |value: &Option<String>, kept: &Option<String>, code: &Option<String>| match (value, kept, code) {
            (None, ..) => "none".to_string(),
            (Some(value), Some(kept), _) => format!("{value} (kept: {kept})"),
            (Some(value), None, Some(code)) => format!("{value} ({code})"),
            (Some(value), None, None) => value.clone(),
        };
        let x = of(&self.value, &self.kept, &self.code);
        let y = of(&self.second_value, &self.second_kept, &self.second_code);
        (self.same == Some(false)).then(|| format!("{}: {x}; {y}", self.step))
    }
}

/// Makes the table of steps of one arithmetic or of two.
pub fn table(names: &[String], rows: Vec<StepRow>) -> Table {
    let title = match names {
        [one] => format!("Step by step: {one}"),
        several => {
            let named: Vec<String> =
                several.iter().enumerate().map(|(at, name)| format!("{}: {name}", at + 1)).collect();
            format!("Step by step, {}", named.join(", "))
        }
    };
    Table::of(title, rows)
}

/// Makes the rows of [`table`] for a case.
/// Equal steps of two arithmetics share a row, and products that are +0 are left out.
pub fn rows(number: Option<usize>, explanations: &[Explanation]) -> Vec<StepRow> {
    let said: Vec<Vec<&ExplanationLine>> = explanations
        .iter()
        .map(|explanation| explanation.lines.iter().filter(|line| !is_nothing(line)).collect())
        .collect();
    let steps: Vec<(Option<&ExplanationLine>, Option<&ExplanationLine>)> = match &said[..] {
        [one] => one.iter().map(|line| (Some(*line), None)).collect(),
        [one, other] => side_by_side(one, other),
        _ => Vec::new(),
    };
    let row = |(one, other): (Option<&ExplanationLine>, Option<&ExplanationLine>)| {
        let named = one.or(other).expect("a row has a line");
        let (first, second) = (says(one), says(other));
        StepRow {
            number,
            group: named.group.map(|group| group + 1),
            step: named.what.clone(),
            same: (said.len() > 1).then(|| first == second),
            value: first.value,
            exponent: first.exponent,
            kept: first.kept,
            cut_off: first.cut_off,
            code: first.code,
            second_value: second.value,
            second_exponent: second.exponent,
            second_kept: second.kept,
            second_cut_off: second.cut_off,
            second_code: second.code,
        }
    };
    steps.into_iter().map(row).collect()
}

/// True if a line is a product that is +0, which has no effect.
fn is_nothing(line: &ExplanationLine) -> bool {
    let zero = matches!(line.value, Real::Finite(finite) if finite.is_zero() && !finite.negative);
    zero && line.code.is_none() && ["]*b[", "]^b["].iter().any(|term| line.what.contains(term))
}

/// A step in one arithmetic.
#[derive(Default, PartialEq)]
struct Said {
    value: Option<String>,
    exponent: Option<i32>,
    kept: Option<String>,
    cut_off: Option<String>,
    code: Option<String>,
}

fn says(line: Option<&ExplanationLine>) -> Said {
    let Some(line) = line else { return Said::default() };
    let cut = line.kept.and_then(|kept| match line.value {
        // A rest beyond 128 bits is omitted.
        Real::Finite(value) => Some(value.minus(&kept)).filter(|rest| !rest.sticky),
        _ => None,
    });
    Said {
        value: Some(real(&line.value)),
        exponent: line.exponent,
        kept: line.kept.as_ref().map(power_of_two_text),
        cut_off: cut.as_ref().map(power_of_two_text),
        code: line.code.map(|(format, code)| format!("{} {format}", format.hex(code))),
    }
}

/// Joins two lists of lines: as many steps as possible with the same name and group stand side by side.
fn side_by_side<'a>(
    one: &[&'a ExplanationLine],
    other: &[&'a ExplanationLine],
) -> Vec<(Option<&'a ExplanationLine>, Option<&'a ExplanationLine>)> {
    let same = |x: &ExplanationLine, y: &ExplanationLine| x.what == y.what && x.group == y.group;
    // Length of the longest common subsequence from each pair of places.
    let mut longest = vec![vec![0usize; other.len() + 1]; one.len() + 1];
    for x in (0..one.len()).rev() {
        for y in (0..other.len()).rev() {
            longest[x][y] = match same(one[x], other[y]) {
                true => longest[x + 1][y + 1] + 1,
                false => longest[x + 1][y].max(longest[x][y + 1]),
            };
        }
    }
    let (mut x, mut y, mut pairs) = (0, 0, Vec::new());
    while x < one.len() || y < other.len() {
        if x < one.len() && y < other.len() && same(one[x], other[y]) {
            pairs.push((Some(one[x]), Some(other[y])));
            (x, y) = (x + 1, y + 1);
        } else if y == other.len() || (x < one.len() && longest[x + 1][y] >= longest[x][y + 1]) {
            pairs.push((Some(one[x]), None));
            x += 1;
        } else {
            pairs.push((None, Some(other[y])));
            y += 1;
        }
    }
    pairs
}

/// A value in decimal and in exact form: `1.5 = 3*2^-1`.
fn real(value: &Real) -> String {
    match value {
        Real::Nan => "NaN".into(),
        Real::Infinity { negative } => format!("{}inf", sign(*negative)),
        Real::Finite(finite) if finite.is_zero() => format!("{}0", sign(finite.negative)),
        Real::Finite(finite) => {
            let Finite { significand, exponent, .. } = finite.odd();
            // A longer number has the digits of its leading 64 bits, with one bit for the rest.
            let excess = 64 - significand.leading_zeros().min(64);
            let rest = excess > 0 && significand << (128 - excess) != 0;
            let leading = Decoded {
                class: Class::Normal,
                negative: finite.negative,
                significand: (significand >> excess) as u64 | u64::from(rest),
                exponent: exponent + excess as i32,
            };
            let decimal = match leading.decimal() {
                decimal if rest && !decimal.starts_with('~') => format!("~{decimal}"),
                decimal => decimal,
            };
            match exponent {
                0 => decimal,
                _ => format!("{decimal} = {}", power_of_two_text(finite)),
            }
        }
    }
}

/// A finite number as `M*2^E` with odd M.
fn power_of_two_text(finite: &Finite) -> String {
    let odd = finite.odd();
    match (odd.significand, odd.exponent) {
        (0, _) => format!("{}0", sign(finite.negative)),
        (significand, 0) => format!("{}{significand}", sign(finite.negative)),
        (1, exponent) => format!("{}2^{exponent}", sign(finite.negative)),
        (significand, exponent) => format!("{}{significand}*2^{exponent}", sign(finite.negative)),
    }
}

fn sign(negative: bool) -> &'static str {
    if negative { "-" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(what: &str, group: usize) -> ExplanationLine {
        ExplanationLine {
            group: Some(group),
            what: what.into(),
            value: Real::Finite(Finite::exact(false, 3, -1)),
            exponent: None,
            kept: None,
            code: None,
            step: None,
            unrounded: None,
        }
    }

    #[test]
    fn steps_that_both_have_stand_side_by_side_and_none_is_lost() {
        let one = [line("a", 0), line("c", 0), line("sum", 0)];
        let other = [line("a", 0), line("sum", 0), line("c", 1), line("sum", 1)];
        let pairs = side_by_side(&one.iter().collect::<Vec<_>>(), &other.iter().collect::<Vec<_>>());
        let names: Vec<_> = pairs.iter().map(|(x, y)| (x.map(|l| &l.what[..]), y.map(|l| &l.what[..]))).collect();
        let expected = [
            (Some("a"), Some("a")),
            (Some("c"), None),
            (Some("sum"), Some("sum")),
            (None, Some("c")),
            (None, Some("sum")),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn values_are_written_in_decimal_and_exactly() {
        let finite = |negative, significand, exponent| Finite::exact(negative, significand, exponent);
        assert_eq!(real(&Real::Finite(finite(true, 6, -2))), "-1.5 = -3*2^-1");
        assert_eq!(real(&Real::Finite(finite(false, 1 << 100, -100))), "1");
        assert_eq!(real(&Real::Finite(finite(true, 0, -100))), "-0");
        assert_eq!(real(&Real::Infinity { negative: true }), "-inf");
        assert_eq!(
            real(&Real::Finite(finite(false, (1 << 111) + 1, -111))),
            "~1 = 2596148429267413814265248164610049*2^-111"
        );
        assert_eq!(real(&Real::Finite(finite(false, 3, 2000))), "~3.4443920858227636e+602 = 3*2^2000");
        let cut = finite(true, 11, -3).minus(&finite(true, 1, 0));
        assert_eq!(power_of_two_text(&cut), "-3*2^-3");
    }
}
