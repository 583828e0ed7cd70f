use std::collections::{BTreeMap, HashSet};

use super::{Regime, regime, tiles};
use crate::{
    exact::Dot,
    format::{Class, Format, Overflow, Rounding},
    isa::{self, Case, Instruction, Tiles, operands},
};

fn instruction(name: &str) -> Instruction {
    isa::find(name).unwrap()
}

/// Dense and sparse, wide and narrow, floating-point, integer and block-scaled instructions.
fn various() -> Vec<Instruction> {
    let forms: BTreeMap<_, _> =
        isa::all().iter().map(|i| ((i.a.name, i.d.name, i.is_sparse(), i.scale.is_some()), i)).collect();
    forms.into_values().cloned().collect()
}

#[test]
fn a_tile_is_a_function_of_its_number_however_tiles_are_taken() {
    for i in various() {
        let all_tiles = tiles(&i, 3, 1000, 12);
        for size in [1, 5] {
            let mut parts = Tiles::zeros(&i, 0);
            (0..12).step_by(size).for_each(|at| parts.extend(&tiles(&i, 3, 1000 + at as u64, size.min(12 - at))));
            assert_eq!(parts, all_tiles, "{i}");
        }
        assert_ne!(tiles(&i, 4, 1000, 12), all_tiles, "{i}: another seed");
        let distinct: HashSet<u64> = (0..12).map(|at| all_tiles.slice(at, at + 1).digest()).collect();
        assert_eq!(distinct.len(), 12, "{i}");
    }
}

#[test]
fn every_ten_tiles_have_every_regime() {
    let i = instruction("mma.m16n8k16.f32.f16.f16.f32");
    let mut orders = HashSet::new();
    for first in (0..1000).step_by(10) {
        let regimes: Vec<Regime> = (first..first + 10).map(|tile| regime(&i, 9, tile)).collect();
        assert_eq!(regimes.iter().collect::<HashSet<_>>().len(), Regime::ALL.len());
        orders.insert(regimes[0]);
    }
    assert_eq!(orders.len(), Regime::ALL.len(), "runs of ten begin with any regime");
}

#[test]
fn codes_fit_their_formats_and_positions_are_allowed() {
    for i in various() {
        let some = tiles(&i, 5, 77, 40);
        for (operand, (name, codes)) in operands(&i).iter().zip(some.arrays()) {
            assert_eq!((operand.name, operand.len() * 40), (name, codes.len()), "{i}");
            assert!(codes.iter().all(|code| code <= operand.format.code_mask()), "{i} {name}");
        }
        let (Some(chunk), Some(positions)) = (i.chunk(), &some.positions) else { continue };
        let mut seen = HashSet::new();
        for at in (0..positions.len()).step_by(chunk.kept) {
            let kept: Vec<u64> = (at..at + chunk.kept).map(|at| positions.get(at)).collect();
            assert!(chunk.allows(kept.iter().copied()), "{i}: {kept:?}");
            seen.insert(kept);
        }
        let choices = match (chunk.kept, chunk.any_order) {
            (1, _) => 2,
            (_, false) => 6,
            (_, true) => 12,
        };
        assert_eq!(seen.len(), choices, "{i}: every choice of positions");
    }
}

/// Cases of the first tiles of a regime.
fn cases(i: &Instruction, wanted: Regime) -> Vec<Case> {
    let numbers = (0..2000).filter(|tile| regime(i, 1, *tile) == wanted);
    let of_tile = |tile: u64| {
        let tiles = tiles(i, 1, tile, 1);
        (0..3).map(move |at| tiles.case(i, 0, at * 5 % i.m, at * 3 % i.n))
    };
    numbers.flat_map(of_tile).collect()
}

/// Factors of each product, as values.
fn products(i: &Instruction, case: &Case) -> Vec<(f64, f64)> {
    let factors = |at: usize| (i.a.to_f64(case.a[at]), i.b.to_f64(case.b[case.logical(i, at)]));
    (0..case.a.len()).map(factors).collect()
}

