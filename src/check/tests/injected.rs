//! Injected faults: each is named, or a simpler cause is, and a named cause reproduces D.

use std::{collections::BTreeSet, ops::Range};

use rug::Float;

use super::{
    causes::{Right, of_schedule, with_values},
    *,
};

/// Numbers drawn one after the other.
struct Draws {
    seed: u64,
    count: u64,
}

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.count += 1;
        (random(self.seed, self.count) % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        (1..count).for_each(|at| order.swap(at, self.below(at + 1)));
        order
    }
}

const KINDS: [(&str, &str); 8] = [
    ("hopper", "wgmma.m64n8k16.f32.f16.f16"),
    ("hopper", "mma.m16n8k8.f32.tf32.tf32.f32"),
    ("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3"),
    ("hopper", "mma.m16n8k32.s32.s8.s8.s32"),
    ("ampere", "mma.m16n8k8.f32.bf16.bf16.f32"),
    ("ampere", "mma.m16n8k16.f16.f16.f16.f16"),
    ("cdna3", "mfma.32x32x8.f32.f16.f16.f32"),
    ("blackwell", "tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue4m3.block16"),
];

/// A right product of a drawn shape and schedule.
fn drawn_product(draws: &mut Draws) -> Right {
    let (model, instruction) = draws.of(&KINDS);
    let mut schedule = schedule(instruction);
    let (m, n, k) = match draws.below(12) {
        0 => (1 + draws.below(40), 1 + draws.below(40), 1 + draws.below(96)),
        _ => (8 + draws.below(8), 8 + draws.below(8), 16 + draws.below(32)),
    };
    let (m, n) = if draws.below(4) == 0 { (m, m) } else { (m, n) };
    let is_integer = schedule.output.format.is_integer();
    if instruction.contains("e4m3.e4m3") && draws.below(2) == 0 {
        schedule.promote = Some(32);
        schedule.scales = Some(ScaleBlocks { a: [1, 32], b: [32, 32], multiply: ScaleUse::Fused });
    }
    if schedule.output.format.name == "f32" && draws.below(4) == 0 {
        schedule.output.format = format::find(draws.of(&["f16", "bf16"])).unwrap();
    }
    let has_additions = !is_integer && draws.below(3) == 0;
    if has_additions {
        (schedule.alpha, schedule.beta) = (draws.of(&[1.0, 0.7, 0.125]), draws.of(&[1.0, 3.0, -0.5]));
    }
    let exponents = if is_integer { 6 } else { 3 };
    let mut factors = factors(&schedule, (m, n, k), random(draws.seed, 0) >> 16, exponents);
    if has_additions && draws.below(2) == 0 {
        factors.c = Some(drawn(m, n, schedule.output.format, draws.seed + 77, 5));
    }
    if has_additions && draws.below(2) == 0 {
        factors.bias = Some(drawn(1, n, schedule.output.format, draws.seed + 78, 5));
    }
    of_schedule(model, schedule, factors)
}

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
fn changed(right: &Right, cause: Cause, words: &str, k: &Option<Range<usize>>) -> Option<(Schedule, Factors)> {
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
type Element = (Float, f64);

/// The exact elements of a product, summed here, with the bounds of the claim.
fn exact_elements(right: &Right, schedule: &Schedule, factors: &Factors, is_running: bool) -> Vec<Element> {
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
        (sum, bounds.value(row, column))
    };
    (0..factors.a.rows * columns).map(element).collect()
}

/// The distance of neighbours in a format at a number.
fn ulp(format: &Format, x: f64) -> f64 {
    let Some(float) = format.float() else { return 1.0 };
    2f64.powi((x.abs().log2().floor().max(f64::from(float.emin())) as i32) - float.trailing_bits as i32)
}

/// An element times a number plus a number, and one rounding more.
fn linear((value, bound): &Element, factor: f64, number: f64, format: &Format) -> Element {
    let value = value.clone() * factor + number;
    let bound = bound * factor.abs();
    let unit = ulp(format, value.to_f64().abs() + bound);
    (value, bound + unit)
}

