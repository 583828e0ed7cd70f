//! Documents as LaTeX projects, and the appendix of a paper: complete tables, citations, and that they compile.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    machine::{Need, has_tool},
    program::{Run, tcnum},
};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reports").join(name)
}

/// Runs `tcnum report` on results, to a folder.
fn report(options: &[&str], results: &[PathBuf], folder: &Path) -> Run {
    let results = results.iter().map(|path| path.to_str().unwrap());
    let out = format!("{}/", folder.display());
    tcnum(
        &["report"]
            .into_iter()
            .chain(options.iter().copied())
            .chain(results)
            .chain(["--out", &out])
            .collect::<Vec<_>>(),
    )
}

/// Every TeX file of a project.
fn texts(folder: &Path) -> Vec<(PathBuf, String)> {
    let parts = fs::read_dir(folder.join("parts")).unwrap().map(|entry| entry.unwrap().path());
    let main_files =
        ["main.tex", "chapters.tex", "packages.tex", "supplement.tex", "paper.tex"].map(|name| folder.join(name));
    main_files
        .into_iter()
        .filter(|path| path.is_file())
        .chain(parts)
        .map(|path| (path.clone(), fs::read_to_string(&path).unwrap()))
        .collect()
}

/// The arguments of a command in a text: `\input{...}`, `\cite{...}`.
fn arguments<'a>(text: &'a str, command: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(command).skip(1).filter_map(|rest| Some(rest.strip_prefix('{')?.split('}').next().unwrap()))
}

/// Checks a project, and compiles it where LaTeX is installed.
fn compiles(folder: &Path) {
    let all = texts(folder);
    let bibliography = fs::read_to_string(folder.join("sources.bib")).unwrap();
    for (path, text) in &all {
        for input in arguments(text, "\\input") {
            assert!(folder.join(format!("{input}.tex")).is_file(), "{}: {input}", path.display());
        }
        for figure in text.split("]{figures/").skip(1).map(|rest| rest.split('}').next().unwrap()) {
            assert!(folder.join(format!("figures/{figure}.pdf")).is_file(), "{}: {figure}", path.display());
        }
        for key in arguments(text, "\\cite").flat_map(|keys| keys.split(',')) {
            assert!(bibliography.contains(&format!("{{{key},")), "{}: {key}", path.display());
        }
    }
    ["main", "supplement"].into_iter().filter(|name| folder.join(format!("{name}.tex")).is_file()).for_each(|name| {
        compiled(folder, name);
    });
}

/// Compiles a document of a project, and returns its number of pages; `None` without LaTeX.
fn compiled(folder: &Path, name: &str) -> Option<usize> {
    if !has_tool("pdflatex", Need::Pdflatex) || !has_tool("bibtex", Need::Pdflatex) {
        return None;
    }
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{program}: {said}");
        said
    };
    let latex = || run("pdflatex", &["-interaction=nonstopmode", "-halt-on-error", name]);
    latex();
    let said = run("bibtex", &[name]);
    assert!(!said.contains("Warning"), "{said}");
    latex();
    let said = latex();
    for wrong in ["Overfull", "undefined", "Rerun to get", "Table widths have changed", "PDF inclusion", "multiply"] {
        let line = said.lines().find(|line| line.contains(wrong));
        assert_eq!(line, None, "{said}");
    }
    let pages = said.split(".pdf (").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    Some(pages.expect("LaTeX says how many pages it wrote"))
}

/// A paper on two generations, with features and a figure, in JSON files of a folder.
fn results_of_two(folder: &Path) -> [PathBuf; 2] {
    let devices = ["--device", "model:volta", "--device", "model:hopper", "-q", "--output", "json", "--out"];
    ["experiment figure-17 --samples 3", "features --fmt f16 --fmt e4m3"].map(|command| {
        let path = folder.join(format!("{}.json", command.split(' ').next().unwrap()));
        let words: Vec<&str> = command.split(' ').chain(devices).chain([path.to_str().unwrap()]).collect();
        let run = tcnum(&words);
        assert!(run.status <= 1, "{command}: {}", run.stderr);
        path
    })
}

