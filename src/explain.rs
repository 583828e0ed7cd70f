//! One dot-product-add step by step, in one arithmetic or in two side by side, as a table.

use crate::{
    arithmetic::{Explanation, Line},
    format::{Class, Decoded},
    number::{Finite, Real},
    report::{Cell, Column, Table},
};

/// Keys and headings of what an arithmetic says about a step.
const SAYS: [[(&str, &str); 5]; 2] = [
    [("value", "value"), ("exponent", "exponent"), ("kept", "kept"), ("cut_off", "cut off"), ("code", "code")],
    [
        ("second_value", "2: value"),
        ("second_exponent", "2: exponent"),
        ("second_kept", "2: kept"),
        ("second_cut_off", "2: cut off"),
        ("second_code", "2: code"),
    ],
];

/// The table `steps` of one arithmetic, or of two, without rows. `numbered`: each row begins with the number of a case.
///
/// Values are exact: `1.5 = 3*2^-1`, in decimal after a `~` where that has too many digits. `exponent` is the one that counts in
/// an alignment (of a sum, the largest), `kept` what the alignment keeps of a term and `cut off` the rest, `code` the result of
/// a rounding.
pub fn table(names: &[String], numbered: bool) -> Table {
    let title = match names {
        [one] => format!("Step by step: {one}"),
        several => {
            let named: Vec<String> =
                several.iter().enumerate().map(|(at, name)| format!("{}: {name}", at + 1)).collect();
            format!("Step by step, {}", named.join(", "))
        }
    };
    let mut columns = Vec::new();
    columns.extend(numbered.then(|| Column::new("number", "number")));
    columns.extend([Column::new("group", "group"), Column::new("step", "step")]);
    for says in SAYS.iter().take(names.len()) {
        let first = ["1: value", "1: exponent", "1: kept", "1: cut off", "1: code"];
        let two = names.len() > 1 && says[0].0 == SAYS[0][0].0;
        columns.extend(
            says.iter().enumerate().map(|(at, (key, label))| Column::new(key, if two { first[at] } else { label })),
        );
    }
    columns.extend((names.len() > 1).then(|| Column::new("same", "same")));
    Table::new("steps", title, columns)
}

/// The rows of [`table`] for the case of the given number, if numbers are wanted: the same steps of two arithmetics in one row.
/// Products that are +0 are left out.
pub fn rows(number: Option<usize>, explanations: &[Explanation]) -> Vec<Vec<Cell>> {
    let said: Vec<Vec<&Line>> = explanations
        .iter()
        .map(|explanation| explanation.lines.iter().filter(|line| !is_nothing(line)).collect())
        .collect();
    let steps: Vec<Vec<Option<&Line>>> = match &said[..] {
        [one] => one.iter().map(|line| vec![Some(*line)]).collect(),
        [one, other] => side_by_side(one, other).into_iter().map(|(one, other)| vec![one, other]).collect(),
        _ => Vec::new(),
    };
    let row = |lines: Vec<Option<&Line>>| {
        let named = lines.iter().flatten().next().expect("a row has a line");
        let mut cells: Vec<Cell> = number.map(Cell::from).into_iter().collect();
        cells.extend([named.group.map(|group| group + 1).into(), named.what.as_str().into()]);
        lines.iter().for_each(|line| cells.extend(says(*line)));
        if let [one, other] = &lines[..] {
            cells.push((says(*one) == says(*other)).into());
        }
        cells
    };
    steps.into_iter().map(row).collect()
}

/// Whether a line is about a product that is +0, which changes nothing.
fn is_nothing(line: &Line) -> bool {
    let zero = matches!(line.value, Real::Finite(finite) if finite.is_zero() && !finite.negative);
    zero && line.code.is_none() && line.what.contains("]*b[")
}

/// What an arithmetic says about a step.
fn says(line: Option<&Line>) -> [Cell; 5] {
    let Some(line) = line else { return [const { Cell::Empty }; 5] };
    let kept = |kept: &Finite| Cell::text(scaled(kept));
    let cut = line.kept.and_then(|kept| match line.value {
        // What 128 bits do not hold is left out.
        Real::Finite(value) => Some(value.minus(&kept)).filter(|rest| !rest.sticky),
        _ => None,
    });
    [
        Cell::text(real(&line.value)),
        line.exponent.into(),
        line.kept.as_ref().map_or(Cell::Empty, kept),
        cut.as_ref().map_or(Cell::Empty, kept),
        line.code.map(|(format, code)| format!("{} {format}", format.hex(code))).into(),
    ]
}

/// Two lists of lines as one: steps of one name and group that come in the same order in both stand side by side, as many
/// as possible.
fn side_by_side<'a>(one: &[&'a Line], other: &[&'a Line]) -> Vec<(Option<&'a Line>, Option<&'a Line>)> {
    let same = |x: &Line, y: &Line| x.what == y.what && x.group == y.group;
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

    fn line(what: &str, group: usize) -> Line {
        Line {
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
