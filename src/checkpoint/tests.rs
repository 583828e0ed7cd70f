//! Tests of checkpoints.

use std::{collections::BTreeMap, fs, path::Path};

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Checkpoint, CheckpointTensorRow, Layout, Packing, Sharing, Survey, compare, swizzle, tensor::GlobalScale};
use crate::{
    array::{Array, ArrayFile, Arrays, Content},
    convert::{ArrayNames, ConversionTarget, FileContent, FileConversion, TensorChoice},
    format::{
        Overflow, Real, Rounding,
        block::{BlockFormat, Quantizer, find as block, formats as block_formats, pack_pairs},
        find,
    },
};

fn array(name: &str, shape: &[usize], kind: Content, bytes: Vec<u8>) -> Array<'static> {
    Array { name: name.into(), shape: shape.to_vec(), kind, bytes: bytes.into() }
}

fn format(name: &str) -> Content {
    Content::Format(find(name).unwrap())
}

const BYTES: Content = Content::Unsigned(1);

fn single(value: f32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn write(path: &Path, arrays: &[Array<'static>]) {
    Arrays { arrays: arrays.to_vec(), metadata: BTreeMap::new() }.write(path).unwrap();
}

fn open(path: &Path) -> Checkpoint {
    Checkpoint::open(path, None, None).unwrap()
}

fn values(checkpoint: &Checkpoint, name: &str) -> Vec<f32> {
    let tensor = checkpoint.get(name).unwrap();
    tensor.pieces().flat_map(|piece| checkpoint.read(tensor, &piece, None).unwrap()).collect()
}

/// Weights like those of a model.
fn weights(count: usize) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let uniform = |random: &mut ChaCha8Rng| random.random_range(-1.0f32..1.0);
    (0..count).map(|_| (0..6).map(|_| uniform(&mut random)).sum::<f32>() * 0.02).collect()
}

/// A tensor of NVFP4: codes, codes of scales and the scale of the tensor, which multiplies.
struct Nvfp4 {
    shape: [usize; 2],
    codes: Vec<u8>,
    scales: Vec<u8>,
    tensor_scale: f32,
    values: Vec<f32>,
}

fn nvfp4(rows: usize, columns: usize) -> Nvfp4 {
    let mut weights = weights(rows * columns);
    // A block of zeros shows where scales are.
    let zeros = (columns - 32).min(224);
    weights[zeros..zeros + 16].fill(0.0);
    let blocks = Quantizer::new(block("nvfp4").unwrap()).quantize(&weights, columns);
    Nvfp4 {
        shape: [rows, columns],
        values: blocks.dequantize(),
        tensor_scale: f32::from_bits(blocks.tensor_scale.unwrap() as u32),
        codes: blocks.elements,
        scales: blocks.scales.iter().map(|code| *code as u8).collect(),
    }
}

impl Nvfp4 {
    /// The arrays of ModelOpt.
    fn modelopt(&self) -> Vec<Array<'static>> {
        let [rows, columns] = self.shape;
        vec![
            array("l.weight", &[rows, columns / 2], BYTES, pack_pairs(&self.codes, columns)),
            array("l.weight_scale", &[rows, columns / 16], format("e4m3"), self.scales.clone()),
            array("l.weight_scale_2", &[], format("f32"), single(self.tensor_scale)),
        ]
    }

    /// The arrays of compressed-tensors, with this global scale.
    fn compressed(&self, global: f32) -> Vec<Array<'static>> {
        let mut arrays = self.modelopt();
        arrays[0].name = "l.weight_packed".into();
        arrays[2] = array("l.weight_global_scale", &[1], format("f32"), single(global));
        arrays
    }

    /// Codes with the nibbles of a byte 16 apart.
    fn halves(&self) -> Vec<u8> {
        self.codes
            .chunks(32)
            .flat_map(|run| (0..16).map(|at| run[at] | run[at + 16] << 4).collect::<Vec<u8>>())
            .collect()
    }

    /// Scales in tiles of 128 rows and 4 columns.
    fn tiles(&self) -> Vec<u8> {
        let columns = self.shape[1] / 16;
        let mut tiles = vec![0; swizzle::padded(self.shape[0], columns).unwrap()];
        for (at, scale) in self.scales.iter().enumerate() {
            tiles[swizzle::place(at / columns, at % columns, columns)] = *scale;
        }
        tiles
    }
}

