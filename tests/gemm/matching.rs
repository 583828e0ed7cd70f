//! `tcnum gemm match`: the schedule that made a product is among those that are found.

use serde_json::Value;
use tcnum::{
    format::{self, Overflow, Rounding},
    isa,
};
use tcnum_engine::{
    device::ModelDevice,
    product::NumberMatrix,
    product::{
        AccumulatorJoin, Accumulators, BiasEntry, CEntry, Factors, KOrder, Matrix, OperandRounding, OutputRounding,
        PartJoin, PartTerms, Residue, ScaleBlocks, ScaleUse, Schedule, SplitK,
        kernel::KernelNames,
        search::{self, Matches, Suspects},
    },
    scheme::{self, Scheme, SchemeUnit},
};

use crate::{
    command::write,
    compute::{computed, matrix},
    machine::amount,
    program::{tcnum, validate_report},
};

fn matched(factors: &Factors, d: &Matrix, flags: &[&str], status: i32) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let given = factors.named();
    let file = write(&folder.path().join("all.safetensors"), &[&given[..], &[("d", d)]].concat());
    let operands =
        given.iter().flat_map(|(name, _)| [format!("--{}", name.replace('_', "-")), format!("{file}:{name}")]);
    let operands: Vec<String> = operands.collect();
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let d = format!("{file}:d");
    let run = tcnum(&[&["gemm", "match", "-q", &d, "--output", "json"], &operands[..], flags].concat());
    assert_eq!(run.status, status, "{}", run.stderr);
    validate_report(&run.stdout)
}

/// Operands of 24 x 40 elements and k terms.
fn operands(schedule: &Schedule, k: usize) -> Factors {
    let i = &schedule.instruction;
    Factors::new(matrix(24, k, i.a, 11), matrix(k, 40, i.b, 12))
}

#[test]
fn the_schedule_that_made_a_product_is_found() {
    let made = |name: &str, change: &dyn Fn(&mut Schedule)| {
        let mut schedule = Schedule::new(isa::find(name).unwrap()).unwrap();
        change(&mut schedule);
        schedule
    };
    let half = "mma.m16n8k16.f32.f16.f16.f32";
    let bf16 = format::find("bf16").unwrap();
    for (schedule, k) in [
        (made(half, &|_| ()), 700),
        (made(half, &|s| s.order = KOrder::Descending), 700),
        (made(half, &|s| s.split = SplitK { count: 4, granule: 64, ..s.split }), 1000),
        (made(half, &|s| (s.slab, s.residue) = (32, Residue::First)), 700),
        (made("wgmma.m64n8k32.f32.e4m3.e4m3", &|s| s.promote = Some(128)), 1024),
        (
            made("mma.m16n8k16.f32.bf16.bf16.f32", &|s| {
                s.split = SplitK { count: 5, granule: 64, join: PartJoin::Output, ..s.split };
                s.output = OutputRounding { format: bf16, ..s.output };
            }),
            2000,
        ),
    ]
    .into_iter()
    .step_by(amount(3, 1))
    {
        let factors = operands(&schedule, k);
        let d = computed("hopper", &schedule, &factors);
        let report = matched(&factors, &d, &["--model", "hopper"], 0);
        let matches = report["tables"]["matches"].as_array().unwrap();
        assert!(matches.iter().all(|row| row["exact"] == true), "{report}");
        // Each that is found gives D, and one of them is what made it, or does the same.
        let sentences: Vec<&str> = matches.iter().map(|row| row["schedule"].as_str().unwrap()).collect();
        let words = |text: &str| text.split_once(", ").unwrap().1.to_string();
        let wanted = words(&schedule.sentence(k));
        assert!(sentences.iter().any(|sentence| words(sentence) == wanted), "{wanted}: {sentences:#?}");
        for row in matches {
            let candidate = Schedule::parse(row["schedule_file"].as_str().unwrap(), "found").unwrap();
            assert_eq!(computed(row["model"].as_str().unwrap(), &candidate, &factors), d, "{row}");
        }
    }
}

