//! Schedules as files and as sentences.

use tcnum::isa;
use tcnum_engine::product::{Run, Schedule};

const INSTRUCTION: &str = "instruction = \"mma.m16n8k16.f32.f16.f16.f32\"\n";

#[test]
fn a_schedule_says_what_it_does() {
    let sentence = |keys: &str, k| Schedule::parse(&format!("{INSTRUCTION}{keys}"), "test").unwrap().sentence(k);
    assert_eq!(sentence("", 64), "mma.m16n8k16.f32.f16.f16.f32, k ascending");
    assert_eq!(
        sentence("slab = 64\nresidue = \"first\"\nsplit = { count = 4 }\noutput = { format = \"bf16\" }", 8000),
        "mma.m16n8k16.f32.f16.f16.f32, k ascending, in slabs of 64, split-k of 4 parts of 2048, joined in f32 in order, \
         rounded to bf16 RNE"
    );
    assert_eq!(
        sentence("promote = 128\norder = \"descending\"\nalpha = 0.5", 256),
        "mma.m16n8k16.f32.f16.f16.f32, k descending, promoted to f32 every 128, times 0.5"
    );
    assert_eq!(
        sentence("operands = { rounding = \"RZ\" }\nbias = \"rounded\"\noutput = { format = \"f16\" }", 64),
        "mma.m16n8k16.f32.f16.f16.f32, operands rounded from f32 to f16 RZ, k ascending, the bias added after rounding to f16, \
         rounded to f16 RNE"
    );
    assert_eq!(
        sentence("accumulators = { count = 4, join = \"halves\" }\nbias = \"start\"", 64),
        "mma.m16n8k16.f32.f16.f16.f32, k ascending, in 4 accumulators in turn, joined by halves, beginning from the bias"
    );
    assert_eq!(
        sentence("accumulators = { count = 2, granule = 32 }", 64),
        "mma.m16n8k16.f32.f16.f16.f32, k ascending, in 2 accumulators of 32 k in turn, joined in order"
    );
    assert_eq!(
        sentence("bias = \"first\"\nsplit = { count = 2, join = \"serial\" }\noutput = { format = \"f16\" }", 128),
        "mma.m16n8k16.f32.f16.f16.f32, k ascending, the bias added to the first part, split-k of 2 parts of 64, each added to D in f16, \
         rounded to f16 RNE"
    );
}

#[test]
fn parts_are_cut_as_libraries_cut_them() {
    let parts = |count, granule, k| -> Vec<usize> {
        let text = format!("{INSTRUCTION}split = {{ count = {count}, granule = {granule} }}");
        Schedule::parse(&text, "test").unwrap().parts(k).iter().map(|part| part[0].len()).collect()
    };
    assert_eq!(parts(4, 64, 1000), [256, 256, 256, 232]);
    assert_eq!(parts(3, 64, 1024), [384, 384, 256]);
    // Fewer parts than asked for, where there is not so much k.
    assert_eq!(parts(8, 64, 320), [64, 64, 64, 64, 64]);
    assert_eq!(parts(5, 128, 100), [100]);
}

#[test]
fn steps_are_dealt_out_to_accumulators_in_turn() {
    let keys = "instruction = \"vfmadd.m1n16k1.f32.f32.f32.f32\"\npromote = 5\naccumulators = { count = 2 }";
    let schedule = Schedule::parse(keys, "test").unwrap();
    let walk = schedule.walk(7);
    let dealt: Vec<Vec<Vec<usize>>> = walk.parts[0]
        .iter()
        .map(|run| {
            run.dealt(&schedule).iter().map(|chain| chain.steps.iter().map(|step| step.start).collect()).collect()
        })
        .collect();
    assert_eq!(dealt, [vec![vec![0, 2, 4], vec![1, 3]], vec![vec![5], vec![6]]]);
    // Fewer than there are steps.
    let many = Schedule::parse(&keys.replace("count = 2", "count = 9"), "test").unwrap();
    assert_eq!(walk.parts[0][1].dealt(&many).len(), 2);
    // Pieces of two steps.
    let pieces = Schedule::parse(&keys.replace("count = 2", "count = 2, granule = 2"), "test").unwrap();
    let starts = |run: &Run| run.steps.iter().map(|step| step.start).collect::<Vec<_>>();
    assert_eq!(walk.parts[0][0].dealt(&pieces).iter().map(starts).collect::<Vec<_>>(), [vec![0, 1, 4], vec![2, 3]]);
}

