//! The codes of A, B, C and of scales.

use super::{
    Regime,
    bits::GOLDEN,
    code::{self, Fraction},
    fields::{Fields, Shape},
    line::{Factor, Line, Side, mask},
    plan::{Addend, Plan},
    sparse,
};

/// Where the numbers of elements begin: those of A at 0.
const B: u32 = 0x10000;
const C: u32 = 0x40000;
const SCALES_A: u32 = 0x80000;
const SCALES_B: u32 = 0x90000;

/// One tile: its parameters and its lines, sides and c's fractions, computed once.
pub(super) struct Tile<'a> {
    pub(super) shape: &'a Shape,
    pub(super) plan: Plan,
    pub(super) lines: Vec<Line>,
    rows: Vec<Side>,
    columns: Vec<Side>,
    c_fraction: Fraction,
}

impl<'a> Tile<'a> {
    pub(super) fn new(shape: &'a Shape, seed: u64, tile: u64) -> Tile<'a> {
        let plan = Plan::new(shape, seed, tile);
        Tile {
            lines: (0..shape.stored).map(|role| Line::new(&plan, shape, role)).collect(),
            rows: (0..shape.m).map(|row| Side::row(&plan, row)).collect(),
            columns: (0..shape.n).map(|column| Side::column(&plan, column)).collect(),
            c_fraction: Fraction::of(plan.c_kind, &shape.c),
            plan,
            shape,
        }
    }

    /// The position of the stored element `stored` of a row of A in its chunk.
    pub(super) fn position(&self, row: usize, stored: usize) -> usize {
        sparse::position(&self.plan, self.shape, row, stored)
    }

    fn line(&self, k: usize) -> &Line {
        &self.lines[sparse::role(self.shape, k)]
    }

    /// The code of A at a row and a stored index.
    #[inline]
    pub(super) fn a(&self, row: usize, stored: usize) -> u64 {
        let (plan, line, side) =
            (&self.plan, self.line(sparse::logical(&self.plan, self.shape, row, stored)), self.rows[row]);
        let hash = plan.hash(row as u32 * 256 + line.source);
        if self.shape.a.integer {
            return code::integer(plan, &self.shape.a, hash, line.odd & plan.flips != 0);
        }
        let factor = Factor { present: line.a.present & mask(hash >> 26 & 3 >= line.dropout), ..line.a };
        let exponent = factor.exponent + side.shift - (side.spread & line.spread) as i32;
        let flip = line.odd & plan.flips & hash >> 30;
        self.element(&self.shape.a, hash, &factor, exponent, side.sign ^ line.sign, flip, plan.special_a)
    }

    /// The code of B at an index along k and a column. What no row multiplies is often infinite or NaN.
    #[inline]
    pub(super) fn b(&self, k: usize, column: usize) -> u64 {
        let (plan, line, side, fields) = (&self.plan, self.line(k), self.columns[column], &self.shape.b);
        let hash = plan.hash(B + column as u32 * 256 + line.source);
        if fields.integer {
            return code::integer(plan, fields, hash, false);
        }
        if sparse::unused(plan, self.shape, k) {
            let hash = plan.hash(B + (column * 256 + 128 + k % 128) as u32).wrapping_mul(GOLDEN);
            return code::code(plan, fields, code::special(fields, hash), hash, hash);
        }
        let exponent = line.b.exponent + side.shift - (side.spread & line.spread) as i32;
        self.element(fields, hash, &line.b, exponent, side.sign, 0, plan.special_b)
    }

    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn element(
        &self,
        fields: &Fields,
        hash: u32,
        factor: &Factor,
        exponent: i32,
        sign: u32,
        flip: u32,
        special: u32,
    ) -> u64 {
        let magnitude = if (hash >> 24 & 127) < special {
            code::special(fields, hash.wrapping_mul(GOLDEN))
        } else {
            let number = code::number(fields, exponent, factor.fraction.draw(fields, hash) ^ u64::from(flip));
            (number & !factor.any | code::any(fields, hash) & factor.any) & factor.present
        };
        code::code(&self.plan, fields, magnitude, sign ^ hash >> 31 & self.plan.signs, hash)
    }

    /// The code of C at a row and a column.
    #[inline]
    pub(super) fn c(&self, row: usize, column: usize) -> u64 {
        let (plan, fields) = (&self.plan, &self.shape.c);
        let hash = plan.hash(C + (row * 256 + column) as u32);
        if fields.integer {
            return self.c_integer(hash);
        }
        if (hash >> 24 & 127) < plan.special_c {
            let magnitude = code::special(fields, hash.wrapping_mul(GOLDEN));
            return code::code(plan, fields, magnitude, hash >> 23, hash);
        }
        let (of_row, of_column) = (self.rows[row], self.columns[column]);
        let magnitude = match plan.c {
            Addend::Zero => 0,
            Addend::Number => {
                let spread = if plan.c_spread { of_row.spread + of_column.spread } else { 0 };
                let exponent = plan.base - plan.c_gap + of_row.shift + of_column.shift - spread as i32;
                code::number(fields, exponent, self.c_fraction.draw(fields, hash))
            }
            Addend::Cancels => return self.c_cancels(row, column, hash),
            Addend::Largest => fields.largest - u64::from(hash & hash >> 3 & 7),
            Addend::Any => code::any(fields, hash),
        };
        let sign = of_row.sign ^ of_column.sign ^ plan.c_sign ^ hash >> 31 & plan.signs;
        code::code(plan, fields, magnitude, sign, hash)
    }

    fn c_integer(&self, hash: u32) -> u64 {
        let most = self.shape.c.largest as u32;
        let near = hash >> 12 >> (hash & 15);
        u64::from(match self.plan.c {
            Addend::Zero => 0,
            Addend::Number => near,
            Addend::Cancels => most - near,
            Addend::Largest => most + 1 + near,
            Addend::Any => hash,
        })
    }

    /// Minus the product of the slot that c cancels, give or take a few units.
    fn c_cancels(&self, row: usize, column: usize, hash: u32) -> u64 {
        let (plan, shape) = (&self.plan, self.shape);
        let (a, b, c) = (&shape.a, &shape.b, &shape.c);
        let (stored, k) = self.cancelled(row);
        let (a_code, b_code) = (self.a(row, stored), self.b(k, column));
        let ((x, a_exponent), (y, b_exponent)) = (code::significand(a, a_code), code::significand(b, b_code));
        let exponent = a_exponent + b_exponent;
        // Of a product of two doubles the upper word.
        let magnitude = if a.trailing + b.trailing > 60 {
            below(c, (u128::from(x << 11) * u128::from(y << 11) >> 64) as u64, exponent + 42)
        } else {
            below(c, x * y, exponent)
        };
        let units = if hash & 1 != 0 { 0 } else { (hash >> 1 & 7) as i64 - 4 };
        let moved = magnitude.saturating_add_signed(units).min(c.largest);
        let negative = (a_code & a.sign == 0) == (b_code & b.sign == 0);
        code::code(plan, c, moved, negative.into(), hash)
    }

    /// The stored index and the index along k of the slot that c cancels.
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

    /// The code of the scale of a row of A and a block along k.
    pub(super) fn scale_a(&self, scale: &Fields, row: usize, block: usize) -> u64 {
        self.scale(scale, SCALES_A + (row * 256 + block) as u32)
    }

    /// The code of the scale of a block along k and a column of B.
    pub(super) fn scale_b(&self, scale: &Fields, block: usize, column: usize) -> u64 {
        self.scale(scale, SCALES_B + (column * 256 + block) as u32)
    }

    /// Scales are about 1; where exponents are anywhere, anything; among non-finite operands sometimes NaN.
    fn scale(&self, scale: &Fields, index: u32) -> u64 {
        let (plan, hash) = (&self.plan, self.plan.hash(index));
        if plan.regime == Regime::NonFinite && hash >> 27 == 0 {
            return scale.nan;
        }
        if plan.any || plan.regime == Regime::Subnormal && hash >> 30 == 0 {
            return code::any(scale, hash.rotate_left(16));
        }
        let one = (scale.bias as u64) << scale.trailing;
        one + u64::from(hash >> 8 & plan.shift) - u64::from(hash >> 12 & plan.shift)
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
