//! Codes of a tile's A, B and C, and of its scales.

use super::{
    Regime,
    bits::GOLDEN,
    code::{self, Fraction},
    drawn,
    fields::{Fields, Ranges},
    line::{Factor, Line, Sides, mask},
    parameters::{AddendKind, Parameters},
    sparse,
    word::CodeWord,
};

/// First numbers of elements; A's is 0. Each row of A, column of B and row of C has 256 numbers.
const B: u32 = 0x10000;
const C: u32 = 0x40000;
const SCALES_A: u32 = 0x80000;
const SCALES_B: u32 = 0x90000;

/// Tile of an instruction's stream, reused for one after another.
pub(super) struct StreamedTile<'a> {
    shape: &'a Ranges,
    plan: Parameters,
    lines: Vec<Line>,
    rows: Sides,
    columns: Sides,
    /// Codes by role: A `[stored][m]`, B `[k][n]`, C `[m][n]`.
    a: Vec<u64>,
    b: Vec<u64>,
    c: Vec<u64>,
}

impl<'a> StreamedTile<'a> {
    /// Tile `number` of the stream of `seed`.
    pub(super) fn new(shape: &'a Ranges, seed: u64, number: u64) -> StreamedTile<'a> {
        let mut tile = StreamedTile {
            shape,
            plan: drawn::draw(shape, seed, number),
            lines: Vec::new(),
            rows: Sides::default(),
            columns: Sides::default(),
            a: vec![0; shape.stored as usize * shape.m],
            b: vec![0; shape.k * shape.n],
            c: vec![0; shape.m * shape.n],
        };
        tile.make(seed, number);
        tile
    }

    /// Makes another tile of the same instruction.
    pub(super) fn make(&mut self, seed: u64, number: u64) {
        let shape = self.shape;
        self.plan = drawn::draw(shape, seed, number);
        self.lines.clear();
        self.lines.extend((0..shape.stored).map(|role| Line::new(&self.plan, shape, role)));
        self.rows.set(&self.plan, shape.m, self.plan.rows, self.plan.spread_rows);
        self.columns.set(&self.plan, shape.n, self.plan.columns, self.plan.spread_columns);
        vectorised(self);
        self.sometimes();
    }

    /// Code of A at a row and a stored index.
    #[inline]
    pub(super) fn a(&self, row: usize, stored: usize) -> u64 {
        let role = sparse::role(self.shape, sparse::logical(&self.plan, self.shape, row, stored));
        self.a[role * self.shape.m + row]
    }

    /// Codes of B, `[k][n]`.
    pub(super) fn b(&self) -> &[u64] {
        &self.b
    }

    /// Codes of C, `[m][n]`.
    pub(super) fn c(&self) -> &[u64] {
        &self.c
    }

    /// Position of the stored element `stored` of a row of A in its chunk.
    pub(super) fn position(&self, row: usize, stored: usize) -> usize {
        sparse::position(&self.plan, self.shape, row, stored)
    }

    /// Fills A, B and C with the codes that most elements have.
    #[inline(always)]
    fn mostly(&mut self) {
        let Ranges { m, n, a, b, c, .. } = self.shape;
        for (line, out) in self.lines.iter().zip(self.a.chunks_exact_mut(*m)) {
            let flip = line.odd & self.plan.flips;
            let across = Across { plan: &self.plan, fields: a, line, factor: &line.a, sides: &self.rows, first: 0 };
            across.fill(line.sign, flip, line.dropout, out);
        }
        for (k, out) in self.b.chunks_exact_mut(*n).enumerate() {
            let line = &self.lines[sparse::role(self.shape, k)];
            let across = Across { plan: &self.plan, fields: b, line, factor: &line.b, sides: &self.columns, first: B };
            across.fill(0, 0, 0, out);
        }
        for (row, out) in self.c.chunks_exact_mut(*n).enumerate() {
            if c.bits <= 32 {
                addends::<u32>(&self.plan, c, row, &self.rows, &self.columns, out);
            } else {
                addends::<u64>(&self.plan, c, row, &self.rows, &self.columns, out);
            }
        }
    }

    /// Replaces some elements of some tiles by other codes.
    fn sometimes(&mut self) {
        let Ranges { m, n, a, b, c, .. } = *self.shape;
        let plan = &self.plan;
        if plan.special_a > 0 {
            for (line, out) in self.lines.iter().zip(self.a.chunks_exact_mut(m)) {
                specials(plan, &a, plan.special_a, line.source, |at| self.rows.sign[at] ^ line.sign, out);
            }
        }
        for (k, out) in self.b.chunks_exact_mut(n).enumerate() {
            if sparse::unused(plan, self.shape, k) && !b.integer {
                // Elements that no row multiplies are often infinite or NaN.
                for (column, code) in out.iter_mut().enumerate() {
                    let hash = plan.hash(B + (column * 256 + 128 + k % 128) as u32).wrapping_mul(GOLDEN);
                    *code = code::code(plan, &b, code::special(&b, hash), hash, hash);
                }
            } else if plan.special_b > 0 {
                let source = self.lines[sparse::role(self.shape, k)].source;
                specials(plan, &b, plan.special_b, B + source, |at| self.columns.sign[at], out);
            }
        }
        if c.integer || plan.special_c == 0 && plan.c != AddendKind::Cancels {
            return;
        }
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let hash = self.plan.hash(C + (row * 256 + column) as u32);
            let at = row * n + column;
            if (hash >> 24 & 127) < self.plan.special_c {
                let magnitude = code::special(&c, hash.wrapping_mul(GOLDEN));
                self.c[at] = code::code(&self.plan, &c, magnitude, hash >> 23, hash);
            } else if self.plan.c == AddendKind::Cancels {
                self.c[at] = self.c_cancels(row, column, hash);
            }
        }
    }

