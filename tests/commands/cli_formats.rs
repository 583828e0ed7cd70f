//! `tcnum formats`, `tcnum convert` and the output flags, on the program itself.

use std::{fs, path::Path};

use crate::{
    machine::{Need, skip},
    program::{Run, tcnum, tcnum_with_input, validate_report},
};
use serde_json::{Value, json};
use tcnum::format::{Class, FORMATS};

fn json_of(arguments: &[&str]) -> Value {
    parsed(&[arguments, &["--output", "json"]].concat())
}

fn parsed(arguments: &[&str]) -> Value {
    let run = tcnum(arguments);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    validate_report(&run.stdout)
}

fn refused(arguments: &[&str], input: &[u8], parts: &[&str]) {
    let Run { status, stdout, stderr } = tcnum_with_input(arguments, input);
    assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?}: no '{part}' in: {stderr}");
    }
}

#[test]
fn formats_lists_every_format_with_its_landmarks() {
    let document = json_of(&["formats"]);
    let rows = document["tables"]["formats"].as_array().unwrap();
    assert_eq!(rows.len(), FORMATS.len());
    let row = |name: &str| rows.iter().find(|row| row["format"] == name).unwrap();
    assert_eq!(row("e4m3")["largest"], json!(448.0));
    assert_eq!(row("e4m3")["smallest_subnormal_decimal"], "0.001953125");
    assert_eq!(row("e4m3")["nan_pattern"], "S 1111 111");
    assert_eq!(row("bf16")["smallest_subnormal"], json!(2f64.powi(-133)));
    assert_eq!(row("e8m0")["zeros"], "none");
    assert_eq!((&row("f16")["emin"], &row("f16")["emax"]), (&json!(-14), &json!(15)));
    assert_eq!(row("s8")["bias"], Value::Null);
    assert_eq!(document["command"], "formats");
    assert_eq!(document["invocation"], "tcnum formats --output json");
}

#[test]
fn a_format_by_rule_is_printed_converted_to_and_computed_in() {
    let row = &json_of(&["formats", "E8M27"])["tables"]["formats"][0];
    assert_eq!((&row["format"], &row["bits"], &row["bias"]), (&json!("e8m27"), &json!(36), &json!(127)));
    assert_eq!(row["source"], "IEEE 754 rules, width by name");
    assert_eq!(row["largest"], json!((2.0 - 2f64.powi(-27)) * 2f64.powi(127)));
    let tenth = &json_of(&["convert", "--to", "e8m27", "0.1"])["tables"]["conversions"][0];
    assert_eq!(tenth["code"], "0x3dccccccd");
    let sum = &json_of(&["calc", "--fmt", "e8m24", "--op", "add", "1", "0x1p-24"])["tables"]["operations"][0];
    assert_eq!((&sum["code"], &sum["flags"]), (&json!("0x07f000001"), &json!([])));
}

/// A pattern of codes with `S`, `x` or `p` in place of `bit`.
fn pattern_bits(pattern: &str) -> (u64, u64, u64) {
    let bits = pattern.split(',').next().unwrap().replace(' ', "");
    let of = |marks: &str| bits.chars().fold(0, |code, bit| code << 1 | u64::from(marks.contains(bit)));
    (of("1"), of("x"), of("p"))
}

