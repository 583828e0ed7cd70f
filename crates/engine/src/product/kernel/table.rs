//! The table of spellings and words: `schedules/kernels.toml`.

use std::{collections::BTreeMap, ops::Range};

use serde::Deserialize;
use toml::Spanned;

use super::{
    KernelRole, Numbers, Says, Shapes,
    pattern::{Hole, Pattern},
};
use crate::{
    Error, Result,
    format::{self, Format},
    product::{BiasEntry, CEntry, file::value},
};

/// Beginnings of sources: each says how a meaning is known.
const SOURCES: [&str; 5] = ["documentation: ", "source: ", "discussion: ", "measured: ", "assumed"];
/// Word of sources for a meaning, or a part of it, that nothing confirms.
pub(super) const ASSUMED: &str = "assumed";
/// Value of `c` in a product without C.
const NO_C: &str = "none";

/// Spellings of names of kernels, and the meanings of their words.
#[derive(Debug, Clone)]
pub struct KernelTable {
    pub(super) shapes: Shapes,
    pub(super) spellings: Vec<Spelling>,
}

/// A way of writing names.
#[derive(Debug, Clone)]
pub(super) struct Spelling {
    pub title: String,
    pub library: String,
    pub role: KernelRole,
    pub begins: Vec<Pattern>,
    pub contains: Option<String>,
    pub formats: BTreeMap<String, &'static Format>,
    pub arguments: Option<usize>,
    pub words: Vec<Word>,
}

/// A word of a spelling.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub place: Place,
    pub says: Vec<Says>,
    pub meaning: String,
    pub source: String,
}

