//! Checkpoints of `tests/fixtures/layouts`, decoded by the formulas of the programs of their layouts.

use super::{doubts::doubt, *};

pub(super) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/layouts");

/// Bits of the values of a tensor.
fn bits(checkpoint: &Checkpoint, name: &str) -> Vec<u32> {
    values(checkpoint, name).into_iter().map(f32::to_bits).collect()
}

#[test]
fn drawn_checkpoints_are_read_in_every_bit_and_without_doubts() {
    let mut cases = 0;
    for entry in fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        let checkpoint = open(&path);
        for tensor in checkpoint.tensors.iter().filter(|tensor| tensor.quantised().is_some()) {
            let (layout, expected) = match checkpoint.file.metadata.get("layout") {
                Some(layout) => (layout.clone(), "expected".to_string()),
                None => (format!("gguf-{}", tensor.name.to_lowercase()), format!("expected.{}", tensor.name)),
            };
            assert_eq!(tensor.layouts, [layout], "{path:?}");
            let same = bits(&checkpoint, &tensor.name) == bits(&checkpoint, &expected);
            assert!(same, "{path:?}: '{}'", tensor.name);
            // The arrays of OpenAI have no description.
            let said = doubt(&checkpoint, tensor).filter(|said| {
                tensor.layouts != ["gpt-oss-original"] || !said.starts_with("only names decide the order of nibbles")
            });
            assert_eq!(said, None, "{path:?}: '{}'", tensor.name);
            cases += 1;
        }
        assert!(checkpoint.misfits.is_empty() && checkpoint.notes().is_empty(), "{path:?}");
    }
    assert!(cases >= 61, "{cases}");
}

#[test]
fn pieces_of_planes_and_of_tensor_parts_are_those_of_the_tensor() {
    for case in
        ["awq", "gptq-3", "gptq-act", "packed-4", "hqq-2-1", "hqq-3-1", "hqq-4-0", "nf4-rows-apart", "nf4-nested"]
    {
        let checkpoint = open(&Path::new(FOLDER).join(case));
        let tensor = checkpoint.tensors.iter().find(|tensor| tensor.quantised().is_some()).unwrap();
        let all = values(&checkpoint, &tensor.name);
        let [.., columns] = tensor.read_shape[..] else { panic!("{case}") };
        let rows = all.len() / columns;
        for (first, start) in [(0, 8), (rows / 2, 24), (rows - 1, 0)] {
            let piece = crate::tensor::TensorPiece { rows: first..first + 1, columns: start..columns - columns % 8 };
            let read = checkpoint.read(tensor, &piece, None).unwrap();
            let expected = all.chunks(columns).skip(first).take(1).flat_map(|row| &row[piece.columns.clone()]);
            assert!(read.iter().eq(expected), "{case}: {piece:?}");
        }
    }
}
