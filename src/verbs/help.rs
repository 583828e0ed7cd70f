//! Shape of the help: one sentence, examples that parse, one line for each option.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use clap::Command;

use super::command;

/// The headings of options; `Schedule` belongs to the verbs about matrix products.
const HEADINGS: [&str; 6] = ["What", "Device", "Inputs", "Output", "Limits", "Schedule"];

/// The most characters of a verb's sentence and of an option's line.
const SENTENCE: usize = 84;
const LINE: usize = 72;

/// All verbs and their subcommands, each with its words behind `tcnum`.
fn verbs() -> Vec<(String, Command)> {
    fn add(words: &str, command: &Command, commands: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let words = format!("{words} {}", inner.get_name()).trim().to_owned();
            add(&words, inner, commands);
            commands.push((words, inner.clone()));
        }
    }
    let mut program = command();
    program.build();
    let mut commands = Vec::new();
    add("", &program, &mut commands);
    assert!(commands.len() > 25, "{}", commands.len());
    commands
}

/// Problems of all verbs that `of` finds, as one text.
fn assert_none(of: impl Fn(&str, &Command) -> Vec<String>) {
    let all: Vec<String> = verbs()
        .iter()
        .flat_map(|(words, verb)| of(words, verb).into_iter().map(move |p| format!("{words}: {p}")))
        .collect();
    assert!(all.is_empty(), "{} problems:\n{}", all.len(), all.join("\n"));
}

#[test]
fn a_verb_is_one_sentence_with_examples_and_a_page() {
    assert_none(|_, verb| {
        let text = |styled: Option<&clap::builder::StyledStr>| styled.map(ToString::to_string).unwrap_or_default();
        let (about, after) = (text(verb.get_about()), text(verb.get_after_help()));
        let examples = after.lines().filter(|line| line.starts_with("  tcnum ")).count();
        let page = after.lines().find_map(|line| line.strip_prefix("More: "));
        let mut problems = Vec::new();
        if about.contains('\n') || !(20..=SENTENCE).contains(&about.chars().count()) {
            problems.push(format!("the sentence is too long, too short or no sentence: {about}"));
        }
        if verb.get_long_about().is_some_and(|long| long.to_string() != about) {
            problems.push("the long story belongs to a page in docs".into());
        }
        // A verb that only holds subcommands leaves examples to them.
        if verb.has_subcommands() && verb.is_subcommand_required_set() {
            return problems;
        }
        if !(1..=4).contains(&examples) {
            problems.push(format!("{examples} examples"));
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        if page.is_some_and(|pages| pages.split(", ").any(|page| !root.join(page).is_file())) {
            problems.push(format!("no page {page:?}"));
        }
        problems
    });
}

#[test]
fn an_option_is_one_line_under_a_known_heading() {
    assert_none(|_, verb| {
        let mut problems = Vec::new();
        let options =
            verb.get_arguments().filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()));
        for option in options {
            let name = option.get_long().unwrap_or(option.get_id().as_str());
            let line = option.get_help().map(ToString::to_string).unwrap_or_default();
            if line.is_empty() || line.contains('\n') || line.chars().count() > LINE {
                problems.push(format!("--{name}: {} characters: {line}", line.chars().count()));
            }
            if option.get_long_help().is_some() {
                problems.push(format!("--{name}: the long story belongs to a page in docs"));
            }
            if option.get_possible_values().iter().any(|value| value.get_help().is_some()) {
                problems.push(format!("--{name}: its values have a help of their own"));
            }
            match option.get_help_heading() {
                Some(heading) if HEADINGS.contains(&heading) => {}
                _ if option.is_positional() => {}
                heading => problems.push(format!("--{name}: heading {heading:?}")),
            }
        }
        problems
    });
}

#[test]
fn an_example_of_the_help_is_a_command_line() {
    assert_none(|_, verb| {
        let after = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = after.lines().map(str::trim).filter(|line| line.starts_with("tcnum "));
        // A shell takes the redirection.
        let examples = lines.map(|line| line.split(" > ").next().unwrap_or(line));
        let parse = |line: &str| {
            let words = crate::device::program_words(line).expect("quotes are closed");
            super::command().try_get_matches_from(words).err().map(|error| format!("{line}: {error}"))
        };
        examples.filter_map(parse).collect()
    });
}

