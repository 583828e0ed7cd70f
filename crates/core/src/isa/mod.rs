//! Matrix instructions as data: names, shapes, operand formats, targets, and the tiles they consume.

mod by_description;
mod case;
mod instruction;
mod machine_code;
pub mod pattern;
pub mod scalar;
mod table;
pub mod targets;
mod tile;

pub use by_description::{can_be_drawn, described, gemm, resolve, text as description};
pub use case::Case;
pub use instruction::{Chunk, Instruction, Kernel, Scale};
pub use machine_code::machine_names;
pub use table::{all, find, known};
pub use targets::{Support, Target};
pub(crate) use tile::CodesView;
pub use tile::{Codes, MatrixShape, Operand, Tiles, operands};
