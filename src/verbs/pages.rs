//! Commands and options that pages name: every line parses, every option and name is known.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use clap::{
    Command, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{Cli, command};
use crate::{arithmetic::Model, device::program_words, experiment, isa};

/// Folders without pages of the project, and the history of changes, which names what is gone.
const NO_PAGES: [&str; 4] = ["target", "node_modules", "CHANGELOG.md", "reports"];

/// Options of other programs that pages name: a separator, a notebook's, and one of `tools/test`.
const FOREIGN: [&str; 3] = ["--", "--seconds", "--rest"];

/// Values for placeholders of a page: `N`, `ATOL,RTOL`, `M,N,K`, `OP`.
const VALUES: [&str; 4] = ["8", "8,8", "8,8,8", "dot"];

/// Every page of the repository, by path, with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut pages, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if NO_PAGES.contains(&name.as_str()) || name.starts_with('.') || path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(&path).unwrap();
                pages.push((path.strip_prefix(root).unwrap().to_owned(), text));
            }
        }
    }
    pages.sort();
    assert!(pages.len() > 50, "{} pages", pages.len());
    pages
}

/// The code of a page: spans within lines of text, and lines of blocks.
fn code(page: &str) -> (Vec<String>, Vec<String>) {
    let (mut prose, mut lines, mut block) = (String::new(), Vec::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            block = !block;
        } else if block || line.starts_with("    ") {
            let line = line.trim().trim_start_matches("$ ");
            match lines.last_mut().filter(|last: &&mut String| last.ends_with('\\')) {
                Some(last) => *last = last.trim_end_matches('\\').to_owned() + line,
                None => lines.push(line.to_owned()),
            }
        } else {
            prose += line.trim();
            prose += if line.is_empty() || line.starts_with('|') { "\n" } else { " " };
        }
    }
    // A span ends in its paragraph or cell.
    let spans = prose.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    (spans.map(|span| span.replace("\\|", "|")).collect(), lines)
}

/// The words of a command line, without what a shell takes and without gaps; `None` for other text.
fn words(line: &str) -> Option<Vec<String>> {
    let rest = line.strip_prefix("tcnum ")?;
    let ends = [" > ", " | ", " # ", " && ", "; "];
    let rest = ends.iter().fold(rest, |rest, end| rest.split(end).next().unwrap_or(rest));
    let words = program_words(rest).unwrap_or_else(|_| panic!("{line}: open quotation mark"));
    let words = words.into_iter().filter(|word| word != "...");
    Some(std::iter::once("tcnum".to_owned()).chain(words).collect())
}

/// True if a word of a page stands for something that the reader chooses.
fn is_placeholder(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_uppercase() || ",:@-_".contains(c))
}

/// The problem of a command line, if it has one.
///
/// `mentioned`: a page says its beginning, not all that it needs.
fn problem(mut words: Vec<String>, mentioned: bool) -> Option<String> {
    if words.iter().any(|word| ["COMMAND", "NAME"].contains(&word.as_str()) && *word == words[1]) {
        return None;
    }
    let parse =
        |words: &[String]| command().try_get_matches_from(words).and_then(|given| Cli::from_arg_matches(&given));
    let invalid = |error: &clap::Error| match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => Some(value.clone()),
        _ => None,
    };
    let error = loop {
        let Err(error) = parse(&words) else { return unknown(&words) };
        let Some(at) = invalid(&error)
            .filter(|value| is_placeholder(value))
            .and_then(|value| words.iter().position(|word| *word == value))
        else {
            break error;
        };
        let mut fits = |value: &&&str| {
            words[at] = (**value).to_owned();
            parse(&words).err().and_then(|error| invalid(&error)).is_none_or(|wrong| wrong != **value)
        };
        if VALUES.iter().find(&mut fits).is_none() {
            break error;
        }
    };
    let incomplete = [
        ErrorKind::MissingRequiredArgument,
        ErrorKind::MissingSubcommand,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
        ErrorKind::DisplayHelp,
    ];
    let unfinished = incomplete.contains(&error.kind()) || invalid(&error).is_some_and(|value| value.is_empty());
    (!(mentioned && unfinished)).then(|| error.to_string())
}

/// The first name of an instruction, a model or an experiment that the program does not know.
fn unknown(words: &[String]) -> Option<String> {
    let chosen = |name: &str| is_placeholder(name) || name.contains(['/', ':', '*']) || name.ends_with(".toml");
    let known = |option: &str, name: &str| match option {
        "--instr" => isa::known(name).is_some() || name.starts_with("gemm.") || crate::isa::scalar::find(name).is_ok(),
        "--model" | "--against" => Model::load(name).is_ok(),
        _ => true,
    };
    let options = words.windows(2).filter(|pair| !chosen(&pair[1]) && !known(&pair[0], &pair[1]));
    let mut all = options.map(|pair| format!("{} {} is not known", pair[0], pair[1]));
    let experiment = words.get(2).filter(|name| words[1] == "experiment" && !name.starts_with('-') && !chosen(name));
    all.next().or_else(|| experiment.and_then(|name| experiment::Experiment::find(name).err()).map(|e| e.to_string()))
}

#[test]
fn every_command_of_a_page_is_a_command_line() {
    let (mut problems, mut count) = (Vec::new(), 0);
    for (path, page) in pages() {
        let (spans, lines) = code(&page);
        let all = spans.iter().map(|span| (span, true)).chain(lines.iter().map(|line| (line, false)));
        for (text, mentioned) in all {
            let Some(words) = words(text) else { continue };
            count += 1;
            problems.extend(problem(words, mentioned).map(|why| format!("{}: {text}: {why}", path.display())));
        }
    }
    assert!(count > 400, "{count}");
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Long options of a command and of all below it.
fn options(command: &Command, flags: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        let names = argument.get_long_and_visible_aliases().unwrap_or_default();
        flags.extend(names.into_iter().map(|name| format!("--{name}")));
    }
    command.get_subcommands().for_each(|inner| options(inner, flags));
}

#[test]
fn every_option_of_a_page_exists() {
    let mut known = BTreeSet::new();
    let mut program = command();
    program.build();
    options(&program, &mut known);
    let mut problems = Vec::new();
    for (path, page) in pages() {
        for span in code(&page).0.iter().filter(|span| span.starts_with("--")) {
            let name = span.split([' ', '=', ',']).next().unwrap_or(span);
            if !known.contains(name) && !FOREIGN.contains(&name) {
                problems.push(format!("{}: {span}", path.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{} options do not exist:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn commands_are_found_in_spans_tables_and_blocks() {
    let page =
        "Use `tcnum formats\ne4m3`, or:\n\n| a | `tcnum x \\| y` |\n\n```console\n$ tcnum a\n```\n\n    tcnum b > c\n";
    let (spans, lines) = code(page);
    assert_eq!(spans, ["tcnum formats e4m3", "tcnum x | y"]);
    assert_eq!(lines, ["tcnum a", "tcnum b > c"]);
    assert_eq!(words("tcnum b > c").unwrap(), ["tcnum", "b"]);
    let of = |line: &str, mentioned| problem(words(line).unwrap(), mentioned);
    assert!(of("tcnum bound --instr NAME --k K", true).is_none());
    assert!(of("tcnum check", true).is_none() && of("tcnum check", false).is_some());
    for wrong in ["tcnum instructions --fmt bf16", "tcnum experiment table-99", "tcnum tree --instr mma.m1n1k1"] {
        assert!(of(wrong, true).is_some(), "{wrong}");
    }
}
