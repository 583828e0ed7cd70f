//! Devices: anything that executes matrix instructions, behind one small trait.

mod ask;
mod batches;
mod chains;
mod engine;
mod exec;
mod generation;
mod gpu_name;
mod lent;
mod library;
mod meter;
mod model;
mod open;
mod paced;
mod sweep;
mod trace;

pub use ask::ask;
pub use batches::Batches;
pub use chains::Chains;
pub use engine::{Count, Engine, Found, Spot, Work};
pub use exec::{ExecCheckRow, ExecDevice, check as exec_check};
pub use generation::{DEFAULT_MODEL, Generation};
pub use gpu_name::Gpu;
pub use lent::{Maker, lending};
pub use library::{Attributes, ChosenAlgorithm, Compute, Library, LibraryProduct, OperandLayout, Problem};
pub use meter::{
    DeviceState, Load, MachineCount, Meter, Metered, OperandValues, Role, SHARED_LOADS, SharedLoad, Timing, Way,
};
pub use model::ModelDevice;
pub use open::{default_name, open};
pub(crate) use paced::execute_paced;
pub use sweep::{Alike, CLASSES, Chunks, Sweeper, Swept, Tally};
pub use trace::TraceDevice;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "without_cuda.rs"]
pub(crate) mod cuda;

use crate::{
    Error, Result,
    arithmetic::Model,
    isa::{Codes, Instruction, Tiles, scalar::Form},
};

/// What executes one instruction on whichever thread calls it, on several threads at once: D codes `[count][m][n]`.
pub type LocalExecution = Box<dyn Fn(&Tiles) -> Codes + Send + Sync>;

/// Something that executes matrix instructions: a GPU, a processor, a model, a recording or another program.
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

    /// What executes `instruction` on the threads of this program; `None` if the device does one thing at a time.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    fn local(&mut self, _instruction: &Instruction) -> Result<Option<LocalExecution>> {
        Ok(None)
    }

    /// The model that the device simulates, if it is a simulated one: its arithmetic is then known.
    fn model(&self) -> Option<&Model> {
        None
    }

    /// Of which generation it is: it is compared with that one's model where nobody names another. (A program of the exec
    /// protocol says so when it is first prepared for an instruction.)
    fn generation(&self) -> Generation {
        Generation::Unknown
    }

    /// Announces what [`Device::engine`] will be asked for, in this order, so that the device can get ready meanwhile.
    fn announce(&mut self, _work: &[Work]) {}

    /// Announces instructions that [`Device::execute`] will be asked for, in this order.
    fn announce_instructions(&mut self, _instructions: &[Instruction]) {}

    /// An engine of the device's own, which generates, executes, evaluates and compares without a detour through this
    /// program's memory; `None` if it has none for the work, which is then executed tile by tile.
    ///
    /// # Errors
    /// As [`Device::prepare`]; a request error if the model does not cover the instruction.
    fn engine(&mut self, _work: &Work) -> Result<Option<Box<dyn Engine>>> {
        Ok(None)
    }

    /// Gets the device ready to sweep those of `forms` that it has, all at once where that is faster. Returns those that it
    /// should have and cannot get ready, each with the reason.
    fn prepare_sweeps(&mut self, _forms: &[&'static Form]) -> Vec<(&'static Form, Error)> {
        Vec::new()
    }

    /// What executes the scalar instruction `form` on inputs by their numbers; `None` if the device executes matrix
    /// instructions only. `seed` varies inputs that are sampled.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    fn sweeper(&mut self, _form: &'static Form, _seed: u64) -> Result<Option<Box<dyn Sweeper>>> {
        Ok(None)
    }

    /// What sums the steps of `instruction` for all elements of a product of m x k codes of A and k x n codes of B at once, `promoted` or not;
    /// `None` if the device has nothing of the kind for it. `shape`: m, n and k.
    ///
    /// # Errors
    /// As [`Device::prepare`]; a device error: the operands do not fit into its memory.
    ///
    /// # Panics
    /// Unless there are as many codes.
    fn products(
        &mut self,
        _instruction: &Instruction,
        _promoted: bool,
        _shape: (usize, usize, usize),
        _a: &Codes,
        _b: &Codes,
    ) -> Result<Option<Box<dyn Chains>>> {
        Ok(None)
    }

    /// Announces what [`Device::meter`] will be asked for, in this order.
    fn announce_meters(&mut self, _metered: &[Metered]) {}

    /// What executes `metered` over and over and times it; `None` if the device has no cost of its own, or none of this kind.
    ///
    /// # Errors
    /// As [`Device::prepare`].
    fn meter(&mut self, _metered: &Metered) -> Result<Option<Box<dyn Meter>>> {
        Ok(None)
    }

    /// How many of the announced kernels are compiled, and how many there are; `None` if all are, or it needs none.
    fn kernels(&self) -> Option<(usize, usize)> {
        None
    }

    /// How the time of preparation was spent; `None` if it takes none.
    fn times(&self) -> Option<String> {
        None
    }
}

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name it was asked for by: `cuda:0`, `cpu`, `model:hopper`, `trace:FILE`, `exec:PROGRAM`.
    pub name: String,
    /// What the name refers to: `NVIDIA H200`, `the arithmetic model of Hopper, simulated`.
    pub description: String,
    /// Further facts worth keeping (driver version, compiler version, recorded metadata), as key and value.
    pub details: Vec<(String, String)>,
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
