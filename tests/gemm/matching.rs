//! `tcnum gemm --match`: the schedule that made a product is among those that are found.

use serde_json::Value;
use tcnum::{
    format,
    gemm::{Factors, KOrder, Matrix, OutputRounding, PartJoin, Residue, Schedule, SplitK},
    isa,
};

use crate::{
    command::write,
    compute::{computed, matrix},
    machine::amount,
    program::{tcnum, validate_report},
};

fn matched(factors: &Factors, d: &Matrix, flags: &[&str], status: i32) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder.path().join("all.safetensors"), &[("a", &factors.a), ("b", &factors.b), ("d", d)]);
    let named = |name: &str| format!("{file}:{name}");
    let (a, b, d) = (named("a"), named("b"), named("d"));
    let run = tcnum(&[&["gemm", "-q", "--a", &a, "--b", &b, "--match", &d, "--output", "json"], flags].concat());
    assert_eq!(run.status, status, "{}", run.stderr);
    validate_report(&run.stdout)
}

/// Operands of 24 x 40 elements and k terms.
fn operands(schedule: &Schedule, k: usize) -> Factors {
    let i = &schedule.instruction;
    Factors::new(matrix(24, k, i.a, 11), matrix(k, 40, i.b, 12))
}

#[test]
fn the_schedule_that_made_a_product_is_found() {
    let made = |name: &str, change: &dyn Fn(&mut Schedule)| {
        let mut schedule = Schedule::new(isa::find(name).unwrap()).unwrap();
        change(&mut schedule);
        schedule
    };
    let half = "mma.m16n8k16.f32.f16.f16.f32";
    let bf16 = format::find("bf16").unwrap();
    for (schedule, k) in [
        (made(half, &|_| ()), 700),
        (made(half, &|s| s.order = KOrder::Descending), 700),
        (made(half, &|s| s.split = SplitK { count: 4, granule: 64, join: PartJoin::Register }), 1000),
        (made(half, &|s| (s.slab, s.residue) = (32, Residue::First)), 700),
        (made("wgmma.m64n8k32.f32.e4m3.e4m3", &|s| s.promote = Some(128)), 1024),
        (
            made("mma.m16n8k16.f32.bf16.bf16.f32", &|s| {
                s.split = SplitK { count: 5, granule: 64, join: PartJoin::Output };
                s.output = OutputRounding { format: bf16, ..s.output };
            }),
            2000,
        ),
    ]
    .into_iter()
    .step_by(amount(2, 1))
    {
        let factors = operands(&schedule, k);
        let d = computed("hopper", &schedule, &factors);
        let report = matched(&factors, &d, &["--model", "hopper"], 0);
        let matches = report["tables"]["matches"].as_array().unwrap();
        assert!(matches.iter().all(|row| row["exact"] == true), "{report}");
        // Each that is found gives D, and one of them is what made it, or does the same.
        let sentences: Vec<&str> = matches.iter().map(|row| row["schedule"].as_str().unwrap()).collect();
        let words = |text: &str| text.split_once(", ").unwrap().1.to_string();
        let wanted = words(&schedule.sentence(k));
        assert!(sentences.iter().any(|sentence| words(sentence) == wanted), "{wanted}: {sentences:#?}");
        for row in matches {
            let found = Schedule::parse(row["schedule_file"].as_str().unwrap(), "found").unwrap();
            assert_eq!(computed(row["model"].as_str().unwrap(), &found, &factors), d, "{row}");
        }
    }
}

#[test]
fn generations_are_told_apart() {
    let schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap()).unwrap();
    let factors = operands(&schedule, 512);
    let d = computed("ampere", &schedule, &factors);
    let report = matched(&factors, &d, &["--model", "hopper", "--model", "ampere"], 0);
    let matches = report["tables"]["matches"].as_array().unwrap();
    assert!(matches.iter().all(|row| row["model"] == "ampere"), "{report}");
    assert!(report["notes"].to_string().contains("with the arithmetic of ampere"), "{}", report["notes"]);
}

#[test]
fn without_a_match_the_nearest_is_given() {
    let schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap()).unwrap();
    let factors = operands(&schedule, 512);
    let mut d = computed("hopper", &schedule, &factors);
    for column in 8..16 {
        d.codes.set(3 * 40 + column, d.get(3, column) ^ 1);
    }
    let report = matched(&factors, &d, &["--model", "hopper"], 1);
    let row = &report["tables"]["matches"][0];
    assert_eq!((&row["exact"], &row["differing"]), (&false.into(), &8.into()), "{report}");
    let place = &report["tables"]["product_comparison"][0];
    assert_eq!((&place["which_rows"], &place["which_columns"]), (&"3".into(), &"8..15".into()));
    // A D of another product.
    let run = tcnum(&["gemm", "--a", "x.npy", "--b", "x.npy", "--match", "y.npy", "--device", "model:hopper"]);
    assert_eq!(run.status, 2);
}
