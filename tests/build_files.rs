//! The files that the build collects: a wrong target or model file is refused with its name and the line.

// The modules of build.rs, of which the tests call a part.
#![allow(dead_code)]

#[path = "../build/collect.rs"]
mod collect;
#[path = "../build/models.rs"]
mod models;
#[path = "../src/isa/pattern.rs"]
mod pattern;
#[path = "../build/targets.rs"]
mod targets;

use collect::File;
use targets::Kind;

fn file(folder: &str, name: &str, text: &str) -> File {
    File { path: format!("{folder}/{name}.toml"), name: name.into(), text: text.into() }
}

/// What is said of the target file `sm_95a` with this text, beside one that has everything of AMD's table.
fn refused(text: &str) -> String {
    let all = file("targets", "gfx000", "title = \"everything\"\n[matrix]\nnative = [\"mfma.*\"]\n");
    let files = [all, file("targets", "sm_95a", text)];
    targets::read(&files).and_then(|read| targets::relation(&read, Kind::Matrix, &["src/isa/amd.csv"])).unwrap_err()
}

#[test]
fn a_wrong_target_file_is_refused_with_its_line() {
    for (text, expected) in [
        (
            "title = \"new\"\n[matrix]\nnative = [\n  \"mfma.32x32x999*\",\n]\n",
            ":4: 'mfma.32x32x999*' matches no instruction",
        ),
        ("title = \"new\"\n[matrix]\nnative = [\"mfma.{a\"]\n", ":3: 'mfma.{a' is no pattern: '{' without '}'"),
        (
            "title = \"new\"\n[matrix]\nnative = [\"mfma.32x32x8.f32.f16.f16.f32\"]\n[matrix.emulated]\nsplit-k = [\"mfma.*x8.f32.f16*\"]\n",
            ":5: 'mfma.*x8.f32.f16*' has mfma.32x32x8.f32.f16.f16.f32, which 'mfma.32x32x8.f32.f16.f16.f32' has already",
        ),
        ("title = \"new\"\n\n[matrix]\nnativ = []\n", ":4: unknown field `nativ`"),
        ("title = \"new\"\ncapabilities = [\"9\"]\n", ":2: '9' is no compute capability"),
        (
            "title = \"new\"\n\ncapabilities = [\"9.5\", \"9.5\"]\n",
            ":3: '9.5' is a compute capability of targets/sm_95a.toml already",
        ),
        ("title = \"\"\n", ":1: 'title' is empty"),
        ("title = \"new\n", ":1: "),
        ("gpus = []\n", ":1: missing field `title`"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(&format!("targets/sm_95a.toml{expected}")), "{message}\n{text}");
    }
}

#[test]
fn an_instruction_that_no_target_has_is_named_with_its_line() {
    let files = [file("targets", "gfx000", "title = \"some\"\n[matrix]\nnative = [\"mfma.{32,16}x*\"]\n")];
    let message = targets::relation(&targets::read(&files).unwrap(), Kind::Matrix, &["src/isa/amd.csv"]).unwrap_err();
    assert!(message.starts_with("src/isa/amd.csv:3: no file of targets/ has mfma.4x4x4.f64"), "{message}");
}

#[test]
fn a_wrong_model_file_is_refused_with_its_line() {
    let targets = [file("targets", "sm_90a", "title = \"Hopper\"\n")];
    let targets = targets::read(&targets).unwrap();
    let hopper = || file("models", "hopper", "name = \"hopper\"\narchitectures = [\"sm_90a\"]\n");
    for (text, expected) in [
        ("name = \"new\"\n[[rule]\n", ":2: "),
        ("\nname = \"old\"\n", ":2: 'name' is not 'new'"),
        (
            "name = \"new\"\n\narchitectures = [\"sm_90a\"]\n",
            ":3: 'architectures': sm_90a is described by models/hopper.toml already",
        ),
        ("name = \"new\"\narchitectures = [\"sm_95\"]\n", ":2: 'architectures': sm_95 has no file in targets/"),
    ] {
        let message = models::table(&[hopper(), file("models", "new", text)], &targets).unwrap_err();
        assert!(message.starts_with(&format!("models/new.toml{expected}")), "{message}\n{text}");
    }
}
