//! Tiles in which very small and very large terms of a step meet.

use super::steps::{Part, Products, Step};
use crate::{
    bench::{Draw, Exponents, Leaf, encoded, tile},
    format::{Finite, Format, Overflow, Rounding},
    isa::{Case, Instruction, Tiles},
};

/// Largest distance of terms below the smallest normal number of D, in exponents.
const BELOW: i32 = 30;
/// Largest distance of terms above the largest result of the step, in exponents.
const ABOVE: i32 = 2;
/// Smallest and largest exponent of terms anywhere, if D has numbers much smaller and much larger.
const COMMON: (i32, i32) = (-170, 140);

/// Tiles with values between the largest number and the one that would come next.
const EDGES: usize = 2;
/// Draws of a factor until its product lies there.
const DRAWS: usize = 64;

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
    for _ in 0..EDGES {
        extreme.edge(step).into_iter().for_each(|tile| tiles.extend(&tile));
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

    /// A tile with values a little above the largest number.
    ///
    /// Rounded products lie there. Where products are exact, c is the largest number, and a product a part of its last place. `None` if the
    /// step has no product, or the formats lack such values.
    fn edge(&mut self, step: &Step) -> Option<Tiles> {
        let i = self.i;
        let products: Vec<usize> = step.parts.iter().filter_map(Part::product).collect();
        let k = *products.get(self.below(products.len() as i32) as usize)?;
        let negative = self.below(2) == 0;
        let rounded = match step.arithmetic.products {
            Products::Rounded(target) => Some(target.format),
            _ => None,
        };
        let sum = step.arithmetic.target.format;
        let largest = |format: &Format| format.to_f64(format.largest(false));
        let (low, high) = match rounded {
            Some(format) => (largest(format), largest(format) + last_place(format)),
            None => (0.0, last_place(sum)),
        };
        let pairs: Vec<(u64, u64)> = (0..i.m).map(|_| self.factors(low, high)).collect::<Option<_>>()?;
        let line = |of_a: bool, row: usize| {
            let mut case = Case::zeros(i);
            let (a, b) = pairs[row % pairs.len()];
            let at = case.logical(i, k);
            match of_a {
                true => {
                    case.a[k] =
                        if negative { i.a.encode_f64(-i.a.to_f64(a), Rounding::Rz, Overflow::Saturate)? } else { a }
                }
                false => case.b[at] = b,
            }
            if i.scale.is_some() {
                let one = encoded(i.scale?.format, Finite::exact(false, 1, 0));
                (case.scale_a, case.scale_b) = (vec![one; case.scale_a.len()], vec![one; case.scale_b.len()]);
            }
            Some(case)
        };
        let rows: Vec<Case> = (0..i.m).map(|row| line(true, row)).collect::<Option<_>>()?;
        let columns: Vec<Case> = (0..i.n).map(|column| line(false, column)).collect::<Option<_>>()?;
        let has_c = step.leaves.iter().any(|part| part.contains(&Leaf::C));
        let c = match rounded.is_none() && has_c {
            true => {
                i.c.encode_f64(if negative { -largest(sum) } else { largest(sum) }, Rounding::Rz, Overflow::Saturate)?
            }
            false => 0,
        };
        Some(tile(i, &rows, &columns, |_| c))
    }

    /// Codes of a factor of A and of one of B whose product lies between two numbers.
    fn factors(&mut self, low: f64, high: f64) -> Option<(u64, u64)> {
        let i = self.i;
        let [of_a, of_b] = [i.a, i.b].map(Exponents::of);
        let exponent = high.log2().floor() as i32;
        for _ in 0..DRAWS {
            let wanted = match low > 0.0 {
                true => exponent - 1,
                false => exponent - 1 - self.below(3),
            };
            let half = (wanted / 2).max(wanted - of_b.high).clamp(of_a.normal, of_a.high);
            let a = self.draw.code(i.a, half, u64::BITS);
            let value = i.a.to_f64(a).abs();
            let product = if low > 0.0 { low } else { 2f64.powi(wanted) };
            let b = i.b.encode_f64(product / value, Rounding::Ru, Overflow::Nan)?;
            let exact = value * i.b.to_f64(b);
            if exact > low && exact < high {
                return Some((i.a.encode_f64(value, Rounding::Rz, Overflow::Saturate)?, b));
            }
        }
        None
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

/// The last place of the largest number of a format.
fn last_place(format: &Format) -> f64 {
    format.float().map_or(1.0, |float| 2f64.powi(float.emax() - float.trailing_bits as i32))
}
