//! A document as a LaTeX project: a main file, chapters, figures as PDF, and the bibliography.

use super::{Block, Document, Figure};
use crate::{
    COMMIT, VERSION,
    report::{
        ShownTable,
        figure::{DrawingKind, WIDTHS},
        latex as text,
    },
};

/// Bibliography of models and experiments.
const SOURCES: &str = include_str!("sources.bib");
/// Most rows of a table in a paper.
const MOST: usize = 60;
/// Greatest height of a figure, in points, which leaves room for its caption on a page.
const TALLEST: f64 = 540.0;
/// Most characters of a cell.
const LONGEST: usize = 220;

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
    let mut files = Vec::new();
    let mut inputs = String::new();
    let mut figures = Vec::new();
    for part in &document.parts {
        let mut words = format!(
            "% Made by tcnum {VERSION}, commit {COMMIT}.\n\\section{{{}}}\\label{{sec:{}}}\n",
            text::escaped(part.heading),
            part.id
        );
        part.blocks.iter().for_each(|block| self::block(block, &mut words, &mut figures));
        files.push(PaperFile { path: format!("parts/{}.tex", part.id), bytes: words.into_bytes() });
        inputs += &format!("\\input{{parts/{}}}\n\\clearpage\n", part.id);
    }
    for figure in figures {
        files.push(PaperFile {
            path: format!("figures/{}.pdf", figure.name),
            bytes: figure.drawing.scene(WIDTHS[1]).bytes(DrawingKind::Pdf),
        });
    }
    files.push(PaperFile { path: "sources.bib".into(), bytes: SOURCES.into() });
    files.push(PaperFile { path: "main.tex".into(), bytes: main(document, &inputs).into_bytes() });
    files
}

fn main(document: &Document, inputs: &str) -> String {
    let (title, lead) = (text::escaped(&document.title), text::escaped(&document.lead));
    format!(
        "% Made by tcnum {VERSION}, commit {COMMIT}. Compile with: pdflatex main && bibtex main && pdflatex main && pdflatex main\n\
         \\documentclass[a4paper]{{article}}\n\
         \\usepackage[utf8]{{inputenc}}\n\
         \\usepackage[margin=1.8cm]{{geometry}}\n\
         \\usepackage{{array,booktabs,longtable,graphicx}}\n\
         \\usepackage[hidelinks,hypertexnames=false]{{hyperref}}\n\
         \\setlength{{\\emergencystretch}}{{3em}}\n\
         \\makeatletter\\def\\fps@table{{htbp}}\\makeatother\n\
         \\setlength{{\\tabcolsep}}{{4pt}}\n\
         \\title{{{title}: numeric behaviour of its matrix instructions}}\n\
         \\author{{tcnum {VERSION}}}\n\
         \\date{{}}\n\
         \\begin{{document}}\n\
         \\maketitle\n\
         {lead}\n\
         \\tableofcontents\n\
         \\clearpage\n\
         {inputs}\
         \\nocite{{*}}\n\
         \\bibliographystyle{{plain}}\n\
         \\bibliography{{sources}}\n\
         \\end{{document}}\n"
    )
}

fn block<'a>(block: &'a Block, words: &mut String, figures: &mut Vec<&'a Figure>) {
    match block {
        Block::Text(own) => *words += &format!("\n{}\n", text::escaped(own)),
        Block::Numbers(numbers) => {
            *words += "\n\\begin{itemize}\n";
            for (number, what) in numbers {
                *words += &format!("  \\item {} {}\n", text::escaped(number), text::escaped(what));
            }
            *words += "\\end{itemize}\n";
        }
        Block::Table(sheet) => *words += &table(&sheet.caption, &sheet.shown),
        Block::Figure(figure) => {
            if !figures.iter().any(|known| known.name == figure.name) {
                figures.push(figure);
            }
            // Figures have their printed size; only those taller than a page are reduced.
            let height = figure.drawing.scene(WIDTHS[1]).height;
            let reduced = if height > TALLEST { format!("[height={TALLEST}bp]") } else { String::new() };
            *words += &format!(
                "\n\\begin{{figure}}[htbp]\n  \\centering\n  \\includegraphics{reduced}{{figures/{}}}\n  \\caption{{{}}}\n\\end{{figure}}\n",
                figure.name,
                text::escaped(&figure.caption)
            );
        }
        Block::Folded(_, blocks) => blocks.iter().for_each(|own| self::block(own, words, figures)),
    }
}

/// Makes a table of at most [`MOST`] rows, with lists cut to their first entry.
fn table(caption: &str, shown: &ShownTable) -> String {
    let count = shown.rows.len();
    let caption = match count > MOST {
        true => format!("{} (the first {MOST} of {count} rows)", caption.trim_end_matches('.')),
        false => caption.to_string(),
    };
    let cell = |cell: &String| {
        let short = match cell.split_once('\n') {
            Some((first, rest)) => format!("{first} and {} more", rest.split('\n').count()),
            None => cell.clone(),
        };
        let cut: String = short.chars().take(LONGEST).collect();
        text::broken(&text::escaped(&if cut.len() < short.len() { cut + "..." } else { short }))
    };
    let rows = shown.rows.iter().take(MOST).map(|row| row.iter().map(cell).collect()).collect();
    text::section(&caption, ShownTable { rows, ..shown.clone() })
}
