//! `tcnum models`: the list, one model as a table, the keys, and model files that are refused.

use crate::program::{tcnum, validate_report};
use serde_json::{Value, json};
use tcnum::arithmetic::{KEYS, Model, NODE_KEYS, shipped};

fn json_of(arguments: &[&str]) -> Value {
    let run = tcnum(&[arguments, &["--output", "json"]].concat());
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{arguments:?}");
    validate_report(&run.stdout)
}

/// What is said of a model file with this text.
fn refused(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text).unwrap();
    let run = tcnum(&["models", path.to_str().unwrap()]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{text}\n{}", run.stderr);
    assert!(run.stderr.starts_with("error: ") && run.stderr.contains("mine.toml"), "{}", run.stderr);
    run.stderr
}

const HEAD: &str = "name = \"mine\"\ntitle = \"mine\"\nversion = 1\n\n";
const RULE: &str = "[[rule]]
instructions = [\"mma.m16n8k16.f32.bf16.bf16.f32\"]
evidence = [{ assumed = \"for a test\" }]
step = \"fused\"
group = 16
alignment = { bits = 25, rounding = \"RZ\", floor = -133 }
result = { format = \"f32\", rounding = \"RZ\" }
nan = \"0x7fffffff\"
";

#[test]
fn the_list_counts_rules_instructions_and_evidence_of_every_shipped_model() {
    let document = json_of(&["models"]);
    let rows = document["tables"]["models"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["model"].as_str().unwrap()).collect();
    assert_eq!(names, shipped().collect::<Vec<_>>());
    for row in rows {
        assert_eq!(row["instructions"], row["of"], "{}", row["model"]);
        assert!(row["instructions"].as_i64() > Some(0), "{}", row["model"]);
    }
    let hopper = &rows[names.iter().position(|name| *name == "hopper").unwrap()];
    assert_eq!(hopper["architectures"], json!(["sm_90a"]));
    assert!(hopper["measured"].as_i64() > Some(10));
    let cdna4 = &rows[names.iter().position(|name| *name == "cdna4").unwrap()];
    assert_eq!((&cdna4["assumed"], &cdna4["literature"]), (&cdna4["rules"], &json!(0)));
}

#[test]
fn a_model_is_a_row_for_each_rule_and_its_evidence() {
    for name in shipped() {
        let document = json_of(&["models", name]);
        let model = Model::load(name).unwrap();
        let (rules, evidence) = (&document["tables"]["rules"], &document["tables"]["evidence"]);
        assert_eq!(rules.as_array().unwrap().len(), model.rules.len(), "{name}");
        let sources = model.rules.iter().flat_map(|rule| &rule.evidence);
        assert_eq!(evidence.as_array().unwrap().len(), sources.clone().count(), "{name}");
        for (row, entry) in evidence.as_array().unwrap().iter().zip(sources) {
            assert!(row["evidence"].as_str().unwrap().starts_with(&entry.to_string()), "{name}");
            assert_eq!(
                (&row["kind"], &row["keys"]),
                (&json!(entry.source.kind().name()), &json!(entry.keys)),
                "{name}"
            );
        }
        for row in rules.as_array().unwrap() {
            let cells = row.as_object().unwrap().iter().filter(|(key, _)| key.ends_with("_evidence"));
            assert!(cells.clone().count() == 10 && cells.clone().all(|(_, kind)| kind.is_string()), "{row}");
        }
    }
    let document = json_of(&["models", "hopper"]);
    let row = &document["tables"]["rules"][0];
    assert_eq!(
        [&row["group"], &row["bits"], &row["cut"], &row["floor"]],
        [&json!("16"), &json!(25), &json!("RZ"), &json!(-133)]
    );
    assert_eq!([&row["c"], &row["result"], &row["zero"]], ["a term", "f32 RZ", "+0"]);
    let document = json_of(&["models", "cdna3"]);
    let row = &document["tables"]["rules"][2];
    assert_eq!(row["group"], "16, lanes by k mod 2 joined at 24 bits RD");
    assert_eq!(row["c"], "late: sum at 31, c at 24 bits RD, floor -126, none from 26 below");
}

#[test]
fn text_of_the_models_keeps_to_120_columns() {
    for arguments in
        [&["models"][..], &["models", "--keys"], &["models", "hopper"], &["models", "cdna3"], &["models", "blackwell"]]
    {
        let run = tcnum(arguments);
        assert_eq!(run.status, 0);
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 120, "{arguments:?}: {line}");
        }
    }
}

#[test]
fn the_keys_are_explained_and_the_readme_of_the_models_has_the_same_table() {
    let document = json_of(&["models", "--keys"]);
    let keys = |table: &str| -> Vec<String> {
        let rows = document["tables"][table].as_array().unwrap();
        rows.iter().map(|row| row["key"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(keys("keys"), KEYS.iter().map(|key| key.name).collect::<Vec<_>>());
    assert_eq!(keys("node_keys"), NODE_KEYS.iter().map(|key| key.name).collect::<Vec<_>>());
    let readme = include_str!("../../models/README.md");
    let markdown = tcnum(&["models", "--keys", "--output", "markdown"]).stdout;
    let rows = markdown.lines().filter(|line| line.starts_with("| ") && !line.contains("---"));
    for line in rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")) {
        assert!(readme.contains(&line), "models/README.md lacks: {line}");
    }
}

/// The keys are those that reading accepts.
#[test]
fn every_key_and_no_other_is_read() {
    let message = refused(&format!("{HEAD}{RULE}colour = 1\n"));
    for part in ["unknown field `colour`", "line 13"] {
        assert!(message.contains(part), "{message}");
    }
    let expected = message.split("expected one of").nth(1).unwrap();
    let names: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let mut known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    known.sort_unstable();
    let mut read = names.clone();
    read.sort_unstable();
    assert_eq!(read, known);
}

#[test]
fn broken_model_files_are_refused_with_file_line_key_and_what_is_allowed() {
    let without = |key: &str| {
        RULE.lines().filter(|line| !line.starts_with(key)).map(|line| format!("{line}\n")).collect::<String>()
    };
    let with = |from: &str, to: &str| {
        assert!(RULE.contains(from));
        RULE.replace(from, to)
    };
    for (rule, parts) in [
        (without("evidence"), &["missing field `evidence`", "line"][..]),
        (with("[{ assumed = \"for a test\" }]", "[]"), &["rule 1", "line 7:", "'evidence' is missing"]),
        (with("[{ assumed = \"for a test\" }]", "\"assumed: a test\""), &["line 7", "expected a list of sources"]),
        (with("{ assumed", "{ guessed"), &["line 7", "unknown field `guessed`", "`measured`"]),
        (with("{ assumed = \"for a test\" }", "{ keys = [\"nan\"] }"), &["line 7", "a source needs exactly one kind"]),
        (with("\" }]", "\", date = 2026-11-21 }]"), &["line 7", "'date' has no effect here; it belongs to measured"]),
        (with("\" }]", "\", keys = [\"nana\"] }]"), &["rule 1", "line 7", "'nana' is not a key of a rule"]),
        (
            with("[{", "[{ literature = \"a paper\" }, {"),
            &["rule 1", "line 7", "it has no effect after (literature: a paper)"],
        ),
        (without("step"), &["rule 1", "the key 'step' is missing", "needs nodes"]),
        (without("instructions"), &["missing field `instructions`"]),
        (without("nan"), &["rule 1", "'nan' is missing", "fused"]),
        (without("alignment"), &["rule 1", "line 5:", "'alignment' is missing"]),
        (with("\"fused\"", "\"fusion\""), &["line 8", "unknown variant `fusion`", "`pairwise`"]),
        (
            with("\"RZ\" }", "\"toward zero\" }"),
            &["line 11", "unknown rounding 'toward zero'", "RNE, RNA, RZ, RU, RD or RO"],
        ),
        (with("\"f32\", rounding", "\"f33\", rounding"), &["line 11", "unknown format", "f32"]),
        (with("\"f32\", rounding", "\"e8m60\", rounding"), &["line 11", "unknown format 'e8m60'", "Y = 1 to 52"]),
        (with("bits = 25", "bits = 61"), &["rule 1", "line 10", "'alignment.bits' is 61", "0 to 60"]),
        (with("bits = 25", "bits = \"25\""), &["line 10", "invalid type: string", "expected i32"]),
        (with("group = 16", "group = 0"), &["rule 1", "line 9:", "'group' must be at least 1"]),
        (with("0x7fffffff", "7fffffff"), &["line 12", "hexadecimal"]),
        (with("[\"mma", "[\"mma{"), &["rule 1", "'{' without '}'"]),
        (with("floor = -133", "ceiling = 1"), &["line 10", "unknown field `ceiling`", "`floor`"]),
        (
            RULE.to_string() + "wrap = \"wrap\"\n",
            &["rule 1", "line 13:", "'wrap' has no effect with step 'fused'", "belongs to integer"],
        ),
        (RULE.to_string() + "start = \"product\"\n", &["rule 1", "'start' has no effect", "fma, sequential, pairwise"]),
        (with("\"fused\"", "\"exact\""), &["rule 1", "'alignment' has no effect with step 'exact'"]),
        (with("\"fused\"", "\"integer\""), &["rule 1", "has no effect with step 'integer'"]),
    ] {
        let message = refused(&format!("{HEAD}{rule}"));
        for part in parts {
            assert!(message.contains(part), "no '{part}' in: {message}");
        }
    }
    assert!(refused("").contains("missing field"));
    assert!(refused(HEAD).contains("missing field `rule`"));
    assert!(refused("name = 3").contains("line 1"));
}

#[test]
fn an_unknown_model_and_an_uncovered_instruction_say_what_there_is() {
    let run = tcnum(&["models", "hoper"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("'hoper' is not a model; did you mean 'hopper'?"), "{}", run.stderr);
    let run =
        tcnum(&["probe", "--device", "model:volta", "--instr", "mma.m16n8k16.f32.bf16.bf16.f32", "--samples", "10"]);
    assert_eq!(run.status, 2);
    for part in [
        "model 'volta' does not cover mma.m16n8k16.f32.bf16.bf16.f32",
        "sm_70 does not have it; these do: sm_80 (model ampere), ",
    ] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}
