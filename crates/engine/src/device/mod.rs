//! Devices: everything that executes matrix instructions, behind one small trait.

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
mod shape;
mod sweep;
mod trace;

pub use ask::ask;
pub use batches::Batches;
pub use chains::{Chains, WholeProducts};
pub use engine::{CampaignWork, Campaigns, Count, Engine, Mismatch, Spot, Verified};
pub use exec::split as program_words;
pub use exec::{
    ExecCheckRow, ExecDevice, check as exec_check, check_answer as exec_check_answer,
    declined_all as exec_check_declined_all, offered,
};
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
pub use shape::ProductShape;
pub use sweep::{CLASSES, ChunkTally, Chunks, DifferenceGroup, Sweeper, Sweeps, Swept};
pub use trace::TraceDevice;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "without_cuda.rs"]
pub mod cuda;
pub mod selection;

use crate::{
    Result,
    arithmetic::Model,
    isa::{Codes, Instruction, MatrixShape, Tiles},
};

/// A device that executes matrix instructions.
/// It is a GPU, a processor, a model, a recording or another program.
///
/// Abilities of some devices are capabilities: traits of their own, each with a method here that returns it.
pub trait Device {
    /// Describes the device for reports.
    fn identity(&self) -> &Identity;

    /// Prepares `instruction`, and says how the device executes it.
    ///
    /// # Errors
    /// A request error (exit status 2): the missing part, or the devices that have the instruction. A device error if
    /// finding out failed.
    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution>;

    /// Checks that the device has `instruction`, without slow preparation.
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

    /// Executes tiles with only `m` rows of A and C and `n` columns of B and C; the rest is zero.
    /// Returns the outputs in them: D codes `[count][m][n]`.
    ///
    /// # Errors
    /// As [`Device::execute`].
    fn execute_part(&mut self, instruction: &Instruction, m: usize, n: usize, tiles: &Tiles) -> Result<Codes> {
        let codes = self.execute(instruction, &tiles.padded(instruction, m, n))?;
        let full_shape = MatrixShape { rows: instruction.m, columns: instruction.n };
        Ok(codes.resized(full_shape, MatrixShape { rows: m, columns: n }))
    }

    /// The model of a simulated device, whose arithmetic is known.
    fn model(&self) -> Option<&Model> {
        None
    }

    /// Sets the seed of a simulated unit that draws random bits of its own.
    fn draw_by(&mut self, _seed: u64) {}

    /// Sets the number of sessions of a program that share its tiles; other devices have one.
    fn share(&mut self, _sessions: usize) {}

    /// An equal device for another thread, which gives the same answers; `None` if there is only this one.
    fn for_thread(&self) -> Option<Box<dyn Device + Send>> {
        None
    }

    /// Execution on this program's threads.
    fn local(&mut self) -> Option<&mut dyn LocalThreads> {
        None
    }

    /// Compilation ahead of execution.
    fn preparation(&mut self) -> Option<&mut dyn Preparation> {
        None
    }

    /// Verification campaigns.
    fn campaigns(&mut self) -> Option<&mut dyn Campaigns> {
        None
    }

    /// Sweeps of scalar instructions.
    fn sweeps(&mut self) -> Option<&mut dyn Sweeps> {
        None
    }

    /// Whole matrix products.
    fn products(&mut self) -> Option<&mut dyn WholeProducts> {
        None
    }

    /// Timing: latency and throughput.
    fn meters(&mut self) -> Option<&mut dyn Meters> {
        None
    }
}

/// A function that executes one instruction on any thread: D codes `[count][m][n]`.
pub type LocalExecution = Box<dyn Fn(&Tiles) -> Codes + Send + Sync>;

/// Execution on this program's threads as a capability of a device.
/// Other devices do one thing at a time.
pub trait LocalThreads {
    /// Prepares the function that executes `instruction`.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    fn execution(&mut self, instruction: &Instruction) -> Result<LocalExecution>;
}

/// Compilation ahead of execution as a capability of a device.
pub trait Preparation {
    /// Announces instructions that [`Device::execute`] gets next, in this order.
    fn announce(&mut self, instructions: &[Instruction]);

    /// Compiled and announced kernels; `None` if all are compiled.
    fn kernels(&self) -> Option<(usize, usize)>;

    /// Describes how the preparation time was spent.
    fn times(&self) -> String;
}

/// The identity of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Name by which it was opened: `cuda:0`, `cpu`, `model:hopper`, `trace:FILE`, `exec:PROGRAM`.
    pub name: DeviceName,
    /// Description: `NVIDIA H200`, `the arithmetic model of Hopper, simulated`.
    pub description: String,
    /// Further facts (driver, compiler, recorded metadata), as keys and values.
    pub details: Vec<(String, String)>,
    /// Generation, whose model it is compared with by default.
    /// An exec program reports it when it is first prepared for an instruction.
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
    /// Kind of execution.
    pub kind: ExecutionKind,
    /// Arithmetic machine instructions that ran, in order (`HMMA.16816.F32`), if a disassembler was found.
    pub opcodes: Vec<String>,
}

/// The source of a result: hardware, a model, a recording or a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionKind {
    /// One machine instruction of a GPU or a processor.
    Native,
    /// A sequence of machine instructions, for a GPU by its compiler.
    Emulated,
    /// An arithmetic model.
    Simulated,
    /// Recorded outputs.
    Recorded,
    /// Another program.
    External,
}

impl ExecutionKind {
    /// The word in reports.
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
