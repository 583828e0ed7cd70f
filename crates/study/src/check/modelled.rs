//! Bounds of a product of given operands, beside the errors of the claimed arithmetic itself.

use super::{
    CheckRequest, CheckedProduct, ProductCheck, Tolerance, check,
    power::{Missed, Power, Test, power},
    sample::sampled_places,
    tables,
};
use crate::{
    Error, Result,
    device::ModelDevice,
    product::{
        Factors, Matrix, Product, ProductShape, Schedule,
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
    chosen: Factors,
    d: Matrix,
    /// The check of these.
    pub check: ProductCheck,
    /// The power of the bounds, and of the tolerances that follow.
    pub power: Power,
    /// The tolerances that the bounds justify.
    pub tolerances: Vec<Tolerance>,
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
        let narrowed = claim.narrowed();
        let mut model = ModelDevice::of(narrowed.model.clone());
        let d = Product::of(&mut model, &narrowed.schedules[0], &chosen)?.d;
        let request = CheckRequest { claim: &narrowed, factors: &chosen, d: &d, sample: self.sample, criteria: &[] };
        let check = check(&request, &|_| ())?;
        let tolerances = check.tolerances(d.format);
        let product = CheckedProduct { request, check };
        let power = match tables::tested(std::slice::from_ref(&product), &tolerances) {
            // An interrupted analysis has the verdicts until then.
            Err(Error::Interrupted { .. }) => Power::default(),
            power => power?,
        };
        let check = product.check;
        Ok(ModelledProduct { claim, factors, narrowed, chosen, d, check, power, tolerances })
    }
}

impl ModelledProduct {
    /// Fills a report: the bound holds where no element is outside it.
    pub fn report(&self, report: &mut Report) {
        let ModelledProduct { factors, narrowed, check, power, tolerances, .. } = self;
        report.holds = check.outside_count() == 0 && check.sample.running_outside.unwrap_or(0) == 0;
        report.verdict = Verdict::OutsideBound;
        report.answer = Some(tables::bound_answer(narrowed, check, tolerances, power));
        report.tables.push(tables::check(
            narrowed,
            ProductShape { m: factors.a.rows, n: factors.b.columns, k: factors.k() },
            check,
        ));
        if !tolerances.is_empty() {
            report.tables.push(tables::tolerances(tolerances));
        }
        report.tables.push(tables::tests(&[], check, power));
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

    /// The faults that a test of the product misses, by the sample.
    ///
    /// # Errors
    /// An interruption.
    pub fn missed(&self, test: Test) -> Result<Missed> {
        let ModelledProduct { narrowed, chosen, d, check, .. } = self;
        let request = CheckRequest { claim: narrowed, factors: chosen, d, sample: 0, criteria: &[] };
        let product = CheckedProduct { request, check: check.clone() };
        let missed = power(&[product], &[test])?.missed.pop();
        Ok(missed.expect("a test has a result"))
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
