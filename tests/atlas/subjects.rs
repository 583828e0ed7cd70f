//! Programs that both evaluators run, and operands for them.

use std::{collections::BTreeMap, fmt::Write as _, sync::LazyLock};

use proptest::{strategy::Strategy, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};
use tcnum::{
    arithmetic::{Evaluator, Model, Program, shipped},
    atlas::calculator::program_json,
    format::{Format, Overflow, Rounding},
    inputs::{Corners, Distribution, Init, Op, RandomStream, draw, stream},
    isa::{self, Case, Instruction},
};

use crate::arithmetics::{arithmetics, cases as random_cases};

const SEED: u64 = 20;

/// Program under test.
pub(crate) struct Subject {
    /// Model of the program and instruction.
    pub name: String,
    /// Evaluator with the reference.
    pub evaluator: Evaluator,
    /// The program for JavaScript.
    pub json: String,
    /// Operands.
    pub cases: Vec<Case>,
}

impl Subject {
    pub(crate) fn instruction(&self) -> &Instruction {
        &self.program().instruction
    }

    fn program(&self) -> &Program {
        self.evaluator.program()
    }
}

/// The distinct programs of the shipped models: those that differ in more than the names of model and instruction.
static SHIPPED: LazyLock<Vec<(String, Program)>> = LazyLock::new(|| {
    let mut distinct = BTreeMap::new();
    for name in shipped() {
        let model = Model::load(name).unwrap();
        for program in isa::all().iter().filter_map(|i| model.program(i).ok()) {
            let mut key: Value = serde_json::from_str(&program_json(&program)).unwrap();
            key["instruction"]["name"] = Value::Null;
            distinct.entry(key.to_string()).or_insert((format!("{name}, {}", program.instruction), program));
        }
    }
    distinct.into_values().collect()
});

/// The programs of the shipped models with at least `total` cases over all.
pub(crate) fn of_models(total: usize) -> Vec<Subject> {
    let each = total.div_ceil(SHIPPED.len());
    let subject = |(turn, (name, program)): (usize, &(String, Program))| Subject {
        name: name.clone(),
        evaluator: Model::load(name.split(',').next().unwrap()).unwrap().evaluator(&program.instruction).unwrap(),
        json: program_json(program),
        cases: adversarial(&program.instruction, each, turn),
    };
    SHIPPED.iter().enumerate().map(subject).collect()
}

/// Random arithmetics, most of no hardware, which have every key of a model file.
pub(crate) fn at_random(count: usize, each: usize) -> Vec<Subject> {
    let mut runner = TestRunner::deterministic();
    let mut subject = |turn| {
        let arithmetic = arithmetics().new_tree(&mut runner).unwrap().current();
        let evaluator = arithmetic.evaluator();
        let mut cases: Vec<Case> =
            (0..each).map(|_| random_cases(arithmetic.instruction).new_tree(&mut runner).unwrap().current()).collect();
        cases.extend(adversarial(arithmetic.instruction, each, turn));
        let json = program_json(evaluator.program());
        Subject { name: format!("{arithmetic:?}"), evaluator, json, cases }
    };
    (0..count).map(&mut subject).collect()
}

/// Cases that aim at decisions of an arithmetic: up to `count` corners, and `count` others.
/// The others are special values, all magnitudes, and the adversarial stream of `verify`. If there are more corners, each
/// `turn` takes different ones.
fn adversarial(i: &Instruction, count: usize, turn: usize) -> Vec<Case> {
    let corners = Corners::cases(i);
    let step = corners.len().div_ceil(count).max(1);
    let mut cases: Vec<Case> = corners.into_iter().skip(turn % step).step_by(step).collect();
    // Tiles of few rows and columns: the elements of a large one share operands.
    let small = Instruction { m: 4, n: 4, ..i.clone() };
    for (number, distribution) in (1..).zip([Distribution::Special, Distribution::LogUniform]) {
        let source = RandomStream { seed: SEED, stream: number };
        let batch = draw(&small, Op::Dot, distribution, Init::Low, source, count.div_ceil(4));
        cases.extend(batch.samples.iter().map(|at| batch.tiles.case(&small, at.tile, at.row, at.column)));
    }
    cases.extend(near_the_smallest_normal_number(i));
    let tiles = stream::tiles(&small, SEED, 0, count.div_ceil(8));
    cases.extend((0..tiles.count * 4).map(|at| tiles.case(&small, at / 4, at % 4, at % 4)));
    cases
}

