//! The JSON view against the schema that follows from the declarations of tables; the schema against documents it must refuse; and the
//! committed schema and list of columns against the declarations.

use std::{collections::BTreeSet, fs, path::PathBuf};

use crate::program::validate_report;
use serde_json::{Value, json};
use tcnum::tables;
use tcnum_engine::{
    device::Identity,
    report::{Declaration, Report, Table, View, ViewLayout, schema},
};

tcnum_engine::rows! {
    /// A row with every kind of cell.
    struct EveryKind in "cells" {
        /// Text.
        text: String => shown("text"),
        /// A whole number.
        integer: i64 => shown("integer"),
        /// A real number.
        real: f64 => shown("real").unit("s"),
        /// A truth value.
        flag: bool => shown("flag"),
        /// Several values.
        list: Vec<u64> => hidden(),
        /// Lists of values that may be missing.
        nested: Vec<Vec<Option<f64>>> => hidden(),
        /// A value that may be missing.
        optional: Option<&'static str> => shown("optional").if_filled(),
    }

    /// A row of another table.
    struct Other in "empty" {
        /// A number.
        a: u64 => shown("a"),
    }
}

fn render(report: &Report, view: View) -> String {
    tcnum_engine::report::render(report, view, &ViewLayout::default())
}

fn every_kind_of_cell() -> Report {
    let row = |integer: i64, real: f64, optional| EveryKind {
        text: "text with \"quotes\", \\ and \u{1} control".into(),
        integer,
        real,
        flag: integer > 0,
        list: vec![1, 2, 3],
        nested: vec![vec![], vec![None, Some(1.5)], vec![Some(real)]],
        optional,
    };
    let reals = [0.1, f64::MAX, 5e-324, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let rows = reals.map(|real| row(i64::MIN, real, None)).into_iter().chain([row(i64::MAX, 1.0, Some("there"))]);
    Report {
        device: Some(Identity { details: vec![("driver".into(), "1.2".into())], ..Identity::new("cuda:0", "a GPU") }),
        seed: Some(u64::MAX),
        notes: vec!["A note.".into()],
        annotations: vec![("date".into(), "today".into())],
        tables: vec![Table::of("Cells", rows), Table::of::<Other>("Nothing", [])],
        holds: false,
        ..Report::new("probe", "tcnum probe")
    }
}

/// The errors of a document against the schema of the tables above.
fn errors(document: &Value) -> Vec<String> {
    let schema = schema::document(&[Declaration::of::<EveryKind>(), Declaration::of::<Other>()]);
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn reports_with_every_kind_of_cell_are_as_the_schema_says() {
    let document: Value = serde_json::from_str(&render(&every_kind_of_cell(), View::Json)).unwrap();
    assert_eq!(errors(&document), [""; 0]);
    assert_eq!(document["seed"], json!(u64::MAX));
    let rows = document["tables"]["cells"].as_array().unwrap();
    assert_eq!(rows[0]["integer"], json!(i64::MIN));
    let reals: Vec<&Value> = rows[4..7].iter().map(|row| &row["real"]).collect();
    assert_eq!(reals, [&json!("Infinity"), &json!("-Infinity"), &json!("NaN")]);
    assert_eq!(rows[0]["nested"], json!([[], [null, 1.5], [0.1]]));
    assert_eq!((&rows[0]["optional"], &rows[7]["optional"]), (&Value::Null, &json!("there")));
    validate_report(&render(&Report::new("formats", "tcnum formats"), View::Json));
}

#[test]
fn finite_reals_read_back_bit_for_bit() {
    tcnum_engine::rows! {
        /// A number.
        struct Real in "reals" {
            /// The number.
            value: f64 => shown("value"),
        }
    }
    let values: Vec<f64> = (0..2000u64).map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    let table = Table::of("Reals", values.iter().map(|&value| Real { value }));
    let report = Report { tables: vec![table], ..Report::new("probe", "tcnum probe") };
    let csv = render(&report, View::Csv);
    for (line, value) in csv.lines().skip(1).zip(&values) {
        assert_eq!(line.parse::<f64>().unwrap().to_bits(), value.to_bits(), "CSV {line}");
    }
    let json = render(&report, View::Json);
    let texts = json.lines().filter_map(|line| line.trim().strip_prefix("{\"value\":"));
    let texts: Vec<&str> = texts.map(|text| text.trim_end_matches(['}', ','])).collect();
    assert_eq!(texts.len(), values.len());
    for (text, value) in texts.iter().zip(&values) {
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "JSON {text}");
    }
}

#[test]
fn csv_blocks_read_back_with_a_csv_reader() {
    let csv = render(&every_kind_of_cell(), View::Csv);
    let (first, second) = csv.split_once("\n\n").unwrap();
    let mut reader = csv::Reader::from_reader(first.as_bytes());
    assert_eq!(reader.headers().unwrap(), vec!["text", "integer", "real", "flag", "list", "nested", "optional"]);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 8);
    assert_eq!(&rows[0][0], "text with \"quotes\", \\ and \\u{1} control");
    assert_eq!((&rows[0][4], &rows[0][6], &rows[7][6]), ("[1,2,3]", "", "there"));
    assert_eq!(second, "a\n");
}