#[test]
fn a_paper_keeps_its_length_and_says_what_its_results_say() {
    let folder = tempfile::tempdir().unwrap();
    let files = results_of_two(folder.path());
    for pages in ["6", "10"] {
        let paper = folder.path().join(format!("paper-{pages}"));
        let options = ["--paper", "--pages", pages, "--fmt", "f16,e4m3", "--experiment", "figure-17"];
        let run = report(&options, &files, &paper);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""));
        compiles(&paper);
        let written = compiled(&paper, "main");
        assert!(written.is_none_or(|written| written <= pages.parse::<usize>().unwrap()), "{pages}: {written:?}");
    }
    let read = |name: &str| fs::read_to_string(folder.path().join("paper-10").join(name)).unwrap();
    // The abstract counts the findings of the results by evidence.
    let json: Value = serde_json::from_str(&fs::read_to_string(&files[1]).unwrap()).unwrap();
    let rows = json["tables"]["features"].as_array().unwrap();
    let matrix = |row: &&Value| !row["instruction"].as_str().unwrap().starts_with("fma.");
    let shown = rows.iter().filter(|row| !row["found"].is_null() && row["found"] != "absent").filter(matrix);
    let count = |kind: &str| shown.clone().filter(|row| row["evidence"] == kind).count();
    let main = read("main.tex");
    for kind in ["measured", "recorded", "literature", "assumed"] {
        assert!(count(kind) == 0 || main.contains(&format!("{} {kind}", count(kind))), "{kind}: {main}");
    }
    assert!(main.contains(&format!("{} findings", shown.clone().count())), "{main}");
    assert!(main.contains("\\begin{abstract}") && !main.contains("\\tableofcontents"));
    let limits = read("parts/paper-limits.tex");
    assert!(limits.contains("No chip was run for Volta and Hopper"), "{limits}");
    assert!(limits.contains("were never measured"), "{limits}");
    assert!(read("parts/paper-growth.tex").contains("\\includegraphics"));
    let bounds = read("parts/paper-bounds.tex");
    assert!(bounds.contains("blanchard2020mixed"));
    // No constructed error exceeds its bound, and some reach it.
    let caption = "Bounds relative to S";
    let number = |row: &[String], at: usize| row[at].parse::<f64>().ok();
    let reached = self::rows(&bounds, caption);
    let ratios: Vec<f64> = reached.iter().filter_map(|row| Some(number(row, 6)? / number(row, 5)?)).collect();
    assert!(ratios.iter().all(|ratio| *ratio < 1.01) && ratios.iter().any(|ratio| *ratio > 0.95), "{reached:?}");
    // Every agreement with a publication is counted by its evidence.
    let agrees =
        json["tables"]["published_features"].as_array().unwrap().iter().filter(|row| row["verdict"] == "agrees");
    let literature = read("parts/paper-literature.tex");
    let numbers = |text: &str| text.split(' ').filter_map(|word| word.parse::<usize>().ok()).collect::<Vec<_>>();
    let counts = literature.lines().find(|line| line.contains("published features agree")).map(numbers).unwrap();
    assert_eq!(counts[0], counts[1..].iter().sum::<usize>(), "{literature}");
    assert!(counts[0] <= agrees.filter(matrix).count() && counts[0] > 10, "{literature}");
    assert!(read("parts/paper-features.tex").contains("Braces hold the terms of one sum"));
    // The supplement has contents, and the commands that repeat its tables.
    assert!(read("supplement.tex").contains("\\tableofcontents"));
    let published = read("parts/published.tex");
    assert!(
        published.contains("These commands repeat") && published.contains("tcnum experiment figure-17"),
        "{published}"
    );
}

#[test]
fn the_subject_of_a_paper_is_known_before_any_work() {
    for (options, says) in [
        (&["--pages", "10"][..], "--paper"),
        (&["--paper", "--pages", "5"], "--pages"),
        (&["--paper", "--pages", "10", "--fmt", "f99"], "f99"),
        (&["--paper", "--pages", "10", "--experiment", "table-99"], "table-99"),
    ] {
        let run = tcnum(&[&["report", "--device", "hopper", "--out", "paper/"], options].concat());
        assert!(run.status == 2 && run.stderr.contains(says), "{options:?}: {}", run.stderr);
    }
}

