//! Tables and reports of campaigns.

use super::Campaign;
use crate::{
    Result,
    arithmetic::Model,
    campaign::{Part, regimes},
    comparison::{Answer, Listing, MismatchOrigin, Nans, Subject, VerificationRow, counts_note},
    device::Device,
    report::{Report, Table, grouped},
    steps,
};

/// Makes the table of comparisons: a row for each part of a run.
pub fn verification<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Table {
    Table::of("Comparison with the model in every bit", parts.into_iter().map(verification_row))
}

fn verification_row(part: &Part) -> VerificationRow {
    let Part { run, ran, state, .. } = part;
    let (compared, differing) = (state.compared(), state.differing());
    VerificationRow {
        instruction: run.instruction.clone(),
        device: ran.device.clone(),
        device_description: run.device.clone(),
        execution: ran.execution.clone(),
        opcodes: ran.opcodes.clone(),
        model: ran.model.clone(),
        model_name: Some(run.model.clone()),
        model_digest: Some(run.model_digest.clone()),
        seed: run.seed.map(|seed| seed.to_string()),
        position: run.position,
        cases: Some(run.cases),
        max_mismatches: Some(run.max_mismatches),
        shard: Some(run.shard),
        shards: Some(run.shards),
        tcnum: Some(run.tcnum.clone()),
        any_nan: run.any_nan,
        finished: state.finished,
        next_tile: Some(state.next),
        compared,
        agreeing: compared - differing,
        differing,
        seconds: Some(state.seconds),
        rate: Some(compared as f64 / state.seconds.max(1e-9)),
        ..VerificationRow::default()
    }
}

/// Makes the tables `mismatches` and `steps` of counterexamples.
/// Steps are those of the model, and of the device if it is a model too, each with its requested name.
///
/// # Errors
/// A model does not cover the instruction.
pub fn differences(
    parts: &[Part],
    model: Option<(&str, &Model)>,
    device: Option<(&str, &Model)>,
) -> Result<Vec<Table>> {
    let mut listing = Listing::default();
    // A unit that draws random bits took steps that its model cannot repeat.
    let repeats = |model: &Model, part: &Part| part.run.instruction().is_ok_and(|i| model.evaluator(&i).is_ok());
    let device = device.filter(|(_, model)| parts.iter().all(|part| repeats(model, part)));
    let arithmetics: Vec<(&str, &Model)> = device.into_iter().chain(model).collect();
    let called = device.map(|(name, _)| format!("device {name}"));
    let names: Vec<String> = called.into_iter().chain(model.map(|(name, _)| format!("model {name}"))).collect();
    let mut steps = Vec::new();
    for part in parts {
        let instruction = part.run.instruction()?;
        for counterexample in part.counterexamples.iter().flatten() {
            let origin =
                MismatchOrigin { regime: Some(&part.run.regimes[counterexample.regime]), ..MismatchOrigin::default() };
            let number = listing.add(&Subject::Matrix(&instruction), &origin, counterexample);
            let explained = |(_, model): &(&str, &Model)| {
                Ok(model.evaluator(&instruction)?.explain(&counterexample.simplest().case))
            };
            let said = arithmetics.iter().map(explained).collect::<Result<Vec<_>>>()?;
            steps.extend(steps::rows(Some(number), &said));
        }
    }
    Ok([listing.table(), steps::table(&names, steps).filled()].into_iter().flatten().collect())
}

/// The answer in one sentence; `None` if no output was compared.
pub fn answer(parts: &[Part]) -> Option<String> {
    let sum = |count: fn(&Part) -> u64| parts.iter().map(count).sum::<u64>() as i64;
    let (compared, differing) = (sum(|part| part.state.compared()), sum(|part| part.state.differing()));
    let first = parts.first().filter(|_| compared > 0)?;
    let (device, model) = (&first.ran.device, &first.ran.model);
    let so_far = if parts.iter().all(|part| part.state.finished) { "" } else { " so far" };
    let what = match parts {
        [part] => format!("of {}", part.run.instruction),
        parts => format!("of {} instructions", parts.len()),
    };
    let compared = grouped(compared);
    Some(match (differing, parts.iter().filter(|part| part.state.differing() > 0).count()) {
        (0, _) => {
            format!(
                "{device} agrees with the model {model} in every bit: {compared} outputs {what} were compared{so_far}."
            )
        }
        (_, some) if parts.len() > 1 => format!(
            "{device} differs from the model {model} in {some} of {} instructions: {} of {compared} outputs differ{so_far}.",
            parts.len(),
            grouped(differing)
        ),
        _ => format!(
            "{device} differs from the model {model} in {} of {compared} outputs {what}{so_far}.",
            grouped(differing)
        ),
    })
}

/// Fills the report of runs.
/// `model` and `device` are arithmetics with their names, for differences step by step.
///
/// # Errors
/// A model does not cover an instruction.
pub fn report(
    report: &mut Report,
    parts: &[Part],
    model: Option<(&str, &Model)>,
    device: Option<(&str, &Model)>,
) -> Result<()> {
    report.tables = vec![verification(parts), regimes(parts)];
    report.tables.extend(differences(parts, model, device)?);
    for part in parts {
        report.notes.extend(remarks(part)?);
    }
    report.answer = answer(parts);
    report.holds = parts.iter().all(|part| part.state.differing() == 0);
    Ok(())
}

/// Fills the report of a campaign on `device`.
///
/// # Errors
/// The model does not cover an instruction.
pub fn campaign(filled: &mut Report, campaign: &Campaign, device: &dyn Device) -> Result<()> {
    let name = device.identity().name.to_string();
    let simulated = device.model().map(|model| (&name[..], model));
    filled.device = Some(device.identity().clone());
    filled.notes.extend(campaign.notes.iter().chain(&campaign.ended).cloned());
    report(filled, &campaign.parts, Some((&campaign.judge, &campaign.model)), simulated)?;
    filled.notes.extend(Nans::from(campaign.request.any_nan).note());
    let count = campaign.compared_with_itself(device);
    filled.notes.extend((count > 0).then(|| {
        format!(
            "{name} simulates the model's own rule for {count} of {} instructions: an arithmetic was compared with itself, which \
             says nothing about hardware.",
            campaign.parts.len()
        )
    }));
    Ok(())
}

/// Notes on the numbers of a part.
///
/// # Errors
/// No instruction has the run's name.
pub fn remarks(part: &Part) -> Result<Vec<String>> {
    let Part { run, state, counterexamples, .. } = part;
    let i = run.instruction()?;
    let note = counts_note(&i.name, state.differing(), part.listed(), run.max_mismatches);
    let mut remarks: Vec<String> = note.into_iter().collect();
    let repeated = |answer: &Answer| !run.nans().agree(i.d, answer.device, answer.model);
    let unrepeated: u64 =
        counterexamples.iter().flatten().filter(|one| !repeated(&one.original)).map(|one| one.count).sum();
    if unrepeated > 0 {
        remarks.push(format!(
            "{i}: {unrepeated} mismatches did not repeat in a tile alone: the device's results depend on more than the operands of a \
             tile."
        ));
    }
    if counterexamples.iter().flatten().any(|one| one.reduced.is_none() && repeated(&one.original)) {
        remarks.push(format!(
            "{i}: some counterexamples are not reduced: the run ended before, or their outputs differ only with the other operands of their \
             tile."
        ));
    }
    Ok(remarks)
}
