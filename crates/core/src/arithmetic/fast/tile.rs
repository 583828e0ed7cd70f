//! One tile: operands decoded once, and the kernel run over its rows and columns.

use super::{
    codes::{HALF, lanes_in_turn, widen, widen_in_turn},
    decoder::DecodedCode,
    elements::{Elements, choose, decode, decode_integers, resize, scale},
    floating::{RoundedCodes, Workspace},
    kernel::{Direct, FastKernel},
    narrow::FactorRange,
    number::{COUNT, UNKNOWN},
    pieces::Pieces,
    scale::Scales,
    terms::GroupFactors,
    values::{decode_values, find_range, values},
    word::{LANES, PIECES, PieceLanes, TURNS, array, over, set_piece},
};
use crate::{
    base::vectors::vectorised,
    isa::{Chunk, CodesView, Instruction, Tiles},
};

#[derive(Debug, Clone)]
pub(super) struct Shape {
    m: usize,
    n: usize,
    pub(super) k: usize,
    /// Elements in a row of A.
    stored: usize,
    pub(super) chunk: Option<Chunk>,
    /// Rows of a piece: [`TURNS`], or one row with more columns.
    rows: usize,
    /// Bytes of a code of D.
    pub(super) width: usize,
}

impl Shape {
    pub(super) fn new(i: &Instruction) -> Shape {
        let rows = if i.m == 1 || i.n.is_multiple_of(LANES) { 1 } else { TURNS };
        Shape { m: i.m, n: i.n, k: i.k, stored: i.stored_k(), chunk: i.chunk(), rows, width: i.d.bytes() }
    }

    /// True if tiles have one element.
    pub(super) fn is_single(&self) -> bool {
        self.m * self.n == 1
    }

    /// Number of columns of a piece.
    #[inline(always)]
    fn columns(&self) -> usize {
        LANES / self.rows
    }

    /// Logical k of the stored element `at` of a row with these positions.
    #[inline(always)]
    fn logical(&self, positions: &[u32], at: usize) -> usize {
        self.chunk.map_or(at, |chunk| at / chunk.kept * chunk.length + positions[at] as usize)
    }
}

/// Piece of D: lanes alternate between its rows, column by column, some beyond the last row or column.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Piece {
    /// First row of the piece, and its number among the pieces of that row.
    pub(super) row: usize,
    pub(super) block: usize,
    /// Existing rows and columns.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// First element of the piece.
    pub(super) element: usize,
}

impl Piece {
    /// Element of D of each lane that has one.
    fn elements(&self, i: &Shape) -> impl Iterator<Item = (usize, usize)> {
        let (piece, turns, n) = (*self, i.rows, i.n);
        let of = move |lane: usize| {
            let (row, column) = (lane % turns, lane / turns);
            (row < piece.rows && column < piece.columns).then_some((lane, piece.element + row * n + column))
        };
        (0..LANES).filter_map(of)
    }
}

/// Decoded operands of a tile.
#[derive(Debug, Default)]
pub(super) struct DecodedTile {
    pub(super) codes: Vec<u32>,
    /// Codes of A and B in the order of their elements.
    pub(super) a_codes: Vec<u32>,
    pub(super) b_codes: Vec<u32>,
    /// Codes of C in the order of the lanes of some pieces; arbitrary for missing pieces.
    c_codes: Vec<u32>,
    /// Words of cases, side by side, and the places of the products' codes in a word.
    pub(super) words: Vec<u32>,
    pub(super) places: Vec<(usize, [u32; 2])>,
    positions: Vec<u32>,
    /// Scales of A and B.
    scales: [Vec<u32>; 2],
    /// A by the rows of pieces, k and row, in the order of the kernel: [`TURNS`] rows, or one row twice.
    pub(super) a: Elements,
    /// B by the columns of pieces, k and lane; dense forms in the order of the kernel.
    pub(super) b: Elements,
    /// Scales of those elements, unless they are scaled already.
    a_scales: Elements,
    b_scales: Elements,
    /// Range of A and B, if values in binary32 can be used unchanged.
    pub(super) range: Option<FactorRange>,
    /// Places of the elements of B that the rows of a sparse A choose, and those elements.
    chosen_places: Vec<[usize; TURNS]>,
    pub(super) chosen: Elements,
    chosen_scales: Elements,
    workspace: Workspace,
    outcome: RoundedCodes,
    /// Elements of D left to the reference evaluator.
    pub(super) unknown: Vec<usize>,
}

