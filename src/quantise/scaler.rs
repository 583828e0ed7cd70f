//! Quantisation of a panel of rows: the scale of each run, and the quantised values.

use super::{
    losses::{CodeLimits, RowLosses, RunLosses, losses_of_runs},
    scale::PlainRule,
    target::{QuantisationTarget, Sharing},
};
use crate::{
    Result,
    base::vectors::vectorised,
    convert::{FormatDecoder, FormatEncoder},
    format::{
        Format, Overflow, Real, Rounding,
        block::{BlockFormat, Dequantizer, Element, Quantizer, ScaleRule, VectorQuantizer},
        slices::{self, BlockedSlice, largest_finite, nearest_f32},
    },
};

/// The length of runs where no scale ends within a row: what losses are compared by.
const PLAIN_RUN: usize = 128;
/// Number of the last candidate of the rule of least error.
///
/// Candidates are steps of an eighth of an octave from the double to a quarter, and the next power of two.
const CANDIDATES: i32 = 25;
/// Steps above the scale of `absmax`.
const ABOVE: i32 = 8;
/// Factor on the largest number times its scale, both rounded, beyond which a value is saturated.
const ROUNDED: f32 = 1.0 + 4.0 * f32::EPSILON;

/// Rounding to the numbers of a format of up to 16 bits.
pub(super) struct FormatRounder {
    format: &'static Format,
    encoder: FormatEncoder,
    decoder: FormatDecoder,
}

impl FormatRounder {
    fn new(format: &'static Format, rounding: Rounding, symmetric: bool) -> Result<FormatRounder> {
        let encoder = FormatEncoder::new(format, rounding, Overflow::Saturate)?;
        let encoder = if symmetric { encoder.symmetric() } else { encoder };
        Ok(FormatRounder { format, encoder, decoder: FormatDecoder::new(format)? })
    }

    /// Writes the rounded numbers; `random` has a word for each value, for stochastic rounding.
    fn round(&self, values: &[f32], random: Option<&[u64]>, results: &mut [f32]) -> Result<()> {
        let mut codes = vec![0; values.len() * self.format.bytes()];
        self.encoder.encode(values, random, &mut codes)?;
        self.decoder.decode(&codes, results);
        Ok(())
    }
}

pub(super) struct Scaler<'a> {
    rounder: FormatRounder,
    /// The largest number of the format and the smallest normal one, before the scale.
    limits: CodeLimits,
    /// Values of a run.
    pub(super) length: usize,
    kind: ScaleSource<'a>,
}

enum ScaleSource<'a> {
    /// Numbers of the format as they are.
    Unscaled,
    /// A scale for each group of rows.
    Rows { groups: &'a RowGroups, scales: Vec<f32> },
    /// A scale for each block of this many rows.
    Plain { rule: PlainRule, rows: usize, largest: f32 },
    /// Blocks of a block format.
    Blocks(Box<BlockScaler<'a>>),
}

struct BlockScaler<'a> {
    /// The fast conversion; `None`: the exact one serves all values.
    vectorised: Option<(VectorQuantizer<'a>, Dequantizer)>,
    exact: &'a Quantizer,
    /// Elements are rounded here, at random, under the scales of the conversion.
    by_hand: bool,
    rows: usize,
}

/// Groups of consecutive rows that share a scale.
#[derive(Debug)]
pub(super) struct RowGroups {
    /// Rows of a group.
    pub(super) rows: usize,
    /// The largest finite magnitude of each group, as the bits of an `f32`.
    pub(super) largest: Vec<u32>,
}

pub(super) struct Quantised {
    pub(super) values: Vec<f32>,
    pub(super) scales: Vec<f32>,
    /// The energies of each run.
    pub(super) runs: Vec<RunLosses>,
    /// Other losses of each row.
    pub(super) rows: Vec<RowLosses>,
}

#[derive(Clone, Copy)]
pub(super) struct PanelValues<'a> {
    /// Row by row.
    pub(super) values: &'a [f32],
    /// Values of a row.
    pub(super) columns: usize,
    /// The first row's place in the tensor.
    pub(super) first_row: usize,
    /// Random bits for each, for stochastic rounding.
    pub(super) random: Option<&'a [u64]>,
}

/// The scale of a plain format by a rule; for the least error, the scale of `absmax`.
fn plain_scale(rule: PlainRule, amax: u32, largest: f32) -> f32 {
    rule.scale(f32::from_bits(amax).into(), largest.into(), f32::from_bits(1))
}

/// Candidate number `step` of the rule of least error, of the scale of `absmax`.
fn candidate(scale: f32, step: i32) -> f32 {
    if step == CANDIDATES {
        return PlainRule::PowerOfTwo.scale(scale.into(), 1.0, f32::from_bits(1));
    }
    ((f64::from(scale) * (f64::from(ABOVE - step) / 8.0).exp2()) as f32).clamp(f32::from_bits(1), f32::MAX)
}

