//! What a search for schedules found, in sentences.

use super::{super::places, Matches, Mixed};

/// What two schedules give together, in a sentence.
pub fn together(mixed: &Mixed, k: usize, elements: usize) -> String {
    let Mixed { first, second, others, .. } = mixed;
    format!(
        "Two schedules together give every element: {} of {elements} {}; the {} others, of rows {} and columns {}, {}.",
        elements - others.differing,
        first.schedule.sentence(k),
        others.differing,
        places(&others.rows),
        places(&others.columns),
        second.schedule.sentence(k)
    )
}

/// What was found, in sentences.
pub fn remarks(found: &Matches, k: usize, elements: usize) -> Vec<String> {
    let Matches { tried, arithmetics, found, unchecked, nearest } = found;
    let arithmetics = if *arithmetics == 1 { "1 arithmetic".into() } else { format!("{arithmetics} arithmetics") };
    let tried = format!("{tried} schedules of {arithmetics} were tried");
    let mut notes = Vec::new();
    match (&found[..], nearest) {
        ([first, others @ ..], _) => {
            let sentence = first.schedule.sentence(k);
            let model = &first.arithmetic.model;
            let more = match others.len() {
                0 => "no other that was tried gives the same".to_string(),
                1 => "1 other gives the same D, and nothing in D tells them apart".to_string(),
                count => format!("{count} others give the same D, and nothing in D tells them apart"),
            };
            notes.push(format!("D is, in every bit, {sentence}, with the arithmetic of {model}; {more}. {tried}."));
        }
        ([], Some((near, differences))) => notes.push(format!(
            "No schedule gives D; {tried}. The nearest is {}, with the arithmetic of {}: it gives {} of {elements} elements.",
            near.schedule.sentence(k),
            near.arithmetic.model,
            elements - differences.differing
        )),
        ([], None) => notes.push(format!("No schedule gives D; {tried}.")),
    }
    if *unchecked > 0 {
        notes.push(format!(
            "{unchecked} more agree on the elements that all were judged on, and were not computed in full."
        ));
    }
    notes
}
