//! Search for operands whose errors come near the bound of every order.

use super::tables::relative;
use crate::{
    Result,
    base::work,
    device::ModelDevice,
    format::{Float, Format, Overflow, Rounding},
    inputs::random,
    product::{
        Factors, Matrix, Product, Schedule,
        bound::{self, Claim, OrderFreeBounds},
    },
};

/// Largest k of a search, which takes hundreds of products.
const LONGEST: usize = 1 << 16;
/// Largest distance of exponents between the large and the small products.
const DISTANCES: i32 = 60;
/// Largest exponent of a product, where the formats allow it.
const HIGHEST: i32 = 60;

/// Operands of a search: some large products, and small ones that alignments and roundings cut off.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    /// Every product at a multiple of this k is large.
    period: usize,
    /// Distance of exponents: a large product's less a small one's.
    distance: i32,
    /// Significands: all ones, one, random, or the next number above one.
    pattern: u8,
    /// True if small products are negative.
    negative: bool,
}

/// Largest error over the sum of |a b| that a search finds for a schedule.
///
/// The model computes every attempt. `None` for integers, for block scales, for k above 65,536, and where no attempt has an error.
///
/// # Errors
/// A schedule that has no bound from magnitudes; [`Error::Interrupted`](crate::Error::Interrupted).
pub fn largest_found(claim: &Claim, schedule: &Schedule, k: usize, seed: u64) -> Result<Option<f64>> {
    let i = &schedule.instruction;
    let (Some(a), Some(b), None) = (i.a.float(), i.b.float(), i.scale) else { return Ok(None) };
    if k > LONGEST {
        return Ok(None);
    }
    let bound = relative(&OrderFreeBounds::new(&claim.model, schedule, k)?).finite();
    if bound == 0.0 {
        return Ok(None);
    }
    let part = schedule.parts(k).first().map_or(k, |pieces| pieces.iter().map(|piece| piece.len()).sum());
    let mut periods = vec![k, schedule.promote.unwrap_or(k).min(k), part, i.k.min(k)];
    periods.sort_unstable();
    periods.dedup();
    let limit =
        schedule.output.format.float().map_or(HIGHEST, |d| d.emax().min(i.d.float().map_or(HIGHEST, Float::emax)) - 2);
    let attempts: Vec<Attempt> = periods
        .into_iter()
        .flat_map(|period| {
            (1..=DISTANCES).flat_map(move |distance| {
                [(0, false), (1, false), (2, false), (3, false), (0, true), (1, true), (3, true)]
                    .map(|(pattern, negative)| Attempt { period, distance, pattern, negative })
            })
        })
        .collect();
    let errors = work::map(&attempts, |attempt| {
        let top = (a.emax() + b.emax()).min(limit).min(HIGHEST);
        let Some(factors) = attempt.factors([i.a, i.b], [a, b], top, k, seed) else { return Ok(0.0) };
        let d = Product::of(&mut ModelDevice::of(claim.model.clone()), schedule, &factors)?.d;
        Ok::<f64, crate::Error>(relative_error(&factors, d.value(0, 0)))
    })?;
    let most = errors.into_iter().filter(|error| error.is_finite()).fold(0.0, f64::max);
    Ok((most > 0.0).then_some(most))
}

impl Attempt {
    /// One row and one column of `k`; `None` where the formats lack the numbers.
    fn factors(
        &self,
        formats: [&'static Format; 2],
        [a, b]: [&Float; 2],
        top: i32,
        k: usize,
        seed: u64,
    ) -> Option<Factors> {
        let split = |exponent: i32| {
            let x = exponent.div_euclid(2).clamp(a.emin(), a.emax());
            let y = (exponent - x).clamp(b.emin(), b.emax());
            (x + y == exponent).then_some([x, y])
        };
        let (large, small) = (split(top)?, split(top - self.distance)?);
        let code = |at: usize, side: usize| {
            let is_large = at.is_multiple_of(self.period);
            let exponent = if is_large { large[side] } else { small[side] };
            let bits = [a, b][side].precision() - 1;
            let ones = (1u64 << bits) - 1;
            let fraction = match (is_large, self.pattern) {
                (true, _) | (false, 0) => ones,
                (false, 1) => 0,
                (false, 3) => 1,
                _ => random(seed, (2 * at + side) as u64) & ones,
            };
            let value = (1.0 + fraction as f64 / (1u64 << bits) as f64) * bound::power(exponent);
            let value = if self.negative && !is_large && side == 0 { -value } else { value };
            formats[side].encode_f64(value, Rounding::Rz, Overflow::Saturate)
        };
        let codes = |side: usize| (0..k).map(|at| code(at, side)).collect::<Option<Vec<u64>>>();
        Some(Factors::new(
            Matrix::of_values(1, k, formats[0], &codes(0)?),
            Matrix::of_values(k, 1, formats[1], &codes(1)?),
        ))
    }
}

/// |D - exact| over the sum of |a b|.
fn relative_error(factors: &Factors, d: f64) -> f64 {
    // Sums of products of few bits, in two doubles.
    let (mut high, mut low, mut magnitudes) = (0.0f64, 0.0f64, 0.0);
    for k in 0..factors.k() {
        let (x, y) = (factors.a.value(0, k), factors.b.value(k, 0));
        let product = x * y;
        let sum = high + product;
        let rest = (high - (sum - (sum - high))) + (product - (sum - high));
        low += rest + x.mul_add(y, -product);
        high = sum;
        magnitudes += product.abs();
    }
    ((d - high) - low).abs() / magnitudes
}
