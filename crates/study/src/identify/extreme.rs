//! Tiles in which very small and very large terms of a step meet.

use super::steps::Step;
use crate::{
    bench::{Draw, Exponents, Leaf, encoded, tile},
    format::{Finite, Format},
    isa::{Case, Instruction, Tiles},
};

/// Largest distance of terms below the smallest normal number of D, in exponents.
const BELOW: i32 = 30;
/// Largest distance of terms above the largest result of the step, in exponents.
const ABOVE: i32 = 2;
/// Smallest and largest exponent of terms anywhere, if D has numbers much smaller and much larger.
const COMMON: (i32, i32) = (-170, 140);

/// Significant bits of numbers with few bits.
const FEW: u32 = 3;

/// The range in which the terms of a tile are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    Low,
    High,
    /// Each term just fits into the result; the sum of two does not.
    Brim,
}

/// Makes `count` tiles in which very small or very large terms of a step meet.
pub(super) fn tiles(i: &Instruction, step: &Step, seed: u64, count: usize) -> Tiles {
    let most = Exponents::of(i.d).high.min(Exponents::of(step.arithmetic.target.format).high);
    let mut extreme = Extreme { i, most, draw: Draw::new(seed) };
    let mut tiles = Tiles::zeros(i, 0);
    for number in 0..count {
        let places = [Place::Anywhere, Place::Low, Place::High, Place::Anywhere, Place::Brim];
        let place = places[number % places.len()];
        tiles.extend(&extreme.tile(step, place));
    }
    tiles
}

struct Extreme<'a> {
    i: &'a Instruction,
    /// The exponent of the largest results of the step, and of D.
    most: i32,
    draw: Draw,
}

impl Extreme<'_> {
    fn below(&mut self, count: i32) -> i32 {
        self.draw.below(count.max(1) as u64) as i32
    }

    /// Draws one term of each of some parts of a step.
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

    /// Smallest and largest exponent of products and of c.
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

    /// The code of a number with about this exponent; half of the numbers have few bits.
    /// It is subnormal if the exponent is.
    fn code(&mut self, format: &Format, exponent: i32) -> u64 {
        let bits = if self.below(2) == 0 { FEW } else { u64::BITS };
        let range = Exponents::of(format);
        self.draw.code(format, exponent.clamp(range.low, range.high), bits)
    }

    /// A row of A, or a column of B.
    fn line(&mut self, of_a: bool, leaves: &[Leaf], place: Place) -> Case {
        let i = self.i;
        let mut case = Case::zeros(i);
        let format = if of_a { i.a } else { i.b };
        let (low, high) = self.reach(place);
        // Each factor has half of the exponent, or more if the format of the other factor ends before.
        let (exponents, other) = (Exponents::of(format), Exponents::of(if of_a { i.b } else { i.a }));
        let least = (low / 2).min(low - other.low).max(exponents.low);
        let most = (high / 2).max(high - other.high).min(exponents.high);
        let base = match place {
            // The product of both is as large as a result can be.
            Place::Brim if of_a => most,
            Place::Brim => high - (high / 2).max(high - exponents.high).min(other.high),
            _ => self.draw.between(least.min(most), most),
        };
        if let Some(scale) = i.scale {
            let range = Exponents::of(scale.format);
            for block in 0..case.scale_a.len() {
                let wanted = match place {
                    Place::Brim => high / 2 - exponents.high.min(high / 2),
                    _ => self.draw.between(low / 2 - exponents.high.min(0), high / 2 - exponents.low.max(0)),
                };
                let exponent = wanted.clamp(range.normal, range.high);
                let code = encoded(scale.format, Finite::exact(false, 1, exponent));
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
        tile(i, &rows, &columns, |_| match leaves.contains(&Leaf::C) {
            true => {
                let exponent = self.draw.between(low, high) - i32::from(place == Place::Brim && self.below(2) == 0);
                self.code(i.c, exponent)
            }
            false => 0,
        })
    }
}
