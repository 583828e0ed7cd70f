//! Single operations of the soft-float by name, on operands or against lines of expected results.

mod check;
mod differences;
mod hex;
mod lines;
mod operator;
mod sheet;

pub use check::{LineCheck, LineTally, check};
pub use differences::answer;
pub use differences::{CheckRow, LineRow, counts, differences};
pub use lines::LineDifference;
pub use operator::{CalcRequest, CodeMeaning, Operator};
pub use sheet::{OperationRow, OperationSheet};
