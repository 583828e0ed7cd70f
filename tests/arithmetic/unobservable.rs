//! A change of which it is proved that no operands can show it is shown by none: of arithmetics of no hardware, and of the
//! shipped models.

use std::collections::BTreeSet;

use crate::{
    arithmetics::{arithmetics, cases},
    machine::{amount, thorough},
    programs::{ShippedProgram, distinct},
};
use proptest::{collection::vec, prelude::*};
use rayon::prelude::*;
use tcnum::{
    arithmetic::{Evaluator, KeyValue, Model},
    inputs::{Corners, stream},
    isa::{self, Case, Instruction, Tiles},
};
use tcnum_engine::rule::{Change, Changed, changes, unobservable};

/// The changes of the rule for an instruction that are proved to be unobservable, with the rule as it is then.
fn proved(model: &Model, i: &Instruction) -> Vec<(Change, String, Evaluator)> {
    let rule = Changed::of(model, i).unwrap();
    let with_proof = |change: Change| {
        let changed = rule.model(Some(&change))?;
        let reason = unobservable(model, &changed, i, &change)?;
        Some((change, reason, changed.evaluator(i).ok()?))
    };
    changes(&rule.rule, i).into_iter().filter_map(with_proof).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(amount(20, 250)))]

    #[test]
    fn no_operands_of_any_arithmetic_show_what_is_proved_unobservable(
        (arithmetic, cases) in arithmetics().prop_flat_map(|a| { let i = a.instruction; (Just(a), vec(cases(i), 1..40)) })
    ) {
        let i = arithmetic.instruction;
        let model = Model::parse(&arithmetic.text, "random.toml").unwrap();
        let evaluator = arithmetic.evaluator();
        let expected: Vec<u64> = cases.iter().map(|case| evaluator.dot(case)).collect();
        for (change, reason, changed) in proved(&model, i) {
            let answers: Vec<u64> = cases.iter().map(|case| changed.dot(case)).collect();
            prop_assert_eq!(&answers, &expected, "{:?}: {}", change, reason);
        }
    }
}

/// A product at its limit is infinite, saturates to the largest number of f64, and eight of them overflow.
#[test]
fn the_overflow_of_a_sum_is_observable_where_its_products_saturate() {
    let rule = |overflow: &str| {
        format!(
            "name = 'limited'\ntitle = 'products that saturate'\nversion = 1\n[[rule]]\ninstructions = ['{F16}']\n\
             evidence = [{{ assumed = 'a test' }}]\nnan = '0x7e00'\nstep = 'sequential'\nproduct-limit = -16\n\
             product = {{ format = 'f64', rounding = 'RD', overflow = 'saturate' }}\n\
             result = {{ format = 'f64', rounding = 'RD', overflow = '{overflow}' }}\noutput = {{ rounding = 'RNE', overflow = 'nan' }}\n"
        )
    };
    let i = isa::find(F16).unwrap();
    let [standard, finite] =
        ["standard", "saturate-finite"].map(|overflow| Model::parse(&rule(overflow), "limited.toml").unwrap());
    let (to, key) = (Some(KeyValue::Word("saturate-finite")), "result.overflow".to_string());
    let change = Change { key, from: Some(KeyValue::Word("standard")), to, ranged: false };
    assert_eq!(unobservable(&standard, &finite, &i, &change), None);
}

/// A result in a format of its own between the sum and D: its NaN has the leading bits of the payload of D, and D shows them.
#[test]
fn a_change_of_who_makes_a_nan_is_observable_behind_a_rounding_that_passes_payloads_on() {
    let rule = |specials: &str| {
        format!(
            "name = 'narrow'\ntitle = 'a narrow result'\nversion = 1\n[[rule]]\ninstructions = ['{NARROW}']\n\
             evidence = [{{ assumed = 'a test' }}]\nstep = 'exact'\nnan = '0xffe5bb0d'\n\
             result = {{ format = 'f16', rounding = 'RNE' }}\nnan-operands = ['a', 'c']\nspecials = '{specials}'\n"
        )
    };
    let i = isa::find(NARROW).unwrap();
    let [steps, operands] = ["steps", "operands"].map(|specials| Model::parse(&rule(specials), "narrow.toml").unwrap());
    let mut case = Case {
        a: vec![0x40; i.k],
        b: vec![0x40; i.k],
        c: 0,
        positions: Vec::new(),
        scale_a: Vec::new(),
        scale_b: Vec::new(),
    };
    case.b[3] = 0x80; // NaN
    let d = [&steps, &operands].map(|model| model.evaluator(&i).unwrap().dot(&case));
    assert_eq!(d, [0xffe5_a000, 0xffe5_bb0d]);
    let change = Change { key: "specials".into(), from: None, to: Some(KeyValue::Word("operands")), ranged: false };
    assert_eq!(unobservable(&steps, &operands, &i, &change), None);
}

const F16: &str = "mma.m16n8k16.f16.f16.f16.f16";
const NARROW: &str = "mfma.32x32x16.f32.e4m3fnuz.e4m3fnuz.f32";

/// One program for each rule and combination of formats.
fn programs() -> Vec<ShippedProgram> {
    let key = |program: &ShippedProgram| {
        let ShippedProgram { model, instruction: i, evaluator } = program;
        let formats = [i.a, i.b, i.c, i.d].map(|format| format.name);
        format!("{} {formats:?} {:?}", evaluator.program(), changes(&Changed::of(model, i).unwrap().rule, i))
    };
    distinct(key)
}

#[test]
fn the_corners_and_the_stream_show_nothing_that_is_proved_unobservable() {
    let keys = programs().into_par_iter().step_by(amount(200, 3)).flat_map_iter(|program| {
        let ShippedProgram { model, instruction: i, evaluator } = &program;
        let tiles: [Tiles; 2] = [Corners::of(i).tiles, stream::tiles(i, 1, 0, (1 << 10) / (i.m * i.n) + 1)];
        let expected = tiles.each_ref().map(|tiles| evaluator.execute(tiles));
        let unseen = |(change, reason, changed): (Change, String, Evaluator)| {
            let outputs = tiles.each_ref().map(|tiles| changed.execute(tiles));
            assert_eq!(outputs, expected, "{}: {change:?}: {reason}", program.name());
            change.key
        };
        proved(model, i).into_iter().map(unseen).collect::<Vec<String>>()
    });
    let kinds: BTreeSet<String> = keys.collect();
    if !thorough() {
        assert!(!kinds.is_empty());
        return;
    }
    // Each of these has a proof for some rule, so that the test tries to refute one.
    for key in ["unpack", "unpack-c", "group", "parts", "zero", "between", "alignment.floor", "result-subnormals"]
        .into_iter()
        .chain([
            "result.format",
            "result.overflow",
            "addition",
            "addition.format",
            "addition.overflow",
            "output.overflow",
        ])
    {
        assert!(kinds.contains(key), "no change of {key} is proved unobservable: {kinds:?}");
    }
}
