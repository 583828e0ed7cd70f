//! `tcnum gemm match` of sums without matrix instructions: the order that made D, by a computation of its own, is named.

use tcnum::format::{self, Format};
use tcnum_engine::product::{Factors, Matrix};
use tcnum_study::matching::{self, Recognised, Request};

use crate::compute::matrix;

const K: usize = 300;

/// Two matrices of a format, 12 x 300 and 300 x 16.
fn operands(format: &'static Format) -> Factors {
    Factors::new(matrix(12, K, format, 31), matrix(K, 16, format, 32))
}

/// D in f32 whose elements a function of a row of A and a column of B gives.
fn made(factors: &Factors, element: &dyn Fn(&[f32], &[f32]) -> f32) -> Matrix {
    let row = |row: usize| (0..factors.k()).map(|k| factors.a.value(row, k) as f32).collect::<Vec<_>>();
    let column = |column: usize| (0..factors.k()).map(|k| factors.b.value(k, column) as f32).collect::<Vec<_>>();
    let (rows, columns) = (factors.a.rows, factors.b.columns);
    let codes: Vec<u64> =
        (0..rows * columns).map(|at| element(&row(at / columns), &column(at % columns)).to_bits().into()).collect();
    Matrix::of_values(rows, columns, format::find("f32").unwrap(), &codes)
}

/// True if the D that a sum made decides the rounding of its products.
fn decides_products(factors: &Factors, element: &dyn Fn(&[f32], &[f32]) -> f32) -> bool {
    let decisions = recognised(factors, &made(factors, element)).plain.decisions;
    decisions.iter().any(|decision| decision.aspect.name() == "products" && decision.is_decided())
}

fn recognised(factors: &Factors, d: &Matrix) -> Recognised {
    let mut recognised = Recognised::default();
    matching::search(&Request::new(vec!["hopper".into()]), factors, d, &mut recognised, &|_| ()).unwrap();
    recognised
}

/// Asserts that a D in f32 is given by this sum, and by no schedule.
fn is_named(factors: &Factors, element: &dyn Fn(&[f32], &[f32]) -> f32, sentence: &str) {
    let found = recognised(factors, &made(factors, element));
    let sentences: Vec<String> = found.plain.confirmed.iter().map(|sum| sum.sentence(K)).collect();
    assert!(sentences.iter().any(|known| known == sentence), "{sentence}: {sentences:?}");
    assert!(found.first().is_none() && found.is_found() && found.verdict.is_none());
}

/// Neighbours added again and again.
fn pairs(mut sums: Vec<f32>) -> f32 {
    while sums.len() > 1 {
        sums = sums.chunks(2).map(|pair| pair.iter().copied().reduce(|x, y| x + y).unwrap()).collect();
    }
    sums[0]
}

fn chain(x: &[f32], y: &[f32]) -> f32 {
    let mut sum = 0.0;
    for (x, y) in x.iter().zip(y) {
        let product = x * y;
        sum += product;
    }
    sum
}

/// NumPy's pairwise sum.
fn numpy(products: &[f32]) -> f32 {
    match products.len() {
        0..8 => products.iter().fold(0.0, |sum, x| sum + x),
        8..=128 => {
            let full = products.len() / 8 * 8;
            let mut lanes = [0.0; 8];
            products[..full].iter().enumerate().for_each(|(at, x)| lanes[at % 8] += x);
            let [a, b, c, d, e, f, g, h] = lanes;
            let sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
            products[full..].iter().fold(sum, |sum, x| sum + x)
        }
        length => {
            let half = length / 2 - length / 2 % 8;
            numpy(&products[..half]) + numpy(&products[half..])
        }
    }
}

#[test]
fn products_that_are_rounded_before_they_are_added_are_named() {
    let single = operands(format::find("f32").unwrap());
    is_named(&single, &chain, "products rounded to f32, then added, k ascending");
    assert!(decides_products(&single, &chain));
    let lanes = |x: &[f32], y: &[f32]| {
        let mut lanes = vec![0.0f32; 8];
        for (at, (x, y)) in x.iter().zip(y).enumerate() {
            let product = x * y;
            lanes[at % 8] += product;
        }
        pairs(lanes)
    };
    is_named(&single, &lanes, "products rounded to f32, then added, in 8 accumulators in turn, joined in pairs");
}