#[test]
fn what_convert_writes_is_decoded_to_the_values_of_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("w.safetensors"), folder.path().join("out.safetensors"));
    for format in block_formats() {
        // Rows that end in a short block, and odd ones.
        for columns in [64, 40, 33] {
            let weights = weights(7 * columns);
            let bytes = weights.iter().flat_map(|value| value.to_le_bytes()).collect();
            write(&from, &[array("w", &[7, columns], self::format("f32"), bytes)]);
            let quantizer = Quantizer::new(format);
            let to_blocks = ConversionTarget::Blocks(quantizer);
            let conversion = FileConversion {
                from: FileContent::Scalar(None),
                to: to_blocks,
                names: Vec::new(),
                choice: TensorChoice::default(),
                layout: ArrayNames::default(),
                seed: 0,
            };
            conversion.run(&from, &to, &mut |_, _| {}).unwrap();
            let checkpoint = open(&to);
            assert_eq!(checkpoint.tensors.len(), 1, "{format}");
            assert_eq!(checkpoint.tensors[0].layouts, [format!("tcnum-{format}")]);
            assert_eq!(checkpoint.tensors[0].shape, [7, columns]);
            assert_eq!(
                values(&checkpoint, "w"),
                quantizer.quantize(&weights, columns).dequantize(),
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
    let whole = BlockFormat::WHOLE;
    let scaled = |rows, length| BlockFormat::scaled(find("e4m3").unwrap(), rows, length).unwrap();
    let mut count = 0;
    for (layout, format) in [
        ("compressed-tensors-nvfp4", block("nvfp4").unwrap()),
        ("compressed-tensors-mxfp4", block("mxfp4").unwrap()),
        ("compressed-tensors-mxfp8", block("mxfp8").unwrap()),
        ("compressed-tensors-float", scaled(1, whole)),
        ("modelopt-nvfp4", block("nvfp4").unwrap()),
        ("modelopt-fp8", scaled(whole, whole)),
        ("deepseek-fp8", block("fp8-128x128").unwrap()),
    ] {
        let names = Layout::find(layout).unwrap().written(format).unwrap();
        let quantizer = Quantizer::new(format);
        let conversion = FileConversion {
            from: FileContent::Scalar(None),
            to: ConversionTarget::Blocks(quantizer),
            names: Vec::new(),
            choice: TensorChoice::default(),
            layout: names,
            seed: 0,
        };
        conversion.run(&from, &to, &mut |_, _| {}).unwrap();
        let checkpoint = open(&to);
        assert!(checkpoint.tensors[0].layouts.iter().any(|own| own == layout), "{:?}", checkpoint.tensors[0].layouts);
        assert_eq!(checkpoint.tensors[0].shape, [256, 256], "{layout}");
        let expected = quantizer.quantize(&weights, 256).dequantize();
        for (own, expected) in values(&checkpoint, "l.weight").into_iter().zip(expected) {
            // The reciprocal of a tensor scale is rounded.
            let slack = if layout == "compressed-tensors-nvfp4" { expected.abs() * 2f32.powi(-22) } else { 0.0 };
            assert!((own - expected).abs() <= slack, "{layout}: {own} {expected}");
            count += 1;
        }
    }
    assert_eq!(count, 7 * 256 * 256);
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
        let conversion = FileConversion {
            from: FileContent::Scalar(None),
            to: ConversionTarget::Blocks(Quantizer::new(format)),
            names: Vec::new(),
            choice: TensorChoice::default(),
            layout: Layout::find(layout).unwrap().written(format).unwrap(),
            seed: 0,
        };
        conversion.run(&from, &to, &mut |_, _| {}).unwrap();
        let file = ArrayFile::open(&to).unwrap();
        let array = file.arrays.iter().find(|array| array.name == scales).unwrap();
        assert_eq!(array.kind.type_name(), expected, "{layout}");
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
        ("gguf-q8_0", "q8-0", "it is read, not written"),
        ("compressed-tensors-int4", "mxfp4", "it is read, not written"),
        ("compressed-tensors-mxfp8", "fp8-1x128", "it has scales for 1x32"),
    ] {
        assert!(reason(layout, format).contains(expected), "{layout}: {}", reason(layout, format));
    }
}

#[test]
fn modelopt_and_compressed_tensors_have_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(32, 256);
    write(&path, &own.modelopt());
    assert_eq!(values(&open(&path), "l.weight"), own.values);
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
    let own = nvfp4(2, 32);
    let f32 = find("f32").unwrap();
    for global in [3.0f32, 2751.3, 1.0 / 3.0] {
        write(&path, &own.compressed(global));
        let found = values(&open(&path), "l.weight");
        let (e2m1, e4m3) = (find("e2m1").unwrap(), find("e4m3").unwrap());
        for (at, found) in found.iter().enumerate() {
            let product = e2m1.to_f64(u64::from(own.codes[at])) * e4m3.to_f64(u64::from(own.scales[at / 16]));
            // The neighbours of the quotient are on its two sides: |product - found * global| is at most half an ulp times global.
            let error = (product - f64::from(*found) * f64::from(global)).abs();
            let ulp = f64::from(f32::from_bits(found.abs().to_bits() + 1) - found.abs());
            assert!(error <= ulp / 2.0 * f64::from(global) * (1.0 + 1e-12), "{product} / {global}: {found}");
            assert!(f32.encode(&Real::from(f64::from(*found)), Rounding::Rne, Overflow::Standard).is_some());
        }
    }
}

