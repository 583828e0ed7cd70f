//! Counts and errors of the conversion of a tensor.

use std::ops::Range;

use super::{
    Tensor,
    losses::{Energies, Losses},
    values::{AT_ONCE, TensorKind, ValueReader},
};
use crate::{
    base::vectors::vectorised,
    format::{Format, slices::largest_magnitudes},
    number::Real,
};

/// Differences of a tensor from its conversion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Deviations {
    /// Losses of its values; infinities beyond the largest number count as saturated.
    pub losses: Losses,
    /// Results that are NaN.
    pub nan_results: u64,
    /// The sum of the absolute errors.
    pub sum_error: f64,
}

/// Compares tensors of one kind with what becomes of them, which is of one kind, too.
pub struct TensorComparison {
    x: ValueReader,
    y: ValueReader,
    /// The largest magnitudes of positive and of negative results; in a block, times its scale.
    largest: [f64; 2],
}

impl TensorComparison {
    /// Compares tensors of two kinds.
    pub fn new(from: TensorKind, to: TensorKind) -> TensorComparison {
        TensorComparison { x: ValueReader::new(from), y: ValueReader::new(to), largest: largest(to) }
    }

    /// Deviations of the results from the source, of the elements in a range.
    pub fn of(&self, source: &Tensor, result: &Tensor, range: Range<usize>) -> Deviations {
        let TensorComparison { x, y, largest, .. } = self;
        let (mut lanes, mut runs) = (DeviationLanes::default(), Vec::new());
        if x.fit_f32() && y.are_scaled_f32() {
            let (mut xs, mut ys) = (Vec::new(), Vec::new());
            for some in few(&range) {
                x.read_f32(source, some.clone(), &mut xs);
                y.read_unscaled(result, some.clone(), &mut ys);
                self.runs(result, some, &mut runs);
                match are_finite(&xs) && are_finite(&ys) && runs.iter().all(ScaleRun::is_plain) {
                    true => compare_numbers(&xs, &ys, &runs, *largest, &mut lanes),
                    false => compare(&xs, &ys, &runs, true, *largest, &mut lanes),
                }
            }
        } else {
            let (mut xs, mut ys) = (Vec::new(), Vec::new());
            for some in few(&range) {
                x.read(source, some.clone(), &mut xs);
                y.read(result, some.clone(), &mut ys);
                self.runs(result, some, &mut runs);
                compare(&xs, &ys, &runs, false, *largest, &mut lanes);
            }
        }
        let mut deviations = Deviations::of_lanes(range.len(), &lanes);
        if !(x.are_exact() && y.are_exact()) {
            // Doubles hold these values inexactly.
            let losses = &mut deviations.losses;
            (losses.exact, losses.saturated) = (0, 0);
            for index in range {
                let value = source.value(index);
                losses.exact += u64::from(is_same(&value, &result.value(index)));
                losses.saturated += match result {
                    Tensor::Scalar(format, _) => u64::from(is_beyond(&value, format)),
                    Tensor::Blocks(blocks) => {
                        let scale = y.scale_of(blocks, blocks.block_of(index));
                        let ([positive, negative], size) = (limits(*largest, scale), value.to_f64());
                        u64::from(size > positive || -size > negative)
                    }
                };
            }
        }
        deviations
    }

    /// The parts of `range` in which elements of `result` have the same scale.
    fn runs(&self, result: &Tensor, range: Range<usize>, runs: &mut Vec<ScaleRun>) {
        runs.clear();
        let Tensor::Blocks(blocks) = result else {
            runs.push(ScaleRun { count: range.len(), scale: 1.0 });
            return;
        };
        let length = blocks.format.length;
        let (mut left, mut column, mut index) = (range.len(), range.start % blocks.row, range.start);
        while left > 0 {
            let count = (length - column % length).min(blocks.row - column).min(left);
            runs.push(ScaleRun { count, scale: self.y.scale_of(blocks, blocks.block_of(index)) });
            left -= count;
            column = if column + count == blocks.row { 0 } else { column + count };
            index += count;
        }
    }
}

/// Parts of `range` that are compared one after the other.
fn few(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.clone().step_by(AT_ONCE).map(move |start| start..end.min(start + AT_ONCE))
}

impl Deviations {
    fn of_lanes(count: usize, lanes: &DeviationLanes) -> Deviations {
        let [exact, saturated, to_zero, nan_results, finite, nan, infinite] =
            lanes.counts.map(|lanes| lanes.iter().sum());
        let values = count as u64;
        Deviations {
            losses: Losses {
                values,
                exact,
                saturated,
                to_zero,
                nan,
                infinite,
                void: values - nan - infinite - finite,
                max_error: lanes.most.into_iter().fold(0.0, f64::max),
                energies: Energies {
                    signal: lanes.squared_values.iter().sum(),
                    noise: lanes.squared_errors.iter().sum(),
                },
            },
            nan_results,
            sum_error: lanes.errors.iter().sum(),
        }
    }

