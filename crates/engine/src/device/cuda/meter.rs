//! Timing of instructions on the GPU.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, PushKernelArg};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{
    fragments::{Fragment, Fragments, run},
    launch::grid,
    nvml::Nvml,
    sass,
    specialise::with_entry,
    sweeper,
};
use crate::{
    Error, Result,
    base::interrupt,
    device::{
        DeviceState, Load, MachineCount, Meter, Metered, Role, SharedLoad, TimedLoop, TimedOperands, Timing,
        meter::codes,
    },
    isa::{
        Instruction, Kernel,
        scalar::{Form, ScalarOperation, container_bits},
    },
    kernels::source,
};

/// Threads of a warp.
const LANES: u32 = 32;
/// Threads of a block, at most.
const MOST_THREADS: u32 = 1024;
/// Words that a warp writes: start and end in clocks, start and end in nanoseconds.
const WORDS: usize = 4;
/// Registers of a thread for the sums of warpgroups, at most.
const SUMS: usize = 128;
/// Runs in the body of a loop (`kernels/cost_loop.cuh`).
const BODY: u32 = 16;
/// Independent sums of a warp's instruction, at most.
const MOST_CHAINS: u32 = 8;
/// Operand sets between which the runs of a scalar instruction alternate (`kernels/cost_scalar.cu`).
const SETS: usize = 2;
/// Increment of operands from run to run.
const STEP: u32 = 0;
/// Seed of random operands: times depend on their distribution, not on the seed.
const SEED: u64 = 1;

/// Common source before the loop of every kernel.
const LOOP: &str = source("cost_loop.cuh");

/// Generates the kernel that repeats `instruction`, and lists the independent sums of its entries.
pub(super) fn kernel(instruction: &Instruction, emulated: bool) -> Option<(String, Vec<u32>)> {
    let i = instruction;
    let kind = i.kernel?;
    let (independent, text) = match kind {
        Kernel::Wgmma => {
            let registers = Fragments::new(i, kind).d.registers;
            let most = [4, 2].into_iter().find(|count| count * registers <= SUMS).unwrap_or(1);
            let counts = [0, 1, 2, 4].into_iter().filter(|count| *count <= most as u32).collect();
            (counts, format!("#define MOST_INDEPENDENT {most}\n{LOOP}{}", source("cost_wgmma.cu")))
        }
        Kernel::Mma | Kernel::Mma884 | Kernel::Wmma => {
            let (chained, fresh) = (u8::from(i.c == i.d), u8::from(emulated && kind == Kernel::Mma));
            let text = format!("#define CHAINED {chained}\n#define FRESH {fresh}\n{LOOP}{}", source("cost.cu"));
            ((1..=MOST_CHAINS).collect(), text)
        }
    };
    with_entry(i, "cost_1", &text).map(|kernel| (kernel.source, independent))
}

/// The name of the entry with `independent` sums.
pub(super) fn entry(independent: u32) -> String {
    format!("cost_{independent}")
}

/// Describes the loops of these entries.
pub(super) fn ways(chained: bool, independent: &[u32], functions: &[CudaFunction]) -> Result<Vec<TimedLoop>> {
    let threads = |function: &CudaFunction| {
        function.max_threads_per_block().map_err(|error| super::gpu::failure("cuFuncGetAttribute", error))
    };
    let way = |(&independent, function): (&u32, &CudaFunction)| {
        Ok(TimedLoop {
            independent,
            chained,
            runs: BODY.checked_div(independent).map_or(1, |turns| turns * independent),
            most_warps: (threads(function)?.max(0) as u32).min(MOST_THREADS) / LANES,
            machine: None,
        })
    };
    independent.iter().zip(functions).map(way).collect()
}

/// Assigns roles to the machine instructions in a loop of `metered`.
pub(super) fn counted(metered: &Metered, body: Vec<(String, u32)>) -> Vec<MachineCount> {
    // HFMA2 also loads constants, apart from conversions.
    let scalar =
        |opcode: &str| matches!(metered, Metered::Scalar(_)) && sass::is_listed(opcode) && !opcode.starts_with("HFMA2");
    let role = |opcode: &str| match opcode.split_once(".STEP") {
        Some((_, number)) if number != "0" => Role::Step,
        _ if sass::is_matrix(opcode) || scalar(opcode) => Role::Timed,
        _ if sass::is_call(opcode) => Role::Call,
        _ => Role::Other,
    };
    body.into_iter().map(|(opcode, count)| MachineCount { role: role(&opcode), opcode, count }).collect()
}

