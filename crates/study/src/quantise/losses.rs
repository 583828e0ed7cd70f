//! Losses of quantisation: counts, energies and histograms, gathered run by run.

use crate::{
    base::vectors::vectorised,
    tensor::{Energies, Losses},
};

const BELOW_EXPONENT: u32 = 23;
const INFINITY: u32 = 0x7f80_0000;
/// Binades of `f32` by exponent bits: 0 for zero and subnormal numbers, 255 for infinities and NaN.
pub(super) const BINADES: usize = 256;
/// The worst runs that are kept.
pub(super) const WORST: usize = 3;
/// Values that the vectorised loops take at a time.
const LANES: usize = 16;

/// Other losses of the values of some runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct RowLosses {
    /// The sum of the values times their errors.
    cross: f64,
    /// The largest error, as the bits of an `f32`.
    largest: u32,
    saturated: u32,
    subnormal: u32,
    to_zero: u32,
    exact: u32,
    void: u32,
}

/// Bounds of a run: the ends beyond which values saturate, and the smallest normal magnitude.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodeLimits {
    pub(super) largest: f32,
    pub(super) most_negative: f32,
    pub(super) normal: f32,
}

impl CodeLimits {
    /// The bounds under a scale of either sign; `widened` multiplies those of values.
    pub(super) fn under(self, scale: f32, widened: f32) -> CodeLimits {
        let ends = [self.largest * scale * widened, self.most_negative * scale * widened];
        let [largest, most_negative] = match scale {
            // Values become zero: they are lost, and not because they are large.
            0.0 => [f32::INFINITY, f32::NEG_INFINITY],
            _ if scale < 0.0 => [ends[1], ends[0]],
            _ => ends,
        };
        CodeLimits { largest, most_negative, normal: self.normal * scale.abs() }
    }
}

vectorised! {
    /// Computes the losses of runs of `length` values of `x` with results `y`; fewer than 2^32.
    pub(super) fn losses_of_runs(x: &[f32], y: &[f32], length: usize, limits: &[CodeLimits], runs: &mut [Energies]) -> RowLosses {
        let mut lanes = LossLanes::default();
        let limits = &limits[..runs.len()];
        let is_whole = length.is_multiple_of(LANES) && x.len().is_multiple_of(LANES);
        for (at, run) in runs.iter_mut().enumerate() {
            let range = at * length..x.len().min((at + 1) * length);
            let (x, y) = (&x[range.clone()], &y[range]);
            *run = match is_whole {
                true => losses_of_run::<false>(x, y, limits[at], &mut lanes),
                false => losses_of_run::<true>(x, y, limits[at], &mut lanes),
            };
        }
        let [saturated, subnormal, to_zero, exact, void] = lanes.counts.map(|lanes| lanes.iter().sum());
        let largest = lanes.largest.iter().fold(0, |most, lane| *lane.max(&most));
        RowLosses { cross: total(&lanes.cross), largest, saturated, subnormal, to_zero, exact, void }
    }
}

#[derive(Default)]
struct LossLanes {
    cross: [f64; LANES],
    counts: [[u32; LANES]; 5],
    largest: [u32; LANES],
}

/// Losses of a run; without `REST`, its length is a multiple of the lanes and sums stay in registers.
#[inline(always)]
fn losses_of_run<const REST: bool>(x: &[f32], y: &[f32], limits: CodeLimits, lanes: &mut LossLanes) -> Energies {
    let (mut signal, mut noise) = ([0.0; LANES], [0.0; LANES]);
    let y = &y[..x.len()];
    let (x_lanes, y_lanes) = (x.as_chunks::<LANES>().0, y.as_chunks::<LANES>().0);
    for at in 0..x_lanes.len() {
        let (x, y) = (&x_lanes[at], &y_lanes[at]);
        for lane in 0..LANES {
            add(x[lane], y[lane], limits, lane, lanes, &mut signal, &mut noise);
        }
    }
    if REST {
        for at in x_lanes.len() * LANES..x.len() {
            add(x[at], y[at], limits, 0, lanes, &mut signal, &mut noise);
        }
    }
    Energies { signal: total(&signal), noise: total(&noise) }
}

/// The sum of all lanes, by halves.
#[inline(always)]
fn total(lanes: &[f64; LANES]) -> f64 {
    let (mut eight, mut four, mut two) = ([0.0; 8], [0.0; 4], [0.0; 2]);
    for at in 0..8 {
        eight[at] = lanes[at] + lanes[at + 8];
    }
    for at in 0..4 {
        four[at] = eight[at] + eight[at + 4];
    }
    for at in 0..2 {
        two[at] = four[at] + four[at + 2];
    }
    two[0] + two[1]
}

