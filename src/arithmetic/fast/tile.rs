//! One tile: its operands decoded once, and the kernel run over its rows and columns.

use super::{
    decoder::{DecodedCode, NumberDecoder},
    floating::{RoundedCodes, Workspace},
    kernel::FastKernel,
    number::{COUNT, NAN, UNKNOWN, ZERO},
    pieces::Pieces,
    scale::Scales,
    terms::{DecodedRow, GroupFactors},
    word::{LANES, PIECES},
};
use crate::{
    base::vectors::vectorised,
    isa::{Chunk, Codes, Instruction, Tiles},
};

/// The shape of an instruction.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    m: usize,
    n: usize,
    pub(super) k: usize,
    /// Elements in a row of A.
    stored: usize,
    pub(super) chunk: Option<Chunk>,
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

/// A piece of a row of D: [`LANES`] columns, or as many as there are.
#[derive(Debug, Clone, Copy, Default)]
struct RowPiece {
    row: usize,
    block: usize,
    columns: usize,
    /// Its first element.
    element: usize,
}

/// Decoded elements.
#[derive(Debug, Default)]
struct Elements {
    significands: Vec<i32>,
    exponents: Vec<i32>,
    negative: Vec<u32>,
    special: Vec<u32>,
    /// Whether one of them is infinite or NaN.
    any_special: bool,
}

/// The decoded operands of a tile.
#[derive(Debug, Default)]
pub(super) struct DecodedTile {
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
    workspace: Workspace,
    outcome: RoundedCodes,
    /// The elements of D that are left to the reference evaluator.
    pub(super) unknown: Vec<usize>,
}

impl Elements {
    fn resize(&mut self, count: usize) {
        resize(&mut self.significands, count);
        resize(&mut self.exponents, count);
        resize(&mut self.negative, count);
        resize(&mut self.special, count);
    }

    fn clear(&mut self) {
        self.resize(0);
        self.any_special = false;
    }

    /// Keeps the masked bits of the significands; each mask serves so many elements.
    fn take_pieces(&mut self, masks: impl Iterator<Item = (u32, usize)>) {
        let masks = masks.flat_map(|(mask, times)| std::iter::repeat_n(mask, times));
        for ((significand, exponent), mask) in self.significands.iter_mut().zip(&mut self.exponents).zip(masks) {
            *significand = significand.signum() * (significand.unsigned_abs() & mask) as i32;
            *exponent = if *significand == 0 { ZERO } else { *exponent };
        }
    }

    /// Multiplies by the scale of each element.
    fn scale(&mut self, scales: &Elements) {
        for at in 0..self.significands.len() {
            self.significands[at] *= scales.significands[at];
            let zero = self.significands[at] == 0;
            self.exponents[at] = if zero { ZERO } else { self.exponents[at] + scales.exponents[at] };
            // A scale of zero makes an infinity NaN.
            let nan = (self.special[at] != 0) & (scales.significands[at] == 0) | (scales.special[at] != 0);
            self.special[at] = if nan { NAN } else { self.special[at] };
        }
        self.any_special |= scales.any_special;
    }

    /// Appends [`LANES`] elements of `other`.
    #[inline]
    fn push_lanes(&mut self, other: &Elements, at: usize) {
        let range = at * LANES..(at + 1) * LANES;
        self.significands.extend_from_slice(&other.significands[range.clone()]);
        self.exponents.extend_from_slice(&other.exponents[range.clone()]);
        self.negative.extend_from_slice(&other.negative[range.clone()]);
        self.special.extend_from_slice(&other.special[range]);
    }

    fn push(&mut self, element: &DecodedCode) {
        self.significands.push(element.significand as i32);
        self.exponents.push(element.exponent);
        self.negative.push(element.negative);
        self.special.push(element.special);
        self.any_special |= element.special != 0;
    }

    fn row(&self) -> DecodedRow<'_, i32, u32> {
        DecodedRow {
            significands: &self.significands,
            exponents: &self.exponents,
            negative: &self.negative,
            special: &self.special,
        }
    }

    fn lanes(&self) -> DecodedRow<'_, [i32; LANES], [u32; LANES]> {
        DecodedRow {
            significands: self.significands.as_chunks().0,
            exponents: self.exponents.as_chunks().0,
            negative: self.negative.as_chunks().0,
            special: self.special.as_chunks().0,
        }
    }
}

