//! `tcnum distinguish`: exit statuses, what it prints, what it refuses.

use crate::{
    machine::has_python,
    program::{tcnum, validate_report},
};

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";

fn rows<'a>(report: &'a serde_json::Value, table: &str) -> &'a Vec<serde_json::Value> {
    report["tables"][table].as_array().unwrap()
}

#[test]
fn models_that_differ_exit_1_with_a_reason_and_an_input_each_and_those_that_do_not_exit_0() {
    let run =
        tcnum(&["distinguish", "model:ampere", "model:hopper", "--instr", BF16, "--cases", "1e4", "--output", "json"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    let report = validate_report(&run.stdout);
    assert_eq!(rows(&report, "distinguished")[0]["verdict"], "differ");
    let answer = report["answer"].as_str().unwrap();
    assert!(answer.starts_with("ampere and hopper differ on mma.m16n8k16.f32.bf16.bf16.f32: "), "{answer}");
    let reasons = rows(&report, "reasons");
    let keys: Vec<_> = reasons.iter().map(|row| row["key"][0].as_str().unwrap()).collect();
    assert!(keys.contains(&"alignment.bits") && keys.contains(&"alignment.floor"), "{keys:?}");
    assert!(reasons.iter().all(|row| row["x_d"] != row["y_d"] && row["a"].as_array().unwrap().len() == 16));
    let run = tcnum(&["distinguish", "model:hopper", "model:blackwell", "--fmt", "bf16", "--output", "json"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(rows(&validate_report(&run.stdout), "distinguished")[0]["verdict"], "the same");
    let two = ["--instr", BF16, "--instr", "mma.m16n8k8.f32.tf32.tf32.f32"];
    let run = tcnum(&[&["distinguish", "model:ampere", "model:hopper", "--output", "json"], &two[..]].concat());
    let report = validate_report(&run.stdout);
    let names = "mma.m16n8k16.f32.bf16.bf16.f32, mma.m16n8k8.f32.tf32.tf32.f32";
    assert_eq!(report["answer"], format!("ampere and hopper differ on 2 of 2 instructions: {names}."));
}

#[test]
fn an_instruction_stands_behind_a_device_or_is_that_of_the_other_side() {
    let x = format!("model:hopper/{BF16}");
    let run = tcnum(&["distinguish", &x, "model:hopper", "--output", "json"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let run = tcnum(&["distinguish", &x, "model:hopper/mma.m16n8k8.f32.bf16.bf16.f32", "--output", "json"]);
    let report = validate_report(&run.stdout);
    assert_eq!((run.status, &rows(&report, "distinguished")[0]["k"]), (0, &8.into()));
}

#[test]
fn every_view_of_what_differs_and_of_a_kit_is_printed() {
    let pair =
        ["distinguish", "model:ampere", "model:hopper", "--instr", "mma.m16n8k16.f32.f16.f16.f32", "--cases", "1000"];
    let kit = ["distinguish", "--instr", "mma.m16n8k8.f32.tf32.tf32.f32"];
    for (arguments, status, tables) in
        [(&pair[..], 1, &["distinguished", "reasons"][..]), (&kit, 0, &["known_arithmetics", "generations", "kit"])]
    {
        for view in ["table", "csv", "markdown", "latex"] {
            let run = tcnum(&[arguments, &["--output", view]].concat());
            assert!(run.status == status && !run.stdout.is_empty(), "{view}: {}", run.stderr);
        }
        let run = tcnum(&[arguments, &["--output", "json"]].concat());
        let report = validate_report(&run.stdout);
        for table in tables {
            assert!(!rows(&report, table).is_empty(), "{table}");
        }
    }
}

#[test]
fn what_cannot_be_told_apart_is_refused_with_one_message() {
    let other = "model:hopper/mma.m16n8k16.f32.f16.f16.f32";
    for (arguments, message) in [
        (&["model:hopper", "model:ampere"][..], "no instruction is named"),
        (&["model:hopper"], "2 values required"),
        // Further values after a flag are values of the same argument.
        (&["model:volta", "model:ampere", "--instr", BF16, "x", "1"], "4 are named"),
        (&[], "nothing to compare"),
        (&["trace:some.safetensors", "model:hopper", "--instr", BF16], "which cannot be asked new inputs"),
        (&["model:hopper/mma.m16n8k16.f32.bf16.bf16", "model:ampere"], "unknown instruction"),
        (&["model:hoper", "model:ampere", "--instr", BF16], "'hoper' is not a model"),
        (&[&format!("model:ampere/{BF16}"), other], "the same operands"),
        (&["model:volta", "model:hopper", "--instr", BF16], "does not cover"),
        (&[&format!("model:ampere/{BF16}"), other, "--instr", BF16], "both sides name an instruction"),
    ] {
        let run = tcnum(&[&["distinguish"], arguments].concat());
        assert!(run.status == 2 && run.stderr.contains(message), "{arguments:?}: {} {}", run.status, run.stderr);
        assert!(run.stdout.is_empty());
    }
}

/// A model with a tree for the instruction with the smallest k.
const TREE: &str = r#"name = "tree"
title = "A tree"
version = 1

[[rule]]
instructions = ["mma.m16n8k8.f32.f16.f16.f32"]
evidence = [{ assumed = "a test" }]
nan = "0x7fffffff"
node.low = { kind = "fma", products = "0:4", start = "+0", result = { format = "f32", rounding = "RNE" } }
node.odd = { kind = "fma", products = "4:8", start = "+0", result = { format = "f32", rounding = "RNE" } }
node.d = { kind = "add", terms = ["c", "low", "odd"], result = { format = "f32", rounding = "RNE" } }
"#;

#[test]
fn no_reason_has_the_text_of_a_model_file() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree.toml").to_string_lossy().into_owned();
    let other = folder.path().join("other.toml").to_string_lossy().into_owned();
    std::fs::write(&tree, TREE).unwrap();
    std::fs::write(&other, TREE.replace("low", "first").replace("0:4", "0::2").replace("4:8", "1::2")).unwrap();
    let unit = "exec:python3 tests/exec/hopper.py";
    for (sides, said) in [
        ([unit, &tree], "none in exec:python3 tests/exec/hopper.py, 3 nodes: 1 add and 2 fma in "),
        ([&other, &tree], "node low (none in "),
    ] {
        let words = ["distinguish", sides[0], sides[1], "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--output", "json"];
        let report = validate_report(&tcnum(&words).stdout);
        let answer = report["answer"].as_str().unwrap();
        assert!(answer.contains(said), "{answer}");
        let shown = rows(&report, "reasons").iter().flat_map(|row| ["why", "x_value", "y_value"].map(|key| &row[key]));
        assert!(shown.filter_map(|text| text.as_str()).all(|text| !text.contains(['{', '"'])), "{report}");
    }
}