impl DecodedTile {
    /// Computes the bytes of the D codes `[m][n]` of a tile, and notes the unknown elements.
    pub(super) fn run(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, tile: usize, d: &mut [u8]) {
        self.unknown.clear();
        if let Some(positions) = &tiles.positions {
            widen(positions.view(), tile * i.m * i.stored, i.m * i.stored, &mut self.positions);
        }
        self.order_a(kernel, i, tiles, tile);
        self.order_b(kernel, i, tiles, tile);
        if !self.decode_values(kernel, i) {
            self.decode(kernel, i, tiles, tile);
        }
        let (c, start) = (tiles.c.view(), tile * i.m * i.n);
        let mut places = [Piece::default(); PIECES];
        let mut count = 0;
        for row in (0..i.m).step_by(i.rows) {
            for (block, first) in (0..i.n).step_by(i.columns()).enumerate() {
                let (rows, columns) = (i.rows.min(i.m - row), i.columns().min(i.n - first));
                places[count] = Piece { row, block, rows, columns, element: row * i.n + first };
                count += 1;
                if count == PIECES {
                    self.batch(kernel, i, c, start, &places, d);
                    count = 0;
                }
            }
        }
        if count > 0 {
            self.batch(kernel, i, c, start, &places[..count], d);
        }
    }

    /// Reorders the codes of A to the order of its elements.
    fn order_a(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, tile: usize) {
        let (codes, elements) = (tile * i.m * i.stored, i.m * i.stored);
        let (stored, pairs) = (i.stored, i.m.div_ceil(i.rows));
        let count = kernel.order.len();
        let used = pairs * count * TURNS;
        resize(&mut self.a_codes, used.next_multiple_of(LANES));
        self.a_codes[used..].fill(0);
        if kernel.ordered {
            return widen_in_turn(tiles.a.view(), codes, elements, stored, i.rows, self.a_codes.as_chunks_mut().0);
        }
        resize(&mut self.codes, pairs * stored * TURNS);
        widen_in_turn(tiles.a.view(), codes, elements, stored, i.rows, self.codes.as_chunks_mut().0);
        for (pair, out) in self.codes.chunks_exact(stored * TURNS).zip(self.a_codes.chunks_exact_mut(count * TURNS)) {
            reorder::<TURNS>(pair.as_chunks().0, &kernel.order, out.as_chunks_mut().0);
        }
    }

    /// Reorders the codes of B to the order of its elements.
    fn order_b(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, tile: usize) {
        let (width, count) = (i.columns(), kernel.rows_of_b(i));
        let ordered = kernel.ordered || i.chunk.is_some();
        if i.n == width && ordered {
            widen(tiles.b.view(), tile * i.k * i.n, i.k * i.n, &mut self.b_codes);
            return self.b_codes.resize((i.k * i.n).next_multiple_of(LANES), 0);
        }
        widen(tiles.b.view(), tile * i.k * i.n, i.k * i.n, &mut self.codes);
        resize(&mut self.b_codes, (i.n.div_ceil(width) * count * width).next_multiple_of(LANES));
        if i.n == HALF && width == HALF {
            self.b_codes[count * HALF..].fill(0);
            return reorder::<HALF>(self.codes.as_chunks().0, &kernel.order, self.b_codes.as_chunks_mut().0);
        }
        self.b_codes.fill(0);
        for (first, block) in (0..i.n).step_by(width).zip(self.b_codes.chunks_exact_mut(count * width)) {
            let columns = width.min(i.n - first);
            for (position, out) in block.chunks_exact_mut(width).enumerate() {
                let k = if ordered { position } else { kernel.order[position] };
                out[..columns].copy_from_slice(&self.codes[k * i.n + first..][..columns]);
            }
        }
    }

