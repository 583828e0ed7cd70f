//! Every path of the repository that documents, models, targets and experiments name exists.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Characters of a path, and of what stands in one for something else.
fn of_a_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./-*{}$".contains(c)
}

/// Paths that `text` names: those that begin with one of `folders`.
fn cited<'a>(text: &'a str, folders: &[String]) -> Vec<&'a str> {
    let words = text.split(|c| !of_a_path(c)).map(|word| word.trim_end_matches(['.', '/', '-']));
    let begins = |word: &str| word.split_once('/').is_some_and(|(first, _)| folders.iter().any(|f| f == first));
    let definite = |path: &&str| {
        let placeholder = |part: &str| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
        !path.contains(['*', '{', '}', '$'])
            && !path.split(['/', '.']).any(|part| part != "README" && placeholder(part))
    };
    words.filter(|word| begins(word)).filter(definite).collect()
}

/// Documents, and data and scripts that cite, below `folder`.
fn citing(folder: &Path, data: bool, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            citing(&path, data, files);
        } else if name == "README.md" || data && !name.ends_with(".csv") {
            files.push(path);
        }
    }
}

#[test]
fn every_path_that_is_cited_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders: Vec<String> = ["src", "tests", "models", "targets", "experiments", "reports", "kernels", "tools"]
        .into_iter()
        .chain(["schemas", "examples", "benches", "build", "docs"])
        .map(String::from)
        .collect();
    let mut files = vec![root.join("README.md")];
    for folder in folders.iter().map(|folder| root.join(folder)).filter(|folder| folder.is_dir()) {
        let data = ["models", "targets", "experiments", "docs"].iter().any(|name| folder.ends_with(name));
        citing(&folder, data, &mut files);
    }
    let (mut missing, mut count) = (Vec::new(), 0);
    for file in &files {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for path in cited(&text, &folders) {
            count += 1;
            if !root.join(path).exists() && !file.parent().unwrap().join(path).exists() {
                missing.push(format!("{}: {path}", file.strip_prefix(root).unwrap().display()));
            }
        }
    }
    assert!(files.len() > 30 && count > 100, "{} files, {count} paths", files.len());
    assert!(missing.is_empty(), "these files do not exist:\n{}", missing.join("\n"));
}

#[test]
fn what_is_cited_is_found_in_text() {
    let folders = ["models".to_string()];
    let text = "See models/a.toml (models/b.toml: 1 %), models/NAME.toml, models/$x, other/d.";
    assert_eq!(cited(text, &folders), ["models/a.toml", "models/b.toml"]);
}
