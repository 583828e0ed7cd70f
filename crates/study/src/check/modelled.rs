//! Bounds of a product of given operands, beside the errors of the claimed arithmetic itself.

use super::{CheckRequest, ProductCheck, check, sample::sampled_places, tables};
use crate::{
    Result,
    device::ModelDevice,
    product::{
        Factors, Matrix, Product, Schedule,
        bound::{Claim, bounds_matrix, running_matrix},
    },
    report::{Report, Verdict},
};

/// Operands whose bounds are asked for.
#[derive(Debug)]
pub struct BoundRequest<'a> {
    /// The arithmetic.
    pub claim: &'a Claim,
    /// The operands as they are given, before the claim rounds them.
    pub operands: Factors,
    /// Elements that are computed in full, about.
    pub sample: usize,
}

/// A sample of the model's own product, and its check.
#[derive(Debug)]
pub struct ModelledProduct {
    /// The claim on the whole product.
    pub claim: Claim,
    /// The operands, as the claim takes them.
    pub factors: Factors,
    /// The claim on the sampled rows and columns.
    pub narrowed: Claim,
    /// The check of these.
    pub check: ProductCheck,
}

impl BoundRequest<'_> {
    /// Computes sampled rows and columns by the model, and checks them.
    ///
    /// # Errors
    /// Operands that do not fit the claim; errors of the model; an interruption before any element was judged.
    pub fn run(self) -> Result<ModelledProduct> {
        let (claim, rounded) = self.claim.clone().taking(&self.operands)?;
        let factors = rounded.unwrap_or(self.operands);
        // Each element stands for itself: a sample of rows and columns has the bounds that the whole product has.
        let (rows, columns) = sampled_places(&factors, self.sample);
        let chosen = factors.chosen(&rows, &columns, claim.schedules[0].scales.as_ref());
        let narrowed = Claim { schedules: claim.schedules.iter().map(Schedule::narrowed).collect(), ..claim.clone() };
        let mut model = ModelDevice::of(narrowed.model.clone());
        let d = Product::of(&mut model, &narrowed.schedules[0], &chosen)?.d;
        let request = CheckRequest { claim: &narrowed, factors: &chosen, d: &d, sample: self.sample };
        let check = check(&request, &|_| ())?;
        Ok(ModelledProduct { claim, factors, narrowed, check })
    }
}

impl ModelledProduct {
    /// Fills a report: the bound holds where no element is outside it.
    pub fn report(&self, report: &mut Report) {
        let ModelledProduct { factors, narrowed, check, .. } = self;
        report.holds = check.outside_count() == 0 && check.sample.running_outside.unwrap_or(0) == 0;
        report.verdict = Verdict::OutsideBound;
        report.answer = Some(tables::bound_answer(narrowed, check));
        report.tables.push(tables::check(narrowed, (factors.a.rows, factors.b.columns, factors.k()), check));
        report.tables.extend(check.tolerance.as_ref().map(|tolerance| tables::tolerances([tolerance])));
    }

    /// The bounds of all elements, m x n in f64: running bounds where the claim is one schedule.
    ///
    /// # Errors
    /// An interruption.
    pub fn bounds(&self, done: &(dyn Fn(u64) + Sync)) -> Result<Matrix> {
        match self.claim.is_exact {
            true => running_matrix(&self.claim, &self.claim.schedules[0], &self.factors, done),
            false => bounds_matrix(&self.claim, &self.factors, done),
        }
    }

    /// The claim, if the bound of every order of its sums holds for these operands.
    pub fn every_order(&self) -> Option<&Claim> {
        let plain = |schedule: &Schedule| schedule.scales.is_none() && schedule.alpha == 1.0;
        match &self.narrowed.schedules[..] {
            [schedule] if plain(schedule) && self.check.undecided == 0 => Some(&self.narrowed),
            _ => None,
        }
    }
}
