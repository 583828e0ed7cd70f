//! Codes of fewer than eight bits that share bytes, such as F4 and F6_E2M3 of safetensors.
//!
//! The first code is in the lowest bits of the first byte, and codes run on over bytes. (PyTorch's `float4_e2m1fn_x2` and the packing
//! of 6 bits in compressed-tensors do the same; the safetensors format leaves the order open.)

/// The first byte that has a part of the codes `first..first + count`, and the number of such bytes.
pub(super) fn place(first: usize, count: usize, bits: usize) -> (u64, usize) {
    let (from, end) = (first as u128 * bits as u128, (first + count) as u128 * bits as u128);
    let start = from / 8;
    (start as u64, (end.div_ceil(8) - start) as usize)
}

/// Writes the codes `first..` of `bits` bits, one to a byte; `packed` are the bytes at their [`place`].
pub(super) fn unpack(packed: &[u8], first: usize, bits: usize, codes: &mut [u8]) {
    let mut at = (first as u128 * bits as u128 % 8) as usize;
    let mask = (1u16 << bits) - 1;
    for code in codes {
        let low = u16::from(packed[at / 8]);
        let high = packed.get(at / 8 + 1).map_or(0, |byte| u16::from(*byte));
        *code = ((high << 8 | low) >> (at % 8) & mask) as u8;
        at += bits;
    }
}

/// The bytes of rows of `row` codes of `bits` bits; each row begins with a byte.
pub fn pack(codes: &[u8], row: usize, bits: usize) -> Vec<u8> {
    let width = (row * bits).div_ceil(8);
    let mut packed = vec![0; codes.len() / row.max(1) * width];
    for (codes, packed) in codes.chunks(row.max(1)).zip(packed.chunks_mut(width.max(1))) {
        for (at, code) in (0..).step_by(bits).zip(codes) {
            let [low, high] = (u16::from(*code) << (at % 8)).to_le_bytes();
            packed[at / 8] |= low;
            // A code of 8 bits or fewer reaches into the next byte at most.
            if high != 0 {
                packed[at / 8 + 1] |= high;
            }
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_from_any_place_on() {
        for bits in [4, 6] {
            let codes: Vec<u8> = (0..64).map(|n: u8| n.wrapping_mul(37) & ((1 << bits) - 1)).collect();
            let mut packed = vec![0u8; 64 * bits / 8];
            for (n, code) in codes.iter().enumerate() {
                for bit in (0..bits).filter(|bit| code >> bit & 1 == 1) {
                    packed[(n * bits + bit) / 8] |= 1 << ((n * bits + bit) % 8);
                }
            }
            assert_eq!(pack(&codes, 64, bits), packed);
            assert_eq!(pack(&codes, 5, bits)[..5 * bits / 8], packed[..5 * bits / 8]);
            for first in 0..64 {
                for count in 0..64 - first {
                    let (start, length) = place(first, count, bits);
                    let mut unpacked = vec![0; count];
                    unpack(&packed[start as usize..][..length], first, bits, &mut unpacked);
                    assert_eq!(unpacked, codes[first..first + count], "{bits} {first} {count}");
                }
            }
        }
    }
}