#[test]
fn padding_is_told_apart_from_the_bits_that_make_a_code_zero_infinite_or_nan() {
    for format in FORMATS.iter().filter(|format| format.float().is_some()) {
        let document = json_of(&["formats", format.name]);
        let row = &document["tables"]["formats"][0];
        let padding = (1u64 << row["padding_bits"].as_u64().unwrap()) - 1;
        let names = ["zero_pattern", "infinity_pattern", "nan_pattern"];
        for (name, class) in names.into_iter().zip([Class::Zero, Class::Infinite, Class::Nan]) {
            let Some(pattern) = row[name].as_str() else { continue };
            let (ones, any, padded) = pattern_bits(pattern);
            assert_eq!(padded, padding, "{format}: {pattern}");
            let least = if pattern.ends_with(", not all x 0") { any & any.wrapping_neg() } else { 0 };
            for code in [ones | least, ones | least | padding, ones | any, ones | any | padding] {
                assert_eq!(format.decode(code).class, class, "{format} {code:#x}: {pattern}");
            }
            if least != 0 {
                assert_ne!(format.decode(ones | padding).class, class, "{format}: {pattern}");
            }
        }
        assert_eq!(row["padding"].is_null(), padding == 0, "{format}");
        let landmarks = document["tables"]["landmarks"].as_array();
        assert!(padding == 0 || landmarks.is_some_and(|landmarks| landmarks.len() > 6), "{format}");
        for landmark in landmarks.into_iter().flatten() {
            let code = u64::from_str_radix(landmark["code"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
            assert_eq!(code & padding, 0, "{format}: {landmark}");
        }
    }
}

#[test]
fn one_format_is_printed_with_every_code_when_it_has_few() {
    for (name, codes) in [
        ("FP8_E4M3", Some(256)),
        ("e2m1", Some(16)),
        ("ue4m3", Some(128)),
        ("hif8", Some(256)),
        ("s3", Some(8)),
        ("bf16", None),
    ] {
        let document = json_of(&["formats", name]);
        assert_eq!(document["tables"]["codes"].as_array().map(Vec::len), codes, "{name}");
        assert_eq!(document["tables"]["formats"].as_array().unwrap().len(), 1);
    }
    let document = json_of(&["formats", "e4m3"]);
    let one = &document["tables"]["codes"][0x38];
    let expected = json!({"code": "0x38", "bits": "0 0111 000", "class": "normal", "value": 1.0, "decimal": "1", "scaled": "8*2^-3"});
    assert_eq!(one, &expected);
    assert_eq!(document["tables"]["codes"][0x7f]["value"], "NaN");
}

#[test]
fn the_published_table_agrees_but_for_its_misprint() {
    let document = json_of(&["formats", "--published"]);
    let rows = document["tables"]["published"].as_array().unwrap();
    assert_eq!(rows.len(), 70);
    let differing: Vec<&Value> = rows.iter().filter(|row| row["agree"] == false).collect();
    assert_eq!(differing.len(), 1);
    assert_eq!((&differing[0]["format"], &differing[0]["cell"]), (&json!("e5m2fnuz"), &json!("nan")));
    assert_eq!(document["notes"].as_array().unwrap().len(), 1);
    assert!(document["answer"].as_str().unwrap().starts_with("69 of 70 published cells agree"));
}

#[test]
fn terminal_text_of_the_formats_keeps_to_120_columns() {
    for arguments in [vec!["formats"], vec!["formats", "f64"], vec!["formats", "e4m3"], vec!["formats", "--published"]]
    {
        let run = tcnum(&arguments);
        assert_eq!(run.status, 0);
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 120, "{arguments:?}: {line}");
        }
    }
}

#[test]
fn every_view_of_every_command_here_is_printed() {
    for arguments in [vec!["formats"], vec!["formats", "e2m1"], vec!["convert", "--to", "f16", "0.1"]] {
        for (view, mark) in
            [("table", "\n---"), ("json", "\"schema\": 2"), ("csv", ","), ("markdown", "| ---"), ("latex", "\\toprule")]
        {
            let run = tcnum(&[&arguments[..], &["--output", view]].concat());
            assert_eq!(run.status, 0);
            assert!(run.stdout.contains(mark) && run.stdout.ends_with('\n'), "{arguments:?} {view}: {}", run.stdout);
        }
    }
}