impl DecodedTile {
    /// Computes the bytes of the D codes `[m][n]` of a tile, and notes the elements that are unknown.
    pub(super) fn run(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, tile: usize, d: &mut [u8]) {
        self.unknown.clear();
        if let Some(positions) = &tiles.positions {
            widen(positions, tile * i.m * i.stored, i.m * i.stored, &mut self.positions);
        }
        widen(&tiles.c, tile * i.m * i.n, i.m * i.n, &mut self.c);
        self.load_a(kernel, i, tiles, tile);
        self.load_b(kernel, i, tiles, tile);
        if let Some(scales) = &kernel.scales {
            self.load_scales(kernel, scales, i, tiles, tile);
        }
        let mut places = [RowPiece::default(); PIECES];
        let mut count = 0;
        for row in 0..i.m {
            for (block, first) in (0..i.n).step_by(LANES).enumerate() {
                places[count] = RowPiece { row, block, columns: LANES.min(i.n - first), element: row * i.n + first };
                count += 1;
                if count == PIECES {
                    self.batch(kernel, i, &places, d);
                    count = 0;
                }
            }
        }
        if count > 0 {
            self.batch(kernel, i, &places[..count], d);
        }
    }

    /// Decodes A.
    fn load_a(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, tile: usize) {
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
        decode(&mut self.a, &kernel.a, codes, kernel.lifted);
        if let Some([masks, _]) = &kernel.masks {
            self.a.take_pieces(masks.iter().cycle().map(|mask| (*mask, 1)));
        }
    }

    /// Decodes B.
    fn load_b(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, tile: usize) {
        widen(&tiles.b, tile * i.k * i.n, i.k * i.n, &mut self.codes);
        let in_place = i.n == LANES && (kernel.ordered || i.chunk.is_some());
        let codes = if in_place {
            &self.codes
        } else {
            self.ordered.clear();
            for first in (0..i.n).step_by(LANES) {
                let columns = LANES.min(i.n - first);
                for position in 0..kernel.rows_of_b(i) {
                    let k = if i.chunk.is_some() { position } else { kernel.order[position] };
                    self.ordered.extend_from_slice(&self.codes[k * i.n + first..][..columns]);
                    self.ordered.resize(self.ordered.len() + LANES - columns, 0);
                }
            }
            &self.ordered
        };
        decode(&mut self.b, &kernel.b, codes, 0);
        if let Some([_, masks]) = kernel.masks.as_ref().filter(|_| i.chunk.is_none()) {
            self.b.take_pieces(masks.iter().cycle().map(|mask| (*mask, LANES)));
        }
    }

    /// Decodes the scales, and scales A and B where their sums are not.
    fn load_scales(&mut self, kernel: &FastKernel, scales: &Scales, i: &Shape, tiles: &Tiles, tile: usize) {
        let blocks = i.k / scales.block;
        let [a, b] = &mut self.scales;
        tiles.scale_a.iter().for_each(|codes| widen(codes, tile * i.m * blocks, i.m * blocks, a));
        tiles.scale_b.iter().for_each(|codes| widen(codes, tile * blocks * i.n, blocks * i.n, b));
        self.a_scales.clear();
        for row in 0..i.m {
            for &at in &kernel.order {
                let k = i.logical(self.positions.get(row * i.stored..).unwrap_or_default(), at);
                let scale = scales.decode(a[row * blocks + k / scales.block]);
                self.a_scales.push(&scale);
            }
        }
        self.b_scales.clear();
        for first in (0..i.n).step_by(LANES) {
            for position in 0..kernel.rows_of_b(i) {
                let k = if i.chunk.is_some() { position } else { kernel.order[position] };
                for column in first..first + LANES {
                    let code = if column < i.n { b[k / scales.block * i.n + column] } else { 0 };
                    let scale = scales.decode(code);
                    self.b_scales.push(&scale);
                }
            }
        }
        if scales.run == 0 {
            self.a.scale(&self.a_scales);
            self.b.scale(&self.b_scales);
        }
    }

    /// The elements of D in some pieces.
    fn batch(&mut self, kernel: &FastKernel, i: &Shape, places: &[RowPiece], d: &mut [u8]) {
        let mut c = [0; COUNT];
        let mut starts = [(0, 0); PIECES];
        for (at, place) in places.iter().enumerate() {
            copy_lanes(&self.c[place.element..], place.columns, &mut c[at * LANES..]);
            let length = kernel.order.len();
            starts[at] = (place.row * length, if i.chunk.is_some() { at * length } else { place.block * length });
        }
        let sums = kernel.scales.as_ref().is_some_and(|scales| scales.run > 0);
        if i.chunk.is_some() {
            self.choose(kernel, i, places, sums);
        }
        let (b, b_scales) =
            if i.chunk.is_some() { (&self.chosen, &self.chosen_scales) } else { (&self.b, &self.b_scales) };
        let pieces = Pieces {
            a: self.a.row(),
            b: b.lanes(),
            scales: sums.then(|| GroupFactors { a: self.a_scales.row(), b: b_scales.lanes() }),
            starts: &starts,
            special: [&self.a, &self.b, &self.a_scales, &self.b_scales].iter().any(|elements| elements.any_special),
            count: places.len(),
            group: (0, kernel.order.len()),
            fraction_bits: (kernel.a.fraction_bits + kernel.b.fraction_bits) as i32,
        };
        kernel.run(&pieces, &c, &mut self.workspace, &mut self.outcome);
        let outcome = &self.outcome;
        for (at, place) in places.iter().enumerate() {
            narrow(&outcome.codes[at * LANES..][..LANES], place.columns, i.width, &mut d[place.element * i.width..]);
        }
        if pieces.special && kernel.masks.is_some() {
            // Infinities and NaN have no pieces.
            let all = places.iter().flat_map(|place| (0..place.columns).map(|lane| place.element + lane));
            return self.unknown.extend(all);
        }
        let mut special = 0;
        for own in &outcome.special[..places.len() * LANES] {
            special |= own;
        }
        if special & UNKNOWN != 0 {
            note_unknown(&mut self.unknown, &outcome.special, places);
        }
    }

