//! The frame of a page: head, search, contents, sources and how to cite it.

use maud::{Markup, html};

use super::{Site, generation::Generation};
use crate::{
    COMMIT, VERSION,
    arithmetic::EvidenceKind,
    document::{contents, footer, frame, grid, marked, section, shown, year},
};

/// Content security policy: a browser loads only the style and the scripts of the site.
///
/// `file:` is a site on a disk.
const POLICY: &str = "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src data:; base-uri 'none'; \
                      form-action 'none'";

/// Name of the last section in links.
const SOURCE: &str = "source";
/// Heading of the last section.
const SOURCE_HEADING: &str = "Source and citation";

/// Rows from which on a table has a filter.
const FILTERED: usize = 40;

/// A page of the site.
pub(super) struct Page {
    /// Place in the site: `instruction/NAME.html`.
    pub(super) path: String,
    /// Heading and title.
    pub(super) title: String,
    /// The lead below the heading.
    pub(super) lead: Markup,
    /// The sections: name in links, heading, content.
    pub(super) sections: Vec<Section>,
    /// The evidence for the page, in a sentence.
    pub(super) rests_on: String,
    /// The commands that give the answers of the page again.
    pub(super) commands: Vec<String>,
}

/// A part of a page under a heading.
pub(super) struct Section {
    /// Name in links.
    pub(super) id: &'static str,
    /// Heading.
    pub(super) heading: &'static str,
    /// Content.
    pub(super) content: Markup,
}

impl Section {
    pub(super) fn new(id: &'static str, heading: &'static str, content: Markup) -> Section {
        Section { id, heading, content }
    }
}

impl Page {
    /// The page as HTML.
    pub(super) fn html(&self, site: &Site) -> String {
        let root = "../".repeat(self.path.matches('/').count());
        let is_index = root.is_empty();
        let head = html! {
            title { (shown(&self.title)) @if !is_index { " - arithmetic of matrix units" } }
            link rel="icon" href="data:,";
            link rel="stylesheet" href={ (root) "style.css" };
            script src={ (root) "script.js" } defer {}
        };
        let sections = self.sections.iter().map(|part| (part.id, part.heading));
        let body = html! {
                body data-root=(root) data-filter=(FILTERED) {
                    a.skip href="#main" { "Skip to the content" }
                    header {
                        div.bar {
                            a.home href={ (root) "index.html" } aria-current=[is_index.then_some("page")] { "tcnum atlas" }
                            div role="search" {
                                label.search {
                                    span { "Search" }
                                    input id="search" type="search" autocomplete="off" spellcheck="false"
                                        placeholder="instruction, format or GPU" aria-controls="found" disabled;
                                }
                                div id="found" aria-live="polite" hidden {}
                            }
                        }
                        h1 { (breakable(&self.title)) }
                        (self.lead)
                        @if let Some(words) = &site.interrupted { p.warning role="note" { (words) } }
                    }
                    (contents(sections.chain([(SOURCE, SOURCE_HEADING)])))
                    main id="main" {
                        @for part in &self.sections { (section(part.id, part.heading, &part.content)) }
                        (section(SOURCE, SOURCE_HEADING, &self.source(site)))
                    }
                    (footer(&short_commit()))
                }
        };
        frame(POLICY, &head, &body)
    }

    fn source(&self, site: &Site) -> Markup {
        html! {
            p { (shown(&self.rests_on)) }
            p { "Version " (VERSION) ", commit " code { (COMMIT) } ". These commands give the answers of this page again:" }
            pre.commands tabindex="0" {
                @for command in self.commands.iter().chain([&site.command]) { (shown(command)) "\n" }
            }
            p { "Cite this page with its version and commit (BibTeX):" }
            pre tabindex="0" { (self.bibtex()) }
        }
    }

    /// The entry of a bibliography.
    fn bibtex(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let key: String = self.path.trim_end_matches(".html").chars().map(plain).collect();
        let special = |c: char| if "{}\\%&#$_^~".contains(c) { format!("\\{c}") } else { c.to_string() };
        let title: String = shown(&self.title).chars().map(special).collect();
        format!(
            "@misc{{tcnum-atlas-{key},\n  author = {{{{The tcnum authors}}}},\n  title = {{{{{title}}}}},\n  \
             howpublished = {{The tcnum atlas of the arithmetic of matrix units, {path}}},\n  \
             note = {{tcnum {VERSION}, commit {commit}}},\n  year = {{{year}}},\n}}",
            path = self.path.chars().map(special).collect::<String>(),
            commit = short_commit(),
            year = year(),
        )
    }
}

/// The first digits of the commit, with its mark if sources differed.
fn short_commit() -> String {
    let digits: String = COMMIT.chars().take(12).collect();
    if COMMIT.ends_with("-dirty") { digits + "-dirty" } else { digits }
}

/// A name that may be broken after its dots.
fn breakable(name: &str) -> Markup {
    html! {
        @for (at, part) in name.split('.').enumerate() {
            @if at > 0 { "." wbr; }
            (shown(part))
        }
    }
}

/// A link to the page of a generation.
pub(super) fn generation_link(root: &str, generation: &Generation) -> Markup {
    html! { a href={ (root) "generation/" (generation.file) ".html" } { (shown(generation.title())) } }
}

/// A link to the page of a format.
pub(super) fn format_link(root: &str, name: &str) -> Markup {
    html! { a href={ (root) "format/" (name) ".html" } { (name) } }
}

/// A mark of the kind of evidence.
pub(super) fn evidence_mark(kind: EvidenceKind) -> Markup {
    marked(kind.mark())
}

/// A table in a region that scrolls.
pub(super) fn table(caption: &str, labels: &[&str], rows: Markup) -> Markup {
    grid(caption, &html! { @for label in labels { th scope="col" { (shown(label)) } } }, &rows)
}

/// A word, quoted for a shell if it needs that.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
