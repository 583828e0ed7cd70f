//! Causes of errors: each fault is named, and no cause is named that does not explain every error.

use super::*;

/// A right product, and its claim.
pub(super) struct Right {
    pub(super) claim: Claim,
    pub(super) factors: Factors,
    pub(super) d: Matrix,
}

/// A product of f16 by one instruction of Hopper.
fn plain(shape: ProductShape, seed: u64) -> Right {
    let schedule = schedule("wgmma.m64n8k16.f32.f16.f16");
    let factors = factors(&schedule, shape, seed, 3);
    of_schedule("hopper", schedule, factors)
}

/// A product by a schedule, claimed of it.
pub(super) fn of_schedule(model: &str, schedule: Schedule, factors: Factors) -> Right {
    let model = Model::load(model).unwrap();
    let d = product(&model, &schedule, &factors);
    Right { claim: Claim::of_schedule(model, schedule), factors, d }
}

/// FP8 with scales of 1x128 and 128x128, as of DeepSeek-V3; with alpha, C and a bias if so.
fn with_scales(seed: u64, has_additions: bool) -> Right {
    let mut schedule = schedule("wgmma.m64n8k32.f32.e4m3.e4m3");
    schedule.promote = Some(128);
    schedule.scales = Some(ScaleBlocks { a: [1, 128], b: [128, 128], multiply: ScaleUse::Fused });
    if has_additions {
        (schedule.alpha, schedule.beta) = (0.7, 3.0);
    }
    let mut factors = factors(&schedule, ProductShape { m: 14, n: 14, k: 300 }, seed, 3);
    if has_additions {
        factors.c = Some(drawn(14, 14, schedule.output.format, seed + 77, 4));
        factors.bias = Some(drawn(1, 14, schedule.output.format, seed + 78, 8));
    }
    of_schedule("hopper", schedule, factors)
}

/// The same matrix with other values, where they have codes.
pub(super) fn with_values(matrix: &Matrix, value: impl Fn(usize, usize) -> f64) -> Matrix {
    let places = (0..matrix.rows).flat_map(|row| (0..matrix.columns).map(move |column| (row, column)));
    let code = |(row, column)| matrix.format.encode_f64(value(row, column), Rounding::Rne, Overflow::Saturate).unwrap();
    Matrix::of_values(matrix.rows, matrix.columns, matrix.format, &places.map(code).collect::<Vec<_>>())
}

impl Right {
    /// The check of a D in place of the right one.
    pub(super) fn checked(&self, d: &Matrix) -> ProductCheck {
        checked(&self.claim, &self.factors, d)
    }

    fn cause(&self, d: &Matrix) -> Option<Cause> {
        self.checked(d).diagnosis.expect("errors").cause
    }

    /// D with each element changed.
    pub(super) fn with(&self, value: impl Fn(f64) -> f64) -> Matrix {
        with_values(&self.d, |row, column| value(self.d.value(row, column)))
    }

    /// D of another product by the claimed schedule.
    fn product(&self, change: impl FnOnce(&mut Schedule, &mut Factors)) -> Matrix {
        let (mut schedule, mut factors) = (self.claim.schedules[0].clone(), self.factors.clone());
        change(&mut schedule, &mut factors);
        product(&self.claim.model, &schedule, &factors)
    }
}

/// A change of the claimed product.
type Change<'a> = &'a dyn Fn(&mut Schedule, &mut Factors);

fn ones(matrix: &mut Option<Matrix>) {
    *matrix = matrix.as_ref().map(|matrix| with_values(matrix, |_, _| 1.0));
}

/// A matrix without these k of A, or of B where `is_b`.
fn without(factors: &Factors, k: std::ops::Range<usize>) -> Factors {
    let a = with_values(&factors.a, |row, at| if k.contains(&at) { 0.0 } else { factors.a.value(row, at) });
    Factors { a, ..factors.clone() }
}

#[test]
fn a_fault_of_every_element_is_named() {
    let right = plain(ProductShape { m: 16, n: 16, k: 64 }, 31);
    let faults: [(Cause, Matrix); 12] = [
        (Cause::Zero, right.with(|_| 0.0)),
        (Cause::Sign, right.with(|x| -x)),
        (Cause::Factor, right.with(|x| 2.0 * x)),
        (Cause::Factor, right.with(|x| 0.5 * x)),
        (Cause::Factor, right.with(|x| x / 3.0)),
        (Cause::TransposedD, right.d.transposed()),
        (Cause::Relu, right.with(|x| x.max(0.0))),
        (Cause::Clamp, right.with(|x| x.clamp(-10.0, 10.0))),
        (Cause::Clamp, right.with(|x| x.min(4.0))),
        (Cause::Magnitude, right.with(f64::abs)),
        (Cause::NumberAdded, right.with(|x| x + 3.25)),
        (Cause::OutputRounded, {
            let half = format::find("bf16").unwrap();
            right.with(|x| half.to_f64(half.encode_f64(x, Rounding::Rne, Overflow::Saturate).unwrap()))
        }),
    ];
    for (cause, d) in faults {
        let check = right.checked(&d);
        assert_eq!(check.diagnosis.as_ref().unwrap().cause, Some(cause), "{:?}", check.diagnosis);
    }
}