#[test]
fn trees_are_named() {
    let single = operands(format::find("f32").unwrap());
    let tree = |x: &[f32], y: &[f32]| pairs(x.iter().zip(y).map(|(x, y)| x * y).collect());
    is_named(&single, &tree, "products rounded to f32, then added, in blocks of 1 k, joined in pairs");
    let blocks = |x: &[f32], y: &[f32]| pairs(x.chunks(16).zip(y.chunks(16)).map(|(x, y)| chain(x, y)).collect());
    is_named(&single, &blocks, "products rounded to f32, then added, in blocks of 16 k, joined in pairs");
    let ordered = |x: &[f32], y: &[f32]| x.chunks(64).zip(y.chunks(64)).fold(0.0, |sum, (x, y)| sum + chain(x, y));
    is_named(&single, &ordered, "products rounded to f32, then added, in blocks of 64 k, joined in order");
    let pairwise = |x: &[f32], y: &[f32]| numpy(&x.iter().zip(y).map(|(x, y)| x * y).collect::<Vec<_>>());
    is_named(
        &single,
        &pairwise,
        "products rounded to f32, then added, in 8 accumulators in turn, joined in pairs, the remaining k added after the join, in blocks \
         of at most 128 k, k cut in its middle again and again, at multiples of 8",
    );
}

/// 2^48 times the products of numbers of f16, summed exactly.
fn exact(x: &[f32], y: &[f32]) -> i128 {
    let integer = |x: &f32| (f64::from(*x) * 2f64.powi(24)) as i128;
    x.iter().zip(y).map(|(x, y)| integer(x) * integer(y)).sum()
}

#[test]
fn exact_sums_are_named() {
    let half = operands(format::find("f16").unwrap());
    let unit = 2f32.powi(-48);
    // Sums of f64 lose nothing of these products: they give the same D.
    let once = |x: &[f32], y: &[f32]| exact(x, y) as f32 * unit;
    is_named(&half, &once, "the exact sum of all products, rounded once to f32");
    let running = |x: &[f32], y: &[f32]| {
        let add =
            |sum: f32, (x, y): (&[f32], &[f32])| (exact(x, y) + (f64::from(sum) * 2f64.powi(48)) as i128) as f32 * unit;
        x.chunks(16).zip(y.chunks(16)).fold(0.0, add)
    };
    is_named(
        &half,
        &running,
        "exact sums of products, rounded to f32, in blocks of 16 k, each block added to the sum so far",
    );
}

#[test]
fn an_order_that_is_not_tried_is_a_product_without_a_nearest() {
    let single = operands(format::find("f32").unwrap());
    // From both ends to the middle.
    let folded = |x: &[f32], y: &[f32]| {
        let products: Vec<f32> = x.iter().zip(y).map(|(x, y)| x * y).collect();
        (0..K / 2).fold(0.0, |sum, at| sum + (products[at] + products[K - 1 - at]))
    };
    let found = recognised(&single, &made(&single, &folded));
    assert!(!found.is_found() && found.matches.nearest.is_none(), "{:?}", found.matches.nearest);
    let verdict = found.verdict.unwrap();
    assert_eq!((verdict.outside, verdict.elements), (0, 12 * 16));
    assert!(verdict.sentence().contains("`tcnum tree`"), "{}", verdict.sentence());
}

#[test]
fn a_d_of_noise_is_another_product_without_a_nearest() {
    let single = operands(format::find("f32").unwrap());
    let noise = matrix(12, 16, single.a.format, 77);
    let found = recognised(&single, &noise);
    assert!(!found.is_found() && found.matches.nearest.is_none(), "{:?}", found.matches.nearest);
    let verdict = found.verdict.unwrap();
    assert!(verdict.outside > 12 * 16 / 2, "{verdict:?}");
    assert!(verdict.sentence().contains("`tcnum check`"), "{}", verdict.sentence());
}
