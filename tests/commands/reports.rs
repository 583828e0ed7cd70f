//! What the kept reports say of each other: the H200 and the simulated Hopper ran the same inputs and gave the same bits.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tcnum::arithmetic::Model;

/// A kept report.
fn kept(device: &str, name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports").join(device).join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// The profile rows of a kept probe report, by instruction, operation, initialisation and distribution.
fn profile(device: &str, name: &str) -> BTreeMap<[String; 4], Value> {
    let rows = kept(device, name)["tables"]["profile"].as_array().unwrap().clone();
    let key = |row: &Value| ["instruction", "op", "init", "distribution"].map(|k| row[k].as_str().unwrap().to_string());
    rows.into_iter().map(|row| (key(&row), row)).collect()
}

#[test]
fn the_h200_and_the_simulated_hopper_had_the_same_inputs_and_gave_the_same_bits() {
    let names = ["bf16-accumulate", "multiply", "inner-product", "accumulate", "dot"];
    for name in names.map(|name| format!("probe-{name}.json")) {
        let (h200, simulated) = (profile("h200", &name), profile("model-hopper", &name));
        let missing: Vec<_> = h200.keys().filter(|key| !simulated.contains_key(*key)).collect();
        assert!(!h200.is_empty() && missing.is_empty(), "{name}: not simulated: {missing:?}");
        for (key, row) in &h200 {
            for column in ["samples", "inputs_digest", "outputs_digest", "model_agree", "ulp_histogram"] {
                assert_eq!(row[column], simulated[key][column], "{name}: {key:?}: {column}");
            }
            assert_eq!(row["element_mismatches"], 0, "{name}: {key:?}");
            assert_ne!(row["execution"], "simulated", "{name}: {key:?}");
        }
    }
}

#[test]
fn the_chains_of_the_h200_are_those_of_the_simulated_hopper() {
    let [h200, simulated] = ["h200", "model-hopper"].map(|device| kept(device, "chain-figure-17.json"));
    let rows = h200["tables"]["chain"].as_array().unwrap();
    assert_eq!(rows.len(), 120);
    assert_eq!(h200["tables"]["chain"], simulated["tables"]["chain"]);
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
        let rows = profile("h200", &format!("probe-{op}.json"));
        for name in &executed {
            let of = rows.keys().filter(|[instruction, o, ..]| instruction == name && o == op);
            assert!(of.count() >= 4, "{name}, {op}: not every distribution");
        }
    }
}

/// Every version of a simulated device's model that a report names: the model's name, the version.
fn versions(document: &Value, found: &mut Vec<(String, u32)>) {
    let named = ["name", "device"].into_iter().find_map(|key| document[key].as_str()?.strip_prefix("model:"));
    let of_object = || document["details"]["model_version"].as_str();
    let of_row = || document["details"].as_str()?.split(", ").find_map(|part| part.strip_prefix("model_version "));
    if let (Some(name), Some(version)) = (named, of_object().or_else(of_row)) {
        found.push((name.into(), version.parse().unwrap()));
    }
    match document {
        Value::Array(values) => values.iter().for_each(|value| versions(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| versions(value, found)),
        _ => {}
    }
}

/// The JSON files below `folder`.
fn json_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            json_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
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
        let mut found = Vec::new();
        versions(&document, &mut found);
        let report = file.strip_prefix(root.join("reports")).unwrap().display().to_string();
        let row = index.lines().find(|line| line.contains(&format!("]({report})")));
        for (name, version) in found {
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
