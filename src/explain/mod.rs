//! One dot-product-add step by step, in one arithmetic or in two side by side, as a table.

mod explained;
mod operands;

pub use explained::DotProductAdd;
pub use operands::OperandTexts;

use crate::{
    arithmetic::{Explanation, ExplanationLine},
    base::sentence::capitalised,
    format::{Class, Decoded, Finite, Format, Real},
    report::Table,
};

crate::rows! {
    /// A result of the dot-product-add that is explained.
    pub struct ResultRow in "results" {
        /// What computed it: a model, or the recording.
        by: String => shown("by").essential(),
        /// The code of D.
        d: String => shown("D").essential(),
        /// Its value in decimal.
        value: String => shown("value").essential(),
        /// Its value as an integer times a power of two.
        exactly: String => shown("exactly"),
    }

    /// A step of a dot-product-add, in one arithmetic or in two side by side. Values are exact: `1.5 = 3*2^-1`, in decimal after a
    /// `~` where that has too many digits.
    pub struct StepRow in "steps" {
        /// The number of the case, among several.
        number: Option<usize> => shown("#").if_filled().essential(),
        /// The group of terms, from 1; none of what happens outside of groups.
        group: Option<usize> => shown("group"),
        /// What the step is about.
        step: String => shown("step").essential(),
        /// Whether two arithmetics say the same.
        same: Option<bool> => shown("same").if_filled().essential(),
        /// Its value.
        value: Option<String> => shown("value").essential(),
        /// Its value in the second arithmetic.
        second_value: Option<String> => shown("2: value").beside().if_filled().essential(),
        /// The exponent that counts in an alignment; of a sum, the largest.
        exponent: Option<i32> => shown("exponent").if_filled(),
        /// The exponent in the second arithmetic.
        second_exponent: Option<i32> => shown("2: exponent").beside().if_filled(),
        /// What alignment keeps of a term.
        kept: Option<String> => shown("kept").if_filled(),
        /// What it keeps in the second arithmetic.
        second_kept: Option<String> => shown("2: kept").beside().if_filled(),
        /// The rest.
        cut_off: Option<String> => shown("cut off").if_filled(),
        /// The rest in the second arithmetic.
        second_cut_off: Option<String> => shown("2: cut off").beside().if_filled(),
        /// The result of a rounding, with its format.
        code: Option<String> => shown("code").if_filled(),
        /// The result of a rounding in the second arithmetic.
        second_code: Option<String> => shown("2: code").beside().if_filled(),
    }
}

/// The results of a dot-product-add by each that computed it.
pub fn results<'a>(title: String, d: &Format, by: impl IntoIterator<Item = (&'a str, u64)>) -> Table {
    let row = |(who, code): (&str, u64)| {
        let decoded = d.decode(code);
        ResultRow { by: who.into(), d: d.hex(code), value: decoded.decimal(), exactly: decoded.scaled() }
    };
    Table::of(title, by.into_iter().map(row))
}

/// What each that computed it gives, and why, as far as the steps say, in one sentence.
pub fn answer(d: &Format, by: &[(&str, u64)], steps: &[StepRow]) -> String {
    let shown = |code: u64| format!("{} ({})", d.hex(code), d.decode(code).decimal());
    let named = |who: &str| if who == "recorded" { "the recording".to_string() } else { who.into() };
    let names = |by: &[(&str, u64)]| by.iter().map(|(who, _)| named(who)).collect::<Vec<_>>().join(" and ");
    let [(_, first), ..] = by else { return String::new() };
    if by.iter().all(|(_, code)| code == first) {
        let give = if by.len() == 1 { "gives" } else { "give" };
        let cut: Vec<String> = steps
            .iter()
            .filter_map(|step| Some((step, step.cut_off.as_deref().filter(|rest| !["0", "-0"].contains(rest))?)))
            .map(|(step, rest)| format!("{rest} of {}", step.step))
            .collect();
        let mut why: Vec<String> = match &cut[..] {
            [] => Vec::new(),
            [one] => vec![format!("alignment cuts off {one}")],
            [one, ..] => vec![format!("alignment cuts off {one}, and parts of {} other terms", cut.len() - 1)],
        };
        // What a sum is before it becomes a code.
        let rounded = steps.windows(2).find(|two| {
            let becomes = two[0].code.is_none() && two[1].code.is_some() && two[0].step == "aligned sum";
            becomes && two[0].value != two[1].value
        });
        why.extend(rounded.map(|two| format!("the {} is rounded ({})", two[0].step, two[1].step)));
        let why = if why.is_empty() { "alignment cuts nothing off".into() } else { why.join(", and ") };
        return format!("{} {give} {}: {why}.", capitalised(&names(by)), shown(*first));
    }
    let given: Vec<String> = by.iter().map(|(who, code)| format!("{} gives {}", named(who), shown(*code))).collect();
    let first = steps.iter().find_map(StepRow::difference);
    let why = first.map_or_else(String::new, |first| format!("; they differ first at {first}"));
    format!("{}{why}.", capitalised(&given.join(", ")))
}

