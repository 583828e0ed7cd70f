//! Instructions on bits: counts of ones, by both evaluators and by the exact reference.

use tcnum::{
    arithmetic::{Model, shipped},
    inputs,
    isa::{self, Case, Instruction},
};
use tcnum_engine::comparison::Subject;

use crate::machine::amount;

fn forms() -> impl Iterator<Item = &'static Instruction> {
    isa::all().iter().filter(|i| i.a.name == "b1")
}

/// The ones of the two rows of bits put together, and c.
fn counted(i: &Instruction, case: &Case) -> u64 {
    let bit = |a: u64, b: u64| if i.has_qualifier("xor") { a ^ b } else { a & b };
    let ones = case.a.iter().zip(&case.b).map(|(a, b)| bit(*a, *b) as u32).sum::<u32>();
    (case.c as u32).wrapping_add(ones).into()
}

#[test]
fn ones_are_counted_and_added_to_c() {
    let mut results = 0;
    for name in shipped() {
        let model = Model::load(name).unwrap();
        for (i, evaluator) in forms().step_by(amount(3, 1)).filter_map(|i| Some((i, model.evaluator(i).ok()?))) {
            let mut tiles = inputs::record_batch(i, 1, amount(1, 10));
            tiles.extend(&inputs::stream::tiles(i, 1, 0, amount(1, 10)));
            let d = evaluator.execute(&tiles);
            for at in 0..d.len() {
                let case = tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
                let expected = counted(i, &case);
                let results = (d.get(at), evaluator.dot(&case), Subject::Matrix(i).exact(&case));
                assert_eq!(results, (expected, expected, Some(expected)), "{name} {i} {case:x?}");
            }
            results += d.len();
        }
    }
    assert!(results > amount(300, 16_000), "{results}");
}

#[test]
fn a_sum_beyond_the_range_wraps_and_every_position_counts() {
    for i in forms() {
        let evaluator = Model::load("hopper").unwrap().evaluator(i).unwrap();
        for at in 0..i.k {
            let mut case = Case::zeros(i);
            case.c = 0x7fff_ffff;
            case.a[at] = 1;
            let alone = evaluator.dot(&case);
            case.b[at] = 1;
            let both = evaluator.dot(&case);
            let expected = if i.has_qualifier("xor") { (0x8000_0000, 0x7fff_ffff) } else { (0x7fff_ffff, 0x8000_0000) };
            assert_eq!((alone, both), expected, "{i} at {at}");
        }
    }
}

#[test]
fn forms_on_bits_are_where_the_assembler_has_them() {
    let has = |i: &Instruction, target: &str| i.support_on(target).map(|support| support.emulation.is_none());
    let mut counts = [0; 3];
    for i in forms() {
        let (xor, wgmma) = (i.has_qualifier("xor"), i.family() == "wgmma");
        counts[usize::from(xor) + 2 * usize::from(wgmma)] += 1;
        assert_eq!(has(i, "sm_90a"), Some(!xor), "{i}");
        assert_eq!(has(i, "sm_80"), (!wgmma).then_some(true), "{i}");
        assert_eq!(has(i, "sm_75"), (xor && i.m == 8).then_some(true), "{i}");
        assert_eq!(has(i, "sm_120a"), (!wgmma).then_some(false), "{i}");
        assert_eq!(has(i, "sm_70"), None, "{i}");
    }
    assert_eq!(counts, [4, 4, 2]);
}
