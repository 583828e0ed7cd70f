//! `cuda:N` on a real GPU: every fragment layout, by matrices whose products are exact whatever the arithmetic.
//! Where there is no GPU the tests say that they are skipped.

use crate::{
    arithmetics::arithmetics_of,
    machine::{Need, skip},
};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tcnum::{
    arithmetic::Model,
    format::{self, Format, Overflow, Rounding},
    inputs::{Sequence, stream},
    isa::{self, Codes, Instruction, Tiles},
};
use tcnum_engine::device::{
    CampaignWork, Device, ExecutionKind, Mismatch, Spot,
    cuda::{self, CudaDevice, architecture},
};

/// The first GPU, or `None`, with a printed line, if there is none.
fn gpu() -> Option<CudaDevice> {
    if cuda::count() == 0 {
        skip(Need::Gpu, "there is no GPU");
        return None;
    }
    Some(CudaDevice::open(0).expect("a GPU that is counted can be opened"))
}

fn detail(device: &CudaDevice, key: &str) -> String {
    let entry = device.identity().details.iter().find(|(k, _)| k == key);
    entry.unwrap_or_else(|| panic!("no {key}")).1.clone()
}

/// The executed instructions that this GPU has.
fn executed(device: &CudaDevice) -> Vec<Instruction> {
    let target = detail(device, "architecture");
    let table = architecture::ARCHITECTURES.iter().find(|a| a.target == target).expect("a known architecture").table;
    isa::all().iter().filter(|i| i.kernel.is_some() && i.support_on(table).is_some()).cloned().collect()
}

fn code(format: &Format, value: i64) -> u64 {
    format.encode_f64(value as f64, Rounding::Rne, Overflow::Standard).expect("a small integer has a code")
}

/// Random integers, small enough that every sum and product is exact in every format.
fn integers(rng: &mut ChaCha8Rng, format: &Format, count: usize, largest: i64) -> Vec<i64> {
    let smallest = if format.name.starts_with('u') { 0 } else { -largest };
    (0..count).map(|_| rng.random_range(smallest..=largest)).collect()
}

fn codes(format: &Format, values: &[i64]) -> Codes {
    Codes::from_values(format, &values.iter().map(|&v| code(format, v)).collect::<Vec<_>>())
}

/// Random positions of the stored elements of `rows` rows of A, or none for dense forms.
fn positions(rng: &mut ChaCha8Rng, i: &Instruction, rows: usize) -> Option<Codes> {
    let chunk = i.chunk()?;
    let groups = chunk.length / chunk.together;
    let mut bytes = Vec::new();
    for _ in 0..rows * i.k / chunk.length {
        let mut kept = vec![rng.random_range(0..groups)];
        while kept.len() * chunk.together < chunk.kept {
            let other = rng.random_range(0..groups);
            if !kept.contains(&other) {
                kept.push(other);
            }
        }
        kept.sort_unstable();
        bytes.extend(kept.iter().flat_map(|g| g * chunk.together..(g + 1) * chunk.together).map(|at| at as u8));
    }
    Codes::from_bytes(format::find("u8").unwrap(), bytes)
}

/// Random tiles, and D by integer arithmetic: of each dot-product-add on its own, from the operands that it is said to have.
fn tiles(i: &Instruction, count: usize, seed: u64) -> (Tiles, Vec<i64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let a = codes(i.a, &integers(&mut rng, i.a, count * i.m * i.stored_k(), 3));
    let b = codes(i.b, &integers(&mut rng, i.b, count * i.k * i.n, 3));
    let c = codes(i.c, &integers(&mut rng, i.c, count * i.m * i.n, 100));
    let positions = positions(&mut rng, i, count * i.m).map(|positions| ("positions", positions));
    let arrays = [("a", a), ("b", b), ("c", c)].into_iter().chain(positions);
    let tiles = Tiles::from_arrays(count, arrays).unwrap();
    let value = |format: &Format, code| format.to_f64(code) as i64;
    let d = (0..count * i.m * i.n).map(|e| {
        let case = tiles.case(i, e / (i.m * i.n), e / i.n % i.m, e % i.n);
        let product = |at: usize| {
            let (x, y) = (value(i.a, case.a[at]), value(i.b, case.b[case.logical(i, at)]));
            if i.xor { i64::from(x != y) } else { x * y }
        };
        let products = (0..i.stored_k()).map(product);
        value(i.c, case.c) + products.sum::<i64>()
    });
    let d = d.collect();
    (tiles, d)
}

