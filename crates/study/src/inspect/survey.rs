//! Evidence of the values of a tensor for its conventions.
//!
//! - A block whose scale came from its largest magnitude holds a code near the largest of the format. If nearly all blocks do by one order
//!   of nibbles, and fewer by the other, the other is wrong. Orders that put the same codes into each block are not told from one another:
//!   low or high nibble first, and nibbles half a block apart.
//! - By the wrong direction of a global scale the largest value is far from what weights are.
//! - A block of zeros has the scale 0, and a block with another code does not. If scales contradict this in one order and not in the
//!   other, the other is right.

use super::marks::{Marks, largest_two};
use crate::{
    Result,
    base::work,
    checkpoint::{Checkpoint, CheckpointTensor, GlobalScale, Packing, Quantised, ScalePlace, TensorReader},
    tensor::{Matrices, Sharing, TensorPiece},
};

/// Pieces that are worked on before their results are taken: memory is bounded by it.
const TOGETHER: usize = 64;
/// Blocks below which their largest codes decide nothing.
const FEWEST_BLOCKS: u64 = 64;
/// Least share of blocks with a code near the largest, by the right order of nibbles.
const FULL: f64 = 0.98;
/// Least difference of the shares by the two orders.
const APART: f64 = 0.02;
/// Magnitudes among which the largest of a tensor of weights lies.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-6..=1e4;
/// Blocks that contradict an order of scales, at least, where none contradicts the other.
const FEWEST_CONTRADICTIONS: u64 = 1;

/// Evidence for a convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The layout and what named it; values do not contradict.
    Named,
    /// The shape leaves one reading.
    Shape,
    /// The values leave one reading; of orders of nibbles, those that put the same codes into each block.
    Values,
    /// The values leave the other reading.
    Against,
    /// Both readings give the same values.
    Same,
}

/// Results of a pass over the values of a tensor.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Counts over all pieces.
    pub(crate) counts: Counts,
    /// Evidence for the order of nibbles, the direction of the global scale, and the order of scales.
    pub(super) nibbles: Option<Evidence>,
    pub(super) global: Option<Evidence>,
    pub(super) order: Option<Evidence>,
    /// Largest magnitude by the other direction of the global scale.
    pub(super) reversed: Option<f64>,
}

/// Counts over pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    /// Largest finite magnitude; `None` without finite values.
    pub(crate) largest: Option<f64>,
    pub(crate) nan: u64,
    pub(crate) infinite: u64,
    pub(super) negative_zeros: u64,
    pub(crate) nan_scales: u64,
    pub(crate) infinite_scales: u64,
    pub(crate) negative_scales: u64,
    blocks: u64,
    full: u64,
    full_otherwise: u64,
    /// Blocks whose scale contradicts their codes, by scales in rows and in tiles.
    against_rows: u64,
    against_tiles: u64,
    pub(super) marks: Marks,
}

impl Counts {
    fn plus(self, other: &Counts) -> Counts {
        let larger = |x: Option<f64>, y: Option<f64>| match (x, y) {
            (Some(x), Some(y)) => Some(x.max(y)),
            (one, other) => one.or(other),
        };
        Counts {
            largest: larger(self.largest, other.largest),
            nan: self.nan + other.nan,
            infinite: self.infinite + other.infinite,
            negative_zeros: self.negative_zeros + other.negative_zeros,
            nan_scales: self.nan_scales + other.nan_scales,
            infinite_scales: self.infinite_scales + other.infinite_scales,
            negative_scales: self.negative_scales + other.negative_scales,
            blocks: self.blocks + other.blocks,
            full: self.full + other.full,
            full_otherwise: self.full_otherwise + other.full_otherwise,
            against_rows: self.against_rows + other.against_rows,
            against_tiles: self.against_tiles + other.against_tiles,
            marks: self.marks.plus(&other.marks),
        }
    }
}

impl Survey {
    /// Reads all of a tensor; `done` gets numbers of values.
    ///
    /// # Errors
    /// As [`Checkpoint::read`]; a signal.
    pub fn of(checkpoint: &Checkpoint, tensor: &CheckpointTensor, done: &mut dyn FnMut(u64)) -> Result<Survey> {
        let reader = checkpoint.reader(tensor)?;
        let other = tensor.quantised().and_then(other_packing);
        let mut all = Counts::default();
        let one = |piece: TensorPiece, (): &mut ()| {
            counts(&reader, tensor, &piece, other).map(|counts| (counts, piece.len() as u64))
        };
        work::each(tensor.pieces(), TOGETHER, one, |(counts, count)| {
            all = std::mem::take(&mut all).plus(&counts);
            done(count);
        })?;
        let quantised = tensor.quantised();
        let reversed = quantised.and_then(|quantised| reversed(quantised, all.largest?));
        Ok(Survey {
            nibbles: quantised.filter(|quantised| quantised.has_orders()).map(|_| nibbles(&all)),
            global: quantised
                .and_then(|quantised| quantised.reading.global.map(|_| global(quantised, all.largest, reversed))),
            order: quantised.and_then(|quantised| order(quantised, &all)),
            reversed,
            counts: all,
        })
    }
}

/// The order of nibbles that puts other codes into blocks than a tensor's own.
fn other_packing(quantised: &Quantised) -> Option<Packing> {
    match (quantised.sharing, quantised.reading.packing, quantised.format.bits) {
        _ if !quantised.has_orders() => None,
        (Sharing::Block(1, 16), Packing::LowFirst | Packing::HighFirst, 4) => Some(Packing::Halves(32)),
        (Sharing::Block(1, 16), Packing::Halves(32), 4) => Some(Packing::LowFirst),
        _ => None,
    }
}

