//! Published figures of other kinds than tables of probes: splitting, integers, bits, formats; generations beside each other.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{tcnum, validate_report};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments").join(name)
}

/// The exit status and the report of an experiment, of which some text is replaced by shorter work.
fn experiment(name: &str, replaced: &[(&str, &str)], more: &[&str]) -> (i32, Value) {
    let mut text = std::fs::read_to_string(file(name)).unwrap();
    for (from, to) in replaced {
        assert!(text.contains(from), "{name}: {from}");
        text = text.replace(from, to);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let run = tcnum(&[&["experiment", path.to_str().unwrap(), "--output", "json", "-q"], more].concat());
    assert!(run.status <= 1, "{}", run.stderr);
    (run.status, validate_report(&run.stdout))
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a [Value] {
    report["tables"][table].as_array().unwrap_or_else(|| panic!("{table}: {report:#}"))
}

const SMALL: [(&str, &str); 2] =
    [("k = [1024, 2048, 4096, 8192]", "k = [256]"), ("elements = [16, 256]", "elements = [4, 32]")];

#[test]
fn a_cell_of_splitting_is_judged_on_the_generation_that_it_was_published_on_alone() {
    let devices = ["--device", "model:cdna2", "--device", "model:ampere", "--samples", "2"];
    let (_, report) = experiment("le-gemm-figure-11.toml", &SMALL, &devices);
    let cells = rows(&report, "splitting_cells");
    assert_eq!(cells.len(), 12);
    for cell in cells {
        let same_generation = cell["device"].as_str().unwrap().ends_with(cell["generation"].as_str().unwrap());
        assert_eq!(cell["verdict"] == "not testable here", !same_generation, "{cell}");
        assert!(cell["measured"].as_f64().unwrap() > 0.0 && cell["counts"] == same_generation, "{cell}");
    }
    let errors = rows(&report, "splitting_errors");
    assert_eq!(errors.len(), 10);
    for error in errors {
        let counts: u64 = error["error_counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(counts, 2 * 4 * 32);
    }
}

#[test]
fn a_figure_that_is_not_reproduced_fails_unless_the_file_accepts_it() {
    let cell = |accepted: &str| {
        format!(
            "source = \"\"\ntitle = \"\"\npublished_on = \"\"\n[emulate]\nschemes = [\"half\", \"egemm\"]\nk = [64]\n\
             elements = [4, 16]\nvalues = [\"uniform(-1,1)\"]\ndraws = 3\n[[emulate.cell]]\ngeneration = \"turing\"\n\
             of = \"half\"\nover = \"egemm\"\nmetric = \"rms\"\npublished = \"1e9\"\n{accepted}"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.toml");
    let status = |text: &str, device: &str| {
        std::fs::write(&path, text).unwrap();
        tcnum(&["experiment", path.to_str().unwrap(), "--device", device]).status
    };
    assert_eq!(status(&cell(""), "model:turing"), 1);
    assert_eq!(status(&cell("explanation = \"It is a wrong one.\""), "model:turing"), 1);
    assert_eq!(status(&cell("accepted = \"It is a wrong one.\""), "model:turing"), 0);
    assert_eq!(status(&cell(""), "model:ampere"), 0);
    for (from, to) in [
        ("\"half\", \"egemm\"", "\"half\", \"none\""),
        ("generation = \"turing\"", "generation = \"turin\""),
        ("of = \"half\"", "of = \"ootomo\""),
        ("elements = [4, 16]", "elements = [0, 16]"),
        ("draws = 3", "draws = 0"),
        ("\"half\", \"egemm\"", "\"half\", \"l8-r8\""),
    ] {
        assert_eq!(status(&cell("").replace(from, to), "model:turing"), 2, "{to}");
    }
}

#[test]
fn half_in_f16_has_the_errors_that_were_printed_of_it() {
    let small = [("k = [1024, 2048, 4096, 8192]", "k = [1024, 8192]"), ("elements = [16, 256]", "elements = [1, 32]")];
    let (_, report) = experiment("egemm-figure-7.toml", &small, &["--samples", "2"]);
    let error = |scheme: &str| {
        let row =
            rows(&report, "splitting_errors").iter().find(|row| row["scheme"] == scheme && row["k"] == 1024).unwrap();
        row["max_absolute"].as_f64().unwrap()
    };
    assert!(error("half-f16") > 4.0 * error("half") && error("half") > 10.0 * error("egemm"), "{report:#}");
}

#[test]
fn integers_of_every_published_precision_are_exact() {
    let small = [("elements = [16, 64]", "elements = [3, 8]"), ("k = [64, 4096]", "k = [40]")];
    let (status, report) =
        experiment("magicube-table-4.toml", &small, &["--device", "model:ampere", "--device", "model:cdna3"]);
    let cells = rows(&report, "integer_cells");
    assert_eq!((status, cells.len()), (0, 28));
    for cell in cells {
        let has = cell["device"] == "model:ampere" || cell["scheme"] == "l8-r8";
        assert_eq!(cell["verdict"], if has { "reproduced: exact" } else { "not testable here" }, "{cell}");
        assert!(!has || cell["held"].as_u64().unwrap() + cell["beyond"].as_u64().unwrap() == 24, "{cell}");
    }
}

#[test]
fn a_precision_that_an_assembler_emulates_is_called_emulated() {
    let small = [("elements = [16, 64]", "elements = [3, 8]"), ("k = [64, 4096]", "k = [40]")];
    let (_, report) =
        experiment("magicube-table-4.toml", &small, &["--device", "model:hopper", "--device", "model:turing"]);
    for cell in rows(&report, "integer_cells") {
        let narrow = cell["instructions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|name| [".s4.", ".u4."].iter().any(|format| name.as_str().unwrap().contains(format)));
        let native = cell["device"] == "model:turing" || !narrow;
        assert_eq!(cell["verdict"], if native { "reproduced: exact" } else { "reproduced: exact, emulated" }, "{cell}");
        assert_eq!(cell["why"].is_null(), native, "{cell}");
    }
}

#[test]
fn sums_of_two_products_are_near_single_precision_on_every_generation() {
    let devices =
        ["--device", "model:turing", "--device", "model:hopper", "--device", "model:cdna2", "--samples", "3000"];
    let (status, report) = experiment("egemm-figure-3.toml", &[], &devices);
    let findings = rows(&report, "findings");
    assert_eq!((status, findings.len()), (0, 12), "{findings:#?}");
    assert!(findings.iter().all(|finding| finding["holds"] == true));
    assert_eq!(rows(&report, "bit_agreement").len(), 3 * 32);
    let wrong = [("reference = \"half\", bits = 23, at_most = 0.1", "reference = \"half\", bits = 23, at_least = 0.1")];
    assert_eq!(experiment("egemm-figure-3.toml", &wrong, &["--samples", "100", "--device", "model:turing"]).0, 1);
}

#[test]
fn the_table_of_formats_is_reproduced_but_for_its_misprints() {
    let (status, report) = experiment("table-formats.toml", &[], &[]);
    let cells = rows(&report, "published");
    let other: Vec<&Value> = cells.iter().filter(|cell| cell["verdict"] != "reproduced").collect();
    assert_eq!(status, 0);
    assert!(cells.len() > 60 && !other.is_empty());
    assert!(other.iter().all(|cell| cell["verdict"] == "not reproduced: misprinted" && cell["misprint"].is_string()));
}

#[test]
fn a_cell_says_which_generations_it_can_refute() {
    let devices = ["--device", "model:ampere", "--device", "model:cdna2", "--samples", "2000"];
    let (status, report) = experiment("table-12.toml", &[], &devices);
    assert_eq!(status, 0);
    for cell in rows(&report, "cells") {
        let not: Vec<&str> = cell["would_not"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        // Which sum it is shows in one cell alone.
        let telling = cell["op"] == "accumulate" && cell["init"] == "low";
        assert_eq!(not.contains(&"cdna2"), telling, "{cell}");
        assert_eq!(cell["verdict"] == "not reproduced: another generation", telling && cell["device"] == "model:cdna2");
        assert_eq!(cell["instead"].is_string(), cell["device"] == "model:cdna2", "{cell}");
    }
    let notes = report["notes"].to_string();
    assert!(notes.contains("Little power: 5 of 6 cells"), "{notes}");
}

#[test]
fn a_device_without_any_of_the_instructions_is_refused_and_one_without_some_is_not() {
    let run = tcnum(&["experiment", file("table-15.toml").to_str().unwrap(), "--device", "model:volta"]);
    assert!(run.status == 2 && run.stderr.contains("model:volta has none of the instructions"), "{}", run.stderr);
    let devices = ["--device", "model:turing", "--samples", "20"];
    let (_, report) = experiment("figure-17.toml", &[], &devices);
    let findings = rows(&report, "findings");
    assert_eq!((findings.len(), rows(&report, "untestable").len()), (4, 2));
}

#[test]
fn every_accumulator_has_a_line_and_equal_ones_share_it_in_the_plot() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("growth.svg");
    let small =
        [("k = [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]", "k = [32, 64]"), ("rows = 8", "rows = 2")];
    let devices = ["--device", "model:ampere", "--device", "model:ada", "--plot", plot.to_str().unwrap()];
    let (status, report) = experiment("error-growth.toml", &small, &devices);
    let lines = rows(&report, "product_errors");
    let of = |device: &str| lines.iter().filter(|line| line["device"] == device && line["k"] == 64).count();
    assert!(status == 0 && of("model:ampere") >= 8 && of("model:ada") > of("model:ampere"), "{lines:#?}");
    assert!(std::fs::read_to_string(plot).unwrap().contains("ampere = ada"));
}
