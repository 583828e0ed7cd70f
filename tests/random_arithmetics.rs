//! Random arithmetics, most of them of no hardware: the reference evaluator computes them all.

mod arithmetics;

use std::collections::BTreeSet;

use arithmetics::{arithmetics, cases};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use tcnum::isa::{Codes, Tiles};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_arithmetic_evaluates_and_is_explained_with_the_same_result(
        (arithmetic, case) in arithmetics().prop_flat_map(|a| { let i = a.instruction; (Just(a), cases(i)) })
    ) {
        let i = arithmetic.instruction;
        let evaluator = arithmetic.evaluator();
        let d = evaluator.dot(&case);
        prop_assert!(d <= i.d.code_mask());
        prop_assert_eq!(evaluator.explain(&case).d, d);
        let mut tiles = Tiles::zeros(i, 1);
        tiles.place(i, 0, i.m - 1, i.n - 1, &case);
        let codes: Codes = evaluator.execute(&tiles);
        prop_assert_eq!(codes.get(i.m * i.n - 1), d);
    }
}

/// What the property tests rest on: no key is missing from what is drawn.
#[test]
fn every_key_and_step_is_drawn() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..3000 {
        let text = arithmetics().new_tree(&mut runner).unwrap().current().text;
        let rule = text.parse::<toml::Table>().unwrap()["rule"][0].clone();
        seen.extend(rule.as_table().unwrap().iter().map(|(key, value)| match key.as_str() {
            "step" => format!("step {value}"),
            key => key.to_string(),
        }));
    }
    let expected = [
        "addition",
        "alignment",
        "between",
        "c",
        "evidence",
        "group",
        "instructions",
        "join",
        "lanes",
        "late",
        "nan",
        "nan-operands",
        "normalised",
        "operand-subnormals",
        "output",
        "parts",
        "product",
        "product-limit",
        "result",
        "result-subnormals",
        "scale-sums",
        "start",
        "step \"exact\"",
        "step \"fma\"",
        "step \"fused\"",
        "step \"integer\"",
        "step \"pairwise\"",
        "step \"sequential\"",
        "unpack",
        "unpack-c",
        "wrap",
        "zero",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
