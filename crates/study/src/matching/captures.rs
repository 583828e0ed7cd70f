//! Captured products of a file, each recognised.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::{Recognised, Request, search};
use crate::{
    Error, Result,
    base::{interrupt, named::named, work},
    product::{Capture, Captures, ProductShape, kernel::KernelNames, search::Suspects},
};

/// Products that are searched at a time: each search takes up to a gigabyte.
const TOGETHER: usize = 4;

named! {
    /// Result of a search for the schedule of a captured product.
    pub enum Outcome {
        Decided = "decided": "one schedule gives D";
        Open = "open": "several schedules give D";
        Plain = "plain": "a sum without matrix instructions gives D";
        Scheme = "scheme": "a scheme of splitting gives D";
        Together = "two schedules": "two schedules together give D";
        NotFound = "not found": "no schedule that was tried gives D";
        Nothing = "decides nothing": "D has one value";
        Refused = "refused": "the product cannot be searched";
    }
}

crate::rows! {
    /// A captured product and how it was made.
    pub struct CaptureRow in "captures" {
        /// Name in the file.
        name: String => shown("product").essential(),
        /// The call.
        call: String => shown("call"),
        /// Rows of the whole product.
        m: usize => shown("m").essential(),
        /// Its columns.
        n: usize => shown("n").essential(),
        /// Its k.
        k: usize => shown("k").essential(),
        /// Elements of D in the file.
        elements: usize => shown("elements"),
        /// Format of A.
        a: String => shown("A"),
        /// Format of D.
        d: String => shown("D").essential(),
        /// Kernels that ran.
        kernels: Vec<String> => hidden(),
        /// Names of the kernels in words.
        says: Option<String> => hidden(),
        /// Result of the search.
        outcome: &'static str => shown("outcome").essential(),
        /// The most usual schedule that gives D, else the nearest.
        schedule: Option<String> => shown("schedule").essential(),
        /// The model of its arithmetic.
        model: Option<String> => shown("model").essential(),
        /// The schedule as a file.
        schedule_file: Option<String> => hidden(),
        /// Schedules that give D.
        schedules: usize => shown("schedules"),
        /// Aspects that D leaves open.
        open: Vec<String> => shown("open"),
        /// Elements that the nearest schedule does not give.
        differing: Option<usize> => shown("differ").if_filled(),
        /// Statement of a name that D denies, or why the product was refused.
        note: Option<String> => shown("note").if_filled(),
    }
}

impl CaptureRow {
    /// True if a schedule or a scheme gives every element of D.
    pub fn is_found(&self) -> bool {
        [Outcome::Decided, Outcome::Open, Outcome::Plain, Outcome::Scheme]
            .iter()
            .any(|outcome| outcome.name() == self.outcome)
    }
}

/// Recognises the products of a file; `rows` has those that are done, also after an error.
///
/// # Errors
/// A signal; a file that cannot be read. A product that cannot be searched is a row that says so.
pub fn captured(
    captures: &Captures,
    request: &Request,
    rows: &mut Vec<CaptureRow>,
    step: &(dyn Fn(&str) + Sync),
) -> Result<()> {
    let count = captures.names().len();
    let done = Mutex::new(BTreeMap::new());
    let recognise = |(at, name): (usize, &str)| {
        interrupt::check()?;
        let capture = captures.read(name)?;
        let kernels = KernelNames::of(&capture.kernels);
        let suspects = Suspects { kernels, ..request.suspects.clone() };
        let request = Request { suspects, ..request.clone() };
        let mut recognised = Recognised::default();
        let told = |what: &str| step(&format!("{name} ({} of {count}): {what}", at + 1));
        let refused = match search(&request, &capture.factors, &capture.d, &mut recognised, &told) {
            Ok(()) => None,
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        done.lock().unwrap_or_else(PoisonError::into_inner).insert(at, row(name, &capture, &recognised, refused));
        Ok(())
    };
    let next = Mutex::new(captures.names().enumerate());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let outcome = work::map(0..TOGETHER, |_| {
        while let Some(numbered) = take() {
            recognise(numbered)?;
        }
        Ok(())
    });
    rows.extend(done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values());
    outcome.map(drop)
}

fn row(name: &str, capture: &Capture, recognised: &Recognised, refused: Option<String>) -> CaptureRow {
    let Capture { factors, d, shape: ProductShape { m, n, k }, .. } = capture;
    let matches = &recognised.matches;
    let schedules = matches.confirmed.len() + matches.unchecked.len();
    let open: Vec<String> = matches
        .decisions
        .iter()
        .filter(|decision| decision.is_open())
        .map(|decision| decision.aspect.name().to_string())
        .collect();
    let plain = recognised.plain.confirmed.first().filter(|_| matches.confirmed.is_empty());
    let outcome = match recognised {
        _ if refused.is_some() => Outcome::Refused,
        Recognised { scheme: Some(_), .. } => Outcome::Scheme,
        Recognised { mixed: Some(_), .. } => Outcome::Together,
        _ if recognised.nothing.is_some() => Outcome::Nothing,
        _ if matches.confirmed.is_empty() && plain.is_some() => Outcome::Plain,
        _ if matches.confirmed.is_empty() => Outcome::NotFound,
        _ if open.is_empty() => Outcome::Decided,
        _ => Outcome::Open,
    };
    let of_scheme = recognised.scheme.as_ref().and_then(|scheme| Some((scheme.matches.confirmed.first()?, scheme.k)));
    let nearest = matches.nearest.as_ref().map(|(near, _)| near);
    let first = of_scheme.or_else(|| recognised.first().or(nearest).map(|candidate| (candidate, factors.k())));
    let in_scheme = |words: String| match &recognised.scheme {
        Some(scheme) => format!("{} in blocks of {}: {words}", scheme.scheme.name, scheme.block),
        None => words,
    };
    let contradictions: Vec<String> =
        recognised.contradictions.iter().map(|contradiction| contradiction.sentence.clone()).collect();
    CaptureRow {
        name: name.into(),
        call: capture.call.clone(),
        m: *m,
        n: *n,
        k: *k,
        elements: d.codes.len(),
        a: factors.a.format.to_string(),
        d: d.format.to_string(),
        kernels: capture.kernels.clone(),
        says: recognised.kernels.is_known().then(|| recognised.kernels.sentence()),
        outcome: outcome.name(),
        schedule: first
            .map(|(candidate, k)| in_scheme(candidate.schedule.sentence(k)))
            .or_else(|| plain.map(|sum| sum.sentence(factors.k()))),
        model: first.map(|(candidate, _)| candidate.arithmetic.model.clone()),
        schedule_file: first.filter(|_| recognised.scheme.is_none()).map(|(candidate, _)| candidate.schedule.to_toml()),
        schedules,
        open,
        differing: matches
            .nearest
            .as_ref()
            .filter(|_| !recognised.is_found())
            .map(|(_, differences)| differences.differing),
        note: refused.or_else(|| (!contradictions.is_empty()).then(|| contradictions.join("; "))),
    }
}

/// The products of a file in a sentence, by what D says.
pub fn captures_answer(rows: &[CaptureRow]) -> String {
    let count = |outcome: &Outcome| rows.iter().filter(|row| row.outcome == outcome.name()).count();
    let told = |outcome: &Outcome| {
        let count = count(outcome);
        (count > 0).then(|| format!("{count} {}", outcome.name()))
    };
    let all: Vec<String> = Outcome::ALL.iter().filter_map(told).collect();
    format!("{} products: {}.", rows.len(), all.join(", "))
}
