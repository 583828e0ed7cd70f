//! The fast evaluator agrees with the reference evaluator in every bit.

use proptest::{collection::vec, prelude::*};
use rayon::prelude::*;
use tcnum::{
    arithmetic::{Evaluator, Model},
    format::{Format, find},
    inputs,
    isa::{self, Case, Instruction, Tiles},
};

use crate::{
    arithmetics::{Arithmetic, arithmetics, cases},
    machine::amount,
    programs::{ShippedProgram, distinct},
};

/// The first element of D where the two evaluators differ, in words.
fn difference(evaluator: &Evaluator, i: &Instruction, tiles: &Tiles) -> Option<String> {
    let fast = evaluator.execute(tiles);
    (0..tiles.count * i.m * i.n).find_map(|at| {
        let case = tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
        let (reference, fast) = (evaluator.dot(&case), fast.get(at));
        let show = |format: &Format, codes: &[u64]| -> Vec<String> {
            codes.iter().map(|code| format!("{code:#x} = {}", format.to_f64(*code))).collect()
        };
        (fast != reference).then(|| {
            format!(
                "{i} element {at}: fast {:?}, reference {:?}\na {:?}\nb {:?}\nc {:?}\n{case:x?}",
                show(i.d, &[fast]),
                show(i.d, &[reference]),
                show(i.a, &case.a),
                show(i.b, &case.b),
                show(i.c, &[case.c])
            )
        })
    })
}

#[test]
fn every_rule_of_the_shipped_models_agrees_on_corners_and_random_tiles() {
    distinct(ShippedProgram::described).par_iter().step_by(amount(97, 1)).for_each(|program| {
        let i = program.instruction;
        let mut tiles = Tiles::zeros(i, 1);
        if i.kernel.is_some() {
            tiles.extend(&inputs::record_batch(i, 1, inputs::record_tiles(i).min(100)));
        }
        if (4..=128).contains(&i.stored_k()) {
            tiles.extend(&inputs::stream::tiles(i, 1, 0, (2_000 / (i.m * i.n)).max(2)));
        }
        if let Some(difference) = difference(&program.evaluator, i, &tiles) {
            panic!("{}: {difference}", program.name());
        }
    });
}

/// A tile whose diagonal holds `cases`.
fn diagonal(i: &Instruction, cases: &[Case]) -> Tiles {
    let mut tiles = Tiles::zeros(i, cases.len().div_ceil(i.m.min(i.n)));
    for (at, case) in cases.iter().enumerate() {
        let diagonal = i.m.min(i.n);
        tiles.place(i, at / diagonal, at % diagonal, at % diagonal, case);
    }
    tiles
}

fn arithmetics_with_operands() -> impl Strategy<Value = (Arithmetic, Vec<Case>, u64)> {
    arithmetics().prop_flat_map(|arithmetic| {
        let cases = vec(cases(arithmetic.instruction), arithmetic.instruction.m.min(arithmetic.instruction.n));
        (Just(arithmetic), cases, any::<u64>())
    })
}

/// Counterexamples of the random test below: a small product that is rounded up reaches a limit among the subnormal numbers, and
/// an infinity that is rounded to the largest number is beyond any.
#[test]
fn products_that_rounding_takes_to_a_limit_are_infinite() {
    let i = &isa::find("mma.m16n8k16.f32.bf16.bf16.f32").unwrap();
    let tiles = inputs::stream::tiles(i, 1, 0, amount(3, 5));
    for name in ["e5m2", "e4m3", "f16"] {
        let emin = find(name).unwrap().float().unwrap().emin();
        let limits = (emin - 11..emin + 4).chain([0, 8]);
        for (limit, rounding) in limits.flat_map(|limit| ["RNE", "RU", "RD", "RO"].map(|rounding| (limit, rounding))) {
            let text = format!(
                "name = 'limit'\ntitle = 'a limit'\nversion = 1\n[[rule]]\ninstructions = ['{i}']\nevidence = [{{ assumed = 'a test' }}]\n\
                 step = 'fused'\njoin = 'chain'\nnan = '0x7fffffff'\nresult = {{ format = 'f32', rounding = 'RZ' }}\n\
                 alignment = {{ bits = 24, rounding = 'RZ' }}\nproduct = {{ format = '{name}', rounding = '{rounding}', overflow = 'saturate' }}\n\
                 product-limit = {limit}\n"
            );
            let model = Model::parse(&text, "limit.toml").unwrap_or_else(|error| panic!("{error}"));
            let difference = difference(&model.evaluator(i).unwrap(), i, &tiles);
            assert!(difference.is_none(), "{name} {rounding} {limit}: {}", difference.unwrap_or_default());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: amount(60, 500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_arithmetics_agree_on_random_tiles((arithmetic, cases, seed) in arithmetics_with_operands()) {
        let i = arithmetic.instruction;
        let evaluator = arithmetic.evaluator();
        let mut tiles = diagonal(i, &cases);
        if (4..=128).contains(&i.stored_k()) {
            tiles.extend(&inputs::stream::tiles(i, seed, 0, 2));
        }
        let difference = difference(&evaluator, i, &tiles);
        prop_assert!(difference.is_none(), "{}", difference.unwrap_or_default());
    }
}
