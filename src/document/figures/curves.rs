//! Arrangement of curves over panels: equal ones become one line, and names say what differs.

use std::collections::HashMap;

use crate::{
    base::distinct::distinct,
    document::rows::together,
    report::{
        figure::{Axis, ChartLine, EQUAL, LEGEND, LOOKS, Panel, Point},
        grouped,
    },
};

/// Most names of one line; of more, the first ones are in its name, and all in a note.
const NAMES: usize = 6;
const FIRST: usize = 3;
/// Panels, for each one of divided groups, from which groups are divided instead.
const FAR: usize = 2;

/// A line and its words, one for each key of the figure.
///
/// The first keys become panels before the others do.
pub(super) struct Curve {
    pub(super) keys: Vec<String>,
    pub(super) line: ChartLine,
}

/// Curves in panels.
pub(super) struct Arranged {
    pub(super) panels: Vec<Panel>,
    /// The words that all curves share.
    pub(super) fixed: Vec<String>,
    /// All names of lines with more names than a legend has room for.
    pub(super) notes: Vec<String>,
}

/// A horizontal axis of binades, and the lines of histograms on it.
pub(super) struct Binades {
    /// The lowest binade, which holds what has no error.
    lowest: f64,
    /// The lowest other one.
    least: f64,
    most: f64,
}

impl Binades {
    /// The binades of histograms, which have the same lowest one.
    pub(super) fn of(all: &[Vec<f64>]) -> Binades {
        let lowest = all.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let others = || all.iter().flatten().copied().filter(|binade| *binade > lowest);
        let most = others().fold(lowest + 1.0, f64::max);
        Binades { lowest, least: others().fold(most, f64::min), most }
    }

    /// The axis; the lowest binade stands apart.
    pub(super) fn axis(&self, title: &str) -> Axis {
        let others = (self.least as i64..=self.most as i64).map(|exponent| exponent.to_string());
        let names = [format!("<= {}", self.lowest), String::new()].into_iter().chain(others).collect();
        Axis::of_names(title, names)
    }

    /// The shares of a histogram that counts `what`.
    pub(super) fn line(&self, exponents: &[f64], counts: &[f64], what: &str) -> ChartLine {
        let all: f64 = counts.iter().sum();
        let filled = exponents.iter().zip(counts).filter(|(_, count)| **count > 0.0);
        let point = |(exponent, count): (&f64, &f64)| {
            let at = if *exponent == self.lowest { 0.0 } else { exponent - self.least + 2.0 };
            let hover = format!("2^{exponent}: {} of {} {what}", grouped(*count as i64), grouped(all as i64));
            Point::new(at, count / all, hover)
        };
        ChartLine { gap: 1.0, ..ChartLine::new("", filled.map(point).collect()) }
    }
}

/// Lines of one panel, each with its words, and the words of its title.
struct Group {
    titles: Vec<Vec<String>>,
    lines: Vec<(Vec<Vec<String>>, ChartLine)>,
}

/// Spreads curves over as few panels as give each at most [`LEGEND`] lines.
pub(super) fn arranged(curves: Vec<Curve>) -> Arranged {
    let count = curves.first().map_or(0, |curve| curve.keys.len());
    let (varying, constant): (Vec<usize>, Vec<usize>) =
        (0..count).partition(|&key| curves.iter().any(|curve| curve.keys[key] != curves[0].keys[key]));
    let fixed = constant.iter().map(|&key| curves[0].keys[key].clone()).filter(|word| !word.is_empty()).collect();
    let mut groups = best(&curves, &varying);
    let mut notes = Vec::new();
    let mut styles = HashMap::new();
    let mut panels: Vec<Panel> = Vec::new();
    for group in equal_joined(&mut groups) {
        let title = joined(&group.titles, &mut notes);
        let parts = group.lines.len().div_ceil(LEGEND).max(1);
        for (part, lines) in group.lines.chunks(group.lines.len().div_ceil(parts).max(1)).enumerate() {
            let part = if parts > 1 { format!("{} of {parts}", part + 1) } else { String::new() };
            let mut looks = Vec::new();
            let named = lines.iter().map(|(words, line)| {
                let next = styles.len();
                let mut style = *styles.entry(words[0].clone()).or_insert(next);
                while looks.contains(&(style % LOOKS)) {
                    style += 1;
                }
                looks.push(style % LOOKS);
                ChartLine { name: joined(words, &mut notes), style, ..line.clone() }
            });
            let words = [title.clone(), part].into_iter().filter(|word| !word.is_empty());
            panels.push(Panel { lines: named.collect(), title: words.collect::<Vec<_>>().join(", ") });
        }
    }
    Arranged { panels, fixed, notes }
}

