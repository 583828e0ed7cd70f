//! Units that exist as text, or were characterised by others: their rules, and programs written from the same sources without them.

use serde_json::Value;

use crate::{
    cpu::ANNOUNCED,
    machine::has_python,
    program::{tcnum, validate_report},
};

/// Programs below `tests/specification`, the models, and their instructions.
const PROGRAMS: [(&str, &str, &[&str]); 3] = [
    ("amx_fp8.py", "x86", &ANNOUNCED),
    (
        "rdna3.py",
        "rdna3",
        &[
            "vwmma.16x16x16.f32.f16.f16.f32",
            "vwmma.16x16x16.f32.bf16.bf16.f32.w64",
            "vwmma.16x16x16.f16.f16.f16.f16",
            "vwmma.16x16x16.bf16.bf16.bf16.bf16",
            "vdot2.1x32x2.f32.f16.f16.f32",
        ],
    ),
    (
        "rdna4.py",
        "rdna4",
        &[
            "vwmma.16x16x16.f32.f16.f16.f32",
            "vwmma.16x16x16.f32.bf16.bf16.f32.w64",
            "vwmma.16x16x16.f16.f16.f16.f16",
            "vwmma.16x16x16.bf16.bf16.bf16.bf16.w64",
            "vdot2.1x32x2.f32.bf16.bf16.f32",
            "vdot4.1x32x4.f32.e4m3.e5m2.f32",
            "vwmma.16x16x16.f32.e5m2.e4m3.f32",
        ],
    ),
];

#[test]
fn units_of_a_text_compute_what_an_independent_program_reads_in_it() {
    if !has_python() {
        return;
    }
    for (file, model, instructions) in PROGRAMS {
        let device = format!("exec:python3 '{}/tests/specification/{file}'", env!("CARGO_MANIFEST_DIR"));
        for name in instructions {
            let arguments =
                ["--device", &device, "--model", model, "--instr", name, "--cases", "5000", "--output", "json"];
            let run = tcnum(&[&["verify"][..], &arguments].concat());
            assert_eq!(run.status, 0, "{name}: {}", run.stderr);
            let row = &validate_report(&run.stdout)["tables"]["verification"][0];
            assert_eq!((&row["model"], &row["differing"]), (&Value::from(model), &Value::from(0)), "{name}");
        }
    }
}
