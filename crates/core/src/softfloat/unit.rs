//! Floating-point unit: the arithmetic of one format in one environment.

use super::{Environment, Operation, Outcome, datapath::Datapath, tabled::TableUnit};
use crate::{
    Error, Result,
    format::{Encoding, Format, Layout, Rounding},
};

/// Widest precision for which products fit 64 bits; sums of two numbers fit in every format.
/// Products need twice the precision, and their sums with other numbers two bits more, for a carry and for dropped
/// bits.
pub(super) const NARROW_PRECISION: u32 = 31;

/// Every operation on the codes of one floating-point format, or of one by table, in one environment.
///
/// Bits of a code above the format's width, and its padding, are ignored. Each operation rounds once. A format by table
/// has no subnormal numbers: no result of it underflows, and its classes are refused.
///
/// ```
/// use tcnum_core::{format, softfloat::{Environment, Flags, Unit}};
/// let unit = Unit::new(format::find("e4m3")?, Environment::default())?;
/// let sum = unit.add(0x38, 0x18); // 1 + 0.0625, half-way between 1 and 1.125
/// assert_eq!((sum.code, sum.flags), (Some(0x38), Flags::INEXACT));
/// # Ok::<(), tcnum_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a>(pub(super) Engine<'a>);

/// Arithmetic by fields, or by the values of a table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Engine<'a> {
    Fields(Datapath<'a, Layout>),
    Table(TableUnit<'a>),
}

impl<'a> Unit<'a> {
    /// Unit of `format`.
    ///
    /// # Errors
    /// An integer format.
    pub fn new(format: &'a Format, environment: Environment) -> Result<Unit<'a>> {
        let float = match format.encoding {
            Encoding::Float(float) => float,
            Encoding::Table(table) => return Ok(Unit(Engine::Table(TableUnit { format, table, environment }))),
            Encoding::Integer { .. } => {
                return Err(Error::request(format!(
                    "{format} is an integer format; arithmetic is for floating-point formats"
                )));
            }
        };
        let random = matches!(environment.rounding, Rounding::Sr { .. });
        let wide = random || float.precision() > NARROW_PRECISION;
        let fields = Layout::of(&float);
        Ok(Unit(Engine::Fields(Datapath { format, float, fields, environment, random, wide })))
    }

    /// Format of the codes.
    pub fn format(&self) -> &'a Format {
        match &self.0 {
            Engine::Fields(unit) => unit.format,
            Engine::Table(unit) => unit.format,
        }
    }

    /// Environment of the operations.
    pub fn environment(&self) -> &Environment {
        match &self.0 {
            Engine::Fields(unit) => &unit.environment,
            Engine::Table(unit) => &unit.environment,
        }
    }

    /// Checks that the format can represent the results of `operation`.
    /// A result that may be zero needs a zero; one that may be negative though its operands are not needs a sign.
    ///
    /// # Errors
    /// The reason, and the operations that the format can represent.
    pub fn carries(&self, operation: Operation) -> Result<()> {
        match &self.0 {
            Engine::Fields(unit) => unit.carries(operation),
            Engine::Table(unit) => unit.carries(operation),
        }
    }

    /// Applies `operation` to as many `operands` as it has.
    /// [`Operation::result`] gives the code's meaning.
    ///
    /// A result that the format cannot represent ([`Unit::carries`]) is rounded like any value: zero without a zero to
    /// the smallest number, a negative one without a sign to NaN.
    #[inline]
    pub fn apply(&self, operation: Operation, operands: [u64; 3]) -> Outcome {
        match &self.0 {
            Engine::Fields(unit) => unit.apply(operation, operands),
            Engine::Table(unit) => unit.apply(operation, operands),
        }
    }

    /// `x + y` (IEEE 754 addition). Infinities of opposite signs are invalid.
    /// A zero sum has the sign of its terms where they agree, else +0 (-0 under RD).
    #[inline]
    pub fn add(&self, x: u64, y: u64) -> Outcome {
        match &self.0 {
            Engine::Fields(unit) => unit.add(x, y),
            Engine::Table(unit) => unit.apply(Operation::Add, [x, y, 0]),
        }
    }

    /// `x - y` (IEEE 754 subtraction): `x + (-y)`, except that a NaN keeps its sign.
    #[inline]
    pub fn sub(&self, x: u64, y: u64) -> Outcome {
        match &self.0 {
            Engine::Fields(unit) => unit.sub(x, y),
            Engine::Table(unit) => unit.apply(Operation::Sub, [x, y, 0]),
        }
    }

    /// `x * y` (IEEE 754 multiplication). Zero times infinity is invalid.
    #[inline]
    pub fn mul(&self, x: u64, y: u64) -> Outcome {
        match &self.0 {
            Engine::Fields(unit) => unit.mul(x, y),
            Engine::Table(unit) => unit.apply(Operation::Mul, [x, y, 0]),
        }
    }

    /// `x / y` (IEEE 754 division). 0/0 and infinity/infinity are invalid.
    /// Another number divided by zero is an infinity, with its flag (and overflows where the environment replaces
    /// infinities).
    #[inline]
    pub fn div(&self, x: u64, y: u64) -> Outcome {
        match &self.0 {
            Engine::Fields(unit) => unit.div(x, y),
            Engine::Table(unit) => unit.apply(Operation::Div, [x, y, 0]),
        }
    }

    /// `sqrt(x)` (IEEE 754 squareRoot): -0 for -0; another negative operand is invalid.
    #[inline]
    pub fn sqrt(&self, x: u64) -> Outcome {
        match &self.0 {
            Engine::Fields(unit) => unit.sqrt(x),
            Engine::Table(unit) => unit.apply(Operation::Sqrt, [x, 0, 0]),
        }
    }

    /// `x * y + z`, rounded once (IEEE 754 fusedMultiplyAdd).
    /// Zero times infinity is invalid, and so are infinities of opposite signs. If z is a quiet NaN then,
    /// [`NanRule::X86`](super::NanRule::X86) propagates it without a flag; the other rules raise invalid.
    #[inline]
    pub fn fma(&self, x: u64, y: u64, z: u64) -> Outcome {
        match &self.0 {
            Engine::Fields(unit) => unit.fma(x, y, z),
            Engine::Table(unit) => unit.apply(Operation::Fma, [x, y, z]),
        }
    }
}
