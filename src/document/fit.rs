//! The length of a paper: its longest tables are cut until it has its pages.

use super::{Block, Document, Sheet, latex};

/// Points of text on a page, less what breaks between pages leave empty.
const PAGE: f64 = 670.0;
/// Rows that a table keeps.
const LEAST: usize = 4;

/// A paper, and whether all of it fits.
pub(crate) struct Fitted {
    /// The paper.
    pub(crate) document: Document,
    /// True if no table could be cut further and the pages do not suffice.
    pub(crate) is_longer: bool,
}

/// Cuts the tables of a document, the highest first, then leaves out figures from the last on.
pub(super) fn fitted(mut document: Document, pages: usize) -> Fitted {
    let counts: Vec<usize> = tables(&mut document).map(|sheet| sheet.shown.rows.len()).collect();
    let room = PAGE * pages as f64;
    let mut is_longer = false;
    while latex::height(&document) > room {
        let highest = tables(&mut document)
            .filter(|sheet| sheet.shown.rows.len() > LEAST)
            .max_by(|one, other| latex::table_height(one).total_cmp(&latex::table_height(other)));
        if let Some(sheet) = highest {
            let kept = (sheet.shown.rows.len() * 4 / 5).max(LEAST);
            sheet.shown.rows.truncate(kept);
            continue;
        }
        let mut blocks = document.parts.iter_mut().rev();
        let figure = |block: &Block| matches!(block, Block::Figure(_));
        match blocks.find_map(|part| Some((part.blocks.iter().rposition(figure)?, part))) {
            Some((at, part)) => drop(part.blocks.remove(at)),
            None => {
                is_longer = true;
                break;
            }
        }
    }
    for (sheet, count) in tables(&mut document).zip(counts) {
        let kept = sheet.shown.rows.len();
        if kept < count {
            sheet.caption += &format!("; {kept} of {count} rows, the supplement has all");
        }
    }
    Fitted { document, is_longer }
}

/// The tables of a document.
fn tables(document: &mut Document) -> impl Iterator<Item = &mut Sheet> {
    let blocks = document.parts.iter_mut().flat_map(|part| &mut part.blocks);
    blocks.filter_map(|block| if let Block::Table(sheet) = block { Some(sheet) } else { None })
}
