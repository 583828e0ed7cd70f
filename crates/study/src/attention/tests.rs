//! Right and faulty kernels of attention, simulated in f32 without the code of the bound.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::{
    arithmetic::Model,
    array::{Array, Content},
    format::{Format, Overflow, Rounding, find},
};

/// A number rounded to nearest, ties to even.
fn rounded(format: &'static Format, x: f32) -> f32 {
    match format.name {
        "f32" => x,
        "bf16" => {
            let bits = x.to_bits();
            f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
        }
        _ => {
            let code = format.encode_f64(f64::from(x), Rounding::Rne, Overflow::Saturate);
            format.to_f64(code.unwrap_or_default()) as f32
        }
    }
}

/// Heads of drawn numbers of a format.
fn drawn(random: &mut ChaCha8Rng, format: &'static Format, heads: usize, rows: usize, columns: usize) -> Heads {
    let mut number = || -> f64 {
        let x: f64 = StandardNormal.sample(random);
        f64::from(rounded(format, x as f32))
    };
    let values = (0..heads * rows * columns).map(|_| number()).collect();
    Heads { batch: Vec::new(), heads, rows, columns, format, values }
}

/// The kernel that is simulated.
#[derive(Clone)]
struct Kernel {
    scale: f32,
    /// True for exp2 of a fused multiply-add, as FlashAttention has it.
    base_two: bool,
    p_format: &'static Format,
    /// Keys of each tile; each is drawn from one to twice that many times 16.
    tiles: usize,
    /// Parts of the keys that are joined at the end.
    parts: usize,
    /// Keys that are left out.
    dropped: std::ops::Range<usize>,
    /// Places by which the head of V is moved.
    value_shift: usize,
}

impl Kernel {
    fn flash(columns: usize, p_format: &'static Format) -> Kernel {
        let scale = 1.0 / (columns as f32).sqrt();
        Kernel { scale, base_two: true, p_format, tiles: 2, parts: 1, dropped: 0..0, value_shift: 0 }
    }

    /// Weight of a score relative to a maximum.
    fn weight(&self, product: f32, largest: f32) -> f32 {
        if self.base_two {
            let factor = self.scale * std::f32::consts::LOG2_E;
            product.mul_add(factor, -(largest * factor)).exp2()
        } else {
            (product * self.scale - largest * self.scale).exp()
        }
    }

    /// O, with tiles in an order that is drawn.
    fn run(&self, random: &mut ChaCha8Rng, [q, k, v]: [&Heads; 3], mask: &Mask, format: &'static Format) -> Heads {
        let extents = ScoreExtents { queries: q.rows, keys: k.rows };
        let mut values = Vec::new();
        for head in 0..q.count() {
            let key_head = head / (q.heads / k.heads);
            let value_head = (key_head + self.value_shift) % k.heads;
            for row in 0..q.rows {
                let mut added = vec![0.0; k.rows];
                mask.fill(head, row, extents, &mut added);
                let keys: Vec<usize> =
                    (0..k.rows).filter(|key| added[*key] > f64::NEG_INFINITY && !self.dropped.contains(key)).collect();
                let parts: Vec<(f32, f32, Vec<f32>)> = keys
                    .chunks(keys.len().div_ceil(self.parts).max(1))
                    .map(|keys| {
                        self.part(random, q.row(head, row), k.head(key_head), v.head(value_head), v.columns, keys)
                    })
                    .collect();
                let largest = parts.iter().map(|(largest, ..)| *largest).fold(f32::NEG_INFINITY, f32::max);
                let factors: Vec<f32> = parts.iter().map(|(part, ..)| self.weight(*part, largest)).collect();
                let total: f32 = parts.iter().zip(&factors).map(|((_, sum, _), factor)| sum * factor).sum();
                let reciprocal = 1.0 / total;
                values.extend((0..v.columns).map(|column| {
                    let sum: f32 = parts.iter().zip(&factors).map(|((.., o), factor)| o[column] * factor).sum();
                    f64::from(rounded(format, sum * reciprocal))
                }));
            }
        }
        Heads { columns: v.columns, values, format, ..q.clone() }
    }

