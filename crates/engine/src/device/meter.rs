//! Timing of instructions: the loops that a device repeats, and their times.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::{
    Result,
    base::named::named,
    format::{Format, Overflow, Rounding},
    isa::{Instruction, scalar::Form},
};

named! {
    /// The values of operands while an instruction is timed.
    pub enum TimedOperands {
        Random = "random": "normally distributed numbers; integers over a third of their range";
        Zeros = "zeros": "zeros";
        Ones = "ones": "ones";
        Alternating = "alternating": "ones of alternating signs";
    }
}

/// One timing loop of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedLoop {
    /// Independent sums; each run waits for the previous one on its sum.
    /// 0 stands for one sum whose runs are waited for one by one (asynchronous instructions).
    pub independent: u32,
    /// True if a run adds to the previous sum; false where C and D have different formats.
    pub chained: bool,
    /// Runs in the body of the loop.
    pub runs: u32,
    /// Warps of a block, at most.
    pub most_warps: u32,
    /// Machine instructions in the body, with counts; `None` without a disassembler.
    pub machine: Option<Vec<MachineCount>>,
}

/// The count of one machine instruction in a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineCount {
    /// Name.
    pub opcode: String,
    /// Count.
    pub count: u32,
    /// Role.
    pub role: Role,
}

/// The role of a machine instruction in a timing loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The timed instruction, or a part of it.
    Timed,
    /// A further step of a matrix instruction.
    Step,
    /// A call of a routine.
    Call,
    /// Counting, conversion or a move.
    Other,
}

/// The load of one measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Number of the timing loop.
    pub way: usize,
    /// Warps per block.
    pub warps: u32,
    /// Blocks, each on its own multiprocessor while there are enough.
    pub blocks: u32,
    /// Rounds of the loop.
    pub rounds: u64,
    /// Values of the operands.
    pub values: TimedOperands,
}

/// The duration of one measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Clocks from the first start to the last end of a warp, in the slowest block.
    pub clocks: u64,
    /// Seconds of the same span, by the device's clock.
    pub seconds: f64,
    /// Seconds from the first start to the last end in any block.
    pub whole: f64,
}

/// The state of a device under load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceState {
    /// Clock of the multiprocessors, in MHz.
    pub clock: Option<u32>,
    /// Highest clock, in MHz.
    pub most_clock: Option<u32>,
    /// Power draw, in watts.
    pub power: Option<f64>,
    /// Power limit, in watts.
    pub power_limit: Option<f64>,
    /// Reasons for a lower clock, in the vendor's words.
    pub throttled: Vec<&'static str>,
    /// Other processes that compute on the device.
    pub others: Option<u32>,
}

/// A load from shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedLoad {
    /// Name.
    pub name: &'static str,
    /// Matrices of 8 by 8 16-bit elements; 0 for loads of words.
    pub matrices: u32,
    /// 32-bit words per thread.
    pub words: u32,
    /// Threads of a warp that access the same bank.
    pub ways: u32,
}

/// The timed loads. With two words for each of 32 threads, every bank has at least two.
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

/// The subject of a timing.
#[derive(Debug, Clone, PartialEq)]
pub enum Metered {
    /// A matrix instruction.
    Matrix(Instruction),
    /// A scalar instruction, executed by every thread.
    Scalar(&'static Form),
    /// A load from shared memory.
    Load(SharedLoad),
}

impl Metered {
    /// Name of the subject.
    pub fn name(&self) -> &str {
        match self {
            Metered::Matrix(instruction) => &instruction.name,
            Metered::Scalar(form) => &form.ptx,
            Metered::Load(load) => load.name,
        }
    }
}

/// Timing as a capability of a device.
pub trait Meters {
    /// Announces the subjects that [`Meters::meter`] gets next, in this order.
    fn announce(&mut self, _metered: &[Metered]) {}

    /// Prepares the timing loops of `metered`.
    ///
    /// # Errors
    /// As [`super::Device::prepare`]; a request error if `metered` cannot be timed.
    fn meter(&mut self, metered: &Metered) -> Result<Box<dyn Meter>>;
}

/// The timing loops of one subject.
pub trait Meter {
    /// The loops, one per number of independent sums.
    fn ways(&self) -> &[TimedLoop];

    /// Warps that issue the instruction together.
    fn warps_together(&self) -> u32;

    /// Work of one run: fused multiply-adds, results of a scalar instruction, or bytes of a load.
    fn work(&self) -> u64;

    /// Multiprocessors of the device.
    fn multiprocessors(&self) -> u32;

    /// Executes a load once, and times it.
    ///
    /// # Errors
    /// A device error.
    fn time(&mut self, load: &Load) -> Result<Timing>;

    /// Repeats [`Meter::time`] for at least `seconds`; also returns the device's state near the end.
    ///
    /// # Errors
    /// As [`Meter::time`].
    fn sustain(&mut self, load: &Load, seconds: f64) -> Result<(Timing, DeviceState)>;

    /// The current state of the device.
    fn state(&self) -> DeviceState;
}

/// Makes `bytes` bytes of codes, each in `bits` bits.
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
