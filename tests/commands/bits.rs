//! `tcnum probe --bits`: agreement bit by bit.

use serde_json::Value;

use crate::program::{tcnum, validate_report};

fn bits(arguments: &[&str]) -> Value {
    let run = tcnum(&[&["probe", "--bits", "--output", "json", "-q", "--samples", "2000"], arguments].concat());
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
    let one = ["--instr", "mma.m16n8k8.f32.f16.f16.f32", "--device", "model:turing"];
    for (property, factor, words) in [
        ("gap", "exponent gap", "largest minus smallest exponent of the products"),
        ("range", "dynamic range", "largest minus smallest exponent of the operands"),
        ("k", "k", "k (terms of a sum)"),
    ] {
        let plot = folder.path().join(format!("{property}.svg"));
        let dist = ["--dist", "log-uniform(1e-4,1e4)", "--dist", "normal(0,1)", "--op", "dot"];
        let drawn = ["--against", property, "--plot", plot.to_str().unwrap()];
        let report = bits(&[&one[..], &dist, &drawn].concat());
        assert_eq!(report["tables"].as_object().unwrap().len(), 1);
        let rows = rows(&report, "bit_factors");
        assert!(rows.len() > 4 && rows.iter().all(|row| row["factor"] == factor), "{rows:#?}");
        let svg = std::fs::read_to_string(plot).unwrap();
        assert!(svg.contains(words) && svg.contains("magnitudes(") && svg.contains("normal(0,1)"), "{property}");
    }
    let report = bits(&[&one[..], &["--plots", folder.path().to_str().unwrap(), "--op", "dot"]].concat());
    assert!(report["tables"]["bit_agreement"].is_array());
    for name in ["precision-exponent-gap.svg", "precision-dynamic-range.png", "precision-k.pdf"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    let run = tcnum(&["probe", "--bits", "--fmt", "f16", "--against", "colour", "--device", "model:turing"]);
    assert!(run.status == 2 && run.stderr.contains("k, gap, range or cancelled"), "{}", run.stderr);
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
fn numbers_of_a_file_are_drawn_and_what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    // NumPy's format by hand: two numbers of f32.
    let mut header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".to_string();
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    [3.0f32, -5.0].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    std::fs::write(&path, bytes).unwrap();
    let report = bits(&["--fmt", "f16", "--device", "model:hopper", "--dist", path.to_str().unwrap()]);
    assert!(rows(&report, "bit_references").iter().all(|row| row["equal"] == 2000), "small integers are exact");
    for (arguments, says) in [
        (&["--bits", "--op", "accumulate"][..], "without c"),
        (&["--bits", "--dist", "special"], "no parameters"),
        (&["--bits", "--dist", "normal(1)"], "normal(MEAN,DEVIATION)"),
        (&["--bits", "--dist", "none.npy"], "none.npy"),
        (&["--dist", "normal(0,1)"], "is for --bits"),
        (&["--bits", "--instr", "mma.m16n8k32.s32.s8.s8.s32"], "integers"),
        (&["--bits", "--init", "low"], "do not go with --bits"),
    ] {
        let run = tcnum(&[&["probe", "--device", "model:hopper"], arguments].concat());
        assert!(run.status == 2 && run.stderr.contains(says), "{arguments:?}: {}", run.stderr);
    }
}
