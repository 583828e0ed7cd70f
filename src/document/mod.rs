//! Documents made of results: a page, a paper or a text, with the same chapters.
//!
//! [`Results`] gathers the tables of several results. A [`Study`](article::Study) has what their chapters share: [`compose`] makes a
//! [`Document`] of all chapters, [`article`] a paper of some. `html`, `latex` and `markdown` write documents. [`figures`] draws the tables of kept results and of the command that just ran.

mod arithmetic;
mod article;
mod bounds;
mod citations;
mod claims;
mod commands;
mod compose;
mod evidence;
mod figures;
mod file;
mod fit;
mod generations;
mod html;
mod latex;
mod literature;
mod markdown;
mod measured;
mod names;
mod neighbours;
mod proof;
mod repeated;
mod results;
mod rows;
mod setup;
mod sheets;
mod words;
mod work;

pub(crate) use arithmetic::formats_of;
pub(crate) use article::{Subject, article};
pub(crate) use citations::{entry, year};
pub(crate) use claims::{Claim, claims};
pub(crate) use commands::appendix_work;
pub(crate) use compose::compose;
pub(crate) use figures::{Figure, figures, slug};
pub(crate) use file::{Form, write_with_supplement};
pub(crate) use fit::Fitted;
pub(crate) use generations::{emulations, is_native};
pub(crate) use html::{SCRIPT, STYLE, block, contents, footer, frame, grid, html, marked, section, shown};
use latex::{PaperFile, paper, paper_with_supplement};
use markdown::markdown;
pub(crate) use measured::{Measured, measured};
pub(crate) use results::{Results, chip};
pub(crate) use sheets::{Sheet, sheet};
pub(crate) use work::{Place, Work, quoted};

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
