//! Findings on tensors whose values differ, and on tensors with other names.

use super::*;

/// The finding on two files of one tensor each.
fn finding(first: &Path, second: &Path) -> String {
    let (x, y) = (open(first), open(second));
    compare((&x, &x.tensors[0]), (&y, &y.tensors[0]), &mut |_| {}).unwrap().finding
}

#[test]
fn roundings_of_the_same_weights_are_within_one_step_of_the_coarser_grid() {
    let folder = tempfile::tempdir().unwrap();
    let case = |name: &str| Path::new(drawn::FOLDER).with_file_name("checkpoints").join(name);
    let same = "the same weights: each value is within one step of the coarser grid";
    assert_eq!(finding(&case("q1.safetensors"), &case("q2.safetensors")), same);
    // In other formats too, and not for other weights.
    let path = |name: &str| folder.path().join(std::format!("{name}.safetensors"));
    let weights = weights(64 * 256);
    let quantised = |name: &str, weights: &[f32], to: &str| {
        let blocks = Quantizer::new(block(to).unwrap()).quantize(weights, 256);
        let bytes: Vec<u8> = blocks.dequantize().into_iter().flat_map(f32::to_le_bytes).collect();
        write(&path(&std::format!("{name}-values")), &[array("l.weight", &[64, 256], format("f32"), bytes)]);
        let scales = blocks.scales.iter().map(|code| *code as u8).collect();
        write(
            &path(name),
            &[
                array("l.weight_packed", &[64, 128], BYTES, pack_pairs(&blocks.elements, 256)),
                array("l.weight_scale", &[64, 8], BYTES, scales),
            ],
        );
    };
    quantised("a", &weights, "mxfp4");
    let bytes: Vec<u8> = weights.iter().flat_map(|value| value.to_le_bytes()).collect();
    write(&path("b"), &[array("l.weight", &[64, 256], format("f32"), bytes.clone())]);
    let found = finding(&path("a"), &path("b"));
    assert!(found.starts_with("the same weights"), "{found}");
    let others: Vec<f32> = weights.iter().rev().copied().collect();
    quantised("c", &others, "mxfp4");
    assert_eq!(finding(&path("c"), &path("b")), "values differ");
    // Subnormals of f16, and the end of a range that reaches further on one side.
    let small: Vec<f32> = weights.iter().map(|value| value * 1e-3).collect();
    let f16 = find("f16").unwrap();
    let code =
        |value: &f32| f16.encode(&Real::from(f64::from(*value)), Rounding::Rne, Overflow::Standard).unwrap() as u16;
    let bytes_of = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    write(&path("small"), &[array("l.weight", &[64, 256], format("f32"), bytes_of(&small))]);
    let halves = small.iter().flat_map(|value| code(value).to_le_bytes()).collect();
    write(&path("half"), &[array("l.weight", &[64, 256], format("f16"), halves)]);
    assert_eq!(finding(&path("small"), &path("half")), same);
    let blocks = Quantizer::new(block("q4-0").unwrap()).quantize(&weights, 256);
    let bytes: Vec<u8> = blocks
        .elements
        .chunks(32)
        .zip(&blocks.scales)
        .flat_map(|(codes, scale)| {
            let pair = |at: usize| (codes[at] ^ 8) & 15 | ((codes[at + 16] ^ 8) & 15) << 4;
            let scale = (*scale as u16).to_le_bytes().into_iter();
            scale.chain((0..16).map(pair).collect::<Vec<u8>>())
        })
        .collect();
    let q4 = folder.path().join("q4.gguf");
    write(&q4, &[array("l.weight", &[64, 256], Content::blocks("Q4_0").unwrap(), bytes)]);
    assert_eq!(finding(&q4, &path("b")), same);
    // One factor.
    let quarter: Vec<u8> = weights.iter().flat_map(|value| (value / 4.0).to_le_bytes()).collect();
    write(&path("d"), &[array("l.weight", &[64, 256], format("f32"), quarter)]);
    let factor = "one factor: the second file's values are 0.250 (2^-2) times the first's";
    assert_eq!(finding(&path("b"), &path("d")), factor);
}

