//! Values of the tensors of each layout.

use super::*;

#[test]
fn modelopt_and_compressed_tensors_have_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(32, 256);
    write(&path, &tensor.modelopt());
    assert_eq!(values(&open(&path), "l.weight"), tensor.values);
    // A power of two has an exact reciprocal.
    let halved = Nvfp4 { tensor_scale: 2f32.powi(-12), ..nvfp4(32, 256) };
    write(&path, &halved.modelopt());
    let multiplied = values(&open(&path), "l.weight");
    write(&path, &halved.compressed(2f32.powi(12)));
    let checkpoint = open(&path);
    assert_eq!(checkpoint.tensors[0].layouts, ["compressed-tensors-nvfp4"]);
    assert_eq!(values(&checkpoint, "l.weight"), multiplied);
}

#[test]
fn a_quotient_is_rounded_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(2, 32);
    let f32 = find("f32").unwrap();
    for global in [3.0f32, 2751.3, 1.0 / 3.0] {
        write(&path, &tensor.compressed(global));
        let decoded = values(&open(&path), "l.weight");
        let (e2m1, e4m3) = (find("e2m1").unwrap(), find("e4m3").unwrap());
        for (at, value) in decoded.iter().enumerate() {
            let product = e2m1.to_f64(u64::from(tensor.codes[at])) * e4m3.to_f64(u64::from(tensor.scales[at / 16]));
            // The neighbours of the quotient are on its two sides: |product - value * global| is at most half an ulp times global.
            let error = (product - f64::from(*value) * f64::from(global)).abs();
            let ulp = f64::from(f32::from_bits(value.abs().to_bits() + 1) - value.abs());
            assert!(error <= ulp / 2.0 * f64::from(global) * (1.0 + 1e-12), "{product} / {global}: {value}");
            assert!(f32.encode(&Real::from(f64::from(*value)), Rounding::Rne, Overflow::Standard).is_some());
        }
    }
}

