//! Matrix instructions as data: names, shapes, operand formats, where they exist, and the tiles they consume.

mod instruction;
mod table;
mod tile;

pub use instruction::{Instruction, Kernel, Scale, Support};
pub use table::{all, find};
pub use tile::{Codes, Tiles};
