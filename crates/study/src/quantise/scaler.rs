//! Quantisation of a panel of rows: the scale of each run, and the quantised values.

use super::{
    losses::{CodeLimits, RowLosses, losses_of_runs},
    target::RUN,
};
use crate::{
    Result,
    base::vectors::vectorised,
    format::{
        Format, Overflow, Real, Rounding,
        block::{BlockFormat, Blocks, Dequantizer, Element, Quantizer, ScaleRule, VectorQuantizer},
        slices::{self, BlockedSlice, nearest_f32},
    },
    tensor::{Energies, FormatDecoder, FormatEncoder},
};

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
    /// Blocks of a block format, or of a plain one with scales.
    Blocks(Box<BlockScaler<'a>>),
}

struct BlockScaler<'a> {
    /// The fast conversion; `None`: the exact one serves all values.
    vectorised: Option<VectorQuantizer<'a>>,
    dequantizer: Option<Dequantizer>,
    exact: &'a Quantizer,
    /// Elements are rounded here, at random, under the scales of the conversion.
    by_hand: bool,
    /// Scale codes of groups of rows; `None`: those of the blocks.
    groups: Option<GroupScales>,
}

/// Scales of groups of consecutive rows.
pub(super) struct GroupScales {
    /// Rows of a group.
    pub(super) rows: usize,
    pub(super) codes: Vec<u32>,
}

/// Groups of consecutive rows that share a scale, or whose magnitudes decide one.
#[derive(Debug)]
pub(super) struct RowGroups {
    /// Rows of a group.
    pub(super) rows: usize,
    /// The largest finite magnitude of each group, as the bits of an `f32`.
    pub(super) largest: Vec<u32>,
}

pub(super) struct Quantised {
    pub(super) values: Vec<f32>,
    /// The scales of the blocks of the panel, each once; none of groups of rows.
    pub(super) scales: Vec<f32>,
    /// The energies of each run.
    pub(super) runs: Vec<Energies>,
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

impl PanelValues<'_> {
    fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }
}

impl<'a> Scaler<'a> {
    /// For a plain format as it is.
    pub(super) fn unscaled(format: &'static Format, rounding: Rounding) -> Result<Scaler<'a>> {
        Ok(Scaler {
            rounder: FormatRounder::new(format, rounding, false)?,
            limits: limits(format),
            length: RUN,
            kind: ScaleSource::Unscaled,
        })
    }

    /// For a format with scales: those of its blocks, or of groups of rows.
    ///
    /// `largest` is the largest magnitude of the tensor, where scales depend on it.
    pub(super) fn of_blocks(
        quantizer: &'a Quantizer,
        largest: u32,
        groups: Option<GroupScales>,
        rounding: Rounding,
    ) -> Result<Scaler<'a>> {
        let format = quantizer.format;
        let vectorised = VectorQuantizer::new(quantizer, largest);
        let tensor_scale = vectorised.as_ref().and_then(VectorQuantizer::tensor_scale);
        let dequantizer = vectorised.as_ref().and_then(|_| Dequantizer::new(format, tensor_scale));
        Ok(Scaler {
            rounder: FormatRounder::new(format.element.format, rounding, format.element.symmetric)?,
            limits: match format.offset {
                // Where values reach depends on the offset of a block: none is counted.
                Some(_) => CodeLimits { largest: f32::INFINITY, most_negative: f32::NEG_INFINITY, normal: 0.0 },
                None => CodeLimits { most_negative: most_negative(&format.element), ..limits(format.element.format) },
            },
            length: if format.length == BlockFormat::WHOLE { RUN } else { format.length },
            kind: ScaleSource::Blocks(Box::new(BlockScaler {
                vectorised: vectorised.filter(|_| dequantizer.is_some()),
                dequantizer,
                exact: quantizer,
                by_hand: matches!(rounding, Rounding::Sr { .. }),
                groups,
            })),
        })
    }

    pub(super) fn quantise(&self, panel: PanelValues) -> Result<Quantised> {
        match &self.kind {
            ScaleSource::Unscaled => {
                let runs = panel.rows() * panel.columns.div_ceil(self.length);
                let mut values = vec![0.0; panel.values.len()];
                self.rounder.round(panel.values, panel.random, &mut values)?;
                Ok(self.with_losses(panel, values, &vec![1.0; runs], Vec::new()))
            }
            ScaleSource::Blocks(blocks) => self.blocks(panel, blocks),
        }
    }

    /// The scales of groups of rows, each once.
    pub(super) fn scales_of_groups(&self) -> Vec<f32> {
        let ScaleSource::Blocks(blocks) = &self.kind else { return Vec::new() };
        let scale = |code: &u32| blocks.exact.format.scale.to_f64((*code).into()) as f32;
        blocks.groups.as_ref().map_or_else(Vec::new, |groups| groups.codes.iter().map(scale).collect())
    }

