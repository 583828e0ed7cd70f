//! Products of libraries: attributes and schedules, and campaigns with a simulated library that follows schedules that are known.

use tcnum::{Error, Result, isa::Codes};
use tcnum_engine::{
    device::{
        Attributes, ChosenAlgorithm, Compute, Generation, Identity, Library, LibraryProduct, ModelDevice,
        OperandLayout, Problem,
    },
    product::{
        Executor, Factors, LibrarySchedules, Matrix, ModelReplay, PartJoin, ProductShape, Residue, Schedule, Values,
        compute,
    },
};
use tcnum_study::gemm::library::{
    AskedProduct, BatchRow, Layer,
    campaign::{Campaign, ProductOutcome},
    read_layers, read_shapes,
};

use crate::{between::ByBatch, program::tcnum};

fn shipped() -> LibrarySchedules {
    LibrarySchedules::shipped("cublaslt").unwrap()
}

fn problem(kind: &str, m: usize, n: usize, k: usize) -> Problem {
    Problem::of_kind(kind, ProductShape { m, n, k }, OperandLayout::Weights).unwrap()
}

/// Stages 35: 64xAUTO; 15: 64x3; tile 20: 128x128.
fn attributes(stages: u32, split_k: u32, reduction: u32) -> Attributes {
    Attributes { id: 66, tile: 20, stages, split_k, reduction, ..Attributes::default() }
}

#[test]
fn attributes_are_schedules() {
    let schedules = shipped();
    let predicted = |kind: &str, attributes: &Attributes| {
        schedules.predict(&problem(kind, 64, 64, 1000), attributes).unwrap().schedule
    };

    let plain = predicted("f32.f16.f16.32f", &attributes(35, 1, 0));
    assert_eq!(plain.sentence(1000), "wgmma.m64n8k16.f32.f16.f16, k ascending");

    let split = predicted("f16.f16.f16.32f", &attributes(35, 4, 2));
    assert_eq!((split.split.count, split.split.granule, split.split.join), (4, 64, PartJoin::Register));
    assert_eq!(predicted("f16.f16.f16.32f", &attributes(35, 4, 4)).split.join, PartJoin::Output);
    assert_eq!(predicted("f16.f16.f16.32f", &attributes(35, 4, 1)).split.join, PartJoin::Serial);
    assert_eq!(predicted("f16.f16.f16.32f", &attributes(35, 4, 2)).output.format.name, "f16");

    let earlier = predicted("bf16.bf16.bf16.32f", &attributes(15, 1, 0));
    assert_eq!((earlier.slab, earlier.residue), (64, Residue::First));

    let full = predicted("bf16.e4m3.e4m3.32f", &attributes(36, 3, 2));
    assert_eq!((full.promote, full.split.granule), (Some(128), 128));
    assert_eq!(predicted("bf16.e4m3.e4m3.32f.fast", &attributes(36, 1, 0)).promote, None);
    assert_eq!(predicted("s32.s8.s8.32i", &attributes(36, 2, 2)).split.join, PartJoin::Register);
}

#[test]
fn parts_of_k_are_cut_as_is_published() {
    let parts = |kind: &str, k: usize, count: u32| -> Vec<usize> {
        let predicted = shipped().predict(&problem(kind, 64, 64, k), &attributes(36, count, 2)).unwrap();
        predicted.schedule.parts(k).iter().map(|part| part[0].len()).collect()
    };
    // ceil(ceil(k / granule) / parts) * granule, the remainder last.
    assert_eq!(parts("f16.f16.f16.32f", 1000, 3), [384, 384, 232]);
    assert_eq!(parts("bf16.e4m3.e4m3.32f", 1000, 3), [384, 384, 232]);
    assert_eq!(parts("bf16.e4m3.e4m3.32f", 1280, 4), [384, 384, 384, 128]);
    assert_eq!(parts("f16.f16.f16.32f", 1280, 4), [320, 320, 320, 320]);
    // An algorithm that says 0 or -1 cuts nothing.
    assert_eq!(parts("f16.f16.f16.32f", 1000, 0), [1000]);
    assert_eq!(parts("f16.f16.f16.32f", 1000, u32::MAX), [1000]);
}

