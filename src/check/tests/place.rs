//! The k at which faults lie.

use super::*;

/// D of the model of Hopper, of operands after a change, against the operands before it.
fn faulty(
    shape: (usize, usize, usize),
    seed: u64,
    change: impl Fn(&Factors) -> Factors,
) -> (ProductCheck, Claim, Factors) {
    let hopper = Model::load("hopper").unwrap();
    let own = schedule("wgmma.m64n8k16.f32.f16.f16");
    let factors = factors(&own, shape, seed, 3);
    let d = product(&hopper, &own, &change(&factors));
    let claim = Claim::of_generation(hopper, formats("f32"), None).unwrap();
    (checked(&claim, &factors, &d), claim, factors)
}

/// A without the numbers of these k.
fn without(factors: &Factors, k: std::ops::Range<usize>) -> Factors {
    let mut changed = factors.clone();
    for row in 0..factors.a.rows {
        k.clone().for_each(|k| changed.a.codes.set(row * factors.k() + k, 0));
    }
    changed
}

/// The place of a fault: cause, first k, k after the last.
fn place_of(found: &ProductCheck) -> Option<(FaultCause, usize, usize)> {
    found.place.as_ref().map(|place| (place.cause, place.k.start, place.k.end))
}

#[test]
fn the_k_that_are_missing_are_named() {
    for (k, missing) in
        [(300, 263..300), (512, 448..512), (512, 100..116), (512, 0..512), (1000, 992..1000), (2000, 1937..2000)]
    {
        let (found, ..) = faulty((20, 24, k), 31, |own| without(own, missing.clone()));
        assert_eq!(place_of(&found), Some((FaultCause::LeftOut, missing.start, missing.end)), "{:?}", found.place);
    }
}

#[test]
fn the_k_that_are_counted_twice_are_named() {
    let twice = |own: &Factors| {
        let k: Vec<usize> = (0..256).chain(64..96).collect();
        let all = |count: usize| (0..count).collect::<Vec<_>>();
        Factors::new(own.a.chosen(&all(own.a.rows), &k), own.b.chosen(&k, &all(own.b.columns)))
    };
    let (found, ..) = faulty((20, 20, 256), 33, twice);
    assert_eq!(place_of(&found), Some((FaultCause::CountedTwice, 64, 96)));
}

#[test]
fn a_wrong_element_of_a_or_b_is_named() {
    let (found, ..) = faulty((20, 24, 300), 34, |own| {
        let mut changed = own.clone();
        changed.a.codes.set(7 * 300 + 211, 0x5400);
        changed
    });
    assert_eq!(found.rows.iter().copied().collect::<Vec<_>>(), [7]);
    assert_eq!(place_of(&found), Some((FaultCause::ElementOfA, 211, 212)));
    let (found, ..) = faulty((20, 24, 300), 35, |own| {
        let mut changed = own.clone();
        changed.b.codes.set(211 * 24 + 5, 0xd400);
        changed
    });
    assert_eq!(place_of(&found), Some((FaultCause::ElementOfB, 211, 212)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn errors_without_a_place_along_k_have_none(seed in any::<u64>(), count in 1usize..400) {
        let (right, claim, factors) = faulty((20, 20, 256), seed, Clone::clone);
        prop_assert!(right.holds() && right.place.is_none());
        let mut d = product(&claim.model, &claim.schedules[0], &factors);
        for at in 0..count {
            let place = (random(seed, at as u64) % 400) as usize;
            let off = (random(seed, 1000 + at as u64) % 2000) as f32 / 10.0 - 100.0;
            d.codes.set(place, f32::to_bits(d.value(place / 20, place % 20) as f32 + off).into());
        }
        let found = checked(&claim, &factors, &d);
        prop_assert!(found.place.is_none(), "{:?}", found.place);
    }
}