    /// Decodes A and B for sums in binary32; true if those can be used.
    fn decode_values(&mut self, kernel: &FastKernel, i: &Shape) -> bool {
        let Some(Direct { decoders: [a, b], ranged }) = &kernel.direct else { return false };
        decode_values(&mut self.a, a, &self.a_codes, false, *ranged);
        decode_values(&mut self.b, b, &self.b_codes, i.rows == TURNS, *ranged);
        let range = FactorRange::new(&self.a, &self.b);
        self.range = Some(range);
        !self.a.any_special && !self.b.any_special && (!ranged || kernel.serves(&range))
    }

    /// Decodes A and B.
    fn decode(&mut self, kernel: &FastKernel, i: &Shape, tiles: &Tiles, tile: usize) {
        let turns = i.rows == TURNS;
        if let (Some((a, a_signed)), Some((b, b_signed))) = (kernel.a.integer, kernel.b.integer) {
            decode_integers(&mut self.a, a, a_signed, &self.a_codes, false);
            return decode_integers(&mut self.b, b, b_signed, &self.b_codes, turns);
        }
        decode(&mut self.a, &kernel.a, &self.a_codes, false);
        decode(&mut self.b, &kernel.b, &self.b_codes, turns);
        if let Some([a, b]) = &kernel.masks {
            self.a.take_pieces(a.iter().cycle().map(|mask| (*mask, TURNS)));
            if i.chunk.is_none() {
                self.b.take_pieces(b.iter().cycle().map(|mask| (*mask, LANES)));
            }
        }
        if let Some(scales) = &kernel.scales {
            self.load_scales(kernel, scales, i, tiles, tile);
        }
        if let Some([a, b]) = kernel.values {
            find_range(&mut self.a);
            find_range(&mut self.b);
            self.range = Some(FactorRange::new(&self.a, &self.b)).filter(|range| kernel.serves(range));
            values(&mut self.a, a, self.range.is_none());
            if i.chunk.is_none() {
                values(&mut self.b, b, self.range.is_none());
            }
        }
    }

    /// Decodes the scales, and scales A and B unless their sums are scaled.
    fn load_scales(&mut self, kernel: &FastKernel, scales: &Scales, i: &Shape, tiles: &Tiles, tile: usize) {
        let blocks = i.k / scales.block;
        let [a, b] = &mut self.scales;
        tiles.scale_a.iter().for_each(|codes| widen(codes.view(), tile * i.m * blocks, i.m * blocks, a));
        tiles.scale_b.iter().for_each(|codes| widen(codes.view(), tile * blocks * i.n, blocks * i.n, b));
        let (length, rows_of_b) = (kernel.order.len(), kernel.rows_of_b(i));
        self.a_scales.begin_scales(i.m.div_ceil(i.rows) * length * TURNS);
        self.b_scales.begin_scales(i.n.div_ceil(i.columns()) * rows_of_b * LANES);
        for (pair, first) in (0..i.m).step_by(i.rows).enumerate() {
            let rows: [usize; TURNS] = array(|turn| (first + turn % i.rows).min(i.m - 1));
            let row_scales = |blocks_of: [usize; TURNS]| array(|t| scales.decode(a[rows[t] * blocks + blocks_of[t]]));
            if i.chunk.is_none() {
                for (block, places) in scales.runs(&kernel.order) {
                    self.a_scales.fill::<TURNS>(pair * length, places, &row_scales([block; TURNS]));
                }
                continue;
            }
            for (place, &at) in kernel.order.iter().enumerate() {
                let logical = |row| i.logical(&self.positions[row * i.stored..], at) / scales.block;
                self.a_scales.fill::<TURNS>(pair * length, place..place + 1, &row_scales(rows.map(logical)));
            }
        }
        for (piece, first) in (0..i.n).step_by(i.columns()).enumerate() {
            let column_scales = |block: usize| -> [DecodedCode; LANES] {
                let column = |lane: usize| Some(first + lane / i.rows).filter(|column| *column < i.n);
                array(|lane| scales.decode(column(lane).map_or(0, |column| b[block * i.n + column])))
            };
            let mut fill =
                |block, places| self.b_scales.fill::<LANES>(piece * rows_of_b, places, &column_scales(block));
            if i.chunk.is_some() {
                (0..blocks).for_each(|block| fill(block, block * scales.block..(block + 1) * scales.block));
            } else {
                scales.runs(&kernel.order).for_each(|(block, places)| fill(block, places));
            }
        }
        if scales.run == 0 {
            scale(&mut self.a, &self.a_scales);
            scale(&mut self.b, &self.b_scales);
        }
    }

