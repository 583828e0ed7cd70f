//! The product that a cause makes, computed a second time: exact sums, and bounds of the claim.

use std::{collections::BTreeSet, ops::Range};

use rug::Float;

use super::{
    causes::{Right, with_values},
    *,
};

/// Changes the values of an optional matrix; false without one.
fn changed_values(matrix: &mut Option<Matrix>, value: impl Fn(f64) -> f64) -> bool {
    *matrix = matrix.as_ref().map(|matrix| with_values(matrix, |row, column| value(matrix.value(row, column))));
    matrix.is_some()
}

/// The operands that words name: A, B.
fn sides(words: &str) -> [bool; 2] {
    [words.contains("A and B") || words.contains(" A "), words.contains(" B ")]
}

/// The product that a cause makes of the claimed one.
///
/// `None` if the cause is no change of schedule and operands.
pub(super) fn changed(
    right: &Right,
    cause: Cause,
    words: &str,
    k: &Option<Range<usize>>,
) -> Option<(Schedule, Factors)> {
    let (mut schedule, mut factors) = (right.claim.schedules[0].clone(), right.factors.clone());
    let words = format!(" {words} ");
    let has_additions = factors.c.is_some() || factors.bias.is_some();
    let [has_scales, has_alpha] = [factors.scale_a.is_some(), schedule.alpha != 1.0];
    let is_possible = match cause {
        Cause::AlphaForgotten => std::mem::replace(&mut schedule.alpha, 1.0) != 1.0,
        Cause::AlphaTwice => {
            schedule.alpha *= schedule.alpha;
            has_alpha
        }
        Cause::ScalesForgotten => {
            changed_values(&mut factors.scale_a, |_| 1.0) && changed_values(&mut factors.scale_b, |_| 1.0)
        }
        Cause::ScaleOfAForgotten => changed_values(&mut factors.scale_a, |_| 1.0),
        Cause::ScaleOfBForgotten => changed_values(&mut factors.scale_b, |_| 1.0),
        Cause::ScalesTwice => {
            changed_values(&mut factors.scale_a, |x| x * x) && changed_values(&mut factors.scale_b, |x| x * x)
        }
        Cause::ProductSign | Cause::ProductDoubled | Cause::ProductHalved => {
            schedule.alpha *= match cause {
                Cause::ProductSign => -1.0,
                Cause::ProductDoubled => 2.0,
                _ => 0.5,
            };
            has_additions
        }
        Cause::TransposedA => {
            factors.a = Matrix { rows: factors.a.columns, columns: factors.a.rows, ..factors.a }.transposed();
            true
        }
        Cause::TransposedB => {
            factors.b = Matrix { rows: factors.b.columns, columns: factors.b.rows, ..factors.b }.transposed();
            true
        }
        Cause::CMissing => factors.c.take().is_some(),
        Cause::CTwice | Cause::CNegated => {
            schedule.beta *= if cause == Cause::CTwice { 2.0 } else { -1.0 };
            factors.c.is_some()
        }
        Cause::BetaForgotten => std::mem::replace(&mut schedule.beta, 1.0) != 1.0 && factors.c.is_some(),
        Cause::BiasMissing => factors.bias.take().is_some(),
        Cause::BiasTwice => changed_values(&mut factors.bias, |x| 2.0 * x),
        Cause::ScalesOfPowers => {
            let round = match () {
                () if words.contains("down") => f64::floor,
                () if words.contains(" up ") => f64::ceil,
                () => f64::round,
            };
            let power = |x: f64| if x == 0.0 { x } else { 2f64.powf(round(x.abs().log2())).copysign(x) };
            let [of_a, of_b] = sides(&words);
            has_scales
                && (!of_a || changed_values(&mut factors.scale_a, power))
                && (!of_b || changed_values(&mut factors.scale_b, power))
        }
        Cause::ReadAs | Cause::OperandsRounded => {
            let [of_a, of_b] = sides(&words);
            let rest = words.split(" as ").nth(1).or_else(|| words.split(" to ").nth(1))?;
            let other = format::find(rest.split_whitespace().next()?).ok()?;
            let rounding = if words.contains("RZ") { Rounding::Rz } else { Rounding::Rne };
            let i = &mut schedule.instruction;
            for (is_changed, matrix, format) in [(of_a, &mut factors.a, &mut i.a), (of_b, &mut factors.b, &mut i.b)] {
                if is_changed && cause == Cause::ReadAs {
                    (matrix.format, *format) = (other, other);
                } else if is_changed {
                    let code = |x| other.encode_f64(x, rounding, Overflow::Standard).unwrap_or_default();
                    *matrix = with_values(matrix, |row, column| other.to_f64(code(matrix.value(row, column))));
                }
            }
            cause == Cause::OperandsRounded || factors.a.format.bits == right.factors.a.format.bits
        }
        Cause::LeftOut => {
            let k = k.clone()?;
            factors.a = with_values(&factors.a, |row, at| if k.contains(&at) { 0.0 } else { factors.a.value(row, at) });
            true
        }
        _ => false,
    };
    is_possible.then_some((schedule, factors))
}

