//! Places of the codes of a row in its bytes.

use std::ops::Range;

use crate::base::named::named;

named! {
    /// Order of codes that share bytes.
    pub enum PackingOrder {
        LowFirst = "low-first": "codes run from the lowest bits of the first byte on: the low nibble has the even index";
        HighFirst = "high-first": "the high nibble has the even index";
        Halves = "halves": "of each block, low nibbles are the first half and high nibbles the second half";
        Parts = "parts": "of each run, the lowest bits of its bytes are the first part, the next bits the second";
        TensorParts = "tensor-parts": "the highest bits of all words are the first part of the tensor";
    }
}

/// Places of the codes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// One code in each element of the array.
    Single,
    /// Codes run from the lowest bits of the first byte on.
    LowFirst,
    /// Nibbles, the high one first.
    HighFirst,
    /// Runs of this length: the lowest bits of the bytes are the first part, the next bits the second.
    Halves(usize),
    /// Nibbles of words of 32 bits: the place among eight of the one in each nibble, the lowest first.
    Ordered([u8; 8]),
    /// The highest bits of all words are the first part of the tensor.
    ///
    /// Words are bytes; for 3 bits they have 32 bits.
    TensorParts,
}

impl Packing {
    /// Returns the order in words.
    pub fn words(self) -> String {
        match self {
            Packing::Single => "one code for each element".into(),
            Packing::LowFirst => "low nibble first".into(),
            Packing::HighFirst => "high nibble first".into(),
            Packing::Halves(run) => format!("nibbles {} apart", run / 2),
            Packing::Ordered(order) => {
                let places: Vec<String> = order.iter().map(ToString::to_string).collect();
                format!("nibbles of words in the order {}", places.join(" "))
            }
            Packing::TensorParts => "the first part of the tensor in the highest bits".into(),
        }
    }

    /// Appends the codes of `bits` bits at the `columns` of a row.
    ///
    /// `bytes` begin at the byte of the first column. The first column is a multiple of the run, and of what fills whole bytes.
    pub(crate) fn unpack(self, bytes: &[u8], bits: usize, columns: Range<usize>, codes: &mut Vec<u8>) {
        let count = columns.len();
        match self {
            Packing::Single => codes.extend(&bytes[..count]),
            Packing::LowFirst if bits == 8 => codes.extend(&bytes[..count]),
            Packing::LowFirst if bits == 4 => {
                let end = codes.len() + count;
                bytes.iter().take(count.div_ceil(2)).for_each(|byte| codes.extend([byte & 0xf, byte >> 4]));
                codes.truncate(end);
            }
            Packing::LowFirst => {
                let mask = (1u16 << bits) - 1;
                for at in (0..count).map(|n| n * bits) {
                    let high = bytes.get(at / 8 + 1).map_or(0, |byte| u16::from(*byte));
                    codes.push(((high << 8 | u16::from(bytes[at / 8])) >> (at % 8) & mask) as u8);
                }
            }
            Packing::HighFirst => {
                let end = codes.len() + count;
                bytes.iter().take(count.div_ceil(2)).for_each(|byte| codes.extend([byte >> 4, byte & 0xf]));
                codes.truncate(end);
            }
            Packing::Halves(run) => {
                for (part, first) in bytes.chunks((run * bits).div_ceil(8)).zip((0..count).step_by(run)) {
                    let mut left = run.min(count - first);
                    // A short last run has its parts next to one another too.
                    let size = (left * bits).div_ceil(8).min(part.len());
                    for shift in (0..8).step_by(bits) {
                        let taken = size.min(left);
                        codes.extend(part[..taken].iter().map(|byte| byte >> shift & mask(bits)));
                        left -= taken;
                    }
                }
            }
            Packing::Ordered(order) => {
                let end = codes.len() + count;
                for word in bytes.as_chunks::<4>().0.iter().take(count.div_ceil(8)) {
                    let word = u32::from_le_bytes(*word);
                    let mut eight = [0; 8];
                    (0..8).zip(order).for_each(|(nibble, place)| {
                        eight[usize::from(place) % 8] = (word >> (4 * nibble)) as u8 & 0xf;
                    });
                    codes.extend(eight);
                }
                codes.truncate(end);
            }
            // The reader knows the tensor.
            Packing::TensorParts => codes.extend(&bytes[..count]),
        }
    }
}

/// The lowest bits of a byte.
pub(super) fn mask(bits: usize) -> u8 {
    (0xff_u16 >> (8 - bits.min(8))) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(packing: Packing, bytes: &[u8], bits: usize, count: usize) -> Vec<u8> {
        let mut codes = Vec::new();
        packing.unpack(bytes, bits, 0..count, &mut codes);
        codes
    }

    #[test]
    fn every_order_has_its_places() {
        let bytes = [0x21, 0x43, 0x65, 0x87];
        assert_eq!(unpacked(Packing::Single, &bytes, 8, 3), [0x21, 0x43, 0x65]);
        assert_eq!(unpacked(Packing::LowFirst, &bytes, 4, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(unpacked(Packing::LowFirst, &bytes, 4, 5), [1, 2, 3, 4, 5]);
        assert_eq!(unpacked(Packing::HighFirst, &bytes, 4, 8), [2, 1, 4, 3, 6, 5, 8, 7]);
        assert_eq!(unpacked(Packing::Halves(8), &bytes, 4, 8), [1, 3, 5, 7, 2, 4, 6, 8]);
        assert_eq!(unpacked(Packing::Halves(4), &bytes, 4, 8), [1, 3, 2, 4, 5, 7, 6, 8]);
        assert_eq!(unpacked(Packing::Halves(16), &bytes, 2, 16), [1, 3, 1, 3, 0, 0, 1, 1, 2, 0, 2, 0, 0, 1, 1, 2]);
        // The second nibble of a word of AWQ is its third element.
        let order = [0, 2, 4, 6, 1, 3, 5, 7];
        assert_eq!(unpacked(Packing::Ordered(order), &bytes, 4, 8), [1, 5, 2, 6, 3, 7, 4, 8]);
        // Four codes of 6 bits in three bytes.
        assert_eq!(unpacked(Packing::LowFirst, &[0x41, 0x20, 0x0c], 6, 4), [1, 1, 2, 3]);
    }
}