#[test]
fn attributes_have_words() {
    let words = shipped().words(&Attributes { swizzle: 1, cluster: 3, ..attributes(35, 4, 2) });
    assert_eq!(words, "algorithm 66, tile 128x128, stages 64xAUTO, cluster 2x1x1, split-k 4 (compute), swizzle 1");
    assert!(shipped().words(&attributes(9999, 1, 0)).contains("stages number 9999"));
}

#[test]
fn what_no_rule_says_is_not_predicted() {
    let schedules = shipped();
    let why = schedules.predict(&problem("f32.f32.f32.32f", 8, 8, 8), &attributes(35, 1, 0)).unwrap_err();
    assert!(why.contains("no rule covers f32.f32.f32.32f"), "{why}");
    let why = schedules.predict(&problem("f16.f16.f16.32f", 8, 8, 8), &attributes(35, 2, 9)).unwrap_err();
    assert!(why.contains("reduction scheme 9"), "{why}");
    let why = schedules.predict(&problem("f16.f16.f16.32f", 8, 8, 8), &attributes(9999, 1, 0)).unwrap_err();
    assert!(why.contains("no known k"), "{why}");
}

#[test]
fn wrong_rules_are_refused_with_their_number() {
    let names = "attribute,number,name\nstages,1,16x1\n";
    let head = "name = 'x'\ntitle = 'x'\n[join]\ncompute = 'register'\n";
    let rule = "[[rule]]\nproducts = ['*.f16.f16.32f']\nevidence = 'assumed: a test'\ninstruction = 'mma.m16n8k16.f32.f16.f16.f32'\n";
    assert!(LibrarySchedules::parse(&format!("{head}{rule}"), names, "test").is_ok());
    for (rules, words) in [
        (format!("{head}{rule}slab = 'tile'\n"), "rule 1: slab = \"tile\""),
        (format!("{head}{rule}promote = 24\n"), "rule 1: promote = 24"),
        (format!("{head}{rule}{rule}residue = 'middle'\n"), "rule 2: residue = \"middle\""),
        (format!("{head}{rule}stage = 3\n"), "unknown field `stage`"),
        (format!("{}{rule}", head.replace("register", "tree")), "join = \"tree\""),
        (format!("{head}{}", rule.replace("mma.m16", "mma.m15")), "rule 1: "),
    ] {
        let error = LibrarySchedules::parse(&rules, names, "test").unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains(words), "{words}: {error}");
    }
}

/// A library that follows one schedule, and says that its algorithm has these attributes.
struct Simulated {
    identity: Identity,
    schedule: fn(Schedule) -> Schedule,
    attributes: Attributes,
}

impl Simulated {
    fn new(attributes: Attributes, schedule: fn(Schedule) -> Schedule) -> Simulated {
        let generation = Generation::Model("hopper".into());
        let identity = Identity { generation, ..Identity::new("simulated", "a simulated library") };
        Simulated { identity, schedule, attributes }
    }
}

impl Library for Simulated {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn multiply(
        &mut self,
        problem: &Problem,
        a: &Codes,
        b: &Codes,
        _: Option<&Codes>,
        _: Option<&ChosenAlgorithm>,
    ) -> Result<LibraryProduct> {
        if problem.m == 1 {
            return Err(Error::unavailable("no algorithm"));
        }
        if problem.m == 2 {
            return Err(Error::device("the GPU is gone"));
        }
        let instruction = tcnum::isa::find("wgmma.m64n8k16.f32.f16.f16").unwrap();
        let mut schedule = Schedule::new(instruction)?;
        schedule.output.format = problem.d;
        let schedule = (self.schedule)(schedule);
        let a = Matrix::new(problem.m, problem.k, problem.a, a.clone());
        let b = Matrix::new(problem.k, problem.n, problem.b, b.clone());
        let mut device = ModelDevice::open("hopper")?;
        let mut executor = Executor::of(&mut device, &schedule, problem.m, problem.n)?;
        let d = compute(&schedule, &mut executor, &Factors::new(a, b), &|_| ())?;
        Ok(LibraryProduct { d: d.codes, attributes: self.attributes, workspace: 0 })
    }
}

