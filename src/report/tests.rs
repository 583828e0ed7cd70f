//! A report like that of a probe, in every view, against the files under `tests/snapshots`.

use super::*;
use crate::{COMMIT, VERSION, device::Identity};

/// A report with every kind of cell and every character that some view has to escape.
pub(crate) fn synthetic() -> Report {
    let mut mismatches = Table::new(
        "mismatches",
        "First mismatches & their inputs",
        vec![
            Column::new("input", "input"),
            Column::new("codes", "codes"),
            Column::new("device_value", "device"),
            Column::new("model_value", "model"),
        ],
    );
    mismatches.rows = vec![
        vec![
            "a|b, \"c\" \\ 100% $x_1^{2}$ #".into(),
            vec!["0x3f80", "0xbf80"].into(),
            f64::INFINITY.into(),
            Cell::Empty,
        ],
        vec!["[line\nbreak] *~<`".into(), Cell::List(vec![]), f64::NEG_INFINITY.into(), f64::NAN.into()],
    ];
    Report {
        device: Some(Identity {
            name: "cuda:0".to_string(),
            description: "NVIDIA H200".to_string(),
            details: vec![("driver".to_string(), "580.95".to_string()), ("nvrtc".to_string(), "13.0".to_string())],
        }),
        seed: Some(u64::MAX),
        notes: vec!["mma.sync with FP8 is emulated by the compiler here.".to_string()],
        annotations: vec![("date".to_string(), "2026-01-31".to_string())],
        tables: vec![probe_table(), mismatches],
        holds: false,
        ..Report::new("probe", "tcnum probe --fmt bf16 --op accumulate")
    }
}

fn probe_table() -> Table {
    let mut table = Table::new(
        "results",
        "Agreement and errors",
        vec![
            Column::new("instruction", "instruction"),
            Column::new("op", "op"),
            Column::new("init", "init"),
            Column::new("execution", "execution"),
            Column::new("samples", "samples"),
            Column::new("agree_model", "agree with model"),
            Column::new("agree_f32", "agree with f32"),
            Column::new("agree_exact", "agree with exact"),
            Column::new("mean_abs_error", "mean abs error"),
            Column::new("max_abs_error", "max abs error"),
            Column::new("max_ulp", "max ulp error"),
            Column::new("emulated", "emulated"),
            Column::new("histogram", "ulp-error histogram"),
            Column::hidden("seconds"),
        ],
    );
    let row = |name: &str, op: &str, counts: [u64; 4], errors: [f64; 3], histogram: Vec<u64>| {
        let mut row: Vec<Cell> = vec![name.into(), op.into(), "low".into(), "native".into()];
        row.extend(counts.map(Cell::from));
        row.extend(errors.map(Cell::from));
        row.extend([Cell::from(false), histogram.into(), 0.0123456789.into()]);
        row
    };
    table.rows = vec![
        row("mma.m16n8k16.f32.bf16.bf16.f32", "multiply", [10_000; 4], [0.0; 3], vec![10_000, 0, 0]),
        row(
            "mma.m16n8k8.f32.tf32.tf32.f32",
            "accumulate",
            [10_000, 10_000, 4_012, 4_997],
            [1.2894737e-3, 0.0312, 1.0],
            vec![4_997, 3_001, 2_002],
        ),
    ];
    table
}

