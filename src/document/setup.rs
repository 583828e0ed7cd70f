//! Chapters of the devices, versions, seeds and counts, and of the commands.

use std::collections::BTreeSet;

use super::{
    Block, Chapter,
    article::Study,
    citations, names, proof,
    results::{Results, chip},
    rows::{Rows, together},
    sheets::{self, Sheet},
};
use crate::{COMMIT, VERSION, base::distinct::distinct, device::Identity, isa, report::Kept};

/// Makes the chapter of the devices, the sources of their features, and the program.
pub(super) fn chapter(study: &Study) -> Chapter {
    let results = study.results;
    let versions: BTreeSet<String> = results.kept.iter().map(version).collect();
    let versions: Vec<String> = versions.into_iter().collect();
    let seeds: BTreeSet<u64> = results.kept.iter().filter_map(|kept| kept.report.seed).collect();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let seeds = if seeds.is_empty() { "none".into() } else { seeds.join(", ") };
    let mut said = vec![
        format!("Results by tcnum {}.", versions.join("; ")),
        format!("Document by tcnum {VERSION}, commit {}.", citations::short(COMMIT)),
        format!(
            "Seeds: {seeds}. The same seed gives the same operands on every device, on any machine and any number of threads."
        ),
    ];
    if !results.simulated().is_empty() {
        said.push(
            "A model is a description of a chip that the program executes; its results are not measurements.".into(),
        );
    }
    if !study.all.is_empty() {
        said.push(
            "A feature is found by directed inputs: operands for which its possible values give different D.".into(),
        );
    }
    if let failed @ [_, ..] = &results.failed()[..] {
        said.push(format!("These results report a mismatch or were interrupted: {}.", failed.join(", ")));
    }
    let mut blocks = proof::numbers(results);
    blocks.extend([Block::List(said)]);
    blocks.extend(devices(results).block());
    blocks.extend(study.evidence.sources().block());
    Chapter { id: "setup", heading: "Devices and evidence", blocks }
}

/// Makes the chapter of the commands, with the notes of some results.
pub(super) fn commands(results: &Results, noted: &Results) -> Chapter {
    let mut rows = Vec::new();
    for (kept, chip) in results.kept.iter().zip(&results.chips) {
        let report = &kept.report;
        let outcome = match (report.interrupted, report.holds) {
            (Some(by), _) => format!("interrupted by {}", by.name()),
            (None, true) => "holds".into(),
            (None, false) => report.verdict.name().into(),
        };
        let annotations: Vec<String> = report.annotations.iter().map(|(key, value)| format!("{key} {value}")).collect();
        rows.push(vec![
            // The results of commands that this program ran are not kept.
            if kept.path.exists() { kept.name() } else { String::new() },
            command(&report.invocation),
            sheets::short(chip),
            report.seed.map_or(String::new(), |seed| seed.to_string()),
            version(kept),
            annotations.join(", "),
            outcome,
        ]);
    }
    let labels = ["result", "command", "on", "seed", "tcnum", "noted", "outcome"];
    let mut blocks = vec![Block::Table(Sheet::new("Commands", &labels, &[], rows))];
    let unknown = |kept: &Kept| match &kept.unknown[..] {
        [] => None,
        names => Some(format!(
            "Tables and columns that this version of tcnum does not know are left out: {}.",
            names.join(", ")
        )),
    };
    let of = |kept: &Kept, notes: Vec<String>| {
        notes.into_iter().map(|note| vec![command(&kept.report.invocation), note]).collect::<Vec<_>>()
    };
    let said = noted.kept.iter().flat_map(|kept| of(kept, joined(&kept.report.notes)));
    let notes = said.chain(results.kept.iter().flat_map(|kept| of(kept, unknown(kept).into_iter().collect())));
    blocks.extend(Sheet::new("Notes", &["command", "note"], &[], notes.collect()).block());
    Chapter { id: "commands", heading: "Commands, seeds and versions", blocks }
}