impl StepRow {
    /// What two arithmetics say of a step of which they do not say the same: `sum: 0; 2^-24`.
    pub(crate) fn difference(&self) -> Option<String> {
        let of = |value: &Option<String>, kept: &Option<String>, code: &Option<String>| match (value, kept, code) {
            (None, ..) => "none".to_string(),
            (Some(value), Some(kept), _) => format!("{value}, of which {kept} is kept"),
            (Some(value), None, Some(code)) => format!("{value} ({code})"),
            (Some(value), None, None) => value.clone(),
        };
        let x = of(&self.value, &self.kept, &self.code);
        let y = of(&self.second_value, &self.second_kept, &self.second_code);
        (self.same == Some(false)).then(|| format!("{}: {x}; {y}", self.step))
    }
}

/// The table of steps of one arithmetic, or of two.
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

/// The rows of [`table`] for the case of the given number, if numbers are wanted: the same steps of two arithmetics in one row.
/// Products that are +0 are left out.
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

/// Whether a line is about a product that is +0, which changes nothing.
fn is_nothing(line: &ExplanationLine) -> bool {
    let zero = matches!(line.value, Real::Finite(finite) if finite.is_zero() && !finite.negative);
    zero && line.code.is_none() && ["]*b[", "]^b["].iter().any(|term| line.what.contains(term))
}

/// What an arithmetic says about a step.
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
        // What 128 bits do not hold is left out.
        Real::Finite(value) => Some(value.minus(&kept)).filter(|rest| !rest.sticky),
        _ => None,
    });
    Said {
        value: Some(real(&line.value)),
        exponent: line.exponent,
        kept: line.kept.as_ref().map(scaled),
        cut_off: cut.as_ref().map(scaled),
        code: line.code.map(|(format, code)| format!("{} {format}", format.hex(code))),
    }
}

/// Two lists of lines as one: steps of one name and group that come in the same order in both stand side by side, as many
/// as possible.
fn side_by_side<'a>(
    one: &[&'a ExplanationLine],
    other: &[&'a ExplanationLine],
) -> Vec<(Option<&'a ExplanationLine>, Option<&'a ExplanationLine>)> {
    let same = |x: &ExplanationLine, y: &ExplanationLine| x.what == y.what && x.group == y.group;
    // The longest common subsequence of what is left of both.
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

/// A value in decimal and exactly: `1.5 = 3*2^-1`.
fn real(value: &Real) -> String {
    match value {
        Real::Nan => "NaN".into(),
        Real::Infinity { negative } => format!("{}inf", sign(*negative)),
        Real::Finite(finite) if finite.is_zero() => format!("{}0", sign(finite.negative)),
        Real::Finite(finite) => {
            let Finite { significand, exponent, .. } = finite.odd();
            let decimal = match u64::try_from(significand) {
                Ok(significand) => {
                    let negative = finite.negative;
                    Decoded { class: Class::Normal, negative, significand, exponent }.decimal()
                }
                Err(_) => format!("~{:e}", finite.to_f64()),
            };
            match exponent {
                0 => decimal,
                _ => format!("{decimal} = {}", scaled(finite)),
            }
        }
    }
}

/// A finite number as `M*2^E` with odd M.
fn scaled(finite: &Finite) -> String {
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
        let cut = finite(true, 11, -3).minus(&finite(true, 1, 0));
        assert_eq!(scaled(&cut), "-3*2^-3");
    }
}