impl<'a> Scaler<'a> {
    /// For a target other than groups of rows.
    pub(super) fn new(
        target: &QuantisationTarget,
        quantizer: Option<&'a Quantizer>,
        largest: u32,
        rounding: Rounding,
    ) -> Result<Scaler<'a>> {
        match (target, quantizer) {
            (QuantisationTarget::Blocks { format, .. }, Some(quantizer)) => {
                Scaler::of_blocks(format, quantizer, largest, rounding)
            }
            (QuantisationTarget::Plain { format, rule, sharing }, _) => {
                let (length, kind) = match sharing {
                    Sharing::Blocks { rows, columns } => (
                        *columns,
                        ScaleSource::Plain {
                            rule: *rule,
                            rows: *rows,
                            largest: nearest_f32(format, format.largest(false)),
                        },
                    ),
                    _ => (PLAIN_RUN, ScaleSource::Unscaled),
                };
                Ok(Scaler {
                    rounder: FormatRounder::new(format, rounding, false)?,
                    limits: limits(format),
                    length,
                    kind,
                })
            }
            (QuantisationTarget::Blocks { .. }, None) => unreachable!("a block format has a quantizer"),
        }
    }

    fn of_blocks(
        format: &'static BlockFormat,
        quantizer: &'a Quantizer,
        largest: u32,
        rounding: Rounding,
    ) -> Result<Scaler<'a>> {
        let vectorised = VectorQuantizer::new(quantizer, largest);
        let vectorised = vectorised.and_then(|own| {
            let dequantizer = Dequantizer::new(format, own.tensor_scale())?;
            Some((own, dequantizer))
        });
        let (by_hand, rows) = (matches!(rounding, Rounding::Sr { .. }), format.rows);
        Ok(Scaler {
            rounder: FormatRounder::new(format.element.format, rounding, format.element.symmetric)?,
            limits: CodeLimits { most_negative: most_negative(&format.element), ..limits(format.element.format) },
            length: format.length,
            kind: ScaleSource::Blocks(Box::new(BlockScaler { vectorised, exact: quantizer, by_hand, rows })),
        })
    }

    /// For a plain format with a scale for each group of rows; scales of the least error are chosen later.
    pub(super) fn of_rows(
        format: &'static Format,
        rule: PlainRule,
        groups: &'a RowGroups,
        rounding: Rounding,
    ) -> Result<Scaler<'a>> {
        let largest = nearest_f32(format, format.largest(false));
        let scales = groups.largest.iter().map(|amax| plain_scale(rule, *amax, largest)).collect();
        Ok(Scaler {
            rounder: FormatRounder::new(format, rounding, false)?,
            limits: limits(format),
            length: PLAIN_RUN,
            kind: ScaleSource::Rows { groups, scales },
        })
    }

    pub(super) fn quantise(&self, panel: PanelValues) -> Result<Quantised> {
        let per_row = panel.columns.div_ceil(self.length);
        let rows = panel.values.len() / panel.columns.max(1);
        match &self.kind {
            ScaleSource::Unscaled => self.under(panel, vec![1.0; rows * per_row]),
            ScaleSource::Rows { groups, scales } => self.under(panel, of_each_row(panel, groups, scales, per_row)),
            ScaleSource::Plain { rule: PlainRule::LeastError, rows, largest } => {
                let highest = self.block_scales(panel, PlainRule::Absmax, *rows, *largest);
                self.least(panel, *rows, CANDIDATES as usize + 1, |run, step| candidate(highest[run], step as i32))
            }
            ScaleSource::Plain { rule, rows, largest } => {
                self.under(panel, self.block_scales(panel, *rule, *rows, *largest))
            }
            ScaleSource::Blocks(blocks) => self.blocks(panel, blocks),
        }
    }

    /// For each candidate of the rule of least error, the sum of the squares of the errors of each row.
    pub(super) fn noise_of_candidates(&self, panel: PanelValues) -> Result<Vec<Vec<f64>>> {
        let ScaleSource::Rows { groups, scales } = &self.kind else { return Ok(Vec::new()) };
        let per_row = panel.columns.div_ceil(self.length).max(1);
        let of_step = |step| {
            let lowered: Vec<f32> = scales.iter().map(|scale| candidate(*scale, step)).collect();
            let runs = self.under(panel, of_each_row(panel, groups, &lowered, per_row))?.runs;
            Ok(runs.chunks(per_row).map(|runs| runs.iter().map(|run| run.noise).sum()).collect())
        };
        (0..=CANDIDATES).map(of_step).collect()
    }

    /// Takes for each group of rows the candidate with the least noise: `noise[candidate][group]`.
    pub(super) fn choose(&mut self, noise: &[Vec<f64>]) {
        let ScaleSource::Rows { scales, .. } = &mut self.kind else { return };
        for (group, scale) in scales.iter_mut().enumerate() {
            let best = (0..noise.len()).min_by(|x, y| noise[*x][group].total_cmp(&noise[*y][group]));
            *scale = candidate(*scale, best.unwrap_or(0) as i32);
        }
    }

    /// The scales of the blocks of a panel, each once; `scales` has `per_row` for each row.
    pub(super) fn scales_of_panel<'p>(&self, scales: &'p [f32], per_row: usize) -> impl Iterator<Item = f32> + 'p {
        let rows = match &self.kind {
            ScaleSource::Unscaled | ScaleSource::Rows { .. } => usize::MAX,
            ScaleSource::Plain { rows, .. } => *rows,
            ScaleSource::Blocks(blocks) => blocks.rows,
        };
        let own = if rows == usize::MAX { &[][..] } else { scales };
        own.chunks(per_row.max(1)).step_by(rows.min(1 << 20)).flatten().copied()
    }

    pub(super) fn scales_of_groups(&self) -> &[f32] {
        match &self.kind {
            ScaleSource::Rows { scales, .. } => scales,
            _ => &[],
        }
    }

    /// The scales of blocks of `rows` rows and [`Scaler::length`] columns, for each run.
    fn block_scales(&self, panel: PanelValues, rule: PlainRule, rows: usize, largest: f32) -> Vec<f32> {
        let per_row = panel.columns.div_ceil(self.length);
        let mut scales = Vec::new();
        for band in panel.values.chunks(rows * panel.columns) {
            let mut most = vec![0; per_row];
            for row in band.chunks(panel.columns) {
                row.chunks(self.length).zip(&mut most).for_each(|(run, most)| *most = largest_finite(run).max(*most));
            }
            let of_band: Vec<f32> = most.into_iter().map(|amax| plain_scale(rule, amax, largest)).collect();
            (0..band.len() / panel.columns).for_each(|_| scales.extend_from_slice(&of_band));
        }
        scales
    }

    /// The panel under these scales, one for each run.
    fn under(&self, panel: PanelValues, scales: Vec<f32>) -> Result<Quantised> {
        let mut values = vec![0.0; panel.values.len()];
        let scaled = !matches!(self.kind, ScaleSource::Unscaled);
        if scaled {
            let mut quotients = vec![0.0; values.len()];
            for ((from, to), scales) in self.stretches(panel, panel.values, &mut quotients, &scales) {
                divide(from, self.length, scales, to);
            }
            let mut rounded = vec![0.0; values.len()];
            self.rounder.round(&quotients, panel.random, &mut rounded)?;
            for ((from, to), scales) in self.stretches(panel, &rounded, &mut values, &scales) {
                slices::scale(from, BlockedSlice { length: self.length, each: scales }, 1.0, to);
            }
        } else {
            self.rounder.round(panel.values, panel.random, &mut values)?;
        }
        Ok(self.with_losses(panel, values, scales))
    }

    /// Pieces of a panel whose runs have their full length but at the end, with the scales of the runs.
    fn stretches<'p>(
        &self,
        panel: PanelValues,
        from: &'p [f32],
        to: &'p mut [f32],
        scales: &'p [f32],
    ) -> impl Iterator<Item = ((&'p [f32], &'p mut [f32]), &'p [f32])> {
        let whole = panel.columns.is_multiple_of(self.length);
        let values = if whole { from.len().max(1) } else { panel.columns };
        let runs = values.div_ceil(self.length);
        from.chunks(values).zip(to.chunks_mut(values)).zip(scales.chunks(runs))
    }

    fn with_losses(&self, panel: PanelValues, values: Vec<f32>, scales: Vec<f32>) -> Quantised {
        let limits: Vec<CodeLimits> = scales.iter().map(|scale| self.limits.under(*scale, ROUNDED)).collect();
        let mut runs = vec![RunLosses::default(); scales.len()];
        let per_row = panel.columns.div_ceil(self.length).max(1);
        let rows = panel.values.chunks(panel.columns.max(1)).zip(values.chunks(panel.columns.max(1)));
        let mut rest = Vec::new();
        for ((x, y), (limits, runs)) in rows.zip(limits.chunks(per_row).zip(runs.chunks_mut(per_row))) {
            rest.push(losses_of_runs(x, y, self.length, limits, runs));
        }
        Quantised { values, scales, runs, rows: rest }
    }

    /// The panel with the best of `count` scales for each block of `rows` rows, by square error.
    fn least(
        &self,
        panel: PanelValues,
        rows: usize,
        count: usize,
        scale: impl Fn(usize, usize) -> f32,
    ) -> Result<Quantised> {
        let per_row = panel.columns.div_ceil(self.length).max(1);
        let runs = panel.values.len() / panel.columns.max(1) * per_row;
        let block_of = |run: usize| run / per_row / rows * per_row + run % per_row;
        let blocks = (0..runs).map(block_of).max().map_or(0, |last| last + 1);
        let mut best = vec![(f64::INFINITY, 0); blocks];
        for step in 0..count {
            let tried = self.under(panel, (0..runs).map(|run| scale(run, step)).collect())?;
            let mut noise = vec![0.0; blocks];
            tried.runs.iter().enumerate().for_each(|(run, losses)| noise[block_of(run)] += losses.noise);
            for (best, noise) in best.iter_mut().zip(noise) {
                if noise < best.0 {
                    *best = (noise, step);
                }
            }
        }
        self.under(panel, (0..runs).map(|run| scale(run, best[block_of(run)].1)).collect())
    }

    fn blocks(&self, panel: PanelValues, scaler: &BlockScaler) -> Result<Quantised> {
        let blocks = match &scaler.vectorised {
            Some((quantizer, _)) => quantizer.quantize(panel.values, panel.columns),
            None => scaler
                .exact
                .quantize_with(panel.values.len(), panel.columns, |at| Real::from(f64::from(panel.values[at]))),
        };
        let scale = |block: usize, code: u32| match &scaler.vectorised {
            Some((_, dequantizer)) => dequantizer.scale(code),
            None => blocks.scale(block).to_f64() as f32,
        };
        let per_row = panel.columns.div_ceil(self.length).max(1);
        let rows = panel.values.len() / panel.columns.max(1);
        let of_row = |row: usize| row / scaler.rows * per_row..(row / scaler.rows + 1) * per_row;
        let scales: Vec<f32> = (0..rows).flat_map(of_row).map(|block| scale(block, blocks.scales[block])).collect();
        match scaler.by_hand {
            true => self.under(panel, scales),
            false => {
                let values = match &scaler.vectorised {
                    Some((_, dequantizer)) => dequantizer.values(&blocks),
                    None => blocks.dequantize(),
                };
                Ok(self.with_losses(panel, values, scales))
            }
        }
    }
}

