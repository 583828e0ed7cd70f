//! Differences of the generations' arithmetics: the reasons, each with its smallest input.

use maud::{Markup, html};

use super::{
    super::{Site, entry::Entry, page::table},
    arithmetic::anchor,
    generation_names,
};
use crate::{
    comparison::{Subject, operands},
    distinction::{DifferenceReason, Distinction, DistinctionVerdict},
    document::shown,
};

/// Makes the section.
pub(super) fn section(site: &Site, entry: &Entry) -> Markup {
    html! {
        p { "For each two arithmetics: the reasons, each with the smallest input that was found. Operands that are not named are zero." }
        @for difference in &entry.differences {
            @let names = difference.between.map(|at| generation_names(site, &entry.arithmetics[at]));
            h3 {
                a href={ "#" (anchor(difference.between[0])) } { (shown(&names[0])) }
                " and "
                a href={ "#" (anchor(difference.between[1])) } { (shown(&names[1])) }
            }
            @match &difference.comparison {
                Err(reason) => p { "Not compared: " (shown(reason)) },
                Ok(distinction) => (pair(site, entry, difference.between, distinction)),
            }
        }
    }
}

/// The comparison of two arithmetics.
fn pair(site: &Site, entry: &Entry, between: [usize; 2], distinction: &Distinction) -> Markup {
    let names = between.map(|at| site.generations[entry.arithmetics[at].generations[0]].name());
    match &distinction.verdict {
        DistinctionVerdict::Same(proof) => html! { p { "Equal for all operands: " (shown(proof)) "." } },
        DistinctionVerdict::NotFound => {
            html! { p { "None of " (distinction.tried) " inputs gives different results." } }
        }
        DistinctionVerdict::Differ => {
            let labels = ["reason", "input", names[0], names[1], "exact sum, rounded"];
            let caption = format!("Reasons why {} and {} differ", names[0], names[1]);
            table(
                &shown(&caption),
                &labels,
                html! { @for cause in &distinction.reasons { (reason(entry, names, cause)) } },
            )
        }
    }
}

fn reason(entry: &Entry, names: [&str; 2], reason: &DifferenceReason) -> Markup {
    let i = &entry.instruction;
    let value = |code: u64| format!("{} = {}", i.d.hex(code), i.d.decode(code).decimal());
    html! {
        tr {
            td.said { (shown(&reason.sentence(names))) }
            @match &reason.witness {
                None => td colspan="4" { "no input that was tried shows it alone" },
                Some(witness) => {
                    td { (operands(&Subject::Matrix(i), &witness.case)) }
                    td { (value(witness.d[0])) }
                    td { (value(witness.d[1])) }
                    td { (witness.exact.map_or("-".into(), value)) }
                },
            }
        }
    }
}
