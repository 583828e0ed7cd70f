//! Two 4-bit codes in a byte, as tensors of 4-bit elements are stored.

/// Packs each row of `row` codes of 4 bits into `row.div_ceil(2)` bytes.
/// The code with the even index is in the low four bits (as in PyTorch's `float4_e2m1fn_x2`); zero pads an odd row.
pub fn pack_pairs(codes: &[u8], row: usize) -> Vec<u8> {
    let pair = |pair: &[u8; 2]| {
        let both = u16::from_le_bytes(*pair);
        (both & 0xf | both >> 4 & 0xf0) as u8
    };
    // Rows of even length have no padding: one long row packs alike.
    let row = if row.is_multiple_of(2) { codes.len() } else { row };
    let mut packed = Vec::with_capacity(codes.len().div_ceil(2));
    for row in codes.chunks(row.max(1)) {
        let (pairs, last) = row.as_chunks();
        packed.extend(pairs.iter().map(pair));
        packed.extend(last.iter().map(|low| low & 0xf));
    }
    packed
}

/// Codes that [`pack_pairs`] packed into rows of `row` codes; `None` if the last row is incomplete.
pub fn unpack_pairs(bytes: &[u8], row: usize) -> Option<Vec<u8>> {
    let width = row.div_ceil(2);
    if width == 0 {
        return bytes.is_empty().then(Vec::new);
    }
    let unpack = |bytes: &[u8], codes: &mut Vec<u8>| {
        let end = codes.len() + row;
        bytes.iter().for_each(|byte| codes.extend([byte & 0xf, byte >> 4]));
        codes.truncate(end);
    };
    let mut codes = Vec::with_capacity(bytes.len() * 2);
    bytes.len().is_multiple_of(width).then(|| bytes.chunks(width).for_each(|row| unpack(row, &mut codes)))?;
    Some(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_undone_for_rows_of_even_and_odd_length() {
        for row in 1..7 {
            let codes: Vec<u8> = (0..row as u8 * 3).map(|i| i.wrapping_mul(7) & 0xf).collect();
            let packed = pack_pairs(&codes, row);
            assert_eq!(packed.len(), 3 * row.div_ceil(2));
            assert_eq!(unpack_pairs(&packed, row), Some(codes));
        }
        assert_eq!(pack_pairs(&[1, 2, 3], 3), [0x21, 0x03]);
        assert_eq!(unpack_pairs(&[0x21], 3), None);
        assert_eq!(unpack_pairs(&[], 0), Some(vec![]));
    }
}