#[test]
fn scales_of_the_same_codes_that_are_shifted_or_rounded_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(std::format!("{name}.safetensors"));
    let scales: Vec<f32> = weights(64 * 8).into_iter().map(|value| value.abs() + 1e-3).collect();
    let codes: Vec<u8> = (0..64 * 256).map(|at| (at * 37 % 119) as u8).collect();
    let file = |name: &str, scales: &[f32]| {
        let scales = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        write(
            &path(name),
            &[
                array("l.weight", &[64, 256], format("e4m3"), codes.clone()),
                array("l.weight_scale", &[64, 8], format("f32"), scales),
            ],
        );
    };
    file("a", &scales);
    let mut later = scales.clone();
    later.rotate_right(1);
    let rounded: Vec<f32> = scales.iter().map(|scale| f32::from_bits(scale.to_bits() & 0xff80_0000)).collect();
    let doubled: Vec<f32> = scales.iter().map(|scale| 2.0 * scale).collect();
    for (scales, words) in [
        (later, "the second file's scales lie one block later"),
        (rounded, "the second file's are powers of two: one factor in each block, from 0.5"),
        (doubled, "the second file's are 2.00 (2^1) times the first's"),
    ] {
        file("b", &scales);
        let found = finding(&path("a"), &path("b"));
        assert!(found.starts_with(&std::format!("same codes, but the scales differ: {words}")), "{found}");
    }
}

#[test]
fn names_of_gguf_are_those_of_hugging_face_and_rows_of_q_are_compared_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (face, gguf) = (folder.path().join("w.safetensors"), folder.path().join("m.gguf"));
    // Four heads of eight rows of 32 values: in GGUF, rows of the two halves alternate.
    let (rows, columns, head) = (32, 32, 8);
    let weights = weights(rows * columns);
    let bytes = |weights: &[f32]| weights.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let names = ["model.layers.3.self_attn.q_proj.weight", "model.layers.3.mlp.down_proj.weight"];
    write(&face, &names.map(|name| array(name, &[rows, columns], format("f32"), bytes(&weights))));
    let place = |row: usize| row / head * head + 2 * (row % (head / 2)) + row % head / (head / 2);
    let mut paired = vec![0.0; weights.len()];
    for (row, values) in weights.chunks(columns).enumerate() {
        paired[place(row) * columns..][..columns].copy_from_slice(values);
    }
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut file = [b"GGUF", &3u32.to_le_bytes()[..], &2u64.to_le_bytes(), &2u64.to_le_bytes()].concat();
    file.extend([text("general.architecture"), 8u32.to_le_bytes().to_vec(), text("llama")].concat());
    file.extend(
        [text("llama.attention.head_count"), 4u32.to_le_bytes().to_vec(), 4u32.to_le_bytes().to_vec()].concat(),
    );
    for (name, place) in [("blk.3.attn_q.weight", 0u64), ("blk.3.ffn_down.weight", 4 * 1024)] {
        file.extend([text(name), 2u32.to_le_bytes().to_vec()].concat());
        [columns as u64, rows as u64].iter().for_each(|extent| file.extend(extent.to_le_bytes()));
        file.extend([&0u32.to_le_bytes()[..], &place.to_le_bytes()].concat());
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend([bytes(&paired), bytes(&weights)].concat());
    fs::write(&gguf, &file).unwrap();
    for (one, other) in [(&face, &gguf), (&gguf, &face)] {
        let (x, y) = (open(one), open(other));
        let chosen: Vec<_> = x.tensors.iter().collect();
        let (answer, _, holds, outcome) = super::super::compared(&x, &y, &chosen, &mut |_, _| {});
        outcome.unwrap();
        assert_eq!((answer.unwrap().as_str(), holds), ("2 tensors have the same values in both.", true));
    }
}
