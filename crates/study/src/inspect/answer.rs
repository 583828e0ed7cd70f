//! Reports on one checkpoint and on two, and their answers.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    compare::{SAME_BYTES, SAME_VALUES, compare},
    fused,
    likeness::WITHIN_A_STEP,
    partners,
    survey::Survey,
    table::{CheckpointTensorRow, ComparedTensorRow, format_name},
};
use crate::{
    Error, Result,
    base::visible::one_line,
    checkpoint::{Checkpoint, CheckpointTensor, TRUNCATED},
    report::{Table, counted},
    tensor::{ArrayRole, UnsoundValues},
};

/// Progress of reading: the tensor at hand, and the numbers of values that are read.
type Progress<'a> = &'a mut dyn FnMut(&str, u64);

/// Inspects tensors: the answer and the table; the error, if any, that ended the work early.
pub fn inspected(
    checkpoint: &Checkpoint,
    chosen: &[&CheckpointTensor],
    progress: Progress,
) -> (Option<String>, Vec<Table>, Result<()>) {
    let (mut rows, mut unsound, mut unread) = (Vec::new(), UnsoundValues::default(), None);
    let mut one = |tensor: &&CheckpointTensor| -> Result<()> {
        let survey = match tensor.is_decoded() {
            true => Survey::of(checkpoint, tensor, &mut |values| progress(&tensor.name, values)).map(Some),
            false => Ok(None),
        };
        let (survey, why) = match survey {
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => (None, Some(error)),
            Ok(survey) => (survey, None),
        };
        let role = checkpoint.role(tensor);
        if let Some(survey) = survey.as_ref().filter(|_| matches!(role, ArrayRole::Weight | ArrayRole::Other)) {
            unsound.add(&one_line(&tensor.name), [survey.counts.nan, survey.counts.infinite], survey.counts.largest);
        }
        let mut row = CheckpointTensorRow::new(tensor, role, survey.as_ref(), format_name(&checkpoint.file, tensor));
        // A tensor that cannot be read keeps no other from its row.
        if let Some(error) = why {
            row.doubt = Some(row.doubt.map_or(error.to_string(), |doubts| format!("{error}; {doubts}")));
            unread.get_or_insert(error);
        }
        rows.push(row);
        Ok(())
    };
    let outcome = chosen.iter().try_for_each(&mut one).and_then(|()| unread.map_or(Ok(()), Err));
    let outcome = outcome.map_err(|error| error.within(checkpoint.path().display()));
    partners::doubt(&mut rows);
    let nothing = checkpoint.tensors.is_empty() && outcome.is_ok();
    let answer = match nothing {
        true => Some(format!("There are no tensors{}.", fit(checkpoint))),
        false => (!rows.is_empty()).then(|| answer(&rows, &unsound, checkpoint)),
    };
    let title = counted(rows.len() as u64, "tensor");
    let tables = if rows.is_empty() { Vec::new() } else { vec![Table::of(title, rows)] };
    (answer, tables, outcome.and_then(|()| checkpoint.complete()))
}

