//! The shape of a matrix product.

/// The rows of A, the columns of B, and the terms of each sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProductShape {
    /// Rows of A and D.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
}
