//! Recognition of a matrix product: the schedule or scheme of splitting that gives D.
//!
//! ```
//! use tcnum_engine::{device::ModelDevice, product::{Factors, Matrix, Product, Schedule}, isa};
//! use tcnum_study::matching::{self, Recognised, Request};
//! # fn main() -> tcnum_engine::Result<()> {
//! let schedule = Schedule { promote: Some(128), ..Schedule::new(isa::find("wgmma.m64n8k32.f32.e4m3.e4m3")?)? };
//! let e4m3 = schedule.instruction.a;
//! let codes: Vec<u64> = (0..8 * 512u64).map(|at| at * 37 % 120).collect();
//! let a = Matrix::of_values(8, 512, e4m3, &codes);
//! let factors = Factors::new(a.clone(), a.transposed());
//! let d = Product::of(&mut ModelDevice::open("hopper")?, &schedule, &factors)?.d;
//! let mut recognised = Recognised::default();
//! matching::search(&Request::new(vec!["hopper".into()]), &factors, &d, &mut recognised, &|_| ())?;
//! assert_eq!(recognised.first().unwrap().schedule.promote, Some(128));
//! # Ok(())
//! # }
//! ```

mod captures;
mod scales;
mod scheme;
mod tables;
mod verdict;

use std::path::Path;

pub use captures::{CaptureRow, Outcome, captured, captures_answer};
pub use scheme::SchemeMatch;
pub use tables::{DecisionRow, MatchRow, PlainRow, report};
pub use verdict::ProductVerdict;

use crate::{
    Error, Result,
    arithmetic::Model,
    product::{
        Factors, Matrix,
        kernel::{Contradiction, KernelNames},
        search::{
            self, MatchCandidate, Matches, Mixed, PlainMatches, SuspectedArithmetic, Suspects,
            apart::{Apart, apart},
        },
    },
};

/// A request to recognise a product.
#[derive(Debug, Clone)]
pub struct Request {
    /// Models, instructions and factors; kernels whose names narrow the search.
    pub suspects: Suspects,
    /// True to look for a product that separates the schedules which give D.
    pub separates: bool,
}

/// How a product was made.
#[derive(Debug, Default)]
pub struct Recognised {
    /// The schedules that give D in every bit, or the nearest.
    pub matches: Matches,
    /// The sums without matrix instructions that give D.
    pub plain: PlainMatches,
    /// A scheme of splitting that gives D, where no schedule does.
    pub scheme: Option<SchemeMatch>,
    /// Two schedules that together give every element, where none does.
    pub mixed: Option<Mixed>,
    /// The verdict about a D that nothing gives.
    pub verdict: Option<ProductVerdict>,
    /// A product that separates the schedules, if it was asked for.
    pub apart: Option<Apart>,
    /// Why D decides nothing, if so; then nothing was searched.
    pub nothing: Option<String>,
    /// The names of kernels that narrowed the search.
    pub kernels: KernelNames,
    /// Statements of the names of kernels that the schedule which fits them best contradicts.
    pub contradictions: Vec<Contradiction>,
}

impl Request {
    /// A request for all instructions of some models.
    pub fn new(models: Vec<String>) -> Request {
        let (instructions, factors) = (Vec::new(), (1.0, 1.0));
        let suspects = Suspects { models, instructions, factors, turn: None, kernels: KernelNames::default() };
        Request { suspects, separates: false }
    }
}

impl Recognised {
    /// True if something gives every element of D.
    pub fn is_found(&self) -> bool {
        !self.matches.confirmed.is_empty()
            || !self.plain.confirmed.is_empty()
            || self.scheme.is_some()
            || self.mixed.is_some()
    }

    /// Leaves out a nearest schedule that gives no more of D than schedules of any order do.
    fn drop_weak_nearest(&mut self, elements: usize) {
        let Matches { nearest, sensitive, .. } = &mut self.matches;
        let (ranked, sensitive) = sensitive.unwrap_or((1, 1));
        // Elements in which the order shows: any order gives the others.
        let decisive = elements as f64 * sensitive as f64 / ranked.max(1) as f64;
        let is_weak = nearest.as_ref().is_some_and(|(_, differences)| 2.0 * differences.differing as f64 > decisive);
        if is_weak || !self.plain.confirmed.is_empty() {
            *nearest = None;
        }
    }

    /// The most usual schedule that gives D, if one does.
    pub fn first(&self) -> Option<&MatchCandidate> {
        self.matches.confirmed.first()
    }