    /// The maximum, the sum of weights and the weighted sums of a part of the keys.
    fn part(
        &self,
        random: &mut ChaCha8Rng,
        query: &[f64],
        k: &[f64],
        v: &[f64],
        columns: usize,
        keys: &[usize],
    ) -> (f32, f32, Vec<f32>) {
        let mut tiles: Vec<Vec<usize>> = Vec::new();
        let mut rest = keys;
        while !rest.is_empty() {
            let size = (16 * random.random_range(1..=self.tiles)).min(rest.len());
            tiles.push(rest[..size].to_vec());
            rest = &rest[size..];
        }
        for at in (1..tiles.len()).rev() {
            tiles.swap(at, random.random_range(0..=at));
        }
        let (mut largest, mut sum, mut o) = (f32::NEG_INFINITY, 0.0f32, vec![0.0f32; columns]);
        for mut tile in tiles {
            if random.random() {
                tile.reverse();
            }
            let products: Vec<f32> = tile
                .iter()
                .map(|key| {
                    let row = &k[key * query.len()..];
                    query.iter().zip(row).fold(0.0f32, |sum, (x, y)| (*x as f32).mul_add(*y as f32, sum))
                })
                .collect();
            let before = largest;
            largest = products.iter().copied().fold(largest, f32::max);
            let factor = if before == f32::NEG_INFINITY { 0.0 } else { self.weight(before, largest) };
            sum *= factor;
            o.iter_mut().for_each(|o| *o *= factor);
            for (key, product) in tile.iter().zip(&products) {
                let weight = self.weight(*product, largest);
                sum += weight;
                let p = rounded(self.p_format, weight);
                for (o, value) in o.iter_mut().zip(&v[key * columns..]) {
                    *o = p.mul_add(*value as f32, *o);
                }
            }
        }
        (largest, sum, o)
    }
}

fn claim(columns: usize, p_format: &'static Format, mask: Mask) -> AttentionClaim {
    AttentionClaim {
        model: Model::load("hopper").unwrap(),
        scale: 1.0 / (columns as f64).sqrt(),
        mask,
        p_format,
        s_format: None,
        exp_error: EXP_ERROR,
        tile: TILE,
    }
}

fn causal() -> Mask {
    Mask { causal: Some(Causal::UpperLeft), ..Mask::default() }
}

/// Draws operands, runs a kernel, and checks its O.
///
/// A stretch of K above 1 makes large scores, and then all values are positive.
fn checked(
    seed: u64,
    name: &str,
    stretch: f64,
    kernel: impl Fn(Kernel) -> Kernel,
    made: &Mask,
    claimed: Mask,
) -> AttentionCheck {
    let format = find(name).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (queries, keys, columns) = (48, 192, 64);
    let queries = if claimed.is_empty() { queries } else { keys };
    let q = drawn(&mut random, format, 4, queries, columns);
    let [mut k, mut v] = [(); 2].map(|()| drawn(&mut random, format, 2, keys, columns));
    if stretch > 1.0 {
        k.values.iter_mut().for_each(|x| *x *= stretch);
        v.values.iter_mut().for_each(|x| *x = x.abs());
    }
    let kernel = kernel(Kernel::flash(columns, format));
    let o = kernel.run(&mut random, [&q, &k, &v], made, format);
    let claim = claim(columns, kernel.p_format, claimed);
    check(&Operands::new(q, k, v, o).unwrap(), &claim, &|_| ()).unwrap()
}

#[test]
fn right_kernels_with_any_tiles_and_formats_are_within() {
    for seed in 0..6u64 {
        for (name, p) in [("bf16", "bf16"), ("f16", "f16"), ("bf16", "f32"), ("f32", "f32"), ("e4m3", "e4m3")] {
            let kernel = |kernel: Kernel| Kernel {
                base_two: seed % 2 == 0,
                tiles: 1 + seed as usize,
                parts: 1 + seed as usize % 3,
                p_format: find(p).unwrap(),
                ..kernel
            };
            let mask = if seed % 3 == 0 { causal() } else { Mask::default() };
            let check = checked(seed, name, [1.0, 4.0][seed as usize / 3], kernel, &mask, mask.clone());
            assert!(check.holds(), "{name} {p} {seed}: {:?}", check.judged.listed.first());
            assert!(check.reference.elements > 0 && check.reference.largest < 1.0, "{:?}", check.reference);
            // A bound that is far above all errors would tell nothing.
            assert!(check.judged.tightest > 0.001, "{name} {p}: {}", check.judged.tightest);
        }
    }
}