/// The first element of D that is not what integer arithmetic says.
fn first_difference(i: &Instruction, d: &Codes, expected: &[i64]) -> Option<String> {
    assert_eq!(d.len(), expected.len());
    let differs = |e: &usize| i.d.to_f64(d.get(*e)) != expected[*e] as f64;
    (0..d.len()).find(differs).map(|e| {
        let (tile, row, column) = (e / (i.m * i.n), e / i.n % i.m, e % i.n);
        format!("{i}: tile {tile}, row {row}, column {column}: code {:#x}, expected {}", d.get(e), expected[e])
    })
}

#[test]
fn every_executed_instruction_places_every_element_where_it_belongs() {
    let Some(mut device) = gpu() else { return };
    let mut differences = Vec::new();
    let instructions = executed(&device);
    assert!(!instructions.is_empty());
    for (seed, i) in instructions.iter().enumerate() {
        // 37 tiles leave the last warp of m8n8k4, and the last block of the others, partly empty.
        let (tiles, expected) = tiles(i, 37, seed as u64);
        let d = device.execute(i, &tiles).unwrap_or_else(|error| panic!("{error}"));
        differences.extend(first_difference(i, &d, &expected));
    }
    println!("{} instructions on {}", instructions.len(), device.identity().description);
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), instructions.len(), differences.join("\n"));
}

#[test]
fn wgmma_places_every_element_for_wider_n() {
    let Some(mut device) = gpu() else { return };
    if !executed(&device).iter().any(|i| i.family() == "wgmma") {
        return skip(Need::Gpu, "this GPU has no wgmma");
    }
    let forms = [
        "wgmma.m64n#k16.f32.bf16.bf16",
        "wgmma.m64n#k16.f16.f16.f16.rs",
        "wgmma.m64n#k8.f32.tf32.tf32",
        "wgmma.m64n#k32.f32.e4m3.e5m2",
        "wgmma.m64n#k32.s32.s8.u8",
        "wgmma.sp.m64n#k32.f32.bf16.bf16",
        "wgmma.sp.m64n#k32.f16.f16.f16.rs",
        "wgmma.sp.m64n#k16.f32.tf32.tf32",
        "wgmma.sp.m64n#k64.f32.e4m3.e5m2",
        "wgmma.sp.m64n#k64.s32.s8.u8.rs",
    ];
    for n in [16, 24, 32, 48, 96, 128, 192, 240, 256] {
        for form in forms {
            let i = isa::find(&form.replace('#', &n.to_string())).unwrap();
            let (tiles, expected) = tiles(&i, 3, n);
            let d = device.execute(&i, &tiles).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(first_difference(&i, &d, &expected), None);
        }
    }
}

#[test]
fn what_runs_is_what_the_instruction_table_says() {
    let Some(mut device) = gpu() else { return };
    let target = detail(&device, "architecture");
    for i in executed(&device) {
        let Some(support) = i.support_on(&target) else { continue };
        let execution = device.prepare(&i).unwrap_or_else(|error| panic!("{error}"));
        // Reordering the operands of a sparse form takes no arithmetic.
        let native = support.emulation.is_none_or(|how| how == "reorder");
        let expected = if native { ExecutionKind::Native } else { ExecutionKind::Emulated };
        assert_eq!(execution.kind, expected, "{i}: {:?}", execution.opcodes);
    }
}

