//! Damaged and mismatched checkpoints.

use super::*;

#[test]
fn damaged_checkpoints_are_refused_or_read_whatever_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.safetensors");
    let tensor = nvfp4(4, 64);
    write(&path, &tensor.compressed(2048.0));
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
        let at = random.next_u32() as usize % (good.len() - tensor.codes.len() / 2);
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
    let tensor = nvfp4(4, 64);
    let refused = |arrays: &[Array<'static>], parts: &[&str]| {
        write(&path, arrays);
        let error = open(&path).complete().unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(parts.iter().all(|part| error.to_string().contains(part)), "{error}");
    };
    let good = tensor.compressed(2048.0);
    let without = |at: usize| {
        good.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, array)| array.clone()).collect::<Vec<_>>()
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
