//! `tcnum tree`: trees of instructions and of whole matrix products, drawings, and what is refused.

use crate::{
    machine::{has_python, thorough},
    program::{tcnum, validate_report},
};
use serde_json::Value;

const HALF: &str = "mma.m16n8k16.f32.f16.f16.f32";

fn tree(arguments: &[&str], status: i32) -> Value {
    let run = tcnum(&[&["tree", "-q"], arguments, &["--output", "json"]].concat());
    assert_eq!(run.status, status, "{arguments:?}: {}", run.stderr);
    validate_report(&run.stdout)
}

fn line(report: &Value) -> &str {
    report["tables"]["trees"][0]["tree"].as_str().unwrap()
}

fn refusal(arguments: &[&str]) -> String {
    let run = tcnum(&[&["tree", "-q"], arguments].concat());
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    run.stderr
}

/// A model of matrix products whose rule has these lines.
fn products(folder: &std::path::Path, rule: &str) -> String {
    let path = folder.join("products.toml");
    let head =
        "name = \"products\"\ntitle = \"matrix products\"\nversion = 1\n\n[[rule]]\ninstructions = [\"gemm.*\"]\n";
    std::fs::write(&path, format!("{head}evidence = [{{ assumed = \"a test\" }}]\nnan = \"0x7fc00000\"\n{rule}\n"))
        .unwrap();
    format!("model:{}", path.display())
}

#[test]
fn the_tree_of_an_instruction_is_written_on_one_line_and_drawn() {
    let report = tree(&["--instr", HALF, "--device", "model:ampere"], 0);
    assert_eq!(line(&report), "{{c, 0..7}, 8..15}");
    let answer = format!("{HALF} on NVIDIA Ampere (model) sums its 17 terms in 2 steps: {{{{c, 0..7}}, 8..15}}.");
    assert_eq!(report["answer"], answer);
    let drawing: Vec<&str> =
        report["tables"]["drawing"].as_array().unwrap().iter().map(|row| row["line"].as_str().unwrap()).collect();
    assert_eq!(drawing, ["fused", "├─ fused", "│  ├─ c", "│  └─ 0..7", "└─ 8..15"]);
    let row = &report["tables"]["trees"][0];
    assert_eq!((&row["terms"], &row["steps"], &row["depth"]), (&17.into(), &2.into(), &2.into()));
    assert!(row["checks"].as_u64().unwrap() > 400 && row["contradictions"] == 0, "{row}");
}

#[test]
fn long_sums_are_found_and_folded() {
    let folder = tempfile::tempdir().unwrap();
    let result = "result = { format = \"f32\", rounding = \"RNE\" }";
    let alignment = "alignment = { bits = 24, rounding = \"RZ\" }";
    for (rule, name, expected) in [
        ("step = \"fma\"".to_string(), "gemm.m1n1k1000.f32", "chain(c, 0..999)"),
        ("step = \"fma\"\nc = \"last\"".into(), "gemm.m2n3k300.f32", "chain(0..299, c)"),
        (
            "step = \"fma\"\ngroup = 100\njoin = \"add\"\nc = \"last\"".into(),
            "gemm.m1n1k600.f32",
            "(c + chain(chain(0..99), chain(100..199), ..., chain(500..599)))",
        ),
        (
            format!("step = \"fused\"\ngroup = 16\n{alignment}"),
            "gemm.m1n1k1024.f32.bf16.bf16.f32",
            "chain(c, {0..15}, {16..31}, ..., {1008..1023})",
        ),
        ("step = \"pairwise\"".into(), "gemm.m1n1k8.f32", "(c + (((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))))"),
    ]
    .into_iter()
    .filter(|(_, name, _)| thorough() || name.ends_with("k300.f32") || name.ends_with("k8.f32"))
    {
        let device = products(folder.path(), &format!("{rule}\n{result}"));
        let report = tree(&["--instr", name, "--device", &device], 0);
        assert_eq!(line(&report), expected, "{name} {rule}");
    }
}

