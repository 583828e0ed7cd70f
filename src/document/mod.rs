//! Documents made of results: a page, a paper or a text, with the same chapters.
//!
//! [`Results`] gathers the tables of several results, [`compose`] makes a [`Document`] of them, and `html`, `latex` and `markdown` write
//! it. [`figures`] draws the tables of kept results and of the command that just ran.

mod appendix;
mod arithmetic;
mod article;
mod citations;
mod claims;
mod compose;
mod figures;
mod file;
mod generations;
mod html;
mod latex;
mod markdown;
mod measured;
mod names;
mod neighbours;
mod outline;
mod proof;
mod results;
mod rows;
mod words;
mod work;

pub(crate) use appendix::{appendix, appendix_work};
pub(crate) use article::{Fitted, Subject, article};
pub(crate) use citations::{entry, year};
pub(crate) use claims::{Claim, claims};
pub(crate) use compose::{compose, sheet};
pub(crate) use figures::{Figure, figures, slug};
pub(crate) use file::{Form, write_with_supplement};
pub(crate) use generations::{emulations, is_native};
pub(crate) use html::{SCRIPT, STYLE, block, contents, footer, frame, grid, html, marked, section, shown};
use latex::{PaperFile, paper, paper_with_supplement};
use markdown::markdown;
pub(crate) use measured::{Measured, measured};
pub(crate) use results::{Results, chip};
pub(crate) use work::{Place, Work, quoted};

use crate::report::ShownTable;

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// The subject: the chips.
    pub(crate) title: String,
    /// The answer in short, or the sources of the numbers.
    pub(crate) lead: String,
    /// The chapters.
    pub(crate) parts: Vec<Chapter>,
}

impl Document {
    /// Inserts a paragraph before everything else.
    pub(crate) fn begin_with(&mut self, text: String) {
        match self.parts.first_mut() {
            Some(part) => part.blocks.insert(0, Block::Text(text)),
            None => self.parts.push(Chapter { id: "summary", heading: "Summary", blocks: vec![Block::Text(text)] }),
        }
    }
}

/// A part of a document under a heading.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chapter {
    /// Name in links and files.
    pub(crate) id: &'static str,
    /// The heading.
    pub(crate) heading: &'static str,
    /// Content.
    pub(crate) blocks: Vec<Block>,
}

/// A piece of a chapter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// A paragraph.
    Text(String),
    /// A heading within the chapter.
    Heading(String),
    /// A paragraph on a source.
    Source(Source),
    /// A list of sentences.
    List(Vec<String>),
    /// Large numbers, each with its label.
    Numbers(Vec<(String, String)>),
    /// A table. A cell of several lines is a list; views show its first entry.
    Table(Sheet),
    /// A figure.
    Figure(Figure),
    /// Folded details under a summary.
    Folded(String, Vec<Block>),
}

/// A sentence on a source, with its key in the bibliography.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    /// The sentence.
    pub(crate) text: String,
    /// The key, if the bibliography has the source.
    pub(crate) key: Option<String>,
}

/// A table as people see it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sheet {
    /// Caption.
    pub(crate) caption: String,
    /// Headings and cells.
    pub(crate) shown: ShownTable,
}

/// Headings of columns that name the origin of rows.
const FROM: [&str; 6] = ["on", "device", "measured on", "according to", "model", "between"];
/// Headings of columns that name the device of rows, if a table has one.
const DEVICES: [&str; 4] = ["device", "on", "measured on", "according to"];
/// Rows from which a table is folded.
const LONG: usize = 40;
/// Most rows of a table.
const MOST_ROWS: usize = 10_000;

impl Sheet {
    /// Makes a table of texts; the columns in `numeric` hold numbers.
    pub(crate) fn new(caption: impl Into<String>, labels: &[&str], numeric: &[usize], rows: Vec<Vec<String>>) -> Sheet {
        let labels: Vec<String> = labels.iter().map(|label| label.to_string()).collect();
        let shown = ShownTable {
            numeric: (0..labels.len()).map(|at| numeric.contains(&at)).collect(),
            beside: vec![false; labels.len()],
            labels,
            rows,
            legend: None,
            longest: None,
        };
        Sheet { caption: caption.into(), shown }.hoisted()
    }

    /// Limits the rows, and moves a column of origin whose cells are all equal into the caption.
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
            let addition = format!("; {}: {}", self.shown.labels[at], rows[0][at]);
            self.caption = self.caption.trim_end_matches('.').to_string() + &addition;
        }
        let kept: Vec<usize> = (0..self.shown.labels.len()).filter(|at| !gone.contains(at)).collect();
        Sheet { shown: self.shown.only(&kept), ..self }
    }

    /// Moves the column of origin to the front, under this heading; `short` shortens its names.
    pub(crate) fn with_device_first(mut self, heading: &str, short: &dyn Fn(&str) -> String) -> Sheet {
        let Some(at) = self.shown.labels.iter().position(|label| DEVICES.contains(&label.as_str())) else {
            return self;
        };
        let order: Vec<usize> =
            std::iter::once(at).chain((0..self.shown.labels.len()).filter(|column| *column != at)).collect();
        self.shown = self.shown.only(&order);
        self.shown.labels[0] = heading.into();
        self.shown.rows.iter_mut().for_each(|row| row[0] = short(&row[0]));
        self
    }

    /// The block of the table with all rows in sight, none if empty.
    pub(crate) fn full(self) -> Option<Block> {
        (!self.shown.rows.is_empty()).then_some(Block::Table(self))
    }

    /// The block of the table: folded if long, none if empty.
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
