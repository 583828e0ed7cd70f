//! Reading bare hexadecimal digits eight at a time.

/// A byte in each of eight places.
const fn each(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The eight bytes of `text` from `at` on, the first in the lowest byte; line feeds beyond the end.
#[inline]
pub(super) fn load(text: &[u8], at: usize) -> u64 {
    match text[at..].first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => {
            let mut bytes = [b'\n'; 8];
            bytes[..text.len() - at].copy_from_slice(&text[at..]);
            u64::from_le_bytes(bytes)
        }
    }
}

/// Number of bytes before the first space or control character.
#[inline]
pub(super) fn length(word: u64) -> u32 {
    // A byte below 0x21 borrows; the lowest bit that is set belongs to the first such byte, for only those before it can
    // have disturbed it.
    let ends = word.wrapping_sub(each(0x21)) & !word & each(0x80);
    ends.trailing_zeros() / 8
}

/// The value of the first `digits` (1 to 8) bytes; `None` if one is not a hexadecimal digit.
#[inline]
pub(super) fn value(word: u64, digits: u32) -> Option<u32> {
    // Zeros go in front, and what follows the digits falls off the top.
    let unused = 8 * (8 - digits);
    let word = (word << unused) | (each(b'0') & !(u64::MAX << unused));
    let upper = word & !((word & each(0x40)) >> 1);
    let nibbles = (upper & each(0x0f)) + 9 * (upper >> 6 & each(1));
    // Written again as digits they must be what was read.
    let letters = (nibbles + each(0x76)) >> 7 & each(1);
    if nibbles & each(0xf0) != 0 || nibbles + each(b'0') + 7 * letters != upper {
        return None;
    }
    let mut packed = nibbles.swap_bytes();
    packed = (packed | packed >> 4) & 0x00ff_00ff_00ff_00ff;
    packed = (packed | packed >> 8) & 0x0000_ffff_0000_ffff;
    Some((packed | packed >> 16) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read_as_the_standard_library_reads_it() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                for filler in [b'0', b'9', b'A', b'f', b'7'] {
                    let mut bytes = [filler; 8];
                    bytes[place] = byte;
                    let expected = str::from_utf8(&bytes).ok().filter(|text| !text.starts_with('+'));
                    let expected = expected.and_then(|text| u32::from_str_radix(text, 16).ok());
                    assert_eq!(value(u64::from_le_bytes(bytes), 8), expected, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn only_the_digits_that_are_asked_for_count() {
        let bytes = *b"12aBcD9f";
        for digits in 1..=8 {
            let text = str::from_utf8(&bytes[..digits]).unwrap();
            for rest in [b'g', b' ', 0xff, b'5', 0] {
                let mut bytes = bytes;
                bytes[digits..].fill(rest);
                let expected = u32::from_str_radix(text, 16).ok();
                assert_eq!(value(u64::from_le_bytes(bytes), digits as u32), expected, "{text} {rest}");
            }
        }
    }

    #[test]
    fn a_word_ends_before_the_first_space_or_control_character() {
        for end in 0..=u8::MAX {
            for place in 0..8 {
                for filler in [b'0', b'!', 0xff, 0xa0, 0x21, 0x80] {
                    let mut bytes = [filler; 8];
                    bytes[place] = end;
                    let expected = if end <= b' ' { place } else { 8 };
                    assert_eq!(length(u64::from_le_bytes(bytes)), expected as u32, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn beyond_the_end_lie_line_feeds() {
        assert_eq!(load(b"0123456789", 1), u64::from_le_bytes(*b"12345678"));
        assert_eq!(load(b"0123456789", 8), u64::from_le_bytes(*b"89\n\n\n\n\n\n"));
        assert_eq!(load(b"0123", 4), each(b'\n'));
    }
}
