//! Products computed again by a model, on this processor or on a GPU.

use super::{Executor, Factors, Matrix, Schedule, compute};
use crate::{
    Error, Result,
    arithmetic::Model,
    device::{
        ModelDevice,
        cuda::{CudaDevice, compile},
    },
};

/// The fastest replay on a machine with GPU number `ordinal`, and a note where NVRTC is missing.
///
/// # Errors
/// The GPU cannot be opened.
pub fn fastest(ordinal: usize) -> Result<(Box<dyn Replay>, Option<String>)> {
    match compile::version() {
        Ok(_) => Ok((Box::new(CudaReplay(CudaDevice::open(ordinal)?)), None)),
        Err(error) => {
            let note = format!("The processor replays the products, and only a sample of the larger ones: {error}.");
            Ok((Box::new(ModelReplay), Some(note)))
        }
    }
}

/// Computes products by schedules with the arithmetic of models.
pub trait Replay {
    /// D, exact in every bit.
    ///
    /// # Errors
    /// Matrices that do not fit, an instruction that the model does not have, a device that fails.
    fn product(&mut self, model: &str, schedule: &Schedule, factors: &Factors) -> Result<Matrix>;

    /// True if it is fast enough for every element of large products.
    fn is_fast(&self) -> bool;

    /// Its place in words: `on the GPU`.
    fn place(&self) -> &'static str;
}

/// The threads of this program.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelReplay;

impl Replay for ModelReplay {
    fn product(&mut self, model: &str, schedule: &Schedule, factors: &Factors) -> Result<Matrix> {
        let mut device = ModelDevice::open(model)?;
        let mut executor = Executor::of(&mut device, schedule, factors.a.rows, factors.b.columns)?;
        compute(schedule, &mut executor, factors, &|_| ())
    }

    fn is_fast(&self) -> bool {
        false
    }

    fn place(&self) -> &'static str {
        "on the processor"
    }
}

/// A GPU that runs the arithmetic of the model, not its own matrix instructions.
pub struct CudaReplay(pub CudaDevice);

impl CudaReplay {
    /// The executor of this one product by the model.
    ///
    /// # Errors
    /// Matrices that do not fit, an instruction that the model does not have or that no kernel computes, a device that fails.
    pub fn executor<'e>(&mut self, model: &Model, schedule: &Schedule, factors: &Factors) -> Result<Executor<'e>> {
        let program = model.evaluator(&schedule.instruction)?.program().clone();
        factors.check(schedule)?;
        let factors = &*factors.rounded(schedule)?;
        let Factors { a, b, .. } = factors;
        let chains = self.0.chains(&program, factors.shape(), &a.codes, &b.codes)?.ok_or_else(|| {
            Error::unavailable(format!("no kernel computes products of {} by the model", schedule.instruction))
        })?;
        Ok(Executor::chained(chains, schedule))
    }
}

impl Replay for CudaReplay {
    fn product(&mut self, model: &str, schedule: &Schedule, factors: &Factors) -> Result<Matrix> {
        compute(schedule, &mut self.executor(&Model::load(model)?, schedule, factors)?, factors, &|_| ())
    }

    fn is_fast(&self) -> bool {
        true
    }

    fn place(&self) -> &'static str {
        "on the GPU"
    }
}