    /// Minus the product of the slot that c cancels, plus or minus a few units.
    fn c_cancels(&self, row: usize, column: usize, hash: u32) -> u64 {
        let (plan, shape) = (&self.plan, self.shape);
        let (a, b, c) = (&shape.a, &shape.b, &shape.c);
        let (stored, k) = self.cancelled(row);
        let (a_code, b_code) = (self.a(row, stored), self.b[k * shape.n + column]);
        let ((x, a_exponent), (y, b_exponent)) = (code::significand(a, a_code), code::significand(b, b_code));
        let exponent = a_exponent + b_exponent;
        // The upper word of a product of two doubles.
        let magnitude = if a.trailing + b.trailing > 60 {
            below(c, ((u128::from(x << 11) * u128::from(y << 11)) >> 64) as u64, exponent + 42)
        } else {
            below(c, x * y, exponent)
        };
        let units = if hash & 1 != 0 { 0 } else { (hash >> 1 & 7) as i64 - 4 };
        let moved = magnitude.saturating_add_signed(units).min(c.largest);
        let negative = (a_code & a.sign == 0) == (b_code & b.sign == 0);
        code::code(plan, c, moved, negative.into(), hash)
    }

    /// Stored index and index along k of the slot that c cancels.
    fn cancelled(&self, row: usize) -> (usize, usize) {
        let (plan, shape) = (&self.plan, self.shape);
        let multiply = plan.multiply;
        // Newton's iteration for the inverse modulo a power of two: 3, 6, then 12 bits.
        let better = |x: u32| x.wrapping_mul(2u32.wrapping_sub(multiply.wrapping_mul(x)));
        let inverse = better(better(multiply));
        let turned = plan.c_slot.wrapping_sub(plan.add).wrapping_mul(inverse) & (shape.stored - 1);
        let role = (turned >> plan.rotate | turned << (shape.slot_bits() - plan.rotate)) & (shape.stored - 1);
        let (stored, k) = (role as usize, sparse::logical(plan, shape, row, role as usize));
        match shape.chunk {
            Some(chunk) if chunk.kept > 1 && sparse::role(shape, k) != stored => {
                let other = stored ^ chunk.together;
                (other, sparse::logical(plan, shape, row, other))
            }
            _ => (stored, k),
        }
    }

