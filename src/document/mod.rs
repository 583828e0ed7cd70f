//! Documents made of results: one page, one paper, one text, each with the same parts.
//!
//! [`Results`] gathers what several results say of the same thing, [`compose`] puts it in order ([`Document`]), and `html`, `latex` and
//! `markdown` write it. [`figures`] are made of the tables of results, those that were kept and those of the command that just ran.

mod arithmetic;
mod compose;
mod figures;
mod file;
mod html;
mod latex;
mod markdown;
mod measured;
mod neighbours;
mod outline;
mod preset;
mod proof;
mod results;
mod rows;

pub(crate) use compose::compose;
pub(crate) use figures::{Figure, figures};
pub(crate) use file::Form;
use html::html;
use latex::{PaperFile, paper};
use markdown::markdown;
pub(crate) use measured::{Measured, measured};
pub(crate) use preset::Preset;
pub(crate) use results::{Results, chip};

use crate::report::ShownTable;

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// What it is about: the chips.
    pub(crate) title: String,
    /// Where its numbers come from: devices, or models of them.
    pub(crate) lead: String,
    /// The parts.
    pub(crate) parts: Vec<Chapter>,
}

impl Document {
    /// Puts a paragraph before everything else.
    pub(crate) fn begin_with(&mut self, text: String) {
        match self.parts.first_mut() {
            Some(part) => part.blocks.insert(0, Block::Text(text)),
            None => self.parts.push(Chapter { id: "summary", heading: "Summary", blocks: vec![Block::Text(text)] }),
        }
    }
}

/// A part under a heading.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chapter {
    /// Its name in links and files.
    pub(crate) id: &'static str,
    /// The heading.
    pub(crate) heading: &'static str,
    /// What it consists of.
    pub(crate) blocks: Vec<Block>,
}

/// A piece of a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// A paragraph.
    Text(String),
    /// Numbers that stand out, each with what it counts.
    Numbers(Vec<(String, String)>),
    /// A table. A cell of several lines is a list, of which the first is shown.
    Table(Sheet),
    /// A figure.
    Figure(Figure),
    /// Details that are not seen at first, under this summary.
    Folded(String, Vec<Block>),
}

/// A table as people see it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sheet {
    /// What a row is.
    pub(crate) caption: String,
    /// Its headings and cells.
    pub(crate) shown: ShownTable,
}

/// The headings of columns that name where rows are from.
const FROM: [&str; 6] = ["on", "device", "measured on", "according to", "model", "between"];
/// Rows from which a table is folded.
const LONG: usize = 40;
/// The most rows of a table.
const MOST_ROWS: usize = 10_000;

impl Sheet {
    /// A table of texts, of which the columns with these numbers hold numbers.
    pub(crate) fn new(caption: impl Into<String>, labels: &[&str], numeric: &[usize], rows: Vec<Vec<String>>) -> Sheet {
        let labels: Vec<String> = labels.iter().map(|label| label.to_string()).collect();
        let shown = ShownTable {
            numeric: (0..labels.len()).map(|at| numeric.contains(&at)).collect(),
            beside: vec![false; labels.len()],
            labels,
            rows,
            legend: None,
        };
        Sheet { caption: caption.into(), shown }.hoisted()
    }

    /// The same with as many rows as a document has of a table at most, and without columns that name where rows are from, if all say the same; the caption says it then.
    pub(crate) fn hoisted(mut self) -> Sheet {
        let count = self.shown.rows.len();
        if count > MOST_ROWS {
            self.shown.rows.truncate(MOST_ROWS);
            let cut = format!(" (the first {MOST_ROWS} of {count} rows; the results have all)");
            self.caption = self.caption.trim_end_matches('.').to_string() + &cut;
        }
        let rows = &self.shown.rows;
        let same = |at: usize| rows.len() > 1 && rows.iter().all(|row| row[at] == rows[0][at] && !row[at].is_empty());
        let from = |at: &usize| FROM.contains(&&*self.shown.labels[*at]) && same(*at);
        let gone: Vec<usize> = (0..self.shown.labels.len()).filter(from).collect();
        for &at in &gone {
            let own = format!("; {}: {}", self.shown.labels[at], rows[0][at]);
            self.caption = self.caption.trim_end_matches('.').to_string() + &own;
        }
        let kept: Vec<usize> = (0..self.shown.labels.len()).filter(|at| !gone.contains(at)).collect();
        Sheet { shown: self.shown.only(&kept), ..self }
    }

    /// The block of the table: folded if it is long, nothing if it is empty.
    pub(crate) fn block(self) -> Option<Block> {
        match self.shown.rows.len() {
            0 => None,
            count if count > LONG => {
                let summary = format!("{} ({count} rows)", self.caption.trim_end_matches('.'));
                Some(Block::Folded(summary, vec![Block::Table(self)]))
            }
            _ => Some(Block::Table(self)),
        }
    }
}
