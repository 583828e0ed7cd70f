//! A whole comparison in one call.

use crate::campaign::{Run, State, drive, engine};
use crate::{
    Result,
    arithmetic::Model,
    device::{CampaignWork, Device},
    inputs::Sequence,
    isa::Instruction,
};

/// Compares a device with a model over `cases` dot-product-adds, and groups the mismatches by kind.
/// `None` cases stand for all pairs of codes of an exhaustive sequence.
///
/// # Errors
/// The device or the model lacks the instruction; the device fails.
pub fn compare(
    device: &mut dyn Device,
    model: &Model,
    instruction: &Instruction,
    sequence: Sequence,
    cases: Option<u64>,
) -> Result<State> {
    device.prepare(instruction)?;
    let run = Run::new(instruction, device, model, sequence, cases, 10)?;
    let mut state = State::new(&run)?;
    let mut engine = engine(device, &CampaignWork { instruction, sequence, model }, run.nans())?;
    drive(&run, &mut state, engine.as_mut(), &mut |_| Ok(()))?;
    Ok(state)
}
