//! Checks of products that are right, and of products with faults.

mod causes;
mod corners;
mod ends;
mod injected;
mod library;
mod missed;
mod reproduced;

use proptest::prelude::*;

use super::{
    Cause, CheckRequest, CheckedProduct, Criterion, ProductCheck, check,
    power::{Test, power},
};
use crate::{
    arithmetic::Model,
    device::ModelDevice,
    format::{self, Format, Overflow, Rounding},
    inputs::random,
    isa,
    product::reference::Yardsticks,
    product::{
        AccumulatorJoin, Accumulators, Factors, Matrix, OutputRounding, PartJoin, PartTerms, Product, ProductShape,
        ScaleBlocks, ScaleUse, Schedule, SplitK,
        bound::{
            Claim, ElementBounds, LibraryFamily, Magnitudes, OrderFreeBounds, Origin, bounds_matrix, running_matrix,
        },
    },
};

/// Numbers of a format: a random sign and significand, and exponents in a range around zero.
fn drawn(rows: usize, columns: usize, format: &'static Format, seed: u64, exponents: u64) -> Matrix {
    let code = |at: usize| {
        let bits = random(seed, at as u64);
        let exponent = (bits >> 40) % (2 * exponents + 1);
        let value = (1.0 + (bits & 0xfffff) as f64 / 1048576.0) * 2f64.powi(exponent as i32 - exponents as i32);
        let value = if bits >> 63 == 1 && format.is_signed() { -value } else { value };
        format.encode_f64(value, Rounding::Rne, Overflow::Saturate).unwrap()
    };
    Matrix::of_values(rows, columns, format, &(0..rows * columns).map(code).collect::<Vec<_>>())
}

fn factors(schedule: &Schedule, shape: ProductShape, seed: u64, exponents: u64) -> Factors {
    let ProductShape { m, n, k } = shape;
    let i = &schedule.instruction;
    let mut factors = Factors::new(drawn(m, k, i.a, seed, exponents), drawn(k, n, i.b, seed + 1, exponents));
    if let Some(scale) = i.scale {
        factors.scale_a = Some(drawn(m, k.div_ceil(scale.block), scale.format, seed + 2, 2));
        factors.scale_b = Some(drawn(k.div_ceil(scale.block), n, scale.format, seed + 3, 2));
    }
    if let Some(scales) = &schedule.scales {
        let single = format::find("f32").unwrap();
        factors.scale_a = Some(drawn(m.div_ceil(scales.a[0]), k.div_ceil(scales.a[1]), single, seed + 2, 3));
        factors.scale_b = Some(drawn(k.div_ceil(scales.b[0]), n.div_ceil(scales.b[1]), single, seed + 3, 3));
    }
    factors
}

fn product(model: &Model, schedule: &Schedule, factors: &Factors) -> Matrix {
    Product::of(&mut ModelDevice::of(model.clone()), schedule, factors).unwrap().d
}

/// |D - exact| of each element over its running bound and over its bound of every order.
fn ratios(model: &Model, schedule: &Schedule, factors: &Factors) -> Vec<(f64, Option<f64>)> {
    let d = product(model, schedule, factors);
    let exact = Yardsticks::new(schedule, factors);
    let running = ElementBounds::new(model, schedule, factors).unwrap();
    let every = OrderFreeBounds::new(model, schedule, factors.k()).ok();
    let plain = factors.c.is_none() && factors.bias.is_none() && factors.scale_a.is_none();
    let mut all = Vec::new();
    for row in 0..d.rows {
        for column in 0..d.columns {
            let sum = exact.exact(row, column);
            let value = d.value(row, column);
            let error = (rug::Float::with_val(sum.prec(), value) - &sum).abs().to_f64();
            let over = |bound: f64| if error == 0.0 { 0.0 } else { error / bound };
            let magnitudes: f64 =
                (0..factors.k()).map(|k| (factors.a.value(row, k) * factors.b.value(k, column)).abs()).sum();
            let order_free = every.as_ref().filter(|_| plain).map(|every| {
                // Subnormal operands count with exponents above their leading bits.
                let bounded = Magnitudes { exponent: Some(40), ..Magnitudes::of_sum(magnitudes * (1.0 + 1e-9)) };
                over(every.of(&bounded).finite())
            });
            let bound = running.of(row, column).unwrap().worst();
            if bound.is_finite() {
                all.push((over(bound), order_free));
            }
        }
    }
    all
}

