//! The pages of published claims, and the addresses that stay.

use maud::{Markup, html};

use super::page::{Page, Section, table};
use crate::document::{Claim, entry, shown};

/// The anchors of each kind of page. Addresses are cited, so names are added, never taken away.
pub(super) const ANCHORS: [(&str, &str, &[&str]); 5] = [
    (
        "first page",
        "index.html",
        &["answers", "generations", "formats", "instructions", "claims", "reading", "addresses", "source"],
    ),
    ("generation", "generation/NAME.html", &["instructions", "rules", "source"]),
    ("format", "format/NAME.html", &["instructions", "format", "others", "source"]),
    (
        "instruction",
        "instruction/NAME.html",
        &[
            "arithmetic",
            "picture",
            "features",
            "differences",
            "calculator",
            "rule",
            "evidence",
            "where",
            "cost",
            "related",
            "source",
        ],
    ),
    ("claim", "claim/NAME.html", &["claim", "here", "source"]),
];

/// The page of a claim.
pub(super) fn page(claim: &Claim) -> Page {
    let said = html! {
        p { (shown(&claim.claim)) }
        @if let Some(entry) = entry(&claim.cite) { pre tabindex="0" { (shown(entry)) } }
    };
    let here = html! {
        p { strong { (shown(&claim.agreement)) } @if !claim.here.is_empty() { ": " (shown(&claim.here)) } "." }
        @if !claim.reason.is_empty() { p { (shown(&claim.reason)) } }
    };
    Page {
        path: format!("claim/{}.html", claim.id),
        title: claim.source.clone(),
        lead: html! { p.lead { (shown(&claim.claim)) } },
        sections: vec![
            Section::new("claim", "Claim of the source", said),
            Section::new("here", "Result of this program", here),
        ],
        rests_on: "The command below repeats the claim on a model, or on a device of your own.".into(),
        commands: vec![claim.command.clone()],
    }
}

/// The list of claims.
pub(super) fn list(claims: &[Claim]) -> Markup {
    let rows = html! {
        @for claim in claims {
            tr {
                th scope="row" { a href={ "claim/" (claim.id) ".html" } { (shown(&claim.source)) } }
                td.said { (shown(&claim.claim)) }
                td { (shown(&claim.agreement)) }
            }
        }
    };
    table("Published claims, and the agreement of this program", &["source", "claim", "agreement"], rows)
}

/// The table of addresses that stay.
pub(super) fn addresses() -> Markup {
    let rows = html! {
        @for (kind, address, anchors) in ANCHORS {
            tr {
                th scope="row" { (kind) }
                td { code { (address) } }
                td { @for anchor in anchors { code { "#" (anchor) } " " } }
            }
        }
    };
    html! {
        p { "Link to these addresses: later versions keep them. NAME is the name that commands take. The arithmetics of an instruction are "
            code { "#arithmetic-1" } ", " code { "#arithmetic-2" } " and so on." }
        (table("Addresses and anchors by kind of page", &["page", "address", "anchors"], rows))
    }
}
