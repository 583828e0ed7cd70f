//! What was found, held against the device on cases that took no part in finding it.

use super::Identification;
use crate::{
    Error, Result,
    arithmetic::Model,
    device::{Device, Work},
    inputs::Sequence,
    verify::{Part, Run, State, counterexamples, drive, engine},
};

/// Differing outputs at which a run ends.
const ENOUGH: u64 = 10;

/// Compares `cases` dot-product-adds of the device with the rule that was found, and reduces what differs.
///
/// # Errors
/// The device fails; nothing was found; a signal arrives, after which `watch` has seen the last state.
pub fn confirm(
    device: &mut dyn Device,
    found: &Identification,
    (seed, cases): (u64, u64),
    watch: &mut dyn FnMut(&State) -> Result<()>,
) -> Result<Part> {
    let model = found.model().ok_or_else(|| Error::request(format!("nothing was found of {}", found.instruction)))?;
    let instruction = &found.instruction;
    let execution = device.prepare(instruction)?;
    let sequence = Sequence::Random { seed };
    let run = Run::new(instruction, device, &model, sequence, Some(cases), ENOUGH)?;
    let mut part = Part::new(run, device.identity(), "identified")?;
    part.begin(&execution);
    let Part { run, mut state, .. } = part.clone();
    let work = Work { instruction, sequence, model: &model };
    let outcome = drive(&run, &mut state, engine(device, &work)?.as_mut(), watch);
    part.state = state;
    outcome?;
    part.counterexamples = Some(counterexamples(&part, device, &model, true)?);
    Ok(part)
}

impl Identification {
    /// A model whose only rule is the one that was found; `None` if none was.
    pub fn model(&self) -> Option<Model> {
        Model::parse(&self.text(), "identified.toml").ok()
    }
}
