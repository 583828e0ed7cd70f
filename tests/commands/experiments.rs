//! The published experiments: their files, and what a run of them claims.

use std::path::{Path, PathBuf};

use crate::{
    machine::amount,
    program::{tcnum, validate_report},
};
use serde_json::Value;
use tcnum::{
    Error, Result,
    experiment::{self, Experiment, Options},
    isa::{Codes, Instruction, Tiles},
};
use tcnum_engine::{
    device::{Device, Execution, ExecutionKind, Identity},
    report::Report,
};

const TABLES: [&str; 4] = ["table-12", "table-13", "table-14", "table-15"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments")
}

fn file(name: &str) -> String {
    folder().join(format!("{name}.toml")).display().to_string()
}

/// A report as JSON, and its exit status.
fn report(file: &str, more: &[&str]) -> (i32, Value) {
    let run = tcnum(&[&["experiment", file, "--output", "json"], more].concat());
    assert!(run.status <= 1, "{}", run.stderr);
    (run.status, validate_report(&run.stdout))
}

const AMPERE: &str = "model:ampere";

#[test]
fn every_published_cell_is_in_the_files_once_and_as_printed() {
    let mut printed = Vec::new();
    let mut places = Vec::new();
    for name in TABLES {
        for number in Experiment::read(Path::new(&file(name))).unwrap().published {
            places.push(format!("{:?} {}", number.row, number.column));
            printed.push(number.printed.text);
        }
    }
    // Rows of the tables: multiplication, inner product, accumulation, each init low then fp32 (table 14: against
    // f32, then against f32 rounded to f16).
    let expected = "0.0 1.29E-03 0.0 1.72E-03 1.89E-08 1.13E-03 0.00 1.59E-04 0.00 2.18E-04 0.00 1.36E-04 \
        1.22E-04 1.94E-04 0.00 1.67E-04 1.81E-04 2.99E-04 0.00 2.21E-04 1.81E-04 2.99E-04 0.00 2.21E-04 \
        0.0 1.59E-04 0.0 2.17E-04 0.0 1.36E-04";
    assert_eq!(printed, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(printed.len(), 30);
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 30);
}

#[test]
fn the_published_experiments_hold_on_both_generations_with_the_same_inputs() {
    for name in TABLES.into_iter().step_by(amount(4, 1)) {
        // Table 14 has a finding that fewer samples do not settle.
        let samples = if name == "table-14" { "30000" } else { "4000" };
        let devices = ["--device", "model:hopper", "--device", AMPERE, "--samples", samples];
        let (status, document) = report(&file(name), &devices);
        assert_eq!((status, &document["holds"]), (0, &Value::Bool(true)), "{name}: {document:#}");
        let pairs = document["tables"]["device_pairs"].as_array().unwrap();
        assert!(pairs.len() == 6 && pairs.iter().all(|pair| pair["same_inputs"] == true));
        let equal = |pair: &&Value| pair["same_outputs"] == true;
        assert!(pairs.iter().filter(|p| p["op"] == "multiply").all(|pair| equal(&pair)));
        // Sums into f32 tell 24 from 25 bits of alignment.
        assert_eq!(pairs.iter().all(|pair| equal(&pair)), name == "table-14", "{name}");
    }
}

#[test]
fn figure_17_holds_and_a_device_beside_itself_has_the_same_numbers() {
    let devices = ["--device", "model:hopper", "--device", "model:hopper", "--samples", "100"];
    let (status, document) = report(&file("figure-17"), &devices);
    assert_eq!(status, 0, "{:#}", document["tables"]["findings"]);
    assert_eq!(document["tables"]["findings"].as_array().unwrap().len(), 12);
    let pairs = document["tables"]["curve_pairs"].as_array().unwrap();
    assert!(pairs.len() == 6 && pairs.iter().all(|pair| pair["same"] == true));
    let (status, document) = report(&file("figure-17"), &["--device", AMPERE, "--samples", "100"]);
    assert_eq!(status, 0, "{:#}", document["tables"]["findings"]);
}

/// The exit status of a report on `text` as a file.
fn status_of(text: &str, more: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("experiment.toml");
    std::fs::write(&path, text).unwrap();
    let run = tcnum(&[&["experiment", path.to_str().unwrap(), "--device", "model:hopper"], more].concat());
    (run.status, run.stdout + &run.stderr)
}

