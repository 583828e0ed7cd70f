//! Rules for NaN results, by name.

use super::{
    Flags, Outcome,
    datapath::{Datapath, FormatFields},
    unpacked::OperandClass,
};
use crate::format::{Class, Decoded, Float, Format, Specials};

/// Rule for the NaN that an operation gives, and the integer that an invalid conversion gives.
///
/// A format with one NaN gives that one under every rule. Where two NaN codes differ only in the sign (e4m3), rules
/// that set or propagate a sign keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NanRule {
    /// The format's canonical NaN always (RISC-V): positive, quiet, no payload.
    /// Invalid conversions to integers saturate, NaN to the largest.
    Canonical,
    /// SSE: the first operand that is NaN, made quiet; without one, the negative canonical NaN.
    /// The order for fma is the two factors, then the addend. Zero times infinity plus a quiet NaN is that NaN, without
    /// a flag (measured on an AMD EPYC; Berkeley SoftFloat's 8086-SSE variant flags it). Invalid conversions to
    /// integers give the most negative integer (unsigned: the largest).
    X86,
    /// ARM with default NaN off: the first signalling NaN, made quiet, else the first quiet NaN.
    /// For fma the addend comes first. Without a NaN operand, the positive canonical NaN. Invalid conversions to
    /// integers saturate, NaN to zero.
    Arm,
    /// NVIDIA GPUs: the positive NaN with every significand bit set always (0x7fffffff, 0x7fff).
    /// Invalid conversions to integers saturate. NaN becomes zero; from 64 bits or to 64 bits it becomes the code with
    /// only the highest bit set (the PTX manual; from f64 to integers of 8 and 32 bits measured on an H200).
    Nvidia,
}

impl NanRule {
    /// All rules, in the order of the documentation.
    pub const ALL: [NanRule; 4] = [NanRule::Canonical, NanRule::X86, NanRule::Arm, NanRule::Nvidia];

    /// Name in options and reports: `canonical`, `x86`, `arm`, `nvidia`.
    pub fn name(self) -> &'static str {
        match self {
            NanRule::Canonical => "canonical",
            NanRule::X86 => "x86",
            NanRule::Arm => "arm",
            NanRule::Nvidia => "nvidia",
        }
    }

    /// NaN of an invalid operation on numbers; `None` in a format without NaN.
    pub(super) fn fresh(self, format: &Format) -> Option<u64> {
        let float = format.float()?;
        let trailing = 1u64 << float.trailing_bits;
        match self {
            NanRule::Canonical | NanRule::Arm => format.nan(),
            NanRule::X86 => nan(format, float, true, 0),
            NanRule::Nvidia => nan(format, float, false, trailing - 1),
        }
    }

    /// NaN in `format` of a NaN operand with `trailing_bits`; the leading bits of its payload are kept.
    pub(super) fn passed_on(self, operand: &Decoded, trailing_bits: u32, format: &Format) -> Option<u64> {
        let float = format.float()?;
        match self {
            NanRule::Canonical | NanRule::Nvidia => self.fresh(format),
            NanRule::X86 | NanRule::Arm => {
                let payload = match float.trailing_bits.checked_sub(trailing_bits) {
                    Some(wider) => operand.significand << wider,
                    None => operand.significand >> (trailing_bits - float.trailing_bits),
                };
                nan(format, float, operand.negative, payload)
            }
        }
    }
}

/// Quiet NaN of this sign and payload, as far as the format distinguishes NaNs.
fn nan(format: &Format, float: &Float, negative: bool, payload: u64) -> Option<u64> {
    match float.specials {
        Specials::Ieee => format.quiet_nan(negative && float.signed, payload),
        specials if specials.takes_all_ones() && negative && float.signed => {
            format.nan().map(|code| code | 1 << (format.bits - 1))
        }
        _ => format.nan(),
    }
}

/// True for a signalling NaN: in IEEE 754 formats the leading bit of the trailing significand is clear.
pub(super) fn is_signalling(nan: &Decoded, float: &Float) -> bool {
    float.specials == Specials::Ieee && nan.class == Class::Nan && nan.significand >> (float.trailing_bits - 1) & 1 == 0
}

impl<F: FormatFields> Datapath<'_, F> {
    /// Outcome of an invalid operation on numbers.
    #[cold]
    pub(super) fn invalid(&self) -> Outcome {
        Outcome { code: self.environment.nan.fresh(self.format), flags: Flags::INVALID }
    }

    pub(super) fn signals(&self, code: u64) -> bool {
        is_signalling(&self.format.decode(code), &self.float)
    }

    /// Result of an operation on `operands` with at least one NaN.
    #[cold]
    pub(super) fn nan_of(&self, operands: &[u64]) -> Outcome {
        let nans = || operands.iter().copied().filter(|&code| self.kind(code) == OperandClass::Nan);
        let first = match self.environment.nan {
            NanRule::Arm => nans().find(|&code| self.signals(code)).or_else(|| nans().next()),
            _ => nans().next(),
        };
        let code = first.and_then(|code| {
            let operand = self.format.decode(code);
            self.environment.nan.passed_on(&operand, self.float.trailing_bits, self.format)
        });
        Outcome { code, flags: Flags::INVALID.when(nans().any(|code| self.signals(code))) }
    }
}
