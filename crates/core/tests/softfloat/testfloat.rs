//! The reference by MPFR against Berkeley TestFloat, an independent third party.
//!
//! Lines of its generator are kept with the tests. TESTFLOAT_GEN names the generator itself (a build for
//! `Linux-x86_64-GCC`, whose rule for integers is that of x86): `TESTFLOAT_GEN=.../testfloat_gen cargo test --release
//! -p tcnum-core --features mpfr --test softfloat testfloat:: -- --ignored --nocapture`

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use rayon::prelude::*;
use tcnum_core::{
    format::{Class, Format, Rounding, find},
    softfloat::mpfr::Reference,
    softfloat::{Environment, Flags, NanRule, Operation, Outcome, ResultKind, Tininess},
};

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

/// Computation of a function of the generator.
#[derive(Clone, Copy)]
enum Function {
    Operation(&'static Format, Operation),
    Conversion(&'static Format, &'static Format),
}

/// Function with its options.
struct Setting {
    function: Function,
    environment: Environment,
    exact: bool,
}

impl Function {
    /// Function with a name such as `f16_mulAdd` or `f16_to_i32`.
    fn named(name: &str) -> Function {
        let (first, rest) = name.split_once('_').unwrap();
        match rest.strip_prefix("to_") {
            Some(to) => Function::Conversion(find(first).unwrap(), find(to).unwrap()),
            None => {
                let (_, operation) = OPERATIONS.iter().find(|(known, _)| *known == rest).unwrap();
                Function::Operation(find(first).unwrap(), *operation)
            }
        }
    }

    /// True if it rounds to integers.
    fn is_integral(self) -> bool {
        match self {
            Function::Operation(_, operation) => operation == Operation::Rint,
            Function::Conversion(_, to) => to.is_integer(),
        }
    }
}

impl Setting {
    fn new(name: &str, options: &str) -> Setting {
        let function = Function::named(name);
        let has = |option: &str| options.split(' ').any(|word| word == option);
        let rounding =
            ROUNDINGS.iter().find(|(option, _)| has(option)).map_or(Rounding::Rne, |(_, rounding)| *rounding);
        // Its integers are those of x86, but unlike x86 it flags zero times infinity plus a quiet NaN.
        let to_integers = matches!(function, Function::Conversion(_, to) if to.is_integer());
        let environment = Environment {
            rounding,
            tininess: if has("-tininessbefore") { Tininess::Before } else { Tininess::After },
            nan: if to_integers { NanRule::X86 } else { NanRule::Canonical },
            ..Environment::default()
        };
        Setting { function, environment, exact: has("-exact") }
    }

    fn outcome(&self, reference: &mut Reference, operands: [u64; 3]) -> Outcome {
        match self.function {
            Function::Operation(format, Operation::Rint) if self.exact => {
                reference.apply(format, &self.environment, Operation::RintExact, operands)
            }
            Function::Operation(format, operation) => reference.apply(format, &self.environment, operation, operands),
            Function::Conversion(from, to) => {
                let outcome = reference.convert(from, to, &self.environment, operands[0]);
                let silent = to.is_integer() && !self.exact;
                Outcome { flags: if silent { outcome.flags.without(Flags::INEXACT) } else { outcome.flags }, ..outcome }
            }
        }
    }

    /// True if the reference agrees with a line of `operands...
    /// result flags` in hexadecimal; all NaNs are equal.
    fn agrees(&self, reference: &mut Reference, line: &str) -> bool {
        let words: Vec<u64> = line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        let [operands @ .., expected, flags] = words.as_slice() else { panic!("'{line}' is too short") };
        let operands = std::array::from_fn(|i| operands.get(i).copied().unwrap_or(0));
        let outcome = self.outcome(reference, operands);
        let target = match self.function {
            Function::Operation(format, operation) => (operation.result() == ResultKind::Number).then_some(format),
            Function::Conversion(_, to) => Some(to),
        };
        let nan = |code| target.is_some_and(|format| format.decode(code).class == Class::Nan);
        let same = |code| code == *expected || nan(code) && nan(*expected);
        outcome.code.is_some_and(same) && u64::from(outcome.flags.bits()) == *flags
    }
}

/// Number of lines that agree, and some of the others.
type Count = (u64, Vec<String>);

/// Checks the lines of one function; options are separate lines that begin with a dash.
fn count(name: &str, options: &str, lines: impl BufRead) -> Count {
    let (mut setting, mut options) = (Setting::new(name, options), options.to_string());
    let (mut reference, mut agreed, mut differing) = (Reference::new(), 0, vec![]);
    for line in lines.lines().map(Result::unwrap) {
        if line.starts_with('-') {
            (setting, options) = (Setting::new(name, &line), line);
        } else if setting.agrees(&mut reference, &line) {
            agreed += 1;
        } else if differing.len() < 3 {
            differing.push(format!("{name} {options}: {line}"));
        }
    }
    (agreed, differing)
}

fn settle(counts: Vec<Count>) {
    let agreed: u64 = counts.iter().map(|(agreed, _)| agreed).sum();
    let differing: Vec<String> = counts.into_iter().flat_map(|(_, differing)| differing).collect();
    println!("{agreed} lines of TestFloat agree");
    assert!(differing.is_empty(), "{} functions and options differ, as\n{}", differing.len(), differing.join("\n"));
    assert!(agreed > 0, "nothing was compared");
}

#[test]
fn the_reference_agrees_with_recorded_lines_of_testfloat() {
    let folder = Path::new("../../tests/fixtures/testfloat");
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let functions: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt")).collect();
    let counts = functions.into_par_iter().map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        count(name, "", BufReader::new(std::fs::File::open(&path).unwrap()))
    });
    settle(counts.collect());
}

/// All functions of the generator with every combination of options that they depend on.
fn runs() -> Vec<(String, String)> {
    let (floats, integers) = (["f16", "f32", "f64"], ["i32", "ui32", "i64", "ui64"].into_iter());
    let mut names = vec![];
    for float in floats {
        names.extend(OPERATIONS.iter().map(|(operation, _)| format!("{float}_{operation}")));
        names.extend(floats.into_iter().filter(|to| *to != float).map(|to| format!("{float}_to_{to}")));
        names.extend(
            integers.clone().flat_map(|integer| [format!("{float}_to_{integer}"), format!("{integer}_to_{float}")]),
        );
    }
    let integral = |name: &str| Function::named(name).is_integral();
    let with = |name: String| {
        let others = if integral(&name) { ["-exact", "-notexact"] } else { ["-tininessbefore", "-tininessafter"] };
        let options = ROUNDINGS.iter().flat_map(move |(rounding, _)| others.map(|other| format!("{rounding} {other}")));
        options.map(move |options| (name.clone(), options)).collect::<Vec<_>>()
    };
    names.into_iter().flat_map(with).collect()
}

#[test]
#[ignore = "takes minutes, and needs Berkeley TestFloat's generator"]
fn the_reference_agrees_with_the_generator_of_testfloat() {
    let generator = std::env::var("TESTFLOAT_GEN").expect("TESTFLOAT_GEN: the path of testfloat_gen");
    let counts = runs().into_par_iter().map(|(name, options)| {
        let mut command = Command::new(&generator);
        command.args(options.split(' ')).arg(&name).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let counted = count(&name, &options, BufReader::new(child.stdout.take().unwrap()));
        assert!(child.wait().unwrap().success(), "{name} {options}");
        counted
    });
    settle(counts.collect());
}
