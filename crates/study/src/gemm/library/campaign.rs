//! Products of a library, each compared in every bit with the schedule that its algorithm implies.

use super::{
    AskedProduct,
    tables::{LibraryProductRow, library_product},
};
use crate::{
    Error, Result,
    base::{digest::fnv1a, interrupt, named::named},
    device::{Attributes, ChosenAlgorithm, Library},
    inputs::random,
    isa::MatrixShape,
    product::{
        Differences, Factors, KOrder, LibrarySchedules, Matrix, ModelReplay, Prediction, Replay, Sample, Schedule,
        Values, draw,
        kernel::KernelNames,
        search::{self, Matches, Suspects, in_formats},
    },
};

/// Failures in a row that end a campaign.
pub const MOST_FAILURES: usize = 3;
/// Rows and columns of every product that the model replays on the processor.
const CHECKED: MatrixShape = MatrixShape { rows: 8, columns: 16 };
/// Rows and columns that are compared where no GPU replays every element.
const SAMPLED: MatrixShape = MatrixShape { rows: 32, columns: 64 };
/// Rows and columns on which schedules are searched.
const SEARCHED: MatrixShape = MatrixShape { rows: 24, columns: 24 };
/// Terms of all elements up to which the processor replays every element.
const FEW_TERMS: usize = 1 << 22;
/// Schedules found on a sample that are computed in full.
const MOST_FOUND: usize = 8;

named! {
    /// Outcome of a product of a library.
    pub enum ProductOutcome {
        Predicted = "predicted": "the predicted schedule gives every bit";
        Found = "found": "a schedule found by a search gives every bit";
        Unexplained = "unexplained": "no schedule that was tried gives every bit";
        Refused = "refused": "the library has no algorithm for it";
        Failed = "failed": "the device failed";
    }
}

/// Agreement of a replay with D.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayAgreement {
    /// Elements that were compared.
    pub elements: usize,
    /// Elements that are equal in every bit.
    pub equal: usize,
}

impl ReplayAgreement {
    fn of(differences: &Differences) -> ReplayAgreement {
        ReplayAgreement { elements: differences.elements, equal: differences.elements - differences.differing }
    }

    /// True if all are equal.
    pub fn is_whole(self) -> bool {
        self.elements == self.equal
    }
}

/// A product of a library with its explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedProduct {
    /// The product that was asked for.
    pub asked: AskedProduct,
    /// The outcome.
    pub outcome: ProductOutcome,
    /// The algorithm, and the bytes of its scratch memory.
    pub attributes: Option<(Attributes, usize)>,
    /// The schedule that the attributes predict.
    pub prediction: Option<Prediction>,
    /// The prediction compared with D.
    pub agreement: ReplayAgreement,
    /// The first difference from the prediction: row, column, and the codes of prediction and D.
    pub first: Option<(usize, usize, [u64; 2])>,
    /// The prediction on the processor, compared with some elements.
    pub checked: ReplayAgreement,
    /// Checked elements that change with the order of k; 0: the product cannot separate schedules.
    pub told_apart: usize,
    /// Another schedule that gives D.
    pub alternative: Option<Schedule>,
    /// Remarks.
    pub remark: String,
}

impl ExplainedProduct {
    /// The schedule that was found, else the predicted one.
    pub fn schedule(&self) -> Option<&Schedule> {
        self.alternative.as_ref().or(self.prediction.as_ref().map(|prediction| &prediction.schedule))
    }
}

/// Asks a library for products and explains them.
pub struct Campaign<'a> {
    /// The library.
    pub library: &'a mut dyn Library,
    /// The replay of the predictions.
    pub replay: &'a mut dyn Replay,
    /// Schedules by the attributes of algorithms.
    pub schedules: &'a LibrarySchedules,
    /// The model of the instructions' arithmetic.
    pub model: String,
    /// The seed of the operands.
    pub seed: u64,
    /// An algorithm for all products, in place of the heuristic's.
    pub chosen: Option<ChosenAlgorithm>,
    /// Remaining searches.
    pub searches: usize,
    /// Schedules that searches found, each with its formats.
    known: Vec<(String, Schedule)>,
}

