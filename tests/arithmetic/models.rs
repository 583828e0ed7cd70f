//! The shipped models: every file holds what its instructions need, and gives the recorded outputs of its generation.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tcnum::{
    arithmetic::{Model, of_target, shipped},
    isa::{self, Instruction, Support},
};
use tcnum_engine::{comparison::Nans, device, trace::Trace};
use tcnum_study::verify::trace::verify;

/// Instructions of a model's architectures that it does not cover, by the beginning of their names, and why.
const UNCOVERED: &[(&str, &str, &str)] = &[];

fn models() -> Vec<Model> {
    shipped().map(|name| Model::load(name).unwrap()).collect()
}

/// The instructions that the architectures of a model have.
fn instructions(model: &Model) -> impl Iterator<Item = &'static Instruction> {
    let has = |support: &Support| model.architectures.iter().any(|architecture| architecture == support.architecture);
    isa::all().iter().filter(move |i| i.support.iter().any(has))
}

#[test]
fn every_model_covers_every_instruction_of_its_architectures() {
    for model in models() {
        let excused =
            |i: &Instruction| UNCOVERED.iter().any(|(m, name, _)| *m == model.name && i.name.starts_with(name));
        let (mut covered, mut missing) = (0, Vec::new());
        for i in instructions(&model) {
            match model.evaluator(i) {
                Ok(_) => covered += 1,
                Err(error) if !excused(i) => missing.push(error.to_string()),
                Err(_) => {}
            }
        }
        assert!(missing.is_empty(), "{}: {covered} covered, but\n{}", model.name, missing.join("\n"));
        assert!(covered > 0, "{} has no instruction in the table", model.name);
    }
}

#[test]
fn no_model_covers_what_its_architectures_lack() {
    for model in models() {
        let names: Vec<&str> = instructions(&model).map(|i| i.name.as_str()).collect();
        for i in isa::all().iter().filter(|i| !names.contains(&i.name.as_str())) {
            assert!(model.rule(i).is_none(), "{} covers {i}", model.name);
            let error = model.evaluator(i).unwrap_err();
            assert_eq!(error.exit_status(), 2);
            let first = i.support[0].architecture;
            assert!(error.to_string().contains(&format!("these do: {first}")), "{error}");
        }
    }
}

#[test]
fn every_architecture_has_one_model() {
    for target in isa::targets::all() {
        let has_target = |model: &&Model| model.architectures.iter().any(|name| name == target.name);
        let names: Vec<String> = models().iter().filter(has_target).map(|model| model.name.clone()).collect();
        assert_eq!(names, [of_target(target.name).expect("a model")], "{}", target.name);
    }
}

#[test]
fn every_pattern_of_every_model_is_needed() {
    for model in models() {
        for (index, rule) in model.rules.iter().enumerate() {
            for pattern in &rule.instructions {
                let needed = |i: &Instruction| {
                    model.rule(i).is_some_and(|first| std::ptr::eq(first, rule)) && Model::matches(pattern, &i.name)
                };
                assert!(
                    instructions(&model).any(needed),
                    "{} rule {}: '{pattern}' covers nothing",
                    model.name,
                    index + 1
                );
            }
        }
    }
}

/// The recordings of others: the model of their generation, their files and their number of columns.
fn recordings() -> Vec<(&'static str, PathBuf)> {
    let generations = [("V100", "volta"), ("A100", "ampere"), ("L40S", "ada"), ("H100", "hopper")];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/vectors");
    let index = std::fs::read_to_string(folder.join("index.tsv")).expect("the recordings are in the repository");
    let model = |gpu: &str| generations.iter().find(|(of, _)| *of == gpu).unwrap_or_else(|| panic!("{gpu}")).1;
    let lines = index.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    lines.map(|line| (model(line[1]), folder.join(format!("{}.safetensors", line[0])))).collect()
}

#[test]
fn every_recorded_output_is_that_of_the_model_of_its_generation() {
    let recordings = recordings();
    assert_eq!(recordings.len(), 20);
    for (name, path) in recordings {
        let mut model =
            device::open(Some(&device::DeviceName::Model(name.to_string())), Duration::from_secs(60)).unwrap();
        let trace = Trace::read(&path).unwrap();
        let result = verify(&trace, model.as_mut(), Nans::ByCode).unwrap();
        let outcome = (result.compared, result.differing);
        assert_eq!(outcome, (5000, 0), "{name} {}: {:x?}", path.display(), result.kinds);
    }
}

/// What tells generations apart is seen: another generation's model fails on every recording with f32 results, but for the
/// FP8 units of Ada and Hopper and for A100 and L40S, which have one arithmetic.
#[test]
fn recorded_outputs_are_not_those_of_other_generations() {
    let kin = [("ampere", "ada"), ("ada", "ampere")];
    for (name, path) in recordings() {
        let trace = Trace::read(&path).unwrap();
        let i = &trace.instruction;
        for other in ["volta", "ampere", "ada", "hopper"].into_iter().filter(|other| *other != name) {
            let covers = Model::load(other).unwrap().rule(i).is_some();
            if !covers || kin.contains(&(name, other)) || i.d.name == "f16" {
                continue;
            }
            let mut model =
                device::open(Some(&device::DeviceName::Model(other.to_string())), Duration::from_secs(60)).unwrap();
            let result = verify(&trace, model.as_mut(), Nans::ByCode).unwrap();
            assert!(result.differing > 0, "{} agrees with {other}", path.display());
        }
    }
}
