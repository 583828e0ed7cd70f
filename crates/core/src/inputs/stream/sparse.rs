//! Stored elements of a row of A in sparse forms.

use super::{bits::fraction_of, fields::Ranges, parameters::Parameters};
use crate::isa::Chunk;

/// First number of patterns among the numbers of elements.
const POSITIONS: u32 = 0x70000;

/// Pairs of units kept among four: {0,1} {0,3} {1,2} {2,3}, which keep each role once, {0,2} {1,3}.
/// Bits 0 and 1 of an entry are the first, bits 2 and 3 the second.
const PATTERNS: [u32; 6] = [0b0100, 0b1100, 0b1001, 0b1110, 0b1000, 0b1101];

/// Units of a chunk that a row stores: bits 0 to 1 and 2 to 3; a single unit in bit 0.
/// Where any order is allowed, half the chunks have the larger one first.
fn pattern(plan: &Parameters, form: Chunk, row: usize, chunk: usize) -> u32 {
    let row = if plan.patterns == 2 { 0 } else { row };
    let hash = plan.hash(POSITIONS + (row * 256 + chunk) as u32);
    if form.kept == 1 {
        return hash >> 31;
    }
    let pattern = PATTERNS[fraction_of(hash, if plan.patterns == 0 { 6 } else { 4 }) as usize];
    if form.any_order && hash & 1 != 0 { pattern >> 2 | (pattern & 3) << 2 } else { pattern }
}

/// Position of a stored element of A in its chunk; 0 for dense forms.
#[inline]
pub(super) fn position(plan: &Parameters, shape: &Ranges, row: usize, stored: usize) -> usize {
    let Some(chunk) = shape.chunk else { return 0 };
    let pattern = pattern(plan, chunk, row, stored / chunk.kept);
    if chunk.kept == 1 {
        return pattern as usize;
    }
    let within = stored % chunk.kept;
    let unit = if within < chunk.together { pattern & 3 } else { pattern >> 2 };
    unit as usize * chunk.together + within % chunk.together
}

/// Index along k of a stored element.
#[inline]
pub(super) fn logical(plan: &Parameters, shape: &Ranges, row: usize, stored: usize) -> usize {
    match shape.chunk {
        None => stored,
        Some(chunk) => stored / chunk.kept * chunk.length + position(plan, shape, row, stored),
    }
}

/// Role of an index along k: two indices of a chunk have each.
#[inline]
pub(super) fn role(shape: &Ranges, k: usize) -> usize {
    match shape.chunk {
        None => k,
        Some(chunk) => k / chunk.length * chunk.kept + ((k % chunk.length) & (chunk.kept - 1)),
    }
}

/// True if no row of A stores the index, in tiles where all rows store the same.
pub(super) fn unused(plan: &Parameters, shape: &Ranges, k: usize) -> bool {
    let Some(chunk) = shape.chunk.filter(|_| plan.patterns == 2) else { return false };
    let pattern = pattern(plan, chunk, 0, k / chunk.length);
    let unit = (k % chunk.length / chunk.together) as u32;
    if chunk.kept == 1 { unit != pattern } else { unit != pattern & 3 && unit != pattern >> 2 }
}