impl<'a> Campaign<'a> {
    /// A campaign.
    pub fn new(
        library: &'a mut dyn Library,
        replay: &'a mut dyn Replay,
        schedules: &'a LibrarySchedules,
        model: String,
        seed: u64,
        searches: usize,
    ) -> Campaign<'a> {
        Campaign { library, replay, schedules, model, seed, chosen: None, searches, known: Vec::new() }
    }

    /// The operands of a product, drawn.
    pub fn factors(&self, asked: &AskedProduct) -> Factors {
        let AskedProduct { problem: p, values } = asked;
        let values = values.unwrap_or(Values::Normal);
        let generator = |operand: u64| random(self.seed ^ fnv1a(p.name().as_bytes()), operand);
        Factors::new(draw(p.m, p.k, p.a, p.d, values, generator(0)), draw(p.k, p.n, p.b, p.d, values, generator(1)))
    }

    /// Explains products of drawn operands, a row each; false if repeated failures ended the campaign.
    ///
    /// `done` is told the numbers of finished and of unpredicted products.
    ///
    /// # Errors
    /// As [`Campaign::explain`].
    pub fn explain_all(
        &mut self,
        asked: &[AskedProduct],
        rows: &mut Vec<LibraryProductRow>,
        done: &dyn Fn(u64, u64),
    ) -> Result<bool> {
        let (mut failures, mut differing) = (0, 0);
        for (place, asked) in asked.iter().enumerate() {
            let factors = self.factors(asked);
            let (explained, _) = self.explain(asked, &factors)?;
            failures = if explained.outcome == ProductOutcome::Failed { failures + 1 } else { 0 };
            differing += u64::from(!matches!(explained.outcome, ProductOutcome::Predicted | ProductOutcome::Refused));
            rows.push(library_product(place + 1, &explained, self.schedules));
            done(place as u64 + 1, differing);
            if failures == MOST_FAILURES {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Has the library compute one product, and explains it; with D.
    ///
    /// # Errors
    /// As [`Campaign::explain`]; the library refuses the product or fails.
    pub fn explain_one(&mut self, asked: &AskedProduct, factors: &Factors) -> Result<(ExplainedProduct, Matrix)> {
        match self.explain(asked, factors)? {
            (explained, Some(d)) => Ok((explained, d)),
            (ExplainedProduct { outcome: ProductOutcome::Refused, remark, .. }, None) => {
                Err(Error::unavailable(remark))
            }
            (ExplainedProduct { remark, .. }, None) => Err(Error::device(remark)),
        }
    }

    /// Has the library compute a product of these operands, and explains it; with D, if there is one.
    ///
    /// # Errors
    /// The model or the replay fails, [`Error::Interrupted`]. (A library that refuses a product or fails is an outcome.)
    pub fn explain(&mut self, asked: &AskedProduct, factors: &Factors) -> Result<(ExplainedProduct, Option<Matrix>)> {
        interrupt::check()?;
        let problem = &asked.problem;
        let mut explained = ExplainedProduct {
            asked: asked.clone(),
            outcome: ProductOutcome::Unexplained,
            attributes: None,
            prediction: None,
            agreement: ReplayAgreement::default(),
            first: None,
            checked: ReplayAgreement::default(),
            told_apart: 0,
            alternative: None,
            remark: String::new(),
        };
        let c = factors.c.as_ref().map(|c| &c.codes);
        let product = match self.library.multiply(problem, &factors.a.codes, &factors.b.codes, c, self.chosen.as_ref())
        {
            Ok(product) => product,
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => {
                let refused = error.exit_status() == 2;
                explained.outcome = if refused { ProductOutcome::Refused } else { ProductOutcome::Failed };
                explained.remark = error.to_string();
                return Ok((explained, None));
            }
        };
        let d = Matrix::new(problem.m, problem.n, problem.d, product.d);
        explained.attributes = Some((product.attributes, product.workspace));
        match self.schedules.predict(problem, &product.attributes) {
            Err(why) => explained.remark = why,
            Ok(prediction) => {
                self.compare(&prediction.schedule, factors, &d, &mut explained)?;
                explained.prediction = Some(prediction);
            }
        }
        let predicted =
            explained.prediction.is_some() && explained.agreement.is_whole() && explained.checked.is_whole();
        match predicted {
            true => explained.outcome = ProductOutcome::Predicted,
            false => self.search(factors, &d, &mut explained)?,
        }
        Ok((explained, Some(d)))
    }

    /// Compares a prediction with D: every element if the replay is fast or D small, else a sample.
    fn compare(
        &mut self,
        schedule: &Schedule,
        factors: &Factors,
        d: &Matrix,
        explained: &mut ExplainedProduct,
    ) -> Result<()> {
        let checked = Sample::new(factors, d, CHECKED, 1, None);
        let reversed = Schedule {
            order: match schedule.order {
                KOrder::Ascending => KOrder::Descending,
                KOrder::Descending => KOrder::Ascending,
            },
            ..schedule.clone()
        };
        let (forth, back) = (
            ModelReplay.product(&self.model, schedule, &checked.factors)?,
            ModelReplay.product(&self.model, &reversed, &checked.factors)?,
        );
        explained.checked = ReplayAgreement::of(&Differences::between(&forth, &checked.d)?);
        explained.told_apart = Differences::between(&forth, &back)?.differing;
        let differences = self.differences(schedule, factors, d)?;
        explained.agreement = ReplayAgreement::of(&differences.0);
        explained.first = differences.1;
        Ok(())
    }

    /// Differences of a schedule's product from D, and the first place in D.
    fn differences(
        &mut self,
        schedule: &Schedule,
        factors: &Factors,
        d: &Matrix,
    ) -> Result<(Differences, Option<First>)> {
        let terms = d.rows.saturating_mul(d.columns).saturating_mul(factors.k());
        // Kernels do not sum with several accumulators.
        let fast = self.replay.is_fast() && schedule.not_at_once(factors).is_none();
        if fast || terms <= FEW_TERMS {
            let product = match fast {
                true => self.replay.product(&self.model, schedule, factors)?,
                false => ModelReplay.product(&self.model, schedule, factors)?,
            };
            let differences = Differences::between(&product, d)?;
            let first = differences.first;
            return Ok((differences, first));
        }
        let sample = Sample::new(factors, d, SAMPLED, 2, None);
        let differences =
            Differences::between(&ModelReplay.product(&self.model, schedule, &sample.factors)?, &sample.d)?;
        let first = differences.first.map(|(row, column, codes)| (sample.rows[row], sample.columns[column], codes));
        Ok((differences, first))
    }

    /// Looks for the schedule that gives D, first among the schedules that were found before.
    fn search(&mut self, factors: &Factors, d: &Matrix, explained: &mut ExplainedProduct) -> Result<()> {
        let problem = &explained.asked.problem;
        let (formats, scales) = (problem.kind(), (problem.alpha, problem.beta));
        let known: Vec<Schedule> =
            self.known.iter().filter(|(kind, _)| *kind == formats).map(|(_, schedule)| schedule.clone()).collect();
        let sample = Sample::new(factors, d, SEARCHED, 3, None);
        for schedule in known {
            let operands = in_formats(&sample.factors, &schedule)?;
            let near = Differences::between(&ModelReplay.product(&self.model, &schedule, &operands)?, &sample.d)?;
            if near.differing == 0 && self.differences(&schedule, &in_formats(factors, &schedule)?, d)?.0.differing == 0
            {
                explained.outcome = ProductOutcome::Found;
                explained.alternative = Some(schedule);
                return Ok(());
            }
        }
        if self.searches == 0 {
            note(explained, "not searched: the limit of ‹searches› was reached");
            return Ok(());
        }
        self.searches -= 1;
        let suspects = Suspects {
            models: vec![self.model.clone()],
            instructions: Vec::new(),
            factors: scales,
            turn: None,
            kernels: KernelNames::default(),
        };
        let mut matches = Matches::default();
        match search::find(&suspects, &sample.factors, &sample.d, &mut matches, &|_| ()) {
            Ok(()) => (),
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => {
                note(explained, &format!("no search is possible: {error}"));
                return Ok(());
            }
        }
        for candidate in matches.confirmed.iter().take(MOST_FOUND) {
            let operands = in_formats(factors, &candidate.schedule)?;
            if self.differences(&candidate.schedule, &operands, d)?.0.differing == 0 {
                explained.outcome = ProductOutcome::Found;
                explained.alternative = Some(candidate.schedule.clone());
                let others = matches.confirmed.len() - 1 + matches.unchecked.len();
                note(
                    explained,
                    &format!("{others} others of {} agree on {} elements", matches.tried, sample.d.codes.len()),
                );
                self.known.push((formats, candidate.schedule.clone()));
                return Ok(());
            }
        }
        let remark = match (&matches.nearest, matches.confirmed.first()) {
            (_, Some(_)) => {
                format!(
                    "{} schedules agree on {} elements and not on all",
                    matches.confirmed.len(),
                    sample.d.codes.len()
                )
            }
            (Some((near, differences)), _) => format!(
                "of {} schedules the nearest is {}: it gives {} of {} elements",
                matches.tried,
                near.schedule.sentence(factors.k()),
                differences.elements - differences.differing,
                differences.elements
            ),
            (None, None) => format!("{} schedules were tried", matches.tried),
        };
        note(explained, &remark);
        Ok(())
    }
}

/// A place in D, and the codes of the prediction and of D there.
type First = (usize, usize, [u64; 2]);

fn note(explained: &mut ExplainedProduct, what: &str) {
    if !explained.remark.is_empty() {
        explained.remark += "; ";
    }
    explained.remark += what;
}
