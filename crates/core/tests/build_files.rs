//! Files that the build collects: a wrong target or model file is refused with its name and the line.

// The tests call a part of the modules of build.rs.
#![allow(dead_code)]

#[path = "../build/language.rs"]
mod language;
#[path = "../build/models.rs"]
mod models;
#[path = "../build/targets.rs"]
mod targets;

use language::{arithmetic, base, format, isa, number};
use targets::Kind;
use tcnum_collect::{self as collect, File};

fn file(folder: &str, name: &str, text: &str) -> File {
    File { path: format!("{folder}/{name}.toml"), name: name.into(), text: text.into() }
}

/// Error of the target file `sm_95a` with this text, next to a target with everything of AMD's table.
fn refused(text: &str) -> String {
    let all =
        file("targets", "gfx000", "title = \"everything\"\nannounced = \"2031\"\n[matrix]\nnative = [\"mfma.*\"]\n");
    let files = [all, file("targets", "sm_95a", text)];
    targets::read(&files).and_then(|read| targets::relation(&read, Kind::Matrix, &["src/isa/amd.csv"])).unwrap_err()
}

#[test]
fn a_wrong_target_file_is_refused_with_its_line() {
    for (text, expected) in [
        (
            "title = \"new\"\nannounced = \"2031-12\"\n[matrix]\nnative = [\n  \"mfma.32x32x999*\",\n]\n",
            ":5: 'mfma.32x32x999*' matches no instruction",
        ),
        (
            "title = \"new\"\nannounced = \"2031-12\"\n[matrix]\nnative = [\"mfma.{a\"]\n",
            ":4: 'mfma.{a' is not a pattern: '{' without '}'",
        ),
        (
            "title = \"new\"\nannounced = \"2031-12\"\n[matrix]\nnative = [\"mfma.32x32x8.f32.f16.f16.f32\"]\n[matrix.emulated]\nsplit-k = [\"mfma.*x8.f32.f16*\"]\n",
            ":6: 'mfma.*x8.f32.f16*' repeats mfma.32x32x8.f32.f16.f16.f32, which 'mfma.32x32x8.f32.f16.f16.f32' has",
        ),
        ("title = \"new\"\nannounced = \"2031-12\"\n\n[matrix]\nnativ = []\n", ":5: unknown field `nativ`"),
        ("title = \"new\"\nannounced = \"2031-12\"\ncapabilities = [\"9\"]\n", ":3: '9' is not a compute capability"),
        (
            "title = \"new\"\nannounced = \"2031-12\"\n\ncapabilities = [\"9.5\", \"9.5\"]\n",
            ":4: '9.5' already is a compute capability of targets/sm_95a.toml",
        ),
        ("title = \"\"\nannounced = \"2031\"\n", ":1: 'title' is empty"),
        ("title = \"new\n", ":1: "),
        ("gpus = []\n", ":1: missing field `title`"),
        ("title = \"new\"\n", ":1: missing field `announced`"),
        ("title = \"new\"\nannounced = \"22-03\"\n", ":2: '22-03' is not a year or a month"),
        ("title = \"new\"\nannounced = \"2022-13\"\n", ":2: '2022-13' is not a year or a month"),
        ("title = \"new\"\nannounced = \"2022-3\"\n", ":2: '2022-3' is not a year or a month"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(&format!("targets/sm_95a.toml{expected}")), "{message}\n{text}");
    }
}

#[test]
fn an_instruction_that_no_target_has_is_named_with_its_line() {
    let files = [file(
        "targets",
        "gfx000",
        "title = \"some\"\nannounced = \"2031\"\n[matrix]\nnative = [\"mfma.{32,16}x*\"]\n",
    )];
    let message = targets::relation(&targets::read(&files).unwrap(), Kind::Matrix, &["src/isa/amd.csv"]).unwrap_err();
    assert!(message.starts_with("src/isa/amd.csv:3: no file of targets/ has mfma.4x4x4.f64"), "{message}");
}

/// A model file with a rule of the shorthand keys, and one of a tree.
const MODEL: &str = r#"name = "new"
title = "a model"
version = 1

[[rule]]
instructions = ["mma.*.f32.f16.f16.f32"]
evidence = [{ assumed = "a test" }]
step = "fused"
alignment = { bits = 24, rounding = "RZ" }
result = { format = "f32", rounding = "RZ" }
nan = "0x7fffffff"

[[rule]]
instructions = ["mma.*.f32.bf16.bf16.f32"]
evidence = [{ assumed = "a test" }]
node.even = { kind = "sum", products = "0::2", result = { format = "f32", rounding = "RNE" } }
node.odd = { kind = "sum", products = "1::2", terms = ["even", "c"], result = { format = "f32", rounding = "RNE" } }
nan = "0x7fffffff"
"#;