fn asked(kind: &str, m: usize, n: usize, k: usize) -> AskedProduct {
    AskedProduct { problem: problem(kind, m, n, k), values: Some(Values::Magnitudes) }
}

fn explained(
    library: &mut Simulated,
    asked: &AskedProduct,
    searches: usize,
) -> tcnum_study::gemm::library::campaign::ExplainedProduct {
    let schedules = shipped();
    let mut replay = ModelReplay;
    let mut campaign = Campaign::new(library, &mut replay, &schedules, "hopper".into(), 1, searches);
    let factors = campaign.factors(asked);
    campaign.explain(asked, &factors).unwrap().0
}

#[test]
fn a_library_that_does_what_its_attributes_say_is_predicted() {
    let split = |schedule: Schedule| {
        let mut schedule = schedule;
        schedule.split.count = 3;
        schedule
    };
    let mut library = Simulated::new(attributes(35, 3, 2), split);
    let explanation = explained(&mut library, &asked("f32.f16.f16.32f", 24, 40, 1000), 0);
    assert_eq!(
        (explanation.outcome, explanation.agreement.elements, explanation.agreement.equal),
        (ProductOutcome::Predicted, 960, 960)
    );
    assert_eq!((explanation.checked.elements, explanation.checked.equal), (128, 128));
    // The product tells the order of its steps.
    assert!(explanation.told_apart > 50, "{}", explanation.told_apart);
    assert!(explanation.first.is_none() && explanation.alternative.is_none() && explanation.remark.is_empty());
}

#[test]
fn a_library_that_does_something_else_is_found_out_and_its_schedule_too() {
    let split = |schedule: Schedule| {
        let mut schedule = schedule;
        (schedule.split.count, schedule.split.join) = (4, PartJoin::Output);
        schedule
    };
    // It says that it does not cut k.
    let mut library = Simulated::new(attributes(35, 1, 0), split);
    let asked = asked("f16.f16.f16.32f", 24, 40, 512);
    let without = explained(&mut library, &asked, 0);
    assert_eq!(without.outcome, ProductOutcome::Unexplained);
    assert!(without.remark.contains("not searched") && without.agreement.equal < 960, "{}", without.remark);
    let (row, column, codes) = without.first.unwrap();
    assert!(row < 24 && column < 40 && codes[0] != codes[1]);

    let with = explained(&mut library, &asked, 1);
    let schedule = with.alternative.unwrap();
    assert_eq!(with.outcome, ProductOutcome::Found);
    assert_eq!((schedule.parts(512).len(), schedule.split.join), (4, PartJoin::Output));
}

#[test]
fn a_schedule_that_was_found_is_tried_again_without_a_search() {
    let descending = |schedule: Schedule| Schedule { order: tcnum_engine::product::KOrder::Descending, ..schedule };
    let mut library = Simulated::new(attributes(35, 1, 0), descending);
    let (schedules, mut replay) = (shipped(), ModelReplay);
    let mut campaign = Campaign::new(&mut library, &mut replay, &schedules, "hopper".into(), 1, 1);
    for k in [256, 320] {
        let asked = asked("f32.f16.f16.32f", 16, 16, k);
        let factors = campaign.factors(&asked);
        let explanation = campaign.explain(&asked, &factors).unwrap().0;
        assert_eq!((explanation.outcome, campaign.searches), (ProductOutcome::Found, 0));
        assert_eq!(explanation.alternative.unwrap().order, tcnum_engine::product::KOrder::Descending);
    }
}

#[test]
fn what_a_library_refuses_or_fails_at_is_an_outcome() {
    let mut library = Simulated::new(attributes(35, 1, 0), |schedule| schedule);
    let refused = explained(&mut library, &asked("f32.f16.f16.32f", 1, 8, 16), 0);
    assert_eq!((refused.outcome, refused.remark.as_str()), (ProductOutcome::Refused, "no algorithm"));
    let failed = explained(&mut library, &asked("f32.f16.f16.32f", 2, 8, 16), 0);
    assert_eq!((failed.outcome, failed.remark.as_str()), (ProductOutcome::Failed, "the GPU is gone"));
}

