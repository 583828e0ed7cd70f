//! Number formats as data: one record each, exact decoding, correctly rounded encoding.
//!
//! A [`Format`] is a finite set of codes with values. Nothing in this module asks for a format by name: decoding and
//! encoding depend only on the fields of the record. A new format is a new record in `table.rs`; `by_rule` has families
//! whose names give the fields.

pub mod block;
mod by_rule;
mod containment;
mod decode;
mod definition;
mod encode;
mod layout;
#[cfg(feature = "mpfr")]
pub mod mpfr;
mod name;
mod overflow;
mod published;
mod record;
pub mod slices;
mod special;
mod table;
mod tabled;
mod values;
mod write;

pub use crate::number::{Finite, Real, Rounding};
pub(crate) use by_rule::neighbours;
pub use decode::{Class, Decoded};
pub use definition::{Encoding, Float, Format, Specials, Zeros};
pub(crate) use layout::Layout;
pub use name::find;
pub use overflow::Overflow;
pub use record::resolve;
pub use special::Pattern;
pub use table::FORMATS;
pub(crate) use tabled::{Exact, Point, order};
pub(crate) use values::MOST_CODES;
pub use values::{Nearest, Ties, ValueTable};
