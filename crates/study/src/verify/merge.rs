//! Merging the parts of runs.

use std::path::Path;

use serde::{Deserialize, de::IgnoredAny};

use super::{checkpoint, reports};
use crate::campaign::{MOST_LISTED, Part, Run, State, rule_digest};
use crate::{Error, Result, arithmetic::Model, base::text, device::Count};

/// A part and its file, for messages.
#[derive(Debug, Clone)]
pub struct PartFile {
    /// Name of the file.
    pub file: String,
    /// The part.
    pub part: Part,
}

/// The parts in a file: a report in JSON, or a checkpoint.
///
/// # Errors
/// A request error: a file that is neither, or contradicts itself.
pub fn read(path: &Path) -> Result<Vec<PartFile>> {
    let content = text::read_result(path, "the file")?;
    let file = path.display().to_string();
    let kind: FileKind = serde_json::from_str(&content)
        .map_err(|error| Error::request(format!("{file} is neither a report in JSON nor a checkpoint: {error}")))?;
    let parts = match kind.tcnum_checkpoint {
        Some(_) => checkpoint::parse(&content, path),
        None => reports::parts(&content)
            .map_err(|error| error.within(format!("{file} is not a report of `tcnum verify` on cases"))),
    };
    Ok(parts?.into_iter().map(|part| PartFile { file: file.clone(), part }).collect())
}

/// The mark by which a checkpoint differs from a report.
#[derive(Deserialize)]
struct FileKind {
    tcnum_checkpoint: Option<IgnoredAny>,
}

/// The model of merged runs: the named one, else the shipped one if its rules are theirs.
///
/// # Errors
/// A named model that is unknown, or is not the model of the runs.
pub fn model(named: Option<&str>, parts: &[Part]) -> Result<Option<Model>> {
    let Some(first) = parts.first() else { return Ok(None) };
    let model = match (named, Model::load(named.unwrap_or(&first.run.model))) {
        (None, Err(_)) => return Ok(None),
        (_, model) => model?,
    };
    for part in parts {
        if rule_digest(&model, &part.run.instruction()?) != part.run.model_digest {
            return match named {
                None => Ok(None),
                Some(name) => Err(Error::request(format!(
                    "{name} is not the model of the run: its rule for {} differs",
                    part.run.instruction
                ))),
            };
        }
    }
    Ok(Some(model))
}

/// Merges parts into their runs, in order of appearance, with the totals of single runs.
/// Mismatches are united by signature, and seconds are added.
///
/// With `partial`, parts may be missing or unfinished; the second member notes which.
///
/// # Errors
/// A request error: parts of runs that differ in something but the instruction, that were split differently, that
/// are given twice, are missing, or are not finished; more than [`MOST_LISTED`] counterexamples.
pub fn merge(sources: &[PartFile], partial: bool) -> Result<(Vec<Part>, Vec<String>)> {
    let mut groups: Vec<Vec<&PartFile>> = Vec::new();
    for source in sources {
        let run = &source.part.run;
        match groups.iter_mut().find(|group| group[0].part.run.instruction == run.instruction) {
            None => groups.push(vec![source]),
            Some(group) => {
                same_run(group[0], source)?;
                group.push(source);
            }
        }
    }
    let mut notes = Vec::new();
    let merged = groups.into_iter().map(|group| merge_one(group, partial, &mut notes)).collect::<Result<Vec<_>>>()?;
    let listed: usize = merged.iter().map(|part| part.listed().len()).sum();
    match listed as u64 > MOST_LISTED {
        true => Err(Error::request(format!(
            "the runs list {listed} counterexamples, and a report lists up to {MOST_LISTED}; merge fewer instructions at a time"
        ))),
        false => Ok((merged, notes)),
    }
}

fn same_run(one: &PartFile, other: &PartFile) -> Result<()> {
    let parts = |source: &PartFile| Run { shard: 1, ..source.part.run.clone() };
    match parts(one).difference(&parts(other)) {
        None => Ok(()),
        Some((key, there, here)) => Err(Error::request(format!(
            "{} and {} belong to different runs of {}: {key} is {there} in the first and {here} in the second",
            one.file, other.file, one.part.run.instruction
        ))),
    }
}

fn merge_one(mut group: Vec<&PartFile>, partial: bool, notes: &mut Vec<String>) -> Result<Part> {
    group.sort_by_key(|source| source.part.run.shard);
    let first = group[0];
    let Run { instruction, shards, .. } = &first.part.run;
    if let Some(pair) = group.windows(2).find(|pair| pair[0].part.run.shard == pair[1].part.run.shard) {
        let shard = pair[0].part.run.shard;
        return Err(Error::request(format!(
            "{} and {} are both part {shard}/{shards} of {instruction}",
            pair[0].file, pair[1].file
        )));
    }
    let missing = missing(group.iter().map(|source| source.part.run.shard), *shards);
    let unfinished: Vec<&str> = group.iter().filter(|s| !s.part.state.finished).map(|s| &s.file[..]).collect();
    let mut defects = Vec::new();
    if !missing.is_empty() {
        defects.push(format!("parts of {instruction} are missing: {} (of {shards})", missing.join(", ")));
    }
    if !unfinished.is_empty() {
        defects.push(format!("parts of {instruction} are not finished: {}", unfinished.join(", ")));
    }
    if !defects.is_empty() && !partial {
        return Err(Error::request(format!("{}; ‹partial› merges what there is", defects.join("; "))));
    }
    let mut merged = Part { run: first.part.run.unsharded(), ..first.part.clone() };
    merged.ran.device = distinct(group.iter().map(|source| &source.part.ran.device[..]));
    merged.state = State {
        regimes: vec![Count::default(); merged.run.regimes.len()],
        kinds: Vec::new(),
        seconds: 0.0,
        finished: defects.is_empty(),
        ..first.part.state
    };
    for PartFile { part, .. } in group {
        merged.state.seconds += part.state.seconds;
        merged.state.next = part.state.next;
        for (sum, count) in merged.state.regimes.iter_mut().zip(&part.state.regimes) {
            sum.add(*count);
        }
        merged.state.kinds.extend(part.listed().iter().cloned());
    }
    merged.counterexamples = None;
    merged.list_found();
    merged.state.kinds.clear();
    notes.extend(defects.into_iter().map(|defect| format!("This is not the whole run: {defect}.")));
    Ok(merged)
}

/// The numbers from 1 to `shards` that are missing in `given` (ascending), as `2, 5 to 9`.
fn missing(given: impl Iterator<Item = u64>, shards: u64) -> Vec<String> {
    let mut next = 1;
    let mut missing = Vec::new();
    for shard in given.chain([shards + 1]) {
        match shard - next {
            0 => {}
            1 => missing.push(next.to_string()),
            _ => missing.push(format!("{next} to {}", shard - 1)),
        }
        next = shard + 1;
    }
    missing
}

/// Joins the distinct names, in order of appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_missing_are_named_in_ranges() {
        for (given, shards, expected) in [
            (&[1, 2, 3][..], 3, &[][..]),
            (&[], 1, &["1"]),
            (&[2, 5], 6, &["1", "3 to 4", "6"]),
            (&[1], 1_000_000, &["2 to 1000000"]),
        ] {
            assert_eq!(missing(given.iter().copied(), shards), expected);
        }
    }
}
