//! The bibliography: papers that experiments and models name, and this program.

use crate::{COMMIT, VERSION, base::distinct::distinct};

/// Entries of papers.
const SOURCES: &str = include_str!("../../literature/sources.bib");
/// The entry of the program for citations, whose title and authors this bibliography repeats.
const CITATION: &str = include_str!("../../CITATION.cff");
/// Key of this program.
pub(super) const PROGRAM_KEY: &str = "tcnum";

/// The text of the bibliography.
pub(super) fn bibliography() -> String {
    format!("{SOURCES}\n{}", program_entry())
}

/// Keys of the entries for sources such as `Fasi et al. 2021`, each once.
///
/// A key begins with the first author and the year of publication; a source may have the year of its preprint.
pub(super) fn keys_of<'a>(sources: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let key = |source: &str| {
        let letters: String = source.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
        let author = letters.split(' ').next()?.to_string();
        let of_author = |key: &&str| {
            key.strip_prefix(&author[..]).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let year = letters.split(' ').next_back()?;
        let all: Vec<&str> = keys(SOURCES).into_iter().filter(of_author).collect();
        all.iter().find(|key| key.contains(year)).or(all.first().filter(|_| all.len() == 1)).copied()
    };
    distinct(sources.filter_map(key))
}

/// The entry of a key.
pub(crate) fn entry(key: &str) -> Option<&'static str> {
    SOURCES.split("\n\n").map(str::trim).find(|entry| keys(entry) == [key])
}

/// The keys of entries.
fn keys(text: &str) -> Vec<&str> {
    text.split('@').skip(1).filter_map(|entry| Some(entry.split_once('{')?.1.split_once(',')?.0)).collect()
}

/// The year of the version, for entries of bibliographies.
pub(crate) fn year() -> &'static str {
    field("date-released").split('-').next().unwrap_or_default()
}

/// The entry of this program, with version, commit, year and address, if it has one.
fn program_entry() -> String {
    let address = match env!("CARGO_PKG_REPOSITORY") {
        "" => String::new(),
        address => format!(", \\url{{{address}}}"),
    };
    format!(
        "@misc{{{PROGRAM_KEY},\n  author = {{{{{}}}}},\n  title = {{{{{}}}}},\n  note = {{Version {VERSION}, commit {}{address}}},\n  year = {{{}}}\n}}\n",
        field("- name"),
        field("title"),
        short(COMMIT),
        year()
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

    /// The value of a field of an entry.
    fn value<'a>(entry: &'a str, name: &str) -> Option<&'a str> {
        let line = entry.split("\n  ").find_map(|line| line.strip_prefix(name)?.strip_prefix(" = {"))?;
        Some(line.trim_end_matches(['}', ',', '\n']))
    }

    #[test]
    fn every_entry_has_all_authors_a_title_a_venue_a_year_and_an_identifier() {
        let entries: Vec<&str> = SOURCES.split('@').skip(1).collect();
        assert!(entries.len() > 10, "{}", entries.len());
        for entry in entries {
            for name in ["author", "title", "year"] {
                assert!(value(entry, name).is_some_and(|value| !value.is_empty()), "{name}: {entry}");
            }
            let venues = ["journal", "booktitle", "publisher", "howpublished"];
            assert!(
                venues.iter().any(|name| value(entry, name).is_some_and(|venue| !venue.is_empty())),
                "venue: {entry}"
            );
            let note = value(entry, "note").unwrap_or_default();
            assert!(["doi:", "arXiv:", "\\url{"].iter().any(|begin| note.starts_with(begin)), "identifier: {entry}");
            let key = entry.split_once('{').unwrap().1.split_once(',').unwrap().0;
            assert!(key.contains(value(entry, "year").unwrap()), "the year of {key}: {entry}");
        }
    }

    #[test]
    fn no_citation_leaves_authors_out() {
        let texts = crate::experiment::shipped().map(|name| (name.to_string(), Experiment::find(name).unwrap().source));
        for (name, text) in texts.chain([("sources.bib".into(), SOURCES.into())]) {
            let short = ["and others", "et al", " others,"].iter().find(|words| text.contains(**words));
            assert!(short.is_none(), "{name}: {short:?} in {text}");
        }
    }

    #[test]
    fn every_paper_with_published_features_has_an_entry() {
        let rows = include_str!("../../crates/study/src/features/published.csv")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .skip(1);
        let sources: Vec<&str> = rows.map(|row| row.split(',').next().unwrap()).collect();
        let papers = || sources.iter().copied().filter(|source| source.ends_with(|c: char| c.is_ascii_digit()));
        let missing: Vec<&str> = papers().filter(|source| keys_of([*source].into_iter()).is_empty()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(
            keys_of(["Fasi et al. 2021", "MMAScope", "Li et al. 2024"].into_iter()),
            ["fasi2021numerical", "li2024fttn"]
        );
        assert_eq!(keys_of(["Khattak & Mikaitis 2025"].into_iter()), ["khattak2026accurate"]);
        assert!(papers().count() > 300);
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
            let title = experiment.source.split('"').nth(1).unwrap_or(&experiment.source);
            let title = title.split(" (").next().unwrap().to_lowercase();
            assert!(plain.contains(&title), "{name}: {title} is not in {entry}");
            cited += 1;
        }
        assert!(cited > 15, "{cited}");
    }

    #[test]
    fn the_program_has_an_entry_with_version_and_commit() {
        let all = bibliography();
        assert_eq!(keys(&all).iter().filter(|key| **key == PROGRAM_KEY).count(), 1);
        let entry = program_entry();
        let year = year();
        assert!(
            year.len() == 4 && year.parse::<u32>().is_ok() && entry.contains(&format!("year = {{{year}}}")),
            "{entry}"
        );
        assert!(entry.contains(VERSION) && entry.contains(&COMMIT[..7.min(COMMIT.len())]), "{entry}");
        assert!(entry.contains("{{The tcnum authors}}") && entry.contains("{{tcnum: the numeric"), "{entry}");
    }
}