#[test]
fn a_fault_is_named_where_a_generation_or_a_library_is_claimed() {
    let Right { claim, factors, d } = plain(ProductShape { m: 12, n: 12, k: 48 }, 38);
    let library = LibraryFamily::of("cublaslt", Some("f32.f16.f16.32f")).unwrap();
    for claim in [
        Claim::of_generation(claim.model.clone(), formats("f32"), None).unwrap(),
        Claim::of_library(claim.model.clone(), &library, formats("f32")).unwrap(),
    ] {
        let right = Right { claim, factors: factors.clone(), d: d.clone() };
        assert_eq!(right.cause(&right.with(|x| 2.0 * x)), Some(Cause::Factor));
        assert_eq!(right.cause(&right.with(|x| x.max(0.0))), Some(Cause::Relu));
        assert_eq!(right.cause(&right.d.transposed()), Some(Cause::TransposedD));
    }
}

#[test]
fn rows_and_columns_in_other_places_are_named() {
    let right = plain(ProductShape { m: 20, n: 24, k: 200 }, 32);
    let source = |at: usize, count: usize| (at * 7 + 3) % count;
    let rows = with_values(&right.d, |row, column| right.d.value((row + 1) % 20, column));
    let mixed = with_values(&right.d, |row, column| right.d.value(source(row, 20), column));
    let columns = with_values(&right.d, |row, column| right.d.value(row, source(column, 24)));
    let tiles = with_values(&right.d, |row, column| right.d.value(row, column ^ 4));
    for (cause, d) in [(Cause::Rows, rows), (Cause::Rows, mixed), (Cause::Columns, columns), (Cause::Columns, tiles)] {
        assert_eq!(right.cause(&d), Some(cause));
    }
}

#[test]
fn numbers_and_factors_of_lines_are_named() {
    let right = plain(ProductShape { m: 20, n: 24, k: 200 }, 33);
    let line = |at: usize| 1.5 + at as f64 / 8.0;
    let of = |value: &dyn Fn(f64, usize, usize) -> f64| {
        with_values(&right.d, |row, column| value(right.d.value(row, column), row, column))
    };
    assert_eq!(right.cause(&of(&|x, _, column| x + line(column))), Some(Cause::BiasNotGiven));
    assert_eq!(right.cause(&of(&|x, row, _| x + line(row))), Some(Cause::RowNumbers));
    assert_eq!(right.cause(&of(&|x, row, _| x * line(row))), Some(Cause::RowFactors));
    assert_eq!(right.cause(&of(&|x, _, column| x * line(column))), Some(Cause::ColumnFactors));
}

#[test]
fn operands_that_are_read_wrongly_are_named() {
    let right = plain(ProductShape { m: 20, n: 20, k: 20 }, 34);
    let transposed = right.product(|_, factors| factors.a = factors.a.transposed());
    assert_eq!(right.cause(&transposed), Some(Cause::TransposedA));
    let right = plain(ProductShape { m: 20, n: 24, k: 80 }, 34);
    let flat = right.product(|_, factors| {
        factors.b = Matrix { rows: 24, columns: 80, ..factors.b.clone() }.transposed();
    });
    assert_eq!(right.cause(&flat), Some(Cause::TransposedB));
    let narrow = format::find("e4m3").unwrap();
    let rounded = right.product(|_, factors| {
        let code = |x: f64| narrow.encode_f64(x, Rounding::Rne, Overflow::Saturate).unwrap();
        factors.a = with_values(&factors.a, |row, k| narrow.to_f64(code(right.factors.a.value(row, k))));
    });
    assert_eq!(right.cause(&rounded), Some(Cause::OperandsRounded));
    let mut schedule = schedule("wgmma.m64n8k32.f32.e4m3.e4m3");
    schedule.promote = Some(128);
    let right =
        of_schedule("hopper", schedule.clone(), factors(&schedule, ProductShape { m: 16, n: 16, k: 256 }, 34, 3));
    let read = Factors {
        a: Matrix { format: format::find("e5m2").unwrap(), ..right.factors.a.clone() },
        ..right.factors.clone()
    };
    let other = Schedule { instruction: isa::resolve("wgmma.m64n8k32.f32.e5m2.e4m3").unwrap(), ..schedule };
    assert_eq!(right.cause(&product(&right.claim.model, &other, &read)), Some(Cause::ReadAs));
}