/// Each claim of the table has an entry in the bibliography, and its command gives what the table says.
#[test]
fn the_claims_of_the_literature_are_what_their_commands_give() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table: toml::Table = fs::read_to_string(root.join("literature/claims.toml")).unwrap().parse().unwrap();
    let sources = fs::read_to_string(root.join("literature/sources.bib")).unwrap();
    let claims = table["claim"].as_array().unwrap();
    let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut cited, mut outputs) = (BTreeSet::new(), std::collections::BTreeMap::new());
    for claim in claims {
        let field = |name: &str| claim[name].as_str().unwrap();
        assert!(sources.contains(&format!("{{{},", field("cite"))), "{}", field("cite"));
        assert!(["agrees", "in part", "differs", "not tested"].contains(&field("agreement")), "{}", field("agreement"));
        assert!(!field("reason").is_empty(), "{}", field("id"));
        let words = shlex::split(field("command")).unwrap();
        assert_eq!(words[0], "tcnum");
        let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let output = outputs.entry(field("command")).or_insert_with(|| spaced(&tcnum(&words).stdout));
        assert!(output.contains(&spaced(field("here"))), "{}: {output}", field("id"));
        cited.insert(field("cite"));
    }
    for key in [
        "fasi2021numerical",
        "khattak2026accurate",
        "li2024fttn",
        "xie2025bit",
        "badash2026hawkeye",
        "xie2025revealing",
        "deepseekai2024v3",
    ] {
        assert!(cited.contains(key), "{key}");
    }
}

#[test]
fn a_document_of_results_compiles_without_overfull_boxes() {
    let folder = tempfile::tempdir().unwrap();
    let paper = folder.path().join("paper");
    let names = ["cpu/zen5/verify.json", "h200/chain-figure-17.json", "products/promotion.json", "h200/table-12.json"];
    let run = report(&[], &names.map(kept), &paper);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(fs::read_to_string(paper.join("parts/chains.tex")).unwrap().contains("\\includegraphics"));
    compiles(&paper);
    // A second run replaces its own files, and no others.
    assert_eq!(report(&[], &names.map(kept), &paper).status, 0);
    fs::write(paper.join("README.md"), "my own").unwrap();
    let run = report(&[], &names.map(kept), &paper);
    assert!(run.status == 2 && run.stderr.contains("README.md"), "{}", run.stderr);
}

/// The rows of a table in a chapter, as cells; `caption` begins its caption.
fn rows(text: &str, caption: &str) -> Vec<Vec<String>> {
    let is_table = |part: &&str| part.starts_with(caption) && part.contains("\\endlastfoot");
    let table = text.split("\\caption{").find(is_table).unwrap_or_else(|| panic!("no table {caption}"));
    let body = table.split("\\endlastfoot\n").nth(1).unwrap().split("\\end{longtable}").next().unwrap();
    let body = body.replace("\\allowbreak{}", "").replace("    \\addlinespace[2pt]\n", "");
    let lines = body.lines().filter_map(|line| line.trim().strip_suffix("\\\\"));
    lines.map(|line| line.split(" & ").map(|cell| cell.trim().replace('\\', "")).collect()).collect()
}