/// The groups by the fewest keys that leave at most [`LEGEND`] lines to each.
///
/// Groups have two lines on the average. If that takes far more panels than to divide the groups by the first key, these are divided.
fn best(curves: &[Curve], varying: &[usize]) -> Vec<Group> {
    let mut choices: Vec<Vec<usize>> = (0..1usize << varying.len())
        .map(|mask| varying.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, key)| *key).collect())
        .collect();
    choices.sort_by_key(|keys| (keys.len(), keys.clone()));
    let divided = by(curves, varying, if varying.len() > 1 { &varying[..1] } else { &[] });
    let most = FAR * divided.iter().map(|group| group.lines.len().div_ceil(LEGEND)).sum::<usize>();
    for facets in choices {
        let groups = by(curves, varying, &facets);
        let lines: usize = groups.iter().map(|group| group.lines.len()).sum();
        let few = facets.is_empty() || (lines >= 2 * groups.len() && groups.len() <= most);
        if few && groups.iter().all(|group| group.lines.len() <= LEGEND) {
            return groups;
        }
    }
    divided
}

/// The curves by these keys; equal ones of a group become one line.
fn by(curves: &[Curve], varying: &[usize], facets: &[usize]) -> Vec<Group> {
    let words = |curve: &Curve, keys: &[usize]| keys.iter().map(|key| curve.keys[*key].clone()).collect::<Vec<_>>();
    let rest: Vec<usize> = varying.iter().filter(|key| !facets.contains(key)).copied().collect();
    let groups = together(curves.iter().map(|curve| (words(curve, facets), curve)));
    let group = |(title, curves): (Vec<String>, Vec<&Curve>)| {
        let keyed = curves.iter().enumerate().map(|(at, curve)| (numbers(&curve.line, at), *curve));
        let lines = together(keyed)
            .into_iter()
            .map(|(_, alike)| (distinct(alike.iter().map(|curve| words(curve, &rest))), alike[0].line.clone()));
        Group { titles: vec![title], lines: lines.collect() }
    };
    groups.into_iter().map(group).collect()
}

/// Groups with the same lines become one, with all titles.
fn equal_joined(groups: &mut Vec<Group>) -> Vec<Group> {
    let keyed = groups.drain(..).enumerate().map(|(at, group)| {
        let lines: Vec<_> = group.lines.iter().map(|(names, line)| (names.clone(), numbers(line, at))).collect();
        (lines, group)
    });
    let first = |(_, mut alike): (_, Vec<Group>)| {
        let titles = alike.iter().flat_map(|group| group.titles.clone()).collect();
        Group { titles, ..alike.swap_remove(0) }
    };
    together(keyed).into_iter().map(first).collect()
}

/// The bits of all numbers of a line; `alone` keeps lines without points apart.
fn numbers(line: &ChartLine, alone: usize) -> (Vec<u64>, bool, Option<usize>) {
    let points = line.points.iter().flat_map(|point| {
        let reach = point.reach.map_or([0, 0], |ends| ends.map(f64::to_bits));
        [point.x.to_bits(), point.y.to_bits(), reach[0], reach[1]]
    });
    let bands = line.band.iter().flat_map(|band| [band.least.to_bits(), band.most.to_bits()]);
    (points.chain(bands).collect(), line.crossed, line.points.is_empty().then_some(alone))
}

/// One name for what has several: `ada = hopper, low`.
fn joined(names: &[Vec<String>], notes: &mut Vec<String>) -> String {
    let keys = names.first().map_or(0, Vec::len);
    let parts: Vec<Vec<String>> = (0..keys).map(|key| distinct(names.iter().map(|name| name[key].clone()))).collect();
    // Every combination of the words of each key is there, so that they can be said key by key.
    let is_complete = parts.iter().map(Vec::len).product::<usize>() == names.len();
    match is_complete {
        true => phrase(&parts.iter().map(|words| several(words, notes)).collect::<Vec<_>>()),
        false => several(&names.iter().map(|name| phrase(name)).collect::<Vec<_>>(), notes),
    }
}

/// The names of equal things; a note has them if they are many.
fn several(names: &[String], notes: &mut Vec<String>) -> String {
    if names.len() <= NAMES {
        return names.join(EQUAL);
    }
    let short = format!("{}{EQUAL}{} more", names[..FIRST].join(EQUAL), names.len() - FIRST);
    let note = format!("{short}: {}.", names[FIRST..].join("; "));
    if !notes.contains(&note) {
        notes.push(note);
    }
    short
}

/// Words in one phrase, without those that another one says.
fn phrase(words: &[String]) -> String {
    let said = |word: &String| words.iter().any(|other| other != word && other.split('.').any(|part| part == word));
    words.iter().filter(|word| !word.is_empty() && !said(word)).cloned().collect::<Vec<_>>().join(", ")
}
