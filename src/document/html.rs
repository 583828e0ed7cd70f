//! A document as one page of HTML that loads nothing and is complete without scripts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Block, Chapter, Document, Figure, Sheet, Source};
use crate::{
    COMMIT, VERSION,
    arithmetic::EvidenceKind,
    report::{
        ShownTable,
        figure::{WIDTHS, inline},
    },
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
fn meta(policy: &str) -> Markup {
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
    let head = html! {
        title { (shown(&document.title)) ": numeric behaviour" }
        style { (PreEscaped(STYLE)) }
    };
    let blocks = |part: &Chapter| html! { @for block in &part.blocks { (self::block(block)) } };
    let body = html! {
        body {
            header {
                h1 { (shown(&document.title)) }
                p.lead { (shown(&document.lead)) }
            }
            (contents(document.parts.iter().map(|part| (part.id, part.heading))))
            main { @for part in &document.parts { (section(part.id, part.heading, &blocks(part))) } }
            (footer(COMMIT))
            script { (PreEscaped(SCRIPT)) }
        }
    };
    frame(POLICY, &head, &body)
}

/// Makes a page; a browser loads what `policy` allows.
pub(crate) fn frame(policy: &str, head: &Markup, body: &Markup) -> String {
    html! { (DOCTYPE) html lang="en" { head { (meta(policy)) (head) } (body) } }.into_string()
}

/// Makes links to sections, by name and heading.
pub(crate) fn contents<'a>(sections: impl Iterator<Item = (&'a str, &'a str)>) -> Markup {
    html! { nav aria-label="Contents" { ol { @for (id, heading) in sections { li { a href={ "#" (id) } { (heading) } } } } } }
}

/// Makes a part of a page under a heading, with a name in links.
pub(crate) fn section(id: &str, heading: &str, content: &Markup) -> Markup {
    html! { section id=(id) aria-labelledby={ "h-" (id) } { h2 id={ "h-" (id) } { (heading) } (content) } }
}

/// Makes the foot of a page.
pub(crate) fn footer(commit: &str) -> Markup {
    html! { footer { p { "Made by tcnum " (VERSION) ", commit " (commit) "." } } }
}

/// Makes a table in a region that scrolls.
pub(crate) fn grid(caption: &str, heads: &Markup, rows: &Markup) -> Markup {
    html! {
        div.table tabindex="0" role="region" aria-label=(shown(caption)) {
            table {
                caption { (marked(caption)) }
                thead { tr { (heads) } }
                tbody { (rows) }
            }
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
    let ShownTable { labels, numeric, rows, .. } = &sheet.shown;
    let heads = html! {
        @for (label, numeric) in labels.iter().zip(numeric) {
            @if *numeric { th.n scope="col" { (shown(label)) } } @else { th scope="col" { (shown(label)) } }
        }
    };
    let rows = html! {
        @for row in rows { tr {
            @for (cell, numeric) in row.iter().zip(numeric) {
                @if *numeric { td.n { (self::cell(cell)) } } @else { td { (self::cell(cell)) } }
            }
        } }
    };
    grid(&sheet.caption, &heads, &rows)
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
            abbr title=(kind.name()) { (kind.mark()) }
            (marked(&text[at + kind.mark().len()..]))
        },
    }
}

/// Removes characters that HTML lacks or that change the direction of text.
pub(crate) fn shown(text: &str) -> String {
    crate::base::visible::visible(text).into_owned()
}
