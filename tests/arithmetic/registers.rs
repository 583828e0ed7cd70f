//! Registers of a width by name (eXmY) in rules.

use proptest::{collection::vec, prelude::*};
use tcnum::{
    arithmetic::{KeyTable, KeyValue, Model, Place, Rule, setting},
    format::find,
    inputs, isa,
};

use crate::{
    arithmetics::{Arithmetic, arithmetics, cases},
    machine::amount,
};

/// Formats of the table, and the ones by rule with their fields.
const SAME: [(&str, &str); 4] = [("f32", "e8m23"), ("f16", "e5m10"), ("bf16", "e8m7"), ("f64", "e11m52")];

/// A rule whose targets have formats by rule instead.
fn by_rule(arithmetic: &Arithmetic) -> Arithmetic {
    let text = SAME.iter().fold(arithmetic.text.clone(), |text, (standard, rule)| {
        text.replace(&format!("format = \"{standard}\""), &format!("format = \"{rule}\""))
    });
    Arithmetic { text, ..arithmetic.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: amount(60, 600), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_register_as_wide_as_a_standard_format_gives_its_results(
        (arithmetic, cases, seed) in arithmetics().prop_flat_map(|a| { let i = a.instruction; (Just(a), vec(cases(i), 8), any::<u64>()) })
    ) {
        let other = by_rule(&arithmetic);
        // NaNs that are passed on have the rule's code in D's own format only.
        prop_assume!(other.text != arithmetic.text && !other.text.contains("nan-operands"));
        let [standard, rule] = [&arithmetic, &other].map(|arithmetic| arithmetic.evaluator());
        for case in &cases {
            prop_assert_eq!(standard.dot(case), rule.dot(case), "{:?} {:?}", other, case);
        }
        let i = arithmetic.instruction;
        if (4..=128).contains(&i.stored_k()) {
            let tiles = inputs::stream::tiles(i, seed, 0, 1);
            let [standard, rule] = [standard, rule].map(|evaluator| evaluator.execute(&tiles));
            prop_assert_eq!(standard.as_bytes(), rule.as_bytes(), "{:?}", other);
        }
    }
}

/// Names of the near values of `result.format`, which is `format`.
fn near(format: &str) -> Vec<String> {
    let place = Place::of(&isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap());
    let setting = setting("result.format").unwrap();
    let value = KeyValue::Format(find(format).unwrap());
    let near = setting.near_values(KeyTable::Rule(&Rule::default()), &place, Some(&value));
    near.into_iter().map(|(to, _)| to.unwrap().to_string()).collect()
}

#[test]
fn near_values_of_a_register_are_one_bit_narrower_and_wider() {
    let usual = ["f16", "bf16", "tf32", "e8m13", "f32", "f64"];
    let with = |others: &[&'static str]| [&usual[..], others].concat();
    assert_eq!(near("e8m24"), with(&["e8m23", "e8m25"]));
    assert_eq!(near("E10M23"), with(&["e10m22", "e10m24"]));
    // A name of the table keeps its format, if it holds sums.
    assert_eq!(near("e8m14"), with(&["e8m15"]));
    assert_eq!(near("e4m4"), with(&["e4m3", "e4m5"]));
    assert_eq!(near("e2m4"), with(&["e2m5"]));
    assert_eq!(near("e8m1"), with(&["e8m2"]));
    assert_eq!(near("e8m13"), ["f16", "bf16", "tf32", "f32", "f64", "e8m12", "e8m14"]);
    for name in usual.into_iter().filter(|name| *name != "e8m13") {
        assert_eq!(near(name), usual.into_iter().filter(|other| *other != name).collect::<Vec<_>>());
    }
}

#[test]
fn every_near_value_of_a_register_is_a_format_of_sums() {
    let i = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
    for (x, y) in (2..=11).flat_map(|x| [1, 2, 3, 4, 23, 51, 52].map(|y| (x, y))) {
        for name in near(&format!("e{x}m{y}")) {
            let text = format!(
                "name = 'near'\ntitle = 'a near value'\nversion = 1\n[[rule]]\ninstructions = ['{i}']\nevidence = [{{ assumed = 'a test' }}]\n\
                 step = 'sequential'\nresult = {{ format = '{name}', rounding = 'RNE' }}\nnan = '0x7fffffff'\n"
            );
            Model::parse(&text, "near.toml").unwrap_or_else(|error| panic!("{error}"));
            assert!(find(&name).unwrap().has_nan());
        }
    }
}