/// The scale of each run of a panel, by its row.
fn of_each_row(panel: PanelValues, groups: &RowGroups, scales: &[f32], per_row: usize) -> Vec<f32> {
    let rows = panel.values.len() / panel.columns.max(1);
    let row = |row: usize| std::iter::repeat_n(scales[(panel.first_row + row) / groups.rows], per_row);
    (0..rows).flat_map(row).collect()
}

/// The quantizer of a block format for a tensor of this largest finite magnitude.
pub(super) fn block_quantizer(
    format: &'static BlockFormat,
    rule: &'static ScaleRule,
    largest: u32,
    rounding: Rounding,
) -> Quantizer {
    // Where elements take random bits of their own, scales alone are found by it.
    let rounding = if matches!(rounding, Rounding::Sr { .. }) { Rounding::Rne } else { rounding };
    let standard = Quantizer { rule, rounding, ..Quantizer::new(format) };
    let amax = Real::from(f64::from(f32::from_bits(largest)));
    let tensor_scale = standard.tensor_scale(1, &|_| amax).0.map(|code| f32::from_bits(code as u32));
    Quantizer { tensor_scale, ..standard }
}

/// The largest number of a format, and its smallest normal one, below which results have fewer bits.
fn limits(format: &Format) -> CodeLimits {
    let normal = format.float().map_or(0.0, |float| f64::from(float.emin()).exp2() as f32);
    let largest = nearest_f32(format, format.largest(false));
    CodeLimits { largest, most_negative: -largest, normal }
}

/// The most negative number of the elements of blocks, before what multiplies all of them.
fn most_negative(element: &Element) -> f32 {
    match element.symmetric {
        true => -nearest_f32(element.format, element.format.largest(false)),
        false => nearest_f32(element.format, element.format.largest(true)),
    }
}

vectorised! {
    /// Each value over the scale of its run; zeros of their signs where that is zero.
    fn divide(values: &[f32], length: usize, scales: &[f32], quotients: &mut [f32]) {
        for ((values, quotients), scale) in values.chunks(length).zip(quotients.chunks_mut(length)).zip(scales) {
            if *scale == 0.0 {
                values.iter().zip(quotients).for_each(|(value, quotient)| *quotient = value * 0.0);
            } else {
                for (value, quotient) in values.iter().zip(quotients) {
                    *quotient = value / scale;
                }
            }
        }
    }
}
