//! A static site of the arithmetic of all known matrix units.
//!
//! Models give the arithmetic, features and comparisons are measured on them, and pages are made of these. A site loads nothing from a
//! network and works from a disk.

mod answer;
pub mod calculator;
mod claim;
mod entry;
mod folder;
mod generation;
mod index;
mod instruction;
mod lists;
mod measure;
mod page;
mod picture;
mod search;

use std::path::PathBuf;

use crate::{
    Error, Interruption, Result, Stage,
    base::{distinct::distinct, interrupt, parallel},
    document::{self, Claim},
    format::Format,
    isa::{self, Instruction},
    report::{Table, counted},
};
use entry::Entry;
pub(crate) use folder::SiteFolder;
use generation::{Generation, file_names, generations};
use measure::Measurements;
use page::quoted;

/// Instructions that are measured together.
const TOGETHER: usize = 32;

crate::rows! {
    /// A kind of page of an atlas.
    pub(crate) struct AtlasRow in "atlas" {
        /// Kind of page.
        kind: &'static str => shown("pages of").essential(),
        /// Number of pages.
        pages: usize => shown("pages").essential(),
        /// Size of all pages, in bytes.
        bytes: usize => shown("size").unit("bytes").essential(),
    }
}

/// A request for an atlas.
#[derive(Debug, Clone, Default)]
pub(crate) struct AtlasRequest {
    /// Models by name or file; empty for all shipped ones.
    pub(crate) models: Vec<String>,
    /// Folders of surveys, whose draft models are added.
    pub(crate) surveys: Vec<PathBuf>,
    /// Instructions by name or file; empty for all.
    pub(crate) instructions: Vec<String>,
}

/// The content of a site.
struct Site {
    generations: Vec<Generation>,
    entries: Vec<Entry>,
    /// Formats of operands, results and scales.
    formats: Vec<&'static Format>,
    /// True if the request names instructions.
    is_restricted: bool,
    /// Published claims; a site of some instructions has none.
    claims: Vec<Claim>,
    /// The command that makes the site.
    command: String,
    /// The warning of an interrupted site.
    interrupted: Option<String>,
}

/// A finished atlas.
pub(crate) struct Atlas {
    /// Files by name.
    files: Vec<(String, Vec<u8>)>,
    /// The answer in a sentence.
    pub(crate) answer: String,
    /// Pages by kind.
    pub(crate) table: Table,
    /// The interruption that ended the work early.
    pub(crate) interrupted: Option<Interruption>,
}

impl Atlas {
    /// Writes the site.
    ///
    /// # Errors
    /// As [`SiteFolder::write`].
    pub(crate) fn write(&self, folder: &SiteFolder) -> Result<()> {
        folder.write(&self.files, self.interrupted.is_none())
    }
}

/// An instruction, and the name by which it was asked for.
struct Asked {
    name: String,
    instruction: Instruction,
}

/// Makes an atlas; after an interruption, of the instructions until then.
///
/// # Errors
/// Unknown names; no model has an instruction; an interruption before the first instruction is done.
pub(crate) fn atlas(request: &AtlasRequest, progress: &mut dyn FnMut(Stage)) -> Result<Atlas> {
    let generations = generations(&request.models, &request.surveys)?;
    let asked = asked(request, &generations)?;
    let files = file_names(asked.iter().map(|asked| asked.instruction.name.as_str()));
    let (mut measured, mut entries) = (Measurements::default(), Vec::new());
    let mut stopped = None;
    let total = asked.len() as u64;
    for (part, files) in asked.chunks(TOGETHER).zip(files.chunks(TOGETHER)) {
        let what = format!("measuring {}", part[0].instruction.name);
        progress(Stage { what: &what, done: entries.len() as u64, total });
        let instructions: Vec<&Instruction> = part.iter().map(|asked| &asked.instruction).collect();
        match interrupt::check().and_then(|()| measured.measure(&instructions, &generations)) {
            Err(Error::Interrupted { by }) if !entries.is_empty() => {
                stopped = Some(by);
                break;
            }
            outcome => outcome?,
        }
        for (asked, file) in part.iter().zip(files) {
            entries.push(Entry::new(&asked.instruction, &asked.name, file, &generations, &measured));
        }
    }
    let interrupted = stopped.map(|by| {
        format!(
            "Interrupted by {}: this site has {} of {}; the others are missing.",
            by.name(),
            entries.len(),
            counted(total, "instruction")
        )
    });
    progress(Stage::of("writing pages"));
    let formats = distinct(entries.iter().flat_map(|entry| formats(&entry.instruction)));
    let is_restricted = !request.instructions.is_empty() || interrupted.is_some();
    let claims = if is_restricted { Vec::new() } else { document::claims() };
    let site = Site { generations, entries, formats, is_restricted, claims, command: command(request), interrupted };
    Ok(site.finished(stopped))
}