/// Where a word is read.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// After the words of earlier rows.
    Next(Pattern),
    /// At any place.
    Anywhere(Pattern),
    /// The argument of a template, from 0 on.
    Argument(usize, Pattern),
    /// Nowhere: the words of the rows `with` are read, and the word `text` of the row `without` is not.
    Absent { with: Vec<usize>, without: usize, text: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRows {
    shape: Vec<Spanned<ShapeRow>>,
    spelling: Vec<Spanned<SpellingRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeRow {
    digits: String,
    shape: Numbers,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SpellingRow {
    name: String,
    title: String,
    library: String,
    role: String,
    begins: Vec<String>,
    contains: Option<String>,
    #[serde(default)]
    types: BTreeMap<String, String>,
    types_source: Option<String>,
    arguments: Option<usize>,
    source: String,
    word: Vec<Spanned<WordRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordRow {
    word: Option<String>,
    #[serde(default)]
    anywhere: bool,
    argument: Option<usize>,
    #[serde(default)]
    with: Vec<String>,
    without: Option<String>,
    #[serde(default)]
    says: SaysRow,
    meaning: String,
    source: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct SaysRow {
    target: Option<usize>,
    least: Option<usize>,
    unit: Option<String>,
    operands: Option<String>,
    accumulator: Option<String>,
    split: Option<bool>,
    promote: Option<usize>,
    bias: Option<String>,
    c: Option<String>,
}

impl KernelTable {
    /// The table of a TOML file, `origin` in messages.
    ///
    /// # Errors
    /// A request error: what is wrong, and in which line.
    pub fn parse(text: &str, origin: &str) -> Result<KernelTable> {
        let wrong = |at: Range<usize>, what: String| {
            let line = 1 + text[..at.start.min(text.len())].matches('\n').count();
            Error::request(format!("{origin}, line {line}: {what}"))
        };
        let rows: FileRows = toml::from_str(text)
            .map_err(|error| wrong(error.span().unwrap_or_default(), error.message().trim_end().replace('\n', " ")))?;
        let mut shapes = Shapes::new();
        for row in rows.shape {
            let at = row.span();
            let ShapeRow { digits, shape, source } = row.into_inner();
            known_source(&source).map_err(|what| wrong(at.clone(), what))?;
            if shape.iter().map(usize::to_string).collect::<String>() != digits {
                return Err(wrong(at, format!("shape = {shape:?} is not written as \"{digits}\"")));
            }
            shapes.insert(digits, shape);
        }
        let mut spellings = Vec::new();
        for row in rows.spelling {
            let at = row.span();
            let row = row.into_inner();
            let mut spelling =
                spelling(&row).map_err(|what| wrong(at, format!("spelling \"{}\": {what}", row.name)))?;
            for word in &row.word {
                let read = row.read(word.get_ref(), &spelling);
                spelling.words.push(read.map_err(|what| wrong(word.span(), what))?);
            }
            spellings.push(spelling);
        }
        Ok(KernelTable { shapes, spellings })
    }
}

/// The spelling of a row, without its words.
fn spelling(row: &SpellingRow) -> std::result::Result<Spelling, String> {
    known_source(&row.source)?;
    match (&row.types_source, row.types.is_empty()) {
        (Some(source), false) => known_source(source)?,
        (None, true) => (),
        _ => return Err("types and types-source belong together".into()),
    }
    if row.begins.is_empty() || [&row.title, &row.library].iter().any(|text| text.is_empty()) {
        return Err("begins, title and library are not empty".into());
    }
    let formats = row.types.iter().map(|(name, format)| Ok((name.clone(), format_of(format)?)));
    Ok(Spelling {
        title: row.title.clone(),
        library: row.library.clone(),
        role: value("role", &row.role)?,
        begins: row.begins.iter().map(|text| Pattern::parse(text)).collect::<std::result::Result<_, _>>()?,
        contains: row.contains.clone(),
        formats: formats.collect::<std::result::Result<_, String>>()?,
        arguments: row.arguments,
        words: Vec::new(),
    })
}

impl SpellingRow {
    fn read(&self, row: &WordRow, spelling: &Spelling) -> std::result::Result<Word, String> {
        known_source(&row.source)?;
        if row.meaning.is_empty() {
            return Err("meaning is empty".into());
        }
        let place = self.place(row)?;
        let holes: Vec<Hole> = match &place {
            Place::Next(pattern) | Place::Anywhere(pattern) | Place::Argument(_, pattern) => pattern.holes().collect(),
            Place::Absent { .. } => Vec::new(),
        };
        if let Some(unknown) = braces(&row.meaning).find(|name| holes.iter().all(|hole| hole.name() != *name)) {
            return Err(format!("meaning has '{{{unknown}}}', which the word lacks"));
        }
        if holes.iter().any(|hole| matches!(hole, Hole::Format(_) | Hole::AnyFormat)) && spelling.formats.is_empty() {
            return Err("the word has a format, and the spelling has no types".into());
        }
        Ok(Word { place, says: row.says.says()?, meaning: row.meaning.clone(), source: row.source.clone() })
    }

    fn place(&self, row: &WordRow) -> std::result::Result<Place, String> {
        let other = |key: &str, word: &str| {
            let at = self.word.iter().position(|listed| listed.get_ref().word.as_deref() == Some(word));
            at.ok_or_else(|| format!("{key} = \"{word}\" is not a word of this spelling"))
        };
        match (&row.word, row.argument, &row.with[..], &row.without) {
            (Some(word), None, [], None) if row.anywhere => Ok(Place::Anywhere(Pattern::parse(word)?)),
            (Some(word), None, [], None) => Ok(Place::Next(Pattern::parse(word)?)),
            (Some(word), Some(argument), [], None) if !row.anywhere => {
                let arguments = self.arguments.ok_or("an argument needs the spelling's number of arguments")?;
                if !(1..=arguments).contains(&argument) {
                    return Err(format!("argument = {argument}: the template has 1 to {arguments}"));
                }
                Ok(Place::Argument(argument - 1, Pattern::parse(word)?))
            }
            (None, None, [_, ..], Some(text)) if !row.anywhere => {
                let with = row.with.iter().map(|word| other("with", word)).collect::<std::result::Result<_, _>>()?;
                Ok(Place::Absent { with, without: other("without", text)?, text: text.clone() })
            }
            _ => Err("a row has a word (also anywhere, or as an argument), or with and without".into()),
        }
    }
}

impl SaysRow {
    fn says(&self) -> std::result::Result<Vec<Says>, String> {
        let mut says = Vec::new();
        says.extend(self.target.map(|sm| Says::Target { sm, later: false }));
        says.extend(self.least.map(|sm| Says::Target { sm, later: true }));
        if let Some(unit) = &self.unit {
            says.push(Says::Unit(value("unit", unit)?));
        }
        if let Some(name) = &self.operands {
            says.push(Says::Operands([format_of(name)?; 2]));
        }
        if let Some(name) = &self.accumulator {
            says.push(Says::Accumulator(format_of(name)?));
        }
        says.extend(self.split.map(Says::Split));
        says.extend(self.promote.map(|k| Says::Promotion((k > 0).then_some(k))));
        if let Some(entry) = &self.bias {
            says.push(Says::Bias(value::<BiasEntry>("bias", entry)?));
        }
        match self.c.as_deref() {
            None => (),
            Some(NO_C) => says.push(Says::C(None)),
            Some(entry) => says.push(Says::C(Some(value::<CEntry>("c", entry)?))),
        }
        Ok(says)
    }
}

/// Names between braces.
fn braces(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

fn known_source(source: &str) -> std::result::Result<(), String> {
    if SOURCES.iter().any(|beginning| source.starts_with(beginning)) {
        return Ok(());
    }
    Err(format!(
        "source = \"{source}\": it begins with one of {}",
        SOURCES.map(|beginning| format!("\"{beginning}\"")).join(", ")
    ))
}

fn format_of(name: &str) -> std::result::Result<&'static Format, String> {
    format::find(name).map_err(|error| error.to_string())
}