fn row(path: &Path) -> CheckpointTensorRow {
    let checkpoint = open(path);
    let tensor = checkpoint.get("l.weight").unwrap();
    let survey = Survey::of(&checkpoint, tensor, &mut |_| {}).unwrap();
    CheckpointTensorRow::new(tensor, Some(&survey), "e2m1".into())
}

#[test]
fn values_decide_the_direction_of_the_global_scale() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(64, 256);
    let reciprocal = 1.0 / own.tensor_scale;
    write(&path, &own.compressed(reciprocal));
    let right = row(&path);
    assert_eq!((right.global_scale_use, right.global_scale_by.as_deref()), (Some("divides"), Some("values")));
    write(&path, &own.compressed(own.tensor_scale));
    let wrong = row(&path);
    assert_eq!(wrong.global_scale_by.as_deref(), Some("names"));
    assert!(wrong.doubt.unwrap().contains("values contradict the global scale: if it multiplies"));
    assert!(wrong.largest.unwrap() > 1e6);
    write(&path, &own.compressed(1.0));
    assert!(row(&path).doubt.unwrap().contains("both directions give the same values"));
    write(&path, &own.compressed(1.5));
    assert!(row(&path).doubt.unwrap().contains("values do not decide the global scale"));
}

#[test]
fn values_decide_whether_the_nibbles_of_a_byte_are_neighbours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(64, 256);
    write(&path, &own.modelopt());
    assert_eq!(row(&path).nibble_order_by.as_deref(), Some("names, by values neighbours"));
    let mut apart = own.modelopt();
    apart[0].bytes = own.halves().into();
    write(&path, &apart);
    let doubt = row(&path).doubt.unwrap();
    assert!(doubt.contains("values contradict the order of nibbles: nibbles of a byte are 16 apart"), "{doubt}");
    // Swapped nibbles stay in their blocks.
    let mut swapped = own.modelopt();
    swapped[0].bytes = own.modelopt()[0].bytes.iter().map(|byte| byte.rotate_left(4)).collect();
    write(&path, &swapped);
    assert!(!row(&path).doubt.is_some_and(|doubt| doubt.contains("order of nibbles")));
}

#[test]
fn blocks_of_zeros_and_shapes_decide_the_order_of_scales() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(128, 256);
    let order = |arrays: &[Array<'static>]| {
        write(&path, arrays);
        let row = row(&path);
        (row.scale_order.unwrap(), row.scale_order_by.unwrap(), row.doubt.unwrap_or_default())
    };
    let (words, by, _) = order(&own.modelopt());
    assert_eq!((words.as_str(), by.as_str()), ("scales in rows", "values"));
    let mut tiles = own.modelopt();
    tiles[1].bytes = own.tiles().into();
    let (words, _, doubt) = order(&tiles);
    assert_eq!(words, "scales in rows");
    assert!(
        doubt.contains("values contradict the order of scales: blocks of zeros fit scales in tiles of 128x4"),
        "{doubt}"
    );
    // Rows that fill no tile leave one order.
    let own = nvfp4(100, 256);
    let (words, by, _) = order(&own.modelopt());
    assert_eq!((words.as_str(), by.as_str()), ("scales in rows", "shape"));
    let mut tiles = own.modelopt();
    tiles[1] = array("l.weight_scale", &[128, 16], format("e4m3"), own.tiles());
    let (words, by, _) = order(&tiles);
    assert_eq!((words.as_str(), by.as_str()), ("scales in tiles of 128x4", "shape"));
    assert_eq!(values(&open(&path), "l.weight"), own.values);
}

