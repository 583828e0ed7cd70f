//! Integers of any width: sN in two's complement, uN in plain binary.

use std::ops::RangeInclusive;

use super::{number, once};
use crate::format::{Encoding, FORMATS, Format};

const SOURCE: &str = "integers, width by name";

/// Widths. One bit has a name of its own (b1); a wider integer is 64 bits wide.
const BITS: RangeInclusive<u32> = 2..=32;

/// Prefixes of names, the canonical one first.
const PREFIXES: [(bool, [&str; 3]); 2] = [(true, ["s", "int", "i"]), (false, ["u", "uint", "ui"])];

pub(super) fn format(name: &str) -> Option<Result<&'static Format, String>> {
    let (signed, bits) = PREFIXES
        .iter()
        .flat_map(|(signed, prefixes)| prefixes.iter().map(move |prefix| (*signed, prefix)))
        .find_map(|(signed, prefix)| Some((signed, number(name.strip_prefix(prefix)?)?)))?;
    if !BITS.contains(&bits) {
        return Some(Err(format!("an integer sN or uN has N = {} to {} bits, or 64", BITS.start(), BITS.end())));
    }
    let canonical = format!("{}{bits}", if signed { 's' } else { 'u' });
    // Widths that the table has are there under other spellings too.
    let known = FORMATS.iter().find(|format| format.name == canonical);
    Some(Ok(known.unwrap_or_else(|| {
        once(canonical, |name| Format {
            name,
            aliases: &[],
            bits,
            encoding: Encoding::Integer { signed },
            source: SOURCE,
        })
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::find;

    #[test]
    fn every_width_is_a_format_made_once() {
        for bits in BITS {
            for (signed, names) in PREFIXES {
                let format = find(&format!("{}{bits}", names[0])).unwrap();
                assert_eq!((format.bits, format.encoding), (bits, Encoding::Integer { signed }), "{format}");
                for name in names {
                    let other = find(&format!("{name}{bits}")).unwrap();
                    assert!(std::ptr::eq(format, other), "{name}{bits}");
                }
            }
        }
    }

    #[test]
    fn widths_out_of_range_are_refused_with_the_range() {
        for name in ["s1", "s33", "u48", "int0", "u99999999999"] {
            let message = find(name).unwrap_err().to_string();
            assert!(message.contains(&format!("'{name}'")) && message.contains("2 to 32"), "{message}");
        }
    }
}
