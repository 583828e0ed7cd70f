//! One tile: its operands decoded once, and the kernel run over its rows and columns.

use super::{
    kernel::{Kernel, Workspace},
    number::{COUNT, Decoder, Element, ZERO},
    pieces::Pieces,
    scale::Scales,
    terms::{Factors, Row},
    word::{LANES, PIECES},
};
use crate::isa::{Chunk, Codes, Instruction, Tiles};

/// The shape of an instruction.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    m: usize,
    n: usize,
    k: usize,
    /// Elements in a row of A.
    stored: usize,
    chunk: Option<Chunk>,
    /// Bytes of a code of D.
    pub(super) width: usize,
}

impl Shape {
    pub(super) fn new(i: &Instruction) -> Shape {
        Shape { m: i.m, n: i.n, k: i.k, stored: i.stored_k(), chunk: i.chunk(), width: i.d.bytes() }
    }

    /// The logical k of the stored element `at` of a row with these positions.
    #[inline(always)]
    fn logical(&self, positions: &[u32], at: usize) -> usize {
        self.chunk.map_or(at, |chunk| at / chunk.kept * chunk.length + positions[at] as usize)
    }
}

/// Decoded elements.
#[derive(Debug, Default)]
struct Elements {
    significands: Vec<i32>,
    exponents: Vec<i32>,
    negative: Vec<u32>,
}

/// The decoded operands of a tile.
#[derive(Debug, Default)]
pub(super) struct Tile {
    codes: Vec<u32>,
    ordered: Vec<u32>,
    c: Vec<u32>,
    positions: Vec<u32>,
    /// The scales of A and B.
    scales: [Vec<u32>; 2],
    /// A by row, in the order of the kernel.
    a: Elements,
    /// B by [`LANES`] columns, k and column: dense in the order of the kernel.
    b: Elements,
    /// The scales of those elements, where they are not scaled already.
    a_scales: Elements,
    b_scales: Elements,
    /// The elements of B that the rows of a sparse A choose.
    chosen: Elements,
    chosen_scales: Elements,
    /// Rows of A and columns of B with something infinite or NaN.
    void_rows: Vec<bool>,
    void_columns: Vec<bool>,
    workspace: Workspace,
    /// The elements of D that are to be computed by other means.
    pub(super) void: Vec<usize>,
}

impl Elements {
    /// The data of codes that `decoder` decodes, shifted left; whether one is infinite or NaN.
    #[inline(always)]
    fn decode(&mut self, decoder: &Decoder, codes: &[u32], lifted: u32) -> bool {
        self.resize(codes.len());
        let mut special = 0;
        let out = self.significands.iter_mut().zip(&mut self.exponents).zip(&mut self.negative);
        for (((significand, exponent), negative), code) in out.zip(codes) {
            let element = decoder.operand(*code);
            let flip = element.negative as i32;
            *significand = (((element.significand << lifted) as i32) ^ flip).wrapping_sub(flip);
            *exponent = element.exponent;
            *negative = element.negative;
            special |= u32::from(element.special);
        }
        special != 0
    }

    fn resize(&mut self, count: usize) {
        self.significands.resize(count, 0);
        self.exponents.resize(count, 0);
        self.negative.resize(count, 0);
    }

    fn clear(&mut self) {
        self.resize(0);
    }

    /// Multiplies by the scale of each element.
    #[inline(always)]
    fn scale(&mut self, scales: &Elements) {
        for at in 0..self.significands.len() {
            self.significands[at] *= scales.significands[at];
            let zero = self.significands[at] == 0;
            self.exponents[at] = if zero { ZERO } else { self.exponents[at] + scales.exponents[at] };
        }
    }

    /// Appends [`LANES`] elements of `other`.
    #[inline(always)]
    fn push_lanes(&mut self, other: &Elements, at: usize) {
        let range = at * LANES..(at + 1) * LANES;
        self.significands.extend_from_slice(&other.significands[range.clone()]);
        self.exponents.extend_from_slice(&other.exponents[range.clone()]);
        self.negative.extend_from_slice(&other.negative[range]);
    }

    fn push(&mut self, element: &Element) {
        self.significands.push(element.significand as i32);
        self.exponents.push(element.exponent);
        self.negative.push(element.negative);
    }