    /// The panel under these scales, one for each run, with elements rounded at random.
    fn under(&self, panel: PanelValues, scales: &[f32]) -> Result<Vec<f32>> {
        let mut values = vec![0.0; panel.values.len()];
        let mut quotients = vec![0.0; values.len()];
        for ((from, to), scales) in self.stretches(panel, panel.values, &mut quotients, scales) {
            divide(from, self.length, scales, to);
        }
        let mut rounded = vec![0.0; values.len()];
        self.rounder.round(&quotients, panel.random, &mut rounded)?;
        for ((from, to), scales) in self.stretches(panel, &rounded, &mut values, scales) {
            slices::scale(from, BlockedSlice { length: self.length, each: scales }, 1.0, to);
        }
        Ok(values)
    }

    /// Pieces of a panel whose runs have their full length but at the end, with the scales of the runs.
    fn stretches<'p>(
        &self,
        panel: PanelValues,
        from: &'p [f32],
        to: &'p mut [f32],
        scales: &'p [f32],
    ) -> impl Iterator<Item = ((&'p [f32], &'p mut [f32]), &'p [f32])> {
        let is_whole = panel.columns.is_multiple_of(self.length);
        let values = if is_whole { from.len().max(1) } else { panel.columns };
        let runs = values.div_ceil(self.length);
        from.chunks(values).zip(to.chunks_mut(values)).zip(scales.chunks(runs))
    }

    fn with_losses(&self, panel: PanelValues, values: Vec<f32>, of_runs: &[f32], scales: Vec<f32>) -> Quantised {
        let limits: Vec<CodeLimits> = of_runs.iter().map(|scale| self.limits.under(*scale, ROUNDED)).collect();
        let mut runs = vec![Energies::default(); of_runs.len()];
        let per_row = panel.columns.div_ceil(self.length).max(1);
        let rows = panel.values.chunks(panel.columns.max(1)).zip(values.chunks(panel.columns.max(1)));
        let mut rest = Vec::new();
        for ((x, y), (limits, runs)) in rows.zip(limits.chunks(per_row).zip(runs.chunks_mut(per_row))) {
            rest.push(losses_of_runs(x, y, self.length, limits, runs));
        }
        Quantised { values, scales, runs, rows: rest }
    }

    fn blocks(&self, panel: PanelValues, scaler: &BlockScaler) -> Result<Quantised> {
        let Some(groups) = &scaler.groups else {
            let blocks = match &scaler.vectorised {
                Some(vectorised) => vectorised.quantize(panel.values, panel.columns),
                None => exactly(scaler.exact, panel.values, panel.columns),
            };
            let scales: Vec<f32> = (0..blocks.scales.len()).map(|block| scaler.scale(&blocks, block)).collect();
            let runs = self.scales_of_runs(panel, &blocks, &scales);
            let values = match scaler.by_hand {
                true => self.under(panel, &runs)?,
                false => scaler.values(&blocks),
            };
            return Ok(self.with_losses(panel, values, &runs, scales));
        };
        let (mut values, mut runs) = (Vec::with_capacity(panel.values.len()), Vec::new());
        let end = panel.first_row + panel.rows();
        let mut row = panel.first_row;
        while row < end {
            let group = row / groups.rows;
            let next = end.min((group + 1) * groups.rows);
            let range = (row - panel.first_row) * panel.columns..(next - panel.first_row) * panel.columns;
            let quantizer = Quantizer { block_scale: Some(groups.codes[group]), ..*scaler.exact };
            let blocks = match scaler.vectorised.is_some().then(|| VectorQuantizer::new(&quantizer, 0)).flatten() {
                Some(vectorised) => vectorised.quantize(&panel.values[range], panel.columns),
                None => exactly(&quantizer, &panel.values[range], panel.columns),
            };
            runs.extend((0..blocks.scales.len()).map(|block| scaler.scale(&blocks, block)));
            if !scaler.by_hand {
                values.extend(scaler.values(&blocks));
            }
            row = next;
        }
        if scaler.by_hand {
            values = self.under(panel, &runs)?;
        }
        Ok(self.with_losses(panel, values, &runs, Vec::new()))
    }

    /// The scale of each run of a panel, of the scales of its blocks.
    fn scales_of_runs(&self, panel: PanelValues, blocks: &Blocks, scales: &[f32]) -> Vec<f32> {
        let format = blocks.format;
        let per_row = panel.columns.div_ceil(format.length).max(1);
        let runs = (0..panel.columns).step_by(self.length).map(|column| column / format.length).collect::<Vec<_>>();
        let first = |row: usize| row / format.rows * per_row;
        (0..panel.rows()).flat_map(|row| runs.iter().map(move |block| scales[first(row) + block])).collect()
    }
}

impl BlockScaler<'_> {
    fn scale(&self, blocks: &Blocks, block: usize) -> f32 {
        match &self.dequantizer {
            Some(dequantizer) => dequantizer.scale(blocks.scales[block]),
            None => blocks.scale(block).to_f64() as f32,
        }
    }

    fn values(&self, blocks: &Blocks) -> Vec<f32> {
        match &self.dequantizer {
            Some(dequantizer) => dequantizer.values(blocks),
            None => blocks.dequantize(),
        }
    }
}

fn exactly(quantizer: &Quantizer, values: &[f32], columns: usize) -> Blocks {
    quantizer.quantize_with(values.len(), columns, |at| Real::from(f64::from(values[at])))
}

/// The quantizer of a format with scales for a tensor of this largest finite magnitude.
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
