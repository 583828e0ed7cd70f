//! Runs of the program, and the checks that every command's JSON must pass.

// Every test program compiles this file and uses a part of it.
#![allow(dead_code)]

use std::{
    ffi::OsString,
    io::Write,
    process::{Command, Stdio},
    sync::LazyLock,
};

use jsonschema::Validator;
use serde_json::Value;

/// The outcome of a run.
pub(crate) struct Run {
    /// Exit status.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// The program: `TCNUM_BINARY` for tests copied to another machine, else the program built with them.
pub(crate) fn binary() -> OsString {
    std::env::var_os("TCNUM_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_tcnum").into())
}

/// Runs `tcnum` with `arguments` and `input` on its standard input.
pub(crate) fn tcnum_with_input(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(binary())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that reads no input may have ended already.
    let _ = child.stdin.take().expect("piped").write_all(input);
    let output = child.wait_with_output().expect("the program ends");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
    // The command line spells every parameter of a message as an option.
    assert!(!(stdout.contains('\u{2039}') || stderr.contains('\u{2039}')), "{stdout}{stderr}");
    Run { status: output.status.code().expect("no signal"), stdout, stderr }
}

/// Runs `tcnum` with `arguments` and empty input.
pub(crate) fn tcnum(arguments: &[&str]) -> Run {
    tcnum_with_input(arguments, b"")
}

/// The errors of a document against `schemas/report.schema.json`, each with its place.
pub(crate) fn schema_errors(document: &Value) -> Vec<String> {
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
        let schema: Value = serde_json::from_str(include_str!("../../schemas/report.schema.json")).expect("JSON");
        jsonschema::draft202012::new(&schema).expect("a schema")
    });
    VALIDATOR.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Parses the JSON view of a report, and checks the schema and that the rows of a table have the same members.
///
/// # Panics
/// With all errors.
pub(crate) fn validate_report(json: &str) -> Value {
    let document: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error} in:\n{json}"));
    let errors = schema_errors(&document);
    assert!(errors.is_empty(), "not as the schema says:\n{}\nin:\n{json}", errors.join("\n"));
    for (key, rows) in document["tables"].as_object().expect("checked") {
        let members = |row: &Value| row.as_object().map(|row| row.keys().cloned().collect::<Vec<_>>());
        let rows = rows.as_array().expect("checked");
        assert!(rows.iter().all(|row| members(row) == members(&rows[0])), "rows of table '{key}' differ in members");
    }
    document
}
