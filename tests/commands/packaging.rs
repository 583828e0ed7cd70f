//! What leaves the repository: the package, the container, jobs of clusters, and what says which version it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tcnum::arithmetic::{Model, shipped};

use crate::{
    machine::{Need, has_tool},
    program::tcnum,
};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What the package manifest says under `[package]`.
fn package() -> toml::Table {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    manifest["package"].as_table().unwrap().clone()
}

#[test]
fn the_citation_and_the_changes_are_of_this_version() {
    let version = package()["version"].as_str().unwrap().to_string();
    assert!(text("CITATION.cff").lines().any(|line| line == format!("version: {version}")));
    let changes = text("CHANGELOG.md");
    assert!(changes.lines().any(|line| line == format!("## {version}")), "CHANGELOG.md lacks {version}");
}

#[test]
fn the_readme_names_the_oldest_rust() {
    let manifest = text("Cargo.toml");
    let oldest = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(text("README.md").contains(&format!("Rust ({oldest} or later)")), "README.md lacks Rust {oldest}");
}

/// The packages that leave the repository, in the order in which they depend on each other, with files that each needs.
const PACKAGES: [(&str, &[&str]); 5] = [
    ("tcnum-collect", &["src/lib.rs"]),
    (
        "tcnum-core",
        &["build/models.rs", "models/hopper.toml", "src/isa/nvidia.csv", "targets/sm_90a.toml", "LICENSE-MIT"],
    ),
    (
        "tcnum-engine",
        &["kernels/stream.cuh", "layouts/undecoded.toml", "schedules/kernels.toml", "schemes/markidis.toml"],
    ),
    ("tcnum-study", &["src/features/published.csv"]),
    (
        "tcnum",
        &[
            "build/commit.rs",
            "docs/exec.md",
            "examples/encode_value.rs",
            "experiments/egemm-figure-3.toml",
            "literature/claims.toml",
            "LICENSE-MIT",
        ],
    ),
];

#[test]
fn the_packages_have_what_the_build_reads_and_neither_recordings_nor_reports() {
    if !has_tool("bash", Need::Bash) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let staged = Command::new("sh")
        .args([repository("tools/package").as_os_str(), "--stage".as_ref(), folder.path().as_os_str()])
        .output()
        .unwrap();
    assert!(staged.status.success(), "{}", String::from_utf8_lossy(&staged.stderr));
    for (name, needed) in PACKAGES {
        let listing = Command::new(env!("CARGO"))
            .args(["package", "--list", "--allow-dirty", "--offline", "--package", name])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
        let listing = String::from_utf8(listing.stdout).unwrap();
        let files: BTreeSet<&str> = listing.lines().collect();
        for needed in needed {
            assert!(files.contains(needed), "{name} lacks {needed}");
        }
        let unwanted: Vec<_> = files
            .iter()
            .filter(|file| ["tests/", "reports/", "tools/"].iter().any(|folder| file.starts_with(folder)))
            .collect();
        assert!(unwanted.is_empty(), "{unwanted:?}");
    }
}

#[test]
fn all_crates_have_the_version_of_the_program() {
    for (name, _) in PACKAGES {
        let folder = name.strip_prefix("tcnum-").map_or(String::new(), |name| format!("crates/{name}/"));
        let manifest: toml::Table = text(&format!("{folder}Cargo.toml")).parse().unwrap();
        assert_eq!(manifest["package"]["version"], package()["version"], "{name}");
    }
}

/// The instructions of a Dockerfile, each with what follows its name; lines that end in a backslash go on.
fn instructions(dockerfile: &str) -> Vec<(String, String)> {
    let lines = dockerfile.lines().filter(|line| !line.trim_start().starts_with('#'));
    let joined_lines = lines.fold(String::new(), |text, line| match line.strip_suffix('\\') {
        Some(unfinished_line) => text + unfinished_line + " ",
        None => text + line + "\n",
    });
    let split = |line: &str| {
        let (name, rest) =
            line.trim().split_once(' ').unwrap_or_else(|| panic!("an instruction without operands: {line}"));
        (name.to_string(), rest.trim().to_string())
    };
    joined_lines.lines().filter(|line| !line.trim().is_empty()).map(split).collect()
}

