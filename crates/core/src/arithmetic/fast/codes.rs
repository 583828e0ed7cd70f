//! Codes of a tile as 32-bit words, in the order of the lanes.

use std::hint::black_box;

use super::{
    elements::resize,
    word::{LANES, Lane, TURNS, each},
};
use crate::{base::vectors::vectorised, isa::CodesView};

/// Bytes of `count` codes from `first` on.
#[inline(always)]
fn bytes(codes: CodesView<'_>, first: usize, count: usize) -> &[u8] {
    &codes.as_bytes()[first * codes.width()..][..count * codes.width()]
}

vectorised! {
    /// Widens `count` codes from `first` on.
    pub(super) fn widen(codes: CodesView<'_>, first: usize, count: usize, out: &mut Vec<u32>) {
        let bytes = bytes(codes, first, count);
        resize(out, count);
        match codes.width() {
            1 => widen_all(bytes.as_chunks().0, out, |code: [u8; 1]| code[0].into()),
            2 => widen_all(bytes.as_chunks().0, out, |code| u16::from_le_bytes(code).into()),
            _ => widen_all(bytes.as_chunks().0, out, u32::from_le_bytes),
        }
    }
}

/// Widens codes of N bytes.
#[inline(always)]
fn widen_all<const N: usize>(codes: &[[u8; N]], out: &mut [u32], widen: impl Fn([u8; N]) -> u32) {
    let (lanes, wide) = (codes.as_chunks::<LANES>().0, out.as_chunks_mut::<LANES>().0);
    // A step opaque to the compiler, so that it vectorises over lanes, not over iterations.
    let (next, mut at) = (black_box(1), 0);
    while at < wide.len() {
        let codes = &lanes[at];
        wide[at] = each(|l| widen(codes[l]));
        at += next;
    }
    let rest = codes.len() / LANES * LANES;
    for (at, out) in out[rest..].iter_mut().enumerate() {
        *out = widen(codes[rest + at]);
    }
}

vectorised! {
    /// Widens `count` codes from `first` on in rows of `length`; [`TURNS`] rows alternate.
    /// A row without a second one counts twice.
    pub(super) fn widen_in_turn(
        codes: CodesView<'_>,
        first: usize,
        count: usize,
        length: usize,
        rows: usize,
        out: &mut [[u32; TURNS]],
    ) {
        let bytes = bytes(codes, first, count);
        match codes.width() {
            1 => in_turn(bytes.as_chunks().0, length, rows, out, |code: [u8; 1]| code[0].into()),
            2 => in_turn(bytes.as_chunks().0, length, rows, out, |code| u16::from_le_bytes(code).into()),
            _ => in_turn(bytes.as_chunks().0, length, rows, out, u32::from_le_bytes),
        }
    }
}

/// Columns of a piece of [`TURNS`] rows.
pub(super) const HALF: usize = LANES / TURNS;

/// Alternating codes of two rows, interleaved before widening, which takes few instructions.
#[inline(always)]
pub(super) fn lanes_in_turn<const N: usize>(
    x: &[[u8; N]; HALF],
    y: &[[u8; N]; HALF],
    widen: impl Fn([u8; N]) -> u32,
) -> Lane<u32> {
    let mut both = [[0; N]; LANES];
    for (lane, code) in both.iter_mut().enumerate() {
        *code = if lane % TURNS == 0 { x[lane / TURNS] } else { y[lane / TURNS] };
    }
    each(|l| widen(both[l]))
}

/// Widens codes of N bytes, alternating between rows.
#[inline(always)]
fn in_turn<const N: usize>(
    codes: &[[u8; N]],
    length: usize,
    rows: usize,
    out: &mut [[u32; TURNS]],
    widen: impl Fn([u8; N]) -> u32,
) {
    // A step opaque to the compiler, so that it vectorises over elements, not over iterations.
    let next = black_box(1);
    let last = codes.len() / length - 1;
    let (mut first, mut begin) = (0, 0);
    while first <= last {
        let (x, y) = (&codes[first * length..][..length], &codes[(first + rows - 1).min(last) * length..][..length]);
        let out = &mut out[begin..][..length];
        let (halves, rest) = (length / HALF, length / HALF * HALF);
        let (x_halves, y_halves) = (&x.as_chunks().0[..halves], &y.as_chunks().0[..halves]);
        let out_halves = &mut out.as_flattened_mut().as_chunks_mut().0[..halves];
        let mut at = 0;
        while at < halves {
            out_halves[at] = lanes_in_turn(&x_halves[at], &y_halves[at], &widen);
            at += next;
        }
        for at in rest..length {
            out[at] = [widen(x[at]), widen(y[at])];
        }
        first += rows;
        begin += length;
    }
}
