//! Arithmetic outside the instruction: IEEE 754 to nearest in f32 or f64, or s32, held as f64.

use std::sync::LazyLock;

use crate::format::{self, Format};

/// The register in which sums are promoted, joined and scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    /// f32.
    Single,
    /// f64.
    Double,
    /// s32, wrapping.
    Integer,
}

impl Register {
    /// The register for an instruction with this D, if there is one.
    pub(super) fn of(d: &Format) -> Option<Register> {
        match d.name {
            "f64" => Some(Register::Double),
            "s32" => Some(Register::Integer),
            _ => d.float().filter(|float| float.precision() <= 24 && d.bits <= 32).map(|_| Register::Single),
        }
    }

    /// The format.
    #[inline]
    pub(super) fn format(self) -> &'static Format {
        // Every element of every schedule asks: names are looked up once.
        static FORMATS: LazyLock<[&Format; 3]> =
            LazyLock::new(|| ["f32", "f64", "s32"].map(|name| format::find(name).expect("a format of the table")));
        let [single, double, integer] = *FORMATS;
        match self {
            Register::Single => single,
            Register::Double => double,
            Register::Integer => integer,
        }
    }

    /// An f64 number rounded to the register's format.
    #[inline]
    pub(super) fn round(self, x: f64) -> f64 {
        match self {
            Register::Single => f64::from(x as f32),
            Register::Double | Register::Integer => x,
        }
    }

    /// The code of a number of the format.
    pub(super) fn code(self, x: f64) -> u64 {
        match self {
            _ if x.is_nan() => self.format().nan().unwrap_or_default(),
            Register::Single => u64::from((x as f32).to_bits()),
            Register::Double => x.to_bits(),
            Register::Integer => u64::from(x as i32 as u32),
        }
    }

    /// `x + y`.
    #[inline]
    pub(super) fn add(self, x: f64, y: f64) -> f64 {
        match self {
            Register::Single => f64::from(x as f32 + y as f32),
            Register::Double => x + y,
            // Both are integers of 32 bits.
            Register::Integer => f64::from((x as i32).wrapping_add(y as i32)),
        }
    }

    /// `x * y`.
    #[inline]
    pub(super) fn multiply(self, x: f64, y: f64) -> f64 {
        match self {
            Register::Single => f64::from(x as f32 * y as f32),
            Register::Double => x * y,
            Register::Integer => f64::from((x as i32).wrapping_mul(y as i32)),
        }
    }

    /// `x * y + z`, rounded once.
    #[inline]
    pub(super) fn fma(self, x: f64, y: f64, z: f64) -> f64 {
        match self {
            Register::Single => f64::from((x as f32).mul_add(y as f32, z as f32)),
            Register::Double => x.mul_add(y, z),
            Register::Integer => self.add(self.multiply(x, y), z),
        }
    }
}
