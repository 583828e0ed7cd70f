//! Injected faults: each is named, or a simpler cause is, and a named cause reproduces D.

use rug::Float;

use super::{
    causes::{Right, of_schedule, with_values},
    reproduced::{Element, changed, exact_elements, is_below_end, is_reproduced},
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
    let mut factors = factors(&schedule, ProductShape { m, n, k }, random(draws.seed, 0) >> 16, exponents);
    if has_additions && draws.below(2) == 0 {
        factors.c = Some(drawn(m, n, schedule.output.format, draws.seed + 77, 5));
    }
    if has_additions && draws.below(2) == 0 {
        factors.bias = Some(drawn(1, n, schedule.output.format, draws.seed + 78, 5));
    }
    of_schedule(model, schedule, factors)
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
    let bits = claimed.iter().zip(d.values()).filter(|(_, x)| is_below_end(d.format, *x)).map(
        |(Element { value, bound }, d)| {
            let error = (Float::with_val(400, d) - value).abs().to_f64();
            let grown = bound * (d / value.to_f64()).abs().max(1.0);
            (error / grown.max(d.abs() * 2f64.powi(-24)).max(f64::MIN_POSITIVE) / 4.0).log2().clamp(0.0, 24.0)
        },
    );
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
