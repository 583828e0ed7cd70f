//! `tcnum gemm --match`: the schedules that give a D.

use std::{collections::BTreeMap, path::Path};

use super::{Arguments, Progress, check_extents, invocation, models, safetensors, scale_factors};
use crate::{
    Error, Result,
    base::atomic,
    format::Format,
    gemm::{
        self, ArrayFile, Conversion, Factors, Matrix,
        apart::{self, Apart},
        matching::{self, Matches, Suspects},
        tables,
    },
    isa::Instruction,
    report::{Report, Table, Verdict},
};

/// Finds the schedules that give a D.
///
/// # Errors
/// As [`super::run`]; formats that no instruction of the models multiplies.
pub(super) fn run(arguments: &Arguments, file: &ArrayFile, report: &mut Report) -> Result<()> {
    let instructions: Vec<Instruction> =
        arguments.instruction.iter().map(|name| gemm::instruction(name)).collect::<Result<_>>()?;
    let wanted = |of: fn(&Instruction) -> &'static Format| instructions.first().map(of);
    if let Some(path) = &arguments.apart {
        safetensors(path)?;
    }
    check_extents(arguments)?;
    let conversion = if arguments.quantise { Conversion::Quantise } else { Conversion::Exact };
    let mut read = |flag: &str, file: &ArrayFile, format: Option<&'static Format>| -> Result<Matrix> {
        let (matrix, note) = file.read(format, conversion).map_err(|error| error.within(flag))?;
        report.notes.extend(note);
        Ok(matrix)
    };
    let turned = |matrix: Matrix, turn: bool| if turn { matrix.transposed() } else { matrix };
    let (Some(a), Some(b)) = (&arguments.a, &arguments.b) else { return Err(Error::request("give --a and --b")) };
    let a = turned(read("--a", a, wanted(|i| i.a))?, arguments.transpose_a);
    let b = turned(read("--b", b, wanted(|i| i.b))?, arguments.transpose_b);
    let scales = instructions.first().and_then(|i| i.scale).map(|scale| scale.format);
    let mut optional =
        |flag: &str, file: &Option<ArrayFile>, format| file.as_ref().map(|file| read(flag, file, format)).transpose();
    let factors = Factors {
        c: optional("--c", &arguments.c, None)?,
        bias: optional("--bias", &arguments.bias, None)?,
        scale_a: optional("--scale-a", &arguments.scale_a, scales)?,
        scale_b: optional("--scale-b", &arguments.scale_b, scales)?,
        ..Factors::new(a, b)
    };
    let d = read("--match", file, None)?;
    let suspects = Suspects { models: models(arguments), instructions, factors: scale_factors(arguments) };
    let progress = Progress::new(&arguments.destination);
    let step = |what: &str| progress.step(what);
    let (k, elements) = (factors.k(), d.codes.len());
    let (mut found, mut mixed, mut told) = (Matches::default(), None, None);
    let outcome = matching::find(&suspects, &factors, &d, &mut found, &step).and_then(|()| {
        mixed = matching::mixed(&suspects, &factors, &d, &found, &step)?;
        if arguments.apart.is_some() && found.found.len() > 1 {
            step("looking for a product that tells them apart");
            told = apart::apart(&found.found, &factors, d.format)?;
        }
        Ok(())
    });
    report.holds = !found.found.is_empty();
    report.verdict = Verdict::Unmatched;
    report.answer = match &mixed {
        Some(mixed) => Some(matching::together(mixed, k, elements)),
        None => matching::answer(&found, k, elements),
    };
    report.notes.extend(matching::remarks(&found));
    let title = match (report.holds, &found.judged[..]) {
        (true, _) => "Schedules that give D in every bit".to_string(),
        (false, []) => "The nearest schedule".into(),
        (false, [first, ..]) => format!("The nearest schedules on {} of {elements} elements", first.elements),
    };
    match &mixed {
        Some(mixed) => {
            let rows = tables::mixed(mixed, k, elements);
            report.tables.push(Table::of("Two schedules that together give every element", rows));
        }
        None => report.tables.push(Table::of(title, tables::matches(&found, told.as_ref(), k, elements))),
    }
    if let (None, Some((_, differences))) = (&mixed, &found.nearest) {
        let row = tables::comparison(file.label(), d.format, differences);
        report.tables.push(Table::of("Where the nearest differs", [row]));
    }
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