#[test]
fn the_appendix_of_kept_results_has_every_published_cell_with_its_verdict_in_one_row_and_compiles() {
    let folder = tempfile::tempdir().unwrap();
    let paper = folder.path().join("paper");
    let names = ["table-12", "table-14", "figure-17", "egemm-figure-7", "le-gemm-figure-10", "magicube-table-4"];
    let files = names.map(|name| kept(&format!("h200/{name}.json")));
    let run = report(&["--paper"], &files, &paper);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let published = fs::read_to_string(paper.join("parts/published.tex")).unwrap();
    let mut count = 0;
    for (name, key, caption) in [
        ("table-12", "cells", "Mean absolute errors"),
        ("le-gemm-figure-10", "splitting_cells", "Errors of products by splitting, published"),
        ("magicube-table-4", "integer_cells", "Precisions of integers"),
    ] {
        let result: Value =
            serde_json::from_str(&fs::read_to_string(kept(&format!("h200/{name}.json"))).unwrap()).unwrap();
        let label = match name {
            "table-12" => "Sun et al., table 12",
            "magicube-table-4" => "Magicube, table IV",
            _ => "LE-GEMM, figure 10",
        };
        let section = published.split("\\subsection{").find(|part| part.starts_with(label)).unwrap();
        let shown = rows(section, caption);
        let cells = result["tables"][key].as_array().unwrap();
        assert_eq!(shown.len(), cells.len(), "{name}");
        for (row, cell) in shown.iter().zip(cells) {
            let text = |key: &str| cell[key].as_str().unwrap();
            // Equal columns stand in the caption.
            for word in [text("published"), text("verdict")] {
                assert!(
                    row.iter().any(|shown| shown == word) || section.contains(&format!(": {word}")),
                    "{name}: {word} {row:?}"
                );
            }
            let chip = match text("device") {
                "cuda:0" => "NVIDIA H200",
                "model:hopper" => "Hopper (model)",
                "model:cdna2" => "CDNA 2 (model)",
                _ => "Ampere (model)",
            };
            assert_eq!(row[0], chip, "{name}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
    let all: String = texts(&paper).into_iter().map(|(_, text)| text).collect();
    assert!(!all.contains("the first ") || !all.contains(" rows)"));
    // What differs stands in a chapter on the literature, with its reason.
    let differences = fs::read_to_string(paper.join("parts/literature.tex")).unwrap();
    let differing = rows(&differences, "Differences from the literature");
    assert!(
        differing.iter().any(|row| row[1] == "EGEMM-TC, figure 7" || row[1] == "LE-GEMM, figure 10"),
        "{differing:?}"
    );
    // The verdict stands in each row, or in the caption if all are equal.
    let verdicts = ["accepted", "another generation", "explained", "not known why"];
    let said = |row: &Vec<String>| row.iter().any(|cell| verdicts.iter().any(|verdict| cell.starts_with(verdict)));
    let is_in_caption = verdicts.iter().any(|verdict| differences.contains(&format!("verdict: {verdict}")));
    assert!(differing.iter().all(said) || is_in_caption, "{differing:?}");
    assert!(differing.iter().any(|row| row.last().unwrap().len() > 40), "{differing:?}");
    assert!(all.contains("\\cite{sun2023dissecting}") && all.contains("\\cite{tcnum}"));
    compiles(&paper);
}

#[test]
fn the_appendix_of_devices_says_which_of_them_lack_an_instruction() {
    let folder = tempfile::tempdir().unwrap();
    let paper = folder.path().join("paper");
    let devices = ["--device", "model:volta", "--device", "model:hopper", "-q", "--output", "json", "--out"];
    let result = |command: &str| {
        let path = folder.path().join(format!("{}.json", command.replace(' ', "-")));
        let words: Vec<&str> = command.split(' ').chain(devices).chain([path.to_str().unwrap()]).collect();
        let run = tcnum(&words);
        assert!(run.status <= 1, "{command}: {}", run.stderr);
        path
    };
    let files = ["experiment table-12 --samples 300", "experiment figure-17 --samples 3"].map(result);
    assert_eq!(report(&["--paper"], &files, &paper).status, 0);
    let published = fs::read_to_string(paper.join("parts/published.tex")).unwrap();
    // Six cells and two claims of table 12 on Volta, whose device stands in the caption.
    let untestable = rows(&published, "Figures and claims that a device cannot test");
    assert_eq!(untestable.len(), 8, "{untestable:?}");
    assert!(published.contains("device: Volta (model)"));
    // Volta has no bf16: nothing of it is drawn, and no caption of a drawing says what its model rests on.
    let captions = published.lines().filter(|line| line.contains("caption{Mean absolute errors of single operations"));
    assert!(captions.clone().count() > 0 && captions.clone().all(|line| !line.contains("volta:")));
    let measured: BTreeSet<String> =
        rows(&published, "Mean absolute errors").into_iter().map(|row| row[0].clone()).collect();
    assert!(measured.iter().all(|device| !device.contains("Volta")), "{measured:?}");
    let setup = fs::read_to_string(paper.join("parts/setup.tex")).unwrap();
    let counts = rows(&setup, "Published figures and claims");
    let volta = counts.iter().find(|row| row[0] == "Volta (model)" && row[1] == "Sun et al., table 12").unwrap();
    assert_eq!(volta[2..], ["0", "0", "8"], "{volta:?}");
    // A line for each length of each device.
    let chain = rows(&published, "Chains of products: mean relative error after N links: error to reference");
    assert_eq!(chain.len(), 40);
    compiles(&paper);
}

#[test]
fn an_appendix_is_a_folder_and_its_devices_are_named_once_or_more() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).display().to_string();
    for (line, says) in [
        (vec!["--paper", "--device", "hopper", "--out", &out("x.html")], "a LaTeX project, which is a folder"),
        (vec!["--paper", "--device", "hopper", "--out", &out("x.md")], "a LaTeX project, which is a folder"),
        (vec!["--paper", "--out", &out("x/")], "RESULT"),
    ] {
        let run = tcnum(&[&["report"], &line[..]].concat());
        assert!(run.status == 2 && run.stderr.contains(says), "{line:?}: {}", run.stderr);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A device that executes one instruction, and sends the report that runs it SIGTERM when a second command asks for anything.
#[cfg(target_os = "linux")]
const SIGNALLING: &str = r#"#!/bin/sh
read -r greeting
[ -e first ] || echo $PPID > first
if [ "$(cat first)" != $PPID ] && mkdir sent 2>/dev/null; then kill -TERM $(cut -d ' ' -f 4 /proc/$PPID/stat); fi
case "$greeting" in *'"name":"mma.m8n8k4.f16.f16.f16.f16"'*) ;; *) echo '{"protocol":2,"ok":false,"error":"no"}'; exit;; esac
{ printf '%s\n' "$greeting"; exec cat; } | exec python3 HOPPER
"#;

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_appendix_has_what_was_done_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let hopper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exec/hopper.py");
    fs::write(folder.path().join("device.sh"), SIGNALLING.replace("HOPPER", hopper.to_str().unwrap())).unwrap();
    let words = ["report", "--paper", "--device", "exec:sh device.sh", "--out", "paper/", "-q"];
    let output = Command::new(env!("CARGO_BIN_EXE_tcnum")).args(words).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    let paper = folder.path().join("paper");
    let setup = fs::read_to_string(paper.join("parts/setup.tex")).unwrap();
    // On a busy machine another command may end before the signal arrives.
    assert!(setup.contains("Interrupted by SIGTERM: this document covers the work done before it, "), "{setup}");
    assert!(!setup.contains("before it, 0 of"), "{setup}");
    assert!(fs::read_to_string(paper.join("parts/commands.tex")).unwrap().contains("tcnum features -{-}all"));
}

