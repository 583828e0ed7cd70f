//! The JSON view against its schema, with every kind of cell; and the schema against documents it must refuse.

mod program;

use program::{schema_errors, validate_report};
use serde_json::{Value, json};
use tcnum::{
    device::Identity,
    report::{Cell, Column, Report, Table, View, render},
};

fn every_kind_of_cell() -> Report {
    let cells = [
        Cell::Empty,
        "text with \"quotes\", \\ and \u{1} control".into(),
        i64::MIN.into(),
        0.1.into(),
        f64::MAX.into(),
        5e-324.into(),
        (-0.0).into(),
        f64::INFINITY.into(),
        f64::NEG_INFINITY.into(),
        f64::NAN.into(),
        true.into(),
        vec![1u64, 2, 3].into(),
        Cell::List(vec![Cell::List(vec![]), Cell::Empty, 1.5.into()]),
    ];
    let mut table = Table::new("cells", "Cells", vec![Column::new("cell", "cell"), Column::hidden("index")]);
    table.rows = cells.into_iter().enumerate().map(|(i, cell)| vec![cell, i.into()]).collect();
    Report {
        device: Some(Identity {
            name: "cuda:0".into(),
            description: "a GPU".into(),
            details: vec![("driver".into(), "1.2".into())],
        }),
        seed: Some(u64::MAX),
        notes: vec!["A note.".into()],
        annotations: vec![("date".into(), "today".into())],
        tables: vec![table, Table::new("empty", "Nothing", vec![Column::new("a", "a")])],
        holds: false,
        ..Report::new("probe", "tcnum probe")
    }
}

#[test]
fn reports_with_every_kind_of_cell_are_as_the_schema_says() {
    let document = validate_report(&render(&every_kind_of_cell(), View::Json));
    assert_eq!(document["seed"], json!(u64::MAX));
    let cells: Vec<&Value> = document["tables"]["cells"].as_array().unwrap().iter().map(|row| &row["cell"]).collect();
    assert_eq!(cells[0], &Value::Null);
    assert_eq!(cells[2], &json!(i64::MIN));
    assert_eq!(cells[7..10], [&json!("Infinity"), &json!("-Infinity"), &json!("NaN")]);
    assert_eq!(cells[12], &json!([[], null, 1.5]));
    validate_report(&render(&Report::new("formats", "tcnum formats"), View::Json));
}

#[test]
fn finite_reals_read_back_bit_for_bit() {
    let values: Vec<f64> = (0..2000u64).map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    let mut table = Table::new("reals", "Reals", vec![Column::new("value", "value")]);
    table.rows = values.iter().map(|&value| vec![value.into()]).collect();
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
    assert_eq!(reader.headers().unwrap(), vec!["cell", "index"]);
    let cells: Vec<String> = reader.records().map(|record| record.unwrap()[0].to_string()).collect();
    assert_eq!(cells.len(), 13);
    assert_eq!(cells[1], "text with \"quotes\", \\ and \u{1} control");
    assert_eq!(cells[11], "[1,2,3]");
    assert_eq!(second, "a\n");
}

#[test]
fn the_schema_refuses_other_documents() {
    let good: Value = serde_json::from_str(&render(&every_kind_of_cell(), View::Json)).unwrap();
    assert!(schema_errors(&good).is_empty());
    for (pointer, value) in [
        ("/schema", json!(2)),
        ("/commit", json!("main")),
        ("/seed", json!(-1)),
        ("/seed", json!(0.5)),
        ("/seed", json!("0")),
        ("/device", json!("cuda:0")),
        ("/device/details", json!({"driver": 1})),
        ("/notes", json!("A note.")),
        ("/holds", json!("true")),
        ("/invocation", json!("probe")),
        ("/tables", json!([])),
        ("/tables/cells", json!({})),
        ("/tables/cells/0", json!([1])),
        ("/tables/cells/0", json!({"Bad Key": 1})),
        ("/tables/cells/0/cell", json!({"nested": 1})),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        assert!(!schema_errors(&bad).is_empty(), "{pointer}");
    }
    // Older reports have no commit.
    for member in good.as_object().unwrap().keys().filter(|member| *member != "commit") {
        let mut bad = good.clone();
        bad.as_object_mut().unwrap().remove(member);
        assert!(!schema_errors(&bad).is_empty(), "without {member}");
    }
}