    /// Collects the elements of B that the rows of a sparse A are multiplied by.
    fn choose(&mut self, kernel: &FastKernel, i: &Shape, places: &[RowPiece], scales: bool) {
        self.chosen.clear();
        self.chosen_scales.clear();
        for &RowPiece { row, block, .. } in places {
            for &at in &kernel.order {
                let k = block * i.k + i.logical(&self.positions[row * i.stored..], at);
                self.chosen.push_lanes(&self.b, k);
                if scales {
                    self.chosen_scales.push_lanes(&self.b_scales, k);
                }
            }
        }
        if let Some([_, masks]) = &kernel.masks {
            self.chosen.take_pieces(masks.iter().cycle().map(|mask| (*mask, LANES)));
        }
    }
}

/// Notes the elements that are unknown.
#[cold]
fn note_unknown(notes: &mut Vec<usize>, special: &[u32; COUNT], places: &[RowPiece]) {
    for (at, place) in places.iter().enumerate() {
        let unknown = (0..place.columns).filter(|lane| special[at * LANES + lane] & UNKNOWN != 0);
        notes.extend(unknown.map(|lane| place.element + lane));
    }
}

vectorised! {
    /// The data of codes that `decoder` decodes, shifted left.
    fn decode(elements: &mut Elements, decoder: &NumberDecoder, codes: &[u32], lifted: u32) {
        elements.resize(codes.len());
        let mut special = 0;
        let count = codes.len();
        let (significands, exponents) = (&mut elements.significands[..count], &mut elements.exponents[..count]);
        let (negative, specials) = (&mut elements.negative[..count], &mut elements.special[..count]);
        decoder.operands(codes, |at, element| {
            let flip = element.negative as i32;
            significands[at] = (((element.significand << lifted) as i32) ^ flip).wrapping_sub(flip);
            exponents[at] = element.exponent;
            negative[at] = element.negative;
            specials[at] = element.special;
            special |= element.special;
        });
        elements.any_special = special != 0;
    }
}

vectorised! {
    /// `count` codes from `first` on.
    fn widen(codes: &Codes, first: usize, count: usize, out: &mut Vec<u32>) {
    let bytes = &codes.as_bytes()[first * codes.width()..][..count * codes.width()];
    resize(out, count);
    let out = &mut out[..count];
    match codes.width() {
        1 => {
            for (at, code) in out.iter_mut().enumerate() {
                *code = bytes[at].into();
            }
        }
        2 => {
            let codes = &bytes.as_chunks().0[..count];
            for (at, code) in out.iter_mut().enumerate() {
                *code = u16::from_le_bytes(codes[at]).into();
            }
        }
        _ => {
            let codes = &bytes.as_chunks().0[..count];
            for (at, code) in out.iter_mut().enumerate() {
                *code = u32::from_le_bytes(codes[at]);
            }
        }
    }
    }
}

/// Makes a vector as long as `count`, which it mostly is.
#[inline]
fn resize<T: Copy + Default>(vector: &mut Vec<T>, count: usize) {
    if vector.len() != count {
        vector.resize(count, T::default());
    }
}

/// Copies the first `count` of up to [`LANES`] codes.
#[inline(always)]
fn copy_lanes(from: &[u32], count: usize, to: &mut [u32]) {
    match (from.first_chunk::<LANES>(), to.first_chunk_mut::<LANES>()) {
        (Some(from), Some(to)) if count == LANES => *to = *from,
        _ => to[..count].copy_from_slice(&from[..count]),
    }
}

/// The first `count` of [`LANES`] codes, in `width` bytes each.
#[inline(always)]
fn narrow(codes: &[u32], count: usize, width: usize, bytes: &mut [u8]) {
    match (width, count) {
        (4, LANES) => {
            for (at, bytes) in bytes.as_chunks_mut().0[..LANES].iter_mut().enumerate() {
                *bytes = codes[at].to_le_bytes();
            }
        }
        (2, LANES) => {
            for (at, bytes) in bytes.as_chunks_mut().0[..LANES].iter_mut().enumerate() {
                *bytes = (codes[at] as u16).to_le_bytes();
            }
        }
        _ => {
            for (bytes, code) in bytes.chunks_exact_mut(width).zip(&codes[..count]) {
                bytes.copy_from_slice(&code.to_le_bytes()[..width]);
            }
        }
    }
}
