//! The device `trace:`: answers exactly its recorded tiles, with the recorded codes.

use std::{collections::BTreeMap, time::Duration};

use tcnum::{
    Error,
    inputs::record_batch,
    isa::{self, Codes, Instruction, MatrixShape, Tiles},
};
use tcnum_engine::{
    comparison::{Difference, Nans, ResultPlace},
    device::{self, Device, Spot, TraceDevice},
    trace::Trace,
};
use tcnum_study::verify::trace::verify;

fn model() -> Box<dyn Device> {
    device::open(Some(&"model:hopper".into()), Duration::from_secs(60)).unwrap()
}

fn run(name: &str, seed: u64, count: usize) -> (Instruction, Tiles, Codes) {
    let instruction = isa::find(name).unwrap();
    let tiles = record_batch(&instruction, seed, count);
    let d = model().execute(&instruction, &tiles).unwrap();
    (instruction, tiles, d)
}

fn shape(rows: usize, columns: usize) -> MatrixShape {
    MatrixShape { rows, columns }
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
        assert_eq!(verify(device.trace(), model().as_mut(), Nans::ByCode).unwrap().differing, 0, "{name}");
    }
}

#[test]
fn one_changed_output_is_found_with_all_its_inputs() {
    let (instruction, tiles, mut d) = run("mma.m16n8k8.f32.bf16.bf16.f32", 2, 6);
    let at = (4 * 16 + 9) * 8 + 3;
    d.set(at, d.get(at) ^ 1);
    let trace = Trace::from_run(&instruction, &tiles, d.clone(), BTreeMap::new()).unwrap();
    let result = verify(&trace, model().as_mut(), Nans::ByCode).unwrap();
    let differences = result.kinds.into_differences();
    assert_eq!((result.compared, result.differing, differences.len()), (6 * 128, 1, 1));
    let Difference { place, original: answer, count, .. } = &differences[0];
    assert_eq!((*place, *count), (ResultPlace::Output(Spot { tile: 4, row: 9, column: 3 }), 1));
    assert_eq!(answer.case, tiles.case(&instruction, 4, 9, 3));
    assert_eq!((answer.device, answer.model), (d.get(at), d.get(at) ^ 1));
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
    tiles.a = tiles.a.resized(shape(16, 16), shape(16, 5)).resized(shape(16, 5), shape(16, 16));
    tiles.b = tiles.b.resized(shape(16, 8), shape(5, 8)).resized(shape(5, 8), shape(16, 8));
    let d = model().execute(&instruction, &tiles).unwrap();
    let full_trace = Trace::from_run(&instruction, &tiles, d.clone(), BTreeMap::new()).unwrap();
    let inputs = tiles.resized(&instruction, &Instruction { k: 5, ..instruction.clone() });
    let trace = Trace { k: 5, inputs, ..full_trace.clone() };
    assert_eq!(trace.padded(0, 2), tiles);
    let mut device = TraceDevice::new(trace, "F");
    assert_eq!(device.execute(&instruction, &tiles).unwrap(), d);
    for nonzero in [16 * 3 + 7, 16 * 3 + 5] {
        let mut other = tiles.clone();
        other.a.set(nonzero, 0x3c00);
        assert!(message(device.execute(&instruction, &other)).contains("tile 0 of the request was not recorded"));
    }
}

/// Tiles of a form that no model need know, and outputs that count.
fn counted(name: &str, count: usize) -> (Instruction, Tiles, Codes) {
    let i = isa::find(name).unwrap();
    let tiles = record_batch(&i, 6, count);
    let mut d = Codes::zeros(i.d, count * i.m * i.n);
    (0..d.len()).for_each(|at| d.set(at, at as u64));
    (i, tiles, d)
}

