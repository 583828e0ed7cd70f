//! Random arithmetics, most of them of no hardware: the reference evaluator computes them all.

use std::collections::BTreeSet;

use crate::{
    arithmetics::{arithmetics, cases},
    machine::amount,
};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use tcnum::{
    arithmetic::{KEYS, NODE_KEYS, NodeKind, Step},
    isa::{Codes, Tiles},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(amount(500, 1500)))]

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
fn every_key_step_and_node_is_drawn() {
    let mut runner = TestRunner::deterministic();
    let (mut keys, mut steps, mut nodes, mut kinds) = <(BTreeSet<_>, BTreeSet<_>, BTreeSet<_>, BTreeSet<_>)>::default();
    for _ in 0..3000 {
        let text = arithmetics().new_tree(&mut runner).unwrap().current().text;
        let rule = text.parse::<toml::Table>().unwrap()["rule"][0].clone();
        let rule = rule.as_table().unwrap();
        keys.extend(rule.keys().cloned());
        steps.insert(rule.get("step").map_or("tree".into(), |step| step.as_str().unwrap().to_string()));
        for node in rule.get("node").into_iter().flat_map(|nodes| nodes.as_table().unwrap().values()) {
            let node = node.as_table().unwrap();
            nodes.extend(node.keys().cloned());
            kinds.insert(node["kind"].as_str().unwrap().to_string());
        }
    }
    let same = |drawn: &BTreeSet<String>, names: Vec<&str>| {
        assert_eq!(*drawn, names.into_iter().map(String::from).collect::<BTreeSet<_>>());
    };
    same(&keys, KEYS.iter().map(|key| key.name).collect());
    same(&steps, Step::ALL.iter().map(|step| step.name()).collect());
    same(&nodes, NODE_KEYS.iter().map(|key| key.name).collect());
    same(&kinds, NodeKind::ALL.iter().map(|kind| kind.name()).collect());
}
