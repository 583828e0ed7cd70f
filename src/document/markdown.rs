//! A document as Markdown: its tables, and the captions of its figures.

use super::{Block, Document, Source};
use crate::{COMMIT, VERSION, report::markdown as text};

/// Makes the text.
pub(crate) fn markdown(document: &Document) -> String {
    let mut page = format!(
        "# {}\n\n{}\n\nMade by tcnum {VERSION}, commit {COMMIT}.\n",
        text::escaped(&document.title),
        text::escaped(&document.lead)
    );
    for part in &document.parts {
        page += &format!("\n## {}\n", text::escaped(part.heading));
        part.blocks.iter().for_each(|block| self::block(block, &mut page));
    }
    page
}

fn block(block: &Block, page: &mut String) {
    match block {
        Block::Text(words) | Block::Source(Source { text: words, .. }) => {
            *page += &format!("\n{}\n", text::escaped(words));
        }
        Block::Heading(words) => *page += &format!("\n### {}\n", text::escaped(words)),
        Block::List(items) => {
            page.push('\n');
            items.iter().for_each(|item| *page += &format!("- {}\n", text::escaped(item)));
        }
        Block::Numbers(numbers) => {
            page.push('\n');
            for (number, what) in numbers {
                *page += &format!("- **{}** {}\n", text::escaped(number), text::escaped(what));
            }
        }
        Block::Table(sheet) => *page += &text::table(&sheet.caption, &sheet.shown),
        Block::Figure(figure) => *page += &format!("\nFigure: {}\n", text::escaped(&figure.caption)),
        Block::Folded(_, blocks) => blocks.iter().for_each(|block| self::block(block, page)),
    }
}
