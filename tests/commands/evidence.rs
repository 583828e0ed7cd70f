//! What a model's arithmetic rests on is in every view that shows it, and no view calls a model a measurement.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tcnum::{
    arithmetic::{EvidenceKind, Model, shipped},
    isa,
};

use crate::program::{tcnum, validate_report};

/// The views for people.
const VIEWS: [&str; 3] = ["table", "markdown", "latex"];

/// The output of a command whose result holds or names a difference.
fn shown(arguments: &[&str]) -> String {
    let run = tcnum(arguments);
    assert!(run.status < 2, "{arguments:?}: {}", run.stderr);
    run.stdout
}

fn json_of(arguments: &[&str]) -> Value {
    validate_report(&shown(&[arguments, &["--output", "json"]].concat()))
}

/// The kinds that cells of a table of a result name in these columns.
fn kinds(document: &Value, table: &str, is_kind: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let rows = document["tables"][table].as_array().unwrap_or_else(|| panic!("no {table}")).iter();
    let cells = rows.flat_map(|row| row.as_object().unwrap().iter().filter(|(key, _)| is_kind(key)));
    cells.filter_map(|(_, kind)| Some(kind.as_str()?.to_string())).collect()
}

/// A text has these kinds in a legend, or says that all is of the one.
fn explains(text: &str, kinds: &BTreeSet<String>, what: &str) {
    assert!(!kinds.is_empty(), "{what}");
    let plain = text.replace("{[}", "[").replace("\\[", "[").replace("\\]", "]").replace('\n', " ");
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    for kind in kinds {
        let mark = EvidenceKind::named(kind).unwrap().mark();
        let legend = [format!("{mark} {kind}"), format!("all {kind}")];
        assert!(legend.iter().any(|words| plain.contains(words)), "{what} does not explain {kind}");
        assert!(kinds.len() == 1 || plain.matches(mark).count() > 1, "{what}: nothing is marked {mark}");
    }
    assert!(!plain.to_lowercase().contains("measured on"), "{what} calls a model a measurement");
}

#[test]
fn every_view_of_every_shipped_model_says_what_its_cells_rest_on() {
    for name in shipped() {
        let document = json_of(&["models", name]);
        let rules = kinds(&document, "rules", |key| key.ends_with("_evidence"));
        for view in VIEWS {
            let text = shown(&["models", name, "--output", view]);
            // A cell without anything in it has no mark.
            let seen = rules.iter().filter(|kind| text.contains(kind.as_str())).cloned().collect();
            explains(&text, &seen, &format!("models {name} as {view}"));
            assert!(text.contains("Evidence of the rules"), "{name} as {view}");
        }
        let csv = shown(&["models", name, "--output", "csv"]);
        assert!(csv.contains("floor_evidence") && rules.iter().all(|kind| csv.contains(kind.as_str())), "{name}");
    }
}

/// The features of an instruction of each model, as results.
fn features(folder: &Path) -> Vec<PathBuf> {
    let of = |name: &'static str| {
        let model = Model::load(name).unwrap();
        let instruction = isa::all().iter().find(|i| !i.d.is_integer() && model.rule(i).is_some()).expect(name);
        let path = folder.join(format!("{name}.json"));
        let device = format!("model:{name}");
        let command = ["features", "--device", &device, "--instr", &instruction.name, "-q"];
        let document = json_of(&command);
        for row in document["tables"]["features"].as_array().unwrap() {
            let says = |key: &str| row[key].is_string();
            assert_eq!((says("evidence"), says("rests_on")), (says("found"), says("found")), "{name}: {row}");
        }
        let kinds = kinds(&document, "features", |key| key == "evidence");
        for view in VIEWS {
            explains(&shown(&[&command[..], &["--output", view]].concat()), &kinds, &format!("{device} as {view}"));
        }
        fs::write(&path, document.to_string()).unwrap();
        path
    };
    shipped().map(of).collect()
}

