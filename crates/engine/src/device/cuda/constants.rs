//! Format records as CUDA C++: structs of constants that specialise device code by formats.

use crate::format::{Encoding, Format, Specials, Zeros};

/// Generates `struct NAME { ... };` with the fields of `format`'s record.
///
/// For integers, `INTEGER` is true and all other fields except `SIGNED` and `BITS` are 0. Codes that the format lacks
/// are 0. `SPECIALS` is 0 if every code is finite, 1 for IEEE 754, 2 if only all ones is NaN, 3 if only the code of -0
/// is; 4 and 5 are 2 and 3 with infinities after the largest number.
pub fn constants(name: &str, format: &Format) -> String {
    let (integer, signed) = match format.encoding {
        Encoding::Integer { signed } => (true, signed),
        Encoding::Float(float) => (false, float.signed),
        // No instruction of a GPU has such operands.
        Encoding::Table(_) => (false, format.is_signed()),
    };
    let float = format.float();
    let integers = [
        ("BITS", format.bits as i32),
        ("EXPONENT_BITS", float.map_or(0, |f| f.exponent_bits as i32)),
        ("TRAILING_BITS", float.map_or(0, |f| f.trailing_bits as i32)),
        ("PADDING_BITS", float.map_or(0, |f| f.padding_bits as i32)),
        ("BIAS", float.map_or(0, |f| f.bias)),
        (
            "SPECIALS",
            float.map_or(0, |f| match f.specials {
                Specials::None => 0,
                Specials::Ieee => 1,
                Specials::AllOnesNan => 2,
                Specials::NegativeZeroNan => 3,
                Specials::AllOnesNanInfinity => 4,
                Specials::NegativeZeroNanInfinity => 5,
            }),
        ),
    ];
    let flags = [
        ("INTEGER", integer),
        ("SIGNED", signed),
        ("SUBNORMALS", float.is_some_and(|f| f.subnormals)),
        ("HAS_ZERO", float.is_none_or(|f| f.zeros != Zeros::None)),
        ("NEGATIVE_ZERO", float.is_some_and(|f| f.zeros == Zeros::Both)),
    ];
    let codes = [
        ("LARGEST_CODE", format.largest(false)),
        ("INFINITY_CODE", format.infinity(false).unwrap_or(0)),
        ("NAN_CODE", format.nan().unwrap_or(0)),
    ];
    let integers = integers.map(|(name, value)| format!("    static constexpr int {name} = {value};\n"));
    let flags = flags.map(|(name, value)| format!("    static constexpr bool {name} = {value};\n"));
    let codes = codes.map(|(name, value)| format!("    static constexpr unsigned long long {name} = {value:#x}ull;\n"));
    format!("struct {name} {{\n{}{}{}}};\n", integers.concat(), flags.concat(), codes.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    #[test]
    fn a_record_is_spelled_field_by_field() {
        let text = constants("FormatA", format::find("e5m2").unwrap());
        for line in [
            "struct FormatA {",
            "static constexpr int TRAILING_BITS = 2;",
            "static constexpr int SPECIALS = 1;",
            "static constexpr bool NEGATIVE_ZERO = true;",
            "static constexpr unsigned long long INFINITY_CODE = 0x7cull;",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
