//! The book of recipes: what its pages print is what the commands print, and every page has its place in the book.

use std::{
    collections::BTreeSet,
    fs,
    panic::resume_unwind,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::machine::{amount, thorough};

fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(path)
}

fn pages(folder: &str) -> BTreeSet<String> {
    let names = fs::read_dir(docs(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".md")).collect()
}

/// Pages of other folders whose commands are run; all pages of `docs` are.
const OTHERS: [&str; 5] = [
    "../crates/core/src/softfloat/README.md",
    "../experiments/README.md",
    "../models/README.md",
    "../targets/README.md",
    "../README.md",
];

/// Words of commands that are not run: they need hardware, another program, or a file of the reader.
const UNHELD: [&str; 6] = ["cuda:", "cpu", "exec:", "exec-check", "w.npy", "model.safetensors"];

/// A command of minutes, which is run by complete runs of the tests alone.
const LONG: &str = "--all --all-models";

/// Whether blocks are written anew, to be read before they are committed.
fn writes() -> bool {
    std::env::var_os("TCNUM_WRITE_SNAPSHOTS").is_some()
}

/// Whether `printed` is what `shown` says, in which a line of three points stands for any lines.
fn is_as_shown<T: AsRef<str> + PartialEq>(printed: &[T], shown: &[T]) -> bool {
    let Some(gap) = shown.iter().position(|line| line.as_ref() == "...") else { return printed == shown };
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
fn rewritten<T: AsRef<str> + Clone + PartialEq>(printed: &[T], shown: &[T]) -> Vec<T> {
    let parts: Vec<&[T]> = shown.split(|line| line.as_ref() == "...").collect();
    let Some(gap) = shown.iter().find(|line| line.as_ref() == "...") else { return printed.to_vec() };
    if is_as_shown(printed, shown) {
        return shown.to_vec();
    }
    let (mut lines, mut from) = (Vec::new(), 0);
    for (number, part) in parts.iter().enumerate() {
        let last = printed.len().saturating_sub(part.len());
        let alike = |(old, new): (&T, &T)| shared(old.as_ref(), new.as_ref());
        let like = |at: &usize| part.iter().zip(&printed[*at..]).map(alike).sum::<usize>();
        let begin = match number {
            0 => 0,
            _ if number + 1 == parts.len() => last,
            _ => (from..=last).rev().max_by_key(like).unwrap_or(last),
        };
        from = printed.len().min(begin + part.len());
        lines.extend((number > 0).then(|| gap.clone()));
        lines.extend_from_slice(&printed[begin.min(from)..from]);
    }
    lines
}

/// Runs the commands of a page in a folder, and compares the blocks with what they print, or with `TCNUM_WRITE_SNAPSHOTS` set writes
/// the blocks anew. Returns the number of commands.
fn hold(name: &str) -> usize {
    let page = fs::read_to_string(docs(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for linked in ["examples", "models", "tests"] {
        std::os::unix::fs::symlink(docs("..").join(linked), folder.path().join(linked)).unwrap();
    }
    let mut blocks = page.split("```console\n");
    let (mut now, mut count) = (blocks.next().unwrap().to_string(), 0);
    for block in blocks {
        let (block, after) = block.split_once("```").unwrap();
        now += "```console\n";
        // A block has one command or several.
        for block in block.split("$ tcnum ").skip(1) {
            let (line, shown) = block.split_once('\n').unwrap();
            let mut shown: Vec<String> = shown.lines().map(String::from).collect();
            if !UNHELD.iter().any(|word| line.contains(word)) && (!line.contains(LONG) || thorough()) {
                let printed = printed(line, folder.path());
                match writes() {
                    true => shown = rewritten(&printed, &shown),
                    false => {
                        assert!(is_as_shown(&printed, &shown), "{name}: tcnum {line}\nprints\n{}", printed.join("\n"))
                    }
                }
                count += 1;
            }
            now += &format!("$ tcnum {line}\n");
            shown.iter().for_each(|line| now += &format!("{line}\n"));
        }
        now += &format!("```{after}");
    }
    if now != page {
        fs::write(docs(name), now).unwrap();
    }
    count
}

/// Holds pages side by side, and counts their commands.
fn held(pages: &[&String]) -> usize {
    let next = AtomicUsize::new(0);
    let some = || {
        let mine = std::iter::from_fn(|| pages.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|name| hold(name)).sum::<usize>()
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).sum()
    })
}

/// The lines that a command prints.
fn printed(line: &str, folder: &Path) -> Vec<String> {
    let mut tcnum = Command::new(env!("CARGO_BIN_EXE_tcnum"));
    let output = tcnum.args(line.split(' ')).current_dir(folder).env("COLUMNS", "120").output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect()
}

#[test]
fn recipes_print_what_their_commands_print() {
    let recipes = pages("recipes").into_iter().filter(|name| name != "README.md");
    let recipes: Vec<String> = recipes.map(|name| format!("recipes/{name}")).collect();
    let chosen: Vec<&String> = recipes.iter().step_by(if writes() { 1 } else { amount(3, 1) }).collect();
    for name in &chosen {
        let page = fs::read_to_string(docs(name)).unwrap();
        let has_command = page.contains("```console\n$ tcnum ");
        assert!(has_command && page.contains("```python\n"), "{name} has no command, or no Python");
    }
    let count = held(&chosen);
    assert!(count > amount(3, 15), "{count} commands");
}

#[test]
fn pages_print_what_their_commands_print() {
    let pages: Vec<String> = pages("").into_iter().chain(OTHERS.map(String::from)).rev().collect();
    let every = if writes() { 1 } else { amount(3, 1) };
    let chosen: Vec<&String> = pages.iter().step_by(every).collect();
    assert_eq!(*chosen[0], "../README.md", "a sample has the page that is read first");
    let count = held(&chosen);
    assert!(count > amount(12, 45), "{count} commands");
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
