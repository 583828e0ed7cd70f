//! Signatures of differences: differences with one signature may have one cause.

use std::fmt;

use super::{Answer, Subject};
use crate::{
    exact,
    format::{Class, Format},
};

/// The kind of difference between the device's result and the model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Discrepancy {
    /// Zeros of different signs.
    SignOfZero,
    /// Different codes of NaN.
    NanCode,
    /// Only the device's result is NaN.
    DeviceNan,
    /// Only the model's result is NaN.
    ModelNan,
    /// Infinities of different signs.
    SignOfInfinity,
    /// Only the device's result is infinite.
    DeviceInfinite,
    /// Only the model's result is infinite.
    ModelInfinite,
    /// Only the device's result is zero.
    DeviceZero,
    /// Only the model's result is zero.
    ModelZero,
    /// Numbers of opposite signs.
    OppositeSigns,
    /// The same number with different ignored bits.
    IgnoredBits,
    /// The device's result is one ulp larger in magnitude.
    NextLarger,
    /// The device's result is one ulp smaller in magnitude.
    NextSmaller,
    /// The device's result is larger in magnitude by more.
    Larger,
    /// The device's result is smaller in magnitude by more.
    Smaller,
}

impl Discrepancy {
    /// Compares the codes `device` and `model`.
    pub fn between(format: &Format, device: u64, model: u64) -> Discrepancy {
        let (x, y) = (format.decode(device), format.decode(model));
        match (x.class, y.class) {
            (Class::Nan, Class::Nan) => Discrepancy::NanCode,
            (Class::Nan, _) => Discrepancy::DeviceNan,
            (_, Class::Nan) => Discrepancy::ModelNan,
            (Class::Infinite, Class::Infinite) => Discrepancy::SignOfInfinity,
            (Class::Infinite, _) => Discrepancy::DeviceInfinite,
            (_, Class::Infinite) => Discrepancy::ModelInfinite,
            (Class::Zero, Class::Zero) if x.negative != y.negative => Discrepancy::SignOfZero,
            (Class::Zero, Class::Zero) => Discrepancy::IgnoredBits,
            (Class::Zero, _) => Discrepancy::DeviceZero,
            (_, Class::Zero) => Discrepancy::ModelZero,
            _ if x.negative != y.negative => Discrepancy::OppositeSigns,
            _ => {
                let larger = format.to_f64(device).abs() > format.to_f64(model).abs();
                match (exact::distance(format, device, model), larger) {
                    (Some(0), _) => Discrepancy::IgnoredBits,
                    (Some(1), true) => Discrepancy::NextLarger,
                    (Some(1), false) => Discrepancy::NextSmaller,
                    (_, true) => Discrepancy::Larger,
                    (_, false) => Discrepancy::Smaller,
                }
            }
        }
    }

    /// Place in lists: 0 where both results are finite, 1 where one is infinite, 2 where one is NaN.
    pub fn rank(self) -> u8 {
        match self {
            Discrepancy::NanCode | Discrepancy::DeviceNan | Discrepancy::ModelNan => 2,
            Discrepancy::SignOfInfinity | Discrepancy::DeviceInfinite | Discrepancy::ModelInfinite => 1,
            _ => 0,
        }
    }

    /// The words in reports.
    pub fn name(self) -> &'static str {
        match self {
            Discrepancy::SignOfZero => "sign of zero",
            Discrepancy::NanCode => "code of NaN",
            Discrepancy::DeviceNan => "NaN on the device",
            Discrepancy::ModelNan => "NaN in the model",
            Discrepancy::SignOfInfinity => "sign of infinity",
            Discrepancy::DeviceInfinite => "infinite on the device",
            Discrepancy::ModelInfinite => "infinite in the model",
            Discrepancy::DeviceZero => "zero on the device",
            Discrepancy::ModelZero => "zero in the model",
            Discrepancy::OppositeSigns => "opposite signs",
            Discrepancy::IgnoredBits => "ignored bits",
            Discrepancy::NextLarger => "1 ulp larger on the device",
            Discrepancy::NextSmaller => "1 ulp smaller on the device",
            Discrepancy::Larger => "larger on the device",
            Discrepancy::Smaller => "smaller on the device",
        }
    }
}