/// The sentence that says what a checkpoint holds.
fn answer(rows: &[CheckpointTensorRow], unsound: &UnsoundValues, checkpoint: &Checkpoint) -> String {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        let kind = match (&row.layout, &row.scale_format) {
            (Some(layout), Some(scales)) => {
                format!("{layout} ({} with {scales} scales per {})", row.format, row.per.as_deref().unwrap_or("-"))
            }
            (Some(layout), None) => format!("{layout} (not decoded)"),
            _ => row.format.clone(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let mut kinds: Vec<(String, u64)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let listed: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} in {kind}")).collect();
    let conventions: BTreeSet<&str> = rows.iter().filter_map(|row| row.convention.as_deref()).collect();
    let conventions = match conventions.len() {
        0 => String::new(),
        1 => format!("; {}", conventions.into_iter().next().unwrap_or_default()),
        more => format!("; {more} conventions"),
    };
    let against = rows.iter().find_map(|row| {
        let doubt = row.doubt.as_deref()?.split("; ").find(|doubt| doubt.starts_with("values contradict"))?;
        Some(format!("In '{}' {doubt}; ", one_line(&row.tensor)))
    });
    let first = unsound.sentence().map_or(String::new(), |sentence| format!("{sentence} "));
    let fit = fit(checkpoint);
    let made_of: usize = rows.iter().map(|row| row.arrays.len()).sum();
    let of = if made_of == rows.len() { String::new() } else { format!(" of {made_of} arrays") };
    let all = format!("{}{of}: {}", counted(rows.len() as u64, "tensor"), listed.join(", "));
    match against {
        Some(against) => format!("{first}{against}{all}{fit}."),
        None => format!("{first}{all}{conventions}{fit}."),
    }
}

/// Arrays that are truncated or fit no layout, as the end of a sentence.
fn fit(checkpoint: &Checkpoint) -> String {
    let (truncated, misfits): (Vec<_>, Vec<_>) = checkpoint.misfits.iter().partition(|(_, what)| what == TRUNCATED);
    let mut parts = String::new();
    match truncated.len() {
        0 => {}
        1 => parts.push_str("; 1 array is truncated"),
        count => parts.push_str(&format!("; {count} arrays are truncated")),
    }
    match misfits.len() {
        0 => {}
        1 => parts.push_str("; 1 array fits no layout"),
        count => parts.push_str(&format!("; {count} arrays fit no layout")),
    }
    parts
}

/// Compares two checkpoints: the answer, the table, and true if all is the same.
///
/// The error, if any, ended the work early.
/// Tensors are compared by name; where each has one tensor, these two.
pub fn compared(
    first: &Checkpoint,
    second: &Checkpoint,
    chosen: &[&CheckpointTensor],
    progress: Progress,
) -> (Option<String>, Vec<Table>, bool, Result<()>) {
    let only = match (chosen, second.tensors.as_slice()) {
        ([one], [other]) if second.by_any_name(&one.name).is_none() => Some((one.name.as_str(), other)),
        _ => None,
    };
    let partner = |name: &str| {
        second.by_any_name(name).or(only.filter(|(only_name, _)| *only_name == name).map(|(_, other)| other))
    };
    let (in_first, in_second) = (fused::find(first, second, true), fused::find(second, first, false));
    let mut rows: Vec<ComparedTensorRow> = Vec::new();
    let mut one = |tensor: &CheckpointTensor| -> Result<()> {
        let mut done = |values| progress(&tensor.name, values);
        if let Some(other) = partner(&tensor.name) {
            rows.push(compare((first, tensor), (second, other), &mut done)?);
        } else if let Some(fused) = in_first.iter().find(|fused| fused.is_fused(tensor)) {
            for part in 0..fused.count() {
                rows.push(fused.compare(part, &mut done)?);
            }
        } else if let Some((fused, part)) = in_second.iter().find_map(|fused| Some((fused, fused.part(tensor)?))) {
            rows.push(fused.compare(part, &mut done)?);
        } else {
            rows.push(missing(first, tensor, true));
        }
        Ok(())
    };
    let mut outcome = chosen.iter().try_for_each(|tensor| one(tensor));
    if outcome.is_ok() && only.is_none() && chosen.len() == first.tensors.len() {
        let is_fused = |tensor: &CheckpointTensor| {
            in_first.iter().any(|fused| fused.part(tensor).is_some())
                || in_second.iter().any(|fused| fused.is_fused(tensor))
        };
        let others = second.tensors.iter().filter(|tensor| first.by_any_name(&tensor.name).is_none());
        rows.extend(others.filter(|tensor| !is_fused(tensor)).map(|tensor| missing(second, tensor, false)));
    }
    let both = rows.iter().filter(|row| row.first.is_some() && row.second.is_some()).count();
    if outcome.is_ok() && both == 0 {
        let first_name = |checkpoint: &Checkpoint| {
            checkpoint.tensors.first().map_or("no tensor".to_string(), |tensor| format!("'{}'", one_line(&tensor.name)))
        };
        outcome = Err(Error::request(format!(
            "{} and {} have no tensor of the same name: the first has {}, the second {}",
            first.path().display(),
            second.path().display(),
            first_name(first),
            first_name(second)
        )));
        return (None, Vec::new(), true, outcome);
    }
    let is_same = |row: &&ComparedTensorRow| [SAME_VALUES, SAME_BYTES].contains(&row.finding.as_str());
    let same = rows.iter().filter(is_same).count();
    let holds = same == rows.len();
    let near = rows.iter().filter(|row| row.finding == WITHIN_A_STEP).count();
    let answer = match (same, rows.iter().find(|row| !is_same(row))) {
        _ if near > 0 && rows.len() == 1 => format!("'{}': {WITHIN_A_STEP}.", one_line(&rows[0].tensor)),
        _ if near > 0 && same + near == rows.len() => {
            format!("{near} of {} tensors differ, and all hold {WITHIN_A_STEP}.", rows.len())
        }
        (_, None) => format!(
            "{} {} the same values in both.",
            counted(same as u64, "tensor"),
            if same == 1 { "has" } else { "have" }
        ),
        (_, Some(first)) => {
            let others = rows.len() - same;
            match rows.len() {
                1 if first.differ.is_none() => format!("'{}': {}.", one_line(&first.tensor), first.finding),
                1 => format!("'{}' differs: {}.", one_line(&first.tensor), first.finding),
                all => {
                    let name = one_line(&first.tensor);
                    format!("{others} of {all} tensors differ, first '{name}': {}.", first.finding)
                }
            }
        }
    };
    let fused_names: BTreeSet<&str> = rows.iter().filter_map(|row| row.fused.as_deref()).collect();
    let parts = rows.iter().filter(|row| row.fused.is_some()).count() as u64;
    let answer = match (fused_names.len() as u64, in_first.is_empty()) {
        (0, _) => answer,
        (count, in_second) => {
            let which = if in_second { "second" } else { "first" };
            format!("The {which} file fuses {} into {count}. {answer}", counted(parts, "tensor"))
        }
    };
    let tables = if rows.is_empty() { Vec::new() } else { vec![Table::of("Tensors of both", rows)] };
    let outcome = outcome.and_then(|()| first.complete()).and_then(|()| second.complete());
    ((!tables.is_empty()).then_some(answer), tables, holds, outcome)
}

/// The row of a tensor that one checkpoint lacks.
fn missing(checkpoint: &Checkpoint, tensor: &CheckpointTensor, in_first: bool) -> ComparedTensorRow {
    let format = Some(format_name(&checkpoint.file, tensor));
    match in_first {
        true => ComparedTensorRow::new(tensor, format, None, "the second lacks it".into()),
        false => ComparedTensorRow::new(tensor, None, format, "the first lacks it".into()),
    }
}
