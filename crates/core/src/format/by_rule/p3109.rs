//! Formats of IEEE P3109: binaryKpPsf, with a width K, a precision P, a signedness and a domain.

use std::ops::RangeInclusive;

use super::{number, once};
use crate::format::{Encoding, Float, Format, Overflow, Specials, Zeros, table::IEEE};

const SOURCE: &str = "IEEE SA P3109 Interim Report 3.x: width, precision, signedness and domain by name";

/// Widths. A narrower one leaves no room for zero, NaN, infinities and numbers.
const WIDTH: RangeInclusive<u32> = 3..=16;

/// Most exponent bits: numbers of more exceed binary64.
const EXPONENT_BITS: u32 = 11;

/// Parameters of a name, out of range or not.
struct Parameters {
    width: u32,
    precision: u32,
    signed: bool,
    extended: bool,
}

impl Parameters {
    fn read(name: &str) -> Option<Parameters> {
        let text = name.strip_prefix("binary").or_else(|| name.strip_prefix("p3109k"))?;
        let (width, rest) = text.split_once('p')?;
        let ends = [("se", true, true), ("sf", true, false), ("ue", false, true), ("uf", false, false)];
        ends.into_iter().find_map(|(end, signed, extended)| {
            let precision = rest.strip_suffix(end)?;
            Some(Parameters { width: number(width)?, precision: number(precision)?, signed, extended })
        })
    }

    /// Largest precision: at least one bit of exponent is left.
    fn most_precision(&self) -> u32 {
        self.width - u32::from(self.signed)
    }

    fn exponent_bits(&self) -> u32 {
        self.most_precision() + 1 - self.precision
    }

    /// Reason for which there is no such format.
    fn defect(&self) -> Option<String> {
        if !WIDTH.contains(&self.width) {
            return Some(format!("K is {}; it must be {} to {}", self.width, WIDTH.start(), WIDTH.end()));
        }
        let least = (self.most_precision() + 1).saturating_sub(EXPONENT_BITS).max(1);
        let range = least..=self.most_precision();
        (!range.contains(&self.precision)).then(|| {
            let beyond = if least > 1 { "; numbers of a lower precision exceed f64" } else { "" };
            format!("P is {}; with these K and sign it must be {} to {}{beyond}", self.precision, least, range.end())
        })
    }

    fn name(&self) -> String {
        let sign = if self.signed { 's' } else { 'u' };
        let domain = if self.extended { 'e' } else { 'f' };
        format!("binary{}p{}{sign}{domain}", self.width, self.precision)
    }

    fn float(&self) -> Float {
        Float {
            signed: self.signed,
            exponent_bits: self.exponent_bits(),
            trailing_bits: self.precision - 1,
            bias: 1 << (self.exponent_bits() - 1),
            zeros: Zeros::Positive,
            specials: match (self.signed, self.extended) {
                (true, true) => Specials::NegativeZeroNanInfinity,
                (true, false) => Specials::NegativeZeroNan,
                (false, true) => Specials::AllOnesNanInfinity,
                (false, false) => Specials::AllOnesNan,
            },
            overflow: if self.extended { Overflow::Infinity } else { Overflow::Nan },
            ..IEEE
        }
    }
}

pub(super) fn format(name: &str) -> Option<Result<&'static Format, String>> {
    if let Some((width, precision)) = name.strip_prefix("binary").and_then(|rest| rest.split_once('p'))
        && number(width).and(number(precision)).is_some()
    {
        let ends = "se, sf, ue or uf: signed or unsigned, extended (with infinities) or finite";
        return Some(Err(format!("a P3109 name binaryKpPsf ends in {ends}")));
    }
    let parameters = Parameters::read(name)?;
    if let Some(defect) = parameters.defect() {
        return Some(Err(format!("in a P3109 name binaryKpPsf, {defect}")));
    }
    Some(Ok(once(parameters.name(), |name| Format {
        name,
        aliases: &[],
        bits: parameters.width,
        encoding: Encoding::Float(parameters.float()),
        source: SOURCE,
    })))
}

#[cfg(test)]
mod tests {
    use crate::format::find;

    #[test]
    fn names_of_the_report_and_of_gfloat_are_the_same_format() {
        let report = find("Binary8p3se").unwrap();
        assert_eq!(report.name, "binary8p3se");
        assert!(std::ptr::eq(report, find("p3109_k8p3se").unwrap()));
        assert_eq!(find("binary16").unwrap().name, "f16");
    }

    #[test]
    fn parameters_out_of_range_are_refused_with_the_range() {
        for (name, range) in [
            ("binary2p1se", "3 to 16"),
            ("binary17p4se", "3 to 16"),
            ("binary8p0se", "1 to 7"),
            ("binary8p8sf", "1 to 7"),
            ("binary8p9uf", "1 to 8"),
            ("binary16p4se", "5 to 15"),
            ("binary16p5ue", "6 to 16"),
            ("binary8p3", "se, sf, ue or uf"),
        ] {
            let message = find(name).unwrap_err().to_string();
            assert!(message.contains(&format!("'{name}'")) && message.contains(range), "{message}");
        }
    }
}
