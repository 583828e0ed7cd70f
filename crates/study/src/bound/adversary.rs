//! Products whose operands are constructed to reach the bound of every order.

use super::{
    construct::{Builder, Steps, Terms, relative_error},
    tables::relative,
};
use crate::{
    Result,
    base::interrupt,
    device::ModelDevice,
    product::{
        Factors, Matrix, Product, Schedule,
        bound::{Claim, OrderFreeBounds},
    },
};

/// Largest k of a construction, which takes several products.
const LONGEST: usize = 1 << 16;

/// Operands of products by one schedule.
pub struct Adversary<'a> {
    claim: &'a Claim,
    schedule: &'a Schedule,
    steps: Option<Steps>,
}

impl<'a> Adversary<'a> {
    /// Operands for a schedule of a claim.
    pub fn new(claim: &'a Claim, schedule: &'a Schedule) -> Adversary<'a> {
        Adversary { claim, schedule, steps: None }
    }

    /// Largest error over the sum of |a b| of constructed operands with `k` terms.
    ///
    /// The model computes every attempt. `None` for integers, for block scales, for k above 65,536, and where no attempt has an error.
    ///
    /// # Errors
    /// A schedule that has no bound from magnitudes; [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn largest(&mut self, k: usize) -> Result<Option<f64>> {
        let i = &self.schedule.instruction;
        if k > LONGEST || i.scale.is_some() {
            return Ok(None);
        }
        if relative(&OrderFreeBounds::new(&self.claim.model, self.schedule, k)?).finite() == 0.0 {
            return Ok(None);
        }
        let count = i.k.min(k);
        let length = self.schedule.promote.unwrap_or(k).min(k).div_ceil(i.k);
        if self.steps.as_ref().is_none_or(|steps| steps.length != length || steps.builder.count != count) {
            let output = self.schedule.output.format;
            self.steps = match Builder::new(&self.claim.model, i, count, Some(output))? {
                None => None,
                Some(builder) => Some(builder.steps(length)?),
            };
        }
        let Some(steps) = &self.steps else { return Ok(None) };
        let part = self.schedule.parts(k).first().map_or(k, |pieces| pieces.iter().map(|piece| piece.len()).sum());
        let mut periods = vec![k, self.schedule.promote.unwrap_or(k).min(k), part, count];
        periods.sort_unstable();
        periods.dedup();
        let mut most = 0.0f64;
        for period in periods {
            let mut best = (self.error(steps, period, k)?, None);
            if self.schedule.output.format == i.d || count < 2 {
                most = most.max(best.0);
                continue;
            }
            // One term decides the rounding of D.
            for term in steps.builder.choices(false) {
                interrupt::check()?;
                let mut first = steps.first.clone();
                first[count - 1] = Some(term);
                let error = self.product_error(&steps.builder, [&first, &steps.later], period, k)?;
                if error > best.0 {
                    best = (error, Some(term));
                }
            }
            most = most.max(best.0);
        }
        Ok((most > 0.0).then_some(most))
    }

    fn error(&self, steps: &Steps, period: usize, k: usize) -> Result<f64> {
        self.product_error(&steps.builder, [&steps.first, &steps.later], period, k)
    }

    /// The error of a product whose chains start anew after every `period` terms.
    fn product_error(&self, builder: &Builder, steps: [&Terms; 2], period: usize, k: usize) -> Result<f64> {
        let i = &self.schedule.instruction;
        let mut codes = [Vec::with_capacity(k), Vec::with_capacity(k)];
        for at in 0..k {
            let within = at % period;
            let terms = steps[usize::from(within >= i.k)];
            let pair = terms.get(within % i.k).copied().flatten().and_then(|term| builder.codes(term, 0));
            let pair = pair.unwrap_or_default();
            codes.iter_mut().zip(pair).for_each(|(codes, code)| codes.push(code));
        }
        let factors = Factors::new(Matrix::of_values(1, k, i.a, &codes[0]), Matrix::of_values(k, 1, i.b, &codes[1]));
        let d = Product::of(&mut ModelDevice::of(self.claim.model.clone()), self.schedule, &factors)?.d.value(0, 0);
        let pairs = (0..k).map(|at| (factors.a.value(0, at), factors.b.value(at, 0)));
        // Several large products may overflow.
        let error = relative_error(pairs, d);
        Ok(if error.is_finite() { error } else { 0.0 })
    }
}