#[test]
fn a_large_product_without_a_fast_replay_is_sampled() {
    let mut library = Simulated::new(attributes(35, 1, 0), |schedule| schedule);
    let explanation = explained(&mut library, &asked("f32.f16.f16.32f", 100, 200, 400), 0);
    assert_eq!((explanation.outcome, explanation.agreement.elements), (ProductOutcome::Predicted, 32 * 64));
}

#[test]
fn the_kept_table_has_at_least_500_products_of_every_kind() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/cublaslt.csv");
    let all = read_shapes(path.as_ref()).unwrap();
    let names: std::collections::BTreeSet<String> = all.iter().map(|asked| asked.problem.name()).collect();
    assert!(names.len() >= 500 && names.len() == all.len(), "{} different products of {}", names.len(), all.len());
    for compute in Compute::ALL {
        assert!(all.iter().any(|asked| asked.problem.compute == compute), "{}", compute.name());
    }
    for asked in &all {
        let predicted = shipped().predict(&asked.problem, &attributes(35, 2, 2));
        assert!(predicted.is_ok(), "{}: {predicted:?}", asked.problem.name());
    }
}

#[test]
fn the_kept_layers_are_of_a_transformer_at_four_batch_sizes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/transformer.csv");
    let layers = read_layers(path.as_ref()).unwrap();
    assert_eq!(layers.len(), 12);
    for layer in &layers {
        assert_eq!((&layer.batches[..], layer.problem.layout), (&[1, 8, 64, 512][..], OperandLayout::Weights));
        assert!(shipped().predict(&layer.problem, &attributes(35, 2, 2)).is_ok(), "{}", layer.name);
    }
}

#[test]
fn a_wrong_line_of_layers_is_refused_with_its_number() {
    let head = "layer,product,layout,values,n,k,batches\n";
    for (line, words) in [
        ("q,f16.f16.f16.32f,nt,normal,8,16,1", "layer 1: batches is '1': expected 2 to 64 numbers"),
        ("q,f16.f16.f16.32f,nt,normal,0,16,1 2", "layer 1: m = 1, n = 0"),
        ("q,f16.f16.f16.32f,tn,normal,8,16,1 2", "layout is 'tn'"),
        ("q,f16.f16.32f,nt,normal,8,16,1 2", "it has 3 parts"),
        ("", "the table has no layers"),
    ] {
        let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        std::fs::write(file.path(), format!("{head}{line}\n")).unwrap();
        let error = read_layers(file.path()).unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains(words), "{line}: {error}");
    }
}

#[test]
fn a_batch_size_that_changes_the_schedule_changes_the_bits_of_a_row() {
    let layer = |values| Layer {
        name: "q".into(),
        problem: problem("f32.f16.f16.32f", 4, 48, 320),
        values,
        batches: vec![4, 8, 12],
    };
    let made = |layer: &Layer, rows: &mut Vec<BatchRow>| {
        let (mut library, mut replay, schedules) = (ByBatch::new(), ModelReplay, shipped());
        let mut campaign = Campaign::new(&mut library, &mut replay, &schedules, "hopper".into(), 1, 0);
        campaign.batches(std::slice::from_ref(layer), rows, &|_| ()).unwrap();
    };
    let mut rows = Vec::new();
    made(&layer(Values::Normal), &mut rows);
    let outcomes: Vec<&str> = rows.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, ["first", "same", "changed"]);
    assert!(rows.iter().all(|row| row.replayed == 48 && row.replayed_equal == 48), "{rows:?}");
    assert_eq!(rows[1].why.as_deref(), Some("the same algorithm, the same schedule"));
    assert_eq!(rows[2].why.as_deref(), Some("split-k 4 to 1: another schedule"));
    assert!(rows[2].differing.unwrap() > 0 && rows[2].column.is_some());
    // Three terms are one step.
    let exact = Layer { problem: problem("f32.f16.f16.32f", 4, 48, 3), ..layer(Values::Magnitudes) };
    let mut rows = Vec::new();
    made(&exact, &mut rows);
    assert!(rows.iter().all(|row| row.outcome != "changed"), "{rows:?}");
}

