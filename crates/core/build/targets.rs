//! The files of `targets/`: the instructions of each target, native or emulated.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use toml::Spanned;

use crate::{
    collect::{self, File},
    isa::pattern,
};

pub(crate) struct Target<'a> {
    file: &'a File,
    content: Content,
    /// Compute capabilities, and the assembler's name of each.
    capabilities: Vec<((u32, u32), String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    title: Spanned<String>,
    announced: Spanned<String>,
    #[serde(default)]
    gpus: Vec<String>,
    #[serde(default)]
    capabilities: Vec<Spanned<String>>,
    #[serde(default)]
    processors: Vec<Spanned<String>>,
    #[serde(default)]
    matrix: Instructions,
    #[serde(default)]
    scalar: Instructions,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Instructions {
    #[serde(default)]
    native: Vec<Spanned<String>>,
    #[serde(default)]
    emulated: BTreeMap<String, Vec<Spanned<String>>>,
}

/// Kind of instruction, with tables and a section of its own.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Matrix instructions.
    Matrix,
    /// Scalar instructions.
    Scalar,
}

impl Target<'_> {
    /// Name of the target, equal to its file's.
    pub(crate) fn name(&self) -> &str {
        &self.file.name
    }

    /// Sort key: vendor, then generation; longer names are later (`sm_100a`).
    pub(crate) fn order(&self) -> (usize, usize, String) {
        let letters = self.name().chars().take_while(char::is_ascii_alphabetic).count();
        (letters, self.name().len(), self.name().to_string())
    }

    /// All patterns of a section, each with its emulation; `None` for native.
    fn patterns(&self, kind: Kind) -> impl Iterator<Item = (Option<&str>, &Spanned<String>)> {
        let section = match kind {
            Kind::Matrix => &self.content.matrix,
            Kind::Scalar => &self.content.scalar,
        };
        let emulated =
            section.emulated.iter().flat_map(|(how, list)| list.iter().map(move |p| (Some(how.as_str()), p)));
        section.native.iter().map(|p| (None, p)).chain(emulated)
    }
}

pub(crate) fn read(files: &[File]) -> Result<Vec<Target<'_>>, String> {
    let mut owners = HashMap::new();
    let mut targets = Vec::new();
    for file in files {
        let content: Content = toml::from_str(&file.text).map_err(|error| file.refused(&error))?;
        if content.title.get_ref().is_empty() {
            return Err(file.error(content.title.span().start, "'title' is empty"));
        }
        let announced = content.announced.get_ref();
        if !is_date(announced) {
            let what = format!("'{announced}' is not a year or a month (\"2022\", \"2022-03\")");
            return Err(file.error(content.announced.span().start, &what));
        }
        let mut capabilities = Vec::new();
        for text in &content.capabilities {
            let error = |what: &str| file.error(text.span().start, &format!("'{}' {what}", text.get_ref()));
            let numbers = text.get_ref().split_once('.').and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
            let (major, minor): (u32, u32) = numbers.ok_or_else(|| error("is not a compute capability (\"9.0\")"))?;
            if let Some(other) = owners.insert((major, minor), &file.path) {
                return Err(error(&format!("already is a compute capability of {other}")));
            }
            // Suffix `a`: includes the instructions of this architecture alone.
            let suffix = if file.name.ends_with('a') { "a" } else { "" };
            capabilities.push(((major, minor), format!("sm_{major}{minor}{suffix}")));
        }
        for processor in &content.processors {
            if let Some(defect) = pattern::defect(processor.get_ref()) {
                let text = processor.get_ref();
                return Err(file.error(processor.span().start, &format!("'{text}' is not a pattern: {defect}")));
            }
        }
        targets.push(Target { file, content, capabilities });
    }
    Ok(targets)
}

/// True for a year, or a month of one: `2022`, `2022-03`.
fn is_date(text: &str) -> bool {
    let number = |digits: &str, length: usize| {
        (digits.len() == length && digits.bytes().all(|digit| digit.is_ascii_digit()))
            .then(|| digits.parse::<u32>().ok())?
    };
    let (year, month) = text.split_once('-').map_or((text, None), |(year, month)| (year, Some(month)));
    number(year, 4).is_some()
        && month.is_none_or(|month| number(month, 2).is_some_and(|month| (1..=12).contains(&month)))
}

/// Rust expression of the targets and their descriptions.
pub(crate) fn table(targets: &[Target]) -> String {
    let row = |target: &Target| {
        let Content { title, announced, gpus, processors, .. } = &target.content;
        let (name, title, capabilities) = (target.name(), title.get_ref(), &target.capabilities);
        let announced = announced.get_ref();
        let processors: Vec<&String> = processors.iter().map(Spanned::get_ref).collect();
        format!(
            "    Target {{ name: {name:?}, title: {title:?}, announced: {announced:?}, gpus: &{gpus:?}, capabilities: \
             &{capabilities:?}, processors: &{processors:?} }},\n"
        )
    };
    format!("&[\n{}]\n", targets.iter().map(row).collect::<String>())
}

/// Rust expression of the targets of each instruction of the tables, by name, ascending.
pub(crate) fn relation(targets: &[Target], kind: Kind, tables: &[&str]) -> Result<String, String> {
    let mut names = Vec::new();
    for table in tables {
        let text = collect::read(table)?;
        // The first column of the tables is the name, which is never quoted.
        let name = |line: &str| line.split(',').next().unwrap_or_default().to_string();
        names.extend((1..).zip(text.lines()).skip(1).map(|(line, row)| (name(row), format!("{table}:{line}"))));
    }
    let mut support = vec![String::new(); names.len()];
    for target in targets {
        expand(target, kind, &names, &mut support)?;
    }
    if let Some(at) = support.iter().position(String::is_empty) {
        let (name, place) = &names[at];
        return Err(format!("{place}: no file of targets/ has {name}"));
    }
    let mut rows: Vec<(&String, &String)> = names.iter().map(|(name, _)| name).zip(&support).collect();
    rows.sort();
    let rows: String = rows.iter().map(|(name, support)| format!("    ({name:?}, &[{support}]),\n")).collect();
    Ok(format!("&[\n{rows}]\n"))
}

/// Appends one target's entries to `support`, for each name in `names` that it has.
fn expand(target: &Target, kind: Kind, names: &[(String, String)], support: &mut [String]) -> Result<(), String> {
    let mut first: HashMap<usize, &str> = HashMap::new();
    for (how, pattern) in target.patterns(kind) {
        let text = pattern.get_ref();
        let error = |what: &str| target.file.error(pattern.span().start, &format!("'{text}' {what}"));
        if let Some(defect) = pattern::defect(text) {
            return Err(error(&format!("is not a pattern: {defect}")));
        }
        let mut matched = false;
        for (at, (name, _)) in names.iter().enumerate().filter(|(_, (name, _))| pattern::matches(text, name)) {
            matched = true;
            if let Some(earlier) = first.insert(at, text) {
                return Err(error(&format!("repeats {name}, which '{earlier}' has")));
            }
            support[at] += &format!("Support {{ architecture: {:?}, emulation: {how:?} }}, ", target.name());
        }
        if !matched {
            return Err(error("matches no instruction"));
        }
    }
    Ok(())
}
