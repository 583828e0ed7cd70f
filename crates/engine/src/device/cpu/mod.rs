//! The device `cpu`: the matrix and dot-product instructions of this processor.
//!
//! Units are found at run time ([`processor`], [`mod@unit`]); an instruction runs only if the processor has it and the
//! operating system permits it. [`route`] maps matrix instructions to machine instructions ([`machine`]), whose
//! operands lie in registers as [`vector`] lays them out.

pub mod features;
#[cfg(target_arch = "x86_64")]
pub mod machine;
#[cfg(target_arch = "x86_64")]
mod meter;
pub mod processor;
#[cfg(target_arch = "x86_64")]
pub mod repeated;
pub mod route;
#[cfg(target_arch = "x86_64")]
pub mod scalar_machine;
#[cfg(target_arch = "x86_64")]
pub mod sweeper;
pub mod unit;
pub mod vector;

use super::{Device, DeviceName, Execution, Generation, Identity, LocalExecution, LocalThreads, Sweeper, Sweeps};
#[cfg(target_arch = "x86_64")]
use super::{Meter, Metered, Meters};
use crate::{
    Error, Result,
    base::parallel,
    isa::{Codes, Instruction, Tiles, scalar::Form},
};
use processor::Processor;
use route::{MachineInstruction, Route};
use vector::{BYTES, Registers, Vector};

/// Registers of C that one thread fills at a time.
const BATCH: usize = 1 << 10;

/// The processor that runs this program.
pub struct CpuDevice {
    identity: Identity,
}

impl CpuDevice {
    /// The device `cpu`.
    pub fn open() -> CpuDevice {
        CpuDevice { identity: identity() }
    }
}

/// Describes the processor for reports.
pub fn identity() -> Identity {
    let Some(processor) = Processor::here() else {
        let description = format!("a processor of the architecture {}", std::env::consts::ARCH);
        return Identity::new(DeviceName::Cpu, description);
    };
    let microcode = processor.microcode.iter().map(|version| ("microcode".to_string(), version.clone()));
    let mut details: Vec<(String, String)> = microcode.collect();
    details.extend(processor.architecture().map(|target| ("architecture".to_string(), target.name.to_string())));
    let units: Vec<&str> = processor.units().map(|unit| unit.name).collect();
    details.push(("features".to_string(), units.join(" ")));
    Identity {
        name: DeviceName::Cpu,
        description: format!("{} ({})", processor.name, processor.signature),
        details,
        generation: processor.instructions().map_or(Generation::Unknown, Generation::Target),
    }
}

/// Checks that the processor executes a matrix instruction.
///
/// # Errors
/// A request error: the missing unit, why it is missing, and what would provide it.
pub fn has(instruction: &Instruction) -> Result<()> {
    route(&instruction.name).map(drop)
}

/// Finds how the processor executes a matrix instruction.
///
/// # Errors
/// A request error: no processor unit has the instruction, this processor lacks the unit, or the operating system
/// refuses it.
fn route(instruction: &str) -> Result<&'static Route> {
    let Some(processor) = Processor::here() else {
        return Err(foreign(instruction));
    };
    Route::choose(instruction, |unit| unit.check(&processor.features)).map_err(|missing| {
        Error::unavailable(match missing {
            Some((unit, absence)) => format!("cpu does not have {instruction}: {}", unit.explain(&absence)),
            None => format!("cpu does not have {instruction}: no unit of x86 processors executes it"),
        })
    })
}

/// The error for a processor of another architecture.
fn foreign(instruction: &str) -> Error {
    let architecture = std::env::consts::ARCH;
    Error::unavailable(format!(
        "cpu does not have {instruction}: only units of x86-64 are known, and this processor is {architecture}"
    ))
}

