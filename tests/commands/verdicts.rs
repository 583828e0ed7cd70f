//! Exit status 1 in words: what each command found.

use crate::program::{tcnum, validate_report};

const HALF: &str = "mma.m16n8k16.f32.f16.f16.f32";

#[test]
fn a_command_that_ends_with_status_1_says_what_it_found() {
    let root = env!("CARGO_MANIFEST_DIR");
    let recording = &format!("{root}/tests/recordings/h200/mma.m16n8k16.f32.bf16.bf16.f32.safetensors");
    let [before, after] = ["zen5", "sapphire-rapids"].map(|cpu| format!("{root}/reports/cpu/{cpu}/verify.json"));
    for (words, arguments) in [
        (
            "Mismatch found",
            &["verify", "--instr", HALF, "--device", "hopper", "--model", "ampere", "--cases", "9999"][..],
        ),
        ("Mismatch found", &["verify", recording, "--model", "ampere"]),
        ("Mismatch found", &["probe", "--instr", HALF, "--device", "hopper", "--model", "ampere", "--samples", "3000"]),
        ("They differ", &["distinguish", "hopper", "ampere", "--instr", HALF]),
        ("They differ", &["diff", "hopper", "ampere", "--instr", HALF]),
        ("They differ", &["diff", &before, &after]),
        (
            "They differ",
            &[
                "explain",
                "--instr",
                HALF,
                "--a",
                "0x1p-12",
                "--b",
                "0x1p-13",
                "--c",
                "-1",
                "--model",
                "hopper",
                "--against",
                "ampere",
            ],
        ),
        ("An output contradicts the model", &["power", recording, "--model", "ampere"]),
        ("A check failed", &["exec-check", "--instr", HALF, "sh", "-c", "echo '{\"ok\":false}'"]),
        ("A value has no code in the format", &["convert", "--to", "e2m1", "nan"]),
    ] {
        let run = tcnum(arguments);
        assert_eq!(run.status, 1, "{arguments:?}: {}", run.stderr);
        let last = run.stdout.trim_end().lines().last().unwrap_or_default();
        assert_eq!(last, format!("{words} (exit status 1)."), "{arguments:?}");
        let json = validate_report(&tcnum(&[&arguments[..1], &["--output", "json"], &arguments[1..]].concat()).stdout);
        let verdict = json["verdict"].as_str().unwrap();
        assert!(json["holds"] == false && words.eq_ignore_ascii_case(verdict), "{verdict}");
    }
    let holds = validate_report(&tcnum(&["models", "--output", "json"]).stdout);
    assert!(holds["verdict"].is_null() && holds["holds"] == true);
}