#[test]
fn drawings_are_files_of_their_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (dot, svg) = (path("tree.dot"), path("tree.svg"));
    let arguments =
        ["--instr", "wmma.m16n16k16.f32.f16.f16.f32", "--device", "model:volta", "--dot", &dot, "--plot", &svg];
    tree(&arguments, 0);
    let (dot, svg) = (std::fs::read_to_string(dot).unwrap(), std::fs::read_to_string(svg).unwrap());
    assert!(dot.starts_with("digraph") && dot.trim_end().ends_with('}'), "{dot}");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for words in ["one after the other", "4..7", "wmma.m16n16k16.f32.f16.f16.f32 on NVIDIA Volta (model)"] {
        assert!(dot.contains(words) && svg.contains(words), "{words}");
    }
}

#[test]
fn what_has_no_order_and_what_cannot_be_asked_is_refused() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python_trace.safetensors");
    for (arguments, message) in [
        (&["--instr", "mma.m16n8k32.s32.s8.s8.s32", "--device", "model:hopper"][..], "has no order"),
        (&["--instr", HALF, "--device", &format!("trace:{trace}")], "is a recording"),
        (&["--instr", "gemm.m4n4.f32", "--device", "model:hopper"], "gemm.mMnNkK"),
        (&["--instr", "gemm.m4n4k0.f32", "--device", "model:hopper"], "k is 0"),
        (&["--instr", "gemm.m4n4k4.f32.f32", "--device", "model:hopper"], "names 2 formats"),
        (&["--instr", "gemm.m4n4k4.f32", "--device", "model:hopper"], "does not cover"),
        (&["--instr", HALF, "--device", "model:hopper", "--element", "16,0"], "16 rows"),
        (&["--fmt", "f16", "--device", "model:hopper", "--plot", "x.svg"], "one tree"),
        (&["--instr", HALF, "--device", "model:hopper", "--plot", "x.jpg"], ".svg"),
    ] {
        let run = refusal(arguments);
        assert!(run.contains(message), "{arguments:?}: {run}");
    }
    let run = tcnum(&["probe", "--instr", "gemm.m4n4k4.f32", "--device", "model:hopper"]);
    assert!(run.status == 2 && run.stderr.contains("tcnum tree"), "{}", run.stderr);
}

#[test]
fn what_the_formats_cannot_show_is_left_open() {
    let report = tree(&["--instr", "tcgen05.m128n16k32.f32.e2m1.e2m1.f32", "--device", "model:blackwell"], 0);
    assert_eq!(line(&report), "?{c, 0..31}");
    assert!(report["notes"].to_string().contains("is undecided"), "{}", report["notes"]);
}

/// An exec: device of one of the programs of the examples.
fn example(program: &str) -> String {
    format!("exec:python3 '{}/examples/gemm/{program}'", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn matrix_products_of_libraries_have_trees() {
    if !has_python() {
        return;
    }
    for program in ["numpy_matmul.py", "numpy_sum.py", "torch_matmul.py"] {
        let device = example(program);
        let run = tcnum(&["tree", "-q", "--output", "json", "--instr", "gemm.m2n2k40.f32", "--device", &device]);
        if run.status == 2 && run.stderr.contains("is not installed") {
            continue;
        }
        assert_eq!(run.status, 0, "{program}: {}{}", run.stdout, run.stderr);
        let report = validate_report(&run.stdout);
        // Each adds c to the product.
        let last = line(&report).starts_with("(c + ") || line(&report).ends_with(", c)");
        assert!(last, "{program}: {}", line(&report));
        assert_eq!(report["tables"]["trees"][0]["element"], serde_json::json!([0, 0]));
        let instructions = tcnum(&["tree", "-q", "--instr", HALF, "--device", &device]);
        assert!(instructions.status == 2 && instructions.stderr.contains("gemm"), "{}", instructions.stderr);
        let check = tcnum(&["exec-check", "-q", "--instr", "gemm.m4n3k64.f32", device.trim_start_matches("exec:")]);
        assert_eq!(check.status, 0, "{program}: {}{}", check.stdout, check.stderr);
    }
}
