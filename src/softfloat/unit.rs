//! A floating-point unit: the arithmetic of one format in one environment.

use super::{Environment, Flags, Operation, Outcome, Tininess};
use crate::{
    Error, Result,
    format::{Encoding, Float, Format, Layout, Rounding, Word},
};

/// Widest precision for which every intermediate result fits 64 bits: a product takes twice as many, and a carry
/// and the alignment of a sum two more.
const NARROW_PRECISION: u32 = 31;

/// The arithmetic of one floating-point format in one environment: every operation on its codes.
///
/// Bits of a code above the format's width, and its padding, are ignored. Each operation rounds once.
///
/// ```
/// use tcnum::{format, softfloat::{Environment, Flags, Unit}};
/// let unit = Unit::new(format::find("e4m3")?, Environment::default())?;
/// let sum = unit.add(0x38, 0x18); // 1 + 0.0625, half-way between 1 and 1.125
/// assert_eq!((sum.code, sum.flags), (Some(0x38), Flags::INEXACT));
/// # Ok::<(), tcnum::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a> {
    pub(super) format: &'a Format,
    pub(super) float: Float,
    pub(super) layout: Layout,
    pub(super) environment: Environment,
    /// Whether intermediate results need 128 bits.
    pub(super) wide: bool,
}

impl<'a> Unit<'a> {
    /// The unit of `format`.
    ///
    /// # Errors
    /// An integer format.
    pub fn new(format: &'a Format, environment: Environment) -> Result<Unit<'a>> {
        let Encoding::Float(float) = format.encoding else {
            return Err(Error::request(format!(
                "{format} is an integer format; arithmetic is for floating-point formats"
            )));
        };
        let wide = float.precision() > NARROW_PRECISION || matches!(environment.rounding, Rounding::Sr { .. });
        Ok(Unit { format, float, layout: Layout::of(&float), environment, wide })
    }

    /// The format.
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Whether the format can carry `operation`: one whose result may be zero needs a zero, one whose result may
    /// be negative though its operands are not needs a sign.
    ///
    /// # Errors
    /// It cannot: the message says why, and which operations the format carries.
    pub fn carries(&self, operation: Operation) -> Result<()> {
        let lacking = |operation: Operation| {
            if operation.needs_zero() && !self.layout.has_zero {
                Some("zero")
            } else if operation.needs_sign() && !self.float.signed {
                Some("sign")
            } else {
                None
            }
        };
        let Some(lacking_here) = lacking(operation) else { return Ok(()) };
        let carried: Vec<&str> = Operation::all().filter(|&o| lacking(o).is_none()).map(Operation::name).collect();
        Err(Error::request(format!(
            "{} cannot carry {}: it has no {lacking_here}; it carries {} and convert",
            self.format,
            operation.name(),
            carried.join(", ")
        )))
    }

    /// `operation` on `operands` (as many as it has; the others are ignored). See [`Operation::result`] for what the code means.
    ///
    /// What an operation gives that the format cannot carry ([`Unit::carries`]) is rounded as any value: a result of zero without a zero
    /// to the smallest number, a negative one without a sign to NaN.
    #[inline]
    pub fn apply(&self, operation: Operation, operands: [u64; 3]) -> Outcome {
        let [x, y, z] = operands;
        match operation {
            Operation::Add => self.add(x, y),
            Operation::Sub => self.sub(x, y),
            Operation::Mul => self.mul(x, y),
            Operation::Div => self.div(x, y),
            Operation::Sqrt => self.sqrt(x),
            Operation::Fma => self.fma(x, y, z),
            Operation::Rem => self.rem(x, y),
            Operation::Rint => self.rint(x),
            Operation::RintExact => self.rint_exact(x),
            Operation::NextUp => self.next_up(x),
            Operation::NextDown => self.next_down(x),
            Operation::Minimum
            | Operation::Maximum
            | Operation::MinimumNumber
            | Operation::MaximumNumber
            | Operation::MinNum
            | Operation::MaxNum => self.select(operation, x, y),
            Operation::Equal
            | Operation::EqualSignaling
            | Operation::Less
            | Operation::LessQuiet
            | Operation::LessEqual
            | Operation::LessEqualQuiet
            | Operation::Unordered => self.predicate(operation, x, y),
            Operation::TotalOrder => self.total_order(x, y),
            Operation::Classify => self.classify(x),
        }
    }

    /// Rounds `(-1)^negative * significand * 2^(leading + 1 - BITS)`, a left-justified and possibly jammed significand.
    #[inline(always)]
    pub(super) fn round<W: Word>(&self, negative: bool, leading: i32, significand: W) -> Outcome {
        let rounded = self.layout.round(negative, leading, significand, self.environment.rounding);
        let flags = Flags::INEXACT.when(rounded.inexact);
        let plain =
            !rounded.tiny_before && rounded.magnitude <= self.layout.largest && (!negative || self.float.signed);
        if plain {
            return Outcome { code: Some(self.layout.assemble(negative, rounded.magnitude)), flags };
        }
        if negative && !self.float.signed {
            return self.without_sign();
        }
        if rounded.magnitude > self.layout.largest {
            let overflow = self.environment.overflow;
            let code = self.float.overflowed(negative, Some(self.environment.rounding), overflow);
            return Outcome { code, flags: Flags::OVERFLOW | Flags::INEXACT };
        }
        let tiny = match self.environment.tininess {
            Tininess::Before => rounded.tiny_before,
            Tininess::After => rounded.tiny_after,
        };
        if tiny && self.environment.flush_results && self.layout.has_zero {
            return Outcome { flags: Flags::UNDERFLOW | Flags::INEXACT, ..self.zero(negative) };
        }
        let flags = flags | Flags::UNDERFLOW.when(tiny && rounded.inexact);
        match rounded.magnitude {
            0 => Outcome { flags, ..self.zero(negative) },
            magnitude => Outcome { code: Some(self.layout.assemble(negative, magnitude)), flags },
        }
    }

    /// An exact zero of this sign: +0 without a -0; without a zero the smallest number, which is no exact result.
    pub(super) fn zero(&self, negative: bool) -> Outcome {
        let flags = (Flags::UNDERFLOW | Flags::INEXACT).when(!self.layout.has_zero);
        Outcome { code: Some(self.format.zero(negative).unwrap_or(0)), flags }
    }

    /// A sum of zero of terms that do not agree on a sign (IEEE 754, clause 6.3).
    pub(super) fn cancelled(&self) -> Outcome {
        self.zero(self.environment.rounding == Rounding::Rd)
    }

    /// An infinity of this sign, as an exact result.
    pub(super) fn infinity(&self, negative: bool) -> Outcome {
        if negative && !self.float.signed {
            return self.without_sign();
        }
        Outcome { code: self.float.overflowed(negative, None, self.environment.overflow), flags: Flags::NONE }
    }

    /// A negative result in an unsigned format.
    fn without_sign(&self) -> Outcome {
        let outcome = self.invalid();
        Outcome { code: outcome.code.or_else(|| self.format.zero(false)), ..outcome }
    }
}
