//! D and the steps of programs are the reference's.

use serde_json::{Value, json};
use tcnum::{arithmetic::Explanation, format::Real, isa::Case};
use tcnum_engine::steps;

use crate::{
    machine::amount,
    node,
    subjects::{self, Subject},
};

const CHECK_CASES: &str = include_str!("check_cases.js");
const CHECK_STEPS: &str = include_str!("check_steps.js");

fn assert_cases_agree(name: &str, subjects: &[Subject]) {
    let scripts = [
        ("programs.js", &subjects::programs(subjects)[..]),
        ("cases.js", &subjects::cases(subjects)),
        ("check.js", CHECK_CASES),
    ];
    if let Some(outcome) = node::run(name, &scripts) {
        assert_eq!(outcome, format!("passed: {} cases", subjects::count(subjects)));
    }
}

#[test]
fn every_program_of_the_shipped_models_gives_the_d_of_the_reference() {
    let subjects = subjects::of_models(amount(50_000, 100_000));
    assert!(subjects.len() > 100, "{} programs", subjects.len());
    assert!(subjects::count(&subjects) >= amount(50_000, 100_000));
    assert_cases_agree("models", &subjects);
}

#[test]
fn random_arithmetics_give_the_d_of_the_reference() {
    assert_cases_agree("random", &subjects::at_random(amount(400, 2000), 12));
}

/// Rows that `explain` makes of one explanation, or of two side by side.
fn rows(explanations: &[Explanation]) -> Value {
    let rows = steps::rows(None, explanations).into_iter().map(|row| {
        let mut cells = vec![json!(row.group), json!(row.step)];
        cells.extend([json!(row.value), json!(row.exponent), json!(row.kept), json!(row.cut_off), json!(row.code)]);
        if explanations.len() == 2 {
            let second = [json!(row.second_value), json!(row.second_exponent), json!(row.second_kept)];
            cells.extend(second.into_iter().chain([json!(row.second_cut_off), json!(row.second_code)]));
        }
        Value::from(cells)
    });
    rows.collect()
}

/// True if every value is exact: `explain` tells only the leading 128 bits of a wider one.
fn is_exact(explanation: &Explanation) -> bool {
    !explanation.lines.iter().any(|line| matches!(line.value, Real::Finite(value) if value.sticky))
}

fn assert_steps_agree(name: &str, subjects: &[Subject], explained: &[(Vec<usize>, &Case)]) {
    let mut explanations = Vec::new();
    for (programs, case) in explained {
        let by_program: Vec<Explanation> =
            programs.iter().map(|number| subjects[*number].evaluator.explain(case)).collect();
        if by_program.iter().all(is_exact) {
            let operands = subjects::operands(case);
            explanations.push(json!({ "programs": programs, "operands": operands, "rows": rows(&by_program) }));
        }
    }
    let count = explanations.len();
    assert!(10 * count > 9 * explained.len(), "{count} of {}", explained.len());
    let script = format!("tcnum.explanations = {};\n", Value::from(explanations));
    let scripts =
        [("programs.js", &subjects::programs(subjects)[..]), ("explanations.js", &script), ("check.js", CHECK_STEPS)];
    if let Some(outcome) = node::run(name, &scripts) {
        assert_eq!(outcome, format!("passed: {count}"));
    }
}

fn alone(subjects: &[Subject]) -> Vec<(Vec<usize>, &Case)> {
    let numbered = subjects.iter().enumerate();
    numbered.flat_map(|(number, subject)| subject.cases.iter().map(move |case| (vec![number], case))).collect()
}

#[test]
fn steps_of_the_shipped_models_are_those_that_explain_tells() {
    let subjects = subjects::of_models(amount(1000, 4000));
    assert_steps_agree("steps-models", &subjects, &alone(&subjects));
}

#[test]
fn steps_of_random_arithmetics_are_those_that_explain_tells() {
    let subjects = subjects::at_random(amount(200, 1000), 4);
    assert_steps_agree("steps-random", &subjects, &alone(&subjects));
}

#[test]
fn two_arithmetics_stand_side_by_side_as_explain_shows_them() {
    let subjects = subjects::of_models(amount(1000, 4000));
    let shape = |subject: &Subject| {
        let i = subject.instruction();
        (
            i.k,
            i.stored_k(),
            i.a.name,
            i.b.name,
            i.c.name,
            i.d.name,
            i.scale.map(|scale| (scale.format.name, scale.block)),
        )
    };
    let mut explained = Vec::new();
    for (number, subject) in subjects.iter().enumerate() {
        let other = (number + 1..subjects.len()).find(|other| shape(&subjects[*other]) == shape(subject));
        let both = other.map(|other| vec![number, other]);
        explained.extend(both.into_iter().flat_map(|both| subject.cases.iter().map(move |case| (both.clone(), case))));
    }
    assert!(explained.len() > 500, "{}", explained.len());
    assert_steps_agree("side-by-side", &subjects, &explained);
}