#[test]
fn sums_of_another_format_are_named() {
    let mut claimed = schedule("wgmma.m64n8k16.f32.f16.f16");
    claimed.output.format = format::find("f16").unwrap();
    let right = of_schedule("hopper", claimed.clone(), factors(&claimed, ProductShape { m: 16, n: 16, k: 512 }, 35, 3));
    let half = product(&right.claim.model, &schedule("mma.m16n8k16.f16.f16.f16.f16"), &right.factors);
    assert_eq!(right.cause(&half), Some(Cause::OtherSums));
}

#[test]
fn faults_of_scales_alpha_c_and_a_bias_are_named() {
    for seed in [41, 42] {
        let right = with_scales(seed, false);
        let powers = |matrix: &mut Option<Matrix>| {
            let scales = matrix.clone().unwrap();
            *matrix = Some(with_values(&scales, |row, block| {
                let scale = scales.value(row, block);
                2f64.powf(scale.abs().log2().floor()).copysign(scale)
            }));
        };
        let faults: [(Cause, Change); 5] = [
            (Cause::ScalesForgotten, &|_, factors| {
                ones(&mut factors.scale_a);
                ones(&mut factors.scale_b);
            }),
            (Cause::ScaleOfAForgotten, &|_, factors| ones(&mut factors.scale_a)),
            (Cause::ScaleOfBForgotten, &|_, factors| ones(&mut factors.scale_b)),
            (Cause::ScalesOfPowers, &|_, factors| powers(&mut factors.scale_a)),
            (Cause::BlockFactorsOfA, &|_, factors| {
                let scales = factors.scale_a.clone().unwrap();
                let factor = |row: usize, block: usize| 1.0 + ((row * 5 + block * 3) % 7) as f64 / 4.0;
                factors.scale_a =
                    Some(with_values(&scales, |row, block| scales.value(row, block) * factor(row, block)));
            }),
        ];
        for (cause, change) in faults {
            assert_eq!(right.cause(&right.product(change)), Some(cause));
        }
        let all = with_scales(seed, true);
        let faults: [(Cause, Change); 10] = [
            (Cause::AlphaForgotten, &|schedule, _| schedule.alpha = 1.0),
            (Cause::AlphaTwice, &|schedule, _| schedule.alpha *= schedule.alpha),
            (Cause::ProductSign, &|schedule, _| schedule.alpha = -schedule.alpha),
            (Cause::ProductDoubled, &|schedule, _| schedule.alpha *= 2.0),
            (Cause::CMissing, &|_, factors| factors.c = None),
            (Cause::CTwice, &|schedule, _| schedule.beta *= 2.0),
            (Cause::BetaForgotten, &|schedule, _| schedule.beta = 1.0),
            (Cause::BiasMissing, &|_, factors| factors.bias = None),
            (Cause::BiasTwice, &|_, factors| {
                let bias = factors.bias.clone().unwrap();
                factors.bias = Some(with_values(&bias, |_, column| 2.0 * bias.value(0, column)));
            }),
            (Cause::RowsOfA, &|_, factors| {
                let rows: Vec<usize> = (0..14).map(|row| (row + 3) % 14).collect();
                let scales = factors.scale_a.as_ref().unwrap();
                factors.scale_a = Some(scales.chosen(&rows, &(0..scales.columns).collect::<Vec<_>>()));
                factors.a = factors.a.chosen(&rows, &(0..300).collect::<Vec<_>>());
            }),
        ];
        for (cause, change) in faults {
            assert_eq!(all.cause(&all.product(change)), Some(cause));
        }
        let bias = all.factors.bias.clone().unwrap();
        let along_rows =
            with_values(&all.d, |row, column| all.d.value(row, column) + bias.value(0, row) - bias.value(0, column));
        assert_eq!(all.cause(&along_rows), Some(Cause::BiasAlongRows));
        assert_eq!(all.cause(&all.with(|x| x.max(0.0))), Some(Cause::Relu));
        assert_eq!(all.cause(&all.with(|x| 0.5 * x)), Some(Cause::Factor));
    }
}

#[test]
fn factors_of_blocks_are_named_where_d_is_rounded_to_a_narrow_format() {
    let mut schedule = schedule("wgmma.m64n8k32.f32.e4m3.e4m3");
    schedule.promote = Some(128);
    schedule.scales = Some(ScaleBlocks { a: [1, 128], b: [128, 128], multiply: ScaleUse::Rounded });
    schedule.output.format = format::find("bf16").unwrap();
    for seed in [51, 52, 53] {
        let factors = factors(&schedule, ProductShape { m: 20, n: 48, k: 512 }, seed, 3);
        let right = of_schedule("hopper", schedule.clone(), factors);
        let d = right.product(|_, factors| {
            let scales = factors.scale_a.clone().unwrap();
            let factor = |row: usize, block: usize| 0.9 + ((row * 5 + block * 3) % 7) as f64 / 35.0;
            factors.scale_a = Some(with_values(&scales, |row, block| scales.value(row, block) * factor(row, block)));
        });
        assert_eq!(right.cause(&d), Some(Cause::BlockFactorsOfA), "{seed}");
    }
}

