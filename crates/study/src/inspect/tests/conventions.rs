//! Conventions that values and shapes decide, and what differs between two checkpoints.

use super::*;

fn row(path: &Path) -> CheckpointTensorRow {
    let checkpoint = open(path);
    let tensor = checkpoint.get("l.weight").unwrap();
    let survey = Survey::of(&checkpoint, tensor, &mut |_| {}).unwrap();
    CheckpointTensorRow::new(tensor, crate::tensor::ArrayRole::Weight, Some(&survey), "e2m1".into())
}

#[test]
fn values_decide_the_direction_of_the_global_scale() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(64, 256);
    let reciprocal = 1.0 / tensor.tensor_scale;
    write(&path, &tensor.compressed(reciprocal));
    let right = row(&path);
    assert_eq!((right.global_scale_use, right.global_scale_by.as_deref()), (Some("divides"), Some("values")));
    write(&path, &tensor.compressed(tensor.tensor_scale));
    let wrong = row(&path);
    assert_eq!(wrong.global_scale_by.as_deref(), Some("names"));
    assert!(wrong.doubt.unwrap().contains("values contradict the global scale: if it multiplies"));
    assert!(wrong.largest.unwrap() > 1e6);
    write(&path, &tensor.compressed(1.0));
    assert!(row(&path).doubt.unwrap().contains("both directions give the same values"));
    write(&path, &tensor.compressed(1.5));
    assert!(row(&path).doubt.unwrap().contains("values do not decide the global scale"));
}

#[test]
fn values_exclude_nibbles_that_lie_in_other_blocks_and_decide_no_other_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(64, 256);
    write(&path, &tensor.modelopt());
    let usual = row(&path);
    assert_eq!(usual.nibble_order_by.as_deref(), Some("names; values exclude nibbles 16 apart"));
    let open_orders = "only names decide the order of nibbles: high nibble first or nibbles 8 apart would put the same codes into each block";
    assert!(usual.doubt.as_deref().unwrap().contains(open_orders), "{:?}", usual.doubt);
    let mut apart = tensor.modelopt();
    apart[0].bytes = tensor.halves().into();
    write(&path, &apart);
    let doubt = row(&path).doubt.unwrap();
    assert!(doubt.contains("values contradict the order of nibbles: nibbles 16 apart fit"), "{doubt}");
    // Swapped nibbles, and those 8 apart, stay in their blocks: all is as with the usual order.
    let packed = tensor.modelopt()[0].bytes.to_vec();
    let swapped = packed.iter().map(|byte| byte.rotate_left(4)).collect::<Vec<u8>>();
    let eight =
        tensor.codes.chunks(16).flat_map(|run| (0..8).map(|at| run[at] | run[at + 8] << 4).collect::<Vec<u8>>());
    for bytes in [swapped, eight.collect()] {
        let mut other = tensor.modelopt();
        other[0].bytes = bytes.into();
        write(&path, &other);
        let tensor_row = row(&path);
        assert_eq!(
            (tensor_row.nibble_order_by, tensor_row.doubt),
            (usual.nibble_order_by.clone(), usual.doubt.clone())
        );
    }
    // A description decides.
    write(&path, &tensor.modelopt());
    let config = r#"{"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}"#;
    fs::write(folder.path().join("config.json"), config).unwrap();
    assert!(!row(&path).doubt.is_some_and(|doubt| doubt.contains("order of nibbles")));
}

#[test]
fn a_description_of_another_layout_is_a_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    write(&path, &nvfp4(64, 256).compressed(2048.0));
    let config = r#"{"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}"#;
    fs::write(folder.path().join("config.json"), config).unwrap();
    let doubt = row(&path).doubt.unwrap();
    assert!(doubt.contains("config.json names modelopt-nvfp4, which these arrays do not fit"), "{doubt}");
}

