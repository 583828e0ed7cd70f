//! `tcnum gemm between`: whether two agree, where not, and why.

use serde_json::Value;
use tcnum::{
    Result,
    isa::{self, Codes},
};
use tcnum_engine::{
    device::{
        Attributes, ChosenAlgorithm, Generation, Identity, Library, LibraryProduct, ModelDevice, OperandLayout, Problem,
    },
    product::{Executor, Factors, LibrarySchedules, Matrix, ProductShape, Schedule, compute},
};
use tcnum_study::gemm::between::{Knowledge, ProductMaker, ProductSide, between};

use crate::{
    command::write,
    compute::matrix,
    machine::{Need, skip},
    program::{tcnum, validate_report},
};

const HALF: &str = "mma.m16n8k16.f32.f16.f16.f32";

fn gemm(arguments: &[&str], status: i32) -> Value {
    let run = tcnum(&[&["gemm", "between", "-q", "--output", "json"], arguments].concat());
    assert_eq!(run.status, status, "{arguments:?}: {}", run.stderr);
    validate_report(&run.stdout)
}

/// The smallest product of a report, as a row.
fn smallest(report: &Value) -> &Value {
    &report["tables"]["smallest_product"][0]
}

#[test]
fn two_models_differ_in_their_arithmetic_and_a_small_product_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("apart.safetensors").to_string_lossy().into_owned();
    let pair = ["model:hopper", "model:ampere", "--instr", HALF];
    let report = gemm(&[&pair[..], &["--shape", "20,24,100", "--apart", &file]].concat(), 1);
    let row = &report["tables"]["between"][0];
    assert_eq!(
        (&row["verdict"], &row["x_known"], &row["keys"]),
        (&"differ".into(), &"given".into(), &Value::Array(vec![]))
    );
    let why = row["why"].as_str().unwrap();
    assert!(
        why.contains("The schedules are the same.") && why.contains("The arithmetics of the instructions differ."),
        "{why}"
    );
    assert!(report["tables"]["reasons"].as_array().is_some_and(|rows| !rows.is_empty()), "{report}");
    let product = smallest(&report);
    assert_eq!((&product["m"], &product["n"]), (&1.into(), &1.into()), "{product}");
    assert!(product["k"].as_u64().unwrap() <= 16 && product["x_d"] != product["y_d"], "{product}");
    // The product that was written shows it, too.
    let [a, b] = ["a", "b"].map(|name| format!("{file}:{name}"));
    let again = gemm(&[&pair[..], &["--a", &a, "--b", &b]].concat(), 1);
    assert_eq!((&smallest(&again)["x_d"], &smallest(&again)["y_d"]), (&product["x_d"], &product["y_d"]));
}