#[test]
fn a_kernel_of_several_steps_is_within_its_own_claim() {
    let format = find("bf16").unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let (keys, columns) = (64, 32);
    let [q, k, v] = [(); 3].map(|()| drawn(&mut random, format, 1, keys, columns));
    let root = 1.0 / (columns as f32).sqrt().sqrt();
    let mut values = Vec::new();
    for row in 0..keys {
        let multiplied = |x: &f64| rounded(format, *x as f32 * root);
        let scores: Vec<f32> = (0..keys)
            .map(|key| {
                let pairs = q.row(0, row).iter().zip(k.row(0, key));
                rounded(format, pairs.map(|(x, y)| multiplied(x) * multiplied(y)).sum())
            })
            .collect();
        let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weights: Vec<f32> = scores.iter().map(|score| (score - largest).exp()).collect();
        let sum: f32 = weights.iter().sum();
        for column in 0..columns {
            let terms = weights.iter().enumerate();
            let o: f32 = terms.map(|(key, weight)| rounded(format, weight / sum) * v.row(0, key)[column] as f32).sum();
            values.push(f64::from(rounded(format, o)));
        }
    }
    let o = Heads { values, ..q.clone() };
    let operands = Operands::new(q, k, v, o).unwrap();
    let fused = claim(columns, format, Mask::default());
    let of_fused = check(&operands, &fused, &|_| ()).unwrap().judged.tightest;
    let unfused = AttentionClaim { s_format: Some(format), ..fused };
    let check = check(&operands, &unfused, &|_| ()).unwrap();
    assert!(check.holds(), "{:?}", check.judged.listed.first());
    assert!(of_fused > 3.0 * check.judged.tightest, "{of_fused}");
}

/// Asserts that a faulty kernel is refused, and its fault named.
fn assert_named(name: &str, kernel: impl Fn(Kernel) -> Kernel, made: &Mask, claimed: Mask) {
    for format in ["bf16", "f16"] {
        let check = checked(11, format, 1.0, &kernel, made, claimed.clone());
        assert!(check.judged.outside > 0, "{name}, {format}");
        let fault = check.cause.and_then(|cause| cause.fault).map(|fault| fault.name);
        assert_eq!(fault, Some(name), "{format}");
    }
}

#[test]
fn a_dropped_tile_is_refused_and_named() {
    for (name, dropped) in
        [("dropped-16", 16..32), ("dropped-32", 160..192), ("dropped-64", 64..128), ("dropped-128", 0..128)]
    {
        let kernel = |kernel: Kernel| Kernel { dropped: dropped.clone(), ..kernel };
        assert_named(name, kernel, &Mask::default(), Mask::default());
    }
}

#[test]
fn a_wrong_scale_is_refused_and_named() {
    let log2_e = std::f32::consts::LOG2_E;
    for (name, factor) in
        [("scale-missing", 8.0), ("scale-d", 0.125), ("scale-log2-e", log2_e), ("scale-ln-2", 1.0 / log2_e)]
    {
        let kernel = |kernel: Kernel| Kernel { scale: kernel.scale * factor, ..kernel };
        assert_named(name, kernel, &Mask::default(), Mask::default());
    }
}

#[test]
fn a_mask_that_is_off_by_one_or_missing_is_refused_and_named() {
    for (name, made) in [
        ("mask-one-more", Mask { shift: 1, ..causal() }),
        ("mask-one-less", Mask { shift: -1, ..causal() }),
        ("mask-ignored", Mask::default()),
    ] {
        if name == "mask-one-less" {
            // The first query then has no key, and the kernel makes a NaN.
            let check = checked(11, "bf16", 1.0, |kernel| kernel, &made, causal());
            assert!(check.judged.outside > 0);
            continue;
        }
        assert_named(name, |kernel| kernel, &made, causal());
    }
}

#[test]
fn values_of_another_head_are_refused_and_named() {
    let kernel = |kernel: Kernel| Kernel { value_shift: 1, ..kernel };
    assert_named("values-of-another-head", kernel, &Mask::default(), Mask::default());
}