/// A published experiment, without the runs of other generations.
fn text_of(name: &str) -> String {
    let text = std::fs::read_to_string(file(name)).unwrap();
    text.lines().filter(|line| !line.starts_with("generations = ")).map(|line| line.to_string() + "\n").collect()
}

#[test]
fn a_wrong_cell_fails_unless_it_is_accepted() {
    let samples = ["--samples", "2000"];
    let wrong = text_of("table-12").replace("1.29E-03", "2.29E-03");
    assert_eq!(status_of(&wrong, &samples).0, 1);
    // An explanation alone excuses nothing.
    let with = |line: &str| wrong.replace("\"2.29E-03\"],\n]", &format!("\"2.29E-03\"],\n]\n{line}"));
    assert_eq!(status_of(&with("explanation = \"A misprint.\""), &samples).0, 1);
    assert_eq!(status_of(&with("accepted = \"A misprint.\""), &samples).0, 0);
}

#[test]
fn acceptance_is_needed_where_a_printed_zero_is_none() {
    let bare: String =
        text_of("table-13").lines().filter(|l| !l.starts_with("accepted")).collect::<Vec<_>>().join("\n");
    assert_eq!(status_of(&bare, &["--samples", "4000"]).0, 1);
}

#[test]
fn the_verdict_depends_on_the_number_of_samples_that_is_assumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("experiment.toml").display().to_string();
    // The one cell that is looked at.
    let text = text_of("table-12");
    let mut parts = text.split("[[published]]");
    let mut kept = parts.next().unwrap().to_string();
    let numbers = parts.filter(|numbers| numbers.contains("\"inner-product\", \"fp32\""));
    numbers.for_each(|numbers| kept += &["[[published]]", numbers].concat());
    std::fs::write(&path, kept).unwrap();
    let of = |n: &str| {
        let (_, document) =
            report(&path, &["--device", "model:hopper", "--samples", "20000", "--published-samples", n]);
        let rows = document["tables"]["cells"].as_array().unwrap().clone();
        let cell = rows.into_iter().find(|r| r["op"] == "inner-product" && r["init"] == "fp32").unwrap();
        cell["verdict"].as_str().unwrap().to_string()
    };
    assert_eq!(
        (of("200").as_str(), of("1000").as_str()),
        ("reproduced: within 2 standard errors", "not reproduced: accepted")
    );
}

#[test]
fn findings_that_do_not_hold_fail() {
    for (from, to) in [
        ("factor = 5.0", "factor = 50.0"),
        ("pair = [\"mma.m16n8k8.f32.tf32.tf32.f32\"", "pair = [\"mma.m16n8k8.f32.bf16.bf16.f32\""),
        ("from = 8, to = 12", "from = 2, to = 5"),
        ("below = 1e-6", "below = 1e-9"),
        ("at_least = 0.9", "at_least = 1.1"),
    ]
    .into_iter()
    .take(amount(2, 5))
    {
        let text = text_of("figure-17");
        assert!(text.contains(from), "{from}");
        assert_eq!(status_of(&text.replace(from, to), &["--samples", "60"]).0, 1, "{to}");
    }
    let text = text_of("table-12").replace("ops = [\"multiply\"]", "ops = [\"accumulate\"]");
    assert_eq!(status_of(&text, &["--samples", "2000"]).0, 1);
}