/// Sum of a case of finite operands, rounded once.
fn rounded(i: &Instruction, case: &Case, rounding: Rounding, format: &'static Format) -> Option<u64> {
    let pairs = case.a.iter().enumerate().map(|(at, a)| (*a, case.b[case.logical(i, at)]));
    Dot::new(i.a, i.b, i.c, i.d, i.k).sum(pairs, case.c).round(format, rounding, Overflow::Infinity)
}

const FLOATS: [&str; 8] = [
    "mma.m16n8k16.f32.bf16.bf16.f32",
    "mma.m16n8k16.f32.f16.f16.f32",
    "mma.m16n8k8.f16.f16.f16.f16",
    "mma.m16n8k8.f32.tf32.tf32.f32",
    "wgmma.m64n8k32.f16.e5m2.e5m2",
    "mma.sp.m16n8k32.f32.f16.f16.f32",
    "mma.sp.m16n8k16.f32.tf32.tf32.f32",
    "mma.m16n8k8.f64.f64.f64.f64",
];

/// Checks that at least `percent` of a regime's cases have a property.
fn at_least(percent: usize, name: &str, regime: Regime, has: impl Fn(&Instruction, &Case) -> bool) {
    let i = instruction(name);
    let cases = cases(&i, regime);
    let count = cases.iter().filter(|case| has(&i, case)).count();
    assert!(100 * count >= percent * cases.len(), "{name} {}: {count} of {}", regime.name(), cases.len());
}

#[test]
fn cancellation_leaves_little_of_large_products() {
    for name in FLOATS {
        at_least(60, name, Regime::Cancellation, |i, case| {
            let largest = products(i, case).iter().map(|(a, b)| (a * b).abs()).fold(0.0, f64::max);
            rounded(i, case, Rounding::Rz, i.d).is_some_and(|d| i.d.to_f64(d).abs() < largest / 64.0)
        });
    }
}

#[test]
fn ties_and_what_decides_them_are_exact() {
    for name in FLOATS {
        // In exact arithmetic the two roundings to nearest differ at ties only.
        at_least(5, name, Regime::Tie, |i, case| {
            let [even, away, down] = [Rounding::Rne, Rounding::Rna, Rounding::Rz].map(|r| rounded(i, case, r, i.d));
            even != away && away != down
        });
        // A tie with a deciding term: nearest is up where truncation is down.
        at_least(30, name, Regime::Tie, |i, case| {
            let [nearest, down] = [Rounding::Rne, Rounding::Rz].map(|r| rounded(i, case, r, i.d));
            nearest != down
        });
    }
}

#[test]
fn results_overflow_underflow_and_are_subnormal_where_they_should() {
    let class = |i: &Instruction, case: &Case| rounded(i, case, Rounding::Rz, i.d).map(|code| i.d.decode(code).class);
    for name in ["mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k8.f16.f16.f16.f16", "mma.m16n8k8.f32.tf32.tf32.f32"] {
        let of = |percent, regime, wanted: &[Class]| {
            at_least(percent, name, regime, |i, case| class(i, case).is_some_and(|class| wanted.contains(&class)));
        };
        of(25, Regime::Overflow, &[Class::Infinite]);
        of(50, Regime::Overflow, &[Class::Normal]);
        of(70, Regime::Floor, &[Class::Subnormal, Class::Zero]);
        of(30, Regime::Subnormal, &[Class::Subnormal]);
        of(50, Regime::Zeros, &[Class::Zero]);
    }
    for name in FLOATS {
        at_least(30, name, Regime::NonFinite, |i, case| {
            let finite = |format: &Format, code| format.decode(code).is_finite();
            !(case.a.iter().all(|a| finite(i.a, *a)) && case.b.iter().all(|b| finite(i.b, *b)) && finite(i.c, case.c))
        });
        let operand =
            |format: &Format, codes: &[u64]| codes.iter().any(|c| format.decode(*c).class == Class::Subnormal);
        at_least(70, name, Regime::Subnormal, |i, case| operand(i.a, &case.a) || operand(i.b, &case.b));
    }
}

