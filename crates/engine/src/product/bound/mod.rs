//! How far a matrix product may be from the exact one: bounds from the operations of its arithmetic.
//!
//! A bound follows from a model's program, operation by operation: bits cut off in alignments, roundings of each step, promotions, joins of
//! parts, the output. [`InstructionBounds`] bounds one dot-product-add, [`ElementBounds`] an element of a product by a schedule from its
//! operands (a running error analysis), and [`OrderFreeBounds`] every order of a sum from the sum of |a b| alone. A bound of zero says
//! that the result is exact.

mod added;
mod claim;
mod element;
mod enclosed;
mod instruction;
mod magnitude;
mod matrix;
mod operand;
mod product;
mod relative;
mod step;
mod walk;

pub use claim::{Claim, LibraryFamily, Origin};
pub use element::ElementBounds;
pub use enclosed::{Enclosed, power};
pub use enclosed::{ErrorBound, ErrorSource, RISK};
pub use instruction::InstructionBounds;
pub use magnitude::{Magnitudes, OrderFreeBounds};
pub use matrix::{bounds_matrix, running_matrix};
pub use product::{ElementReference, ProductBounds, has_order_free, is_bare};
pub use relative::RelativeBound;
