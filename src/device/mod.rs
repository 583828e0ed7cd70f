//! Devices: anything that executes matrix instructions, behind one small trait.

mod ask;
mod batches;
mod chains;
mod engine;
mod exec;
mod generation;
mod gpu;
mod lent;
mod library;
mod meter;
mod model;
mod name;
mod open;
mod sweep;
mod trace;

pub use ask::ask;
pub use batches::Batches;
pub use chains::{Chains, WholeProducts};
pub use engine::{CampaignWork, Campaigns, Count, Engine, Spot, Verified};
pub(crate) use exec::split as program_words;
pub use exec::{ExecCheckRow, ExecDevice, check as exec_check, check_answer as exec_check_answer};
pub use generation::{DEFAULT_MODEL, Generation};
pub use gpu::Gpu;
pub use lent::{DeviceMaker, lending};
pub use library::{Attributes, ChosenAlgorithm, Compute, Library, LibraryProduct, OperandLayout, Problem};
pub use meter::{
    DeviceState, Load, MachineCount, Meter, Metered, Meters, Role, SHARED_LOADS, SharedLoad, TimedLoop, TimedOperands,
    Timing,
};
pub use model::ModelDevice;
pub use name::DeviceName;
pub use open::open;
pub use sweep::{CLASSES, ChunkTally, Chunks, DifferenceGroup, Sweeper, Sweeps, Swept};
pub use trace::TraceDevice;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "without_cuda.rs"]
pub(crate) mod cuda;

use crate::{
    Result,
    arithmetic::Model,
    isa::{Codes, Instruction, Tiles},
};

/// Something that executes matrix instructions: a GPU, a processor, a model, a recording or another program.
///
/// What only some devices can do is a capability: a trait of its own, and a method here that gives it.
pub trait Device {
    /// What the device is, for reports.
    fn identity(&self) -> &Identity;

    /// Whether, and how, the device executes `instruction`.
    ///
    /// # Errors
    /// A request error (exit status 2) that says what is missing or which devices have the instruction; a
    /// device error if finding out failed.
    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution>;

    /// Makes sure that the device has `instruction`, as [`Device::prepare`] does, without what takes long.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    fn has(&mut self, instruction: &Instruction) -> Result<()> {
        self.prepare(instruction).map(drop)
    }

    /// Executes `instruction` once per tile and returns D codes `[count][m][n]`.
    ///
    /// # Errors
    /// As [`Device::prepare`]; a device error says how many tiles were answered.
    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes>;

    /// Executes `instruction` on tiles of which only the first `m` rows of A and C and the first `n` columns of
    /// B and C are given, the rest being zero, and returns the outputs in them: D codes `[count][m][n]`.
    ///
    /// # Errors
    /// As [`Device::execute`].
    fn execute_part(&mut self, instruction: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        let whole = self.execute(instruction, &tiles.padded(instruction, m, n))?;
        Ok(whole.resized((instruction.m, instruction.n), (m, n)))
    }

    /// The model that the device simulates, if it is a simulated one: its arithmetic is then known.
    fn model(&self) -> Option<&Model> {
        None
    }

    /// Execution on the threads of this program.
    fn local(&mut self) -> Option<&mut dyn LocalThreads> {
        None
    }

    /// Compilation ahead of execution.
    fn preparation(&mut self) -> Option<&mut dyn Preparation> {
        None
    }

    /// Comparison with a model by the million.
    fn campaigns(&mut self) -> Option<&mut dyn Campaigns> {
        None
    }

    /// Sweeps of scalar instructions.
    fn sweeps(&mut self) -> Option<&mut dyn Sweeps> {
        None
    }

    /// Whole matrix products at once.
    fn products(&mut self) -> Option<&mut dyn WholeProducts> {
        None
    }

    /// Cost: latency and throughput.
    fn meters(&mut self) -> Option<&mut dyn Meters> {
        None
    }
}

/// Executes one instruction on whichever thread calls it, on several threads at once: D codes `[count][m][n]`.
pub type LocalExecution = Box<dyn Fn(&Tiles) -> Codes + Send + Sync>;

/// Execution on the threads of this program. A device without it does one thing at a time.
pub trait LocalThreads {
    /// What executes `instruction`.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    fn execution(&mut self, instruction: &Instruction) -> Result<LocalExecution>;
}

/// Compilation ahead of execution, of a device that executes nothing before a kernel is compiled for it.
pub trait Preparation {
    /// Announces instructions that [`Device::execute`] will be asked for, in this order.
    fn announce(&mut self, instructions: &[Instruction]);

    /// How many of the announced kernels are compiled, and how many there are; `None` if all are.
    fn kernels(&self) -> Option<(usize, usize)>;

    /// How the time of preparation was spent.
    fn times(&self) -> String;
}

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name it was asked for by: `cuda:0`, `cpu`, `model:hopper`, `trace:FILE`, `exec:PROGRAM`.
    pub name: DeviceName,
    /// What the name refers to: `NVIDIA H200`, `the arithmetic model of Hopper, simulated`.
    pub description: String,
    /// Further facts worth keeping (driver version, compiler version, recorded metadata), as key and value.
    pub details: Vec<(String, String)>,
    /// Its generation, with whose model it is compared where nobody names another. (A program of the exec protocol says so when it is
    /// first prepared for an instruction.)
    pub generation: Generation,
}

impl Identity {
    /// A device of unknown generation, without details.
    pub fn new(name: impl Into<DeviceName>, description: impl Into<String>) -> Identity {
        let (name, description) = (name.into(), description.into());
        Identity { name, description, details: Vec::new(), generation: Generation::Unknown }
    }
}

/// How a device executes an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// The kind of execution: `native`, `emulated`, `simulated`, `recorded`, `external`.
    pub kind: ExecutionKind,
    /// The arithmetic machine instructions that ran, in order, where a disassembler was found (`HMMA.16816.F32`).
    pub opcodes: Vec<String>,
}

/// What produced a result: hardware, a model, a recording or a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionKind {
    /// One machine instruction of a GPU or a processor does the whole work of the instruction.
    Native,
    /// It is a sequence: of a GPU, what the compiler makes of it.
    Emulated,
    /// An arithmetic model computes it.
    Simulated,
    /// Outputs recorded earlier.
    Recorded,
    /// Another program computes it.
    External,
}

impl ExecutionKind {
    /// The word that reports print.
    pub fn name(self) -> &'static str {
        match self {
            ExecutionKind::Native => "native",
            ExecutionKind::Emulated => "emulated",
            ExecutionKind::Simulated => "simulated",
            ExecutionKind::Recorded => "recorded",
            ExecutionKind::External => "external",
        }
    }
}