/// Error of the model file `new` with this text, next to a model of Hopper.
fn model_refused(text: &str) -> Option<String> {
    let targets = [file("targets", "sm_90a", "title = \"Hopper\"\nannounced = \"2022-03\"\n")];
    let targets = targets::read(&targets).unwrap();
    let hopper = MODEL.replacen("\"new\"", "\"hopper\"\narchitectures = [\"sm_90a\"]", 1);
    models::table(&[file("models", "hopper", &hopper), file("models", "new", text)], &targets).err()
}

#[test]
fn a_wrong_model_file_is_refused_with_its_line() {
    assert_eq!(model_refused(MODEL), None);
    for (old, new, expected) in [
        ("[[rule]]", "[[rule]", ":5: "),
        ("name = \"new\"", "name = \"old\"", ":1: 'name' must be 'new'"),
        (
            "version = 1",
            "version = 1\narchitectures = [\"sm_90a\"]",
            ":4: 'architectures': sm_90a has a model already, models/hopper.toml",
        ),
        (
            "version = 1",
            "version = 1\narchitectures = [\"sm_95\"]",
            ":4: 'architectures': sm_95 has no file in targets/",
        ),
        ("version = 1\n", "", ":1: missing field `version`"),
        ("version = 1", "version = 1\nauthor = \"me\"", ":4: unknown field `author`"),
        (
            &MODEL[MODEL.find("[[rule]]").unwrap()..],
            "rule = []",
            ":5: there is no [[rule]], so it covers no instruction",
        ),
    ] {
        assert!(MODEL.contains(old), "{old}");
        let message = model_refused(&MODEL.replacen(old, new, 1)).expect(new);
        assert!(message.starts_with(&format!("models/new.toml{expected}")), "{message}\n{new}");
    }
}

#[test]
fn a_wrong_rule_is_refused_with_the_line_of_its_key_or_its_own() {
    let shorthand = "rule 1 ('mma.*.f32.f16.f16.f32')";
    let tree = "rule 2 ('mma.*.f32.bf16.bf16.f32')";
    for (old, new, line, place, expected) in [
        ("bits = 24", "bits = 61", 9, shorthand, "'alignment.bits' is 61; allowed are 0 to 60"),
        ("alignment = { bits = 24, rounding = \"RZ\" }\n", "", 5, shorthand, "the key 'alignment' is missing"),
        ("step = \"fused\"", "step = \"exact\"", 9, shorthand, "'alignment' has no effect with step 'exact'"),
        ("mma.*.f32.f16", "mma.{", 5, "rule 1 ('mma.{.f16.f32')", "pattern 'mma.{.f16.f32': '{' without '}'"),
        ("format = \"f32\"", "format = \"u32\"", 10, shorthand, "'result.format' is u32; sums need a signed format"),
        (
            "[\"even\", \"c\"]",
            "[\"even\", \"evn\", \"c\"]",
            17,
            tree,
            "node 'odd': 'evn' is neither c nor the name of a node",
        ),
        ("[\"even\", \"c\"]", "[\"odd\", \"c\"]", 17, tree, "node 'odd': it is part of a cycle"),
        ("[\"even\", \"c\"]", "[\"even\"]", 13, tree, "no node has c among its terms"),
    ] {
        assert!(MODEL.contains(old), "{old}");
        let message = model_refused(&MODEL.replacen(old, new, 1)).expect(new);
        assert!(message.starts_with(&format!("models/new.toml:{line}: {place}: {expected}")), "{message}\n{new}");
    }
    for (old, new, line, expected) in [
        ("evidence", "evidenc", 7, "unknown field `evidenc`, expected one of `instructions`"),
        ("\"fused\"", "\"fusd\"", 8, "unknown variant `fusd`, expected one of"),
        ("\"RZ\"", "\"RX\"", 9, "unknown rounding 'RX'; expected RNE, RNA"),
        ("\"f32\"", "\"f23\"", 10, "unknown format 'f23'; the nearest are 'fp32'"),
        ("\"0x7fffffff\"", "\"NaN\"", 11, "'NaN' is not a code"),
        ("\"0::2\"", "\"0::0\"", 16, "'0::0' is not a list of k"),
    ] {
        assert!(MODEL.contains(old), "{old}");
        let message = model_refused(&MODEL.replacen(old, new, 1)).expect(new);
        assert!(message.starts_with(&format!("models/new.toml:{line}: {expected}")), "{message}\n{new}");
    }
}

#[test]
fn the_build_refuses_a_rule_in_the_words_of_the_program() {
    let text = MODEL.replacen("bits = 24", "bits = 61", 1);
    let build = model_refused(&text).unwrap();
    let program = tcnum_core::arithmetic::Model::parse(&text, "models/new.toml").unwrap_err().to_string();
    let (rule, what) = ("rule 1 ('mma.*.f32.f16.f16.f32')", "'alignment.bits' is 61; allowed are 0 to 60");
    assert_eq!(build, format!("models/new.toml:9: {rule}: {what}"));
    assert_eq!(program, format!("models/new.toml: {rule}, line 9: {what}"));
}
