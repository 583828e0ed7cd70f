//! Faults that values or the description of a model prove.

use super::{drawn::FOLDER, *};
use crate::{
    checkpoint::CheckpointTensor,
    report::{Cell, Table},
    tensor::ArrayRole,
};

/// The doubts of a tensor.
pub(super) fn doubt(checkpoint: &Checkpoint, tensor: &CheckpointTensor) -> Option<String> {
    let survey = Survey::of(checkpoint, tensor, &mut |_| {}).unwrap();
    CheckpointTensorRow::new(tensor, ArrayRole::Weight, Some(&survey), String::new()).doubt
}

/// The doubts of all tensors, as the report has them.
fn doubts(path: &Path) -> Vec<(String, Option<String>)> {
    let checkpoint = open(path);
    let chosen: Vec<&CheckpointTensor> = checkpoint.tensors.iter().collect();
    let (_, tables, outcome) = super::super::inspected(&checkpoint, &chosen, &mut |_, _| {});
    outcome.unwrap();
    let table: &Table = &tables[0];
    let column = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap();
    let (tensor, doubt) = (column("tensor"), column("doubt"));
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => Some(text.to_string()),
        _ => None,
    };
    table.rows.iter().map(|row| (text(&row[tensor]).unwrap(), text(&row[doubt]))).collect()
}

#[test]
fn scales_that_were_rounded_after_quantising_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let (weights, e4m3) = (weights(64 * 128), find("e4m3").unwrap());
    // Codes by the scales as they are, and scales as the file has them.
    let written = |used: &dyn Fn(f32) -> f32, stored: &dyn Fn(f32) -> f32| {
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        for block in weights.chunks(32) {
            let scale = block.iter().fold(0f32, |largest, value| largest.max(value.abs())) / 448.0;
            let code = |value: &f32| {
                let quotient = Real::from(f64::from(value / used(scale)));
                e4m3.encode(&quotient, Rounding::Rne, Overflow::Saturate).unwrap() as u8
            };
            codes.extend(block.iter().map(code));
            scales.extend(single(stored(scale)));
        }
        write(
            &path,
            &[
                array("l.weight", &[64, 128], format("e4m3"), codes),
                array("l.weight_scale", &[64, 4], format("f32"), scales),
            ],
        );
        doubt(&open(&path), &open(&path).tensors[0])
    };
    let down = |scale: f32| f32::from_bits(scale.to_bits() & 0xff80_0000);
    let up = |scale: f32| 2.0 * down(scale);
    let same = |scale: f32| scale;
    let floor = |scale: f32| down(448.0 * scale) / 256.0;
    for right in [&same as &dyn Fn(f32) -> f32, &floor, &up] {
        assert_eq!(written(right, right), None);
    }
    for (used, wrong) in [(&same as &dyn Fn(f32) -> f32, &down as &dyn Fn(f32) -> f32), (&same, &up), (&down, &down)] {
        let doubt = written(used, wrong).unwrap();
        assert!(doubt.contains("256 of 256 blocks hold the largest code: scales were rounded after"), "{doubt}");
    }
    // Blocks of several rows, each read in several pieces.
    let (rows, columns) = (1024, 2048);
    let tall = |used: &dyn Fn(f32) -> f32, stored: &dyn Fn(f32) -> f32| {
        let all = super::weights(rows * columns);
        let (mut codes, mut scales) = (vec![0; all.len()], Vec::new());
        for (band, column) in (0..rows / 128).flat_map(|band| (0..columns / 128).map(move |column| (band, column))) {
            let places = || (0..128 * 128).map(|at| (128 * band + at / 128) * columns + 128 * column + at % 128);
            let scale = places().fold(0f32, |largest, at| largest.max(all[at].abs())) / 448.0;
            for at in places() {
                let quotient = Real::from(f64::from(all[at] / used(scale)));
                codes[at] = e4m3.encode(&quotient, Rounding::Rne, Overflow::Saturate).unwrap() as u8;
            }
            scales.extend(single(stored(scale)));
        }
        let blocks = [rows / 128, columns / 128];
        write(
            &path,
            &[
                array("l.weight", &[rows, columns], format("e4m3"), codes),
                array("l.weight_scale_inv", &blocks, format("f32"), scales),
            ],
        );
        doubt(&open(&path), &open(&path).tensors[0])
    };
    assert_eq!(tall(&up, &up), None);
    assert!(tall(&same, &up).unwrap().contains("128 of 128 blocks hold the largest code"));
    assert_eq!(written(&same, &|_| 0.0).unwrap(), "all scales are 0, and so are all values");
    // Exponents of e8m0 that a program took for numbers.
    let doubt = written(&up, &|scale| (127 + scale.log2().floor() as i32 + 1) as f32).unwrap();
    assert!(doubt.starts_with("values contradict the scales: all are whole numbers, as exponents of e8m0"), "{doubt}");
    assert!(!doubt.contains("reciprocals"), "{doubt}");
}