/// Compares with the file, or with `TCNUM_WRITE_SNAPSHOTS` set writes it anew, to be read before it is committed.
fn compare(name: &str, view: View) {
    let path = format!("{}/tests/snapshots/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut got = render(&synthetic(), view);
    for lead in ["\"tcnum\": \"", "tcnum: ", "% tcnum "] {
        got = got.replace(&format!("{lead}{VERSION}"), &format!("{lead}VERSION"));
    }
    for lead in ["\"commit\": \"", ", commit "] {
        got = got.replace(&format!("{lead}{COMMIT}"), &format!("{lead}COMMIT"));
    }
    if std::env::var_os("TCNUM_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &got).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(got == expected, "{path} differs from what is rendered now:\n{got}");
}

#[test]
fn terminal_text_matches_the_snapshot() {
    compare("probe.txt", View::Table);
}

#[test]
fn json_matches_the_snapshot() {
    compare("probe.json", View::Json);
}

#[test]
fn csv_matches_the_snapshot() {
    compare("probe.csv", View::Csv);
}

#[test]
fn markdown_matches_the_snapshot() {
    compare("probe.md", View::Markdown);
}

#[test]
fn latex_matches_the_snapshot() {
    compare("probe.tex", View::Latex);
}

/// A table that no terminal holds in one piece: numbered columns with headings of three words.
fn wide(rows: usize) -> Report {
    let columns = (0..40).map(|_| Column::new("key", "a longer heading")).collect();
    let mut table = Table::new("wide", "Wide", columns);
    table.rows = (0..rows).map(|row| (0..40).map(|i| format!("cell-{row}-{i}").into()).collect()).collect();
    Report { tables: vec![table], ..Report::new("probe", "tcnum probe") }
}

#[test]
fn a_table_that_is_too_wide_is_cut_into_parts_without_losing_a_cell() {
    let text = render(&wide(3), View::Table);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let count = |word: &str| words.iter().filter(|&&other| other == word).count();
    let parts = count("cell-0-0");
    assert!(parts > 1);
    for (row, i) in (0..3).flat_map(|row| (1..40).map(move |i| (row, i))) {
        assert_eq!(count(&format!("cell-{row}-{i}")), 1, "{text}");
    }
    for row in 0..3 {
        assert_eq!(count(&format!("cell-{row}-0")), parts);
    }
    assert_eq!(count("heading"), 39 + parts);
}

#[test]
fn every_part_of_a_cut_table_tells_its_rows_apart() {
    let mut report = wide(6);
    for (i, row) in report.tables[0].rows.iter_mut().enumerate() {
        row[0] = ["alpha", "beta"][i / 4].into();
        row[1] = Cell::integer(i);
        row[2] = ["alpha too", "beta too"][i / 4].into();
        row[3] = ["multiply", "accumulate", "dot"][i / 2].into();
        row[30] = ["low", "fp32"][i % 2].into();
        row[4..30].fill(Cell::integer(i % 2));
        row[31..].fill(Cell::integer(i % 3));
    }
    let text = render(&report, View::Table);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let grids: Vec<&str> = text.split("\n\n").collect();
    assert!(grids.len() > 2, "{text}");
    for grid in &grids[1..] {
        let names = |line: &str| line.split_whitespace().take(3).map(str::to_string).collect::<Vec<_>>();
        let rows: Vec<Vec<String>> =
            grid.lines().skip_while(|line| !line.starts_with("---")).skip(1).map(names).collect();
        let expected = [
            ["alpha", "multiply", "low"],
            ["alpha", "multiply", "fp32"],
            ["alpha", "accumulate", "low"],
            ["alpha", "accumulate", "fp32"],
            ["beta", "dot", "low"],
            ["beta", "dot", "fp32"],
        ];
        assert_eq!(rows, expected, "{text}");
    }
    assert_eq!(grids[0].matches("a too").count(), 6);
}

#[test]
fn a_wide_table_says_once_what_every_row_says_and_keeps_numbers() {
    let mut report = wide(3);
    for (i, row) in report.tables[0].rows.iter_mut().enumerate() {
        row.fill(Cell::integer(10_000));
        row[0] = format!("row{i}").into();
        row[1] = "native".into();
        row[2] = 0.5.into();
    }
    let text = render(&report, View::Table);
    assert_eq!((text.matches("native").count(), text.matches("0.500").count()), (1, 3), "{text}");
    assert!((0..3).all(|i| text.contains(&format!("row{i}"))), "{text}");
    report.tables[0].rows.truncate(1);
    assert!(render(&report, View::Table).contains("row0"));
}

#[test]
fn a_single_row_that_is_too_wide_is_a_list_of_its_cells() {
    let text = render(&wide(1), View::Table);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[1], lines[40]),
        (41, "Wide", "a longer heading  cell-0-0", "a longer heading  cell-0-39")
    );
}

#[test]
fn nothing_in_a_report_steers_the_terminal() {
    let mut report = synthetic();
    report.notes.push("\u{1b}[2Jgone\r".to_string());
    report.tables[1].rows[0][0] = "\u{1b}]0;title\u{7}\u{9b}31m\nx".into();
    for view in [View::Table, View::Markdown, View::Latex] {
        assert!(render(&report, view).chars().all(|c| c == '\n' || !c.is_control()), "{view:?}");
    }
    let text = render(&report, View::Table);
    assert!(text.contains("\\u{1b}]0;title\\u{7}\\u{9b}31m\\nx"), "{text}");
}

#[test]
fn notes_that_span_lines_stay_comments_in_latex_and_one_line_in_markdown() {
    let mut report = synthetic();
    report.notes = vec!["first\nsecond \\input{x}".to_string()];
    report.tables.clear();
    assert!(render(&report, View::Latex).lines().all(|line| line.starts_with('%')));
    assert!(render(&report, View::Markdown).contains("\nfirst second \\\\input{x}\n"));
}

#[test]
#[should_panic(expected = "short or long")]
fn a_row_of_another_length_than_the_columns_is_a_mistake_in_the_program() {
    let mut report = synthetic();
    report.tables[0].rows[0].pop();
    render(&report, View::Json);
}
