//! What the H200 gave for scalar instructions, as digests of chunks of inputs, computed again on the CPU.

use std::path::Path;

use crate::machine::amount;
use rayon::prelude::*;
use tcnum::isa::scalar::{all, find};
use tcnum_engine::device::Chunks;
use tcnum_study::probe::{
    digests::{RecordedDigests, read},
    sweep::simulate,
};

/// The recording.
fn recording() -> Vec<RecordedDigests> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/h200/scalar.csv")).unwrap()
}

/// The recorded chunks at `numbers` whose digests the CPU does not confirm.
fn differing(row: &RecordedDigests, numbers: &[usize]) -> Vec<String> {
    let form = find(&row.ptx).unwrap();
    let (digests, chunks) = (row.digests(), row.chunks());
    let differs = |at: &usize| {
        let first = chunks.first + *at as u64 * chunks.step;
        let swept = simulate(form, row.seed, Chunks { first, step: 1, count: 1 });
        assert!(swept.differences.is_empty(), "{form}, chunk {first}: the engine differs from the rule");
        (swept.digests[0] != digests[*at]).then(|| format!("{form}, chunk {first}"))
    };
    numbers.iter().filter_map(differs).collect()
}

#[test]
fn every_instruction_of_the_h200_is_recorded_without_a_mismatch() {
    let rows = recording();
    let mut recorded: Vec<&str> = rows.iter().map(|row| row.ptx.as_str()).collect();
    let mut measured: Vec<&str> = all().iter().filter(|f| f.evidence == "H200").map(|f| f.ptx.as_str()).collect();
    recorded.sort_unstable();
    measured.sort_unstable();
    assert_eq!(recorded, measured);
    for row in &rows {
        assert!(row.mismatches == 0 && row.compared > 0 && !row.digests().is_empty(), "{row:?}");
    }
}

#[test]
fn chunks_of_the_instructions_give_the_recorded_digests() {
    let rows = recording();
    // Another chunk of each, so that all parts of the spaces are met; of every sixth instruction where a sample is enough.
    let chunk = |(number, row): (usize, &RecordedDigests)| differing(row, &[number % row.digests().len()]);
    let differing: Vec<String> = rows.par_iter().enumerate().step_by(amount(6, 1)).flat_map_iter(chunk).collect();
    assert!(differing.is_empty(), "{} of {} differ: {}", differing.len(), rows.len(), differing.join("; "));
}

#[test]
#[ignore = "minutes in the release profile"]
fn every_recorded_digest_is_that_of_the_rule() {
    let rows = recording();
    let chunks = |row: &RecordedDigests| differing(row, &(0..row.digests().len()).collect::<Vec<_>>());
    let differing: Vec<String> = rows.par_iter().flat_map_iter(chunks).collect();
    let count: usize = rows.iter().map(|row| row.digests().len()).sum();
    println!("{count} digests of {} instructions", rows.len());
    assert!(differing.is_empty(), "{} differ: {}", differing.len(), differing.join("; "));
}
