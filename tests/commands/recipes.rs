//! The book of recipes: what its pages print is what the commands print, and every page has its place in the book.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::machine::amount;

fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(path)
}

fn pages(folder: &str) -> BTreeSet<String> {
    let names = fs::read_dir(docs(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".md")).collect()
}

/// Pages beside the recipes whose commands are run.
const PAGES: [&str; 14] = [
    "diff.md",
    "distinguish.md",
    "emulate.md",
    "explain.md",
    "extending.md",
    "findings-arm.md",
    "findings-h200.md",
    "gemm.md",
    "identify.md",
    "power.md",
    "probe.md",
    "tree.md",
    "../models/README.md",
    "../README.md",
];

/// Words of commands that need hardware, files of a reader, or minutes.
const UNHELD: [&str; 6] = ["cuda:", "cpu", "exec:", "w.npy", "--from-nothing", "1e6"];

/// Whether `printed` is what `shown` says, in which a line of three points stands for any lines.
fn is_as_shown(printed: &[&str], shown: &[&str]) -> bool {
    let Some(gap) = shown.iter().position(|line| *line == "...") else { return printed == shown };
    let (begin, rest) = (&shown[..gap], &shown[gap + 1..]);
    printed.starts_with(begin) && (begin.len()..=printed.len()).any(|from| is_as_shown(&printed[from..], rest))
}

/// How many words two lines share.
fn shared(one: &str, other: &str) -> usize {
    let words = |line: &'_ str| line.split_whitespace().map(|word| word.trim_matches('-').to_string()).collect();
    let (one, other): (BTreeSet<String>, BTreeSet<String>) = (words(one), words(other));
    one.intersection(&other).count()
}