#[test]
fn bad_experiment_files_are_refused_with_what_is_wrong() {
    let good = text_of("table-12");
    for (from, to, says) in [
        ("ops = [\"multiply\"", "ops = [\"divide\"", "inner-product"),
        ("mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k9.f32.bf16.bf16.f32", "m16n8k8"),
        ("\"1.29E-03\"", "\"none\"", "printed number"),
        (", \"1.29E-03\"", "", "another number of cells than columns"),
        ("\"mean_abs_error_f32\"", "\"mean\"", "the table profile has no column 'mean'"),
        ("\"mean_abs_error_f32\"", "\"max_abs_error\"", "mean_abs_error_f32_rounded"),
        ("table = \"profile\"", "table = \"costs\"", "no question gives a table 'costs'; expected one of: profile"),
        (
            "[\"mma.m16n8k8.f32.bf16.bf16.f32\", \"multiply\"",
            "[\"mma.m16n8k8\", \"multiply\"",
            "'mma.m16n8k8' is not among the instructions",
        ),
        ("samples = 20000", "samples = 0", "2 to 1000000000000 samples"),
        ("samples = 20000", "samples = 9000000000000000000", "2 to 1000000000000 samples"),
        ("published_on", "published_by", "published_by"),
        ("kind = \"exact\"", "kind = \"grows\", at_least = 1.0", "experiment.toml"),
    ] {
        assert!(good.contains(from), "{from}");
        let (status, said) = status_of(&good.replacen(from, to, 1), &[]);
        assert!(status == 2 && said.contains(says), "{to}: {status} {said}");
    }
    let chains = text_of("figure-17");
    for (from, to) in
        [("length = 20", "length = 9000000000000000000"), ("chains = 1000", "chains = 9000000000000000000")]
    {
        let (status, said) = status_of(&chains.replacen(from, to, 1), &[]);
        assert!(status == 2 && said.contains("1 to 1000000000 chains and a length of 1 to 10000"), "{to}: {said}");
    }
    let (status, said) = status_of("source = \"\"\ntitle = \"\"\npublished_on = \"\"\n", &[]);
    assert!(status == 2 && said.contains("nothing to run"), "{said}");
    assert_eq!(tcnum(&["experiment", "no-such-file.toml"]).status, 2);
}

/// A device that lacks an instruction, and does not work.
struct Idle(Identity, String);

impl Device for Idle {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        match instruction.name == self.1 {
            true => Err(Error::request("it lacks the last one")),
            false => Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() }),
        }
    }

    fn execute(&mut self, _: &Instruction, _: &Tiles) -> Result<Codes> {
        panic!("work before the refusal")
    }
}

#[test]
fn an_instruction_that_the_device_lacks_is_refused_before_any_work() {
    for name in ["table-15", "figure-17"] {
        let text = std::fs::read_to_string(file(name)).unwrap();
        // A table of one instruction gets a second one.
        let one = "instructions = [\"mma.m16n8k8.f32.tf32.tf32.f32\"]";
        let two = "instructions = [\"mma.m16n8k8.f32.tf32.tf32.f32\", \"mma.m16n8k8.f32.bf16.bf16.f32\"]";
        let experiment = Experiment::parse(&text.replace(one, two), name).unwrap();
        let last = experiment.instructions().last().unwrap().name.clone();
        assert_ne!(experiment.instructions().next().unwrap().name, last, "{name}");
        let identity = Identity::new("idle", "idle");
        let mut devices: Vec<Box<dyn Device>> = vec![Box::new(Idle(identity, last))];
        let options = Options::default();
        let error =
            experiment::run(&experiment, &mut devices, options, &mut Report::new("experiment", ""), &mut |_| ())
                .unwrap_err();
        assert!(error.to_string().contains("it lacks the last one"), "{name}: {error}");
    }
}

#[test]
fn promotion_keeps_the_error_of_fp8_products_from_growing_and_a_plot_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plot) = (folder.path().join("short.toml"), folder.path().join("plot.svg"));
    let long = "k = [128, 256, 512, 1024, 2048, 4096, 8192, 16384]";
    let kept = text_of("promotion");
    assert!(kept.contains(long));
    std::fs::write(&path, kept.replace(long, "k = [128, 2048]")).unwrap();
    let devices = ["--device", "model:hopper", "--device", "model:blackwell", "--plot", plot.to_str().unwrap()];
    let (status, report) = report(path.to_str().unwrap(), &devices);
    let rows = report["tables"]["product_errors"].as_array().unwrap();
    assert_eq!((status, rows.len()), (0, 12), "{report}");
    let error = |device: &str, promote: Value, k: u64| {
        let is_wgmma = |row: &&Value| row["instruction"].as_str().is_some_and(|name| name.starts_with("wgmma"));
        let same = |row: &&Value| row["device"] == device && row["promote"] == promote && row["k"] == k;
        let row = rows.iter().find(|row| is_wgmma(row) && same(row)).unwrap();
        row["error"].as_f64().unwrap()
    };
    let hopper = |promote: Value, k| error("model:hopper", promote, k);
    // What is promoted once is as it was.
    assert_eq!(hopper(Value::Null, 128), hopper(128.into(), 128));
    assert!(hopper(Value::Null, 2048) > 2.0 * hopper(128.into(), 2048), "{report}");
    let plot = std::fs::read_to_string(plot).unwrap();
    for words in ["hopper, wgmma, promoted every 128", "blackwell, tcgen05", "hopper = blackwell, mma", "2048"] {
        assert!(plot.contains(words), "{words}");
    }
}