/// An element that a cause makes: its exact value, and how far D may be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Element {
    pub(super) value: Float,
    pub(super) bound: f64,
}

/// The exact elements of a product, summed here, with the bounds of the claim.
pub(super) fn exact_elements(right: &Right, schedule: &Schedule, factors: &Factors, is_running: bool) -> Vec<Element> {
    let claim = Claim { schedules: vec![schedule.clone()], ..right.claim.clone() };
    let bounds = match is_running {
        true => running_matrix(&claim, schedule, factors, &|_| ()),
        false => bounds_matrix(&claim, factors, &|_| ()),
    };
    let bounds = bounds.unwrap();
    let ([row_block, k_block_a], [k_block_b, column_block]) = match (&schedule.scales, schedule.instruction.scale) {
        (Some(blocks), _) => (blocks.a, blocks.b),
        (None, Some(scale)) => ([1, scale.block], [scale.block, 1]),
        (None, None) => ([1, 1], [1, 1]),
    };
    let [a, b] = [factors.a.values(), factors.b.values()];
    let (k, columns) = (factors.a.columns, factors.b.columns);
    let element = |place: usize| {
        let (row, column) = (place / columns, place % columns);
        let mut sum = Float::with_val(400, 0);
        for at in 0..k {
            let scale = factors.scale_a.as_ref().map_or(1.0, |scales| scales.value(row / row_block, at / k_block_a))
                * factors.scale_b.as_ref().map_or(1.0, |scales| scales.value(at / k_block_b, column / column_block));
            sum += Float::with_val(400, a[row * k + at]) * b[at * columns + column] * scale;
        }
        sum *= schedule.alpha;
        if let Some(c) = &factors.c {
            sum += Float::with_val(400, c.value(row, column)) * schedule.beta;
        }
        if let Some(bias) = &factors.bias {
            sum += bias.value(0, column);
        }
        Element { value: sum, bound: bounds.value(row, column) }
    };
    (0..factors.a.rows * columns).map(element).collect()
}

/// The distance of neighbours in a format at a number.
fn ulp(format: &Format, x: f64) -> f64 {
    let Some(float) = format.float() else { return 1.0 };
    2f64.powi((x.abs().log2().floor().max(f64::from(float.emin())) as i32) - float.trailing_bits as i32)
}

/// An element times a number plus a number, and one rounding more.
fn linear(Element { value, bound }: &Element, factor: f64, number: f64, format: &Format) -> Element {
    let value = value.clone() * factor + number;
    let bound = bound * factor.abs();
    let unit = ulp(format, value.to_f64().abs() + bound);
    Element { value, bound: bound + unit }
}

