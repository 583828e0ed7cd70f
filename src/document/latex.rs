//! A document as a LaTeX project: chapters, figures as PDF, a bibliography and a Makefile.

use super::{Block, Document, Figure, Sheet, Source, citations, names};
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

/// The pages of a paper, whose tables are never turned.
const UPRIGHT: Pages = Pages { upright: PAGES.upright, turned: PAGES.upright };
/// Heights in points: a line, a heading, the title, a cited source, the room around a figure.
const LINE: f64 = 12.0;
const HEADING: f64 = 32.0;
const TITLE: f64 = 130.0;
const CITED: f64 = 30.0;
const AROUND: f64 = 30.0;

/// Figures share pages with text, so that none stands alone on a page.
const FLOATS: &str =
    "\\renewcommand{\\floatpagefraction}{0.9}\\renewcommand{\\topfraction}{0.9}\\renewcommand{\\textfraction}{0.05}\n";

/// A document of a project.
struct Main {
    /// Name of its main file, without its ending.
    name: &'static str,
    /// Beginning of its title.
    kind: &'static str,
    /// Name of the file with its chapters, and the beginning of the names of its chapters.
    chapters: &'static str,
    part: &'static str,
    pages: Pages,
    /// True for all results, with contents and all sources; false for a paper.
    is_complete: bool,
}

/// The appendix of a project of its own.
const APPENDIX: Main = Main { name: "main", kind: "", chapters: "chapters", part: "", pages: PAGES, is_complete: true };
/// The appendix as the supplement of a paper, and the paper.
const SUPPLEMENT: Main = Main { name: "supplement", kind: "Supplement. ", ..APPENDIX };
const PAPER: Main =
    Main { name: "main", kind: "", chapters: "paper", part: "paper-", pages: UPRIGHT, is_complete: false };

/// Makes the files of the project; `main.tex` is its main file.
pub(crate) fn paper(document: &Document) -> Vec<PaperFile> {
    project(&[(&APPENDIX, document)])
}

/// Makes the files of a paper, `main.tex`, and of its supplement, `supplement.tex`.
pub(crate) fn paper_with_supplement(paper: &Document, supplement: &Document) -> Vec<PaperFile> {
    project(&[(&SUPPLEMENT, supplement), (&PAPER, paper)])
}

fn project(documents: &[(&Main, &Document)]) -> Vec<PaperFile> {
    let file = |path: &str, text: String| PaperFile { path: path.into(), bytes: text.into_bytes() };
    let marked =
        |mark: &str, text: &str, end: &str| format!("{mark} Made by tcnum {VERSION}, commit {COMMIT}.{end}\n{text}");
    let (mut files, mut figures, mut mains) = (Vec::new(), Vec::new(), Vec::new());
    for (main, document) in documents {
        let mut inputs = String::new();
        for part in &document.parts {
            let mut chapter = Part { text: String::new(), figures: &mut figures, turned: false, main };
            chapter.text += &format!("\\section{{{}}}\\label{{sec:{}}}\n", text::escaped(part.heading), part.id);
            part.blocks.iter().for_each(|block| chapter.block(block));
            chapter.turn(false);
            let name = format!("parts/{}{}", main.part, part.id);
            files.push(file(&format!("{name}.tex"), marked("%", &chapter.text, "")));
            inputs += &format!("\\input{{{name}}}\n{}", if main.is_complete { "\\clearpage\n" } else { "" });
        }
        files.push(file(&format!("{}.tex", main.chapters), marked("%", &inputs, "")));
        mains.push(file(&format!("{}.tex", main.name), marked("%", &main.text(document), "")));
    }
    for figure in figures {
        files.push(PaperFile {
            path: format!("figures/{}.pdf", figure.name),
            bytes: figure.drawing.scene(WIDTHS[1]).bytes(DrawingKind::Pdf),
        });
    }
    files.push(file("packages.tex", marked("%", PACKAGES, "")));
    files.push(file("sources.bib", marked("%", &citations::bibliography(), "")));
    files.push(file("Makefile", marked("#", MAKEFILE, "")));
    files.push(file("README.md", marked("<!--", README, " -->")));
    files.extend(mains);
    files
}

impl Main {
    fn text(&self, document: &Document) -> String {
        let (title, lead) = (text::escaped(&document.title), text::escaped(&document.lead));
        let (begin, sources) = match self.is_complete {
            true => (format!("{lead}\n\\tableofcontents\n\\clearpage\n"), "\\nocite{*}\n"),
            false => (format!("{FLOATS}\\begin{{abstract}}\n{lead}\n\\end{{abstract}}\n"), ""),
        };
        format!(
            "% Compile with: pdflatex {name} && bibtex {name} && pdflatex {name} && pdflatex {name}\n\
             \\documentclass[a4paper]{{article}}\n\
             \\input{{packages}}\n\
             \\title{{{kind}{title}: numeric behaviour of matrix instructions}}\n\
             \\author{{tcnum {VERSION} \\cite{{{key}}}}}\n\
             \\date{{}}\n\
             \\begin{{document}}\n\
             \\maketitle\n\
             {begin}\
             \\input{{{chapters}}}\n\
             {sources}\
             \\bibliographystyle{{plain}}\n\
             \\bibliography{{sources}}\n\
             \\end{{document}}\n",
            name = self.name,
            kind = self.kind,
            chapters = self.chapters,
            key = citations::PROGRAM_KEY
        )
    }
}