#[test]
fn zero_points_of_another_version_are_doubted_and_those_that_values_confirm_are_not() {
    let folder = tempfile::tempdir().unwrap();
    for (case, wrong) in
        [("gptq-4", r#""checkpoint_format": "gptq_v2","#), ("gptq-3", ""), ("gptq-act", ""), ("gptq-v2", "")]
    {
        let path = folder.path().join("model.safetensors");
        fs::copy(Path::new(FOLDER).join(case).join("model.safetensors"), &path).unwrap();
        let config = folder.path().join("config.json");
        let layout = |checkpoint: &Checkpoint| checkpoint.get("l.weight").unwrap().clone();
        fs::write(&config, std::format!(r#"{{"quantization_config": {{{wrong} "quant_method": "gptq"}}}}"#)).unwrap();
        let checkpoint = open(folder.path());
        let doubt_of = doubt(&checkpoint, &layout(&checkpoint));
        match case {
            "gptq-4" | "gptq-v2" => {
                let doubt = doubt_of.unwrap();
                assert!(doubt.starts_with("values contradict the zero points: the mean is "), "{case}: {doubt}");
            }
            _ => assert_eq!(doubt_of, None, "{case}"),
        }
        // Without a description the first layout is taken, and values decide.
        fs::remove_file(&config).unwrap();
        let checkpoint = open(folder.path());
        match doubt(&checkpoint, &layout(&checkpoint)) {
            None => assert_ne!(case, "gptq-v2"),
            Some(doubt) => {
                assert!(case == "gptq-v2" && doubt.starts_with("values contradict the zero points"), "{doubt}")
            }
        }
    }
}

#[test]
fn partners_with_other_global_scales_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(32, 256);
    let named = |name: &str, global: f32| {
        let scaled = Nvfp4 { tensor_scale: global, ..nvfp4(32, 256) };
        let rename = |mut array: Array<'static>| {
            array.name = array.name.replacen("l.", name, 1);
            array
        };
        scaled.modelopt().into_iter().map(rename).collect::<Vec<_>>()
    };
    let global = tensor.tensor_scale;
    for (other, differs) in [(global, false), (2.0 * global, true)] {
        let arrays = [named("a.q_proj.", global), named("a.k_proj.", other), named("a.o_proj.", 3.0 * global)].concat();
        write(&path, &arrays);
        fs::write(folder.path().join("config.json"), r#"{"quantization_config": {"quant_algo": "NVFP4"}}"#).unwrap();
        for (name, doubt) in doubts(&path) {
            let said = doubt.is_some_and(|doubt| {
                doubt.contains("the global scales of 'a.k_proj.weight' and 'a.q_proj.weight' differ")
            });
            assert_eq!(said, differs && name != "a.o_proj.weight", "{name}");
        }
    }
}

#[test]
fn the_list_of_what_is_left_as_it_is_is_held_against_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let fp8 = |name: &str| {
        [
            array(&std::format!("{name}.weight"), &[64, 32], format("e4m3"), vec![0x38; 64 * 32]),
            array(&std::format!("{name}.weight_scale"), &[1], format("f32"), single(0.01)),
        ]
    };
    let plain = |name: &str| array(&std::format!("{name}.weight"), &[64, 32], format("bf16"), vec![0x3c; 64 * 64]);
    let mut arrays = [fp8("layers.0.up_proj"), fp8("layers.1.gate"), fp8("layers.2.up_proj")].concat();
    arrays.extend([plain("layers.0.gate"), plain("layers.1.up_proj"), plain("lm_head"), plain("norm")]);
    write(&path, &arrays);
    let config = r#"{"quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head", "re:.*(gate|router)$"]}}"#;
    fs::write(folder.path().join("config.json"), config).unwrap();
    for (name, doubt) in doubts(folder.path()) {
        match name.as_str() {
            "layers.1.gate.weight" => {
                assert_eq!(doubt.unwrap(), "config.json has it under 'ignore', and it is quantised")
            }
            "layers.1.up_proj.weight" => assert_eq!(
                doubt.unwrap(),
                "config.json does not have it under 'ignore', and it is not quantised, as 'layers.2.up_proj.weight' is"
            ),
            _ => assert_eq!(doubt, None, "{name}"),
        }
    }
    // Other programs also take the end or the beginning of a name.
    for (method, key, module) in [
        ("fp8", "modules_to_not_convert", "gate"),
        ("fp8", "ignored_layers", "layers.1"),
        ("bitsandbytes", "llm_int8_skip_modules", "gate"),
        ("hqq", "skip_modules", "gate"),
    ] {
        let config =
            std::format!(r#"{{"quantization_config": {{"quant_method": "{method}", "{key}": ["{module}"]}}}}"#);
        fs::write(folder.path().join("config.json"), config).unwrap();
        let listed = std::format!("config.json has it under '{key}', and it is quantised");
        for (name, doubt) in doubts(folder.path()) {
            assert_eq!(doubt.is_some_and(|doubt| doubt.contains(&listed)), name == "layers.1.gate.weight", "{name}");
        }
    }
}

/// The file of a drawn checkpoint, with the bytes of one array changed.
fn changed(path: &Path, case: &str, name: &str, change: impl Fn(&mut [u8])) {
    let file = ArrayFile::open(&Path::new(FOLDER).join(case)).unwrap();
    let arrays = file.arrays.iter().filter(|array| !array.name.starts_with("expected")).map(|array| {
        let mut bytes = file.array(array).unwrap().bytes.to_vec();
        if array.name == name {
            change(&mut bytes);
        }
        super::array(&array.name, &array.shape, array.kind, bytes)
    });
    write(path, &arrays.collect::<Vec<_>>());
}

#[test]
fn zero_points_in_the_middle_of_the_codes_tell_the_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    for (stored, wrong) in [(0x7f, false), (0x80, true), (0x90, false)] {
        changed(&path, "gptq-8", "l.qzeros", |bytes| bytes.fill(stored));
        let doubt = doubts(&path).remove(0).1.unwrap_or_default();
        let said = doubt.starts_with("values contradict the zero points: all are one from the middle of the codes");
        assert_eq!(said, wrong, "{stored:#x}: {doubt}");
        assert_eq!(doubt.is_empty(), stored == 0x7f, "{doubt}");
    }
}

#[test]
fn single_scales_scales_apart_and_scales_of_integers_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    // A scale of HQQ that many values share, far from one another.
    changed(&path, "hqq-4-0", "l.scale", |bytes| bytes[6..8].copy_from_slice(&[0, 0x7e]));
    assert_eq!(doubts(&path)[0].1.as_deref(), Some("1 scale is NaN"));
    // The exponent of a tensor's only scale.
    let fp8 = |scale: f32| {
        let codes = array("l.weight", &[64, 32], format("e4m3"), (0..64 * 32).map(|at| (at % 0x7f) as u8).collect());
        write(&path, &[codes, array("l.weight_scale", &[1], format("f32"), single(scale))]);
        doubts(&path).remove(0).1
    };
    assert_eq!(fp8(0.01), None);
    assert_eq!(fp8(2.0), None);
    assert!(
        fp8(117.0).unwrap().starts_with("values contradict the scales: all are whole numbers, as exponents of e8m0")
    );
    // Rows of integers whose largest is 127 each.
    let int8 = |largest: u8| {
        let codes = (0..64 * 32).map(|at| if at % 32 == 5 { largest } else { at as u8 % 64 }).collect();
        let scales = (0..64).flat_map(|row| single(2f32.powi(-row % 8 - 5))).collect();
        write(
            &path,
            &[
                array("l.weight", &[64, 32], format("s8"), codes),
                array("l.weight_scale", &[64, 1], format("f32"), scales),
            ],
        );
        doubts(&path).remove(0).1
    };
    assert_eq!(int8(100), None);
    for largest in [127, 0x81, 0x80] {
        assert!(int8(largest).unwrap().contains("64 of 64 blocks hold the largest code"), "{largest}");
    }
    // Scales of blocks below 1, next to a scale of the tensor.
    let mut reciprocals = nvfp4(64, 256);
    let e4m3 = find("e4m3").unwrap();
    for code in reciprocals.scales.iter_mut().filter(|code| **code > 0) {
        let reciprocal = Real::from(1.0 / e4m3.to_f64(u64::from(*code)));
        *code = e4m3.encode(&reciprocal, Rounding::Rne, Overflow::Saturate).unwrap() as u8;
    }
    write(&path, &reciprocals.modelopt());
    let doubt = doubts(&path).remove(0).1.unwrap();
    assert!(doubt.starts_with("values contradict the scales: the largest of the blocks is "), "{doubt}");
    assert!(!doubt.contains("global scale:"), "{doubt}");
}

#[test]
fn lengths_that_the_description_does_not_have_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    for (case, bits, group, doubted) in [
        ("gptq-4", 4, 32, None),
        ("gptq-4", 8, 32, Some("config.json says 8 bits of codes, and the arrays have 4")),
        ("awq", 4, 128, Some("config.json says 128 values in a group, and the arrays have 32")),
    ] {
        let method = case.split('-').next().unwrap();
        fs::copy(Path::new(FOLDER).join(case).join("model.safetensors"), folder.path().join("model.safetensors"))
            .unwrap();
        let text = std::format!(
            r#"{{"quantization_config": {{"quant_method": "{method}", "bits": {bits}, "group_size": {group}}}}}"#
        );
        fs::write(folder.path().join("config.json"), text).unwrap();
        let checkpoint = open(folder.path());
        assert_eq!(doubt(&checkpoint, checkpoint.get("l.weight").unwrap()).as_deref(), doubted, "{case}");
    }
}