#[test]
fn generations_are_told_apart() {
    let schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap()).unwrap();
    let factors = operands(&schedule, 512);
    let d = computed("ampere", &schedule, &factors);
    let report = matched(&factors, &d, &["--model", "hopper", "--model", "ampere"], 0);
    let matches = report["tables"]["matches"].as_array().unwrap();
    assert!(matches.iter().all(|row| row["model"] == "ampere"), "{report}");
    assert!(report["answer"].to_string().contains("with the arithmetic of ampere"), "{}", report["answer"]);
}

#[test]
fn without_a_match_the_nearest_is_given() {
    let schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap()).unwrap();
    let factors = operands(&schedule, 512);
    let mut d = computed("hopper", &schedule, &factors);
    for column in 8..16 {
        d.codes.set(3 * 40 + column, d.get(3, column) ^ 1);
    }
    let report = matched(&factors, &d, &["--model", "hopper"], 1);
    let row = &report["tables"]["matches"][0];
    assert_eq!((&row["exact"], &row["differing"]), (&false.into(), &8.into()), "{report}");
    let place = &report["tables"]["product_comparison"][0];
    assert_eq!((&place["which_rows"], &place["which_columns"]), (&"3".into(), &"8..15".into()));
    // A D of another product.
    let run = tcnum(&["gemm", "match", "y.npy", "--a", "x.npy", "--b", "x.npy", "--device", "model:hopper"]);
    assert_eq!(run.status, 2);
}

/// Whether one of the schedules that are found for what a schedule made is that one.
fn found_again(model: &str, schedule: &Schedule, factors: &Factors, flags: &[&str]) {
    let d = computed(model, schedule, factors);
    let report = matched(factors, &d, &[&["--model", model], flags].concat(), 0);
    let matches = report["tables"]["matches"].as_array().unwrap();
    let files: Vec<Schedule> =
        matches.iter().map(|row| Schedule::parse(row["schedule_file"].as_str().unwrap(), "found").unwrap()).collect();
    let same = |candidate: &Schedule| {
        let keys = |s: &Schedule| {
            (s.operands, s.promote, s.accumulators, s.scales.map(|scales| scales.multiply), s.bias, s.split.join)
        };
        keys(candidate) == keys(schedule) && candidate.parts(factors.k()) == schedule.parts(factors.k())
    };
    assert!(files.iter().any(same), "{}: {report}", schedule.to_toml());
}

#[test]
fn where_a_bias_enters_is_found() {
    let mut schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap()).unwrap();
    let factors = Factors { bias: Some(matrix(1, 40, format::find("f32").unwrap(), 13)), ..operands(&schedule, 300) };
    let single = schedule.output.format;
    let entries = [(BiasEntry::Start, single), (BiasEntry::Rounded, format::find("bf16").unwrap())];
    for (bias, format) in entries.into_iter().take(amount(1, 2)) {
        (schedule.bias, schedule.output.format) = (bias, format);
        found_again("hopper", &schedule, &factors, &[]);
    }
}

#[test]
fn scales_of_blocks_are_found() {
    let single = format::find("f32").unwrap();
    let mut schedule = Schedule::new(isa::find("wgmma.m64n8k32.f32.e4m3.e4m3").unwrap()).unwrap();
    schedule.promote = Some(128);
    schedule.scales = Some(ScaleBlocks { a: [1, 128], b: [128, 128], multiply: ScaleUse::Rounded });
    let factors = Factors {
        scale_a: Some(matrix(24, 4, single, 3)),
        scale_b: Some(matrix(4, 1, single, 4)),
        ..operands(&schedule, 500)
    };
    found_again("hopper", &schedule, &factors, &[]);
}

