//! Running the program, and the checks that the JSON of every command has to pass.

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

/// What a run of the program left.
pub(crate) struct Run {
    /// The exit status.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// The program: `TCNUM_BINARY`, for tests that were copied to another machine; else the one that was built with them.
fn binary() -> OsString {
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
    // A program that does not read its input may have gone already.
    let _ = child.stdin.take().expect("piped").write_all(input);
    let output = child.wait_with_output().expect("the program ends");
    Run {
        status: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs `tcnum` with `arguments` and nothing to read.
pub(crate) fn tcnum(arguments: &[&str]) -> Run {
    tcnum_with_input(arguments, b"")
}

/// The errors of a document against `schemas/report.schema.json`, each with where it is.
pub(crate) fn schema_errors(document: &Value) -> Vec<String> {
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
        let schema: Value = serde_json::from_str(include_str!("../../schemas/report.schema.json")).expect("JSON");
        jsonschema::draft202012::new(&schema).expect("a schema")
    });
    VALIDATOR.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Parses the JSON view of a report, with the checks that every one has to pass: the schema, and rows of one table that
/// have the same members.
///
/// # Panics
/// With all that is wrong.
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
