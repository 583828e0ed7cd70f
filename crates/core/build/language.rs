//! Language of model files, for the build: the program's own sources, so that both refuse alike.
//!
//! Their paths begin at the crate, so the root of a crate with this module imports its items.

#![allow(dead_code, reason = "a check calls a part of what the program does")]
#![allow(unreachable_pub, reason = "what is public is so in the library")]

#[path = "../src/arithmetic"]
pub mod arithmetic {
    mod language;

    pub(crate) use language::file::{Defect, Model};
}

#[path = "../src/base"]
pub mod base {
    pub mod error;
    pub mod nearest;
    pub mod visible;
    pub mod words;
}

#[path = "../src/format"]
pub mod format {
    mod by_rule;
    mod definition;
    mod name;
    mod overflow;
    mod published;
    mod table;
    mod values;

    pub use crate::number::Rounding;
    pub(crate) use by_rule::neighbours;
    pub use definition::{Encoding, Float, Format, Specials, Zeros};
    pub use name::find;
    pub use overflow::Overflow;
    pub use table::FORMATS;
    pub use values::{Nearest, Ties, ValueTable};
}

#[path = "../src/isa"]
pub mod isa {
    pub mod pattern;
}

#[path = "../src/number"]
pub mod number {
    mod rounding;
    mod word;

    pub use rounding::Rounding;
    use word::Word;
}