/// Adds one value to the sums of a lane, without a branch.
#[inline(always)]
fn add(
    x: f32,
    y: f32,
    limits: CodeLimits,
    lane: usize,
    lanes: &mut LossLanes,
    signal: &mut [f64; LANES],
    noise: &mut [f64; LANES],
) {
    let (x_size, y_size) = (x.to_bits() & u32::MAX >> 1, y.to_bits() & u32::MAX >> 1);
    let given = x_size < INFINITY;
    let counted = given & (y_size < INFINITY);
    let (value, result) = (if counted { x } else { 0.0 }, if counted { y } else { 0.0 });
    let (wide, error) = (f64::from(value), f64::from(result) - f64::from(value));
    signal[lane] += wide * wide;
    noise[lane] += error * error;
    lanes.cross[lane] += wide * error;
    let size = (result - value).to_bits() & u32::MAX >> 1;
    lanes.largest[lane] = lanes.largest[lane].max(size);
    lanes.counts[0][lane] += u32::from(given & ((value > limits.largest) | (value < limits.most_negative)));
    lanes.counts[1][lane] += u32::from((result.abs() < limits.normal) & (result != 0.0));
    lanes.counts[2][lane] += u32::from((result == 0.0) & (value != 0.0));
    lanes.counts[3][lane] += u32::from(counted & (x == y));
    lanes.counts[4][lane] += u32::from(given & !counted);
}

/// A run that lost much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WorstRun {
    /// Energy of the errors over the energy of the values.
    pub(super) ratio: f64,
    /// The place of its first value in the tensor, in the order in which it is read.
    pub(super) at: u64,
    pub(super) largest: f32,
}

/// Counts by binade.
#[derive(Debug, Clone)]
pub(super) struct BinadeCounts(pub(super) Box<[u64; BINADES]>);

impl Default for BinadeCounts {
    fn default() -> BinadeCounts {
        BinadeCounts(Box::new([0; BINADES]))
    }
}

impl BinadeCounts {
    fn add(&mut self, other: &BinadeCounts) {
        self.0.iter_mut().zip(other.0.iter()).for_each(|(sum, count)| *sum += count);
    }
}

/// Losses of all values of a tensor, or of several, under one target.
#[derive(Debug, Clone, Default)]
pub(super) struct TargetLosses {
    pub(super) losses: Losses,
    /// Largest finite magnitude of the values.
    pub(super) largest: f32,
    /// Results among the subnormal numbers.
    pub(super) subnormal: u64,
    /// The sum of the values times their errors.
    pub(super) cross: f64,
    pub(super) errors: BinadeCounts,
    pub(super) scales: BinadeCounts,
    /// Tensors with a scale of their own beside those of blocks.
    pub(super) tensor_scales: u64,
    /// The runs that lost most, in descending order.
    pub(super) worst: Vec<WorstRun>,
}

impl TargetLosses {
    /// Adds the counts of values whose runs are added by [`TargetLosses::add_row`].
    pub(super) fn add_rest(&mut self, rest: &RowLosses) {
        let losses = &mut self.losses;
        self.cross += rest.cross;
        losses.saturated += u64::from(rest.saturated);
        self.subnormal += u64::from(rest.subnormal);
        losses.to_zero += u64::from(rest.to_zero);
        losses.exact += u64::from(rest.exact);
        losses.void += u64::from(rest.void);
        losses.max_error = losses.max_error.max(f64::from(f32::from_bits(rest.largest)));
    }

    /// Adds a row of values `x`, from place `at` of its tensor on, in runs of `length`.
    pub(super) fn add_row(&mut self, x: &[f32], y: &[f32], at: u64, length: usize, runs: &[Energies]) {
        self.losses.values += x.len() as u64;
        for (number, run) in runs.iter().enumerate() {
            self.losses.energies.add(run);
            if run.noise > self.least_of_worst() * run.signal {
                let range = number * length..x.len().min((number + 1) * length);
                let finite = x[range].iter().map(|value| value.abs()).filter(|size| size.is_finite());
                self.keep(WorstRun {
                    ratio: run.noise / run.signal,
                    at: at + (number * length) as u64,
                    largest: finite.fold(0.0, f32::max),
                });
            }
        }
        bin_errors(x, y, &mut self.errors.0);
    }

    fn least_of_worst(&self) -> f64 {
        if self.worst.len() < WORST { 0.0 } else { self.worst[WORST - 1].ratio }
    }

    fn keep(&mut self, run: WorstRun) {
        let place = self.worst.iter().position(|kept| kept.ratio < run.ratio).unwrap_or(self.worst.len());
        self.worst.insert(place, run);
        self.worst.truncate(WORST);
    }

    /// Adds the losses of values that come after these.
    pub(super) fn add(&mut self, other: &TargetLosses) {
        self.losses.add(&other.losses);
        self.largest = self.largest.max(other.largest);
        self.subnormal += other.subnormal;
        self.cross += other.cross;
        self.errors.add(&other.errors);
        self.scales.add(&other.scales);
        self.tensor_scales += other.tensor_scales;
        other.worst.iter().for_each(|run| self.keep(*run));
    }

    pub(super) fn add_scale(&mut self, scale: f32) {
        self.scales.0[binade(scale)] += 1;
    }

    /// The cosine of the angle between the values and the results.
    pub(super) fn cosine(&self) -> Option<f64> {
        let Energies { signal, noise } = self.losses.energies;
        let result = signal + 2.0 * self.cross + noise;
        (signal > 0.0 && result > 0.0).then(|| (signal + self.cross) / (signal * result).sqrt())
    }
}

