//! Corners: named cases, the same for every seed, each aimed at one decision of an arithmetic.
//!
//! The cases follow from the formats of an instruction: it has those that its operands can express. Names are
//! `FAMILY/CASE`; numbers in them are exponents of two (`floor/-149-minus-158` is 2^-149 - 2^-158) or distances between
//! exponents (`width/pair-25` is 2^e - 2^e + 2^(e-25)).

mod alignment;
mod c_alone;
mod groups;
mod integers;
mod non_finite;
mod pack;
mod padding;
mod range;
mod sketch;
mod spread;
mod subnormal;
mod zeros;

use super::Position;
use crate::isa::{Case, Instruction, Tiles};

/// Corner and the element of D that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corner {
    /// `FAMILY/CASE`, unique among the corners of an instruction.
    pub name: String,
    /// Position in the tiles.
    pub position: Position,
}

/// Corners of an instruction, packed into tiles that share rows of A and columns of B.
#[derive(Debug, Clone, PartialEq)]
pub struct Corners {
    /// Packed tiles.
    pub tiles: Tiles,
    /// The corners, in the order of their families.
    pub list: Vec<Corner>,
}

impl Corners {
    /// Corners of `instruction`.
    pub fn of(instruction: &Instruction) -> Corners {
        pack::pack(instruction, &cases(instruction))
    }

    /// Cases alone, in the same order.
    pub fn cases(instruction: &Instruction) -> Vec<Case> {
        cases(instruction).into_iter().map(|named| named.case).collect()
    }

    /// Position of the corner with this name; `None` where the instruction's operands cannot express it.
    pub fn position(&self, name: &str) -> Option<Position> {
        self.list.iter().find(|corner| corner.name == name).map(|corner| corner.position)
    }

    /// Names, in the order of their families.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|corner| corner.name.as_str())
    }
}

/// Cases that the formats of `instruction` can express.
///
/// Sparse and block-scaled forms have the cases of the dense form with as many terms, with the first positions of every
/// chunk and scales of 1, and some more.
fn cases(instruction: &Instruction) -> Vec<sketch::NamedCase> {
    let plain = plain(instruction);
    let mut sketch = sketch::Sketch::new(&plain);
    if instruction.d.is_integer() {
        integers::add(&mut sketch);
    } else {
        alignment::add(&mut sketch);
        range::add(&mut sketch);
        subnormal::add(&mut sketch);
        zeros::add(&mut sketch);
        groups::add(&mut sketch);
        non_finite::add(&mut sketch);
        padding::add(&mut sketch);
        c_alone::add(&mut sketch);
    }
    let mut cases = sketch.into_cases();
    cases.iter_mut().for_each(|named| named.case = spread::spread(instruction, &named.case));
    cases.extend(spread::sparse(instruction));
    cases.extend(spread::scale_cases(instruction));
    cases
}

/// Dense form without scales whose k is the number of stored elements.
fn plain(i: &Instruction) -> Instruction {
    Instruction { k: i.stored_k(), sparse: None, scale: None, ..i.clone() }
}

#[cfg(test)]
mod tests;
