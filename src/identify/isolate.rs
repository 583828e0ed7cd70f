//! Tiles that show one step of a sum alone: of all terms only a few that meet there are not zero.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{
    format::{Finite, Format, Overflow, Real, Rounding},
    isa::{Case, Instruction, Tiles},
    tree::{Leaf, Meeting, Order},
};

/// The most steps of an order that are shown alone.
const MOST_STEPS: usize = 12;
/// The farthest apart that terms are.
const FARTHEST: u64 = 40;

/// Tiles for the steps of `order`, the last step first.
pub(super) fn tiles(i: &Instruction, order: &Order, seed: u64) -> Tiles {
    let mut draw = Draw { i, random: ChaCha8Rng::seed_from_u64(seed) };
    let mut tiles = Tiles::zeros(i, 0);
    let mut meetings: Vec<&Meeting> = order.meetings();
    // Of many, the first and the last ones.
    if meetings.len() > MOST_STEPS {
        let last = meetings.split_off(meetings.len() - MOST_STEPS / 2);
        meetings.truncate(MOST_STEPS - MOST_STEPS / 2);
        meetings.extend(last);
    }
    for leaf in [Some(Leaf::C), order.leaves().into_iter().find(|leaf| *leaf != Leaf::C)].into_iter().flatten() {
        tiles.extend(&draw.tile(&[leaf], Kind::Apart));
    }
    for meeting in meetings {
        let parts = meeting.parts.len();
        let two = draw.some(meeting, 2);
        tiles.extend(&draw.tile(&two, Kind::Apart));
        let two = draw.some(meeting, 2);
        tiles.extend(&draw.tile(&two, Kind::Near));
        if parts > 2 {
            for _ in 0..2 {
                let three = draw.some(meeting, 3);
                tiles.extend(&draw.tile(&three, Kind::Cancel));
            }
        } else {
            let two = draw.some(meeting, 2);
            tiles.extend(&draw.tile(&two, Kind::Cancel));
        }
        if parts > 4 {
            let all = draw.some(meeting, parts.min(8));
            tiles.extend(&draw.tile(&all, Kind::Apart));
        }
    }
    tiles
}

/// How the terms of a tile are to one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Any significands, exponents far apart.
    Apart,
    /// Any significands, exponents alike.
    Near,
    /// The first two cancel, or nearly do.
    Cancel,
}

struct Draw<'a> {
    i: &'a Instruction,
    random: ChaCha8Rng,
}

impl Draw<'_> {
    fn below(&mut self, count: u64) -> u64 {
        self.random.next_u64() % count
    }

    /// One term of each of some parts of a step, in a random order.
    fn some(&mut self, meeting: &Meeting, count: usize) -> Vec<Leaf> {
        let mut parts: Vec<&Order> = meeting.parts.iter().collect();
        let mut some = Vec::new();
        while some.len() < count && !parts.is_empty() {
            let part = parts.remove(self.below(parts.len() as u64) as usize);
            let leaves: Vec<Leaf> = part.leaves().into_iter().collect();
            some.push(leaves[self.below(leaves.len() as u64) as usize]);
        }
        some
    }

    /// A number with this exponent, more or less, in a format: sometimes with few bits.
    fn code(&mut self, format: &Format, exponent: i32) -> u64 {
        let Some(float) = format.float() else { return self.random.next_u64() & format.code_mask() };
        let precision = float.precision();
        let leading = 1u64 << (precision - 1);
        let kept = match self.below(3) {
            0 => u64::MAX << (precision - 1).saturating_sub(2),
            _ => u64::MAX,
        };
        let significand = leading | (self.random.next_u64() & (leading - 1) & kept);
        let exponent = exponent.clamp(float.emin(), float.emax() - 1) - (precision as i32 - 1);
        let negative = float.signed && self.below(2) == 0;
        encoded(format, Finite::exact(negative, significand.into(), exponent))
    }

    fn tile(&mut self, leaves: &[Leaf], kind: Kind) -> Tiles {
        let i = self.i;
        let blank = {
            let mut case = Case::zeros(i);
            if let Some(scale) = i.scale {
                let one = encoded(scale.format, Finite::exact(false, 1, 0));
                case.scale_a.fill(one);
                case.scale_b.fill(one);
            }
            case
        };
        let products: Vec<usize> = leaves
            .iter()
            .filter_map(|leaf| match leaf {
                Leaf::Product(k) => Some(*k),
                Leaf::C => None,
            })
            .collect();
        let with_c = leaves.contains(&Leaf::C);
        let far = if kind == Kind::Near { 3 } else { FARTHEST / 2 };
        let mut rows = Vec::new();
        for _ in 0..i.m {
            let mut row = blank.clone();
            let height = self.below(8) as i32;
            for (place, k) in products.iter().enumerate() {
                let gap = if place == 0 || kind == Kind::Cancel && place == 1 { 0 } else { self.below(far) as i32 };
                row.a[*k] = self.code(i.a, height - gap);
            }
            if kind == Kind::Cancel && products.len() > 1 {
                row.a[products[1]] = negated(i.a, row.a[products[0]]);
            }
            rows.push(row);
        }
        let mut columns = Vec::new();
        for _ in 0..i.n {
            let mut column = blank.clone();
            let height = self.below(8) as i32;
            for (place, k) in products.iter().enumerate() {
                let at = blank.logical(i, *k);
                let gap = if place == 0 || kind == Kind::Cancel && place == 1 { 0 } else { self.below(far) as i32 };
                column.b[at] = self.code(i.b, height - gap);
            }
            if kind == Kind::Cancel && products.len() > 1 && self.below(4) > 0 {
                column.b[blank.logical(i, products[1])] = column.b[blank.logical(i, products[0])];
            }
            columns.push(column);
        }
        let mut tiles = Tiles::zeros(i, 1);
        for (at, row) in rows.iter().enumerate() {
            for (beside, column) in columns.iter().enumerate() {
                let mut case = Case { b: column.b.clone(), ..row.clone() };
                if with_c {
                    case.c = self.c(&case, &products, kind);
                }
                tiles.place(i, 0, at, beside, &case);
            }
        }
        tiles
    }

    /// An element of C beside these products.
    fn c(&mut self, case: &Case, products: &[usize], kind: Kind) -> u64 {
        let i = self.i;
        let Some(first) = products.first() else {
            let exponent = self.below(60) as i32 - 30;
            return self.code(i.c, exponent);
        };
        let values = (i.a.value(case.a[*first]), i.b.value(case.b[case.logical(i, *first)]));
        let (Real::Finite(x), Real::Finite(y)) = values else { return 0 };
        let product = Finite::exact(x.negative == y.negative, x.significand * y.significand, x.exponent + y.exponent);
        if kind == Kind::Cancel && products.len() != 2 {
            return encoded(i.c, product);
        }
        let far = if kind == Kind::Near { 4 } else { FARTHEST };
        let exponent = product.leading_exponent().unwrap_or(0) + self.below(2 * far) as i32 - far as i32;
        self.code(i.c, exponent)
    }
}

/// The code of the number that is nearest in a format.
pub(super) fn encoded(format: &Format, value: Finite) -> u64 {
    format.encode(&Real::Finite(value), Rounding::Rne, Overflow::Saturate).unwrap_or(0)
}

/// The code with the other sign, where the format has signs.
pub(super) fn negated(format: &Format, code: u64) -> u64 {
    match format.float() {
        Some(float) if float.signed => code ^ 1 << (format.bits - 1),
        _ => code,
    }
}
