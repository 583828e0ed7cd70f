//! A document as a LaTeX project: chapters, figures as PDF, a bibliography and a Makefile.

use super::{Block, Document, Figure, Source, citations, names};
use crate::{
    COMMIT, VERSION,
    report::{
        ShownTable,
        figure::{DrawingKind, WIDTHS},
        latex::{self as text, Pages, Typeset, typeset},
    },
};

/// A4 with margins of 1.8 cm, in points.
const PAGES: Pages = Pages { upright: 494, turned: 741 };
/// Greatest height of a figure, in points, which leaves room for its caption on a page.
const TALLEST: f64 = 540.0;
/// The packages of `main.tex`, for papers that take over its chapters.
const PACKAGES: &str = include_str!("paper/packages.tex");
/// How to compile the project.
const MAKEFILE: &str = include_str!("paper/Makefile");
/// The project in words.
const README: &str = include_str!("paper/README.md");

/// A file of the project.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PaperFile {
    /// Path in the project.
    pub(crate) path: String,
    /// Content.
    pub(crate) bytes: Vec<u8>,
}

/// Makes the files of the project; `main.tex` is its main file.
pub(crate) fn paper(document: &Document) -> Vec<PaperFile> {
    let file = |path: &str, text: String| PaperFile { path: path.into(), bytes: text.into_bytes() };
    let marked =
        |mark: &str, text: &str, end: &str| format!("{mark} Made by tcnum {VERSION}, commit {COMMIT}.{end}\n{text}");
    let (mut files, mut inputs, mut figures) = (Vec::new(), String::new(), Vec::new());
    for part in &document.parts {
        let mut chapter = Part { text: String::new(), figures: &mut figures, turned: false };
        chapter.text += &format!("\\section{{{}}}\\label{{sec:{}}}\n", text::escaped(part.heading), part.id);
        part.blocks.iter().for_each(|block| chapter.block(block));
        chapter.turn(false);
        files.push(file(&format!("parts/{}.tex", part.id), marked("%", &chapter.text, "")));
        inputs += &format!("\\input{{parts/{}}}\n\\clearpage\n", part.id);
    }
    for figure in figures {
        files.push(PaperFile {
            path: format!("figures/{}.pdf", figure.name),
            bytes: figure.drawing.scene(WIDTHS[1]).bytes(DrawingKind::Pdf),
        });
    }
    files.push(file("chapters.tex", marked("%", &inputs, "")));
    files.push(file("packages.tex", marked("%", PACKAGES, "")));
    files.push(file("sources.bib", marked("%", &citations::bibliography(), "")));
    files.push(file("Makefile", marked("#", MAKEFILE, "")));
    files.push(file("README.md", marked("<!--", README, " -->")));
    files.push(file("main.tex", marked("%", &main(document), "")));
    files
}

fn main(document: &Document) -> String {
    let (title, lead) = (text::escaped(&document.title), text::escaped(&document.lead));
    format!(
        "% Compile with: pdflatex main && bibtex main && pdflatex main && pdflatex main\n\
         \\documentclass[a4paper]{{article}}\n\
         \\input{{packages}}\n\
         \\title{{{title}: numeric behaviour of matrix instructions}}\n\
         \\author{{tcnum {VERSION} \\cite{{{}}}}}\n\
         \\date{{}}\n\
         \\begin{{document}}\n\
         \\maketitle\n\
         {lead}\n\
         \\tableofcontents\n\
         \\clearpage\n\
         \\input{{chapters}}\n\
         \\nocite{{*}}\n\
         \\bibliographystyle{{plain}}\n\
         \\bibliography{{sources}}\n\
         \\end{{document}}\n",
        citations::PROGRAM_KEY
    )
}

/// A chapter that is written block by block.
struct Part<'a, 'b> {
    text: String,
    figures: &'b mut Vec<&'a Figure>,
    /// True if the next text stands on a turned page.
    turned: bool,
}

impl<'a> Part<'a, '_> {
    fn block(&mut self, block: &'a Block) {
        match block {
            Block::Text(text) => self.upright(&format!("\n{}\n", words(text))),
            Block::Heading(text) => self.upright(&format!("\n\\subsection{{{}}}\n", words(text))),
            Block::Source(Source { text, key }) => {
                let cited = key.as_ref().map_or(String::new(), |key| format!(" \\cite{{{key}}}"));
                self.upright(&format!("\n{}{cited}\n", words(text)));
            }
            Block::List(items) => {
                let items: String = items.iter().map(|item| format!("  \\item {}\n", words(item))).collect();
                self.upright(&format!("\n\\begin{{itemize}}\n{items}\\end{{itemize}}\n"));
            }
            Block::Numbers(numbers) => {
                let item = |(number, what): &(String, String)| format!("  \\item {} {}\n", words(number), words(what));
                let items: String = numbers.iter().map(item).collect();
                self.upright(&format!("\n\\begin{{itemize}}\n{items}\\end{{itemize}}\n"));
            }
            Block::Table(sheet) => {
                table(&sheet.caption, &sheet.shown).into_iter().for_each(|typeset| self.table(typeset))
            }
            Block::Figure(figure) => {
                if !self.figures.iter().any(|known| known.name == figure.name) {
                    self.figures.push(figure);
                }
                // Figures have their printed size; only those taller than a page are reduced.
                let height = figure.drawing.scene(WIDTHS[1]).height;
                let reduced = if height > TALLEST { format!("[height={TALLEST}bp]") } else { String::new() };
                self.upright(&format!(
                    "\n\\begin{{figure}}[H]\n  \\centering\n  \\includegraphics{reduced}{{figures/{}}}\n  \\caption{{{}}}\n\\end{{figure}}\n",
                    figure.name,
                    words(&figure.caption)
                ));
            }
            Block::Folded(_, blocks) => blocks.iter().for_each(|block| self.block(block)),
        }
    }

    fn upright(&mut self, text: &str) {
        self.turn(false);
        self.text += text;
    }

    fn table(&mut self, table: Typeset) {
        // Short tables do not turn a page back and forth.
        self.turn(table.turned);
        self.text += &table.text;
    }

    /// Begins or ends turned pages.
    fn turn(&mut self, turned: bool) {
        match (self.turned, turned) {
            (false, true) => self.text += "\n\\begin{landscape}\n",
            (true, false) => self.text += "\n\\end{landscape}\n",
            _ => (),
        }
        self.turned = turned;
    }
}

/// Text of a paragraph, in which long names can break.
fn words(text: &str) -> String {
    text::broken(&text::escaped(text))
}

/// Sets a table with all of its rows; lists become one text, and columns without content are left out.
fn table(caption: &str, shown: &ShownTable) -> Vec<Typeset> {
    let filled = |at: &usize| shown.rows.iter().any(|row| !matches!(row[*at].as_str(), "" | "-"));
    let kept: Vec<usize> = (0..shown.labels.len()).filter(filled).collect();
    let shown = shown.clone().only(&kept);
    let cell = |cell: &String| match cell.contains('\n') {
        true => text::escaped(&names::listed(cell.split('\n'))),
        false => text::escaped(cell),
    };
    let rows = shown.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    typeset(caption, ShownTable { rows, ..shown }, PAGES, None)
}
