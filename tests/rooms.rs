//! The rooms of the house, the folders and files directly in the sources of a crate, stand in an order: each uses only those before it.
//! Between crates the compiler holds the order: `tcnum_core`, `tcnum_engine`, `tcnum_study`, `tcnum`.
//!
//! The modules of the Python package use each other without a circle.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use quote::ToTokens;
use syn::{Attribute, Item, UseTree};

/// The rooms of `crates/core/src/`.
const CORE: &[&str] = &["base", "number", "format", "softfloat", "exact", "isa", "inputs", "arithmetic"];

/// The rooms of `crates/engine/src/`: what all need; files; devices; reports; engines under several questions.
const ENGINES: &[&str] = &[
    "version",
    "kernels",
    "base",
    "summary",
    "array",
    "trace",
    "device",
    "report",
    "steps",
    "comparison",
    "bench",
    "rule",
    "order",
    "measurement",
    "campaign",
    "distinction",
    "classes",
    "catalogue",
    "tensor",
    "checkpoint",
    "product",
    "scheme",
];

/// The rooms of `crates/study/src/`, one a question. Questions use engines, and no other question.
const QUESTIONS: &[&str] = &[
    "calc",
    "inspect",
    "convert",
    "quantise",
    "explain",
    "record",
    "probe",
    "verify",
    "power",
    "coverage",
    "distinguish",
    "tree",
    "identify",
    "kit",
    "features",
    "gemm",
    "matching",
    "bound",
    "check",
    "attention",
    "chain",
    "emulate",
    "cost",
];

/// The rooms of `src/`, above all questions: published results, differences of results, files for CI; documents; the command line.
const ABOVE: &[&str] = &["experiment", "diff", "gate", "document", "survey", "atlas", "tables", "verbs"];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files below a folder whose names end in `ending`, in alphabetical order.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| a.path().is_ident("cfg") && a.meta.to_token_stream().to_string().contains("test"))
}

/// The names directly behind `crate::` in a tree of `use`.
fn imported(tree: &UseTree, behind_crate: bool, rooms: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) if behind_crate => drop(rooms.insert(path.ident.to_string())),
        UseTree::Path(path) => imported(&path.tree, path.ident == "crate", rooms),
        UseTree::Name(name) if behind_crate => drop(rooms.insert(name.ident.to_string())),
        UseTree::Rename(rename) if behind_crate => drop(rooms.insert(rename.ident.to_string())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| imported(tree, behind_crate, rooms)),
        _ => {}
    }
}

/// The names behind `crate::` in items, those of tests left out.
fn used(items: &[Item], rooms: &mut BTreeSet<String>) {
    for item in items {
        match item {
            Item::Mod(inner) if is_test(&inner.attrs) => {}
            Item::Mod(inner) => inner.content.iter().for_each(|(_, items)| used(items, rooms)),
            Item::Use(item) if !is_test(&item.attrs) => imported(&item.tree, false, rooms),
            // Paths inside of functions and types, as the words that they are made of.
            _ => {
                let words = item.to_token_stream().to_string();
                let paths = words.match_indices("crate :: ").map(|(at, mark)| &words[at + mark.len()..]);
                rooms.extend(paths.filter_map(|path| path.split_whitespace().next()).map(String::from));
            }
        }
    }
}

/// Which rooms of a folder each of its rooms uses, with the file that does.
fn edges(folder: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let root = repository(folder);
    let mut edges: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for file in files(&root, ".rs") {
        let inside = file.strip_prefix(&root).unwrap();
        let room = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_string();
        let text = fs::read_to_string(&file).unwrap();
        let mut rooms = BTreeSet::new();
        // A folder's tests.rs or tests/ is a module of tests.
        if !inside.iter().any(|name| name == "tests.rs" || name == "tests") {
            used(&syn::parse_file(&text).unwrap().items, &mut rooms);
        }
        let used = edges.entry(room).or_default();
        rooms.into_iter().for_each(|room| drop(used.insert(room, inside.display().to_string())));
    }
    edges
}