#[test]
fn two_schedules_of_one_model_differ_in_a_key_and_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("split.toml").to_string_lossy().into_owned();
    std::fs::write(&schedule, format!("instruction = \"{HALF}\"\nsplit = {{ count = 2, granule = 16 }}\n")).unwrap();
    let (plain, split) = (format!("model:hopper@{HALF}"), format!("model:hopper@{schedule}"));
    let report = gemm(&[&plain, &split, "--shape", "8,8,64", "--dist", "magnitudes"], 1);
    let row = &report["tables"]["between"][0];
    let keys: Vec<&str> = row["keys"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(keys.contains(&"split.count"), "{row}");
    assert!(row["why"].as_str().unwrap().contains("The arithmetic is the same."), "{row}");
    // Parts of 16 and 16, and an order that counts, take two steps.
    let product = smallest(&report);
    assert!((17..=48).contains(&product["k"].as_u64().unwrap()), "{product}");
    let steps = report["tables"]["product_steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["same"] == false) && row["first_step"].is_string(), "{steps:?}");
}

#[test]
fn a_d_of_few_bits_shows_the_difference_by_few_terms() {
    let bf16 = "mma.m16n8k16.f32.bf16.bf16.f32";
    let flags = ["--instr", bf16, "--output-format", "bf16", "--shape", "256,256,1024"];
    let report = gemm(&[&["model:hopper", "model:ampere"], &flags[..]].concat(), 1);
    let product = smallest(&report);
    assert_eq!((&product["m"], &product["n"]), (&1.into(), &1.into()), "{product}");
    assert!(product["k"].as_u64().unwrap() <= 48 && product["x_d"] != product["y_d"], "{product}");
}

#[test]
fn those_that_agree_are_said_to() {
    let report = gemm(&["model:hopper", "model:hopper", "--instr", HALF, "--shape", "8,8,40"], 0);
    assert_eq!(report["tables"]["between"][0]["verdict"], "agree");
    assert_eq!(report["tables"]["product_comparison"][0]["equal"], 64);
    assert!(report["tables"]["smallest_product"].is_null());
}

#[test]
fn a_program_is_one_of_two() {
    if !crate::machine::has_python() {
        return;
    }
    let program = |fault: &str| format!("exec:python3 '{}/tests/exec/hopper.py'{fault}", env!("CARGO_MANIFEST_DIR"));
    let flags = ["--instr", HALF, "--shape", "6,5,32"];
    gemm(&[&["model:hopper", &program("")], &flags[..]].concat(), 0);
    let report = gemm(&[&["model:hopper", &program(" --fault jammed")], &flags[..]].concat(), 1);
    let product = smallest(&report);
    assert_eq!((&product["m"], &product["n"], &product["k"]), (&1.into(), &1.into(), &1.into()), "{product}");
    assert!(report["tables"]["between"][0]["why"].as_str().unwrap().contains("differ"), "{report}");
}

#[test]
fn the_schedule_of_a_program_that_multiplies_whole_matrices_is_found() {
    let numpy = std::process::Command::new("python3").args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|run| run.status.success()) {
        return skip(Need::Numpy, "there is no Python with NumPy");
    }
    let program = format!("exec:python3 '{}/tests/exec/chain.py'", env!("CARGO_MANIFEST_DIR"));
    let matrix_program = format!("{program}@gemm.m2n2k24.f32");
    let fma = "model:x86@vfmadd.m1n16k1.f32.f32.f32.f32";
    let report = gemm(&[&matrix_program, fma, "--shape", "2,2,24", "--dist", "magnitudes", "--model", "x86"], 1);
    let row = &report["tables"]["between"][0];
    assert_eq!((&row["x_known"], &row["y_known"]), (&"found".into(), &"given".into()), "{row}");
    assert!(row["x_schedule"].as_str().unwrap().contains("k descending"), "{row}");
    assert_eq!(row["keys"], serde_json::json!(["order"]));
    // Of a program with two kernels, one of which makes most elements, that of the element.
    let matrix_program = format!("{program} --two@gemm.m3n40k24.f32");
    let folder = tempfile::tempdir().unwrap();
    let schedule = folder.path().join("descending.toml").to_string_lossy().into_owned();
    let descending = "instruction = \"vfmadd.m1n16k1.f32.f32.f32.f32\"\norder = \"descending\"\n";
    std::fs::write(&schedule, descending).unwrap();
    let fma = format!("model:x86@{schedule}");
    let report = gemm(&[&matrix_program, &fma, "--shape", "3,40,24", "--dist", "magnitudes", "--model", "x86"], 1);
    let row = &report["tables"]["between"][0];
    assert_eq!(row["x_known"], "found of the first element that differs", "{row}");
    assert!(row["x_schedule"].as_str().unwrap().contains("k ascending"), "{row}");
    assert_eq!(report["tables"]["product_comparison"][0]["which_columns"], "0..3");
}

