//! The five exception flags of IEEE 754, and outcomes of operations.

use std::ops::{BitOr, BitOrAssign};

/// Set of IEEE 754 exceptions (clause 7), with the bits of Berkeley SoftFloat and RISC-V.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No exception.
    pub const NONE: Flags = Flags(0);
    /// Inexact: the result differs from the exact one.
    pub const INEXACT: Flags = Flags(1);
    /// Underflow: the result is tiny and inexact.
    pub const UNDERFLOW: Flags = Flags(2);
    /// Overflow: the rounded result is beyond the largest finite number.
    pub const OVERFLOW: Flags = Flags(4);
    /// Division by zero: an exact infinity from finite operands.
    pub const DIVIDE_BY_ZERO: Flags = Flags(8);
    /// Invalid operation: there is no useful result.
    pub const INVALID: Flags = Flags(16);

    /// Flags of the five low bits; higher bits are ignored.
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits & 31)
    }

    /// Five bits: inexact 1, underflow 2, overflow 4, divide by zero 8, invalid 16.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True if every flag of `other` is raised.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Flags of `self` that `other` lacks.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// `self` if `condition`, else none.
    #[inline]
    pub(crate) const fn when(self, condition: bool) -> Flags {
        Flags(self.0 * condition as u8)
    }
}

impl BitOr for Flags {
    type Output = Flags;

    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl Flags {
    /// Names of the raised flags, in the order of IEEE 754.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        const NAMES: [(Flags, &str); 5] = [
            (Flags::INVALID, "invalid"),
            (Flags::DIVIDE_BY_ZERO, "divide-by-zero"),
            (Flags::OVERFLOW, "overflow"),
            (Flags::UNDERFLOW, "underflow"),
            (Flags::INEXACT, "inexact"),
        ];
        NAMES.into_iter().filter(move |(flag, _)| self.contains(*flag)).map(|(_, name)| name)
    }
}

impl std::fmt::Display for Flags {
    /// Names of the raised flags, in the order of IEEE 754 (`overflow inexact`); `-` for none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let raised: Vec<&str> = self.names().collect();
        f.pad(if raised.is_empty() { "-".to_string() } else { raised.join(" ") }.as_str())
    }
}

/// Result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Outcome {
    /// Code of the result; `None` for NaN in a format without NaN.
    pub code: Option<u64>,
    /// Raised exceptions.
    pub flags: Flags,
}
