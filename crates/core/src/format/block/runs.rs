//! Search over all codes of a scale, by a bound on the errors under codes that were not tried.
//!
//! Let `q` be the nearest elements under a scale `d`, and `D(d)` the norm of the errors `x - d*q`. Under another scale `e`
//! the same elements have errors of the norm `D(d) + |e - d| * |q|` at most, and the nearest elements have no larger ones.
//! With `d * |q| <= |x| + D(d)` a code that was tried thus bounds the errors under its neighbours from below.

use std::ops::Range;

use super::rule::Loss;

/// Codes of the runs that are judged by their middle, from the longest runs to single codes.
const LENGTHS: [u32; 5] = [512, 64, 16, 4, 1];

/// Block whose scale is searched for.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchedBlock {
    /// Largest magnitude.
    pub(super) amax: f64,
    /// Scale up to which all were tried.
    pub(super) above: f64,
    /// Norm of the values: of the errors under a scale of zero.
    pub(super) norm: f64,
    /// Smallest magnitude of an element other than zero, and the largest one, of either sign.
    pub(super) elements: [f64; 2],
    /// Bound on the error of a computed norm.
    pub(super) slack: f64,
}

/// Search for a block whose largest magnitude no element may reach under any scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reach {
    /// All scales, for the block unchanged.
    Whole,
    /// The largest scales alone: each larger scale has less squared error.
    LargestScales,
    /// Values limited to this magnitude: beyond, magnitudes of errors change alike from scale to scale.
    Limited(f64),
}

impl Reach {
    /// Reach of `count` values up to `amax`, under scales up to `scale`.
    ///
    /// `elements` are the largest magnitudes of positive and of negative elements.
    pub(super) fn of(loss: Loss, amax: f64, count: usize, scale: f64, elements: [f64; 2]) -> Reach {
        let (least, most) = (elements[0].min(elements[1]), elements[0].max(elements[1]));
        match loss {
            Loss::Magnitudes if amax > 2.0 * most * scale => Reach::Limited(2.0 * most * scale),
            // With the scale `d` the square of the largest error falls by 2 * least * (amax - most * d) at least, and each
            // other one grows by 2 * most^2 * d at most.
            Loss::Squares if amax > (most + count as f64 * most * most / least) * scale => Reach::LargestScales,
            _ => Reach::Whole,
        }
    }
}

/// Codes of a scale of either sign.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignedCodes {
    /// Number of codes that are not negative.
    pub(super) count: u32,
    /// Bit of negative codes; 0 if none is negative.
    pub(super) sign: u32,
}

impl SignedCodes {
    /// All codes.
    pub(super) fn all(self) -> Vec<u32> {
        let negative = (self.sign != 0).then_some(self.sign..self.sign + self.count);
        (0..self.count).chain(negative.into_iter().flatten()).collect()
    }

    /// The largest scales of both signs.
    pub(super) fn largest(self) -> [u32; 2] {
        [self.count - 1, self.negated(self.count - 1)]
    }

    /// The same scale with the other sign.
    pub(super) fn negated(self, code: u32) -> u32 {
        code ^ self.sign
    }

    /// Code of the magnitude of a scale.
    pub(super) fn magnitude(self, code: u32) -> u32 {
        code & !self.sign
    }
}

/// Norm of errors whose sum is a loss.
pub(super) fn norm_of(loss: Loss, sum: f64) -> f64 {
    match loss {
        Loss::Squares => sum.sqrt(),
        Loss::Magnitudes => sum,
    }
}

/// Tries every code that may have the least norm of errors.
///
/// `magnitude` is the magnitude of the scale with a code. `tried` adds the norms of the errors under some codes and returns
/// the least norm so far; the last codes are single ones, and no others can be as good. `least` is the norm under a code
/// that was tried before.
pub(super) fn try_runs(
    codes: SignedCodes,
    block: SearchedBlock,
    mut least: f64,
    magnitude: impl Fn(u32) -> f64,
    mut tried: impl FnMut(&[u32], &mut Vec<f64>) -> f64,
) {
    let [smallest, largest] = block.elements;
    let low = first_code(codes.count, |code| {
        magnitude(code) * largest >= block.amax - least - block.slack && magnitude(code) >= block.above
    });
    // Under larger scales all elements are zeros, as under the scale of zero.
    let high = first_code(codes.count, |code| magnitude(code) * smallest > 2.0 * block.amax);
    let negative = (codes.sign != 0).then_some(low | codes.sign..high | codes.sign);
    let mut runs: Vec<Range<u32>> = std::iter::once(low..high).chain(negative).collect();
    let (mut middles, mut norms) = (Vec::new(), Vec::new());
    for length in LENGTHS {
        runs = runs.into_iter().flat_map(|run| parts(run, length)).collect();
        middles.clear();
        middles.extend(runs.iter().map(middle));
        norms.clear();
        least = least.min(tried(&middles, &mut norms));
        let mut middle_norms = norms.iter();
        runs.retain(|run| {
            let norm = middle_norms.next().expect("each code has its norm");
            let [first, at, last] = [run.start, middle(run), run.end - 1].map(|code| magnitude(codes.magnitude(code)));
            let share = ((at - first) / first).max((last - at) / last);
            // Nothing bounds the errors beside a scale of zero.
            let bound = if first > 0.0 { (norm - share * block.norm) / (1.0 + share) } else { 0.0 };
            bound <= least + block.slack
        });
    }
}

fn middle(run: &Range<u32>) -> u32 {
    run.start + (run.end - run.start) / 2
}

fn parts(run: Range<u32>, length: u32) -> impl Iterator<Item = Range<u32>> {
    let end = run.end;
    run.step_by(length as usize).map(move |start| start..end.min(start + length))
}

/// First of `count` ascending codes for which `reached` is true; `count` if there is none.
fn first_code(count: u32, reached: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) { high = middle } else { low = middle + 1 }
    }
    low
}