/// The common properties of differences that may have one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    /// Kind of difference.
    pub way: Discrepancy,
    /// True if an operand is infinite or NaN.
    pub special_operands: bool,
    /// True if an operand is subnormal.
    pub subnormal_operands: bool,
    /// True if one of the results is subnormal.
    pub subnormal_result: bool,
}

impl Signature {
    /// Determines the signature of a case on which device and model differ.
    pub fn of(subject: &Subject, answer: &Answer) -> Signature {
        let [a, b, c, d] = subject.formats();
        let case = &answer.case;
        let c = subject.has_c().then_some((c, case.c));
        let operands = case.a.iter().map(|code| (a, *code)).chain(case.b.iter().map(|code| (b, *code))).chain(c);
        let classes: Vec<Class> = operands.map(|(format, code)| format.decode(code).class).collect();
        let subnormal = |code: u64| d.decode(code).class == Class::Subnormal;
        Signature {
            way: Discrepancy::between(d, answer.device, answer.model),
            special_operands: classes.iter().any(|class| matches!(class, Class::Nan | Class::Infinite)),
            subnormal_operands: classes.contains(&Class::Subnormal),
            subnormal_result: subnormal(answer.device) || subnormal(answer.model),
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.way.name())?;
        let more = [
            (self.special_operands, "infinite or NaN operands"),
            (self.subnormal_operands, "subnormal operands"),
            (self.subnormal_result, "subnormal result"),
        ];
        more.iter().filter(|(holds, _)| *holds).try_for_each(|(_, words)| write!(f, "; {words}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::find,
        isa::{self, Case},
    };

    #[test]
    fn every_pair_of_classes_has_its_words() {
        let f16 = find("f16").unwrap();
        for (device, model, way) in [
            (0x8000, 0x0000, Discrepancy::SignOfZero),
            (0x7e00, 0x7fff, Discrepancy::NanCode),
            (0x7e00, 0x3c00, Discrepancy::DeviceNan),
            (0x3c00, 0x7e00, Discrepancy::ModelNan),
            (0xfc00, 0x7c00, Discrepancy::SignOfInfinity),
            (0x7c00, 0x7bff, Discrepancy::DeviceInfinite),
            (0x7bff, 0x7c00, Discrepancy::ModelInfinite),
            (0x0000, 0x0001, Discrepancy::DeviceZero),
            (0x8001, 0x8000, Discrepancy::ModelZero),
            (0x3c00, 0xbc00, Discrepancy::OppositeSigns),
            (0x3c01, 0x3c00, Discrepancy::NextLarger),
            (0xbc01, 0xbc00, Discrepancy::NextLarger),
            (0xbbff, 0xbc00, Discrepancy::NextSmaller),
            (0x3c09, 0x3c00, Discrepancy::Larger),
            (0x3c00, 0x3c09, Discrepancy::Smaller),
        ] {
            assert_eq!(Discrepancy::between(f16, device, model), way, "{device:#x} {model:#x}");
        }
        assert_eq!(Discrepancy::between(find("tf32").unwrap(), 0x3f80_0001, 0x3f80_0000), Discrepancy::IgnoredBits);
    }

    #[test]
    fn a_signature_says_what_the_operands_are() {
        let instruction = isa::find("mma.m16n8k16.f32.f16.f16.f32").unwrap();
        let subject = Subject::Matrix(&instruction);
        let mut case = Case::zeros(&instruction);
        let of = |case: &Case, device, model| {
            Signature::of(&subject, &Answer { case: case.clone(), device, model }).to_string()
        };
        assert_eq!(of(&case, 0x8000_0000, 0), "sign of zero");
        case.b[3] = 1;
        assert_eq!(of(&case, 1, 2), "1 ulp smaller on the device; subnormal operands; subnormal result");
        case.a[2] = 0x7c00;
        assert_eq!(of(&case, 0x7fff_ffff, 0), "NaN on the device; infinite or NaN operands; subnormal operands");
    }
}