fn schedule(instruction: &str) -> Schedule {
    Schedule::new(isa::resolve(instruction).unwrap()).unwrap()
}

/// A schedule of many kinds, from a number.
fn any_schedule(instruction: &str, choice: u64) -> Schedule {
    let mut schedule = schedule(instruction);
    let step = schedule.instruction.k;
    let pick = |place: u32, count: u64| (choice >> (4 * place)) % count;
    schedule.split = SplitK {
        count: [1, 1, 2, 3, 7][pick(0, 5) as usize],
        granule: step,
        terms: [PartTerms::Contiguous, PartTerms::Interleaved][pick(1, 2) as usize],
        join: PartJoin::ALL[pick(2, 5) as usize],
    };
    if pick(3, 3) == 0 {
        schedule.promote = Some(step * (1 + pick(4, 4) as usize));
    }
    if pick(5, 3) == 0 && schedule.instruction.d.name == "f32" {
        let join = AccumulatorJoin::ALL[pick(6, 4) as usize];
        schedule.accumulators = Accumulators { count: 2 + pick(7, 4) as usize, granule: step, join };
    }
    if schedule.instruction.d.name == "f32" && pick(8, 2) == 0 {
        schedule.output.format = format::find(["f16", "bf16", "f32"][pick(9, 3) as usize]).unwrap();
    }
    if pick(10, 4) == 0 {
        (schedule.alpha, schedule.beta) = (0.7, -1.3);
    }
    schedule
}

