//! Results of a search for schedules, in sentences.

use super::{super::places, MatchCandidate, Matches, Mixed};

/// Two schedules that together give D, in a sentence.
pub fn together(mixed: &Mixed, k: usize, elements: usize) -> String {
    let Mixed { first, second, others, .. } = mixed;
    format!(
        "Two schedules together give every element: {} of {elements} {}; the remaining {}, in rows {} and columns {}, {}.",
        elements - others.differing,
        first.schedule.sentence(k),
        others.differing,
        places(&others.rows),
        places(&others.columns),
        second.schedule.sentence(k)
    )
}

/// The schedules that give D, in a sentence; `None` if nothing was judged.
pub fn answer(found: &Matches, k: usize, elements: usize) -> Option<String> {
    let named =
        |own: &MatchCandidate| format!("{}, with the arithmetic of {}", own.schedule.sentence(k), own.arithmetic.model);
    let Matches { tried, found, unchecked, nearest, judged, .. } = found;
    Some(match (&found[..], nearest, judged.first()) {
        ([one], _, _) if *unchecked == 0 => {
            format!("One schedule gives D in every bit: {}.", named(one))
        }
        ([first, ..], _, _) => {
            let least = if *unchecked > 0 { "At least " } else { "" };
            let count = found.len();
            let (count, give) =
                if count == 1 { ("1 schedule".into(), "gives") } else { (format!("{count} schedules"), "give") };
            format!("{least}{count} {give} D in every bit; the simplest is {}.", named(first))
        }
        ([], Some((near, differences)), _) => format!(
            "None of the {tried} schedules gives D; the nearest gives {} of {elements} elements: {}.",
            elements - differences.differing,
            named(near)
        ),
        ([], None, Some(near)) => format!(
            "No schedule is found yet among {tried}; the nearest so far gives {} of {} judged elements: {}.",
            near.elements - near.differing,
            near.elements,
            named(&near.candidate)
        ),
        ([], None, None) => return None,
    })
}

/// The extent of the search, in sentences.
pub fn remarks(found: &Matches) -> Vec<String> {
    let Matches { tried, arithmetics, unchecked, .. } = found;
    let arithmetics = if *arithmetics == 1 { "1 arithmetic".into() } else { format!("{arithmetics} arithmetics") };
    let mut notes = vec![format!("{tried} schedules of {arithmetics} were tried.")];
    if *unchecked > 0 {
        notes.push(format!("{unchecked} more schedules agree on the judged elements, and were not computed in full."));
    }
    notes
}