#[test]
fn scales_that_cannot_be_right_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let doubt = |arrays: &[Array<'static>]| {
        write(&path, arrays);
        row(&path).doubt.unwrap_or_default()
    };
    let tensor = nvfp4(100, 256);
    for (global, word) in [(0.0f32, "0"), (f32::NAN, "NaN"), (f32::INFINITY, "inf"), (-2048.0, "-2048")] {
        let doubts = doubt(&tensor.compressed(global));
        assert!(doubts.contains(&format!("the global scale is {word}, and scales are positive numbers")), "{doubts}");
    }
    let mut wrong = tensor.modelopt();
    let mut scales = tensor.scales.clone();
    (scales[3], scales[40], scales[41]) = (0x7f, 0xb8, 0xb9);
    wrong[1].bytes = scales.into();
    let doubts = doubt(&wrong);
    assert!(doubts.contains("1 scale is NaN; 2 scales are negative"), "{doubts}");
    // Scales of one tensor, of rows and of blocks, and their reciprocals.
    for (columns, scales) in [(300, vec![1]), (300, vec![200, 1]), (256, vec![2, 2])] {
        let fp8 = |scale: f32| {
            let count = scales.iter().product::<usize>();
            [
                array("l.weight", &[200, columns], format("e4m3"), vec![0x7e; 200 * columns]),
                array("l.weight_scale", &scales, format("f32"), single(scale).repeat(count)),
            ]
        };
        assert!(!doubt(&fp8(2e-4)).contains("weights"), "{scales:?}");
        assert!(doubt(&fp8(5e3)).contains("the largest value is 2.24e+06, and weights are rarely above 1e3"));
        assert!(doubt(&fp8(1e-10)).contains("rarely below 1e-6: scales may be reciprocals"));
    }
    // A scale that serves many rows and several pieces is counted once.
    let mut wide = [
        array("l.weight", &[200, 70_000], format("e4m3"), vec![0x38; 200 * 70_000]),
        array("l.weight_scale_inv", &[2, 547], format("f32"), single(-0.01).repeat(2 * 547)),
    ];
    assert!(doubt(&wide).contains("1094 scales are negative"));
    wide[1] = array("l.weight_scale", &[200, 1], format("f32"), single(-0.01).repeat(200));
    assert!(doubt(&wide).contains("200 scales are negative"));
}

#[test]
fn equal_bytes_are_equal_whatever_they_mean() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("1.safetensors"), folder.path().join("2.safetensors"));
    let arrays = |index: u8| {
        [array("l.B", &[2, 64], format("s32"), vec![index; 512]), array("l.s", &[1, 32], format("f16"), vec![0; 64])]
    };
    let finding = |first: u8, second: u8| {
        write(&one, &arrays(first));
        write(&two, &arrays(second));
        let (x, y) = (open(&one), open(&two));
        compare((&x, x.get("l.weight").unwrap()), (&y, y.get("l.weight").unwrap()), &mut |_| {}).unwrap().finding
    };
    assert_eq!(finding(1, 1), "same bytes");
    assert_eq!(finding(1, 2), "not compared: Marlin is not decoded, and the bytes differ");
}

#[test]
fn long_integers_are_compared_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("1.safetensors"), folder.path().join("2.safetensors"));
    let large = 1u64 << 60;
    let compared = |first: (Content, [u64; 3]), second: (Content, [u64; 3])| {
        for (path, (kind, words)) in [(&one, first), (&two, second)] {
            write(path, &[array("p", &[3], kind, words.map(u64::to_le_bytes).concat())]);
        }
        let (x, y) = (open(&one), open(&two));
        compare((&x, x.get("p").unwrap()), (&y, y.get("p").unwrap()), &mut |_| {}).unwrap()
    };
    let (signed, unsigned) = (format("s64"), Content::Unsigned(8));
    let words = [large, large + 7, u64::MAX];
    assert_eq!(compared((signed, words), (signed, words)).finding, "same values");
    let row = compared((signed, words), (signed, [large + 1, large + 7, u64::MAX]));
    assert_eq!((row.finding.as_str(), row.differ, row.max_difference), ("values differ", Some(1), Some(1.0)));
    // The same bits are -1 and 2^64 - 1.
    let row = compared((signed, words), (unsigned, words));
    assert_eq!((row.differ, row.max_difference), (Some(1), Some(2f64.powi(64))));
    assert_eq!(compared((signed, [large, 5, 7]), (unsigned, [large, 5, 7])).finding, "same values");
    let double = |value: f64| value.to_bits();
    let doubles = [double(2f64.powi(60)), double(5.0), double(7.0)];
    assert_eq!(compared((signed, [large, 5, 7]), (format("f64"), doubles)).finding, "same values");
    assert_eq!(compared((signed, [large + 1, 5, 7]), (format("f64"), doubles)).differ, Some(1));
}

