//! Yardsticks of a matrix product.

/// A sum that D is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yardstick {
    /// The sum in f32, ascending k, each product and each sum rounded.
    Single,
    /// The sum in f64, ascending k, each product and each sum rounded.
    Double,
    /// The exact sum.
    Exact,
}

impl Yardstick {
    /// The word that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Yardstick::Single => "f32",
            Yardstick::Double => "f64",
            Yardstick::Exact => "exact",
        }
    }
}
