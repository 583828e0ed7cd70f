//! The kept reports: the simulated Hopper gives what they say of the H200; the index names the models' versions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tcnum::arithmetic::Model;

use crate::{machine::amount, program::tcnum};

/// A kept report.
fn kept(device: &str, name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports").join(device).join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Rows of a probe's result by instruction, operation, initialisation and distribution.
type Profile = BTreeMap<[String; 4], Value>;

/// The rows of a probe's result.
fn profile(report: &Value) -> Profile {
    let rows = report["tables"]["profile"].as_array().unwrap().clone();
    let key = |row: &Value| ["instruction", "op", "init", "distribution"].map(|k| row[k].as_str().unwrap().to_string());
    rows.into_iter().map(|row| (key(&row), row)).collect()
}

/// The result of a command on the simulated Hopper.
fn simulated(arguments: &[&str]) -> Value {
    let run = tcnum(&[arguments, &["--device", "model:hopper", "-q", "--output", "json"]].concat());
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Whether operands are drawn otherwise today than in the kept probes: positions of sparse forms came in ascending order then.
fn drawn_otherwise(instruction: &str) -> bool {
    instruction.starts_with("mma.sp.") && !instruction.contains(".ordered")
}

/// Checks that the H200 and the simulated Hopper had the same inputs and gave the same bits.
fn compare(h200: &Profile, simulated: &Profile) {
    assert!(!simulated.is_empty());
    for (key, row) in simulated {
        let kept = &h200[key];
        for column in ["samples", "inputs_digest", "outputs_digest", "model_agree", "ulp_histogram"] {
            assert_eq!(kept[column], row[column], "{key:?}: {column}");
        }
        assert_eq!(kept["element_mismatches"], 0, "{key:?}");
        assert_ne!(kept["execution"], "simulated", "{key:?}");
    }
}

#[test]
fn the_simulated_hopper_gets_the_inputs_of_the_h200_and_gives_the_same_bits() {
    let every = amount(128, 16);
    for (at, op) in ["multiply", "inner-product", "accumulate", "dot"].into_iter().enumerate() {
        let h200 = profile(&kept("h200", &format!("probe-{op}.json")));
        // Other instructions for each operation.
        let first = at * every / 4;
        let instructions: BTreeSet<&str> = h200.keys().map(|[instruction, ..]| &instruction[..]).collect();
        let instructions = instructions.into_iter().filter(|instruction| !drawn_otherwise(instruction));
        let mut command = format!(
            "probe --op {op} --init low --dist normal --dist special --dist corners --dist log-uniform --samples 4000"
        );
        for instruction in instructions.skip(first).step_by(every) {
            command += &format!(" --instr {instruction}");
        }
        compare(&h200, &profile(&simulated(&command.split(' ').collect::<Vec<_>>())));
    }
    let bf16 = simulated(&["probe", "--fmt", "bf16", "--op", "accumulate"]);
    compare(&profile(&kept("h200", "probe-bf16-accumulate.json")), &profile(&bf16));
}

#[test]
fn the_chains_of_the_simulated_hopper_are_those_of_the_h200() {
    let h200 = kept("h200", "chain-figure-17.json");
    let rows = h200["tables"]["chain"].as_array().unwrap();
    assert_eq!(rows.len(), 120);
    let simulated = simulated(&["chain", "--length", amount("4", "20")]);
    let simulated = simulated["tables"]["chain"].as_array().unwrap();
    assert_eq!(simulated.len(), amount(24, 120));
    for row in simulated {
        // Columns that came later are not in the kept report.
        let same = |kept: &&Value| kept.as_object().unwrap().iter().all(|(column, value)| row[column] == *value);
        assert!(rows.iter().any(|kept| same(&kept)), "{row}");
    }
    for curve in h200["tables"]["curves"].as_array().unwrap() {
        assert_ne!(curve["execution"], "simulated");
    }
}

#[test]
fn every_dense_mma_and_wgmma_and_operation_was_probed_on_the_h200() {
    let dense = |i: &&tcnum::isa::Instruction| matches!(i.family(), "mma" | "wgmma") && i.a.bits >= 8;
    let executed = tcnum::isa::all().iter().filter(|i| i.missing().is_none()).filter(dense);
    let executed: Vec<&str> = executed.map(|i| i.name.as_str()).collect();
    for op in ["multiply", "inner-product", "accumulate", "dot"] {
        let rows = profile(&kept("h200", &format!("probe-{op}.json")));
        for name in &executed {
            let of = rows.keys().filter(|[instruction, o, ..]| instruction == name && o == op);
            assert!(of.count() >= 4, "{name}, {op}: not every distribution");
        }
    }
}

/// Every version of a simulated device's model that a report names: the model's name, the version.
fn versions(document: &Value, simulated: &mut Vec<(String, u32)>) {
    let named = ["name", "device"].into_iter().find_map(|key| document[key].as_str()?.strip_prefix("model:"));
    let of_object = || document["details"]["model_version"].as_str();
    let of_row = || document["details"].as_str()?.split(", ").find_map(|part| part.strip_prefix("model_version "));
    if let (Some(name), Some(version)) = (named, of_object().or_else(of_row)) {
        simulated.push((name.into(), version.parse().unwrap()));
    }
    match document {
        Value::Array(values) => values.iter().for_each(|value| versions(value, simulated)),
        Value::Object(fields) => fields.values().for_each(|value| versions(value, simulated)),
        _ => {}
    }
}

/// The JSON files below `folder`.
fn json_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            json_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
}

#[test]
fn the_index_of_reports_names_the_version_of_every_model_that_was_simulated() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let index = fs::read_to_string(root.join("reports/README.md")).unwrap();
    let mut files = Vec::new();
    json_files(&root.join("reports"), &mut files);
    let mut named = 0;
    for file in &files {
        let document: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let mut simulated = Vec::new();
        versions(&document, &mut simulated);
        let report = file.strip_prefix(root.join("reports")).unwrap().display().to_string();
        let row = index.lines().find(|line| line.contains(&format!("]({report})")));
        for (name, version) in simulated {
            assert!(version <= Model::load(&name).unwrap().version, "{report}: {name} {version} is not yet there");
            let row = row.unwrap_or_else(|| panic!("reports/README.md lacks {report}"));
            let model = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap_or_default();
            let models: Vec<&str> = model.split(',').map(str::trim).collect();
            assert!(models.contains(&&format!("{name} {version}")[..]), "{report}: its row lacks {name} {version}");
            named += 1;
        }
    }
    assert!(files.len() > 30 && named > 10, "{} files, {named} versions", files.len());
}