#[test]
fn a_named_fault_explains_right_rows_or_says_where_it_is() {
    let format = find("bf16").unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(13);
    let (queries, columns) = (48, 64);
    let q = drawn(&mut random, format, 4, queries, columns);
    let [k, v] = [(); 2].map(|()| drawn(&mut random, format, 2, 192, columns));
    let kernel = Kernel::flash(columns, format);
    let moved = Kernel { value_shift: 1, ..kernel.clone() };
    let [right, wrong] =
        [kernel.clone(), moved].map(|kernel| kernel.run(&mut random, [&q, &k, &v], &Mask::default(), format));
    let size = queries * columns;
    let swapped =
        |heads: &Heads| Heads { values: [0, 2, 1, 3].map(|head| heads.head(head).to_vec()).concat(), ..heads.clone() };
    let in_turn = swapped(&kernel.run(&mut random, [&swapped(&q), &k, &v], &Mask::default(), format));
    let mixed = |is_wrong: &dyn Fn(usize) -> bool| {
        let values = right.values.iter().zip(&wrong.values).enumerate();
        Heads {
            values: values.map(|(at, (right, wrong))| if is_wrong(at) { *wrong } else { *right }).collect(),
            ..right.clone()
        }
    };
    for (o, name, region) in [
        (in_turn, "heads-in-turn", None),
        (wrong.clone(), "values-of-another-head", None),
        (mixed(&|at| at / size == 1), "values-of-another-head", Some("in head 1 alone")),
        (mixed(&|at| at / size > 1), "values-of-another-head", Some("in heads 2..3 alone")),
        (mixed(&|at| at % size < size / 2), "values-of-another-head", Some("in the rows with errors alone")),
    ] {
        let operands = Operands::new(q.clone(), k.clone(), v.clone(), o).unwrap();
        let cause = check(&operands, &claim(columns, format, Mask::default()), &|_| ()).unwrap().cause.unwrap();
        assert_eq!((cause.fault.map(|fault| fault.name), cause.region.as_deref()), (Some(name), region));
    }
}

#[test]
fn masks_of_files_and_windows_leave_out_the_same_keys_as_the_diagonal() {
    let format = find("bf16").unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let [q, k, v] = [(); 3].map(|()| drawn(&mut random, format, 2, 32, 16));
    let o = Kernel::flash(16, format).run(&mut random, [&q, &k, &v], &causal(), format);
    let operands = Operands::new(q, k, v, o).unwrap();
    let bytes: Vec<u8> = (0..32 * 32).map(|at| u8::from(at % 32 <= at / 32)).collect();
    let numbers: Vec<u8> =
        bytes.iter().flat_map(|byte| if *byte == 1 { 0.0f32 } else { f32::NEG_INFINITY }.to_le_bytes()).collect();
    let array = |shape: &[usize], kind, bytes: Vec<u8>| Array {
        name: "mask".into(),
        shape: shape.to_vec(),
        kind,
        bytes: bytes.into(),
    };
    let f32 = Content::Format(find("f32").unwrap());
    for array in [
        array(&[32, 32], Content::Unsigned(1), bytes.clone()),
        array(&[1, 32, 32], Content::Other("BOOL"), bytes.clone()),
        array(&[2, 32, 32], f32, [numbers.clone(), numbers.clone()].concat()),
    ] {
        let given = Some(Arc::new(AddedScores::of_array(&array, &operands).unwrap()));
        let mask = Mask { given, ..Mask::default() };
        assert!(check(&operands, &claim(16, format, mask), &|_| ()).unwrap().holds());
    }
    for (mask, holds) in [
        (Mask { window: Some(31), ..causal() }, true),
        (Mask { window: Some(4), ..causal() }, false),
        (Mask { causal: Some(Causal::LowerRight), ..Mask::default() }, true),
        (Mask::default(), false),
    ] {
        assert_eq!(check(&operands, &claim(16, format, mask), &|_| ()).unwrap().holds(), holds);
    }
    for (shape, kind, bytes) in [
        (vec![31, 32], Content::Unsigned(1), vec![1; 31 * 32]),
        (vec![32], Content::Unsigned(1), vec![1; 32]),
        (vec![1, 1], f32, f32::NAN.to_le_bytes().to_vec()),
        (vec![1, 1], Content::Unsigned(2), vec![0, 0]),
    ] {
        let message = AddedScores::of_array(&array(&shape, kind, bytes), &operands).unwrap_err().to_string();
        assert!(message.contains("mask"), "{message}");
    }
}