/// A device that executes one instruction for the first command, and fails in all others.
#[cfg(target_os = "linux")]
const FAILING: &str = r#"#!/bin/sh
read -r greeting
[ -e first ] || echo $PPID > first
[ "$(cat first)" = $PPID ] || exit 7
case "$greeting" in *'"name":"mma.m8n8k4.f16.f16.f16.f16"'*) ;; *) echo '{"protocol":2,"ok":false,"error":"no"}'; exit;; esac
{ printf '%s\n' "$greeting"; exec cat; } | exec python3 HOPPER
"#;

#[cfg(target_os = "linux")]
#[test]
fn an_appendix_of_a_device_that_fails_ends_with_status_3_and_keeps_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let hopper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exec/hopper.py");
    fs::write(folder.path().join("device.sh"), FAILING.replace("HOPPER", hopper.to_str().unwrap())).unwrap();
    let run = |device: &str, out: &str| {
        let words = ["report", "--paper", "--device", device, "--out", out, "-q"];
        let output = Command::new(env!("CARGO_BIN_EXE_tcnum")).args(words).current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = run("exec:sh device.sh", "some/");
    assert!(status == Some(3) && said.contains("the document lacks their results"), "{status:?} {said}");
    let commands = fs::read_to_string(folder.path().join("some/parts/commands.tex")).unwrap();
    assert!(commands.contains("tcnum features -{-}all"), "{commands}");
    let (status, said) = run("exec:sh -c 'exit 7'", "none/");
    assert!(status == Some(3) && said.contains("error: the device failed in 13 of 14 commands"), "{status:?} {said}");
    assert!(said.contains("before its first line it ended (exit status: 7)"), "{said}");
    assert!(!folder.path().join("none").exists());
}
