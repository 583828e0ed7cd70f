//! Which NaN an operation gives, by named rule.

/// Which NaN an operation gives, and which integer an invalid conversion to integers gives.
///
/// In a format with one NaN, that one, whatever the rule; where two codes differ in the sign only (e4m3), rules that
/// pass operands on keep the sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NanRule {
    /// Always the format's canonical NaN (RISC-V): positive, quiet, no payload. Invalid conversions to integers saturate, NaN
    /// to the largest.
    Canonical,
    /// SSE: the first operand that is NaN, made quiet (of fma: of the two factors and the addend in this order); without one, the
    /// negative canonical NaN. Invalid conversions to integers give the most negative integer (unsigned: the largest).
    X86,
    /// ARM with default NaN off: the first signalling NaN, made quiet, else the first quiet one (of fma: the addend comes
    /// first); without one, the positive canonical NaN. Invalid conversions to integers saturate, NaN to zero.
    Arm,
    /// NVIDIA GPUs: always the positive NaN with every bit of the significand set (0x7fffffff, 0x7fff). Invalid conversions to integers
    /// saturate, NaN to zero.
    Nvidia,
}

impl NanRule {
    /// Every rule, in the order of the documentation.
    pub const ALL: [NanRule; 4] = [NanRule::Canonical, NanRule::X86, NanRule::Arm, NanRule::Nvidia];

    /// The name that options and reports use: `canonical`, `x86`, `arm`, `nvidia`.
    pub fn name(self) -> &'static str {
        match self {
            NanRule::Canonical => "canonical",
            NanRule::X86 => "x86",
            NanRule::Arm => "arm",
            NanRule::Nvidia => "nvidia",
        }
    }
}
