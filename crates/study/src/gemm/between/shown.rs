//! The smallest product that shows a difference, also in a D of fewer bits than the sums.

use std::time::Instant;

use super::{ProductMaker, ProductSide, is_whole_product};
use crate::{
    Result,
    format::Format,
    product::{ElementPlace, Factors, ScaleBlocks, Smallest, smallest},
};

/// Terms after which a sum is cancelled, besides the steps of both sides.
const LENGTHS: [usize; 7] = [1, 16, 32, 64, 128, 256, 512];

/// A search for the smallest product on which two sides differ.
pub(super) struct ShownSearch {
    /// The blocks of scales outside the instruction.
    pub(super) blocks: Option<ScaleBlocks>,
    /// The first element that differs.
    pub(super) place: ElementPlace,
    /// The format of D.
    pub(super) d: &'static Format,
    /// Products that may be computed.
    pub(super) tries: usize,
    /// The end of the search.
    pub(super) until: Option<Instant>,
}

impl ShownSearch {
    /// The smallest product that shows the difference in D.
    ///
    /// A D of fewer bits shows a difference of the sums only near the middle between two of its numbers. So the sums are compared first;
    /// terms that cancel one of them then leave their difference.
    ///
    /// # Errors
    /// A device or library that fails, [`Error::Interrupted`](crate::Error::Interrupted).
    pub(super) fn smallest(&self, sides: &mut [ProductSide; 2], factors: &Factors) -> Result<Option<Smallest>> {
        match self.by_sums(sides, factors)? {
            Some(smallest) => Ok(Some(smallest)),
            None => self.at(sides, factors, self.place, self.d),
        }
    }

    /// The smallest product at a place, for a D of this format.
    fn at(
        &self,
        sides: &mut [ProductSide; 2],
        factors: &Factors,
        place: ElementPlace,
        d: &'static Format,
    ) -> Result<Option<Smallest>> {
        smallest(factors, self.blocks.as_ref(), place, d, self.tries, self.until, &mut |factors, place, narrowed| {
            differing(sides, factors, place, narrowed)
        })
    }

    /// The smallest product by unrounded sums; `None` if D has their format, or shows none.
    fn by_sums(&self, sides: &mut [ProductSide; 2], factors: &Factors) -> Result<Option<Smallest>> {
        let Some(sums) = sum_format(sides).filter(|sums| sums.bits > self.d.bits && factors.scale_a.is_none()) else {
            return Ok(None);
        };
        let outputs = set_outputs(sides, [sums; 2]);
        let of_sums = self.at(sides, factors, self.place, sums);
        set_outputs(sides, outputs);
        let Some(of_sums) = of_sums? else { return Ok(None) };
        let k = of_sums.factors.k();
        let mut lengths: Vec<usize> =
            LENGTHS.iter().chain(&steps(sides)).map(|step| k.next_multiple_of(*step)).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let place = ElementPlace { row: 0, column: 0 };
        for candidate in of_sums.cancelled(sums, &lengths) {
            if differing(sides, &candidate, place, true)?.is_some() {
                return self.at(sides, &candidate, place, self.d);
            }
        }
        Ok(None)
    }
}

/// The codes of both sides at a place of a product, where they differ.
fn differing(
    sides: &mut [ProductSide; 2],
    factors: &Factors,
    ElementPlace { row, column }: ElementPlace,
    narrowed: bool,
) -> Result<Option<[u64; 2]>> {
    let [x, y] = sides;
    let codes = [x.product(factors, narrowed)?.get(row, column), y.product(factors, narrowed)?.get(row, column)];
    Ok((codes[0] != codes[1]).then_some(codes))
}

/// The format of the sums of both sides, if both follow a schedule and share one.
fn sum_format(sides: &[ProductSide; 2]) -> Option<&'static Format> {
    let [x, y] = sides.each_ref().map(|side| match &side.maker {
        ProductMaker::Scheduled { schedule, .. } if !is_whole_product(schedule) => Some(schedule.instruction.d),
        ProductMaker::Scheduled { .. } | ProductMaker::Library { .. } => None,
    });
    x.filter(|_| x == y)
}

/// Gives the schedules of both sides other formats of D, and returns those that they had.
fn set_outputs(sides: &mut [ProductSide; 2], formats: [&'static Format; 2]) -> [&'static Format; 2] {
    let mut before = formats;
    for ((side, format), before) in sides.iter_mut().zip(formats).zip(&mut before) {
        if let ProductMaker::Scheduled { schedule, .. } = &mut side.maker {
            *before = std::mem::replace(&mut schedule.output.format, format);
        }
    }
    before
}

/// k of the steps, slabs and promotions of both sides.
fn steps(sides: &[ProductSide; 2]) -> Vec<usize> {
    let of_side = |side: &ProductSide| match &side.maker {
        ProductMaker::Scheduled { schedule, .. } => {
            [Some(schedule.instruction.k), Some(schedule.slab), schedule.promote].into_iter().flatten().collect()
        }
        ProductMaker::Library { .. } => Vec::new(),
    };
    sides.iter().flat_map(of_side).collect()
}
