//! Kits: programs that a stranger runs to say how a unit computes an instruction.
//!
//! A kit has the fewest tiles of operands, as far as a search finds, on which the candidate arithmetics of an instruction differ, within
//! one program that needs nothing of `tcnum`. What it prints is read as recordings ([`read_printed`](crate::trace::read_printed)).

mod amd;
mod cuda;
mod declared;
mod inputs;
mod processor;
mod program;

pub use inputs::{KitInputs, inputs};
pub use program::{Language, program};

use crate::{
    isa::Instruction,
    report::{Table, counted},
};

crate::rows! {
    /// The inputs of an instruction in a kit.
    pub struct KitRow in "kit_inputs" {
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// Tiles of operands.
        tiles: usize => shown("tiles").essential(),
        /// Rows and columns of D that the kit prints.
        part: Vec<usize> => hidden(),
        /// Candidate arithmetics: of shipped models, and those that differ from these in one key.
        candidates: usize => shown("candidates"),
        /// Groups of candidates that the tiles tell apart.
        apart: usize => shown("groups").essential(),
    }
}

/// The table of the inputs.
pub fn table(kits: &[KitInputs]) -> Table {
    let row = |kit: &KitInputs| KitRow {
        instruction: kit.instruction.name.clone(),
        tiles: kit.tiles.count,
        part: vec![kit.part.m, kit.part.n],
        candidates: kit.candidates,
        apart: kit.apart,
    };
    Table::of("Inputs of the kit", kits.iter().map(row))
}

/// A kit in a sentence.
pub fn answer(file: &str, kits: &[KitInputs]) -> String {
    let tiles: usize = kits.iter().map(|kit| kit.tiles.count).sum();
    let names: Vec<&str> = kits.iter().map(|kit| &kit.instruction.name[..]).collect();
    let of = match &names[..] {
        [one] => (*one).to_string(),
        all => counted(all.len() as u64, "instruction"),
    };
    format!("{file} executes {} of {of} and prints the answers.", counted(tiles as u64, "tile"))
}

/// The part of an instruction's tile that a kit fills and prints.
fn part(instruction: &Instruction) -> Instruction {
    const ROWS: usize = 8;
    const COLUMNS: usize = 8;
    Instruction { m: instruction.m.min(ROWS), n: instruction.n.min(COLUMNS), ..instruction.clone() }
}