#[test]
fn interleaved_parts_take_pieces_in_turn() {
    let text = format!("{INSTRUCTION}split = {{ count = 3, granule = 32, terms = \"interleaved\" }}");
    let schedule = Schedule::parse(&text, "test").unwrap();
    let parts: Vec<Vec<(usize, usize)>> =
        schedule.parts(150).iter().map(|part| part.iter().map(|piece| (piece.start, piece.end)).collect()).collect();
    assert_eq!(parts, [vec![(0, 32), (96, 128)], vec![(32, 64), (128, 150)], vec![(64, 96)]]);
    assert_eq!(
        schedule.sentence(150),
        "mma.m16n8k16.f32.f16.f16.f32, k ascending, split-k of 3 parts of 64 in pieces of 32 in turn, joined in f32 in order"
    );
    assert_eq!(Schedule::parse(&schedule.to_toml(), "test").unwrap(), schedule);
}

#[test]
fn what_is_left_of_promotions_is_halved_as_in_openblas() {
    let keys = "instruction = \"vfmadd.m1n16k1.f32.f32.f32.f32\"\npromote = 320\npromote-halves = 8";
    let schedule = Schedule::parse(keys, "test").unwrap();
    let runs = |k| -> Vec<usize> { schedule.walk(k).parts.concat().iter().map(|run| run.steps.len()).collect() };
    assert_eq!(runs(1000), [320, 320, 184, 176]);
    assert_eq!(runs(640), [320, 320]);
    assert_eq!(runs(321), [160, 161]);
    assert_eq!(runs(300), [300]);
}

#[test]
fn what_a_schedule_cannot_be_is_said_with_its_key() {
    for (keys, words) in [
        ("slab = 24", "slab = 24: expected a multiple of 16"),
        ("slab = 1048576", "slab = 1048576: slabs have a k of up to 65536"),
        ("promote = 8", "promote = 8: expected a multiple of 16"),
        ("promote = 0", "promote = 0"),
        ("promote-halves = 16", "promote-halves needs promote"),
        ("residue = \"middle\"", "residue = \"middle\": expected one of \"first\", \"last\""),
        ("split = { count = 0 }", "split.count = 0"),
        ("split = { count = 2, granule = 0 }", "split.granule = 0"),
        (
            "split = { count = 2, join = \"tree\" }",
            "split.join = \"tree\": expected one of \"register\", \"pairs\", \"halves\", \"output\", \"serial\"",
        ),
        ("scales = { a = [1, 128], b = [128, 128] }", "scales need promote"),
        ("promote = 128\nscales = { a = [0, 128], b = [128, 128] }", "a block has one row"),
        ("c = \"start\"\nbeta = 0.5", "c = \"start\""),
        ("bias = \"start\"\npromote = 128", "bias = \"start\""),
        ("bias = \"middle\"", "bias = \"middle\": expected one of \"end\", \"rounded\", \"first\", \"start\""),
        ("bias = \"first\"", "bias = \"first\" needs split.join = \"serial\""),
        (
            "split = { count = 2, granule = 8, terms = \"interleaved\" }",
            "split.granule = 8: interleaved parts take a multiple of 16",
        ),
        (
            "split = { count = 2, terms = \"mixed\" }",
            "split.terms = \"mixed\": expected one of \"contiguous\", \"interleaved\"",
        ),
        ("accumulators = { count = 0 }", "accumulators.count = 0"),
        ("accumulators = { count = 2, granule = 24 }", "accumulators.granule = 24: expected a multiple of 16"),
        ("accumulators = { count = 2, join = \"tree\" }", "accumulators.join = \"tree\""),
        ("operands = { rounding = \"up\" }", "operands.rounding = \"up\": expected one of RNE"),
        ("operands = { format = \"s8\" }", "operands.format = \"s8\""),
        ("alpha = inf", "alpha = inf"),
        ("output = { format = \"f17\" }", "output.format"),
        ("output = { format = \"s32\" }", "output.format = \"s32\""),
        ("output = { rounding = \"up\" }", "output.rounding = \"up\": expected one of RNE"),
        ("output = { nan = \"7fff\" }", "output.nan = \"7fff\""),
        ("output = { format = \"f16\", nan = \"0x17fff\" }", "f16 has 16 bits"),
        ("slabs = 16", "unknown field `slabs`"),
    ] {
        let error = Schedule::parse(&format!("{INSTRUCTION}{keys}"), "file.toml").unwrap_err();
        let message = error.to_string();
        assert!(
            error.exit_status() == 2 && message.starts_with("file.toml: ") && message.contains(words),
            "{keys}: {message}"
        );
    }
    let sparse = isa::find("mma.sp.m16n8k32.f32.f16.f16.f32").unwrap();
    assert!(Schedule::new(sparse).unwrap_err().to_string().contains("A is sparse"));
}
