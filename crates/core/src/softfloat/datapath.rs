//! Datapath shared by all operations: rounding and flags of results.

use super::{Environment, Flags, Operation, Outcome, Tininess};
use crate::{
    Error, Result,
    format::{Float, Format, Layout},
    number::{Rounding, Word},
};

/// Source of the datapath's constants: a value, or a type for code compiled for one format.
pub(super) trait FormatFields: Copy {
    fn layout(&self) -> &Layout;
}

impl FormatFields for Layout {
    #[inline(always)]
    fn layout(&self) -> &Layout {
        self
    }
}

/// Arithmetic of one floating-point format in one environment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datapath<'a, F> {
    pub format: &'a Format,
    pub float: Float,
    pub fields: F,
    pub environment: Environment,
    /// True if rounding takes random bits below the precision: then all words have 128 bits.
    pub random: bool,
    /// True if products, quotients and roots need 128 bits.
    pub wide: bool,
}

impl<F: FormatFields> Datapath<'_, F> {
    #[inline(always)]
    pub(super) fn layout(&self) -> &Layout {
        self.fields.layout()
    }

    pub(super) fn carries(&self, operation: Operation) -> Result<()> {
        let lacking = |operation: Operation| {
            if operation.needs_zero() && !self.layout().has_zero {
                Some("zero")
            } else if operation.needs_sign() && !self.layout().signed() {
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

    /// The same datapath with constants as a value: rare or slow code is compiled once for all formats.
    #[cold]
    #[inline(never)]
    pub(super) fn untyped(&self) -> Datapath<'_, Layout> {
        let Datapath { format, float, fields: _, environment, random, wide } = *self;
        Datapath { format, float, fields: *self.layout(), environment, random, wide }
    }

    /// Rounds `(-1)^negative * significand * 2^(leading + 1 - BITS)`.
    /// The significand is left-justified and may be jammed.
    #[inline(always)]
    pub(super) fn round<W: Word>(&self, negative: bool, leading: i32, significand: W) -> Outcome {
        match self.random {
            true => self.round_word(negative, leading, significand),
            false => self.round_word(negative, leading, significand.high_jammed()),
        }
    }

    #[inline(always)]
    fn round_word<W: Word>(&self, negative: bool, leading: i32, significand: W) -> Outcome {
        let layout = self.layout();
        if layout.is_inside(leading) & (!negative | layout.signed()) {
            let (magnitude, inexact) = layout.round_inside(negative, leading, significand, self.environment.rounding);
            if magnitude <= layout.largest {
                return Outcome {
                    code: Some(layout.assemble(negative, magnitude)),
                    flags: Flags::INEXACT.when(inexact),
                };
            }
        }
        self.round_unusual(negative, leading, significand)
    }

    /// [`Datapath::round_word`] of results that may be tiny, too large, or negative in an unsigned format.
    #[cold]
    #[inline(never)]
    fn round_unusual<W: Word>(&self, negative: bool, leading: i32, significand: W) -> Outcome {
        let rounded = self.layout().round(negative, leading, significand, self.environment.rounding);
        if negative && !self.layout().signed() {
            return self.without_sign();
        }
        if rounded.magnitude > self.layout().largest {
            let overflow = self.environment.overflow;
            let code = self.float.overflowed(negative, Some(self.environment.rounding), overflow);
            return Outcome { code, flags: Flags::OVERFLOW | Flags::INEXACT };
        }
        let tiny = match self.environment.tininess {
            Tininess::Before => rounded.tiny_before,
            Tininess::After => rounded.tiny_after,
        };
        if tiny && self.environment.flush_results && self.layout().has_zero {
            return Outcome { flags: Flags::UNDERFLOW | Flags::INEXACT, ..self.zero(negative) };
        }
        let flags = Flags::INEXACT.when(rounded.inexact) | Flags::UNDERFLOW.when(tiny && rounded.inexact);
        match rounded.magnitude {
            0 => Outcome { flags, ..self.zero(negative) },
            magnitude => Outcome { code: Some(self.layout().assemble(negative, magnitude)), flags },
        }
    }

    /// Exact zero of this sign: +0 without a -0.
    /// Without a zero it is the smallest number, an inexact result.
    pub(super) fn zero(&self, negative: bool) -> Outcome {
        let flags = (Flags::UNDERFLOW | Flags::INEXACT).when(!self.layout().has_zero);
        Outcome { code: Some(self.format.zero(negative).unwrap_or(self.layout().assemble(negative, 0))), flags }
    }

    /// Zero sum of terms that do not agree on a sign (IEEE 754, clause 6.3).
    pub(super) fn cancelled(&self) -> Outcome {
        self.zero(self.environment.rounding == Rounding::Rd)
    }

    /// Infinity of this sign: exact if the environment gives infinities, else an overflow.
    pub(super) fn infinity(&self, negative: bool) -> Outcome {
        if negative && !self.layout().signed() {
            return self.without_sign();
        }
        let code = self.float.overflowed(negative, None, self.environment.overflow);
        let replaced = code.is_none() || code != self.format.infinity(negative);
        Outcome { code, flags: (Flags::OVERFLOW | Flags::INEXACT).when(replaced) }
    }

    /// Negative result in an unsigned format.
    fn without_sign(&self) -> Outcome {
        let outcome = self.invalid();
        Outcome { code: outcome.code.or_else(|| self.format.zero(false)), ..outcome }
    }
}

impl Datapath<'_, Layout> {
    #[inline]
    pub(super) fn apply(&self, operation: Operation, operands: [u64; 3]) -> Outcome {
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
}
