//! Several published experiments in one run, by name; sampling errors, verdicts, and models that lack instructions.

use std::{cell::Cell, path::Path, process::Command, rc::Rc};

use serde_json::Value;
use tcnum::{
    Interruption,
    experiment::{self, Experiment, Options},
    interruptible, verbs,
};
use tcnum_engine::{
    device::{Device, ModelDevice},
    report::{Cell as TableCell, Report},
};

use crate::program::{tcnum, validate_report};

/// A report as JSON, of a run that may find differences.
fn report(arguments: &[&str]) -> (i32, Value) {
    let run = tcnum(&[&["experiment"], arguments, &["--output", "json", "-q"]].concat());
    assert!(run.status <= 1, "{arguments:?}: {}", run.stderr);
    (run.status, validate_report(&run.stdout))
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a [Value] {
    report["tables"][table].as_array().unwrap_or_else(|| panic!("{table}: {report:#}"))
}

#[test]
fn shipped_experiments_have_names_and_a_list() {
    let (status, list) = report(&["--list"]);
    let listed: Vec<&str> =
        rows(&list, "shipped_experiments").iter().map(|row| row["experiment"].as_str().unwrap()).collect();
    assert_eq!((status, listed.clone()), (0, experiment::shipped().collect::<Vec<_>>()));
    assert!(listed.contains(&"table-12") && listed.contains(&"le-gemm-figure-10"));
    let small = ["--device", "ampere", "--samples", "100"];
    let (_, by_name) = report(&[&["table-12"], &small[..]].concat());
    let (_, by_path) = report(&[&["experiments/table-12.toml"], &small[..]].concat());
    assert_eq!(by_name["tables"], by_path["tables"]);
    let unknown = tcnum(&["experiment", "table-1"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("'table-1' is not an experiment; the nearest are"), "{}", unknown.stderr);
    assert_eq!(tcnum(&["experiment"]).status, 2);
}

#[test]
fn probes_draw_20_000_samples_and_every_mean_has_its_standard_error() {
    for name in experiment::shipped() {
        if let Some(probe) = Experiment::find(name).unwrap().probe {
            assert_eq!(probe.samples, 20_000, "{name}");
        }
    }
    let (_, document) = report(&["table-12", "--device", "ampere"]);
    for cell in rows(&document, "cells") {
        assert_eq!(cell["samples"], 20_000);
        let (mean, error) = (cell["measured"].as_f64().unwrap(), cell["standard_error"].as_f64().unwrap());
        assert!(if mean == 0.0 { error == 0.0 } else { 0.0 < error && error < 0.2 * mean }, "{cell}");
    }
    let shown = tcnum(&["experiment", "table-12", "--device", "ampere", "--brief"]).stdout;
    let line = shown.lines().find(|line| line.contains("accumulate") && line.contains("1.89E-08")).unwrap();
    assert!(line.contains("e-08 ± ") && line.contains("e-10 "), "{line}");
}

/// A file with one published cell.
fn one_cell(published: &str) -> String {
    format!(
        "source = \"\"\ntitle = \"\"\npublished_on = \"\"\n[probe]\ninstructions = [\"mma.m16n8k8.f32.bf16.bf16.f32\"]\n\
         ops = [\"accumulate\"]\ninits = [\"low\"]\nsamples = 20000\npublished_samples = 1000000\n[[published]]\n\
         table = \"profile\"\nkeys = [\"instruction\", \"op\", \"init\"]\ncolumns = [\"mean_abs_error_f32\"]\n\
         rows = [[\"mma.m16n8k8.f32.bf16.bf16.f32\", \"accumulate\", \"low\", \"{published}\"]]\n"
    )
}

fn cell(report: &Report, column: &str) -> TableCell {
    let table = report.tables.iter().find(|table| table.key == "cells").unwrap();
    let at = table.columns.iter().position(|candidate| candidate.key == column).unwrap();
    table.rows[0][at].clone()
}

fn run_one_cell(published: &str, options: Options) -> Report {
    let experiment = Experiment::parse(&one_cell(published), "one.toml").unwrap();
    let mut devices: Vec<Box<dyn Device>> = vec![Box::new(ModelDevice::open("ampere").unwrap())];
    let mut report = Report::new("experiment", "");
    experiment::run(&experiment, &mut devices, options, &mut report, &mut |_| ()).unwrap();
    report
}

fn real(report: &Report, column: &str) -> f64 {
    match cell(report, column) {
        TableCell::Real(value) => value,
        other => panic!("{column}: {other:?}"),
    }
}

/// Sixty seeds: the spread of their means is what each says of its own.
#[test]
fn the_standard_error_of_a_probe_is_the_spread_of_its_means_over_seeds() {
    let runs: Vec<Report> = (0..60)
        .map(|seed| run_one_cell("1.89E-08", Options { seed, samples: Some(400), ..Options::default() }))
        .collect();
    let means: Vec<f64> = runs.iter().map(|run| real(run, "measured")).collect();
    let mean = means.iter().sum::<f64>() / 60.0;
    let spread = (means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 59.0).sqrt();
    let said = runs.iter().map(|run| real(run, "standard_error")).sum::<f64>() / 60.0;
    assert!((said / spread - 1.0).abs() < 0.3, "said {said:e}, spread {spread:e}");
}

#[test]
fn a_verdict_follows_the_published_figure_and_the_standard_errors() {
    let options = Options { samples: Some(4000), ..Options::default() };
    let ours = run_one_cell("1.89E-08", options);
    let (mean, error) = (real(&ours, "measured"), real(&ours, "standard_error"));
    let verdict = |published: f64| match cell(&run_one_cell(&format!("{published:.4e}"), options), "verdict") {
        TableCell::Text(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(verdict(mean), "reproduced: rounds to the published digits");
    // A million published samples: the error is ours, nearly.
    assert_eq!(verdict(mean + 1.8 * error), "reproduced: within 2 standard errors");
    assert_eq!(verdict(mean + 2.5 * error), "not reproduced: not known why");
    let zero = match cell(&run_one_cell("0.0", options), "verdict") {
        TableCell::Text(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(zero, "not reproduced: not known why; a zero without a count");
}

/// The files of small experiments, one with products.
fn small(folder: &Path) -> String {
    let path = folder.join("small.toml");
    let text = std::fs::read_to_string("experiments/le-gemm-figure-11.toml").unwrap();
    let text =
        text.replace("k = [1024, 2048, 4096, 8192]", "k = [64]").replace("elements = [16, 256]", "elements = [4, 32]");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn one_and_eight_threads_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let small = small(folder.path());
    let run = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
        command.args(["experiment", "table-15", "figure-17", "egemm-figure-3", "magicube-table-4", &small]);
        command.args(["--device", "ampere", "--device", "cdna2", "--samples", "30", "--output", "json", "-q"]);
        let output = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert!(output.status.code().unwrap() <= 1, "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let one = run("1");
    assert!(validate_report(&one)["tables"]["figures"].as_array().unwrap().len() > 20, "{one}");
    assert_eq!(one, run("8"));
}

#[test]
fn together_experiments_and_devices_give_what_each_gives_alone() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let devices = ["--device", "ampere", "--device", "hopper", "--device", "ada", "--device", "blackwell"];
    let small = ["--samples", "30", "--folder", kept.to_str().unwrap()];
    let (_, together) = report(&[&["table-12", "figure-17"], &devices[..], &small[..]].concat());
    let names: Vec<&str> =
        rows(&together, "experiments").iter().map(|row| row["experiment"].as_str().unwrap()).collect();
    assert_eq!(names, ["table-12", "figure-17"]);
    for (name, table) in [("table-12", "cells"), ("figure-17", "chain"), ("figure-17", "findings")] {
        let text = std::fs::read_to_string(kept.join(format!("{name}.json"))).unwrap();
        let stored = validate_report(&text);
        for device in ["model:hopper", "model:blackwell", "model:ada"] {
            let (_, alone) = report(&[name, "--device", device, "--samples", "30"]);
            let of: Vec<&Value> = rows(&stored, table).iter().filter(|row| row["device"] == device).collect();
            assert_eq!(of, rows(&alone, table).iter().collect::<Vec<_>>(), "{name}, {device}");
        }
    }
    // Equal arithmetic shares a row.
    let shared = rows(&together, "figures").iter().find(|row| {
        row["devices"].as_array().unwrap().iter().any(|device| device == "model:ada")
            && row["figure"].as_str().unwrap().contains("accumulate, init low")
    });
    assert_eq!(shared.unwrap()["devices"], serde_json::json!(["model:ampere", "model:ada"]));
}

#[test]
fn models_without_the_instructions_are_rows_and_no_failure() {
    let (status, document) = report(&["table-15", "--device", "volta", "--device", "ampere", "--samples", "2000"]);
    let untestable = rows(&document, "untestable");
    // Six cells and two findings.
    assert_eq!((status, untestable.len()), (0, 8));
    assert!(untestable.iter().all(|row| row["device"] == "model:volta" && row["verdict"] == "not testable here"));
    // A figure that no device can test, beside one that has a result.
    let (status, document) =
        report(&["table-15", "magicube-table-4", "--device", "volta", "--device", "cdna3", "--samples", "2000"]);
    assert_eq!(status, 0);
    let lacking = rows(&document, "untestable_figures");
    assert!(
        lacking.iter().any(|row| row["why"] == "lacks mma.m16n8k8.f32.tf32.tf32.f32" && row["figures"] == 6),
        "{lacking:?}"
    );
    let (status, document) = report(&["table-3", "table-15", "--device", "volta"]);
    assert_eq!(status, 0, "{document:#}");
    assert!(rows(&document, "experiments").iter().all(|row| row["reproduced"] == 0 && row["differing"] == 0));
    assert!(
        document["notes"].to_string().contains("table-15: model:volta has none of the instructions"),
        "{document:#}"
    );
}

#[test]
fn all_models_leave_figures_of_one_generation_to_its_models() {
    let folder = tempfile::tempdir().unwrap();
    let (_, document) = report(&[&small(folder.path()), "--all-models", "--samples", "2"]);
    let cells = rows(&document, "splitting_cells");
    let models: Vec<&str> = cells.iter().map(|cell| cell["device"].as_str().unwrap()).collect();
    assert!(models.contains(&"model:arm") && models.contains(&"model:volta"));
    for cell in cells {
        let of = |name: &str| cell["device"] == format!("model:{name}");
        assert_eq!(cell["measured"].is_number(), of("cdna2") || of("ampere"), "{cell}");
    }
}

#[test]
fn an_interrupted_run_keeps_the_experiments_before_it_and_marks_the_rest() {
    let words = "tcnum experiment table-12 table-13 --device ampere --samples 200";
    let mut seen = false;
    for at in (1..2000).step_by(6) {
        let checks = Rc::new(Cell::new(0));
        let stop = move || {
            checks.set(checks.get() + 1);
            (checks.get() >= at).then_some(Interruption::Term)
        };
        let words = words.split(' ').map(Into::into).collect();
        let Ok((report, _)) = interruptible(stop, || verbs::report(words)) else { continue };
        let table = report.tables.iter().find(|table| table.key == "experiments").unwrap();
        let at = table.columns.iter().position(|column| column.key == "complete").unwrap();
        let complete: Vec<bool> = table.rows.iter().map(|row| row[at] == TableCell::Flag(true)).collect();
        if report.interrupted.is_none() {
            assert_eq!(complete, [true, true]);
            break;
        }
        assert!(complete.last() == Some(&false), "{complete:?}");
        if complete == [true, false] {
            seen = true;
            assert!(report.tables.iter().any(|table| table.key == "figures" && table.rows.len() >= 6));
        }
    }
    assert!(seen);
}

#[test]
fn a_gate_fails_on_the_figure_that_is_not_reproduced_and_on_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let [file, junit] = ["one.toml", "checks.xml"].map(|name| folder.path().join(name).display().to_string());
    let failures = |published: &str, more: &[&str]| {
        std::fs::write(&file, one_cell(published)).unwrap();
        let words = ["experiment", &file, "--device", "ampere", "--samples", "2000", "--junit", &junit];
        let status = tcnum(&[&words, more].concat()).status;
        (status, std::fs::read_to_string(&junit).unwrap().matches("the published figure is not reproduced").count())
    };
    assert_eq!(failures("1.6E-08", &["--published-samples", "200"]), (0, 0));
    assert_eq!(failures("2.6E-08", &[]), (1, 1));
    // The same of several experiments.
    assert_eq!(failures("2.6E-08", &["table-formats"]), (1, 1));
}
