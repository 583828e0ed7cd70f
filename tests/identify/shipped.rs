//! The arithmetics of shipped models, behind a device that does not tell them: found from nothing, and known as what they are.

use std::{collections::HashSet, time::Duration};

use tcnum::{
    arithmetic::{Model, shipped},
    isa::{self, Instruction},
};
use tcnum_study::identify::{Plan, WORK, identify, likeness};

use crate::{
    black_box::{BlackBox, held_out},
    machine::amount,
};

/// One instruction for each rule of a model and each combination of formats and k that it covers.
pub(crate) fn distinct(model: &Model) -> Vec<&'static Instruction> {
    let mut seen = HashSet::new();
    let key = |i: &Instruction| Some(format!("{:?} {} {} {} {}", model.rule(i)?, i.a, i.b, i.d, i.k));
    isa::all().iter().filter(|i| key(i).is_some_and(|key| seen.insert(key))).collect()
}

/// The instruction with this name.
pub(crate) fn listed(name: &str) -> &'static Instruction {
    isa::all().iter().find(|i| i.name == name).unwrap()
}

/// Rules that the search reaches in little time, of every kind.
const FROM_NOTHING: [(&str, &str); 4] = [
    ("hopper", "mma.m16n8k16.f32.bf16.bf16.f32"),
    ("hopper", "mma.m16n8k8.f16.f16.f16.f16"),
    ("hopper", "mma.m8n8k4.f64.f64.f64.f64"),
    ("hopper", "mma.m16n8k32.s32.s8.u8.s32.satfinite"),
];

#[test]
fn shipped_rules_are_recovered_from_nothing() {
    for (name, instruction) in FROM_NOTHING {
        let (model, i) = (Model::load(name).unwrap(), listed(instruction));
        let plan = Plan {
            seed: 1,
            budget: 20_000,
            time: Duration::MAX,
            catalogue: false,
            found_rules: Vec::new(),
            withheld: Vec::new(),
            work: WORK,
        };
        let identification = identify(&mut BlackBox::new(&model), i, plan).unwrap();
        assert_eq!(identification.misses, 0, "{name}, {i}:\n{}", identification.text());
        assert_eq!(held_out(&identification, &model, i, 20_000), 0, "{name}, {i}:\n{}", identification.text());
        assert_eq!((identification.known, identification.failure, identification.spent), (None, None, false));
    }
}

#[test]
fn with_the_catalogue_every_shipped_rule_is_known_and_stays_as_it_is() {
    let all = shipped().flat_map(|name| {
        let model = Model::load(name).unwrap();
        distinct(&model).into_iter().map(move |i| (model.clone(), i)).collect::<Vec<_>>()
    });
    for (model, i) in all.step_by(amount(320, 48)) {
        let plan = Plan {
            seed: 1,
            budget: 20_000,
            time: Duration::MAX,
            catalogue: true,
            found_rules: Vec::new(),
            withheld: Vec::new(),
            work: WORK,
        };
        let identification = identify(&mut BlackBox::new(&model), i, plan).unwrap();
        let what = format!("{} {i}:\n{}", model.name, identification.text());
        assert_eq!(
            (identification.misses, held_out(&identification, &model, i, amount(2_000, 5_000))),
            (0, 0),
            "{what}"
        );
        // The same rule may be that of several models, or of several instructions.
        let (name, instruction) = identification.known.clone().unwrap_or_else(|| panic!("{what}"));
        let of = Model::load(&name).unwrap().rule(&isa::find(&instruction).unwrap()).unwrap().clone();
        let mut rule = identification.model().unwrap().rules.remove(0);
        (rule.instructions, rule.evidence) = (of.instructions.clone(), of.evidence.clone());
        assert_eq!(format!("{rule:?}"), format!("{of:?}"), "{what}");
        let like = likeness(&identification).unwrap();
        assert!(like.same, "{what}{}", like.words);
    }
}