#[test]
fn a_difference_is_explained_by_the_convention_that_makes_it() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("1.safetensors"), folder.path().join("2.safetensors"));
    let own = nvfp4(128, 256);
    let finding = |first: &[Array<'static>], second: &[Array<'static>]| {
        write(&one, first);
        write(&two, second);
        let (x, y) = (open(&one), open(&two));
        compare((&x, x.get("l.weight").unwrap()), (&y, y.get("l.weight").unwrap()), &mut |_| {}).unwrap()
    };
    let base = own.modelopt();
    let changed = |at: usize, bytes: Vec<u8>| {
        let mut arrays = own.modelopt();
        arrays[at].bytes = bytes.into();
        arrays
    };
    assert_eq!(finding(&base, &base).finding, "same values");
    let swapped: Vec<u8> = base[0].bytes.iter().map(|byte| byte.rotate_left(4)).collect();
    let reversed = finding(&base, &changed(2, single(1.0 / own.tensor_scale)));
    assert!(reversed.finding.contains("reciprocal"), "{}", reversed.finding);
    assert_eq!((reversed.same_codes, reversed.same_scales), (Some(true), Some(true)));
    for (other, part) in [
        (changed(0, swapped.clone()), "the second file's nibbles are in another order (high nibble first)"),
        (changed(0, own.halves()), "the second file's nibbles are in another order (nibbles 16 apart)"),
        (changed(1, own.tiles()), "the second file has its scales in tiles of 128x4"),
    ] {
        let found = finding(&base, &other);
        assert!(
            found.finding.starts_with("same codes and scales, but ") && found.finding.contains(part),
            "{}",
            found.finding
        );
        assert!(finding(&other, &base).finding.starts_with("same codes and scales, but "));
        // Against decoded values too.
        let bytes = own.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let plain = [array("l.weight", &own.shape, format("f32"), bytes)];
        assert_eq!(finding(&plain, &base).finding, "same values");
        let found = finding(&plain, &other);
        assert!(found.finding.contains("the same values if the second file has"), "{}", found.finding);
    }
    let mut codes = base[0].bytes.to_vec();
    codes[5] ^= 3;
    let found = finding(&base, &changed(0, codes));
    assert_eq!((found.finding.as_str(), found.differ), ("same scales, but the codes differ", Some(1)));
    let rounded = finding(&own.compressed(1.0 / own.tensor_scale), &base);
    assert!(rounded.finding.contains("differ by rounding") || rounded.finding == "same values", "{}", rounded.finding);
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
    let found = values(&open(&path), "l.weight");
    assert_eq!((found[127 * 96], found[128 * 96]), (2.0, 3.0));
    let config = |text: &str| fs::write(folder.path().join("config.json"), text).unwrap();
    config(r#"{"quantization_config": {"quant_method": "fp8", "weight_block_size": [96, 96]}}"#);
    let tensor = open(&path).tensors[0].clone();
    assert_eq!((tensor.named_by, tensor.quantised().unwrap().sharing), ("config", Sharing::Block(96, 96)));
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
    assert_eq!(open(&path).notes, ["config.json names 'awq', which no layout has."]);
    config("[[[");
    assert!(Checkpoint::open(&path, None, None).unwrap_err().to_string().contains("not JSON"));
}

