//! Corners: named cases, the same for every seed, each aimed at one decision of an arithmetic.
//!
//! The cases follow from the formats of an instruction, so every instruction has those that its operands can
//! express. Names are `FAMILY/CASE`; numbers in them are exponents of two (`floor/-149-minus-158` is
//! 2^-149 - 2^-158) or distances between exponents (`width/pair-25` is 2^e - 2^e + 2^(e-25)).

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

/// One corner, and the element of D that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corner {
    /// `FAMILY/CASE`, unique among the corners of an instruction.
    pub name: String,
    /// Where it is in the tiles.
    pub position: Position,
}

/// The corners of an instruction, packed into tiles: cases with the same operands share rows of A and columns of B.
#[derive(Debug, Clone, PartialEq)]
pub struct Corners {
    /// The tiles.
    pub tiles: Tiles,
    /// The corners, in the order of their families.
    pub list: Vec<Corner>,
}

impl Corners {
    /// The corners of `instruction`.
    pub fn of(instruction: &Instruction) -> Corners {
        pack::pack(instruction, &cases(instruction))
    }

    /// The cases alone, in the same order.
    pub fn cases(instruction: &Instruction) -> Vec<Case> {
        cases(instruction).into_iter().map(|named| named.case).collect()
    }

    /// Where the corner with this name is; `None` where the instruction's operands cannot express it.
    pub fn position(&self, name: &str) -> Option<Position> {
        self.list.iter().find(|corner| corner.name == name).map(|corner| corner.position)
    }

    /// The names, in the order of their families.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|corner| corner.name.as_str())
    }
}

/// Every case that the formats of `instruction` can express.
///
/// Those of sparse and block-scaled forms are the ones of the dense form with as many terms, with the first positions of
/// every chunk and scales of 1, and some of their own.
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
    cases.extend(spread::scaled(instruction));
    cases
}

/// The dense form without scales whose k is the number of stored elements.
fn plain(i: &Instruction) -> Instruction {
    Instruction { k: i.stored_k(), sparse: None, scale: None, ..i.clone() }
}

#[cfg(test)]
mod tests;
