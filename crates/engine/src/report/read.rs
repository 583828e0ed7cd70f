//! Results read from JSON.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{Cell, CellKind, Declaration, Report, Table, Verdict, schema};
use crate::{Error, Interruption, Result, base::text, device::Identity};

/// Oldest version of the schema that is read.
const OLDEST: u64 = 1;
/// Columns renamed since version 1: table, old name, new name.
const RENAMED: [(&str, &str, &str); 1] = [("sweeps", "mismatches", "differing")];
/// Tables of version 1 that are another table now if they have this column: table, column, new name.
const MOVED: [(&str, &str, &str); 1] = [("device_pairs", "same", "curve_pairs")];
/// Tables with details of the instructions of other tables.
const DETAILS: [(&str, &[&str]); 3] =
    [("regimes", &["verification", "identified"]), ("lines", &["identified"]), ("chain", &["curves"])];

/// A result read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// The version of the program that gave it.
    pub version: String,
    /// The commit of the program, if known.
    pub commit: Option<String>,
    /// The result; columns that its program lacked are empty.
    pub report: Report,
    /// Unknown tables and columns, which are left out.
    pub unknown: Vec<String>,
}

impl Kept {
    /// The name of the file.
    pub fn name(&self) -> String {
        self.path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }
}

/// Reads a result with tables of these declarations.
///
/// # Errors
/// A request error for a file that cannot be read, is truncated or no result, has an unknown schema or a cell of the wrong kind, or mixes
/// instructions of several results.
pub fn result(path: &Path, declared: &[Declaration]) -> Result<Kept> {
    let text = text::read_result(path, "the result")?;
    parse(path, &text, declared).map_err(|why| Error::request(format!("{}: {why}", path.display())))
}

fn parse(path: &Path, text: &str, declared: &[Declaration]) -> std::result::Result<Kept, String> {
    let mut document: Value = serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => format!("it is truncated at line {}; make it again", error.line()),
        false => format!("it is not JSON: {error}; ‹output=json› writes results"),
    })?;
    let version =
        document["schema"].as_u64().filter(|_| document["tcnum"].is_string() && document["tables"].is_object());
    let newest = u64::from(schema::VERSION);
    match version {
        None => return Err("it is not a result of tcnum; ‹output=json› writes results".into()),
        Some(version) if !(OLDEST..=newest).contains(&version) => {
            return Err(format!(
                "its schema has version {version}; this program reads {OLDEST} to {newest}; make it again, or read it with tcnum {}",
                document["tcnum"].as_str().unwrap_or_default()
            ));
        }
        Some(_) => (),
    }
    // Taken out, so that each row is dropped once its cells are read.
    let raw = document["tables"].take();
    let words = |key: &str| document[key].as_str().map(str::to_string);
    let command = words("command").ok_or("it does not name its command")?;
    let mut report = Report::new(command, words("invocation").unwrap_or_default());
    report.device = document["device"].is_object().then(|| identity(&document["device"]));
    report.answer = words("answer");
    report.seed = document["seed"].as_u64();
    report.annotations = pairs(&document["annotations"]);
    let notes = document["notes"].as_array().into_iter().flatten();
    report.notes = notes.filter_map(|note| note.as_str().map(str::to_string)).collect();
    report.holds = document["holds"].as_bool().ok_or("it lacks 'holds'")?;
    let verdict = document["verdict"].as_str();
    report.verdict = Verdict::ALL.into_iter().find(|known| verdict == Some(known.name())).unwrap_or(Verdict::Mismatch);
    let stopped = document["interrupted"].as_str();
    report.interrupted = Interruption::ALL.into_iter().find(|known| stopped == Some(known.name()));
    let (mut tables, mut unknown) = (Vec::new(), Vec::new());
    let Value::Object(raw) = raw else { return Err("it has no tables".into()) };
    for (key, rows) in raw {
        let Value::Array(rows) = rows else { return Err(format!("tables.{key} is not an array of rows")) };
        let moved = MOVED
            .iter()
            .find(|(old, column, _)| *old == key && rows.first().is_some_and(|row| !row[*column].is_null()));
        let key = moved.map_or(key.as_str(), |(_, _, now)| now);
        match declared.iter().find(|declaration| declaration.key == key) {
            Some(declaration) => tables.push(table(declaration, rows, &mut unknown)?),
            None => unknown.push(key.to_string()),
        }
    }
    report.tables = tables;
    unmixed(&report)?;
    Ok(Kept {
        path: path.to_path_buf(),
        version: words("tcnum").unwrap_or_default(),
        commit: words("commit").filter(|commit| commit != "unknown"),
        report,
        unknown,
    })
}

