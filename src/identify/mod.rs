//! Working out the arithmetic of an instruction that nobody has described.
//!
//! A device is asked the corners of the instruction and cases of the verification stream. Candidates are rules of the model
//! language; each has a distance from the answers. The search begins with the arithmetics that are known and with the common
//! shapes. Where masks show the order of the sum, what each of its steps does is found before, one after the other from the last
//! one, among all possibilities, by tiles that show it alone. The search changes the nearest candidates key by key
//! ([`power::changes`](crate::power::changes)), and adds what they fail. A candidate that agrees with everything is told apart
//! from its neighbours by cases on which they differ, which are asked next; what is left is one arithmetic, or several that no
//! case that was looked at tells apart.

mod apart;
mod ask;
mod candidate;
mod causes;
mod climb;
mod common;
mod confirm;
mod constancy;
mod directed;
mod evidence;
mod explore;
mod extremes;
mod facts;
mod few_terms;
mod file;
mod fit;
mod isolate;
mod moves;
mod near;
mod orders;
mod phases;
mod pool;
mod quick;
mod run;
mod search;
mod shortfall;
mod starts;
mod steps;
mod stepwise;
mod structure;
mod study;
pub mod tables;
mod uniform;
mod words;

pub use causes::causes;
pub use confirm::{Confirmation, HeldOut, confirm};
pub use evidence::{Refuting, ask_reduced, evidence, reduced};
pub use near::{Likeness, likeness};
pub use quick::{Fingerprint, QUICK, fingerprint, quick, quick_all};
pub use run::{Identification, Plan, WORK, identify, identify_recording};
pub use study::{Finding, Limits, Progress, Request, Study, study, study_recording};
pub use uniform::Uniform;
pub use words::known;