#[test]
fn the_dockerfile_has_known_instructions_stages_that_exist_and_files_that_are_sent() {
    let ignored: BTreeSet<String> = text(".dockerignore").lines().map(String::from).collect();
    let mut arguments: BTreeMap<String, String> = BTreeMap::new();
    let (mut stages, mut count) = (BTreeSet::new(), 0);
    for (name, rest) in instructions(&text("Dockerfile")) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        match name.as_str() {
            "ARG" => {
                let (key, value) = rest.split_once('=').expect("an argument has a default");
                arguments.insert(key.into(), value.into());
            }
            "FROM" => {
                let image = arguments
                    .iter()
                    .fold(words[0].to_string(), |image, (key, value)| image.replace(&format!("${{{key}}}"), value));
                assert!(image.contains(':') && !image.contains('$'), "FROM {image}: an image has a tag");
                if let ["AS", stage] = words[1..] {
                    stages.insert(stage.to_string());
                }
                count += 1;
            }
            "COPY" => match words[0].strip_prefix("--from=") {
                Some(stage) => assert!(stages.contains(stage) && words.len() == 3, "COPY {rest}"),
                None => {
                    for source in &words[..words.len() - 1] {
                        let sent = repository(source).exists() && !ignored.contains(*source);
                        assert!(sent, "COPY {source}: it does not exist, or .dockerignore leaves it out");
                    }
                }
            },
            "ENTRYPOINT" | "CMD" => {
                let words: Vec<String> =
                    serde_json::from_str(&rest).unwrap_or_else(|error| panic!("{name} {rest}: {error}"));
                assert!(!words.is_empty());
            }
            "RUN" if has_tool("bash", Need::Bash) => {
                let read = Command::new("bash").args(["-n", "-c", &rest]).output().unwrap();
                assert!(read.status.success(), "RUN {rest}: {read:?}");
            }
            "RUN" | "WORKDIR" => assert!(!rest.is_empty()),
            _ => panic!("an instruction that is not known here: {name}"),
        }
    }
    assert_eq!((count, stages.len()), (2, 1), "a stage that builds and the last one");
    // What the build reads is sent.
    for first in [
        "build",
        "crates",
        "src",
        "blocks",
        "experiments",
        "kernels",
        "layouts",
        "models",
        "schedules",
        "schemes",
        "targets",
    ] {
        assert!(!ignored.contains(first), ".dockerignore leaves {first} out, which the build may read");
    }
    let number = |text: &str| text.split('.').map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let least = manifest["workspace"]["package"]["rust-version"].as_str().unwrap().to_string();
    assert!(number(&arguments["RUST"]) >= number(&least), "Rust {} of the image, at least {least}", arguments["RUST"]);
}

#[test]
fn the_job_of_a_cluster_has_flags_that_there_are() {
    let script = text("experiments/verify.slurm");
    if has_tool("bash", Need::Bash) {
        let read = Command::new("bash").arg("-n").arg(repository("experiments/verify.slurm")).output().unwrap();
        assert!(read.status.success(), "{read:?}");
    }
    for command in ["verify", "merge"] {
        let help = tcnum(&[command, "--help"]).stdout;
        let known: BTreeSet<&str> = help.split_whitespace().collect();
        let (_, given) = script.rsplit_once(&format!("tcnum {command} ")).expect("the script runs the command");
        // As far as the command goes: lines that end in a backslash go on.
        let mut ended = false;
        let given: String = given
            .lines()
            .take_while(|line| !std::mem::replace(&mut ended, !line.ends_with('\\')))
            .collect::<Vec<_>>()
            .join(" ");
        let flags: Vec<&str> = given.split_whitespace().filter(|word| word.starts_with("--")).collect();
        let unknown: Vec<_> = flags.iter().filter(|flag| !known.contains(**flag)).collect();
        assert!(!flags.is_empty() && unknown.is_empty(), "tcnum {command}: {unknown:?}");
    }
}

/// A number in words, as pages write small ones.
fn in_words(number: usize) -> &'static str {
    let words = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
        "thirteen", "fourteen",
    ];
    words.get(number).copied().unwrap_or_else(|| panic!("{number} has no word here"))
}

#[test]
fn pages_count_models_generations_and_experiments_as_the_program_does() {
    let gpu = |name: &&str| {
        let title = Model::load(name).unwrap().title;
        title.starts_with("NVIDIA") || title.starts_with("AMD")
    };
    let models: Vec<&str> = shipped().collect();
    let of = |maker: &str| models.iter().filter(|name| name.starts_with(maker)).count();
    let gpus = models.iter().filter(|name| gpu(name)).count();
    let plain = |name: &str| text(name).split_whitespace().collect::<Vec<_>>().join(" ");
    let (all, experiments) = (models.len(), tcnum::experiment::shipped().count());
    let [gpus, arm, riscv, x86, others] = [gpus, of("arm"), of("riscv"), of("x86"), all - gpus].map(in_words);
    for (page, said) in [
        (
            "README.md",
            format!(
                "`tcnum models` lists {all} models: {gpus} GPU generations of NVIDIA and AMD, {arm} of Arm, {riscv} of RISC-V, {x86} of x86."
            ),
        ),
        ("CITATION.cff", format!("models of {gpus} generations of GPUs and {others} of processors")),
        ("experiments/README.md", format!("{experiments} experiments: ")),
        ("experiments/README.md", format!(" published figures are reproduced on {all} devices;")),
    ] {
        assert!(plain(page).contains(&said), "{page} lacks: {said}");
    }
}
