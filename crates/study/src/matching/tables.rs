//! Tables of recognised products.

use super::Recognised;
use crate::{
    product::{
        Factors, Matrix, PlainSum, Schedule,
        kernel::Contradiction,
        search::{self, Decision, Judged, MatchCandidate, Matches, Mixed, PlainMatches, apart::Apart},
    },
    report::{Report, Table, Verdict},
};

crate::rows! {
    /// A schedule that gives D in every bit, the simplest first; without one, the nearest.
    pub struct MatchRow in "matches" {
        /// Its place.
        place: usize => shown("#").essential(),
        /// True if it gives D in every bit.
        exact: bool => shown("in every bit").essential(),
        /// The model of its arithmetic.
        model: String => shown("model").essential(),
        /// The instruction.
        instruction: String => hidden(),
        /// Other instructions with the same arithmetic, each with its model.
        alike: Vec<String> => hidden(),
        /// The schedule in a sentence.
        schedule: String => shown("schedule").essential(),
        /// The place of the schedule whose sum this one spells in another way: no D tells them apart.
        same_sum: Option<usize> => shown("same sum as").if_filled().essential(),
        /// The schedule as a file.
        schedule_file: String => hidden(),
        /// Computed elements that equal D.
        equal: usize => shown("equal"),
        /// Computed elements that differ from D.
        differing: usize => shown("differ"),
        /// Group of schedules that give the same D for the product of --apart.
        group: Option<usize> => shown("apart: group").if_filled(),
    }

    /// A sum without matrix instructions that gives D in every bit, the most usual first.
    pub struct PlainRow in "plain_sums" {
        /// Its place.
        place: usize => shown("#").essential(),
        /// The sum in a sentence.
        sum: String => shown("sum").essential(),
        /// Rounding of the products.
        products: &'static str => hidden(),
        /// The format of products and sums.
        register: &'static str => hidden(),
        /// Accumulators that pieces of k go to in turn.
        accumulators: usize => hidden(),
        /// k of a block, if k is cut into blocks.
        block: Option<usize> => hidden(),
    }

    /// An aspect of the schedule, and what D decides of it.
    pub struct DecisionRow in "schedule_decisions" {
        /// The aspect.
        aspect: &'static str => shown("aspect").essential(),
        /// True if one value gives D.
        decided: bool => shown("decided").essential(),
        /// True if the values are spellings of the same sums: no D decides the aspect.
        spelling: bool => hidden(),
        /// Number of values that give D.
        count: usize => shown("values").essential(),
        /// The most usual value.
        usual: String => shown("most usual").essential(),
        /// All values, the most usual first.
        values: Vec<String> => hidden(),
    }
}

/// A row for each schedule that gives D, or for the nearest ones.
fn matches(matches: &Matches, apart: Option<&Apart>, k: usize, elements: usize) -> Vec<MatchRow> {
    let row = |place: usize, candidate: &MatchCandidate, differing: usize| MatchRow {
        group: apart.and_then(|apart| apart.groups.get(place).copied()),
        ..matched(place, candidate, k, [elements - differing, differing])
    };
    let nearest = matches.nearest.iter().map(|(candidate, differences)| row(0, candidate, differences.differing));
    let mut rows: Vec<MatchRow> = Vec::new();
    for (at, candidate) in matches.confirmed.iter().enumerate() {
        let first = rows.len() + 1;
        let spelled = |(other, schedule): (usize, &Schedule)| MatchRow {
            place: first + other,
            same_sum: (other > 0).then_some(first),
            schedule: schedule.sentence(k),
            schedule_file: schedule.to_toml(),
            ..row(at, candidate, 0)
        };
        rows.extend(candidate.spellings().enumerate().map(spelled));
    }
    rows.extend(nearest);
    if !rows.is_empty() {
        return rows;
    }
    let judged = |(place, judged): (usize, &Judged)| MatchRow {
        exact: false,
        ..matched(place, &judged.candidate, k, [judged.elements - judged.differing, judged.differing])
    };
    matches.judged.iter().enumerate().map(judged).collect()
}

/// A row for each of two schedules that together give every element.
fn mixed(mixed: &Mixed, k: usize, elements: usize) -> Vec<MatchRow> {
    let (first, second) = (mixed.others.differing, elements - mixed.by_second);
    vec![
        matched(0, &mixed.first, k, [elements - first, first]),
        matched(1, &mixed.second, k, [elements - second, second]),
    ]
}

