//! All pairs of codes of A and B in one position of k: the operands of an exhaustive multiplication.
//!
//! Let `bits(f)` be the width of format f without ignored padding, `a` and `b` the formats of A and B, and `columns =
//! ceil(2^bits(b) / n)`. Tile t multiplies, in the stored position p of A and the row of B that it meets,
//!
//! ```text
//! A[row][p]      = ((t / columns * m + row)    mod 2^bits(a)) << padding(a)
//! B[k(p)][column] = ((t mod columns * n + column) mod 2^bits(b)) << padding(b)
//! ```
//!
//! with `k(p) = p` (in sparse forms `p / kept * length + p mod kept`: the first positions of every chunk). Every other
//! operand and c are zero; block scales are 1. `ceil(2^bits(a) / m) * columns` tiles hold every pair: once each if m
//! and n divide the numbers of codes, otherwise some pairs more than once.

use crate::{
    Error, Result,
    format::{Format, Overflow, Rounding},
    isa::{Codes, Instruction, Tiles},
};

/// Most bits of a pair of codes: 2^40 pairs take hours on a GPU.
const MOST_BITS: u32 = 40;

/// Bits of a code that carry information, and padding below them.
fn bits(format: &Format) -> (u32, u32) {
    let padding = format.float().map_or(0, |float| float.padding_bits);
    (format.bits - padding, padding)
}

/// Number of pairs of codes of A and B.
///
/// # Errors
/// [`Error::Unavailable`]: there are more than 2^40 pairs, or A has no such position.
pub fn pairs(i: &Instruction, position: usize) -> Result<u64> {
    let total = bits(i.a).0 + bits(i.b).0;
    if total > MOST_BITS {
        return Err(Error::unavailable(format!(
            "{i} has 2^{total} pairs of {} and {} codes, more than the limit of 2^{MOST_BITS}; draw a number \
             of adversarial cases instead",
            i.a, i.b
        )));
    }
    if position >= i.stored_k() {
        return Err(Error::unavailable(format!(
            "{i} has no position {position}; a row of A has {}, from 0",
            i.stored_k()
        )));
    }
    Ok(1 << total)
}

/// Number of blocks of m rows of A, and of n columns of B, that hold all codes.
fn blocks(i: &Instruction) -> (u64, u64) {
    let blocks = |format, each: usize| (1u64 << bits(format).0).div_ceil(each as u64);
    (blocks(i.a, i.m), blocks(i.b, i.n))
}

/// Number of tiles that hold every pair.
pub fn tile_count(i: &Instruction) -> u64 {
    let (rows, columns) = blocks(i);
    rows * columns
}

/// Tiles `first..first + count`, with the pairs in `position`.
pub fn tiles(i: &Instruction, position: usize, first: u64, count: usize) -> Tiles {
    let mut tiles = Tiles::zeros(i, count);
    let code = |format: &'static Format| {
        let (bits, padding) = bits(format);
        move |index: u64| (index & ((1 << bits) - 1)) << padding
    };
    let (a_code, b_code, columns) = (code(i.a), code(i.b), blocks(i).1);
    let k = i.chunk().map_or(position, |chunk| position / chunk.kept * chunk.length + position % chunk.kept);
    for tile in 0..count {
        let number = first + tile as u64;
        for row in 0..i.m {
            let index = number / columns * i.m as u64 + row as u64;
            tiles.a.set((tile * i.m + row) * i.stored_k() + position, a_code(index));
        }
        for column in 0..i.n {
            let index = number % columns * i.n as u64 + column as u64;
            tiles.b.set((tile * i.k + k) * i.n + column, b_code(index));
        }
    }
    if let Some(scale) = i.scale {
        let one = scale.format.encode_f64(1.0, Rounding::Rne, Overflow::Standard).expect("scales can be 1");
        let ones = |codes: &Codes| Codes::from_values(scale.format, &vec![one; codes.len()]);
        tiles.scale_a = tiles.scale_a.as_ref().map(ones);
        tiles.scale_b = tiles.scale_b.as_ref().map(ones);
    }
    tiles
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::isa;

    #[test]
    fn every_pair_of_codes_occurs_once_and_nothing_else_does() {
        for (name, position) in [("mma.m16n8k32.f32.e4m3.e5m2.f32", 5), ("mma.sp.m16n8k64.f32.e4m3.e5m2.f32", 3)] {
            let i = isa::find(name).unwrap();
            let mut seen = BTreeMap::new();
            let all = tiles(&i, position, 0, tile_count(&i) as usize);
            for tile in 0..all.count {
                for (row, column) in (0..i.m).flat_map(|row| (0..i.n).map(move |column| (row, column))) {
                    let case = all.case(&i, tile, row, column);
                    let logical = case.logical(&i, position);
                    *seen.entry((case.a[position], case.b[logical])).or_insert(0) += 1;
                    let other = |codes: &[u64], at: usize| codes.iter().enumerate().any(|(k, x)| k != at && *x != 0);
                    assert!(!other(&case.a, position) && !other(&case.b, logical) && case.c == 0);
                }
            }
            assert_eq!((seen.len(), seen.values().max()), (1 << 16, Some(&1)), "{name}");
            assert_eq!(pairs(&i, position).unwrap(), 1 << 16);
        }
    }

    #[test]
    fn a_tile_is_the_same_alone_and_among_others() {
        for name in ["mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32", "wgmma.m64n24k16.f32.f16.f16"] {
            let i = isa::find(name).unwrap();
            let last = tile_count(&i) - 1;
            let several = tiles(&i, 1, last - 4, 5);
            assert_eq!(several.slice(4, 5), tiles(&i, 1, last, 1), "{name}");
            // The last tile ends with the last codes, or wraps around.
            let case = several.case(&i, 4, i.m - 1, (i.n - 1).min(15));
            assert_eq!(case.a[1], i.a.code_mask() & !((1u64 << bits(i.a).1) - 1), "{name}");
        }
    }

    #[test]
    fn what_is_too_much_or_absent_is_refused() {
        let double = isa::find("mma.m8n8k4.f64.f64.f64.f64").unwrap();
        assert!(pairs(&double, 0).unwrap_err().to_string().contains("2^128 pairs"));
        let half = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
        assert_eq!(pairs(&half, 15).unwrap(), 1 << 32);
        assert!(pairs(&half, 16).unwrap_err().to_string().contains("no position 16"));
    }
}