fn counts(
    reader: &TensorReader,
    tensor: &CheckpointTensor,
    piece: &TensorPiece,
    other: Option<Packing>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    for value in reader.values(piece, None)? {
        match value {
            value if value.is_nan() => counts.nan += 1,
            value if value.is_infinite() => counts.infinite += 1,
            value => {
                counts.largest = Some(counts.largest.unwrap_or(0.0).max(value.abs()));
                counts.negative_zeros += u64::from(value == 0.0 && value.is_sign_negative());
            }
        }
    }
    let Some(quantised) = tensor.quantised() else { return Ok(counts) };
    let scales = reader.scales_that_begin(piece, quantised)?;
    counts.marks = Marks::of(reader, quantised, Matrices::of(&tensor.read_shape), piece, &scales)?;
    for scale in scales {
        counts.nan_scales += u64::from(scale.is_nan());
        counts.infinite_scales += u64::from(scale.is_infinite());
        counts.negative_scales += u64::from(scale < 0.0);
    }
    let Sharing::Block(1, width) = quantised.sharing else { return Ok(counts) };
    if other.is_none() && !quantised.either_order {
        return Ok(counts);
    }
    let codes = reader.codes(piece, quantised.reading.packing)?;
    let near = near_largest(quantised);
    let columns = piece.columns.len().max(1);
    let is_full = |block: &[f64]| block.iter().any(|code| code.abs() >= near);
    if let Some(other) = other {
        let otherwise = reader.codes(piece, other)?;
        for (codes, otherwise) in codes.chunks(columns).zip(otherwise.chunks(columns)) {
            for (block, otherwise) in codes.chunks(width).zip(otherwise.chunks(width)) {
                // A block of zeros has no largest code by either order.
                if block.iter().all(|code| *code == 0.0) || otherwise.iter().all(|code| *code == 0.0) {
                    continue;
                }
                counts.blocks += 1;
                counts.full += u64::from(is_full(block));
                counts.full_otherwise += u64::from(is_full(otherwise));
            }
        }
    }
    if quantised.either_order {
        let zero = smallest_scale(quantised);
        let (rows, tiles) = (reader.scales(piece, false)?, reader.scales(piece, true)?);
        let blocks = codes.chunks(columns).flat_map(|row| row.chunks(width));
        for ((block, row), tile) in blocks.zip(&rows.values).zip(&tiles.values) {
            let zeros = block.iter().all(|code| *code == 0.0);
            counts.against_rows += u64::from(zeros != (*row == zero));
            counts.against_tiles += u64::from(zeros != (*tile == zero));
        }
    }
    Ok(counts)
}

/// Least magnitude of a code that a block's largest value gets.
fn near_largest(quantised: &Quantised) -> f64 {
    // Scales that are powers of two leave the largest code, or the one below it.
    let [below, largest] = largest_two(&quantised.code_values()).unwrap_or_default();
    if quantised.scale_format.name == "e8m0" { below } else { largest }
}

/// The scale of a block of zeros.
fn smallest_scale(quantised: &Quantised) -> f64 {
    quantised.scale_format.to_f64(0)
}

fn nibbles(all: &Counts) -> Evidence {
    if all.blocks < FEWEST_BLOCKS {
        return Evidence::Named;
    }
    let share = |count: u64| count as f64 / all.blocks as f64;
    let (usual, other) = (share(all.full), share(all.full_otherwise));
    if usual >= FULL && usual - other >= APART {
        Evidence::Values
    } else if other >= FULL && other - usual >= APART {
        Evidence::Against
    } else {
        Evidence::Named
    }
}

/// The largest magnitude by the other direction of the global scale.
fn reversed(quantised: &Quantised, largest: f64) -> Option<f64> {
    let global = quantised.global.iter().copied().fold(f64::NAN, f64::max);
    match quantised.reading.global? {
        GlobalScale::Multiplies => Some(largest / global / global),
        GlobalScale::Divides => Some(largest * global * global),
    }
}

fn global(quantised: &Quantised, largest: Option<f64>, reversed: Option<f64>) -> Evidence {
    if quantised.global.iter().all(|global| *global == 1.0) {
        return Evidence::Same;
    }
    let plausible = |value: Option<f64>| value.is_some_and(|value| PLAUSIBLE.contains(&value));
    match (plausible(largest), plausible(reversed)) {
        (true, false) if largest != Some(0.0) => Evidence::Values,
        (false, true) if largest != Some(0.0) => Evidence::Against,
        _ => Evidence::Named,
    }
}

fn order(quantised: &Quantised, all: &Counts) -> Option<Evidence> {
    let in_tiles = |quantised: &Quantised| {
        matches!(quantised.sharing, Sharing::Block(1, _)) && quantised.scale_format.bytes() == 1
    };
    if !quantised.either_order {
        let arrays = matches!(quantised.place, ScalePlace::Array(_));
        return (in_tiles(quantised) && arrays).then_some(Evidence::Shape);
    }
    let (against, against_other) = match quantised.reading.swizzled {
        false => (all.against_rows, all.against_tiles),
        true => (all.against_tiles, all.against_rows),
    };
    Some(match (against, against_other) {
        (0, FEWEST_CONTRADICTIONS..) => Evidence::Values,
        (FEWEST_CONTRADICTIONS.., 0) => Evidence::Against,
        _ => Evidence::Named,
    })
}
