//! The five exception flags of IEEE 754, and what an operation returns.

use std::ops::{BitOr, BitOrAssign};

/// A set of IEEE 754 exceptions (clause 7), with the bits that Berkeley SoftFloat and RISC-V give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No exception.
    pub const NONE: Flags = Flags(0);
    /// The result differs from the exact one.
    pub const INEXACT: Flags = Flags(1);
    /// The result is tiny and inexact.
    pub const UNDERFLOW: Flags = Flags(2);
    /// The rounded result is beyond the largest finite number.
    pub const OVERFLOW: Flags = Flags(4);
    /// An exact infinity from finite operands: a finite non-zero number divided by zero.
    pub const DIVIDE_BY_ZERO: Flags = Flags(8);
    /// There is no useful result.
    pub const INVALID: Flags = Flags(16);

    /// The flags of these five bits; higher bits are dropped.
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits & 31)
    }

    /// The five bits: inexact 1, underflow 2, overflow 4, divide by zero 8, invalid 16.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether every flag of `other` is raised.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of `self` that `other` does not have.
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
    /// The raised flags' names, in the order of IEEE 754.
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
    /// The raised flags' names, in the order of IEEE 754 (`overflow inexact`); `-` for none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let raised: Vec<&str> = self.names().collect();
        f.pad(if raised.is_empty() { "-".to_string() } else { raised.join(" ") }.as_str())
    }
}

/// The result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Outcome {
    /// The code of the result; `None` where the result is NaN and its format has none.
    pub code: Option<u64>,
    /// The exceptions that were raised.
    pub flags: Flags,
}
