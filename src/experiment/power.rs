//! Power of a published number: other generations whose arithmetic also reproduces it.

use super::{
    CellVerdict, Experiment, PublishedNumber,
    answers::{DeviceAnswers, Question},
    known::KnownResults,
    verdict::Judgement,
};
use crate::{Result, Stage, arithmetic::shipped, device::ModelDevice, report::RowView};

/// Greatest number of samples of each generation: enough for published figures of three digits.
pub(super) const SAMPLES: u64 = 20_000;

/// The generations with an instruction for a number, by whether their arithmetic would reproduce it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CellPower {
    /// Those that would.
    pub(super) pass: Vec<String>,
    /// Those that would not.
    pub(super) refuted: Vec<String>,
}

/// The power of each published number, by the models that are shipped.
pub(super) fn of_numbers(
    experiment: &Experiment,
    questions: &[Question],
    judge: &dyn Fn(&PublishedNumber, &RowView) -> Option<Judgement>,
    known: &mut KnownResults,
    progress: &mut dyn FnMut(Stage),
) -> Result<Vec<CellPower>> {
    let mut powers = vec![CellPower::default(); experiment.published.len()];
    for name in shipped() {
        let mut device = ModelDevice::open(name)?;
        let mut answers = DeviceAnswers::none(&device, true);
        answers.ask(experiment, questions, &mut device, known, progress)?;
        for (number, power) in experiment.published.iter().zip(&mut powers) {
            let Some(judgement) = answers.row(number).and_then(|row| judge(number, &row)) else { continue };
            match judgement.verdict {
                CellVerdict::Printed | CellVerdict::Sampling => power.pass.push(name.into()),
                CellVerdict::Differs => power.refuted.push(name.into()),
            }
        }
    }
    Ok(powers)
}

/// The note on numbers that do not separate generations.
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