const INSTRUCTIONS: [(&str, &str); 8] = [
    ("hopper", "mma.m16n8k16.f32.f16.f16.f32"),
    ("hopper", "wgmma.m64n8k32.f32.e4m3.e4m3"),
    ("hopper", "mma.m16n8k16.f16.f16.f16.f16"),
    ("ampere", "mma.m16n8k8.f32.bf16.bf16.f32"),
    ("cdna3", "mfma.32x32x8.f32.f16.f16.f32"),
    ("cdna2", "mfma.32x32x8.f32.f16.f16.f32"),
    ("hopper", "mma.m8n8k4.f64.f64.f64.f64"),
    ("hopper", "fma.m1n1k1.f32.f32.f32.f32"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn no_error_of_a_schedule_is_above_its_bound(
        which in 0..INSTRUCTIONS.len(), choice in any::<u64>(), seed in any::<u32>(), k in 1..150usize, exponents in 0..12u64
    ) {
        let (model, instruction) = INSTRUCTIONS[which];
        let model = Model::load(model).unwrap();
        let schedule = any_schedule(instruction, choice);
        prop_assume!(schedule.check().is_ok());
        let mut factors = factors(&schedule, ProductShape { m: 3, n: 3, k }, seed.into(), exponents);
        if choice >> 60 & 1 == 1 {
            factors.c = Some(drawn(3, 3, schedule.output.format, 77, 4));
        }
        if choice >> 61 & 1 == 1 {
            factors.bias = Some(drawn(1, 3, schedule.output.format, 78, 4));
        }
        for (running, every) in ratios(&model, &schedule, &factors) {
            prop_assert!(running <= 1.0, "{schedule:?} {running}");
            prop_assert!(every.is_none_or(|every| every <= 1.0), "{schedule:?} {every:?}");
        }
    }
}

/// Finite codes with exponents of a range, which may be the smallest or the largest.
fn any_codes(rows: usize, columns: usize, format: &'static Format, seed: u64, low: u64, width: u64) -> Matrix {
    let last = format.float().map_or(0, |float| float.trailing_bits);
    let exponents = (format.largest(false) >> last) + 1;
    let code = |at: usize| {
        let bits = random(seed, at as u64);
        let exponent = (low % exponents + (bits >> 32) % (width % 8 + 1)).min(exponents - 1);
        let magnitude = (exponent << last | bits & ((1 << last) - 1)).min(format.largest(false));
        magnitude | (bits >> 63) << (format.bits - 1)
    };
    Matrix::of_values(rows, columns, format, &(0..rows * columns).map(code).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_product_of_any_numbers_is_right_under_its_own_claim(
        which in 0..INSTRUCTIONS.len(), choice in any::<u64>(), seed in any::<u64>(), k in 1..150usize,
        (low_a, width_a) in (any::<u64>(), any::<u64>()), (low_b, width_b) in (any::<u64>(), any::<u64>())
    ) {
        let (model, instruction) = INSTRUCTIONS[which];
        let schedule = any_schedule(instruction, choice);
        prop_assume!(schedule.check().is_ok());
        let i = &schedule.instruction;
        let a = any_codes(3, k, i.a, seed, low_a, width_a);
        let b = any_codes(k, 3, i.b, seed ^ 1, low_b, width_b);
        let mut factors = Factors::new(a, b);
        if choice >> 60 & 3 == 1 {
            factors.c = Some(drawn(3, 3, schedule.output.format, 77, 4));
        }
        let claim = Claim::of_schedule(Model::load(model).unwrap(), schedule);
        let d = product(&claim.model, &claim.schedules[0], &factors);
        let check = checked(&claim, &factors, &d);
        prop_assert!(check.holds(), "{:?} {check:?}", claim.schedules[0]);
    }
}

#[test]
fn scales_of_blocks_are_within_the_bounds() {
    let hopper = Model::load("hopper").unwrap();
    for multiply in [ScaleUse::Fused, ScaleUse::Rounded] {
        let mut schedule = schedule("wgmma.m64n8k32.f32.e4m3.e4m3");
        schedule.promote = Some(128);
        schedule.scales = Some(ScaleBlocks { a: [1, 128], b: [128, 128], multiply });
        let factors = factors(&schedule, ProductShape { m: 3, n: 3, k: 500 }, 9, 3);
        assert!(ratios(&hopper, &schedule, &factors).iter().all(|(running, _)| *running <= 1.0));
    }
    let blackwell = Model::load("blackwell").unwrap();
    let schedule = schedule("tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue4m3.block16");
    let factors = factors(&schedule, ProductShape { m: 4, n: 4, k: 256 }, 3, 1);
    assert!(ratios(&blackwell, &schedule, &factors).iter().all(|(running, _)| *running <= 1.0));
}

#[test]
fn a_product_with_block_scales_is_judged_by_the_instructions_that_have_these_scales() {
    let blackwell = Model::load("blackwell").unwrap();
    let schedule = schedule("tcgen05.m128n16k64.f32.e2m1.e2m1.f32.ue4m3.block16");
    let factors = factors(&schedule, ProductShape { m: 4, n: 4, k: 256 }, 3, 1);
    let d = product(&blackwell, &schedule, &factors);
    let single = schedule.output.format;
    let (claim, factors) = Claim::of_product(blackwell, Origin::Generation, factors, single, &mut Vec::new()).unwrap();
    assert!(claim.schedules.iter().all(|other| other.instruction.scale == schedule.instruction.scale));
    assert!(checked(&claim, &factors, &d).holds());
    let zeros = Matrix::of_values(4, 4, single, &[0; 16]);
    assert!(!checked(&claim, &factors, &zeros).holds());
}

fn checked(claim: &Claim, factors: &Factors, d: &Matrix) -> ProductCheck {
    check(&CheckRequest { claim, factors, d, sample: 100, criteria: &[] }, &|_| ()).unwrap()
}

fn formats(d: &str) -> [&'static Format; 3] {
    ["f16", "f16", d].map(|name| format::find(name).unwrap())
}

#[test]
fn a_right_product_holds_and_has_the_bits_of_its_schedule() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    let factors = factors(&schedule, ProductShape { m: 20, n: 20, k: 300 }, 5, 3);
    let d = product(&hopper, &schedule, &factors);
    let check = checked(&Claim::of_schedule(hopper.clone(), schedule), &factors, &d);
    assert!(check.holds() && check.sample.equal_bits == Some(100), "{check:?}");
    assert!(check.tightest > 0.0 && check.tightest <= 1.0);
    let family = checked(&Claim::of_generation(hopper, formats("f32"), None).unwrap(), &factors, &d);
    assert!(family.holds() && family.sample.equal_bits.is_none());
    assert!(family.largest_bound >= check.largest_bound);
}

#[test]
fn each_element_outside_is_found_wherever_it_is() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    let factors = factors(&schedule, ProductShape { m: 9, n: 11, k: 70 }, 6, 2);
    let right = product(&hopper, &schedule, &factors);
    let claim = Claim::of_generation(hopper, formats("f32"), None).unwrap();
    for (row, column) in [(0, 0), (8, 10), (3, 7)] {
        let mut d = right.clone();
        d.codes.set(row * 11 + column, f32::to_bits(right.value(row, column) as f32 * 1.01 + 0.01).into());
        let check = checked(&claim, &factors, &d);
        assert_eq!((check.outside_count(), check.outside[0].row, check.outside[0].column), (1, row, column));
        d.codes.set(row * 11 + column, f32::NAN.to_bits().into());
        assert_eq!(checked(&claim, &factors, &d).outside_count(), 1);
    }
}