/// The lines of `printed` to show in place of `shown`: the parts between gaps are those most like the old ones.
fn rewritten<'a>(printed: &[&'a str], shown: &[&'a str]) -> Vec<&'a str> {
    let parts: Vec<&[&str]> = shown.split(|line| *line == "...").collect();
    if parts.len() == 1 || is_as_shown(printed, shown) {
        return if parts.len() == 1 { printed.to_vec() } else { shown.to_vec() };
    }
    let (mut lines, mut from) = (Vec::new(), 0);
    for (number, part) in parts.iter().enumerate() {
        let last = printed.len().saturating_sub(part.len());
        let like = |at: &usize| part.iter().zip(&printed[*at..]).map(|(old, new)| shared(old, new)).sum::<usize>();
        let begin = match number {
            0 => 0,
            _ if number + 1 == parts.len() => last,
            _ => (from..=last).rev().max_by_key(like).unwrap_or(last),
        };
        from = printed.len().min(begin + part.len());
        lines.extend((number > 0).then_some("..."));
        lines.extend(&printed[begin.min(from)..from]);
    }
    lines
}

/// Runs the commands of a page, one after the other in a folder, and compares what they print, or with `TCNUM_WRITE_SNAPSHOTS` set
/// writes it anew, to be read before it is committed: how many there are.
fn hold(name: &str) -> usize {
    let page = fs::read_to_string(docs(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for linked in ["models", "tests"] {
        std::os::unix::fs::symlink(docs("..").join(linked), folder.path().join(linked)).unwrap();
    }
    let mut blocks = page.split("```console\n");
    let (mut now, mut count) = (blocks.next().unwrap().to_string(), 0);
    for block in blocks {
        let (block, after) = block.split_once("```").unwrap();
        let (prompt, shown) = block.split_once('\n').unwrap();
        let line = prompt.strip_prefix("$ tcnum ").expect("a block begins with a command");
        let mut block = block.to_string();
        if !UNHELD.iter().any(|word| line.contains(word)) {
            let mut tcnum = Command::new(env!("CARGO_BIN_EXE_tcnum"));
            let output = tcnum.args(line.split(' ')).current_dir(&folder).env("COLUMNS", "120").output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let (printed, shown): (Vec<&str>, Vec<&str>) = (printed.lines().collect(), shown.lines().collect());
            if std::env::var_os("TCNUM_WRITE_SNAPSHOTS").is_some() {
                block = format!("{prompt}\n{}\n", rewritten(&printed, &shown).join("\n"));
            } else {
                assert!(is_as_shown(&printed, &shown), "{name}: tcnum {line}\nprints\n{}", printed.join("\n"));
            }
            count += 1;
        }
        now += &format!("```console\n{block}```{after}");
    }
    if now != page {
        fs::write(docs(name), now).unwrap();
    }
    count
}

#[test]
fn recipes_print_what_their_commands_print() {
    let names = pages("recipes");
    let mut count = 0;
    for name in names.iter().filter(|name| *name != "README.md").step_by(amount(3, 1)) {
        let own = hold(&format!("recipes/{name}"));
        let page = fs::read_to_string(docs("recipes").join(name)).unwrap();
        assert!(own > 0 && page.contains("```python\n"), "{name} has no command, or no Python");
        count += own;
    }
    assert!(count > amount(3, 15), "{count} commands");
}

#[test]
fn pages_print_what_their_commands_print() {
    for name in PAGES {
        assert!(hold(name) > 0, "{name} has no command");
    }
}

#[test]
fn a_block_that_is_written_anew_keeps_its_gaps() {
    let printed = ["a c", "note", "x 1", "y 2", "z", "end"];
    assert_eq!(rewritten(&printed, &["a b", "...", "y 3", "...", "end"]), ["a c", "...", "y 2", "...", "end"]);
    assert_eq!(rewritten(&printed, &["...", "x 0", "y 0", "..."]), ["...", "x 1", "y 2", "..."]);
    assert_eq!(rewritten(&printed, &["old"]), printed);
    assert_eq!(rewritten(&printed, &["a c", "...", "z", "..."]), ["a c", "...", "z", "..."]);
}

#[test]
fn what_is_left_out_is_marked() {
    let printed = ["a", "b", "c", "d"];
    for shown in [&["a", "b", "c", "d"][..], &["...", "c", "d"], &["a", "...", "d"], &["...", "b", "..."], &["..."]] {
        assert!(is_as_shown(&printed, shown), "{shown:?}");
    }
    for shown in [&["a", "b", "c"][..], &["b", "..."], &["...", "b"], &["...", "d", "a"], &["...", "e", "..."]] {
        assert!(!is_as_shown(&printed, shown), "{shown:?}");
    }
}

#[test]
fn every_page_has_its_place_in_the_book_and_every_recipe_in_the_index() {
    let (summary, index) =
        ["SUMMARY.md", "recipes/README.md"].map(|name| fs::read_to_string(docs(name)).unwrap()).into();
    for name in pages("").iter().filter(|name| *name != "SUMMARY.md") {
        assert!(summary.contains(&format!("]({name})")), "docs/SUMMARY.md lacks {name}");
    }
    for name in &pages("recipes") {
        assert!(summary.contains(&format!("](recipes/{name})")), "docs/SUMMARY.md lacks recipes/{name}");
        assert!(name == "README.md" || index.contains(&format!("]({name})")), "docs/recipes/README.md lacks {name}");
    }
}

#[test]
fn every_recipe_links_the_threads_that_the_index_names() {
    let index = fs::read_to_string(docs("recipes/README.md")).unwrap();
    for name in pages("recipes").iter().filter(|name| *name != "README.md") {
        let page = fs::read_to_string(docs("recipes").join(name)).unwrap();
        let asked = page.split("\n\n").nth(1).unwrap();
        assert!(asked.starts_with("Asked in: ["), "{name} does not begin with who asks");
        let links = asked.split("](https://github.com/").skip(1);
        let threads = links.filter_map(|rest| rest.split(')').next()?.rsplit_once('/'));
        let linked: BTreeSet<&str> = threads.map(|(_, number)| number).collect();
        let row = index.lines().find(|line| line.contains(&format!("]({name})"))).unwrap();
        let named = row.rsplit('|').nth(1).unwrap().split('#').skip(1);
        let named = named.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap()).collect();
        assert_eq!(linked, named, "{name} and docs/recipes/README.md");
    }
}