/// Estimated height of a paper, in points.
pub(super) fn height(document: &Document) -> f64 {
    let blocks = document.parts.iter().flat_map(|part| &part.blocks);
    let headings = (1 + document.parts.len()) as f64 * HEADING;
    TITLE + lines(&document.lead) + CITED + headings + blocks.map(block_height).sum::<f64>()
}

/// Estimated height of a table of a paper, in points.
pub(super) fn table_height(sheet: &Sheet) -> f64 {
    table(&sheet.caption, &sheet.shown, UPRIGHT).iter().map(|part| part.height).sum()
}

/// Height of a paragraph; letters of 10 pt are a quarter wider than those of tables.
fn lines(words: &str) -> f64 {
    (text::points(&text::escaped(words)) as f64 * 1.25 / UPRIGHT.upright as f64).ceil() * LINE
}

fn block_height(block: &Block) -> f64 {
    match block {
        Block::Text(text) => lines(text),
        Block::Source(Source { text, key }) => {
            lines(text) + CITED * key.iter().flat_map(|key| key.split(',')).count() as f64
        }
        Block::Heading(_) => HEADING,
        Block::List(items) => items.iter().map(|item| lines(item) + LINE / 2.0).sum::<f64>() + AROUND,
        Block::Numbers(numbers) => numbers.len() as f64 * LINE * 1.5 + AROUND,
        Block::Table(sheet) => table_height(sheet),
        Block::Figure(figure) => figure.drawing.scene(WIDTHS[1]).height.min(TALLEST) + lines(&figure.caption) + AROUND,
        Block::Folded(_, blocks) => blocks.iter().map(block_height).sum(),
    }
}

/// A chapter that is written block by block.
struct Part<'a, 'b> {
    text: String,
    figures: &'b mut Vec<&'a Figure>,
    /// True if the next text stands on a turned page.
    turned: bool,
    main: &'b Main,
}

impl<'a> Part<'a, '_> {
    fn block(&mut self, block: &'a Block) {
        match block {
            Block::Text(text) => self.upright(&format!("\n{}\n", words(text))),
            Block::Heading(text) => self.upright(&format!("\n\\subsection{{{}}}\n", words(text))),
            Block::Source(Source { text, key }) => {
                let cited = key.as_ref().map_or(String::new(), |key| format!(" \\cite{{{key}}}"));
                self.upright(&format!("\n{}{cited}.\n", words(text.trim_end_matches('.'))));
            }
            Block::List(items) => self.list(items.iter().map(|item| words(item))),
            Block::Numbers(numbers) => {
                self.list(numbers.iter().map(|(number, what)| format!("{} {}", words(number), words(what))));
            }
            Block::Table(sheet) => {
                table(&sheet.caption, &sheet.shown, self.main.pages).into_iter().for_each(|typeset| self.table(typeset))
            }
            Block::Figure(figure) => {
                if !self.figures.iter().any(|known| known.name == figure.name) {
                    self.figures.push(figure);
                }
                // Figures have their printed size; only those taller than a page are reduced.
                let height = figure.drawing.scene(WIDTHS[1]).height;
                let reduced = if height > TALLEST { format!("[height={TALLEST}bp]") } else { String::new() };
                // Text of a paper flows around its figures.
                let place = if self.main.is_complete { "H" } else { "tbp" };
                self.upright(&format!(
                    "\n\\begin{{figure}}[{place}]\n  \\centering\n  \\includegraphics{reduced}{{figures/{}}}\n  \\caption{{{}}}\n\\end{{figure}}\n",
                    figure.name,
                    words(&figure.caption)
                ));
            }
            Block::Folded(_, blocks) => blocks.iter().for_each(|block| self.block(block)),
        }
    }

    fn list(&mut self, items: impl Iterator<Item = String>) {
        let items: String = items.map(|item| format!("  \\item {item}\n")).collect();
        self.upright(&format!("\n\\begin{{itemize}}\n{items}\\end{{itemize}}\n"));
    }

    fn upright(&mut self, text: &str) {
        self.turn(false);
        self.text += text;
    }

    fn table(&mut self, table: Typeset) {
        // Short tables do not turn a page back and forth.
        self.turn(table.turned && self.main.is_complete);
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
fn table(caption: &str, shown: &ShownTable, pages: Pages) -> Vec<Typeset> {
    let filled = |at: &usize| shown.rows.iter().any(|row| !matches!(row[*at].as_str(), "" | "-"));
    let kept: Vec<usize> = (0..shown.labels.len()).filter(filled).collect();
    let shown = shown.clone().only(&kept);
    let cell = |cell: &String| match cell.contains('\n') {
        true => text::escaped(&names::listed(cell.split('\n'))),
        false => text::escaped(cell),
    };
    let rows = shown.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    typeset(caption, ShownTable { rows, ..shown }, pages, None)
}
