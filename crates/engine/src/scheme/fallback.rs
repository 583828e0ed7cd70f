//! Products of operands that a scheme does not take: fused multiply-adds in f64, in parts of k.

use std::ops::Range;

use super::Fallback;
use crate::{
    Result,
    product::{NumberMatrix, ProductOperands, reference::DoubleReferences},
};

/// Rows and columns of a tile of D.
const TILE: usize = 128;
/// Terms of an iteration.
const STEP: usize = 16;
/// Multiprocessors of an H100.
const MULTIPROCESSORS: usize = 132;

/// The products of a batch, scaled by alpha and then added to beta C.
///
/// `m` is the number of rows of each whole product. The products of a batch have one chain for each element.
pub(super) fn products(fallback: Fallback, operands: &ProductOperands, m: usize) -> Result<Vec<f64>> {
    let fallback = if operands.batch > 1 { Fallback::Fused } else { fallback };
    let mut values = Vec::new();
    for at in 0..operands.batch {
        let (a, b) = operands.product(at);
        values.extend(product(fallback, &a, &b, m)?);
    }
    values.iter_mut().for_each(|value| *value *= operands.alpha);
    if let Some(c) = operands.c.as_ref().filter(|_| operands.beta != 0.0) {
        values.iter_mut().zip(&c.values).for_each(|(value, c)| *value = operands.beta.mul_add(*c, *value));
    }
    Ok(values)
}

/// The product by chains of fused multiply-adds of parts of k, each from zero, added in order.
///
/// `m` is the number of rows of the whole product. Of some of its rows the tiles are not known: then chains have one part, unless all
/// tiles are cut alike.
fn product(fallback: Fallback, a: &NumberMatrix, b: &NumberMatrix, m: usize) -> Result<Vec<f64>> {
    let (down, across) = (m.div_ceil(TILE), b.columns.div_ceil(TILE));
    let schedule = match fallback {
        Fallback::StreamK => StreamK::new(a.columns, down * across),
        Fallback::Fused | Fallback::Nan => StreamK { steps: a.columns.div_ceil(STEP), shared: 0, blocks: 0 },
    };
    let alike = schedule.blocks == 0 || schedule.is_alike(down * across);
    if alike || m != a.rows {
        let cuts =
            if alike { schedule.cuts(0, a.columns) } else { StreamK { blocks: 0, ..schedule }.cuts(0, a.columns) };
        return chains(a, b, &cuts);
    }
    let mut values = vec![0.0; a.rows * b.columns];
    for (row, column) in (0..down).flat_map(|row| (0..across).map(move |column| (row, column))) {
        let tile = if across <= down { row * across + column } else { column * down + row };
        let rows = row * TILE..a.rows.min((row + 1) * TILE);
        let columns = column * TILE..b.columns.min((column + 1) * TILE);
        let (x, y) = (a.of_rows(&rows), b.of_columns(&columns));
        let sums = chains(&x, &y, &schedule.cuts(tile, a.columns))?;
        for (row, line) in rows.zip(sums.chunks(columns.len())) {
            values[row * b.columns..][columns.clone()].copy_from_slice(line);
        }
    }
    Ok(values)
}

/// The chains of parts of k, added in order.
fn chains(a: &NumberMatrix, b: &NumberMatrix, cuts: &[Range<usize>]) -> Result<Vec<f64>> {
    let mut total: Option<Vec<f64>> = None;
    for cut in cuts {
        let part = DoubleReferences::of(&a.of_columns(cut), &b.of_rows(cut))?.fused;
        total = Some(match total {
            None => part,
            Some(total) => total.iter().zip(part).map(|(total, part)| total + part).collect(),
        });
    }
    Ok(total.unwrap_or_default())
}

/// How CUTLASS's stream-K shares the iterations of tiles among blocks.
struct StreamK {
    /// Iterations of a tile.
    steps: usize,
    /// Leading tiles that are shared.
    shared: usize,
    /// Blocks that share them; 0: one for each tile.
    blocks: usize,
}

impl StreamK {
    /// The number of blocks that saves the most iterations, as CUTLASS estimates it.
    ///
    /// The estimate is that of its `threadblock_swizzle_streamk.h`.
    fn new(k: usize, tiles: usize) -> StreamK {
        let steps = k.div_ceil(STEP);
        let unshared = StreamK { steps, shared: 0, blocks: 0 };
        if tiles.is_multiple_of(MULTIPROCESSORS) {
            return unshared;
        }
        // Whole waves but one stay with a block for each tile.
        let tiles = tiles - (tiles / MULTIPROCESSORS).saturating_sub(1) * MULTIPROCESSORS;
        let (total, waves) = (tiles * steps, tiles.div_ceil(MULTIPROCESSORS));
        let saved = |blocks: usize| {
            let each = total.div_ceil(blocks);
            let (peers, skew) = match blocks.is_multiple_of(tiles) {
                true => (blocks / tiles, 0.0),
                false => {
                    let peers = blocks.div_ceil(tiles) + 1;
                    (peers, 0.02f32 * peers as f32 * each as f32)
                }
            };
            (steps * waves) as i64 - each as i64 - (2.0f32 + skew + 2.0f32 * peers as f32) as i64
        };
        let first = MULTIPROCESSORS.min(tiles + 1);
        let best = (first..=MULTIPROCESSORS.min(total / 2)).max_by_key(|blocks| saved(*blocks));
        match best.filter(|blocks| saved(*blocks) >= 0) {
            Some(blocks) => StreamK { steps, shared: tiles, blocks },
            None => unshared,
        }
    }

    /// True if all tiles are cut alike.
    fn is_alike(&self, tiles: usize) -> bool {
        self.shared == tiles && self.blocks.is_multiple_of(tiles)
    }

    /// The parts of k of a tile.
    fn cuts(&self, tile: usize, k: usize) -> Vec<Range<usize>> {
        if self.blocks == 0 || tile >= self.shared {
            return std::iter::once(0..k).collect();
        }
        let (total, blocks, low) = match self.blocks.is_multiple_of(self.shared) {
            true => (self.steps, self.blocks / self.shared, 0),
            false => (self.steps * self.shared, self.blocks, self.steps * tile),
        };
        let high = low + self.steps;
        let ends = (0..=blocks).map(|block| total / blocks * block + block.min(total % blocks));
        let inner: Vec<usize> = ends.filter(|end| (low + 1..high).contains(end)).collect();
        let starts = std::iter::once(low).chain(inner.iter().copied());
        let ranges = starts.zip(inner.iter().copied().chain([high]));
        ranges.map(|(from, to)| (from - low) * STEP..k.min((to - low) * STEP)).collect()
    }
}
