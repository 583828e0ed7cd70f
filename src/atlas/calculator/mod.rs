//! Calculator of one dot-product-add in a page: D and every step, in two generations side by side.
//!
//! A site has three kinds of script files, loaded in this order, without network and from `file://` too:
//!
//! 1. [`EVALUATOR`], once for the site: the interpreter of programs, which sets the global `tcnum`;
//! 2. the text of [`programs_script`], once for each page: the programs of one instruction;
//! 3. [`INTERFACE`], once for the site: the fields of the form and what they do.
//!
//! [`markup`] makes the part of a page that holds the form, with the `script` elements that load the three files.
//! [`STYLE`] has the rules of its classes; it takes fonts and colours from the page.
//!
//! ```
//! use tcnum::{arithmetic::{EvidenceKind, Model}, atlas::calculator::{self, Generation, Scripts}, isa::{self, Case}};
//! # fn main() -> tcnum::Result<()> {
//! let instruction = isa::find("mma.m16n8k16.f32.f16.f16.f32")?;
//! let generation = |name: &str| -> tcnum::Result<Generation> {
//!     let program = calculator::program_json(&Model::load(name)?.program(&instruction)?);
//!     Ok(Generation { name: name.into(), evidence: vec![("always", EvidenceKind::Measured)], program })
//! };
//! let generations = [generation("ampere")?, generation("hopper")?];
//! let example = Case::zeros(&instruction);
//! let scripts = Scripts { evaluator: "../evaluator.js", programs: "programs.js", interface: "../calculator.js" };
//! let part = calculator::markup(&instruction, &example, &scripts).into_string();
//! assert!(part.contains("<form") && calculator::programs_script(&generations).contains("hopper"));
//! # Ok(())
//! # }
//! ```

mod page;
mod program;

pub use page::{Generation, REGIMES, Scripts, markup, programs_script};
pub use program::program_json;

/// Script of the evaluator, which sets the global `tcnum`; it needs no page.
pub const EVALUATOR: &str = concat!(include_str!("number.js"), include_str!("format.js"), include_str!("evaluator.js"));

/// Script of the form, which needs the evaluator and the programs.
pub const INTERFACE: &str = include_str!("calculator.js");

/// Style rules of the form and its tables.
pub const STYLE: &str = include_str!("calculator.css");