    /// Adds the differences of other values.
    pub fn add(&mut self, other: &Deviations) {
        self.losses.add(&other.losses);
        self.nan_results += other.nan_results;
        self.sum_error += other.sum_error;
    }

    /// The mean absolute error; `None` without finite results.
    pub fn mean_error(&self) -> Option<f64> {
        let finite = self.losses.finite();
        (finite > 0).then(|| self.sum_error / finite as f64)
    }
}

/// Values that are compared at a time.
const LANES: usize = 8;

#[derive(Clone, Copy, Default)]
struct DeviationLanes {
    /// Values unchanged, too large, and rounded to zero; results NaN, and finite; values NaN, and infinite.
    counts: [[u64; LANES]; 7],
    most: [f64; LANES],
    errors: [f64; LANES],
    squared_errors: [f64; LANES],
    squared_values: [f64; LANES],
}

impl DeviationLanes {
    /// Adds one value, without a branch.
    #[inline(always)]
    fn add(&mut self, lane: usize, x: f64, y: f64, limits: [f64; 2]) {
        let limit = if x < 0.0 { limits[1] } else { limits[0] };
        let finite = x.is_finite() & y.is_finite();
        let (value, error) = if finite { (x, (y - x).abs()) } else { (0.0, 0.0) };
        self.counts[0][lane] += u64::from((x == y) | (x.is_nan() & y.is_nan()));
        self.counts[1][lane] += u64::from(x.abs() > limit);
        self.counts[2][lane] += u64::from((y == 0.0) & (x != 0.0));
        self.counts[3][lane] += u64::from(y.is_nan());
        self.counts[4][lane] += u64::from(finite);
        self.counts[5][lane] += u64::from(x.is_nan());
        self.counts[6][lane] += u64::from(x.is_infinite());
        self.most[lane] = if error > self.most[lane] { error } else { self.most[lane] };
        self.errors[lane] += error;
        self.squared_errors[lane] += error * error;
        self.squared_values[lane] += value * value;
    }

    /// Adds a finite value with a finite result: whether it is unchanged, and the sums.
    #[inline(always)]
    fn add_number(&mut self, lane: usize, x: f64, y: f64) {
        let error = (y - x).abs();
        self.counts[0][lane] += u64::from(error == 0.0);
        self.most[lane] = if error > self.most[lane] { error } else { self.most[lane] };
        self.errors[lane] += error;
        self.squared_errors[lane] += error * error;
        self.squared_values[lane] += x * x;
    }
}

/// Results that follow one another, of one scale.
struct ScaleRun {
    count: usize,
    scale: f64,
}

impl ScaleRun {
    /// True if the run fits [`compare_numbers`]: whole lanes, and a finite scale other than zero.
    fn is_plain(&self) -> bool {
        self.count.is_multiple_of(2 * LANES) && self.scale.is_finite() && self.scale != 0.0
    }
}

fn are_finite(values: &[f32]) -> bool {
    let mut largest = [0];
    largest_magnitudes(values, values.len().max(1), &mut largest);
    f32::from_bits(largest[0]).is_finite()
}

/// The largest `f32` that is no larger than a positive number.
#[inline(always)]
fn rounded_down(limit: f64) -> f32 {
    let near = limit as f32;
    if f64::from(near) > limit { f32::from_bits(near.to_bits() - 1) } else { near }
}

/// A number that is a double, too.
trait ComparedNumber: Copy + Into<f64> {}

impl ComparedNumber for f32 {}
impl ComparedNumber for f64 {}

vectorised! {
    /// Compares values with their results, run by run; `unscaled` results lack the scale of their run.
    ///
    /// `largest` has the largest magnitudes of positive and of negative results, before the scale.
    fn compare<X: ComparedNumber>(
        xs: &[X], ys: &[X], runs: &[ScaleRun], unscaled: bool, largest: [f64; 2], lanes: &mut DeviationLanes,
    ) {
        // A copy, and places instead of iterators: what the loop adds to stays in registers.
        let (mut sums, mut start) = (*lanes, 0);
        for run in runs {
            let limits = limits(largest, run.scale);
            let factor = if unscaled { run.scale } else { 1.0 };
            let (x, y) = (&xs[start..start + run.count], &ys[start..start + run.count]);
            let (x_lanes, y_lanes) = (x.as_chunks::<LANES>().0, y.as_chunks::<LANES>().0);
            for at in 0..x_lanes.len() {
                let (x, y) = (&x_lanes[at], &y_lanes[at]);
                for lane in 0..LANES {
                    sums.add(lane, x[lane].into(), y[lane].into() * factor, limits);
                }
            }
            for at in x_lanes.len() * LANES..run.count {
                sums.add(0, x[at].into(), y[at].into() * factor, limits);
            }
            start += run.count;
        }
        *lanes = sums;
    }
}

