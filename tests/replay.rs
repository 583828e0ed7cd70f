//! The device `trace:`: answers exactly its recorded tiles, with the recorded codes.

use std::{collections::BTreeMap, time::Duration};

use tcnum::{
    Error,
    device::{self, Device, TraceDevice},
    inputs::record_batch,
    isa::{self, Case, Codes, Instruction, Tiles},
    trace::Trace,
    verify::trace::verify,
};

fn model() -> Box<dyn Device> {
    device::open(Some("model:hopper"), Duration::from_secs(60)).unwrap()
}

fn run(name: &str, seed: u64, count: usize) -> (Instruction, Tiles, Codes) {
    let instruction = isa::find(name).unwrap();
    let tiles = record_batch(&instruction, seed, count);
    let d = model().execute(&instruction, &tiles).unwrap();
    (instruction, tiles, d)
}

fn notes(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn message(result: Result<Codes, Error>) -> String {
    let error = result.expect_err("it cannot be answered");
    assert_eq!(error.exit_status(), 2);
    error.to_string()
}

#[test]
fn a_recording_replays_its_tiles_in_any_order_and_verifies() {
    for name in ["mma.m16n8k16.f16.f16.f16.f16", "mma.m8n8k4.f64.f64.f64.f64", "wgmma.m64n16k32.f32.e4m3.e5m2"] {
        let (instruction, tiles, d) = run(name, 1, 9);
        let notes = notes(&[("device", "model:hopper"), ("sass", "2x X; Y")]);
        let trace = Trace::from_run(&instruction, &tiles, d.clone(), notes).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        trace.write(file.path()).unwrap();
        assert_eq!(Trace::read(file.path()).unwrap(), trace);

        let mut device = TraceDevice::open(file.path().to_str().unwrap()).unwrap();
        assert_eq!(device.prepare(&instruction).unwrap().opcodes, ["2x X", "Y"]);
        assert_eq!(device.execute(&instruction, &tiles).unwrap(), d);
        let each = instruction.m * instruction.n;
        for tile in [8, 0, 5, 5] {
            let answer = device.execute(&instruction, &tiles.slice(tile, tile + 1)).unwrap();
            assert_eq!(answer, d.slice(tile * each, (tile + 1) * each), "{name}, tile {tile}");
        }
        assert_eq!(verify(device.trace(), model().as_mut(), 1).unwrap().differing, 0, "{name}");
    }
}

#[test]
fn one_changed_output_is_found_with_all_its_inputs() {
    let (instruction, tiles, mut d) = run("mma.m16n8k8.f32.bf16.bf16.f32", 2, 6);
    let at = (4 * 16 + 9) * 8 + 3;
    d.set(at, d.get(at) ^ 1);
    let trace = Trace::from_run(&instruction, &tiles, d.clone(), BTreeMap::new()).unwrap();
    let result = verify(&trace, model().as_mut(), 10).unwrap();
    assert_eq!((result.compared, result.differing, result.mismatches.len()), (6 * 128, 1, 1));
    let found = &result.mismatches[0];
    assert_eq!((found.tile, found.row, found.column), (4, 9, 3));
    let Case { a, b, c, .. } = tiles.case(&instruction, 4, 9, 3);
    assert_eq!((&found.case.a, &found.case.b, found.case.c), (&a, &b, c));
    assert_eq!((found.recorded, found.computed), (d.get(at), d.get(at) ^ 1));
}

#[test]
fn a_tile_that_was_not_recorded_is_refused() {
    let (instruction, tiles, d) = run("mma.m16n8k16.f32.f16.f16.f32", 3, 4);
    let trace = Trace::from_run(&instruction, &tiles, d, BTreeMap::new()).unwrap();
    let mut device = TraceDevice::new(trace, "F");
    let mut other = tiles.clone();
    other.c.set(2 * 128, other.c.get(2 * 128) ^ 1);
    let message = message(device.execute(&instruction, &other));
    assert!(message.contains("trace:F: tile 2 of the request was not recorded"), "{message}");
    assert!(message.contains("tcnum verify --device trace:F"), "{message}");

    let wrong = isa::find("mma.m16n8k8.f32.f16.f16.f32").unwrap();
    let error = device.prepare(&wrong).unwrap_err();
    assert!(error.to_string().contains("has recorded mma.m16n8k16.f32.f16.f16.f32, not mma.m16n8k8"), "{error}");
}

#[test]
fn beyond_the_recorded_k_a_tile_must_be_zero() {
    let (instruction, mut tiles, _) = run("mma.m16n8k16.f32.f16.f16.f32", 4, 2);
    tiles.a = tiles.a.resized((16, 16), (16, 5)).resized((16, 5), (16, 16));
    tiles.b = tiles.b.resized((16, 8), (5, 8)).resized((5, 8), (16, 8));
    let d = model().execute(&instruction, &tiles).unwrap();
    let whole = Trace::from_run(&instruction, &tiles, d.clone(), BTreeMap::new()).unwrap();
    let mut trace = Trace { k: 5, ..whole.clone() };
    trace.inputs.a = tiles.a.resized((16, 16), (16, 5));
    trace.inputs.b = tiles.b.resized((16, 8), (5, 8));
    assert_eq!(trace.padded(0, 2), tiles);
    let mut device = TraceDevice::new(trace, "F");
    assert_eq!(device.execute(&instruction, &tiles).unwrap(), d);
    for nonzero in [16 * 3 + 7, 16 * 3 + 5] {
        let mut other = tiles.clone();
        other.a.set(nonzero, 0x3c00);
        assert!(message(device.execute(&instruction, &other)).contains("tile 0 of the request was not recorded"));
    }
}

#[test]
fn contradicting_recordings_of_one_tile_have_no_answer() {
    let (instruction, tiles, d) = run("mma.m16n8k16.f32.f16.f16.f32", 5, 1);
    let mut twice = tiles.clone();
    twice.extend(&tiles);
    let mut outputs = d.clone();
    outputs.extend(&d);
    let same = Trace::from_run(&instruction, &twice, outputs.clone(), BTreeMap::new()).unwrap();
    assert_eq!(TraceDevice::new(same, "F").execute(&instruction, &tiles).unwrap(), d);
    outputs.set(0, outputs.get(0) ^ 1);
    let different = Trace::from_run(&instruction, &twice, outputs, BTreeMap::new()).unwrap();
    let message = message(TraceDevice::new(different, "F").execute(&instruction, &tiles));
    assert!(message.contains("same inputs and different recorded outputs"), "{message}");
}

#[test]
fn a_run_that_is_no_recording_is_refused() {
    let (instruction, tiles, d) = run("mma.m16n8k16.f32.f16.f16.f32", 6, 2);
    let refused = |i: &Instruction, t: &Tiles, d: &Codes, key: &str| {
        let error = Trace::from_run(i, t, d.clone(), notes(&[(key, "1")])).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        error.to_string()
    };
    assert!(refused(&instruction, &Tiles::zeros(&instruction, 0), &d, "x").contains("at least one tile"));
    assert!(refused(&instruction, &tiles, &d.slice(0, 255), "x").contains("d has 255 codes of 4 bytes, but 2 tiles"));
    assert!(refused(&instruction, &tiles, &d, "m").contains("the note 'm'"));
    let sparse = isa::find("mma.sp.m16n8k32.f32.f16.f16.f32").unwrap();
    assert!(refused(&sparse, &tiles, &d, "x").contains("sparse operands"));
}
