//! Search over all scales of a block of integers, by the scales at which an element changes.
//!
//! Between two such scales the elements `q` stay, and the sum of the squares of `x - d*q` is a parabola of the scale `d`. Its least
//! value lies at `d + sum q*(x - d*q) / sum q*q`, and is smaller than that under `d` by `(sum q*(x - d*q))^2 / sum q*q`. Nearest elements
//! have no larger errors than others, so that the best scale is next to the least value of one of the parabolas.

use super::search::{LANES, larger, least_of, smaller};
use crate::base::vectors::vectorised;

/// Numbers to which this is added, up to 2^22, are rounded to integers.
pub(super) const MAGIC: f32 = (3 << 22) as f32;
/// A scale times this lies above the scale, whatever the rounding errors of quotients in f32.
const ABOVE: f32 = 1.0 + 8.0 * f32::EPSILON;

/// Most elements of one sign.
pub(super) const MOST: usize = 128;
/// Number of changes of an element that are computed at once.
const TOGETHER: usize = 8;
/// Reciprocals of the quotients at which an element changes to the next one.
const HALVES: [f32; MOST + TOGETHER] = {
    let mut halves = [0.0; MOST + TOGETHER];
    let mut element = 0;
    while element < halves.len() {
        halves[element] = 1.0 / (element as f32 + 0.5);
        element += 1;
    }
    halves
};

/// Memory of a search: some scales, 16 by 16, the last ones filled up.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// A scale between each two at which an element changes: right above the lower one.
    scales: Vec<f32>,
    /// Least values of the parabolas there, and their scales.
    least: Vec<[f32; LANES]>,
    best: Vec<[f32; LANES]>,
    /// Least of each 16 of these values.
    lowest: Vec<f32>,
}

impl Changes {
    /// Finds the least values of the parabolas, and returns the least of them.
    ///
    /// Their scales lie between those at which an element changes, from `low` up to `high`. `limits` are the largest elements of
    /// positive and of negative values.
    pub(super) fn find(&mut self, values: &[f32], [low, high]: [f32; 2], limits: [f32; 2]) -> f32 {
        let most = larger(limits[0], limits[1]);
        self.scales.resize(1 + values.len() * most as usize + TOGETHER.max(LANES), 0.0);
        let count = scales_of_changes(values, low, high, most, &mut self.scales);
        self.scales.truncate(count.next_multiple_of(LANES));
        self.scales[count..].fill(1e30);
        self.lowest.clear();
        self.least.resize(self.scales.len() / LANES, [0.0; LANES]);
        self.best.resize(self.scales.len() / LANES, [0.0; LANES]);
        for (scales, (least, best)) in self.scales.as_chunks().0.iter().zip(self.least.iter_mut().zip(&mut self.best)) {
            parabolas(values, limits, scales, least, best);
            self.lowest.push(least_of(least));
        }
        self.lowest.iter().copied().fold(f32::INFINITY, smaller)
    }

    /// Scales next to the one of the least loss, if that is at most `limit`.
    pub(super) fn next_to(&self, limit: f32) -> impl Iterator<Item = f32> {
        let low = self.lowest.iter().enumerate().filter(move |(_, lowest)| **lowest <= limit);
        let lanes = low.flat_map(|(at, _)| (0..LANES).map(move |lane| (at, lane)));
        let lanes = lanes.filter(move |(at, lane)| self.least[*at][*lane] <= limit);
        // Rounding errors may exchange two close changes: the scale between them is a candidate as well.
        lanes.flat_map(|(at, lane)| [self.best[at][lane], self.scales[at * LANES + lane]])
    }
}

vectorised! {
    /// Writes `low` and the scales up to `high` at which an element changes; returns their number.
    fn scales_of_changes(values: &[f32], low: f32, high: f32, most: f32, scales: &mut [f32]) -> usize {
        let (inverse, least, mut written) = (ABOVE / low, 1.0 / high, 1);
        scales[0] = low;
        for value in values {
            let value = value.abs();
            let first = smaller(value * least, most) as usize;
            let end = smaller(value * inverse + 0.5, most) as usize;
            for at in (first..end).step_by(TOGETHER) {
                let (to, halves) = (&mut scales[written + at - first..][..TOGETHER], &HALVES[at..at + TOGETHER]);
                for lane in 0..TOGETHER {
                    to[lane] = value * halves[lane] * ABOVE;
                }
            }
            written += end.saturating_sub(first);
        }
        written
    }
}

vectorised! {
    /// The least values of the parabolas at some scales, and the scales that have them.
    fn parabolas(
        values: &[f32], limits: [f32; 2], scales: &[f32; LANES], least: &mut [f32; LANES], best: &mut [f32; LANES],
    ) {
        let mut inverse = [0.0; LANES];
        for lane in 0..LANES {
            inverse[lane] = 1.0 / scales[lane];
        }
        let (mut losses, mut slopes, mut curves) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
        for value in values {
            let (limit, value) = (limits[usize::from(value.is_sign_negative())], value.abs());
            for lane in 0..LANES {
                let element = smaller(value * inverse[lane], limit) + MAGIC - MAGIC;
                let error = value - element * scales[lane];
                losses[lane] += error * error;
                slopes[lane] += error * element;
                curves[lane] += element * element;
            }
        }
        for lane in 0..LANES {
            let shift = slopes[lane] / larger(curves[lane], 1.0);
            least[lane] = losses[lane] - shift * slopes[lane];
            best[lane] = scales[lane] + shift;
        }
    }
}
