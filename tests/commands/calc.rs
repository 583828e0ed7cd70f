//! `tcnum calc` on the program itself.

use crate::program::{Run, tcnum, tcnum_with_input, validate_report};
use serde_json::{Value, json};

fn rows_of(arguments: &[&str]) -> Vec<Value> {
    let run = tcnum(&[&["calc", "--output", "json"], arguments].concat());
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    validate_report(&run.stdout)["tables"]["operations"].as_array().unwrap().clone()
}

/// Code and flags of the one result.
fn result(arguments: &[&str]) -> (String, Vec<String>) {
    let rows = rows_of(arguments);
    assert_eq!(rows.len(), 1, "{arguments:?}");
    let flags = rows[0]["flags"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap().to_string());
    (rows[0]["code"].as_str().unwrap().to_string(), flags.collect())
}

fn refused(arguments: &[&str], input: &[u8], parts: &[&str]) {
    let Run { status, stdout, stderr } = tcnum_with_input(&[&["calc"], arguments].concat(), input);
    assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?}: no '{part}' in: {stderr}");
    }
}

/// Status, the row of counts, the rows of differences and standard error of a check.
fn checked(arguments: &[&str], input: &str) -> (i32, Value, Vec<Value>, String) {
    let run = tcnum_with_input(&[&["calc", "--check", "--output", "json"], arguments].concat(), input.as_bytes());
    let document = validate_report(&run.stdout);
    let differences = document["tables"]["differences"].as_array().cloned().unwrap_or_default();
    (run.status, document["tables"]["check"][0].clone(), differences, run.stderr)
}

#[test]
fn an_operation_prints_operands_result_and_flags() {
    let rows = rows_of(&["--fmt", "f16", "--op", "add", "0x3c00", "0.1"]);
    let expected = json!([{
        "x_input": "0x3c00", "x_code": "0x3c00", "x_decimal": "1",
        "y_input": "0.1", "y_code": "0x2e66", "y_decimal": "0.0999755859375",
        "z_input": null, "z_code": null, "z_decimal": null,
        "code": "0x3c66", "decimal": "1.099609375", "flags": ["inexact"], "flag_bits": "0x01",
    }]);
    assert_eq!(Value::from(rows), expected);
    let human = tcnum(&["calc", "--fmt", "f16", "--op", "div", "1", "0"]).stdout;
    assert!(human.contains("0x7c00") && human.contains("divide-by-zero") && human.contains("RNE"), "{human}");
}

#[test]
fn every_operation_has_its_count_of_operands_and_its_kind_of_result() {
    for (op, operands, code, decimal) in [
        ("fma", &["2", "3", "4"][..], "0x4900", "10"),
        ("sqrt", &["9"], "0x4200", "3"),
        ("rem", &["5", "3"], "0xbc00", "-1"),
        ("rint", &["2.5"], "0x4000", "2"),
        ("next-up", &["1"], "0x3c01", "1.0009765625"),
        ("maximum", &["-0", "0"], "0x0000", "0"),
        ("lt", &["1", "2"], "1", "true"),
        ("total-order", &["1", "-1"], "0", "false"),
        ("classify", &["-0"], "5", "negativeZero"),
    ] {
        let rows = rows_of(&[&["--fmt", "f16", "--op", op], operands].concat());
        assert_eq!((&rows[0]["code"], &rows[0]["decimal"]), (&json!(code), &json!(decimal)), "{op}");
    }
    // One operation after another.
    assert_eq!(rows_of(&["--fmt", "f16", "--op", "add", "1", "2", "3", "4"]).len(), 2);
}

#[test]
fn names_of_testfloat_are_understood_in_any_letter_case() {
    for (ours, theirs, operands) in [
        ("fma", "mulAdd", &["2", "3", "4"][..]),
        ("rint", "roundToInt", &["2.5"]),
        ("eq-signaling", "eq_signaling", &["1", "1"]),
        ("lt-quiet", "LT_QUIET", &["1", "2"]),
        ("le", "Le", &["1", "2"]),
    ] {
        let of = |op: &str| result(&[&["--fmt", "f32", "--op", op], operands].concat());
        assert_eq!(of(ours), of(theirs), "{theirs}");
    }
}