/// Prepares the sweeps of a scalar instruction.
///
/// # Errors
/// A request error, as [`has`].
#[cfg(target_arch = "x86_64")]
fn form_sweeper(form: &'static Form, seed: u64) -> Result<Box<dyn Sweeper>> {
    let lacks = |why: String| Error::unavailable(format!("cpu does not have {form}: {why}"));
    let route = scalar_machine::ScalarRoute::of(&form.ptx)
        .ok_or_else(|| lacks(format!("it is an instruction of GPUs ({})", form.architectures())))?;
    let processor = Processor::here().ok_or_else(|| foreign(&form.ptx))?;
    route.unit.check(&processor.features).map_err(|absence| lacks(route.unit.explain(&absence)))?;
    Ok(Box::new(sweeper::CpuSweeper::new(form, seed, route)))
}

#[cfg(not(target_arch = "x86_64"))]
fn form_sweeper(form: &'static Form, _: u64) -> Result<Box<dyn Sweeper>> {
    Err(foreign(&form.ptx))
}

/// Returns true if the processor executes a scalar instruction.
pub fn sweeps(form: &'static Form) -> bool {
    form_sweeper(form, 0).is_ok()
}

/// Executes tiles on the calling thread and returns their D codes.
#[allow(unsafe_code)]
fn execute(machine: MachineInstruction, i: &Instruction, tiles: &Tiles, first: usize, count: usize) -> Vec<Vector> {
    let mut registers = Registers::default();
    registers.load(i, tiles, first, count);
    // SAFETY: `route` returns a machine instruction only if the machine has its unit and the process may use it.
    unsafe { machine(&registers.a, &registers.b, &mut registers.c) };
    registers.c
}

/// Collects the codes of D from registers.
fn codes(i: &Instruction, registers: &[Vector]) -> Codes {
    let mut bytes = Vec::with_capacity(registers.len() * BYTES);
    registers.iter().for_each(|register| bytes.extend_from_slice(&register.0));
    Codes::from_bytes(i.d, bytes).expect("a register has whole codes")
}

impl Device for CpuDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn for_thread(&self) -> Option<Box<dyn Device + Send>> {
        Some(Box::new(CpuDevice { identity: self.identity.clone() }))
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        Ok(route(&instruction.name)?.execution())
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        let machine = route(&instruction.name)?.machine;
        let each = (BATCH / instruction.m).max(1);
        let parts = parallel::map((0..tiles.count).step_by(each), |from| {
            execute(machine, instruction, tiles, from, each.min(tiles.count - from))
        });
        Ok(codes(instruction, &parts.concat()))
    }

    fn local(&mut self) -> Option<&mut dyn LocalThreads> {
        Some(self)
    }

    fn sweeps(&mut self) -> Option<&mut dyn Sweeps> {
        Some(self)
    }

    #[cfg(target_arch = "x86_64")]
    fn meters(&mut self) -> Option<&mut dyn Meters> {
        Some(self)
    }
}

impl LocalThreads for CpuDevice {
    fn execution(&mut self, instruction: &Instruction) -> Result<LocalExecution> {
        let (machine, instruction) = (route(&instruction.name)?.machine, instruction.clone());
        Ok(Box::new(move |tiles| codes(&instruction, &execute(machine, &instruction, tiles, 0, tiles.count))))
    }
}

#[cfg(target_arch = "x86_64")]
impl Meters for CpuDevice {
    fn meter(&mut self, metered: &Metered) -> Result<Box<dyn Meter>> {
        let Metered::Matrix(instruction) = metered else {
            return Err(Error::unavailable(format!(
                "{} cannot be timed on cpu; only matrix instructions can",
                metered.name()
            )));
        };
        let Route { opcode, times, repeated, .. } = *route(&instruction.name)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let ways = meter::ways(repeated, opcode, times);
        Ok(Box::new(meter::CpuMeter { repetitions: repeated, ways, instruction: instruction.clone(), cores }))
    }
}

impl Sweeps for CpuDevice {
    fn sweeper(&mut self, form: &'static Form, seed: u64) -> Result<Box<dyn Sweeper>> {
        form_sweeper(form, seed)
    }
}
