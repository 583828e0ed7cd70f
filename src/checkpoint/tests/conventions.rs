//! Conventions that values and shapes decide, and what differs between two checkpoints.

use super::*;

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