#[test]
fn the_environment_is_as_asked() {
    let of = |arguments: &[&str]| result(&[&["--fmt", "f16"], arguments].concat());
    let code = |arguments: &[&str]| of(arguments).0;
    for (mode, expected) in [("RNE", "0x3c00"), ("rna", "0x3c01"), ("RZ", "0x3c00"), ("RU", "0x3c01"), ("RO", "0x3c01")]
    {
        assert_eq!(code(&["--op", "add", "--round", mode, "1", "0x1p-11"]), expected, "{mode}");
    }
    let random =
        |bits: &str| code(&["--op", "add", "--round", "SR", "--random", bits, "--random-bits", "4", "1", "0x1p-11"]);
    assert_eq!((random("7").as_str(), random("8").as_str()), ("0x3c00", "0x3c01"));
    // 2^-14 * (1 - 2^-14) rounds to the smallest normal number, at any exponent range.
    let tiny = |arguments: &[&str]| of(&[&["--op", "mul", "0x1.fcp-8", "0x1.02p-7"], arguments].concat()).1;
    assert_eq!(tiny(&["--tininess", "before"]), ["underflow", "inexact"]);
    assert_eq!(tiny(&["--tininess", "after"]), ["inexact"]);
    assert_eq!(code(&["--op", "add", "--nan", "nvidia", "nan", "1"]), "0x7fff");
    assert_eq!(code(&["--op", "convert", "--to", "s32", "--nan", "nvidia", "nan"]), "0x00000000");
    assert_eq!(code(&["--op", "convert", "--to", "s64", "--nan", "nvidia", "nan"]), "0x8000000000000000");
    assert_eq!(code(&["--op", "add", "--nan", "x86", "0xfc01", "1"]), "0xfe01");
    assert_eq!(code(&["--op", "add", "--overflow", "saturate", "65504", "65504"]), "0x7bff");
    assert_eq!(
        of(&["--op", "add", "--ftz", "0x0001", "0x0001"]),
        ("0x0000".into(), vec!["underflow".into(), "inexact".into()])
    );
    assert_eq!(of(&["--op", "add", "--daz", "0x0001", "1"]), ("0x3c00".into(), Vec::new()));
}

#[test]
fn an_infinity_that_becomes_something_else_overflows_and_one_that_stays_does_not() {
    let of = |arguments: &[&str]| result(&[&["--fmt", "f16"], arguments].concat());
    for (operation, operands, raised) in [
        ("mul", &["inf", "1"][..], None),
        ("add", &["inf", "-65504"], None),
        ("sqrt", &["inf"], None),
        ("div", &["1", "0"], Some("divide-by-zero")),
    ] {
        let with = |overflow: &str| of(&[&["--op", operation, "--overflow", overflow], operands].concat());
        let flags = |more: &[&str]| raised.iter().chain(more).map(|flag| flag.to_string()).collect::<Vec<_>>();
        assert_eq!(with("standard"), ("0x7c00".into(), flags(&[])), "{operation}");
        assert_eq!(with("infinity"), ("0x7c00".into(), flags(&[])), "{operation}");
        assert_eq!(with("saturate"), ("0x7bff".into(), flags(&["overflow", "inexact"])), "{operation}");
        assert_eq!(with("nan"), ("0x7e00".into(), flags(&["overflow", "inexact"])), "{operation}");
    }
    // A conversion is an operation like the others, whether the target has infinities or not.
    for (to, code) in [("e5m2", "0x7b"), ("e4m3", "0x7e"), ("bf16", "0x7f7f")] {
        let converted = of(&["--op", "convert", "--to", to, "--overflow", "saturate", "inf"]);
        assert_eq!(converted, (code.into(), vec!["overflow".into(), "inexact".into()]), "{to}");
    }
}

#[test]
fn conversion_has_a_second_format_and_integers_are_exact_when_asked() {
    let of = |arguments: &[&str]| result(&[&["--op", "convert"], arguments].concat());
    assert_eq!(of(&["--fmt", "f32", "--to", "e4m3", "0.1"]), ("0x1d".into(), vec!["inexact".into()]));
    assert_eq!(of(&["--fmt", "f32", "--to", "s32", "2.5"]), ("0x00000002".into(), Vec::new()));
    assert_eq!(of(&["--fmt", "f32", "--to", "s32", "--exact", "2.5"]), ("0x00000002".into(), vec!["inexact".into()]));
    assert_eq!(of(&["--fmt", "f64", "--to", "u64", "1e19"]), ("0x8ac7230489e80000".into(), Vec::new()));
    assert_eq!(
        of(&["--fmt", "u64", "--to", "f32", "0xffffffffffffffff"]),
        ("0x5f800000".into(), vec!["inexact".into()])
    );
    let rint = result(&["--fmt", "f16", "--op", "roundToInt", "--exact", "2.5"]);
    assert_eq!(rint, ("0x4000".into(), vec!["inexact".into()]));
}