    /// The note about the product of `--apart` in the file at `path`.
    pub fn apart_note(&self, path: &Path) -> String {
        let (file, schedules) = (path.display(), self.matches.confirmed.len());
        match &self.apart {
            None if schedules < 2 => format!("{file} was not written: there are no two schedules to separate."),
            None => {
                format!("{file} was not written: the {schedules} schedules give the same D for every product tried.")
            }
            Some(apart) => {
                let groups = match apart.count() == schedules {
                    true => format!("each of the {schedules} schedules gives another D"),
                    false => format!("the {schedules} schedules give {} different D", apart.count()),
                };
                format!("For A and B in {file}, {groups}. Multiply {file}:a and {file}:b as before, and match that D.")
            }
        }
    }
}

/// The fewest contradictions of the names with a schedule and an instruction of its arithmetic.
fn contradictions(kernels: &KernelNames, schedules: &[MatchCandidate], k: usize) -> Result<Vec<Contradiction>> {
    let mut fewest: Option<Vec<Contradiction>> = None;
    let named = schedules.iter().filter(|_| kernels.is_known());
    let spelled = named.flat_map(|candidate| candidate.spellings().map(|schedule| (&*candidate.arithmetic, schedule)));
    for (arithmetic, schedule) in spelled {
        for SuspectedArithmetic { model, instruction, .. } in std::iter::once(arithmetic).chain(&arithmetic.alike) {
            let model = Model::load(model)?;
            let all: Vec<Contradiction> =
                kernels.of_model(&model).chain(kernels.of_match(instruction, schedule, k)).collect();
            if fewest.as_ref().is_none_or(|known| all.len() < known.len()) {
                fewest = Some(all);
            }
        }
    }
    Ok(fewest.unwrap_or_default())
}

/// Finds how `d` was made: a schedule, a plain sum, a scheme of splitting, or two schedules.
///
/// A D of one value decides nothing, and is searched only for a product that separates schedules. Names of kernels narrow the search. If nothing that they allow gives D, the search goes on without them.
/// `recognised` has the results so far, also where an error ends the search.
///
/// # Errors
/// Matrices that do not fit, formats that no instruction of the models multiplies, a signal.
pub fn search(
    request: &Request,
    factors: &Factors,
    d: &Matrix,
    recognised: &mut Recognised,
    step: &dyn Fn(&str),
) -> Result<()> {
    let Request { suspects, separates } = request;
    let factors = &*scales::fitted(factors)?;
    let free = Suspects { kernels: KernelNames::default(), ..suspects.clone() };
    recognised.kernels = suspects.kernels.clone();
    if !separates {
        factors.fit()?;
        recognised.nothing = search::decides_nothing(d);
    }
    if recognised.nothing.is_some() {
        return Ok(());
    }
    search::find_plain(suspects, factors, d, &mut recognised.plain, step)?;
    if suspects.kernels.is_known() {
        match search::find(suspects, factors, d, &mut recognised.matches, step) {
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            // No instruction that the names allow multiplies these formats.
            Err(_) => recognised.matches = Matches::default(),
            Ok(()) => (),
        }
    }
    if recognised.matches.confirmed.is_empty() {
        let mut matches = Matches::default();
        let mut outcome = search::find(&free, factors, d, &mut matches, step);
        // Scales that no instruction takes, or not so, multiply the sums.
        if matches.confirmed.is_empty()
            && !matches!(outcome, Err(Error::Interrupted { .. }))
            && let Some(singles) = scales::singles(factors)?
        {
            let mut others = Matches::default();
            let other_outcome = search::find(&free, &singles, d, &mut others, step);
            if other_outcome.is_ok() || outcome.is_err() {
                (matches, outcome) = (others, other_outcome);
            }
        }
        recognised.matches = matches;
        outcome?;
    }
    recognised.contradictions = contradictions(&recognised.kernels, &recognised.matches.confirmed, factors.k())?;
    if !recognised.is_found() {
        recognised.scheme = scheme::find(suspects, factors, d, step)?;
    }
    if !recognised.is_found() {
        recognised.mixed = search::mixed(&free, factors, d, &recognised.matches, step)?;
    }
    if !recognised.is_found() {
        step("judging D by its bound");
        let near = recognised.matches.nearest.iter().map(|(near, _)| near.arithmetic.model.as_str());
        recognised.verdict = verdict::verdict(near.chain(suspects.models.iter().map(String::as_str)), factors, d)?;
    }
    if recognised.mixed.is_none() {
        recognised.drop_weak_nearest(d.codes.len());
    }
    if *separates && recognised.matches.confirmed.len() > 1 {
        step("looking for a product that separates them");
        recognised.apart = apart(&recognised.matches.confirmed, factors, d.format)?;
    }
    Ok(())
}