    /// Code of the scale of a row of A and a block along k.
    pub(super) fn scale_a(&self, scale: &Fields, row: usize, block: usize) -> u64 {
        self.scale(scale, self.plan.scale_a, SCALES_A + (row * 256 + block) as u32)
    }

    /// Code of the scale of a block along k and a column of B.
    pub(super) fn scale_b(&self, scale: &Fields, block: usize, column: usize) -> u64 {
        self.scale(scale, self.plan.scale_b, SCALES_B + (column * 256 + block) as u32)
    }

    /// Code of a scale: about `2^exponent`, or anything if exponents are, or NaN among special operands.
    fn scale(&self, scale: &Fields, exponent: i32, index: u32) -> u64 {
        let (plan, hash) = (&self.plan, self.plan.hash(index));
        if plan.regime == Regime::NonFinite && hash >> 27 == 0 {
            return scale.nan;
        }
        if plan.any || plan.regime == Regime::Subnormal && hash >> 30 == 0 {
            return code::any(scale, hash.rotate_left(16));
        }
        let mask = plan.shift | plan.scale_spread;
        let magnitude =
            (scale.bias + exponent) * (1 << scale.trailing) + (hash >> 8 & mask) as i32 - (hash >> 12 & mask) as i32;
        magnitude.clamp(0, scale.largest as i32) as u64
    }
}

/// Fills a tile with the vector instructions of this machine.
#[allow(unsafe_code)]
fn vectorised(tile: &mut StreamedTile<'_>) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        fn avx512(tile: &mut StreamedTile<'_>) {
            tile.mostly();
        }
        #[target_feature(enable = "avx2")]
        fn avx2(tile: &mut StreamedTile<'_>) {
            tile.mostly();
        }
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: this machine has every instruction set that the function is compiled for.
            return unsafe { avx512(tile) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { avx2(tile) };
        }
    }
    tile.mostly();
}

/// Elements of a line in all rows of A, or all columns of B.
struct Across<'a> {
    plan: &'a Parameters,
    fields: &'a Fields,
    line: &'a Line,
    factor: &'a Factor,
    sides: &'a Sides,
    /// First number of the elements.
    first: u32,
}

impl Across<'_> {
    #[inline(always)]
    fn fill(&self, sign: u32, flip: u32, dropout: u32, out: &mut [u64]) {
        if self.fields.integer {
            for (at, code) in out.iter_mut().enumerate() {
                let hash = self.plan.hash(self.first + at as u32 * 256 + self.line.source);
                *code = code::integer(self.plan, self.fields, hash, flip != 0);
            }
        } else if self.fields.bits <= 32 {
            self.fill_words::<u32>(sign, flip, dropout, out);
        } else {
            self.fill_words::<u64>(sign, flip, dropout, out);
        }
    }

    #[inline(always)]
    fn fill_words<W: CodeWord>(&self, sign: u32, flip: u32, dropout: u32, out: &mut [u64]) {
        let (plan, fields, factor, line) = (self.plan.clone(), *self.fields, *self.factor, *self.line);
        let count = out.len();
        let (signs, spreads, shifts) =
            (&self.sides.sign[..count], &self.sides.spread[..count], &self.sides.shift[..count]);
        let (usual, present) = (W::of(!factor.any), W::of(factor.present));
        for at in 0..count {
            let hash = plan.hash(self.first + at as u32 * 256 + line.source);
            let exponent = factor.exponent + shifts[at] - (spreads[at] & line.spread) as i32;
            let fraction: W = factor.fraction.draw(&fields, hash);
            let number = code::number(&fields, exponent, fraction ^ W::from(flip & hash >> 30));
            let kept = W::of(mask(hash >> 26 & 3 >= dropout));
            let magnitude = (number & usual | code::any::<W>(&fields, hash) & !usual) & present & kept;
            let negative = signs[at] ^ sign ^ hash >> 31 & plan.signs;
            out[at] = code::code(&plan, &fields, magnitude, negative, hash).into();
        }
    }
}