#[test]
fn the_schema_refuses_other_documents() {
    let good: Value = serde_json::from_str(&render(&every_kind_of_cell(), View::Json)).unwrap();
    assert!(errors(&good).is_empty());
    for (pointer, value) in [
        ("/schema", json!(schema::VERSION - 1)),
        ("/commit", json!("main")),
        ("/seed", json!(-1)),
        ("/seed", json!(0.5)),
        ("/seed", json!("0")),
        ("/device", json!("cuda:0")),
        ("/device/details", json!({"driver": 1})),
        ("/notes", json!("A note.")),
        ("/holds", json!("true")),
        ("/interrupted", json!(true)),
        ("/interrupted", json!("SIGKILL")),
        ("/invocation", json!("probe")),
        ("/tables", json!([])),
        ("/tables/cells", json!({})),
        ("/tables/cells/0", json!([1])),
        ("/tables/cells/0", json!({"text": "and nothing else"})),
        ("/tables/cells/0/text", Value::Null),
        ("/tables/cells/0/integer", json!(0.5)),
        ("/tables/cells/0/real", json!("infinite")),
        ("/tables/cells/0/flag", json!(1)),
        ("/tables/cells/0/list", json!(["1"])),
        ("/tables/cells/0/nested", json!([1])),
        ("/tables/cells/0/optional", json!(1)),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        assert!(!errors(&bad).is_empty(), "{pointer}");
    }
    for (pointer, member) in [("/tables", "others"), ("/tables/cells/0", "more")] {
        let mut bad = good.clone();
        bad.pointer_mut(pointer).unwrap()[member] = json!([]);
        assert!(!errors(&bad).is_empty(), "{pointer}/{member}");
    }
    // Older reports have no such members.
    let newer = ["commit", "interrupted", "answer", "verdict"];
    for member in good.as_object().unwrap().keys().filter(|member| !newer.contains(&member.as_str())) {
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(member);
        assert!(!errors(&bad).is_empty(), "without {member}");
    }
}

fn kept(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name)
}

/// With `TCNUM_WRITE_SNAPSHOTS` set the kept files are written anew, to be read before they are committed.
fn writes() -> bool {
    std::env::var_os("TCNUM_WRITE_SNAPSHOTS").is_some()
}

#[test]
fn the_kept_schema_follows_from_the_declarations() {
    let (path, generated) = (kept("report.schema.json"), tables::report_schema());
    if writes() {
        fs::write(&path, &generated).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap() == generated, "set TCNUM_WRITE_SNAPSHOTS and run this test again");
}

#[test]
fn no_column_goes_or_changes_without_a_new_version_of_the_schema() {
    let (path, now) = (kept("columns.txt"), schema::promise(&tables::declared()));
    let before = fs::read_to_string(&path).unwrap_or_default();
    let broken = schema::broken(&before, &now);
    assert!(broken.is_empty(), "gone or changed, so that schema::VERSION must grow: {broken:?}");
    if writes() {
        fs::write(&path, &now).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap() == now, "set TCNUM_WRITE_SNAPSHOTS and run this test again");
}

#[test]
fn a_table_has_one_declaration_and_a_column_one_meaning() {
    let declared = tables::declared();
    let keys: BTreeSet<&str> = declared.iter().map(|table| table.key).collect();
    assert_eq!(keys.len(), declared.len());
    for table in &declared {
        assert!(table.about.ends_with('.') && !table.columns.is_empty(), "{}", table.key);
        assert!(table.columns.iter().any(|column| column.look.essential), "{} has nothing essential", table.key);
        let columns: BTreeSet<&str> = table.columns.iter().map(|column| &*column.key).collect();
        assert_eq!(columns.len(), table.columns.len(), "{}", table.key);
        for column in &table.columns {
            assert!(column.meaning.ends_with('.'), "{}.{}: {}", table.key, column.key, column.meaning);
            let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(column.key.chars().all(name), "{}.{}", table.key, column.key);
        }
    }
}