    /// Elements of D in some pieces; their C has the codes from `first` on.
    pub(super) fn batch(
        &mut self,
        kernel: &FastKernel,
        i: &Shape,
        all_c: CodesView,
        first: usize,
        places: &[Piece],
        d: &mut [u8],
    ) {
        let mut starts = [(0, 0); PIECES];
        for (at, place) in places.iter().enumerate() {
            let length = kernel.order.len();
            let b = if i.chunk.is_some() { at } else { place.block };
            let rows = if i.rows == TURNS { place.row / TURNS } else { place.row };
            starts[at] = (rows * length, b * length);
        }
        let sums = kernel.scales.as_ref().is_some_and(|scales| scales.run > 0);
        if i.chunk.is_some() {
            self.choose(kernel, i, places, sums);
        }
        resize(&mut self.c_codes, COUNT);
        let c = self.c_codes.first_chunk_mut().expect("as many");
        gather(all_c, first, places, i, c);
        let (b, b_scales) =
            if i.chunk.is_some() { (&self.chosen, &self.chosen_scales) } else { (&self.b, &self.b_scales) };
        let pieces = Pieces {
            a: self.a.rows(),
            b: b.rows(),
            a_values: self.a.values.as_chunks().0,
            b_values: b.values.as_chunks().0,
            range: self.range,
            scales: sums.then(|| GroupFactors { a: self.a_scales.rows(), b: b_scales.rows() }),
            starts: &starts,
            special: [&self.a, &self.b, &self.a_scales, &self.b_scales].iter().any(|elements| elements.any_special),
            count: places.len(),
            group: (0, kernel.order.len()),
            fraction_bits: (kernel.a.fraction_bits + kernel.b.fraction_bits) as i32,
        };
        kernel.run(&pieces, c, &mut self.workspace, &mut self.outcome);
        let outcome = &self.outcome;
        scatter(&outcome.codes, places, i, d);
        if pieces.special && kernel.masks.is_some() {
            // Infinities and NaN have no pieces.
            let all = places.iter().flat_map(|place| place.elements(i).map(|(_, element)| element));
            return self.unknown.extend(all);
        }
        if all_marks(&outcome.special) & UNKNOWN != 0 {
            note_unknown(&mut self.unknown, &outcome.special, places, i);
        }
    }

    /// Gathers the elements of B that the rows of a sparse A meet.
    fn choose(&mut self, kernel: &FastKernel, i: &Shape, places: &[Piece], scales: bool) {
        self.chosen_places.clear();
        for &Piece { row, block, rows, .. } in places {
            let [x, y] = [0, TURNS - 1].map(|turn| &self.positions[(row + turn.min(rows - 1)) * i.stored..]);
            for &at in &kernel.order {
                self.chosen_places.push([block * i.k + i.logical(x, at), block * i.k + i.logical(y, at)]);
            }
        }
        choose(&mut self.chosen, &self.b, &self.chosen_places);
        if scales {
            choose(&mut self.chosen_scales, &self.b_scales, &self.chosen_places);
        }
        if let Some([_, masks]) = &kernel.masks {
            self.chosen.take_pieces(masks.iter().cycle().map(|mask| (*mask, LANES)));
        }
        // Elements decoded to values alone have them already.
        if let Some([_, b]) = kernel.values.filter(|_| !self.b.significands.is_empty()) {
            values(&mut self.chosen, b, self.range.is_none());
        }
    }
}

/// Reorders groups of codes.
pub(super) fn reorder<const N: usize>(codes: &[[u32; N]], order: &[usize], out: &mut [[u32; N]]) {
    // Two at a time: neighbours mostly stay together.
    let (pairs, rest) = order.as_chunks::<2>();
    let (out_pairs, out_rest) = out.split_at_mut(pairs.len() * 2);
    for (out, &[x, y]) in out_pairs.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
        match codes[x..].first_chunk::<2>() {
            Some(both) if y == x + 1 => *out = *both,
            _ => *out = [codes[x], codes[y]],
        }
    }
    for (out, at) in out_rest.iter_mut().zip(rest) {
        *out = codes[*at];
    }
}