vectorised! {
    /// [`compare`] for finite values and unscaled results, in runs that are [plain](Run::is_plain).
    ///
    /// It takes half the time, since the counts follow from fewer and narrower comparisons.
    fn compare_numbers(xs: &[f32], ys: &[f32], runs: &[ScaleRun], largest: [f64; 2], lanes: &mut DeviationLanes) {
        let (mut sums, mut start) = (*lanes, 0);
        let (mut too_large, mut to_zero) = ([0u32; 2 * LANES], [0u32; 2 * LANES]);
        for run in runs {
            let [positive, negative] = limits(largest, run.scale);
            let limits = [rounded_down(positive), rounded_down(negative)];
            let (x, y) = (&xs[start..start + run.count], &ys[start..start + run.count]);
            let (x_lanes, y_lanes) = (x.as_chunks::<{ 2 * LANES }>().0, y.as_chunks::<{ 2 * LANES }>().0);
            for at in 0..x_lanes.len() {
                let (x, y) = (&x_lanes[at], &y_lanes[at]);
                for lane in 0..2 * LANES {
                    let limit = if x[lane] < 0.0 { limits[1] } else { limits[0] };
                    too_large[lane] += u32::from(x[lane].abs() > limit);
                    to_zero[lane] += u32::from((y[lane] == 0.0) & (x[lane] != 0.0));
                }
                for lane in 0..LANES {
                    sums.add_number(lane, x[lane].into(), f64::from(y[lane]) * run.scale);
                }
                for lane in 0..LANES {
                    sums.add_number(lane, x[LANES + lane].into(), f64::from(y[LANES + lane]) * run.scale);
                }
            }
            start += run.count;
        }
        sums.counts[4][0] += start as u64;
        for lane in 0..LANES {
            sums.counts[1][lane] += u64::from(too_large[lane]) + u64::from(too_large[LANES + lane]);
            sums.counts[2][lane] += u64::from(to_zero[lane]) + u64::from(to_zero[LANES + lane]);
        }
        *lanes = sums;
    }
}

/// The largest magnitudes of positive and of negative numbers of a format; in a block, times its scale.
fn largest(kind: TensorKind) -> [f64; 2] {
    match kind {
        TensorKind::Scalar(format) => [false, true].map(|negative| {
            let value = format.to_f64(format.largest(negative));
            // Formats without negative numbers have zero at most, or nothing.
            if (value < 0.0) == negative { value.abs() } else { 0.0 }
        }),
        // Where values reach depends on the offset of a block: none is counted.
        TensorKind::Blocks(format, _) if format.offset.is_some() => [f64::INFINITY; 2],
        TensorKind::Blocks(format, _) => format.element.largest_magnitudes(),
    }
}

/// The largest magnitudes of positive and of negative results under a scale, which may be negative.
#[inline(always)]
fn limits(largest: [f64; 2], scale: f64) -> [f64; 2] {
    // Under a scale of zero values become zero: they are lost, and not because they are large.
    if scale == 0.0 {
        return [f64::INFINITY; 2];
    }
    let [positive, negative] = [largest[0] * scale.abs(), largest[1] * scale.abs()];
    if scale < 0.0 { [negative, positive] } else { [positive, negative] }
}

/// True if two values are equal, NaN to NaN and zeros of either sign too.
fn is_same(x: &Real, y: &Real) -> bool {
    match (x, y) {
        (Real::Finite(x), Real::Finite(y)) => {
            (x.negative == y.negative || x.is_zero() && y.is_zero()) && x.compare_magnitudes(y).is_eq()
        }
        _ => x == y,
    }
}