/// The instructions of a request that a model has.
///
/// # Errors
/// Unknown names; an instruction that no model has.
fn asked(request: &AtlasRequest, generations: &[Generation]) -> Result<Vec<Asked>> {
    let has = |i: &Instruction| generations.iter().any(|generation| generation.model.program(i).is_ok());
    if request.instructions.is_empty() {
        let known = isa::all().iter().filter(|i| has(i));
        let all: Vec<Asked> = known.map(|i| Asked { name: i.name.clone(), instruction: i.clone() }).collect();
        return match all.is_empty() {
            true => {
                Err(Error::request("the models cover no instruction of the tables; name instructions with ‹instr›"))
            }
            false => Ok(all),
        };
    }
    let mut all: Vec<Asked> = Vec::new();
    for name in &request.instructions {
        let instruction = isa::resolve(name)?;
        if !has(&instruction) {
            let models: Vec<String> = generations.iter().map(|generation| generation.model.name.clone()).collect();
            return Err(Error::unavailable(format!(
                "‹instr={name}›: none of the models ({}) covers {instruction}; `tcnum instructions {instruction}` lists targets",
                models.join(", ")
            )));
        }
        if all.iter().all(|other| other.instruction.name != instruction.name) {
            let known = isa::known(&instruction.name).is_some_and(|listed| listed == instruction);
            let name = if known { instruction.name.clone() } else { name.clone() };
            all.push(Asked { name, instruction });
        }
    }
    Ok(all)
}

/// The formats of an instruction.
fn formats(i: &Instruction) -> impl Iterator<Item = &'static Format> {
    [i.a, i.b, i.c, i.d].into_iter().chain(i.scale.map(|scale| scale.format))
}

/// The command that makes the same site.
fn command(request: &AtlasRequest) -> String {
    let models = request.models.iter().map(|name| format!(" --model {}", quoted(name)));
    let surveys = request.surveys.iter().map(|folder| format!(" --with {}", quoted(&folder.to_string_lossy())));
    let instructions = request.instructions.iter().map(|name| format!(" --instr {}", quoted(name)));
    format!("tcnum atlas{} --out FOLDER", models.chain(surveys).chain(instructions).collect::<String>())
}

impl Site {
    /// Renders all pages.
    fn finished(&self, interrupted: Option<Interruption>) -> Atlas {
        let kinds = [
            ("index", vec![index::page(self)]),
            ("generation", (0..self.generations.len()).map(|number| lists::generation(self, number)).collect()),
            ("format", self.formats.iter().map(|format| lists::format(self, format)).collect()),
            ("claim", self.claims.iter().map(claim::page).collect()),
        ];
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        let mut rows = Vec::new();
        for (kind, pages) in kinds {
            let made = pages.iter().map(|page| (page.path.clone(), page.html(self).into_bytes()));
            add(kind, made.collect(), &mut files, &mut rows);
        }
        let made = parallel::map(&self.entries, |entry| {
            let page = instruction::page(self, entry);
            let script = (format!("instruction/{}.js", entry.file), instruction::script(self, entry).into_bytes());
            ((page.path.clone(), page.html(self).into_bytes()), script)
        });
        let (made, scripts): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        add("instruction", made, &mut files, &mut rows);
        let pages = files.len() as u64;
        let style = [document::STYLE, include_str!("atlas.css"), calculator::STYLE].join("\n");
        let script = [document::SCRIPT, include_str!("atlas.js")].join("\n");
        files.extend(scripts);
        files.extend([
            ("evaluator.js".to_string(), calculator::EVALUATOR.into()),
            ("calculator.js".to_string(), calculator::INTERFACE.into()),
            ("style.css".to_string(), style.into_bytes()),
            ("script.js".to_string(), script.into_bytes()),
            ("search.js".to_string(), search::script(self).into_bytes()),
        ]);
        let answer = format!(
            "{}: {} of {}, and {}.",
            counted(pages, "page"),
            counted(self.entries.len() as u64, "instruction"),
            counted(self.generations.len() as u64, "generation"),
            counted(self.formats.len() as u64, "format")
        );
        Atlas { files, answer, table: Table::of("Pages", rows), interrupted }
    }
}

/// Adds the pages of a kind, and their row.
fn add(kind: &'static str, made: Vec<(String, Vec<u8>)>, files: &mut Vec<(String, Vec<u8>)>, rows: &mut Vec<AtlasRow>) {
    let bytes = made.iter().map(|(_, bytes)| bytes.len()).sum();
    rows.push(AtlasRow { kind, pages: made.len(), bytes });
    files.extend(made);
}
