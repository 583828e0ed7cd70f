//! The bibliography: papers that experiments and models name, and this program.

use crate::{COMMIT, VERSION};

/// Entries of papers.
const SOURCES: &str = include_str!("sources.bib");
/// The entry of the program for citations, whose title and authors this bibliography repeats.
const CITATION: &str = include_str!("../../CITATION.cff");
/// Key of this program.
pub(super) const OWN: &str = "tcnum";

/// The text of the bibliography.
pub(super) fn bibliography() -> String {
    format!("{SOURCES}\n{}", own())
}

/// The entry of this program, with version, commit and address, if it has one.
fn own() -> String {
    let address = match env!("CARGO_PKG_REPOSITORY") {
        "" => String::new(),
        address => format!(", \\url{{{address}}}"),
    };
    format!(
        "@misc{{{OWN},\n  author = {{{{{}}}}},\n  title = {{{{{}}}}},\n  note = {{Version {VERSION}, commit {}{address}}}\n}}\n",
        field("- name"),
        field("title"),
        short(COMMIT)
    )
}

/// The first digits of a commit, with a sign for sources that differ from it.
pub(super) fn short(commit: &str) -> String {
    let digits: String = commit.chars().take(12).collect();
    if commit.ends_with("-dirty") { digits + " with changes" } else { digits }
}

/// A quoted value of the file for citations.
fn field(key: &str) -> &'static str {
    let line = CITATION.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
    line.unwrap_or_default().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    /// The keys of entries.
    fn keys(text: &str) -> Vec<&str> {
        text.split('@').skip(1).filter_map(|entry| Some(entry.split_once('{')?.1.split_once(',')?.0)).collect()
    }

    #[test]
    fn every_cited_paper_has_an_entry_and_its_title() {
        let all = bibliography();
        let mut cited = 0;
        for name in crate::experiment::shipped() {
            let experiment = Experiment::find(name).unwrap();
            let Some(key) = &experiment.cite else { continue };
            let entry = all
                .split('@')
                .find(|entry| entry.contains(&format!("{{{key},")))
                .unwrap_or_else(|| panic!("{name}: {key}"));
            // Braces keep capitals.
            let plain = entry.replace(['{', '}'], "").to_lowercase();
            let title = experiment.source.split('"').nth(1).unwrap_or(&experiment.source).to_lowercase();
            let title = title.split(" (").next().unwrap();
            assert!(plain.contains(title), "{name}: {title} is not in {entry}");
            cited += 1;
        }
        assert!(cited > 15, "{cited}");
    }

    #[test]
    fn the_program_has_an_entry_with_version_and_commit() {
        let all = bibliography();
        assert_eq!(keys(&all).iter().filter(|key| **key == OWN).count(), 1);
        let own = own();
        assert!(own.contains(VERSION) && own.contains(&COMMIT[..7.min(COMMIT.len())]), "{own}");
        assert!(own.contains("{{The tcnum authors}}") && own.contains("{{tcnum: the numeric"), "{own}");
    }
}
