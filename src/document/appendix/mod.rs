//! An appendix of a paper: published tables and figures, repeated, with differences and commands.

mod commands;
mod differences;
mod experiments;
mod published;
mod setup;
mod sheets;

pub(crate) use commands::commands;

use super::{Block, Chapter, Document, Results, compose};

/// Chapters of other results that an appendix has in its own way.
const REPLACED: [&str; 2] = ["summary", "commands"];

/// Makes the appendix of results: experiments by source, other results by chapter, and differences.
pub(crate) fn appendix(results: &Results) -> Document {
    let (experiments, others) = experiments::separated(results);
    let lead = compose(results).lead;
    let chips: Vec<String> = results.subjects().iter().map(|chip| sheets::short(chip)).collect();
    let of_others = compose(&others).parts.into_iter().filter(|part| !REPLACED.contains(&part.id)).map(device_first);
    let mut all = vec![setup::chapter(results, &experiments, &others)];
    all.extend(of_others);
    all.extend(published::chapters(&experiments));
    if !experiments.is_empty() || others.table("published_features").is_some() {
        all.push(differences::chapter(&experiments, &others));
    }
    all.push(setup::commands(results, &others));
    all.retain(|part| !part.blocks.is_empty());
    Document { title: listed(&chips), lead, parts: all }
}

/// Names in a sentence.
fn listed(names: &[String]) -> String {
    match names {
        [] => "Formats and models".into(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// The chapter with the device as the first column of its tables.
fn device_first(chapter: Chapter) -> Chapter {
    Chapter { blocks: chapter.blocks.into_iter().map(moved).collect(), ..chapter }
}

fn moved(block: Block) -> Block {
    match block {
        Block::Table(sheet) => Block::Table(sheet.with_device_first(sheets::DEVICE, &sheets::short)),
        Block::Folded(summary, blocks) => Block::Folded(summary, blocks.into_iter().map(moved).collect()),
        other => other,
    }
}