/// The model in CUDA, compiled by NVRTC, and the evaluator find the same outputs of the GPU to differ from an arithmetic that is
/// not its own. TCNUM_ARITHMETICS asks for more.
#[test]
fn random_arithmetics_differ_from_the_gpu_where_the_evaluator_says_so() {
    let Some(mut device) = gpu() else { return };
    let count = std::env::var("TCNUM_ARITHMETICS").ok().and_then(|count| count.parse().ok()).unwrap_or(20);
    let mut runner = TestRunner::deterministic();
    let every: Vec<&Instruction> =
        isa::all().iter().filter(|i| i.n <= 32 && executed(&device).iter().any(|other| other.name == i.name)).collect();
    let (mut compared, mut differing) = (0, 0);
    for number in 0..count {
        let instruction = every[number * 37 % every.len()];
        let drawn = arithmetics_of(instruction).new_tree(&mut runner).unwrap().current();
        let model = Model::parse(&drawn.text, "random.toml").unwrap();
        let tiles = (4096 / (instruction.m * instruction.n)).max(1) as u64;
        let sequence = Sequence::Random { seed: number as u64 };
        let mut engine = device
            .campaigns()
            .unwrap()
            .engine(&CampaignWork { instruction, sequence, model: &model })
            .unwrap()
            .expect("a kernel");
        let mut verified = engine.run(0..tiles).unwrap();
        let operands = stream::tiles(instruction, number as u64, 0, tiles as usize);
        let (gpu, ours) = (device.execute(instruction, &operands).unwrap(), drawn.evaluator().execute(&operands));
        let mismatch = |at: usize| {
            let (tile, element) = (at / (instruction.m * instruction.n), at % (instruction.m * instruction.n));
            let (row, column) = ((element / instruction.n) as u32, (element % instruction.n) as u32);
            Mismatch { spot: Spot { tile: tile as u64, row, column }, device: gpu.get(at), model: ours.get(at) }
        };
        let expected: Vec<Mismatch> = (0..gpu.len()).filter(|at| gpu.get(*at) != ours.get(*at)).map(mismatch).collect();
        verified.mismatches.sort_unstable();
        assert_eq!(verified.differing(), expected.len() as u64, "{drawn:?}");
        assert!(!verified.is_whole() || verified.mismatches == expected, "{drawn:?}");
        compared += gpu.len();
        differing += expected.len();
    }
    println!("{count} arithmetics on {compared} outputs, of which {differing} differ");
}

#[test]
fn more_tiles_than_fit_in_one_launch_are_all_answered() {
    let Some(mut device) = gpu() else { return };
    let i = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
    if !executed(&device).contains(&i) {
        return skip(Need::Gpu, &format!("this GPU has no {i}"));
    }
    const PERIOD: usize = 37;
    const REPEATS: usize = 5000;
    let (few, expected) = tiles(&i, PERIOD, 1);
    let repeat = |codes: &Codes, format| Codes::from_bytes(format, codes.as_bytes().repeat(REPEATS)).unwrap();
    let arrays = [("a", repeat(&few.a, i.a)), ("b", repeat(&few.b, i.b)), ("c", repeat(&few.c, i.c))];
    let many = Tiles::from_arrays(PERIOD * REPEATS, arrays).unwrap();
    let d = device.execute(&i, &many).unwrap();
    assert_eq!(first_difference(&i, &d, &expected.repeat(REPEATS)), None);
    assert_eq!(device.execute(&i, &Tiles::zeros(&i, 0)).unwrap().len(), 0);
}

#[test]
fn an_instruction_of_another_architecture_is_a_request_error_that_says_which_have_it() {
    let Some(mut device) = gpu() else { return };
    let target = detail(&device, "architecture");
    let Some(i) = isa::all().iter().find(|i| i.kernel.is_some() && i.support_on(&target).is_none()) else {
        return skip(Need::Gpu, &format!("{target} has every executed instruction"));
    };
    let error = device.prepare(i).unwrap_err();
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().contains(&i.architectures()), "{error}");
}

#[test]
fn a_gpu_that_is_not_there_is_a_device_error() {
    let Err(error) = CudaDevice::open(9999) else { panic!("there is no ten-thousandth GPU") };
    assert_eq!(error.exit_status(), 3);
    let expected = if cuda::loader::driver().is_ok() { "cuda:9999" } else { "libcuda.so.1" };
    assert!(error.to_string().contains(expected) || error.to_string().contains("cuInit"), "{error}");
}
