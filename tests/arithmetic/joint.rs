//! A key is decided only where no rule that differs in one or two keys agrees with every output.

use std::collections::BTreeSet;

use crate::machine::amount;
use tcnum::{
    arithmetic::{Evaluator, Model},
    inputs::stream,
    isa::{self, Instruction},
};
use tcnum_engine::rule::{
    Change, Changed, Decision, RefutingData, changes, equivalent, refute, summaries, unobservable,
};

const BF16: &str = "mma.m16n8k8.f32.bf16.bf16.f32";

fn model(instruction: &str, lines: &str) -> Model {
    let text = format!(
        "name = 'unit'\ntitle = 'a unit'\nversion = 1\n[[rule]]\ninstructions = ['{instruction}']\n\
         evidence = [{{ assumed = 'a test' }}]\n{lines}"
    );
    Model::parse(&text, "unit.toml").unwrap()
}

/// A unit that takes infinities and NaNs from the operands, and saturates.
fn saturating() -> Model {
    let lines = "step = 'fused'\nalignment = { bits = 24, rounding = 'RZ' }\nspecials = 'operands'\nnan = '0x7fffffff'\n\
                 result = { format = 'f32', rounding = 'RNE', overflow = 'saturate' }\n";
    model(BF16, lines)
}

/// The keys that `cases` cases of the stream decide; the pairs that agree with all of them.
fn reported(model: &Model, i: &Instruction, cases: u64) -> (BTreeSet<String>, Vec<[(String, String); 2]>) {
    let mut tested = Vec::new();
    refute(model, &[RefutingData::stream(i, 1, cases)], &mut tested, &mut |_| ()).unwrap();
    let tested = tested.remove(0);
    let decided = |decision| matches!(decision, Decision::Decided | Decision::AsFarAsObservable);
    let keys = summaries(&tested).into_iter().filter(|summary| decided(summary.decision)).map(|summary| summary.key);
    let said = |change: &Change| (change.key.clone(), change.to());
    (keys.collect(), tested.pairs.iter().map(|pair| pair.0.each_ref().map(said)).collect())
}

#[test]
fn saturation_of_finite_sums_with_infinities_of_steps_is_no_decided_overflow() {
    let i = isa::find(BF16).unwrap();
    let (keys, pairs) = reported(&saturating(), &i, 1 << 16);
    assert!(!keys.contains("specials") && !keys.contains("result.overflow"), "{keys:?}");
    assert!(keys.contains("result.rounding") && keys.contains("alignment.bits"), "{keys:?}");
    let pair = [("specials", "steps"), ("result.overflow", "saturate-finite")];
    assert_eq!(pairs, [pair.map(|(key, to)| (key.to_string(), to.to_string()))]);
}

/// A change with its evaluator, and true if it agrees with every output.
struct Single {
    change: Change,
    evaluator: Evaluator,
    agrees: bool,
}

/// The keys that no rule with one or two changed keys leaves open, by trying every one of them on every output.
fn enumerated(model: &Model, i: &Instruction, cases: u64) -> BTreeSet<String> {
    let tiles = stream::tiles(i, 1, 0, cases.div_ceil((i.m * i.n) as u64) as usize);
    let unchanged = model.evaluator(i).unwrap();
    let expected = unchanged.execute(&tiles);
    let agrees = |evaluator: &Evaluator| evaluator.execute(&tiles) == expected;
    let rule = Changed::of(model, i).unwrap();
    let observable = |change: Change| {
        let changed = rule.model(Some(&change))?;
        let evaluator = changed.evaluator(i).ok()?;
        let hidden = unobservable(model, &changed, i, &change).is_some();
        let agrees = agrees(&evaluator);
        (!hidden).then_some(Single { change, evaluator, agrees })
    };
    let singles: Vec<Single> = changes(&rule.rule, i).into_iter().filter_map(observable).collect();
    let mut keys: BTreeSet<String> = singles.iter().map(|single| single.change.key.clone()).collect();
    for single in singles.iter().filter(|single| single.agrees) {
        keys.remove(&single.change.key);
    }
    let mut open = Vec::new();
    for (at, one) in singles.iter().enumerate().filter(|(_, single)| !single.change.ranged) {
        for other in singles[at + 1..].iter().filter(|other| !other.change.ranged) {
            let names = [&one.change.key, &other.change.key];
            let holds = |[table, key]: [&String; 2]| table == key || key.starts_with(&format!("{table}."));
            if holds(names) || holds([names[1], names[0]]) {
                continue;
            }
            let mut changed = rule.clone();
            one.change.apply(&mut changed.rule);
            let Some(both) = changed.model(Some(&other.change)) else { continue };
            let Ok(both) = both.evaluator(i) else { continue };
            let known =
                || singles.iter().filter(|single| single.agrees).map(|single| &single.evaluator).chain([&unchanged]);
            if agrees(&both) && known().all(|known| !equivalent(known, &both)) {
                open.extend(names);
            }
        }
    }
    keys.retain(|key| !open.contains(&key));
    keys
}

#[test]
fn decided_keys_are_those_that_an_enumeration_of_all_pairs_leaves() {
    let truncating = "step = 'fused'\ngroup = 4\nalignment = { bits = 23, rounding = 'RZ' }\nnan = '0x7fffffff'\n\
                      result = { format = 'f32', rounding = 'RZ' }\n";
    let chain = "step = 'fma'\nresult = { format = 'f16', rounding = 'RNE' }\nnan = '0x7fff'\n";
    let f16 = "mma.m8n8k4.f16.f16.f16.f16";
    for (model, name) in [(saturating(), BF16), (model(BF16, truncating), BF16), (model(f16, chain), f16)] {
        let i = isa::find(name).unwrap();
        let mut several = BTreeSet::new();
        for cases in [32, 1024, 4096].into_iter().take(amount(2, 3)) {
            let (keys, pairs) = reported(&model, &i, cases);
            assert_eq!(keys, enumerated(&model, &i, cases), "{name}, {cases} cases: {pairs:?}");
            several.insert((keys.len(), pairs.len()));
        }
        assert!(several.len() > 1, "{name}: {several:?}");
    }
}