    fn row(&self) -> Row<'_, i32, u32> {
        Row { significands: &self.significands, exponents: &self.exponents, negative: &self.negative }
    }

    fn lanes(&self) -> Row<'_, [i32; LANES], [u32; LANES]> {
        Row {
            significands: self.significands.as_chunks().0,
            exponents: self.exponents.as_chunks().0,
            negative: self.negative.as_chunks().0,
        }
    }
}

impl Tile {
    /// Computes the bytes of the D codes `[m][n]` of a tile, and notes the elements that are void.
    #[inline(always)]
    pub(super) fn run(&mut self, kernel: &Kernel, i: &Shape, tiles: &Tiles, tile: usize, d: &mut [u8]) {
        self.void.clear();
        if let Some(positions) = &tiles.positions {
            widen(positions, tile * i.m * i.stored, i.m * i.stored, &mut self.positions);
        }
        widen(&tiles.c, tile * i.m * i.n, i.m * i.n, &mut self.c);
        self.load_a(kernel, i, tiles, tile);
        self.load_b(kernel, i, tiles, tile);
        if let Some(scales) = &kernel.scales {
            self.load_scales(kernel, scales, i, tiles, tile);
        }
        let blocks = i.n.div_ceil(LANES);
        for first in (0..i.m * blocks).step_by(PIECES) {
            self.batch(kernel, i, first, PIECES.min(i.m * blocks - first), d);
        }
    }

    /// Decodes A.
    #[inline(always)]
    fn load_a(&mut self, kernel: &Kernel, i: &Shape, tiles: &Tiles, tile: usize) {
        widen(&tiles.a, tile * i.m * i.stored, i.m * i.stored, &mut self.codes);
        let codes = if kernel.ordered {
            &self.codes
        } else {
            self.ordered.clear();
            for row in self.codes.chunks_exact(i.stored) {
                self.ordered.extend(kernel.order.iter().map(|at| row[*at]));
            }
            &self.ordered
        };
        self.void_rows.clear();
        self.void_rows.resize(i.m, false);
        if self.a.decode(&kernel.a, codes, kernel.lifted) {
            for (void, row) in self.void_rows.iter_mut().zip(codes.chunks_exact(i.stored)) {
                *void = row.iter().any(|code| kernel.a.operand(*code).special);
            }
        }
    }

    /// Decodes B.
    #[inline(always)]
    fn load_b(&mut self, kernel: &Kernel, i: &Shape, tiles: &Tiles, tile: usize) {
        widen(&tiles.b, tile * i.k * i.n, i.k * i.n, &mut self.codes);
        let in_place = i.n == LANES && (kernel.ordered || i.chunk.is_some());
        let codes = if in_place {
            &self.codes
        } else {
            self.ordered.clear();
            for first in (0..i.n).step_by(LANES) {
                let columns = LANES.min(i.n - first);
                for position in 0..i.k {
                    let k = if i.chunk.is_some() { position } else { kernel.order[position] };
                    self.ordered.extend_from_slice(&self.codes[k * i.n + first..][..columns]);
                    self.ordered.resize(self.ordered.len() + LANES - columns, 0);
                }
            }
            &self.ordered
        };
        self.void_columns.clear();
        self.void_columns.resize(i.n.next_multiple_of(LANES), false);
        if self.b.decode(&kernel.b, codes, 0) {
            for (at, code) in codes.iter().enumerate() {
                self.void_columns[at / (i.k * LANES) * LANES + at % LANES] |= kernel.b.operand(*code).special;
            }
        }
    }

    /// Decodes the scales, and scales A and B where their sums are not.
    fn load_scales(&mut self, kernel: &Kernel, scales: &Scales, i: &Shape, tiles: &Tiles, tile: usize) {
        let blocks = i.k / scales.block;
        let [a, b] = &mut self.scales;
        tiles.scale_a.iter().for_each(|codes| widen(codes, tile * i.m * blocks, i.m * blocks, a));
        tiles.scale_b.iter().for_each(|codes| widen(codes, tile * blocks * i.n, blocks * i.n, b));
        self.a_scales.clear();
        for row in 0..i.m {
            for &at in &kernel.order {
                let k = i.logical(self.positions.get(row * i.stored..).unwrap_or_default(), at);
                let scale = scales.decode(a[row * blocks + k / scales.block]);
                self.void_rows[row] |= scale.special;
                self.a_scales.push(&scale);
            }
        }
        self.b_scales.clear();
        for first in (0..i.n).step_by(LANES) {
            for position in 0..i.k {
                let k = if i.chunk.is_some() { position } else { kernel.order[position] };
                for column in first..first + LANES {
                    let code = if column < i.n { b[k / scales.block * i.n + column] } else { 0 };
                    let scale = scales.decode(code);
                    self.void_columns[column] |= scale.special;
                    self.b_scales.push(&scale);
                }
            }
        }
        if scales.run == 0 {
            self.a.scale(&self.a_scales);
            self.b.scale(&self.b_scales);
        }
    }

