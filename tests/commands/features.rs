//! `tcnum features`: generations side by side, and the published features.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    machine::has_python,
    program::{tcnum, validate_report},
};

const F16: &str = "mma.m16n8k16.f32.f16.f16.f32";
const VOLTA: &str = "mma.m8n8k4.f32.f16.f16.f32";

/// The result of a command, as JSON.
fn json_of(arguments: &[&str]) -> Value {
    let run = tcnum(&[&["features", "-q", "--output", "json"], arguments].concat());
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    validate_report(&run.stdout)
}

fn rows<'a>(document: &'a Value, table: &str) -> &'a Vec<Value> {
    document["tables"][table].as_array().unwrap_or_else(|| panic!("no table {table}"))
}

/// The heading and the lines of the first table by class in a text for a terminal.
fn by_class(text: &str, class: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("Features of {class}"))).skip(1);
    lines.take_while(|line| !line.is_empty()).map(String::from).collect()
}

/// The words of a line, without the marks of evidence.
fn words(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect()
}

#[test]
fn devices_are_columns_in_the_order_of_their_architectures_and_a_missing_class_is_absent() {
    // The command line has another order than the table.
    let devices = ["--device", "hopper", "--device", "cdna2", "--device", "volta"];
    let chosen = ["--instr", F16, "--instr", VOLTA];
    let run = tcnum(&[&["features", "-q"], &devices[..], &chosen].concat());
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let lines = by_class(&run.stdout, "mma f16 -> f32");
    assert_eq!(words(&lines[0]), ["feature", "volta", "cdna2", "hopper"]);
    let line = |name: &str| lines.iter().find(|line| line.starts_with(name)).map(|line| words(line)).unwrap();
    assert_eq!(line("alignment  ")[..3], ["alignment", "23 bits, RZ [r]", "absent"]);
    assert_eq!(line("subnormal A, B"), ["subnormal A, B", "kept [l]", "absent", "kept [m]"]);
    // No cell of the device without the class is empty or anything else.
    assert!(lines[2..].iter().all(|line| words(line)[2] == "absent"), "{lines:#?}");
    // Hopper has both instructions, which differ in their order.
    let order = lines.iter().position(|line| line.starts_with("order")).unwrap();
    assert!(lines[order..order + 4].concat().contains("m8n8k4: chain(0..3,"), "{lines:#?}");
    let document = json_of(&[&devices[..], &chosen].concat());
    let cells = rows(&document, "features");
    let of = |device: &str| cells.iter().filter(|row| row["device"] == device).collect::<Vec<_>>();
    assert!(
        of("cdna2").len() == 22 && of("cdna2").iter().all(|row| row["found"] == "absent" && row["evidence"].is_null())
    );
    assert_eq!((of("volta").len(), of("hopper").len()), (22, 44));
    // One row has the evidence in words, and an input with the answer.
    let row = of("volta").into_iter().find(|row| row["feature"] == "alignment").unwrap();
    assert!(row["rests_on"].as_str().unwrap().starts_with("recorded"), "{row}");
    assert!(row["operands"].as_str().unwrap().contains("0x") && row["d"].as_str().unwrap().starts_with("0x"), "{row}");
    assert_eq!((&row["class"], &row["instruction"]), (&"mma f16 -> f32".into(), &VOLTA.into()));
    let markdown = tcnum(&[&["features", "-q", "--output", "markdown"], &devices[..], &chosen].concat()).stdout;
    assert!(markdown.contains("| feature        | volta"), "{markdown}");
}

#[test]
fn the_answer_names_what_differs_between_two_generations() {
    let run = tcnum(&["features", "-q", "--device", "ampere", "--device", "hopper", "--instr", F16]);
    let answer = run.stdout.lines().take(2).collect::<Vec<_>>().join(" ");
    let expected = "7 of 22 features differ between ampere and hopper for mma f16 -> f32: order, c, alignment, \
                    alignment of c, extra bits, carry bits, sums. Published features that differ: 0, among ";
    assert!(answer.starts_with(expected), "{answer}");
}

#[test]
fn published_values_are_compared_and_a_difference_is_named_in_the_first_lines() {
    let tree = "mfma.16x16x16.f32.f16.f16.f32";
    let document = json_of(&["--device", "cdna1", "--device", "cdna2", "--instr", tree]);
    let published = rows(&document, "published_features");
    let verdicts = |verdict: &str| published.iter().filter(|row| row["verdict"] == verdict).collect::<Vec<_>>();
    let differ = verdicts("differs");
    let named: Vec<&Value> = differ.iter().map(|row| &row["feature"]).collect();
    assert_eq!(named, ["order", "alignment"]);
    assert!(differ.iter().all(|row| row["gpu"] == "CDNA1" && row["place"].as_str().unwrap().contains("MMA-Sim")));
    assert!(differ.iter().all(|row| row["reason"].as_str().unwrap().contains("MI100")));
    assert!(verdicts("agrees").len() > 10 && !verdicts("not comparable").is_empty());
    assert!(
        document["answer"]
            .as_str()
            .unwrap()
            .ends_with(&format!("Published features that differ: 2, among {} values.", published.len()))
    );
    let notes = document["notes"].to_string();
    assert!(notes.contains("has alignment none for mfma f16 -> f32 on CDNA1; cdna1 shows exact"), "{notes}");
}

