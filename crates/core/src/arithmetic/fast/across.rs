//! Transposition of rows of codes: word i of [`LANES`] rows becomes one lane vector.

use super::{
    elements::resize,
    word::{LANES, Lane},
};
use crate::isa::CodesView;

/// Words with the codes of the factors of products, transposed; all rows have equally many.
#[derive(Debug, Clone, Copy)]
pub(super) struct FactorWords<'a> {
    pub(super) a: &'a [Lane<u32>],
    /// The same words, if codes are paired.
    pub(super) b: &'a [Lane<u32>],
    /// Number of words of a row.
    pub(super) words: usize,
    /// Width of paired codes, which alternate between A and B in a word; 0 if a word holds one code.
    pub(super) bits: u32,
}

impl FactorWords<'_> {
    /// Word of a row with the codes at `k`, and the first bits of A's and B's.
    #[inline(always)]
    pub(super) fn places(&self, k: usize) -> (usize, [u32; 2]) {
        match self.bits {
            0 => (k, [0, 0]),
            bits => {
                let pairs = (u32::BITS / (2 * bits)) as usize;
                let place = (k % pairs) as u32 * 2 * bits;
                (k / pairs, [place, place + bits])
            }
        }
    }
}

/// True if the codes of rows of A and B can be paired in words.
pub(super) fn pairs(a: CodesView, b: CodesView, length: usize) -> bool {
    let width = a.width();
    width == b.width() && (width == 2 || width == 1 && length.is_multiple_of(2))
}

/// Transposes rows of `length` words, [`LANES`] at a time; missing rows are zeros.
pub(super) fn words_across(words: &[u32], length: usize, out: &mut Vec<u32>) {
    resize(out, words.len().div_ceil(length).next_multiple_of(LANES) * length);
    for (words, out) in words.chunks(LANES * length).zip(out.chunks_exact_mut(LANES * length)) {
        let out = out.as_chunks_mut().0;
        #[cfg(target_arch = "x86_64")]
        if x86::words(words, length, out) {
            continue;
        }
        one_by_one(words.chunks_exact(length).map(|row| row.iter().copied()), out);
    }
}

/// Transposes rows of `length` codes of A and of B, from row `first` on, paired in words.
/// [`LANES`] rows are taken at a time; missing rows are zeros.
pub(super) fn pairs_across(a: CodesView, b: CodesView, first: usize, count: usize, length: usize, out: &mut Vec<u32>) {
    let bytes = length * a.width();
    let [a_bytes, b_bytes] = [a, b].map(|codes| &codes.as_bytes()[first * bytes..][..count * bytes]);
    resize(out, count.next_multiple_of(LANES) * bytes / 2);
    let rows = a_bytes.chunks(LANES * bytes).zip(b_bytes.chunks(LANES * bytes));
    for (at, ((a_rows, b_rows), out)) in rows.zip(out.chunks_exact_mut(LANES * bytes / 2)).enumerate() {
        let out = out.as_chunks_mut().0;
        prefetch(a, first + count + at * LANES, LANES, length);
        prefetch(b, first + count + at * LANES, LANES, length);
        #[cfg(target_arch = "x86_64")]
        if x86::pairs(a_rows, b_rows, bytes, a.width(), out) {
            continue;
        }
        let rows = a_rows.chunks_exact(bytes).zip(b_rows.chunks_exact(bytes));
        if a.width() == 1 {
            let word = |(x, y): (&[u8; 2], &[u8; 2])| u32::from_le_bytes([x[0], y[0], x[1], y[1]]);
            one_by_one(rows.map(|(x, y)| x.as_chunks().0.iter().zip(y.as_chunks().0).map(word)), out);
        } else {
            let word = |(x, y): (&[u8; 2], &[u8; 2])| u32::from_le_bytes([x[0], x[1], y[0], y[1]]);
            one_by_one(rows.map(|(x, y)| x.as_chunks().0.iter().zip(y.as_chunks().0).map(word)), out);
        }
    }
}

/// Prefetches rows that are needed soon.
pub(super) fn prefetch(codes: CodesView, first: usize, count: usize, length: usize) {
    let bytes = length * codes.width();
    let rows = codes.as_bytes().get(first * bytes..).unwrap_or_default();
    #[cfg(target_arch = "x86_64")]
    x86::prefetch(&rows[..rows.len().min(count * bytes)]);
}

