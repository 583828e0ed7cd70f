//! The order of a sum that directed cases find is the tree of the program that computes it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    arithmetics::{arithmetics_of, trees},
    machine::amount,
};
use proptest::{strategy::{Strategy, ValueTree}, test_runner::TestRunner};
use tcnum::{
    Result,
    arithmetic::{Evaluator, Model, shipped},
    isa::{self, Instruction},
    tree::{self, Found, Leaf, Manner, Order},
};

fn found(evaluator: &Evaluator) -> Result<Found> {
    let i = &evaluator.program().instruction;
    tree::find(i, &mut |cases| Ok(cases.iter().map(|case| evaluator.dot(case)).collect()))
}

/// The leaves of every step, and how they meet.
fn steps(order: &Order) -> BTreeMap<BTreeSet<Leaf>, Manner> {
    let mut steps = BTreeMap::new();
    order.visit(&mut |order| {
        if let Order::Meeting(meeting) = order {
            steps.insert(order.leaves(), meeting.manner);
        }
    });
    steps
}

/// What is wrong with what was found of an arithmetic: it may leave open, and then has steps fewer, but none that the program lacks.
fn defect(evaluator: &Evaluator, found: &Found) -> Option<String> {
    let expected = tree::of_program(evaluator.program()).expect("a floating-point program");
    let (own, known) = (steps(&found.order), steps(&expected));
    let open = own.values().any(|manner| *manner == Manner::Undecided);
    let invented = own.keys().any(|leaves| !known.contains_key(leaves));
    let shown = || {
        format!("found {}\nexpected {}\n{}", tree::notation(&found.order), tree::notation(&expected), evaluator.program())
    };
    if !found.contradictions.is_empty() {
        return Some(format!("contradictions: {:?}\n{}", &found.contradictions[0], shown()));
    }
    (invented || !open && found.order != expected).then(shown)
}

/// One instruction of each program of each shipped model.
fn programs() -> Vec<(String, Evaluator)> {
    let mut all = BTreeMap::new();
    for name in shipped() {
        let model = Model::load(name).unwrap();
        for i in isa::all().iter().filter(|i| !i.d.is_integer() && model.rule(i).is_some()) {
            let evaluator = model.evaluator(i).unwrap();
            let key = format!("{} {:?} {:?}", evaluator.program(), i.scale.map(|scale| scale.block), i.sparse);
            all.entry(key).or_insert((format!("{name} {i}"), evaluator));
        }
    }
    all.into_values().collect()
}

#[test]
fn the_tree_of_every_shipped_arithmetic_is_found() {
    let programs = programs();
    let mut open = Vec::new();
    for (name, evaluator) in &programs {
        let found = found(evaluator).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(defect) = defect(evaluator, &found) {
            panic!("{name}: {defect}");
        }
        if found.order.meetings().iter().any(|meeting| meeting.manner == Manner::Undecided) {
            open.push(name.clone());
        }
        if std::env::var_os("SHOW").is_some() {
            eprintln!("{name}: {} cases, {}", found.asked, tree::notation(&found.order));
        }
    }
    eprintln!("{} of {} open: {open:#?}", open.len(), programs.len());
}

fn random(i: &'static Instruction, text: &str) -> Option<Evaluator> {
    Model::parse(text, "random.toml").ok()?.evaluator(i).ok()
}

#[test]
fn the_tree_of_random_arithmetics_is_found_or_left_open() {
    let names = ["mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k16.f16.f16.f16.f16"];
    let (mut decided, mut all, mut refused) = (0, 0, 0);
    let mut wrong = Vec::new();
    for name in names {
        let i = isa::all().iter().find(|i| i.name == name).unwrap();
        for seed in 0..amount(300, 3000) as u64 {
            let head = format!("name = \"random\"\ntitle = \"random\"\nversion = 1\n[[rule]]\ninstructions = [\"{name}\"]\nevidence = \"assumed\"\n");
            let text = head + &trees::lines(i, seed);
            let Some(evaluator) = random(i, &text) else { continue };
            all += 1;
            let Ok(found) = found(&evaluator) else {
                refused += 1;
                continue;
            };
            match defect(&evaluator, &found) {
                None => decided += usize::from(!found.order.meetings().iter().any(|m| m.manner == Manner::Undecided)),
                Some(defect) => wrong.push(format!("WRONG {name} {seed} {:?} {}: {defect}\n{text}", found.spans, found.contradictions.len())),
            }
        }
    }
    eprintln!("all {all} decided {decided} refused {refused} wrong {}", wrong.len());
    for w in wrong.iter() {
        eprintln!("{w}\n");
    }
    let _ = (arithmetics_of, TestRunner::deterministic);
    fn _unused<T: Strategy>(_: T) where T::Tree: ValueTree {}
}
