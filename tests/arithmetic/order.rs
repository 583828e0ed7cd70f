//! The order of a sum that directed cases find is the tree of the program that computes it.

use std::collections::BTreeSet;

use crate::{
    arithmetics::trees,
    machine::amount,
    programs::{ShippedProgram, distinct},
};
use rayon::prelude::*;
use tcnum::{
    Error, Result,
    arithmetic::{ElementaryOperation, Evaluator, Model, Sum},
    format::Format,
    isa::{self, Case},
};
use tcnum_engine::order::{self, FoundOrder, Leaf, Manner, Order, WIDE};

fn tree_of(evaluator: &Evaluator) -> Result<FoundOrder> {
    let i = &evaluator.program().instruction;
    order::find(i, &mut |cases| Ok(cases.iter().map(|case| evaluator.dot(case)).collect()))
}

/// The leaves of every step.
fn steps(order: &Order) -> BTreeSet<BTreeSet<Leaf>> {
    let mut steps = BTreeSet::new();
    order.visit(&mut |order| {
        if let Order::Meeting(_) = order {
            steps.insert(order.leaves());
        }
    });
    steps
}

fn is_open(order: &Order) -> bool {
    order.meetings().iter().any(|meeting| meeting.manner == Manner::Undecided)
}

/// Whether factors are cut into pieces. A power of two is in one of them, and in another one where it is subnormal: so a small term may
/// come through beside the step that would lose it, and a large one not at all.
fn is_cut(evaluator: &Evaluator) -> bool {
    evaluator.program().operations().any(|operation| match operation {
        ElementaryOperation::Multiply(multiply) => {
            multiply.factors.iter().any(|factors| (factors.a, factors.b) != (u64::MAX, u64::MAX))
        }
        _ => false,
    })
}

/// What is wrong with what was found of an arithmetic: it may leave open, and then has steps fewer, but none that the program lacks.
fn defect(evaluator: &Evaluator, tree: &FoundOrder) -> Option<String> {
    let expected = order::of_program(evaluator.program()).expect("a floating-point program");
    let invented = !steps(&tree.order).is_subset(&steps(&expected));
    let other = invented || !is_open(&tree.order) && tree.order != expected;
    if !tree.cancels {
        let flips = |sum: &Sum| sum.alignment.is_some_and(|alignment| alignment.complement);
        let may = evaluator.program().operations().any(|o| matches!(o, ElementaryOperation::Sum(sum) if flips(sum)));
        return (!may).then(|| format!("a term and its opposite leave a rest\n{}", evaluator.program()));
    }
    let wrong = !tree.contradictions.is_empty() || other && !is_cut(evaluator);
    wrong.then(|| {
        let (actual, known) = (order::notation(&tree.order), order::notation(&expected));
        format!("found {actual}\nexpected {known}\n{:?}\n{}", tree.contradictions.first(), evaluator.program())
    })
}

/// One instruction of each program that is no sum of integers.
fn programs() -> Vec<ShippedProgram> {
    let key = |ShippedProgram { instruction: i, evaluator, .. }: &ShippedProgram| {
        format!("{} {:?} {:?}", evaluator.program(), i.scale.map(|scale| scale.block), i.sparse)
    };
    let mut programs = distinct(key);
    programs.retain(|program| !program.instruction.d.is_integer());
    programs
}

/// The exponents between the largest power of two of a format and the smallest.
fn exponents(format: &Format) -> i32 {
    let float = format.float().unwrap();
    float.emax() - float.emin() + float.trailing_bits as i32
}

#[test]
fn the_tree_of_every_shipped_arithmetic_is_found_where_its_formats_can_show_it() {
    let programs = programs();
    let is_left_open = |program: &ShippedProgram| {
        let (name, evaluator) = (program.name(), &program.evaluator);
        let tree = tree_of(evaluator).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(defect) = defect(evaluator, &tree) {
            panic!("{name}: {defect}");
        }
        let i = program.instruction;
        if is_open(&tree.order) {
            assert!(exponents(i.a) + exponents(i.b) < WIDE, "{name}: {}", order::notation(&tree.order));
        }
        let terms = i.stored_k() + 1;
        assert!(tree.asked <= 4 * terms * terms + 4 * terms * 20 + order::CHECKS, "{name}: {} cases", tree.asked);
        is_open(&tree.order)
    };
    let open = programs.par_iter().step_by(amount(36, 1)).filter(|program| is_left_open(program)).count();
    let looked_at = programs.len().div_ceil(amount(36, 1));
    assert!(3 * open < looked_at + 100 && programs.len() > 300, "{open} of {looked_at} open");
}

