//! The bench: what `tree`, `features` and `identify` ask a device with.
//!
//! It knows the exponents of formats ([`Exponents`]), makes cases and tiles with chosen terms ([`TermBench`], [`Draw`]), asks a device in
//! batches ([`Bench`]) and remembers every answer ([`Answers`]). A device that answers equal operands in two ways is refused at once.

mod answers;
mod asking;
mod constancy;
mod draw;
mod terms;
mod uniform;

pub use answers::{Answers, Conflict, Element};
pub use asking::{Bench, part};
pub use draw::{Draw, encoded, tile};
pub use terms::Leaf;
pub use terms::{Ask, Exponents, Subnormal, Term, TermAnswer, TermBench, code, power, stands_for, term};
pub use uniform::Uniform;

/// A case, and the code of D that the device gave.
pub type Answered = (crate::isa::Case, u64);
