//! The words of the program follow its rules of style: texts that a user reads, and the first lines of comments.
//!
//! `every_text_of_the_program_is_listed` writes all texts, by file, to `texts.txt` in the folder of test files below `target`: the list to
//! read when words are revised.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The folders whose words are held.
const SOURCES: [&str; 4] = ["src", "crates/core/src", "crates/engine/src", "crates/study/src"];

/// Beginnings of sentences that hide their subject.
const OPENINGS: [&str; 8] = ["Of ", "That of ", "Those of ", "That which ", "What ", "Whether ", "Which ", "Behind "];

/// Words that stand for a noun out of reach, or for a term of the field.
const VAGUE: [&str; 9] =
    ["of which", "that of", "those of", "what is", "as it is", "told apart", "beside", "behind the point", "so many"];

/// The most characters of a doc comment's first line.
const FIRST_LINE: usize = 100;

/// Files below the commands whose texts hold options, and why.
const OPTIONS: [(&str, &str); 10] = [
    ("crates/core/src/base/error.rs", "the name of a limit in the schema of results"),
    ("src/atlas/lists.rs", "whole commands of a page"),
    ("src/atlas/mod.rs", "the command that repeats a site"),
    ("src/atlas/instruction", "whole commands of a page"),
    ("crates/engine/src/device/cuda/compile.rs", "options of NVRTC"),
    ("crates/study/src/check/tests/missed.rs", "options of the script that a test runs"),
    ("src/survey/mod.rs", "commands that are the steps of a survey"),
    ("crates/study/src/kit/amd.rs", "the line that compiles a kit"),
    ("src/document", "commands whose results a document holds"),
    ("crates/engine/src/report/figure/svg.rs", "variables of a style sheet"),
];

/// Rust files below the source folders, without those of tests, by path.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = SOURCES.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(root).unwrap().to_owned(), text));
            }
        }
    }
    files.sort();
    assert!(files.len() > 200, "{} files", files.len());
    files
}

/// String literals of code, in order, without attributes, doc comments and modules of tests.
fn literals(tokens: TokenStream, texts: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut test = false;
    while let Some(token) = tokens.next() {
        match token {
            // An attribute: `#[...]` or `#![...]`.
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                tokens.next_if(|next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == '!'));
                let attribute =
                    tokens.next_if(|next| matches!(next, TokenTree::Group(g) if g.delimiter() == Delimiter::Bracket));
                test |= attribute.is_some_and(|attribute| {
                    ["[cfg(test", "[cfg(all(test"]
                        .iter()
                        .any(|test| attribute.to_string().replace(' ', "").starts_with(test))
                });
            }
            TokenTree::Group(group) => {
                if !(test && group.delimiter() == Delimiter::Brace) {
                    literals(group.stream(), texts);
                }
                test &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Punct(end) if end.as_char() == ';' => test = false,
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    texts.push(text.value());
                }
            }
            _ => {}
        }
    }
}

/// Whether a literal is text for people: at least two words, and no markup or code.
fn is_prose(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1);
    words.count() > 1 && !["</", "\\", ";\n", "=\"", "();", "__"].iter().any(|code| text.contains(code))
}

/// The texts of the program for people, with their files.
fn texts() -> Vec<(PathBuf, Vec<String>)> {
    let mut all = Vec::new();
    for (path, text) in sources() {
        let mut prose = Vec::new();
        literals(text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display())), &mut prose);
        prose.retain(|text| is_prose(text));
        all.push((path, prose));
    }
    all
}

/// The sentences of a text.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(". ").flat_map(|part| part.split('\n')).map(str::trim)
}

fn opens_badly(text: &str) -> bool {
    OPENINGS.iter().any(|opening| text.starts_with(opening)) && !text.ends_with('?')
}

fn assert_none(problems: &[String], rule: &str) {
    assert!(problems.is_empty(), "{} {rule}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_text_of_the_program_is_listed() {
    let mut list = String::new();
    for (path, texts) in texts().iter().filter(|(_, texts)| !texts.is_empty()) {
        let _ = writeln!(list, "{}", path.display());
        for text in texts {
            let _ = writeln!(list, "    {}", text.replace('\n', "\n    "));
        }
    }
    assert!(list.lines().count() > 1000);
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("texts.txt"), list).unwrap();
}

#[test]
fn a_text_names_its_subject_first() {
    let mut problems = Vec::new();
    for (path, texts) in texts() {
        for text in texts {
            let bad = sentences(&text).any(opens_badly) || VAGUE.iter().any(|word| text.to_lowercase().contains(word));
            problems.extend(bad.then(|| format!("{}: {text}", path.display())));
        }
    }
    assert_none(&problems, "texts hide their subject");
}

/// The first lines of comments that begin with `mark`, with their places.
fn first_lines(mark: &str) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (path, text) in sources() {
        let mut before = "";
        for (number, line) in text.lines().map(str::trim).enumerate() {
            if let Some(first) = line.strip_prefix(mark).filter(|_| !before.starts_with(mark.trim_end())) {
                lines.push((format!("{}:{}", path.display(), number + 1), first.to_owned()));
            }
            before = line;
        }
    }
    assert!(lines.len() > 500, "{}", lines.len());
    lines
}

#[test]
fn the_first_line_of_a_doc_comment_is_short_and_names_its_subject() {
    let mut problems = Vec::new();
    for (place, line) in first_lines("/// ").into_iter().chain(first_lines("//! ")) {
        let bad = opens_badly(&line) || line.chars().count() > FIRST_LINE;
        problems.extend(bad.then(|| format!("{place}: {line}")));
    }
    assert_none(&problems, "first lines are long or hide their subject");
}

#[test]
fn a_comment_names_its_subject_first() {
    let lines = first_lines("// ").into_iter().filter(|(_, line)| opens_badly(line));
    let problems: Vec<String> = lines.map(|(place, line)| format!("{place}: {line}")).collect();
    assert_none(&problems, "comments hide their subject");
}

/// True if a text holds an option of a command line, `--name`, outside of whole commands in backticks.
fn holds_an_option(text: &str) -> bool {
    let parts = text.split('`').enumerate().filter(|(at, part)| at % 2 == 0 || !part.starts_with("tcnum "));
    parts.into_iter().any(|(_, part)| {
        part.match_indices("--").any(|(at, mark)| {
            let begins = !part[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-');
            begins && part[at + mark.len()..].starts_with(|c: char| c.is_ascii_lowercase())
        })
    })
}

#[test]
fn no_text_below_the_verbs_spells_an_option() {
    let (mut problems, mut listed) = (Vec::new(), std::collections::BTreeSet::new());
    for (path, text) in sources().into_iter().filter(|(path, _)| !path.starts_with("src/verbs")) {
        let mut strings = Vec::new();
        literals(text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display())), &mut strings);
        for text in strings.into_iter().filter(|text| holds_an_option(text)) {
            match OPTIONS.iter().find(|(place, _)| path.starts_with(place)) {
                Some((place, _)) => drop(listed.insert(*place)),
                None => problems.push(format!("{}: {text}", path.display())),
            }
        }
    }
    assert_none(
        &problems,
        "texts spell an option, which a caller in Python has not; name the parameter: \u{2039}scale_a\u{203a}",
    );
    assert_eq!(listed.len(), OPTIONS.len(), "a file of the list spells no option: {listed:?}");
}