fn binade(value: f32) -> usize {
    (value.to_bits() >> BELOW_EXPONENT) as usize & (BINADES - 1)
}

vectorised! {
    fn binades_of_errors(x: &[f32], y: &[f32], binades: &mut [u8]) {
        let (x, y) = (&x[..binades.len()], &y[..binades.len()]);
        for (at, binade) in binades.iter_mut().enumerate() {
            *binade = ((y[at] - x[at]).to_bits() >> BELOW_EXPONENT) as u8;
        }
    }
}

/// Counts the errors by binade, in four tables in turn: one counter would wait for its last increment.
fn bin_errors(x: &[f32], y: &[f32], bins: &mut [u64; BINADES]) {
    const TOGETHER: usize = 1 << 10;
    let mut tables = [[0u32; BINADES]; 4];
    let mut binades = [0u8; TOGETHER];
    for (x, y) in x.chunks(TOGETHER).zip(y.chunks(TOGETHER)) {
        let binades = &mut binades[..x.len()];
        binades_of_errors(x, y, binades);
        let (fours, rest) = binades.as_chunks::<4>();
        for four in fours {
            tables[0][usize::from(four[0])] += 1;
            tables[1][usize::from(four[1])] += 1;
            tables[2][usize::from(four[2])] += 1;
            tables[3][usize::from(four[3])] += 1;
        }
        rest.iter().for_each(|bin| tables[0][usize::from(*bin)] += 1);
    }
    for table in &tables {
        bins.iter_mut().zip(table).for_each(|(bin, count)| *bin += u64::from(*count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::vectors::{FORCED, Vectors};

    const LIMITS: CodeLimits = CodeLimits { largest: 4.0, most_negative: -4.0, normal: 0.5 };

    #[test]
    fn the_ends_of_a_format_change_places_under_a_negative_scale() {
        let ends = CodeLimits { largest: 7.0, most_negative: -8.0, normal: 0.0 };
        for (scale, expected) in [(2.0, (14.0, -16.0)), (-2.0, (16.0, -14.0))] {
            let limits = ends.under(scale, 1.0);
            assert_eq!((limits.largest, limits.most_negative), expected, "{scale}");
        }
    }

    #[test]
    fn each_loss_is_counted_once_with_every_instruction_set() {
        let mut x = vec![1.0f32; 35];
        let mut y = x.clone();
        let cases: [(f32, f32); 7] = [
            (5.0, 4.0),
            (0.1, 0.0),
            (0.3, 0.25),
            (f32::NAN, f32::NAN),
            (f32::NEG_INFINITY, -4.0),
            (2.0, f32::NAN),
            (-0.0, 0.0),
        ];
        // Within the lanes, and after them.
        for start in [0, 28] {
            for (at, (from, to)) in (start..).zip(cases) {
                (x[at], y[at]) = (from, to);
            }
        }
        for vectors in Vectors::all() {
            FORCED.set(Some(vectors));
            let mut run = [Energies::default()];
            let rest = losses_of_runs(&x, &y, 35, &[LIMITS], &mut run);
            FORCED.set(None);
            let run = run[0];
            assert_eq!((rest.saturated, rest.subnormal, rest.to_zero, rest.void), (2, 2, 2, 2));
            assert_eq!(rest.exact, 35 - 14 + 2);
            assert_eq!(rest.largest, 1f32.to_bits());
            let tenth = f64::from(0.1f32);
            let small = f64::from(0.3f32);
            let signal = 21.0 + 2.0 * (25.0 + tenth * tenth + small * small);
            let noise = 2.0 * (1.0 + tenth * tenth + (small - 0.25) * (small - 0.25));
            assert!((run.signal - signal).abs() < 1e-12 && (run.noise - noise).abs() < 1e-12, "{run:?}");
        }
    }

    #[test]
    fn the_worst_runs_are_those_of_the_whole_whatever_the_order_in_which_parts_are_added() {
        let part = |ratios: &[f64]| {
            let mut losses = TargetLosses::default();
            ratios.iter().for_each(|ratio| losses.keep(WorstRun { ratio: *ratio, at: 0, largest: 1.0 }));
            losses
        };
        let ratios = |losses: &TargetLosses| losses.worst.iter().map(|run| run.ratio).collect::<Vec<_>>();
        let mut sum = part(&[0.1, 0.5, 0.2, 0.4]);
        assert_eq!(ratios(&sum), [0.5, 0.4, 0.2]);
        sum.add(&part(&[0.3, 0.6]));
        assert_eq!(ratios(&sum), [0.6, 0.5, 0.4]);
    }

    #[test]
    fn errors_fall_into_the_binade_of_their_magnitude() {
        let mut bins = [0; BINADES];
        bin_errors(&[1.0, 1.0, 1.0, 3.0, 0.0], &[1.0, 1.5, 0.25, 1.0, 2.5], &mut bins);
        let filled: Vec<(usize, u64)> = bins.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0, 1), (126, 2), (128, 2)]);
    }
}
