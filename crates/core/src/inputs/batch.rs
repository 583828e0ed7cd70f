//! Whole tiles of random operands for a probe.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{
    Position,
    corners::Corners,
    stream,
    values::{Distribution, Init, draw_value, nearest_code, special_codes, with_random_padding},
};
use crate::{
    base::named::named,
    isa::{Case, Instruction, Tiles},
};

named! {
    /// The operation that a probe isolates.
    pub enum Op {
        Multiply = "multiply": "`d0 = a0*b0`, everything else zero";
        InnerProduct = "inner-product": "`d0 = a0*b0 + a1*b1`";
        Accumulate = "accumulate": "`d0 = a0*b0 + c0`";
        Dot = "dot": "The whole dot-product-add: all k products and c";
    }
}

impl Op {
    /// Number of non-zero products in the sum of an element of D, at most the stored elements of a row.
    pub fn terms(self, instruction: &Instruction) -> usize {
        match self {
            Op::Multiply | Op::Accumulate => 1,
            Op::InnerProduct => 2.min(instruction.stored_k()),
            Op::Dot => instruction.stored_k(),
        }
    }

    /// Number of elements of one tile's D that are samples.
    pub fn samples_per_tile(self, instruction: &Instruction) -> usize {
        match self {
            Op::Dot => instruction.m * instruction.n,
            _ => instruction.m.min(instruction.n),
        }
    }

    /// True if c takes part.
    pub fn has_c(self) -> bool {
        matches!(self, Op::Accumulate | Op::Dot)
    }
}

/// Operands before rounding to the operand formats, in the layout of the tiles.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Wide {
    /// A, `[count][m][k]` (the stored elements of sparse forms).
    pub a: Vec<f64>,
    /// B, `[count][k][n]`.
    pub b: Vec<f64>,
    /// C, `[count][m][n]`.
    pub c: Vec<f64>,
}

/// Inputs of a probe.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Batch {
    /// Operands of the instruction.
    pub tiles: Tiles,
    /// Unrounded operands, for references that keep them (`Init::Fp32`).
    pub wide: Option<Wide>,
    /// Elements of D that count as samples.
    pub samples: Vec<Position>,
}

/// Source of random numbers: one of 2^64 independent streams of a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomStream {
    /// Seed of the streams.
    pub seed: u64,
    /// Number of the stream; long runs use one per chunk.
    pub stream: u64,
}

impl RandomStream {
    fn rng(self) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(self.stream);
        rng
    }
}

/// Adversarial tiles that belong to one stream, as a binary logarithm.
const STREAM_TILES: u32 = 32;

/// Draws operands for `samples` samples of `op`.
///
/// The samples of the three isolated operations lie on the diagonals of the tiles, so that each has operands of its
/// own, drawn in the order a0, b0, a1, b1, c0: the same sequence of values for every instruction. For [`Op::Dot`] every
/// element of D is a sample, and the first stream of [`Distribution::Corners`] begins with the named corners
/// ([`Corners`]), followed by tiles of the [adversarial stream](stream).
///
/// In sparse forms the isolated operations use the first elements of the first chunks, and dots random positions. Block
/// scales are 1; in dots they are powers of two about 1, or the stream's.
pub fn draw(
    instruction: &Instruction,
    op: Op,
    distribution: Distribution,
    init: Init,
    source: RandomStream,
    samples: usize,
) -> Batch {
    Drawing::new(instruction, op, distribution, init, source).next(samples)
}

/// Operands that are drawn piece by piece.
pub struct Drawing<'i> {
    instruction: &'i Instruction,
    op: Op,
    distribution: Distribution,
    init: Init,
    source: RandomStream,
    rng: ChaCha8Rng,
    /// Tiles drawn so far.
    tiles: usize,
}

