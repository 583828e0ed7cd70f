//! An appendix of a paper: published tables and figures, repeated, with differences and commands.

mod commands;
pub(super) mod differences;
mod experiments;
mod published;
mod setup;
pub(super) mod sheets;

pub(crate) use commands::appendix_work;

use super::{Block, Chapter, Document, Results, compose};
pub(super) use experiments::{Repeated, separated};
pub(super) use setup::{commands, devices, seeds, versions};
pub(super) use sheets::short;

/// Chapters of other results that an appendix has in its own way.
const REPLACED: [&str; 2] = ["summary", "commands"];

/// Makes the appendix of results: experiments by source, other results by chapter, and differences.
pub(crate) fn appendix(results: &Results) -> Document {
    let (experiments, others) = experiments::separated(results);
    let lead = compose(results).lead;
    let chips: Vec<String> = results.subjects().iter().map(|chip| sheets::short(chip)).collect();
    let of_others = compose(&others).parts.into_iter().filter(|part| !REPLACED.contains(&part.id));
    // Experiments have a chapter of the same name.
    let renamed = |part: Chapter| match part.id {
        "published" => Chapter { id: "published-features", heading: "Published features and figures", ..part },
        _ => part,
    };
    let of_others = of_others.map(|part| renamed(setup::with_commands(device_first(part), &others)));
    let mut all = vec![setup::chapter(results, &experiments, &others)];
    all.extend(of_others);
    all.extend(published::chapters(&experiments));
    if !experiments.is_empty() || others.table("published_features").is_some() {
        all.push(published::beside());
        all.push(differences::chapter(&experiments, &others));
    }
    all.push(setup::commands(results, &others));
    all.retain(|part| !part.blocks.is_empty());
    Document { title: listed(&chips), lead, parts: all }
}

/// Names in a sentence.
pub(super) fn listed(names: &[String]) -> String {
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
