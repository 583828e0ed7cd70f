use std::collections::HashSet;

use super::{
    values::{exponents, nearest_code, special_codes},
    *,
};
use crate::{
    format::{Class, FORMATS},
    isa::{self, Case, Instruction, Tiles, operands},
    machine::amount,
};

fn instruction(name: &str) -> Instruction {
    isa::find(name).unwrap()
}

/// Wide values of a0, b0 and c0 of each sample.
fn drawn(name: &str, distribution: Distribution, samples: usize) -> Vec<[f64; 3]> {
    let i = instruction(name);
    let batch = draw(&i, Op::Accumulate, distribution, Init::Fp32, RandomStream { seed: 7, stream: 0 }, samples);
    let wide = batch.wide.unwrap();
    let at = |p: &Position| {
        let c = (p.tile * i.m + p.row) * i.n + p.column;
        [wide.a[(p.tile * i.m + p.row) * i.k], wide.b[p.tile * i.k * i.n + p.column], wide.c[c]]
    };
    batch.samples.iter().map(at).collect()
}

#[test]
fn normal_values_have_the_moments_of_normal_0_1() {
    let values: Vec<f64> = drawn("mma.m16n8k16.f32.f16.f16.f32", Distribution::Normal, 50_000).concat();
    let n = values.len() as f64;
    let moment = |power: i32| values.iter().map(|x| x.powi(power)).sum::<f64>() / n;
    // Within five standard errors: the variances of x, x^2, x^3 and x^4 are 1, 2, 15 and 96.
    for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let deviation = (moment(power) - expected).abs();
        assert!(deviation < 5.0 * f64::sqrt(variance / n), "moment {power}: off by {deviation}");
    }
    assert!(values.iter().all(|&x| f64::from(x as f32) == x));
}

#[test]
fn uniform_values_fill_minus_1_to_1() {
    let values: Vec<f64> = drawn("mma.m16n8k16.f32.f16.f16.f32", Distribution::Uniform, 20_000).concat();
    assert!(values.iter().all(|x| (-1.0..=1.0).contains(x)));
    let tenth = |from: f64| values.iter().filter(|x| (from..from + 0.2).contains(*x)).count();
    for part in 0..10 {
        let count = tenth(-1.0 + 0.2 * f64::from(part));
        assert!((5600..6400).contains(&count), "{part}: {count} of {}", values.len());
    }
}

#[test]
fn every_format_is_given_the_same_sequence() {
    let first = drawn("mma.m16n8k16.f32.f16.f16.f32", Distribution::Normal, 100);
    for name in [
        "mma.m16n8k8.f32.bf16.bf16.f32",
        "mma.m16n8k4.f32.tf32.tf32.f32",
        "mma.m16n8k32.f16.e5m2.e4m3.f16",
        "mma.m8n8k4.f64.f64.f64.f64",
        "wgmma.m64n8k32.f32.e4m3.e4m3",
    ] {
        assert_eq!(drawn(name, Distribution::Normal, 100), first, "{name}");
    }
}

#[test]
fn codes_are_the_rounded_wide_values() {
    for name in ["mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k32.f16.e5m2.e4m3.f16", "mma.m16n8k32.s32.u8.s8.s32"] {
        let i = instruction(name);
        for op in Op::ALL {
            let source = RandomStream { seed: 1, stream: 2 };
            let batch = draw(&i, op, Distribution::Normal, Init::Fp32, source, 300);
            let wide = batch.wide.unwrap();
            assert!(batch.tiles.a.iter().zip(&wide.a).all(|(code, value)| code == nearest_code(i.a, *value)), "{name}");
            assert!(batch.tiles.b.iter().zip(&wide.b).all(|(code, value)| code == nearest_code(i.b, *value)), "{name}");
            assert!(batch.tiles.c.iter().zip(&wide.c).all(|(code, value)| code == nearest_code(i.c, *value)), "{name}");
            let low = draw(&i, op, Distribution::Normal, Init::Low, source, 300);
            assert_eq!((low.tiles, low.samples, low.wide), (batch.tiles, batch.samples, None), "{name}");
        }
    }
}

#[test]
fn isolated_operations_leave_everything_else_zero() {
    let i = instruction("mma.m16n8k16.f32.f16.f16.f32");
    for (op, products, with_c) in [(Op::Multiply, 1, false), (Op::InnerProduct, 2, false), (Op::Accumulate, 1, true)] {
        for distribution in
            [Distribution::Normal, Distribution::LogUniform, Distribution::Special, Distribution::Corners]
        {
            let batch = draw(&i, op, distribution, Init::Low, RandomStream { seed: 3, stream: 0 }, 200);
            let mut with_terms = 0;
            for at in &batch.samples {
                let Case { a, b, c, .. } = batch.tiles.case(&i, at.tile, at.row, at.column);
                assert!(a[products..].iter().chain(&b[products..]).all(|code| *code == 0), "{op:?} {distribution:?}");
                assert!(with_c || c == 0, "{op:?} {distribution:?}");
                with_terms += usize::from(a[0] != 0 && b[0] != 0 && (c != 0) == with_c);
            }
            assert!(with_terms > 20, "{op:?} {distribution:?}: {with_terms}");
        }
    }
}

