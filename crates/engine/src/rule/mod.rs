//! Rules that can be edited: their one-step changes, and the data that refute them.
//!
//! Changes come from the rows of the model language's keys ([`changes()`]). The outputs of a changed rule are
//! compared with recorded ones, or with the outputs of the unchanged rule on the verification stream ([`RefutingData`]). If no
//! operands can show a change, `proof` gives the reason. A key that single changes decide may be open in a pair of changes ([`ChangePair`]).

mod changed;
mod changes;
mod normal;
mod pair;
mod proof;
mod refute;
mod summary;
mod survivors;

pub use changed::{Changed, RulePair};
pub use changes::{Change, changed, changes, searched, shown};
pub use pair::ChangePair;
pub use proof::{equal, equivalent, proof, unobservable};
pub use refute::{ChangeVerdict, Refutation, RefutingData, Tested, refute};
pub use summary::{Decision, JointValues, KeySummary, decided, sentences, summaries};
pub use survivors::{Survivor, deciding, first_differing, others, searched_survivors};