#[test]
fn scales_without_codes_and_numbers_of_bits_that_the_codes_contradict_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let scales = |name: &str| array(name, &[16, 4], format("e4m3"), vec![0x38; 64]);
    let lone = "the codes of these scales are not here: they are missing, or lie in another file";
    for name in ["l.weight_scale", "l.weight_scale_inv", "l.scale_weight", "0._weight_scale"] {
        write(&path, &[scales(name), array("l.norm.weight", &[4], format("f32"), vec![0; 16])]);
        for (tensor, doubt) in doubts(&path) {
            assert_eq!(doubt.as_deref(), (tensor == name).then_some(lone), "{name}: {tensor}");
        }
    }
    // Codes that fit no layout, scales of activations, and other tensors are no such case.
    let codes = array("l.weight", &[16, 8], BYTES, vec![1; 128]);
    write(&path, &[codes, scales("l.weight_scale"), scales("l.input_scale"), scales("l.scale"), scales("l.scales")]);
    assert!(open(&path).tensors.iter().all(|tensor| tensor.doubts.iter().all(|doubt| doubt != lone)));
    // nbits of HQQ.
    for (bits, right) in [("4-1", 4i32), ("3-1", 3), ("8-0", 8)] {
        let file = ArrayFile::open(&Path::new(FOLDER).join(std::format!("hqq-{bits}"))).unwrap();
        for said in [2i32, 3, 4, 8] {
            let arrays = file.arrays.iter().filter(|array| !array.name.starts_with("expected")).map(|array| {
                let whole = file.array(array).unwrap();
                let bytes = if array.name == "l.nbits" { said.to_le_bytes().to_vec() } else { whole.bytes.to_vec() };
                super::array(&array.name, &array.shape, array.kind, bytes)
            });
            write(&path, &arrays.collect::<Vec<_>>());
            let words = std::format!("'l.nbits' says {said} bits of codes, and the arrays have {right}");
            assert_eq!(doubts(&path), [("l.weight".into(), (said != right).then_some(words))], "{bits} {said}");
        }
    }
}
