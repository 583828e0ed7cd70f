//! `tcnum cost`, on the program itself.

use crate::program::{Run, tcnum, validate_report};

fn refused(arguments: &[&str], parts: &[&str]) {
    let Run { status, stdout, stderr } = tcnum(&[&["cost"], arguments].concat());
    assert_eq!((status, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{arguments:?}: no '{part}' in: {stderr}");
    }
}

#[test]
fn what_executes_nothing_has_no_cost() {
    let instruction = ["--instr", "mma.m16n8k16.f32.f16.f16.f32"];
    for device in ["model:hopper", "trace:none.safetensors", "exec:none"] {
        refused(&[&["--device", device][..], &instruction].concat(), &[device, "has no cost", "--device cuda:0"]);
    }
    refused(&["--device", "cpu", "--instr", instruction[1]], &["cpu does not have"]);
    refused(&["--device", "cpu", "--sustain", "0"], &["--sustain"]);
    refused(&["--device", "cpu", "--conversions"], &["conversions are timed on a GPU", "--device cuda:0"]);
    refused(&["--device", "cuda:0", "--conversions", "--fmt", "u4"], &["--conversions", "--fmt"]);
}

#[test]
fn a_fused_multiply_add_of_this_processor_takes_some_clocks_and_several_independent_ones_are_faster() {
    let arguments =
        ["cost", "--device", "cpu", "--instr", "vfmadd.m1n8k1.f64.f64.f64.f64", "--points", "--output", "json"];
    let run = tcnum(&arguments);
    if run.stderr.contains("does not have") {
        eprintln!("skipped: this processor has no FMA");
        return;
    }
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    let report = validate_report(&run.stdout);
    let row = &report["tables"]["costs"][0];
    let number = |key: &str| row[key].as_f64().unwrap();
    // Every x86-64 processor with FMA takes 3 to 7 clocks; a machine that is shared adds what it takes away.
    assert!(number("latency") > 2.5 && number("latency") < 40.0, "{row}");
    assert!(number("best_rate") > 1.5 * 8.0 / number("latency"), "{row}");
    assert!(report["tables"]["cost_points"].as_array().unwrap().len() >= 5);
}