#[test]
fn the_tree_of_random_arithmetics_is_found_where_terms_can_be_far_enough_apart() {
    let names = ["mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k16.f16.f16.f16.f16"];
    let (mut decided, mut wide, mut all) = (0, 0, 0);
    for name in names {
        let i = isa::all().iter().find(|i| i.name == name).unwrap();
        for seed in 0..amount(50, 150) as u64 {
            let head =
                "name = \"random\"\ntitle = \"random\"\nversion = 1\n[[rule]]\nevidence = [{ assumed = \"random\" }]\n";
            let text = format!("{head}instructions = [\"{name}\"]\n{}", trees::lines(i, seed));
            let evaluator = Model::parse(&text, "random.toml").and_then(|model| model.evaluator(i)).unwrap();
            all += 1;
            // Where a term does not come through, there is nothing to be found, and that is said.
            let Ok(tree) = tree_of(&evaluator) else { continue };
            decided += usize::from(!is_open(&tree.order));
            if tree.spans.0 >= WIDE {
                wide += 1;
                // Where terms that cancel leave a unit or a sticky bit, the answers contradict every order, and that is said.
                let leaves_rest = ["complement = true", "sticky-place"].iter().any(|key| text.contains(key));
                let is_said = leaves_rest && !tree.contradictions.is_empty();
                if let Some(defect) = defect(&evaluator, &tree).filter(|_| !is_said) {
                    panic!("seed {seed}: {defect}\n{text}");
                }
            }
        }
    }
    assert!(wide * 30 > all && decided * 3 > all, "{wide} wide and {decided} decided of {all}");
}

/// Products of e2m1 differ by 2^6 alone.
#[test]
fn terms_that_are_lost_beside_c_show_the_order_of_narrow_formats() {
    let i = isa::find("mfma.32x32x64.f32.e2m1.e2m1.f32").unwrap();
    let fused = |bits: i32| format!("step = \"fused\"\ngroup = 8\nalignment = {{ bits = {bits}, rounding = \"RZ\" }}");
    let all = [
        ("step = \"fma\"".to_string(), &["RNE", "RU", "RD", "RNA"][..], "chain(c, 0..63)"),
        ("step = \"fma\"\nc = \"last\"".to_string(), &["RNE"], "?{c, 0..63}"),
        // One small term is cut off beside c, or it is kept and lost where the sum is rounded: then two come through.
        (fused(23), &["RNE", "RD"], "chain(c, {0..7}, {8..15}, ..., {56..63})"),
        (fused(24), &["RNE", "RZ"], "chain(c, ?{0..7}, ?{8..15}, ..., ?{56..63})"),
    ];
    for (step, roundings, expected) in all {
        for rounding in roundings {
            let head = "name = \"x\"\ntitle = \"x\"\nversion = 1\n[[rule]]\nevidence = [{ assumed = \"a test\" }]\n";
            let rest = format!("result = {{ format = \"f32\", rounding = \"{rounding}\" }}\nnan = \"0x7fc00000\"\n");
            let text = format!("{head}instructions = [\"mfma.*\"]\n{step}\n{rest}");
            let evaluator = Model::parse(&text, "x.toml").unwrap().evaluator(&i).unwrap();
            let tree = tree_of(&evaluator).unwrap();
            assert_eq!(order::notation(&tree.order), expected, "{step} {rounding}");
            assert_eq!(defect(&evaluator, &tree), None);
        }
    }
}

/// A sum that is no tree: of three products the middle one in size, then c.
#[test]
fn what_is_no_tree_contradicts_every_tree() {
    let i = isa::find("mma.m16n8k8.f32.bf16.bf16.f32").unwrap();
    let evaluators: Vec<Evaluator> = ["step = \"fma\"", "step = \"fma\"\nc = \"last\""]
        .iter()
        .map(|step| {
            let head = "name = \"x\"\ntitle = \"x\"\nversion = 1\n[[rule]]\nevidence = [{ assumed = \"a test\" }]\n";
            let rest = "result = { format = \"f32\", rounding = \"RNE\" }\nnan = \"0x7fc00000\"\n";
            let text = format!("{head}instructions = [\"mma.*\"]\n{step}\n{rest}");
            Model::parse(&text, "x.toml").unwrap().evaluator(&i).unwrap()
        })
        .collect();
    // One order or the other, as the operands have it.
    let dot = |case: &Case| {
        let odd = case.a.iter().zip(0u64..).map(|(code, at)| (code >> 7) * (at + 1)).sum::<u64>() % 2;
        evaluators[odd as usize].dot(case)
    };
    let tree = order::find(&i, &mut |cases| Ok(cases.iter().map(dot).collect())).unwrap();
    assert!(!tree.contradictions.is_empty(), "{}", order::notation(&tree.order));
}

#[test]
fn sums_of_integers_and_answers_that_are_missing_are_refused() {
    let integers = isa::find("mma.m16n8k32.s32.s8.s8.s32").unwrap();
    let error = order::find(&integers, &mut |_| unreachable!("nothing is asked")).unwrap_err();
    assert!(error.exit_status() == 2 && error.to_string().contains("has no order"), "{error}");
    let i = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
    let error = order::find(&i, &mut |_| Ok(Vec::new())).unwrap_err();
    assert_eq!(error.exit_status(), 3, "{error}");
    let error = order::find(&i, &mut |cases| Ok(vec![0; cases.len()])).unwrap_err();
    assert!(error.exit_status() == 2 && error.to_string().contains("does not come out unchanged"), "{error}");
    let failure = order::find(&i, &mut |_| Err(Error::device("gone"))).unwrap_err();
    assert_eq!(failure, Error::device("gone"));
}