fn is_within(format: &Format, d: f64, Element { value, bound }: &Element) -> bool {
    let largest = format.to_f64(format.largest(false));
    let is_near = (Float::with_val(400, d) - value).abs() <= *bound;
    is_near || (d.abs() >= largest || d.is_nan()) && value.to_f64().abs() + bound > largest
}

pub(super) fn is_below_end(format: &Format, d: f64) -> bool {
    d.abs() < format.to_f64(format.largest(false))
}

/// True if one factor explains all elements, each within its bound and a rounding.
fn has_factor(format: &Format, d: &[f64], elements: &[&Element]) -> bool {
    let is_possible = |sign: f64| {
        let (mut low, mut high) = (0.0f64, f64::INFINITY);
        for (d, Element { value, bound }) in d.iter().zip(elements).filter(|(d, _)| is_below_end(format, **d)) {
            let (d, value, slack) = (d * sign, value.to_f64(), 4.0 * ulp(format, *d));
            for (coefficient, limit) in [(value - bound, d + slack), (-value - bound, slack - d)] {
                match () {
                    () if coefficient > 0.0 => high = high.min(limit / coefficient),
                    () if coefficient < 0.0 => low = low.max(limit / coefficient),
                    () if limit < 0.0 => return false,
                    () => (),
                }
            }
        }
        low <= high * (1.0 + 1e-12)
    };
    is_possible(1.0) || is_possible(-1.0)
}

fn has_number(format: &Format, d: &[f64], elements: &[&Element]) -> bool {
    let ends =
        d.iter().zip(elements).filter(|(d, _)| is_below_end(format, **d)).map(|(d, Element { value, bound })| {
            let number = (Float::with_val(400, *d) - value).to_f64();
            let slack = bound + 4.0 * ulp(format, *d);
            [number - slack, number + slack]
        });
    let [low, high] =
        ends.fold([f64::NEG_INFINITY, f64::INFINITY], |[low, high], ends| [low.max(ends[0]), high.min(ends[1])]);
    low <= high
}

/// A number in words, after some others.
fn number_after(words: &str, before: &str) -> f64 {
    words.split(before).nth(1).unwrap().split([' ', ',']).next().unwrap().parse().unwrap()
}

