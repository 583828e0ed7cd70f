//! Earlier spellings, which kept reports and published commands name.
//!
//! They are options that are verbs or subcommands now.

use std::ffi::OsString;

use crate::{
    device::DeviceName,
    isa::scalar::{self, ScalarOperation},
};

/// Verb, option, the values that count (`None`: any, and the option goes), today's words.
type Earlier = (&'static str, &'static str, Option<fn(&str) -> bool>, &'static str);

/// The options that are verbs or subcommands now; the first that is given counts.
const OPTIONS: [Earlier; 10] = [
    ("gemm", "--match", None, "gemm match"),
    ("gemm", "--between", None, "gemm between"),
    ("gemm", "--product", Some(any), "gemm library"),
    ("gemm", "--shapes", Some(any), "gemm library"),
    ("gemm", "--batches", Some(any), "gemm library"),
    ("gemm", "--device", Some(is_library), "gemm library"),
    ("identify", "--features", None, "features"),
    ("probe", "--bits", None, "probe bits"),
    ("probe", "--op", Some(is_scalar_operation), "probe scalar"),
    ("probe", "--instr", Some(is_scalar_instruction), "probe scalar"),
];

fn any(_: &str) -> bool {
    true
}

fn is_library(value: &str) -> bool {
    matches!(DeviceName::from(value), DeviceName::CublasLt(_))
}

fn is_scalar_operation(value: &str) -> bool {
    ScalarOperation::ALL.iter().any(|operation| operation.name() == value)
}

fn is_scalar_instruction(value: &str) -> bool {
    scalar::find(value).is_ok() || scalar::begins_alike(value)
}

/// A command line in today's spelling.
pub(crate) fn respelt(mut words: Vec<OsString>) -> Vec<OsString> {
    let text = |at: usize| words.get(at).and_then(|word| word.to_str()).unwrap_or_default();
    let at = match text(1).split_once('=') {
        Some(("--time-limit", _)) => 2,
        None if text(1) == "--time-limit" => 3,
        _ => 1,
    };
    // A named subcommand is today's spelling, and help is about the verb.
    if !text(at + 1).starts_with('-') || ["-h", "--help"].contains(&text(at + 1)) {
        return words;
    }
    let given = |option: &str, means: Option<fn(&str) -> bool>| {
        (at + 1..words.len()).find(|i| match text(*i).split_once('=') {
            Some((name, value)) => name == option && means.is_none_or(|means| means(value)),
            None => text(*i) == option && means.is_none_or(|means| means(text(i + 1))),
        })
    };
    let mut own = OPTIONS.iter().filter(|(verb, ..)| *verb == text(at));
    let found = own.find_map(|(_, option, means, today)| Some((*today, given(option, *means)?, means)));
    match found {
        Some((today, place, means)) => {
            if means.is_none() {
                match text(place).split_once('=').map(|(_, value)| OsString::from(value)) {
                    Some(value) => words[place] = value,
                    None => drop(words.remove(place)),
                }
            }
            words.splice(at..=at, today.split(' ').map(OsString::from));
        }
        None if text(at) == "gemm" => words.insert(at + 1, "compute".into()),
        None => {}
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn earlier_spellings_are_the_subcommands_of_today() {
        for (earlier, today) in [
            ("gemm --a a.npy --b b.npy --match d.npy", "gemm match --a a.npy --b b.npy d.npy"),
            ("gemm --match=d.npy -q", "gemm match d.npy -q"),
            ("gemm -q --between x y --product p", "gemm between -q x y --product p"),
            ("gemm --shapes t.csv --seed 1", "gemm library --shapes t.csv --seed 1"),
            ("gemm --device cublaslt --batches t.csv", "gemm library --device cublaslt --batches t.csv"),
            ("gemm --device=cublaslt:1 --a a", "gemm library --device=cublaslt:1 --a a"),
            ("gemm --device cuda:0 --instr i", "gemm compute --device cuda:0 --instr i"),
            ("--time-limit 5 gemm --shape 1,2,3", "--time-limit 5 gemm compute --shape 1,2,3"),
            ("--time-limit=5 probe --op add", "--time-limit=5 probe scalar --op add"),
            ("probe --fmt f16 --bits", "probe bits --fmt f16"),
            ("probe --op=convert --fmt e4m3", "probe scalar --op=convert --fmt e4m3"),
            ("probe --instr vcvtps2ph.rn --device cpu", "probe scalar --instr vcvtps2ph.rn --device cpu"),
            ("identify --features --fmt f16 --device ampere", "features --fmt f16 --device ampere"),
            ("--time-limit 9 identify --all --features -q", "--time-limit 9 features --all -q"),
        ] {
            assert_eq!(respelt(words(&format!("tcnum {earlier}"))), words(&format!("tcnum {today}")), "{earlier}");
        }
        for today in [
            "gemm",
            "gemm --help",
            "gemm match d --a a",
            "probe --fmt bf16 --op accumulate",
            "verify --op add",
            "identify --quick --device hopper",
            "features --all-models",
            "probe",
        ] {
            let today = words(&format!("tcnum {today}"));
            assert_eq!(respelt(today.clone()), today);
        }
    }
}
