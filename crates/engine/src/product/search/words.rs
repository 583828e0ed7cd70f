//! Results of a search for schedules, in sentences.

use super::{
    super::{Schedule, places},
    Decision, MatchCandidate, Matches, Mixed, PlainMatches,
};
use crate::base::{named::Named, sentence};

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

/// Most values of an open aspect that a sentence names.
const NAMED: usize = 3;

/// The schedules that give D, and what D decides, in sentences; `None` if nothing was judged.
pub fn answer(matches: &Matches, k: usize, elements: usize) -> Option<String> {
    let named = |candidate: &MatchCandidate| {
        let MatchCandidate { arithmetic, schedule, same } = candidate;
        let first = schedule.aspects(k);
        let own = |other: &Schedule| {
            let words = other.aspects(k).into_iter().filter(|words| !words.usual && !first.contains(words));
            words.map(|words| words.words).collect::<Vec<_>>().join(", ")
        };
        let more = same.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!("; or in {more} more spellings") };
        let same: Vec<String> = same.iter().take(NAMED).map(own).collect();
        let same =
            if same.is_empty() { String::new() } else { format!("; or, the same sum, {}{more}", same.join("; or ")) };
        format!("{}, with the arithmetic of {}{same}", schedule.sentence(k), arithmetic.model)
    };
    let Matches { tried, confirmed, unchecked, nearest, judged, decisions, .. } = matches;
    Some(match (&confirmed[..], nearest, judged.first()) {
        ([one], _, _) if unchecked.is_empty() => {
            format!("One schedule gives D in every bit: {}.", named(one))
        }
        ([first, ..], _, _) => {
            let least = if unchecked.is_empty() { "" } else { "At least " };
            let count = confirmed.len();
            let (count, give) =
                if count == 1 { ("1 schedule".into(), "gives") } else { (format!("{count} schedules"), "give") };
            format!("{least}{count} {give} D in every bit. {} The most usual is {}.", decided(decisions), named(first))
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
        ([], None, None) if *tried > 0 => format!("None of the {tried} schedules gives D."),
        ([], None, None) => return None,
    })
}

/// The sums without matrix instructions that give D, in sentences; `None` if none does.
pub fn plain_answer(matches: &PlainMatches, k: usize) -> Option<String> {
    let PlainMatches { confirmed, unchecked, decisions, .. } = matches;
    let first = confirmed.first()?.sentence(k);
    Some(match (confirmed.len(), unchecked.is_empty()) {
        (1, true) => format!("One sum without matrix instructions gives D in every bit: {first}."),
        (count, all) => format!(
            "{}{count} sums without matrix instructions give D in every bit. {} The most usual: {first}.",
            if all { "" } else { "At least " },
            decided(decisions)
        ),
    })
}

/// Decided and open aspects in sentences.
fn decided(decisions: &[Decision]) -> String {
    let closed: Vec<&Decision> = decisions.iter().filter(|decision| decision.is_decided()).collect();
    let open: Vec<&Decision> = decisions.iter().filter(|decision| decision.is_open()).collect();
    let spelled: Vec<&Decision> = decisions.iter().filter(|decision| decision.is_spelling()).collect();
    let values = |decision: &Decision| match decision.values.len() {
        count if count > NAMED => format!("{} ({count} values)", decision.aspect.meaning()),
        _ => format!("{} ({})", decision.aspect.meaning(), decision.values.join("; ")),
    };
    let listed = |decisions: &[&Decision], of: &dyn Fn(&Decision) -> String| {
        sentence::listed(&decisions.iter().map(|decision| of(decision)).collect::<Vec<_>>())
    };
    let decided = match (&closed[..], &open[..]) {
        ([], []) => String::new(),
        ([], _) => format!("D is too small to decide {}.", listed(&open, &values)),
        (_, []) => format!("D decides: {}.", listed(&closed, &|decision| decision.values[0].clone())),
        _ => format!(
            "D decides: {}. It is too small to decide {}.",
            listed(&closed, &|decision| decision.values[0].clone()),
            listed(&open, &values)
        ),
    };
    match &spelled[..] {
        [] => decided,
        _ => {
            let aspects = listed(&spelled, &|decision| decision.aspect.meaning().into());
            format!("{decided} No D decides {aspects}: schedules that differ in them have the same sum.")
        }
    }
}

/// The extent of the search, and how much D can decide, in sentences.
pub fn remarks(matches: &Matches, plain: &PlainMatches) -> Vec<String> {
    let Matches { tried, arithmetics, unchecked, sensitive, .. } = matches;
    let arithmetics = if *arithmetics == 1 { "1 arithmetic".into() } else { format!("{arithmetics} arithmetics") };
    let sums = match plain.tried {
        0 => String::new(),
        sums => format!(", and {sums} sums without matrix instructions,"),
    };
    let mut notes = vec![format!("{tried} schedules of {arithmetics}{sums} were tried.")];
    if let Some((elements, sensitive)) = sensitive.filter(|(elements, sensitive)| sensitive < elements) {
        notes.push(format!(
            "The order of a sum can show in about {sensitive} of {elements} elements: D is rounded more coarsely than its sums. D in \
             f32 decides more; so do more elements, and the operands of ‹apart›."
        ));
    }
    if !unchecked.is_empty() {
        let more = unchecked.len();
        notes.push(format!("{more} more schedules agree on the judged elements, and were not computed in full."));
    }
    notes
}