#[test]
fn integers_in_f16_are_exact_in_every_order() {
    let hopper = Model::load("hopper").unwrap();
    let half = format::find("f16").unwrap();
    let small = |seed: u64, rows: usize, columns: usize| {
        let code =
            |at: usize| half.encode_f64((random(seed, at as u64) % 9) as f64 - 4.0, Rounding::Rne, Overflow::Saturate);
        Matrix::of_values(rows, columns, half, &(0..rows * columns).map(|at| code(at).unwrap()).collect::<Vec<_>>())
    };
    let factors = Factors::new(small(1, 12, 256), small(2, 256, 12));
    let schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    let d = product(&hopper, &schedule, &factors);
    let check = checked(&Claim::of_generation(hopper, formats("f32"), None).unwrap(), &factors, &d);
    assert!(check.holds() && check.largest_bound == 0.0, "{check:?}");
    let mut wrong = d.clone();
    wrong.codes.set(5, u64::from((d.value(0, 5) as f32).to_bits()) + 1);
    assert!(!checked(&Claim::of_schedule(Model::load("hopper").unwrap(), schedule), &factors, &wrong).holds());
}

#[test]
fn infinities_and_nans_are_judged_by_what_the_operands_make() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    let mut factors = factors(&schedule, ProductShape { m: 4, n: 4, k: 32 }, 8, 2);
    factors.a.codes.set(32 + 3, 0x7c00);
    factors.a.codes.set(2 * 32, 0x7e00);
    let d = product(&hopper, &schedule, &factors);
    let claim = Claim::of_generation(hopper, formats("f32"), None).unwrap();
    assert!(checked(&claim, &factors, &d).holds());
    let mut finite = d.clone();
    finite.codes.set(4, 0);
    finite.codes.set(8, 0);
    assert_eq!(checked(&claim, &factors, &finite).outside_count(), 2);
}

#[test]
fn the_power_of_a_tolerance_tells_which_faults_pass() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    let factors = factors(&schedule, ProductShape { m: 20, n: 20, k: 256 }, 5, 3);
    let d = product(&hopper, &schedule, &factors);
    let claim = Claim::of_schedule(hopper, schedule);
    let request = CheckRequest { claim: &claim, factors: &factors, d: &d, sample: 100, criteria: &[] };
    let check = check(&request, &|_| ()).unwrap();
    let mut tests = Test::of_bounds(&check.sample);
    tests.push(Test::written(&Criterion::parse("1e6,0").unwrap()));
    let results = power(&[CheckedProduct { request, check }], &tests).unwrap().trials;
    assert!(results.iter().filter(|result| result.test == "1e6,0").all(|result| !result.is_found()));
    let bound: Vec<&str> = results
        .iter()
        .filter(|result| result.test == "bound" && result.is_found())
        .map(|result| result.fault.name())
        .collect();
    assert_eq!(bound, ["zeros", "sign", "last-tile", "last-step", "f16-sums", "lost-part", "wrong-row"]);
}

