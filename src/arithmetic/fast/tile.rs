//! One tile: its operands decoded once, and the kernel run over its rows and columns.

use std::hint::black_box;

use super::{
    decoder::{DecodedCode, NumberDecoder},
    floating::{RoundedCodes, Workspace},
    kernel::FastKernel,
    narrow::FactorRange,
    number::{COUNT, NAN, UNKNOWN, ZERO},
    pieces::Pieces,
    scale::Scales,
    terms::{DecodedRow, GroupFactors},
    word::{LANES, Lane, PIECES, TURNS, array, each, over},
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
    /// Rows of a piece: [`TURNS`], or one that has more columns.
    rows: usize,
    /// Bytes of a code of D.
    pub(super) width: usize,
}

impl Shape {
    pub(super) fn new(i: &Instruction) -> Shape {
        let rows = if i.m == 1 || i.n.is_multiple_of(LANES) { 1 } else { TURNS };
        Shape { m: i.m, n: i.n, k: i.k, stored: i.stored_k(), chunk: i.chunk(), rows, width: i.d.bytes() }
    }

    /// Columns of a piece.
    #[inline(always)]
    fn columns(&self) -> usize {
        LANES / self.rows
    }

    /// The logical k of the stored element `at` of a row with these positions.
    #[inline(always)]
    fn logical(&self, positions: &[u32], at: usize) -> usize {
        self.chunk.map_or(at, |chunk| at / chunk.kept * chunk.length + positions[at] as usize)
    }
}

/// A piece of D: lanes take its rows in turn, column by column; some lanes may be beyond the last row or column.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    /// Its first row, and which of the pieces that begin there it is.
    row: usize,
    block: usize,
    /// Rows and columns that there are.
    rows: usize,
    columns: usize,
    /// Its first element.
    element: usize,
}

impl Piece {
    /// The element of D of each lane that has one.
    fn elements(&self, i: &Shape) -> impl Iterator<Item = (usize, usize)> {
        let (own, turns, n) = (*self, i.rows, i.n);
        let of = move |lane: usize| {
            let (row, column) = (lane % turns, lane / turns);
            (row < own.rows && column < own.columns).then_some((lane, own.element + row * n + column))
        };
        (0..LANES).filter_map(of)
    }
}

