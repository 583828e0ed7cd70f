//! Operands and sums at the ends of their formats: subnormal numbers, overflow, infinities.

use super::*;

/// Subnormal numbers times large ones, which count with large exponents, so that alignments cut much.
fn with_loose_exponents(k: usize) -> Factors {
    let rare = |k: usize| k.is_multiple_of(16);
    let a = matrix("f16", 2, k, |_, k| if rare(k) { 2f64.powi(-24) } else { 1.9990234375 * 2f64.powi(-13) });
    let b = matrix("f16", k, 2, |k, _| if rare(k) { 2f64.powi(15) } else { 0.999 * 2f64.powi(-12) });
    Factors::new(a, b)
}

/// Products near the smallest number of f32, in every chain.
fn near_the_smallest(k: usize) -> Factors {
    let a = matrix("bf16", 2, k, |_, k| if k.is_multiple_of(16) { 1.9921875 * 2f64.powi(-70) } else { 0.0 });
    let b = matrix("bf16", k, 2, |k, _| if k.is_multiple_of(16) { 2f64.powi(-80) } else { 0.0 });
    Factors::new(a, b)
}

#[test]
fn a_bound_of_every_order_covers_losses_that_each_chain_has_anew() {
    let cases = [
        ("mma.m16n8k16.f32.f16.f16.f32", with_loose_exponents(4096)),
        ("mma.m16n8k16.f32.bf16.bf16.f32", near_the_smallest(1024)),
    ];
    for (instruction, factors) in cases {
        let (mut promoted, mut split) = (schedule(instruction), schedule(instruction));
        promoted.promote = Some(16);
        split.split = SplitK { count: 64, granule: 16, ..split.split };
        for schedule in [promoted, split, schedule(instruction)] {
            let claim = Claim::of_schedule(Model::load("hopper").unwrap(), schedule.clone());
            let check = checked(&claim, &factors, &product(&claim.model, &schedule, &factors));
            assert!(check.holds(), "{schedule:?}: {:?}", check.outside);
        }
    }
}

#[test]
fn sums_toward_zero_are_off_by_twice_their_magnitudes_at_most() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("wgmma.m64n8k32.f32.e4m3.e4m3");
    for k in [32, 4096, 1 << 16] {
        let bound = OrderFreeBounds::new(&hopper, &schedule, k).unwrap().of(&Magnitudes::of_sum(1.0)).worst();
        assert!(bound <= 2.0 * 1.001, "{k}: {bound}");
    }
}

#[test]
fn no_element_is_within_for_what_its_parts_may_do() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    let factors = factors(&schedule, ProductShape { m: 6, n: 6, k: 1024 }, 51, 3);
    for d in ["e4m3", "f16"] {
        let claim = Claim::of_generation(hopper.clone(), formats(d), None).unwrap();
        let format = format::find(d).unwrap();
        let largest = format.to_f64(format.largest(false));
        // The sum of all magnitudes leaves e4m3, the exact values do not.
        let small = Schedule { output: OutputRounding { format, ..schedule.output }, ..schedule.clone() };
        let quarter = Factors::new(matrix("f16", 6, 1024, |row, k| factors.a.value(row, k) / 16.0), factors.b.clone());
        let right = product(&hopper, &small, &quarter);
        assert!(checked(&claim, &quarter, &right).holds(), "{d}");
        for wrong in [f64::NAN, largest, -largest] {
            let wrong = matrix(d, 6, 6, |_, _| wrong);
            assert_eq!(checked(&claim, &quarter, &wrong).outside_count(), 36, "{d}");
        }
    }
}

