//! Power of a published cell: other generations whose arithmetic also reproduces it.

use super::{
    CellVerdict, Experiment, ProfileCell, ProfileTable,
    known::KnownResults,
    profile::{measured, probed, same_probe},
};
use crate::{Result, arithmetic::shipped, device::ModelDevice};

/// Greatest number of samples of each generation: enough for published figures of three digits.
const SAMPLES: u64 = 20_000;

/// The generations with an instruction for a cell, by whether their arithmetic would reproduce it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CellPower {
    /// Those that would.
    pub(super) pass: Vec<String>,
    /// Those that would not.
    pub(super) refuted: Vec<String>,
}

/// The power of each cell, by the models that are shipped.
pub(super) fn of_cells(
    experiment: &Experiment,
    plan: &ProfileTable,
    probes: &[&ProfileCell],
    (seed, samples): (u64, u64),
    published_samples: u64,
    known: &mut KnownResults,
) -> Result<Vec<CellPower>> {
    let mut powers = vec![CellPower::default(); plan.cells.len()];
    for name in shipped() {
        let mut device = ModelDevice::open(name)?;
        let mut outcomes = Vec::new();
        probed(experiment, probes, &mut device, (seed, samples.min(SAMPLES)), known, &mut outcomes)?;
        for (cell, power) in plan.cells.iter().zip(&mut powers) {
            let at = probes.iter().position(|probe| same_probe(probe, cell)).expect("every cell has a probe");
            let Some(outcome) = &outcomes[at] else { continue };
            match measured(cell, &outcome.result).judge(&cell.published, published_samples).verdict {
                CellVerdict::Printed | CellVerdict::Sampling => power.pass.push(name.into()),
                CellVerdict::Differs => power.refuted.push(name.into()),
            }
        }
    }
    Ok(powers)
}

/// The note on cells that do not separate generations.
pub(super) fn note(powers: &[CellPower], samples: u64) -> Option<String> {
    let blind = powers.iter().filter(|power| power.pass.is_empty() || power.refuted.is_empty()).count();
    (blind > 0).then(|| {
        format!(
            "Little power: {blind} of {} cells come out alike under the arithmetic of every generation that has an instruction for \
             them (columns 'would pass', 'would not'; {} samples each), so that they say nothing of the arithmetic.",
            powers.len(),
            samples.min(SAMPLES)
        )
    })
}
