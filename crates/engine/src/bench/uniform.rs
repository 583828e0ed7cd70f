//! Devices that give the same for everything: a common fault, and no arithmetic.

use std::fmt;

use crate::format::{Class, Format};

/// The one answer of a device to everything that it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uniform {
    /// NaN, of whatever code.
    Nan,
    /// An infinity, of whatever sign.
    Infinity,
    /// One code of D.
    Code(&'static Format, u64),
}

impl Uniform {
    /// The class or code that two or more answers share.
    ///
    /// Answers that share neither come from an arithmetic.
    pub fn of(d: &'static Format, answers: impl Iterator<Item = u64>) -> Option<Uniform> {
        let mut answers = answers.peekable();
        let first = *answers.peek()?;
        let class = |code: u64| if d.is_integer() { Class::Normal } else { d.decode(code).class };
        let (mut count, mut same, mut alike) = (0, true, true);
        for code in answers {
            (count, same, alike) = (count + 1, same && code == first, alike && class(code) == class(first));
            if !same && !alike {
                return None;
            }
        }
        match class(first) {
            _ if count < 2 => None,
            Class::Nan if alike => Some(Uniform::Nan),
            Class::Infinite if alike => Some(Uniform::Infinity),
            _ => same.then_some(Uniform::Code(d, first)),
        }
    }
}

impl fmt::Display for Uniform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Uniform::Nan => f.write_str("NaN"),
            Uniform::Infinity => f.write_str("an infinity"),
            Uniform::Code(d, code) => write!(f, "{} ({})", d.hex(*code), d.decode(*code).decimal()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    #[test]
    fn answers_that_have_one_thing_in_common_are_told_from_others() {
        let d = format::find("f32").unwrap();
        let said = |answers: &[u64]| Uniform::of(d, answers.iter().copied()).map(|seen| seen.to_string());
        assert_eq!(said(&[0x7fc0_0000, 0x7fff_ffff, 0xffc0_0000]).as_deref(), Some("NaN"));
        assert_eq!(said(&[0x7f80_0000, 0xff80_0000]).as_deref(), Some("an infinity"));
        assert_eq!(said(&[0x3fc0_0000; 3]).as_deref(), Some("0x3fc00000 (1.5)"));
        assert_eq!(said(&[0, 0]).as_deref(), Some("0x00000000 (0)"));
        for other in [&[][..], &[0x3fc0_0000], &[0, 0x3fc0_0000], &[0x7fc0_0000, 0x7f80_0000]] {
            assert_eq!(said(other), None, "{other:x?}");
        }
        let s32 = format::find("s32").unwrap();
        assert_eq!(Uniform::of(s32, [7, 8].into_iter()), None);
        assert_eq!(Uniform::of(s32, [7, 7].into_iter()), Some(Uniform::Code(s32, 7)));
    }
}
