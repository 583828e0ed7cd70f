//! One tensor quantised to several targets at once, panel by panel.

use super::{
    losses::TargetLosses,
    product::{Activations, LayerActivations},
    scaler::{GroupScales, PanelValues, RowGroups, Scaler, block_quantizer},
    target::{QuantisationTarget, ScaleScope},
    view::{RowShape, TensorRows},
};
use crate::{
    Error, Result,
    array::StreamedArray,
    base::work,
    format::{Real, Rounding, block::Quantizer, slices::largest_finite},
    inputs,
    tensor::{Energies, Losses, Sharing, TensorPiece, common_multiple},
};

/// Panels that are worked on before what they gave is added up: memory is bounded by it.
const TOGETHER: usize = 512;

/// Settings of quantisation.
#[derive(Debug, Clone, Copy)]
pub struct Quantisation<'a> {
    /// To what.
    pub targets: &'a [QuantisationTarget],
    /// Along which axis blocks and rows lie: from 0, or from -1 backwards.
    ///
    /// `None`: along the last, and along all but the first in convolutions.
    pub axis: Option<i64>,
    /// Rounding of the elements; stochastic rounding draws random bits for each element.
    pub rounding: Rounding,
    /// Where the random bits come from.
    pub seed: u64,
    /// Rows that multiply the tensors.
    pub activations: Option<&'a Activations>,
}

/// Losses of a tensor under one target.
#[derive(Debug, Clone, Default)]
pub(super) struct TensorLosses {
    pub(super) losses: TargetLosses,
    pub(super) product: Option<Energies>,
}

#[derive(Default)]
struct PanelScratch {
    bytes: Vec<u8>,
    values: Vec<f32>,
    random: Vec<u64>,
}

/// A tensor that is being quantised.
struct TensorWork<'a> {
    how: &'a Quantisation<'a>,
    view: TensorRows<'a>,
    panels: Vec<TensorPiece>,
}

impl TensorWork<'_> {
    /// Applies `work` to each panel, and `take` to the results in order.
    fn of_each<R: Send>(
        &self,
        work: impl Fn(PanelValues, &TensorPiece) -> Result<R> + Sync,
        take: impl FnMut(R),
    ) -> Result<()> {
        let of_panel = |panel: &TensorPiece, scratch: &mut PanelScratch| {
            let PanelScratch { bytes, values, random } = scratch;
            self.view.read(panel, bytes, values)?;
            let random = self.random(panel, random);
            let columns = panel.columns.len();
            work(PanelValues { values, columns, first_row: panel.rows.start, random }, panel)
        };
        work::each(&self.panels, TOGETHER, of_panel, take)
    }

    /// The random bits of the elements of a panel, by seed and place; `None` without stochastic rounding.
    fn random<'r>(&self, panel: &TensorPiece, random: &'r mut Vec<u64>) -> Option<&'r [u64]> {
        let Rounding::Sr { bits, .. } = self.how.rounding else { return None };
        random.clear();
        for row in panel.rows.clone() {
            let place = |column: usize| (row * self.view.columns + column) as u64;
            let places = place(panel.columns.start)..place(panel.columns.end);
            random.extend(inputs::rounding_bits(self.how.seed, bits, places));
        }
        Some(random)
    }

    /// The largest finite magnitudes of groups of rows, for each number of rows that is given.
    fn groups(&self, sizes: &[Option<usize>]) -> Result<Vec<Option<RowGroups>>> {
        let of = |rows: usize| RowGroups { rows, largest: vec![0; self.view.rows.div_ceil(rows)] };
        let mut groups: Vec<Option<RowGroups>> = sizes.iter().map(|rows| rows.map(|rows| of(rows.max(1)))).collect();
        if groups.iter().all(Option::is_none) {
            return Ok(groups);
        }
        let largest = |panel: PanelValues, at: &TensorPiece| {
            let of_rows = panel.values.chunks(panel.columns.max(1)).map(largest_finite).collect::<Vec<u32>>();
            Ok((at.rows.start, of_rows))
        };
        self.of_each(largest, |(first, of_rows)| {
            for (row, largest) in (first..).zip(of_rows) {
                for groups in groups.iter_mut().flatten() {
                    let most = &mut groups.largest[row / groups.rows];
                    *most = (*most).max(largest);
                }
            }
        })?;
        Ok(groups)
    }
}

