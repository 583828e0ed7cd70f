//! Arrays of decoded tensors.

use super::*;

fn read(file: &ArrayFile, name: &str, first: usize, count: usize) -> Vec<f32> {
    let array = file.arrays.iter().find(|array| array.name == name).unwrap();
    let mut bytes = vec![0; 4 * count];
    file.read(array, first, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// A tensor whose nibbles are 16 apart, in blocks of bytes with their scales.
fn gguf(path: &Path, rows: u64) {
    let mut blocks = Vec::new();
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..2 * rows {
        let mut nibbles = [0; 16];
        random.fill_bytes(&mut nibbles);
        blocks.extend([&0x3800u16.to_le_bytes()[..], &nibbles].concat());
    }
    write(path, &[array("l.weight", &[rows as usize, 64], Content::blocks("Q4_0").unwrap(), blocks)]);
}

#[test]
fn a_decoded_array_has_the_values_of_its_tensor_from_any_place_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let tensor = nvfp4(5, 96);
    write(&at("packed.safetensors"), &tensor.modelopt());
    let codes: Vec<u8> = (0..5 * 64u32).map(|n| (n * 37 % 64) as u8).collect();
    let six = [
        array("l.weight_packed", &[5, 48], BYTES, crate::array::pack(&codes, 64, 6)),
        array("l.weight_scale", &[5, 2], BYTES, vec![127, 128, 126, 127, 120, 130, 127, 127, 127, 125]),
    ];
    write(&at("six.safetensors"), &six);
    let eight = [
        array("l.weight", &[5, 70], format("e4m3"), (0..350u32).map(|n| (n % 0x70) as u8).collect()),
        array("l.weight_scale_inv", &[1, 1], format("f32"), single(0.5)),
    ];
    write(&at("eight.safetensors"), &eight);
    gguf(&at("halves.gguf"), 5);
    for name in ["packed.safetensors", "six.safetensors", "eight.safetensors", "halves.gguf"] {
        let all = values(&open(&at(name)), "l.weight");
        let decoded = open(&at(name)).decoded(&|_| true).unwrap();
        assert_eq!((decoded.file.arrays.len(), decoded.notes.len()), (1, 1), "{name}");
        assert_eq!(decoded.file.arrays[0].kind, format("f32"));
        for first in (0..all.len()).step_by(3) {
            for count in [1, 2, 7, 40, 64, 129, all.len()] {
                let count = count.min(all.len() - first);
                assert_eq!(
                    read(&decoded.file, "l.weight", first, count),
                    all[first..][..count],
                    "{name} {first} {count}"
                );
            }
        }
    }
}

#[test]
fn other_arrays_of_a_decoded_file_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let mut arrays = nvfp4(2, 32).modelopt();
    arrays.push(array("l.input_scale", &[], format("f32"), single(3.0)));
    arrays.push(array("norm.weight", &[2], format("bf16"), vec![0x80, 0x3f, 0, 0x40]));
    write(&path, &arrays);
    let decoded = open(&path).decoded(&|_| true).unwrap();
    let mut names: Vec<&str> = decoded.file.arrays.iter().map(|array| array.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["l.input_scale", "l.weight", "norm.weight"]);
    let norm = decoded.file.arrays.iter().find(|array| array.name == "norm.weight").unwrap();
    assert_eq!(decoded.file.array(norm).unwrap().bytes[..], [0x80, 0x3f, 0, 0x40]);
    // Codes whose scales lie in another file are said.
    write(&path, &[array("l.weight", &[2, 2], format("e4m3"), vec![0x38; 4])]);
    let notes = open(&path).decoded(&|_| true).unwrap().notes;
    assert_eq!(notes, ["1 tensor of 8 bits or fewer has no scales in the file: its numbers are read unscaled."]);
    // A file without quantised tensors is the file.
    write(&path, &arrays[4..]);
    let plain = open(&path).decoded(&|_| true).unwrap();
    assert!(plain.notes.is_empty() && plain.file.arrays.len() == 1);
}

#[test]
fn a_quantised_tensor_that_is_not_decoded_is_refused_if_it_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let arrays = [
        array("l._weight_qdata", &[2, 8], format("s8"), vec![0; 16]),
        array("l._weight_scale", &[2, 1], format("f32"), vec![0; 8]),
        array("l._weight_act_pre_scale", &[8], format("f32"), vec![0; 32]),
        array("m.weight", &[2], format("f32"), vec![0; 8]),
    ];
    write(&path, &arrays);
    let error = open(&path).decoded(&|_| true).unwrap_err();
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().contains("'l.weight' is not decoded: torchao-int8: "), "{error}");
    assert!(open(&path).decoded(&|name| name == "m.weight").is_ok());
    // Codes and scales that end too soon.
    write(&path, &nvfp4(2, 32).modelopt());
    let bytes = fs::read(&path).unwrap();
    for less in [1, 8, 20] {
        fs::write(&path, &bytes[..bytes.len() - less]).unwrap();
        let error = open(&path).decoded(&|_| true).unwrap_err().to_string();
        assert!(error.contains("the file ends in its data"), "{less}: {error}");
    }
    let cut = folder.path().join("m.gguf");
    gguf(&cut, 5);
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 32]).unwrap();
    let error = open(&cut).decoded(&|_| true).unwrap_err().to_string();
    assert!(error.contains("'l.weight' is not decoded: the file ends in its data"), "{error}");
    write(&path, &nvfp4(2, 32).compressed(1.0)[..2]);
    let error = open(&path).decoded(&|_| true).unwrap_err().to_string();
    assert!(error.contains("the array 'l.weight_global_scale' with its global scale is missing"), "{error}");
}

#[test]
fn scales_that_have_a_sign_by_design_are_no_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    gguf(&path, 5);
    let mut bytes = fs::read(&path).unwrap();
    // The sign of the last block's scale: its bytes fill no whole line of the alignment.
    let end = bytes.len() - (32 - 10 * 18 % 32);
    bytes[end - 17] |= 0x80;
    fs::write(&path, bytes).unwrap();
    let checkpoint = open(&path);
    let tensor = checkpoint.get("l.weight").unwrap();
    let survey = Survey::of(&checkpoint, tensor, &mut |_| {}).unwrap();
    assert_eq!((survey.counts.nan_scales, survey.counts.negative_scales), (0, 1));
    assert_eq!(
        CheckpointTensorRow::new(tensor, crate::tensor::ArrayRole::Weight, Some(&survey), "u4".into()).doubt,
        None
    );
}
