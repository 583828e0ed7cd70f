//! The search for the arithmetic of an instruction that nobody has described.
//!
//! 1. The device is asked the corners of the instruction and cases of the verification stream. A known arithmetic that gives
//!    every answer goes on with step 5.
//! 2. The engine's [`measurement`](crate::measurement) finds the order of the sum, and what directed terms show of its steps.
//! 3. Each step of the sum, the last one first, is found among all possibilities by tiles that show it alone. With the later
//!    steps known, an answer refutes all alignments and roundings but a few.
//! 4. The steps become rules: in shorthand where a shape has their order, and as trees. Each rule is repaired by the answers
//!    that it misses, special values included: the changes of its keys, alone or in pairs, that explain the most are made.
//! 5. The measurement's questions, and cases on which the rule differs from its neighbours, are asked; a rule that misses one is repaired
//!    again.
//! 6. A held-out run compares many more cases. Cases that differ continue the search from the rule that was found; nothing is asked twice.
//! 7. The device is asked where the rules that give every answer differ, until no such operands are found.

mod apart;
mod candidate;
mod causes;
mod common;
mod confirm;
mod directed;
mod evidence;
mod explore;
mod extreme;
mod facts;
mod few_terms;
mod file;
mod fit;
mod moves;
mod near;
mod orders;
mod phases;
mod questions;
mod quick;
mod random;
mod refit;
mod repair;
mod run;
mod shortfall;
mod side_by_side;
mod starts;
mod steps;
mod stepwise;
mod structure;
mod study;
pub mod tables;
mod together;
mod words;
mod work;

pub use crate::bench::Uniform;
pub use causes::causes;
pub use confirm::{Confirmation, HeldOut, confirm};
pub use evidence::{Refuting, ask_open, ask_reduced, evidence, reduced};
pub use file::model_text;
pub use near::{Likeness, likeness};
pub use questions::Questions;
pub use quick::{Fingerprint, QUICK, fingerprint, quick, quick_all};
pub use run::{Identification, Plan, WORK, go_on, identify, identify_recording};
pub use study::{Finding, Limits, Progress, Request, Session, Study, source, study_recording};
pub use words::known;
