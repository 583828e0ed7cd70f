//! How two results differ, and what the operands have in common where they do: differences of one signature may have one cause.

use std::fmt;

use super::{Answer, Subject};
use crate::{
    exact,
    format::{Class, Format},
};

/// How the device's result differs from the model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// Both are zero, of different signs.
    SignOfZero,
    /// Both are NaN.
    NanCode,
    /// The device's alone is NaN.
    DeviceNan,
    /// The model's alone is NaN.
    ModelNan,
    /// Both are infinite, of different signs.
    SignOfInfinity,
    /// The device's alone is infinite.
    DeviceInfinite,
    /// The model's alone is infinite.
    ModelInfinite,
    /// The device's alone is zero.
    DeviceZero,
    /// The model's alone is zero.
    ModelZero,
    /// Numbers of opposite signs.
    OppositeSigns,
    /// The same number: ignored bits differ.
    IgnoredBits,
    /// The device's is the next number above in magnitude.
    NextLarger,
    /// The device's is the next number below in magnitude.
    NextSmaller,
    /// The device's is larger in magnitude by more.
    Larger,
    /// The device's is smaller in magnitude by more.
    Smaller,
}

impl Way {
    /// How the code `device` differs from the code `model`.
    pub fn between(format: &Format, device: u64, model: u64) -> Way {
        let (x, y) = (format.decode(device), format.decode(model));
        match (x.class, y.class) {
            (Class::Nan, Class::Nan) => Way::NanCode,
            (Class::Nan, _) => Way::DeviceNan,
            (_, Class::Nan) => Way::ModelNan,
            (Class::Infinite, Class::Infinite) => Way::SignOfInfinity,
            (Class::Infinite, _) => Way::DeviceInfinite,
            (_, Class::Infinite) => Way::ModelInfinite,
            (Class::Zero, Class::Zero) if x.negative != y.negative => Way::SignOfZero,
            (Class::Zero, Class::Zero) => Way::IgnoredBits,
            (Class::Zero, _) => Way::DeviceZero,
            (_, Class::Zero) => Way::ModelZero,
            _ if x.negative != y.negative => Way::OppositeSigns,
            _ => {
                let larger = format.to_f64(device).abs() > format.to_f64(model).abs();
                match (exact::distance(format, device, model), larger) {
                    (Some(0), _) => Way::IgnoredBits,
                    (Some(1), true) => Way::NextLarger,
                    (Some(1), false) => Way::NextSmaller,
                    (_, true) => Way::Larger,
                    (_, false) => Way::Smaller,
                }
            }
        }
    }

    /// The words that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Way::SignOfZero => "sign of zero",
            Way::NanCode => "code of NaN",
            Way::DeviceNan => "NaN on the device",
            Way::ModelNan => "NaN in the model",
            Way::SignOfInfinity => "sign of infinity",
            Way::DeviceInfinite => "infinite on the device",
            Way::ModelInfinite => "infinite in the model",
            Way::DeviceZero => "zero on the device",
            Way::ModelZero => "zero in the model",
            Way::OppositeSigns => "opposite signs",
            Way::IgnoredBits => "ignored bits",
            Way::NextLarger => "1 ulp larger on the device",
            Way::NextSmaller => "1 ulp smaller on the device",
            Way::Larger => "larger on the device",
            Way::Smaller => "smaller on the device",
        }
    }
}

/// What is alike in differences that may have one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    /// How the results differ.
    pub way: Way,
    /// Whether an operand is infinite or NaN.
    pub special_operands: bool,
    /// Whether an operand is subnormal.
    pub subnormal_operands: bool,
    /// Whether one of the results is subnormal.
    pub subnormal_result: bool,
}

impl Signature {
    /// The signature of a case on which device and model differ.
    pub fn of(subject: &Subject, answer: &Answer) -> Signature {
        let [a, b, c, d] = subject.formats();
        let case = &answer.case;
        let c = subject.has_c().then_some((c, case.c));
        let operands = case.a.iter().map(|code| (a, *code)).chain(case.b.iter().map(|code| (b, *code))).chain(c);
        let classes: Vec<Class> = operands.map(|(format, code)| format.decode(code).class).collect();
        let subnormal = |code: u64| d.decode(code).class == Class::Subnormal;
        Signature {
            way: Way::between(d, answer.device, answer.model),
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
            (0x8000, 0x0000, Way::SignOfZero),
            (0x7e00, 0x7fff, Way::NanCode),
            (0x7e00, 0x3c00, Way::DeviceNan),
            (0x3c00, 0x7e00, Way::ModelNan),
            (0xfc00, 0x7c00, Way::SignOfInfinity),
            (0x7c00, 0x7bff, Way::DeviceInfinite),
            (0x7bff, 0x7c00, Way::ModelInfinite),
            (0x0000, 0x0001, Way::DeviceZero),
            (0x8001, 0x8000, Way::ModelZero),
            (0x3c00, 0xbc00, Way::OppositeSigns),
            (0x3c01, 0x3c00, Way::NextLarger),
            (0xbc01, 0xbc00, Way::NextLarger),
            (0xbbff, 0xbc00, Way::NextSmaller),
            (0x3c09, 0x3c00, Way::Larger),
            (0x3c00, 0x3c09, Way::Smaller),
        ] {
            assert_eq!(Way::between(f16, device, model), way, "{device:#x} {model:#x}");
        }
        assert_eq!(Way::between(find("tf32").unwrap(), 0x3f80_0001, 0x3f80_0000), Way::IgnoredBits);
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
