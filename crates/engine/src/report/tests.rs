//! Every view of a report like a probe's, compared with the files under `tests/snapshots`.

use super::*;
use crate::{VERSION, base::visible::is_hidden, commit, device::Identity};

crate::rows! {
    /// A row like that of a probe.
    struct ProbeLikeRow in "results" {
        /// Text.
        instruction: &'static str => shown("instruction").essential(),
        /// Text.
        op: &'static str => shown("op").essential(),
        /// Text.
        init: &'static str => shown("init"),
        /// Text.
        execution: &'static str => shown("execution"),
        /// A count.
        samples: u64 => shown("samples"),
        /// A count.
        agree_model: u64 => shown("agree with model").essential(),
        /// A count.
        agree_f32: u64 => shown("agree with f32"),
        /// A count.
        agree_exact: u64 => shown("agree with exact"),
        /// A measured number.
        mean_abs_error: f64 => shown("mean abs error"),
        /// A measured number.
        max_abs_error: f64 => shown("max abs error"),
        /// A measured number.
        max_ulp: f64 => shown("max error").unit("ulp"),
        /// A truth value.
        emulated: bool => shown("emulated"),
        /// A list.
        histogram: Vec<u64> => shown("ulp-error histogram"),
        /// Machine code; there is none here.
        opcodes: Vec<String> => shown("machine code").if_filled(),
        /// The same in every row.
        device: &'static str => shown("device").if_varied(),
        /// A number that people do not see.
        seconds: f64 => hidden(),
    }

    /// A row with every character that some view has to escape.
    struct InputRow in "mismatches" {
        /// Text.
        input: &'static str => shown("input"),
        /// A list.
        codes: Vec<&'static str> => shown("codes"),
        /// A number that may be infinite.
        device_value: Option<f64> => shown("device"),
        /// A number that may be missing or NaN.
        model_value: Option<f64> => shown("model"),
    }
}