/// The commands of results, as a list.
pub(super) fn repeats<'a>(kept: impl Iterator<Item = &'a Kept>) -> Vec<Block> {
    let lines = distinct(kept.map(|kept| command(&kept.report.invocation)));
    match lines.is_empty() {
        true => Vec::new(),
        false => vec![Block::Text("These commands repeat the tables and figures above:".into()), Block::List(lines)],
    }
}

/// Notes, with one note in place of those that differ only in the instruction.
fn joined(notes: &[String]) -> Vec<String> {
    let instruction = |note: &str| {
        let words = note.split(' ').map(|word| word.trim_end_matches([':', ',', '.', ';']));
        words.into_iter().find(|word| isa::known(word).is_some()).map(str::to_string)
    };
    let keyed = notes.iter().map(|note| {
        let name = instruction(note);
        let parts = name.as_ref().and_then(|name| note.split_once(name.as_str()));
        (parts.map_or((note.clone(), String::new()), |(before, after)| (before.into(), after.into())), name)
    });
    let groups = together(keyed).into_iter();
    groups
        .map(|((before, after), names)| {
            let names: Vec<String> = names.into_iter().flatten().collect();
            format!("{before}{}{after}", names::listed(names.iter().map(String::as_str)))
        })
        .collect()
}

/// A command line without the place and the view of its result.
fn command(invocation: &str) -> String {
    let Some(words) = shlex::split(invocation) else { return invocation.into() };
    let mut words = words.into_iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" | "--output" | "--also" | "--note" | "--plot" | "--plots" => drop(words.next()),
            "-q" | "--quiet" => (),
            _ => kept.push(word),
        }
    }
    shlex::try_join(kept.iter().map(String::as_str)).unwrap_or_else(|_| invocation.into())
}

/// The version and the commit that gave a result.
fn version(kept: &Kept) -> String {
    let commit = kept.commit.as_ref().map_or(String::new(), |commit| format!(", commit {}", citations::short(commit)));
    format!("{}{commit}", kept.version)
}

/// The devices, each once, with their drivers and versions.
fn devices(results: &Results) -> Sheet {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut add = |name: String, description: &str, details: String| {
        let device = sheets::short(&chip(&Identity::new(name.as_str(), description)));
        // Some results say more of a device than others.
        let is_it = |row: &Vec<String>| {
            (&row[0], &row[1]) == (&device, &name) && (row[3].contains(&details) || details.contains(&row[3]))
        };
        match rows.iter_mut().find(|row| is_it(row)) {
            Some(row) if row[3].len() < details.len() => row[3] = details,
            Some(_) => (),
            None => rows.push(vec![device, name, description.into(), details]),
        }
    };
    for kept in &results.kept {
        if let Some(device) = &kept.report.device {
            let details: Vec<String> = device.details.iter().map(|(key, value)| format!("{key} {value}")).collect();
            add(device.name.to_string(), &device.description, details.join(", "));
        }
        for table in kept.report.tables.iter().filter(|table| table.key == "devices") {
            for line in Rows(table).iter() {
                add(line.text("device").into(), line.text("description"), line.text("details").into());
            }
        }
    }
    Sheet::new("Devices", &[sheets::DEVICE, "asked for as", "description", "details"], &[], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_differ_in_the_instruction_are_one() {
        let lacks = |name: &str| format!("exec:x does not execute {name}: no");
        let notes = [lacks("mma.m16n8k8.f32.f16.f16.f32"), "Other.".into(), lacks("mma.m16n8k16.f32.f16.f16.f32")];
        assert_eq!(joined(&notes), [lacks("mma.m16n8k{8,16}.f32.f16.f16.f32"), "Other.".into()]);
    }

    #[test]
    fn a_command_is_shown_without_the_place_of_its_result() {
        let line =
            "tcnum experiment table-12 --device 'exec:a b' -q --note date=1 --output json --out 'x y.json' --seed 1";
        assert_eq!(command(line), "tcnum experiment table-12 --device 'exec:a b' --seed 1");
        // An open quotation mark is shown unchanged.
        assert_eq!(command("tcnum 'x"), "tcnum 'x");
    }
}
