//! The MPFR reference of scalar operations against Berkeley TestFloat's generator, an independent third party.
//!
//! Needs the generator, built for `Linux-x86_64-GCC` (whose rule for integers is that of x86): give its path in TESTFLOAT_GEN and run
//! `TESTFLOAT_GEN=.../testfloat_gen cargo test --release --test reference_testfloat -- --ignored --nocapture`.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use rayon::prelude::*;
use tcnum::{
    exact::scalar::Reference,
    format::{Class, Encoding, Format, Rounding, find},
    softfloat::{Environment, Flags, NanRule, Operation, Tininess},
};

/// Integer formats of the generator that no matrix instruction has.
static INTEGERS: [(&str, Format); 4] = [
    ("i32", integer("i32", 32, true)),
    ("ui32", integer("ui32", 32, false)),
    ("i64", integer("i64", 64, true)),
    ("ui64", integer("ui64", 64, false)),
];

const fn integer(name: &'static str, bits: u32, signed: bool) -> Format {
    Format { name, aliases: &[], bits, encoding: Encoding::Integer { signed }, source: "" }
}

const ROUNDINGS: [(&str, Rounding); 6] = [
    ("-rnear_even", Rounding::Rne),
    ("-rnear_maxMag", Rounding::Rna),
    ("-rminMag", Rounding::Rz),
    ("-rmax", Rounding::Ru),
    ("-rmin", Rounding::Rd),
    ("-rodd", Rounding::Ro),
];

const OPERATIONS: [(&str, Operation); 14] = [
    ("add", Operation::Add),
    ("sub", Operation::Sub),
    ("mul", Operation::Mul),
    ("div", Operation::Div),
    ("rem", Operation::Rem),
    ("sqrt", Operation::Sqrt),
    ("mulAdd", Operation::Fma),
    ("roundToInt", Operation::Rint),
    ("eq", Operation::Equal),
    ("le", Operation::LessEqual),
    ("lt", Operation::Less),
    ("eq_signaling", Operation::EqualSignaling),
    ("le_quiet", Operation::LessEqualQuiet),
    ("lt_quiet", Operation::LessQuiet),
];

/// What a function of the generator computes.
enum Function {
    Operation(&'static Format, Operation),
    Conversion(&'static Format, &'static Format),
}

/// One run of the generator.
struct Run {
    name: String,
    function: Function,
    exact: bool,
    rounding: (&'static str, Rounding),
    tininess: Tininess,
}

fn format(name: &str) -> &'static Format {
    let integer = INTEGERS.iter().find(|(known, _)| *known == name);
    integer.map(|(_, format)| format).unwrap_or_else(|| find(name).unwrap())
}

fn runs() -> Vec<Run> {
    let floats = ["f16", "f32", "f64"];
    let mut functions = vec![];
    for float in floats {
        for (name, operation) in OPERATIONS {
            functions.push((format!("{float}_{name}"), float, None, Some(operation)));
        }
        for other in floats.into_iter().chain(INTEGERS.iter().map(|(name, _)| *name)).filter(|other| *other != float) {
            functions.push((format!("{float}_to_{other}"), float, Some(other), None));
            if !floats.contains(&other) {
                functions.push((format!("{other}_to_{float}"), other, Some(float), None));
            }
        }
    }
    let mut runs = vec![];
    for (name, from, to, operation) in functions {
        for rounding in ROUNDINGS {
            for tininess in [Tininess::Before, Tininess::After] {
                for exact in [false, true] {
                    let integral = to.is_some_and(|to| !floats.contains(&to)) || operation == Some(Operation::Rint);
                    if exact && !integral {
                        continue;
                    }
                    // To integers the generator rounds to odd by truncation.
                    let direction = if integral && rounding.1 == Rounding::Ro { Rounding::Rz } else { rounding.1 };
                    let function = match operation {
                        Some(Operation::Rint) if exact => Function::Operation(format(from), Operation::RintExact),
                        Some(operation) => Function::Operation(format(from), operation),
                        None => Function::Conversion(format(from), format(to.unwrap())),
                    };
                    runs.push(Run { name: name.clone(), function, exact, rounding: (rounding.0, direction), tininess });
                }
            }
        }
    }
    runs
}

/// How many lines agree, and the first that differ.
fn compare(generator: &str, run: &Run) -> (u64, Vec<String>) {
    let tininess = if run.tininess == Tininess::Before { "-tininessbefore" } else { "-tininessafter" };
    let exact = if run.exact { "-exact" } else { "-notexact" };
    let level = std::env::var("TESTFLOAT_LEVEL").unwrap_or("1".to_string());
    let mut child = Command::new(generator)
        .args(["-level", &level, run.rounding.0, tininess, exact, &run.name])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Its integers are those of x86, but unlike x86 it flags zero times infinity plus a quiet NaN.
    let to_integers = matches!(run.function, Function::Conversion(_, to) if to.is_integer());
    let nan = if to_integers { NanRule::X86 } else { NanRule::Canonical };
    let environment = Environment { rounding: run.rounding.1, tininess: run.tininess, nan, ..Environment::default() };
    let mut reference = Reference::new();
    let (mut agreed, mut differing) = (0, vec![]);
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let words: Vec<u64> = line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        let [operands @ .., expected, flags] = words.as_slice() else { panic!("{line}") };
        let mut codes = [0; 3];
        codes[..operands.len()].copy_from_slice(operands);
        let (mut outcome, target) = match run.function {
            Function::Operation(format, operation) => {
                let number = operation.result() == tcnum::softfloat::ResultKind::Number;
                (reference.apply(format, &environment, operation, codes), number.then_some(format))
            }
            Function::Conversion(from, to) => (reference.convert(from, to, &environment, codes[0]), Some(to)),
        };
        if to_integers && !run.exact {
            outcome.flags = outcome.flags.without(Flags::INEXACT);
        }
        let nan = |code| target.is_some_and(|format| format.decode(code).class == Class::Nan);
        let same = outcome.code == Some(*expected) || outcome.code.is_some_and(nan) && nan(*expected);
        if same && outcome.flags.bits() == *flags as u8 {
            agreed += 1;
        } else if differing.len() < 5 {
            differing.push(format!("{} {:?} {tininess}: {line}: {outcome:x?}", run.name, run.rounding));
        }
    }
    assert!(child.wait().unwrap().success(), "{}", run.name);
    (agreed, differing)
}

#[test]
#[ignore = "needs Berkeley TestFloat's generator"]
fn the_reference_agrees_with_testfloat() {
    let generator = std::env::var("TESTFLOAT_GEN").expect("TESTFLOAT_GEN: the path of testfloat_gen");
    let only = std::env::var("TESTFLOAT_ONLY").unwrap_or_default();
    let runs = runs().into_par_iter().filter(|run| run.name.contains(&only));
    let results: Vec<_> = runs.map(|run| compare(&generator, &run)).collect();
    let agreed: u64 = results.iter().map(|(agreed, _)| agreed).sum();
    let differing: Vec<_> = results.iter().flat_map(|(_, differing)| differing).collect();
    println!("{agreed} lines of {} runs agree", results.len());
    assert!(
        differing.is_empty(),
        "{} differ, as\n{}",
        differing.len(),
        differing.iter().take(60).map(|s| s.as_str()).collect::<Vec<_>>().join("\n")
    );
    assert!(agreed > 0);
}