#[test]
fn words_and_blocks_of_the_other_layouts_are_decoded() {
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
    let found = values(&checkpoint, "m.w");
    let expected = [(0.0, 1.0), (0.5 * 2.0, 2.0), (1.0 / 2.0, 0.5), (1.5, 1.0)];
    for (at, (even, odd)) in expected.into_iter().enumerate() {
        assert!(found[32 * at..32 * (at + 1)].chunks(2).all(|pair| pair == [even, odd]), "{at}");
    }
    // A zero point is subtracted before the scale multiplies.
    write(
        &path,
        &[
            array("l.weight", &[1, 3], format("s8"), vec![0x80, 7, 127]),
            array("l.weight_scale", &[1], format("f32"), single(0.5)),
            array("l.weight_zero_point", &[1], format("s8"), vec![7]),
        ],
    );
    assert_eq!(values(&open(&path), "l.weight"), [-67.5, 0.0, 60.0]);
    // What changes the meaning of codes is said, and not left out.
    write(
        &path,
        &[
            array("l.weight_packed", &[2, 1], format("s32"), vec![0; 8]),
            array("l.weight_shape", &[2], format("s64"), [2u64, 8].map(u64::to_le_bytes).concat()),
            array("l.weight_scale", &[2, 1], format("f32"), vec![0; 8]),
            array("l.weight_g_idx", &[8], format("s32"), vec![0; 32]),
        ],
    );
    let checkpoint = open(&path);
    let tensor = checkpoint.get("l.weight").unwrap();
    let piece = tensor.pieces().next().unwrap();
    let error = checkpoint.read(tensor, &piece, None).unwrap_err().to_string();
    assert!(!tensor.is_decoded() && error.contains("'l.weight_g_idx' changes the meaning"), "{error}");
}

#[test]
fn blocks_of_gguf_have_their_nibbles_16_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut file = [b"GGUF", &3u32.to_le_bytes()[..], &3u64.to_le_bytes(), &0u64.to_le_bytes()].concat();
    for (name, number, place) in [("q4", 2u32, 0u64), ("q8", 8, 32), ("mx", 39, 96)] {
        file.extend([text(name), 1u32.to_le_bytes().to_vec(), 32u64.to_le_bytes().to_vec()].concat());
        file.extend([&number.to_le_bytes()[..], &place.to_le_bytes()].concat());
    }
    file.resize(file.len().next_multiple_of(32), 0);
    let start = file.len();
    let nibbles: Vec<u8> = (0..16).map(|n| n | (15 - n) << 4).collect();
    // Scales: 2.0, 0.5 and 2^1.
    file.extend([&0x4000u16.to_le_bytes()[..], &nibbles].concat());
    file.resize(start + 32, 0);
    file.extend([&0x3800u16.to_le_bytes()[..], &(0..32u8).map(|n| n.wrapping_sub(16)).collect::<Vec<u8>>()].concat());
    file.resize(start + 96, 0);
    file.extend([&[128u8][..], &nibbles].concat());
    fs::write(&path, &file).unwrap();
    let checkpoint = open(&path);
    let up_down = |value: &dyn Fn(u8) -> f32| (0..16).chain((0..16).rev()).map(value).collect::<Vec<f32>>();
    assert_eq!(values(&checkpoint, "q4"), up_down(&|n| 2.0 * (f32::from(n) - 8.0)));
    assert_eq!(values(&checkpoint, "q8"), (0..32).map(|n| (n as f32 - 16.0) / 2.0).collect::<Vec<f32>>());
    let e2m1 = find("e2m1").unwrap();
    assert_eq!(values(&checkpoint, "mx"), up_down(&|n| 2.0 * e2m1.to_f64(u64::from(n)) as f32));
    assert_eq!(checkpoint.get("mx").unwrap().reading().unwrap().packing, Packing::Halves(32));
    fs::write(&path, &file[..file.len() - 1]).unwrap();
    let error = open(&path).complete().unwrap_err().to_string();
    assert!(error.contains("'mx': the file ends in its data"), "{error}");
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
fn damaged_checkpoints_are_refused_or_read_whatever_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(4, 64);
    write(&path, &own.compressed(2048.0));
    let good = fs::read(&path).unwrap();
    let read = |bytes: &[u8]| -> crate::Result<()> {
        fs::write(&path, bytes).unwrap();
        let checkpoint = Checkpoint::open(&path, None, None)?;
        for tensor in checkpoint.tensors.iter().filter(|tensor| tensor.is_decoded()) {
            Survey::of(&checkpoint, tensor, &mut |_| {})?;
        }
        checkpoint.complete()
    };
    read(&good).unwrap();
    for end in (0..good.len()).step_by(7) {
        assert_eq!(read(&good[..end]).unwrap_err().exit_status(), 2, "{end}");
    }
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..400 {
        let mut changed = good.clone();
        let at = random.next_u32() as usize % (good.len() - own.codes.len() / 2);
        changed[at] = random.next_u32() as u8;
        if let Err(error) = read(&changed) {
            assert_eq!(error.exit_status(), 2);
        }
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused_with_the_shapes_of_both() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(4, 64);
    let refused = |arrays: &[Array<'static>], parts: &[&str]| {
        write(&path, arrays);
        let error = open(&path).complete().unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(parts.iter().all(|part| error.to_string().contains(part)), "{error}");
    };
    let good = own.compressed(2048.0);
    let without = |at: usize| {
        good.iter().enumerate().filter(|(own, _)| *own != at).map(|(_, array)| array.clone()).collect::<Vec<_>>()
    };
    refused(&without(1), &["'l.weight_packed': the array 'l.weight_scale' with its scales is missing"]);
    refused(&without(2), &["the array 'l.weight_global_scale' with its global scale is missing"]);
    let mut coarse = good.clone();
    coarse[1] = array("l.weight_scale", &[4, 2], format("e4m3"), vec![0x38; 8]);
    refused(
        &coarse,
        &["blocks of 1x16 need scales of the shape [4, 4]", "'l.weight_scale' has [4, 2], the shape for 1x32"],
    );
    let mut two = good.clone();
    two[2] = array("l.weight_global_scale", &[3], format("f32"), vec![0; 12]);
    refused(&two, &["'l.weight_global_scale' has the shape [3], and a global scale is one number"]);
}