impl<'i> Drawing<'i> {
    /// Begins what [`draw`] draws at once.
    pub fn new(
        instruction: &'i Instruction,
        op: Op,
        distribution: Distribution,
        init: Init,
        source: RandomStream,
    ) -> Drawing<'i> {
        Drawing { instruction, op, distribution, init, source, rng: source.rng(), tiles: 0 }
    }

    /// Number of samples in a tile.
    pub fn samples_per_tile(&self) -> usize {
        self.op.samples_per_tile(self.instruction)
    }

    /// Draws further samples: whole tiles, except in the last piece.
    pub fn next(&mut self, samples: usize) -> Batch {
        let (i, op, source, first) = (self.instruction, self.op, self.source, self.tiles);
        let per_tile = op.samples_per_tile(i);
        let count = samples.div_ceil(per_tile);
        self.tiles += count;
        let rng = &mut self.rng;
        let position = |s: usize| match op {
            Op::Dot => Position { tile: s / per_tile, row: s % per_tile / i.n, column: s % per_tile % i.n },
            _ => Position { tile: s / per_tile, row: s % per_tile, column: s % per_tile },
        };
        let mut batch = Batch {
            tiles: Tiles::zeros(i, count),
            wide: (self.init == Init::Fp32).then(|| Wide {
                a: vec![0.0; count * i.m * i.stored_k()],
                b: vec![0.0; count * i.k * i.n],
                c: vec![0.0; count * i.m * i.n],
            }),
            samples: (0..samples).map(position).collect(),
        };
        unit_scales(&mut batch.tiles, i);
        match self.distribution {
            Distribution::Corners => {
                let named = op == Op::Dot && source.stream == 0;
                let corners = if named { Corners::of(i).tiles } else { Tiles::zeros(i, 0) };
                batch.tiles = corners.slice(first.min(corners.count), corners.count.min(first + count));
                let (random, before) = (count - batch.tiles.count, first.saturating_sub(corners.count) as u64);
                let mut tiles = stream::tiles(i, source.seed, (source.stream << STREAM_TILES) + before, random);
                isolate(&mut tiles, i, op);
                batch.tiles.extend(&tiles);
                (0..count).for_each(|tile| batch.widen(i, tile));
            }
            Distribution::Special => {
                for tile in 0..count {
                    for r in 0..i.m.max(i.n) {
                        batch.place(i, tile, r, &special_case(rng, i, op));
                    }
                    batch.widen(i, tile);
                }
            }
            _ if op == Op::Dot => {
                for tile in 0..count {
                    fill_dense(&mut batch, i, self.distribution, tile, rng);
                }
            }
            _ => {
                for s in 0..samples {
                    let at = position(s);
                    for term in 0..op.terms(i) {
                        batch.set_a(i, at.tile, at.row, term, draw_value(rng, self.distribution, i.a));
                        batch.set_b(i, at.tile, first_k(i, term), at.column, draw_value(rng, self.distribution, i.b));
                    }
                    if op.has_c() {
                        batch.set_c(i, at.tile, at.row, at.column, draw_value(rng, self.distribution, i.c));
                    }
                }
            }
        }
        batch
    }
}

impl Batch {
    fn set_a(&mut self, i: &Instruction, tile: usize, row: usize, stored: usize, value: f64) {
        let at = (tile * i.m + row) * i.stored_k() + stored;
        self.tiles.a.set(at, nearest_code(i.a, value));
        if let Some(wide) = &mut self.wide {
            wide.a[at] = value;
        }
    }

    fn set_b(&mut self, i: &Instruction, tile: usize, k: usize, column: usize, value: f64) {
        let at = (tile * i.k + k) * i.n + column;
        self.tiles.b.set(at, nearest_code(i.b, value));
        if let Some(wide) = &mut self.wide {
            wide.b[at] = value;
        }
    }

    fn set_c(&mut self, i: &Instruction, tile: usize, row: usize, column: usize, value: f64) {
        let at = (tile * i.m + row) * i.n + column;
        self.tiles.c.set(at, nearest_code(i.c, value));
        if let Some(wide) = &mut self.wide {
            wide.c[at] = value;
        }
    }

    /// Places the operands of `case` for element (r, r) of a tile, and its c along the row.
    fn place(&mut self, i: &Instruction, tile: usize, r: usize, case: &Case) {
        let (row, column) = (r.min(i.m - 1), r.min(i.n - 1));
        let there = self.tiles.case(i, tile, row, column);
        let mut placed = case.clone();
        if r >= i.m {
            placed = Case { b: placed.b, scale_b: placed.scale_b, ..there };
        } else if r >= i.n {
            (placed.b, placed.scale_b) = (there.b, there.scale_b);
        }
        self.tiles.place(i, tile, row, column, &placed);
        for column in 0..if r < i.m { i.n } else { 0 } {
            self.tiles.c.set((tile * i.m + r) * i.n + column, case.c);
        }
    }

    /// Copies the values of a tile's codes to the unrounded operands.
    fn widen(&mut self, i: &Instruction, tile: usize) {
        let Some(wide) = &mut self.wide else { return };
        let arrays = [
            (&mut wide.a, &self.tiles.a, i.a, i.m * i.stored_k()),
            (&mut wide.b, &self.tiles.b, i.b, i.k * i.n),
            (&mut wide.c, &self.tiles.c, i.c, i.m * i.n),
        ];
        for (values, codes, format, each) in arrays {
            let range = tile * each..(tile + 1) * each;
            for (value, at) in values[range.clone()].iter_mut().zip(range) {
                *value = format.to_f64(codes.get(at));
            }
        }
    }
}

/// Row of B that a stored element of A meets if the first positions of every chunk are stored.
fn first_k(i: &Instruction, stored: usize) -> usize {
    i.chunk().map_or(stored, |chunk| stored / chunk.kept * chunk.length + stored % chunk.kept)
}

/// Sets every block scale to 1.
fn unit_scales(tiles: &mut Tiles, i: &Instruction) {
    let Some(scale) = i.scale else { return };
    for codes in [&mut tiles.scale_a, &mut tiles.scale_b].into_iter().flatten() {
        (0..codes.len()).for_each(|at| codes.set(at, nearest_code(scale.format, 1.0)));
    }
}

