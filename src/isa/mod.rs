//! Matrix instructions as data: names, shapes, operand formats, which targets have them, and the tiles they consume.

mod case;
mod instruction;
mod machine_code;
mod own;
pub(crate) mod pattern;
pub mod scalar;
mod table;
pub mod targets;
mod tile;

pub use case::Case;
pub use instruction::{Chunk, Instruction, Kernel, Scale};
pub(crate) use own::{can_be_drawn, text as description};
pub use own::{described, gemm, resolve};
pub(crate) use table::known;
pub use table::{all, find};
pub use targets::{Support, Target};
pub(crate) use tile::CodesView;
pub use tile::{Codes, Operand, Tiles, operands};
