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

/// The commands of a page with what they print, in order: the blocks that begin with a prompt.
fn commands(page: &str) -> Vec<(&str, Vec<&str>)> {
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks
        .map(|block| {
            let mut lines = block.lines();
            let command = lines.next().and_then(|line| line.strip_prefix("$ tcnum ")).expect("a block begins with one");
            (command, lines.collect())
        })
        .collect()
}

/// Whether `printed` is what `shown` says, in which a line of three points stands for any lines.
fn is_as_shown(printed: &[&str], shown: &[&str]) -> bool {
    let Some(gap) = shown.iter().position(|line| *line == "...") else { return printed == shown };
    let (begin, rest) = (&shown[..gap], &shown[gap + 1..]);
    printed.starts_with(begin) && (begin.len()..=printed.len()).any(|from| is_as_shown(&printed[from..], rest))
}

/// Runs the commands of a page, one after the other in a folder, and compares what they print: how many there are.
fn hold(name: &str) -> usize {
    let page = fs::read_to_string(docs(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let commands = commands(&page);
    for (line, shown) in &commands {
        let mut tcnum = Command::new(env!("CARGO_BIN_EXE_tcnum"));
        let output = tcnum.args(line.split(' ')).current_dir(&folder).env("COLUMNS", "120").output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<&str> = printed.lines().collect();
        assert!(is_as_shown(&printed, shown), "{name}: tcnum {line}\nprints\n{}", printed.join("\n"));
    }
    commands.len()
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
fn the_page_on_changes_prints_what_its_commands_print() {
    assert_eq!(hold("diff.md"), 4);
}

#[test]
fn the_page_on_probes_prints_what_its_command_prints() {
    assert_eq!(hold("probe.md"), 1);
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