/// Elements of a row of C, unless they cancel a product.
#[inline(always)]
fn addends<W: CodeWord>(
    plan: &Parameters,
    fields: &Fields,
    row: usize,
    rows: &Sides,
    columns: &Sides,
    out: &mut [u64],
) {
    let (plan, fields) = (plan.clone(), *fields);
    let first = C + row as u32 * 256;
    if fields.integer {
        let most = fields.largest as u32;
        // Masks: bits of a small number, inverted bits, arbitrary bits. With all inverted, it is `most` minus the
        // number.
        let (kept, turned, any) = match plan.c {
            AddendKind::Zero => (0, 0, 0),
            AddendKind::Number => (most, 0, 0),
            AddendKind::Cancels => (most, most, 0),
            AddendKind::Largest => (most, most + 1, 0),
            AddendKind::Any => (0, 0, most << 1 | 1),
        };
        for (column, code) in out.iter_mut().enumerate() {
            let hash = plan.hash(first + column as u32);
            *code = u64::from((hash >> 12 >> (hash & 15) & kept) ^ turned | hash & any);
        }
        return;
    }
    let count = out.len();
    let (signs, spreads, shifts) = (&columns.sign[..count], &columns.spread[..count], &columns.shift[..count]);
    let (sign, exponent) = (rows.sign[row] ^ plan.c_sign, plan.base - plan.c_gap + rows.shift[row]);
    let spread = if plan.c_spread { u32::MAX } else { 0 };
    let fraction = Fraction::of(plan.c_kind, &fields);
    let (number, any, largest) = (
        W::of(mask(plan.c == AddendKind::Number)),
        W::of(mask(plan.c == AddendKind::Any)),
        W::of(mask(plan.c == AddendKind::Largest)),
    );
    for column in 0..count {
        let hash = plan.hash(first + column as u32);
        let exponent = exponent + shifts[column] - ((rows.spread[row] + spreads[column]) & spread) as i32;
        let magnitude = code::number(&fields, exponent, fraction.draw::<W>(&fields, hash)) & number
            | code::any::<W>(&fields, hash) & any
            | W::of(fields.largest - u64::from(hash & hash >> 3 & 7)) & largest;
        let negative = sign ^ signs[column] ^ hash >> 31 & plan.signs;
        out[column] = code::code(&plan, &fields, magnitude, negative, hash).into();
    }
}

/// Replaces `share` of 128 elements of a line by special codes.
fn specials(plan: &Parameters, fields: &Fields, share: u32, first: u32, sign: impl Fn(usize) -> u32, out: &mut [u64]) {
    for (at, code) in out.iter_mut().enumerate() {
        let hash = plan.hash(first + at as u32 * 256);
        if (hash >> 24 & 127) < share {
            let magnitude = code::special(fields, hash.wrapping_mul(GOLDEN));
            *code = code::code(plan, fields, magnitude, sign(at) ^ hash >> 31 & plan.signs, hash);
        }
    }
}

/// The magnitude next below `sum * 2^exponent`.
fn below(fields: &Fields, sum: u64, exponent: i32) -> u64 {
    let Some(leading) = sum.checked_ilog2().map(|bits| bits as i32) else { return 0 };
    let excess = leading - fields.trailing;
    let significand = if excess > 0 { sum >> excess } else { sum << -excess };
    if leading + exponent < fields.low {
        return 0;
    }
    code::number(fields, leading + exponent, significand & fields.full)
}
