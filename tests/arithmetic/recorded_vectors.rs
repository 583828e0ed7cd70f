//! Recordings of real GPUs and of other programs: they load, and those of the H100 agree with the model of Hopper.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tcnum::isa::MatrixShape;
use tcnum_engine::{
    comparison::Difference,
    comparison::Nans,
    device::{self, Device, TraceDevice},
    trace::Trace,
};
use tcnum_study::verify::trace::verify;

/// The recordings of others, with their lines of the index.
fn vectors() -> Vec<(PathBuf, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/vectors");
    let index = std::fs::read_to_string(folder.join("index.tsv")).expect("the recordings are in the repository");
    let fields = |line: &str| line.split('\t').map(String::from).collect::<Vec<_>>();
    let lines = index.lines().skip(1).map(fields);
    lines.map(|line| (folder.join(format!("{}.safetensors", line[0])), line)).collect()
}

fn open(name: &str) -> Box<dyn Device> {
    device::open(Some(&name.into()), Duration::from_secs(60)).unwrap()
}

#[test]
fn every_recording_loads_as_its_index_describes_it() {
    for (path, line) in vectors() {
        let trace = Trace::read(&path).unwrap();
        let i = &trace.instruction;
        assert_eq!([i.a.name, i.b.name, i.c.name, i.d.name], [&line[3], &line[4], &line[5], &line[6]], "{line:?}");
        assert_eq!([trace.m, trace.n, trace.k], [1, 1, line[7].parse().unwrap()], "{line:?}");
        assert_eq!(trace.count().to_string(), line[8], "{line:?}");
        assert_eq!(i.name, line[10].replace("nN", "n8"), "{line:?}");
        assert!(trace.metadata["device"].contains(line[1].as_str()), "{line:?}");
    }
}

#[test]
fn every_recorded_output_of_the_h100_is_that_of_the_hopper_model() {
    let mut model = open("model:hopper");
    for (path, line) in vectors().into_iter().filter(|(_, line)| line[1] == "H100") {
        let trace = Trace::read(&path).unwrap();
        let result = verify(&trace, model.as_mut(), Nans::ByCode).unwrap();
        assert_eq!((result.compared, result.differing), (5000, 0), "{line:?}: {:x?}", result.kinds);
    }
}

/// Group and alignment width tell the generations apart: the comparison can fail.
#[test]
fn recorded_outputs_of_other_generations_are_not_those_of_the_hopper_model() {
    let mut model = open("model:hopper");
    for (path, line) in vectors().into_iter().filter(|(_, line)| line[1] != "H100" && line[6] == "f32") {
        let trace = Trace::read(&path).unwrap();
        let result = verify(&trace, model.as_mut(), Nans::ByCode).unwrap();
        assert!(result.differing > 0, "{line:?}");
        let differences = result.kinds.into_differences();
        assert!(!differences.is_empty(), "{line:?}");
        let is_complete = |m: &Difference| m.original.device != m.original.model && m.original.case.a.len() == trace.k;
        assert!(differences.iter().all(is_complete), "{line:?}");
    }
}

/// The whole tile that was executed gives what the recorded part of it gives.
#[test]
fn the_unrecorded_rest_of_a_tile_changes_nothing() {
    let mut model = open("model:hopper");
    for (path, line) in vectors().into_iter().filter(|(_, line)| line[1] == "H100") {
        let trace = Trace::read(&path).unwrap();
        let i = &trace.instruction;
        let outputs = model.execute(i, &trace.padded(100, 110)).unwrap();
        let [from, to] = [(i.m, i.n), (trace.m, trace.n)].map(|(rows, columns)| MatrixShape { rows, columns });
        let part = outputs.resized(from, to);
        assert_eq!(part, trace.d.slice(100, 110), "{line:?}");
    }
}

#[test]
fn a_recording_without_whole_tiles_says_that_it_cannot_answer_them() {
    for (path, _) in vectors().into_iter().take(1) {
        let mut device = TraceDevice::open(path.to_str().unwrap()).unwrap();
        let instruction = device.trace().instruction.clone();
        let error = device.prepare(&instruction).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains("1 by 1 outputs of the 16 by 16"), "{error}");
    }
}

#[test]
fn a_file_of_pythons_safetensors_loads_and_its_exact_sums_agree() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/python_trace.safetensors");
    let trace = Trace::read(&path).unwrap();
    assert_eq!(trace.instruction.name, "mma.m16n8k16.f32.bf16.bf16.f32");
    assert_eq!((trace.m, trace.n, trace.k, trace.count()), (2, 3, 4, 3));
    assert_eq!(trace.metadata["device"], "exact sums");
    // c of tile 2, row 1, column 0 is 10*2 + 1 - 0 + 1.
    assert_eq!(f32::from_bits(trace.inputs.c.get(2 * 6 + 3) as u32), 22.0);
    let result = verify(&trace, open("model:hopper").as_mut(), Nans::ByCode).unwrap();
    assert_eq!((result.compared, result.differing), (18, 0));

    let bytes = trace.to_bytes().unwrap();
    let copy = tempfile::NamedTempFile::new().unwrap();
    trace.write(copy.path()).unwrap();
    assert_eq!(std::fs::read(copy.path()).unwrap(), bytes);
    assert_eq!(Trace::read(copy.path()).unwrap(), trace);
}