#[test]
fn a_query_without_a_key_gives_zero_or_nan() {
    let format = find("bf16").unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let [q, k, v] = [(); 3].map(|()| drawn(&mut random, format, 1, 16, 16));
    let mask = Mask { shift: -1, ..causal() };
    let mut o = Kernel::flash(16, format).run(&mut random, [&q, &k, &v], &mask, format);
    for (value, outside) in [(0.0, 0), (f64::NAN, 0), (0.5, 16)] {
        o.values[..16].fill(value);
        let operands = Operands::new(q.clone(), k.clone(), v.clone(), o.clone()).unwrap();
        let judged = check(&operands, &claim(16, format, mask.clone()), &|_| ()).unwrap().judged;
        assert_eq!((judged.without_key, judged.outside), (16, outside));
    }
}

#[test]
fn claims_without_a_bound_are_refused_with_the_reason() {
    let format = find("f16").unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let [q, k, v] = [(); 3].map(|()| drawn(&mut random, format, 1, 16, 16));
    let operands = Operands::new(q.clone(), k, v, q).unwrap();
    let plain = claim(16, format, Mask::default());
    for (claim, reason) in [
        (AttentionClaim { scale: 1e7, ..plain.clone() }, "weights are unknown"),
        (AttentionClaim { scale: 1e5, s_format: Some(format), ..plain.clone() }, "may overflow the format"),
        (AttentionClaim { scale: f64::NAN, ..plain.clone() }, "the scale must be finite"),
        (AttentionClaim { scale: 1e37, ..plain.clone() }, "may overflow f32"),
        (AttentionClaim { p_format: find("s8").unwrap(), ..plain.clone() }, "P in s8 has no bound"),
    ] {
        let message = check(&operands, &claim, &|_| ()).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn operands_that_do_not_fit_are_named() {
    let format = find("bf16").unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut draw = |heads, rows, columns| drawn(&mut random, format, heads, rows, columns);
    let (q, k, v, o) = (draw(4, 8, 16), draw(2, 12, 16), draw(2, 12, 24), draw(4, 8, 24));
    assert!(Operands::new(q.clone(), k.clone(), v.clone(), o.clone()).is_ok());
    let mut with_nan = q.clone();
    with_nan.values[(2 * 8 + 3) * 16 + 5] = f64::NAN;
    for (operands, words) in [
        ([&draw(4, 8, 8), &k, &v, &o], "their last extents"),
        ([&q, &k, &draw(2, 11, 24), &o], "the same number of keys"),
        ([&draw(3, 8, 16), &k, &v, &o], "a multiple"),
        ([&q, &k, &v, &draw(4, 8, 16)], "O has the shape (4, 8, 16); Q, K and V make (4, 8, 24)"),
        ([&with_nan, &k, &v, &o], "Q holds a NaN in head 2, row 3, column 5"),
        ([&Heads { batch: vec![1], ..q.clone() }, &k, &v, &o], "before the last three"),
        ([&Heads { format: find("f64").unwrap(), ..q.clone() }, &k, &v, &o], "in f64"),
    ] {
        let [q, k, v, o] = operands.map(Clone::clone);
        let message = Operands::new(q, k, v, o).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    let array =
        |shape: &[usize]| Array::of_codes("x", shape.to_vec(), format, vec![0; 2 * shape.iter().product::<usize>()]);
    assert!(Heads::of_array(&array(&[16]), None).unwrap_err().to_string().contains("at least two dimensions"));
    assert!(Heads::of_array(&array(&[4, 0]), None).unwrap_err().to_string().contains("extent of 0"));
    let heads = Heads::of_array(&array(&[2, 3, 4, 5]), None).unwrap();
    assert_eq!((heads.count(), heads.heads, heads.rows, heads.columns), (6, 3, 4, 5));
}
