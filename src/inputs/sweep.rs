//! Tiles that sweep pairs of powers of two near the smallest results: where the floor of an alignment shows.

use super::values::{exponents, nearest_power};
use crate::{format::Format, isa::Instruction, isa::Tiles};

/// Distances between the two powers that one tile sweeps.
const DISTANCES: i32 = 32;
/// Columns that step the second power by one each; rows step it by this many.
const COLUMNS: i32 = 8;

/// Fills a tile (all zeros before) so that its elements are `first + second`, c = 0: `first` is a power of two from half the
/// smallest result to a few times that, `second` one of the 32 powers below it, alike or opposite in sign.
///
/// With f32 results 2^-149 - 2^-q is truncated to zero exactly when alignment keeps 2^-q; with f16 results the tie
/// 2^-25 + 2^-q is rounded up exactly when it does. `number` chooses the sign of `second`, whether a larger pair that cancels
/// stands beside (k > 3), and which `first` come first.
pub(super) fn fill(tiles: &mut Tiles, i: &Instruction, tile: usize, number: usize) {
    let (smallest, _) = exponents(i.d);
    let (subtract, pair) = (number.is_multiple_of(2), number / 2 % 2 == 1 && i.k > 3);
    let blocks = DISTANCES / COLUMNS;
    let first_b = split(smallest, i.b, i.a);
    let second_b = split(smallest - 1 - DISTANCES, i.b, i.a) + COLUMNS - 1;
    for row in 0..i.m as i32 {
        let turn = row / blocks + (number / 4) as i32 * (i.m as i32 / blocks);
        let first = smallest - 1 + turn % 4;
        let below = smallest - 2 - COLUMNS * (row % blocks);
        set_a(tiles, i, tile, row, 0, nearest_power(i.a, false, first - first_b));
        set_a(tiles, i, tile, row, 1, nearest_power(i.a, subtract, below - second_b));
        if pair {
            let top = nearest_power(i.a, false, first + 2 + row % 7 - first_b);
            set_a(tiles, i, tile, row, 2, top);
            set_a(tiles, i, tile, row, 3, nearest_power(i.a, true, first + 2 + row % 7 - first_b));
        }
    }
    for column in 0..i.n as i32 {
        for k in [0, 2, 3] {
            if k < i.k && (k == 0 || pair) {
                set_b(tiles, i, tile, column, k, nearest_power(i.b, false, first_b));
            }
        }
        set_b(tiles, i, tile, column, 1, nearest_power(i.b, false, second_b - column % COLUMNS));
    }
}

/// The exponent of B when a product's exponent `e` is shared as evenly as the formats allow.
fn split(e: i32, b: &Format, a: &Format) -> i32 {
    let ((b_low, b_high), (a_low, a_high)) = (exponents(b), exponents(a));
    (e / 2).clamp((e - a_high).max(b_low), (e - a_low).min(b_high).max((e - a_high).max(b_low)))
}

fn set_a(tiles: &mut Tiles, i: &Instruction, tile: usize, row: i32, k: usize, code: u64) {
    tiles.a.set((tile * i.m + row as usize) * i.k + k, code);
}

fn set_b(tiles: &mut Tiles, i: &Instruction, tile: usize, column: i32, k: usize, code: u64) {
    tiles.b.set((tile * i.k + k) * i.n + column as usize, code);
}
