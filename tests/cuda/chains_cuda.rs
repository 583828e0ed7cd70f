//! The kernel that computes whole products by the model: what it does, compiled by a C++ compiler of the host, is what schedules say, and
//! NVRTC takes it for every target.

use std::{
    io::Write as _,
    ops::Range,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::{
    machine::{NO_NVRTC, Need, amount, cpp_compiler, skip},
    model_cuda::HOST,
};
use tcnum::{
    Result,
    arithmetic::Model,
    format,
    isa::{self, Codes},
};
use tcnum_engine::{
    device::{
        Chains, ModelDevice,
        cuda::{chains::kernel, compile},
    },
    product::{Executor, Factors, Matrix, Schedule, Values, compute, draw},
};

/// What the kernel takes from CUDA besides.
const GRID: &str = r#"
#define __global__
#define __launch_bounds__(threads)
struct Place { unsigned x; };
static Place threadIdx, blockIdx, blockDim, gridDim;
inline float __fadd_rn(float x, float y) { volatile float sum = x + y; return sum; }
"#;

/// Reads a product, runs the entries block by block, and prints the codes.
const RUN: &str = r#"
#include <vector>
template <class Run> void launch(unsigned blocks, unsigned threads, Run run) {
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) run();
}
int main() {
    const Word m = next(), n = next(), k = next(), promoted = next(), runs = next();
    std::vector<Word> ends(runs);
    for (Word& end : ends) end = next();
    const Word count = ends[runs - 1];
    std::vector<Step> steps(count);
    for (Step& step : steps) { step.from = (int)next(); step.count = (int)next(); }
    std::vector<A::Code> a(m * k);
    for (A::Code& code : a) code = (A::Code)next();
    std::vector<B::Code> b(k * n);
    for (B::Code& code : b) code = (B::Code)next();
    const Word down = (m + M - 1) / M, across = (n + N - 1) / N, places = count * K;
    std::vector<A::Code> a_codes(down * M * places);
    std::vector<B::Code> b_codes(across * N * places);
    std::vector<Factor> a_factors(a_codes.size()), b_factors(b_codes.size());
    std::vector<D::Code> d(m * n);
    std::vector<unsigned> sums(m * n);
    launch(3, 7, [&] { pack_a(a.data(), steps.data(), count, m, k, a_codes.data(), a_factors.data()); });
    launch(2, 5, [&] { pack_b(b.data(), steps.data(), count, n, b_codes.data(), b_factors.data()); });
    launch(down * across, M * N, [&] {
        chains(a_codes.data(), a_factors.data(), b_codes.data(), b_factors.data(), ends.data(), runs, m, n, promoted, d.data(), sums.data());
    });
    for (Word at = 0; at < m * n; ++at) std::printf("%llx\n", promoted ? (Word)sums[at] : (Word)d[at]);
}
"#;

/// The compiled kernel, and the operands of a product.
struct HostChains<'a> {
    program: PathBuf,
    factors: &'a Factors,
    d: &'static format::Format,
}

impl Chains for HostChains<'_> {
    fn sum(&mut self, runs: &[Vec<Range<usize>>], promoted: bool) -> Result<Codes> {
        let Factors { a, b, .. } = self.factors;
        let mut words = vec![a.rows, b.columns, a.columns, usize::from(promoted), runs.len()];
        let mut end = 0;
        for run in runs {
            end += run.len();
            words.push(end);
        }
        words.extend(runs.iter().flatten().flat_map(|step| [step.start, step.len()]));
        let words = words.into_iter().map(|word| word as u64).chain(a.codes.iter()).chain(b.codes.iter());
        let input: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let mut child = Command::new(&self.program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let codes: Vec<u64> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| u64::from_str_radix(line, 16).unwrap())
            .collect();
        let format = if promoted { format::find("f32").unwrap() } else { self.d };
        Ok(Codes::from_values(format, &codes))
    }

    fn seconds(&self) -> f64 {
        0.0
    }
}