/// Transposes one word at a time.
fn one_by_one(rows: impl Iterator<Item = impl Iterator<Item = u32>>, out: &mut [Lane<u32>]) {
    let mut lanes = 0;
    for (lane, row) in rows.enumerate() {
        out.iter_mut().zip(row).for_each(|(out, word)| out[lane] = word);
        lanes = lane + 1;
    }
    out.iter_mut().for_each(|out| out[lanes..].fill(0));
}

/// Transposition by the shuffles of AVX2, eight rows of eight words at a time.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu2_m128i, _mm256_storeu_si256, _mm256_unpackhi_epi8,
        _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi8,
        _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    };

    use super::{LANES, Lane};
    use crate::base::vectors::Vectors;

    /// Rows and words that are transposed together.
    const EIGHT: usize = 8;
    /// Bytes, or words, of one part of a register.
    const BYTES: usize = 16;
    const WORDS: usize = 4;

    /// Size of a cache line, in bytes.
    const LINE: usize = 64;

    pub(super) fn prefetch(bytes: &[u8]) {
        for line in bytes.chunks(LINE) {
            // SAFETY: every machine of the target has the instruction, which changes nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }

    fn has_avx2() -> bool {
        matches!(Vectors::here(), Vectors::Avx2 | Vectors::Avx512)
    }

    /// Transposes [`LANES`] rows of `length` words; false if that was impossible.
    pub(super) fn words(words: &[u32], length: usize, out: &mut [Lane<u32>]) -> bool {
        let possible = has_avx2() && words.len() == LANES * length && length.is_multiple_of(EIGHT);
        if possible {
            // SAFETY: this machine has AVX2.
            unsafe { words_avx2(words.as_chunks().0, length / WORDS, out) };
        }
        possible
    }

    /// Transposes pairs of the codes of [`LANES`] rows of `bytes` bytes; false if that was impossible.
    pub(super) fn pairs(a: &[u8], b: &[u8], bytes: usize, width: usize, out: &mut [Lane<u32>]) -> bool {
        let possible = has_avx2() && a.len() == LANES * bytes && bytes.is_multiple_of(BYTES);
        if possible {
            let (a, b, parts) = (a.as_chunks().0, b.as_chunks().0, bytes / BYTES);
            // SAFETY: this machine has AVX2.
            unsafe { if width == 1 { bytes_avx2(a, b, parts, out) } else { pairs_avx2(a, b, parts, out) } };
        }
        possible
    }

    #[target_feature(enable = "avx2")]
    fn words_avx2(words: &[[u32; WORDS]], parts: usize, out: &mut [Lane<u32>]) {
        eight_by_eight(out, |x, y, at| {
            let (x, y) = (&words[x * parts + 2 * at..][..2], &words[y * parts + 2 * at..][..2]);
            [both(&x[0], &y[0]), both(&x[1], &y[1])]
        });
    }

    #[target_feature(enable = "avx2")]
    fn pairs_avx2(a: &[[u8; BYTES]], b: &[[u8; BYTES]], parts: usize, out: &mut [Lane<u32>]) {
        eight_by_eight(out, |x, y, at| {
            let (x, y) = (x * parts + at, y * parts + at);
            let (a, b) = (both(&a[x], &a[y]), both(&b[x], &b[y]));
            [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]
        });
    }

    #[target_feature(enable = "avx2")]
    fn bytes_avx2(a: &[[u8; BYTES]], b: &[[u8; BYTES]], parts: usize, out: &mut [Lane<u32>]) {
        eight_by_eight(out, |x, y, at| {
            let (x, y) = (x * parts + at, y * parts + at);
            let (a, b) = (both(&a[x], &a[y]), both(&b[x], &b[y]));
            [_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)]
        });
    }

    /// Parts of two rows in the two halves of a register.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn both<T, const N: usize>(low: &[T; N], high: &[T; N]) -> __m256i {
        const { assert!(size_of::<[T; N]>() == BYTES) };
        // SAFETY: both have as many bytes as are read.
        unsafe { _mm256_loadu2_m128i(std::ptr::from_ref(high).cast(), std::ptr::from_ref(low).cast()) }
    }

    /// Transposes the words of [`LANES`] rows.
    /// `load` gives eight words of each of two rows from the place `at * 8` on, four of both and then four of both. (No
    /// closures inside: the compiler would not inline them.)
    #[inline]
    #[target_feature(enable = "avx2")]
    fn eight_by_eight(out: &mut [Lane<u32>], load: impl Fn(usize, usize, usize) -> [__m256i; 2]) {
        for (at, out) in out.as_chunks_mut::<EIGHT>().0.iter_mut().enumerate() {
            for half in 0..LANES / EIGHT {
                let row = half * EIGHT;
                let [first_0, second_0] = load(row, row + 4, at);
                let [first_1, second_1] = load(row + 1, row + 5, at);
                let [first_2, second_2] = load(row + 2, row + 6, at);
                let [first_3, second_3] = load(row + 3, row + 7, at);
                let (first, second) = out.split_at_mut(WORDS);
                four(first, half, [first_0, first_1, first_2, first_3]);
                four(second, half, [second_0, second_1, second_2, second_3]);
            }
        }
    }

    /// Transposes four words of eight rows; a register holds the words of rows i and i + 4.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn four(out: &mut [Lane<u32>], half: usize, [r0, r1, r2, r3]: [__m256i; 4]) {
        let (x, y) = (_mm256_unpacklo_epi32(r0, r1), _mm256_unpacklo_epi32(r2, r3));
        let (z, w) = (_mm256_unpackhi_epi32(r0, r1), _mm256_unpackhi_epi32(r2, r3));
        store(&mut out[0], half, _mm256_unpacklo_epi64(x, y));
        store(&mut out[1], half, _mm256_unpackhi_epi64(x, y));
        store(&mut out[2], half, _mm256_unpacklo_epi64(z, w));
        store(&mut out[3], half, _mm256_unpackhi_epi64(z, w));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(out: &mut Lane<u32>, half: usize, lanes: __m256i) {
        let out: &mut [u32; EIGHT] = &mut out.as_chunks_mut().0[half];
        // SAFETY: there are as many words as are written.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), lanes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        base::vectors::{FORCED, Vectors},
        format,
        isa::Codes,
    };

    #[test]
    fn words_are_brought_side_by_side() {
        for (rows, length) in [(20, 2), (16, 8), (33, 16), (32, 40)] {
            let words: Vec<u32> = (0..(rows * length) as u32).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
            for vectors in Vectors::all() {
                FORCED.set(Some(vectors));
                let mut out = vec![7; 5];
                words_across(&words, length, &mut out);
                FORCED.set(None);
                let expected = expected(rows, length, |row, at| words[row * length + at]);
                assert_eq!(out, expected, "{rows} rows of {length}, {vectors:?}");
            }
        }
    }

    #[test]
    fn pairs_of_codes_are_brought_side_by_side() {
        for (name, width, rows, length) in
            [("f16", 2, 20, 3), ("f16", 2, 33, 16), ("e4m3", 1, 17, 2), ("e4m3", 1, 48, 32), ("e4m3", 1, 16, 16)]
        {
            let codes = |factor: usize| -> Codes {
                let bytes = (0..(rows + 1) * length * width).map(|at| (at * factor + at / 256) as u8).collect();
                Codes::from_bytes(format::find(name).unwrap(), bytes).unwrap()
            };
            let (a, b) = (codes(37), codes(101));
            assert!(pairs(a.view(), b.view(), length));
            let bits = 8 * width as u32;
            for vectors in Vectors::all() {
                FORCED.set(Some(vectors));
                let mut out = vec![7; 5];
                pairs_across(a.view(), b.view(), 1, rows, length, &mut out);
                FORCED.set(None);
                let lanes = out.as_chunks().0;
                let words = FactorWords { a: lanes, b: lanes, words: length * width / 2, bits };
                let code = |factor: usize| {
                    let (words, bits) = (&words, bits);
                    move |row: usize, k: usize| {
                        let (word, places) = words.places(k);
                        let pair = words.a[row / LANES * words.words + word][row % LANES];
                        pair >> places[factor] & ((1 << bits) - 1)
                    }
                };
                for (factor, codes) in [&a, &b].into_iter().enumerate() {
                    let paired = expected(rows, length, code(factor));
                    let given = expected(rows, length, |row, k| codes.get((row + 1) * length + k) as u32);
                    assert_eq!(paired, given, "{name}: {rows} rows of {length}, {vectors:?}");
                }
            }
        }
    }

    fn expected(rows: usize, length: usize, word: impl Fn(usize, usize) -> u32) -> Vec<u32> {
        let all = rows.next_multiple_of(LANES);
        let place = |at: usize| (at / (LANES * length) * LANES + at % LANES, at / LANES % length);
        (0..all * length).map(place).map(|(row, at)| if row < rows { word(row, at) } else { 0 }).collect()
    }
}
