//! Errors of sums by a claim, relative to the sum of the magnitudes of the terms.

use super::{Claim, Magnitudes, OrderFreeBounds, element::checked};
use crate::{Result, arithmetic::Subnormals};

/// Places in a binade at which a bound that follows the binades is looked at.
const PLACES: usize = 16;

/// The errors of all sums of a claim, whatever the order of their terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativeBound {
    /// Largest error of a sum over the sum of |a b|.
    ///
    /// It holds for normal operands, without overflow and underflow.
    pub rate: f64,
    /// True if a unit takes subnormal operands for zero.
    pub is_flushing: bool,
}

impl Claim {
    /// The relative bound of sums of `k` products, by any schedule of the claim.
    ///
    /// # Errors
    /// As [`OrderFreeBounds::new`].
    pub fn relative(&self, k: usize) -> Result<RelativeBound> {
        let mut relative = RelativeBound { rate: 0.0, is_flushing: false };
        for schedule in &self.schedules {
            let bounds = OrderFreeBounds::new(&self.model, schedule, k)?;
            let edge = |place: usize| 1.0 + place as f64 / PLACES as f64;
            // A bound grows with the sum, so the end of each place is an upper bound of the place.
            let rate =
                |place: usize| bounds.of(&Magnitudes::of_sum(edge(place + 1).next_down())).finite() / edge(place);
            relative.rate = (0..PLACES).map(rate).fold(relative.rate, f64::max);
            let [a, b, _] = checked(&self.model, &schedule.instruction)?.unpack;
            relative.is_flushing |= [a, b].iter().any(|unpack| unpack.subnormals != Subnormals::Keep);
        }
        Ok(relative)
    }
}
