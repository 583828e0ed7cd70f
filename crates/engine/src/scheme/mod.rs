//! Products in formats that units lack, made of products of parts: schemes as data.
//!
//! A [`Scheme`] is a TOML file: how operands are split into parts, which products of parts make which sums, and how those are joined.

mod bound;
mod choose;
mod compose;
mod definition;
mod drawn;
mod fallback;
mod file;
mod fit;
mod held;
mod integer_product;
mod lines;
mod moduli;
mod split;
mod split_keys;

pub use bound::error_bound;
pub use choose::SchemeUnit;
pub use compose::{below, beside, check_terms, composed_products, sums_as_integers, turns};
pub use compose::{product, products};
pub use definition::{
    Digits, DynamicSlices, Emulated, Epilogue, Fallback, Moduli, OperandSplit, PartSum, ProductTurn, Promote, Scaling,
    Scheme, Slices, SplitPart, SumRegister, WholeParts,
};
pub use held::OperandLoss;
pub use split::{SliceLine, exponents, taken_apart};