/// The row of a schedule, with the numbers of equal and differing elements.
fn matched(place: usize, candidate: &MatchCandidate, k: usize, [equal, differing]: [usize; 2]) -> MatchRow {
    let alike = &candidate.arithmetic.alike;
    MatchRow {
        place: place + 1,
        exact: differing == 0,
        model: candidate.arithmetic.model.clone(),
        instruction: candidate.schedule.instruction.name.clone(),
        alike: alike.iter().map(|arithmetic| format!("{} ({})", arithmetic.instruction, arithmetic.model)).collect(),
        schedule: candidate.schedule.sentence(k),
        same_sum: None,
        schedule_file: candidate.schedule.to_toml(),
        equal,
        differing,
        group: None,
    }
}

/// Puts what was found into a report: answer, verdict, notes and tables. `file` names D.
pub fn report(recognised: &Recognised, factors: &Factors, d: &Matrix, file: String, report: &mut Report) {
    let Recognised {
        matches: schedules,
        plain,
        scheme,
        mixed: together,
        verdict,
        apart,
        kernels,
        contradictions,
        nothing,
    } = recognised;
    let (k, elements) = (factors.k(), d.codes.len());
    let is_plain = !plain.confirmed.is_empty();
    report.holds = !schedules.confirmed.is_empty() || is_plain || scheme.is_some();
    report.verdict = Verdict::Unmatched;
    if kernels.is_known() {
        report.notes.push(format!("Kernels: {}.", kernels.sentence().trim_end_matches('.')));
    }
    report.notes.extend(contradictions.iter().map(Contradiction::note));
    report.answer = match (together, scheme) {
        (Some(mixed), _) => Some(search::together(mixed, k, elements)),
        (_, Some(scheme)) => {
            let answer = search::answer(&scheme.matches, scheme.k, elements).unwrap_or_default();
            Some(format!("{} {answer}", scheme.sentence()))
        }
        _ if is_plain && schedules.confirmed.is_empty() => search::plain_answer(plain, k),
        _ => search::answer(schedules, k, elements),
    };
    if let (Some(answer), Some(verdict)) = (&mut report.answer, verdict) {
        *answer += &format!(" {}", verdict.sentence());
    }
    if nothing.is_none() {
        report.notes.extend(search::remarks(schedules, plain));
    }
    if !schedules.confirmed.is_empty() {
        let also = search::plain_answer(plain, k).map(|sums| format!("D does not decide the kind of its sum. {sums}"));
        report.notes.extend(also);
    }
    if let Some(why) = nothing {
        report.answer = Some(format!("D decides nothing: {why}."));
        return;
    }
    if let Some(together) = together {
        let rows = mixed(together, k, elements);
        report.tables.push(Table::of("Schedules that together give every element", rows));
        return;
    }
    let (schedules, k) = scheme.as_ref().map_or((schedules, k), |scheme| (&scheme.matches, scheme.k));
    let title = match (!schedules.confirmed.is_empty(), &schedules.judged[..]) {
        (true, _) => "Schedules that give D in every bit".to_string(),
        (false, []) => "Nearest schedule".into(),
        (false, [first, ..]) => format!("Nearest schedules on {} of {elements} elements", first.elements),
    };
    let decided = if schedules.confirmed.is_empty() { &plain.decisions } else { &schedules.decisions };
    report.tables.extend(Table::of("Decisions of D", decisions(decided)).filled());
    report.tables.extend(Table::of(title, matches(schedules, apart.as_ref(), k, elements)).filled());
    report.tables.extend(Table::of("Sums that give D in every bit", plain_sums(plain, k)).filled());
    if let Some((_, differences)) = &schedules.nearest {
        report.tables.push(Table::of("Differences of the nearest schedule", [differences.row(file, d.format)]));
    }
}

/// A row for each sum without matrix instructions that gives D.
fn plain_sums(plain: &PlainMatches, k: usize) -> Vec<PlainRow> {
    let row = |(place, sum): (usize, &PlainSum)| PlainRow {
        place: place + 1,
        sum: sum.sentence(k),
        products: sum.products.name(),
        register: sum.register.name,
        accumulators: sum.lanes.count,
        block: sum.block,
    };
    plain.confirmed.iter().enumerate().map(row).collect()
}

/// The rows of what D decides.
fn decisions(all: &[Decision]) -> Vec<DecisionRow> {
    let row = |decision: &Decision| DecisionRow {
        aspect: decision.aspect.name(),
        decided: decision.is_decided(),
        spelling: decision.is_spelling(),
        count: decision.values.len(),
        usual: decision.values[0].clone(),
        values: decision.values.clone(),
    };
    all.iter().map(row).collect()
}