#[test]
fn nans_and_infinities_of_one_file_alone_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("1.safetensors"), folder.path().join("2.safetensors"));
    let compared = |first: [f32; 4], second: [f32; 4]| {
        write(&one, &[array("w", &[4], format("f32"), first.map(f32::to_le_bytes).concat())]);
        write(&two, &[array("w", &[4], format("f32"), second.map(f32::to_le_bytes).concat())]);
        let (x, y) = (open(&one), open(&two));
        compare((&x, x.get("w").unwrap()), (&y, y.get("w").unwrap()), &mut |_| {}).unwrap()
    };
    let (nan, infinite) = (f32::NAN, f32::INFINITY);
    let row = compared([1.0, nan, nan, infinite], [1.0, nan, 2.0, 3.0]);
    assert_eq!(row.finding, "values differ; 1 NaN in the first only, 1 infinite in the first only");
    assert_eq!((row.differ, row.max_difference), (Some(2), None));
    let row = compared([1.0, 2.0, nan, infinite], [1.5, nan, nan, infinite]);
    assert_eq!(row.finding, "values differ; 1 NaN in the second only");
    assert_eq!((row.differ, row.max_difference), (Some(2), Some(0.5)));
}

#[test]
fn blocks_of_zeros_and_shapes_decide_the_order_of_scales() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(128, 256);
    let order = |arrays: &[Array<'static>]| {
        write(&path, arrays);
        let row = row(&path);
        (row.scale_order.unwrap(), row.scale_order_by.unwrap(), row.doubt.unwrap_or_default())
    };
    let (words, by, _) = order(&tensor.modelopt());
    assert_eq!((words.as_str(), by.as_str()), ("scales in rows", "values"));
    let mut tiles = tensor.modelopt();
    tiles[1].bytes = tensor.tiles().into();
    let (words, _, doubt) = order(&tiles);
    assert_eq!(words, "scales in rows");
    assert!(
        doubt.contains("values contradict the order of scales: blocks of zeros fit scales in tiles of 128x4"),
        "{doubt}"
    );
    // Rows that fill no tile leave one order.
    let tensor = nvfp4(100, 256);
    let (words, by, _) = order(&tensor.modelopt());
    assert_eq!((words.as_str(), by.as_str()), ("scales in rows", "shape"));
    let mut tiles = tensor.modelopt();
    tiles[1] = array("l.weight_scale", &[128, 16], format("e4m3"), tensor.tiles());
    let (words, by, _) = order(&tiles);
    assert_eq!((words.as_str(), by.as_str()), ("scales in tiles of 128x4", "shape"));
    assert_eq!(values(&open(&path), "l.weight"), tensor.values);
}

#[test]
fn a_difference_is_explained_by_the_convention_that_makes_it() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("1.safetensors"), folder.path().join("2.safetensors"));
    let tensor = nvfp4(128, 256);
    let finding = |first: &[Array<'static>], second: &[Array<'static>]| {
        write(&one, first);
        write(&two, second);
        let (x, y) = (open(&one), open(&two));
        compare((&x, x.get("l.weight").unwrap()), (&y, y.get("l.weight").unwrap()), &mut |_| {}).unwrap()
    };
    let base = tensor.modelopt();
    let changed = |at: usize, bytes: Vec<u8>| {
        let mut arrays = tensor.modelopt();
        arrays[at].bytes = bytes.into();
        arrays
    };
    assert_eq!(finding(&base, &base).finding, "same values");
    let swapped: Vec<u8> = base[0].bytes.iter().map(|byte| byte.rotate_left(4)).collect();
    let reversed = finding(&base, &changed(2, single(1.0 / tensor.tensor_scale)));
    assert!(reversed.finding.contains("reciprocal"), "{}", reversed.finding);
    assert_eq!((reversed.same_codes, reversed.same_scales), (Some(true), Some(true)));
    for (other, part) in [
        (changed(0, swapped.clone()), "the second file's nibbles are in another order (high nibble first)"),
        (changed(0, tensor.halves()), "the second file's nibbles are in another order (nibbles 16 apart)"),
        (changed(1, tensor.tiles()), "the second file has its scales in tiles of 128x4"),
    ] {
        let row = finding(&base, &other);
        assert!(
            row.finding.starts_with("same codes and scales, but ") && row.finding.contains(part),
            "{}",
            row.finding
        );
        assert!(finding(&other, &base).finding.starts_with("same codes and scales, but "));
        // Against decoded values too.
        let bytes = tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let plain = [array("l.weight", &tensor.shape, format("f32"), bytes)];
        assert_eq!(finding(&plain, &base).finding, "same values");
        let row = finding(&plain, &other);
        assert!(row.finding.contains("the same values if the second file has"), "{}", row.finding);
    }
    let mut codes = base[0].bytes.to_vec();
    codes[5] ^= 3;
    let row = finding(&base, &changed(0, codes));
    assert_eq!((row.finding.as_str(), row.differ), ("same scales, but the codes differ", Some(1)));
    let rounded = finding(&tensor.compressed(1.0 / tensor.tensor_scale), &base);
    assert!(rounded.finding.contains("differ by rounding") || rounded.finding == "same values", "{}", rounded.finding);
}