/// A report with every kind of cell and every character that some view has to escape.
pub(crate) fn synthetic() -> Report {
    let mismatches = [
        InputRow {
            input: "a|b, \"c\" \\ 100% $x_1^{2}$ #",
            codes: vec!["0x3f80", "0xbf80"],
            device_value: Some(f64::INFINITY),
            model_value: None,
        },
        InputRow {
            input: "[line\nbreak] *~<`",
            codes: vec![],
            device_value: Some(f64::NEG_INFINITY),
            model_value: Some(f64::NAN),
        },
    ];
    let mismatches = Table::of("First mismatches & their inputs", mismatches);
    Report {
        device: Some(Identity {
            details: vec![("driver".to_string(), "580.95".to_string()), ("nvrtc".to_string(), "13.0".to_string())],
            ..Identity::new("cuda:0", "NVIDIA H200")
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
    let row = ProbeLikeRow {
        instruction: "mma.m16n8k16.f32.bf16.bf16.f32",
        op: "multiply",
        init: "low",
        execution: "native",
        samples: 10_000,
        agree_model: 10_000,
        agree_f32: 10_000,
        agree_exact: 10_000,
        mean_abs_error: 0.0,
        max_abs_error: 0.0,
        max_ulp: 0.0,
        emulated: false,
        histogram: vec![10_000, 0, 0],
        opcodes: Vec::new(),
        device: "cuda:0",
        seconds: 0.0123456789,
    };
    let other = ProbeLikeRow {
        instruction: "mma.m16n8k8.f32.tf32.tf32.f32",
        op: "accumulate",
        agree_f32: 4_012,
        agree_exact: 4_997,
        mean_abs_error: 1.2894737e-3,
        max_abs_error: 0.0312,
        max_ulp: 1.0,
        histogram: vec![4_997, 3_001, 2_002],
        ..row.clone()
    };
    Table::of("Agreement and errors", [row, other])
}

/// Compares with the file; with `TCNUM_WRITE_SNAPSHOTS` set, writes it anew.
fn compare(name: &str, view: View) {
    let path = format!("{}/../../tests/snapshots/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut got = render(&synthetic(), view, &ViewLayout::default());
    for lead in ["\"tcnum\": \"", "tcnum: ", "% tcnum "] {
        got = got.replace(&format!("{lead}{VERSION}"), &format!("{lead}VERSION"));
    }
    for lead in ["\"commit\": \"", ", commit "] {
        got = got.replace(&format!("{lead}{}", commit()), &format!("{lead}COMMIT"));
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

/// A table that is wider than any terminal, with headings of three words.
fn wide(rows: usize) -> Report {
    let column = |_| Column { key: "key".into(), meaning: "", kind: CellKind::Text, look: shown("a longer heading") };
    let text = |row: usize| (0..40).map(|i| Cell::Text(format!("cell-{row}-{i}"))).collect();
    let table = Table {
        key: "wide",
        title: "Wide".into(),
        columns: (0..40).map(column).collect(),
        rows: (0..rows).map(text).collect(),
        brief: false,
        pivot: None,
        longest: None,
    };
    Report { tables: vec![table], ..Report::new("probe", "tcnum probe") }
}

#[test]
fn a_table_that_is_too_wide_is_cut_into_parts_without_losing_a_cell() {
    let text = render(&wide(3), View::Table, &ViewLayout::default());
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
        row[0] = ["alpha", "beta"][i / 4].cell();
        row[1] = i.cell();
        row[2] = ["alpha too", "beta too"][i / 4].cell();
        row[3] = ["multiply", "accumulate", "dot"][i / 2].cell();
        row[30] = ["low", "fp32"][i % 2].cell();
        row[4..30].fill((i % 2).cell());
        row[31..].fill((i % 3).cell());
    }
    let text = render(&report, View::Table, &ViewLayout::default());
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
        row.fill(10_000.cell());
        row[0] = format!("row{i}").cell();
        row[1] = "native".cell();
        row[2] = 0.5.cell();
    }
    let text = render(&report, View::Table, &ViewLayout::default());
    assert_eq!((text.matches("native").count(), text.matches("0.500").count()), (1, 3), "{text}");
    assert!((0..3).all(|i| text.contains(&format!("row{i}"))), "{text}");
    report.tables[0].rows.truncate(1);
    assert!(render(&report, View::Table, &ViewLayout::default()).contains("row0"));
}

#[test]
fn columns_that_belong_side_by_side_stay_so_in_a_cut_table() {
    let mut report = wide(3);
    let pairs = || (1..40).step_by(3);
    pairs().for_each(|i| report.tables[0].columns[i + 1].look = shown("a longer heading").beside());
    let text = render(&report, View::Table, &ViewLayout::default());
    for i in pairs() {
        let line = text.lines().find(|line| line.contains(&format!("cell-1-{i} "))).unwrap();
        assert!(line.contains(&format!("cell-1-{i}  cell-1-{}", i + 1)), "{text}");
    }
}

#[test]
fn a_single_row_that_is_too_wide_is_a_list_of_its_cells() {
    let text = render(&wide(1), View::Table, &ViewLayout::default());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        (lines.len(), lines[0], lines[1], lines[40]),
        (41, "Wide", "a longer heading  cell-0-0", "a longer heading  cell-0-39")
    );
}

#[test]
fn nothing_in_a_report_steers_the_terminal() {
    let mut report = synthetic();
    report.notes.push("\u{1b}[2Jgone\r\u{202e}back".to_string());
    report.tables[1].rows[0][0] = "\u{1b}]0;title\u{7}\u{9b}31m\nx".cell();
    for view in [View::Table, View::Json, View::Csv, View::Markdown, View::Latex] {
        let mut shown = render(&report, view, &ViewLayout::default());
        shown.retain(|c| c != '\n');
        assert!(!shown.contains(is_hidden), "{view:?}");
    }
    let text = render(&report, View::Table, &ViewLayout::default());
    assert!(text.contains("\\u{1b}]0;title\\u{7}\\u{9b}31m\\nx"), "{text}");
}

#[test]
fn notes_that_span_lines_stay_comments_in_latex_and_one_line_in_markdown() {
    let mut report = synthetic();
    report.notes = vec!["first\nsecond \\input{x}".to_string()];
    report.tables.clear();
    assert!(render(&report, View::Latex, &ViewLayout::default()).lines().all(|line| line.starts_with('%')));
    assert!(render(&report, View::Markdown, &ViewLayout::default()).contains("\nfirst second \\\\input{x}\n"));
}

#[test]
fn every_cell_of_a_row_has_its_column() {
    for table in [probe_table(), synthetic().tables.remove(1)] {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
    }
}

#[test]
fn a_table_fits_terminals_narrow_and_wide() {
    for width in [60, 80, 200] {
        let text = render(&synthetic(), View::Table, &ViewLayout { width, ..ViewLayout::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
    }
}

#[test]
fn columns_are_shown_as_they_are_asked_for_and_tables_without_them_are_left_out() {
    let columns = ["seconds", "op"].map(String::from).to_vec();
    for view in [View::Table, View::Markdown, View::Latex] {
        let text = render(&synthetic(), view, &ViewLayout { columns: columns.clone(), ..ViewLayout::default() });
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("no {word} in {text}"));
        assert!(at("seconds") < at("multiply") && at("1.23") < at("multiply"), "{text}");
        assert!(!text.contains("samples") && !text.contains("First mismatches"), "{text}");
    }
}

#[test]
fn brief_keeps_the_essential_columns_of_tables_that_have_some() {
    let text = render(&synthetic(), View::Markdown, &ViewLayout { brief: true, ..ViewLayout::default() });
    assert!(text.contains("agree with model") && !text.contains("agree with f32"), "{text}");
    assert!(text.contains("codes"), "{text}");
}

#[test]
fn columns_that_say_nothing_or_always_the_same_are_left_out_where_they_are_declared_so() {
    let mut report = synthetic();
    let text = render(&report, View::Markdown, &ViewLayout::default());
    assert!(!text.contains("machine code") && text.matches("device |").count() == 1, "{text}");
    let last = report.tables[0].columns.len() - 2;
    report.tables[0].rows[1][last] = "cuda:1".cell();
    assert_eq!(render(&report, View::Markdown, &ViewLayout::default()).matches("device |").count(), 2);
}

#[test]
fn long_tables_break_over_pages_in_latex_and_wide_ones_are_turned_and_cut() {
    let text = render(&wide(41), View::Latex, &ViewLayout::default());
    let count = |what: &str| text.matches(what).count();
    assert!(count("\\begin{longtable}") > 2 && count("\\begin{landscape}") == count("\\begin{longtable}"), "{text}");
    assert_eq!(count("(continued)") + 1, count("\\caption"));
    assert!(!text.contains("\\begin{table}"));
    for i in 0..40 {
        assert!(text.contains(&format!("cell-39-{i} ")), "{i}");
    }
    let narrow = |rows| {
        let mut report = wide(rows);
        let table = &mut report.tables[0];
        table.columns.truncate(3);
        table.rows.iter_mut().for_each(|row| row.truncate(3));
        render(&report, View::Latex, &ViewLayout::default())
    };
    assert!(narrow(40).contains("\\begin{table}") && !narrow(40).contains("\\begin{longtable}"));
    assert!(!narrow(41).contains("\\begin{table}") && narrow(41).contains("\\begin{longtable}"));
}

#[test]
fn the_tables_are_files_of_their_own_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    write_csv_files(&synthetic(), folder.path()).unwrap();
    let files =
        ["results.csv", "mismatches.csv"].map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
    assert_eq!(files.join("\n"), render(&synthetic(), View::Csv, &ViewLayout::default()));
}

#[test]
fn exit_status_1_is_explained_by_what_was_found_and_an_interruption_claims_nothing() {
    let views = [View::Table, View::Markdown, View::Latex];
    let said = |report: &Report, view| render(report, view, &ViewLayout::default()).contains("exit status");
    for verdict in Verdict::ALL {
        let report = Report { verdict, ..synthetic() };
        for view in views {
            let words = &verdict.name()[1..];
            let shown = render(&report, view, &ViewLayout::default()).contains(&format!("{words} (exit status 1)."));
            assert_eq!(shown, verdict != Verdict::Unfinished, "{verdict:?}");
        }
        for by in Interruption::ALL {
            let interrupted = Report { interrupted: Some(by), ..report.clone() };
            assert!(!views.into_iter().any(|view| said(&interrupted, view)), "{verdict:?}, {by:?}");
            let json: serde_json::Value =
                serde_json::from_str(&render(&interrupted, View::Json, &ViewLayout::default())).unwrap();
            assert!(json["verdict"].is_null() && json["holds"] == false);
        }
    }
    let holds = Report { holds: true, ..synthetic() };
    assert!(!views.into_iter().any(|view| said(&holds, view)));
}