/// Parameters that a source file names in messages, such as `‹cases›`.
fn parameters(text: &str) -> impl Iterator<Item = &str> {
    text.split('‹')
        .skip(1)
        .filter_map(|part| part.split_once('›'))
        .map(|(named, _)| named.split('=').next().unwrap_or(named))
}

#[test]
fn a_parameter_that_a_message_names_is_an_option_of_a_verb() {
    let options: BTreeSet<String> = verbs()
        .iter()
        .flat_map(|(_, verb)| {
            verb.get_arguments().filter_map(clap::Arg::get_long).map(|long| long.replace('-', "_")).collect::<Vec<_>>()
        })
        .collect();
    let mut named = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> =
        ["src", "crates/engine/src", "crates/study/src"].map(|folder| root.join(folder)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => named.extend(parameters(&fs::read_to_string(path).unwrap_or_default()).map(String::from)),
            }
        }
    }
    named.retain(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_') && !name.is_empty());
    assert!(named.len() > 40 && named.is_subset(&options), "{:?} are no options", named.difference(&options));
}

/// Options whose text differs between verbs, and why.
const HOMONYMS: &[(&str, &str)] = &[
    ("a", "a matrix of a file; in explain the values of one row"),
    ("all", "every instruction; every experiment"),
    ("all-models", "every shipped model as a device; in bound one instruction of every arithmetic"),
    ("b", "a matrix of a file; in explain the values of one column"),
    ("budget", "tiles of a search; in quantise bits of a value"),
    ("c", "a matrix of a file; in explain one value"),
    ("cases", "cases of an instruction; dot-product-adds of a bound; inputs of a scalar operation"),
    ("conversions", "instructions of a list; conversions that are timed"),
    ("device", "one device, several, or DEVICE/INSTRUCTION; in gemm library a library"),
    ("dist", "distributions by name or with numbers, of one draw or of several"),
    ("element", "an element that a device is asked for; in explain one of a product of files"),
    ("fmt", "the operands of mma instructions; in calc and probe scalar of single operations"),
    ("folder", "one file for each instruction or for each experiment"),
    ("from", "codes of a file; in convert also of values"),
    ("instr", "one instruction or several, of a device, a model, a product or a file of parts"),
    ("k", "terms of each sum; in attention a file of keys"),
    ("layout", "quantised tensors as they are or will be; in gemm library the order of A and B"),
    ("model", "the model of a claim, the one to compare with, or several to search"),
    ("op", "operations of a probe, of calc, and of scalar instructions"),
    ("out", "a result; in report a document, in survey a folder"),
    ("per", "quantise compares several ways to share a scale"),
    ("random-bits", "bits of SR in a format; bits that a unit draws"),
    ("samples", "samples of a probe; in experiment also chains and products"),
    ("scale-a", "scales of a file; in explain values"),
    ("scale-b", "scales of a file; in explain values"),
    ("scale-rule", "quantise compares several rules"),
    ("schedule", "a schedule that options change; in explain the schedule of an element"),
    ("shape", "the shape of one drawn product; emulate draws several"),
    ("tile", "a tile of a recording; in attention the keys of a tile"),
    ("tiles", "tiles of a recording; the fewest tiles of a kit"),
    ("to", "quantise compares several formats; calc converts single values"),
];

#[test]
fn an_option_of_one_name_has_one_text() {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, verb) in verbs() {
        for option in verb.get_arguments() {
            let (Some(name), Some(help)) = (option.get_long(), option.get_help()) else { continue };
            // A verb may have a default of its own.
            let help = help.to_string();
            texts.entry(name.into()).or_default().insert(help.split(" [default").next().unwrap_or(&help).into());
        }
    }
    let several: BTreeMap<&String, &BTreeSet<String>> = texts.iter().filter(|(_, texts)| texts.len() > 1).collect();
    let listed: BTreeSet<&str> = HOMONYMS.iter().map(|(name, _)| *name).collect();
    let names: BTreeSet<&str> = several.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, listed, "declare the option in common/shared.rs, or list its meanings: {several:#?}");
}