#[test]
fn what_is_not_said_of_two_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let single = matrix(2, 2, tcnum::format::find("f32").unwrap(), 1);
    let file = write(&folder.path().join("a.npy"), &[("a", &single)]);
    let shape = ["--shape", "4,4,16"];
    for (arguments, words) in [
        (&["model:hopper", "model:ampere"][..], "no schedule; give --instr or --schedule"),
        (&["cublaslt", "model:ampere"], "say with --product"),
        (&["model:hopper@rows=0", "model:ampere", "--instr", HALF], "expected rows=N"),
        (&["model:hopper@algorithm=3", "model:ampere", "--instr", HALF], "only libraries have algorithms"),
        (&["cublaslt@algorithm=tile", "model:ampere"], "the algorithm is 'tile'"),
        (&["model:hopper@missing.toml", "model:ampere"], "missing.toml"),
        (&["model:hopper", "trace:x", "--instr", HALF], "is a recording"),
        (&["model:hopper", "model:hopper", "--instr", HALF, "--apart", "x.npy"], "name a .safetensors file"),
        (&["--instr", HALF, "model:hopper", "model:hopper", "--a", &file], "cannot be used with"),
        (&["--instr", HALF, "model:hopper"], "<Y>"),
    ] {
        let run = tcnum(&[&["gemm", "between", "-q"], arguments, &shape[..]].concat());
        assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{arguments:?}: {}", run.stderr);
    }
    let run = tcnum(&["gemm", "compute", "-q", "--instr", HALF, "--shape", "4,0,16"]);
    assert!(run.status == 2 && run.stderr.contains("n = 0"), "{}", run.stderr);
}

/// A library that cuts k in four parts for up to 8 rows, and not at all for more.
pub(crate) struct ByBatch(Identity);

impl ByBatch {
    pub(crate) fn new() -> ByBatch {
        ByBatch(Identity { generation: Generation::Model("hopper".into()), ..Identity::new("simulated", "") })
    }
}

impl Library for ByBatch {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn multiply(
        &mut self,
        problem: &Problem,
        a: &Codes,
        b: &Codes,
        _: Option<&Codes>,
        _: Option<&ChosenAlgorithm>,
    ) -> Result<LibraryProduct> {
        let parts = if problem.m <= 8 { 4 } else { 1 };
        let mut schedule = Schedule::new(isa::find("wgmma.m64n8k16.f32.f16.f16").unwrap())?;
        schedule.split.count = parts;
        let a = Matrix::new(problem.m, problem.k, problem.a, a.clone());
        let b = Matrix::new(problem.k, problem.n, problem.b, b.clone());
        let mut device = ModelDevice::open("hopper")?;
        let mut executor = Executor::of(&mut device, &schedule, problem.m, problem.n)?;
        let d = compute(&schedule, &mut executor, &Factors::new(a, b), &|_| ())?;
        let split_k = if parts > 1 { parts as u32 } else { 0 };
        let attributes = Attributes { id: 66, tile: 20, stages: 35, split_k, reduction: 2, ..Attributes::default() };
        Ok(LibraryProduct { d: d.codes, attributes, workspace: 0 })
    }
}

#[test]
fn one_library_at_two_batch_sizes_differs_in_its_schedule() {
    let shape = ProductShape { m: 1, n: 1, k: 1 };
    let problem = Problem::of_kind("f32.f16.f16.32f", shape, OperandLayout::Weights).unwrap();
    let side = |rows: Option<usize>| {
        let maker = ProductMaker::Library {
            library: Box::new(ByBatch::new()),
            problem: Box::new(problem.clone()),
            chosen: None,
            made: None,
        };
        ProductSide { name: format!("{rows:?}"), maker, rows }
    };
    let half = problem.a;
    let factors = Factors::new(matrix(12, 320, half, 1), matrix(320, 16, half, 2));
    let schedules = LibrarySchedules::shipped("cublaslt").unwrap();
    let knowledge = Knowledge { models: vec!["hopper".into()], library: Some(&schedules), factors: (1.0, 1.0) };
    let mut comparison = None;
    between(&mut [side(Some(4)), side(None)], &factors, &knowledge, &mut comparison, &|_| ()).unwrap();
    let comparison = comparison.unwrap();
    // Four rows are made by both.
    assert_eq!(comparison.differences.elements, 64);
    assert!(comparison.differences.differing > 0);
    let [Some(x), Some(y)] = &comparison.known else { panic!("{comparison:?}") };
    assert_eq!(
        (x.how, x.schedule.parts(320).len(), y.how, y.schedule.parts(320).len()),
        ("predicted", 3, "predicted", 1)
    );
    assert!(comparison.keys.as_ref().unwrap().iter().any(|(key, _)| key == "split.count"));
    // With one row alone both cut k alike: the other rows stay, as zeros.
    let smallest = comparison.smallest.unwrap();
    assert!(smallest.factors.a.rows == 12 && smallest.d[0] != smallest.d[1], "{:?}", smallest.factors);
}
