//! Power of data: the one-step changes of a model's rules that they refute.
//!
//! Changes come from the table of the model language's keys ([`changes()`]). A changed rule is an ordinary model. Its outputs are
//! compared with recorded ones, or with the outputs of the unchanged rule on the verification stream ([`RefutingData`]). If no
//! operands can show a change, `proof` gives the reason. A key that single changes decide may be open in a pair of changes ([`ChangePair`]).

mod changes;
mod normal;
mod pair;
mod proof;
mod rule;
mod run;
mod summary;
pub mod tables;
pub(crate) mod values;

pub use changes::{Change, changes};
pub use pair::ChangePair;
pub(crate) use proof::{equal, proof};
pub use proof::{equivalent, unobservable};
pub use rule::Changed;
pub(crate) use rule::RulePair;
pub use run::{ChangeVerdict, Refutation, RefutingData, Tested, power};
pub use summary::{Decision, JointValues, KeySummary, answer, decided, sentences, summaries};