#[test]
fn an_algorithm_is_given_by_its_numbers() {
    let parsed = ChosenAlgorithm::parse("66,tile=20,stages=35,splitk=4,reduction=2,swizzle=0").unwrap();
    assert_eq!((parsed.id, parsed.tile, parsed.split_k, parsed.cluster), (66, Some(20), Some(4), None));
    for (text, words) in
        [("x", "the algorithm is 'x'"), ("1,tiles=3", "'tiles' is not an attribute"), ("1,tile=a", "tile is 'a'")]
    {
        assert!(ChosenAlgorithm::parse(text).unwrap_err().contains(words), "{text}");
    }
}

fn refusal(arguments: &[&str]) -> String {
    let run = tcnum(&[&["gemm", "library", "-q"], arguments].concat());
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
    run.stderr
}

#[test]
fn what_a_library_is_not_asked_for_is_refused() {
    let csv = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    let path = csv.path().to_str().unwrap();
    let files = ["--a", "a.npy", "--b", "b.npy"];
    for (arguments, words) in [
        (&["--device", "cublaslt"][..], "--product <D.A.B.COMPUTE>"),
        (&["--device", "cuda:0", "--product", "f16.f16.f16.32f"], "expected cublaslt"),
        (&["--device", "cublaslt:x", "--product", "f16.f16.f16.32f"], "cublaslt:N for the library on GPU N"),
        (&["--device", "cublaslt", "--product", "f16.f16.32f"], "it has 3 parts"),
        (
            &["--device", "cublaslt", "--product", "f16.f16.f16.32f", "--split-k", "3"],
            "unexpected argument '--split-k'",
        ),
        (&["--product", "f16.f16.f16.32f", "--layout", "tn"], "[possible values: nn, nt]"),
        (&["--product", "f16.f16.f16.32f", "--algorithm", "tile=3"], "the algorithm is 'tile=3'"),
    ] {
        let message = refusal(&[&files[..], arguments].concat());
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
    assert!(refusal(&["--shapes", path]).contains("the table has no products"));
    assert!(refusal(&["--shapes", path, "--a", "a.npy"]).contains("cannot be used with"));
}

#[test]
fn a_machine_without_the_library_is_told_what_would_give_it() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("one.csv");
    std::fs::write(&table, "product,layout,values,m,n,k\nf16.f16.f16.32f,nt,normal,8,8,8\n").unwrap();
    let missing = folder.path().join("libcublasLt.so.13");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tcnum"))
        .args(["gemm", "library", "-q", "--shapes"])
        .arg(&table)
        .env("TCNUM_CUBLASLT", &missing)
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("TCNUM_CUBLASLT=") && message.contains("cannot be loaded"), "{message}");
    assert!(output.stdout.is_empty() && message.lines().count() == 1, "{message}");
}

/// On a machine with a GPU and the library; elsewhere a line says that it is skipped.
#[test]
fn products_of_the_library_are_replayed_on_a_gpu() {
    use crate::machine::{Need, skip};
    use tcnum_engine::{
        device::cuda::{CudaDevice, compile, cublaslt::CublasLt},
        product::CudaReplay,
    };
    let opened = CublasLt::open(0).and_then(|library| Ok((library, CudaDevice::open(0)?, compile::version()?)));
    let (mut library, device) = match opened {
        Ok((library, device, _)) => (library, device),
        Err(error) => return skip(Need::Gpu, &format!("cuBLASLt, a GPU and NVRTC are needed ({error})")),
    };
    let schedules = shipped();
    let (model, _) = library.identity().generation.model("cublaslt:0").unwrap();
    let mut replay = CudaReplay(device);
    let mut campaign = Campaign::new(&mut library, &mut replay, &schedules, model, 1, 4);
    for (kind, k) in [("f32.f16.f16.32f", 256), ("bf16.bf16.bf16.32f", 512), ("s32.s8.s8.32i", 128)] {
        let asked = asked(kind, 128, 128, k);
        let factors = campaign.factors(&asked);
        let (explanation, _) = campaign.explain(&asked, &factors).unwrap();
        assert!(
            matches!(explanation.outcome, ProductOutcome::Predicted | ProductOutcome::Found),
            "{kind}: {explanation:?}"
        );
        assert_eq!(explanation.agreement.elements, 128 * 128);
    }
}