#[test]
fn streams_and_seeds_are_independent_and_longer_runs_begin_with_shorter_ones() {
    let i = instruction("mma.m16n8k16.f32.f16.f16.f32");
    let tiles = |seed, stream, samples| {
        draw(&i, Op::Dot, Distribution::Normal, Init::Low, RandomStream { seed, stream }, samples).tiles
    };
    let first = tiles(1, 0, 1024);
    assert_eq!(tiles(1, 0, 2048).slice(0, 8), first);
    let digests: HashSet<u64> =
        [(1, 0), (1, 1), (2, 0), (2, 1)].map(|(seed, stream)| tiles(seed, stream, 1024).digest()).into();
    assert_eq!(digests.len(), 4);
}

#[test]
fn special_codes_contain_every_class_of_either_sign() {
    for format in FORMATS.iter().filter(|format| !format.is_integer()) {
        let decoded: Vec<_> = special_codes(format).into_iter().map(|code| format.decode(code)).collect();
        let has = |class| decoded.iter().any(|d| d.class == class);
        assert!(has(Class::Normal), "{format}");
        assert_eq!(has(Class::Zero), format.zero(false).is_some(), "{format}");
        assert_eq!(has(Class::Subnormal), format.subnormals().is_some(), "{format}");
        assert_eq!(has(Class::Infinite), format.has_infinity(), "{format}");
        assert_eq!(has(Class::Nan), format.has_nan(), "{format}");
        let signed = format.is_signed();
        let infinite = |negative| decoded.iter().any(|d| d.class == Class::Infinite && d.negative == negative);
        assert_eq!(infinite(true), format.has_infinity() && signed, "{format}");
        assert_eq!(infinite(false), format.has_infinity(), "{format}");
        let exponents_seen = decoded.iter().filter(|d| d.significand != 0).map(|d| d.real());
        let leading: HashSet<_> = exponents_seen
            .map(|real| match real {
                crate::format::Real::Finite(value) => value.leading_exponent(),
                _ => None,
            })
            .collect();
        let (low, high) = exponents(format);
        assert!(leading.contains(&Some(low)) && leading.contains(&Some(high)), "{format}");
    }
}

#[test]
fn regimes_distributions_and_operations_have_names_of_their_own() {
    assert_eq!(Regime::ALL.map(Regime::name).into_iter().collect::<HashSet<_>>().len(), Regime::ALL.len());
    assert_eq!(Op::ALL.map(Op::name).into_iter().collect::<HashSet<_>>().len(), Op::ALL.len());
}

#[test]
fn integers_are_drawn_over_their_range() {
    let i = instruction("mma.m16n8k32.s32.u8.s8.s32");
    for distribution in [Distribution::Normal, Distribution::Uniform] {
        let batch = draw(&i, Op::Dot, distribution, Init::Low, RandomStream { seed: 2, stream: 0 }, 4096);
        let zeros = batch.tiles.a.iter().filter(|code| *code == 0).count();
        assert!(zeros < batch.tiles.a.len() / 50, "{distribution:?}: {zeros} zeros of {}", batch.tiles.a.len());
        let signs = batch.tiles.b.iter().filter(|code| *code >= 0x80).count();
        assert!((4..6).contains(&(10 * signs / batch.tiles.b.len())), "{distribution:?}: {signs}");
    }
}

#[test]
fn forms_without_kernels_have_corners_and_tiles_of_every_distribution() {
    // A sample of the many instructions that differ in a format only.
    let without = isa::all().iter().filter(|i| i.kernel.is_none()).enumerate();
    for (_, i) in without.filter(|(at, i)| at % amount(if i.k < 8 { 3 } else { 30 }, if i.k < 8 { 1 } else { 9 }) == 0)
    {
        let shape = |codes: &Tiles| operands(i).iter().map(|o| o.len()).eq(codes.arrays().map(|(_, c)| c.len() / 2));
        for distribution in [Distribution::Normal, Distribution::Special, Distribution::Corners] {
            let draw = |op| {
                draw(i, op, distribution, Init::Fp32, RandomStream { seed: 1, stream: 0 }, 2 * op.samples_per_tile(i))
            };
            assert!(Op::ALL.iter().all(|op| shape(&draw(*op).tiles)), "{i}");
        }
        assert!(!Corners::of(i).list.is_empty(), "{i}");
        let positions = record_batch(i, 1, record_tiles(i)).positions;
        assert!(i.chunk().is_none_or(|chunk| chunk.allows(positions.unwrap().iter())), "{i}");
    }
}

#[test]
fn a_drawing_in_pieces_is_the_drawing_at_once() {
    let names = ["mma.m8n8k4.f16.f16.f16.f16", "mma.sp.m16n8k16.f16.f16.f16.f16", "mma.m16n8k32.s32.s8.s8.s32"];
    for i in names.map(|name| isa::find(name).unwrap()) {
        for op in Op::ALL {
            for distribution in Distribution::ALL {
                let (source, each) = (RandomStream { seed: 5, stream: 0 }, op.samples_per_tile(&i));
                let samples = 60 * each - 1;
                let mut drawing = Drawing::new(&i, op, distribution, Init::Low, source);
                let mut tiles = Tiles::zeros(&i, 0);
                for count in [each, 7 * each, 40 * each, 12 * each - 1] {
                    tiles.extend(&drawing.next(count).tiles);
                }
                assert_eq!(
                    tiles,
                    draw(&i, op, distribution, Init::Low, source, samples).tiles,
                    "{i} {op:?} {distribution:?}"
                );
            }
        }
        let (count, mut tiles) = (record_tiles(&i) + 20, Tiles::zeros(&i, 0));
        let mut mixture = Mixture::new(&i, 5, count);
        while tiles.count < count {
            tiles.extend(&mixture.next(3));
        }
        assert_eq!((tiles, mixture.next(3).count), (record_batch(&i, 5, count), 0), "{i}");
    }
}
