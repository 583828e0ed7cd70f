//! Timing of instructions: what a device executes over and over, and how long that took.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::{
    Result,
    base::named::named,
    format::{Format, Overflow, Rounding},
    isa::{Instruction, scalar::Form},
};

named! {
    /// What operands hold while an instruction is timed.
    pub enum TimedOperands {
        Random = "random": "normally distributed numbers; integers over a third of their range";
        Zeros = "zeros": "zeros";
        Ones = "ones": "ones";
        Alternating = "alternating": "ones of alternating signs";
    }
}

/// One way to execute an instruction: so many independent runs of it one after the other, in a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedLoop {
    /// Independent runs, each of which waits for the one before it on the same sums. 0: one, and each run is waited for before the next is
    /// issued (asynchronous instructions).
    pub independent: u32,
    /// Whether a run adds to what the run before it has summed; where C and D have different formats it cannot.
    pub chained: bool,
    /// Runs in the body of the loop.
    pub runs: u32,
    /// The most warps of a block.
    pub most_warps: u32,
    /// The machine instructions in the body of the loop, each with its count; `None` where no disassembler was there.
    pub machine: Option<Vec<MachineCount>>,
}

/// How often a machine instruction is in a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineCount {
    /// Its name.
    pub opcode: String,
    /// How often.
    pub count: u32,
    /// What it does there.
    pub role: Role,
}

/// What a machine instruction does in a loop that times another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is the instruction that is timed, or one of those that it is made of.
    Timed,
    /// It goes on with a matrix instruction that another one began.
    Step,
    /// It calls a routine.
    Call,
    /// It counts, converts for the instruction that is timed, or moves.
    Other,
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// The number of the way.
    pub way: usize,
    /// Warps of each block.
    pub warps: u32,
    /// Blocks, each on a multiprocessor of its own where there are as many.
    pub blocks: u32,
    /// Turns of the loop.
    pub rounds: u64,
    /// What the operands hold.
    pub values: TimedOperands,
}

/// How long it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Clocks between the first warp's beginning and the last one's end, in the block in which they were most.
    pub clocks: u64,
    /// Seconds between the two, by the device's own clock, in that block.
    pub seconds: f64,
    /// Seconds between the beginning and the end in any block.
    pub whole: f64,
}

/// What a device tells of its state while it works.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceState {
    /// The clock of its multiprocessors, in MHz.
    pub clock: Option<u32>,
    /// The most that this clock can be, in MHz.
    pub most_clock: Option<u32>,
    /// What it takes, in watts.
    pub power: Option<f64>,
    /// The most that it may take, in watts.
    pub power_limit: Option<f64>,
    /// Why its clock is not the highest, in the vendor's words.
    pub throttled: Vec<&'static str>,
    /// Processes that compute on it beside this one.
    pub others: Option<u32>,
}

/// A load from shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedLoad {
    /// Its name.
    pub name: &'static str,
    /// Matrices of 8 by 8 elements of 16 bits; 0: it loads words.
    pub matrices: u32,
    /// Words of 32 bits of a thread.
    pub words: u32,
    /// Threads of a warp that want words of one bank.
    pub ways: u32,
}

/// The loads that are timed. Of two words for each of 32 threads, two are in every bank at least.
pub const SHARED_LOADS: &[SharedLoad] = &[
    SharedLoad { name: "ldmatrix.x1", matrices: 1, words: 1, ways: 1 },
    SharedLoad { name: "ldmatrix.x2", matrices: 2, words: 2, ways: 1 },
    SharedLoad { name: "ldmatrix.x4", matrices: 4, words: 4, ways: 1 },
    SharedLoad { name: "ld.shared.u32", matrices: 0, words: 1, ways: 1 },
    SharedLoad { name: "ld.shared.u32, 2-way conflicts", matrices: 0, words: 1, ways: 2 },
    SharedLoad { name: "ld.shared.u32, 4-way conflicts", matrices: 0, words: 1, ways: 4 },
    SharedLoad { name: "ld.shared.u32, 8-way conflicts", matrices: 0, words: 1, ways: 8 },
    SharedLoad { name: "ld.shared.v2.u32, 2-way conflicts", matrices: 0, words: 2, ways: 2 },
    SharedLoad { name: "ld.shared.v2.u32, 4-way conflicts", matrices: 0, words: 2, ways: 4 },
    SharedLoad { name: "ld.shared.v2.u32, 8-way conflicts", matrices: 0, words: 2, ways: 8 },
];

/// What is executed over and over.
#[derive(Debug, Clone, PartialEq)]
pub enum Metered {
    /// A matrix instruction.
    Matrix(Instruction),
    /// A scalar instruction, by every thread.
    Scalar(&'static Form),
    /// A load from shared memory.
    Load(SharedLoad),
}

impl Metered {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Metered::Matrix(instruction) => &instruction.name,
            Metered::Scalar(form) => &form.ptx,
            Metered::Load(load) => load.name,
        }
    }
}

/// The cost of what a device executes itself.
pub trait Meters {
    /// Announces what [`Meters::meter`] will be asked for, in this order.
    fn announce(&mut self, _metered: &[Metered]) {}

    /// What executes `metered` over and over and times it.
    ///
    /// # Errors
    /// As [`super::Device::prepare`]; a request error if nothing times it.
    fn meter(&mut self, metered: &Metered) -> Result<Box<dyn Meter>>;
}

/// What executes one instruction over and over, and times it.
pub trait Meter {
    /// The ways to execute it.
    fn ways(&self) -> &[TimedLoop];

    /// Warps that issue the instruction together.
    fn warps_together(&self) -> u32;

    /// What one run does: fused multiply-adds of a matrix instruction, results of a scalar one, bytes of a load.
    fn work(&self) -> u64;

    /// Multiprocessors of the device.
    fn multiprocessors(&self) -> u32;

    /// Executes, and times.
    ///
    /// # Errors
    /// A device error if it failed.
    fn time(&mut self, load: &Load) -> Result<Timing>;

    /// As [`Meter::time`], again and again for at least so many seconds; and the state of the device towards the end.
    ///
    /// # Errors
    /// As [`Meter::time`].
    fn sustain(&mut self, load: &Load, seconds: f64) -> Result<(Timing, DeviceState)>;

    /// The state of the device now.
    fn state(&self) -> DeviceState;
}

/// So many bytes of codes of so many bits each.
pub(super) fn codes(
    format: &Format,
    bits: usize,
    bytes: usize,
    values: TimedOperands,
    rng: &mut ChaCha8Rng,
) -> Vec<u8> {
    let mut out = vec![0u8; bytes];
    let per_byte = (8 / bits).max(1);
    let deviation = if format.is_integer() { (2f64.powi(format.bits as i32 - 1) / 3.0).max(1.0) } else { 1.0 };
    for element in 0..bytes * 8 / bits {
        let value = match values {
            TimedOperands::Zeros => 0.0,
            TimedOperands::Ones => 1.0,
            TimedOperands::Alternating => 1.0 - 2.0 * (element % 2) as f64,
            TimedOperands::Random => {
                let normal: f64 = StandardNormal.sample(rng);
                normal * deviation
            }
        };
        let code = format.encode_f64(value, Rounding::Rne, Overflow::Saturate).unwrap_or(0);
        if bits < 8 {
            out[element / per_byte] |= (code as u8 & ((1 << bits) - 1)) << (element % per_byte * bits);
        } else {
            let width = bits / 8;
            out[element * width..][..width].copy_from_slice(&code.to_le_bytes()[..width]);
        }
    }
    out
}
