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

#[test]
fn a_tensor_that_cannot_be_read_keeps_no_other_from_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let changed = |edit: &dyn Fn(&mut Vec<Array<'static>>)| {
        let fixture = Path::new(drawn::FOLDER).join("gptq-act");
        let mut arrays = Arrays::read(&fixture.join("model.safetensors")).unwrap().arrays;
        arrays.retain(|array| array.name != "expected");
        edit(&mut arrays);
        arrays.push(array("n.weight", &[1, 2], format("f32"), vec![0; 8]));
        write(&path, &arrays);
        fs::copy(fixture.join("config.json"), folder.path().join("config.json")).unwrap();
        open(folder.path())
    };
    let at = |arrays: &[Array<'static>], name: &str| arrays.iter().position(|array| array.name == name).unwrap();
    let index = |numbers: Vec<i32>| {
        move |arrays: &mut Vec<Array<'static>>| {
            let place = at(arrays, "l.g_idx");
            let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            arrays[place] = array("l.g_idx", &[numbers.len()], format("s32"), bytes);
        }
    };
    let checkpoint = changed(&index(vec![9; 64]));
    let chosen: Vec<_> = checkpoint.tensors.iter().collect();
    let (_, tables, outcome) = super::super::inspected(&checkpoint, &chosen, &mut |_, _| {});
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("'l.g_idx' has a group that is none of the 2 of the scales"), "{error}");
    assert_eq!(tables[0].rows.len(), 2);
    // Other tensors are decoded, if the command leaves this one out.
    let error = changed(&index(vec![9; 64])).decoded(&|_| true).unwrap_err().to_string();
    assert!(error.ends_with("leave such tensors out by ‹exclude›"), "{error}");
    changed(&index(vec![9; 64])).decoded(&|name| name == "n.weight").unwrap();
    for (edit, what) in [
        (
            &index(vec![0; 10]) as &dyn Fn(&mut Vec<Array<'static>>),
            "'l.g_idx' has the shape [10], and rows 64 values (gptq)",
        ),
        (
            &|arrays| drop(arrays.remove(at(arrays, "l.scales"))),
            "the array 'l.scales' with its scales is missing (gptq)",
        ),
    ] {
        let error = changed(edit).complete().unwrap_err().to_string();
        assert!(error.ends_with(what), "{error}");
    }
}
