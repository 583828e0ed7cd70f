//! Matrix instructions as data: names, shapes, operand formats, where they exist, and the tiles they consume.

mod case;
mod instruction;
pub mod scalar;
mod table;
mod tile;

pub use case::Case;
pub use instruction::{Chunk, Instruction, Kernel, Scale, Support};
pub use table::{all, find};
pub use tile::{Codes, Operand, Tiles, operands};
