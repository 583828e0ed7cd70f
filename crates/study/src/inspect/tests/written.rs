//! Files that `tcnum convert` writes, in its own layouts and in those of other programs.

use super::*;

/// The conversion of files of numbers to a block format in a layout.
fn to_layout(format: &'static BlockFormat, layout: &str) -> FileConversion {
    in_names(format, Layout::find(layout).unwrap().written(format).unwrap())
}

fn in_names(format: &'static BlockFormat, layout: ArrayNames) -> FileConversion {
    FileConversion {
        from: FileContent::Scalar(None),
        to: ConversionTarget::Blocks(Quantizer::new(format)),
        names: Vec::new(),
        choice: TensorChoice::default(),
        layout,
        recipes: Vec::new(),
        shard_bytes: None,
        seed: 0,
    }
}

#[test]
fn what_convert_writes_is_decoded_to_the_values_of_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("w.safetensors"), folder.path().join("out.safetensors"));
    for format in block_formats().iter().filter(|format| format.offset.is_none()) {
        // Rows that end in a short block, and odd ones.
        for columns in [64, 40, 33] {
            let weights = weights(7 * columns);
            let bytes = weights.iter().flat_map(|value| value.to_le_bytes()).collect();
            write(&from, &[array("w", &[7, columns], self::format("f32"), bytes)]);
            in_names(format, ArrayNames::default()).run(&from, &to, &mut |_, _| {}).unwrap();
            let checkpoint = open(&to);
            assert_eq!(checkpoint.tensors.len(), 1, "{format}");
            assert_eq!(checkpoint.tensors[0].layouts, [format!("tcnum-{format}")]);
            assert_eq!(checkpoint.tensors[0].shape, [7, columns]);
            assert_eq!(
                values(&checkpoint, "w"),
                Quantizer::new(format).quantize(&weights, columns).dequantize(),
                "{format} {columns}"
            );
        }
    }
}

#[test]
fn what_convert_writes_in_the_layout_of_another_program_is_decoded_to_the_values_of_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("w.safetensors"), folder.path().join("out.safetensors"));
    let weights = weights(256 * 256);
    let bytes: Vec<u8> = weights.iter().flat_map(|value| value.to_le_bytes()).collect();
    write(&from, &[array("l.weight", &[256, 256], self::format("f32"), bytes)]);
    let full_extent = BlockFormat::WHOLE;
    let with_scales = |name, rows, length| BlockFormat::with_f32_scales(find(name).unwrap(), rows, length).unwrap();
    let mut count = 0;
    for (layout, format) in [
        ("compressed-tensors-nvfp4", block("nvfp4").unwrap()),
        ("compressed-tensors-mxfp4", block("mxfp4").unwrap()),
        ("compressed-tensors-mxfp6", block("mxfp6").unwrap()),
        ("compressed-tensors-mxfp8", block("mxfp8").unwrap()),
        ("compressed-tensors-float", with_scales("e4m3", 1, full_extent)),
        ("modelopt-nvfp4", block("nvfp4").unwrap()),
        ("modelopt-fp8", with_scales("e4m3", full_extent, full_extent)),
        ("deepseek-fp8", block("fp8-128x128").unwrap()),
        ("compressed-tensors-int4", block("s4-1x128").unwrap()),
        ("compressed-tensors-int4", with_scales("s4", 1, full_extent)),
        ("compressed-tensors-int8", with_scales("s8", 1, 64)),
        ("gpt-oss", block("mxfp4").unwrap()),
    ] {
        to_layout(format, layout).run(&from, &to, &mut |_, _| {}).unwrap();
        let checkpoint = open(&to);
        assert!(checkpoint.tensors[0].layouts.iter().any(|name| name == layout), "{:?}", checkpoint.tensors[0].layouts);
        assert_eq!(checkpoint.tensors[0].shape, [256, 256], "{layout}");
        let expected = Quantizer::new(format).quantize(&weights, 256).dequantize();
        for (value, expected) in values(&checkpoint, "l.weight").into_iter().zip(expected) {
            // The reciprocal of a tensor scale is rounded.
            let slack = if layout == "compressed-tensors-nvfp4" { expected.abs() * 2f32.powi(-22) } else { 0.0 };
            assert!((value - expected).abs() <= slack, "{layout}: {value} {expected}");
            count += 1;
        }
    }
    assert_eq!(count, 12 * 256 * 256);
}

#[test]
fn scales_are_written_in_the_type_that_the_program_of_the_layout_reads() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from.safetensors"), folder.path().join("to.safetensors"));
    write(&from, &[array("l.weight", &[128, 128], self::format("f32"), vec![0x3f; 4 * 128 * 128])]);
    for (layout, format, scales, expected) in [
        ("compressed-tensors-mxfp4", "mxfp4", "l.weight_scale", "U8"),
        ("compressed-tensors-mxfp8", "mxfp8", "l.weight_scale", "U8"),
        ("compressed-tensors-nvfp4", "nvfp4", "l.weight_scale", "F8_E4M3"),
        ("modelopt-nvfp4", "nvfp4", "l.weight_scale", "F8_E4M3"),
        ("deepseek-fp8", "fp8-128x128", "l.weight_scale_inv", "F32"),
    ] {
        let format = block(format).unwrap();
        let conversion = to_layout(format, layout);
        conversion.run(&from, &to, &mut |_, _| {}).unwrap();
        let file = ArrayFile::open(&to).unwrap();
        let array = file.arrays.iter().find(|array| array.name == scales).unwrap();
        assert_eq!(array.kind.type_name(), expected, "{layout}");
    }
}