/// True if what a cause makes is D, within bounds that this test computes.
///
/// `None` if the test cannot compute it.
pub(super) fn is_reproduced(right: &Right, d: &Matrix, check: &ProductCheck) -> Option<bool> {
    let diagnosis = check.diagnosis.as_ref().unwrap();
    let cause = diagnosis.cause?;
    let words = &diagnosis.words;
    let claimed_schedule = &right.claim.schedules[0];
    let is_running = check.outside.is_empty();
    let of = |schedule: &Schedule, factors: &Factors| exact_elements(right, schedule, factors, is_running);
    let claimed = of(claimed_schedule, &right.factors);
    let (m, n, format) = (d.rows, d.columns, d.format);
    let values = d.values();
    let errors: Vec<usize> = (0..m * n).filter(|at| !is_within(format, values[*at], &claimed[*at])).collect();
    let region = diagnosis.region.clone().unwrap_or_default();
    let lines = |name: &str, count: usize, of: &dyn Fn(usize) -> usize| -> Vec<usize> {
        let with_errors: BTreeSet<usize> = errors.iter().map(|at| of(*at)).collect();
        if region.contains(name) { with_errors.into_iter().collect() } else { (0..count).collect() }
    };
    let (rows, columns) = (lines("row", m, &|at| at / n), lines("column", n, &|at| at % n));
    let places = || rows.iter().flat_map(|row| columns.iter().map(move |column| row * n + column));
    let all = |elements: &dyn Fn(usize) -> Element| places().all(|at| is_within(format, values[at], &elements(at)));
    let by_line = |of_rows: bool, holds: &dyn Fn(&[usize]) -> bool| match of_rows {
        true => rows.iter().all(|row| holds(&columns.iter().map(|column| row * n + column).collect::<Vec<_>>())),
        false => columns.iter().all(|column| holds(&rows.iter().map(|row| row * n + column).collect::<Vec<_>>())),
    };
    let d_at = |places: &[usize]| places.iter().map(|at| values[*at]).collect::<Vec<f64>>();
    let claimed_at = |places: &[usize]| places.iter().map(|at| &claimed[*at]).collect::<Vec<&Element>>();
    let clamped = |[low, high]: [f64; 2]| {
        all(&|at| {
            let Element { value, bound } = &claimed[at];
            let value = value.clone().max(&Float::with_val(400, low)).min(&Float::with_val(400, high));
            Element { value, bound: *bound }
        })
    };
    let finite = || places().map(|at| values[at]).filter(|d| !d.is_nan());
    let ends = [finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)];
    let moved = |of_rows: bool, shifted: &dyn Fn(usize) -> Vec<Element>| {
        let products: Vec<Vec<Element>> = (0..if of_rows { m } else { n }).map(shifted).collect();
        by_line(of_rows, &|places| {
            products.iter().any(|product| places.iter().all(|at| is_within(format, values[*at], &product[*at])))
        })
    };
    Some(match cause {
        Cause::Zero => places().all(|at| values[at] == 0.0),
        Cause::Sign => all(&|at| linear(&claimed[at], -1.0, 0.0, format)),
        Cause::Factor => all(&|at| linear(&claimed[at], number_after(words, "D is "), 0.0, format)),
        Cause::TransposedD => all(&|at| claimed[at % n * n + at / n].clone()),
        Cause::Rows => {
            moved(true, &|shift| (0..m * n).map(|at| claimed[(at / n + shift) % m * n + at % n].clone()).collect())
        }
        Cause::Columns => {
            moved(false, &|shift| (0..m * n).map(|at| claimed[at / n * n + (at % n + shift) % n].clone()).collect())
        }
        Cause::RowsOfA | Cause::ColumnsOfB => moved(cause == Cause::RowsOfA, &|shift| {
            let line = |is_moved: bool, count: usize| {
                (0..count).map(|at| (at + if is_moved { shift } else { 0 }) % count).collect::<Vec<usize>>()
            };
            let (rows, columns) = (line(cause == Cause::RowsOfA, m), line(cause == Cause::ColumnsOfB, n));
            let Factors { c, bias, .. } = right.factors.clone();
            let factors = right.factors.chosen(&rows, &columns, claimed_schedule.scales.as_ref());
            of(&claimed_schedule.narrowed(), &Factors { c, bias, ..factors })
        }),
        Cause::Relu => clamped([0.0, f64::INFINITY]),
        Cause::Clamp if words.contains("below") => clamped([ends[0], f64::INFINITY]),
        Cause::Clamp if words.contains("above") => clamped([f64::NEG_INFINITY, ends[1]]),
        Cause::Clamp => clamped(ends),
        Cause::Magnitude => all(&|at| Element { value: claimed[at].value.clone().abs(), bound: claimed[at].bound }),
        Cause::BiasAlongRows => {
            let bias = right.factors.bias.as_ref()?;
            all(&|at| linear(&claimed[at], 1.0, bias.value(0, at / n) - bias.value(0, at % n), format))
        }
        Cause::NumberAdded => {
            let places: Vec<usize> = places().collect();
            has_number(format, &d_at(&places), &claimed_at(&places))
        }
        Cause::BiasNotGiven | Cause::RowNumbers => {
            by_line(cause == Cause::RowNumbers, &|places| has_number(format, &d_at(places), &claimed_at(places)))
        }
        Cause::RowFactors | Cause::ColumnFactors => {
            by_line(cause == Cause::RowFactors, &|places| has_factor(format, &d_at(places), &claimed_at(places)))
        }
        Cause::OutputRounded => {
            let narrow = format::find(words.split_whitespace().nth(4)?).ok()?;
            let is_held =
                |d: f64| narrow.encode_f64(d, Rounding::Rz, Overflow::Standard).map(|x| narrow.to_f64(x)) == Some(d);
            all(&|at| linear(&claimed[at], 1.0, 0.0, narrow)) && places().all(|at| is_held(values[at]))
        }
        Cause::OtherSums => {
            let instruction = isa::resolve(words.split_whitespace().last()?).ok()?;
            let Schedule { alpha, beta, scales, output, .. } = claimed_schedule.clone();
            let other = Schedule { alpha, beta, scales, output, ..Schedule::new(instruction).ok()? };
            let product = product(&right.claim.model, &other, &right.factors);
            places().all(|at| product.codes.get(at) == d.codes.get(at))
        }
        Cause::CountedTwice => {
            let k = diagnosis.k.clone()?;
            let mut factors = Factors { c: None, bias: None, ..right.factors.clone() };
            factors.a =
                with_values(
                    &right.factors.a,
                    |row, at| if k.contains(&at) { right.factors.a.value(row, at) } else { 0.0 },
                );
            let more = of(claimed_schedule, &factors);
            all(&|at| {
                let (claimed, more) = (&claimed[at], &more[at]);
                let value = Float::with_val(400, &claimed.value + &more.value);
                linear(&Element { value, bound: claimed.bound + more.bound }, 1.0, 0.0, format)
            })
        }
        Cause::ElementOfA | Cause::ElementOfB => is_element(right, diagnosis, &values, &rows, &columns, is_running),
        Cause::BlockFactorsOfA | Cause::BlockFactorsOfB => return None,
        _ => {
            let (schedule, factors) = changed(right, cause, words, &diagnosis.k).expect("a change");
            let elements = of(&schedule, &factors);
            all(&|at| elements[at].clone())
        }
    })
}