#[test]
fn the_k_that_are_missing_are_named() {
    for (k, missing) in [(300, 263..300), (512, 448..512), (512, 100..116), (1000, 992..1000), (2000, 1937..2000)] {
        let right = plain(ProductShape { m: 20, n: 24, k }, 31);
        let d = right.product(|_, factors| *factors = without(factors, missing.clone()));
        let diagnosis = right.checked(&d).diagnosis.unwrap();
        assert_eq!((diagnosis.cause, diagnosis.k), (Some(Cause::LeftOut), Some(missing)));
    }
}

#[test]
fn the_k_that_are_missing_from_a_product_with_scales_are_named() {
    let right = with_scales(43, true);
    let d = right.product(|_, factors| *factors = without(factors, 200..290));
    let diagnosis = right.checked(&d).diagnosis.unwrap();
    assert_eq!((diagnosis.cause, diagnosis.k), (Some(Cause::LeftOut), Some(200..290)));
}

#[test]
fn the_k_that_are_counted_twice_are_named() {
    let right = plain(ProductShape { m: 20, n: 20, k: 256 }, 33);
    let d = right.product(|_, factors| {
        let k: Vec<usize> = (0..256).chain(64..96).collect();
        let all = |count: usize| (0..count).collect::<Vec<_>>();
        *factors = Factors::new(factors.a.chosen(&all(20), &k), factors.b.chosen(&k, &all(20)));
    });
    let diagnosis = right.checked(&d).diagnosis.unwrap();
    assert_eq!((diagnosis.cause, diagnosis.k), (Some(Cause::CountedTwice), Some(64..96)));
}

#[test]
fn a_wrong_element_of_a_or_b_is_named_where_the_errors_are() {
    let right = plain(ProductShape { m: 20, n: 24, k: 300 }, 34);
    let d = right.product(|_, factors| factors.a.codes.set(7 * 300 + 211, 0x5400));
    let check = right.checked(&d);
    let diagnosis = check.diagnosis.unwrap();
    assert_eq!((diagnosis.cause, diagnosis.k), (Some(Cause::ElementOfA), Some(211..212)));
    assert!(diagnosis.words.ends_with("row 7"), "{}", diagnosis.words);
    let d = right.product(|_, factors| factors.b.codes.set(211 * 24 + 5, 0xd400));
    let diagnosis = right.checked(&d).diagnosis.unwrap();
    assert_eq!((diagnosis.cause, diagnosis.k), (Some(Cause::ElementOfB), Some(211..212)));
}

#[test]
fn a_cause_of_some_rows_alone_is_named_with_them() {
    let right = plain(ProductShape { m: 20, n: 24, k: 300 }, 36);
    let d = with_values(&right.d, |row, column| {
        let right = right.d.value(row, column);
        if row >= 16 { right.max(0.0) } else { right }
    });
    let diagnosis = right.checked(&d).diagnosis.unwrap();
    assert_eq!((diagnosis.cause, diagnosis.region.as_deref()), (Some(Cause::Relu), Some("rows 16..19")));
}

#[test]
fn errors_without_a_cause_are_told_by_what_they_share() {
    let right = plain(ProductShape { m: 20, n: 24, k: 300 }, 37);
    let d = with_values(&right.d, |row, column| {
        let off = if row == 3 { (1 + random(5, column as u64) % 100) as f64 } else { 0.0 };
        right.d.value(row, column) + off
    });
    let diagnosis = right.checked(&d).diagnosis.unwrap();
    assert_eq!(diagnosis.cause, None);
    assert!(diagnosis.words.contains("they lie in row 3; D is too large"), "{}", diagnosis.words);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn errors_of_chance_have_no_cause(seed in any::<u64>(), count in 1usize..400) {
        let right = plain(ProductShape { m: 20, n: 20, k: 256 }, seed >> 8);
        prop_assert!(right.checked(&right.d).diagnosis.is_none());
        let mut d = right.d.clone();
        for at in 0..count {
            let place = (random(seed, at as u64) % 400) as usize;
            let off = (random(seed, 1000 + at as u64) % 2000) as f32 / 10.0 - 100.0;
            d.codes.set(place, f32::to_bits(d.value(place / 20, place % 20) as f32 + off).into());
        }
        let check = right.checked(&d);
        prop_assert!(check.holds() || right.cause(&d).is_none(), "{:?}", check.diagnosis);
    }
}
