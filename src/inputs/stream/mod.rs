//! The endless stream of adversarial tiles of an instruction: the operands of `tcnum verify`.
//!
//! Every code is a function of instruction, seed, tile number and position, computed in integers, here and on a GPU
//! (`kernels/stream.cuh`): any tile can be made again anywhere from its number.
//!
//! A tile has one [`Regime`], and each of its dot-product-adds is a case of it. That is possible because exponents of
//! products separate: a profile of exponents along k is drawn for the tile, each is split between the factors, so that
//! A and B agree on it in every row and column; rows and columns shift exponents and signs on top of that. Pairs of
//! slots that cancel have the same random bits, and a c that cancels a product is computed from its factors.

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

use crate::{
    isa::{Codes, Instruction, Tiles, operands},
    kernels::source,
};
use fields::Ranges;
use operand::StreamedTile;

/// The same functions in CUDA C++: to be put after the definitions that specialise a kernel (M, N, K, STORED_K, the format
/// records FormatA, FormatB, FormatC and FormatD; of block-scaled forms FormatScale and SCALE_BLOCK).
pub const CUDA: &[&str] = &[source("stream_tile.cuh"), source("stream_regimes.cuh"), source("stream.cuh")];

/// The tiles `first..first + count` of the stream of `i` and `seed`.
///
/// Panics if a row of A does not have 1, 2, 4, .. 128 stored elements, which no instruction of the table has.
pub fn tiles(i: &Instruction, seed: u64, first: u64, count: usize) -> Tiles {
    let shape = Ranges::of(i);
    let operands = operands(i);
    let mut arrays: Vec<Vec<u8>> =
        operands.iter().map(|o| Vec::with_capacity(count * o.len() * o.format.bytes())).collect();
    let mut tile = StreamedTile::new(&shape, seed, first);
    for number in 0..count as u64 {
        if number > 0 {
            tile.make(seed, first.wrapping_add(number));
        }
        for (operand, bytes) in operands.iter().zip(&mut arrays) {
            let (rows, columns, width) = (operand.rows, operand.columns, operand.format.bytes());
            let codes = Matrix { rows, columns, width, bytes };
            match (operand.name, &shape.scale) {
                ("a", _) => codes.push(|row, stored| tile.a(row, stored)),
                ("b", _) => codes.push(|k, column| tile.b(k, column)),
                ("c", _) => codes.push(|row, column| tile.c(row, column)),
                ("positions", _) => codes.push(|row, stored| tile.position(row, stored) as u64),
                ("scale_a", Some((scale, _))) => codes.push(|row, block| tile.scale_a(scale, row, block)),
                (_, Some((scale, _))) => codes.push(|block, column| tile.scale_b(scale, block, column)),
                (name, None) => unreachable!("the operand {name} belongs to block-scaled forms"),
            }
        }
    }
    let codes = operands.iter().zip(arrays).map(|(operand, bytes)| {
        (operand.name, Codes::from_bytes(operand.format, bytes).expect("every code has the format's width"))
    });
    Tiles::from_arrays(count, codes).expect("an instruction has A, B and C")
}

/// The regime of a tile.
pub fn regime(_: &Instruction, _: u64, tile: u64) -> Regime {
    drawn::regime(tile)
}

/// One array of a tile, to be appended to `bytes`.
struct Matrix<'a> {
    rows: usize,
    columns: usize,
    width: usize,
    bytes: &'a mut Vec<u8>,
}

impl Matrix<'_> {
    /// Appends the codes row by row.
    fn push(self, code: impl Fn(usize, usize) -> u64) {
        match self.width {
            1 => self.push_wide::<1>(code),
            2 => self.push_wide::<2>(code),
            4 => self.push_wide::<4>(code),
            _ => self.push_wide::<8>(code),
        }
    }

    fn push_wide<const WIDTH: usize>(self, code: impl Fn(usize, usize) -> u64) {
        let start = self.bytes.len();
        self.bytes.resize(start + self.rows * self.columns * WIDTH, 0);
        for (row, bytes) in self.bytes[start..].chunks_exact_mut(self.columns * WIDTH).enumerate() {
            for (column, bytes) in bytes.chunks_exact_mut(WIDTH).enumerate() {
                bytes.copy_from_slice(&code(row, column).to_le_bytes()[..WIDTH]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