/// True if another code of the named element of A or B makes D.
fn is_element(
    right: &Right,
    diagnosis: &super::super::Diagnosis,
    values: &[f64],
    rows: &[usize],
    columns: &[usize],
    is_running: bool,
) -> bool {
    let line: usize = diagnosis.words.split_whitespace().last().unwrap().parse().unwrap();
    let (k, n) = (diagnosis.k.clone().unwrap().start, right.d.columns);
    let is_a = diagnosis.cause == Some(Cause::ElementOfA);
    let with = |code: u64| {
        let mut factors = right.factors.clone();
        match is_a {
            true => factors.a.codes.set(line * factors.a.columns + k, code),
            false => factors.b.codes.set(k * n + line, code),
        }
        factors
    };
    let format = if is_a { right.factors.a.format } else { right.factors.b.format };
    let schedule = &right.claim.schedules[0];
    let sums = |x: f64| {
        let factors = with(format.encode_f64(x, Rounding::Rne, Overflow::Saturate).unwrap());
        exact_elements(right, schedule, &factors, is_running)
    };
    // The element of the line that a one in this place changes most tells the number.
    let (zeros, ones) = (sums(0.0), sums(1.0));
    let effect = |at: usize| Float::with_val(400, &ones[at].value - &zeros[at].value).to_f64();
    let in_line = |at: &usize| if is_a { at / n == line } else { at % n == line };
    let places = || rows.iter().flat_map(|row| columns.iter().map(move |column| row * n + column));
    let strongest = places().filter(in_line).max_by(|x, y| effect(*x).abs().total_cmp(&effect(*y).abs())).unwrap();
    let number = (Float::with_val(400, values[strongest]) - &zeros[strongest].value).to_f64() / effect(strongest);
    let nearest = format.encode_f64(number, Rounding::Rne, Overflow::Saturate).unwrap();
    // The last 13 bits of a tf32 code do not count.
    let step = if format.name == "tf32" { 1 << 13 } else { 1 };
    (0..=32u64).any(|at| {
        let code = (nearest + at * step).saturating_sub(16 * step);
        let elements = exact_elements(right, schedule, &with(code), is_running);
        places().all(|at| is_within(right.d.format, values[at], &elements[at]))
    })
}