/// True if a value is beyond the largest number of its sign in a format.
fn is_beyond(x: &Real, format: &Format) -> bool {
    match x {
        Real::Nan => false,
        Real::Infinity { .. } => true,
        Real::Finite(x) => match format.value(format.largest(x.negative)) {
            Real::Finite(largest) if largest.negative == x.negative => x.compare_magnitudes(&largest).is_gt(),
            _ => !x.is_zero(),
        },
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{
        base::vectors::{FORCED, Vectors},
        format::{
            Overflow, Rounding,
            block::{self, Quantizer},
            find,
        },
        isa::Codes,
        tensor::{ConversionTarget, convert},
    };

    fn deviations(from: &str, codes: &[u64], to: &str) -> Deviations {
        let from = find(from).unwrap();
        let target = ConversionTarget::Scalar {
            format: find(to).unwrap(),
            rounding: Rounding::Rne,
            overflow: Overflow::Saturate,
        };
        let source = Tensor::Scalar(from, Codes::from_values(from, codes));
        convert(&source, codes.len(), &target).unwrap().1
    }

    /// The results of [`compare`] and [`compare_numbers`].
    fn both(xs: &[f32], ys: &[f32], runs: &[ScaleRun], largest: [f64; 2]) -> [Deviations; 2] {
        let mut lanes = [DeviationLanes::default(); 2];
        compare(xs, ys, runs, true, largest, &mut lanes[0]);
        compare_numbers(xs, ys, runs, largest, &mut lanes[1]);
        lanes.map(|lanes| Deviations::of_lanes(xs.len(), &lanes))
    }

    #[test]
    fn finite_values_are_compared_with_the_same_sums_with_every_instruction_set() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        for vectors in Vectors::all() {
            FORCED.set(Some(vectors));
            for count in [16, 32, 48, 336] {
                for scale in [1.0, 0.3, 1e-40, 3e38, -0.7] {
                    let mut value = || match rng.random_range(0..8) {
                        0 => 0.0,
                        1 => -0.0,
                        2 => f32::from_bits(rng.random_range(0..1 << 23)),
                        _ => {
                            f32::from_bits(rng.random_range(0..f32::INFINITY.to_bits()) | rng.random_range(0..2) << 31)
                        }
                    };
                    let xs: Vec<f32> = (0..2 * count).map(|_| value()).collect();
                    let ys: Vec<f32> = (0..2 * count).map(|at| if at % 5 == 0 { xs[at] } else { value() }).collect();
                    let runs = [ScaleRun { count, scale }, ScaleRun { count, scale: 2.0 * scale }];
                    for largest in [[448.0, 448.0], [127.0, 128.0], [1e30, 0.0], [f64::MAX / 1e40, 3.5e38]] {
                        let [each, numbers] = both(&xs, &ys, &runs, largest);
                        assert_eq!(each, numbers, "{count} by {scale:e}, up to {largest:?}");
                    }
                }
            }
            FORCED.set(None);
        }
    }

    fn floats(values: &[f32]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits().into()).collect()
    }

    #[test]
    fn a_value_is_too_large_beyond_the_largest_number_of_its_own_sign() {
        let d = deviations("f32", &floats(&[-128.0, -129.0, 127.0, 128.0, 5.0]), "s8");
        assert_eq!((d.losses.exact, d.losses.saturated), (3, 2));
        let d = deviations("f32", &floats(&[-5.0, 0.0, -0.0, 255.0, 256.0]), "u8");
        assert_eq!((d.losses.exact, d.losses.saturated, d.losses.to_zero), (3, 2, 1));
        let d = deviations("f32", &floats(&[448.0, -448.0, 449.0, f32::NEG_INFINITY]), "e4m3");
        assert_eq!((d.losses.exact, d.losses.saturated), (2, 2));
    }

    #[test]
    fn under_a_negative_scale_the_most_negative_element_is_the_largest_value() {
        let f32 = find("f32").unwrap();
        let values: Vec<f32> = [8.0, -8.0, -7.0].into_iter().chain([0.0; 29]).collect();
        let source = Tensor::Scalar(f32, Codes::from_values(f32, &floats(&values)));
        let target = ConversionTarget::Blocks(Quantizer::new(block::find("q4-0").unwrap()));
        let d = convert(&source, 32, &target).unwrap().1;
        assert_eq!((d.losses.exact, d.losses.saturated), (31, 1));
    }

    #[test]
    fn integers_that_are_no_doubles_are_compared_exactly() {
        let wide = 1 << 53;
        let d = deviations("u64", &[wide, wide + 1, u64::MAX, 0], "f64");
        assert_eq!((d.losses.values, d.losses.exact, d.losses.saturated), (4, 2, 0));
        let d = deviations("u64", &[i64::MAX as u64, 1 << 63, u64::MAX, wide + 1], "s64");
        assert_eq!((d.losses.exact, d.losses.saturated), (2, 2));
        let minus = |value: i64| value as u64;
        let d = deviations("s64", &[minus(-1), minus(i64::MIN), minus(-(1 << 53) - 1)], "f64");
        assert_eq!((d.losses.exact, d.losses.saturated), (2, 0));
        let d = deviations("s64", &[minus(-1), 3, minus(i64::MIN)], "u64");
        assert_eq!((d.losses.exact, d.losses.saturated, d.losses.to_zero), (1, 2, 2));
    }
}