#[test]
fn the_description_of_the_model_decides_between_layouts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let arrays = [
        array("l.weight", &[192, 96], format("e4m3"), vec![0x38; 192 * 96]),
        array("l.weight_scale_inv", &[2, 1], format("f32"), [single(2.0), single(3.0)].concat()),
    ];
    write(&path, &arrays);
    let tensor = open(&path).tensors[0].clone();
    assert_eq!((tensor.layouts.as_slice(), tensor.named_by), (&["deepseek-fp8".to_string()][..], "names"));
    assert_eq!(tensor.quantised().unwrap().sharing, Sharing::Block(128, 128));
    let decoded = values(&open(&path), "l.weight");
    assert_eq!((decoded[127 * 96], decoded[128 * 96]), (2.0, 3.0));
    let config = |text: &str| fs::write(folder.path().join("config.json"), text).unwrap();
    config(r#"{"quantization_config": {"quant_method": "fp8", "weight_block_size": [96, 96]}}"#);
    let tensor = open(&path).tensors[0].clone();
    assert_eq!((tensor.named_by, tensor.quantised().unwrap().sharing), ("config", Sharing::Block(96, 96)));
    // Blocks of any extents are those that are named, also where others would fit the shape.
    for (key, extents, blocks, scales) in [
        ("weight_block_size", [250, 250], (100, 100), [3, 3]),
        ("block_structure", [200, 256], (112, 112), [2, 3]),
        ("block_structure", [128, 256], (48, 100), [3, 3]),
        ("block_structure", [128, 256], (96, 200), [2, 2]),
    ] {
        let [rows, columns] = extents;
        let arrays = [
            array("l.weight", &extents, format("e4m3"), vec![0x38; rows * columns]),
            array("l.weight_scale", &scales, format("f32"), single(2.0).repeat(scales.iter().product())),
        ];
        write(&path, &arrays);
        let (high, wide) = blocks;
        let text = std::format!(
            r#"{{"quantization_config": {{"quant_method": "compressed-tensors", "format": "float-quantized", "groups": {{"{key}": [{high}, {wide}]}}}}}}"#
        );
        config(&text);
        let tensor = open(&path).tensors[0].clone();
        assert_eq!(tensor.quantised().unwrap().sharing, Sharing::Block(high, wide), "{blocks:?}");
    }
    // A layout that fits in two ways is the one that is named.
    let fp8 = [
        array("l.weight", &[64, 32], format("e4m3"), vec![0x38; 64 * 32]),
        array("l.weight_scale", &[64, 1], format("f32"), single(2.0).repeat(64)),
    ];
    write(&path, &fp8);
    config("{}");
    assert_eq!(open(&path).tensors[0].layouts, ["compressed-tensors-float", "modelopt-fp8"]);
    config(r#"{"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}"#);
    assert_eq!(open(&path).tensors[0].layouts, ["modelopt-fp8"]);
    config(r#"{"quantization_config": {"quant_method": "awq"}}"#);
    assert_eq!(open(&path).tensors[0].doubts, ["config.json names awq, which these arrays do not fit"]);
    config(r#"{"quantization_config": {"quant_method": "exl3"}}"#);
    assert_eq!(open(&path).notes(), ["config.json names 'exl3', which is not decoded."]);
    config("[[[");
    assert!(Checkpoint::open(&path, None, None).unwrap_err().to_string().contains("not JSON"));
}

#[test]
fn rows_that_fill_no_word_and_blocks_of_experts_are_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    // Eight codes to a word, 8 added to each; one scale for each row.
    let words = [0x7654_3210u32, 0xfedc_ba98].map(u32::to_le_bytes).concat();
    write(
        &path,
        &[
            array("l.weight_packed", &[2, 1], format("s32"), words),
            array("l.weight_shape", &[2], format("s64"), [2u64, 7].map(u64::to_le_bytes).concat()),
            array("l.weight_scale", &[2, 1], format("bf16"), [0x3f80u16, 0x4000].map(u16::to_le_bytes).concat()),
        ],
    );
    let first: Vec<f32> = (-8..-1).map(|n| n as f32).collect();
    let second: Vec<f32> = (0..7).map(|n| 2.0 * n as f32).collect();
    assert_eq!(values(&open(&path), "l.weight"), [first, second].concat());
    // gpt-oss: two experts of one row of two blocks.
    let blocks: Vec<u8> = (0..4u8).flat_map(|block| [block | 0x20; 16]).collect();
    write(
        &path,
        &[
            array("m.w_blocks", &[2, 1, 2, 16], BYTES, blocks),
            array("m.w_scales", &[2, 1, 2], BYTES, vec![127, 128, 126, 127]),
        ],
    );
    let checkpoint = open(&path);
    assert_eq!(checkpoint.tensors[0].shape, [2, 1, 64]);
    let decoded = values(&checkpoint, "m.w");
    let expected = [(0.0, 1.0), (0.5 * 2.0, 2.0), (1.0 / 2.0, 0.5), (1.5, 1.0)];
    for (at, (even, odd)) in expected.into_iter().enumerate() {
        assert!(decoded[32 * at..32 * (at + 1)].chunks(2).all(|pair| pair == [even, odd]), "{at}");
    }
}

#[test]
fn packed_types_of_safetensors_are_formats() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let header = r#"{"a":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]},"b":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[4,7]},"c":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[7,10]},"d":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[10,12]},"e":{"dtype":"I16","shape":[1],"data_offsets":[12,14]}}"#;
    // Codes 1, 2, 3, 4, 5, 6, 7, 8; 1, 2, 3, 4 in 6 bits, twice; 2^0 and 2^1; -2.
    let six = 1u32 | 2 << 6 | 3 << 12 | 4 << 18;
    let six = &six.to_le_bytes()[..3];
    let data = [&[0x21, 0x43, 0x65, 0x87][..], six, six, &[127, 128, 0xfe, 0xff]].concat();
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    fs::write(&path, &bytes).unwrap();
    let checkpoint = open(&path);
    let by_codes = |name: &str, codes: &[u64]| {
        codes.iter().map(|code| find(name).unwrap().to_f64(*code) as f32).collect::<Vec<f32>>()
    };
    assert_eq!(values(&checkpoint, "a"), by_codes("e2m1", &[1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(values(&checkpoint, "b"), by_codes("e2m3", &[1, 2, 3, 4]));
    assert_eq!(values(&checkpoint, "c"), by_codes("e3m2", &[1, 2, 3, 4]));
    assert_eq!((values(&checkpoint, "d"), values(&checkpoint, "e")), (vec![1.0, 2.0], vec![-2.0]));
    // Read whole, codes come one to a byte, and are written so.
    let all = Arrays::read(&path).unwrap();
    assert_eq!(all.get("a").unwrap().bytes[..], [1, 2, 3, 4, 5, 6, 7, 8]);
    all.write(&path).unwrap();
    assert_eq!(Arrays::read(&path).unwrap().get("a").unwrap().kind, BYTES);
}

#[test]
fn a_layout_of_the_users_own_is_the_only_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(64, 256);
    let mut arrays = tensor.modelopt();
    arrays[0] = array("l.q", &[64, 128], BYTES, tensor.codes.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect());
    arrays[1].name = "l.s".into();
    arrays[2].name = "l.g".into();
    write(&path, &arrays);
    let text = "title = 'mine'\nsource = 'me'\ntensor = '*weight'\n[codes]\nname = '*q'\nstored = ['U8']\nformat = 'e2m1'\npacking = 'high-first'\n\
                [scale]\nname = '*s'\nstored = ['F8_E4M3']\nblock = '1x16'\n[global]\nname = '*g'\nstored = ['F32']\nuse = 'multiplies'\n";
    let layout = Layout::parse(text, "mine", "mine.toml").unwrap();
    let checkpoint = Checkpoint::open(&path, Some(&layout), None).unwrap();
    assert_eq!((checkpoint.tensors.len(), checkpoint.tensors[0].named_by), (1, "‹layout›"));
    assert_eq!(values(&checkpoint, "l.weight"), tensor.values);
    assert_eq!(checkpoint.tensors[0].reading().unwrap().global, Some(GlobalScale::Multiplies));
    // Without it, scales are seen by their shape next to the codes.
    let unread = open(&path);
    assert_eq!(unread.tensors.len(), 2);
    assert_eq!(unread.get("l.q").unwrap().layouts, ["an unknown layout"]);
}

#[test]
fn codes_of_a_packed_type_are_read_by_a_layout_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(4, 64);
    let mut arrays = tensor.modelopt();
    // A file keeps the type of codes that are packed.
    arrays[0] = array("l.weight", &[4, 64], format("e2m1"), pack_pairs(&tensor.codes, 64));
    write(&path, &arrays);
    assert_eq!(open(&path).get("l.weight").unwrap().layouts, ["an unknown layout"]);
    let text = include_str!("../../../../../layouts/modelopt-nvfp4.toml").replace("\"U8\"", "\"F4\"");
    let layout = Layout::parse(&text, "mine", "mine.toml").unwrap();
    let checkpoint = Checkpoint::open(&path, Some(&layout), None).unwrap();
    assert_eq!((checkpoint.tensors.len(), &checkpoint.tensors[0].shape), (1, &vec![4, 64]));
    assert_eq!(values(&checkpoint, "l.weight"), tensor.values);
}

#[test]
fn long_rows_are_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(2, 3 << 16);
    write(&path, &tensor.modelopt());
    let checkpoint = open(&path);
    assert!(checkpoint.tensors[0].pieces().all(|piece| piece.len() <= 1 << 16));
    assert_eq!(values(&checkpoint, "l.weight"), tensor.values);
    // In tiles, too.
    let mut tiles = tensor.modelopt();
    tiles[1] = array("l.weight_scale", &[128, 3 << 12], format("e4m3"), tensor.tiles());
    write(&path, &tiles);
    assert_eq!(values(&open(&path), "l.weight"), tensor.values);
}
