//! What data decide of a model: which one-step changes of a rule they refute, after how many cases, and which survive.
//!
//! Changes come from the table of the model language's keys ([`changes()`]); a changed rule is an ordinary model, whose
//! outputs are compared with those that were recorded, or with those of the rule itself on the verification stream
//! ([`RefutingData`]). Where no operands whatever could tell a change, `proof` says why.

mod changes;
mod normal;
mod proof;
mod rule;
mod run;
mod summary;
pub mod tables;
pub(crate) mod values;

pub use changes::{Change, changes};
pub(crate) use proof::{equal, proof};
pub use proof::{equivalent, unobservable};
pub use rule::Changed;
pub(crate) use rule::RulePair;
pub use run::{ChangeVerdict, Refutation, RefutingData, Tested, power};
pub use summary::{Decision, KeySummary, answer, decided, sentences, summaries};