fn assert_order(folder: &str, order: &[&str]) {
    let place = |room: &str| order.iter().position(|other| *other == room);
    let mut wrong = Vec::new();
    let edges = edges(folder);
    for (room, used) in edges.iter().filter(|(room, _)| !["lib", "main", "machine"].contains(&room.as_str())) {
        let Some(position) = place(room) else {
            wrong.push(format!("{folder}/{room} has no place in the order"));
            continue;
        };
        for (other, file) in used {
            if place(other).is_some_and(|other| other > position) {
                wrong.push(format!("{folder}/{file} uses {other}, which stands after {room}"));
            }
        }
    }
    for room in order.iter().filter(|room| !edges.contains_key(**room)) {
        wrong.push(format!("{folder} has no room {room}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_room_of_the_core_uses_only_rooms_before_it() {
    assert_order("crates/core/src", CORE);
}

#[test]
fn an_engine_uses_only_engines_before_it() {
    assert_order("crates/engine/src", ENGINES);
}

#[test]
fn a_room_of_the_program_uses_only_rooms_before_it() {
    assert_order("src", ABOVE);
}

#[test]
fn a_question_uses_engines_and_no_other_question() {
    let edges = edges("crates/study/src");
    assert_eq!(edges.keys().filter(|room| *room != "lib").collect::<BTreeSet<_>>().len(), QUESTIONS.len());
    let pairs = QUESTIONS.iter().flat_map(|question| edges[*question].keys().map(move |other| [*question, &other[..]]));
    let between: BTreeSet<[&str; 2]> =
        pairs.filter(|[question, other]| question != other && QUESTIONS.contains(other)).collect();
    assert_eq!(between, BTreeSet::new());
}

#[test]
fn the_modules_of_the_python_package_use_each_other_without_a_circle() {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files(&repository("python/tcnum"), ".py") {
        let name = file.file_stem().unwrap().to_string_lossy().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().map(str::trim_start);
        let used = lines.filter_map(|line| line.strip_prefix("from .")).flat_map(|line| {
            let (module, names) = line.split_once(" import ").unwrap_or((line, ""));
            match module.trim() {
                "" => names.split(',').map(|name| name.split_whitespace().next().unwrap_or("").to_string()).collect(),
                module => vec![module.to_string()],
            }
        });
        uses.insert(name, used.collect());
    }
    assert!(uses.len() > 5, "{uses:?}");
    // What uses nothing that is left goes, until nothing is left or all of it is part of a circle.
    while let Some(free) = uses.iter().find(|(_, used)| !used.iter().any(|other| uses.contains_key(other))) {
        let free = free.0.clone();
        uses.remove(&free);
    }
    assert!(uses.is_empty(), "circles among {uses:?}");
}

#[test]
fn the_page_of_layers_names_every_room_and_no_other() {
    let page = fs::read_to_string(repository("docs/how-it-fits.md")).unwrap();
    let table = page.split("## Layers of the source").nth(1).unwrap();
    let rows = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| layer") && !line.starts_with("| ---"));
    let cells = rows.filter_map(|row| row.split('|').nth(2));
    let named: Vec<&str> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).filter(|name| !name.ends_with('/')).collect();
    // Rooms that a newcomer does not look for: numbers of versions, tools.
    let small = ["version", "kernels", "base", "summary", "tables"];
    let program = [ENGINES, QUESTIONS, ABOVE].concat();
    for room in program.iter().filter(|room| !small.contains(room)) {
        assert!(named.contains(room), "docs/how-it-fits.md lacks {room}");
    }
    let core = ["number", "format", "softfloat", "exact", "isa", "arithmetic", "inputs"];
    let unknown: Vec<_> = named.iter().filter(|name| !program.contains(name) && !core.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are no rooms");
}

#[test]
fn every_declared_table_is_among_the_tables_of_reports() {
    let (mut declared, mut sources) = (BTreeSet::new(), String::new());
    for file in
        ["src", "crates/engine/src", "crates/study/src"].iter().flat_map(|folder| files(&repository(folder), ".rs"))
    {
        if file.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap();
        // The example of the macro itself is a comment.
        sources += product;
        let rows = product.lines().filter(|line| !line.trim_start().starts_with("//"));
        let names =
            rows.filter_map(|line| line.trim().split_once(" in \"")?.0.split_once("struct ")).map(|(_, name)| name);
        declared.extend(names.filter(|name| name.chars().all(char::is_alphanumeric)).map(String::from));
    }
    let tables = fs::read_to_string(repository("src/tables.rs")).unwrap();
    let listed = tables.split("Declaration::of::<").skip(1).map(|rest| rest.split('>').next().unwrap());
    let listed: BTreeSet<String> = listed.map(|path| path.rsplit("::").next().unwrap().to_string()).collect();
    assert!(declared.len() > 50, "{declared:?}");
    // Rows that are a part of other rows need not be tables of their own.
    let is_part = |name: &&String| sources.contains(&format!(": {name} => hidden()"));
    let apart: Vec<_> = declared.symmetric_difference(&listed).filter(|name| !is_part(name)).collect();
    assert!(apart.is_empty(), "{apart:?}");
}

#[test]
fn every_file_of_tests_is_part_of_a_test_program() {
    for folder in ["tests", "crates/core/tests"].iter().flat_map(|folder| fs::read_dir(repository(folder)).unwrap()) {
        let folder = folder.unwrap().path();
        let Ok(main) = fs::read_to_string(folder.join("main.rs")) else { continue };
        for file in
            files(&folder, ".rs").iter().filter(|file| file.parent() == Some(&folder) && !file.ends_with("main.rs"))
        {
            let name = file.file_stem().unwrap().to_string_lossy();
            let is_named = main
                .lines()
                .any(|line| line.trim() == format!("mod {name};") || line.contains(&format!("/{name}.rs\"")));
            assert!(is_named, "{} is in no test program", file.display());
        }
    }
}
