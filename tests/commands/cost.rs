//! `tcnum cost`, on the program itself.

use serde_json::Value;

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
fn the_cost_of_a_fused_multiply_add_of_this_processor_is_reported_point_by_point() {
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
    // How large the numbers are depends on the processor and on what else it does.
    let measured = |row: &Value, key: &str| row[key].as_f64().is_some_and(|number| number > 0.0);
    assert!(measured(row, "latency") && measured(row, "best_rate"), "{row}");
    let points = report["tables"]["cost_points"].as_array().unwrap();
    assert!(points.len() >= 5 && points.iter().all(|row| measured(row, "rate")), "{points:?}");
}