fn identity(value: &Value) -> Identity {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_string();
    Identity { details: pairs(&value["details"]), ..Identity::new(&*text("name"), text("description")) }
}

/// The texts of an object, with their keys.
fn pairs(value: &Value) -> Vec<(String, String)> {
    let members = value.as_object().into_iter().flatten();
    members.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_string()))).collect()
}

fn table(declaration: &Declaration, rows: Vec<Value>, unknown: &mut Vec<String>) -> std::result::Result<Table, String> {
    let mut table = Table {
        key: declaration.key,
        title: declaration.about.to_string(),
        columns: declaration.columns.clone(),
        rows: Vec::with_capacity(rows.len()),
        brief: false,
        pivot: None,
        longest: None,
    };
    for (number, row) in rows.into_iter().enumerate() {
        let place = |column: &str| format!("tables.{}[{number}].{column}", declaration.key);
        let row = row.as_object().ok_or_else(|| format!("tables.{}[{number}] is not a row", declaration.key))?;
        let mut cells = Vec::with_capacity(table.columns.len());
        for column in &table.columns {
            let value = row.get(&*column.key).or_else(|| renamed(declaration.key, &column.key, row));
            let cell = match value {
                None => Some(Cell::Empty),
                Some(value) => cell(value, &column.kind),
            };
            cells.push(cell.ok_or_else(|| format!("{} is not of the column's kind", place(&column.key)))?);
        }
        if number == 0 {
            let known = |key: &str| declaration.columns.iter().any(|column| column.key == key);
            let old = |key: &str| RENAMED.iter().any(|(of, name, _)| *of == declaration.key && *name == key);
            let others = row.keys().filter(|key| !known(key) && !old(key));
            unknown.extend(others.map(|key| format!("{}.{key}", declaration.key)));
        }
        table.rows.push(cells);
    }
    Ok(table)
}

/// The value of a column under its old name.
fn renamed<'a>(table: &str, column: &str, row: &'a Map<String, Value>) -> Option<&'a Value> {
    let (_, old, _) = RENAMED.iter().find(|(of, _, now)| *of == table && *now == column)?;
    row.get(*old)
}

/// The cell of a value of this kind; a missing value is an empty cell.
fn cell(value: &Value, kind: &CellKind) -> Option<Cell> {
    Some(match (kind, value) {
        (_, Value::Null) => Cell::Empty,
        (CellKind::Optional(kind), value) => cell(value, kind)?,
        (CellKind::Text, Value::String(text)) => Cell::Text(text.clone()),
        (CellKind::Flag, Value::Bool(flag)) => Cell::Flag(*flag),
        // Integers beyond 63 bits were written in double precision.
        (CellKind::Integer, value) => value.as_i64().map(Cell::Integer).or_else(|| value.as_f64().map(Cell::Real))?,
        (CellKind::Real, Value::String(text)) => Cell::Real(match text.as_str() {
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            "NaN" => f64::NAN,
            _ => return None,
        }),
        (CellKind::Real, value) => Cell::Real(value.as_f64()?),
        (CellKind::List(kind), Value::Array(values)) => {
            Cell::List(values.iter().map(|value| cell(value, kind)).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Refuses details of instructions that the main tables lack: results of several runs, mixed.
fn unmixed(report: &Report) -> std::result::Result<(), String> {
    let instructions = |key: &str| instructions(report, key);
    for (details, of) in DETAILS {
        let Some(named) = instructions(details) else { continue };
        let mains: Vec<Vec<&str>> = of.iter().filter_map(|key| instructions(key)).collect();
        let known: BTreeSet<_> = mains.iter().flatten().copied().collect();
        if let Some(other) = named.iter().find(|name| !mains.is_empty() && !known.contains(*name)) {
            return Err(format!(
                "it mixes instructions: tables.{details} has {other}, which tables.{} lacks; make it again with one command",
                of.join(" and tables.")
            ));
        }
    }
    Ok(())
}

/// The instructions in a table, if the report has it.
fn instructions<'a>(report: &'a Report, key: &str) -> Option<Vec<&'a str>> {
    let table = report.tables.iter().find(|table| table.key == key)?;
    let column = table.columns.iter().position(|column| column.key == "instruction")?;
    let name = |row: &'a Vec<Cell>| if let Cell::Text(text) = &row[column] { Some(text.as_str()) } else { None };
    Some(table.rows.iter().filter_map(name).collect())
}