#[cold]
fn note_unknown(notes: &mut Vec<usize>, special: &[u32; COUNT], places: &[Piece], i: &Shape) {
    for (at, place) in places.iter().enumerate() {
        let unknown = place.elements(i).filter(|(lane, _)| special[at * LANES + lane] & UNKNOWN != 0);
        notes.extend(unknown.map(|(_, element)| element));
    }
}

vectorised! {
    /// Codes of each lane of some pieces, from `first` on; arbitrary for lanes without an element.
    fn gather(codes: CodesView<'_>, first: usize, places: &[Piece], i: &Shape, out: &mut PieceLanes<u32>) {
        let (width, bytes) = (codes.width(), codes.as_bytes());
        for (at, place) in places.iter().enumerate() {
            let row = |row: usize| &bytes[(first + place.element + row * i.n) * width..];
            // Each branch writes in place: a common buffer would go through the stack.
            match (place.rows, place.columns, width) {
                (_, LANES, 4) => set_piece(out, at, &over(codes_of(row(0)), u32::from_le_bytes)),
                (_, LANES, 2) => set_piece(out, at, &over(codes_of(row(0)), |code| u16::from_le_bytes(code).into())),
                (TURNS, HALF, 4) => {
                    set_piece(out, at, &lanes_in_turn(codes_of(row(0)), codes_of(row(1)), u32::from_le_bytes));
                }
                (TURNS, HALF, 2) => {
                    let widen = |code| u16::from_le_bytes(code).into();
                    set_piece(out, at, &lanes_in_turn(codes_of(row(0)), codes_of(row(1)), widen));
                }
                _ => {
                    let mut lanes = [0; LANES];
                    for (lane, element) in place.elements(i) {
                        lanes[lane] = codes.get(first + element) as u32;
                    }
                    set_piece(out, at, &lanes);
                }
            }
        }
    }
}

/// Codes of N bytes each.
#[inline(always)]
fn codes_of<const N: usize, const M: usize>(bytes: &[u8]) -> &[[u8; N]; M] {
    bytes.as_chunks().0.first_chunk().expect("a piece is not beyond its codes")
}

vectorised! {
    /// Writes the code of each lane of some pieces that has an element.
    fn scatter(codes: &PieceLanes<u32>, places: &[Piece], i: &Shape, d: &mut [u8]) {
        let pieces = codes.as_chunks::<LANES>().0;
        for (lanes, place) in pieces.iter().zip(places) {
            let row = |row: usize| (place.element + row * i.n) * i.width;
            match (place.rows, place.columns, i.width) {
                (_, LANES, 4) => write(&mut d[row(0)..], lanes, u32::to_le_bytes),
                (_, LANES, 2) => write(&mut d[row(0)..], lanes, |code| (code as u16).to_le_bytes()),
                (TURNS, HALF, 4) => {
                    write(&mut d[row(0)..], &of_turn(lanes, 0), u32::to_le_bytes);
                    write(&mut d[row(1)..], &of_turn(lanes, 1), u32::to_le_bytes);
                }
                (TURNS, HALF, 2) => {
                    write(&mut d[row(0)..], &of_turn(lanes, 0), |code| (code as u16).to_le_bytes());
                    write(&mut d[row(1)..], &of_turn(lanes, 1), |code| (code as u16).to_le_bytes());
                }
                _ => {
                    for (lane, element) in place.elements(i) {
                        d[element * i.width..][..i.width].copy_from_slice(&lanes[lane].to_le_bytes()[..i.width]);
                    }
                }
            }
        }
    }
}

/// Lanes of one of the alternating rows.
#[inline(always)]
fn of_turn(lanes: &[u32; LANES], turn: usize) -> [u32; HALF] {
    array(|l| lanes[l * TURNS + turn])
}

vectorised! {
    /// Union of the marks of all elements.
    fn all_marks(marks: &PieceLanes<u32>) -> u32 {
        marks.iter().fold(0, |all, mark| all | mark)
    }
}

/// Writes codes of N bytes each.
#[inline(always)]
fn write<const N: usize, const M: usize>(bytes: &mut [u8], codes: &[u32; M], code: impl Fn(u32) -> [u8; N]) {
    let out = &mut bytes.as_chunks_mut().0[..M];
    for l in 0..M {
        out[l] = code(codes[l]);
    }
}
