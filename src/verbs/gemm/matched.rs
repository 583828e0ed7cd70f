//! `tcnum gemm --match`: the schedules that give a D.

use std::{collections::BTreeMap, path::Path};

use super::{Arguments, Progress, check_extents, conversion, invocation, matrix, models, safetensors, scale_factors};
use crate::{
    Result,
    base::atomic,
    gemm::{
        self, ArrayFile, Factors,
        apart::Apart,
        matching::{self, Matched, Suspects},
        tables,
    },
    isa::Instruction,
    report::Report,
};

/// Finds the schedules that give a D.
///
/// # Errors
/// As [`super::run`]; formats that no instruction of the models multiplies.
pub(super) fn run(arguments: &Arguments, file: &ArrayFile, report: &mut Report) -> Result<()> {
    let instructions: Vec<Instruction> =
        arguments.instruction.iter().map(|name| gemm::instruction(name)).collect::<Result<_>>()?;
    if let Some(path) = &arguments.apart {
        safetensors(path)?;
    }
    check_extents(arguments)?;
    let (d, note) = file.read(None, conversion(arguments)).map_err(|error| error.within("--match"))?;
    let factors =
        Factors::of_instruction(instructions.first(), conversion(arguments), &mut |name, format, conversion| {
            matrix(arguments, d.format, (name, format, conversion), &mut report.notes)
        })?;
    report.notes.extend(note);
    let suspects = Suspects { models: models(arguments), instructions, factors: scale_factors(arguments) };
    let progress = Progress::new(&arguments.destination);
    let step = |what: &str| progress.step(what);
    let mut matched = Matched::default();
    let outcome = matching::search(&suspects, &factors, &d, arguments.apart.is_some(), &mut matched, &step);
    tables::report_matches(&matched, &factors, &d, file.label(), report);
    let Matched { matches: found, apart: told, .. } = matched;
    let schedule = match (&arguments.schedule_out, found.found.first()) {
        (Some(path), Some(first)) => {
            atomic::write(path, first.schedule.to_toml().as_bytes()).map_err(|error| error.within("--schedule-out"))
        }
        _ => Ok(()),
    };
    let written = match &arguments.apart {
        Some(path) if outcome.is_ok() => written(path, told.as_ref(), found.found.len()).map(Some),
        _ => Ok(None),
    };
    report.notes.extend(written.clone().ok().flatten());
    outcome.and(schedule).and(written.map(drop))
}

/// Writes the product that tells schedules apart, and says what it does.
fn written(path: &Path, told: Option<&Apart>, schedules: usize) -> Result<String> {
    let Some(apart) = told else {
        if schedules < 2 {
            return Ok("--apart: no file was written, since there are no two schedules to tell apart.".into());
        }
        return Ok(format!(
            "--apart: no file was written; the {schedules} schedules give every product that was tried the same D."
        ));
    };
    gemm::write_named(path, &apart.factors.named(), BTreeMap::from([("tcnum.source".to_string(), invocation())]))
        .map_err(|error| error.within("--apart"))?;
    let groups = match apart.count() == schedules {
        true => format!("each of the {schedules} schedules gives another D"),
        false => format!("the {schedules} schedules give {} different D", apart.count()),
    };
    let file = path.display();
    Ok(format!("Of A and B in {file}, {groups}: have D made of {file}:a and {file}:b as this one was, and match that."))
}