/// Instructions, and what schedules of them say besides.
const SCHEDULES: [(&str, &str, (usize, usize, usize)); 8] = [
    ("wgmma.m64n8k16.f32.f16.f16", "", (9, 33, 100)),
    (
        "wgmma.m64n8k16.f32.bf16.bf16",
        "slab = 64\nresidue = 'first'\nsplit = { count = 3 }\noutput = { format = 'bf16' }",
        (17, 5, 333),
    ),
    (
        "wgmma.m64n8k16.f16.f16.f16",
        "order = 'descending'\nsplit = { count = 2, granule = 16, join = 'serial' }",
        (8, 32, 65),
    ),
    ("wgmma.m64n8k8.f32.tf32.tf32", "split = { count = 4, granule = 8, join = 'output' }", (3, 40, 77)),
    ("wgmma.m64n8k32.f32.e4m3.e4m3", "promote = 128\noutput = { format = 'f16' }", (10, 34, 500)),
    ("wgmma.m64n8k32.f32.e5m2.e4m3", "output = { format = 'e4m3', overflow = 'saturate' }", (10, 34, 200)),
    ("wgmma.m64n8k32.s32.s8.s8", "split = { count = 2 }", (10, 34, 300)),
    ("mma.m16n8k16.f16.f16.f16.f16", "promote = 32\noutput = { format = 'f32' }", (9, 9, 100)),
];

#[test]
fn products_by_the_kernel_are_those_of_their_schedules() {
    let Some(compiler) = cpp_compiler() else { return };
    for (name, keys, (m, n, k)) in SCHEDULES {
        let schedule = Schedule::parse(&format!("instruction = '{name}'\n{keys}"), name).unwrap();
        let i = &schedule.instruction;
        let program = Model::load("hopper").unwrap().program(i).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (source, executable) = (folder.path().join("chains.cpp"), folder.path().join("chains"));
        std::fs::write(&source, [HOST, GRID, &kernel(&program).unwrap(), RUN].join("\n")).unwrap();
        let options = ["-std=c++17", "-O1", "-fwrapv", "-frounding-math", "-ffp-contract=off", "-w", "-o"];
        let output = Command::new(compiler).args(options).arg(&executable).arg(&source).output().unwrap();
        assert!(output.status.success(), "{name}:\n{}", String::from_utf8_lossy(&output.stderr));
        for values in Values::ALL {
            let output = schedule.output.format;
            let factors = Factors::new(draw(m, k, i.a, output, values, 1), draw(k, n, i.b, output, values, 2));
            let chains = HostChains { program: executable.clone(), factors: &factors, d: i.d };
            let computed =
                compute(&schedule, &mut Executor::chained(Box::new(chains), &schedule), &factors, &|_| ()).unwrap();
            let mut device = ModelDevice::open("hopper").unwrap();
            let mut executor = Executor::of(&mut device, &schedule, m, n).unwrap();
            let expected: Matrix = compute(&schedule, &mut executor, &factors, &|_| ()).unwrap();
            assert!(computed == expected, "{name} {keys}, {}", values.name());
        }
    }
}

#[test]
fn sparse_and_block_scaled_forms_have_no_such_kernel() {
    let program = |model: &str, name: &str| Model::load(model).unwrap().program(&isa::find(name).unwrap()).unwrap();
    assert!(kernel(&program("hopper", "mma.sp.m16n8k32.f32.f16.f16.f32")).is_none());
    let block_scaled = isa::all().iter().find(|i| i.scale.is_some() && !i.is_sparse()).unwrap();
    assert!(kernel(&program("blackwell-rtx", &block_scaled.name)).is_none());
}

#[test]
fn the_kernel_compiles_for_gpus() {
    let targets = match compile::targets() {
        Ok(targets) => targets,
        Err(_) => return skip(Need::Nvrtc, NO_NVRTC),
    };
    let wanted = [("sm_90", "sm_90a", "hopper"), ("sm_80", "sm_80", "ampere")];
    for (_, target, model) in wanted.into_iter().filter(|(known, ..)| targets.iter().any(|target| target == known)) {
        let model = Model::load(model).unwrap();
        for (name, ..) in SCHEDULES.into_iter().take(amount(5, 8)) {
            let i = isa::find(name).unwrap();
            let Ok(program) = model.program(&i) else { continue };
            let cubin =
                compile::compile(&kernel(&program).unwrap(), target).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(cubin.starts_with(b"\x7fELF"), "{name}");
        }
    }
}