    /// The elements of D in `count` pieces.
    #[inline(always)]
    fn batch(&mut self, kernel: &Kernel, i: &Shape, first: usize, count: usize, d: &mut [u8]) {
        let blocks = i.n.div_ceil(LANES);
        let place = |at: usize| ((first + at) / blocks, (first + at) % blocks);
        let mut c = [0; COUNT];
        let mut starts = [(0, 0); PIECES];
        for (at, start) in starts.iter_mut().enumerate().take(count) {
            let (row, block) = place(at);
            let columns = LANES.min(i.n - block * LANES);
            c[at * LANES..][..columns].copy_from_slice(&self.c[row * i.n + block * LANES..][..columns]);
            *start = (row * i.stored, if i.chunk.is_some() { at * i.stored } else { block * i.k });
        }
        let sums = kernel.scales.as_ref().is_some_and(|scales| scales.run > 0);
        if i.chunk.is_some() {
            self.choose(kernel, i, (0..count).map(place), sums);
        }
        let (b, b_scales) =
            if i.chunk.is_some() { (&self.chosen, &self.chosen_scales) } else { (&self.b, &self.b_scales) };
        let pieces = Pieces {
            a: self.a.row(),
            b: b.lanes(),
            scales: sums.then(|| Factors { a: self.a_scales.row(), b: b_scales.lanes() }),
            starts: &starts,
            count,
            group: (0, i.stored),
        };
        let outcome = kernel.run(&pieces, &c, &mut self.workspace);
        for at in 0..count {
            let (row, block) = place(at);
            let columns = LANES.min(i.n - block * LANES);
            let element = row * i.n + block * LANES;
            let codes = &outcome.codes[at * LANES..][..columns];
            narrow(codes, &mut d[element * i.width..][..columns * i.width]);
            let void = &outcome.void[at * LANES..][..columns];
            let outside = &self.void_columns[block * LANES..][..columns];
            if self.void_rows[row] || void.iter().any(|void| *void != 0) || outside.contains(&true) {
                let spoilt = |lane: &usize| self.void_rows[row] || void[*lane] != 0 || outside[*lane];
                self.void.extend((0..columns).filter(spoilt).map(|lane| element + lane));
            }
        }
    }

    /// Collects the elements of B that the rows of a sparse A are multiplied by.
    #[inline(always)]
    fn choose(&mut self, kernel: &Kernel, i: &Shape, places: impl Iterator<Item = (usize, usize)>, scales: bool) {
        self.chosen.clear();
        self.chosen_scales.clear();
        for (row, block) in places {
            for &at in &kernel.order {
                let k = block * i.k + i.logical(&self.positions[row * i.stored..], at);
                self.chosen.push_lanes(&self.b, k);
                if scales {
                    self.chosen_scales.push_lanes(&self.b_scales, k);
                }
            }
        }
    }
}

/// `count` codes from `first` on.
#[inline(always)]
fn widen(codes: &Codes, first: usize, count: usize, out: &mut Vec<u32>) {
    let bytes = &codes.as_bytes()[first * codes.width()..][..count * codes.width()];
    out.clear();
    match codes.width() {
        1 => out.extend(bytes.iter().map(|byte| u32::from(*byte))),
        2 => out.extend(bytes.as_chunks().0.iter().map(|b| u32::from(u16::from_le_bytes(*b)))),
        _ => out.extend(bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b))),
    }
}

/// Codes in as many bytes as there are for each.
#[inline(always)]
fn narrow(codes: &[u32], bytes: &mut [u8]) {
    match bytes.len() / codes.len() {
        1 => bytes.iter_mut().zip(codes).for_each(|(byte, code)| *byte = *code as u8),
        2 => bytes.as_chunks_mut().0.iter_mut().zip(codes).for_each(|(b, code)| *b = (*code as u16).to_le_bytes()),
        _ => bytes.as_chunks_mut().0.iter_mut().zip(codes).for_each(|(b, code)| *b = code.to_le_bytes()),
    }
}