#[test]
fn values_convert_with_code_direction_and_error() {
    let document = json_of(&["convert", "--to", "e4m3", "0.1", "-1.0625", "0x1.8p-3", "5*2^-1", "1e9", "nan"]);
    let rows = document["tables"]["conversions"].as_array().unwrap();
    let codes: Vec<&str> = rows.iter().map(|row| row["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["0x1d", "0xb8", "0x24", "0x42", "0x7f", "0x7f"]);
    assert_eq!(
        (&rows[1]["direction"], &rows[1]["error_ulps"], &rows[1]["exact"]),
        (&json!("up"), &json!(0.5), &json!(false))
    );
    assert_eq!(
        (&rows[2]["direction"], &rows[2]["error_ulps"], &rows[2]["exact"]),
        (&json!("none"), &json!(0.0), &json!(true))
    );
    assert_eq!(rows[5]["exact"], json!(true));
}

#[test]
fn rounding_and_overflow_are_as_asked() {
    let code = |arguments: &[&str]| {
        let document = json_of(&[&["convert", "--to", "e4m3"], arguments].concat());
        document["tables"]["conversions"][0]["code"].as_str().unwrap().to_string()
    };
    for (mode, expected) in
        [("RNE", "0x38"), ("RNA", "0x39"), ("rz", "0x38"), ("RU", "0x39"), ("RD", "0x38"), ("RO", "0x39")]
    {
        assert_eq!(code(&["--round", mode, "1.0625"]), expected, "{mode}");
    }
    let stochastic = |random: &str| code(&["--round", "SR", "--random", random, "--random-bits", "8", "1.0625"]);
    assert_eq!((stochastic("0x7f").as_str(), stochastic("80").as_str()), ("0x38", "0x39"));
    for (overflow, expected) in [("standard", "0x7f"), ("infinity", "0x7f"), ("nan", "0x7f"), ("saturate", "0x7e")] {
        assert_eq!(code(&["--overflow", overflow, "1e9"]), expected, "{overflow}");
    }
    let minus_infinity = parsed(&["convert", "--to", "e5m2", "--output", "json", "--", "-inf"]);
    assert_eq!(minus_infinity["tables"]["conversions"][0]["code"], "0xfc");
}

#[test]
fn negative_values_need_two_hyphens_before_them_only_where_they_are_no_decimals() {
    let document = parsed(&["convert", "--to", "e5m2", "-1e9", "-0", "--output", "json", "--", "-inf", "-0x1p0"]);
    let rows = document["tables"]["conversions"].as_array().unwrap();
    let codes: Vec<&str> = rows.iter().map(|row| row["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["0xfc", "0x80", "0xfc", "0xbc"]);
}

#[test]
fn values_come_from_standard_input_and_are_rounded_to_the_source_format_first() {
    let arguments = ["convert", "--from", "bf16", "--to", "f32", "--output", "json"];
    let run = tcnum_with_input(&arguments, b"0x3f80 0.1\r\n\n  0X4049\n-inf");
    assert_eq!(run.status, 0, "{}", run.stderr);
    let document = validate_report(&run.stdout);
    let rows = document["tables"]["conversions"].as_array().unwrap();
    let pairs: Vec<_> =
        rows.iter().map(|row| (row["from_code"].as_str().unwrap(), row["code"].as_str().unwrap())).collect();
    let expected =
        [("0x3f80", "0x3f800000"), ("0x3dcd", "0x3dcd0000"), ("0x4049", "0x40490000"), ("0xff80", "0xff800000")];
    assert_eq!(pairs, expected);
}

#[test]
fn a_value_without_a_code_is_a_failed_claim() {
    let run = tcnum(&["convert", "--to", "e2m1", "1", "nan", "--output", "json"]);
    assert_eq!(run.status, 1);
    let document = validate_report(&run.stdout);
    assert_eq!(document["tables"]["conversions"][1]["code"], Value::Null);
    assert_eq!(document["holds"], json!(false));
    assert!(document["answer"].as_str().unwrap().ends_with("1 has no code: NaN, which e2m1 lacks."));
}

#[test]
fn unknown_formats_are_refused_with_the_nearest_names() {
    refused(&["formats", "fp8-e4m4"], b"", &["unknown format 'fp8-e4m4'", "'fp8-e4m3'"]);
    refused(&["formats", "e12m3"], b"", &["unknown format 'e12m3'", "X = 2 to 11", "Y = 1 to 52"]);
    refused(&["convert", "--to", "bfloat", "--from", "f33", "1"], b"", &["'f33'", "'f32'"]);
    refused(&["convert", "--to", "fp9", "1"], b"", &["'fp9'", "tcnum formats"]);
}

#[test]
fn wrong_values_are_refused_with_where_they_stand() {
    let convert = ["convert", "--from", "e4m3", "--to", "f32"];
    refused(&convert, b"\n0x1ff\n", &["line 2", "'0x1ff'", "8 bits"]);
    refused(&convert, b"\n\nthree 2", &["line 3", "'three'"]);
    refused(&convert, b"\xff\xfe\n", &["line 1", "UTF-8"]);
    refused(&convert, b" \n\n", &["no value"]);
    refused(&["convert", "--to", "f32", "1", "0x38"], b"", &["value 2", "'0x38'", "--from"]);
    refused(&["convert", "--to", "f32", "1e100001"], b"", &["value 1", "1e100001"]);
    refused(&["convert", "--from", "e2m1", "--to", "f32", "nan"], b"", &["value 1", "no code in e2m1"]);
}

#[test]
fn the_values_before_a_wrong_one_are_converted() {
    let run = tcnum_with_input(&["convert", "--to", "e4m3", "--output", "json"], b"1 2\n3 three 4\n");
    let document = validate_report(&run.stdout);
    assert_eq!((run.status, document["tables"]["conversions"].as_array().unwrap().len()), (2, 3));
    assert!(run.stderr.contains("standard input, line 2") && run.stderr.contains("'three'"), "{}", run.stderr);
}

#[test]
fn wrong_flags_are_refused() {
    let sr = ["convert", "--to", "e4m3", "--round", "SR", "1"];
    refused(&sr, b"", &["--random HEX"]);
    refused(&[&sr[..], &["--random", "1ff", "--random-bits", "8"]].concat(), b"", &["'1ff'", "8 bits"]);
    refused(&[&sr[..], &["--random", "x", "--random-bits", "8"]].concat(), b"", &["'x'"]);
    refused(&[&sr[..], &["--random", "1", "--random-bits", "65"]].concat(), b"", &["65"]);
    refused(&[&sr[..], &["--random", "1"]].concat(), b"", &["--random-bits"]);
    refused(&["convert", "--to", "e4m3", "--round", "RX", "1"], b"", &["'RX'", "RNE"]);
    refused(&["convert", "--to", "e4m3", "--random", "1", "--random-bits", "1", "1"], b"", &["--round SR"]);
    refused(&["convert", "1"], b"", &["--to"]);
    refused(&["formats", "e4m3", "--published"], b"", &["--published"]);
    refused(&["formats", "--note", "date"], b"", &["KEY=VALUE"]);
}

#[test]
fn annotations_are_kept_with_the_result() {
    let document = json_of(&["formats", "e2m1", "--note", "date=2026-01-31", "--note", "by=a=b"]);
    assert_eq!(document["annotations"], json!({"date": "2026-01-31", "by": "a=b"}));
}

#[test]
fn an_existing_file_is_replaced_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("formats.txt");
    fs::write(&file, "old and longer than the new one\n".repeat(10_000)).unwrap();
    let run = tcnum(&["formats", "--out", file.to_str().unwrap()]);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(&file).unwrap(), tcnum(&["formats"]).stdout);
    assert_eq!(names(folder.path()), ["formats.txt"]);
}

#[test]
fn a_file_that_cannot_be_written_is_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").join("formats.txt");
    refused(&["formats", "--out", missing.to_str().unwrap()], b"", &["formats.txt", "there is no folder"]);
    assert!(names(folder.path()).is_empty());

    let occupied = folder.path().join("occupied");
    fs::create_dir(&occupied).unwrap();
    fs::write(occupied.join("kept"), "old").unwrap();
    refused(&["formats", "--out", occupied.to_str().unwrap()], b"", &["occupied", "this is a folder"]);
    assert_eq!(fs::read_to_string(occupied.join("kept")).unwrap(), "old");
    assert_eq!(names(folder.path()), ["occupied"]);

    // A wrong request leaves the file alone too.
    let file = folder.path().join("old.txt");
    fs::write(&file, "old").unwrap();
    refused(&["formats", "e12m4", "--out", file.to_str().unwrap()], b"", &["e12m4"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
}

/// A folder without write permission stops every user but root, whom nothing stops.
#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_left_as_it_was() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("formats.txt");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let unstoppable = fs::File::create(folder.path().join("probe")).is_ok();
    let run = tcnum(&["formats", "--out", file.to_str().unwrap()]);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    if unstoppable {
        return skip(Need::User, "this user may write everywhere");
    }
    assert_eq!(run.status, 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(names(folder.path()), ["formats.txt"]);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
