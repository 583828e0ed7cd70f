//! Endless stream of adversarial tiles of an instruction: the operands of `tcnum verify`.
//!
//! Every code is a function of instruction, seed, tile number and position, computed in integers, here and on a GPU
//! (`kernels/stream.cuh`): any tile can be reproduced anywhere from its number.
//!
//! A tile has one [`Regime`], and each of its dot-product-adds is a case of it. That is possible because exponents of
//! products separate: a profile of exponents along k is drawn for the tile, and each exponent is split between the
//! factors, so that A and B agree on it in every row and column. Rows and columns then shift exponents and signs. Pairs
//! of slots that cancel have the same random bits, and a c that cancels a product is computed from its factors.

mod bits;
mod code;
mod drawn;
mod fields;
mod line;
mod operand;
mod parameters;
mod regime;
mod regimes;
mod sparse;
mod word;

pub use regime::Regime;

use crate::isa::{Codes, Instruction, Tiles, operands};
use fields::Ranges;
use operand::StreamedTile;

/// Tiles `first..first + count` of the stream of `i` and `seed`.
///
/// # Panics
/// If a row of A does not have 1, 2, 4, .. 256 stored elements; every instruction of the table does.
pub fn tiles(i: &Instruction, seed: u64, first: u64, count: usize) -> Tiles {
    let shape = Ranges::of(i);
    let operands = operands(i);
    let bytes: Vec<usize> = operands.iter().map(|o| o.len() * o.format.bytes()).collect();
    let mut arrays: Vec<Vec<u8>> = bytes.iter().map(|bytes| vec![0; count * bytes]).collect();
    let mut tile = StreamedTile::new(&shape, seed, first);
    for number in 0..count as u64 {
        if number > 0 {
            tile.make(seed, first.wrapping_add(number));
        }
        for ((operand, array), bytes) in operands.iter().zip(&mut arrays).zip(&bytes) {
            let (columns, width) = (operand.columns, operand.format.bytes());
            let codes = Matrix { columns, width, bytes: &mut array[number as usize * bytes..][..*bytes] };
            match (operand.name, &shape.scale) {
                ("a", _) => codes.fill(|row, stored| tile.a(row, stored)),
                ("b", _) => codes.copy(tile.b()),
                ("c", _) => codes.copy(tile.c()),
                ("positions", _) => codes.fill(|row, stored| tile.position(row, stored) as u64),
                ("scale_a", Some((scale, _))) => codes.fill(|row, block| tile.scale_a(scale, row, block)),
                (_, Some((scale, _))) => codes.fill(|block, column| tile.scale_b(scale, block, column)),
                (name, None) => unreachable!("the operand {name} belongs to block-scaled forms"),
            }
        }
    }
    let codes = operands.iter().zip(arrays).map(|(operand, bytes)| {
        (operand.name, Codes::from_bytes(operand.format, bytes).expect("every code has the format's width"))
    });
    Tiles::from_arrays(count, codes).expect("an instruction has A, B and C")
}

/// Regime of a tile.
pub fn regime(_: &Instruction, _: u64, tile: u64) -> Regime {
    drawn::regime(tile)
}

/// Bytes of one array of a tile.
struct Matrix<'a> {
    columns: usize,
    width: usize,
    bytes: &'a mut [u8],
}

impl Matrix<'_> {
    /// Sets the codes row by row.
    fn fill(self, code: impl Fn(usize, usize) -> u64) {
        match self.width {
            1 => self.fill_wide::<1>(code),
            2 => self.fill_wide::<2>(code),
            4 => self.fill_wide::<4>(code),
            _ => self.fill_wide::<8>(code),
        }
    }

    fn fill_wide<const WIDTH: usize>(self, code: impl Fn(usize, usize) -> u64) {
        for (row, bytes) in self.bytes.chunks_exact_mut(self.columns * WIDTH).enumerate() {
            for (column, bytes) in bytes.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
                *bytes = low_bytes(code(row, column));
            }
        }
    }

    /// Copies the codes of a matrix row by row.
    fn copy(self, codes: &[u64]) {
        match self.width {
            1 => copy_wide::<1>(codes, self.bytes),
            2 => copy_wide::<2>(codes, self.bytes),
            4 => copy_wide::<4>(codes, self.bytes),
            _ => copy_wide::<8>(codes, self.bytes),
        }
    }
}

fn copy_wide<const WIDTH: usize>(codes: &[u64], bytes: &mut [u8]) {
    for (bytes, code) in bytes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(codes) {
        *bytes = low_bytes(*code);
    }
}

/// Lower bytes of a code.
#[inline]
fn low_bytes<const WIDTH: usize>(code: u64) -> [u8; WIDTH] {
    let mut bytes = [0; WIDTH];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (code >> (8 * at)) as u8;
    }
    bytes
}

#[cfg(test)]
mod tests;