#[test]
fn a_layout_of_the_users_own_is_the_only_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(64, 256);
    let mut arrays = own.modelopt();
    arrays[0] = array("l.q", &[64, 128], BYTES, own.codes.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect());
    arrays[1].name = "l.s".into();
    arrays[2].name = "l.g".into();
    write(&path, &arrays);
    let text = "title = 'mine'\nsource = 'me'\ntensor = '*weight'\n[codes]\nname = '*q'\nstored = ['U8']\nformat = 'e2m1'\npacking = 'high-first'\n\
                [scale]\nname = '*s'\nstored = ['F8_E4M3']\nblock = '1x16'\n[global]\nname = '*g'\nstored = ['F32']\nuse = 'multiplies'\n";
    let layout = Layout::parse(text, "mine", "mine.toml").unwrap();
    let checkpoint = Checkpoint::open(&path, Some(&layout), None).unwrap();
    assert_eq!((checkpoint.tensors.len(), checkpoint.tensors[0].named_by), (1, "--layout"));
    assert_eq!(values(&checkpoint, "l.weight"), own.values);
    assert_eq!(checkpoint.tensors[0].reading().unwrap().global, Some(GlobalScale::Multiplies));
    assert_eq!(open(&path).tensors.len(), 3);
}

#[test]
fn codes_of_a_packed_type_are_read_by_a_layout_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(4, 64);
    let mut arrays = own.modelopt();
    // A file keeps the type of codes that are packed.
    arrays[0] = array("l.weight", &[4, 64], format("e2m1"), pack_pairs(&own.codes, 64));
    write(&path, &arrays);
    assert_eq!(open(&path).get("l.weight").unwrap().layouts, Vec::<String>::new());
    let text = include_str!("../../layouts/modelopt-nvfp4.toml").replace("\"U8\"", "\"F4\"");
    let layout = Layout::parse(&text, "mine", "mine.toml").unwrap();
    let checkpoint = Checkpoint::open(&path, Some(&layout), None).unwrap();
    assert_eq!((checkpoint.tensors.len(), &checkpoint.tensors[0].shape), (1, &vec![4, 64]));
    assert_eq!(values(&checkpoint, "l.weight"), own.values);
}

#[test]
fn long_rows_are_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let own = nvfp4(2, 3 << 16);
    write(&path, &own.modelopt());
    let checkpoint = open(&path);
    assert!(checkpoint.tensors[0].pieces().all(|piece| piece.len() <= 1 << 16));
    assert_eq!(values(&checkpoint, "l.weight"), own.values);
    // In tiles, too.
    let mut tiles = own.modelopt();
    tiles[1] = array("l.weight_scale", &[128, 3 << 12], format("e4m3"), own.tiles());
    write(&path, &tiles);
    assert_eq!(values(&open(&path), "l.weight"), own.values);
}