#[test]
fn where_nan_codes_are_alike_a_model_is_no_measurement_and_its_nan_is_not_compared() {
    let document = json_of(&["--device", "volta", "--device", "hopper", "--any-nan"]);
    let volta = rows(&document, "features").iter().filter(|row| row["device"] == "volta" && !row["evidence"].is_null());
    let kinds: Vec<&str> = volta.map(|row| row["evidence"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"literature") && !kinds.contains(&"measured"), "{kinds:?}");
    let published = rows(&document, "published_features");
    let nan: Vec<&Value> = published.iter().filter(|row| row["feature"] == "NaN").collect();
    assert!(!nan.is_empty() && nan.iter().all(|row| row["verdict"] == "not comparable"), "{nan:?}");
    assert!(published.iter().all(|row| row["verdict"] != "differs"), "{published:?}");
}

/// A model file like Hopper's, with one changed line.
fn changed_hopper(folder: &Path, from: &str, to: &str) -> String {
    let text = fs::read_to_string("models/hopper.toml").unwrap();
    assert!(text.contains(from));
    let path = folder.join("hopper.toml");
    fs::write(&path, text.replace(from, to).replacen("name = \"hopper\"", "name = \"changed\"", 1)).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn a_model_file_stands_next_to_the_shipped_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = changed_hopper(folder.path(), "bits = 25", "bits = 22");
    let document = json_of(&["--device", "hopper", "--device", &file, "--instr", F16]);
    assert!(document["answer"].as_str().unwrap().starts_with("3 of 22 features differ between "), "{document}");
}

#[test]
fn all_models_are_compared_on_what_people_ask_about() {
    let document = json_of(&["--all-models"]);
    let cells = rows(&document, "features");
    let distinct = |key: &str| {
        let mut values: Vec<&str> = Vec::new();
        for value in cells.iter().filter_map(|row| row[key].as_str()) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let (devices, classes) = (distinct("device"), distinct("class"));
    assert_eq!(devices.len(), tcnum::arithmetic::shipped().count());
    assert!(
        devices[0] == "volta"
            && devices.iter().position(|device| *device == "cdna3")
                < devices.iter().position(|device| *device == "cdna4")
    );
    for class in
        ["mma f16 -> f32", "mma tf32 -> f32", "wgmma e4m3 -> f32", "mfma bf16 -> f32", "mma e2m1 (ue4m3 per 16) -> f32"]
    {
        assert!(classes.contains(&class), "{class} is not in {classes:?}");
    }
    // Each device has a row for each class and feature.
    for (device, class) in devices.iter().flat_map(|device| classes.iter().map(move |class| (device, class))) {
        let count = cells.iter().filter(|row| row["device"] == *device && row["class"] == *class).count();
        assert!(count >= 22, "{device}, {class}: {count}");
    }
    assert_eq!(rows(&document, "devices").len(), devices.len());
}

#[test]
fn a_page_of_several_devices_has_a_table_for_each_class() {
    let folder = tempfile::tempdir().unwrap();
    let [result, page] =
        ["features.json", "page.md"].map(|name| folder.path().join(name).to_str().unwrap().to_string());
    let devices = ["--device", "volta", "--device", "hopper", "--device", "cdna2"];
    let run = tcnum(&[&["features", "-q", "--out", &result, "--output", "json"][..], &devices].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let run = tcnum(&["report", &result, "--out", &page]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let text = fs::read_to_string(page).unwrap();
    for words in [
        "NVIDIA Volta (model)",
        "Features of mma f16 -\\> f32",
        "absent on AMD CDNA 2 (model)",
        "published feature next to the one found",
        "Features of models, in place of chips",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    // A class that a device lacks is no finding.
    assert!(!text.contains("| absent"), "{text}");
}

#[test]
fn what_was_measured_before_a_device_fails_is_delivered() {
    if !has_python() {
        return;
    }
    let dead = "exec:python3 -c pass";
    let run = tcnum(&["features", "-q", "--output", "json", "--device", "hopper", "--device", dead, "--instr", F16]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    let document = validate_report(&run.stdout);
    let devices: Vec<&Value> = rows(&document, "devices").iter().map(|row| &row["device"]).collect();
    assert_eq!(devices, ["model:hopper"]);
    assert_eq!(rows(&document, "features").len(), 22);
}

#[test]
fn wrong_requests_are_refused() {
    for (arguments, expected) in [
        (&["--device", "hopper", "--device", "H100"][..], "error: --device model:hopper is given twice; "),
        (
            &["--device", "trace:x", "--device", "hopper"],
            "error: trace:x is a recording, which computes no new outputs: ",
        ),
        (&["--device", "trace:x"], "error: trace:x is a recording, which computes no new outputs: "),
        (
            &["--device", "volta", "--device", "turing", "--instr", "mma.m16n8k16.f32.bf16.bf16.f32"],
            "error: none of the chosen instructions is on volta or turing",
        ),
        (&["--all-models", "--fmt", "e8m0"], "error: no dense instruction multiplies e8m0 operands; "),
        (
            &["--all-models", "--all", "--fmt", "f16"],
            "error: the argument '--all' cannot be used with '--fmt <FORMAT>'",
        ),
        (&["--device", "hopper", "--device", "nosuch"], "error: 'nosuch' is not a device; "),
    ] {
        let run = tcnum(&[&["features"], arguments].concat());
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.starts_with(expected), "{arguments:?}: {}", run.stderr);
    }
}