#[test]
fn a_nan_that_the_result_cannot_hold_is_a_failed_claim() {
    let run = tcnum(&["calc", "--fmt", "f32", "--op", "convert", "--to", "e2m1", "--output", "json", "nan", "1"]);
    assert_eq!(run.status, 1);
    let document = validate_report(&run.stdout);
    let rows = document["tables"]["operations"].as_array().unwrap();
    assert_eq!((&rows[0]["code"], &rows[1]["code"]), (&Value::Null, &json!("0x2")));
    assert!(document["answer"].as_str().unwrap().contains("1 NaN, which the format lacks"));
}

#[test]
fn operations_come_from_standard_input_and_what_precedes_a_bad_line_is_printed() {
    let arguments = ["calc", "--fmt", "f16", "--op", "add", "--output", "json"];
    let run = tcnum_with_input(&arguments, b"1 2\r\n\n0x3c00 -inf\n");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let document = validate_report(&run.stdout);
    let codes: Vec<&str> =
        document["tables"]["operations"].as_array().unwrap().iter().map(|row| row["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["0x4200", "0xfc00"]);

    for (line, token) in [("1 two", "'two'"), ("1", "takes 2 operands, not 1"), ("0x10000 1", "'0x10000'")] {
        let run = tcnum_with_input(&arguments, format!("1 2\n{line}\n3 4\n").as_bytes());
        assert_eq!(run.status, 2);
        assert!(
            run.stderr.starts_with("error: standard input, line 2: ") && run.stderr.contains(token),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1);
        assert_eq!(validate_report(&run.stdout)["tables"]["operations"].as_array().unwrap().len(), 1);
    }
    let run = tcnum(&["calc", "--fmt", "f16", "--op", "sqrt", "4", "x"]);
    assert_eq!(run.status, 2);
    assert!(run.stdout.contains("0x4000") && run.stderr.contains("operation 2: 'x'"), "{}", run.stderr);
}

#[test]
fn wrong_requests_are_refused() {
    refused(&["--fmt", "f16", "--op", "ad", "1", "2"], b"", &["unknown operation 'ad'", "'add'"]);
    refused(&["--fmt", "f17", "--op", "add", "1", "2"], b"", &["unknown format 'f17'"]);
    refused(&["--fmt", "mxfp4", "--op", "add", "1", "2"], b"", &["mxfp4 is a block format", "e2m1"]);
    refused(
        &["--fmt", "f32", "--op", "convert", "--to", "MXFP4", "1"],
        b"",
        &["mxfp4 is a block format", "convert --to"],
    );
    refused(&["--fmt", "e8m0", "--op", "sqrt", "1"], b"", &["e8m0 cannot carry sqrt", "zero"]);
    refused(&["--fmt", "ue4m3", "--op", "sub", "2", "1"], b"", &["ue4m3 cannot carry sub", "sign"]);
    refused(&["--fmt", "s8", "--op", "add", "1", "2"], b"", &["s8 is an integer format"]);
    refused(&["--fmt", "f16", "--op", "convert", "1"], b"", &["--to"]);
    refused(&["--fmt", "f16", "--op", "add", "--to", "f32", "1", "2"], b"", &["--to is for --op convert"]);
    refused(&["--fmt", "f16", "--op", "add", "--exact", "1", "2"], b"", &["--exact", "add"]);
    refused(
        &["--fmt", "f16", "--op", "convert", "--to", "f32", "--exact", "1"],
        b"",
        &["--exact", "convert from f16 to f32"],
    );
    refused(&["--fmt", "f16", "--op", "add", "1"], b"", &["add takes 2 operands"]);
    refused(&["--fmt", "f16", "--op", "add"], b"", &["no operand"]);
    refused(&["--fmt", "f16", "--op", "add", "--round", "RX", "1", "2"], b"", &["'RX'"]);
    refused(&["--fmt", "f16", "--op", "add", "--round", "SR", "1", "2"], b"", &["--random HEX"]);
    refused(&["--fmt", "f16", "--op", "add", "--nan", "mips", "1", "2"], b"", &["mips", "canonical"]);
    refused(&["--fmt", "f16", "--op", "add", "--check-nan", "1", "2"], b"", &["--check"]);
    refused(&["--fmt", "f16", "--op", "add", "--check", "1", "2"], b"", &["--check"]);
    refused(&["--fmt", "f16", "--op", "add", "0x3c000", "2"], b"", &["'0x3c000'", "16 bits"]);
}

#[test]
fn lines_that_differ_are_counted_and_the_first_are_printed() {
    let input = "3C00 3C00 4000 00\n3C00 3C00 4001 00\n\n3c00 3c00 4000 01\n3C00\t3C00  4000 0\r\n7C00 FC00 7E01 10\n3C00 3C00 0 0";
    let (status, counts, differences, _) = checked(&["--fmt", "f16", "--op", "add"], input);
    assert_eq!(status, 1);
    assert_eq!((&counts["lines"], &counts["agreeing"], &counts["differing"]), (&json!(6), &json!(3), &json!(3)));
    let lines: Vec<&Value> = differences.iter().map(|row| &row["line"]).collect();
    assert_eq!(lines, [&json!(2), &json!(4), &json!(7)]);
    let expected = json!({
        "line": 4, "operands": ["0x3c00", "0x3c00"], "expected": "0x4000", "expected_flags": ["inexact"],
        "computed": "0x4000", "computed_flags": [],
    });
    assert_eq!(differences[1], expected);
    let (_, counts, differences, _) = checked(&["--fmt", "f16", "--op", "add", "--limit", "1"], input);
    assert_eq!((differences.len(), &counts["differing"]), (1, &json!(3)));
}

#[test]
fn any_nan_stands_for_a_nan_unless_all_have_to_be_the_same() {
    let nan = "7C00 FC00 FE00 10\n";
    assert_eq!(checked(&["--fmt", "f16", "--op", "add"], nan).0, 0);
    assert_eq!(checked(&["--fmt", "f16", "--op", "add", "--check-nan"], nan).0, 1);
    assert_eq!(checked(&["--fmt", "f16", "--op", "add", "--check-nan", "--nan", "x86"], nan).0, 0);
    // A number is no NaN, and a NaN no number.
    assert_eq!(checked(&["--fmt", "f16", "--op", "add"], "7C00 FC00 7C00 10\n3C00 3C00 7E00 00\n").1["differing"], 2);
    let integer = ["--fmt", "f16", "--op", "convert", "--to", "i32"];
    assert_eq!(checked(&integer, "7E00 12345678 10\n").0, 0);
    assert_eq!(checked(&[&integer[..], &["--check-nan"]].concat(), "7E00 12345678 10\n").0, 1);
    // Any integer, but not any flags; and the integer of a valid conversion.
    assert_eq!(checked(&integer, "7E00 7FFFFFFF 11\n3C00 00000002 00\n").1["differing"], 2);
}

#[test]
fn what_precedes_a_line_that_cannot_be_read_is_reported() {
    for (line, parts) in [
        ("3C00 3C00 4000", &["3 fields", "must be 4"][..]),
        ("3C00 3C00 4000 00 00", &["5 fields"]),
        ("1 2 3 4 5 6 7 8 9", &["9 fields"]),
        ("3C00 3G00 4000 00", &["'3G00'"]),
        ("3C00 0x3C00 4000 00", &["'0x3C00'"]),
        ("13C00 3C00 4000 00", &["'13C00'", "16 bits"]),
        ("3C00 3C00 14000 00", &["'14000'", "16 bits"]),
        ("3C00 3C00 4000 20", &["'20'", "5 bits"]),
        ("3C00 00000000000003C00 4000 00", &["16 hexadecimal digits"]),
        ("3C00 3C00 4000 \x01", &["is not a number"]),
    ] {
        let input = format!("3C00 3C00 4000 00\n\n3C00 3C00 4001 00\n{line}\n3C00 3C00 4001 00\n");
        let (status, counts, differences, message) = checked(&["--fmt", "f16", "--op", "add"], &input);
        assert_eq!((status, differences.len()), (2, 1), "{line}");
        assert_eq!((&counts["lines"], &counts["differing"]), (&json!(2), &json!(1)), "{line}");
        assert!(message.starts_with("error: standard input, line 4: "), "{message}");
        assert!(message.lines().count() == 1 && parts.iter().all(|part| message.contains(part)), "{message}");
    }
    let add = ["--fmt", "f16", "--op", "add", "--check"];
    refused(&add, b"", &["no line to check"]);
    refused(&add, b" \n\n", &["no line to check"]);
    refused(&add, b"3C00\n", &["line 1", "1 field;"]);
    refused(&["--fmt", "f16", "--op", "lt", "--check"], b"3C00 3C00 2 00\n", &["'2'", "0 or 1"]);
}

#[test]
fn lines_are_numbered_across_blocks_of_input() {
    // More than one block of 4 MiB, and a last line without an end.
    let count = 600_000;
    let mut input = "3C00 3C00 4000 00\n".repeat(count);
    let at = |line: usize| (line - 1) * 18;
    for line in [1, 250_000, 599_999] {
        input.replace_range(at(line)..at(line) + 17, "3C00 3C00 4000 01");
    }
    input += "3C00 3C00 4000 02";
    let (status, counts, differences, _) = checked(&["--fmt", "f16", "--op", "add"], &input);
    assert_eq!((status, &counts["lines"], &counts["differing"]), (1, &json!(count + 1), &json!(4)));
    let lines: Vec<&Value> = differences.iter().map(|row| &row["line"]).collect();
    assert_eq!(lines, [&json!(1), &json!(250_000), &json!(599_999), &json!(600_001)]);
    input.replace_range(at(500_000)..at(500_000) + 4, "3C0_");
    let (status, counts, _, message) = checked(&["--fmt", "f16", "--op", "add"], &input);
    assert_eq!((status, &counts["lines"], &counts["differing"]), (2, &json!(499_999), &json!(2)));
    assert!(message.contains("line 500000: '3C0_'"), "{message}");
}

#[test]
fn a_line_without_end_is_refused() {
    refused(&["--fmt", "f16", "--op", "add", "--check"], &vec![b' '; 5 << 20], &["line 1", "longer than 4 MiB"]);
}

#[test]
fn a_format_can_be_a_table_of_values() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ternary.toml");
    let record = "name = 'ternary'\nvalues = [0, 1, -1, 0]\nthresholds = [-0.25, 0.25]\nties = 'away'\n";
    std::fs::write(&file, record).unwrap();
    let path = file.to_str().unwrap();
    let inexact = |code: &str| (code.into(), vec!["inexact".into()]);
    assert_eq!(result(&["--fmt", path, "--op", "add", "1", "0x2"]), ("0x0".into(), Vec::new()));
    assert_eq!(result(&["--fmt", "f32", "--op", "convert", "--to", path, "0.25"]), inexact("0x1"));
    assert_eq!(result(&["--fmt", "f32", "--op", "convert", "--to", path, "--", "-0.2"]), inexact("0x0"));
    assert_eq!(result(&["--fmt", path, "--op", "convert", "--to", "f32", "0x2"]), ("0xbf800000".into(), Vec::new()));
    for (arguments, mark) in [
        (&["formats", path][..], "ternary has 4 codes, no NaN and no infinity among them; the largest number is 1"),
        (&["convert", "--to", path, "0.2"], "0.2 is rounded down to 0x0 in ternary, 0."),
        (&["convert", "--to", path, "7"], "7 is too large for ternary: it becomes 0x1, 1."),
    ] {
        let run = tcnum(arguments);
        assert!(run.status == 0 && run.stdout.contains(mark), "{}", run.stdout);
    }
    refused(&["--fmt", path, "--op", "classify", "1"], b"", &["ternary cannot carry classify", "a format by table"]);
    std::fs::write(&file, record.replace(", -1, 0]", "]").replace("[-0.25, 0.25]", "[2]")).unwrap();
    refused(&["--fmt", path, "--op", "add", "1", "1"], b"", &[path, "line 3", "'thresholds'", "from 0 to 1"]);
    std::fs::write(&file, record.replace("values = [0,", "values = [")).unwrap();
    refused(&["--fmt", path, "--op", "add", "1", "1"], b"", &[path, "line 2", "'values' has 3 values"]);
}

#[test]
fn a_format_can_be_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("e3m4.toml");
    let record =
        "name = 'fp8-e3m4'\nexponent_bits = 3\ntrailing_bits = 4\nbias = 3\nzeros = 'both'\nspecials = 'ieee'\n";
    std::fs::write(&file, record).unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(result(&["--fmt", path, "--op", "add", "1", "0x1p-4"]), ("0x31".into(), Vec::new()));
    assert_eq!(
        result(&["--fmt", "f32", "--op", "convert", "--to", path, "100"]),
        ("0x70".into(), vec!["overflow".into(), "inexact".into()])
    );
    for (arguments, mark) in
        [(&["formats", path][..], "fp8-e3m4"), (&["convert", "--from", path, "--to", path, "0x31"], "1.0625")]
    {
        let run = tcnum(arguments);
        assert!(run.status == 0 && run.stdout.contains(mark), "{}", run.stdout);
    }
    std::fs::write(&file, record.replace("exponent_bits = 3", "exponent_bits = 33")).unwrap();
    refused(&["--fmt", path, "--op", "add", "1", "2"], b"", &[path, "line 2", "'exponent_bits' is 33", "1 to 11"]);
    std::fs::write(&file, record.replace("bias", "byas")).unwrap();
    refused(&["--fmt", path, "--op", "add", "1", "2"], b"", &[path, "byas", "bias"]);
    let missing = folder.path().join("no.toml");
    refused(&["--fmt", missing.to_str().unwrap(), "--op", "add", "1", "2"], b"", &["no.toml", "cannot be read"]);
}