/// The smallest normal number of C, a little smaller or larger by one product: definitions of tininess differ there.
fn near_the_smallest_normal_number(i: &Instruction) -> Vec<Case> {
    let sign = |format: &Format| format.code_mask() ^ (format.code_mask() >> 1);
    let one = |format: &Format| format.encode_f64(1.0, Rounding::Rne, Overflow::Standard).expect("1 is a scale");
    let mut cases = Vec::new();
    for at in [0, i.stored_k() - 1].into_iter().filter(|_| !i.d.is_integer()) {
        for negative in [[false, false], [false, true], [true, false], [true, true]] {
            let mut case = Case::zeros(i);
            let [of_c, of_a] = negative.map(u64::from);
            case.c = i.c.smallest_normal() | (of_c * sign(i.c));
            case.a[at] = i.a.smallest_normal() | (of_a * sign(i.a));
            let k = case.logical(i, at);
            case.b[k] = i.b.smallest_normal();
            if let Some(scale) = i.scale {
                case.scale_a.fill(one(scale.format));
                case.scale_b.fill(one(scale.format));
            }
            cases.push(case);
        }
    }
    cases
}

/// Script with the programs and the names of subjects.
pub(crate) fn programs(subjects: &[Subject]) -> String {
    let programs: Vec<&str> = subjects.iter().map(|subject| &subject.json[..]).collect();
    let names: Vec<&str> = subjects.iter().map(|subject| &subject.name[..]).collect();
    format!("tcnum.programs = [\n{}\n];\ntcnum.names = {};\n", programs.join(",\n"), json!(names))
}

/// Script with the cases of subjects, one a line: D, the correctly rounded result, and the operands.
/// Each is the codes in hexadecimal without spaces, or `-`.
pub(crate) fn cases(subjects: &[Subject]) -> String {
    let mut script = String::from("tcnum.cases = [\n");
    for subject in subjects {
        let i = subject.instruction();
        script.push('`');
        for case in &subject.cases {
            let scale = |codes: &[u64]| i.scale.map_or("-".into(), |scale| digits(scale.format, codes));
            let exact = case.exact(i, Rounding::Rne).map_or("-".into(), |code| digits(i.d, &[code]));
            let positions: String = case.positions.iter().map(|position| format!("{position:x}")).collect();
            let _ = writeln!(
                script,
                "{} {exact} {} {} {} {} {} {}",
                digits(i.d, &[subject.program().dot(case)]),
                digits(i.a, &case.a),
                digits(i.b, &case.b),
                digits(i.c, &[case.c]),
                if positions.is_empty() { "-" } else { &positions },
                scale(&case.scale_a),
                scale(&case.scale_b),
            );
        }
        script.push_str("`,\n");
    }
    script + "];\n"
}

fn digits(format: &Format, codes: &[u64]) -> String {
    codes.iter().map(|code| format.hex(*code).trim_start_matches("0x").to_string()).collect()
}

/// Operands as the evaluator takes them.
pub(crate) fn operands(case: &Case) -> Value {
    let codes = |codes: &[u64]| codes.iter().map(|code| format!("{code:#x}")).collect::<Vec<_>>();
    json!({
        "a": codes(&case.a),
        "b": codes(&case.b),
        "c": format!("{:#x}", case.c),
        "positions": case.positions,
        "scale_a": codes(&case.scale_a),
        "scale_b": codes(&case.scale_b),
    })
}

/// Number of cases of all subjects.
pub(crate) fn count(subjects: &[Subject]) -> usize {
    subjects.iter().map(|subject| subject.cases.len()).sum()
}
