//! Results that are read again: the JSON of reports.

use std::path::Path;

use serde_json::{Map, Value};

use crate::{Error, Result, base::text, report::schema};

/// A row of a table, as JSON has it.
pub(super) type Row = Map<String, Value>;

/// A result that was kept: what a command wrote with `--output json`.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptResult {
    /// The command that made it.
    pub command: String,
    /// What says where it comes from, by name: version, commit, command line, device, seed, annotations.
    pub(super) provenance: Vec<(String, Value)>,
    /// Whether the command's claim holds, and what stopped it.
    pub(super) outcome: Row,
    /// The tables by their keys.
    pub(super) tables: Vec<(String, Vec<Row>)>,
}

impl KeptResult {
    /// Reads a result.
    ///
    /// # Errors
    /// A request error that names the file: it cannot be read, it is not whole, it is no result, or one of another version of the schema.
    pub fn read(path: &Path) -> Result<KeptResult> {
        let text = text::read_result(path, "the result")?;
        KeptResult::parse(&text).map_err(|error| error.within(path.display()))
    }

    /// The result in this text.
    ///
    /// # Errors
    /// As [`KeptResult::read`], without the name.
    pub fn parse(text: &str) -> Result<KeptResult> {
        let document: Value = serde_json::from_str(text).map_err(|error| {
            let what = if error.is_eof() { "it ends in the middle" } else { "it is not JSON" };
            Error::request(format!("{what} ({error}); a result is what a command writes with --output json"))
        })?;
        let member = |name: &str| document.get(name).cloned().unwrap_or(Value::Null);
        let (Some(version), Some(command)) = (member("schema").as_u64(), member("command").as_str().map(String::from))
        else {
            return Err(Error::request("it is no result of tcnum: it lacks the members 'schema' and 'command'"));
        };
        if version != u64::from(schema::VERSION) {
            return Err(Error::request(format!(
                "it is a result of version {version} of the schema, and this program reads version {}; make it again",
                schema::VERSION
            )));
        }
        let device = member("device");
        let of_device = ["name", "description"].map(|name| (format!("device's {name}"), device[name].clone()));
        let mut provenance: Vec<(String, Value)> =
            ["tcnum", "commit", "invocation", "seed"].map(|name| (name.to_string(), member(name))).into();
        provenance.extend(of_device);
        for (object, prefix) in [(&device["details"], "device's "), (&member("annotations"), "note ")] {
            let entries = object.as_object().into_iter().flatten();
            provenance.extend(entries.map(|(name, value)| (format!("{prefix}{name}"), value.clone())));
        }
        let outcome = ["holds", "interrupted"].map(|name| (name.to_string(), member(name))).into_iter().collect();
        Ok(KeptResult { command, provenance, outcome, tables: tables(document)? })
    }
}

/// The tables of a document.
fn tables(mut document: Value) -> Result<Vec<(String, Vec<Row>)>> {
    let wrong = |what: &str| Error::request(format!("it is no result of tcnum: {what}"));
    let Some(Value::Object(tables)) = document.get_mut("tables").map(Value::take) else {
        return Err(wrong("it lacks the member 'tables'"));
    };
    let rows = |(key, rows): (String, Value)| {
        let Value::Array(rows) = rows else { return Err(wrong(&format!("its table '{key}' is no list"))) };
        let row = |row| match row {
            Value::Object(row) => Ok(row),
            _ => Err(wrong(&format!("a row of its table '{key}' is no object"))),
        };
        Ok((key.clone(), rows.into_iter().map(row).collect::<Result<_>>()?))
    };
    tables.into_iter().map(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = KeptResult::parse(text).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        error.to_string()
    }

    #[test]
    fn what_is_no_result_says_what_it_lacks() {
        assert!(refused("{\"schema\": 2, \"tab").starts_with("it ends in the middle"));
        assert!(refused("instruction,device\n").starts_with("it is not JSON"));
        assert!(refused("[1]").contains("'schema' and 'command'"));
        assert!(refused(r#"{"schema": 2, "command": "probe"}"#).contains("'tables'"));
        assert!(refused(r#"{"schema": 2, "command": "probe", "tables": {"profile": {}}}"#).contains("no list"));
        assert!(refused(r#"{"schema": 2, "command": "probe", "tables": {"profile": [1]}}"#).contains("no object"));
        assert!(refused(r#"{"schema": 1, "command": "probe", "tables": {}}"#).contains("version 1 of the schema"));
    }
}