#[test]
fn codes_of_six_bits_lie_four_in_three_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from.safetensors"), folder.path().join("to.safetensors"));
    // Codes 1, 2, 3 and 4 of e2m3 under a scale of 1; the last value of a block decides the scale.
    let mut weights = vec![0.0f32; 32];
    (weights[0], weights[1], weights[2], weights[3], weights[31]) = (0.125, 0.25, 0.375, 0.5, 7.5);
    write(&from, &[array("l.weight", &[1, 32], self::format("f32"), weights.into_iter().flat_map(single).collect())]);
    let format = block("mxfp6").unwrap();
    to_layout(format, "compressed-tensors-mxfp6").run(&from, &to, &mut |_, _| {}).unwrap();
    let all = Arrays::read(&to).unwrap();
    let packed = all.get("l.weight_packed").unwrap();
    assert_eq!((&packed.shape, packed.kind), (&vec![1, 24], BYTES));
    let word = 1u32 | 2 << 6 | 3 << 12 | 4 << 18;
    assert_eq!(packed.bytes[..3], word.to_le_bytes()[..3]);
    assert_eq!(all.get("l.weight_scale").unwrap().bytes[..], [127]);
}

#[test]
fn tensors_that_the_program_of_a_layout_cannot_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from.safetensors"), folder.path().join("to.safetensors"));
    let written = |layout: &str, format: &'static BlockFormat, shape: &[usize]| {
        let bytes = weights(shape.iter().product()).into_iter().flat_map(single).collect();
        write(&from, &[array("l.weight", shape, self::format("f32"), bytes)]);
        let conversion = to_layout(format, layout);
        conversion.run(&from, &to, &mut |_, _| {}).map(|_| ()).map_err(|error| error.to_string())
    };
    let e4m3_blocks = |rows, length| BlockFormat::with_f32_scales(find("e4m3").unwrap(), rows, length).unwrap();
    let blocks = |name: &str| block(name).unwrap();
    for (layout, format, shape, part) in [
        ("compressed-tensors-nvfp4", blocks("nvfp4"), &[7, 40][..], "rows of whole blocks of 16"),
        ("compressed-tensors-nvfp4", blocks("nvfp4"), &[5, 9], "rows of whole blocks of 16"),
        ("compressed-tensors-nvfp4", blocks("nvfp4"), &[2, 4, 32], "tensors of 2 dimensions"),
        ("compressed-tensors-mxfp4", blocks("mxfp4"), &[4, 48], "rows of whole blocks of 32"),
        ("compressed-tensors-mxfp6", blocks("mxfp6"), &[4, 48], "rows of whole blocks of 32"),
        ("compressed-tensors-mxfp8", blocks("mxfp8"), &[4, 48], "rows of whole blocks of 32"),
        ("compressed-tensors-float", e4m3_blocks(1, 128), &[4, 300], "rows of whole blocks of 128"),
        ("compressed-tensors-float", e4m3_blocks(128, 128), &[3, 256, 384], "tensors of 2 dimensions"),
        ("modelopt-nvfp4", blocks("nvfp4"), &[7, 40], "rows of whole blocks of 16"),
    ] {
        let error = written(layout, format, shape).unwrap_err();
        assert!(error.contains(part) && error.contains("'l.weight'"), "{layout} {shape:?}: {error}");
    }
    for (layout, format, shape) in [
        ("compressed-tensors-nvfp4", blocks("nvfp4"), &[7, 48][..]),
        ("compressed-tensors-mxfp8", blocks("mxfp8"), &[2, 4, 64]),
        ("compressed-tensors-float", e4m3_blocks(128, 128), &[200, 300]),
        ("compressed-tensors-float", e4m3_blocks(1, BlockFormat::WHOLE), &[2, 4, 300]),
        ("deepseek-fp8", blocks("fp8-128x128"), &[3, 130, 200]),
    ] {
        written(layout, format, shape).unwrap();
    }
}

#[test]
fn a_layout_that_does_not_hold_a_format_is_refused_with_the_reason() {
    let reason = |layout: &str, format: &str| {
        Layout::find(layout).unwrap().written(block(format).unwrap()).unwrap_err().to_string()
    };
    for (layout, format, expected) in [
        ("compressed-tensors-nvfp4", "mxfp4", "it has scales for 1x16, and mxfp4 for 1x32"),
        ("deepseek-fp8", "nvfp4", "it holds other elements than e2m1"),
        ("gguf-q8_0", "q4-0", "GGUF files hold mxfp4, q4-0, q4-1, q8-0, and not q4-0"),
        ("compressed-tensors-int4", "mxfp4", "it holds other elements than e2m1"),
        ("compressed-tensors-int4", "q4-1", "it holds other elements than u4 of q4-1"),
        ("compressed-tensors-mxfp4", "u4-1x128", "it holds other elements than u4"),
        ("compressed-tensors-mxfp8", "fp8-1x128", "it has scales for 1x32"),
    ] {
        assert!(reason(layout, format).contains(expected), "{layout}: {}", reason(layout, format));
    }
}