/// Decoded elements.
#[derive(Debug, Default)]
struct Elements {
    significands: Vec<i32>,
    exponents: Vec<i32>,
    /// See [`DecodedRow::values`].
    values: Vec<f32>,
    negative: Vec<u32>,
    special: Vec<u32>,
    /// Whether one of them is infinite or NaN.
    any_special: bool,
    /// The exponents of those that are not zero.
    range: (i32, i32),
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
    /// A by the rows of pieces, k and row: [`TURNS`] rows, or one of them twice, in the order of the kernel.
    a: Elements,
    /// B by the columns of pieces, k and lane: dense in the order of the kernel.
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
        resize(&mut self.values, count);
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
        for at in 0..scales.significands.len() {
            self.significands[at] *= scales.significands[at];
            let zero = self.significands[at] == 0;
            self.exponents[at] = if zero { ZERO } else { self.exponents[at] + scales.exponents[at] };
            // A scale of zero makes an infinity NaN.
            let nan = (self.special[at] != 0) & (scales.significands[at] == 0) | (scales.special[at] != 0);
            self.special[at] = if nan { NAN } else { self.special[at] };
        }
        self.any_special |= scales.any_special;
    }

    /// Appends an element of `other` for each lane: of those for [`LANES`] lanes that begin at each turn's place.
    #[inline]
    fn push_lanes(&mut self, other: &Elements, places: [usize; TURNS]) {
        let at = places.map(|place| place * LANES);
        self.significands.extend_from_slice(&each(|l| other.significands[at[l % TURNS] + l]));
        self.exponents.extend_from_slice(&each(|l| other.exponents[at[l % TURNS] + l]));
        self.negative.extend_from_slice(&each(|l| other.negative[at[l % TURNS] + l]));
        self.special.extend_from_slice(&each(|l| other.special[at[l % TURNS] + l]));
    }

    fn push(&mut self, element: &DecodedCode) {
        self.significands.push(element.significand as i32);
        self.exponents.push(element.exponent);
        self.values.push(0.0);
        self.negative.push(element.negative);
        self.special.push(element.special);
        self.any_special |= element.special != 0;
    }

    fn rows<const N: usize>(&self) -> DecodedRow<'_, N> {
        DecodedRow {
            significands: self.significands.as_chunks().0,
            exponents: self.exponents.as_chunks().0,
            values: self.values.as_chunks().0,
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
        if let Some([a, b]) = kernel.values {
            values(&mut self.a, a);
            if i.chunk.is_none() {
                values(&mut self.b, b);
            }
        }
        let mut places = [Piece::default(); PIECES];
        let mut count = 0;
        for row in (0..i.m).step_by(i.rows) {
            for (block, first) in (0..i.n).step_by(i.columns()).enumerate() {
                let (rows, columns) = (i.rows.min(i.m - row), i.columns().min(i.n - first));
                places[count] = Piece { row, block, rows, columns, element: row * i.n + first };
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
        let count = kernel.order.len();
        self.ordered.clear();
        self.ordered.resize((i.m.div_ceil(i.rows) * count * TURNS).next_multiple_of(LANES), 0);
        for (first, out) in (0..i.m).step_by(i.rows).zip(self.ordered.chunks_exact_mut(count * TURNS)) {
            let second = (first + i.rows - 1).min(i.m - 1);
            let row = |row: usize| &self.codes[row * i.stored..][..i.stored];
            let (x, y, out) = (row(first), row(second), out.as_chunks_mut().0);
            if kernel.ordered {
                in_turn(x, y, out);
            } else {
                for (out, at) in out.iter_mut().zip(&kernel.order) {
                    *out = [x[*at], y[*at]];
                }
            }
        }
        decode(&mut self.a, &kernel.a, &self.ordered, false);
        if let Some([masks, _]) = &kernel.masks {
            self.a.take_pieces(masks.iter().cycle().map(|mask| (*mask, TURNS)));
        }
    }

    /// Decodes B.
    fn load_b(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, tile: usize) {
        widen(&tiles.b, tile * i.k * i.n, i.k * i.n, &mut self.codes);
        let (width, count) = (i.columns(), kernel.rows_of_b(i));
        let codes = if i.n == width && (kernel.ordered || i.chunk.is_some()) {
            self.codes.resize((i.k * i.n).next_multiple_of(LANES), 0);
            &self.codes
        } else {
            self.ordered.clear();
            self.ordered.resize((i.n.div_ceil(width) * count * width).next_multiple_of(LANES), 0);
            for (first, block) in (0..i.n).step_by(width).zip(self.ordered.chunks_exact_mut(count * width)) {
                let columns = width.min(i.n - first);
                for (position, out) in block.chunks_exact_mut(width).enumerate() {
                    let k = if i.chunk.is_some() { position } else { kernel.order[position] };
                    out[..columns].copy_from_slice(&self.codes[k * i.n + first..][..columns]);
                }
            }
            &self.ordered
        };
        decode(&mut self.b, &kernel.b, codes, i.rows == TURNS);
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
        for first in (0..i.m).step_by(i.rows) {
            for &at in &kernel.order {
                for turn in 0..TURNS {
                    let row = (first + turn % i.rows).min(i.m - 1);
                    let k = i.logical(self.positions.get(row * i.stored..).unwrap_or_default(), at);
                    let scale = scales.decode(a[row * blocks + k / scales.block]);
                    self.a_scales.push(&scale);
                }
            }
        }
        self.b_scales.clear();
        for first in (0..i.n).step_by(i.columns()) {
            for position in 0..kernel.rows_of_b(i) {
                let k = if i.chunk.is_some() { position } else { kernel.order[position] };
                for lane in 0..LANES {
                    let column = first + lane / i.rows;
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
    fn batch(&mut self, kernel: &FastKernel, i: &Shape, places: &[Piece], d: &mut [u8]) {
        let mut c = [0; COUNT];
        let mut starts = [(0, 0); PIECES];
        for (at, place) in places.iter().enumerate() {
            let lanes = &mut c.as_chunks_mut().0[at];
            gather(&self.c, place, i, lanes);
            let length = kernel.order.len();
            let b = if i.chunk.is_some() { at } else { place.block };
            starts[at] = (place.row / i.rows * length, b * length);
        }
        let sums = kernel.scales.as_ref().is_some_and(|scales| scales.run > 0);
        if i.chunk.is_some() {
            self.choose(kernel, i, places, sums);
        }
        let (b, b_scales) =
            if i.chunk.is_some() { (&self.chosen, &self.chosen_scales) } else { (&self.b, &self.b_scales) };
        let pieces = Pieces {
            a: self.a.rows(),
            b: b.rows(),
            range: FactorRange { low: [self.a.range.0, b.range.0], high: [self.a.range.1, b.range.1] },
            scales: sums.then(|| GroupFactors { a: self.a_scales.rows(), b: b_scales.rows() }),
            starts: &starts,
            special: [&self.a, &self.b, &self.a_scales, &self.b_scales].iter().any(|elements| elements.any_special),
            count: places.len(),
            group: (0, kernel.order.len()),
            fraction_bits: (kernel.a.fraction_bits + kernel.b.fraction_bits) as i32,
        };
        kernel.run(&pieces, &c, &mut self.workspace, &mut self.outcome);
        let outcome = &self.outcome;
        for (at, place) in places.iter().enumerate() {
            scatter(&outcome.codes.as_chunks().0[at], place, i, d);
        }
        if pieces.special && kernel.masks.is_some() {
            // Infinities and NaN have no pieces.
            let all = places.iter().flat_map(|place| place.elements(i).map(|(_, element)| element));
            return self.unknown.extend(all);
        }
        let mut special = 0;
        for own in &outcome.special[..places.len() * LANES] {
            special |= own;
        }
        if special & UNKNOWN != 0 {
            note_unknown(&mut self.unknown, &outcome.special, places, i);
        }
    }

    /// Collects the elements of B that the rows of a sparse A are multiplied by.
    fn choose(&mut self, kernel: &FastKernel, i: &Shape, places: &[Piece], scales: bool) {
        self.chosen.clear();
        self.chosen_scales.clear();
        for &Piece { row, block, rows, .. } in places {
            let turns = [0, TURNS - 1].map(|turn| &self.positions[(row + turn.min(rows - 1)) * i.stored..]);
            for &at in &kernel.order {
                let places = turns.map(|positions| block * i.k + i.logical(positions, at));
                self.chosen.push_lanes(&self.b, places);
                if scales {
                    self.chosen_scales.push_lanes(&self.b_scales, places);
                }
            }
        }
        resize(&mut self.chosen.values, self.chosen.significands.len());
        resize(&mut self.chosen_scales.values, self.chosen_scales.significands.len());
        if let Some([_, masks]) = &kernel.masks {
            self.chosen.take_pieces(masks.iter().cycle().map(|mask| (*mask, LANES)));
        }
        if let Some([_, b]) = kernel.values {
            values(&mut self.chosen, b);
        }
    }
}

/// Notes the elements that are unknown.
#[cold]
fn note_unknown(notes: &mut Vec<usize>, special: &[u32; COUNT], places: &[Piece], i: &Shape) {
    for (at, place) in places.iter().enumerate() {
        let unknown = place.elements(i).filter(|(lane, _)| special[at * LANES + lane] & UNKNOWN != 0);
        notes.extend(unknown.map(|(_, element)| element));
    }
}

vectorised! {
    /// The data of codes, whole [`LANES`] of them, that `decoder` decodes; each [`TURNS`] times if it is for `turns`.
    fn decode(elements: &mut Elements, decoder: &NumberDecoder, codes: &[u32], turns: bool) {
        elements.resize(if turns { codes.len() * TURNS } else { codes.len() });
        let mut special = [0; LANES];
        decoder.operands(codes.as_chunks().0, |at, element| {
            let flip = over(&element.negative, |negative| negative as i32);
            let signed = each(|l| (element.significand[l] as i32 ^ flip[l]).wrapping_sub(flip[l]));
            put(&mut elements.significands, at, &signed, turns);
            put(&mut elements.exponents, at, &element.exponent, turns);
            put(&mut elements.negative, at, &element.negative, turns);
            put(&mut elements.special, at, &element.special, turns);
            special = each(|l| special[l] | element.special[l]);
        });
        elements.any_special = special != [0; LANES];
    }
}

/// Sets the elements of one place; each [`TURNS`] times if it is for `turns`.
#[inline(always)]
fn put<T: Copy + Default>(out: &mut [T], at: usize, lanes: &Lane<T>, turns: bool) {
    let out = out.as_chunks_mut().0;
    if turns {
        out[at * TURNS] = each(|l| lanes[l / TURNS]);
        out[at * TURNS + 1] = each(|l| lanes[(LANES + l) / TURNS]);
    } else {
        out[at] = *lanes;
    }
}

vectorised! {
    /// The elements of two rows in turn.
    fn in_turn(x: &[u32], y: &[u32], out: &mut [[u32; TURNS]]) {
        const HALF: usize = LANES / TURNS;
        // A step that the compiler does not know: it is to make vectors of elements, not of these.
        let next = black_box(HALF);
        let count = out.len();
        let (x, y) = (&x[..count], &y[..count]);
        let mut at = 0;
        while let (Some(x), Some(y), Some(out)) =
            (x[at..].first_chunk::<HALF>(), y[at..].first_chunk::<HALF>(), out[at..].first_chunk_mut::<HALF>())
        {
            *out = array(|l| [x[l], y[l]]);
            at += next;
        }
        for at in at..count {
            out[at] = [x[at], y[at]];
        }
    }
}

vectorised! {
    /// Sets the values and the range of elements of which so many bits are behind the binary point.
    fn values(elements: &mut Elements, fraction_bits: i32) {
        let (significands, exponents) = (elements.significands.as_chunks().0, elements.exponents.as_chunks().0);
        let values: &mut [Lane<f32>] = elements.values.as_chunks_mut().0;
        let (mut low, mut high) = ([i32::MAX; LANES], [i32::MIN; LANES]);
        for (value, (significand, exponent)) in values.iter_mut().zip(significands.iter().zip(exponents)) {
            let own: Lane<i32> = over(exponent, |exponent| if exponent == ZERO { i32::MAX } else { exponent });
            low = each(|l| low[l].min(own[l]));
            high = each(|l| high[l].max(exponent[l]));
            let field = over(exponent, |exponent| (exponent - fraction_bits + 127).clamp(1, 254) as u32);
            let scale = over(&field, |field| f32::from_bits(field << 23));
            let whole: Lane<i32> = *significand;
            *value = each(|l| whole[l] as f32 * scale[l]);
        }
        let (low, high) = (low.into_iter().fold(i32::MAX, i32::min), high.into_iter().fold(i32::MIN, i32::max));
        elements.range = if high <= ZERO { (0, 0) } else { (low, high) };
    }
}

vectorised! {
    /// `count` codes from `first` on.
    fn widen(codes: &Codes, first: usize, count: usize, out: &mut Vec<u32>) {
        let bytes = &codes.as_bytes()[first * codes.width()..][..count * codes.width()];
        resize(out, count);
        match codes.width() {
            1 => widen_all(bytes.as_chunks().0, out, |code: [u8; 1]| code[0].into()),
            2 => widen_all(bytes.as_chunks().0, out, |code| u16::from_le_bytes(code).into()),
            _ => widen_all(bytes.as_chunks().0, out, u32::from_le_bytes),
        }
    }
}

/// The codes of so many bytes each.
#[inline(always)]
fn widen_all<const N: usize>(codes: &[[u8; N]], out: &mut [u32], widen: impl Fn([u8; N]) -> u32) {
    let (lanes, rest) = codes.as_chunks::<LANES>();
    let (out, out_rest) = out.as_chunks_mut();
    for (lanes, out) in lanes.iter().zip(out) {
        *out = each(|l| widen(lanes[l]));
    }
    for (code, out) in rest.iter().zip(out_rest) {
        *out = widen(*code);
    }
}

/// Makes a vector as long as `count`, which it mostly is.
#[inline]
fn resize<T: Copy + Default>(vector: &mut Vec<T>, count: usize) {
    if vector.len() != count {
        vector.resize(count, T::default());
    }
}

/// The codes of each lane; void for lanes without an element.
#[inline(always)]
fn gather(codes: &[u32], piece: &Piece, i: &Shape, lanes: &mut [u32; LANES]) {
    const HALF: usize = LANES / TURNS;
    let row = |row: usize| &codes[piece.element + row * i.n..];
    if piece.columns == LANES {
        lanes.copy_from_slice(&row(0)[..LANES]);
    } else if let (TURNS, HALF) = (piece.rows, piece.columns) {
        let (x, y) = (&row(0)[..HALF], &row(1)[..HALF]);
        *lanes = each(|l| if l % TURNS == 0 { x[l / TURNS] } else { y[l / TURNS] });
    } else {
        piece.elements(i).for_each(|(lane, element)| lanes[lane] = codes[element]);
    }
}

/// Writes the code of each lane that has an element.
#[inline(always)]
fn scatter(lanes: &[u32; LANES], piece: &Piece, i: &Shape, d: &mut [u8]) {
    const HALF: usize = LANES / TURNS;
    let bytes = &mut d[piece.element * i.width..];
    match (piece.rows, piece.columns, i.width) {
        (_, LANES, 4) => write(bytes, &lanes.map(u32::to_le_bytes)),
        (_, LANES, 2) => write(bytes, &lanes.map(|code| (code as u16).to_le_bytes())),
        (TURNS, HALF, 4) => {
            for row in 0..TURNS {
                let own: [_; HALF] = array(|column| lanes[column * TURNS + row].to_le_bytes());
                write(&mut bytes[row * i.n * 4..], &own);
            }
        }
        (TURNS, HALF, 2) => {
            for row in 0..TURNS {
                let own: [_; HALF] = array(|column| (lanes[column * TURNS + row] as u16).to_le_bytes());
                write(&mut bytes[row * i.n * 2..], &own);
            }
        }
        _ => {
            for (lane, element) in piece.elements(i) {
                d[element * i.width..][..i.width].copy_from_slice(&lanes[lane].to_le_bytes()[..i.width]);
            }
        }
    }
}

#[inline(always)]
fn write<const N: usize, const COUNT: usize>(bytes: &mut [u8], codes: &[[u8; N]; COUNT]) {
    bytes.as_chunks_mut::<N>().0[..COUNT].copy_from_slice(codes);
}
