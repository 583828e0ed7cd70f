//! Register layout of the operands A, B and C of tiles.

use crate::isa::{Codes, Instruction, Tiles};

/// Bytes of a register.
pub const BYTES: usize = 64;

/// The content of a 512-bit register, or of a row of a tile register.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
pub struct Vector(pub [u8; BYTES]);

const ZERO: Vector = Vector([0; BYTES]);

/// Rows of a tile register.
pub const ROWS: usize = 16;

/// The configuration of `tiles` tile registers of 16 rows of 64 bytes, as LDTILECFG reads it.
pub const fn tile_configuration(tiles: usize) -> Vector {
    let mut bytes = [0; BYTES];
    // Palette; from byte 16, bytes of a row of each tile; from byte 48, rows of each tile.
    bytes[0] = 1;
    let mut tile = 0;
    while tile < tiles {
        bytes[16 + 2 * tile] = BYTES as u8;
        bytes[48 + tile] = ROWS as u8;
        tile += 1;
    }
    Vector(bytes)
}

/// Operands of tiles, one register per row.
#[derive(Debug, Default)]
pub struct Registers {
    /// Rows of A. Instructions that work lane by lane have their one row of A in every lane.
    pub a: Vec<Vector>,
    /// Rows of B; the codes that one lane multiplies are adjacent.
    pub b: Vec<Vector>,
    /// Rows of C.
    pub c: Vec<Vector>,
}

impl Registers {
    /// Loads the operands of the tiles `first..first + count`.
    ///
    /// # Panics
    /// If a row of C is not a register.
    pub fn load(&mut self, i: &Instruction, tiles: &Tiles, first: usize, count: usize) {
        assert!(i.n * i.c.bytes() == BYTES && i.c.bytes() == i.d.bytes(), "a row of C of {i} is a register");
        let codes = |codes: &Codes, each: usize| {
            let each = each * codes.width();
            first * each..(first + count) * each
        };
        let row = i.k * i.a.bytes();
        let a = &tiles.a.as_bytes()[codes(&tiles.a, i.m * i.k)];
        self.a.clear();
        match row {
            BYTES => self.a.extend(a.as_chunks().0.iter().map(|row| Vector(*row))),
            8 => self.a.extend(a.as_chunks().0.iter().map(repeated::<8>)),
            4 => self.a.extend(a.as_chunks().0.iter().map(repeated::<4>)),
            _ => self.a.extend(a.as_chunks().0.iter().map(repeated::<2>)),
        }
        // Codes of B that one lane multiplies with a row of A.
        let together = i.c.bytes() / i.b.bytes();
        let b = &tiles.b.as_bytes()[codes(&tiles.b, i.k * i.n)];
        self.b.clear();
        match (together, i.b.bytes()) {
            (1, _) => self.b.extend(b.as_chunks().0.iter().map(|row| Vector(*row))),
            (_, 1) => self.b.extend(b.chunks_exact(BYTES).map(|rows| interleaved::<1>(rows, together))),
            _ => self.b.extend(b.chunks_exact(BYTES).map(|rows| interleaved::<2>(rows, together))),
        }
        self.c.clear();
        let c = &tiles.c.as_bytes()[codes(&tiles.c, i.m * i.n)];
        self.c.extend(c.as_chunks().0.iter().map(|row| Vector(*row)));
    }
}

/// Repeats a row in every lane.
fn repeated<const WIDTH: usize>(row: &[u8; WIDTH]) -> Vector {
    let mut vector = ZERO;
    vector.0.as_chunks_mut().0.fill(*row);
    vector
}

/// Interleaves `count` rows of codes of `WIDTH` bytes, column by column.
fn interleaved<const WIDTH: usize>(rows: &[u8], count: usize) -> Vector {
    let mut vector = ZERO;
    let places = vector.0.as_chunks_mut::<WIDTH>().0;
    for (row, codes) in rows.chunks_exact(BYTES / count).enumerate() {
        for (column, code) in codes.as_chunks::<WIDTH>().0.iter().enumerate() {
            places[column * count + row] = *code;
        }
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    /// Tiles whose codes are their positions.
    fn numbered(i: &Instruction, count: usize) -> Tiles {
        let mut tiles = Tiles::zeros(i, count);
        for codes in [&mut tiles.a, &mut tiles.b, &mut tiles.c] {
            (0..codes.len()).for_each(|at| codes.set(at, at as u64));
        }
        tiles
    }

    #[test]
    fn a_lane_finds_the_codes_that_it_multiplies_side_by_side() {
        for name in [
            "tdpbf16ps.m16n16k32.f32.bf16.bf16.f32",
            "tdphbf8ps.m16n16k64.f32.e4m3.e5m2.f32",
            "tdpbusd.m16n16k64.s32.u8.s8.s32",
            "vpdpwssd.m1n16k2.s32.s16.s16.s32",
            "vfmadd.m1n8k1.f64.f64.f64.f64",
            "vfmadd.m1n32k1.f16.f16.f16.f16",
        ] {
            let i = &isa::find(name).unwrap();
            let (tiles, mut registers) = (numbered(i, 3), Registers::default());
            registers.load(i, &tiles, 1, 2);
            let flat = |vectors: &[Vector]| -> Vec<u8> { vectors.iter().flat_map(|vector| vector.0).collect() };
            let (a, b, c) = (flat(&registers.a), flat(&registers.b), flat(&registers.c));
            let (width, together) = (i.a.bytes(), i.c.bytes() / i.a.bytes());
            let steps = i.k / together;
            for (tile, row, column) in (0..2).flat_map(|t| [(t, 0, 0), (t, i.m - 1, 1), (t, i.m - 1, i.n - 1)]) {
                let case = tiles.case(i, tile + 1, row, column);
                for k in 0..i.k {
                    let (step, part) = (k / together, k % together);
                    // Every lane has the one row of A.
                    let lane = if i.m == 1 { column } else { step };
                    let in_a = ((tile * i.m + row) * BYTES / width + lane * together + part) * width;
                    let in_b = ((tile * steps + step) * BYTES / width + column * together + part) * width;
                    assert_eq!(a[in_a..][..width], case.a[k].to_le_bytes()[..width], "{i} a {k}");
                    assert_eq!(b[in_b..][..width], case.b[k].to_le_bytes()[..width], "{i} b {k}");
                }
                let in_c = ((tile * i.m + row) * i.n + column) * i.c.bytes();
                assert_eq!(c[in_c..][..i.c.bytes()], case.c.to_le_bytes()[..i.c.bytes()], "{i} c");
            }
        }
    }
}
