//! Search over all scales of a block of integers, by the scales at which an element changes.
//!
//! Between two such scales the elements `q` stay, and the sum of the squares of `x - d*q` is a parabola of the scale `d`. Its least
//! value lies at `d + sum q*(x - d*q) / sum q*q`, and is smaller than that under `d` by `(sum q*(x - d*q))^2 / sum q*q`. Nearest elements
//! have no larger errors than others, so that the best scale is next to the least value of one of the parabolas.

use super::search::{LANES, larger, smaller};
use crate::base::vectors::vectorised;

/// Numbers to which this is added, up to 2^22, are rounded to integers.
const MAGIC: f32 = (3 << 22) as f32;
/// Beside the scale at which an element changes: beyond the error of a quotient in f32.
const BESIDE: f32 = 1.0 + 8.0 * f32::EPSILON;

/// Memory of a search.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// A scale between each two at which an element changes: right above the lower one.
    pub(super) scales: Vec<f32>,
    /// Least values of the parabolas there.
    pub(super) least: Vec<f32>,
    /// Their scales.
    pub(super) best: Vec<f32>,
}

impl Changes {
    /// Finds the scales from `low` on at which an element of at most `most` changes.
    pub(super) fn find(&mut self, values: &[f32], low: f32, most: f32) {
        self.scales.clear();
        self.scales.push(low);
        let inverse = BESIDE / low;
        for value in values {
            let count = smaller(value.abs() * inverse + 0.5, most) as usize;
            self.scales.extend((0..count).map(|element| value.abs() / (element as f32 + 0.5) * BESIDE));
        }
    }

    /// Finds the least values of the parabolas; `limits` are the largest elements of positive and of negative values.
    pub(super) fn judge(&mut self, values: &[f32], limits: [f32; 2]) {
        let lanes = self.scales.len().next_multiple_of(LANES);
        self.least.resize(lanes, 0.0);
        self.best.resize(lanes, 0.0);
        let each = self.least.as_chunks_mut().0.iter_mut().zip(self.best.as_chunks_mut().0);
        for (scales, (least, best)) in self.scales.chunks(LANES).zip(each) {
            let mut of_lanes = [1e30; LANES];
            of_lanes[..scales.len()].copy_from_slice(scales);
            parabolas(values, limits, &of_lanes, least, best);
        }
        self.least.truncate(self.scales.len());
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