#[test]
fn wrong_products_are_refused_with_what_is_wrong() {
    let good = text_of("promotion");
    for (from, to, says) in [
        ("promote = 128", "promote = 100", "promote = 100"),
        ("k = [128,", "k = [0,", "k = 0"),
        ("values = \"normal\"", "values = \"odd\"", "magnitudes"),
        ("rows = 16", "rows = 0", "m = 0"),
    ] {
        let (status, said) = status_of(&good.replacen(from, to, 1), &[]);
        assert!(status == 2 && said.contains(says), "{to}: {status} {said}");
    }
    let run = tcnum(&["experiment", "promotion", "--device", "x86"]);
    assert!(run.status == 2 && run.stderr.contains("model:x86 has none of the instructions"), "{}", run.stderr);
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("x.svg");
    let flags = ["--samples", "2", "--device", "model:hopper", "--plot", plot.to_str().unwrap()];
    // Refused before the work: the device would fail.
    let flags = [&flags[..2], &["--device", "exec:false"], &flags[4..]].concat();
    let run = tcnum(&[&["experiment", &file("table-formats")], &flags[..]].concat());
    assert!(run.status == 2 && run.stderr.contains("has no figure"), "{}", run.stderr);
    let simulated = ["--device", "model:hopper", "--plot", plot.to_str().unwrap()];
    let run = tcnum(&[&["experiment", &file("hopper-cost")], &simulated[..]].concat());
    assert!(run.status == 2 && run.stderr.contains("has no figure"), "{}", run.stderr);
    // Others are drawn, and a figure has the width that is asked for.
    for (experiment, words) in [("table-12", "mean absolute error"), ("magicube-table-4", "l16-r16")] {
        let device =
            ["--samples", "2", "--device", "model:ampere", "--plot", plot.to_str().unwrap(), "--plot-width", "85"];
        let run = tcnum(&[&["experiment", &file(experiment)], &device[..]].concat());
        let drawing = std::fs::read_to_string(&plot).unwrap_or_default();
        assert!(drawing.contains(words) && drawing.contains("width=\"240.94pt\""), "{experiment}: {}", run.stderr);
    }
    for (words, says) in
        [(&["--plot", "x.svg", "--plot-width", "100"][..], "expected 85"), (&["--plot-width", "85"], "--plots")]
    {
        let run = tcnum(&[&["experiment", &file("table-12")], words].concat());
        assert!(run.status == 2 && run.stderr.contains(says), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn products_in_f64_beyond_their_bound_or_far_from_a_published_error_fail() {
    let good = text_of("cublas-fp64-grade");
    let bound = "kind = \"graded\", scheme = \"cublas-fp64\", terms = 4.0";
    let near = |scheme: &str, values: &str, k: usize, published: &str| {
        let finding = format!(
            "kind = \"near\", scheme = \"{scheme}\", values = \"{values}\", k = {k}, published = {published}, within = 0.2"
        );
        good.replace(bound, &finding)
    };
    for (text, expected) in [
        (good.clone(), 0),
        (good.replace(bound, &bound.replace("4.0", "0.001")), 1),
        (good.replace("beyond = true", "beyond = false"), 1),
        (near("cublas-fp64:7", "normal(0,1)", 256, "2.2e-16"), 0),
        (near("cublas-fp64:7", "normal(0,1)", 256, "2.8e-16"), 1),
    ] {
        assert!(expected == 0 || text != good);
        let (status, said) = status_of(&text, &["--samples", "2"]);
        assert_eq!(status, expected, "{said}");
    }
    for (text, says) in [
        (near("cublas-fp64:9", "normal(0,1)", 256, "1e-16"), "cublas-fp64:9 is not among the schemes of [emulate]"),
        (near("cublas-fp64:7", "normal(0,2)", 256, "1e-16"), "normal(0,2) is not among the values of [emulate]"),
        (near("cublas-fp64:7", "normal(0,1)", 128, "1e-16"), "k = 128 is not among the k of [emulate]"),
        (good.replace("draws = 3", "draws = 3\nrows = 8"), "rows is at least"),
    ] {
        let (status, said) = status_of(&text, &[]);
        assert!(status == 2 && said.contains(says), "{says}: {status} {said}");
    }
}