fn is_within(format: &Format, d: f64, (value, bound): &Element) -> bool {
    let largest = format.to_f64(format.largest(false));
    let is_near = (Float::with_val(400, d) - value).abs() <= *bound;
    is_near || (d.abs() >= largest || d.is_nan()) && value.to_f64().abs() + bound > largest
}

fn is_below_end(format: &Format, d: f64) -> bool {
    d.abs() < format.to_f64(format.largest(false))
}

/// True if one factor explains all elements, each within its bound and a rounding.
fn has_factor(format: &Format, d: &[f64], elements: &[&Element]) -> bool {
    let is_possible = |sign: f64| {
        let (mut low, mut high) = (0.0f64, f64::INFINITY);
        for (d, (value, bound)) in d.iter().zip(elements).filter(|(d, _)| is_below_end(format, **d)) {
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
    let ends = d.iter().zip(elements).filter(|(d, _)| is_below_end(format, **d)).map(|(d, (value, bound))| {
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
fn is_reproduced(right: &Right, d: &Matrix, check: &ProductCheck) -> Option<bool> {
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
            let (value, bound) = &claimed[at];
            let value = value.clone().max(&Float::with_val(400, low)).min(&Float::with_val(400, high));
            (value, *bound)
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
        Cause::Magnitude => all(&|at| (claimed[at].0.clone().abs(), claimed[at].1)),
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
                let sum = (Float::with_val(400, &claimed[at].0 + &more[at].0), claimed[at].1 + more[at].1);
                linear(&sum, 1.0, 0.0, format)
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
    let effect = |at: usize| Float::with_val(400, &ones[at].0 - &zeros[at].0).to_f64();
    let in_line = |at: &usize| if is_a { at / n == line } else { at % n == line };
    let places = || rows.iter().flat_map(|row| columns.iter().map(move |column| row * n + column));
    let strongest = places().filter(in_line).max_by(|x, y| effect(*x).abs().total_cmp(&effect(*y).abs())).unwrap();
    let number = (Float::with_val(400, values[strongest]) - &zeros[strongest].0).to_f64() / effect(strongest);
    let nearest = format.encode_f64(number, Rounding::Rne, Overflow::Saturate).unwrap();
    // The last 13 bits of a tf32 code do not count.
    let step = if format.name == "tf32" { 1 << 13 } else { 1 };
    (0..=32u64).any(|at| {
        let code = (nearest + at * step).saturating_sub(16 * step);
        let elements = exact_elements(right, schedule, &with(code), is_running);
        places().all(|at| is_within(right.d.format, values[at], &elements[at]))
    })
}

/// A D with a fault, or `None` if the product has no place for it.
fn injected(right: &Right, cause: Cause, draws: &mut Draws) -> Option<Matrix> {
    let (m, n, k) = (right.d.rows, right.d.columns, right.factors.k());
    let with = |value: &dyn Fn(f64, usize, usize) -> f64| {
        with_values(&right.d, |row, column| value(right.d.value(row, column), row, column))
    };
    let schedule = &right.claim.schedules[0];
    let model = |schedule: &Schedule, factors: &Factors| product(&right.claim.model, schedule, factors);
    let line = |at: usize| 1.5 + at as f64 / 4.0;
    let is_integer = right.d.format.is_integer();
    let source = |draws: &mut Draws, count: usize| {
        let shift = 1 + draws.below(count);
        if draws.below(2) == 0 { draws.order(count) } else { (0..count).map(|at| (at + shift) % count).collect() }
    };
    Some(match cause {
        Cause::Zero => with(&|_, _, _| 0.0),
        Cause::Sign => with(&|x, _, _| -x),
        Cause::Factor => {
            let factor = draws.of(&[2.0, 0.5, 3.0, -0.75, 4.0, 1.0 / 3.0, -1024.0]);
            with(&|x, _, _| factor * x)
        }
        Cause::TransposedD if m == n => right.d.transposed(),
        Cause::Rows => {
            let source = source(draws, m);
            with_values(&right.d, |row, column| right.d.value(source[row], column))
        }
        Cause::Columns => {
            let source = source(draws, n);
            with_values(&right.d, |row, column| right.d.value(row, source[column]))
        }
        Cause::RowsOfA | Cause::ColumnsOfB => {
            let (rows, columns) = match cause {
                Cause::RowsOfA => (source(draws, m), (0..n).collect()),
                _ => ((0..m).collect(), source(draws, n)),
            };
            let Factors { c, bias, .. } = right.factors.clone();
            let factors = right.factors.chosen(&rows, &columns, schedule.scales.as_ref());
            model(&schedule.narrowed(), &Factors { c, bias, ..factors })
        }
        Cause::Relu => with(&|x, _, _| x.max(0.0)),
        Cause::Clamp => {
            let mut sorted = right.d.values();
            sorted.sort_by(f64::total_cmp);
            let [low, high] = [sorted[sorted.len() / 8], sorted[sorted.len() * 7 / 8]];
            let [low, high] = draws.of(&[[low, high], [f64::NEG_INFINITY, high], [low, f64::INFINITY]]);
            with(&|x, _, _| x.clamp(low, high))
        }
        Cause::Magnitude => with(&|x, _, _| x.abs()),
        Cause::NumberAdded => {
            let number: f64 = draws.of(&[1.0, -3.25, 100.0, 7.5]);
            let number = if is_integer { number.floor() } else { number };
            with(&|x, _, _| x + number)
        }
        Cause::BiasAlongRows if m == n => {
            let bias = right.factors.bias.clone()?;
            with(&|x, row, column| x + bias.value(0, row) - bias.value(0, column))
        }
        Cause::BiasNotGiven => with(&|x, _, column| x + line(column).floor()),
        Cause::RowNumbers => with(&|x, row, _| x + line(row).floor()),
        Cause::RowFactors if !is_integer => with(&|x, row, _| x * line(row)),
        Cause::ColumnFactors if !is_integer => with(&|x, _, column| x * line(column)),
        Cause::BlockFactorsOfA => {
            let scales = right.factors.scale_a.as_ref()?;
            let factor = |row: usize, block: usize| 1.0 + ((row * 5 + block * 3) % 7) as f64 / 4.0;
            let scales = with_values(scales, |row, block| scales.value(row, block) * factor(row, block));
            model(schedule, &Factors { scale_a: Some(scales), ..right.factors.clone() })
        }
        Cause::OutputRounded if right.d.format.name == "f32" => {
            let narrow = format::find(draws.of(&["f16", "bf16"])).unwrap();
            let code = |x| narrow.encode_f64(x, Rounding::Rne, Overflow::Saturate).unwrap();
            with(&|x, _, _| narrow.to_f64(code(x)))
        }
        Cause::OtherSums if right.factors.a.format.name == "f16" && schedule.instruction.d.name == "f32" => {
            let Schedule { alpha, beta, output, .. } = schedule.clone();
            let half = isa::resolve("mma.m16n8k16.f16.f16.f16.f16").unwrap();
            right.claim.model.rule(&half)?;
            model(&Schedule { alpha, beta, output, ..Schedule::new(half).unwrap() }, &right.factors)
        }
        Cause::CountedTwice if right.factors.scale_a.is_none() => {
            let from = draws.below(k);
            let twice = from..from + 1 + draws.below(k - from);
            let k: Vec<usize> = (0..k).chain(twice).collect();
            let Factors { a, b, c, bias, .. } = &right.factors;
            let all = |count: usize| (0..count).collect::<Vec<usize>>();
            let (a, b) = (a.chosen(&all(m), &k), b.chosen(&k, &all(n)));
            model(schedule, &Factors { c: c.clone(), bias: bias.clone(), ..Factors::new(a, b) })
        }
        Cause::ElementOfA | Cause::ElementOfB => {
            let mut factors = right.factors.clone();
            let matrix = if cause == Cause::ElementOfA { &mut factors.a } else { &mut factors.b };
            let at = draws.below(matrix.codes.len());
            let number = draws.of(&[448.0, -448.0, 65504.0]);
            let code = matrix.format.encode_f64(number, Rounding::Rne, Overflow::Saturate).unwrap();
            matrix.codes.set(at, code);
            model(schedule, &factors)
        }
        _ => {
            let sides = draws.of(&["A and B", "A", "B"]);
            let words = match cause {
                Cause::ScalesOfPowers => format!("the scales of {sides} are rounded {} to", draws.of(&["up", "down"])),
                Cause::ReadAs if right.factors.a.format.name == "e4m3" => {
                    format!("the codes of {sides} are read as e5m2")
                }
                Cause::OperandsRounded if right.factors.a.format.bits >= 16 => {
                    format!("{sides} are rounded to e4m3 (RNE)")
                }
                Cause::ReadAs | Cause::OperandsRounded => return None,
                _ => String::new(),
            };
            let from = draws.below(k);
            let missing = from..from + 1 + draws.below(k - from);
            let (schedule, factors) = changed(right, cause, &words, &Some(missing))?;
            model(&schedule, &factors)
        }
    })
}

/// True if the errors tell much more than the numbers of a cause.
fn is_narrowed_down(right: &Right, d: &Matrix, cause: Cause) -> bool {
    let (m, n) = (d.rows as f64, d.columns as f64);
    let numbers = match cause {
        Cause::RowNumbers | Cause::RowFactors | Cause::Rows | Cause::RowsOfA => m,
        Cause::BiasNotGiven | Cause::ColumnFactors | Cause::Columns | Cause::ColumnsOfB => n,
        Cause::BlockFactorsOfA => return false,
        _ => 2.0,
    };
    let claimed = exact_elements(right, &right.claim.schedules[0], &right.factors, false);
    let bits = claimed.iter().zip(d.values()).filter(|(_, x)| is_below_end(d.format, *x)).map(|((value, bound), d)| {
        let error = (Float::with_val(400, d) - value).abs().to_f64();
        let grown = bound * (d / value.to_f64()).abs().max(1.0);
        (error / grown.max(d.abs() * 2f64.powi(-24)).max(f64::MIN_POSITIVE) / 4.0).log2().clamp(0.0, 24.0)
    });
    bits.sum::<f64>() > 60.0 + 30.0 * numbers
}

/// The verdict about one injected fault; in words what is wrong, else the cause that is named.
fn verdict(seed: u64) -> Result<Option<Cause>, String> {
    let mut draws = Draws { seed, count: 0 };
    let right = drawn_product(&mut draws);
    let cause = draws.of(&Cause::ALL);
    let Some(mut d) = injected(&right, cause, &mut draws) else { return Ok(None) };
    let is_part = draws.below(6) == 0;
    let first = draws.below(d.rows);
    if is_part {
        d = with_values(&d, |row, column| if row < first { right.d.value(row, column) } else { d.value(row, column) });
    }
    let check = right.checked(&d);
    let Some(diagnosis) = &check.diagnosis else { return Ok(None) };
    let words = || {
        let i = &right.claim.schedules[0];
        format!(
            "seed {seed}: {} {} x {} x {}, {}{}{}{}{}, D {}: {cause:?} {}: {diagnosis:?}",
            i.instruction,
            d.rows,
            d.columns,
            right.factors.k(),
            i.alpha,
            right.factors.c.as_ref().map_or(String::new(), |_| format!(", C {}", i.beta)),
            if right.factors.bias.is_some() { ", bias" } else { "" },
            if i.scales.is_some() { ", blocks" } else { "" },
            if is_part { format!(", rows {first}..") } else { String::new() },
            d.format,
            check.outside_count(),
        )
    };
    let order = |cause: &Cause| Cause::ALL.iter().position(|other| other == cause);
    match diagnosis.cause {
        Some(named) if is_reproduced(&right, &d, &check) == Some(false) => {
            Err(format!("not D: {named:?}; {}", words()))
        }
        Some(named) if order(&named) > order(&cause) => Err(format!("later: {}", words())),
        None if is_narrowed_down(&right, &d, cause) => Err(format!("none: {}", words())),
        named => Ok(named),
    }
}

#[test]
fn injected_faults_are_named_and_named_causes_reproduce_d() {
    let count = std::env::var("TCNUM_FAULTS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let first = std::env::var("TCNUM_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let verdicts: Vec<_> = crate::base::parallel::map(first..first + count, verdict);
    let wrong: Vec<&String> = verdicts.iter().filter_map(|verdict| verdict.as_ref().err()).collect();
    let named = verdicts.iter().filter(|verdict| matches!(verdict, Ok(Some(_)))).count();
    assert!(wrong.is_empty() && named > 100, "{named} named, {} wrong: {wrong:#?}", wrong.len());
}