#[test]
fn sparse_and_scaled_recordings_keep_positions_and_scales() {
    for name in [
        "mma.sp.m16n8k32.f32.bf16.bf16.f32",
        "wgmma.sp.m64n8k16.f32.tf32.tf32",
        "mma.sp.m16n8k128.s32.s4.u4.s32",
        "mma.m16n8k32.f32.e4m3.e2m1.f32.ue8m0.block32",
        "mma.sp.m16n8k128.f32.e2m1.e2m1.f32.ordered.ue4m3.block16",
        "mfma.32x32x8.f32.f16.f16.f32",
    ] {
        let (i, tiles, d) = counted(name, 7);
        let trace = Trace::from_run(&i, &tiles, d.clone(), BTreeMap::new()).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        trace.write(file.path()).unwrap();
        assert_eq!(Trace::read(file.path()).unwrap(), trace, "{name}");
        let mut device = TraceDevice::new(trace, "F");
        assert_eq!(device.execute(&i, &tiles).unwrap(), d, "{name}");
        for array in ["positions", "scale_a"] {
            let mut other = tiles.clone();
            let codes = if array == "positions" { &mut other.positions } else { &mut other.scale_a };
            let Some(codes) = codes else { continue };
            codes.set(0, codes.get(0) ^ 1);
            let message = message(device.execute(&i, &other));
            assert!(message.contains("tile 0 of the request was not recorded"), "{name}: {message}");
        }
    }
}

#[test]
fn a_part_of_a_sparse_recording_is_continued_with_the_first_positions() {
    let (i, tiles, d) = counted("mma.sp.m16n8k64.s32.s4.s4.s32", 3);
    let part = Instruction { m: 5, n: 3, k: 16, ..i.clone() };
    let inputs = tiles.resized(&i, &part);
    let d = d.resized(shape(16, 8), shape(5, 3));
    let trace = Trace {
        m: 5,
        n: 3,
        k: 16,
        inputs: inputs.clone(),
        ..Trace::from_run(&i, &tiles, Codes::zeros(i.d, 3 * 128), BTreeMap::new()).unwrap()
    };
    let trace = Trace { d, ..trace };
    let file = tempfile::NamedTempFile::new().unwrap();
    trace.write(file.path()).unwrap();
    assert_eq!(Trace::read(file.path()).unwrap(), trace);
    let padded = trace.padded(0, 3);
    assert!(i.chunk().unwrap().allows(padded.positions.as_ref().unwrap().iter()));
    assert_eq!(padded.resized(&i, &part), inputs);
    assert_eq!(trace.tiles(1, 2), padded.slice(1, 2).resized(&i, &Instruction { k: i.k, ..part.clone() }));
    // Seven of eight, a fraction of a chunk.
    let odd = Instruction { k: 20, ..part };
    let wrong = Trace { k: 20, inputs: tiles.resized(&i, &odd), ..trace };
    wrong.write(file.path()).unwrap();
    assert!(Trace::read(file.path()).unwrap_err().to_string().contains("'k': 20 is not a multiple of 8"));
}

#[test]
fn positions_that_are_none_are_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (any_order, ordered) = ("mma.sp.m16n8k32.f32.f16.f16.f32", "mma.sp.m16n8k32.f32.f16.f16.f32.ordered");
    for (name, at, position) in [(any_order, 0, 4), (any_order, 1, 0), (any_order, 0, 1), (ordered, 0, 3)] {
        let (i, tiles, d) = counted(name, 1);
        let mut wrong = Tiles { positions: Tiles::zeros(&i, 1).positions, ..tiles.clone() };
        wrong.positions.as_mut().unwrap().set(at, position);
        Trace::from_run(&i, &wrong, d.clone(), BTreeMap::new()).unwrap().write(file.path()).unwrap();
        assert!(Trace::read(file.path()).unwrap_err().to_string().contains("tensor 'positions'"));
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
    assert!(refused(&sparse, &tiles, &d, "x").contains("of mma.sp.m16n8k32.f32.f16.f16.f32 have"));
    let without = Tiles { positions: None, ..Tiles::zeros(&sparse, 2) };
    assert!(refused(&sparse, &without, &d, "x").contains("positions has 0 codes of 1 bytes"));
}