#[test]
fn terms_lie_about_the_width_of_an_alignment_below_the_largest() {
    for name in FLOATS {
        at_least(60, name, Regime::AlignmentGap, |i, case| {
            let magnitudes =
                products(i, case).into_iter().map(|(a, b)| (a * b).abs()).chain([i.c.to_f64(case.c).abs()]);
            let present: Vec<f64> = magnitudes.filter(|x| *x > 0.0).collect();
            let largest = present.iter().copied().fold(0.0, f64::max);
            let width = if i.d.bits == 64 { 46.0..112.0 } else { 8.0..40.0 };
            present.iter().any(|x| width.contains(&(largest / x).log2()))
        });
    }
}

#[test]
fn zeros_have_both_signs_in_every_operand_and_few_terms_are_as_common_as_many() {
    let i = instruction("mma.m16n8k16.f32.f16.f16.f32");
    let zeros = cases(&i, Regime::Zeros);
    for negative in [false, true] {
        let zero = |format: &Format, code| {
            let decoded = format.decode(code);
            decoded.class == Class::Zero && decoded.negative == negative
        };
        assert!(zeros.iter().filter(|case| case.a.iter().any(|a| zero(i.a, *a))).count() > zeros.len() / 4);
        assert!(zeros.iter().filter(|case| case.b.iter().any(|b| zero(i.b, *b))).count() > zeros.len() / 4);
        assert!(zeros.iter().filter(|case| zero(i.c, case.c)).count() > zeros.len() / 5);
    }
    let all: Vec<usize> = Regime::ALL
        .iter()
        .flat_map(|regime| cases(&i, *regime))
        .map(|case| products(&i, &case).iter().filter(|(a, b)| a * b != 0.0).count())
        .collect();
    let share = |from: usize, to: usize| 100 * all.iter().filter(|n| (from..=to).contains(*n)).count() / all.len();
    assert!(
        share(1, 3) > 20 && share(12, 16) > 15 && share(4, 11) > 10,
        "{} {} {}",
        share(1, 3),
        share(4, 11),
        share(12, 16)
    );
}

#[test]
fn what_no_row_multiplies_is_often_not_finite() {
    let i = instruction("mma.sp.m16n8k32.f32.bf16.bf16.f32");
    let some = tiles(&i, 1, 0, 200);
    let mut beside = 0;
    for tile in (0..200).filter(|tile| regime(&i, 1, *tile) == Regime::Tie) {
        let case = some.case(&i, tile as usize, 0, 0);
        let used: HashSet<usize> = (0..case.a.len()).map(|at| case.logical(&i, at)).collect();
        let finite = |k: usize| i.b.decode(case.b[k]).is_finite();
        assert!(used.iter().all(|k| finite(*k)), "tile {tile}: ties are between finite numbers");
        beside += usize::from((0..i.k).any(|k| !used.contains(&k) && !finite(k)));
    }
    assert!(beside > 4, "{beside}");
}

#[test]
fn integers_reach_the_ends_of_their_ranges() {
    for name in ["mma.m16n8k32.s32.u8.s8.s32", "mma.m16n8k64.s32.s4.u4.s32"] {
        let i = instruction(name);
        let some = tiles(&i, 1, 0, 100);
        for (format, codes) in [(i.a, &some.a), (i.b, &some.b)] {
            for code in [format.largest(false), format.largest(true)] {
                assert!(codes.iter().filter(|c| *c == code).count() > codes.len() / 20, "{name} {format} {code:#x}");
            }
            assert_eq!(codes.iter().collect::<HashSet<_>>().len() as u64, format.code_mask() + 1, "{name} {format}");
        }
        let near = |end: u64| some.c.iter().filter(|c| c.wrapping_sub(end) as u32 as i32 >> 20 == 0).count();
        assert!(near(i.c.largest(true)) > 1000, "{name}");
    }
}