/// Generates the kernel that repeats a load, and lists the independent sums of its entries.
pub(super) fn load_kernel(load: &SharedLoad) -> (String, Vec<u32>) {
    let sizes = [("MATRICES", load.matrices), ("WORDS", load.words), ("WAYS", load.ways)];
    let defined: String = sizes.map(|(name, value)| format!("#define {name} {value}\n")).concat();
    (defined + LOOP + source("cost_loads.cu"), (1..=MOST_CHAINS).collect())
}

/// Generates the kernel that repeats a scalar instruction; lists the independent sums of its entries.
/// `None` if no kernel executes it, and for arithmetic: compilers pack two chains of 16-bit operations, and drop
/// repeated minima.
pub(super) fn scalar_kernel(form: &Form) -> Option<(String, Vec<u32>)> {
    let conversion = form.operation == ScalarOperation::Convert;
    let source = || [&sweeper::repeat(form), LOOP, source("cost_scalar.cu")].concat();
    (form.missing().is_none() && conversion).then(|| (source(), (1..=MOST_CHAINS).collect()))
}

/// The loaded loops of one subject, with its operands.
pub(super) struct CudaMeter {
    pub stream: Arc<CudaStream>,
    /// One entry per loop.
    pub functions: Vec<CudaFunction>,
    pub ways: Vec<TimedLoop>,
    pub metered: Metered,
    pub multiprocessors: u32,
    pub nvml: Option<Nvml>,
    /// A, B and C, by their values.
    pub operands: Vec<(TimedOperands, [CudaSlice<u8>; 3])>,
}

impl Meter for CudaMeter {
    fn ways(&self) -> &[TimedLoop] {
        &self.ways
    }

    fn warps_together(&self) -> u32 {
        match &self.metered {
            Metered::Matrix(i) => i.kernel.map_or(1, |kernel| run(kernel).0 / LANES),
            Metered::Scalar(_) | Metered::Load(_) => 1,
        }
    }

    fn work(&self) -> u64 {
        match &self.metered {
            Metered::Matrix(i) => (i.m * i.n * i.k) as u64 * i.kernel.map_or(1, |kernel| run(kernel).1.into()),
            Metered::Scalar(form) => form.lanes as u64 * u64::from(LANES),
            Metered::Load(load) => u64::from(load.words) * 4 * u64::from(LANES),
        }
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    fn time(&mut self, load: &Load) -> Result<Timing> {
        let launched = self.launch(load).and_then(|times| times.words(&self.stream));
        launched.map(|words| timing(&words, load)).map_err(|error| self.failed(&error))
    }

    fn sustain(&mut self, load: &Load, seconds: f64) -> Result<(Timing, DeviceState)> {
        let started_at = Instant::now();
        loop {
            interrupt::check()?;
            let times = self.launch(load).map_err(|error| self.failed(&error))?;
            // The state is read while the GPU works.
            std::thread::sleep(Duration::from_millis(5));
            let state = self.state();
            let timing = times.words(&self.stream).map(|words| timing(&words, load));
            let timing = timing.map_err(|error| self.failed(&error))?;
            if started_at.elapsed().as_secs_f64() >= seconds {
                return Ok((timing, state));
            }
        }
    }

    fn state(&self) -> DeviceState {
        self.nvml.as_ref().map(Nvml::state).unwrap_or_default()
    }
}

/// The words of all warps, in GPU memory.
struct WarpTimes(CudaSlice<u64>);

impl WarpTimes {
    fn words(&self, stream: &Arc<CudaStream>) -> std::result::Result<Vec<u64>, DriverError> {
        let words = stream.clone_dtoh(&self.0)?;
        stream.synchronize()?;
        Ok(words)
    }
}

impl CudaMeter {
    fn failed(&self, error: &DriverError) -> Error {
        Error::device(format!("timing {} failed: {error}", self.metered.name()))
    }

