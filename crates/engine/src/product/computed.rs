//! A product from its operands to D, with formats and times.

use std::time::{Duration, Instant};

use super::{BiasEntry, CEntry, Conversion, CudaReplay, Executor, Factors, Matrix, Schedule, compute};
use crate::{
    Error, Result,
    device::{self, Device, DeviceName, cpu, cuda::CudaDevice},
    format::{self, Format},
    isa::Instruction,
};

/// Gives the matrix of a name (`a`, `scale_b`) in a format, or in its own; `None` if there is none.
pub type ReadMatrix<'r> = dyn FnMut(&str, Option<&'static Format>, Conversion) -> Result<Option<Matrix>> + 'r;

impl Factors {
    /// The operands of a product by `schedule`, in the formats that it takes.
    ///
    /// # Errors
    /// The errors of `read`; A or B is missing.
    pub fn of_schedule(schedule: &Schedule, conversion: Conversion, read: &mut ReadMatrix) -> Result<Factors> {
        let i = &schedule.instruction;
        let formats = schedule.operands.map_or([i.a, i.b], |operands| [operands.format; 2]);
        let output = (schedule.output.format, Conversion::Keep);
        let c = if schedule.c == CEntry::Start { (i.c, conversion) } else { output };
        let bias = if schedule.bias == BiasEntry::Start { (i.c, conversion) } else { output };
        let scales = i.scale.map_or(format::find("f32")?, |scale| scale.format);
        Ok(Factors {
            a: needed(read, "a", Some(formats[0]), conversion)?,
            b: needed(read, "b", Some(formats[1]), conversion)?,
            c: read("c", Some(c.0), c.1)?,
            bias: read("bias", Some(bias.0), bias.1)?,
            scale_a: read("scale_a", Some(scales), conversion)?,
            scale_b: read("scale_b", Some(scales), conversion)?,
        })
    }

    /// The operands of a product of unknown schedule, but perhaps known instruction.
    ///
    /// # Errors
    /// The errors of `read`; A or B is missing.
    pub fn of_instruction(i: Option<&Instruction>, conversion: Conversion, read: &mut ReadMatrix) -> Result<Factors> {
        let scales = i.and_then(|i| i.scale).map(|scale| scale.format);
        Ok(Factors {
            a: needed(read, "a", i.map(|i| i.a), conversion)?,
            b: needed(read, "b", i.map(|i| i.b), conversion)?,
            c: read("c", None, conversion)?,
            bias: read("bias", None, conversion)?,
            scale_a: read("scale_a", scales, conversion)?,
            scale_b: read("scale_b", scales, conversion)?,
        })
    }
}

fn needed(
    read: &mut ReadMatrix,
    name: &str,
    format: Option<&'static Format>,
    conversion: Conversion,
) -> Result<Matrix> {
    read(name, format, conversion)?.ok_or_else(|| Error::request(format!("{name} is missing")))
}

/// The device of this name, which computes whatever it is asked.
///
/// # Errors
/// A recording, which answers for its own operands only; a device that cannot be opened.
pub fn computing(name: &DeviceName, timeout: Duration) -> Result<Box<dyn Device>> {
    name.computes("a product takes a device that computes")?;
    device::open(Some(name), timeout)
}

/// The device that makes products of `instruction` where none is named.
pub fn usual_device(instruction: &Instruction) -> DeviceName {
    DeviceName::usual(|| cpu::has(instruction).is_ok() || instruction.is_of_processors())
}

/// A product that was computed.
#[derive(Debug, Clone)]
pub struct Product {
    /// D.
    pub d: Matrix,
    /// The kind of execution on the device.
    pub execution: &'static str,
    /// Seconds of the computation.
    pub seconds: f64,
    /// Seconds of the sums alone, where a GPU sums all elements at once.
    pub sum_seconds: Option<f64>,
}

impl Product {
    /// The product of the operands on a device, by its fastest executor.
    ///
    /// # Errors
    /// The errors of [`compute`]; the device lacks the instruction.
    pub fn of(device: &mut dyn Device, schedule: &Schedule, factors: &Factors) -> Result<Product> {
        Product::watched(device, None, schedule, factors, &|_| ())
    }

    /// As [`Product::of`]; `done` is told the number of finished elements.
    ///
    /// With `gpu`, that GPU computes the arithmetic of a simulated device.
    ///
    /// # Errors
    /// As [`Product::of`]; a GPU and a device that is not simulated.
    pub fn watched(
        device: &mut dyn Device,
        gpu: Option<CudaDevice>,
        schedule: &Schedule,
        factors: &Factors,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Product> {
        factors.check(schedule)?;
        let execution = device.prepare(&schedule.instruction)?.kind.name();
        let begin = Instant::now();
        let mut executor = match gpu {
            None => Executor::for_product(device, schedule, factors)?,
            Some(gpu) => {
                let simulated = || Error::request("‹on› is for a simulated device: ‹device=model:NAME›");
                CudaReplay(gpu).executor(device.model().ok_or_else(simulated)?, schedule, factors)?
            }
        };
        let d = compute(schedule, &mut executor, factors, done)?;
        Ok(Product { d, execution, seconds: begin.elapsed().as_secs_f64(), sum_seconds: executor.seconds_of_sums() })
    }
}
