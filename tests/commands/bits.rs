//! `tcnum probe bits`: agreement bit by bit.

use serde_json::Value;

use crate::program::{tcnum, validate_report};

fn bits(arguments: &[&str]) -> Value {
    let run = tcnum(&[&["probe", "bits", "--output", "json", "-q", "--samples", "2000"], arguments].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    validate_report(&run.stdout)
}

fn rows<'a>(report: &'a Value, table: &str) -> &'a [Value] {
    report["tables"][table].as_array().unwrap()
}

#[test]
fn every_bit_of_a_simulated_device_is_its_models_and_a_plot_shows_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("bits.svg");
    let instruction = ["--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "model:turing"];
    let report = bits(&[&instruction[..], &["--op", "dot", "--plot", plot.to_str().unwrap()]].concat());
    let bits = rows(&report, "bit_agreement");
    assert!(bits.len() == 32 && bits.iter().all(|bit| bit["model"] == bit["samples"]), "{bits:#?}");
    assert!(bits.iter().any(|bit| bit["single"].as_u64() < bit["samples"].as_u64()));
    let ks: Vec<&Value> = rows(&report, "bit_factors").iter().filter(|row| row["factor"] == "k").collect();
    assert_eq!(ks.len(), 4);
    assert_eq!(ks[0]["single"], ks[0]["samples"], "one product is exact in f32");
    assert!(std::fs::read_to_string(plot).unwrap().contains("share of samples with this bit"));
}

#[test]
fn precision_is_drawn_against_each_property_of_the_operands() {
    let folder = tempfile::tempdir().unwrap();
    let one = ["--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "model:turing", "--op", "dot"];
    let dist = ["--dist", "log-uniform(1e-4,1e4)", "--dist", "normal(0,1)"];
    let report = bits(&[&one[..], &dist, &["--plots", folder.path().to_str().unwrap()]].concat());
    assert!(report["tables"]["bit_agreement"].is_array());
    for (factor, name, words) in [
        ("exponent gap", "exponent-gap", "largest minus smallest exponent of the products"),
        ("dynamic range", "dynamic-range", "largest minus smallest exponent of the operands"),
        ("k", "k", "k (terms of a sum)"),
    ] {
        let rows = rows(&report, "bit_factors").iter().filter(|row| row["factor"] == factor);
        assert!(rows.count() > 4, "{factor}");
        let figure = |ending: &str| folder.path().join(format!("precision-{name}.{ending}"));
        let svg = std::fs::read_to_string(figure("svg")).unwrap();
        assert!(svg.contains(words) && svg.contains("magnitudes(") && svg.contains("normal(0,1)"), "{factor}");
        assert!(figure("png").exists() && figure("pdf").exists(), "{factor}");
    }
}

#[test]
fn agreement_falls_with_the_range_of_the_operands() {
    let of = |values: &str| {
        let report = bits(&["--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "model:hopper", "--dist", values]);
        let row = rows(&report, "bit_references").iter().find(|row| row["reference"] == "single").unwrap().clone();
        row["equal"].as_u64().unwrap()
    };
    // Short numbers of one size add up exactly.
    assert_eq!(of("magnitudes(0,0)"), 2000);
    assert!(of("log-uniform(1e-3,1)") < 2000);
}

#[test]
fn sums_that_have_no_such_bits_are_refused() {
    for (arguments, says) in [
        (&["--op", "accumulate"][..], "without c"),
        (&["--dist", "special"], "normal(MEAN,DEVIATION)"),
        (&["--dist", "normal(1)"], "normal(MEAN,DEVIATION)"),
        (&["--instr", "mma.m16n8k32.s32.s8.s8.s32"], "integers"),
        (&["--init", "low"], "unexpected argument"),
    ] {
        let run = tcnum(&[&["probe", "bits", "--device", "model:hopper"], arguments].concat());
        assert!(run.status == 2 && run.stderr.contains(says), "{arguments:?}: {}", run.stderr);
    }
}