impl Quantisation<'_> {
    /// Refuses, before any work, tensors that cannot be quantised so.
    ///
    /// # Errors
    /// An axis that a tensor does not have, or along which its channels have no scales; elements that are no numbers.
    pub fn check<'a>(&self, arrays: impl Iterator<Item = &'a StreamedArray>) -> Result<()> {
        for array in arrays {
            let shape = RowShape::new(array, self.axis)?;
            self.targets.iter().try_for_each(|target| self.group(target, array, shape.rows).map(|_| ()))?;
        }
        Ok(())
    }

    /// How many of some tensors the activations multiply, where not all; `None` without activations.
    ///
    /// # Errors
    /// Activations that fit no tensor.
    pub fn multiplied<'a>(&self, arrays: impl Iterator<Item = &'a StreamedArray>) -> Result<Option<String>> {
        let Some(activations) = self.activations else { return Ok(None) };
        let (mut fit, mut count) = (0, 0);
        for array in arrays {
            let columns = RowShape::new(array, self.axis)?.columns;
            fit += usize::from(array.shape.len() > 1 && activations.of(&array.name, columns).is_some());
            count += 1;
        }
        match fit {
            0 => Err(Error::request(format!(
                "‹activations›: no chosen tensor has the name and the rows of an array; {}",
                activations.described()
            ))),
            fit if fit < count => {
                Ok(Some(format!("The activations multiply {fit} of {count} tensors, by their names and shapes.")))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn tensor(&self, view: TensorRows) -> Result<Vec<TensorLosses>> {
        let block = self.targets.iter().filter_map(|target| target.block(view.columns));
        let (block_rows, block_columns) =
            block.fold((1, 1), |all, extents| (common_multiple(all.0, extents.0), common_multiple(all.1, extents.1)));
        let of = |activations: &'_ Activations| activations.of(&view.array.name, view.columns).cloned();
        let activations = self.activations.filter(|_| view.array.shape.len() > 1).and_then(of);
        let panels = view.panels(block_rows, block_columns);
        let is_whole = panels.iter().all(|panel| panel.columns.len() == view.columns);
        let work = TensorWork { how: self, panels, view };
        let activations = activations.as_ref().filter(|_| is_whole);
        let grouped: Vec<Option<usize>> = self
            .targets
            .iter()
            .map(|target| self.group(target, work.view.array, work.view.rows))
            .collect::<Result<_>>()?;
        let groups = work.groups(&grouped)?;
        let largest = |groups: &Option<RowGroups>| {
            groups.as_ref().and_then(|groups| groups.largest.first()).copied().unwrap_or(0)
        };
        let quantizers: Vec<Option<Quantizer>> = self
            .targets
            .iter()
            .zip(&groups)
            .map(|(target, groups)| {
                let scales = target.scales();
                scales.map(|(format, rule)| block_quantizer(format, rule, largest(groups), self.rounding))
            })
            .collect();
        let mut scalers = Vec::new();
        for ((target, quantizer), groups) in self.targets.iter().zip(&quantizers).zip(&groups) {
            scalers.push(match (target, quantizer) {
                (QuantisationTarget::Plain(format), _) => Scaler::unscaled(format, self.rounding)?,
                (QuantisationTarget::Scaled { .. }, Some(quantizer)) => {
                    let scales = groups.as_ref().map(|groups| group_scales(&work, quantizer, groups)).transpose()?;
                    Scaler::of_blocks(quantizer, 0, scales, self.rounding)?
                }
                (_, Some(quantizer)) => Scaler::of_blocks(quantizer, largest(groups), None, self.rounding)?,
                (_, None) => unreachable!("a format with scales has a quantizer"),
            });
        }
        let mut losses = self.panels(&work, &scalers, activations)?;
        for (losses, target) in losses.iter_mut().zip(self.targets) {
            let tensor_scale = target.scales().and_then(|(format, _)| format.tensor_scale);
            losses.losses.tensor_scales = u64::from(tensor_scale.is_some());
        }
        Ok(losses)
    }

    /// Rows that share a scale, or a magnitude that scales depend on.
    fn group(&self, target: &QuantisationTarget, array: &StreamedArray, rows: usize) -> Result<Option<usize>> {
        match target {
            QuantisationTarget::Plain(_) => Ok(None),
            QuantisationTarget::Blocks { format, .. } => Ok(format.tensor_scale.map(|_| rows)),
            QuantisationTarget::Scaled { sharing, .. } => match sharing {
                ScaleScope::Shared(Sharing::Tensor) => Ok(Some(rows)),
                ScaleScope::Unscaled | ScaleScope::Shared(_) => Ok(None),
                ScaleScope::Channel => {
                    let dimensions = array.shape.len() as i64;
                    let first = self.axis.filter(|axis| *axis == 0 || *axis == -dimensions);
                    if let (Some(axis), true) = (first, dimensions > 1) {
                        return Err(Error::request(format!(
                            "array '{}': ‹per=channel› has a scale for each index of the first axis, along which rows lie with ‹axis={}›; \
                             choose another",
                            array.name, axis
                        )));
                    }
                    Ok(Some(rows / array.shape.first().copied().filter(|_| dimensions > 1).unwrap_or(1).max(1)))
                }
            },
        }
    }

    fn panels(
        &self,
        work: &TensorWork,
        scalers: &[Scaler],
        activations: Option<&LayerActivations>,
    ) -> Result<Vec<TensorLosses>> {
        let of_panel = |panel: PanelValues, at: &TensorPiece| {
            let nan = panel.values.iter().filter(|value| value.is_nan()).count() as u64;
            let infinite = panel.values.iter().filter(|value| value.is_infinite()).count() as u64;
            let largest = f32::from_bits(largest_finite(panel.values));
            let one = |scaler: &Scaler| -> Result<TensorLosses> {
                let result = scaler.quantise(panel)?;
                let mut losses = TargetLosses {
                    losses: Losses { nan, infinite, ..Losses::default() },
                    largest,
                    ..TargetLosses::default()
                };
                let rows = panel.values.chunks(panel.columns).zip(result.values.chunks(panel.columns));
                let per_row = panel.columns.div_ceil(scaler.length).max(1);
                for ((row, (x, y)), runs) in (panel.first_row..).zip(rows).zip(result.runs.chunks(per_row)) {
                    losses.add_row(x, y, (row * work.view.columns + at.columns.start) as u64, scaler.length, runs);
                }
                result.rows.iter().for_each(|rest| losses.add_rest(rest));
                result.scales.iter().for_each(|scale| losses.add_scale(*scale));
                let product = activations.map(|activations| activations.losses(panel.values, &result.values));
                Ok(TensorLosses { losses, product })
            };
            scalers.iter().map(one).collect::<Result<Vec<TensorLosses>>>()
        };
        let mut all = vec![TensorLosses::default(); scalers.len()];
        work.of_each(of_panel, |panel| {
            for (all, part) in all.iter_mut().zip(panel) {
                all.losses.add(&part.losses);
                if let Some(product) = part.product {
                    all.product.get_or_insert_default().add(&product);
                }
            }
        })?;
        for (all, scaler) in all.iter_mut().zip(scalers) {
            scaler.scales_of_groups().iter().for_each(|scale| all.losses.add_scale(*scale));
        }
        Ok(all)
    }
}

/// The scale of each group of rows, by a quantizer's rule.
fn group_scales(work: &TensorWork, quantizer: &Quantizer, groups: &RowGroups) -> Result<GroupScales> {
    let candidates = |largest: &u32| {
        let Real::Finite(amax) = Real::from(f64::from(f32::from_bits(*largest))) else { unreachable!("a finite one") };
        quantizer.candidates_of_largest(&amax).expect("targets refuse other rules")
    };
    let candidates: Vec<Vec<u32>> = groups.largest.iter().map(candidates).collect();
    let mut losses: Vec<Vec<f64>> = candidates.iter().map(|codes| vec![0.0; codes.len()]).collect();
    if candidates.iter().any(|codes| codes.len() > 1) {
        let of_panel = |panel: PanelValues, at: &TensorPiece| {
            let of_group = |group: usize| {
                let rows = group * groups.rows..(group + 1) * groups.rows;
                let rows = rows.start.max(at.rows.start)..rows.end.min(at.rows.end);
                let place = |row: usize| (row - at.rows.start) * panel.columns;
                quantizer.losses(&panel.values[place(rows.start)..place(rows.end)], &candidates[group])
            };
            let first = at.rows.start / groups.rows;
            let of_groups: Vec<Vec<f64>> = (first..at.rows.end.div_ceil(groups.rows)).map(of_group).collect();
            Ok((first, of_groups))
        };
        work.of_each(of_panel, |(first, of_groups)| {
            for (sums, losses_here) in losses[first..].iter_mut().zip(of_groups) {
                sums.iter_mut().zip(losses_here).for_each(|(sum, loss)| *sum += loss);
            }
        })?;
    }
    let codes = candidates.iter().zip(&losses).map(|(codes, losses)| codes[first_of_least(losses)]).collect();
    Ok(GroupScales { rows: groups.rows, codes })
}

/// Place of the first of the least losses.
fn first_of_least(losses: &[f64]) -> usize {
    let best = (0..losses.len()).min_by(|x, y| losses[*x].total_cmp(&losses[*y]));
    best.unwrap_or(0)
}
