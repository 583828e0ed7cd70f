//! Codes and texts of every format that a program names are the library's.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tcnum::format::{Format, Overflow, Real, Rounding, find};

use crate::{node, subjects};

const CHECK: &str = include_str!("check_formats.js");

/// Numbers at the ends, ties and corners of the formats, in every form that a reader may type.
const TEXTS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "1.5",
    "-1.5e-3",
    ".5",
    "7.",
    "+3",
    "0.1",
    "-0.3",
    "2.5",
    "3.5",
    "-2.5",
    "127.5",
    "-128.5",
    "255.5",
    "256",
    "448",
    "464",
    "464.00001",
    "480",
    "240",
    "57344",
    "61440",
    "65504",
    "65519.99",
    "65520",
    "1e5",
    "1e38",
    "3.4028235e38",
    "3.4028236e38",
    "1e39",
    "1e300",
    "1.8e308",
    "1e400",
    "-1e400",
    "1e-7",
    "2.9e-8",
    "2.98023223876953125e-8",
    "2.99e-8",
    "1e-38",
    "1e-45",
    "7e-46",
    "7.1e-46",
    "1e-300",
    "5e-324",
    "2.4e-324",
    "2.5e-324",
    "1e-400",
    "-1e-400",
    "0x1.8p-3",
    "0xC.p-3",
    "-0x.8p1",
    "0x1p-149",
    "0x1.000001p0",
    "0x1.00000100000000001p0",
    "12*2^-3",
    "3*2^100",
    "-3*2^-150",
    "1*2^-1074",
    "2147483647.5",
    "-2147483648.5",
    "1e10",
    "inf",
    "-inf",
    "Infinity",
    "NAN",
    "-nan",
    "6",
    "5",
    "5.0000000000000000000000000000000000000001",
    "0.25",
    "0.0019",
    "0.001953125",
    "0.0009765625",
    "0.00097656250000000000001",
    "1e-2000",
];

/// The formats of all programs, with their records.
fn records() -> BTreeMap<String, Value> {
    let mut records = BTreeMap::new();
    for subject in subjects::of_models(1) {
        let program: Value = serde_json::from_str(&subject.json).unwrap();
        let formats = program["formats"].as_object().unwrap();
        records.extend(formats.iter().map(|(name, record)| (name.clone(), record.clone())));
    }
    assert!(records.len() > 15, "{:?}", records.keys());
    records
}

/// Every code of formats of 8 bits and fewer; in wider ones those around every power of two, and some between.
fn codes(format: &Format) -> Vec<u64> {
    if format.bits <= 8 {
        return (0..=format.code_mask()).collect();
    }
    let step = (format.code_mask() / 997) | 1;
    let powers = (0..format.bits).flat_map(|bit| [(1u64 << bit).wrapping_sub(1), 1 << bit, (1 << bit) + 1]);
    powers.chain((0..997).map(|at| step.wrapping_mul(at))).map(|code| code & format.code_mask()).collect()
}

#[test]
fn codes_and_texts_of_all_formats_are_the_librarys() {
    let mut formats = Vec::new();
    for (name, record) in records() {
        let format = find(&name).unwrap();
        let datum = |code: u64| json!([format!("{code:#x}"), format.hex(code), format.decode(code).decimal()]);
        let encoded = |text: &&str| {
            let value: Real = text.parse().unwrap();
            let code = |rounding: &Rounding| format.encode(&value, *rounding, Overflow::Standard);
            let codes = Rounding::DETERMINISTIC.iter().map(|rounding| code(rounding).map(|code| format!("{code:#x}")));
            json!([text, codes.collect::<Vec<_>>()])
        };
        let codes: Vec<Value> = codes(format).into_iter().map(datum).collect();
        let texts: Vec<Value> = TEXTS.iter().map(encoded).collect();
        formats.push(json!({ "name": name, "record": record, "codes": codes, "texts": texts }));
    }
    let roundings: Vec<&str> = Rounding::DETERMINISTIC.iter().map(Rounding::name).collect();
    let script = format!("tcnum.roundings = {};\ntcnum.records = {};\n", json!(roundings), Value::from(formats));
    if let Some(outcome) = node::run("formats", &[("records.js", &script), ("check.js", CHECK)]) {
        assert_eq!(outcome, "passed");
    }
}