#[test]
fn an_overflow_is_right_where_the_exact_value_leaves_the_format() {
    let hopper = Model::load("hopper").unwrap();
    let mut schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    schedule.output.format = format::find("f16").unwrap();
    let factors =
        Factors::new(matrix("f16", 2, 64, |_, _| 100.0), matrix("f16", 64, 2, |_, column| [100.0, 1.0][column]));
    let d = product(&hopper, &schedule, &factors);
    assert!(d.value(0, 0).is_infinite() && d.value(0, 1).is_finite());
    let of = |claim: &Claim, d: &Matrix| {
        let check = checked(claim, &factors, d);
        (check.within, check.overflowed, check.outside_count())
    };
    for claim in [
        Claim::of_generation(hopper.clone(), formats("f16"), None).unwrap(),
        Claim::of_schedule(hopper.clone(), schedule.clone()),
    ] {
        assert_eq!(of(&claim, &d), (4, 2, 0));
        let mut wrong = d.clone();
        wrong.codes.set(0, 0xfc00);
        assert_eq!(of(&claim, &wrong), (3, 1, 1));
        wrong.codes.set(1, 0x7c00);
        assert_eq!(of(&claim, &wrong), (2, 1, 2));
    }
}

#[test]
fn an_infinity_of_the_claimed_order_is_right_where_the_exact_value_is_small() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("mma.m16n8k16.f16.f16.f16.f16");
    // The first half overflows in f16, and the second would bring the sum back.
    let factors =
        Factors::new(matrix("f16", 2, 64, |_, k| if k < 32 { 60.0 } else { -60.0 }), matrix("f16", 64, 2, |_, _| 60.0));
    let claim = Claim::of_schedule(hopper, schedule.clone());
    let d = product(&claim.model, &schedule, &factors);
    assert!(!d.value(0, 0).is_finite());
    assert!(checked(&claim, &factors, &d).holds());
    let mut wrong = d.clone();
    wrong.codes.set(0, 0xfc00);
    assert_eq!(checked(&claim, &factors, &wrong).outside_count(), 1);
}

#[test]
fn sums_of_integers_that_wrap_have_one_result() {
    let hopper = Model::load("hopper").unwrap();
    let schedule = schedule("wgmma.m64n8k32.s32.s8.s8");
    let k = 140_000;
    let factors = Factors::new(matrix("s8", 1, k, |_, _| -128.0), matrix("s8", k, 1, |_, _| -128.0));
    let integers = ["s8", "s8", "s32"].map(|name| format::find(name).unwrap());
    let family = Claim::of_generation(hopper.clone(), integers, None).unwrap();
    let claim = Claim::of_schedule(hopper, schedule.clone());
    let d = product(&claim.model, &schedule, &factors);
    let zero = Matrix::of_values(1, 1, d.format, &[0]);
    assert!(checked(&claim, &factors, &d).holds() && checked(&family, &factors, &d).holds());
    assert_eq!(checked(&claim, &factors, &zero).outside_count(), 1);
    // Some instructions of the family saturate in every step, so that orders differ.
    assert_eq!(checked(&family, &factors, &zero).undecided, 1);
}

#[test]
fn infinities_follow_the_signs_of_alpha_and_beta() {
    let hopper = Model::load("hopper").unwrap();
    let mut schedule = schedule("mma.m16n8k16.f32.f16.f16.f32");
    let special = |row: usize, place: usize, at: usize, value: f64| if (row, place) == (0, at) { value } else { 1.0 };
    let a = matrix("f16", 2, 16, |row, k| special(row, k, 3, f64::INFINITY));
    let plain = matrix("f16", 2, 16, |_, _| 1.0);
    let b = matrix("f16", 16, 2, |_, _| 1.0);
    let c = matrix("f32", 2, 2, |row, column| special(row, column, 1, f64::NEG_INFINITY));
    for (alpha, beta) in [(-1.0, 0.0), (0.0, 0.0), (1.0, -1.0), (-2.0, 0.0), (0.0, 2.0), (2.0, -3.0), (0.0, -1.0)] {
        (schedule.alpha, schedule.beta) = (alpha, beta);
        for a in [&a, &plain] {
            let factors = Factors { c: Some(c.clone()), ..Factors::new(a.clone(), b.clone()) };
            let claim = Claim::of_schedule(hopper.clone(), schedule.clone());
            let check = checked(&claim, &factors, &product(&hopper, &schedule, &factors));
            assert!(check.holds(), "alpha {alpha}, beta {beta}: {:?}", check.outside);
        }
    }
}