#[test]
fn scales_of_instructions_take_part_in_the_search() {
    let name = "mma.m16n8k32.f32.e4m3.e5m2.f32.ue8m0.block32";
    let mut schedule = Schedule::new(isa::find(name).unwrap()).unwrap();
    schedule.split = SplitK { count: 3, granule: 64, ..schedule.split };
    let scale = schedule.instruction.scale.unwrap().format;
    let codes = |rows: usize, columns: usize| {
        let code =
            |at: usize| scale.encode_f64(2f64.powi(at as i32 % 5 - 2), Rounding::Rne, Overflow::Saturate).unwrap();
        Some(Matrix::of_values(rows, columns, scale, &(0..rows * columns).map(code).collect::<Vec<_>>()))
    };
    let factors = Factors { scale_a: codes(24, 20), scale_b: codes(20, 40), ..operands(&schedule, 640) };
    found_again("blackwell-rtx", &schedule, &factors, &["--instr", name]);
}

#[test]
fn operands_that_do_not_fit_are_refused_before_the_search() {
    let schedule = Schedule::new(isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap()).unwrap();
    let [single, half] = ["f32", "f16"].map(|name| format::find(name).unwrap());
    let factors = operands(&schedule, 64);
    let d = computed("hopper", &schedule, &factors);
    let find = |factors: &Factors| {
        let suspects = Suspects {
            models: vec!["hopper".into()],
            instructions: Vec::new(),
            factors: (1.0, 1.0),
            turn: None,
            kernels: KernelNames::default(),
        };
        search::find(&suspects, factors, &d, &mut Matches::default(), &|_| ()).unwrap_err().to_string()
    };
    for (factors, words) in [
        (Factors { c: Some(matrix(2, 3, single, 1)), ..factors.clone() }, "C is 2 x 3"),
        (Factors { bias: Some(matrix(1, 3, single, 1)), ..factors.clone() }, "the bias is 1 x 3"),
        (Factors { scale_a: Some(matrix(24, 1, single, 1)), ..factors.clone() }, "give both ‹scale_a› and ‹scale_b›"),
        (
            Factors {
                scale_a: Some(matrix(24, 7, single, 1)),
                scale_b: Some(matrix(1, 1, single, 1)),
                ..factors.clone()
            },
            "there are 7 scales along the 64 k of A",
        ),
        (Factors { b: matrix(63, 40, half, 1), ..factors.clone() }, "B needs as many rows"),
    ] {
        let message = find(&factors);
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn splits_of_library_kernels_are_found() {
    let made = |name: &str, k: usize, change: &dyn Fn(&mut Schedule)| {
        let mut schedule = Schedule::new(isa::find(name).unwrap()).unwrap();
        change(&mut schedule);
        found_again("hopper", &schedule, &operands(&schedule, k), &[]);
    };
    // Kernels of cuBLAS (xmma) deal tiles of k to their parts in turn, those of f64 for example.
    let interleaved = PartTerms::Interleaved;
    made("mma.m16n8k16.f32.bf16.bf16.f32", 500, &|s| {
        s.split = SplitK { count: 4, granule: 32, terms: interleaved, ..s.split }
    });
    // XLA adds 32 parts by halves.
    let bf16 = "wgmma.m64n8k16.f32.bf16.bf16";
    made(bf16, 1024, &|s| s.split = SplitK { count: 32, granule: 32, join: PartJoin::Halves, ..s.split });
    made("fma.m1n1k1.f32.f32.f32.f32", 1000, &|s| s.split = SplitK { count: 17, granule: 4, ..s.split });
    // Warps that share the k of a tile, in parts.
    made("mma.m16n8k16.f32.f16.f16.f32", 512, &|s| {
        s.accumulators = Accumulators { count: 2, granule: 32, ..s.accumulators };
        s.split = SplitK { count: 2, granule: 64, ..s.split };
    });
}

#[test]
fn a_bias_that_was_added_to_the_first_part_is_found() {
    let mut schedule = Schedule::new(isa::find("mma.m16n8k16.f32.bf16.bf16.f32").unwrap()).unwrap();
    schedule.output.format = format::find("bf16").unwrap();
    schedule.bias = BiasEntry::First;
    schedule.split = SplitK { count: 4, granule: 64, join: PartJoin::Serial, ..schedule.split };
    let mut factors = operands(&schedule, 2048);
    factors.bias = Some(matrix(1, 40, format::find("bf16").unwrap(), 13));
    found_again("hopper", &schedule, &factors, &[]);
}

#[test]
fn accumulators_of_processors_are_found() {
    let mut schedule = Schedule::new(isa::find("vfmadd.m1n16k1.f32.f32.f32.f32").unwrap()).unwrap();
    schedule.accumulators = Accumulators { count: 8, join: AccumulatorJoin::Halves, ..schedule.accumulators };
    let factors = operands(&schedule, 200);
    found_again("x86", &schedule, &factors, &[]);
    schedule.accumulators = Accumulators { count: 2, join: AccumulatorJoin::Order, ..schedule.accumulators };
    schedule.promote = Some(128);
    found_again("x86", &schedule, &factors, &[]);
}

#[test]
fn whether_f32_was_rounded_to_tf32_is_found() {
    let single = format::find("f32").unwrap();
    let mut schedule = Schedule::new(isa::find("mma.m16n8k8.f32.tf32.tf32.f32").unwrap()).unwrap();
    schedule.operands = Some(OperandRounding { format: single, rounding: Rounding::Rne });
    let factors = Factors::new(matrix(24, 100, single, 11), matrix(100, 40, single, 12));
    // Numbers with more digits than tf32 has.
    let more = |matrix: &Matrix| {
        let codes: Vec<u64> =
            matrix.codes.iter().enumerate().map(|(at, code)| code ^ (at as u64 * 7919 % 8192)).collect();
        Matrix::of_values(matrix.rows, matrix.columns, single, &codes)
    };
    let factors = Factors::new(more(&factors.a), more(&factors.b));
    found_again("hopper", &schedule, &factors, &[]);
    // As the unit does it: without the key.
    schedule.operands = Some(OperandRounding { format: single, rounding: Rounding::Rz });
    let d = computed("hopper", &schedule, &factors);
    let report = matched(&factors, &d, &["--model", "hopper"], 0);
    assert!(!report["tables"]["matches"][0]["schedule_file"].as_str().unwrap().contains("operands"), "{report}");
}

#[test]
fn a_product_is_made_that_tells_schedules_apart() {
    // Sums of ones are exact in any order: many schedules give them.
    let mut schedule = Schedule::new(isa::find("mma.m16n8k16.f32.bf16.bf16.f32").unwrap()).unwrap();
    schedule.output.format = format::find("bf16").unwrap();
    let bf16 = schedule.instruction.a;
    let ones = |rows, columns| Matrix::of_values(rows, columns, bf16, &vec![0x3f80; rows * columns]);
    let factors = Factors::new(ones(16, 192), ones(192, 24));
    let d = computed("hopper", &schedule, &factors);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("apart.safetensors").to_string_lossy().into_owned();
    let report = matched(&factors, &d, &["--model", "hopper", "--apart", &file], 0);
    let matches = report["tables"]["matches"].as_array().unwrap();
    let groups: std::collections::BTreeSet<u64> = matches.iter().map(|row| row["group"].as_u64().unwrap()).collect();
    assert!(groups.len() > 5, "{report}");
    assert!(report["notes"].to_string().contains("apart.safetensors:a"), "{}", report["notes"]);
    // Of that product, those of one group give the same D, and the others do not.
    let read = |name: &str| {
        tcnum_engine::product::ArrayFile::parse(&format!("{file}:{name}"))
            .read(None, tcnum_engine::product::Conversion::Keep)
            .unwrap()
            .0
    };
    let factors = Factors::new(read("a"), read("b"));
    assert_eq!((factors.a.rows, factors.b.columns, factors.k()), (16, 24, 192));
    let made: Vec<(u64, Matrix)> = matches
        .iter()
        .step_by(amount(7, 1))
        .map(|row| {
            let schedule = Schedule::parse(row["schedule_file"].as_str().unwrap(), "found").unwrap();
            (row["group"].as_u64().unwrap(), computed(row["model"].as_str().unwrap(), &schedule, &factors))
        })
        .collect();
    for (group, d) in &made {
        for (other, same) in made.iter().map(|(other, other_d)| (other, other_d == d)) {
            assert!(group == other || !same, "groups {group} and {other}");
        }
    }
}

#[test]
fn two_schedules_in_one_product_are_found_together() {
    let mut schedule = Schedule::new(isa::find("vfmadd.m1n16k1.f32.f32.f32.f32").unwrap()).unwrap();
    let factors = operands(&schedule, 150);
    let plain = computed("x86", &schedule, &factors);
    schedule.accumulators = Accumulators { count: 2, join: AccumulatorJoin::Order, ..schedule.accumulators };
    let other = computed("x86", &schedule, &factors);
    let mut d = plain.clone();
    for (row, column) in (0..24).filter(|row| row % 12 < 4).flat_map(|row| (0..40).map(move |column| (row, column))) {
        d.codes.set(row * 40 + column, other.get(row, column));
    }
    let report = matched(&factors, &d, &["--model", "x86"], 1);
    let rows = report["tables"]["matches"].as_array().unwrap();
    let schedules: Vec<&str> = rows.iter().map(|row| row["schedule"].as_str().unwrap()).collect();
    let chain = "vfmadd.m1n16k1.f32.f32.f32.f32, k ascending";
    assert_eq!(schedules, [chain.to_string(), format!("{chain}, in 2 accumulators in turn, joined in order")]);
    assert!(report["answer"].to_string().contains("Two schedules together give every element"), "{}", report["answer"]);
}

/// A schedule of an instruction, changed.
fn changed(name: &str, change: impl Fn(&mut Schedule)) -> Schedule {
    let mut schedule = Schedule::new(isa::find(name).unwrap()).unwrap();
    change(&mut schedule);
    schedule
}

#[test]
fn a_d_of_one_value_decides_nothing() {
    let schedule = changed("mma.m16n8k16.f32.f16.f16.f32", |_| ());
    let factors = operands(&schedule, 64);
    let single = format::find("f32").unwrap();
    for (code, words) in [(0, "all its 960 elements are 0"), (0x3f80_0000, "are 1"), (0x7fff_ffff, "are NaN")] {
        let d = Matrix::of_values(24, 40, single, &[code; 960]);
        let report = matched(&factors, &d, &["--model", "hopper"], 1);
        let answer = report["answer"].to_string();
        assert!(answer.contains("D decides nothing") && answer.contains(words), "{answer}");
        assert_eq!(report["tables"]["matches"], Value::Null, "{report}");
    }
}

#[test]
fn a_small_narrow_d_leaves_the_instruction_open_and_names_the_usual_one() {
    let bf16 = format::find("bf16").unwrap();
    let schedule = changed("wgmma.m64n8k16.f32.bf16.bf16", |s| s.output.format = bf16);
    let factors = Factors::new(matrix(4, 256, bf16, 11), matrix(256, 6, bf16, 12));
    let d = computed("hopper", &schedule, &factors);
    let report = matched(&factors, &d, &[], 0);
    let decisions = report["tables"]["schedule_decisions"].as_array().unwrap();
    let instruction = decisions.iter().find(|row| row["aspect"] == "instruction").unwrap();
    assert_eq!(instruction["decided"], false, "{report}");
    assert_eq!(instruction["usual"], "wgmma.m64n8k16.f32.bf16.bf16 of hopper");
    assert!(report["answer"].to_string().contains("too small to decide the instruction"), "{}", report["answer"]);
}

#[test]
fn a_wide_d_decides_every_aspect() {
    let schedule = changed("wgmma.m64n8k16.f32.f16.f16", |_| ());
    let factors = operands(&schedule, 1000);
    let report = matched(&factors, &computed("hopper", &schedule, &factors), &[], 0);
    let decisions = report["tables"]["schedule_decisions"].as_array().unwrap();
    assert!(decisions.iter().all(|row| row["decided"] == true), "{report}");
    let split = decisions.iter().find(|row| row["aspect"] == "split").unwrap();
    assert_eq!(split["usual"], "k in one part");
}

#[test]
fn what_another_spelling_of_the_same_sum_has_is_not_decided() {
    let [promotes, slices, splits] = [
        changed("wgmma.m64n8k16.f32.f16.f16", |s| s.promote = Some(64)),
        changed("wgmma.m64n8k16.f32.f16.f16", |s| {
            s.accumulators = Accumulators { count: 2, granule: 32, ..s.accumulators };
        }),
        changed("wgmma.m64n8k16.f32.f16.f16", |s| s.split.count = 4),
    ];
    let untried = changed("wgmma.m64n8k16.f32.f16.f16", |s| s.promote = Some(48));
    let halves = changed("wgmma.m64n8k16.f32.f16.f16", |s| (s.split.count, s.split.join) = (4, PartJoin::Halves));
    for (schedule, k, first, other, open) in [
        (promotes, 512, "promoted to f32 every 64", "split-k of 8 parts of 64, joined in f32 in order", "promotion"),
        (untried, 512, "promoted to f32 every 48", "split-k of 11 parts of 48, joined in f32 in order", "promotion"),
        (slices, 512, "2 parts of 256 in pieces of 32 in turn", "in 2 accumulators of 32 k in turn", "accumulators"),
        (splits, 1024, "split-k of 4 parts of 256", "promoted to f32 every 256", "promotion"),
        (
            halves,
            1024,
            "split-k of 4 parts of 256",
            "in 4 accumulators of 256 k in turn, joined by halves",
            "accumulators",
        ),
    ] {
        let factors = operands(&schedule, k);
        let d = computed("hopper", &schedule, &factors);
        let report = matched(&factors, &d, &["--model", "hopper"], 0);
        let decisions = report["tables"]["schedule_decisions"].as_array().unwrap();
        for row in decisions {
            let is_open = ["split", open, "accumulators"].contains(&row["aspect"].as_str().unwrap());
            assert_eq!((&row["decided"], &row["spelling"]), (&(!is_open).into(), &is_open.into()), "{row}");
        }
        let matches = report["tables"]["matches"].as_array().unwrap();
        assert!(matches[0]["schedule"].as_str().unwrap().contains(first), "{report}");
        assert!(report["answer"].as_str().unwrap().contains("; or, the same sum, "), "{report}");
        assert!(matches.iter().any(|row| row["schedule"].as_str().unwrap().contains(other)), "{report}");
        // Operands that nobody searched tell no two spellings apart.
        let others = Factors::new(matrix(24, k, schedule.instruction.a, 91), matrix(k, 40, schedule.instruction.b, 92));
        let wanted = computed("hopper", &schedule, &others);
        for row in matches {
            let spelled = Schedule::parse(row["schedule_file"].as_str().unwrap(), "found").unwrap();
            assert_eq!(computed("hopper", &spelled, &others), wanted, "{row}");
        }
    }
}

#[test]
fn a_split_whose_parts_are_rounded_is_no_spelling_of_a_promotion() {
    let schedule = changed("wgmma.m64n8k16.f32.f16.f16", |s| {
        (s.split.count, s.split.join) = (4, PartJoin::Output);
        s.output.format = format::find("f16").unwrap();
    });
    let factors = operands(&schedule, 1024);
    let report = matched(&factors, &computed("hopper", &schedule, &factors), &["--model", "hopper"], 0);
    let decisions = report["tables"]["schedule_decisions"].as_array().unwrap();
    assert!(decisions.iter().any(|row| row["aspect"] == "split" && row["decided"] == true), "{report}");
}

#[test]
fn a_promotion_of_descending_k_is_found() {
    let schedule = changed("wgmma.m64n8k16.f32.f16.f16", |s| (s.order, s.promote) = (KOrder::Descending, Some(128)));
    found_again("hopper", &schedule, &operands(&schedule, 512), &[]);
}

#[test]
fn the_name_of_a_kernel_narrows_the_search_and_is_checked() {
    let schedule = changed("wgmma.m64n8k16.f32.f16.f16", |s| s.split.count = 4);
    let factors = operands(&schedule, 1000);
    let d = computed("hopper", &schedule, &factors);
    let split = "nvjet_sm90_hsh_64x8_64x16_4x1_v_bz_splitK_NNT";
    let narrowed = matched(&factors, &d, &["--kernel", split], 0);
    assert!(narrowed["notes"].to_string().contains("nvjet kernel of cuBLAS"), "{narrowed}");
    let unsplit = matched(&factors, &d, &["--kernel", "nvjet_sm90_hsh_64x8_64x16_2x4_h_bz_NNT"], 0);
    assert!(unsplit["notes"].to_string().contains("The kernel's name does not fit D"), "{unsplit}");
    for report in [narrowed, unsplit] {
        assert_eq!(
            report["tables"]["matches"][0]["schedule_file"].as_str().map(|text| text.contains("count = 4")),
            Some(true)
        );
    }
}

#[test]
fn each_fact_of_a_name_that_d_contradicts_is_a_note() {
    let notes = |schedule: &Schedule, name: &str| {
        let factors = operands(schedule, 500);
        let report = matched(&factors, &computed("hopper", schedule, &factors), &["--kernel", name], 0);
        let notes: Vec<String> =
            report["notes"].as_array().unwrap().iter().filter_map(|note| note.as_str().map(String::from)).collect();
        notes.into_iter().filter(|note| note.starts_with("The kernel's name does not fit D: ")).collect::<Vec<_>>()
    };
    let xmma = "sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
    // Parts that are rounded before they are joined are no promotion.
    let split = changed("wgmma.m64n8k16.f32.f16.f16", |s| {
        (s.split.count, s.split.join) = (4, PartJoin::Output);
        s.output.format = format::find("f16").unwrap();
    });
    let said = notes(&split, xmma);
    assert!(said.len() == 1 && said[0].contains("`execute_segment_k_off_kernel` says that k is not split"), "{said:?}");
    let ampere = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_nn";
    let said = notes(&changed("mma.m16n8k16.f32.bf16.bf16.f32", |_| ()), ampere);
    assert!(said.iter().any(|note| note.contains("`fp16` says that the operands are f16")), "{said:?}");
    assert!(said.iter().all(|note| note.ends_with("The meaning of the word is assumed.")), "{said:?}");
}

#[test]
fn operands_of_f32_that_were_rounded_are_found() {
    let single = format::find("f32").unwrap();
    for (name, rounding) in
        [("wgmma.m64n8k16.f32.bf16.bf16", Rounding::Rne), ("wgmma.m64n8k8.f32.tf32.tf32", Rounding::Rna)]
    {
        let operands = Some(OperandRounding { format: single, rounding });
        let schedule = changed(name, |s| s.operands = operands);
        let factors = Factors::new(matrix(24, 200, single, 11), matrix(200, 40, single, 12));
        found_again("hopper", &schedule, &factors, &[]);
    }
}

#[test]
fn fused_multiply_adds_of_a_gpu_are_found() {
    let schedule = changed("fma.m1n1k1.f32.f32.f32.f32", |s| s.split = SplitK { count: 3, granule: 8, ..s.split });
    found_again("hopper", &schedule, &operands(&schedule, 1000), &[]);
}

#[test]
fn scales_at_the_end_are_found() {
    let single = format::find("f32").unwrap();
    let scales = ScaleBlocks { a: [1, 500], b: [500, 1], multiply: ScaleUse::End };
    let schedule = changed("wgmma.m64n8k32.f32.e4m3.e4m3", |s| (s.promote, s.scales) = (Some(128), Some(scales)));
    let factors = Factors {
        scale_a: Some(matrix(24, 1, single, 3)),
        scale_b: Some(matrix(1, 40, single, 4)),
        ..operands(&schedule, 500)
    };
    found_again("hopper", &schedule, &factors, &[]);
}

#[test]
fn scales_are_taken_in_a_row_of_one_matrix_alone_and_in_other_formats() {
    let [single, bf16] = ["f32", "bf16"].map(|name| format::find(name).unwrap());
    let scales = ScaleBlocks { a: [1, 500], b: [500, 1], multiply: ScaleUse::End };
    let schedule = changed("wgmma.m64n8k32.f32.e4m3.e4m3", |s| s.scales = Some(scales));
    let one = Matrix::of_values(1, 1, single, &[0x3f80_0000]);
    let of_rows = matrix(24, 1, single, 3);
    let factors = Factors { scale_a: Some(of_rows.clone()), scale_b: Some(one), ..operands(&schedule, 500) };
    let blocks = Some(ScaleBlocks { b: [500, 40], ..scales });
    let d = computed("hopper", &Schedule { scales: blocks, ..schedule.clone() }, &factors);
    // The scales of A in a row, none of B.
    let given = Factors { scale_a: Some(of_rows.transposed()), scale_b: None, ..factors.clone() };
    matched(&given, &d, &["--model", "hopper"], 0);
    // Scales in bf16, those of B of its transpose.
    let (of_rows, of_columns) = (matrix(24, 1, bf16, 3), matrix(1, 40, bf16, 4));
    let widened = |scales: &Matrix| {
        let codes: Vec<u64> = scales.codes.iter().map(|code| code << 16).collect();
        Some(Matrix::of_values(scales.rows, scales.columns, single, &codes))
    };
    let wide = Factors { scale_a: widened(&of_rows), scale_b: widened(&of_columns), ..factors.clone() };
    let d = computed("hopper", &schedule, &wide);
    let given = Factors { scale_a: Some(of_rows), scale_b: Some(of_columns.transposed()), ..factors };
    matched(&given, &d, &["--model", "hopper"], 0);
}

#[test]
fn c_that_is_added_after_rounding_is_found() {
    let bf16 = format::find("bf16").unwrap();
    let schedule = changed("wgmma.m64n8k16.f32.bf16.bf16", |s| (s.c, s.output.format) = (CEntry::Rounded, bf16));
    let factors = Factors { c: Some(matrix(24, 40, bf16, 5)), ..operands(&schedule, 300) };
    let report = matched(&factors, &computed("hopper", &schedule, &factors), &["--model", "hopper"], 0);
    let decisions = report["tables"]["schedule_decisions"].as_array().unwrap();
    let entry = decisions.iter().find(|row| row["aspect"] == "c").unwrap();
    assert_eq!(
        (&entry["decided"], &entry["usual"]),
        (&true.into(), &"C added after rounding to bf16".into()),
        "{report}"
    );
}

#[test]
fn a_scheme_of_splitting_is_found_with_its_blocks() {
    let single = format::find("f32").unwrap();
    let scheme = Scheme::find("tf32x3").unwrap();
    let mut device = ModelDevice::open("hopper").unwrap();
    let unit = SchemeUnit::of(&scheme, &mut device, None).unwrap();
    let factors = Factors::new(matrix(16, 256, single, 21), matrix(256, 24, single, 22));
    let d = scheme::product(
        &scheme,
        &unit,
        &mut device,
        &NumberMatrix::of_matrix(&factors.a),
        &NumberMatrix::of_matrix(&factors.b),
    )
    .unwrap();
    let report = matched(&factors, &d, &["--model", "hopper"], 0);
    assert!(report["answer"].to_string().contains("Scheme tf32x3"), "{report}");
    assert!(report["answer"].to_string().contains("in turn every 32 of k"), "{}", report["answer"]);
}

#[test]
fn every_product_of_a_file_is_recognised() {
    let run = tcnum(&["gemm", "match", "-q", "--match-all", "tests/fixtures/captures.safetensors", "--output", "json"]);
    let report = validate_report(&run.stdout);
    let rows = report["tables"]["captures"].as_array().unwrap();
    assert!(rows.len() > 1, "{report}");
    let all_recognised =
        rows.iter().all(|row| ["decided", "open", "plain", "scheme"].contains(&row["outcome"].as_str().unwrap()));
    assert_eq!(run.status, i32::from(!all_recognised), "{report}");
    assert!(report["answer"].to_string().contains(&format!("{} products", rows.len())));
}