    /// Launches a loop, without waiting for its end.
    #[allow(unsafe_code)]
    fn launch(&mut self, load: &Load) -> std::result::Result<WarpTimes, DriverError> {
        if !self.operands.iter().any(|(values, _)| *values == load.values) {
            let bytes = operands(&self.metered, load.values);
            let [a, b, c] = bytes.map(|bytes| self.stream.clone_htod(&bytes));
            self.operands.push((load.values, [a?, b?, c?]));
        }
        let known = self.operands.iter().find(|(values, _)| *values == load.values);
        let [a, b, c] = &known.expect("has just been made").1;
        let threads = load.warps * LANES;
        let mut times = self.stream.alloc_zeros::<u64>((load.blocks * load.warps) as usize * WORDS)?;
        let mut sink = self.stream.alloc_zeros::<u64>((load.blocks * threads) as usize)?;
        let mut launch = self.stream.launch_builder(&self.functions[load.way]);
        launch.arg(a).arg(b).arg(c).arg(&load.rounds).arg(&STEP).arg(&mut times).arg(&mut sink);
        // SAFETY: the kernel reads a warp's registers or a tile's bytes of each operand, as made by `operands`. It
        // writes WORDS words per warp and at most one per thread.
        unsafe { launch.launch(grid(load.blocks, threads))? };
        Ok(WarpTimes(times))
    }
}

/// Evaluates the words of all warps.
fn timing(words: &[u64], load: &Load) -> Timing {
    let of = |words: &[u64], begin: usize, end: usize| {
        let (first, last) = words
            .chunks_exact(WORDS)
            .fold((u64::MAX, 0), |(first, last), warp| (first.min(warp[begin]), last.max(warp[end])));
        last.saturating_sub(first)
    };
    let blocks = words.chunks_exact(load.warps as usize * WORDS);
    let (clocks, nanoseconds) = blocks.map(|block| (of(block, 0, 1), of(block, 2, 3))).max().unwrap_or((0, 0));
    Timing { clocks, seconds: nanoseconds as f64 * 1e-9, total_seconds: of(words, 2, 3) as f64 * 1e-9 }
}

/// The bytes of A, B and C for the kernels. A scalar instruction's operands are A; a load has none.
fn operands(metered: &Metered, values: TimedOperands) -> [Vec<u8>; 3] {
    match metered {
        Metered::Matrix(i) => matrices(i, values),
        Metered::Scalar(form) => {
            let mut rng = ChaCha8Rng::seed_from_u64(SEED);
            let registers = MOST_CHAINS as usize + SETS * sweeper::sources(form);
            let bytes = registers * LANES as usize * sweeper::source_bytes(form);
            [codes(form.source, container_bits(form.source) as usize, bytes, values, &mut rng), vec![0], vec![0]]
        }
        Metered::Load(_) => [0; 3].map(|byte| vec![byte]),
    }
}

fn matrices(i: &Instruction, values: TimedOperands) -> [Vec<u8>; 3] {
    let Some(kernel) = i.kernel else { return Default::default() };
    let fragments = Fragments::new(i, kernel);
    let lanes = run(kernel).0 as usize;
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let registers = |fragment: &Fragment| fragment.registers * lanes * fragment.bits().max(32) / 8;
    let memory = |elements: usize, fragment: &Fragment| elements * fragment.bits() / 8;
    let shared = kernel == Kernel::Wgmma;
    let a = if shared && !i.has_qualifier("rs") {
        memory(i.m * i.stored_k(), &fragments.a)
    } else {
        registers(&fragments.a)
    };
    let b = if shared { memory(i.k * i.n, &fragments.b) } else { registers(&fragments.b) };
    let operands = [(&fragments.a, a), (&fragments.b, b), (&fragments.c, registers(&fragments.c))];
    operands.map(|(fragment, bytes)| codes(fragment.format, fragment.bits(), bytes, values, &mut rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn every_executed_instruction_has_a_kernel_that_repeats_it() {
        for i in isa::all() {
            assert_eq!(kernel(i, false).is_some(), i.missing().is_none(), "{i}");
        }
    }

    #[test]
    fn sums_of_warpgroups_stay_in_registers() {
        let independent = |name: &str| kernel(&isa::find(name).unwrap(), false).unwrap().1;
        assert_eq!(independent("wgmma.m64n256k16.f32.f16.f16"), [0, 1]);
        assert_eq!(independent("wgmma.m64n128k16.f32.f16.f16"), [0, 1, 2]);
        assert_eq!(independent("wgmma.m64n8k16.f32.f16.f16"), [0, 1, 2, 4]);
    }

    #[test]
    fn operands_fill_the_registers_of_a_warp() {
        let i = isa::find("mma.m16n8k16.f32.bf16.bf16.f32").unwrap();
        let [a, b, c] = matrices(&i, TimedOperands::Ones);
        assert_eq!((a.len(), b.len(), c.len()), (4 * 4 * 32, 2 * 4 * 32, 4 * 4 * 32));
        assert!(a.chunks(2).all(|code| code == [0x80, 0x3f]) && c.chunks(4).all(|code| code == [0, 0, 0x80, 0x3f]));
        let [a, ..] = matrices(&i, TimedOperands::Alternating);
        assert_eq!(&a[..4], [0x80, 0x3f, 0x80, 0xbf]);
    }

    #[test]
    fn the_block_with_the_most_clocks_is_reported() {
        let load = Load { way: 0, warps: 2, blocks: 2, rounds: 1, values: TimedOperands::Zeros };
        let words = [10, 20, 100, 200, 12, 25, 101, 230, 1000, 1011, 90, 190, 1001, 1012, 95, 199];
        let timing = timing(&words, &load);
        assert_eq!(timing.clocks, 15);
        assert!((timing.seconds - 130e-9).abs() < 1e-15 && (timing.total_seconds - 140e-9).abs() < 1e-15);
    }
}
