//! A document as one page of HTML that loads nothing and is complete without scripts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Block, Chapter, Document, Figure, Sheet, Source};
use crate::{
    COMMIT, VERSION,
    arithmetic::EvidenceKind,
    report::figure::{WIDTHS, inline},
};

/// The style of pages.
pub(crate) const STYLE: &str = include_str!("page.css");
/// The script of pages: colours, sorting and filtering of tables.
pub(crate) const SCRIPT: &str = include_str!("page.js");
/// Content security policy: a browser loads nothing beyond the page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// Longest text of a cell, in characters; longer ones are folded.
const LONG: usize = 280;
/// Characters of a folded text that are seen.
const SEEN: usize = 60;

/// Makes what the head of every page begins with; a browser loads what `policy` allows.
pub(crate) fn meta(policy: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta http-equiv="Content-Security-Policy" content=(policy);
        meta name="color-scheme" content="light dark";
        meta name="generator" content={ "tcnum " (VERSION) ", commit " (COMMIT) };
    }
}

/// Makes the page.
pub(crate) fn html(document: &Document) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (meta(POLICY))
                title { (shown(&document.title)) ": numeric behaviour" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (shown(&document.title)) }
                    p.lead { (shown(&document.lead)) }
                }
                nav aria-label="Contents" {
                    ol { @for part in &document.parts { li { a href={ "#" (part.id) } { (part.heading) } } } }
                }
                main { @for part in &document.parts { (self::part(part)) } }
                footer { p { "Made by tcnum " (VERSION) ", commit " (COMMIT) "." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn part(part: &Chapter) -> Markup {
    html! {
        section id=(part.id) aria-labelledby={ "h-" (part.id) } {
            h2 id={ "h-" (part.id) } { (part.heading) }
            @for block in &part.blocks { (self::block(block)) }
        }
    }
}

/// Makes a block of a page.
pub(crate) fn block(block: &Block) -> Markup {
    match block {
        Block::Text(text) | Block::Source(Source { text, .. }) => html! { p { (shown(text)) } },
        Block::Heading(text) => html! { h3 { (shown(text)) } },
        Block::List(items) => html! { ul { @for item in items { li { (shown(item)) } } } },
        Block::Numbers(numbers) => html! {
            dl.numbers { @for (number, what) in numbers { div { dt { (what) } dd { (shown(number)) } } } }
        },
        Block::Table(sheet) => table(sheet),
        Block::Figure(figure) => self::figure(figure),
        Block::Folded(summary, blocks) => html! {
            details.part { summary { (shown(summary)) } @for block in blocks { (self::block(block)) } }
        },
    }
}

fn figure(figure: &Figure) -> Markup {
    let drawing = PreEscaped(inline(&figure.drawing.scene(WIDTHS[1])));
    html! {
        figure id={ "figure-" (figure.name) } {
            div.drawing tabindex="0" role="region" aria-label=(shown(figure.drawing.title())) { (drawing) }
            figcaption { (shown(&figure.caption)) }
        }
    }
}

fn table(sheet: &Sheet) -> Markup {
    let own = &sheet.shown;
    html! {
        div.table tabindex="0" role="region" aria-label=(shown(&sheet.caption)) {
            table {
                caption { (marked(&sheet.caption)) }
                thead { tr {
                    @for (label, numeric) in own.labels.iter().zip(&own.numeric) {
                        @if *numeric { th.n scope="col" { (shown(label)) } } @else { th scope="col" { (shown(label)) } }
                    }
                } }
                tbody { @for row in &own.rows { tr {
                    @for (cell, numeric) in row.iter().zip(&own.numeric) {
                        @if *numeric { td.n { (self::cell(cell)) } } @else { td { (self::cell(cell)) } }
                    }
                } } }
            }
        }
    }
}

/// Makes a cell: the first entry of a list or the beginning of a long text, with the rest folded.
fn cell(text: &str) -> Markup {
    if let Some((first, rest)) = text.split_once('\n') {
        let more = rest.split('\n').count();
        return html! { details { summary { (marked(first)) " + " (more) } (marked(&rest.replace('\n', ", "))) } };
    }
    match text.char_indices().nth(LONG) {
        None => marked(text),
        Some(_) => {
            let seen: String = text.chars().take(SEEN).collect();
            html! { details { summary { (shown(&seen)) "..." } (marked(text)) } }
        }
    }
}

/// Makes a text in which each mark of evidence has its meaning.
pub(crate) fn marked(text: &str) -> Markup {
    let first = EvidenceKind::ALL.into_iter().filter_map(|kind| Some((text.find(kind.mark())?, kind))).min();
    match first {
        None => html! { (shown(text)) },
        Some((at, kind)) => html! {
            (shown(&text[..at]))
            abbr class={ "evidence " (kind.name()) } title=(kind.name()) { (kind.mark()) }
            (marked(&text[at + kind.mark().len()..]))
        },
    }
}

/// Removes characters that HTML lacks or that change the direction of text.
pub(crate) fn shown(text: &str) -> String {
    crate::base::visible::visible(text).into_owned()
}