#[test]
fn every_document_of_models_marks_its_cells_and_calls_none_a_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let results = features(folder.path());
    let all: Vec<&str> = results.iter().map(|path| path.to_str().unwrap()).collect();
    let six = ["volta", "turing", "ampere", "ada", "hopper", "blackwell"].map(|name| {
        let at = shipped().position(|other| other == name).unwrap();
        all[at]
    });
    for (results, count) in [(&all[..], shipped().count()), (&six[..], 6)] {
        for out in ["page.html", "page.md", "paper/"] {
            let path = folder.path().join(out);
            let run = tcnum(&[&["report"], results, &["--out", path.to_str().unwrap()]].concat());
            assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{out}");
            let text = match out {
                "paper/" => ["main.tex", "parts/arithmetic.tex"]
                    .map(|file| fs::read_to_string(path.join(file)).unwrap())
                    .concat(),
                _ => fs::read_to_string(&path).unwrap(),
            };
            let plain = text.replace("</abbr>", "").replace("\\_", "_");
            assert_eq!(plain.matches("(model)").count().min(count), count, "{out}");
            assert!(plain.contains("According to arithmetic models, and what these rest on"), "{out}");
            assert!(
                !plain.to_lowercase().contains("measured on") && !plain.contains("as far as it was measured"),
                "{out}"
            );
            for kind in EvidenceKind::ALL {
                let mark = kind.mark().trim_end_matches(']');
                let marked = [mark.to_string(), mark.replace('[', "\\["), mark.replace('[', "{[}")];
                // None of the six instructions rests on a specification.
                let any = marked.iter().any(|mark| text.contains(mark.as_str()));
                assert!(any || kind == EvidenceKind::Specification && count == 6, "{out}: {}", kind.name());
            }
        }
    }
}

#[test]
fn explanations_programs_and_differences_of_models_come_with_their_sources() {
    const F16: &str = "wmma.m16n16k16.f32.f16.f16.f32";
    for (command, models) in [
        (&["explain", "--instr", F16, "--a", "1", "--b", "1", "--model", "volta", "--against", "hopper"][..], 2),
        (&["models", "volta", "--instr", F16], 1),
        (&["distinguish", "model:volta", "model:hopper", "--instr", F16, "--cases", "1000"], 2),
    ] {
        let document = json_of(command);
        let rows = document["tables"]["evidence"].as_array().unwrap();
        let named: BTreeSet<&str> = rows.iter().map(|row| row["model"].as_str().unwrap()).collect();
        assert_eq!(named.len(), models, "{command:?}");
        for view in VIEWS {
            let text = shown(&[command, &["--output", view]].concat());
            for row in rows {
                let source = row["evidence"].as_str().unwrap().split([',', ';', '&', '(']).next().unwrap().trim();
                assert!(text.contains(source), "{command:?} as {view}: {source}");
            }
        }
    }
    let document = json_of(&["distinguish", "model:volta", "model:hopper", "--instr", F16, "--cases", "1000"]);
    let bits = document["tables"]["reasons"].as_array().unwrap().iter().find(|row| row["key"][0] == "alignment.bits");
    let bits = bits.expect("a reason");
    assert_eq!([&bits["x_evidence"], &bits["y_evidence"]], ["recorded", "measured"]);
}

#[test]
fn a_model_that_agrees_with_itself_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [features, verified, page] = ["features.json", "verified.json", "page.md"]
        .map(|name| folder.path().join(name).to_str().unwrap().to_string());
    let device =
        ["--device", "model:volta", "--instr", "mma.m8n8k4.f32.f16.f16.f32", "-q", "--output", "json", "--out"];
    shown(&[&["features"], &device[..], &[&features]].concat());
    shown(&[&["verify", "--cases", "1000"], &device[..], &[&verified]].concat());
    shown(&["report", &features, &verified, "--out", &page]);
    let text = fs::read_to_string(page).unwrap();
    assert!(text.contains("A comparison of a model with a model says nothing about a chip: NVIDIA Volta (model)."));
    for proof in ["agrees with", "agree with the model", "differ from the model"] {
        assert!(!text.contains(proof), "{proof}");
    }
}

#[test]
fn drawings_of_models_say_what_these_rest_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.svg");
    let device = ["--device", "model:volta", "--instr", "wmma.m16n16k16.f16.f16.f16.f16"];
    let size = ["--length", "2", "--chains", "2", "--plot", path.to_str().unwrap()];
    shown(&[&["chain"], &device[..], &size].concat());
    let drawing = fs::read_to_string(path).unwrap();
    assert!(
        drawing.contains("According to arithmetic models")
            && drawing.contains("recorded, specification, literature, assumed")
    );
}

/// Whatever is worked out from the answers of a model is no measurement, and from those of a device it is one.
#[test]
fn a_model_file_of_what_was_found_says_whose_answers_it_rests_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("found.toml");
    let out = out.to_str().unwrap();
    let instruction = "mma.m8n8k4.f32.f16.f16.f32";
    let command = ["identify", "--instr", instruction, "--device", "model:volta", "--cases", "1000", "-q"];
    shown(&[&command[..], &["--model-out", out]].concat());
    let model = Model::load(out).unwrap();
    let kinds: Vec<EvidenceKind> = model.rules[0].evidence.iter().map(|evidence| evidence.source.kind()).collect();
    assert_eq!(kinds, [EvidenceKind::Assumed]);
    assert!(model.rules[0].evidence[0].to_string().contains("as model:volta computes it"));
}