#[test]
fn a_matrix_of_bounds_has_the_bounds_that_judge_the_elements() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    let factors = factors(&schedule, ProductShape { m: 5, n: 7, k: 90 }, 41, 3);
    let claim = Claim::of_schedule(hopper, schedule.clone());
    let every = bounds_matrix(&claim, &factors, &|_| ()).unwrap();
    let running = running_matrix(&claim, &schedule, &factors, &|_| ()).unwrap();
    let largest = checked(&claim, &factors, &product(&claim.model, &schedule, &factors)).largest_bound;
    assert_eq!(every.values().into_iter().fold(0.0, f64::max), largest);
    let elements = ElementBounds::new(&claim.model, &schedule, &factors).unwrap();
    for (row, column) in (0..5).flat_map(|row| (0..7).map(move |column| (row, column))) {
        assert_eq!(running.value(row, column), elements.of(row, column).unwrap().worst());
        assert!(running.value(row, column) <= every.value(row, column));
    }
}

/// Matrices of these values.
fn matrix(format: &str, rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Matrix {
    let format = format::find(format).unwrap();
    let code = |at: usize| {
        format.encode_f64(value(at / columns, at % columns), Rounding::Rne, Overflow::Infinity).unwrap_or_default()
    };
    Matrix::of_values(rows, columns, format, &(0..rows * columns).map(code).collect::<Vec<_>>())
}

#[test]
fn the_rounding_of_beta_to_the_register_is_part_of_the_bound() {
    let hopper = Model::load("hopper").unwrap();
    let mut schedule = schedule("wgmma.m64n8k16.f32.f16.f16");
    for beta in [0.1, 1e-4, 0.3, 1.00000005] {
        schedule.beta = beta;
        let c =
            matrix("f32", 30, 30, |row, column| (random(7, (30 * row + column) as u64) % 100_003) as f64 / 33_000.0);
        let factors = Factors { c: Some(c), ..factors(&schedule, ProductShape { m: 30, n: 30, k: 16 }, 61, 3) };
        let small = Factors { a: matrix("f16", 30, 16, |row, k| factors.a.value(row, k) / 1024.0), ..factors.clone() };
        let check = checked(
            &Claim::of_schedule(hopper.clone(), schedule.clone()),
            &small,
            &product(&hopper, &schedule, &small),
        );
        assert!(check.holds(), "{beta}: {:?}", check.outside);
    }
}

#[test]
fn a_tolerance_of_f64_covers_the_errors_of_a_product_in_f64() {
    let hopper = Model::load("hopper").unwrap();
    let mut schedule = schedule("mma.m8n8k4.f64.f64.f64.f64");
    schedule.alpha = 1.1;
    for seed in 0..20 {
        let factors = factors(&schedule, ProductShape { m: 8, n: 8, k: 12 }, seed, 3);
        let d = product(&hopper, &schedule, &factors);
        let check = checked(&Claim::of_schedule(hopper.clone(), schedule.clone()), &factors, &d);
        let tolerance = check.tolerance.unwrap();
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            let sum: f64 = (0..12).map(|k| factors.a.value(row, k) * factors.b.value(k, column)).sum();
            let reference = 1.1 * sum;
            let error = (d.value(row, column) - reference).abs();
            assert!(error <= tolerance.atol + tolerance.rtol * reference.abs());
        }
    }
}

#[test]
fn a_rounding_of_d_is_bounded_by_its_exact_value_where_one_schedule_is_claimed() {
    let hopper = Model::load("hopper").unwrap();
    let mut schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    schedule.output.format = format::find("f16").unwrap();
    let factors = factors(&schedule, ProductShape { m: 12, n: 12, k: 1024 }, 71, 3);
    let d = product(&hopper, &schedule, &factors);
    let bounds = bounds_matrix(&Claim::of_schedule(hopper, schedule), &factors, &|_| ()).unwrap();
    for (row, column) in (0..12).flat_map(|row| (0..12).map(move |column| (row, column))) {
        let magnitudes: f64 = (0..1024).map(|k| (factors.a.value(row, k) * factors.b.value(k, column)).abs()).sum();
        let unit = 2f64.powi(-10) * d.value(row, column).abs();
        assert!(bounds.value(row, column) <= unit + 1e-4 * magnitudes);
    }
}