fn fill_dense<R: Rng>(batch: &mut Batch, i: &Instruction, distribution: Distribution, tile: usize, rng: &mut R) {
    for row in 0..i.m {
        for stored in 0..i.stored_k() {
            batch.set_a(i, tile, row, stored, draw_value(rng, distribution, i.a));
        }
    }
    for k in 0..i.k {
        for column in 0..i.n {
            batch.set_b(i, tile, k, column, draw_value(rng, distribution, i.b));
        }
    }
    for row in 0..i.m {
        for column in 0..i.n {
            batch.set_c(i, tile, row, column, draw_value(rng, distribution, i.c));
        }
    }
    for row in 0..i.m {
        let positions = random_positions(rng, i);
        if let Some(codes) = &mut batch.tiles.positions {
            let first = (tile * i.m + row) * i.stored_k();
            positions.iter().enumerate().for_each(|(at, position)| codes.set(first + at, *position));
        }
    }
    let Some(scale) = i.scale else { return };
    let count = batch.tiles.count;
    for codes in [&mut batch.tiles.scale_a, &mut batch.tiles.scale_b].into_iter().flatten() {
        let each = codes.len() / count;
        for at in tile * each..(tile + 1) * each {
            codes.set(at, nearest_code(scale.format, 2f64.powi(rng.random_range(-3..=3))));
        }
    }
}

/// Positions of the stored elements of a row of A, drawn chunk by chunk; none for dense forms.
fn random_positions<R: Rng>(rng: &mut R, i: &Instruction) -> Vec<u64> {
    let Some(chunk) = i.chunk() else { return Vec::new() };
    let groups = (chunk.length / chunk.together) as u64;
    let mut positions = Vec::with_capacity(i.stored_k());
    for _ in 0..i.k / chunk.length {
        let first = rng.random_range(0..groups);
        // Another group, above or below, where two are kept.
        let other = (first + rng.random_range(1..groups)) % groups;
        let kept = match chunk.kept == chunk.together {
            true => vec![first],
            false if chunk.any_order => vec![first, other],
            false => vec![first.min(other), first.max(other)],
        };
        for group in kept {
            positions.extend((0..chunk.together as u64).map(|within| group * chunk.together as u64 + within));
        }
    }
    positions
}

/// Zeroes operands that `op` does not use; terms of sparse forms move to the chunks' first positions.
fn isolate(tiles: &mut Tiles, i: &Instruction, op: Op) {
    let (stored, terms) = (i.stored_k(), op.terms(i));
    if terms < stored {
        let taking_part: Vec<usize> = (0..terms).map(|term| first_k(i, term)).collect();
        (0..tiles.a.len()).filter(|at| at % stored >= terms).for_each(|at| tiles.a.set(at, 0));
        (0..tiles.b.len()).filter(|at| !taking_part.contains(&(at / i.n % i.k))).for_each(|at| tiles.b.set(at, 0));
        tiles.positions = Tiles::zeros(i, tiles.count).positions;
    }
    if !op.has_c() {
        (0..tiles.c.len()).for_each(|at| tiles.c.set(at, 0));
    }
}

/// Special values in one to three positions, on a background of zeros or of ordinary numbers.
fn special_case<R: Rng>(rng: &mut R, i: &Instruction, op: Op) -> Case {
    let terms = op.terms(i);
    let mut case = Case::zeros(i);
    if let Some(scale) = i.scale {
        case.scale_a.fill(nearest_code(scale.format, 1.0));
        case.scale_b.fill(nearest_code(scale.format, 1.0));
    }
    if rng.random_bool(0.5) {
        for term in 0..terms {
            case.a[term] = nearest_code(i.a, draw_value(rng, Distribution::Normal, i.a));
            case.b[first_k(i, term)] = nearest_code(i.b, draw_value(rng, Distribution::Normal, i.b));
        }
        if op.has_c() {
            case.c = nearest_code(i.c, draw_value(rng, Distribution::Normal, i.c));
        }
    }
    let [a, b, c] = [i.a, i.b, i.c].map(special_codes);
    let mut pick = |codes: &[u64]| codes[rng.random_range(0..codes.len() as u32) as usize];
    let (first, second) = (pick(&a), pick(&b));
    let third = pick(&c);
    for _ in 0..rng.random_range(1..=3) {
        let term = rng.random_range(0..terms as u32) as usize;
        let k = first_k(i, term);
        match rng.random_range(0..4) {
            0 => case.a[term] = with_random_padding(rng, i.a, first),
            1 => case.b[k] = with_random_padding(rng, i.b, second),
            2 => {
                case.a[term] = a[rng.random_range(0..a.len() as u32) as usize];
                case.b[k] = b[rng.random_range(0..b.len() as u32) as usize];
            }
            _ if op.has_c() => case.c = third,
            _ => {
                (case.a[term], case.b[k]) = (first, second);
            }
        }
    }
    case
}
