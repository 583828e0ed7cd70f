//! Tiles in which very small and very large terms of a step meet.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use super::{directed::encoded, steps::Step};
use crate::{
    format::{Finite, Format},
    isa::{Case, Instruction, Tiles},
    tree::Leaf,
};

/// How far below the smallest normal number of D, and above the largest, terms are.
const BELOW: i32 = 30;
const ABOVE: i32 = 2;
/// Where they are if D has numbers much smaller and much larger.
const COMMON: (i32, i32) = (-170, 140);

/// Where the terms of a tile are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    Low,
    High,
    /// Each just fits; two do not.
    Brim,
}

/// Tiles for a step in which very small or very large terms meet; so many of them.
pub(super) fn tiles(i: &Instruction, step: &Step, seed: u64, count: usize) -> Tiles {
    let emax = |format: &Format| format.float().map_or(0, |float| float.emax());
    let most = emax(i.d).min(emax(step.own.target.format));
    let mut draw = Draw { i, most, random: ChaCha8Rng::seed_from_u64(seed) };
    let mut tiles = Tiles::zeros(i, 0);
    for number in 0..count {
        let places = [Place::Anywhere, Place::Low, Place::High, Place::Anywhere, Place::Brim];
        let place = places[number % places.len()];
        tiles.extend(&draw.tile(step, place));
    }
    tiles
}

struct Draw<'a> {
    i: &'a Instruction,
    /// The exponent of the largest results of the step, and of D.
    most: i32,
    random: ChaCha8Rng,
}

impl Draw<'_> {
    fn below(&mut self, count: i32) -> i32 {
        (self.random.next_u64() % count.max(1) as u64) as i32
    }

    fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below(high - low + 1)
    }

    /// One term of each of some parts of a step.
    fn leaves(&mut self, step: &Step) -> Vec<Leaf> {
        let mut parts: Vec<&Vec<Leaf>> = step.leaves.iter().collect();
        let count = 1 + self.below(parts.len().min(3) as i32);
        let mut leaves = Vec::new();
        for _ in 0..count {
            let part = parts.remove(self.below(parts.len() as i32) as usize);
            leaves.push(part[self.below(part.len() as i32) as usize]);
        }
        leaves
    }

    /// The exponents between which products and c are.
    fn reach(&self, place: Place) -> (i32, i32) {
        let least = self.i.d.float().map_or(0, |d| d.emin() - BELOW);
        let most = self.most + ABOVE;
        match place {
            Place::Anywhere => (least.max(COMMON.0), most.min(COMMON.1)),
            Place::Low => (least, least + 2 * BELOW),
            Place::High => (most - 6, most),
            Place::Brim => (self.most, self.most),
        }
    }

    /// A number with about this exponent: sometimes with few bits, subnormal where the exponent is.
    fn code(&mut self, format: &Format, exponent: i32) -> u64 {
        let Some(float) = format.float() else { return 0 };
        let precision = float.precision();
        let leading = 1u64 << (precision - 1);
        let kept = if self.below(2) == 0 { u64::MAX << (precision - 1).saturating_sub(2) } else { u64::MAX };
        let significand = leading | (self.random.next_u64() & (leading - 1) & kept);
        let exponent = exponent.clamp(float.emin() - float.trailing_bits as i32, float.emax());
        let negative = float.signed && self.below(2) == 0;
        encoded(format, Finite::exact(negative, significand.into(), exponent - (precision as i32 - 1)))
    }

    /// A row of A, or a column of B.
    fn line(&mut self, of_a: bool, leaves: &[Leaf], place: Place) -> Case {
        let i = self.i;
        let mut case = Case::zeros(i);
        let format = if of_a { i.a } else { i.b };
        let (low, high) = self.reach(place);
        // Half of the exponent each, more of it where the other format has no more.
        let range = |format: &Format| {
            format.float().map_or((0, 0), |float| (float.emin() - float.trailing_bits as i32, float.emax()))
        };
        let (own, other) = (range(format), range(if of_a { i.b } else { i.a }));
        let least = (low / 2).min(low - other.0).max(own.0);
        let most = (high / 2).max(high - other.1).min(own.1);
        let base = match place {
            // Both together are as large as a result can be.
            Place::Brim if of_a => (high / 2).max(high - other.1).min(own.1),
            Place::Brim => high - (high / 2).max(high - own.1).min(other.1),
            _ => self.between(least.min(most), most),
        };
        let one = |scale: &Format, exponent: i32| encoded(scale, Finite::exact(false, 1, exponent));
        if let Some(scale) = i.scale {
            let range = scale.format.float().map_or((0, 0), |float| (float.emin(), float.emax()));
            for block in 0..case.scale_a.len() {
                let wanted = match place {
                    Place::Brim => high / 2 - own.1.min(high / 2),
                    _ => self.between(low / 2 - own.1.min(0), high / 2 - own.0.max(0)),
                };
                let code = one(scale.format, wanted.clamp(range.0, range.1));
                if of_a { case.scale_a[block] = code } else { case.scale_b[block] = code }
            }
        }
        let far = if place == Place::Brim { 1 } else { [1, 4, 12, 30][self.below(4) as usize] };
        for leaf in leaves {
            let Leaf::Product(k) = *leaf else { continue };
            let exponent = base - self.below(far);
            let code = self.code(format, exponent);
            let at = case.logical(i, k);
            if of_a { case.a[k] = code } else { case.b[at] = code }
        }
        case
    }

    fn tile(&mut self, step: &Step, place: Place) -> Tiles {
        let i = self.i;
        let leaves = self.leaves(step);
        let rows: Vec<Case> = (0..i.m).map(|_| self.line(true, &leaves, place)).collect();
        let columns: Vec<Case> = (0..i.n).map(|_| self.line(false, &leaves, place)).collect();
        let (low, high) = self.reach(place);
        let mut tiles = Tiles::zeros(i, 1);
        for (at, row) in rows.iter().enumerate() {
            for (beside, column) in columns.iter().enumerate() {
                let mut case = Case { b: column.b.clone(), scale_b: column.scale_b.clone(), ..row.clone() };
                if leaves.contains(&Leaf::C) {
                    let exponent = self.between(low, high) - i32::from(place == Place::Brim && self.below(2) == 0);
                    case.c = self.code(i.c, exponent);
                }
                tiles.place(i, 0, at, beside, &case);
            }
        }
        tiles
    }
}
